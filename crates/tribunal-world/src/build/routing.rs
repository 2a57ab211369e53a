//! Which fixer each finding of a review goes to: the tool that found it where it can mend, else whoever the roster names.
//! It looks up facts for the pure tables; the choice itself is theirs. Also who owns which field on the panel.

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

/// Who can mend what in one loop.
pub(crate) struct Routing {
    /// What is found in a polish is not mended: it is put back.
    polish: bool,
    /// Tools that mend.
    mends: BTreeSet<String>,
    /// Agents may be launched.
    agents: bool,
    /// What is found is mended here. A plain review only says it.
    mended: bool,
    roster: Roster,
    /// Who has a personality here.
    people: BTreeSet<String>,
    /// Seats that own a field.
    owners: BTreeMap<String, BTreeSet<Seat>>,
    /// Authority takes nothing out.
    include_filtered: bool,
}

impl Routing {
    /// Of a loop whose findings go to several fixers; none for the others.
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
            mended: review.is_none_or(|review| review.fix),
            roster: site.roster.get_or_init(|| panel::kept(&site.dir)).clone(),
            people: roles.filter(|(_, role)| role.personality.is_some()).map(|(id, _)| id.clone()).collect(),
            owners,
            include_filtered: review.is_some_and(|review| review.include_filtered),
        })
    }

    /// Who owns what, for triage.
    pub(crate) fn authority(&self, panel: &mut Panel) {
        panel.owners = self.owners.clone();
        panel.include_filtered = self.include_filtered;
    }

    /// Names a fixer for every finding that must be mended.
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
                Fixer::Person => tracked[at].makers = false,
            }
        }
    }

    fn fixer(&self, one: &Tracked, known: Option<&Entry>, assigned: Assigned) -> Fixer {
        // A tool that was asked and did not cure it is not asked twice.
        let tried = known.filter(|entry| entry.ordered || entry.survived() > 0);
        let tried = tried.and_then(|entry| entry.fixer.as_ref());
        let mut tools = one.by.iter().filter_map(|source| match source {
            Source::Check(check) => Some(check.as_str()),
            Source::Seat(_) => None,
        });
        let tool = tools.find(|name| tried.is_none() && self.mends.contains(*name));
        Fixer::Maker(match (tool, assigned) {
            (Some(tool), _) => Maker::new(format!("{TOOL}{tool}")),
            // Nobody is missed where nothing is mended.
            (None, _) if !self.agents || !self.mended => Maker::new(NOBODY),
            (None, Assigned::Fixer(id)) => Maker::new(id),
            (None, Assigned::Anybody) => Maker::new(ANYBODY),
            (None, Assigned::Person(_)) => return Fixer::Person,
        })
    }
}

/// Who mends one finding.
enum Fixer {
    Maker(Maker),
    Person,
}

/// The field of a reviewer's finding; a tool's is in none but the one its row names.
fn field(one: &Tracked) -> Option<String> {
    let by_seat = one.by.iter().any(|source| matches!(source, Source::Seat(_)));
    if by_seat { domain_of(&one.claim) } else { one.claim.domain.clone() }
}
