//! `cargo xtask screenshots`: plays the demo, serves it, and takes pictures of its pages in a real browser for the
//! README. It shows what everybody gets: nothing is prepared but the demo.

#[path = "../../../crates/tribunal/tests/browser/mod.rs"]
#[expect(dead_code, reason = "the end-to-end tests use the rest")]
mod browser;

use crate::out;
use browser::{Browser, Tab};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

/// Where pictures go.
const FOLDER: &str = "docs/pictures";

/// By scenario of the demo: the name of a picture, its page, how many pixels high it is, and light or dark.
type Page = (&'static str, &'static str, u32, &'static str);
const PAGES: [(&str, &[Page]); 2] = [
    (
        "pass",
        &[
            ("runs", "", 300, "light"),
            ("run", "/runs/{run}", 760, "light"),
            ("finding", "/runs/{run}/findings/F-2", 1240, "light"),
            ("loop", "/runs/{run}/loops/01-02/task-1.3", 1000, "dark"),
            ("queue", "/runs/{run}/queue", 700, "light"),
        ],
    ),
    ("blocked", &[("inbox", "/inbox", 760, "dark")]),
];

/// What to take pictures of.
#[derive(clap::Args)]
pub struct Args {
    /// The program; built first if not given
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Runs the chore.
pub fn run(args: &Args) -> ExitCode {
    match take(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            out::progress(format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn take(args: &Args) -> Result<(), String> {
    let binary = crate::program::tribunal(args.binary.as_deref())?;
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    std::fs::create_dir_all(FOLDER).map_err(|error| error.to_string())?;
    let browser = Browser::start(&dir.path().join("browser"))?;
    let mut browser =
        browser.ok_or("no Chromium is installed\nhint: on Debian, `apt-get install chromium`")?;
    for (scenario, pages) in PAGES {
        let project = dir.path().join(scenario);
        let played = command(&binary, dir.path())
            .args(["demo", "--scenario", scenario, "--dir"])
            .arg(&project)
            .output();
        played.map_err(|error| format!("demo: {error}"))?;
        let server = Served::start(&binary, &project, dir.path())?;
        let tab = browser.tab()?;
        browser.open(&tab, &server.link)?;
        let home = browser.text(&tab, "location.href")?;
        for (name, place, height, scheme) in pages {
            browser.size(&tab, 1200, *height)?;
            browser.scheme(&tab, scheme)?;
            shoot(&mut browser, &tab, &home, name, &place.replace("{run}", &newest(&project)?))?;
        }
    }
    Ok(())
}

fn shoot(browser: &mut Browser, tab: &Tab, home: &str, name: &str, place: &str) -> Result<(), String> {
    browser.open(tab, &format!("{home}{}", place.trim_start_matches('/')))?;
    let bytes = decoded(&browser.picture(tab)?);
    let file = Path::new(FOLDER).join(format!("{name}.png"));
    std::fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    out::line(format!("wrote {}", file.display()));
    Ok(())
}

fn newest(project: &Path) -> Result<String, String> {
    let entries = std::fs::read_dir(project.join(".tribunal/runs")).map_err(|error| error.to_string())?;
    let runs = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    runs.max().ok_or_else(|| "the demo left no run".to_owned())
}

#[expect(clippy::disallowed_methods, reason = "a chore starts what it shows")]
fn command(binary: &Path, home: &Path) -> Command {
    let mut command = Command::new(binary);
    command.env("HOME", home).env("USER", "ada").stdin(Stdio::null());
    command
}

struct Served {
    child: Child,
    link: String,
}

impl Served {
    fn start(binary: &Path, project: &Path, home: &Path) -> Result<Served, String> {
        let mut serve = command(binary, home);
        serve.args(["serve", "--port", "0", "--quiet"]).current_dir(project).stdout(Stdio::piped());
        let mut child = serve.spawn().map_err(|error| format!("serve: {error}"))?;
        let mut link = String::new();
        let told = child.stdout.take().ok_or("no pipe")?;
        BufReader::new(told).read_line(&mut link).map_err(|error| error.to_string())?;
        Ok(Served { child, link: link.trim().to_owned() })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Base64, as the browser hands out pictures.
fn decoded(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().filter_map(value).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits = four.iter().fold(0u32, |bits, digit| bits << 6 | u32::from(*digit));
        let whole = bits << (6 * (4 - four.len()));
        let [_, a, b, c] = whole.to_be_bytes();
        [a, b, c].into_iter().take(four.len() * 6 / 8)
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_undone() {
        for (text, expect) in
            [("", ""), ("YQ==", "a"), ("YWI=", "ab"), ("YWJj", "abc"), ("aGVsbG8gd29ybGQ=", "hello world")]
        {
            assert_eq!(decoded(text), expect.as_bytes(), "{text}");
        }
    }
}
