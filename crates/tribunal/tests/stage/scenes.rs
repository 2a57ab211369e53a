//! The scenes: small phases with their agents' script, the user's worktree and the user's answers. Each is a few
//! agents long, so that it can be played hundreds of times; together they reach every kind of step.

use super::{PHASE, Res, Stage};
use tribunal_core::run::Ending;

/// One scene.
pub struct Scene {
    /// Its name.
    pub name: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// The plans.
    pub plans: &'static [Plan],
    /// How it begins.
    pub begin: &'static [&'static str],
    /// What the user commits before, on top of the plans.
    pub change: &'static [(&'static str, &'static str)],
    /// What the agents do, before what they do anyway.
    pub script: &'static str,
    /// And what they do besides.
    pub more: &'static str,
    /// The project's settings.
    pub settings: &'static str,
    /// What the user did before, and does not want touched.
    pub user: User,
    /// What the user does when asked, in this order.
    pub answers: &'static [Answer],
    /// What the user does while an agent says that it is at work.
    pub during: Option<During>,
    /// It also dies around each call of git.
    pub git: bool,
    /// How it ends.
    pub ending: Ending,
}

/// A plan with one task per file.
pub struct Plan {
    /// `01`.
    pub number: &'static str,
    /// Its wave.
    pub wave: u32,
    /// What it waits for.
    pub depends_on: &'static str,
    /// The file of each task and the command that verifies it.
    pub tasks: &'static [(&'static str, &'static str)],
}

/// What the user's worktree is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// As committed.
    Clean,
    /// Changed, staged and untracked files.
    Dirty,
    /// Git does not track the planning folder.
    PlanningUntracked,
    /// The user signs commits, and a hook adds a trailer to each.
    Rules,
}

/// What the user answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `tribunal decide QUESTION WORDS…`
    Decide(&'static str, &'static [&'static str]),
    /// Writes a file where the inbox says, then `tribunal decide QUESTION fixed`.
    Fix(&'static str, &'static str, &'static str),
    /// `tribunal land`
    Land,
    /// `tribunal cancel`
    Cancel,
}

/// What the user does while the run lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum During {
    /// `tribunal cancel`
    Cancel,
    /// Commits a file on the branch.
    Commit(&'static str, &'static str),
}

/// One plan with one task.
pub const ONE: &[Plan] =
    &[Plan { number: "01", wave: 1, depends_on: "", tasks: &[("bin/one.sh", "sh bin/one.sh")] }];

/// One plan with two tasks.
pub const TWO_TASKS: &[Plan] = &[Plan {
    number: "01",
    wave: 1,
    depends_on: "",
    tasks: &[("bin/one.sh", "sh bin/one.sh"), ("bin/two.sh", "sh bin/two.sh")],
}];

/// Two plans side by side.
pub const TWO_PLANS: &[Plan] = &[
    Plan { number: "01", wave: 1, depends_on: "", tasks: &[("bin/one.sh", "sh bin/one.sh")] },
    Plan { number: "02", wave: 1, depends_on: "", tasks: &[("bin/two.sh", "sh bin/two.sh")] },
];

/// Two plans, the second on the first.
pub const CHAIN: &[Plan] = &[
    Plan { number: "01", wave: 1, depends_on: "", tasks: &[("bin/one.sh", "sh bin/one.sh")] },
    Plan { number: "02", wave: 2, depends_on: "\"01-01\"", tasks: &[("bin/two.sh", "sh bin/one.sh")] },
];

/// What agents do when a scene says nothing else.
pub const ANYWAY: &str = r##"
[[turn]]
role = "reviewer"
optional = true
do = [ { say = "CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]

[[turn]]
role = "dev"
use = "summary"
optional = true
do = [ { say = "SUMMARY: what the plan asks for.\nTASK: done" } ]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
optional = true
do = [
  { write = "bin/one.sh", text = "#!/bin/sh\necho one\n", executable = true },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]

[[turn]]
role = "dev"
plan = "01-01"
task = 2
optional = true
do = [ { write = "bin/two.sh", text = "#!/bin/sh\necho two\n" }, { say = "SUMMARY: two.sh prints two.\nTASK: done" } ]

[[turn]]
role = "dev"
plan = "01-02"
task = 1
optional = true
do = [ { write = "bin/two.sh", text = "#!/bin/sh\necho two\n" }, { say = "SUMMARY: two.sh prints two.\nTASK: done" } ]
"##;

/// A dev that writes what the plan asks for and does these steps besides.
pub fn dev_also(steps: &str) -> String {
    format!(
        r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  {{ write = "bin/one.sh", text = "echo one\n" }},
  {steps}
  {{ say = "SUMMARY: one.sh.\nTASK: done" }},
]
"##
    )
}

/// A reviewer of the task that does these steps, and no others.
pub fn reviewer_does(steps: &str) -> String {
    format!("\n[[turn]]\nrole = \"reviewer\"\nuse = \"task\"\ndo = [\n  {steps}\n]\n")
}

/// What a reviewer says who approves with a reason.
pub const APPROVES: &str = "{ say = \"CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve\" },";

/// What a shell program begins with that is an agent of the adapter `command`: it reads its launch word from its prompt.
pub const READ_WORD: &str = "word=$(sed -n 's/^Launch word: //p' | tail -1)\n";

/// Nobody judges the plans: most scenes are about the work.
pub const NO_GATE: &str = "[plan]\nreview = \"never\"\n";

/// A reviewer that finds something in the first round, and a dev that fixes it in the second.
pub const REVISED: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
plan = "01-01"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:2] issue: it prints the wrong word | suggestion: print 1\nVERDICT: reject" } ]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 2
do = [
  { expect = "F-" },
  { write = "bin/one.sh", text = "#!/bin/sh\necho 1\n", executable = true },
  { say = "FIXED: {finding:1}\nSUMMARY: one.sh prints 1.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "task"
plan = "01-01"
round = 2
do = [ { say = "{finding:1}: resolved\n[id:b] [severity:suggestion] [confidence:85] [file:bin/one.sh:1] issue: a comment would help\nCHECKED: it prints 1.\nVERDICT: approve" } ]
"##;

const PLAN_REVISED: &str = r##"
[[turn]]
role = "reviewer"
use = "plan"
round = 1
do = [ { say = "[id:1] [severity:blocker] [confidence:90] [file:{PLAN}:15] issue: nobody says what one.sh prints\nVERDICT: reject" } ]

[[turn]]
role = "architect"
round = 2
do = [
  { expect = "F-" },
  { run = ["sh", "-c", "sed 's/^Write it\\.$/Write it so that it prints one word./' {PLAN} > plan.new && mv plan.new {PLAN}"] },
  { say = "FIXED: {finding:1}\nSUMMARY: the task says what is printed.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "plan"
round = 2
do = [ { say = "{finding:1}: resolved\nCHECKED: the task says it.\nVERDICT: approve" } ]
"##;

const REVIEWER_LOST: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
round = 1
attempt = 1
do = [ { fault = "crash" } ]

[[turn]]
role = "reviewer"
use = "task"
round = 1
attempt = 2
do = [ { say = "CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve" } ]
"##;

/// An executor that writes the spec of a greeting.
pub const SPEC: &str = r##"
[[turn]]
role = "executor"
use = "chain"
plan = "spec"
round = 1
optional = true
do = [
  { expect = "say hello to whoever comes" },
  { write = ".planning/features/hello/spec.md", text = "# Hello\n\n## Problem\n\nNobody is greeted.\n\n## Requirements\n\nbin/one.sh greets.\n\n## Success criteria\n\nIt prints a word.\n\n## Out of scope\n\nNames.\n" },
  { say = "SUMMARY: the spec of a greeting.\nTASK: done" },
]
"##;

/// The reviewer of the spec wants to know which word; it is fixed in the second round.
pub const SPEC_REVISED: &str = r##"
[[turn]]
role = "reviewer"
reviewer = "chain-reviewer"
use = "chain"
plan = "spec"
round = 1
optional = true
do = [
  { expect = "from this artifact alone" },
  { expect = "Nobody is greeted" },
  { say = "[id:a] [severity:blocker] [confidence:95] [file:.planning/features/hello/spec.md:9] issue: nobody says which word is printed | suggestion: name it\n[id:b] [severity:warning] [confidence:90] [file:.planning/features/hello/spec.md:5] issue: nobody says when\nVERDICT: needs-revision" },
]

[[turn]]
role = "executor"
use = "chain"
plan = "spec"
round = 2
optional = true
do = [
  { expect = "nobody says which word is printed" },
  { run = ["sh", "-c", "sed 's/prints a word/prints: hello/' .planning/features/hello/spec.md > new && mv new .planning/features/hello/spec.md"] },
  { say = "FIXED: {finding:1}\nREFUTED: {finding:2} because it is printed whenever it is run\nSUMMARY: the word is named.\nTASK: done" },
]

[[turn]]
role = "reviewer"
reviewer = "chain-reviewer"
use = "chain"
plan = "spec"
round = 2
optional = true
do = [ { say = "{finding:1}: resolved\n{finding:2}: not an issue because a script runs when it is run\nCHECKED: the word is named, and the refutation holds.\nVERDICT: approved" } ]
"##;

/// Both plans write the same line of the notes.
pub const CONFLICT_ONLY: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { write = "NOTES.txt", text = "Notes.\nnewest first: one\n" },
  { say = "SUMMARY: one.sh, noted.\nTASK: done" },
]

[[turn]]
role = "dev"
use = "task"
plan = "01-02"
do = [
  { write = "bin/two.sh", text = "echo two\n" },
  { write = "NOTES.txt", text = "Notes.\nnewest first: two\n" },
  { say = "SUMMARY: two.sh, noted.\nTASK: done" },
]
"##;

/// The second plan's dev keeps both notes.
pub const REPAIR: &str = r##"
[[turn]]
role = "dev"
use = "repair"
plan = "01-02"
do = [
  { expect = "NOTES.txt" },
  { write = "NOTES.txt", text = "Notes.\nnewest first: two\n  one\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: both notes are kept.\nTASK: done" },
]
"##;

const RED_CHECK: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 1
do = [ { write = "bin/one.sh", text = "exit 1\n" }, { say = "SUMMARY: a try.\nTASK: done" } ]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 2
do = [ { expect = "fails" }, { write = "bin/one.sh", text = "echo one\n" }, { say = "FIXED: {finding:1}\nSUMMARY: fixed.\nTASK: done" } ]
"##;

/// A dev that declares the wrong file; whoever judges the delivery says who fixes it.
pub const DELIVERY_WRONG: &str = r###"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { write = "{SUMMARY}", text = "## What Was Built\n\n- one.sh\n\n## Files Modified\n\n- `bin/other.sh` -- created: a mistake\n" },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "qa"
round = 1
do = [ { expect = "diff-against-plan" }, { say = "CHECKED: ran git show --stat, the files are those of the plan, and both checks name lines of the dev.\nVERDICT: approve" } ]
"###;

/// And the dev fixes it.
const DELIVERY_FIXED: &str = r###"
[[turn]]
role = "dev"
use = "qa"
round = 2
do = [
  { expect = "bin/other.sh" },
  { write = "{SUMMARY}", text = "## What Was Built\n\n- one.sh\n\n## Files Modified\n\n- `bin/one.sh` -- created: prints one\n" },
  { say = "FIXED: {finding:1}\nTASK: done" },
]
"###;

/// A dev that says nothing of what it built.
pub const SILENT: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [ { write = "bin/one.sh", text = "echo one\n" }, { say = "TASK: done" } ]
"##;

/// Until it is asked.
pub const SUMMARY_ASKED: &str = r##"
[[turn]]
role = "dev"
use = "summary"
do = [ { expect = "Say what was built" }, { say = "SUMMARY: one.sh, at last.\nTASK: done" } ]
"##;

/// What the dev makes fails its check until it is told what is wrong. One round, then the lane is stuck.
pub const STUCK: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { run = ["sh", "-c", "mkdir -p bin; if grep -q '^F-' \"$(dirname \"$TRIBUNAL_REPORT\")/prompt.md\"; then echo 'echo one' > bin/one.sh; else echo 'exit 1' > bin/one.sh; fi"] },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]
"##;

/// One round for each task.
pub const STUCK_SETTINGS: &str = "[plan]\nreview = \"never\"\n[task]\nrounds_max = 1\n";

/// No reviewer of the first plan's tasks ever answers.
pub const LOST_FOR_GOOD: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
plan = "01-01"
do = [ { fault = "crash" } ]
"##;

const HALF_DONE: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 1
do = [ { write = "bin/half.sh", text = "echo half\n" }, { fault = "crash" } ]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
attempt = 2
do = [
  { run = ["sh", "-c", "cat bin/half.sh > bin/one.sh"] },
  { commit = "wip: my own" },
  { say = "SUMMARY: from half to whole.\nTASK: done" },
]
"##;

/// A reviewer that finds something in two files of two fixers; both fix it, one of them a file that is not its own too.
const REVIEW_FIXED: &str = r##"
[[turn]]
role = "reviewer"
use = "phase"
round = 1
do = [ { say = "[id:a] [severity:warning] [confidence:90] [file:api/users.py:2] issue: x is odd | suggestion: y\n[id:b] [severity:warning] [confidence:90] [file:web/ui/list.ts:2] issue: b is odd | suggestion: y\nVERDICT: reject" } ]

[[turn]]
role = "engineering-backend-architect"
use = "phase"
round = 2
do = [
  { write = "api/users.py", text = "begin = 1\nx = 9\n" },
  { write = "NOTES.txt", text = "not mine\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: x is 9.\nTASK: done" },
]

[[turn]]
role = "engineering-frontend-developer"
use = "phase"
round = 2
do = [ { write = "web/ui/list.ts", text = "begin = 1\nb = 9\n" }, { say = "FIXED: {finding:1}\nSUMMARY: b is 9.\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "phase"
round = 2
do = [ { say = "F-1: resolved\nF-2: resolved\nCHECKED: both files again.\nVERDICT: approve" } ]
"##;

/// A dev that says when it is at work, and then waits.
pub const AT_WORK: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { run = ["sh", "-c", "echo > '{ROOT}/at-work'"] },
  { wait = "file:go" },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]
"##;

/// One plan that changes the notes.
pub const NOTED: &[Plan] =
    &[Plan { number: "01", wave: 1, depends_on: "", tasks: &[("NOTES.txt", "cat NOTES.txt")] }];

/// The same for the notes: their first line.
pub const AT_WORK_ON_NOTES: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  { write = "NOTES.txt", text = "one\n2\n3\n4\n5\n6\n7\n8\n9\n" },
  { run = ["sh", "-c", "echo > '{ROOT}/at-work'"] },
  { wait = "file:go" },
  { say = "SUMMARY: the notes.\nTASK: done" },
]
"##;

/// A builder that keeps what the user wrote beside what it wrote itself.
pub const NOTES_REPAIRED: &str = r##"
[[turn]]
role = "dev"
use = "repair"
plan = "01-01"
do = [
  { expect = "NOTES.txt" },
  { write = "NOTES.txt", text = "one and mine\n2\n3\n4\n5\n6\n7\n8\n9\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: both lines are kept.\nTASK: done" },
]
"##;

/// A builder that changes, adds and removes files, and lets a file and a folder change places.
const FORWARDED: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  { write = "NOTES.txt", text = "new\n" },
  { run = ["sh", "-c", "echo new > a.txt; rm gone.txt; mkdir added; echo new > added/in; rm -r folder file; echo new > folder; mkdir file; echo new > file/in"] },
  { say = "SUMMARY: the files.\nTASK: done" },
]
"##;

/// A scene to begin others from: one plan with one task, nobody judges the plan.
pub const PLAIN: Scene = Scene {
    name: "",
    shows: "",
    plans: ONE,
    begin: &["run"],
    change: &[],
    script: "",
    more: "",
    settings: NO_GATE,
    user: User::Clean,
    answers: &[],
    during: None,
    git: false,
    ending: Ending::Passed,
};

const LANE: &str = "01-01";

/// All scenes.
pub const SCENES: &[Scene] = &[
    Scene {
        name: "clean",
        shows: "two tasks pass, plan gate included",
        plans: TWO_TASKS,
        settings: "",
        ..PLAIN
    },
    Scene {
        name: "plan-revised",
        shows: "a plan is rejected and revised",
        settings: "",
        script: PLAN_REVISED,
        ..PLAIN
    },
    Scene {
        name: "task-revised",
        shows: "a task is rejected and revised",
        script: REVISED,
        git: true,
        ..PLAIN
    },
    Scene {
        name: "reviewer-lost",
        shows: "a reviewer dies and is asked again",
        script: REVIEWER_LOST,
        ..PLAIN
    },
    Scene { name: "red-check", shows: "a check fails, then passes", script: RED_CHECK, ..PLAIN },
    Scene {
        name: "delivery-fixed",
        shows: "a delivery does not pass, is fixed and lands",
        script: DELIVERY_WRONG,
        more: DELIVERY_FIXED,
        ..PLAIN
    },
    Scene {
        name: "summary-asked",
        shows: "a dev is asked what it built",
        script: SILENT,
        more: SUMMARY_ASKED,
        ..PLAIN
    },
    Scene {
        name: "conflict",
        shows: "two lanes conflict; the second is repaired",
        plans: TWO_PLANS,
        script: CONFLICT_ONLY,
        more: REPAIR,
        git: true,
        ..PLAIN
    },
    Scene {
        name: "each",
        shows: "plans land one by one, the second on the first",
        plans: CHAIN,
        settings: "[plan]\nreview = \"never\"\n[run]\nland = \"each\"\n",
        ..PLAIN
    },
    Scene {
        name: "half-done",
        shows: "a dev dies half way; what it left is gone on with",
        script: HALF_DONE,
        ..PLAIN
    },
    Scene {
        name: "stuck-again",
        shows: "a stuck lane is tried again",
        script: STUCK,
        settings: STUCK_SETTINGS,
        answers: &[Answer::Decide(LANE, &["again", "--rounds", "2"])],
        ..PLAIN
    },
    Scene {
        name: "stuck-fixed",
        shows: "a stuck lane is fixed by hand",
        script: STUCK,
        settings: STUCK_SETTINGS,
        answers: &[Answer::Fix(LANE, "bin/one.sh", "#!/bin/sh\necho by hand\n")],
        ..PLAIN
    },
    Scene {
        name: "stuck-accept",
        shows: "a stuck lane is accepted by a person",
        script: STUCK,
        settings: STUCK_SETTINGS,
        answers: &[Answer::Decide(LANE, &["accept"])],
        ..PLAIN
    },
    Scene {
        name: "stuck-drop",
        shows: "a stuck plan is dropped, its sibling lands",
        plans: TWO_PLANS,
        script: STUCK,
        settings: STUCK_SETTINGS,
        answers: &[Answer::Decide(LANE, &["drop"])],
        ending: Ending::Shut,
        ..PLAIN
    },
    Scene {
        name: "no-quorum",
        shows: "a reviewer is lost for good; a person accepts",
        script: LOST_FOR_GOOD,
        answers: &[Answer::Decide("01-01/task-1", &["accept"])],
        ..PLAIN
    },
    Scene {
        name: "cancel-waiting",
        shows: "a run that waits is called off",
        script: LOST_FOR_GOOD,
        answers: &[Answer::Cancel],
        ending: Ending::Cancelled,
        ..PLAIN
    },
    Scene {
        name: "cancel-live",
        shows: "a run is called off while an agent works",
        script: AT_WORK,
        during: Some(During::Cancel),
        ending: Ending::Cancelled,
        ..PLAIN
    },
    Scene {
        name: "branch-moved",
        shows: "the user commits while an agent works",
        script: AT_WORK,
        during: Some(During::Commit("user.txt", "meanwhile\n")),
        answers: &[Answer::Land],
        ..PLAIN
    },
    Scene {
        name: "branch-moved-same-file",
        shows: "the user commits to a file that the plan changes; the rest is judged again and lands",
        plans: NOTED,
        change: &[("NOTES.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")],
        script: AT_WORK_ON_NOTES,
        during: Some(During::Commit("NOTES.txt", "1\n2\n3\n4\n5\n6\n7\n8\nmine\n")),
        answers: &[Answer::Land],
        ..PLAIN
    },
    Scene {
        name: "branch-moved-conflict",
        shows: "the user commits what conflicts with the plan; its builder solves it and it lands",
        plans: NOTED,
        change: &[("NOTES.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")],
        script: AT_WORK_ON_NOTES,
        more: NOTES_REPAIRED,
        during: Some(During::Commit("NOTES.txt", "mine\n2\n3\n4\n5\n6\n7\n8\n9\n")),
        answers: &[Answer::Land],
        ..PLAIN
    },
    Scene {
        name: "branch-moved-chain",
        shows: "the user commits while two plans are built, the second on the first; both land on it by themselves",
        plans: CHAIN,
        script: AT_WORK,
        settings: "[plan]\nreview = \"never\"\n[run]\nland_again = true\n",
        during: Some(During::Commit("user.txt", "meanwhile\n")),
        ..PLAIN
    },
    Scene {
        name: "untracked",
        shows: "git does not track the planning folder; a plan is revised",
        script: PLAN_REVISED,
        settings: "",
        user: User::PlanningUntracked,
        ..PLAIN
    },
    Scene {
        name: "dirty",
        shows: "the user's worktree has changes of all kinds",
        user: User::Dirty,
        answers: &[Answer::Land],
        ..PLAIN
    },
    Scene {
        name: "signed",
        shows: "commits are signed and a hook adds a trailer; two plans land one by one",
        plans: CHAIN,
        settings: "[plan]\nreview = \"never\"\n[run]\nland = \"each\"\n",
        user: User::Rules,
        ..PLAIN
    },
    Scene {
        name: "review-fixed",
        shows: "a change is reviewed; two fixers fix it, each in its own checkout, and it is judged again",
        begin: &[
            "review",
            "--diff",
            "HEAD~1",
            "--fix",
            "--yes",
            "--panel",
            "testing-qa-verification-specialist",
        ],
        change: &[("api/users.py", "begin = 1\nx = 2\n"), ("web/ui/list.ts", "begin = 1\nb = 2\n")],
        script: REVIEW_FIXED,
        ..PLAIN
    },
    Scene {
        name: "fast-forward",
        shows: "files are changed, added, removed and swapped with folders in the user's worktree",
        plans: NOTED,
        change: &[("a.txt", "old\n"), ("gone.txt", "old\n"), ("folder/in", "old\n"), ("file", "old\n")],
        script: FORWARDED,
        settings: "[plan]\nreview = \"never\"\n[gates]\noff = [\"contract_compliance\"]\n",
        git: true,
        ..PLAIN
    },
    Scene {
        name: "artifact",
        shows: "a spec is made, judged, revised and brought with its record",
        plans: &[],
        begin: &["specify", "hello", "say", "hello", "to", "whoever", "comes"],
        change: &[(".planning/PROJECT.md", "# Tools\n")],
        script: SPEC,
        more: SPEC_REVISED,
        settings: "",
        ..PLAIN
    },
];

impl Scene {
    /// The scene of this name.
    pub fn named(name: &str) -> Option<&'static Scene> {
        SCENES.iter().find(|scene| scene.name == name)
    }

    /// Puts it on a stage: repository, plans, script, the user's own changes.
    pub fn set(&self, stage: &Stage) -> Res<()> {
        stage.write("README.md", "# tools\n")?;
        stage.write("NOTES.txt", "Notes.\nnewest first:\n")?;
        stage.write("tribunal.toml", self.settings)?;
        let untracked = self.user == User::PlanningUntracked;
        if !untracked {
            self.write_plans(stage)?;
        }
        stage.commit_all()?;
        if untracked {
            self.write_plans(stage)?;
        }
        if !self.change.is_empty() {
            self.change.iter().try_for_each(|(path, text)| stage.write(path, text))?;
            stage.git(&["add", "-A"])?;
            stage.git(&["commit", "-q", "-m", "feat: a change"])?;
        }
        if self.user == User::Rules {
            sign_commits(stage)?;
        }
        if self.user == User::Dirty {
            stage.write("README.md", "# tools, changed\n")?;
            stage.write("NOTES.txt", "Notes, staged.\n")?;
            stage.git(&["add", "NOTES.txt"])?;
            stage.write("NOTES.txt", "Notes, changed again.\n")?;
            stage.write("my own/new file.txt", "mine\n")?;
        }
        self.give_script(stage)
    }

    /// Gives the agents their script.
    pub fn give_script(&self, stage: &Stage) -> Res<()> {
        stage.script_with(&format!("{}\n{}", self.script, self.more))
    }

    fn write_plans(&self, stage: &Stage) -> Res<()> {
        // Where the script writes the notes, the plans say that they share them.
        let shared = match self.script.contains("NOTES.txt") {
            true => "sequential_files:\n  - \"NOTES.txt\"\n---\n# Plan",
            false => "---\n# Plan",
        };
        self.plans.iter().try_for_each(|plan| {
            let text = plan.text().replacen("---\n# Plan", shared, 1);
            stage.write(&format!("{PHASE}/01-{}-PLAN.md", plan.number), &text)
        })
    }
}

/// The user signs with a key for SSH, and has a hook that adds a trailer to every message.
fn sign_commits(stage: &Stage) -> Res<()> {
    let (key, allowed) = (stage.home().join("sign"), stage.home().join("allowed"));
    let shown = key.display().to_string();
    let made = stage.program().other("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &shown])?;
    if made.code != Some(0) {
        return Err(format!("ssh-keygen: {}", made.said()));
    }
    let public = std::fs::read_to_string(key.with_extension("pub")).map_err(super::at("sign.pub"))?;
    std::fs::write(&allowed, format!("tester@example.org {public}")).map_err(super::at("allowed"))?;
    let allowed = allowed.display().to_string();
    let settings = [
        ("commit.gpgsign", "true"),
        ("gpg.format", "ssh"),
        ("user.signingkey", &shown),
        ("gpg.ssh.allowedSignersFile", &allowed),
    ];
    settings.iter().try_for_each(|(key, value)| stage.git(&["config", key, value]).map(drop))?;
    let hook = ".git/hooks/commit-msg";
    stage.write(hook, "#!/bin/sh\ngit interpret-trailers --in-place --trailer 'Ticket: 7' \"$1\"\n")?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(stage.project().join(hook), mode).map_err(super::at(hook))
}

impl Plan {
    /// The document.
    pub fn text(&self) -> String {
        let Plan { number, wave, depends_on, tasks } = self;
        let mut text = format!(
            "---\nphase: \"01\"\nplan: \"{number}\"\ntitle: \"Tool {number}\"\nwave: {wave}\n\
             depends_on: [{depends_on}]\nmust_haves:\n"
        );
        tasks.iter().for_each(|(file, _)| text.push_str(&format!("  - \"{file} prints a word\"\n")));
        text.push_str("files_modified:\n");
        tasks.iter().for_each(|(file, _)| text.push_str(&format!("  - \"{file} (new)\"\n")));
        text.push_str(&format!("---\n# Plan 01-{number}\n"));
        for (n, (file, check)) in tasks.iter().enumerate() {
            text.push_str(&format!(
                "\n### Task {n}: Write {file}\nWrite it.\nIn the end {file} prints a word.\n\n**File:** `{file}` (new)\n\
                 **Commit:** `feat(01-{number}): add {file}`\n> verification: {check}\n",
                n = n + 1
            ));
        }
        text
    }
}
