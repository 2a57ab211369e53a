//! `.execution-state.json` in the protocol's form, from what the journal says.
//!
//! It is a pure function. Keys that it does not know are kept, and so is what another run or tool said about plans that
//! this run does not have.

use super::events::{Course, Delivered, Names};
use serde_json::{Map, Value, json};
use tribunal_core::policy::Use;
use tribunal_core::run::{Ending, Run, Standing};
use tribunal_engine::inbox;
use tribunal_engine::run_state::RunState;
use tribunal_view::calendar::timestamp_with_ms;

/// A plan of the phase, as its documents have it.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    /// The id, as in `01-02`.
    pub id: String,
    /// The title of the plan.
    pub title: String,
    /// The wave in which it is built.
    pub wave: u32,
    /// Whether an earlier run completed it.
    pub complete: bool,
}

/// The state for this run state, on top of what the file said before.
pub(super) fn render(
    before: Option<&Value>,
    run_state: &RunState,
    names: &Names,
    listed: &[Listed],
) -> Value {
    let about = &run_state.about;
    // The file of another phase is not continued.
    let same = |old: &&Map<String, Value>| text(old.get("phase")) == text(Some(&number(&about.phase)));
    let mut state = before.and_then(Value::as_object).filter(same).cloned().unwrap_or_default();
    let name = tribunal_docs::phase_dir(&about.phase_path).map(|dir| dir.slug).unwrap_or_default();
    let run = run_state.run.as_ref();
    let waves = run.iter().flat_map(|run| run.spec().plans.iter().map(|plan| plan.wave));
    let building = run.map(wave).unwrap_or(1);
    let put = [
        ("phase", number(&about.phase)),
        ("phase_name", name.into()),
        ("status", status(run_state).into()),
        ("started_at", timestamp_with_ms(run_state.began.map_or(0, |at| at.0)).into()),
        ("wave", building.into()),
        ("total_waves", waves.max().unwrap_or(1).into()),
        ("correlation_id", about.correlation.clone().into()),
        ("plans", plans(run_state, listed)),
        ("steps_completed", names.steps.clone().into()),
    ];
    // Only these keys are ours. Everything else in the file stays as it was.
    put.into_iter().for_each(|(key, value)| _ = state.insert(key.to_owned(), value));
    for (key, of) in [("review_loops", Use::Plan), ("qa_loops", Use::Qa)] {
        // Loops of plans that this run does not have are another run's, and stay.
        let mut loops = state.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        let ours = names.loops.iter().filter(|(_, course)| course.of == Some(of));
        for (id, course) in ours {
            let plan = id.as_str().split_once('/').map_or("", |(plan, _)| plan);
            loops.insert(plan.to_owned(), if of == Use::Plan { review(course) } else { qa(course) });
        }
        state.insert(key.to_owned(), loops.into());
    }
    state.into()
}

fn number(phase: &str) -> Value {
    phase.parse::<u64>().map_or_else(|_| phase.into(), Value::from)
}

fn text(value: Option<&Value>) -> String {
    match value {
        // Scripts write the phase as `01` or as 1.
        Some(Value::String(text)) => text.trim_start_matches('0').to_owned(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

fn status(run_state: &RunState) -> &'static str {
    match run_state.run.as_ref().and_then(Run::ending) {
        Some(Ending::Passed) => "complete",
        Some(_) => "failed",
        None if !inbox::questions(run_state).is_empty() => "awaiting_approval",
        None => "running",
    }
}

/// The wave that is being built: the last one in which a plan has begun.
fn wave(run: &Run) -> u32 {
    let begun = run.standings().filter(|(_, standing)| !matches!(standing, Standing::Ready));
    let of = |id: &tribunal_core::ids::PlanId| {
        run.spec().plans.iter().find(|plan| plan.id == *id).map(|plan| plan.wave)
    };
    begun.filter_map(|(id, _)| of(id)).max().unwrap_or(1)
}

fn plans(run_state: &RunState, listed: &[Listed]) -> Value {
    let run = run_state.run.as_ref();
    let over = run.is_some_and(|run| run.ending().is_some());
    let status = |plan: &Listed| -> &'static str {
        let standing = run.and_then(|run| run.standings().find(|(id, _)| id.as_str() == plan.id));
        match standing.map(|(_, standing)| standing) {
            Some(Standing::Landed(_)) => "complete",
            Some(Standing::Refused(_) | Standing::Dropped(_) | Standing::Stuck(_)) => "failed",
            Some(Standing::Ready) => "pending",
            // The run is over, so a plan that was at work will not be finished.
            Some(_) if over => "failed",
            Some(_) => "running",
            None if plan.complete => "complete",
            None => "pending",
        }
    };
    let entry = |plan: &Listed| json!({ "id": plan.id, "title": plan.title, "wave": plan.wave, "status": status(plan) });
    listed.iter().map(entry).collect()
}

fn word(course: &Course) -> &'static str {
    match &course.outcome {
        None => "running",
        Some(outcome) if outcome.is_good() => "passed",
        Some(_) => "failed",
    }
}

fn review(course: &Course) -> Value {
    let cycle = |(verdict, count, high): &(&str, usize, usize)| json!({ "verdict": verdict, "finding_count": count, "high": high });
    let cycles: Vec<Value> = course.cycles.iter().map(cycle).collect();
    json!({ "cycle": course.round, "max": course.max, "status": word(course), "findings_per_cycle": cycles })
}

fn qa(course: &Course) -> Value {
    let cycle = |(at, judged): (usize, &Delivered)| {
        json!({
            "cycle": at + 1,
            "failed_count": judged.checks.len(),
            "checks": judged.checks,
            "dev_fixable": judged.dev,
            "hard_stop": judged.stops,
        })
    };
    let cycles: Vec<Value> = course.deliveries.iter().enumerate().map(cycle).collect();
    json!({
        "cycle": course.deliveries.len(),
        "max": course.max.saturating_sub(1),
        "status": word(course),
        "failed_checks_per_cycle": cycles,
    })
}
