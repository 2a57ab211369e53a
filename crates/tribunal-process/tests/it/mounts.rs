//! What a walled-in command can see, write and undo.

use crate::harness::{Stand, each, skip};
use std::fs;
use std::path::Path;
use tribunal_process::{Containment, ExitHow, Launch, Mount, Mounts};

/// Runs a script in each containment that can make a sandbox, in a folder with `mine` (to write in), `shown` (to read) and
/// `secret` below a covered one.
fn sandboxed(script: &str, check: impl Fn(&str, &Path)) {
    each(|name, containment| {
        if !containment.can_sandbox() {
            return skip("no sandbox here");
        }
        let stand = Stand::new(containment);
        let dir = stand.dir.path().canonicalize().unwrap();
        let hall = dir.join("hall");
        for folder in ["mine", "shown", "secret"] {
            fs::create_dir_all(hall.join(folder)).unwrap();
            fs::write(hall.join(folder).join("file"), folder).unwrap();
        }
        let show = |name: &str, write| Mount::Show { from: hall.join(name), to: hall.join(name), write };
        let file = dir.join("netrc");
        fs::write(&file, "password").unwrap();
        // One that was there when the sandbox was planned may be gone when it is made.
        let (mine, shown, gone) = (show("mine", true), show("shown", false), show("gone", false));
        let mounts = Mounts(vec![Mount::Hide(hall.clone()), mine, shown, gone, Mount::Hide(file)]);
        let launch = Launch {
            mounts: Some(mounts),
            dir: hall.join("mine"),
            ..stand.launch("x", &["sh", "-c", script])
        };
        stand.supervisor.spawn(launch).unwrap();
        let exit = stand.exit();
        assert_eq!(exit.how, ExitHow::Code(0), "{name}: {}", stand.read("x", "stderr"));
        check(&stand.read("x", "stdout"), &dir);
    });
}

#[test]
fn only_what_is_shown_is_there_and_only_its_own_can_be_written() {
    sandboxed(
        "ls ..; cat ../shown/file ../../netrc; echo; echo new > made; for f in ../shown/file ../../made /made /etc/made; do echo x > $f && echo WROTE; done; true",
        |said, dir| {
            assert_eq!(said, "mine\nshown\nshown\n");
            assert_eq!(fs::read_to_string(dir.join("hall/mine/made")).unwrap(), "new\n");
            assert_eq!(fs::read_to_string(dir.join("hall/shown/file")).unwrap(), "shown");
            assert_eq!(fs::read_to_string(dir.join("netrc")).unwrap(), "password");
            assert!(!dir.join("made").exists());
        },
    );
}

#[test]
fn sandbox_are_not_undone() {
    let script = "umount ..; umount ../mine; mount -o remount,rw /; mount -o remount,bind,rw ../shown; \
                  unshare -Urm sh -c 'echo made one; umount ..; umount -l ..; mount -o remount,bind,rw ../shown; echo x > ../shown/file; ls ../secret'; \
                  for p in /proc/[0-9]*; do ls -d $p/root$PWD/../secret; echo x > $p/root$PWD/../shown/file; done; \
                  cat $PWD/../secret/file /proc/self/cwd/../secret/file; ls /dev; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; true";
    sandboxed(script, |said, dir| {
        assert!(!said.contains("secret"), "{said}");
        assert!(!said.contains("sd") && !said.contains("vd") && !said.contains("mem"), "{said}");
        assert!(said.contains("null") && said.contains("urandom"), "{said}");
        // Root keeps what it takes to make a user namespace, and nothing else.
        let root = rustix::process::geteuid().is_root();
        let left = if root { "CapEff:\t0000000080000000" } else { "CapEff:\t0000000000000000" };
        assert!(said.contains(left), "{said}");
        assert!(said.contains("made one"), "{said}");
        assert_eq!(fs::read_to_string(dir.join("hall/shown/file")).unwrap(), "shown");
        assert_eq!(fs::read_to_string(dir.join("hall/secret/file")).unwrap(), "secret");
    });
}

#[test]
fn what_programs_expect_is_there() {
    let script = "echo x > /dev/null && head -c1 /dev/urandom > /dev/null && echo y > /dev/shm/z && : < /dev/zero \
                  && echo one | cat /dev/stdin && ps -e > /dev/null && test $(ls -d /proc/[0-9]* | wc -l) -lt 9";
    sandboxed(script, |said, _| assert_eq!(said, "one\n"));
}

/// What covers another place, or is to be written to, must be there: without it more would be seen, or work be lost.
#[test]
fn a_sandbox_that_cannot_be_raised_starts_nothing() {
    each(|name, containment| {
        if !containment.can_sandbox() {
            return skip("no sandbox here");
        }
        let stand = Stand::new(containment);
        let dir = stand.dir.path().canonicalize().unwrap();
        let gone = dir.join("gone");
        let cover = Mount::Show { from: gone.clone(), to: dir.clone(), write: false };
        let write = Mount::Show { from: gone.clone(), to: gone, write: true };
        for (id, mount) in [("cover", cover), ("write", write)] {
            let launch = stand.launch(id, &["sh", "-c", "echo started"]);
            stand.supervisor.spawn(Launch { mounts: Some(Mounts(vec![mount])), ..launch }).unwrap();
            assert_ne!(stand.exit().how, ExitHow::Code(0), "{name}");
            assert_eq!(stand.read(id, "stdout"), "", "{name}");
        }
    });
}

#[test]
fn without_a_namespace_nothing_is_started() {
    let stand = Stand::new(Containment::Subreaper);
    let launch = Launch { mounts: Some(Mounts::default()), ..stand.launch("x", &["true"]) };
    assert!(stand.supervisor.spawn(launch).unwrap_err().to_string().contains("agents.sandbox"));
    assert!(!Containment::Subreaper.can_sandbox());
}
