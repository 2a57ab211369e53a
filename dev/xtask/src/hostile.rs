//! `cargo xtask hostile`: the tests of hostile agents, and the proof that they are worth something: each must pass with
//! every defence up, and fail when its own is taken away. It knows which defence each case is about, and nothing else.

use crate::program::{cargo, command};
use crate::{out, survivors};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Mutex;
use tribunal_core::defence::Defence::{self, *};

/// What goes wrong is told in words.
type Res<T> = Result<T, String>;

/// The variable that names the defences to do without.
const VARIABLE: &str = "TRIBUNAL_UNDEFENDED";
/// Seconds after which a test counts as hung.
const LIMIT_S: i64 = 240;

/// Flags of the chore.
#[derive(clap::Args)]
pub struct Args {
    /// Also take each test's defence away, and expect it to fail
    #[arg(long)]
    prove: bool,
    /// Only the tests whose name contains this
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
    /// Only one test of each defence
    #[arg(long)]
    short: bool,
}

/// One hostile case: its test and the defences that stand against it. Where several do, all are taken away at once: any
/// one of them is enough.
struct Case(&'static str, &'static str, &'static [Defence]);

const CASES: &[Case] = &[
    Case(
        "dev forks 200 children that outlive it",
        "hostile::hostile_dev_leaves_a_swarm",
        &[Namespace, Sweep],
    ),
    Case("dev kills the reviewer", "hostile::hostile_dev_kills_the_reviewer", &[Namespace]),
    Case(
        "dev runs decide, cancel, run, gc; asks for the page",
        "hostile::hostile_dev_steers_runs",
        &[InsideAgent, Sandbox],
    ),
    Case(
        "everything dies in the fast-forward",
        "forward::hostile_power_cut_in_the_fast_forward",
        &[ForwardSettled],
    ),
    Case(
        "everything dies in the fast-forward, and the user goes on",
        "forward::hostile_power_cut_and_the_users_own_files",
        &[ForwardSettled],
    ),
    Case(
        "git dies with the branch locked",
        "forward::hostile_power_cut_while_git_holds_the_branch",
        &[ForwardSettled],
    ),
    Case(
        "a file cannot be replaced half-way",
        "forward::hostile_file_that_cannot_be_replaced",
        &[ForwardSettled],
    ),
    Case(
        "a folder of the worktree cannot be written",
        "forward::hostile_folder_that_cannot_be_written",
        &[ForwardChecked, ForwardSettled],
    ),
    Case("dev holds stdin", "hostile::hostile_dev_holds_stdin", &[ClosedInput]),
    Case("dev fills the disk", "hostile::hostile_dev_fills_the_disk", &[DiskCap]),
    Case("dev deletes its worktree", "hostile::hostile_dev_deletes_its_tree", &[TreeGone]),
    Case("dev leaves work and exits 0", "hostile::hostile_dev_ends_without_a_word", &[FinalEvent]),
    Case(
        "dev edits journal, .git, hooks",
        "hostile_files::hostile_dev_reaches_for_the_journal_and_the_repository",
        &[Sandbox],
    ),
    Case(
        "dev moves the branch, force-pushes",
        "hostile_files::hostile_dev_moves_the_branch_and_pushes",
        &[Sandbox],
    ),
    Case("dev reads secrets", "hostile_files::hostile_dev_reads_secrets", &[Sandbox]),
    Case(
        "a check reaches out of its tree",
        "hostile_files::hostile_check_reaches_out_of_its_tree",
        &[Sandbox],
    ),
    Case(
        "a check puts a link in its tree's place",
        "hostile_files::hostile_check_puts_a_link_in_its_trees_place",
        &[Sandbox, TreeInPlace],
    ),
    Case(
        "a check of the protocol reaches out of its tree",
        "hostile_files::hostile_check_of_the_protocol_reaches_out_of_its_tree",
        &[Sandbox],
    ),
    Case(
        "dev reads the key of the web page",
        "hostile_sandbox::hostile_dev_reads_the_key_of_the_web_page",
        &[Sandbox],
    ),
    Case("dev reads another project", "hostile_sandbox::hostile_dev_reads_another_project", &[Sandbox]),
    Case(
        "dev reads secrets behind a link",
        "hostile_sandbox::hostile_dev_reads_secrets_behind_a_link",
        &[Sandbox],
    ),
    Case(
        "dev reads secrets beside programs and packages",
        "hostile_sandbox::hostile_dev_reads_secrets_beside_programs",
        &[ProgramSecrets],
    ),
    Case(
        "dev reads projects beside programs",
        "hostile_sandbox::hostile_dev_reads_projects_beside_programs",
        &[ProgramSecrets],
    ),
    Case(
        "dev rewrites the record of its prompt",
        "hostile_files::hostile_dev_rewrites_the_record_of_its_prompt",
        &[SealedInput],
    ),
    Case(
        "a build script gives orders to the tool",
        "review_tools::hostile_build_script_gives_orders_to_the_tool",
        &[ToolForm],
    ),
    Case(
        "a check reads .env and git's settings",
        "hostile_sandbox::hostile_check_reads_the_users_worktree",
        &[Sandbox],
    ),
    Case(
        "dev rewrites .git: fsmonitor, hooks, filters",
        "hostile_files::hostile_dev_rewrites_its_git",
        &[NoDiscovery],
    ),
    Case(
        "dev links its SUMMARY to a secret",
        "hostile_files::hostile_dev_links_its_summary_to_a_secret",
        &[NoFollow],
    ),
    Case(
        "architect links its plan to a user's file",
        "hostile_files::hostile_architect_links_its_plan_to_a_users_file",
        &[NoFollow],
    ),
    Case(
        "formatter leaves a link to a user's file",
        "review_tools::hostile_formatter_leaves_a_link_to_a_users_file",
        &[NoFollow],
    ),
    Case(
        "formatter reaches for our index",
        "review_tools::hostile_formatter_reaches_for_our_index",
        &[Sandbox],
    ),
    Case(
        "a build script leaves a word for the next branch",
        "review_tools::hostile_build_script_leaves_a_word_for_the_next_branch",
        &[BaseCache],
    ),
    Case("dev links out of the tree", "hostile_files::hostile_dev_links_out_of_its_tree", &[Links]),
    Case(
        "reviewer edits files",
        "hostile_files::hostile_reviewer_edits_what_it_judges",
        &[ReadOnlyReviewer, ReviewerCompare],
    ),
    Case(
        "reviewer edits files, no sandbox",
        "hostile_files::hostile_reviewer_edits_without_a_sandbox",
        &[ReviewerCompare],
    ),
    Case(
        "dev plants agent configuration",
        "hostile_files::hostile_dev_plants_configuration_for_the_reviewer",
        &[BaseConfiguration],
    ),
    Case(
        "dev plants a build script",
        "hostile_files::hostile_dev_plants_a_build_script_for_the_reviewer",
        &[Sandbox],
    ),
    Case(
        "dev lays out answers for this loop and another",
        "hostile_files::hostile_dev_answers_in_the_reviewers_place",
        &[Sandbox],
    ),
    Case(
        "dev changes tribunal.toml and the roster",
        "hostile_gates::hostile_dev_changes_the_configuration",
        &[ProtectedChange],
    ),
    Case(
        "dev guts a script that only the run of its tests shows",
        "hostile_judge::hostile_dev_guts_what_its_test_command_is_seen_to_read",
        &[BaseJudge],
    ),
    Case("dev guts its test command", "hostile_judge::hostile_dev_guts_its_test_command", &[BaseJudge]),
    Case(
        "dev guts what its test command reaches",
        "hostile_judge::hostile_dev_guts_what_its_test_command_reaches",
        &[BaseJudge],
    ),
    Case(
        "dev guts a command of the settings",
        "hostile_judge::hostile_dev_guts_a_command_of_the_settings",
        &[BaseJudge],
    ),
    Case(
        "dev guts what a plan is verified by",
        "hostile_judge::hostile_dev_guts_what_a_plan_is_verified_by",
        &[BaseJudge],
    ),
    Case("dev steers Python's runner", "hostile_judge::hostile_dev_steers_pythons_runner", &[BaseJudge]),
    Case(
        "dev guts a script that a hook calls",
        "hostile_judge::hostile_dev_guts_a_script_that_a_hook_calls",
        &[BaseProgram],
    ),
    Case(
        "dev rewrites the program that judges it",
        "hostile_judge::hostile_dev_rewrites_the_program_that_judges_it",
        &[BaseProgram],
    ),
    Case(
        "dev rewrites what tells its judge what to do",
        "hostile_judge::hostile_dev_rewrites_the_orders_of_its_judge",
        &[BaseOrders],
    ),
    Case(
        "dev puts its judge on the search path",
        "hostile_judge::hostile_dev_puts_its_judge_on_the_search_path",
        &[PlainPath],
    ),
    Case(
        "a branch rewrites what tells a tool what to do",
        "hostile_branch::hostile_branch_rewrites_the_orders_of_a_tool",
        &[BaseOrders],
    ),
    Case(
        "a branch hides what a tool finds",
        "hostile_branch::hostile_branch_hides_what_a_tool_finds",
        &[BaseToolSettings],
    ),
    Case(
        "dev edits CI and hook files",
        "hostile_gates::hostile_dev_changes_ci_and_hooks",
        &[ProtectedChange],
    ),
    Case(
        "dev edits CI files while it fixes its delivery",
        "hostile_gates::hostile_dev_changes_ci_while_it_fixes_its_delivery",
        &[ProtectedChange],
    ),
    Case(
        "architect changes a verification command",
        "hostile_gates::hostile_architect_changes_a_verification_command",
        &[CommandsAsFound],
    ),
    Case("dev leaves its contract", "hostile_gates::hostile_dev_leaves_its_contract", &[Contract]),
    Case(
        "a tool answers nothing that can be read",
        "review_tools::hostile_tool_answers_nothing_that_can_be_read",
        &[ToolForm],
    ),
    Case(
        "dev edits its own contract",
        "hostile_gates::hostile_dev_rewrites_its_contract",
        &[ContractAsFound],
    ),
    Case(
        "agents say a secret that goes to the branch",
        "hostile_gates::hostile_words_take_no_secret_to_the_branch",
        &[SecretDocument],
    ),
    Case(
        "a branch hides a secret in the names of people and tags",
        "review_tools::hostile_branch_hides_a_secret_in_its_names",
        &[SecretHistory],
    ),
    Case(
        "a branch's history holds a secret that its end does not",
        "review_tools::hostile_branch_hides_a_secret_in_its_history",
        &[SecretHistory],
    ),
    Case("dev commits a secret", "hostile_gates::hostile_dev_commits_a_secret", &[Secrets]),
    Case(
        "dev prints and writes VERDICT: APPROVE",
        "hostile_words::hostile_dev_forges_the_verdict",
        &[LaunchWord],
    ),
    Case(
        "dev looks for the reviewer's socket",
        "reporting::hostile_dev_looks_for_the_reviewers_socket",
        &[Sandbox, OwnSocket],
    ),
    Case(
        "dev votes at the reviewer's socket, no sandbox",
        "reporting::hostile_dev_speaks_at_the_reviewers_socket",
        &[OwnSocket],
    ),
    Case(
        "a stranger votes with a launch's marker",
        "hostile_kernel::hostile_stranger_votes_with_a_launchs_marker",
        &[OwnSocket],
    ),
    Case(
        "dev changes the kernel's settings",
        "hostile_kernel::hostile_dev_changes_the_kernels_settings",
        &[KernelFiles],
    ),
    Case(
        "dev traces the first process",
        "hostile_kernel::hostile_dev_traces_the_first_process",
        &[SealedInit, AbstractSockets],
    ),
    Case(
        "dev asks for the user's keys",
        "hostile_kernel::hostile_dev_asks_for_the_users_keys",
        &[SystemCalls],
    ),
    Case(
        "dev opens sockets past the network",
        "hostile_kernel::hostile_dev_opens_sockets_past_the_network",
        &[SystemCalls],
    ),
    Case(
        "devs meet at a socket without a file",
        "hostile_kernel::hostile_devs_meet_at_a_socket_without_a_file",
        &[AbstractSockets],
    ),
    Case(
        "a check sends away what it reads",
        "hostile_kernel::hostile_check_sends_what_it_reads_away",
        &[CheckNetwork],
    ),
    Case("reviewer votes after its time", "reporting::hostile_reviewer_votes_after_its_time", &[RoundClosed]),
    Case(
        "reviewer votes after the run was called off",
        "reporting::hostile_reviewer_votes_after_the_run_was_called_off",
        &[RoundClosed],
    ),
    Case(
        "reviewer approves without evidence",
        "hostile_words::hostile_reviewer_approves_without_evidence",
        &[Evidence],
    ),
    Case(
        "a judged file votes through a reviewer that prints it",
        "launch_word::hostile_file_votes_through_a_reviewer_that_prints_it",
        &[LaunchWord],
    ),
    Case(
        "a build script reports for the reviewer",
        "hostile_words::hostile_build_script_reports_for_the_reviewer",
        &[OneVerdict],
    ),
    Case("reviewer gives two verdicts", "hostile_words::hostile_reviewer_gives_two_verdicts", &[OneVerdict]),
    Case("reviewer refuses", "hostile_words::hostile_reviewer_refuses", &[FinalEvent]),
    Case("reviewer prints 1 GB", "hostile_words::hostile_reviewer_prints_without_end", &[OutputCap]),
    Case(
        "reviewer answers in invalid UTF-8",
        "hostile_words::hostile_reviewer_answers_in_bytes_that_are_no_text",
        &[Utf8],
    ),
    Case(
        "terminal escapes, in words and commits",
        "hostile_words::hostile_words_cannot_draw_on_the_terminal",
        &[Escapes],
    ),
    Case(
        "code that hides from who reads it",
        "hostile_words::hostile_code_cannot_hide_from_the_reviewer",
        &[Escapes],
    ),
    Case(
        "instructions in a plan, a file, its name, a commit",
        "hostile_words::hostile_words_give_no_instructions_to_the_reviewer",
        &[Fence],
    ),
    Case(
        "everything is killed while a dev spends",
        "limits::hostile_kill_lets_no_cap_be_passed",
        &[LostCost],
    ),
    Case(
        "a program at another port, in the same browser",
        "in_a_browser::hostile_program_at_another_port_gets_no_session",
        &[SessionPath],
    ),
    Case(
        "strangers hold every connection to the page",
        "serve::hostile_strangers_cannot_shut_the_page",
        &[StrangersGiveWay],
    ),
    Case(
        "a branch brings commands and no sandbox",
        "hostile_branch::hostile_branch_brings_commands_and_no_sandbox",
        &[BaseSettings, Trust],
    ),
    Case("a clone brings a command", "hostile_branch::hostile_clone_brings_a_command", &[Trust]),
    Case(
        "a clone widens its agent's sandbox",
        "hostile_branch::hostile_clone_widens_the_sandbox_of_its_agent",
        &[Trust],
    ),
    Case(
        "a branch switches off what judges it",
        "hostile_branch::hostile_branch_judges_itself",
        &[BaseSettings],
    ),
    Case(
        "a branch changes CI, hooks and editors",
        "hostile_branch::hostile_branch_changes_what_runs_elsewhere",
        &[ProtectedChange],
    ),
    Case(
        "a branch changes what a protected link leads to",
        "hostile_branch::hostile_branch_changes_what_a_protected_link_leads_to",
        &[ProtectedChange],
    ),
    Case(
        "a branch brings its own waivers",
        "hostile_branch::hostile_branch_brings_its_own_waivers",
        &[OwnRuns],
    ),
    Case(
        "a branch makes .tribunal a link",
        "hostile_branch::hostile_branch_makes_the_state_folder_a_link",
        &[NoFollow],
    ),
    Case(
        "dev changes files of seventeen systems",
        "hostile_branch::hostile_dev_changes_what_runs_elsewhere",
        &[ProtectedChange],
    ),
    Case(
        "a branch changes how its phase is verified",
        "hostile_branch::hostile_branch_changes_how_its_phase_is_verified",
        &[BaseSettings],
    ),
    Case("a clone raises the user's cap", "limits::hostile_clone_raises_the_users_cap", &[Trust]),
    Case(
        "settings lie in the place of a run's own",
        "bad_input::hostile_settings_lie_in_the_place_of_a_runs_own",
        &[KeptSettings],
    ),
    Case("markup in a finding and a file's name", "serve::hostile_words_stay_words", &[Markup]),
];

/// Runs the tests and prints the table.
pub fn run(args: &Args) -> ExitCode {
    match play(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => {
            out::progress(format!("error: {text}"));
            ExitCode::from(2)
        }
    }
}

fn play(args: &Args) -> Res<bool> {
    let binary = build(args.prove)?;
    survivors::adopt();
    complete(&binary)?;
    let wanted = |case: &&Case| args.only.as_ref().is_none_or(|word| case.1.contains(word.as_str()));
    let mut cases: Vec<&Case> = CASES.iter().filter(wanted).collect();
    if args.short {
        cases = one_of_each(&cases);
    }
    let rows = in_pairs(&cases, |case| row(&binary, case, args.prove));
    match survivors::end_orphans() {
        0 => {}
        left => out::progress(format!("{left} left running in the end, ended")),
    }
    out::line(format!("{:<51} {:<27} {:<7} without", "case", "defence", "with"));
    let mut good = true;
    for row in rows {
        let (text, is_good) = row?;
        out::line(text);
        good &= is_good;
    }
    let what = if args.prove { "passes, and fails without its defence" } else { "passes" };
    let all = if good { "every case" } else { "NOT every case" };
    out::line(format!("{} cases; {all} {what}", cases.len()));
    Ok(good)
}

/// The first case of every defence.
fn one_of_each<'a>(cases: &[&'a Case]) -> Vec<&'a Case> {
    let mut seen: Vec<Defence> = Vec::new();
    let mut is_new = |case: &Case| {
        let new: Vec<Defence> = case.2.iter().filter(|defence| !seen.contains(defence)).copied().collect();
        seen.extend(&new);
        !new.is_empty()
    };
    cases.iter().copied().filter(|case| is_new(case)).collect()
}

/// One line of the table, and whether it is as it should be.
fn row(binary: &Path, case: &Case, prove: bool) -> Res<(String, bool)> {
    let Case(what, test, defences) = case;
    let names: Vec<&str> = defences.iter().map(|defence| defence.word()).collect();
    out::progress(test);
    let with = test_with(binary, test, "")?;
    let without = if prove { Some(test_with(binary, test, &names.join(","))?) } else { None };
    let (shown, proven) = match &without {
        None => ("not tried".to_owned(), true),
        Some(Ended::Failed(why)) => (format!("fails: {why}"), true),
        Some(Ended::Passed) => ("PASSES".to_owned(), false),
    };
    let good = matches!(with, Ended::Passed) && proven;
    let with = match with {
        Ended::Passed => "passes".to_owned(),
        Ended::Failed(why) => format!("FAILS: {why}"),
    };
    Ok((format!("{what:<51} {:<27} {with:<7} {shown}", names.join(" + ")), good))
}

/// How a test ended.
enum Ended {
    Passed,
    /// With the first words of why.
    Failed(String),
}

fn test_with(binary: &Path, test: &str, undefended: &str) -> Res<Ended> {
    let log = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    // Everything of the test is below this folder, so that what it leaves running is known by it.
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let output = |file: &File| file.try_clone().map(Stdio::from).map_err(|error| error.to_string());
    let mut command = command(binary);
    command.args(["--exact", test, "--nocapture"]).env(VARIABLE, undefended).env("RUST_BACKTRACE", "0");
    command.env("TMPDIR", folder.path());
    command.stdin(Stdio::null()).stdout(output(log.as_file())?).stderr(output(log.as_file())?);
    let mut child = command.process_group(0).spawn().map_err(|error| error.to_string())?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("no process")?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| error.to_string())?;
    let limit = Timespec { tv_sec: LIMIT_S, tv_nsec: 0 };
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit)).unwrap_or(0);
    if ended == 0 {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    match survivors::end_below(folder.path()) {
        0 => {}
        left => out::progress(format!("{test}: {left} left running, ended")),
    }
    let said = std::fs::read(log.path()).map_err(|error| error.to_string())?;
    Ok(match (ended, status.success()) {
        (0, _) => Ended::Failed(format!("it did not end within {LIMIT_S} s")),
        (_, true) => Ended::Passed,
        (_, false) => Ended::Failed(why(&String::from_utf8_lossy(&said))),
    })
}

/// The first line behind the panic that says something.
fn why(said: &str) -> String {
    let after = said.split_once("panicked at").map_or(said, |(_, after)| after);
    let lines: Vec<&str> = after.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()).collect();
    let side = |name: &str| lines.iter().find(|line| line.starts_with(name)).copied();
    let first = lines.first().copied().unwrap_or_default();
    let text = match (side("left: "), side("right: ")) {
        (Some(left), Some(right)) => format!("{left}, {right}"),
        _ => first.to_owned(),
    };
    tribunal_view::plain::clipped(&text, 60)
}

/// Every test of hostile agents is in the table, and every line of the table is a test.
fn complete(binary: &Path) -> Res<()> {
    let listed =
        command(binary).args(["--list", "--format", "terse"]).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let mut counted: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for test in tests.filter(|test| test.contains("::hostile_")) {
        counted.entry(test).or_default().0 = true;
    }
    for Case(_, test, _) in CASES {
        counted.entry(test).or_default().1 = true;
    }
    match counted.iter().find(|(_, both)| **both != (true, true)) {
        None => Ok(()),
        Some((test, (true, _))) => Err(format!("{test} is not in the table of cases")),
        Some((test, _)) => Err(format!("there is no test {test}")),
    }
}

/// Builds the end-to-end tests; for a proof with the switches in it.
fn build(prove: bool) -> Res<PathBuf> {
    out::progress("building the tests");
    let mut cargo = cargo();
    cargo.args(["test", "--quiet", "--package", "tribunal", "--test", "e2e", "--no-run"]);
    cargo.args(["--message-format", "json"]);
    if prove {
        // A place of its own: nobody must find such a program where the real one lies.
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let target = own.parent().and_then(Path::parent).ok_or("this program lies nowhere")?;
        cargo.args(["--features", "undefended"]).env("CARGO_TARGET_DIR", target.join("undefended"));
    }
    let built = cargo.stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&built.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let tests = messages.filter(|message| message["target"]["name"] == "e2e");
    let mut binaries = tests.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    let binary = binaries.next_back();
    binary.filter(|_| built.status.success()).ok_or_else(|| "the tests could not be built".to_owned())
}

/// Does something for every item, two at a time, and keeps their order.
fn in_pairs<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0..items.len());
    let done = Mutex::new(BTreeMap::new());
    let take = || next.lock().ok().and_then(|mut next| next.next());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(n) = take() {
                    let result = each(&items[n]);
                    if let Ok(mut done) = done.lock() {
                        done.insert(n, result);
                    }
                }
            });
        }
    });
    done.into_inner().map(|done| done.into_values().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The chore says so too, but only when somebody plays it.
    #[test]
    fn every_hostile_test_is_a_case() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/tribunal/tests/e2e");
        let mut tests = BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let (path, text) = (entry.path(), std::fs::read_to_string(entry.path()).unwrap_or_default());
            let module = path.file_stem().unwrap().to_string_lossy().into_owned();
            let names = text.lines().filter_map(|line| line.strip_prefix("fn hostile_")?.split_once("() {"));
            tests.extend(names.map(|(name, _)| format!("{module}::hostile_{name}")));
        }
        let cases: BTreeSet<String> = CASES.iter().map(|case| case.1.to_owned()).collect();
        assert_eq!(tests, cases);
    }

    #[test]
    fn every_defence_has_a_case_in_the_short_proof_too() {
        let all: Vec<&Case> = CASES.iter().collect();
        let short = one_of_each(&all);
        for defence in Defence::ALL {
            assert!(short.iter().any(|case| case.2.contains(defence)), "{defence:?} has no case");
        }
        assert!(short.len() < all.len());
    }

    #[test]
    fn the_readme_says_how_many_cases_there_are() {
        let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
        let said = format!("| {} cases; with `--prove` each must be lost without its defence |", CASES.len());
        assert!(std::fs::read_to_string(readme).unwrap().contains(&said), "README.md does not say {said:?}");
    }
}
