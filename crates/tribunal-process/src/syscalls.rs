//! The system calls that a launch is refused, as a seccomp filter.
//!
//! It lists what no agent and no build needs, not what they may use: user namespaces, mounts inside them, tracing
//! within the launch and 32-bit programs keep working. Every way into the kernel is covered: the machine's own calls,
//! those of its 32-bit programs, and no third.
//!
//! Each call is refused as the kernel itself refuses it where it is switched off, so that programs take the path they
//! already have for that case.

use std::io;

use libc::{EAFNOSUPPORT, ENOSYS, EPERM, sock_filter, sock_fprog};

/// One refused call: its number for programs of this machine and for its 32-bit programs, and the error.
struct Refused {
    native: Option<libc::c_long>,
    compat: Option<u32>,
    errno: i32,
}

const fn both(native: libc::c_long, compat: u32, errno: i32) -> Refused {
    Refused { native: Some(native), compat: Some(compat), errno }
}

/// Terminal requests that type into a terminal for its user: `TIOCSTI`, and `TIOCLINUX` with its paste.
const TYPING: [u32; 2] = [0x5412, 0x541C];
/// The number of `ioctl` in both 32-bit tables.
const COMPAT_IOCTL: u32 = 54;

/// The address families that programs need: sockets with a file, the internet, and the kernel's tables of addresses
/// and routes (`getaddrinfo` and `ip` read them).
///
/// Every other family is refused as by a kernel without it, including those of later kernels. No namespace holds
/// `AF_VSOCK` (a check would reach the machine's host by it), and `AF_ALG`, `AF_PACKET`, `AF_TIPC` and the like are
/// parts of the kernel with many faults. Programs that know `AF_ALG` compute for themselves without it.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// The calls of `socketcall` that make a socket: `socket` and `socketpair`.
const BY_SOCKETCALL: [u32; 2] = [1, 8];

/// The numbers of calls that are refused depending on their arguments, in one table.
struct Asked {
    ioctl: u32,
    /// The numbers of `socket` and `socketpair`.
    sockets: [u32; 2],
    /// The call that takes the family from memory, where no filter can look. So it makes no socket at all.
    socketcall: Option<u32>,
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use super::{EPERM, Refused, both};

    pub(super) const NATIVE: u32 = 0xC000_003E;
    pub(super) const COMPAT: u32 = 0x4000_0003;
    /// Calls with this bit are those of the x32 ABI, a second table behind the same architecture.
    pub(super) const THIRD_TABLE: Option<u32> = Some(0x4000_0000);
    /// The calls for the kernel's keys: a launch of the same user holds those of the user's session.
    pub(super) const KEYS: [u32; 3] = [286, 287, 288];
    pub(super) const PERF: u32 = 336;
    pub(super) const BPF: u32 = 357;
    pub(super) const USERFAULTFD: u32 = 374;
    pub(super) const BY_HANDLE: u32 = 342;
    pub(super) const KEXEC: u32 = 283;
    pub(super) const FINIT_MODULE: u32 = 350;
    pub(super) const SOCKETS: [u32; 2] = [359, 360];
    pub(super) const SOCKETCALL: Option<u32> = Some(102);
    pub(super) const ONLY_HERE: [Refused; 3] = [
        both(libc::SYS_iopl, 110, EPERM),
        both(libc::SYS_ioperm, 101, EPERM),
        Refused { native: Some(libc::SYS_kexec_file_load), compat: None, errno: EPERM },
    ];
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use super::{EPERM, Refused, both};

    pub(super) const NATIVE: u32 = 0xC000_00B7;
    pub(super) const COMPAT: u32 = 0x4000_0028;
    pub(super) const THIRD_TABLE: Option<u32> = None;
    pub(super) const KEYS: [u32; 3] = [309, 310, 311];
    pub(super) const PERF: u32 = 364;
    pub(super) const BPF: u32 = 386;
    pub(super) const USERFAULTFD: u32 = 388;
    pub(super) const BY_HANDLE: u32 = 371;
    pub(super) const KEXEC: u32 = 347;
    pub(super) const FINIT_MODULE: u32 = 379;
    pub(super) const SOCKETS: [u32; 2] = [281, 288];
    pub(super) const SOCKETCALL: Option<u32> = None;
    /// The call `kexec_file_load`, which has a number in both tables here.
    pub(super) const ONLY_HERE: [Refused; 1] = [both(294, 401, EPERM)];
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn refused() -> impl Iterator<Item = Refused> {
    use machine::{BPF, BY_HANDLE, FINIT_MODULE, KEXEC, KEYS, ONLY_HERE, PERF, USERFAULTFD};
    let everywhere = [
        // Keys of the user's session: tickets, disk passwords.
        both(libc::SYS_add_key, KEYS[0], EPERM),
        both(libc::SYS_request_key, KEYS[1], EPERM),
        both(libc::SYS_keyctl, KEYS[2], EPERM),
        // Files by number, past the mounts that hide them.
        both(libc::SYS_open_by_handle_at, BY_HANDLE, EPERM),
        // Programs inside the kernel, and the parts of it that faults were found in most often.
        both(libc::SYS_bpf, BPF, EPERM),
        both(libc::SYS_perf_event_open, PERF, EPERM),
        both(libc::SYS_userfaultfd, USERFAULTFD, EPERM),
        // A second way to make most other calls, past this filter. Its users fall back, as on kernels without it.
        both(libc::SYS_io_uring_setup, 425, ENOSYS),
        both(libc::SYS_io_uring_enter, 426, ENOSYS),
        both(libc::SYS_io_uring_register, 427, ENOSYS),
        // The kernel itself, its log, and the machine's memory: none of it is a launch's business.
        both(libc::SYS_kexec_load, KEXEC, EPERM),
        both(libc::SYS_init_module, 128, EPERM),
        both(libc::SYS_delete_module, 129, EPERM),
        both(libc::SYS_finit_module, FINIT_MODULE, EPERM),
        both(libc::SYS_syslog, 103, EPERM),
        both(libc::SYS_acct, 51, EPERM),
        both(libc::SYS_swapon, 87, EPERM),
        both(libc::SYS_swapoff, 115, EPERM),
    ];
    everywhere.into_iter().chain(ONLY_HERE)
}

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const EQUALS: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K
/// Offsets in what the filter is shown: the call's number, the architecture, and the lower halves of the first two
/// arguments.
///
/// The kernel looks at no more of the arguments either: a family is an `int`, a request an `unsigned int`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST: u32 = 16;
const SECOND: u32 = 24;
const ALLOW: u32 = 0x7FFF_0000;
const ERROR: u32 = 0x0005_0000;

fn step(code: u16, k: u32, skip_if: u8, skip_else: u8) -> sock_filter {
    sock_filter { code, jt: skip_if, jf: skip_else, k }
}

fn error(errno: i32) -> sock_filter {
    step(RETURN, ERROR | errno.unsigned_abs(), 0, 0)
}

/// One table of calls: what is refused of it, then everything else is let through.
fn table(out: &mut Vec<sock_filter>, asked: &Asked, refused: impl Iterator<Item = (u32, i32)>) {
    out.push(step(LOAD, NUMBER, 0, 0));
    for (number, errno) in refused {
        out.extend([step(EQUALS, number, 0, 1), error(errno)]);
    }
    let requests = TYPING.map(|request| (request, error(EPERM)));
    only_if(out, asked.ioctl, SECOND, &requests, step(RETURN, ALLOW, 0, 0));
    let needed = FAMILIES.map(|family| (family.unsigned_abs(), step(RETURN, ALLOW, 0, 0)));
    for number in asked.sockets {
        only_if(out, number, FIRST, &needed, error(EAFNOSUPPORT));
    }
    if let Some(number) = asked.socketcall {
        let makes = BY_SOCKETCALL.map(|call| (call, error(ENOSYS)));
        only_if(out, number, FIRST, &makes, step(RETURN, ALLOW, 0, 0));
    }
    out.push(step(RETURN, ALLOW, 0, 0));
}

/// For the call of this number the argument decides: each value has its answer, and there is one for all others.
///
/// Steps after these see the number again: the jump skips the load of the argument along with the rest.
fn only_if(
    out: &mut Vec<sock_filter>,
    number: u32,
    argument: u32,
    answers: &[(u32, sock_filter)],
    otherwise: sock_filter,
) {
    let steps = answers.iter().flat_map(|(value, answer)| [step(EQUALS, *value, 0, 1), *answer]);
    let steps: Vec<sock_filter> =
        [step(LOAD, argument, 0, 0)].into_iter().chain(steps).chain([otherwise]).collect();
    // A jump holds one byte. The lists above are a few values long.
    out.push(step(EQUALS, number, 0, u8::try_from(steps.len()).unwrap_or(u8::MAX)));
    out.extend(steps);
}

/// The filter; none for a machine whose numbers are not known here.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn filter() -> Option<Vec<sock_filter>> {
    let mut native = Vec::new();
    if let Some(third) = machine::THIRD_TABLE {
        native.extend([step(LOAD, NUMBER, 0, 0), step(AT_LEAST, third, 0, 1), error(ENOSYS)]);
    }
    let number = |number: Option<libc::c_long>| number.and_then(|number| u32::try_from(number).ok());
    let of_native = refused().filter_map(|call| Some((number(call.native)?, call.errno)));
    let sockets = [number(Some(libc::SYS_socket))?, number(Some(libc::SYS_socketpair))?];
    let asked = Asked { ioctl: number(Some(libc::SYS_ioctl))?, sockets, socketcall: None };
    table(&mut native, &asked, of_native);
    let mut out = vec![step(LOAD, ARCHITECTURE, 0, 0)];
    out.extend([step(EQUALS, machine::NATIVE, 0, u8::try_from(native.len()).ok()?)]);
    out.extend(native);
    out.extend([step(LOAD, ARCHITECTURE, 0, 0), step(EQUALS, machine::COMPAT, 1, 0), error(ENOSYS)]);
    let asked = Asked { ioctl: COMPAT_IOCTL, sockets: machine::SOCKETS, socketcall: machine::SOCKETCALL };
    table(&mut out, &asked, refused().filter_map(|call| Some((call.compat?, call.errno))));
    Some(out)
}

/// There is no filter for a machine whose call numbers are not known here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn filter() -> Option<Vec<sock_filter>> {
    None
}

/// Whether the kernel takes such filters, and this machine's numbers are known.
#[expect(unsafe_code, reason = "seccomp has no safe wrapper")]
pub(crate) fn is_available() -> bool {
    // SAFETY: numbers in, a number out.
    filter().is_some() && unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) } >= 0
}

/// Refuses the calls to this process and everything that it starts, for ever.
///
/// The process must have given up new privileges first; the kernel takes a filter from nobody else but root.
#[expect(unsafe_code, reason = "seccomp has no safe wrapper")]
pub(crate) fn refuse() -> io::Result<()> {
    let mut filter = filter().ok_or(io::ErrorKind::Unsupported)?;
    let len = libc::c_ushort::try_from(filter.len()).map_err(io::Error::other)?;
    let program = sock_fprog { len, filter: filter.as_mut_ptr() };
    let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW);
    // SAFETY: the program points to as many steps as it says, and both outlive the call.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether calls are refused to this process as the filter refuses them. It tries them, with arguments that do
/// nothing.
///
/// That some filter is installed says little: a container around us may have brought its own.
#[expect(unsafe_code, reason = "calls by number have no safe wrapper")]
pub(crate) fn are_refused() -> bool {
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: no pointer leads anywhere, and no number is an operation: where a call is open, it says so and does nothing.
    let tried = unsafe {
        [
            (libc::syscall(libc::SYS_keyctl, -1, 0, 0, 0, 0), io::Error::last_os_error(), EPERM),
            (
                libc::syscall(libc::SYS_add_key, nothing, nothing, nothing, 0, 0),
                io::Error::last_os_error(),
                EPERM,
            ),
            (libc::syscall(libc::SYS_io_uring_setup, 0, nothing), io::Error::last_os_error(), ENOSYS),
            (libc::syscall(libc::SYS_bpf, -1, nothing, 0), io::Error::last_os_error(), EPERM),
            // A type that no family has: open, it says another error.
            (
                libc::syscall(libc::SYS_socket, libc::AF_VSOCK, 0xF, 0),
                io::Error::last_os_error(),
                EAFNOSUPPORT,
            ),
        ]
    };
    tried.iter().all(|(done, why, expect)| *done == -1 && why.raw_os_error() == Some(*expect))
}

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tests {
    use super::*;

    /// What the filter answers, worked out as the kernel does.
    fn answer(filter: &[sock_filter], arch: u32, number: u32, argument: u32) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let step = filter[at];
            at += 1;
            match step.code {
                LOAD => {
                    value = match step.k {
                        NUMBER => number,
                        ARCHITECTURE => arch,
                        FIRST | SECOND => argument,
                        other => panic!("nothing is at {other}"),
                    }
                }
                EQUALS => at += usize::from(if value == step.k { step.jt } else { step.jf }),
                AT_LEAST => at += usize::from(if value >= step.k { step.jt } else { step.jf }),
                RETURN => return step.k,
                other => panic!("no such step: {other}"),
            }
        }
    }

    fn native(number: libc::c_long) -> u32 {
        u32::try_from(number).unwrap()
    }

    #[test]
    fn what_is_refused_is_refused_in_every_table() {
        let filter = filter().unwrap();
        for call in refused() {
            let error = ERROR | call.errno.unsigned_abs();
            for (arch, number) in [(machine::NATIVE, call.native.map(native)), (machine::COMPAT, call.compat)]
            {
                assert!(number.is_none_or(|number| answer(&filter, arch, number, 0) == error), "{number:?}");
            }
        }
        for (arch, ioctl) in [(machine::NATIVE, native(libc::SYS_ioctl)), (machine::COMPAT, COMPAT_IOCTL)] {
            for request in TYPING {
                assert_eq!(answer(&filter, arch, ioctl, request), ERROR | EPERM.unsigned_abs());
            }
            assert_eq!(answer(&filter, arch, ioctl, 0x5401), ALLOW);
        }
    }

    #[test]
    fn only_families_that_programs_need_make_a_socket() {
        let filter = filter().unwrap();
        let natives = [native(libc::SYS_socket), native(libc::SYS_socketpair)];
        for (arch, numbers) in [(machine::NATIVE, natives), (machine::COMPAT, machine::SOCKETS)] {
            for number in numbers {
                for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] {
                    assert_eq!(answer(&filter, arch, number, family.unsigned_abs()), ALLOW, "{family}");
                }
                // AF_PACKET, AF_RDS, AF_TIPC, AF_BLUETOOTH, AF_ALG, AF_VSOCK, AF_KCM, AF_XDP, one that is not there yet.
                for family in [17, 21, 30, 31, 38, 40, 41, 44, 63, u32::MAX] {
                    let refused = ERROR | EAFNOSUPPORT.unsigned_abs();
                    assert_eq!(answer(&filter, arch, number, family), refused, "{family}");
                }
            }
        }
        if let Some(number) = machine::SOCKETCALL {
            for (call, expect) in
                [(1, ERROR | ENOSYS.unsigned_abs()), (8, ERROR | ENOSYS.unsigned_abs()), (3, ALLOW)]
            {
                assert_eq!(answer(&filter, machine::COMPAT, number, call), expect, "socketcall {call}");
            }
            let same = answer(&filter, machine::NATIVE, number, 1);
            assert_eq!(same, ALLOW, "another call has that number in the machine's own table");
        }
    }

    #[test]
    fn there_is_no_third_table() {
        let filter = filter().unwrap();
        let nothing = ERROR | ENOSYS.unsigned_abs();
        assert_eq!(answer(&filter, 0xC000_0015, 1, 0), nothing);
        if let Some(third) = machine::THIRD_TABLE {
            assert_eq!(answer(&filter, machine::NATIVE, third | native(libc::SYS_keyctl), 0), nothing);
            assert_eq!(answer(&filter, machine::NATIVE, third, 0), nothing);
        }
    }

    #[test]
    fn what_programs_need_goes_through() {
        let filter = filter().unwrap();
        let needed = [
            libc::SYS_read,
            libc::SYS_openat,
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_mount,
            libc::SYS_pivot_root,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_seccomp,
            libc::SYS_personality,
            libc::SYS_memfd_create,
            libc::SYS_name_to_handle_at,
        ];
        for call in needed {
            assert_eq!(answer(&filter, machine::NATIVE, native(call), 0), ALLOW, "{call}");
        }
    }

    /// Tried before and after, in a thread of its own: a filter stays for as long as its thread does.
    #[test]
    fn a_filter_is_seen_by_what_it_refuses() {
        let seen = std::thread::spawn(|| {
            rustix::thread::set_no_new_privs(true).unwrap();
            let before = are_refused();
            refuse().unwrap();
            (before, are_refused())
        });
        assert_eq!(seen.join().unwrap(), (false, true));
    }

    #[test]
    fn this_kernel_is_asked() {
        assert!(is_available());
    }
}
