//! `tribunal inbox`: the questions that wait for a person, of all runs that are not over.
//!
//! It reads every run, because nobody should need to know which run asks. A run that cannot be read is a warning here,
//! so that it does not hide the questions of the others.

use super::status;
use crate::args::{Globals, Inbox};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use tribunal_view::facts::{QuestionView, RunView};
use tribunal_view::question;

/// Prints the open questions with the commands that answer them.
pub fn run(globals: &Globals, args: &Inbox) -> Result<Done, Failure> {
    let place = Place::here()?;
    let runs = match &args.run {
        Some(wanted) => vec![place.find(Some(wanted))?],
        None => place.runs(),
    };
    let (mut open, mut told): (Vec<QuestionView>, Vec<String>) = Default::default();
    for id in &runs {
        match waiting(&place, id) {
            Ok(view) => {
                // An agent's message to a person is news only while the run can still be steered.
                told.extend(view.escalated.into_iter().filter(|_| view.ending.is_none()));
                open.extend(view.questions);
            }
            Err(failure) if args.run.is_some() => return Err(failure),
            Err(failure) => out::say(&format!("warning: run {id} cannot be read: {}", failure.message)),
        }
    }
    // Before the acceptance tests are added: they are not answered by `decide`.
    tell_runs_apart(&mut open);
    if args.run.is_none() {
        open.extend(super::uat::open(&place));
    }
    if let Some(dir) = globals.elsewhere() {
        open.iter_mut().for_each(|open| open.from_elsewhere(&dir));
    }
    if globals.json {
        // The questions alone; messages of agents are for people.
        out::json(&open)?;
        return Ok(Done::Passed);
    }
    told.iter().for_each(|told| out::say(&format!("for you: {told}")));
    if open.is_empty() {
        out::say("nothing waits for you");
        return Ok(Done::Passed);
    }
    let style = out::stdout_style(globals);
    let texts: Vec<String> = open.iter().map(|open| question::text(open, style)).collect();
    out::data(&texts.join("\n"))?;
    Ok(Done::Passed)
}

fn waiting(place: &Place, id: &str) -> Result<RunView, Failure> {
    status::view(&place.read(id)?)
}

/// Adds the run to the commands of questions whose name occurs in several runs.
fn tell_runs_apart(open: &mut [QuestionView]) {
    let ids: Vec<String> = open.iter().map(|question| question.id.clone()).collect();
    for question in open {
        if ids.iter().filter(|id| **id == question.id).count() > 1 {
            let words: Vec<&str> = question.offers.iter().map(|offer| offer.word.as_str()).collect();
            question.offers = question::offers(&question.id, &question.run, &words);
            question::name_run(&mut question.offers, &question.run);
        }
    }
}
