//! Fixing what a review found. Each fixer, an agent or a tool, works in a checkout of its own and is kept to the files
//! of its findings; the round's tree is the union of their work, in one commit.
//!
//! An edit outside a fixer's files is put back and reported, and stays reachable in a ref. So two fixers never
//! overwrite each other, and a fixer cannot change what was not found. Core decides who fixes what.

use super::make::digest;
use super::polish::{PUT_BACK, Polish, PutBack};
use crate::launch::clerk::Mandate;
use crate::launch::{Begin, Ended, Speech, not_done, words};
use crate::project::inside;
use crate::project::kept;
use crate::site::subject;
use crate::site::{Site, lock, slug};
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
use tribunal_core::ids::{FindingId, LoopId, Maker, Revision};
use tribunal_core::ledger::Entry;
use tribunal_core::review_loop::{Checked, Failure, FailureKind, Loop, LoopReport};
use tribunal_core::run::Subject;
use tribunal_core::tool::DetectedTool;
use tribunal_engine::crash;
use tribunal_engine::docket::{Docket, Note, StrayNote};
use tribunal_engine::world::Report;
use tribunal_findings::ToolForm;
use tribunal_findings::track::{Change, Hunk};
use tribunal_git::{GitError, GitPath, Oid, Tree};
use tribunal_process::ExitHow;
use tribunal_view::plain;
use tribunal_view::prompt::{self, FindingLine, MakerBrief, MakerJob, PlanBrief};

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
pub(crate) fn is_agent(maker: &Maker) -> bool {
    !matches!(maker.as_str(), NOBODY | PUT_BACK) && !maker.as_str().starts_with(TOOL)
}

/// One fixer's work, gathered from the docket.
///
/// The fixer is an agent, a tool, nobody, or the step that puts a polish back. `run` tells them apart by the fixer's
/// name.
pub(crate) struct Fix {
    effect: EffectId,
    of: LoopId,
    maker: Maker,
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
    /// Gathers the work from the docket.
    pub(crate) fn gather(
        effect: &EffectId,
        lp: &Loop,
        maker: &Maker,
        findings: &[FindingId],
        onto: Option<&Revision>,
        docket: &Docket,
    ) -> Option<Fix> {
        let entries = || findings.iter().filter_map(|id| Some((*id, lp.ledger().get(*id)?)));
        let review = docket.review();
        let base = docket.reviewed_from();
        let polish = match subject::of(lp.id())? {
            Subject::Polish => Some(Polish::of(lp, findings, base, docket)?),
            _ => None,
        };
        let began = polish.as_ref().map(|polish| &polish.from);
        Some(Fix {
            effect: effect.clone(),
            of: lp.id().clone(),
            maker: maker.clone(),
            findings: entries().map(|(id, entry)| (id, entry.claim.clone())).collect(),
            lines: entries().map(|(id, entry)| FindingLine::of(id, entry)).collect(),
            judged: lp.revision().or(began)?.clone(),
            onto: onto.cloned(),
            alone: lp.crew_size() == 1,
            base: base.to_owned(),
            scope: scope_of(docket),
            round: lp.round(),
            rounds_max: lp.rounds_max(),
            goal: PlanBrief {
                id: scope_of(docket),
                title: review.map(|review| plain::line(&review.target)).unwrap_or_default(),
                files: set_of(entries().map(|(_, entry)| &entry.claim)).into_iter().collect(),
                ..PlanBrief::default()
            },
            feedback: docket.said.get(lp.id()).cloned().unwrap_or_default(),
            polish,
        })
    }

    /// Starts the work. Runs on a worker.
    pub(crate) fn run(self, site: &Arc<Site>) {
        let effect = self.effect.clone();
        let done = match self.maker.as_str() {
            // It makes no claim that could be judged. Where only this is left, nothing changes, and the loop stops as
            // stale.
            NOBODY => {
                self.made(site, self.left(), BTreeMap::new(), Vec::new());
                Ok(())
            }
            PUT_BACK => self.put_back(site),
            name => match name.strip_prefix(TOOL) {
                Some(tool) => self.by_tool(site, tool),
                None => self.by_agent(site),
            },
        };
        if let Err(error) = done {
            site.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
        }
    }

    /// The revision that this fixer starts from: what the one before left, or what was judged.
    fn left(&self) -> Revision {
        self.onto.clone().unwrap_or_else(|| self.judged.clone())
    }

    fn cannot(&self, why: &str) -> BTreeMap<FindingId, Reply> {
        self.findings.iter().map(|(id, _)| (*id, Reply::CannotFix(why.to_owned()))).collect()
    }

    fn made(&self, site: &Site, revision: Revision, replies: BTreeMap<FindingId, Reply>, notes: Vec<Note>) {
        site.report(&self.effect, Report::Loop(LoopReport::Made { revision, done: true, replies }), notes);
    }

    fn dir(&self, site: &Site) -> PathBuf {
        // Without the launch number: a repeated launch must find what the first one left.
        let same = EffectId { launch: 0, ..self.effect.clone() };
        site.dir.join("fixers").join(slug(&same.to_string()))
    }

    fn checkout(&self, site: &Site) -> Result<Tree, GitError> {
        let dir = self.dir(site);
        // An earlier launch may have left work here. It is saved before it is discarded.
        self.spare(site, &dir)?;
        site.shelf.discard(&dir)?;
        self.sweep(site)?;
        fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
        let start = site.commit_of(&self.left())?;
        site.shelf.checkout(&dir.join("tree"), &dir.join("index"), &start, "fix")
    }

    /// Removes the checkouts of rounds that are over. What their fixers made is in the journal.
    fn sweep(&self, site: &Site) -> Result<(), GitError> {
        // One at a time, because the fixers of a round begin together.
        static SWEEPING: Mutex<()> = Mutex::new(());
        let _alone = lock(&SWEEPING);
        let now = slug(&format!("{}/e{}/", self.effect.of, self.effect.entry));
        let all = fs::read_dir(site.dir.join("fixers")).into_iter().flatten().flatten();
        let over = all.filter(|entry| !entry.file_name().to_string_lossy().starts_with(&now));
        over.map(|entry| entry.path()).try_for_each(|path| {
            self.set_aside(site, &path)?;
            site.shelf.discard(&path).map(drop)
        })
    }

    /// Keeps the checkout itself where git could not take all of it.
    fn set_aside(&self, site: &Site, dir: &Path) -> Result<(), GitError> {
        let (tree, name) = (dir.join("tree"), dir.file_name().unwrap_or_default().to_string_lossy());
        if !tree.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return Ok(());
        }
        let start = site.commit_of(&self.left())?;
        kept::spare(site, &format!("fix-{name}"), &site.repo.tree(&tree, &dir.join("index"), &start))
    }

    /// Keeps what an earlier launch left there and nobody took.
    fn spare(&self, site: &Site, dir: &Path) -> Result<(), GitError> {
        let tree = dir.join("tree");
        if !tree.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return Ok(());
        }
        let start = site.commit_of(&self.left())?;
        if let Ok(captured) = site.repo.tree(&tree, &dir.join("index"), &start).capture()
            && captured.tree != site.repo.tree_of(&start)?
        {
            self.snapshot(site, &captured.tree, &start)?;
        }
        self.set_aside(site, dir)
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
        site: &Site,
        tree: &Tree,
        replies: &BTreeMap<FindingId, Reply>,
    ) -> Result<Taken, GitError> {
        let start = tree.base().clone();
        let captured = tree.capture()?;
        kept::tell(site, &format!("{}, by {}", self.scope, self.maker), &captured);
        let captured = captured.tree;
        let set = self.set();
        let polished = self.polish.as_ref().map(|polish| polish.files(site)).transpose()?;
        let inside = |path: &GitPath| match &polished {
            Some(files) => files.contains(path),
            None => self.anywhere() || set.contains(&path.to_string()),
        };
        let (kept, strayed): (Vec<GitPath>, Vec<GitPath>) =
            site.repo.changed_paths(&start, &captured)?.into_iter().partition(inside);
        let mut united = captured.clone();
        // The whole tree is saved first, so that the out-of-scope edits are put back and not lost.
        if !strayed.is_empty() {
            self.snapshot(site, &captured, &start)?;
            united = site.repo.tree_with(&captured, &start, &strayed)?;
        }
        // A file can be changed and put back by its own fixer. Then there is nothing to commit.
        let changed = !kept.is_empty() && united != site.repo.tree_of(&start)?;
        let revision = match changed {
            true => self.keep(site, &united, replies)?,
            false => self.left(),
        };
        Ok(Taken { revision, changed, strayed })
    }

    fn snapshot(&self, site: &Site, tree: &Oid, parent: &Oid) -> Result<(), GitError> {
        let who = site.signature();
        let message = format!("what {} left, before edits outside its files were put back\n", self.maker);
        let commit = site.repo.commit(tree, std::slice::from_ref(parent), &message, &who, &who)?;
        let name = format!("refs/tribunal/snap/{}/fix-{}", site.run, slug(&self.effect.to_string()));
        site.repo.refs_update(&[tribunal_git::RefChange::set(name, &commit)], "tribunal: kept").map(drop)
    }

    fn keep(
        &self,
        site: &Site,
        tree: &Oid,
        replies: &BTreeMap<FindingId, Reply>,
    ) -> Result<Revision, GitError> {
        let named: Vec<(FindingId, &Claim, Option<&Reply>)> =
            self.findings.iter().map(|(id, claim)| (*id, claim, replies.get(id))).collect();
        let message = match self.alone {
            true if self.polish.is_some() => {
                format!(
                    "refactor({}): polish what the review passed\n\nTribunal-Run: {}\n",
                    self.scope, site.run
                )
            }
            true => message(site, &self.scope, self.round, &named),
            false => format!("fix({}): part of {}\n", self.scope, self.maker),
        };
        let message = site.own_message(message);
        // A polish is one commit on what passed, whatever of it was put back.
        let on = self.polish.as_ref().map_or(&self.judged, |polish| &polish.from);
        keep_round(site, on, tree, &message)
    }
}

/// What was taken from a fixer's tree.
struct Taken {
    revision: Revision,
    changed: bool,
    strayed: Vec<GitPath>,
}

/// The scope of the commits: `review`, or the phase's number.
fn scope_of(docket: &Docket) -> String {
    if docket.about.phase.is_empty() { "review".to_owned() } else { docket.about.phase.clone() }
}

fn set_of<'a>(claims: impl Iterator<Item = &'a Claim>) -> BTreeSet<String> {
    claims.filter_map(|claim| claim.file.clone()).collect()
}

/// The message of a round's commit: how many findings were fixed, how many nobody looked at again, and what each was.
fn message(site: &Site, scope: &str, round: u32, findings: &[(FindingId, &Claim, Option<&Reply>)]) -> String {
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
    text.push_str(&format!("\nTribunal-Run: {}\n", site.run));
    text
}

fn is_unseen(reply: &Reply) -> bool {
    matches!(reply, Reply::Unseen(_))
}

/// Commits a tree on what was judged and names the revision.
///
/// The same files with the same message give the same revision, so a repeated step after a crash finds its own commit.
fn keep_round(site: &Site, judged: &Revision, tree: &Oid, message: &str) -> Result<Revision, GitError> {
    let parent = site.commit_of(judged)?;
    let message = &site.message(message.to_owned());
    let revision =
        digest(&[b"fix", tree.as_str().as_bytes(), parent.as_str().as_bytes(), message.as_bytes()]);
    if site.has(&revision) {
        return Ok(revision);
    }
    let who = site.signature();
    let commit = site.repo.commit(tree, std::slice::from_ref(&parent), message, &who, &who)?;
    crash::point("fix:before");
    site.keep(&revision, &commit, Vec::new())?;
    crash::point("fix:after");
    Ok(revision)
}

// Tools.
impl Fix {
    fn by_tool(&self, site: &Arc<Site>, name: &str) -> Result<(), GitError> {
        let Some(tool) = site.tools.get(name).filter(|tool| !tool.fix.is_empty()) else {
            self.made(site, self.left(), self.cannot(&format!("{name} does not mend")), Vec::new());
            return Ok(());
        };
        let tree = self.checkout(site)?;
        let Some(seat) = self.places(site, tool, &tree)? else {
            self.made(site, self.left(), self.cannot("the file is no longer there"), Vec::new());
            return Ok(());
        };
        let dir = self.dir(site);
        let run = slug(&self.effect.to_string());
        let (warm, runs) = self.warm(site, tool, tree.base())?;
        let cache = cache_of(site, &warm, name, &dir, runs);
        let asked =
            Asked { site, tool, seat: &seat, name: &run, dir: &dir, tree: &tree, cache: &cache, base: None };
        let ran = mend(&asked);
        if let Err(why) = ran {
            warm.into_iter().for_each(|warm| warm.give_back(site, None));
            site.shelf.discard(&dir)?;
            self.made(site, self.left(), self.cannot(&plain::clipped(&why, 400)), Vec::new());
            return Ok(());
        }
        // A formatter lays out whole files, far beyond the finding.
        if tool.form == ToolForm::Rewrite {
            self.only_lines(site, &tree)?;
        }
        let replies = self.mended(&asked)?;
        if let Some(warm) = warm {
            warm.give_back(site, None);
        }
        let taken = self.take(site, &tree, &replies)?;
        site.shelf.discard(&dir)?;
        let replies = match taken.changed {
            true => replies,
            false => self.cannot(&format!("{name} has no fix for it")),
        };
        // A tool that fixes more than it was asked to has not left its scope like an agent. The rest is put back,
        // without a note.
        self.made(site, taken.revision, replies.clone(), untold(&replies));
        Ok(())
    }

    /// The warm folder of a tool, and whether code of what it fixes may run in it.
    fn warm(&self, site: &Site, tool: &Tool, start: &Oid) -> Result<(Option<Warm>, bool), GitError> {
        let base = Oid::parse(&self.base)?;
        // A change that cannot be read may hold anything, so its code counts as running.
        let Ok(change) = change_between(&site.repo, &base, start)? else { return Ok((None, true)) };
        let runs = may_run_code(site, tool, &change, start)?;
        let wanted = Wanted { tool, name: &tool.name, base: &base, commit: start, runs };
        Ok((Warm::take(site, &wanted)?, runs))
    }

    /// Which findings a tool fixed and which it left, by its own word: it is asked again about the result.
    ///
    /// A formatter is believed. If a tool can no longer be asked, or stops early, no finding that it did not look at is
    /// called fixed: the next review round will tell.
    fn mended(&self, asked: &Asked<'_>) -> Result<BTreeMap<FindingId, Reply>, GitError> {
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
            let text = format!("{} could not be asked what it mended: {why}", asked.tool.name);
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
        let repo = &asked.site.repo;
        let judged = asked.site.commit_of(&self.judged)?;
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
    fn places(&self, site: &Site, tool: &Tool, tree: &Tree) -> Result<Option<DetectedTool>, GitError> {
        let files: Vec<String> = self.set().into_iter().collect();
        let base = Oid::parse(&self.base)?;
        let there = site.repo.changes(&base, tree.base())?;
        let gone = |path: &String| {
            there.iter().any(|change| {
                change.kind == tribunal_git::ChangeKind::Deleted && change.path.to_string() == *path
            })
        };
        let files: Vec<String> = files.into_iter().filter(|path| !gone(path)).collect();
        detect_one(&site.repo, tool, &base, tree.base(), &files, &|_| true)
    }

    /// Reduces a formatter's result to the lines that were found, so that the rest of a file stays as it is.
    fn only_lines(&self, site: &Site, tree: &Tree) -> Result<(), GitError> {
        let captured = tree.capture()?.tree;
        let diff = site.repo.diff_text(tree.base(), &captured, &[], DIFF_MAX)?;
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
            let texts = (site.repo.file_at(tree.base(), &path)?, site.repo.file_at(&captured, &path)?);
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
fn mend(asked: &Asked<'_>) -> Result<(), String> {
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
            return Err(format!("{} could not mend: {said}", tool.name));
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
    fn put_back(&self, site: &Site) -> Result<(), GitError> {
        let Some(polish) = &self.polish else {
            self.made(site, self.left(), BTreeMap::new(), Vec::new());
            return Ok(());
        };
        match polish.put_back(site, &self.judged)? {
            PutBack::Some(tree, notes) => {
                let revision = self.keep(site, &tree, &BTreeMap::new())?;
                let fixed = self.findings.iter().map(|(id, _)| (*id, Reply::Fixed)).collect();
                self.made(site, revision, fixed, notes);
            }
            PutBack::All(why) => {
                let note = Note::Warning(format!("the polish was put back: {why}"));
                site.fail(&self.effect, Failure::new(FailureKind::Refused, why), vec![note]);
            }
        }
        Ok(())
    }

    /// The job of the agent, and its files.
    fn order(&self, site: &Site) -> Result<(MakerJob, PlanBrief), GitError> {
        let Some(polish) = &self.polish else { return Ok((MakerJob::Phase, self.goal.clone())) };
        let files = polish.files(site)?.iter().map(ToString::to_string).collect();
        Ok((MakerJob::Polish, PlanBrief { files, ..self.goal.clone() }))
    }
}

// Agents.
impl Fix {
    fn by_agent(self, site: &Arc<Site>) -> Result<(), GitError> {
        let tree = self.checkout(site)?;
        let name = self.maker.to_string();
        let names = [name.as_str(), "fixer", "dev"];
        let mut brief = site.brief(&self.effect, &name, &names);
        brief.loop_use = if self.polish.is_some() { "polish" } else { "phase" }.to_owned();
        brief.round = self.round + 1;
        let (job, goal) = self.order(site)?;
        brief.prompt = prompt::maker(&MakerBrief {
            job,
            plan: goal,
            round: self.round + 1,
            rounds_max: self.rounds_max,
            iteration: 1,
            findings: self.lines.clone(),
            feedback: self.feedback.clone(),
            word: brief.word.clone().unwrap_or_default(),
            ..MakerBrief::default()
        });
        brief.dir = tree.path().to_path_buf();
        brief.access = Access::Write;
        let effect = self.effect.clone();
        let mandate = Mandate {
            part: Part::Maker,
            of: self.of.to_string(),
            task: None,
            seat: None,
            round: self.round + 1,
            revision: None,
            findings: self.findings.iter().map(|(id, _)| *id).collect(),
            judged: None,
        };
        let speech = Speech { mandate, checks: None };
        // Each round is a new launch without a session: a fixer did not write the code, and has to see it as it stands
        // now.
        site.launch(&effect, &names, brief, Begin::Session(None), Some(speech), move |site, ended| {
            let effect = self.effect.clone();
            if let Err(error) = self.ended(site, &tree, ended) {
                site.fail(&effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
            }
        });
        Ok(())
    }

    fn ended(self, site: &Arc<Site>, tree: &Tree, ended: Ended) -> Result<(), GitError> {
        // A failed fixer's edits are not taken, but they are not thrown away either.
        if ended.failure.is_some() {
            let captured = tree.capture()?.tree;
            if captured != site.repo.tree_of(tree.base())? {
                self.snapshot(site, &captured, tree.base())?;
            }
        }
        // Its checkout stays until the loop has moved on. If the process dies before the report is in the journal, the
        // result is taken from there.
        let (report, notes) = self.report(site, tree, ended)?;
        site.report(&self.effect, Report::Loop(report), notes);
        Ok(())
    }

    fn report(&self, site: &Site, tree: &Tree, ended: Ended) -> Result<(LoopReport, Vec<Note>), GitError> {
        let word = ended.word.as_deref();
        let said = tribunal_findings::read_maker(&words(&ended.outcome, word), word);
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
        let taken = self.take(site, tree, &replies)?;
        if self.polish.is_some() && !taken.changed {
            let failure = Failure::new(FailureKind::Empty, "there was nothing to polish");
            return Ok((LoopReport::Failed(failure), notes));
        }
        if !taken.strayed.is_empty() {
            let files = taken.strayed.iter().map(|path| plain::line(&path.to_string())).collect();
            let (of, maker, round) = (self.of.clone(), self.maker.to_string(), self.round);
            notes.push(Note::Strayed(Box::new(StrayNote { of, maker, round, files })));
        }
        // What it left is kept, whatever it says about it.
        let made = LoopReport::Made { revision: taken.revision, done: true, replies };
        Ok((lacks.map_or(made, LoopReport::Failed), notes))
    }

    /// The report of a fixer that ended while no orchestrator watched.
    pub(crate) fn recovered(self, site: &Site, ended: Ended) -> Option<(LoopReport, Vec<Note>)> {
        let dir = self.dir(site);
        let tree = dir.join("tree");
        if !tree.symlink_metadata().ok()?.is_dir() {
            return None;
        }
        let start = site.commit_of(&self.left()).ok()?;
        let tree = site.repo.tree(&tree, &dir.join("index"), &start);
        self.report(site, &tree, ended).ok()
    }
}

/// The check that the fixers of the last round kept to their files. Out-of-scope edits were put back; here they are
/// reported.
pub(crate) struct KeptToFiles {
    effect: EffectId,
    strayed: Vec<StrayNote>,
}

impl KeptToFiles {
    /// Gathers the out-of-scope edits of the last round.
    pub(crate) fn gather(effect: &EffectId, lp: &Loop, docket: &Docket) -> KeptToFiles {
        let last = |stray: &&StrayNote| stray.of == *lp.id() && stray.round + 1 == lp.round();
        KeptToFiles { effect: effect.clone(), strayed: docket.strayed.iter().filter(last).cloned().collect() }
    }

    /// Reports at once: nothing has to be run.
    pub(crate) fn run(self, site: &Site) {
        let each = self.strayed.iter().flat_map(|stray| {
            stray.files.iter().map(move |file| {
                let text = format!("{} changed {file}, which was not its own; it was put back", stray.maker);
                let mut claim = crate::check::failing(Severity::Suggestion, text).at(file, None);
                claim.rule = Some(SCOPE.to_owned());
                claim
            })
        });
        let report = LoopReport::Checked(Checked { findings: each.collect() });
        site.report(&self.effect, Report::Loop(report), Vec::new());
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
    /// Gathers the parts from the docket.
    pub(crate) fn gather(
        effect: &EffectId,
        lp: &Loop,
        parts: &[(Maker, Revision)],
        docket: &Docket,
    ) -> Option<Join> {
        let open = lp.ledger().open();
        let nobody = |entry: &Entry| entry.fixer.as_ref().is_some_and(|fixer| fixer.as_str() == NOBODY);
        let reply = |entry: &Entry| match nobody(entry) {
            true => Some(Reply::CannotFix("nobody here mends it".to_owned())),
            false => entry.reply.clone(),
        };
        Some(Join {
            effect: effect.clone(),
            judged: lp.revision()?.clone(),
            parts: parts.iter().map(|(_, revision)| revision.clone()).collect(),
            findings: open.map(|(id, entry)| (id, entry.claim.clone(), reply(entry))).collect(),
            scope: scope_of(docket),
            round: lp.round(),
        })
    }

    /// Joins the parts. Runs on a worker.
    pub(crate) fn run(self, site: &Site) {
        match self.join(site) {
            Ok(revision) => {
                site.report(&self.effect, Report::Loop(LoopReport::Joined { revision }), Vec::new());
            }
            Err(error) => {
                site.fail(&self.effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
            }
        }
    }

    /// Takes each part's files as that part left them.
    ///
    /// The sets of files are disjoint, except for parts that came one after the other; there the later one includes the
    /// earlier one's work.
    fn join(&self, site: &Site) -> Result<Revision, GitError> {
        let judged = site.commit_of(&self.judged)?;
        let before = site.repo.tree_of(&judged)?;
        let mut tree = before.clone();
        for part in self.parts.iter().filter(|part| **part != self.judged) {
            let commit = site.commit_of(part)?;
            let paths = site.repo.changed_paths(&judged, &commit)?;
            tree = site.repo.tree_with(&tree, &commit, &paths)?;
        }
        // No part changed anything, so the judged revision stands and no empty commit is made.
        if tree == before {
            return Ok(self.judged.clone());
        }
        let named: Vec<(FindingId, &Claim, Option<&Reply>)> =
            self.findings.iter().map(|(id, claim, reply)| (*id, claim, reply.as_ref())).collect();
        keep_round(site, &self.judged, &tree, &message(site, &self.scope, self.round, &named))
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
