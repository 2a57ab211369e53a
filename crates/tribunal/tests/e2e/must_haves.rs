//! Must-haves that nothing shows: put to the QA agent by id, then to the builder, and closed by a named proof alone. And
//! warnings that passed: told to whoever works next.

use crate::show::Show;
use crate::stage::scenes::{NO_GATE, PLAIN, Scene, TWO_TASKS};
use tribunal_core::run::Ending;

fn launches(show: &Show, of: &str) -> usize {
    show.stage.launched().iter().filter(|effect| effect.contains(of)).count()
}

/// A must_have that no task, artifact or test shows.
fn odd_must_have(script: &str) -> Show {
    let script: &'static str = script.to_owned().leak();
    Show::with_plan(&Scene { script, ..PLAIN }, |text| {
        text.replace("must_haves:\n", "must_haves:\n  - \"everybody rejoices\"\n")
    })
}

/// The QA agent of a round.
fn qa(round: u32, expects: &str, says: &str) -> String {
    format!(
        "\n[[turn]]\nrole = \"reviewer\"\nuse = \"qa\"\nround = {round}\ndo = [ {{ expect = \"{expects}\" }}, {{ say = \"{says}\" }} ]\n"
    )
}

/// The dev that is sent to add evidence.
const ADDS: &str = r##"
[[turn]]
role = "dev"
use = "qa"
round = 2
do = [
  { expect = "Add evidence for requirement: everybody rejoices" },
  { write = "bin/one.sh", text = "#!/bin/sh\necho one\n# everybody rejoices\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: it says so.\nTASK: done" },
]
"##;
/// A place in the change, and a command of the plan that runs it: what an honest reviewer names.
const NAMED: &str = "{finding:1}: not an issue because bin/one.sh:2 does it and `sh bin/one.sh` shows it\\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve";
/// The place that says what the must-have says.
const SAYS_IT: &str = "{finding:1}: not an issue because bin/one.sh:3 says it\\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve";

#[test]
fn a_named_proof_closes_what_nothing_shows() {
    let mut show = odd_must_have(&qa(1, "looked for and not found", NAMED));
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(launches(&show, "/qa"), 1, "{:?}", show.stage.launched());
    let prompt = show.prompts("judge-qa").concat() + &show.prompts("qa").concat();
    // What the agent is given: the question by id, the SUMMARY, the plan's must-haves and paths, and a form.
    for words in [
        "F-1 [blocker]",
        "everybody rejoices",
        "01-01-SUMMARY.md",
        "## What Was Built",
        "may change: bin/one.sh",
        "fixable_by",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    let log = show.expect(&["log", "--json"], 0).stdout;
    assert!(log.contains("shown: bin/one.sh:2, and `sh bin/one.sh` passed"), "{log}");
}

/// What is there and beside the point closes nothing, and the builder is told what is missing.
#[test]
fn a_proof_beside_the_point_goes_to_the_builder_with_what_is_missing() {
    for (why, missing) in [
        ("bin/one.sh:2 shows it", "is in the change and has none of the words of the must-have"),
        ("`sh bin/one.sh` shows it", "no place in the change is named with it"),
        ("README.md:1 shows it", "README.md:1 is not part of the change"),
        ("bin/one.sh:2 and test_that_nobody_ran show it", "test_that_nobody_ran did not run and pass"),
    ] {
        let says = format!(
            "{{finding:1}}: not an issue because {why}\\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve"
        );
        let adds = ADDS.replace("do = [\n", &format!("do = [\n  {{ expect = \"{missing}\" }},\n"));
        let first = qa(1, "everybody rejoices", &says);
        let mut show = odd_must_have(&format!("{first}{adds}{}", qa(2, "everybody rejoices", SAYS_IT)));
        show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed, "{why}");
        assert!(show.landed("bin/one.sh").unwrap().contains("rejoices"), "{why}");
    }
}

/// A test is a proof when it ran on this very tree and passed; one that fails or did not run is none.
#[test]
fn a_named_test_must_have_run_and_passed() {
    let run = |outcome: &str| {
        format!(
            "echo 'test joy::it_is_there ... {outcome}'; echo; echo 'test result: ok. 1 passed; 0 failed; 0 ignored'\n"
        )
    };
    let says = "{finding:1}: not an issue because bin/one.sh:2 does it and joy::it_is_there runs it\\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve";
    let scene = |script: String| {
        let settings = format!("{NO_GATE}[checks]\ntest = [\"sh\", \"tests/run.sh\"]\n");
        Show::with_plan(&Scene { script: script.leak(), settings: settings.leak(), ..PLAIN }, |text| {
            text.replace("must_haves:\n", "must_haves:\n  - \"everybody rejoices\"\n")
        })
    };
    let mut show = scene(qa(1, "everybody rejoices", says));
    show.user_commits(&[("tests/run.sh", &run("ok"))]);
    show.expect(&["run"], 0);
    assert_eq!(launches(&show, "make:dev"), 1, "{:?}", show.stage.launched());
    let log = show.expect(&["log", "--json"], 0).stdout;
    assert!(log.contains("shown: bin/one.sh:2, and test joy::it_is_there passes"), "{log}");
    let second = qa(2, "everybody rejoices", SAYS_IT);
    let mut show = scene(format!("{}{ADDS}{second}", qa(1, "everybody rejoices", says)));
    show.user_commits(&[("tests/run.sh", &run("ok").replace("it_is_there", "it_is_elsewhere"))]);
    show.expect(&["run"], 0);
    assert_eq!(launches(&show, "make:dev"), 2, "{:?}", show.stage.launched());
}

/// Words, a file that is not there, a line that is not there, a document of the plan: none of them is a proof, and
/// what has none goes to the builder.
#[test]
fn what_has_no_proof_goes_to_the_builder() {
    for why in [
        "not an issue because three people were asked and rejoice",
        "not an issue because bin/joy.sh:1 shows it",
        "not an issue because bin/one.sh:99 shows it",
        "not an issue because .planning/phases/01-tools/01-01-PLAN.md:8 says so",
        "resolved",
        "still there",
    ] {
        let first = qa(
            1,
            "everybody rejoices",
            &format!(
                "{{finding:1}}: {why}\\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve"
            ),
        );
        let mut show = odd_must_have(&format!("{first}{ADDS}{}", qa(2, "everybody rejoices", NAMED)));
        show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed, "{why}");
        assert!(show.landed("bin/one.sh").unwrap().contains("rejoices"), "{why}");
    }
}

/// An agent that is lost, or approves without naming it, passes nothing: the check's own word stands.
#[test]
fn an_approval_that_does_not_name_it_passes_nothing() {
    for first in [
        "\n[[turn]]\nrole = \"reviewer\"\nuse = \"qa\"\nround = 1\ntimes = 2\ndo = [ { fault = \"crash\" } ]\n".to_owned(),
        "\n[[turn]]\nrole = \"reviewer\"\nuse = \"qa\"\nround = 1\ndo = [ { say = \"CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve\" } ]\n\n[[turn]]\nrole = \"reviewer-again\"\nuse = \"qa\"\nround = 1\ndo = [ { say = \"CHECKED: every task serves a must-have; ran `git show --stat`, the files are those of the plan.\\nVERDICT: approve\" } ]\n".to_owned(),
    ] {
        let mut show = odd_must_have(&format!("{first}{ADDS}{}", qa(2, "everybody rejoices", NAMED)));
        show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed);
        assert_eq!(launches(&show, "make:dev"), 2, "{:?}", show.stage.launched());
    }
}

/// A plain reject rests on the check that failed: the agent is asked once, and the builder is sent.
#[test]
fn a_plain_reject_rests_on_the_failed_check() {
    let first = qa(
        1,
        "everybody rejoices",
        "{finding:1}: still there\\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: reject",
    );
    let mut show = odd_must_have(&format!("{first}{ADDS}{}", qa(2, "everybody rejoices", NAMED)));
    show.expect(&["run"], 0);
    assert_eq!(launches(&show, "judge:qa"), 2, "{:?}", show.stage.launched());
}

/// What nobody ever shows does not land; a person may take it.
#[test]
fn what_nobody_shows_does_not_land() {
    let never = "\n[[turn]]\nrole = \"reviewer\"\nuse = \"qa\"\nmany = true\noptional = true\ndo = [ { say = \"{finding:1}: still there\\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: reject\" } ]\n\
        [[turn]]\nrole = \"dev\"\nuse = \"qa\"\noptional = true\ndo = [ { write = \"bin/one.sh\", text = \"echo {round}\\n\" }, { say = \"FIXED: {finding:1}\\nTASK: done\" } ]\n";
    let never = never.replace("many = true\n", "");
    let mut show = odd_must_have(&never);
    show.expect(&["run"], 4);
    assert_eq!(show.landed("bin/one.sh"), None);
    let (id, _) = show.questions().remove(0);
    show.expect(&["decide", &id, "accept"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

/// Backs "warnings that are carried on to whoever works next" (docs/concepts.md): the plan's go to the dev of each of
/// its tasks, a task's to the dev of the next.
#[test]
fn warnings_that_passed_are_told_to_whoever_works_next() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "plan"
do = [ { say = "[id:w] [severity:warning] [confidence:90] [file:{PLAN}:12] issue: WARNPLAN the task does not say which word\nVERDICT: conditional" } ]

[[turn]]
role = "reviewer"
use = "task"
task = 1
do = [ { say = "[id:t] [severity:warning] [confidence:90] [file:bin/one.sh:1] issue: WARNTASK it has no usage line\nVERDICT: conditional" } ]
"##;
    let mut show = Show::of(&Scene { plans: TWO_TASKS, script: SCRIPT, settings: "", ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let prompts = |task: &str| {
        let all = show.prompts("make");
        let of_it = all.into_iter().filter(|prompt| prompt.contains(&format!("## Task {task} of 2")));
        of_it.collect::<Vec<_>>().concat()
    };
    let (first, second) = (prompts("1"), prompts("2"));
    assert!(first.contains("carried from the plan gate") && first.contains("WARNPLAN"), "{first}");
    assert!(!first.contains("WARNTASK"), "{first}");
    assert!(second.contains("WARNPLAN") && second.contains("carried from task-1"), "{second}");
    assert!(second.contains("WARNTASK"), "{second}");
    let report = show.expect(&["report", "--format", "markdown"], 0).stdout;
    assert!(report.contains("does not say which word"), "{report}");
}
