//! Warnings that passed: what a gate let through on conditions is told to whoever works next on that plan. Words of
//! reviewers, so the prompt fences them as data.

use std::collections::BTreeMap;
use tribunal_core::finding::Fate;
use tribunal_core::ids::{FindingId, LoopId, PlanId};
use tribunal_core::review_loop::Loop;
use tribunal_engine::docket::Docket;
use tribunal_engine::review::entry_number;
use tribunal_view::prompt::FindingLine;

/// Warnings told at most; the newest are told.
const MAX: usize = 40;

/// What earlier loops of a plan carried on, one line each, as this loop is told it.
pub(crate) fn carried(docket: &Docket, plan: &PlanId, own: &LoopId) -> Vec<String> {
    let prefix = format!("{plan}/");
    let earlier = |id: &LoopId| id != own && id.as_str().starts_with(&prefix);
    let mut loops: Vec<(&LoopId, &Loop)> = docket.loops.iter().filter(|(id, _)| earlier(id)).collect();
    loops.sort_by_key(|(id, _)| entry_number(id));
    let mut lines: BTreeMap<FindingId, Option<String>> = BTreeMap::new();
    for (id, lp) in loops {
        for (finding, entry) in lp.ledger().iter() {
            // A loop that goes on where another ended has the last word on what it took over.
            let line = (entry.fate == Fate::Carried).then(|| {
                format!("- carried from {}: {}", gate(id, &prefix), FindingLine::of(finding, entry).text())
            });
            lines.insert(finding, line);
        }
    }
    let lines: Vec<String> = lines.into_values().flatten().collect();
    let from = lines.len().saturating_sub(MAX);
    lines[from..].to_vec()
}

/// The loop a warning comes from: `the plan gate`, `task-1`.
fn gate<'a>(id: &'a LoopId, prefix: &str) -> &'a str {
    let name = id.as_str().strip_prefix(prefix).unwrap_or(id.as_str());
    let name = name.split('.').next().unwrap_or(name);
    if name == "plan" { "the plan gate" } else { name }
}
