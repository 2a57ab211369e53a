//! The signal calls that the scripted agent needs. It never installs a handler.
//!
//! Signals are blocked and waited for. A signal that comes early stays pending, so no order of events loses it.

use std::mem::MaybeUninit;

/// Keeps SIGUSR1 pending until somebody waits for it.
pub(super) fn hold_usr1() {
    hold(libc::SIGUSR1);
}

/// Keeps SIGTERM pending until somebody waits for it.
pub(super) fn hold_term() {
    hold(libc::SIGTERM);
}

#[expect(unsafe_code, reason = "blocking a signal has no safe call in our dependencies")]
fn hold(signal: libc::c_int) {
    let set = only(signal);
    // SAFETY: `set` is an initialised signal set, and the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Waits for SIGUSR1, which must be held.
pub(super) fn wait_usr1() {
    wait(libc::SIGUSR1);
}

/// Waits for SIGTERM, which must be held.
pub(super) fn wait_term() {
    wait(libc::SIGTERM);
}

#[expect(unsafe_code, reason = "waiting for a signal has no safe call in our dependencies")]
fn wait(signal: libc::c_int) {
    let set = only(signal);
    let mut signal = 0;
    // SAFETY: `set` is an initialised signal set and `signal` outlives the call.
    unsafe { libc::sigwait(&raw const set, &raw mut signal) };
}

/// Ignores the signals that ask a process to end. Children inherit it.
#[expect(unsafe_code, reason = "ignoring a signal has no safe call in our dependencies")]
pub(super) fn ignore_term() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: no handler is installed, only the ignore disposition.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

#[expect(unsafe_code, reason = "signal sets are built by libc")]
fn only(signal: libc::c_int) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the whole set before it is read.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        set.assume_init()
    }
}
