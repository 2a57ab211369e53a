//! `tribunal status`: where a run stands. It only reads.
//!
//! `view` and `view_of` build the view of a run for other commands and faces, too. Whether the branch still has the
//! result is asked here and not there, because that needs git.

use super::land;
use crate::args::{Globals, Status};
use crate::exit::Done;
use crate::facts::{self, Around};
use crate::failure::Failure;
use crate::out;
use crate::place::{Place, Seen};
use std::path::Path;
use tribunal_engine::RunState;
use tribunal_engine::history::History;
use tribunal_engine::review::{gate_notes, rule_notes};
use tribunal_journal::Reader;
use tribunal_view::facts::RunView;
use tribunal_view::status;
use tribunal_world::{review_path, settings_of};

/// How many runs are listed besides the one that is shown.
const OTHERS: usize = 9;

/// Prints the state of a run, and which others there are.
pub fn run(globals: &Globals, args: &Status) -> Result<Done, Failure> {
    if args.schema {
        out::data(&tribunal_view::facts::schema())?;
        return Ok(Done::Passed);
    }
    let place = Place::here()?;
    let id = place.find(args.run.as_deref())?;
    let mut view = match Reader::open(&place.run_dir(&id)) {
        // The run died in its first moments, so there is nothing to read; its existence is shown all the same.
        Err(tribunal_journal::Error::Missing { .. }) => RunView { id: id.clone(), ..RunView::default() },
        _ => {
            let seen = place.read(&id)?;
            let mut view = view(&seen)?;
            // The journal knows the branch as it was at its last fact; it may have changed since.
            if !seen.is_live() {
                view.warnings.extend(land::taken_away(&place.project()?, &id, &seen.run_state()?)?);
            }
            view
        }
    };
    globals.elsewhere().iter().for_each(|dir| view.from_elsewhere(dir));
    if globals.json {
        out::json(&view)?;
        return Ok(Done::Passed);
    }
    let style = out::stdout_style(globals);
    let mut text = status::text(&view, style);
    if args.run.is_none() {
        text.push_str(&others(&place, &id, style));
    }
    out::data(&text)?;
    if !globals.quiet {
        place.strangers().iter().for_each(|line| out::say(&format!("note: {line}")));
    }
    Ok(Done::Passed)
}

/// A run as people see it now.
pub fn view(seen: &Seen) -> Result<RunView, Failure> {
    view_of(seen, &History::read(&seen.reader)?)
}

/// A run as people see it now, from a journal that was read already.
pub fn view_of(seen: &Seen, history: &History) -> Result<RunView, Failure> {
    let there = |name: &str| Some(seen.dir.join(name)).filter(|path| path.is_file());
    let around = Around {
        id: seen.id.clone(),
        live: seen.is_live(),
        report: there("report.md"),
        review: there(&review_name(&history.run_state)),
        gates: gates(&seen.dir),
        next_phase: None,
    };
    let mut view = facts::run_view(&history.run_state, &history.chronicle, &around);
    super::run::add_places(&mut view, &seen.dir, &history.run_state);
    facts::mark_answered(&mut view, &history.run_state, &seen.reader.mail()?);
    if view.live {
        // A live run is as old as this moment; its last fact may be minutes back.
        view.at = view.at.max(crate::progress::now());
    }
    Ok(view)
}

/// The name of the review in the run's folder: `NN-REVIEW.md`.
pub fn review_name(run_state: &RunState) -> String {
    let path = review_path(&run_state.about.phase_path);
    let name = Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "REVIEW.md".to_owned())
}

/// What the run's settings let through, in words. Every report says it, so that a gate that is off is never forgotten.
pub fn gates(run_dir: &Path) -> Vec<String> {
    settings_of(run_dir)
        .map(|settings| [gate_notes(&settings.gates), rule_notes(&settings.git)].concat())
        .unwrap_or_default()
}

fn others(place: &Place, shown: &str, style: tribunal_view::style::Style) -> String {
    let runs: Vec<String> = place.runs().into_iter().filter(|run| run != shown).collect();
    let mut text = String::new();
    for id in runs.iter().take(OTHERS) {
        let line = match place.read(id).and_then(|seen| view(&seen)) {
            Ok(view) => format!("{} {}\n", style.mark(view.mark()), style.fit(&status::headline(&view))),
            Err(failure) => format!("✗ {id}  cannot be read: {}\n", failure.message),
        };
        text.push_str(&line);
    }
    if runs.len() > OTHERS {
        text.push_str(&format!("… and {} older\n", runs.len() - OTHERS));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}
