//! Which changed files tell a judging program what to do, if the program itself is not one of them.
//!
//! `make judge`, `npx` and `tox` come from the machine, but do what a file of the tree says; a script of the base may
//! include a file of the change. Such a program has judged only if the change leaves these files alone.

use super::calls::{NODE_RUNNERS, RUNNERS, bare, commands_in, inside, modules, normal, started};
use super::places::place_of;
use super::{JudgeFacts, table};
use std::collections::BTreeSet;

/// Programs whose tasks are not read here: every file that could define one of their tasks counts.
const TASK_RUNNERS: &[&str] = &[
    "tox",
    "nox",
    "rake",
    "invoke",
    "inv",
    "doit",
    "fab",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "ant",
    "sbt",
    "lein",
    "mix",
    "dotnet",
    "bazel",
    "bazelisk",
    "buck2",
    "pants",
    "cmake",
    "ctest",
    "ninja",
    "meson",
    "scons",
    "mage",
    "grunt",
    "gulp",
    "jake",
    "nx",
    "turbo",
    "lerna",
    "pre-commit",
    "lefthook",
    "overcommit",
    "poetry",
    "poe",
    "pdm",
    "hatch",
    "uv",
    "pipenv",
    "rye",
    "bundle",
    "mise",
    "direnv",
    "devbox",
    "nix",
    "nix-shell",
    "earthly",
    "deno",
    "docker-compose",
];
/// Files that define tasks of those programs, and that no table of test runners has.
const TASK_FILES: &[&str] = &[
    "tasks.py",
    "dodo.py",
    "fabfile.py",
    "magefile.go",
    "Gruntfile.js",
    "gulpfile.js",
    "Jakefile",
    "Gemfile",
    "Gemfile.lock",
    "Pipfile",
    "uv.toml",
    "poetry.toml",
    "poethepoet.toml",
    "hatch.toml",
    "build.xml",
    "SConstruct",
    "flake.nix",
    "shell.nix",
    "default.nix",
    "devbox.json",
    "Earthfile",
    "BUILD",
    "BUILD.bazel",
    "WORKSPACE",
    "MODULE.bazel",
    ".bazelrc",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".overcommit.yml",
    "compose.yaml",
    "compose.yml",
    "docker-compose.yml",
    "docker-compose.yaml",
];
/// Flags of a target runner that do not send it to other files.
const HARMLESS: [&str; 9] =
    ["-s", "-q", "-k", "-B", "--silent", "--quiet", "--no-print-directory", "--if-present", "--"];
/// Commands of cargo that do what the program does, not what code of the tree does.
///
/// Any other word may be an alias, or builds and starts a program of the tree.
const CARGO_OWN: [&str; 16] = [
    "audit", "bench", "build", "check", "clippy", "deny", "doc", "fetch", "fmt", "machete", "metadata",
    "nextest", "test", "tree", "vet", "version",
];
/// The same for go.
const GO_OWN: [&str; 9] = ["build", "doc", "env", "fmt", "list", "mod", "test", "version", "vet"];

/// How far the tree leads a program, from least to most.
///
/// The order is used: of several commands, the one that is led furthest decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Led {
    /// Only by the files that it is given.
    Files,
    /// By targets, which are read here.
    Targets,
    /// By tasks, which are not read here.
    Tasks,
    /// The program itself is built from the tree.
    Code,
}

impl JudgeFacts<'_> {
    /// The changed files that the command takes its orders from, in order, including files that its own words name.
    pub fn orders(&self) -> Vec<String> {
        let led = self.led();
        if led == Led::Code {
            // Any file may be part of a program that is built from the tree.
            return self.changed.to_vec();
        }
        let mut named = self.named_from(led >= Led::Targets);
        let (started, runs_targets) = self.started_by(&named);
        named.extend(started.into_keys());
        let by_targets = led >= Led::Targets || runs_targets;
        let (given, targets) = (self.given_in_words(), self.targets());
        let is_one = |path: &&String| {
            named.contains(*path)
                || self.shadows_target(path, &targets)
                || given.iter().any(|place| is_at(place, path))
                || (by_targets && self.steers_targets(path))
                || (led == Led::Tasks && self.steers_tasks(path))
        };
        self.changed.iter().filter(is_one).cloned().collect()
    }

    /// Files and folders that stand inside words of the command: in an option, a variable, or a line for another
    /// program.
    fn given_in_words(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for word in self.steps.iter().flatten() {
            let is_line = word.contains(char::is_whitespace);
            for piece in word.split_whitespace() {
                let piece = piece.trim_matches(['"', '\'', '!', ';', '(', ')']);
                found.extend(inside(piece));
                found.extend(normal("", piece).filter(|_| is_line));
            }
        }
        found
    }

    /// How far the tree leads the command and its recipe.
    fn led(&self) -> Led {
        let mut led = Led::Files;
        for step in self.steps {
            let words: Vec<&str> = step.iter().map(String::as_str).collect();
            led = started(&words).into_iter().map(led_by).fold(led, Led::max);
            for line in step.iter().filter(|word| word.contains(char::is_whitespace)) {
                led = commands_in(line).iter().map(|argv| led_by(&borrowed(argv))).fold(led, Led::max);
            }
        }
        led = commands_in(self.recipe).iter().map(|argv| led_by(&borrowed(argv))).fold(led, Led::max);
        // A target that the base does not have, or a runner that a target starts once more.
        let unread = self.defined == Some(false)
            || ["$(MAKE)", "${MAKE}", "$MAKE"].iter().any(|make| self.recipe.contains(make));
        if unread { led.max(Led::Tasks) } else { led }
    }

    /// Whether a changed file says what a target is, or how it is run.
    fn steers_targets(&self, path: &str) -> bool {
        const ALSO: [&str; 7] =
            [".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnp.cjs", ".env", "bunfig.toml"];
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_known = table::defines_targets(path)
            || ALSO.contains(&name)
            || name.to_ascii_lowercase().starts_with("taskfile")
            || name.to_ascii_lowercase().ends_with("justfile")
            || name.ends_with(".just");
        // Programs and hooks of packages run with every script of `npm` and its like.
        (is_known && self.configures(path)) || path.split('/').any(|part| part == "node_modules")
    }

    /// Whether a changed file may define a task of a runner whose tasks are not read.
    fn steers_tasks(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        TASK_FILES.contains(&name)
            || path
                .split('/')
                .any(|part| matches!(part, "buildSrc" | "magefiles" | "rakelib" | "gulpfile.js"))
            || self.configures(path)
            || (self.is_script(path) && place_of(path, "").is_some())
    }

    /// What the command names, calls and includes; what Makefiles include only if it may run one.
    fn named_from(&self, with_makefiles: bool) -> BTreeSet<String> {
        if with_makefiles { self.named_files() } else { self.led_from(Vec::new()) }
    }
}

/// Whether a path is a place, or lies below it.
fn is_at(place: &str, path: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// How far the tree leads one command.
fn led_by(argv: &[&str]) -> Led {
    let Some(program) = argv.first().map(|word| bare(word.trim_start_matches(['@', '-', '+']))) else {
        return Led::Files;
    };
    // `cargo +nightly test` names its toolchain first.
    let first = || argv[1..].iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or_default();
    let is_harmless = |word: &&&str| !word.starts_with('-') || HARMLESS.contains(*word) || is_jobs(word);
    let owned: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    // `python3 -m tox` is tox.
    let module = modules(&owned).first().and_then(|path| path.strip_suffix(".py")).map(str::to_owned);
    let program = module.as_deref().unwrap_or(program);
    match program {
        // `cargo xtask` runs code of the tree; `cargo test` runs cargo.
        "cargo" if !CARGO_OWN.contains(&first()) => Led::Code,
        "go" if !GO_OWN.contains(&first()) => Led::Code,
        _ if TASK_RUNNERS.contains(&program) => Led::Tasks,
        _ if NODE_RUNNERS.contains(&program) => Led::Targets,
        _ if RUNNERS.contains(&program) => match argv[1..].iter().filter(|word| !is_harmless(word)).count() {
            // An unknown flag may name another file or folder (`-f`, `-C`), so its targets are not those that were
            // read.
            0 => Led::Targets,
            _ => Led::Tasks,
        },
        _ => Led::Files,
    }
}

/// Whether a word is a number of jobs: `-j8`.
fn is_jobs(word: &str) -> bool {
    word.strip_prefix("-j").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

fn borrowed(argv: &[String]) -> Vec<&str> {
    argv.iter().map(String::as_str).collect()
}
