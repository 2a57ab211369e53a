//! What a tool keeps for the next review, and what it said before. A warm folder is one tool's, in one version, for one set
//! of lock files, in one repository; whoever holds its lock has it alone. Where the tool runs code of what it looks at, that
//! code can write anything there: such a run begins with a copy of what the base left, and what it leaves itself is used
//! only when its commit has become part of a base. An answer is kept by everything it came from, so that the same commit
//! asks no tool twice. Neither is shown to anything judged, but for the folder that the tool itself writes to.

use super::tools::{Looked, program};
use crate::build::make::digest;
use crate::land::write_atomic;
use crate::project::Project;
use crate::site::{Site, now, slug};
use rustix::fs::{AtFlags, CWD, FlockOperation, Timespec, Timestamps, flock, utimensat};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tribunal_agent::tool::Tool;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::tool::DetectedTool;
use tribunal_findings::track::Change;
use tribunal_git::{GitError, GitPath, Mode, Oid, Tree};

/// Answers that are kept.
pub(crate) const ANSWERS_MAX: usize = 500;
/// Bytes of a settings file that are read to know it by; a larger one is known by its times.
const SETTINGS_MAX: u64 = 64 << 10;
/// What a changed form of these files is called by.
const FORM: &[u8] = b"tribunal tools 3";
/// What is known of a warm folder, in it.
const ABOUT: &str = "about.json";

/// Where a project's caches are.
pub(crate) fn folder(project: &Project) -> PathBuf {
    project.folder().join("cache")
}

/// A folder that a tool has to itself. What is in it was written by runs in which only code of the base ran, if any: so
/// nothing that one branch's build script or macro leaves behind is there when another branch is judged.
pub(crate) struct Warm {
    dir: PathBuf,
    about: About,
    /// Code of what is judged may run in it: what it leaves behind is taken out again.
    runs: bool,
    /// Held as long as this is.
    _lock: File,
}

/// What is known of a warm folder.
#[derive(Default, Serialize, Deserialize)]
struct About {
    bytes: u64,
    used: u64,
    /// Commits whose own code may have run in it. It is used only where each of them is part of the base.
    #[serde(default)]
    ran: Vec<String>,
    /// The commit whose run left what is kept beside it, until that is part of a base.
    #[serde(default)]
    next: Option<String>,
}

/// When each file of a tool's tree was first as it is: tools that go by times know by it what changed.
#[derive(Default, Serialize, Deserialize)]
struct Times(BTreeMap<String, (String, i64, i64)>);

/// What a warm folder is wanted for.
pub(crate) struct Wanted<'a> {
    /// The tool, and what its folder is called.
    pub(crate) tool: &'a Tool,
    pub(crate) name: &'a str,
    /// What it looks at, and from where: code of the base is believed, code of the commit is not.
    pub(crate) base: &'a Oid,
    pub(crate) commit: &'a Oid,
    /// Whether code of the commit may run.
    pub(crate) runs: bool,
}

/// What a tool writes to, and what one run writes.
const DATA: &str = "data";
/// The same, as it was before code of a commit that is judged ran in it.
const KEPT: &str = "kept";
/// What such a run left, for when its commit is part of a base.
const NEXT: &str = "next";

impl Warm {
    /// The warm folder of a tool, if it may have one and nobody else has it now.
    pub(crate) fn take(site: &Site, wanted: &Wanted<'_>) -> Result<Option<Warm>, GitError> {
        let Wanted { tool, name, base, commit, runs } = *wanted;
        if site.settings.checks.cache_mb == 0 || !tool.wants_cache() {
            return Ok(None);
        }
        let mut parts: Vec<Vec<u8>> = vec![
            FORM.to_vec(),
            serde_json::to_vec(&(&tool.check, &tool.env)).unwrap_or_default(),
            site.sandbox_words().into_bytes(),
        ];
        let Some(programs) = programs(site, tool) else { return Ok(None) };
        parts.push(programs.into_bytes());
        for entry in site.repo.list_tree(commit)? {
            let path = entry.path.to_string();
            let file = path.rsplit('/').next().unwrap_or(&path);
            if tool.locks.iter().any(|lock| lock == file) {
                parts.push(format!("{path} {}", entry.oid).into_bytes());
            }
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let dir = folder(&site.project).join("tools").join(format!("{}-{}", slug(name), digest(&parts)));
        let trash = |path: &Path| site.shelf.discard(path).is_ok();
        let is_part = |commit: &str| {
            let commit = Oid::parse(commit).ok();
            commit.is_some_and(|commit| site.repo.is_ancestor(&commit, base).unwrap_or(false))
        };
        let Ok(Some(mut warm)) = Warm::lock(dir) else { return Ok(None) };
        let ready = warm.trusted(&is_part, &trash) && (!runs || warm.set_aside(&trash));
        warm.runs = runs;
        Ok(ready.then_some(warm))
    }

    fn lock(dir: PathBuf) -> io::Result<Option<Warm>> {
        fs::create_dir_all(dir.join(DATA))?;
        let lock = File::options().create(true).truncate(false).write(true).open(dir.join("lock"))?;
        let about = fs::read(dir.join(ABOUT)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let about = about.unwrap_or_default();
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            // Whoever tidied up may have removed it in between.
            Ok(()) if dir.join("lock").exists() => Ok(Some(Warm { dir, about, runs: false, _lock: lock })),
            _ => Ok(None),
        }
    }

    /// Brings it to what may be trusted: what somebody left whose code is not part of the base goes.
    fn trusted(&mut self, is_part: &dyn Fn(&str) -> bool, trash: &dyn Fn(&Path) -> bool) -> bool {
        let (data, kept, next) = (self.data(), self.dir.join(KEPT), self.dir.join(NEXT));
        // Whoever had it died while code of a change ran.
        if kept.exists() && !(trash(&data) && fs::rename(&kept, &data).is_ok()) {
            return false;
        }
        if let Some(commit) = self.about.next.take_if(|commit| is_part(commit)) {
            if !(trash(&data) && fs::rename(&next, &data).is_ok()) {
                return false;
            }
            self.about.ran.push(commit);
        }
        if !self.about.ran.iter().all(|commit| is_part(commit)) {
            if !trash(&data) {
                return false;
            }
            self.about.ran.clear();
        }
        fs::create_dir_all(&data).is_ok() && self.note().is_ok()
    }

    /// Whether there is nothing in it yet.
    pub(crate) fn is_cold(&self) -> bool {
        fs::read_dir(self.data()).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// Code of this commit, which is believed, is about to run in it.
    pub(crate) fn will_run(&mut self, commit: &Oid) -> io::Result<()> {
        self.about.ran.push(commit.to_string());
        self.note()
    }

    /// Keeps what is in it, before code that nobody believes runs there.
    pub(crate) fn set_aside(&self, trash: &dyn Fn(&Path) -> bool) -> bool {
        let (kept, part) = (self.dir.join(KEPT), self.dir.join("kept.part"));
        trash(&part) && copy_folder(&self.data(), &part).is_ok() && fs::rename(&part, &kept).is_ok()
    }

    fn note(&self) -> io::Result<()> {
        write_atomic(&self.dir.join(ABOUT), &serde_json::to_vec(&self.about)?)
    }

    /// What the tool writes to.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join(DATA)
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
                let _ = set_time(&file, s, ns);
            }
            new.0.insert(path, (oid, s, ns));
        }
        let _ = write_atomic(&at, &serde_json::to_vec(&new).unwrap_or_default());
        Ok(tree)
    }

    /// Gives it back. What code of a change could have written is taken out; `looked` is the commit that was looked at,
    /// whose own leavings are of use once it is part of a base. How large it is now is written down, and what is too much
    /// of all of them goes, the oldest first.
    pub(crate) fn give_back(mut self, site: &Site, looked: Option<&Oid>) {
        let trash = |path: &Path| site.shelf.discard(path).is_ok();
        let _ = trash(&self.dir.join("tree"));
        if self.runs {
            self.take_out(looked.map(ToString::to_string), &trash);
        }
        self.about.bytes = size_of(&self.dir);
        self.about.used = now().0;
        let _ = self.note();
        drop(self);
        trim(&site.project, site.settings.checks.cache_mb << 20);
    }

    /// Where this fails half-way, the next who takes it finds what was kept, and goes on from there.
    fn take_out(&mut self, looked: Option<String>, trash: &dyn Fn(&Path) -> bool) {
        let (data, kept, next) = (self.data(), self.dir.join(KEPT), self.dir.join(NEXT));
        self.about.next = None;
        if self.note().is_err() || !trash(&next) {
            return;
        }
        let moved = match looked {
            Some(commit) if fs::rename(&data, &next).is_ok() => {
                self.about.next = Some(commit);
                true
            }
            _ => trash(&data),
        };
        let _ = moved && fs::rename(&kept, &data).is_ok();
    }
}

fn set_time(file: &Path, s: i64, ns: i64) -> io::Result<()> {
    let time = Timespec { tv_sec: s, tv_nsec: ns };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(utimensat(CWD, file, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Copies a folder with the times of its files, by which tools know what is new. A link stays a link and is not followed;
/// what is neither file, folder nor link is left out.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let meta = from.symlink_metadata()?;
        match meta.file_type() {
            kind if kind.is_dir() => copy_folder(&from, &to)?,
            kind if kind.is_symlink() => std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?,
            kind if kind.is_file() => fs::copy(&from, &to).map(drop)?,
            _ => continue,
        }
        set_time(&to, meta.mtime(), meta.mtime_nsec())?;
    }
    Ok(())
}

/// Whether a tool may run code of what it looks at.
pub(crate) fn may_run_code(
    site: &Site,
    tool: &Tool,
    change: &Change,
    commit: &Oid,
) -> Result<bool, GitError> {
    // What keeps nothing leaves nothing behind.
    if !tool.wants_cache() || !stands(Defence::BaseCache) {
        return Ok(false);
    }
    let files: Vec<String> =
        site.repo.list_tree(commit)?.into_iter().map(|entry| entry.path.to_string()).collect();
    let changed = change.files().iter().flat_map(|file| file.old.iter().chain(&file.new));
    let changed: Vec<String> = changed.cloned().collect();
    let text = |path: &str| {
        let bytes = site.repo.file_at(commit, &GitPath::from(path)).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(tool.may_run_code(&files, &changed, &text))
}

/// Files by which programs of the same name in the same place become others: where version managers keep what they were
/// told, and what git leaves out everywhere.
const EVERYWHERE: [&str; 13] = [
    "~/.tool-versions",
    "~/.config/mise",
    "~/.mise.toml",
    "~/.volta/tools/user/platform.json",
    "~/.nvm/alias/default",
    "~/.nodenv/version",
    "~/.pyenv/version",
    "~/.rbenv/version",
    "~/.goenv/version",
    "~/.sdkman/candidates",
    "~/.gitconfig",
    "~/.config/git",
    "~/.editorconfig",
];

/// Which programs these are, by what the system says of their files: their versions, without asking them. With them what
/// runs them and the packages they lie among; none where those are too many to be known.
fn programs(site: &Site, tool: &Tool) -> Option<String> {
    programs_of(site, &tool.programs, &tool.outside)
}

/// The same by their names, with the settings outside of the tree that they read.
pub(crate) fn programs_of(site: &Site, names: &[String], outside: &[String]) -> Option<String> {
    let (root, path) = (site.project.root(), site.environment.get("PATH"));
    let mut text = String::new();
    for name in names {
        let Some(found) = program(root, path, name) else {
            text.push_str(&format!("{name} is nowhere\n"));
            continue;
        };
        text.push_str(&of_file(&found));
        let Some(runner) = runner(&found) else { continue };
        text.push_str(&program(root, path, &runner).as_deref().map(of_file).unwrap_or_default());
        if !runner.contains("python") && !runner.contains("pypy") {
            continue;
        }
        let real = found.canonicalize().unwrap_or_else(|_| found.clone());
        let packages: BTreeSet<PathBuf> =
            [&found, &real].into_iter().flat_map(|path| packages_beside(path)).collect();
        for packages in packages {
            text.push_str(&of_packages(&packages)?);
        }
    }
    for name in outside.iter().map(String::as_str).chain(EVERYWHERE) {
        let Some(path) = expand(name, &site.environment) else { continue };
        text.push_str(&of_settings(&path));
    }
    Some(text)
}

/// Everything else outside of the tree that an answer comes from: settings in the folders above the one the tool runs in,
/// which may lie in the user's own work tree, and the packages that it borrows from there.
fn surroundings(site: &Site, tool: &Tool, seat: &DetectedTool) -> Option<String> {
    let mut text = String::new();
    for folder in folder(&site.project).ancestors() {
        tool.found_above().iter().for_each(|name| text.push_str(&of_settings(&folder.join(name))));
    }
    for borrowed in borrowed(site.project.root(), tool, seat) {
        text.push_str(&of_packages(&borrowed)?);
    }
    Some(text)
}

/// The folders that a tool borrows: those of the places it looks at, and all above them.
fn borrowed(root: &Path, tool: &Tool, seat: &DetectedTool) -> BTreeSet<PathBuf> {
    let places = seat.places.keys().map(|place| root.join(place));
    let folders: BTreeSet<PathBuf> = places
        .chain([root.to_owned()])
        .flat_map(|place| place.ancestors().map(Path::to_owned).collect::<Vec<_>>())
        .filter(|folder| folder.starts_with(root))
        .collect();
    folders.iter().flat_map(|folder| tool.borrow.iter().map(|name| folder.join(name))).collect()
}

/// Files of an installation that are looked at to know it by; of a larger one nothing is remembered.
const PACKAGES_MAX: usize = 300_000;

/// A folder of packages by all its files: whoever installs, patches or removes one changes it. Links are not followed, but
/// what they lead to counts where that is a file; none where there are too many.
pub(crate) fn of_packages(folder: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    let (mut left, mut open) = (PACKAGES_MAX, vec![folder.to_owned()]);
    while let Some(at) = open.pop() {
        let mut inside: Vec<PathBuf> =
            fs::read_dir(&at).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        inside.sort();
        left = left.checked_sub(inside.len())?;
        for path in inside {
            let Ok(meta) = path.symlink_metadata() else { continue };
            // Compiled on the way, by whoever reads first.
            if meta.is_dir() && path.ends_with("__pycache__") {
                continue;
            }
            if meta.is_dir() {
                open.push(path.clone());
            }
            let link = meta.is_symlink().then(|| of_file(&path));
            let times = (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
            // A folder is known by what is in it.
            let times = (!meta.is_dir()).then_some(times);
            hasher.update(format!("{} {times:?} {link:?}\n", path.display()).as_bytes());
        }
    }
    Some(format!("{} {}\n", of_place(folder), hasher.finalize().to_hex()))
}

/// Where something really is.
fn of_place(path: &Path) -> String {
    path.canonicalize().map_or_else(|_| "nowhere".to_owned(), |path| path.display().to_string())
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
    let mut words = text.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let first = words.next()?;
    match first.ends_with("/env") {
        // By its whole name: `python3` is not `python`.
        true => words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned),
        false => Some(first.to_owned()),
    }
}

/// Folders of packages beside a program of an environment of its own.
fn packages_beside(path: &Path) -> Vec<PathBuf> {
    let lib =
        path.parent().filter(|bin| bin.ends_with("bin")).and_then(Path::parent).map(|root| root.join("lib"));
    let folders = lib.into_iter().flat_map(|lib| fs::read_dir(lib).into_iter().flatten().flatten());
    let named = |folder: PathBuf| ["site-packages", "dist-packages"].map(|name| folder.join(name));
    folders.flat_map(|entry| named(entry.path())).filter(|path| path.is_dir()).collect()
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
    /// What it was asked, so that a file of another name is no answer.
    asked: String,
    run: String,
    looked: Looked,
}

/// Where an answer is kept: named by everything that it comes from.
pub(crate) struct Memo {
    path: PathBuf,
    asked: String,
}

impl Memo {
    /// The place for what a tool says of a tree, seen from another one; none where that may be something else tomorrow.
    pub(crate) fn of(
        site: &Site,
        tool: &Tool,
        seat: &DetectedTool,
        (base, commit): (&Oid, &Oid),
    ) -> Result<Option<Memo>, GitError> {
        let kept = site.settings.checks.cache_mb != 0 && tool.memo != Some(false);
        if !kept || leads_out(site, commit)? {
            return Ok(None);
        }
        let trees = [site.repo.tree_of(base)?, site.repo.tree_of(commit)?];
        let env: Vec<String> = crate::check::KEPT
            .iter()
            .map(|name| format!("{name}={:?}", site.environment.get(*name)))
            .collect();
        let sandbox = (&site.settings.agents.sandbox, site.sandbox_words());
        let said = (
            env!("CARGO_PKG_VERSION"),
            tool,
            seat,
            env,
            sandbox,
            &site.settings.agents.writable,
            &site.settings.agents.readable,
        );
        let Ok(said) = serde_json::to_vec(&said) else { return Ok(None) };
        let (programs, around) = (programs(site, tool), surroundings(site, tool, seat));
        let (Some(programs), Some(around)) = (programs, around) else { return Ok(None) };
        let [base, commit] = &trees;
        let mut hasher = blake3::Hasher::new();
        let trees = [base, commit].map(|tree| tree.as_str().as_bytes());
        for part in [FORM, &said, programs.as_bytes(), around.as_bytes()].into_iter().chain(trees) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        // Whole: whoever writes the code that is judged may look for two trees with one name.
        let asked = hasher.finalize().to_hex().to_string();
        let path = folder(&site.project).join("answers").join(format!("{}-{asked}.json", slug(&tool.name)));
        Ok(Some(Memo { path, asked }))
    }

    /// What it said before, and in which run.
    pub(crate) fn read(&self) -> Option<(Looked, String)> {
        let answer: Answer = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        if answer.asked != self.asked {
            return None;
        }
        // So that the ones in use are the last to go.
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW },
            last_modification: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW },
        };
        let _ = utimensat(CWD, &self.path, &times, AtFlags::empty());
        Some((answer.looked, answer.run))
    }

    /// Keeps what it said. That it cannot be kept costs time, and nothing else.
    pub(crate) fn write(&self, run: &str, looked: &Looked) {
        let Some(dir) = self.path.parent() else { return };
        let answer = Answer { asked: self.asked.clone(), run: run.to_owned(), looked: looked.clone() };
        let Ok(bytes) = serde_json::to_vec(&answer) else { return };
        let _ = fs::create_dir_all(dir).and_then(|()| write_atomic(&self.path, &bytes));
        let mut kept = oldest_first(dir);
        let many = kept.len().saturating_sub(ANSWERS_MAX);
        kept.drain(..many).for_each(|(_, path)| _ = fs::remove_file(path));
    }
}

/// Whether a link of a commit leads out of its tree, to what may be something else tomorrow.
pub(crate) fn leads_out(site: &Site, commit: &Oid) -> Result<bool, GitError> {
    let links = site.repo.list_tree(commit)?.into_iter().filter(|entry| entry.mode == Mode::Symlink);
    for link in links {
        let target = site.repo.read_blob(&link.oid)?;
        if is_outside(&link.path.to_string(), &String::from_utf8_lossy(&target)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a link at a path of a tree with this target leads out of the tree.
fn is_outside(path: &str, target: &str) -> bool {
    let mut depth = path.matches('/').count();
    for part in target.split('/') {
        match part {
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            "" | "." => {}
            _ => depth += 1,
        }
    }
    target.starts_with('/')
}

/// What is in a folder, by when it was last used.
pub(crate) fn oldest_first(dir: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let used = |path: &Path| {
        let about = fs::read(path.join(ABOUT)).ok();
        let about = about.and_then(|bytes| serde_json::from_slice::<About>(&bytes).ok());
        let changed =
            || path.symlink_metadata().map_or(0, |meta| u64::try_from(meta.mtime()).unwrap_or(0) * 1000);
        about.map_or_else(changed, |about| about.used)
    };
    let mut all: Vec<(u64, PathBuf)> = entries.map(|entry| (used(&entry.path()), entry.path())).collect();
    all.sort();
    all
}

/// Notes that a folder of prepared packages was used, and how large it is; what is too much of all of them goes.
pub(crate) fn keep_prepared(site: &Site, dir: &Path) {
    let known = fs::read(dir.join(ABOUT)).ok().and_then(|bytes| serde_json::from_slice::<About>(&bytes).ok());
    let bytes = known.map_or_else(|| size_of(dir), |about| about.bytes);
    let about = About { bytes, used: now().0, ..About::default() };
    let _ = write_atomic(&dir.join(ABOUT), &serde_json::to_vec(&about).unwrap_or_default());
    trim(&site.project, site.settings.checks.cache_mb << 20);
}

/// Takes warm folders away until the rest is no larger than that.
fn trim(project: &Project, max: u64) {
    let bytes_of = |path: &Path| {
        let about = fs::read(path.join(ABOUT)).ok();
        about.and_then(|bytes| serde_json::from_slice::<About>(&bytes).ok()).map_or(0, |about| about.bytes)
    };
    let mut all = oldest_first(&folder(project).join("tools"));
    all.extend(oldest_first(&folder(project).join("prepared")));
    all.sort();
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
pub(crate) fn gc(project: &Project, limit: u64, dry: bool) -> (Vec<String>, u64) {
    let (mut names, mut bytes) = (Vec::new(), 0);
    let folder = folder(project);
    let warm = ["tools", "prepared"].map(|name| oldest_first(&folder.join(name)));
    for (used, path) in warm.into_iter().flatten() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Deletes at once.
    fn trash(path: &Path) -> bool {
        !path.exists() || fs::remove_dir_all(path).is_ok()
    }

    /// A tool's folder, taken for a change of a base that has these commits, with what a run in it wrote.
    struct Folder(tempfile::TempDir);

    impl Folder {
        fn take(&self, base: &[&str], runs: bool) -> Warm {
            let mut warm = Warm::lock(self.0.path().join("tool")).unwrap().unwrap();
            let is_part = |commit: &str| base.contains(&commit);
            assert!(warm.trusted(&is_part, &trash) && (!runs || warm.set_aside(&trash)));
            warm.runs = runs;
            warm
        }

        /// What one look finds there; it leaves its own name.
        fn look(&self, base: &[&str], commit: &str, runs: bool) -> Vec<String> {
            let mut warm = self.take(base, runs);
            let found = names(&warm.data());
            put(&warm.data().join(commit), "");
            if runs {
                warm.take_out(Some(commit.to_owned()), &trash);
            }
            warm.note().unwrap();
            found
        }
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_code_of_one_branch_wrote_is_not_there_for_another() {
        let folder = Folder(tempfile::tempdir().unwrap());
        assert_eq!(folder.look(&["main"], "plain", false), [""; 0]);
        assert_eq!(folder.look(&["main"], "evil", true), ["plain"], "it begins warm");
        assert_eq!(folder.look(&["main"], "other", true), ["plain"], "and leaves nothing");
        assert_eq!(folder.look(&["main"], "quiet", false), ["plain"]);
        // The same branch, with the code that wrote it taken away again.
        assert_eq!(folder.look(&["main"], "evil-2", true), ["plain", "quiet"]);
    }

    #[test]
    fn what_has_become_part_of_the_base_is_used_again_and_only_there() {
        let folder = Folder(tempfile::tempdir().unwrap());
        assert_eq!(folder.look(&["1"], "2", true), [""; 0]);
        assert_eq!(folder.look(&["1", "2"], "3", true), ["2"], "2 is the base now");
        assert_eq!(folder.look(&["1", "2", "3"], "4", true), ["2", "3"]);
        // A base that never had them, as after a branch was thrown away.
        assert_eq!(folder.look(&["1"], "5", false), [""; 0]);
        assert_eq!(folder.look(&["1"], "6", false), ["5"]);
    }

    #[test]
    fn who_dies_while_code_of_a_change_runs_leaves_nothing_of_it() {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.look(&["main"], "plain", false);
        let warm = folder.take(&["main"], true);
        put(&warm.data().join("evil"), "");
        fs::remove_file(warm.data().join("plain")).unwrap();
        drop(warm);
        assert_eq!(folder.look(&["main"], "next", false), ["plain"]);
        // Half a copy is none.
        let warm = folder.take(&["main"], false);
        put(&warm.dir.join("kept.part/half"), "");
        drop(warm);
        assert_eq!(folder.look(&["main"], "last", true), ["next", "plain"]);
    }

    #[test]
    fn one_has_it_at_a_time() {
        let folder = Folder(tempfile::tempdir().unwrap());
        let warm = folder.take(&[], false);
        assert!(Warm::lock(warm.dir.clone()).unwrap().is_none());
    }

    #[test]
    fn a_copy_has_the_times_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        put(&at("users/secret"), "secret");
        put(&at("from/a/b"), "text");
        set_time(&at("from/a/b"), 1_000, 5).unwrap();
        std::os::unix::fs::symlink(at("users"), at("from/link")).unwrap();
        copy_folder(&at("from"), &at("to")).unwrap();
        assert_eq!(fs::read_to_string(at("to/a/b")).unwrap(), "text");
        let meta = at("to/a/b").metadata().unwrap();
        assert_eq!((meta.mtime(), meta.mtime_nsec()), (1_000, 5));
        assert_eq!(fs::read_link(at("to/link")).unwrap(), at("users"));
    }

    #[test]
    fn a_link_out_of_the_tree_is_known() {
        for (path, target, expect) in [
            ("a", "b/c", false),
            ("a/b", "../c", false),
            ("a/b", "../../c", true),
            ("a", "..", true),
            ("a/b/c", "./../../d/../..", true),
            ("a/b/c", "../../d/..", false),
            ("a", "/etc/x", true),
        ] {
            assert_eq!(is_outside(path, target), expect, "{path} -> {target}");
        }
    }

    #[test]
    fn what_runs_a_script_is_known_by_its_whole_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tool");
        for (line, expect) in [
            ("#!/usr/bin/env python3", Some("python3")),
            ("#!/usr/bin/env -S LANG=C node --flag", Some("node")),
            ("#!/opt/venv/bin/python3.11", Some("/opt/venv/bin/python3.11")),
            ("\u{7f}ELF", None),
        ] {
            put(&path, &format!("{line}\nrest\n"));
            assert_eq!(runner(&path).as_deref(), expect, "{line}");
        }
    }

    #[test]
    fn packages_are_known_by_every_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(of_packages(&at("modules")), of_packages(&at("modules")));
        put(&at("modules/a/lib/index.js"), "1");
        put(&at("outside/real.js"), "1");
        std::os::unix::fs::symlink(at("outside/real.js"), at("modules/linked.js")).unwrap();
        let mut seen = BTreeSet::from([of_packages(&at("modules")).unwrap()]);
        let mut changed = |what: &str| {
            assert!(seen.insert(of_packages(&at("modules")).unwrap()), "{what} is not seen");
        };
        put(&at("modules/a/lib/index.js"), "22");
        changed("a file deep inside that was written");
        put(&at("modules/a/lib/other.js"), "1");
        changed("a new file");
        put(&at("outside/real.js"), "22");
        changed("what a link leads to");
        fs::remove_file(at("modules/a/lib/index.js")).unwrap();
        changed("a file that went");
        let before = of_packages(&at("modules"));
        put(&at("modules/a/__pycache__/x.pyc"), "1");
        assert_eq!(of_packages(&at("modules")), before, "what is compiled on the way is no other package");
    }

    #[test]
    fn an_answer_of_another_name_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let memo =
            |asked: &str| Memo { path: folder.path().join(format!("{asked}.json")), asked: asked.to_owned() };
        memo("one").write("run-1", &Looked::default());
        assert_eq!(memo("one").read().map(|(_, run)| run).as_deref(), Some("run-1"));
        fs::copy(folder.path().join("one.json"), folder.path().join("two.json")).unwrap();
        assert!(memo("two").read().is_none(), "it is the answer to another question");
        for broken in ["", "{}", "{\"asked\":\"three\",\"run\":\"x\"}"] {
            put(&folder.path().join("three.json"), broken);
            assert!(memo("three").read().is_none(), "{broken:?}");
        }
    }
}
