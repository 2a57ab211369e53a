//! Which commands build and test a project, found by the files that lie in it.
//!
//! It is pure: the caller lists the paths and reads the files, from a commit that no agent made. Nothing is guessed: a
//! command is named only where a file of the project says so and where it can run with nobody at the keyboard. Whatever
//! was seen and is not run is reported too.

mod node;
mod python;
mod targets;
#[cfg(test)]
mod tests;
mod toolchains;

use serde::Serialize;
use std::collections::BTreeSet;

/// How many bytes of one file are read. Real manifests and Makefiles are far smaller, and nothing beyond is looked at.
const TEXT_MAX: usize = 512 << 10;

/// The project as detection sees it.
///
/// Reading goes through the caller, so that detection works on a commit without a checkout.
pub struct ProjectFiles<'a> {
    /// The paths of its files, from its root, with `/`. Folders are seen by the files in them.
    pub paths: &'a [String],
    /// The text of one of these files.
    pub text: &'a dyn Fn(&str) -> Option<String>,
}

/// A command of the project, and where it was found.
///
/// The command is a list of words, because a check starts the program itself and a file name may contain anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FoundCommand {
    /// The program and its arguments. No shell is involved.
    pub argv: Vec<String>,
    /// Commands that must have been run before in the same tree, each with exit status 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<Vec<String>>,
    /// Which file says so, in words: "`scripts.test` of package.json".
    pub found: String,
    /// What the user's own file runs for it; empty if the command is not a target or script of the project's own.
    #[serde(skip)]
    pub recipe: String,
}

impl FoundCommand {
    fn of(command: &str, found: impl Into<String>) -> FoundCommand {
        FoundCommand { argv: words(command), found: found.into(), ..FoundCommand::default() }
    }

    fn after(mut self, command: &str) -> FoundCommand {
        self.setup.push(words(command));
        self
    }

    /// The command as a person would type it.
    pub fn shown(&self) -> String {
        let all = self.setup.iter().chain([&self.argv]);
        all.map(|argv| argv.join(" ")).collect::<Vec<_>>().join(" && ")
    }
}

/// The lines that a recipe had and no longer has, except those that only compile.
///
/// A target that was made to do nothing ends well, although it no longer tests anything. A line that names a file by
/// the place to which it moved still counts as there; `moved` are such files, before and now.
pub fn taken_out(
    before: &FoundCommand,
    now: Option<&FoundCommand>,
    moved: &[(String, String)],
) -> Vec<String> {
    const COMPILERS: [&str; 10] =
        ["cc", "gcc", "g++", "clang", "clang++", "cxx", "ar", "ld", "javac", "rustc"];
    // Compiler lines change with every source file, and none of them tests anything.
    let compiles = |line: &&str| programs(line).iter().any(|program| COMPILERS.contains(program));
    let now = now.map(|now| now.recipe.as_str()).unwrap_or_default();
    let place = |word: &str| {
        let path = word.strip_prefix("./").unwrap_or(word);
        moved.iter().find(|(old, _)| old == path).map_or(path, |(_, new)| new).to_owned()
    };
    let words = |line: &str| line.split_whitespace().map(place).collect::<Vec<_>>();
    let is_there =
        |line: &&str| now.lines().any(|other| other.trim() == *line || words(other) == words(line));
    let lines = before.recipe.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.filter(|line| !compiles(line) && !is_there(line)).map(str::to_owned).collect()
}

/// What the files of a project say about its commands.
///
/// Show `not_run` and `notes` to people: a part of the project that nobody tests must not stay unnoticed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FoundCommands {
    /// The command that builds the project; `None` if the test command builds what it tests, or there is nothing to
    /// build.
    pub build: Option<FoundCommand>,
    /// The command that runs its tests.
    pub test: Option<FoundCommand>,
    /// Test commands of other parts of the project. They are not run, because one command was chosen.
    pub not_run: Vec<FoundCommand>,
    /// What else was seen, and why it is not a command; for people.
    pub notes: Vec<String>,
}

/// A language and its tools. A project may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Toolchain {
    Cargo,
    Go,
    Jvm,
    Dotnet,
    Swift,
    Zig,
    Haskell,
    Elixir,
    Native,
    Dart,
    Node,
    Deno,
    Python,
    Ruby,
    Php,
    Perl,
    Shell,
    /// One of the small table of manifests.
    Other,
}

impl Toolchain {
    /// The programs in a recipe by which one sees that it runs the tests of this toolchain.
    fn marks(self) -> &'static [&'static str] {
        match self {
            Toolchain::Cargo => &["cargo"],
            Toolchain::Go => &["go", "gotestsum"],
            Toolchain::Jvm => &["mvn", "mvnw", "gradle", "gradlew", "sbt"],
            Toolchain::Dotnet => &["dotnet"],
            Toolchain::Swift => &["swift", "xcodebuild"],
            Toolchain::Zig => &["zig"],
            Toolchain::Haskell => &["cabal", "stack"],
            Toolchain::Elixir => &["mix"],
            Toolchain::Native => &["ctest", "meson", "cmake", "ninja"],
            Toolchain::Dart => &["dart", "flutter"],
            Toolchain::Node => {
                &["npm", "pnpm", "yarn", "bun", "npx", "node", "jest", "vitest", "mocha", "turbo", "nx"]
            }
            Toolchain::Deno => &["deno"],
            Toolchain::Python => {
                &["python", "python3", "pytest", "tox", "nox", "uv", "poetry", "hatch", "pdm"]
            }
            Toolchain::Ruby => &["rake", "rspec", "ruby", "bundle"],
            Toolchain::Php => &["phpunit", "composer", "pest", "php"],
            Toolchain::Perl => &["prove", "perl"],
            Toolchain::Shell => &["bats"],
            Toolchain::Other => &["dune", "lein", "gleam", "crystal"],
        }
    }
}

/// One way to test the project, or a part of it.
#[derive(Debug, Default)]
struct Candidate {
    /// The toolchain; `None` for a runner of targets.
    toolchain: Option<Toolchain>,
    build: Option<FoundCommand>,
    test: Option<FoundCommand>,
    /// What the user's own file runs for it; empty if the command is ours.
    recipe: String,
    /// Whether the test command compiles what it tests.
    builds: bool,
}

impl Candidate {
    fn of(toolchain: Toolchain) -> Candidate {
        Candidate { toolchain: Some(toolchain), ..Candidate::default() }
    }

    fn test(mut self, command: &str, found: impl Into<String>) -> Candidate {
        self.test = Some(FoundCommand::of(command, found));
        self
    }

    fn build(mut self, command: &str, found: impl Into<String>) -> Candidate {
        self.build = Some(FoundCommand::of(command, found));
        self
    }

    fn builds(mut self) -> Candidate {
        self.builds = true;
        self
    }

    /// Which of these toolchains its tests cover.
    ///
    /// A recipe that calls a script may cover all of them: it is the project's own word for "test", and nothing says
    /// otherwise.
    fn covers(&self, all: &BTreeSet<Toolchain>) -> BTreeSet<Toolchain> {
        let mut covered: BTreeSet<Toolchain> = self.toolchain.into_iter().collect();
        // A command of ours tests its own toolchain and nothing else.
        if self.recipe.is_empty() {
            return covered;
        }
        if self.toolchain.is_none() && calls_a_script(&self.recipe) {
            return all.clone();
        }
        let words = programs(&self.recipe);
        covered.extend(all.iter().filter(|one| one.marks().iter().any(|mark| words.contains(mark))));
        covered
    }
}

/// The build and test commands of a project.
///
/// If several could be run, the one that covers most of the project's toolchains is chosen. Between equals the
/// project's own target (make, just, task) comes before a toolchain's command, because it is what the project calls its
/// tests. The others are named in [`FoundCommands::not_run`].
pub fn detect(project: &ProjectFiles<'_>) -> FoundCommands {
    let files = Files::of(project);
    let mut notes = Vec::new();
    let mut candidates = targets::candidates(&files, &mut notes);
    candidates.extend(toolchains::candidates(&files, &mut notes));
    candidates.extend(node::candidate(&files, &mut notes));
    candidates.extend(node::deno(&files));
    candidates.extend(python::candidate(&files, &mut notes));
    candidates.extend(toolchains::scripted(&files, &mut notes));
    // Only where nothing else was found: an empty Python project gets a command before its first test.
    if candidates.iter().all(|one| one.test.is_none()) {
        candidates.extend(python::without_tests(&files));
    }
    chosen(candidates, notes)
}

fn chosen(candidates: Vec<Candidate>, notes: Vec<String>) -> FoundCommands {
    // Only toolchains with tests count: covering a part without any gains nothing.
    let all: BTreeSet<Toolchain> =
        candidates.iter().filter(|one| one.test.is_some()).filter_map(|one| one.toolchain).collect();
    let mut best: Option<(usize, usize)> = None;
    for (n, one) in candidates.iter().enumerate().filter(|(_, one)| one.test.is_some()) {
        // Nothing is known except a target of the project's own: it covers whatever there is.
        let covered = one.covers(&all).len() + usize::from(all.is_empty());
        // Strictly more, so that the first of equals stays; targets come first in the list.
        if best.is_none_or(|(most, _)| covered > most) {
            best = Some((covered, n));
        }
    }
    let covered = best.map_or_else(BTreeSet::new, |(_, n)| candidates[n].covers(&all));
    let builds = best.is_some_and(|(_, n)| candidates[n].builds)
        || candidates.iter().any(|one| one.builds && one.toolchain.is_some_and(|of| covered.contains(&of)));
    let mut found = FoundCommands { notes, ..FoundCommands::default() };
    let first = best.map(|(_, n)| n);
    let mut seen = BTreeSet::new();
    for (n, one) in candidates.into_iter().enumerate() {
        let is_first = Some(n) == first;
        // The build of a part that the chosen command covers is the project's; that of another part is not run either.
        let part = one.toolchain.is_some_and(|of| covered.contains(&of));
        if found.build.is_none() && !builds && (is_first || part || first.is_none()) {
            found.build = one.build;
        }
        match one.test {
            Some(test) if is_first => found.test = Some(FoundCommand { recipe: one.recipe, ..test }),
            // A target that was not chosen runs what the others do, so it is not a part of its own.
            Some(test) if !part && one.toolchain.is_some() && seen.insert(test.argv.clone()) => {
                found.not_run.push(test);
            }
            _ => {}
        }
    }
    found
}

/// What the project's own target or script runs for a command, with everything it depends on; empty if the command is
/// not one of the project's own.
///
/// It is read from the base commit, to know which files judge a change.
pub fn recipe_of(project: &ProjectFiles<'_>, argv: &[String]) -> String {
    let files = Files::of(project);
    let program = argv.first().map(|word| word.rsplit('/').next().unwrap_or(word)).unwrap_or_default();
    match program {
        "make" | "gmake" | "just" | "task" => targets::recipe_of(&files, program, &argv[1..]),
        "npm" | "pnpm" | "yarn" | "bun" => node::recipe_of(&files, &argv[1..]),
        "composer" => node::script_of(&files, "composer.json", &argv[1..]),
        _ => String::new(),
    }
}

/// Whether a project has the target or script that a command names; `None` if the command runs neither.
///
/// A target that only a change brings has no judge before it.
pub fn defines(project: &ProjectFiles<'_>, argv: &[String]) -> Option<bool> {
    let files = Files::of(project);
    let program = argv.first().map(|word| word.rsplit('/').next().unwrap_or(word)).unwrap_or_default();
    match program {
        "make" | "gmake" | "just" | "task" => Some(targets::defines(&files, program, &argv[1..])),
        "npm" | "pnpm" | "yarn" | "bun" => Some(!node::recipe_of(&files, &argv[1..]).is_empty()),
        "composer" => Some(!node::script_of(&files, "composer.json", &argv[1..]).is_empty()),
        _ => None,
    }
}

/// Whether the files of a project say that it has tests, or that tests may be in any file, as in Rust.
pub fn has_tests(project: &ProjectFiles<'_>) -> bool {
    let files = Files::of(project);
    project.paths.iter().any(|path| crate::integrity::is_test(path))
        || files.has("Cargo.toml")
        || python::names_pytest(&files)
}

/// The files, with the questions that detection asks of them.
struct Files<'a> {
    project: &'a ProjectFiles<'a>,
    root: BTreeSet<&'a str>,
}

impl<'a> Files<'a> {
    fn of(project: &'a ProjectFiles<'a>) -> Files<'a> {
        let root = project.paths.iter().map(String::as_str).filter(|path| !path.contains('/')).collect();
        Files { project, root }
    }

    /// Whether there is such a file in the root.
    fn has(&self, name: &str) -> bool {
        self.root.contains(name)
    }

    /// The first of these names that is in the root.
    fn first(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// A name in the root with this ending.
    fn ending(&self, end: &str) -> Option<&'a str> {
        self.root.iter().copied().find(|name| name.len() > end.len() && name.ends_with(end))
    }

    /// A path for which this holds.
    fn any(&self, is: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.project.paths.iter().map(String::as_str).find(|path| is(path))
    }

    /// The text of a file in the root.
    fn text(&self, name: &str) -> Option<String> {
        self.has(name).then(|| self.read(name))?
    }

    /// The text of a file anywhere, up to the limit.
    fn read(&self, path: &str) -> Option<String> {
        let mut text = (self.project.text)(path)?;
        if text.len() > TEXT_MAX {
            // At the boundary of a character, or the text could not be cut.
            let end = (0..=TEXT_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        Some(text)
    }

    /// A JSON document of the root; `None` with a note for people if it cannot be read.
    fn json(&self, name: &str, notes: &mut Vec<String>) -> Option<serde_json::Value> {
        let text = self.text(name)?;
        match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(value) => Some(value),
            Err(error) => {
                notes.push(format!("{name} cannot be read: {error}"));
                None
            }
        }
    }
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// The programs that the lines of a recipe start, by their bare names: the first word of each command.
fn programs(recipe: &str) -> BTreeSet<&str> {
    /// Programs that start another one.
    const BEFORE: [&str; 6] = ["env", "time", "exec", "command", "nice", "xvfb-run"];
    let mut found = BTreeSet::new();
    for command in recipe.split(['\n', ';', '|', '&', '(', '`']) {
        // Make's marks for a quiet line, an ignored failure and a line that always runs.
        let words = command.split_whitespace().map(|word| word.trim_start_matches(['@', '-', '+']));
        let mut words =
            words.skip_while(|word| word.is_empty() || word.contains('=') || BEFORE.contains(word));
        let Some(program) = words.next() else { continue };
        found.insert(program.rsplit('/').next().unwrap_or(program));
        // `uv run pytest`, `bundle exec rake`, `python3 -m pytest`.
        if let (Some("run" | "exec" | "m"), Some(inner)) = (words.next(), words.next()) {
            found.insert(inner);
        }
    }
    found
}

/// Whether a recipe hands over to a script of the project.
fn calls_a_script(recipe: &str) -> bool {
    let script = |word: &str| {
        let word = word.trim_start_matches(['@', '-', '+']);
        (word.starts_with("./") && !word.ends_with('/'))
            || word.ends_with(".sh")
            || word.starts_with("scripts/")
    };
    recipe.split_whitespace().any(script)
}

/// What a recipe needs that a check does not have; `None` if it can run unattended.
fn needs_more(recipe: &str) -> Option<&'static str> {
    const PROGRAMS: [&str; 9] =
        ["docker", "docker-compose", "podman", "sudo", "vagrant", "kubectl", "ssh", "minikube", "doas"];
    let programs = programs(recipe);
    PROGRAMS.into_iter().find(|program| programs.contains(program))
}
