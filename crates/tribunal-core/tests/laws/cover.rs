//! Coverage by hand: a change in parts, what they add up to, and what happens where not everything is shown.

use std::collections::BTreeMap;
use tribunal_core::cover::{Look, Shown, merge};
use tribunal_core::effect::{EffectId, Step, Try};
use tribunal_core::finding::{Answer, Claim, Said, Severity, Verdict};
use tribunal_core::ids::{FindingId, LoopId, Reviewer, Revision, Time};
use tribunal_core::ledger::{Delta, Mark, Tracked};
use tribunal_core::machine::{Machine, settle, turn};
use tribunal_core::policy::{Policy, Use};
use tribunal_core::review_loop::{
    Choice, Decision, Failure, FailureKind, Loop, LoopEvent, LoopIn, LoopReport, LoopWant, Opened, Opening,
    Outcome, Why,
};

fn said(verdict: Verdict, checked: &str, raised: &[&str]) -> Answer {
    let claim = |words: &&str| Claim::new(Severity::Blocker, *words).at("src/a.rs", Some(3));
    Answer {
        verdict,
        fundamental: false,
        raised: raised.iter().map(claim).collect(),
        said: BTreeMap::new(),
        checked: checked.into(),
        intent: None,
        refused: None,
        intent_satisfied: None,
        unread: Vec::new(),
        settled: BTreeMap::new(),
        wordless: false,
    }
}

fn fine() -> Answer {
    said(Verdict::Approve, "read it", &[])
}

/// Part `n` of three, seven hunks in all.
fn third(n: u32) -> Shown {
    Shown { parts: 3, hunks: [2, 5, 7][n as usize], of: 7, ..Shown::default() }
}

fn judged(answer: Answer, shown: Shown) -> LoopReport {
    LoopReport::Judged { answer: Box::new(answer), shown, put: Vec::new() }
}

/// One reviewer, one revision, the checks done.
fn judging(policy: Policy) -> Loop {
    let revision = Revision::new("r1");
    let policy = Policy { reviewers: vec![Reviewer::new("alpha")], ..policy };
    let opening = Opening::Judge { revision, open: Vec::new(), since: None };
    let mut live = Loop::open(&Opened { id: LoopId::new("loop"), policy, opening, at: Time(0) });
    settle(&mut live).unwrap();
    live
}

fn asked(live: &Loop) -> EffectId {
    let judge = |(id, want): (EffectId, LoopWant)| matches!(want, LoopWant::Judge { .. }).then_some(id);
    live.wants()
        .into_iter()
        .find_map(judge)
        .unwrap_or_else(|| panic!("nobody is asked: {}", live.state_name()))
}

fn say(live: &mut Loop, report: LoopReport) -> LoopEvent {
    let effect = asked(live);
    turn(live, &LoopIn::Intend { effect: effect.clone(), at: Time(1) }).unwrap();
    let events = turn(live, &LoopIn::Report { effect, at: Time(2), report }).unwrap();
    events.into_iter().next().unwrap()
}

/// What was raised is tracked, each as a finding of its own.
fn track(live: &mut Loop) {
    let review_round = live.review_round().unwrap().clone();
    let raised = review_round
        .voices()
        .flat_map(|(reviewer, answer)| answer.raised.iter().map(move |claim| (reviewer, claim)));
    let findings = raised.zip(1..).map(|((reviewer, claim), id)| Tracked {
        id: FindingId(id),
        by: [tribunal_core::finding::Source::Reviewer(reviewer.clone())].into(),
        claim: claim.clone(),
        severity: claim.severity,
        fate: tribunal_core::finding::Fate::Open,
        referred: None,
        contested: false,
        mark: Mark::New,
        builders: true,
        touched: false,
        region: None,
        fixer: None,
        remarks: Default::default(),
        says: Some(tribunal_core::finding::Source::Reviewer(reviewer.clone())),
        words: Default::default(),
    });
    let report = LoopReport::Tracked { findings: findings.collect(), delta: Delta::default() };
    let effect = live.wants().into_keys().find(|id| id.step == Step::Track).unwrap();
    turn(live, &LoopIn::Report { effect, at: Time(3), report }).unwrap();
}

#[test]
fn a_change_in_three_parts_passes_when_all_were_shown_and_approved() {
    let mut live = judging(Policy::of(Use::Task));
    for part in 0..2 {
        assert_eq!(asked(&live).n, Try { part, ..Try::default() });
        let event = say(&mut live, judged(fine(), third(part)));
        assert!(matches!(event, LoopEvent::PartAnswered { .. }), "{event:?}");
        assert!(live.seen().is_empty(), "not before all of it was shown");
    }
    let event = say(&mut live, judged(fine(), third(2)));
    let LoopEvent::Answered { answer, shown, .. } = event else { panic!("{event:?}") };
    assert_eq!((shown, answer.verdict), (third(2), Verdict::Approve));
    assert_eq!(answer.checked, "read it\nread it\nread it");
    assert_eq!(live.seen(), [Revision::new("r1")]);
    track(&mut live);
    assert_eq!(live.outcome(), Some(&Outcome::Passed));
}

#[test]
fn the_strictest_part_is_the_verdict_and_all_findings_are_heard() {
    let mut live = judging(Policy::of(Use::Task));
    say(&mut live, judged(said(Verdict::Approve, "read it", &["first"]), third(0)));
    say(&mut live, judged(said(Verdict::Reject, "", &["second"]), third(1)));
    let event = say(&mut live, judged(fine(), third(2)));
    let LoopEvent::Answered { answer, .. } = event else { panic!("{event:?}") };
    assert_eq!(answer.verdict, Verdict::Reject);
    assert_eq!(
        answer.raised.iter().map(|claim| claim.claim.as_str()).collect::<Vec<_>>(),
        ["first", "second"]
    );
    track(&mut live);
    assert_eq!((live.state_name(), live.ledger().open().count()), ("making", 2));
}

#[test]
fn a_part_that_was_lost_is_asked_again_alone() {
    let mut live = judging(Policy::of(Use::Task));
    say(&mut live, judged(fine(), third(0)));
    say(&mut live, LoopReport::Failed(Failure::new(FailureKind::Crashed, "")));
    assert_eq!(asked(&live).n, Try { part: 1, fails: 1, ..Try::default() });
    let bare = say(&mut live, judged(said(Verdict::Approve, "", &[]), third(1)));
    assert!(matches!(bare, LoopEvent::AskedAgain { .. }), "every part has its own evidence: {bare:?}");
    assert_eq!(asked(&live).n, Try { part: 1, fails: 1, again: true, ..Try::default() });
    say(&mut live, judged(fine(), third(1)));
    assert_eq!(asked(&live).n, Try { part: 2, ..Try::default() });
}

#[test]
fn more_parts_than_are_allowed_give_no_verdict_and_a_question_with_the_share() {
    let mut live = judging(Policy { parts_max: 2, ..Policy::of(Use::Phase) });
    say(&mut live, judged(fine(), third(0)));
    let event = say(&mut live, judged(fine(), third(1)));
    assert!(matches!(event, LoopEvent::NotCovered { shown, .. } if shown == third(1)), "{event:?}");
    assert!(live.seen().is_empty());
    track(&mut live);
    let question = live.question().unwrap().clone();
    assert_eq!(question.why, Why::NoQuorum);
    assert_eq!(question.not_shown[0].shown.to_string(), "5 of 7 hunks");
    // Asked again, it begins anew.
    let effect = live.wants().into_keys().next().unwrap();
    let decision = Decision { by: "ann".into(), choice: Choice::Reask, note: String::new() };
    turn(&mut live, &LoopIn::Report { effect, at: Time(9), report: LoopReport::Decided(decision) }).unwrap();
    assert_eq!(asked(&live).n, Try::default());
}

#[test]
fn a_change_of_too_many_parts_is_put_to_a_person_before_anybody_is_asked() {
    let nothing = Shown { parts: 41, hunks: 0, of: 30_001, ..Shown::default() };
    let mut live = judging(Policy::of(Use::Task));
    let event = say(&mut live, LoopReport::TooLarge(nothing));
    assert!(matches!(event, LoopEvent::TooLarge { shown, .. } if shown == nothing), "{event:?}");
    assert!(live.seen().is_empty() && live.review_round().unwrap().voices().next().is_none());
    track(&mut live);
    let question = live.question().unwrap().clone();
    assert_eq!((&question.why, question.not_shown.len()), (&Why::NoQuorum, 1));
    let not = &question.not_shown[0];
    assert_eq!((not.shown.to_string().as_str(), not.limit), ("0 of 30001 hunks", Some(16)));
}

#[test]
fn a_change_that_may_be_shown_is_asked_about() {
    // As many parts as are allowed, a count that cannot be, all of it shown, and a part that was answered already.
    for shown in [
        Shown { parts: 16, hunks: 0, of: 9, ..Shown::default() },
        Shown { parts: 17, hunks: 10, of: 9, ..Shown::default() },
        Shown { parts: 17, hunks: 9, of: 9, ..Shown::default() },
    ] {
        let mut live = judging(Policy::of(Use::Task));
        let event = say(&mut live, LoopReport::TooLarge(shown));
        assert!(matches!(event, LoopEvent::Failed { .. }), "{event:?}");
    }
    let mut live = judging(Policy::of(Use::Task));
    say(&mut live, judged(fine(), third(0)));
    let event =
        say(&mut live, LoopReport::TooLarge(Shown { parts: 17, hunks: 0, of: 9, ..Shown::default() }));
    assert!(matches!(event, LoopEvent::Failed { .. }), "{event:?}");
}

#[test]
fn who_was_shown_a_part_may_still_object_to_it() {
    let mut live = judging(Policy { parts_max: 1, ..Policy::of(Use::Phase) });
    say(&mut live, judged(said(Verdict::Reject, "", &["it deletes every user"]), third(0)));
    track(&mut live);
    assert_eq!(live.state_name(), "making", "what was found is fixed, whatever was not shown");
    let mut lost = judging(Policy { attempts_max: 1, ..Policy::of(Use::Phase) });
    say(&mut lost, judged(said(Verdict::Reject, "", &["it deletes every user"]), third(0)));
    say(&mut lost, LoopReport::Failed(Failure::new(FailureKind::Budget, "")));
    track(&mut lost);
    assert_eq!(lost.state_name(), "making");
}

#[test]
fn counts_that_cannot_be_are_no_answer() {
    let odd = [
        Shown { parts: 0, hunks: 1, of: 1, ..Shown::default() },
        Shown { parts: 1, hunks: 2, of: 1, ..Shown::default() },
    ];
    for shown in odd {
        let mut live = judging(Policy::of(Use::Task));
        assert!(matches!(say(&mut live, judged(fine(), shown)), LoopEvent::Failed { .. }), "{shown:?}");
    }
    let mut live = judging(Policy::of(Use::Task));
    say(&mut live, judged(fine(), third(0)));
    let other = Shown { parts: 2, hunks: 7, of: 7, ..Shown::default() };
    assert!(matches!(say(&mut live, judged(fine(), other)), LoopEvent::Failed { .. }), "cut another way");
    let mut live = judging(Policy::of(Use::Task));
    let short = Shown { parts: 1, hunks: 6, of: 7, ..Shown::default() };
    assert!(matches!(say(&mut live, judged(fine(), short)), LoopEvent::NotCovered { .. }));
}

#[test]
fn every_finding_put_is_answered_by_some_part() {
    let mut live = judging(Policy::of(Use::Task));
    for part in 0..3 {
        say(&mut live, judged(said(Verdict::Reject, "", &[["a", "b", "c"][part as usize]]), third(part)));
    }
    track(&mut live);
    let made = LoopReport::Made { revision: Revision::new("r2"), done: true, replies: BTreeMap::new() };
    let effect = live.wants().into_keys().next().unwrap();
    turn(&mut live, &LoopIn::Intend { effect: effect.clone(), at: Time(4) }).unwrap();
    turn(&mut live, &LoopIn::Report { effect, at: Time(5), report: made }).unwrap();
    let answers = |ids: &[u32]| {
        let said = ids.iter().map(|id| (FindingId(*id), Said::Resolved)).collect();
        Box::new(Answer { said, ..fine() })
    };
    let put = |ids: &[u32]| ids.iter().map(|id| FindingId(*id)).collect::<Vec<_>>();
    let two = |hunks| Shown { parts: 2, hunks, of: 2, ..Shown::default() };
    let told = LoopReport::Judged { answer: answers(&[]), shown: two(1), put: put(&[2]) };
    assert!(matches!(say(&mut live, told), LoopEvent::AskedAgain { .. }), "what was put to the part");
    let told = LoopReport::Judged { answer: answers(&[2]), shown: two(1), put: put(&[2]) };
    assert!(matches!(say(&mut live, told), LoopEvent::PartAnswered { .. }));
    let rest = live.wants().into_values().find_map(|want| match want {
        LoopWant::Judge { put, .. } => Some(put),
        _ => None,
    });
    assert_eq!(rest, Some(put(&[1, 3])), "the last part is put what is left");
    let told = LoopReport::Judged { answer: answers(&[1]), shown: two(2), put: put(&[1]) };
    assert!(matches!(say(&mut live, told), LoopEvent::AskedAgain { .. }), "whatever the world says it put");
    let told = LoopReport::Judged { answer: answers(&[1, 3]), shown: two(2), put: put(&[1, 3]) };
    assert!(matches!(say(&mut live, told), LoopEvent::Answered { .. }));
}

#[test]
fn a_groundless_part_is_asked_again_and_no_other() {
    let mut live = judging(Policy { warnings_pass: false, ..Policy::of(Use::Phase) });
    say(&mut live, judged(fine(), third(0)));
    // It rejects for a matter of taste: that was read, so its verdict may change.
    let taste = vec![Claim::new(Severity::Suggestion, "another name").at("src/a.rs", Some(3))];
    say(&mut live, judged(Answer { raised: taste, ..said(Verdict::Reject, "", &[]) }, third(1)));
    say(&mut live, judged(fine(), third(2)));
    track(&mut live);
    let again = asked(&live).n;
    assert_eq!(again, Try { part: 1, again: true, ..Try::default() });
    let event = say(&mut live, judged(fine(), third(1)));
    let LoopEvent::Answered { answer, shown, .. } = event else { panic!("{event:?}") };
    assert_eq!((answer.verdict, shown), (Verdict::Approve, third(2)));
    track(&mut live);
    assert_eq!(live.outcome(), Some(&Outcome::Passed));
}

#[test]
fn answers_add_up_to_the_strictest() {
    let a = Answer { intent: Some("x".into()), intent_satisfied: Some(true), ..fine() };
    let b =
        Answer { intent_satisfied: Some(false), fundamental: true, ..said(Verdict::Conditional, "", &[]) };
    let said = |word| Answer { said: [(FindingId(1), word)].into(), ..fine() };
    let all = [a, b, said(Said::StillThere), said(Said::NotAnIssue("no".into())), said(Said::Resolved)];
    let whole = merge(&all).unwrap();
    assert_eq!((whole.verdict, whole.fundamental), (Verdict::Conditional, true));
    assert_eq!((whole.intent.as_deref(), whole.intent_satisfied), (Some("x"), Some(false)));
    assert_eq!(whole.said[&FindingId(1)], Said::StillThere);
    let mut back: Vec<Answer> = all.to_vec();
    back.reverse();
    let reversed = merge(&back).unwrap();
    assert_eq!((reversed.verdict, &reversed.said), (whole.verdict, &whole.said));
    assert_eq!(merge([]), None);
}

#[test]
fn a_share_in_words() {
    let words = |hunks, of| Shown { parts: 1, hunks, of, ..Shown::default() }.to_string();
    assert_eq!(words(0, 0), "no hunks");
    assert_eq!(words(1, 1), "the one hunk");
    assert_eq!(words(0, 1), "0 of 1 hunk");
    assert_eq!(words(640, 640), "all 640 hunks");
    assert_eq!(words(212, 640), "212 of 640 hunks");
}

/// Two rounds that pass: the first is rejected, the second approved. The final pass is asked next.
fn confirming() -> Loop {
    let mut live = judging(Policy::of(Use::Phase));
    say(&mut live, judged(said(Verdict::Reject, "", &["it deletes every user"]), Shown::whole(3)));
    track(&mut live);
    assert!(live.looks(&Reviewer::new("alpha")).is_empty(), "there is no final pass yet");
    let made = LoopReport::Made { revision: Revision::new("r2"), done: true, replies: BTreeMap::new() };
    let effect = live.wants().into_keys().next().unwrap();
    turn(&mut live, &LoopIn::Intend { effect: effect.clone(), at: Time(4) }).unwrap();
    turn(&mut live, &LoopIn::Report { effect, at: Time(5), report: made }).unwrap();
    assert_eq!(live.since(), Some(&Revision::new("r1")));
    let resolved = Answer { said: [(FindingId(1), Said::Resolved)].into(), ..fine() };
    say(&mut live, judged(resolved, Shown::whole(1)));
    let Some(entry) = live.ledger().get(FindingId(1)).cloned() else { panic!("F-1 is gone") };
    let fixed = Tracked {
        id: FindingId(1),
        by: entry.by,
        claim: entry.claim,
        severity: entry.severity,
        fate: tribunal_core::finding::Fate::Fixed,
        referred: None,
        contested: false,
        mark: Mark::Persistent,
        builders: true,
        touched: true,
        region: None,
        fixer: None,
        remarks: Default::default(),
        says: None,
        words: Default::default(),
    };
    let report = LoopReport::Tracked { findings: vec![fixed], delta: Delta::default() };
    let effect = live.wants().into_keys().find(|id| id.step == Step::Track).unwrap();
    turn(&mut live, &LoopIn::Report { effect, at: Time(6), report }).unwrap();
    assert!(live.is_confirming());
    live
}

#[test]
fn a_final_pass_with_nothing_to_show_launches_nobody_and_keeps_the_verdict() {
    let mut live = confirming();
    let alpha = Reviewer::new("alpha");
    let look = |since: Option<&str>, revision: &str| Look {
        since: since.map(Revision::new),
        revision: Revision::new(revision),
    };
    assert_eq!(live.looks(&alpha), [look(None, "r1"), look(Some("r1"), "r2")]);
    assert_eq!(live.since(), None);
    assert!(live.keeps_verdict(&alpha, Try::default()));
    let event = say(&mut live, LoopReport::AllShown(Shown::whole(3)));
    assert!(matches!(&event, LoopEvent::VerdictKept { shown, .. } if shown.of == 3), "{event:?}");
    track(&mut live);
    assert_eq!(live.outcome(), Some(&Outcome::Passed));
}

#[test]
fn whoever_is_asked_in_a_final_pass_may_still_object() {
    let mut live = confirming();
    say(&mut live, judged(said(Verdict::Reject, "", &["the rest is wrong"]), Shown::whole(3)));
    track(&mut live);
    assert_eq!(live.state_name(), "making");
}

#[test]
fn a_verdict_stands_only_in_a_final_pass_and_only_once() {
    let all = || LoopReport::AllShown(Shown::whole(3));
    let mut first = judging(Policy::of(Use::Phase));
    assert!(matches!(say(&mut first, all()), LoopEvent::Failed { .. }), "nobody has said anything yet");
    let mut live = confirming();
    let part = LoopReport::AllShown(Shown { parts: 1, hunks: 2, of: 3, ..Shown::default() });
    assert!(matches!(say(&mut live, part), LoopEvent::Failed { .. }), "not all of it");
    assert!(matches!(say(&mut live, all()), LoopEvent::Failed { .. }), "it was asked, and did not answer");
}

/// Who objected in a final pass and gave no ground for it is not taken for the approval that it gave before.
#[test]
fn a_lost_objection_does_not_bring_the_old_verdict_back() {
    let mut live = confirming();
    let groundless = || judged(said(Verdict::Reject, "", &[]), Shown::whole(3));
    say(&mut live, groundless());
    track(&mut live);
    say(&mut live, groundless());
    track(&mut live);
    assert_eq!(live.question().map(|question| question.why.clone()), Some(Why::NoQuorum));
    let effect = live.wants().into_keys().next().unwrap();
    let decision = Decision { by: "ann".into(), choice: Choice::Reask, note: String::new() };
    turn(&mut live, &LoopIn::Report { effect, at: Time(9), report: LoopReport::Decided(decision) }).unwrap();
    assert!(live.is_confirming() && !live.keeps_verdict(&Reviewer::new("alpha"), Try::default()));
    let event = say(&mut live, LoopReport::AllShown(Shown::whole(3)));
    assert!(matches!(event, LoopEvent::Failed { .. }), "{event:?}");
}
