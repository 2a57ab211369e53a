//! `tribunal cancel`: calls a run off. A live one is told; one that nobody runs is closed here.

use super::resume;
use crate::args::{Cancel, Globals, SetArgs, WaitArgs};
use crate::config;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use crate::progress::now;
use tribunal_core::ids::Time;
use tribunal_engine::mail::Body;

/// Calls a run off.
pub fn run(globals: &Globals, args: &Cancel) -> Result<Done, Failure> {
    let place = Place::here()?;
    let id = match &args.run {
        Some(wanted) => place.find(Some(wanted))?,
        None => resume::unfinished(&place)?,
    };
    let seen = place.read(&id)?;
    if let Some(ending) = seen.docket()?.run.as_ref().and_then(|run| run.closing()) {
        return Err(Failure::usage(format!("run {id} is over already: {}", ending.word())));
    }
    let by = std::env::var("USER").unwrap_or_else(|_| "a person".to_owned());
    let letter = Body::Cancel { by }.letter(Time(now())).map_err(Failure::bug)?;
    tribunal_journal::post(&seen.dir, &letter)?;
    if seen.is_live() {
        out::say(&format!("run {id} is being called off; its agents are ended"));
        return Ok(Done::Passed);
    }
    drop(seen);
    // Nobody runs it: closing it is all that is left, and that it ends cancelled is what was asked for.
    let settings = config::here(Some(&place), &SetArgs::default())?.settings;
    match resume::go_on(globals, &place, &settings, &id, WaitArgs::default())? {
        Done::Passed | Done::Shut => Ok(Done::Passed),
        other => Ok(other),
    }
}
