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
/// is well (a line of shell), half of that, and what it prints and ends with when its settings are wrong. What the real
/// ones print was seen by hand: ruff 0.17, mypy, eslint 10, tsc, prettier, shellcheck, gofmt, go vet, rustfmt, clippy and
/// semgrep 1.182; cargo-audit and golangci-lint were not at hand.
struct Row {
    name: &'static str,
    program: &'static str,
    word: &'static str,
    clean: &'static str,
    half: &'static str,
    settings: &'static [(&'static str, i32)],
    /// How it says that something is wrong with the second line of its file.
    finds: (&'static str, i32),
    /// How it says that the file is not even written in its language; none where it does not read it.
    broken: Option<(&'static str, i32)>,
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
        finds: ("echo 'Formatting /x/src/a.rs'; sed -i 's/two/two;/' src/a.rs", 0),
        broken: Some((
            "echo 'error: this file contains an unclosed delimiter' >&2; echo ' --> src/a.rs:2:13' >&2",
            1,
        )),
        settings: &[
            ("echo 'Warning: Unknown configuration option `x`' >&2; echo 'Formatting /x/src/a.rs'", 0),
            (
                r#"echo 'The file `/x/rustfmt.toml` failed to parse.' >&2; echo 'Error details: invalid type: string "x", expected usize' >&2"#,
                1,
            ),
            ("echo 'Could not parse TOML: TOML parse error at line 1, column 6' >&2", 1),
            ("echo 'Using rustfmt config file /x/rustfmt.toml for /x/src/a.rs'", 0),
        ],
    },
    Row {
        name: "clippy",
        program: "cargo",
        word: "clippy",
        clean: r#"echo '{"reason":"build-finished","success":true}'"#,
        half: r#"echo '{"reason":"compiler-artifact"}'; printf '{"reason":"build-fin'"#,
        finds: (
            r#"echo '{"reason":"compiler-message","target":{"kind":["bin"],"src_path":"src/a.rs"},"message":{"message":"m","code":{"code":"clippy::x"},"level":"warning","spans":[{"file_name":"src/a.rs","line_start":2,"line_end":2,"is_primary":true}],"children":[]}}'; echo '{"reason":"build-finished","success":true}'"#,
            0,
        ),
        broken: Some((
            r#"echo '{"reason":"compiler-message","target":{"kind":["bin"],"src_path":"src/a.rs"},"message":{"message":"m","code":{"code":"E0425"},"level":"error","spans":[{"file_name":"src/a.rs","line_start":2,"line_end":2,"is_primary":true}],"children":[]}}'; echo '{"reason":"build-finished","success":true}'"#,
            101,
        )),
        settings: &[
            ("echo 'error: failed to parse manifest at /x/Cargo.toml' >&2", 101),
            (
                r##"echo '{"reason":"compiler-message","target":{"kind":["bin"],"src_path":"src/a.rs"},"message":{"message":"error reading Clippy'"'"'s configuration file: unknown field `nope`","code":null,"level":"error","spans":[]}}'; echo '{"reason":"build-finished","success":false}'"##,
                101,
            ),
            (
                r##"echo '{"reason":"compiler-message","target":{"kind":["bin"],"src_path":"src/a.rs"},"message":{"message":"error reading Clippy'"'"'s configuration file: invalid inline table","code":null,"level":"error","spans":[{"file_name":"clippy.toml","line_start":1,"line_end":1,"is_primary":true}]}}'; echo '{"reason":"build-finished","success":false}'"##,
                101,
            ),
            ("echo 'error: unclosed table, expected `]`' >&2; echo ' --> Cargo.toml:1:9' >&2", 101),
        ],
    },
    Row {
        name: "cargo-audit",
        program: "cargo-audit",
        word: "audit",
        clean: r#"echo '{"vulnerabilities":{"list":[]}}'"#,
        half: r#"printf '{"vulnerabilities":{"list":['"#,
        finds: (
            r#"echo '{"vulnerabilities":{"list":[{"advisory":{"id":"RUSTSEC-1","title":"bad"},"package":{"name":"x","version":"1.0.0"}}]}}'"#,
            1,
        ),
        broken: None,
        settings: &[("echo 'error: could not fetch advisory database' >&2", 1)],
    },
    Row {
        name: "ruff",
        program: "ruff",
        word: "check",
        clean: SARIF,
        half: HALF_SARIF,
        finds: (
            r#"echo '{"version":"2.1.0","runs":[{"results":[{"ruleId":"F401","level":"error","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"},"region":{"startLine":2}}}]}]}]}'"#,
            1,
        ),
        broken: Some((
            r#"echo '{"version":"2.1.0","runs":[{"results":[{"ruleId":"invalid-syntax","level":"error","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"},"region":{"startLine":2}}}]}]}]}'"#,
            1,
        )),
        settings: &[
            ("echo 'ruff failed' >&2; echo '  Cause: Failed to parse ruff.toml' >&2", 2),
            (
                "echo 'ruff failed' >&2; echo '  Cause: Unknown rule selector `NOPE` in `select` from `/x/ruff.toml`' >&2",
                2,
            ),
        ],
    },
    Row {
        name: "ruff-format",
        program: "ruff",
        word: "format",
        clean: "echo '1 file left unchanged'",
        half: "echo '1 fi'",
        finds: ("echo '1 file reformatted'; sed -i 's/two/two = 2/' a.py", 0),
        broken: Some(("echo 'error: Failed to parse a.py:2:7: Expected a parameter' >&2", 2)),
        settings: &[
            ("echo 'ruff failed' >&2", 2),
            (
                "echo 'ruff failed' >&2; echo '  Cause: Failed to load configuration `/x/ruff.toml`' >&2; echo 'unknown variant `odd`' >&2",
                2,
            ),
        ],
    },
    Row {
        name: "mypy",
        program: "mypy",
        word: "--show-error-codes",
        clean: "echo 'Success: no issues found in 1 source file'",
        half: "echo 'a.py:1'",
        finds: ("echo 'a.py:2: error: m  [misc]'; echo 'Found 1 error in 1 file (checked 1 source file)'", 1),
        broken: Some((
            "echo 'a.py:2: error: Unexpected EOF while parsing  [syntax]'; echo 'Found 1 error in 1 file (errors prevented further checking)'",
            2,
        )),
        settings: &[
            ("echo 'mypy.ini: [mypy]: Unrecognized option: x = y' >&2; echo 'Success: no issues found'", 0),
            (
                r#"echo 'mypy.ini: File contains no section headers.' >&2; echo 'Success: no issues found in 1 source file'"#,
                0,
            ),
            (
                r#"echo 'mypy.ini:2: error: Error importing plugin "nope": No module named nope  [misc]' >&2; echo 'Found 1 error in 1 file (errors prevented further checking)'"#,
                2,
            ),
            ("echo 'mypy: error: Mypy no longer supports checking Python 2 code.' >&2", 2),
        ],
    },
    Row {
        name: "eslint",
        program: "eslint",
        word: "json",
        clean: r#"echo '[{"filePath":"a.js","messages":[]}]'"#,
        half: r#"printf '[{"filePath":"a.js","messa'"#,
        finds: (
            r#"echo '[{"filePath":"a.js","messages":[{"ruleId":"no-var","fatal":false,"severity":2,"message":"m","line":2}]}]'"#,
            1,
        ),
        broken: Some((
            r#"echo '[{"filePath":"a.js","messages":[{"ruleId":null,"fatal":true,"severity":2,"message":"m","line":2}]}]'"#,
            1,
        )),
        settings: &[
            ("echo 'Oops! Something went wrong! could not find plugin' >&2", 2),
            (
                r#"echo 'Oops! Something went wrong! :(' >&2; echo 'SyntaxError: Unexpected end of input' >&2"#,
                2,
            ),
        ],
    },
    Row {
        name: "tsc",
        program: "tsc",
        word: "--noEmit",
        clean: "echo 'Files:   80'; echo 'Check time: 0.1s'",
        half: "echo 'a.ts(1'",
        finds: ("echo 'a.ts(2,1): error TS2304: Cannot find name.'; echo 'Files: 83'", 2),
        broken: Some(("echo 'a.ts(2,10): error TS1110: Type expected.'; echo 'Files: 83'", 1)),
        settings: &[
            (
                r#"echo "tsconfig.json(1,21): error TS5023: Unknown compiler option 'x'."; echo 'Files: 80'"#,
                1,
            ),
            (r#"echo "tsconfig.json(1,22): error TS1005: '}' expected."; echo 'Files: 83'"#, 1),
            (
                r#"echo "error TS5083: Cannot read file '/x/nope.json'."; echo 'a.ts(1,1): error TS2304: Cannot find name.'; echo 'Files: 83'"#,
                1,
            ),
            (
                r#"echo "error TS18003: No inputs were found in config file '/x/tsconfig.json'."; echo 'Files: 0'"#,
                2,
            ),
        ],
    },
    Row {
        name: "prettier",
        program: "prettier",
        word: "--write",
        clean: "for last; do :; done; echo 'probe();' > \"$last\"",
        half: "echo 'a.j'",
        finds: ("for last; do :; done; echo 'probe();' > \"$last\"; sed -i 's/two/two;/' a.js", 0),
        broken: Some(("echo '[error] a.js: SyntaxError: Unexpected token (2:5)' >&2", 2)),
        settings: &[
            ("echo '[error] Invalid semi value. Expected true or false, but received 7.' >&2", 2),
            ("echo '[error] Invalid semi value. Expected true or false, but received 7.' >&2", 1),
            (r#"echo '[error] Invalid configuration for file "/x/a.js":' >&2"#, 2),
            (
                "for last; do :; done; echo 'probe();' > \"$last\"; echo '[warn] Ignored unknown option { simi: true }. Did you mean semi?' >&2",
                0,
            ),
        ],
    },
    Row {
        name: "shellcheck",
        program: "shellcheck",
        word: "json1",
        clean: r#"echo '{"comments":[]}'"#,
        half: r#"printf '{"comments":[{"file":"a.sh","li'"#,
        finds: (
            r#"echo '{"comments":[{"file":"a.sh","line":2,"level":"warning","code":2154,"message":"m"}]}'"#,
            1,
        ),
        broken: Some((
            r#"echo '{"comments":[{"file":"a.sh","line":2,"level":"error","code":1073,"message":"m"}]}'"#,
            1,
        )),
        settings: &[
            (
                r#"echo '{"comments":[{"file":"a.sh","line":1,"level":"error","code":1134,"message":"Failed to process /x/.shellcheckrc, line 1"}]}'"#,
                1,
            ),
            (r#"echo '{"comments":[]}'; echo 'nope.sh: openBinaryFile: does not exist' >&2"#, 2),
        ],
    },
    Row {
        name: "gofmt",
        program: "gofmt",
        word: "-w",
        clean: "for last; do :; done; echo 'package probe' > \"$last\"",
        half: "echo 'a.g'",
        finds: ("for last; do :; done; echo 'package probe' > \"$last\"; sed -i 's/two/two()/' a.go", 0),
        broken: Some(("echo \"a.go:2:15: expected '}', found 'EOF'\" >&2", 2)),
        settings: &[("echo 'open a.go: permission denied' >&2", 2)],
    },
    Row {
        name: "go-vet",
        program: "go",
        word: "vet",
        clean: "echo '# x' >&2; echo '{}' >&2",
        half: r#"echo '# x' >&2; printf '{"x": {"printf": [' >&2"#,
        finds: (
            r#"echo '# x' >&2; printf '{\n\t"x": {\n\t\t"printf": [\n\t\t\t{\n\t\t\t\t"posn": "%s/a.go:2:15",\n\t\t\t\t"message": "m"\n\t\t\t}\n\t\t]\n\t}\n}\n' "$PWD" >&2"#,
            0,
        ),
        broken: Some(("echo '# x' >&2; echo 'vet: ./a.go:2:15: undeclared name: nope' >&2", 2)),
        settings: &[
            ("echo 'go: errors parsing go.mod:' >&2; echo 'go.mod:3: invalid go version' >&2", 1),
            (
                "echo 'go: downloading example.com/y v1.0.0' >&2; echo 'a.go:3:8: module lookup disabled by GOPROXY=off' >&2",
                1,
            ),
            (r#"echo 'go: warning: "./..." matched no packages' >&2; echo 'no packages to vet' >&2"#, 1),
        ],
    },
    Row {
        name: "golangci-lint",
        program: "golangci-lint",
        word: "run",
        clean: "echo '0 issues.'",
        half: "echo 'a.go:1'",
        finds: ("echo 'a.go:2:1: m (errcheck)'; echo '1 issues:'", 1),
        broken: Some(("echo 'a.go:2:1: undefined: x (typecheck)'; echo '1 issues:'", 1)),
        settings: &[("echo \"Error: can't load config: unsupported version\" >&2", 3)],
    },
    Row {
        name: "semgrep",
        program: "semgrep",
        word: "scan",
        clean: SARIF,
        half: HALF_SARIF,
        finds: (
            r#"echo '{"version":"2.1.0","runs":[{"results":[{"ruleId":"x","level":"error","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"},"region":{"startLine":2}}}]}]}]}'"#,
            0,
        ),
        broken: None,
        settings: &[
            (
                r#"echo '{"version":"2.1.0","runs":[{"results":[],"invocations":[{"executionSuccessful":true,"toolExecutionNotifications":[{"level":"error","message":{"text":"invalid rule"}}]}]}]}'"#,
                0,
            ),
            (
                r#"echo '{"version":"2.1.0","runs":[{"invocations":[{"executionSuccessful":true,"toolExecutionNotifications":[{"level":"error","message":{"text":"invalid configuration file found (1 configs were invalid)"}}]}],"results":[]}]}'"#,
                7,
            ),
        ],
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
    type Deed = Box<dyn Fn(&Row) -> String>;
    let complains = |n: usize| -> Deed {
        Box::new(move |row| {
            let (says, code) = row.settings[n % row.settings.len()];
            format!("{says}; exit {code}")
        })
    };
    let most = ROWS.iter().map(|row| row.settings.len()).max().unwrap();
    let mut deeds: Vec<(&str, Deed)> = vec![
        ("prints nothing", Box::new(|_| "exit 0".to_owned())),
        ("prints nothing and fails", Box::new(|_| "exit 1".to_owned())),
        ("prints half a document", Box::new(|row| format!("{}; exit 0", row.half))),
        ("is killed", Box::new(|row| format!("{}; kill -9 $$", row.clean))),
        ("ends in a way nobody knows", Box::new(|row| format!("{}; exit 77", row.clean))),
    ];
    deeds.extend((0..most).map(|n| ("complains of its settings", complains(n))));
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

type Rows = Vec<Value>;

/// What a review finds, each with who raised it.
fn found(stage: &Stage, code: i32) -> (Rows, String) {
    let args =
        [&["review", "--diff", "main..HEAD", "--json", "--set", "checks.cache_mb=0"], &NO_AGENT[..]].concat();
    let ended = stage.tribunal(&args).unwrap();
    assert_eq!(ended.code, Some(code), "{}", ended.said());
    let seen: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}", ended.said()));
    (seen["findings"].as_array().unwrap().clone(), ended.said())
}

fn by<'a>(rows: &'a Rows, name: &str) -> Vec<&'a Value> {
    rows.iter().filter(|row| row["by"].to_string().contains(&format!("check {name}\""))).collect()
}

/// What a tool found stays open while the tool does not answer: nothing it prints instead resolves it.
#[test]
fn no_row_resolves_anything_without_an_answer() {
    let (_folder, stage) = everything();
    install(&stage, |row| format!("{}; exit {}", row.finds.0, row.finds.1));
    let (rows, said) = found(&stage, 1);
    for name in names() {
        assert_eq!(by(&rows, &name).len(), 1, "{name}: {said}");
    }
    type Deed = fn(&Row) -> String;
    let deeds: [(&str, Deed); 5] = [
        ("prints nothing", |_| "exit 0".to_owned()),
        ("prints half a document", |row| format!("{}; exit 0", row.half)),
        ("is killed", |row| format!("{}; kill -9 $$", row.clean)),
        ("complains of its settings", |row| format!("{}; exit {}", row.settings[0].0, row.settings[0].1)),
        ("ends in a way nobody knows", |row| format!("{}; exit 77", row.clean)),
    ];
    for (what, deed) in deeds {
        install(&stage, deed);
        let (rows, said) = found(&stage, 4);
        for name in names() {
            let fates: Vec<&Value> = by(&rows, &name).into_iter().map(|row| &row["fate"]).collect();
            assert_eq!(fates, ["open"], "{name} {what}: {said}");
        }
    }
}

/// What does not compile is a blocker at its line, whichever tool stumbles over it.
#[test]
fn what_does_not_compile_is_a_blocker_at_its_line_in_every_row() {
    let (_folder, stage) = everything();
    install(&stage, |row| match row.broken {
        Some((says, code)) => format!("{says}; exit {code}"),
        None => row.clean.to_owned(),
    });
    let (rows, said) = found(&stage, 1);
    for row in ROWS.iter().filter(|row| row.broken.is_some()) {
        let name = row.name;
        let seen = by(&rows, name);
        assert_eq!(seen.len(), 1, "{name}: {said}");
        assert_eq!(seen[0]["severity"], "blocker", "{name}: {said}");
        assert!(seen[0]["place"].as_str().unwrap().ends_with(":2"), "{name}: {said}");
    }
}
