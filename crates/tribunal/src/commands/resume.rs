//! `tribunal resume`: goes on with a run that was interrupted, crashed or waited.
//!
//! A run goes on with the settings it began with, never with those of now: the checked-out branch may have brought
//! other settings since. Recovery itself is the engine's; this file finds the run and checks that going on makes sense.

use super::run::Stay;
use crate::args::{Globals, Resume, WaitArgs};
use crate::config;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::{Place, never_began};
use tribunal_core::run::Run;
use tribunal_engine::RunState;
use tribunal_engine::budget::Caps;
use tribunal_engine::history::History;
use tribunal_engine::run_state::RunNote;
use tribunal_engine::settings::Settings;
use tribunal_world::{Artifact, Project};

/// Goes on with the named run, or with the newest that is not over.
pub fn run(globals: &Globals, args: &Resume) -> Result<Done, Failure> {
    let place = Place::to_work_on()?;
    let config = config::here(Some(&place), &args.set)?;
    let id = match &args.run {
        Some(wanted) => place.find(Some(wanted))?,
        None => unfinished(&place)?,
    };
    check_agents(&place, &place.project()?, &id)?;
    // The budget is the one setting that a person may change for a run under way.
    let changed = args.set.set.iter().any(|set| set.trim_start().starts_with("budget."));
    let caps = changed.then(|| Caps::of(&config.settings.budget));
    go_on(globals, &place, &id, args.waiting, caps)
}

/// The settings that a run began with.
///
/// Without them the run does not go on. The settings of now may be those of a stranger's branch, and agents would be
/// started by them.
pub fn kept(place: &Place, id: &str, about: &RunNote) -> Result<Settings, Failure> {
    let dir = place.run_dir(id);
    tribunal_world::kept_settings(&dir, about).map_err(|why| {
        let file = config::shown(&dir.join(tribunal_world::SETTINGS));
        Failure::work(format!("{file}: run {id} cannot go on without the settings it began with: {why}")).hint(
            format!(
                "put the file back as it was, or call the run off with `tribunal cancel {id}`; {} begins another",
                about.afresh()
            ),
        )
    })
}

/// Refuses to go on if the agents of a run could not be launched, unless the run needs none any more.
pub fn check_agents(place: &Place, project: &Project, id: &str) -> Result<(), Failure> {
    let run_state = place.read(id)?.run_state()?;
    // A run that builds nothing has the agents it found when it began, or none.
    let about = &run_state.about;
    let builds = about.builds();
    // Everything is built here; a missing agent must not keep a result from its branch.
    let built = |run: &Run| run.closing().is_some() || run.held().is_some();
    if run_state.run.as_ref().is_none_or(built) || !builds {
        return Ok(());
    }
    tribunal_world::check_agents(project, &kept(place, id, about)?).map_err(|error| {
        let file = config::shown(&place.run_dir(id).join(tribunal_world::SETTINGS));
        Failure::usage(format!("{file}: {error}")).hint(format!(
            "run {id} keeps the settings it began with; {} begins another with those of now, `tribunal cancel {id}` calls it off",
            about.afresh()
        ))
    })
}

/// The newest run that is not over.
///
/// A run that cannot be read may be that one, so its error is returned instead of an older run.
pub fn unfinished(place: &Place) -> Result<String, Failure> {
    let newest = place.find(None)?;
    let mut over = true;
    for id in place.runs() {
        match place.begun(&id)? {
            Some(run_state) if is_open(&run_state) => return Ok(id),
            Some(_) => {}
            // The newest run may have died before it began, which is another message than "it is over".
            None => over &= id != newest,
        }
    }
    let (how, way_out) = match over {
        true => ("is over", "`tribunal run` starts another"),
        false => ("never began", "`tribunal run` starts another; `tribunal gc` removes this one"),
    };
    Err(Failure::usage(format!("no run is open; the newest, {newest}, {how}")).hint(way_out))
}

/// The newest run of a phase that is not over.
pub fn of_phase(place: &Place, phase: &str) -> Result<Option<String>, Failure> {
    earlier(place, |run_state| run_state.about.review.is_none() && run_state.about.phase == phase)
}

/// The newest run that makes this artifact and is not over.
pub fn of_chain(place: &Place, artifact: Artifact, feature: &str) -> Result<Option<String>, Failure> {
    earlier(place, |run_state| {
        let chain = run_state.about.chain.as_ref();
        chain.is_some_and(|chain| chain.artifact == artifact && chain.feature == feature)
    })
}

/// The newest open run that `meant` selects.
///
/// A run that cannot be read may be the one that is meant, so no other is begun in its place. If a newer run of the
/// same kind is over, a person has already begun another, and the unreadable one no longer matters.
fn earlier(place: &Place, meant: impl Fn(&RunState) -> bool) -> Result<Option<String>, Failure> {
    let mut over = false;
    for id in place.runs() {
        match place.begun(&id) {
            Ok(Some(run_state)) if meant(&run_state) => {
                if is_open(&run_state) {
                    return Ok(Some(id));
                }
                over = true;
            }
            Err(failure) if !over => {
                return Err(failure.hint("with --fresh another is begun, and this one is left as it is"));
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(None)
}

fn is_open(run_state: &RunState) -> bool {
    run_state.run.as_ref().is_some_and(|run| run.ending().is_none())
}

/// Resumes a run with the settings it began with, and stays with it. `caps` are the new limits of what it may spend.
pub fn go_on(
    globals: &Globals,
    place: &Place,
    id: &str,
    waiting: WaitArgs,
    caps: Option<Caps>,
) -> Result<Done, Failure> {
    let run_state = place.read(id)?.run_state()?;
    if run_state.run.is_none() {
        return Err(never_began(id));
    }
    let settings = kept(place, id, &run_state.about)?;
    go_on_with(globals, place, &settings, id, (waiting, false), caps)
}

/// The same, for a command that asks right afterwards what becomes of the result.
pub fn go_on_and_ask(globals: &Globals, place: &Place, id: &str, waiting: WaitArgs) -> Result<Done, Failure> {
    let run_state = place.read(id)?.run_state()?;
    let settings = kept(place, id, &run_state.about)?;
    go_on_with(globals, place, &settings, id, (waiting, true), None)
}

/// Closes a run that was cancelled.
///
/// It launches nothing any more, so the settings of now may stand in for lost ones. Cancelling is the way out for a run
/// whose settings are gone, and must not need them.
pub fn close(globals: &Globals, place: &Place, now: &Settings, id: &str) -> Result<Done, Failure> {
    let run_state = place.read(id)?.run_state()?;
    let kept = tribunal_world::kept_settings(&place.run_dir(id), &run_state.about);
    go_on_with(globals, place, kept.as_ref().unwrap_or(now), id, (WaitArgs::default(), false), None)
}

fn go_on_with(
    globals: &Globals,
    place: &Place,
    settings: &Settings,
    id: &str,
    (waiting, asks): (WaitArgs, bool),
    caps: Option<Caps>,
) -> Result<Done, Failure> {
    let History { run_state, chronicle: before, .. } = History::read(&place.read(id)?.reader)?;
    if run_state.run.is_none() {
        return Err(never_began(id));
    }
    let project = place.project()?;
    // Before the engine takes the lock: a live run's branch is not looked at.
    super::land::if_there(place, &project, id)?;
    let mut engine = tribunal_world::resume(&project, settings, id, waiting.attach)?;
    // After the resume and before the first turn, so that the journal has the new limits before anything is spent.
    caps.into_iter().for_each(|caps| engine.raise(caps));
    if !globals.quiet {
        out::say(&format!("run {id} goes on"));
    }
    let shown = Default::default();
    Stay { globals, project: &project, id, settings, waiting, uat: false, shown, asks }.with(engine, before)
}
