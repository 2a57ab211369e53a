//! How labelled answers of reviewers are read: verdicts that are right, approvals that must not be, findings lost and
//! invented. The labels say what an honest strict reader concludes; the data's own script counts the same.

use super::Result;
use serde::Deserialize;
use std::path::Path;
use tribunal_core::finding::{Claim, Verdict};

#[derive(Deserialize)]
struct Case {
    id: String,
    text: String,
    verdict: Verdicts,
    findings: Vec<Wanted>,
    #[serde(default)]
    extra_ok: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Verdicts {
    One(String),
    Any(Vec<String>),
}

impl Verdicts {
    fn has(&self, word: &str) -> bool {
        match self {
            Verdicts::One(one) => one == word,
            Verdicts::Any(any) => any.iter().any(|one| one == word),
        }
    }
}

#[derive(Deserialize)]
struct Wanted {
    file: String,
    gist: String,
}

#[derive(Default)]
struct Counts {
    cases: usize,
    right: usize,
    open: usize,
    taken: usize,
    takeable: usize,
    unexplained: usize,
    wanted: usize,
    lost: usize,
    invented: usize,
}

/// Reads every answer; lines to print, and how many were approved that must not be.
pub fn eval(file: &Path, misses: bool) -> Result<(Vec<String>, usize)> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut counts = Counts::default();
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Case = serde_json::from_str(line)?;
        let missed = count(&case, &mut counts);
        lines.extend(missed.filter(|_| misses));
    }
    let Counts { cases, right, open, taken, takeable, unexplained, wanted, lost, invented } = counts;
    lines.push(format!(
        "{cases} answers: verdict right {right}, wrongly approved {open}, approvals taken {taken} of {takeable}, \
         no verdict and no reason {unexplained}; {wanted} findings: lost {lost}, invented {invented}"
    ));
    Ok((lines, open))
}

fn count(case: &Case, counts: &mut Counts) -> Option<String> {
    let intake = tribunal_findings::read(&case.text);
    let word = match intake.effective() {
        Some(Verdict::Approve) => "approve",
        Some(Verdict::Conditional) => "conditional",
        Some(Verdict::Reject) => "reject",
        None => "none",
    };
    let may = case.verdict.has("approve");
    let right = case.verdict.has(word);
    let open = !right && (word == "approve" || word == "conditional" && !may);
    counts.cases += 1;
    counts.right += usize::from(right);
    counts.open += usize::from(open);
    counts.takeable += usize::from(may);
    counts.taken += usize::from(may && word == "approve");
    counts.unexplained += usize::from(may && word == "none" && intake.unread.is_empty());
    let found = paired(&intake.findings, &case.findings);
    let (lost, extra) = (case.findings.len() - found, intake.findings.len() - found);
    let extra = if case.extra_ok { 0 } else { extra };
    counts.wanted += case.findings.len();
    counts.lost += lost;
    counts.invented += extra;
    (!right || lost + extra > 0).then(|| format!("{}: {word}, lost {lost}, invented {extra}", case.id))
}

/// How many of the wanted findings have one of their own: by file, else by half of the words.
fn paired(got: &[Claim], wanted: &[Wanted]) -> usize {
    let mut free: Vec<&Claim> = got.iter().collect();
    let like = |claim: &Claim, want: &Wanted| {
        let words = claim.claim.to_lowercase();
        let gist: Vec<&str> = want.gist.split_whitespace().filter(|word| word.len() > 2).collect();
        let shared = gist.iter().filter(|word| words.contains(&word.to_lowercase())).count();
        claim.file.as_deref() == Some(want.file.as_str())
            || claim.claim.contains(&want.file)
            || shared * 2 >= gist.len()
    };
    let mut found = 0;
    for want in wanted {
        if let Some(at) = free.iter().position(|claim| like(claim, want)) {
            free.remove(at);
            found += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn labelled_answers_are_read_right() {
        let Some(file) = crate::findings::shared("answers/dev.jsonl") else { return };
        let (lines, open) = super::eval(&file, true).unwrap();
        assert_eq!(open, 0, "{lines:?}");
        let total = lines.last().unwrap();
        assert!(total.contains("verdict right 162") && total.contains("lost 0, invented 0"), "{lines:?}");
    }
}
