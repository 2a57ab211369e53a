//! Reviewers that are asked again: nobody takes back what was not read, every try after a lost one is told what was wrong,
//! and a person who is asked sees the reviewers' own words and who they were.

use crate::show::Show;
use serde_json::Value;
use tribunal_core::run::Ending;

/// A finding in a code fence is nobody's finding: the reject has no ground that was read.
const UNREAD_REJECT: &str = r##"{ say = "What I found:\n\n```\n[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:1] issue: the connection leaks when it is closed twice\n```\n\nVERDICT: reject" }"##;

fn script(turns: &[(&str, &str)]) -> String {
    let turn =
        |(head, steps): &(&str, &str)| format!("[[turn]]\nuse = \"task\"\n{head}\ndo = [ {steps} ]\n\n");
    turns.iter().map(turn).collect()
}

/// The play of the audit: it rejects in a form that nobody reads and approves when it is asked again. It must not land,
/// and its words are before the person who is asked.
#[test]
fn a_reject_that_was_not_read_is_not_taken_back() {
    let again = r##"{ expect = "U-1 (" }, { expect = "the connection leaks when it is closed twice" }, { expect = "no finding because" }, { say = "U-1: no finding because it is fine.\nCHECKED: read bin/one.sh, it prints one; ran it by hand.\nVERDICT: approve" }"##;
    let mut show = Show::script(&script(&[
        ("role = \"reviewer\"", UNREAD_REJECT),
        ("role = \"reviewer-again\"", again),
    ]));
    show.expect(&["run"], 4);
    let asked = show.expect(&["inbox"], 0).stdout;
    for words in [
        "the connection leaks when it is closed twice",
        "try 1",
        "asked again",
        "milder",
        "no usable verdict",
    ] {
        assert!(asked.contains(words), "no {words:?} in {asked}");
    }
    let report = show.expect(&["report"], 0).stdout;
    assert!(report.contains("the connection leaks when it is closed twice"), "{report}");
    for form in ["--json", "--html"] {
        let report = show.expect(&["report", form], 0).stdout;
        assert!(report.contains("the connection leaks when it is closed twice"), "{form}: {report}");
    }
    let shown = show.expect(&["show", "01-01/task-1"], 0).stdout;
    assert!(shown.contains("the connection leaks when it is closed twice"), "{shown}");
}

/// A reject of which no reason was read, in any form, is not followed by an approval: not by its author's, and not by the
/// fallback reviewer's. Who said nothing against the work may be heard on the next try.
#[test]
fn a_reject_without_a_reason_that_was_read_binds_its_place() {
    const APPROVES: &str =
        r##"{ say = "CHECKED: read bin/one.sh, it prints one; ran it by hand.\nVERDICT: approve" }"##;
    for (words, code) in [
        ("**FAIL**\\n\\nThe connection leaks.", 4),
        ("VERDICT: reject", 4),
        ("The connection leaks when the name is long. I reject this.", 4),
        ("NEEDS WORK: the connection leaks when the name is long.", 4),
        ("连接泄漏，必须修复。拒绝。", 4),
        ("I could not make up my mind today.", 0),
    ] {
        let first = format!("{{ say = \"{words}\" }}");
        let mut show = Show::script(&script(&[
            ("role = \"reviewer\"\nattempt = 1", &first),
            ("role = \"reviewer\"\nattempt = 2\noptional = true", APPROVES),
            ("role = \"reviewer-again\"\noptional = true", APPROVES),
            ("role = \"backup\"\noptional = true", APPROVES),
        ]));
        show.expect(&["run"], code);
    }
}

/// The same reject, and the finding is raised in the asked form: it counts as ever.
#[test]
fn a_reject_that_is_said_again_in_the_asked_form_counts() {
    let again = r##"{ say = "[id:U-1] [severity:blocker] [confidence:95] [file:bin/one.sh:1] issue: the connection leaks when it is closed twice\nVERDICT: reject" }"##;
    let mut show = Show::script(&script(&[
        ("role = \"reviewer\"\nround = 1", UNREAD_REJECT),
        ("role = \"reviewer-again\"\nround = 1", again),
        (
            "role = \"reviewer\"\nround = 2",
            r##"{ say = "F-1: resolved", each = "finding" }, { say = "CHECKED: read bin/one.sh, it prints one; ran it by hand.\nVERDICT: approve" }"##,
        ),
        (
            "role = \"dev\"\nround = 2",
            r##"{ write = "bin/one.sh", text = "echo one twice\n" }, { say = "FIXED: F-1\nSUMMARY: it is closed once.\nTASK: done" }"##,
        ),
    ]));
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let report = show.expect(&["report"], 0).stdout;
    assert!(report.contains("1 finding"), "{report}");
}

/// An approval with something unread counts only when every part of it is answered.
#[test]
fn an_approval_answers_for_each_part_that_was_not_read() {
    const FIRST: &str = r##"{ say = "```\n[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:1] issue: an example of a finding\n```\nCHECKED: read bin/one.sh, it prints one; ran it by hand.\nVERDICT: approve" }"##;
    for (reply, code) in [("U-1: no finding because it is an example out of the guide", 0), ("All good.", 4)]
    {
        let again = format!(
            "{{ say = \"{reply}\\nCHECKED: read bin/one.sh, it prints one; ran it by hand.\\nVERDICT: approve\" }}"
        );
        let mut show =
            Show::script(&script(&[("role = \"reviewer\"", FIRST), ("role = \"reviewer-again\"", &again)]));
        show.expect(&["run"], code);
    }
}

/// The second attempt is not asked with the same prompt: it is told what was wrong.
#[test]
fn the_second_attempt_is_told_what_was_wrong() {
    let second = r##"{ expect = "Attempts before this one" }, { expect = "I could not make up my mind today" }, { say = "CHECKED: read bin/one.sh, it prints one; ran it by hand.\nVERDICT: approve" }"##;
    let mut show = Show::script(&script(&[
        ("role = \"reviewer\"\nattempt = 1", r##"{ say = "I could not make up my mind today" }"##),
        ("role = \"reviewer\"\nattempt = 2", second),
    ]));
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

/// With every verdict and every finding goes who the reviewer was.
#[test]
fn a_report_names_who_reviewed() {
    let first = r##"{ say = "[id:a] [severity:suggestion] [confidence:90] [file:bin/one.sh:1] issue: no comment at its head\nCHECKED: read bin/one.sh, it prints one; ran it by hand.\nVERDICT: approve" }"##;
    let mut show = Show::script(&script(&[("role = \"reviewer\"", first)]));
    show.expect(&["run"], 0);
    let report: Value = serde_json::from_str(&show.expect(&["report", "--json"], 0).stdout).unwrap();
    let parts = report["loops"].as_array().unwrap();
    let task = parts.iter().find(|part| part["id"].as_str().unwrap().contains("/task-1")).unwrap();
    for identity in [
        &task["spoken"][0]["identity"],
        &task["words"].as_array().unwrap().iter().find(|word| word["is_check"] == false).unwrap()["identity"],
        &report["findings"][0]["identities"][0],
    ] {
        assert_eq!(identity["adapter"], "witness", "{report:#}");
        assert_eq!((&identity["model"], &identity["model_asked"]), (&"script".into(), &true.into()));
        for digest in ["rules", "prompt"] {
            assert_eq!(identity[digest].as_str().unwrap().len(), 12, "{identity:#}");
        }
    }
    let sarif = show.expect(&["report", "--format", "sarif"], 0).stdout;
    assert!(sarif.contains("tribunal/identities"), "{sarif}");
}
