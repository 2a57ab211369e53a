//! The projects that are played, one file each in `dev/xtask/projects`: the tools it needs, its files, and what each task
//! does to them. A section `--- base PATH` is a file; `--- TASK PATH` is an edit of one, its old text in lines that begin
//! with `-` and its new text in lines that begin with `+`.

use crate::crash::stage::{Res, at};
use std::collections::BTreeMap;
use std::path::Path;

/// What a task does to a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// Adds something, and every test passes.
    Fine,
    /// Changes what a test expects.
    Breaks,
    /// Takes a test out.
    Removes,
    /// Marks a test to be skipped.
    Skips,
    /// Makes a test fail every other time.
    Flaky,
    /// What does not compile, or cannot be loaded.
    Build,
    /// Changes what a test expects, and makes the judge say that it passes. Not every project has it.
    Gut,
}

impl Deed {
    /// All of them.
    pub const ALL: [Deed; 7] =
        [Deed::Fine, Deed::Breaks, Deed::Removes, Deed::Skips, Deed::Flaky, Deed::Build, Deed::Gut];

    /// Its name in the files and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Deed::Fine => "fine",
            Deed::Breaks => "breaks",
            Deed::Removes => "removes",
            Deed::Skips => "skips",
            Deed::Flaky => "flaky",
            Deed::Build => "build",
            Deed::Gut => "gut",
        }
    }
}

/// A small project with its tasks.
#[derive(Debug, Default)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// The programs it needs.
    pub tools: Vec<String>,
    /// Who has them: `apt`, `npm` or `pip`, and the packages.
    pub install: Vec<String>,
    /// A command that is run once in the project before anything is played: it fetches what checks cannot.
    pub prepare: Vec<String>,
    /// Folders of the home that its checks must write to.
    pub writable: Vec<String>,
    /// It is played by `--short` too.
    pub short: bool,
    /// Its files, and whether each is a program.
    pub files: BTreeMap<String, (String, bool)>,
    edits: Vec<(Deed, String, String, String)>,
}

/// Every project.
pub fn all() -> Res<Vec<Project>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects");
    let mut projects = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(at(folder.display()))?.flatten() {
        let text = std::fs::read_to_string(entry.path()).map_err(at(entry.path().display()))?;
        let name =
            entry.path().file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        projects.push(Project::read(&name, &text).map_err(at(&name))?);
    }
    projects.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(projects)
}

impl Project {
    /// Reads the file of a project.
    pub fn read(name: &str, text: &str) -> Res<Project> {
        let mut project = Project { name: name.to_owned(), ..Project::default() };
        let (head, rest) = text.split_once("\n--- ").ok_or("it has no files")?;
        for line in head.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let (key, value) = line.split_once(':').ok_or_else(|| format!("no key: {line}"))?;
            let words = value.split_whitespace().map(str::to_owned).collect();
            match key {
                "tools" => project.tools = words,
                "install" => project.install = words,
                "prepare" => project.prepare = words,
                "writable" => project.writable = words,
                "short" => project.short = value.trim() == "yes",
                other => return Err(format!("there is no key {other}")),
            }
        }
        for section in rest.split("\n--- ") {
            project.section(section)?;
        }
        let lacks = |deed: &Deed| *deed != Deed::Gut && !project.has(*deed);
        match Deed::ALL.into_iter().find(lacks) {
            Some(deed) => Err(format!("it has no task {}", deed.name())),
            None => Ok(project),
        }
    }

    /// Whether it has such a task.
    pub fn has(&self, deed: Deed) -> bool {
        self.edits.iter().any(|edit| edit.0 == deed)
    }

    fn section(&mut self, section: &str) -> Res<()> {
        let (head, body) = section.split_once('\n').unwrap_or((section, ""));
        let mut words = head.split_whitespace();
        let (Some(what), Some(path)) = (words.next(), words.next()) else {
            return Err(format!("no path: {head}"));
        };
        if what == "base" {
            let body = format!("{}\n", body.trim_end_matches('\n'));
            self.files.insert(path.to_owned(), (body, words.next() == Some("executable")));
            return Ok(());
        }
        let deed = Deed::ALL
            .into_iter()
            .find(|deed| deed.name() == what)
            .ok_or_else(|| format!("no task {what}"))?;
        let side = |sign: char| {
            let lines = body.lines().filter_map(|line| line.strip_prefix(sign));
            lines.collect::<Vec<_>>().join("\n")
        };
        self.edits.push((deed, path.to_owned(), side('-'), side('+')));
        Ok(())
    }

    /// The files that a task changes, with what is in them afterwards. `flaky` is the file that a flaky test counts in.
    pub fn changed(&self, deed: Deed, flaky: &str) -> Res<BTreeMap<String, String>> {
        let mut changed: BTreeMap<String, String> = BTreeMap::new();
        for (_, path, old, new) in self.edits.iter().filter(|edit| edit.0 == deed) {
            let base = self.files.get(path).map(|(text, _)| text.as_str());
            // A task may also bring a file.
            let base =
                base.or(old.is_empty().then_some("")).ok_or_else(|| format!("there is no file {path}"))?;
            let text = changed.entry(path.clone()).or_insert_with(|| base.to_owned());
            if base.is_empty() {
                text.push_str(&format!("{new}\n"));
                continue;
            }
            // What is taken out goes with the end of its line.
            let old = if new.is_empty() { format!("{old}\n") } else { old.clone() };
            if !text.contains(&old) {
                return Err(format!("{} of {path}: there is no text {old:?}", deed.name()));
            }
            *text = text.replacen(&old, &new.replace("{FLAKY}", flaky), 1);
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chore says so too, but only when somebody plays it.
    #[test]
    fn every_project_can_be_read_and_every_task_changes_it() {
        let projects = all().unwrap();
        assert!(projects.len() >= 12, "{}", projects.len());
        assert!(projects.iter().filter(|project| project.short).count() >= 4);
        assert!(projects.iter().filter(|project| project.has(Deed::Gut)).count() >= 7);
        for project in projects {
            assert!(!project.tools.is_empty(), "{}", project.name);
            for deed in Deed::ALL.into_iter().filter(|deed| project.has(*deed)) {
                let changed = project.changed(deed, "/flaky").unwrap();
                assert!(
                    changed
                        .iter()
                        .all(|(path, text)| project.files.get(path).is_none_or(|base| base.0 != *text)),
                    "{}",
                    project.name
                );
                let counts = changed.values().any(|text| text.contains("/flaky"));
                assert_eq!(counts, deed == Deed::Flaky, "{} {}", project.name, deed.name());
            }
        }
    }
}
