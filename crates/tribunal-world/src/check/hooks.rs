//! The user's commit hooks as checks. Tribunal commits by plumbing, which runs no hook, so the hooks that git would have run
//! are asked here instead: contained like any check, in a throwaway repository in which the change is staged. A hook
//! that says no is a finding. Hooks that lie in the tree are those of the commit the run began with, whatever the
//! change makes of them; those elsewhere are the user's own.

use super::Command;
use super::Found;
use super::NotRun;
use super::contained;
use super::ended;
use super::message::{self, Rewritten};
use super::tail;
use crate::project::inside;
use crate::sandbox::enforced;
use crate::site::base::fork;
use crate::site::{Site, lock, slug};
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
use tribunal_engine::docket::Docket;
use tribunal_git::{GitError, GitPath, Hook, Oid};
use tribunal_process::ExitHow;
use tribunal_view::plain;

pub(crate) use tribunal_core::checks::COMMIT_HOOKS as HOOKS;
/// Where git keeps the message of a commit in the making.
const MESSAGE: &str = ".git/COMMIT_EDITMSG";
/// What configures hooks: it is taken from the commit the run began with.
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
/// Files beside a hook that are copied from the user's folder at most, and how long each may be.
const BESIDE_MAX: usize = 200;
const BESIDE_BYTES_MAX: u64 = 1 << 20;
/// How much of what a hook would have changed is shown.
const DIFF_MAX: usize = 4_000;

/// Whether the user has commit hooks, and the settings let them judge.
pub(crate) fn any(site: &Site) -> bool {
    // What cannot be looked for is asked for, and says why when it is.
    site.settings.git.hooks != "skip" && site.repo.hooks().map_or(true, |hooks| !hooks.is_empty())
}

/// What the hooks of a loop are shown.
pub(crate) struct Staged {
    against: Against,
    /// The commit the run began with.
    base: String,
    /// The user's branch.
    branch: String,
}

/// What a change is staged against.
enum Against {
    /// The commit before it: a task is one commit.
    Parent,
    /// Where its lane left the run branch: all of the lane's work.
    Fork,
    /// The run branch: everything that was fixed since.
    Landed,
}

impl Staged {
    /// What is shown for a subject.
    pub(crate) fn of(subject: &Subject, docket: &Docket) -> Staged {
        let against = match subject {
            Subject::Lane(_, Job::Task(_)) => Against::Parent,
            Subject::Lane(_, Job::Repair | Job::Qa) | Subject::Plan(_) => Against::Fork,
            Subject::Phase | Subject::Polish | Subject::Chain => Against::Landed,
        };
        Staged { against, base: docket.base().to_owned(), branch: docket.about.branch.clone() }
    }

    /// What the hooks find in a revision.
    pub(crate) fn findings(&self, site: &Site, effect: &EffectId, commit: &Oid) -> Result<Found, GitError> {
        let parent = match self.against {
            Against::Parent => site.repo.parents_of(commit)?.into_iter().next(),
            Against::Fork => Some(fork(site, commit)?),
            Against::Landed => Some(site.run_head()?),
        };
        // What was there before anybody worked on it is not judged by how it would be committed.
        let Some(parent) = parent.filter(|parent| parent != commit) else { return Ok(Ok(Vec::new())) };
        if matches!(self.against, Against::Landed) && !site.repo.is_ancestor(&parent, commit)? {
            return Ok(Ok(Vec::new()));
        }
        let message = String::from_utf8_lossy(&site.repo.message_of(commit)?).into_owned();
        let rules = HookRules { base: Oid::parse(&self.base)?, branch: self.branch.clone() };
        let change = Change { parent, tree: commit.clone(), rules };
        Ok(match change.ask(site, &slug(&effect.to_string()), &[message])? {
            Answer::Fine(_) => Ok(Vec::new()),
            Answer::Refused(claims) => Ok(claims),
            Answer::Broken(why) => Err(NotRun::from(why)),
        })
    }
}

/// A change as the user would commit it.
pub(crate) struct Change {
    /// What it stands on.
    pub(crate) parent: Oid,
    /// What it comes to: a commit or a tree.
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

/// What the user's hooks say to a change.
pub(crate) enum Answer {
    /// They let it pass, with these messages: what they add to the trailers is in them.
    Fine(Vec<String>),
    /// They do not.
    Refused(Vec<Claim>),
    /// One of them did not run, or to no end.
    Broken(String),
}

/// How one hook ended.
pub(crate) enum Ran {
    /// It let the change pass, and would have changed these files.
    Passed(Vec<GitPath>),
    /// It refused, and would have changed these files.
    Refused { how: ExitHow, out: PathBuf, changed: Vec<GitPath> },
}

impl Change {
    /// Asks every hook, the one before a commit about the change and those about messages about each message. `name` is
    /// the launches' own.
    pub(crate) fn ask(&self, site: &Site, name: &str, messages: &[String]) -> Result<Answer, GitError> {
        let hooks = site.repo.hooks()?;
        if hooks.is_empty() || site.settings.git.hooks == "skip" {
            return Ok(Answer::Fine(messages.to_vec()));
        }
        let desk = Desk::set_up(site, &format!("{name}.hooks"), self, &hooks)?;
        let answer = self.asked(&desk, &hooks, messages);
        desk.clear()?;
        let answer = answer?;
        if !matches!(answer, Answer::Fine(_)) {
            return Ok(answer);
        }
        Ok(self.by_base(site, name, &hooks, messages)?.unwrap_or(answer))
    }

    /// What the hooks say with files of the base; none where they let the change pass there too. A hook that calls a file of
    /// the change was judged by the change. With the base's files alone it would not see the change: what it calls may be
    /// what it looks at. So both have to pass.
    fn by_base(
        &self,
        site: &Site,
        name: &str,
        hooks: &[Hook],
        messages: &[String],
    ) -> Result<Option<Answer>, GitError> {
        let base = &self.rules.base;
        let mut judge = JudgeFiles::default();
        for hook in hooks.iter().filter(|_| stands(Defence::BaseProgram)) {
            judge = judge.and(called_by(site, base, &self.tree, &text_of(site, hook, base)?)?);
        }
        let mut n = 0;
        let asked = base_judge::Change {
            site,
            trusted: base,
            commit: &self.tree,
            // What a hook reads is not watched: it is shown the whole change in any case.
            observed: &BTreeSet::new(),
        };
        let looked = base_judge::put_back(&asked, &judge, &mut |tree| {
            n += 1;
            let change =
                Change { tree: tree.clone(), parent: self.parent.clone(), rules: self.rules.clone() };
            let desk = Desk::set_up(site, &format!("{name}.hooks.base{n}"), &change, hooks)?;
            let answer = change.asked(&desk, hooks, messages);
            desk.clear()?;
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

    fn asked(&self, desk: &Desk<'_>, hooks: &[Hook], messages: &[String]) -> Result<Answer, GitError> {
        let known = (self.parent.clone(), desk.tree.clone());
        let mut claims = Vec::new();
        let before = hooks.iter().filter(|hook| hook.name == "pre-commit");
        for hook in before.filter(|_| !lock(&desk.site.hooked).contains(&known)) {
            match desk.run(hook, 0, &[])? {
                Err(why) => return Ok(Answer::Broken(why)),
                Ok(Ran::Passed(changed)) if changed.is_empty() => {}
                Ok(ran) => claims.extend(desk.claim(hook, &ran)?),
            }
        }
        if claims.is_empty() {
            lock(&desk.site.hooked).insert(known);
        }
        let mut taken = Vec::new();
        for (n, text) in messages.iter().enumerate() {
            match desk.about_message(hooks, n, text)? {
                Answer::Fine(text) => taken.extend(text),
                Answer::Refused(more) => claims.extend(more),
                broken @ Answer::Broken(_) => return Ok(broken),
            }
        }
        Ok(if claims.is_empty() { Answer::Fine(taken) } else { Answer::Refused(claims) })
    }
}

/// A throwaway repository in which a change is staged.
pub(crate) struct Desk<'a> {
    site: &'a Site,
    name: String,
    dir: PathBuf,
    parent: Oid,
    /// The files that are staged: the change, with hooks as the base commit has them.
    tree: Oid,
}

impl<'a> Desk<'a> {
    pub(crate) fn set_up(
        site: &'a Site,
        name: &str,
        change: &Change,
        hooks: &[Hook],
    ) -> Result<Desk<'a>, GitError> {
        let dir = site.dir.join("checks").join(name);
        site.shelf.discard(&dir)?;
        fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
        let folder = folder_in_tree(hooks);
        let trusted = CONFIGURE.iter().copied().map(GitPath::from).chain(folder.as_ref().map(whole_of));
        let trusted: Vec<GitPath> = trusted.collect();
        let tree = site.repo.tree_with(&change.tree, &change.rules.base, &trusted)?;
        let desk = Desk { site, name: name.to_owned(), dir, parent: change.parent.clone(), tree };
        let branch = change.rules.shown_branch();
        site.shelf.checkout_as(&desk.at(), &desk.index(), &desk.parent, &desk.tree, branch)?;
        if let Some(folder) = folder {
            desk.put_beside(&folder)?;
        }
        Ok(desk)
    }

    pub(crate) fn clear(self) -> Result<(), GitError> {
        self.site.shelf.discard(&self.dir).map(drop)
    }

    fn at(&self) -> PathBuf {
        self.dir.join("tree")
    }

    fn index(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// Files of the hooks' folder that no commit has, as some programs generate them, come from the user's own work tree.
    fn put_beside(&self, folder: &GitPath) -> Result<(), GitError> {
        let theirs = self.site.repo.work_tree().join(folder.to_path());
        let entries = fs::read_dir(&theirs).into_iter().flatten().filter_map(Result::ok);
        for entry in entries.take(BESIDE_MAX) {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let Ok(meta) = entry.path().symlink_metadata() else { continue };
            let taken = inside::is_taken(&self.at().join(&path));
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

    /// Runs a hook. The inner error says why it did not run, or to no end.
    pub(crate) fn run(&self, hook: &Hook, n: usize, args: &[&str]) -> Result<Result<Ran, String>, GitError> {
        let path = match &hook.in_tree {
            Some(path) => self.at().join(path.to_path()),
            None => hook.path.clone(),
        };
        let shell = hook.bare.then(|| "sh".to_owned());
        let argv = shell.into_iter().chain([path.to_string_lossy().into_owned()]);
        let command = Command {
            argv: argv.chain(args.iter().map(|arg| (*arg).to_owned())).collect(),
            shown: format!("your {} hook", hook.name),
            env: self.env(),
            // One of the user's own lies where nothing else is shown.
            reads: if hook.in_tree.is_none() { vec![path] } else { Vec::new() },
            limit: Some(Duration::from_secs(self.site.settings.git.hooks_s)),
            ..Command::default()
        };
        let name = format!("{}.{}", self.name, hook.name);
        let (how, out) = match contained(self.site, &name, n, &self.at(), &self.dir, &command) {
            Ok(ran) => ran,
            Err(why) => return Ok(Err(why)),
        };
        let changed = self.changed()?;
        Ok(Ok(match how {
            ExitHow::Code(0) => Ran::Passed(changed),
            how => Ran::Refused { how, out, changed },
        }))
    }

    /// What git sets for its hooks. Nobody is asked: there is no editor and no terminal.
    fn env(&self) -> Vec<(OsString, OsString)> {
        let who = self.site.signature();
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

    /// The staged files that are no longer as they were staged.
    fn changed(&self) -> Result<Vec<GitPath>, GitError> {
        let mut changed = Vec::new();
        for path in self.site.repo.changed_paths(&self.tree, &self.captured()?)? {
            if self.site.repo.file_at(&self.tree, &path)?.is_some() {
                changed.push(path);
            }
        }
        Ok(changed)
    }

    /// The files as a hook left them.
    pub(crate) fn captured(&self) -> Result<Oid, GitError> {
        Ok(self.site.repo.tree(&self.at(), &self.index(), &self.parent).capture()?.tree)
    }

    /// Asks the hooks that look at a message.
    pub(crate) fn about_message(&self, hooks: &[Hook], n: usize, text: &str) -> Result<Answer, GitError> {
        let mut now = text.to_owned();
        for hook in hooks.iter().filter(|hook| hook.name != "pre-commit") {
            inside::write(&self.at(), MESSAGE, now.as_bytes())?;
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

    /// What a hook's answer is as findings.
    fn claim(&self, hook: &Hook, ran: &Ran) -> Result<Vec<Claim>, GitError> {
        let (mut claims, changed) = match ran {
            Ran::Passed(changed) => (Vec::new(), changed),
            Ran::Refused { how, out, changed } => {
                let hint = enforced::way_out(self.site.network(None), &said(out));
                let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                let mut claim = refusal(hook, &format!("your {} hook refuses the commit{hint}", hook.name));
                claim.details = ended(how);
                claim.evidence = said(out);
                (vec![claim], changed)
            }
        };
        let after = if changed.is_empty() { self.tree.clone() } else { self.captured()? };
        for path in changed.iter().take(20) {
            let text = format!("your {} hook changes this file before it is committed", hook.name);
            let mut claim = refusal(hook, &text).at(path.to_string(), None);
            let diff = self.site.repo.diff_text(&self.tree, &after, std::slice::from_ref(path), DIFF_MAX)?;
            claim.evidence = String::from_utf8_lossy(&diff.bytes).into_owned();
            claim.suggestion =
                "leave the file as the hook would: the evidence shows what it changes".to_owned();
            claims.push(claim);
        }
        Ok(claims)
    }
}

/// What a command said at the end, both streams.
pub(crate) fn said(out: &Path) -> String {
    let parts = [tail(&out.join("stdout")), tail(&out.join("stderr"))];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn refusal(hook: &Hook, text: &str) -> Claim {
    let mut claim = super::failing(Severity::Blocker, text);
    claim.rule = Some(hook.name.to_owned());
    claim
}

/// A finding about a message says which, and how to give another.
fn about(mut claim: Claim, message: &str) -> Claim {
    let subject = plain::clipped(message.lines().next().unwrap_or_default(), 100);
    claim.details = format!("the message begins `{subject}`. {}", claim.details).trim_end().to_owned();
    claim.suggestion =
        "give the commit another message: `COMMIT <word>: <line>`, one for each line of it".to_owned();
    claim
}

/// What a hook says, as it will be run; nothing where it is no text.
fn text_of(site: &Site, hook: &Hook, base: &Oid) -> Result<String, GitError> {
    let bytes = match &hook.in_tree {
        Some(path) => site.repo.file_at(base, path)?.or_else(|| fs::read(&hook.path).ok()),
        None => fs::read(&hook.path).ok(),
    };
    Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
}

/// The folder of the hooks, where it lies in the tree.
fn folder_in_tree(hooks: &[Hook]) -> Option<GitPath> {
    let path = hooks.iter().find_map(|hook| hook.in_tree.as_ref())?.to_path();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    Some(GitPath::new(folder.as_os_str().as_bytes()))
}

/// All that belongs to a hooks' folder: one called `_` holds what is generated for the folder above it.
fn whole_of(folder: &GitPath) -> GitPath {
    let path = folder.to_path();
    let above = path.parent().filter(|above| path.ends_with("_") && !above.as_os_str().is_empty());
    above.map_or_else(|| folder.clone(), |above| GitPath::new(above.as_os_str().as_bytes()))
}

/// Planning documents as the user's hooks leave them: where one of them tidies nothing else, what it makes of the documents
/// is taken. They are Tribunal's own, and no part of what was judged.
pub(crate) fn tidied(
    site: &Site,
    effect: &EffectId,
    rules: &HookRules,
    parent: &Oid,
    tree: &Oid,
    planning: &GitPath,
) -> Result<Oid, GitError> {
    let hooks = site.repo.hooks()?;
    let before = hooks.iter().find(|hook| hook.name == "pre-commit");
    let Some(hook) = before.filter(|_| site.settings.git.hooks != "skip") else { return Ok(tree.clone()) };
    let change = Change { parent: parent.clone(), tree: tree.clone(), rules: rules.clone() };
    let desk = Desk::set_up(site, &format!("{}.tidied", slug(&effect.to_string())), &change, &hooks)?;
    let left = match desk.run(hook, 0, &[])? {
        Ok(Ran::Passed(changed) | Ran::Refused { changed, .. })
            if !changed.is_empty() && changed.iter().all(|path| path.is_under(planning)) =>
        {
            site.repo.tree_with(tree, &desk.captured()?, &changed)?
        }
        // Whatever else it says it says again when it is asked about the commit.
        _ => tree.clone(),
    };
    desk.clear()?;
    Ok(left)
}

impl Site {
    /// The line `base..head` as the user's rules have it: their hooks let every message and all of the change pass, what
    /// they add to messages is there, and it is signed. Its commits have no ref yet.
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
