//! Laws: reading never panics, writing then reading gives the same, editing changes one key.

use proptest::prelude::*;
use tribunal_docs::{
    Artifact, Dependency, KeyLink, MustHaves, Plan, PlannedFile, Summary, Task, Value, kind_of, read_plan,
    read_summary, set_frontmatter, write_plan, write_summary,
};

/// Bytes that are likely to mean something to a reader.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("---\n".to_owned()),
        Just("phase: 1\n".to_owned()),
        Just("must_haves:\n".to_owned()),
        Just("  - ".to_owned()),
        Just("### Task 1: x\n".to_owned()),
        Just("**Files:** `a`, b (new)\n".to_owned()),
        Just("<task>\n<name>".to_owned()),
        Just("```\n".to_owned()),
        Just("> verification: x\n".to_owned()),
        Just("\u{FEFF}".to_owned()),
        Just("\r\n".to_owned()),
        Just("key: ".to_owned()),
        "[\\[\\]{}:,\"'`@&*!|>%#?\\-\\\\ \t\n]{0,12}",
        prop::collection::vec(any::<u8>(), 0..24)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// One line of words, not blank at its ends.
fn words() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9é:#@'\"`\\\\.,(){}\\[\\]|>&*!%~?=-][ -~éß→]{0,30}"
        .prop_map(|text| text.trim().to_owned())
        .prop_filter("not blank", |text| !text.is_empty())
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9]{0,8}(/[a-z]{1,8}){0,2}\\.(rs|md)"
}

fn value() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<String>().prop_map(Value::Text), words().prop_map(Value::Text)];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map(words(), inner, 0..4)
                .prop_map(|map| Value::Map(map.into_iter().collect())),
        ]
    })
}

fn extra() -> impl Strategy<Value = Vec<(String, Value)>> {
    prop::collection::btree_map("x_[a-z]{1,6}", value(), 0..3).prop_map(|map| map.into_iter().collect())
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(words(), 0..4)
}

fn must_haves() -> impl Strategy<Value = MustHaves> {
    let artifact = (name(), prop::option::of(words())).prop_map(|(path, provides)| Artifact {
        path,
        provides,
        ..Artifact::default()
    });
    let link = (words(), words()).prop_map(|(from, to)| KeyLink { from, to, ..KeyLink::default() });
    let map = (texts(), prop::collection::vec(artifact, 0..3), prop::collection::vec(link, 0..3));
    let map = map.prop_map(|(truths, artifacts, key_links)| MustHaves {
        truths,
        artifacts,
        key_links,
        as_map: true,
        ..MustHaves::default()
    });
    let list = texts().prop_map(|truths| MustHaves { truths, ..MustHaves::default() });
    prop_oneof![list, map]
}

fn task() -> impl Strategy<Value = Task> {
    let title = "[A-Za-z][a-z ]{0,12}[a-z]";
    let body = "[A-Za-z][a-z ]{0,20}[a-z]";
    let commit = prop::option::of("[a-z]{2,5}: [a-z]{1,9}");
    let files = prop::collection::btree_map(name(), any::<bool>(), 0..3);
    let commands = prop::collection::vec("[a-z]{1,6} --[a-z]{1,6}", 0..2);
    (title, body, files, commit, commands).prop_map(|(title, body, files, commit, verification)| Task {
        title,
        body,
        commit,
        verification,
        files: files.into_iter().map(|(path, new)| PlannedFile { path, new }).collect(),
        ..Task::default()
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let fronts = (words(), words(), words(), 1u32..9, prop::collection::vec((1u32..20, 1u32..20), 0..3));
    let lists = (must_haves(), texts(), texts(), texts());
    let rest = (
        prop::option::of(any::<bool>()),
        prop::option::of(words()),
        extra(),
        prop::collection::vec(task(), 0..4),
    );
    (fronts, lists, rest).prop_map(
        |(
            (phase, number, title, wave, deps),
            (must_haves, files, commands, skills),
            (autonomous, agent, extra, tasks),
        )| Plan {
            phase: Some(phase),
            plan: Some(number),
            title: Some(title),
            wave: Some(wave.to_string()),
            depends_on: deps
                .iter()
                .map(|(phase, plan)| Dependency::parse(&format!("{phase:02}-{plan:02}")))
                .collect(),
            must_haves,
            files_modified: files,
            verification_commands: commands,
            skills_used: skills,
            autonomous,
            agent,
            extra,
            tasks: tasks.into_iter().zip(1..).map(|(task, number)| Task { number, ..task }).collect(),
            ..Plan::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_never_panics(text in hostile()) {
        let plan = read_plan("01-x/01-02-PLAN.md", &text);
        let summary = read_summary(&text, &text);
        let _ = kind_of(&text, &text);
        prop_assert!(plan.value.is_some() || !plan.diagnostics.is_empty(), "refused without a word");
        prop_assert!(summary.value.is_some() || !summary.diagnostics.is_empty());
        prop_assert!(!plan.recovered || !plan.diagnostics.is_empty(), "repaired without a word");
        let lines = text.split('\n').count() as u32;
        for diagnostic in plan.diagnostics {
            prop_assert!(diagnostic.line >= 1 && diagnostic.line <= lines + 1 && diagnostic.column >= 1, "{diagnostic:?}");
        }
    }

    #[test]
    fn reading_what_was_written_gives_the_same(plan in plan()) {
        let text = write_plan(&plan);
        let read = read_plan("", &text);
        prop_assert!(!read.recovered, "{text}\n{:?}", read.diagnostics);
        let got = read.value.unwrap();
        prop_assert_eq!(&got.extra, &plan.extra);
        prop_assert_eq!(&got.must_haves.truths, &plan.must_haves.truths);
        prop_assert_eq!(&got.must_haves.artifacts, &plan.must_haves.artifacts);
        prop_assert_eq!(&got.must_haves.key_links, &plan.must_haves.key_links);
        prop_assert_eq!(&got.depends_on, &plan.depends_on);
        prop_assert_eq!((&got.phase, &got.plan, &got.title, &got.wave), (&plan.phase, &plan.plan, &plan.title, &plan.wave));
        prop_assert_eq!((&got.files_modified, &got.verification_commands, &got.skills_used), (&plan.files_modified, &plan.verification_commands, &plan.skills_used));
        prop_assert_eq!((&got.autonomous, &got.agent), (&plan.autonomous, &plan.agent));
        prop_assert_eq!(got.tasks.len(), plan.tasks.len());
        for (got, task) in got.tasks.iter().zip(&plan.tasks) {
            prop_assert_eq!((got.number, &got.title, &got.files, &got.commit, &got.verification), (task.number, &task.title, &task.files, &task.commit, &task.verification));
        }
        let again = read_plan("", &write_plan(&got)).value.unwrap();
        prop_assert_eq!(again, got, "and once read, it stays the same to the last line number");
    }

    #[test]
    fn reading_a_written_summary_gives_the_same(title in words(), status in words(), deviations in texts(), extra in extra(), body in "[a-z #\n-]{0,60}") {
        let summary = Summary {
            has_frontmatter: true,
            title: Some(title),
            status: Some(status),
            commit_hashes: vec!["84e9493".into(), "0802014".into()],
            deviations,
            extra,
            body,
            ..Summary::default()
        };
        let got = read_summary("", &write_summary(&summary)).value.unwrap();
        prop_assert_eq!((&got.status, &got.commit_hashes, &got.extra, &got.body), (&summary.status, &summary.commit_hashes, &summary.extra, &summary.body));
        let again = read_summary("", &write_summary(&got)).value.unwrap();
        prop_assert_eq!(again, got);
    }

    #[test]
    fn editing_changes_one_key_and_nothing_else(entries in prop::collection::btree_map("[a-z]{1,6}", value(), 1..5), key in "[a-z]{1,6}", value in value(), crlf in any::<bool>()) {
        let plan = Plan { extra: entries.into_iter().map(|(k, v)| (format!("x_{k}"), v)).collect(), ..Plan::default() };
        let mut text = format!("{}# comment: kept\nbody\n", write_plan(&plan));
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let key = format!("x_{key}");
        let edited = set_frontmatter(&text, &key, &value).unwrap();
        let of = |text: &str| read_plan("", text).value.unwrap();
        let (before, after) = (of(&text), of(&edited));
        let others = |plan: &Plan| plan.extra.iter().filter(|(k, _)| *k != key).cloned().collect::<Vec<_>>();
        prop_assert_eq!(others(&before), others(&after));
        prop_assert_eq!(&before.body, &after.body);
        let set = after.extra.iter().find(|(k, _)| *k == key).map(|(_, v)| v);
        prop_assert_eq!(set, Some(&value));
        let twice = set_frontmatter(&edited, &key, &value).unwrap();
        prop_assert_eq!(twice, edited, "the same again changes nothing");
    }

    #[test]
    fn one_bad_scalar_costs_nothing_else(plan in plan(), bad in "[@`%][ -~]{0,20}", first in any::<bool>()) {
        let text = write_plan(&plan);
        let sound = read_plan("", &text).value.unwrap();
        let line = format!("\nzz_bad: {bad}\n---\n");
        let damaged = match first {
            true => text.replacen("---\n", &format!("---\nzz_bad: {bad}\n"), 1),
            false => text.replacen("\n---\n", &line, 1),
        };
        let read = read_plan("", &damaged);
        prop_assert!(read.recovered);
        let mut got = read.value.unwrap();
        let count = got.extra.len();
        got.extra.retain(|(key, _)| key != "zz_bad");
        prop_assert_eq!(got.extra.len() + 1, count, "the bad scalar is kept too");
        prop_assert_eq!((&got.extra, &got.must_haves, &got.depends_on, &got.title), (&sound.extra, &sound.must_haves, &sound.depends_on, &sound.title));
    }
}

/// Bytes that are likely to mean something to a reader of test output.
fn output() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("test a::b ... ok\n".to_owned()),
        Just("test é ... FAILED\n".to_owned()),
        Just("TAP version 13\nok 1 - x # SKIP\n".to_owned()),
        Just("{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T\"}\n".to_owned()),
        Just("<testsuite><testcase name=\"a".to_owned()),
        Just("a.py::b PASSED\n3 passed, 1 failed in 1s\n".to_owned()),
        Just("  ✓ naïve (5 ms)\n  ○ skipped x\n".to_owned()),
        Just("\u{1b}[3".to_owned()),
        Just("## Phase 1: é\n**Goal**: x\nscore: 7/".to_owned()),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_a_runner_or_a_person_writes_makes_a_reader_panic(text in output(), front in hostile()) {
        if let Some(report) = tribunal_docs::qa::read_tests(&text) {
            prop_assert!(tribunal_docs::qa::regressions(&report, &report).is_empty());
        }
        tribunal_docs::read_verification(&text);
        tribunal_docs::roadmap_section(&text, "1");
        tribunal_docs::overview("01-01-PLAN.md", &front);
        if let Some(plan) = read_plan("01-01-PLAN.md", &front).value {
            tribunal_docs::contract_of(&plan);
        }
    }

    #[test]
    fn a_suggested_subject_is_always_well_formed(subject in any::<String>(), files in prop::collection::vec(name(), 0..4)) {
        let commit = tribunal_docs::qa::CommitFact { hash: "a".into(), subject, parents: 1, files };
        for wrong in tribunal_docs::qa::commit_lint(&[commit]).violations {
            prop_assert_eq!(tribunal_docs::qa::subject_issue(&wrong.suggested_fix), None, "{}", wrong.suggested_fix);
        }
    }
}
