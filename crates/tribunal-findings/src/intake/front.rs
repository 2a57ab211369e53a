//! Reads the frontmatter of a review file: `status: clean` or `issues_found`, and counts.
//!
//! Counts are not findings. They are compared with the findings that were read, and where they say more, something was
//! not read and the message is in doubt.

use super::cover::Manner;
use super::launch::Carried;
use super::scan::{Kind, Line};
use super::{Draft, head, verdict};
use crate::text::{bare, field, plain_words};
use crate::words::{self, Stated};
use tribunal_core::finding::{Claim, Verdict};

/// What a frontmatter claims.
#[derive(Default)]
pub(crate) struct Front {
    blockers: usize,
    others: usize,
    clean: bool,
}

impl Front {
    /// Compares its counts with what was read; call it when all other readers are done.
    pub fn settle(&self, draft: &mut Draft) {
        use tribunal_core::finding::Severity::Blocker;
        let read = draft.intake.findings.len();
        let blockers = draft.intake.findings.iter().filter(|claim| claim.severity == Blocker).count();
        let counted = self.blockers + self.others;
        self.drop_the_overview(draft, counted);
        let read = draft.intake.findings.len().min(read);
        if self.blockers > blockers || counted > read {
            draft
                .intake
                .doubt("", format!("its frontmatter counts {counted} findings, of which {read} were read"));
        } else if self.clean && read > 0 {
            draft.intake.doubt("", "its frontmatter says clean, and findings follow");
        }
    }
}

impl Front {
    /// Drops the overview. Where as many findings as are counted are told under ids of their own, the rest repeats
    /// them.
    fn drop_the_overview(&self, draft: &mut Draft, counted: usize) {
        let told = |(at, claim): (usize, &Claim)| {
            let id = claim.label.as_deref().is_some_and(|label| head::own_id(&format!("{label}:")).is_some());
            id && !draft.listed.contains(&at)
        };
        let told: Vec<bool> = draft.intake.findings.iter().enumerate().map(told).collect();
        if counted == 0 || told.iter().filter(|told| **told).count() != counted {
            return;
        }
        let all = std::mem::take(&mut draft.intake.findings);
        for (claim, told) in all.into_iter().zip(told) {
            if told {
                draft.intake.findings.push(claim);
            } else {
                // A dropped overview may still say something of its own.
                draft.cover(&claim.claim, Manner::Prose);
                draft
                    .intake
                    .note(&claim.claim, "beside the findings that its frontmatter counts: an overview");
            }
        }
    }
}

/// Reads the frontmatter that a message opens with, and marks its lines as taken.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) -> Option<Front> {
    let first = lines.iter().position(|line| line.kind != Kind::Blank)?;
    let is_mark = |line: &Line<'_>| line.kind == Kind::Own && line.text.trim_end() == "---";
    if !is_mark(&lines[first]) {
        return None;
    }
    // A rule at the beginning of a message is not a frontmatter; the limit keeps the search short.
    let last = (first + 1..lines.len().min(first + 300)).find(|at| is_mark(&lines[*at]))?;
    let body = &lines[first + 1..last];
    if !body.iter().all(is_yaml) {
        return None;
    }
    taken[first..=last].fill(true);
    let mut front = Front::default();
    // The block is one statement: a word on any of its lines counts for all.
    let carried = body.iter().any(|line| line.word == Carried::Right);
    draft.carried = if carried { Carried::Right } else { Carried::Nothing };
    let mut listing = false;
    for line in body {
        let Some((key, value)) = field(line.text) else {
            let item = line.text.trim_start().strip_prefix("- ");
            // A file has no blanks; a sentence in the list of files has to be covered like any other.
            let is_file = item.is_some_and(|item| {
                !item.trim().contains(char::is_whitespace) && (item.is_ascii() || item.contains(['.', '/']))
            });
            if listing && is_file {
                draft.read_files += 1;
            } else if let Some(item) = item {
                draft.cover(item, Manner::List);
            }
            continue;
        };
        if line.text.trim_start().starts_with("- ") {
            draft.cover(line.text.trim_start().trim_start_matches("- "), Manner::List);
            continue;
        }
        let key = plain_words(&key);
        listing = key == "files reviewed list";
        key_value(&key, bare(value), &mut front, draft);
    }
    draft.carried = Carried::Nothing;
    draft.clean = front.clean;
    Some(front)
}

fn is_yaml(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    line.kind == Kind::Blank || text.starts_with("- ") || field(text).is_some()
}

/// Takes one line of the frontmatter: a count, a status, or a value that has to be harmless.
fn key_value(key: &str, value: &str, front: &mut Front, draft: &mut Draft) {
    let count = || value.parse::<usize>().unwrap_or(0);
    match key {
        "critical" | "blocker" | "blockers" | "high" => front.blockers += count(),
        "warning" | "warnings" | "medium" | "info" | "low" | "suggestion" | "suggestions" => {
            front.others += count()
        }
        "status" | "verdict" | "result" | "decision" => match plain_words(value).as_str() {
            "clean" => {
                front.clean = true;
                draft.vote("status: clean", Ok((Verdict::Approve, false)));
            }
            "issues found" => {
                // Only counts above the status are known here; `settle` looks at all of them.
                let verdict = if front.blockers > 0 { Verdict::Reject } else { Verdict::Conditional };
                draft.vote("status: issues_found", Ok((verdict, false)));
            }
            _ if key == "verdict" => verdict::vote(value, draft),
            _ => {
                if let Stated::Known(..) = words::verdict(value) {
                    verdict::vote(value, draft);
                } else {
                    draft.cover(value, Manner::List);
                }
            }
        },
        // About the review: its date, its depth, who wrote it.
        "phase" | "plan" | "reviewed" | "reviewer" | "depth" | "date" | "model" | "title" | "branch" => {
            draft.cover(value, Manner::Checked);
        }
        _ => draft.cover(value, Manner::List),
    }
}
