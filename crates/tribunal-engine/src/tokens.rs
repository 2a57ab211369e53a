//! Token budgets for prompts: the table's figure for the role and the plan's score, or less once the plan exceeded it.
//!
//! The budgets are advisory. A prompt over its budget leaves out what surrounds the work; nothing here ever stops a
//! launch.

use std::collections::BTreeMap;
use tribunal_core::ids::PlanId;
use tribunal_core::tables;

/// The prompt budgets of a run's plans.
///
/// It is folded with the run state and again by the projection, so both see the same budgets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tokens {
    scores: BTreeMap<PlanId, usize>,
    left: BTreeMap<PlanId, u64>,
}

/// A prompt was larger than its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overage {
    /// The budget of the prompt.
    pub budget: u64,
    /// What the plan has left.
    pub left: u64,
}

impl Tokens {
    /// Budgets for plans with these scores.
    pub fn new(scores: &BTreeMap<PlanId, usize>) -> Tokens {
        Tokens { scores: scores.clone(), left: BTreeMap::new() }
    }

    /// How many tokens a prompt of this role may have; none for a plan without a score.
    pub fn budget(&self, role: &str, plan: &PlanId) -> Option<u64> {
        let scaled = tables::tokens_for(role, *self.scores.get(plan)?);
        // What the plan has left never raises the budget of a smaller role.
        Some(self.left.get(plan).map_or(scaled, |left| scaled.min(*left)))
    }

    /// Records the size of a prompt. A prompt over its budget lowers what the plan has left.
    pub fn told(&mut self, role: &str, plan: &PlanId, tokens: u64) -> Option<Overage> {
        let budget = self.budget(role, plan).filter(|budget| tokens > *budget)?;
        let before = self.left.get(plan).copied().unwrap_or(budget);
        let left = tables::tokens_after_overage(before);
        self.left.insert(plan.clone(), left);
        Some(Overage { budget, left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_overruns_has_less_and_a_smaller_role_keeps_its_own() {
        let plan = PlanId::new("01-01");
        let mut tokens = Tokens::new(&BTreeMap::from([(plan.clone(), 0)]));
        assert_eq!(tokens.told("dev", &plan, 4_800), None);
        assert_eq!(tokens.told("dev", &plan, 4_801), Some(Overage { budget: 4_800, left: 4_080 }));
        assert_eq!((tokens.budget("dev", &plan), tokens.budget("scout", &plan)), (Some(4_080), Some(1_200)));
        assert_eq!(tokens.told("scout", &plan, 9_000), Some(Overage { budget: 1_200, left: 3_468 }));
        assert_eq!(tokens.told("dev", &PlanId::new("01-02"), u64::MAX), None, "nobody weighed it");
    }
}
