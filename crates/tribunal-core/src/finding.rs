//! What reviewers and checks claim, and what becomes of it. Data only: matching and reading live in
//! `tribunal-findings`.

use crate::evidence::Refused;
use crate::ids::{Check, FindingId, Seat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How bad a finding is. Ordered: a suggestion is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nice to have.
    Suggestion,
    /// Must be fixed, or carried on where the policy lets warnings pass.
    Warning,
    /// Must be fixed.
    Blocker,
}

impl Severity {
    /// Blockers and warnings must be fixed.
    pub fn must_fix(self) -> bool {
        self >= Severity::Warning
    }

    /// The word people read.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Suggestion => "suggestion",
            Severity::Warning => "warning",
            Severity::Blocker => "blocker",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What a seat concluded. No usable answer is not a verdict: it is `Option::None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Good as it stands.
    Approve,
    /// Good with the warnings named.
    Conditional,
    /// Not good.
    Reject,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Approve => "approve",
            Verdict::Conditional => "conditional",
            Verdict::Reject => "reject",
        })
    }
}

/// Who can mend a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixableBy {
    /// The agent that made the subject.
    #[default]
    Dev,
    /// Whoever wrote the plan.
    Architect,
    /// A person.
    Manual,
}

/// One claim that something is wrong, as its author made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Path inside the subject, as written (never followed before it was checked).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// First line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u32>,
    /// Heading or section, where there is no line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// How bad.
    pub severity: Severity,
    /// 0 to 100.
    pub confidence: u8,
    /// False when the form carried none and 80 was assumed.
    pub confidence_stated: bool,
    /// One sentence.
    pub claim: String,
    /// The rest of the text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suggestion: String,
    /// Proof the author gave.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// `security`, `performance`, `api`, `accessibility`, or what the reviewer wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Rule id, for checks and tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// `over-engineering`, `missing-error-handling`, `pattern-violation`, `dead-code`, `spec-intent-mismatch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Who can mend it.
    #[serde(default)]
    pub fixable_by: FixableBy,
    /// It is no fault but a question: nothing shows that all is well, and somebody must look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// The author's own id for it, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// "Same as F-12": a prior, not an identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<FindingId>,
}

impl Claim {
    /// A claim without a place, with the defaults of a form that carries nothing more.
    pub fn new(severity: Severity, claim: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            end: None,
            section: None,
            severity,
            confidence: 80,
            confidence_stated: false,
            claim: claim.into(),
            details: String::new(),
            suggestion: String::new(),
            evidence: String::new(),
            domain: None,
            rule: None,
            kind: None,
            fixable_by: FixableBy::Dev,
            asks: false,
            label: None,
            same_as: None,
        }
    }

    /// The same claim at a place.
    pub fn at(mut self, file: impl Into<String>, line: Option<u32>) -> Self {
        self.file = Some(file.into());
        self.line = line;
        self.end = line;
        self
    }
}

/// What a seat says about an open finding that was put to it by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// It is gone.
    Resolved,
    /// It is still there.
    StillThere,
    /// It never was one, and why.
    NotAnIssue(String),
    /// What a check asked about holds: a proof it names, which Tribunal looked up and found. No reader of words says so;
    /// whoever hands an answer in turns a named proof that is there into this.
    Shown(String),
    /// What it names for what a check asked about is no proof: what is missing. It closes nothing.
    NoProof(String),
}

/// One seat's answer in one sitting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The stated verdict.
    pub verdict: Verdict,
    /// FAIL: patching will not do.
    #[serde(default)]
    pub fundamental: bool,
    /// New claims.
    #[serde(default)]
    pub raised: Vec<Claim>,
    /// Answers to what was put by id.
    #[serde(default)]
    pub said: BTreeMap<FindingId, Said>,
    /// What was checked, in the seat's words; empty is a bare "looks good".
    #[serde(default)]
    pub checked: String,
    /// Words about what was checked that are no evidence, and why; none where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// What the seat took the task to be for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Whether the work serves that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_satisfied: Option<bool>,
    /// No line of it carries the word of its launch: it may be a quotation, and its author is asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wordless: bool,
    /// Parts that may be a finding and could not be read: `U-1` is the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadPart>,
    /// Parts of the reviewer's earlier answer that are no finding, by their number, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settled: BTreeMap<u32, String>,
}

/// A part of an answer that may be a finding and could not be read.
///
/// An answer that has one approves nothing: its reviewer is asked again, with these parts before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadPart {
    /// Its words, shortened when long.
    pub text: String,
    /// Why it could not be read.
    pub why: String,
}

impl Answer {
    /// Whether it says what the n-th unread part of an earlier answer is: a finding under that label, or none.
    pub fn settles(&self, n: u32) -> bool {
        let label = format!("U-{n}");
        let raised =
            |claim: &Claim| claim.label.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(&label));
        self.settled.contains_key(&n) || self.raised.iter().any(raised)
    }
}

/// What the maker says about an open finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Mended.
    Fixed,
    /// Not an issue, and why.
    Refuted(String),
    /// Cannot be mended here, and why.
    CannotFix(String),
    /// Something was made for it, and nobody could look whether that mended it, and why.
    Unseen(String),
}

impl Reply {
    /// A refutation or an inability with a reason can be judged without a change; "fixed", or perhaps
    /// fixed, cannot.
    pub fn is_argument(&self) -> bool {
        match self {
            Reply::Fixed | Reply::Unseen(_) => false,
            Reply::Refuted(why) | Reply::CannotFix(why) => !why.trim().is_empty(),
        }
    }
}

/// Who raised a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A deterministic judge.
    Check(Check),
    /// A reviewer place.
    Seat(Seat),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Check(check) => write!(f, "check {check}"),
            Source::Seat(seat) => write!(f, "{seat}"),
        }
    }
}

/// Where a finding ended, or `Open`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Not settled.
    Open,
    /// Verified gone.
    Fixed,
    /// Shown not to be one.
    Refuted,
    /// Taken out by authority.
    Filtered,
    /// Confidence 50 to 79.
    Deferred,
    /// Confidence below 50.
    Discarded,
    /// Says what another says.
    DuplicateOf(FindingId),
    /// Replaced by another.
    SupersededBy(FindingId),
    /// Shown, causes no rework.
    Advisory,
    /// Went on as a warning.
    Carried,
    /// Accepted by a named person.
    Waived(String),
    /// Open when its loop ended.
    Unresolved,
}

impl Fate {
    /// The word people read and count by.
    pub fn word(&self) -> &'static str {
        match self {
            Fate::Open => "open",
            Fate::Fixed => "fixed",
            Fate::Refuted => "refuted",
            Fate::Filtered => "filtered",
            Fate::Deferred => "deferred",
            Fate::Discarded => "discarded",
            Fate::DuplicateOf(_) => "duplicate",
            Fate::SupersededBy(_) => "superseded",
            Fate::Advisory => "advisory",
            Fate::Carried => "carried",
            Fate::Waived(_) => "waived",
            Fate::Unresolved => "unresolved",
        }
    }
}
