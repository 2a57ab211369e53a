//! What reviewers and checks claim, and what becomes of it. Data only: matching and reading live in
//! `tribunal-findings`.
//!
//! These types are journaled. A field may be added with a default, but none may change its meaning, because old
//! journals are folded with the same code.

use crate::evidence::Refused;
use crate::ids::{Check, FindingId, Reviewer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How bad a finding is, in order: a suggestion is the least.
///
/// Blockers and warnings must be fixed. Whether a warning really stops the work is up to the policy
/// (`panel::needs_rework`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nice to have; it never causes rework.
    Suggestion,
    /// Must be fixed, or is carried on if the policy lets warnings pass.
    Warning,
    /// Must be fixed, whatever the policy says.
    Blocker,
}

impl Severity {
    /// All severities, the worst first.
    pub const ALL: [Severity; 3] = [Severity::Blocker, Severity::Warning, Severity::Suggestion];

    /// Whether the finding must be fixed: blockers and warnings.
    pub fn must_fix(self) -> bool {
        self >= Severity::Warning
    }

    /// The name of the severity as people read it.
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
        // `pad` and not `write_str`, so that columns line up.
        f.pad(self.word())
    }
}

/// What a reviewer concluded. A missing or unusable answer is not a verdict: it is `Option::None`.
///
/// The order goes from mild to strict. `cover::merge` takes the maximum of several parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Good as it stands.
    Approve,
    /// Good with the warnings named.
    Conditional,
    /// Not good as it stands.
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

/// Who can fix a finding.
///
/// It routes the finding: one that the builder cannot fix goes to a person at once instead of costing rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixableBy {
    /// The agent that made the subject.
    #[default]
    Dev,
    /// Whoever wrote the plan.
    Architect,
    /// A person, because no agent may or can.
    Manual,
}

/// One claim that something is wrong, as its author made it.
///
/// Nothing in it has been checked yet: the path may lead anywhere, and the text is an agent's. It becomes a finding
/// when it is tracked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Path inside the subject as written. It must not be followed before it is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The first line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The last line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u32>,
    /// The heading or section, if there is no line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// How bad the author says it is.
    pub severity: Severity,
    /// How sure the author is, from 0 to 100.
    pub confidence: u8,
    /// False if the form carried no confidence and 80 was assumed.
    pub confidence_stated: bool,
    /// The claim in one sentence.
    pub claim: String,
    /// The rest of the text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suggestion: String,
    /// The proof that the author gave.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// `security`, `performance`, `api`, `accessibility`, or what the reviewer wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The id of the rule, for checks and tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// `over-engineering`, `missing-error-handling`, `pattern-violation`, `dead-code`, `spec-intent-mismatch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Who can fix it.
    #[serde(default)]
    pub fixable_by: FixableBy,
    /// Not a defect: the check could not verify this and asks a reviewer to look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// The author's own id for it, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// "Same as F-12": a hint for the matching, not an identity.
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
            // The value that is assumed for a form without one. It is high enough that the finding is not deferred.
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

/// What a reviewer says about an open finding that was put to it by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// The finding is gone.
    Resolved,
    /// The finding is still there.
    StillThere,
    /// It never was a finding, for this reason.
    NotAnIssue(String),
    /// The question of a check is answered by a proof that Tribunal looked up and found.
    ///
    /// No reader of an agent's text produces this variant. Whoever delivers an answer turns a named proof into it,
    /// after finding that the proof is there.
    Shown(String),
    /// What was named is not a proof, and this is what is missing. It closes nothing.
    NoProof(String),
}

/// The answer of one reviewer in one round.
///
/// A verdict alone is not enough to approve: `panel::unusable` says what else an answer needs before it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The verdict as stated.
    pub verdict: Verdict,
    /// FAIL: patching is not enough.
    #[serde(default)]
    pub fundamental: bool,
    /// The new claims of this answer.
    #[serde(default)]
    pub raised: Vec<Claim>,
    /// Replies to findings that were put by id.
    #[serde(default)]
    pub said: BTreeMap<FindingId, Said>,
    /// What was checked, in the reviewer's words; empty is a bare "looks good".
    #[serde(default)]
    pub checked: String,
    /// A statement about what was checked that is not evidence, and why; none if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// What the reviewer took the task to be for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Whether the work serves that intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_satisfied: Option<bool>,
    /// No line of it carries the launch word. It may be a quotation, so its author is asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wordless: bool,
    /// Parts that may be a finding and could not be read: `U-1` is the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadPart>,
    /// Parts of the reviewer's earlier answer that are not findings, by their number, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settled: BTreeMap<u32, String>,
}

/// A part of an answer that may be a finding and could not be read.
///
/// An answer that has one approves nothing: its reviewer is asked again, with these parts in the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadPart {
    /// The text of the part, shortened when long.
    pub text: String,
    /// Why the part could not be read.
    pub why: String,
}

impl Answer {
    /// Whether it says what the n-th unread part of an earlier answer is: a finding under that label, or none.
    pub fn settles(&self, n: u32) -> bool {
        let label = format!("U-{n}");
        // In either case: an agent may write the label as it likes.
        let raised =
            |claim: &Claim| claim.label.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(&label));
        self.settled.contains_key(&n) || self.raised.iter().any(raised)
    }
}

/// What the builder says about an open finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The builder says that it fixed it.
    Fixed,
    /// It is not an issue, for this reason.
    Refuted(String),
    /// It cannot be fixed here, for this reason.
    CannotFix(String),
    /// A fix was attempted but could not be verified, for this reason.
    Unseen(String),
}

impl Reply {
    /// The reply in a word or two, and its reason if it has one.
    ///
    /// Every form of a reply is made from this, so that all of them use the same words.
    pub fn parts(&self) -> (&'static str, Option<&str>) {
        match self {
            Reply::Fixed => ("fixed", None),
            Reply::Refuted(why) => ("refuted", Some(why)),
            Reply::CannotFix(why) => ("cannot fix", Some(why)),
            Reply::Unseen(why) => ("perhaps fixed", Some(why)),
        }
    }

    /// Whether the reply can be judged without a change: a refutation or an inability with a reason.
    ///
    /// "Fixed", or perhaps fixed, needs a change to look at. An argument without words is not an argument.
    pub fn is_argument(&self) -> bool {
        match self {
            Reply::Fixed | Reply::Unseen(_) => false,
            Reply::Refuted(why) | Reply::CannotFix(why) => !why.trim().is_empty(),
        }
    }
}

/// Who raised a finding.
///
/// The difference matters: a reviewer may be asked about its finding and can take it back; a check has to pass.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A deterministic check or tool.
    Check(Check),
    /// A reviewer of the panel.
    Reviewer(Reviewer),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Check(check) => write!(f, "check {check}"),
            Source::Reviewer(reviewer) => write!(f, "{reviewer}"),
        }
    }
}

/// Where a finding ended, or `Open`.
///
/// Every finding has exactly one fate, and none is `Open` any more when its loop has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Not settled yet; it keeps its loop going.
    Open,
    /// Verified to be gone.
    Fixed,
    /// Shown not to be a finding.
    Refuted,
    /// Taken out by ownership rules.
    Filtered,
    /// Put off, for a confidence of 50 to 79.
    Deferred,
    /// Dropped, for a confidence below 50.
    Discarded,
    /// It says what this other finding says.
    DuplicateOf(FindingId),
    /// It was replaced by this other finding.
    SupersededBy(FindingId),
    /// It is shown and causes no rework.
    Advisory,
    /// It was carried on as a warning.
    Carried,
    /// It was accepted by this named person.
    Waived(String),
    /// It was open when its loop ended.
    Unresolved,
}

impl Fate {
    /// Whether nobody settled it: it is open, or it was when its loop ended.
    ///
    /// Ask here instead of listing fates: a new one does not compile until these methods say what it means.
    pub fn is_open(&self) -> bool {
        match self {
            Fate::Open | Fate::Unresolved => true,
            Fate::Fixed | Fate::Refuted | Fate::Filtered | Fate::Deferred | Fate::Discarded => false,
            Fate::DuplicateOf(_) | Fate::SupersededBy(_) => false,
            Fate::Advisory | Fate::Carried | Fate::Waived(_) => false,
        }
    }

    /// Whether nothing is left to do about it: fixed, refuted, waived, or replaced by another finding.
    pub fn is_settled(&self) -> bool {
        matches!(self, Fate::Waived(_)) || self.is_gone() || self.is_replaced()
    }

    /// Whether somebody still has to do something: it is open, or it went on as a warning.
    pub fn needs_person(&self) -> bool {
        self.is_open() || *self == Fate::Carried
    }

    /// Whether it still says something about the code as it is, and not only about its past.
    pub fn stands(&self) -> bool {
        self.needs_person() || *self == Fate::Advisory
    }

    /// Whether its loop still follows it from round to round.
    ///
    /// A deferred or advisory finding is followed as well, because a later round may be surer of it.
    pub fn is_live(&self) -> bool {
        matches!(self, Fate::Open | Fate::Deferred | Fate::Advisory)
    }

    /// Whether it is proven to be gone: fixed, or never a finding.
    pub fn is_gone(&self) -> bool {
        matches!(self, Fate::Fixed | Fate::Refuted)
    }

    /// Whether another finding stands for it.
    pub fn is_replaced(&self) -> bool {
        matches!(self, Fate::DuplicateOf(_) | Fate::SupersededBy(_))
    }

    /// The name of the fate as people read it and count by it.
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

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
