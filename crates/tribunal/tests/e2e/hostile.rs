//! Agents that do not play by the rules: nothing of them survives a run, nothing they wrote is lost, and nothing they
//! say counts when they broke the rules.

use crate::show::Show;
use crate::stage::scenes::{PLAIN, Plan, Scene};
use rustix::process::Signal;
use std::path::Path;
use tribunal_core::run::Ending;

/// Leaves processes that are their own session, deaf to SIGTERM, without environment, and always forking; then works.
const ORPHANS: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { fault = "ignore-term" },
  { fault = "orphan" },
  { write = "bin/one.sh", text = "echo one\n" },
  { write = "untracked ünd new.txt", text = "kept\n" },
  { run = ["sh", "-c", "echo > '{ROOT}/at-work'"] },
  { wait = "file:go" },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]
"##;

/// No process works in, or has open, anything below the folder.
#[track_caller]
pub fn nobody_left(folder: &Path) {
    let mut left = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = process.file_name().to_string_lossy().into_owned();
        if !name.bytes().all(|byte| byte.is_ascii_digit()) || name == std::process::id().to_string() {
            continue;
        }
        // A child of another test that is not yet the program it will be has this one's files open.
        let exe = std::fs::read_link(process.path().join("exe")).ok();
        if exe.is_some() && exe == std::env::current_exe().ok() {
            continue;
        }
        let links = std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        let links = links.map(|fd| fd.path()).chain([process.path().join("cwd"), process.path().join("exe")]);
        if links.filter_map(|link| std::fs::read_link(link).ok()).any(|to| to.starts_with(folder)) {
            let what = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
            left.push(format!("{name}: {}", what.replace('\0', " ")));
        }
    }
    assert_eq!(left, Vec::<String>::new());
}

fn hostile() -> Show {
    Show::of(&Scene { script: ORPHANS, ..PLAIN })
}

#[test]
fn nothing_survives_a_pass() {
    let mut show = hostile();
    show.stage.open("go").unwrap();
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    nobody_left(show.stage.root());
    assert_eq!(show.landed("untracked ünd new.txt").as_deref(), Some("kept"));
}

#[test]
fn nothing_survives_a_cancel() {
    let mut show = hostile();
    let running = show.at_work();
    let cancel = show.stage.tribunal(&["cancel"]).unwrap();
    assert_eq!(cancel.code, Some(0), "{}", cancel.said());
    let ended = running.wait().unwrap();
    assert_eq!(show.after(&["run"], ended).code, Some(1));
    assert_eq!(show.ended(), Ending::Cancelled);
    nobody_left(show.stage.root());
    show.is_kept("kept\n");
}

#[test]
fn nothing_survives_an_interrupt() {
    let mut show = hostile();
    let running = show.at_work();
    running.signal(Signal::INT).unwrap();
    let ended = running.wait().unwrap();
    assert_eq!(show.after(&["run"], ended).code, Some(130));
    nobody_left(show.stage.root());
    show.is_kept("kept\n");
}

#[test]
fn nothing_survives_a_crash() {
    let mut show = hostile();
    let running = show.at_work();
    running.signal(Signal::KILL).unwrap();
    let ended = running.wait().unwrap();
    show.after(&["run"], ended);
    show.is_kept("kept\n");
    // Calling it off is enough: what the dead one left is ended first.
    show.expect(&["cancel"], 0);
    assert_eq!(show.ended(), Ending::Cancelled);
    nobody_left(show.stage.root());
    show.is_kept("kept\n");
}

#[test]
fn a_crash_is_gone_on_with_beside_orphans() {
    let mut show = hostile();
    let running = show.at_work();
    running.signal(Signal::KILL).unwrap();
    let ended = running.wait().unwrap();
    show.after(&["run"], ended);
    show.stage.open("go").unwrap();
    show.expect(&["resume"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    nobody_left(show.stage.root());
}

/// A check that never ends by itself.
#[test]
fn a_check_does_not_survive_a_crash() {
    const PLANS: &[Plan] =
        &[Plan { number: "01", wave: 1, depends_on: "", tasks: &[("bin/one.sh", "sh bin/one.sh")] }];
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "trap '' TERM\n(trap '' TERM; exec sleep 1000) &\necho > '{ROOT}/at-work'\nsleep 1000\n" },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]
"##;
    let mut show = Show::of(&Scene { plans: PLANS, script: SCRIPT, ..PLAIN });
    let running = show.at_work();
    running.signal(Signal::KILL).unwrap();
    let ended = running.wait().unwrap();
    show.after(&["run"], ended);
    show.expect(&["cancel"], 0);
    assert_eq!(show.ended(), Ending::Cancelled);
    nobody_left(show.stage.root());
}

#[test]
fn a_reviewer_that_edits_has_no_verdict() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
do = [
  { write = "bin/one.sh", text = "echo changed\n" },
  { say = "CHECKED: read the change and ran it by hand.\nVERDICT: approve" },
]
"##;
    // Where nothing keeps it from writing, what it judged is compared afterwards.
    const OPEN: &str = "[plan]\nreview = \"never\"\n[agents]\nsandbox = \"off\"\n";
    let mut show = Show::of(&Scene { script: SCRIPT, settings: OPEN, ..PLAIN });
    let ended = show.expect(&["run"], 4);
    assert!(ended.said().contains("changed what it judged"), "{}", ended.said());
    assert!(ended.said().contains("could forge"), "{}", ended.said());
    assert_eq!(show.questions()[0].0, "01-01/task-1");
    assert_eq!(show.landed("bin/one.sh"), None);
}

#[test]
fn an_agent_does_not_reach_the_users_git() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { commit = "mine: my own commit" },
  { fault = "edit-git" },
  { fault = "symlink-outside" },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]
"##;
    let mut show = Show::of(&Scene { script: SCRIPT, ..PLAIN });
    let ended = show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(!show.messages().contains("my own commit"), "Tribunal makes every commit");
    assert!(ended.said().contains("my own commit"), "its own commits are named: {}", ended.said());
    let sprung = show.stage.git(&["log", "--all", "--format=%s", "--", ".trap/sprung"]).unwrap();
    assert_eq!(sprung, "", "no git of ours ran the agent's script");
}

#[test]
fn an_agent_may_not_steer_runs() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { run = ["sh", "-c", "for verb in 'cancel' 'run' 'resume' 'gc' 'decide 01-01/task-1 accept'; do '{BINARY}' $verb; echo $? >> codes; env -i '{BINARY}' -C '{PROJECT}' $verb; echo $? >> codes; done"] },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]
"##;
    let (folder, stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    let script = SCRIPT.replace("{BINARY}", &stage.program().binary.display().to_string());
    stage.script_with(&script.replace("{PROJECT}", &stage.project().display().to_string())).unwrap();
    let mut show = Show::on(folder, stage);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("codes").unwrap().lines().collect::<Vec<_>>(), ["2"; 10]);
}

#[test]
fn what_an_agent_says_cannot_draw_on_the_terminal() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
round = 1
do = [ { fault = "escape-codes" }, { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:1] issue: \u001b[2Jwiped \u202e out\nVERDICT: reject" } ]

[[turn]]
role = "dev"
use = "task"
round = 2
do = [ { write = "bin/one.sh", text = "echo 2\n" }, { say = "FIXED: {finding:1}\nSUMMARY: \u001b]0;owned\u0007two\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "task"
round = 2
do = [ { say = "{finding:1}: resolved\nCHECKED: read the change and ran it by hand.\nVERDICT: approve" } ]
"##;
    let mut show = Show::of(&Scene { script: SCRIPT, ..PLAIN });
    let mut said = show.tribunal(&["run"]).said();
    for args in [&["log", "--all"][..], &["show"], &["status"], &["inbox"]] {
        said.push_str(&show.tribunal(args).said());
    }
    let bad: Vec<char> = said.chars().filter(|c| "\u{1b}\u{7}\u{202e}\u{9b}\r".contains(*c)).collect();
    assert_eq!(bad, Vec::<char>::new(), "{said}");
}

/// The dev removes its whole working folder.
#[test]
fn an_agent_that_deletes_its_tree() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 1
do = [ { write = "bin/one.sh", text = "echo lost\n" }, { fault = "delete-tree" }, { fault = "crash" } ]
"##;
    let mut show = Show::of(&Scene { script: SCRIPT, ..PLAIN });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("#!/bin/sh\necho one"));
    assert_eq!(show.landed("README.md").as_deref(), Some("# tools"), "nothing else is gone");
}
