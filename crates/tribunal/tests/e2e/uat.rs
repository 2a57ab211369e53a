//! Acceptance by a person: it holds nothing back, every answer is kept, and an issue takes the completion back.

use crate::show::Show;
use crate::stage::program::Ended;
use crate::stage::scenes::{NO_GATE, PLAIN, Scene, TWO_PLANS, User};
use std::ffi::OsString;

const STATE: &str = "# State\n\n## Current Phase\nPhase: 1 of 1 (Tools)\nStatus: ready\n\n## Notes\nours\n";
const ROADMAP: &str = "- [ ] **Phase 1: Tools** - ours\n- [ ] 01-01-PLAN.md\n- [ ] 01-02-PLAN.md\n";
const UAT: &str = ".planning/phases/01-tools/01-UAT.md";

/// A phase of two plans that was built.
fn built(settings: &'static str) -> Show {
    let mut show = Show::of(&Scene { plans: TWO_PLANS, user: User::PlanningUntracked, settings, ..PLAIN });
    show.user_acts(|stage| {
        stage.write(".planning/STATE.md", STATE)?;
        stage.write(".planning/ROADMAP.md", ROADMAP)
    });
    show.expect(&["run"], 0);
    show
}

/// Gives answers, line by line.
fn answer(show: &Show, lines: &str, args: &[&str]) -> Ended {
    let binary = show.stage.program().binary.clone().into_os_string();
    let line = "printf '%b' \"$1\" | { bin=$0; shift; \"$bin\" \"$@\"; }";
    let mut words: Vec<OsString> = vec!["-c".into(), line.into(), binary, lines.into()];
    words.extend(args.iter().map(OsString::from));
    show.stage.program().launch("sh".as_ref(), &words, &[]).unwrap().wait().unwrap()
}

fn read(show: &Show, path: &str) -> String {
    std::fs::read_to_string(show.stage.project().join(path)).unwrap()
}

fn status(show: &Show) -> serde_json::Value {
    let state: serde_json::Value =
        serde_json::from_str(&read(show, ".planning/.execution-state.json")).unwrap();
    state["status"].clone()
}

#[test]
fn uat_with_an_issue() {
    let show = built(NO_GATE);
    let inbox = show.stage.tribunal(&["inbox"]).unwrap();
    assert!(inbox.stdout.contains("tribunal uat 01"), "{}", inbox.said());
    assert!(read(&show, ".planning/ROADMAP.md").contains("- [x] **Phase 1"));

    let found = answer(&show, "pass\nit crashes without a name\n", &["uat"]);
    assert_eq!(found.code, Some(1), "{}", found.said());
    assert!(found.stdout.contains("P02-T1 [critical] it crashes without a name"), "{}", found.stdout);
    let uat = read(&show, UAT);
    for line in
        ["status: issues_found", "total_tests: 2", "passed: 1", "issues: 1", "- **Severity:** critical"]
    {
        assert!(uat.contains(line), "{line}: {uat}");
    }
    let roadmap = read(&show, ".planning/ROADMAP.md");
    assert!(roadmap.contains("- [ ] **Phase 1: Tools** - ours\n- [x] 01-01"), "{roadmap}");
    assert_eq!(
        read(&show, ".planning/STATE.md"),
        STATE.replace("Status: ready", "Status: Phase 01 issues found (2/2 plans, 1 issue)")
    );
    assert_eq!(status(&show), "running");
    assert!(show.stage.tribunal(&["inbox"]).unwrap().stdout.contains("tribunal uat 01"));

    // Fixed: only what had an issue is asked again.
    let fixed = answer(&show, "works now, thank you\n", &["uat", "1"]);
    assert_eq!(fixed.code, Some(1), "words that are no pass are an issue: {}", fixed.said());
    let fixed = answer(&show, "works\n", &["uat", "1", "--json"]);
    assert_eq!(fixed.code, Some(0), "{}", fixed.said());
    let json: serde_json::Value = serde_json::from_str(&fixed.stdout).unwrap();
    assert_eq!((&json["status"], &json["counts"]["passed"]), (&"complete".into(), &2.into()));
    assert!(read(&show, ".planning/ROADMAP.md").contains("- [x] **Phase 1"));
    assert_eq!(status(&show), "complete");
    let inbox = show.stage.tribunal(&["inbox"]).unwrap();
    assert!(!inbox.said().contains("tribunal uat"), "{}", inbox.said());
}

#[test]
fn every_answer_is_kept_and_nothing_is_asked_twice() {
    let show = built(NO_GATE);
    let first = answer(&show, "skip\n", &["uat", "01"]);
    assert_eq!(first.code, Some(4), "{}", first.said());
    assert!(read(&show, UAT).contains("status: in_progress"));
    let rest = answer(&show, "\n \nlgtm\n", &["uat", "01"]);
    assert_eq!(rest.code, Some(0), "an empty line is no answer: {}", rest.said());
    assert!(rest.stderr.contains("P02-T1") && !rest.stderr.contains("P01-T1"), "{}", rest.stderr);
    let again = show.stage.tribunal(&["uat"]).unwrap();
    assert_eq!(again.code, Some(0), "{}", again.said());
}

#[test]
fn who_asks_for_it_is_asked_at_once() {
    let show = Show::of(&PLAIN);
    let ended = answer(&show, "the word is wrong\n", &["run", "--uat"]);
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    assert!(ended.stdout.contains("P01-T1 [major] the word is wrong"), "{}", ended.stdout);
    assert!(show.stage.project().join(UAT).exists());
}

#[test]
fn a_confident_run_asks_nobody() {
    let show = built("[plan]\nreview = \"never\"\n[run]\nautonomy = \"confident\"\n");
    assert_eq!(show.stage.tribunal(&["inbox"]).unwrap().stderr.trim(), "nothing waits for you");
    assert!(!show.stage.project().join(UAT).exists());
}

#[test]
fn planning_files_are_committed_where_the_configuration_says_so() {
    let mut show =
        Show::of(&Scene { settings: "[plan]\nreview = \"never\"\n[git]\nplanning = \"commit\"\n", ..PLAIN });
    show.expect(&["run"], 0);
    show.stage.write("staged.txt", "mine\n").unwrap();
    show.stage.git(&["add", "staged.txt"]).unwrap();
    assert_eq!(answer(&show, "ok\n", &["uat"]).code, Some(0));
    assert_eq!(
        show.stage.git(&["show", "--name-only", "--format=%s", "HEAD"]).unwrap(),
        format!("docs(01): acceptance\n\n{UAT}")
    );
    assert_eq!(
        show.stage.git(&["status", "--porcelain"]).unwrap(),
        "A  staged.txt",
        "what was staged stays so"
    );
}

#[test]
fn nothing_to_try_out() {
    let show = Show::of(&PLAIN);
    let ended = show.stage.tribunal(&["uat"]).unwrap();
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("no complete SUMMARY") && ended.stderr.contains("hint: tribunal run 01"),
        "{}",
        ended.stderr
    );
}
