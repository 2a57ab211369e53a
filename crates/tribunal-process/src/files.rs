//! The few operations on files and locks that every driver needs with the same care: replacing a file whole, reading the
//! end of one that somebody else writes, and taking a lock after a panic.
//!
//! They live here because this is the lowest crate that touches the system and every crate above may see it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::OFlags;

/// Whether a new file has to survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// The bytes are on the disk before the file has its name.
    Yes,
    /// A power cut may take the file. It is enough where the machine's death ends what the file is about.
    No,
}

/// Replaces a file as a whole and durably: written beside it, flushed and renamed.
///
/// A reader, or a crash, finds the old bytes or the new ones and never a part of them. A link in the file's place is
/// replaced and not followed. The permissions of the old file are kept.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    replace(path, bytes, old.map(|meta| meta.permissions().mode() & 0o7777), Flush::Yes)
}

/// Replaces a file as [`write_atomic`] does, with these permissions, or those of any new file.
pub fn replace(path: &Path, bytes: &[u8], mode: Option<u32>, flush: Flush) -> io::Result<()> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The process id and a counter: two writers never share a file.
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_file_name(format!(".{name}.{}.{serial}", std::process::id()));
    // A process with this number may have died here before. What lies there is ours or a trap; it is never opened.
    let _ = fs::remove_file(&beside);
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(mode.unwrap_or(0o666)).open(&beside)?;
        if let Some(mode) = mode {
            // The mask of this process does not change a mode that was asked for.
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        file.write_all(bytes)?;
        // Before the rename: after a power cut the name must not lead to an empty file.
        if flush == Flush::Yes {
            file.sync_all()?;
        }
        fs::rename(&beside, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

/// The last bytes of a regular file, `max` at most.
///
/// For output that an agent or a command may still be writing: a link is not followed, and a pipe in its place, which
/// would block the reader, is refused.
pub fn tail(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    file.seek(SeekFrom::Start(meta.len().saturating_sub(max)))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Takes a lock, even if an earlier holder panicked.
///
/// A panic is our bug and is reported as one; the data under our locks are small and never left half changed, so refusing
/// them to everybody else would only turn one failed thread into a failed program.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, secret) = (dir.path().join("file"), dir.path().join("secret"));
        fs::write(&secret, "theirs").unwrap();
        std::os::unix::fs::symlink(&secret, &file).unwrap();
        write_atomic(&file, b"one").unwrap();
        assert_eq!(fs::read(&secret).unwrap(), b"theirs");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        write_atomic(&file, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
        replace(&file, b"three", Some(0o600), Flush::No).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(write_atomic(&dir.path().join("missing/file"), b"").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside it");
    }

    #[test]
    fn a_tail_is_the_end_of_a_plain_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("stdout");
        fs::write(&file, "0123456789").unwrap();
        assert_eq!(tail(&file, 4).unwrap(), b"6789");
        assert_eq!(tail(&file, 40).unwrap(), b"0123456789");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(tail(&link, 4).is_err());
        assert!(tail(dir.path(), 4).is_err());
    }

    #[test]
    fn a_lock_outlives_a_panic() {
        let mutex = Mutex::new(1);
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = lock(&mutex);
            panic!("a holder dies");
        }));
        assert!(held.is_err() && mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 1);
    }
}
