//! Which fixer each finding of a review goes to: the tool that found it where it can mend, else whoever the roster names.
//! It looks up facts for the pure tables; the choice itself is theirs.

use super::fix::{NOBODY, TOOL, is_agent};
use super::site::Site;
use super::subject;
use crate::docket::Docket;
use std::collections::BTreeSet;
use tribunal_core::finding::{Fate, Source};
use tribunal_core::ids::Maker;
use tribunal_core::ledger::{Entry, Ledger, Tracked};
use tribunal_core::r#loop::Loop;
use tribunal_core::run::Subject;

/// Who can mend what in one loop.
pub(crate) struct Routing {
    /// Tools that mend.
    mends: BTreeSet<String>,
    /// Agents may be launched.
    agents: bool,
}

impl Routing {
    /// Of a loop whose findings go to several fixers; none for the others.
    pub(crate) fn of(site: &Site, lp: &Loop, docket: &Docket) -> Option<Routing> {
        if subject::of(lp.id())? != Subject::Phase {
            return None;
        }
        let review = docket.about.review.as_ref();
        let tools = review.into_iter().flat_map(|review| &review.tools).map(|seat| seat.name.clone());
        let mends = |name: &String| site.tools.get(name).is_some_and(|tool| !tool.fix.is_empty());
        Some(Routing {
            mends: tools.filter(mends).collect(),
            agents: site.adapter_for(&["fixer", "dev"]).is_some(),
        })
    }

    /// Names a fixer for every finding that must be mended.
    pub(crate) fn route(&self, tracked: &mut [Tracked], ledger: &Ledger) {
        for one in tracked.iter_mut().filter(|one| one.fate == Fate::Open && one.severity.must_fix()) {
            one.fixer = Some(self.fixer(one, ledger.get(one.id)));
        }
    }

    fn fixer(&self, one: &Tracked, known: Option<&Entry>) -> Maker {
        // A tool that was asked and did not cure it is not asked twice.
        let tried = known.filter(|entry| entry.ordered || entry.survived() > 0);
        let tried = tried.and_then(|entry| entry.fixer.as_ref()).map(Maker::as_str);
        let tools = one.by.iter().filter_map(|source| match source {
            Source::Check(check) => Some(check.as_str()),
            Source::Seat(_) => None,
        });
        let tool = tools.filter(|name| self.mends.contains(*name)).map(|name| format!("{TOOL}{name}")).find(
            |maker| {
                !tried.is_some_and(|tried| tried == maker || is_agent(&Maker::new(tried)) || tried == NOBODY)
            },
        );
        match tool {
            Some(tool) => Maker::new(tool),
            None if self.agents => Maker::new("fixer"),
            None => Maker::new(NOBODY),
        }
    }
}
