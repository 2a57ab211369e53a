//! The protocol's tables as functions: turns, models, token budgets, risk, gate policy, approval. Numbers in, numbers
//! out; where a value comes from is the caller's business.
//!
//! The numbers are the protocol's; they are not tuned here.

use crate::policy::Effort;
use serde::Serialize;

/// How often a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Autonomy {
    /// Asks at every turn.
    Cautious,
    /// Asks where it matters.
    Standard,
    /// Hardly ever asks.
    Confident,
    /// Never asks a person.
    PureVibe,
}

impl Autonomy {
    /// Reads the protocol's words.
    pub fn parse(word: &str) -> Option<Autonomy> {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            "cautious" => Autonomy::Cautious,
            "standard" => Autonomy::Standard,
            "confident" => Autonomy::Confident,
            "pure-vibe" | "pure_vibe" => Autonomy::PureVibe,
            _ => return None,
        })
    }

    /// Whether a person is asked at all.
    fn asks(self) -> bool {
        matches!(self, Autonomy::Cautious | Autonomy::Standard)
    }
}

/// How much can go wrong with a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// At most one of the reasons that `risk` counts holds.
    Low,
    /// Two of the reasons hold.
    Medium,
    /// Three or more of the reasons hold.
    High,
}

impl Risk {
    /// Reads the protocol's words.
    pub fn parse(word: &str) -> Option<Risk> {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            "low" => Risk::Low,
            "medium" => Risk::Medium,
            "high" => Risk::High,
            _ => return None,
        })
    }
}

/// What the risk of a plan is read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RiskFacts {
    /// How many tasks the plan has.
    pub tasks: usize,
    /// How many files it claims, each counted once.
    pub files: usize,
    /// How many dependencies on other phases it has.
    pub cross_phase: usize,
    /// How many must_haves it has.
    pub must_haves: usize,
}

/// The risk of a plan, its score, and what counted.
pub fn risk(facts: RiskFacts) -> (Risk, u32, Vec<&'static str>) {
    let table = [
        (facts.tasks > 5, "more than 5 tasks"),
        (facts.files > 8, "more than 8 files"),
        (facts.cross_phase > 0, "dependencies on other phases"),
        (facts.must_haves > 4, "more than 4 must_haves"),
    ];
    let reasons: Vec<&'static str> = table.iter().filter(|(hit, _)| *hit).map(|(_, words)| *words).collect();
    // Each reason counts once, however far its limit is passed.
    let risk = match reasons.len() {
        0 | 1 => Risk::Low,
        2 => Risk::Medium,
        _ => Risk::High,
    };
    (risk, u32::try_from(reasons.len()).unwrap_or(u32::MAX), reasons)
}

/// What is asked of a plan and its tasks.
///
/// Effort alone chooses the depth; approval and confirmation also depend on risk and autonomy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GatePolicy {
    /// How deep quality is looked at: skip, quick, standard, deep.
    pub qa_tier: &'static str,
    /// Whether a person approves before a builder starts.
    pub approval_required: bool,
    /// What teammates report to each other: none, blockers, blockers_findings, full.
    pub communication_level: &'static str,
    /// Whether a task is confirmed in two steps.
    pub two_phase: bool,
}

/// The gate policy of an effort, a risk and an autonomy.
pub fn gate_policy(effort: Effort, risk: Risk, autonomy: Autonomy) -> GatePolicy {
    let (qa_tier, communication_level) = match effort {
        Effort::Turbo => ("skip", "none"),
        Effort::Fast => ("quick", "blockers"),
        Effort::Balanced => ("standard", "blockers_findings"),
        Effort::Thorough | Effort::Max => ("deep", "full"),
    };
    // Approval and confirmation go together, except in the one cell below.
    let both = autonomy.asks()
        && match effort {
            Effort::Thorough | Effort::Max => true,
            Effort::Fast | Effort::Balanced => risk == Risk::High,
            Effort::Turbo => false,
        };
    // The cell where a person approves and the task is not confirmed in two steps.
    let only_approval = effort == Effort::Balanced && risk == Risk::Medium && autonomy == Autonomy::Cautious;
    GatePolicy { qa_tier, approval_required: both || only_approval, communication_level, two_phase: both }
}

/// Whether a person approves a plan before a builder starts, if no gate policy says so.
pub fn plan_approval(effort: Effort, autonomy: Autonomy) -> bool {
    match autonomy {
        Autonomy::Cautious => effort >= Effort::Balanced,
        Autonomy::Standard => effort >= Effort::Thorough,
        Autonomy::Confident | Autonomy::PureVibe => false,
    }
}

/// Whether people try the result out.
pub fn uat(autonomy: Autonomy) -> bool {
    autonomy.asks()
}

/// The roles there are tables for.
pub const ROLES: [&str; 9] =
    ["lead", "dev", "debugger", "architect", "reviewer", "qa", "docs", "researcher", "scout"];

/// Turns of a role before effort; none for a role without a table.
pub fn turns_base(role: &str) -> Option<u32> {
    Some(match role {
        "scout" | "researcher" | "reviewer" => 15,
        "qa" => 25,
        "architect" | "docs" => 30,
        "lead" => 50,
        "dev" => 75,
        "debugger" => 80,
        _ => return None,
    })
}

/// How many turns a configuration gives a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnsSet {
    /// Nothing is configured: the table counts.
    Unset,
    /// A number that effort multiplies; 0 or less is unlimited.
    Scaled(i64),
    /// A number for this very effort; 0 or less is unlimited.
    Exact(i64),
}

/// Turns of a role: round half up, at least 1; 0 is unlimited. None for an unknown role without a number.
pub fn turns(role: &str, effort: Effort, set: TurnsSet) -> Option<u32> {
    let base = match set {
        TurnsSet::Exact(n) | TurnsSet::Scaled(n) if n <= 0 => return Some(0),
        TurnsSet::Exact(n) => return Some(u32::try_from(n).unwrap_or(u32::MAX)),
        TurnsSet::Scaled(n) => u64::try_from(n).unwrap_or(0),
        TurnsSet::Unset => u64::from(turns_base(role)?),
    };
    // In tenths: integers round the same way everywhere.
    let tenths = match effort {
        Effort::Thorough | Effort::Max => 15,
        Effort::Balanced => 10,
        Effort::Fast => 8,
        Effort::Turbo => 6,
    };
    let scaled = (base.saturating_mul(tenths).saturating_add(5) / 10).max(1);
    Some(u32::try_from(scaled).unwrap_or(u32::MAX))
}

/// How large a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelClass {
    /// A small, cheap model.
    Small,
    /// A model of medium size.
    Medium,
    /// A large, expensive model.
    Large,
}

impl ModelClass {
    /// The name of the class in the protocol.
    pub fn word(self) -> &'static str {
        match self {
            ModelClass::Small => "small",
            ModelClass::Medium => "medium",
            ModelClass::Large => "large",
        }
    }
}

/// The class of model a profile gives a role; none for an unknown profile or role.
pub fn model_class(profile: &str, role: &str) -> Option<ModelClass> {
    use ModelClass::{Large, Medium, Small};
    // Before the profiles, whose last arms take any role.
    if !ROLES.contains(&role) {
        return None;
    }
    Some(match (profile, role) {
        ("quality", "scout") => Small,
        ("quality", "docs" | "researcher") => Medium,
        ("quality", _) => Large,
        ("balanced", "researcher" | "scout") => Small,
        ("balanced", _) => Medium,
        ("budget", "dev" | "debugger" | "architect") => Medium,
        ("budget", _) => Small,
        _ => return None,
    })
}

/// Tokens a role may be given before a task's weight counts.
pub fn tokens_base(role: &str) -> u64 {
    match role {
        "scout" => 2_000,
        "lead" | "architect" => 5_000,
        "qa" => 6_000,
        "dev" | "debugger" => 8_000,
        _ => 4_000,
    }
}

/// The weight of a task's contract.
pub fn task_score(must_haves: usize, paths: usize, dependencies: usize) -> usize {
    must_haves.saturating_add(paths.saturating_mul(2)).saturating_add(dependencies.saturating_mul(3))
}

/// Tokens of a role for a task of this weight.
pub fn tokens_for(role: &str, score: usize) -> u64 {
    let tenths = match score {
        0..=5 => 6,
        6..=12 => 10,
        13..=20 => 13,
        _ => 16,
    };
    // Multiplied first, or the tenths would be lost.
    tokens_base(role) * tenths / 10
}

/// The least that a plan's remaining budget falls to.
pub const TOKENS_FLOOR: u64 = 1_000;

/// What is left of a plan's budget after an overage: 15 % less, never below the floor.
pub fn tokens_after_overage(remaining: u64) -> u64 {
    (remaining - remaining * 15 / 100).max(TOKENS_FLOOR)
}

/// Tokens of a text, estimated: four bytes each.
pub fn tokens_of(text: &str) -> u64 {
    // Rounded up: an estimate that is too low would overrun the budget.
    (text.len() as u64).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_effort_and_configuration() {
        use TurnsSet::{Exact, Scaled, Unset};
        for (role, effort, set, expect) in [
            ("dev", Effort::Thorough, Unset, Some(113)),
            ("dev", Effort::Balanced, Unset, Some(75)),
            ("dev", Effort::Fast, Unset, Some(60)),
            ("dev", Effort::Turbo, Unset, Some(45)),
            ("reviewer", Effort::Thorough, Unset, Some(23)),
            ("scout", Effort::Turbo, Unset, Some(9)),
            ("dev", Effort::Turbo, Scaled(1), Some(1)),
            ("dev", Effort::Fast, Scaled(10), Some(8)),
            ("dev", Effort::Fast, Exact(10), Some(10)),
            ("dev", Effort::Fast, Scaled(0), Some(0)),
            ("dev", Effort::Fast, Exact(-3), Some(0)),
            ("juggler", Effort::Fast, Unset, None),
            ("juggler", Effort::Fast, Scaled(10), Some(8)),
        ] {
            assert_eq!(turns(role, effort, set), expect, "{role} {effort:?} {set:?}");
        }
    }

    #[test]
    fn profiles_name_classes() {
        use ModelClass::{Large, Medium, Small};
        for (profile, role, expect) in [
            ("quality", "lead", Some(Large)),
            ("quality", "qa", Some(Large)),
            ("quality", "docs", Some(Medium)),
            ("quality", "scout", Some(Small)),
            ("balanced", "dev", Some(Medium)),
            ("balanced", "researcher", Some(Small)),
            ("budget", "architect", Some(Medium)),
            ("budget", "reviewer", Some(Small)),
            ("budget", "juggler", None),
            ("dear", "dev", None),
        ] {
            assert_eq!(model_class(profile, role), expect, "{profile} {role}");
        }
    }

    #[test]
    fn budgets_follow_the_weight() {
        for (role, score, expect) in [
            ("dev", 5, 4_800),
            ("dev", 6, 8_000),
            ("dev", 13, 10_400),
            ("dev", 21, 12_800),
            ("scout", 12, 2_000),
            ("anybody", 12, 4_000),
        ] {
            assert_eq!(tokens_for(role, score), expect, "{role} {score}");
        }
        assert_eq!(task_score(3, 4, 2), 17);
        assert_eq!(tokens_after_overage(8_000), 6_800);
        assert_eq!(tokens_after_overage(1_100), 1_000);
    }

    #[test]
    fn risk_counts_four_things() {
        let facts =
            |tasks, files, cross_phase, must_haves| RiskFacts { tasks, files, cross_phase, must_haves };
        for (facts, expect) in [
            (facts(5, 8, 0, 4), (Risk::Low, 0)),
            (facts(6, 8, 0, 4), (Risk::Low, 1)),
            (facts(6, 9, 0, 4), (Risk::Medium, 2)),
            (facts(6, 9, 1, 4), (Risk::High, 3)),
            (facts(6, 9, 1, 5), (Risk::High, 4)),
        ] {
            let (found, score, reasons) = risk(facts);
            assert_eq!((found, score), expect, "{facts:?}");
            assert_eq!(reasons.len() as u32, score);
        }
    }

    #[test]
    fn the_policy_is_the_table() {
        use Autonomy::{Cautious, Confident, PureVibe, Standard};
        for (effort, risk, autonomy, approval, two_phase) in [
            (Effort::Thorough, Risk::Low, Cautious, true, true),
            (Effort::Thorough, Risk::Low, Standard, true, true),
            (Effort::Thorough, Risk::High, Confident, false, false),
            (Effort::Balanced, Risk::High, Standard, true, true),
            (Effort::Fast, Risk::High, Cautious, true, true),
            (Effort::Balanced, Risk::Medium, Cautious, true, false),
            (Effort::Balanced, Risk::Medium, Standard, false, false),
            (Effort::Fast, Risk::Medium, Cautious, false, false),
            (Effort::Turbo, Risk::High, Cautious, false, false),
            (Effort::Thorough, Risk::High, PureVibe, false, false),
        ] {
            let policy = gate_policy(effort, risk, autonomy);
            let found = (policy.approval_required, policy.two_phase);
            assert_eq!(found, (approval, two_phase), "{effort:?} {risk:?} {autonomy:?}");
        }
        assert_eq!(gate_policy(Effort::Fast, Risk::Low, Standard).communication_level, "blockers");
        assert!(plan_approval(Effort::Balanced, Cautious) && !plan_approval(Effort::Balanced, Standard));
        assert!(uat(Standard) && !uat(Confident));
    }
}
