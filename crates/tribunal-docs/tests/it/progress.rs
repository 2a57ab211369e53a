//! STATE.md and ROADMAP.md: what a run says in them, and every byte it leaves alone.
#![expect(
    clippy::disallowed_methods,
    reason = "the sample is read from disk; the crate under test reads nothing"
)]

use proptest::prelude::*;
use std::path::Path;
use tribunal_docs::{PhaseProgress, PlanId, update_roadmap, update_state};

fn phase(done: &[bool], issues: usize) -> PhaseProgress {
    let plan = |(at, done): (usize, &bool)| (PlanId::new("01", &(at + 1).to_string()), *done);
    PhaseProgress {
        number: "01".to_owned(),
        name: "tools".to_owned(),
        plans: done.iter().enumerate().map(plan).collect(),
        date: "2026-01-31".to_owned(),
        effort: "balanced".to_owned(),
        issues,
    }
}

fn roadmap(before: &str, done: &[bool], after: &str) {
    assert_eq!(update_roadmap(before, &phase(done, 0)), after, "{before}");
}

fn state(before: &str, done: &[bool], after: &str) {
    assert_eq!(update_state(before, &phase(done, 0)), after, "{before}");
}

#[test]
fn boxes_of_plans_and_phases() {
    roadmap(
        "- [ ] 01-01-PLAN.md — one\n- [ ] 01-02-PLAN.md\n- [ ] 02-01-PLAN.md\n",
        &[true, false],
        "- [x] 01-01-PLAN.md — one\n- [ ] 01-02-PLAN.md\n- [ ] 02-01-PLAN.md\n",
    );
    roadmap("- [ ] **Phase 1: Tools** - x\n", &[true, false], "- [ ] **Phase 1: Tools** - x\n");
    roadmap("- [ ] **Phase 1: Tools** - x\n", &[true, true], "- [x] **Phase 1: Tools** - x\n");
    roadmap("* [X] [Phase 1: T](#t)\r\n", &[false], "* [ ] [Phase 1: T](#t)\r\n");
    roadmap(
        "- [ ] **01-01**: words\n  - [ ] Plan 01-02\n",
        &[true, true],
        "- [x] **01-01**: words\n  - [x] Plan 01-02\n",
    );
    for same in [
        "- [ ] Phase 10: x\n",
        "```\n- [ ] 01-01-PLAN.md\n```\n",
        "[ ] 01-01\n",
        "- [ ] see 01-01\n",
        "- [-] 01-01\n",
    ] {
        roadmap(same, &[true], same);
    }
}

#[test]
fn the_progress_table() {
    roadmap(
        "| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n| 1. Tools | 0/2 | Not started | - |\n| 2. More | 0/1 | Not started | - |\n",
        &[true, true],
        "| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n| 1. Tools | 2/2 | Complete | 2026-01-31 |\n| 2. More | 0/1 | Not started | - |\n",
    );
    // The day it was completed first stays.
    roadmap(
        "| Phase | Status | Completed |\n|-|-|-|\n| 1 | Complete | 2025-05-05 |\n",
        &[true],
        "| Phase | Status | Completed |\n|-|-|-|\n| 1 | Complete | 2025-05-05 |\n",
    );
    roadmap(
        "| Phase | Milestone | Status | Completed |\n|-|-|-|-|\n| **Phase 1** | v1.0 | Complete | 2025-05-05 |\n",
        &[false],
        "| Phase | Milestone | Status | Completed |\n|-|-|-|-|\n| **Phase 1** | v1.0 | In progress | - |\n",
    );
    let other = "| Risk | Status |\n|-|-|\n| 1 | open |\n";
    roadmap(other, &[true], other);
}

#[test]
fn fields_and_lists_of_the_state() {
    state(
        "# State\n\n## Current Phase\nPhase: 2 of 6 (Other Name)\nPlans: 0/0\nProgress: 0%\nStatus: ready\nEffort: fast\n\n## Todos\nStatus: mine\n",
        &[true, false],
        "# State\n\n## Current Phase\nPhase: 1 of 6 (tools)\nPlans: 1/2\nProgress: 50%\nStatus: Phase 01 in progress (1/2 plans)\nEffort: balanced\n\n## Todos\nStatus: mine\n",
    );
    state(
        "## Phase Status\n- **Phase 1 (Tools):** Pending\n- **Phase 2 (More):** Pending\n",
        &[true],
        "## Phase Status\n- **Phase 1 (Tools):** Complete (1/1 plans)\n- **Phase 2 (More):** Pending\n",
    );
    state(
        "# S\n**Current Phase:** Phase 1\n**Status:** Planned\n",
        &[true],
        "# S\n**Current Phase:** Phase 1\n**Status:** Phase 01 complete (1/1 plans)\n",
    );
}

#[test]
fn a_state_that_says_nothing_gets_a_section() {
    state(
        "# Notes\nours\n",
        &[true],
        "# Notes\nours\n\n## Phase Status\n- **Phase 01 (tools):** Complete (1/1 plans)\n",
    );
    state("x", &[false], "x\n\n## Phase Status\n- **Phase 01 (tools):** In progress (0/1 plans)\n");
    state("", &[true], "## Phase Status\n- **Phase 01 (tools):** Complete (1/1 plans)\n");
}

#[test]
fn an_issue_takes_completion_back() {
    let before =
        "- [ ] Phase 1: T\n- [ ] 01-01-PLAN.md\n| Phase | Status | Completed |\n|-|-|-|\n| 1 | x | - |\n";
    let built = update_roadmap(before, &phase(&[true], 0));
    assert!(built.contains("- [x] Phase 1") && built.contains("| Complete | 2026-01-31 |"), "{built}");
    let found = update_roadmap(&built, &phase(&[true], 2));
    assert!(found.contains("- [ ] Phase 1") && found.contains("- [x] 01-01"), "{found}");
    assert!(found.contains("| Issues found | - |"), "{found}");
    let state = update_state("# S\nStatus: x\n", &phase(&[true], 2));
    assert_eq!(state, "# S\nStatus: Phase 01 issues found (1/1 plans, 2 issues)\n");
}

/// Lines nobody but people write: none of them is ours, whatever they hold.
fn foreign() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,30}",
        Just("## Decisions".to_owned()),
        Just("- [ ] 02-01-PLAN.md".to_owned()),
        Just("- [x] Phase 12: later".to_owned()),
        Just("| a | b |".to_owned()),
        Just("<!-- note".to_owned()),
        "[^\\n|:\\[\\]]{0,20}",
    ]
}

/// Lines of ours among them.
fn ours() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("- [ ] 01-01-PLAN.md: one".to_owned()),
        Just("- [x] **Phase 1: Tools**".to_owned()),
        Just("Status: ready".to_owned()),
        Just("- **Phase 1:** Pending".to_owned()),
        Just("| Phase | Status |\n|-|-|\n| 1 | Pending |".to_owned()),
    ]
}

fn document() -> impl Strategy<Value = (String, &'static str)> {
    let line = prop_oneof![3 => foreign(), 1 => ours()];
    (prop::collection::vec(line, 0..20), prop_oneof![Just("\n"), Just("\r\n")], any::<bool>()).prop_map(
        |(lines, end, last)| {
            let text = lines.join("\n").replace('\n', end);
            (if last { format!("{text}{end}") } else { text }, end)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn asked_twice_it_says_the_same((text, _) in document(), done in prop::collection::vec(any::<bool>(), 1..4), issues in 0usize..3) {
        let phase = phase(&done, issues);
        let once = update_roadmap(&text, &phase);
        prop_assert_eq!(update_roadmap(&once, &phase), once.clone());
        let once = update_state(&text, &phase);
        prop_assert_eq!(update_state(&once, &phase), once);
    }

    #[test]
    fn a_document_without_our_lines_keeps_every_byte(lines in prop::collection::vec(foreign(), 0..20), done in any::<bool>()) {
        let text = lines.join("\n");
        prop_assert_eq!(update_roadmap(&text, &phase(&[done], 0)), text.clone());
        prop_assert!(update_state(&text, &phase(&[done], 0)).starts_with(&text));
    }

    #[test]
    fn lines_that_are_not_ours_stay((text, _) in document(), done in any::<bool>()) {
        let ours = |line: &str| line.contains("01-01") || line.contains("Phase 1:") || line.starts_with("Status:") || line.starts_with("| 1 ");
        let kept = |text: &str| text.split('\n').filter(|line| !ours(line)).map(str::to_owned).collect::<Vec<_>>();
        let after = update_roadmap(&text, &phase(&[done], 0));
        prop_assert_eq!(after.split('\n').count(), text.split('\n').count());
        prop_assert_eq!(kept(&after), kept(&text));
        let after = update_state(&text, &phase(&[done], 0));
        let (before, after) = (kept(&text), kept(&after));
        let whole = before.len().saturating_sub(1);
        prop_assert_eq!(&after[..whole], &before[..whole]);
    }

    #[test]
    fn there_and_back((text, _) in document()) {
        let (done, open) = (phase(&[true], 0), phase(&[false], 0));
        let built = update_roadmap(&text, &done);
        prop_assert_eq!(update_roadmap(&update_roadmap(&built, &open), &done), built);
    }

    #[test]
    fn any_text_is_survived(text in ".{0,200}", done in any::<bool>()) {
        let phase = phase(&[done], 0);
        update_roadmap(&text, &phase);
        update_state(&text, &phase);
    }
}

#[test]
fn documents_people_wrote_lose_nothing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/plans/files");
    let mut seen = 0;
    for project in std::fs::read_dir(&root).into_iter().flatten().flatten() {
        for (name, update) in
            [("STATE.md", update_state as fn(&str, &PhaseProgress) -> String), ("ROADMAP.md", update_roadmap)]
        {
            for folder in tribunal_docs::PLANNING_FOLDERS {
                let path = project.path().join(folder).join(name);
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                seen += 1;
                let after = update(&text, &phase(&[true, true], 0));
                let changed = text.lines().zip(after.lines()).filter(|(a, b)| a != b).count();
                assert!(changed <= 12, "{}: {changed} lines changed", path.display());
                assert!(after.lines().count() <= text.lines().count() + 3, "{}", path.display());
                assert_eq!(update(&after, &phase(&[true, true], 0)), after, "{}", path.display());
            }
        }
    }
    assert!(seen > 0 || !root.exists(), "the corpus holds some");
}
