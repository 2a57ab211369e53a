//! Which files a launch sees: its tree, its own folder, the program it runs, the machine's programs to read. Not the
//! journal, not what other launches have, not other people's homes, not the user's secrets. It only says so; the
//! process driver raises the walls. Paths an agent could have made are never followed here.

use super::scratch::{Scratches, Skeleton};
use super::site::Site;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tribunal_agent::{Adapter, Adapters};
use tribunal_core::defence::{Defence, stands};
use tribunal_process::{Exit, Wall, Walls, find_program};

/// The folder of a launch that it may write to: its temporary files and its home.
pub(crate) const SCRATCH: &str = "scratch";

/// Places of other people and other programs, with their sockets.
const COVERED: [&str; 5] = ["/home", "/root", "/run", "/tmp", "/var/tmp"];
/// What is needed of them to find a host by its name.
const NEEDED: [&str; 4] =
    ["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/nscd"];
/// Folders of a home in which a launch may make new entries for itself.
const OPENED: [&str; 5] = [".cache", ".config", ".local", ".local/share", ".local/state"];
/// What nobody but the user needs.
const SECRETS: [&str; 36] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".password-store",
    ".terraform.d",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mozilla",
    ".thunderbird",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    ".local/share/keyrings",
    ".local/share/containers",
];

/// Whether agents and checks are kept to their own files in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// They are.
    Walls,
    /// The settings say no.
    Off,
    /// This machine permits no walls.
    Missing,
}

impl Sandbox {
    /// What this machine gives to what the settings ask for.
    pub fn of(setting: &str, can_wall: impl FnOnce() -> bool) -> Sandbox {
        match setting {
            "off" => Sandbox::Off,
            _ if can_wall() => Sandbox::Walls,
            _ => Sandbox::Missing,
        }
    }
}

/// What one launch needs.
pub(crate) struct Room<'a> {
    /// Where it works.
    pub(crate) tree: &'a Path,
    /// Whether it may change that.
    pub(crate) write: bool,
    /// Its own folder: shown to read, but for its scratch folder.
    pub(crate) own: &'a Path,
    /// More that it is shown, and whether it may write there.
    pub(crate) more: Vec<(PathBuf, bool)>,
    /// The agent, if it is one.
    pub(crate) row: Option<&'a Adapter>,
    /// Its whole environment.
    pub(crate) env: &'a [(OsString, OsString)],
    /// Its program, as it was named.
    pub(crate) program: Option<&'a OsStr>,
}

/// Where launches happen: whose machine it is, and which project, if it is one.
pub(crate) struct Ground<'a> {
    /// Whether there are walls.
    pub(crate) sandbox: Sandbox,
    /// The user's environment.
    pub(crate) environment: &'a BTreeMap<String, OsString>,
    /// Every agent there is: the homes of others are hidden.
    pub(crate) adapters: &'a Adapters,
    /// What makers and checks may write besides.
    pub(crate) writable: &'a [String],
    /// Where the user's signing keys lie, wherever that is: nobody sees these places.
    pub(crate) keys: &'a [PathBuf],
    /// The Tribunal program.
    pub(crate) own_binary: &'a Path,
    /// The project's root, its git folders, and the folder with the runs.
    pub(crate) project: Option<Estate<'a>>,
    /// A folder of ours that trees lie in: from there on, a tree is where it was made.
    pub(crate) within: &'a Path,
    /// Where scratch folders come from; without it each is made anew.
    pub(crate) scratches: Option<&'a Scratches>,
}

/// A project's places.
pub(crate) struct Estate<'a> {
    pub(crate) root: &'a Path,
    pub(crate) git: [&'a Path; 2],
    pub(crate) runs: PathBuf,
}

impl Site {
    /// The walls of a launch; none where there are none. Makes the launch's scratch folder in any case.
    pub(crate) fn walls(&self, room: &Room<'_>) -> Result<Option<Walls>, String> {
        // A tool's warm tree lies outside the run.
        let warm = super::cache::folder(&self.project);
        let within = if room.tree.starts_with(&warm) { &warm } else { &self.dir };
        let ground = Ground {
            sandbox: self.sandbox,
            environment: &self.environment,
            adapters: &self.adapters,
            writable: &self.settings.agents.writable,
            keys: &self.keys,
            own_binary: &self.own_binary,
            project: Some(Estate {
                root: self.project.root(),
                git: [self.repo.common_dir(), self.repo.objects_dir()],
                runs: self.project.folder(),
            }),
            within,
            scratches: Some(&self.scratches),
        };
        ground.walls(room)
    }

    /// A launch has ended: what it had to itself may be used again, when nothing of it is left.
    pub(crate) fn left(&self, own: &Path, exit: &Exit) {
        if let (true, Ok(own)) = (exit.left.is_empty(), own.canonicalize()) {
            self.scratches.release(&own.join(SCRATCH));
        }
    }

    /// Whether nobody could write in a judge's checkout.
    pub(crate) fn seats_are_read_only(&self) -> bool {
        self.sandbox == Sandbox::Walls && stands(Defence::Walls) && stands(Defence::ReadOnlySeat)
    }

    /// A launch could not be started: nothing of it runs.
    pub(crate) fn never_began(&self, own: &Path) {
        own.canonicalize().into_iter().for_each(|own| self.scratches.unused(&own.join(SCRATCH)));
    }
}

impl Ground<'_> {
    /// The walls of a launch; none where there are none. Makes the launch's scratch folder in any case.
    pub(crate) fn walls(&self, room: &Room<'_>) -> Result<Option<Walls>, String> {
        let fail = |error: io::Error| format!("{}: {error}", room.own.display());
        let tree = in_place(self.within, room.tree).map_err(fail)?;
        fs::create_dir_all(room.own).map_err(fail)?;
        if self.sandbox != Sandbox::Walls || !stands(Defence::Walls) {
            fs::create_dir_all(room.own.join(SCRATCH)).map_err(fail)?;
            return Ok(None);
        }
        let mut plan = Plan::default();
        let house = self.cover(&mut plan, room, &tree).map_err(fail)?;
        let walls = plan.walls(&tree);
        house.build(&walls, self.scratches.unwrap_or(&Scratches::default())).map_err(fail)?;
        Ok(Some(walls))
    }

    fn cover(&self, plan: &mut Plan, room: &Room<'_>, tree: &Path) -> io::Result<House> {
        let home = self.environment.get("HOME").and_then(|home| PathBuf::from(home).canonicalize().ok());
        let home = home.filter(|home| home.parent().is_some());
        COVERED.into_iter().filter(|path| is_dir(Path::new(path))).for_each(|path| plan.hide(path.into()));
        NEEDED
            .into_iter()
            .map(Path::new)
            .filter(|path| path.exists())
            .for_each(|path| plan.show(path, false));
        let own = room.own.canonicalize()?;
        let mut house = House::new(own.join(SCRATCH), home.as_deref());
        plan.put(&house.scratch.join("tmp"), Path::new("/tmp"), true);
        // What the user lets everybody write comes before what is kept from everybody.
        for path in self.open_to_all(room, home.as_deref()) {
            plan.show(&path, room.write || room.row.is_none());
        }
        let places = home.as_deref().map_or_else(|| Ok(BTreeMap::new()), |home| self.homes(room, home))?;
        if home.is_some() {
            house.open(plan, &places)?;
        }
        self.programs(plan, room, tree, home.as_deref(), &places);
        if let Some(project) = &self.project {
            for path in [project.root, project.git[0], project.git[1]] {
                path.canonicalize()
                    .into_iter()
                    .filter(|path| is_covered(path))
                    .for_each(|path| plan.show(&path, false));
            }
            // A project in which nothing ever ran has nothing to hide.
            project.runs.canonicalize().into_iter().for_each(|runs| plan.hide(runs));
            let shown = [project.root, project.git[0], project.git[1]];
            let shown: Vec<PathBuf> = shown.into_iter().filter_map(|path| path.canonicalize().ok()).collect();
            let keys = self.key_places(tree, home.as_deref()).into_iter();
            keys.filter(|key| key.exists() && shown.iter().any(|above| key.starts_with(above)))
                .for_each(|key| plan.hide(key));
        }
        plan.show(&own, false);
        plan.show(&house.scratch, true);
        for (path, write) in &room.more {
            path.canonicalize().into_iter().for_each(|path| plan.show(&path, *write));
        }
        plan.show(tree, room.write || !stands(Defence::ReadOnlySeat));
        Ok(house)
    }

    /// Where the user's signing keys lie, and where links to them lead. A place that holds more than keys is not one.
    fn key_places(&self, tree: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let root = self.project.as_ref().map(|project| project.root);
        let keep: Vec<&Path> = [tree].into_iter().chain(home).chain(root).collect();
        let mut places = Vec::new();
        for key in self.keys {
            let parent = key.parent().and_then(|folder| folder.canonicalize().ok());
            places.extend(parent.zip(key.file_name()).map(|(folder, name)| folder.join(name)));
            places.extend(key.canonicalize());
        }
        places.retain(|place| !keep.iter().any(|kept| kept.starts_with(place)));
        places
    }

    /// What every maker and every check may write.
    fn open_to_all(&self, room: &Room<'_>, home: Option<&Path>) -> Vec<PathBuf> {
        let named = self.writable.iter().filter_map(|path| expand(path, home, room.env));
        named.filter_map(|path| path.canonicalize().ok()).collect()
    }

    /// The programs it runs, where they lie in a covered place and are not seen yet. One that an agent could have put
    /// there, as a link to anywhere, shows nothing.
    fn programs(
        &self,
        plan: &mut Plan,
        room: &Room<'_>,
        tree: &Path,
        home: Option<&Path>,
        places: &BTreeMap<PathBuf, Place>,
    ) {
        if is_covered(self.own_binary) {
            plan.show(self.own_binary, false);
        }
        let root = self.project.as_ref().map(|project| project.root);
        // A folder above these would show more than programs.
        let keep = home.into_iter().chain(root).chain(places.keys().map(PathBuf::as_path));
        let keep: Vec<&Path> = keep.collect();
        let keeps = |path: &Path| !keep.iter().any(|place| place.starts_with(path));
        let path = value(room.env, "PATH").unwrap_or_default();
        let open: Vec<PathBuf> =
            [tree.to_path_buf()].into_iter().chain(self.open_to_all(room, home)).collect();
        let given = |path: &PathBuf| {
            let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
            !path.starts_with(room.tree)
                && folder.is_some_and(|folder| !open.iter().any(|open| folder.starts_with(open)))
        };
        let program = room.program.and_then(|name| find_program(name, room.tree, room.env).ok());
        let program = program.filter(given).and_then(|path| path.canonicalize().ok());
        let program = program.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        let bins = std::env::split_paths(path).filter(given).chain(program);
        let bins = bins.filter_map(|bin| bin.canonicalize().ok()).filter(|bin| is_covered(bin) && keeps(bin));
        for bin in bins.collect::<Vec<PathBuf>>() {
            if plan.shows(&bin) {
                continue;
            }
            // `bin` and `.bin` are parts of an installation.
            let whole = bin.parent().filter(|_| bin.ends_with("bin") || bin.ends_with(".bin"));
            let shown =
                whole.filter(|above| keeps(above) && !COVERED.iter().any(|root| above.as_os_str() == *root));
            plan.show(shown.unwrap_or(&bin), false);
        }
    }

    /// What happens to the places of a home: those of other agents are hidden, this one's are its own.
    fn homes(&self, room: &Room<'_>, home: &Path) -> io::Result<BTreeMap<PathBuf, Place>> {
        let mut places: BTreeMap<PathBuf, Place> =
            SECRETS.into_iter().map(|secret| (home.join(secret), Place::Hidden)).collect();
        places.extend(self.key_places(room.tree, Some(home)).into_iter().map(|key| (key, Place::Hidden)));
        let find = |text: &str| expand(text, Some(home), room.env);
        for row in self.adapters.names().filter_map(|name| self.adapters.get(name).ok()) {
            let of_home =
                row.home.private.iter().chain(&row.home.write).chain(&row.home.copy).chain(&row.login_files);
            places.extend(of_home.filter_map(|text| find(text)).map(|path| (path, Place::Hidden)));
        }
        let Some(row) = room.row else { return Ok(places) };
        let private: Vec<PathBuf> = row.home.private.iter().filter_map(|text| find(text)).collect();
        places.extend(private.iter().map(|path| (path.clone(), Place::Private)));
        let every = |text: &String| match text.starts_with(['~', '$']) {
            true => find(text).into_iter().collect::<Vec<_>>(),
            false => private.iter().map(|folder| folder.join(text.trim_end_matches('/'))).collect(),
        };
        // A program that never ran here makes its folder at its first launch, where its variables say.
        let fresh = private.iter().all(|folder| !folder.is_dir()).then(|| private.last()).flatten();
        let used = |path: &Path| {
            private
                .iter()
                .any(|folder| path.starts_with(folder) && (folder.is_dir() || Some(folder) == fresh))
        };
        let lists = [
            (&row.login_files, Place::Read),
            (&row.home.read, Place::Read),
            (&row.home.write, Place::Write),
            (&row.home.copy, Place::Copy),
        ];
        for (texts, place) in lists {
            for (text, path) in
                texts.iter().flat_map(|text| every(text).into_iter().map(move |path| (text, path)))
            {
                if text.ends_with('/') && (text.starts_with('~') || used(&path)) {
                    fs::create_dir_all(&path)?;
                }
                places.insert(path, place);
            }
        }
        Ok(places)
    }
}

/// What happens to a place in the user's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Hidden,
    Private,
    Read,
    Write,
    Copy,
}

/// The folder that a launch may write to, in the making: temporary files, and a home of its own in which the entries of
/// the user's appear.
struct House {
    home: PathBuf,
    scratch: PathBuf,
    skeleton: Skeleton,
    /// What it gets a copy of, and where.
    copies: Vec<(PathBuf, PathBuf)>,
}

impl House {
    fn new(scratch: PathBuf, home: Option<&Path>) -> House {
        let mut skeleton = Skeleton::default();
        skeleton.folder(Path::new("tmp"));
        House { home: home.unwrap_or(Path::new("/")).to_owned(), scratch, skeleton, copies: Vec::new() }
    }

    /// Where the home is in the scratch folder.
    const HOME: &str = "home";

    fn open(&mut self, plan: &mut Plan, places: &BTreeMap<PathBuf, Place>) -> io::Result<()> {
        let home = self.home.clone();
        self.skeleton.folder(Path::new(House::HOME));
        plan.put(&self.scratch.join(House::HOME), &home, true);
        let mut opened: BTreeSet<PathBuf> = OPENED.into_iter().map(|name| home.join(name)).collect();
        for path in places.keys().filter(|path| path.starts_with(&home)) {
            let above = path.ancestors().skip(1).take_while(|above| above.starts_with(&home));
            opened.extend(above.filter(|above| **above != home).map(Path::to_path_buf));
        }
        self.folder(plan, &home, places, &opened)?;
        // An agent's own folder may lie elsewhere, when a variable says so.
        for (path, place) in places.iter().filter(|(path, _)| !path.starts_with(&home) && path.exists()) {
            match place {
                Place::Hidden | Place::Private => plan.hide(path.clone()),
                Place::Read => plan.show(path, false),
                Place::Write => plan.show(path, true),
                Place::Copy => {
                    let copy = Path::new("copies").join(path.file_name().unwrap_or_default());
                    self.skeleton.folder(Path::new("copies"));
                    plan.put(&self.scratch.join(&copy), path, true);
                    self.copies.push((path.clone(), copy));
                }
            }
        }
        Ok(())
    }

    /// Where a path of the home lies in the scratch folder.
    fn inside(&self, path: &Path) -> PathBuf {
        Path::new(House::HOME).join(path.strip_prefix(&self.home).unwrap_or(path))
    }

    fn folder(
        &mut self,
        plan: &mut Plan,
        folder: &Path,
        places: &BTreeMap<PathBuf, Place>,
        opened: &BTreeSet<PathBuf>,
    ) -> io::Result<()> {
        let private = places.get(folder) == Some(&Place::Private);
        for entry in fs::read_dir(folder)?.filter_map(Result::ok) {
            let (path, kind) = (entry.path(), entry.file_type()?);
            match places.get(&path) {
                Some(Place::Hidden) => {}
                Some(Place::Copy) => self.copies.push((path.clone(), self.inside(&path))),
                Some(Place::Read) => plan.entry(&path, false),
                Some(Place::Write) => plan.entry(&path, true),
                None if private && !opened.contains(&path) => {}
                _ if kind.is_dir() && (opened.contains(&path) || places.contains_key(&path)) => {
                    self.skeleton.folder(&self.inside(&path));
                    self.folder(plan, &path, places, opened)?;
                }
                _ if kind.is_symlink() => self.skeleton.link(&self.inside(&path), fs::read_link(&path)?),
                _ if kind.is_dir() || kind.is_file() => plan.entry(&path, false),
                // A socket, a pipe or a device is somebody's way in.
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes it. What the walls show in the home, or where temporary files are, gets its place when they are raised.
    fn build(mut self, walls: &Walls, scratches: &Scratches) -> io::Result<()> {
        let rules: BTreeMap<&Path, &Wall> = walls.0.iter().map(|wall| (wall.place(), wall)).collect();
        let above = |path: &Path| path.ancestors().skip(1).find_map(|above| rules.get(above).copied());
        for wall in &walls.0 {
            let Wall::Show { from, to, .. } = wall else { continue };
            let Some(Wall::Show { from: own, to: around, .. }) = above(to) else { continue };
            if let (Ok(own), Ok(inside)) = (own.strip_prefix(&self.scratch), to.strip_prefix(around)) {
                // What is ours is not there yet: folders, but for copies.
                let ours = from.starts_with(&self.scratch) && !from.starts_with(self.scratch.join("copies"));
                self.skeleton.mount(&own.join(inside), ours || is_dir(from));
            }
        }
        scratches.make(&self.scratch, &self.skeleton)?;
        for (from, to) in &self.copies {
            let copied = copy(from, &self.scratch.join(to));
            // What is not in the home after all is missed by who needs it, who will say so; what is elsewhere is mounted.
            if !to.starts_with(House::HOME) {
                copied?;
            }
        }
        Ok(())
    }
}

/// The walls in the making: one rule per place, those above before those below.
#[derive(Default)]
struct Plan(BTreeMap<PathBuf, Wall>);

impl Plan {
    fn hide(&mut self, path: PathBuf) {
        self.0.insert(path.clone(), Wall::Hide(path));
    }

    fn show(&mut self, path: &Path, write: bool) {
        self.put(path, path, write);
    }

    /// An entry of a home, unless something else was said of it before.
    fn entry(&mut self, path: &Path, write: bool) {
        let wall = Wall::Show { from: path.to_path_buf(), to: path.to_path_buf(), write };
        self.0.entry(path.to_path_buf()).or_insert(wall);
    }

    fn put(&mut self, from: &Path, to: &Path, write: bool) {
        let wall = Wall::Show { from: from.to_path_buf(), to: to.to_path_buf(), write };
        self.0.insert(to.to_path_buf(), wall);
    }

    /// The rule that a place is under, its own or the nearest above.
    fn rule(&self, path: &Path) -> Option<&Wall> {
        path.ancestors().find_map(|above| self.0.get(above))
    }

    /// Is what lies there seen as it is?
    fn shows(&self, path: &Path) -> bool {
        matches!(self.rule(path), Some(Wall::Show { from, to, .. }) if from == to)
    }

    /// A rule that says what the one above it says already is left out: every one costs a mount. But the tree has one of
    /// its own in any case: what is mounted nobody can rename.
    fn walls(self, tree: &Path) -> Walls {
        let says_more =
            |(path, wall): &(&PathBuf, &Wall)| match (wall, path.parent().and_then(|up| self.rule(up))) {
                _ if path.as_path() == tree => true,
                (
                    Wall::Show { from, to, write },
                    Some(Wall::Show { from: outside, to: inside, write: same }),
                ) => from != to || outside != inside || write != same,
                _ => true,
            };
        Walls(self.0.iter().filter(says_more).map(|(_, wall)| wall.clone()).collect())
    }
}

fn value<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter()
        .rfind(|(key, _)| key == name)
        .map(|(_, value)| value.as_os_str())
        .filter(|value| !value.is_empty())
}

fn is_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

/// Where a tree lies; refused when it is not the folder that we made there, or is reached through a link.
fn in_place(within: &Path, tree: &Path) -> io::Result<PathBuf> {
    let moved = || io::Error::other(format!("{} is not where it was made", tree.display()));
    let expect = within.canonicalize()?.join(tree.strip_prefix(within).map_err(|_| moved())?);
    tree.canonicalize().ok().filter(|real| *real == expect && is_dir(real)).ok_or_else(moved)
}

/// Copies a file to a place where nothing is yet, not even a link.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut file = fs::File::open(from)?;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    io::copy(&mut file, &mut fs::File::options().write(true).create_new(true).mode(mode).open(to)?)?;
    Ok(())
}

fn is_covered(path: &Path) -> bool {
    COVERED.iter().any(|root| path.starts_with(root))
}

/// `~/` is the home, `$NAME/` what a variable says; one that is not set leads nowhere.
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
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn put(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "text").unwrap();
    }

    /// What a command sees of a home with these files, when PATH names these folders of it.
    fn seen(files: &[&str], path: &[&str]) -> (tempfile::TempDir, Walls) {
        let folder = tempfile::tempdir().unwrap();
        let walls = walls_in(folder.path(), files, path, None, |_| {}).unwrap();
        (folder, walls)
    }

    /// The same of a program, after this was done in the folder with home and tree.
    fn walls_in(
        folder: &Path,
        files: &[&str],
        path: &[&str],
        program: Option<&str>,
        deed: impl FnOnce(&Path),
    ) -> Result<Walls, String> {
        let root = folder.canonicalize().unwrap();
        let home = root.join("home");
        files.iter().for_each(|file| put(&home.join(file)));
        let (own, tree) = (root.join("own"), root.join("check/tree"));
        fs::create_dir_all(&tree).unwrap();
        deed(&root);
        let adapters = Adapters::default();
        let environment = BTreeMap::from([("HOME".to_owned(), home.clone().into_os_string())]);
        let writable = [root.join("writable").display().to_string()];
        let ground = Ground {
            sandbox: Sandbox::Walls,
            environment: &environment,
            adapters: &adapters,
            writable: &writable,
            keys: &[home.join("keys/sign"), home.join("rings"), home.clone()],
            own_binary: Path::new("/usr/bin/env"),
            project: None,
            within: &root,
            scratches: None,
        };
        let bins = std::env::join_paths(path.iter().map(|bin| home.join(bin))).unwrap();
        let env = [("PATH".into(), bins)];
        let room = Room {
            tree: &tree,
            write: true,
            own: &own,
            more: Vec::new(),
            row: None,
            env: &env,
            program: program.map(OsStr::new),
        };
        ground.walls(&room).map(Option::unwrap)
    }

    #[test]
    fn a_tree_that_was_moved_away_is_refused() {
        type Deed<'a> = &'a dyn Fn(&Path);
        let away = |root: &Path, what: &str| fs::rename(root.join(what), root.join("was")).unwrap();
        let deeds: [(&str, Deed<'_>, bool); 5] = [
            ("nothing", &|_| {}, true),
            (
                "a link to the home",
                &|root| {
                    away(root, "check/tree");
                    symlink(root.join("home"), root.join("check/tree")).unwrap();
                },
                false,
            ),
            (
                "a link to itself, elsewhere",
                &|root| {
                    away(root, "check/tree");
                    symlink(root.join("was"), root.join("check/tree")).unwrap();
                },
                false,
            ),
            (
                "a link above it",
                &|root| {
                    away(root, "check");
                    symlink(root.join("was"), root.join("check")).unwrap();
                },
                false,
            ),
            (
                "a file",
                &|root| {
                    away(root, "check/tree");
                    fs::write(root.join("check/tree"), "").unwrap();
                },
                false,
            ),
        ];
        for (name, deed, fits) in deeds {
            let folder = tempfile::tempdir().unwrap();
            let walls = walls_in(folder.path(), &["x"], &[], None, deed);
            assert_eq!(walls.is_ok(), fits, "{name}: {walls:?}");
        }
    }

    #[test]
    fn a_program_that_an_agent_linked_shows_nothing() {
        let script = |path: &Path| {
            put(path);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let link = |root: &Path, at: &str| {
            let at = root.join(at);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            symlink(root.join("others/run"), at).unwrap();
        };
        script(&root.join("others/run"));
        let writable = root.join("writable/run").display().to_string();
        let given = root.join("given/run").display().to_string();
        for (program, at, shows) in [
            ("./run", "check/tree/run", false),
            ("bin/run", "check/tree/bin/run", false),
            (writable.as_str(), "writable/run", false),
            (given.as_str(), "given/run", true),
        ] {
            let walls = walls_in(&root, &["x"], &[], Some(program), |root| link(root, at)).unwrap();
            assert_eq!(shown(&walls, &root.join("others/run")), shows, "{program}");
        }
    }

    #[test]
    fn a_copy_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        put(&at("from"));
        symlink(at("users"), at("to")).unwrap();
        assert!(copy(&at("from"), &at("to")).is_err());
        assert!(!at("users").exists());
        copy(&at("from"), &at("new")).unwrap();
        assert_eq!(fs::read_to_string(at("new")).unwrap(), "text");
    }

    /// Whether a path is seen from inside, by the nearest rule.
    fn shown(walls: &Walls, path: &Path) -> bool {
        let rules: BTreeMap<&Path, bool> = walls
            .0
            .iter()
            .map(|wall| match wall {
                Wall::Hide(path) => (path.as_path(), false),
                Wall::Show { from, to, .. } => (to.as_path(), from == to),
            })
            .collect();
        path.ancestors().find_map(|above| rules.get(above).copied()).unwrap_or(true)
    }

    #[test]
    fn a_folder_of_programs_shows_no_secret_beside_it() {
        let files =
            [".cargo/bin/cargo", ".cargo/credentials.toml", ".cargo/config.toml", ".ssh/id", "tool/bin/x"];
        for path in [vec![".cargo/bin", "tool/bin"], vec![".cargo"], vec![".ssh"], vec!["."]] {
            let (folder, walls) = seen(&files, &path);
            let home = folder.path().canonicalize().unwrap().join("home");
            let saw: Vec<&str> = files.into_iter().filter(|file| shown(&walls, &home.join(file))).collect();
            assert_eq!(saw, [".cargo/bin/cargo", ".cargo/config.toml", "tool/bin/x"], "{path:?}");
        }
    }

    #[test]
    fn no_signing_key_is_seen_wherever_it_lies() {
        let files = ["keys/sign", "keys/other", "rings/private", "notes"];
        let (folder, walls) = seen(&files, &[]);
        let home = folder.path().canonicalize().unwrap().join("home");
        let saw: Vec<&str> = files.into_iter().filter(|file| shown(&walls, &home.join(file))).collect();
        assert_eq!(saw, ["keys/other", "notes"]);
    }

    #[test]
    fn no_rule_repeats_the_one_above_it() {
        let mut plan = Plan::default();
        plan.hide("/tmp".into());
        for (path, write) in
            [("/tmp/a", false), ("/tmp/a/b", false), ("/tmp/a/c", true), ("/tmp/a/c/d", false)]
        {
            plan.show(Path::new(path), write);
        }
        plan.put(Path::new("/tmp/x"), Path::new("/tmp/a/e"), false);
        plan.show(Path::new("/tmp/a/e/f"), false);
        // What nobody may rename is mounted, whatever is said above it.
        plan.show(Path::new("/tmp/a/c/tree"), true);
        let rules = plan.walls(Path::new("/tmp/a/c/tree")).0.into_iter().map(|wall| match wall {
            Wall::Hide(path) => format!("hide {}", path.display()),
            Wall::Show { from, to, write } => format!("{} {} {write}", from.display(), to.display()),
        });
        let expect = [
            "hide /tmp",
            "/tmp/a /tmp/a false",
            "/tmp/a/c /tmp/a/c true",
            "/tmp/a/c/d /tmp/a/c/d false",
            "/tmp/a/c/tree /tmp/a/c/tree true",
            "/tmp/x /tmp/a/e false",
            "/tmp/a/e/f /tmp/a/e/f false",
        ];
        assert_eq!(rules.collect::<Vec<_>>(), expect);
    }
}
