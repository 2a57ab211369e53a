//! Finding the user's repository, and the messages when there is none to use.

use std::fs;
use std::os::unix::fs::symlink;

use tribunal_git::{Expect, GitError, RefChange, RefsMoved, Repo};

use crate::support::{World, git, path, who, write};

#[test]
fn every_reason_not_to_open_has_its_own_error() {
    let dir = tempfile::tempdir().expect("temp dir");
    let root = dir.path();
    assert!(matches!(Repo::open(&root.join("nowhere")), Err(GitError::Io { .. })));
    assert!(matches!(Repo::open(root), Err(GitError::NotARepository { .. })));
    git(root, &["init", "-q", "--bare", "bare"]);
    assert!(matches!(Repo::open(&root.join("bare")), Err(GitError::Bare { .. })));
    git(root, &["init", "-q", "fresh"]);
    assert!(matches!(Repo::open(&root.join("fresh")), Err(GitError::NoCommits { .. })));
    assert!(matches!(Repo::open(&root.join("fresh/.git")), Err(GitError::Bare { .. })));
    git(&root.join("fresh"), &["config", "remote.origin.promisor", "true"]);
    assert!(matches!(Repo::open(&root.join("fresh")), Err(GitError::PartialClone { .. })));
}

#[test]
fn an_agents_tree_is_not_the_users_repository() {
    let world = World::new(&[("a", "1\n")]);
    let tree = world.lane("l");
    assert!(matches!(Repo::open(tree.path()), Err(GitError::InsideLane { .. })));
}

#[test]
fn linked_worktrees_detached_heads_and_odd_directories_open() {
    let world = World::new(&[("a", "1\n"), ("sub/b", "2\n")]);
    let linked = world.dir.path().join("li nk\n\"ed");
    git(&world.root(), &["worktree", "add", "-q", "--detach", linked.to_str().expect("text")]);
    let repo = Repo::open(&linked.join("sub")).expect("opens");
    assert_eq!(repo.work_tree(), linked);
    let head = repo.head().expect("head");
    assert_eq!((head.branch, &head.commit), (None, &world.head));
    assert_eq!(world.repo.head().expect("head").branch.as_deref(), Some("main"));
    let lane = world.dir.path().join("lane");
    let tree = repo.checkout(&lane, &world.dir.path().join("i"), &world.head, "x").expect("checks out");
    write(tree.path(), "sub/b", "3\n");
    let captured = tree.capture().expect("captures");
    assert_eq!(repo.file_at(&captured.tree, &path("sub/b")).expect("reads"), Some(b"3\n".to_vec()));
}

#[test]
fn sha256_repositories_work_throughout() {
    let world = World::made(&["--object-format=sha256"], |root| write(root, "a/b", "1\n"));
    assert_eq!(world.head.as_str().len(), 64);
    let other = world.commit(&world.head, &[("c", "2\n")], "two");
    let tree = world.lane_at("l", &other);
    git(tree.path(), &["status"]);
    write(tree.path(), "a/b", "3\n");
    git(tree.path(), &["commit", "-qam", "own"]);
    let saved = world.repo.snapshot(&tree, "refs/tribunal/snap/x", "snap", &who()).expect("saves");
    assert_eq!(saved.own_commits.len(), 1);
    assert_eq!(world.repo.changes(&other, &saved.commit.expect("a commit")).expect("diff").len(), 1);
}

#[test]
fn exclude_is_idempotent_and_keeps_bytes() {
    let world = World::new(&[("a", "1\n")]);
    let file = world.root().join(".git/info/exclude");
    for (before, after) in [
        (&b"x\xff"[..], &b"x\xff\n.tribunal/\n"[..]),
        (b"", b".tribunal/\n"),
        (b".tribunal/\r\ny", b".tribunal/\r\ny"),
    ] {
        fs::write(&file, before).expect("write");
        world.repo.exclude(".tribunal/").expect("excludes");
        world.repo.exclude(".tribunal/").expect("excludes");
        assert_eq!(fs::read(&file).expect("read"), after);
    }
    let elsewhere = world.dir.path().join("elsewhere");
    fs::write(&elsewhere, "z\n").expect("write");
    fs::remove_file(&file).expect("removed");
    symlink(&elsewhere, &file).expect("link");
    world.repo.exclude(".tribunal/").expect("excludes");
    assert_eq!(fs::read(&elsewhere).expect("read"), b"z\n.tribunal/\n");
    assert!(world.repo.exclude("a\nb").is_err());
}

#[test]
fn refs_move_together_or_not_at_all() {
    let world = World::new(&[("a", "1\n")]);
    let (repo, one) = (&world.repo, world.head.clone());
    let two = world.commit(&one, &[("a", "2\n")], "two");
    let (x, y) = ("refs/tribunal/x", "refs/tribunal/y");
    let create = [RefChange::create(x, &one), RefChange::create(y, &one)];
    assert_eq!(repo.refs_update(&create, "t").expect("moves"), RefsMoved::Done);
    assert_eq!(repo.refs_update(&create, "t").expect("moves"), RefsMoved::Already);
    let stale = [RefChange::forward(x, &one, &two), RefChange::forward(y, &two, &one)];
    let found = RefsMoved::Elsewhere { name: y.to_owned(), found: Some(one.clone()) };
    assert_eq!(repo.refs_update(&stale, "t").expect("answers"), found);
    assert_eq!(repo.ref_at(x).expect("reads"), Some(one.clone()));
    let gone = [RefChange::delete(y, &one), RefChange { name: x.into(), new: None, old: Expect::Anything }];
    assert_eq!(repo.refs_update(&gone, "t").expect("moves"), RefsMoved::Done);
    assert_eq!(repo.refs_under("refs/tribunal").expect("reads"), []);
    assert!(repo.refs_update(&[RefChange::create("HEAD\nx", &one)], "t").is_err());
    assert!(matches!(repo.resolve("--all"), Err(GitError::NoSuch { .. })));
    assert!(matches!(repo.resolve("nothing"), Err(GitError::NoSuch { .. })));
    assert_eq!(repo.resolve("main").expect("resolves"), one);
}

#[test]
fn objects_are_read_and_written() {
    let odd = "new\nline and 'quote\" \t";
    let world = World::new(&[("a b", "1\n"), (odd, "2\n"), ("cr\r", "3\n")]);
    let (repo, head) = (&world.repo, &world.head);
    for (name, text) in [("a b", Some("1\n")), (odd, Some("2\n")), ("cr\r", Some("3\n")), ("no such", None)] {
        let expect = text.map(|text| text.as_bytes().to_vec());
        assert_eq!(repo.file_at(head, &path(name)).expect("reads"), expect, "{name}");
    }
    assert_eq!(repo.file_at(head, &path("../a b")).expect("reads"), None);
    let blob = repo.write_blob(b"\0\xff\n").expect("writes");
    assert_eq!(repo.read_blob(&blob).expect("reads"), b"\0\xff\n");
    assert!(matches!(repo.read_blob(head), Err(GitError::NoSuch { .. })));
    assert_eq!(repo.list_tree(head).expect("lists").len(), 3);
    assert_eq!(repo.message_of(head).expect("reads"), b"first\n");
    let tree = repo.tree_of(head).expect("a tree");
    let make =
        || repo.commit(&tree, std::slice::from_ref(head), "s\n\nb\n\n", &who(), &who()).expect("commits");
    assert_eq!(make(), make());
    assert_eq!(repo.message_of(&make()).expect("reads"), b"s\n\nb\n");
    git(&world.root(), &["fsck", "--strict"]);
}

#[test]
fn chosen_files_come_from_another_commit() {
    let world = World::new(&[("CLAUDE.md", "old\n"), (".claude/x", "old\n"), ("src", "1\n")]);
    let (repo, base) = (&world.repo, &world.head);
    let files = [("CLAUDE.md", "evil\n"), (".claude/y", "evil\n"), ("AGENTS.md", "evil\n"), ("src", "2\n")];
    let head = world.commit(base, &files, "evil");
    let chosen = [path("CLAUDE.md"), path(".claude"), path("AGENTS.md")];
    let tree = repo.tree_with(&head, base, &chosen).expect("a tree");
    assert_eq!(crate::support::texts(&repo.changed_paths(base, &tree).expect("diff")), ["src"]);
    let none = [path("nothing")];
    assert_eq!(repo.tree_with(&head, base, &none).expect("a tree"), repo.tree_of(&head).expect("a tree"));
}

#[test]
fn files_are_placed_whatever_was_there() {
    let world = World::new(&[("a/b", "old\n"), ("c", "old\n"), (".gitignore", "plans/\n")]);
    let (repo, base) = (&world.repo, &world.head);
    let blob = repo.write_blob(b"new\n").expect("a blob");
    let files = [path("plans/x.md"), path("c/d"), path("a/b")].map(|path| (path, blob.clone()));
    let tree = repo.tree_placing(base, &files).expect("a tree");
    let changed = crate::support::texts(&repo.changed_paths(base, &tree).expect("diff"));
    assert_eq!(changed, ["a/b", "c", "c/d", "plans/x.md"], "ignored ones too, and folders over files");
    assert_eq!(repo.tree_placing(base, &[]).expect("a tree"), repo.tree_of(base).expect("a tree"));
    for outside in ["../x", "/x", "a/../../x", ".git/x", ""] {
        assert!(repo.tree_placing(base, &[(path(outside), blob.clone())]).is_err(), "{outside}");
    }
}
