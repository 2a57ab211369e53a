//! The project's own build and test commands, run contained on throwaway checkouts: at the base, on the revision that a
//! loop reviews, and on the merged tree of a landing. This file runs the commands and records how they ended;
//! `tribunal_core::green` decides what follows from that.
//!
//! Answers are remembered by tree and command, so that the same tree is not built and tested twice. Within a run every
//! answer that came from a completed run is remembered; a plain yes or no is also kept for later runs (`CommandMemo`).
//! Whoever adds something that a command's result depends on must add it to that key as well.

use super::base_judge::{BaseLook, JudgingCommand, TrustedJudge};
use super::command_memo::CommandMemo;
use super::prepare::{Judged, prepare};
use super::reads::Reads;
use crate::check::{Command, EVIDENCE_MAX, contained, ended, failing, junit_in, tail, went};
use crate::context::base::Base;
use crate::context::subject;
use crate::context::{RunContext, lock};
use crate::project::Project;
use crate::project::inside;
use crate::sandbox::enforced;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::effect::EffectId;
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_core::gate::{self, CommandRun, GateResult, Next};
use tribunal_core::green::{self, Answer, BaseJudge, CommandState, Compared, Doubt, OneRun, ProjectCommand};
use tribunal_core::ids::{Check, Revision};
use tribunal_core::judge_files::{Named, ordinary};
use tribunal_core::review_loop::{Checked, Failure, FailureKind, Loop, LoopReport};
use tribunal_core::run::Subject;
use tribunal_docs::integrity::{self, SourceCount};
use tribunal_docs::project_commands::{self, FoundCommands, ProjectFiles, taken_out};
use tribunal_docs::qa::{
    ChangedText, Regression, RegressionKind, TestReport, TestRun, is_missing, missing_line,
    newly_failing_lines, read_tests, regressions, shadowed, test_run, tests_started,
};
use tribunal_engine::run_state::{CommandNote, Note, RunState};
use tribunal_engine::settings::Settings;
use tribunal_engine::world::Report;
use tribunal_git::{GitError, GitPath, Mode, Oid, Repo};
use tribunal_process::{ExitHow, Network};

/// A build or test command of the project, and where it comes from.
///
/// Equality covers the setup steps too: the same command after another setup is another command, with its own answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownCommand {
    pub(crate) argv: Vec<String>,
    /// Commands that run before it in the same tree. The first one that does not end with 0 gives the result of the
    /// whole.
    pub(crate) setup: Vec<Vec<String>>,
    /// The settings name it; otherwise it was detected from the project's files.
    pub(crate) configured: bool,
    /// The base of the run has no such command: the change brings it, or what landed before it in this run did.
    pub(crate) brought: bool,
}

impl KnownCommand {
    pub(crate) fn shown(&self) -> String {
        self.steps().map(|argv| argv.join(" ")).collect::<Vec<_>>().join(" && ")
    }

    /// The setup commands and then the command itself, in the order in which they run.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Vec<String>> {
        self.setup.iter().chain([&self.argv])
    }
}

/// The commands that the files of the user's HEAD commit suggest; empty if there is no commit yet.
pub fn detected_commands(project: &Project) -> FoundCommands {
    let head = project.repo().head().ok();
    head.and_then(|head| commands_at(project.repo(), &head.commit).ok()).unwrap_or_default()
}

/// The build and test commands that the files of a commit name.
///
/// They are never read from a worktree: a change must not choose what judges it.
pub fn commands_at(repo: &Repo, commit: &Oid) -> Result<FoundCommands, GitError> {
    let paths: Vec<String> = repo.list_tree(commit)?.iter().map(|one| one.path.to_string()).collect();
    let text = |path: &str| {
        let bytes = repo.file_at(commit, &GitPath::from(path)).ok()??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(project_commands::detect(&ProjectFiles { paths: &paths, text: &text }))
}

/// The build or test command from the settings, or else the one that the project's files suggest.
///
/// A run detects it in the commit it began with, or was rebased onto, and a review in the base of the change. No agent
/// and no change can therefore replace the command that judges it. Only where the base has no such command does the one
/// that the change brings count, so that a change that adds the first tests is judged by them.
pub(crate) fn known(
    context: &RunContext,
    run_state: &RunState,
    command: ProjectCommand,
) -> Option<KnownCommand> {
    let checks = context.check_settings(run_state);
    let configured = match command {
        ProjectCommand::Build => &checks.build,
        ProjectCommand::Test => &checks.test,
    };
    // Checked before `is_empty`: `true` and its like are configured, but a pass from them would mean nothing.
    if command == ProjectCommand::Test && green::tests_nothing(configured) {
        return None;
    }
    if !configured.is_empty() {
        return Some(KnownCommand {
            argv: configured.clone(),
            setup: Vec::new(),
            configured: true,
            brought: false,
        });
    }
    // Only after the configured command: `no_tests` switches off detection, not a command that somebody named.
    if command == ProjectCommand::Test && checks.no_tests {
        return None;
    }
    // Keyed by the base, because a rebase gives the run another one, and with it perhaps other commands.
    let mut detected = lock(&context.detected);
    let detected = detected.entry(run_state.base().to_owned()).or_insert_with(|| {
        let base = run_state.about.review.as_ref().map(|review| review.base.as_str());
        let bases = base.into_iter().chain([run_state.base()]);
        let mut found = bases.filter_map(|base| commands_at(&context.repo, &Oid::parse(base).ok()?).ok());
        // The base of a review comes first. The commit that the run began with only fills in what that base does not
        // have.
        let first = found.next().unwrap_or_default();
        let FoundCommands { build, test, .. } = found.next().unwrap_or_default();
        FoundCommands { build: first.build.clone().or(build), test: first.test.clone().or(test), ..first }
    });
    let found = match command {
        ProjectCommand::Build => detected.build.clone(),
        ProjectCommand::Test => detected.test.clone(),
    };
    found.map(|found| KnownCommand {
        argv: found.argv,
        setup: found.setup,
        configured: false,
        brought: false,
    })
}

/// Whether the test command may be taken from the change itself: none is known from the base, and the settings do not
/// say that there is none.
pub(crate) fn may_bring_tests(context: &RunContext, run_state: &RunState) -> bool {
    let checks = context.check_settings(run_state);
    let is_off = checks.no_tests || green::tests_nothing(&checks.test);
    !is_off
        && is_on(context, ProjectCommand::Test)
        && known(context, run_state, ProjectCommand::Test).is_none()
}

/// The test command that a tree brings where the base of the run has none.
///
/// Without it a change could land the first tests of a project, and land them red.
pub(crate) fn brought_tests(context: &RunContext, commit: &Oid) -> Result<Option<KnownCommand>, GitError> {
    let found = commands_at(&context.repo, commit)?.test;
    Ok(found.map(|found| KnownCommand {
        argv: found.argv,
        setup: found.setup,
        configured: false,
        brought: true,
    }))
}

/// The warning that a run begins with when its test command tests nothing.
pub(crate) fn tests_nothing_warning(settings: &Settings) -> Option<String> {
    let test = &settings.checks.test;
    green::tests_nothing(test).then(|| {
        let shown = test.join(" ");
        format!("`{shown}` (checks.test) tests nothing: every pass will say that no tests ran")
    })
}

/// True unless `gates.off` names the command's check.
pub(crate) fn is_on(context: &RunContext, command: ProjectCommand) -> bool {
    !context.settings.gates.off.iter().any(|off| off == command.name())
}

/// All runs of a command on one tree, and what they come to.
///
/// The single runs are kept beside the state, because a later question may add one more run (see `Ask`), and flakiness
/// shows only over all of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Seen {
    runs: Vec<OneRun>,
    pub(crate) state: CommandState,
    /// The run that represents all of them: the passing one if the command is flaky, otherwise the last.
    run: CommandRun,
    /// The tests that this run counted.
    report: Option<TestReport>,
    /// The last lines of output of the last run that failed.
    output: String,
}

/// Answers by tree and command.
///
/// Each answer has a lock of its own, held while the command runs: a second caller waits for the first one's answer
/// instead of running the same command on the same tree at the same time.
pub(crate) type Memory = Mutex<std::collections::BTreeMap<(Oid, Vec<Vec<String>>), Arc<Mutex<Option<Seen>>>>>;

/// Runs one command of the project on trees, and compares two trees by it.
pub(crate) struct Runner<'a> {
    pub(crate) context: &'a RunContext,
    pub(crate) command: ProjectCommand,
    pub(crate) known: &'a KnownCommand,
    /// The effect that the command runs for. No run begins once the effect is no longer wanted.
    pub(crate) effect: Option<&'a EffectId>,
    /// The source of trusted judge files; none if nothing is compared.
    pub(crate) judge: Option<&'a TrustedJudge>,
    /// An earlier version of the change was seen to be flaky in this command.
    pub(crate) seen_flaky: bool,
}

/// How far remembered answers are believed.
///
/// A repeat costs a whole build or test run, so the caller says how much doubt its question is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Every remembered answer stands. Used for the base, which a repeat cannot be expected to heal.
    Remembered,
    /// A red answer is tried once more, a green one stands.
    RedAgain,
    /// Nothing is believed before that many runs agree.
    Until(Doubt),
}

impl Ask {
    fn believes(self, seen: &Seen) -> bool {
        match (self, &seen.state) {
            (Ask::Remembered, _) => true,
            // A red answer may be a flaky one, and only another run can tell.
            (Ask::RedAgain, CommandState::Red { .. }) => false,
            (Ask::RedAgain, _) => true,
            (Ask::Until(doubt), CommandState::Red { .. }) if doubt.failures <= Doubt::LITTLE.failures => {
                false
            }
            (Ask::Until(doubt), _) => !green::runs_again(&seen.runs, doubt),
        }
    }

    fn doubt(self) -> Doubt {
        match self {
            Ask::Remembered | Ask::RedAgain => Doubt::LITTLE,
            Ask::Until(doubt) => doubt,
        }
    }
}

impl Runner<'_> {
    /// The command's state on the tree of a commit.
    pub(crate) fn on(&self, commit: &Oid, ask: Ask) -> Result<Seen, GitError> {
        self.on_tree(commit, self.context.repo.tree_of(commit)?, ask)
    }

    /// The command's state on a tree that is checked out as if it were the commit's.
    fn on_tree(&self, commit: &Oid, tree: Oid, ask: Ask) -> Result<Seen, GitError> {
        // By tree and not by commit: another parent or message does not change what is built and tested.
        let key = (tree.clone(), self.known.steps().cloned().collect());
        let place = Arc::clone(lock(&self.context.seen).entry(key).or_default());
        // Held while the command runs, so that whoever asks the same meanwhile waits for this answer.
        let mut place = lock(&place);
        let mut runs = match &*place {
            Some(seen) if ask.believes(seen) => return Ok(seen.clone()),
            Some(seen) => seen.runs.clone(),
            None => Vec::new(),
        };
        let mut before = place.clone();
        let memo = CommandMemo::of(self.context, self.command, self.known, &tree)?;
        // The memory of this run comes first: it knows every single run, while the memo of an earlier run is only
        // consulted for a tree that this run has not met.
        if let (None, Some(seen)) = (&before, memo.as_ref().and_then(CommandMemo::read)) {
            *place = Some(seen.clone());
            // A kept answer was repeated in its own run before it was called red, so it is not tried once more for
            // that.
            if !green::runs_again(&seen.runs, ask.doubt()) {
                return Ok(seen);
            }
            // The runs of the earlier answer count, so that fewer are needed now.
            runs.clone_from(&seen.runs);
            before = Some(seen);
        }
        let seen = self.run_until(commit, &tree, ask, &mut runs, before)?;
        // An answer of "did not run" is not remembered: the next question must be able to get a real one after somebody
        // repaired the cause.
        if !matches!(seen.state, CommandState::Unknown { .. }) {
            *place = Some(seen.clone());
        }
        if let Some(memo) = memo {
            memo.keep(&seen);
        }
        Ok(seen)
    }

    /// Runs the command, and again as long as `green::runs_again` doubts the answer.
    fn run_until(
        &self,
        commit: &Oid,
        tree: &Oid,
        ask: Ask,
        runs: &mut Vec<OneRun>,
        mut seen: Option<Seen>,
    ) -> Result<Seen, GitError> {
        loop {
            // Asked before each run, not once: a test run can take minutes, and the effect may be cancelled in between.
            let (one, report, output) = match self.effect.filter(|effect| self.context.is_unwanted(effect)) {
                Some(_) => (lost("no longer wanted".to_owned()), None, String::new()),
                None => self.once(commit, tree, runs.len())?,
            };
            let well = matches!(one.run, CommandRun::Passed | CommandRun::NoTest(_));
            runs.push(one.clone());
            let state = CommandState::of(runs).as_of(self.command);
            let flaky = matches!(state, CommandState::Flaky { .. });
            seen = Some(match seen {
                // A flaky command keeps the test counts of the run that passed and the output of the run that failed.
                Some(old) if flaky && well => {
                    Seen { runs: runs.clone(), state, run: one.run, report, output: old.output }
                }
                Some(old) if flaky => {
                    Seen { runs: runs.clone(), state, run: old.run, report: old.report, output }
                }
                _ => Seen { runs: runs.clone(), state, run: one.run, report, output },
            });
            let again = green::runs_again(runs, ask.doubt());
            if let (false, Some(seen)) = (again, seen.clone()) {
                return Ok(seen);
            }
        }
    }

    /// The files among `files` that the command reads on a tree.
    ///
    /// It is a run of its own, in a checkout of its own: watching must not influence a run whose answer counts.
    fn reads(&self, commit: &Oid, tree: &Oid, files: &[String]) -> Result<BTreeSet<String>, GitError> {
        let context = self.context;
        if self.effect.is_some_and(|effect| context.is_unwanted(effect)) {
            return Ok(BTreeSet::new());
        }
        let key = (tree.clone(), self.known.steps().cloned().collect(), files.to_vec());
        let mut known = lock(&context.read);
        if let Some(read) = known.get(&key) {
            return Ok(read.clone());
        }
        let name = format!("{}-{}-reads", self.command.name(), tree.short());
        let (dir, path) = self.checkout(&name, commit, tree)?;
        let ready = self.ready(commit, tree, &path);
        let reads = Reads::begin(&dir, &path, files);
        // Only the reads matter here; how the command ends on this tree is answered by `on_tree`.
        let _ = ready.and_then(|()| self.steps(&name, 0, &path, &dir));
        let read = reads.read();
        context.worktree_pool.discard(&dir)?;
        known.insert(key, read.clone());
        Ok(read)
    }

    /// Makes a checkout that nobody else sees. Returns the folder around it and the checkout itself.
    ///
    /// The folder around it holds the index, the temporary files and the test report, so that the command cannot reach
    /// them as part of its tree.
    fn checkout(&self, name: &str, commit: &Oid, tree: &Oid) -> Result<(PathBuf, PathBuf), GitError> {
        let context = self.context;
        let dir = context.dir.join("checks").join(name);
        context.worktree_pool.discard(&dir)?;
        fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
        let path = dir.join("tree");
        context.worktree_pool.checkout_as(&path, &dir.join("index"), commit, tree, "tests")?;
        Ok((dir, path))
    }

    /// Gives a checkout what it needs besides its files: prepared dependencies, or folders borrowed from the user.
    fn ready(&self, commit: &Oid, tree: &Oid, path: &Path) -> Result<(), String> {
        prepare(self.context, Judged { commit, tree }, path).and_then(|()| borrow(self.context, path))
    }

    /// Runs the command once, on a checkout of its own.
    fn once(
        &self,
        commit: &Oid,
        tree: &Oid,
        n: usize,
    ) -> Result<(OneRun, Option<TestReport>, String), GitError> {
        let context = self.context;
        let name = format!("{}-{}", self.command.name(), tree.short());
        let (dir, path) = self.checkout(&name, commit, tree)?;
        let ready = self.ready(commit, tree, &path);
        let done = ready.and_then(|()| self.steps(&name, n, &path, &dir));
        let found = match done {
            Err(why) => (lost(why), None, String::new()),
            Ok((how, out)) => {
                // Both streams: test runners differ in where they print their summary.
                let text = |name: &str| inside::text(&out.join(name)).unwrap_or_default();
                let words = [text("stdout"), text("stderr")].concat();
                let report = report(&dir, &words);
                let counted = report.as_ref().is_some_and(|report| tests_started(&words, report));
                let missing = is_missing(&words);
                let one = OneRun { run: went(&how, &out), how: ended(&how), counted, missing };
                (one, report, last_lines(&out))
            }
        };
        context.worktree_pool.discard(&dir)?;
        Ok(found)
    }

    /// Runs the setup commands and the command itself in one tree. Returns how the first one ended that did not end
    /// with 0, otherwise how the command ended, and where its output is.
    fn steps(&self, name: &str, n: usize, tree: &Path, dir: &Path) -> Result<(ExitHow, PathBuf), String> {
        let shown = self.known.shown();
        let run = |name: &str, argv: &Vec<String>| {
            let command = Command { argv: argv.clone(), shown: shown.clone(), ..Command::default() };
            contained(self.context, name, n, tree, dir, &command)
        };
        for (step, argv) in self.known.setup.iter().enumerate() {
            let (how, out) = run(&format!("{name}-setup-{step}"), argv)?;
            if how != ExitHow::Code(0) {
                return Ok((how, out));
            }
        }
        run(name, &self.known.argv)
    }

    /// Compares the command on two commits, by exit status and by the tests that were counted.
    ///
    /// The exit status decides first. Counting only adds to it: a suite that was red already, or that lost tests and
    /// stayed green, would otherwise hide what the change broke.
    pub(crate) fn compare(&self, before: &Oid, now: &Oid) -> Result<Looked, GitError> {
        let tests = self.command == ProjectCommand::Test && self.touches_tests(before, now)?;
        let (was, is) = self.both(before, now, tests)?;
        // Either side counts: a change that deletes every test must not look like a project that never had any. Tests
        // that the change itself brings may need packages that nobody has installed yet: that is reported.
        let has_tests = self.has_tests(before)? || !self.known.brought && self.has_tests(now)?;
        let same_tree = self.context.repo.tree_of(before)? == self.context.repo.tree_of(now)?;
        // Renamed tests would look like lost ones, so they are matched before anything is reported.
        let mut counted = counted(&was, &is);
        if let (Some(was), Some(is)) = (&was.report, &is.report) {
            counted = without_renamed(self.context, (before, was), (now, is), counted)?;
        }
        // Without a test report on both sides, all that is left is to count the tests in the files that changed.
        let silent = was.report.is_none() || is.report.is_none();
        if self.command == ProjectCommand::Test && silent && counted.is_empty() {
            counted = lost_in_source(self.context, self.known, before, now)?;
        }
        if self.command == ProjectCommand::Test {
            counted.extend(switched_off(self.context, before, now)?);
        }
        let base = self.with_base_judge(now, &is, same_tree)?;
        let judged = base.as_ref().map(|base| base.judged.clone());
        let answer = green::answer(&Compared {
            before: was.state,
            now: is.state.clone(),
            configured: self.known.configured,
            has_tests,
            same_tree,
            with_base_judge: judged,
        })
        // A build counts no tests, so an answer about missing tests must not come from one.
        .as_of(self.command, &is.state);
        Ok(Looked { answer, now: is, counted, base })
    }

    /// The command on both commits, each run as often as its answer is doubted.
    fn both(&self, before: &Oid, now: &Oid, tests: bool) -> Result<(Seen, Seen), GitError> {
        let ask = match (self.seen_flaky, tests) {
            (true, _) => Ask::Until(Doubt::SEEN_FLAKY),
            (false, true) => Ask::Until(Doubt::TESTS_CHANGED),
            (false, false) => Ask::RedAgain,
        };
        let mut was = self.before(before)?;
        let mut is = self.on(now, ask)?;
        if self.command == ProjectCommand::Test
            && let Some(doubt) = Doubt::of_base(&was.state, &is.state)
        {
            was = self.on(before, Ask::Until(doubt))?;
            if let Some(doubt) = Doubt::of_change(&was.state, &is.state) {
                is = self.on(now, Ask::Until(doubt))?;
            }
        }
        Ok((was, is))
    }

    /// The command's state before the change. One that the tree does not have yet ran no test there.
    fn before(&self, commit: &Oid) -> Result<Seen, GitError> {
        if self.known.brought && commands_at(&self.context.repo, commit)?.test.is_none() {
            let run = CommandRun::NoTest("there was no test command".to_owned());
            let state = CommandState::NoTest;
            return Ok(Seen { runs: Vec::new(), state, run, report: None, output: String::new() });
        }
        self.on(commit, Ask::Remembered)
    }

    /// The command's state on a green change with the base's judge files put back, if the change has other ones.
    ///
    /// A red or unchanged tree needs no second look: there is no approval that the change could have given itself.
    fn with_base_judge(
        &self,
        commit: &Oid,
        now: &Seen,
        same_tree: bool,
    ) -> Result<Option<BaseLook<Seen>>, GitError> {
        // A command that the base does not have has no judge there.
        let judge = self.judge.filter(|_| !self.known.brought && stands(Defence::BaseJudge));
        let asked = judge.filter(|_| now.state.is_green() && !same_tree);
        let Some(judge) = asked else { return Ok(None) };
        let command = JudgingCommand { steps: self.known.steps().cloned().collect(), named: Named::Judge };
        let run = &mut |tree: &Oid| {
            let seen = self.on_tree(commit, tree.clone(), Ask::RedAgain)?;
            Ok((seen.state.clone(), seen))
        };
        judge.look(self.context, &[command], commit, run, &mut |tree, files| self.reads(commit, tree, files))
    }

    /// Whether a change touches tests: test files by their names, and Rust sources that contain tests.
    fn touches_tests(&self, before: &Oid, now: &Oid) -> Result<bool, GitError> {
        /// At most this many Rust sources are read to find tests in them.
        const READ_MAX: usize = 200;
        let changed = self.context.repo.changed_paths(before, now)?;
        if changed.iter().any(|path| integrity::is_test(&path.to_string())) {
            return Ok(true);
        }
        for path in changed.iter().filter(|path| path.to_string().ends_with(".rs")).take(READ_MAX) {
            let text = self.context.repo.file_at(now, path)?.unwrap_or_default();
            // Matches `#[test]` and its relatives such as `#[tokio::test]`. A false hit only costs one more run.
            if String::from_utf8_lossy(&text).contains("test]") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the files of a commit say that the project has tests.
    fn has_tests(&self, commit: &Oid) -> Result<bool, GitError> {
        let repo = &self.context.repo;
        let paths: Vec<String> = repo.list_tree(commit)?.iter().map(|one| one.path.to_string()).collect();
        let text = |path: &str| {
            let bytes = repo.file_at(commit, &GitPath::from(path)).ok()??;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        // Rust keeps tests inside its sources, so no file name shows them.
        Ok(self.known.argv.first().is_some_and(|program| program == "cargo")
            || project_commands::has_tests(&ProjectFiles { paths: &paths, text: &text }))
    }

    /// The journal's note of what the command came to.
    pub(crate) fn note(&self, effect: &EffectId, tree: &Oid, looked: &Looked) -> Note {
        let judge = match (&looked.answer, &looked.base) {
            (Answer::JudgeChanged(_), Some(base)) => base.files.clone(),
            _ => Vec::new(),
        };
        let counted = looked.now.report.as_ref().is_some_and(|report| report.executed() > 0);
        Note::Command(Box::new(CommandNote {
            effect: effect.to_string(),
            command: self.command,
            shown: self.known.shown(),
            tree: tree.to_string(),
            answer: looked.answer.clone(),
            judge,
            // Green by its exit status alone. The landed commit says so.
            uncounted: self.command == ProjectCommand::Test && looked.answer.is_green() && !counted,
        }))
    }
}

/// Drops the regressions that are renamed tests: same content, another name, judged by the files that changed.
///
/// Nothing is read unless tests are both missing and new, since only then can there be a rename.
pub(crate) fn without_renamed(
    context: &RunContext,
    (before, was): (&Oid, &TestReport),
    (now, is): (&Oid, &TestReport),
    worse: Vec<Regression>,
) -> Result<Vec<Regression>, GitError> {
    let new = is.new_since(was);
    if new.is_empty() || !worse.iter().any(|one| one.kind == RegressionKind::FewerTests) {
        return Ok(worse);
    }
    let mut files = Vec::new();
    for path in context.repo.changed_paths(before, now)? {
        let text = |at: &Oid| -> Result<String, GitError> {
            let bytes = context.repo.file_at(at, &path)?.unwrap_or_default();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        files.push(ChangedText { path: path.to_string(), before: text(before)?, now: text(now)? });
    }
    Ok(tribunal_docs::qa::without_renamed(worse, &new, &files))
}

/// Tests that the files of a change lost or now skip, judged by their text alone.
///
/// Used where the runner counts nothing: a script that reports only an exit status could otherwise lose its tests
/// unnoticed.
pub(crate) fn lost_in_source(
    context: &RunContext,
    tests: &KnownCommand,
    before: &Oid,
    now: &Oid,
) -> Result<Vec<Regression>, GitError> {
    let (was, is) = (commands_at(&context.repo, before)?.test, commands_at(&context.repo, now)?.test);
    // The recipe describes the detected command. If another command runs, it says nothing about which scripts are run.
    let was = was.filter(|was| was.argv == tests.argv);
    let recipe = was.as_ref().map(|was| was.recipe.as_str()).unwrap_or_default();
    let is_run = |path: &str| recipe.split_whitespace().any(|word| word.trim_start_matches("./") == path);
    let mut changed = context.repo.changed_paths(before, now)?;
    // Looked up before the list is narrowed to tests, because a script may move to a name that does not look like one.
    let moved = moved_scripts(context, before, now, &changed)?;
    changed.retain(|path| integrity::is_test(&path.to_string()) || is_run(&path.to_string()));
    let count = |at: &Oid| -> Result<TestReport, GitError> {
        let mut all = SourceCount::default();
        for path in &changed {
            let text = context.repo.file_at(at, path)?;
            let text = text.map(|bytes| integrity::count_in(&String::from_utf8_lossy(&bytes)));
            all = all + text.unwrap_or_default();
        }
        Ok(TestReport::counted("source", all.tests, 0, all.skipped))
    };
    let mut lost = regressions(&count(before)?, &count(now)?);
    lost.iter_mut().for_each(|one| one.detail.push_str(", counted in the files that changed"));
    // A recipe can stop running a test without any test file changing.
    lost.extend(was.iter().flat_map(|was| taken_out(was, is.as_ref(), &moved)).map(|line| {
        let detail = format!("the test command ran `{line}` before, does not now, and counts no tests");
        Regression { kind: RegressionKind::FewerTests, test: None, detail }
    }));
    lost.extend(not_started(context, before, now, &changed)?);
    Ok(lost)
}

/// Tests that a change switches off by another one of the same name, in any file of tests that it touches.
pub(crate) fn switched_off(
    context: &RunContext,
    before: &Oid,
    now: &Oid,
) -> Result<Vec<Regression>, GitError> {
    let mut found = Vec::new();
    for path in context.repo.changed_paths(before, now)? {
        let name = path.to_string();
        if !integrity::is_test(&name) {
            continue;
        }
        let text = |at: &Oid| -> Result<String, GitError> {
            let bytes = context.repo.file_at(at, &path)?.unwrap_or_default();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        found.extend(shadowed(&name, &text(before)?, &text(now)?));
    }
    Ok(found)
}

/// Test programs that lost their executable bit. A script that runs every program in a folder skips them silently.
fn not_started(
    context: &RunContext,
    before: &Oid,
    now: &Oid,
    changed: &[GitPath],
) -> Result<Vec<Regression>, GitError> {
    let programs = |at: &Oid, mode: Mode| -> Result<BTreeSet<GitPath>, GitError> {
        let all = context.repo.list_tree(at)?.into_iter().filter(|one| one.mode == mode);
        Ok(all.map(|one| one.path).filter(|path| changed.contains(path)).collect())
    };
    let (were, are) = (programs(before, Mode::Executable)?, programs(now, Mode::File)?);
    let mut lost = Vec::new();
    for path in were.intersection(&are) {
        // A data file may have been executable by mistake, so only scripts count.
        let text = context.repo.file_at(before, path)?.unwrap_or_default();
        if text.starts_with(b"#!") || path.to_string().ends_with(".sh") {
            let detail = "it was a program before and cannot be started now".to_owned();
            lost.push(Regression { kind: RegressionKind::FewerTests, test: Some(path.to_string()), detail });
        }
    }
    Ok(lost)
}

/// Test scripts that a change moves to another folder with all their checks, as pairs of old and new path.
fn moved_scripts(
    context: &RunContext,
    before: &Oid,
    now: &Oid,
    changed: &[GitPath],
) -> Result<Vec<(String, String)>, GitError> {
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    for path in changed {
        match (context.repo.file_at(before, path)?, context.repo.file_at(now, path)?) {
            (Some(text), None) => gone.push((path.to_string(), text)),
            (None, Some(text)) => new.push((path.to_string(), text)),
            _ => {}
        }
    }
    let checks = |text: &[u8]| Some(integrity::checks_in(&String::from_utf8_lossy(text)));
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut moved = Vec::new();
    for (old, text) in &gone {
        let is_it = |other: &&(String, Vec<u8>)| {
            // The file name must be the same as well: otherwise any new script with as many checks would pass for the
            // one that is gone.
            let same = other.1 == *text || ordinary::keeps_checks(checks(text), checks(&other.1));
            name(&other.0) == name(old) && same
        };
        moved.extend(new.iter().find(is_it).map(|(new, _)| (old.clone(), new.clone())));
    }
    Ok(moved)
}

fn lost(why: String) -> OneRun {
    OneRun { run: CommandRun::DidNotRun(why.clone()), how: why, counted: false, missing: false }
}

/// The result of `Runner::compare`: what the command came to on the revision under review.
pub(crate) struct Looked {
    pub(crate) answer: Answer,
    pub(crate) now: Seen,
    /// Regressions in what was counted.
    pub(crate) counted: Vec<Regression>,
    /// The change with the base's judge files put back, and the command's state there.
    base: Option<BaseLook<Seen>>,
}

impl Looked {
    /// Names the tests that newly fail, if the command was red before the change already.
    pub(crate) fn worse(&self) -> Option<String> {
        let failing = |one: &&Regression| one.kind == RegressionKind::NewlyFailing;
        let names: Vec<&str> =
            self.counted.iter().filter(failing).filter_map(|one| one.test.as_deref()).collect();
        let is_red = matches!(self.answer, Answer::RedBefore(_)) && !names.is_empty();
        is_red.then(|| format!("it was red before, and fails now where it did not: {}", names.join(", ")))
    }

    /// The finding that the answer amounts to, if any.
    ///
    /// A changed judge file is not a builder's to fix: only a person can say whether the change may judge itself that
    /// way.
    pub(crate) fn claim(&self, command: ProjectCommand, shown: &str) -> Option<Claim> {
        let text = self.answer.blocker()?;
        let (Answer::JudgeChanged(_), Some(base)) = (&self.answer, &self.base) else {
            return Some(self.now.claim(command, shown, text));
        };
        Some(judge_changed(base.evidence.claim(command, shown, text), command.name(), &base.judged))
    }
}

/// The finding that a change alters the files that judge it. Only a person can settle it.
pub(crate) fn judge_changed(mut claim: Claim, check: &str, judged: &BaseJudge) -> Claim {
    claim.rule = Some(format!("{check}:judge"));
    claim.suggestion = format!("leave {} as it was, or let a person take it", judged.files.join(", "));
    claim.fixable_by = FixableBy::Manual;
    claim.file = judged.files.first().cloned();
    claim
}

/// Regressions between two runs. A run that counts nothing where tests were counted before has lost all of them.
fn counted(before: &Seen, now: &Seen) -> Vec<Regression> {
    match (&before.report, &now.report) {
        (Some(before), Some(now)) => regressions(before, now),
        (Some(counted), None) if counted.executed() > 0 => match (&before.state, &now.state) {
            // Newly red, or not run: the exit status already says it, and lost counts would only repeat it for every
            // test.
            (CommandState::Green, CommandState::Red { .. }) | (_, CommandState::Unknown { .. }) => Vec::new(),
            _ => regressions(counted, &TestReport::default()),
        },
        // Both are red and count nothing, so only the printed lines are left to compare. Clipped output cannot be
        // compared: a line that is missing may just have been cut off.
        (None, None) if is_red(&before.state) && is_red(&now.state) => {
            let is_whole = |seen: &Seen| (seen.output.len() as u64) < EVIDENCE_MAX / 2;
            let whole = is_whole(before) && is_whole(now);
            if whole { newly_failing_lines(&before.output, &now.output) } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}

fn is_red(state: &CommandState) -> bool {
    matches!(state, CommandState::Red { .. })
}

impl Seen {
    /// What the command lacked, in its own words, with a hint where one is known.
    fn lacked(&self, network: Network) -> String {
        let Some(line) = missing_line(&self.output) else { return String::new() };
        let hint = match line.to_ascii_lowercase().contains("read-only file system") {
            true => Some("checks write to their own files only; `agents.writable` opens a folder to them"),
            false => enforced::way_out(network, &self.output),
        };
        reason(&line, hint)
    }

    /// The same in the form that the checks of a delivery use.
    pub(crate) fn as_test_run(&self, shown: &str) -> TestRun {
        test_run(shown, &self.run, self.report.clone())
    }

    /// The finding for an answer that blocks.
    pub(crate) fn claim(&self, command: ProjectCommand, shown: &str, text: &str) -> Claim {
        let mut claim = failing(Severity::Blocker, format!("`{shown}`: {text}"));
        claim.evidence.clone_from(&self.output);
        claim.rule = Some(command.name().to_owned());
        claim.suggestion = match &self.state {
            CommandState::Flaky { .. } => format!(
                "find what differs from run to run: from now on it counts as repaired once it ends with 0 {} times in a row",
                Doubt::SEEN_FLAKY.passes
            ),
            _ => "make it end with 0, without taking its tests away".to_owned(),
        };
        claim.fixable_by = FixableBy::Dev;
        claim
    }
}

/// What a command lacked, behind the way out: the line may be long, and lists show the beginning of a reason.
fn reason(line: &str, hint: Option<&str>) -> String {
    let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{hint}: {}", tribunal_view::plain::clipped(line, 200))
}

/// The test report: from the JUnit file if the tests wrote one, otherwise from the printed output.
fn report(dir: &Path, words: &str) -> Option<TestReport> {
    // Some runners name a test by the full path of its file. The path differs in every checkout, so each test would
    // look new.
    let root = format!("{}/", dir.join("tree").display());
    let read = |text: &str| read_tests(&text.replace(&root, ""));
    inside::text(&junit_in(dir)).as_deref().and_then(read).or_else(|| read(words))
}

fn last_lines(out: &Path) -> String {
    let parts = [tail(&out.join("stdout")), tail(&out.join("stderr"))];
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// Links what the user has installed in the project and git does not track, such as `node_modules`.
fn borrow(context: &RunContext, tree: &Path) -> Result<(), String> {
    // Dependencies that were installed for exactly this tree must not be mixed with the ones the user happens to have.
    if !context.settings.checks.prepare.is_empty() {
        return Ok(());
    }
    for name in crate::sandbox::BORROWED {
        let own = context.project.root().join(name);
        // Only a real folder is borrowed: a link in its place is not followed.
        if own.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            inside::link(tree, name, &own).map_err(|error| format!("{name} cannot be borrowed: {error}"))?;
        }
    }
    Ok(())
}

/// Where a change begins, for the project's commands.
enum Before {
    Base(Base),
    Commit(String),
    Revision(Revision),
}

/// A check of a loop that runs a build or test command of the project.
///
/// It is gathered in the event loop and run on a worker, so it owns everything it needs.
pub(crate) struct ProjectCheck {
    effect: EffectId,
    command: ProjectCommand,
    known: Option<KnownCommand>,
    revision: Revision,
    before: Before,
    /// The source of trusted judge files.
    judge: TrustedJudge,
    /// No other check of this run compares the tests that were counted, so this one does.
    counts: bool,
    /// A check that did not run stops nothing, and every report says so (`gates.errors = "continue"`).
    lenient: bool,
    /// Where no command is known, the one that the change brings is run.
    may_bring: bool,
    /// An earlier revision of this work was seen to be flaky.
    seen_flaky: bool,
}

impl ProjectCheck {
    /// Gathers what the check needs from the run state.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        command: ProjectCommand,
        revision: &Revision,
        run_state: &RunState,
    ) -> Option<ProjectCheck> {
        let subject = subject::of(review_loop.id())?;
        let before = match &subject {
            Subject::Plan(_) | Subject::Lane(..) => Before::Base(Base::of_gates(&subject, run_state)),
            Subject::Phase => Before::Commit(
                run_state.review().map_or(&run_state.about.base, |review| &review.base).clone(),
            ),
            // A polish and an artifact are compared with what passed before them.
            Subject::Polish | Subject::Chain => Before::Revision(run_state.run.as_ref()?.tip()?.clone()),
        };
        let regression = Check::new(crate::REGRESSION);
        let run = run_state.run.as_ref()?;
        let counted_elsewhere = run.spec().qa || review_loop.policy().checks.contains(&regression);
        Some(ProjectCheck {
            effect: effect.clone(),
            command,
            known: known(context, run_state, command),
            revision: revision.clone(),
            before,
            judge: TrustedJudge::of(run_state),
            counts: command == ProjectCommand::Test && !counted_elsewhere,
            lenient: context.settings.gates.errors == "continue",
            may_bring: command == ProjectCommand::Test && may_bring_tests(context, run_state),
            seen_flaky: run_state.was_flaky(review_loop.id().as_str(), command),
        })
    }

    /// Compares base and revision and reports the result. Blocks, so it runs on a worker.
    pub(crate) fn run(self, context: &RunContext) {
        let known = match self.known(context) {
            Ok(known) => known,
            Err(error) => {
                let failure = Failure::new(FailureKind::DidNotRun, error.to_string());
                return context.fail(&self.effect, failure, Vec::new());
            }
        };
        // Not a failure: without a test command the loop itself records that no tests ran.
        let Some(known) = &known else {
            let report = Report::Loop(LoopReport::Unchecked(unknown(context)));
            return context.report(&self.effect, report, Vec::new());
        };
        let judge = Some(&self.judge);
        let (command, effect, seen_flaky) = (self.command, Some(&self.effect), self.seen_flaky);
        let runner = Runner { context, command, known, effect, judge, seen_flaky };
        match self.look(context, &runner) {
            Ok((tree, looked)) => self.tell(context, &runner, &tree, looked),
            Err(error) => {
                let failure = Failure::new(FailureKind::DidNotRun, error.to_string());
                context.fail(&self.effect, failure, Vec::new());
            }
        }
    }

    /// The command to run: the known one, or one that the change brings.
    fn known(&self, context: &RunContext) -> Result<Option<KnownCommand>, GitError> {
        match &self.known {
            None if self.may_bring => brought_tests(context, &context.commit_of(&self.revision)?),
            known => Ok(known.clone()),
        }
    }

    fn look(&self, context: &RunContext, runner: &Runner<'_>) -> Result<(Oid, Looked), GitError> {
        let now = context.commit_of(&self.revision)?;
        let before = match &self.before {
            Before::Base(base) => base.commit(context, &now)?,
            Before::Commit(commit) => Oid::parse(commit)?,
            Before::Revision(revision) => context.commit_of(revision)?,
        };
        Ok((context.repo.tree_of(&now)?, runner.compare(&before, &now)?))
    }

    fn tell(&self, context: &RunContext, runner: &Runner<'_>, tree: &Oid, looked: Looked) {
        let shown = runner.known.shown();
        let mut notes = vec![runner.note(&self.effect, tree, &looked)];
        let claim = looked.claim(self.command, &shown);
        let Looked { answer, now, counted, .. } = looked;
        let lost = counted.iter().filter(|_| self.counts).map(|one| lost_test(self.command, one));
        let findings: Vec<Claim> = claim.into_iter().chain(lost).collect();
        let lacked = match answer {
            Answer::NotRun(_) | Answer::RedBefore(_) => now.lacked(context.network(None)),
            _ => String::new(),
        };
        let why = format!("`{shown}`: {}{lacked}", answer.text());
        match &answer {
            // A finding outweighs "did not run": lost tests are known even where the exit status is not.
            Answer::NotRun(_) if findings.is_empty() => return self.not_run(context, why, notes),
            Answer::NoTests(_) if findings.is_empty() => {
                let report = Report::Loop(LoopReport::Unchecked(why));
                return context.report(&self.effect, report, notes);
            }
            // Red before the change as well: a warning, because the change cannot be blamed, but nobody may take it for
            // green.
            Answer::RedBefore(_) | Answer::FlakyBefore(_) => {
                notes.push(Note::Warning(format!("{}: {why}", self.command)));
            }
            _ => {}
        }
        context.report(&self.effect, Report::Loop(LoopReport::Checked(Checked { findings })), notes);
    }

    /// Reports that nobody knows the result: a person is asked, unless the settings say that this stops nothing.
    fn not_run(&self, context: &RunContext, why: String, mut notes: Vec<Note>) {
        // It did not run because it was stopped, and nobody waits for a report any more.
        if context.is_unwanted(&self.effect) {
            return;
        }
        match gate::next(GateResult::DidNotRun, false, self.lenient) {
            Next::SayIt => {
                notes.push(Note::Warning(format!("{} did not run and stopped nothing: {why}", self.command)));
                context.report(&self.effect, Report::Loop(LoopReport::Unchecked(why)), notes);
            }
            Next::GoOn | Next::SendBack | Next::Ask => {
                context.fail(&self.effect, Failure::new(FailureKind::DidNotRun, why), notes);
            }
        }
    }
}

/// The note that a landing was not tested, because no test command is known where it lands.
pub(crate) fn no_command(context: &RunContext, effect: &EffectId, tree: &Oid) -> Note {
    Note::Command(Box::new(CommandNote {
        effect: effect.to_string(),
        command: ProjectCommand::Test,
        shown: String::new(),
        tree: tree.to_string(),
        answer: Answer::NoTests(unknown(context)),
        judge: Vec::new(),
        uncounted: false,
    }))
}

/// Why no test command is known, with the setting that would name one.
fn unknown(context: &RunContext) -> String {
    let checks = &context.settings.checks;
    if green::tests_nothing(&checks.test) {
        return format!("`{}` tests nothing (checks.test)", checks.test.join(" "));
    }
    match checks.no_tests {
        true => "the settings say that the project has none (checks.no_tests)".to_owned(),
        false => "no test command is known for this project; `checks.test` can name one".to_owned(),
    }
}

/// The finding about a test that was lost, by what was counted.
fn lost_test(command: ProjectCommand, one: &Regression) -> Claim {
    let text = match &one.test {
        Some(test) => format!("{test}: {}", one.detail),
        None => one.detail.clone(),
    };
    let mut claim = failing(Severity::Blocker, text);
    claim.rule = Some(format!("{command}:{}", one.test.as_deref().unwrap_or("tests")));
    claim.suggestion = "bring the test back, or say in the plan that it goes".to_owned();
    claim.fixable_by = FixableBy::Dev;
    claim
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cargo says without a network and without its packages is longer than a line of a list.
    #[test]
    fn a_long_complaint_does_not_push_the_way_out_away() {
        let said = format!(
            "As a reminder, you're using offline mode (--offline) {}",
            "which is confusing ".repeat(20)
        );
        let told = format!("exit code 101{}", reason(&said, enforced::way_out(Network::None, &said)));
        let shown = tribunal_view::plain::clipped(&told, 100);
        assert!(shown.contains("`checks.network = true`"), "{shown}");
        assert_eq!(reason("no such file", None), ": no such file");
    }
}
