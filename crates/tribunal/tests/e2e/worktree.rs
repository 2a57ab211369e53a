//! The user's worktree, index and branches are theirs: byte-identical after any run but for the fast-forward, also
//! when the run is interrupted once, twice, or killed.

use crate::show::Show;
use crate::stage::program::Ended;
use crate::stage::scenes::{self, PLAIN, Scene, User};
use crate::stage::{Res, Stage};
use rustix::process::Signal;
use tribunal_core::run::Ending;

/// How the user's worktree is, and whether the result can reach their branch.
type State = (&'static str, fn(&Stage) -> Res<()>, Then);

/// What becomes of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The branch has it at once.
    Arrives,
    /// It is held until the user asks for it.
    Held,
    /// It is held until the user takes their own file away.
    InTheWay,
}

const STATES: [State; 9] = [
    ("clean", |_| Ok(()), Then::Arrives),
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
        Then::Arrives,
    ),
    ("changed", |stage| stage.write("README.md", "mine\n"), Then::Held),
    (
        "staged",
        |stage| {
            stage.write("NOTES.txt", "mine\n")?;
            stage.git(&["add", "NOTES.txt"]).map(drop)
        },
        Then::Held,
    ),
    ("untracked", |stage| stage.write("my own/new ünd.txt", "mine\n"), Then::Arrives),
    ("untracked, beside what lands", |stage| stage.write("bin/mine.sh", "mine\n"), Then::Arrives),
    ("untracked, in the way", |stage| stage.write("bin/one.sh", "mine\n"), Then::InTheWay),
    (
        "staged and changed again",
        |stage| {
            stage.write("NOTES.txt", "mine\n")?;
            stage.git(&["add", "NOTES.txt"])?;
            stage.write("NOTES.txt", "mine again\n")
        },
        Then::Held,
    ),
    (
        "deleted",
        |stage| std::fs::remove_file(stage.project().join("NOTES.txt")).map_err(|e| e.to_string()),
        Then::Held,
    ),
];

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
    for (name, make, then) in STATES {
        let mut show = Show::of(&PLAIN);
        show.user_acts(make);
        let ended = show.tribunal(&["run"]);
        if then == Then::Arrives {
            assert_eq!(ended.code, Some(0), "{name}: {}", ended.said());
            assert_eq!((show.ended(), arrived(&show)), (Ending::Passed, true), "{name}");
            continue;
        }
        is_held(&show, &ended);
        if then == Then::InTheWay {
            assert!(ended.stdout.contains("in the way: bin/one.sh"), "{name}: {}", ended.stdout);
            let again = show.expect(&["land"], 4);
            assert!(again.stdout.contains("in the way: bin/one.sh"), "{name}: {}", again.stdout);
            show.user_acts(|stage| {
                std::fs::remove_file(stage.project().join("bin/one.sh")).map_err(|e| e.to_string())
            });
        }
        let landed = show.expect(&["land"], 0);
        assert!(landed.stdout.contains("passed"), "{name}: {}", landed.stdout);
        assert_eq!((show.ended(), arrived(&show)), (Ending::Passed, true), "{name}");
        assert_eq!(launches(&show), 2, "{name}: nothing is built or judged twice");
    }
}

#[test]
fn another_branch_is_checked_out_meanwhile() {
    let mut show = Show::of(&at_work());
    let running = show.at_work();
    show.user_acts(|stage| stage.git(&["switch", "-q", "-c", "other"]).map(drop));
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    // The branch that is not checked out moves alone, which is all that changed.
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(arrived(&show), "nobody has main checked out, so it moves alone");
    assert!(!show.stage.project().join("bin/one.sh").exists());
    assert_eq!(show.ended(), Ending::Passed);
}

/// A branch of another worktree is moved there, with its files, when the user asks for it.
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
    is_held(&show, &ended);
    assert!(ended.stdout.contains("checked out in"), "{}", ended.stdout);
    // It is the user's own command that writes there now.
    let landed = show.stage.tribunal(&["land"]).unwrap();
    assert_eq!(landed.code, Some(0), "{}", landed.said());
    assert!(arrived(&show));
    assert!(std::path::Path::new(&there).join("bin/one.sh").exists());
    assert!(!show.stage.project().join("bin/one.sh").exists());
}

/// Another git holds the index all the time: the run has passed, and the person is told what is left to do.
#[test]
fn the_index_is_locked() {
    let mut show = Show::of(&PLAIN);
    show.user_acts(|stage| stage.write(".git/index.lock", ""));
    let ended = show.expect(&["run"], 4);
    is_held(&show, &ended);
    assert!(ended.stdout.contains("index.lock"), "{}", ended.stdout);
    show.user_acts(|stage| {
        std::fs::remove_file(stage.project().join(".git/index.lock")).map_err(|e| e.to_string())
    });
    show.expect(&["land"], 0);
    assert!(arrived(&show));
}

/// Agents that were launched.
fn launches(show: &Show) -> usize {
    show.stage.launched().len()
}

/// The result is not on the branch, everybody says so and names the one command, which is no merge; and nothing is
/// built again.
#[track_caller]
fn is_held(show: &Show, ended: &Ended) {
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    assert!(!arrived(show));
    let command = format!("tribunal land {}", show.run());
    let status = show.stage.tribunal(&["status"]).unwrap().stdout;
    let inbox = show.stage.tribunal(&["inbox"]).unwrap().stdout;
    let report = std::fs::read_to_string(show.stage.run_dir(&show.run()).join("report.md")).unwrap();
    for (who, said) in [("run", &ended.stdout), ("status", &status), ("inbox", &inbox), ("report", &report)] {
        assert!(said.contains(&command), "{who}: {said}");
        assert!(!said.contains("git merge"), "{who}: {said}");
        assert!(
            !said.contains("Landed the only plan") && !said.contains("Landed: the only plan"),
            "{who}: {said}"
        );
    }
    let launched = show.stage.launched().len();
    let again = show.stage.tribunal(&["run"]).unwrap();
    assert_eq!(again.code, Some(4), "{}", again.said());
    assert_eq!(show.stage.launched().len(), launched, "what passed is not built again");
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
        goes_on(&mut show, "resume", user);
    }
}

/// It goes on to its end; where the user's worktree holds the result, they ask for it.
#[track_caller]
fn goes_on(show: &mut Show, command: &str, user: User) {
    let held = user == User::Dirty;
    show.expect(&[command], if held { 4 } else { 0 });
    if held {
        show.expect(&["land"], 0);
    }
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn interrupted_twice() {
    for user in [User::Clean, User::Dirty] {
        let (mut show, code, _) = interrupted(user, &[Signal::INT, Signal::INT]);
        assert_eq!(code, Some(130));
        show.stage.open("go").unwrap();
        goes_on(&mut show, "run", user);
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
        goes_on(&mut show, "resume", user);
    }
}
