//! The sample of real planning documents, when it is there.
#![expect(
    clippy::disallowed_methods,
    reason = "the sample is read from disk; the crate under test reads nothing"
)]

use std::path::PathBuf;

use serde_json::Value as Json;
use tribunal_docs::{
    Kind, Plan, PlanFacts, PlanVerdict, Read, Summary, Value, kind_of, overview, read_plan, read_summary,
    set_frontmatter, structural_check, write_plan,
};

/// One document of the sample with what is expected of it.
struct Sample {
    file: String,
    text: String,
    row: Json,
}

fn samples() -> Vec<Sample> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/plans");
    let Ok(index) = std::fs::read_to_string(root.join("index.jsonl")) else {
        println!("skipped: no sample of planning documents beside this repository");
        return Vec::new();
    };
    let rows = index.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.map(|row: Json| {
        let file = row["file"].as_str().unwrap().to_owned();
        let text = String::from_utf8_lossy(&std::fs::read(root.join(&file)).unwrap()).into_owned();
        Sample { file, text, row }
    })
    .collect()
}

fn words(json: &Json) -> Option<String> {
    json.as_str().map(str::to_owned)
}

#[test]
fn every_document_reads_as_expected() {
    let (mut strict, mut recovered, mut refused, mut bare) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    let samples = samples();
    for sample in &samples {
        let Sample { file, text, row } = sample;
        let plan: Read<Plan> = read_plan(file, text);
        let summary: Read<Summary> = read_summary(file, text);
        let (Some(p), Some(s)) = (&plan.value, &summary.value) else {
            refused += 1;
            wrong.push(format!("{file}: refused {:?}", plan.diagnostics));
            continue;
        };
        match (p.has_frontmatter, plan.recovered) {
            (false, _) => bare += 1,
            (_, true) => recovered += 1,
            (_, false) => strict += 1,
        }
        let shown = overview(file, text);
        if row["kind"].as_str() != Some(shown.kind) || !shown.ok {
            wrong.push(format!("{file}: kind {} ok {}", shown.kind, shown.ok));
        }
        let strict_yaml = row["strict_yaml"].as_str().unwrap();
        let expect = &row["expect"];
        let mut check = |what: &str, ok: bool, got: String| {
            if !ok {
                wrong.push(format!("{file}: {what}: got {got}, expected {}", expect[what]));
            }
        };
        check("recovered", plan.recovered == (strict_yaml == "fail"), plan.recovered.to_string());
        check(
            "diagnosed",
            plan.recovered == plan.diagnostics.iter().any(|d| d.line > 1),
            format!("{:?}", plan.diagnostics),
        );
        check("phase", p.phase == words(&expect["phase"]), format!("{:?}", p.phase));
        check("plan", p.plan == words(&expect["plan"]), format!("{:?}", p.plan));
        check("status", s.status == words(&expect["status"]), format!("{:?}", s.status));
        let titles: Vec<_> = expect["title"].as_array().unwrap().iter().filter_map(words).collect();
        let title_ok = match &p.title {
            Some(title) => titles.contains(title),
            None => titles.is_empty(),
        };
        check("title", title_ok, format!("{:?}", p.title));
        let tasks = expect["tasks"].as_u64().unwrap() as usize;
        check("tasks", p.tasks.len() == tasks, p.tasks.len().to_string());
        let counts: Vec<_> =
            expect["must_haves"].as_array().unwrap().iter().filter_map(Json::as_u64).collect();
        check(
            "must_haves",
            counts.contains(&(p.must_haves.count() as u64)),
            p.must_haves.count().to_string(),
        );
    }
    println!(
        "{} documents: {strict} strict, {recovered} recovered, {bare} without frontmatter, {refused} refused",
        samples.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The plan document among the founding texts, when they are there.
#[test]
fn the_founding_plan_is_approved() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let plan = files
        .map(|file| std::fs::read_to_string(file.path()).unwrap())
        .find(|text| text.starts_with("---\nphase:"));
    let Some(text) = plan else {
        println!("skipped: no founding texts beside this repository");
        return;
    };
    let plan = read_plan("02-review/02-01-PLAN.md", &text).value.unwrap();
    assert_eq!((plan.tasks.len(), plan.must_haves.count()), (5, 6));
    assert!(plan.tasks.iter().all(|task| task.commit.is_some() && task.files.len() == 1));
    let facts = PlanFacts {
        exists: &|path| path == "skills/execute-protocol/SKILL.md",
        tasks_max: 5,
        others: &[],
        known_skills: None,
    };
    let report = structural_check(&plan, &facts);
    assert_eq!(report.verdict, PlanVerdict::Approve, "{:?}", report.findings);
}

/// What was read can be written and read again, whatever the document looked like.
#[test]
fn every_document_survives_writing() {
    for sample in samples() {
        let plan = read_plan(&sample.file, &sample.text).value.unwrap();
        let again = read_plan(&sample.file, &write_plan(&plan));
        assert!(!again.recovered, "{}: {:?}", sample.file, again.diagnostics);
        let again = again.value.unwrap();
        assert_eq!(
            (&again.extra, &again.must_haves, &again.depends_on),
            (&plan.extra, &plan.must_haves, &plan.depends_on),
            "{}",
            sample.file
        );
        assert_eq!(
            (again.title, again.id, again.tasks.len()),
            (plan.title, plan.id, plan.tasks.len()),
            "{}",
            sample.file
        );
    }
}

/// The tolerant reading of a sound document with one bad line is the strict reading of it without that line.
#[test]
fn one_bad_line_costs_nothing_else() {
    for sample in samples() {
        let sound = read_summary(&sample.file, &sample.text);
        let summary = sound.value.unwrap();
        if sound.recovered || !summary.has_frontmatter {
            continue;
        }
        let bad = sample.text.replacen("\n", "\nzz_bad: @odd: \"thing\n", 1);
        let read = read_summary(&sample.file, &bad);
        assert!(read.recovered && read.diagnostics.len() == 1, "{}: {:?}", sample.file, read.diagnostics);
        let mut got = read.value.unwrap();
        assert_eq!(got.extra.remove(0), ("zz_bad".to_owned(), Value::text("@odd: \"thing")));
        assert_eq!(
            (&got.extra, &got.status, &got.commit_hashes, &got.deviations),
            (&summary.extra, &summary.status, &summary.commit_hashes, &summary.deviations),
            "{}",
            sample.file
        );
    }
}

/// Setting a key leaves every other byte of a real document alone, repaired or not.
#[test]
fn every_document_can_be_edited_in_place() {
    for sample in samples() {
        let text = &sample.text;
        let edited = set_frontmatter(text, "reviewed_by", &Value::text("someone")).unwrap();
        let removed = edited.replacen("reviewed_by: someone\n", "", 1);
        let bare = format!("---\n---\n{text}");
        assert!(removed == *text || removed == bare, "{}", sample.file);
    }
}

#[test]
fn every_kind_is_told_from_the_name() {
    for sample in samples() {
        let kind = kind_of(&sample.file, &sample.text);
        let expected = match sample.row["kind"].as_str().unwrap() {
            "PLAN" => Kind::Plan,
            "SUMMARY" => Kind::Summary,
            "STATE" => Kind::State,
            "ROADMAP" => Kind::Roadmap,
            "UAT" => Kind::Uat,
            "REVIEW" => Kind::Review,
            "REVIEW-FIX" => Kind::ReviewFix,
            "VERIFICATION" => Kind::Verification,
            "CONTEXT" => Kind::Context,
            _ => Kind::Other,
        };
        assert_eq!(kind, expected, "{}", sample.file);
    }
}
