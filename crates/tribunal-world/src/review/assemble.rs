//! Assembles the panel that reviews what a run built.
//!
//! It waits until everything has landed, because the panel depends on the real change. The roster and the personalities
//! are those the run began with: work that was built meanwhile has no say in who reviews it.

use super::panel;
use crate::context::RunContext;
use crate::project::error::SetupError;
use crate::setup::examine::{Ends, ReviewAsk, Target, assembled};
use tribunal_engine::run_state::{ReviewNote, RunState};
use tribunal_git::Oid;

/// The panel for what landed; none before anything did.
pub(crate) fn assemble(context: &RunContext, run_state: &RunState) -> Result<Option<ReviewNote>, SetupError> {
    let Some(tip) = run_state.run.as_ref().and_then(|run| run.tip()) else { return Ok(None) };
    let base = Oid::parse(run_state.base())?;
    let number = &run_state.about.phase;
    let ends = Ends {
        base: base.clone(),
        head: context.commit_of(tip)?,
        target: format!("phase {number}"),
        key: format!("phase {number}"),
        // A phase whose folder is gone is reviewed without its documents.
        phase: context.project.phase(Some(number)).ok(),
    };
    let ask = ReviewAsk {
        target: Target::Phase(Some(number.clone())),
        fix: true,
        rounds_max: None,
        panel: Vec::new(),
        include_filtered: false,
        attached: false,
    };
    // The settings of the run already hold every personality, so none is read from the tree here.
    let mut settings = context.settings.clone();
    let roster = panel::kept(&context.dir);
    let (note, _) = assembled(&context.project, &mut settings, &ask, &ends, &base, Some(roster))?;
    Ok(Some(note))
}
