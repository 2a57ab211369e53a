//! Stopping: politely first, then for certain, whatever the command does.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tribunal_process::{Cause, Containment, ExitHow, Launch, survivors};

use crate::harness::{BOUND, PROBE, Proof, Stand, each, unique_marker};

const SHORT: Duration = Duration::from_millis(100);

#[test]
fn a_graceful_agent_finishes() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let script = "trap 'echo tidied; exit 7' TERM; echo r >&0; while :; do sleep 60 & wait; done";
        let (proof, held) = Proof::new();
        let argv = ["sh", "-c", script];
        stand
            .supervisor
            .spawn(Launch { stdin: tribunal_process::Stdin::Given(held.into()), ..stand.launch("x", &argv) })
            .unwrap();
        let mut proof = proof;
        proof.ready();
        let began = Instant::now();
        stand.supervisor.stop("x", BOUND);
        let exit = stand.exit();
        assert_eq!((exit.how, exit.cause), (ExitHow::Code(7), Cause::Stopped), "{name}");
        assert_eq!(stand.read("x", "stdout"), "tidied\n", "{name}");
        assert!(began.elapsed() < BOUND / 2, "{name}: it waited for the grace to pass");
        drop(proof);
    });
}

#[test]
fn a_stubborn_agent_is_killed_after_the_grace() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let proof = stand.start("x", &["sh", "-c", "trap '' TERM; printf r >&0; exec sleep 60"]);
        let began = Instant::now();
        stand.supervisor.stop("x", SHORT);
        let exit = stand.exit();
        assert_eq!((exit.how.clone(), exit.cause), (ExitHow::Signal(9), Cause::Stopped), "{name}");
        assert!(began.elapsed() >= SHORT, "{name}");
        assert!(exit.killed >= 1 && exit.left.is_empty(), "{name}: {exit:?}");
        proof.all_dead();
    });
}

#[test]
fn what_is_left_behind_dies_before_the_exit_is_told() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let mut proof = stand.start("x", &[PROBE, "leave-behind"]);
        let exit = stand.exit();
        assert_eq!((exit.how, exit.cause), (ExitHow::Code(0), Cause::Itself), "{name}");
        assert_eq!(exit.killed, 2, "{name}");
        // Not within a bound: at this very moment.
        assert!(!proof.is_held(), "{name}: told too early");
        let _ = &mut proof;
        proof.all_dead();
    });
}

#[test]
fn a_hostile_agent_does_not_survive_in_a_namespace() {
    each(|name, containment| {
        if containment.is_partial() {
            return;
        }
        for mode in ["hostile", "chain"] {
            let stand = Stand::new(containment.clone());
            // A chain's first generation ends at once; keep the command alive beside it.
            let script = "exec 3<&0; \"$0\" \"$1\" <&3 3<&- & exec sleep 60 3<&-";
            let proof = stand.start("x", &["sh", "-c", script, PROBE, mode]);
            assert!(proof.is_held(), "{name} {mode}");
            stand.supervisor.stop("x", SHORT);
            let exit = stand.exit();
            assert!(exit.left.is_empty() && exit.cause == Cause::Stopped, "{name} {mode}: {exit:?}");
            assert!(!proof.is_held(), "{name} {mode}: told too early");
            proof.all_dead();
        }
    });
}

#[test]
fn a_hostile_agent_does_not_survive_a_sweep() {
    for mode in ["hostile", "chain"] {
        let dir = tempfile::tempdir().unwrap();
        let marker = unique_marker();
        let (mut proof, held) = Proof::new();
        let (mut orders, theirs) = UnixStream::pair().unwrap();
        let mut sweeper = Command::new(PROBE)
            .args(["sweeper", &marker])
            .arg(dir.path())
            .args([PROBE, mode])
            .stdin(held)
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(sweeper.stderr.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), "go");
        proof.ready();
        orders.write_all(b"s").unwrap();
        assert_eq!(
            said.next().unwrap().unwrap(),
            "0 0 0 true",
            "{mode}: left, unswept, marked, bystander spared"
        );
        assert!(sweeper.wait().unwrap().success());
        assert!(survivors(&marker).is_empty());
        proof.all_dead();
    }
}

#[test]
fn a_stop_at_the_very_start_is_a_stop() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        for round in 0..10 {
            let id = format!("x{round}");
            let (proof, held) = Proof::new();
            let launch = stand.launch(&id, &[PROBE, "park"]);
            stand
                .supervisor
                .spawn(Launch { stdin: tribunal_process::Stdin::Given(held.into()), ..launch })
                .unwrap();
            let grace = if round % 2 == 0 { Duration::ZERO } else { BOUND };
            stand.supervisor.stop(&id, grace);
            let exit = stand.exit();
            assert_eq!(exit.cause, Cause::Stopped, "{name}");
            assert!(matches!(exit.how, ExitHow::Signal(9 | 15)), "{name}: {exit:?}");
            proof.all_dead();
        }
    });
}

/// It may be over before anybody looked: what it wrote is too much all the same.
#[test]
fn too_much_output_at_once_is_too_much() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let script = "head -c 200000 /dev/zero; exit 0";
        let launch = Launch { output_max: 100_000, ..stand.launch("x", &["sh", "-c", script]) };
        stand.supervisor.spawn(launch).unwrap();
        assert_eq!(stand.exit().cause, Cause::OutputLimit, "{name}");
    });
}

#[test]
fn too_much_output_ends_it() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let script = "trap '' TERM; while :; do echo 0123456789012345678901234567890123456789; done";
        let launch = Launch { output_max: 100_000, ..stand.launch("x", &["sh", "-c", script]) };
        stand.supervisor.spawn(launch).unwrap();
        let exit = stand.exit();
        assert_eq!(exit.cause, Cause::OutputLimit, "{name}");
        assert!(exit.stdout_bytes > 100_000, "{name}");
    });
}

#[test]
fn shutdown_ends_all_and_returns_when_they_are_gone() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let proofs: Vec<Proof> = (0..5)
            .map(|n| stand.start(&format!("x{n}"), &["sh", "-c", "printf r >&0; exec sleep 60"]))
            .collect();
        stand.supervisor.shutdown(BOUND);
        assert_eq!(stand.exits.try_iter().filter(|exit| exit.cause == Cause::Stopped).count(), 5, "{name}");
        assert!(proofs.iter().all(|proof| !proof.is_held()), "{name}");
    });
}

#[test]
fn dropping_the_supervisor_ends_all() {
    let stand = Stand::new(Containment::Subreaper);
    let proof = stand.start("x", &["sh", "-c", "trap '' TERM; printf r >&0; exec sleep 60"]);
    drop(stand.supervisor);
    assert!(!proof.is_held());
    proof.all_dead();
}
