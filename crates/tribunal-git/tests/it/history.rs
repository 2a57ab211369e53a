//! Commits as facts, and the planning files' own commit.

use crate::support::{World, git, path, who, write};
use tribunal_git::{Archive, ChangeKind, GitError, Pushed, Sign};

#[test]
fn commits_of_a_range_with_their_files() {
    let world = World::new(&[("a", "1\n2\n3\n4\n"), ("b", "b")]);
    let root = world.root();
    git(&root, &["mv", "a", "ä c"]);
    git(&root, &["commit", "-q", "-m", "feat(x): $(id) \"quoted\""]);
    write(&root, "d", "d");
    git(&root, &["add", "-A"]);
    git(&root, &["rm", "-q", "b"]);
    git(&root, &["commit", "-q", "-m", "wrong"]);
    let archive = Archive::open(&root).unwrap();
    let commits = archive.commits("HEAD~2..HEAD").unwrap();
    let subjects: Vec<_> = commits.iter().map(|c| (c.subject.as_str(), c.parents)).collect();
    assert_eq!(subjects, [("wrong", 1), ("feat(x): $(id) \"quoted\"", 1)]);
    let oids: Vec<_> = commits.iter().map(|c| c.oid.clone()).collect();
    let touched = archive.touched(&oids).unwrap();
    let shown = |n: usize| -> Vec<_> {
        touched[&oids[n]].iter().map(|t| (t.kind, t.path.to_string(), t.old_path.is_some())).collect()
    };
    assert_eq!(shown(0), [(ChangeKind::Deleted, "b".into(), false), (ChangeKind::Added, "d".into(), false)]);
    assert_eq!(shown(1), [(ChangeKind::Renamed, "ä c".into(), true)]);
    assert_eq!(archive.commits_named(&oids).unwrap(), commits);
    assert_eq!(archive.before(&oids).unwrap(), Some(world.head.clone()));
    assert_eq!(archive.before(std::slice::from_ref(&world.head)).unwrap(), None);
    let first = archive.touched(std::slice::from_ref(&world.head)).unwrap();
    assert_eq!(first[&world.head].len(), 2, "a first commit has files too");
}

#[test]
fn a_range_that_is_none_is_no_option_and_no_crash() {
    let world = World::new(&[("a", "1")]);
    let archive = Archive::open(&world.root()).unwrap();
    for range in ["", "-n1", "--output=x", "nowhere", "HEAD..nowhere", "a\nb"] {
        assert!(matches!(archive.commits(range), Err(GitError::NoSuch { .. })), "{range}");
    }
    assert_eq!(archive.commits("HEAD..HEAD").unwrap(), []);
    assert!(!world.root().join("x").exists());
}

#[test]
fn planning_files_are_committed_and_what_was_staged_is_not() {
    let world = World::new(&[("code", "1"), (".planning/STATE.md", "old"), (".planning/gone.md", "x")]);
    let root = world.root();
    write(&root, "code", "2");
    git(&root, &["add", "code"]);
    write(&root, ".planning/STATE.md", "new");
    write(&root, ".planning/new file.md", "new");
    std::fs::remove_file(root.join(".planning/gone.md")).unwrap();
    let paths = [path(".planning"), path("CLAUDE.md")];
    let commit = world
        .repo
        .commit_paths(&paths, "chore(planning): $(x)", &who(), Sign::AsConfigured)
        .unwrap()
        .unwrap();
    assert_eq!(world.repo.head().unwrap().commit, commit);
    let names = git(&root, &["show", "--name-status", "--format=", "HEAD"]);
    assert_eq!(names, "M\t.planning/STATE.md\nD\t.planning/gone.md\nA\t.planning/new file.md");
    assert_eq!(git(&root, &["status", "--porcelain"]), "M  code");
    assert_eq!(world.repo.commit_paths(&paths, "x", &who(), Sign::AsConfigured).unwrap(), None);
}

#[test]
fn a_push_goes_to_the_upstream_or_nowhere() {
    let world = World::new(&[("a", "1")]);
    let root = world.root();
    assert_eq!(world.repo.push_upstream().unwrap(), Pushed::NoUpstream);
    git(world.dir.path(), &["init", "-q", "--bare", "remote.git"]);
    git(&root, &["remote", "add", "origin", "../remote.git"]);
    git(&root, &["config", "branch.main.remote", "origin"]);
    git(&root, &["config", "branch.main.merge", "refs/heads/main"]);
    assert_eq!(world.repo.push_upstream().unwrap(), Pushed::Done { remote: "origin".into() });
    assert_eq!(git(&root, &["--git-dir=../remote.git", "rev-parse", "main"]), world.head.as_str());
    git(&root, &["config", "branch.main.remote", "../nowhere"]);
    assert!(matches!(world.repo.push_upstream().unwrap(), Pushed::Refused { .. }));
}
