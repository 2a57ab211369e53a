//! The gates around a task: which files its change may touch (`CONTRACT`), and what about the change a person or a
//! reviewer must know (`INTEGRITY`). Every fact is read from git; what an agent says counts for nothing here.
//!
//! Both gates look at the whole change from its base, not at the last commit: a file that an earlier commit of the same
//! change touched would otherwise never be looked at.

use super::failing;
use super::protected;
use crate::context::RunContext;
use crate::context::base::Base;
use crate::context::meanwhile::Meanwhile;
use crate::context::two_sides::TwoSides;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
pub(crate) use tribunal_core::checks::{CONTRACT, INTEGRITY};
use tribunal_core::contract::{Breaches, Contract, alike, covers, gathered};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_core::ids::PlanId;
use tribunal_docs::gutted;
use tribunal_docs::hidden::{hidden, hidden_in};
use tribunal_docs::integrity;
use tribunal_docs::secret::{Secret, encoded, is_secret_name, readings, secrets_in};
use tribunal_docs::unsteady::unsteady;
use tribunal_git::{GitError, GitPath, Oid};

/// At most this many bytes of diff are read for one test file.
const DIFF_MAX: usize = 4 << 20;
/// At most this many further files are listed beside a finding that stands for very many files.
const OTHERS_NAMED: usize = 100;
/// What is said of a test or helper whose body lost its last assertion.
const CHECKS_NOTHING: &str = "checks nothing any more, under the same name";
/// Shorter values of secret variables are not searched for: they cannot be told from ordinary words.
const OWN_MIN: usize = 12;

/// What the gates of one task need, gathered from the run state.
///
/// The base and the run's first commit are both here because they answer different questions: the base says what the
/// change is, the first commit says which names lead to protected files.
pub(crate) struct Guard {
    pub(crate) contract: Contract,
    /// What the user did on the branch since the plan was approved; none where no plan applies.
    pub(crate) meanwhile: Option<Meanwhile>,
    /// Files that other plans of the run have claimed, by pattern.
    pub(crate) held: BTreeMap<String, PlanId>,
    pub(crate) planning: GitPath,
    pub(crate) base: Base,
    /// The commit that the run began with. Its links say which names lead to protected files. A link that the run made
    /// since then was a protected change itself.
    pub(crate) began: String,
}

impl Guard {
    /// The guard for fixes made after everything landed. No plan's contract applies to them.
    pub(crate) fn of_all(planning: GitPath, began: &str) -> Guard {
        Guard {
            contract: Contract::default(),
            meanwhile: None,
            held: BTreeMap::new(),
            planning,
            base: Base::Landed,
            began: began.to_owned(),
        }
    }

    /// The findings of one gate about the whole change that leads to a commit.
    pub(crate) fn findings(
        &self,
        context: &RunContext,
        check: &str,
        commit: &Oid,
    ) -> Result<Vec<Claim>, GitError> {
        let base = &self.base.commit(context, commit)?;
        let paths = context.repo.changed_paths(base, commit)?;
        // A lane cannot land changes to planning documents, so they are not part of what the gates look at.
        let paths: Vec<GitPath> = paths.into_iter().filter(|path| !path.is_under(&self.planning)).collect();
        match check {
            // The integrity gate already puts protected files before a person. Unless it is off, the contract gate
            // leaves them out, so that nobody is asked twice about one file.
            CONTRACT => {
                let decided = !context.settings.gates.off.iter().any(|off| off == INTEGRITY);
                let contract = self.contract_today(context)?;
                let (steers, claimed) = (self.steering(context)?, &contract.allowed_paths);
                let open = paths.iter().filter(|path| !decided || steers.configures(path, claimed).is_none());
                let open: Vec<String> = open.map(ToString::to_string).collect();
                let breaches =
                    open.into_iter().filter_map(|path| self.breach(&contract, &path).map(|why| (path, why)));
                Ok(gathered(breaches.collect()).iter().map(outside).collect())
            }
            _ => self.integrity(context, base, commit, &paths),
        }
    }

    fn steering(&self, context: &RunContext) -> Result<protected::Steering, GitError> {
        protected::Steering::of(context, &Oid::parse(&self.began)?)
    }

    /// The plan's contract, with the names that its files have on the user's branch by now.
    fn contract_today(&self, context: &RunContext) -> Result<Contract, GitError> {
        let mut contract = self.contract.clone();
        if let Some(meanwhile) = &self.meanwhile {
            let renamed = meanwhile.renamed(context)?;
            contract.follow_renames(renamed.iter().map(|(old, new)| (old.as_str(), new.as_str())));
        }
        Ok(contract)
    }

    /// Why the change must not touch a path, if it must not.
    fn breach(&self, contract: &Contract, path: &str) -> Option<String> {
        let holder = self.held.iter().find(|(pattern, _)| covers(pattern, path)).map(|(_, plan)| plan);
        let own = contract.allowed_paths.iter().any(|pattern| covers(pattern, path));
        // A plan that names no paths is limited only by what is forbidden. The holder is asked first: a path that
        // another plan holds, and this one does not claim, is refused even where this plan's contract is silent.
        match (contract.breach(path).filter(|_| stands(Defence::Contract)), holder) {
            (_, Some(plan)) if !own => Some(format!("belongs to plan {plan}, which is not landed yet")),
            (Some(breach), _) => Some(breach.words().to_owned()),
            (None, _) => None,
        }
    }

    /// The findings of the integrity gate: protected files, secrets, hidden text, lint settings, weakened tests and
    /// links.
    fn integrity(
        &self,
        context: &RunContext,
        base: &Oid,
        commit: &Oid,
        paths: &[GitPath],
    ) -> Result<Vec<Claim>, GitError> {
        let (mut found, mut tests, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        let steers = self.steering(context)?;
        for path in paths {
            // A change may have tens of thousands of files, and reading them must not outlive the run.
            if context.repo.is_stopped() {
                return Err(GitError::Odd { what: "stopped with the run".to_owned() });
            }
            let name = path.to_string();
            if let Some(what) = steers.configures(path, &self.contract.allowed_paths) {
                let claim = Claim { rule: Some(INTEGRITY.to_owned()), ..protected::claim(&name, what) };
                found.push(Noticed { words: what.to_owned(), claim });
                // A person decides about this file as a whole, so nothing more is said about what is in it.
                continue;
            }
            let both = TwoSides::read(&context.repo, base, commit, path)?;
            found.extend(leaks(&context.environment, path, &both));
            found.extend(unseen(path, &both));
            found.extend(protected::runs_on_install(path, &both).map(|claim| Noticed {
                words: "runs on an install".to_owned(),
                claim: Claim { rule: Some(INTEGRITY.to_owned()), ..claim },
            }));
            if integrity::is_lint(&name) {
                let text = format!("{name} configures a lint, and changes what is judged");
                let claim = told(Severity::Suggestion, &name, text, FixableBy::Dev);
                found.push(Noticed { words: "configures a lint".to_owned(), claim });
            }
            found.extend(less_checked(&name, &both));
            if integrity::is_test(&name) {
                match both {
                    TwoSides { old: Some(_), now: Some(_) } => tests.push(path.clone()),
                    // A file on one side only needs no diff from git; all others are asked for in one call below.
                    both => whole.push((name, both)),
                }
            }
        }
        found.extend(one_sided(&whole));
        let diffs = context.repo.diff_texts(base, commit, &tests, DIFF_MAX)?;
        for (path, diff) in tests.iter().zip(diffs) {
            let name = path.to_string();
            // Where the bodies that check nothing any more are named, the number of their assertions says no more.
            let is_named = found
                .iter()
                .any(|one| one.words == CHECKS_NOTHING && one.claim.file.as_deref() == Some(name.as_str()));
            let more = weakened(&name, &String::from_utf8_lossy(&diff.bytes));
            found.extend(more.into_iter().filter(|one| !(is_named && one.words.contains("assertion"))));
        }
        found.extend(links_out(context, base, commit)?);
        Ok(together(found))
    }
}

/// What stands in a path for a name that holds a secret.
const HELD_BACK: &str = "…";

/// One observation about one file.
pub(crate) struct Noticed {
    /// The observation in words that are the same for every file, so that like ones can be grouped.
    words: String,
    pub(crate) claim: Claim,
}

/// Turns observations into findings. The same observation in very many files becomes one finding.
///
/// A change that touches thousands of files alike would otherwise bury every other finding under its own.
pub(crate) fn together(found: Vec<Noticed>) -> Vec<Claim> {
    let found = found.into_iter().map(|one| (one.words, one.claim)).collect();
    let one = |(_, claims): (String, Vec<Claim>)| {
        let more = claims.len().saturating_sub(1);
        let others: Vec<&str> = claims.iter().skip(1).filter_map(|claim| claim.file.as_deref()).collect();
        let others = others.into_iter().take(OTHERS_NAMED).collect::<Vec<_>>().join("\n");
        let mut claim = claims.into_iter().next()?;
        if more > 0 {
            claim.claim = format!("{}; and {more} more files like it", claim.claim);
            claim.details = others;
        }
        Some(claim)
    };
    alike(found).into_iter().filter_map(one).collect()
}

/// The checks that a diff of a test file takes away.
fn weakened(name: &str, diff: &str) -> Vec<Noticed> {
    integrity::weakened(diff)
        .into_iter()
        .chain(unsteady(diff))
        .map(|what| question(name, what.clone(), what))
        .collect()
}

/// What is taken away with test files that are gone, and skipped in those that are new. A file that only has another path is
/// neither.
fn one_sided(files: &[(String, TwoSides)]) -> Vec<Noticed> {
    let new: BTreeSet<&Vec<u8>> = files.iter().filter_map(|(_, both)| both.now.as_ref()).collect();
    let moved = |both: &TwoSides| both.old.as_ref().is_some_and(|old| new.contains(old));
    let left = files.iter().filter(|(_, both)| !moved(both));
    left.flat_map(|(name, both)| weakened(name, &both.one_sided())).collect()
}

/// Tests of a file that keep their names and check less, which no runner counts.
fn less_checked(name: &str, both: &TwoSides) -> Vec<Noticed> {
    const NAMED: usize = 5;
    let text =
        |side: &Option<Vec<u8>>| String::from_utf8_lossy(side.as_deref().unwrap_or_default()).into_owned();
    let (before, now) = (text(&both.old), text(&both.now));
    // A file that is gone is a finding of its own.
    if both.now.is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let gutted = gutted::gutted(name, &before, &now);
    if !gutted.is_empty() {
        let named: Vec<String> = gutted.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
        let more = gutted.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("{}{more} {CHECKS_NOTHING}", named.join(", "));
        found.push(question(name, CHECKS_NOTHING.to_owned(), text));
    }
    let without = gutted::without_effect(name, &before, &now).into_iter();
    found.extend(without.map(|what| question(name, what.clone(), what)));
    let cases = gutted::fewer_cases(name, &before, &now);
    if cases > 0 {
        let words = "a list of cases got shorter";
        found.push(question(name, words.to_owned(), format!("{words}, by {cases}")));
    }
    found
}

/// What a change may have taken from its tests. It may have its reasons, so it is put to the reviewers, and each of them has
/// to answer it: it is shown among hundreds of lines otherwise, and passed over.
fn question(name: &str, words: String, what: String) -> Noticed {
    let mut claim = told(Severity::Warning, name, format!("{name}: {what}"), FixableBy::Dev);
    claim.suggestion =
        "say what checks it now, or why nothing has to; otherwise it is still there".to_owned();
    claim.asks = true;
    Noticed { words, claim }
}

/// The finding about files outside the contract.
fn outside(breaches: &Breaches) -> Claim {
    let place = breaches.named.first().map_or("", String::as_str);
    let mut claim = failing(Severity::Blocker, breaches.sentence()).at(place, None);
    claim.rule = Some(CONTRACT.to_owned());
    claim.suggestion = match breaches.count {
        1 => "take the change to this file back, or say why the plan must claim it",
        _ => "take these files away, have git ignore them where they do not belong to the project, or say why the plan must claim them",
    }
    .to_owned();
    claim
}

/// Secrets that a file holds now and did not hold before.
///
/// They are named by their kind and never shown: findings go into prompts, reports and pages, where the secret would
/// leak again.
pub(crate) fn leaks(
    environment: &BTreeMap<String, OsString>,
    path: &GitPath,
    TwoSides { old, now }: &TwoSides,
) -> Vec<Noticed> {
    let Some(now) = now.as_ref().filter(|_| stands(Defence::Secrets)) else { return Vec::new() };
    let found = all_secrets(environment, now);
    let path = path.to_string();
    let mut leaked: Vec<Noticed> = Vec::new();
    let in_name = all_secrets(environment, path.as_bytes());
    let name = nameable(environment, &path, &in_name);
    // Naming the file would show the secret, so only the folders above it are named, and the finding has no place.
    if let (None, Some(secret)) = (old, in_name.first()) {
        let folder = name.rsplit_once('/').map_or("the top folder", |(folder, _)| folder);
        let text =
            format!("the name of a file in {folder} holds {}: a secret does not belong there", secret.kind);
        let mut claim = told(Severity::Blocker, &name, text, FixableBy::Dev);
        claim.file = None;
        leaked.push(Noticed { words: format!("its name holds {}", secret.kind), claim });
    }
    if found.is_empty() {
        return leaked;
    }
    // The old side is only searched if there is something to compare.
    let before = old.as_ref().map(|bytes| all_secrets(environment, bytes)).unwrap_or_default();
    // Compared by value and not by line: a secret that only moved within the file was there before.
    let new = found.into_iter().filter(|secret| !before.iter().any(|old| old.text == secret.text));
    leaked.extend(new.map(|secret| {
        let text = format!("{name} holds {}: a secret does not belong in the repository", secret.kind);
        let mut claim = told(Severity::Blocker, &name, text, FixableBy::Dev);
        claim.line = Some(secret.line);
        if !in_name.is_empty() {
            (claim.file, claim.line) = (None, None);
        }
        claim.suggestion = "take it out, and have it replaced: it has been seen".to_owned();
        Noticed { words: format!("holds {}", secret.kind), claim }
    }));
    leaked
}

/// A path as it may be shown: each folder or file whose name holds a secret is left out.
fn nameable(environment: &BTreeMap<String, OsString>, path: &str, held: &[Secret]) -> String {
    if held.is_empty() {
        return path.to_owned();
    }
    let plain = |part: &str| all_secrets(environment, part.as_bytes()).is_empty();
    let parts: Vec<&str> = path.split('/').map(|part| if plain(part) { part } else { HELD_BACK }).collect();
    // One secret may be written over several names.
    match parts.contains(&HELD_BACK) {
        true => parts.join("/"),
        false => HELD_BACK.to_owned(),
    }
}

/// Invisible characters that a file has now and did not have before. They can make code read differently from how it
/// runs.
pub(crate) fn unseen(path: &GitPath, TwoSides { old, now }: &TwoSides) -> Vec<Noticed> {
    let Some(now) = now.as_ref().filter(|_| stands(Defence::Escapes)) else { return Vec::new() };
    let name = path.to_string();
    let mut found = Vec::new();
    let mut notice = |words: &str, text: String, line: Option<u32>| {
        let mut claim = told(Severity::Warning, &name, text, FixableBy::Dev);
        claim.line = line;
        claim.suggestion = "write them as escapes of the language, or take them out".to_owned();
        found.push(Noticed { words: words.to_owned(), claim });
    };
    let control = path.as_bytes().iter().any(u8::is_ascii_control);
    // Only for a new file: the name of an existing one is not this change's doing.
    if old.is_none() && (control || !hidden_in(path.as_bytes(), false).is_empty()) {
        let text = format!("the name of {name} holds characters that cannot be seen");
        notice("its name holds characters that cannot be seen", text, None);
    }
    if let Some(hidden) = hidden(old.as_deref().unwrap_or_default(), now) {
        let lines = if hidden.lines == 1 { "1 line".to_owned() } else { format!("{} lines", hidden.lines) };
        let text = format!("{name} holds characters that cannot be seen, on {lines}: {}", hidden.numbers());
        notice("holds characters that cannot be seen", text, Some(hidden.line));
    }
    found
}

/// New or changed links that lead out of the repository.
fn links_out(context: &RunContext, base: &Oid, commit: &Oid) -> Result<Vec<Noticed>, GitError> {
    if !stands(Defence::Links) {
        return Ok(Vec::new());
    }
    let links = context.repo.changed_links(base, commit)?;
    let out = links.into_iter().filter(|(path, to)| integrity::leads_out(path.as_bytes(), to));
    Ok(out
        .map(|(path, _)| {
            let text = format!("{path} is a link that leads out of the repository");
            let claim = told(Severity::Blocker, &path.to_string(), text, FixableBy::Dev);
            Noticed { words: "is a link that leads out".to_owned(), claim }
        })
        .collect())
}

/// Secrets in a file: those known by their form, and the values of this run's own secret variables.
///
/// The values are also looked for in encoded form and in every reading of the bytes, because an agent knows them and
/// could write them down disguised.
pub(crate) fn all_secrets(environment: &BTreeMap<String, OsString>, bytes: &[u8]) -> Vec<Secret> {
    let mut found = secrets_in(bytes);
    let own = environment.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str()?)));
    let own: Vec<(&str, &str)> =
        own.filter(|(name, value)| is_secret_name(name) && value.len() >= OWN_MIN).collect();
    // Every encoding that the bytes could be text in: a secret in UTF-16 is no less readable.
    for text in readings(bytes) {
        found.extend(own.iter().filter_map(|(name, value)| {
            let at = text.find(value)?;
            let line = u32::try_from(text[..at].matches('\n').count() + 1).unwrap_or(u32::MAX);
            Some(Secret { line, last: line, kind: format!("the value of {name}"), text: (*value).to_owned() })
        }));
        for hidden in encoded(&text) {
            let held = own.iter().filter(|(_, value)| hidden.text.contains(value));
            found.extend(held.map(|(name, value)| Secret {
                line: hidden.line,
                last: hidden.last,
                kind: format!("the value of {name}{}", hidden.how),
                text: (*value).to_owned(),
            }));
        }
    }
    found
}

fn told(severity: Severity, path: &str, text: String, fixable_by: FixableBy) -> Claim {
    let mut claim = failing(severity, text).at(path, None);
    claim.rule = Some(INTEGRITY.to_owned());
    claim.fixable_by = fixable_by;
    claim
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A finding goes into prompts, reports and pages.
    #[test]
    fn a_secret_in_a_name_is_found_and_not_shown() {
        let token = ["gh", "p_", &"aB3".repeat(12)].concat();
        let hex: String = token.bytes().map(|byte| format!("{byte:02x}")).collect();
        for name in [
            token.clone(),
            format!("{token}/f"),
            format!("d/{token}/f"),
            format!("d/prod-{token}.txt"),
            format!("d/{hex}.txt"),
            format!("key={hex}/f"),
        ] {
            let both = TwoSides { old: None, now: Some(format!("key = {token}\n").into_bytes()) };
            let found = leaks(&BTreeMap::new(), &GitPath::from(name.as_str()), &both);
            assert_eq!(found.len(), 2, "{name}");
            for one in found {
                let shown = format!("{:?} {}", one.claim, one.words);
                assert!(shown.contains("a GitHub token"), "{shown}");
                assert!(!shown.contains(&token) && !shown.contains(&hex), "{shown}");
            }
        }
    }
}
