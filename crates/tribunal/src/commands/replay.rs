//! `tribunal replay`: folds a journal again and compares every decision with what the machines say now. It only reads.
//!
//! It proves that a journal and this version of the program agree. A difference means that the rules changed since, or
//! that somebody changed the journal.

use crate::args::{Globals, Replay as Args};
use crate::exit::Done;
use crate::facts;
use crate::failure::Failure;
use crate::out;
use crate::place::{Place, Seen};
use crate::tui::{self, Step};
use serde::Serialize;
use std::fmt::Write;
use std::io::IsTerminal;
use tribunal_engine::replay::{Replay, Row};
use tribunal_engine::{Fact, RunStateError};
use tribunal_view::style::{Mark, Style};
use tribunal_view::{log, words};

/// How many differences are printed in full; of the rest only the number.
const SHOWN: usize = 20;

/// The counts and differences of one replay; with `--json` this is the output.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    run: String,
    rows: usize,
    facts: usize,
    decisions: usize,
    notes: usize,
    differing: Vec<Difference>,
    unsettled: Vec<String>,
}

/// A decision that the machines would not take now.
#[derive(Debug, Serialize)]
struct Difference {
    seq: u64,
    of: String,
    recorded: String,
    expected: String,
}

/// Replays a run, and lets a person step through it with `--step`.
pub fn run(globals: &Globals, args: &Args) -> Result<Done, Failure> {
    let place = Place::here()?;
    let id = place.find(args.run.as_deref())?;
    let seen = place.read(&id)?;
    let style = out::stdout_style(globals);
    // Refused before the journal is folded, which may take a while.
    if args.step && !(std::io::stdout().is_terminal() && std::io::stdin().is_terminal()) {
        return Err(Failure::usage("`tribunal replay --step` needs a terminal")
            .hint("`tribunal replay --steps` prints every row"));
    }
    // The full-screen display has its own colours; escape codes in the lines would be shown as text.
    let lines = if args.step { Style::PLAIN } else { style };
    let (outcome, steps) = replay(&seen, (args.steps || args.step) && !globals.json, lines)?;
    if globals.json {
        out::json(&outcome)?;
    } else if args.step {
        let verdict = told(&outcome, Style::PLAIN);
        let walked = tui::walk(&seen, &steps, verdict.lines().next().unwrap_or_default())?;
        // Somebody wants the program gone: no result is printed after that.
        if let Done::Signal(_) = walked {
            return Ok(walked);
        }
        out::data(&told(&outcome, style))?;
    } else {
        let line = |step: &Step| format!("{} {}\n", step.sign, step.line);
        out::data(&(steps.iter().map(line).collect::<String>() + &told(&outcome, style)))?;
    }
    let as_recorded = outcome.differing.is_empty() && outcome.unsettled.is_empty();
    Ok(if as_recorded { Done::Passed } else { Done::Shut })
}

fn replay(seen: &Seen, steps: bool, style: Style) -> Result<(Outcome, Vec<Step>), Failure> {
    let mut replay = Replay::default();
    let mut outcome = Outcome { run: seen.id.clone(), ..Outcome::default() };
    let (mut told, mut began) = (Vec::new(), 0);
    seen.reader.each(1, |row| {
        let (fact, kind) = replay.take(&row)?;
        if outcome.rows == 0 {
            began = row.at;
        }
        outcome.rows += 1;
        let sign = match kind {
            Row::Decision { .. } => {
                outcome.decisions += 1;
                '='
            }
            Row::Fact => {
                outcome.facts += 1;
                '<'
            }
            Row::Note => {
                outcome.notes += 1;
                ' '
            }
            // Folding goes on with what was recorded, so one difference does not make every later row differ.
            Row::Differs { expected } => {
                let (seq, of) = (row.seq, row.of.to_owned());
                let difference = Difference { seq, of, recorded: body(&fact), expected: body(&expected) };
                outcome.differing.push(difference);
                '!'
            }
        };
        if let Some(event) = facts::event(&seen.id, row.seq, row.at, &fact).filter(|_| steps) {
            let line = log::line(&event, began, style).trim_end().to_owned();
            told.push(Step { seq: row.seq, sign, line });
        }
        Ok::<(), RunStateError>(())
    })?;
    // A journal that ends in the middle of a turn was cut off: the machines would still decide something.
    outcome.unsettled = replay.unsettled();
    Ok((outcome, told))
}

fn body(fact: &Fact) -> String {
    fact.encode().map(|(_, _, body)| body).unwrap_or_default()
}

fn told(outcome: &Outcome, style: Style) -> String {
    let good = outcome.differing.is_empty() && outcome.unsettled.is_empty();
    let mark = style.mark(if good { Mark::Complete } else { Mark::Failed });
    let mut text = format!(
        "{mark} run {}: {} folded again; of {} {}, from {} that came from outside\n",
        outcome.run,
        words::count(outcome.rows, "row"),
        words::count(outcome.decisions + outcome.differing.len(), "decision"),
        match outcome.differing.len() {
            0 => "every one came out as recorded".to_owned(),
            n => format!("{n} came out otherwise"),
        },
        words::count(outcome.facts, "fact"),
    );
    for one in outcome.differing.iter().take(SHOWN) {
        let (recorded, expected) = (short(&one.recorded), short(&one.expected));
        let _ = writeln!(text, "  #{} {}: recorded {recorded}, expected {expected}", one.seq, one.of);
    }
    if outcome.differing.len() > SHOWN {
        let _ = writeln!(text, "  and {} more", outcome.differing.len() - SHOWN);
    }
    for of in &outcome.unsettled {
        let _ = writeln!(text, "  {of}: the journal ends before a decision that follows from it");
    }
    if !good {
        text.push_str("hint: the journal was written by another version of Tribunal, or changed since\n");
    }
    text
}

fn short(text: &str) -> String {
    tribunal_view::plain::clipped(text, 160)
}
