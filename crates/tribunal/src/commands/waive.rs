//! `tribunal waive`: accepts one finding of a review, with a reason, for good or until a day. It starts nothing.
//!
//! A waiver changes nothing in the review that has the finding; the next review of the same target reads it from the
//! mailbox. A review that has been followed by another can therefore not be waived in.

use super::decide::user;
use crate::args::{Globals, Waive};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::{Place, Seen};
use crate::progress::now;
use serde_json::json;
use std::collections::BTreeMap;
use tribunal_core::ids::{FindingId, Time};
use tribunal_engine::mail::Body;
use tribunal_engine::waiver::{self, Waiver};
use tribunal_journal::Posted;

/// Waives a finding.
pub fn run(globals: &Globals, args: &Waive) -> Result<Done, Failure> {
    if args.note.trim().is_empty() {
        return Err(Failure::usage("a waiver needs a reason").hint("say why with --note"));
    }
    let at = Time(now());
    let until = args.until.as_deref().map(|day| end(day, at)).transpose()?;
    let place = Place::here()?;
    let (seen, finding) = found(&place, args)?;
    let mail = seen.reader.mail()?;
    // Numbered, because the first message of a key counts: a later waiver needs a key of its own to replace an earlier
    // one.
    let n = waiver::of_mail(&mail).get(&finding).map_or(1, |last| last.n.saturating_add(1));
    let waiver = Waiver { finding, n, by: user(args.by.clone()), why: args.note.clone(), until };
    let message = Body::Waive(waiver.clone()).message(at).map_err(Failure::bug)?;
    if let Posted::Already(_) = tribunal_journal::post(&seen.dir, &message)? {
        let text = format!("{finding} was waived by somebody else just now");
        return Err(Failure::work(text).hint("try again"));
    }
    if globals.json {
        let (by, why, until) = (&waiver.by, &waiver.why, &args.until);
        let finding = finding.to_string();
        out::json(&json!({ "run": seen.id, "finding": finding, "by": by, "why": why, "until": until }))?;
    } else if !globals.quiet {
        let words = waiver.words();
        out::say(&format!("{finding} of {} is waived from the next review on ({words})", seen.id));
    }
    Ok(Done::Passed)
}

fn end(day: &str, now: Time) -> Result<Time, Failure> {
    let wrong = |what: &str| {
        Failure::usage(format!("--until {day:?} {what}")).hint("it is a day to come, such as 2030-12-31")
    };
    let end = waiver::end_of_day(day).ok_or_else(|| wrong("is no day"))?;
    if end > now { Ok(end) } else { Err(wrong("is over")) }
}

/// The finding that is meant, in the named review or the newest that has it open.
fn found(place: &Place, args: &Waive) -> Result<(Seen, FindingId), Failure> {
    let id = FindingId::parse(&args.id).ok_or_else(|| {
        let text = format!("{:?} is no finding", tribunal_view::plain::clipped(&args.id, 80));
        Failure::usage(text).hint("findings are named F-1, F-2 and so on")
    })?;
    let wanted = args.run.as_deref().map(|run| place.find(Some(run))).transpose()?;
    // The last review of each target: the next review reads only that one.
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    for run in place.runs() {
        let is_wanted = wanted.as_ref() == Some(&run);
        let seen = match place.read(&run) {
            Err(failure) if is_wanted => return Err(failure),
            Err(_) => continue,
            Ok(seen) => seen,
        };
        // Only reviews that can be read are searched, but the one that was named has to be.
        let run_state = match seen.run_state() {
            Err(error) if is_wanted => return Err(error),
            Err(_) => continue,
            Ok(run_state) => run_state,
        };
        let Some(review) = &run_state.about.review else { continue };
        let Some(review_loop) = run_state.examined().filter(|review_loop| review_loop.tracked().is_some())
        else {
            continue;
        };
        let newest = last.entry(review.key.clone()).or_insert_with(|| run.clone());
        if *newest != run && is_wanted {
            let text = format!(
                "{newest} reviewed the same thing after {run}, and the next review goes on from there"
            );
            return Err(Failure::usage(text).hint(format!("`tribunal report {newest}` lists what it found")));
        }
        let stands = review_loop.ledger().get(id).is_some_and(|entry| waiver::stands(&entry.fate));
        if *newest == run && stands && (is_wanted || wanted.is_none()) {
            return Ok((seen, id));
        }
    }
    Err(Failure::usage(format!("no review here has {id} open"))
        .hint("`tribunal report` lists the findings of the last review; --run names another one"))
}
