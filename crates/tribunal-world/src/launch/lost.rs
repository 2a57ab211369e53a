//! Launches that began and whose end was never recorded, because the orchestrator died first. Their cost counts all the
//! same: what they report themselves, or else what was reserved for them.
//!
//! The reservation is written beside each launch before it begins. Otherwise a budget could be spent again after every
//! crash.

use super::Flight;
use crate::context::RunContext;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use tribunal_core::machine::Machine;
use tribunal_core::review_loop::FailureKind;
use tribunal_engine::run_state::{LaunchNote, Note, RunState};
use tribunal_process::{Left, end_left_behind};

/// The file with the reservation, in the folder of the launch.
const FILE: &str = "reserved.json";

/// What is known of a launch before it begins.
#[derive(Debug, Serialize, Deserialize)]
struct Reserved {
    effect: String,
    role: String,
    agent: String,
    round: u32,
    micros: u64,
}

/// Records what is reserved for a launch that is about to begin.
pub(crate) fn keep(flight: &Flight) -> std::io::Result<()> {
    let reserved = Reserved {
        effect: flight.effect.to_string(),
        role: flight.role.clone(),
        agent: flight.agent.clone(),
        round: flight.round,
        micros: flight.reserved,
    };
    std::fs::write(flight.out_dir.join(FILE), serde_json::to_vec(&reserved)?)
}

/// The note of a dead orchestrator's launch that gave no answer. `read` is what it left, as far as that is known.
pub(crate) fn note(dir: &Path, read: LaunchNote) -> Note {
    let read = match kept(dir) {
        // The settings may have changed since, so the reservation from the launch's beginning counts.
        Some(kept) => LaunchNote { round: kept.round, reserved_micros: kept.micros, ..read },
        None => read,
    };
    Note::Lost(Box::new(read))
}

/// Notes for launches that began, that nobody wants any more, and whose end is in no journal.
pub(crate) fn unwanted(context: &RunContext, run_state: &RunState) -> Vec<Note> {
    let wanted = wanted(run_state);
    let folders =
        std::fs::read_dir(context.dir.join("launches")).into_iter().flatten().filter_map(Result::ok);
    let mut lost: Vec<Reserved> = Vec::new();
    for folder in folders.map(|folder| folder.path()) {
        let Some(kept) = kept(&folder) else { continue };
        let known = run_state.launches_for(&kept.effect).next().is_some()
            || run_state.killed.iter().any(|note| note.effect == kept.effect)
            || wanted.contains(&kept.effect);
        // If it cannot be told whether a launch began, it counts as begun: an unknown cost must not look like none.
        if !known && !matches!(end_left_behind(&folder), Ok(Left::NeverLaunched)) {
            lost.push(kept);
        }
    }
    // `read_dir` lists folders in no particular order.
    lost.sort_by(|one, other| one.effect.cmp(&other.effect));
    let note = |kept: Reserved| LaunchNote {
        effect: kept.effect,
        role: kept.role,
        agent: kept.agent,
        round: kept.round,
        reserved_micros: kept.micros,
        cost_unknown: true,
        failed: Some(FailureKind::Crashed),
        ..LaunchNote::default()
    };
    lost.into_iter().map(|kept| Note::Lost(Box::new(note(kept)))).collect()
}

/// The effects that are still wanted. The engine probes those one by one.
fn wanted(run_state: &RunState) -> BTreeSet<String> {
    let of_loops = run_state.loops.values().flat_map(|review_loop| {
        let wants = review_loop.wants();
        let open = review_loop.intents().iter().filter(|(effect, _)| wants.contains_key(effect));
        open.map(|(effect, _)| effect.to_string()).collect::<Vec<_>>()
    });
    let of_run = run_state.run.iter().flat_map(|run| run.intents().map(|(effect, _)| effect.to_string()));
    of_loops.chain(of_run).collect()
}

fn kept(dir: &Path) -> Option<Reserved> {
    serde_json::from_slice(&std::fs::read(dir.join(FILE)).ok()?).ok()
}
