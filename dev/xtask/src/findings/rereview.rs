//! Reviews that were really written twice: which finding of the second is which of the first. There are no trees to them,
//! so only words and cited places speak.

use super::Result;
use serde::Deserialize;
use std::path::Path;
use tribunal_core::finding::{Claim, Severity};
use tribunal_findings::track::pair::Scorer;
use tribunal_findings::track::{Change, compare};

/// One review document in two versions, labelled by hand.
#[derive(Deserialize)]
struct Twice {
    path: String,
    #[serde(rename = "A")]
    before: Vec<Finding>,
    #[serde(rename = "B")]
    after: Vec<Finding>,
    same: Vec<(String, String)>,
    related: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Finding {
    id: String,
    sev: String,
    title: String,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    end: Option<u32>,
    #[serde(default)]
    issue: String,
}

impl Finding {
    fn claim(&self) -> Claim {
        let severity = match self.sev.as_str() {
            "critical" | "blocker" | "high" => Severity::Blocker,
            "warning" | "major" | "medium" => Severity::Warning,
            _ => Severity::Suggestion,
        };
        let mut claim = Claim::new(severity, format!("{}. {}", self.title, self.issue));
        (claim.file, claim.line, claim.end) = (self.file.clone(), self.line, self.end);
        claim
    }
}

/// Pairs of all documents, as they were found.
#[derive(Debug, Default, PartialEq)]
pub struct Score {
    /// Right.
    pub found: u32,
    /// Paired, and not the same; those that are merely related do not count.
    pub wrong: u32,
    /// Not paired, and the same.
    pub missed: u32,
}

/// Tracks each pair of versions.
pub fn score(file: &Path, misses: bool) -> Result<Score> {
    let mut score = Score::default();
    for line in std::fs::read_to_string(file)?.lines().filter(|line| !line.trim().is_empty()) {
        let twice: Twice = serde_json::from_str(line)?;
        let claims = |of: &[Finding]| of.iter().map(Finding::claim).collect::<Vec<_>>();
        let (before, after) = (claims(&twice.before), claims(&twice.after));
        let (before, after): (Vec<&Claim>, Vec<&Claim>) = (before.iter().collect(), after.iter().collect());
        let found = compare(&before, &after, &Change::default(), &|_, _| None, &Scorer::default());
        let name = |a: usize, b: usize| (twice.before[a].id.clone(), twice.after[b].id.clone());
        let pairs: Vec<_> = found.pairs.iter().map(|(pair, _)| name(pair.before, pair.after)).collect();
        let wrong = pairs.iter().filter(|p| !twice.same.contains(p) && !twice.related.contains(p));
        let missed = twice.same.iter().filter(|p| !pairs.contains(p));
        for (word, pair) in wrong.map(|p| ("wrong", p)).chain(missed.map(|p| ("missed", p))) {
            *(if word == "wrong" { &mut score.wrong } else { &mut score.missed }) += 1;
            if misses {
                crate::out::line(format!("re-review {} {word}: {} {}", twice.path, pair.0, pair.1));
            }
        }
        score.found += u32::try_from(pairs.iter().filter(|p| twice.same.contains(p)).count())?;
    }
    Ok(score)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::shared;

    /// The bar: at most one pair wrong, missed ones counted in.
    #[test]
    fn real_re_reviews() {
        let Some(file) = shared("tracking/rereview_dev.jsonl") else { return };
        let score = score(&file, true).unwrap();
        assert!(score.wrong + score.missed <= 1 && score.found >= 10, "{score:?}");
    }
}
