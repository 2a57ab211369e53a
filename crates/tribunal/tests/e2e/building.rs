//! Build loops: what a checkpoint says is used and never counted, a lane that is stuck holds its group and no sibling.

use crate::show::Show;
use crate::stage::scenes::{self, PLAIN, Plan, Scene};
use tribunal_core::review_loop::Outcome;
use tribunal_core::run::{Ending, RunEvent, Standing};
use tribunal_engine::{Fact, RunState};
use tribunal_journal::Reader;

/// A dev that needs three runs; the second goes on while the checkpoint judges the first, the third is told what it said.
const THREE_RUNS: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
attempt = 1
do = [ { write = "bin/one.sh", text = "echo\n" }, { say = "SUMMARY: begun.\nTASK: not done" } ]

[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
attempt = 2
do = [ { wait = "file:go" }, { write = "bin/one.sh", text = "echo on\n" }, { say = "SUMMARY: nearly there.\nTASK: not done" } ]

[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
attempt = 3
do = [ { expect = "it will print half a word" }, { write = "bin/one.sh", text = "echo one\n" }, { say = "SUMMARY: whole.\nTASK: done" } ]

[[turn]]
role = "checkpoint"
do = [ { expect = "do not fail it for being unfinished" }, { say = "it will print half a word\nVERDICT: reject" } ]
"##;

fn facts(show: &Show) -> Vec<Fact> {
    let reader = Reader::open(&show.stage.run_dir(&show.run())).unwrap();
    let mut facts = Vec::new();
    reader.each(1, |row| Fact::decode(&row).map(|fact| facts.push(fact))).unwrap();
    facts
}

fn standing<'a>(run_state: &'a RunState, plan: &str) -> Standing<'a> {
    let mut standings = run_state.run.as_ref().unwrap().standings();
    standings.find(|(id, _)| id.as_str() == plan).unwrap().1
}

/// The checkpoint rejects, and the task has one round: had it counted, the lane were stuck.
#[test]
fn what_a_checkpoint_says_is_used_and_not_counted() {
    const SETTINGS: &str = "[plan]\nreview = \"never\"\n[run]\neffort = \"max\"\nautonomy = \"pure-vibe\"\n[task]\nrounds_max = 1\n";
    let mut show = Show::of(&Scene { script: THREE_RUNS, settings: SETTINGS, ..PLAIN });
    let running = show.stage.program().start(&["run"], &[]).unwrap();
    let told = |run_state: &RunState| {
        let run = run_state.run.as_ref().unwrap();
        run.spec().plans.iter().any(|plan| run.feedback(&plan.id).is_some())
    };
    show.stage.wait_for(&running, told).unwrap();
    let at = show.run_state();
    let review_loop = at.loops.values().next_back().unwrap();
    assert_eq!(
        (review_loop.round(), review_loop.iterations()),
        (0, 1),
        "the lane went on meanwhile, and nothing was ruled"
    );
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    let ended = show.after(&["run"], ended);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert_eq!(show.ended(), Ending::Passed);
    let run_state = show.run_state();
    let task = run_state.loops.iter().find(|(id, _)| id.as_str().starts_with("01-01/task-1")).unwrap().1;
    assert_eq!((task.outcome(), task.round(), task.iterations()), (Some(&Outcome::Passed), 1, 3));
    assert!(task.ledger().iter().next().is_none(), "what it says is no finding");
    let held = |fact: &Fact| matches!(fact, Fact::Run(RunEvent::Checkpointed { feedback: Some(_), .. }));
    assert!(facts(&show).iter().any(held));
}

/// Two plans side by side, and one that waits for their group.
const GROUPS: &[Plan] = &[
    Plan { number: "01", wave: 1, depends_on: "", tasks: &[("bin/one.sh", "sh bin/one.sh")] },
    Plan { number: "02", wave: 1, depends_on: "", tasks: &[("bin/two.sh", "sh bin/two.sh")] },
    Plan { number: "03", wave: 2, depends_on: "\"01-02\"", tasks: &[("bin/three.sh", "sh bin/three.sh")] },
];

const THIRD: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-03"
optional = true
do = [ { write = "bin/three.sh", text = "echo three\n" }, { say = "SUMMARY: three.sh prints three.\nTASK: done" } ]
"##;

#[test]
fn a_stuck_lane_blocks_its_group_and_its_siblings_finish() {
    let mut show = Show::of(&Scene {
        plans: GROUPS,
        script: scenes::STUCK,
        more: THIRD,
        settings: scenes::STUCK_SETTINGS,
        ..PLAIN
    });
    show.expect(&["run"], 4);
    let offers = ["again", "fixed", "accept", "drop", "stop"];
    assert_eq!(show.questions(), [("01-01".to_owned(), offers.to_vec())], "one question, about the lane");
    let run_state = show.run_state();
    assert!(matches!(standing(&run_state, "01-01"), Standing::Stuck(_)));
    assert_eq!(
        standing(&run_state, "01-02"),
        Standing::Queued,
        "its sibling is judged to the end, and waits"
    );
    assert_eq!(standing(&run_state, "01-03"), Standing::Ready, "the next group is not begun");
    let done = |plan: &str| show.stage.launched().iter().any(|effect| effect.starts_with(plan));
    assert!(done("01-02/qa") || done("01-02/task"), "{:?}", show.stage.launched());
    assert!(!done("01-03"), "{:?}", show.stage.launched());
    assert_eq!(
        (show.landed("bin/one.sh"), show.landed("bin/two.sh")),
        (None, None),
        "a group lands together"
    );
    show.expect(&["decide", "01-01", "again", "--rounds", "2"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(show.landed("bin/one.sh").is_some() && show.landed("bin/two.sh").is_some());
    assert_eq!(show.landed("bin/three.sh").as_deref(), Some("echo three"));
}

/// A panel looks at everything that landed, chosen by what changed; what it finds is fixed on the run branch.
#[test]
fn a_panel_reviews_what_a_run_built_before_it_comes_to_the_user() {
    const QA: &str = "testing-qa-verification-specialist";
    let finds = format!(
        r##"
[[turn]]
role = "reviewer"
use = "phase"
reviewer = "{QA}"
round = 1
do = [ {{ expect = "phase 01" }}, {{ say = "[id:a] [severity:warning] [confidence:95] [file:bin/one.sh:2] issue: it prints the wrong word | suggestion: print 1\nVERDICT: reject" }} ]

[[turn]]
role = "engineering-senior-developer"
use = "phase"
round = 2
do = [ {{ write = "bin/one.sh", text = "#!/bin/sh\necho 1\n", executable = true }}, {{ say = "FIXED: {{finding:1}}\nSUMMARY: it prints 1.\nTASK: done" }} ]

[[turn]]
role = "reviewer"
use = "phase"
reviewer = "{QA}"
round = 2
do = [ {{ say = "F-1: resolved\nCHECKED: it prints 1.\nVERDICT: approve" }} ]
"##
    );
    let mut show = Show::script(&finds);
    let ended = show.expect(&["run", "--panel"], 0);
    assert_eq!(show.ended(), Ending::Passed, "{}", ended.said());
    let run_state = show.run_state();
    let reviewers: Vec<&str> =
        run_state.review().unwrap().reviewers.iter().map(|reviewer| reviewer.id.as_str()).collect();
    assert!(reviewers.contains(&QA) && reviewers.len() > 1, "{reviewers:?}");
    let phase = run_state.examined().unwrap();
    assert_eq!(
        (phase.id().as_str().starts_with("phase."), phase.outcome(), phase.round()),
        (true, Some(&Outcome::Passed), 2)
    );
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("#!/bin/sh\necho 1"));
    assert_eq!(
        show.stage.git(&["show", "main:bin/one.sh"]).unwrap(),
        "#!/bin/sh\necho 1",
        "and only then is it the user's"
    );
    assert!(show.messages().contains("fix(01): review round 1"), "{}", show.messages());
}
