//! Being asked to end: the signal is blocked and waited for on a thread, so that the agent can be told. No handler is
//! installed.
//!
//! A handler could only set a flag, and the conversation waits for the agent's next line, not for a flag.

use futures::channel::oneshot;
use std::mem::MaybeUninit;

/// Resolves when SIGTERM or SIGINT arrives.
///
/// The process no longer ends by these signals. Whoever sent one must kill it if it does not end in time.
#[expect(unsafe_code, reason = "holding a signal has no safe call in our dependencies")]
pub(super) fn on_term() -> std::io::Result<oneshot::Receiver<()>> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the whole set before it is read; the old mask is not asked for.
    let set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        let set: libc::sigset_t = set.assume_init();
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        set
    };
    let (tell, told) = oneshot::channel();
    let wait = move || {
        let mut signal = 0;
        // SAFETY: `set` is an initialised signal set and `signal` outlives the call.
        unsafe { libc::sigwait(&raw const set, &raw mut signal) };
        let _ = tell.send(());
    };
    std::thread::Builder::new().name("term".to_owned()).spawn(wait)?;
    Ok(told)
}
