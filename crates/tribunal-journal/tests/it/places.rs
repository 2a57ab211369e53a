//! Locks, missing files, symlinks, full disks and read-only mounts: each its own answer.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags};
use tribunal_journal::{Error, FILE, Journal, Message, Poke, Reader, RunLock, post, verify};

use crate::{Other, QUICK, append_sized, assert_whole_turns, head, rows, rows_of, run_dir, tell, told};

/// Holds the lock until the test says enough.
pub fn hold(dir: &Path) {
    let journal = Journal::open(dir).unwrap();
    tell("held");
    told();
    drop(journal);
}

#[test]
fn one_process_at_a_time_and_a_kill_frees_the_lock() {
    let (_temp, dir) = run_dir();
    drop(Journal::create_with(&dir, &head(), QUICK).unwrap());
    let mut other = Other::start("hold", &dir);
    assert_eq!(other.hear().as_deref(), Some("held"));
    let error = Journal::open(&dir).unwrap_err();
    assert!(matches!(error, Error::Locked { pid: Some(pid), .. } if pid == other.child.id()), "{error}");
    assert!(error.to_string().contains("hint: "), "{error}");
    assert!(matches!(Journal::create(&dir, &head()), Err(Error::Locked { .. })));
    assert!(matches!(RunLock::take(&dir), Err(Error::Locked { .. })));
    assert_eq!(rows_of(&dir).unwrap(), [], "readers need no lock");
    other.kill();
    let journal = Journal::open(&dir).unwrap();
    let error = RunLock::take(&dir).unwrap_err();
    assert!(matches!(error, Error::Locked { pid: Some(pid), .. } if pid == std::process::id()), "{error}");
    drop(journal);
    RunLock::take(&dir).unwrap();
}

#[test]
fn what_is_not_there_is_missing() {
    let (_temp, dir) = run_dir();
    let message = Message { key: "k".to_owned(), kind: "cancel".to_owned(), body: "1".to_owned(), at: 1 };
    for made in [false, true] {
        if made {
            std::fs::create_dir_all(&dir).unwrap();
        }
        assert!(matches!(Journal::open(&dir), Err(Error::Missing { .. })));
        assert!(matches!(Reader::open(&dir), Err(Error::Missing { .. })));
        assert!(matches!(post(&dir, &message), Err(Error::Missing { .. })));
        assert!(matches!(verify(&dir), Err(Error::Missing { .. })));
    }
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0, "asking leaves nothing behind");
}

#[test]
fn no_symlink_is_followed() {
    let (temp, dir) = run_dir();
    drop(Journal::create_with(&dir, &head(), QUICK).unwrap());
    let strange = |what: &str, result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::Strange { .. })), "{what}: {result:?}");
    };
    let linked = temp.path().join("linked");
    symlink(&dir, &linked).unwrap();
    strange("directory", Journal::open(&linked).map(drop));
    strange("directory", Reader::open(&linked).map(drop));

    let inside = temp.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    symlink(dir.join(FILE), inside.join(FILE)).unwrap();
    strange("file", Journal::open(&inside).map(drop));
    strange("file", Journal::create(&inside, &head()).map(drop));
    strange("file", Reader::open(&inside).map(drop));

    let target = temp.path().join("target");
    for name in ["lock", "poke"] {
        let dir = temp.path().join(name);
        std::fs::create_dir(&dir).unwrap();
        symlink(&target, dir.join(name)).unwrap();
        match name {
            "lock" => strange(name, Journal::create(&dir, &head()).map(drop)),
            _ => {
                strange(name, Poke::listen(&dir).map(drop));
                strange(name, tribunal_journal::poke(&dir).map(drop));
            }
        }
    }
    assert!(!target.exists());
}

/// A small filesystem of its own, where this user may mount one.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, kilobytes: u32) -> Option<Small> {
        std::fs::create_dir_all(at).unwrap();
        let size = std::ffi::CString::new(format!("size={kilobytes}k")).unwrap();
        let made = rustix::mount::mount("tmpfs", at, "tmpfs", MountFlags::empty(), Some(size.as_c_str()));
        made.ok().map(|()| Small(at.to_owned()))
    }

    fn seal(&self) {
        // Another test's child between fork and exec may still have a file here open; that passes.
        while let Err(e) = rustix::mount::mount_remount(&self.0, MountFlags::RDONLY, "") {
            assert_eq!(e, rustix::io::Errno::BUSY);
            std::thread::yield_now();
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _gone = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
    }
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let (temp, dir) = run_dir();
    // Without the right to mount, the injected full disk of the append tests has to do.
    let Some(_small) = Small::mount(temp.path(), 512) else { return };
    let mut journal = Journal::create(&dir, &head()).unwrap();
    let mut kept = 0;
    let error = loop {
        match append_sized(&mut journal, 9) {
            Ok(seq) => kept = seq,
            Err(e) => break e,
        }
    };
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert!(matches!(append_sized(&mut journal, 1), Err(Error::Poisoned { .. })));
    let journal = journal.reopen().unwrap();
    let found = rows(&journal);
    assert_whole_turns(&found);
    assert_eq!(found.len() as u64, kept);
    drop(journal);
    assert_eq!(verify(&dir).unwrap().problems, [""; 0]);
    let full = Journal::create(&temp.path().join("another"), &head());
    assert!(matches!(full, Err(Error::DiskFull { .. }) | Ok(_)), "{full:?}");
}

/// Makes a finished run unwritable, by mount or by mode, then looks at it. Where neither works (root that may
/// not mount) there is nothing to look at.
fn sealed(crashed: bool, then: impl FnOnce(&Path)) {
    let (temp, dir) = run_dir();
    let small = Small::mount(temp.path(), 1024);
    let mut journal = Journal::create_with(&dir, &head(), QUICK).unwrap();
    append_sized(&mut journal, 3).unwrap();
    let log = std::fs::read(dir.join("journal.db-wal")).unwrap();
    drop(journal);
    if crashed {
        std::fs::write(dir.join("journal.db-wal"), log).unwrap();
    }
    match &small {
        Some(small) => small.seal(),
        None if rustix::process::geteuid().is_root() => return,
        None => std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o500)).unwrap(),
    }
    then(&dir);
    if small.is_none() {
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn a_read_only_place_can_be_read_and_says_why_it_is_not_written() {
    sealed(false, |dir| {
        let open = Journal::open(dir);
        assert!(matches!(open, Err(Error::ReadOnly { .. })), "{open:?}");
        let message = Message { key: "k".to_owned(), kind: "cancel".to_owned(), body: "1".to_owned(), at: 1 };
        let posted = post(dir, &message);
        assert!(matches!(posted, Err(Error::ReadOnly { .. })), "{posted:?}");
        let created = Journal::create(&dir.join("new"), &head());
        assert!(matches!(created, Err(Error::ReadOnly { .. })), "{created:?}");
        assert_eq!(rows_of(dir).unwrap().len(), 3);
        assert_eq!(verify(dir).unwrap().problems, [""; 0]);
    });
}

#[test]
fn a_read_only_place_with_an_unfinished_log_is_not_read_without_it() {
    sealed(true, |dir| {
        let read = rows_of(dir);
        assert!(matches!(read, Err(Error::ReadOnly { .. })), "{read:?}");
    });
}

#[test]
fn a_second_writer_without_the_lock_stops_the_first_and_harms_nothing() {
    let (_temp, dir) = run_dir();
    let mut first = Journal::create_with(&dir, &head(), QUICK).unwrap();
    append_sized(&mut first, 2).unwrap();
    std::fs::remove_file(dir.join("lock")).unwrap();
    let mut second = Journal::open_with(&dir, QUICK).unwrap();
    append_sized(&mut second, 3).unwrap();
    let error = append_sized(&mut first, 1).unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    append_sized(&mut second, 1).unwrap();
    assert_whole_turns(&rows(&second));
    assert_eq!(rows(&second).len(), 6);
}
