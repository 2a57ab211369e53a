//! Labelled windows: two reports over two commits, and which finding is which. Prepares the reports with the data's own
//! script and bare repositories from its bundles; reads only after that.

use super::Result;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use tribunal_core::finding::Claim;
use tribunal_findings::read_sarif;
use tribunal_findings::track::{Change, Side};

/// Ways of reporting, with seeds and salts.
const REGIMES: [(&str, &str, &str); 7] = [
    ("tool", "1", ""),
    ("llm", "1", ""),
    ("llm", "2", "x"),
    ("llm", "3", "y"),
    ("omit", "1", ""),
    ("omit", "2", "x"),
    ("omit", "3", "y"),
];

/// What is true of a window.
#[derive(Deserialize)]
pub struct Truth {
    pub repo: String,
    pub from: String,
    pub to: String,
    pub pairs: Vec<TruePair>,
    pub before: Vec<Row>,
    pub after: Vec<Row>,
    pub amb_before: BTreeSet<usize>,
    pub amb_after: BTreeSet<usize>,
}

/// One finding of both reports.
#[derive(Deserialize)]
pub struct TruePair {
    pub before: usize,
    pub after: usize,
    pub strata: Vec<String>,
}

/// One finding of one report.
#[derive(Deserialize)]
pub struct Row {
    pub index: usize,
    pub class: String,
}

/// Two reports and what is true of them.
pub struct Window {
    pub name: String,
    pub regime: String,
    pub before: Vec<Claim>,
    pub after: Vec<Claim>,
    pub truth: Truth,
}

/// A pair that every window has: what changed between its commits, and their files.
pub struct Repos {
    root: PathBuf,
    files: RefCell<BTreeMap<(String, String), Option<String>>>,
    changes: RefCell<BTreeMap<(String, String), Change>>,
}

impl Repos {
    /// What changed over a window.
    pub fn change(&self, truth: &Truth) -> Result<Change> {
        let key = (truth.from.clone(), truth.to.clone());
        if let Some(known) = self.changes.borrow().get(&key) {
            return Ok(known.clone());
        }
        let args = ["diff", "-M", "-U0", &truth.from, &truth.to];
        let change = Change::from_unified(&git(&self.root.join(&truth.repo), &args)?);
        self.changes.borrow_mut().insert(key, change.clone());
        Ok(change)
    }

    /// A file at one end of a window.
    pub fn file(&self, truth: &Truth, side: Side, path: &str) -> Option<String> {
        let revision = if side == Side::Before { &truth.from } else { &truth.to };
        let key = (revision.clone(), path.to_owned());
        if let Some(known) = self.files.borrow().get(&key) {
            return known.clone();
        }
        let text = git(&self.root.join(&truth.repo), &["show", &format!("{revision}:{path}")]).ok();
        self.files.borrow_mut().insert(key, text.clone());
        text
    }
}

/// Runs a program of the developer's machine; what it says on failure is the error.
#[expect(clippy::disallowed_methods, reason = "a chore may run git and the data's own script")]
pub(super) fn run(program: &str, args: &[&OsStr]) -> Result<String> {
    let out = Command::new(program).args(args).output().map_err(|error| format!("{program}: {error}"))?;
    if !out.status.success() {
        return Err(format!("{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr).trim()).into());
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

pub(super) fn git(repo: &Path, args: &[&str]) -> Result<String> {
    let mut all = vec![OsStr::new("--git-dir"), repo.as_os_str()];
    all.extend(args.iter().map(OsStr::new));
    run("git", &all)
}

/// Makes reports and repositories under `work`, unless they are there.
pub fn prepare(data: &Path, work: &Path, quick: bool) -> Result<Repos> {
    let script = data.join("noise.py");
    if !script.is_file() {
        return Err(format!("{} is not there\nhint: --data DIR", script.display()).into());
    }
    for entry in std::fs::read_dir(data)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(OsStr::to_str).and_then(|stem| stem.strip_prefix("dev_"));
        let (Some(name), true) = (name, path.extension() == Some(OsStr::new("bundle"))) else { continue };
        let to = work.join("repos").join(name);
        if !to.exists() {
            std::fs::create_dir_all(work.join("repos"))?;
            run(
                "git",
                &["clone".as_ref(), "-q".as_ref(), "--bare".as_ref(), path.as_os_str(), to.as_os_str()],
            )?;
        }
    }
    for (regime, seed, salt) in REGIMES.iter().filter(|(_, seed, _)| !quick || *seed == "1") {
        let to = work.join("windows").join(format!("{regime}-{seed}"));
        if to.exists() {
            continue;
        }
        let windows = data.join("dev_windows.jsonl.gz");
        let args: [&OsStr; 10] = [
            script.as_os_str(),
            windows.as_os_str(),
            "--regime".as_ref(),
            regime.as_ref(),
            "--seed".as_ref(),
            seed.as_ref(),
            "--salt".as_ref(),
            salt.as_ref(),
            "--out".as_ref(),
            to.as_os_str(),
        ];
        run("python3", &args)?;
    }
    let root = work.join("repos");
    Ok(Repos { root, files: RefCell::default(), changes: RefCell::default() })
}

/// All windows that are prepared.
pub fn windows(work: &Path) -> Result<Vec<Window>> {
    let mut found = Vec::new();
    for folder in sorted(&work.join("windows"))? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let regime = name.split('-').next().unwrap_or_default().to_owned();
        for file in sorted(&folder)? {
            let text = file.to_string_lossy().into_owned();
            if let Some(stem) = text.strip_suffix(".truth.json") {
                found.push(window(stem, &regime)?);
            }
        }
    }
    Ok(found)
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        all.push(entry?.path());
    }
    all.sort();
    Ok(all)
}

fn window(stem: &str, regime: &str) -> Result<Window> {
    let claims = |ending: &str| -> Result<Vec<Claim>> {
        Ok(read_sarif(&std::fs::read_to_string(format!("{stem}{ending}"))?).findings)
    };
    Ok(Window {
        name: stem.to_owned(),
        regime: regime.to_owned(),
        before: claims(".before.sarif")?,
        after: claims(".after.sarif")?,
        truth: json(&format!("{stem}.truth.json"))?,
    })
}

fn json<T: DeserializeOwned>(file: &str) -> Result<T> {
    Ok(serde_json::from_str(&std::fs::read_to_string(file)?).map_err(|error| format!("{file}: {error}"))?)
}
