//! The last review of the same subject. Its open findings come to the next review under their ids, as of the revision
//! that is still there.
//!
//! Fixes that nobody took do not count. It reads each journal at most once and writes nothing. A journal that cannot be
//! read is always named: its open findings would otherwise vanish silently.

use crate::context::{RunContext, now};
use crate::project::Project;
use crate::project::error::SetupError;
use crate::setup::examine::ReviewPlan;
use std::collections::BTreeMap;
use tribunal_core::finding::{Fate, Source};
use tribunal_core::ids::{FindingId, Revision, Time};
use tribunal_core::ledger::{CarriedFinding, Entry};
use tribunal_core::review_loop::{Loop, LoopEvent, Outcome};
use tribunal_core::run::Exists;
use tribunal_engine::run_state::{Fact, ReviewNote, RunState, RunStateError};
use tribunal_engine::waiver::{self, Waiver};
use tribunal_git::{GitError, Oid};
use tribunal_journal::{Error as JournalError, Reader};
use tribunal_view::plain;

/// How many earlier runs are searched for one of the same subject.
const EARLIER_MAX: usize = 200;
/// How many unreadable runs are named.
const UNREAD_MAX: usize = 5;

/// An earlier review of the same subject.
struct Earlier {
    run: String,
    run_state: RunState,
    /// Its loop as it was after each ruling, by the revision that was ruled on.
    ruled: BTreeMap<Revision, Loop>,
    /// The waivers given since, by finding.
    messages: BTreeMap<FindingId, Waiver>,
}

/// The findings that an earlier review left, as far as their reviewers are on the panel again.
///
/// A finding whose reviewer is missing cannot be settled by anybody. It is named as not looked at instead of being
/// carried along.
pub(crate) fn taken_over(
    project: &Project,
    context: &RunContext,
    plan: &ReviewPlan,
    revision: Revision,
) -> Result<(Exists, ReviewNote), SetupError> {
    let mut note = plan.note.clone();
    let mut exists = Exists { revision, open: Vec::new(), since: None, last: None };
    let (earlier, unread) = Earlier::of(project, &context.run, &note.key);
    note.unread = unread;
    let Some(earlier) = earlier else { return Ok((exists, note)) };
    let Some((since, commit)) = earlier.stands(context, &plan.head)? else { return Ok((exists, note)) };
    // The earlier run may be removed while this one lives, so its revision gets a ref of this run.
    context.keep(&since, &commit, Vec::new())?;
    let sits = |source: &Source| match source {
        Source::Check(check) => plan.asks(check),
        Source::Reviewer(reviewer) => note.reviewers.iter().any(|known| known.id == reviewer.as_str()),
    };
    let mut unasked = Vec::new();
    for (id, entry) in earlier.left(&since, now()) {
        note.waivers.extend(earlier.waiver(id, &entry.fate));
        if entry.by.iter().all(sits) {
            exists.open.push(CarriedFinding { id, entry });
        } else {
            let by: Vec<String> = entry.by.iter().map(ToString::to_string).collect();
            unasked.push(format!("{id} of {}: {}", by.join(", "), entry.claim.claim));
        }
    }
    exists.since = Some(since);
    // New findings are numbered after all earlier ones, also those that were settled and are not carried over.
    exists.last = Some(FindingId(earlier.run_state.last_finding));
    note.previous = Some(earlier.run);
    note.unasked = unasked;
    Ok((exists, note))
}

impl Earlier {
    /// The newest review of the same subject that judged anything, and newer runs that cannot be read: those may be of
    /// the same subject, too.
    fn of(project: &Project, run: &str, key: &str) -> (Option<Earlier>, Vec<String>) {
        let mut unread = Vec::new();
        let mut runs = project.runs().into_iter().filter(|id| id != run && id.contains("-review"));
        // `by_ref`, so that a run beyond the limit can be named as not looked at.
        for id in runs.by_ref().take(EARLIER_MAX) {
            match Earlier::read(project, &id, key) {
                Ok(Some(earlier)) => return (Some(earlier), named(unread)),
                Ok(None) => {}
                Err(why) => unread.push(format!("{id}: {}", plain::clipped(&why.to_string(), 300))),
            }
        }
        let more = runs.next().map(|id| format!("{id} and older ones were not looked at"));
        (None, named(unread).into_iter().chain(more).collect())
    }

    /// Reads one review, with its loop after the last ruling on each revision; none if it is of another subject or
    /// judged nothing.
    fn read(project: &Project, run: &str, key: &str) -> Result<Option<Earlier>, RunStateError> {
        let reader = match Reader::open(&project.run_dir(run)) {
            // The run died before its first row.
            Err(JournalError::Missing { .. }) => return Ok(None),
            opened => opened?,
        };
        let (mut run_state, mut ruled) = (RunState::default(), BTreeMap::new());
        let read = reader.each(1, |row| {
            let fact = Fact::decode(&row)?;
            run_state.take_fact(&row, &fact)?;
            // As soon as the subject is known to differ, the rest of the journal need not be read.
            if run_state.about.review.as_ref().is_some_and(|review| review.key != key) {
                return Err(Stopped::Other);
            }
            if let Fact::Loop(id, LoopEvent::Ruled { .. }) = &fact
                && let Some(review_loop) = run_state.loops.get(id)
                && let Some(revision) = review_loop.tracked()
            {
                ruled.insert(revision.clone(), review_loop.clone());
            }
            Ok(())
        });
        match read {
            Ok(()) => {}
            Err(Stopped::Other) => return Ok(None),
            Err(Stopped::Unread(error)) => return Err(error),
        }
        let same = run_state.about.review.is_some();
        // A review in which a tool did not run has ruled on nothing. What the review before it left still stands.
        let judged = !ruled.is_empty();
        let messages = waiver::of_mail(&reader.mail()?);
        Ok((same && judged).then(|| Earlier { run: run.to_owned(), run_state, ruled, messages }))
    }

    /// The last judged revision that the new subject descends from, with its commit.
    ///
    /// Where there is none, as after a rebase: the result if it passed and was brought to the branch, else the revision
    /// that the review began with.
    fn stands(&self, context: &RunContext, head: &Oid) -> Result<Option<(Revision, Oid)>, GitError> {
        let Some(review_loop) = self.run_state.examined() else { return Ok(None) };
        let mut known = Vec::new();
        for revision in review_loop.judged().iter().filter(|revision| self.ruled.contains_key(*revision)) {
            let name = format!("refs/tribunal/{}/rev/{revision}", self.run);
            known.extend(context.repo.ref_at(&name)?.map(|commit| (revision.clone(), commit)));
        }
        for (revision, commit) in known.iter().rev() {
            // The newest first: everything that was judged up to there is part of what is reviewed now.
            if context.repo.is_ancestor(commit, head)? {
                return Ok(Some((revision.clone(), commit.clone())));
            }
        }
        let brought = review_loop.outcome().is_some_and(Outcome::is_good) && self.run_state.left.is_none();
        Ok(if brought { known.pop() } else { known.into_iter().next() })
    }

    /// The waivers that it took over itself.
    fn carried(&self) -> &[Waiver] {
        self.run_state.about.review.as_ref().map_or(&[], |review| &review.waivers)
    }

    /// The waiver that gave a finding its fate.
    fn waiver(&self, id: FindingId, fate: &Fate) -> Option<Waiver> {
        let mut known = self.messages.get(&id).into_iter().chain(self.carried());
        known.find(|one| one.finding == id && *fate == Fate::Waived(one.words())).cloned()
    }

    /// The findings that stood against a revision, with what is waived now.
    fn left(&self, since: &Revision, now: Time) -> Vec<(FindingId, Entry)> {
        let (Some(last), Some(then)) = (self.run_state.examined(), self.ruled.get(since)) else {
            return Vec::new();
        };
        // If nothing was made after this revision, the final state of the loop counts, with all its decisions.
        let review_loop = if last.tracked() == Some(since) { last } else { then };
        let mut left = Vec::new();
        for (id, entry) in review_loop.ledger().iter() {
            let carried = self.carried().iter().find(|one| one.finding == id);
            let fate = match waiver::carried_fate(&entry.fate, self.messages.get(&id), carried, now) {
                Some(Fate::Waived(who)) => Fate::Waived(self.why(last, &who)),
                Some(fate) => fate,
                None => continue,
            };
            // Replies and fixers belong to the old review. The new one starts without them.
            left.push((id, Entry { reply: None, fixer: None, fate, ..entry.clone() }));
        }
        left
    }

    /// Who waived it, with what they said. A waiver that was taken over says so already.
    fn why(&self, review_loop: &Loop, who: &str) -> String {
        let here = matches!(review_loop.outcome(), Some(Outcome::Accepted(by)) if by == who);
        match self.run_state.said.get(review_loop.id()).filter(|_| here) {
            Some(note) => format!("{who}: {}", plain::clipped(note, 300)),
            None => who.to_owned(),
        }
    }
}

/// Why reading a journal stopped early.
enum Stopped {
    /// It is of another subject.
    Other,
    Unread(RunStateError),
}

impl From<RunStateError> for Stopped {
    fn from(error: RunStateError) -> Stopped {
        Stopped::Unread(error)
    }
}

impl From<JournalError> for Stopped {
    fn from(error: JournalError) -> Stopped {
        Stopped::Unread(error.into())
    }
}

/// The first names, and how many more there are.
fn named(mut unread: Vec<String>) -> Vec<String> {
    let more = unread.len().saturating_sub(UNREAD_MAX);
    unread.truncate(UNREAD_MAX);
    unread.extend((more > 0).then(|| format!("{more} more")));
    unread
}
