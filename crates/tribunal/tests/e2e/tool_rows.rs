//! Every built-in tool, played by a program of ours: one that says nothing, half of something, that is killed, or that
//! complains of its settings has not judged, and is never green. A row that is added needs its line here.

use crate::review_tools::NO_AGENT;
use crate::stage::Stage;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;
use tribunal_agent::tool::Tools;

/// A built-in row: the program that is it, the words that tell it from others of the same program, what it prints when all
/// is well (a line of shell), half of that, and what it prints and ends with when its settings are wrong.
struct Row {
    name: &'static str,
    program: &'static str,
    word: &'static str,
    clean: &'static str,
    half: &'static str,
    settings: (&'static str, i32),
}

const SARIF: &str = r#"echo '{"version":"2.1.0","runs":[{"results":[]}]}'"#;
const HALF_SARIF: &str = r#"printf '{"version":"2.1.0","runs":[{"results":[{"ruleId":"F8'"#;

const ROWS: [Row; 14] = [
    Row {
        name: "rustfmt",
        program: "cargo",
        word: "fmt",
        clean: "echo 'Formatting /x/src/a.rs'",
        half: "echo Forma",
        settings: ("echo 'Warning: Unknown configuration option `x`' >&2; echo 'Formatting /x/src/a.rs'", 0),
    },
    Row {
        name: "clippy",
        program: "cargo",
        word: "clippy",
        clean: r#"echo '{"reason":"build-finished","success":true}'"#,
        half: r#"echo '{"reason":"compiler-artifact"}'; printf '{"reason":"build-fin'"#,
        settings: ("echo 'error: failed to parse manifest at /x/Cargo.toml' >&2", 101),
    },
    Row {
        name: "cargo-audit",
        program: "cargo-audit",
        word: "audit",
        clean: r#"echo '{"vulnerabilities":{"list":[]}}'"#,
        half: r#"printf '{"vulnerabilities":{"list":['"#,
        settings: ("echo 'error: could not fetch advisory database' >&2", 1),
    },
    Row {
        name: "ruff",
        program: "ruff",
        word: "check",
        clean: SARIF,
        half: HALF_SARIF,
        settings: ("echo 'ruff failed' >&2; echo '  Cause: Failed to parse ruff.toml' >&2", 2),
    },
    Row {
        name: "ruff-format",
        program: "ruff",
        word: "format",
        clean: "echo '1 file left unchanged'",
        half: "echo '1 fi'",
        settings: ("echo 'ruff failed' >&2", 2),
    },
    Row {
        name: "mypy",
        program: "mypy",
        word: "--show-error-codes",
        clean: "echo 'Success: no issues found in 1 source file'",
        half: "echo 'a.py:1'",
        settings: (
            "echo 'mypy.ini: [mypy]: Unrecognized option: x = y' >&2; echo 'Success: no issues found'",
            0,
        ),
    },
    Row {
        name: "eslint",
        program: "eslint",
        word: "json",
        clean: r#"echo '[{"filePath":"a.js","messages":[]}]'"#,
        half: r#"printf '[{"filePath":"a.js","messa'"#,
        settings: ("echo 'Oops! Something went wrong! could not find plugin' >&2", 2),
    },
    Row {
        name: "tsc",
        program: "tsc",
        word: "--noEmit",
        clean: "echo 'Files:   80'; echo 'Check time: 0.1s'",
        half: "echo 'a.ts(1'",
        settings: (
            r#"echo "tsconfig.json(1,21): error TS5023: Unknown compiler option 'x'."; echo 'Files: 80'"#,
            1,
        ),
    },
    Row {
        name: "prettier",
        program: "prettier",
        word: "--write",
        clean: "for last; do :; done; echo 'probe();' > \"$last\"",
        half: "echo 'a.j'",
        settings: ("echo '[error] Invalid semi value. Expected true or false, but received 7.' >&2", 2),
    },
    Row {
        name: "shellcheck",
        program: "shellcheck",
        word: "json1",
        clean: r#"echo '{"comments":[]}'"#,
        half: r#"printf '{"comments":[{"file":"a.sh","li'"#,
        settings: (
            r#"echo '{"comments":[{"file":"a.sh","line":1,"level":"error","code":1134,"message":"Failed to process /x/.shellcheckrc, line 1"}]}'"#,
            1,
        ),
    },
    Row {
        name: "gofmt",
        program: "gofmt",
        word: "-w",
        clean: "for last; do :; done; echo 'package probe' > \"$last\"",
        half: "echo 'a.g'",
        settings: ("echo 'open a.go: permission denied' >&2", 2),
    },
    Row {
        name: "go-vet",
        program: "go",
        word: "vet",
        clean: "echo '# x' >&2; echo '{}' >&2",
        half: r#"echo '# x' >&2; printf '{"x": {"printf": [' >&2"#,
        settings: ("echo 'go: errors parsing go.mod:' >&2; echo 'go.mod:3: invalid go version' >&2", 1),
    },
    Row {
        name: "golangci-lint",
        program: "golangci-lint",
        word: "run",
        clean: "echo '0 issues.'",
        half: "echo 'a.go:1'",
        settings: ("echo \"Error: can't load config: unsupported version\" >&2", 3),
    },
    Row {
        name: "semgrep",
        program: "semgrep",
        word: "scan",
        clean: SARIF,
        half: HALF_SARIF,
        settings: (
            r#"echo '{"version":"2.1.0","runs":[{"results":[],"invocations":[{"executionSuccessful":true,"toolExecutionNotifications":[{"level":"error","message":{"text":"invalid rule"}}]}]}]}'"#,
            0,
        ),
    },
];

/// A project that every row is for, with its configuration in order, and a change of every kind of file.
fn everything() -> (TempDir, Stage) {
    let (folder, mut stage) = crate::stage();
    let bin = stage.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    stage.program_mut().prepend_path(&bin);
    let configured = [
        ("Cargo.toml", "[package]\nname = \"x\"\n"),
        ("Cargo.lock", "# one\n"),
        ("ruff.toml", "[format]\n"),
        ("mypy.ini", "[mypy]\n"),
        ("eslint.config.js", "export default [];\n"),
        ("tsconfig.json", "{}\n"),
        (".prettierrc", "{}\n"),
        ("go.mod", "module x\n"),
        (".golangci.yml", "version: 2\n"),
        (".semgrep.yml", "rules: []\n"),
    ];
    configured.iter().for_each(|(path, text)| stage.write(path, text).unwrap());
    let files = ["src/a.rs", "a.py", "a.js", "a.ts", "a.sh", "a.go"];
    files.iter().for_each(|path| stage.write(path, "one\n").unwrap());
    stage.commit_all().unwrap();
    stage.git(&["checkout", "-q", "-b", "topic"]).unwrap();
    files.iter().for_each(|path| stage.write(path, "one\ntwo\n").unwrap());
    stage.write("Cargo.lock", "# two\n").unwrap();
    stage.git(&["commit", "-q", "-am", "feat: all of it"]).unwrap();
    (folder, stage)
}

/// Writes the programs: each does, for each of its rows, what `deed` says.
fn install(stage: &Stage, deed: impl Fn(&Row) -> String) {
    let mut by_program: BTreeMap<&str, String> = BTreeMap::new();
    for row in &ROWS {
        let script = by_program.entry(row.program).or_insert_with(|| "#!/bin/sh\n".to_owned());
        script.push_str(&format!("case \" $* \" in *' {} '*) {}; exit $? ;; esac\n", row.word, deed(row)));
    }
    for helper in ["rustfmt", "cargo-fmt", "cargo-clippy"] {
        by_program.insert(helper, "#!/bin/sh\n".to_owned());
    }
    for (name, script) in by_program {
        let path = stage.root().join("bin").join(name);
        std::fs::write(&path, format!("{script}exit 99\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// What each tool came to, and the exit code of the review.
fn review(stage: &Stage) -> (Option<i32>, BTreeMap<String, String>, String) {
    let args = [&["review", "--diff", "main..HEAD", "--json"], &NO_AGENT[..]].concat();
    let ended = stage.tribunal(&args).unwrap();
    let seen: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}", ended.said()));
    let judges = seen["judges"].as_array().unwrap().iter();
    let judges = judges.map(|judge| {
        let text = |key: &str| judge[key].as_str().unwrap_or_default().to_owned();
        (text("name"), text("verdict"))
    });
    (ended.code, judges.collect(), ended.said())
}

fn names() -> BTreeSet<String> {
    ROWS.iter().map(|row| row.name.to_owned()).collect()
}

#[test]
fn every_built_in_row_has_its_cases() {
    let built_in = Tools::load(&BTreeMap::new()).unwrap();
    let known: BTreeSet<String> = built_in.names().map(str::to_owned).collect();
    assert_eq!(known, names(), "a row without its cases may be green by accident");
}

#[test]
fn a_clean_answer_of_every_row_is_green() {
    let (_folder, stage) = everything();
    install(&stage, |row| row.clean.to_owned());
    let (code, judges, said) = review(&stage);
    for name in names() {
        assert_eq!(judges.get(&name).map(String::as_str), Some("passed"), "{name}: {said}");
    }
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn no_row_is_green_when_its_tool_did_not_answer() {
    type Deed = fn(&Row) -> String;
    let deeds: [(&str, Deed); 6] = [
        ("prints nothing", |_| "exit 0".to_owned()),
        ("prints nothing and fails", |_| "exit 1".to_owned()),
        ("prints half a document", |row| format!("{}; exit 0", row.half)),
        ("is killed", |row| format!("{}; kill -9 $$", row.clean)),
        ("complains of its settings", |row| format!("{}; exit {}", row.settings.0, row.settings.1)),
        ("ends in a way nobody knows", |row| format!("{}; exit 77", row.clean)),
    ];
    let (_folder, stage) = everything();
    for (what, deed) in deeds {
        install(&stage, deed);
        let (code, judges, said) = review(&stage);
        assert_eq!(code, Some(4), "{what}: {said}");
        for name in names() {
            let verdict = judges.get(&name).unwrap_or_else(|| panic!("{name} does not sit: {said}"));
            assert_ne!(verdict, "passed", "{name} {what}: {said}");
            assert!(!verdict.contains("fail"), "{name} {what}, which is no finding: {said}");
        }
    }
}
