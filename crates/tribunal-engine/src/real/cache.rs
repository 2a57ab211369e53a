//! What a tool keeps for the next review, and what it said before. A warm folder is one tool's, in one version, for one set
//! of lock files, in one repository; whoever holds its lock has it alone, and a change that touches what the tool runs as
//! code gets one of its own that nobody uses again. An answer is kept by everything it came from, so that the same commit
//! asks no tool twice. Neither is shown to anything judged, but for the folder that the tool itself writes to.

use super::land::write_atomic;
use super::make::digest;
use super::project::Project;
use super::site::{Site, now, slug};
use super::tools::{Looked, program};
use rustix::fs::{AtFlags, CWD, FlockOperation, Timespec, Timestamps, flock, utimensat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tribunal_agent::tool::{Detected, Tool};
use tribunal_findings::track::Change;
use tribunal_git::{GitError, Oid, Tree};

/// Answers that are kept.
const ANSWERS_MAX: usize = 500;
/// Bytes of a settings file that are read to know it by; a larger one is known by its times.
const SETTINGS_MAX: u64 = 64 << 10;
/// What a changed form of these files is called by.
const FORM: &[u8] = b"tribunal tools 1";

/// Where a project's caches are.
pub(crate) fn folder(project: &Project) -> PathBuf {
    project.folder().join("cache")
}

/// A folder that a tool has to itself.
pub(crate) struct Warm {
    dir: PathBuf,
    /// Held as long as this is.
    _lock: File,
}

/// What is known of a warm folder.
#[derive(Default, Serialize, Deserialize)]
struct About {
    tool: String,
    bytes: u64,
    used: u64,
}

/// When each file of a tool's tree was first as it is: tools that go by times know by it what changed.
#[derive(Default, Serialize, Deserialize)]
struct Times(BTreeMap<String, (String, i64, i64)>);

impl Warm {
    /// The warm folder of a tool, if it may have one and nobody else has it now.
    pub(crate) fn take(
        site: &Site,
        tool: &Tool,
        name: &str,
        change: &Change,
        commit: &Oid,
    ) -> Result<Option<Warm>, GitError> {
        let off = site.settings.checks.cache_mb == 0 || !tool.wants_cache();
        if off || runs_changed_code(site, tool, change, commit) {
            return Ok(None);
        }
        let mut parts: Vec<Vec<u8>> =
            vec![FORM.to_vec(), serde_json::to_vec(&(&tool.check, &tool.env)).unwrap_or_default()];
        parts.push(identity(site, tool).into_bytes());
        for entry in site.repo.list_tree(commit)? {
            let path = entry.path.to_string();
            let file = path.rsplit('/').next().unwrap_or(&path);
            if tool.locks.iter().any(|lock| lock == file) {
                parts.push(format!("{path} {}", entry.oid).into_bytes());
            }
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let dir = folder(&site.project).join("tools").join(format!("{}-{}", slug(name), digest(&parts)));
        Ok(Warm::lock(dir).ok().flatten())
    }

    fn lock(dir: PathBuf) -> io::Result<Option<Warm>> {
        fs::create_dir_all(dir.join("data"))?;
        let lock = File::options().create(true).truncate(false).write(true).open(dir.join("lock"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            // Whoever tidied up may have removed it in between.
            Ok(()) if dir.join("lock").exists() => Ok(Some(Warm { dir, _lock: lock })),
            _ => Ok(None),
        }
    }

    /// What the tool writes to.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// A checkout that lies where the last one lay, in which files that did not change are as old as they were.
    pub(crate) fn tree(&self, site: &Site, commit: &Oid) -> Result<Tree, GitError> {
        let (dest, index) = (self.dir.join("tree"), self.dir.join("index"));
        site.shelf.discard(&dest)?;
        let _ = fs::remove_file(&index);
        let tree = site.shelf.checkout(&dest, &index, commit, "check")?;
        let at = self.dir.join("times.json");
        let old: Times =
            fs::read(&at).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let mut new = Times::default();
        for entry in site.repo.list_tree(commit)? {
            let (path, oid) = (entry.path.to_string(), entry.oid.to_string());
            let file = dest.join(&path);
            let Ok(meta) = file.symlink_metadata() else { continue };
            let known = old.0.get(&path).filter(|(was, ..)| *was == oid);
            let (s, ns) = known.map_or((meta.mtime(), meta.mtime_nsec()), |(_, s, ns)| (*s, *ns));
            if known.is_some() {
                let time = Timespec { tv_sec: s, tv_nsec: ns };
                let times = Timestamps { last_access: time, last_modification: time };
                let _ = utimensat(CWD, &file, &times, AtFlags::SYMLINK_NOFOLLOW);
            }
            new.0.insert(path, (oid, s, ns));
        }
        let _ = write_atomic(&at, &serde_json::to_vec(&new).unwrap_or_default());
        Ok(tree)
    }

    /// Gives it back: how large it is now is written down, and what is too much of all of them goes, the oldest first.
    pub(crate) fn give_back(self, site: &Site, tool: &str) {
        let _ = site.shelf.discard(&self.dir.join("tree"));
        let about = About { tool: tool.to_owned(), bytes: size_of(&self.dir), used: now().0 };
        let _ = write_atomic(&self.dir.join("about.json"), &serde_json::to_vec(&about).unwrap_or_default());
        drop(self);
        trim(&site.project, site.settings.checks.cache_mb << 20);
    }
}

/// Whether the change touches what the tool itself runs as code: that could leave anything behind.
fn runs_changed_code(site: &Site, tool: &Tool, change: &Change, commit: &Oid) -> bool {
    let paths = change.files().iter().flat_map(|file| file.old.iter().chain(&file.new));
    let text = |path: &str| {
        let bytes = site.repo.file_at(commit, &tribunal_git::GitPath::from(path)).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    paths.into_iter().any(|path| tool.runs(path, &text))
}

/// Which programs these are, by what the system says of their files: their versions, without asking them.
fn identity(site: &Site, tool: &Tool) -> String {
    let path = site.environment.get("PATH");
    let mut text = String::new();
    for name in &tool.programs {
        let Some(found) = program(site.project.root(), path, name) else { continue };
        text.push_str(&of_file(&found));
        // What runs it, and the packages it lies among.
        if let Some(runner) = runner(&found).and_then(|runner| program(site.project.root(), path, &runner)) {
            text.push_str(&of_file(&runner));
        }
        for packages in packages_beside(&found) {
            text.push_str(&of_file(&packages));
        }
    }
    for name in &tool.outside {
        let Some(path) = expand(name, &site.environment) else { continue };
        text.push_str(&of_settings(&path));
    }
    for name in &tool.borrow {
        let own = site.project.root().join(name);
        text.push_str(&of_file(&own));
        text.push_str(&of_settings(&own.join(".package-lock.json")));
    }
    text
}

/// `~/x` and `$NAME/x`; nothing where that is not set.
fn expand(name: &str, environment: &BTreeMap<String, OsString>) -> Option<PathBuf> {
    let (variable, rest) = match name.strip_prefix("~/") {
        Some(rest) => ("HOME", rest),
        None => name.strip_prefix('$')?.split_once('/')?,
    };
    environment.get(variable).map(|folder| PathBuf::from(folder).join(rest))
}

/// The program that a script's first line names.
fn runner(path: &Path) -> Option<String> {
    use io::Read as _;
    let mut head = [0; 200];
    let length = File::open(path).ok()?.read(&mut head).ok()?;
    let text = String::from_utf8_lossy(head.get(..length)?).into_owned();
    tribunal_agent::tool::first_line_program(text.lines().next()?)
}

/// Folders of packages beside a program of an environment of its own.
fn packages_beside(path: &Path) -> Vec<PathBuf> {
    let lib =
        path.parent().filter(|bin| bin.ends_with("bin")).and_then(Path::parent).map(|root| root.join("lib"));
    let folders = lib.into_iter().flat_map(|lib| fs::read_dir(lib).into_iter().flatten().flatten());
    folders.map(|entry| entry.path().join("site-packages")).filter(|path| path.is_dir()).collect()
}

fn of_file(path: &Path) -> String {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match real.metadata() {
        Ok(meta) => format!(
            "{} {} {} {} {}.{} {}.{}\n",
            real.display(),
            meta.dev(),
            meta.ino(),
            meta.len(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec()
        ),
        Err(_) => format!("{} is not there\n", path.display()),
    }
}

/// A small file by what is in it, a folder by what is in that, one level deep.
fn of_settings(path: &Path) -> String {
    let small = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= SETTINGS_MAX);
    if small && let Ok(bytes) = fs::read(path) {
        return format!("{} {}\n", path.display(), digest(&[&bytes]));
    }
    let mut inside: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    inside.sort();
    let below: String = inside.iter().take(200).map(|path| of_file(path)).collect();
    format!("{}{below}", of_file(path))
}

/// An answer, and the run in which the tool gave it.
#[derive(Serialize, Deserialize)]
struct Answer {
    run: String,
    looked: Looked,
}

/// Where an answer is kept: named by everything that it comes from.
pub(crate) struct Memo(PathBuf);

impl Memo {
    /// The place for what a tool says of a tree, seen from another one; none where that may be something else tomorrow.
    pub(crate) fn of(
        site: &Site,
        tool: &Tool,
        seat: &Detected,
        (base, commit): (&Oid, &Oid),
    ) -> Result<Option<Memo>, GitError> {
        if site.settings.checks.cache_mb == 0 || tool.memo == Some(false) {
            return Ok(None);
        }
        let trees = [site.repo.tree_of(base)?, site.repo.tree_of(commit)?];
        let env: Vec<String> = super::check::KEPT
            .iter()
            .map(|name| format!("{name}={:?}", site.environment.get(*name)))
            .collect();
        let said = (env!("CARGO_PKG_VERSION"), tool, seat, env, &site.settings.agents.sandbox);
        let Ok(said) = serde_json::to_vec(&said) else { return Ok(None) };
        let [base, commit] = &trees;
        let name = digest(&[
            FORM,
            &said,
            identity(site, tool).as_bytes(),
            base.as_str().as_bytes(),
            commit.as_str().as_bytes(),
        ]);
        Ok(Some(Memo(
            folder(&site.project).join("answers").join(format!("{}-{name}.json", slug(&tool.name))),
        )))
    }

    /// What it said before, and in which run.
    pub(crate) fn read(&self) -> Option<(Looked, String)> {
        let answer: Answer = serde_json::from_slice(&fs::read(&self.0).ok()?).ok()?;
        // So that the ones in use are the last to go.
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW },
            last_modification: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW },
        };
        let _ = utimensat(CWD, &self.0, &times, AtFlags::empty());
        Some((answer.looked, answer.run))
    }

    /// Keeps what it said. That it cannot be kept costs time, and nothing else.
    pub(crate) fn write(&self, run: &str, looked: &Looked) {
        let Some(dir) = self.0.parent() else { return };
        let answer = Answer { run: run.to_owned(), looked: looked.clone() };
        let Ok(bytes) = serde_json::to_vec(&answer) else { return };
        let _ = fs::create_dir_all(dir).and_then(|()| write_atomic(&self.0, &bytes));
        let mut kept = oldest_first(dir);
        let many = kept.len().saturating_sub(ANSWERS_MAX);
        kept.drain(..many).for_each(|(_, path)| _ = fs::remove_file(path));
    }
}

/// What is in a folder, by when it was last used.
fn oldest_first(dir: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let used = |path: &Path| {
        let about = fs::read(path.join("about.json")).ok();
        let about = about.and_then(|bytes| serde_json::from_slice::<About>(&bytes).ok());
        let changed =
            || path.symlink_metadata().map_or(0, |meta| u64::try_from(meta.mtime()).unwrap_or(0) * 1000);
        about.map_or_else(changed, |about| about.used)
    };
    let mut all: Vec<(u64, PathBuf)> = entries.map(|entry| (used(&entry.path()), entry.path())).collect();
    all.sort();
    all
}

/// Takes warm folders away until the rest is no larger than that.
fn trim(project: &Project, max: u64) {
    let bytes_of = |path: &Path| {
        let about = fs::read(path.join("about.json")).ok();
        about.and_then(|bytes| serde_json::from_slice::<About>(&bytes).ok()).map_or(0, |about| about.bytes)
    };
    let all = oldest_first(&folder(project).join("tools"));
    let mut left: u64 = all.iter().map(|(_, path)| bytes_of(path)).sum();
    for (_, path) in all {
        if left <= max {
            return;
        }
        let bytes = bytes_of(&path);
        if remove(project, &path) {
            left = left.saturating_sub(bytes);
        }
    }
}

/// Removes a warm folder that nobody has now.
fn remove(project: &Project, path: &Path) -> bool {
    let Ok(Some(_warm)) = Warm::lock(path.to_owned()) else { return false };
    let trash = tribunal_git::Trash::open(&project.folder().join("trash"));
    trash.is_ok_and(|trash| {
        let taken = trash.take(path).is_ok();
        trash.empty();
        taken
    })
}

/// What was last used before a time goes: its names, and how many bytes.
pub(super) fn gc(project: &Project, limit: u64, dry: bool) -> (Vec<String>, u64) {
    let (mut names, mut bytes) = (Vec::new(), 0);
    let folder = folder(project);
    for (used, path) in oldest_first(&folder.join("tools")) {
        let size = size_of(&path);
        if used <= limit && (dry || remove(project, &path)) {
            bytes += size;
            names.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    for (used, path) in oldest_first(&folder.join("answers")) {
        let size = path.symlink_metadata().map_or(0, |meta| meta.len());
        if used <= limit && (dry || fs::remove_file(&path).is_ok()) {
            bytes += size;
        }
    }
    (names, bytes)
}

fn size_of(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path().symlink_metadata() {
            Ok(meta) if meta.is_dir() => size_of(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}
