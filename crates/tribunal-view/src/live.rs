//! The live block of a terminal: what runs, in what round, findings, time and cost, in as many columns as there are.
//!
//! The block is redrawn in place, so a line that is too long would wrap and leave rubbish behind. That is why every
//! line is cut to the width.

use crate::facts::{PlanState, RunView};
use crate::style::{Style, cut};
use crate::typed::stage_word;
use crate::{plain, status, words};

/// Returns the lines of the block for the moment `now`, each at most `style.width` columns wide without its colours.
///
/// Plans that do not fit are counted in the last line. The block must not grow beyond its terminal, because it could
/// not be redrawn then.
pub fn block(run: &RunView, now: u64, style: Style, lines_max: usize) -> Vec<String> {
    let width = if style.width == 0 { 80 } else { style.width.max(20) };
    let elapsed = words::clock(now.saturating_sub(run.began));
    let mut lines = vec![cut(&format!("{} {elapsed} {}", spinner(now), head(run)), width)];
    // Plans that wait or are done do not move, and their number is in the first line.
    let moving = run
        .plans
        .iter()
        .filter(|plan| !matches!(plan.state, PlanState::Waiting | PlanState::Landed | PlanState::Dropped));
    for plan in moving {
        let rounds =
            if plan.rounds_max > 0 { format!(" {}/{}", plan.round, plan.rounds_max) } else { String::new() };
        let who: Vec<String> = run
            .running
            .iter()
            .filter(|activity| belongs(&activity.of, &plan.id))
            .map(|activity| format!("{} {}", activity.who, words::clock(now.saturating_sub(activity.since))))
            .collect();
        let who = if who.is_empty() { String::new() } else { format!(" — {}", who.join(", ")) };
        let text = format!("{} {} {}{rounds}{who}", plan.id, plan.gate, plan.verdict);
        let text = cut(&plain::line(&text), width.saturating_sub(4));
        lines.push(format!("  {} {text}", style.mark(plan.mark())));
    }
    // Two lines at least: the head, and the count of what is left out.
    let most = lines_max.max(2);
    if lines.len() > most {
        let left = lines.len() - most + 1;
        lines.truncate(most - 1);
        lines.push(cut(&format!("  … and {left} more"), width));
    }
    lines
}

fn head(run: &RunView) -> String {
    let merged = run.plans.iter().filter(|plan| plan.state == PlanState::Landed).count();
    // Only `open` counts here: whoever watches wants to know whether work is left.
    let open = run.open_findings();
    let mut text = format!("{} · {merged}/{} merged", stage_word(run.stage), run.plans.len());
    text.push_str(&format!(" · {} running", run.running.len()));
    if !run.findings.is_empty() {
        text.push_str(&format!(" · {} ({open} open)", words::count(run.findings.len(), "finding")));
    }
    if run.effort.cost_micros > 0 {
        text.push_str(&format!(" · {}", words::money(run.effort.cost_micros)));
    }
    text
}

fn belongs(of: &str, plan: &str) -> bool {
    // The slash is compared as well, because plan `01-1` is not the owner of a loop of plan `01-10`.
    of == plan || of.strip_prefix(plan).is_some_and(|rest| rest.starts_with('/'))
}

/// Turns once per second, so that a look tells whether the program lives.
fn spinner(now: u64) -> char {
    ['◐', '◓', '◑', '◒'][usize::try_from(now / 1_000 % 4).unwrap_or(0)]
}

/// Writes one line, for terminals that cannot be redrawn.
pub fn line(run: &RunView, now: u64) -> String {
    format!("{} {}, {}", words::clock(now.saturating_sub(run.began)), head(run), status::findings_words(run))
}
