//! Checks the book against the program: every command, flag and key it names exists, every example runs, and the page of
//! settings is the defaults file. `--write` renews that page. It judges words by the program, never the other way round.

use crate::program::{self, command};
use crate::{out, promises};
use clap::Parser;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

type Res<T> = Result<T, String>;

const DEFAULTS: &str = "crates/tribunal/src/defaults.toml";
const SETTINGS: &str = "docs/configuration.md";

/// What `cargo xtask docs` takes.
#[derive(Parser)]
pub struct Args {
    /// Write the page of settings anew
    #[arg(long)]
    write: bool,
    /// The program; built first if not given
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// A fenced block of a page.
struct Block<'a> {
    line: usize,
    /// `toml`, `sh`, or nothing.
    language: &'a str,
    /// It is to be run.
    runs: bool,
    text: String,
}

/// Checks every page.
pub fn run(args: &Args) -> ExitCode {
    match check(args) {
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(wrong) => {
            wrong.iter().for_each(out::line);
            ExitCode::FAILURE
        }
        Err(text) => {
            out::progress(format!("error: {text}"));
            ExitCode::from(2)
        }
    }
}

fn check(args: &Args) -> Res<Vec<String>> {
    let defaults = read(Path::new(DEFAULTS))?;
    if args.write {
        std::fs::write(SETTINGS, settings(&defaults)).map_err(|error| format!("{SETTINGS}: {error}"))?;
    }
    let mut book = Book {
        binary: program::tribunal(args.binary.as_deref())?,
        help: BTreeMap::new(),
        keys: keys(&defaults),
        wrong: Vec::new(),
    };
    if read(Path::new(SETTINGS))? != settings(&defaults) {
        book.wrong
            .push(format!("{SETTINGS}: it is not the defaults file; cargo xtask docs --write renews it"));
    }
    let (mut pages, mut ran) = (0, 0);
    for page in pages_of(Path::new("."))? {
        let text = read(&page)?;
        let blocks = blocks(&text);
        book.commands(&page, &text);
        book.named_keys(&page, &text);
        for block in blocks.iter().filter(|block| block.language == "toml") {
            book.configuration(&page, block)?;
        }
        ran += book.examples(&page, &blocks)?;
        pages += 1;
    }
    let promising = promising(Path::new("."))?;
    let promising: Vec<&Path> = promising.iter().map(PathBuf::as_path).collect();
    book.wrong.extend(promises::wrong(Path::new("."), &promising)?);
    out::progress(format!("{pages} pages, {} commands, {ran} examples run", book.help.len()));
    Ok(book.wrong)
}

/// What the pages are held against, and what is wrong with them.
struct Book {
    binary: PathBuf,
    /// The help of every command a page names; none where there is no such command.
    help: BTreeMap<String, Option<String>>,
    keys: Vec<String>,
    wrong: Vec<String>,
}

impl Book {
    fn tell(&mut self, page: &Path, line: usize, what: &str) {
        self.wrong.push(format!("{}:{line}: {what}", page.display()));
    }

    /// Every `tribunal …` of a page is a command, with flags that it has.
    fn commands(&mut self, page: &Path, text: &str) {
        for (at, line) in text.lines().enumerate() {
            for words in calls(line) {
                let name = words.first().copied().unwrap_or_default();
                if name.is_empty() || name.starts_with(['-', '…', '<']) {
                    continue;
                }
                let Some(help) = self.help_of(name) else {
                    self.tell(page, at + 1, &format!("there is no command `tribunal {name}`"));
                    continue;
                };
                // What a command's own commands take is told by them.
                let inner = words.get(1).filter(|_| help.contains("\nCommands"));
                let help = inner.and_then(|inner| self.help_of(&format!("{name} {inner}"))).unwrap_or(help);
                for flag in words.iter().filter(|word| word.starts_with("--")) {
                    let flag = flag.split('=').next().unwrap_or(flag);
                    let has =
                        help.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|word| word == flag);
                    if !has {
                        self.tell(page, at + 1, &format!("`tribunal {name}` has no flag {flag}"));
                    }
                }
            }
        }
    }

    fn help_of(&mut self, name: &str) -> Option<String> {
        if let Some(known) = self.help.get(name) {
            return known.clone();
        }
        let asked = command(&self.binary).args(name.split(' ')).arg("--help").stdin(Stdio::null()).output();
        let text = asked.ok().filter(|said| said.status.success());
        let text = text.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
        self.help.insert(name.to_owned(), text.clone());
        text
    }

    /// Every key in a page's inline code is one of the defaults file.
    fn named_keys(&mut self, page: &Path, text: &str) {
        let section =
            |word: &str| self.keys.iter().any(|key| key.split('.').next() == word.split('.').next());
        let mut unknown = Vec::new();
        for (at, line) in text.lines().enumerate() {
            for word in line.split('`').skip(1).step_by(2).filter_map(|code| code.split([' ', '=']).next()) {
                let dotted = word.split_once('.').is_some_and(|(a, b)| is_word(a) && is_word(b));
                if dotted && section(word) && !self.keys.iter().any(|key| key == word) {
                    unknown.push((at + 1, word.to_owned()));
                }
            }
        }
        for (line, word) in unknown {
            self.tell(page, line, &format!("there is no key `{word}`"));
        }
    }

    /// A block of configuration is one that the program takes.
    fn configuration(&mut self, page: &Path, block: &Block<'_>) -> Res<()> {
        let dir = project()?;
        std::fs::write(dir.path().join("tribunal.toml"), &block.text).map_err(|error| error.to_string())?;
        let mut show = command(&self.binary);
        show.args(["config", "show"]).current_dir(dir.path()).env("HOME", dir.path());
        let said = show.output().map_err(|error| error.to_string())?;
        if !said.status.success() {
            let why = String::from_utf8_lossy(&said.stderr).trim().replace('\n', " ");
            self.tell(page, block.line, &format!("this configuration is refused: {why}"));
        }
        Ok(())
    }

    /// Runs the examples of a page, one after the other in one folder.
    fn examples(&mut self, page: &Path, blocks: &[Block<'_>]) -> Res<usize> {
        let examples: Vec<&Block<'_>> = blocks.iter().filter(|block| block.runs).collect();
        let Some(first) = examples.first() else { return Ok(0) };
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut script = String::from("set -eu\n");
        for block in &examples {
            let _ = writeln!(script, "echo '== line {}' >&2\n{}", block.line, block.text);
        }
        let folder = self.binary.parent().unwrap_or(Path::new("."));
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = command("sh");
        shell.args(["-c", &script]).current_dir(dir.path()).env("PATH", path).env("HOME", dir.path());
        let said = shell.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if !said.status.success() {
            let text = String::from_utf8_lossy(&said.stderr);
            let told: Vec<&str> = text.lines().rev().take(12).collect();
            let told = told.into_iter().rev().collect::<Vec<_>>().join("\n    ");
            self.tell(page, first.line, &format!("an example fails ({}):\n    {told}", said.status));
        }
        Ok(examples.len())
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The words behind every call of the program in a line, up to whatever ends a command.
fn calls(line: &str) -> Vec<Vec<&str>> {
    let code: Vec<&str> = match line.contains('`') {
        true => line.split('`').skip(1).step_by(2).collect(),
        false => vec![line],
    };
    let starts = |part: &&str| {
        let text = part.trim_start().trim_start_matches("$ ").trim_start_matches("- ");
        text.starts_with("tribunal ")
    };
    code.into_iter()
        .filter(starts)
        .map(|part| {
            let words = part.split_whitespace().skip_while(|word| *word != "tribunal").skip(1);
            words.take_while(|word| !["|", "||", "&&", ">", ";", "#", "…"].contains(word)).collect()
        })
        .collect()
}

/// The fenced blocks of a page; those inside a list lose its indent.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(Block<'_>, usize)> = None;
    for (at, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(words)) => {
                let mut words = words.split_whitespace();
                let language = words.next().unwrap_or_default();
                let runs = words.next() == Some("run");
                open = Some((Block { line: at + 1, language, runs, text: String::new() }, indent));
            }
            (Some(_), Some("")) => blocks.extend(open.take().map(|(block, _)| block)),
            (Some((block, indent)), _) => {
                block.text.push_str(line.get(*indent..).unwrap_or_default());
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// `section.key` of every setting there is.
fn keys(defaults: &str) -> Vec<String> {
    let mut section = "";
    let mut keys = Vec::new();
    for line in defaults.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = name;
            keys.push(name.to_owned());
        } else if let Some((key, _)) = line.split_once(" = ").filter(|(key, _)| is_word(key)) {
            keys.push(format!("{section}.{key}"));
        }
    }
    keys
}

/// Which of the files count, before the keys.
const WHOSE: &str = include_str!("docs/whose.md");

/// The head of every table of settings.
const TABLE: &str = "| key | default | what it is for |\n|---|---|---|\n";

/// The page of settings: first the few that `tribunal init` writes, then the rest by section.
fn settings(defaults: &str) -> String {
    let mut page = String::from(
        "# Configuration\n\nEvery key, its default and what it is for. What you change goes into `tribunal.toml` in your project, or \
         into\n`tribunal/config.toml` in your own configuration folder; `--set KEY=VALUE` sets a key for one command.\n\
         `tribunal config show --origin` says what holds and where it comes from.\n\n\
         ## What most projects decide\n\n`tribunal init` writes these six lines.\n\n",
    );
    page.push_str(TABLE);
    let mut rare = String::new();
    let mut section = "";
    for line in defaults.lines() {
        if let Some((name, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name;
            let (is_first, said) = comment(rest);
            if is_first {
                let _ =
                    writeln!(page, "| `{name}.reviewer.adapter` | the builder | the agent that reviews |");
            }
            let _ = write!(rare, "\n### {name}\n\n");
            if !said.is_empty() {
                let _ = write!(rare, "{}\n\n", said.replace("[", "`[").replace("]", "]`"));
            }
            rare.push_str(TABLE);
        } else if let Some((key, rest)) = line.split_once(" = ").filter(|(key, _)| is_word(key)) {
            let (value, rest) = rest.find('#').map_or((rest, ""), |at| rest.split_at(at));
            let (is_first, said) = comment(rest);
            let (key, text) = match is_first {
                true => (format!("{section}.{key}"), &mut page),
                false => (key.to_owned(), &mut rare),
            };
            let _ = writeln!(text, "| `{key}` | `{}` | {} |", value.trim(), said.replace('|', "\\|"));
        }
    }
    page.push_str(WHOSE);
    page.push_str("\n## Rarely needed\n");
    page.push_str(&rare);
    page.replace(&format!("{TABLE}\n#"), "#").trim_end_matches(TABLE).trim_end().to_owned() + "\n"
}

/// The text of a comment, and whether a star marks it as one of those that `tribunal init` writes.
fn comment(rest: &str) -> (bool, &str) {
    let text = rest.trim().trim_start_matches('#').trim_start();
    text.strip_prefix("* ").map_or((false, text), |text| (true, text))
}

/// The pages and help texts in which something may be promised, from the root.
pub fn promising(root: &Path) -> Res<Vec<PathBuf>> {
    let others = ["ARCHITECTURE.md", "CONTRIBUTING.md", "crates/tribunal/src/args.rs"].map(PathBuf::from);
    Ok(pages_of(root)?.into_iter().chain(others).collect())
}

fn pages_of(root: &Path) -> Res<Vec<PathBuf>> {
    let entries = std::fs::read_dir(root.join("docs")).map_err(|error| format!("docs: {error}"))?;
    let mut pages: Vec<PathBuf> =
        entries.flatten().map(|entry| Path::new("docs").join(entry.file_name())).collect();
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.push("README.md".into());
    pages.sort();
    Ok(pages)
}

fn read(path: &Path) -> Res<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A new repository.
fn project() -> Res<tempfile::TempDir> {
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let made = command("git").args(["init", "-q"]).current_dir(dir.path()).status();
    made.map_err(|error| error.to_string()).map(|_| dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_end_where_the_command_does() {
        for (line, expect) in [
            ("$ tribunal run 02 --plan 03 | less", vec![vec!["run", "02", "--plan", "03"]]),
            ("see `tribunal inbox`, then `tribunal decide … again`", vec![vec!["inbox"], vec!["decide"]]),
            ("the tribunal sits", vec![]),
            ("    - tribunal review --diff main > x", vec![vec!["review", "--diff", "main"]]),
        ] {
            assert_eq!(calls(line), expect, "{line}");
        }
    }

    #[test]
    fn blocks_lose_the_indent_of_their_list_and_say_whether_they_run() {
        let found = blocks("a\n   ```sh run\n   echo 1\n     echo 2\n   ```\n```toml\n[a]\n```\n");
        let told: Vec<_> = found.iter().map(|b| (b.line, b.language, b.runs, b.text.as_str())).collect();
        assert_eq!(told, [(2, "sh", true, "echo 1\n  echo 2\n"), (6, "toml", false, "[a]\n")]);
    }

    #[test]
    fn a_setting_is_a_row_and_an_empty_section_has_no_table() {
        let defaults = "[a]\nkey = 1 # what | for\n\n[b] # [b.NAME]: yours\n";
        assert_eq!(keys(defaults), ["a", "a.key", "b"]);
        let page = settings(defaults);
        assert!(page.contains("| `key` | `1` | what \\| for |"), "{page}");
        assert!(page.ends_with("### b\n\n`[b.NAME]`: yours\n"), "{page}");
        let page = settings("[a]\nkey = 1 # * what\nother = 2 # why\n");
        let (often, rare) = page.split_once("## Rarely needed").unwrap();
        assert!(often.contains("| `a.key` | `1` | what |") && !rare.contains("what |"), "{page}");
        assert!(rare.contains("| `other` | `2` | why |"), "{page}");
    }
}
