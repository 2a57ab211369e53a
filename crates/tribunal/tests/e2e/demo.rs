//! Every scenario of the demo ends as it is named, and leaves a project that can be looked at.

use tribunal_core::run::Ending;
use tribunal_engine::{Docket, inbox};
use tribunal_journal::Reader;

/// Plays a scenario; gives back what its journal says.
#[track_caller]
fn demo(scenario: &str) -> (Docket, String) {
    let (_folder, mut stage) = crate::stage();
    let dir = stage.root().join("the demo");
    let ended =
        stage.tribunal(&["demo", "--scenario", scenario, "--dir", &dir.display().to_string()]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    stage.program_mut().dir = dir;
    let run = stage.runs().remove(0);
    assert_eq!(tribunal_process::survivors(&run), Vec::<i32>::new());
    let reader = Reader::open(&stage.run_dir(&run)).unwrap();
    for args in [&["status"][..], &["show"], &["log"], &["inbox"]] {
        let ended = stage.tribunal(args).unwrap();
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.said());
    }
    (Docket::read(&reader).unwrap(), ended.said())
}

/// The run's ending, and how the loop of the first plan ended.
fn ends(docket: &Docket) -> (Option<Ending>, String) {
    let first = docket.loops.iter().find(|(id, _)| id.as_str().starts_with("01-01/plan"));
    let outcome = first.and_then(|(_, lp)| lp.outcome()).map(|outcome| outcome.word().to_owned());
    (docket.run.as_ref().and_then(|run| run.ending()), outcome.unwrap_or_default())
}

#[test]
fn pass() {
    let (docket, said) = demo("pass");
    assert_eq!(ends(&docket), (Some(Ending::Passed), "passed".to_owned()));
    let landed = docket
        .run
        .unwrap()
        .standings()
        .filter(|(_, s)| matches!(s, tribunal_core::run::Standing::Landed(_)))
        .count();
    assert_eq!(landed, 4);
    assert!(said.contains("Try next:"), "{said}");
    // A reviewer that crashed said nothing that could have been read.
    assert!(!said.contains("was not read whole"), "{said}");
}

#[test]
fn stale() {
    assert_eq!(ends(&demo("stale").0), (Some(Ending::Shut), "stale".to_owned()));
}

#[test]
fn exhausted() {
    assert_eq!(ends(&demo("exhausted").0), (Some(Ending::Shut), "exhausted".to_owned()));
}

#[test]
fn escalated() {
    assert_eq!(ends(&demo("escalated").0), (Some(Ending::Passed), "passed".to_owned()));
}

#[test]
fn blocked() {
    let docket = demo("blocked").0;
    assert_eq!(ends(&docket).0, None);
    let open: Vec<String> = inbox::questions(&docket).into_iter().map(|open| open.id).collect();
    assert_eq!(open, ["01-02"]);
}

#[test]
fn oscillating() {
    let (docket, said) = demo("oscillating");
    assert_eq!(ends(&docket).0, None);
    let open = inbox::questions(&docket);
    let ids: Vec<&str> = open.iter().map(|open| open.id.as_str()).collect();
    assert_eq!(ids, ["01-02/task-1"]);
    assert!(open[0].why.contains("undo each other"), "{}", open[0].why);
    let (_, contested) = open[0].findings.first().unwrap();
    assert!(contested.heard_contest && contested.flipped && contested.reopened == 2, "{contested:?}");
    let heard: Vec<&str> =
        docket.launches.iter().filter(|l| l.role == "hearing").map(|l| l.effect.as_str()).collect();
    assert_eq!(heard.len(), 2, "each side is heard once: {heard:?}");
    for words in ["ESCALATED", "undo each other", "came back", "on lines the fix added"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn crash() {
    let (docket, said) = demo("crash");
    assert_eq!(ends(&docket), (Some(Ending::Passed), "passed".to_owned()));
    assert!(said.contains("Killed"), "{said}");
}

/// What hostile agents try is told, and nothing of it lands.
#[test]
fn hostile() {
    let (docket, said) = demo("hostile");
    assert_eq!(ends(&docket).0, Some(Ending::Passed));
    for words in [
        "config.ini holds an AWS access key",
        "its working folder was taken away",
        "two verdicts contradict each other",
        "ci.yml configures CI or hooks: a change needs a person",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let mut found = docket.loops.values().flat_map(|lp| lp.ledger().iter());
    assert!(found.any(|(_, entry)| entry.claim.claim.contains("leads out of the repository")));
    assert_eq!(docket.launches.iter().map(|launch| launch.left_behind).max(), Some(5));
    assert!(said.contains("left processes running: 5"), "{said}");
}

#[test]
fn a_folder_that_is_not_empty_is_left_alone() {
    let (_folder, stage) = crate::stage();
    let ended = stage.tribunal(&["demo", "--dir", &stage.root().display().to_string()]).unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.stderr.contains("is not empty") && ended.stderr.contains("hint: "), "{}", ended.stderr);
}
