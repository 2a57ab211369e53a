//! The judging files as the base has them: which of the files that judge a change it also changes, and the change's
//! tree with those files put back.
//!
//! A change that edits its own tests or build scripts could make any command pass. `tribunal_core::judge_files` says
//! which files judge; this file reads them from git. Files that a named person accepted are trusted from then on, in
//! later rounds, landings and rebases.

use crate::context::RunContext;
use std::collections::BTreeSet;
use tribunal_core::green::{BaseJudge, CommandState, changed_with_code};
use tribunal_core::ids::{LoopId, PlanId};
use tribunal_core::judge_files::{JudgeFacts, JudgeFiles, Named, Stage, commands_in, ordinary, runs_targets};
use tribunal_docs::integrity;
use tribunal_docs::project_commands::{ProjectFiles, defines, recipe_of};
use tribunal_engine::run_state::{CommandNote, RunState};
use tribunal_git::{GitError, GitPath, Oid};

/// The source of trusted judging files: the commit that a run or review began with, and the files that people accepted
/// since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustedJudge {
    base: String,
    /// Files that a named person accepted, with the tree that has them.
    taken: Vec<(String, Vec<String>)>,
}

/// A judging command, for which the judging files are looked up.
pub(crate) struct JudgingCommand {
    /// The command, after the commands that run before it.
    pub(crate) steps: Vec<Vec<String>>,
    /// Whether the files it names judge or are judged.
    pub(crate) named: Named,
}

/// The result of a change with its judging files put back: of the first stage that is not green, else of the last one.
pub(crate) struct BaseLook<T> {
    /// How the command ended there.
    pub(crate) judged: BaseJudge,
    /// What that run left behind.
    pub(crate) evidence: T,
    /// All judging files that the change has changed. Whoever accepts the change accepts these.
    pub(crate) files: Vec<String>,
}

/// Runs the command on a tree, watches these files, and returns those that were read.
pub(crate) type ReadOn<'a> = &'a mut dyn FnMut(&Oid, &[String]) -> Result<BTreeSet<String>, GitError>;

/// Runs the command on a tree. Returns how it ended and what the run left behind.
pub(crate) type RunOn<'a, T> = &'a mut dyn FnMut(&Oid) -> Result<(CommandState, T), GitError>;

impl TrustedJudge {
    /// The trusted files that the run state knows.
    pub(crate) fn of(run_state: &RunState) -> TrustedJudge {
        TrustedJudge {
            base: run_state.reviewed_from().to_owned(),
            taken: taken(run_state)
                .map(|note| (note.tree.clone(), note.judge.clone()))
                .chain(run_state.judges_taken().map(|note| (note.tree.clone(), note.files.clone())))
                .collect(),
        }
    }

    /// The tree whose files judge: the base, with every accepted file put into it.
    fn tree(&self, context: &RunContext) -> Result<Oid, GitError> {
        let mut tree = context.repo.tree_of(&Oid::parse(&self.base)?)?;
        for (taken, files) in &self.taken {
            let files: Vec<GitPath> = files.iter().map(|file| GitPath::from(file.as_str())).collect();
            tree = context.repo.tree_with(&tree, &Oid::parse(taken)?, &files)?;
        }
        Ok(tree)
    }

    /// Runs commands on a change with its judging files put back, stage by stage.
    ///
    /// None if the change touches none of these files, or only tests together with the code that they test. Files that
    /// nothing names are found by watching which ones a run reads.
    pub(crate) fn look<T>(
        &self,
        context: &RunContext,
        commands: &[JudgingCommand],
        commit: &Oid,
        run: RunOn<'_, T>,
        read: ReadOn<'_>,
    ) -> Result<Option<BaseLook<T>>, GitError> {
        let trusted = self.tree(context)?;
        // The files of all commands together, because they run one after the other in one checkout.
        let mut files = JudgeFiles::default();
        for command in commands {
            files = files.and(changed_judge(context, &trusted, commit, command)?);
        }
        // Watching costs a run of its own, so it is done only if there is a file worth it.
        let mut watched = BTreeSet::new();
        for command in commands {
            watched.extend(with_facts(context, &trusted, commit, command, "", |facts| {
                facts.worth_watching(&files)
            })?);
        }
        let watched: Vec<String> = watched.into_iter().collect();
        let observed = match watched.is_empty() {
            true => BTreeSet::new(),
            false => read(&trusted, &watched)?,
        };
        // Files that a run read may themselves name others, so they are added before anything is put back.
        for command in commands.iter().filter(|_| !observed.is_empty()) {
            let more = with_facts(context, &trusted, commit, command, "", |facts| facts.observed(&observed))?;
            files = files.and(more);
        }
        put_back(&Change { context, trusted: &trusted, commit, observed: &observed }, &files, run)
    }
}

/// A change, and the tree whose files judge it.
pub(crate) struct Change<'a> {
    pub(crate) context: &'a RunContext,
    pub(crate) trusted: &'a Oid,
    pub(crate) commit: &'a Oid,
    /// Judging files that nothing names: a run was seen to read them.
    pub(crate) observed: &'a BTreeSet<String>,
}

/// The stages behind `TrustedJudge::look`, with the judging files already known.
///
/// The stages go from files that surely judge to files that might. With everything put back at once, the code under
/// test may be among it, and a red run would prove nothing.
pub(crate) fn put_back<T>(
    change: &Change<'_>,
    files: &JudgeFiles,
    run: RunOn<'_, T>,
) -> Result<Option<BaseLook<T>>, GitError> {
    let Change { context, trusted, commit, .. } = *change;
    let (mut last, mut tests_stay) = (None, false);
    for stage in Stage::ALL {
        let back = files.put_back(stage, tests_stay);
        // The change touches nothing of this stage.
        if back.is_empty() {
            continue;
        }
        let (state, evidence) = run(&context.repo.tree_with(commit, trusted, &paths(&back))?)?;
        let is_green = state.is_green();
        // The base's tests may fail because code and tests changed together. That is ordinary work and no reason to ask
        // a person.
        if !is_green && change.are_ordinary(stage, files.own(stage), run)? {
            // From here on the tests stay as the change has them: they were found to be ordinary.
            tests_stay |= stage == Stage::Tests;
            continue;
        }
        let mut new = BTreeSet::new();
        for file in &back {
            // Reports tell files that the change brings from files that it edits.
            if context.repo.file_at(trusted, &GitPath::from(file.as_str()))?.is_none() {
                new.insert(file.clone());
            }
        }
        let judged = BaseJudge { state, files: back, new };
        last = Some(BaseLook { judged, evidence, files: files.all().into_iter().collect() });
        if !is_green {
            break;
        }
    }
    Ok(last)
}

impl Change<'_> {
    /// Whether each script changed only as ordinary work changes it: with the code it tests, or by a new name of what
    /// it calls.
    fn are_ordinary<T>(&self, stage: Stage, all: &[String], run: RunOn<'_, T>) -> Result<bool, GitError> {
        if !matches!(stage, Stage::Tests | Stage::Tools | Stage::Either) {
            return Ok(false);
        }
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for path in all {
            match self.text(self.trusted, path)? {
                None => new.push(path.clone()),
                Some(before) if !self.is_renamed(path, &before)? => old.push((path.clone(), before)),
                Some(_) => {}
            }
        }
        let is_known = old.is_empty() && new.is_empty();
        // Each script costs runs of its own below, so a large number of them goes to a person.
        if is_known || stage != Stage::Tests || old.len() > ordinary::ALONE_MAX {
            return Ok(is_known);
        }
        for (path, before) in &old {
            let now = self.text(self.commit, path)?.map(|text| integrity::checks_in(&text));
            let before = integrity::checks_in(before);
            let is_kept = match self.observed.contains(path) && ordinary::is_helper(path) {
                true => ordinary::helper_keeps_checks(before, now),
                false => ordinary::keeps_checks(Some(before), now),
            };
            if !is_kept {
                return Ok(false);
            }
        }
        let old: Vec<String> = old.into_iter().map(|(path, _)| path).collect();
        self.changed_with_code(&old, &new, run)
    }

    /// Whether test scripts changed with the code they test, each by itself.
    ///
    /// A changed script that also passes on the base's code proves nothing about the code. For those the old versions
    /// must pass on the change.
    fn changed_with_code<T>(
        &self,
        old: &[String],
        new: &[String],
        run: RunOn<'_, T>,
    ) -> Result<bool, GitError> {
        let repo = &self.context.repo;
        let mut on_base = |files: &[String]| -> Result<CommandState, GitError> {
            Ok(run(&repo.tree_with(self.trusted, self.commit, &paths(files))?)?.0)
        };
        let base = on_base(&[])?;
        // On a red base no script can show anything.
        if !base.is_green() {
            return Ok(false);
        }
        // A new script that fails on the base would speak for all the others. It comes along only where a script names
        // it.
        let with_new = on_base(new)?;
        let mut same = Vec::new();
        for path in old {
            let text = self.text(self.commit, path)?.unwrap_or_default();
            let is_along = |one: &&String| with_new.is_green() || text.contains(name_of(one));
            let along = new.iter().filter(is_along).chain([path]).cloned().collect::<Vec<_>>();
            if !changed_with_code(true, &base, &on_base(&along)?) {
                same.push(path.clone());
            }
        }
        match (same.is_empty(), old.is_empty()) {
            (_, true) => Ok(changed_with_code(true, &base, &with_new)),
            (true, _) => Ok(true),
            (false, _) => Ok(run(&repo.tree_with(self.commit, self.trusted, &paths(&same))?)?.0.is_green()),
        }
    }

    /// Whether a script only calls something by a new name, which another file of the change defines.
    fn is_renamed(&self, path: &str, before: &str) -> Result<bool, GitError> {
        let Some(now) = self.text(self.commit, path)? else { return Ok(false) };
        let mut others = Vec::new();
        for other in self.context.repo.changed_paths(self.trusted, self.commit)? {
            let other = other.to_string();
            if other != path
                && let (Some(before), Some(now)) =
                    (self.text(self.trusted, &other)?, self.text(self.commit, &other)?)
            {
                others.push((before, now));
            }
        }
        Ok(ordinary::only_renames(before, &now, &others))
    }

    fn text(&self, at: &Oid, path: &str) -> Result<Option<String>, GitError> {
        let bytes = self.context.repo.file_at(at, &GitPath::from(path))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn paths(files: &[String]) -> Vec<GitPath> {
    files.iter().map(|file| GitPath::from(file.as_str())).collect()
}

/// The notes of changes that judge themselves and that a named person accepted.
fn taken(run_state: &RunState) -> impl Iterator<Item = &CommandNote> {
    run_state.commands.iter().filter(|note| !note.judge.is_empty()).filter(|note| {
        let same = |one: &&CommandNote| one.of() == note.of() && one.command == note.command;
        // Only the last run counts. An earlier version of the files was never accepted.
        let is_last = run_state.commands.iter().rev().find(same) == Some(*note);
        is_last && run_state.accepter(&LoopId::new(note.of())).is_some()
    })
}

/// The judging files that a named person accepted with the work of a plan.
pub(crate) fn taken_of(run_state: &RunState, plan: &PlanId) -> BTreeSet<String> {
    let prefix = format!("{plan}/");
    let of_plan = taken(run_state).filter(|note| note.of().starts_with(&prefix));
    let others = run_state.judges_taken().filter(|note| note.of().starts_with(&prefix));
    of_plan.flat_map(|note| &note.judge).chain(others.flat_map(|note| &note.files)).cloned().collect()
}

/// The judging files of a command that differ between a commit and the trusted tree.
fn changed_judge(
    context: &RunContext,
    trusted: &Oid,
    commit: &Oid,
    command: &JudgingCommand,
) -> Result<JudgeFiles, GitError> {
    with_facts(context, trusted, commit, command, "", |facts| facts.judge_files())
}

/// The files of a change that a script calls, with everything those include and start: they judge when the script does.
///
/// Configuration of a test runner is among them only where the script calls the runner by name, because a hook
/// otherwise sees the change as it is.
pub(crate) fn called_by(
    context: &RunContext,
    base: &Oid,
    change: &Oid,
    script: &str,
) -> Result<JudgeFiles, GitError> {
    let command = JudgingCommand { steps: commands_in(script), named: Named::Judge };
    with_facts(context, base, change, &command, script, |facts| {
        let facts = JudgeFacts { steps: &[], ..facts };
        match runs_targets(script) {
            true => facts.judge_files(),
            false => JudgeFiles { judge: facts.called_files(), ..JudgeFiles::default() },
        }
    })
}

/// The files of a change from which a judging command takes its orders.
pub(crate) fn orders_of(
    context: &RunContext,
    base: &Oid,
    change: &Oid,
    command: &JudgingCommand,
) -> Result<Vec<String>, GitError> {
    with_facts(context, base, change, command, "", |facts| facts.orders())
}

/// Gathers the facts about a change and asks about them. `script` is text that runs besides the command.
///
/// The recipes of the commands are read from the trusted tree: those of the change could hide what is run.
fn with_facts<T: Default>(
    context: &RunContext,
    trusted: &Oid,
    change: &Oid,
    command: &JudgingCommand,
    script: &str,
    ask: impl FnOnce(JudgeFacts<'_>) -> T,
) -> Result<T, GitError> {
    let repo = &context.repo;
    let changed: Vec<String> = repo.changed_paths(trusted, change)?.iter().map(ToString::to_string).collect();
    if changed.is_empty() {
        return Ok(T::default());
    }
    let paths: Vec<String> = repo.list_tree(trusted)?.iter().map(|entry| entry.path.to_string()).collect();
    let read = |at: &Oid, path: &str| {
        let bytes = repo.file_at(at, &GitPath::from(path)).ok()??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (before, now) = (|path: &str| read(trusted, path), |path: &str| read(change, path));
    let project = ProjectFiles { paths: &paths, text: &before };
    // One line for a shell holds several commands.
    let lines = command.steps.iter().flatten().filter(|word| word.contains(char::is_whitespace));
    let inner: Vec<Vec<String>> = lines.flat_map(|line| commands_in(line)).collect();
    let all = || command.steps.iter().chain(&inner);
    let recipes: String = all().map(|argv| recipe_of(&project, argv) + "\n").collect();
    let defined = all().filter_map(|argv| defines(&project, argv)).reduce(|one, other| one || other);
    Ok(ask(JudgeFacts {
        steps: &command.steps,
        named: command.named,
        defined,
        recipe: &format!("{script}\n{recipes}"),
        changed: &changed,
        paths: &paths.iter().cloned().collect(),
        before: &before,
        now: &now,
    }))
}
