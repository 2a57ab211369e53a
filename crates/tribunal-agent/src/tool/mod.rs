//! Tools as reviewers and fixers: linters, type checkers and formatters described as data.
//!
//! This module says what tools have anything to look at and how each one is called. It never runs a tool, never reads
//! its output, and knows no tool by name; a new one is a row in `tools.toml` or in the user's configuration.

mod settings;

use crate::error::AgentError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Severity};
use tribunal_core::tool::DetectedTool;
use tribunal_findings::{Manner, ToolForm};

pub use settings::PutBack;

const BUILT_IN: &str = include_str!("tools.toml");

/// One tool: when it applies, how it is asked, and how it fixes.
///
/// The defaults of the keys are on the safe side. A row that says nothing about the code it runs may run any, and a row
/// that says nothing about its settings has all its configuration files counted as such.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The name of the tool, which settings and findings refer to.
    #[serde(default)]
    pub name: String,
    /// What the tool looks at, in words for people.
    #[serde(default)]
    pub what: String,
    /// The changed files it is for: `*.rs`, a name, or a path.
    pub files: Vec<String>,
    /// Folders that the tool leaves out by itself, wherever they lie. It cannot vouch for a file in them.
    #[serde(default)]
    pub leaves_out: Vec<String>,
    /// A file beside which the tool must run.
    #[serde(default)]
    pub root: Option<String>,
    /// Files by which a project says that it uses the tool; `file: text` if the text must stand in it.
    #[serde(default)]
    pub configured: Vec<String>,
    /// Whether the tool is only for projects that configured it.
    #[serde(default)]
    pub by_config: bool,
    /// Programs that must be installed; the first is the tool itself.
    pub programs: Vec<String>,
    /// The command line that makes the tool look.
    pub check: Vec<String>,
    /// How the tool goes on past targets that do not compile.
    #[serde(default)]
    pub past: Option<Past>,
    /// The form of the tool's answer.
    pub form: ToolForm,
    /// Exit codes besides 0 of a run that found something. Any other code means that the tool did not do its work.
    #[serde(default)]
    pub found: Vec<i32>,
    /// Whether a run that found nothing prints nothing (form lines). By default it does if `found` tells the two cases
    /// apart.
    #[serde(default)]
    pub silent: Option<bool>,
    /// Texts of which one is in the output of every run that really looked. Without it, the tool did not run.
    #[serde(default)]
    pub proof: Vec<String>,
    /// A file that the tool must format besides those of the project, to show that it looks at all.
    #[serde(default)]
    pub probe: Option<Probe>,
    /// Files that steer the tool, besides those that configure it. Its remarks about them are not findings.
    #[serde(default)]
    pub steering: Vec<String>,
    /// Files, and parts of files, that decide what the tool finds. By default those that configure and steer it.
    #[serde(default)]
    pub settings: Option<Vec<String>>,
    /// Words in the code that switch a rule of the tool off.
    #[serde(default)]
    pub mutes: Vec<String>,
    /// Words by which the tool says that its settings or its surroundings are not as it needs them.
    #[serde(default)]
    pub trouble: Vec<String>,
    /// Words by which the tool says that it stopped early; `#` is a digit.
    #[serde(default)]
    pub stops: Vec<String>,
    /// Interpreters in the first line of a file without a suffix that make the tool apply to it.
    #[serde(default)]
    pub first_line: Vec<String>,
    /// The command line that makes the tool fix; empty if it only judges.
    #[serde(default)]
    pub fix: Vec<String>,
    /// The highest severity that a finding of this tool can have.
    #[serde(default)]
    pub worst: Option<Severity>,
    /// Findings below this severity are left out.
    #[serde(default)]
    pub least: Option<Severity>,
    /// Rules whose findings are blockers in spite of `worst`.
    #[serde(default)]
    pub blockers: Vec<String>,
    /// Folders of the project that the tool needs and git does not track.
    #[serde(default)]
    pub borrow: Vec<String>,
    /// Variables that are set for the tool.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Lock files. If they change, the tool's cache begins anew.
    #[serde(default)]
    pub locks: Vec<String>,
    /// Files of the project that the tool runs as code, wherever they lie: a name, `folder/`, or `file: text` if the
    /// text must stand in it. A row that does not say may run anything.
    #[serde(default)]
    pub runs: Option<Vec<String>>,
    /// Files that say which code of others the tool runs. A change that touches one of them may run any code.
    #[serde(default)]
    pub picks: Vec<String>,
    /// Files outside the project that the answer depends on: `~/x` or `$NAME/x`.
    #[serde(default)]
    pub outside: Vec<String>,
    /// Files that the tool looks for in every folder above its own, besides those that steer it.
    #[serde(default)]
    pub above: Vec<String>,
    /// Whether the same question gets the same answer tomorrow. It does unless the row says otherwise.
    #[serde(default)]
    pub memo: Option<bool>,
    /// Whether the tool may use the network. Only tools that run no code of the project may.
    #[serde(default)]
    pub network: bool,
    /// The field of knowledge that its findings belong to.
    #[serde(default)]
    pub domain: Option<String>,
    /// Whether the tool is switched off here.
    #[serde(default)]
    pub off: bool,
}

/// How a tool goes on past targets that do not compile.
///
/// Without it, a benchmark that is broken in the base would keep the tool from looking at anything else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Past {
    /// The words that are added to `check` and `fix`.
    pub words: Vec<String>,
    /// Kinds of targets, as the tool calls them, that may be left out because nothing else is built from them.
    pub kinds: Vec<String>,
}

/// A file that a formatter has to change. A formatter that leaves it alone did not look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The name of the file.
    pub name: String,
    /// The text before the formatter ran.
    pub text: String,
}

/// What detection can ask about the project and the machine.
///
/// Functions instead of paths, because a project is a commit here and not always a folder.
pub struct Ground<'a> {
    /// Whether the project has a file of this path.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// The text of a file of the project.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a program is installed.
    pub installed: &'a dyn Fn(&str) -> bool,
    /// The changed files that still exist.
    pub changed: &'a [String],
}

/// All tools, in the order of their tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Tools {
    rows: Vec<Tool>,
}

#[derive(Deserialize)]
struct File {
    tool: Vec<toml::Table>,
}

impl Tools {
    /// Reads the built-in rows and the user's own.
    ///
    /// A user's row with a built-in name overrides only the keys it sets, and `off = true` switches the tool off.
    pub fn load(own: &BTreeMap<String, toml::Value>) -> Result<Tools, AgentError> {
        let wrong = |name: &str, problem: &str| AgentError::Rows {
            origin: format!("tools.{name}"),
            problems: vec![problem.to_owned()],
        };
        let built_in: File = toml::from_str(BUILT_IN).map_err(|error| wrong("built-in", error.message()))?;
        let mut rows: Vec<(String, toml::Table)> = Vec::new();
        for row in built_in.tool {
            let name = row.get("name").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
            rows.push((name, row));
        }
        for (name, value) in own {
            let said = value.as_table().ok_or_else(|| wrong(name, "it is not a table"))?;
            let at = rows.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                rows.push((name.clone(), toml::Table::new()));
                rows.len() - 1
            });
            // A new way of asking makes what the built-in row says about continuing and about proofs meaningless.
            if said.contains_key("check") {
                ["past", "proof", "probe"].iter().for_each(|key| _ = rows[at].1.remove(*key));
            }
            rows[at].1.extend(said.clone());
            // The name in the configuration wins: a row cannot be called one thing and name itself another.
            rows[at].1.insert("name".to_owned(), name.clone().into());
        }
        // Whoever switches a tool off need not describe it.
        rows.retain(|(_, row)| row.get("off").and_then(toml::Value::as_bool) != Some(true));
        let read = |(name, row): (String, toml::Table)| {
            toml::Value::Table(row).try_into().map_err(|error: toml::de::Error| wrong(&name, error.message()))
        };
        Ok(Tools { rows: rows.into_iter().map(read).collect::<Result<_, _>>()? })
    }

    /// Returns the tool of this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Returns the names of all tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.name.as_str())
    }

    /// Finds the tools that have something to look at here, in the order of the table.
    pub fn detect(&self, ground: &Ground<'_>) -> Vec<DetectedTool> {
        self.rows.iter().filter_map(|row| row.detect(ground)).collect()
    }
}

impl Tool {
    /// Returns the tool's program, as it is called.
    pub fn program(&self) -> &str {
        self.programs.first().map_or(self.name.as_str(), String::as_str)
    }

    /// Whether the tool looks at a changed file of this path.
    pub fn is_for(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        if self.passes_over(path) {
            return false;
        }
        self.files.iter().any(|pattern| match pattern.strip_prefix('*') {
            Some(end) => name.ends_with(end),
            None => pattern == name || pattern == path,
        })
    }

    /// Whether a file lies in a folder that the tool leaves out by itself.
    fn passes_over(&self, path: &str) -> bool {
        let is_left_out = |part: &str| {
            self.leaves_out.iter().any(|folder| match folder.strip_suffix('*') {
                Some(begin) => part.starts_with(begin),
                None => folder == part,
            })
        };
        // The last part is the file itself; only folders count.
        path.split('/').rev().skip(1).any(is_left_out)
    }

    /// Whether the tool looks at a changed file, by its name or by its first line.
    fn is_for_file(&self, path: &str, ground: &Ground<'_>) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        // A script without a suffix names its interpreter in the first line.
        let by_line = || {
            let text = (ground.text)(path)?;
            let program = first_line_program(text.lines().next()?)?;
            Some(self.first_line.contains(&program))
        };
        self.is_for(path)
            // Cheap conditions come first: the text is read only for a file that may be a script.
            || (!self.first_line.is_empty()
                && !name.contains('.')
                && !self.passes_over(path)
                && by_line().unwrap_or(false))
    }

    /// Whether the tool keeps anything for its next run.
    pub fn wants_cache(&self) -> bool {
        let words = self.check.iter().chain(self.env.values());
        words.into_iter().any(|word| word.contains("{cache}"))
    }

    /// Whether the tool may run code of a tree with these files, of which these changed.
    ///
    /// Such code could write into the tool's cache, so nobody who judges another change may trust that cache. One file
    /// that is run is enough: it may read, or be built from, any other.
    pub fn may_run_code(
        &self,
        files: &[String],
        changed: &[String],
        text: &dyn Fn(&str) -> Option<String>,
    ) -> bool {
        let Some(runs) = &self.runs else { return true };
        let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
        let is_run = |path: &String| {
            runs.iter().any(|rule| match (rule.split_once(": "), rule.strip_suffix('/')) {
                (None, Some(folder)) => path.split('/').rev().skip(1).any(|part| part == folder),
                (None, None) => *rule == name(path),
                (Some((file, holds)), _) => {
                    // A file that cannot be read may contain anything.
                    file == name(path) && text(path).is_none_or(|text| bare(&text).contains(&bare(holds)))
                }
            })
        };
        changed.iter().any(|path| self.picks.contains(&name(path))) || files.iter().any(is_run)
    }

    /// Returns every file that the tool may find in a folder above its own and follow.
    pub fn found_above(&self) -> Vec<String> {
        self.steering().into_iter().chain(self.above.iter().cloned()).collect()
    }

    /// Says how the tool answers, for the reader of its output. `steering` is the result of [`Tool::steering`].
    pub fn manner<'a>(&'a self, steering: &'a [String]) -> Manner<'a> {
        Manner {
            form: self.form,
            found: &self.found,
            silent: self.silent.unwrap_or(!self.found.is_empty()),
            proof: &self.proof,
            steering,
            trouble: &self.trouble,
            stops: &self.stops,
        }
    }

    /// Returns every file that steers the tool.
    pub fn steering(&self) -> Vec<String> {
        let configured = self.configured.iter().map(|rule| rule.split(": ").next().unwrap_or(rule));
        self.steering.iter().map(String::as_str).chain(configured).map(str::to_owned).collect()
    }

    /// Finds the file by which a project says that it uses the tool, in one of these folders.
    fn config(&self, ground: &Ground<'_>, folders: &BTreeSet<String>) -> Option<String> {
        self.configured.iter().find_map(|rule| {
            let (name, text) = rule.split_once(": ").map_or((rule.as_str(), None), |(n, t)| (n, Some(t)));
            folders.iter().map(|folder| inside(folder, name)).find(|path| match text {
                None => (ground.exists)(path),
                Some(text) => (ground.text)(path).is_some_and(|found| found.contains(text)),
            })
        })
    }

    /// Finds the places where the tool has something to look at; `None` if there is none.
    pub fn detect(&self, ground: &Ground<'_>) -> Option<DetectedTool> {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        // The top is always among them: a configuration there counts for every file.
        let mut folders = BTreeSet::from([String::new()]);
        for path in ground.changed.iter().filter(|path| self.is_for_file(path, ground)) {
            let above: Vec<&str> = std::iter::successors(parent(path), |at| parent(at)).collect();
            folders.extend(above.iter().map(|at| (*at).to_owned()));
            let place = match &self.root {
                None => Some(""),
                // The outermost one, because that is where a workspace is.
                Some(root) => {
                    above.iter().rev().copied().find(|folder| (ground.exists)(&inside(folder, root)))
                }
            };
            // Without its root file the tool cannot run there, so this changed file is none of its business.
            let Some(place) = place else { continue };
            let within = path.strip_prefix(place).unwrap_or(path).trim_start_matches('/');
            places.entry(place.to_owned()).or_default().push(within.to_owned());
        }
        // A tool without a changed file has nothing to say about the change.
        if places.is_empty() {
            return None;
        }
        let configured = self.config(ground, &folders);
        if self.by_config && configured.is_none() {
            return None;
        }
        let missing = self.programs.iter().filter(|program| !(ground.installed)(program)).cloned();
        Some(DetectedTool { name: self.name.clone(), places, configured, missing: missing.collect() })
    }

    /// Whether the tool is told what files to look at, instead of the whole project.
    pub fn names_files(&self) -> bool {
        self.check.iter().any(|word| word == "{files}")
    }

    /// Adjusts a finding by the row: how severe it may be and what field it belongs to. `None` leaves it out.
    pub fn weigh(&self, mut claim: Claim) -> Option<Claim> {
        if let Some(worst) = self.worst {
            claim.severity = claim.severity.min(worst);
        }
        let rule = claim.rule.as_deref().unwrap_or_default();
        // A linter that runs other linters puts the rule behind its words.
        let said = |known: &String| known == rule || (known.starts_with('(') && claim.claim.ends_with(known));
        // After `worst`: these rules are blockers although the tool's findings are capped.
        if self.blockers.iter().any(said) {
            claim.severity = Severity::Blocker;
        }
        claim.domain = claim.domain.or_else(|| self.domain.clone());
        (self.least.is_none_or(|least| claim.severity >= least)).then_some(claim)
    }

    /// Whether a line of code switches a rule of the tool off.
    pub fn mutes_in(&self, line: &str) -> bool {
        let line = line.to_ascii_lowercase();
        // The parts of a word with an ellipsis stand in this order, with anything between.
        let after = |rest: Option<usize>, part: &str| Some(rest? + line[rest?..].find(part)? + part.len());
        self.mutes.iter().any(|mute| mute.to_ascii_lowercase().split('…').fold(Some(0), after).is_some())
    }
}

/// The values for the names in a row.
pub struct Fill<'a> {
    /// The tool's program, as it is called.
    pub program: &'a str,
    /// The files that the tool looks at.
    pub files: &'a [String],
    /// The file that configures the tool.
    pub config: &'a str,
    /// A folder that lives as long as the run.
    pub cache: &'a str,
}

impl Fill<'_> {
    /// Fills a command line. `{files}` becomes as many words as there are files.
    pub fn argv(&self, words: &[String]) -> Vec<String> {
        let mut argv = Vec::new();
        for word in words {
            match word.as_str() {
                "{files}" => argv.extend(self.files.iter().map(|file| plain(file))),
                word => argv.push(self.text(word)),
            }
        }
        argv
    }

    /// Fills the names in one word.
    pub fn text(&self, word: &str) -> String {
        word.replace("{program}", self.program)
            .replace("{config}", self.config)
            .replace("{cache}", self.cache)
    }
}

/// Names a file so that the tool takes it for a path.
///
/// A file that begins with a dash could be an option, one that begins with an at sign a list of arguments, even after
/// `--` (mypy and other programs in Python read it as one), and the name of a file with a space could not be recognised in
/// the tool's answer.
fn plain(file: &str) -> String {
    let odd = file.starts_with(['-', '@']) || (file.contains(char::is_whitespace) && !file.contains('/'));
    if odd { format!("./{file}") } else { file.to_owned() }
}

/// Finds the program that the first line of a script names: `#!/usr/bin/env -S bash -e` is bash, `#!/usr/bin/python3`
/// is python.
pub fn first_line_program(line: &str) -> Option<String> {
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let mut program = name(words.next()?);
    if program == "env" {
        // `env` may have options and variables before the program.
        program = name(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    Some(program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned())
}

/// Removes white space and quotes from a text, because settings files say one thing in many ways.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect()
}

fn inside(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Returns the folder of a path. The empty path is the top.
fn parent(path: &str) -> Option<&str> {
    if path.is_empty() {
        return None;
    }
    Some(path.rsplit_once('/').map_or("", |(folder, _)| folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Tools {
        Tools::load(&BTreeMap::new()).unwrap()
    }

    fn detect(files: &[(&str, &str)], installed: &[&str], changed: &[&str]) -> Vec<DetectedTool> {
        let exists = |path: &str| files.iter().any(|(name, _)| *name == path);
        let text = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, t)| (*t).to_owned());
        let there = |program: &str| installed.contains(&program);
        let changed: Vec<String> = changed.iter().map(|path| (*path).to_owned()).collect();
        tools().detect(&Ground { exists: &exists, text: &text, installed: &there, changed: &changed })
    }

    fn names(found: &[DetectedTool]) -> Vec<&str> {
        found.iter().map(|one| one.name.as_str()).collect()
    }

    #[test]
    fn words_that_switch_a_rule_off_are_known_in_every_order() {
        let tools = Tools::load(&BTreeMap::new()).unwrap();
        let check = |name: &str, line: &str, expect: bool| {
            assert_eq!(tools.get(name).unwrap().mutes_in(line), expect, "{name}: {line}");
        };
        check("ruff", "x = 1  # NOQA", true);
        check("ruff", "# flake8: noqa", true);
        check("shellcheck", "# shellcheck source=/dev/null disable=SC2086", true);
        check("shellcheck", "# shellcheck source=lib.sh", false);
        check("clippy", "#![cfg_attr(all(), allow(clippy::all))]", true);
        check("clippy", "#![cfg_attr(test, deny(x))]", false);
        check("eslint", "/* eslint no-undef: 0 */", true);
        check("eslint", "// eslint is a tool", false);
    }

    #[test]
    fn every_row_can_be_used() {
        let tools = tools();
        for row in &tools.rows {
            assert!(!row.files.is_empty() && !row.programs.is_empty() && !row.check.is_empty(), "{row:?}");
            assert!(row.form != ToolForm::Rewrite || !row.fix.is_empty(), "{} rewrites nothing", row.name);
            assert!(!row.by_config || !row.configured.is_empty(), "{} can never be configured", row.name);
            assert!(!row.what.is_empty(), "{}", row.name);
            // Nothing printed is never an answer of a row of ours.
            let proven = !row.proof.is_empty() || row.probe.is_some();
            let plain = matches!(row.form, ToolForm::Lines | ToolForm::Rewrite);
            assert!(proven || !plain, "{} may look at nothing and pass", row.name);
            assert!(row.probe.is_none() || row.names_files(), "{} never gets its probe", row.name);
        }
        let names: BTreeSet<&str> = tools.names().collect();
        assert_eq!(names.len(), tools.rows.len(), "no name twice");
    }

    #[test]
    fn what_is_configured_or_plainly_there_is_found() {
        let rust = [("Cargo.toml", ""), ("src/a.rs", "")];
        let all = ["cargo", "cargo-clippy", "cargo-fmt", "rustfmt", "ruff", "mypy", "shellcheck", "eslint"];
        assert_eq!(names(&detect(&rust, &all, &["src/a.rs", "README.md"])), ["rustfmt", "clippy"]);
        assert_eq!(names(&detect(&rust, &all, &["README.md"])), [""; 0], "nothing of it changed");
        assert_eq!(names(&detect(&[], &all, &["a.py"])), ["ruff"], "mypy is only for who asked for it");
        let typed = [("pyproject.toml", "[tool.mypy]\nstrict = true\n"), ("a.py", "")];
        assert_eq!(names(&detect(&typed, &all, &["a.py"])), ["ruff", "mypy"]);
        assert_eq!(names(&detect(&[], &all, &["run.sh", "a.js"])), ["shellcheck"]);
        assert_eq!(names(&detect(&[("eslint.config.js", "")], &all, &["a.js"])), ["eslint"]);
    }

    #[test]
    fn a_file_without_a_suffix_is_known_by_its_first_line() {
        let check = |line: &str, expect: Option<&str>| {
            assert_eq!(first_line_program(line).as_deref(), expect, "{line}");
        };
        check("#!/bin/sh", Some("sh"));
        check("#! /usr/bin/env bash", Some("bash"));
        check("#!/usr/bin/env -S LANG=C python3.11 -u", Some("python"));
        check("# a comment", None);
        check("#!", None);
        let all = ["shellcheck", "ruff"];
        let files =
            [("install", "#!/usr/bin/env bash\nkey=1\n"), ("tool", "#!/usr/bin/python3\n"), ("LICENSE", "x")];
        let found = detect(&files, &all, &["install", "tool", "LICENSE"]);
        assert_eq!(names(&found), ["ruff", "shellcheck"]);
        assert_eq!(found[1].places[""], ["install"]);
    }

    #[test]
    fn a_tool_that_is_asked_for_and_not_there_is_told() {
        let found = detect(&[("ruff.toml", "")], &[], &["a.py"]);
        assert_eq!(found[0].missing, ["ruff"]);
        assert_eq!(found[0].configured.as_deref(), Some("ruff.toml"));
        let found = detect(&[], &[], &["a.py"]);
        assert_eq!(found[0].configured, None);
    }

    #[test]
    fn it_runs_in_the_outermost_folder_that_is_its_root() {
        let files = [("rust/Cargo.toml", ""), ("rust/inner/Cargo.toml", ""), ("other/Cargo.toml", "")];
        let found = detect(&files, &["cargo"], &["rust/inner/src/a.rs", "other/b.rs", "loose.rs"]);
        let expect: BTreeMap<String, Vec<String>> = BTreeMap::from([
            ("rust".to_owned(), vec!["inner/src/a.rs".to_owned()]),
            ("other".to_owned(), vec!["b.rs".to_owned()]),
        ]);
        assert_eq!(found[0].places, expect);
    }

    #[test]
    fn a_file_name_is_never_an_option() {
        let tools = tools();
        let ruff = tools.get("ruff").unwrap();
        let files = ["--fix.py".to_owned(), "a b.py".to_owned()];
        let argv = Fill { program: "ruff", files: &files, config: "", cache: "/c" }.argv(&ruff.check);
        assert_eq!(argv[argv.len() - 2..], ["./--fix.py", "./a b.py"]);
    }

    #[test]
    fn a_users_row_takes_the_place_of_a_built_in_one() {
        let own: toml::Table = toml::from_str(
            "ruff = { off = true }\nclippy = { check = ['cargo', 'clippy', '--tests'] }\nmine = { files = ['*.x'], programs = ['mine'], check = ['mine'], form = 'lines' }\n",
        )
        .unwrap();
        let own: BTreeMap<String, toml::Value> = own.into_iter().collect();
        let tools = Tools::load(&own).unwrap();
        assert!(tools.get("ruff").is_none());
        let (clippy, built_in) = (tools.get("clippy").unwrap(), Tools::load(&BTreeMap::new()).unwrap());
        assert_eq!(clippy.check, ["cargo", "clippy", "--tests"]);
        let known = built_in.get("clippy").unwrap().clone();
        assert_eq!(known.past.as_ref().unwrap().kinds, ["bench"]);
        // How it goes on belongs to how it is asked.
        assert_eq!(Tool { check: clippy.check.clone(), past: None, ..known }, *clippy);
        assert_eq!(tools.get("mine").unwrap().program(), "mine");
        let wrong = BTreeMap::from([("x".to_owned(), toml::Value::from("y"))]);
        assert!(Tools::load(&wrong).is_err());
    }

    #[test]
    fn what_may_run_code_of_the_project_is_known() {
        let tools = tools();
        let check = |tool: &str, files: &[(&str, &str)], changed: &[&str], expect: bool| {
            let text =
                |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, t)| (*t).to_owned());
            let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
            let changed: Vec<String> = changed.iter().map(|path| (*path).to_owned()).collect();
            let tool = tools.get(tool).unwrap();
            assert_eq!(
                tool.may_run_code(&names, &changed, &text),
                expect,
                "{} {files:?} {changed:?}",
                tool.name
            );
        };
        let plain = ("Cargo.toml", "[package]\nname = 'a'\n[build-dependencies]\ncc = '1'\n");
        check("clippy", &[plain, ("src/lib.rs", "")], &["src/lib.rs"], false);
        check("clippy", &[plain], &["Cargo.toml"], true);
        check("clippy", &[plain], &["Cargo.lock"], true);
        // One that is there and did not change may read what did, or be built from it.
        check("clippy", &[plain, ("b/build.rs", "")], &["data/table.csv"], true);
        check("clippy", &[plain, (".cargo/config.toml", "[build]\nrustc-wrapper = './w'")], &["a.rs"], true);
        check("clippy", &[plain, ("a/.cargo/config", "")], &["a.rs"], true);
        for manifest in [
            "[lib]\nproc-macro = true",
            "[lib]\nproc-macro=true",
            "[lib]\n\"proc-macro\"   =   true",
            "[lib]\nproc_macro = true",
            "[lib]\ncrate-type = [ \"proc-macro\" ]",
            "[package]\nbuild = 'make.rs'",
            "[package]\nbuild=\"make.rs\"",
            "package.'build' = 'make.rs'",
            "[package]\n\"\\u0062uild\" = 'make.rs'",
        ] {
            check("clippy", &[plain, ("m/Cargo.toml", manifest)], &["src/lib.rs"], true);
        }
        check(
            "clippy",
            &[plain, ("rust-toolchain.toml", "[toolchain]\nchannel = 'stable'")],
            &["a.rs"],
            false,
        );
        check("clippy", &[plain, ("rust-toolchain.toml", "[toolchain]\npath = './own'")], &["a.rs"], true);
        check("mypy", &[("mypy.ini", "[mypy]\nstrict = True")], &["a.py"], false);
        check("mypy", &[("mypy.ini", "[mypy]\nplugins = ./p.py"), ("p.py", "")], &["p.py"], true);
        check("mypy", &[("setup.cfg", "[mypy]\npython_executable: ./py")], &["a.py"], true);
        check("mypy", &[("mypy.ini", "[mypy]")], &["mypy.ini"], true);
        check("go-vet", &[("go.mod", ""), ("a.go", "")], &["a.go"], false);
        check("golangci-lint", &[(".golangci.yml", "custom:\n  x:\n    path: x.so")], &["a.go"], true);
    }

    #[test]
    fn a_row_that_does_not_say_what_it_runs_may_run_anything() {
        for row in tools().rows.iter().filter(|row| row.wants_cache()) {
            assert!(row.runs.is_some(), "{} keeps a folder and does not say what it runs", row.name);
        }
        let own: toml::Table = toml::from_str(
            "mine = { files = ['*.x'], programs = ['mine'], check = ['mine', '{cache}'], form = 'lines' }",
        )
        .unwrap();
        let tools = Tools::load(&own.into_iter().collect()).unwrap();
        assert!(tools.get("mine").unwrap().may_run_code(&[], &[], &|_| None));
    }

    #[test]
    fn a_row_says_how_severe_its_findings_are() {
        let tools = tools();
        let ruff = tools.get("ruff").unwrap();
        let mut claim = Claim::new(Severity::Blocker, "unused");
        claim.rule = Some("F401".to_owned());
        assert_eq!(ruff.weigh(claim.clone()).unwrap().severity, Severity::Warning);
        claim.rule = Some("F821".to_owned());
        assert_eq!(ruff.weigh(claim).unwrap().severity, Severity::Blocker);
        let note = Claim::new(Severity::Suggestion, "see there");
        assert_eq!(tools.get("mypy").unwrap().weigh(note), None);
    }
}
