//! Dying on purpose. With `TRIBUNAL_CRASH_AT=n` in the environment the process kills itself at the n-th of
//! its crash points: around every journal append and every outside effect. The crash tests and the demo use
//! it; without the variable a point costs one comparison.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that names the point.
pub const AT: &str = "TRIBUNAL_CRASH_AT";
/// The variable that names a file to which every point passed is written, one name a line.
pub const LOG: &str = "TRIBUNAL_CRASH_LOG";

static PASSED: AtomicU64 = AtomicU64::new(0);

struct Plan {
    at: u64,
    log: Option<std::path::PathBuf>,
}

/// A place where a crash must do no harm.
pub fn point(name: &str) {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    let Some(plan) = PLAN.get_or_init(read) else { return };
    let passed = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(log) = &plan.log {
        note(log, name);
    }
    if passed == plan.at {
        // SIGKILL leaves no time for anything: just what a crash is.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

fn read() -> Option<Plan> {
    let at = std::env::var(AT).ok().and_then(|text| text.parse().ok());
    let log = std::env::var_os(LOG).map(std::path::PathBuf::from);
    (at.is_some() || log.is_some()).then(|| Plan { at: at.unwrap_or(0), log })
}

fn note(log: &std::path::Path, name: &str) {
    use std::io::Write as _;
    let file = std::fs::OpenOptions::new().create(true).append(true).open(log);
    // The log only serves the tests; a lost line there is seen by them.
    let _ = file.and_then(|mut file| writeln!(file, "{name}"));
}
