//! Where the output goes: narrow terminals, closed and full outputs, and the exit codes that scripts rely on.

use crate::show::Show;
use crate::stage::Stage;
use crate::stage::scenes::{self, PLAIN, Scene};
use crate::watch::Terminal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsString;
use std::io::{Read, Write};
use tribunal_core::run::Ending;

/// Runs the program through a shell that redirects its output.
fn through_sh(show: &Show, redirect: &str, args: &[&str]) -> crate::stage::program::Ended {
    let binary = show.stage.program().binary.clone().into_os_string();
    let line = format!("exec \"$0\" \"$@\" {redirect}");
    let mut words: Vec<OsString> = vec!["-c".into(), line.into(), binary];
    words.extend(args.iter().map(OsString::from));
    show.stage.program().launch("sh".as_ref(), &words, &[]).unwrap().wait().unwrap()
}

#[test]
fn closed_outputs_do_not_stop_a_run() {
    for redirect in [">&-", ">&- 2>&-", "2>&-", ">&- 2>&- <&-"] {
        let mut show = Show::of(&PLAIN);
        let ended = through_sh(&show, redirect, &["run"]);
        let ended = show.after(&["run", redirect], ended);
        assert_eq!(ended.code, Some(0), "{redirect}: {}", ended.said());
        assert_eq!(show.ended(), Ending::Passed);
        assert_eq!(show.landed("bin/one.sh").as_deref(), Some("#!/bin/sh\necho one"), "{redirect}");
        for args in [&["status"][..], &["log", "--all"], &["show"], &["--version"], &["--help"]] {
            let ended = through_sh(&show, redirect, args);
            assert!(ended.code.is_some_and(|code| code < 4), "{redirect} {args:?}: {:?}", ended.said());
        }
    }
}

#[test]
fn a_reader_that_goes_is_no_failure() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    for args in [&["log", "--all"][..], &["show"], &["status", "--json"]] {
        let ended = through_sh(&show, "| true; exit 0", args);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_full_output_is_one() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    assert_eq!(through_sh(&show, "> /dev/full", &["--version"]).code, Some(3));
    for args in [&["log", "--all"][..], &["show"], &["status", "--json"], &["--help"]] {
        let ended = through_sh(&show, "> /dev/full", args);
        assert_eq!(ended.code, Some(3), "{args:?}: {}", ended.said());
        assert!(ended.stderr.contains("No space left"), "{args:?}: {}", ended.stderr);
    }
}

/// Everything the program writes to a terminal of this width.
fn on_a_terminal(show: &Show, columns: u16, args: &[&str]) -> (Option<i32>, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).unwrap();
    // Held until all is read: when the last one closes it, what was not read is gone.
    let theirs = std::fs::File::options().write(true).open(&name).unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // The end of a terminal is an error to its reader.
        let _ = std::fs::File::from(ours).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let ended = through_sh(show, &format!("> {name} 2> {name}"), args);
    drop(theirs);
    (ended.code, reader.join().unwrap())
}

/// What a program says to somebody at a terminal who answers these lines, and how it ends.
fn answered(stage: &Stage, answers: &str, args: &[&str]) -> (Option<i32>, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = std::fs::File::options().read(true).write(true).open(&name).unwrap();
    let mut ours = std::fs::File::from(ours);
    // What is typed before anybody reads it waits in the terminal.
    ours.write_all(answers.as_bytes()).unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = ours.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let line = format!("exec \"$0\" \"$@\" < {name} > {name} 2> {name}");
    let binary = stage.program().binary.clone().into_os_string();
    let mut words: Vec<OsString> = vec!["-c".into(), line.into(), binary];
    words.extend(args.iter().map(OsString::from));
    let ended = stage.program().launch("sh".as_ref(), &words, &[]).unwrap().wait().unwrap();
    drop(theirs);
    (ended.code, reader.join().unwrap())
}

#[test]
fn a_panel_is_shown_changed_by_name_and_confirmed_or_refused() {
    let (_folder, stage) = crate::stage();
    stage.write("a.py", "begin = 1\n").unwrap();
    stage.commit_all().unwrap();
    stage.git(&["checkout", "-q", "-b", "topic"]).unwrap();
    stage.write("a.py", "begin = 1\nx = 2\n").unwrap();
    stage.git(&["commit", "-q", "-am", "feat: a change"]).unwrap();
    stage.script("[[turn]]\nrole = \"reviewer\"\ndo = [{ say = \"CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve\" }]\n").unwrap();
    let args = ["review", "--diff", "main..HEAD"];
    let (code, text) = answered(&stage, "n\n", &args);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("Is this panel right?") && text.contains("nothing was reviewed"), "{text}");
    assert!(stage.newest().unwrap().is_none(), "what is refused leaves no run");
    let mut reviewers =
        text.lines().filter_map(|line| line.trim().strip_prefix("reviewer")?.split_whitespace().next());
    let old = reviewers.next_back().unwrap().to_owned();
    let new = "security-engineer";
    assert_ne!(old, new);
    let answers = format!("maybe\nnobody={new}\n{old}={new}\ny\n");
    let (code, text) = answered(&stage, &answers, &args);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("write it as old=new") && text.contains("is not on the panel"), "{text}");
    let (_, run_state) = stage.newest().unwrap().unwrap();
    let reviewers = run_state.about.review.unwrap().reviewers;
    assert!(
        reviewers.iter().any(|reviewer| reviewer.id == new)
            && !reviewers.iter().any(|reviewer| reviewer.id == old),
        "{reviewers:?}"
    );
}

/// Where no test command is known, somebody at a terminal is asked once, and the project's file keeps the answer.
#[test]
fn the_test_command_is_asked_for_once_and_written_down() {
    for (answer, kept, is_none) in
        [("sh check.sh\n", "test = [\"sh\", \"check.sh\"]", false), ("\n", "no_tests = true", true)]
    {
        let mut show = Show::of(&Scene { settings: scenes::NO_GATE, ..PLAIN });
        show.user_commits(&[("check.sh", "exit 0\n")]);
        show.user_acts(|stage| {
            let (code, text) = answered(stage, answer, &["run"]);
            assert_eq!(code, Some(2), "{text}");
            assert!(text.contains("Which command runs the tests") && text.contains("git commit"), "{text}");
            Ok(())
        });
        assert!(show.stage.newest().unwrap().is_none(), "nothing was begun");
        let settings = std::fs::read_to_string(show.stage.project().join("tribunal.toml")).unwrap();
        assert!(settings.starts_with(scenes::NO_GATE) && settings.contains(kept), "{settings}");
        show.user_commits(&[]);
        // Quietly: nobody is asked to try it out at the end.
        let (code, again) = answered(&show.stage, "", &["run", "--quiet"]);
        assert_eq!(code, Some(0), "{again}");
        assert!(!again.contains("Which command runs the tests"), "{again}");
        let status = show.stage.tribunal(&["status"]).unwrap().stdout;
        assert_eq!(status.contains("no tests ran"), is_none, "{status}");
    }
}

/// The columns a line takes, without colours and cursor movements.
fn columns(line: &str) -> usize {
    let mut width = 0;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            let _ = rest.by_ref().find(|c| c.is_ascii_alphabetic());
        } else if !c.is_control() {
            width += 1;
        }
    }
    width
}

#[test]
fn forty_columns_are_enough() {
    let mut show = Show::of(&Scene { script: scenes::LOST_FOR_GOOD, ..PLAIN });
    let (code, text) = on_a_terminal(&show, 40, &["run"]);
    assert_eq!(code, Some(4), "{text}");
    show.untouched();
    assert!(text.contains("tribunal decide 01-01/task-1"), "{text}");
    // The report is a document, as wide as its reader likes; these are for the terminal.
    for args in [&["status"][..], &["inbox"], &["log"]] {
        let (code, more) = on_a_terminal(&show, 40, args);
        assert!(code.is_some_and(|code| code < 5), "{args:?}: {more}");
        // The mark or indent before a line's first word is not counted by whoever wraps it.
        let table = more.lines().filter(|line| columns(line) > 46);
        // Commands to copy and paths stay whole.
        let whole = |line: &&str| !line.contains("tribunal ") && !line.contains('/');
        assert_eq!(table.filter(whole).collect::<Vec<_>>(), Vec::<&str>::new(), "{args:?}");
    }
}

/// The daily page fits the smallest terminal that people still use, with the line that asked for it and the next prompt.
#[test]
fn the_help_is_one_screen_of_eighty_by_twenty_four() {
    let show = Show::of(&PLAIN);
    for line in ["--help", "help", "-h"] {
        let binary = show.stage.program().binary.display();
        let terminal =
            Terminal::of(&show, &format!("echo '$ tribunal'; '{binary}' {line}; exec cat"), 80, 24);
        let screen = terminal.until("its last line", |screen| screen.contains("4 waits for you"));
        assert!(screen.starts_with("$ tribunal\n"), "nothing scrolled away: {screen}");
        insta::assert_snapshot!("help_at_80x24", screen.trim_end());
    }
    let all = show.stage.tribunal(&["help", "--all"]).unwrap();
    assert_eq!(all.code, Some(0), "{}", all.said());
    assert!(all.stdout.contains("For those who build on it"), "{}", all.stdout);
    for words in [&["help", "run"][..], &["run", "--help"]] {
        assert!(show.stage.tribunal(words).unwrap().stdout.contains("--land-again"), "{words:?}");
    }
    assert_eq!(show.stage.tribunal(&["help", "nothing"]).unwrap().code, Some(2));
    assert_eq!(show.stage.tribunal(&[]).unwrap().code, Some(2));
}

#[test]
fn exit_codes() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    let stuck = Scene { script: scenes::STUCK, settings: scenes::STUCK_SETTINGS, ..PLAIN };
    let mut show = Show::of(&stuck);
    let waits = show.expect(&["run"], 4);
    assert!(waits.stdout.contains("tribunal decide 01-01 "), "{}", waits.said());
    for flags in [&["--quiet"][..], &["--json"]] {
        let waits = show.expect(&[&["resume"], flags].concat(), 4);
        assert!(waits.stderr.contains("tribunal decide 01-01 "), "{flags:?}: {}", waits.said());
    }
    show.expect(&["decide", "01-01", "stop"], 1);
    assert_eq!(show.ended(), Ending::Stopped);
}

#[test]
fn a_shell_completes_our_commands() {
    let (folder, stage) = crate::stage();
    let script = stage.tribunal(&["completions", "bash"]).unwrap().stdout;
    let file = folder.path().join("completions.bash");
    std::fs::write(&file, script).unwrap();
    let ask = "source \"$1\"; COMP_WORDS=(tribunal repl); COMP_CWORD=1; _tribunal tribunal repl tribunal; \
               echo \"${COMPREPLY[@]}\"";
    let answer = stage.program().other("bash", &["-c", ask, "bash", file.to_str().unwrap()]).unwrap();
    assert_eq!(answer.stdout.trim(), "replay", "{}", answer.said());
    for shell in ["zsh", "fish"] {
        assert!(stage.tribunal(&["completions", shell]).unwrap().stdout.contains("replay"), "{shell}");
    }
}

/// Somebody at a terminal is asked once whether what the repository sets beyond the sandbox counts. Only a yes trusts it;
/// through a pipe nobody is asked, and it does not count.
#[test]
fn a_run_at_a_terminal_offers_trust_and_only_a_yes_trusts() {
    const LEAVES: &str = "[plan]\nreview = \"never\"\n[run]\nautonomy = \"confident\"\non_end = [\"sh\", \"-c\", \"echo ended > ended\"]\n[checks]\nno_tests = true\n";
    for (answer, counts) in [("y\n", true), ("\n", false), ("n\n", false)] {
        let mut show = Show::of(&Scene { settings: LEAVES, ..PLAIN });
        show.stage.program_mut().trusts = false;
        let (code, text) = answered(&show.stage, answer, &["run"]);
        assert_eq!(code, Some(0), "{text}");
        let asked = text.contains("Trust it until a value changes? [y/N]") && text.contains("run.on_end = ");
        assert!(asked, "{text}");
        let listed = show.stage.tribunal(&["trust", "--show"]).unwrap().stdout;
        assert_eq!(!listed.contains("not trusted"), counts, "{listed}");
        assert_eq!(text.contains("is not used"), !counts, "{text}");
    }
    let mut show = Show::of(&Scene { settings: LEAVES, ..PLAIN });
    show.stage.program_mut().trusts = false;
    let said = show.expect(&["run"], 0).said();
    assert!(said.contains("is not used") && !said.contains("[y/N]"), "{said}");
}
