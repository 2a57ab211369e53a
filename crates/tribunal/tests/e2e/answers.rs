//! Answers of reviewers that cannot be taken as they are: what is not read is never approved and never hidden.

use crate::show::Show;
use crate::stage::scenes::PLAIN;
use tribunal_core::run::Ending;

#[test]
fn what_could_not_be_read_is_shown() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
do = [ { say = "[id:a] [severity:suggestion] [confidence:90] [file:bin/one.sh:1] issue: no comment at its head\n[id:a] [severity:suggestion] [confidence:90] [file:bin/one.sh:2] issue: it could print a newline\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]
"##;
    let mut show = Show::script(SCRIPT);
    show.expect(&["run"], 0);
    for command in ["report", "show"] {
        let said = show.expect(&[command], 0).stdout;
        assert!(said.contains("the same id for 2 findings"), "{command}: {said}");
    }
}

#[test]
fn the_second_asking_says_what_was_wrong() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
do = [ { say = "VERDICT: approve" } ]

[[turn]]
role = "reviewer-again"
use = "task"
do = [ { expect = "without a CHECKED line" }, { say = "CHECKED: read bin/one.sh, it prints one; ran it by hand.\nVERDICT: approve" } ]
"##;
    let mut show = Show::script(SCRIPT);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let log = show.expect(&["log"], 0).stdout;
    assert!(log.contains("approved without saying what it checked") && !log.contains("bare"), "{log}");
}

#[test]
fn who_answers_twice_without_use_is_not_lost() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
do = [ { say = "VERDICT: approve" } ]

[[turn]]
role = "reviewer-again"
use = "task"
do = [ { say = "VERDICT: approve" } ]
"##;
    let mut show = Show::script(SCRIPT);
    show.expect(&["run"], 4);
    let asked = show.expect(&["inbox"], 0).stdout;
    assert!(asked.contains("no usable verdict") && !asked.contains("lost"), "{asked}");
}

#[test]
fn what_nobody_reviewed_says_so_in_the_commit() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    assert!(show.messages().contains("Tribunal-Not-Reviewed: the plan"), "{}", show.messages());
}
