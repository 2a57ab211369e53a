//! The files that `tribunal init --plugin` writes for editor agents: a Claude Code plugin, and a paragraph for
//! AGENTS.md.
//!
//! Files that exist and differ are never overwritten, and no link is followed: the folder belongs to the user, and a
//! branch could have put a link there. Everything is checked before anything is written.

use crate::failure::Failure;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use tribunal_world::read_plain;

/// The plugin's folder, relative to the project's root.
pub const FOLDER: &str = ".claude/plugins/tribunal";
/// A paragraph for agents that read AGENTS.md.
pub const AGENTS: &str = include_str!("AGENTS.md");

/// The files of the plugin, relative to the project's root.
const FILES: [(&str, &str); 7] = [
    (".claude/plugins/.claude-plugin/marketplace.json", include_str!("marketplace.json")),
    (".claude/plugins/tribunal/.claude-plugin/plugin.json", include_str!("plugin.json")),
    (".claude/plugins/tribunal/.mcp.json", include_str!("mcp.json")),
    (".claude/plugins/tribunal/hooks/hooks.json", include_str!("hooks.json")),
    (".claude/plugins/tribunal/commands/run.md", include_str!("commands/run.md")),
    (".claude/plugins/tribunal/commands/review.md", include_str!("commands/review.md")),
    (".claude/plugins/tribunal/commands/status.md", include_str!("commands/status.md")),
];

fn text(template: &str) -> String {
    template.replace("{version}", env!("CARGO_PKG_VERSION"))
}

/// Writes the plugin's files that are missing, and returns their paths.
///
/// If one exists and differs, nothing is written at all, so nobody gets a mix of two versions.
pub fn write(root: &Path) -> Result<Vec<&'static str>, Failure> {
    let mut missing = Vec::new();
    for (path, template) in FILES {
        // Before the read: reading through a link already leaves the project.
        no_links(root, path)?;
        match read_plain(&root.join(path)) {
            Ok(bytes) if bytes == text(template).as_bytes() => {}
            Ok(_) => {
                return Err(Failure::usage(format!(
                    "{path} is there and differs from what would be written"
                ))
                .hint("move it away, or take over by hand what you changed; nothing was written"));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => missing.push((path, template)),
            Err(error) => return Err(cannot(path, &error)),
        }
    }
    for (path, template) in &missing {
        let whole = root.join(path);
        let parent = whole.parent().map_or_else(PathBuf::new, Path::to_owned);
        std::fs::create_dir_all(parent).map_err(|error| cannot(path, &error))?;
        // `create_new` refuses a link or a file that has appeared since the check.
        let file = std::fs::File::options().write(true).create_new(true).open(&whole);
        file.and_then(|mut file| file.write_all(text(template).as_bytes()))
            .map_err(|error| cannot(path, &error))?;
    }
    Ok(missing.into_iter().map(|(path, _)| path).collect())
}

fn cannot(path: &str, error: &std::io::Error) -> Failure {
    Failure::work(format!("cannot write {path}: {error}"))
}

/// Refuses a path with a link in it, which could lead out of the project.
fn no_links(root: &Path, path: &str) -> Result<(), Failure> {
    let mut at = root.to_owned();
    for name in Path::new(path) {
        at.push(name);
        if at.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
            return Err(Failure::usage(format!("{} is a link", at.display())).hint("nothing was written"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    #[test]
    fn it_is_written_once_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(write(dir.path()).unwrap().len(), FILES.len());
        assert_eq!(write(dir.path()).unwrap(), Vec::<&str>::new());
        let (hooks, run) = (dir.path().join(FILES[3].0), dir.path().join(FILES[4].0));
        std::fs::write(&hooks, "{}").unwrap();
        std::fs::remove_file(&run).unwrap();
        let told = write(dir.path()).unwrap_err();
        assert!(told.message.contains("hooks.json is there and differs"), "{told}");
        assert!(!run.exists(), "nothing was written");
        assert_eq!(std::fs::read_to_string(&hooks).unwrap(), "{}");
    }

    #[test]
    fn a_link_is_not_followed() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(other.path(), dir.path().join(".claude")).unwrap();
        assert!(write(dir.path()).unwrap_err().message.contains("is a link"));
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    }

    /// Every command that the plugin names exists.
    #[test]
    fn what_the_files_name_exists() {
        let hooks: serde_json::Value = serde_json::from_str(&text(FILES[3].1)).unwrap();
        let events = hooks["hooks"].as_object().unwrap().values();
        let commands: Vec<&str> =
            events.map(|event| event[0]["hooks"][0]["command"].as_str().unwrap()).collect();
        assert_eq!(commands.len(), 3);
        for command in commands.into_iter().chain(["tribunal mcp --serve", "tribunal log --follow x"]) {
            assert!(Cli::try_parse_from(command.split(' ')).is_ok(), "{command}");
        }
        for json in [FILES[0], FILES[1], FILES[2]] {
            let _: serde_json::Value = serde_json::from_str(&text(json.1)).unwrap();
        }
        let tools = crate::editor::tool_names();
        let named = FILES[5].1.split("mcp__plugin_tribunal_tribunal__").skip(1);
        for name in named.map(|rest| rest.split([',', '\n']).next().unwrap()) {
            assert!(tools.contains(&name.to_owned()), "{name}");
        }
    }
}
