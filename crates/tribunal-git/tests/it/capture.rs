//! Checking out and taking back: every kind of file survives, and nothing of the user's changes.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;
use tribunal_git::{ChangeKind, GitPath, Mode, Problem, RefChange, Repo, Trash};

use crate::support::{OWN_OBJECTS, World, again, deep, git, path, texts, who, write};

#[test]
fn a_tree_nobody_touched_comes_back_as_it_was() {
    let world = World::made(&[], |root| {
        write(root, "plain", "text\n");
        write(root, "dir/deep/er", "x");
        write(root, "crlf", "a\r\nb\r\n");
        write(root, "empty", "");
        fs::write(root.join(OsStr::from_bytes(b"bad\xff\xfename")), "bytes").expect("write");
        write(root, "new\nline", "1");
        write(root, "quo\"te 'and\ttab", "1");
        write(root, "*.glob[x]", "1");
        write(root, ":(top)magic", "1");
        write(root, "run", "#!/bin/sh\n");
        fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o755)).expect("chmod");
        symlink("/etc/passwd", root.join("link")).expect("link");
        symlink("nowhere", root.join("dangling")).expect("link");
    });
    let before = world.print();
    let tree = world.lane("l");
    assert_eq!(tree.compare().expect("compares"), []);
    let captured = tree.capture().expect("captures");
    assert_eq!(captured.tree, world.repo.tree_of(&world.head).expect("a tree"));
    assert_eq!(captured.problems, []);
    assert_eq!(before.differences(&world.print()), [""; 0]);
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
}

#[test]
fn what_an_agent_does_is_taken() {
    let world = World::made(&[], |root| {
        write(root, "kept", "k\n");
        write(root, "changed", "1\n");
        write(root, "removed", "r\n");
        write(root, "moved", &"some lines\n".repeat(20));
        write(root, "dir/file", "f\n");
        write(root, "becomes-dir", "f\n");
        write(root, ".gitignore", "ignored\n");
        write(root, "mode", "m\n");
    });
    let (before, tree) = (world.print(), world.lane("l"));
    let root = tree.path();
    write(root, "changed", "2\n");
    fs::remove_file(root.join("removed")).expect("removed");
    fs::rename(root.join("moved"), root.join("moved-here")).expect("renamed");
    fs::remove_dir_all(root.join("dir")).expect("removed");
    symlink("/etc", root.join("dir")).expect("link");
    fs::remove_file(root.join("becomes-dir")).expect("removed");
    write(root, "becomes-dir/inside", "i\n");
    write(root, "ignored", "no\n");
    write(root, "-rf", "dash\n");
    fs::set_permissions(root.join("mode"), fs::Permissions::from_mode(0o755)).expect("chmod");
    // The agent's own excludes and index have no say.
    write(root, ".git/info/exclude", "*\n");
    git(root, &["update-index", "--assume-unchanged", "changed"]);
    let captured = tree.capture().expect("captures");
    assert_eq!(captured.problems, []);
    let changes = world.repo.changes(&world.head, &captured.tree).expect("diff");
    let mut shown: Vec<_> = changes.iter().map(|c| (c.path.to_string(), c.kind)).collect();
    shown.sort_by(|a, b| a.0.cmp(&b.0));
    let expect = [
        ("-rf", ChangeKind::Added),
        ("becomes-dir", ChangeKind::Deleted),
        ("becomes-dir/inside", ChangeKind::Added),
        ("changed", ChangeKind::Modified),
        ("dir", ChangeKind::Added),
        ("dir/file", ChangeKind::Deleted),
        ("mode", ChangeKind::Modified),
        ("moved-here", ChangeKind::Renamed),
        ("removed", ChangeKind::Deleted),
    ];
    assert_eq!(shown, expect.map(|(path, kind)| (path.to_owned(), kind)));
    let entries = world.repo.list_tree(&captured.tree).expect("lists");
    assert!(entries.iter().any(|e| e.path == path("dir") && e.mode == Mode::Symlink));
    assert_eq!(world.repo.file_at(&captured.tree, &path("dir")).expect("reads"), Some(b"/etc".to_vec()));
    assert_eq!(before.differences(&world.print()), [""; 0]);
    assert_eq!(tree.capture().expect("again").tree, captured.tree);
}

#[test]
fn the_agent_can_use_git_and_nothing_reaches_the_user() {
    let world = World::new(&[("a", "1\n")]);
    let (before, tree) = (world.print(), world.lane("l"));
    write(tree.path(), "a", "2\n");
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), " M a");
    assert!(git(tree.path(), &["diff"]).contains("+2"));
    git(tree.path(), &["commit", "-qam", "mine"]);
    assert_eq!(git(tree.path(), &["log", "--format=%s"]), "mine\nfirst");
    git(tree.path(), &["gc", "-q", "--prune=now"]);
    git(tree.path(), &["fsck"]);
    assert_eq!(before.differences(&world.print()), [""; 0]);
    assert!(world.repo.resolve("lane").is_err());
}

#[test]
fn line_endings_are_left_alone() {
    for autocrlf in ["true", "input", "false"] {
        let world = World::made(&[], |root| {
            git(root, &["config", "core.autocrlf", "false"]);
            write(root, "unix", "a\nb\n");
            write(root, "dos", "a\r\nb\r\n");
            write(root, "mixed", "a\r\nb\n");
            write(root, "forced", "a\r\n");
            write(root, ".gitattributes", "forced -text\nother text eol=crlf\n");
            write(root, "other", "x\n");
        });
        git(&world.root(), &["config", "core.autocrlf", autocrlf]);
        git(&world.root(), &["config", "core.safecrlf", "true"]);
        let repo = Repo::open(&world.root()).expect("opens");
        let room = world.dir.path().join(autocrlf);
        fs::create_dir(&room).expect("mkdir");
        let tree = repo.checkout(&room.join("tree"), &room.join("index"), &world.head, "l").expect("out");
        assert_eq!(git(tree.path(), &["status", "--porcelain"]), "", "{autocrlf}");
        write(tree.path(), "extra", "1\n");
        let captured = tree.capture().expect("captures");
        let changed = repo.changed_paths(&world.head, &captured.tree).expect("diff");
        assert_eq!(texts(&changed), ["extra"], "{autocrlf}");
        // Also when nothing is known about the files any more.
        fs::remove_file(tree.index()).expect("removed");
        assert_eq!(tree.capture().expect("captures").tree, captured.tree, "{autocrlf}");
    }
}

#[test]
fn submodules_and_lfs_pointers_stay() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let other = World::new(&[("x", "1\n")]);
    let world = World::made(&[], |root| {
        write(root, "big.bin", pointer);
        write(root, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
        git(root, &["submodule", "add", "-q", other.root().to_str().expect("text"), "sub dir/mod"]);
    });
    let tree = world.lane("l");
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    write(tree.path(), "more.bin", pointer);
    let captured = tree.capture().expect("captures");
    assert_eq!(captured.problems, []);
    let changed = world.repo.changed_paths(&world.head, &captured.tree).expect("diff");
    assert_eq!(texts(&changed), ["more.bin"]);
    // Filled, replaced or removed: the submodule stays where it was, and we say so.
    let place = tree.path().join("sub dir/mod");
    git(&place, &["init", "-q"]);
    write(&place, "y", "2\n");
    git(&place, &["add", "y"]);
    git(&place, &["commit", "-qm", "inside"]);
    let problem = Problem::Submodule { path: path("sub dir/mod") };
    for step in 0..3 {
        match step {
            0 => {}
            1 => fs::remove_dir_all(&place).expect("removed"),
            _ => write(tree.path(), "sub dir/mod", "a file"),
        }
        let again = tree.capture().expect("captures");
        assert_eq!((again.tree, again.problems), (captured.tree.clone(), vec![problem.clone()]), "{step}");
    }
}

#[test]
fn repositories_inside_the_tree_are_taken_as_files_and_named() {
    let world = World::new(&[("a", "1\n")]);
    for commits in [false, true] {
        let tree = world.lane(&format!("l{commits}"));
        let nested = tree.path().join("made/here");
        write(&nested, "n", "nested\n");
        write(&nested, "deep/er", "deeper\n");
        write(&nested, "odd\nname", "odd\n");
        symlink("/etc/passwd", nested.join("link")).expect("link");
        git(&nested, &["init", "-q"]);
        git(&nested, &["init", "-q", "second"]);
        write(&nested, "second/s", "s\n");
        write(tree.path(), "b", "2\n");
        if commits {
            git(&nested, &["add", "n"]);
            git(&nested, &["commit", "-qm", "inside"]);
        }
        let expect = [
            "b",
            "made/here/deep/er",
            "made/here/link",
            "made/here/n",
            "made/here/odd\\nname",
            "made/here/second/s",
        ];
        for _ in 0..2 {
            let captured = tree.capture().expect("captures");
            let changed = world.repo.changed_paths(&world.head, &captured.tree).expect("diff");
            assert_eq!(texts(&changed), expect, "{commits}");
            assert!(captured.problems.contains(&Problem::Nested { path: path("made/here") }), "{captured:?}");
            assert!(captured.problems.contains(&Problem::Nested { path: path("made/here/second") }));
            write(&nested, "n", "nested\n");
        }
        write(&nested, "late", "l\n");
        let captured = tree.capture().expect("captures");
        assert!(world.repo.file_at(&captured.tree, &path("made/here/late")).expect("reads").is_some());
    }
}

#[test]
fn files_git_refuses_are_named_and_the_rest_is_taken() {
    let world = World::new(&[("a", "1\n"), ("pipe", "x\n")]);
    let tree = world.lane("l");
    write(tree.path(), "b", "2\n");
    write(tree.path(), "git~1", "hidden\n");
    fs::remove_file(tree.path().join("pipe")).expect("removed");
    rustix_mkfifo(&tree.path().join("pipe"));
    let captured = tree.capture().expect("captures");
    let named: Vec<_> = captured
        .problems
        .iter()
        .map(|problem| match problem {
            Problem::Unstorable { path, .. } => path.to_string(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(named, ["git~1", "pipe"], "{captured:?}");
    let changed = world.repo.changed_paths(&world.head, &captured.tree).expect("diff");
    assert_eq!(texts(&changed), ["b"]);
}

/// The paths of what could not be stored.
fn unstorable(problems: &[Problem]) -> Vec<String> {
    let path = |problem: &Problem| match problem {
        Problem::Unstorable { path, .. } => path.to_string(),
        other => panic!("{other:?}"),
    };
    problems.iter().map(path).collect()
}

/// Git only warns of folders it cannot open, and says that all went well.
#[test]
fn a_folder_beyond_the_longest_path_is_named_and_the_rest_is_taken() {
    let world = World::new(&[("a", "1\n")]);
    let tree = world.lane("l");
    write(tree.path(), "b", "2\n");
    deep(tree.path(), &"x".repeat(200), 22, "far away\n");
    for _ in 0..2 {
        let captured = tree.capture().expect("captures");
        let named = unstorable(&captured.problems);
        assert!(!named.is_empty() && named.iter().all(|path| path.starts_with("xxx")), "{captured:?}");
        let changed = world.repo.changed_paths(&world.head, &captured.tree).expect("diff");
        assert_eq!(texts(&changed), ["b"]);
    }
    // Also inside a repository that was made there.
    let tree = world.lane("nested");
    git(tree.path(), &["init", "-q", "made"]);
    write(tree.path(), "made/n", "2\n");
    deep(&tree.path().join("made"), &"x".repeat(200), 22, "far away\n");
    let captured = tree.capture().expect("captures");
    let far = |problem: &Problem| matches!(problem, Problem::Unstorable { path, .. } if path.to_string().starts_with("made/xxx"));
    assert!(captured.problems.iter().any(far), "{captured:?}");
    assert!(world.repo.file_at(&captured.tree, &path("made/n")).expect("reads").is_some());
}

#[test]
fn folders_too_deep_to_be_opened_are_named() {
    if again(
        "capture::folders_too_deep_to_be_opened_are_named",
        &["sh", "-c", "ulimit -n 128; exec \"$0\" \"$@\""],
    ) {
        let world = World::new(&[("a", "1\n")]);
        let tree = world.lane("l");
        write(tree.path(), "b", "2\n");
        deep(tree.path(), "d", 300, "far away\n");
        let captured = tree.capture().expect("captures");
        let named = unstorable(&captured.problems);
        assert!(!named.is_empty() && named.iter().all(|path| path.starts_with("d/d/d")), "{captured:?}");
        let changed = world.repo.changed_paths(&world.head, &captured.tree).expect("diff");
        assert_eq!(texts(&changed), ["b"]);
    }
}

/// Nobody's user, for whom modes count.
const NOBODY: &[&str] =
    &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/nonexistent"];

#[test]
fn a_folder_closed_to_us_is_opened_and_taken() {
    if again("capture::a_folder_closed_to_us_is_opened_and_taken", NOBODY) {
        for mode in [0o000, 0o400, 0o600, 0o100] {
            let world = World::new(&[("a", "1\n"), ("d/b", "1\n")]);
            let tree = world.lane("l");
            write(tree.path(), "d/b", "changed\n");
            write(tree.path(), "new/deep/f", "new\n");
            for dir in ["new/deep", "new", "d"] {
                fs::set_permissions(tree.path().join(dir), fs::Permissions::from_mode(mode)).expect("chmod");
            }
            let captured = tree.capture().expect("captures");
            assert_eq!(captured.problems, [], "{mode:o}");
            let changed = world.repo.changed_paths(&world.head, &captured.tree).expect("diff");
            assert_eq!(texts(&changed), ["d/b", "new/deep/f"], "{mode:o}");
        }
    }
}

fn rustix_mkfifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
}

#[test]
fn attributes_that_break_git_do_not_break_capture() {
    let world = World::new(&[("a", "1\n"), (".gitattributes", "a text\n")]);
    let tree = world.lane("l");
    write(tree.path(), ".gitattributes", "* working-tree-encoding=UTF-99\n");
    write(tree.path(), "b", "2\n");
    let captured = tree.capture().expect("captures");
    assert!(matches!(captured.problems[..], [Problem::Attributes { .. }]), "{captured:?}");
    let changed = world.repo.changed_paths(&world.head, &captured.tree).expect("diff");
    assert_eq!(texts(&changed), [".gitattributes", "b"]);
}

#[test]
fn a_broken_or_missing_index_is_made_anew() {
    let world = World::new(&[("a", "1\n"), ("b", "2\n")]);
    let tree = world.lane("l");
    write(tree.path(), "a", "3\n");
    let expect = tree.capture().expect("captures");
    fs::write(tree.index(), "rubbish").expect("write");
    assert_eq!(tree.capture().expect("captures"), expect);
    let mut lock = tree.index().as_os_str().to_owned();
    lock.push(".lock");
    fs::write(&lock, "").expect("write");
    fs::remove_file(tree.index()).expect("removed");
    let again = world.repo.tree(tree.path(), tree.index(), tree.base());
    assert_eq!(again.capture().expect("captures"), expect);
}

#[test]
fn a_touched_checkout_is_noticed() {
    let world = World::new(&[("a", "1\n"), ("d/b", "2\n"), (".gitignore", "target\n")]);
    let check = |name: &str, touch: &dyn Fn(&Path), expect: &[&str]| {
        let tree = world.lane(name);
        touch(tree.path());
        assert_eq!(texts(&tree.compare().expect("compares")), expect, "{name}");
    };
    check("nothing", &|_| {}, &[]);
    check("same size at once", &|root| write(root, "a", "3\n"), &["a"]);
    check("new", &|root| write(root, "n", "3\n"), &["n"]);
    check("ignored", &|root| write(root, "target/x", "3\n"), &["target/x"]);
    check("removed", &|root| fs::remove_file(root.join("a")).expect("removed"), &["a"]);
    let swap = |root: &Path| {
        fs::rename(root.join("d"), world.dir.path().join("outside")).expect("renamed");
        symlink(world.dir.path().join("outside"), root.join("d")).expect("link");
    };
    check("linked directory", &swap, &["d"]);
}

#[test]
fn checkouts_appear_whole_or_not_at_all() {
    let world = World::new(&[("a", "1\n")]);
    let tree = world.lane("l");
    let again = world.repo.checkout(tree.path(), tree.index(), &world.head, "x");
    assert!(again.is_err());
    let room = world.dir.path().join("lanes/l");
    let missing = tribunal_git::Oid::parse(&"1".repeat(40)).expect("an id");
    assert!(world.repo.checkout(&room.join("two"), &room.join("i2"), &missing, "x").is_err());
    let mut names: Vec<_> =
        fs::read_dir(&room).expect("lists").map(|e| e.expect("entry").file_name()).collect();
    names.sort();
    assert_eq!(names, ["index", "tree"]);
}

#[test]
fn trash_takes_at_once_and_sweeps_what_was_left() {
    let world = World::new(&[("a", "1\n"), ("d/e", "2\n")]);
    let tree = world.lane("l");
    let dir = world.dir.path().join("trash");
    write(&dir, "left/over", "x");
    fs::set_permissions(tree.path().join("d"), fs::Permissions::from_mode(0o500)).expect("chmod");
    let outside = world.dir.path().join("outside");
    write(&outside, "precious", "p");
    symlink(&outside, tree.path().join("to-outside")).expect("link");
    let trash = Trash::open(&dir).expect("opens");
    assert!(trash.take(tree.path()).expect("takes"));
    assert!(!tree.path().exists());
    assert!(!trash.take(tree.path()).expect("takes nothing"));
    trash.empty();
    assert_eq!(fs::read_dir(&dir).expect("lists").count(), 0);
    assert!(outside.join("precious").exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Law: any names and bytes that can lie in a directory are taken and given back unchanged.
    #[test]
    fn any_names_and_bytes_survive(
        files in prop::collection::btree_map(
            prop::collection::vec(prop::sample::select(b"abz \n\t\"'\\*?[]{}~:!#$%\xff\xc3-".to_vec()), 1..8),
            prop::collection::vec(any::<u8>(), 0..40),
            1..6,
        )
    ) {
        let world = World::new(&[("0", "0\n")]);
        let tree = world.lane("l");
        for (name, bytes) in &files {
            fs::write(tree.path().join(OsStr::from_bytes(name)), bytes).expect("write");
        }
        let captured = tree.capture().expect("captures");
        prop_assert_eq!(&captured.problems, &[]);
        let commit = world.repo.commit(&captured.tree, &[], "x", &who(), &who()).expect("commits");
        let back = world.lane_at("back", &commit);
        for (name, bytes) in &files {
            let found = fs::read(back.path().join(OsStr::from_bytes(name))).expect("there");
            prop_assert_eq!(&found, bytes);
            let stored = world.repo.file_at(&commit, &GitPath::new(name.clone())).expect("reads");
            prop_assert_eq!(stored.as_ref(), Some(bytes));
        }
        prop_assert_eq!(back.capture().expect("captures").tree, captured.tree);
    }
}

/// Very many new files are one pack of our store, until the user's store has all of it. They are the files git would have
/// taken, and nothing of them is left behind.
#[test]
fn very_many_files_are_stored_as_one() {
    let world = World::new(&[("a", "1\n")]);
    let own = world.root().join(OWN_OBJECTS);
    let packs = || {
        let ends = |name: &str| name.ends_with(".pack");
        let names = std::fs::read_dir(own.join("pack")).into_iter().flatten().flatten();
        names.filter(|entry| ends(&entry.file_name().to_string_lossy())).count()
    };
    let loose = || {
        let dirs = std::fs::read_dir(&own).into_iter().flatten().flatten();
        let dirs = dirs.filter(|entry| entry.file_name().len() == 2);
        dirs.map(|dir| std::fs::read_dir(dir.path()).into_iter().flatten().count()).sum::<usize>()
    };
    let tree = world.lane("many");
    for n in 0..600 {
        write(tree.path(), &format!("new/f{n}"), &format!("number {n}\n"));
    }
    let captured = tree.capture().expect("captures");
    assert_eq!((captured.problems.len(), packs()), (0, 1));
    assert!(loose() < 10, "{} files", loose());
    let commit = world
        .repo
        .commit(&captured.tree, std::slice::from_ref(&world.head), "many", &who(), &who())
        .expect("commits");
    for n in [0, 7, 599] {
        let text = world.repo.file_at(&commit, &path(&format!("new/f{n}"))).expect("reads");
        assert_eq!(text, Some(format!("number {n}\n").into_bytes()));
    }
    assert_eq!(world.repo.file_at(&commit, &path("new/f600")).expect("reads"), None);
    assert_eq!(world.repo.file_at(&commit, &path("new")).expect("reads"), None);
    world.repo.release().expect("releases");
    assert_eq!(packs(), 1, "nothing else has it yet");
    world.repo.refs_update(&[RefChange::create("refs/tribunal/run/x", &commit)], "t").expect("moves");
    world.repo.release().expect("releases");
    assert_eq!(packs(), 0, "the user's store has all of it");
    git(&world.root(), &["fsck", "--strict"]);
    assert_eq!(git(&world.root(), &["ls-tree", "-r", "--name-only", commit.as_str()]).lines().count(), 601);
}
