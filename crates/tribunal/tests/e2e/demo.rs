//! Every scenario of the demo ends as it is named, and leaves a project that can be looked at.

use crate::show::Show;
use crate::stage::Stage;
use crate::stage::play::listen;
use crate::stage::scenes::PLAIN;
use crate::watch::{Terminal, until_gone};
use rustix::process::Signal;
use std::path::PathBuf;
use tribunal_core::run::Ending;
use tribunal_engine::{RunState, inbox};
use tribunal_journal::Reader;

/// Plays a scenario; gives back what its journal says.
#[track_caller]
fn demo(scenario: &str) -> (RunState, String) {
    let (_folder, mut stage) = crate::stage();
    let dir = stage.root().join("the demo");
    let ended =
        stage.tribunal(&["demo", "--scenario", scenario, "--dir", &dir.display().to_string()]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    stage.program_mut().dir = dir;
    let run = stage.runs().remove(0);
    assert_eq!(tribunal_process::survivors(&run), Vec::<i32>::new());
    let reader = Reader::open(&stage.run_dir(&run)).unwrap();
    for args in [&["status"][..], &["show"], &["log"], &["inbox"]] {
        let ended = stage.tribunal(args).unwrap();
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.said());
    }
    (RunState::read(&reader).unwrap(), ended.said())
}

/// The run's ending, and how the loop of the first plan ended.
fn ends(run_state: &RunState) -> (Option<Ending>, String) {
    let first = run_state.loops.iter().find(|(id, _)| id.as_str().starts_with("01-01/plan"));
    let outcome =
        first.and_then(|(_, review_loop)| review_loop.outcome()).map(|outcome| outcome.word().to_owned());
    (run_state.run.as_ref().and_then(|run| run.ending()), outcome.unwrap_or_default())
}

#[test]
fn pass() {
    let (run_state, said) = demo("pass");
    assert_eq!(ends(&run_state), (Some(Ending::Passed), "passed".to_owned()));
    let landed = run_state
        .run
        .unwrap()
        .standings()
        .filter(|(_, s)| matches!(s, tribunal_core::run::Standing::Landed(_)))
        .count();
    assert_eq!(landed, 4);
    assert!(said.contains("Try next:"), "{said}");
    // A reviewer that crashed said nothing that could have been read.
    assert!(!said.contains("was not read whole"), "{said}");
}

#[test]
fn stale() {
    assert_eq!(ends(&demo("stale").0), (Some(Ending::Shut), "stale".to_owned()));
}

#[test]
fn exhausted() {
    assert_eq!(ends(&demo("exhausted").0), (Some(Ending::Shut), "exhausted".to_owned()));
}

#[test]
fn escalated() {
    assert_eq!(ends(&demo("escalated").0), (Some(Ending::Passed), "passed".to_owned()));
}

#[test]
fn blocked() {
    let run_state = demo("blocked").0;
    assert_eq!(ends(&run_state).0, None);
    let open: Vec<String> = inbox::questions(&run_state).into_iter().map(|open| open.id).collect();
    assert_eq!(open, ["01-02"]);
}

#[test]
fn oscillating() {
    let (run_state, said) = demo("oscillating");
    assert_eq!(ends(&run_state).0, None);
    let open = inbox::questions(&run_state);
    let ids: Vec<&str> = open.iter().map(|open| open.id.as_str()).collect();
    assert_eq!(ids, ["01-02/task-1"]);
    assert!(open[0].why.contains("undo each other"), "{}", open[0].why);
    let (_, contested) = open[0].findings.first().unwrap();
    assert!(contested.heard_contest && contested.flipped && contested.reopened == 2, "{contested:?}");
    let heard: Vec<&str> =
        run_state.launches.iter().filter(|l| l.role == "hearing").map(|l| l.effect.as_str()).collect();
    assert_eq!(heard.len(), 2, "each side is heard once: {heard:?}");
    for words in ["ESCALATED", "undo each other", "came back", "on lines the fix added"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn crash() {
    let (run_state, said) = demo("crash");
    assert_eq!(ends(&run_state), (Some(Ending::Passed), "passed".to_owned()));
    assert!(said.contains("Killed"), "{said}");
}

/// What hostile agents try is told, and nothing of it lands.
#[test]
fn hostile() {
    let (run_state, said) = demo("hostile");
    assert_eq!(ends(&run_state).0, Some(Ending::Passed));
    for words in [
        "config.ini holds an AWS access key",
        "its working folder was taken away",
        "two verdicts contradict each other",
        "ci.yml configures CI or hooks: a change needs a person",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let mut found = run_state.loops.values().flat_map(|review_loop| review_loop.ledger().iter());
    assert!(found.any(|(_, entry)| entry.claim.claim.contains("leads out of the repository")));
    assert_eq!(run_state.launches.iter().map(|launch| launch.left_behind).max(), Some(5));
    assert!(said.contains("left processes running: 5"), "{said}");
}

/// A scenario of the demo as it stands when it asks, in its folder.
#[track_caller]
fn waiting(scenario: &str) -> (tempfile::TempDir, Stage) {
    let (folder, mut stage) = crate::stage();
    let dir = stage.root().join("the demo");
    let ended =
        stage.tribunal(&["demo", "--scenario", scenario, "--dir", &dir.display().to_string()]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    stage.program_mut().dir = dir.clone();
    let own = match scenario {
        "escalated" => include_str!("../../src/demo/scenes/escalated.toml").to_owned(),
        "hostile" => [
            include_str!("../../src/demo/scenes/hostile.toml"),
            include_str!("../../src/demo/scenes/hostile_ci.toml"),
        ]
        .concat(),
        _ => return (folder, stage),
    };
    // These answer by themselves: once more from the beginning, up to the question.
    let first = stage.git(&["rev-list", "--max-parents=0", "HEAD"]).unwrap();
    stage.git(&["reset", "-q", "--hard", &first]).unwrap();
    std::fs::remove_dir_all(dir.join(".tribunal")).unwrap();
    std::fs::remove_dir_all(dir.join("scene.toml.used")).unwrap();
    let common = include_str!("../../src/demo/scenes/common.toml");
    std::fs::write(dir.join("scene.toml"), format!("{own}\n{common}")).unwrap();
    let ended = stage.tribunal(&["run"]).unwrap();
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    (folder, stage)
}

/// Gives one answer; no agent is asked beyond its script.
#[track_caller]
fn answers(stage: &Stage, option: &str, code: i32) {
    let run_state = stage.newest().unwrap().unwrap().1;
    let open = inbox::questions(&run_state).remove(0);
    let rounds: &[&str] = if option == "again" { &["--rounds", "2"] } else { &[] };
    let args = [&["decide", &open.id, option], rounds].concat();
    let ended = stage.tribunal(&args).unwrap();
    assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.said());
    let run_state = stage.newest().unwrap().unwrap().1;
    let lost: Vec<&String> =
        run_state.lost.values().filter(|lost| lost.contains("beyond its script")).collect();
    assert!(lost.is_empty(), "{args:?}: {lost:?}");
}

/// Every answer that a scenario offers, and how the run ends with it. `fix` is what a person does before `fixed`.
#[track_caller]
fn every_answer(scenario: &str, fix: impl Fn(&std::path::Path), codes: &[(&str, i32)]) {
    let mut offered = Vec::new();
    for (option, code) in codes {
        let (_folder, stage) = waiting(scenario);
        let open = inbox::questions(&stage.newest().unwrap().unwrap().1).remove(0);
        offered = open.offers.iter().map(|offer| offer.word()).collect();
        if *option == "fixed" {
            fix(&crate::stage::play::place_to_fix(&stage, &open.id).unwrap());
        }
        answers(&stage, option, *code);
        // Who stops a loop is asked about its plan, and can still have it done.
        if *option == "stop" && *code == 4 && scenario != "escalated" {
            answers(&stage, "again", 0);
        }
    }
    let told: Vec<&str> = codes.iter().map(|(option, _)| *option).collect();
    assert_eq!(told, offered, "{scenario}");
}

const COUNTS: &str = "#!/bin/sh\n# Fixed by hand.\nif [ -z \"$1\" ]; then\n  echo 'usage: count.sh FILE' >&2\n  \
    exit 2\nfi\nset -e\nlines=$(wc -l < \"$1\")\necho \"$((lines))\"\n";

#[test]
fn every_answer_of_blocked() {
    let fix = |tree: &std::path::Path| std::fs::write(tree.join("bin/count.sh"), COUNTS).unwrap();
    every_answer("blocked", fix, &[("again", 0), ("fixed", 0), ("accept", 0), ("drop", 1), ("stop", 1)]);
}

#[test]
fn a_wrong_fix_of_blocked_is_seen() {
    let fix = |tree: &std::path::Path| {
        std::fs::write(tree.join("bin/count.sh"), "#!/bin/sh\nwc -l < $1 | tr -d ' '\n").unwrap();
    };
    let (_folder, stage) = waiting("blocked");
    fix(&crate::stage::play::place_to_fix(&stage, "01-02").unwrap());
    answers(&stage, "fixed", 0);
    let run_state = stage.newest().unwrap().unwrap().1;
    let last = run_state
        .loops
        .values()
        .rfind(|review_loop| review_loop.id().as_str().starts_with("01-02/task-1."))
        .unwrap();
    assert_eq!(last.round(), 2, "it was rejected once, and fixed");
}

#[test]
fn every_answer_of_oscillating() {
    let fix = |tree: &std::path::Path| std::fs::write(tree.join("bin/count.sh"), COUNTS).unwrap();
    every_answer("oscillating", fix, &[("again", 0), ("fixed", 0), ("accept", 0), ("stop", 4)]);
}

#[test]
fn every_answer_of_hostile() {
    let fix = |tree: &std::path::Path| std::fs::remove_dir_all(tree.join(".github")).unwrap();
    every_answer("hostile", fix, &[("again", 0), ("fixed", 0), ("accept", 0), ("stop", 4)]);
}

/// Its reviewer is lost for good: whoever asks it again is asked again.
#[test]
fn every_answer_of_escalated() {
    let fix = |tree: &std::path::Path| {
        std::fs::write(tree.join("bin/greet.sh"), "#!/bin/sh\necho \"Hello, ${1:?usage: greet.sh NAME}!\"\n")
            .unwrap();
    };
    every_answer("escalated", fix, &[("ask-again", 4), ("fixed", 4), ("accept", 0), ("stop", 4)]);
}

#[test]
fn a_folder_that_is_not_empty_is_left_alone() {
    let (_folder, stage) = crate::stage();
    let ended = stage.tribunal(&["demo", "--dir", &stage.root().display().to_string()]).unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.stderr.contains("is not empty") && ended.stderr.contains("hint: "), "{}", ended.stderr);
}

/// Agents of the demo whose effect is like this ring a bell and never go on, until nobody is held any more.
fn hold(stage: &mut Stage, effects: &str) -> PathBuf {
    let held = stage.root().join("held");
    std::fs::write(&held, "").unwrap();
    let agent = format!(
        "#!/bin/sh\ncase \"$TRIBUNAL_EFFECT\" in {effects})\n  if [ -e '{root}/held' ]; then\n    \
         echo > '{root}/at-work'\n    exec sleep 1000\n  fi;;\nesac\nexec \"$@\"\n",
        root = stage.root().display()
    );
    std::fs::write(stage.root().join("scene/agent.sh"), agent).unwrap();
    let env = [("TRIBUNAL_AGENTS_DEFAULT", "witness"), ("TRIBUNAL_RUN_GRACE_S", "1")];
    stage.program_mut().env.extend(env.map(|(name, value)| (name.into(), value.into())));
    held
}

/// The command that a demo that was stopped offers; nobody of its run is left.
#[track_caller]
fn offered(stage: &Stage, said: &str) -> String {
    let command = said.split("To go on:\n").nth(1).unwrap_or_else(|| panic!("nothing is offered: {said}"));
    for run in stage.runs() {
        assert_eq!(tribunal_process::survivors(&run), Vec::<i32>::new(), "{said}");
    }
    command.lines().next().unwrap().trim().to_owned()
}

/// What is offered is run as it stands, and comes to where the scenario leads.
#[track_caller]
fn goes_on(stage: &Stage, command: &str, code: i32) {
    let mut shell = stage.program().clone();
    shell.prepend_path(shell.binary.clone().parent().unwrap());
    let ended = shell.other("sh", &["-c", command]).unwrap();
    assert_eq!(ended.code, Some(code), "{command}: {}", ended.said());
    let (_, run_state) = stage.newest().unwrap().unwrap();
    let ending = run_state.run.unwrap().ending();
    let expected = [(0, Some(Ending::Passed)), (1, Some(Ending::Shut)), (4, None)];
    assert!(expected.contains(&(code, ending)), "{code}: {ending:?}");
}

/// Stops the demo by these signals, which nobody but the demo gets, while an agent of its run is at work.
#[track_caller]
fn stopped(scenario: &str, effects: &str, signals: &[(Signal, &str)], code: i32) {
    let (_folder, mut stage) = crate::stage();
    let held = hold(&mut stage, effects);
    let dir = stage.root().join("the demo");
    let bell = listen(&stage.root().join("at-work")).unwrap();
    let args = ["demo", "--scenario", scenario, "--dir", &dir.display().to_string()];
    let running = stage.program().start(&args, &[]).unwrap();
    assert!(running.reaches(&bell).unwrap(), "{scenario}: {}", running.stderr());
    for (signal, answer) in signals {
        running.signal(*signal).unwrap();
        running.says(answer).unwrap();
    }
    let ended = running.wait().unwrap();
    assert_eq!((ended.code, ended.signal), (Some(code), None), "{scenario}: {}", ended.said());
    stage.program_mut().dir = dir;
    let said = ended.said();
    assert!(said.contains("the demo was stopped") && !said.contains("Try next"), "{said}");
    let command = offered(&stage, &said);
    std::fs::remove_file(held).unwrap();
    let leads_to = match scenario {
        "stale" | "exhausted" => 1,
        "blocked" | "oscillating" | "hostile" => 4,
        _ => 0,
    };
    goes_on(&stage, &command, leads_to);
}

#[test]
fn an_interrupt_stops_the_demo_and_its_run() {
    stopped("pass", "*", &[(Signal::INT, "stopping: ")], 130);
    stopped("pass", "*", &[(Signal::INT, "stopping: "), (Signal::INT, "ending the agents now")], 130);
}

#[test]
fn the_demo_is_terminated() {
    stopped("pass", "*", &[(Signal::TERM, "stopping: ")], 143);
    stopped("pass", "*", &[(Signal::HUP, "stopping: ")], 129);
}

#[test]
fn a_later_command_of_the_demo_is_stopped() {
    stopped("crash", "01-04/repair*", &[(Signal::INT, "stopping: ")], 130);
    stopped("escalated", "01-04/*make*", &[(Signal::TERM, "stopping: ")], 143);
}

#[test]
fn every_scenario_can_be_stopped() {
    for scenario in ["stale", "exhausted", "blocked", "oscillating", "hostile"] {
        stopped(scenario, "*", &[(Signal::INT, "stopping: "), (Signal::INT, "ending the agents now")], 130);
    }
}

/// The terminal sends Ctrl-C to all that run in it: to the demo and to its run, once each.
#[test]
fn ctrl_c_on_a_terminal_stops_the_demo() {
    let mut show = Show::of(&PLAIN);
    if show.stage.program().other("tmux", &["-V"]).is_err() {
        assert!(std::env::var_os("CI").is_none(), "no tmux is installed");
        return;
    }
    for twice in [false, true] {
        let held = hold(&mut show.stage, "*");
        let dir = show.stage.root().join(format!("demo {twice}"));
        let bell = listen(&show.stage.root().join("at-work")).unwrap();
        let screen = {
            let terminal = Terminal::with(&show, &format!("demo --dir '{}'", dir.display()), 200, 50);
            rustix::event::poll(&mut [rustix::event::PollFd::new(&bell, rustix::event::PollFlags::IN)], None)
                .unwrap();
            terminal.press(&["C-c"]);
            terminal.until("the word of the run", |screen| screen.contains("stopping: "));
            if twice {
                terminal.press(&["C-c"]);
            }
            terminal.until("the end", |screen| screen.contains("it ended with 130"))
        };
        assert_eq!(screen.contains("ending the agents now"), twice, "{screen}");
        assert!(screen.contains("the demo was stopped"), "{screen}");
        show.stage.program_mut().dir = dir;
        let command = offered(&show.stage, &screen);
        std::fs::remove_file(held).unwrap();
        goes_on(&show.stage, &command, 0);
    }
}

/// A terminal that goes away tells nobody but who leads its session: here the demo, which has no shell around it.
#[test]
fn the_demo_ends_with_its_terminal() {
    let mut show = Show::of(&PLAIN);
    if show.stage.program().other("tmux", &["-V"]).is_err() {
        assert!(std::env::var_os("CI").is_none(), "no tmux is installed");
        return;
    }
    let held = hold(&mut show.stage, "*");
    let dir = show.stage.root().join("the demo");
    let bell = listen(&show.stage.root().join("at-work")).unwrap();
    let binary = show.stage.program().binary.display();
    let leader = {
        let line = format!("exec '{binary}' demo --dir '{}'", dir.display());
        let terminal = Terminal::of(&show, &line, 80, 24);
        rustix::event::poll(&mut [rustix::event::PollFd::new(&bell, rustix::event::PollFlags::IN)], None)
            .unwrap();
        terminal.leader()
    };
    until_gone(&leader, "the demo");
    show.stage.program_mut().dir = dir;
    let (run, _) = show.stage.newest().unwrap().unwrap();
    assert_eq!(tribunal_process::survivors(&run), Vec::<i32>::new());
    std::fs::remove_file(held).unwrap();
    goes_on(&show.stage, "tribunal resume", 0);
}

/// However it is to look, so do the commands it runs.
#[test]
fn the_demo_is_coloured_as_it_is_told() {
    for (when, coloured) in [("always", true), ("never", false)] {
        let (_folder, stage) = crate::stage();
        let dir = stage.root().join("it's a demo").display().to_string();
        let ended = stage.tribunal(&["--color", when, "demo", "--dir", &dir]).unwrap();
        assert_eq!(ended.said().contains('\u{1b}'), coloured, "{}", ended.said());
        let show = "tribunal -C '".to_owned() + &dir.replace('\'', "'\\''") + "' show";
        assert!(ended.stderr.contains(&show), "{}", ended.stderr);
    }
}

/// What the person has to fix is not called our bug.
#[test]
fn a_configuration_that_is_wrong_is_no_bug_of_the_demo() {
    let (_folder, mut stage) = crate::stage();
    stage.program_mut().env.push(("TRIBUNAL_RUN_GRACE_S".into(), "soon".into()));
    let dir = stage.root().join("the demo").display().to_string();
    let ended = stage.tribunal(&["demo", "--dir", &dir]).unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(
        ended.stderr.contains("grace_s") && ended.stderr.contains("hint: what it said"),
        "{}",
        ended.stderr
    );
}
