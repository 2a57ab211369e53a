//! Whether more rounds will help (SPEC 1.4): a pure function from the series of rounds to a decision with its reason in
//! words. Never stops a loop that resolves more than it breaks.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One judged round, in counts of must-fix findings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// Which round, from 1.
    pub round: u32,
    /// The revision judged.
    pub tree: String,
    /// Open after the judging.
    pub open: u32,
    /// Of these, not there before (fix-induced and late ones are among them).
    pub new: u32,
    /// Gone with evidence.
    pub resolved: u32,
    /// Settled before, there again.
    pub reopened: u32,
    /// On lines the fix added.
    pub fix_induced: u32,
    /// On lines untouched since an earlier round.
    pub late: u32,
    /// Regions of the open ones.
    pub regions: Vec<String>,
    /// The fix put back what an earlier fix had taken out.
    pub reversal: bool,
    /// A seat said that patching will not do.
    pub fundamental: bool,
    /// Lines the fix changed.
    pub lines_changed: u32,
    /// A seat was gone: such a round does not count towards stale.
    pub incomplete: bool,
    /// Open findings that two fixes touched and did not cure.
    pub survived_touched: u32,
    /// Open findings that two fixes went by.
    pub survived_untouched: u32,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Another revision.
    Continue,
    /// Somebody must hear both sides first.
    Adjudicate,
    /// A person should look.
    Escalate,
    /// Nothing moves.
    Stop,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Decision::Continue => "continue",
            Decision::Adjudicate => "adjudicate",
            Decision::Escalate => "escalate",
            Decision::Stop => "stop",
        })
    }
}

/// The decision after a round, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What to do.
    pub decision: Decision,
    /// One sentence that names the pattern.
    pub reason: String,
}

impl Advice {
    fn new(decision: Decision, reason: impl Into<String>) -> Self {
        Self { decision, reason: reason.into() }
    }
}

/// Equal re-reviews in a row that make a loop stale.
const STALE_LIMIT: usize = 2;
/// Re-reviews looked at for churn, and for churn that shrinks too slowly to end.
const CHURN: usize = 2;
const SLOW_CHURN: usize = 4;
/// How often one region may come back.
const REGION_LIMIT: u32 = 3;

/// One pattern: what it says of a series, if it applies.
type Rule = fn(&[Round]) -> Option<Advice>;

/// What the series says after its last round. When several apply: stale, then escalate.
pub fn converge(series: &[Round]) -> Advice {
    let Some(last) = series.last() else { return Advice::new(Decision::Continue, "no round was judged yet") };
    if last.open == 0 {
        return Advice::new(Decision::Continue, "nothing that must be fixed is open");
    }
    let rules: [Rule; 9] =
        [repeated, unchanged, contested, fundamental, survived, nothing_resolved, region, churn, slow_churn];
    rules.iter().find_map(|rule| rule(series)).unwrap_or_else(|| healthy(series))
}

/// The decision after every round.
pub fn decisions(series: &[Round]) -> Vec<Advice> {
    (1..=series.len()).map(|n| converge(&series[..n])).collect()
}

fn healthy(series: &[Round]) -> Advice {
    let last = &series[series.len() - 1];
    let reason = match (series.len(), last.resolved) {
        (1, _) => format!("first round: {} to fix", last.open),
        (_, 0) => format!("nothing resolved in round {}, {} open; one more try", last.round, last.open),
        (_, resolved) if 2 * broken(last) < resolved => {
            format!("round {} resolved {resolved} and broke {}; {} open", last.round, broken(last), last.open)
        }
        (_, resolved) => format!(
            "round {} resolved {resolved}, but {} came with it; {} open",
            last.round,
            broken(last),
            last.open
        ),
    };
    Advice::new(Decision::Continue, reason)
}

/// What a fix cost: new damage and old damage come back.
fn broken(round: &Round) -> u32 {
    round.fix_induced + round.reopened
}

fn tail(series: &[Round], re_reviews: usize) -> Option<&[Round]> {
    series.len().checked_sub(re_reviews + 1).map(|from| &series[from..])
}

fn repeated(series: &[Round]) -> Option<Advice> {
    let (last, earlier) = series.split_last()?;
    let same = earlier.iter().find(|round| !last.tree.is_empty() && round.tree == last.tree)?;
    let reason = format!(
        "stale: round {} judged the same revision as round {}: the fixes go in a circle",
        last.round, same.round
    );
    Some(Advice::new(Decision::Stop, reason))
}

fn unchanged(series: &[Round]) -> Option<Advice> {
    let rounds = tail(series, STALE_LIMIT)?;
    let regions = |round: &Round| round.regions.iter().cloned().collect::<BTreeSet<String>>();
    let still = |round: &Round| {
        round.new + round.resolved + round.reopened == 0 && regions(round) == regions(&rounds[0])
    };
    if rounds.iter().any(|round| round.incomplete) || !rounds[1..].iter().all(still) {
        return None;
    }
    let last = &rounds[rounds.len() - 1];
    let reason = format!(
        "stale: the same {} open since round {}, unchanged through {STALE_LIMIT} re-reviews",
        findings(last.open),
        rounds[0].round
    );
    Some(Advice::new(Decision::Stop, reason))
}

fn contested(series: &[Round]) -> Option<Advice> {
    let last = series.last().filter(|round| round.reversal)?;
    let before = series[..series.len() - 1].iter().rev().find(|round| round.reversal);
    Some(match before {
        None => Advice::new(
            Decision::Adjudicate,
            format!(
                "contested: the fix of round {} put back what an earlier fix had removed; both sides must be heard",
                last.round
            ),
        ),
        Some(before) => Advice::new(
            Decision::Escalate,
            format!(
                "contested again: fixes undid each other in rounds {} and {}; a person must choose",
                before.round, last.round
            ),
        ),
    })
}

fn fundamental(series: &[Round]) -> Option<Advice> {
    let rounds: Vec<String> =
        series.iter().filter(|round| round.fundamental).map(|round| round.round.to_string()).collect();
    (rounds.len() >= 2).then(|| {
        let reason = format!("fundamental: rounds {} say that patching will not do", rounds.join(", "));
        Advice::new(Decision::Escalate, reason)
    })
}

fn survived(series: &[Round]) -> Option<Advice> {
    let last = series.last()?;
    let said = if last.survived_touched > 0 {
        format!("survived: {} touched by two fixes and not cured", findings(last.survived_touched))
    } else if last.survived_untouched > 0 {
        format!("survived: {} that two fixes never touched", findings(last.survived_untouched))
    } else {
        return None;
    };
    Some(Advice::new(Decision::Escalate, said))
}

/// Two fixes in a row that cured nothing: whatever is carried survived both.
fn nothing_resolved(series: &[Round]) -> Option<Advice> {
    let rounds = tail(series, STALE_LIMIT)?;
    let idle = rounds[1..].iter().all(|round| round.resolved == 0 && !round.incomplete);
    (idle && rounds[0].open > 0).then(|| {
        let reason = format!(
            "no progress: two fixes since round {} resolved nothing, {} open",
            rounds[0].round,
            rounds[rounds.len() - 1].open
        );
        Advice::new(Decision::Escalate, reason)
    })
}

/// Rounds in which everything resolved outweighs what it broke by two to one are never stopped for regions or shrinking.
fn is_healthy(rounds: &[Round]) -> bool {
    rounds.iter().all(|round| round.resolved > 0 && 2 * broken(round) < round.resolved)
}

/// The same region came back for the third time.
fn region(series: &[Round]) -> Option<Advice> {
    if is_healthy(series.get(1..)?) {
        return None;
    }
    let mut back: BTreeMap<&str, u32> = BTreeMap::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut before: BTreeSet<&str> = BTreeSet::new();
    for round in series {
        let now: BTreeSet<&str> = round.regions.iter().map(String::as_str).collect();
        if round.reopened > 0 {
            for region in now.iter().filter(|region| seen.contains(*region) && !before.contains(*region)) {
                *back.entry(region).or_insert(0) += 1;
            }
        }
        seen.extend(&now);
        before = now;
    }
    let (name, times) = back.into_iter().find(|(_, times)| *times >= REGION_LIMIT)?;
    Some(Advice::new(
        Decision::Escalate,
        format!("whack-a-mole: {name} was reopened {times} times; fixes there do not hold"),
    ))
}

fn churn(series: &[Round]) -> Option<Advice> {
    let rounds = tail(series, CHURN)?;
    let late: u32 = rounds[1..].iter().map(|round| round.late).sum();
    let (first, last) = (&rounds[0], &rounds[rounds.len() - 1]);
    // What was there all along and seen late is no lack of progress.
    let shrinks = last.open.saturating_sub(late) < first.open;
    let (resolved, broke) = totals(&rounds[1..]);
    (!shrinks && broke > 0 && 2 * broke >= resolved).then(|| {
        let reason = format!(
            "churn: {} open in round {}, {} in round {}; the fixes between resolved {resolved} and broke or reopened {broke}",
            first.open, first.round, last.open, last.round
        );
        Advice::new(Decision::Escalate, reason)
    })
}

/// It shrinks, but at least every second thing resolved comes back, round after round.
fn slow_churn(series: &[Round]) -> Option<Advice> {
    let rounds = &tail(series, SLOW_CHURN)?[1..];
    let (resolved, broke) = totals(rounds);
    let steady = rounds.iter().all(|round| 3 * broken(round) >= round.resolved && broken(round) > 0);
    (steady && 2 * broke >= resolved).then(|| {
        let reason = format!(
            "churn: {SLOW_CHURN} fixes in a row, {resolved} resolved, {broke} broken or reopened by them; {} still open",
            rounds[rounds.len() - 1].open
        );
        Advice::new(Decision::Escalate, reason)
    })
}

fn totals(rounds: &[Round]) -> (u32, u32) {
    (rounds.iter().map(|round| round.resolved).sum(), rounds.iter().map(broken).sum())
}

fn findings(count: u32) -> String {
    if count == 1 { "1 finding".to_owned() } else { format!("{count} findings") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `open new resolved reopened fix_induced late`, one round each.
    fn series(rows: &[[u32; 6]]) -> Vec<Round> {
        let round = |(n, [open, new, resolved, reopened, fix_induced, late]): (usize, &[u32; 6])| Round {
            round: n as u32 + 1,
            tree: format!("t{n}"),
            open: *open,
            new: *new,
            resolved: *resolved,
            reopened: *reopened,
            fix_induced: *fix_induced,
            late: *late,
            regions: (0..*open).map(|r| format!("r{r}")).collect(),
            ..Round::default()
        };
        rows.iter().enumerate().map(round).collect()
    }

    fn check(rows: &[[u32; 6]], expect: (Decision, &str)) {
        let advice = converge(&series(rows));
        assert_eq!(advice.decision, expect.0, "{rows:?}: {}", advice.reason);
        assert!(advice.reason.contains(expect.1), "{}", advice.reason);
    }

    #[test]
    fn patterns_by_counts() {
        use Decision::*;
        check(&[], (Continue, "no round"));
        check(&[[5, 5, 0, 0, 0, 0]], (Continue, "first round"));
        check(&[[5, 5, 0, 0, 0, 0], [2, 0, 3, 0, 0, 0]], (Continue, "resolved 3"));
        check(&[[5, 5, 0, 0, 0, 0], [0, 0, 5, 0, 0, 0]], (Continue, "nothing that must be fixed"));
        check(&[[2, 2, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]], (Continue, "one more try"));
        check(&[[2, 2, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]], (Stop, "unchanged through 2"));
        check(&[[2, 2, 0, 0, 0, 0], [3, 1, 0, 0, 0, 1], [4, 1, 0, 0, 0, 1]], (Escalate, "resolved nothing"));
        check(&[[3, 3, 0, 0, 0, 0], [4, 4, 3, 0, 4, 0], [5, 3, 2, 0, 2, 0]], (Escalate, "churn"));
        check(&[[3, 3, 0, 0, 0, 0], [3, 3, 3, 0, 0, 3], [1, 1, 3, 0, 0, 1]], (Continue, "resolved 3"));
        check(
            &[[3, 3, 0, 0, 0, 0], [3, 3, 3, 0, 0, 3], [3, 3, 3, 0, 0, 3], [3, 3, 3, 0, 0, 3]],
            (Continue, "resolved 3"),
        );
    }

    #[test]
    fn patterns_by_flags() {
        let mut rounds = series(&[[2, 2, 0, 0, 0, 0], [2, 2, 2, 0, 0, 0], [2, 2, 2, 0, 0, 0]]);
        rounds[2].tree = "t0".into();
        assert!(converge(&rounds).reason.contains("same revision as round 1"));
        rounds[2].tree = "other".into();
        rounds[2].reversal = true;
        assert_eq!(converge(&rounds).decision, Decision::Adjudicate);
        rounds[1].reversal = true;
        assert_eq!(converge(&rounds).decision, Decision::Escalate);
        let mut rounds = series(&[[4, 4, 0, 0, 0, 0], [4, 1, 1, 0, 0, 0]]);
        (rounds[0].fundamental, rounds[1].fundamental) = (true, true);
        assert!(converge(&rounds).reason.contains("patching will not do"));
        let mut rounds = series(&[[4, 4, 0, 0, 0, 0], [3, 0, 1, 0, 0, 0], [2, 0, 1, 0, 0, 0]]);
        rounds[2].survived_touched = 1;
        assert!(converge(&rounds).reason.contains("not cured"));
        (rounds[2].survived_touched, rounds[2].survived_untouched) = (0, 2);
        assert!(converge(&rounds).reason.contains("never touched"));
        let mut rounds = series(&[[2, 2, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]]);
        rounds[1].incomplete = true;
        assert_eq!(converge(&rounds).decision, Decision::Continue, "a round with a seat gone does not count");
    }

    #[test]
    fn a_region_that_comes_back_a_third_time() {
        let mut rounds = series(&[
            [9, 9, 0, 0, 0, 0],
            [8, 0, 1, 0, 0, 0],
            [7, 0, 2, 1, 0, 0],
            [6, 0, 1, 0, 0, 0],
            [5, 0, 2, 1, 0, 0],
            [4, 0, 1, 0, 0, 0],
            [3, 0, 2, 1, 0, 0],
        ]);
        for (n, round) in rounds.iter_mut().enumerate() {
            round.regions = if n % 2 == 0 { vec!["a.rs:load".into()] } else { vec![format!("b.rs:{n}")] };
        }
        let advice = converge(&rounds);
        assert!(advice.reason.contains("a.rs:load was reopened 3 times"), "{}", advice.reason);
        assert_eq!(converge(&rounds[..5]).decision, Decision::Continue);
    }

    proptest! {
        #[test]
        fn a_healthy_series_is_never_stopped(steps in prop::collection::vec((1u32..6, 0u32..100, 0u32..4), 1..20)) {
            let mut rounds = series(&[[40, 40, 0, 0, 0, 0]]);
            for (n, (resolved, share, late)) in steps.into_iter().enumerate() {
                let open = rounds[n].open;
                let resolved = resolved.min(open);
                let broke = (resolved.saturating_sub(1) / 2) * share / 100;
                let left = open - resolved + broke + late;
                let row = [left, broke + late, resolved, 0, broke, late];
                let mut round = series(&[row]).remove(0);
                (round.round, round.tree) = (n as u32 + 2, format!("t{}", n + 1));
                rounds.push(round);
                let advice = converge(&rounds);
                prop_assert_eq!(advice.decision, Decision::Continue, "{:?}", advice);
                if left == 0 {
                    break;
                }
            }
        }

        #[test]
        fn every_decision_has_a_reason(rows in prop::collection::vec(prop::array::uniform6(0u32..9), 0..8), reversal in any::<bool>()) {
            let mut rounds = series(&rows);
            if let Some(last) = rounds.last_mut() {
                last.reversal = reversal;
            }
            for advice in decisions(&rounds) {
                prop_assert!(advice.reason.len() > 10);
            }
        }
    }
}
