//! Reading a repository that may be bare, and leaving no trace in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tribunal_git::{Archive, GitError, Oid};

use crate::support::{World, git, path, script, texts, write};

/// Every file under a directory with its bytes.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).expect("reads").map(|entry| entry.expect("entry").path()) {
            if entry.is_dir() {
                open.push(entry);
            } else {
                found.insert(entry.display().to_string(), fs::read(&entry).expect("reads"));
            }
        }
    }
    found
}

/// A bare clone of two commits: `a.txt` changed, `old.txt` renamed.
fn bare() -> World {
    let world = World::new(&[("a.txt", "1\n2\n3\n"), ("old.txt", "one\ntwo\nthree\nfour\n")]);
    write(&world.root(), "a.txt", "1\n2b\n3\n");
    git(&world.root(), &["mv", "old.txt", "new.txt"]);
    git(&world.root(), &["commit", "-qam", "second"]);
    git(&world.root(), &["tag", "v2"]);
    git(world.dir.path(), &["clone", "-q", "--bare", "user", "bare.git"]);
    world
}

#[test]
fn a_bare_repository_is_read_and_not_touched() {
    let world = bare();
    let dir = world.dir.path().join("bare.git");
    let before = files(&dir);
    let archive = Archive::open(&dir).expect("opens");
    let (from, to) = (archive.commit("v2~1").expect("from"), archive.commit("v2").expect("to"));
    assert_eq!(from, world.head);
    let diff = String::from_utf8(archive.diff_lines(&from, &to).expect("diff")).expect("text");
    for part in ["@@ -2 +2 @@", "-2\n+2b\n", "rename from old.txt\nrename to new.txt\n"] {
        assert!(diff.contains(part), "{part:?} in {diff}");
    }
    assert_eq!(archive.diff_lines(&to, &to).expect("diff"), b"");
    let read = |at, name: &str| archive.file_at(at, &path(name)).expect("reads");
    assert_eq!(read(&to, "a.txt").as_deref(), Some(&b"1\n2b\n3\n"[..]));
    for missing in ["old.txt", "no", "../a.txt", "/etc/passwd", "a.txt\n", "", "a b missing"] {
        assert_eq!(read(&to, missing), None, "{missing:?}");
    }
    let ids = diff.lines().find_map(|line| line.strip_prefix("index ")).expect("ids of a.txt");
    let (old, new) = ids.split_once(' ').expect("a mode").0.split_once("..").expect("two");
    let ids = [old, new, from.as_str(), &"0".repeat(old.len())].map(|id| Oid::parse(id).expect("an id"));
    let many: Vec<Oid> = ids.iter().cycle().take(400).cloned().collect();
    let found = archive.blobs(&many, usize::MAX).expect("reads");
    assert_eq!(found.len(), 400);
    for some in found.chunks(4) {
        assert_eq!(some, [read(&from, "a.txt"), read(&to, "a.txt"), None, None]);
    }
    assert!(archive.blobs(&many, 10).expect("reads").len() < 400);
    drop(archive);
    assert_eq!(files(&dir), before);
}

#[test]
fn work_trees_and_their_folders_are_read_too() {
    let world = World::new(&[("sub/a.txt", "1\n")]);
    let archive = Archive::open(&world.root().join("sub")).expect("opens");
    assert_eq!(archive.commit("HEAD").expect("head"), world.head);
}

#[test]
fn a_file_that_differs_is_told_whatever_the_index_says() {
    let names = ["same", "text", "edited", "gone", "mode", "link", "unseen"];
    let world = World::new(&names.map(|name| (name, "1\n")));
    let root = world.root();
    let archive = Archive::open(&root).expect("opens");
    let files = archive.files(&world.head).expect("lists");
    let differing = || texts(&archive.differing(&root, &files).expect("answers"));
    assert_eq!(differing(), [""; 0]);
    for bit in ["--assume-unchanged", "--skip-worktree"] {
        git(&root, &["update-index", bit, "edited", "gone", "mode", "link"]);
    }
    for (key, value) in [("core.ignoreStat", "true"), ("core.autocrlf", "true"), ("filter.x.clean", "echo 1")]
    {
        git(&root, &["config", key, value]);
    }
    write(&root, ".git/info/attributes", "unseen filter=x\n");
    // Written again, and with the line ends of a checkout, it is the same.
    write(&root, "same", "1\n");
    write(&root, "text", "1\r\n");
    write(&root, "edited", "2\n");
    write(&root, "unseen", "2\n");
    script(&root.join("mode"), "1\n");
    for name in ["gone", "link"] {
        fs::remove_file(root.join(name)).expect("removes");
    }
    std::os::unix::fs::symlink("same", root.join("link")).expect("links");
    let before = self::files(&root);
    assert_eq!(differing(), ["edited", "gone", "link", "mode", "unseen"]);
    git(&root, &["config", "core.sparseCheckout", "true"]);
    assert_eq!(differing(), ["edited", "link", "mode", "unseen"]);
    git(&root, &["config", "--unset", "core.sparseCheckout"]);
    assert_eq!(self::files(&root), before, "nothing is written");
}

#[test]
fn revisions_that_are_none_are_named() {
    let world = bare();
    let archive = Archive::open(&world.dir.path().join("bare.git")).expect("opens");
    for rev in ["", "nothing", "v2 v2", "v2\nv2", "--all", "v2:a.txt", "x missing"] {
        let error = archive.commit(rev).expect_err(rev);
        assert!(matches!(error, GitError::NoSuch { .. }), "{rev:?}: {error}");
    }
    assert!(matches!(Archive::open(&world.dir.path().join("none")), Err(GitError::Io { .. })));
    let empty = tempfile::tempdir().expect("temp dir");
    assert!(matches!(Archive::open(empty.path()), Err(GitError::NotARepository { .. })));
}
