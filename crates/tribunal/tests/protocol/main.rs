//! The protocol's commands, end to end: arguments in, one JSON object and an exit code out, on real repositories. Each
//! module is a family of commands; `traps` holds what went wrong where the protocol came from.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

#[path = "../stage/mod.rs"]
#[expect(dead_code, reason = "the end-to-end tests use the rest")]
mod stage;

mod bad_input;
mod context;
mod docs;
mod gates;
mod leases;
mod original;
mod planning;
mod plans;
mod qa;
mod records;
mod tables;
mod traps;

use serde_json::Value;
use stage::Stage;
use std::path::Path;
use tempfile::TempDir;

/// The phase's folder in every test.
const PHASE: &str = ".planning/phases/01-tools";
const PLAN: &str = ".planning/phases/01-tools/01-01-PLAN.md";
const SUMMARY: &str = ".planning/phases/01-tools/01-01-SUMMARY.md";
const CONTRACT: &str = ".planning/.contracts/01-01.json";

/// A plan with one task, as the protocol documents it.
const PLAN_TEXT: &str = "---\nphase: 01\nplan: 01\ntitle: Quoted fields\nwave: 1\ndepends_on: []\nmust_haves:\n  \
    - the parser accepts quoted fields\nfiles_forbidden:\n  - secret\n---\n\n# Quoted fields\n\n\
    ### Task 1: Accept quoted fields\n\n**File:** `src/parser.txt`\n\nThe parser accepts fields in quotes.\n\n\
    > verification: test -f src/parser.txt\n\n**Commit:** `feat(01-01): quoted fields`\n";

/// A project in a folder of its own.
struct Field {
    _folder: TempDir,
    stage: Stage,
}

impl Field {
    /// A repository with one plan and the file it is about.
    fn new() -> Field {
        let field = Field::bare();
        field.write(PLAN, PLAN_TEXT);
        field.write("src/parser.txt", "first\n");
        field.stage.commit_all().unwrap();
        field
    }

    fn bare() -> Field {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::new(folder.path(), Path::new(env!("CARGO_BIN_EXE_tribunal"))).unwrap();
        Field { _folder: folder, stage }
    }

    fn write(&self, path: &str, text: &str) {
        self.stage.write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.stage.project().join(path)).unwrap()
    }

    fn git(&self, args: &[&str]) -> String {
        self.stage.git(args).unwrap()
    }

    /// Commits everything that lies outside the planning folder: the commit.
    fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A", "--", ":!.planning"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Does the plan's work and writes its summary: the commit.
    fn delivered(&self) -> String {
        self.write("src/parser.txt", "second\n");
        let commit = self.commit("feat(01-01): accept quoted fields");
        self.summary(&[&commit], "- `src/parser.txt` -- modified: quotes");
        commit
    }

    fn summary(&self, commits: &[&str], files: &str) {
        let commits: String = commits.iter().map(|commit| format!("  - \"{commit}\"\n")).collect();
        let commits = if commits.is_empty() { " []\n".to_owned() } else { format!("\n{commits}") };
        self.write(
            SUMMARY,
            &format!(
                "---\nphase: \"01\"\nplan: \"01\"\ntitle: Quoted fields\nstatus: complete\ncompleted: 2026-11-15\n\
                 tasks_completed: 1\ntasks_total: 1\ncommit_hashes:{commits}deviations: []\n---\n\n## What Was Built\n\n\
                 - quotes\n\n## Files Modified\n\n{files}\n\n## Deviations\n\nNone\n"
            ),
        );
    }

    /// Runs a command: its exit code, and stdout and stderr.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let ended = self.stage.tribunal(args).unwrap();
        (ended.code.unwrap(), ended.stdout, ended.stderr)
    }

    /// Runs a command that must answer with this code and one JSON object under its own name.
    fn ask(&self, args: &[&str], code: i32) -> Value {
        let (found, stdout, stderr) = self.run(args);
        assert_eq!(found, code, "{args:?}\n{stdout}\n{stderr}");
        let json: Value =
            serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{args:?} {error}: {stdout}"));
        assert_eq!(json["cmd"], args[0], "{json}");
        assert!(json["ok"].is_boolean(), "{json}");
        json
    }

    /// A usage error: code 2, nothing on stdout, words on stderr.
    fn refused(&self, args: &[&str]) {
        let (code, stdout, stderr) = self.run(args);
        assert_eq!((code, stdout.as_str()), (2, ""), "{args:?} {stderr}");
        assert!(stderr.starts_with("error: "), "{stderr}");
    }

    /// The events written so far: each name with its data.
    fn events(&self) -> Vec<(String, Value)> {
        let text = self.read(".planning/.events/event-log.jsonl");
        let event = |line: &str| -> (String, Value) {
            let event: Value = serde_json::from_str(line).unwrap();
            (event["event"].as_str().unwrap().to_owned(), event)
        };
        text.lines().map(event).collect()
    }
}

/// The texts of a JSON list.
fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}
