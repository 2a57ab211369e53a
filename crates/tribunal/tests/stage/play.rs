//! Plays a scene with the real program: runs it, answers what it asks, and starts it again when it was killed. The
//! deaths are given by command and crash point; what the play may not do is left to the laws.

use super::laws::{self, Guard};
use super::program::{Ended, Running};
use super::scenes::{Answer, During, Scene};
use super::seen::Seen;
use super::trap::Trap;
use super::{Res, Stage, at};
use rustix::fs::{CWD, Mode, OFlags};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use tribunal_core::run::Ending;
use tribunal_engine::inbox;

/// Commands after which a run that has not ended counts as endless.
const COMMANDS_MAX: usize = 12;
const KILLED: i32 = 9;

/// One command that was given.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its arguments.
    pub args: Vec<String>,
    /// How it ended.
    pub ended: Ended,
    /// The crash points it passed, in order.
    pub points: Vec<String>,
    /// Its calls of git, where they were counted.
    pub git: Vec<String>,
}

impl Given {
    /// It died at a crash point.
    pub fn died(&self) -> bool {
        self.ended.signal == Some(KILLED)
    }
}

/// A scene that was played to its end.
pub struct Played {
    /// The commands, in order.
    pub commands: Vec<Given>,
    /// What came of it.
    pub seen: Seen,
    /// What should not have happened.
    pub violations: Vec<String>,
}

/// Which command dies, and when.
pub type Deaths = BTreeMap<usize, Death>;

/// When a command dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// At its n-th crash point.
    Point(u64),
    /// Before its n-th call of git.
    BeforeGit(usize),
    /// When its n-th call of git has ended.
    AfterGit(usize),
    /// With its n-th call of git, which is under way.
    WithGit(usize),
}

impl Death {
    /// Never, but calls of git are counted.
    pub const COUNTED: Death = Death::BeforeGit(usize::MAX);
}

/// Plays a scene that was set on this stage.
pub fn play(stage: &Stage, scene: &Scene, deaths: &Deaths) -> Res<Played> {
    let mut guard = Guard::new(stage)?;
    let mut commands: Vec<Given> = Vec::new();
    while let Some(args) = next(stage, scene, commands.last())? {
        if commands.len() == COMMANDS_MAX {
            return Err(format!("the run has not ended after {COMMANDS_MAX} commands"));
        }
        let given = give(stage, scene, args, commands.len(), deaths, &mut guard)?;
        guard.after(stage, &given)?;
        commands.push(given);
    }
    let seen = Seen::of(stage)?;
    let mut violations = guard.violations;
    violations.extend(laws::at_the_end(stage, &guard.blobs)?);
    violations.extend(laws::as_the_scene_says(stage, scene, commands.last())?);
    Ok(Played { commands, seen, violations })
}

/// What the user types next; nothing when the run is over.
fn next(stage: &Stage, scene: &Scene, last: Option<&Given>) -> Res<Option<Vec<String>>> {
    let words = |words: &[&str]| Ok(Some(words.iter().map(|word| (*word).to_owned()).collect()));
    let Some((_, run_state)) = stage.newest()? else { return words(scene.begin) };
    if run_state.run.as_ref().is_some_and(|run| run.ending().is_some()) {
        return Ok(None);
    }
    let Some(last) = last.filter(|last| !last.died()) else { return words(&["resume"]) };
    if last.ended.code != Some(4) {
        return Err(format!("{:?} ended with {:?}: {}", last.args, last.ended.code, last.ended.said()));
    }
    let given = laws::decisions(stage)?;
    let open = inbox::questions(&run_state);
    match scene.answers.get(given) {
        None => {
            let open: Vec<_> = open.iter().map(|open| &open.id).collect();
            Err(format!("nobody answers {open:?}: {}", last.ended.said()))
        }
        Some(Answer::Cancel) => words(&["cancel"]),
        Some(Answer::Land) => words(&["land", "--by", "Ada"]),
        Some(Answer::Decide(question, answer)) => {
            words(&[&["decide", question, "--by", "Ada"], *answer].concat())
        }
        Some(Answer::Fix(question, file, text)) => {
            let place = place_to_fix(stage, question)?;
            fs::write(place.join(file), text).map_err(at(place.display()))?;
            words(&["decide", question, "fixed", "--by", "Ada"])
        }
    }
}

/// Where the inbox says that a question may be fixed.
pub fn place_to_fix(stage: &Stage, question: &str) -> Res<std::path::PathBuf> {
    let inbox = stage.tribunal(&["inbox", "--json"])?;
    let open: serde_json::Value = serde_json::from_str(&inbox.stdout).map_err(at(&inbox.stdout))?;
    let questions = open.as_array().into_iter().flatten();
    let place = questions.filter(|open| open["id"] == question).find_map(|open| open["place"].as_str());
    place.map(Into::into).ok_or_else(|| format!("the inbox names no place for {question}: {}", inbox.stdout))
}

fn give(
    stage: &Stage,
    scene: &Scene,
    args: Vec<String>,
    n: usize,
    deaths: &Deaths,
    guard: &mut Guard,
) -> Res<Given> {
    let log = stage.root().join(format!("points.{n}"));
    let death = deaths.get(&n).copied();
    let point = match death {
        Some(Death::Point(point)) => Some(OsString::from(point.to_string())),
        _ => None,
    };
    let mut env: Vec<(&str, &OsStr)> = vec![(tribunal_engine::crash::LOG, log.as_os_str())];
    env.extend(point.as_deref().map(|point| (tribunal_engine::crash::AT, point)));
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    // Opened for both, so that neither end waits for the other.
    let bell = stage.root().join("at-work");
    let bell = scene.during.map(|_| listen(&bell)).transpose()?;
    let trap = match death {
        None | Some(Death::Point(_)) => None,
        Some(death) => Some(Trap::set(stage, n, death)?),
    };
    let running = match &trap {
        None => stage.program().start(&words, &env)?,
        Some(trap) => trap.start(stage, &words, &env)?,
    };
    if let (Some(bell), Some(during)) = (&bell, scene.during)
        && running.reaches(bell)?
    {
        interfere(stage, during, &running, guard)?;
    }
    let ended = running.wait()?;
    let points = fs::read_to_string(&log).unwrap_or_default();
    let git = trap.map(|trap| trap.calls()).unwrap_or_default();
    Ok(Given { args, ended, points: points.lines().map(str::to_owned).collect(), git })
}

/// A bell that agents can ring: a pipe that is open at both ends, so that nobody waits for the other.
pub fn listen(path: &std::path::Path) -> Res<std::os::fd::OwnedFd> {
    match rustix::fs::mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.to_string()),
    }
    let fd = rustix::fs::open(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    let fd = fd.map_err(at(path.display()))?;
    // What an earlier agent rang is not for us.
    while rustix::io::read(&fd, &mut [0; 64]).is_ok_and(|n| n > 0) {}
    Ok(fd)
}

/// The user does something while an agent is at work.
fn interfere(stage: &Stage, during: During, running: &Running, guard: &mut Guard) -> Res<()> {
    match during {
        During::Cancel => {
            let cancel = stage.tribunal(&["cancel"])?;
            // The run may have died meanwhile; then the next command finds the letter.
            if cancel.code != Some(0) && cancel.code != Some(2) {
                return Err(format!("cancel: {}; the run: {}", cancel.said(), running.stderr()));
            }
            Ok(())
        }
        During::Commit(file, text) => {
            if stage.git(&["log", "--format=%s", "-1"])? != "chore: meanwhile" {
                guard.user_acts(stage, |stage| {
                    stage.write(file, text)?;
                    stage.git(&["add", file])?;
                    stage.git(&["commit", "-q", "-m", "chore: meanwhile"]).map(drop)
                })?;
            }
            stage.open("go")
        }
    }
}

/// Whether the scene's result can reach the user's branch.
pub fn forwards(scene: &Scene) -> bool {
    scene.ending == Ending::Passed
}
