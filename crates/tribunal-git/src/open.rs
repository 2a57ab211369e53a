//! Finds the user's repository and fixes how git is called for it. This is the only file that lets git discover
//! anything, and it never changes the user's work tree, index, refs or configuration.
//!
//! Two git directories are used. *Refs* live in the user's own. Everything that reads or writes an agent's files or
//! diffs goes through Tribunal's *engine* directory (`<common dir>/tribunal.git`). It has the user's object store, but
//! a configuration of its own, filled from a short list of harmless settings. A `.gitattributes` in an agent's tree can
//! therefore name no filter, text conversion, merge driver, hook or monitor: as far as that git can see, none is
//! configured.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use crate::error::GIT_NEEDED;
use crate::files::write_atomic;
use crate::objects::{Known, Reader};
use crate::run::{Call, failed};
use crate::sessions::Sessions;
use crate::{GitError, GitPath};

/// The name of the file that marks a private repository as Tribunal's work.
pub(crate) const MARKER: &str = "tribunal-tree";
/// The engine directory, inside the common git directory.
const ENGINE: &str = "tribunal.git";

/// Settings of the user that change how files look, and nothing else.
///
/// This is an allow list. A key that names a program or a file must not be added: it would give the engine directory
/// back what it exists to keep out.
const KEPT: &[&str] = &[
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.bigfilethreshold",
    "core.sharedrepository",
];

/// The user's repository, and the one way to run git on it. Cheap to clone.
///
/// All clones share one set of long-lived git processes and caches. Cached objects cannot go stale, because an id names
/// its bytes for ever.
#[derive(Clone)]
pub struct Repo {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    /// The git directory of the user's (maybe linked) worktree.
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    pub(crate) work_tree: PathBuf,
    pub(crate) objects: PathBuf,
    /// Where we write objects ourselves, until somebody needs them in the user's store: nobody prunes here.
    pub(crate) own_objects: PathBuf,
    /// Set when the run is over and nobody waits any longer for the files that agents left.
    pub(crate) stop: Arc<std::sync::atomic::AtomicBool>,
    /// A file of an agent with more bytes than this is not taken; 0 takes every file.
    pub(crate) file_max: std::sync::atomic::AtomicU64,
    /// Objects that the user's store has, with everything they lead to, in packs that are kept.
    pub(crate) held: Mutex<std::collections::BTreeSet<crate::Oid>>,
    pub(crate) engine: PathBuf,
    /// An empty directory: the work tree of commands that need none.
    pub(crate) void: PathBuf,
    pub(crate) sha256: bool,
    /// The harmless settings, for the engine and the private repositories.
    pub(crate) settings: Vec<(String, Vec<u8>)>,
    /// Names of the user's filters, LFS excluded.
    pub(crate) filters: Vec<Vec<u8>>,
    pub(crate) reader: Mutex<Option<Reader>>,
    pub(crate) sessions: Sessions,
    pub(crate) known: Mutex<Known>,
    pub(crate) listings: Mutex<crate::listing::Listings>,
    /// Lists of all files of a commit, as git gave them.
    pub(crate) listed: Mutex<Known>,
    /// Trees by git's digest of the index that holds their files.
    pub(crate) known_trees: Mutex<std::collections::BTreeMap<Vec<u8>, crate::Oid>>,
    pub(crate) identity: OnceLock<Option<(String, String)>>,
}

impl Repo {
    /// Finds the user's repository from a directory in it. A linked worktree is fine.
    ///
    /// It refuses at once what a run could not work with: a bare repository, a partial clone, or one without commits.
    /// It also writes the engine directory, or brings it up to date.
    pub fn open(dir: &Path) -> Result<Repo, GitError> {
        let dir = std::fs::canonicalize(dir).map_err(GitError::io(dir))?;
        check_version(&dir)?;
        let About { is_bare, in_work_tree, sha256, git_dir } = About::of(&dir)?;
        // Before the checks below: an agent that runs Tribunal inside its own tree gets this answer and no other.
        if git_dir.join(MARKER).exists() {
            return Err(GitError::InsideLane { dir });
        }
        if is_bare || !in_work_tree {
            return Err(GitError::Bare { dir });
        }
        let [work_tree, common_dir, objects] =
            absolute_paths(&dir, [&["--show-toplevel"], &["--git-common-dir"], &["--git-path", "objects"]])?;
        let config = Config::read(&dir)?;
        if config.is_partial() {
            return Err(GitError::PartialClone { dir: work_tree });
        }
        let engine = common_dir.join(ENGINE);
        let inner = Inner {
            void: engine.join("void"),
            own_objects: engine.join("objects"),
            held: Mutex::default(),
            stop: Arc::default(),
            file_max: std::sync::atomic::AtomicU64::new(0),
            settings: config.kept(),
            filters: config.filters(),
            reader: Mutex::new(None),
            sessions: Sessions::default(),
            known: Mutex::default(),
            listings: Mutex::default(),
            listed: Mutex::default(),
            known_trees: Mutex::default(),
            identity: OnceLock::new(),
            git_dir,
            common_dir,
            work_tree,
            objects,
            engine,
            sha256,
        };
        inner.make_engine(&config)?;
        let repo = Repo { inner: Arc::new(inner) };
        // Without a commit there is nothing to branch from, which gets an error with a way out.
        match repo.head() {
            Err(GitError::NoSuch { .. }) => Err(GitError::NoCommits { dir: repo.inner.work_tree.clone() }),
            other => other.map(|_| repo),
        }
    }

    /// The root of the user's work tree.
    pub fn work_tree(&self) -> &Path {
        &self.inner.work_tree
    }

    /// The git directory all worktrees of the user share.
    pub fn common_dir(&self) -> &Path {
        &self.inner.common_dir
    }

    /// The object store. An agent's sandbox must be able to read it, and must never be able to write it.
    pub fn objects_dir(&self) -> &Path {
        &self.inner.objects
    }

    /// Ends the scans of agents' trees, now and from now on, so that a run that was stopped does not wait for them.
    pub fn stop_looking(&self) {
        self.inner.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Whether the scans of agents' trees were told to end.
    pub fn is_stopped(&self) -> bool {
        self.inner.stop.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Sets the size above which a file of an agent is not taken; 0 takes every file.
    pub fn limit_files(&self, bytes: u64) {
        self.inner.file_max.store(bytes, std::sync::atomic::Ordering::Relaxed);
    }

    /// Adds a line to `info/exclude` of the user's repository unless it is there. All other bytes stay.
    ///
    /// The engine directory has a copy of that file, made when the repository was opened, so the line is added there
    /// too.
    pub fn exclude(&self, pattern: &str) -> Result<(), GitError> {
        // A line break would add a second pattern that nobody asked for.
        if pattern.contains('\n') || pattern.is_empty() {
            return Err(GitError::odd(format!("not an exclude pattern: {pattern:?}")));
        }
        let info = self.inner.common_dir.join("info");
        std::fs::create_dir_all(&info).map_err(GitError::io(&info))?;
        let link = info.join("exclude");
        // Somebody may keep this file elsewhere; then that file is the one to change.
        let path = std::fs::canonicalize(&link).unwrap_or(link);
        add_line(&path, pattern)?;
        add_line(&self.inner.engine.join("info/exclude"), pattern)
    }

    /// A call on Tribunal's engine directory, with the given files as its work tree.
    ///
    /// Use it for everything that looks at files an agent wrote. Objects are written to Tribunal's own store and read
    /// from the user's, so that `git gc` of the user cannot prune them (see `hold`).
    pub(crate) fn engine(&self, work_tree: &Path) -> Call {
        let inner = &*self.inner;
        neutral(Call::new(&inner.void), &inner.engine, work_tree)
            .env("GIT_OBJECT_DIRECTORY", &inner.own_objects)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&inner.objects))
            // In a shallow clone, git would otherwise look for parents that are not there.
            .env("GIT_SHALLOW_FILE", inner.common_dir.join("shallow"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_LFS_SKIP_DOWNLOAD_ERRORS", "1")
            .config("core.attributesFile=/dev/null")
    }

    /// A call about objects alone. It has no work tree, so attributes that an agent wrote have no effect.
    pub(crate) fn objects(&self) -> Call {
        self.engine(&self.inner.void)
    }

    /// A call about the user's refs.
    ///
    /// The system's and the user's global settings are shut out; those of the repository itself remain, since they say
    /// how its refs are stored.
    pub(crate) fn refs(&self) -> Call {
        let inner = &*self.inner;
        neutral(Call::new(&inner.void), &inner.git_dir, &inner.work_tree)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            // The user's own git may hold these locks for a moment, so wait for it instead of failing.
            .config("core.filesRefLockTimeout=2000")
            .config("core.packedRefsTimeout=5000")
    }

    /// A call on the user's git directory that writes objects, but to Tribunal's own store.
    pub(crate) fn writing(&self) -> Call {
        let call = self.refs().env("GIT_OBJECT_DIRECTORY", &self.inner.own_objects);
        call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&self.inner.objects))
    }

    /// A call on the user's own work tree, with their settings but without hooks and filters (except LFS).
    ///
    /// Their settings are needed here: line endings and ignore rules decide what counts as a change.
    pub(crate) fn user(&self) -> Call {
        let inner = &*self.inner;
        on_work_tree(&inner.git_dir, &inner.work_tree, &inner.filters)
    }
}

/// Quotes a path for a list that is separated by colons, so that a colon in it does not end it.
pub(crate) fn quoted(path: &Path) -> OsString {
    let mut out = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            byte => out.push(*byte),
        }
    }
    out.push(b'"');
    OsString::from_vec(out)
}

/// A call on a work tree with the user's settings, but without hooks and without the given filters.
pub(crate) fn on_work_tree(git_dir: &Path, work_tree: &Path, filters: &[Vec<u8>]) -> Call {
    let mut call = with_home(neutral(Call::new(work_tree), git_dir, work_tree));
    for name in filters {
        // An empty command makes git pass the file through; `required` has to go too, or that would be an error.
        for setting in ["clean=", "smudge=", "process=", "required=false"] {
            let text = [b"filter.", name.as_slice(), b".", setting.as_bytes()].concat();
            call = call.option("-c").option(OsString::from_vec(text));
        }
    }
    call
}

/// The paths of a work tree, or of its index, that differ from HEAD, untracked files included.
pub(crate) fn dirty(on_work_tree: Call) -> Result<Vec<GitPath>, GitError> {
    status(on_work_tree, "--untracked-files=normal")
}

/// The tracked paths in which a work tree, or its index, differs from HEAD.
pub(crate) fn changed(on_work_tree: Call) -> Result<Vec<GitPath>, GitError> {
    status(on_work_tree, "--untracked-files=no")
}

fn status(on_work_tree: Call, untracked: &str) -> Result<Vec<GitPath>, GitError> {
    let call = on_work_tree.args(["status", "--porcelain=v1", "-z", "--no-renames"]);
    let bytes = call.args([untracked, "--ignore-submodules=all"]).ok()?;
    // Each field begins with two status letters and a space.
    Ok(fields(&bytes).map(|field| GitPath::from(field.get(3..).unwrap_or_default())).collect())
}

/// The options and settings that every call has in common, whichever git directory it uses.
///
/// Naming the git directory and work tree turns discovery off. The settings switch off whatever runs a program, reaches
/// for the network, or changes the repository in the background.
pub(crate) fn neutral(call: Call, git_dir: &Path, work_tree: &Path) -> Call {
    let mut dir = OsString::from("--git-dir=");
    dir.push(git_dir);
    let mut tree = OsString::from("--work-tree=");
    tree.push(work_tree);
    let mut call = call.option(dir).option(tree).option("--no-pager");
    for setting in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.untrackedCache=false",
        "core.splitIndex=false",
        "core.preloadIndex=false",
        "core.quotePath=false",
        "core.safecrlf=false",
        "core.fsync=committed,loose-object",
        "core.fsyncMethod=batch",
        "gc.auto=0",
        "maintenance.auto=false",
        "protocol.allow=never",
        "submodule.recurse=false",
        "advice.addEmbeddedRepo=false",
        "index.threads=1",
        "pack.threads=1",
    ] {
        call = call.config(setting);
    }
    // Without this, `git status` refreshes the user's index and takes its lock to do so.
    call.env("GIT_OPTIONAL_LOCKS", "0")
        // Replaced objects and grafts would let a ref change what an object id stands for.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_GRAFT_FILE", "/dev/null")
        .env("GIT_COMMITTER_NAME", "tribunal")
        .env("GIT_COMMITTER_EMAIL", "tribunal@localhost")
        .env("GIT_AUTHOR_NAME", "tribunal")
        .env("GIT_AUTHOR_EMAIL", "tribunal@localhost")
}

/// Lets a call see the settings in the user's home.
fn with_home(mut call: Call) -> Call {
    for name in ["HOME", "XDG_CONFIG_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            call = call.env(name, value);
        }
    }
    call
}

/// Git's version as it prints it.
pub fn git_version(dir: &Path) -> Result<String, GitError> {
    let text = Call::new(dir).arg("version").ok()?;
    Ok(String::from_utf8_lossy(&text).trim().trim_start_matches("git version ").to_owned())
}

/// Whether git is there and new enough.
pub fn check_version(dir: &Path) -> Result<(), GitError> {
    let found = git_version(dir)?;
    match version(&found) {
        Some(version) if version >= GIT_NEEDED => Ok(()),
        _ => Err(GitError::TooOld { found }),
    }
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// What git says of a folder before it is known to be a work tree.
struct About {
    is_bare: bool,
    in_work_tree: bool,
    sha256: bool,
    git_dir: PathBuf,
}

impl About {
    fn of(dir: &Path) -> Result<About, GitError> {
        // The path is last, because it may contain a newline.
        let asked =
            ["--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--absolute-git-dir"];
        let said = ask(dir, &asked)?;
        let lines: Vec<&[u8]> = said.as_bytes().splitn(asked.len(), |byte| *byte == b'\n').collect();
        let &[bare, inside, format, git_dir] = lines.as_slice() else {
            return Err(GitError::odd(format!("git rev-parse said {said:?}")));
        };
        Ok(About {
            is_bare: bare == b"true",
            in_work_tree: inside == b"true",
            sha256: format == b"sha256",
            git_dir: PathBuf::from(OsStr::from_bytes(git_dir)),
        })
    }
}

/// Absolute paths that git knows, all from one process.
///
/// Git separates its answers by newlines, which a path may contain too. Only then each path is asked for in a process
/// of its own.
fn absolute_paths<const N: usize>(dir: &Path, asked: [&[&str]; N]) -> Result<[PathBuf; N], GitError> {
    let absolute = |names: &[&str]| ask(dir, &[&["--path-format=absolute"], names].concat());
    let said = absolute(&asked.concat())?;
    let lines =
        said.as_bytes().split(|byte| *byte == b'\n').map(|line| PathBuf::from(OsStr::from_bytes(line)));
    // The right number of lines means that no path contains a newline.
    if let Ok(all) = lines.collect::<Vec<_>>().try_into() {
        return Ok(all);
    }
    let one_by_one = asked.into_iter().map(|names| absolute(names).map(PathBuf::from));
    let all: Vec<PathBuf> = one_by_one.collect::<Result<_, _>>()?;
    all.try_into().map_err(|_| GitError::odd(format!("git rev-parse said {said:?}")))
}

/// The answer of `git rev-parse`, or the error that fits its complaint.
///
/// The complaints are matched by their text, because git ends with code 128 for all of them.
pub(crate) fn ask(dir: &Path, args: &[&str]) -> Result<OsString, GitError> {
    let call = with_home(Call::new(dir)).env("GIT_OPTIONAL_LOCKS", "0").arg("rev-parse").args(args);
    let name = call.name();
    let output = call.run()?;
    if output.status.success() {
        let line = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
        return Ok(OsStr::from_bytes(line).to_owned());
    }
    let complaint = output.complaint();
    let dir = dir.to_owned();
    // Git's words are stable here because every call sets `LC_ALL=C`.
    if complaint.contains("dubious ownership") {
        Err(GitError::NotTrusted { dir })
    } else if complaint.contains("not a git repository") {
        Err(GitError::NotARepository { dir })
    } else if complaint.contains("must be run in a work tree") {
        Err(GitError::Bare { dir })
    } else {
        Err(failed(&name, &output))
    }
}

/// The user's settings, from all the files that git reads.
///
/// They are read to be filtered. Nothing else in this crate lets the user's configuration take effect on an agent's
/// files.
pub(crate) struct Config(Vec<(String, Vec<u8>)>);

impl Config {
    pub(crate) fn read(dir: &Path) -> Result<Config, GitError> {
        let bytes = with_home(Call::new(dir)).args(["config", "--list", "-z"]).ok()?;
        let entry = |entry: &[u8]| {
            // A setting without a value means true.
            let at = entry.iter().position(|b| *b == b'\n');
            let (key, value) = match at {
                Some(at) => (entry.get(..at)?, entry.get(at + 1..)?),
                None => (entry, &b"true"[..]),
            };
            Some((String::from_utf8_lossy(key).into_owned(), value.to_vec()))
        };
        Ok(Config(bytes.split(|b| *b == 0).filter(|e| !e.is_empty()).filter_map(entry).collect()))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&[u8]> {
        // The last value wins, as it does for git.
        self.0.iter().rev().find(|(k, _)| k == key).map(|(_, value)| value.as_slice())
    }

    fn is_partial(&self) -> bool {
        self.get("extensions.partialclone").is_some()
            || self.0.iter().any(|(key, value)| {
                // A promisor remote makes a partial clone as well.
                key.starts_with("remote.") && key.ends_with(".promisor") && value != b"false"
            })
    }

    /// Whether a work tree may lack some of its files on purpose.
    pub(crate) fn is_sparse(&self) -> bool {
        self.get("core.sparsecheckout").is_some_and(|value| value != b"false")
    }

    fn kept(&self) -> Vec<(String, Vec<u8>)> {
        KEPT.iter().filter_map(|key| Some(((*key).to_owned(), self.get(key)?.to_vec()))).collect()
    }

    /// The names of the filters that the settings define, LFS excluded.
    pub(crate) fn filters(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        for (key, _) in &self.0 {
            let name = key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.'));
            // LFS stays, because without it its files would look changed.
            if let Some((name, _)) = name.filter(|(name, _)| *name != "lfs") {
                names.push(name.as_bytes().to_vec());
            }
        }
        names.sort();
        names.dedup();
        names
    }

    /// The LFS filter, if the user has set it up and its program is installed.
    fn lfs(&self) -> Vec<(String, Vec<u8>)> {
        let found = self.0.iter().any(|(key, _)| key.starts_with("filter.lfs.")) && on_path("git-lfs");
        let part = |part: &str| {
            let key = format!("filter.lfs.{part}");
            self.get(&key).map(|value| (key.clone(), value.to_vec()))
        };
        if found {
            ["clean", "smudge", "process", "required"].into_iter().filter_map(part).collect()
        } else {
            vec![]
        }
    }

    /// The user's global ignore file: the configured one, or git's default place for it.
    fn excludes_file(&self) -> Option<PathBuf> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        if let Some(value) = self.get("core.excludesfile") {
            return match value.strip_prefix(b"~/") {
                Some(rest) => Some(home?.join(OsStr::from_bytes(rest))),
                None => Some(PathBuf::from(OsStr::from_bytes(value))),
            };
        }
        let config = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        Some(config.or_else(|| Some(home?.join(".config")))?.join("git/ignore"))
    }
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

impl Inner {
    /// Writes the engine directory, or brings it up to date.
    fn make_engine(&self, config: &Config) -> Result<(), GitError> {
        for dir in [
            &self.engine,
            &self.engine.join("refs"),
            &self.engine.join("info"),
            &self.void,
            &self.own_objects,
        ] {
            std::fs::create_dir_all(dir).map_err(GitError::io(dir))?;
        }
        // Read from the user's configuration as it is now, so a changed setting takes effect with the next run.
        let mut settings = self.settings.clone();
        if let Some(file) = config.excludes_file().filter(|file| file.is_absolute()) {
            settings.push(("core.excludesfile".into(), file.into_os_string().into_vec()));
        }
        let lfs = config.lfs();
        if !lfs.is_empty() {
            // Objects in the user's LFS store are used; nothing is fetched from anywhere.
            let store = self.common_dir.join("lfs").into_os_string().into_vec();
            settings.extend(lfs);
            settings.push(("lfs.storage".into(), store));
            settings.push(("lfs.fetchexclude".into(), b"*".to_vec()));
        }
        settings.push(("index.version".into(), b"2".to_vec()));
        settings.push(("core.trustctime".into(), b"true".to_vec()));
        settings.push(("core.checkstat".into(), b"default".to_vec()));
        write_if_new(&self.engine.join("config"), &self.config_text(&settings))?;
        // Git refuses a directory without HEAD; the branch it names need not exist.
        write_if_new(&self.engine.join("HEAD"), b"ref: refs/heads/none\n")?;
        for name in ["info/exclude", "info/attributes"] {
            // The user's ignore and attribute rules count, since they are not part of a tree that an agent can write.
            let theirs = std::fs::read(self.common_dir.join(name)).unwrap_or_default();
            write_if_new(&self.engine.join(name), &theirs)?;
        }
        Ok(())
    }

    /// The text of a configuration file with the repository's format and the given settings.
    pub(crate) fn config_text(&self, settings: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut text = Vec::new();
        let format = if self.sha256 { "1" } else { "0" };
        text.extend_from_slice(
            format!("[core]\n\trepositoryformatversion = {format}\n\tbare = false\n").as_bytes(),
        );
        if self.sha256 {
            text.extend_from_slice(b"[extensions]\n\tobjectformat = sha256\n");
        }
        for (key, value) in settings {
            let Some((section, name)) = key.rsplit_once('.') else { continue };
            let head = match section.split_once('.') {
                Some((section, sub)) => format!("[{section} \"{sub}\"]\n\t{name} = \""),
                None => format!("[{section}]\n\t{name} = \""),
            };
            text.extend_from_slice(head.as_bytes());
            for byte in value {
                match byte {
                    b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
                    b'\n' => text.extend_from_slice(b"\\n"),
                    byte => text.push(*byte),
                }
            }
            text.extend_from_slice(b"\"\n");
        }
        text
    }
}

fn write_if_new(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    match std::fs::read(path) {
        // Several runs may share the directory, so files that are right already are left alone.
        Ok(there) if there == bytes => Ok(()),
        _ => write_atomic(path, bytes),
    }
}

/// Adds a line at the end unless the file has it.
fn add_line(path: &Path, line: &str) -> Result<(), GitError> {
    let mut bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(GitError::io(path)(e)),
    };
    if bytes.split(|b| *b == b'\n').any(|there| there.strip_suffix(b"\r").unwrap_or(there) == line.as_bytes())
    {
        return Ok(());
    }
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    write_atomic(path, &bytes)
}

/// Splits `-z` output into its fields. Empty output has none.
pub(crate) fn fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.strip_suffix(b"\0").unwrap_or(bytes).split(|b| *b == 0).filter(move |_| !bytes.is_empty())
}

/// Reads `-z` output that is nothing but paths.
pub(crate) fn paths(bytes: &[u8]) -> Vec<GitPath> {
    fields(bytes).map(GitPath::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (text, expect) in [
            ("2.47.3", Some((2, 47))),
            ("2.39.5 (Apple Git-154)", Some((2, 39))),
            ("3.0.0-rc1", Some((3, 0))),
            ("x", None),
        ] {
            assert_eq!(version(text), expect, "{text}");
        }
    }

    #[test]
    fn fields_of_nothing_and_of_something() {
        assert_eq!(fields(b"").count(), 0);
        assert_eq!(fields(b"a\0b\n\0").collect::<Vec<_>>(), [&b"a"[..], b"b\n"]);
    }
}
