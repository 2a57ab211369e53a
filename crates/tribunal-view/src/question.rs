//! Questions to people: why they are open, what may be answered, and the exact command for each answer.
//!
//! What is on offer is decided in `tribunal-core`. Here are the words, and they are the same in every face.

use crate::facts::{OfferView, QuestionView};
use crate::plain;
use crate::spoken;
use crate::style::{Mark, Style};
use std::fmt::Write;
use tribunal_core::converge::{Pattern, Round, Stretch};
use tribunal_core::cover::{NotShown, Shown};
use tribunal_core::finding::FixableBy;
use tribunal_core::ids::FindingId;
use tribunal_core::review_loop::{Outcome, Question, Why};
use tribunal_core::run::{Job, Was};

/// The number of bytes of each reviewer's words that a question shows; `tribunal show` has the rest.
const SPOKEN_MAX: usize = 2_000;

/// The only plan of a run whose plan is a sentence. People do not know it as a plan.
const ASKED: &str = tribunal_docs::words::PLAN;

/// Says why a loop asks.
///
/// The sentence stands behind the subject of the question and names facts only; what to do about them is in the offers.
pub fn why(why: &Why, rounds_max: u32) -> String {
    match why {
        Why::NoQuorum => "nobody could say whether it is good: a reviewer gave no usable verdict, or nobody confirms that a finding is gone".to_owned(),
        Why::ChecksDidNotRun => "a check did not run".to_owned(),
        // "Its 1 rounds are spent" would be wrong.
        Why::Exhausted if rounds_max == 1 => "its only round is spent".to_owned(),
        Why::Exhausted => format!("its {rounds_max} rounds are spent"),
        Why::Stale => "nothing moves any more".to_owned(),
        Why::Approval => "reviewers and checks find it good; work begins when you say so".to_owned(),
        Why::Escalated(pattern) => pattern_words(pattern),
    }
}

/// Adds to a question about a missing verdict that reviewers insist on something they found late and did not prove.
pub fn insisted(late: &[FindingId]) -> String {
    if late.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = late.iter().map(ToString::to_string).collect();
    format!(
        "; {} missed earlier, on lines nobody touched since, and without evidence: advisory after round 2, however often said",
        ids.join(", ")
    )
}

/// Says why a loop asks, and who was not shown everything.
///
/// If somebody was not shown everything, that is the whole reason, and the general one is left out.
pub fn asked(question: &Question, rounds_max: u32) -> String {
    match question.not_shown.as_slice() {
        [] => why(&question.why, rounds_max),
        // Somebody who was not shown everything explains the missing verdict better than the general reason.
        missed => {
            let each: Vec<String> = missed
                .iter()
                .map(|one| not_covered(one.reviewer.as_str(), one.shown) + &limited(one))
                .collect();
            each.join("; ")
        }
    }
}

/// Says why a reviewer is not asked in a final pass.
pub fn verdict_kept(who: &str, shown: Shown) -> String {
    format!("{who} was shown {shown} whole in earlier rounds: its verdict stands")
}

/// Says that a reviewer has no verdict because it was not shown everything.
pub fn not_covered(who: &str, shown: Shown) -> String {
    let who = plain::line(who);
    format!("{who} was shown {shown} and has no verdict: nobody approves what they were not shown")
}

/// Says why a reviewer was not asked at all, and the way out.
fn limited(one: &NotShown) -> String {
    let Some(limit) = one.limit else { return String::new() };
    let parts = one.shown.parts;
    format!(
        ". To show all of it takes {parts} parts, and agents.parts_max permits {limit}, so nobody was asked. \
         hint: begin again with agents.parts_max = {parts} or more, or with a smaller change"
    )
}

/// Says who can fix a finding that its builder cannot.
pub fn not_the_builders(id: FindingId, by: FixableBy) -> String {
    match by {
        FixableBy::Architect => format!("{id} is not the dev's to fix: the plan's author (architect) must"),
        FixableBy::Dev => format!("{id} is not the plan's to fix: the dev must"),
        FixableBy::Manual => format!("{id} is not an agent's to fix: a person must"),
    }
}

/// Says that a finding is in a field whose owner is not here to fix it.
pub fn owner_is_absent(id: FindingId) -> String {
    format!("{id} is in a field that has an owner, and its owner is not here to fix it: a person must")
}

/// Says in words what pattern more rounds will not fix.
///
/// The numbers are part of the sentence, so that a person can judge whether the pattern is real.
pub fn pattern_words(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Contested(id) => format!("fixes of {id} undo each other"),
        Pattern::Fundamental => "two rounds said that patching will not do".to_owned(),
        Pattern::NotTheBuilders(id) => {
            format!(
                "the builder cannot fix {id}: fix it yourself and answer `fixed`, or accept the change as it is"
            )
        }
        Pattern::Region(region) => {
            format!("the same place came back a third time: {}", plain::clipped(region, 80))
        }
        Pattern::SurvivedTouched(id) => format!("{id} survived two fixes although its code was changed"),
        Pattern::SurvivedUntouched(id) => format!("{id} was left untouched by fix after fix"),
        Pattern::Turnover(sum) => format!(
            "reviewers find other old faults each round, also after an exhaustive pass: {} late findings since round {}, {} open then and {} now",
            sum.late, sum.from, sum.open_before, sum.open_after
        ),
        Pattern::Growth(sum) => format!(
            "more is open after each fix: {} in round {}, {} in round {}, with {} resolved between",
            sum.open_before, sum.from, sum.open_after, sum.to, sum.resolved
        ),
        Pattern::Churn(sum) => format!("fixes break as much as they fix: {}", stretch_words(sum)),
        Pattern::SlowChurn(sum) => {
            format!("fixes break half of what they fix, round after round: {}", stretch_words(sum))
        }
    }
}

fn stretch_words(sum: &Stretch) -> String {
    format!(
        "{} open in round {}, {} in round {}, with {} resolved and {} broken or back between",
        sum.open_before, sum.from, sum.open_after, sum.to, sum.resolved, sum.broken
    )
}

/// Says in one sentence what a round that goes on came to.
pub fn progress(rounds: &[Round]) -> String {
    match rounds {
        [] => "no round needed rework yet".to_owned(),
        [Round { open, .. }] => format!("first round: {open} to fix"),
        // A round that resolved nothing has a sentence of its own, because it is granted one more try and not more.
        [.., Round { round, resolved: 0, open, .. }] => {
            format!("round {round} resolved nothing, {open} open: one more try")
        }
        [.., last] => format!(
            "round {} resolved {}, broke {}, found {} late, {} open",
            last.round,
            last.resolved,
            last.broken(),
            last.late,
            last.open
        ),
    }
}

/// Says that a person stopped the loop of a lane.
pub fn stopped(by: &str) -> String {
    format!("{} stopped its loop, and what becomes of the plan is still to be said", plain::clipped(by, 80))
}

/// Says why a lane is stuck, if no person stopped its loop.
///
/// Lanes that a person stopped have words of their own, in `stopped`.
pub fn stuck(was: Was, outcome: &Outcome) -> String {
    match (was, outcome) {
        // Approved work that could not be landed is not bad work, and the sentence must not make it look so.
        (Was::Landing, Outcome::Failed) => {
            "it is approved, and its landing could not be done; nothing is known to be wrong with it"
                .to_owned()
        }
        (Was::Landing, _) => "it cannot land, and its repairs are spent".to_owned(),
        (Was::Summary, _) => "its SUMMARY could not be written".to_owned(),
        (Was::Loop(_), Outcome::Exhausted) => "its rounds are spent".to_owned(),
        (Was::Loop(_), Outcome::Stale) => "nothing moves any more".to_owned(),
        (Was::Loop(_), Outcome::Stuck) => "its builder never finished".to_owned(),
        (Was::Loop(_), Outcome::Failed) => "a step could not be done".to_owned(),
        (Was::Loop(_), outcome) => format!("its loop ended {}", outcome.word()),
    }
}

/// Says where a lane stood.
pub fn was(was: Was) -> String {
    match was {
        Was::Loop(Job::Task(n)) => format!("task {n}"),
        Was::Loop(Job::Repair) => "its repair after a refused landing".to_owned(),
        Was::Loop(Job::Qa) => "its delivery".to_owned(),
        Was::Summary => "its SUMMARY".to_owned(),
        Was::Landing => "its landing".to_owned(),
    }
}

/// Says what a loop is about, from its name: `01-02/task-1.3`.
///
/// The name of a loop is made by the machine and says what it is about, so no further fact is needed.
pub fn subject(of: &str) -> String {
    // The number behind the last dot counts entries of the same loop.
    let short = of.rsplit_once('.').map_or(of, |(short, _)| short);
    match short.split_once('/') {
        // A loop without a slash belongs to no plan.
        None if short.starts_with("chain.") => format!("the {}", short.trim_start_matches("chain.")),
        None if short.ends_with(".polish") => "the polish of the phase".to_owned(),
        None => "the whole change".to_owned(),
        Some((ASKED, "repair")) => "the change, on what the branch has now".to_owned(),
        Some((ASKED, _)) => "the change".to_owned(),
        Some((plan, "plan")) => format!("plan {plan}, before any code"),
        Some((plan, "qa")) => format!("plan {plan}, its delivery"),
        Some((plan, label)) => format!("plan {plan}, {}", label.replacen("task-", "task ", 1)),
    }
}

/// Names a stuck lane for people.
pub fn lane(plan: &str, was: Was) -> String {
    match plan {
        ASKED => "the change".to_owned(),
        plan => format!("plan {plan}, {}", self::was(was)),
    }
}

/// Says what an answer to a question does.
///
/// `stop` means something else for each kind of question. A person who reads the wrong meaning could end a run by
/// mistake.
pub fn meaning(id: &str, word: &str) -> &'static str {
    // A loop has a slash in its name and a lane has none, so the name tells what is being stopped.
    let label = id.split_once('/').map(|(_, label)| label);
    let of_lane = |label: &str| ["task-", "repair", "qa"].iter().any(|loops| label.starts_with(loops));
    match word {
        "again" => "run again with so many rounds more",
        "fixed" => "you fixed it: your version is judged",
        "ask-again" => "ask the same again, same revision",
        "accept" => "take it as it is, under your name",
        "drop" if id.starts_with(ASKED) => "drop the change",
        "drop" => "drop this plan and what depends on it",
        "land" => "bring it to the branch: rebased and checked there, judged again only where that is needed",
        // Held results are asked about under `land`, and stopping then loses nothing.
        "stop" if id.starts_with("land") => "end the run without it; the result stays in the run's own refs",
        "stop" if label.is_some() && id.starts_with(ASKED) => {
            "stop; then it is asked what becomes of the change"
        }
        "stop" if id == ASKED => "stop the run",
        "stop" if label.is_some_and(of_lane) => "end this loop; then it is asked what becomes of the plan",
        "stop" if label.is_some() => "end it: the plan is refused",
        "stop" if id.starts_with(|c: char| c.is_ascii_digit()) => "stop the run",
        "stop" => "end it",
        _ => "",
    }
}

/// Returns the answers on offer, with their commands.
///
/// Each answer comes with the whole command, so that a person can copy it.
pub fn offers(id: &str, run: &str, words: &[&str]) -> Vec<OfferView> {
    let offer = |word: &&str| {
        // A number has to be given; two rounds are a suggestion that a person can change.
        let rounds = if *word == "again" { " --rounds 2" } else { "" };
        OfferView {
            word: (*word).to_owned(),
            command: match *word {
                "land" => format!("tribunal land {run}"),
                word => format!("tribunal decide {id} {word}{rounds}"),
            },
            meaning: meaning(id, word).to_owned(),
        }
    };
    words.iter().map(offer).collect()
}

/// Adds the run to commands that would otherwise be taken for those of another run.
///
/// A question's id is unique within its run only, and several runs may ask at once.
pub fn name_run(offers: &mut [OfferView], run: &str) {
    for offer in offers.iter_mut().filter(|offer| offer.command.starts_with("tribunal decide ")) {
        offer.command.push_str(&format!(" --run {run}"));
    }
}

/// Returns the offer to try out a phase.
pub fn uat_offer(phase: &str) -> OfferView {
    OfferView {
        word: "uat".to_owned(),
        command: format!("tribunal uat {phase}"),
        meaning: "try it out, one scenario at a time".to_owned(),
    }
}

/// Writes a question in full.
///
/// A question shows the findings, the reviewers' words and the commands, so that it can be answered without another
/// look.
pub fn text(question: &QuestionView, style: Style) -> String {
    let mut out = String::new();
    let head = format!("{}: {}", question.subject, question.why);
    let _ = writeln!(out, "{} {}", style.mark(Mark::Warning), style.bold(&style.wrap(&head, "  ")));
    // A question has to fit a screen together with its answers.
    for finding in question.findings.iter().take(10) {
        let _ = writeln!(out, "    {}", style.wrap(&plain::clipped(&finding.line(), 300), "      "));
    }
    if question.findings.len() > 10 {
        let _ = writeln!(out, "    … and {} more", question.findings.len() - 10);
    }
    if !question.spoken.is_empty() {
        let _ = writeln!(out, "  what its reviewers said");
        spoken::text(&mut out, &question.spoken, SPOKEN_MAX, style);
    }
    if let Some(answer) = &question.answered {
        let _ =
            writeln!(out, "  answered: {}; `tribunal resume {}` goes on", plain::line(answer), question.run);
        // It is answered already: offering the commands again would invite a second answer.
        return out;
    }
    let _ = writeln!(out, "  answer with one of");
    for offer in &question.offers {
        let _ = writeln!(out, "    {}", style.bold(&offer.command));
        let _ = writeln!(out, "      {}", style.faint(&style.wrap(&offer.meaning, "      ")));
    }
    // The place is named only where `fixed` is on offer, because only then is an edit there judged.
    if let Some(place) = question.place.as_ref().filter(|_| has(question, "fixed")) {
        let _ = writeln!(out, "  to fix it yourself, edit in");
        let _ = writeln!(out, "    {place}");
    }
    out
}

fn has(question: &QuestionView, word: &str) -> bool {
    question.offers.iter().any(|offer| offer.word == word)
}
