//! What a launch sees of the file system: everything read-only, some places hidden, some shown again, a few of them
//! writable; harmless devices; and no privilege with which to undo that.
//!
//! It never decides which places those are, and it changes nothing outside the launch's own mount namespace. The
//! order of the steps matters: a later one lies over an earlier one.

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree};

use crate::seal::Seal;

/// Devices that every program may expect.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Names in /dev that lead elsewhere, as on any system.
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Files through which root can change the kernel even without any privilege.
const KERNEL_SETTINGS: [&str; 5] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];
/// The kernel's memory, keys, log and timers, and its devices' firmware.
const KERNEL_SECRETS: [&str; 16] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/scsi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/kmsg",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/timer_list",
    "/proc/vmcore",
    "/sys/firmware",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
];
/// Flags of a mount that hides something: no set-user-id programs and no devices can be made in it.
const BLOCKING: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// The sandbox of a launch's files: the machine read-only, changed by these steps in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mounts(pub Vec<Mount>);

/// One step. Paths are absolute and contain no symbolic links.
///
/// A link in a path would be followed when the sandbox is made, and whoever can write the link would choose what is
/// shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mount {
    /// Nothing there can be seen: a directory is empty and private, a file is empty.
    Hide(PathBuf),
    /// The place `from` outside is at `to` inside.
    Show {
        /// The path outside the sandbox.
        from: PathBuf,
        /// The path inside the sandbox.
        to: PathBuf,
        /// Whether the launch may write there.
        write: bool,
    },
}

impl Mount {
    /// Where the step applies, as seen from inside.
    pub fn place(&self) -> &Path {
        match self {
            Mount::Hide(path) => path,
            Mount::Show { to, .. } => to,
        }
    }

    /// Whether the step may be left out when there is nothing to show any more: only for what is read in its own
    /// place.
    ///
    /// A cache or a tool may be deleted between the plan and the launch. A writable place, or one shown elsewhere,
    /// was prepared for this launch, so its absence is an error.
    fn may_be_gone(&self) -> bool {
        matches!(self, Mount::Show { from, to, write: false } if from == to)
    }
}

impl Mounts {
    /// The steps as words, for the command line of the process that makes the sandbox.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let word = |mount: &Mount| match mount {
            Mount::Hide(path) => ["hide".into(), OsString::new(), path.into()],
            Mount::Show { from, to, write: true } => ["write".into(), from.into(), to.into()],
            Mount::Show { from, to, write: false } => ["read".into(), from.into(), to.into()],
        };
        self.0.iter().flat_map(word).collect()
    }

    /// Reads the steps back from words. One unknown word refuses all of them: a sandbox with a missing step is not a
    /// sandbox.
    pub(crate) fn from_words(words: &[OsString]) -> Option<Self> {
        let (mounts, rest) = words.as_chunks::<3>();
        let mount = |[word, from, to]: &[OsString; 3]| {
            let (from, to) = (PathBuf::from(from), PathBuf::from(to));
            match word.to_str()? {
                "hide" => Some(Mount::Hide(to)),
                "write" => Some(Mount::Show { from, to, write: true }),
                "read" => Some(Mount::Show { from, to, write: false }),
                _ => None,
            }
        };
        rest.is_empty().then(|| mounts.iter().map(mount).collect::<Option<_>>().map(Mounts))?
    }

    /// The steps as arguments of bubblewrap.
    pub(crate) fn bubblewrap(&self, dir: &Path, seal: Seal) -> Vec<OsString> {
        let plain = |word: &str| OsString::from(word);
        let mut args: Vec<OsString> =
            ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"].map(plain).into();
        if seal.kernel_files && rustix::process::geteuid().is_root() {
            for path in KERNEL_SETTINGS {
                args.extend(["--ro-bind-try", path, path].map(plain));
            }
            for path in KERNEL_SECRETS.into_iter().filter(|path| Path::new(path).exists()) {
                match Path::new(path).is_dir() {
                    true => args.extend(["--tmpfs", path].map(plain)),
                    false => args.extend(["--ro-bind", "/dev/null", path].map(plain)),
                }
            }
        }
        for mount in &self.0 {
            match mount {
                Mount::Hide(path) if path.is_dir() => args.extend([plain("--tmpfs"), path.into()]),
                Mount::Hide(path) => args.extend([plain("--ro-bind"), plain("/dev/null"), path.into()]),
                Mount::Show { from, to, write } => {
                    let word = match (write, mount.may_be_gone()) {
                        (true, _) => "--bind",
                        (false, true) => "--ro-bind-try",
                        (false, false) => "--ro-bind",
                    };
                    args.extend([plain(word), from.into(), to.into()]);
                }
            }
        }
        args.extend(["--unshare-ipc", "--cap-drop", "ALL"].map(plain));
        if rustix::process::geteuid().is_root() {
            args.extend(["--cap-add", KEPT_NAME].map(plain));
        }
        args.push("--chdir".into());
        args.push(dir.into());
        args
    }

    /// Makes the sandbox around this process, for ever.
    ///
    /// The process must be alone in a mount namespace of its own, whose mounts reach no other, and have its own
    /// /proc.
    pub(crate) fn raise(&self, dir: &Path, seal: Seal) -> io::Result<()> {
        // Handles first: a place to show may lie below one that is about to be covered.
        let mut taken = Vec::new();
        for mount in &self.0 {
            taken.push(match mount {
                Mount::Hide(_) => None,
                Mount::Show { from, .. } => match take(from) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound && mount.may_be_gone() => None,
                    handle => Some(handle?),
                },
            });
        }
        let devices: Vec<(&str, OwnedFd)> = DEVICES
            .into_iter()
            .filter_map(|name| Some((name, take(&Path::new("/dev").join(name)).ok()?)))
            .collect();
        let nothing = take("/dev/null".as_ref())?;
        set_read_only(CWD.as_raw_fd(), Path::new("/"), true)?;
        // /proc is a fresh one for this launch, and programs must write there, for instance the maps of a user
        // namespace.
        set_read_only(CWD.as_raw_fd(), Path::new("/proc"), false)?;
        if seal.kernel_files && rustix::process::geteuid().is_root() {
            cover_kernel(&nothing)?;
        }
        for (mount, taken) in self.0.iter().zip(taken) {
            match (mount, taken) {
                (Mount::Show { to, write, .. }, Some(handle)) => show(&handle, to, *write)?,
                (Mount::Hide(path), _) => hide(path, &nothing)?,
                (Mount::Show { .. }, None) => {}
            }
        }
        make_devices(&devices)?;
        // Our working directory is still the uncovered one, and so is everything above it. Leaving it open would be a
        // way out.
        std::env::set_current_dir("/")?;
        std::env::set_current_dir(dir)?;
        // Last: every step above needs the right to mount.
        give_up_privileges()
    }
}

/// Takes a detached copy of a mount and all below it, without following a link.
fn take(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    Ok(open_tree(CWD, path, flags)?)
}

/// Mounts a taken copy at a place inside.
fn show(handle: &OwnedFd, to: &Path, write: bool) -> io::Result<()> {
    if !write {
        set_read_only(handle.as_raw_fd(), Path::new(""), true)?;
    }
    if to.symlink_metadata().is_err() {
        make_place(
            to,
            rustix::fs::fstat(handle).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFDIR),
        )?;
    }
    Ok(move_mount(handle, "", CWD, to, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Makes a place to mount something on, in a directory that covers the real one.
fn make_place(to: &Path, folder: bool) -> io::Result<()> {
    if folder {
        return fs::create_dir_all(to);
    }
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::File::create_new(to).map(drop)
}

/// Covers a directory with an empty one, or a file with /dev/null.
fn hide(path: &Path, nothing: &OwnedFd) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => Ok(mount("tmpfs", path, "tmpfs", BLOCKING, Some(c"mode=0755"))?),
        Ok(meta) if meta.is_file() => {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_EMPTY_PATH;
            show(&open_tree(nothing, "", flags)?, path, false)
        }
        // A link leads to a place that has its own rule; a missing file needs none.
        _ => Ok(()),
    }
}

/// Covers the kernel's files, for root alone.
///
/// File modes keep these files from ordinary users, but not from root, whatever it gave up. A covered /proc lets
/// nobody mount a fresh one in a namespace inside, which some agents do for their own tools. For root that very rule
/// keeps these covers from being walked around.
fn cover_kernel(nothing: &OwnedFd) -> io::Result<()> {
    for path in KERNEL_SETTINGS.map(Path::new).into_iter().filter(|path| path.exists()) {
        show(&take(path)?, path, false)?;
    }
    KERNEL_SECRETS.map(Path::new).into_iter().try_for_each(|path| hide(path, nothing))
}

/// Replaces /dev. The machine's own devices are not for agents: one that runs as root could write to the disk itself.
fn make_devices(devices: &[(&str, OwnedFd)]) -> io::Result<()> {
    let dev = Path::new("/dev");
    mount("tmpfs", dev, "tmpfs", MountFlags::NOSUID, Some(c"mode=0755"))?;
    for (name, handle) in devices {
        show(handle, &dev.join(name), true)?;
    }
    for (name, target) in LINKS {
        symlink(target, dev.join(name))?;
    }
    fs::create_dir(dev.join("shm"))?;
    fs::create_dir(dev.join("pts"))?;
    // Terminals of its own, if the kernel gives them; most commands work without.
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let _ = mount("devpts", dev.join("pts"), "devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=620"));
    Ok(())
}

/// Makes a mount and all below it read-only, or one mount writable again.
#[expect(unsafe_code, reason = "mount_setattr has no safe wrapper")]
fn set_read_only(at: i32, path: &Path, read_only: bool) -> io::Result<()> {
    let text = CString::new(path.as_os_str().as_bytes().to_vec())?;
    let flag = libc::MOUNT_ATTR_RDONLY;
    let (attr_set, attr_clr) = if read_only { (flag, 0) } else { (0, flag) };
    let attr = libc::mount_attr { attr_set, attr_clr, propagation: 0, userns_fd: 0 };
    let recursive = if read_only { libc::AT_RECURSIVE } else { 0 };
    let flags = if path.as_os_str().is_empty() { libc::AT_EMPTY_PATH | recursive } else { recursive };
    // SAFETY: the text ends with NUL, the structure is of the size that is told, and both outlive the call.
    let done = unsafe {
        libc::syscall(libc::SYS_mount_setattr, at, text.as_ptr(), flags, &raw const attr, size_of_val(&attr))
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The one capability that root keeps, `CAP_SETFCAP`.
///
/// Without it root cannot make a user namespace, and agents that keep their own tools in a sandbox could not run
/// them. It gives a file's owner nothing that a set-user-id bit would not.
const KEPT: u64 = 31;
const KEPT_NAME: &str = "CAP_SETFCAP";

/// Gives up every privilege but `KEPT`. Everything that runs from here on has none, not even as root, and gets none
/// from a file.
#[expect(unsafe_code, reason = "dropping by number has no safe wrapper")]
fn give_up_privileges() -> io::Result<()> {
    for capability in (0..64_u64).filter(|capability| *capability != KEPT) {
        // SAFETY: numbers in, a number out.
        let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        // A number that this kernel does not know answers `EINVAL`: there is nothing to drop.
        if done != 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
            return Err(io::Error::last_os_error());
        }
    }
    // There is no such set before Linux 4.3.
    let _ = rustix::thread::clear_ambient_capability_set();
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// The working directory of this process.
pub(crate) fn here() -> io::Result<PathBuf> {
    let path = rustix::process::getcwd(Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        let mounts = Mounts(vec![
            Mount::Hide("/tmp".into()),
            Mount::Show { from: "/tmp/a b".into(), to: "/tmp/\u{e4}".into(), write: true },
            Mount::Show { from: OsString::from_vec(vec![b'/', 0xff]).into(), to: "/x".into(), write: false },
        ]);
        assert_eq!(Mounts::from_words(&mounts.words()), Some(mounts.clone()));
        assert_eq!(Mounts::from_words(&mounts.words()[1..]), None);
        assert_eq!(Mounts::from_words(&["what".into(), "".into(), "".into()]), None);
    }
}
