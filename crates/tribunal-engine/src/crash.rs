//! Deliberate crashes. With `TRIBUNAL_CRASH_AT=n` in the environment the process kills itself at the n-th of its crash
//! points: around every journal append and every outside effect, and at every file of the fast-forward. With a name, it
//! dies at the first point of that name; with `name#n`, at the n-th one.
//!
//! The crash tests and the demo use it. Without the variable a point costs one comparison, so the points stay in the
//! product: what the tests kill is the program that users run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that names the point.
pub const AT: &str = "TRIBUNAL_CRASH_AT";
/// The variable that names a file to which every point passed is written, one name a line.
pub const LOG: &str = "TRIBUNAL_CRASH_LOG";

static PASSED: AtomicU64 = AtomicU64::new(0);

/// Where to die. A number shifts with every race between threads; the n-th point of a name does not.
enum Where {
    Nth(u64),
    Named(String, u64, AtomicU64),
    Nowhere,
}

struct Plan {
    at: Where,
    log: Option<std::path::PathBuf>,
}

/// Marks a place where a crash must do no harm.
///
/// Put one before and after every step that changes something outside this process. Crash tests find a point by its
/// name, so a new name has to be changed there, too.
pub fn point(name: &str) {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    let Some(plan) = PLAN.get_or_init(read) else { return };
    let passed = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(log) = &plan.log {
        note(log, name);
    }
    let here = match &plan.at {
        Where::Nth(n) => passed == *n,
        Where::Named(wanted, n, of) => wanted == name && of.fetch_add(1, Ordering::SeqCst) + 1 == *n,
        Where::Nowhere => false,
    };
    if here {
        // SIGKILL leaves no time for anything: just what a crash is.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

fn read() -> Option<Plan> {
    let at = std::env::var(AT).ok().map(|text| match text.parse() {
        Ok(n) => Where::Nth(n),
        Err(_) => match text.split_once('#').and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?))) {
            Some((name, n)) => Where::Named(name, n, AtomicU64::new(0)),
            None => Where::Named(text, 1, AtomicU64::new(0)),
        },
    });
    let log = std::env::var_os(LOG).map(std::path::PathBuf::from);
    (at.is_some() || log.is_some()).then(|| Plan { at: at.unwrap_or(Where::Nowhere), log })
}

fn note(log: &std::path::Path, name: &str) {
    use std::io::Write as _;
    let file = std::fs::OpenOptions::new().create(true).append(true).open(log);
    // The log only serves the tests; a lost line there is seen by them. One write: threads pass points at the same time.
    let _ = file.and_then(|mut file| file.write_all(format!("{name}\n").as_bytes()));
}
