//! The labelled sample of task documents, when it is there: how much of it is read as its labels say.
#![expect(
    clippy::disallowed_methods,
    reason = "the sample is read from disk; the crate under test reads nothing"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value as Json;
use tribunal_docs::import::{detect, read_tasks};

/// How often something was right, was extra, and was lost.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    right: usize,
    extra: usize,
    lost: usize,
}

impl Count {
    fn add(&mut self, want: &BTreeSet<String>, got: &BTreeSet<String>) {
        self.right += want.intersection(got).count();
        self.extra += got.difference(want).count();
        self.lost += want.difference(got).count();
    }

    fn precision(self) -> f64 {
        share(self.right, self.extra)
    }

    fn recall(self) -> f64 {
        share(self.right, self.lost)
    }

    /// The harmonic mean of precision and recall.
    fn mean(self) -> f64 {
        share(2 * self.right, self.extra + self.lost)
    }
}

#[expect(clippy::cast_precision_loss, reason = "the sample has thousands, not quadrillions")]
fn share(right: usize, wrong: usize) -> f64 {
    match right + wrong {
        0 => 1.0,
        all => right as f64 / all as f64,
    }
}

/// What tells a task of a document from the others: its line, or in JSON its tag, id and title.
fn key(task: &Json, by_line: bool) -> String {
    match by_line {
        true => task["line"].to_string(),
        false => format!("{} {} {:.60}", task["phase"], task["id"], task["text"].as_str().unwrap_or("")),
    }
}

fn list(task: &Json, field: &str) -> BTreeSet<String> {
    let plain = |one: &Json| one.as_str().unwrap_or("").trim_start_matches("./").to_lowercase();
    task[field].as_array().into_iter().flatten().map(plain).collect()
}

/// Counts per format and field.
#[derive(Debug, Default)]
struct Score {
    tasks: Count,
    done_wrong: usize,
    paths: Count,
    reqs: Count,
}

fn compare(score: &mut Score, want: &Json, got: &Json, by_line: bool) {
    let keyed = |document: &Json| -> BTreeMap<String, Json> {
        let tasks = document["tasks"].as_array().into_iter().flatten().cloned();
        tasks.map(|task| (key(&task, by_line), task)).collect()
    };
    let (want, got) = (keyed(want), keyed(got));
    score.tasks.add(&want.keys().cloned().collect(), &got.keys().cloned().collect());
    for (want, got) in want.iter().filter_map(|(key, task)| Some((task, got.get(key)?))) {
        score.done_wrong += usize::from((want["done"] == true) != (got["done"] == true));
        score.paths.add(&list(want, "paths"), &list(got, "paths"));
        score.reqs.add(&list(want, "reqs"), &list(got, "reqs"));
    }
}

/// Of paths and requirements the mean is held: their labels were made by a script and hold some slips.
#[test]
fn the_sample_is_read_as_labelled() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/specs");
    let Ok(labels) = std::fs::read_to_string(root.join("labels.jsonl")) else {
        println!("skipped: no sample of task documents beside this repository");
        return;
    };
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for row in labels.lines() {
        let want: Json = serde_json::from_str(row).unwrap();
        let doc = want["doc"].as_str().unwrap();
        let text = String::from_utf8_lossy(&std::fs::read(root.join(doc)).unwrap()).into_owned();
        let format = detect(doc, &text).unwrap();
        let got = serde_json::to_value(read_tasks(format, &text)).unwrap();
        assert_eq!((&got["format"], &got["shape"]), (&want["format"], &want["shape"]), "{doc}");
        let name = want["format"].as_str().unwrap();
        compare(scores.entry(name.to_owned()).or_default(), &want, &got, name != "taskmaster");
    }
    assert_eq!(scores.len(), 4);
    for (format, score) in scores {
        let (tasks, paths, reqs) = (score.tasks, score.paths, score.reqs);
        assert!(
            tasks.right > 1_000 && tasks.precision() >= 0.98 && tasks.recall() >= 0.98,
            "{format} {tasks:?}"
        );
        assert_eq!(score.done_wrong, 0, "{format}");
        assert!(paths.mean() >= 0.95, "{format} {paths:?}");
        assert!(reqs.mean() >= 0.95, "{format} {reqs:?}");
    }
}
