//! Tables of projects and what is found in each, and hostile contents of every file that is read.

use super::*;
use proptest::prelude::*;

/// What is found where these files lie.
fn found(files: &[(&str, &str)]) -> FoundCommands {
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let text = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    detect(&ProjectFiles { paths: &paths, text: &text })
}

/// The test command and the place it was found in; empty where there is none.
fn test_of(files: &[(&str, &str)]) -> (String, String) {
    found(files).test.map(|test| (test.shown(), test.found)).unwrap_or_default()
}

#[track_caller]
fn check(files: &[(&str, &str)], command: &str, place: &str) {
    assert_eq!(test_of(files), (command.to_owned(), place.to_owned()), "{files:?}");
}

#[track_caller]
fn check_none(files: &[(&str, &str)]) {
    assert_eq!(found(files).test, None, "{files:?}");
}

#[test]
fn manifests_name_their_command() {
    let cargo = "cargo test --no-fail-fast";
    check(&[("Cargo.toml", "[package]\n")], cargo, "Cargo.toml");
    check(&[("Cargo.toml", "[workspace]\nmembers = []\n")], cargo, "Cargo.toml");
    check(
        &[("Cargo.toml", "[package]\n[workspace]\n")],
        "cargo test --no-fail-fast --workspace",
        "Cargo.toml",
    );
    check(&[("go.mod", "module x\n")], "go test -json ./...", "go.mod");
    check(&[("pom.xml", "")], "mvn -B test", "pom.xml");
    check(&[("pom.xml", ""), ("mvnw", "")], "./mvnw -B test", "pom.xml");
    let gradle = "test --no-daemon --console=plain";
    check(&[("build.gradle", "")], &format!("gradle {gradle}"), "build.gradle");
    check(&[("build.gradle.kts", ""), ("gradlew", "")], &format!("./gradlew {gradle}"), "build.gradle.kts");
    check(&[("build.sbt", "")], "sbt -batch test", "build.sbt");
    check(&[("My App.sln", "")], "dotnet test My App.sln --nologo", "My App.sln");
    check(&[("a.csproj", ""), ("a.sln", "")], "dotnet test a.sln --nologo", "a.sln");
    check_none(&[("a.csproj", ""), ("b.csproj", "")]);
    check(&[("Package.swift", ""), ("Tests/AppTests/a.swift", "")], "swift test", "Package.swift");
    check_none(&[("Package.swift", "")]);
    let step = "const t = b.step(\"test\", \"Run tests\");";
    check(&[("build.zig", step)], "zig build test --summary all", "step `test` of build.zig");
    check_none(&[("build.zig", "")]);
    check(&[("stack.yaml", ""), ("package.yaml", "tests:\n  x:\n")], "stack test", "stack.yaml");
    check(&[("a.cabal", "test-suite spec\n")], "cabal test all", "a.cabal");
    check_none(&[("a.cabal", "library\n")]);
    check(&[("mix.exs", ""), ("test/a_test.exs", "")], "mix test", "mix.exs");
    check_none(&[("mix.exs", "")]);
    check(&[("pubspec.yaml", ""), ("test/a_test.dart", "")], "dart test", "pubspec.yaml");
    let flutter = "dependencies:\n  flutter:\n    sdk: flutter\n";
    check(&[("pubspec.yaml", flutter), ("test/a_test.dart", "")], "flutter test", "pubspec.yaml");
    check(&[("dune-project", ""), ("lib/test/dune", "")], "dune test", "dune-project");
    check(&[("t/a.t", "")], "prove -lrv t", "t/a.t");
    check(&[("tests/a.bats", "")], "bats -r tests", "tests/a.bats");
    check_none(&[]);
    check_none(&[("README.md", "# x"), ("src/main.c", "")]);
    check_none(&[("sub/Cargo.toml", "[package]\n"), ("sub/package.json", "{}")]);
}

#[test]
fn c_is_configured_and_built_before_it_is_tested() {
    let ctest = "ctest --build-and-test . build --build-generator Unix Makefiles --build-noclean --test-command ctest \
                 --output-on-failure";
    check(&[("CMakeLists.txt", "Enable_Testing()\n")], ctest, "CMakeLists.txt");
    let below =
        [("CMakeLists.txt", "add_subdirectory(t)"), ("t/CMakeLists.txt", "add_test(NAME a COMMAND a)")];
    check(&below, ctest, "t/CMakeLists.txt");
    let argv = found(&below).test.unwrap().argv;
    assert!(argv.contains(&"Unix Makefiles".to_owned()), "one argument: {argv:?}");
    let build = found(&[("CMakeLists.txt", "project(x)\n")]).build.unwrap();
    assert_eq!(build.shown(), "cmake -S . -B build && cmake --build build");
    let meson = [("meson.build", "exe = executable('a')\n test('a', exe)\n")];
    check(&meson, "meson setup build && meson test -C build", "`test()` of meson.build");
    let taken = [("meson.build", "test('a', exe)\n"), ("build/notes.md", "")];
    check(&taken, "meson setup _build && meson test -C _build", "`test()` of meson.build");
    check_none(&[("meson.build", "mytest('a')\n")]);
}

#[test]
fn node_scripts_are_run_by_the_projects_manager() {
    let place = "`scripts.test` of package.json";
    let jest = r#"{"scripts": {"test": "jest"}}"#;
    check(&[("package.json", jest)], "npm test --silent", place);
    check(&[("package.json", jest), ("package-lock.json", "")], "npm test --silent", place);
    check(&[("package.json", jest), ("pnpm-lock.yaml", "")], "pnpm test", place);
    check(&[("package.json", jest), ("yarn.lock", "")], "yarn test", place);
    check(&[("package.json", jest), ("bun.lock", "")], "bun run test", place);
    check(&[("package.json", jest), ("bun.lockb", "")], "bun run test", place);
    let named = r#"{"packageManager": "pnpm@9.1.0+sha512.x", "scripts": {"test": "vitest run"}}"#;
    check(&[("package.json", named), ("package-lock.json", "")], "pnpm test", place);
    let other = r#"{"packageManager": "cargo@1", "scripts": {"test": "vitest run"}}"#;
    check(&[("package.json", other), ("yarn.lock", "")], "yarn test", place);
    check(&[("package.json", &format!("\u{feff}{jest}"))], "npm test --silent", place);
    let bun = [("package.json", "{}"), ("bun.lock", ""), ("src/a.test.ts", "")];
    check(&bun, "bun test", "src/a.test.ts, and the lock file of bun");
    check_none(&[("package.json", "{}"), ("src/a.test.ts", "")]);
}

#[test]
fn a_script_that_tests_nothing_is_no_test_command() {
    let check = |script: &str, note: &str| {
        let package = serde_json::json!({ "scripts": { "test": script } }).to_string();
        let found = found(&[("package.json", &package)]);
        assert_eq!((found.test, found.not_run.len()), (None, 0), "{script}");
        assert!(found.notes.iter().any(|said| said.contains(note)), "{script}: {:?}", found.notes);
    };
    check("echo \"Error: no test specified\" && exit 1", "placeholder");
    check("echo no tests yet", "runs nothing");
    check("true", "runs nothing");
    check("exit 0", "runs nothing");
    check("", "runs nothing");
    check("jest --watch", "--watch");
    check("docker compose run app npm test", "docker");
    let ci = r#"{"scripts": {"test": "vitest --watch", "test:ci": "vitest run", "build": "tsc"}}"#;
    let found = found(&[("package.json", ci)]);
    assert_eq!(found.test.unwrap().shown(), "npm run test:ci");
    assert_eq!(found.build.unwrap().shown(), "npm run build");
}

#[test]
fn a_workspace_is_tested_as_a_whole() {
    let tested = r#"{"scripts": {"test": "jest"}}"#;
    let npm = [("package.json", r#"{"workspaces": ["a"]}"#), ("a/package.json", tested)];
    check(
        &npm,
        "npm test --workspaces --if-present",
        "`workspaces` of package.json, and `scripts.test` of its packages",
    );
    let pnpm = [
        ("package.json", "{}"),
        ("pnpm-lock.yaml", ""),
        ("pnpm-workspace.yaml", ""),
        ("a/package.json", tested),
    ];
    check(&pnpm, "pnpm -r test", "pnpm-workspace.yaml, and `scripts.test` of its packages");
    let yarn = [("package.json", r#"{"workspaces": ["a"]}"#), ("yarn.lock", ""), ("a/package.json", tested)];
    check_none(&yarn);
    check_none(&[("package.json", r#"{"workspaces": ["a"]}"#), ("a/package.json", "{}")]);
}

#[test]
fn deno_runs_its_task_or_its_own_runner() {
    let task = "{ // tasks\n \"tasks\": { \"test\": \"deno test -A\" /* all */ } }";
    check(&[("deno.jsonc", task)], "deno task test", "`tasks.test` of deno.jsonc");
    let table = r#"{"tasks": {"test": {"command": "deno test -A"}}}"#;
    check(&[("deno.json", table)], "deno task test", "`tasks.test` of deno.json");
    check(&[("deno.json", "{}"), ("a_test.ts", "")], "deno test --no-prompt", "deno.json and a_test.ts");
    let quoted = r#"{"imports": {"x": "https://a/b"}, "tasks": {"test": "deno test"}}"#;
    check(&[("deno.json", quoted)], "deno task test", "`tasks.test` of deno.json");
    check_none(&[("deno.json", "{}")]);
}

#[test]
fn python_runs_what_is_configured() {
    let pytest = "python3 -m pytest -rA -q";
    check(&[("pytest.ini", "")], pytest, "pytest.ini");
    check(&[("pyproject.toml", "[tool.pytest.ini_options]\n")], pytest, "`tool.pytest` of pyproject.toml");
    check(&[("setup.cfg", "[tool:pytest]\n")], pytest, "`tool:pytest` of setup.cfg");
    check(&[("tests/conftest.py", "")], pytest, "tests/conftest.py");
    check(&[("requirements-dev.txt", "pytest>=8\n")], pytest, "requirements-dev.txt names pytest");
    check(
        &[("pyproject.toml", "[dependency-groups]\ndev = [\"pytest>=8\"]\n")],
        pytest,
        "pyproject.toml names pytest",
    );
    check_none(&[("requirements.txt", "# pytest\npytest-mock-resources\n")]);
    check(&[("pyproject.toml", "[project]\n"), ("a.py", "")], pytest, "pyproject.toml");
    check(&[("setup.py", ""), ("a.py", "")], pytest, "setup.py");
    check(&[("setup.py", ""), ("go.mod", "")], "go test -json ./...", "go.mod");
    check_none(&[("a.py", "")]);
    let functions = "def test_a():\n    assert True\n";
    check(&[("test_a.py", functions)], pytest, "the tests of test_a.py");
    let class = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n";
    let discover = "python3 -m unittest discover -v";
    check(&[("test_a.py", class)], discover, "the tests of test_a.py");
    check(&[("tests/test_a.py", class)], &format!("{discover} -s tests"), "the tests of tests/test_a.py");
    check(&[("tests/__init__.py", ""), ("tests/test_a.py", class)], discover, "the tests of tests/test_a.py");
    check(&[("a_test.py", class)], &format!("{discover} -p *_test.py"), "the tests of a_test.py");
    check(&[("test_a.py", &format!("import pytest\n{class}"))], pytest, "the tests of test_a.py");
    check(
        &[("manage.py", ""), ("app/tests.py", "from django.test import TestCase")],
        "python3 manage.py test --noinput",
        "manage.py",
    );
    check_none(&[("test_a.py", "print(1)\n")]);
}

#[test]
fn tox_and_nox_are_run_where_they_install_nothing() {
    let pytest = "python3 -m pytest -rA -q";
    check(
        &[("tox.ini", "[testenv]\nskip_install = true\ncommands = python -m unittest\n")],
        "tox",
        "tox.ini",
    );
    let deps = "[testenv]\nskip_install = true\ndeps =\n    pytest\ncommands = pytest\n";
    check(&[("tox.ini", deps)], pytest, "tox.ini names pytest");
    assert!(found(&[("tox.ini", deps)]).notes[0].contains("tox installs packages"));
    check_none(&[("tox.ini", "[testenv]\ncommands = python -m unittest\n")]);
    check(
        &[("noxfile.py", "@nox.session\ndef t(s):\n    s.run('python', '-m', 'unittest')\n")],
        "nox",
        "noxfile.py",
    );
    check(
        &[("noxfile.py", "@nox.session\ndef t(s):\n    s.install('pytest')\n")],
        pytest,
        "noxfile.py names pytest",
    );
}

#[test]
fn ruby_and_php_run_what_is_configured() {
    check(&[("spec/a_spec.rb", "")], "rspec", "spec/a_spec.rb");
    check(&[("spec/a_spec.rb", ""), (".rspec", ""), ("Gemfile", "")], "bundle exec rspec", ".rspec");
    let place = "task `test` of Rakefile";
    check(&[("Rakefile", "require 'rake/testtask'\nRake::TestTask.new do |t|\nend\n")], "rake test", place);
    check(&[("Rakefile", "task(:test) { sh 'x' }\n"), ("Gemfile", "")], "bundle exec rake test", place);
    check(&[("Rakefile", "task test: :build do\nend\n")], "rake test", place);
    check_none(&[("Rakefile", "# task :test\ntask :testing\n")]);
    let each = "Dir.glob('./test/**/{*_test,test_*}.rb').sort.each { |file| require file }";
    check(&[("test/a_test.rb", "")], &format!("ruby -Ilib -Itest -e {each}"), "test/a_test.rb");
    let composer = |text: &str, command: &str, place: &str| check(&[("composer.json", text)], command, place);
    composer(
        r#"{"scripts": {"test": "phpunit"}}"#,
        "composer --no-interaction test",
        "`scripts.test` of composer.json",
    );
    composer(
        r#"{"scripts": {"test": ["@lint", "phpunit"]}}"#,
        "composer --no-interaction test",
        "`scripts.test` of composer.json",
    );
    composer(r#"{"require-dev": {"phpunit/phpunit": "^11"}}"#, "vendor/bin/phpunit", "composer.json");
    composer(r#"{"require-dev": {"pestphp/pest": "^3"}}"#, "vendor/bin/pest", "composer.json");
    check(&[("phpunit.xml.dist", "")], "phpunit", "phpunit.xml.dist");
    check_none(&[("composer.json", r#"{"require": {"php": "^8"}}"#)]);
}

#[test]
fn a_target_is_a_rule_with_something_to_do() {
    let make = |text: &str, command: &str| {
        let expect = if command.is_empty() {
            String::new()
        } else {
            format!("target `{}` of Makefile", &command[5..])
        };
        check(&[("Makefile", text)], command, &expect);
    };
    make("test:\n\tsh t.sh\n", "make test");
    make("build test : all\n\tsh t.sh\n", "make test");
    make("test:; sh t.sh\n", "make test");
    make("test:: unit\nunit:\n\tcc a.c\n", "make test");
    make("check:\n\t@./t\n", "make check");
    make("check:\n\t./c\ntest:\n\t./t\n", "make test");
    make("  test  :\n\t./t\n", "make test");
    make("a \\\n  test: b\n\t./t\n", "make test");
    make("test:\nifdef X\n\t./t\nendif\n", "make test");
    make("test:\r\n\t./t\r\n", "make test");
    make("test: CFLAGS += -g\ntest:\n\t./t\n", "make test");
    for nothing in [
        "",
        "test = x\n",
        "test := x\n",
        "test ?= x\n",
        "test ::= a:b\n",
        "# test:\n#\t./t\n",
        ".PHONY: test\n",
        ".PHONY: test\nall:\n\tcc a.c\n",
        "test: CFLAGS = -g\n",
        "all:\n\techo test: x\n",
        "test:\n",
        "test:\n\t# nothing yet\n",
        "define x\ntest:\n\t./t\nendef\n",
        "test-all:\n\t./t\n",
        "$(TESTS): a\n\t./t\n",
    ] {
        make(nothing, "");
    }
    check(
        &[("Makefile", "test:\n\t./a\n"), ("GNUmakefile", "check:\n\t./b\n")],
        "make check",
        "target `check` of GNUmakefile",
    );
    check(&[("makefile", "test:\n\t./a\n")], "make test", "target `test` of makefile");
}

#[test]
fn just_and_task_have_targets_too() {
    let just = |text: &str, command: &str| {
        let place = if command.is_empty() {
            String::new()
        } else {
            format!("target `{}` of justfile", &command[5..])
        };
        check(&[("justfile", text)], command, &place);
    };
    just("test:\n    ./t\n", "just test");
    just("@test *args: build\n    ./t {{args}}\nbuild:\n    cc a.c\n", "just test");
    just("test filter='':\n  ./t\n", "just test");
    just("[group('ci')]\ncheck:\n\t./t\n", "just check");
    just("test name:\n  ./t {{name}}\n", "");
    just("test := 'x'\n# test:\n  ./t\n", "");
    just("set shell := ['bash']\nalias t := test\n", "");
    let task = "version: '3'\ntasks:\n  build:\n    cmds:\n      - cc a.c\n  test:\n    desc: docker\n    deps: [build]\n    cmds:\n      - ./t\n";
    check(&[("Taskfile.yml", task)], "task test", "task `test` of Taskfile.yml");
    check(
        &[("Taskfile.yml", "version: '3'\ntasks:\n  test: ./t\n")],
        "task test",
        "task `test` of Taskfile.yml",
    );
    check_none(&[("Taskfile.yml", "version: '3'\nvars:\n  test: x\ntasks:\n  lint:\n    cmds: [a]\n")]);
}

#[test]
fn one_command_is_chosen_and_the_others_are_said() {
    let cargo = ("Cargo.toml", "[package]\n");
    let npm = ("package.json", r#"{"scripts": {"test": "jest", "build": "tsc"}}"#);
    let chosen = |files: &[(&str, &str)], test: &str, not_run: &[&str]| {
        let found = found(files);
        let others: Vec<String> = found.not_run.iter().map(FoundCommand::shown).collect();
        assert_eq!(found.test.map(|test| test.shown()).unwrap_or_default(), test, "{files:?}");
        assert_eq!(others, not_run, "{files:?}");
    };
    chosen(&[cargo, npm], "cargo test --no-fail-fast", &["npm test --silent"]);
    let both = ("Makefile", "test: rust web\nrust:\n\t$(CARGO) test\nweb:\n\tcd web && npm test\n");
    chosen(&[cargo, npm, both], "make test", &[]);
    let half = ("Makefile", "test:\n\tcargo test\n");
    chosen(&[cargo, npm, half], "make test", &["npm test --silent"]);
    let script = ("Makefile", "test:\n\t./scripts/test.sh\n");
    chosen(&[cargo, npm, script], "make test", &[]);
    let recursive = ("Makefile", "test:\n\t$(MAKE) web\n\t@cargo test\nweb:\n\tnpm test\n");
    chosen(&[cargo, npm, recursive], "make test", &[]);
    // A target that has nothing to do with the language is not its tests.
    chosen(&[cargo, ("Makefile", "test:\n\tshellcheck a b\n")], "cargo test --no-fail-fast", &[]);
    chosen(&[cargo, ("Makefile", "test:\n\tcargo test --all-features\n")], "make test", &[]);
    // One that needs what a check has not is not run.
    let docker = ("Makefile", "test: image\n\tcargo test\nimage:\n\tdocker build .\n");
    chosen(&[cargo, docker], "cargo test --no-fail-fast", &[]);
    chosen(&[docker], "", &[]);
    let covers =
        ("package.json", r#"{"scripts": {"test": "npm run test:a && cargo test", "test:a": "jest"}}"#);
    chosen(&[cargo, covers], "npm test --silent", &[]);
    let justfile = ("justfile", "test:\n  cargo test\n  npm test\n");
    chosen(&[cargo, npm, justfile, half], "just test", &[]);
}

#[test]
fn a_build_is_named_where_the_tests_do_not_build() {
    let build = |files: &[(&str, &str)], expect: &str| {
        let found = found(files);
        assert_eq!(found.build.map(|build| build.shown()).unwrap_or_default(), expect, "{files:?}");
    };
    let npm = ("package.json", r#"{"scripts": {"test": "jest", "build": "tsc"}}"#);
    build(&[npm], "npm run build");
    build(&[("package.json", r#"{"scripts": {"build": "tsc"}}"#)], "npm run build");
    build(&[("Cargo.toml", "")], "");
    build(&[("Cargo.toml", ""), npm], "");
    build(&[("Makefile", "all: a\na: a.c\n\tcc a.c\ntest: a\n\t./a\n")], "make all");
    build(&[("Makefile", "build:\n\tcc a.c\n")], "make build");
    build(&[("Cargo.toml", ""), ("Makefile", "build:\n\tdocker build .\ntest:\n\tcargo test\n")], "");
    build(&[("build.zig", "b.step(\"test\", \"x\")")], "zig build");
    build(&[("README.md", "")], "");
}

/// A target that was made to do nothing ends well: what it ran before is what tells.
#[test]
fn a_line_that_is_taken_out_of_a_recipe_is_seen() {
    let check = |before: &str, now: &str, expect: &[&str]| {
        let of = |text: &str| found(&[("Makefile", text)]).test;
        let moved = [("a.sh".to_owned(), "unit/a.sh".to_owned())];
        assert_eq!(taken_out(&of(before).unwrap(), of(now).as_ref(), &moved), expect, "{before} {now}");
    };
    check("test:\n\t./t\n", "test:\n\t./t\n\t./u\n", &[]);
    check("test:\n\t./t\n", "test:\n\t@true\n", &["./t"]);
    check("test:\n\tsh ./a.sh -x\n", "test:\n\tsh unit/a.sh -x\n", &[]);
    check("test:\n\tsh a.sh\n", "test:\n\tsh unit/a.sh || true\n", &["sh a.sh"]);
    check("test:\n\tsh b.sh\n", "test:\n\tsh unit/a.sh\n", &["sh b.sh"]);
    check("test:\n\t./t\n", "all:\n\tcc a.c\n", &["./t"]);
    check("test: unit\nunit:\n\t./t\n", "test:\n\t./u\nunit:\n\t./t\n", &["./t"]);
    check("test: a.o\n\t./t\na.o:\n\t$(CC) -c a.c\n", "test: a.o\n\t./t\na.o:\n\t$(CC) -O2 -c a.c\n", &[]);
    check("test:\n\t./t\n", "all:\n\tcc a.c\ntest:\n\t  ./t\n", &[]);
}

#[test]
fn files_say_whether_there_are_tests() {
    let check = |files: &[(&str, &str)], expect: bool| {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let text =
            |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        assert_eq!(has_tests(&ProjectFiles { paths: &paths, text: &text }), expect, "{files:?}");
    };
    check(&[("pyproject.toml", "[project]\nname = \"x\"\n"), ("x.py", "")], false);
    check(&[("pyproject.toml", "[tool.pytest.ini_options]\n"), ("x.py", "")], true);
    check(&[("pytest.ini", ""), ("x.py", "")], true);
    check(&[("setup.py", ""), ("test_x.py", "")], true);
    check(&[("setup.py", ""), ("sub/tests/x.py", "")], true);
    check(&[("package.json", "{}"), ("a.js", "")], false);
    check(&[("package.json", "{}"), ("a.test.js", "")], true);
    check(&[("go.mod", ""), ("a_test.go", "")], true);
    check(&[("Cargo.toml", ""), ("src/lib.rs", "")], true);
    check(&[("t/a.t", "")], true);
    check(&[("spec/a_spec.rb", "")], true);
    check(&[("src/test/java/ATest.java", "")], true);
    check(&[("Makefile", "all:\n\tcc a.c\n"), ("a.c", "")], false);
}

/// Every file that is read by name.
const READ: [&str; 33] = [
    "Cargo.toml",
    "go.mod",
    "package.json",
    "pnpm-workspace.yaml",
    "a/package.json",
    "deno.json",
    "deno.jsonc",
    "pytest.ini",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "noxfile.py",
    "Pipfile",
    "requirements.txt",
    "test_a.py",
    "Makefile",
    "GNUmakefile",
    "justfile",
    "Taskfile.yml",
    "Rakefile",
    "composer.json",
    "phpunit.xml",
    "CMakeLists.txt",
    "meson.build",
    "mix.exs",
    "build.zig",
    "a.cabal",
    "package.yaml",
    "stack.yaml",
    "pubspec.yaml",
    "Package.swift",
    "a.sln",
];

#[test]
fn hostile_contents_are_bounded() {
    let deep = "[".repeat(40_000);
    let deep_object = "{\"a\":".repeat(30_000);
    let huge = format!("{{\"scripts\": {{\"test\": \"{}\"}}}}", "a".repeat(2 << 20));
    let nul = "\0".repeat(30_000);
    let one_line = "a b ".repeat(200_000);
    let rules = "a:b ".repeat(100_000);
    let many = "test: x\n\tdocker\n".repeat(40_000);
    let names = format!("{}:{}\n\t./t\n", "a ".repeat(30_000), " b".repeat(30_000));
    let dollars = format!("test:\n\t{}\n", "${".repeat(40_000));
    let slashes = "\\\n".repeat(40_000);
    let comment = "/*".repeat(40_000);
    let loops = "a: b\nb: a\ntest: a\n\t$(MAKE) test\n".to_owned();
    for text in [deep, deep_object, huge, nul, one_line, rules, many, names, dollars, slashes, comment, loops]
    {
        for name in READ {
            found(&[(name, &text)]);
        }
        let all: Vec<(&str, &str)> = READ.iter().map(|name| (*name, text.as_str())).collect();
        found(&all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_content_of_any_file_panics(
        contents in proptest::collection::vec(
            (0..READ.len(), "(?s)(test|check|build|:|=|\t|\n| |\\\\|#|\\$|\\(|\\)|\\{|\\}|\"|/|\\*|@|-|;|'|,|ä|\0|scripts|tasks|.){0,60}"),
            1..6,
        )
    ) {
        let files: Vec<(&str, &str)> = contents.iter().map(|(n, text)| (READ[*n], text.as_str())).collect();
        let found = found(&files);
        for command in found.test.iter().chain(&found.build).chain(&found.not_run) {
            prop_assert!(!command.argv.is_empty() && command.argv.iter().all(|word| !word.is_empty()));
            prop_assert!(!command.found.is_empty());
            prop_assert!(!["sh", "bash"].contains(&command.argv[0].as_str()));
        }
    }
}

/// A command, the files of the base, and the scripts that its recipe calls.
#[test]
fn the_recipe_of_a_command_names_the_scripts_it_calls() {
    let check = |command: &str, files: &[(&str, &str)], expect: &[&str]| {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let text =
            |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        let recipe = super::recipe_of(&super::ProjectFiles { paths: &paths, text: &text }, &argv);
        let called = tribunal_core::judge_files::called(&recipe);
        for path in expect {
            assert!(called.iter().any(|one| one == path), "{command}: {recipe:?}: {called:?}");
        }
        assert_eq!(expect.is_empty(), !called.iter().any(|one| one.contains('/')), "{command}: {called:?}");
    };
    let make = "test = tests/run.sh\nRUN := ./ci/$(NAME)\nNAME = go.sh\n\ncheck: unit\n\t@sh $(test)\nunit:\n\t-$(RUN) x\n\
                run:\n\t./bin/app\n";
    check("make check", &[("Makefile", make)], &["tests/run.sh", "ci/go.sh"]);
    check("make run", &[("Makefile", make)], &["bin/app"]);
    check("make", &[("Makefile", make)], &["tests/run.sh", "bin/app"]);
    check(
        "just test",
        &[("justfile", "test: lint\n    sh ci/test.sh\nlint:\n    ./ci/lint\n")],
        &["ci/test.sh", "ci/lint"],
    );
    let package = r#"{"scripts": {"pretest": "./ci/pre", "test": "npm run unit && echo", "unit": "node ci/unit.js", "x": "./ci/x"}}"#;
    check("npm test --silent", &[("package.json", package)], &["ci/pre", "ci/unit.js"]);
    check("cargo test", &[("Makefile", make)], &[]);
}
