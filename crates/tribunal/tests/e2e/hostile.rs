//! Agents whose processes do not play by the rules: nothing of them survives a run, nothing they wrote is lost, and they
//! reach nobody else. `cargo xtask hostile --prove` shows that each test named `hostile_` fails without its defence.

use crate::show::Show;
use crate::stage::program::Mount;
use crate::stage::scenes::{PLAIN, Plan, Scene, TWO_PLANS, dev_also};
use rustix::process::Signal;
use std::path::Path;
use tribunal_core::review_loop::FailureKind;
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
fn nobody_left(folder: &Path) {
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
    Show::script(ORPHANS).without_paths()
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

/// Two hundred children that want to outlive it, and one that keeps its output open.
#[test]
fn hostile_dev_leaves_a_swarm() {
    let mut show = Show::script(&dev_also(
        r##"{ run = ["sh", "-c", """i=0
        while [ $i -lt 200 ]; do env -i setsid sleep 30 & i=$((i+1)); done
        timeout 30 cat < /dev/zero > /dev/null & true"""] },"##,
    ));
    let said = show.passes();
    nobody_left(show.stage.root());
    let left = show.run_state().launches.iter().map(|launch| launch.left_behind).max();
    assert!(left >= Some(200), "they were counted: {left:?}");
    assert!(said.contains("dev of 01-01/task-1 left processes running: 20"), "and told: {said}");
}

/// A dev looks for the other lane's reviewer among all processes and kills it.
#[test]
fn hostile_dev_kills_the_reviewer() {
    const REVIEWER: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
plan = "01-02"
do = [
  { run = ["sh", "-c", "echo > '{ROOT}/scene/judging'"] },
  { wait = "file:go" },
  { say = "CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" },
]
"##;
    let dev = dev_also(
        r##"{ run = ["sh", "-c", """while ! test -e '{ROOT}/scene/judging'; do sleep 0.05; done
        for p in $(grep -ls 'TRIBUNAL_ROLE=reviewer' /proc/[0-9]*/environ | xargs -r grep -l '{ROOT}'); do
          p=${p#/proc/}; kill -9 ${p%/environ}
        done
        cd '{ROOT}/scene'; mkfifo go; exec 3<>go; : > go.part; mv go.part go; echo >&3"""], may_fail = true },"##,
    );
    let (folder, stage) = crate::stage();
    Scene { plans: TWO_PLANS, ..PLAIN }.set(&stage).unwrap();
    stage.script_with(&format!("{dev}{REVIEWER}")).unwrap();
    let mut show = Show::on(folder, stage);
    show.passes();
    assert_eq!(show.failures(), []);
}

/// Whoever is inside an agent steers nothing, with or without its environment; and there is no page to ask.
#[test]
fn hostile_dev_steers_runs() {
    let mut show = Show::script(&dev_also(
        r##"{ run = ["sh", "-c", """export TRIBUNAL_UNDEFENDED='{UNDEFENDED}'
        for verb in cancel run resume gc 'decide 01-01/task-1 accept' serve; do
          timeout 20 '{BINARY}' $verb; echo $? >> codes
          timeout 20 env -i HOME='{HOME}' PATH="$PATH" TRIBUNAL_UNDEFENDED='{UNDEFENDED}' '{BINARY}' -C '{PROJECT}' $verb; echo $? >> codes
        done"""] },"##,
    ))
    .without_paths();
    show.passes();
    assert_eq!(show.landed("codes").unwrap().lines().collect::<Vec<_>>(), ["2"; 12]);
}

/// An agent that reads until somebody has typed everything, and one that asks for the terminal.
#[test]
fn hostile_dev_holds_stdin() {
    const SETTINGS: &str = r##"
[plan]
review = "never"
[agents]
builder_timeout_s = 8
[agents.roles.dev]
adapter = "holder"
[adapters.holder]
parallel_execution = true
structured_messaging = true
spawn_agent_personality = "prompt"
collect_results = "report"
model_execution = "script"
commit_signature = "Scripted Agent <scripted@tribunal.invalid>"
prompt = "argument"
parser = "events"
read_only = ["sh", "-c", "true", "{prompt}"]
write = ["sh", "-c", "cat; read line < /dev/tty; printf '%s' \"$3\" | exec \"$1\" scripted-agent --scenario \"$2\"", "holder", "{self}", "{scenario}", "{prompt}"]
"##;
    let mut show = Show::with(SETTINGS, "");
    show.passes();
    assert_eq!(show.failures(), []);
}

/// An agent that writes until the disk is full is stopped before it is: what is recorded still has room.
#[test]
fn hostile_dev_fills_the_disk() {
    let dev = dev_also(
        // Fast at first; the last megabytes slowly, so that a busy machine sees it in time as well.
        r##"{ run = ["sh", "-c", """mkdir -p fill; i=0
        left() { df -Pk . | awk 'END { print $4 }'; }
        while [ "$(left)" -gt 4000 ] && head -c 100000 /dev/urandom > fill/$i; do i=$((i+1)); done
        while head -c 10000 /dev/urandom > fill/$i; do i=$((i+1)); sleep 0.02; done; true"""] },"##,
    );
    let (folder, stage) = crate::stage();
    let Some(mount) = Mount::new(stage.program(), stage.project(), "size=40m") else { return };
    PLAIN.set(&stage).unwrap();
    stage.script_with(&dev).unwrap();
    let mut show = Show::on(folder, stage);
    let said = show.waits_and_lands_nothing();
    // Before the folder it is mounted in is taken away.
    drop(mount);
    assert!(said.contains("left on the disk: agents that write are stopped"), "{said}");
}

/// The dev removes its whole working folder, with its git, and says that it is done.
#[test]
fn hostile_dev_deletes_its_tree() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 1
do = [ { run = ["sh", "-c", "rm -rf -- * .[a-z]*"] }, { say = "SUMMARY: tidied up.\nTASK: done" } ]
"##;
    let mut show = Show::script(SCRIPT);
    show.passes();
    assert_eq!(show.failures(), [FailureKind::Crashed]);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("#!/bin/sh\necho one"));
    assert_eq!(show.landed("README.md").as_deref(), Some("# tools"), "nothing else is gone");
    assert!(show.expect(&["log"], 0).stdout.contains("its working folder was taken away"));
}

/// Work that was not committed and an exit code of 0 are no report that the task is done, and neither are words behind an
/// error of the model.
#[test]
fn hostile_dev_ends_without_a_word() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 1
times = 1
do = [ { write = "bin/one.sh", text = "echo half\n" }, { say = "SUMMARY: half of it.\nTASK: done" }, { fault = "FAULT" } ]
"##;
    for (fault, kind) in [("error-event", FailureKind::Crashed), ("no-final", FailureKind::Truncated)] {
        let mut show = Show::script(&SCRIPT.replace("FAULT", fault));
        show.passes();
        assert_ne!(show.landed("bin/one.sh").as_deref(), Some("echo half"), "{fault}");
        assert!(show.failures().contains(&kind), "{fault}: {:?}", show.failures());
    }
}
