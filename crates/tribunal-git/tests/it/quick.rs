//! What is answered without a new process must be what git would have said.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tribunal_git::{Oid, RefChange, RefsMoved};

use crate::support::{OWN_OBJECTS, World, git, path, texts, who, write};

#[test]
fn differences_are_those_of_git() {
    let world = World::new(&[
        ("a", "1\n"),
        ("dir/b", "2\n"),
        ("dir/deep/c", "3\n"),
        ("dir.txt", "4\n"),
        ("gone/d", "5\n"),
        ("swap", "file\n"),
        ("link", "x\n"),
        ("mode", "run\n"),
        ("with\nnewline", "6\n"),
    ]);
    let tree = world.lane("edit");
    let root = tree.path();
    write(root, "dir/deep/c", "3 changed\n");
    write(root, "dir/new", "new\n");
    fs::remove_dir_all(root.join("gone")).expect("removed");
    fs::remove_file(root.join("swap")).expect("removed");
    write(root, "swap/inside", "now a directory\n");
    fs::remove_file(root.join("link")).expect("removed");
    symlink("a", root.join("link")).expect("linked");
    fs::set_permissions(root.join("mode"), fs::Permissions::from_mode(0o755)).expect("chmod");
    write(root, "with\nnewline", "6 changed\n");
    let captured = tree.capture().expect("captures");
    let after = world
        .repo
        .commit(&captured.tree, std::slice::from_ref(&world.head), "edit", &who(), &who())
        .expect("commits");
    let empty =
        Oid::parse(&git(&world.root(), &["hash-object", "-w", "-t", "tree", "/dev/null"])).expect("id");
    let check = |from: &Oid, to: &Oid| {
        let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", from.as_str(), to.as_str()];
        let said = git(&world.root(), &args);
        let mut expect: Vec<&str> = said.split('\0').filter(|name| !name.is_empty()).collect();
        expect.sort_unstable();
        let found = world.repo.changed_paths(from, to).expect("compares");
        let found: Vec<&str> =
            found.iter().map(|path| std::str::from_utf8(path.as_bytes()).expect("text")).collect();
        assert_eq!(found, expect, "{from} {to}");
    };
    check(&world.head, &after);
    check(&after, &world.head);
    check(&empty, &after);
    check(&after, &empty);
    check(&world.head, &captured.tree);
    assert_eq!(texts(&world.repo.changed_paths(&after, &after).expect("compares")), [""; 0]);
}

#[test]
fn forks_of_lines_and_of_merges_are_those_of_git() {
    let world = World::new(&[("a", "1\n")]);
    let on = |parent: &Oid, name: &str| world.commit(parent, &[(name, "x\n")], name);
    let (one, two) = (on(&world.head, "one"), on(&world.head, "two"));
    let (one, two) = (on(&one, "one-more"), on(&two, "two-more"));
    let tree = world.repo.tree_of(&one).expect("a tree");
    let merge =
        world.repo.commit(&tree, &[one.clone(), two.clone()], "merge", &who(), &who()).expect("commits");
    let later = on(&merge, "later");
    let lone = world.repo.commit(&tree, &[], "another root", &who(), &who()).expect("commits");
    let all = [&world.head, &one, &two, &merge, &later, &lone];
    for a in all {
        for b in all {
            let base = std::process::Command::new("git")
                .args(["merge-base", a.as_str(), b.as_str()])
                .current_dir(world.root())
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", world.root().join(OWN_OBJECTS))
                .output()
                .expect("runs");
            let base = String::from_utf8_lossy(&base.stdout).trim().to_owned();
            let found = world.repo.merge_base(a, b).expect("answers");
            assert_eq!(found.as_ref().map_or("", Oid::as_str), base, "{a:?} {b:?}");
            let inside = base == a.as_str();
            assert_eq!(world.repo.is_ancestor(a, b).expect("answers"), inside, "{a:?} in {b:?}");
        }
    }
    assert_eq!(world.repo.commits_between(&world.head, &one).expect("a line").last(), Some(&one));
}

#[test]
fn refs_moved_by_others_are_seen_at_once() {
    let world = World::new(&[("a", "1\n")]);
    let next = world.commit(&world.head, &[("b", "2\n")], "next");
    let name = "refs/tribunal/run/x";
    let at = || world.repo.ref_at(name).expect("answers");
    assert_eq!(at(), None);
    world.repo.refs_update(&[RefChange::create(name, &world.head)], "t").expect("moves");
    assert_eq!(at().as_ref(), Some(&world.head));
    git(&world.root(), &["update-ref", name, next.as_str()]);
    assert_eq!(at().as_ref(), Some(&next));
    git(&world.root(), &["pack-refs", "--all", "--prune"]);
    assert_eq!(at().as_ref(), Some(&next));
    assert_eq!(world.repo.resolve(name).expect("resolves"), next);
    world.repo.refs_update(&[RefChange::delete(name, &next)], "t").expect("moves");
    assert_eq!(at(), None);
    assert!(world.repo.resolve(name).is_err());
}

#[test]
fn a_refused_move_says_why_and_the_next_one_works() {
    let world = World::new(&[("a", "1\n")]);
    let next = world.commit(&world.head, &[("b", "2\n")], "next");
    let (x, y) = ("refs/tribunal/run/x", "refs/tribunal/run/y");
    let repo = &world.repo;
    repo.refs_update(&[RefChange::create(x, &world.head)], "t").expect("moves");
    let both = [RefChange::forward(x, &next, &world.head), RefChange::create(y, &next)];
    let moved = repo.refs_update(&both, "t").expect("answers");
    assert_eq!(moved, RefsMoved::Elsewhere { name: x.to_owned(), found: Some(world.head.clone()) });
    assert_eq!(repo.ref_at(y).expect("answers"), None);
    assert_eq!(
        repo.refs_update(&[RefChange::create(x, &world.head)], "t").expect("answers"),
        RefsMoved::Already
    );
    assert_eq!(repo.refs_update(&[RefChange::create(y, &next)], "t").expect("moves"), RefsMoved::Done);
    assert_eq!(repo.ref_at(y).expect("answers"), Some(next));
}

#[test]
fn objects_small_and_large_are_stored_as_they_are() {
    let world = World::new(&[("a", "1\n")]);
    for bytes in [Vec::new(), b"text\r\nwith\0all\n".to_vec(), vec![b'x'; 3 << 20]] {
        let blob = world.repo.write_blob(&bytes).expect("stores");
        assert_eq!(world.repo.read_blob(&blob).expect("reads"), bytes);
        assert_eq!(world.repo.write_blob(&bytes).expect("stores"), blob);
    }
    let blobs: Vec<Oid> = std::thread::scope(|scope| {
        let store = |n: u8| world.repo.write_blob(&[n; 100]).expect("stores");
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || store(n))).collect();
        threads.into_iter().map(|thread| thread.join().expect("ends")).collect()
    });
    for (n, blob) in (0..8).zip(&blobs) {
        assert_eq!(world.repo.read_blob(blob).expect("reads"), [n; 100]);
    }
}

#[test]
fn a_directory_is_put_back_only_where_it_differs() {
    let world = World::new(&[("plans/one", "1\n"), ("src/a", "a\n")]);
    let other = world.commit(&world.head, &[("plans/one", "changed\n"), ("src/a", "b\n")], "other");
    let plans = [path("plans")];
    let mixed = world.repo.tree_with(&other, &world.head, &plans).expect("a tree");
    assert_eq!(texts(&world.repo.changed_paths(&world.head, &mixed).expect("compares")), ["src/a"]);
    let again = world.repo.tree_with(&mixed, &world.head, &plans).expect("a tree");
    assert_eq!(again, mixed);
    let none = world.repo.tree_with(&other, &world.head, &[path("nowhere")]).expect("a tree");
    assert_eq!(none, world.repo.tree_of(&other).expect("a tree"));
}

#[test]
fn a_change_that_hides_behind_the_old_time_is_seen() {
    let world = World::new(&[("a", "one\n"), ("dir/b", "two\n")]);
    let tree = world.lane("hidden");
    let first = tree.capture().expect("captures");
    assert_eq!(tree.capture().expect("captures"), first);
    assert_eq!(tree.compare().expect("compares"), []);
    let file = tree.path().join("dir/b");
    let old = fs::metadata(&file).expect("there").modified().expect("a time");
    fs::write(&file, "TWO\n").expect("written");
    fs::File::options().write(true).open(&file).expect("opens").set_modified(old).expect("set back");
    assert_eq!(texts(&tree.compare().expect("compares")), ["dir/b"]);
    let second = tree.capture().expect("captures");
    assert_eq!(texts(&world.repo.changed_paths(&first.tree, &second.tree).expect("compares")), ["dir/b"]);
    assert_eq!(tree.capture().expect("captures"), second);
}

#[test]
fn what_is_new_or_gone_is_seen() {
    let world = World::new(&[("a", "one\n"), ("dir/b", "two\n"), (".gitignore", "*.log\n")]);
    let check = |name: &str, change: &dyn Fn(&std::path::Path), expect: &str| {
        let tree = world.lane(name);
        change(tree.path());
        assert_eq!(texts(&tree.compare().expect("compares")), [expect], "{name}");
    };
    check("new", &|root| write(root, "c", "three\n"), "c");
    check("ignored", &|root| write(root, "x.log", "noise\n"), "x.log");
    check("gone", &|root| fs::remove_file(root.join("a")).expect("removed"), "a");
    check("deep", &|root| write(root, "dir/new/c", "four\n"), "dir/new/c");
    let swap = |root: &std::path::Path| {
        fs::remove_file(root.join("a")).expect("removed");
        symlink("dir/b", root.join("a")).expect("linked");
    };
    check("link", &swap, "a");
}

/// What the index of a tree makes, in git's own words.
fn written_by_git(world: &World, tree: &tribunal_git::Tree) -> String {
    let copy = world.dir.path().join("index-copy");
    fs::copy(tree.index(), &copy).expect("copies");
    let git = std::process::Command::new("git")
        .arg("write-tree")
        .current_dir(world.root())
        .env("GIT_INDEX_FILE", &copy)
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", world.root().join(OWN_OBJECTS))
        .output()
        .expect("git runs");
    assert!(git.status.success());
    String::from_utf8_lossy(&git.stdout).trim_end().to_owned()
}

#[test]
fn a_base_that_git_would_not_write_gives_the_tree_that_git_writes() {
    let world = World::new(&[("a", "1\n")]);
    let blob = git(&world.root(), &["rev-parse", "HEAD:a"]);
    let empty = git(&world.root(), &["hash-object", "-w", "-t", "tree", "/dev/null"]);
    for (name, mode, what) in [("empty directory", "40000", &empty), ("old mode", "100664", &blob)] {
        let raw = |hex: &str| -> Vec<u8> {
            (0..hex.len() / 2).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).expect("hex")).collect()
        };
        let entry =
            |mode: &str, name: &str, id: &str| [format!("{mode} {name}\0").into_bytes(), raw(id)].concat();
        let file = world.dir.path().join("tree");
        fs::write(&file, [entry("100644", "a", &blob), entry(mode, "z", what)].concat()).expect("writes");
        let args = ["hash-object", "-w", "-t", "tree", "--literally", file.to_str().expect("text")];
        let tree = git(&world.root(), &args);
        let commit =
            Oid::parse(&git(&world.root(), &["commit-tree", "-m", "odd", "-p", "HEAD", &tree])).expect("id");
        let lane = world.lane_at(name, &commit);
        write(lane.path(), "new", "new\n");
        let captured = lane.capture().expect("captures");
        assert_eq!(captured.tree.as_str(), written_by_git(&world, &lane), "{name}");
    }
}

#[derive(Clone, Debug)]
enum Deed {
    Write(usize, u8),
    Remove(usize),
    Link(usize),
    Run(usize),
    Swap(usize),
}

/// Names that sort differently as files and as directories.
const NAMES: [&str; 10] = ["a", "a.b", "a-b", "d/x", "d/e/y", "d/e/z", "d.txt", "d-1", "ünd/ü", "z z"];

fn deeds() -> impl proptest::strategy::Strategy<Value = Vec<Vec<Deed>>> {
    use proptest::prelude::*;
    let name = 0..NAMES.len();
    let deed = prop_oneof![
        4 => (name.clone(), any::<u8>()).prop_map(|(name, n)| Deed::Write(name, n)),
        2 => name.clone().prop_map(Deed::Remove),
        1 => name.clone().prop_map(Deed::Link),
        1 => name.clone().prop_map(Deed::Run),
        2 => name.prop_map(Deed::Swap),
    ];
    prop::collection::vec(prop::collection::vec(deed, 0..12), 1..5)
}

fn clear(path: &std::path::Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
}

fn doing(root: &std::path::Path, deed: &Deed) {
    let at = |name: &usize| {
        let path = root.join(NAMES[*name]);
        path.ancestors()
            .skip(1)
            .take_while(|above| *above != root)
            .for_each(|above| drop(fs::remove_file(above)));
        fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
        path
    };
    match deed {
        Deed::Write(name, n) => {
            let path = at(name);
            clear(&path);
            fs::write(path, format!("{n}\n")).expect("writes");
        }
        Deed::Remove(name) => clear(&at(name)),
        Deed::Link(name) => {
            let path = at(name);
            clear(&path);
            symlink("a", path).expect("links");
        }
        Deed::Run(name) => {
            let path = at(name);
            clear(&path);
            fs::write(&path, "run\n").expect("writes");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("chmod");
        }
        // A directory where a file was, or the other way round.
        Deed::Swap(name) => {
            let path = at(name);
            clear(&path);
            write(&path, "inside", "now a directory\n");
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 24, ..Default::default() })]

    #[test]
    fn a_tree_with_little_changed_is_what_git_would_write(rounds in deeds()) {
        let world = World::new(&[("a", "1\n"), ("d/x", "2\n"), ("d/e/y", "3\n"), ("keep", "4\n")]);
        let tree = world.lane("edit");
        for round in rounds {
            round.iter().for_each(|deed| doing(tree.path(), deed));
            let captured = tree.capture().expect("captures");
            proptest::prop_assert_eq!(captured.tree.as_str(), written_by_git(&world, &tree));
            let again = tree.capture().expect("captures");
            proptest::prop_assert_eq!(again.tree, captured.tree);
        }
        proptest::prop_assert_eq!(git(&world.root(), &["fsck", "--strict", "--no-dangling"]), "");
    }
}

/// The differences of many files, asked for at once, are those of each.
#[test]
fn many_differences_are_those_of_each() {
    let names = ["a.txt", "dir/b.txt", "dir/with space", "q\"uoted", "kind", "z"];
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "1\n2\n3\n")).collect();
    let world = World::new(&files);
    let tree = world.lane("edit");
    for name in names {
        write(tree.path(), name, &format!("1\nchanged in {name}\n3\n"));
    }
    fs::remove_file(tree.path().join("kind")).expect("removed");
    symlink("z", tree.path().join("kind")).expect("linked");
    let after = tree.capture().expect("captures").tree;
    let paths: Vec<_> = names.iter().map(|name| path(name)).collect();
    let all = world.repo.diff_texts(&world.head, &after, &paths, 1 << 20).expect("compares");
    for (path, found) in paths.iter().zip(&all) {
        let one = world.repo.diff_text(&world.head, &after, std::slice::from_ref(path), 1 << 20);
        assert_eq!(*found, one.expect("compares"), "{path}");
        assert!(!found.bytes.is_empty(), "{path}");
    }
    let cut = world.repo.diff_texts(&world.head, &after, &paths, 20).expect("compares");
    assert!(cut.iter().all(|one| one.cut && one.bytes.len() == 20), "{cut:?}");
}
