//! Gathers the facts from which `tribunal_core::policy` decides how a subject is judged: what is configured, installed
//! and known here.
//!
//! Nothing is decided in this file. A rule added here would be met neither by the simulator nor by the laws of the
//! core.

use super::RunContext;
use crate::check;
use crate::check::hooks;
use crate::tests_run::green;
use std::collections::BTreeSet;
use tribunal_core::checks::VERIFICATION;
use tribunal_core::green::ProjectCommand;
use tribunal_core::ids::{Check, Reviewer};
use tribunal_core::policy::{Panel, Situation, Staff};
use tribunal_core::run::Subject;
use tribunal_engine::run_state::{ReviewNote, RunState};

/// The situation of a subject.
pub(crate) fn gather(context: &RunContext, subject: &Subject, run_state: &RunState) -> Situation {
    let settings = &context.settings;
    let plan = super::subject::plan_of(subject);
    let of_base = context.check_settings(run_state);
    // A check stays even if the branch no longer names it after a rebase, so both sets of settings count.
    let commands: BTreeSet<&String> =
        settings.checks.commands.keys().chain(of_base.commands.keys()).collect();
    let verification = Check::new(VERIFICATION);
    Situation {
        switched_off: settings.gates.off.iter().cloned().collect(),
        commands: commands.into_iter().map(Check::new).collect(),
        has_verification: !check::commands(context, subject, &verification, run_state).is_empty(),
        has_tests: green::known(context, run_state, ProjectCommand::Test).is_some(),
        has_build: green::known(context, run_state, ProjectCommand::Build).is_some(),
        // A plan is not a commit, so no hook applies to it, and looking for hooks costs a process.
        has_hooks: !matches!(subject, Subject::Plan(_)) && hooks::any(context),
        has_fixers: context.adapter_for(&["fixer", "dev"]).is_some(),
        is_code: crate::build::artifact::is_code(run_state),
        needs_approval: plan.is_some_and(|plan| run_state.about.approval.contains(plan)),
        // Rounds that the user configured win over the effort's own.
        effort: (settings.task.rounds_max == 0).then(|| context.effort_of(plan, run_state)),
        panel: run_state.about.review.is_none().then(|| panel(run_state.assembled.as_deref())),
        staff: staff(context),
    }
}

/// The panel that was assembled for what the run built; empty if assembling failed.
fn panel(found: Option<&ReviewNote>) -> Panel {
    let tools = found.into_iter().flat_map(|review| &review.tools);
    let reviewers = found.into_iter().flat_map(|review| &review.reviewers);
    Panel {
        tools: tools.map(|tool| Check::new(&tool.name)).collect(),
        reviewers: reviewers.map(|reviewer| Reviewer::new(&reviewer.id)).collect(),
    }
}

fn staff(context: &RunContext) -> Staff {
    let roles = &context.settings.agents.roles;
    let named = roles.keys().filter(|name| context.adapter_for(&[name.as_str()]).is_some());
    Staff {
        everybody: context.adapter_for(&["reviewer"]).is_some(),
        named: named.map(Reviewer::new).collect(),
    }
}
