//! What a loop is about, read from its name, and what the run state knows of it. It looks things up and changes nothing.
//!
//! The names are made by the run machine. Whoever changes their form there has to change `of` and `is_loop` with it; a
//! name that cannot be read makes the effect fail.

use tribunal_core::ids::{LoopId, PlanId, Revision};
use tribunal_core::review_loop::{Loop, Outcome};
use tribunal_core::run::{Job, Standing, Subject};
use tribunal_engine::review::entry_number;
use tribunal_engine::run_state::RunState;

/// The prefix of the name of an artifact's loop.
const CHAIN: &str = "chain.";

/// The name of a loop that polishes, before its number.
const POLISH: &str = "phase.polish";

/// The subject of a loop, by its name: `01-02/task-1.3`, `01-02/plan.1`, `phase.4`, `phase.polish.5`, `chain.spec.1`.
pub(crate) fn of(id: &LoopId) -> Option<Subject> {
    let (name, entry) = id.as_str().rsplit_once('.')?;
    entry.parse::<u32>().ok()?;
    match name {
        "phase" => return Some(Subject::Phase),
        POLISH => return Some(Subject::Polish),
        artifact if artifact.starts_with(CHAIN) => return Some(Subject::Chain),
        _ => {}
    }
    let (plan, label) = name.rsplit_once('/')?;
    let plan = PlanId::new(plan);
    Some(match label {
        "plan" => Subject::Plan(plan),
        "repair" => Subject::Lane(plan, Job::Repair),
        "qa" => Subject::Lane(plan, Job::Qa),
        _ => Subject::Lane(plan, Job::Task(label.strip_prefix("task-")?.parse().ok()?)),
    })
}

/// The plan that a loop works for.
pub(crate) fn plan_of(subject: &Subject) -> Option<&PlanId> {
    match subject {
        Subject::Plan(plan) | Subject::Lane(plan, _) => Some(plan),
        Subject::Phase | Subject::Polish | Subject::Chain => None,
    }
}

/// Whether a name is a loop's. The names of lanes and of the run itself are not.
pub(crate) fn is_loop(of: &str) -> bool {
    of.contains('/') || of.starts_with("phase.") || of.starts_with(CHAIN)
}

/// All loops of a plan, in the order in which they began.
pub(crate) fn loops_of<'a>(run_state: &'a RunState, plan: &PlanId) -> impl Iterator<Item = &'a Loop> {
    let prefix = format!("{plan}/");
    let named = run_state.loops.range(LoopId::new(&prefix)..);
    let named = named.take_while(|(id, _)| id.as_str().starts_with(&prefix));
    let mut loops: Vec<&Loop> = named.map(|(_, review_loop)| review_loop).collect();
    // By their names the tenth would come before the second.
    loops.sort_by_key(|review_loop| entry_number(review_loop.id()));
    loops.into_iter()
}

/// The current document of a plan: as approved, or else as the run found it.
pub(crate) fn plan_revision(run_state: &RunState, plan: &PlanId) -> Option<Revision> {
    let judged = loops_of(run_state, plan)
        .filter(|review_loop| matches!(of(review_loop.id()), Some(Subject::Plan(_))))
        // A loop that is still open counts too: its architect may have revised the document.
        .filter(|review_loop| review_loop.outcome().is_none_or(Outcome::is_good))
        .last()
        .and_then(|review_loop| review_loop.revision().cloned());
    judged.or_else(|| found_revision(run_state, plan))
}

/// The document of a plan as the run found it. Only this one's commands are trusted.
///
/// A plan that an agent revised may name other commands, and they would run in the judgement of that agent's own work.
pub(crate) fn found_revision(run_state: &RunState, plan: &PlanId) -> Option<Revision> {
    let spec = run_state.run.as_ref()?.spec();
    spec.plans.iter().find(|spec| spec.id == *plan).map(|spec| spec.revision.clone())
}

/// How many other lanes a prompt names.
const LANES_SHOWN: usize = 40;

/// The other lanes, one line each: those at work first, and not more than an agent would read.
pub(crate) fn other_lanes(run_state: &RunState, plan: &PlanId) -> Vec<String> {
    let Some(run) = &run_state.run else { return Vec::new() };
    let title = |id: &PlanId| run_state.about.titles.get(id).map_or("", String::as_str);
    let rests = |standing: &Standing<'_>| {
        matches!(standing, Standing::Ready | Standing::Landed(_) | Standing::Dropped(_))
    };
    let others = || run.standings().filter(|(id, _)| *id != plan);
    let at_work = others().filter(|(_, standing)| !rests(standing));
    let at_rest = others().filter(|(_, standing)| rests(standing));
    let mut lines: Vec<String> = at_work
        .chain(at_rest)
        .take(LANES_SHOWN)
        .map(|(id, standing)| format!("{id} ({}): {}", standing_word(&standing), title(id)))
        .collect();
    let more = others().count().saturating_sub(lines.len());
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// The word for a plan's standing.
pub(crate) fn standing_word(standing: &Standing<'_>) -> &'static str {
    match standing {
        Standing::Gating => "plan under review",
        Standing::Ready => "waiting",
        Standing::Working(Job::Task(_)) => "in progress",
        Standing::Working(Job::Repair) => "being repaired",
        Standing::Working(Job::Qa) => "delivery under review",
        Standing::Summary => "writing its summary",
        Standing::Queued => "waiting to land",
        Standing::Stuck(_) => "stuck",
        Standing::Landed(_) => "merged",
        Standing::Refused(_) => "refused",
        Standing::Dropped(_) => "dropped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_ordered_as_numbers() {
        let mut ids = ["01-01/plan.10", "01-01/plan.9", "01-01/task-3.2"].map(LoopId::new);
        ids.sort_by_key(entry_number);
        assert_eq!(ids.map(|id| id.to_string()), ["01-01/task-3.2", "01-01/plan.9", "01-01/plan.10"]);
    }
}
