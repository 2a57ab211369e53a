//! The inbox: the questions that a run has open for people, and the message that answers one.
//!
//! It reads the run state and makes messages; it posts nothing and decides nothing. Every face (command line, terminal,
//! browser) asks here, so they offer the same questions under the same names.

use crate::mail::Body;
use crate::run_state::RunState;
use crate::spoken;
use crate::tries::LostTry;
use tribunal_core::converge::Pattern;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Fate, FixableBy};
use tribunal_core::held::{Held, HeldChoice, HeldDecision};
use tribunal_core::ids::{FindingId, LoopId, PlanId, Reviewer, Revision};
use tribunal_core::ledger::{CarriedFinding, Entry, Mark};
use tribunal_core::machine::Machine;
use tribunal_core::policy::Use;
use tribunal_core::review_loop::{Choice, Decision, Loop, LoopWant, Offer, Outcome, Why};
use tribunal_core::run::{LaneChoice, LaneDecision, LaneOffer, Run, RunWant, Stuck, Was};
use tribunal_view::spoken::Spoken;
use tribunal_view::{branch, plain, question};

/// How many characters of a failure a question repeats.
const LOST_MAX: usize = 240;
/// How many characters of all its reviewers' failed tries a question repeats.
const TRIED_MAX: usize = 1_000;

/// What a person can answer, in the words of the command line.
///
/// The loop, the lane and the held result each have their own choices. This type is their union, so that a person
/// learns one set of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reaction {
    /// Work on it for some more rounds.
    Again,
    /// A person fixed it: review that.
    Fixed,
    /// Ask the same reviewers once more.
    AskAgain,
    /// Accept the work as it is.
    Accept,
    /// Drop the plan and the plans that depend on it.
    Drop,
    /// Bring the result to the user's branch.
    Land,
    /// End the loop, the lane or the run.
    Stop,
}

/// The name of the question about a held result.
pub const HELD: &str = "land";

/// Who asks, and why. It also says what a stop would end.
///
/// The answer is addressed by it: each kind of question has its own message, because each has its own machine and its
/// own choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A loop asks, for this reason.
    Loop(Why),
    /// A lane is stuck.
    Lane {
        /// The step at which the lane stood.
        was: Was,
        /// How its loop ended; `Failed` where another step failed.
        outcome: Outcome,
    },
    /// The user's branch does not have the result.
    Held(Held),
}

/// One open question.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenQuestion {
    /// A short name that no other question of the run ever has: `01-02/task-1`, `01-02`, `phase`.
    ///
    /// A second question about the same thing is `01-02/task-1:2`. Otherwise an answer that was typed for the first
    /// question could answer the second one.
    pub id: String,
    /// The effect that the answer is addressed to.
    pub effect: EffectId,
    /// The plan it is about; none for the whole phase.
    pub plan: Option<PlanId>,
    /// What it is about, in words.
    pub subject: String,
    /// Why the question is open.
    pub reason: Reason,
    /// The same reason, in words.
    pub why: String,
    /// The answers that may be given.
    pub offers: Vec<Reaction>,
    /// The open findings behind the question.
    pub findings: Vec<(FindingId, Entry)>,
    /// The revision that the question is about.
    pub revision: Option<Revision>,
    /// The last answers of its reviewers, in their own words.
    pub spoken: Vec<Spoken>,
}

/// Why an answer cannot be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The question does not offer this answer.
    #[error("{id} cannot be answered with `{word}`\nhint: it takes {}", offers.join(", "))]
    NotOffered {
        /// The name of the question.
        id: String,
        /// The answer that was given.
        word: &'static str,
        /// The answers that may be given.
        offers: Vec<&'static str>,
    },
    /// `again` needs at least one round.
    #[error("`again` needs at least one round\nhint: --rounds 1")]
    NoRounds,
    /// `again` with more rounds than anybody would wait for.
    #[error(
        "{rounds} rounds are too many: at most {ROUNDS_MAX} at a time\nhint: --rounds {ROUNDS_MAX}, and once more when they are spent"
    )]
    TooManyRounds {
        /// How many rounds were asked for.
        rounds: u32,
    },
    /// `fixed` needs the revision with the fix.
    #[error("`fixed` needs what you fixed")]
    NoRevision,
}

/// How many rounds one answer may give.
pub const ROUNDS_MAX: u32 = 100;

impl Reaction {
    /// All reactions, for lists of what can be answered.
    pub const ALL: [Reaction; 7] = [
        Reaction::Again,
        Reaction::Fixed,
        Reaction::AskAgain,
        Reaction::Accept,
        Reaction::Drop,
        Reaction::Land,
        Reaction::Stop,
    ];

    /// The word that the command line uses.
    pub fn word(self) -> &'static str {
        match self {
            Reaction::Again => "again",
            Reaction::Fixed => "fixed",
            Reaction::AskAgain => "ask-again",
            Reaction::Accept => "accept",
            Reaction::Drop => "drop",
            Reaction::Land => "land",
            Reaction::Stop => "stop",
        }
    }

    /// The reaction that a loop's decision stands for.
    pub fn of_choice(choice: &Choice) -> Reaction {
        Reaction::of_loop(choice.offer())
    }

    /// The reaction that a decision about a held result stands for.
    pub fn of_held_choice(choice: HeldChoice) -> Reaction {
        match choice {
            HeldChoice::Land => Reaction::Land,
            HeldChoice::Again(_) => Reaction::Again,
            HeldChoice::Stop => Reaction::Stop,
        }
    }

    /// The reaction that a lane's decision stands for.
    pub fn of_lane_choice(choice: &LaneChoice) -> Reaction {
        Reaction::of_lane(choice.offer())
    }

    fn of_loop(offer: Offer) -> Reaction {
        match offer {
            Offer::Again => Reaction::Again,
            Offer::Fixed => Reaction::Fixed,
            Offer::Reask => Reaction::AskAgain,
            Offer::Accept => Reaction::Accept,
            Offer::Stop => Reaction::Stop,
        }
    }

    fn of_lane(offer: LaneOffer) -> Reaction {
        match offer {
            LaneOffer::Retry => Reaction::Again,
            LaneOffer::Reask => Reaction::AskAgain,
            LaneOffer::Fixed => Reaction::Fixed,
            LaneOffer::Accept => Reaction::Accept,
            LaneOffer::Drop => Reaction::Drop,
            LaneOffer::Stop => Reaction::Stop,
        }
    }
}

/// Every open question of the run, in the order of their names.
///
/// A run that is over asks nothing, whatever its loops were waiting for.
pub fn questions(run_state: &RunState) -> Vec<OpenQuestion> {
    // A run that is over asks nothing, whatever its loops were waiting for.
    let Some(run) = run_state.run.as_ref().filter(|run| run.closing().is_none()) else { return Vec::new() };
    let loops = run_state.loops.values().filter(|review_loop| review_loop.question().is_some());
    let mut open: Vec<OpenQuestion> =
        loops.filter_map(|review_loop| of_loop(run_state, review_loop)).collect();
    let lost = |of: &str| run_state.lost.get(of).map(|lost| plain::clipped(lost, LOST_MAX));
    open.extend(run.wants().into_iter().filter_map(|(effect, want)| match want {
        RunWant::AskLane { plan, stuck } => Some(of_lane(run_state, effect, plan, &stuck)),
        RunWant::AskHeld { held } => Some(of_held(run_state, effect, held)),
        _ => None,
    }));
    for question in &mut open {
        // In these cases something broke, and the reason alone does not say what: repeat the last failure.
        let broke = matches!(
            question.reason,
            Reason::Loop(Why::NoQuorum | Why::ChecksDidNotRun)
                | Reason::Lane { was: Was::Summary, .. }
                | Reason::Lane { was: Was::Landing, outcome: Outcome::Failed }
        );
        let of = question.effect.of.as_str();
        // Without a quorum every try of every reviewer is of interest, and not only the last failure.
        let tried = tried(run_state, of).filter(|_| question.reason == Reason::Loop(Why::NoQuorum));
        if let Some(lost) = tried.or_else(|| lost(of)).filter(|_| broke) {
            question.why = format!("{} ({lost})", question.why);
        }
        // Last, because the lookups above need the name without its number.
        question.id = numbered(&question.id, times_asked(run_state, &question.id));
    }
    // By name, so that two calls list the same questions in the same order.
    open.sort_by(|a, b| a.id.cmp(&b.id));
    open
}

/// Why each try of a loop's reviewers did not count.
fn tried(run_state: &RunState, of: &str) -> Option<String> {
    let one = |(reviewer, lost): (&Reviewer, &LostTry)| {
        format!("{reviewer}, {}: {}", spoken::try_words(&lost.effect), lost.why)
    };
    let tries: Vec<String> = run_state.tries.of_loop(&LoopId::new(of)).map(one).collect();
    (!tries.is_empty()).then(|| plain::clipped(&tries.join("; "), TRIED_MAX))
}

/// How often somebody was asked about this, the open question included.
fn times_asked(run_state: &RunState, about: &str) -> u32 {
    run_state.asked.get(about).copied().unwrap_or(0).max(1)
}

/// The name of the n-th question about the same thing.
fn numbered(about: &str, n: u32) -> String {
    if n == 1 { about.to_owned() } else { format!("{about}:{n}") }
}

/// A question that was asked before and is no longer open: what it is about, and its number.
///
/// Use it to tell a person that an answer comes too late, instead of that there is no such question.
pub fn closed(run_state: &RunState, wanted: &str) -> Option<(String, u32)> {
    // A name without a number is the first question.
    let named = wanted.rsplit_once(':').and_then(|(about, n)| Some((about, n.parse::<u32>().ok()?)));
    let (about, n) = named.unwrap_or((wanted, 1));
    let asked = run_state.asked.get(about).copied().unwrap_or(0);
    let open = questions(run_state).iter().any(|open| open.id == numbered(about, n));
    (n >= 1 && n <= asked && !open).then(|| (about.to_owned(), n))
}

/// The open question that a person means by a name.
///
/// An id or an effect is always enough. The name of a loop or a plan is enough only as long as nothing else was ever
/// asked about it, so that an old name never answers a new question.
pub fn find<'a>(run_state: &RunState, open: &'a [OpenQuestion], wanted: &str) -> Option<&'a OpenQuestion> {
    // Exact names first. The shorter ones are tried only if nothing has exactly this name.
    let exact = |question: &&OpenQuestion| question.id == wanted || question.effect.to_string() == wanted;
    let of_loop = |question: &&OpenQuestion| {
        // A loop's full name has its number after a dot. Without the dot it would be the name of its first question.
        question.effect.of.as_str() == wanted && !question.id.contains(':') && wanted.contains('.')
    };
    let of_plan = |question: &&OpenQuestion| {
        question.plan.as_ref().is_some_and(|plan| plan.as_str() == wanted) && asked_of(run_state, wanted) <= 1
    };
    let only = |wanted: &dyn Fn(&&OpenQuestion) -> bool| {
        let mut found = open.iter().filter(wanted);
        // Ambiguous names answer nothing.
        found.next().filter(|_| found.next().is_none())
    };
    open.iter().find(exact).or_else(|| only(&of_loop)).or_else(|| only(&of_plan))
}

/// How many questions were ever asked about a plan, its loops and its lane.
fn asked_of(run_state: &RunState, plan: &str) -> u32 {
    let prefix = format!("{plan}/");
    let of = |about: &&String| about.as_str() == plan || about.starts_with(&prefix);
    run_state.asked.iter().filter(|(about, _)| of(about)).map(|(_, n)| n).sum()
}

/// The short name of a loop: `01-02/task-1` of `01-02/task-1.3`.
pub fn short(id: &LoopId) -> &str {
    id.as_str().rsplit_once('.').map_or(id.as_str(), |(short, _)| short)
}

/// Late findings of this round without evidence. They cause no rework, and a reviewer that rejects only for them gave
/// no verdict.
fn insisted(review_loop: &Loop) -> Vec<FindingId> {
    let late = |(id, entry): &(FindingId, &Entry)| {
        entry.fate == Fate::Advisory && review_loop.ledger().mark(*id, review_loop.round()) == Mark::Late
    };
    review_loop.ledger().iter().filter(late).map(|(id, _)| id).collect()
}

fn of_loop(run_state: &RunState, review_loop: &Loop) -> Option<OpenQuestion> {
    let (effect, asked) = review_loop.wants().into_iter().find_map(|(effect, want)| match want {
        LoopWant::Ask(question) if effect.step == Step::Ask => Some((effect, question)),
        _ => None,
    })?;
    let name = Name::of(review_loop.id());
    Some(OpenQuestion {
        id: name.short.clone(),
        effect,
        plan: name.plan.clone(),
        subject: question::subject(review_loop.id().as_str()),
        why: match &asked.why {
            Why::Escalated(Pattern::NotTheBuilders(id)) => {
                let by =
                    review_loop.ledger().get(*id).map(|entry| entry.claim.fixable_by).unwrap_or_default();
                match (review_loop.policy().of, by) {
                    // In the review of a phase such a finding belongs to the owner of its field, who is not on the
                    // panel.
                    (Use::Phase, FixableBy::Dev) => question::owner_is_absent(*id),
                    (_, by) => question::not_the_builders(*id, by),
                }
            }
            Why::NoQuorum => {
                question::asked(&asked, review_loop.rounds_max())
                    + &question::insisted(&insisted(review_loop))
            }
            _ => question::asked(&asked, review_loop.rounds_max()),
        },
        offers: asked.offers().into_iter().map(Reaction::of_loop).collect(),
        findings: review_loop.ledger().open().map(|(id, entry)| (id, entry.clone())).collect(),
        revision: asked.revision.clone(),
        reason: Reason::Loop(asked.why),
        spoken: spoken::of_last_round(run_state, review_loop.id()),
    })
}

fn of_lane(run_state: &RunState, effect: EffectId, plan: PlanId, stuck: &Stuck) -> OpenQuestion {
    // Other steps than a loop have no reviewers to quote, and nobody stopped them.
    let ended = run_state.last_ended(&plan).filter(|_| matches!(stuck.was, Was::Loop(_)));
    let by = ended.and_then(|review_loop| run_state.stopped.get(review_loop.id()));
    let findings = stuck.open.iter().map(|CarriedFinding { id, entry }| (*id, entry.clone())).collect();
    OpenQuestion {
        id: plan.as_str().to_owned(),
        effect,
        subject: question::lane(plan.as_str(), stuck.was),
        plan: Some(plan),
        why: by.map_or_else(|| question::stuck(stuck.was, &stuck.outcome), |by| question::stopped(by)),
        offers: stuck.offers().into_iter().map(Reaction::of_lane).collect(),
        findings,
        revision: stuck.revision.clone(),
        reason: Reason::Lane { was: stuck.was, outcome: stuck.outcome.clone() },
        spoken: ended
            .map(|review_loop| spoken::of_last_round(run_state, review_loop.id()))
            .unwrap_or_default(),
    }
}

/// The question about a result that passed and is not on the user's branch.
fn of_held(run_state: &RunState, effect: EffectId, held: Held) -> OpenQuestion {
    OpenQuestion {
        id: HELD.to_owned(),
        effect,
        subject: "the result".to_owned(),
        plan: None,
        why: branch::left_alone(&plain::line(&run_state.about.branch), &held),
        offers: match run_state.run.as_ref().is_some_and(Run::may_work_again) {
            true => vec![Reaction::Land, Reaction::Again, Reaction::Stop],
            false => vec![Reaction::Land, Reaction::Stop],
        },
        findings: Vec::new(),
        revision: run_state.run.as_ref().and_then(|run| run.tip().cloned()),
        reason: Reason::Held(held),
        spoken: Vec::new(),
    }
}

/// A loop's name taken apart: `01-02/task-1.3`.
struct Name {
    short: String,
    plan: Option<PlanId>,
}

impl Name {
    fn of(id: &LoopId) -> Name {
        let short = short(id).to_owned();
        match short.split_once('/') {
            Some((plan, _)) => Name { plan: Some(PlanId::new(plan)), short: short.clone() },
            None => Name { plan: None, short },
        }
    }
}

/// A person's answer, before it becomes a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The reaction that was chosen.
    pub reaction: Reaction,
    /// The name of the person.
    pub by: String,
    /// What the person says about it, in their words.
    pub note: String,
    /// How many rounds to give, for `again`.
    pub rounds: u32,
    /// The revision with the fix, for `fixed`.
    pub revision: Option<Revision>,
}

/// The message that gives this answer.
///
/// It is checked here against what the question offers, so that every face refuses the same answers with the same
/// words.
pub fn answer(question: &OpenQuestion, answer: Answer) -> Result<Body, AnswerError> {
    let Answer { reaction, by, note, rounds, revision } = answer;
    if !question.offers.contains(&reaction) {
        let offers = question.offers.iter().map(|offer| offer.word()).collect();
        return Err(AnswerError::NotOffered { id: question.id.clone(), word: reaction.word(), offers });
    }
    if reaction == Reaction::Again && rounds == 0 {
        return Err(AnswerError::NoRounds);
    }
    if rounds > ROUNDS_MAX {
        return Err(AnswerError::TooManyRounds { rounds });
    }
    // Asked for only where the answer is `fixed`.
    let fixed = || revision.clone().ok_or(AnswerError::NoRevision);
    let effect = question.effect.clone();
    Ok(match question.reason {
        Reason::Loop(_) => {
            let choice = match reaction {
                Reaction::Again => Choice::Again(rounds),
                Reaction::Fixed => Choice::Fixed(fixed()?),
                Reaction::AskAgain => Choice::Reask,
                Reaction::Accept => Choice::Accept,
                // A loop never offers to drop a plan or to land. The offer was checked above, so this arm is reached by
                // `Stop` alone.
                Reaction::Drop | Reaction::Land | Reaction::Stop => Choice::Stop,
            };
            Body::Decide { effect, decision: Decision { by, choice, note } }
        }
        Reason::Lane { .. } => {
            let choice = match reaction {
                Reaction::Again => LaneChoice::Retry(rounds.max(1)),
                Reaction::AskAgain => LaneChoice::Reask,
                Reaction::Fixed => LaneChoice::Fixed(fixed()?),
                Reaction::Accept => LaneChoice::Accept,
                Reaction::Drop => LaneChoice::Drop,
                Reaction::Land | Reaction::Stop => LaneChoice::Stop,
            };
            Body::DecideLane { effect, decision: LaneDecision { by, choice, note } }
        }
        Reason::Held(_) => {
            let choice = match reaction {
                Reaction::Land => HeldChoice::Land,
                Reaction::Again => HeldChoice::Again(rounds),
                _ => HeldChoice::Stop,
            };
            Body::DecideHeld { effect, decision: HeldDecision { by, choice, note } }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_state::Fact;
    use tribunal_core::effect::Step;
    use tribunal_core::ids::Time;
    use tribunal_core::ledger::Delta;
    use tribunal_core::machine;
    use tribunal_core::policy::{Policy, Use};
    use tribunal_core::review_loop::{LoopEvent, LoopIn, LoopReport, Opened, Opening};
    use tribunal_core::run::{Land, PlanGate, PlanSpec, Policies, RunEvent, RunIn, RunReport, RunSpec};

    fn run_state(gate: Option<PlanGate>) -> RunState {
        let policies = Policies {
            plan: Policy::of(Use::Plan),
            task: Policy::of(Use::Task),
            repair: Policy::of(Use::Task),
            qa: Policy::of(Use::Qa),
            phase: Policy::of(Use::Phase),
        };
        let plan = PlanSpec {
            id: PlanId::new("01-01"),
            wave: 1,
            depends_on: Vec::new(),
            after: Vec::new(),
            tasks: 1,
            revision: Revision::new("r0"),
            done: None,
        };
        let spec = RunSpec {
            plans: vec![plan],
            gate,
            land: Land::Group,
            qa: false,
            bare: false,
            hold: false,
            review: false,
            polish: None,
            exists: None,
            chain: None,
            land_again: false,
            checkpoint_every: None,
            landing_rounds: 2,
            attempts_max: 2,
            policies,
            finish: Vec::new(),
            step_timeout_ms: 1_000,
        };
        let mut run_state = RunState::default();
        run_state.apply(Time(1), &Fact::Run(RunEvent::Opened(Box::new(spec)))).unwrap();
        machine::settle(run_state.run.as_mut().unwrap()).unwrap();
        run_state
    }

    /// A plan that nobody can judge: neither checks nor reviewers.
    fn unjudged() -> RunState {
        let mut run_state = run_state(Some(PlanGate::All));
        let id = LoopId::new("01-01/plan.1");
        let opening = Opening::Judge { revision: Revision::new("r0"), open: Vec::new(), since: None };
        let opened = Opened { id: id.clone(), policy: Policy::of(Use::Plan), opening, at: Time(2) };
        run_state.apply(Time(2), &Fact::Loop(id.clone(), LoopEvent::Opened(Box::new(opened)))).unwrap();
        let review_loop = run_state.loops.get_mut(&id).unwrap();
        machine::settle(review_loop).unwrap();
        let effect = review_loop.wants().into_keys().find(|effect| effect.step == Step::Track).unwrap();
        let report = LoopReport::Tracked { findings: Vec::new(), delta: Delta::default() };
        machine::turn(review_loop, &LoopIn::Report { effect, at: Time(3), report }).unwrap();
        run_state
    }

    /// A lane whose rounds are spent.
    fn stuck() -> RunState {
        let mut run_state = run_state(None);
        let run = run_state.run.as_mut().unwrap();
        let effect = run.wants().into_keys().find(|effect| effect.step == Step::Loop).unwrap();
        let revision = Some(Revision::new("r1"));
        let report = RunReport::LoopEnded { outcome: Outcome::Exhausted, revision, open: Vec::new() };
        machine::turn(run, &RunIn::Report { effect, at: Time(3), report }).unwrap();
        run_state
    }

    fn said(reaction: Reaction, revision: Option<&str>) -> Answer {
        let revision = revision.map(Revision::new);
        Answer { reaction, by: "ann".to_owned(), note: String::new(), rounds: 2, revision }
    }

    #[test]
    fn a_loops_question_is_found_by_any_of_its_names() {
        let run_state = unjudged();
        let open = questions(&run_state);
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].id, "01-01/plan");
        assert_eq!(open[0].reason, Reason::Loop(Why::NoQuorum));
        assert_eq!(open[0].offers, [Reaction::AskAgain, Reaction::Fixed, Reaction::Accept, Reaction::Stop]);
        let effect = open[0].effect.to_string();
        for name in ["01-01/plan", "01-01/plan.1", "01-01", effect.as_str()] {
            assert!(find(&run_state, &open, name).is_some(), "{name}");
        }
        for name in ["01-02", "plan", "01-01/plan.2", ""] {
            assert!(find(&run_state, &open, name).is_none(), "{name}");
        }
    }

    #[test]
    fn an_old_name_never_answers_a_new_question() {
        let mut run_state = unjudged();
        run_state.asked = [("01-01/plan".to_owned(), 2)].into();
        let open = questions(&run_state);
        assert_eq!(open[0].id, "01-01/plan:2");
        for (name, found) in [
            ("01-01/plan:2", true),
            (open[0].effect.to_string().as_str(), true),
            ("01-01/plan", false),
            ("01-01/plan:1", false),
            ("01-01/plan.1", false),
            ("01-01", false),
        ] {
            assert_eq!(find(&run_state, &open, name).is_some(), found, "{name}");
        }
        assert_eq!(closed(&run_state, "01-01/plan"), Some(("01-01/plan".to_owned(), 1)));
        assert_eq!(closed(&run_state, "01-01/plan:1"), Some(("01-01/plan".to_owned(), 1)));
        for name in ["01-01/plan:2", "01-01/plan:3", "01-01/plan:0", "01-02", ":", ""] {
            assert_eq!(closed(&run_state, name), None, "{name}");
        }
        // The lane asked once, then a loop of it: the plan's name alone says neither.
        run_state.asked = [("01-01/plan".to_owned(), 1), ("01-01".to_owned(), 1)].into();
        assert!(find(&run_state, &questions(&run_state), "01-01").is_none());
    }

    #[test]
    fn a_stuck_lane_asks_too() {
        let open = questions(&stuck());
        assert_eq!(open.len(), 1);
        assert_eq!((open[0].id.as_str(), open[0].why.as_str()), ("01-01", "its rounds are spent"));
        let all = [Reaction::Again, Reaction::Fixed, Reaction::Accept, Reaction::Drop, Reaction::Stop];
        assert_eq!(open[0].offers, all);
    }

    #[test]
    fn every_offer_makes_the_message_it_says() {
        for run_state in [unjudged(), stuck()] {
            let question = questions(&run_state).remove(0);
            for reaction in Reaction::ALL {
                let body = answer(&question, said(reaction, Some("r9")));
                assert_eq!(body.is_ok(), question.offers.contains(&reaction), "{reaction:?}");
                match body {
                    Ok(Body::Decide { effect, decision }) => {
                        assert_eq!(
                            (&effect, Reaction::of_choice(&decision.choice)),
                            (&question.effect, reaction)
                        );
                    }
                    Ok(Body::DecideLane { effect, decision }) => {
                        let meant = Reaction::of_lane_choice(&decision.choice);
                        assert_eq!((&effect, meant), (&question.effect, reaction));
                    }
                    Ok(other) => panic!("{other:?}"),
                    Err(error) => assert!(matches!(error, AnswerError::NotOffered { .. }), "{error}"),
                }
            }
        }
    }

    #[test]
    fn answers_that_lack_something() {
        let question = questions(&stuck()).remove(0);
        assert_eq!(answer(&question, said(Reaction::Fixed, None)), Err(AnswerError::NoRevision));
        let none = Answer { rounds: 0, ..said(Reaction::Again, None) };
        assert_eq!(answer(&question, none), Err(AnswerError::NoRounds));
        for (rounds, fits) in [(ROUNDS_MAX, true), (ROUNDS_MAX + 1, false), (u32::MAX, false)] {
            let many = Answer { rounds, ..said(Reaction::Again, None) };
            assert_eq!(answer(&question, many).is_ok(), fits, "{rounds}");
        }
    }

    #[test]
    fn a_run_that_is_over_asks_nothing() {
        let mut run_state = stuck();
        machine::turn(run_state.run.as_mut().unwrap(), &RunIn::Cancel).unwrap();
        assert_eq!(questions(&run_state), []);
    }
}
