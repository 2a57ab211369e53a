//! Warnings that passed: findings that a gate let through are shown to whoever works on that plan next.
//!
//! They are words of reviewers, so the prompt fences them as data. Without them a condition of one gate would be
//! forgotten at the next.

use std::collections::BTreeMap;
use tribunal_core::finding::Fate;
use tribunal_core::ids::{FindingId, LoopId, PlanId};
use tribunal_core::review_loop::Loop;
use tribunal_engine::review::entry_number;
use tribunal_engine::run_state::RunState;
use tribunal_view::prompt::FindingLine;

/// How many warnings are shown; the newest are taken.
const MAX: usize = 40;

/// The warnings that earlier loops of a plan carried on, one line each.
pub(crate) fn carried(run_state: &RunState, plan: &PlanId, own: &LoopId) -> Vec<String> {
    let prefix = format!("{plan}/");
    let earlier = |id: &LoopId| id != own && id.as_str().starts_with(&prefix);
    let mut loops: Vec<(&LoopId, &Loop)> = run_state.loops.iter().filter(|(id, _)| earlier(id)).collect();
    loops.sort_by_key(|(id, _)| entry_number(id));
    let mut lines: BTreeMap<FindingId, Option<String>> = BTreeMap::new();
    for (id, review_loop) in loops {
        for (finding, entry) in review_loop.ledger().iter() {
            // A loop that continues another one has the last word on its carried findings.
            let line = (entry.fate == Fate::Carried).then(|| {
                format!("- carried from {}: {}", gate(id, &prefix), FindingLine::of(finding, entry).text())
            });
            lines.insert(finding, line);
        }
    }
    let lines: Vec<String> = lines.into_values().flatten().collect();
    // Ids grow, so the newest warnings are at the end.
    let from = lines.len().saturating_sub(MAX);
    lines[from..].to_vec()
}

/// The loop that a warning comes from: `the plan gate`, `task-1`.
fn gate<'a>(id: &'a LoopId, prefix: &str) -> &'a str {
    let name = id.as_str().strip_prefix(prefix).unwrap_or(id.as_str());
    let name = name.split('.').next().unwrap_or(name);
    if name == "plan" { "the plan gate" } else { name }
}
