//! The programs that a launch may start, as a closure: folders on PATH, the program it runs, the targets of their
//! links, the interpreters that scripts name, and the roots of the tools they belong to.
//!
//! A place that an agent could have made is never followed, because a link there could make anything visible. The same
//! holds for names that look like secrets.

use super::allowed::Allowed;
use super::{SandboxHost, SandboxSpec, value};
use super::{search, secret_names, tool_roots};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use tribunal_core::defence::{Defence, stands};
use tribunal_process::find_program;

/// The folder for programs that did not come with the distribution, each in a folder of its own.
const OPTIONAL: &str = "/opt";
/// Variables that name an installation which is not on PATH itself.
const INSTALLATIONS: [&str; 12] = [
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "CONDA_PREFIX",
    "CUDA_HOME",
    "CUDA_PATH",
    "GOROOT",
    "JAVA_HOME",
    "JDK_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "ROCM_PATH",
    "VIRTUAL_ENV",
];
/// Folders whose links the distribution made.
const DISTRIBUTION: [&str; 4] = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
/// How many entries of a folder are followed, and how many links in a row.
const ENTRIES_MAX: usize = 2_000;
const LINKS_MAX: usize = 16;
/// How much of a script is read for its first line.
const FIRST_LINE_MAX: u64 = 256;
/// What a folder of programs may hold besides them, and no launch needs.
const BESIDE: [&str; 3] = [".git", ".env", crate::FOLDER];

/// Parts of an installation that programs need, besides every one whose name begins with `lib`. Whatever else lies
/// beside a folder `bin` may be somebody's work, and is not shown.
const PARTS: [&str; 45] = [
    "bin",
    "boot",
    "bundles",
    "collects",
    "compiler_compat",
    "conda-meta",
    "condabin",
    "conf",
    "config",
    "doc",
    "docs",
    "envs",
    "etc",
    "ext",
    "extensions",
    "features",
    "gems",
    "include",
    "info",
    "init.d",
    "jars",
    "jbr",
    "jmods",
    "jre",
    "legal",
    "man",
    "maven2",
    "modules",
    "opt",
    "pkg",
    "pkgs",
    "platform",
    "plugins",
    "python",
    "releases",
    "resources",
    "sbin",
    "share",
    "shell",
    "specifications",
    "ssl",
    "sysroot",
    "third_party",
    "toolchain",
    "usr",
];

/// Finds everything that programs need.
///
/// It runs for every launch, so it remembers real paths and never follows the same program twice.
pub(super) struct Closure<'a, 'b> {
    allowed: &'a mut Allowed<'b>,
    /// A folder above one of these holds more than programs.
    keep: Vec<PathBuf>,
    /// Folders in which agents may write.
    open: Vec<PathBuf>,
    /// The home, in which roots of tools have their usual places.
    home: Option<PathBuf>,
    /// The user's worktree, in which agents may not write, even if a folder around it is open to them.
    root: Option<PathBuf>,
    env: &'a [(OsString, OsString)],
    /// The roots of tools that were found.
    bases: Vec<PathBuf>,
    seen: BTreeSet<PathBuf>,
    /// Real paths of folders. A folder of programs holds thousands of links, most of them into the same few folders.
    folders: BTreeMap<PathBuf, Option<PathBuf>>,
}

/// Where the links of a program lead.
struct Way {
    /// The folder of each link, and the path that the link names.
    links: Vec<(PathBuf, PathBuf)>,
    end: PathBuf,
}

impl<'a, 'b> Closure<'a, 'b> {
    pub(super) fn new(
        allowed: &'a mut Allowed<'b>,
        spec: &SandboxSpec<'a>,
        keep: Vec<PathBuf>,
        open: Vec<PathBuf>,
        root: Option<PathBuf>,
    ) -> Self {
        let (bases, seen, folders) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
        Closure { allowed, keep, open, home: None, root, env: spec.env, bases, seen, folders }
    }

    /// Allows everything that this launch may start, and the roots of tools in its home.
    pub(super) fn all(mut self, host: &SandboxHost<'_>, spec: &SandboxSpec<'_>, home: Option<&Path>) {
        self.home = home.map(Path::to_path_buf);
        self.allowed.program(host.own_binary);
        let path = value(spec.env, "PATH").unwrap_or_default();
        // A relative entry means a folder of the tree, which the launch sees anyway.
        for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
            self.folder(&folder);
        }
        self.optional();
        if let Some(program) = spec.program.and_then(|name| find_program(name, spec.tree, spec.env).ok()) {
            self.program(&program, spec.tree);
        }
        let env = self.env;
        let variable = |name: &str| value(env, name).map(OsStr::to_owned);
        // Last, when all roots of tools are known.
        for part in tool_roots::parts(home, &self.bases, &variable) {
            self.allowed.program(&part);
            if tool_roots::may_hold_projects(home, &part) {
                search::of_tool(&part).into_iter().for_each(|place| self.allowed.hidden(place));
            }
        }
    }

    /// Allows what programs of the machine need of `/opt`: targets of the distribution's links, libraries, and
    /// installations that variables name.
    fn optional(&mut self) {
        let optional = Path::new(OPTIONAL);
        // Reading every link of the distribution costs time, and most machines have nothing in `/opt`.
        if !fs::read_dir(optional).is_ok_and(|mut entries| entries.next().is_some()) {
            return;
        }
        let folders = DISTRIBUTION.map(|folder| Path::new(folder).canonicalize().unwrap_or_default());
        for folder in folders.into_iter().collect::<BTreeSet<_>>() {
            let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
            let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            for link in links.map(|entry| entry.path()) {
                if self.way(&link).is_some_and(|way| way.end.starts_with(optional)) {
                    self.follow(&link);
                }
            }
        }
        let env = self.env;
        let named = INSTALLATIONS.iter().filter_map(|name| value(env, name).map(PathBuf::from));
        for place in named.chain(libraries()).filter_map(|place| place.canonicalize().ok()) {
            let inside = place.starts_with(optional) && place != optional;
            if inside && self.is_of_programs(&place) && !self.is_open(&place) && !self.allowed.is_seen(&place)
            {
                self.installed(&place);
            }
        }
    }

    /// Shows an installation, without the secrets at its first two levels and without the
    /// projects in it.
    fn installed(&mut self, folder: &Path) {
        if folder.starts_with(OPTIONAL) {
            // It was searched with the machine.
            self.allowed.program(folder);
        } else if ["node_modules", "vendor"].iter().any(|packages| folder.ends_with(packages)) {
            self.searched(folder);
        } else {
            let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).take(ENTRIES_MAX);
            entries.map(|entry| entry.path()).for_each(|part| self.part(folder, &part));
        }
        // Packages of node were published as they are, so they hold no secrets of the user.
        let deeper = !folder.ends_with("node_modules");
        for secret in secret_names::in_folder(folder, deeper) {
            self.allowed.hidden(secret);
        }
    }

    /// Shows a file at the top of an installation, or one of the parts that programs need.
    fn part(&mut self, whole: &Path, part: &Path) {
        // A link may lead out of the installation, and what it leads to is then not a part of it.
        let Some(real) = part.canonicalize().ok().filter(|real| real.starts_with(whole) && real != whole)
        else {
            return;
        };
        if real.is_file() {
            self.allowed.program(part);
        } else if is_part(whole, part) && is_part(whole, &real) {
            self.searched(part);
        }
    }

    /// Shows a folder without the folders of Tribunal and the repositories in it.
    fn searched(&mut self, folder: &Path) {
        self.allowed.program(folder);
        if let Ok(real) = folder.canonicalize() {
            search::of_programs(&real).into_iter().for_each(|place| self.allowed.hidden(place));
        }
    }

    /// Shows the program of the launch with its folder, unless an agent could have put it there.
    fn program(&mut self, program: &Path, tree: &Path) {
        let folder = program.parent().and_then(|folder| folder.canonicalize().ok());
        let Some(folder) = folder.filter(|folder| !program.starts_with(tree) && !self.is_open(folder)) else {
            return;
        };
        if self.is_of_programs(&folder) {
            self.folder(&folder);
        } else {
            self.allowed.program(program);
        }
        self.follow(program);
        // A script of the distribution may be run by a program from elsewhere.
        if let Some(way) = self.way(program).filter(|way| way.end.parent().is_some_and(is_of_distribution)) {
            self.run_by(&way.end);
        }
    }

    /// Shows a folder of programs and follows every program in it.
    fn folder(&mut self, folder: &Path) {
        let Ok(real) = folder.canonicalize() else { return };
        if is_of_distribution(&real) || self.is_open(&real) {
            return;
        }
        if !self.allowed.is_seen(&real) {
            if !self.is_of_programs(&real) || self.allowed.denied().holds(&real) {
                return;
            }
            self.searched(folder);
            match self.root_of(&real) {
                Some(base) => self.bases.push(base),
                None => self.installation(&real).into_iter().for_each(|whole| self.installed(whole)),
            }
            // People keep scripts in a repository: the folder is shown, its `.git` is not.
            for name in BESIDE {
                self.allowed.hidden(real.join(name));
            }
        }
        let secrets: BTreeSet<PathBuf> = secret_names::in_folder(&real, true).into_iter().collect();
        let entries = fs::read_dir(&real).into_iter().flatten().filter_map(Result::ok).take(ENTRIES_MAX);
        for entry in entries.map(|entry| entry.path()).filter(|path| !secrets.contains(path)) {
            self.follow(&entry);
        }
        secrets.into_iter().for_each(|secret| self.allowed.hidden(secret));
    }

    /// Follows the links of a program, and the interpreter of a script.
    ///
    /// The walk stops at the first link in a folder where an agent may write.
    fn follow(&mut self, program: &Path) {
        let Some(Way { links, end }) = self.way(program) else { return };
        // A link beside programs to a folder is somebody's short way to their own files.
        if stands(Defence::ProgramSecrets) && !links.is_empty() && end.is_dir() {
            return;
        }
        // A link may have the name of a secret, or lead to one.
        if [program, &end].into_iter().any(secret_names::is_secret) {
            return;
        }
        for (folder, target) in links {
            // An agent could have made this link, so nothing behind it is shown.
            if self.is_open(&folder) {
                return;
            }
            if !self.allowed.is_seen(&target) {
                // Every name on the way must be visible as well, or the link is broken inside.
                self.allowed.program(&target);
            }
        }
        // What the distribution's own programs need is visible already.
        if end.parent().is_some_and(is_of_distribution) || !self.seen.insert(end.clone()) {
            return;
        }
        if !self.is_open(&end) {
            self.found(&end);
        }
    }

    /// Shows the target of a program's links with its installation, and follows its interpreter.
    fn found(&mut self, real: &Path) {
        if !self.allowed.is_seen(real) {
            match self.root_of(real) {
                Some(base) => self.bases.push(base),
                None => {
                    let folder = real.parent().unwrap_or(real);
                    match self.installation(folder) {
                        Some(whole) => self.installed(whole),
                        None => self.allowed.program(real),
                    }
                }
            }
        }
        self.run_by(real);
    }

    /// Follows the program that a script names in its first line.
    fn run_by(&mut self, script: &Path) {
        let interpreter =
            interpreter(script).filter(|at| !DISTRIBUTION.iter().any(|known| at.starts_with(known)));
        if let Some(interpreter) = interpreter {
            self.follow(&interpreter);
            if let (Some(folder), false) = (interpreter.parent(), self.allowed.is_seen(&interpreter)) {
                self.folder(folder);
            }
        }
    }

    /// The links that lead to a program; none if they lead nowhere or in a circle.
    fn way(&mut self, program: &Path) -> Option<Way> {
        let mut links = Vec::new();
        let mut at = program.to_path_buf();
        while links.len() <= LINKS_MAX {
            let Some(Component::Normal(name)) = at.components().next_back() else {
                return at.canonicalize().ok().map(|end| Way { links, end });
            };
            let folder = self.real_folder(at.parent()?)?;
            let here = folder.join(name);
            let Ok(target) = fs::read_link(&here) else {
                return here.symlink_metadata().is_ok().then_some(Way { links, end: here });
            };
            at = folder.join(target);
            links.push((folder, tidy(&at)));
        }
        None
    }

    /// The real path of a folder, looked up once.
    fn real_folder(&mut self, folder: &Path) -> Option<PathBuf> {
        if let Some(known) = self.folders.get(folder) {
            return known.clone();
        }
        let real = folder.canonicalize().ok();
        self.folders.insert(folder.to_path_buf(), real.clone());
        real
    }

    /// The installation that a folder of programs belongs to: packages of node, or the folder around `bin`.
    fn installation<'p>(&self, folder: &'p Path) -> Option<&'p Path> {
        // The outermost one: packages inside packages belong to the same installation.
        let packages = folder.ancestors().filter(|above| above.ends_with("node_modules")).last();
        let prefix = folder.parent().filter(|_| is_bin(folder));
        // A package in `/opt` need not have a folder for programs.
        let package = Some(folder).filter(|folder| folder.starts_with(OPTIONAL));
        packages.or(prefix).or(package).filter(|whole| {
            // `~/.local`, the home of many programs, and a project with a folder of scripts are not installations.
            whole.components().count() > 2
                && !whole.ends_with(".local")
                && self.is_of_programs(whole)
                && !self.allowed.denied().is_below(whole)
                && !BESIDE.iter().any(|name| whole.join(name).symlink_metadata().is_ok())
        })
    }

    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        tool_roots::root_of(path, self.home.as_deref(), &|name| value(self.env, name).map(OsStr::to_owned))
    }

    fn is_of_programs(&self, folder: &Path) -> bool {
        // A folder above the home, the project or the tree would show those as well.
        folder.parent().is_some() && !self.keep.iter().any(|place| place.starts_with(folder))
    }

    fn is_open(&self, path: &Path) -> bool {
        let taken_back = |open: &Path| {
            self.root.as_ref().is_some_and(|root| root.starts_with(open) && path.starts_with(root))
        };
        self.open.iter().any(|open| path.starts_with(open) && !taken_back(open))
    }
}

fn is_bin(folder: &Path) -> bool {
    folder.ends_with("bin") || folder.ends_with(".bin")
}

/// Whether programs need this folder of an installation, by its name.
fn is_part(whole: &Path, part: &Path) -> bool {
    let Some(name) = part.strip_prefix(whole).ok().and_then(|rest| rest.components().next()) else {
        return false;
    };
    let name = name.as_os_str().to_string_lossy();
    let named = PARTS.contains(&name.as_ref()) || name.starts_with("lib") || name.starts_with("erts-");
    // Tools for another machine, as compilers install them: `x86_64-conda-linux-gnu`.
    let target = ["-linux-", "-elf", "-eabi", "-mingw"].iter().any(|word| name.contains(word));
    // Go compiles its own library from source, and pip keeps there what it fetched with git. In any other installation
    // `src` may be somebody's work.
    let sources = || ["src/runtime/runtime.go", "pyvenv.cfg"].iter().any(|mark| whole.join(mark).is_file());
    named || target || (name == "src" && sources())
}

fn is_of_distribution(folder: &Path) -> bool {
    DISTRIBUTION.iter().any(|known| folder == Path::new(known))
}

/// Folders in which every program looks for libraries, by the distribution's configuration.
fn libraries() -> Vec<PathBuf> {
    let files = fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().filter_map(Result::ok);
    let files = files.map(|entry| entry.path()).chain([PathBuf::from("/etc/ld.so.conf")]);
    let texts = files.filter_map(|file| fs::read_to_string(file).ok());
    let named = |text: String| text.lines().map(|line| PathBuf::from(line.trim())).collect::<Vec<_>>();
    texts.flat_map(named).filter(|folder| folder.is_absolute()).collect()
}

/// The program that a script's first line names.
fn interpreter(script: &Path) -> Option<PathBuf> {
    // Opening a pipe or a device could block or have effects.
    if !script.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(script).ok()?.take(FIRST_LINE_MAX).read_to_end(&mut bytes).ok()?;
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.trim_ascii_start().split(|byte| byte.is_ascii_whitespace()).next()?;
    let path = PathBuf::from(OsStr::from_bytes(word));
    path.is_absolute().then_some(path)
}

/// A path without `.` and `..`. The folders in it are resolved already, so no link can change the meaning of `..`.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = tidy.pop(),
            part => tidy.push(part),
        }
    }
    tidy
}
