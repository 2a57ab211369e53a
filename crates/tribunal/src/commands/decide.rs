//! `tribunal decide`: records a person's answer durably, then lets the run go on.
//!
//! The answer is a message in the run's mailbox; the run takes it as a report like any other. The first answer counts,
//! whoever gives it and by whichever face, so two people cannot overrule each other without noticing.

use super::resume;
use crate::args::{Decide, Globals};
use crate::config;
use crate::exit::Done;
use crate::facts::answer_words;
use crate::failure::Failure;
use crate::out;
use crate::place::{Place, Seen, never_began};
use crate::progress::now;
use tribunal_core::effect::EffectId;
use tribunal_core::ids::{LoopId, Of, Time};
use tribunal_engine::RunState;
use tribunal_engine::inbox::{self, Answer, OpenQuestion, Reaction};
use tribunal_engine::mail::Body;
use tribunal_journal::Posted;
use tribunal_world::SetupError;

/// Answers a question, and resumes the run unless somebody runs it already.
pub fn run(globals: &Globals, args: &Decide) -> Result<Done, Failure> {
    if args.rounds.is_some() && args.option != Reaction::Again {
        let word = args.option.word();
        return Err(Failure::usage(format!("`{word}` takes no --rounds")).hint(format!(
            "`tribunal decide {} again --rounds N` does; leave it out for `{word}`",
            args.id
        )));
    }
    let place = Place::here()?;
    // A setting that cannot be read is refused now: once the answer is recorded, it counts.
    config::here(Some(&place), &args.set)?;
    let (seen, run_state, question) = asked(&place, args.run.as_deref(), &args.id)?;
    if !args.no_resume && !seen.is_live() {
        // The same holds for a run that could not go on after the answer.
        resume::kept(&place, &seen.id, &run_state.about)?;
    }
    // Agents work after one of these answers, so it is not spent on a run whose agents cannot be launched.
    let works = matches!(args.option, Reaction::Again | Reaction::AskAgain | Reaction::Fixed);
    if works && !args.no_resume && !seen.is_live() {
        resume::check_agents(&place, &place.project()?, &seen.id)?;
    }
    let body = message(&place, &seen, &run_state, &question, args)?;
    out::say(&post(&seen, &question, &body)?);
    if args.no_resume || seen.is_live() {
        return Ok(Done::Passed);
    }
    let id = seen.id.clone();
    // The run goes on in this process, which opens the journal itself.
    drop(seen);
    resume::go_on(globals, &place, &id, args.waiting, None)
}

/// Records an answer that starts no process, and returns what became of it. The browser and the terminal use this.
///
/// They may not start anything, so the run is not resumed here, and `fixed`, which needs git, is refused.
pub fn record(place: &Place, run: &str, id: &str, answer: Answer) -> Result<String, Failure> {
    // The fix has to be committed by git, and a request of the browser starts no process.
    if answer.reaction == Reaction::Fixed {
        return Err(Failure::usage("what you fixed is taken from its tree, which git must read")
            .hint(format!("`tribunal decide {id} fixed` on a terminal does that")));
    }
    let (seen, _, question) = asked(place, Some(run), id)?;
    let body = inbox::answer(&question, answer)?;
    let said = post(&seen, &question, &body)?;
    match seen.is_live() {
        true => Ok(said),
        false => Ok(format!("{said}. Nobody runs it now: `tribunal resume {run}` goes on.")),
    }
}

/// Puts the answer into the mailbox.
///
/// If there is an answer already, the same choice is fine and another choice is an error. A repeated command is
/// therefore harmless.
pub fn post(seen: &Seen, question: &OpenQuestion, body: &Body) -> Result<String, Failure> {
    let message = body.message(Time(now())).map_err(Failure::bug)?;
    match tribunal_journal::post(&seen.dir, &message)? {
        Posted::First => Ok(format!("{}: {}", question.subject, answer_words(body))),
        Posted::Already(earlier) => {
            let earlier = Body::read(&earlier).map_err(Failure::bug)?;
            // The same decision twice is agreement, not a conflict.
            if same(&earlier, body) {
                return Ok(format!("{} was answered so before", question.id));
            }
            let words = answer_words(&earlier);
            Err(Failure::work(format!("{} was answered before: {words}", question.id))
                .hint("the first answer counts"))
        }
    }
}

/// The question of this name, in the newest run that has it open.
fn asked(place: &Place, run: Option<&str>, id: &str) -> Result<(Seen, RunState, OpenQuestion), Failure> {
    let wanted_id = id;
    let runs = match run {
        Some(wanted) => vec![place.find(Some(wanted))?],
        None => place.runs(),
    };
    let mut others = Vec::new();
    let mut late = None;
    for id in runs {
        // A run that cannot be read may be the one that asks, so no older question of that name is answered in its
        // place. Once a newer run has answered the name, an unreadable older one no longer matters.
        let run_state = match place.begun(&id) {
            Ok(Some(run_state)) => run_state,
            Ok(None) if run.is_some() => return Err(never_began(&id)),
            Ok(None) => continue,
            Err(failure) if run.is_some() => return Err(failure),
            Err(_) if late.is_some() => continue,
            Err(failure) => return Err(failure.hint("--run RUN names another run")),
        };
        let seen = place.read(&id)?;
        let open = inbox::questions(&run_state);
        if let Some(question) = inbox::find(&run_state, &open, wanted_id) {
            let question = question.clone();
            return Ok((seen, run_state, question));
        }
        others.extend(open.into_iter().map(|question| question.id));
        late = late.or_else(|| answered(&seen, &run_state, wanted_id));
    }
    Err(unknown(wanted_id, &others, late))
}

/// The answer that a closed question of this name got, in words.
fn answered(seen: &Seen, run_state: &RunState, wanted: &str) -> Option<String> {
    let mail = seen.reader.mail().ok()?;
    let mut messages = mail.iter().filter_map(|mail| {
        let body = Body::read(&mail.message).ok()?;
        match &body {
            Body::Decide { effect, .. }
            | Body::DecideLane { effect, .. }
            | Body::DecideHeld { effect, .. } => Some((effect.clone(), body)),
            Body::Cancel { .. } | Body::Drop { .. } | Body::Editor(_) | Body::Waive(_) => None,
        }
    });
    // Questions about one subject are answered one after the other, so the n-th answer belongs to the n-th question.
    let found = match inbox::closed(run_state, wanted) {
        Some((about, n)) => {
            let of = |effect: &EffectId| match about.as_str() {
                inbox::HELD => effect.of == Of::run(),
                about => inbox::short(&LoopId::new(effect.of.as_str())) == about,
            };
            messages.filter(|(effect, _)| of(effect)).nth(usize::try_from(n).unwrap_or(1).saturating_sub(1))
        }
        None => messages.find(|(effect, _)| effect.of.as_str() == wanted || effect.to_string() == wanted),
    };
    found.map(|(_, body)| answer_words(&body))
}

fn unknown(id: &str, others: &[String], late: Option<String>) -> Failure {
    let id = tribunal_view::plain::clipped(id, 80);
    match (late, others) {
        (Some(answer), others) => {
            let failure = Failure::work(format!("{id} was answered before: {answer}"));
            match others {
                [] => failure.hint("the first answer counts"),
                others => {
                    failure.hint(format!("the first answer counts; open questions are {}", others.join(", ")))
                }
            }
        }
        (None, []) => Failure::usage(format!("there is no question {id:?}; nothing waits for you")),
        (None, others) => Failure::usage(format!("there is no question {id:?}"))
            .hint(format!("open questions are {}", others.join(", "))),
    }
}

fn message(
    place: &Place,
    seen: &Seen,
    run_state: &RunState,
    question: &OpenQuestion,
    args: &Decide,
) -> Result<Body, Failure> {
    // Only if the question offers it; otherwise the refusal below is the better message.
    let revision = if args.option == Reaction::Fixed && question.offers.contains(&Reaction::Fixed) {
        let project = place.project()?;
        let settings = resume::kept(place, &seen.id, &run_state.about)?;
        let fixed = tribunal_world::fixed(&project, &settings, &seen.id, run_state, &question.effect);
        Some(fixed.map_err(|error| not_fixed(error, question))?)
    } else {
        None
    };
    let (reaction, by, note) = (args.option, who(args), args.note.clone());
    Ok(inbox::answer(question, Answer { reaction, by, note, rounds: args.rounds.unwrap_or(1), revision })?)
}

/// The failure for an answer `fixed` without any change, with the other answers as a hint.
fn not_fixed(error: SetupError, question: &OpenQuestion) -> Failure {
    let nothing = matches!(error, SetupError::NothingFixed { .. });
    let failure = Failure::from(error);
    if !nothing {
        return failure;
    }
    let others = question.offers.iter().filter(|offer| **offer != Reaction::Fixed).map(|offer| offer.word());
    let others: Vec<&str> = others.collect();
    failure.hint(format!("fix it there and say so again, or answer with {}", others.join(", ")))
}

/// The name of the person who decides: the one given, else the user's.
fn who(args: &Decide) -> String {
    user(args.by.clone())
}

/// A given name, else the name of the user.
///
/// An answer is always signed by somebody, so the user's number is the last resort: containers often have neither the
/// variables nor an entry in the list.
pub fn user(name: Option<String>) -> String {
    let name = name.or_else(|| ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()));
    let clipped =
        |name: String| Some(tribunal_view::plain::clipped(&name, 100)).filter(|name| !name.is_empty());
    let id = rustix::process::getuid().as_raw();
    let listed = || named(&std::fs::read_to_string("/etc/passwd").unwrap_or_default(), id);
    name.and_then(clipped).or_else(|| listed().and_then(clipped)).unwrap_or_else(|| format!("user {id}"))
}

/// The name of a user in a list like `/etc/passwd`.
fn named(list: &str, id: u32) -> Option<String> {
    let id = id.to_string();
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    })
}

/// True if both answers choose the same, whoever gave them and whatever they wrote.
fn same(a: &Body, b: &Body) -> bool {
    match (a, b) {
        (Body::Decide { decision: a, .. }, Body::Decide { decision: b, .. }) => a.choice == b.choice,
        (Body::DecideLane { decision: a, .. }, Body::DecideLane { decision: b, .. }) => a.choice == b.choice,
        (Body::DecideHeld { decision: a, .. }, Body::DecideHeld { decision: b, .. }) => a.choice == b.choice,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn who_is_behind_a_number() {
        let list = "root:x:0:0:root:/root:/bin/sh\nodd\nann:x:1000:100::/home/ann:/bin/sh\n";
        assert_eq!(named(list, 0).as_deref(), Some("root"));
        assert_eq!(named(list, 1000).as_deref(), Some("ann"));
        assert_eq!(named(list, 100), None);
    }
}
