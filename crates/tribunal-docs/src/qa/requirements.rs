//! Looks for what shows each must_have of a plan: a file that must exist, a test that passed, or a commit on the files
//! of the task that serves it.
//!
//! Shared words alone never verify anything. A must_have that nothing shows is unverified, which means that somebody
//! has to look and not that it is wrong.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Outcome, TestReport};
use crate::review::significant;
use crate::{Artifact, KeyLink, Plan, Task, task};

/// What the check must be told about the repository.
pub struct RequirementFacts<'a> {
    /// The text of a file from the repository root; `None` if it is absent.
    pub file: &'a dyn Fn(&str) -> Option<String>,
    /// The files that the plan's commits changed.
    pub changed: &'a BTreeSet<String>,
    /// What the tests said, if they ran.
    pub tests: Option<&'a TestReport>,
}

/// Whether a must_have is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequirementStatus {
    /// Something shows that it holds.
    Verified,
    /// Nothing shows it, so somebody has to look.
    Unverified,
}

/// One must_have and what shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// The words of the must_have.
    pub requirement: String,
    /// Whether something shows it.
    pub status: RequirementStatus,
    /// What shows it, or what was missing.
    pub evidence: String,
    /// The role that can fix it.
    pub fixable_by: &'static str,
}

/// All must_haves of a plan, with what shows each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RequirementsReport {
    /// How many must_haves there are.
    pub total: usize,
    /// How many of them are shown.
    pub verified: usize,
    /// How many of them are not shown.
    pub unverified: usize,
    /// Each must_have with its evidence.
    pub requirements: Vec<Requirement>,
}

impl RequirementsReport {
    /// Whether there are must_haves and every one is shown.
    pub fn passes(&self) -> bool {
        // A plan without must_haves has shown nothing.
        self.total > 0 && self.unverified == 0
    }
}

/// Looks for what shows each must_have.
pub fn validate_requirements(plan: &Plan, facts: &RequirementFacts<'_>) -> RequirementsReport {
    let musts = &plan.must_haves;
    let mut requirements: Vec<Requirement> =
        musts.statements().map(|truth| judged(truth.clone(), shown_truth(plan, truth, facts))).collect();
    requirements
        .extend(musts.artifacts.iter().map(|artifact| judged(artifact.path.clone(), there(artifact, facts))));
    requirements.extend(
        musts
            .key_links
            .iter()
            .map(|link| judged(format!("{} → {}", link.from, link.to), linked(link, facts))),
    );
    let verified = requirements.iter().filter(|one| one.status == RequirementStatus::Verified).count();
    let total = requirements.len();
    RequirementsReport { total, verified, unverified: total - verified, requirements }
}

fn judged(requirement: String, shown: Result<String, String>) -> Requirement {
    let (status, evidence) = match shown {
        Ok(evidence) => (RequirementStatus::Verified, evidence),
        Err(missing) => (RequirementStatus::Unverified, missing),
    };
    Requirement { requirement, status, evidence, fixable_by: "dev" }
}

/// Whether a file that must exist does, with what must be in it.
fn there(artifact: &Artifact, facts: &RequirementFacts<'_>) -> Result<String, String> {
    let path = task::clean_path(&artifact.path).unwrap_or_else(|| artifact.path.clone());
    let Some(text) = (facts.file)(&path) else { return Err(format!("{path} does not exist")) };
    match &artifact.contains {
        Some(words) if !text.contains(words.as_str()) => Err(format!("{path} does not contain `{words}`")),
        Some(words) => Ok(format!("{path} exists and contains `{words}`")),
        None if text.trim().is_empty() => Err(format!("{path} is empty")),
        None => Ok(format!("{path} exists")),
    }
}

/// Whether a connection exists: the place where it starts mentions where it leads, or holds its pattern.
fn linked(link: &KeyLink, facts: &RequirementFacts<'_>) -> Result<String, String> {
    let path = task::clean_path(&link.from).unwrap_or_else(|| link.from.clone());
    let Some(text) = (facts.file)(&path) else { return Err(format!("{path} does not exist")) };
    let name = link.to.rsplit('/').next().unwrap_or(&link.to);
    let stem = name.split('.').next().unwrap_or(name);
    // Imports name a module and not its file, so the stem is what is looked for.
    let wanted = link.pattern.as_deref().unwrap_or(stem);
    match !wanted.is_empty() && text.contains(wanted) {
        true => Ok(format!("{path} contains `{wanted}`")),
        false => Err(format!("{path} does not contain `{wanted}`")),
    }
}

fn shown_truth(plan: &Plan, truth: &str, facts: &RequirementFacts<'_>) -> Result<String, String> {
    // A test that the words name is the strongest evidence, so it is looked for first.
    if let Some(test) = passing_test(truth, facts.tests) {
        return Ok(format!("test {test} passes"));
    }
    for artifact in plan.expected_artifacts.iter().chain(&plan.must_haves.artifacts) {
        let provides = artifact.provides.as_deref().unwrap_or("");
        if names_path(truth, &artifact.path) || serves(truth, &words_in(provides)) {
            // The artifact that the words speak of decides alone, also if it is missing.
            return there(artifact, facts);
        }
    }
    let owns = |task: &Task| task.files.iter().any(|file| names_path(truth, &file.path));
    let serving = plan.tasks.iter().filter(|task| owns(task) || serves(truth, &task_words(task)));
    let mut why = "no task, artifact or test shows it".to_owned();
    for task in serving {
        let own = task.files.iter().map(|file| &file.path).find(|path| facts.changed.contains(*path));
        // A task that names no file is shown by the file that the words themselves name.
        let named = || facts.changed.iter().find(|path| task.files.is_empty() && names_path(truth, path));
        match own.or_else(named) {
            Some(path) => return Ok(format!("task {} serves it; a commit changed {path}", task.number)),
            None => why = format!("task {} serves it, but no commit changed its files", task.number),
        }
    }
    Err(why)
}

fn names_path(truth: &str, path: &str) -> bool {
    let is_path = |c: char| c.is_alphanumeric() || "_-./@+".contains(c);
    !path.is_empty()
        && truth
            .split(|c| !is_path(c))
            .any(|token| token.trim_end_matches('.').trim_start_matches("./") == path)
}

/// A test that the words name, if it passed.
fn passing_test(truth: &str, tests: Option<&TestReport>) -> Option<String> {
    let tests = tests?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let named: BTreeSet<&str> = truth
        .split(|c| !is_name(c))
        .map(|word| word.trim_matches(':').rsplit("::").next().unwrap_or(word))
        // Only an identifier can be the name of a test; plain words match by accident.
        .filter(|word| word.contains('_') || word.starts_with("Test"))
        .collect();
    tests
        .tests
        .iter()
        .filter(|(_, outcome)| **outcome == Outcome::Passed)
        .map(|(name, _)| name)
        .find(|name| named.contains(name.rsplit(['.', ':', '/', ' ']).next().unwrap_or(name)))
        .cloned()
}

fn task_words(task: &Task) -> BTreeSet<String> {
    let files: String = task.files.iter().map(|file| format!(" {}", file.path)).collect();
    let done = task.done.as_deref().unwrap_or("");
    words_in(&format!("{} {} {done}{files}", task.title, task.body))
}

/// The words of a text: those that carry meaning by their stems, and every other as it is.
fn words_in(text: &str) -> BTreeSet<String> {
    significant(text).chain(every_word(text)).collect()
}

/// Words of at least two letters in any script, without those that stand in every sentence.
fn every_word(text: &str) -> impl Iterator<Item = String> + '_ {
    const COMMON: [&str; 28] = [
        "a", "an", "the", "is", "are", "be", "it", "its", "to", "of", "in", "on", "at", "by", "as", "and",
        "or", "no", "not", "for", "with", "that", "this", "has", "have", "must", "can", "all",
    ];
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase);
    words.filter(|word| word.chars().count() >= 2 && !COMMON.contains(&word.as_str()))
}

/// Whether words share at least half of what a must_have says, and never fewer than two. If it has few long words, its
/// short ones count.
fn serves(truth: &str, words: &BTreeSet<String>) -> bool {
    let mut wanted: BTreeSet<String> = significant(truth).collect();
    if wanted.len() < 2 {
        wanted = every_word(truth).collect();
    }
    let shared = wanted.intersection(words).count();
    shared >= 2.max(wanted.len().div_ceil(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_plan;

    fn plan() -> Plan {
        let text = "---\nphase: 1\nplan: 1\ntitle: t\nexpected_artifacts:\n  - path: out/report.txt\n    provides: the yearly sales report\n\
            must_haves:\n  - the parser accepts quoted fields\n  - the parser is documented in prose\n  - sums_are_exact holds\n  \
            - the yearly sales report is printed\n---\n\n### Task 1: quoted fields\n\nThe parser accepts fields in quotes.\n\n**File:** `src/parser.rs`\n";
        read_plan("01-01-PLAN.md", text).value.unwrap()
    }

    fn report(changed: &[&str], files: &[&str], tests: Option<&TestReport>) -> Vec<RequirementStatus> {
        let changed = changed.iter().map(|f| (*f).to_owned()).collect();
        let file = |path: &str| files.contains(&path).then(|| "text".to_owned());
        let facts = RequirementFacts { file: &file, changed: &changed, tests };
        validate_requirements(&plan(), &facts).requirements.iter().map(|r| r.status).collect()
    }

    #[test]
    fn one_shared_word_verifies_nothing() {
        use RequirementStatus::{Unverified, Verified};
        assert_eq!(report(&[], &[], None), [Unverified; 4]);
        assert_eq!(report(&["src/parser.rs"], &[], None), [Verified, Unverified, Unverified, Unverified]);
        assert_eq!(report(&["src/other.rs"], &[], None), [Unverified; 4]);
        assert_eq!(report(&[], &["out/report.txt"], None), [Unverified, Unverified, Unverified, Verified]);
    }

    #[test]
    fn a_named_test_must_have_passed() {
        let tests = |outcome| TestReport::of("cargo", [("calc::sums_are_exact".to_owned(), outcome)]);
        assert_eq!(report(&[], &[], Some(&tests(Outcome::Passed)))[2], RequirementStatus::Verified);
        assert_eq!(report(&[], &[], Some(&tests(Outcome::Failed)))[2], RequirementStatus::Unverified);
    }

    #[test]
    fn a_plan_without_must_haves_shows_nothing() {
        assert!(!RequirementsReport::default().passes());
    }

    #[test]
    fn artifacts_and_links_are_looked_into() {
        let text = "---\nphase: 1\nplan: 1\nmust_haves:\n  artifacts:\n    - path: a.rs\n      contains: fn main\n    - path: b.rs\n  \
            key_links:\n    - from: a.rs\n      to: src/helper.rs\n---\n";
        let plan = read_plan("01-01-PLAN.md", text).value.unwrap();
        let file = |path: &str| (path == "a.rs").then(|| "mod helper; fn main() {}".to_owned());
        let facts = RequirementFacts { file: &file, changed: &BTreeSet::new(), tests: None };
        let found = validate_requirements(&plan, &facts);
        assert_eq!((found.total, found.verified), (3, 2), "{found:?}");
        assert!(!found.passes());
    }

    /// A must_have that names the task's own file is that task's, whatever its other words are.
    #[test]
    fn a_must_have_that_names_a_tasks_file_is_served_by_it() {
        let text = "---\nphase: 1\nplan: 1\nmust_haves:\n  - a.txt holds the whole list\n  - b.txt holds the rest\n---\n\n\
            ### Task 1: begin\n\nDo it.\n\n**File:** `a.txt`\n";
        let plan = read_plan("01-01-PLAN.md", text).value.unwrap();
        let changed = BTreeSet::from(["a.txt".to_owned()]);
        let facts = RequirementFacts { file: &|_| None, changed: &changed, tests: None };
        let report = validate_requirements(&plan, &facts);
        let status: Vec<_> = report.requirements.iter().map(|one| one.status).collect();
        assert_eq!(status, [RequirementStatus::Verified, RequirementStatus::Unverified], "{report:?}");
    }

    #[test]
    fn short_words_and_other_scripts_can_be_shown() {
        for (truth, task, expect) in [
            ("add two", "Add two numbers", true),
            ("add two", "Add three numbers", false),
            ("sum is ok", "The sum is ok now", true),
            ("all", "All of it", false),
            ("сумма верна", "Сумма верна всегда", true),
            ("the API has a CLI", "a CLI for the API", true),
            ("the parser accepts quoted fields", "the parser is here", false),
        ] {
            let text = format!(
                "---\nphase: 1\nplan: 1\nmust_haves: [\"{truth}\", \" \"]\n---\n\n### Task 1: {task}\n\n**File:** `a.rs`\n"
            );
            let plan = read_plan("01-01-PLAN.md", &text).value.unwrap();
            let changed = BTreeSet::from(["a.rs".to_owned()]);
            let facts = RequirementFacts { file: &|_| None, changed: &changed, tests: None };
            let report = validate_requirements(&plan, &facts);
            assert_eq!((report.total, report.verified), (1, usize::from(expect)), "{truth} {task}");
        }
    }
}
