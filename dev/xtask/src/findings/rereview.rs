//! Reviews that were really written twice: which finding of the second is which of the first. There are no trees to them,
//! so only words and cited places speak.

use super::Result;
use serde::Deserialize;
use std::path::Path;
use tribunal_core::finding::{Claim, Severity};
use tribunal_findings::track::pair::{Candidate, Scorer, candidates};
use tribunal_findings::track::{Change, compare_reports};
use tribunal_findings::{Report, read_report};

/// One review document in two versions, labelled by hand.
#[derive(Deserialize)]
pub struct Twice {
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

/// All documents of a file; none where there is no such file.
pub fn load(file: &Path) -> Result<Vec<Twice>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(file)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

impl Twice {
    /// Candidate pairs with their labels; what is merely related is neither the same nor another.
    pub fn rows(&self) -> Vec<(Candidate, bool)> {
        let claims = |of: &[Finding]| of.iter().map(Finding::claim).collect::<Vec<_>>();
        let (before, after) = (claims(&self.before), claims(&self.after));
        let (before, after): (Vec<&Claim>, Vec<&Claim>) = (before.iter().collect(), after.iter().collect());
        let found = candidates(&before, &after, &Change::default(), &|_, _| None);
        let named = found.into_iter().map(|one| (self.name(one.before, one.after), one));
        let clear = named.filter(|(name, _)| !self.related.contains(name));
        clear.map(|(name, one)| (one, self.same.contains(&name))).collect()
    }

    fn name(&self, a: usize, b: usize) -> (String, String) {
        (self.before[a].id.clone(), self.after[b].id.clone())
    }

    /// Tracks the two versions as `tribunal delta` does without a repository.
    pub fn score(&self, scorer: &Scorer, misses: bool) -> Result<Score> {
        let report = |of: &[Finding]| -> Result<Report> {
            let claims: Vec<Claim> = of.iter().map(Finding::claim).collect();
            Ok(read_report(&serde_json::to_vec(&claims)?)?)
        };
        let (before, after) = (report(&self.before)?, report(&self.after)?);
        let found = compare_reports(&before, &after, None, &|_, _| None, scorer);
        let pairs: Vec<_> = found.pairs.iter().map(|(pair, _)| self.name(pair.before, pair.after)).collect();
        let mut score = Score::default();
        let wrong = pairs.iter().filter(|p| !self.same.contains(p) && !self.related.contains(p));
        let missed = self.same.iter().filter(|p| !pairs.contains(p));
        for (word, pair) in wrong.map(|p| ("wrong", p)).chain(missed.map(|p| ("missed", p))) {
            *(if word == "wrong" { &mut score.wrong } else { &mut score.missed }) += 1;
            if misses {
                crate::out::line(format!("re-review {} {word}: {} {}", self.path, pair.0, pair.1));
            }
        }
        score.found = u32::try_from(pairs.iter().filter(|p| self.same.contains(p)).count())?;
        Ok(score)
    }
}

impl Score {
    /// Counts of other documents beside these.
    pub fn add(&mut self, other: &Score) {
        (self.found, self.wrong, self.missed) =
            (self.found + other.found, self.wrong + other.wrong, self.missed + other.missed);
    }

    /// One line of the table.
    pub fn text(&self, tracker: &str) -> String {
        let Score { found, wrong, missed } = self;
        format!("real re-reviews, {tracker}: {found} found, {wrong} wrong, {missed} missed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::shared;

    /// The bar: at most one pair wrong, missed ones counted in.
    #[test]
    fn real_re_reviews() {
        let Some(file) = shared("tracking/rereview_dev.jsonl") else { return };
        let mut score = Score::default();
        for twice in load(&file).unwrap() {
            score.add(&twice.score(&Scorer::default(), true).unwrap());
        }
        assert!(score.wrong + score.missed <= 1 && score.found >= 10, "{score:?}");
    }
}
