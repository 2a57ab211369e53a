//! Prompts as a run really sends them: what agents of one family, reviewers of one panel and rounds of one loop share, byte for
//! byte, from the beginning. That much of them a cache can hold.

use crate::show::Show;
use crate::stage::scenes::{PLAIN, Scene, TWO_PLANS};
use std::collections::BTreeMap;

/// A project with documents for every agent to read, and a run that ended well.
fn documented(scene: &Scene) -> Show {
    let mut show = Show::of(scene);
    show.user_commits(&[
        (".planning/PROJECT.md", "# Tools\n\nSmall scripts, \u{1b}[31mnothing\u{1b}[0m more.\n"),
        (".planning/ROADMAP.md", "# Roadmap\n\n- [ ] **Phase 1: Tools** - ours\n"),
        (".planning/codebase/TESTING.md", "Run them.\n"),
    ]);
    show.expect(&["run"], 0);
    show
}

/// Every prompt of the run by its launch.
pub fn prompts(show: &Show) -> BTreeMap<String, String> {
    let launches = std::fs::read_dir(show.stage.run_dir(&show.run()).join("launches")).unwrap();
    let prompt = |launch: std::fs::DirEntry| {
        let text = std::fs::read_to_string(launch.path().join("prompt.md")).ok()?;
        Some((launch.file_name().into_string().unwrap(), text))
    };
    launches.flatten().filter_map(prompt).collect()
}

/// How many bytes two texts have in common from their beginning.
fn common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// Which part of the shorter prompt is the beginning of the other, in percent.
fn shared(a: &str, b: &str) -> usize {
    common(a, b) * 100 / a.len().min(b.len())
}

#[test]
fn agents_of_one_family_read_the_same_first_two_tiers() {
    let show = documented(&Scene { plans: TWO_PLANS, settings: "", ..PLAIN });
    let mut found = std::collections::BTreeMap::<(&str, String), Vec<String>>::new();
    for prompt in prompts(&show).into_values() {
        let (head, tail) =
            prompt.split_once("--- TIER 3: VOLATILE TAIL (phase=1) ---\n").expect("three tiers");
        let (one, two) = head.split_once("--- TIER 2: ROLE FAMILY (").unwrap();
        let family = if two.starts_with("planning)") { "planning" } else { "execution" };
        found.entry(("shared", one.to_owned())).or_default().push(tail.to_owned());
        found.entry((family, two.to_owned())).or_default().push(tail.to_owned());
        assert!(one.contains("Small scripts") && !prompt.contains('\u{1b}'), "{one}");
    }
    let texts = |tier: &str| found.keys().filter(|(name, _)| *name == tier).count();
    assert_eq!((texts("shared"), texts("planning"), texts("execution")), (1, 1, 1), "{:?}", found.keys());
    assert!(found.iter().all(|(_, prompts)| prompts.len() >= 2), "two agents of each family at least");
    assert!(found.keys().any(|(tier, text)| *tier == "planning" && text.contains("## ROADMAP.md")));
    assert!(found.keys().any(|(tier, text)| *tier == "execution" && text.contains("## codebase/TESTING.md")));
}

/// Two reviewers that both object once, to a plan and to its work.
const TWICE: &str = r##"
[[turn]]
role = "reviewer"
use = "plan"
round = 1
times = 2
do = [ { say = "[id:1] [severity:blocker] [confidence:90] [file:{PLAN}:15] issue: nobody says what one.sh prints\nVERDICT: reject" } ]

[[turn]]
role = "architect"
round = 2
do = [
  { run = ["sh", "-c", "sed 's/^Write it\\.$/Write it so that it prints one word./' {PLAN} > plan.new && mv plan.new {PLAN}"] },
  { say = "FIXED: {finding:1}\nSUMMARY: the task says what is printed.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "plan"
round = 2
times = 2
do = [ { say = "{finding:1}: resolved\nCHECKED: the task says it.\nVERDICT: approve" } ]

[[turn]]
role = "reviewer"
use = "task"
round = 1
times = 2
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:2] issue: it prints the wrong word | suggestion: print 1\nVERDICT: reject" } ]

[[turn]]
role = "dev"
task = 1
round = 2
do = [
  { write = "bin/one.sh", text = "#!/bin/sh\necho 1\n", executable = true },
  { say = "FIXED: {finding:1}\nSUMMARY: one.sh prints 1.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "task"
round = 2
times = 2
do = [ { say = "{finding:1}: resolved\nCHECKED: it prints 1.\nVERDICT: approve" } ]
"##;

#[test]
fn reviewers_of_one_panel_share_nine_tenths_and_rounds_the_tiers_and_the_plan() {
    const REVIEWERS: &str = "[agents]\nplan_reviewers = [\"reviewer\", \"second\"]\ntask_reviewers = [\"loop-reviewer\", \"third\"]\n";
    let show = documented(&Scene { script: TWICE, settings: REVIEWERS, ..PLAIN });
    let prompts = prompts(&show);
    let of = |subject: &str, who: &str, round: u32| {
        let round = format!("round {round} of ");
        let mut found = prompts.iter().filter(|(name, prompt)| {
            name.starts_with(&format!("01-01_{subject}")) && name.contains(who) && prompt.contains(&round)
        });
        let (_, prompt) =
            found.next().unwrap_or_else(|| panic!("{subject} {who} {round}: {:?}", prompts.keys()));
        prompt.as_str()
    };
    for (subject, reviewers) in
        [("plan", ["judge_reviewer", "judge_second"]), ("task-1", ["judge_loop", "judge_third"])]
    {
        let [first, second] = reviewers.map(|reviewer| of(subject, reviewer, 1));
        assert!(first != second && shared(first, second) >= 90, "{subject}: {}", shared(first, second));
        let [first, second] = reviewers.map(|reviewer| of(subject, reviewer, 2));
        assert!(first != second && shared(first, second) >= 90, "{subject} again: {}", shared(first, second));
        let (before, after) = (of(subject, reviewers[0], 1), of(subject, reviewers[0], 2));
        let common = &before[..common(before, after)];
        assert!(common.contains("--- TIER 3") && common.contains("## How to answer"), "{common}");
        assert!(common.contains("## Plan 01-01"), "{common}");
        assert!(shared(before, after) >= 60, "{subject}, two rounds: {}", shared(before, after));
    }
    let again = of("plan", "judge_reviewer", 2);
    let (_, changed) = again.split_once("## What changed since it was last judged").expect("a difference");
    assert!(changed.contains("\n-Write it.\n+Write it so that it prints one word.\n"), "{changed}");
    let devs: Vec<&String> = prompts
        .iter()
        .filter(|(name, _)| name.contains("task-1") && name.contains("make_dev"))
        .map(|(_, p)| p)
        .collect();
    let [first, second] = devs[..] else { panic!("two devs: {:?}", prompts.keys()) };
    assert!(shared(first, second) >= 80, "a dev's two rounds: {}", shared(first, second));
}

/// Three reviewers with personalities of their own look at what the demo built.
#[test]
fn siblings_of_a_panel_share_nine_tenths_on_the_demo_phase() {
    const PANEL: &str = "testing-qa-verification-specialist,engineering-backend-architect,security-engineer";
    let (_folder, mut stage) = crate::stage();
    let dir = stage.root().join("the demo");
    let demo = stage.tribunal(&["demo", "--dir", &dir.display().to_string()]).unwrap();
    assert_eq!(demo.code, Some(0), "{}", demo.said());
    stage.program_mut().dir = dir;
    stage.script("[[turn]]\nrole = \"reviewer\"\ndo = [{ say = \"CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve\" }]\n").unwrap();
    let scenario =
        format!("agents.scenario={}", serde_json::Value::from(stage.scene_file().display().to_string()));
    let args = ["review", "01", "--yes", "--panel", PANEL, "--set", &scenario];
    let ended = stage.tribunal(&args).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let (run, _) = stage.newest().unwrap().unwrap();
    let launches = std::fs::read_dir(stage.run_dir(&run).join("launches")).unwrap().flatten();
    let prompts: Vec<String> = launches
        .filter(|launch| launch.file_name().to_string_lossy().contains("judge"))
        .map(|launch| std::fs::read_to_string(launch.path().join("prompt.md")).unwrap())
        .collect();
    assert_eq!(prompts.len(), 3);
    for (at, one) in prompts.iter().enumerate() {
        for other in &prompts[at + 1..] {
            let share = shared(one, other);
            assert!(one != other && share >= 90, "{share} % of {} and {}", one.len(), other.len());
        }
    }
}
