//! `tribunal do`: one change from one sentence, in a repository with nothing of ours in it. Two launches where all is well,
//! one commit, and the same care as with a run of plans.

use crate::show::Show;
use crate::stage::scenes::PLAIN;
use rustix::process::Signal;
use std::fmt::Write as _;
use tribunal_core::run::Ending;

/// A builder that writes a file, and a reviewer that takes it.
const GOOD: &str = r##"
[[turn]]
role = "dev"
plan = "do"
optional = true
do = [
  { write = "bin/hi.sh", text = "echo hi\n" },
  { say = "SUMMARY: hi.sh greets.\nTASK: done" },
]
"##;

/// The same, and it waits at its work.
const AT_WORK: &str = r##"
[[turn]]
role = "dev"
plan = "do"
attempt = 1
do = [
  { write = "bin/hi.sh", text = "echo hi\n" },
  { run = ["sh", "-c", "echo > '{ROOT}/at-work'"] },
  { wait = "file:go" },
  { say = "SUMMARY: hi.sh greets.\nTASK: done" },
]
"##;

/// A repository with two files and nothing of ours.
fn project(script: &str) -> Show {
    let (folder, stage) = crate::stage();
    stage.write("README.md", "# tools\n").unwrap();
    stage.write("NOTES.txt", "Notes.\n").unwrap();
    stage.commit_all().unwrap();
    stage.script_with(script).unwrap();
    Show::on(folder, stage)
}

fn subjects(show: &Show, at: &str) -> Vec<String> {
    let log = show.stage.git(&["log", "--format=%s", at]).unwrap();
    log.lines().map(str::to_owned).collect()
}

#[test]
fn one_sentence_is_one_change_one_commit_and_two_launches() {
    let mut show = project(GOOD);
    let ended = show.expect(&["do", "Greet people. It is for the door.\n\nKeep it short."], 0);
    assert_eq!(show.ended(), Ending::Passed, "{}", ended.said());
    assert_eq!(show.stage.launched().len(), 2, "{:?}", show.stage.launched());
    assert_eq!(subjects(&show, "main").len(), 2, "{:?}", subjects(&show, "main"));
    let message = show.stage.git(&["log", "-1", "--format=%B", "main"]).unwrap();
    assert!(message.starts_with("Greet people\n\nIt is for the door.\n\nKeep it short.\n"), "{message}");
    assert!(message.contains("Tribunal-Run: ") && !message.contains("Tribunal-Plan"), "{message}");
    assert!(!message.contains("Not-Reviewed") && message.contains("Tribunal-Not-Tested"), "{message}");
    let changed = show.stage.git(&["diff", "--name-only", "main~", "main"]).unwrap();
    assert_eq!(changed, "bin/hi.sh", "no document of ours comes with it");
    assert_eq!(show.stage.git(&["status", "--porcelain"]).unwrap(), "");
    // What changed, what it cost, and nothing about plans or phases.
    assert!(
        ended.stdout.contains("+echo hi") && ended.stdout.contains("1 file, 1 line added"),
        "{}",
        ended.said()
    );
    assert!(ended.stdout.contains("“Greet people” passed in"), "{}", ended.stdout);
    for command in [&["status"][..], &["show"], &["log"], &["report"], &["explain"], &["replay"]] {
        let told = show.expect(command, 0).stdout;
        assert!(!told.to_lowercase().contains("phase"), "{command:?}: {told}");
        assert!(
            told.contains("Greet people") || ["explain", "replay"].contains(&command[0]),
            "{command:?}: {told}"
        );
    }
}

#[test]
fn prompts_have_the_words_and_nothing_of_plans() {
    let mut show = project(GOOD);
    show.expect(&["do", "--check", "test -f bin/hi.sh", "Greet `them` all"], 0);
    for step in ["make_", "judge_"] {
        let prompt = show.prompts(step).join("\n");
        assert!(prompt.contains("in their own words\n\n```text\nGreet `them` all\n```"), "{prompt}");
        assert!(prompt.contains("- `sh -c test -f bin/hi.sh`"), "{prompt}");
        for word in ["phase", "Plan do", "must have", "PLAN.md", "SUMMARY.md"] {
            assert!(!prompt.contains(word), "{word}: {prompt}");
        }
    }
}

/// Rejected once and fixed: four launches, and still one commit.
#[test]
fn what_is_rejected_once_is_fixed_and_lands_as_one_commit() {
    let mut show = project(
        r##"
[[turn]]
role = "dev"
plan = "do"
round = 1
do = [ { write = "bin/hi.sh", text = "echo\n" }, { say = "SUMMARY: a start.\nTASK: done" } ]

[[turn]]
role = "reviewer"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/hi.sh:1] issue: it greets nobody | suggestion: say hi | evidence: echo prints an empty line\nCHECKED: read bin/hi.sh, echo has no word.\nVERDICT: reject" } ]

[[turn]]
role = "dev"
plan = "do"
round = 2
do = [ { write = "bin/hi.sh", text = "echo hi\n" }, { say = "FIXED: F-1\nSUMMARY: it says hi.\nTASK: done" } ]

[[turn]]
role = "reviewer"
round = 2
do = [ { say = "F-1: resolved\nCHECKED: read bin/hi.sh, echo says hi now.\nVERDICT: approve" } ]
"##,
    );
    show.expect(&["do", "Greet people"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.stage.launched().len(), 4, "{:?}", show.stage.launched());
    assert_eq!(subjects(&show, "main")[0], "Greet people");
    assert_eq!(subjects(&show, "main").len(), 2);
    assert_eq!(show.stage.git(&["show", "main:bin/hi.sh"]).unwrap(), "echo hi");
}

#[test]
fn a_builder_that_changes_nothing_ends_it_with_its_reason() {
    let mut show = project(
        "[[turn]]\nrole = \"dev\"\ndo = [ { say = \"SUMMARY: the greeting is there already.\\nTASK: done\" } ]\n",
    );
    let ended = show.expect(&["do", "Greet people"], 1);
    assert_eq!(show.ended(), Ending::Shut, "{}", ended.said());
    assert_eq!(show.stage.launched().len(), 1, "nobody judges nothing");
    assert!(ended.said().contains("changed nothing: the greeting is there already"), "{}", ended.said());
    assert!(!ended.stdout.contains("passed"), "{}", ended.stdout);
    assert_eq!(subjects(&show, "main").len(), 1);
}

#[test]
fn a_result_that_waits_is_landed_by_an_order_or_worked_on_again() {
    let mut show = project(GOOD);
    let ended = show.expect(&["do", "--no-land", "Greet people"], 4);
    assert_eq!(show.questions(), [("land".to_owned(), vec!["land", "again", "stop"])], "{}", ended.said());
    assert!(ended.stdout.contains("tribunal land"), "{}", ended.stdout);
    assert_eq!(subjects(&show, "main").len(), 1);
    show.stage.script_with(&GOOD.replace("echo hi", "echo hi you")).unwrap();
    let ended = show.expect(&["do", "--continue", "also say you"], 4);
    assert!(ended.stdout.contains("+echo hi you"), "{}", ended.said());
    let prompt = show.prompts("make_").join("\n");
    assert!(prompt.contains("added after seeing the change\n\n```text\nalso say you\n```"), "{prompt}");
    show.expect(&["land"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(subjects(&show, "main"), ["Greet people", "chore: begin"], "still one commit");
    assert_eq!(show.stage.git(&["show", "main:bin/hi.sh"]).unwrap(), "echo hi you");
}

/// After a conflict the change is one commit again, and its words are still what was asked for.
#[test]
fn a_change_that_conflicts_keeps_its_words() {
    let repairs = r##"
[[turn]]
role = "dev"
use = "repair"
plan = "do"
do = [
  { write = "bin/hi.sh", text = "echo hi and hello\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: both greet.\nTASK: done" },
]
"##;
    let mut show = project(&(repairs.to_owned() + GOOD));
    show.expect(&["do", "--no-land", "Greet people"], 4);
    show.user_commits(&[("bin/hi.sh", "echo hello\n")]);
    show.expect(&["land"], 0);
    assert_eq!(subjects(&show, "main"), ["Greet people", "docs: more", "chore: begin"]);
    assert_eq!(show.stage.git(&["show", "main:bin/hi.sh"]).unwrap(), "echo hi and hello");
}

/// A hook that wants something staged is shown the last commit, also where that is the first one.
#[test]
fn a_hook_that_wants_something_staged_sees_the_first_commit() {
    let mut show = project(GOOD);
    show.user_acts(|stage| {
        let hook = ".git/hooks/pre-commit";
        stage.write(hook, "#!/bin/sh\n! git diff --cached --quiet\n")?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(stage.project().join(hook), mode).map_err(|error| error.to_string())
    });
    show.expect(&["do", "Greet people"], 0);
    assert_eq!(subjects(&show, "main")[0], "Greet people");
}

/// What has landed is gone on from in a change of its own, whose builder is told what was asked for before.
#[test]
fn a_landed_change_is_gone_on_from() {
    let mut show = project(&GOOD.replace("bin/hi.sh", "hi.txt"));
    show.expect(&["do", "Greet people"], 0);
    show.stage.script_with(&GOOD.replace("bin/hi.sh", "hi.txt").replace("echo hi", "echo hi you")).unwrap();
    show.expect(&["do", "--continue", "Say you"], 0);
    assert_eq!(subjects(&show, "main")[..2], ["Say you", "Greet people"]);
    let prompt = show.prompts("make_").join("\n");
    assert!(prompt.contains("asked for before: it is done\n\n```text\nGreet people\n```"), "{prompt}");
    let mut none = project(GOOD);
    let refused = none.expect(&["do", "--continue", "x"], 2);
    assert!(refused.stderr.contains("no change here to go on with"), "{}", refused.stderr);
}

/// Changes of the user's that are in the way keep the result waiting, and nothing of theirs is touched.
#[test]
fn a_dirty_worktree_waits_for_tribunal_land() {
    let mut show = project(&GOOD.replace("bin/hi.sh", "NOTES.txt"));
    show.user_acts(|stage| stage.write("NOTES.txt", "mine\n"));
    let ended = show.expect(&["do", "Greet people"], 4);
    assert!(ended.stdout.contains("tribunal land") && ended.stdout.contains("NOTES.txt"), "{}", ended.stdout);
    show.untouched();
    show.user_acts(|stage| stage.git(&["checkout", "-q", "--", "NOTES.txt"]).map(drop));
    show.expect(&["land"], 0);
    assert_eq!(show.stage.git(&["show", "main:NOTES.txt"]).unwrap(), "echo hi");
}

#[test]
fn a_named_branch_gets_it_and_the_one_that_is_checked_out_does_not() {
    for made_before in [false, true] {
        let show = project(GOOD);
        if made_before {
            show.stage.git(&["branch", "topic"]).unwrap();
        }
        // The user asked for the branch: it is the one ref of theirs that is made.
        let done = |args: &[&str]| show.stage.tribunal(args).unwrap();
        let ended = done(&["do", "--branch", "topic", "Greet people"]);
        assert_eq!(ended.code, Some(0), "{}", ended.said());
        assert_eq!(subjects(&show, "topic").len(), 2, "made before: {made_before}");
        assert_eq!(subjects(&show, "main").len(), 1);
        assert_eq!(show.stage.git(&["symbolic-ref", "--short", "HEAD"]).unwrap(), "main");
        let refused = done(&["do", "--branch", "a..b", "Greet people"]);
        assert!(refused.stderr.contains("is no name for a branch"), "{}", refused.stderr);
    }
    // What is dropped leaves no branch, and what is worked on again needs none.
    let show = project(GOOD);
    for (args, code) in [
        (&["do", "--no-land", "--branch", "topic", "Greet people"][..], 4),
        (&["do", "--continue", "More"], 4),
        (&["decide", "land:2", "stop"], 1),
    ] {
        let ended = show.stage.tribunal(args).unwrap();
        assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.said());
    }
    assert!(show.stage.git(&["rev-parse", "--verify", "-q", "refs/heads/topic"]).is_err());
    let mut show = project(GOOD);
    show.expect(&["do", "--branch", "main", "Greet people"], 0);
    assert_eq!(subjects(&show, "main").len(), 2, "the branch that is checked out");
}

/// `git.branch` names the only branch that work lands on: `do` brings it there, and whatever lands on the branch that is
/// checked out is refused before anything begins.
#[test]
fn the_branch_of_the_settings_gets_the_work_or_nothing_begins() {
    let plans = Show::of(&PLAIN);
    let ended = plans.stage.tribunal(&["run", "--set", "git.branch=release"]).unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    for words in ["\"release\" alone (git.branch)", "\"main\" is checked out", "hint: "] {
        assert!(ended.stderr.contains(words), "{words:?}: {}", ended.stderr);
    }
    assert!(plans.stage.runs().is_empty(), "nothing was begun");
    let show = project(GOOD);
    let said = |args: &[&str]| show.stage.tribunal(&[args, &["--set", "git.branch=topic"]].concat()).unwrap();
    assert_eq!(said(&["do", "Greet people"]).code, Some(0));
    assert_eq!((subjects(&show, "topic").len(), subjects(&show, "main").len()), (2, 1));
}

#[test]
fn a_detached_head_needs_a_branch_and_an_unborn_one_a_commit() {
    let mut show = project(GOOD);
    show.user_acts(|stage| stage.git(&["checkout", "-q", "--detach"]).map(drop));
    let refused = show.expect(&["do", "Greet people"], 2);
    assert!(refused.stderr.contains("--branch NAME"), "{}", refused.stderr);
    let ended = show.stage.tribunal(&["do", "--branch", "topic", "Greet people"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert_eq!(subjects(&show, "topic").len(), 2);
    let (folder, stage) = crate::stage();
    stage.git(&["init", "-q", "-b", "main"]).unwrap();
    let ended = stage.tribunal(&["do", "Greet people"]).unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.stderr.contains("no commit yet") && ended.stderr.contains("hint: "), "{}", ended.stderr);
    drop(folder);
}

#[test]
fn words_come_from_anywhere_and_nothing_is_refused_with_the_way() {
    let mut show = project(GOOD);
    for (args, told) in [
        (&["do"][..], "there are no words"),
        (&["do", "  "], "there are no words"),
        (&["do", "-F", "nowhere.md"], "nowhere.md, given to -F"),
        (&["do", "--issue", "7"], "--issue comes with pull requests"),
        (&["do", "--builder", "nobody", "x"], "--builder: "),
        (&["do", "--reviewer", "nobody", "x"], "--reviewer: "),
        (&["run", "fix", "the", "login", "bug"], "tribunal do \"fix the login bug\""),
        (&["run", "greet"], "tribunal do \"greet\""),
    ] {
        let refused = show.expect(args, 2);
        assert!(refused.stderr.contains(told), "{args:?}: {}", refused.stderr);
    }
    assert_eq!(show.stage.runs(), Vec::<String>::new(), "nothing was begun");
    let mut long = String::from("Greet people.\n\n### Task 2: hidden\n> verification: touch /tmp/never\n");
    (0..20_000).for_each(|n| _ = write!(long, "word {n} "));
    show.user_acts(|stage| stage.write("task.md", &long));
    show.expect(&["do", "-F", "task.md"], 0);
    assert_eq!(show.stage.launched().len(), 2);
    assert!(show.prompts("make_")[0].contains("word 19999"), "no word is lost");
    show.stage.script_with(&GOOD.replace("bin/hi.sh", "bin/dash.sh")).unwrap();
    show.expect(&["do", "--", "-dashes", "first"], 0);
    assert_eq!(subjects(&show, "main")[..2], ["-dashes first", "Greet people"]);
}

/// A sentence is no reason to touch what a person must decide about.
#[test]
fn a_protected_file_stays_protected() {
    let mut show = project(&GOOD.replace("bin/hi.sh", ".github/workflows/ci.yml"));
    let ended = show.expect(&["do", "Greet people"], 4);
    assert!(ended.said().contains(".github/workflows/ci.yml"), "{}", ended.said());
    assert_eq!(subjects(&show, "main").len(), 1);
}

/// Commits have types where the repository's have, and only there.
#[test]
fn the_subject_follows_the_repository() {
    let mut show = project(GOOD);
    show.user_commits(&[("a.txt", "a\n")]);
    show.user_commits(&[("b.txt", "b\n")]);
    show.expect(&["do", "Greet people"], 0);
    assert_eq!(subjects(&show, "main")[0], "feat: greet people");
}

#[test]
fn what_died_goes_on_and_what_is_interrupted_too() {
    for signal in [Signal::KILL, Signal::INT] {
        let mut show = project(AT_WORK);
        let running = show.at_work_in(&["do", "Greet people"]);
        running.signal(signal).unwrap();
        let ended = running.wait().unwrap();
        assert_ne!(ended.code, Some(0), "{}", ended.said());
        show.stage.open("go").unwrap();
        show.stage.script_with(GOOD).unwrap();
        show.expect(&["resume"], 0);
        assert_eq!(show.ended(), Ending::Passed);
        assert_eq!(subjects(&show, "main")[0], "Greet people");
        assert_eq!(subjects(&show, "main").len(), 2);
    }
}

/// Two at once: each has its own lane, and the second is rebased on the first.
#[test]
fn two_at_once_land_one_after_the_other() {
    let mut show = project(AT_WORK);
    let first = show.at_work_in(&["do", "Greet people"]);
    show.stage.script_with(&GOOD.replace("bin/hi.sh", "bin/other.sh")).unwrap();
    let second = show.stage.tribunal(&["do", "Another"]).unwrap();
    assert_eq!(second.code, Some(0), "{}", second.said());
    show.stage.script_with(AT_WORK).unwrap();
    show.stage.open("go").unwrap();
    let ended = first.wait().unwrap();
    assert_eq!(ended.code, Some(4), "the branch has moved: {}", ended.said());
    show.expect(&["land"], 0);
    assert_eq!(subjects(&show, "main")[..2], ["Greet people", "Another"]);
}

#[test]
fn json_has_the_words_and_the_diff() {
    let mut show = project(GOOD);
    let ended = show.expect(&["do", "--json", "Greet people"], 0);
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(told["words"], "Greet people");
    assert_eq!(told["ending"], "passed");
    assert!(told["diff"].as_str().unwrap().contains("+echo hi"), "{told}");
}

/// Agents that are installed are chosen as `tribunal init` would, said in one line; without any, the way to one is told. One
/// that is not logged in is told by its name.
#[test]
fn agents_are_chosen_where_nothing_is_configured() {
    let (folder, mut stage) = crate::stage();
    stage.write("README.md", "# tools\n").unwrap();
    stage.commit_all().unwrap();
    std::fs::remove_file(stage.home().join(".config/tribunal/config.toml")).unwrap();
    let none = stage.tribunal(&["do", "Greet people"]).unwrap();
    if none.code == Some(2) {
        assert!(none.stderr.contains("no agent is configured for the role \"dev\""), "{}", none.stderr);
    }
    let bin = stage.root().join("agents");
    std::fs::create_dir_all(&bin).unwrap();
    for name in ["claude", "codex"] {
        // As Claude Code says it.
        let script = "#!/bin/sh\ncat > /dev/null\necho '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"Invalid API key · Please run /login\",\"session_id\":\"s\"}'\nexit 1\n";
        std::fs::write(bin.join(name), script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join(name), mode).unwrap();
    }
    stage.program_mut().prepend_path(&bin);
    let ended = stage.tribunal(&["do", "Greet people"]).unwrap();
    assert!(
        ended.stderr.contains("claude builds, codex reviews (as `tribunal init` would choose"),
        "{}",
        ended.said()
    );
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    assert!(ended.said().contains("Please run /login"), "{}", ended.said());
    drop(folder);
}
