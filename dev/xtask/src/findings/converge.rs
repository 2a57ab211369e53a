//! Recorded rounds through the loop machine: for each series a loop is opened and told, report by report, what would
//! make its counts, and what it then does is printed. No rule is here: the machine's own function decides.

use super::Result;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Answer, Claim, Fate, Said, Severity, Source, Verdict};
use tribunal_core::ids::{Check, FindingId, LoopId, Reviewer, Revision, Time};
use tribunal_core::ledger::{Delta, Mark, Tracked};
use tribunal_core::machine::{Machine, turn};
use tribunal_core::policy::{AtTheCap, Policy, Use};
use tribunal_core::review_loop::{
    Checked, Loop, LoopEvent, LoopIn, LoopReport, LoopWant, Opened, Opening, Outcome, Why,
};
use tribunal_core::words::Remarks;
use tribunal_view::question;

/// Rounds enough that no budget ends a series.
const ROUNDS_MAX: u32 = 1_000_000;
/// Reports that one round can take; more is a machine that does not come to rest.
const REPORTS_MAX: usize = 1_000;

/// One round as it was written down: counts of must-fix findings, without the findings.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Line {
    #[serde(rename = "loop")]
    review_loop: String,
    round: u32,
    tree: String,
    open: usize,
    resolved: usize,
    reopened: usize,
    fix_induced: usize,
    late: usize,
    regions: Vec<String>,
    reversal: bool,
    fundamental: bool,
    lines_changed: u32,
}

/// One must-fix finding of a series.
#[derive(Clone)]
struct Known {
    id: FindingId,
    region: Option<String>,
    mark: Mark,
}

/// What one round's reports say of the findings.
#[derive(Default)]
struct Told {
    resolved: Vec<Known>,
    open: Vec<Known>,
}

/// A series and the loop that is driven by it.
struct Series {
    live: Loop,
    open: Vec<Known>,
    gone: Vec<Known>,
    ids: u32,
    trees: u32,
    at: Time,
    stopped: Option<(u32, Decision)>,
}

#[derive(Clone)]
struct Decision {
    word: &'static str,
    reason: String,
}

fn policy() -> Policy {
    Policy {
        reviewers: vec![Reviewer::new("reviewer")],
        backup: true,
        checks: vec![Check::new("tests")],
        rounds_max: ROUNDS_MAX,
        at_the_cap: AtTheCap::Ask,
        adjudicator: Some(Reviewer::new("owner")),
        ..Policy::of(Use::Plan)
    }
}

impl Series {
    fn new(name: &str) -> Series {
        let opening = Opening::Make { rounds: None, open: Vec::new() };
        let opened = Opened { id: LoopId::new(name), policy: policy(), opening, at: Time(0) };
        let live = Loop::open(&opened);
        Series { live, open: Vec::new(), gone: Vec::new(), ids: 0, trees: 0, at: Time(0), stopped: None }
    }

    /// What the machine does when it is told this round.
    fn judge(&mut self, line: &Line) -> Result<Decision> {
        if let Some((round, decision)) = &self.stopped {
            let reason = format!("stopped in round {round}: {}", decision.reason);
            return Ok(Decision { reason, ..decision.clone() });
        }
        if self.live.outcome().is_some() {
            let reason =
                format!("it passed in round {}, and nothing is judged after that", self.live.round());
            return Ok(Decision { word: "continue", reason });
        }
        let told = self.realise(line);
        let (mut heard, mut exhaustive) = (false, false);
        for _ in 0..REPORTS_MAX {
            let Some((effect, report)) = self.report(line, &told) else { break };
            heard |= matches!(effect.step, Step::Hear(_));
            for event in self.tell(effect, report)? {
                exhaustive |= matches!(event, LoopEvent::ExhaustiveOrdered { .. });
            }
            if self.live.state_name() == "making" {
                break;
            }
        }
        self.gone.extend(told.resolved);
        self.open = told.open;
        let decision = self.decision(heard, exhaustive);
        if decision.word != "continue" {
            self.stopped = Some((line.round, decision.clone()));
        }
        Ok(decision)
    }

    fn decision(&self, heard: bool, exhaustive: bool) -> Decision {
        let stop = |word, reason| Decision { word, reason };
        match (self.live.question().map(|question| &question.why), self.live.outcome()) {
            (Some(why @ Why::Escalated(_)), _) => stop("escalate", question::why(why, ROUNDS_MAX)),
            (Some(why), _) => stop("stop", question::why(why, ROUNDS_MAX)),
            (None, Some(Outcome::Passed | Outcome::PassedWithWarnings)) => {
                stop("continue", "nothing that must be fixed is open".to_owned())
            }
            (None, Some(outcome)) => stop("stop", format!("the loop ended {}", outcome.word())),
            (None, None) if heard => {
                let reason = "a fix put back what an earlier fix had removed: both sides were heard";
                stop("adjudicate", reason.to_owned())
            }
            (None, None) => {
                let pass = if exhaustive { "; one exhaustive pass was held" } else { "" };
                stop("continue", question::progress(&self.live.rounds()) + pass)
            }
        }
    }

    /// Findings that make this round's counts. The oldest are resolved first, unless the regions say which stay.
    fn realise(&mut self, line: &Line) -> Told {
        let carried = self.open.len().saturating_sub(line.resolved).min(line.open);
        let named: BTreeSet<&String> = line.regions.iter().collect();
        let stays = |known: &Known| known.region.as_ref().is_some_and(|region| named.contains(region));
        let mut before = std::mem::take(&mut self.open);
        if carried > 0 && before.iter().filter(|known| stays(known)).count() == carried {
            before.sort_by_key(stays);
        }
        let mut told = Told { open: before.split_off(before.len() - carried), resolved: before };
        told.open.iter_mut().for_each(|known| known.mark = Mark::Persistent);
        let mut regions = line.regions.clone();
        for known in &told.open {
            if let Some(at) = regions.iter().position(|region| Some(region) == known.region.as_ref()) {
                regions.remove(at);
            }
        }
        let added = line.open - carried;
        let back = line.reopened.min(added).min(self.gone.len());
        let induced = line.fix_induced.min(added - back);
        let late = line.late.min(added - back - induced);
        let marks = [(Mark::Reopened, back), (Mark::FixInduced, induced), (Mark::Late, late)];
        let rest = (Mark::New, added - back - induced - late);
        for (mark, many) in marks.into_iter().chain([rest]) {
            for _ in 0..many {
                let region = (!regions.is_empty()).then(|| regions.remove(0));
                told.open.push(self.fresh(mark, region));
            }
        }
        told
    }

    fn fresh(&mut self, mark: Mark, region: Option<String>) -> Known {
        if mark == Mark::Reopened {
            let again = self.gone.iter().position(|known| known.region == region).unwrap_or(0);
            return Known { mark, region, ..self.gone.remove(again) };
        }
        self.ids += 1;
        Known { id: FindingId(self.ids), region, mark }
    }

    /// The report of the first effect that the machine wants, in this round's words.
    fn report(&mut self, line: &Line, told: &Told) -> Option<(EffectId, LoopReport)> {
        let wants = self.live.wants().into_iter();
        let (effect, want) = wants.into_iter().find(|(_, want)| !matches!(want, LoopWant::Wake { .. }))?;
        let report = match want {
            LoopWant::Make { .. } => {
                LoopReport::Made { revision: self.revision(line), done: true, replies: BTreeMap::new() }
            }
            LoopWant::Check { .. } => LoopReport::Checked(Checked { findings: Vec::new() }),
            LoopWant::Judge { put, .. } => LoopReport::Judged {
                answer: Box::new(self.answer(line, told, &put)),
                shown: tribunal_core::cover::Shown::whole(1),
                put,
            },
            LoopWant::Track { .. } => {
                let delta = Delta { lines_changed: line.lines_changed, ..Delta::default() };
                LoopReport::Tracked { findings: tracked(line, told), delta }
            }
            LoopWant::Hear { .. } => LoopReport::Heard { upheld: true, reason: "it stands".to_owned() },
            LoopWant::Join { .. } | LoopWant::Ask(_) | LoopWant::Wake { .. } => return None,
        };
        Some((effect, report))
    }

    fn revision(&mut self, line: &Line) -> Revision {
        self.trees += 1;
        match line.tree.as_str() {
            "" => Revision::new(format!("tree {}", self.trees)),
            tree => Revision::new(tree),
        }
    }

    /// Who holds the exhaustive pass finds nothing more: what it would have found was not written down.
    fn answer(&self, line: &Line, told: &Told, put: &[FindingId]) -> Answer {
        let open = |id: &FindingId| told.open.iter().any(|known| known.id == *id);
        let said = |id: &FindingId| (*id, if open(id) { Said::StillThere } else { Said::Resolved });
        let calm = told.open.is_empty() || self.live.is_exhaustive();
        let new = told.open.iter().filter(|known| !calm && known.mark != Mark::Persistent);
        Answer {
            verdict: if calm { Verdict::Approve } else { Verdict::Reject },
            fundamental: line.fundamental && !calm,
            raised: new.map(claim).collect(),
            said: put.iter().map(said).collect(),
            checked: "all of it".to_owned(),
            intent: None,
            refused: None,
            intent_satisfied: None,
            wordless: false,
            unread: Vec::new(),
            settled: BTreeMap::new(),
        }
    }

    fn tell(&mut self, effect: EffectId, report: LoopReport) -> Result<Vec<LoopEvent>> {
        self.at = Time(self.at.0 + 1);
        if effect.step.is_one_shot() {
            turn(&mut self.live, &LoopIn::Intend { effect: effect.clone(), at: self.at })?;
        }
        Ok(turn(&mut self.live, &LoopIn::Report { effect, at: self.at, report })?)
    }
}

/// A blocker with evidence: what is not, and is late, causes no rework after the second round.
fn claim(known: &Known) -> Claim {
    let mut claim = Claim::new(Severity::Blocker, format!("fault {}", known.id));
    claim.evidence = "seen by running it".to_owned();
    claim.at(known.region.as_deref().unwrap_or("somewhere"), None)
}

fn tracked(line: &Line, told: &Told) -> Vec<Tracked> {
    let one = |known: &Known, fate: Fate, contested: bool| Tracked {
        id: known.id,
        by: BTreeSet::from([Source::Reviewer(Reviewer::new("reviewer"))]),
        claim: claim(known),
        says: (fate == Fate::Open).then(|| Source::Reviewer(Reviewer::new("reviewer"))),
        words: Vec::new(),
        remarks: Remarks::default(),
        severity: Severity::Blocker,
        fate,
        referred: None,
        contested,
        mark: known.mark,
        builders: true,
        touched: false,
        region: known.region.clone(),
        fixer: None,
    };
    // What was put back is about the finding that came back, or else the first one.
    let back = told.open.iter().find(|known| known.mark == Mark::Reopened).or(told.open.first());
    let contested = |known: &Known| line.reversal && back.is_some_and(|back| back.id == known.id);
    let gone = told.resolved.iter().map(|known| Known { mark: Mark::Persistent, ..known.clone() });
    let gone = gone.map(|known| one(&known, Fate::Fixed, false));
    gone.chain(told.open.iter().map(|known| one(known, Fate::Open, contested(known)))).collect()
}

/// The decision after each round, one JSON object per line: `{"loop","round","decision","reason"}`.
pub fn decisions(text: &str) -> Result<Vec<String>> {
    let mut loops: BTreeMap<String, Series> = BTreeMap::new();
    let mut said = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", n + 1))?;
        if line.review_loop.is_empty() {
            return Err(format!("line {}: no loop", n + 1).into());
        }
        let series = loops.entry(line.review_loop.clone()).or_insert_with(|| Series::new(&line.review_loop));
        let Decision { word, reason } =
            series.judge(&line).map_err(|error| format!("line {}: {error}", n + 1))?;
        let row = json!({"loop": line.review_loop, "round": line.round, "decision": word, "reason": reason});
        said.push(row.to_string());
    }
    Ok(said)
}

/// How decisions compare with the labels of their series.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Score {
    bad: u32,
    in_time: u32,
    early: u32,
    late: u32,
    missed: u32,
    healthy: u32,
    false_stops: u32,
}

#[derive(Deserialize)]
struct Truth {
    #[serde(rename = "loop")]
    review_loop: String,
    kind: String,
    stop_from: Option<u32>,
    stop_by: Option<u32>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(rename = "loop")]
    review_loop: String,
    round: u32,
    decision: String,
}

/// Holds decisions against labels: `{"loop","kind","stop_from","stop_by"}`.
pub fn score(decisions: &[String], truth: &str) -> Result<Score> {
    let mut stopped: BTreeMap<String, u32> = BTreeMap::new();
    for line in decisions {
        let row: Row = serde_json::from_str(line)?;
        if row.decision != "continue" {
            stopped.entry(row.review_loop).or_insert(row.round);
        }
    }
    let mut score = Score::default();
    for line in truth.lines().filter(|line| !line.trim().is_empty()) {
        let truth: Truth = serde_json::from_str(line)?;
        let at = stopped.get(&truth.review_loop).copied();
        if truth.kind == "healthy" {
            score.healthy += 1;
            score.false_stops += u32::from(at.is_some());
            continue;
        }
        score.bad += 1;
        *match at {
            None => &mut score.missed,
            Some(at) if truth.stop_by.is_some_and(|by| at > by) => &mut score.late,
            Some(at) if truth.stop_from.is_some_and(|from| at < from) => &mut score.early,
            Some(_) => &mut score.in_time,
        } += 1;
    }
    Ok(score)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::shared;

    #[test]
    fn a_broken_line_is_named() {
        assert!(decisions("\n{\"loop\":1}").is_err_and(|error| error.to_string().starts_with("line 2")));
        assert_eq!(decisions("").ok(), Some(vec![]));
    }

    /// One round: `open resolved reopened fix_induced late`.
    fn series(rows: &[[usize; 5]]) -> Vec<(String, String)> {
        let line = |(n, row): (usize, &[usize; 5])| {
            let [open, resolved, reopened, fix_induced, late] = row;
            json!({"loop": "one", "round": n, "open": open, "resolved": resolved, "reopened": reopened,
                "fix_induced": fix_induced, "late": late, "lines_changed": 9})
            .to_string()
        };
        let text: Vec<String> = (1..).zip(rows).map(line).collect();
        let said = decisions(&text.join("\n")).unwrap();
        let read = |line: &String| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            (row["decision"].as_str().unwrap().to_owned(), row["reason"].as_str().unwrap().to_owned())
        };
        said.iter().map(read).collect()
    }

    /// The round that stops a series, and why.
    fn stop(rows: &[[usize; 5]]) -> Option<(usize, String)> {
        let at = series(rows).into_iter().zip(1..).find(|((word, _), _)| word != "continue");
        at.map(|((_, reason), round)| (round, reason))
    }

    #[test]
    fn loops_that_end_by_themselves_are_left_to() {
        let rows: &[&[[usize; 5]]] = &[
            &[[9, 0, 0, 0, 0], [6, 3, 0, 0, 0], [3, 3, 0, 0, 0], [0, 3, 0, 0, 0]],
            &[[4, 0, 0, 0, 0], [3, 1, 0, 0, 0], [2, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 0, 0, 0]],
            &[[10, 0, 0, 0, 0], [4, 6, 0, 0, 0], [1, 3, 0, 0, 0], [0, 1, 0, 0, 0]],
            // A round that resolves nothing, then progress.
            &[[5, 0, 0, 0, 0], [5, 0, 0, 0, 0], [3, 2, 0, 0, 0], [1, 2, 0, 0, 0], [0, 1, 0, 0, 0]],
            // Two rounds of late findings, then the end of them.
            &[[5, 0, 0, 0, 0], [5, 5, 0, 0, 5], [5, 5, 0, 0, 5], [1, 5, 0, 0, 1], [0, 1, 0, 0, 0]],
        ];
        for rows in rows {
            assert_eq!(stop(rows), None, "{rows:?}");
            assert_eq!(series(rows).last().unwrap().1, "nothing that must be fixed is open");
        }
        let ten: Vec<[usize; 5]> = (0..=10).map(|n| [10 - n, n.min(1), 0, 0, 0]).collect();
        assert_eq!(stop(&ten), None);
    }

    #[test]
    fn loops_that_do_not_are_stopped_in_time() {
        let again = |first: [usize; 5], row: [usize; 5]| [vec![first], vec![row; 11]].concat();
        let at = |rows: &[[usize; 5]], words: &str| {
            let (round, reason) = stop(rows).unwrap_or_else(|| panic!("{rows:?} is never stopped"));
            assert!(reason.contains(words), "{rows:?}: {reason}");
            round
        };
        // All fixed each round and three other old blockers found; half of them fixed and as many found.
        assert_eq!(at(&again([3, 0, 0, 0, 0], [3, 3, 0, 0, 3]), "exhaustive pass"), 4);
        assert_eq!(at(&again([6, 0, 0, 0, 0], [6, 3, 0, 0, 3]), "exhaustive pass"), 4);
        // Nothing moves; the fixes break what they fix.
        assert_eq!(at(&again([3, 0, 0, 0, 0], [3, 0, 0, 0, 0]), "nothing moves"), 3);
        assert_eq!(at(&again([4, 0, 0, 0, 0], [4, 2, 0, 2, 0]), "break as much"), 3);
        // 2-4-6-8-10, unmarked, late, and with nothing resolved.
        let grows = |resolved: usize, late: bool| -> Vec<[usize; 5]> {
            let row = |n: usize| [2 * n, resolved, 0, 0, if late { 2 + resolved } else { 0 }];
            [vec![[2, 0, 0, 0, 0]], (2..6).map(row).collect()].concat()
        };
        assert_eq!(at(&grows(2, false), "more is open"), 3);
        assert_eq!(at(&grows(2, true), "exhaustive pass"), 4);
        assert_eq!(at(&grows(0, false), "untouched"), 3);
    }

    #[test]
    fn an_exhaustive_pass_is_told() {
        let said = series(&[[3, 0, 0, 0, 0], [3, 3, 0, 0, 3], [3, 3, 0, 0, 3]]);
        let passes: Vec<bool> =
            said.iter().map(|(_, reason)| reason.contains("one exhaustive pass")).collect();
        assert_eq!(passes, [false, false, true]);
    }

    #[test]
    fn reversals_are_heard_and_trees_that_come_back_are_stale() {
        let line = |round: u32, tree: &str, reversal: bool| {
            json!({"loop": "a", "round": round, "tree": tree, "open": 9 - 2 * round, "resolved": 2,
                "reversal": reversal})
            .to_string()
        };
        let words = |lines: [String; 3]| -> Vec<String> {
            let said = decisions(&lines.join("\n")).unwrap();
            let word = |line: &String| {
                let row: serde_json::Value = serde_json::from_str(line).unwrap();
                row["decision"].as_str().unwrap().to_owned()
            };
            said.iter().map(word).collect()
        };
        let heard = words([line(1, "A", false), line(2, "B", true), line(3, "C", false)]);
        assert_eq!(heard, ["continue", "adjudicate", "adjudicate"]);
        let stale = words([line(1, "A", false), line(2, "B", false), line(3, "A", false)]);
        assert_eq!(stale, ["continue", "continue", "stop"]);
    }

    /// The bars: none missed, at most 3 % late or early, at most 1 % false stops, by the machine's own function.
    #[test]
    fn recorded_loops_are_stopped_when_they_must_be() {
        let (Some(rounds), Some(truth)) =
            (shared("convergence/dev.jsonl"), shared("convergence/dev.truth.jsonl"))
        else {
            return;
        };
        let said = decisions(&std::fs::read_to_string(rounds).unwrap()).unwrap();
        let score = score(&said, &std::fs::read_to_string(truth).unwrap()).unwrap();
        assert_eq!(score.missed, 0, "{score:?}");
        assert!((score.early + score.late) * 100 <= score.bad * 3, "{score:?}");
        assert!(score.false_stops * 100 <= score.healthy, "{score:?}");
        assert!(score.bad > 100 && score.healthy > 100, "{score:?}");
    }
}
