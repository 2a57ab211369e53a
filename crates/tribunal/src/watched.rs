//! A run that is looked at again and again: its journal is folded once, and then row by row as it grows.
//!
//! The browser, the terminal and the editor's tools read runs through it. It only reads; nothing here starts a process
//! or makes the run's writer wait. What is kept per run is bounded (`TAIL`, `STEPS`), because a server may watch a run
//! for days.

use crate::commands::{report, status};
use crate::facts;
use crate::failure::Failure;
use crate::place::{Place, Seen};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tribunal_core::ids::FindingId;
use tribunal_core::run::RunEvent;
use tribunal_engine::history::History;
use tribunal_engine::{Fact, RunStateError};
use tribunal_journal::{Reader, RowRef};
use tribunal_view::events::{self, Event, Kind};
use tribunal_view::facts::RunView;
use tribunal_view::review::Review;
use tribunal_view::web::{Step, Told, told};
use tribunal_view::{log, plain, words};

/// How many events are kept for a page.
const TAIL: usize = 200;
/// How many steps are kept of one finding; later ones are dropped.
const STEPS: usize = 200;

/// The steps of each finding, by its id.
pub type Steps = BTreeMap<FindingId, Arc<Vec<Step>>>;

/// A run and everything that the pages and tools show of it.
///
/// Ask `changed` first, which is cheap, and call `follow` only if it says so.
pub struct Watched {
    seen: Seen,
    history: History,
    tail: VecDeque<Told>,
    steps: Steps,
    began: u64,
    seq: u64,
}

impl Watched {
    /// Opens a run; nothing is read before the first `follow`.
    pub fn open(place: &Place, run: &str) -> Result<Watched, Failure> {
        let seen = place.read(run)?;
        let (history, tail, steps) = (History::default(), VecDeque::new(), Steps::new());
        Ok(Watched { seen, history, tail, steps, began: 0, seq: 0 })
    }

    /// True if anything was committed since the last call, and on the first call.
    pub fn changed(&self) -> Result<bool, Failure> {
        Ok(self.seen.reader.changed()?)
    }

    /// Reads the rows that are new.
    pub fn follow(&mut self) -> Result<(), Failure> {
        let Watched { seen, history, tail, steps, began, seq } = self;
        seen.reader.each(*seq + 1, |row| {
            let fact = history.take(&row)?;
            // The first row's time is when the run began; clocks on the pages count from it.
            if *seq == 0 {
                *began = row.at;
            }
            *seq = row.seq;
            if let Some(event) = facts::event(&seen.id, row.seq, row.at, &fact) {
                tail.push_back(told(&event, *began));
                if tail.len() > TAIL {
                    tail.pop_front();
                }
                note_steps(steps, &event, *began);
            }
            Ok::<(), RunStateError>(())
        })?;
        Ok(())
    }

    /// The number of the last row that was read.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// True if an orchestrator is running this run now.
    pub fn is_live(&self) -> bool {
        self.seen.is_live()
    }

    /// The run as people see it now.
    pub fn view(&self) -> Result<RunView, Failure> {
        let mut view = status::view_of(&self.seen, &self.history)?;
        // The places are checkouts on disk; they are looked up only when a question needs them.
        if !view.questions.is_empty() {
            crate::commands::run::add_places(&mut view, &self.seen.dir, &self.history.run_state);
        }
        Ok(view)
    }

    /// The review of the run's findings as it stands.
    pub fn review(&self) -> Review {
        let review = report::of(&self.history, &self.seen.id, &self.seen.dir);
        report::with_remarks(review, &self.seen)
    }

    /// The last events, oldest first.
    pub fn tail(&self) -> Vec<Told> {
        self.tail.iter().cloned().collect()
    }

    /// The history of each finding. The clone is cheap: the lists are shared.
    pub fn steps(&self) -> Steps {
        self.steps.clone()
    }
}

/// Adds an event to the history of every finding it is about.
fn note_steps(steps: &mut Steps, event: &Event, began: u64) {
    for (id, text) in about_findings(&event.what) {
        let of = Arc::make_mut(steps.entry(id).or_default());
        if of.len() < STEPS {
            let when = words::clock(event.at.saturating_sub(began));
            of.push(Step { seq: event.seq, when, of: event.of.clone(), text });
        }
    }
}

/// The findings that an event names, each with what the event says about it.
fn about_findings(what: &Kind) -> Vec<(FindingId, String)> {
    match what {
        Kind::Tracked { findings, .. } => {
            let words = |one: &tribunal_view::events::TrackedView| {
                let by = one.by.join(", ");
                let mark = events::mark_word(one.mark);
                (one.id, format!("{}, {mark} ({}); held by {by}", one.fate, one.claim.severity))
            };
            findings.iter().map(words).collect()
        }
        Kind::Made { who, replies, .. } => {
            let words = |(id, reply): (&FindingId, &String)| (*id, format!("{who} answers: {reply}"));
            replies.iter().map(words).collect()
        }
        Kind::Answered { reviewer, said, .. } => {
            let words = |(id, word): (&FindingId, &String)| (*id, format!("{reviewer} says: {word}"));
            said.iter().map(words).collect()
        }
        Kind::Heard { finding, .. } => vec![(*finding, log::words(what))],
        Kind::Ruled { findings, .. } => {
            let text = plain::clipped(&log::words(what), 200);
            findings.iter().map(|id| (*id, text.clone())).collect()
        }
        _ => Vec::new(),
    }
}

/// Why a reading of rows ended early.
enum Stop {
    Enough,
    Failed(RunStateError),
}

impl From<tribunal_journal::Error> for Stop {
    fn from(error: tribunal_journal::Error) -> Stop {
        Stop::Failed(error.into())
    }
}

/// Calls `f` with at most `most` rows, beginning with `from`.
///
/// Stopping early is an `Err` inside, because `Reader::each` has no other way to end; callers see `Ok`.
pub fn some_rows(
    reader: &Reader,
    from: u64,
    most: usize,
    mut f: impl FnMut(&RowRef<'_>) -> Result<(), RunStateError>,
) -> Result<(), RunStateError> {
    let mut left = most;
    let read = reader.each(from, |row| {
        if left == 0 {
            return Err(Stop::Enough);
        }
        left -= 1;
        f(&row).map_err(Stop::Failed)
    });
    match read {
        Ok(()) | Err(Stop::Enough) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// True if the fact ends its run.
pub fn is_end(fact: &Fact) -> bool {
    matches!(fact, Fact::Run(RunEvent::Ended { .. }))
}
