//! The only clock and the only randomness of the gates: the time in the forms that the protocol's files need, and
//! unique ids.
//!
//! Everything that decides gets these as facts, so that the rules in core can be tested without a clock.

use crate::{Folder, ProtocolError};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant, SystemTime};
use tribunal_core::lease::Moment;
use tribunal_world::unique_id;

/// How long to wait for the next tick of a file system. No file system in use has longer steps.
const TICK_MAX: Duration = Duration::from_secs(3);

/// The time now, by the wall clock and since boot.
///
/// The time since boot does not jump when the wall clock is set, which is what leases need.
pub fn moment() -> Moment {
    let sandbox = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let boot = text("/proc/sys/kernel/random/boot_id").trim().to_owned();
    let up = text("/proc/uptime");
    let up: f64 = up.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Moment {
        wall_ms: millis(sandbox),
        boot,
        up_ms: millis(Duration::try_from_secs_f64(up).unwrap_or_default()),
    }
}

/// When an inode was last changed, in milliseconds since 1970. No program can set this time.
pub(crate) fn changed_ms(meta: &Metadata) -> u64 {
    u64::try_from(meta.ctime() * 1000 + meta.ctime_nsec() / 1_000_000).unwrap_or(0)
}

/// A time between everything written to a folder's file system before and everything written after.
///
/// A file system gives many files the same stamp, so the next tick is waited for. Without it, a file written in the
/// same step as the contract would count as changed since.
pub(crate) fn tick(folder: &Folder) -> Result<u64, ProtocolError> {
    let name = format!(".contracts/.{}.tick", unique_id());
    let path = folder.path(&name);
    let stamp = |text: String| {
        folder.write(&name, text.as_bytes())?;
        path.symlink_metadata().map(|meta| changed_ms(&meta)).map_err(ProtocolError::io("look at", &path))
    };
    let wait = || {
        let (begun, first) = (Instant::now(), stamp(String::new())?);
        let mut now = first;
        // Each stamp writes another text, because writing the same bytes would leave the file alone.
        while now <= first && begun.elapsed() < TICK_MAX {
            now = stamp(format!("{:?}", begun.elapsed()))?;
        }
        Ok(now)
    };
    let now = wait();
    folder.remove(&name)?;
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_lies_between_before_and_after() {
        let dir = tempfile::tempdir().expect("a folder");
        let written = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, "").expect("written");
            changed_ms(&path.symlink_metadata().expect("there"))
        };
        let before = written("before");
        let tick = tick(&Folder::new(dir.path())).expect("a moment");
        assert!(before < tick && tick <= written("after"));
        assert_eq!(std::fs::read_dir(dir.path().join(".contracts")).expect("made").count(), 0);
    }
}
