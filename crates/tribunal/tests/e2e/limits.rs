//! How far agents may go: budgets, turns, silence, limits of accounts; and what follows when they end without an answer.

use crate::show::Show;
use rustix::process::Signal;
use tribunal_core::review_loop::FailureKind;
use tribunal_core::run::Ending;

impl Show {
    /// How often an agent was launched for a step.
    fn launches_of(&self, step: &str) -> usize {
        self.stage.launched().iter().filter(|effect| effect.contains(step)).count()
    }
}

#[test]
fn a_budget_cap_stops_the_run_and_says_how_to_go_on() {
    const SETTINGS: &str =
        "[plan]\nreview = \"never\"\n[budget]\nrun_cents = 50\nbuilder_cents = 10\nreviewer_cents = 10\n";
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "#!/bin/sh\necho one\n", executable = true },
  { usage = { input = 1200, output = 80, cost_usd = 0.45 } },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]
"##;
    let mut show = Show::with(SETTINGS, SCRIPT);
    let stopped = show.expect(&["run"], 4);
    let said = format!("{}{}", stopped.stdout, stopped.stderr);
    assert!(said.contains("$0.45 of $0.50 spent, the next launch reserves $0.10"), "{said}");
    let run = show.run();
    assert!(said.contains(&format!("tribunal resume {run} --set budget.run_cents=")), "{said}");
    assert_eq!(show.stage.launched().len(), 1, "nothing is launched beyond the cap");
    let status = show.expect(&["status"], 0).stdout;
    assert!(status.contains("$0.45 of $0.50"), "{status}");
    // Without another cap it stops again, and nothing is spent.
    show.expect(&["resume"], 4);
    assert_eq!(show.stage.launched().len(), 1);
    show.expect(&["resume", "--set", "budget.run_cents=100"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

/// A run whose orchestrator was killed while a dev was at work, which never came to an end.
fn killed_at_work() -> Show {
    const SETTINGS: &str = "[plan]\nreview = \"never\"\n[budget]\nrun_cents = 150\nbuilder_cents = 100\nreviewer_cents = 10\n\
         [agents]\nbuilder_timeout_s = 20\n";
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { run = ["sh", "-c", "echo > '{ROOT}/at-work'"] },
  { wait = "file:go" },
  { write = "bin/one.sh", text = "#!/bin/sh\necho one\n", executable = true },
  { usage = { input = 1200, output = 80, cost_usd = 0.20 } },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]
"##;
    let mut show = Show::with(SETTINGS, SCRIPT);
    let running = show.at_work();
    running.signal(Signal::KILL).unwrap();
    let ended = running.wait().unwrap();
    show.after(&["run"], ended);
    assert_eq!(show.launches_of("/make:dev"), 1);
    show
}

/// A launch that had begun when everything was killed has cost what was reserved for it: under a cap of 150 cents, no
/// kill lets a second one of 100 begin.
#[test]
fn hostile_kill_lets_no_cap_be_passed() {
    let mut show = killed_at_work();
    let said = show.expect(&["resume"], 4).said();
    assert_eq!(show.launches_of("/make:dev"), 1, "{said}");
    assert!(said.contains("$1.00 of $1.50 spent, the next launch reserves $1.00"), "{said}");
    assert!(show.expect(&["log", "--all"], 0).stdout.contains("the $1.00 reserved for it count"));
    // It counts once, however often the run goes on.
    let again = show.expect(&["resume"], 4).said();
    assert!(again.contains("$1.00 of $1.50 spent"), "{again}");
    // With room for another one it goes on, and what that one says of its cost counts.
    let resumed = show.at_work_in(&["resume", "--set", "budget.run_cents=250"]);
    show.stage.open("go").unwrap();
    let ended = resumed.wait().unwrap();
    let said = show.after(&["resume"], ended).said();
    assert_eq!((show.launches_of("/make:dev"), show.ended()), (2, Ending::Passed), "{said}");
}

/// The user's own file caps every run; the file of a clone says that there is no cap.
#[test]
fn hostile_clone_raises_the_users_cap() {
    let capped = |settings: &'static str| {
        let mut show = Show::with(settings, "");
        let file = show.stage.home().join(".config/tribunal/config.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{text}[budget]\nrun_cents = 15\nbuilder_cents = 10\n")).unwrap();
        show.stage.program_mut().trusts = false;
        show
    };
    let mut show = capped("[plan]\nreview = \"never\"\n[budget]\nrun_cents = 0\nreviewer_cents = 10\n");
    let said = show.expect(&["run"], 4).said();
    assert!(said.contains("`budget.run_cents` is not used"), "{said}");
    assert!(said.contains("$0.10 of $0.15 spent, the next launch reserves $0.10"), "{said}");
    assert_eq!(show.stage.launched().len(), 1, "{said}");

    // What the clone lowers counts, and so does a cap that leaves room.
    let mut twin = capped("[plan]\nreview = \"never\"\n[budget]\nrun_cents = 9\n");
    let said = twin.expect(&["run"], 4).said();
    assert_eq!(twin.stage.launched().len(), 0, "{said}");
    twin.expect(&["resume", "--set", "budget.run_cents=1000"], 0);
    assert_eq!(twin.ended(), Ending::Passed);
}

#[test]
fn a_loop_has_a_budget_of_its_own() {
    const SETTINGS: &str =
        "[plan]\nreview = \"never\"\n[budget]\nloop_cents = 15\nbuilder_cents = 10\nreviewer_cents = 10\n";
    let mut show = Show::with(SETTINGS, "");
    // The agents do not say what they cost, so what was reserved counts: 10 for the dev, and 10 more do not fit.
    let stopped = show.expect(&["run"], 4);
    assert!(
        stopped.stderr.contains("the budget of one loop is reached: $0.10 of $0.15"),
        "{}",
        stopped.said()
    );
    show.expect(&["resume", "--set", "budget.loop_cents=100"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn a_rate_limit_parks_the_account_and_it_is_tried_again() {
    const SETTINGS: &str = "[plan]\nreview = \"never\"\n[agents]\npark_s = 0\n";
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 1
do = [ { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 300 } } ]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 2
do = [ { write = "bin/one.sh", text = "#!/bin/sh\necho one\n", executable = true }, { say = "TASK: done" } ]
"##;
    let mut show = Show::with(SETTINGS, SCRIPT);
    show.expect(&["run"], 0);
    assert_eq!(show.failures(), [FailureKind::RateLimited]);
    let run_state = show.run_state();
    let parked = run_state.launches[0].parked_until.unwrap();
    assert!(run_state.launches[1].began.0 >= parked.0, "the account was left alone until then");
    assert!(show.expect(&["log"], 0).stdout.contains("rate limited: slow down"));
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn a_limit_that_lasts_for_days_is_a_used_up_account() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [ { event = { type = "error", kind = "rate_limit", message = "weekly limit", retry_after_ms = 300000000 } } ]
"##;
    let mut show = Show::script(SCRIPT);
    show.expect(&["run"], 4);
    assert_eq!(show.stage.launched().len(), 1, "the same account is not asked again");
}

#[test]
fn who_is_not_logged_in_is_asked_once() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
do = [ { event = { type = "error", kind = "auth", message = "not logged in" } } ]
"##;
    let mut show = Show::script(SCRIPT);
    show.expect(&["run"], 4);
    assert_eq!(show.failures(), [FailureKind::Auth]);
    assert_eq!(show.launches_of("/judge:"), 1);
    let log = show.expect(&["log"], 0).stdout;
    assert!(log.contains("auth: not logged in"), "{log}");
}

#[test]
fn an_overloaded_server_is_asked_again() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
attempt = 1
do = [ { event = { type = "error", kind = "overloaded", message = "529" } } ]

[[turn]]
role = "reviewer"
use = "task"
attempt = 2
do = [ { say = "CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]
"##;
    let mut show = Show::script(SCRIPT);
    show.expect(&["run"], 0);
    assert_eq!(show.failures(), [FailureKind::Overloaded]);
    assert_eq!(show.ended(), Ending::Passed);
}

/// What a dev does that goes wrong in its first attempt, and then does its work.
const SECOND: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 2
do = [ { write = "bin/one.sh", text = "#!/bin/sh\necho one\n", executable = true }, { say = "TASK: done" } ]
"##;

/// The dev's first attempt ends for this reason, and the second one passes.
fn first_attempt(settings: &'static str, first: &str, why: FailureKind, words: &str) {
    let script = format!(
        "[[turn]]\nrole = \"dev\"\nplan = \"01-01\"\ntask = 1\nattempt = 1\ndo = [ {first} ]\n{SECOND}"
    );
    let mut show = Show::with(settings, &script);
    show.expect(&["run"], 0);
    assert_eq!(show.failures(), [why]);
    let log = show.expect(&["log"], 0).stdout;
    assert!(log.contains(words), "{log}");
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn a_turn_cap_the_program_does_not_know_is_kept_for_it() {
    let tool =
        |n: u32| format!("{{ event = {{ type = \"tool\", name = \"read\", args = {{ n = {n} }} }} }}, ");
    let many: String = (0..6).map(tool).collect();
    first_attempt(
        "[plan]\nreview = \"never\"\n[agents.roles.dev]\nturns = 3\n",
        &format!("{many}{{ fault = \"hang\" }}"),
        FailureKind::TurnCap,
        "turn cap: it took 6 turns, more than 3",
    );
}

#[test]
fn the_same_call_again_and_again_is_no_progress() {
    let same = "{ event = { type = \"tool\", name = \"read\", args = { path = \"a\" } } }, ".repeat(5);
    first_attempt(
        "[plan]\nreview = \"never\"\n[agents]\nsame_call_max = 5\n",
        &format!("{same}{{ fault = \"hang\" }}"),
        FailureKind::Stalled,
        "stalled: it made the same call 5 times in a row",
    );
}

#[test]
fn silence_is_no_progress() {
    first_attempt(
        "[plan]\nreview = \"never\"\n[agents]\nsilent_s = 1\n",
        "{ fault = \"hang\" }",
        FailureKind::Stalled,
        "stalled: it printed nothing and did nothing",
    );
}

#[test]
fn an_answer_that_breaks_off_is_named_so() {
    let settings = "[plan]\nreview = \"never\"\n";
    first_attempt(settings, "{ fault = \"half-answer\" }", FailureKind::Truncated, "truncated");
    first_attempt(settings, "{ fault = \"crash\" }", FailureKind::Crashed, "crashed");
}

/// An adapter that can be told the session it goes on in.
const RESUMING: &str = r##"[plan]
review = "never"
[agents]
default = "zz-resuming"
[agents.roles.dev]
personality = "You like short scripts."
[adapters.zz-resuming]
like = "witness"
env = { RESUMED = ["{session}"] }
"##;

#[test]
fn a_rework_goes_on_in_the_builders_session_and_a_judge_never_does() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
round = 1
do = [
  { run = ["sh", "-c", "test -z \"$RESUMED\""] },
  { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:2] issue: it prints the wrong word\nVERDICT: reject" },
]

[[turn]]
role = "reviewer"
use = "task"
round = 2
do = [
  { run = ["sh", "-c", "test -z \"$RESUMED\""] },
  { report = { tool = "report_findings", args = { answers = [] } } },
  { say = "F-1: resolved\nCHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" },
]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 1
do = [
  { expect = "You like short scripts." },
  { run = ["sh", "-c", "test -z \"$RESUMED\""] },
  { write = "bin/one.sh", text = "#!/bin/sh\necho two\n", executable = true },
  { say = "TASK: done" },
]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 2
do = [
  { run = ["sh", "-c", "test \"$RESUMED\" = scripted-3"] },
  { write = "bin/one.sh", text = "#!/bin/sh\necho one\n", executable = true },
  { say = "FIXED: F-1\nTASK: done" },
]
"##;
    let mut show = Show::with(RESUMING, SCRIPT);
    show.tribunal(&["run"]);
    let run_state = show.run_state();
    let made = run_state.launches.iter().filter(|launch| launch.effect.contains("/make:dev"));
    let builders: Vec<_> = made.collect();
    assert_eq!(builders.iter().map(|launch| launch.resumed).collect::<Vec<_>>(), [false, true]);
    assert_eq!(builders[0].session.as_deref(), Some("scripted-3"));
    assert_eq!(show.failures(), []);
}

#[test]
fn a_builder_that_crashed_goes_on_where_it_was() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 1
do = [ { write = "bin/one.sh", text = "#!/bin/sh\n", executable = true }, { fault = "exit-nonzero" } ]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 2
do = [
  { run = ["sh", "-c", "test \"$RESUMED\" = scripted-1"] },
  { append = "bin/one.sh", text = "echo one\n" },
  { say = "TASK: done" },
]
"##;
    let mut show = Show::with(RESUMING, SCRIPT);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

/// A dev whose account is used up is followed by its backup.
#[test]
fn a_builder_that_cannot_go_on_is_followed_by_its_backup() {
    const SETTINGS: &str = "[plan]\nreview = \"never\"\n[agents.roles.dev-backup]\nmodel = \"other\"\n";
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 1
times = 1
do = [ { write = "half.txt", text = "half\n" }, { event = { type = "error", kind = "quota", message = "used up" } } ]

[[turn]]
role = "dev"
use = "task"
reviewer = "dev-backup"
plan = "01-01"
task = 1
do = [
  { delete = "half.txt" },
  { write = "bin/one.sh", text = "#!/bin/sh\necho one\n", executable = true },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]
"##;
    let mut show = Show::with(SETTINGS, SCRIPT);
    show.passes();
    assert_eq!(show.failures(), [FailureKind::Quota]);
    // Without a backup a person is asked at once.
    let mut show = Show::with("[plan]\nreview = \"never\"\n", &SCRIPT[..SCRIPT.rfind("[[turn]]").unwrap()]);
    show.waits_and_lands_nothing();
}
