//! Processes that refuse to die: own session, no environment, deaf to SIGTERM, always forking. A supervisor process
//! starts short-lived children; a child whose supervisor was killed takes over its part.
//!
//! They prove that nothing of a launch survives. They end by themselves after a minute, so that a failing test does not
//! occupy the machine.

use super::{signals, wait};
use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

const FLAG: &str = "--orphan";
const LIFE_MS: u128 = 60_000;
const FORK_EVERY_MS: u32 = 20;
const CHILD_LIFE_MS: u32 = 45;

/// Leaves orphans behind and goes on.
pub(super) fn leave() -> io::Result<()> {
    let end = now_ms() + LIFE_MS;
    // The process in between ends at once, so no parent of the next one is left that knows it.
    spawn("between", end)?.wait()?;
    Ok(())
}

/// Plays the part of an orphan if the arguments say so.
pub(super) fn main(args: &[OsString]) -> Option<u8> {
    let [flag, part, end] = args else { return None };
    let (part, end) = (part.to_str()?, end.to_str()?.parse().ok()?);
    if flag != FLAG {
        return None;
    }
    signals::ignore_term();
    // The call is refused only to the leader of a process group, which an orphan is not.
    let _ = rustix::process::setsid();
    let played = match part {
        "between" => spawn("keeper", end).map(drop),
        "keeper" => keep(end),
        _ => child(end),
    };
    Some(u8::from(played.is_err()))
}

fn keep(end: u128) -> io::Result<()> {
    let mut children: Vec<Child> = Vec::new();
    while now_ms() < end {
        // A system without room for another process is not a reason to stop trying.
        children.extend(spawn("child", end).ok());
        wait::pause(FORK_EVERY_MS)?;
        children.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
    }
    Ok(())
}

fn child(end: u128) -> io::Result<()> {
    let parent = rustix::process::getppid();
    wait::pause(CHILD_LIFE_MS)?;
    // The parent lives, so another child will follow and this one may end.
    if rustix::process::getppid() == parent {
        return Ok(());
    }
    keep(end)
}

#[expect(clippy::disallowed_methods, reason = "it plays an agent, whose processes Tribunal does not start")]
fn spawn(part: &str, end: u128) -> io::Result<Child> {
    // `/proc/self/exe` also works if the program was replaced on disk. The output stays open, as it does for a real
    // orphan.
    Command::new("/proc/self/exe")
        .args(["scripted-agent", FLAG, part, &end.to_string()])
        // Without an environment, nothing marks the process as belonging to a launch.
        .env_clear()
        .stdin(Stdio::null())
        .spawn()
}

fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis())
}
