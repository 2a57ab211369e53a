//! A user's repository in a temporary directory, and short ways to talk about it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{Mode, OFlags};
use tribunal_git::fingerprint::{self, Fingerprint};
use tribunal_git::{GitPath, Oid, Repo, Signature, Tree};

/// Where objects are until something relies on them.
pub const OWN_OBJECTS: &str = ".git/tribunal.git/objects";

/// Runs git as a user would, and expects it to work.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=User", "-c", "user.email=user@example.org", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        // What no ref leads to yet is in a store of our own.
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", dir.join(OWN_OBJECTS))
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
    fs::write(path, text).expect("write");
}

pub fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
    fs::write(path, text).expect("write");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("chmod");
}

/// A folder so many folders deep, with a file in it: deeper than any path can say.
pub fn deep(root: &Path, name: &str, depth: usize, text: &str) {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = rustix::fs::open(root, flags, Mode::empty()).expect("opens");
    for _ in 0..depth {
        rustix::fs::mkdirat(&dir, name, Mode::RWXU).expect("mkdir");
        dir = rustix::fs::openat(&dir, name, flags, Mode::empty()).expect("opens");
    }
    let file = rustix::fs::openat(&dir, "f", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).expect("creates");
    rustix::io::write(&file, text.as_bytes()).expect("writes");
}

/// Runs a test of this program once more in a child, by a command that changes what the child may do. True in the child;
/// false in the parent, when the child has passed or cannot be had here.
pub fn again(test: &str, by: &[&str]) -> bool {
    if std::env::var_os("TRIBUNAL_TEST_AGAIN").is_some() {
        return true;
    }
    let own = std::env::current_exe().expect("a path");
    let child = |args: &[&str]| {
        let mut command = Command::new(by[0]);
        command.args(&by[1..]).arg(&own).args(args).current_dir("/").env("TRIBUNAL_TEST_AGAIN", "1");
        command.output()
    };
    if !child(&["--list"]).is_ok_and(|output| output.status.success()) {
        let text = format!("skipped: {} cannot run {} here\n", by.join(" "), own.display());
        std::io::stderr().write_all(text.as_bytes()).expect("says so");
        return false;
    }
    let output = child(&["--exact", test, "--nocapture"]).expect("runs");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    assert!(String::from_utf8_lossy(&said).contains("1 passed"), "{test} is not the name of a test");
    false
}

pub fn who() -> Signature {
    Signature::new("Tribunal", "tribunal@example.org", 1_700_000_000)
}

pub fn path(text: &str) -> GitPath {
    GitPath::from(text)
}

pub fn texts(paths: &[GitPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

/// A user's repository `user` and room for lanes beside it.
pub struct World {
    pub dir: tempfile::TempDir,
    pub repo: Repo,
    pub head: Oid,
}

impl World {
    pub fn new(files: &[(&str, &str)]) -> World {
        World::made(&[], |root| files.iter().for_each(|(path, text)| write(root, path, text)))
    }

    pub fn made(init: &[&str], fill: impl FnOnce(&Path)) -> World {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().join("user");
        fs::create_dir(&root).expect("mkdir");
        git(&root, &[&["init", "-q"], init].concat());
        fill(&root);
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-q", "--allow-empty", "-m", "first"]);
        let repo = Repo::open(&root).expect("opens");
        let head = repo.head().expect("head").commit;
        World { dir, repo, head }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("user")
    }

    pub fn lane(&self, name: &str) -> Tree {
        self.lane_at(name, &self.head)
    }

    pub fn lane_at(&self, name: &str, commit: &Oid) -> Tree {
        let lane = self.dir.path().join("lanes").join(name);
        fs::create_dir_all(&lane).expect("mkdir");
        let tree = self.repo.checkout(&lane.join("tree"), &lane.join("index"), commit, "lane");
        tree.expect("checks out")
    }

    pub fn print(&self) -> Fingerprint {
        fingerprint::take(&self.repo).expect("a fingerprint")
    }

    /// A commit on `parent` with these files written (or removed when the text is empty).
    pub fn commit(&self, parent: &Oid, files: &[(&str, &str)], message: &str) -> Oid {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let name = format!("c{}", SERIAL.fetch_add(1, Ordering::Relaxed));
        let tree = self.lane_at(&name, parent);
        for (path, text) in files {
            match *text {
                "" => fs::remove_file(tree.path().join(path)).expect("removed"),
                text => write(tree.path(), path, text),
            }
        }
        let captured = tree.capture().expect("captures");
        assert_eq!(captured.problems, []);
        let made = self.repo.commit(&captured.tree, std::slice::from_ref(parent), message, &who(), &who());
        let made = made.expect("commits");
        // Tests speak of it to the user's git.
        self.repo.hold(std::slice::from_ref(&made)).expect("held");
        made
    }
}
