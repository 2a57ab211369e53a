//! `tribunal explain`: says why each decision was taken, from the journal alone. It only reads.
//!
//! A decision is a fact that follows from others by the machines' rules. The journal is replayed through the same
//! machines, which say what each decision follows from; nothing is guessed from times or names.

use crate::args::{Explain, Globals};
use crate::exit::Done;
use crate::facts;
use crate::failure::Failure;
use crate::out;
use crate::place::{Place, Seen};
use std::collections::BTreeMap;
use tribunal_engine::RunStateError;
use tribunal_engine::replay::{Replay, Row};
use tribunal_view::events::Event;
use tribunal_view::explain::{self, Decision};

/// Prints the decisions of a run, machine by machine, with their causes.
pub fn run(globals: &Globals, args: &Explain) -> Result<Done, Failure> {
    let place = Place::here()?;
    let id = place.find(args.run.as_deref())?;
    let stories = stories(&place.read(&id)?)?;
    let names: Vec<&str> = stories.iter().map(|story| story.of.as_str()).collect();
    let wanted = args.of.as_deref().map(|of| meant(&names, of, &id)).transpose()?;
    let style = out::stdout_style(globals);
    let mut text = String::new();
    for story in stories.iter().filter(|story| wanted.is_none_or(|of| of == story.of)) {
        if globals.json {
            story.decisions.iter().for_each(|one| text.push_str(&(explain::json(one) + "\n")));
        } else {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&explain::story(&story.of, &story.decisions, style));
        }
    }
    out::data(&text)?;
    Ok(Done::Passed)
}

/// The decisions of one machine, in order.
struct Story {
    of: String,
    decisions: Vec<Decision>,
}

/// The decisions of the run, then those of its loops in the order they opened.
///
/// A fact from outside is kept until a decision follows from it, and is then shown as that decision's cause.
fn stories(seen: &Seen) -> Result<Vec<Story>, Failure> {
    let mut replay = Replay::default();
    let mut stories: Vec<Story> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut known: BTreeMap<u64, Event> = BTreeMap::new();
    // A decision without a public event passes its causes on to the next decision of the same machine.
    let mut carried: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    seen.reader.each(1, |row| {
        let (fact, kind) = replay.take(&row)?;
        if kind == Row::Note {
            return Ok::<(), RunStateError>(());
        }
        let decided = matches!(kind, Row::Decision { .. });
        let event = facts::event(&seen.id, row.seq, row.at, &fact);
        if let Row::Decision { because } = kind {
            let causes = because.iter().filter_map(|seq| known.remove(seq));
            carried.entry(row.of.to_owned()).or_default().extend(causes);
        }
        if let (true, Some(event)) = (decided, &event) {
            let because = carried.remove(row.of).unwrap_or_default();
            let at = *places.entry(row.of.to_owned()).or_insert_with(|| {
                stories.push(Story { of: row.of.to_owned(), decisions: Vec::new() });
                stories.len() - 1
            });
            stories[at].decisions.push(Decision { event: event.clone(), because });
        }
        // A decision may itself be the cause of a later one.
        known.extend(event.map(|event| (row.seq, event)));
        Ok(())
    })?;
    // The sort is stable, so the loops keep their order.
    stories.sort_by_key(|story| story.of != "run");
    Ok(stories)
}

/// The machine that a person names, with or without the number after the dot. Without it, the last one of that name is
/// meant.
fn meant<'a>(names: &[&'a str], of: &str, id: &str) -> Result<&'a str, Failure> {
    let fits = |name: &&&str| **name == of || name.rsplit_once('.').is_some_and(|(short, _)| short == of);
    names.iter().rev().find(fits).copied().ok_or_else(|| {
        let shown = tribunal_view::plain::clipped(of, 80);
        Failure::usage(format!("run {id} decided nothing about {shown:?}"))
            .hint(format!("it did about {}", names.join(", ")))
    })
}
