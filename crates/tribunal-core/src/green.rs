//! Whether the project's own build and test commands are green. Nothing here runs a command.
//!
//! The exit status decides first: how a command ended on the tree before the change, and how it ends on the tree that
//! is judged. Counts that were read from its output only add to that, because a format that nobody recognises must
//! not turn red into green. A failing run is repeated once on the same tree; two different answers are a flaky
//! command, never a pass.

use crate::gate::CommandRun;
use crate::ids::Check;
use crate::policy::Use;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The commands of a project that Tribunal runs by itself. Each is a check of every loop that judges code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectCommand {
    /// Builds the project.
    Build,
    /// Runs the project's tests.
    Test,
}

impl ProjectCommand {
    /// Both commands, in the order in which they run.
    pub const ALL: [ProjectCommand; 2] = [ProjectCommand::Build, ProjectCommand::Test];

    /// The name of its check.
    ///
    /// A check of the user's own never has this name by accident: commands of `checks.commands` are often called
    /// `build` and `test`.
    pub fn name(self) -> &'static str {
        match self {
            ProjectCommand::Build => "project-build",
            ProjectCommand::Test => "project-tests",
        }
    }

    /// The check that runs this command.
    pub fn check(self) -> Check {
        Check::new(self.name())
    }

    /// The command that a check runs, if it is one of these.
    pub fn of(check: &Check) -> Option<ProjectCommand> {
        ProjectCommand::ALL.into_iter().find(|command| command.name() == check.as_str())
    }

    /// The setting that names the command.
    pub fn setting(self) -> &'static str {
        match self {
            ProjectCommand::Build => "checks.build",
            ProjectCommand::Test => "checks.test",
        }
    }
}

impl fmt::Display for ProjectCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether the project's commands judge a use of the loop. They judge code; a plan and a document of the chain are
/// not code.
pub fn judges(of: Use, is_code: bool) -> bool {
    match of {
        Use::Plan => false,
        Use::Task | Use::Qa | Use::Phase => true,
        Use::Chain => is_code,
    }
}

/// Which of the project's commands are checks of a loop.
///
/// The test command is one even if nobody knows it: then the loop itself records that no tests ran. Without a build
/// command there is nothing to report.
pub fn checks_of(of: Use, is_code: bool, build_is_known: bool) -> Vec<ProjectCommand> {
    let runs = |command: &ProjectCommand| match command {
        ProjectCommand::Build => build_is_known,
        ProjectCommand::Test => true,
    };
    ProjectCommand::ALL.into_iter().filter(|command| judges(of, is_code) && runs(command)).collect()
}

/// One run of a command, with what was read from its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneRun {
    /// How the run ended.
    pub run: CommandRun,
    /// Its end in short: `exit code 3`.
    pub how: String,
    /// At least one of the tests that its output counts really ran: it was not just a file that cannot be loaded.
    pub counted: bool,
    /// Its output says that something is not installed.
    pub missing: bool,
}

/// How a command stands on one tree.
///
/// `Flaky` and `Unknown` are states of their own, so that nobody has to decide at each place whether they count as
/// green. They never do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandState {
    /// It ends with 0. A runner that says nothing about tests is believed.
    Green,
    /// It succeeds and says that it ran no test.
    NoTest,
    /// It failed, and failed again.
    Red {
        /// How it failed: `exit code 3`.
        how: String,
        /// It counted no test and says that something is not installed.
        broke: bool,
    },
    /// It failed once and did not fail another time, on the same tree.
    Flaky {
        /// How the failing run ended.
        how: String,
    },
    /// It did not run, or not to its end.
    Unknown {
        /// Why it did not run.
        why: String,
    },
}

/// How many runs on one tree have to agree before an answer is believed.
///
/// Each number is a whole build or test run, so a doubt is only as great as its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// How many runs must pass.
    pub passes: usize,
    /// How many runs must fail.
    pub failures: usize,
}

impl Doubt {
    /// A failing run is repeated, a passing one is believed.
    pub const LITTLE: Doubt = Doubt { passes: 1, failures: 2 };
    /// The change touches tests: a test that was just written may be green by chance.
    pub const TESTS_CHANGED: Doubt = Doubt { passes: 2, failures: 2 };
    /// The same change was seen to be flaky. Two passes would be chance more often than a repair.
    pub const SEEN_FLAKY: Doubt = Doubt { passes: 10, failures: 2 };
    /// The base is flaky, so a change that fails twice may be so as well.
    pub const FLAKY_BASE: Doubt = Doubt { passes: 1, failures: 10 };

    /// How much a base that was green in few runs is doubted, now that the change is not green.
    ///
    /// A command that was flaky before must not be blamed on the change. `None` if there is nothing to doubt. What is
    /// known of a base is kept, so that only the first change pays for it.
    pub fn of_base(before: &CommandState, now: &CommandState) -> Option<Doubt> {
        let passes = match now {
            CommandState::Flaky { .. } => 10,
            // Most changes that are red broke something, and each further run delays that answer.
            CommandState::Red { .. } => 3,
            CommandState::Green | CommandState::NoTest | CommandState::Unknown { .. } => return None,
        };
        before.is_green().then_some(Doubt { passes, failures: 2 })
    }

    /// How much a red answer of the change is doubted once its base was seen to be flaky.
    pub fn of_change(before: &CommandState, now: &CommandState) -> Option<Doubt> {
        let doubted = matches!(before, CommandState::Flaky { .. }) && matches!(now, CommandState::Red { .. });
        doubted.then_some(Doubt::FLAKY_BASE)
    }
}

/// Whether a command runs once more on the same tree before it is believed. Two different answers end it: they are
/// flaky, however often it is run.
pub fn runs_again(runs: &[OneRun], doubt: Doubt) -> bool {
    let Some(first) = runs.first() else { return true };
    // A run that tested nothing says the same the next time, and one that did not run leaves no answer to wait for.
    let ran = |one: &OneRun| matches!(one.run, CommandRun::Passed | CommandRun::Failed(_));
    if !runs.iter().all(ran) {
        return false;
    }
    if matches!(CommandState::of(runs), CommandState::Flaky { .. }) {
        return false;
    }
    match first.run {
        CommandRun::Failed(_) => runs.len() < doubt.failures,
        CommandRun::Passed => runs.len() < doubt.passes,
        CommandRun::NoTest(_) | CommandRun::DidNotRun(_) => false,
    }
}

impl CommandState {
    /// Whether the answer is kept for the next run that asks the same about the same tree.
    ///
    /// Only a plain yes or no is. A command that is flaky, found no test, or lacked something may answer differently
    /// next time, and a command that did not run gave no answer.
    pub fn is_remembered(&self) -> bool {
        matches!(self, CommandState::Green | CommandState::Red { broke: false, .. })
    }

    /// What all runs of a command on one tree come to, in their order.
    pub fn of(runs: &[OneRun]) -> CommandState {
        // The last failure is the one to name: it is what a person sees when they repeat the command.
        let failed = runs.iter().rev().find(|one| matches!(one.run, CommandRun::Failed(_)));
        let ended_well = runs.iter().any(|one| matches!(one.run, CommandRun::Passed | CommandRun::NoTest(_)));
        match (failed, ended_well) {
            // Any mix of failing and passing runs is flaky, in whatever order they came.
            (Some(one), true) => CommandState::Flaky { how: one.how.clone() },
            (Some(one), false) => {
                // If a test was counted, tests did run, whatever the output says about missing things.
                CommandState::Red { how: one.how.clone(), broke: one.missing && !one.counted }
            }
            (None, _) => CommandState::not_failed(runs),
        }
    }

    /// The state if nothing failed: the last run decides. Without a run nobody knows.
    fn not_failed(runs: &[OneRun]) -> CommandState {
        match runs.last().map(|one| &one.run) {
            Some(CommandRun::Passed) => CommandState::Green,
            Some(CommandRun::NoTest(_)) => CommandState::NoTest,
            Some(CommandRun::DidNotRun(why) | CommandRun::Failed(why)) => {
                CommandState::Unknown { why: why.clone() }
            }
            None => CommandState::Unknown { why: "it was not run".to_owned() },
        }
    }

    /// The state of a build, which runs no tests whatever it prints.
    pub fn as_of(self, command: ProjectCommand) -> CommandState {
        match (self, command) {
            (CommandState::NoTest, ProjectCommand::Build) => CommandState::Green,
            (state, _) => state,
        }
    }

    /// Whether it ends with 0, and no run said otherwise.
    pub fn is_green(&self) -> bool {
        *self == CommandState::Green
    }

    fn word(&self) -> String {
        match self {
            CommandState::Green => "exit code 0".to_owned(),
            CommandState::NoTest => "no test ran".to_owned(),
            CommandState::Red { how, .. } => how.clone(),
            CommandState::Flaky { how } => format!("flaky ({how}, and not another time)"),
            CommandState::Unknown { why } => format!("did not run ({why})"),
        }
    }
}

/// A command on both trees.
///
/// Both trees are needed: a command that was red before says nothing about the change, and one that was never run
/// says nothing at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// How it stands on the tree before the change.
    pub before: CommandState,
    /// How it stands on the tree that is judged.
    pub now: CommandState,
    /// Somebody configured the command. Whoever asks for tests wants to know when none ran.
    pub configured: bool,
    /// A file of either tree says that the project has tests.
    pub has_tests: bool,
    /// Both are the same tree: nothing changed that could have broken it.
    pub same_tree: bool,
    /// How it stands with the judge of the base; none if the change leaves its judge alone, or is not green anyway.
    pub with_base_judge: Option<BaseJudge>,
}

/// A command on the tree that is judged, but with the files that judge as the base has them (`judge_files`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseJudge {
    /// How the command stands there.
    pub state: CommandState,
    /// The files of the change that were put back.
    pub files: Vec<String>,
    /// Those of them that the base does not have.
    pub new: BTreeSet<String>,
}

impl BaseJudge {
    /// Which files the command ran with, in words.
    pub fn with(&self) -> String {
        let (new, old): (Vec<String>, Vec<String>) =
            self.files.iter().cloned().partition(|file| self.new.contains(file));
        let old = (!old.is_empty()).then(|| format!("with {} of the base", named(&old)));
        let new = (!new.is_empty()).then(|| format!("without {}, which the base does not have", named(&new)));
        old.into_iter().chain(new).collect::<Vec<_>>().join(", and ")
    }
}

/// Whether a test script changed together with what it tests, which is ordinary work, and is not just weaker than it
/// was.
///
/// `checks_kept` says that it checks as much as before. Beyond that it must be able to fail: the code of the base,
/// which its own tests find good, must be red with the change's script. Each script is asked by itself, or a weak one
/// could hide behind another.
pub fn changed_with_code(checks_kept: bool, base: &CommandState, base_with_script: &CommandState) -> bool {
    checks_kept && base.is_green() && matches!(base_with_script, CommandState::Red { broke: false, .. })
}

/// What follows from how a command ended.
///
/// Only the blockers become findings. The answers about the state before the change are reported and stop nothing,
/// because the builder did not cause them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The command is green.
    Green,
    /// The change broke it: a blocker, in words.
    Broken(String),
    /// It is flaky and was not before: a blocker, in words.
    NewlyFlaky(String),
    /// It is green only because the change also changes files that judge it: a blocker for a person, in words.
    JudgeChanged(String),
    /// It failed before the change as well. That is reported and blocks nothing.
    RedBefore(String),
    /// It was not reliable before the change either. That is reported and blocks nothing.
    FlakyBefore(String),
    /// No test ran, neither before nor now. Nothing is green; every report says so.
    NoTests(String),
    /// Nobody knows, so a person is asked.
    NotRun(String),
}

impl Answer {
    /// Whether there is nothing more to report.
    pub fn is_green(&self) -> bool {
        *self == Answer::Green
    }

    /// The text of the finding, if the answer is one.
    pub fn blocker(&self) -> Option<&str> {
        match self {
            Answer::Broken(text) | Answer::NewlyFlaky(text) | Answer::JudgeChanged(text) => Some(text),
            _ => None,
        }
    }

    /// The answer for a build. A build has no tests that could be missing: one that fails before the change and now
    /// is red, and that is reported.
    pub fn as_of(self, command: ProjectCommand, now: &CommandState) -> Answer {
        match (self, command, now) {
            (Answer::NoTests(text), ProjectCommand::Build, CommandState::Red { .. }) => {
                Answer::RedBefore(text)
            }
            (answer, _, _) => answer,
        }
    }

    /// The text of the answer; empty if it is green.
    pub fn text(&self) -> &str {
        match self {
            Answer::Green => "",
            Answer::Broken(text)
            | Answer::NewlyFlaky(text)
            | Answer::JudgeChanged(text)
            | Answer::RedBefore(text)
            | Answer::FlakyBefore(text)
            | Answer::NoTests(text)
            | Answer::NotRun(text) => text,
        }
    }
}

/// What follows from how a command ended before the change and now.
///
/// The arms are in order, and an earlier one wins. Every pair of states must have an answer, and none may be green
/// unless the command is green now.
pub fn answer(compared: &Compared) -> Answer {
    use CommandState::{Flaky, Green, NoTest, Red, Unknown};
    let Compared { before, now, configured, has_tests, same_tree, with_base_judge } = compared;
    let both = || format!("{} before, {} now", before.word(), now.word());
    // A command that fails by itself did run, whether or not anybody sees tests: it is red, and that is reported.
    let idle = |state: &CommandState| matches!(state, NoTest | Red { broke: true, .. } | Unknown { .. });
    match (before, now) {
        // First: a command that is green now is green, whatever it was before, unless the change touched its judge.
        (_, Green) => match with_base_judge {
            Some(judged) => answer_of_base_judge(compared, judged),
            None => Answer::Green,
        },
        // Whoever approved this tree, or took it as it is, was asked already.
        (_, NoTest | Unknown { .. }) if *same_tree => Answer::NoTests(now.word()),
        // Somebody configured this command to get tests, so its silence is a question.
        (NoTest, NoTest) if *configured => {
            Answer::NotRun("it ran no test, before the change and now".to_owned())
        }
        (NoTest, NoTest) => Answer::NoTests("it ran no test, before the change and now".to_owned()),
        // Nobody asked for tests and nothing says that there are any: a new project is not stopped for that.
        _ if !configured && !has_tests && idle(before) && idle(now) => Answer::NoTests(both()),
        // One side is missing, so nothing can be compared.
        (_, Unknown { .. }) | (Unknown { .. }, _) => Answer::NotRun(both()),
        // Something is not installed, so no test ran on one of the trees at least, and nothing can be compared.
        (Red { broke: was, .. }, Red { broke: is, .. }) if !same_tree && (*was || *is) => {
            Answer::NotRun(format!("{}: something that it needs is missing, so no test ran", both()))
        }
        (Red { .. }, Red { .. }) => Answer::RedBefore(both()),
        (Red { .. } | Flaky { .. }, Flaky { .. }) => Answer::FlakyBefore(both()),
        (Green | NoTest, Flaky { .. }) => Answer::NewlyFlaky(both()),
        (Green | NoTest | Flaky { .. }, Red { .. }) => Answer::Broken(both()),
        // There were tests before and none run now: the change has lost them.
        (Green | Red { .. } | Flaky { .. }, NoTest) => Answer::Broken(both()),
    }
}

/// What follows if a command is green on a change that also changes its judge.
///
/// Green counts only if the command is green with the base's judge too. A judge that was no better before the change
/// has nothing to lose.
fn answer_of_base_judge(compared: &Compared, judged: &BaseJudge) -> Answer {
    use CommandState::{Green, NoTest, Unknown};
    let state = &judged.state;
    // The same question about the run with the base's judge. Without the second judge, or it would ask for ever.
    let alone = Compared { now: state.clone(), with_base_judge: None, ..compared.clone() };
    let with = judged.with();
    let says = |what: &str| format!("{what} {with}; exit code 0 with the change's own");
    // The change made nothing worse: the base's judge says the same about both trees, or that this one is green.
    match (&compared.before, state) {
        (_, Green) | (NoTest, NoTest) | (Unknown { .. }, Unknown { .. }) => return Answer::Green,
        _ => {}
    }
    match answer(&alone) {
        Answer::RedBefore(text) => Answer::RedBefore(says(&text)),
        Answer::FlakyBefore(text) => Answer::FlakyBefore(says(&text)),
        _ => Answer::JudgeChanged(judge_changed(judged)),
    }
}

/// Says in words that a command is green only with the change's own judge.
pub fn judge_changed(judged: &BaseJudge) -> String {
    let (how, with) = (judged.state.word(), judged.with());
    format!("exit code 0 only because the change also changes what judges it: {how} {with}")
}

/// The first few by name, and how many more there are.
fn named(files: &[String]) -> String {
    const SHOWN: usize = 5;
    let first = files.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(SHOWN) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Programs that succeed whatever the project does.
const IDLE: [&str; 5] = ["true", ":", "exit", "echo", "printf"];

/// Whether a command tests nothing: it only prints something, or ends. `true`, `:`, `exit 0`, `echo ok`, also behind
/// `sh -c`.
///
/// Whoever configures such a test command has no tests, and every report says so.
pub fn tests_nothing(argv: &[String]) -> bool {
    let bare = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let words = argv.iter().map(String::as_str).collect::<Vec<_>>();
    let Some((program, rest)) = words.split_first() else { return false };
    if !["sh", "bash", "dash", "zsh", "ksh"].contains(&bare(program).as_str()) {
        return is_idle(&words);
    }
    // Also `-ec` and `-lc`: the last letter of combined flags takes the argument.
    let at = rest.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
    // A shell without `-c` runs a script, which may test anything.
    let Some(line) = at.and_then(|at| rest.get(at + 1)) else { return false };
    let mut commands = line.split([';', '\n', '&', '|']).filter(|one| !one.trim().is_empty());
    // A substitution runs a program that is not read here, so the line may test something.
    !line.contains(['$', '`']) && commands.all(|one| is_idle(&one.split_whitespace().collect::<Vec<_>>()))
}

/// Whether one command of a shell only prints, or only ends successfully.
fn is_idle(words: &[&str]) -> bool {
    let program = words.first().map(|word| word.rsplit('/').next().unwrap_or(word)).unwrap_or_default();
    let ends_well = program != "exit" || words.get(1).is_none_or(|status| *status == "0");
    IDLE.contains(&program) && ends_well
}

/// Everything that is held against a change: what the exit status says, then what was counted. Counts add and never
/// take away.
pub fn findings(answer: &Answer, counted: Vec<String>) -> Vec<String> {
    answer.blocker().map(str::to_owned).into_iter().chain(counted).collect()
}

/// Whether a landing may go on.
///
/// `accepted` is how the command stands on the lane's own tree, if a named person took that lane as it is: a result
/// that stands there in the same way is what the person took. Everything else that blocks refuses. `worse` is whether
/// tests fail by name that did not before: a command that was red before hides them behind its exit status.
pub fn may_land(answer: &Answer, worse: bool, accepted: Option<&CommandState>, now: &CommandState) -> bool {
    // By kind alone: the texts of two runs of the same failure differ.
    let kind = std::mem::discriminant;
    match answer {
        Answer::RedBefore(_) if worse => accepted.is_some_and(|lane| kind(lane) == kind(now)),
        Answer::Green | Answer::RedBefore(_) | Answer::FlakyBefore(_) | Answer::NoTests(_) => true,
        Answer::Broken(_) | Answer::NewlyFlaky(_) | Answer::NotRun(_) => {
            accepted.is_some_and(|lane| kind(lane) == kind(now))
        }
        // Whoever takes another judge takes its files, and then they are the judge.
        Answer::JudgeChanged(_) => false,
    }
}

/// What a project setting is for a result that was rebased: a value from the old base becomes the new base's.
///
/// Trust comes from the base, and after a rebase the base is the user's branch as it is now. A value that was not the
/// old base's came from a flag, the environment or the user's own file, which have the last word before and after.
pub fn after_rebase<T: PartialEq>(kept: T, before: &T, now: T) -> T {
    if kept == *before { now } else { kept }
}
