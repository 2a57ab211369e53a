//! `tribunal land`: brings a held result to the user's branch, which could not take it when the run was done.
//!
//! It answers the one question that such a run has open and resumes the run. The run itself decides what to rebase, to
//! check and to have reviewed again; nothing is merged here.

use super::{decide, resume};
use crate::args::{Globals, Land};
use crate::config;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::{Place, Seen};
use tribunal_core::held::Arrival;
use tribunal_core::run::{Ending, Run, RunStage};
use tribunal_engine::RunState;
use tribunal_engine::inbox::{self, Answer, OpenQuestion, Reaction, Reason};
use tribunal_view::plain;
use tribunal_world::Project;

/// Lands the result of the named run, or of the newest whose result is held.
pub fn run(globals: &Globals, args: &Land) -> Result<Done, Failure> {
    let place = Place::to_work_on()?;
    // A setting that cannot be read is refused before the answer is recorded.
    config::here(Some(&place), &args.set)?;
    let id = match &args.run {
        Some(wanted) => place.find(Some(wanted))?,
        None => newest_held(&place)?,
    };
    let seen = place.read(&id)?;
    let run_state = seen.run_state()?;
    let Some(question) = held_question(&run_state) else {
        // The answer was given and the landing was interrupted: resuming is all it takes.
        if is_landing(&run_state) && !seen.is_live() {
            drop(seen);
            return resume::go_on(globals, &place, &id, args.waiting, None);
        }
        return not_held(&place, &id, &run_state);
    };
    // Checked before the answer is recorded: the run has to go on right after it.
    if !seen.is_live() {
        resume::kept(&place, &id, &run_state.about)?;
    }
    answer(&seen, &question, &decide::user(args.by.clone()), "")?;
    if seen.is_live() {
        out::say(&format!("the terminal that runs {id} goes on with it"));
        // The other terminal does the work; this command cannot know how it ends.
        return Ok(Done::Waits);
    }
    drop(seen);
    resume::go_on(globals, &place, &id, args.waiting, None)
}

/// Answers the question of a held result if the person has brought the result to the branch themselves.
///
/// `resume` calls it first, so nobody is asked about a landing that has happened.
pub fn if_there(place: &Place, project: &Project, id: &str) -> Result<(), Failure> {
    let seen = place.read(id)?;
    let run_state = seen.run_state()?;
    let Some(question) = held_question(&run_state) else { return Ok(()) };
    let Reason::Held(held) = &question.reason else { return Ok(()) };
    // A live run looks at the branch itself.
    let arrival = if seen.is_live() { None } else { tribunal_world::arrived(project, id, &run_state)? };
    if arrival.is_some_and(|arrival| held.looks_again(&arrival)) {
        answer(&seen, &question, &decide::user(None), "the branch contains it")?;
    }
    Ok(())
}

/// True if the run was on its way to the branch when it was interrupted.
fn is_landing(run_state: &RunState) -> bool {
    let on_its_way = |run: &Run| {
        let again = run.ground().is_some()
            || matches!(run.stage(), RunStage::Finishing | RunStage::Rebasing | RunStage::Carrying);
        // With a question open it waits for a person and is not on its way.
        again && run.ending().is_none() && inbox::questions(run_state).is_empty()
    };
    run_state.run.as_ref().is_some_and(on_its_way)
}

/// The question about a held result, if it is open.
pub(super) fn held_question(run_state: &RunState) -> Option<OpenQuestion> {
    inbox::questions(run_state).into_iter().find(|open| matches!(open.reason, Reason::Held(_)))
}

fn answer(seen: &Seen, question: &OpenQuestion, by: &str, note: &str) -> Result<(), Failure> {
    let answer = Answer {
        reaction: Reaction::Land,
        by: by.to_owned(),
        note: note.to_owned(),
        rounds: 0,
        revision: None,
    };
    out::say(&decide::post(seen, question, &inbox::answer(question, answer)?)?);
    Ok(())
}

/// The newest run whose result is held. A run that cannot be read may be that one, so its error is returned.
fn newest_held(place: &Place) -> Result<String, Failure> {
    for id in place.runs() {
        if place
            .begun(&id)?
            .is_some_and(|run_state| held_question(&run_state).is_some() || is_landing(&run_state))
        {
            return Ok(id);
        }
    }
    // No result is held: the newest run can at least say why.
    place.find(None)
}

/// Says why there is nothing to land. If the branch has the result already, that is a success.
fn not_held(place: &Place, id: &str, run_state: &RunState) -> Result<Done, Failure> {
    match run_state.run.as_ref().and_then(Run::ending) {
        Some(Ending::Passed | Ending::Concerns) if run_state.left.is_none() => {
            still_there(place, id, run_state)
        }
        Some(ending) => {
            Err(Failure::usage(format!("run {id} ended {}: it has nothing to land", ending.word()))
                .hint(format!("`tribunal show {id}` says what became of it")))
        }
        None => Err(Failure::usage(format!("run {id} has no result to land yet"))
            .hint("`tribunal status` says where it stands, `tribunal resume` goes on with it")),
    }
}

/// Checks that the branch still has the result of a run that ended good: having had it once proves nothing today.
fn still_there(place: &Place, id: &str, run_state: &RunState) -> Result<Done, Failure> {
    let (project, branch) = (place.project()?, plain::line(&run_state.about.branch));
    let Some(why) = taken_away(&project, id, run_state)? else {
        out::say(&format!("{branch} has the result of run {id}"));
        return Ok(Done::Passed);
    };
    let head = format!("refs/tribunal/{id}/head");
    Err(Failure::usage(why).hint(format!("it is at {head}; the run is over, so it is yours to bring back")))
}

/// A sentence if the user's branch lost the result of a run again; `None` if it has it or never had it.
///
/// `status` and `land` both call this. They once disagreed about a merge that kept nothing of a result.
pub fn taken_away(project: &Project, id: &str, run_state: &RunState) -> Result<Option<String>, Failure> {
    let branch = plain::line(&run_state.about.branch);
    let is_good =
        matches!(run_state.run.as_ref().and_then(Run::ending), Some(Ending::Passed | Ending::Concerns));
    let had_it = is_good && run_state.left.is_none();
    let why = match tribunal_world::arrived(project, id, run_state)? {
        Some(Arrival::Undone(paths)) if !had_it && held_question(run_state).is_some() => {
            let paths = plain::line(&paths.join(", "));
            let why = "it contains the result, and commits after it took it away again";
            return Ok(Some(format!("{branch} does not have the result of run {id}: {why}: {paths}")));
        }
        Some(Arrival::Undone(paths)) => format!("later commits took it away again ({})", paths.join(", ")),
        // Without the run's head nothing can be compared, and nothing is claimed.
        None if project.repo().ref_at(&format!("refs/tribunal/{id}/head"))?.is_some() => {
            "it no longer contains it".to_owned()
        }
        Some(Arrival::There(_)) | None => return Ok(None),
    };
    let text = || format!("{branch} had the result of run {id}, and has it no more: {}", plain::line(&why));
    Ok(had_it.then(text))
}
