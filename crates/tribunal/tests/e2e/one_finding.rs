//! What is one finding, as a run shows it: different defects of one line stay two, each is fixed, answered for by its own
//! reviewer and told everywhere, and a check never takes a reviewer's finding over.

use crate::review_panel::{BACKEND, Change, QA, SECURITY, fixer, reviewer};
use crate::show::Show;
use crate::stage::scenes::{PLAIN, Scene};
use serde_json::Value;
use tribunal_core::run::Ending;

const API: &str = "testing-api-tester";
const ANALYST: &str = "testing-test-results-analyzer";

/// A fixer's turn that is shown these words.
fn fixes(round: u32, words: &[&str], text: &str, fixed: &str) -> String {
    let turn = fixer(BACKEND, round, "a.py", text, &format!("{fixed}\nSUMMARY: changed.\nTASK: done"));
    let expects: Vec<String> =
        words.iter().map(|words| format!("{{ expect = {} }}, ", Value::from(*words))).collect();
    turn.replace("do = [", &format!("do = [{}", expects.concat()))
}

fn raises(issue: &str) -> String {
    format!(
        "[id:a] [severity:blocker] [confidence:95] [file:a.py:2] issue: {issue} | suggestion: fix it\nVERDICT: reject"
    )
}

/// The id that a run gives to one of two blockers on a line: they are put in order by their words.
fn id(of: &str, beside: &str) -> &'static str {
    if of < beside { "F-1" } else { "F-2" }
}

/// Answers by id, not by what the prompt puts: the confirming pass puts nothing, and gets the same turn.
fn resolved(id: &str) -> String {
    format!("{id}: resolved\nCHECKED: the line that was named, and its callers.\nVERDICT: approve")
}

/// What a reviewer was asked about in its later rounds.
fn asked(change: &Change, reviewer: &str) -> Vec<String> {
    let put = |prompt: String| {
        let (_, put) = prompt.split_once("## Findings put to you")?;
        Some(put.split("\n## ").next().unwrap_or_default().to_owned())
    };
    change.prompts(&format!("judge_{reviewer}")).into_iter().filter_map(put).collect()
}

const FIXED: &str = "begin = 1\nx = 4\ny = 3\n";

fn one_line(script: &str) -> Change {
    Change::new(&[("a.py", "begin = 1\nx = 2\ny = 3\n")], script)
}

/// Each of the two is told: to the fixer, to its own reviewer, in the report and in `show`.
#[test]
fn different_defects_of_one_line_are_both_told_everywhere() {
    for (one, other) in [
        ("The password is logged in clear text", "The password is compared with == and not in constant time"),
        ("The error from the parser is swallowed", "The error message does not name the file"),
    ] {
        let script = [
            reviewer(QA, 1, &raises(one)),
            reviewer(ANALYST, 1, &raises(other)),
            fixes(2, &[one, other], FIXED, "FIXED: {finding:1}\nFIXED: {finding:2}"),
            reviewer(QA, 2, &resolved(id(one, other))),
            reviewer(ANALYST, 2, &resolved(id(other, one))),
        ];
        let change = one_line(&script.concat());
        let ended = change.review(&format!("{QA},{ANALYST}"), &["--fix"], 0);
        assert!(ended.stdout.contains("2 fixed"), "{}", ended.said());
        for (reviewer, own, foreign) in [(QA, one, other), (ANALYST, other, one)] {
            let asked = asked(&change, reviewer);
            assert!(asked.iter().any(|put| put.contains(own)), "{reviewer}: {asked:?}");
            assert!(!asked.iter().any(|put| put.contains(foreign)), "{reviewer}: {asked:?}");
        }
        let [report, shown] = [&["report"][..], &["show", "--json"][..]].map(|args| change.tells(args));
        for words in [one, other] {
            assert!(report.contains(words), "{words}: {report}");
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
}

/// A blocker beside another finding on its line does not land unfixed when only the other one was fixed.
#[test]
fn a_blocker_is_not_swallowed_by_what_stands_beside_it() {
    let (blocker, beside) = (
        "The password is compared with == and not in constant time",
        "The result of the comparison is ignored",
    );
    let mine = id(blocker, beside);
    let script = [
        reviewer(SECURITY, 1, &raises(blocker)),
        reviewer(QA, 1, &raises(beside)),
        fixes(2, &[blocker, beside], "begin = 1\nx = 3\ny = 3\n", "FIXED: {finding:1}\nFIXED: {finding:2}"),
        reviewer(QA, 2, &resolved(id(beside, blocker))),
        reviewer(SECURITY, 2, &format!("{mine}: still there\nVERDICT: reject")),
        fixes(3, &[blocker], FIXED, "FIXED: {finding:1}"),
        reviewer(SECURITY, 3, &resolved(mine)),
    ];
    let change = one_line(&script.concat());
    let ended = change.review(&format!("{SECURITY},{QA}"), &["--fix"], 0);
    assert_eq!(change.rounds(), 3, "{}", ended.said());
    assert!(ended.stdout.contains("2 fixed"), "{}", ended.said());
    let put = asked(&change, SECURITY);
    assert!(put.len() >= 2 && put.iter().all(|put| put.contains(blocker)), "{put:?}");
    assert_eq!(change.file("a.py"), FIXED);
}

/// Two owners speak of one place: both are kept, whatever they say.
#[test]
fn what_two_owners_say_of_one_place_is_two_findings() {
    let (security, api) = (
        "the answer is not sanitized before it is sent back",
        "the endpoint sends the answer back before it is complete",
    );
    let script = [reviewer(SECURITY, 1, &raises(security)), reviewer(API, 1, &raises(api))];
    let change = one_line(&script.concat());
    let ended = change.review(&format!("{SECURITY},{API}"), &[], 1);
    let shown = change.tells(&["show", "--json"]);
    for words in [security, api] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(shown.contains("F-1") && shown.contains("F-2"), "{shown}");
}

/// The architect drops a must_have while it answers a reviewer: the structural check's finding is one of its own, and the
/// reviewer is asked about the words it said.
#[test]
fn a_check_of_a_plan_never_takes_a_reviewers_finding_over() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "plan"
round = 1
do = [ { say = "[id:1] [severity:blocker] [confidence:90] [file:{PLAN}:7] issue: the rollback is missing\nVERDICT: reject" } ]

[[turn]]
role = "architect"
round = 2
do = [
  { expect = "the rollback is missing" },
  { run = ["sh", "-c", "sed -e '/is a script/d' -e 's/^Write it\\.$/Write it so that it prints one word./' {PLAN} > plan.new && mv plan.new {PLAN}"] },
  { say = "FIXED: {finding:1}\nSUMMARY: it can be taken back.\nTASK: done" },
]

[[turn]]
role = "architect"
round = 3
do = [
  { expect = "no finding asked to drop: bin/one.sh is a script" },
  { expect = "the rollback is missing" },
  { run = ["sh", "-c", "sed 's/^must_haves:$/must_haves:\\n  - \"bin\\/one.sh is a script\"/' {PLAN} > plan.new && mv plan.new {PLAN}"] },
  { say = "FIXED: {finding:1}\nFIXED: {finding:2}\nSUMMARY: it is back.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "plan"
round = 3
do = [ { expect = "the rollback is missing" }, { say = "F-1: resolved\nCHECKED: the task says how.\nVERDICT: approve" } ]

# Nothing shows this must_have: the agent of the delivery names where it is.
[[turn]]
role = "reviewer"
use = "qa"
optional = true
do = [ { say = "{finding:1}: not an issue because bin/one.sh:2 shows it\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]
"##;
    let mut show = Show::with_plan(&Scene { script: SCRIPT, settings: "", ..PLAIN }, |text| {
        text.replace("must_haves:\n", "must_haves:\n  - \"bin/one.sh is a script\"\n")
    });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let report = show.expect(&["report"], 0).stdout;
    let shown = show.expect(&["show", "--json"], 0).stdout;
    for words in ["the rollback is missing", "no finding asked to drop: bin/one.sh is a script"] {
        assert!(report.contains(words), "{words}: {report}");
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let said = show.expect(&["show", "F-1"], 0).stdout;
    assert!(said.contains("the rollback is missing") && !said.contains("asked to drop"), "{said}");
}
