//! Checks commit subjects for the form `type(scope): text`.
//!
//! Merges and reverts are never blamed, because they say what they are. Every violation comes with a subject that would
//! do, so that a fix needs no second question.

use serde::Serialize;

/// The types that a subject may have.
pub const TYPES: [&str; 11] =
    ["feat", "fix", "test", "refactor", "perf", "docs", "style", "chore", "build", "ci", "revert"];

/// Longer subjects are cut in a suggestion.
const SUBJECT_MAX: usize = 100;

/// What is known of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitFact {
    /// The full id of the commit.
    pub hash: String,
    /// The first line of its message.
    pub subject: String,
    /// How many parents it has.
    pub parents: usize,
    /// The files that it changes.
    pub files: Vec<String>,
}

/// A commit whose subject is not well formed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintViolation {
    /// The full id of the commit.
    pub hash: String,
    /// The subject as it is.
    pub subject: String,
    /// What is wrong with the subject.
    pub issue: String,
    /// The role that can fix it.
    pub fixable_by: &'static str,
    /// A subject that would do.
    pub suggested_fix: String,
}

/// What the lint found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LintReport {
    /// How many commits were examined.
    pub total: usize,
    /// How many of them are well formed or exempt.
    pub valid: usize,
    /// The commits that are neither.
    pub violations: Vec<LintViolation>,
}

/// Checks the subjects of commits.
pub fn commit_lint(commits: &[CommitFact]) -> LintReport {
    let violations: Vec<LintViolation> = commits
        .iter()
        .filter(|commit| !is_exempt(commit))
        .filter_map(|commit| {
            Some(LintViolation {
                hash: commit.hash.clone(),
                subject: commit.subject.clone(),
                issue: subject_issue(&commit.subject)?,
                fixable_by: "dev",
                suggested_fix: suggestion(commit),
            })
        })
        .collect();
    LintReport { total: commits.len(), valid: commits.len() - violations.len(), violations }
}

/// Whether a commit is a merge or a revert, which say what they are.
fn is_exempt(commit: &CommitFact) -> bool {
    let merge = ["Merge branch ", "Merge pull request ", "Merge remote-tracking branch ", "Merge tag "];
    commit.parents > 1
        || commit.subject.starts_with("Revert \"")
        || merge.iter().any(|words| commit.subject.starts_with(words))
}

/// A subject taken apart: type, scope and text.
struct Parts<'a> {
    kind: &'a str,
    scope: Option<&'a str>,
    text: &'a str,
}

fn parts(subject: &str) -> Option<Parts<'_>> {
    let (head, text) = subject.split_once(':')?;
    // The mark of a breaking change is not part of the type.
    let head = head.strip_suffix('!').unwrap_or(head);
    let (kind, scope) = match head.split_once('(') {
        Some((kind, scope)) => (kind, Some(scope.strip_suffix(')')?)),
        None => (head, None),
    };
    let word = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    word.then_some(Parts { kind, scope, text })
}

/// Whether a subject has a type, with or without a scope.
pub(crate) fn is_conventional(subject: &str) -> bool {
    parts(subject).is_some_and(|parts| TYPES.contains(&parts.kind) && parts.text.starts_with(' '))
}

/// What is wrong with a subject, if anything.
pub fn subject_issue(subject: &str) -> Option<String> {
    let Some(parts) = parts(subject) else {
        return Some("it is not `type(scope): text`".to_owned());
    };
    if !TYPES.contains(&parts.kind) {
        return Some(format!("`{}` is no type; one of {}", parts.kind, TYPES.join(", ")));
    }
    match parts.scope {
        // The protocol asks for a scope, unlike Conventional Commits themselves.
        None => return Some(format!("it names no scope: `{}(scope): text`", parts.kind)),
        Some(scope) if scope.trim().is_empty() || scope.contains(['(', ')']) => {
            return Some("its scope is empty or no word".to_owned());
        }
        Some(_) => {}
    }
    if !parts.text.starts_with(' ') || parts.text.trim().is_empty() {
        return Some("there is no text behind `: `".to_owned());
    }
    None
}

/// The subject itself if it is well formed, otherwise one that says the same and is.
pub fn well_formed(subject: &str, scope: &str) -> String {
    match subject_issue(subject) {
        None => subject.to_owned(),
        Some(_) => fixed(subject, &[], || scope.to_owned()),
    }
}

fn suggestion(commit: &CommitFact) -> String {
    fixed(&commit.subject, &commit.files, || guessed_scope(&commit.files))
}

/// A subject that says the same and is well formed.
fn fixed(subject: &str, files: &[String], other_scope: impl FnOnce() -> String) -> String {
    let found = parts(subject);
    let known = found.as_ref().map(|p| p.kind.to_ascii_lowercase());
    let known = known.and_then(|kind| TYPES.into_iter().find(|t| *t == kind));
    let text = match (&found, known) {
        (Some(parts), _) if !parts.kind.contains(' ') => parts.text,
        _ => subject,
    };
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_end_matches('.');
    let kind = known.unwrap_or_else(|| guessed_type(text, files));
    let scope = found.as_ref().and_then(|p| p.scope).map(str::trim).filter(|s| !s.is_empty());
    let scope = scope.map_or_else(other_scope, str::to_owned);
    // A subject of nothing but a type still gets words.
    let text = if text.is_empty() { format!("change {scope}") } else { lower_first(text) };
    format!("{kind}({scope}): {text}").chars().take(SUBJECT_MAX).collect()
}

pub(crate) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    // An acronym such as `HTTP` keeps its capital.
    let second_upper = text.chars().nth(1).is_some_and(char::is_uppercase);
    match chars.next() {
        Some(first) if first.is_uppercase() && !second_upper => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// A type by what the commit touches, and then by its first word.
pub(crate) fn guessed_type(text: &str, files: &[String]) -> &'static str {
    let all = |is: &dyn Fn(&String) -> bool| !files.is_empty() && files.iter().all(is);
    // The kind of all files says more than the first word of a sentence.
    if all(&|file| file.ends_with(".md") || file.starts_with("docs/")) {
        return "docs";
    }
    if all(&|file| file.contains("test")) {
        return "test";
    }
    if all(&|file| file.starts_with(".github/") || file.starts_with(".gitlab")) {
        return "ci";
    }
    let first = text.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
    match first.as_str() {
        "fix" | "fixes" | "fixed" | "repair" | "correct" | "bugfix" | "hotfix" | "bug" => "fix",
        "add" | "adds" | "added" | "implement" | "create" | "introduce" | "support" | "new" => "feat",
        "refactor" | "rename" | "move" | "extract" | "clean" | "simplify" | "split" => "refactor",
        "test" | "tests" | "cover" => "test",
        "document" | "doc" | "docs" | "readme" => "docs",
        "speed" | "optimize" | "optimise" | "cache" => "perf",
        "format" | "reformat" | "lint" => "style",
        _ => "chore",
    }
}

/// The folder that most of the changed files are in.
fn guessed_scope(files: &[String]) -> String {
    let mut folders: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for file in files {
        let mut parts =
            file.split('/').filter(|part| !["src", "crates", "packages", "lib", "apps"].contains(part));
        let name = parts.next().unwrap_or(file);
        let stem = name.trim_start_matches('.').split('.').next().unwrap_or(name);
        *folders.entry(stem).or_default() += 1;
    }
    // Between folders with the same count the first name wins, so the answer never varies.
    let most = folders.iter().max_by_key(|(name, count)| (**count, std::cmp::Reverse(**name)));
    let word = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let scope: String = most.map_or("repo", |(name, _)| name).chars().map(word).take(30).collect();
    if scope.is_empty() { "repo".to_owned() } else { scope.to_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects() {
        for (subject, good) in [
            ("feat(01-02): add the parser", true),
            ("fix(core)!: stop", true),
            ("build(deps): bump", true),
            ("revert(x): y", true),
            ("feat: no scope", false),
            ("feat(): empty scope", false),
            ("feature(x): y", false),
            ("Feat(x): y", false),
            ("feat(x):y", false),
            ("feat(x): ", false),
            ("feat(x) y", false),
            ("add stuff", false),
            ("", false),
            ("fixup! feat(x): y", false),
            ("note: $(rm -rf /) \"quoted\"", false),
        ] {
            assert_eq!(subject_issue(subject).is_none(), good, "{subject:?}: {:?}", subject_issue(subject));
        }
    }

    #[test]
    fn what_is_fixed_is_well_formed() {
        for subject in ["Add parser.", "feat: x", "feat(a): fine", "", ":", "(", "feat():", "ü", "Wip(x): y"]
        {
            let fixed = well_formed(subject, "01-02");
            assert_eq!(subject_issue(&fixed), None, "{subject:?} became {fixed:?}");
        }
        assert_eq!(well_formed("feat(a): fine", "01-02"), "feat(a): fine");
        assert_eq!(well_formed("Add parser.", "01-02"), "feat(01-02): add parser");
    }

    #[test]
    fn suggestions_are_real_and_well_formed() {
        let commit = |subject: &str, files: &[&str]| CommitFact {
            hash: "a".into(),
            subject: subject.into(),
            parents: 1,
            files: files.iter().map(|f| (*f).to_owned()).collect(),
        };
        for (subject, files, expect) in [
            ("Add parser.", &["src/parser.rs"][..], "feat(parser): add parser"),
            ("feat: add parser", &["crates/tool/src/a.rs"], "feat(tool): add parser"),
            ("feature(io): read", &["src/a.rs"], "chore(io): read"),
            ("Fix crash", &[], "fix(repo): fix crash"),
            ("words", &["README.md"], "docs(readme): words"),
            ("feat(x):tight", &["a"], "feat(x): tight"),
            ("", &["src/a.rs"], "chore(a): change a"),
        ] {
            let report = commit_lint(&[commit(subject, files)]);
            assert_eq!(report.violations[0].suggested_fix, expect, "{subject}");
            assert_eq!(subject_issue(expect), None, "{expect}");
        }
    }

    #[test]
    fn merges_and_reverts_are_exempt() {
        let commit =
            |subject: &str, parents| CommitFact { subject: subject.into(), parents, ..CommitFact::default() };
        let list = [
            commit("whatever", 2),
            commit("Merge branch 'x'", 1),
            commit("Revert \"feat(a): b\"", 1),
            commit("Merged things", 1),
        ];
        let report = commit_lint(&list);
        assert_eq!((report.total, report.valid, report.violations.len()), (4, 3, 1));
        assert_eq!(commit_lint(&[]), LintReport::default());
    }
}
