//! Which children of this program are roots of launches, and the reaping of adopted orphans.
//!
//! As a subreaper we inherit orphans, and they become our zombies. This code must never wait for a root (its
//! supervisor wants the status) nor for a child that other code of this program started.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use rustix::process::{WaitOptions, waitpid};

use crate::proc::{Proc, Snapshot, own_pid, pid_of};

/// The process numbers of all roots of this program, of every supervisor in it.
static ROOTS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Locks the roots. It is held while a root is started or reaped, so that nobody mistakes the root for an orphan in
/// between.
pub(crate) fn lock() -> MutexGuard<'static, BTreeSet<i32>> {
    crate::files::lock(&ROOTS)
}

/// The session of this program. Its plain children share it; processes of a launch never do.
///
/// None if it cannot be read, for example when descriptors or memory have run out.
pub(crate) fn own_session() -> Option<i32> {
    // From /proc: in a namespace whose session began outside it is 0, which the type of `getsid` cannot express.
    Proc::read(own_pid()).map(|me| me.session)
}

/// Whether a process is an orphan of some launch that was reparented to us.
///
/// Without our own session number nobody can tell it from a git of ours, so the answer is no then.
pub(crate) fn is_adopted(p: &Proc, me: i32, session: Option<i32>, roots: &BTreeSet<i32>) -> bool {
    let foreign = session.is_some_and(|own| p.session != own && p.session != 0);
    p.parent == me && foreign && !roots.contains(&p.key.pid)
}

/// Takes the zombies of adopted orphans out of the process table.
pub(crate) fn reap_adopted(snapshot: &Snapshot) {
    let (me, session, roots) = (own_pid(), own_session(), lock());
    let dead = snapshot.procs.iter().filter(|p| p.is_dead() && is_adopted(p, me, session, &roots));
    for p in dead {
        // Another supervisor may have reaped it since, and the number may belong to a new root: look again.
        let same = Proc::read(p.key.pid).is_some_and(|now| now.key == p.key);
        if let (true, Some(pid)) = (same, pid_of(p.key.pid)) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_child_of_another_session_is_an_orphan() {
        let me = Proc::read(own_pid()).unwrap();
        let check = |parent: i32, session: Option<i32>, roots: &[i32], expect: bool| {
            let roots = roots.iter().copied().collect();
            assert_eq!(is_adopted(&me, parent, session, &roots), expect, "{parent} {session:?} {roots:?}");
        };
        // Seen as a child of its parent: this program stands for an orphan or for a git of ours.
        let other = Some(me.session + 1);
        check(me.parent, other, &[], me.session != 0);
        check(me.parent, other, &[me.key.pid], false);
        check(me.parent, Some(me.session), &[], false);
        check(me.parent, None, &[], false);
        check(me.parent + 1, other, &[], false);
    }
}
