//! Around the run: what is written in the planning folder at its end, and where the result goes.

use crate::show::Show;
use crate::stage::Stage;
use crate::stage::scenes::{NO_GATE, PLAIN, Scene, TWO_PLANS, User};
use tribunal_core::run::Ending;

const STATE: &str = "# State\r\nours, with a tab\there\r\n\r\n## Current Phase\nPhase: 1 of 2 (Tools)\nPlans: 0/2\nStatus: ready\n\n## Notes\nStatus: also ours\n- [ ] buy milk";
const ROADMAP: &str = "# Roadmap\n\n- [ ] **Phase 1: Tools** - ours\n- [ ] **Phase 2: More**\n\n- [ ] 01-01-PLAN.md: one\n- [ ] 01-02-PLAN.md: two\n\n| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n| 1. Tools | 0/2 | Not started | - |\n| 2. More | 0/0 | Not started | - |\n\n<!-- a note nobody closes\n";

fn two_plans(user: User) -> Scene {
    Scene { plans: TWO_PLANS, user, settings: NO_GATE, ..PLAIN }
}

fn add_documents(stage: &Stage) -> Result<(), String> {
    stage.write(".planning/STATE.md", STATE)?;
    stage.write(".planning/ROADMAP.md", ROADMAP)
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

#[test]
fn state_and_roadmap_arrive_with_the_result_where_git_tracks_them() {
    let mut show = Show::of(&two_plans(User::Clean));
    show.user_acts(|stage| {
        add_documents(stage)?;
        stage.git(&["add", "-A"])?;
        stage.git(&["commit", "-q", "-m", "docs: state"]).map(drop)
    });
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
