//! The user's worktree, index and branches are theirs: byte-identical after any run but for the fast-forward, also
//! when the run is interrupted once, twice, or killed.

use crate::show::Show;
use crate::stage::program::Ended;
use crate::stage::scenes::{self, PLAIN, Scene, User};
use crate::stage::{Res, Stage};
use rustix::process::Signal;
use tribunal_core::run::Ending;

/// How the user's worktree is, and whether the result can reach their branch.
type State = (&'static str, fn(&Stage) -> Res<()>, bool);

const STATES: [State; 9] = [
    ("clean", |_| Ok(()), true),
    (
        "touched",
        |stage| {
            let names = stage.git(&["ls-files"])?;
            names.lines().try_for_each(|name| {
                let file = std::fs::File::options().append(true).open(stage.project().join(name));
                let file = file.map_err(|e| e.to_string())?;
                file.set_modified(std::time::UNIX_EPOCH).map_err(|e| e.to_string())
            })
        },
        true,
    ),
    ("changed", |stage| stage.write("README.md", "mine\n"), false),
    (
        "staged",
        |stage| {
            stage.write("NOTES.txt", "mine\n")?;
            stage.git(&["add", "NOTES.txt"]).map(drop)
        },
        false,
    ),
    ("untracked", |stage| stage.write("my own/new ünd.txt", "mine\n"), true),
    ("untracked, beside what lands", |stage| stage.write("bin/mine.sh", "mine\n"), true),
    ("untracked, in the way", |stage| stage.write("bin/one.sh", "mine\n"), false),
    (
        "staged and changed again",
        |stage| {
            stage.write("NOTES.txt", "mine\n")?;
            stage.git(&["add", "NOTES.txt"])?;
            stage.write("NOTES.txt", "mine again\n")
        },
        false,
    ),
    (
        "deleted",
        |stage| std::fs::remove_file(stage.project().join("NOTES.txt")).map_err(|e| e.to_string()),
        false,
    ),
];

/// How a command that moves the branch forward begins: one that overwrites nothing.
const FAST_FORWARD: &str = "git merge --ff-only --no-overwrite-ignore ";

/// A dev that is at work until it is told to go on.
fn at_work() -> Scene {
    Scene { script: scenes::AT_WORK, ..PLAIN }
}

/// Whether the user's branch is at the result of the run.
fn arrived(show: &Show) -> bool {
    let head = format!("refs/tribunal/{}/head", show.run());
    show.stage.git(&["rev-parse", "main"]).unwrap() == show.stage.git(&["rev-parse", &head]).unwrap()
}

#[test]
fn every_state_survives_a_run() {
    for (name, make, forwards) in STATES {
        let mut show = Show::of(&PLAIN);
        show.user_acts(make);
        let ended = show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed, "{name}");
        assert_eq!(arrived(&show), forwards, "{name}: {}", ended.said());
        if !forwards {
            let in_the_way = name.ends_with("in the way");
            let begins = if in_the_way {
                "git stash push --all -- ':(top,literal)bin/one.sh' && "
            } else {
                FAST_FORWARD
            };
            takes(&show, &ended, begins);
            assert!(arrived(&show), "{name}");
            assert!(!in_the_way || ended.stdout.contains("in the way: bin/one.sh"), "{}", ended.stdout);
        }
    }
}

#[test]
fn another_branch_is_checked_out_meanwhile() {
    let mut show = Show::of(&at_work());
    let running = show.at_work();
    show.user_acts(|stage| stage.git(&["switch", "-q", "-c", "other"]).map(drop));
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    let ended = show.after(&["run"], ended);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(!arrived(&show), "main is not checked out here, so it stays");
    assert_eq!(show.ended(), Ending::Passed);
    takes(&show, &ended, "git fetch . ");
    assert!(arrived(&show));
}

/// Git moves a branch of another worktree only there.
#[test]
fn the_branch_is_checked_out_in_another_worktree_meanwhile() {
    let mut show = Show::of(&at_work());
    let running = show.at_work();
    let there = show.stage.root().join("it's my tree").display().to_string();
    show.user_acts(|stage| {
        stage.git(&["switch", "-q", "-c", "other"])?;
        stage.git(&["worktree", "add", "-q", &there, "main"]).map(drop)
    });
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    let ended = show.after(&["run"], ended);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    takes(&show, &ended, "git -C '");
    assert!(arrived(&show));
    assert!(std::path::Path::new(&there).join("bin/one.sh").exists());
}

#[test]
fn the_branch_moves_meanwhile() {
    let mut show = Show::of(&at_work());
    let running = show.at_work();
    show.user_acts(|stage| stage.git(&["commit", "-q", "--allow-empty", "-m", "mine"]).map(drop));
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    let ended = show.after(&["run"], ended);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    takes(&show, &ended, "git merge ");
    assert!(show.stage.git(&["show", "main:bin/one.sh"]).is_ok());
}

/// Another git holds the index all the time: the run has passed, and the person is told what is left to do.
#[test]
fn the_index_is_locked() {
    let mut show = Show::of(&PLAIN);
    show.user_acts(|stage| stage.write(".git/index.lock", ""));
    let ended = show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(!arrived(&show));
    assert!(ended.stdout.contains("index.lock"), "{}", ended.stdout);
    std::fs::remove_file(show.stage.project().join(".git/index.lock")).unwrap();
    takes(&show, &ended, FAST_FORWARD);
    assert!(arrived(&show));
}

/// The run names the one command that takes its result, everywhere the same; and it does.
#[track_caller]
fn takes(show: &Show, ended: &Ended, begins: &str) {
    let status = show.stage.tribunal(&["status", "--json"]).unwrap().stdout;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let command = status["take"].as_str().unwrap();
    assert!(command.starts_with(begins), "{command}");
    let next = ended.stdout.split("\n  Next\n").nth(1).unwrap();
    assert_eq!(next.lines().next().unwrap().trim(), command, "{}", ended.stdout);
    let report = std::fs::read_to_string(show.stage.run_dir(&show.run()).join("report.md")).unwrap();
    assert!(report.contains(command), "{report}");
    let told = show.stage.tribunal(&["status"]).unwrap().stdout;
    assert!(told.lines().any(|line| line.trim() == command), "{told}");
    // It is there to be taken: it is not built again without a word.
    let again = show.stage.tribunal(&["run"]).unwrap();
    assert_eq!(again.code, Some(2), "{}", again.said());
    assert!(again.stderr.contains(command) && again.stderr.contains("--fresh"), "{}", again.stderr);
    let given = show.stage.program().other("sh", &["-c", command]).unwrap();
    assert_eq!(given.code, Some(0), "{command}: {}", given.said());
}

#[test]
fn the_run_begins_on_another_branch() {
    let mut show = Show::of(&PLAIN);
    show.user_acts(|stage| stage.git(&["switch", "-q", "-c", "feature/ä-b"]).map(drop));
    show.expect(&["run"], 0);
    assert!(!arrived(&show), "main is not the branch of this run");
    assert!(
        show.stage.git(&["show", "HEAD:bin/one.sh"]).is_ok(),
        "the branch that was checked out has the result"
    );
}

/// Interrupts a run while its agent works; returns it when everything was looked at.
fn interrupted(user: User, signals: &[Signal]) -> (Show, Option<i32>, Option<i32>) {
    let mut show = Show::of(&Scene { user, ..at_work() });
    let running = show.at_work();
    for signal in signals {
        running.signal(*signal).unwrap();
        running.says("stopping").unwrap();
    }
    let ended = running.wait().unwrap();
    let ended = show.after(&["run"], ended);
    (show, ended.code, ended.signal)
}

#[test]
fn interrupted_once() {
    for user in [User::Clean, User::Dirty] {
        // The agent never goes on, so the grace period ends it.
        let (mut show, code, _) = interrupted(user, &[Signal::INT]);
        assert_eq!(code, Some(130));
        show.stage.open("go").unwrap();
        show.expect(&["resume"], 0);
        assert_eq!(show.ended(), Ending::Passed);
    }
}

#[test]
fn interrupted_twice() {
    for user in [User::Clean, User::Dirty] {
        let (mut show, code, _) = interrupted(user, &[Signal::INT, Signal::INT]);
        assert_eq!(code, Some(130));
        show.stage.open("go").unwrap();
        show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed);
    }
}

#[test]
fn terminated() {
    let (mut show, code, _) = interrupted(User::Dirty, &[Signal::TERM, Signal::TERM]);
    assert_eq!(code, Some(143));
    show.expect(&["cancel"], 0);
    assert_eq!(show.ended(), Ending::Cancelled);
}

#[test]
fn an_agent_may_end_within_the_grace() {
    let mut show =
        Show::of(&Scene { settings: "[plan]\nreview = \"never\"\n[run]\ngrace_s = 60\n", ..at_work() });
    let running = show.at_work();
    running.signal(Signal::INT).unwrap();
    running.says("stopping").unwrap();
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    let ended = show.after(&["run"], ended);
    assert_eq!(ended.code, Some(130), "{}", ended.said());
    show.expect(&["resume"], 0);
    let makes = show.stage.launched().iter().filter(|effect| effect.contains("make:dev")).count();
    assert_eq!(makes, 1, "the agent's work was taken, not done again");
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn killed() {
    for user in [User::Clean, User::Dirty] {
        let mut show = Show::of(&Scene { user, ..at_work() });
        let running = show.at_work();
        running.signal(Signal::KILL).unwrap();
        let ended = running.wait().unwrap();
        assert_eq!(show.after(&["run"], ended).signal, Some(9));
        show.stage.open("go").unwrap();
        show.expect(&["resume"], 0);
        assert_eq!(show.ended(), Ending::Passed);
    }
}
