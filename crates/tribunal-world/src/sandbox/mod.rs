//! Which files a launch sees. It is an allow list: its tree, its own folder, an empty home with what its row names, the
//! programs it may start, and the machine's own. Everything else is absent: journals, other launches, other projects,
//! the user's worktree, secrets.
//!
//! This module only makes the list; the process driver mounts it. Paths that an agent could have made are never
//! followed here. `docs/design/sandbox.md` has the whole table and the reasons.

mod allowed;
mod denied;
pub(crate) mod enforced;
mod hint;
mod home;
mod machine;
mod plan;
mod probe;
mod programs;
mod project;
mod search;
mod secret_names;
mod tool_roots;

use crate::context::RunContext;
use crate::context::scratch::Scratches;
use allowed::Allowed;
use denied::Denied;
use home::{HomeLayout, is_dir};
use plan::MountPlan;
use programs::Closure;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tribunal_agent::{Adapter, Adapters};
use tribunal_core::defence::{Defence, stands};
use tribunal_process::{Exit, Mounts};

pub(crate) use hint::add_to;
pub(crate) use home::git_settings;
pub use probe::Probe;
pub(crate) use project::{BORROWED, ProjectPlaces};

/// The folder of a launch that it may write to: its temporary files and its home.
pub(crate) const SCRATCH: &str = "scratch";

/// Whether agents and checks are kept to their own files in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Launches are kept to their own files.
    Raised,
    /// The settings switch the sandbox off.
    Off,
    /// This machine permits no sandbox.
    Missing,
}

impl Sandbox {
    /// The sandbox that this machine gives for a setting.
    ///
    /// The machine is asked only if the setting wants a sandbox, because asking starts a process.
    pub fn of(setting: &str, can_sandbox: impl FnOnce() -> bool) -> Sandbox {
        match setting {
            "off" => Sandbox::Off,
            _ if can_sandbox() => Sandbox::Raised,
            _ => Sandbox::Missing,
        }
    }
}

/// What one launch needs of its sandbox.
pub(crate) struct SandboxSpec<'a> {
    /// The tree it works in.
    pub(crate) tree: &'a Path,
    /// Whether it may change the tree.
    pub(crate) write: bool,
    /// Its own folder, readable except for the scratch folder in it.
    pub(crate) own: &'a Path,
    /// More places, and whether it may write there.
    pub(crate) more: Vec<(PathBuf, bool)>,
    /// The adapter row, if it is an agent.
    pub(crate) row: Option<&'a Adapter>,
    /// Its whole environment.
    pub(crate) env: &'a [(OsString, OsString)],
    /// Its program, as it was named.
    pub(crate) program: Option<&'a OsStr>,
}

/// The machine and the project in which launches happen.
///
/// It holds references only and is made for each launch, so that a run and a command started by hand build the same
/// sandbox.
pub(crate) struct SandboxHost<'a> {
    /// Whether launches are kept to their own files.
    pub(crate) sandbox: Sandbox,
    /// The user's environment.
    pub(crate) environment: &'a BTreeMap<String, OsString>,
    /// Every known agent; the homes of the others are hidden.
    pub(crate) adapters: &'a Adapters,
    /// Places that every launch may also read.
    pub(crate) readable: &'a [String],
    /// Places that builders and checks may also write.
    pub(crate) writable: &'a [String],
    /// The places of the user's signing keys, which nobody sees.
    pub(crate) keys: &'a [PathBuf],
    /// Git settings for the home of every launch.
    pub(crate) git_settings: &'a [(PathBuf, String)],
    /// The Tribunal program itself.
    pub(crate) own_binary: &'a Path,
    /// The places of the project, if there is one.
    pub(crate) project: Option<ProjectPlaces<'a>>,
    /// The folder of ours in which trees lie. A tree below it must be where it was made.
    pub(crate) within: &'a Path,
    /// The pool of scratch folders; without it each one is made anew.
    pub(crate) scratches: Option<&'a Scratches>,
}

impl RunContext {
    /// The mounts of a launch; none where there is no sandbox. Makes the launch's scratch folder in any case.
    pub(crate) fn mounts(&self, spec: &SandboxSpec<'_>) -> Result<Option<Mounts>, String> {
        // A tool's warm tree lies outside the run's folder.
        let warm = crate::tool::cache::folder(&self.project);
        let within = if spec.tree.starts_with(&warm) { &warm } else { &self.dir };
        let home = home_of(&self.environment);
        let host = SandboxHost {
            sandbox: self.sandbox,
            environment: &self.environment,
            adapters: &self.adapters,
            readable: &self.settings.agents.readable,
            writable: &self.settings.agents.writable,
            keys: &self.keys,
            git_settings: self.git_settings.get_or_init(|| git_settings(home.as_deref())),
            own_binary: &self.own_binary,
            project: Some(ProjectPlaces {
                root: self.project.root(),
                common_dir: self.repo.common_dir(),
                objects: self.repo.objects_dir(),
                runs: self.project.folder(),
                is_tested: false,
            }),
            within,
            scratches: Some(&self.scratches),
        };
        host.mounts(spec)
    }

    /// Records that a launch has ended. Its scratch folder may be recycled if no process of it is left.
    pub(crate) fn left(&self, own: &Path, exit: &Exit) {
        if let (true, Ok(own)) = (exit.left.is_empty(), own.canonicalize()) {
            self.scratches.release(&own.join(SCRATCH));
        }
    }

    /// Whether nobody can write in a reviewer's checkout. Only then may the checkout be recycled.
    pub(crate) fn reviewers_are_read_only(&self) -> bool {
        self.sandbox == Sandbox::Raised && stands(Defence::Sandbox) && stands(Defence::ReadOnlyReviewer)
    }

    /// Records that a launch could not be started, so nothing of it runs.
    pub(crate) fn never_began(&self, own: &Path) {
        own.canonicalize().into_iter().for_each(|own| self.scratches.unused(&own.join(SCRATCH)));
    }
}

impl SandboxHost<'_> {
    /// The mounts of a launch; none where there is no sandbox. Makes the launch's scratch folder in any case.
    pub(crate) fn mounts(&self, spec: &SandboxSpec<'_>) -> Result<Option<Mounts>, String> {
        let fail = |error: io::Error| format!("{}: {error}", spec.own.display());
        let tree = in_place(self.within, spec.tree).map_err(fail)?;
        fs::create_dir_all(spec.own).map_err(fail)?;
        if self.sandbox != Sandbox::Raised || !stands(Defence::Sandbox) {
            fs::create_dir_all(spec.own.join(SCRATCH)).map_err(fail)?;
            return Ok(None);
        }
        let mut plan = MountPlan::default();
        let layout = self.plan(&mut plan, spec, &tree).map_err(fail)?;
        let steps = plan.steps(&tree);
        layout.build(&steps, self.scratches.unwrap_or(&Scratches::default())).map_err(fail)?;
        Ok(Some(steps))
    }

    /// Collects the rules of a launch. A later rule for the same place replaces an earlier one, so the order is part of
    /// the design.
    fn plan(&self, plan: &mut MountPlan, spec: &SandboxSpec<'_>, tree: &Path) -> io::Result<HomeLayout> {
        let home = home_of(self.environment);
        let home = home.as_deref();
        let own = spec.own.canonicalize()?;
        let mut layout = HomeLayout::new(own.join(SCRATCH), home);
        machine::restrict(plan);
        for temporary in ["/tmp", "/var/tmp"] {
            plan.put(&layout.scratch().join("tmp"), Path::new(temporary), true);
        }
        let denied = self.denied(spec, tree, home);
        // The home is empty before anything in it is allowed, and once more after: a setting may have named the whole
        // home.
        if home.is_some() {
            layout.mount(plan, &[]);
        }
        self.allow(Allowed::new(plan, &denied), spec, tree, home);
        if home.is_some() {
            layout.mount(plan, self.git_settings);
        }
        if let Some(project) = &self.project {
            project.restrict(plan, &mut layout, tree)?;
        }
        // After everything that shows something, and before the agent's own login, which is denied to all others.
        hide_denied(plan, &denied);
        if let Some(home) = home {
            layout.give(plan, &self.agent_places(spec, home)?);
        }
        // The launch's own folder lies among the runs, which were hidden above, so it is shown again.
        plan.show(&own, false);
        plan.show(&own.join(SCRATCH), true);
        for (path, write) in &spec.more {
            path.canonicalize().into_iter().for_each(|path| plan.show(&path, *write));
        }
        // The tree comes last: no other rule may make it writable or hide it.
        plan.show(tree, spec.write || !stands(Defence::ReadOnlyReviewer));
        Ok(layout)
    }

    /// Allows everything besides its own places.
    fn allow(&self, mut allowed: Allowed<'_>, spec: &SandboxSpec<'_>, tree: &Path, home: Option<&Path>) {
        // What the user opens for everybody comes before what is kept from everybody. Reviewers see these places, too,
        // but do not write there.
        let writes = spec.write || spec.row.is_none();
        let find = |text: &String| expand(text, home, spec.env);
        for path in self.readable.iter().filter_map(find) {
            allowed.named(&path, false);
        }
        for path in self.writable.iter().filter_map(find) {
            allowed.named(&path, writes);
        }
        let root = self.project.as_ref().and_then(|project| project.root.canonicalize().ok());
        let keep =
            home.map(Path::to_path_buf).into_iter().chain(root.clone()).chain([tree.to_path_buf()]).collect();
        let open = self.writable.iter().filter_map(find).filter_map(|path| path.canonicalize().ok());
        let open = open.chain([tree.to_path_buf()]).collect();
        if let Some(project) = &self.project {
            project.allow(&mut allowed, tree);
        }
        Closure::new(&mut allowed, spec, keep, open, root).all(self, spec, home);
        allowed.finish();
    }

    /// The places that are kept from this launch, wherever they lie.
    fn denied(&self, spec: &SandboxSpec<'_>, tree: &Path, home: Option<&Path>) -> Denied {
        let mut denied = Denied::default();
        for secret in home.into_iter().flat_map(|home| denied::SECRETS.map(|name| home.join(name))) {
            denied.secret(secret);
        }
        let of_variable = |name: &str, rest: &str| {
            let folder = self.environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
            folder.map(|folder| folder.join(rest))
        };
        let state = [("XDG_STATE_HOME", "tribunal"), ("XDG_CONFIG_HOME", "tribunal")];
        let credentials = ["credentials", "credentials.toml"].map(|name| ("CARGO_HOME", name));
        for (name, rest) in state.into_iter().chain(credentials) {
            of_variable(name, rest).into_iter().for_each(|path| denied.secret(path));
        }
        self.key_places(tree, home).into_iter().for_each(|key| denied.secret(key));
        search::of_machine().found.into_iter().for_each(|path| denied.secret(path));
        denied.agents(self.adapters, spec.row, home, spec.env);
        denied
    }

    /// The places of the user's signing keys, and the targets of links to them.
    fn key_places(&self, tree: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let root = self.project.as_ref().map(|project| project.root);
        let keep: Vec<&Path> = [tree].into_iter().chain(home).chain(root).collect();
        let mut places = Vec::new();
        for key in self.keys {
            let parent = key.parent().and_then(|folder| folder.canonicalize().ok());
            places.extend(parent.zip(key.file_name()).map(|(folder, name)| folder.join(name)));
            places.extend(key.canonicalize());
        }
        // A configured key path may be a folder that holds the home or the project. Hiding it would hide everything.
        places.retain(|place| !keep.iter().any(|kept| kept.starts_with(place)));
        places
    }
}

/// The second layer: hides every denied place under every name by which it would be visible.
fn hide_denied(plan: &mut MountPlan, denied: &Denied) {
    let plain = |place: &&PathBuf| place.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
    denied.places().filter(plain).for_each(|place| plan.hide_by_every_name(place));
}

/// The user's home; none if it is the root folder.
pub(crate) fn home_of(environment: &BTreeMap<String, OsString>) -> Option<PathBuf> {
    let home = environment.get("HOME").and_then(|home| PathBuf::from(home).canonicalize().ok());
    home.filter(|home| home.parent().is_some())
}

fn value<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter()
        // The last value of a variable counts, as it does for a process.
        .rfind(|(key, _)| key == name)
        .map(|(_, value)| value.as_os_str())
        .filter(|value| !value.is_empty())
}

/// The real path of a tree. An error if it is not the folder that was made there, or is reached through a link.
///
/// A launch that could write beside its tree might have put a link in its place. The next sandbox would then be built
/// around the link's target.
fn in_place(within: &Path, tree: &Path) -> io::Result<PathBuf> {
    if !stands(Defence::TreeInPlace) {
        return Ok(tree.to_path_buf());
    }
    let moved = || io::Error::other(format!("{} is not where it was made", tree.display()));
    let expect = within.canonicalize()?.join(tree.strip_prefix(within).map_err(|_| moved())?);
    tree.canonicalize().ok().filter(|real| *real == expect && is_dir(real)).ok_or_else(moved)
}

/// Expands `~/` and `$NAME/` in a path of the settings. A variable that is not set leads nowhere.
fn expand(text: &str, home: Option<&Path>, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let text = text.trim_end_matches('/');
    if let Some(rest) = text.strip_prefix('~') {
        return Some(home?.join(rest.trim_start_matches('/')));
    }
    if let Some(named) = text.strip_prefix('$') {
        let (name, rest) = named.split_once('/').unwrap_or((named, ""));
        let folder = PathBuf::from(value(env, name)?).canonicalize().ok()?;
        return Some(if rest.is_empty() { folder } else { folder.join(rest) });
    }
    Path::new(text).is_absolute().then(|| text.into())
}

#[cfg(test)]
mod tests;
