//! Many launches: no descriptor or zombie stays behind, and many may run at once.

use std::process::{Command, Stdio};

use tribunal_process::Cause;

use crate::harness::{BOUND, PROBE, Stand, each};

#[test]
fn hundreds_of_launches_leave_no_descriptors_and_no_children() {
    each(|name, _| {
        let dir = tempfile::tempdir().unwrap();
        // In a process of its own, so that other tests' descriptors and children do not count.
        let output = Command::new(PROBE)
            .args(["many", name])
            .arg(dir.path())
            .arg(if name == "auto" { "300" } else { "100" })
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            said,
            "descriptors +0, children 0\n",
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    });
}

#[test]
fn hundreds_at_once() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        for n in 0..100 {
            stand.supervisor.spawn(stand.launch(&format!("x{n}"), &["sleep", "60"])).unwrap();
        }
        stand.supervisor.shutdown(BOUND);
        let stopped =
            stand.exits.try_iter().filter(|exit| exit.cause == Cause::Stopped && exit.left.is_empty());
        assert_eq!(stopped.count(), 100, "{name}");
    });
}
