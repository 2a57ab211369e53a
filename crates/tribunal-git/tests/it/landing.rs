//! Diffs, replays, and when an approval carries over.

use tribunal_git::{ChangeKind, Oid, Rebased};

use crate::support::{World, git, path, texts, who};

fn clean(replayed: Rebased) -> (Oid, Vec<(Oid, Oid)>) {
    match replayed {
        Rebased::Clean { head, commits } => (head, commits),
        Rebased::Conflict { text, .. } => panic!("conflict: {text}"),
    }
}

fn numbered(n: usize) -> String {
    (0..n).map(|i| format!("line {i}\n")).collect()
}

#[test]
fn commits_move_onto_another_base_with_their_words() {
    let world = World::new(&[("a", &numbered(30)), ("b", "1\n")]);
    let (repo, base) = (&world.repo, &world.head);
    let before = world.print();
    let one = world.commit(base, &[("a", &numbered(30).replace("line 20\n", "mine\n"))], "feat: one\n\nbody");
    let two = world.commit(&one, &[("c", "c\n")], "feat: two");
    let onto = world.commit(base, &[("a", &numbered(30).replace("line 2\n", "theirs\n"))], "other");
    let (head, commits) = clean(repo.replay(base, &two, &onto, &who()).expect("replays"));
    assert_eq!(commits.iter().map(|(old, _)| old.clone()).collect::<Vec<_>>(), [one, two.clone()]);
    let subjects: Vec<_> =
        repo.subjects(&onto, &head, 10).expect("log").into_iter().map(|(_, s)| s).collect();
    assert_eq!(subjects, ["feat: one", "feat: two"]);
    let merged = repo.file_at(&head, &path("a")).expect("reads").expect("there");
    let merged = String::from_utf8(merged).expect("text");
    assert!(merged.contains("mine\n") && merged.contains("theirs\n"));
    let again = clean(repo.replay(base, &two, &onto, &who()).expect("replays"));
    assert_eq!((head.clone(), commits), again);
    assert_eq!(repo.patch_id(base, &two).expect("id"), repo.patch_id(&onto, &head).expect("id"));
    // The same file was touched in between: the approval does not carry over.
    assert!(!repo.carries_over(base, &two, &onto, &head, &[]).expect("answers"));
    assert_eq!(clean(repo.replay(base, &two, base, &who()).expect("replays")).0, two);
    assert_eq!(before.differences(&world.print()), [""; 0]);
    git(&world.root(), &["fsck", "--strict"]);
}

#[test]
fn a_conflict_names_commit_and_files() {
    let world = World::new(&[("a", "1\n"), ("odd \"n\name", "1\n")]);
    let (repo, base) = (&world.repo, &world.head);
    let good = world.commit(base, &[("z", "z\n")], "good");
    let mine = world.commit(&good, &[("a", "mine\n"), ("odd \"n\name", "mine\n")], "mine");
    let onto = world.commit(base, &[("a", "theirs\n"), ("odd \"n\name", "theirs\n")], "theirs");
    match repo.replay(base, &mine, &onto, &who()).expect("replays") {
        Rebased::Conflict { commit, files, text } => {
            assert_eq!(commit, mine);
            assert_eq!(files, [path("a"), path("odd \"n\name")]);
            assert!(text.contains("CONFLICT (content)") && text.contains("=======\nmine\n"), "{text}");
        }
        clean => panic!("{clean:?}"),
    }
}

#[test]
fn deletions_against_changes_conflict_and_merges_are_refused() {
    let world = World::new(&[("a", "1\n"), ("b", "1\n")]);
    let (repo, base) = (&world.repo, &world.head);
    let mine = world.commit(base, &[("a", "2\n")], "mine");
    let onto = world.commit(base, &[("a", "")], "gone");
    let answer = repo.replay(base, &mine, &onto, &who()).expect("replays");
    assert!(matches!(answer, Rebased::Conflict { ref files, .. } if *files == [path("a")]), "{answer:?}");
    let tree = repo.tree_of(&mine).expect("tree");
    let merge = repo.commit(&tree, &[mine, onto.clone()], "merge", &who(), &who()).expect("commits");
    assert!(repo.replay(base, &merge, &onto, &who()).is_err());
}

#[test]
fn approvals_carry_over_only_past_strangers() {
    let world = World::new(&[("src/a", &numbered(9)), ("src/b", "1\n"), ("doc/x", "1\n"), ("other", "1\n")]);
    let (repo, base) = (&world.repo, &world.head);
    let head = world.commit(base, &[("src/a", &numbered(8)), ("src/new", "n\n")], "mine");
    let check = |files: &[(&str, &str)], declared: &[&str], expect: bool| {
        let onto = world.commit(base, files, "theirs");
        let (new_head, _) = clean(repo.replay(base, &head, &onto, &who()).expect("replays"));
        let declared: Vec<_> = declared.iter().map(|text| path(text)).collect();
        let answer = repo.carries_over(base, &head, &onto, &new_head, &declared).expect("answers");
        assert_eq!(answer, expect, "{files:?} {declared:?}");
    };
    check(&[("other", "2\n")], &[], true);
    check(&[("other", "2\n")], &["src/b"], true);
    check(&[("other", "2\n")], &["other"], false);
    check(&[("doc/y", "2\n")], &["doc"], false);
    check(&[("doc/y", "2\n")], &["doc/"], false);
    check(&[("src/b", "2\n")], &[], true);
    check(&[("src/a", &format!("top\n{}", numbered(9)))], &[], false);
    check(&[("src/a/", "")][..0], &[], true);
    // Something else slipped in: not the same patch, or not the replay of it.
    let onto = world.commit(base, &[("other", "2\n")], "theirs");
    let (new_head, _) = clean(repo.replay(base, &head, &onto, &who()).expect("replays"));
    let more = world.commit(&new_head, &[("src/b", "sneaky\n")], "more");
    assert!(!repo.carries_over(base, &head, &onto, &more, &[]).expect("answers"));
    let spaced =
        world.commit(&onto, &[("src/a", &numbered(8).replace("7", " 7")), ("src/new", "n\n")], "mine");
    assert!(!repo.carries_over(base, &head, &onto, &spaced, &[]).expect("answers"));
    // Contents count, not history: a branch that went back to an older commit is no other than one that moved on.
    assert!(repo.carries_over(&onto, &new_head, base, &head, &[]).expect("answers"));
    assert!(!repo.carries_over(&onto, &new_head, base, &head, &[path("other")]).expect("answers"));
}

#[test]
fn changes_and_diffs_tell_everything() {
    let long = numbered(50);
    let world = World::new(&[("keep", &long), ("move", &long), ("gone", "1\n"), ("bin", "\0")]);
    let (repo, base) = (&world.repo, &world.head);
    let files = [
        ("move", ""),
        ("moved", &*format!("{long}more\n")),
        ("gone", ""),
        ("keep", &*long.replace("line 3\n", "x\ny\n")),
    ];
    let head = world.commit(base, &files, "all");
    let head = world.commit(
        &head,
        &[("bin", "\0\u{1}"), (".gitattributes", "* -diff\n"), ("sp ace\n", "n\n")],
        "more",
    );
    let mut changes = repo.changes(base, &head).expect("diff");
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    let shown: Vec<_> = changes.iter().map(|c| (c.path.to_string(), c.kind, c.added, c.deleted)).collect();
    let expect = [
        (".gitattributes", ChangeKind::Added, Some(1), Some(0)),
        ("bin", ChangeKind::Modified, None, None),
        ("gone", ChangeKind::Deleted, Some(0), Some(1)),
        ("keep", ChangeKind::Modified, Some(2), Some(1)),
        ("moved", ChangeKind::Renamed, Some(1), Some(0)),
        ("sp ace\\n", ChangeKind::Added, Some(1), Some(0)),
    ];
    assert_eq!(shown, expect.map(|(p, k, a, d)| (p.to_owned(), k, a, d)));
    // An attribute in the tree hides nothing.
    let text = repo.diff_text(base, &head, &[path("keep")], 1 << 20).expect("diff");
    let shown = String::from_utf8_lossy(&text.bytes).into_owned();
    assert!(shown.contains("+x\n+y\n") && !shown.contains("moved"), "{shown}");
    let cut = repo.diff_text(base, &head, &[], 100).expect("diff");
    assert!(cut.cut && cut.bytes.len() == 100);
    let paths = texts(&repo.changed_paths(base, &head).expect("diff"));
    assert!(paths.contains(&"move".to_owned()) && paths.contains(&"moved".to_owned()));
    assert_eq!(repo.changes(&head, &head).expect("diff"), []);
}

/// Git takes a file with a zero byte for binary and shows nothing of it: an agent could hide a script like that.
#[test]
fn a_zero_byte_hides_no_text() {
    let script = format!("#!/bin/sh\n{}", numbered(40));
    let world =
        World::new(&[("a.sh", &script), ("old.sh", &format!("\0{script}")), ("pixels", "\0\u{1}\u{2}")]);
    let (repo, base) = (&world.repo, &world.head);
    let hidden = format!("{script}\0\nrm -rf everything\n");
    let files = [
        ("a.sh", hidden.as_str()),
        ("old.sh", ""),
        ("new name.sh", &format!("\0{script}more\n")),
        ("pixels", "\0\u{1}\u{2}\u{3}"),
        ("@ Binary files", "\nBinary files a and b differ\n"),
    ];
    let head = world.commit(base, &files, "hide");
    let text = repo.diff_text(base, &head, &[], 1 << 20).expect("diff");
    let shown = String::from_utf8_lossy(&text.bytes).into_owned();
    assert!(!text.cut && shown.contains("+rm -rf everything\n"), "{shown}");
    assert!(shown.contains("rename from old.sh\nrename to new name.sh\n"), "{shown}");
    assert!(shown.contains("+more\n") && !shown.contains("+line 3\n"), "{shown}");
    assert!(shown.contains("+Binary files a and b differ\n"), "{shown}");
    let named = shown.lines().filter(|line| line.starts_with("Binary files "));
    assert_eq!(named.collect::<Vec<_>>(), ["Binary files a/pixels and b/pixels differ"]);
    assert_eq!(shown.matches("diff --git ").count(), 4, "{shown}");
    let cut = repo.diff_text(base, &head, &[], text.bytes.len() - 1).expect("diff");
    assert!(cut.cut, "what does not fit is not left out in silence");
}

#[test]
fn a_diff_ends_where_git_ends_it() {
    let last = "end of patch\n";
    let world = World::new(&[("end of patch", last), ("move", &numbered(30)), ("gone", last), ("bin", "\0")]);
    let (repo, base) = (&world.repo, &world.head);
    let long = format!("{}\n{last}", "x".repeat(300_000));
    let steps: [&[(&str, &str)]; 5] = [
        &[("end of patch", "end of patch\n\nend of patch")],
        &[("a\nend of patch\n", last), ("gone", "")],
        &[("move", ""), ("end of patch\nmoved", &numbered(30))],
        &[("bin", "\0end of patch\n")],
        &[("long", &long)],
    ];
    let mut commits = vec![base.clone()];
    for files in steps {
        let head = world.commit(commits.last().expect("one"), files, "next");
        commits.push(head);
    }
    for (from, to) in commits.iter().flat_map(|from| commits.iter().map(move |to| (from, to))) {
        let whole = repo.diff_text(from, to, &[], 1 << 20).expect("diff");
        let all = repo.changed_paths(from, to).expect("diff");
        let apart = match all.is_empty() {
            true => Vec::new(),
            false => repo.diff_text(from, to, &all, 1 << 20).expect("diff").bytes,
        };
        assert_eq!(String::from_utf8_lossy(&whole.bytes), String::from_utf8_lossy(&apart));
        for cap in [0, 1, whole.bytes.len().saturating_sub(1), whole.bytes.len()] {
            let cut = repo.diff_text(from, to, &[], cap).expect("diff");
            assert_eq!(cut.bytes, whole.bytes.get(..cap).unwrap_or(&whole.bytes));
            assert_eq!(cut.cut, cap < whole.bytes.len());
        }
    }
}

#[test]
fn two_lines_are_united_from_where_they_part() {
    let world = World::new(&[("a", "1\n"), ("b", "1\n")]);
    let (repo, base) = (&world.repo, &world.head);
    let ours = world.commit(base, &[("a", "ours\n")], "ours");
    let theirs = world.commit(base, &[("b", "theirs\n")], "theirs");
    assert_eq!(repo.merge_base(&ours, &theirs).expect("answers").as_ref(), Some(base));
    let united = repo.unite(base, &ours, &theirs).expect("unites");
    assert_eq!(united.conflicts, []);
    assert_eq!(repo.file_at(&united.tree, &path("a")).expect("reads"), Some(b"ours\n".to_vec()));
    assert_eq!(repo.file_at(&united.tree, &path("b")).expect("reads"), Some(b"theirs\n".to_vec()));
    let rival = world.commit(base, &[("a", "rival\n")], "rival");
    let united = repo.unite(base, &ours, &rival).expect("unites");
    assert_eq!(united.conflicts, [path("a")]);
    let tree = repo.tree_of(base).expect("tree");
    let alone = repo.commit(&tree, &[], "alone", &who(), &who()).expect("commits");
    assert_eq!(repo.merge_base(&ours, &alone).expect("answers"), None);
}

#[test]
fn the_users_identity_is_read() {
    let world = World::new(&[("a", "1\n")]);
    git(&world.root(), &["config", "user.name", "A User"]);
    git(&world.root(), &["config", "user.email", "a@example.org"]);
    let expect = Some(("A User".to_owned(), "a@example.org".to_owned()));
    assert_eq!(world.repo.identity().expect("reads"), expect);
}
