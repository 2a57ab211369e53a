//! What a run costs in processes of git and in objects it asks for, counted and never timed.

use crate::show::Show;
use crate::stage::Stage;
use crate::stage::program::Ended;
use crate::stage::scenes::{PLAIN, Plan, Scene};
use std::os::unix::fs::PermissionsExt;

/// A git that writes down that it was started, and what it is asked for where it answers one question after the other.
const COUNTED: &str = "#!/bin/sh\necho x >> '{ROOT}/started'\ncase \"$*\" in *'cat-file --batch') exec sh -c 'tee -a \"$0/asked\" | \"$@\"' '{ROOT}' '{GIT}' \"$@\";; esac\nexec '{GIT}' \"$@\"\n";

/// What a command cost.
pub struct Cost {
    /// How it ended.
    pub ended: Ended,
    /// How often git was started.
    pub started: usize,
    /// How many objects were asked for.
    pub asked: usize,
}

/// Gives a command to the program with a git that counts.
pub fn cost(stage: &Stage, args: &[&str]) -> Cost {
    let dir = stage.root().join("counted");
    std::fs::create_dir_all(&dir).unwrap();
    let git = stage.program().other("sh", &["-c", "command -v git"]).unwrap().stdout;
    let text = COUNTED.replace("{ROOT}", &stage.root().display().to_string()).replace("{GIT}", git.trim());
    std::fs::write(dir.join("git"), text).unwrap();
    std::fs::set_permissions(dir.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = stage.program().path_after(&dir);
    let ended = stage.program().run(args, &[("PATH", &path)]).unwrap();
    let lines = |name: &str| {
        let text = std::fs::read(stage.root().join(name)).unwrap();
        text.iter().filter(|byte| **byte == b'\n').count()
    };
    Cost { ended, started: lines("started"), asked: lines("asked") }
}

/// Tasks of one plan that each write a file.
const TASKS: [(&str, &str); 3] = [("bin/one.sh", "true"), ("bin/two.sh", "true"), ("bin/three.sh", "true")];

/// One task more is one round more: its files are taken, its commit is held, its checkout is brought up to date and the
/// user's hooks are looked for. What a round asks of git that it knows already starts no process.
#[test]
fn a_round_starts_few_processes_of_git() {
    let started = |tasks: &'static [(&'static str, &'static str)]| {
        let plans: &'static [Plan] =
            Box::leak(Box::new([Plan { number: "01", wave: 1, depends_on: "", tasks }]));
        let show = Show::of(&Scene {
            plans,
            settings: "[plan]\nreview = \"never\"\n[qa]\nreview = \"never\"\n",
            ..PLAIN
        });
        let third = "\n[[turn]]\nrole = \"dev\"\nplan = \"01-01\"\ntask = 3\noptional = true\ndo = [ { write = \"bin/three.sh\", text = \"echo three\\n\" }, { say = \"SUMMARY: three.sh.\\nTASK: done\" } ]\n";
        show.stage.script_with(third).unwrap();
        let cost = cost(&show.stage, &["run"]);
        assert_eq!(cost.ended.code, Some(0), "{}", cost.ended.said());
        cost.started
    };
    let (two, three) = (started(&TASKS[..2]), started(&TASKS));
    assert!(three - two <= ROUND_MAX, "git was started {two} and {three} times");
}

/// How often a round with a verification may start git.
const ROUND_MAX: usize = 6;
