//! What is staged, and what a patch would make: neither writes anything of the user's.

use crate::support::{World, git, path, write};

#[test]
fn what_is_staged_is_a_tree_and_the_index_stays_as_it_is() {
    let world = World::new(&[("a", "1\n"), ("b", "b\n")]);
    let root = world.root();
    let staged = || world.repo.staged_tree().unwrap().unwrap();
    assert_eq!(staged(), world.repo.tree_of(&world.head).unwrap(), "nothing is staged");
    write(&root, "a", "2\n");
    write(&root, "new", "n\n");
    git(&root, &["add", "a", "new"]);
    write(&root, "a", "3\n");
    let (before, print) = (std::fs::read(root.join(".git/index")).unwrap(), world.print());
    let tree = staged();
    assert_eq!(std::fs::read(root.join(".git/index")).unwrap(), before);
    assert!(print.differences(&world.print()).is_empty());
    let text = |name: &str| world.repo.file_at(&tree, &path(name)).unwrap().map(String::from_utf8);
    assert_eq!(text("a"), Some(Ok("2\n".to_owned())), "as staged, not as it lies there");
    assert_eq!(text("new"), Some(Ok("n\n".to_owned())));
}

#[test]
fn an_index_in_the_middle_of_a_merge_is_no_tree() {
    let world = World::new(&[("a", "1\n")]);
    let root = world.root();
    git(&root, &["checkout", "-q", "-b", "other"]);
    write(&root, "a", "2\n");
    git(&root, &["commit", "-qam", "two"]);
    git(&root, &["checkout", "-q", "main"]);
    write(&root, "a", "3\n");
    git(&root, &["commit", "-qam", "three"]);
    let merge = std::process::Command::new("git").args(["merge", "other"]).current_dir(&root).output();
    assert!(!merge.unwrap().status.success());
    assert!(world.repo.staged_tree().unwrap().is_err());
}

#[test]
fn a_patch_makes_a_tree_or_says_why_not() {
    let world = World::new(&[("a", "1\n"), ("b", "b\n")]);
    let print = world.print();
    let patch = b"From x\nSubject: y\n---\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n";
    let tree = world.repo.patched_tree(&world.head, patch).unwrap().unwrap();
    assert_eq!(world.repo.file_at(&tree, &path("a")).unwrap().unwrap(), b"2\n");
    let wrong = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-nine\n+2\n";
    assert!(world.repo.patched_tree(&world.head, wrong).unwrap().unwrap_err().contains("does not apply"));
    assert!(world.repo.patched_tree(&world.head, b"no patch at all\n").unwrap().is_err());
    let out =
        b"diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n";
    assert!(world.repo.patched_tree(&world.head, out).unwrap().is_err(), "no path leads out");
    assert!(print.differences(&world.print()).is_empty());
}
