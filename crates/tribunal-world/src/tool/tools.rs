//! Tools as reviewers: a linter or formatter runs contained, in a throwaway checkout of the revision under review. Its
//! findings about changed lines count; the others are filtered out and kept beside the review.
//!
//! A tool that could not run has not passed: it did not run. A tool may execute code of the change, and what that code
//! does stays in the sandbox. So a folder that such code could write to is never used to judge another change.

use super::cache::{Memo, Wanted, Warm, may_run_code};
use crate::check::{Command, contained, tail, tmp_in};
use crate::context::base::fork;
use crate::context::{RunContext, slug};
use crate::launch::base_program::Judged;
use crate::project::inside;
use crate::sandbox::enforced;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use tribunal_agent::tool::{Fill, Ground, Tool};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::EffectId;
use tribunal_core::finding::{Claim, Fate, Severity, Source};
use tribunal_core::ids::{Check, LoopId, Revision};
use tribunal_core::ledger::Entry;
use tribunal_core::review_loop::{Checked, Failure, FailureKind, Loop, LoopReport};
use tribunal_core::tool::DetectedTool;
use tribunal_engine::run_state::{FilteredNote, Note, RunState};
use tribunal_engine::world::Report;
use tribunal_findings::track::Change;
use tribunal_findings::{ToolForm, ToolPart, ToolReport, ToolRun, read_answer, read_rewrite};
use tribunal_git::{GitError, GitPath, Oid, Repo, Tree};
use tribunal_process::{ExitHow, find_program};

/// At most this many bytes of a diff or of a tool's output are read.
const TEXT_MAX: usize = 64 << 20;
/// How many files are named in one call at most.
const FILES_AT_ONCE: usize = 500;
/// The purpose of a run in which a tool judges.
const CHECK: &str = "check";
/// How many filtered findings of each tool are kept.
const FILTERED_MAX: usize = 500;

/// Whether a check is a tool.
pub(crate) fn is_one(check: &Check, run_state: &RunState) -> bool {
    run_state.tools().iter().any(|tool| tool.name == check.as_str())
}

/// One look of one tool at one revision.
pub(crate) struct Looking {
    effect: EffectId,
    check: Check,
    of: LoopId,
    revision: Revision,
    /// The base of the change; none if it is where the lane left the run branch.
    base: Option<String>,
    missing: Vec<String>,
    /// Files with open findings of this tool. Its silence about them must not settle those findings.
    held: Vec<String>,
}

/// What a tool said of one commit.
///
/// It is also the form in which answers are kept between runs, so a change of its fields needs a default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Looked {
    /// Findings about changed lines.
    pub(crate) found: Vec<Claim>,
    /// Findings about other lines.
    pub(crate) filtered: Vec<Claim>,
    /// Parts of its output that could not be read.
    pub(crate) unread: Vec<String>,
    /// What it did not look at, and why.
    pub(crate) missed: Option<String>,
    /// Remarks about the change: rules that it switches off, settings that only it brings.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    /// The run in which it said so, if the tool was not asked again.
    #[serde(skip)]
    pub(crate) known: Option<String>,
}

impl Looking {
    /// Gathers what the look needs from the run state.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        check: &Check,
        revision: &Revision,
        run_state: &RunState,
    ) -> Option<Looking> {
        let reviewer = run_state.tools().iter().find(|tool| tool.name == check.as_str())?;
        context.tools.get(check.as_str())?;
        Some(Looking {
            effect: effect.clone(),
            check: check.clone(),
            of: review_loop.id().clone(),
            revision: revision.clone(),
            base: run_state.review().map(|review| review.base.clone()),
            missing: reviewer.missing.clone(),
            held: held(review_loop, check),
        })
    }

    /// Asks the tool and reports. Blocks, so it runs on a worker.
    pub(crate) fn run(self, context: &RunContext) {
        let report = match self.look(context) {
            Ok(Ok(looked)) => {
                // Counted before the list is cut, so that the report names the real number.
                let count = u32::try_from(looked.filtered.len()).unwrap_or(u32::MAX);
                let claims = looked.filtered.into_iter().take(FILTERED_MAX).collect();
                let note = FilteredNote {
                    of: self.of.clone(),
                    check: self.check.clone(),
                    count,
                    claims,
                    known: looked.known,
                };
                let unread = looked.unread.into_iter().take(10);
                let unread = unread.map(|why| Note::Warning(format!("{}: not read: {why}", self.check)));
                let told = looked.missed.into_iter().chain(looked.notes).map(Note::Warning);
                let notes =
                    std::iter::once(Note::Filtered(Box::new(note))).chain(told).chain(unread).collect();
                let report = LoopReport::Checked(Checked { findings: looked.found });
                return context.report(&self.effect, Report::Loop(report), notes);
            }
            Ok(Err(why)) => why,
            Err(error) => error.to_string(),
        };
        context.fail(&self.effect, Failure::new(FailureKind::DidNotRun, report), Vec::new());
    }

    fn look(&self, context: &RunContext) -> Result<Result<Looked, String>, GitError> {
        if !self.missing.is_empty() {
            let missing = self.missing.join(", ");
            return Ok(Err(format!("{} is configured here and not installed ({missing})", self.check)));
        }
        let Some(tool) = context.tools.get(self.check.as_str()) else {
            return Ok(Err(format!("there is no tool {}", self.check)));
        };
        let commit = context.commit_of(&self.revision)?;
        let base = match &self.base {
            Some(base) => Oid::parse(base)?,
            None => fork(context, &commit)?,
        };
        look(context, tool, &slug(&self.effect.to_string()), (&base, &commit), &self.held)
    }
}

/// Files with open findings of this check.
fn held(review_loop: &Loop, check: &Check) -> Vec<String> {
    let of = |entry: &Entry| entry.by.iter().any(|by| matches!(by, Source::Check(known) if known == check));
    let open = review_loop.ledger().iter().filter(|(_, entry)| entry.fate == Fate::Open && of(entry));
    open.filter_map(|(_, entry)| entry.claim.file.clone()).collect()
}

/// The complete change between two commits. A diff that was cut is an error, because its missing lines would pass for
/// unchanged ones.
pub(crate) fn change_between(repo: &Repo, from: &Oid, to: &Oid) -> Result<Result<Change, String>, GitError> {
    let diff = repo.diff_text(from, to, &[], TEXT_MAX)?;
    if diff.cut {
        return Ok(Err(format!("the change is longer than {TEXT_MAX} bytes")));
    }
    Ok(Ok(Change::from_unified(&String::from_utf8_lossy(&diff.bytes))))
}

/// The files of a change that still exist.
pub(crate) fn changed_files(change: &Change) -> Vec<String> {
    change.files().iter().filter_map(|file| file.new.clone()).collect()
}

/// Whether a tool has something to look at in a commit.
///
/// The tool's configuration counts as it was before the change, too, so that a change cannot remove the tool that
/// judges it.
pub(crate) fn detect_one(
    repo: &Repo,
    tool: &Tool,
    base: &Oid,
    commit: &Oid,
    changed: &[String],
    installed: &dyn Fn(&str) -> bool,
) -> Result<Option<DetectedTool>, GitError> {
    let files = names(repo, base, commit)?;
    let exists = |path: &str| files.contains(path);
    let text = |path: &str| text_of(repo, base, commit, path);
    Ok(tool.detect(&Ground { exists: &exists, text: &text, installed, changed }))
}

/// The names of all files in either commit.
pub(crate) fn names(repo: &Repo, base: &Oid, commit: &Oid) -> Result<BTreeSet<String>, GitError> {
    let mut names: BTreeSet<String> =
        repo.list_tree(commit)?.into_iter().map(|entry| entry.path.to_string()).collect();
    names.extend(repo.list_tree(base)?.into_iter().map(|entry| entry.path.to_string()));
    Ok(names)
}

/// The text of a file in both commits together.
pub(crate) fn text_of(repo: &Repo, base: &Oid, commit: &Oid, path: &str) -> Option<String> {
    let at = |oid: &Oid| repo.file_at(oid, &GitPath::from(path)).ok().flatten();
    let texts = [at(commit), at(base)].into_iter().flatten();
    let texts: Vec<String> = texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Where a tool is installed: in the project itself, otherwise on the search path.
pub(crate) fn program(root: &Path, path: Option<&OsString>, name: &str) -> Option<PathBuf> {
    let own = ["node_modules/.bin", ".venv/bin", "venv/bin"].map(|folder| root.join(folder).join(name));
    let env: Vec<(OsString, OsString)> =
        path.map(|path| (OsString::from("PATH"), path.clone())).into_iter().collect();
    let own = own.into_iter().find(|file| find_program(file.as_os_str(), root, &env).is_ok());
    own.or_else(|| find_program(OsStr::new(name), root, &env).ok())
}

/// Asks a tool about a change. The inner error says why it did not run.
fn look(
    context: &RunContext,
    tool: &Tool,
    name: &str,
    (base, commit): (&Oid, &Oid),
    held: &[String],
) -> Result<Result<Looked, String>, GitError> {
    let change = match change_between(&context.repo, base, commit)? {
        Ok(change) => change,
        Err(why) => return Ok(Err(why)),
    };
    let changed = changed_files(&change);
    // Whether the tool is installed was asked before. Here it only matters whether there is something to look at.
    let Some(reviewer) = detect_one(&context.repo, tool, base, commit, &changed, &|_| true)? else {
        return Ok(Ok(Looked::default()));
    };
    let memo = Memo::of(context, tool, &reviewer, (base, commit))?;
    if let Some((looked, run)) = memo.as_ref().and_then(Memo::read) {
        return Ok(Ok(Looked { known: Some(run), ..looked }));
    }
    let dir = context.dir.join("checks").join(name);
    context.worktree_pool.discard(&dir)?;
    fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
    let runs = may_run_code(context, tool, &change, commit)?;
    let mut warm = Warm::take(context, &Wanted { tool, name: &tool.name, base, commit, runs })?;
    // Code of the change is about to run in an empty folder. The base fills it first, so that what is kept afterwards
    // comes from the base.
    if let Some(warm) = warm.as_mut().filter(|warm| runs && warm.is_cold()) {
        begin_at_base(context, tool, &reviewer, (name, &dir), warm, base)?;
    }
    let tree = match &warm {
        Some(warm) => warm.tree(context, commit)?,
        None => context.worktree_pool.checkout(&dir.join("tree"), &dir.join("index"), commit, "check")?,
    };
    let cache = cache_of(context, &warm, &tool.name, &dir, runs);
    let asked = Asked {
        context,
        tool,
        reviewer: &reviewer,
        name,
        dir: &dir,
        tree: &tree,
        cache: &cache,
        base: Some(base),
    };
    // Whether the answer depends only on what it is kept by. If open findings influenced it, it is not kept.
    let mut alone = true;
    let said = match asked.ask(&changed)? {
        Ok(report) => match sorted(tool, report.clone(), &change) {
            (looked, Some(why)) => {
                let before = asked.before(base)?;
                alone &= held.is_empty() || left_out(tool, &report).is_none();
                stopped(tool, &report, before.as_ref(), &change, held, looked, &why)
            }
            (looked, None) => Ok(looked),
        },
        Err(why) => Err(why),
    };
    let said = match said {
        // The second look only follows an answer. A tool that did not run has nothing to compare with.
        Ok(looked) => asked.also_by_base(looked, &change, (base, commit))?,
        Err(why) => Err(why),
    };
    context.worktree_pool.discard(&dir)?;
    if let Some(warm) = warm {
        warm.give_back(context, Some(commit));
    }
    if let (Some(memo), Ok(looked), true) = (&memo, &said, alone) {
        memo.write(&context.run, looked);
    }
    Ok(said)
}

/// Fills a cold cache folder by running the tool on the base.
///
/// Where code of the change runs, the next change of the same base must begin with the same folder, so it has to come
/// from the base. What the tool says of the base does not matter here, nor whether it succeeds.
fn begin_at_base(
    context: &RunContext,
    tool: &Tool,
    reviewer: &DetectedTool,
    (name, dir): (&str, &Path),
    warm: &mut Warm,
    base: &Oid,
) -> Result<(), GitError> {
    let trash = |path: &Path| context.worktree_pool.discard(path).is_ok();
    // If it cannot be recorded that code runs in the folder, none does.
    if warm.will_run(base).is_err() {
        return Ok(());
    }
    let (tree, cache) = (warm.tree(context, base)?, warm.data());
    let name = format!("{name}-first");
    let _ = Asked { context, tool, reviewer, name: &name, dir, tree: &tree, cache: &cache, base: Some(base) }
        .check(&tool.check, &[])?;
    // A copy of the base's result is made before code of the change can write there.
    let _ = warm.filter_out(&trash);
    Ok(())
}

/// The folder that a tool may write to: the warm one, or one of this run.
///
/// If code of the change runs, the folder is gone after this look, because the next round may judge other code.
pub(crate) fn cache_of(
    context: &RunContext,
    warm: &Option<Warm>,
    name: &str,
    dir: &Path,
    runs: bool,
) -> PathBuf {
    match warm {
        Some(warm) => warm.data(),
        None if runs => dir.join("cache"),
        None => context.dir.join("cache").join(slug(name)),
    }
}

/// The parts that the tool stopped at and went past, if nothing else failed and they may be left out. `None` if there
/// is more, or if the parts cannot be told from the rest.
pub(crate) fn left_out<'r>(tool: &Tool, report: &'r ToolReport) -> Option<Vec<&'r ToolPart>> {
    let kinds = &tool.past.as_ref()?.kinds;
    let (out, seen): (Vec<&ToolPart>, Vec<&ToolPart>) =
        report.parts.iter().partition(|part| !part.stopped.is_empty());
    let named = |line: &String| kinds.iter().any(|kind| line.contains(&format!("({kind} \"")));
    // A part that may hold the files of one that counts cannot be left out.
    let apart = |part: &&ToolPart| {
        kinds.contains(&part.kind)
            && !seen.iter().any(|other| !kinds.contains(&other.kind) && part.may_hold(&other.path))
    };
    let told = !report.failed.is_empty() && report.failed.iter().all(named);
    (told && !out.is_empty() && out.iter().all(apart)).then_some(out)
}

/// What follows from a stop that is not on changed lines.
///
/// A part that did not compile before either is left out with a note, unless something of it changed or has open
/// findings. A part that compiled before was broken by the change.
fn stopped(
    tool: &Tool,
    report: &ToolReport,
    before: Option<&ToolReport>,
    change: &Change,
    held: &[String],
    mut looked: Looked,
    why: &str,
) -> Result<Looked, String> {
    let name = &tool.name;
    let out = left_out(tool, report).unwrap_or_default();
    if let Some(before) = before {
        let paths: Vec<&str> = out.iter().map(|part| part.path.as_str()).collect();
        let paths = if paths.is_empty() { "everything".to_owned() } else { paths.join(", ") };
        let missed = Some(format!("{name} did not look at {paths}: {why}"));
        let same = |part: &&ToolPart| before.parts.iter().any(|was| is_same_stop(part, was));
        if !out.is_empty() && out.iter().all(same) {
            let named = change.files().iter().flat_map(|file| file.old.iter().chain(&file.new));
            // An open finding in the part would look fixed if the part were left out.
            if !named.chain(held).any(|path| tool.is_for(path) && out.iter().any(|part| part.may_hold(path)))
            {
                return Ok(Looked { missed, ..looked });
            }
        } else {
            let key = |claim: &Claim| (claim.file.clone(), claim.rule.clone(), claim.claim.clone());
            let known: BTreeSet<_> = before.findings.iter().map(key).collect();
            let broke = |claim: &Claim| claim.severity == Severity::Blocker && !known.contains(&key(claim));
            let (new, filtered): (Vec<Claim>, Vec<Claim>) =
                std::mem::take(&mut looked.filtered).into_iter().partition(broke);
            let since = match before.broken {
                None => "it compiled before this change",
                Some(_) => "it was not said before this change",
            };
            let told = |claim: Claim| Claim { claim: format!("{} ({since})", claim.claim), ..claim };
            looked.filtered = filtered;
            if !new.is_empty() {
                looked.found.extend(new.into_iter().map(told));
                return Ok(Looked { missed, ..looked });
            }
        }
    }
    // Nothing was found and not everything was looked at: that is not a pass.
    if looked.found.is_empty() {
        return Err(format!("{name} could not look at it: {why}"));
    }
    Ok(Looked { missed: Some(format!("{name} did not look at everything: {why}")), ..looked })
}

/// Whether a part stops at nothing that it did not stop at before.
fn is_same_stop(part: &ToolPart, was: &ToolPart) -> bool {
    let count = |part: &ToolPart, text: &String| part.stopped.iter().filter(|said| *said == text).count();
    (&part.kind, &part.path) == (&was.kind, &was.path)
        && part.stopped.iter().all(|text| count(part, text) <= count(was, text))
}

/// Splits a report into findings on changed lines and others. Also returns the stop, if the change is not to blame for
/// it.
pub(crate) fn sorted(tool: &Tool, report: ToolReport, change: &Change) -> (Looked, Option<String>) {
    let weighed = report.findings.into_iter().filter_map(|claim| tool.weigh(claim));
    let (found, filtered): (Vec<Claim>, Vec<Claim>) = weighed.partition(|claim| is_changed(claim, change));
    let stopped = report.broken.filter(|_| found.iter().all(|claim| claim.severity != Severity::Blocker));
    (Looked { found, filtered, unread: report.unread, ..Looked::default() }, stopped)
}

/// Whether a finding is about the change: one of its lines, its file if there is no line, or nothing in particular.
pub(crate) fn is_changed(claim: &Claim, change: &Change) -> bool {
    let Some(file) = claim.file.as_deref() else { return true };
    match (claim.line, claim.end) {
        (Some(line), end) => change.new_hunk(file, line, end.unwrap_or(line), 0).is_some(),
        (None, _) => change.file_at(file).is_some(),
    }
}

/// One tool in its checkout.
pub(crate) struct Asked<'a> {
    pub(crate) context: &'a RunContext,
    pub(crate) tool: &'a Tool,
    pub(crate) reviewer: &'a DetectedTool,
    pub(crate) name: &'a str,
    pub(crate) dir: &'a Path,
    pub(crate) tree: &'a Tree,
    /// The folder that the tool keeps for itself.
    pub(crate) cache: &'a Path,
    /// The commit whose programs judge; none if the tool only fixes.
    pub(crate) base: Option<&'a Oid>,
}

impl Asked<'_> {
    /// Asks the tool. If it stops at something that does not compile, it is asked again with the words that make it go
    /// on.
    pub(crate) fn ask(&self, changed: &[String]) -> Result<Result<ToolReport, String>, GitError> {
        let first = match (self.check(&self.tool.check, changed)?, &self.tool.past) {
            (Ok(report), Some(_)) if report.broken.is_some() => report,
            (said, _) => return Ok(said),
        };
        // The first report broke off, so its list of parts is not complete and must not be used.
        let went_on = self.check(&self.onward(&self.tool.check), changed)?;
        Ok(Ok(went_on.unwrap_or(ToolReport { parts: Vec::new(), ..first })))
    }

    /// A command line of the row, with the words that make the tool go on.
    pub(crate) fn onward(&self, words: &[String]) -> Vec<String> {
        words.iter().chain(self.tool.past.iter().flat_map(|past| &past.words)).cloned().collect()
    }

    /// What the tool says of the base. If the base did not compile either, the change is not to blame.
    fn before(&self, base: &Oid) -> Result<Option<ToolReport>, GitError> {
        // A cache of its own: cargo compares the times of files, and would take one commit for the other.
        let own = format!("{}-base", self.tool.name);
        let runs = may_run_code(self.context, self.tool, &Change::default(), base)?;
        let wanted = Wanted { tool: self.tool, name: &own, base, commit: base, runs: false };
        let mut warm = Warm::take(self.context, &wanted)?;
        // The base's code may run in this folder, but only once the folder records that it did.
        if runs && warm.as_mut().is_some_and(|warm| warm.will_run(base).is_err()) {
            warm = None;
        }
        let cache = cache_of(self.context, &warm, &own, self.dir, runs);
        let name = format!("{}-base", self.name);
        let tree = self.context.worktree_pool.checkout(
            &self.dir.join("base"),
            &self.dir.join("base-index"),
            base,
            "check",
        )?;
        let there = Asked { name: &name, tree: &tree, cache: &cache, ..*self };
        // A tool that fails at the base for other reasons does not tell who is to blame here.
        let clear = |was: &ToolReport| was.failed.is_empty() || left_out(self.tool, was).is_some();
        let said = there.check(&self.onward(&self.tool.check), &[])?.ok().filter(clear);
        if let Some(warm) = warm {
            warm.give_back(self.context, None);
        }
        Ok(said)
    }

    /// Asks the tool by one command line of its row. A formatter's changes count only in these files.
    pub(crate) fn check(
        &self,
        words: &[String],
        changed: &[String],
    ) -> Result<Result<ToolReport, String>, GitError> {
        let mut all = ToolReport::default();
        for (place, out_dir, how) in match self.each(words, CHECK) {
            Ok(runs) => runs,
            Err(why) => return Ok(Err(why)),
        } {
            match self.read(&place, &out_dir, &how) {
                Ok(report) => {
                    all.findings.extend(report.findings);
                    all.unread.extend(report.unread);
                    all.parts.extend(report.parts);
                    all.failed.extend(report.failed);
                    all.broken = all.broken.or(report.broken);
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        if self.tool.form == ToolForm::Rewrite {
            // The formatter has rewritten the checkout; the diff is its answer.
            let captured = self.tree.capture()?;
            let only: Vec<GitPath> = changed
                .iter()
                .filter(|path| self.looks_at(path))
                .map(|path| GitPath::from(path.as_str()))
                .collect();
            let diff = self.context.repo.diff_text(self.tree.base(), &captured.tree, &only, TEXT_MAX)?;
            if diff.cut {
                return Ok(Err(format!("{} rewrites more than {TEXT_MAX} bytes", self.tool.name)));
            }
            all.findings.extend(read_rewrite(&String::from_utf8_lossy(&diff.bytes), &self.tool.name));
        }
        Ok(Ok(all))
    }

    /// Whether a changed file is one that the tool was asked about.
    fn looks_at(&self, path: &str) -> bool {
        self.reviewer.places.iter().any(|(place, files)| match place.as_str() {
            "" => files.iter().any(|file| file == path),
            place => {
                let rest = path.strip_prefix(place).and_then(|rest| rest.strip_prefix('/'));
                rest.is_some_and(|rest| files.iter().any(|file| file == rest))
            }
        })
    }

    /// A badly formatted file that a formatter has to rewrite together with the project's, to prove that it looks at
    /// all.
    ///
    /// A formatter that has nothing to say ends well. Without the probe, one that looked at nothing would pass as well.
    fn probe(&self) -> Result<Option<PathBuf>, String> {
        let Some(probe) = &self.tool.probe else { return Ok(None) };
        let tmp = tmp_in(self.dir);
        let path = tmp.join(&probe.name);
        // An earlier program may have left a link in its place, so the file is removed before it is written.
        fs::create_dir_all(&tmp)
            .and_then(|()| match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => fs::write(&path, &probe.text),
            })
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Some(path))
    }

    /// Whether the probe is unchanged. A link in its place is not followed.
    fn is_untouched(&self, probe: &Path) -> bool {
        let plain = probe.symlink_metadata().is_ok_and(|meta| meta.is_file());
        let text = self.tool.probe.as_ref().map(|probe| probe.text.as_str());
        // A probe that is gone or replaced counts as untouched: it proves nothing either.
        !plain || fs::read_to_string(probe).ok().as_deref() == text
    }

    /// Runs a command line of the row in each of its places. Returns the place, the folder with the output, and how it
    /// ended.
    pub(crate) fn each(
        &self,
        words: &[String],
        what: &str,
    ) -> Result<Vec<(String, PathBuf, ExitHow)>, String> {
        let cache = self.cache;
        fs::create_dir_all(cache).map_err(|error| format!("{}: {error}", cache.display()))?;
        // Without folders of the tree: a program of the change must not take the tool's place.
        let path =
            self.context.environment.get("PATH").map(|path| self.context.plain_path(path, self.tree.path()));
        let own = program(self.context.project.root(), path.as_ref(), self.tool.program());
        let own = own.map_or_else(|| self.tool.program().to_owned(), |path| path.display().to_string());
        // A tool that takes no files looks at the whole place in one run.
        let named = words.iter().any(|word| word == "{files}");
        let (words, own, programs) = self.words_of_base(words, own)?;
        let words = &words;
        let mut runs = Vec::new();
        for (place, files) in &self.reviewer.places {
            let borrowed = self.borrow(place)?;
            let batches: Vec<&[String]> =
                if named { files.chunks(FILES_AT_ONCE).collect() } else { vec![&[]] };
            for files in batches {
                let probe = if what == CHECK && named { self.probe()? } else { None };
                let files: Vec<String> = files
                    .iter()
                    .cloned()
                    .chain(probe.iter().map(|path| path.display().to_string()))
                    .collect();
                let config = self.reviewer.configured.as_deref().unwrap_or("auto");
                let cache_text = cache.display().to_string();
                let fill = Fill { program: &own, files: &files, config, cache: &cache_text };
                let env = self.tool.env.iter().map(|(k, v)| (k.into(), fill.text(v).into())).collect();
                let command = Command {
                    argv: fill.argv(words),
                    shown: format!("{} ({what})", self.tool.name),
                    env,
                    room: vec![cache.to_owned()],
                    reads: borrowed.iter().cloned().chain(programs.clone()).collect(),
                    place: place.clone(),
                    network: Some(self.tool.network),
                    ..Command::default()
                };
                let tree = self.tree.path();
                let (how, out) = contained(self.context, self.name, runs.len(), tree, self.dir, &command)?;
                // A tool that failed says why itself, so the probe is only looked at after a success.
                if how == ExitHow::Code(0) && probe.is_some_and(|probe| self.is_untouched(&probe)) {
                    let name = &self.tool.name;
                    return Err(format!(
                        "{name} did not run: it left a file as it was that it has to lay out"
                    ));
                }
                runs.push((place.clone(), out, how));
            }
        }
        Ok(runs)
    }

    /// The row's arguments and its program, with files of the tree replaced by the base's, and the folder to show for
    /// that.
    fn words_of_base(
        &self,
        words: &[String],
        own: String,
    ) -> Result<(Vec<String>, String, Option<PathBuf>), String> {
        let Some(base) = self.base else { return Ok((words.to_vec(), own, None)) };
        let mut all: Vec<OsString> = words.iter().map(OsString::from).collect();
        let mut program = [OsString::from(&own)];
        let judged = Judged { base, commit: self.tree.base(), tree: self.tree.path() };
        let did_not_run = |why| format!("{} did not run: {why}", self.tool.name);
        let is_program = |word: &OsString| word == "{program}";
        let called = all.iter().map(|word| if is_program(word) { program[0].clone() } else { word.clone() });
        // A variable may name a file as well, such as `BASH_ENV=lint/env.sh`.
        let variables = self.tool.env.iter().map(|(name, value)| OsString::from(format!("{name}={value}")));
        let called = called.chain(variables);
        self.context
            .takes_orders_elsewhere(judged, &called.collect::<Vec<OsString>>())
            .map_err(did_not_run)?;
        let first = self.context.lead_to_base(judged, &mut program).map_err(did_not_run)?;
        let then = self.context.lead_to_base(judged, &mut all).map_err(did_not_run)?;
        let text = |word: OsString| word.to_string_lossy().into_owned();
        let [program] = program;
        Ok((all.into_iter().map(text).collect(), text(program), first.or(then)))
    }

    /// Links folders that a tool needs and git does not have. They are those of the user's work tree, read-only.
    fn borrow(&self, place: &str) -> Result<Vec<PathBuf>, String> {
        let mut borrowed = Vec::new();
        for name in &self.tool.borrow {
            // The nearest one counts: a package of a workspace may use a folder of the packages above it.
            let above = std::iter::successors(Some(place), |p| (!p.is_empty()).then(|| up(p)));
            let own = above
                .map(|folder| self.context.project.root().join(folder).join(name))
                .find(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir()));
            let Some(own) = own else { continue };
            let inside = if place.is_empty() { name.clone() } else { format!("{place}/{name}") };
            inside::link(self.tree.path(), &inside, &own)
                .map_err(|error| format!("{inside} cannot be borrowed: {error}"))?;
            borrowed.push(own);
        }
        Ok(borrowed)
    }

    /// Reads what the tool printed in one place. Output that is not in the tool's form means that it did not run.
    fn read(&self, place: &str, out_dir: &Path, how: &ExitHow) -> Result<ToolReport, String> {
        let code = match how {
            ExitHow::Code(code) => *code,
            ExitHow::Signal(signal) => return Err(format!("{} died of signal {signal}", self.tool.name)),
            ExitHow::NotStarted(why) => return Err(format!("{} did not start: {why}", self.tool.name)),
        };
        let (out, err) = (read_capped(&out_dir.join("stdout")), read_capped(&out_dir.join("stderr")));
        let at = self.tree.path().join(place);
        let root = at.canonicalize().unwrap_or(at);
        let here = |file: &str| root.join(file).symlink_metadata().is_ok();
        let steering = self.tool.steering();
        let run = ToolRun { code, out: &out, err: &err, root: &root.display().to_string(), here: &here };
        let answer = read_answer(&self.tool.manner(&steering), &run);
        let answer = answer
            .or_else(|why| if stands(Defence::ToolForm) { Err(why) } else { Ok(ToolReport::default()) });
        let mut report = answer.map_err(|why| {
            let said = tail(&out_dir.join("stderr"));
            let said = if said.is_empty() { tail(&out_dir.join("stdout")) } else { said };
            let said = if said.is_empty() { said } else { format!("\n{said}") };
            let hint =
                enforced::way_out(self.context.network(Some(self.tool.network)), &format!("{out}\n{err}"));
            let hint = hint.map_or("", |_| "; it has no network: `network = true` in its row gives it one");
            format!("{} did not run: {why} (exit code {code}){hint}{said}", self.tool.name)
        })?;
        // The tool ran in a subfolder and names its files from there.
        for claim in report.findings.iter_mut().filter(|_| !place.is_empty()) {
            claim.file = claim.file.take().map(|file| format!("{place}/{file}"));
        }
        for part in report.parts.iter_mut().filter(|part| !place.is_empty() && !part.path.is_empty()) {
            part.path = format!("{place}/{}", part.path);
        }
        Ok(report)
    }
}

fn up(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

/// The text of an output file, up to `TEXT_MAX` bytes.
fn read_capped(path: &Path) -> String {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(path) {
        let _ = file.take(TEXT_MAX as u64).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
