//! Finds out whether somebody is logged in to a program, by looking at files and names alone. It starts nothing, costs
//! nothing and never reads a secret.
//!
//! It is a sign and not a proof: a login that has expired looks the same as a valid one.

use super::Adapter;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What can be told about a login without asking the program or its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// A variable of this name is set and not empty.
    Variable(String),
    /// This file exists and is not empty.
    File(PathBuf),
    /// None of the known signs exists, so a launch will probably fail.
    None,
    /// The row names no sign, so nothing can be said.
    Unknown,
}

impl Adapter {
    /// Looks for the signs of a login that the row names. `get` reads a variable of the user's environment.
    pub fn login(&self, get: &dyn Fn(&str) -> Option<OsString>) -> Login {
        if self.login_env.is_empty() && self.login_files.is_empty() {
            return Login::Unknown;
        }
        // A variable that is set but empty is not a login.
        let set = |name: &&String| get(name).is_some_and(|value| !value.is_empty());
        if let Some(name) = self.login_env.iter().find(set) {
            return Login::Variable(name.clone());
        }
        // Without a home, paths below it cannot exist; absolute ones still can.
        let home = get("HOME").map(PathBuf::from);
        let place = |file: &String| match file.strip_prefix("~/") {
            Some(rest) => home.as_ref().map(|home| home.join(rest)),
            None => Some(PathBuf::from(file)),
        };
        let found = self.login_files.iter().filter_map(place).find(|file: &PathBuf| is_there(file));
        found.map_or(Login::None, Login::File)
    }
}

fn is_there(file: &Path) -> bool {
    // An empty file holds no login.
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Adapters;

    #[test]
    fn a_login_is_seen_by_its_signs_alone() {
        let home = tempfile::tempdir().unwrap();
        let adapters = Adapters::built_in().unwrap();
        let claude = adapters.get("claude").unwrap();
        let bare = |name: &str| (name == "HOME").then(|| home.path().into());
        assert_eq!(claude.login(&bare), Login::None);
        let keyed = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "x".into());
        assert_eq!(claude.login(&keyed), Login::Variable("ANTHROPIC_API_KEY".into()));
        let file = home.path().join(".claude/.credentials.json");
        std::fs::create_dir(home.path().join(".claude")).unwrap();
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(claude.login(&bare), Login::File(file));
        assert_eq!(adapters.get("command").unwrap().login(&bare), Login::Unknown);
    }
}
