//! Nothing an agent made is lost, and nothing it planted is followed.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{World, git, path, who, write};

const REF: &str = "refs/tribunal/snap/lane-1";

#[test]
fn files_and_own_commits_are_saved() {
    let world = World::new(&[("a", "1\n"), (".gitignore", "target\n")]);
    let (repo, before) = (&world.repo, world.print());
    let tree = world.lane("l");
    let nothing = repo.snapshot(&tree, REF, "snap", &who()).expect("saves");
    assert_eq!((nothing.commit, nothing.own_commits), (None, vec![]));
    assert_eq!(repo.ref_at(REF).expect("reads"), None);

    write(tree.path(), "b", "committed\n");
    git(tree.path(), &["add", "b"]);
    git(tree.path(), &["commit", "-qm", "own \u{1b}[31mwork"]);
    git(tree.path(), &["checkout", "-qb", "side"]);
    write(tree.path(), "c", "side\n");
    git(tree.path(), &["add", "c"]);
    git(tree.path(), &["commit", "-qm", "side"]);
    git(tree.path(), &["pack-refs", "--all"]);
    git(tree.path(), &["gc", "-q"]);
    git(tree.path(), &["reset", "-q", "--hard", "HEAD~2"]);
    git(tree.path(), &["checkout", "-q", "lane"]);
    git(tree.path(), &["branch", "saved", "HEAD"]);
    write(tree.path(), "untracked", "u\n");
    write(tree.path(), "target/x", "ignored\n");
    let saved = repo.snapshot(&tree, REF, "snap", &who()).expect("saves");
    assert_eq!(saved.unsaved, None);
    let subjects: Vec<_> = saved.own_commits.iter().map(|(_, s)| s.as_str()).collect();
    assert_eq!(subjects, ["own  [31mwork", "side"], "also what only the packed refs still name");
    let commit = saved.commit.clone().expect("a commit");
    assert_eq!(repo.ref_at(REF).expect("reads"), Some(commit.clone()));
    assert_eq!(repo.file_at(&commit, &path("untracked")).expect("reads"), Some(b"u\n".to_vec()));
    assert_eq!(repo.file_at(&commit, &path("b")).expect("reads"), Some(b"committed\n".to_vec()));
    assert_eq!(repo.file_at(&commit, &path("target/x")).expect("reads"), None);
    let own = &saved.own_commits[0].0;
    assert!(repo.is_ancestor(own, &commit).expect("answers"));
    assert_eq!(repo.snapshot(&tree, REF, "snap", &who()).expect("again").commit, Some(commit));
    fs::remove_dir_all(tree.path()).expect("removed");
    git(&world.root(), &["fsck", "--strict"]);
    git(&world.root(), &["gc", "-q", "--prune=now"]);
    assert_eq!(
        repo.read_blob(&repo.write_blob(b"committed\n").expect("writes")).expect("reads"),
        b"committed\n"
    );
    git(&world.root(), &["cat-file", "-e", own.as_str()]);
    assert_eq!(before.differences(&world.print()), [""; 0]);
}

#[test]
fn a_planted_git_directory_leads_nowhere() {
    let world = World::new(&[("a", "1\n")]);
    let secret = World::new(&[("secret", "s3cret\n")]);
    let stolen = secret.head.clone();
    let plant = |name: &str, how: &dyn Fn(&std::path::Path)| {
        let tree = world.lane(name);
        write(tree.path(), "new", name);
        how(&tree.path().join(".git"));
        let saved = world.repo.snapshot(&tree, &format!("{REF}{name}"), "s", &who()).expect("saves");
        assert!(saved.commit.is_some(), "{name}");
        assert_eq!(saved.own_commits, [], "{name}");
        assert!(world.repo.parents_of(&stolen).is_err(), "{name}: a foreign object came in");
        saved
    };
    let point = |git_dir: &std::path::Path| write(git_dir, "refs/heads/lane", &format!("{stolen}\n"));
    let objects = secret.root().join(".git/objects");
    plant("gone", &|git_dir| fs::remove_dir_all(git_dir).expect("removed"));
    plant("linked", &|git_dir| {
        fs::remove_dir_all(git_dir).expect("removed");
        symlink(secret.root().join(".git"), git_dir).expect("link");
    });
    plant("file", &|git_dir| {
        fs::remove_dir_all(git_dir).expect("removed");
        fs::write(git_dir, format!("gitdir: {}\n", secret.root().join(".git").display())).expect("write");
    });
    let alternate = plant("alternate", &|git_dir| {
        write(git_dir, "objects/info/alternates", objects.to_str().expect("text"));
        point(git_dir);
    });
    assert!(alternate.unsaved.is_some());
    let linked = plant("objects", &|git_dir| {
        fs::remove_dir_all(git_dir.join("objects")).expect("removed");
        symlink(&objects, git_dir.join("objects")).expect("link");
        point(git_dir);
    });
    assert!(linked.unsaved.is_some());
    let rubbish = plant("rubbish", &|git_dir| {
        write(git_dir, "HEAD", "ref: ../../../etc/passwd\n");
        write(git_dir, "refs/heads/lane", &format!("{}\n", "1".repeat(40)));
        write(git_dir, &format!("objects/11/{}", "1".repeat(38)), "not an object");
    });
    assert!(rubbish.unsaved.is_some());
}

#[test]
fn snapshots_stay_in_their_corner() {
    let world = World::new(&[("a", "1\n")]);
    let tree = world.lane("l");
    write(tree.path(), "a", "2\n");
    assert!(world.repo.snapshot(&tree, "refs/heads/main", "s", &who()).is_err());
    assert_eq!(world.repo.head().expect("head").commit, world.head);
}
