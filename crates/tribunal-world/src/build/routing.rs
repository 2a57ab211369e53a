//! Routes each finding of a review to its fixer: the tool that found it if the tool can fix it, otherwise whoever the
//! roster names. It also says which reviewer owns which field.
//!
//! This file looks up facts for the pure tables of the roster; the choice itself is made there.

use super::fix::{ANYBODY, NOBODY, TOOL};
use super::polish::PUT_BACK;
use crate::review::panel;
use crate::site::Site;
use crate::site::subject;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Fate, Source};
use tribunal_core::ids::{Maker, Seat};
use tribunal_core::ledger::{Entry, Ledger, Tracked};
use tribunal_core::review_loop::Loop;
use tribunal_core::roster::{Assigned, Roster, Wanted};
use tribunal_core::run::Subject;
use tribunal_engine::docket::Docket;
use tribunal_findings::Panel;
use tribunal_findings::authority::domain_of;

/// Who can fix what in one loop.
pub(crate) struct Routing {
    /// The loop is a polish, whose findings are not fixed: the polish is undone instead.
    polish: bool,
    /// Tools that can fix what they find.
    mends: BTreeSet<String>,
    /// An agent is configured for fixers.
    agents: bool,
    /// Findings are fixed here. A plain review only reports them.
    mended: bool,
    roster: Roster,
    /// Fixers that have a personality in this run.
    people: BTreeSet<String>,
    /// The reviewers that own each field.
    owners: BTreeMap<String, BTreeSet<Seat>>,
    /// Keep findings that ownership rules would filter out.
    include_filtered: bool,
}

impl Routing {
    /// Gathers the routing of a loop whose findings go to several fixers; none for the others.
    pub(crate) fn of(site: &Site, lp: &Loop, docket: &Docket) -> Option<Routing> {
        let polish = match subject::of(lp.id())? {
            Subject::Phase => false,
            Subject::Polish => true,
            Subject::Plan(_) | Subject::Lane(..) | Subject::Chain => return None,
        };
        let review = docket.review();
        let tools = review.into_iter().flat_map(|review| &review.tools).map(|seat| seat.name.clone());
        let mends = |name: &String| site.tools.get(name).is_some_and(|tool| !tool.fix.is_empty());
        let mut owners: BTreeMap<String, BTreeSet<Seat>> = BTreeMap::new();
        for seat in review.into_iter().flat_map(|review| &review.seats) {
            for field in &seat.owns {
                owners.entry(field.clone()).or_default().insert(Seat::new(&seat.id));
            }
        }
        let roles = site.settings.agents.roles.iter();
        Some(Routing {
            polish,
            mends: tools.filter(mends).collect(),
            agents: site.adapter_for(&["fixer", "dev"]).is_some(),
            // A run always fixes what its own review finds.
            mended: review.is_none_or(|review| review.fix),
            roster: site.roster.get_or_init(|| panel::kept(&site.dir)).clone(),
            people: roles.filter(|(_, role)| role.personality.is_some()).map(|(id, _)| id.clone()).collect(),
            owners,
            include_filtered: review.is_some_and(|review| review.include_filtered),
        })
    }

    /// Tells triage who owns which field.
    pub(crate) fn authority(&self, panel: &mut Panel) {
        panel.owners = self.owners.clone();
        panel.include_filtered = self.include_filtered;
    }

    /// Names a fixer for every finding that must be fixed.
    ///
    /// All findings are assigned together, so that the roster can see which of them share a file.
    pub(crate) fn route(&self, tracked: &mut [Tracked], ledger: &Ledger) {
        let open: Vec<usize> = (0..tracked.len())
            .filter(|at| tracked[*at].fate == Fate::Open && tracked[*at].severity.must_fix())
            .collect();
        if self.polish {
            open.into_iter().for_each(|at| tracked[at].fixer = Some(Maker::new(PUT_BACK)));
            return;
        }
        let fields: Vec<Option<String>> = open.iter().map(|at| field(&tracked[*at])).collect();
        let wanted: Vec<Wanted<'_>> = open
            .iter()
            .zip(&fields)
            .map(|(at, field)| Wanted { file: tracked[*at].claim.file.as_deref(), field: field.as_deref() })
            .collect();
        let here = |id: &str| self.people.contains(id);
        let assigned = self.roster.assign(&wanted, &here);
        let fixers: Vec<Fixer> = open
            .iter()
            .zip(assigned)
            .map(|(at, assigned)| self.fixer(&tracked[*at], ledger.get(tracked[*at].id), assigned))
            .collect();
        for (at, fixer) in open.into_iter().zip(fixers) {
            match fixer {
                Fixer::Maker(maker) => tracked[at].fixer = Some(maker),
                // The owner of the field is not here, so the finding is put to a person.
                Fixer::Person => tracked[at].makers = false,
            }
        }
    }

    fn fixer(&self, one: &Tracked, known: Option<&Entry>, assigned: Assigned) -> Fixer {
        // A tool that was asked before and did not fix the finding is not asked again.
        let tried = known.filter(|entry| entry.ordered || entry.survived() > 0);
        let tried = tried.and_then(|entry| entry.fixer.as_ref());
        let mut tools = one.by.iter().filter_map(|source| match source {
            Source::Check(check) => Some(check.as_str()),
            Source::Seat(_) => None,
        });
        let tool = tools.find(|name| tried.is_none() && self.mends.contains(*name));
        Fixer::Maker(match (tool, assigned) {
            (Some(tool), _) => Maker::new(format!("{TOOL}{tool}")),
            // No fixer is missing where nothing is to be fixed.
            (None, _) if !self.agents || !self.mended => Maker::new(NOBODY),
            (None, Assigned::Fixer(id)) => Maker::new(id),
            (None, Assigned::Anybody) => Maker::new(ANYBODY),
            (None, Assigned::Person(_)) => return Fixer::Person,
        })
    }
}

/// The fixer of one finding.
enum Fixer {
    Maker(Maker),
    Person,
}

/// The field of a reviewer's finding. A tool's finding is in no field but the one that the tool's row names.
fn field(one: &Tracked) -> Option<String> {
    let by_seat = one.by.iter().any(|source| matches!(source, Source::Seat(_)));
    if by_seat { domain_of(&one.claim) } else { one.claim.domain.clone() }
}
