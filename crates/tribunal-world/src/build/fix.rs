//! Fixing what a review found. Each fixer, an agent or a tool, works in a checkout of its own and is kept to the files
//! of its findings; the round's tree is the union of their work, in one commit.
//!
//! An edit outside a fixer's files is put back and reported, and stays reachable in a ref. So two fixers never
//! overwrite each other, and a fixer cannot change what was not found. Core decides who fixes what.

use super::make::digest;
use super::polish::{PUT_BACK, Polish, PutBack};
use crate::context::subject;
use crate::context::{RunContext, lock, slug};
use crate::launch::call_policy::Capability;
use crate::launch::{Begin, Ended, Reporting, not_done, words};
use crate::project::inside;
use crate::project::kept;
use crate::tool::cache::{Wanted, Warm, may_run_code};
use crate::tool::tools::{Asked, cache_of, change_between, changed_files, detect_one, left_out};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tribunal_agent::Access;
use tribunal_agent::reporting::Part;
use tribunal_agent::tool::Tool;
use tribunal_core::effect::EffectId;
use tribunal_core::finding::{Claim, Reply, Severity};
use tribunal_core::ids::{Builder, FindingId, LoopId, Revision};
use tribunal_core::ledger::Entry;
use tribunal_core::review_loop::{Checked, Failure, FailureKind, Loop, LoopReport};
use tribunal_core::run::Subject;
use tribunal_core::tool::DetectedTool;
use tribunal_engine::crash;
use tribunal_engine::run_state::{Note, OutOfScopeNote, RunState};
use tribunal_engine::world::Report;
use tribunal_findings::ToolForm;
use tribunal_findings::track::{Change, Hunk};
use tribunal_git::{GitError, GitPath, Oid, Tree};
use tribunal_process::ExitHow;
use tribunal_view::plain;
use tribunal_view::prompt::{self, BuilderBrief, BuilderJob, FindingLine, PlanBrief};

/// The prefix of a fixer that is a tool.
pub(crate) const TOOL: &str = "tool:";
/// The fixer that is an agent without a personality.
pub(crate) const ANYBODY: &str = "fixer";
pub(crate) use tribunal_core::checks::FIX_SCOPE as SCOPE;
pub(crate) use tribunal_view::log::NOBODY;
/// How many bytes of a diff are read.
const DIFF_MAX: usize = 64 << 20;
/// How many findings a commit's message names.
const NAMED: usize = 12;

/// Whether a fixer is an agent.
pub(crate) fn is_agent(builder: &Builder) -> bool {
    !matches!(builder.as_str(), NOBODY | PUT_BACK) && !builder.as_str().starts_with(TOOL)
}

/// One fixer's work, gathered from the run state.
///
/// The fixer is an agent, a tool, nobody, or the step that puts a polish back. `run` tells them apart by the fixer's
/// name.
pub(crate) struct Fix {
    effect: EffectId,
    of: LoopId,
    builder: Builder,
    findings: Vec<(FindingId, Claim)>,
    lines: Vec<FindingLine>,
    /// The revision that was judged. The round's commit is based on it.
    judged: Revision,
    /// What the fixer before it left, where fixers work one after the other.
    onto: Option<Revision>,
    /// It is the round's only fixer, so its result is the round's.
    alone: bool,
    base: String,
    scope: String,
    round: u32,
    rounds_max: u32,
    goal: PlanBrief,
    feedback: String,
    polish: Option<Polish>,
}

impl Fix {
    /// Gathers the work from the run state.
    pub(crate) fn gather(
        effect: &EffectId,
        review_loop: &Loop,
        builder: &Builder,
        findings: &[FindingId],
        onto: Option<&Revision>,
        run_state: &RunState,
    ) -> Option<Fix> {
        let entries = || findings.iter().filter_map(|id| Some((*id, review_loop.ledger().get(*id)?)));
        let review = run_state.review();
        let base = run_state.reviewed_from();
        let polish = match subject::of(review_loop.id())? {
            Subject::Polish => Some(Polish::of(review_loop, findings, base, run_state)?),
            _ => None,
        };
        let began = polish.as_ref().map(|polish| &polish.from);
        Some(Fix {
            effect: effect.clone(),
            of: review_loop.id().clone(),
            builder: builder.clone(),
            findings: entries().map(|(id, entry)| (id, entry.claim.clone())).collect(),
            lines: entries().map(|(id, entry)| FindingLine::of(id, entry)).collect(),
            judged: review_loop.revision().or(began)?.clone(),
            onto: onto.cloned(),
            alone: review_loop.fixers_count() == 1,
            base: base.to_owned(),
            scope: scope_of(run_state),
            round: review_loop.round(),
            rounds_max: review_loop.rounds_max(),
            goal: PlanBrief {
                id: scope_of(run_state),
                title: review.map(|review| plain::line(&review.target)).unwrap_or_default(),
                files: set_of(entries().map(|(_, entry)| &entry.claim)).into_iter().collect(),
                ..PlanBrief::default()
            },
            feedback: run_state.said.get(review_loop.id()).cloned().unwrap_or_default(),
            polish,
        })
    }

    /// Starts the work. Runs on a worker.
    pub(crate) fn run(self, context: &Arc<RunContext>) {
        let effect = self.effect.clone();
        let done = match self.builder.as_str() {
            // It makes no claim that could be judged. Where only this is left, nothing changes, and the loop stops as
            // stale.
            NOBODY => {
                self.made(context, self.left(), BTreeMap::new(), Vec::new());
                Ok(())
            }
            PUT_BACK => self.put_back(context),
            name => match name.strip_prefix(TOOL) {
                Some(tool) => self.by_tool(context, tool),
                None => self.by_agent(context),
            },
        };
        if let Err(error) = done {
            context.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
        }
    }

    /// The revision that this fixer starts from: what the one before left, or what was judged.
    fn left(&self) -> Revision {
        self.onto.clone().unwrap_or_else(|| self.judged.clone())
    }

    fn cannot(&self, why: &str) -> BTreeMap<FindingId, Reply> {
        self.findings.iter().map(|(id, _)| (*id, Reply::CannotFix(why.to_owned()))).collect()
    }

    fn made(
        &self,
        context: &RunContext,
        revision: Revision,
        replies: BTreeMap<FindingId, Reply>,
        notes: Vec<Note>,
    ) {
        context.report(&self.effect, Report::Loop(LoopReport::Made { revision, done: true, replies }), notes);
    }

    fn dir(&self, context: &RunContext) -> PathBuf {
        // Without the launch number: a repeated launch must find what the first one left.
        let same = EffectId { launch: 0, ..self.effect.clone() };
        context.dir.join("fixers").join(slug(&same.to_string()))
    }

    fn checkout(&self, context: &RunContext) -> Result<Tree, GitError> {
        let dir = self.dir(context);
        // An earlier launch may have left work here. It is saved before it is discarded.
        self.spare(context, &dir)?;
        context.worktree_pool.discard(&dir)?;
        self.sweep(context)?;
        fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
        let start = context.commit_of(&self.left())?;
        context.worktree_pool.checkout(&dir.join("tree"), &dir.join("index"), &start, "fix")
    }

    /// Removes the checkouts of rounds that are over. What their fixers made is in the journal.
    fn sweep(&self, context: &RunContext) -> Result<(), GitError> {
        // One at a time, because the fixers of a round begin together.
        static SWEEPING: Mutex<()> = Mutex::new(());
        let _alone = lock(&SWEEPING);
        let now = slug(&format!("{}/e{}/", self.effect.of, self.effect.entry));
        let all = fs::read_dir(context.dir.join("fixers")).into_iter().flatten().flatten();
        let over = all.filter(|entry| !entry.file_name().to_string_lossy().starts_with(&now));
        over.map(|entry| entry.path()).try_for_each(|path| {
            self.filter_out(context, &path)?;
            context.worktree_pool.discard(&path).map(drop)
        })
    }

    /// Keeps the checkout itself where git could not take all of it.
    fn filter_out(&self, context: &RunContext, dir: &Path) -> Result<(), GitError> {
        let (tree, name) = (dir.join("tree"), dir.file_name().unwrap_or_default().to_string_lossy());
        if !tree.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return Ok(());
        }
        let start = context.commit_of(&self.left())?;
        kept::spare(context, &format!("fix-{name}"), &context.repo.tree(&tree, &dir.join("index"), &start))
    }

    /// Keeps what an earlier launch left there and nobody took.
    fn spare(&self, context: &RunContext, dir: &Path) -> Result<(), GitError> {
        let tree = dir.join("tree");
        if !tree.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return Ok(());
        }
        let start = context.commit_of(&self.left())?;
        if let Ok(captured) = context.repo.tree(&tree, &dir.join("index"), &start).capture()
            && captured.tree != context.repo.tree_of(&start)?
        {
            self.snapshot(context, &captured.tree, &start)?;
        }
        self.filter_out(context, dir)
    }

    fn set(&self) -> BTreeSet<String> {
        set_of(self.findings.iter().map(|(_, claim)| claim))
    }

    /// Whether a finding names no file. Such a finding may be fixed anywhere.
    fn anywhere(&self) -> bool {
        self.findings.iter().any(|(_, claim)| claim.file.is_none())
    }

    /// Takes a fixer's own files out of its tree, and nothing else.
    fn take(
        &self,
        context: &RunContext,
        tree: &Tree,
        replies: &BTreeMap<FindingId, Reply>,
    ) -> Result<Taken, GitError> {
        let start = tree.base().clone();
        let captured = tree.capture()?;
        kept::tell(context, &format!("{}, by {}", self.scope, self.builder), &captured);
        let captured = captured.tree;
        let set = self.set();
        let polished = self.polish.as_ref().map(|polish| polish.files(context)).transpose()?;
        let inside = |path: &GitPath| match &polished {
            Some(files) => files.contains(path),
            None => self.anywhere() || set.contains(&path.to_string()),
        };
        let (kept, out_of_scope): (Vec<GitPath>, Vec<GitPath>) =
            context.repo.changed_paths(&start, &captured)?.into_iter().partition(inside);
        let mut united = captured.clone();
        // The whole tree is saved first, so that the out-of-scope edits are put back and not lost.
        if !out_of_scope.is_empty() {
            self.snapshot(context, &captured, &start)?;
            united = context.repo.tree_with(&captured, &start, &out_of_scope)?;
        }
        // A file can be changed and put back by its own fixer. Then there is nothing to commit.
        let changed = !kept.is_empty() && united != context.repo.tree_of(&start)?;
        let revision = match changed {
            true => self.keep(context, &united, replies)?,
            false => self.left(),
        };
        Ok(Taken { revision, changed, out_of_scope })
    }

    fn snapshot(&self, context: &RunContext, tree: &Oid, parent: &Oid) -> Result<(), GitError> {
        let who = context.signature();
        let message = format!("what {} left, before edits outside its files were put back\n", self.builder);
        let commit = context.repo.commit(tree, std::slice::from_ref(parent), &message, &who, &who)?;
        let name = format!("refs/tribunal/snap/{}/fix-{}", context.run, slug(&self.effect.to_string()));
        context.repo.refs_update(&[tribunal_git::RefChange::set(name, &commit)], "tribunal: kept").map(drop)
    }

    fn keep(
        &self,
        context: &RunContext,
        tree: &Oid,
        replies: &BTreeMap<FindingId, Reply>,
    ) -> Result<Revision, GitError> {
        let named: Vec<(FindingId, &Claim, Option<&Reply>)> =
            self.findings.iter().map(|(id, claim)| (*id, claim, replies.get(id))).collect();
        let message = match self.alone {
            true if self.polish.is_some() => {
                format!(
                    "refactor({}): polish what the review passed\n\nTribunal-Run: {}\n",
                    self.scope, context.run
                )
            }
            true => message(context, &self.scope, self.round, &named),
            false => format!("fix({}): part of {}\n", self.scope, self.builder),
        };
        let message = context.own_message(message);
        // A polish is one commit on what passed, whatever of it was put back.
        let on = self.polish.as_ref().map_or(&self.judged, |polish| &polish.from);
        keep_round(context, on, tree, &message)
    }
}

/// What was taken from a fixer's tree.
struct Taken {
    revision: Revision,
    changed: bool,
    out_of_scope: Vec<GitPath>,
}

/// The scope of the commits: `review`, or the phase's number.
fn scope_of(run_state: &RunState) -> String {
    if run_state.about.phase.is_empty() { "review".to_owned() } else { run_state.about.phase.clone() }
}

fn set_of<'a>(claims: impl Iterator<Item = &'a Claim>) -> BTreeSet<String> {
    claims.filter_map(|claim| claim.file.clone()).collect()
}

/// The message of a round's commit: how many findings were fixed, how many nobody looked at again, and what each was.
fn message(
    context: &RunContext,
    scope: &str,
    round: u32,
    findings: &[(FindingId, &Claim, Option<&Reply>)],
) -> String {
    let count =
        |what: fn(&Reply) -> bool| findings.iter().filter(|(.., reply)| reply.is_some_and(what)).count();
    let (all, not, unseen) = (findings.len(), count(Reply::is_argument), count(is_unseen));
    let mut text = format!("fix({scope}): review round {round}, {} of {all} findings", all - not - unseen);
    if unseen > 0 {
        text.push_str(&format!(", {unseen} not looked at again"));
    }
    text.push_str("\n\n");
    for (id, claim, reply) in findings.iter().take(NAMED) {
        let not = match reply {
            Some(reply) if is_unseen(reply) => " (not looked at again)",
            Some(reply) if reply.is_argument() => " (not fixed)",
            _ => "",
        };
        text.push_str(&format!("{id}{not} {}\n", plain::clipped(&claim.claim, 100)));
    }
    if all > NAMED {
        text.push_str(&format!("and {} more\n", all - NAMED));
    }
    text.push_str(&format!("\nTribunal-Run: {}\n", context.run));
    text
}

fn is_unseen(reply: &Reply) -> bool {
    matches!(reply, Reply::Unseen(_))
}

/// Commits a tree on what was judged and names the revision.
///
/// The same files with the same message give the same revision, so a repeated step after a crash finds its own commit.
fn keep_round(
    context: &RunContext,
    judged: &Revision,
    tree: &Oid,
    message: &str,
) -> Result<Revision, GitError> {
    let parent = context.commit_of(judged)?;
    let message = &context.message(message.to_owned());
    let revision =
        digest(&[b"fix", tree.as_str().as_bytes(), parent.as_str().as_bytes(), message.as_bytes()]);
    if context.has(&revision) {
        return Ok(revision);
    }
    let who = context.signature();
    let commit = context.repo.commit(tree, std::slice::from_ref(&parent), message, &who, &who)?;
    crash::point("fix:before");
    context.keep(&revision, &commit, Vec::new())?;
    crash::point("fix:after");
    Ok(revision)
}

// Tools.
impl Fix {
    fn by_tool(&self, context: &Arc<RunContext>, name: &str) -> Result<(), GitError> {
        let Some(tool) = context.tools.get(name).filter(|tool| !tool.fix.is_empty()) else {
            self.made(context, self.left(), self.cannot(&format!("{name} does not fix")), Vec::new());
            return Ok(());
        };
        let tree = self.checkout(context)?;
        let Some(reviewer) = self.places(context, tool, &tree)? else {
            self.made(context, self.left(), self.cannot("the file is no longer there"), Vec::new());
            return Ok(());
        };
        let dir = self.dir(context);
        let run = slug(&self.effect.to_string());
        let (warm, runs) = self.warm(context, tool, tree.base())?;
        let cache = cache_of(context, &warm, name, &dir, runs);
        let asked = Asked {
            context,
            tool,
            reviewer: &reviewer,
            name: &run,
            dir: &dir,
            tree: &tree,
            cache: &cache,
            base: None,
        };
        let ran = fix(&asked);
        if let Err(why) = ran {
            warm.into_iter().for_each(|warm| warm.give_back(context, None));
            context.worktree_pool.discard(&dir)?;
            self.made(context, self.left(), self.cannot(&plain::clipped(&why, 400)), Vec::new());
            return Ok(());
        }
        // A formatter lays out whole files, far beyond the finding.
        if tool.form == ToolForm::Rewrite {
            self.only_lines(context, &tree)?;
        }
        let replies = self.fixed(&asked)?;
        if let Some(warm) = warm {
            warm.give_back(context, None);
        }
        let taken = self.take(context, &tree, &replies)?;
        context.worktree_pool.discard(&dir)?;
        let replies = match taken.changed {
            true => replies,
            false => self.cannot(&format!("{name} has no fix for it")),
        };
        // A tool that fixes more than it was asked to has not left its scope like an agent. The rest is put back,
        // without a note.
        self.made(context, taken.revision, replies.clone(), untold(&replies));
        Ok(())
    }

    /// The warm folder of a tool, and whether code of what it fixes may run in it.
    fn warm(&self, context: &RunContext, tool: &Tool, start: &Oid) -> Result<(Option<Warm>, bool), GitError> {
        let base = Oid::parse(&self.base)?;
        // A change that cannot be read may hold anything, so its code counts as running.
        let Ok(change) = change_between(&context.repo, &base, start)? else { return Ok((None, true)) };
        let runs = may_run_code(context, tool, &change, start)?;
        let wanted = Wanted { tool, name: &tool.name, base: &base, commit: start, runs };
        Ok((Warm::take(context, &wanted)?, runs))
    }

    /// Which findings a tool fixed and which it left, by its own word: it is asked again about the result.
    ///
    /// A formatter is believed. If a tool can no longer be asked, or stops early, no finding that it did not look at is
    /// called fixed: the next review round will tell.
    fn fixed(&self, asked: &Asked<'_>) -> Result<BTreeMap<FindingId, Reply>, GitError> {
        let all = |reply: Reply| self.findings.iter().map(|(id, _)| (*id, reply.clone())).collect();
        if asked.tool.form == ToolForm::Rewrite {
            return Ok(all(Reply::Fixed));
        }
        let run = slug(&format!("{}/left", self.effect));
        let again = Asked { name: &run, ..*asked };
        let (left, stopped) = match again.ask(&[])? {
            Ok(report) => {
                let out = left_out(asked.tool, &report);
                let unseen = |(_, claim): &(FindingId, Claim)| match (&out, &claim.file) {
                    (Some(out), Some(path)) => out.iter().any(|part| part.may_hold(path)),
                    _ => true,
                };
                // It stopped early. That matters only if a part it left out may hold one of the findings.
                let stopped = report.broken.clone().filter(|_| self.findings.iter().any(unseen));
                (report.findings, stopped)
            }
            Err(why) => (Vec::new(), Some(why)),
        };
        let rest = stopped.map_or(Reply::Fixed, |why| {
            let text = format!("{} could not be asked what it fixed: {why}", asked.tool.name);
            Reply::Unseen(plain::clipped(&text, 400))
        });
        let mut replies: BTreeMap<FindingId, Reply> = all(rest.clone());
        for claim in left {
            // Lines move with the fix, so the nearest finding with the same words is taken for the same.
            let far = |known: &Claim| known.line.unwrap_or(0).abs_diff(claim.line.unwrap_or(0));
            let same = self.findings.iter().filter(|(id, known)| {
                replies.get(id) == Some(&rest)
                    && (&known.file, &known.rule, &known.claim) == (&claim.file, &claim.rule, &claim.claim)
            });
            if let Some((id, _)) = same.min_by_key(|(_, known)| far(known)) {
                let why = format!("{} has no fix for it", asked.tool.name);
                replies.insert(*id, Reply::CannotFix(why));
            }
        }
        self.credit(asked, &mut replies)?;
        Ok(replies)
    }

    /// Withdraws credit from a tool where another fixer worked before it.
    ///
    /// A tool that is silent now may owe that to the other fixer. It has fixed only what it changed itself.
    fn credit(&self, asked: &Asked<'_>, replies: &mut BTreeMap<FindingId, Reply>) -> Result<(), GitError> {
        if self.onto.is_none() {
            return Ok(());
        }
        let repo = &asked.context.repo;
        let judged = asked.context.commit_of(&self.judged)?;
        let read = |from: &Oid, to: &Oid| -> Result<Change, GitError> {
            let diff = repo.diff_text(from, to, &[], DIFF_MAX)?;
            Ok(Change::from_unified(&String::from_utf8_lossy(&diff.bytes)))
        };
        let (others, own) =
            (read(&judged, asked.tree.base())?, read(asked.tree.base(), &asked.tree.capture()?.tree)?);
        for (id, claim) in self.findings.iter().filter(|(_, claim)| claim.line.is_some()) {
            let fixed = replies.get(id) == Some(&Reply::Fixed);
            if fixed && !changed_at(&others, &own, claim) {
                let why = format!("{} no longer says it, and did not change its lines", asked.tool.name);
                replies.insert(*id, Reply::Unseen(why));
            }
        }
        Ok(())
    }

    /// Where the tool runs, with the files of its findings; none if those files are gone.
    fn places(
        &self,
        context: &RunContext,
        tool: &Tool,
        tree: &Tree,
    ) -> Result<Option<DetectedTool>, GitError> {
        let files: Vec<String> = self.set().into_iter().collect();
        let base = Oid::parse(&self.base)?;
        let there = context.repo.changes(&base, tree.base())?;
        let gone = |path: &String| {
            there.iter().any(|change| {
                change.kind == tribunal_git::ChangeKind::Deleted && change.path.to_string() == *path
            })
        };
        let files: Vec<String> = files.into_iter().filter(|path| !gone(path)).collect();
        detect_one(&context.repo, tool, &base, tree.base(), &files, &|_| true)
    }

    /// Reduces a formatter's result to the lines that were found, so that the rest of a file stays as it is.
    fn only_lines(&self, context: &RunContext, tree: &Tree) -> Result<(), GitError> {
        let captured = tree.capture()?.tree;
        let diff = context.repo.diff_text(tree.base(), &captured, &[], DIFF_MAX)?;
        let change = Change::from_unified(&String::from_utf8_lossy(&diff.bytes));
        for file in changed_files(&change) {
            let (Some(changed), path) = (change.file_at(&file), GitPath::from(file.as_str())) else {
                continue;
            };
            let wanted = |hunk: &Hunk| {
                let (from, to) = (hunk.old_start, hunk.old_start + hunk.old_len.max(1) - 1);
                self.findings.iter().any(|(_, claim)| {
                    // A finding without a line means the whole file.
                    claim.file.as_deref() == Some(file.as_str())
                        && claim.line.is_none_or(|line| line <= to && claim.end.unwrap_or(line) >= from)
                })
            };
            let texts = (context.repo.file_at(tree.base(), &path)?, context.repo.file_at(&captured, &path)?);
            let (Some(before), Some(after)) = texts else { continue };
            let kept = with_hunks(&before, &after, &changed.hunks, wanted);
            inside::write(tree.path(), &file, &kept)?;
        }
        Ok(())
    }
}

/// Whether a fixer changed the lines of a claim, which others may have moved before.
fn changed_at(others: &Change, own: &Change, claim: &Claim) -> bool {
    use tribunal_findings::track::change::Mapped;
    let (Some(file), Some(line)) = (claim.file.as_deref(), claim.line) else { return true };
    let at = |line: u32| match others.map_line(file, line) {
        Mapped::Kept(line) => line,
        Mapped::Changed(line) => (line as u32).max(1),
    };
    let now = others.new_path(file).unwrap_or(file);
    own.old_hunk(now, at(line), at(claim.end.unwrap_or(line)), 1).is_some()
}

/// One warning about findings of which nobody knows whether they are fixed.
fn untold(replies: &BTreeMap<FindingId, Reply>) -> Vec<Note> {
    let why = replies.values().find_map(|reply| match reply {
        Reply::Unseen(why) => Some(why.clone()),
        Reply::Fixed | Reply::Refuted(_) | Reply::CannotFix(_) => None,
    });
    why.into_iter().map(Note::Warning).collect()
}

/// Runs the tool's fix. If it stops early, runs it once more with the arguments that make it continue.
fn fix(asked: &Asked<'_>) -> Result<(), String> {
    let mut runs = asked.each(&asked.tool.fix, "fix")?;
    if asked.tool.past.is_some() && runs.iter().any(|(_, _, how)| *how != ExitHow::Code(0)) {
        let onward = asked.each(&asked.onward(&asked.tool.fix), "fix")?;
        // If it cannot be run that way, it has fixed what it could.
        if did_run(asked.tool, &onward).is_ok() {
            runs = onward;
        }
    }
    did_run(asked.tool, &runs)
}

fn did_run(tool: &Tool, runs: &[(String, PathBuf, ExitHow)]) -> Result<(), String> {
    for (_, out_dir, how) in runs {
        // Many linters also end with their "found something" code after they fixed what they could.
        let fine = matches!(how, ExitHow::Code(code) if *code == 0 || tool.found.contains(code));
        if !fine {
            let said = crate::check::tail(&out_dir.join("stderr"));
            return Err(format!("{} could not fix: {said}", tool.name));
        }
    }
    Ok(())
}

/// A text with only the wanted hunks of the other one.
fn with_hunks(before: &[u8], after: &[u8], hunks: &[Hunk], wanted: impl Fn(&Hunk) -> bool) -> Vec<u8> {
    let old: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let new: Vec<&[u8]> = after.split_inclusive(|byte| *byte == b'\n').collect();
    let mut out = Vec::new();
    let mut at = 0;
    for hunk in hunks.iter().filter(|hunk| wanted(hunk)) {
        // A hunk without old lines stands before its line.
        let start = (hunk.old_start.max(1) as usize - 1).min(old.len());
        old[at.min(start)..start].iter().for_each(|line| out.extend_from_slice(line));
        let first = (hunk.new_start.max(1) as usize - 1).min(new.len());
        let last = (first + hunk.new_len as usize).min(new.len());
        new[first..last].iter().for_each(|line| out.extend_from_slice(line));
        at = (start + hunk.old_len as usize).min(old.len());
    }
    old[at..].iter().for_each(|line| out.extend_from_slice(line));
    out
}

// What a polish made worse.
impl Fix {
    fn put_back(&self, context: &RunContext) -> Result<(), GitError> {
        let Some(polish) = &self.polish else {
            self.made(context, self.left(), BTreeMap::new(), Vec::new());
            return Ok(());
        };
        match polish.put_back(context, &self.judged)? {
            PutBack::Some(tree, notes) => {
                let revision = self.keep(context, &tree, &BTreeMap::new())?;
                let fixed = self.findings.iter().map(|(id, _)| (*id, Reply::Fixed)).collect();
                self.made(context, revision, fixed, notes);
            }
            PutBack::All(why) => {
                let note = Note::Warning(format!("the polish was put back: {why}"));
                context.fail(&self.effect, Failure::new(FailureKind::Refused, why), vec![note]);
            }
        }
        Ok(())
    }

    /// The job of the agent, and its files.
    fn order(&self, context: &RunContext) -> Result<(BuilderJob, PlanBrief), GitError> {
        let Some(polish) = &self.polish else { return Ok((BuilderJob::Phase, self.goal.clone())) };
        let files = polish.files(context)?.iter().map(ToString::to_string).collect();
        Ok((BuilderJob::Polish, PlanBrief { files, ..self.goal.clone() }))
    }
}

// Agents.
impl Fix {
    fn by_agent(self, context: &Arc<RunContext>) -> Result<(), GitError> {
        let tree = self.checkout(context)?;
        let name = self.builder.to_string();
        let names = [name.as_str(), "fixer", "dev"];
        let mut brief = context.brief(&self.effect, &name, &names);
        brief.loop_use = if self.polish.is_some() { "polish" } else { "phase" }.to_owned();
        brief.round = self.round + 1;
        let (job, goal) = self.order(context)?;
        brief.prompt = prompt::builder(&BuilderBrief {
            job,
            plan: goal,
            round: self.round + 1,
            rounds_max: self.rounds_max,
            iteration: 1,
            findings: self.lines.clone(),
            feedback: self.feedback.clone(),
            word: brief.word.clone().unwrap_or_default(),
            ..BuilderBrief::default()
        });
        brief.dir = tree.path().to_path_buf();
        brief.access = Access::Write;
        let effect = self.effect.clone();
        let capability = Capability {
            part: Part::Builder,
            of: self.of.to_string(),
            task: None,
            reviewer: None,
            round: self.round + 1,
            revision: None,
            findings: self.findings.iter().map(|(id, _)| *id).collect(),
            judged: None,
        };
        let reporting = Reporting { capability, checks: None };
        // Each round is a new launch without a session: a fixer did not write the code, and has to see it as it stands
        // now.
        context.launch(
            &effect,
            &names,
            brief,
            Begin::Session(None),
            Some(reporting),
            move |context, ended| {
                let effect = self.effect.clone();
                if let Err(error) = self.ended(context, &tree, ended) {
                    context.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
                }
            },
        );
        Ok(())
    }

    fn ended(self, context: &Arc<RunContext>, tree: &Tree, ended: Ended) -> Result<(), GitError> {
        // A failed fixer's edits are not taken, but they are not thrown away either.
        if ended.failure.is_some() {
            let captured = tree.capture()?.tree;
            if captured != context.repo.tree_of(tree.base())? {
                self.snapshot(context, &captured, tree.base())?;
            }
        }
        // Its checkout stays until the loop has moved on. If the process dies before the report is in the journal, the
        // result is taken from there.
        let (report, notes) = self.report(context, tree, ended)?;
        context.report(&self.effect, Report::Loop(report), notes);
        Ok(())
    }

    fn report(
        &self,
        context: &RunContext,
        tree: &Tree,
        ended: Ended,
    ) -> Result<(LoopReport, Vec<Note>), GitError> {
        let word = ended.word.as_deref();
        let said = tribunal_findings::read_builder(&words(&ended.outcome, word), word);
        let lacks = (!said.done).then(|| Failure::new(FailureKind::NotDone, not_done(&ended)));
        let mut note = ended.note;
        note.summary = said.summary;
        note.discovered = said.discovered;
        let mut notes = vec![Note::Launch(Box::new(note))];
        if let Some(failure) = ended.failure {
            return Ok((LoopReport::Failed(failure), notes));
        }
        // A reply to a finding of another fixer is ignored.
        let known = |id: &FindingId| self.findings.iter().any(|(given, _)| given == id);
        let replies: BTreeMap<FindingId, Reply> =
            said.replies.into_iter().filter(|(id, _)| known(id)).collect();
        let taken = self.take(context, tree, &replies)?;
        if self.polish.is_some() && !taken.changed {
            let failure = Failure::new(FailureKind::Empty, "there was nothing to polish");
            return Ok((LoopReport::Failed(failure), notes));
        }
        if !taken.out_of_scope.is_empty() {
            let files = taken.out_of_scope.iter().map(|path| plain::line(&path.to_string())).collect();
            let (of, builder, round) = (self.of.clone(), self.builder.to_string(), self.round);
            notes.push(Note::OutOfScope(Box::new(OutOfScopeNote { of, builder, round, files })));
        }
        // What it left is kept, whatever it says about it.
        let made = LoopReport::Made { revision: taken.revision, done: true, replies };
        Ok((lacks.map_or(made, LoopReport::Failed), notes))
    }

    /// The report of a fixer that ended while no orchestrator watched.
    pub(crate) fn recovered(self, context: &RunContext, ended: Ended) -> Option<(LoopReport, Vec<Note>)> {
        let dir = self.dir(context);
        let tree = dir.join("tree");
        if !tree.symlink_metadata().ok()?.is_dir() {
            return None;
        }
        let start = context.commit_of(&self.left()).ok()?;
        let tree = context.repo.tree(&tree, &dir.join("index"), &start);
        self.report(context, &tree, ended).ok()
    }
}

/// The check that the fixers of the last round kept to their files. Out-of-scope edits were put back; here they are
/// reported.
pub(crate) struct KeptToFiles {
    effect: EffectId,
    out_of_scope: Vec<OutOfScopeNote>,
}

impl KeptToFiles {
    /// Gathers the out-of-scope edits of the last round.
    pub(crate) fn gather(effect: &EffectId, review_loop: &Loop, run_state: &RunState) -> KeptToFiles {
        let last = |out_of_scope: &&OutOfScopeNote| {
            out_of_scope.of == *review_loop.id() && out_of_scope.round + 1 == review_loop.round()
        };
        KeptToFiles {
            effect: effect.clone(),
            out_of_scope: run_state.out_of_scope.iter().filter(last).cloned().collect(),
        }
    }

    /// Reports at once: nothing has to be run.
    pub(crate) fn run(self, context: &RunContext) {
        let each = self.out_of_scope.iter().flat_map(|out_of_scope| {
            out_of_scope.files.iter().map(move |file| {
                let text = format!(
                    "{} changed {file}, which was not its own; it was put back",
                    out_of_scope.builder
                );
                let mut claim = crate::check::failing(Severity::Suggestion, text).at(file, None);
                claim.rule = Some(SCOPE.to_owned());
                claim
            })
        });
        let report = LoopReport::Checked(Checked { findings: each.collect() });
        context.report(&self.effect, Report::Loop(report), Vec::new());
    }
}

/// The union of what several fixers made, as one commit.
///
/// A round is judged as one revision, so the parts of its fixers have to become one commit.
pub(crate) struct Join {
    effect: EffectId,
    judged: Revision,
    parts: Vec<Revision>,
    findings: Vec<(FindingId, Claim, Option<Reply>)>,
    scope: String,
    round: u32,
}

impl Join {
    /// Gathers the parts from the run state.
    pub(crate) fn gather(
        effect: &EffectId,
        review_loop: &Loop,
        parts: &[(Builder, Revision)],
        run_state: &RunState,
    ) -> Option<Join> {
        let open = review_loop.ledger().open();
        let nobody = |entry: &Entry| entry.fixer.as_ref().is_some_and(|fixer| fixer.as_str() == NOBODY);
        let reply = |entry: &Entry| match nobody(entry) {
            true => Some(Reply::CannotFix("nobody here fixes it".to_owned())),
            false => entry.reply.clone(),
        };
        Some(Join {
            effect: effect.clone(),
            judged: review_loop.revision()?.clone(),
            parts: parts.iter().map(|(_, revision)| revision.clone()).collect(),
            findings: open.map(|(id, entry)| (id, entry.claim.clone(), reply(entry))).collect(),
            scope: scope_of(run_state),
            round: review_loop.round(),
        })
    }

    /// Joins the parts. Runs on a worker.
    pub(crate) fn run(self, context: &RunContext) {
        match self.join(context) {
            Ok(revision) => {
                context.report(&self.effect, Report::Loop(LoopReport::Joined { revision }), Vec::new());
            }
            Err(error) => {
                context.fail(&self.effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
            }
        }
    }

    /// Takes each part's files as that part left them.
    ///
    /// The sets of files are disjoint, except for parts that came one after the other; there the later one includes the
    /// earlier one's work.
    fn join(&self, context: &RunContext) -> Result<Revision, GitError> {
        let judged = context.commit_of(&self.judged)?;
        let before = context.repo.tree_of(&judged)?;
        let mut tree = before.clone();
        for part in self.parts.iter().filter(|part| **part != self.judged) {
            let commit = context.commit_of(part)?;
            let paths = context.repo.changed_paths(&judged, &commit)?;
            tree = context.repo.tree_with(&tree, &commit, &paths)?;
        }
        // No part changed anything, so the judged revision stands and no empty commit is made.
        if tree == before {
            return Ok(self.judged.clone());
        }
        let named: Vec<(FindingId, &Claim, Option<&Reply>)> =
            self.findings.iter().map(|(id, claim, reply)| (*id, claim, reply.as_ref())).collect();
        keep_round(context, &self.judged, &tree, &message(context, &self.scope, self.round, &named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wanted_stretches_change() {
        let (before, after) = ("a\nb\nc\nd\ne\n", "A\nb\nC\nC2\nd\nE\n");
        let diff =
            "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,5 +1,6 @@\n-a\n+A\n b\n-c\n+C\n+C2\n d\n-e\n+E\n";
        let change = Change::from_unified(diff);
        let hunks = &change.files()[0].hunks;
        let check = |lines: &[u32], expect: &str| {
            let wanted = |hunk: &Hunk| lines.contains(&hunk.old_start);
            let made = with_hunks(before.as_bytes(), after.as_bytes(), hunks, wanted);
            assert_eq!(String::from_utf8(made).unwrap(), expect, "{lines:?}");
        };
        check(&[], before);
        check(&[1, 3, 5], after);
        check(&[3], "a\nb\nC\nC2\nd\ne\n");
        check(&[5], "a\nb\nc\nd\nE\n");
    }
}
