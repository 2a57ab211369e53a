//! An orchestrator killed with SIGKILL: its agents live on, and the next one ends them, and nobody else.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tribunal_process::{Containment, Left, end_left_behind, survivors};

use crate::harness::{PROBE, Proof, each, file, skip, unique_marker, wait_dead};

/// An agent whose orchestrator has been killed.
struct Orphaned {
    proof: Proof,
    dir: TempDir,
    marker: String,
    root: i32,
}

fn orphan(containment: &str, argv: &[&str]) -> Orphaned {
    let (dir, marker) = (tempfile::tempdir().unwrap(), unique_marker());
    let (mut proof, held) = Proof::new();
    let mut orchestrator = Command::new(PROBE)
        .args(["orchestrate", containment, &marker])
        .arg(dir.path())
        .args(argv)
        .stdin(held)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let root = first_number(&mut orchestrator);
    proof.ready();
    orchestrator.kill().unwrap();
    orchestrator.wait().unwrap();
    Orphaned { proof, dir, marker, root }
}

fn first_number(child: &mut Child) -> i32 {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.split(' ').next().unwrap().parse().expect("a pid")
}

#[test]
fn an_agent_outlives_its_orchestrator_and_then_is_ended() {
    each(|name, _| {
        let left =
            orphan(name, &["sh", "-c", "exec 3<&0; sleep 60 <&3 3<&- & printf r >&0; exec sleep 60 3<&-"]);
        assert!(left.proof.is_held(), "{name}: it died with the orchestrator");
        assert!(!survivors(&left.marker).is_empty(), "{name}");
        match end_left_behind(left.dir.path()).unwrap() {
            Left::Ended(swept) => assert!(swept.killed >= 2 && swept.left.is_empty(), "{name}: {swept:?}"),
            other => panic!("{name}: {other:?}"),
        }
        assert!(!left.proof.is_held(), "{name}");
        left.proof.all_dead();
        assert_eq!(survivors(&left.marker), Vec::<i32>::new(), "{name}");
        assert_eq!(end_left_behind(left.dir.path()).unwrap(), Left::Gone(None), "{name}");
    });
}

#[test]
fn a_hostile_agent_of_a_dead_orchestrator_is_ended_whole() {
    each(|name, containment| {
        if containment.is_partial() {
            return;
        }
        let left = orphan(name, &[PROBE, "hostile"]);
        assert!(left.proof.is_held(), "{name}");
        assert!(matches!(end_left_behind(left.dir.path()).unwrap(), Left::Ended(_)), "{name}");
        assert!(!left.proof.is_held(), "{name}");
        left.proof.all_dead();
    });
}

#[test]
fn killing_the_recorded_process_kills_the_namespace() {
    each(|name, containment| {
        if containment.is_partial() {
            return;
        }
        let left = orphan(name, &[PROBE, "hostile"]);
        let root = rustix::process::Pid::from_raw(left.root).unwrap();
        rustix::process::kill_process(root, rustix::process::Signal::KILL).unwrap();
        wait_dead(left.root);
        if name == "bubblewrap" {
            // Its init does not die with its monitor, but its marker still finds it.
            assert!(matches!(end_left_behind(left.dir.path()).unwrap(), Left::Ended(_)), "{name}");
        }
        left.proof.all_dead();
    });
}

#[test]
fn an_end_without_an_orchestrator_is_written_down() {
    if Containment::own(Path::new(PROBE)).is_none() {
        skip("this kernel permits no PID namespace here");
        return;
    }
    // It ends by itself when its orchestrator is already dead: when the pipe's other half goes away.
    let (dir, marker) = (tempfile::tempdir().unwrap(), unique_marker());
    let fifo = dir.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = "printf r >&0; read line <\"$1\"; exit 5";
    let (mut proof, held) = Proof::new();
    let mut orchestrator = Command::new(PROBE)
        .args(["orchestrate", "auto", &marker])
        .arg(dir.path())
        .args(["sh", "-c", script, "sh"])
        .arg(&fifo)
        .stdin(held)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let root = first_number(&mut orchestrator);
    proof.ready();
    orchestrator.kill().unwrap();
    orchestrator.wait().unwrap();
    fs::write(&fifo, "go\n").unwrap();
    wait_dead(root);
    match end_left_behind(dir.path()).unwrap() {
        Left::Gone(Some(exit)) => assert_eq!(exit.how, tribunal_process::ExitHow::Code(5)),
        other => panic!("{other:?}"),
    }
    proof.all_dead();
}

#[test]
fn a_reused_number_is_not_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut stranger = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", stranger.id())).unwrap();
    let start: u64 = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let boot = boot.trim();
    let check = |start: u64, boot: &str, containment: &str, why: &str| {
        let record = format!(
            r#"{{"id":"x","pid":{},"start_time":{start},"boot_id":"{boot}","marker":"{}/x","containment":"{containment}"}}"#,
            stranger.id(),
            unique_marker(),
        );
        fs::write(dir.path().join("process.json"), record).unwrap();
        assert_eq!(end_left_behind(dir.path()).unwrap(), Left::Gone(None), "{why}");
    };
    check(start + 1, boot, "subreaper", "a later process of the same number");
    check(start.saturating_sub(1), boot, "namespace", "an earlier one");
    check(start, "another boot", "subreaper", "the same number after a reboot");
    check(start, boot, "namespace", "a wrapper always carries the marker");
    check(start, boot, "bubblewrap", "a wrapper always carries the marker");
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger was killed");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn no_launch_no_kill() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(end_left_behind(dir.path()).unwrap(), Left::NeverLaunched);
    assert_eq!(end_left_behind(&dir.path().join("missing")).unwrap(), Left::NeverLaunched);
    for text in ["", "{}", "{\"pid\":1}", "garbage"] {
        fs::write(dir.path().join("process.json"), text).unwrap();
        assert!(end_left_behind(dir.path()).is_err(), "{text}");
    }
}

#[test]
fn an_ordinary_user_is_contained_too() {
    let dir = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(dir.path(), open).unwrap();
    // Where the build directory is private, a copy in the open directory can be run.
    let probe = dir.path().join("probe");
    // Not by this process: a fork of another test would keep the copy open for writing, and so not executable.
    assert!(Command::new("cp").arg(PROBE).arg(&probe).status().unwrap().success());
    let out = dir.path().join("said");
    let status = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&probe)
        .arg("detect")
        .arg(dir.path().join("out"))
        .stdin(Stdio::null())
        .stdout(file(&out))
        .status();
    if !status.is_ok_and(|status| status.success()) {
        skip("only root with setpriv can become another user");
        return;
    }
    let said = fs::read_to_string(out).unwrap();
    if said.starts_with("partial") {
        skip("this kernel gives ordinary users no PID namespace");
        return;
    }
    assert!(said.ends_with(" Code(3)\n"), "{said}");
    // Its own /proc too: the shell sees itself near the beginning, and little else.
    let output = fs::read_to_string(dir.path().join("out/stdout")).unwrap();
    let numbers: Vec<u32> = output.lines().map(|n| n.parse().unwrap()).collect();
    assert!(numbers.iter().all(|n| *n < 10), "{output}");
}
