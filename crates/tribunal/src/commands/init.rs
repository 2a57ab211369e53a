//! `tribunal init`: a commented tribunal.toml, and `.tribunal/` kept out of commits. Overwrites nothing.

use crate::args::Globals;
use crate::config::{DEFAULTS, PROJECT_FILE};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use std::io::Write;
use tribunal_engine::real::Project;

/// Prepares the project.
pub fn run(globals: &Globals) -> Result<Done, Failure> {
    let dir = std::env::current_dir()
        .map_err(|error| Failure::work(format!("the working directory is gone: {error}")))?;
    let project = Project::open(&dir)?;
    project.prepare()?;
    let path = project.root().join(PROJECT_FILE);
    let made = match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => {
            file.write_all(commented().as_bytes())
                .map_err(|error| Failure::work(format!("cannot write {}: {error}", path.display())))?;
            true
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(Failure::work(format!("cannot write {}: {error}", path.display()))),
    };
    if globals.json {
        out::json(&serde_json::json!({"config": path.display().to_string(), "written": made}))?;
        return Ok(Done::Passed);
    }
    let done = if made { "written" } else { "is there already and was left as it is" };
    out::say(&format!("{} {done}", path.display()));
    if !project.root().join(project.planning()).is_dir() {
        out::say("hint: put plans into .planning/phases/01-name/01-01-PLAN.md, then `tribunal run 01`");
    }
    Ok(Done::Passed)
}

/// The defaults with every setting commented out: a file that changes nothing yet.
fn commented() -> String {
    let line = |line: &str| {
        let setting = !line.is_empty() && !line.starts_with(['#', '[']);
        if setting { format!("# {line}\n") } else { format!("{line}\n") }
    };
    let head = "# Settings of this project. Every line that is commented out shows the default.\n\n";
    let body = DEFAULTS.lines().skip_while(|line| line.starts_with('#') || line.is_empty());
    format!("{head}{}", body.map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_file_changes_nothing() {
        let table: toml::Table = toml::from_str(&commented()).unwrap();
        fn empty(value: &toml::Value) -> bool {
            value.as_table().is_some_and(|table| table.values().all(empty))
        }
        assert!(table.values().all(empty), "{table:?}");
        assert!(commented().contains("# effort = \"balanced\""));
    }
}
