//! The end of a run in words: what landed, rounds, findings by fate, time, cost, the report, and what to do next. A run
//! that waits ends with the commands that answer.
//!
//! The word "landed" is kept for the user's branch. Work on the run's own branch is "merged", because the user does not
//! have it yet.

use crate::facts::{PlanState, RunView, beside_a_pass};
use crate::style::{Style, columns};
use crate::{plain, question, status, words};
use std::fmt::Write;
use tribunal_core::run::Ending;

/// The number of plans whose words a summary repeats.
const BUILT_SHOWN: usize = 3;

/// Writes the closing words of a run.
///
/// Questions and next steps stand at the end, so that commands are the last thing on the screen.
pub fn text(run: &RunView, style: Style) -> String {
    let mut out = before_asking(run, style);
    for open in &run.questions {
        out.push('\n');
        out.push_str(&question::text(open, style));
    }
    out.push_str(&after(run, style));
    out
}

/// Writes the same without the commands that answer, for somebody who is asked right after it.
///
/// A person at the terminal is then asked directly, and the commands would only repeat the choices.
pub fn before_asking(run: &RunView, style: Style) -> String {
    let mut out = String::from("\n");
    if let Some(banner) = banner(run, style) {
        out.push_str(&banner);
    }
    let _ = writeln!(out, "{} {}", style.mark(run.mark()), style.bold(&style.wrap(&headline(run), "  ")));
    out.push('\n');
    // A run of one change has no list of plans: its words say what it is.
    if !run.plans.is_empty() && !run.asked {
        out.push_str(&status::plans(run, style));
        out.push('\n');
    }
    for (name, value) in rows(run) {
        let value = wrapped(&value, run.take.as_deref(), style);
        let _ = writeln!(out, "  {}  {value}", style.faint(&format!("{name:<9}")));
    }
    out
}

/// Writes what was found on the way, and what to do next.
pub fn after(run: &RunView, style: Style) -> String {
    let mut out = String::new();
    if !run.discovered.is_empty() {
        let _ = writeln!(out, "\n  Found on the way, left alone");
        for issue in &run.discovered {
            let _ = writeln!(out, "    ⚠ {}", style.wrap(&plain::clipped(issue, 300), "      "));
        }
    }
    if !run.next.is_empty() {
        let _ = writeln!(out, "\n  Next");
        run.next.iter().for_each(|command| {
            let _ = writeln!(out, "    {command}");
        });
    }
    out
}

/// Draws the box around the name of a phase that is over; `None` if the terminal is too narrow for it.
fn banner(run: &RunView, style: Style) -> Option<String> {
    let word = match run.ending? {
        Ending::Passed if run.artifact.is_some() && !run.asked => "Written",
        Ending::Passed => "Built",
        Ending::Concerns => "Open concerns",
        Ending::Shut => "The gate stayed shut",
        Ending::Stopped => "Stopped",
        Ending::Cancelled => "Cancelled",
    };
    // A phase is named by its folder: the number, then the words.
    let (number, name) = run.phase.split_once('-').unwrap_or((&run.phase, ""));
    let name = if name.is_empty() { String::new() } else { format!(": {}", plain::clipped(name, 60)) };
    let text = match &run.artifact {
        Some(artifact) => format!("{} -- {word}", plain::clipped(artifact, 90)),
        None => format!("Phase {}{name} -- {word}", plain::clipped(number, 20)),
    };
    let width = text.chars().count() + 4;
    let bar = "═".repeat(width);
    // A box that wraps is worse than none.
    (style.width == 0 || width + 2 <= style.width).then(|| format!("╔{bar}╗\n║  {text}  ║\n╚{bar}╝\n\n"))
}

/// Writes a value beside its name. A command at its end that does not fit gets a line of its own, from the left, and
/// stays whole.
fn wrapped(value: &str, command: Option<&str>, style: Style) -> String {
    let room = style.width.saturating_sub(13);
    let words = |text: &str| {
        let narrower = Style { width: room, ..style };
        narrower.wrap(text, "").replace('\n', &format!("\n{}", " ".repeat(13)))
    };
    let before = command.and_then(|command| Some((value.strip_suffix(command)?, command)));
    match before {
        _ if style.width == 0 => value.to_owned(),
        Some((before, command)) if columns(value) > room => {
            format!("{}\n    {command}", words(before.trim_end()))
        }
        _ => words(value),
    }
}

fn headline(run: &RunView) -> String {
    let it = match &run.artifact {
        Some(asked) if run.asked => format!("“{}”", plain::line(asked)),
        Some(artifact) => format!("The {}", plain::line(artifact)),
        None => format!("Phase {}", plain::line(&run.phase)),
    };
    let time = words::duration(run.ms());
    match run.ending {
        // A pass without tests is never a bare one.
        Some(Ending::Passed) => format!("{it} passed in {time}{}", beside_a_pass(&run.commands)),
        Some(Ending::Concerns) => {
            format!("{it} was not approved and goes on, with open concerns, after {time}")
        }
        Some(Ending::Shut) => format!("{it}: the gate stayed shut after {time}"),
        Some(Ending::Stopped) => format!("{it} was stopped after {time}"),
        Some(Ending::Cancelled) => format!("{it} was cancelled after {time}"),
        // A question comes before the hint to resume: resuming alone would ask the same again.
        None if !run.questions.is_empty() => format!("{it} waits for you after {time}"),
        None => format!("{it} is not over; `tribunal resume {}` goes on", run.id),
    }
}

fn rows(run: &RunView) -> Vec<(&'static str, String)> {
    let rounds: u32 = run.loops.iter().map(|review_loop| review_loop.round).sum();
    let reworks: u32 = run.loops.iter().map(|review_loop| review_loop.round.saturating_sub(1)).sum();
    let reworks = match reworks {
        0 => "no rework".to_owned(),
        n => words::count(n as usize, "rework"),
    };
    let loops = words::count(run.loops.len(), "loop");
    let mut rows = vec![
        ("Landed", landed(run)),
        ("Rounds", format!("{rounds} in {loops}, {reworks}")),
        ("Findings", status::findings_words(run)),
        ("Agents", agents(run)),
        ("Time", words::duration(run.ms())),
    ];
    // An artifact is written and not landed plan by plan, so the first row would be empty.
    if run.artifact.is_some() && !run.asked {
        rows.remove(0);
    }
    if !run.care.is_empty() {
        rows.push(("Effort", run.care.clone()));
    }
    // A launch that tells no price still needs the row, so that the cost does not look like zero.
    if run.effort.cost_micros + run.effort.unpriced > 0 {
        rows.push(("Cost", run.effort.money()));
    }
    if !run.refused_landings.is_empty() {
        rows.push(("Landings", format!("refused and reworked: {}", run.refused_landings.join("; "))));
    }
    run.decisions.iter().for_each(|decision| rows.push(("Decided", plain::clipped(decision, 300))));
    run.finish.iter().for_each(|note| rows.push(("Branch", plain::clipped(note, 300))));
    run.take.iter().for_each(|command| rows.push(("To take", taken_by(run, command))));
    run.commands.iter().for_each(|command| rows.push(("Tests", plain::line(&command.line()))));
    run.unreviewed.iter().for_each(|note| rows.push(("Unjudged", plain::line(note))));
    run.unkept.iter().for_each(|open| rows.push(("Sandbox", plain::line(open))));
    run.report.iter().for_each(|path| rows.push(("Report", path.clone())));
    run.review.iter().for_each(|path| rows.push(("Review", path.clone())));
    rows
}

/// Says that the result is not on the user's branch, and how it gets there.
fn taken_by(run: &RunView, command: &str) -> String {
    format!("{} does not have the result: {command}", plain::clipped(&run.branch, 60))
}

fn landed(run: &RunView) -> String {
    let ids = |state: PlanState| -> Vec<String> {
        run.plans.iter().filter(|plan| plan.state == state).map(|plan| plan.id.clone()).collect()
    };
    let landed = ids(PlanState::Landed);
    let mut text = match landed.len() {
        0 if run.asked => "nothing".to_owned(),
        0 => format!("none of {}", words::count(run.plans.len(), "plan")),
        1 if run.asked => "the change".to_owned(),
        1 if run.plans.len() == 1 => "the only plan".to_owned(),
        n if n == run.plans.len() => format!("all {}", words::count(n, "plan")),
        n => format!("{n} of {}: {}", words::count(run.plans.len(), "plan"), landed.join(", ")),
    };
    // Work on the run's own branch has not landed: that word is kept for the user's branch.
    if !landed.is_empty() && !run.is_there() {
        let branch = plain::clipped(&run.branch, 60);
        text = format!("nothing yet: {branch} does not have what was approved ({text})");
    }
    // The branch had some of it before the run came to its end.
    let had: Vec<&str> =
        landed.iter().filter(|id| run.already_there.contains(*id)).map(String::as_str).collect();
    if !had.is_empty() && run.is_there() {
        let branch = plain::clipped(&run.branch, 60);
        // Work that a person brought there by hand is not counted as this run's success.
        text = match had.len() == landed.len() {
            true => format!("nothing new: {branch} had {text} already"),
            false => format!("{text}; {branch} had already: {}", had.join(", ")),
        };
    }
    for (state, word) in
        [(PlanState::Refused, "refused"), (PlanState::Dropped, "dropped"), (PlanState::Stuck, "stuck")]
    {
        let ids = ids(state);
        if !ids.is_empty() && run.asked {
            let why = run.plans.iter().map(|plan| plan.verdict.as_str()).find(|why| !why.is_empty());
            let _ = write!(text, "; {word}{}", why.map(|why| format!(": {why}")).unwrap_or_default());
        } else if !ids.is_empty() {
            let _ = write!(text, "; {word}: {}", ids.join(", "));
        }
    }
    text
}

fn agents(run: &RunView) -> String {
    let effort = &run.effort;
    let launches = words::count(usize::try_from(effort.launches).unwrap_or(usize::MAX), "launch");
    let mut text = format!("{launches}, {}", words::duration(effort.agent_ms));
    if effort.failures > 0 {
        let _ = write!(
            text,
            ", {} lost",
            words::count(usize::try_from(effort.failures).unwrap_or(usize::MAX), "attempt")
        );
    }
    if effort.tokens_in + effort.tokens_out > 0 {
        let (tokens_in, tokens_out) = (words::amount(effort.tokens_in), words::amount(effort.tokens_out));
        let _ = write!(text, ", {tokens_in} tokens in, {tokens_out} out");
    }
    text
}

/// Says what happened, in two to four plain sentences.
///
/// The same sentences begin the report and the page of the run, so all of them tell one story.
pub fn sentences(run: &RunView) -> String {
    let mut said = vec![headline(run)];
    if run.artifact.is_none() || run.asked {
        said.push(format!("Landed: {}", landed(run)));
    }
    let landed = run.plans.iter().filter(|plan| plan.state == PlanState::Landed && !plan.built.is_empty());
    let built: Vec<String> =
        // A full stop inside would make more sentences than there should be.
        landed.map(|plan| plan.built.trim_end_matches('.').replace(". ", "; ")).collect();
    // At most four sentences: what a person must do comes before what was built.
    if run.questions.is_empty() && run.take.is_none() && !built.is_empty() {
        let rest = built.len().saturating_sub(BUILT_SHOWN);
        let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
        said.push(format!("What was built: {}{more}", built[..built.len() - rest].join("; ")));
    }
    if !run.findings.is_empty() {
        said.push(format!("Reviews and checks raised {}", status::findings_words(run)));
    }
    if let Some(command) = &run.take {
        said.push(taken_by(run, &format!("`{command}` takes it")));
    }
    if let Some(open) = run.questions.first() {
        said.push(format!("It waits for an answer about {}: {}", open.subject, open.why));
    }
    said.iter().map(|sentence| format!("{sentence}.")).collect::<Vec<_>>().join(" ")
}
