//! From a row of the table to the policy of one loop: which checks apply, who reviews, how many rounds there are, and
//! what happens when nobody can review.
//!
//! The world reports what is there (a [`Situation`]); every rule is here, where the laws and the simulator meet it. A
//! rule in the world would escape both.

use super::{Effort, Policy, Use};
use crate::checks;
use crate::green::{self, ProjectCommand};
use crate::ids::{Check, Reviewer};
use crate::run::{Job, Subject};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Who reviews a polish if no panel was assembled.
///
/// Nobody is asked about a polish and its checks approve nothing, so a reviewer has to.
const ANY_REVIEWER: &str = "reviewer";

/// The facts that decide how one subject is judged: what is installed, configured and changed.
///
/// The world gathers them and decides nothing with them. The simulator makes them up, and so meets the same rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Situation {
    /// Gates and checks that the user switched off, by name.
    pub switched_off: BTreeSet<String>,
    /// The user's own commands that judge (`checks.commands`), including those of a newer base.
    pub commands: Vec<Check>,
    /// The subject has commands by which it verifies itself.
    pub has_verification: bool,
    /// A command that tests the project is known.
    pub has_tests: bool,
    /// A command that builds the project is known.
    pub has_build: bool,
    /// The user has commit hooks.
    pub has_hooks: bool,
    /// An agent can fix what a review finds.
    pub has_fixers: bool,
    /// The subject is code. An artifact of a chain before its implementation is not.
    pub is_code: bool,
    /// A person approves this plan before its builder starts.
    pub needs_approval: bool,
    /// How much care the subject's plan gets; none if the user fixed the number of rounds.
    pub effort: Option<Effort>,
    /// Who was found for the review of what a run built; none if the row already names who reviews.
    pub panel: Option<Panel>,
    /// Which reviewers an agent can play.
    pub staff: Staff,
}

/// Who was found to review a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panel {
    /// Tools that judge without a model.
    pub tools: Vec<Check>,
    /// Reviewers that need an agent.
    pub reviewers: Vec<Reviewer>,
}

/// Which reviewers an agent can play.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staff {
    /// One agent is configured for every reviewer without an agent of its own.
    pub everybody: bool,
    /// Reviewers with an agent of their own.
    pub named: BTreeSet<Reviewer>,
}

impl Staff {
    /// Whether somebody can play this reviewer.
    pub fn has(&self, reviewer: &Reviewer) -> bool {
        self.everybody || self.named.contains(reviewer)
    }
}

impl Situation {
    /// Whether nobody switched a check off. A gate's name in the protocol counts as well.
    fn is_on(&self, check: &str) -> bool {
        let gate = if check == checks::VERIFICATION { checks::REQUIRED_CHECKS } else { check };
        !self.switched_off.contains(check) && !self.switched_off.contains(gate)
    }

    /// Whether a check has anything to look at here, and nobody switched it off.
    pub fn applies(&self, subject: &Subject, check: &Check) -> bool {
        let has_something = match check.as_str() {
            checks::STRUCTURE => matches!(subject, Subject::Plan(_)),
            checks::ARTIFACT => *subject == Subject::Chain,
            checks::VERIFICATION => self.has_verification,
            checks::REGRESSION => self.has_tests,
            checks::COMMIT_HOOKS => self.has_hooks,
            _ => true,
        };
        has_something && self.is_on(check.as_str())
    }
}

/// The policy that a loop is opened with.
///
/// The simulator calls the same function, so every rule in it is met by random runs and their laws.
pub fn for_subject(subject: &Subject, row: &Policy, situation: &Situation) -> Policy {
    let mut policy = row.clone();
    policy.checks = checks_for(subject, row, situation);
    policy.reviewers = reviewers_for(subject, row, situation);
    match subject {
        Subject::Plan(_) => policy.approval = situation.needs_approval,
        Subject::Lane(_, Job::Task(_) | Job::Repair) => {
            policy.rounds_max = situation.effort.map_or(row.rounds_max, Effort::task_rounds);
        }
        Subject::Phase if situation.panel.is_some() => {
            // Without a reviewer there is nobody to confirm a pass. The checks alone do not pass a review either: a
            // person has the last word.
            let nobody = policy.reviewers.is_empty();
            policy.confirm &= !nobody;
            policy.approval |= nobody;
        }
        // It is judged once as a whole, so there are no delta rounds to confirm.
        Subject::Polish if situation.panel.is_some() => policy.confirm = false,
        Subject::Lane(..) | Subject::Phase | Subject::Polish | Subject::Chain => {}
    }
    policy
}

/// The checks of a loop: those of its row, or of the panel that was assembled, that have something to look at; and
/// the project's own commands.
fn checks_for(subject: &Subject, row: &Policy, situation: &Situation) -> Vec<Check> {
    let mut all = match (subject, &situation.panel) {
        (Subject::Phase, Some(panel)) => review_checks(panel, situation),
        (Subject::Polish, Some(panel)) => {
            let mut all = review_checks(panel, situation);
            all.push(Check::new(checks::REGRESSION));
            all
        }
        _ => row.checks.clone(),
    };
    if let Subject::Lane(_, Job::Task(_) | Job::Repair) = subject {
        // Commands that came with the base of a rebased result judge its repairs too.
        let new: Vec<Check> = situation.commands.iter().filter(|name| !all.contains(name)).cloned().collect();
        all.extend(new);
    }
    // Before the project's commands are added: those are decided by `green::checks_of`, which knows when they apply.
    all.retain(|check| situation.applies(subject, check));
    let is_code = *subject != Subject::Chain || situation.is_code;
    let project = green::checks_of(row.of, is_code, situation.has_build).into_iter();
    all.extend(project.map(ProjectCommand::check).filter(|check| situation.is_on(check.as_str())));
    all
}

/// The checks of a review of what a run built.
fn review_checks(panel: &Panel, situation: &Situation) -> Vec<Check> {
    let own = [checks::VERIFICATION, checks::SECRETS, checks::COMMIT_HOOKS];
    let scope = situation.has_fixers.then_some(checks::FIX_SCOPE);
    let own = own.into_iter().chain(scope).map(Check::new);
    panel.tools.iter().chain(&situation.commands).cloned().chain(own).collect()
}

/// The reviewers of a loop: those of its row, or of the panel that was assembled, whom an agent can play.
fn reviewers_for(subject: &Subject, row: &Policy, situation: &Situation) -> Vec<Reviewer> {
    let panel = situation.panel.as_ref().map(|panel| &panel.reviewers);
    let named = match (subject, panel) {
        (Subject::Phase | Subject::Polish, Some(reviewers)) => reviewers,
        _ => &row.reviewers,
    };
    let mut staffed: Vec<Reviewer> = named.iter().filter(|one| situation.staff.has(one)).cloned().collect();
    if *subject == Subject::Polish && panel.is_some() && staffed.is_empty() {
        staffed.push(Reviewer::new(ANY_REVIEWER));
    }
    staffed
}

impl Policy {
    /// How a polish is judged: by the checks of the review and by the tests, then once by its panel.
    ///
    /// What a check finds goes back and is looked at once more. If anybody else objects, or a person would be asked,
    /// all of it is dropped: a polish is never worth a question.
    pub fn polish(review: &Policy, polisher: crate::ids::Builder) -> Policy {
        debug_assert_eq!(review.of, Use::Phase, "a polish follows a review");
        Policy {
            builder: polisher,
            builder_backup: false,
            asked: super::Asked::UnlessChecksReject,
            // One round for the polish, and one for what a check sent back.
            rounds_max: 2,
            attempts_max: 1,
            at_the_cap: super::AtTheCap::End,
            confirm: false,
            approval: false,
            unattended: true,
            checks: review.checks.iter().cloned().chain([Check::new(checks::REGRESSION)]).collect(),
            ..review.clone()
        }
    }
}

#[cfg(test)]
mod tests;
