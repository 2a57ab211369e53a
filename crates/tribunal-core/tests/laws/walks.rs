//! All walks, and the tests that read what they found.

use crate::book::Book;
use crate::journeys;
use crate::loops::{LoopSim, revision};
use crate::policies::{USES, policy};
use crate::rng::Rng;
use crate::runs::RunSim;
use crate::specs::spec;
use crate::transitions;
use std::sync::OnceLock;
use tribunal_core::effect::FinishStep;
use tribunal_core::ids::{LoopId, Time};
use tribunal_core::review_loop::{Opened, Opening};

const LOOPS: u64 = 2_500;

#[expect(clippy::disallowed_methods, reason = "a test reads how far to walk; the crate itself never does")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn seeds() -> u64 {
    variable("TRIBUNAL_SEEDS").and_then(|text| text.parse().ok()).unwrap_or(LOOPS)
}

/// All walks, once for all tests of this process. A walk that panics breaks every law.
fn walked() -> &'static Book {
    static BOOK: OnceLock<Option<Book>> = OnceLock::new();
    let walks = || walk(1, seeds());
    BOOK.get_or_init(|| std::panic::catch_unwind(walks).ok()).as_ref().expect("a walk panicked")
}

fn walk(first: u64, many: u64) -> Book {
    let mut book = Book::default();
    for seed in first..first + many {
        walk_loop(seed, &mut book);
    }
    for seed in first..first + many / 5 {
        walk_run(seed, false, &mut book);
    }
    // Much must go well before a result can be held, rebased and carried over.
    for seed in first..first + many / 10 {
        walk_run(seed, true, &mut book);
    }
    journeys::walk(&mut book);
    book
}

/// One law over the walks. A runner that starts a process for each test would walk them all again for every law:
/// there each law has a smaller share of its own, and `sometimes` walks them all and reads every law.
fn law(name: &str) {
    match variable("NEXTEST") {
        None => walked().assert(name),
        Some(_) => {
            let assignment = name.bytes().map(u64::from).sum::<u64>() * 10_000;
            walk(assignment, seeds() / 20).assert(name);
        }
    }
}

fn walk_loop(seed: u64, book: &mut Book) -> LoopSim {
    let mut rng = Rng::new(seed);
    let of = *rng.pick(&USES);
    let wild = rng.chance(40);
    let policy = policy(&mut rng, of, wild);
    let opening = match rng.below(3) {
        0 => Opening::Judge { revision: revision(1), open: Vec::new(), since: None },
        1 => Opening::Make { rounds: Some(1 + u32::try_from(rng.below(4)).unwrap()), open: Vec::new() },
        _ => Opening::Make { rounds: None, open: Vec::new() },
    };
    book.wild = wild;
    book.walk = format!("loop seed {seed} ({of}{})", if wild { ", wild" } else { "" });
    let opened = Opened { id: LoopId::new("loop"), policy, opening, at: Time(1_000) };
    let mut sim = LoopSim::open(opened, rng.next(), book);
    sim.walk(book);
    sim
}

/// The journal of one walked loop.
pub fn loop_journal(seed: u64, book: &mut Book) -> Vec<String> {
    walk_loop(seed, book).log
}

/// The journal of one walked run.
pub fn run_journal(seed: u64, book: &mut Book) -> Vec<String> {
    walk_run(seed, seed.is_multiple_of(3), book).log
}

fn walk_run(seed: u64, kind: bool, book: &mut Book) -> RunSim {
    let mut rng = Rng::new(seed ^ 0xaaaa_0000);
    let mut spec = spec(&mut rng);
    let real = rng.chance(35) && !kind;
    if kind {
        let filtered = &mut rng.clone();
        spec.plans.truncate(1 + filtered.below(3));
        spec.review |= filtered.chance(50);
        spec.finish = vec![FinishStep::Boundary, FinishStep::Forward, FinishStep::Push];
    }
    book.wild = false;
    book.walk =
        format!("run seed {seed}{}", if real { ", real loops" } else { if kind { ", kind" } else { "" } });
    let mut sim = RunSim::open(&spec, rng.next(), (real, kind), book);
    sim.walk(book);
    sim
}

macro_rules! laws {
    ($($(#[$doc:meta])* $law:ident)*) => { $($(#[$doc])* #[test] fn $law() { law(stringify!($law)); })* };
}

laws! {
    /// Passed means: what ended is what was made; every check ran on it in the last sitting and holds nothing in
    /// the rework column; every reviewer's last word since is approve (conditional only with warnings), or the ruling
    /// says checks only and the policy allows it; somebody judged; no must-fix of the rework column is open.
    /// Every ruling is the one the five lines give. Accepted means that a person did. Landed means that every
    /// task and, since the last change, the delivery ended good or was accepted, and that this landed.
    gate
    /// A counted answer answers every id put to it; an approval in round 1 says what was checked.
    coverage
    /// Nobody has a verdict who was not shown every hunk; it is as strict as the strictest part, has all findings of all
    /// parts, each part has its own evidence, and no more parts are asked than the policy allows. What passed in round 1 or
    /// in a final pass was shown, every hunk of it whole, to every reviewer that counts; who keeps its verdict in a final
    /// pass without being asked had been shown all of it, and does not object.
    shown
    /// A round judges a revision never judged, or the last one with an answer not given before.
    moved
    /// Where the policy confirms, a pass after round 1 comes from a final pass.
    confirm
    /// R = rounds given + rounds of every Again + number of Fixed. A = attempts, S = reviewers × (1 + backup) × parts_max,
    /// K = checks, M = builders in the largest crew, C = 2 where passes are confirmed else 1, F = findings,
    /// I = iterations, N = number of Again, X = number of Fixed, D = decisions.
    /// rounds ≤ R; sittings P ≤ R·C + Reasks + 1 + N + X (an exhaustive pass in each series); makes ≤ (R + N + 1)·A·M, or I·(1 + N) where runs are iterations;
    /// joins ≤ (R + N + 1)·A; hearings ≤ (2 + N + X)·F·A (a contest may be heard once in each series);
    /// reports ≤ makes + joins + P·(K·A + S·(A + 1) + (1 + 2S)·A) + hearings + D + 1.
    /// Of a run, with d decisions on a lane and L landing rounds: reports ≤
    /// Σ plans (2 + tasks + 2d + (1 + L + d)·(2A + 2)) + checkpoints + 1 + finishing steps·A. With B rebases and H
    /// decisions on a held result, all of it (1 + B) times, the finishing steps H times more, and A for each rebase and
    /// each carrying over; B ≤ REBASES_MAX·(H, and 1 where the run rebases by itself).
    /// Besides: no rework is ordered, and no end is given, but for the controller's reason.
    bounded
    /// After every turn nothing is left to settle, and something is wanted or the machine has ended.
    settled
    /// A wanted, well-formed report always moves the machine; an option not offered never.
    progress
    /// The fold of the journal, read back from text, is the live state at every prefix; inside a transaction every
    /// event but the first follows from the state alone.
    replay
    /// No id is heard twice; strangers, duplicates, early wakes and cleared launches mean and change nothing.
    stale
    /// After the end nothing is wanted and nothing means anything; no loop outlives its run.
    absorbs
    /// What decide and settle emit, apply accepts.
    closed
    /// What was wanted stays wanted until its own report, the end, a drop or the close; an intended landing even
    /// then. A checkpoint ends with its lane's tasks.
    stability
    /// An id is intended at most once, ever, with the right deadline; nobody reports without an intent.
    intent
    /// Ids only grow; at the end none is open, and each has the fate the outcome gives.
    findings
    /// A finding's words only grow and the first ones stand; no opinion is a check's; who raised it is asked about
    /// it in words of its own.
    words
    /// A plan lands once, and once more after each rebase; a landing moves the branch once.
    once
    /// A run that ends good has brought its result to the user's branch; only what passed is held.
    there
    /// Dependencies and earlier waves first; one landing at a time, the head; nothing behind a shut gate. After
    /// every turn the run wants exactly what a second, plain model of it wants.
    order
    /// The wants of all lanes and of the run itself are its wants; an event changes those of no lane it does not touch.
    parts
    /// What a loop says of one effect alone is what it says of all.
    wanted
    /// Never more agents than the width, and no free width while one waits.
    width
    /// When one lane is due, every lane at its tasks that has no checkpoint gets one.
    checkpoint
    /// A question has its reason; in a group no lane asks while a sibling works.
    asks
    /// When late findings make up half of what two rounds running resolved, and nothing shrank, one exhaustive pass is
    /// held before the rework, once in a series: by the fallback reviewer, or by every reviewer that answered. It adds to
    /// what was said and answers for nothing; a late blocker after it goes to a person.
    exhaustive
    /// Builders at work at once share no file, and every open must-fix finding has exactly one.
    fixers
    /// Nothing passes over words that nobody read, and no reviewer takes them back in one sitting.
    unread
}

const ANYWHERE: &str = "question/Approval|question/Region|question/Churn|question/Turnover|\
    question/SurvivedUntouched|exhaustive/fallback|exhaustive/same reviewers|exhaustive/answered|exhaustive/lost|\
    answer/approve|answer/conditional|answer/reject|answer/approve/backup|\
    answer/conditional/backup|answer/reject/backup|asked again/Bare|asked again/Incomplete|\
    asked again/Groundless|asked again/Unread|asked again/Flipped|asked again/Unsettled|asked again/Wordless|unread/settled|unread/fallback bound|hearing/upheld|hearing/refuted|hearing/unheard|crash|probe/done|probe/not done|\
    probe/unproven|wake/due|crew/parallel|failed/make|failed/join|failed/check|failed/judge|failed/track|\
    failed/hear|round/argued|seated/nobody|seated/somebody|noise|words/several wordings of one|\
    words/several voices for one|shown/in parts|shown/at once|shown/not all|shown/before";

const EVENTS: &str = "intended|cleared|iterated|made|joined|failed|round_began|checked|panel_assembled|answered|\
    part_answered|not_covered|verdict_kept|asked_again|panel_closed|tracked|heard|ruled|confirming|exhaustive_ordered|rework_ordered|\
    asked|decided|ended";

const RUNS: &str = "refused/conflict|refused/red check|refused/judge again|refused/conflict/spent|\
    refused/red check/spent|refused/judge again/spent|ending/passed|ending/concerns|ending/shut|\
    ending/stopped|ending/cancelled|gate/Some(All)/open|gate/Some(All)/shut|gate/Some(Each)/open|gate/Some(Each)/shut|\
    lease/waited|checkpoint/held|checkpoint/given up|checkpoint/spans tasks|checkpoint/left behind|dropped/gating|\
    dropped/ready|dropped/working|dropped/queued|dropped/stuck|dropped/summary|drop/while landing|\
    cancel/while landing|review/passed|review/accepted|review/failed|finish/given up|width/waits|run crash|\
    run probe/done|run probe/not done|run probe/unproven|run wake/due|loop/called off|lane loop/Qa/good|\
    lane loop/Qa/bad|lane loop/Repair/good|lane loop/Repair/bad|run failed/lane|run failed/finish|held/Moved|held/Gone|held/Elsewhere|held/Busy|held/Dirty|\
    held/InTheWay|held/Filtered|held/Conflict|held/Undone|held/Failed|held/Ordered|held decision/Land|worked on again|lane loop/nothing made|held decision/Stop|rebased/plans|carried|\
    judged again";

const RUN_EVENTS: &str = "intended|cleared|loop_ended|gate_decided|wave_opened|lane_opened|plan_dropped|\
    summarised|landed|landing_refused|lane_asked|lane_decided|iterated|checkpoint_due|checkpointed|failed|\
    review_opened|closing|finish_ordered|finished|held|held_decided|rebased|carry_opened|carried|judge_again|ended";

/// Every outcome, ruling, question, decision, hearing, crash, probe answer and lane option was reached, for each
/// use where its row allows it; what a row does not allow was never reached.
#[test]
fn sometimes() {
    let book = walked();
    for (what, times) in book.seen() {
        println!("{times:>8} {what}");
    }
    println!("{} runs, {} reports", book.runs, book.run_reports);
    println!("digest of every event and want: {:016x}", book.digested());
    println!("{} loops, {} reports, {} at most in one", book.loops, book.loop_reports, book.most);
    let mut wrong: Vec<String> = USES.iter().flat_map(|of| sometimes_for(book, of.word())).collect();
    wrong.extend(ANYWHERE.split('|').filter_map(|what| book.unlike(what, true)));
    wrong.extend(EVENTS.split('|').filter_map(|event| book.unlike(format!("event/{event}"), true)));
    wrong.extend(RUNS.split('|').filter_map(|what| book.unlike(what, true)));
    wrong.extend(RUN_EVENTS.split('|').filter_map(|event| book.unlike(format!("run event/{event}"), true)));
    for was in ["task", "qa", "summary", "repair", "landing"] {
        // A refused landing cannot be accepted.
        let accept = !matches!(was, "repair" | "landing");
        for (choice, may) in [
            ("Retry", true),
            ("Reask", was == "landing"),
            ("Fixed", true),
            ("Accept", accept),
            ("Drop", true),
            ("Stop", true),
        ] {
            wrong.extend(book.unlike(format!("lane decision/{was}/{choice}"), may));
        }
    }
    let (unknown, unwalked) = transitions::differ(book.rows());
    assert!(unknown.is_empty(), "transitions that the table lacks:\n{}", unknown.join("\n"));
    wrong.extend(unwalked);
    book.assert_all();
    // Shorter walks than the usual reach less.
    assert!(wrong.is_empty() || seeds() < LOOPS, "{wrong:#?}");
}

/// For one row of the table: what it reaches, and what it does not and why.
fn sometimes_for(book: &Book, of: &str) -> Vec<String> {
    let strict = matches!(of, "qa" | "phase");
    let mut all: Vec<(String, bool)> = Vec::new();
    let mut each = |what: String, may: bool| all.push((what, may));
    for outcome in ["passed", "accepted", "exhausted", "stale", "stuck", "failed", "cancelled"] {
        each(format!("outcome/{outcome}"), true);
    }
    for ruling in ["pass", "rework", "no quorum"] {
        each(format!("ruling/{ruling}"), true);
    }
    // No warning passes in qa and phase: a condition is a ground for rework, or is asked for one.
    each("outcome/passed with warnings".into(), !strict);
    each("ruling/warnings".into(), !strict);
    // Only in qa do the checks stand for a lost reviewer, and there warnings never pass.
    each("ruling/pass, checks only".into(), of == "qa");
    each("ruling/warnings, checks only".into(), false);
    // Only qa and phase confirm.
    each("confirming".into(), strict);
    for question in
        ["NoQuorum", "ChecksDidNotRun", "Contested", "Fundamental", "NotTheBuilders", "SurvivedTouched"]
    {
        each(format!("question/{question}"), true);
    }
    // Only phase asks at the cap; the others end.
    each("question/Exhausted".into(), of == "phase");
    each("question/Stale".into(), of == "phase");
    for decision in ["Again", "Fixed", "Reask", "Accept", "Stop"] {
        each(format!("decision/{decision}"), true);
    }
    all.into_iter().filter_map(|(what, may)| book.unlike(format!("{of}/{what}"), may)).collect()
}
