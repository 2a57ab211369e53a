//! `tribunal resume`: goes on with a run that was interrupted, crashed or waited.

use super::run::Stay;
use crate::args::{Globals, Resume, WaitArgs};
use crate::config;
use crate::exit::Done;
use crate::facts::Story;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use tribunal_engine::real;
use tribunal_engine::settings::Settings;

/// Goes on with a run.
pub fn run(globals: &Globals, args: &Resume) -> Result<Done, Failure> {
    let place = Place::to_work_on()?;
    let settings = config::here(Some(&place), &args.set)?.settings;
    let id = match &args.run {
        Some(wanted) => place.find(Some(wanted))?,
        None => unfinished(&place)?,
    };
    go_on(globals, &place, &settings, &id, args.waiting)
}

/// The newest run that is not over.
pub fn unfinished(place: &Place) -> Result<String, Failure> {
    let newest = place.find(None)?;
    for id in place.runs() {
        // One that cannot be read is not the one that is meant; asked for by name, it says why.
        let Ok(docket) = place.read(&id).and_then(|seen| seen.docket()) else { continue };
        if docket.run.as_ref().is_some_and(|run| run.ending().is_none()) {
            return Ok(id);
        }
    }
    Err(Failure::usage(format!("no run is open; the newest, {newest}, is over"))
        .hint("`tribunal run` starts another"))
}

/// The newest run of a phase that is not over.
pub fn unfinished_of(place: &Place, phase: &str) -> Option<String> {
    let open = |id: &String| {
        let docket = place.read(id).and_then(|seen| seen.docket());
        docket.is_ok_and(|docket| {
            docket.about.phase == phase && docket.run.as_ref().is_some_and(|run| run.ending().is_none())
        })
    };
    place.runs().into_iter().find(open)
}

/// Resumes a run with the settings it began with, and stays with it. `settings` serve where those are lost.
pub fn go_on(
    globals: &Globals,
    place: &Place,
    settings: &Settings,
    id: &str,
    waiting: WaitArgs,
) -> Result<Done, Failure> {
    let before = Story::read(&place.read(id)?.reader)?.chronicle;
    let project = place.project()?;
    let kept = real::settings_of(&place.run_dir(id));
    let settings = kept.as_ref().unwrap_or(settings);
    let engine = real::resume(&project, settings, id, waiting.attach)?;
    if !globals.quiet {
        out::say(&format!("run {id} goes on"));
    }
    Stay { globals, project: &project, id, settings, waiting }.with(engine, before)
}
