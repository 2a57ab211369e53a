//! The watch over exit code 0: every test that waits for the program is told when 0 came without the result on the branch.

use crate::show::Show;
use crate::stage::laws::{RUNS, there};
use crate::stage::program::Ended;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;

/// Commands that bring no result to a branch, whatever they end with.
const OTHERS: [&str; 31] = [
    "demo",
    "init",
    "doctor",
    "status",
    "log",
    "explain",
    "replay",
    "show",
    "report",
    "cancel",
    "watch",
    "serve",
    "inbox",
    "waive",
    "uat",
    "map",
    "gc",
    "intake",
    "dedupe",
    "delta",
    "docs",
    "protocol",
    "config",
    "trust",
    "completions",
    "mcp",
    "hook",
    "trace",
    "schema",
    "help",
    "step",
];

fn said(code: i32) -> Ended {
    Ended { code: Some(code), signal: None, stdout: String::new(), stderr: String::new() }
}

/// A run that passed, and the commit that the branch was at before.
fn passed() -> (Show, String) {
    let mut show = Show::script("");
    let base = show.stage.git(&["rev-parse", "main"]).unwrap();
    show.passes();
    (show, base)
}

#[test]
fn exit_code_0_without_the_result_is_seen_for_every_command() {
    let (show, base) = passed();
    let program = show.stage.program();
    let run = show.run();
    let wrong = |words: &[&str]| there(program, words, &said(0)).unwrap();
    for command in RUNS {
        assert_eq!(wrong(&[command]), None, "{command}");
    }
    // Taken away by a later commit: the branch contains the result's commit, and nothing of it.
    let tree =
        show.stage.git(&["commit-tree", "-p", "main", "-m", "away", &format!("{base}^{{tree}}")]).unwrap();
    show.stage.git(&["update-ref", "refs/heads/main", &tree]).unwrap();
    for command in RUNS {
        assert!(wrong(&[command]).unwrap().contains("bin/one.sh"), "{command}");
    }
    show.stage.git(&["update-ref", "refs/heads/main", &base]).unwrap();
    for command in RUNS {
        assert!(wrong(&["-C", "x", command, "--quiet"]).unwrap().contains("its commit"), "{command}");
        assert!(wrong(&[command, &run]).is_some(), "{command}");
        assert_eq!(there(program, &[command], &said(4)).unwrap(), None, "{command}");
        assert_eq!(wrong(&["help", command]), None, "{command}");
    }
}

/// However a test starts the program, waiting for it is what looks.
#[test]
fn waiting_for_the_program_looks_wherever_it_was_started() {
    let (mut show, base) = passed();
    show.stage.git(&["update-ref", "refs/heads/main", &base]).unwrap();
    let liar = show.stage.root().join("liar");
    show.put(&liar, "#!/bin/sh\nexit 0\n");
    std::fs::set_permissions(&liar, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = show.stage.program_mut();
    program.binary.clone_from(&liar);
    let program = show.stage.program();
    let mut words: Vec<OsString> = vec!["-c".into(), "exec \"$0\" \"$@\"".into(), liar.clone().into()];
    words.push("resume".into());
    let ways = [
        show.stage.tribunal(&["run"]),
        program.run(&["do", "one thing"], &[]),
        program.start(&["land"], &[]).and_then(crate::stage::program::Running::wait),
        program.launch(liar.as_os_str(), &["decide".into(), "land".into()], &[]).and_then(|one| one.wait()),
        program.launch("sh".as_ref(), &words, &[]).and_then(|one| one.wait()),
    ];
    for way in ways {
        assert!(way.unwrap_err().contains("does not have the result"));
    }
    assert!(show.stage.tribunal(&["status"]).is_ok());
}

/// A command that is new has to be put into one list or the other.
#[test]
fn every_command_is_known_to_bring_a_result_or_not() {
    let (_folder, stage) = crate::stage();
    let help = stage.tribunal(&["help", "--all"]).unwrap().stdout;
    // Deeper lines go on with a description; options begin with a hyphen, and exit codes with a digit.
    let is_command = |line: &&str| {
        line.strip_prefix("  ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let commands = help.lines().filter(is_command);
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() > 20, "{help}");
    for command in commands {
        assert!(
            RUNS.contains(&command) != OTHERS.contains(&command),
            "{command} is in neither list, or in both"
        );
    }
}
