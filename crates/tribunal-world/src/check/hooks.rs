//! The user's commit hooks as checks. Tribunal commits by git plumbing, which runs no hooks, so the hooks that git
//! would have run are run here instead: contained like any check, in a throwaway repository in which the change is
//! staged. A hook that refuses is a finding.
//!
//! Hooks that lie in the tree are those of the commit the run began with, whatever the change makes of them; hooks
//! elsewhere are the user's own. A change must not choose its own judge, so every path to a hook, its configuration or
//! a file it calls has to keep that rule.

use super::Command;
use super::Found;
use super::NotRun;
use super::contained;
use super::ended;
use super::message::{self, Rewritten};
use super::tail;
use crate::context::base::fork;
use crate::context::{RunContext, lock, slug};
use crate::project::inside;
use crate::sandbox::enforced;
use crate::tests_run::base_judge::{self, called_by};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::EffectId;
use tribunal_core::finding::{Claim, Severity};
use tribunal_core::green::CommandState;
use tribunal_core::judge_files::JudgeFiles;
use tribunal_core::run::{Job, Subject};
use tribunal_engine::run_state::RunState;
use tribunal_git::{GitError, GitPath, Hook, Oid};
use tribunal_process::ExitHow;
use tribunal_view::plain;

pub(crate) use tribunal_core::checks::COMMIT_HOOKS as HOOKS;
/// Where git keeps the message of a commit that is being made.
const MESSAGE: &str = ".git/COMMIT_EDITMSG";
/// Files that configure hooks. They are taken from the commit the run began with.
const CONFIGURE: [&str; 14] = [
    ".husky",
    ".githooks",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".overcommit.yml",
    ".lintstagedrc",
    ".lintstagedrc.json",
    ".commitlintrc",
    ".commitlintrc.json",
    "commitlint.config.js",
];
/// How many generated files are copied from the user's hook folder at most, and how long each may be.
const BESIDE_MAX: usize = 200;
const BESIDE_BYTES_MAX: u64 = 1 << 20;
/// How much is shown of what a hook would have changed, in bytes.
const DIFF_MAX: usize = 4_000;

/// Whether the user has commit hooks and the settings let them judge.
pub(crate) fn any(context: &RunContext) -> bool {
    // If the hooks cannot be listed, the check runs anyway and reports why. Leaving it out would let a change pass
    // unseen.
    context.settings.git.hooks != "skip" && context.repo.hooks().map_or(true, |hooks| !hooks.is_empty())
}

/// What the hooks of a loop get to see.
pub(crate) struct Staged {
    against: Against,
    /// The commit the run began with. Hooks that lie in the tree are taken from it.
    base: String,
    /// The user's branch.
    branch: String,
}

/// The commit that a change is staged against.
enum Against {
    /// The commit before it: a task is one commit.
    Parent,
    /// The commit where its lane left the run branch, so that all of the lane's work is staged.
    Fork,
    /// The run branch, so that everything that was fixed since is staged.
    Landed,
}

impl Staged {
    /// What the hooks see for a subject.
    pub(crate) fn of(subject: &Subject, run_state: &RunState) -> Staged {
        let against = match subject {
            Subject::Lane(_, Job::Task(_)) => Against::Parent,
            Subject::Lane(_, Job::Repair | Job::Qa) | Subject::Plan(_) => Against::Fork,
            Subject::Phase | Subject::Polish | Subject::Chain => Against::Landed,
        };
        Staged { against, base: run_state.base().to_owned(), branch: run_state.about.branch.clone() }
    }

    /// The findings of the hooks about a revision.
    pub(crate) fn findings(
        &self,
        context: &RunContext,
        effect: &EffectId,
        commit: &Oid,
    ) -> Result<Found, GitError> {
        let parent = match self.against {
            Against::Parent => context.repo.parents_of(commit)?.into_iter().next(),
            Against::Fork => Some(fork(context, commit)?),
            Against::Landed => Some(context.run_head()?),
        };
        // A revision that is its own parent contains no work of this run. Code that was there before is not judged by
        // how it would be committed.
        let Some(parent) = parent.filter(|parent| parent != commit) else { return Ok(Ok(Vec::new())) };
        // The revision does not stand on the run branch, so nothing of it would be committed there.
        if matches!(self.against, Against::Landed) && !context.repo.is_ancestor(&parent, commit)? {
            return Ok(Ok(Vec::new()));
        }
        let message = String::from_utf8_lossy(&context.repo.message_of(commit)?).into_owned();
        // The hooks are the base's, while `parent` is only what the change is staged against.
        let rules = HookRules { base: Oid::parse(&self.base)?, branch: self.branch.clone() };
        let change = Change { parent, tree: commit.clone(), rules };
        Ok(match change.ask(context, &slug(&effect.to_string()), &[message])? {
            Answer::Fine(_) => Ok(Vec::new()),
            Answer::Refused(claims) => Ok(claims),
            Answer::Broken(why) => Err(NotRun::from(why)),
        })
    }
}

/// A change as the user would commit it.
pub(crate) struct Change {
    /// The commit that the change stands on.
    pub(crate) parent: Oid,
    /// The result of the change: a commit or a tree.
    pub(crate) tree: Oid,
    /// Whose hooks count, and what they are told.
    pub(crate) rules: HookRules,
}

/// Whose hooks count, and what they are told.
#[derive(Clone)]
pub(crate) struct HookRules {
    /// The commit the run began with: hooks that lie in the tree are as they are there, whatever the change makes of them.
    pub(crate) base: Oid,
    /// The branch that the change is for.
    ///
    /// The throwaway repository has it checked out, because a hook may forbid commits to a branch by its name. It is
    /// empty where a review has no branch.
    pub(crate) branch: String,
}

impl HookRules {
    /// What a hook sees as the branch it commits to.
    fn shown_branch(&self) -> &str {
        if self.branch.is_empty() { "check" } else { &self.branch }
    }
}

/// The answer of the user's hooks to a change.
pub(crate) enum Answer {
    /// All hooks pass. Holds the messages with the trailers that the hooks added.
    Fine(Vec<String>),
    /// At least one hook refuses; the findings say why.
    Refused(Vec<Claim>),
    /// A hook did not run, or not to its end.
    Broken(String),
}

/// How one hook ended.
pub(crate) enum Ran {
    /// It passed. Holds the files that it would have changed.
    Passed(Vec<GitPath>),
    /// It refused. `changed` holds the files that it would have changed.
    Refused { how: ExitHow, out: PathBuf, changed: Vec<GitPath> },
}

impl Change {
    /// Asks every hook: `pre-commit` about the change, the message hooks about each message. `name` names the launches.
    ///
    /// After a pass the hooks are asked again with files of the base (`by_base`); only both passes together are a pass.
    pub(crate) fn ask(
        &self,
        context: &RunContext,
        name: &str,
        messages: &[String],
    ) -> Result<Answer, GitError> {
        let hooks = context.repo.hooks()?;
        if hooks.is_empty() || context.settings.git.hooks == "skip" {
            return Ok(Answer::Fine(messages.to_vec()));
        }
        let report_server = ReportServer::set_up(context, &format!("{name}.hooks"), self, &hooks)?;
        let answer = self.asked(&report_server, &hooks, messages);
        // Cleared before the answer is looked at, so that an error leaves no repository behind.
        report_server.clear()?;
        let answer = answer?;
        if !matches!(answer, Answer::Fine(_)) {
            return Ok(answer);
        }
        Ok(self.by_base(context, name, &hooks, messages)?.unwrap_or(answer))
    }

    /// Asks the hooks again with the base's versions of the files they call. None if they pass there too.
    ///
    /// A hook that calls a file of the change was judged by the change itself. With the base's files alone it might not
    /// see the change, since the file it calls may be the one it looks at. So both runs have to pass.
    fn by_base(
        &self,
        context: &RunContext,
        name: &str,
        hooks: &[Hook],
        messages: &[String],
    ) -> Result<Option<Answer>, GitError> {
        let base = &self.rules.base;
        let mut judge = JudgeFiles::default();
        for hook in hooks.iter().filter(|_| stands(Defence::BaseProgram)) {
            judge = judge.and(called_by(context, base, &self.tree, &text_of(context, hook, base)?)?);
        }
        let mut n = 0;
        let asked = base_judge::Change {
            context,
            trusted: base,
            commit: &self.tree,
            // The reads of a hook are not watched: it is shown the whole change in any case.
            observed: &BTreeSet::new(),
        };
        let looked = base_judge::put_back(&asked, &judge, &mut |tree| {
            n += 1;
            let change =
                Change { tree: tree.clone(), parent: self.parent.clone(), rules: self.rules.clone() };
            let report_server =
                ReportServer::set_up(context, &format!("{name}.hooks.base{n}"), &change, hooks)?;
            let answer = change.asked(&report_server, hooks, messages);
            report_server.clear()?;
            let answer = answer?;
            let state = match &answer {
                Answer::Fine(_) => CommandState::Green,
                Answer::Refused(_) => CommandState::Red { how: "refused".to_owned(), broke: false },
                Answer::Broken(why) => CommandState::Unknown { why: why.clone() },
            };
            Ok((state, answer))
        })?;
        Ok(looked.filter(|look| !look.judged.state.is_green()).map(|look| look.evidence))
    }

    /// Asks the hooks in one staged repository.
    fn asked(
        &self,
        report_server: &ReportServer<'_>,
        hooks: &[Hook],
        messages: &[String],
    ) -> Result<Answer, GitError> {
        let known = (self.parent.clone(), report_server.tree.clone());
        let mut claims = Vec::new();
        let before = hooks.iter().filter(|hook| hook.name == "pre-commit");
        // `pre-commit` sees only files, so a pass holds for the same parent and tree, whatever the messages are.
        for hook in before.filter(|_| !lock(&report_server.context.hooked).contains(&known)) {
            match report_server.run(hook, 0, &[])? {
                Err(why) => return Ok(Answer::Broken(why)),
                // A hook that passes but changes files counts as a refusal: the commit would not be the tree that was
                // reviewed.
                Ok(Ran::Passed(changed)) if changed.is_empty() => {}
                Ok(ran) => claims.extend(report_server.claim(hook, &ran)?),
            }
        }
        if claims.is_empty() {
            lock(&report_server.context.hooked).insert(known);
        }
        let mut taken = Vec::new();
        for (n, text) in messages.iter().enumerate() {
            match report_server.about_message(hooks, n, text)? {
                Answer::Fine(text) => taken.extend(text),
                Answer::Refused(more) => claims.extend(more),
                broken @ Answer::Broken(_) => return Ok(broken),
            }
        }
        Ok(if claims.is_empty() { Answer::Fine(taken) } else { Answer::Refused(claims) })
    }
}

/// A throwaway repository in which a change is staged.
pub(crate) struct ReportServer<'a> {
    context: &'a RunContext,
    name: String,
    dir: PathBuf,
    parent: Oid,
    /// The staged tree: the change, with hooks and their configuration as the base commit has them.
    tree: Oid,
}

impl<'a> ReportServer<'a> {
    /// Makes the repository and stages the change. The caller has to `clear` it.
    pub(crate) fn set_up(
        context: &'a RunContext,
        name: &str,
        change: &Change,
        hooks: &[Hook],
    ) -> Result<ReportServer<'a>, GitError> {
        let dir = context.dir.join("checks").join(name);
        context.worktree_pool.discard(&dir)?;
        fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
        let folder = folder_in_tree(hooks);
        let trusted = CONFIGURE.iter().copied().map(GitPath::from).chain(folder.as_ref().map(whole_of));
        let trusted: Vec<GitPath> = trusted.collect();
        let tree = context.repo.tree_with(&change.tree, &change.rules.base, &trusted)?;
        let report_server =
            ReportServer { context, name: name.to_owned(), dir, parent: change.parent.clone(), tree };
        let branch = change.rules.shown_branch();
        context.worktree_pool.checkout_as(
            &report_server.at(),
            &report_server.index(),
            &report_server.parent,
            &report_server.tree,
            branch,
        )?;
        if let Some(folder) = folder {
            report_server.put_beside(&folder)?;
        }
        Ok(report_server)
    }

    pub(crate) fn clear(self) -> Result<(), GitError> {
        self.context.worktree_pool.discard(&self.dir).map(drop)
    }

    fn at(&self) -> PathBuf {
        self.dir.join("tree")
    }

    fn index(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// Copies files of the hook folder that no commit has from the user's own work tree. Some hook managers generate
    /// them.
    fn put_beside(&self, folder: &GitPath) -> Result<(), GitError> {
        let theirs = self.context.repo.work_tree().join(folder.to_path());
        let entries = fs::read_dir(&theirs).into_iter().flatten().filter_map(Result::ok);
        for entry in entries.take(BESIDE_MAX) {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let Ok(meta) = entry.path().symlink_metadata() else { continue };
            let taken = inside::is_taken(&self.at().join(&path));
            // A file of the commit wins over the user's copy, and a link is not followed: it could lead anywhere.
            if taken || !meta.is_file() || meta.len() > BESIDE_BYTES_MAX {
                continue;
            }
            let io = |source| GitError::Io { path: entry.path(), source };
            let bytes = fs::read(entry.path()).map_err(io)?;
            inside::write(&self.at(), &path, &bytes)?;
            let mode = fs::Permissions::from_mode(meta.permissions().mode() & 0o777);
            fs::set_permissions(self.at().join(&path), mode).map_err(io)?;
        }
        Ok(())
    }

    /// Runs a hook. The inner error says why it did not run, or not to its end.
    pub(crate) fn run(&self, hook: &Hook, n: usize, args: &[&str]) -> Result<Result<Ran, String>, GitError> {
        // A hook in the tree is run from the staged checkout, where it is the base's version.
        let path = match &hook.in_tree {
            Some(path) => self.at().join(path.to_path()),
            None => hook.path.clone(),
        };
        // A hook without a `#!` line is run by `sh`, as git does it.
        let shell = hook.bare.then(|| "sh".to_owned());
        let argv = shell.into_iter().chain([path.to_string_lossy().into_owned()]);
        let command = Command {
            argv: argv.chain(args.iter().map(|arg| (*arg).to_owned())).collect(),
            shown: format!("your {} hook", hook.name),
            env: self.env(),
            // A hook of the user's own lies outside the tree, where the sandbox shows nothing unless it is named.
            reads: if hook.in_tree.is_none() { vec![path] } else { Vec::new() },
            limit: Some(Duration::from_secs(self.context.settings.git.hooks_s)),
            ..Command::default()
        };
        let name = format!("{}.{}", self.name, hook.name);
        let (how, out) = match contained(self.context, &name, n, &self.at(), &self.dir, &command) {
            Ok(ran) => ran,
            Err(why) => return Ok(Err(why)),
        };
        let changed = self.changed()?;
        Ok(Ok(match how {
            ExitHow::Code(0) => Ran::Passed(changed),
            how => Ran::Refused { how, out, changed },
        }))
    }

    /// The environment that git sets for its hooks. There is no editor and no terminal, so that no hook can wait for a
    /// person.
    fn env(&self) -> Vec<(OsString, OsString)> {
        let who = self.context.signature();
        let pairs = [
            ("GIT_INDEX_FILE", ".git/index"),
            ("GIT_PREFIX", ""),
            ("GIT_EDITOR", ":"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_AUTHOR_NAME", &who.name),
            ("GIT_AUTHOR_EMAIL", &who.email),
            ("GIT_COMMITTER_NAME", &who.name),
            ("GIT_COMMITTER_EMAIL", &who.email),
        ];
        pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// The staged files that a hook changed. A file that a hook only adds is not one of them.
    fn changed(&self) -> Result<Vec<GitPath>, GitError> {
        let mut changed = Vec::new();
        for path in self.context.repo.changed_paths(&self.tree, &self.captured()?)? {
            if self.context.repo.file_at(&self.tree, &path)?.is_some() {
                changed.push(path);
            }
        }
        Ok(changed)
    }

    /// The files as a hook left them.
    pub(crate) fn captured(&self) -> Result<Oid, GitError> {
        Ok(self.context.repo.tree(&self.at(), &self.index(), &self.parent).capture()?.tree)
    }

    /// Asks the hooks that look at a message.
    ///
    /// Each hook gets the message as the one before it left it. Only trailers that a hook adds are taken over; any
    /// other rewriting is a refusal.
    pub(crate) fn about_message(&self, hooks: &[Hook], n: usize, text: &str) -> Result<Answer, GitError> {
        let mut now = text.to_owned();
        for hook in hooks.iter().filter(|hook| hook.name != "pre-commit") {
            inside::write(&self.at(), MESSAGE, now.as_bytes())?;
            // `prepare-commit-msg` also gets the source of the message, as it would from `git commit -m`.
            let args: &[&str] = if hook.name == "commit-msg" { &[MESSAGE] } else { &[MESSAGE, "message"] };
            match self.run(hook, n, args)? {
                Err(why) => return Ok(Answer::Broken(why)),
                Ok(ran @ Ran::Refused { .. }) => {
                    let claims = self.claim(hook, &ran)?.into_iter();
                    let about = |claim| about(claim, &now);
                    return Ok(Answer::Refused(claims.map(about).collect()));
                }
                Ok(Ran::Passed(_)) => {}
            }
            // A hook that removed the message leaves an empty one, which is refused as a rewriting.
            let left = inside::read(&self.at(), MESSAGE).unwrap_or_default();
            match message::taken(&now, &String::from_utf8_lossy(&left)) {
                Rewritten::Taken(text) => now = text,
                Rewritten::Refused(why) => {
                    let mut claim =
                        refusal(hook, &format!("your {} hook rewrites the commit message", hook.name));
                    claim.details = format!("{why}. Only trailers that it adds are taken.");
                    claim.evidence = plain::clipped(&String::from_utf8_lossy(&left), DIFF_MAX);
                    return Ok(Answer::Refused(vec![about(claim, &now)]));
                }
            }
        }
        Ok(Answer::Fine(vec![now]))
    }

    /// The findings for a hook's answer.
    fn claim(&self, hook: &Hook, ran: &Ran) -> Result<Vec<Claim>, GitError> {
        let (mut claims, changed) = match ran {
            Ran::Passed(changed) => (Vec::new(), changed),
            Ran::Refused { how, out, changed } => {
                let hint = enforced::way_out(self.context.network(None), &said(out));
                let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                let mut claim = refusal(hook, &format!("your {} hook refuses the commit{hint}", hook.name));
                claim.details = ended(how);
                claim.evidence = said(out);
                (vec![claim], changed)
            }
        };
        let after = if changed.is_empty() { self.tree.clone() } else { self.captured()? };
        // A formatter may touch every file. Twenty findings are enough to tell the builder what the hook wants.
        for path in changed.iter().take(20) {
            let text = format!("your {} hook changes this file before it is committed", hook.name);
            let mut claim = refusal(hook, &text).at(path.to_string(), None);
            let diff =
                self.context.repo.diff_text(&self.tree, &after, std::slice::from_ref(path), DIFF_MAX)?;
            claim.evidence = String::from_utf8_lossy(&diff.bytes).into_owned();
            claim.suggestion =
                "leave the file as the hook would: the evidence shows what it changes".to_owned();
            claims.push(claim);
        }
        Ok(claims)
    }
}

/// The last lines of both output streams of a command.
pub(crate) fn said(out: &Path) -> String {
    let parts = [tail(&out.join("stdout")), tail(&out.join("stderr"))];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn refusal(hook: &Hook, text: &str) -> Claim {
    let mut claim = super::failing(Severity::Blocker, text);
    claim.rule = Some(hook.name.to_owned());
    claim
}

/// Adds to a finding which message it is about and how to give another one.
fn about(mut claim: Claim, message: &str) -> Claim {
    let subject = plain::clipped(message.lines().next().unwrap_or_default(), 100);
    claim.details = format!("the message begins `{subject}`. {}", claim.details).trim_end().to_owned();
    claim.suggestion =
        "give the commit another message: `COMMIT <word>: <line>`, one for each line of it".to_owned();
    claim
}

/// The text of a hook as it will be run; empty if it cannot be read.
fn text_of(context: &RunContext, hook: &Hook, base: &Oid) -> Result<String, GitError> {
    let bytes = match &hook.in_tree {
        Some(path) => context.repo.file_at(base, path)?.or_else(|| fs::read(&hook.path).ok()),
        None => fs::read(&hook.path).ok(),
    };
    Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
}

/// The folder of the hooks, if it lies in the tree.
fn folder_in_tree(hooks: &[Hook]) -> Option<GitPath> {
    let path = hooks.iter().find_map(|hook| hook.in_tree.as_ref())?.to_path();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    Some(GitPath::new(folder.as_os_str().as_bytes()))
}

/// Everything that belongs to a hook folder. A folder called `_` holds what is generated for the folder above it.
fn whole_of(folder: &GitPath) -> GitPath {
    let path = folder.to_path();
    let above = path.parent().filter(|above| path.ends_with("_") && !above.as_os_str().is_empty());
    above.map_or_else(|| folder.clone(), |above| GitPath::new(above.as_os_str().as_bytes()))
}

/// The planning documents as the user's `pre-commit` hook leaves them.
///
/// The hook's changes are taken only if it changes nothing but planning documents. Those are Tribunal's own, and not
/// part of what was reviewed.
pub(crate) fn tidied(
    context: &RunContext,
    effect: &EffectId,
    rules: &HookRules,
    parent: &Oid,
    tree: &Oid,
    planning: &GitPath,
) -> Result<Oid, GitError> {
    let hooks = context.repo.hooks()?;
    let before = hooks.iter().find(|hook| hook.name == "pre-commit");
    let Some(hook) = before.filter(|_| context.settings.git.hooks != "skip") else { return Ok(tree.clone()) };
    let change = Change { parent: parent.clone(), tree: tree.clone(), rules: rules.clone() };
    let report_server =
        ReportServer::set_up(context, &format!("{}.tidied", slug(&effect.to_string())), &change, &hooks)?;
    let left = match report_server.run(hook, 0, &[])? {
        // Many formatters refuse the commit in which they changed something, so both ends count.
        Ok(Ran::Passed(changed) | Ran::Refused { changed, .. })
            if !changed.is_empty() && changed.iter().all(|path| path.is_under(planning)) =>
        {
            context.repo.tree_with(tree, &report_server.captured()?, &changed)?
        }
        // Any other answer is given again when the hooks are asked about the commit itself.
        _ => tree.clone(),
    };
    report_server.clear()?;
    Ok(left)
}

impl RunContext {
    /// The commits `base..head` brought in line with the user's rules: the hooks pass every message and the whole
    /// change, the trailers they add are included, and the commits are signed. No ref leads to them yet.
    ///
    /// The caller creates the ref, so that nothing has moved if a hook refuses.
    pub(crate) fn by_the_rules(
        &self,
        effect: &EffectId,
        rules: &HookRules,
        base: &Oid,
        head: &Oid,
    ) -> Result<Result<Oid, Answer>, GitError> {
        let commits = self.repo.commits_between(base, head)?;
        let mut messages = Vec::new();
        for commit in &commits {
            messages.push(String::from_utf8_lossy(&self.repo.message_of(commit)?).into_owned());
        }
        let change = Change { parent: base.clone(), tree: head.clone(), rules: rules.clone() };
        if commits.is_empty() {
            return Ok(Ok(head.clone()));
        }
        let messages = match change.ask(self, &format!("{}.rules", slug(&effect.to_string())), &messages)? {
            Answer::Fine(messages) => messages,
            other => return Ok(Err(other)),
        };
        let head = self.repo.reword_line(base, head, &messages)?;
        self.signed(base, &head).map(Ok)
    }
}
