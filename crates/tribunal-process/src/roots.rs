//! Which children of this program are roots of launches, and the reaping of those that are nobody's.
//! As a subreaper we inherit orphans; they become zombies of ours. It must never wait for a root (its
//! keeper wants the status) nor for a child that other code of this program started.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{WaitOptions, waitpid};

use crate::proc::{Proc, Snapshot, own_pid, pid_of};

static ROOTS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Held while a root is born or reaped, so that no one mistakes it for an orphan in between.
pub(crate) fn lock() -> MutexGuard<'static, BTreeSet<i32>> {
    ROOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The session of this program. What we start plainly shares it; what came out of a launch never does. None when
/// it cannot be read, as when descriptors or memory have run out.
pub(crate) fn own_session() -> Option<i32> {
    // From /proc: in a namespace whose session began outside it is 0, which getsid's type cannot say.
    Proc::read(own_pid()).map(|me| me.session)
}

/// Is it an orphan of some launch that fell to us? Without our own session nobody can tell it from a git of ours.
pub(crate) fn is_adopted(p: &Proc, me: i32, session: Option<i32>, roots: &BTreeSet<i32>) -> bool {
    let foreign = session.is_some_and(|own| p.session != own && p.session != 0);
    p.parent == me && foreign && !roots.contains(&p.key.pid)
}

/// Takes the zombies of adopted orphans out of the process table.
pub(crate) fn reap_adopted(snapshot: &Snapshot) {
    let (me, session, roots) = (own_pid(), own_session(), lock());
    let dead = snapshot.procs.iter().filter(|p| p.is_dead() && is_adopted(p, me, session, &roots));
    for p in dead {
        // Another keeper may have reaped it since, and the number may be a new root's: look again.
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
