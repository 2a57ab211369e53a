//! Which settings of a repository's own file a person has to trust once.
//!
//! A clone is a stranger's: what its file says about how work is judged holds, what reaches beyond the sandbox does
//! not. One table has every key; a key that is not in it counts as one that reaches beyond. So a new setting that
//! somebody forgets to classify is safe, only inconvenient.

/// How far a setting reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It says how work is done and judged. What it runs, it runs in the sandbox.
    Inside,
    /// It runs outside the sandbox, switches it off, widens it, or acts with what is the user's own.
    ///
    /// If it is left out, a run is as safe as the defaults.
    Outside,
}

/// Settings that only steer how work is done and judged.
const INSIDE: &[&str] = &[
    "run.effort",
    "run.autonomy",
    "run.parallel_max",
    "run.land",
    "run.land_again",
    "run.landing_rounds",
    "run.plan_gate",
    "run.prefer_teams",
    "run.plain_summary",
    "run.grace_s",
    "run.backoff_ms",
    "run.backoff_max_ms",
    "run.attempts_max",
    "run.keep_days",
    "run.on_timeout_s",
    "plan.review",
    "plan.rounds_max",
    "plan.tasks_max",
    "task.rounds_max",
    "task.iterations_max",
    "task.stale_limit",
    "task.on_no_verdict",
    "qa.review",
    "qa.rounds_max",
    "phase.review",
    "phase.rounds_max",
    "phase.panel",
    "phase.final_pass",
    "phase.polish",
    "phase.polish_scope",
    "chain.mode",
    "chain.review",
    "chain.on_exhausted",
    "gates.off",
    "gates.errors",
    "gates.lease_ttl_s",
    "checks.timeout_s",
    "checks.cache_mb",
    "checks.file_mb",
    "checks.build",
    "checks.test",
    "checks.no_tests",
    "checks.commands.*",
    "git.branch",
    "git.planning",
    "git.author_name",
    "git.author_email",
    "git.signoff",
    "git.hooks_s",
    "git.message",
    "agents.profile",
    "agents.default",
    "agents.builder_timeout_s",
    "agents.reviewer_timeout_s",
    "agents.parts_max",
    "agents.silent_s",
    "agents.stall_s",
    "agents.same_call_max",
    "agents.disk_free_mb",
    "agents.park_s",
    "agents.park_max_s",
    "agents.plan_reviewers",
    "agents.task_reviewers",
    "agents.qa_reviewers",
    "agents.phase_reviewers",
    "agents.backup",
    "agents.scenario",
    "agents.roles.*.adapter",
    "agents.roles.*.args",
    "agents.roles.*.model",
    "agents.roles.*.turns",
    "agents.roles.*.personality",
    "budget.run_cents",
    "budget.loop_cents",
    "budget.round_cents",
    "budget.run_tokens",
    "budget.builder_cents",
    "budget.reviewer_cents",
    "adapters.*",
    "tools.*",
];

/// Settings that reach beyond the sandbox, each with the value that does not.
const OUTSIDE: &[(&str, &str)] = &[
    ("run.on_escalation", "[]"),
    ("run.on_end", "[]"),
    ("git.push", "\"never\""),
    ("git.hooks", "\"run\""),
    ("git.sign", "\"auto\""),
    ("agents.sandbox", "\"required\""),
    ("agents.writable", "[]"),
    ("agents.readable", "[]"),
    ("checks.network", "false"),
    ("checks.prepare", "[]"),
];

/// Limits on what a run spends, each with the direction that tightens it.
const LIMITS: &[(&str, Tighter)] = &[
    ("budget.run_cents", Tighter::Lower),
    ("budget.loop_cents", Tighter::Lower),
    ("budget.round_cents", Tighter::Lower),
    ("budget.run_tokens", Tighter::Lower),
    // Reserved for a launch, and counted if its cost is not reported: a small estimate lets more launches under a
    // cap.
    ("budget.builder_cents", Tighter::Higher),
    ("budget.reviewer_cents", Tighter::Higher),
];

/// Which change of a limit leaves less to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tighter {
    /// A lower cap; 0 is no cap at all.
    Lower,
    /// A higher estimate of what a launch costs.
    Higher,
}

/// Whether a repository's value of this key lets a run spend more than the user's own file does.
///
/// A user who sets a cap pays for what runs, so the repository may tighten it and needs trust to loosen it. A value
/// that is not a number loosens: it cannot be compared.
pub fn loosens(key: &[&str], own: Option<u64>, repository: Option<u64>) -> bool {
    let limit = LIMITS.iter().find(|(row, _)| row.split('.').eq(key.iter().copied()));
    // Not a limit on spending, so only `reach` decides about the key.
    let Some((_, tighter)) = limit else { return false };
    let (Some(own), Some(repository)) = (own, repository) else { return true };
    // 0 means "no cap", which is the loosest value and not the tightest.
    let uncapped = |cents: u64| if cents == 0 { u64::MAX } else { cents };
    match tighter {
        Tighter::Lower => uncapped(repository) > uncapped(own),
        Tighter::Higher => repository < own,
    }
}

/// Fields of a row by which a command gets more than the sandbox gives every other. The rest of the row says what is
/// run inside the sandbox, and counts without them.
const WIDENING: &[&str] = &[
    "network",
    "keep_env",
    "writable",
    "readable",
    "home_read",
    "home_write",
    "home_copy",
    "login_files",
    "login_env",
];

/// Whether a field of a row widens the sandbox.
pub fn is_widening(field: &str) -> bool {
    WIDENING.contains(&field)
}

/// How far a setting reaches: its key and its value as TOML writes it. None for a key that nobody classified.
pub fn reach(key: &[&str], value: &str) -> Option<Reach> {
    let is = |row: &str| {
        let row: Vec<&str> = row.split('.').collect();
        row.len() == key.len() && row.iter().zip(key).all(|(row, part)| *row == "*" || row == part)
    };
    // The harmless value of such a key needs no trust: it is what a run does without the key.
    if let Some((_, harmless)) = OUTSIDE.iter().find(|(row, _)| is(row)) {
        return Some(if *harmless == value { Reach::Inside } else { Reach::Outside });
    }
    // A field of any row of adapters and tools. The rest of such a row is inside.
    if key.last().is_some_and(|last| is_widening(last)) {
        return Some(Reach::Outside);
    }
    INSIDE.iter().any(|row| is(row)).then_some(Reach::Inside)
}

/// Whether a setting of the repository's own file counts.
pub fn counts(reach: Option<Reach>, trusted: bool) -> bool {
    // An unclassified key (`None`) needs trust like one that reaches outside.
    reach == Some(Reach::Inside) || trusted
}

/// Whose text of a settings file in the repository counts for a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The file as it lies in the worktree: everything in it is the user's own.
    Worktree,
    /// The file as the change found it.
    Base,
}

/// Whose text of a phase's plan gives the commands that verify the phase in its review.
///
/// A plan that the base has counts as the base has it, unless it only differs in the worktree, where the edit is the
/// user's. A plan that the change brings has no other text: its commands run in the sandbox, and can only add to what
/// judges the change.
pub fn whose_commands(base_has: bool, judged_as_base: bool, checked_out_as_base: bool) -> Whose {
    if base_has { whose(judged_as_base, checked_out_as_base) } else { Whose::Worktree }
}

/// Whose text counts.
///
/// If the change under review, or the branch that is checked out, has another text than the base, the base's counts:
/// nobody sets the rules they are judged by. Otherwise a difference in the worktree is an edit that the user has not
/// committed.
pub fn whose(judged_as_base: bool, checked_out_as_base: bool) -> Whose {
    if judged_as_base && checked_out_as_base { Whose::Worktree } else { Whose::Base }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_beyond_the_sandbox_needs_trust() {
        let check = |key: &str, value: &str, expect: Option<Reach>| {
            let key: Vec<&str> = key.split('.').collect();
            assert_eq!(reach(&key, value), expect, "{key:?} = {value}");
        };
        check("run.effort", "\"fast\"", Some(Reach::Inside));
        check("run.on_end", "[\"sh\"]", Some(Reach::Outside));
        check("run.on_end", "[]", Some(Reach::Inside));
        check("agents.sandbox", "\"off\"", Some(Reach::Outside));
        check("agents.sandbox", "\"auto\"", Some(Reach::Outside));
        check("agents.sandbox", "\"required\"", Some(Reach::Inside));
        check("agents.writable", "[\"~\"]", Some(Reach::Outside));
        check("agents.writable", "[]", Some(Reach::Inside));
        check("git.hooks", "\"skip\"", Some(Reach::Outside));
        check("checks.network", "true", Some(Reach::Outside));
        check("checks.prepare", "[\"npm\", \"ci\"]", Some(Reach::Outside));
        check("agents.roles.dev.args", "[\"x\"]", Some(Reach::Inside));
        check("agents.roles.dev.model", "\"x\"", Some(Reach::Inside));
        check("adapters.mine", "{ program = \"x\" }", Some(Reach::Inside));
        check("adapters.mine.home_read", "[\"~/.aws\"]", Some(Reach::Outside));
        check("tools.mine.network", "true", Some(Reach::Outside));
        check("something.new", "1", None);
    }

    #[test]
    fn what_nobody_classified_needs_trust() {
        assert!(!counts(None, false) && counts(None, true));
        assert!(counts(Some(Reach::Inside), false));
        assert!(!counts(Some(Reach::Outside), false) && counts(Some(Reach::Outside), true));
    }

    #[test]
    fn a_repository_tightens_a_limit_and_never_loosens_it() {
        let check = |key: &str, own: u64, repository: u64, expect: bool| {
            let key: Vec<&str> = key.split('.').collect();
            assert_eq!(loosens(&key, Some(own), Some(repository)), expect, "{key:?}: {own} and {repository}");
        };
        check("budget.run_cents", 500, 501, true);
        check("budget.run_cents", 500, 0, true);
        check("budget.run_cents", 500, 500, false);
        check("budget.run_cents", 500, 499, false);
        check("budget.run_cents", 0, 500, false);
        check("budget.run_cents", 0, 0, false);
        check("budget.run_tokens", 10, 11, true);
        check("budget.builder_cents", 100, 99, true);
        check("budget.builder_cents", 100, 0, true);
        check("budget.builder_cents", 100, 101, false);
        check("run.parallel_max", 1, 9, false);
        assert!(loosens(&["budget", "run_cents"], Some(1), None), "no number is not a lower one");
    }

    #[test]
    fn every_limit_is_a_key_that_is_classified() {
        for (row, _) in LIMITS {
            assert!(INSIDE.contains(row), "{row}");
        }
        assert_eq!(INSIDE.iter().filter(|row| row.starts_with("budget.")).count(), LIMITS.len());
    }

    #[test]
    fn a_plan_of_the_base_verifies_as_the_base_has_it() {
        assert_eq!(whose_commands(true, false, false), Whose::Base);
        assert_eq!(whose_commands(true, true, false), Whose::Base);
        assert_eq!(whose_commands(true, true, true), Whose::Worktree, "the user's edit");
        for (judged, checked_out) in [(false, false), (true, true)] {
            assert_eq!(whose_commands(false, judged, checked_out), Whose::Worktree);
        }
    }

    #[test]
    fn nobody_sets_the_rules_they_are_judged_by() {
        assert_eq!(whose(true, true), Whose::Worktree);
        for (judged, checked_out) in [(false, true), (true, false), (false, false)] {
            assert_eq!(whose(judged, checked_out), Whose::Base);
        }
    }
}
