//! Starting, exit codes, signals, output, environment: what every launch may rely on.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use tribunal_process::{Cause, Containment, ExitHow, Launch, ProcessError, Stdin, exit_of, run_to_end};

use crate::harness::{BOUND, Stand, each};

#[test]
fn ends_are_told_as_they_were() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let check = |id: &str, script: &str, expect: ExitHow| {
            let exit = stand.run(id, &["sh", "-c", script]);
            assert_eq!((exit.how, exit.cause, exit.killed), (expect, Cause::Itself, 0), "{name}: {script}");
        };
        check("zero", "true", ExitHow::Code(0));
        check("three", "exit 3", ExitHow::Code(3));
        check("high", "exit 255", ExitHow::Code(255));
        check("killed", "kill -9 $$", ExitHow::Signal(9));
        check("terminated", "kill -TERM $$", ExitHow::Signal(15));
        check("aborted", "ulimit -c 0; kill -ABRT $$", ExitHow::Signal(6));
        // A script that kills its own group must not hit what watches over it.
        check("group", "kill -TERM 0", ExitHow::Signal(15));
        // Bubblewrap cannot tell this from a signal.
        if name != "bubblewrap" {
            check("shell-like", "exit 137", ExitHow::Code(137));
        }
    });
}

#[test]
fn output_is_kept_and_the_record_tells_the_rest() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let exit = stand.run("x", &["sh", "-c", "echo out; echo err >&2; printf more"]);
        assert_eq!(stand.read("x", "stdout"), "out\nmore", "{name}");
        assert_eq!(stand.read("x", "stderr"), "err\n", "{name}");
        assert_eq!((exit.stdout_bytes, exit.stderr_bytes), (8, 4), "{name}");
        assert_eq!(exit_of(&stand.out("x")), Some(exit), "{name}");
        let record = stand.read("x", "process.json");
        assert!(record.contains(&format!("\"marker\":\"{}/x\"", stand.marker)), "{record}");
    });
}

#[test]
fn the_environment_is_what_was_listed() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let mut launch = stand.launch("x", &["env"]);
        launch.env.push(("strange-name.1".into(), "a b\nc".into()));
        stand.supervisor.spawn(launch).unwrap();
        stand.exit();
        let mut names: Vec<String> = stand.read("x", "stdout").lines().map(str::to_owned).collect();
        // Bubblewrap sets it, whatever it is told.
        names.retain(|line| name != "bubblewrap" || !line.starts_with("PWD="));
        names.sort();
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        let mut expect = vec![path, format!("TRIBUNAL_MARKER={}/x", stand.marker)];
        expect.extend(["c".to_owned(), "strange-name.1=a b".to_owned()]);
        expect.sort();
        assert_eq!(names, expect, "{name}");
    });
}

#[test]
fn nothing_of_ours_is_inherited_but_three_descriptors() {
    // Deliberately not close-on-exec, as a library might leave one; far from the numbers a shell uses itself.
    let leaked = rustix::io::fcntl_dupfd_cloexec(std::io::stderr(), 543).unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    each(|name, containment| {
        let stand = Stand::new(containment);
        let script = "for fd in /proc/self/fd/*; do echo ${fd##*/}; done; cat /proc/self/stat";
        stand.run("x", &["sh", "-c", script]);
        let output = stand.read("x", "stdout");
        let leaked = leaked.as_raw_fd().to_string();
        assert!(!output.lines().any(|line| line == leaked), "{name}: {output}");
        // Field 7 is the controlling terminal: none.
        let stat = output.lines().last().unwrap();
        assert_eq!(stat.rsplit(") ").next().unwrap().split(' ').nth(4), Some("0"), "{name}: {stat}");
    });
    drop(leaked);
}

#[test]
fn input_directory_and_arguments_arrive() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let prompt = stand.dir.path().join("prompt");
        fs::write(&prompt, "do it\n").unwrap();
        let argv = ["sh", "-c", "cat; pwd; echo \"$1|$2\"", "sh", "$(id) ; x", ""];
        stand.supervisor.spawn(Launch { stdin: Stdin::File(prompt), ..stand.launch("x", &argv) }).unwrap();
        assert_eq!(stand.exit().how, ExitHow::Code(0), "{name}");
        let dir = stand.dir.path().canonicalize().unwrap();
        assert_eq!(stand.read("x", "stdout"), format!("do it\n{}\n$(id) ; x|\n", dir.display()), "{name}");
    });
}

/// A process may open its standard input anew, for writing as well.
#[test]
fn no_launch_changes_the_file_that_it_reads() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let prompt = stand.dir.path().join("prompt");
        fs::write(&prompt, "do it\n").unwrap();
        let argv = ["sh", "-c", "(echo other > /proc/self/fd/0) 2>/dev/null; cat /proc/self/fd/0; cat"];
        let stdin = Stdin::File(prompt.clone());
        stand.supervisor.spawn(Launch { stdin, ..stand.launch("x", &argv) }).unwrap();
        assert_eq!(stand.exit().how, ExitHow::Code(0), "{name}");
        assert_eq!(stand.read("x", "stdout"), "do it\ndo it\n", "{name}");
        assert_eq!(fs::read_to_string(&prompt).unwrap(), "do it\n", "{name}");
    });
}

#[test]
fn inside_a_namespace_the_command_sees_only_itself() {
    each(|name, containment| {
        if containment.is_partial() {
            return;
        }
        let stand = Stand::new(containment);
        stand.run("x", &["sh", "-c", "echo $$; ls /proc | grep -c '^[0-9]'"]);
        let output = stand.read("x", "stdout");
        let numbers: Vec<u32> = output.lines().map(|n| n.parse().unwrap()).collect();
        assert!(numbers[0] < 10 && numbers[1] < 10, "{name}: {output}");
    });
}

#[test]
fn what_cannot_start_is_refused_with_a_reason() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let spawn = |argv: &[&str]| stand.supervisor.spawn(stand.launch("x", argv)).unwrap_err();
        let plain = stand.dir.path().join("plain");
        fs::write(&plain, "#!/bin/sh\n").unwrap();

        let error = spawn(&["no-such-agent-anywhere"]);
        assert!(matches!(error, ProcessError::NotFound { .. }), "{name}: {error}");
        assert!(error.to_string().contains("no-such-agent-anywhere: no such program"), "{error}");
        assert!(error.to_string().contains("hint: "), "{error}");
        assert!(matches!(spawn(&["./missing"]), ProcessError::NotFound { .. }));
        let error = spawn(&["./plain"]);
        assert!(matches!(error, ProcessError::NotExecutable { .. }), "{name}: {error}");
        assert!(matches!(spawn(&["/"]), ProcessError::NotExecutable { .. }));
        assert!(matches!(spawn(&[]), ProcessError::BadLaunch { .. }));
        assert!(matches!(spawn(&["sh", "a\0b"]), ProcessError::BadLaunch { .. }));
        let lost = Launch { dir: "/no/such/dir".into(), ..stand.launch("x", &["true"]) };
        assert!(matches!(stand.supervisor.spawn(lost), Err(ProcessError::NoDirectory { .. })));
        // The id is free again after each refusal.
        assert_eq!(stand.run("x", &["true"]).how, ExitHow::Code(0));
    });
}

#[test]
fn a_broken_interpreter_is_told_somehow() {
    each(|name, containment| {
        let stand = Stand::new(containment);
        let script = stand.dir.path().join("script");
        fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        match stand.supervisor.spawn(stand.launch("x", &["./script"])) {
            Err(ProcessError::Io { .. }) => {}
            Err(other) => panic!("{name}: {other}"),
            Ok(_) => assert!(!matches!(stand.exit().how, ExitHow::Code(0)), "{name}"),
        }
    });
}

#[test]
fn output_never_goes_through_a_symlink() {
    let stand = Stand::new(Containment::Subreaper);
    let victim = stand.dir.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    fs::create_dir_all(stand.out("x")).unwrap();
    symlink(&victim, stand.out("x").join("stdout")).unwrap();
    let error = stand.supervisor.spawn(stand.launch("x", &["echo", "overwritten"])).unwrap_err();
    assert!(matches!(error, ProcessError::Io { .. }), "{error}");
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
}

#[test]
fn one_id_runs_once_at_a_time() {
    let stand = Stand::new(Containment::Subreaper);
    stand.supervisor.spawn(stand.launch("x", &["sleep", "60"])).unwrap();
    let again = stand.supervisor.spawn(stand.launch("x", &["true"]));
    assert!(matches!(again, Err(ProcessError::AlreadyRunning { .. })));
    stand.supervisor.stop("x", BOUND);
    assert_eq!(stand.exit().cause, Cause::Stopped);
    stand.supervisor.shutdown(Duration::ZERO);
    assert!(matches!(stand.supervisor.spawn(stand.launch("y", &["true"])), Err(ProcessError::Closed { .. })));
}

#[test]
fn run_to_end_is_bounded() {
    each(|name, containment| {
        let stand = Stand::new(containment.clone());
        let quick = run_to_end(containment.clone(), stand.launch("q", &["sh", "-c", "exit 4"]), BOUND, BOUND);
        assert_eq!(quick.unwrap().how, ExitHow::Code(4), "{name}");
        let slow = stand.launch("s", &["sleep", "60"]);
        let slow = run_to_end(containment, slow, Duration::from_millis(100), BOUND).unwrap();
        assert_eq!((slow.how, slow.cause), (ExitHow::Signal(15), Cause::Stopped), "{name}");
    });
}

#[test]
fn given_input_is_handed_over() {
    let stand = Stand::new(Containment::Subreaper);
    let (reader, mut writer) = std::io::pipe().unwrap();
    stand
        .supervisor
        .spawn(Launch { stdin: Stdin::Given(reader.into()), ..stand.launch("x", &["head", "-n1"]) })
        .unwrap();
    std::io::Write::write_all(&mut writer, b"later\n").unwrap();
    assert_eq!(stand.exit().how, ExitHow::Code(0));
    assert_eq!(stand.read("x", "stdout"), "later\n");
    drop(writer);
}
