//! `tribunal show`: a run, a loop or a finding in full. It only reads.
//!
//! One argument may name a run or a thing of the newest run. `split` decides by looking at the runs, so a thing is
//! never mistaken for a run that does not exist.

use super::status;
use crate::args::{Globals, Show};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use tribunal_core::ids::FindingId;
use tribunal_engine::editor::Remarks;
use tribunal_view::facts::{FindingView, LoopView, RunView};
use tribunal_view::{detail, report};

/// Prints a run, or one loop or finding of it.
pub fn run(globals: &Globals, args: &Show) -> Result<Done, Failure> {
    let place = Place::here()?;
    let (run, what) = split(&place, args);
    let id = place.find(run)?;
    let seen = place.read(&id)?;
    let view = status::view(&seen)?;
    let style = out::stdout_style(globals);
    match what {
        None if globals.json => out::json(&view)?,
        // Only a terminal has a width; redirected output stays Markdown.
        None if style.width > 0 => out::data(&report::text_of(&report::markdown(&view), style))?,
        None => out::data(&report::markdown(&view))?,
        Some(what) => match find(&view, what)? {
            Found::Finding(finding) if globals.json => out::json(finding)?,
            Found::Finding(finding) => {
                let remarks = Remarks::read(&seen.reader.mail()?);
                let said = remarks.lines(finding.id);
                let said: String =
                    said.iter().map(|line| format!("  {}\n", style.wrap(line, "    "))).collect();
                out::data(&(detail::finding(finding, style) + &said))?;
            }
            Found::Loop(review_loop) if globals.json => out::json(review_loop)?,
            Found::Loop(review_loop) => out::data(&detail::one_loop(review_loop, &view, style))?,
        },
    }
    Ok(Done::Passed)
}

/// A single word names a run if there is one like it, else a thing of the newest run.
fn split<'a>(place: &Place, args: &'a Show) -> (Option<&'a str>, Option<&'a str>) {
    match (args.run.as_deref(), args.what.as_deref()) {
        // A finding's name is never taken for a part of a run's id.
        (Some(word), None) if is_finding(word) || place.find(Some(word)).is_err() => {
            // Anything else was meant as a run, and the message about it should say so.
            let thing = is_finding(word) || word.contains('/') || word.starts_with("phase") || is_plan(word);
            if thing { (None, Some(word)) } else { (Some(word), None) }
        }
        both => both,
    }
}

fn is_finding(word: &str) -> bool {
    word.starts_with(['F', 'f']) && FindingId::parse(word).is_some()
}

fn is_plan(word: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.len() <= 3 && part.bytes().all(|b| b.is_ascii_digit());
    word.split_once('-').is_some_and(|(phase, plan)| number(phase) && number(plan))
}

enum Found<'a> {
    Finding(&'a FindingView),
    Loop(&'a LoopView),
}

fn find<'a>(view: &'a RunView, what: &str) -> Result<Found<'a>, Failure> {
    let shown = tribunal_view::plain::clipped(what, 80);
    if let Some(id) = FindingId::parse(what).filter(|_| is_finding(what)) {
        let found = view.findings.iter().find(|finding| finding.id == id);
        return found.map(Found::Finding).ok_or_else(|| {
            let failure = Failure::usage(format!("run {} has no finding {id}", view.id));
            match view.findings.last() {
                Some(last) => failure.hint(format!("its findings are F-1 to {}", last.id)),
                None => failure.hint("it has no findings"),
            }
        });
    }
    // The last loop of that name is shown: a lane may hold several of one task.
    let is = |review_loop: &&LoopView| {
        review_loop.id == what || review_loop.id.rsplit_once('.').is_some_and(|(short, _)| short == what)
    };
    view.loops.iter().rev().find(is).map(Found::Loop).ok_or_else(|| {
        let of = |plan: Option<&str>| {
            let those =
                view.loops.iter().filter(|review_loop| plan.is_none() || review_loop.plan.as_deref() == plan);
            those.map(|review_loop| review_loop.id.as_str()).collect::<Vec<_>>().join(", ")
        };
        match view.plans.iter().any(|plan| plan.id == what) {
            true => Failure::usage(format!("{shown} is a plan; its loops can be shown"))
                .hint(format!("its loops are {}", of(Some(what)))),
            false => Failure::usage(format!("run {} has no plan or loop {shown:?}", view.id))
                .hint(format!("its loops are {}", of(None))),
        }
    })
}
