//! What a launch with a sandbox is kept from besides files, seen from inside: the kernel's settings, its own first process,
//! sockets without a file, calls, the network. And who is heard of those that call from inside.

use crate::harness::{BOUND, PROBE, Stand, each, readable, skip};
use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use tribunal_process::{Callers, Containment, Enforced, ExitHow, Launch, MARKER, Mount, Mounts, Network};

/// A stand in each containment that can make a sandbox, with what is enforced there.
fn sealed(mut check: impl FnMut(&str, Stand, Enforced)) {
    each(|name, containment| {
        let enforced = containment.enforced();
        if !enforced.mounts {
            return skip("no sandbox here");
        }
        check(name, Stand::new(containment), enforced);
    });
}

/// A launch that may write in the stand's own folder.
fn sandboxed(stand: &Stand, id: &str, argv: &[&str]) -> Launch {
    let dir = stand.dir.path().canonicalize().unwrap();
    let own = Mount::Show { from: dir.clone(), to: dir.clone(), write: true };
    Launch { mounts: Some(Mounts(vec![own])), dir, ..stand.launch(id, argv) }
}

/// What a script prints inside; it must end well.
fn said(stand: &Stand, id: &str, script: &str, network: Network) -> String {
    let launch = Launch { network, ..sandboxed(stand, id, &["sh", "-c", script, PROBE]) };
    stand.supervisor.spawn(launch).unwrap();
    let exit = stand.exit();
    assert_eq!(exit.how, ExitHow::Code(0), "{}", stand.read(id, "stderr"));
    stand.read(id, "stdout")
}

#[test]
fn everything_is_closed_on_a_recent_kernel() {
    sealed(|name, stand, enforced| {
        let here = Containment::own(Path::new(PROBE)).map(|own| own.enforced());
        assert!(enforced.kernel_files && enforced.init && enforced.callers, "{name}: {enforced:?}");
        // Both ways close the same.
        assert_eq!(Some(enforced), here.or(Some(enforced)), "{name}");
        drop(stand);
    });
    assert_eq!(Containment::Subreaper.enforced(), Enforced::default());
}

/// Opening is enough to tell, and changes nothing.
#[test]
fn nobody_changes_the_kernels_settings() {
    let script = "cd /proc; for f in sys/kernel/core_pattern sys/kernel/panic sys/vm/overcommit_memory sysrq-trigger \
                  irq/default_smp_affinity; do (: >> $f) && echo OPEN $f; done; \
                  (: >> /sys/kernel/mm/ksm/run) && echo OPEN sys; \
                  head -c 4 kcore | grep -q . && echo MEMORY; \
                  unshare -Urpfm sh -c 'mount -t proc proc /proc; umount /proc/sys; (: >> /proc/sys/kernel/core_pattern) && echo FRESH'; \
                  grep -q Linux sys/kernel/ostype && echo 1 > self/oom_score_adj && cat self/oom_score_adj";
    sealed(|name, stand, _| assert_eq!(said(&stand, "x", script, Network::Host), "1\n", "{name}"));
}

#[test]
fn the_first_process_is_out_of_reach_and_others_are_not() {
    let script = "for f in mem environ fd/0 fd/3 root/etc/passwd; do head -c 1 /proc/1/$f > /dev/null && echo READ $f; done; \
                  readlink /proc/1/fd/0 /proc/1/exe; kill -STOP 1; kill -KILL 1; \"$0\" trace 1; \
                  \"$0\" park & \"$0\" trace $! | cut -d: -f2; kill -KILL $!";
    sealed(|name, stand, enforced| {
        assert!(enforced.init, "{name}");
        let said = said(&stand, "x", script, Network::Host);
        assert_eq!(said, "trace 1: Operation not permitted (os error 1)\n traced\n", "{name}");
    });
}

/// Dead, but not for its parent: a tracer that never asks keeps a dead process from everybody else.
#[test]
fn a_tracer_does_not_delay_the_end() {
    let script = "\"$0\" trace-parent > /dev/null & while ! test -e traced; do :; done; exit 3";
    sealed(|name, stand, _| {
        stand.supervisor.spawn(sandboxed(&stand, "x", &["sh", "-c", script, PROBE])).unwrap();
        let exit = stand.exit();
        assert_eq!((exit.how, exit.left), (ExitHow::Code(3), Vec::new()), "{name}");
    });
}

#[test]
fn sockets_without_a_file_stay_inside() {
    sealed(|name, stand, enforced| {
        let address = SocketAddr::from_abstract_name(&stand.marker).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        assert!(UnixStream::connect_addr(&address).is_ok());
        let theirs = if enforced.sockets { "closed" } else { "open" };
        let said = said(&stand, "x", &format!("\"$0\" abstract {}", stand.marker), Network::Host);
        assert_eq!(said, format!("theirs {theirs}, own open\n"), "{name}");
        drop(listener);
    });
}

#[test]
fn calls_that_nobody_needs_are_refused() {
    sealed(|name, stand, enforced| {
        let said = said(&stand, "x", "\"$0\" refused-calls", Network::Host);
        if enforced.calls {
            assert_eq!(said, "keyctl 1\nio_uring 38\nbpf 1\nvsock 97\npacket 97\nnetlink 0\n", "{name}");
        }
    });
}

#[test]
fn who_has_no_network_reaches_only_itself() {
    sealed(|name, stand, enforced| {
        if !enforced.network {
            return skip("no network namespaces here");
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let script =
            format!("\"$0\" reach {}; ls /sys/class/net > /dev/null", listener.local_addr().unwrap().port());
        assert_eq!(said(&stand, "without", &script, Network::None), "theirs closed, own open\n", "{name}");
        assert_eq!(said(&stand, "with", &script, Network::Host), "theirs open, own open\n", "{name}");
    });
}

#[test]
fn without_a_namespace_nobody_is_kept_from_the_network() {
    let stand = Stand::new(Containment::Subreaper);
    let launch = Launch { network: Network::None, ..stand.launch("x", &["true"]) };
    assert!(stand.supervisor.spawn(launch).unwrap_err().to_string().contains("checks.network"));
}

/// The kernel's word counts, not the marker that anybody can wear.
#[test]
fn only_who_lives_in_the_launch_is_its_own() {
    sealed(|name, stand, _| {
        let path = stand.dir.path().canonicalize().unwrap().join("socket");
        let at = path.to_str().unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        let accept = || {
            assert!(
                readable(&listener, BOUND),
                "{name}: nobody called: {}",
                fs::read_to_string(stand.out("x").join("stderr")).unwrap()
            );
            listener.accept().unwrap().0
        };
        let script = "\"$0\" call-at \"$1\"; unshare -Urpf \"$0\" call-at \"$1\"; \
                      env -i \"$0\" call-at \"$1\"; exec \"$0\" call-at \"$1\"";
        let started =
            stand.supervisor.spawn(sandboxed(&stand, "x", &["sh", "-c", script, PROBE, at])).unwrap();
        let callers = Callers::of(started, stand.supervisor.containment(), &stand.marker, "x");
        for who in ["a child", "one in a namespace below", "one without a marker"] {
            assert!(callers.has(&accept()), "{name}: {who}");
        }
        let last = accept();
        let marker = format!("{}/x", stand.marker);
        let mut stranger = Command::new(PROBE)
            .args(["call-at", at])
            .env(MARKER, marker)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        assert!(!callers.has(&accept()), "{name}: a stranger who wears the marker");
        stranger.wait().unwrap();
        let other = stand.supervisor.spawn(sandboxed(&stand, "other", &[PROBE, "call-at", at])).unwrap();
        let theirs = accept();
        assert!(!callers.has(&theirs), "{name}: a process of another launch");
        let others = Callers::of(other, stand.supervisor.containment(), &stand.marker, "other");
        assert!(others.has(&theirs) && !others.has(&last), "{name}");
        assert!(callers.has(&last), "{name}");
        drop((theirs, last));
        stand.exit();
        stand.exit();
    });
}
