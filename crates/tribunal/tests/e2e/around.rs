//! Around the run: what is written in the planning folder at its end, and where the result goes.

use crate::prompts::prompts;
use crate::show::Show;
use crate::stage::play::listen;
use crate::stage::scenes::{NO_GATE, PLAIN, Plan, Scene, TWO_PLANS, TWO_TASKS, User};
use crate::stage::{PHASE, Stage};
use tribunal_core::run::Ending;

const STATE: &str = "# State\r\nours, with a tab\there\r\n\r\n## Current Phase\nPhase: 1 of 2 (Tools)\nPlans: 0/2\nStatus: ready\n\n## Notes\nStatus: also ours\n- [ ] buy milk";
const ROADMAP: &str = "# Roadmap\n\n- [ ] **Phase 1: Tools** - ours\n- [ ] **Phase 2: More**\n\n- [ ] 01-01-PLAN.md: one\n- [ ] 01-02-PLAN.md: two\n\n| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n| 1. Tools | 0/2 | Not started | - |\n| 2. More | 0/0 | Not started | - |\n\n<!-- a note nobody closes\n";

fn two_plans(user: User) -> Scene {
    Scene { plans: TWO_PLANS, user, settings: NO_GATE, ..PLAIN }
}

const DOCUMENTS: [(&str, &str); 2] = [(".planning/STATE.md", STATE), (".planning/ROADMAP.md", ROADMAP)];

fn add_documents(stage: &Stage) -> Result<(), String> {
    DOCUMENTS.iter().try_for_each(|(path, text)| stage.write(path, text))
}

fn read(show: &Show, path: &str) -> String {
    std::fs::read_to_string(show.stage.project().join(path)).unwrap()
}

/// What a complete phase makes of the two documents, byte for byte.
fn as_completed(date: &str) -> (String, String) {
    let state = STATE.replace("Plans: 0/2", "Plans: 2/2");
    let state = state.replace("Status: ready", "Status: Phase 01 complete (2/2 plans)");
    let roadmap = ROADMAP.replace("- [ ] **Phase 1", "- [x] **Phase 1").replace("- [ ] 01-0", "- [x] 01-0");
    let row = format!("| 1. Tools | 2/2 | Complete | {date} |");
    (state, roadmap.replace("| 1. Tools | 0/2 | Not started | - |", &row))
}

/// The day in the roadmap's row.
fn day(roadmap: &str) -> String {
    let row = roadmap.lines().find(|line| line.starts_with("| 1. Tools")).unwrap();
    row.rsplit('|').nth(1).unwrap().trim().to_owned()
}

/// A run that is called off is over, on record, while its check still runs; what the check would run next is not begun.
#[test]
fn a_check_does_not_hold_up_the_end_of_a_run() {
    let mut show = Show::of(&PLAIN);
    let root = show.stage.root().to_path_buf();
    let (gate, went_on) = (listen(&root.join("gate")).unwrap(), listen(&root.join("went-on")).unwrap());
    let plan = format!("{PHASE}/01-01-PLAN.md");
    let waits = format!(
        "> verification: echo > '{0}/at-work'; read line < '{0}/gate'; echo > '{0}/went-on'\n> verification: true",
        root.display()
    );
    let text = read(&show, &plan).replace("> verification: sh bin/one.sh", &waits);
    show.user_commits(&[(&plan, &text)]);
    let running = show.at_work();
    let cancel = show.stage.tribunal(&["cancel"]).unwrap();
    assert_eq!(cancel.code, Some(0), "{}", cancel.said());
    show.stage
        .wait_for(&running, |run_state| run_state.run.as_ref().is_some_and(|run| run.ending().is_some()))
        .unwrap();
    rustix::io::write(&gate, b"\n").unwrap();
    assert!(running.reaches(&went_on).unwrap(), "the end came only when the check's time was over");
    let ended = running.wait().unwrap();
    assert_eq!(show.after(&["run"], ended).code, Some(1));
    assert_eq!(show.ended(), Ending::Cancelled);
    let launches = std::fs::read_dir(show.stage.run_dir(&show.run()).join("launches")).unwrap();
    let names: Vec<_> = launches.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let begun = |n: &str| names.iter().any(|name| name.contains("check") && name.ends_with(n));
    assert!(begun(".0") && !begun(".1"), "{names:?}");
}

#[test]
fn state_and_roadmap_arrive_with_the_result_where_git_tracks_them() {
    let mut show = Show::of(&two_plans(User::Clean));
    show.user_commits(&DOCUMENTS);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let (state, roadmap) = (read(&show, ".planning/STATE.md"), read(&show, ".planning/ROADMAP.md"));
    assert_eq!((state, roadmap.clone()), as_completed(&day(&roadmap)));
    let files = show.stage.git(&["show", "--name-only", "--format=%s", "HEAD"]).unwrap();
    assert!(files.starts_with("docs(01): plans and summaries"), "{files}");
    assert!(files.lines().skip(1).filter(|l| !l.is_empty()).all(|l| l.starts_with(".planning/")), "{files}");
}

#[test]
fn state_and_roadmap_are_written_at_the_end_where_git_does_not_track_them() {
    let mut show = Show::of(&two_plans(User::PlanningUntracked));
    show.user_acts(add_documents);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let (state, roadmap) = (read(&show, ".planning/STATE.md"), read(&show, ".planning/ROADMAP.md"));
    assert_eq!((state, roadmap.clone()), as_completed(&day(&roadmap)));
}

#[test]
fn a_plan_that_did_not_land_leaves_the_phase_open() {
    let scene = Scene {
        settings: "[plan]\nreview = \"never\"\n[task]\nrounds_max = 1\n",
        script: crate::stage::scenes::STUCK,
        ..two_plans(User::PlanningUntracked)
    };
    let mut show = Show::of(&scene);
    show.user_acts(add_documents);
    show.expect(&["run"], 4);
    assert_eq!(read(&show, ".planning/STATE.md"), STATE, "nothing is written while the run lives");
    show.expect(&["decide", "01-01", "drop"], 1);
    let roadmap = read(&show, ".planning/ROADMAP.md");
    assert!(
        roadmap.contains("- [ ] **Phase 1") && roadmap.contains("| 1/2 | In progress | - |"),
        "{roadmap}"
    );
    assert!(roadmap.contains("- [ ] 01-01-PLAN.md") && roadmap.contains("- [x] 01-02-PLAN.md"), "{roadmap}");
}

const PUSHING: &str = "[plan]\nreview = \"never\"\n[git]\npush = \"after_phase\"\n";

fn with_remote(stage: &Stage) -> Result<(), String> {
    let remote = stage.root().join("remote.git").display().to_string();
    stage.git(&["init", "-q", "--bare", "-b", "main", &remote])?;
    stage.git(&["remote", "add", "origin", &remote])?;
    stage.git(&["push", "-q", "-u", "origin", "main"]).map(drop)
}

#[test]
fn the_result_is_pushed_when_the_configuration_says_so() {
    let mut show = Show::of(&Scene { settings: PUSHING, ..PLAIN });
    show.user_acts(with_remote);
    let ended = show.expect(&["run"], 0);
    assert!(ended.said().contains("main was pushed to origin"), "{}", ended.said());
    let remote = show.stage.root().join("remote.git").display().to_string();
    let there = show.stage.git(&["--git-dir", &remote, "rev-parse", "main"]).unwrap();
    assert_eq!(there, show.stage.git(&["rev-parse", "main"]).unwrap());
}

#[test]
fn a_push_that_fails_is_told_and_loses_nothing() {
    let mut show = Show::of(&Scene { settings: PUSHING, ..PLAIN });
    show.user_acts(|stage| {
        with_remote(stage)?;
        std::fs::remove_dir_all(stage.root().join("remote.git")).map_err(|error| error.to_string())
    });
    let ended = show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(ended.said().contains("git push origin main"), "the command: {}", ended.said());
    assert!(show.stage.git(&["show", "main:bin/one.sh"]).is_ok(), "the result is on the branch");
}

#[test]
fn a_branch_without_upstream_is_not_pushed() {
    let mut show = Show::of(&Scene { settings: PUSHING, ..PLAIN });
    let ended = show.expect(&["run"], 0);
    assert!(ended.said().contains("it has no upstream"), "{}", ended.said());
}

/// The events of the log, by name, with their plan and data.
fn events(show: &Show) -> Vec<(String, String, serde_json::Value)> {
    let text = read(show, ".planning/.events/event-log.jsonl");
    let event = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let word = |key: &str| event[key].as_str().unwrap().to_owned();
        assert_eq!((&event["phase"], word("correlation_id")), (&serde_json::json!(1), show.run()));
        (word("event"), word("plan"), event["data"].clone())
    };
    text.lines().map(event).collect()
}

fn state(show: &Show) -> serde_json::Value {
    serde_json::from_str(&read(show, ".planning/.execution-state.json")).unwrap()
}

#[test]
fn a_run_tells_its_events_in_the_names_of_the_protocol() {
    for user in [User::Clean, User::PlanningUntracked] {
        let mut show = Show::of(&Scene { user, ..two_plans(user) });
        show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed);
        let told = events(&show);
        let count = |name: &str| told.iter().filter(|(event, _, _)| event == name).count();
        for (name, times) in [
            ("phase_started", 1),
            ("smart_route", 2),
            ("token_overage", 0),
            ("plan_start", 2),
            ("task_started", 2),
            ("task_completed_candidate", 2),
            ("task_completed_confirmed", 2),
            ("task_completion_rejected", 0),
            ("plan_end", 2),
            ("shutdown_sent", 1),
            ("shutdown_received", 1),
            ("phase_completed", 1),
            ("review_loop_start", 0),
        ] {
            assert_eq!(count(name), times, "{name}: {told:?}");
        }
        assert!(count("agent_spawn") >= 4 && count("agent_shutdown") >= 4, "{told:?}");
        assert!(count("gate_passed") >= 2 && count("gate_failed") == 0, "{told:?}");
        let state = state(&show);
        assert_eq!(state["status"], "complete");
        assert_eq!(state["correlation_id"], show.run().as_str());
        assert_eq!(state["plans"][1]["status"], "complete");
        let metrics = show.expect(&["metrics-report", "1", "--json"], 0).stdout;
        let metrics: serde_json::Value = serde_json::from_str(&metrics).unwrap();
        assert_eq!(metrics["tasks_confirmed"], 2, "{metrics}");
        assert_eq!(metrics["by_effort"]["balanced"], 4, "{metrics}");
        assert_eq!(show.stage.git(&["status", "--porcelain", "--", ".planning/.events"]).unwrap(), "");
    }
}

#[test]
fn a_rejected_plan_leaves_its_review_loop_in_events_and_state() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "plan"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:{PLAN}:1] issue: the title says nothing | suggestion: say what it is for\nVERDICT: reject" } ]

[[turn]]
role = "architect"
do = [ { append = "{PLAN}", text = "\nIt is for those who want one.\n" }, { say = "FIXED: {finding:1}\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "plan"
round = 2
do = [ { say = "{finding:1}: resolved\nCHECKED: the title.\nVERDICT: approve" } ]
"##;
    let mut show = Show::of(&Scene { script: SCRIPT, settings: "", ..PLAIN });
    show.expect(&["run"], 0);
    let told = events(&show);
    let loops: Vec<_> = told.iter().filter(|(name, _, _)| name.starts_with("review_loop")).collect();
    let names: Vec<&str> = loops.iter().map(|(name, _, _)| name.as_str()).collect();
    assert_eq!(names, ["review_loop_start", "review_loop_cycle", "review_loop_end"], "{told:?}");
    assert_eq!(loops[0].2["max_cycles"], 3);
    assert_eq!((&loops[1].2["cycle"], &loops[1].2["verdict"]), (&2.into(), &"approve".into()));
    assert_eq!((&loops[2].2["cycles_used"], &loops[2].2["final_verdict"]), (&2.into(), &"approve".into()));
    let state = state(&show);
    let review = &state["review_loops"]["01-01"];
    assert_eq!(
        (&review["cycle"], &review["max"], &review["status"]),
        (&2.into(), &3.into(), &"passed".into())
    );
    assert_eq!(review["findings_per_cycle"][0]["high"], 1, "{review}");
}

#[test]
fn a_killed_run_tells_each_event_once() {
    let mut show = Show::of(&Scene { script: crate::stage::scenes::AT_WORK, ..PLAIN });
    let running = show.at_work();
    running.signal(rustix::process::Signal::KILL).unwrap();
    let ended = running.wait().unwrap();
    show.after(&["run"], ended);
    // A line that was torn by the death is no event, and spoils none.
    let log = show.stage.project().join(".planning/.events/event-log.jsonl");
    let told = std::fs::read_to_string(&log).unwrap();
    let torn = &told[..told.len() - 9];
    show.put(&log, torn);
    show.stage.open("go").unwrap();
    show.expect(&["resume"], 0);
    let text = read(&show, ".planning/.events/event-log.jsonl");
    let unread = text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_err()).count();
    assert_eq!(unread, 1, "only the torn line");
    assert_eq!(text.matches("\"phase_resumed\"").count(), 1, "{text}");
    let whole = show.stage.run_dir(&show.run()).join("events.done");
    assert!(whole.exists());
    let mut made: Vec<(String, String)> =
        registry(&show).iter().map(|line| (word(line, "event_id"), word(line, "path"))).collect();
    let lines = made.len();
    made.sort();
    made.dedup();
    assert!(lines > 0 && made.len() == lines, "each file of an event once: {made:?}");
}

fn registry(show: &Show) -> Vec<serde_json::Value> {
    let text = read(show, ".planning/.artifacts/registry.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn word(value: &serde_json::Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_task_is_a_candidate_then_rejected_or_confirmed_and_its_files_are_registered() {
    for user in [User::Clean, User::PlanningUntracked] {
        let script = crate::stage::scenes::REVISED;
        let mut show = Show::of(&Scene { script, user, settings: NO_GATE, ..PLAIN });
        show.expect(&["run"], 0);
        let log = read(&show, ".planning/.events/event-log.jsonl");
        let told: Vec<serde_json::Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let steps: Vec<&serde_json::Value> =
            told.iter().filter(|event| word(event, "event").starts_with("task_comple")).collect();
        let names: Vec<String> = steps.iter().map(|event| word(event, "event")).collect();
        let candidate = "task_completed_candidate";
        let wanted = [candidate, "task_completion_rejected", candidate, "task_completed_confirmed"];
        assert_eq!(names, wanted, "{log}");
        assert_eq!(steps[1]["data"]["errors"][0], "it prints the wrong word", "{}", steps[1]);
        let made = registry(&show);
        assert_eq!(made.len(), 1, "{made:?}");
        assert_eq!(word(&made[0], "path"), "bin/one.sh");
        assert_eq!(word(&made[0], "event_id"), word(steps[3], "event_id"));
        assert_eq!((word(&made[0], "phase"), word(&made[0], "plan")), ("01".to_owned(), "01".to_owned()));
        // What was registered is what landed, so the gate of the protocol finds it there.
        let gate = |code: i32| {
            let contract = ".planning/.contracts/01-01.json";
            let args = ["hard-gate", "artifact_persistence", "1", "1", "1", contract];
            let ended = show.stage.tribunal(&args).unwrap();
            assert_eq!(ended.code, Some(code), "{}", ended.said());
        };
        let plan = ".planning/phases/01-tools/01-01-PLAN.md";
        assert_eq!(show.stage.tribunal(&["generate-contract", plan]).unwrap().code, Some(0));
        gate(0);
        show.stage.write("bin/one.sh", "echo changed\n").unwrap();
        gate(2);
        assert_eq!(show.stage.git(&["status", "--porcelain", "--", ".planning/.artifacts"]).unwrap(), "");
    }
}

#[test]
fn an_agent_told_more_than_its_budget_is_an_event_and_lowers_what_the_plan_has_left() {
    let long = "It must print one word and nothing else, whoever asks. ".repeat(600);
    let mut show = Show::with_plan(&PLAIN, |text| text.replace("Write it.", &format!("Write it. {long}")));
    show.expect(&["run"], 0);
    let told = events(&show);
    let over: Vec<_> = told.iter().filter(|(name, _, _)| name == "token_overage").collect();
    let capped: Vec<_> = told.iter().filter(|(name, _, _)| name == "token_cap_escalated").collect();
    assert!(over.len() >= 2 && over.len() == capped.len(), "{told:?}");
    let (_, plan, first) = over[0];
    assert_eq!((plan.as_str(), &first["role"], &first["budget"]), ("01-01", &"dev".into(), &4800.into()));
    assert!(first["tokens"].as_u64().unwrap() > 4800, "{first}");
    assert_eq!((&capped[0].2["remaining"], &capped[1].2["remaining"]), (&4080.into(), &3468.into()));
    let prompts = prompts(&show);
    let judged = prompts.iter().find(|(name, _)| name.contains("task-1") && name.contains("judge"));
    let (_, judged) = judged.expect("a reviewer of the task");
    assert!(judged.contains("[left out to keep to 2400 tokens: what the builder says it did]"), "{judged}");
    assert!(
        judged.contains("whoever asks.") && judged.contains("+++ b/bin/one.sh"),
        "the work is told whole"
    );
    assert_eq!(show.ended(), Ending::Passed, "it is advisory");
    assert!(
        !show.stage.project().join(".planning/.token-state/01-01.json").exists(),
        "a phase's end takes it away"
    );
}

#[test]
fn what_a_dead_run_did_not_tell_the_next_one_does() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    let first = show.run();
    let log = show.stage.project().join(".planning/.events/event-log.jsonl");
    let told = std::fs::read_to_string(&log).unwrap();
    let kept: Vec<&str> = told.lines().take(told.lines().count() - 2).collect();
    show.put(&log, &format!("{}\n", kept.join("\n")));
    std::fs::remove_file(show.stage.run_dir(&first).join("events.done")).unwrap();
    show.stage.write(".planning/phases/01-tools/01-02-PLAN.md", &TWO_PLANS[1].text()).unwrap();
    show.stage.git(&["add", "-A"]).unwrap();
    show.stage.git(&["commit", "-q", "-m", "docs: more"]).unwrap();
    show.user_acts(|_| Ok(()));
    show.expect(&["run"], 0);
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!(
        text.lines().filter(|line| line.contains(&format!("\"{first}:"))).count(),
        told.lines().count()
    );
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn a_state_that_git_tracks_is_left_alone_and_told() {
    let mut show = Show::of(&PLAIN);
    let state = ".planning/.execution-state.json";
    show.user_commits(&[(state, "{\"phase\": 1, \"status\": \"running\"}\n")]);
    let ended = show.expect(&["run"], 0);
    assert!(ended.stderr.contains(&format!("git tracks {state}")), "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("git rm --cached {state}")), "{}", ended.stderr);
}

#[test]
fn a_log_that_git_tracks_is_left_alone() {
    let mut show = Show::of(&PLAIN);
    show.user_acts(|stage| {
        stage.write(".planning/.events/event-log.jsonl", "{}\n")?;
        stage.git(&["add", "-A", "-f"])?;
        stage.git(&["commit", "-q", "-m", "chore: log"]).map(drop)
    });
    let ended = show.expect(&["run"], 0);
    assert_eq!(read(&show, ".planning/.events/event-log.jsonl"), "{}\n");
    assert!(ended.stderr.contains("git tracks .planning/.events/event-log.jsonl"), "{}", ended.stderr);
    // The registry names events: without a log there is none, rather than half of one.
    assert!(!show.stage.project().join(".planning/.artifacts").exists());
}

#[test]
fn a_log_that_cannot_be_written_gets_all_of_it_from_the_next_run() {
    let mut show = Show::of(&PLAIN);
    show.user_commits(&[(".planning/.events", "in the way\n")]);
    let ended = show.expect(&["run"], 0);
    assert!(ended.stderr.contains("the next run adds what is missing"), "{}", ended.stderr);
    assert!(!show.stage.project().join(".planning/.artifacts").exists(), "nothing by halves");
    let first = show.run();
    show.user_acts(|stage| stage.git(&["rm", "-q", ".planning/.events"]).map(drop));
    show.user_commits(&[(".planning/phases/01-tools/01-02-PLAN.md", &TWO_PLANS[1].text())]);
    show.expect(&["run"], 0);
    let log = read(&show, ".planning/.events/event-log.jsonl");
    let own = |run: &str, event: &str| {
        let (run, event) = (format!("\"{run}:"), format!("\"{event}\""));
        log.lines().filter(|line| line.contains(&run) && line.contains(&event)).count()
    };
    for run in [&first, &show.run()] {
        assert_eq!((own(run, "phase_started"), own(run, "phase_completed")), (1, 1), "{log}");
    }
    let made: Vec<String> = registry(&show).iter().map(|line| word(line, "path")).collect();
    assert_eq!(made, ["bin/one.sh", "bin/two.sh"], "both runs' files");
}

/// A half-run folder of the original tool: one plan finished, one in the middle, one not begun.
fn half_run(stage: &Stage) {
    const FOLDER: &str = ".yolo-planning/phases/01-tools";
    let plan =
        |number: &'static str, wave, depends_on, tasks| Plan { number, wave, depends_on, tasks }.text();
    let tasks: &[(&str, &str)] = &[("bin/one.sh", "sh bin/one.sh"), ("bin/two.sh", "sh bin/two.sh")];
    stage.write("tribunal.toml", NO_GATE).unwrap();
    stage
        .write(&format!("{FOLDER}/01-01-PLAN.md"), &plan("01", 1, "", &[("bin/zero.sh", "sh bin/zero.sh")]))
        .unwrap();
    stage.write(&format!("{FOLDER}/01-02-PLAN.md"), &plan("02", 1, "", tasks)).unwrap();
    stage
        .write(
            &format!("{FOLDER}/01-03-PLAN.md"),
            &plan("03", 2, "\"01-01\"", &[("bin/three.sh", "sh bin/three.sh")]),
        )
        .unwrap();
    stage.commit_all().unwrap();
    let task = |file: &str, message: &str| {
        stage.write(file, "#!/bin/sh\necho x\n").unwrap();
        stage.git(&["add", "-A"]).unwrap();
        stage.git(&["commit", "-q", "-m", message]).unwrap();
    };
    task("bin/zero.sh", "feat(01-01): add bin/zero.sh");
    let hash = stage.git(&["rev-parse", "--short", "HEAD"]).unwrap();
    let summary = format!(
        "---\nphase: \"01\"\nplan: \"01\"\ntitle: Tool 01\nstatus: complete\ncompleted: 2026-01-01\ntasks_completed: 1\n\
         tasks_total: 1\ncommit_hashes: [\"{hash}\"]\ndeviations: []\n---\n\n## What Was Built\n\n- zero\n\n## Files Modified\n\n\
         - `bin/zero.sh` -- created: zero\n\n## Deviations\n\nNone\n"
    );
    stage.write(&format!("{FOLDER}/01-01-SUMMARY.md"), &summary).unwrap();
    stage.git(&["add", "-A"]).unwrap();
    stage.git(&["commit", "-q", "-m", "docs(01-01): summary"]).unwrap();
    task("bin/one.sh", "feat(01-02): add bin/one.sh");
    let state = r#"{"phase":1,"phase_name":"tools","status":"running","started_at":"2026-01-01T00:00:00Z","wave":1,
        "total_waves":2,"correlation_id":"11111111-2222-3333-4444-555555555555","mine":[1],
        "plans":[{"id":"01-01","title":"Tool 01","wave":1,"status":"complete"},{"id":"01-02","title":"Tool 02","wave":1,"status":"running"}],
        "review_loops":{"01-01":{"cycle":2,"max":3,"status":"passed","findings_per_cycle":[]}}}"#;
    stage.write(".yolo-planning/.execution-state.json", state).unwrap();
    stage.git(&["config", "core.excludesFile", "/dev/null"]).unwrap();
    std::fs::write(stage.project().join(".git/info/exclude"), "/.yolo-planning/.execution-state.json\n")
        .unwrap();
    stage.script_with(TAKEN_OVER).unwrap();
}

const TAKEN_OVER: &str = r##"
[[turn]]
role = "dev"
plan = "01-02"
task = 2
do = [ { write = "bin/two.sh", text = "#!/bin/sh\necho two\n" }, { say = "SUMMARY: two.sh prints two.\nTASK: done" } ]

[[turn]]
role = "dev"
plan = "01-03"
task = 1
do = [ { write = "bin/three.sh", text = "#!/bin/sh\necho three\n" }, { say = "SUMMARY: three.sh prints three.\nTASK: done" } ]
"##;

#[test]
fn a_half_run_folder_of_the_original_tool_is_taken_over() {
    let (folder, stage) = crate::stage();
    half_run(&stage);
    let mut show = Show::on(folder, stage);
    let ended = show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(
        ended.stderr.contains("plan 01-02: 1 of 2 tasks are committed; it goes on with task 2"),
        "{}",
        ended.stderr
    );
    let made: Vec<String> =
        show.stage.launched().into_iter().filter(|effect| effect.contains("make:dev")).collect();
    assert_eq!(made.len(), 2, "the finished plan and the committed task are not made again: {made:?}");
    assert!(show.stage.git(&["show", "HEAD:bin/three.sh"]).is_ok());
    let first = show.stage.git(&["log", "--format=%H", "-1", "--grep=add bin/one.sh"]).unwrap();
    let second = show.stage.git(&["log", "--format=%H", "-1", "--grep=add bin/two.sh"]).unwrap();
    let summary = ".yolo-planning/phases/01-tools/01-02-SUMMARY.md";
    let text = read(&show, summary);
    let hashes: Vec<String> = tribunal_docs::read_summary(summary, &text).value.unwrap().commit_hashes;
    let named: Vec<bool> = [&first, &second]
        .iter()
        .zip(&hashes)
        .map(|(whole, short)| whole.starts_with(short.as_str()))
        .collect();
    assert_eq!((hashes.len(), named), (2, vec![true, true]), "both tasks' commits, oldest first: {text}");
    let plan = ".yolo-planning/phases/01-tools/01-02-PLAN.md";
    show.expect(&["verify-plan-completion", summary, plan], 0);
    let log = read(&show, ".yolo-planning/.events/event-log.jsonl");
    assert!(log.lines().all(|line| line.contains("11111111-2222-3333-4444-555555555555")), "{log}");
    let state: serde_json::Value =
        serde_json::from_str(&read(&show, ".yolo-planning/.execution-state.json")).unwrap();
    assert_eq!(state["correlation_id"], "11111111-2222-3333-4444-555555555555");
    assert_eq!(state["mine"], serde_json::json!([1]), "what another tool keeps there stays");
    assert_eq!(state["review_loops"]["01-01"]["cycle"], 2, "{state}");
    let statuses: Vec<&str> =
        state["plans"].as_array().unwrap().iter().map(|plan| plan["status"].as_str().unwrap()).collect();
    assert_eq!((statuses, &state["status"]), (vec!["complete"; 3], &"complete".into()));
}

#[test]
fn resume_in_the_middle_of_a_plan() {
    let first = "feat(01-01): add bin/one.sh";
    // Message, file, whether it is taken back, and how many tasks are then made.
    for (message, file, reverted, made) in [
        (first, "bin/one.sh", false, 1),
        ("feat(01-01): add something", "bin/one.sh", false, 2),
        (first, "NOTES.txt", false, 2),
        (first, "bin/one.sh", true, 2),
    ] {
        let mut show = Show::of(&Scene { plans: TWO_TASKS, settings: NO_GATE, ..PLAIN });
        show.user_acts(|stage| {
            stage.write(file, "#!/bin/sh\necho by hand\n")?;
            stage.git(&["add", "-A"])?;
            stage.git(&["commit", "-q", "-m", message])?;
            if reverted {
                stage.git(&["revert", "--no-edit", "HEAD"])?;
            }
            Ok(())
        });
        show.expect(&["run"], 0);
        assert_eq!(show.ended(), Ending::Passed, "{message} {file}");
        let launched = show.stage.launched();
        let devs = launched.iter().filter(|effect| effect.contains("make:dev")).count();
        assert_eq!(devs, made, "{message} {file} {reverted}: {launched:?}");
    }
}
