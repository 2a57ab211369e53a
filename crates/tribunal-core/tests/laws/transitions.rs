//! The transitions of the machines as a table: what the walks really do is in it, and each row of it was walked. The
//! design page `docs/design/machines.md` shows this table and the diagrams made from it.

use crate::book::Book;
use std::collections::BTreeSet;
use tribunal_core::ids::Of;
use tribunal_core::run::{Job, Run, RunEvent, Standing};

/// Which machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    Loop,
    Run,
    /// The lane of one plan inside the run.
    Lane,
}

/// An event met a kind of state and left another one. A machine comes from [`BEGIN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub which: Which,
    pub from: &'static str,
    pub event: &'static str,
    pub to: &'static str,
}

/// Before its first event a machine is nowhere.
pub const BEGIN: &str = "begin";

/// One line for each pair of states: `from -> to: event, event`.
const LOOP: &str = "\
begin -> making: opened
begin -> made: opened
making -> making: failed, iterated, made
making -> made: joined, made
making -> closing: failed
making -> ended: ended
made -> checking: round_began
made -> waiting: asked
made -> ended: ended
checking -> checking: checked, failed, unchecked
checking -> judging: panel_assembled
checking -> waiting: asked
checking -> ended: ended
judging -> judging: answered, asked_again, failed, not_covered, part_answered, too_large, verdict_kept
judging -> tracking: panel_closed
judging -> ended: ended
tracking -> tracking: failed
tracking -> hearing: tracked
tracking -> ended: ended
hearing -> judging: asked_again, panel_assembled
hearing -> hearing: asked_again, failed, heard
hearing -> ruled: ruled
hearing -> ended: ended
ruled -> making: rework_ordered
ruled -> checking: confirming
ruled -> judging: exhaustive_ordered
ruled -> waiting: asked
ruled -> ended: ended
waiting -> making: decided
waiting -> checking: decided
waiting -> closing: decided
waiting -> ended: ended
closing -> ended: ended";
const RUN: &str = "\
begin -> gating: opened
begin -> building: opened
begin -> reviewing: opened
gating -> building: gate_decided
gating -> closing: closing, gate_decided
building -> building: wave_opened
building -> reviewing: review_opened
building -> closing: closing, lane_decided
building -> carrying: carry_opened
reviewing -> polishing: loop_ended
reviewing -> closing: closing, loop_ended
polishing -> closing: closing, loop_ended
closing -> finishing: finish_ordered
finishing -> finishing: failed, finished
finishing -> held: failed, held, withheld
finishing -> rebasing: held
finishing -> ended: ended
held -> closing: closing, held_decided
held -> finishing: held_decided
held -> rebasing: held_decided
rebasing -> building: rebased
rebasing -> closing: closing
rebasing -> held: failed, held
rebasing -> rebasing: failed
rebasing -> carrying: rebased
carrying -> reviewing: judge_again
carrying -> closing: carried, closing
carrying -> held: failed, held
carrying -> carrying: failed";
const LANE: &str = "\
begin -> gating: opened
begin -> ready: opened
gating -> ready: loop_ended
gating -> refused: loop_ended
gating -> dropped: plan_dropped
ready -> task: lane_opened
ready -> summary: lane_opened
ready -> qa: lane_opened
ready -> queued: lane_opened
ready -> dropped: plan_dropped
task -> task: checkpoint_due, checkpointed, iterated, loop_ended
task -> summary: loop_ended
task -> stuck: loop_ended
task -> qa: loop_ended
task -> queued: loop_ended
task -> dropped: loop_ended, plan_dropped
repair -> repair: iterated
repair -> summary: loop_ended
repair -> stuck: loop_ended
repair -> qa: loop_ended
repair -> queued: loop_ended
repair -> dropped: plan_dropped
summary -> summary: failed
summary -> qa: summarised
summary -> queued: summarised
summary -> stuck: failed
summary -> dropped: plan_dropped
qa -> qa: iterated
qa -> queued: loop_ended
qa -> stuck: loop_ended
qa -> dropped: plan_dropped
queued -> repair: landing_refused
queued -> queued: failed
queued -> stuck: failed, landing_refused
queued -> landed: landed
queued -> dropped: plan_dropped
stuck -> task: lane_decided
stuck -> repair: lane_decided
stuck -> summary: lane_decided
stuck -> qa: lane_decided
stuck -> queued: lane_decided
stuck -> stuck: lane_asked
stuck -> dropped: lane_decided, plan_dropped
landed -> task: rebased
landed -> queued: rebased";

/// An effect is launched, or was proven not to have been: that changes no state, in any of them.
const EVERYWHERE: [&str; 2] = ["intended", "cleared"];

/// What a run and its lanes begin with.
pub fn run_opened(run: &Run, book: &mut Book) {
    book.moved(Which::Run, BEGIN, "opened", run.stage_name());
    run.standings().for_each(|(_, standing)| book.moved(Which::Lane, BEGIN, "opened", kind(&standing)));
}

/// Records what an event did to the run and to each of its lanes.
pub fn run_moved(before: &Run, event: &RunEvent, after: &Run, book: &mut Book) {
    let touched = event.touches();
    let (from, to) = (before.stage_name(), after.stage_name());
    if from != to || touched.is_none() {
        book.moved(Which::Run, from, event.name(), to);
    }
    for ((plan, from), (_, to)) in before.standings().zip(after.standings()) {
        let is_meant = touched.as_ref().is_some_and(|lanes| lanes.contains(&Of::new(plan.as_str())));
        let (from, to) = (kind(&from), kind(&to));
        if from != to || is_meant {
            book.moved(Which::Lane, from, event.name(), to);
        }
    }
}

fn kind(standing: &Standing<'_>) -> &'static str {
    match standing {
        Standing::Gating => "gating",
        Standing::Ready => "ready",
        Standing::Working(Job::Task(_)) => "task",
        Standing::Working(Job::Repair) => "repair",
        Standing::Working(Job::Qa) => "qa",
        Standing::Summary => "summary",
        Standing::Queued => "queued",
        Standing::Stuck(_) => "stuck",
        Standing::Landed(_) => "landed",
        Standing::Refused(_) => "refused",
        Standing::Dropped(_) => "dropped",
    }
}

/// Every row of the table.
fn table() -> BTreeSet<Row> {
    let rows = |which: Which| {
        lines(which).into_iter().flat_map(move |(from, to, events)| {
            events.split(", ").map(move |event| Row { which, from, event, to })
        })
    };
    [Which::Loop, Which::Run, Which::Lane].into_iter().flat_map(rows).collect()
}

/// What was walked and is not in the table, and what is in the table and was not walked.
pub fn differ(walked: &BTreeSet<Row>) -> (Vec<String>, Vec<String>) {
    let table = table();
    let told = |row: &Row| !EVERYWHERE.contains(&row.event);
    let walked: BTreeSet<Row> = walked.iter().copied().filter(told).collect();
    let words = |row: &Row| format!("{:?}: {} -> {}: {}", row.which, row.from, row.to, row.event);
    (walked.difference(&table).map(words).collect(), table.difference(&walked).map(words).collect())
}

/// The states and events of one machine in the order of the table.
fn lines(which: Which) -> Vec<(&'static str, &'static str, &'static str)> {
    let text = match which {
        Which::Loop => LOOP,
        Which::Run => RUN,
        Which::Lane => LANE,
    };
    let parts = |line: &'static str| {
        let (states, events) = line.split_once(": ")?;
        let (from, to) = states.split_once(" -> ")?;
        Some((from, to, events))
    };
    text.lines().filter_map(parts).collect()
}

/// The diagram of one machine, for people: what changes its state.
fn diagram(which: Which) -> String {
    let moves = lines(which).into_iter().filter(|(from, to, _)| from != to);
    let arrows = moves.map(|(from, to, events)| {
        let from = if from == BEGIN { "[*]" } else { from };
        format!("    {from} --> {to}: {events}\n")
    });
    format!("```mermaid\nstateDiagram-v2\n{}```\n", arrows.collect::<String>())
}

/// The table of one machine, for people.
fn page_table(which: Which) -> String {
    let rows = lines(which).into_iter().map(|(from, to, events)| {
        let events: Vec<String> = events.split(", ").map(|event| format!("`{event}`")).collect();
        format!("| {from} | {} | {to} |\n", events.join(", "))
    });
    format!("| state | event | next state |\n|---|---|---|\n{}", rows.collect::<String>())
}

/// The design page shows what is walked, not what somebody remembered.
#[test]
fn the_design_page_has_this_table_and_these_diagrams() {
    let page = include_str!("../../../../docs/design/machines.md");
    for which in [Which::Loop, Which::Run, Which::Lane] {
        for part in [diagram(which), page_table(which)] {
            assert!(page.contains(&part), "docs/design/machines.md must have this:\n\n{part}");
        }
    }
}
