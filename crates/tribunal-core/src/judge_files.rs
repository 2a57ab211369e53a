//! Which files of a change are part of what judges it.
//!
//! A project's test command is a program of the project: it reads a Makefile, calls a script, loads a `conftest.py`.
//! A change that touches those together with the code can make any code pass. So the command also runs with these
//! files as of the base (`green::answer` says what follows), and this file says which ones they are.
//!
//! It goes by names and texts alone, and takes a file too many rather than one too few: a file that judges nothing
//! costs a second run and changes no answer.

use std::collections::{BTreeMap, BTreeSet};

mod calls;
mod manifest;
mod observed;
mod orders;
pub mod ordinary;
mod places;
mod table;

pub use calls::{called, commands_in, extended_in, modules, named_in, normal, runs_targets};
use calls::{last_parts, mentions, stands_for};
use manifest::Parts;
use places::{Place, has_no_ending, is_of_a_runner, is_script, place_of};

/// What is known about a command and about the change that it judges.
pub struct JudgeFacts<'a> {
    /// The command and what runs before it, each a program with its arguments.
    pub steps: &'a [Vec<String>],
    /// What the files are that the command names.
    pub named: Named,
    /// Whether the base has a target or script that the command names; none if it names none. If only the change
    /// brings it, the base has no judge in the files that define it.
    pub defined: Option<bool>,
    /// What the project's own target or script runs for it, by the base's files; empty if it is not a target.
    pub recipe: &'a str,
    /// The paths that differ from the base, from the root, with `/`.
    pub changed: &'a [String],
    /// All paths of the base.
    pub paths: &'a BTreeSet<String>,
    /// The text of a file of the base. The text of a link is its target.
    pub before: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file as the change has it.
    pub now: &'a dyn Fn(&str) -> Option<String>,
}

/// What the files are that a command names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Named {
    /// Part of the judge: somebody set up this command as one.
    #[default]
    Judge,
    /// What is looked at, unless they stand where tests stand: a plan's own lines name what its tasks make.
    Subject,
}

/// The changed files that are part of the judge, by how sure that is.
///
/// A file may judge and be what is tested at once. So the sure ones are put back first, alone: with everything put
/// back, nothing would be left to judge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeFiles {
    /// What the command names, calls and includes, and what configures a runner.
    pub judge: Vec<String>,
    /// Scripts in places of tests that scripts of the judge start.
    pub tests: Vec<String>,
    /// Such scripts that stand among scripts of all kinds.
    pub tools: Vec<String>,
    /// What a recipe or an include leads to, outside the places of tests and tools: the judge, or what it looks at.
    pub either: Vec<String>,
    /// Files of pytest to which only fixtures were added, with the changed tests that may need them.
    pub fixtures: Vec<String>,
}

/// Which of the files of a judge are put back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The files that surely judge.
    Judge,
    /// Those, and scripts in places of tests.
    Tests,
    /// Those, and scripts of all kinds.
    Tools,
    /// The sure files, and those that may be the judge or what is tested. Never together with tests: both put back
    /// are the base, which says nothing about the change.
    Either,
    /// The sure files, and fixtures with the tests that may need them.
    Fixtures,
}

impl Stage {
    /// All stages, in the order in which they are tried.
    pub const ALL: [Stage; 5] = [Stage::Judge, Stage::Tests, Stage::Tools, Stage::Either, Stage::Fixtures];
}

impl JudgeFiles {
    /// Whether the change leaves its judge alone.
    pub fn is_empty(&self) -> bool {
        Stage::ALL.into_iter().all(|stage| self.own(stage).is_empty())
    }

    /// All files of the judge, in order.
    pub fn all(&self) -> BTreeSet<String> {
        Stage::ALL.into_iter().flat_map(|stage| self.own(stage)).cloned().collect()
    }

    /// Adds the files of another command of the same check.
    pub fn and(mut self, other: JudgeFiles) -> JudgeFiles {
        // A file that one command is sure about is sure for the check, whatever the other command makes of it.
        let sure: BTreeSet<String> = self.judge.iter().chain(&other.judge).cloned().collect();
        let join = |one: &[String], other: &[String]| -> Vec<String> {
            let all: BTreeSet<&String> =
                one.iter().chain(other).filter(|path| !sure.contains(*path)).collect();
            all.into_iter().cloned().collect()
        };
        self.tests = join(&self.tests, &other.tests);
        self.tools = join(&self.tools, &other.tools);
        self.either = join(&self.either, &other.either);
        self.fixtures = join(&self.fixtures, &other.fixtures);
        self.judge = sure.into_iter().collect();
        self
    }

    /// The files that a stage is about.
    pub fn own(&self, stage: Stage) -> &[String] {
        match stage {
            Stage::Judge => &self.judge,
            Stage::Tests => &self.tests,
            Stage::Tools => &self.tools,
            Stage::Either => &self.either,
            Stage::Fixtures => &self.fixtures,
        }
    }

    /// The files that are put back at a stage; none if the stage has no file of its own.
    ///
    /// Tests that changed together with what they test (`green::changed_with_code`) stay as the change has them.
    pub fn put_back(&self, stage: Stage, tests_stay: bool) -> Vec<String> {
        let own = self.own(stage);
        if own.is_empty() {
            return Vec::new();
        }
        let tests: &[String] = if stage == Stage::Tools && !tests_stay { &self.tests } else { &[] };
        let sure: &[String] = if stage == Stage::Judge { &[] } else { &self.judge };
        let all: BTreeSet<&String> = sure.iter().chain(tests).chain(own).collect();
        all.into_iter().cloned().collect()
    }
}

/// How far includes are followed from the command: a target calls a script, the script includes another.
const DEPTH: usize = 3;
/// How far scripts are followed that scripts start.
///
/// If that is not enough, every changed script counts that stands where scripts of the judge stand.
const CALLS_DEPTH: usize = 6;
/// How many started scripts are followed, with the same consequence.
const CALLS_MAX: usize = 200;

impl JudgeFacts<'_> {
    /// The changed paths that are part of the judge, in order.
    ///
    /// The arms of the match are ordered by how sure they are. A file that the command itself names must not fall
    /// through to a weaker part because of where it stands.
    pub fn judge_files(&self) -> JudgeFiles {
        let named = self.named_files();
        let defining = self.defining_files();
        let (started, runs_targets) = self.started_by(&named);
        let targets = self.targets();
        let defined = self.named == Named::Judge || self.defined.unwrap_or(runs_targets);
        let mut found = JudgeFiles::default();
        for path in self.changed {
            let part = match started.get(path) {
                _ if named.contains(path) => match is_sure(path, &defining) {
                    true => &mut found.judge,
                    false => match place_of(path, "") {
                        Some(Place::Tests) => &mut found.tests,
                        Some(Place::Tools) => &mut found.tools,
                        None => &mut found.either,
                    },
                },
                _ if self.shadows_target(path, &targets) => &mut found.judge,
                // Before `configures`, which would take a `conftest.py` whole: a fixture that nobody asks for judges
                // nothing.
                _ if self.adds_fixtures(path) => &mut found.fixtures,
                _ if self.configures(path) && (defined || !table::defines_targets(path)) => &mut found.judge,
                Some(Place::Tests) => &mut found.tests,
                Some(Place::Tools) => &mut found.tools,
                None => continue,
            };
            part.push(path.clone());
        }
        // A line of a plan names the new test itself; without that there is nothing that it could run.
        match self.named {
            Named::Subject => {
                found.tests.retain(|path| self.paths.contains(path));
                found.tools.retain(|path| self.paths.contains(path));
                found.either.retain(|path| self.paths.contains(path));
                found.fixtures.clear();
            }
            Named::Judge if !found.fixtures.is_empty() => {
                let tests = self.changed.iter().filter(|path| is_of_a_runner(path));
                found.fixtures.extend(tests.cloned());
            }
            Named::Judge => {}
        }
        found
    }

    /// Whether a change only adds fixtures of pytest to a file. The tests that were there judge it without them.
    fn adds_fixtures(&self, path: &str) -> bool {
        table::has_fixtures(path)
            && (self.now)(path).is_some_and(|now| {
                manifest::only_adds_fixtures(&(self.before)(path).unwrap_or_default(), &now)
            })
    }

    /// The changed files that the command names, calls, includes or starts, without those that only configure a
    /// runner.
    pub fn called_files(&self) -> Vec<String> {
        let named = self.named_files();
        let (started, _) = self.started_by(&named);
        let is_called = |path: &&String| named.contains(*path) || started.contains_key(*path);
        self.changed.iter().filter(is_called).cloned().collect()
    }

    /// Files that define what the command runs: those its own words name, scripts in places of tests and tools that
    /// its recipe starts, and what the Makefiles of the base include. A link stands for its target.
    fn defining_files(&self) -> BTreeSet<String> {
        let mut found = self.words_of_command();
        found.extend(called(self.recipe).into_iter().filter(|path| place_of(path, "").is_some()));
        found.extend(self.plugins());
        let makefiles = self.paths.iter().filter(|path| table::is_makefile(path));
        let mut open: Vec<String> = found.iter().chain(makefiles).cloned().collect();
        for _ in 0..DEPTH {
            let defines = |path: &&String| {
                // There is no mode here, so a link is known by its text: one line without an end or a space.
                let is_link = || (self.before)(path).is_some_and(|text| !text.contains(['\n', ' ']));
                table::is_makefile(path) || self.paths.contains(*path) && is_link()
            };
            let more: Vec<String> =
                open.iter().filter(defines).flat_map(|path| self.leads_to(path)).collect();
            open = more.into_iter().filter(|path| found.insert(path.clone())).collect();
        }
        found
    }

    /// Files that the command names, calls or includes, changed or not. Some of them may not exist.
    fn named_files(&self) -> BTreeSet<String> {
        let makefiles = self.paths.iter().filter(|path| table::is_makefile(path));
        self.led_from(makefiles.cloned().collect())
    }

    /// Files that the command or these files name, call or include.
    fn led_from(&self, files: Vec<String>) -> BTreeSet<String> {
        let mut named = self.words_of_command();
        named.extend(called(self.recipe));
        named.extend(self.plugins());
        let mut open: Vec<String> = named.iter().cloned().chain(files).collect();
        for _ in 0..DEPTH {
            let found: Vec<String> = open.iter().flat_map(|path| self.leads_to(path)).collect();
            // Only new ones are opened again: files that include each other would otherwise be read at every depth.
            open = found.into_iter().filter(|path| named.insert(path.clone())).collect();
        }
        named
    }

    /// Modules that a `conftest.py` of the base loads into pytest by name.
    fn plugins(&self) -> BTreeSet<String> {
        let files = self.paths.iter().filter(|path| table::has_fixtures(path));
        let named = |path: &String| -> Vec<String> {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let modules = (self.before)(path).map(|text| manifest::plugins(&text)).unwrap_or_default();
            let at = |module: &String| {
                let path = module.replace('.', "/");
                // Python may find its modules from the root, in `src`, or beside the file that names them.
                ["", "src", folder].map(|root| normal(root, &path)).into_iter().flatten().collect::<Vec<_>>()
            };
            modules.iter().flat_map(at).collect()
        };
        let found = files.flat_map(named);
        found.flat_map(|path| [format!("{path}.py"), format!("{path}/__init__.py")]).collect()
    }

    /// Whether a new file has, or stands in a new directory with, the name of a target that make is asked for or
    /// needs. Make then takes the target for made, and runs nothing.
    fn shadows_target(&self, path: &str, targets: &BTreeSet<String>) -> bool {
        let name = path.split_once('/').map_or(path, |(folder, _)| folder);
        let inside = format!("{name}/");
        targets.contains(name) && !self.paths.iter().any(|path| path == name || path.starts_with(&inside))
    }

    /// The targets that make is asked for, and what they need by the base's own Makefiles.
    fn targets(&self) -> BTreeSet<String> {
        let of_make = |step: &&Vec<String>| {
            step.first().is_some_and(|program| matches!(calls::bare(program), "make" | "gmake"))
        };
        // Flags are among them and match no target, so they do no harm.
        let asked = self.steps.iter().filter(of_make).flat_map(|step| &step[1..]);
        let mut targets: BTreeSet<String> = asked.cloned().collect();
        if targets.is_empty() {
            return targets;
        }
        let texts = self.paths.iter().filter(|path| table::is_makefile(path) || path.ends_with(".mk"));
        let rules: Vec<(String, Vec<String>)> =
            texts.filter_map(|path| (self.before)(path)).flat_map(|text| manifest::rules(&text)).collect();
        for _ in 0..DEPTH {
            let needed = rules.iter().filter(|(target, _)| targets.contains(target));
            let more: Vec<String> = needed.flat_map(|(_, needs)| needs.clone()).collect();
            targets.extend(more);
        }
        targets
    }

    /// Files that the words of the command name, if somebody set it up as a judge.
    fn words_of_command(&self) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        for word in self.steps.iter().flatten().filter(|_| self.named == Named::Judge) {
            match word.contains(char::is_whitespace) {
                // A word with spaces is a line for a shell: `sh -c "./run.sh --all"`.
                true => named.extend(called(word)),
                false => named.extend(normal("", word).into_iter().chain(calls::inside(word))),
            }
        }
        for step in self.steps.iter().filter(|_| self.named == Named::Judge) {
            named.extend(modules(step));
            named.extend(called(&step.join(" ")));
        }
        named
    }

    /// Scripts that the command's own scripts start, and those that these start, as the base has them; and whether
    /// one of them runs a target of the project's own.
    fn started_by(&self, named: &BTreeSet<String>) -> (BTreeMap<String, Place>, bool) {
        // Nothing that changed could be found, so the walk is not worth its reads.
        if !self.changed.iter().any(|path| self.is_script(path) || table::defines_targets(path)) {
            return (BTreeMap::new(), false);
        }
        let lines: String = self.steps.iter().map(|step| step.join(" ") + "\n").collect();
        let mut open = vec![(String::new(), format!("{lines}{}", self.recipe))];
        open.extend(named.iter().filter_map(|path| self.text_of(path)));
        let all: BTreeSet<&String> = self.paths.iter().chain(self.changed).collect();
        let (mut found, mut read_targets) = (BTreeMap::new(), false);
        for _ in 0..CALLS_DEPTH {
            // Once: the files that define targets are the same at every depth.
            if !read_targets && open.iter().any(|(_, text)| runs_targets(text)) {
                read_targets = true;
                open.extend(
                    self.paths
                        .iter()
                        .filter(|path| table::defines_targets(path))
                        .filter_map(|path| self.text_of(path)),
                );
            }
            let mut next = Vec::new();
            for (path, place) in open.iter().flat_map(|(folder, text)| self.started_in(&all, folder, text)) {
                let is_new = !named.contains(&path) && !found.contains_key(&path);
                let best = found.entry(path.clone()).or_insert(place);
                // Tests sort before tools: a script that is found in both ways is the stronger kind.
                *best = place.min(*best);
                next.extend(Some(&path).filter(|_| is_new).and_then(|path| self.text_of(path)));
            }
            open = next;
            if open.is_empty() {
                return (found, read_targets);
            }
            if found.len() > CALLS_MAX {
                break;
            }
        }
        // Too many to follow: any script in such a place may be one of them.
        let all = self.changed.iter().filter(|path| self.is_script(path));
        (all.filter_map(|path| Some((path.clone(), place_of(path, "")?))).collect(), true)
    }

    /// The folder and the text of a file of the base.
    fn text_of(&self, path: &String) -> Option<(String, String)> {
        let text = self.paths.contains(path).then(|| (self.before)(path)).flatten()?;
        Some((path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned(), text))
    }

    /// Scripts that a text starts, each with its place, including files that only the change has.
    fn started_in(&self, all: &BTreeSet<&String>, folder: &str, text: &str) -> Vec<(String, Place)> {
        let mut found = Vec::new();
        let mut add = |path: &str, is_given: bool| {
            // Files that a test runner finds by itself are counted by that runner, not started by a script.
            let place = place_of(path, folder).filter(|_| !is_of_a_runner(path));
            let is_script = |_: &Place| self.is_script(path) || (is_given && has_no_ending(path));
            found.extend(place.filter(is_script).map(|place| (path.to_owned(), place)));
        };
        for one in mentions(text, folder) {
            if one.path.contains(['*', '?']) {
                let stand_for = all.iter().filter(|path| stands_for(&one.path, path));
                stand_for.for_each(|path| add(path, one.is_given));
            } else if all.contains(&one.path) {
                add(&one.path, one.is_given);
            }
        }
        found
    }

    /// Whether a file is a script by its name, or by how its text begins.
    fn is_script(&self, path: &str) -> bool {
        let begins = |text: Option<String>| text.is_some_and(|text| text.starts_with("#!"));
        is_script(path) || (has_no_ending(path) && (begins((self.before)(path)) || begins((self.now)(path))))
    }

    /// Files that a file of the base includes, or the target if it is a link.
    fn leads_to(&self, path: &str) -> Vec<String> {
        if !self.paths.contains(path) {
            return Vec::new();
        }
        let Some(text) = (self.before)(path) else { return Vec::new() };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        // A link's text is one line without an end.
        if !text.contains('\n') && !text.contains(' ') {
            return normal(folder, &text).into_iter().collect();
        }
        let mut found = Vec::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let word = words.next().unwrap_or_default();
            let rest: Vec<&str> = match word {
                "." | "source" | "include" | "-include" | "sinclude" | "import" | "exec" => words.collect(),
                _ => calls::shell_of_make(line).into_iter().collect(),
            };
            for word in rest.into_iter().map(|word| word.trim_matches(['"', '\'', ';'])) {
                // A script names files from where it runs, a Makefile from where make runs: the root, or its own
                // folder.
                let bare = word.rsplit_once("/$").map_or(word, |(_, rest)| rest);
                let rest = last_parts(bare);
                let places = [normal("", bare), normal("", rest), normal(folder, rest)];
                found.extend(places.into_iter().flatten());
            }
        }
        let (patterns, mut found): (Vec<String>, Vec<String>) =
            found.into_iter().partition(|path| path.contains(['*', '?']));
        let all = self.paths.iter().chain(self.changed);
        found.extend(all.filter(|path| patterns.iter().any(|one| stands_for(one, path))).cloned());
        found
    }

    /// Whether a changed file configures a runner, or stands where a runner finds it before its own.
    ///
    /// Texts are read only if the name says that they matter: a change may have thousands of files.
    fn configures(&self, path: &str) -> bool {
        let was = self.paths.contains(path);
        let texts = || ((self.before)(path).unwrap_or_default(), (self.now)(path).unwrap_or_default());
        let steers = |marks| {
            let (before, now) = texts();
            manifest::marked(&before, marks) != manifest::marked(&now, marks)
        };
        let shadows = || table::shadows(path) || self.shadows_beside_tests(path);
        if (!was && shadows()) || table::marks_in(path).is_some_and(steers) {
            return true;
        }
        match table::parts_of(path) {
            None => false,
            Some(Parts::Whole) => true,
            // The manifest of a part that is new judges nothing that was there.
            Some(_) if !was && !self.has_folder_of(path) => false,
            Some(parts) => {
                let (before, now) = texts();
                parts.differ(&before, &now)
            }
        }
    }

    /// Whether a new module of Python stands beside tests, where pytest looks first, with the name of another module.
    fn shadows_beside_tests(&self, path: &str) -> bool {
        let Some((folder, name)) = path.rsplit_once('/') else { return false };
        let (folder, name) = match (name, folder.rsplit_once('/')) {
            ("__init__.py", Some((folder, package))) => (folder, package),
            _ => match name.strip_suffix(".py") {
                Some(stem) => (folder, stem),
                None => return false,
            },
        };
        let prefix = format!("{folder}/");
        // A range of the sorted set and not a scan of all paths: this runs for each new file of a change.
        let mut beside = self.paths.range(prefix.clone()..).take_while(|path| path.starts_with(&prefix));
        let has_tests = beside.any(|path| {
            let rest = &path[prefix.len()..];
            !rest.contains('/') && rest.ends_with(".py") && is_of_a_runner(rest)
        });
        let is_module = |root: &str| {
            let module = format!("{root}{name}");
            self.paths.contains(&format!("{module}.py"))
                || self.paths.contains(&format!("{module}/__init__.py"))
        };
        has_tests
            && (table::shadows(&format!("{name}.py")) || ["", "src/", "lib/"].into_iter().any(is_module))
    }

    /// Whether the base has a file in the folder of a path, or below it.
    fn has_folder_of(&self, path: &str) -> bool {
        let Some((folder, _)) = path.rsplit_once('/') else { return true };
        let prefix = format!("{folder}/");
        self.paths.range(prefix.clone()..).next().is_some_and(|first| first.starts_with(&prefix))
    }
}

/// Whether a file that the command leads to is the judge for sure: the command names it itself, or it defines what
/// the command runs.
///
/// A script that a recipe starts, or that another includes, may be what is tested.
fn is_sure(path: &str, defining: &BTreeSet<String>) -> bool {
    defining.contains(path) || table::is_makefile(path) || table::parts_of(path).is_some()
}

#[cfg(test)]
mod tests;
