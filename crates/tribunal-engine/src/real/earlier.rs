//! The last review of the same thing: what it left open comes to the next one under its ids, as of the revision that is
//! still there. What fixers made and nobody took is no part of that. It reads journals; it writes nothing.

use super::error::SetupError;
use super::examine::ReviewPlan;
use super::project::Project;
use super::site::Site;
use crate::docket::{Docket, DocketError, Fact, ReviewNote};
use std::collections::BTreeMap;
use tribunal_core::finding::{Fate, Source};
use tribunal_core::ids::{FindingId, Revision};
use tribunal_core::ledger::{Entry, Handed};
use tribunal_core::r#loop::{Loop, LoopEvent, Outcome};
use tribunal_core::run::Exists;
use tribunal_git::{GitError, Oid};
use tribunal_journal::Reader;
use tribunal_view::plain;

/// Earlier runs that are looked at for one of the same thing.
const EARLIER_MAX: usize = 200;

/// A review that judged the same thing before.
struct Earlier {
    run: String,
    docket: Docket,
    /// Its loop as it was when each revision had been ruled on.
    ruled: BTreeMap<Revision, Loop>,
}

/// The findings an earlier review of the same thing left, as far as those who hold them sit again.
pub(super) fn taken_over(
    project: &Project,
    site: &Site,
    plan: &ReviewPlan,
    revision: Revision,
) -> Result<(Exists, ReviewNote), SetupError> {
    let mut note = plan.note.clone();
    let mut exists = Exists { revision, open: Vec::new(), since: None, last: None };
    let Some(earlier) = Earlier::of(project, &site.run, &note.key) else { return Ok((exists, note)) };
    let Some((since, commit)) = earlier.stands(site, &plan.head)? else { return Ok((exists, note)) };
    site.keep(&since, &commit, Vec::new())?;
    let sits = |source: &Source| match source {
        Source::Check(check) => plan.asks(check),
        Source::Seat(seat) => note.seats.iter().any(|known| known.id == seat.as_str()),
    };
    let mut unasked = Vec::new();
    for (id, entry) in earlier.left(&since) {
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
    /// The newest review of the same thing that judged anything.
    fn of(project: &Project, run: &str, key: &str) -> Option<Earlier> {
        let runs = project.runs().into_iter().filter(|id| id != run && id.contains("-review"));
        runs.take(EARLIER_MAX).find_map(|id| {
            let reader = Reader::open(&project.run_dir(&id)).ok()?;
            let docket = Docket::read(&reader).ok()?;
            let same = docket.about.review.as_ref().is_some_and(|review| review.key == key);
            let judged = docket.loops.values().any(|lp| lp.tracked().is_some());
            let ruled = if same && judged { ruled(&reader).ok()? } else { return None };
            Some(Earlier { run: id, docket, ruled })
        })
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

    /// What stood against a revision.
    fn left(&self, since: &Revision) -> Vec<(FindingId, Entry)> {
        let (Some(last), Some(then)) = (self.docket.examined(), self.ruled.get(since)) else {
            return Vec::new();
        };
        // What became of it in the end counts where nothing was made after.
        let lp = if last.tracked() == Some(since) { last } else { then };
        let stands =
            |fate: &Fate| matches!(fate, Fate::Open | Fate::Unresolved | Fate::Advisory | Fate::Carried);
        let mut left = Vec::new();
        for (id, entry) in lp.ledger().iter() {
            let fate = match &entry.fate {
                Fate::Waived(who) => Fate::Waived(self.why(last, who)),
                fate if stands(fate) => fate.clone(),
                _ => continue,
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

/// The loops of a review as they were when they had ruled on each revision, the last ruling of each.
fn ruled(reader: &Reader) -> Result<BTreeMap<Revision, Loop>, DocketError> {
    let mut docket = Docket::default();
    let mut ruled = BTreeMap::new();
    reader.each(1, |row| {
        docket.take(&row)?;
        if let Fact::Loop(id, LoopEvent::Ruled { .. }) = Fact::decode(&row)?
            && let Some(lp) = docket.loops.get(&id)
            && let Some(revision) = lp.tracked()
        {
            ruled.insert(revision.clone(), lp.clone());
        }
        Ok::<(), DocketError>(())
    })?;
    Ok(ruled)
}
