//! Remarks of editor agents on findings: who looks at a finding, and what they did about it.
//!
//! Remarks are kept as messages and shown to people. No machine reads them, so nothing here can approve, close or waive
//! a finding, or answer a question: an editor agent is not part of the run, and anybody can be one.

use crate::mail::Body;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tribunal_core::ids::FindingId;
use tribunal_journal::Mail;
use tribunal_view::plain;

/// How long a claim holds without being renewed. The agent that made it may be gone.
pub const CLAIM_MS: u64 = 3_600_000;
/// How many remarks one finding can have.
pub const REMARKS_MAX: u32 = 100;
/// How many characters one answer can have.
pub const TEXT_MAX: usize = 4_000;

/// One remark on one finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The finding it is about.
    pub finding: FindingId,
    /// Its number among the remarks on that finding, from 1.
    ///
    /// The number is part of the message's key, and the mailbox takes a key once. So of two agents that claim a finding
    /// at the same time, one is refused.
    pub n: u32,
    /// The name that the agent gives itself.
    pub by: String,
    /// What the agent says.
    pub word: Word,
}

/// What an editor agent can say about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The agent looks at the finding.
    Claim,
    /// The agent no longer looks at the finding.
    Release,
    /// The agent says what it did or thinks.
    Answer {
        /// The answer in one word.
        stance: Stance,
        /// The answer in the agent's words.
        text: String,
    },
}

/// An answer in one word. It does not settle the finding: only the finding's reviewers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// The agent says that it fixed the finding.
    Fixed,
    /// The agent says that there is nothing to fix.
    Disputed,
    /// The agent cannot fix the finding here.
    CannotFix,
    /// The agent has something for people to know.
    Note,
}

impl Stance {
    /// All stances, for lists of what a call takes.
    pub const ALL: [Stance; 4] = [Stance::Fixed, Stance::Disputed, Stance::CannotFix, Stance::Note];

    /// The word that a call uses.
    pub fn word(self) -> &'static str {
        match self {
            Stance::Fixed => "fixed",
            Stance::Disputed => "disputed",
            Stance::CannotFix => "cannot_fix",
            Stance::Note => "note",
        }
    }
}

impl Remark {
    /// The key of its message in the mailbox.
    pub fn key(&self) -> String {
        format!("editor {} #{}", self.finding, self.n)
    }

    /// The remark in one line, without anything that could control a terminal.
    pub fn words(&self) -> String {
        let by = plain::clipped(&self.by, 100);
        let said = match &self.word {
            Word::Claim => "looks at it".to_owned(),
            Word::Release => "does not look at it any more".to_owned(),
            Word::Answer { stance, text } => format!("answers ({}): {}", stance.word(), plain::line(text)),
        };
        format!("{}: editor agent {by} {said}", self.finding)
    }
}

/// All remarks of a run, each with its time, in order.
///
/// They are read from the mailbox and not from the run state, so a face shows a remark before the run has taken it.
#[derive(Clone, Debug, Default)]
pub struct Remarks(BTreeMap<FindingId, Vec<(u64, Remark)>>);

impl Remarks {
    /// Reads the remarks of a mailbox. Messages of other kinds, and those that cannot be read, are left out.
    pub fn read(mail: &[Mail]) -> Remarks {
        let mut all: BTreeMap<FindingId, Vec<(u64, Remark)>> = BTreeMap::new();
        for mail in mail.iter().filter(|mail| mail.message.kind == "editor") {
            if let Ok(Body::Editor(remark)) = Body::read(&mail.message) {
                all.entry(remark.finding).or_default().push((mail.message.at, remark));
            }
        }
        // By number and not by time: a number is unique, and several processes write the times.
        all.values_mut().for_each(|of| of.sort_by_key(|(_, remark)| remark.n));
        Remarks(all)
    }

    /// The remarks on one finding, in order.
    pub fn of(&self, id: FindingId) -> &[(u64, Remark)] {
        self.0.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The remarks on one finding, in words.
    pub fn lines(&self, id: FindingId) -> Vec<String> {
        self.of(id)
            .iter()
            .map(|(at, remark)| format!("{} {}", tribunal_view::calendar::timestamp(*at), remark.words()))
            .collect()
    }

    /// The number of the next remark on a finding.
    pub fn next(&self, id: FindingId) -> u32 {
        self.of(id).last().map_or(1, |(_, remark)| remark.n.saturating_add(1))
    }

    /// The agent that looks at a finding now.
    ///
    /// A claim lapses after `CLAIM_MS` unless the same agent claims again. A release by anybody else counts for
    /// nothing.
    pub fn holder(&self, id: FindingId, now: u64) -> Option<&str> {
        let mut held: Option<(u64, &str)> = None;
        for (at, remark) in self.of(id) {
            // Lapsed before this remark: whoever claims next may have it.
            held = held.filter(|(since, _)| at.saturating_sub(*since) < CLAIM_MS);
            match (&remark.word, held) {
                (Word::Claim, None) => held = Some((*at, &remark.by)),
                // Claiming again renews the claim; a claim by somebody else has no effect while it holds.
                (Word::Claim, Some((_, by))) if by == remark.by => held = Some((*at, &remark.by)),
                (Word::Release, Some((_, by))) if by == remark.by => held = None,
                _ => {}
            }
        }
        held.filter(|(since, _)| now.saturating_sub(*since) < CLAIM_MS).map(|(_, by)| by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tribunal_core::ids::Time;

    fn remarks(said: &[(u64, &str, Word)]) -> Remarks {
        let mail: Vec<Mail> = said
            .iter()
            .enumerate()
            .map(|(at, (when, by, word))| {
                let n = u32::try_from(at).unwrap() + 1;
                let remark = Remark { finding: FindingId(7), n, by: (*by).to_owned(), word: word.clone() };
                let message = Body::Editor(remark).message(Time(*when)).unwrap();
                Mail { id: u64::from(n), done: false, message }
            })
            .collect();
        Remarks::read(&mail)
    }

    #[test]
    fn who_looks_at_a_finding() {
        let check = |said: &[(u64, &str, Word)], now: u64, expect: Option<&str>| {
            assert_eq!(remarks(said).holder(FindingId(7), now), expect, "{said:?} at {now}");
        };
        let answer = Word::Answer { stance: Stance::Fixed, text: "done".to_owned() };
        check(&[], 0, None);
        check(&[(0, "a", Word::Claim)], 5, Some("a"));
        check(&[(0, "a", Word::Claim), (1, "b", Word::Claim)], 5, Some("a"));
        check(&[(0, "a", Word::Claim), (1, "b", Word::Release)], 5, Some("a"));
        check(&[(0, "a", Word::Claim), (1, "a", Word::Release), (2, "b", Word::Claim)], 5, Some("b"));
        check(&[(0, "a", Word::Claim), (1, "a", answer)], 5, Some("a"));
        check(&[(0, "a", Word::Claim)], CLAIM_MS, None);
        check(&[(0, "a", Word::Claim), (CLAIM_MS, "b", Word::Claim)], CLAIM_MS + 1, Some("b"));
        check(&[(0, "a", Word::Claim), (9, "a", Word::Claim)], CLAIM_MS + 1, Some("a"));
    }

    #[test]
    fn places_are_given_once_and_words_are_harmless() {
        let text = "\u{1b}[31mred\u{7}\nnext".to_owned();
        let all = remarks(&[(0, "a\u{1b}[2J", Word::Answer { stance: Stance::Note, text })]);
        assert_eq!((all.next(FindingId(7)), all.next(FindingId(8))), (2, 1));
        let (_, remark) = &all.of(FindingId(7))[0];
        assert_eq!(remark.words(), "F-7: editor agent a answers (note): red next");
        assert_eq!(remark.key(), "editor F-7 #1");
    }
}
