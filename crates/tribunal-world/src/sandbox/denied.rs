//! Places that no launch sees, whatever else shows them: secrets by their usual names, the targets of links to them,
//! Tribunal's folders, and the logins of other agents.
//!
//! This is the second layer. The home is empty to begin with, so these rules matter where the settings or a tool's root
//! show more of it.

use super::expand;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use tribunal_agent::{Adapter, Adapters};

/// Paths in a home that only the user needs.
pub(super) const SECRETS: [&str; 58] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".password-store",
    ".terraform.d",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mozilla",
    ".thunderbird",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".gradle/init.gradle",
    ".gradle/init.d",
    ".nuget/NuGet",
    ".pub-cache/credentials.json",
    ".hex/hex.config",
    ".bundle/config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/pip",
    ".pip",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/git/credentials",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    ".config/containers/auth.json",
    ".config/tribunal",
    ".local/share/keyrings",
    ".local/share/containers",
    ".local/state/tribunal",
    ".stack/config.yaml",
    ".julia/servers",
    ".ghcup/config.yaml",
];
/// How many entries of a secret folder are searched for links, and where a link may lead without making its target
/// secret.
const ENTRIES_MAX: usize = 500;
const MACHINE: [&str; 3] = ["/usr", "/nix", "/gnu"];

/// The places that are kept from a launch, and the targets of links to them.
#[derive(Default)]
pub(super) struct Denied {
    /// The user's own secrets. Nothing in them is shown.
    pub(super) secrets: BTreeSet<PathBuf>,
    /// Folders of other agents. A program that lies there may still be started.
    pub(super) others: BTreeSet<PathBuf>,
}

impl Denied {
    /// Adds a secret, its target, and the targets of links inside it.
    ///
    /// People keep `~/.ssh` or a key as a link into another folder. Hiding only the link would leave the key readable
    /// under its real path.
    pub(super) fn secret(&mut self, path: PathBuf) {
        if let Ok(real) = path.canonicalize() {
            let entries = fs::read_dir(&real).into_iter().flatten().filter_map(Result::ok).take(ENTRIES_MAX);
            let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            let targets = links.filter_map(|entry| entry.path().canonicalize().ok());
            // A program of the machine is not a secret.
            self.secrets.extend(targets.filter(|target| !MACHINE.iter().any(|top| target.starts_with(top))));
            self.secrets.insert(real);
        }
        self.secrets.insert(path);
    }

    /// Adds the places of every agent but one.
    pub(super) fn agents(
        &mut self,
        adapters: &Adapters,
        but: Option<&Adapter>,
        home: Option<&Path>,
        env: &[(OsString, OsString)],
    ) {
        let rows = adapters.names().filter_map(|name| adapters.get(name).ok());
        // Rows with the same home are the same program, so they share its login.
        for row in rows.filter(|row| but.is_none_or(|own| own.home != row.home)) {
            let of_home =
                row.home.private.iter().chain(&row.home.write).chain(&row.home.copy).chain(&row.login_files);
            for path in of_home.filter_map(|text| expand(text, home, env)) {
                self.others.extend(path.canonicalize());
                self.others.insert(path);
            }
        }
    }

    /// Whether a place is a secret or lies in one.
    pub(super) fn holds(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.secrets.contains(above))
    }

    /// Whether a place belongs to another agent.
    pub(super) fn is_of_another(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.others.contains(above))
    }

    /// Whether a secret, or a place of another agent, lies below a place.
    pub(super) fn is_below(&self, path: &Path) -> bool {
        let below = |set: &BTreeSet<PathBuf>| {
            // Paths are ordered by their components, so everything below a path directly follows it.
            set.range(path.to_path_buf()..).next().is_some_and(|first| first.starts_with(path))
        };
        below(&self.secrets) || below(&self.others)
    }

    /// Every place, for the second layer.
    pub(super) fn places(&self) -> impl Iterator<Item = &PathBuf> {
        self.secrets.iter().chain(&self.others)
    }
}

/// Whether the text of a settings file looks as if it held a password or a token.
///
/// It errs on the side of hiding: a comment is skipped, but any mention of a token in a setting counts.
pub(super) fn holds_credential(text: &str) -> bool {
    const NAMES: [&str; 8] =
        ["token", "secret", "password", "passwd", "credential", "extraheader", "api_key", "apikey"];
    // `https://user:password@host`: a credential in an address.
    let address = |line: &str| {
        let rest = line.split_once("://").map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.split('/').next().is_some_and(|host| host.contains('@')))
    };
    // Both signs begin a comment in git's settings.
    text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])).any(|line| {
        let low = line.to_ascii_lowercase();
        address(line) || NAMES.iter().any(|name| low.contains(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_a_credential_are_known() {
        for (text, holds) in [
            ("[build]\nrustflags = [\"-C\", \"target-cpu=native\"]\n", false),
            ("[registry]\ntoken = \"abc\"\n", true),
            ("[http]\nproxy = \"http://me:word@proxy:3128\"\n", true),
            ("[source.mirror]\nregistry = \"https://mirror/a@b\"\n", false),
            ("# token = none\n", false),
            ("[http]\n\textraHeader = AUTHORIZATION: basic x\n", true),
        ] {
            assert_eq!(holds_credential(text), holds, "{text}");
        }
    }

    #[test]
    fn a_secret_is_where_its_link_leads_too() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("dotfiles/ssh")).unwrap();
        std::os::unix::fs::symlink("dotfiles/ssh", root.join(".ssh")).unwrap();
        fs::write(root.join("key"), "").unwrap();
        std::os::unix::fs::symlink("../../key", root.join("dotfiles/ssh/key")).unwrap();
        let mut denied = Denied::default();
        denied.secret(root.join(".ssh"));
        assert!(denied.holds(&root.join("dotfiles/ssh/id")) && denied.holds(&root.join(".ssh")));
        assert!(denied.holds(&root.join("key")), "a link in it leads there");
        assert!(!denied.holds(&root.join("dotfiles")) && denied.is_below(&root.join("dotfiles")));
    }
}
