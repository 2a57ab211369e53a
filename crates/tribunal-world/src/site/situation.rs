//! Gathers the facts from which `tribunal_core::policy` decides how a subject is judged: what is configured, installed
//! and known here.
//!
//! Nothing is decided in this file. A rule added here would be met neither by the simulator nor by the laws of the
//! core.

use super::Site;
use crate::check;
use crate::check::hooks;
use crate::tests_run::green;
use std::collections::BTreeSet;
use tribunal_core::checks::VERIFICATION;
use tribunal_core::green::ProjectCommand;
use tribunal_core::ids::{Check, Seat};
use tribunal_core::policy::{Panel, Situation, Staff};
use tribunal_core::run::Subject;
use tribunal_engine::docket::{Docket, ReviewNote};

/// The situation of a subject.
pub(crate) fn gather(site: &Site, subject: &Subject, docket: &Docket) -> Situation {
    let settings = &site.settings;
    let plan = super::subject::plan_of(subject);
    let of_base = site.check_settings(docket);
    // A check stays even if the branch no longer names it after a rebase, so both sets of settings count.
    let commands: BTreeSet<&String> =
        settings.checks.commands.keys().chain(of_base.commands.keys()).collect();
    let verification = Check::new(VERIFICATION);
    Situation {
        switched_off: settings.gates.off.iter().cloned().collect(),
        commands: commands.into_iter().map(Check::new).collect(),
        has_verification: !check::commands(site, subject, &verification, docket).is_empty(),
        has_tests: green::known(site, docket, ProjectCommand::Test).is_some(),
        has_build: green::known(site, docket, ProjectCommand::Build).is_some(),
        // A plan is not a commit, so no hook applies to it, and looking for hooks costs a process.
        has_hooks: !matches!(subject, Subject::Plan(_)) && hooks::any(site),
        has_fixers: site.adapter_for(&["fixer", "dev"]).is_some(),
        is_code: crate::build::artifact::is_code(docket),
        needs_approval: plan.is_some_and(|plan| docket.about.approval.contains(plan)),
        // Rounds that the user configured win over the effort's own.
        effort: (settings.task.rounds_max == 0).then(|| site.effort_of(plan, docket)),
        panel: docket.about.review.is_none().then(|| panel(docket.convened.as_deref())),
        staff: staff(site),
    }
}

/// The panel that was assembled for what the run built; empty if assembling failed.
fn panel(found: Option<&ReviewNote>) -> Panel {
    let tools = found.into_iter().flat_map(|review| &review.tools);
    let reviewers = found.into_iter().flat_map(|review| &review.seats);
    Panel {
        tools: tools.map(|tool| Check::new(&tool.name)).collect(),
        reviewers: reviewers.map(|reviewer| Seat::new(&reviewer.id)).collect(),
    }
}

fn staff(site: &Site) -> Staff {
    let roles = &site.settings.agents.roles;
    let named = roles.keys().filter(|name| site.adapter_for(&[name.as_str()]).is_some());
    Staff { everybody: site.adapter_for(&["reviewer"]).is_some(), named: named.map(Seat::new).collect() }
}
