//! The second step of a completion, with its facts gathered: the evidence of a task, what really changed, and whether
//! its checks pass.
//!
//! A list of files is not believed if git contradicts it. Core says whether the facts are enough.

use crate::changed::{is_of, names, others};
use crate::documents::Ground;
use crate::rule::{Asked, checks};
use crate::{ProtocolError, contract};
use std::collections::BTreeSet;
use tribunal_core::contract::{Breach, Contract, clean, covers};
use tribunal_core::gate::{Completion, completion};
use tribunal_docs::PlanId;
use tribunal_git::{Archive, GitError, GitPath, Oid};

/// The second step of a completion. Returns the checks that passed, the checks that failed, and what is wrong.
///
/// `files` are those that the task says it changed. Without the list nothing is compared with a declaration.
pub fn complete(
    ground: &Ground,
    task_id: &str,
    asked: &Asked,
    evidence: &[String],
    files: Option<&[String]>,
) -> (usize, usize, Vec<String>) {
    let wrong = |why: String| completion(&Completion { contract: Some(why), ..Completion::default() });
    let contract = match contract::load(&asked.contract) {
        Ok(contract) => contract,
        Err(error) => return wrong(error.to_string()),
    };
    let id = &asked.plan;
    // A valid contract of another plan would allow other files.
    if contract.phase_id != id.phase || contract.plan_id != id.to_string() {
        return wrong(format!("it is about plan {}, not {id}", contract.plan_id));
    }
    let (archive, unseen) = match Archive::open(ground.root()) {
        Ok(archive) => (Some(archive), None),
        // Without a repository nothing can contradict. A repository that cannot be opened is an error.
        Err(GitError::NotARepository { .. }) if ground.root().join(".git").symlink_metadata().is_err() => {
            (None, None)
        }
        Err(error) => (None, Some(ProtocolError::from(error))),
    };
    let shown = shown(ground, archive.as_ref(), evidence);
    let work = Work { ground, archive: archive.as_ref(), contract: &contract };
    let breaches = unseen.map_or_else(|| work.breaches(&shown.commits, files), Err);
    let breaches = breaches.unwrap_or_else(|error| vec![format!("what changed cannot be seen: {error}")]);
    completion(&Completion {
        contract: None,
        task_known: is_task_of(task_id, id, &contract),
        evidence_missing: shown.missing,
        evidence_given: evidence.len(),
        evidence_found: shown.found,
        must_haves: contract.must_haves.len(),
        breaches,
        checks: checks(ground, &contract, &asked.bounds),
    })
}

/// Whether a contract has this task: `01-02-T1`, with its numbers as people write them.
fn is_task_of(task_id: &str, id: &PlanId, contract: &Contract) -> bool {
    let known = |name: &str| contract.task_ids.iter().any(|known| known == name);
    let Some((plan, number)) = task_id.rsplit_once(['T', 't']) else { return known(task_id) };
    let plan = plan.trim_end_matches('-');
    let same = plan.is_empty() || PlanId::new(&id.phase, plan) == *id;
    let number = number.parse().ok().filter(|_| same);
    known(task_id) || number.is_some_and(|number| known(&tribunal_docs::task_id(id, number)))
}

/// What the evidence comes to.
#[derive(Default)]
struct Shown {
    found: usize,
    missing: Vec<String>,
    commits: Vec<Oid>,
}

/// Sorts evidence into what is there and what is not: files and commits, by their mark or their looks. Words are
/// neither.
fn shown(ground: &Ground, archive: Option<&Archive>, evidence: &[String]) -> Shown {
    let mut shown = Shown::default();
    for item in evidence {
        let (mark, word) = marked(item);
        let (file, made) = (is_there(ground, word), commit(archive, word));
        // From seven digits on, as git abbreviates: a shorter number may be just a number.
        let hash = (7..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let path = word.contains(['/', '.']) && !word.contains(char::is_whitespace) && !word.contains("://");
        let there = match mark {
            Some(Mark::File) => file,
            Some(Mark::Commit) => made.is_some(),
            _ if file => true,
            _ if hash => made.is_some(),
            // It looks like a path, and no such file exists.
            None if path => false,
            _ => continue,
        };
        match there {
            true => shown.found += 1,
            false => shown.missing.push(word.to_owned()),
        }
        // A file whose name looks like a hash is a file.
        if mark == Some(Mark::Commit) || (hash && !file) {
            shown.commits.extend(made);
        }
    }
    shown
}

/// What a piece of evidence says it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Commit,
    File,
    /// A word of its author's own. What follows counts if it exists, and is plain words otherwise.
    Other,
}

/// Splits `commit:…`, `file=…`, or any other word before `:` or `=`.
fn marked(item: &str) -> (Option<Mark>, &str) {
    let Some((key, value)) = item.split_once([':', '=']) else { return (None, item.trim()) };
    let mark = match key.trim().to_ascii_lowercase().as_str() {
        "commit" | "commits" | "commit_hash" | "sha" => Mark::Commit,
        "file" | "files" | "artifact" | "artifacts" | "path" => Mark::File,
        key if !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) =>
        {
            Mark::Other
        }
        _ => return (None, item.trim()),
    };
    (Some(mark), value.trim())
}

/// Whether a file is there, by its path or by a line in it.
fn is_there(ground: &Ground, word: &str) -> bool {
    let place = word.rsplit_once(':').filter(|(_, line)| line.parse::<u32>().is_ok());
    ground.exists(word) || place.is_some_and(|(path, _)| ground.exists(path))
}

/// The commit of a hash. A name such as HEAD always exists and proves nothing.
fn commit(archive: Option<&Archive>, word: &str) -> Option<Oid> {
    let hash = (4..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    archive.filter(|_| hash)?.commit(word).ok()
}

/// What a task did, as git sees it.
struct Work<'a> {
    ground: &'a Ground,
    archive: Option<&'a Archive>,
    contract: &'a Contract,
}

impl Work<'_> {
    /// Files that the contract does not permit, and changed files that nobody declared.
    fn breaches(&self, commits: &[Oid], declared: Option<&[String]>) -> Result<Vec<String>, ProtocolError> {
        let listed: BTreeSet<String> = declared.into_iter().flatten().cloned().collect();
        let changed = self.changed(commits, declared.is_some())?;
        let breach = |file: &String| Some(format!("{file} {}", self.contract.breach(file)?.words()));
        let mut found: Vec<String> = listed.union(&changed).filter_map(breach).collect();
        // Without a declaration nothing can be missing from it.
        if declared.is_some() {
            let names: BTreeSet<String> = listed.iter().filter_map(|file| clean(file)).collect();
            let silent = changed.iter().filter(|file| {
                self.contract.breach(file).is_none() && !names.iter().any(|name| covers(name, file))
            });
            found.extend(silent.map(|file| format!("{file} was changed and is not declared")));
        }
        Ok(found)
    }

    /// The files of these commits, and uncommitted files.
    ///
    /// Planning files are nobody's work, and files that another plan's contract allows belong to that plan. A new
    /// uncommitted file outside the contract may be the user's: it counts only if the task claims to have named all
    /// files.
    fn changed(&self, commits: &[Oid], all: bool) -> Result<BTreeSet<String>, ProtocolError> {
        let Some(archive) = self.archive else { return Ok(BTreeSet::new()) };
        let text = |path: &GitPath| String::from_utf8_lossy(path.as_bytes()).into_owned();
        let mut changed = names(archive.touched(commits)?);
        let others = others(self.ground, self.contract);
        let theirs =
            |file: &String| self.contract.breach(file) == Some(Breach::NotAllowed) && is_of(&others, file);
        // Without a commit every file is new.
        let base = archive.commit("HEAD").ok();
        let is_new = |path: &GitPath| {
            base.as_ref().is_none_or(|base| archive.file_at(base, path).is_ok_and(|file| file.is_none()))
        };
        for path in archive.dirty(self.ground.root())? {
            let file = text(&path);
            let outside = self.contract.breach(&file) == Some(Breach::NotAllowed);
            if !theirs(&file) && (all || !outside || !is_new(&path)) {
                changed.insert(file);
            }
        }
        changed.retain(|file| {
            ![self.ground.planning(), tribunal_world::FOLDER].iter().any(|dir| covers(dir, file))
        });
        Ok(changed)
    }
}
