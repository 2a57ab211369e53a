//! Routes each finding of a review to its fixer: the tool that found it if the tool can fix it, otherwise whoever the
//! roster names. It also says which reviewer owns which field.
//!
//! This file looks up facts for the pure tables of the roster; the choice itself is made there.

use super::fix::{ANYBODY, NOBODY, TOOL};
use super::polish::PUT_BACK;
use crate::context::RunContext;
use crate::context::subject;
use crate::review::panel;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Fate, Source};
use tribunal_core::ids::{Builder, Reviewer};
use tribunal_core::ledger::{Entry, Ledger, Tracked};
use tribunal_core::review_loop::Loop;
use tribunal_core::roster::{Assigned, Roster, Wanted};
use tribunal_core::run::Subject;
use tribunal_engine::run_state::RunState;
use tribunal_findings::Panel;
use tribunal_findings::authority::domain_of;

/// Who can fix what in one loop.
pub(crate) struct Routing {
    /// The loop is a polish, whose findings are not fixed: the polish is undone instead.
    polish: bool,
    /// Tools that can fix what they find.
    fixes: BTreeSet<String>,
    /// An agent is configured for fixers.
    agents: bool,
    /// Findings are fixed here. A plain review only reports them.
    fixed: bool,
    roster: Roster,
    /// Fixers that have a personality in this run.
    people: BTreeSet<String>,
    /// The reviewers that own each field.
    owners: BTreeMap<String, BTreeSet<Reviewer>>,
    /// Keep findings that ownership rules would filter out.
    include_filtered: bool,
}

impl Routing {
    /// Gathers the routing of a loop whose findings go to several fixers; none for the others.
    pub(crate) fn of(context: &RunContext, review_loop: &Loop, run_state: &RunState) -> Option<Routing> {
        let polish = match subject::of(review_loop.id())? {
            Subject::Phase => false,
            Subject::Polish => true,
            Subject::Plan(_) | Subject::Lane(..) | Subject::Chain => return None,
        };
        let review = run_state.review();
        let tools = review.into_iter().flat_map(|review| &review.tools).map(|reviewer| reviewer.name.clone());
        let fixes = |name: &String| context.tools.get(name).is_some_and(|tool| !tool.fix.is_empty());
        let mut owners: BTreeMap<String, BTreeSet<Reviewer>> = BTreeMap::new();
        for reviewer in review.into_iter().flat_map(|review| &review.reviewers) {
            for field in &reviewer.owns {
                owners.entry(field.clone()).or_default().insert(Reviewer::new(&reviewer.id));
            }
        }
        let roles = context.settings.agents.roles.iter();
        Some(Routing {
            polish,
            fixes: tools.filter(fixes).collect(),
            agents: context.adapter_for(&["fixer", "dev"]).is_some(),
            // A run always fixes what its own review finds.
            fixed: review.is_none_or(|review| review.fix),
            roster: context.roster.get_or_init(|| panel::kept(&context.dir)).clone(),
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
            open.into_iter().for_each(|at| tracked[at].fixer = Some(Builder::new(PUT_BACK)));
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
                Fixer::Builder(builder) => tracked[at].fixer = Some(builder),
                // The owner of the field is not here, so the finding is put to a person.
                Fixer::Person => tracked[at].builders = false,
            }
        }
    }

    fn fixer(&self, one: &Tracked, known: Option<&Entry>, assigned: Assigned) -> Fixer {
        // A tool that was asked before and did not fix the finding is not asked again.
        let tried = known.filter(|entry| entry.ordered || entry.survived() > 0);
        let tried = tried.and_then(|entry| entry.fixer.as_ref());
        let mut tools = one.by.iter().filter_map(|source| match source {
            Source::Check(check) => Some(check.as_str()),
            Source::Reviewer(_) => None,
        });
        let tool = tools.find(|name| tried.is_none() && self.fixes.contains(*name));
        Fixer::Builder(match (tool, assigned) {
            (Some(tool), _) => Builder::new(format!("{TOOL}{tool}")),
            // No fixer is missing where nothing is to be fixed.
            (None, _) if !self.agents || !self.fixed => Builder::new(NOBODY),
            (None, Assigned::Fixer(id)) => Builder::new(id),
            (None, Assigned::Anybody) => Builder::new(ANYBODY),
            (None, Assigned::Person(_)) => return Fixer::Person,
        })
    }
}

/// The fixer of one finding.
enum Fixer {
    Builder(Builder),
    Person,
}

/// The field of a reviewer's finding. A tool's finding is in no field but the one that the tool's row names.
fn field(one: &Tracked) -> Option<String> {
    let by_reviewer = one.by.iter().any(|source| matches!(source, Source::Reviewer(_)));
    if by_reviewer { domain_of(&one.claim) } else { one.claim.domain.clone() }
}
