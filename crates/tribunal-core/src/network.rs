//! Who may use the network.
//!
//! Agents need it to reach their model. What a change brings to be run (checks, tools, hooks) does not, unless the
//! user says so: it is code of the side under review. Nothing here knows whether the machine can enforce it.

/// What is about to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// An agent: a builder, a reviewer, a fixer.
    Agent,
    /// A command that judges: a check, the project's tests, a commit hook.
    Check,
    /// A tool, as its row in the settings describes it.
    Tool {
        /// Whether the row gives the tool the network.
        network: bool,
    },
}

/// Whether it may use the network. `checks` is what the settings give to everything that judges.
pub fn may_use(started: Started, checks: bool) -> bool {
    match started {
        Started::Agent => true,
        Started::Check => checks,
        // The settings widen a row and never narrow it.
        Started::Tool { network } => network || checks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_judges_has_a_network_only_where_somebody_says_so() {
        let tool = |network| Started::Tool { network };
        for (started, checks, expect) in [
            (Started::Agent, false, true),
            (Started::Agent, true, true),
            (Started::Check, false, false),
            (Started::Check, true, true),
            (tool(false), false, false),
            (tool(true), false, true),
            (tool(false), true, true),
        ] {
            assert_eq!(may_use(started, checks), expect, "{started:?} {checks}");
        }
    }
}
