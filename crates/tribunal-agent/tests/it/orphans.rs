//! The orphan fault: survivors are real, and this test ends every one of them.

use crate::stage::{Stage, command};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::collections::BTreeSet;
use std::path::Path;

/// The processes whose standard output is this file: orphans keep it open and cannot hide it by clearing variables.
fn survivors(stdout: &Path) -> BTreeSet<i32> {
    let holds = |pid: &i32| std::fs::read_link(format!("/proc/{pid}/fd/1")).is_ok_and(|file| file == stdout);
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(holds).collect()
}

fn field(pid: i32, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// The session of a process; 0 when it began outside this PID namespace, which `getsid` of rustix cannot say.
fn session(pid: &str) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; what follows the last bracket is state, parent, group, session.
    stat.rsplit_once(')')?.1.split_whitespace().nth(3)?.parse().ok()
}

/// Ends all survivors even when an assertion fails.
struct Sweep<'a>(&'a Path);

impl Drop for Sweep<'_> {
    fn drop(&mut self) {
        // Killed parents are followed by children that take over, so only an empty round after an empty round is an end.
        let mut empty = 0;
        while empty < 3 {
            let left = survivors(self.0);
            empty = if left.is_empty() { empty + 1 } else { 0 };
            for pid in left.into_iter().filter_map(Pid::from_raw) {
                // Freezing first keeps it from forking between our look and our blow.
                let _ = kill_process(pid, Signal::STOP);
                let _ = kill_process(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::empty());
            }
        }
    }
}

#[test]
fn orphans_outlive_their_agent_deaf_and_nameless() {
    let stage = Stage::doing("{ fault = 'orphan' }, { say = 'done' }");
    let stdout = stage
        .at("stdout")
        .canonicalize()
        .unwrap_or_else(|_| stage.root.path().canonicalize().unwrap().join("stdout"));
    let _sweep = Sweep(&stdout);
    // Orphans become ours, so that they can be reaped.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let played = stage.play("role=dev");
    assert!(played.outcome.is_answer());

    let mut seen = BTreeSet::new();
    let mut deaf = 0;
    // It keeps forking: wait until several different ones were seen.
    while seen.len() < 6 {
        for pid in survivors(&stdout) {
            if !seen.insert(pid) {
                continue;
            }
            let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { continue };
            assert!(environment.is_empty(), "{}", String::from_utf8_lossy(&environment));
            let ignored = field(pid, "SigIgn").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
            deaf += usize::from(ignored.is_some_and(|mask| mask & (1 << 14) != 0));
        }
    }
    assert!(deaf > 0, "nobody ignores SIGTERM");
    for pid in survivors(&stdout).into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
    assert!(!survivors(&stdout).is_empty(), "SIGTERM was enough");
    let own_session = session("self").unwrap();
    let sessions: Vec<_> =
        survivors(&stdout).into_iter().filter_map(|pid| session(&pid.to_string())).collect();
    assert!(!sessions.is_empty() && !sessions.contains(&own_session));
}

#[test]
fn a_pid_namespace_ends_orphans() {
    let wrap = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child"];
    let available =
        command("unshare").args(wrap).arg("true").output().is_ok_and(|output| output.status.success());
    if !available {
        // The machine does not allow it; the sweep above is tested everywhere.
        return;
    }
    let stage = Stage::doing("{ fault = 'orphan' }, { say = 'done' }");
    let stdout = stage.root.path().canonicalize().unwrap().join("stdout");
    let _sweep = Sweep(&stdout);
    let status = command("unshare")
        .args(wrap)
        .args([env!("CARGO_BIN_EXE_scripted-agent"), "--scenario"])
        .arg(stage.scenario())
        .current_dir(stage.at("tree"))
        .stdout(std::fs::File::create(&stdout).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    assert!(survivors(&stdout).is_empty());
}
