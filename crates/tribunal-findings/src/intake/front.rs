//! The frontmatter of a review file: `status: clean` or `issues_found`, and counts. Counts are no findings; they are
//! held against the findings that were read, and where they say more, something was not read.

use super::launch::Carried;
use super::scan::{Kind, Line};
use super::{Draft, verdict};
use crate::text::{bare, field, plain_words};
use crate::words::{self, Stated};
use tribunal_core::finding::Verdict;

/// What a frontmatter claims.
#[derive(Default)]
pub(crate) struct Front {
    blockers: usize,
    others: usize,
    clean: bool,
}

impl Front {
    /// Holds its counts against what was read.
    pub fn settle(&self, draft: &mut Draft) {
        use tribunal_core::finding::Severity::Blocker;
        let read = draft.intake.findings.len();
        let blockers = draft.intake.findings.iter().filter(|claim| claim.severity == Blocker).count();
        let counted = self.blockers + self.others;
        if self.blockers > blockers || counted > read {
            draft
                .intake
                .doubt("", format!("its frontmatter counts {counted} findings, of which {read} were read"));
        } else if self.clean && read > 0 {
            draft.intake.doubt("", "its frontmatter says clean, and findings follow");
        }
    }
}

/// Reads the frontmatter that a message opens with and marks its lines as taken.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) -> Option<Front> {
    let first = lines.iter().position(|line| line.kind != Kind::Blank)?;
    let is_mark = |line: &Line<'_>| line.kind == Kind::Own && line.text.trim_end() == "---";
    if !is_mark(&lines[first]) {
        return None;
    }
    let last = (first + 1..lines.len().min(first + 300)).find(|at| is_mark(&lines[*at]))?;
    let body = &lines[first + 1..last];
    if !body.iter().all(is_yaml) {
        return None;
    }
    taken[first..=last].fill(true);
    let mut front = Front::default();
    let carried = body.iter().any(|line| line.word == Carried::Right);
    draft.carried = if carried { Carried::Right } else { Carried::Nothing };
    let mut listing = false;
    for line in body {
        let Some((key, value)) = field(line.text) else {
            if listing && line.text.trim_start().starts_with("- ") {
                draft.read_files += 1;
            }
            continue;
        };
        let key = plain_words(&key);
        listing = key == "files reviewed list";
        key_value(&key, bare(value), &mut front, draft);
    }
    draft.carried = Carried::Nothing;
    Some(front)
}

fn is_yaml(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    line.kind == Kind::Blank || text.starts_with("- ") || field(text).is_some()
}

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
                let verdict = if front.blockers > 0 { Verdict::Reject } else { Verdict::Conditional };
                draft.vote("status: issues_found", Ok((verdict, false)));
            }
            _ if key == "verdict" => verdict::vote(value, draft),
            _ => {
                if let Stated::Known(..) = words::verdict(value) {
                    verdict::vote(value, draft);
                }
            }
        },
        _ => {}
    }
}
