//! Many launches: no descriptor, zombie or thread stays behind, and many may run at once.

use std::fs;

use tribunal_process::{Cause, ExitHow};

use crate::harness::{BOUND, PROBE, Stand, children, each};

/// In a process of its own, so that other tests' descriptors and children do not count.
#[test]
fn launches_leave_no_descriptors_and_no_zombies() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        for n in 0..100 {
            let exit = stand.run(&format!("x{n}"), &["true"]);
            assert_eq!(exit.how, ExitHow::Code(0), "{name}");
            assert_eq!(ours(&stand.dir), 0, "{name}: descriptors after launch {n}");
        }
        let zombies =
            children().into_iter().filter(|stat| stat.contains("(true)") || stat.contains("(bwrap)"));
        assert_eq!(zombies.count(), 0, "{name}");
    });
}

/// Descriptors of this process that lead into the stand's directory.
fn ours(dir: &tempfile::TempDir) -> usize {
    let fds = fs::read_dir("/proc/self/fd").unwrap().flatten();
    fds.filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.starts_with(dir.path()))).count()
}

#[test]
fn orphans_that_end_by_themselves_are_reaped() {
    let stand = Stand::new(tribunal_process::Containment::Subreaper);
    // Double forks, in their own sessions, all gone before the command ends.
    let script = "for n in 1 2 3 4 5; do (setsid true &) ; done; wait";
    stand.run("x", &["sh", "-c", script]);
    stand.run("y", &[PROBE, "quick"]);
    let marker = &stand.marker;
    assert!(tribunal_process::survivors(marker).is_empty());
}

#[test]
fn hundreds_at_once() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        for n in 0..150 {
            stand.keeper.spawn(stand.launch(&format!("x{n}"), &["sleep", "60"])).unwrap();
        }
        stand.keeper.shutdown(BOUND);
        let stopped =
            stand.exits.try_iter().filter(|exit| exit.cause == Cause::Stopped && exit.left.is_empty());
        assert_eq!(stopped.count(), 150, "{name}");
    });
}
