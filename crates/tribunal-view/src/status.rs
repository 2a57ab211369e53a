//! The status of a run: one line for each plan, `symbol plan gate verdict n/max`, and what the run is doing.
//!
//! Everything that a person must act on comes last, where the eye is after the command has ended.

use crate::facts::{PlanView, RunView};
use crate::plain;
use crate::style::{Style, columns, cut, pad};
use crate::{question, words};
use std::fmt::Write;

/// Writes everything that `tribunal status` says about one run.
///
/// Warnings are limited to the newest, while questions are shown in full: they are what the reader has to act on.
pub fn text(run: &RunView, style: Style) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} {}", style.mark(run.mark()), style.bold(&style.wrap(&headline(run), "  ")));
    // There is nothing to tell about a run without a fact.
    if run.never_began() {
        return out;
    }
    out.push_str(&plans(run, style));
    let facts = facts_line(run);
    let _ = writeln!(out, "  {}", style.wrap(&facts, "  "));
    // Before everything else that is optional: a reader must know what was not enforced.
    for open in &run.unkept {
        let _ = writeln!(out, "  {}", style.wrap(&plain::line(open), "    "));
    }
    for command in &run.commands {
        let _ = writeln!(out, "  {}", style.wrap(&plain::line(&command.line()), "    "));
    }
    for note in &run.let_through {
        let _ = writeln!(out, "  {}", style.wrap(note, "  "));
    }
    for activity in &run.running {
        let since = words::clock(run.at.saturating_sub(activity.since));
        let line = format!("  running {} for {}, {since}", activity.who, activity.of);
        let _ = writeln!(out, "{}", style.fit(&line));
    }
    // The newest few: the report has all of them, and a status must fit a screen.
    for told in run.escalated.iter().rev().take(3) {
        let _ = writeln!(out, "  {}", style.wrap(&format!("for you: {}", plain::clipped(told, 300)), "    "));
    }
    for warning in run.warnings.iter().rev().take(3) {
        let _ =
            writeln!(out, "  {}", style.wrap(&format!("warning: {}", plain::clipped(warning, 300)), "    "));
    }
    if let Some(command) = &run.take {
        // The journal knows how it was when the run ended. A person may have taken the result since.
        let branch = plain::clipped(&run.branch, 60);
        let _ = writeln!(
            out,
            "  {}",
            style.wrap(&format!("{branch} did not get the result; to take it:"), "    ")
        );
        let _ = writeln!(out, "    {command}");
    }
    for open in &run.questions {
        out.push('\n');
        out.push_str(&question::text(open, style));
    }
    out
}

/// Writes the headline: `20261115-204340-1a2b  phase 01-first-steps, building, 12 s`.
pub fn headline(run: &RunView) -> String {
    if run.never_began() {
        return format!("{}  never began, nothing was recorded (`tribunal gc` removes it)", run.id);
    }
    // An open question comes before the stage: a run that waits for a person does nothing until then.
    let state = match (&run.ending, run.questions.is_empty(), run.live) {
        (Some(ending), _, _) => ending.word().to_owned(),
        (None, false, _) => "waits for you".to_owned(),
        (None, true, true) => run.stands().to_owned(),
        (None, true, false) => format!("{}, not running (`tribunal resume` goes on)", run.stands()),
    };
    let it = match &run.artifact {
        Some(artifact) => plain::line(artifact),
        None => format!("phase {}", plain::line(&run.phase)),
    };
    format!("{}  {it}, {state}, {}", run.id, words::duration(run.ms()))
}

/// Writes one line for each plan.
///
/// A plan is one line however long its title is, so that a run of many plans can be taken in at a glance.
pub fn plans(run: &RunView, style: Style) -> String {
    // Columns are as wide as their longest value, but bounded, so that one long word does not push the rest off the
    // screen.
    let widest = |text: fn(&PlanView) -> &str, most: usize| {
        run.plans.iter().map(|plan| columns(text(plan))).max().unwrap_or(0).min(most)
    };
    let (ids, gates, verdicts) = (widest(|p| &p.id, 12), widest(|p| &p.gate, 10), widest(|p| &p.verdict, 20));
    let mut out = String::new();
    for plan in &run.plans {
        let rounds = match plan.rounds_max {
            // As wide as `1/3`, so that the titles stay below each other.
            0 => "   ".to_owned(),
            max => format!("{}/{max}", plan.round),
        };
        let fields = [pad(&plan.id, ids), pad(&plan.gate, gates), pad(&plan.verdict, verdicts), rounds];
        let line = fields.join("  ");
        let title = plain::line(&plan.title);
        // The title is the first thing to go on a narrow terminal: the id names the plan as well.
        let line = if style.width == 0 || style.width > columns(&line) + 16 {
            format!("{line}  {title}")
        } else {
            line
        };
        let room = if style.width == 0 { usize::MAX } else { style.width.saturating_sub(4) };
        let _ = writeln!(out, "  {} {}", style.mark(plan.mark()), cut(line.trim_end(), room));
    }
    out
}

/// Writes rounds, findings, agents and cost in one line.
pub fn facts_line(run: &RunView) -> String {
    let rounds: u32 = run.loops.iter().map(|review_loop| review_loop.round).sum();
    let mut parts = vec![
        words::count(rounds as usize, "round"),
        findings_words(run),
        words::count(usize::try_from(run.effort.launches).unwrap_or(usize::MAX), "launch"),
    ];
    if run.effort.cost_micros > 0 {
        parts.push(words::money(run.effort.cost_micros));
    }
    parts.join(" · ")
}

/// Writes the findings by fate: `5 findings: 3 fixed, 1 advisory and 1 open`.
pub fn findings_words(run: &RunView) -> String {
    if run.findings.is_empty() {
        return "no findings".to_owned();
    }
    let fates: Vec<String> = run.fates().into_iter().map(|(fate, n)| format!("{n} {fate}")).collect();
    format!("{}: {}", words::count(run.findings.len(), "finding"), words::and(&fates))
}
