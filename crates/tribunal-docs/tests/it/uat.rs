//! Acceptance by a person: what answers mean, what is asked, and what is kept.

use proptest::prelude::*;
use tribunal_docs::{Summary, Uat, UatAnswer, read_summary, read_uat, uat_answer, write_uat};

fn said(text: &str, expect: &str) {
    let word = match uat_answer(text) {
        None => "nothing",
        Some(UatAnswer::Pass) => "pass",
        Some(UatAnswer::Skip) => "skip",
        Some(UatAnswer::Issue { severity, .. }) => severity,
    };
    assert_eq!(word, expect, "{text:?}");
}

#[test]
fn answers_mean_what_they_say() {
    for text in [
        "pass",
        " Passed ",
        "YES",
        "y",
        "good",
        "ok",
        "Okay",
        "works",
        "correct",
        "confirmed",
        "LGTM",
        "Looks good!",
    ] {
        said(text, "pass");
    }
    for text in ["skip", "Skipped", "next", "n/a", "NA", "later", "defer"] {
        said(text, "skip");
    }
    for (text, severity) in [
        ("it crashes at once", "critical"),
        ("the page is broken, a small one", "critical"),
        ("doesn’t work", "critical"),
        ("passes, but prints the wrong word", "major"),
        ("a bug", "major"),
        ("a typo in the title", "minor"),
        ("cosmetic: two spaces", "minor"),
        ("I do not like it", "major"),
        ("no", "major"),
        ("yes but", "major"),
    ] {
        said(text, severity);
    }
    said("", "nothing");
    said(" \n", "nothing");
}

fn summary(plan: &str, built: &str) -> Summary {
    let text = format!(
        "---\nphase: \"01\"\nplan: \"{plan}\"\ntitle: Tool {plan}\nstatus: complete\n---\n\n## What Was Built\n\n{built}\n"
    );
    read_summary(&format!("01-{plan}-SUMMARY.md"), &text).value.unwrap()
}

#[test]
fn one_to_three_scenarios_per_plan() {
    let summaries = [
        summary("01", "- a\n- **b** works\n- a\n- c\n- d"),
        summary("02", "Words alone."),
        summary("03", ""),
    ];
    let uat = Uat::of("01", &summaries, "2026-01-31");
    let asked: Vec<(String, &str)> = uat.tests.iter().map(|t| (t.id.clone(), t.scenario.as_str())).collect();
    let expect = [
        ("P01-T1", "a"),
        ("P01-T2", "b works"),
        ("P01-T3", "c"),
        ("P02-T1", "Words alone."),
        ("P03-T1", "Tool 03"),
    ];
    assert_eq!(asked, expect.map(|(id, text)| (id.to_owned(), text)));
}

#[test]
fn saved_and_taken_up_again() {
    let summaries = [summary("01", "- a\n- b"), summary("02", "- c")];
    let mut uat = Uat::of("01", &summaries, "2026-01-31");
    uat.tests[0].answer = uat_answer("pass");
    uat.tests[1].answer = uat_answer("it is  wrong:\n**Result:** pass");
    assert_eq!((uat.status(), uat.next()), ("in_progress", Some(2)));
    let read = read_uat(&write_uat(&uat));
    assert_eq!(read, uat);
    let mut again = Uat::of("01", &summaries, "2026-02-01");
    again.resume(&read);
    assert_eq!(again, uat, "nothing is asked twice");
    again.tests[2].answer = uat_answer("skip");
    assert_eq!((again.status(), again.counts()), ("issues_found", (1, 1, 1)));
    again.ask_issues_again();
    assert_eq!((again.status(), again.next()), ("in_progress", Some(1)));
    again.tests[1].answer = uat_answer("ok");
    assert_eq!(again.status(), "complete");
    // What was built anew is asked anew.
    let mut other = Uat::of("01", &[summary("01", "- x\n- b")], "2026-02-02");
    other.resume(&again);
    assert_eq!(other.next(), Some(0));
}

proptest! {
    #[test]
    fn what_is_written_is_read(issue in ".{1,80}", built in ".{0,80}", done in 0usize..3) {
        let mut uat = Uat::of("01", &[summary("01", &built), summary("02", "- c")], "2026-01-31");
        for test in uat.tests.iter_mut().take(done) {
            test.answer = uat_answer(&issue);
        }
        let read = read_uat(&write_uat(&uat));
        let answers = |uat: &Uat| uat.tests.iter().map(|t| (t.id.clone(), t.answer.clone())).collect::<Vec<_>>();
        prop_assert_eq!(answers(&read), answers(&uat));
    }

    #[test]
    fn any_document_is_survived(text in ".{0,300}") {
        read_uat(&text);
    }
}
