//! Evidence of an approval, through the program: what is none is refused with what is missing, the reviewer is told with an
//! example from its own work, a person sees the same reason everywhere, and a good answer is taken. And who built and who
//! judged stands in the report and in the landed commit.

use crate::show::Show;
use serde_json::Value;
use tribunal_core::run::Ending;

const BARE: &str = "CHECKED: read bin/one.sh\\nVERDICT: approve";
const GOOD: &str =
    "CHECKED: read bin/one.sh, it prints one; ran sh bin/one.sh, it printed one.\\nVERDICT: approve";

fn turn(head: &str, steps: &str) -> String {
    format!("[[turn]]\n{head}\ndo = [ {steps} ]\n\n")
}

fn say(words: &str) -> String {
    format!("{{ say = \"{words}\" }}")
}

fn expect(words: &str) -> String {
    format!("{{ expect = \"{words}\" }}, ")
}

#[test]
fn a_bare_name_is_refused_with_its_reason_and_then_a_good_answer_is_taken() {
    let reason = "does not say what was seen there";
    let again =
        [reason, "read bin/one.sh, <what it does now>", "The CHECKED line that was refused"].map(expect);
    let mut show = Show::script(&format!(
        "{}{}",
        turn("role = \"reviewer\"\nuse = \"task\"", &say(BARE)),
        turn("role = \"reviewer-again\"\nuse = \"task\"", &(again.concat() + &say(GOOD)))
    ));
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let words = format!("it approved, and its CHECKED \"read bin/one.sh\" {reason}");
    for command in [&["log"][..], &["show", "01-01/task-1"]] {
        let said = show.expect(command, 0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&words), "{command:?}: {said}");
    }
}

/// Refused to the end, the reason is before the person who is asked, in every face.
#[test]
fn a_question_says_why_the_evidence_was_refused() {
    for (checked, reason) in [
        ("read bin/one.sh", "does not say what was seen there"),
        ("read it all", "names no file, symbol or command of this change"),
        ("nothing", "says that nothing was done"),
    ] {
        let bare = say(&format!("CHECKED: {checked}\\nVERDICT: approve"));
        let roles = ["reviewer", "reviewer-again", "backup", "backup-again"];
        let turns =
            roles.map(|role| turn(&format!("role = \"{role}\"\nuse = \"task\"\noptional = true"), &bare));
        let mut show = Show::script(&turns.concat());
        show.expect(&["run"], 4);
        let level = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for command in [
            &["inbox"][..],
            &["show", "01-01/task-1"],
            &["report"],
            &["report", "--json"],
            &["report", "--html"],
        ] {
            let said = level(show.expect(command, 0).stdout);
            assert!(said.contains(reason), "{command:?}: {said}");
        }
    }
}

/// A plan is judged before any code: words about code are refused, words about the plan are taken.
#[test]
fn evidence_about_code_is_none_for_a_plan() {
    let again = ["speaks of code", "task 1 changes bin/one.sh"].map(expect);
    let plan = "CHECKED: task 1 adds the file that the must-have names, and its verification runs it.\\nVERDICT: approve";
    for checked in ["read bin/one.sh; the name and the default are there", "ran the suite, 64 passed"] {
        let code = say(&format!("CHECKED: {checked}\\nVERDICT: approve"));
        let mut show = Show::with(
            "",
            &format!(
                "{}{}",
                turn("role = \"reviewer\"\nuse = \"plan\"", &code),
                turn("role = \"reviewer-again\"\nuse = \"plan\"", &(again.concat() + &say(plan)))
            ),
        );
        show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed);
    }
}

/// By a tool it is refused at once, with what is missing, and can be said in the same launch.
#[test]
fn a_tool_call_is_told_what_its_evidence_lacks() {
    let vote = |checked: &str, refused: &str| {
        format!(
            "{{ mcp = {{ tool = \"cast_verdict\", args = {{ verdict = \"approve\", checked = \"{checked}\" }} }}{refused} }}, "
        )
    };
    let steps = vote("read it all", ", refused = true") + &vote("read bin/one.sh, it prints one", "");
    let mut show = Show::with(crate::reporting::OPEN, &turn("role = \"reviewer\"\nuse = \"task\"", &steps));
    show.expect(&["run"], 0);
    let denied: Vec<String> =
        show.run_state().launches.iter().flat_map(|launch| launch.denied.clone()).collect();
    assert!(
        denied.iter().any(|line| line.contains("names no file, symbol or command of this change")),
        "{denied:?}"
    );
}

#[test]
fn who_built_and_judged_is_said_in_report_and_commit() {
    let mut show = Show::script(&turn("role = \"reviewer\"\nuse = \"task\"", &say(GOOD)));
    show.expect(&["run"], 0);
    let message = show.messages();
    let built = "Tribunal-Built-By: witness, model script asked for";
    let judged = "Tribunal-Reviewed-By: loop-reviewer: witness, model script asked for (judged by the same model in another \
                  launch, under the same login)";
    for line in [built, judged] {
        assert_eq!(message.lines().filter(|found| *found == line).count(), 1, "{line}\n{message}");
    }
    let level = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for form in [&["report"][..], &["report", "--format", "markdown"], &["report", "--html"]] {
        let report = level(show.expect(form, 0).stdout);
        assert!(
            report.contains("judged by the same model in another launch, under the same login"),
            "{report}"
        );
    }
    let report: Value = serde_json::from_str(&show.expect(&["report", "--json"], 0).stdout).unwrap();
    assert_eq!(report["who"]["builders"][0], "witness, model script asked for", "{report:#}");
}

/// Whose answer did not count has not judged, also when it is asked a second time: the commit that a person takes as it is
/// names no reviewer, and every lost answer keeps its reason.
#[test]
fn who_gave_no_evidence_is_no_reviewer_of_what_lands() {
    let roles = ["reviewer", "reviewer-again"];
    let turns = roles.map(|role| {
        turn(&format!("role = \"{role}\"\nuse = \"task\"\ntimes = 2\noptional = true"), &say(BARE))
    });
    let mut show = Show::script(&turns.concat());
    show.expect(&["run"], 4);
    show.expect(&["decide", "01-01/task-1", "ask-again"], 4);
    let level = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = level(show.expect(&["show", "01-01/task-1"], 0).stdout);
    assert_eq!(said.matches("did not count, it approved, and its CHECKED").count(), 4, "{said}");
    show.expect(&["decide", "01-01/task-1:2", "accept", "--by", "Ada"], 0);
    let message = show.messages();
    assert!(message.contains("Tribunal-Built-By: witness"), "{message}");
    assert!(message.contains("Tribunal-Accepted-By: Ada"), "{message}");
    assert!(!message.contains("Tribunal-Reviewed-By"), "{message}");
}
