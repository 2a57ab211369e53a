//! Tables: a command, what the base has and what the change makes of it, and which changed files are part of the judge.

use super::*;
use std::collections::BTreeMap;

/// Files by path.
type Tree = BTreeMap<String, String>;

fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// The judge's files of a change, with a recipe of the project's own.
fn files(command: &str, recipe: &str, before: &[(&str, &str)], now: &[(&str, &str)]) -> Vec<String> {
    let steps = [command.split(' ').map(str::to_owned).collect::<Vec<_>>()];
    let before = tree(before);
    let mut after = before.clone();
    for (path, text) in now {
        match *text {
            "GONE" => drop(after.remove(*path)),
            text => drop(after.insert((*path).to_owned(), text.to_owned())),
        }
    }
    let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed: Vec<String> =
        all.into_iter().filter(|path| before.get(*path) != after.get(*path)).cloned().collect();
    JudgeFacts {
        steps: &steps,
        recipe,
        changed: &changed,
        paths: &before.keys().cloned().collect(),
        before: &|path| before.get(path).cloned(),
        now: &|path| after.get(path).cloned(),
    }
    .judge_files()
}

/// A command, what the base has, and what the change makes of it.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)], &'a [&'a str]);

fn check(cases: &[Case<'_>]) {
    for (command, before, now, expect) in cases {
        assert_eq!(files(command, "", before, now), *expect, "{command} {now:?}");
    }
}

#[test]
fn files_that_the_command_names() {
    check(&[
        ("sh check.sh", &[("check.sh", "a\n")], &[("check.sh", "exit 0\n")], &["check.sh"]),
        ("./ci/test --fast", &[("ci/test", "a\n")], &[("ci/test", "b\n"), ("src/a.c", "x\n")], &["ci/test"]),
        ("sh ./ci/../check.sh", &[("check.sh", "a\n")], &[("check.sh", "GONE")], &["check.sh"]),
        ("/usr/bin/sh /check.sh", &[("check.sh", "a\n")], &[("check.sh", "b\n")], &[]),
        (
            "python3 -m runner.all",
            &[("runner/all.py", "a\n")],
            &[("runner/all.py", "b\n")],
            &["runner/all.py"],
        ),
        ("sh check.sh", &[("check.sh", "ci/real"), ("ci/real", "a\n")], &[("ci/real", "b\n")], &["ci/real"]),
    ]);
}

#[test]
fn scripts_that_a_recipe_calls_and_what_they_include() {
    let base = &[
        ("Makefile", "test:\n\t@sh tests/run.sh\n"),
        (
            "tests/run.sh",
            "set -e\n. tests/lib.sh\n. \"$(dirname \"$0\")/more.sh\"\n[ \"$(sh bin/add.sh)\" = 3 ]\n",
        ),
        ("tests/lib.sh", "a\n"),
        ("tests/more.sh", "a\n"),
        ("bin/add.sh", "a\n"),
    ];
    let cases: [(&str, &str, &[&str]); 6] = [
        ("@sh tests/run.sh", "tests/run.sh", &["tests/run.sh"]),
        ("@sh tests/run.sh", "tests/lib.sh", &["tests/lib.sh"]),
        ("@sh tests/run.sh", "tests/more.sh", &["tests/more.sh"]),
        ("@sh tests/run.sh", "bin/add.sh", &[]),
        ("[ \"$(sh bin/add.sh 1 2)\" = 3 ] || exit 1", "bin/add.sh", &[]),
        ("FAST=1 timeout 5 ./bin/add.sh && true", "bin/add.sh", &["bin/add.sh"]),
    ];
    for (recipe, path, expect) in cases {
        assert_eq!(files("make test", recipe, base, &[(path, "other\n")]), expect, "{recipe} {path}");
    }
}

#[test]
fn files_that_a_makefile_includes() {
    let base = &[("Makefile", "include ci/rules\n-include local.conf\ntest:\n\ttrue\n"), ("ci/rules", "a\n")];
    check(&[
        ("make test", base, &[("ci/rules", "b\n")], &["ci/rules"]),
        ("make test", base, &[("local.conf", "SHELL=/bin/true\n")], &["local.conf"]),
        ("make test", base, &[("Makefile", ".IGNORE:\n")], &["Makefile"]),
        ("make test", base, &[("GNUmakefile", "test:\n")], &["GNUmakefile"]),
        ("make test", base, &[("src/a.c", "x\n"), ("docs/Makefile.md", "x\n")], &[]),
    ]);
}

#[test]
fn files_that_configure_or_shadow_a_runner() {
    let none: &[(&str, &str)] = &[("calc.py", "a\n"), ("queue.py", "a\n"), ("tests/test_calc.py", "a\n")];
    for path in [
        "conftest.py",
        "tests/conftest.py",
        "pytest.py",
        "pytest/__init__.py",
        "unittest/__init__.py",
        "sitecustomize.py",
        "src/argparse.py",
        "pytest.ini",
        "setup.cfg",
        ".npmrc",
        "node_modules/.bin/jest",
        "jest.config.js",
        "vitest.config.ts",
        ".mocharc.yml",
        ".cargo/config.toml",
        "rust-toolchain.toml",
        "go.work",
        ".rspec",
        "phpunit.xml",
    ] {
        check(&[("make test", none, &[(path, "x\n")], &[path])]);
    }
    for path in [
        "app/argparse.py",
        "queue.py",
        "tests/test_more.py",
        "README.md",
        "src/lib.rs",
        "calc.py",
        "src/types/x.ts",
    ] {
        check(&[("make test", none, &[(path, "x\n")], &[])]);
    }
}

#[test]
fn functions_by_which_tests_steer_their_runner() {
    const MAIN: &str = "package a\n\nfunc TestMain(m *testing.M) {\n\tos.Exit(m.Run())\n}\n\nfunc TestA(t *testing.T) {\n}\n";
    let gutted = MAIN.replace("m.Run()", "0");
    let edited = format!("{MAIN}\nfunc TestB(t *testing.T) {{\n}}\n");
    check(&[
        ("go test", &[("a_test.go", MAIN)], &[("a_test.go", &gutted)], &["a_test.go"]),
        ("go test", &[("a_test.go", MAIN)], &[("a_test.go", &edited)], &[]),
        ("go test", &[], &[("main_test.go", MAIN)], &["main_test.go"]),
        ("go test", &[], &[("b_test.go", "package a\n\nfunc TestB(t *testing.T) {\n}\n")], &[]),
        ("pytest", &[], &[("test_a.py", "def load_tests(a, b, c):\n    return b\n")], &["test_a.py"]),
    ]);
}

#[test]
fn manifests_judge_in_part() {
    const CARGO: &str = "[package]\nname = \"a\"\nversion = \"0.1.0\"\n\n[dependencies]\nserde = \"1\"\n";
    let check = |path: &str, before: &str, old: &str, new: &str, expect: bool| {
        assert!(before.contains(old), "{before} {old}");
        let now = before.replace(old, new);
        let found = files("make test", "", &[(path, before)], &[(path, &now)]);
        assert_eq!(!found.is_empty(), expect, "{path}: {now}");
    };
    check("Cargo.toml", CARGO, "serde = \"1\"", "serde = \"1\"\nregex = \"1\"", false);
    check("Cargo.toml", CARGO, "0.1.0", "0.2.0", false);
    check(
        "Cargo.toml",
        CARGO,
        "[dependencies]",
        "[dev-dependencies]\nproptest = \"1\"\n\n[dependencies]",
        false,
    );
    check("Cargo.toml", CARGO, "serde = \"1\"", "serde = { path = \"fake\" }", true);
    check("Cargo.toml", CARGO, "[dependencies]", "[lib]\ntest = false\n\n[dependencies]", true);
    check("Cargo.toml", CARGO, "version", "autotests = false\nversion", true);
    // A text of several lines could hide where a table begins.
    let hidden = "description = \"\"\"\n[dependencies]\n\"\"\"\nautotests = false\nversion";
    check("Cargo.toml", CARGO, "version", hidden, true);
    let listed = "keywords = [\n\"[dependencies]\",\n]\nautotests = false\nversion";
    check("Cargo.toml", CARGO, "version", listed, true);
    const PACKAGE: &str = "{ \"name\": \"a\", \"scripts\": { \"test\": \"node --test\" }, \"devDependencies\": { \"jest\": \"1\" } }";
    check("package.json", PACKAGE, "\"jest\": \"1\"", "\"jest\": \"1\", \"left-pad\": \"2\"", false);
    check("package.json", PACKAGE, "node --test", "node --test || true", true);
    check("package.json", PACKAGE, "\"jest\": \"1\"", "\"jest\": \"file:fake\"", true);
    check("package.json", PACKAGE, "\"name\"", "\"jest\": {\"passWithNoTests\": true}, \"name\"", true);
    check("package.json", PACKAGE, "{ \"name\": \"a\",", "{ \"scripts\": {}, \"name\": \"a\",", true);
    const GO: &str = "module example.org/a\n\ngo 1.19\n\nrequire example.org/b v1.0.0\n";
    check("go.mod", GO, "v1.0.0\n", "v1.0.0\nrequire example.org/c v1.0.0\n", false);
    check("go.mod", GO, "v1.0.0\n", "v1.0.0\nreplace example.org/b => ./fake\n", true);
    check("go.mod", GO, "v1.0.0\n", "v1.0.0\nreplace (\n\texample.org/b => ./fake\n)\n", true);
    check("go.mod", GO, "go 1.19", "go 1.19\ntoolchain go9.9", true);
    const GRADLE: &str = "plugins { id 'java' }\ndependencies {\n  implementation('a') { x }\n}\ntest { }\n";
    check("build.gradle", GRADLE, "implementation", "implementation 'b'\n  implementation", false);
    check("build.gradle", GRADLE, "test { }", "test { ignoreFailures = true }", true);
}

/// The manifest of a new part of the project judges nothing that was there.
#[test]
fn the_manifest_of_a_new_part_is_no_judge() {
    const NEW: &str = "[package]\nname = \"b\"\n\n[lib]\ndoctest = false\n";
    let base: &[(&str, &str)] = &[("a/Cargo.toml", "[package]\nname = \"a\"\n"), ("a/src/lib.rs", "x\n")];
    check(&[
        ("cargo test", base, &[("b/Cargo.toml", NEW), ("b/src/lib.rs", "y\n")], &[]),
        ("cargo test", base, &[("a/src/Cargo.toml", NEW)], &["a/src/Cargo.toml"]),
        ("cargo test", base, &[("Cargo.toml", NEW)], &["Cargo.toml"]),
    ]);
}
