//! The files that scripts of the protocol read about a run: `.events/event-log.jsonl`, `.execution-state.json`, the
//! artifact registry, and what plans have left of their token budgets. All are made from the journal, the registry also
//! from git.
//!
//! An event's id is its row's. Events that the log already holds are not written again, and missing ones are added when
//! the run, or the next one, begins: a crash duplicates nothing and loses nothing.
//!
//! A thread of its own writes the files, so nobody who locks them can block the run. Files that git tracks are left
//! alone, and nothing reads these files back as truth.

mod events;
mod registry;
mod state;
#[cfg(test)]
mod tests;

use crate::{Event, Folder, LOG, ProtocolError, REGISTRY, STATE};
use events::Names;
use registry::{Claim, Registry};
use serde_json::Value;
use state::Listed;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tribunal_core::review_loop::LoopEvent;
use tribunal_core::run::RunEvent;
use tribunal_engine::engine::Watch;
use tribunal_engine::run_state::{Fact, RunState, RunStateError, Stamped};
use tribunal_git::GitPath;
use tribunal_journal::Reader;
use tribunal_world::Project;
use tribunal_world::write_atomic;

/// The file of a run that says where in the log its events can begin.
const FROM: &str = "events.from";
/// The file of a run that says that all its events are in the log.
const DONE: &str = "events.done";
/// Temporary files, which git should not see.
const MOMENT: [&str; 9] = [
    ".events/",
    STATE,
    ".locks/",
    ".artifacts/",
    ".token-state/",
    ".contracts/",
    ".baseline/",
    ".context-*.md",
    ".*.new",
];
/// The shortest time between two writes of the state while the run goes on.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the end of a run waits for somebody who holds the files.
const PATIENCE: Duration = Duration::from_secs(5);

/// Follows a run and keeps the protocol's files up to date.
///
/// It watches committed facts only, so a file never says something that a crash could take back.
pub struct Projection {
    names: Names,
    project: Project,
    listed: Vec<Listed>,
    before: Option<Value>,
    rendered: Option<Instant>,
    stale: bool,
    writes: Files,
    run_dir: std::path::PathBuf,
    out: Option<Sender<Work>>,
    done: Receiver<Result<(), String>>,
}

/// The events of a run, as its journal has them.
pub fn events_of(run_dir: &Path, run: &str) -> Result<Vec<Event>, RunStateError> {
    let (mut names, mut events) = (Names::new(run), Vec::new());
    Reader::open(run_dir)?.each(1, |row| {
        events.extend(names.take(row.seq, row.at, &Fact::decode(&row)?));
        Ok::<(), RunStateError>(())
    })?;
    Ok(events)
}

/// Which of the files may be written.
#[derive(Clone, Copy, Debug, Default)]
struct Files {
    log: bool,
    state: bool,
    /// Only together with the log, because its lines name events.
    registry: bool,
}

impl Files {
    /// A sentence for people about files that git tracks: they say what they said before the run.
    fn left_alone(self, planning: &str) -> Option<String> {
        let files = [(LOG, self.log, "log"), (STATE, self.state, "status")];
        let tracked = files.into_iter().filter(|(_, free, _)| !free);
        let words = tracked.map(|(name, _, command)| {
            format!(
                "git tracks {planning}/{name}: it was left alone and says what it said before; `tribunal {command}` \
                 has it all, and after `git rm --cached {planning}/{name}` it is kept up to date"
            )
        });
        Some(words.collect::<Vec<_>>().join("; ")).filter(|words| !words.is_empty())
    }
}

/// What the thread has to write.
enum Work {
    Lines(Vec<String>),
    State(Vec<u8>),
    Made(Vec<Claim>),
    Tokens(String, Value),
}

/// What a run's journal holds and the files lack.
struct Missing {
    lines: Vec<String>,
    made: Vec<Claim>,
}

impl Projection {
    /// Begins to follow a run. First it brings the log in line with the journal.
    ///
    /// An error is reported and does not stop the run, because the journal has everything.
    pub fn open(project: &Project, run: &str) -> Result<Projection, String> {
        project.prepare().map_err(|error| error.to_string())?;
        for name in MOMENT {
            let pattern = format!("/{}/{name}", project.planning());
            // In `info/exclude`, so that the user's own `.gitignore` stays as it is.
            project.repo().exclude(&pattern).map_err(|error| error.to_string())?;
        }
        let folder = Folder::new(project.root().join(project.planning()));
        let writes = writable(project);
        // Earlier runs first, so that the log keeps the order of the runs.
        if writes.log {
            finish_others(project, &folder, run, writes.registry);
        }
        let run_dir = project.run_dir(run);
        let mut names = Names::new(run);
        let missing = missing(&folder, &run_dir, run, &mut names)?;
        let registry = Registry::open(project, &folder, run);
        let before = folder.read(STATE).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let (out, work) = channel();
        let (tell, done) = channel();
        let thread = std::thread::Builder::new().name("protocol files".to_owned());
        let spawned = thread.spawn(move || _ = tell.send(write_all(&folder, registry, &work)));
        spawned.map_err(|error| error.to_string())?;
        let projection = Projection {
            names,
            project: project.clone(),
            listed: Vec::new(),
            before,
            rendered: None,
            stale: true,
            writes,
            run_dir,
            out: Some(out),
            done,
        };
        projection.send(Work::Lines(missing.lines));
        projection.send(Work::Made(missing.made));
        Ok(projection)
    }

    /// Writes what is left. Returns a sentence for people where that was not possible.
    pub fn finish(mut self, run_state: &RunState) -> Option<String> {
        if self.listed.is_empty() {
            self.listed = listed(&self.project, run_state);
        }
        self.render(run_state);
        let over = run_state.run.as_ref().is_some_and(|run| run.ending().is_some());
        if over {
            // A budget belongs to a phase. The next phase begins with a whole one.
            for plan in run_state.about.titles.keys() {
                self.send(Work::Tokens(plan.to_string(), Value::Null));
            }
        }
        // Closing the channel is what ends the thread.
        drop(self.out.take());
        match self.done.recv_timeout(PATIENCE) {
            Ok(Ok(())) => {
                if over && self.writes.log {
                    // Without the mark the next run looks once more, and finds everything there.
                    let _ = write_atomic(&self.run_dir.join(DONE), b"");
                }
                self.writes.left_alone(self.project.planning())
            }
            Ok(Err(why)) => Some(format!("{why}; the next run adds what is missing")),
            // The thread still waits for a lock. The run does not wait with it.
            Err(_) => Some(format!("{LOG} is held by somebody; the next run adds what is missing")),
        }
    }

    fn send(&self, work: Work) {
        let wanted = match &work {
            Work::Lines(lines) => self.writes.log && !lines.is_empty(),
            Work::State(_) | Work::Tokens(..) => self.writes.state,
            Work::Made(claims) => self.writes.registry && !claims.is_empty(),
        };
        if let Some(out) = self.out.as_ref().filter(|_| wanted) {
            let _ = out.send(work);
        }
    }

    fn render(&mut self, run_state: &RunState) {
        let state = state::render(self.before.as_ref(), run_state, &self.names, &self.listed);
        if let Ok(mut bytes) = serde_json::to_vec_pretty(&state) {
            bytes.push(b'\n');
            self.send(Work::State(bytes));
        }
        self.before = Some(state);
        self.rendered = Some(Instant::now());
        self.stale = false;
    }
}

impl Watch for Projection {
    fn committed(&mut self, run_state: &RunState, facts: &[Stamped]) {
        let names = &mut self.names;
        let events = facts.iter().flat_map(|one| names.take(one.seq, one.at.0, &one.fact));
        let events: Vec<Event> = events.collect();
        // The lines before the registry's: an entry of the registry names its event.
        self.send(Work::Lines(events.iter().filter_map(|event| serde_json::to_string(event).ok()).collect()));
        self.send(Work::Made(events.iter().filter_map(Claim::of).collect()));
        for event in events.into_iter().filter(|event| event.event == "token_cap_escalated") {
            let left = event.data.get("remaining").cloned().unwrap_or_default();
            self.send(Work::Tokens(event.plan, left));
        }
        self.stale |= facts.iter().any(|one| shows(&one.fact));
        if self.listed.is_empty() {
            self.listed = listed(&self.project, run_state);
        }
        // A busy run commits many times a second, and rendering asks the inbox each time.
        if self.stale && self.rendered.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.render(run_state);
        }
    }
}

/// Whether a fact changes the execution state.
fn shows(fact: &Fact) -> bool {
    match fact {
        Fact::Run(event) => !matches!(event, RunEvent::Intended { .. } | RunEvent::Iterated { .. }),
        Fact::Loop(_, event) => matches!(
            event,
            LoopEvent::Opened(_)
                | LoopEvent::Ruled { .. }
                | LoopEvent::Asked(_)
                | LoopEvent::Decided(_)
                | LoopEvent::Ended { .. }
        ),
        Fact::Note(_) => false,
    }
}

/// The plans of the phase, also those that this run does not have.
fn listed(project: &Project, run_state: &RunState) -> Vec<Listed> {
    let mut listed = of_run(run_state);
    let Ok(files) = project.phase(Some(&run_state.about.phase)) else { return listed };
    let complete = tribunal_world::standing::completed(&files);
    for document in &files.plans {
        let Some(plan) = tribunal_docs::read_plan(&document.path, &document.text).value else { continue };
        let id = plan.id.to_string();
        if !listed.iter().any(|known| known.id == id) {
            let wave = plan.wave_number().unwrap_or(1);
            let title = plan.title.unwrap_or_default();
            listed.push(Listed { id, title, wave, complete: complete.contains(&plan.id) });
        }
    }
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    listed
}

fn of_run(run_state: &RunState) -> Vec<Listed> {
    let plans = run_state.run.iter().flat_map(|run| run.spec().plans.iter());
    let title = |id: &tribunal_core::ids::PlanId| run_state.about.titles.get(id).cloned().unwrap_or_default();
    let one = |plan: &tribunal_core::run::PlanSpec| Listed {
        id: plan.id.to_string(),
        title: title(&plan.id),
        wave: plan.wave,
        complete: false,
    };
    plans.map(one).collect()
}

/// The files that may be written: those that git does not track. The user's worktree is theirs.
fn writable(project: &Project) -> Files {
    let free = |name: &str| {
        let path = format!("{}/{name}", project.planning());
        let head = project.repo().head().map(|head| head.commit);
        let there = head.and_then(|head| project.repo().file_at(&head, &GitPath::from(path.as_str())));
        // If git cannot say whether it tracks a file, the file is left alone.
        there.is_ok_and(|there| there.is_none())
    };
    let log = free(LOG);
    Files { log, state: free(STATE), registry: log && free(REGISTRY) }
}

/// The events of the journal that the log lacks. The fold takes all of them.
fn missing(folder: &Folder, run_dir: &Path, run: &str, names: &mut Names) -> Result<Missing, String> {
    let known = known(folder, run_dir, run)?;
    let (mut lines, mut made) = (Vec::new(), Vec::new());
    let reader = match Reader::open(run_dir) {
        Ok(reader) => reader,
        Err(tribunal_journal::Error::Missing { .. }) => return Ok(Missing { lines, made }),
        Err(error) => return Err(error.to_string()),
    };
    let read = reader.each(1, |row| {
        let events = names.take(row.seq, row.at, &Fact::decode(&row)?);
        // The registry itself knows which files of an event it has.
        made.extend(events.iter().filter_map(Claim::of));
        let new = events.iter().filter(|event| !known.contains(&event.event_id));
        lines.extend(new.filter_map(|event| serde_json::to_string(event).ok()));
        Ok::<(), RunStateError>(())
    });
    read.map_err(|error| error.to_string())?;
    Ok(Missing { lines, made })
}

/// The ids of this run's events that the log already holds.
fn known(folder: &Folder, run_dir: &Path, run: &str) -> Result<BTreeSet<String>, String> {
    let mark = run_dir.join(FROM);
    let length = folder.path(LOG).symlink_metadata().map_or(0, |meta| meta.len());
    let from = std::fs::read_to_string(&mark).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let Some(from) = from else {
        // Nothing of this run was ever written. Its events begin where the log ends now, and the log before that need
        // not be read.
        return match write_atomic(&mark, length.to_string().as_bytes()) {
            Ok(()) => Ok(BTreeSet::new()),
            Err(error) => Err(format!("cannot write {}: {error}", mark.display())),
        };
    };
    let mut known = BTreeSet::new();
    let Ok(Some(mut file)) = folder.open(LOG) else { return Ok(known) };
    // A log that is shorter than it was is another one.
    let from = if from > length { 0 } else { from };
    file.seek(SeekFrom::Start(from)).map_err(|error| error.to_string())?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let prefix = format!("{run}:");
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(|error| error.to_string())? > 0 {
        let id = serde_json::from_slice::<Value>(&line).ok();
        let id = id.as_ref().and_then(|event| event.get("event_id")?.as_str()).unwrap_or_default();
        if id.starts_with(&prefix) {
            known.insert(id.to_owned());
        }
        line.clear();
    }
    Ok(known)
}

/// Completes the files of runs that were killed after their last fact. Nobody resumes those runs, so the next run does
/// it.
fn finish_others(project: &Project, folder: &Folder, own: &str, registers: bool) {
    for run in project.runs() {
        let dir = project.run_dir(&run);
        let begun = dir.join(FROM).exists() && !dir.join(DONE).exists();
        // If it cannot be told whether a run is alive, it is left alone.
        if run == own || !begun || tribunal_journal::is_live(&dir).unwrap_or(true) {
            continue;
        }
        let Ok(missing) = missing(folder, &dir, &run, &mut Names::new(&run)) else { continue };
        let mut told = missing.lines.iter().all(|line| folder.append(LOG, line).is_ok());
        if registers {
            let mut registry = Registry::open(project, folder, &run);
            told &= missing.made.iter().all(|claim| registry.add(folder, claim).is_ok());
        }
        let run_state = Reader::open(&dir).ok().and_then(|reader| RunState::read(&reader).ok());
        let over = run_state.and_then(|run_state| run_state.run).is_some_and(|run| run.ending().is_some());
        if told && over {
            let _ = write_atomic(&dir.join(DONE), b"");
        }
    }
}

/// Writes until nobody sends any more. The first failure is reported; what follows is still tried.
fn write_all(folder: &Folder, mut registry: Registry, work: &Receiver<Work>) -> Result<(), String> {
    let (mut failed, mut told) = (None, true);
    let text = |error: ProtocolError| error.to_string();
    while let Ok(work) = work.recv() {
        let done = match work {
            Work::Lines(lines) => {
                let done = lines.iter().try_for_each(|line| folder.append(LOG, line));
                told &= done.is_ok();
                done.map_err(text)
            }
            // The registry's lines name events. Without those events they wait for the next run, too.
            Work::Made(_) if !told => Ok(()),
            Work::State(bytes) => folder.write(STATE, &bytes).map_err(text),
            Work::Made(claims) => claims.iter().try_for_each(|claim| registry.add(folder, claim)),
            Work::Tokens(plan, left) => tokens(folder, &plan, &left).map_err(text),
        };
        failed = failed.or(done.err());
    }
    failed.map_or(Ok(()), Err)
}

/// Writes what a plan has left of its token budget, where `token-budget` looks for it. Null removes the file.
fn tokens(folder: &Folder, plan: &str, left: &Value) -> Result<(), ProtocolError> {
    let name = crate::token_state(plan)?;
    match left {
        Value::Null => folder.remove(&name),
        left => {
            folder.write(&name, serde_json::json!({ "plan": plan, "remaining": left }).to_string().as_bytes())
        }
    }
}
