//! The last review of the same thing: what it left open comes to the next one under its ids, as of the revision that is
//! still there. What fixers made and nobody took is no part of that. It reads journals, each at most once; it writes
//! nothing, and never passes over one that cannot be read without a word.

use crate::project::Project;
use crate::project::error::SetupError;
use crate::setup::examine::ReviewPlan;
use crate::site::{Site, now};
use std::collections::BTreeMap;
use tribunal_core::finding::{Fate, Source};
use tribunal_core::ids::{FindingId, Revision, Time};
use tribunal_core::ledger::{Entry, Handed};
use tribunal_core::review_loop::{Loop, LoopEvent, Outcome};
use tribunal_core::run::Exists;
use tribunal_engine::docket::{Docket, DocketError, Fact, ReviewNote};
use tribunal_engine::waiver::{self, Waiver};
use tribunal_git::{GitError, Oid};
use tribunal_journal::{Error as JournalError, Reader};
use tribunal_view::plain;

/// Earlier runs that are looked at for one of the same thing.
const EARLIER_MAX: usize = 200;
/// Earlier runs that are named where they cannot be read.
const UNREAD_MAX: usize = 5;

/// A review that judged the same thing before.
struct Earlier {
    run: String,
    docket: Docket,
    /// Its loop as it was when each revision had been ruled on.
    ruled: BTreeMap<Revision, Loop>,
    /// What was waived since, one finding at a time.
    letters: BTreeMap<FindingId, Waiver>,
}

/// The findings an earlier review of the same thing left, as far as those who hold them sit again.
pub(crate) fn taken_over(
    project: &Project,
    site: &Site,
    plan: &ReviewPlan,
    revision: Revision,
) -> Result<(Exists, ReviewNote), SetupError> {
    let mut note = plan.note.clone();
    let mut exists = Exists { revision, open: Vec::new(), since: None, last: None };
    let (earlier, unread) = Earlier::of(project, &site.run, &note.key);
    note.unread = unread;
    let Some(earlier) = earlier else { return Ok((exists, note)) };
    let Some((since, commit)) = earlier.stands(site, &plan.head)? else { return Ok((exists, note)) };
    site.keep(&since, &commit, Vec::new())?;
    let sits = |source: &Source| match source {
        Source::Check(check) => plan.asks(check),
        Source::Seat(seat) => note.seats.iter().any(|known| known.id == seat.as_str()),
    };
    let mut unasked = Vec::new();
    for (id, entry) in earlier.left(&since, now()) {
        note.waivers.extend(earlier.waiver(id, &entry.fate));
        if entry.by.iter().all(sits) {
            exists.open.push(Handed { id, entry });
        } else {
            let by: Vec<String> = entry.by.iter().map(ToString::to_string).collect();
            unasked.push(format!("{id} of {}: {}", by.join(", "), entry.claim.claim));
        }
    }
    exists.since = Some(since);
    exists.last = Some(FindingId(earlier.docket.last_finding));
    note.previous = Some(earlier.run);
    note.unasked = unasked;
    Ok((exists, note))
}

impl Earlier {
    /// The newest review of the same thing that judged anything, and what is newer and cannot be read: that may be of the
    /// same thing, too.
    fn of(project: &Project, run: &str, key: &str) -> (Option<Earlier>, Vec<String>) {
        let mut unread = Vec::new();
        let mut runs = project.runs().into_iter().filter(|id| id != run && id.contains("-review"));
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

    /// One review, with its loops as they were when they had ruled on each revision, the last ruling of each; nothing
    /// where it is of something else or judged nothing.
    fn read(project: &Project, run: &str, key: &str) -> Result<Option<Earlier>, DocketError> {
        let reader = match Reader::open(&project.run_dir(run)) {
            // It died before its first row.
            Err(JournalError::Missing { .. }) => return Ok(None),
            opened => opened?,
        };
        let (mut docket, mut ruled) = (Docket::default(), BTreeMap::new());
        let read = reader.each(1, |row| {
            let fact = Fact::decode(&row)?;
            docket.take_fact(&row, &fact)?;
            if docket.about.review.as_ref().is_some_and(|review| review.key != key) {
                return Err(Stopped::Other);
            }
            if let Fact::Loop(id, LoopEvent::Ruled { .. }) = &fact
                && let Some(lp) = docket.loops.get(id)
                && let Some(revision) = lp.tracked()
            {
                ruled.insert(revision.clone(), lp.clone());
            }
            Ok(())
        });
        match read {
            Ok(()) => {}
            Err(Stopped::Other) => return Ok(None),
            Err(Stopped::Unread(error)) => return Err(error),
        }
        let same = docket.about.review.is_some();
        // One in which a tool did not run has ruled on nothing: what the one before it left is still what stands.
        let judged = !ruled.is_empty();
        let letters = waiver::of_mail(&reader.mail()?);
        Ok((same && judged).then(|| Earlier { run: run.to_owned(), docket, ruled, letters }))
    }

    /// The last revision it judged that what is reviewed now goes back to, with its commit. Where there is none, as after
    /// a rebase: what it passed and brought, else what it was asked about.
    fn stands(&self, site: &Site, head: &Oid) -> Result<Option<(Revision, Oid)>, GitError> {
        let Some(lp) = self.docket.examined() else { return Ok(None) };
        let mut known = Vec::new();
        for revision in lp.judged().iter().filter(|revision| self.ruled.contains_key(*revision)) {
            let name = format!("refs/tribunal/{}/rev/{revision}", self.run);
            known.extend(site.repo.ref_at(&name)?.map(|commit| (revision.clone(), commit)));
        }
        for (revision, commit) in known.iter().rev() {
            if site.repo.is_ancestor(commit, head)? {
                return Ok(Some((revision.clone(), commit.clone())));
            }
        }
        let brought = lp.outcome().is_some_and(Outcome::is_good) && self.docket.left.is_none();
        Ok(if brought { known.pop() } else { known.into_iter().next() })
    }

    /// What it took over itself.
    fn carried(&self) -> &[Waiver] {
        self.docket.about.review.as_ref().map_or(&[], |review| &review.waivers)
    }

    /// The waiver by which a finding has its fate.
    fn waiver(&self, id: FindingId, fate: &Fate) -> Option<Waiver> {
        let mut known = self.letters.get(&id).into_iter().chain(self.carried());
        known.find(|one| one.finding == id && *fate == Fate::Waived(one.words())).cloned()
    }

    /// What stood against a revision, and what of it is waived now.
    fn left(&self, since: &Revision, now: Time) -> Vec<(FindingId, Entry)> {
        let (Some(last), Some(then)) = (self.docket.examined(), self.ruled.get(since)) else {
            return Vec::new();
        };
        // What became of it in the end counts where nothing was made after.
        let lp = if last.tracked() == Some(since) { last } else { then };
        let mut left = Vec::new();
        for (id, entry) in lp.ledger().iter() {
            let carried = self.carried().iter().find(|one| one.finding == id);
            let fate = match waiver::handed(&entry.fate, self.letters.get(&id), carried, now) {
                Some(Fate::Waived(who)) => Fate::Waived(self.why(last, &who)),
                Some(fate) => fate,
                None => continue,
            };
            // What was tried and said about it then is over.
            left.push((id, Entry { reply: None, fixer: None, fate, ..entry.clone() }));
        }
        left
    }

    /// Who waived it, with what they said; what was taken over as waived says so already.
    fn why(&self, lp: &Loop, who: &str) -> String {
        let here = matches!(lp.outcome(), Some(Outcome::Accepted(by)) if by == who);
        match self.docket.said.get(lp.id()).filter(|_| here) {
            Some(note) => format!("{who}: {}", plain::clipped(note, 300)),
            None => who.to_owned(),
        }
    }
}

/// Why a journal is not read to its end.
enum Stopped {
    /// It is of something else.
    Other,
    Unread(DocketError),
}

impl From<DocketError> for Stopped {
    fn from(error: DocketError) -> Stopped {
        Stopped::Unread(error)
    }
}

impl From<JournalError> for Stopped {
    fn from(error: JournalError) -> Stopped {
        Stopped::Unread(error.into())
    }
}

/// The first ones by name, and how many more there are.
fn named(mut unread: Vec<String>) -> Vec<String> {
    let more = unread.len().saturating_sub(UNREAD_MAX);
    unread.truncate(UNREAD_MAX);
    unread.extend((more > 0).then(|| format!("{more} more")));
    unread
}
