//! `cargo xtask tidy`: rules of the house that no compiler checks. Each rule reads the files and says what is
//! wrong, where, and the way out; none of them changes anything.

mod edges;
mod files;
mod tree;
mod types;
mod words;

pub use tree::Tree;

use crate::out;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to look at.
#[derive(clap::Args)]
pub struct Args {
    /// The project's root; the one this program was built from if not given
    #[arg(long)]
    root: Option<PathBuf>,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wrong {
    /// The file, from the root.
    pub file: String,
    /// The line, from 1; 0 where the whole file is meant.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// The way out.
    pub hint: String,
}

impl Wrong {
    fn new(file: &str, line: usize, what: impl Into<String>, hint: impl Into<String>) -> Wrong {
        Wrong { file: file.to_owned(), line, what: what.into(), hint: hint.into() }
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.line == 0 { self.file.clone() } else { format!("{}:{}", self.file, self.line) };
        write!(f, "{place}: {}\n  hint: {}", self.what, self.hint)
    }
}

/// Runs the chore.
pub fn run(args: &Args) -> ExitCode {
    let root = args.root.clone().unwrap_or_else(home);
    match check(&root) {
        Err(error) => {
            out::line(format!("{} cannot be read: {error}", root.display()));
            ExitCode::FAILURE
        }
        Ok((count, wrong)) if wrong.is_empty() => {
            out::line(format!("{count} files are tidy"));
            ExitCode::SUCCESS
        }
        Ok((count, wrong)) => {
            wrong.iter().for_each(|wrong| out::line(wrong.to_string()));
            out::line(format!("{} things are not tidy in {count} files", wrong.len()));
            ExitCode::FAILURE
        }
    }
}

/// The root of the project this program was built from.
pub fn home() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// How many files there are, and everything that is wrong with them, in order.
fn check(root: &Path) -> std::io::Result<(usize, Vec<Wrong>)> {
    let tree = Tree::read(root)?;
    let mut wrong: Vec<Wrong> = [edges::check, types::check, words::check, files::check]
        .into_iter()
        .flat_map(|rule: fn(&Tree) -> Vec<Wrong>| rule(&tree))
        .collect();
    wrong.sort();
    Ok((tree.files.len(), wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let (count, wrong) = check(&home()).unwrap();
        let lines: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
        assert!(count > 50, "only {count} files were seen");
    }

    /// A small tree of files, and what must be wrong with it.
    fn finds(files: &[(&str, &str)], expect: &str) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let (_, wrong) = check(dir.path()).unwrap();
        let lines: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        let text = lines.join("\n");
        if expect.is_empty() {
            assert!(text.is_empty(), "{text}");
        } else {
            assert!(text.contains(expect), "{expect:?} is not in:\n{text}");
        }
    }

    #[test]
    fn every_rule_can_fail() {
        let header = "//! A file.\n";
        finds(
            &[("crates/a/src/lib.rs", "fn f() {}\n")],
            "crates/a/src/lib.rs:1: it does not open with `//!`",
        );
        let sleeps = format!("{header}fn f() {{ std::thread::{}(d) }}\n", "sleep");
        finds(&[("crates/a/src/lib.rs", &sleeps)], "crates/a/src/lib.rs:2: it sleeps");
        let later = format!("{header}// {}DO: later\n", "TO");
        finds(&[("crates/a/src/lib.rs", &later)], "crates/a/src/lib.rs:2: work is put off");
        let ignored = format!("{header}#[{}]\n", "ignore");
        finds(&[("crates/a/tests/it.rs", &ignored)], "a test is switched off");
        finds(&[("README.md", &format!("see {}work/x\n", "/"))], "README.md:1: a path of one machine");
        let starts = format!("{header}fn f() {{ Command::{}(\"x\"); }}\n", "new");
        finds(&[("crates/tribunal-view/src/lib.rs", &starts)], "a process is started here");
        finds(&[("crates/tribunal-git/src/run.rs", &starts), ("dev/x/src/lib.rs", &starts)], "");
        finds(&[("docs/a.md", "see [it](gone.md)\n")], "docs/a.md:1: a link to nothing: gone.md");
        finds(&[("docs/a.md", "[b](b.md#x) [w](https://x.org)\n"), ("docs/b.md", "# x\n")], "");
        finds(&[("big.txt", &"x".repeat(1 << 21))], "big.txt: it is larger than 1 MiB");
        let many: Vec<(String, &str)> = (0..21).map(|n| (format!("f{n}.txt"), "x\n")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        finds(&many, "the root has 21 entries");
    }

    #[test]
    fn words_of_types_are_not_compared() {
        let code = |line: &str| format!("//! A file.\n{line}\n");
        let view = "crates/tribunal-view/src/lib.rs";
        for line in [
            "if finding.fate == \"open\" {}",
            "if \"open\" != fate {}",
            "view.ending == Some(\"passed\")",
            "matches!(fate.as_str(), \"fixed\" | \"refuted\")",
            "    \"stale\" if made => 1,",
            "    Some(\"shut\") => 1,",
        ] {
            finds(
                &[(view, &code(line))],
                "crates/tribunal-view/src/lib.rs:2: a word of our own types is compared",
            );
        }
        for line in [
            "// fate == \"open\"",
            "row.name == \"pre-commit\"",
            "Mark::Running => \"waiting\",",
            "let said = format!(\"passed\");",
        ] {
            finds(&[(view, &code(line))], "");
        }
        // Core gives the words, and whoever reads foreign text compares them.
        let read = code("if word == \"blocker\" {}");
        finds(
            &[("crates/tribunal-core/src/x.rs", &read), ("crates/tribunal/src/commands/dedupe.rs", &read)],
            "",
        );
    }

    #[test]
    fn edges_can_fail() {
        let manifest =
            "[package]\nname = \"tribunal-core\"\n[features]\ndefault = [\"undefended\"]\nundefended = []\n";
        finds(&[("crates/tribunal-core/Cargo.toml", manifest)], "takes defences away");
        let manifest = "[package]\nname = \"testkit\"\n[dependencies]\ntribunal-core = { path = \"x\", features = [\"undefended\"] }\n";
        finds(&[("dev/testkit/Cargo.toml", manifest)], "takes defences away");
        let manifest = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\n\n{rest}");
        let git = manifest("tribunal-git", "[dependencies]\ntribunal-journal.workspace = true\n");
        finds(
            &[("crates/tribunal-git/Cargo.toml", &git)],
            "tribunal-git must not depend on tribunal-journal",
        );
        let core = manifest("tribunal-core", "[dependencies]\nserde.workspace = true\nrusqlite = \"1\"\n");
        finds(
            &[("crates/tribunal-core/Cargo.toml", &core)],
            "tribunal-core is pure and must not use rusqlite",
        );
        let new = manifest("tribunal-util", "");
        finds(&[("crates/tribunal-util/Cargo.toml", &new)], "tribunal-util has no place in the house");
        let kit = manifest("tribunal-core", "[dependencies]\ntestkit.workspace = true\n");
        finds(&[("crates/tribunal-core/Cargo.toml", &kit)], "tribunal-core must not depend on testkit");
        let root = "disallowed-methods = [\n  { path = \"std::env::var\" },\n]\n";
        let pure = manifest("tribunal-core", "");
        finds(
            &[
                ("clippy.toml", root),
                ("crates/tribunal-core/Cargo.toml", &pure),
                ("crates/tribunal-core/clippy.toml", "disallowed-methods = []\n"),
            ],
            "it does not repeat the ban on std::env::var",
        );
        finds(&[("clippy.toml", root), ("crates/tribunal-core/Cargo.toml", &pure)], "has no clippy.toml");
    }
}
