//! Inputs nobody meant well for everything that reads agents' words: pieces of real forms, whole messages cut, doubled
//! and damaged, and bytes that are nothing.
//! The same seed gives the same inputs. A case fails when a reader panics, approves what is damaged, or lets a path or
//! number through that no subject can have.

use super::Result;
use super::samples::SAMPLES;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tribunal_core::finding::{Claim, Verdict};
use tribunal_findings::track::pair::Scorer;
use tribunal_findings::track::{Change, Side, compare};

/// What was tried.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    cases: u64,
    verdicts: u64,
    findings: u64,
    unread: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { cases, verdicts, findings, unread } = self;
        write!(
            f,
            "{cases} inputs: {verdicts} verdicts, {findings} findings, {unread} unread parts; none broke a law"
        )
    }
}

/// Pieces that mean something to a reader.
const PIECES: &[&str] = &[
    "VERDICT: approve",
    "VERDICT: reject",
    "**VERDICT:** PASS",
    "VERDICT: APPROVE|REJECT",
    "FINDINGS:",
    "\n",
    "\r\n",
    "```",
    "```json\n",
    "> ",
    "- ",
    "[id:F-1]",
    "[severity:high]",
    "[file:src/a.rs:12-9]",
    "[file:../../etc/passwd]",
    "[file:/etc/passwd]",
    "[status:resolved]",
    " issue: it is | wrong ",
    "| suggestion: fix it",
    "### Finding 1",
    "- **File**: a.rs",
    "- **Severity**: BLOCKER",
    "Final verdict: PASS",
    "QA REPORT:",
    "passed: true",
    "checks:\n",
    "- name: a\n",
    "  status: pass\n",
    "  status: fail\n",
    "  evidence: |\n",
    "- name: b | status: fail | fixable_by: architect\n",
    "| check | status |\n|--|--|\n| c | fail |\n",
    "{\"name\":\"d\",\"passed\":false}",
    "hard_stop_reasons:\n",
    "{\"verdict\":\"approve\",\"findings\":[",
    "{\"severity\":\"low\",\"issue\":\"x\",\"line\":0,\"confidence\":\"95%\"}",
    "]}",
    "{\"runs\":[{\"results\":[",
    "{\"message\":{\"text\":\"m\"},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"%2e%2e/x\"},\"region\":{\"startLine\":1e9}}}]}",
    "]}],\"version\":\"2.1.0\"}",
    "src/a.rs:12:3: error: no",
    "a.c:99999999999: x",
    "F-1: resolved",
    "F-2 is not an issue because it is tested",
    "\u{1b}[31m",
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "<system>",
    "</system>",
    "approved",
    "needs revision",
    "blocker:",
    "confidence: high",
    "\"",
    "\\u0000",
    "é",
    "日本",
];

/// A small generator: xorshift.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

/// An input, and whether it is made of a message that does not approve.
fn input(seed: u64) -> (Vec<u8>, bool) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    match dice.roll(8) {
        0 => ((0..dice.roll(400)).map(|_| dice.roll(256) as u8).collect(), false),
        1..4 => (damaged(&mut dice), true),
        _ => (pieces(&mut dice), false),
    }
}

/// A whole message with a few things done to it.
fn damaged(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = SAMPLES[dice.roll(SAMPLES.len())].as_bytes().to_vec();
    for _ in 0..=dice.roll(6) {
        let (at, other) = (dice.roll(bytes.len() + 1), dice.roll(bytes.len() + 1));
        let (from, to) = (at.min(other), at.max(other).min(at.min(other) + 200));
        match dice.roll(9) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(from..to),
            2 => drop(bytes.drain(from..to)),
            3 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << dice.roll(8)),
            4 => bytes.insert(at, b"\0\r\n\x1b\xff\"\\`>{}[]:,|"[dice.roll(16)]),
            5 => bytes.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b'\r'),
            6 => drop(bytes.splice(at..at, b"99999999999999999999".iter().copied())),
            7 => drop(bytes.splice(at..at, b"../../".iter().copied())),
            _ => {
                let more = SAMPLES[dice.roll(SAMPLES.len())].as_bytes();
                bytes.splice(at..at, more.iter().copied().take(dice.roll(300)));
            }
        }
    }
    bytes
}

fn pieces(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..dice.roll(24) {
        match dice.roll(12) {
            0 => bytes.extend((0..dice.roll(8)).map(|_| dice.roll(256) as u8)),
            1 => bytes.truncate(dice.roll(bytes.len() + 1)),
            2 => bytes.extend_from_within(dice.roll(bytes.len() + 1)..),
            3 => bytes.push(b"\n \t{}[]:,|`>"[dice.roll(12)]),
            _ => {
                bytes.extend_from_slice(PIECES[dice.roll(PIECES.len())].as_bytes());
                if dice.roll(3) == 0 {
                    bytes.push(b'\n');
                }
            }
        }
        if bytes.len() > 20_000 {
            break;
        }
    }
    bytes
}

/// Tries so many inputs from a seed on.
pub fn run(seed: u64, cases: u64) -> Result<Tally> {
    let mut tally = Tally::default();
    for case in seed..seed.saturating_add(cases) {
        let (bytes, rejecting) = input(case);
        let tried = catch_unwind(AssertUnwindSafe(|| try_one(&bytes, rejecting, &mut tally)));
        let wrong = match tried {
            Ok(Ok(())) => continue,
            Ok(Err(wrong)) => wrong,
            Err(_) => "a reader panicked".to_owned(),
        };
        return Err(format!("seed {case}: {wrong}\ninput: {:?}", String::from_utf8_lossy(&bytes)).into());
    }
    Ok(tally)
}

fn try_one(bytes: &[u8], rejecting: bool, tally: &mut Tally) -> std::result::Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let intake = tribunal_findings::read_bytes(bytes);
    let damaged = std::str::from_utf8(bytes).is_err() || bytes.contains(&0);
    if damaged && intake.verdict.is_some_and(|verdict| verdict != Verdict::Reject) {
        return Err("a damaged message approves".to_owned());
    }
    if rejecting && intake.verdict == Some(Verdict::Approve) {
        return Err("a message that does not approve was damaged until it did".to_owned());
    }
    track(&text, &intake.findings);
    intake.findings.iter().try_for_each(lawful)?;
    tribunal_findings::read_sarif(&text).findings.iter().try_for_each(lawful)?;
    tribunal_findings::read_compiler_lines(&text).findings.iter().try_for_each(lawful)?;
    let _ = (tribunal_findings::read_builder(&text, None), tribunal_findings::read_hearing(&text, None));
    if let Ok(report) = tribunal_findings::read_report(bytes) {
        report.claims.iter().try_for_each(lawful)?;
    }
    tally.cases += 1;
    tally.verdicts += u64::from(intake.verdict.is_some());
    tally.findings += intake.findings.len() as u64;
    tally.unread += intake.unread.len() as u64;
    Ok(())
}

/// What tracking reads beside words: the diff, and the files findings lie in.
fn track(text: &str, findings: &[Claim]) {
    let change = Change::from_unified(text);
    let claims: Vec<&Claim> = findings.iter().take(20).collect();
    let read = |_: Side, _: &str| Some(text.to_owned());
    let _ = compare(&claims, &claims, &change, &read, &Scorer::default());
}

fn lawful(claim: &Claim) -> std::result::Result<(), String> {
    let file = claim.file.as_deref().unwrap_or("x");
    let outside = file.starts_with('/') || file.split('/').any(|part| part == "..") || file.contains('\0');
    if outside {
        return Err(format!("the path {file:?} leaves the subject"));
    }
    if claim.confidence > 100 || claim.line == Some(0) || claim.end.is_some_and(|end| Some(end) < claim.line)
    {
        return Err(format!("numbers no finding has: {claim:?}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_hold_on_a_few_thousand_inputs() {
        let tally = run(1, 4_000).unwrap();
        assert_eq!(tally.cases, 4_000);
        assert!(tally.verdicts > 100 && tally.findings > 100 && tally.unread > 100, "{tally:?}");
        assert_eq!(run(7, 3).unwrap(), run(7, 3).unwrap());
    }
}
