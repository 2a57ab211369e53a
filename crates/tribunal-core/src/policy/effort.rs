//! Effort: one scale for how much care work gets.
//!
//! Rounds, checkpoints, review depth, teams and the approval before a builder starts follow from it. The protocol's
//! tables (`crate::tables`) use the same scale.

use crate::tables::{Autonomy, GatePolicy, Risk, gate_policy, plan_approval};
use serde::{Deserialize, Serialize};

/// Plans with more tasks than this never run at the least effort.
const TURBO_TASKS_MAX: usize = 3;

/// How much care work gets.
///
/// The two source documents name their levels differently; both sets of names are read, and they are one scale here,
/// so that a setting means the same in a run and in a protocol command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// The least: for plans that are small and safe.
    Turbo,
    /// Little care; also written `low`.
    #[serde(alias = "low")]
    Fast,
    /// The default; also written `medium`.
    #[serde(alias = "medium")]
    Balanced,
    /// Much care; also written `high`.
    #[serde(alias = "high")]
    Thorough,
    /// The most care there is.
    Max,
}

/// The facts of a plan that decide how much care it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanCare {
    /// How many tasks the plan has.
    pub tasks: usize,
    /// Its risk by the table.
    pub risk: Risk,
    /// The plan says that a person decides before each task (`autonomous: false`).
    pub attended: bool,
}

impl Effort {
    /// Reads the protocol's words, which know no level above `thorough` and call the least `low`.
    pub fn parse(word: &str) -> Option<Effort> {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            // Not `Fast`, as settings read `low`: the protocol calls its least level `low`.
            "turbo" | "low" => Effort::Turbo,
            "fast" => Effort::Fast,
            "balanced" | "medium" => Effort::Balanced,
            "thorough" | "high" | "max" => Effort::Thorough,
            _ => return None,
        })
    }

    /// The name of the level in settings and reports.
    pub fn word(self) -> &'static str {
        match self {
            Effort::Turbo => "turbo",
            Effort::Fast => "fast",
            Effort::Balanced => "balanced",
            Effort::Thorough => "thorough",
            Effort::Max => "max",
        }
    }

    /// How many iterations of a builder pass between two checkpoints.
    pub fn checkpoint_every(self) -> Option<u32> {
        match self {
            Effort::Turbo | Effort::Fast => None,
            Effort::Balanced => Some(5),
            Effort::Thorough => Some(3),
            Effort::Max => Some(1),
        }
    }

    /// How often a task is judged at most: once for its first version and once for each revision.
    pub fn task_rounds(self) -> u32 {
        match self {
            Effort::Turbo | Effort::Fast => 3,
            Effort::Balanced => 4,
            Effort::Thorough => 5,
            Effort::Max => 6,
        }
    }

    /// How deep a reviewer looks.
    pub fn depth(self) -> &'static str {
        match self {
            Effort::Turbo | Effort::Fast => "shallow",
            Effort::Balanced => "standard",
            Effort::Thorough => "deep",
            Effort::Max => "comprehensive",
        }
    }

    /// Whether lanes may be built side by side; `allowed` is the user's setting for teams.
    pub fn has_team(self, allowed: bool) -> bool {
        self != Effort::Turbo && allowed
    }

    /// Whether a plan is small and safe enough to run at the least effort, whatever the run's own effort is.
    ///
    /// Somebody who asked for thorough work gets it for small plans too.
    pub fn routes_to_turbo(self, plan: PlanCare) -> bool {
        self < Effort::Thorough && plan.tasks <= TURBO_TASKS_MAX && plan.risk == Risk::Low
    }

    /// What the gate policy asks of a plan and its tasks.
    pub fn gates(self, plan: PlanCare, autonomy: Autonomy) -> GatePolicy {
        gate_policy(self, plan.risk, autonomy)
    }

    /// Whether a person approves the builder's proposal before it starts on a plan.
    pub fn asks_first(self, plan: PlanCare, autonomy: Autonomy) -> bool {
        // The plan's own wish comes first: neither effort nor autonomy takes it away.
        plan.attended || self.gates(plan, autonomy).approval_required || plan_approval(self, autonomy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: PlanCare = PlanCare { tasks: 3, risk: Risk::Low, attended: false };

    #[test]
    fn only_small_safe_plans_run_at_the_least_effort() {
        let check = |effort: Effort, plan: PlanCare, turbo: bool| {
            assert_eq!(effort.routes_to_turbo(plan), turbo, "{effort:?} {plan:?}");
        };
        check(Effort::Balanced, SMALL, true);
        check(Effort::Balanced, PlanCare { tasks: 4, ..SMALL }, false);
        check(Effort::Balanced, PlanCare { risk: Risk::Medium, ..SMALL }, false);
        check(Effort::Thorough, SMALL, false);
        check(Effort::Max, SMALL, false);
    }

    #[test]
    fn a_plan_that_is_not_autonomous_is_asked_about_at_every_level() {
        let attended = PlanCare { attended: true, ..SMALL };
        for effort in [Effort::Turbo, Effort::Fast, Effort::Balanced, Effort::Thorough, Effort::Max] {
            assert!(effort.asks_first(attended, Autonomy::PureVibe), "{effort:?}");
            assert!(!effort.asks_first(SMALL, Autonomy::PureVibe), "{effort:?}");
        }
        assert!(Effort::Max.asks_first(SMALL, Autonomy::Standard), "as thorough does");
    }

    #[test]
    fn more_effort_never_means_fewer_rounds() {
        let all = [Effort::Turbo, Effort::Fast, Effort::Balanced, Effort::Thorough, Effort::Max];
        assert!(all.windows(2).all(|pair| pair[0].task_rounds() <= pair[1].task_rounds()));
        assert!(!Effort::Turbo.has_team(true) && Effort::Fast.has_team(true) && !Effort::Max.has_team(false));
    }
}
