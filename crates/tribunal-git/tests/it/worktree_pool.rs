//! Trees that are used again are as good as new, whatever was done to them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tribunal_git::{Oid, Tree, WorktreePool};

use crate::support::{World, git, write};

fn world() -> World {
    World::new(&[("a", "1\n"), ("d/b", "2\n"), ("d/e/c", "3\n"), (".gitignore", "target\n"), ("x", "x\n")])
}

fn worktree_pool(world: &World) -> WorktreePool {
    WorktreePool::open(&world.repo, &world.dir.path().join("pool"), 8).expect("opens")
}

fn out(world: &World, worktree_pool: &WorktreePool, name: &str, commit: &Oid) -> Tree {
    let lane = world.dir.path().join("lanes").join(name);
    fs::create_dir_all(&lane).expect("mkdir");
    worktree_pool.checkout(&lane.join("tree"), &lane.join("index"), commit, "lane").expect("checks out")
}

/// One to work in.
fn work(world: &World, worktree_pool: &WorktreePool, name: &str, commit: &Oid) -> Tree {
    let lane = world.dir.path().join("lanes").join(name);
    fs::create_dir_all(&lane).expect("mkdir");
    worktree_pool
        .checkout_to_work(&lane.join("tree"), &lane.join("index"), commit, "lane")
        .expect("checks out")
}

/// Every file by its path: mode, bytes or target, number of links.
fn listing(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>, u64)> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("lists") {
            let path = entry.expect("an entry").path();
            let meta = path.symlink_metadata().expect("there");
            let relative = path.strip_prefix(root).expect("inside").to_owned();
            if relative == Path::new(".git/index") || relative == Path::new(".git/HEAD") {
                continue;
            }
            let bytes = match &meta {
                meta if meta.is_dir() => {
                    dirs.push(path.clone());
                    Vec::new()
                }
                meta if meta.is_symlink() => {
                    fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
                }
                _ => fs::read(&path).expect("reads"),
            };
            let links = if meta.is_dir() { 0 } else { meta.nlink() };
            found.insert(relative, (meta.mode(), bytes, links));
        }
    }
    found
}

#[test]
fn files_that_stay_are_not_written_again() {
    let world = world();
    let worktree_pool = worktree_pool(&world);
    let tree = out(&world, &worktree_pool, "one", &world.head);
    let inode = fs::metadata(tree.path().join("d/b")).expect("there").ino();
    worktree_pool.recycle(&tree).expect("shelves");
    assert!(!tree.path().exists() && !tree.index().exists());
    let next = world.commit(&world.head, &[("a", "next\n")], "next");
    let again = out(&world, &worktree_pool, "two", &next);
    assert_eq!(fs::metadata(again.path().join("d/b")).expect("there").ino(), inode);
    assert_eq!(fs::read(again.path().join("a")).expect("there"), b"next\n");
    assert_eq!(again.compare().expect("compares"), []);
    worktree_pool.empty();
}

/// What an agent worked in becomes another's to work in, and never what is judged by.
#[test]
fn a_tree_that_was_worked_in_is_made_over_into_another_to_work_in() {
    let world = world();
    let worktree_pool = worktree_pool(&world);
    let tree = work(&world, &worktree_pool, "one", &world.head);
    let inode = |tree: &Tree| fs::metadata(tree.path().join("d/b")).expect("there").ino();
    let first = inode(&tree);
    write(tree.path(), "a", "worked\n");
    tree.capture().expect("captures");
    worktree_pool.recycle_worked(&tree).expect("shelves");
    let judged = out(&world, &worktree_pool, "two", &world.head);
    assert_ne!(inode(&judged), first);
    let next = work(&world, &worktree_pool, "three", &world.head);
    assert_eq!(inode(&next), first);
    assert_eq!(fs::read(next.path().join("a")).expect("there"), b"1\n");
    // Nor does what nobody could write become somebody's: judges would miss it.
    worktree_pool.recycle(&judged).expect("shelves");
    assert_ne!(
        inode(&work(&world, &worktree_pool, "four", &world.head)),
        inode(&out(&world, &worktree_pool, "five", &world.head))
    );
    worktree_pool.empty();
}

/// There are ways to change a file's bytes that move no time, and a directory that was opened can be handed to somebody
/// who is still there: nothing of a tree that was somebody's is ever another's.
#[test]
fn nothing_of_a_tree_that_somebody_could_write_is_used_again() {
    let world = world();
    let worktree_pool = worktree_pool(&world);
    let tree = out(&world, &worktree_pool, "one", &world.head);
    let inodes = |tree: &Tree| {
        let names = ["", "a", "d", "d/b", ".git", ".git/config"];
        names.map(|name| fs::metadata(tree.path().join(name)).expect("there").ino())
    };
    let before = inodes(&tree);
    // Whoever has it open keeps its numbers from being given to new files.
    let held: Vec<_> = [".", "a", "d", "d/b", ".git", ".git/config"]
        .map(|name| fs::File::open(tree.path().join(name)).expect("opens"))
        .into();
    worktree_pool.retire(&tree).expect("retires");
    assert!(!tree.path().exists() && !tree.index().exists());
    let again = inodes(&out(&world, &worktree_pool, "two", &world.head));
    assert!(again.iter().all(|inode| !before.contains(inode)), "{before:?} {again:?}");
    drop(held);
    worktree_pool.empty();
}

/// Renaming a directory takes the right to write in it, which its agent can take away; root does not ask for it, so this
/// gives that up.
#[test]
fn a_tree_that_its_agent_locked_is_taken_away_all_the_same() {
    let world = world();
    let worktree_pool = worktree_pool(&world);
    let [retired, discarded] = ["one", "two"].map(|name| out(&world, &worktree_pool, name, &world.head));
    for (tree, mode) in [(&retired, 0o555), (&discarded, 0o000)] {
        fs::set_permissions(tree.path(), fs::Permissions::from_mode(mode)).expect("chmod");
    }
    let plain = || {
        let mut sets = rustix::thread::capabilities(None).expect("known");
        sets.effective = rustix::thread::CapabilitySet::empty();
        rustix::thread::set_capabilities(None, sets).expect("given up");
        worktree_pool.retire(&retired).expect("retires");
        assert!(worktree_pool.discard(discarded.path()).expect("discards"));
    };
    std::thread::scope(|scope| scope.spawn(plain).join()).expect("both are taken");
    assert!(!retired.path().exists() && !discarded.path().exists());
    worktree_pool.empty();
    assert_eq!(fs::read_dir(world.dir.path().join("pool/trash")).expect("lists").count(), 0);
}

/// Nothing of a commit that was made in the tree before.
fn again_gone(tree: &Tree) -> bool {
    !tree.path().join(".git/COMMIT_EDITMSG").exists() && !tree.path().join(".git/logs").exists()
}

#[test]
fn a_git_directory_that_is_a_link_is_not_used_again() {
    let world = world();
    let worktree_pool = worktree_pool(&world);
    let tree = out(&world, &worktree_pool, "one", &world.head);
    let away = world.dir.path().join("away");
    // Nothing in the git directory changes, but where it is.
    fs::rename(tree.path(), &away).expect("renames");
    fs::create_dir(tree.path()).expect("mkdir");
    symlink(away.join(".git"), tree.path().join(".git")).expect("links");
    worktree_pool.recycle(&tree).expect("shelves");
    let again = out(&world, &worktree_pool, "two", &world.head);
    assert!(again.path().join(".git").symlink_metadata().expect("there").is_dir());
    worktree_pool.empty();
}

#[test]
fn a_git_directory_that_nobody_touched_is_used_again_for_another_commit() {
    let world = world();
    let next = world.commit(&world.head, &[("a", "next\n")], "next");
    let worktree_pool = worktree_pool(&world);
    let tree = out(&world, &worktree_pool, "one", &world.head);
    let inode = |tree: &Tree, name: &str| fs::metadata(tree.path().join(name)).expect("there").ino();
    let names = [".git", ".git/config", ".git/refs/heads/lane", ".git/index"];
    let before = names.map(|name| inode(&tree, name));
    worktree_pool.recycle(&tree).expect("shelves");
    let again = out(&world, &worktree_pool, "two", &next);
    assert_eq!(names.map(|name| inode(&again, name)), before);
    assert_eq!(git(again.path(), &["rev-parse", "HEAD"]), next.as_str());
    assert_eq!(git(again.path(), &["status", "--porcelain", "--ignored"]), "");
    // A commit of its own makes it the agent's, should one ever be made there.
    git(again.path(), &["commit", "-q", "--allow-empty", "-m", "own"]);
    worktree_pool.recycle(&again).expect("shelves");
    let third = out(&world, &worktree_pool, "three", &next);
    assert!(again_gone(&third), "what git left of the commit is still there");
    assert_eq!(git(third.path(), &["rev-parse", "HEAD"]), next.as_str());
    worktree_pool.empty();
}

#[test]
fn whatever_was_done_the_next_tree_is_as_new() {
    let world = world();
    let next = world.commit(&world.head, &[("x", ""), ("d/b", "new\n"), ("y/z", "z\n")], "next");
    let fresh = world.lane_at("fresh", &next);
    let expect = listing(fresh.path());
    let scratch = world.dir.path().join("scratch");
    fs::create_dir(&scratch).expect("mkdir");
    type Deed<'a> = &'a dyn Fn(&Path);
    let deeds: [(&str, Deed); 18] = [
        ("nothing", &|_| {}),
        ("changed", &|root| write(root, "a", "9\n")),
        ("hard link", &|root| fs::hard_link(root.join("a"), scratch.join("a")).expect("links")),
        ("hard link, in place", &|root| {
            fs::hard_link(root.join("x"), root.join("x2")).expect("links");
            fs::rename(root.join("x2"), root.join("y")).expect("renames");
        }),
        ("mode", &|root| {
            fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o600)).expect("chmod")
        }),
        ("directory mode", &|root| {
            fs::set_permissions(root.join("d"), fs::Permissions::from_mode(0o1777)).expect("chmod");
        }),
        ("new", &|root| {
            write(root, "target/deep/er", "t\n");
            write(root, "y/other", "o\n");
            fs::create_dir(root.join("empty")).expect("mkdir");
        }),
        ("linked directory", &|root| {
            fs::rename(root.join("d"), scratch.join("d")).expect("renames");
            symlink(scratch.join("d"), root.join("d")).expect("links");
        }),
        ("git directory", &|root| {
            git(root, &["commit", "-q", "--allow-empty", "-m", "own"]);
            write(root, ".git/hooks/pre-commit", "evil");
            write(root, ".git/config", "evil");
        }),
        ("git hook", &|root| write(root, ".git/hooks/pre-commit", "evil")),
        ("git directory, empty folder", &|root| fs::create_dir(root.join(".git/objects/aa")).expect("mkdir")),
        ("git file, same bytes", &|root| {
            let text = fs::read(root.join(".git/config")).expect("reads");
            fs::write(root.join(".git/config"), text).expect("writes");
        }),
        ("git file, same size and time", &|root| {
            let file = root.join(".git/config");
            let before = fs::metadata(&file).expect("there");
            let evil = vec![b'#'; usize::try_from(before.len()).expect("small")];
            fs::write(&file, evil).expect("writes");
            let handle = fs::File::options().write(true).open(&file).expect("opens");
            handle.set_modified(before.modified().expect("a time")).expect("set back");
        }),
        ("git file linked", &|root| fs::hard_link(root.join(".git/HEAD"), scratch.join("H")).expect("links")),
        ("git directory mode", &|root| {
            fs::set_permissions(root.join(".git/refs"), fs::Permissions::from_mode(0o700)).expect("chmod");
        }),
        ("git directory linked away", &|root| {
            fs::rename(root.join(".git"), scratch.join("git")).expect("renames");
            symlink(scratch.join("git"), root.join(".git")).expect("links");
        }),
        ("attributes", &|root| write(root, ".gitattributes", "* text eol=crlf\n")),
        ("gone", &|root| fs::remove_dir_all(root.join("d")).expect("removed")),
    ];
    for (name, deed) in deeds {
        // Whatever was done to it is gone, also where nobody could have done it.
        type Out = fn(&World, &WorktreePool, &str, &Oid) -> Tree;
        type Away = fn(&WorktreePool, &Tree) -> Result<(), tribunal_git::GitError>;
        let ways: [(&str, Out, Away, bool); 5] = [
            ("retired", out, WorktreePool::retire, false),
            ("retired, captured", out, WorktreePool::retire, true),
            ("shelved", out, WorktreePool::recycle, false),
            ("worked", work, WorktreePool::recycle_worked, false),
            ("worked, captured", work, WorktreePool::recycle_worked, true),
        ];
        for (way, out, away, capture) in ways {
            let worktree_pool = worktree_pool(&world);
            let lane = format!("{name}, {way}");
            let tree = out(&world, &worktree_pool, &lane, &world.head);
            deed(tree.path());
            if capture {
                tree.capture().expect("captures");
            }
            away(&worktree_pool, &tree).expect("is taken away");
            assert!(!tree.path().exists() && !tree.index().exists(), "{lane}");
            let again = out(&world, &worktree_pool, &format!("{lane} again"), &next);
            assert_eq!(listing(again.path()), expect, "{name}");
            assert_eq!(again.compare().expect("compares"), [], "{name}");
            assert_eq!(git(again.path(), &["status", "--porcelain", "--ignored"]), "", "{name}");
            assert_eq!(
                again.capture().expect("captures").tree,
                world.repo.tree_of(&next).expect("tree"),
                "{name}"
            );
            worktree_pool.empty();
            fs::remove_dir_all(&scratch).expect("removed");
            fs::create_dir(&scratch).expect("mkdir");
        }
    }
}

#[test]
fn changed_attributes_mean_a_fresh_checkout() {
    let world = world();
    let next = world.commit(&world.head, &[(".gitattributes", "a text eol=crlf\n")], "crlf");
    let worktree_pool = worktree_pool(&world);
    let tree = out(&world, &worktree_pool, "one", &world.head);
    worktree_pool.recycle(&tree).expect("shelves");
    let again = out(&world, &worktree_pool, "two", &next);
    assert_eq!(fs::read(again.path().join("a")).expect("there"), b"1\r\n");
    worktree_pool.empty();
}

#[test]
fn a_worktree_pool_holds_only_so_many_and_forgets_over_a_restart() {
    let world = world();
    let dir = world.dir.path().join("pool");
    let worktree_pool = WorktreePool::open(&world.repo, &dir, 1).expect("opens");
    let trees: Vec<_> =
        ["one", "two"].iter().map(|name| out(&world, &worktree_pool, name, &world.head)).collect();
    trees.iter().for_each(|tree| worktree_pool.recycle(tree).expect("shelves"));
    assert_eq!(fs::read_dir(dir.join("kept")).expect("lists").count(), 1);
    drop(worktree_pool);
    let worktree_pool = WorktreePool::open(&world.repo, &dir, 1).expect("opens");
    assert_eq!(fs::read_dir(dir.join("kept")).expect("lists").count(), 0);
    worktree_pool.empty();
    assert_eq!(fs::read_dir(dir.join("trash")).expect("lists").count(), 0);
}
