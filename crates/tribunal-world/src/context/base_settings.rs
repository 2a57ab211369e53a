//! The check settings of a rebased result.
//!
//! Trust comes from the base: if the user's branch brings other commands that build, test or judge the project, the
//! rebased result is held against those. All other settings stay as the run began, and the run names those that changed
//! without being read.

use super::RunContext;
use super::lock;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tribunal_core::green::after_rebase;
use tribunal_engine::run_state::{Note, RunState};
use tribunal_engine::settings::CheckSettings;
use tribunal_git::{GitPath, Oid};
use tribunal_view::plain;

/// The project's own settings file, in its root.
const FILE: &str = "tribunal.toml";
/// The settings that a rebase reads again.
const READ: [&str; 4] = ["checks.build", "checks.test", "checks.no_tests", "checks.commands."];

/// The check settings by the commit that a result stands on.
pub(crate) type ByBase = Mutex<BTreeMap<String, Arc<CheckSettings>>>;

/// The checks in a commit's settings file; other tables are ignored.
#[derive(Default, Deserialize)]
struct FileSettings {
    #[serde(default)]
    checks: FileChecks,
}

#[derive(Default, Deserialize)]
struct FileChecks {
    #[serde(default)]
    build: Vec<String>,
    #[serde(default)]
    test: Vec<String>,
    #[serde(default)]
    no_tests: bool,
    #[serde(default)]
    commands: BTreeMap<String, Vec<String>>,
}

impl RunContext {
    /// The check settings that hold on the current base.
    pub(crate) fn check_settings(&self, run_state: &RunState) -> Arc<CheckSettings> {
        let kept = &self.settings.checks;
        let (began, base) = (&run_state.about.base, run_state.base());
        // Not rebased: the settings of the run hold as they are.
        if began == base {
            return Arc::new(kept.clone());
        }
        let mut known = lock(&self.checks_by_base);
        let known = known.entry(base.to_owned());
        // A rebase onto settings that cannot be read is refused, so the fallback is never meant to be used.
        let now = || rebased(kept, &text_at(self, began).ok()?, &text_at(self, base).ok()?).ok();
        Arc::clone(known.or_insert_with(|| Arc::new(now().unwrap_or_else(|| kept.clone()))))
    }

    /// The note about settings that a rebase onto this commit changes. The error says why they cannot be read.
    pub(crate) fn settings_change(&self, began: &str, onto: &Oid) -> Result<Option<Note>, String> {
        let (before, now) = (text_at(self, began)?, text_at(self, onto.as_str())?);
        if before == now {
            return Ok(None);
        }
        rebased(&self.settings.checks, &before, &now)?;
        Ok(said(&changed_keys(&before, &now)?).map(Note::Warning))
    }
}

fn text_at(context: &RunContext, commit: &str) -> Result<String, String> {
    let read = || context.repo.file_at(&Oid::parse(commit)?, &GitPath::from(FILE));
    let bytes = read().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
}

fn unreadable(error: &toml::de::Error) -> String {
    format!("{FILE} of the branch cannot be read: {}", plain::clipped(error.message(), 200))
}

/// The settings a run began with, with the commands of the new base in place of the old base's.
///
/// A value from a flag, the environment or the user's own file is not the base's, and stays. A check that the new base
/// no longer has stays too, because loops were judged by it.
fn rebased(kept: &CheckSettings, before: &str, now: &str) -> Result<CheckSettings, String> {
    let read = |text: &str| {
        toml::from_str::<FileSettings>(text).map(|file| file.checks).map_err(|error| unreadable(&error))
    };
    let (before, now) = (read(before)?, read(now)?);
    let mut checks = kept.clone();
    checks.build = after_rebase(kept.build.clone(), &before.build, now.build);
    checks.test = after_rebase(kept.test.clone(), &before.test, now.test);
    checks.no_tests = after_rebase(kept.no_tests, &before.no_tests, now.no_tests);
    for (name, argv) in now.commands {
        // What the run has under this name, whether it came from the old base or from the user.
        let own = kept.commands.get(&name);
        if let Some(argv) = after_rebase(own, &before.commands.get(&name), Some(&argv)) {
            checks.commands.insert(name, argv.clone());
        }
    }
    // An empty command cannot judge anything.
    match checks.commands.iter().find(|(_, argv)| argv.is_empty()) {
        Some((name, _)) => Err(format!("{FILE} of the branch: the command of check {name:?} is empty")),
        None => Ok(checks),
    }
}

/// The settings in which two files differ, by name.
fn changed_keys(before: &str, now: &str) -> Result<BTreeSet<String>, String> {
    let flat = |text: &str| -> Result<BTreeMap<String, String>, String> {
        let table: toml::Table = toml::from_str(text).map_err(|error| unreadable(&error))?;
        let mut found = BTreeMap::new();
        flatten("", &toml::Value::Table(table), &mut found);
        Ok(found)
    };
    let (before, now) = (flat(before)?, flat(now)?);
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    Ok(names.into_iter().filter(|name| before.get(*name) != now.get(*name)).cloned().collect())
}

fn flatten(name: &str, value: &toml::Value, found: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(key, value)| {
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            flatten(&name, value, found);
        }),
        other => drop(found.insert(name.to_owned(), other.to_string())),
    }
}

/// The sentence about settings that are read from now on and those that are not.
fn said(changed: &BTreeSet<String>) -> Option<String> {
    let is_read = |key: &&String| READ.iter().any(|read| key.starts_with(read));
    let names = |keys: Vec<&String>| plain::line(&keys.into_iter().cloned().collect::<Vec<_>>().join(", "));
    let (read, not): (Vec<&String>, Vec<&String>) = changed.iter().partition(is_read);
    let read = (!read.is_empty()).then(|| format!("read from now on: {}", names(read)));
    let not = (!not.is_empty()).then(|| {
        format!("not read: {}; a run keeps what it began with, and a new run reads them", names(not))
    });
    let parts: Vec<String> = read.into_iter().chain(not).collect();
    (!parts.is_empty()).then(|| format!("{FILE} changed on the branch meanwhile; {}", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(test: &[&str]) -> CheckSettings {
        let text = r#"{ "timeout_s": 1 }"#;
        let checks: CheckSettings = serde_json::from_str(text).unwrap();
        CheckSettings { test: test.iter().map(|word| (*word).to_owned()).collect(), ..checks }
    }

    /// What the old base said becomes what the new one says; what somebody set elsewhere stays.
    #[test]
    fn commands_follow_the_base() {
        let (before, now) = ("[checks]\ntest = [\"a\"]\n", "[checks]\ntest = [\"b\"]\n");
        assert_eq!(rebased(&kept(&["a"]), before, now).unwrap().test, ["b"]);
        assert_eq!(rebased(&kept(&["flag"]), before, now).unwrap().test, ["flag"]);
        assert_eq!(rebased(&kept(&[]), "", now).unwrap().test, ["b"]);
        assert!(rebased(&kept(&["a"]), before, "").unwrap().test.is_empty(), "it is detected again");
    }

    /// A check is added or changed, and never lost.
    #[test]
    fn checks_are_not_lost() {
        let before = "[checks.commands]\nold = [\"a\"]\nboth = [\"a\"]\n";
        let now = "[checks.commands]\nnew = [\"c\"]\nboth = [\"b\"]\n";
        let mut own = kept(&[]);
        own.commands = toml::from_str::<FileSettings>(before).unwrap().checks.commands;
        let commands = rebased(&own, before, now).unwrap().commands;
        let all: Vec<(&str, &str)> =
            commands.iter().map(|(name, argv)| (name.as_str(), argv[0].as_str())).collect();
        assert_eq!(all, [("both", "b"), ("new", "c"), ("old", "a")]);
    }

    #[test]
    fn what_cannot_be_read_is_not_read() {
        for now in ["[checks", "[checks]\ntest = 3\n", "[checks.commands]\nx = []\n"] {
            assert!(rebased(&kept(&[]), "", now).is_err(), "{now}");
        }
    }

    #[test]
    fn changes_are_named() {
        let before = "[plan]\nreview = \"never\"\n[checks]\ntest = [\"a\"]\n";
        let now = "[plan]\nreview = \"always\"\n[checks]\ntest = [\"b\"]\n";
        let said = said(&changed_keys(before, now).unwrap()).unwrap();
        assert!(said.contains("read from now on: checks.test;"), "{said}");
        assert!(said.contains("not read: plan.review;"), "{said}");
    }
}
