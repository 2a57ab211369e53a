//! What tools keep for the next review: warm folders, and remembered answers.
//!
//! A warm folder belongs to one tool in one version, for one set of lock files in one repository, and one launch at a
//! time holds its lock. If the tool runs code of what it judges, that code can write anything there. Such a run gets a
//! copy of what the base left, and its own leavings are used only once its commit is part of a base.
//!
//! An answer is kept under a digest of everything it came from, so no tool is asked twice about the same commit.
//! Nothing judged ever sees the answers.

use super::tools::{Looked, program};
use crate::build::make::digest;
use crate::context::{RunContext, now, slug};
use crate::project::Project;
use crate::write_atomic;
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

/// How many answers are kept.
pub(crate) const ANSWERS_MAX: usize = 500;
/// Up to this size a settings file is identified by its content, above it by its times.
const SETTINGS_MAX: u64 = 64 << 10;
/// Part of every key. Change it when the form of the stored files changes, so that old ones are not read.
const FORM: &[u8] = b"tribunal tools 3";
/// The file in a warm folder that describes it.
const ABOUT: &str = "about.json";

/// The folder of a project's caches.
pub(crate) fn folder(project: &Project) -> PathBuf {
    project.folder().join("cache")
}

/// A folder that a tool has to itself.
///
/// Its content was written by runs in which at most code of the base ran. So a build script or macro of one branch
/// leaves nothing behind for the review of another branch.
pub(crate) struct Warm {
    dir: PathBuf,
    about: About,
    /// Code of the judged commit may run in it, so everything it leaves is taken out again.
    runs: bool,
    /// The lock is held as long as this value lives.
    _lock: File,
}

/// The description of a warm folder.
#[derive(Default, Serialize, Deserialize)]
struct About {
    bytes: u64,
    used: u64,
    /// Commits whose own code may have run in it. It is used only where all of them are part of the base.
    #[serde(default)]
    ran: Vec<String>,
    /// The commit whose run left the content beside it, until that commit is part of a base.
    #[serde(default)]
    next: Option<String>,
}

/// The time at which each file of a tool's tree got its present content. Tools that go by times see from it what
/// changed.
#[derive(Default, Serialize, Deserialize)]
struct Times(BTreeMap<String, (String, i64, i64)>);

/// The request for a warm folder.
pub(crate) struct Wanted<'a> {
    /// The tool, and the name of its folder.
    pub(crate) tool: &'a Tool,
    pub(crate) name: &'a str,
    /// The base is trusted to run code; the commit is not.
    pub(crate) base: &'a Oid,
    pub(crate) commit: &'a Oid,
    /// Whether code of the commit may run.
    pub(crate) runs: bool,
}

/// The part of the folder that the tool writes to.
const DATA: &str = "data";
/// A copy of it from before code of a judged commit ran.
const KEPT: &str = "kept";
/// What such a run left, for the time when its commit is part of a base.
const NEXT: &str = "next";

impl Warm {
    /// Takes the warm folder of a tool; none if the tool may not have one or another launch holds it.
    pub(crate) fn take(context: &RunContext, wanted: &Wanted<'_>) -> Result<Option<Warm>, GitError> {
        let Wanted { tool, name, base, commit, runs } = *wanted;
        if context.settings.checks.cache_mb == 0 || !tool.wants_cache() {
            return Ok(None);
        }
        let mut parts: Vec<Vec<u8>> = vec![
            FORM.to_vec(),
            serde_json::to_vec(&(&tool.check, &tool.env)).unwrap_or_default(),
            context.sandbox_words().into_bytes(),
        ];
        // A program that cannot be identified may change between two runs under one key.
        let Some(programs) = programs(context, tool) else { return Ok(None) };
        parts.push(programs.into_bytes());
        for entry in context.repo.list_tree(commit)? {
            // Other lock files mean other dependencies, and their leavings would not fit.
            let path = entry.path.to_string();
            let file = path.rsplit('/').next().unwrap_or(&path);
            if tool.locks.iter().any(|lock| lock == file) {
                parts.push(format!("{path} {}", entry.oid).into_bytes());
            }
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let dir = folder(&context.project).join("tools").join(format!("{}-{}", slug(name), digest(&parts)));
        let trash = |path: &Path| context.worktree_pool.discard(path).is_ok();
        // A commit that git does not know any more counts as not part of the base, so nothing of it is used.
        let is_part = |commit: &str| {
            let commit = Oid::parse(commit).ok();
            commit.is_some_and(|commit| context.repo.is_ancestor(&commit, base).unwrap_or(false))
        };
        let Ok(Some(mut warm)) = Warm::lock(dir) else { return Ok(None) };
        let ready = warm.trusted(&is_part, &trash) && (!runs || warm.filter_out(&trash));
        warm.runs = runs;
        Ok(ready.then_some(warm))
    }

    fn lock(dir: PathBuf) -> io::Result<Option<Warm>> {
        fs::create_dir_all(dir.join(DATA))?;
        let lock = File::options().create(true).truncate(false).write(true).open(dir.join("lock"))?;
        let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        // Between opening and locking, a cleanup may have removed the folder.
        if !locked || !dir.join("lock").exists() {
            return Ok(None);
        }
        // Read under the lock: the holder before may have written whose code ran until it let go.
        let about = fs::read(dir.join(ABOUT)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(Some(Warm { dir, about: about.unwrap_or_default(), runs: false, _lock: lock }))
    }

    /// Removes everything that code outside the base may have written. False if that did not work.
    fn trusted(&mut self, is_part: &dyn Fn(&str) -> bool, trash: &dyn Fn(&Path) -> bool) -> bool {
        let (data, kept, next) = (self.data(), self.dir.join(KEPT), self.dir.join(NEXT));
        // The holder before this one died while code of a change ran.
        if kept.exists() && !(trash(&data) && fs::rename(&kept, &data).is_ok()) {
            return false;
        }
        // The commit has been accepted since, so its leavings are as good as the base's and much warmer.
        if let Some(commit) = self.about.next.take_if(|commit| is_part(commit)) {
            // Whose code wrote the folder is on disk before the folder is there: whoever dies in between leaves a folder
            // that is trusted too little, never too much.
            self.about.ran.push(commit);
            if !(trash(&data) && self.note().is_ok() && fs::rename(&next, &data).is_ok()) {
                return false;
            }
        }
        // Another branch may have a base without these commits. Their code must not have a say there.
        if !self.about.ran.iter().all(|commit| is_part(commit)) {
            if !trash(&data) {
                return false;
            }
            self.about.ran.clear();
        }
        fs::create_dir_all(&data).is_ok() && self.note().is_ok()
    }

    /// Whether the folder is still empty.
    pub(crate) fn is_cold(&self) -> bool {
        fs::read_dir(self.data()).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// Records that code of this commit, which is trusted, is about to run in it.
    ///
    /// It is recorded before the run: if the process dies, the folder still says whose code may have written to it.
    pub(crate) fn will_run(&mut self, commit: &Oid) -> io::Result<()> {
        self.about.ran.push(commit.to_string());
        self.note()
    }

    /// Makes a copy of the folder before untrusted code runs there.
    pub(crate) fn filter_out(&self, trash: &dyn Fn(&Path) -> bool) -> bool {
        let (kept, part) = (self.dir.join(KEPT), self.dir.join("kept.part"));
        // The rename comes last, so that a copy under the final name is always complete.
        trash(&part) && copy_folder(&self.data(), &part).is_ok() && fs::rename(&part, &kept).is_ok()
    }

    fn note(&self) -> io::Result<()> {
        write_atomic(&self.dir.join(ABOUT), &serde_json::to_vec(&self.about)?)
    }

    /// The part of the folder that the tool writes to.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join(DATA)
    }

    /// A checkout at the same path as the last one, in which unchanged files keep their old times.
    ///
    /// Compilers and linters go by paths and times. With a fresh path or fresh times they would judge everything anew.
    pub(crate) fn tree(&self, context: &RunContext, commit: &Oid) -> Result<Tree, GitError> {
        let (dest, index) = (self.dir.join("tree"), self.dir.join("index"));
        context.worktree_pool.discard(&dest)?;
        let _ = fs::remove_file(&index);
        let tree = context.worktree_pool.checkout(&dest, &index, commit, "check")?;
        let at = self.dir.join("times.json");
        let old: Times =
            fs::read(&at).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let mut new = Times::default();
        for entry in context.repo.list_tree(commit)? {
            let (path, oid) = (entry.path.to_string(), entry.oid.to_string());
            let file = dest.join(&path);
            // Not checked out, so it has no time to keep.
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

    /// Gives the folder back.
    ///
    /// Everything that code of a change could have written is taken out. `looked` is the judged commit, whose leavings
    /// are useful once it is part of a base. Then the caches are cut to their limit, the oldest first.
    pub(crate) fn give_back(mut self, context: &RunContext, looked: Option<&Oid>) {
        let trash = |path: &Path| context.worktree_pool.discard(path).is_ok();
        let _ = trash(&self.dir.join("tree"));
        if self.runs {
            self.take_out(looked.map(ToString::to_string), &trash);
        }
        self.about.bytes = size_of(&self.dir);
        self.about.used = now().0;
        let _ = self.note();
        // Before trimming, which has to take the lock itself.
        drop(self);
        trim(&context.project, context.settings.checks.cache_mb << 20);
    }

    /// Puts the trusted content back. If it fails half-way, the next holder finds the copy and continues from there.
    fn take_out(&mut self, looked: Option<String>, trash: &dyn Fn(&Path) -> bool) {
        let (data, kept, next) = (self.data(), self.dir.join(KEPT), self.dir.join(NEXT));
        // First on disk: content under `next` must never be taken for another commit's.
        self.about.next = None;
        if self.note().is_err() || !trash(&next) {
            return;
        }
        let moved = match looked {
            // Kept for the day when the commit is part of a base.
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

/// Copies a folder with the times of its files, by which tools see what is new.
///
/// A link stays a link and is not followed. Anything that is neither file, folder nor link is left out.
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

/// Whether a tool may run code of what it judges.
pub(crate) fn may_run_code(
    context: &RunContext,
    tool: &Tool,
    change: &Change,
    commit: &Oid,
) -> Result<bool, GitError> {
    // A tool without a folder leaves nothing behind.
    if !tool.wants_cache() || !stands(Defence::BaseCache) {
        return Ok(false);
    }
    let files: Vec<String> =
        context.repo.list_tree(commit)?.into_iter().map(|entry| entry.path.to_string()).collect();
    let changed = change.files().iter().flat_map(|file| file.old.iter().chain(&file.new));
    let changed: Vec<String> = changed.cloned().collect();
    let text = |path: &str| {
        let bytes = context.repo.file_at(commit, &GitPath::from(path)).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(tool.may_run_code(&files, &changed, &text))
}

/// Files that turn a program of the same name and place into another one: the choices of version managers, and git's
/// global ignores.
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

/// Identifies a tool's programs by what the system says about their files, without starting them.
///
/// Interpreters and the packages beside a program count, too. None where there are too many packages to look at.
fn programs(context: &RunContext, tool: &Tool) -> Option<String> {
    programs_of(context, &tool.programs, &tool.outside)
}

/// Identifies programs by their names, together with the settings outside the tree that they read.
pub(crate) fn programs_of(context: &RunContext, names: &[String], outside: &[String]) -> Option<String> {
    let (root, path) = (context.project.root(), context.environment.get("PATH"));
    let mut text = String::new();
    for name in names {
        let Some(found) = program(root, path, name) else {
            text.push_str(&format!("{name} is nowhere\n"));
            continue;
        };
        text.push_str(&of_file(&found));
        let Some(runner) = runner(&found) else { continue };
        text.push_str(&program(root, path, &runner).as_deref().map(of_file).unwrap_or_default());
        // Only for Python the packages lie beside the program, in `lib` of its environment.
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
        let Some(path) = expand(name, &context.environment) else { continue };
        text.push_str(&of_settings(&path));
    }
    Some(text)
}

/// Everything else outside the tree that an answer depends on: settings in the folders above, and borrowed packages.
fn surroundings(context: &RunContext, tool: &Tool, reviewer: &DetectedTool) -> Option<String> {
    let mut text = String::new();
    // Many tools read settings from every folder above, up to the root.
    for folder in folder(&context.project).ancestors() {
        tool.found_above().iter().for_each(|name| text.push_str(&of_settings(&folder.join(name))));
    }
    for borrowed in borrowed(context.project.root(), tool, reviewer) {
        text.push_str(&of_packages(&borrowed)?);
    }
    Some(text)
}

/// The package folders that a tool borrows: in the places it looks at, and in all folders above them.
fn borrowed(root: &Path, tool: &Tool, reviewer: &DetectedTool) -> BTreeSet<PathBuf> {
    let places = reviewer.places.keys().map(|place| root.join(place));
    let folders: BTreeSet<PathBuf> = places
        .chain([root.to_owned()])
        .flat_map(|place| place.ancestors().map(Path::to_owned).collect::<Vec<_>>())
        .filter(|folder| folder.starts_with(root))
        .collect();
    folders.iter().flat_map(|folder| tool.borrow.iter().map(|name| folder.join(name))).collect()
}

/// How many files of an installation are looked at. Answers that depend on a larger one are not kept.
const PACKAGES_MAX: usize = 300_000;

/// Identifies a folder of packages by all its files, so that installing, patching or removing one changes it.
///
/// Links are not followed, but a file that one leads to counts. None where there are too many files.
pub(crate) fn of_packages(folder: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    let (mut left, mut open) = (PACKAGES_MAX, vec![folder.to_owned()]);
    while let Some(at) = open.pop() {
        let mut inside: Vec<PathBuf> =
            fs::read_dir(&at).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        inside.sort();
        // Too many files to identify the installation: then no answer is remembered at all.
        left = left.checked_sub(inside.len())?;
        for path in inside {
            let Ok(meta) = path.symlink_metadata() else { continue };
            // Python compiles these on the way, whoever reads first.
            if meta.is_dir() && path.ends_with("__pycache__") {
                continue;
            }
            if meta.is_dir() {
                open.push(path.clone());
            }
            // A package can be a link to a folder that somebody works in.
            let link = meta.is_symlink().then(|| of_file(&path));
            let times = (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
            // A folder is identified by its entries. Its own times change with caches inside it.
            let times = (!meta.is_dir()).then_some(times);
            hasher.update(format!("{} {times:?} {link:?}\n", path.display()).as_bytes());
        }
    }
    Some(format!("{} {}\n", of_place(folder), hasher.finalize().to_hex()))
}

/// The real path of a place.
fn of_place(path: &Path) -> String {
    path.canonicalize().map_or_else(|_| "nowhere".to_owned(), |path| path.display().to_string())
}

/// Expands `~/x` and `$NAME/x`; none where the variable is not set.
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
        // By its whole name, because `python3` is not `python`.
        true => words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned),
        false => Some(first.to_owned()),
    }
}

/// The package folders beside a program of a virtual environment.
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

/// Identifies a small file by its content, and a folder by its entries, one level deep.
fn of_settings(path: &Path) -> String {
    let small = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= SETTINGS_MAX);
    if small && let Ok(bytes) = fs::read(path) {
        return format!("{} {}\n", path.display(), digest(&[&bytes]));
    }
    let mut inside: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    inside.sort();
    // One level and a bounded number: these are settings, not data.
    let below: String = inside.iter().take(200).map(|path| of_file(path)).collect();
    format!("{}{below}", of_file(path))
}

/// An answer, and the run in which the tool gave it.
#[derive(Serialize, Deserialize)]
struct Answer {
    /// The digest of the question, so that a renamed file is not taken for an answer.
    asked: String,
    run: String,
    looked: Looked,
}

/// The place of an answer, named by everything that the answer comes from.
pub(crate) struct Memo {
    path: PathBuf,
    asked: String,
}

impl Memo {
    /// The place for a tool's answer about a tree and its base; none where the answer could change by itself.
    ///
    /// Everything that can change an answer has to be part of the digest. A forgotten part means that an old answer is
    /// given for a new question.
    pub(crate) fn of(
        context: &RunContext,
        tool: &Tool,
        reviewer: &DetectedTool,
        (base, commit): (&Oid, &Oid),
    ) -> Result<Option<Memo>, GitError> {
        // A tool's row can say that the same question may have another answer tomorrow.
        let kept = context.settings.checks.cache_mb != 0 && tool.memo != Some(false);
        // A link out of the tree leads to files that the digest does not cover.
        if !kept || leads_out(context, commit)? {
            return Ok(None);
        }
        let trees = [context.repo.tree_of(base)?, context.repo.tree_of(commit)?];
        let env: Vec<String> = crate::check::KEPT
            .iter()
            .map(|name| format!("{name}={:?}", context.environment.get(*name)))
            .collect();
        let sandbox = (&context.settings.agents.sandbox, context.sandbox_words());
        let said = (
            env!("CARGO_PKG_VERSION"),
            tool,
            reviewer,
            env,
            sandbox,
            &context.settings.agents.writable,
            &context.settings.agents.readable,
        );
        let Ok(said) = serde_json::to_vec(&said) else { return Ok(None) };
        let (programs, around) = (programs(context, tool), surroundings(context, tool, reviewer));
        let (Some(programs), Some(around)) = (programs, around) else { return Ok(None) };
        let [base, commit] = &trees;
        let mut hasher = blake3::Hasher::new();
        let trees = [base, commit].map(|tree| tree.as_str().as_bytes());
        for part in [FORM, &said, programs.as_bytes(), around.as_bytes()].into_iter().chain(trees) {
            // With its length: otherwise two different splits of the same bytes would have one digest.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        // The whole digest: whoever writes the judged code may search for two trees with the same short name.
        let asked = hasher.finalize().to_hex().to_string();
        let path =
            folder(&context.project).join("answers").join(format!("{}-{asked}.json", slug(&tool.name)));
        Ok(Some(Memo { path, asked }))
    }

    /// The remembered answer, and the run in which it was given.
    pub(crate) fn read(&self) -> Option<(Looked, String)> {
        let answer: Answer = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        if answer.asked != self.asked {
            return None;
        }
        // Mark it as used, so that answers in use are the last to go.
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW },
            last_modification: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW },
        };
        let _ = utimensat(CWD, &self.path, &times, AtFlags::empty());
        Some((answer.looked, answer.run))
    }

    /// Keeps an answer. A failure to keep it costs time and nothing else.
    pub(crate) fn write(&self, run: &str, looked: &Looked) {
        let Some(dir) = self.path.parent() else { return };
        let answer = Answer { asked: self.asked.clone(), run: run.to_owned(), looked: looked.clone() };
        let Ok(bytes) = serde_json::to_vec(&answer) else { return };
        let _ = fs::create_dir_all(dir).and_then(|()| write_atomic(&self.path, &bytes));
        let mut kept = oldest_first(dir);
        // The new answer is the youngest, so it stays.
        let many = kept.len().saturating_sub(ANSWERS_MAX);
        kept.drain(..many).for_each(|(_, path)| _ = fs::remove_file(path));
    }
}

/// Whether a link of a commit leads out of its tree, to files that may change.
pub(crate) fn leads_out(context: &RunContext, commit: &Oid) -> Result<bool, GitError> {
    let links = context.repo.list_tree(commit)?.into_iter().filter(|entry| entry.mode == Mode::Symlink);
    for link in links {
        let target = context.repo.read_blob(&link.oid)?;
        if is_outside(&link.path.to_string(), &String::from_utf8_lossy(&target)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a link at this path with this target leads out of the tree.
fn is_outside(path: &str, target: &str) -> bool {
    let mut depth = path.matches('/').count();
    for part in target.split('/') {
        match part {
            // Once outside, it does not matter where the rest of the path leads.
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            "" | "." => {}
            _ => depth += 1,
        }
    }
    target.starts_with('/')
}

/// The entries of a folder, the least recently used first.
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

/// Records the use and the size of a folder of prepared packages, and cuts the caches to their limit.
pub(crate) fn keep_prepared(context: &RunContext, dir: &Path) {
    let known = fs::read(dir.join(ABOUT)).ok().and_then(|bytes| serde_json::from_slice::<About>(&bytes).ok());
    let bytes = known.map_or_else(|| size_of(dir), |about| about.bytes);
    let about = About { bytes, used: now().0, ..About::default() };
    let _ = write_atomic(&dir.join(ABOUT), &serde_json::to_vec(&about).unwrap_or_default());
    trim(&context.project, context.settings.checks.cache_mb << 20);
}

/// Removes the oldest warm folders until the rest fits the limit.
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

/// Removes a warm folder that nobody holds now.
fn remove(project: &Project, path: &Path) -> bool {
    // The lock is held during the removal, so nobody takes the folder meanwhile.
    let Ok(Some(_warm)) = Warm::lock(path.to_owned()) else { return false };
    let trash = tribunal_git::Trash::open(&project.folder().join("trash"));
    trash.is_ok_and(|trash| {
        let taken = trash.take(path).is_ok();
        trash.empty();
        taken
    })
}

/// Removes everything that was last used before a time. Returns the names and how many bytes.
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
            assert!(warm.trusted(&is_part, &trash) && (!runs || warm.filter_out(&trash)));
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
