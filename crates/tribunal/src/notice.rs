//! Runs the user's own commands when a person is asked and when a run ends (`run.on_escalation`, `run.on_end`). The run
//! is never changed by such a command; its failure is a warning.
//!
//! Agents write some of the texts in an event, so none of them ever becomes an argument: the argv is never filled in,
//! and the facts go into the environment and, as JSON, to standard input. A command runs contained, for a limited time
//! and at most once per event. Events from before this process began are not repeated, and an event that a crash cuts
//! off is not delivered later.

use crate::facts;
use crate::watched::is_end;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tribunal_core::review_loop::LoopEvent;
use tribunal_core::run::{Run, RunEvent};
use tribunal_engine::settings::RunSettings;
use tribunal_engine::{Fact, Note, RunState, Stamped};
use tribunal_process::{Cause, Containment, ExitHow, Launch, Network, Stdin, run_to_end};
use tribunal_view::facts::QuestionView;
use tribunal_view::plain;
use tribunal_world::unique_id;

/// Bytes of output a command may write; a warning quotes only a little of it.
const OUTPUT_MAX: u64 = 1 << 20;
const GRACE: Duration = Duration::from_secs(2);
/// The most questions that are reported in one run; a run normally asks far fewer.
const ASKED_MAX: usize = 100;

/// One event with the command that receives it.
struct Told {
    key: &'static str,
    argv: Vec<String>,
    env: Vec<(&'static str, String)>,
    facts: Value,
}

/// Passes events of a run to the user's commands.
///
/// Commands run on a thread of their own, one after the other, so a slow one does not hold up the run. Call `finish` at
/// the end, or the last commands are cut off.
pub struct Notices {
    run: String,
    project: PathBuf,
    on_escalation: Vec<String>,
    on_end: Vec<String>,
    known: BTreeSet<String>,
    asked: usize,
    teller: Option<(Sender<Told>, JoinHandle<Vec<String>>)>,
}

impl Notices {
    /// Notices for a run as it stands; `None` if the user has configured no command.
    pub fn new(settings: &RunSettings, run: &str, project: &Path, run_state: &RunState) -> Option<Notices> {
        if settings.on_escalation.is_empty() && settings.on_end.is_empty() {
            return None;
        }
        let (tell, told) = channel::<Told>();
        let (root, timeout) = (project.to_owned(), Duration::from_secs(settings.on_timeout_s));
        let teller = std::thread::Builder::new().name("notices".to_owned()).spawn(move || {
            told.into_iter().filter_map(|told| command(&told, &root, timeout).err()).collect::<Vec<_>>()
        });
        Some(Notices {
            run: run.to_owned(),
            project: project.to_owned(),
            on_escalation: settings.on_escalation.clone(),
            on_end: settings.on_end.clone(),
            // Questions that were open before this process began have been reported, or never will be: at most once.
            known: facts::questions(run_state, run).into_iter().map(|open| open.id).collect(),
            asked: 0,
            // A missing thread is reported by `finish`; the run goes on without its notices.
            teller: teller.ok().map(|teller| (tell, teller)),
        })
    }

    /// Takes facts after their commit: a command never hears of something that a crash could undo.
    pub fn committed(&mut self, run_state: &RunState, facts: &[Stamped]) {
        let facts = || facts.iter().map(|stamped| &stamped.fact);
        // Folding the questions of a large run costs time, so it is done only for facts that can ask.
        if facts().any(asks) {
            for open in facts::questions(run_state, &self.run) {
                if self.known.insert(open.id.clone()) {
                    self.escalation(&open);
                }
            }
        }
        if facts().any(is_end) {
            self.end(run_state.run.as_ref().and_then(Run::ending).map_or("", |ending| ending.word()));
        }
    }

    fn end(&self, ending: &str) {
        let told = json!({ "event": "end", "ending": ending });
        self.tell("run.on_end", self.on_end.clone(), vec![("TRIBUNAL_ENDING", ending.to_owned())], told);
    }

    fn escalation(&mut self, open: &QuestionView) {
        self.asked += 1;
        // Counted on, so that `finish` can say how many were left out.
        if self.asked > ASKED_MAX {
            return;
        }
        let env = vec![
            // An environment variable cannot hold a NUL byte, and a notification should fit on a line.
            ("TRIBUNAL_QUESTION", plain::line(&open.id)),
            ("TRIBUNAL_SUBJECT", plain::clipped(&open.subject, 300)),
            ("TRIBUNAL_WHY", plain::clipped(&open.why, 1_000)),
        ];
        let told = json!({ "event": "escalation", "question": open });
        self.tell("run.on_escalation", self.on_escalation.clone(), env, told);
    }

    fn tell(
        &self,
        key: &'static str,
        argv: Vec<String>,
        mut env: Vec<(&'static str, String)>,
        mut facts: Value,
    ) {
        let Some((teller, _)) = self.teller.as_ref().filter(|_| !argv.is_empty()) else { return };
        facts["run"] = json!(self.run);
        facts["project"] = json!(self.project);
        let event = facts["event"].as_str().unwrap_or_default().to_owned();
        env.extend([("TRIBUNAL_EVENT", event), ("TRIBUNAL_RUN", self.run.clone())]);
        // Sending fails only if the thread has panicked, and `finish` reports that.
        let _ = teller.send(Told { key, argv, env, facts });
    }

    /// Waits until every command has ended, and returns what went wrong.
    pub fn finish(self) -> Vec<String> {
        let Some((teller, thread)) = self.teller else {
            return vec!["the commands of run.on_escalation and run.on_end could not be run".to_owned()];
        };
        // Closing the channel ends the thread's loop; joining first would wait for ever.
        drop(teller);
        let ended = thread.join();
        let mut wrong = ended.unwrap_or_else(|_| vec!["the thread of run.on_end ended badly".to_owned()]);
        let untold = self.asked.saturating_sub(ASKED_MAX);
        if untold > 0 && !self.on_escalation.is_empty() {
            wrong.push(format!(
                "run.on_escalation: {untold} questions after the first {ASKED_MAX} were not told"
            ));
        }
        wrong
    }
}

/// True if the fact may have asked a person something.
fn asks(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Loop(_, LoopEvent::Asked(_))
            | Fact::Run(RunEvent::LaneAsked { .. })
            | Fact::Note(Note::Spent(_))
    )
}

/// Runs one command to its end.
///
/// It gets no sandbox and the host's network, because it is the user's own program and is meant to reach a phone or a
/// chat. It is contained all the same, so that nothing it starts outlives it.
fn command(told: &Told, project: &Path, timeout: Duration) -> Result<(), String> {
    let failed = |why: String| format!("{}: {why}; the run is not affected", told.key);
    let io = |error: std::io::Error| failed(error.to_string());
    let room = tempfile::tempdir().map_err(io)?;
    let input = room.path().join("facts.json");
    std::fs::write(&input, told.facts.to_string() + "\n").map_err(io)?;
    // The launch sets a marker of its own. With it the command counts as an agent, so it cannot answer the question it
    // is told about: `tribunal decide` is refused inside it.
    let ours = std::env::vars_os().filter(|(name, _)| name != tribunal_process::MARKER);
    let theirs = told.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let theirs: Vec<(OsString, OsString)> = theirs.collect();
    // A variable of the same name in our own environment must not stand beside the fact: which one wins is up to the
    // reader.
    let named = |name: &OsString| theirs.iter().any(|(other, _)| other == name);
    let mut env: Vec<(OsString, OsString)> = ours.filter(|(name, _)| !named(name)).collect();
    env.extend(theirs.iter().cloned());
    let launch = Launch {
        id: "notice".to_owned(),
        // A marker of its own: clean-up by the run's marker must not end this command.
        run_marker: format!("notice-{}", unique_id()),
        argv: told.argv.iter().map(OsString::from).collect(),
        env,
        dir: project.to_owned(),
        stdin: Stdin::File(input),
        out_dir: room.path().join("out"),
        output_max: OUTPUT_MAX,
        mounts: None,
        network: Network::Host,
    };
    let exit = run_to_end(Containment::detect(), launch, timeout, GRACE)
        .map_err(|error| failed(error.to_string()))?;
    match (&exit.how, &exit.cause) {
        (ExitHow::Code(0), Cause::Itself) => Ok(()),
        // Before the general arm: its exit status is only that of our own signal.
        (_, Cause::Stopped) => Err(failed(format!("it was ended after {} s", timeout.as_secs()))),
        (how, _) => {
            let said = std::fs::read(room.path().join("out/stderr")).unwrap_or_default();
            let said = plain::clipped(&String::from_utf8_lossy(&said), 200);
            Err(failed(format!("it ended with {how:?} {said}").trim_end().to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_told_however_much_was_asked() {
        let (tell, told) = channel::<Told>();
        let teller =
            std::thread::spawn(move || told.into_iter().map(|told| told.key.to_owned()).collect::<Vec<_>>());
        let mut notices = Notices {
            run: "20260301-0915".to_owned(),
            project: PathBuf::new(),
            on_escalation: vec!["true".to_owned()],
            on_end: vec!["true".to_owned()],
            known: BTreeSet::new(),
            asked: 0,
            teller: Some((tell, teller)),
        };
        (0..ASKED_MAX + 5).for_each(|_| notices.escalation(&QuestionView::default()));
        notices.end("passed");
        let told = notices.finish();
        assert_eq!(told.iter().filter(|key| *key == "run.on_escalation").count(), ASKED_MAX);
        assert_eq!(told[ASKED_MAX], "run.on_end");
        assert!(told[ASKED_MAX + 1].contains("5 questions"), "{told:?}");
    }
}
