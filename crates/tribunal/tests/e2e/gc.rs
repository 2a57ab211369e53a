//! `gc`: what ended is removed, what nobody has taken yet is not.

use crate::show::Show;
use crate::stage::scenes::{self, PLAIN, Scene};
use std::ffi::OsStr;

#[test]
fn a_result_on_no_branch_is_kept() {
    let mut show = Show::of(&PLAIN);
    let begin = show.stage.git(&["rev-parse", "HEAD"]).unwrap();
    show.expect(&["run"], 0);
    let head = show.stage.git(&["rev-parse", "HEAD"]).unwrap();
    // As if the user's branch had been left alone.
    show.stage.git(&["reset", "--quiet", "--hard", &begin]).unwrap();
    let gc = |args: &[&str]| show.stage.tribunal(&[&["gc", "--older-than", "0"], args].concat()).unwrap();
    let said = gc(&[]).stdout;
    assert!(said.contains("on no branch") && said.contains(&format!("git merge --ff-only {head}")), "{said}");
    assert_eq!(show.stage.runs().len(), 1);
    show.stage.git(&["merge", "--quiet", "--ff-only", &head]).unwrap();
    let said = gc(&[]).stdout;
    assert!(said.contains("removed 1 run"), "{said}");
    assert!(show.stage.runs().is_empty());
}

#[test]
fn a_result_is_given_up_only_when_that_is_said() {
    let mut show = Show::of(&PLAIN);
    let begin = show.stage.git(&["rev-parse", "HEAD"]).unwrap();
    show.expect(&["run"], 0);
    show.stage.git(&["reset", "--quiet", "--hard", &begin]).unwrap();
    let said = show.stage.tribunal(&["gc", "--older-than", "0", "--force"]).unwrap().stdout;
    assert!(said.contains("removed 1 run"), "{said}");
    assert!(show.stage.runs().is_empty());
}

/// A dev that leaves a file which git does not take: nowhere but in its tree.
const REFUSED: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "#!/bin/sh\necho one\n", executable = true },
  { write = "git~1", text = "only here\n" },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]
"##;

/// I6: what git could not take is not deleted with the tree it lies in, and the person is told where it is.
#[test]
fn what_git_could_not_take_is_kept() {
    let mut show = Show::of(&Scene { script: REFUSED, ..PLAIN });
    show.expect(&["run"], 0);
    let kept = show.stage.run_dir(&show.run()).join("kept");
    let place = kept.join("01-01-1");
    assert_eq!(std::fs::read_to_string(place.join("git~1")).unwrap(), "only here\n");
    let warnings = show.run_state().warnings;
    let told = |what: &[&str]| warnings.iter().any(|text| what.iter().all(|what| text.contains(what)));
    assert!(told(&["kept in", &place.display().to_string(), "git~1"]), "{warnings:?}");
    assert!(told(&["what is judged of 01-01", "git~1"]), "{warnings:?}");
    let status = show.expect(&["status"], 0).stdout;
    assert!(status.contains("kept/01-01-1"), "{status}");
    let said = show.expect(&["gc", "--older-than", "0"], 0).stdout;
    assert!(said.contains(&kept.display().to_string()) && said.contains("--force"), "{said}");
    assert_eq!(std::fs::read_to_string(place.join("git~1")).unwrap(), "only here\n");
    let said = show.expect(&["gc", "--older-than", "0", "--force"], 0).stdout;
    assert!(said.contains("removed 1 run"), "{said}");
}

/// A gate that stayed shut is no result: what is said of it does not keep the run for ever.
#[test]
fn a_run_that_landed_nothing_is_removed() {
    let settings = scenes::STUCK_SETTINGS;
    let mut show = Show::of(&Scene { script: scenes::STUCK, settings, ..PLAIN });
    show.expect(&["run"], 4);
    show.expect(&["decide", "01-01", "drop"], 1);
    let head = format!("refs/tribunal/{}/head", show.run());
    let head = show.stage.git(&["rev-parse", &head]).unwrap();
    assert_ne!(head, show.stage.git(&["rev-parse", "HEAD"]).unwrap(), "there are documents of it");
    let said = show.expect(&["gc", "--older-than", "0"], 0).stdout;
    assert!(said.contains("removed 1 run"), "{said}");
}

/// What landed beside a plan that did not is a result.
#[test]
fn what_landed_before_a_gate_stayed_shut_is_kept() {
    let settings = scenes::STUCK_SETTINGS;
    let mut show = Show::of(&Scene { plans: scenes::TWO_PLANS, script: scenes::STUCK, settings, ..PLAIN });
    show.expect(&["run"], 4);
    show.expect(&["decide", "01-01", "drop"], 1);
    let said = show.expect(&["gc", "--older-than", "0"], 0).stdout;
    assert!(said.contains("on no branch"), "{said}");
}

/// Who dies in the first moments leaves a folder without a run. All commands agree on what it is, and `gc` takes it away.
#[test]
fn a_run_that_never_began() {
    let mut show = Show::of(&PLAIN);
    // Before the journal's first row; as the journal is made; before there is one.
    let died = show.stage.program().run(&["run"], &[("TRIBUNAL_CRASH_AT", OsStr::new("1"))]).unwrap();
    assert_eq!(show.after(&["run"], died).signal, Some(9));
    for (id, journal) in [("20200101-000001-01", true), ("20200101-000002-01", false)] {
        let dir = show.stage.run_dir(id);
        std::fs::create_dir(&dir).unwrap();
        show.stage.own(id);
        std::fs::write(dir.join("lock"), "").unwrap();
        if journal {
            std::fs::write(dir.join("journal.db"), "").unwrap();
        }
    }
    let theirs = show.stage.run_dir("notes");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::write(theirs.join("mine.txt"), "mine").unwrap();
    let run = show.stage.runs().into_iter().find(|run| !run.starts_with("2020") && run != "notes").unwrap();
    for id in [run.as_str(), "20200101-000001-01"] {
        let status = show.expect(&["status", id], 0).stdout;
        assert!(status.contains("never began") && status.contains("tribunal gc"), "{status}");
        assert!(!status.contains("resume"), "{status}");
        for verb in ["resume", "cancel"] {
            let said = show.expect(&[verb, id], 2).stderr;
            assert!(said.contains("never began") && said.contains("tribunal run"), "{verb}: {said}");
        }
    }
    for args in [&["resume"][..], &["cancel"]] {
        let said = show.expect(args, 2).stderr;
        assert!(said.contains(&format!("no run is open; the newest, {run}, never began")), "{said}");
    }
    let said = show.expect(&["decide", "01-01/task-1", "accept"], 2).stderr;
    assert!(said.contains("there is no question"), "{said}");
    let said = show.expect(&["gc"], 0).stdout;
    assert!(said.contains("removed 3 runs") && said.contains("notes: it is no run"), "{said}");
    assert_eq!(show.stage.runs(), ["notes"]);
    let refs = show.stage.git(&["for-each-ref", "refs/tribunal"]).unwrap();
    assert_eq!(refs, "");
    show.expect(&["run"], 0);
}

/// A run that is alive is never taken away, however young its journal is.
#[test]
fn a_run_that_is_just_beginning_is_kept() {
    let show = Show::of(&PLAIN);
    show.stage.tribunal(&["gc"]).unwrap();
    let dir = show.stage.run_dir("20200101-000001-01");
    std::fs::create_dir_all(&dir).unwrap();
    let lock = tribunal_journal::RunLock::take(&dir).unwrap();
    let said = show.stage.tribunal(&["gc", "--older-than", "0"]).unwrap().stdout;
    assert!(said.contains("just beginning"), "{said}");
    drop(lock);
    let said = show.stage.tribunal(&["gc"]).unwrap().stdout;
    assert!(said.contains("removed 1 run"), "{said}");
}
