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
    parts(Named::Judge, command, recipe, before, now).judge
}

/// The files of a change that a command takes its orders from.
fn orders(command: &str, recipe: &str, before: &[(&str, &str)], now: &[(&str, &str)]) -> Vec<String> {
    ask(Named::Judge, command, recipe, before, now, |facts| facts.orders())
}

/// The same with what scripts start.
fn parts(
    named: Named,
    command: &str,
    recipe: &str,
    before: &[(&str, &str)],
    now: &[(&str, &str)],
) -> JudgeFiles {
    ask(named, command, recipe, before, now, |facts| facts.judge_files())
}

fn ask<T>(
    named: Named,
    command: &str,
    recipe: &str,
    before: &[(&str, &str)],
    now: &[(&str, &str)],
    question: impl Fn(&JudgeFacts<'_>) -> T,
) -> T {
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
    question(&JudgeFacts {
        steps: &steps,
        named,
        defined: None,
        recipe,
        changed: &changed,
        paths: &before.keys().cloned().collect(),
        before: &|path| before.get(path).cloned(),
        now: &|path| after.get(path).cloned(),
    })
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
        let found = parts(Named::Judge, "make test", recipe, base, &[(path, "other\n")]);
        assert_eq!(found.all().into_iter().collect::<Vec<_>>(), expect, "{recipe} {path}");
    }
}

/// What a test includes or a recipe starts may be what is tested: it is put back apart from the tests, or the base would
/// judge itself.
#[test]
fn what_may_be_tested_is_put_back_alone() {
    let base: &[(&str, &str)] = &[
        ("Makefile", "test:\n\tsh tests/run.sh\n"),
        ("tests/run.sh", ". ./code.sh\n[ \"$(f)\" = 1 ] || exit 1\n"),
        ("tests/cmp.sh", "a\n"),
        ("code.sh", "a\n"),
        ("prog", "#!/bin/sh\n"),
    ];
    let now: &[(&str, &str)] =
        &[("tests/run.sh", "b\n"), ("tests/cmp.sh", "b\n"), ("code.sh", "b\n"), ("prog", "#!/bin/sh\nb\n")];
    for (recipe, judge, either) in [
        ("sh tests/run.sh", vec!["tests/run.sh"], vec!["code.sh"]),
        ("./prog > out; sh tests/cmp.sh", vec!["tests/cmp.sh"], vec!["prog"]),
    ] {
        let found = parts(Named::Judge, "make test", recipe, base, now);
        assert_eq!((found.judge.clone(), found.either.clone()), (owned(&judge), owned(&either)), "{recipe}");
        assert_eq!(found.put_back(Stage::Judge, false), owned(&judge), "{recipe}");
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
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
        "fake-1.0.dist-info/entry_points.txt",
        "src/fake.egg-info/entry_points.txt",
        "__pycache__/calc.cpython-312.pyc",
        "tests/__pycache__/test_calc.cpython-311.pyc",
        ".npmrc",
        "node_modules/.bin/jest",
        "lib/Test/More.pm",
        "t/lib/Test2/API.pm",
        "lib/strict.pm",
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
        "lib/Calc.pm",
        "lib/Test/Calc.pm",
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
        ("pytest", &[], &[("test_a.py", "load_tests = lambda a, b, c: a.suiteClass()\n")], &["test_a.py"]),
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

/// A command, its recipe, the files of the base, and the changed file that a script starts.
type Started<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str);

/// The base has one script that the command runs, and others that are reached from there.
#[test]
fn scripts_that_scripts_start() {
    let cases: &[Started<'_>] = &[
        ("sh t/run.sh", "", &[("t/run.sh", "set -e\nsh t/inner.sh\n")], "t/inner.sh"),
        ("sh t/run.sh", "", &[("t/run.sh", "cd \"$(dirname \"$0\")\" && ./inner.sh\n")], "t/inner.sh"),
        ("sh run.sh", "", &[("run.sh", "cd t && sh ./inner.sh\n")], "t/inner.sh"),
        ("sh run.sh", "", &[("run.sh", "for t in t/*.sh; do sh $t || exit 1; done\n")], "t/inner.sh"),
        ("sh run.sh", "", &[("run.sh", "ls t/*.sh | xargs -n1 sh\n")], "t/inner.sh"),
        ("sh run.sh", "", &[("run.sh", "find t -name '*.sh' -exec sh {} +\n")], "t/inner.sh"),
        ("sh run.sh", "", &[("run.sh", "out=$(sh t/inner.sh) || exit 1\n")], "t/inner.sh"),
        ("sh run.sh", "", &[("run.sh", "\"$root/tools/inner.sh\" --all\n")], "tools/inner.sh"),
        ("sh run.sh", "", &[("run.sh", "node ./t/inner\n")], "t/inner.js"),
        ("sh run.sh", "", &[("run.sh", "node t\n")], "t/index.js"),
        ("sh run.sh", "", &[("run.sh", "awk -f t/x.awk src.txt\n")], "t/x.awk"),
        ("sh run.sh", "", &[("run.sh", "t/inner\n"), ("t/inner", "#!/bin/sh\nexit 1\n")], "t/inner"),
        (
            "sh run.sh",
            "",
            &[("run.sh", "make -s inner\n"), ("Makefile", "inner:\n\tsh t/inner.sh\n")],
            "t/inner.sh",
        ),
        (
            "python3 ci/run.py",
            "",
            &[("ci/run.py", "run(['sh', 'ci/inner.sh'], check=True)\n")],
            "ci/inner.sh",
        ),
        ("sh qa2/run.sh", "", &[("qa2/run.sh", "sh qa2/inner.sh\n")], "qa2/inner.sh"),
        ("make test", "sh $<", &[("Makefile", "test: t/run.sh\n\tsh $<\n")], "t/run.sh"),
        ("make test", "for t in $(wildcard t/*.sh); do sh $$t; done", &[("Makefile", "test:\n")], "t/run.sh"),
        (
            "sh a.sh",
            "",
            &[("a.sh", "sh t/b.sh\n"), ("t/b.sh", "sh t/c.sh\n"), ("t/c.sh", "sh t/d.sh\n")],
            "t/d.sh",
        ),
    ];
    for (command, recipe, base, path) in cases {
        let found = parts(Named::Judge, command, recipe, base, &[(path, "exit 0\n")]);
        let started: Vec<String> = found.tests.into_iter().chain(found.tools).collect();
        assert_eq!(started, [*path], "{command} {recipe} {base:?}");
    }
}

/// A name that a shell works out, behind the command itself.
#[test]
fn names_from_the_folder_that_a_command_goes_to() {
    for (recipe, path) in [
        ("cd qa2 && sh ./run.sh", "qa2/run.sh"),
        ("sh -c 'cd qa2 && ./run.sh'", "qa2/run.sh"),
        ("node ./verify", "verify.js"),
        ("node verify", "verify/index.js"),
        ("awk -f rules.awk src.txt", "rules.awk"),
        ("exec \"$root/other/go.sh\"", "other/go.sh"),
        ("make -f other.make go", "other.make"),
    ] {
        let found =
            parts(Named::Judge, "make test", recipe, &[("Makefile", "test:\n")], &[(path, "exit 0\n")]);
        assert_eq!(found.all().into_iter().collect::<Vec<_>>(), [path], "{recipe}");
    }
}

/// Code that a test script starts is no judge, and neither is a test of a runner that counts, nor a file of data.
#[test]
fn what_is_tested_is_no_judge() {
    const RUN: &str = "sh bin/greet.sh | grep -q hi || exit 1\n./greet.sh\nlib/check.sh\ndiff out t/want.txt\n\
        pytest t/test_a.py\nbin/tool\n";
    let base: &[(&str, &str)] = &[("t/run.sh", RUN)];
    for path in ["bin/greet.sh", "greet.sh", "lib/check.sh", "t/want.txt", "t/test_a.py", "bin/tool"] {
        let found = parts(Named::Judge, "sh t/run.sh", "", base, &[(path, "#!/bin/sh\n")]);
        assert_eq!(found, JudgeFiles::default(), "{path}");
    }
}

/// What is sure and what may be tested are told apart.
#[test]
fn the_parts_of_a_judge() {
    let base: &[(&str, &str)] = &[
        ("Makefile", "test:\n\tsh t/run.sh\n"),
        ("t/run.sh", "sh t/inner.sh\nsh scripts/deploy.sh\n"),
        ("t/inner.sh", "a\n"),
        ("scripts/deploy.sh", "a\n"),
    ];
    let now: &[(&str, &str)] =
        &[("t/run.sh", "true\n"), ("t/inner.sh", "true\n"), ("scripts/deploy.sh", "true\n")];
    let found = parts(Named::Judge, "make test", "sh t/run.sh", base, now);
    assert_eq!(
        (&found.judge[..], &found.tests[..]),
        (&["t/run.sh".to_owned()][..], &["t/inner.sh".to_owned()][..])
    );
    assert_eq!(found.tools, ["scripts/deploy.sh"]);
}

/// A plan's own line names what its tasks make.
#[test]
fn a_line_of_a_plan_names_what_it_looks_at() {
    let base: &[(&str, &str)] = &[("bin/one.sh", "a\n"), ("t/run.sh", "a\n"), ("Makefile", "x:\n")];
    let now: &[(&str, &str)] = &[("bin/one.sh", "b\n"), ("t/run.sh", "b\n"), ("Makefile", "y:\n")];
    let found = parts(Named::Subject, "sh bin/one.sh && sh t/run.sh && make x", "", base, now);
    assert_eq!(found.judge, ["Makefile"]);
    assert_eq!(found.tests, ["t/run.sh"]);
    let found = parts(Named::Subject, "sh t/new.sh", "", base, &[("t/new.sh", "b\n")]);
    assert_eq!(found, JudgeFiles::default());
    let found = parts(Named::Subject, "sh bin/one.sh", "", base, now);
    assert_eq!(found, JudgeFiles::default());
    let base: &[(&str, &str)] = &[("t/run.sh", "make -s x\n"), ("Makefile", "x:\n")];
    let found = parts(Named::Subject, "sh t/run.sh", "", base, &[("Makefile", "y:\n")]);
    assert_eq!(found.judge, ["Makefile"]);
}

/// A judge too large to follow leaves no changed script out that stands where its scripts stand.
#[test]
fn too_many_scripts_to_follow() {
    let scripts: Vec<(String, String)> =
        (0..=9).map(|n| (format!("t/{n}.sh"), format!("sh t/{}.sh\n", n + 1))).collect();
    let mut base: Vec<(&str, &str)> =
        scripts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    base.push(("hack/far.sh", "a\n"));
    let found = parts(
        Named::Judge,
        "sh t/0.sh",
        "",
        &base,
        &[("t/9.sh", "b\n"), ("hack/far.sh", "b\n"), ("bin/a.sh", "b\n")],
    );
    assert_eq!((found.tests, found.tools), (vec!["t/9.sh".to_owned()], vec!["hack/far.sh".to_owned()]));
}

/// A fixture that a test has to ask for is tried with the tests that were there; whatever else a `conftest.py` may hold is
/// part of the judge.
#[test]
fn fixtures_that_are_only_added() {
    const OLD: &str = "import pytest\n\n@pytest.fixture\ndef one():\n    return 1\n";
    const TWO: &str = "\n@pytest.fixture\ndef two():\n    return 2\n";
    let with = |more: &str| format!("{OLD}{more}");
    let cases = [
        (with(TWO), true),
        (with(&TWO.replace("fixture", "fixture(scope='session')")), true),
        (format!("from app import make\n{OLD}{TWO}"), true),
        (with(&TWO.replace("    return", "    \"\"\"Two.\"\"\"\n    return")), true),
        (
            with(&TWO.replace("    return", "    '''Two,\n\n    import what is two.\n    '''\n    return")),
            true,
        ),
        (with(&TWO.replace("    return 2", "    \"\"\"Two.\"\"\"; x()\n    return 2")), false),
        (with(&TWO.replace("    return 2", "    \"\"\"Two. \\\"\"\"\n    return 2\n    \"\"\"")), false),
        // Texts that swallow what was there.
        (
            format!(
                "import pytest\n\n@pytest.fixture\ndef two():\n    \"\"\"Two.\n{}\n    \"\"\"\n",
                OLD.replace("import pytest\n", "")
            ),
            false,
        ),
        (with(&TWO.replace("    return 2", "    \"\"\"Two.\n    return 2")), false),
        (with(&TWO.replace("    return 2", "    x = 1\n    \"\"\"Two.\"\"\"\n    return 2")), false),
        (with(&TWO.replace("fixture", "fixture(autouse=True)")), false),
        (with("\ndef pytest_collection_modifyitems(items):\n    items.clear()\n"), false),
        (with("\npytest.Item.runtest = None\n"), false),
        (with("\n@pytest.fixture\ndef two(): pass\npytest.x = 1\n"), false),
        (with("\ndef helper():\n    return 1\n"), false),
        (OLD.replace("return 1", "return 2"), false),
        (OLD.replace("    return 1", "    pytest.skip()\n    return 1"), false),
        ("import pytest\n".to_owned(), false),
    ];
    for (now, fine) in cases {
        let base: &[(&str, &str)] = &[("conftest.py", OLD), ("test_a.py", "def test_a(): pass\n")];
        let change: &[(&str, &str)] = &[("conftest.py", &now), ("test_b.py", "def test_b(two): pass\n")];
        let found = parts(Named::Judge, "python3 -m pytest", "", base, change);
        let (judge, fixtures): (&[&str], &[&str]) =
            if fine { (&[], &["conftest.py", "test_b.py"]) } else { (&["conftest.py"], &[]) };
        assert_eq!(
            (found.judge, found.fixtures),
            (
                judge.iter().map(|p| (*p).to_owned()).collect(),
                fixtures.iter().map(|p| (*p).to_owned()).collect()
            ),
            "{now}"
        );
    }
}

/// What make and pytest load by another way than an `include` of one file.
#[test]
fn what_runners_load_by_name() {
    let make: &[(&str, &str)] = &[
        ("Makefile", "SHELL := ./wrap\ninclude conf/*.inc\ntest:\n\ttrue\n"),
        ("conf/a.inc", "a\n"),
        ("wrap", "a\n"),
    ];
    let plugins = "pytest_plugins = [\n    \"plug.one\",\n    'two',\n]\n";
    let pytest: &[(&str, &str)] = &[
        ("tests/unit/conftest.py", plugins),
        ("tests/unit/test_a.py", "x\n"),
        ("app.py", "x\n"),
        ("plug/one.py", "x\n"),
    ];
    check(&[
        ("make test", make, &[("conf/a.inc", "b\n"), ("conf/b.inc", "b\n")], &["conf/a.inc", "conf/b.inc"]),
        ("make test", make, &[("wrap", "exit 0\n")], &["wrap"]),
        ("pytest", pytest, &[("plug/one.py", "y\n")], &["plug/one.py"]),
        ("pytest", pytest, &[("tests/unit/two.py", "y\n")], &["tests/unit/two.py"]),
        // A module beside the tests, where pytest looks before it looks anywhere else.
        ("pytest", pytest, &[("tests/unit/json.py", "y\n")], &["tests/unit/json.py"]),
        ("pytest", pytest, &[("tests/unit/app.py", "y\n")], &["tests/unit/app.py"]),
        ("pytest", pytest, &[("tests/unit/app/__init__.py", "y\n")], &["tests/unit/app/__init__.py"]),
        ("pytest", pytest, &[("tests/unit/data.py", "y\n")], &[]),
    ]);
}

/// The base, the changed file, and where it stands if the base's run reads it.
#[test]
fn files_that_the_base_reads() {
    let base: &[(&str, &str)] = &[
        ("Makefile", "test:\n\tsh t/run\n"),
        ("t/x[1].sh", "a\n"),
        ("t/part", "a\n"),
        ("t/list.txt", "# all\nt/part\n"),
        ("t/want.txt", "hello\n"),
        ("t/test_a.py", "a\n"),
        ("tests/make.py", "a\n"),
        ("tools/x.sh", "a\n"),
        ("spec", "more"),
        ("more/a.sh", "a\n"),
        ("bin/tool.sh", "a\n"),
        ("run.sh", "a\n"),
        ("ci/package.json", "{}\n"),
    ];
    let cases = [
        ("t/x[1].sh", "tests"),
        ("t/part", "tests"),
        ("t/list.txt", "tests"),
        ("tests/make.py", "tests"),
        ("more/a.sh", "tests"),
        ("tools/x.sh", "tools"),
        ("t/want.txt", ""),
        ("t/test_a.py", ""),
        ("bin/tool.sh", ""),
        ("run.sh", ""),
        ("ci/package.json", ""),
    ];
    let before = tree(base);
    for (path, expect) in cases {
        let changed = [path.to_owned()];
        let facts = JudgeFacts {
            steps: &[],
            named: Named::Judge,
            defined: None,
            recipe: "",
            changed: &changed,
            paths: &before.keys().cloned().collect(),
            before: &|path| before.get(path).cloned(),
            now: &|_| Some("b\n".to_owned()),
        };
        let read = BTreeSet::from([path.to_owned()]);
        let found = facts.observed(&read);
        let place = match (found.tests.is_empty(), found.tools.is_empty()) {
            (false, _) => "tests",
            (_, false) => "tools",
            _ => "",
        };
        assert_eq!(place, expect, "{path}");
        assert_eq!(facts.worth_watching(&JudgeFiles::default()).is_empty(), expect.is_empty(), "{path}");
        assert_eq!(facts.observed(&BTreeSet::new()), JudgeFiles::default(), "{path} was not read");
        assert!(facts.worth_watching(&found).is_empty(), "{path} was found");
    }
}

/// What is put back at each stage.
#[test]
fn stages() {
    let list = |names: &str| names.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let files = JudgeFiles {
        judge: list("a"),
        tests: list("t/b"),
        tools: list("tools/c"),
        either: list("e"),
        fixtures: list("d"),
    };
    let check =
        |stage, stay, expect: &str| assert_eq!(files.put_back(stage, stay), list(expect), "{stage:?}");
    check(Stage::Judge, false, "a");
    check(Stage::Tests, false, "a t/b");
    check(Stage::Tools, false, "a t/b tools/c");
    check(Stage::Tools, true, "a tools/c");
    check(Stage::Either, false, "a e");
    check(Stage::Fixtures, false, "a d");
    let only = JudgeFiles { tests: list("t/b"), ..JudgeFiles::default() };
    assert!(only.put_back(Stage::Judge, false).is_empty() && only.put_back(Stage::Tools, false).is_empty());
    let both = only.and(JudgeFiles { judge: list("t/b"), tools: list("x"), ..JudgeFiles::default() });
    assert_eq!((both.judge, both.tests, both.tools), (list("t/b"), list(""), list("x")));
}

/// A command, its recipe, what the base has, what the change makes of it, and the files it takes its orders from.
type Ordered<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)], &'a [&'a str]);

/// The program comes from the machine, and a file of the tree says what it does.
const ORDERED: &[Ordered<'_>] = &[
    (
        "make -s judge",
        "sh ci/j",
        &[("Makefile", "judge:\n\tsh ci/j\n")],
        &[("Makefile", "judge:\n")],
        &["Makefile"],
    ),
    ("make judge", "sh ci/j", &[("ci/j", "a")], &[("ci/j", "b"), ("src.txt", "b")], &["ci/j"]),
    ("make judge", "x", &[("Makefile", "include a.mk\n")], &[("a.mk", "X = 1\n")], &["a.mk"]),
    ("make judge", "x", &[("Makefile", "judge:\n\tx\n")], &[("GNUmakefile", "judge:\n")], &["GNUmakefile"]),
    ("timeout 60 make judge", "x", &[("Makefile", "a")], &[("Makefile", "b")], &["Makefile"]),
    ("env A=b gmake judge", "x", &[("Makefile", "a")], &[("Makefile", "b")], &["Makefile"]),
    ("just judge", "x", &[("justfile", "a")], &[("justfile", "b")], &["justfile"]),
    ("task judge", "x", &[("Taskfile.yml", "a")], &[("Taskfile.yml", "b")], &["Taskfile.yml"]),
    (
        "npm run judge",
        "node ci/j.js",
        &[("package.json", "{}"), ("ci/j.js", "require('./h')\n"), ("ci/h.js", "1")],
        &[("package.json", "{\"scripts\":{}}"), ("ci/h.js", "2")],
        &["ci/h.js", "package.json"],
    ),
    ("npx judge", "", &[], &[("node_modules/.bin/judge", "x")], &["node_modules/.bin/judge"]),
    ("tox -e judge", "", &[("tox.ini", "a")], &[("tox.ini", "b"), ("src.txt", "b")], &["tox.ini"]),
    ("python3 -m tox", "", &[("tox.ini", "a")], &[("tox.ini", "b")], &["tox.ini"]),
    ("rake judge", "", &[("ci/j.rb", "a")], &[("ci/j.rb", "b")], &["ci/j.rb"]),
    (
        "uv run judge",
        "",
        &[("pyproject.toml", "")],
        &[("pyproject.toml", "[tool.uv]\n")],
        &["pyproject.toml"],
    ),
    (
        "make -C ci judge",
        "",
        &[("ci/Makefile", "judge:\n\tsh j.sh\n"), ("ci/j.sh", "a")],
        &[("ci/j.sh", "b")],
        &["ci/j.sh"],
    ),
    ("cargo xtask judge", "", &[("src/a.rs", "a")], &[("src/a.rs", "b")], &["src/a.rs"]),
    ("cargo run -p judge", "", &[("src/a.rs", "a")], &[("src/a.rs", "b")], &["src/a.rs"]),
    ("go run ./judge", "", &[("judge/main.go", "a")], &[("judge/main.go", "b")], &["judge/main.go"]),
    ("sh ci/j", "", &[("ci/j", ". ./lib.sh\n"), ("lib.sh", "a")], &[("lib.sh", "b")], &["lib.sh"]),
    ("sh ci/j", "", &[("ci/j", ". \"$PWD/ci/lib\"\n"), ("ci/lib", "a")], &[("ci/lib", "b")], &["ci/lib"]),
    (
        "python3 ci/j.py",
        "",
        &[("ci/j.py", "import helper\n"), ("ci/helper.py", "a")],
        &[("ci/helper.py", "b")],
        &["ci/helper.py"],
    ),
    (
        "sh ci/j",
        "",
        &[("ci/j", "make -s x\n"), ("Makefile", "x:\n")],
        &[("Makefile", "x:\n\ttrue\n")],
        &["Makefile"],
    ),
];

/// What no order comes from.
const NOT_ORDERED: &[Ordered<'_>] = &[
    (
        "claude -p",
        "",
        &[("Makefile", "a")],
        &[("Makefile", "b"), ("conftest.py", "x"), ("ci/a.sh", "x")],
        &[],
    ),
    ("cargo clippy --workspace", "", &[("src/a.rs", "a")], &[("src/a.rs", "b"), ("Cargo.toml", "x")], &[]),
    ("go vet ./...", "", &[("a.go", "a")], &[("a.go", "b")], &[]),
    (
        "make judge",
        "sh ci/j",
        &[("package.json", "{\"version\":\"1\"}")],
        &[("package.json", "{\"version\":\"2\"}"), ("tests/test_a.py", "x")],
        &[],
    ),
    ("sh ci/j", "", &[("ci/j", "grep -q right src.txt\n"), ("src.txt", "a")], &[("src.txt", "b")], &[]),
    ("npx judge", "", &[("src/a.js", "a")], &[("src/a.js", "b")], &[]),
];

#[test]
fn a_command_takes_its_orders_from_files_of_the_tree() {
    for (command, recipe, before, now, expect) in ORDERED.iter().chain(NOT_ORDERED) {
        assert_eq!(orders(command, recipe, before, now), *expect, "{command} {now:?}");
    }
}

#[test]
fn files_inside_words_of_a_command_are_its_orders() {
    let check = |command: &str, file: &str, ordered: bool| {
        let seen = orders(command, "", &[(file, "old\n"), ("src/a.js", "old\n")], &[(file, "new\n")]);
        let expect: Vec<String> = if ordered { vec![file.to_owned()] } else { Vec::new() };
        assert_eq!(seen, expect, "{command} {file}");
    };
    check("node --require=./agents/hook.js judge.js", "agents/hook.js", true);
    check("env NODE_OPTIONS=--require=./agents/hook.js node judge.js", "agents/hook.js", true);
    check("env BASH_ENV=agents/env.sh bash judge", "agents/env.sh", true);
    check("env PERL5LIB=agents perl -MJudge", "agents/Judge.pm", true);
    check("perl -Iagents -MJudge", "agents/Judge.pm", true);
    check("mylint --config=conf/r.toml", "conf/r.toml", true);
    // A word behind an option is no file only because a folder has its name.
    check("cargo clippy --message-format=json", "json/a.rs", false);
    check("node --require=./agents/hook.js judge.js", "src/a.js", false);
}

#[test]
fn lines_for_other_programs_are_read_too() {
    let words = |line: &str| {
        let steps = [line.split('|').map(str::to_owned).collect::<Vec<_>>()];
        let (changed, paths) = (["agents/judge".to_owned()], BTreeSet::from(["agents/judge".to_owned()]));
        let text = |_: &str| Some("text\n".to_owned());
        JudgeFacts {
            steps: &steps,
            named: Named::Judge,
            defined: None,
            recipe: "",
            changed: &changed,
            paths: &paths,
            before: &text,
            now: &text,
        }
        .orders()
    };
    assert_eq!(words("env|-S|sh agents/judge"), ["agents/judge"]);
    assert_eq!(words("git|-c|alias.j=!sh agents/judge|j"), ["agents/judge"]);
}

#[test]
fn a_new_folder_with_the_name_of_a_target_is_part_of_the_judge() {
    let base = [("Makefile", "test:\n\tsh t.sh\n"), ("t.sh", "true\n")];
    assert_eq!(files("make test", "sh t.sh", &base, &[("test/x", "new\n")]), ["test/x"]);
    assert!(files("make test", "sh t.sh", &base, &[("tests/x", "new\n")]).is_empty());
    let known = [("Makefile", "test:\n\tsh t.sh\n"), ("t.sh", "true\n"), ("test/a", "old\n")];
    assert!(files("make test", "sh t.sh", &known, &[("test/x", "new\n")]).is_empty(), "it was there before");
    let needs = [
        ("Makefile", "X := a\ntest: unit | lint # all: y\nunit: deep\n\tsh t.sh\nother: y\n"),
        ("t.sh", "true\n"),
    ];
    for path in ["unit", "unit/x", "lint", "deep/x"] {
        assert_eq!(files("make test", "sh t.sh", &needs, &[(path, "new\n")]), [path]);
    }
    for path in ["y", "X", "other/x"] {
        assert!(files("make test", "sh t.sh", &needs, &[(path, "new\n")]).is_empty(), "{path}");
    }
}

#[test]
fn a_file_inside_a_word_of_the_test_command_is_part_of_the_judge() {
    let base = [("hook.js", "old\n"), ("env.sh", "old\n")];
    assert_eq!(files("node --require=./hook.js --test", "", &base, &[("hook.js", "new\n")]), ["hook.js"]);
    assert_eq!(files("env BASH_ENV=env.sh bash t.sh", "", &base, &[("env.sh", "new\n")]), ["env.sh"]);
}

#[test]
fn settings_go_on_in_files_that_they_extend_or_link_to() {
    let check = |text: &str, folder: &str, expect: &[&str], not: &[&str]| {
        let found = extended_in(text, folder);
        assert!(expect.iter().all(|path| found.iter().any(|one| one == path)), "{text}: {found:?}");
        assert!(!not.iter().any(|path| found.iter().any(|one| one == path)), "{text}: {found:?}");
    };
    check("extend = \"conf/r.toml\"\nline-length = 80\n", "", &["conf/r.toml"], &[]);
    check(
        "{\n \"main\": \"index.js\",\n \"extends\": [\n  \"./a.json\",\n  \"../b.json\"\n ]\n}\n",
        "x/y",
        &["x/y/a.json", "x/b.json"],
        &["index.js", "x/y/index.js"],
    );
    check("inherit_from:\n  - .rubocop_todo.yml\n", "", &[".rubocop_todo.yml"], &[]);
    check("conf/r.toml", "", &["conf/r.toml"], &[]);
    check("../shared/eslint.json", "web", &["shared/eslint.json"], &[]);
}
