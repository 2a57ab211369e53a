//! `tribunal cancel`: cancels a run. A live run is sent a message; one that nobody runs is closed here.
//!
//! Both ways go through the run machine, so the journal records who cancelled, and an intended landing is still
//! finished or proven not to have happened.

use super::resume;
use crate::args::{Cancel, Globals, SetArgs};
use crate::config;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::{Place, never_began};
use crate::progress::now;
use tribunal_core::ids::Time;
use tribunal_core::run::Ending;
use tribunal_engine::mail::Body;

/// Cancels the named run, or the newest that is not over.
pub fn run(globals: &Globals, args: &Cancel) -> Result<Done, Failure> {
    let place = Place::here()?;
    let id = match &args.run {
        Some(wanted) => place.find(Some(wanted))?,
        None => resume::unfinished(&place)?,
    };
    let seen = place.read(&id)?;
    let run_state = seen.run_state()?;
    let Some(run) = &run_state.run else { return Err(never_began(&id)) };
    // Past this point the result may be on its way to the branch; cancelling could not take that back.
    if let Some(ending) = run.closing() {
        return Err(too_late(&id, ending, run.ending().is_some()));
    }
    let by = super::decide::user(None);
    let message = Body::Cancel { by }.message(Time(now())).map_err(Failure::bug)?;
    tribunal_journal::post(&seen.dir, &message)?;
    if seen.is_live() {
        out::say(&format!("run {id} is being called off; its agents are ended"));
        return Ok(Done::Passed);
    }
    drop(seen);
    // Nobody runs it, so closing is all that is left, and ending cancelled is a success here.
    let settings = config::here(Some(&place), &SetArgs::default())?.settings;
    let done = resume::close(globals, &place, &settings, &id)?;
    match place.read(&id)?.run_state()?.run.as_ref().and_then(|run| run.ending()) {
        Some(Ending::Cancelled) => {
            out::say(&format!("run {id} is called off; nobody was running it"));
            Ok(Done::Passed)
        }
        // What was under way when the orchestrator died came first, and ended the run otherwise.
        Some(ending) => Err(too_late(&id, ending, true)),
        None => Ok(done),
    }
}

fn too_late(id: &str, ending: Ending, over: bool) -> Failure {
    let word = ending.word();
    if over {
        return Failure::usage(format!("run {id} is over already: {word}"))
            .hint("`tribunal status` shows it; what is over cannot be called off");
    }
    Failure::usage(format!("run {id} has come to its end already: {word}"))
        .hint(format!("`tribunal resume {id}` does what is left to do"))
}
