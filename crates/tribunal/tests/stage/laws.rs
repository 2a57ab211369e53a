//! What must hold after every command and at the end of every run, whatever happened: SPEC §16, read from the
//! journal, from git and from the process table, never from what the program says of itself.

use super::play::{Given, forwards};
use super::program::{Ended, Program};
use super::scenes::Scene;
use super::{Res, Stage, at};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tribunal_core::effect::FinishStep;
use tribunal_core::ids::{LoopId, PlanId, Revision};
use tribunal_core::machine::Machine;
use tribunal_core::panel::Ruling;
use tribunal_core::review_loop::{Choice, Decision, LoopEvent, Outcome};
use tribunal_core::run::{Ending, LaneChoice, RunEvent};
use tribunal_engine::replay::{Replay, Row};
use tribunal_engine::{Fact, RunState, RunStateError, inbox};
use tribunal_git::Repo;
use tribunal_git::fingerprint::{self, Fingerprint};
use tribunal_journal::Reader;

/// Files of the moment, which git ignores: they may change while a run lives.
const MOMENT: [&str; 4] =
    ["planning/.events", "planning/.execution-state.json", "planning/.artifacts", "planning/.token-state"];

/// Watches over a stage while it is played.
pub struct Guard {
    before: Fingerprint,
    status: String,
    head: String,
    /// What should not have happened.
    pub violations: Vec<String>,
    /// Contents that agents had written when the orchestrator died: path and blob.
    pub blobs: BTreeMap<String, String>,
}

impl Guard {
    /// Remembers what the user has.
    pub fn new(stage: &Stage) -> Res<Guard> {
        Ok(Guard {
            before: fingerprint(stage)?,
            status: status(stage)?,
            head: stage.git(&["rev-parse", "HEAD"])?,
            violations: Vec::new(),
            blobs: BTreeMap::new(),
        })
    }

    /// The user changes their own things.
    pub fn user_acts(&mut self, stage: &Stage, act: impl FnOnce(&Stage) -> Res<()>) -> Res<()> {
        self.untouched(stage)?;
        act(stage)?;
        self.before = fingerprint(stage)?;
        self.status = status(stage)?;
        self.head = stage.git(&["rev-parse", "HEAD"])?;
        Ok(())
    }

    /// Looks at everything after a command.
    pub fn after(&mut self, stage: &Stage, given: &Given) -> Res<()> {
        // Many files cannot change at once: who dies in the middle of the fast-forward leaves some of it, and the
        // next command must bring the rest.
        let inside = |point: &String| point.starts_with("forward:") && point != "forward:after";
        let halfway = given.died() && given.points.last().is_some_and(inside);
        let newest = if halfway { stage.newest()? } else { None };
        self.compare(stage, newest.map(|(run, _)| head(&run)))?;
        let said = given.ended.said();
        if said.contains("bug:") || said.contains("panicked") {
            self.violations.push(format!("{:?} says: {said}", given.args));
        }
        if given.died() {
            return self.remember_work(stage);
        }
        for run in stage.runs() {
            let left = survivors(stage, &run);
            if !left.is_empty() {
                self.violations.push(format!("I5: processes {left:?} survive {:?}", given.args));
            }
        }
        if given.ended.code == Some(4) {
            self.asked(stage, &said)?;
        }
        Ok(())
    }

    /// I13: nothing of the user's has changed, but for the fast-forward and untracked planning documents.
    pub fn untouched(&mut self, stage: &Stage) -> Res<()> {
        self.compare(stage, None)
    }

    fn compare(&mut self, stage: &Stage, halfway_to: Option<String>) -> Res<()> {
        let now = fingerprint(stage)?;
        let changed = self.before.differences(&now);
        if changed.is_empty() {
            return Ok(());
        }
        let head = stage.git(&["rev-parse", "HEAD"])?;
        let allowed = match &halfway_to {
            Some(new) => {
                let mut names = forwarded(stage, &self.head, new)?;
                // A dead one cannot unlock it; the next command does.
                names.push("git index.lock:".to_owned());
                names
            }
            None if head == self.head => documents(stage)?,
            None => forwarded(stage, &self.head, &head)?,
        };
        let moment = |line: &&String| MOMENT.iter().any(|name| line.contains(name));
        let changed = changed.iter().filter(|line| !moment(line));
        let wrong = changed.filter(|line| !allowed.iter().any(|name| line.starts_with(name.as_str())));
        self.violations.extend(wrong.map(|line| format!("I13: {line}")));
        let now = status(stage)?;
        if halfway_to.is_none() && head != self.head && now != self.status {
            self.violations.push(format!("I13: git status was {:?} and is {now:?}", self.status));
        }
        Ok(())
    }

    /// I10: the question is in the inbox, and the command that answers it was printed.
    fn asked(&mut self, stage: &Stage, said: &str) -> Res<()> {
        let Some((_, run_state)) = stage.newest()? else { return Ok(()) };
        let inbox = stage.tribunal(&["inbox"])?.stdout;
        let open = inbox::questions(&run_state);
        let more = run_state.spent.map(|spent| format!("--set {}", spent.more()));
        if more.as_ref().is_some_and(|more| !inbox.contains(more) || !said.contains(more)) {
            self.violations.push(format!("I10: a budget is reached, and {more:?} is not told: {inbox}"));
        }
        if open.is_empty() && more.is_none() {
            self.violations.push("I10: exit code 4 without a question".to_owned());
        }
        for question in open {
            let command = format!("tribunal decide {} ", question.id);
            if !inbox.contains(&command) {
                self.violations.push(format!("I10: {} is not in the inbox: {inbox}", question.id));
            }
            if !said.contains(&command) {
                self.violations.push(format!("exit code 4, but {command:?} was not printed: {said}"));
            }
        }
        Ok(())
    }

    /// I6: what is in the agents' trees when the orchestrator dies.
    fn remember_work(&mut self, stage: &Stage) -> Res<()> {
        for file in agents_files(stage) {
            let path = file.display().to_string();
            // An empty file is one that its agent has opened and not yet written.
            if fs::metadata(&file).is_ok_and(|meta| meta.len() > 0) {
                let blob = stage.git(&["hash-object", "--no-filters", &path])?;
                self.blobs.insert(blob, path);
            }
        }
        Ok(())
    }
}

/// Commands that go on with a run until it ends or waits. Each of them promises by exit code 0 that the result is there.
pub const RUNS: [&str; 11] = [
    "run",
    "do",
    "resume",
    "land",
    "decide",
    "specify",
    "design",
    "create-plan",
    "create-tasks",
    "implement",
    "review",
];

/// Exit code 0 means that the user's branch has the result. Every command that a test gives is held to it, however it is
/// started (see `Running::wait`).
pub fn there(program: &Program, args: &[impl AsRef<str>], ended: &Ended) -> Res<Option<String>> {
    let words = || args.iter().map(AsRef::as_ref);
    let command = command_of(words()).filter(|word| RUNS.contains(word));
    let helps = words().any(|arg| ["--help", "-h", "--list", "--json-schema"].contains(&arg));
    let (Some(command), Some(0), false) = (command, ended.code, helps) else { return Ok(None) };
    let named = program.runs().into_iter().find(|run| words().any(|word| word == run));
    let Some((run, run_state)) = (match named {
        Some(run) => program.opened(&run)?.map(|run_state| (run, run_state)),
        None => program.newest()?,
    }) else {
        return Ok(None);
    };
    let Some(machine) = &run_state.run else { return Ok(None) };
    let good = machine.ending().is_some_and(Ending::is_good);
    // An answer to a run that somebody else goes on with is only recorded, and so is one that asks for no more.
    let recorded = command == "decide"
        && (machine.ending().is_some()
            || words().any(|word| word == "--no-resume")
            || tribunal_journal::is_live(&program.run_dir(&run)).unwrap_or(false));
    if !good && command != "review" && !recorded {
        return Ok(Some(format!("`{command}` ended with 0, and run {run} is {:?}", machine.ending())));
    }
    let branch = &run_state.about.branch;
    let forwards = machine.spec().finish.contains(&FinishStep::Forward) && !branch.is_empty();
    // What is reviewed on no branch that is checked out has nothing to bring, or was left for the user with code 4.
    let reviewed = run_state.about.review.as_ref().is_some_and(|review| review.head != run_state.about.base);
    if !forwards || reviewed || !good {
        return Ok(None);
    }
    let lacks = lacks(program, run_state.base(), &head(&run), &format!("refs/heads/{branch}"))?;
    Ok(lacks.map(|what| {
        format!("`{command}` ended with 0, and {branch} does not have the result of {run}: {what}")
    }))
}

/// The first word that is neither an option nor what one of the options for every command takes.
fn command_of<'a>(words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut takes = false;
    words.into_iter().find(|word| {
        let is_value = std::mem::replace(&mut takes, ["-C", "--color"].contains(word));
        !is_value && !word.starts_with('-')
    })
}

/// What a branch lacks of a result: its commit, or a file that is again as it was before.
fn lacks(program: &Program, base: &str, head: &str, branch: &str) -> Res<Option<String>> {
    if program.git(&["merge-base", "--is-ancestor", head, branch]).is_err() {
        return Ok(Some("its commit".to_owned()));
    }
    if program.git(&["rev-parse", head])? == program.git(&["rev-parse", branch])? {
        return Ok(None);
    }
    let files = program.git(&["ls-tree", "-r", "-z", branch])?;
    let blob =
        |at: &str, path: &str| program.git(&["rev-parse", "-q", "--verify", &format!("{at}:{path}")]).ok();
    let paths = program.git(&["diff", "--name-only", "--no-renames", "-z", base, head])?;
    let code = paths.split('\0').filter(|path| !path.is_empty() && !path.starts_with(".planning/"));
    Ok(code.map(str::to_owned).find(|path| {
        let brought = blob(head, path);
        // A file that the user gave another name is there.
        let elsewhere = brought.is_some_and(|blob| files.contains(&blob));
        blob(branch, path) == blob(base, path) && !elsewhere
    }))
}

/// Processes of a run that are still there.
fn survivors(stage: &Stage, run: &str) -> Vec<i32> {
    tribunal_process::survivors(&tribunal_world::marker(&stage.run_dir(run), run))
}

fn fingerprint(stage: &Stage) -> Res<Fingerprint> {
    let repo = Repo::open(stage.project()).map_err(|error| error.to_string())?;
    fingerprint::take(&repo).map_err(|error| error.to_string())
}

/// Reading it must not refresh the user's index.
fn status(stage: &Stage) -> Res<String> {
    let status = stage.git(&["--no-optional-locks", "status", "--porcelain", "-uall"])?;
    // Untracked planning documents are looked at by the fingerprint.
    let own = format!("?? {}/", super::PHASE);
    Ok(status
        .lines()
        .filter(|line| !line.starts_with(&own) && !line.starts_with("?? .planning/"))
        .collect::<Vec<_>>()
        .join("\n"))
}

/// Names of the fingerprint that a fast-forward changes.
fn forwarded(stage: &Stage, old: &str, new: &str) -> Res<Vec<String>> {
    let branch = stage.git(&["symbolic-ref", "HEAD"])?;
    let mut names = vec!["git index:".to_owned(), format!("ref {branch}:")];
    let paths = stage.git(&["diff", "--name-only", "--no-renames", "-z", old, new])?;
    for path in paths.split('\0').filter(|path| !path.is_empty()) {
        let all = Path::new(path).ancestors().filter(|path| !path.as_os_str().is_empty());
        names.extend(all.map(|path| format!("file {}:", path.as_os_str().as_bytes().escape_ascii())));
    }
    names.extend(documents(stage)?);
    // Who has the result pushed sees where the remote is.
    names.push("ref refs/remotes/".to_owned());
    Ok(names)
}

/// Names of the fingerprint that belong to planning documents git does not track.
fn documents(stage: &Stage) -> Res<Vec<String>> {
    let tracked = stage.git(&["ls-files", super::PHASE])?;
    let Some((_, run_state)) = stage.newest()? else { return Ok(Vec::new()) };
    let closing = run_state.run.as_ref().and_then(|run| run.closing()).is_some();
    let own = closing && tracked.is_empty();
    let state = ["STATE.md", "ROADMAP.md"].map(|name| format!("file .planning/{name}:"));
    // An artifact and the record of it, in the feature's folder and that of its plans.
    let chain = run_state
        .about
        .chain
        .filter(|_| stage.git(&["ls-files", ".planning"]).is_ok_and(|files| files.is_empty()));
    let chain =
        chain.into_iter().flat_map(|note| [note.folder, note.plans]).filter(|folder| !folder.is_empty());
    let chain = chain.flat_map(|folder| {
        let above = folder.rsplit_once('/').map_or(String::new(), |(above, _)| format!("file {above}:"));
        [format!("file {folder}/"), format!("file {folder}:"), above]
    });
    let all = [format!("file {}/", super::PHASE)].into_iter().chain(state).chain(chain);
    Ok(if own { all.collect() } else { Vec::new() })
}

/// The files in the trees of lanes, architects and fixers.
fn agents_files(stage: &Stage) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for run in stage.runs() {
        for kind in ["lanes", "plans", "fixers"] {
            let trees = fs::read_dir(stage.run_dir(&run).join(kind)).into_iter().flatten().flatten();
            trees.for_each(|tree| walk(&tree.path().join("tree"), &mut files));
        }
    }
    files
}

fn walk(dir: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && entry.file_name() != ".git" {
            walk(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

/// How many answers of people the journal holds; a call-off counts too.
pub fn decisions(stage: &Stage) -> Res<usize> {
    let Some((run, _)) = stage.newest()? else { return Ok(0) };
    let told = facts(stage, &run)?;
    let is_one = |fact: &&Fact| {
        matches!(
            fact,
            Fact::Loop(_, LoopEvent::Decided(_))
                | Fact::Run(RunEvent::LaneDecided { .. } | RunEvent::HeldDecided(_))
        )
    };
    Ok(told.iter().filter(is_one).count())
}

fn facts(stage: &Stage, run: &str) -> Res<Vec<Fact>> {
    let reader = Reader::open(&stage.run_dir(run)).map_err(|error| error.to_string())?;
    let mut facts = Vec::new();
    let read = reader.each(1, |row| {
        facts.push(Fact::decode(&row)?);
        Ok(())
    });
    read.map_err(|error: RunStateError| error.to_string())?;
    Ok(facts)
}

/// Everything that must hold when a run is over.
pub fn at_the_end(stage: &Stage, blobs: &BTreeMap<String, String>) -> Res<Vec<String>> {
    let (run, run_state) = stage.newest()?.ok_or("there is no run")?;
    let facts = facts(stage, &run)?;
    let mut wrong = Vec::new();
    // Also where the last command died: nobody comes back to a run that has ended.
    let left = survivors(stage, &run);
    wrong.extend((!left.is_empty()).then(|| format!("I5: processes {left:?} survive the run")));
    wrong.extend(approved(stage, &run, &facts)?);
    wrong.extend(gates_ran(&facts));
    wrong.extend(once(stage, &run, &facts)?);
    wrong.extend(settled(&run_state));
    wrong.extend(nothing_lost(stage, blobs)?);
    wrong.extend(script_used(stage)?);
    wrong.extend(told_once(stage, &run)?);
    wrong.extend(replayed(stage, &run)?);
    wrong.extend(unsigned(stage, &run_state)?);
    Ok(wrong)
}

/// Where the user's git signs commits, every one that came to the branch has a signature that holds, or says why not.
fn unsigned(stage: &Stage, run_state: &RunState) -> Res<Vec<String>> {
    if stage.git(&["config", "--get", "commit.gpgsign"]).as_deref() != Ok("true") {
        return Ok(Vec::new());
    }
    let range = format!("{}..{}", run_state.base(), run_state.about.branch);
    let mut wrong = Vec::new();
    for commit in stage.git(&["rev-list", &range])?.lines() {
        let says = stage.git(&["log", "-1", "--format=%B", commit])?.contains("Tribunal-Not-Signed");
        if !says && let Err(why) = stage.git(&["verify-commit", commit]) {
            wrong.push(format!("{commit} is on the branch without a signature: {why}"));
        }
    }
    Ok(wrong)
}

/// Folded again, the journal gives every decision as it was recorded, and leaves none to be taken.
fn replayed(stage: &Stage, run: &str) -> Res<Vec<String>> {
    let reader = Reader::open(&stage.run_dir(run)).map_err(|error| error.to_string())?;
    let (mut replay, mut wrong) = (Replay::default(), Vec::new());
    let read = reader.each(1, |row| {
        if let (fact, Row::Differs { expected }) = replay.take(&row)? {
            wrong.push(format!("row {} says {fact:?}, and follows {expected:?}", row.seq));
        }
        Ok(())
    });
    read.map_err(|error: RunStateError| error.to_string())?;
    wrong.extend(replay.unsettled().into_iter().map(|of| format!("{of} has something left to decide")));
    Ok(wrong)
}

/// The event log has every event of the journal once, and no other of this run; one that died may have the rest to tell.
fn told_once(stage: &Stage, run: &str) -> Res<Vec<String>> {
    let events = tribunal_protocol::projection::events_of(&stage.run_dir(run), run)
        .map_err(|error| error.to_string())?;
    let wanted: Vec<String> = events.into_iter().map(|event| event.event_id).collect();
    let folders = [".planning", ".yolo-planning"].map(|name| stage.project().join(name));
    let folder = folders.into_iter().find(|folder| folder.is_dir()).unwrap_or_default();
    let log = folder.join(".events/event-log.jsonl");
    let text = fs::read_to_string(log).unwrap_or_default();
    let id = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).ok()?.get("event_id")?.as_str().map(str::to_owned)
    };
    let told: Vec<String> =
        text.lines().filter_map(id).filter(|id| id.starts_with(&format!("{run}:"))).collect();
    let whole = stage.run_dir(run).join("events.done").exists();
    let right = if whole { told == wanted } else { wanted.starts_with(&told) };
    Ok(if right { Vec::new() } else { vec![format!("the event log says {told:?}, the journal {wanted:?}")] })
}

/// It ended as the scene says: ending, exit code, and whether the user has the result.
pub fn as_the_scene_says(stage: &Stage, scene: &Scene, last: Option<&Given>) -> Res<Vec<String>> {
    let (run, run_state) = stage.newest()?.ok_or("there is no run")?;
    let mut wrong = Vec::new();
    wrong.extend(right_code(scene, &run_state, last));
    let (main, head) = (stage.git(&["rev-parse", "main"])?, stage.git(&["rev-parse", &head(&run)])?);
    let arrived = main == head && head != run_state.about.base;
    if arrived != forwards(scene) {
        wrong.push(format!("the user's branch is {}at the result", if arrived { "" } else { "not " }));
    }
    Ok(wrong)
}

/// The ending is the scene's, and the last command's exit code says so.
fn right_code(scene: &Scene, run_state: &RunState, last: Option<&Given>) -> Option<String> {
    let ending = run_state.run.as_ref().and_then(|run| run.ending())?;
    if ending != scene.ending {
        return Some(format!("it ended {}, not {}", ending.word(), scene.ending.word()));
    }
    let last = last.filter(|last| !last.died())?;
    // Calling off what nobody runs has worked when the run is called off.
    let good = ending == Ending::Passed || last.args[0] == "cancel";
    // Who goes on with a run while another calls it off may come second, and is told so.
    let second = ending == Ending::Cancelled && last.ended.stderr.contains("is in use by process");
    let code = match (good, second) {
        (_, true) => 3,
        (true, false) => 0,
        (false, false) => 1,
    };
    let wrong = last.ended.code != Some(code);
    wrong.then(|| format!("{:?} ended with {:?}, not {code}", last.args, last.ended.code))
}

fn head(run: &str) -> String {
    format!("refs/tribunal/{run}/head")
}

/// I1: what landed was approved, or accepted by a named person, exactly so.
fn approved(stage: &Stage, run: &str, facts: &[Fact]) -> Res<Vec<String>> {
    let mut wrong = Vec::new();
    let mut ended: BTreeMap<PlanId, (LoopId, Outcome, Option<Revision>)> = BTreeMap::new();
    let mut landed: BTreeMap<PlanId, Revision> = BTreeMap::new();
    for fact in facts {
        match fact {
            Fact::Loop(id, LoopEvent::Ended { outcome, revision: Some(revision) })
                if id.as_str().starts_with("phase.") && outcome.is_good() =>
            {
                wrong.extend(judged_so(id, outcome, revision, facts));
            }
            Fact::Loop(id, LoopEvent::Ended { outcome, revision }) => {
                if let Some((plan, _)) =
                    id.as_str().split_once('/').filter(|(_, job)| !job.starts_with("plan"))
                {
                    ended.insert(PlanId::new(plan), (id.clone(), outcome.clone(), revision.clone()));
                }
            }
            Fact::Run(RunEvent::Landed { effect, revision, .. }) => {
                let plan = PlanId::new(effect.of.as_str());
                match ended.get(&plan) {
                    Some((id, outcome, Some(judged))) if outcome.is_good() && judged == revision => {
                        wrong.extend(judged_so(id, outcome, judged, facts));
                        landed.insert(plan, revision.clone());
                    }
                    other => wrong.push(format!("I1: {plan} landed as {revision} after {other:?}")),
                }
            }
            // What had landed lands once more, maybe as something else.
            Fact::Run(RunEvent::Rebased { .. }) => landed.clear(),
            Fact::Run(RunEvent::LaneDecided { plan, decision }) if decision.choice == LaneChoice::Accept => {
                if let Some((_, outcome, _)) = ended.get_mut(plan) {
                    *outcome = Outcome::Accepted(decision.by.clone());
                }
            }
            _ => {}
        }
    }
    for (plan, revision) in &landed {
        wrong.extend(landed_so(stage, run, plan, revision)?);
    }
    Ok(wrong)
}

/// The loop's last sitting was over this revision and passed it, or a person with a name took it.
fn judged_so(id: &LoopId, outcome: &Outcome, revision: &Revision, facts: &[Fact]) -> Option<String> {
    if let Outcome::Accepted(by) = outcome {
        return by.is_empty().then(|| format!("I1: {id} was accepted by nobody"));
    }
    let (mut judged_round, mut passed) = (None, false);
    for fact in facts {
        match fact {
            Fact::Loop(of, LoopEvent::RoundBegan { revision, .. }) if of == id => {
                (judged_round, passed) = (Some(revision), false);
            }
            // What a person fixed is judged in a round that begins with their answer.
            Fact::Loop(of, LoopEvent::Decided(Decision { choice: Choice::Fixed(revision), .. }))
                if of == id =>
            {
                (judged_round, passed) = (Some(revision), false);
            }
            Fact::Loop(of, LoopEvent::Ruled { ruling }) if of == id => {
                passed = matches!(ruling, Ruling::Pass { .. } | Ruling::PassWithWarnings { .. });
            }
            _ => {}
        }
    }
    (judged_round != Some(revision) || !passed)
        .then(|| format!("I1: {id} ended {outcome:?}, but sat over {judged_round:?}"))
}

/// Every file the landing changed is as it was judged.
fn landed_so(stage: &Stage, run: &str, plan: &PlanId, revision: &Revision) -> Res<Vec<String>> {
    let judged = format!("refs/tribunal/{run}/rev/{revision}");
    let landed = format!("refs/tribunal/{run}/landed/{plan}");
    let base = stage.git(&["merge-base", &judged, &landed])?;
    let paths = stage.git(&["-c", "core.quotePath=false", "diff", "--name-only", "-z", &base, &judged])?;
    let mut wrong = Vec::new();
    for path in paths.split('\0').filter(|path| !path.is_empty()) {
        let blob = |at: &str| stage.git(&["rev-parse", "-q", "--verify", &format!("{at}:{path}")]).ok();
        if blob(&judged) != blob(&landed) {
            wrong.push(format!("I1: {path} of {plan} landed otherwise than it was judged"));
        }
    }
    Ok(wrong)
}

/// Which checks ran, who was seated, who answered.
type JudgedRound = (BTreeSet<String>, BTreeSet<String>, BTreeSet<String>);

/// I12: a pass means that every check ran and every reviewer answered in that sitting.
fn gates_ran(facts: &[Fact]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut policies = BTreeMap::new();
    let mut judged_rounds: BTreeMap<&LoopId, JudgedRound> = BTreeMap::new();
    // A pass that is still to be confirmed is none yet.
    let mut passed: BTreeMap<&LoopId, Vec<String>> = BTreeMap::new();
    for fact in facts {
        let Fact::Loop(id, event) = fact else { continue };
        let (checks, assembled, answered) = judged_rounds.entry(id).or_default();
        match event {
            LoopEvent::Opened(opened) => drop(policies.insert(id, &opened.policy)),
            LoopEvent::RoundBegan { .. } | LoopEvent::Decided(_) | LoopEvent::Confirming => {
                (*checks, *assembled, *answered) = Default::default();
                passed.remove(id);
            }
            LoopEvent::Ended { .. } => wrong.extend(passed.remove(id).unwrap_or_default()),
            LoopEvent::Checked { effect, .. } | LoopEvent::Unchecked { effect, .. } => {
                checks.insert(effect.step.to_string());
            }
            LoopEvent::PanelAssembled { reviewers } => {
                *assembled = reviewers.iter().map(ToString::to_string).collect()
            }
            LoopEvent::Answered { effect, .. } | LoopEvent::VerdictKept { effect, .. } => {
                answered.insert(effect.step.to_string().replacen("judge:", "", 1));
            }
            LoopEvent::Ruled { ruling: Ruling::Pass { .. } | Ruling::PassWithWarnings { .. } } => {
                let Some(policy) = policies.get(id) else { continue };
                let missing = policy.checks.iter().find(|check| !checks.contains(&format!("check:{check}")));
                let silent = assembled.difference(answered).next();
                let nobody = policy.reviewers.is_empty() && policy.checks.is_empty();
                let found = [
                    missing.map(|check| format!("I12: {id} passed without the check {check}")),
                    silent.map(|reviewer| format!("I12: {id} passed without the reviewer {reviewer}")),
                    nobody.then(|| format!("I12: {id} was judged by nobody")),
                ];
                passed.insert(id, found.into_iter().flatten().collect());
            }
            _ => {}
        }
    }
    wrong
}

/// I7: each effect at most once, agents included; no answer that was complete is asked for again.
fn once(stage: &Stage, run: &str, facts: &[Fact]) -> Res<Vec<String>> {
    let mut wrong = Vec::new();
    let (mut intended, mut landed) = (BTreeSet::new(), BTreeSet::new());
    for fact in facts {
        match fact {
            Fact::Loop(_, LoopEvent::Intended { effect, .. })
            | Fact::Run(RunEvent::Intended { effect, .. })
                if !intended.insert(effect.to_string()) =>
            {
                wrong.push(format!("I7: {effect} was intended twice"));
            }
            // What had landed lands once more on the branch as it is now.
            Fact::Run(RunEvent::Rebased { .. }) => landed.clear(),
            Fact::Run(RunEvent::Landed { effect, .. }) if !landed.insert(effect.of.to_string()) => {
                wrong.push(format!("I7: {} landed twice", effect.of));
            }
            Fact::Loop(_, LoopEvent::Cleared { effect }) if is_answered(stage, run, effect) => {
                wrong.push(format!("I7: {effect} had answered, and was launched again"));
            }
            _ => {}
        }
    }
    let mut seen = BTreeSet::new();
    let launched = stage.launched();
    for effect in &launched {
        if !seen.insert(effect) {
            wrong.push(format!("I7: an agent was launched twice for {effect}"));
        }
        if !intended.contains(effect) && stage.runs().len() == 1 {
            wrong.push(format!("I7: an agent was launched for {effect}, which nobody intended"));
        }
    }
    let refs = stage.git(&["for-each-ref", "--format=%(refname)", &format!("refs/tribunal/{run}/landed")])?;
    if refs.lines().count() != landed.len() {
        wrong.push(format!("I7: landed are {landed:?}, the refs say {refs:?}"));
    }
    Ok(wrong)
}

fn is_answered(stage: &Stage, run: &str, effect: &tribunal_core::effect::EffectId) -> bool {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-+".contains(c) { c } else { '_' };
    let slug: String = effect.to_string().chars().map(plain).collect();
    let stdout = stage.run_dir(run).join("launches").join(slug).join("stdout");
    let text = fs::read_to_string(stdout).unwrap_or_default();
    text.ends_with('\n') && text.lines().last().is_some_and(|line| line.contains("\"type\":\"final\""))
}

/// I8, I9: the fold says that it is over, and nothing follows from it that was not written down.
fn settled(run_state: &RunState) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some(run) = &run_state.run else { return vec!["I9: there is no run".to_owned()] };
    if run.ending().is_none() {
        wrong.push("I8: it has not ended".to_owned());
    }
    wrong.extend(run.settle().map(|event| format!("I9: {event:?} follows and is not in the journal")));
    for (id, review_loop) in &run_state.loops {
        wrong.extend(
            review_loop
                .settle()
                .map(|event| format!("I9: {event:?} of {id} follows and is not in the journal")),
        );
        if review_loop.outcome().is_none() {
            wrong.push(format!("I8: the loop {id} has not ended"));
        }
    }
    wrong
}

/// I6: what agents had written at a death is in a commit, or still where it was.
pub fn nothing_lost(stage: &Stage, blobs: &BTreeMap<String, String>) -> Res<Vec<String>> {
    if blobs.is_empty() {
        return Ok(Vec::new());
    }
    let reachable = stage.git(&["rev-list", "--objects", "--all"])?;
    let reachable: BTreeSet<&str> = reachable.lines().filter_map(|line| line.split(' ').next()).collect();
    let mut lost: Vec<(&String, &String)> =
        blobs.iter().filter(|(blob, _)| !reachable.contains(blob.as_str())).collect();
    if !lost.is_empty() {
        let there: Res<BTreeSet<String>> = agents_files(stage)
            .iter()
            .map(|file| stage.git(&["hash-object", "--no-filters", &file.display().to_string()]))
            .collect();
        let there = there.map_err(at("the trees"))?;
        lost.retain(|(blob, _)| !there.contains(*blob));
    }
    Ok(lost.iter().map(|(_, path)| format!("I6: what was in {path} is lost")).collect())
}

/// Every turn of the script was played.
fn script_used(stage: &Stage) -> Res<Vec<String>> {
    let unused = tribunal_agent::scripted::unused(&stage.scene_file()).map_err(|error| error.to_string())?;
    Ok(unused
        .iter()
        .map(|turn| format!("the script's turn {} {:?} was not played", turn.index, turn.when))
        .collect())
}
