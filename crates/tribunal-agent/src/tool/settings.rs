//! The settings of a tool as a change found them. A change that brings other settings could hide what the tool would
//! have found in it.
//!
//! So the tool is asked again with the settings of the base. This module says what files hold settings, and what such a
//! file looks like with only its settings put back: the rest of the file may be part of the change and has to stay.

use super::Tool;

/// How a file that a change touches gets the tool's settings of the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutBack {
    /// The file stays: it holds no settings, or the same ones.
    Nothing,
    /// The whole file becomes what it is in the base, also if the base does not have it.
    Whole,
    /// The file stays as the change has it, with only the settings of the base: this is its text.
    Text(String),
}

impl Tool {
    /// Whether a file, as a whole or in part, holds settings of the tool.
    pub fn has_settings_in(&self, path: &str) -> bool {
        self.rules().iter().any(|rule| is_of(rule.split(": ").next().unwrap_or(rule), path))
    }

    /// Says what happens to a file that a change touches, so that the tool can be asked with the settings of the base.
    pub fn put_back(&self, path: &str, before: Option<&str>, now: Option<&str>) -> PutBack {
        let rules = self.rules();
        let of_file = || rules.iter().filter(|rule| is_of(rule.split(": ").next().unwrap_or(rule), path));
        let parts: Vec<&str> = of_file().filter_map(|rule| Some(rule.split_once(": ")?.1)).collect();
        match (of_file().count(), now) {
            (0, _) => PutBack::Nothing,
            // Only if every rule names a part of the file; one rule that names the whole file decides.
            (count, Some(now)) if count == parts.len() => {
                let toml = path.ends_with(".toml");
                let merged = if toml { in_toml(&parts, before, now) } else { in_json(&parts, before, now) };
                // A file that cannot be read in parts is taken back as a whole, which hides nothing.
                merged.unwrap_or(PutBack::Whole)
            }
            _ => PutBack::Whole,
        }
    }

    /// Returns the rules of the row. By default every file that configures or steers the tool counts as a whole.
    fn rules(&self) -> Vec<String> {
        self.settings.clone().unwrap_or_else(|| self.steering())
    }
}

/// Whether a rule names this path.
fn is_of(rule: &str, path: &str) -> bool {
    // Most rules name a file wherever it lies, because tools look for their settings in every folder.
    let name = path.rsplit('/').next().unwrap_or(path);
    if let Some(folder) = rule.strip_suffix('/') {
        return path.split('/').rev().skip(1).any(|part| part == folder);
    }
    match (rule.strip_prefix('*'), rule.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(begin)) => name.starts_with(begin),
        (None, None) => rule == name || rule == path,
    }
}

/// Puts parts of a TOML file back; `None` if it cannot be read.
fn in_toml(parts: &[&str], before: Option<&str>, now: &str) -> Option<PutBack> {
    let old: toml::Table = before.unwrap_or_default().parse().ok()?;
    let mut new: toml::Table = now.parse().ok()?;
    let mut differs = false;
    for part in parts {
        let keys: Vec<&str> = part.split('.').collect();
        let (last, above) = keys.split_last()?;
        let value = above.iter().try_fold(&old, |table, key| table.get(*key)?.as_table());
        let value = value.and_then(|table| table.get(*last));
        let there = above.iter().try_fold(&new, |table, key| table.get(*key)?.as_table());
        // Compared as values, so that a change of layout or comments is not taken for other settings.
        if there.and_then(|table| table.get(*last)) == value {
            continue;
        }
        differs = true;
        let mut table = &mut new;
        for key in above {
            let entry = table.entry((*key).to_owned()).or_insert_with(|| toml::Table::new().into());
            table = entry.as_table_mut()?;
        }
        match value {
            Some(value) => drop(table.insert((*last).to_owned(), value.clone())),
            None => drop(table.remove(*last)),
        }
    }
    Some(if differs { PutBack::Text(toml::to_string(&new).ok()?) } else { PutBack::Nothing })
}

/// Puts parts of a JSON file back, whose parts are keys of the document.
fn in_json(parts: &[&str], before: Option<&str>, now: &str) -> Option<PutBack> {
    // A file that the base does not have holds no settings, so every part is removed.
    let old: serde_json::Value = serde_json::from_str(before.unwrap_or("{}")).ok()?;
    let mut new: serde_json::Value = serde_json::from_str(now).ok()?;
    let mut differs = false;
    for part in parts {
        let value = old.get(*part);
        differs |= new.get(*part) != value;
        match value {
            Some(value) => drop(new.as_object_mut()?.insert((*part).to_owned(), value.clone())),
            None => drop(new.as_object_mut()?.remove(*part)),
        }
    }
    Some(if differs { PutBack::Text(new.to_string()) } else { PutBack::Nothing })
}

#[cfg(test)]
mod tests {
    use super::super::Tools;
    use super::*;
    use std::collections::BTreeMap;

    fn put_back(tool: &str, path: &str, before: Option<&str>, now: Option<&str>) -> PutBack {
        Tools::load(&BTreeMap::new()).unwrap().get(tool).unwrap().put_back(path, before, now)
    }

    #[test]
    fn a_file_of_settings_is_put_back_as_a_whole() {
        for (tool, path) in [
            ("ruff", "ruff.toml"),
            ("ruff", "deep/down/.ruff.toml"),
            ("eslint", "eslint.config.mjs"),
            ("eslint", "web/.eslintrc.json"),
            ("eslint", ".eslintignore"),
            ("clippy", "clippy.toml"),
            ("clippy", ".cargo/config.toml"),
            ("mypy", "mypy.ini"),
            ("tsc", "tsconfig.base.json"),
            ("shellcheck", "bin/.shellcheckrc"),
            ("semgrep", ".semgrep/rules/a.yml"),
            ("golangci-lint", ".golangci.yml"),
        ] {
            assert_eq!(put_back(tool, path, Some("a"), Some("b")), PutBack::Whole, "{tool} {path}");
            assert_eq!(put_back(tool, path, None, Some("b")), PutBack::Whole, "{tool} {path}");
            assert_eq!(put_back(tool, path, Some("a"), None), PutBack::Whole, "{tool} {path}");
        }
        assert_eq!(put_back("ruff", "src/a.py", Some("a"), Some("b")), PutBack::Nothing);
        assert_eq!(put_back("go-vet", "go.mod", Some("a"), Some("b")), PutBack::Nothing);
    }

    #[test]
    fn of_a_manifest_only_the_settings_are_put_back() {
        let old = "[project]\nname = \"a\"\n[tool.ruff]\nline-length = 80\n";
        let new = "[project]\nname = \"b\"\n[tool.ruff]\nexclude = [\"a.py\"]\n";
        let PutBack::Text(text) = put_back("ruff", "pyproject.toml", Some(old), Some(new)) else { panic!() };
        assert!(text.contains("name = \"b\"") && text.contains("line-length = 80"), "{text}");
        assert!(!text.contains("exclude"), "{text}");
        let PutBack::Text(text) = put_back("ruff", "pyproject.toml", None, Some(new)) else { panic!() };
        assert!(text.contains("name = \"b\"") && !text.contains("exclude"), "{text}");
        let other = old.replace("\"a\"", "\"b\"");
        assert_eq!(put_back("ruff", "pyproject.toml", Some(old), Some(&other)), PutBack::Nothing);
        // Other ways to say the same are read as well; what cannot be read is put back as a whole.
        let dotted = "tool.ruff.exclude = [\"a.py\"]\n[project]\nname = \"b\"\n";
        let PutBack::Text(text) = put_back("ruff", "pyproject.toml", Some(old), Some(dotted)) else {
            panic!()
        };
        assert!(!text.contains("exclude"), "{text}");
        assert_eq!(put_back("ruff", "pyproject.toml", Some(old), Some("[")), PutBack::Whole);
        let lints = "[lints.clippy]\nall = \"allow\"\n[dependencies]\na = \"1\"\n";
        let PutBack::Text(text) = put_back("clippy", "x/Cargo.toml", Some(""), Some(lints)) else { panic!() };
        assert!(!text.contains("allow") && text.contains("a = \"1\""), "{text}");
        let package = r#"{"name":"b","eslintConfig":{"rules":{}},"eslintIgnore":["a.js"]}"#;
        let text = put_back("eslint", "package.json", Some(r#"{"name":"a"}"#), Some(package));
        assert_eq!(text, PutBack::Text(r#"{"name":"b"}"#.to_owned()));
    }
}
