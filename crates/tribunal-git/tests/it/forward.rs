//! The one operation on what is the user's: done whole, or not at all.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tribunal_git::{Bring, Forward, ForwardProbe, GitPath, Oid, Refusal, Repo};

use crate::support::{World, git, path, script, texts, write};

static IGNORING: std::sync::LazyLock<[GitPath; 1]> = std::sync::LazyLock::new(|| [path(".tribunal/")]);

/// Where notes of a fast-forward are kept.
fn notes(repo: &Repo) -> PathBuf {
    repo.common_dir().join("notes")
}

/// The result as a run brings it by itself.
fn bring<'a>(old: &'a Oid, new: &'a Oid, notes: &'a Path) -> Bring<'a> {
    Bring { branch: "main", old, new, ignoring: &*IGNORING, asked: false, notes, passed: &|_| {} }
}

fn forward(repo: &Repo, old: &Oid, new: &Oid) -> Forward {
    repo.fast_forward(&bring(old, new, &notes(repo))).expect("answers")
}

/// The same after a person asked for it.
fn asked(repo: &Repo, old: &Oid, new: &Oid) -> Forward {
    repo.fast_forward(&Bring { asked: true, ..bring(old, new, &notes(repo)) }).expect("answers")
}

fn world() -> World {
    World::new(&[("a", "1\n"), ("gone", "g\n"), ("dir/b", "1\n"), (".gitignore", "ignored\n")])
}

fn next(world: &World) -> tribunal_git::Oid {
    world.commit(&world.head, &[("a", "2\n"), ("gone", ""), ("new/file", "n\n")], "next")
}

#[test]
fn a_clean_branch_moves_with_its_files() {
    let world = world();
    let new = next(&world);
    write(&world.root(), ".tribunal/journal", "j");
    let repo = &world.repo;
    assert_eq!(repo.fast_forward_probe("main", &world.head, &new).expect("probes"), ForwardProbe::NotDone);
    for _ in 0..2 {
        let done = forward(repo, &world.head, &new);
        assert_eq!(done, Forward::Done);
    }
    assert_eq!(repo.fast_forward_probe("main", &world.head, &new).expect("probes"), ForwardProbe::Done);
    assert_eq!(git(&world.root(), &["status", "--porcelain"]), "?? .tribunal/");
    assert_eq!(fs::read(world.root().join("new/file")).expect("there"), b"n\n");
    assert!(!world.root().join("gone").exists());
    assert_eq!(git(&world.root(), &["rev-parse", "HEAD"]), new.as_str());
    assert_eq!(git(&world.root(), &["symbolic-ref", "HEAD"]), "refs/heads/main");
    git(&world.root(), &["commit", "-q", "--allow-empty", "-m", "user goes on"]);
    let at = Oid::parse(&git(&world.root(), &["rev-parse", "HEAD"])).expect("a commit");
    let probe = repo.fast_forward_probe("main", &world.head, &new).expect("probes");
    assert_eq!(probe, ForwardProbe::Contained { at: at.clone() });
    assert_eq!(forward(repo, &world.head, &new), Forward::Contained { at });
}

#[test]
fn whatever_is_in_the_way_is_left_alone_and_named() {
    let check = |name: &str, change: &dyn Fn(&World), expect: &dyn Fn(&Refusal) -> bool| {
        let world = world();
        let new = next(&world);
        change(&world);
        let before = world.print();
        match forward(&world.repo, &world.head, &new) {
            Forward::Refused(why) => assert!(expect(&why), "{name}: {why:?}"),
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(before.differences(&world.print()), [""; 0], "{name}");
    };
    let dirty = |names: &'static [&str]| move |why: &Refusal| matches!(why, Refusal::Dirty { paths } if texts(paths) == names);
    check("changed", &|w| write(&w.root(), "dir/b", "mine\n"), &dirty(&["dir/b"]));
    check(
        "staged",
        &|w| {
            write(&w.root(), "dir/b", "mine\n");
            git(&w.root(), &["add", "dir/b"]);
        },
        &dirty(&["dir/b"]),
    );
    let lying = |names: &'static [&str]| move |why: &Refusal| matches!(why, Refusal::InTheWay { paths } if texts(paths) == names);
    check("untracked", &|w| write(&w.root(), "new/file", "mine\n"), &lying(&["new/file"]));
    check("the same as the new one", &|w| write(&w.root(), "new/file", "n\n"), &lying(&["new/file"]));
    check("a folder", &|w| write(&w.root(), "new/file/in", "mine\n"), &lying(&["new/file/in"]));
    check(
        "changed, and untracked",
        &|w| {
            write(&w.root(), "dir/b", "mine\n");
            write(&w.root(), "notes", "mine\n");
        },
        &dirty(&["dir/b"]),
    );
    check(
        "ignored file in the way",
        &|w| {
            write(&w.root(), ".git/info/exclude", "new\n");
            write(&w.root(), "new/file", "mine\n");
        },
        &|why| matches!(why, Refusal::InTheWay { paths } if texts(paths) == ["new/file"]),
    );
    check(
        "ignored file where a directory must be",
        &|w| {
            write(&w.root(), ".git/info/exclude", "new\n");
            write(&w.root(), "new", "mine\n");
        },
        &|why| matches!(why, Refusal::InTheWay { .. }),
    );
    check(
        "moved",
        &|w| {
            git(&w.root(), &["commit", "-q", "--allow-empty", "-m", "user"]);
        },
        &|why| matches!(why, Refusal::Moved { found: Some(_) }),
    );
    check(
        "deleted",
        &|w| {
            git(&w.root(), &["checkout", "-q", "-b", "other"]);
            git(&w.root(), &["branch", "-qD", "main"]);
        },
        &|why| matches!(why, Refusal::Moved { found: None }),
    );
    check("busy", &|w| write(&w.root(), ".git/MERGE_HEAD", &format!("{}\n", w.head)), &|why| {
        matches!(why, Refusal::Busy { what: "merge" })
    });
}

/// What git does not track and nothing new replaces is no reason to hold back, and stays as it is.
#[test]
fn files_beside_the_change_stay() {
    let world = world();
    let new = world.commit(&next(&world), &[("dir/b", ""), ("new/other", "o\n")], "more");
    let mine = ["notes", "new/mine", "dir/mine", "ignored", "my own/ünd *"];
    for name in mine {
        write(&world.root(), name, name);
        let file = fs::File::options().write(true).open(world.root().join(name)).expect("opens");
        file.set_modified(std::time::UNIX_EPOCH).expect("dated");
    }
    let before: Vec<_> = mine.iter().map(|name| stand(&world, name)).collect();
    // As after a crash between the files and the branch, and from the start.
    for half in [true, false] {
        if half {
            git(&world.root(), &["read-tree", "-m", "-u", world.head.as_str(), new.as_str()]);
        } else {
            git(&world.root(), &["reset", "-q", "--hard", world.head.as_str()]);
        }
        let done = forward(&world.repo, &world.head, &new);
        assert_eq!(done, Forward::Done);
        assert_eq!(mine.iter().map(|name| stand(&world, name)).collect::<Vec<_>>(), before);
        assert_eq!(git(&world.root(), &["diff", "HEAD", "--stat"]), "");
        assert_eq!(git(&world.root(), &["rev-parse", "HEAD"]), new.as_str());
    }
}

fn stand(world: &World, name: &str) -> (Vec<u8>, std::time::SystemTime) {
    let path = world.root().join(name);
    let modified = fs::metadata(&path).and_then(|meta| meta.modified()).expect("there");
    (fs::read(&path).expect("there"), modified)
}

/// What the user asked for brings the result past changes that it does not touch, to a branch that is gone or checked
/// out elsewhere; and nothing of the user's is lost.
#[test]
fn asked_for_it_goes_further() {
    let check = |name: &str, change: &dyn Fn(&World), after: &dyn Fn(&World)| {
        let world = world();
        let new = next(&world);
        change(&world);
        assert_eq!(asked(&world.repo, &world.head, &new), Forward::Done, "{name}");
        git(&world.root(), &["merge-base", "--is-ancestor", new.as_str(), "main"]);
        after(&world);
    };
    let file = |w: &World, name: &str| fs::read_to_string(w.root().join(name)).expect("there");
    let arrived = |w: &World| assert_eq!(file(w, "new/file"), "n\n");
    check("changed", &|w| write(&w.root(), "dir/b", "mine\n"), &|w| {
        arrived(w);
        assert_eq!(git(&w.root(), &["status", "--porcelain"]), " M dir/b");
        assert_eq!(file(w, "dir/b"), "mine\n");
    });
    check(
        "staged",
        &|w| {
            write(&w.root(), "dir/b", "mine\n");
            git(&w.root(), &["add", "dir/b"]);
        },
        &|w| {
            arrived(w);
            assert_eq!(git(&w.root(), &["diff", "--cached", "--name-only"]), "dir/b");
        },
    );
    check("removed", &|w| fs::remove_file(w.root().join("dir/b")).expect("removed"), &|w| {
        arrived(w);
        assert!(!w.root().join("dir/b").exists());
    });
    let other = |w: &World| drop(git(&w.root(), &["checkout", "-q", "-b", "other"]));
    check(
        "deleted",
        &|w| {
            other(w);
            git(&w.root(), &["branch", "-qD", "main"]);
        },
        &|w| assert_eq!(git(&w.root(), &["symbolic-ref", "--short", "HEAD"]), "other"),
    );
}

/// What the result changes too is never written over, asked or not.
#[test]
fn asked_for_it_overwrites_nothing() {
    let check = |name: &str, change: &dyn Fn(&World), expect: &dyn Fn(&Refusal) -> bool| {
        let world = world();
        let new = next(&world);
        change(&world);
        let before = world.print();
        match asked(&world.repo, &world.head, &new) {
            Forward::Refused(why) => assert!(expect(&why), "{name}: {why:?}"),
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(before.differences(&world.print()), [""; 0], "{name}");
    };
    let dirty = |names: &'static [&str]| move |why: &Refusal| matches!(why, Refusal::Dirty { paths } if texts(paths) == names);
    check("changed by both", &|w| write(&w.root(), "a", "mine\n"), &dirty(&["a"]));
    check(
        "changed by both, and elsewhere",
        &|w| {
            write(&w.root(), "dir/b", "mine\n");
            write(&w.root(), "gone", "mine\n");
        },
        &dirty(&["gone"]),
    );
    check(
        "in the way",
        &|w| write(&w.root(), "new/file", "mine\n"),
        &|why| matches!(why, Refusal::InTheWay { paths } if texts(paths) == ["new/file"]),
    );
    check(
        "moved",
        &|w| {
            git(&w.root(), &["commit", "-q", "--allow-empty", "-m", "user"]);
        },
        &|why| matches!(why, Refusal::Moved { found: Some(_) }),
    );
    check("busy", &|w| write(&w.root(), ".git/MERGE_HEAD", &format!("{}\n", w.head)), &|why| {
        matches!(why, Refusal::Busy { what: "merge" })
    });
}

/// A branch that nothing has checked out moves alone: the files of the one that is stay as they are.
#[test]
fn a_branch_that_is_not_checked_out_moves_alone() {
    for away in [&["checkout", "-q", "-b", "other"][..], &["checkout", "-q", "--detach"]] {
        let world = world();
        let new = next(&world);
        git(&world.root(), away);
        write(&world.root(), "a", "mine\n");
        assert_eq!(forward(&world.repo, &world.head, &new), Forward::Done);
        assert_eq!(git(&world.root(), &["rev-parse", "main"]), new.as_str());
        assert_eq!(git(&world.root(), &["rev-parse", "HEAD"]), world.head.as_str());
        assert_eq!(fs::read(world.root().join("a")).expect("there"), b"mine\n");
        assert!(!world.root().join("new").exists());
    }
}

/// A rebase or bisection takes HEAD off its branch and comes back to it: until then the branch stays.
#[test]
fn a_branch_that_is_rebased_or_bisected_stays() {
    let world = world();
    let new = next(&world);
    let one = world.commit(&world.head, &[("a", "one\n")], "one");
    git(&world.root(), &["branch", "topic", one.as_str()]);
    write(&world.root(), "a", "two\n");
    git(&world.root(), &["commit", "-qam", "two"]);
    let mine = Oid::parse(&git(&world.root(), &["rev-parse", "main"])).expect("an id");
    let mut rebase = std::process::Command::new("git");
    let stopped = rebase.args(["rebase", "topic"]).current_dir(world.root()).output().expect("starts");
    assert!(!stopped.status.success(), "it conflicts, so it stops half way");
    let next = world.commit(&mine, &[("new/file", "n\n")], "next");
    let refused = |what| Forward::Refused(Refusal::Busy { what });
    for answer in [forward(&world.repo, &mine, &next), asked(&world.repo, &mine, &next)] {
        assert_eq!(answer, refused("rebase"));
    }
    git(&world.root(), &["rebase", "--abort"]);
    git(&world.root(), &["bisect", "start"]);
    git(&world.root(), &["checkout", "-q", "--detach"]);
    assert_eq!(forward(&world.repo, &mine, &next), refused("bisect"));
    git(&world.root(), &["bisect", "reset"]);
    drop(new);
    assert_eq!(forward(&world.repo, &mine, &next), Forward::Done);
}

/// A branch that another worktree has checked out is moved there, with its files, when the user asks for it.
#[test]
fn a_branch_moves_where_it_is_checked_out() {
    type Change = fn(&std::path::Path);
    let check = |name: &str, change: Change| {
        let world = world();
        let new = next(&world);
        let folder = tempfile::tempdir().expect("a folder");
        let there = folder.path().join(name);
        git(&world.root(), &["checkout", "-q", "-b", "other"]);
        git(&world.root(), &["worktree", "add", "-q", there.to_str().expect("text"), "main"]);
        change(&there);
        let before = world.print();
        if there.exists() {
            let held = forward(&world.repo, &world.head, &new);
            let folder = there.canonicalize().expect("there");
            assert_eq!(held, Forward::Refused(Refusal::Elsewhere { folder }), "{name}");
            assert_eq!(before.differences(&world.print()), [""; 0], "{name}");
        }
        let answer = asked(&world.repo, &world.head, &new);
        assert_eq!(git(&world.root(), &["symbolic-ref", "--short", "HEAD"]), "other", "{name}");
        (
            answer,
            fs::read_to_string(there.join("new/file")).unwrap_or_default(),
            git(&world.root(), &["rev-parse", "main"]) == new.as_str(),
        )
    };
    let arrived = (Forward::Done, "n\n".to_owned(), true);
    for name in ["plain", "it's \"two\"", "$(id)", "a && b", "ünd", "-dash"] {
        assert_eq!(check(name, |_| {}), arrived, "{name}");
    }
    assert_eq!(check("changed there", |there| write(there, "dir/b", "mine\n")), arrived);
    let (answer, _, moved) = check("changed by both", |there| write(there, "a", "mine\n"));
    assert!(matches!(answer, Forward::Refused(Refusal::Dirty { .. })) && !moved, "{answer:?}");
    // A worktree whose folder is gone holds nothing.
    let gone = check("gone", |there| fs::remove_dir_all(there).expect("taken away"));
    assert_eq!(gone, (Forward::Done, String::new(), true));
}

/// Names that git could take for more than a name, in the way and not: each is named as it is, and none is written over.
#[test]
fn odd_names_in_the_way_are_named() {
    let names: [&[u8]; 8] =
        [b"-dash", b":(top)x", b"a*b", b"$(id)", b"ign\xff", b"ign\x01", b"ign\nored", b"my  own"];
    for name in names {
        let world = World::new(&[("a", "1\n"), (".gitignore", "ign*\n")]);
        let name = std::ffi::OsStr::from_bytes(name);
        let lane = world.lane("l");
        fs::write(lane.path().join(name), "theirs\n").expect("written");
        write(lane.path(), ".gitignore", "# nothing\n");
        let tree = lane.capture().expect("captures").tree;
        let who = crate::support::who();
        let parents = std::slice::from_ref(&world.head);
        let theirs = world.repo.commit(&tree, parents, "theirs", &who, &who).expect("commits");
        // The rule that ignores it is still there in the result.
        let new = world.commit(&theirs, &[(".gitignore", "ign*\n")], "as it was");
        let mine = world.root().join(name);
        fs::write(&mine, "precious").expect("written");
        let answer = asked(&world.repo, &world.head, &new);
        let Forward::Refused(Refusal::InTheWay { paths }) = answer else { panic!("{name:?}: {answer:?}") };
        assert_eq!(paths, [GitPath::from(name.as_bytes())]);
        assert_eq!(fs::read(&mine).expect("there"), b"precious");
        assert_eq!(git(&world.root(), &["rev-parse", "main"]), world.head.as_str());
    }
}

/// A branch that a person moved past the result has it.
#[test]
fn a_branch_that_has_the_result_already_is_done() {
    let world = world();
    let new = next(&world);
    git(&world.root(), &["merge", "-q", "--ff-only", new.as_str()]);
    git(&world.root(), &["commit", "-q", "--allow-empty", "-m", "mine"]);
    let at = Oid::parse(&git(&world.root(), &["rev-parse", "HEAD"])).expect("a commit");
    assert_eq!(forward(&world.repo, &world.head, &new), Forward::Contained { at });
}

/// A file as if it had been written at another time.
fn touch(world: &World, name: &str) {
    let file = fs::File::options().write(true).open(world.root().join(name)).expect("opens");
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000)).expect("dated");
}

/// Files that were touched are not changed; what else has changed holds back as ever, and nothing is written.
#[test]
fn touched_files_hold_nothing_back() {
    let names = ["a", "gone", "dir/b", ".gitignore"];
    let left = |world: &World| {
        let odd = fs::read_dir(world.root().join(".git")).expect("lists").flatten();
        let odd = odd.map(|entry| entry.file_name().to_string_lossy().into_owned());
        odd.filter(|name| name.starts_with("index") && name != "index").collect::<Vec<_>>()
    };
    let world = world();
    let new = next(&world);
    names.iter().for_each(|name| touch(&world, name));
    // What is only in the way is still so, and the index is not made to know more.
    write(&world.root(), "new/file", "mine\n");
    let before = world.print();
    let answer = forward(&world.repo, &world.head, &new);
    assert!(matches!(answer, Forward::Refused(Refusal::InTheWay { .. })), "{answer:?}");
    assert_eq!(before.differences(&world.print()), [""; 0]);
    fs::remove_dir_all(world.root().join("new")).expect("removed");
    // So is what really changed.
    for (file, text) in [("dir/b", "mine\n"), ("a", "0\n")] {
        let was = fs::read_to_string(world.root().join(file)).expect("there");
        write(&world.root(), file, text);
        touch(&world, file);
        let before = world.print();
        let answer = forward(&world.repo, &world.head, &new);
        assert!(matches!(answer, Forward::Refused(Refusal::Dirty { .. })), "{answer:?}");
        assert_eq!(before.differences(&world.print()), [""; 0]);
        write(&world.root(), file, &was);
        touch(&world, file);
    }
    // And another git at work, or another of us: its lock is not ours to take.
    let lock = ".git/index.lock";
    for holder in ["".to_owned(), format!("tribunal {}", std::process::id()), "tribunal x".to_owned()] {
        write(&world.root(), lock, &holder);
        let before = world.print();
        assert!(world.repo.fast_forward(&bring(&world.head, &new, &notes(&world.repo))).is_err(), "{holder}");
        assert_eq!(before.differences(&world.print()), [""; 0], "{holder}");
        fs::remove_file(world.root().join(lock)).expect("removed");
    }
    // But one of us who died there has no more to do with it. No process has such a number.
    write(&world.root(), lock, "tribunal 4294967295");
    write(&world.root(), ".git/index.tribunal", "half");
    let done = forward(&world.repo, &world.head, &new);
    assert_eq!(done, Forward::Done);
    assert_eq!(git(&world.root(), &["status", "--porcelain"]), "");
    assert_eq!(git(&world.root(), &["rev-parse", "HEAD"]), new.as_str());
    assert_eq!(fs::read(world.root().join("a")).expect("there"), b"2\n");
    assert_eq!(left(&world), [""; 0]);
}

/// One of us who died after the last note of a fast-forward leaves nothing but its lock.
#[test]
fn a_lock_without_a_note_is_taken_back_where_its_holder_is_dead() {
    let world = world();
    let lock = world.root().join(".git/index.lock");
    let own = format!("tribunal {}", std::process::id());
    for (holder, stays) in [("tribunal 4294967295", false), (own.as_str(), true), ("", true)] {
        fs::write(&lock, holder).expect("written");
        assert_eq!(
            world.repo.settle_forward(&notes(&world.repo)).expect("settled"),
            tribunal_git::Settled::Nothing
        );
        assert_eq!(lock.exists(), stays, "{holder}");
    }
}

#[test]
fn a_copied_project_is_as_clean_as_the_first() {
    let world = world();
    let new = next(&world);
    let copy = world.dir.path().join("copy");
    let copied = std::process::Command::new("cp").arg("-a").arg(world.root()).arg(&copy).status();
    assert!(copied.expect("starts").success());
    let repo = Repo::open(&copy).expect("opens");
    let done = forward(&repo, &world.head, &new);
    assert_eq!(done, Forward::Done);
    assert_eq!(git(&copy, &["status", "--porcelain"]), "");
    assert_eq!(fs::read(copy.join("new/file")).expect("there"), b"n\n");
}

#[test]
fn touched_files_with_line_endings_or_filters() {
    let made = |setting: [&str; 2], attributes: &str| {
        let world = World::made(&[], |root| {
            git(root, &["config", setting[0], setting[1]]);
            write(root, ".gitattributes", attributes);
            write(root, "a", "1\r\n2\r\n");
            write(root, "b", "1\n");
        });
        let new = world.commit(&world.head, &[("b", "2\n")], "next");
        let newer = world.commit(&new, &[("a", "3\r\n")], "next");
        touch(&world, "a");
        touch(&world, "b");
        (world, newer)
    };
    for (setting, attributes) in
        [(["core.autocrlf", "true"], "* text=auto\n"), (["core.autocrlf", "false"], "a text eol=crlf\n")]
    {
        let (world, new) = made(setting, attributes);
        let done = forward(&world.repo, &world.head, &new);
        assert_eq!(done, Forward::Done, "{attributes}");
        assert_eq!(git(&world.root(), &["status", "--porcelain"]), "", "{attributes}");
        assert_eq!(fs::read(world.root().join("a")).expect("there"), b"3\r\n", "{attributes}");
    }
    // Whether a file that passes through a filter of the user's has changed cannot be told without it.
    let (world, new) = made(["filter.up.clean", "tr a-z A-Z"], "b filter=up\n");
    let before = world.print();
    let answer = forward(&world.repo, &world.head, &new);
    assert!(matches!(answer, Forward::Refused(_)), "{answer:?}");
    assert_eq!(before.differences(&world.print()), [""; 0]);
}

#[test]
fn what_does_not_follow_is_refused() {
    let world = world();
    let new = next(&world);
    let other = world.commit(&world.head, &[("x", "x\n")], "other");
    git(&world.root(), &["reset", "-q", "--hard", other.as_str()]);
    let answer = forward(&world.repo, &other, &new);
    assert!(matches!(answer, Forward::Refused(Refusal::NotAhead)), "{answer:?}");
    let probe = world.repo.fast_forward_probe("main", &world.head, &new).expect("probes");
    assert_eq!(probe, ForwardProbe::Elsewhere);
}

#[test]
fn half_done_is_finished() {
    let world = world();
    let new = next(&world);
    // The state after a crash between the files and the branch.
    git(&world.root(), &["read-tree", "-m", "-u", world.head.as_str(), new.as_str()]);
    let probe = world.repo.fast_forward_probe("main", &world.head, &new).expect("probes");
    assert_eq!(probe, ForwardProbe::NotDone);
    let done = forward(&world.repo, &world.head, &new);
    assert_eq!(done, Forward::Done);
    assert_eq!(git(&world.root(), &["status", "--porcelain"]), "");
}

#[test]
fn hooks_do_not_run_and_filters_are_not_bypassed() {
    let world = World::made(&[], |root| write(root, "a", "1\n"));
    let root = world.root();
    let canary = world.dir.path().join("canary");
    let run = format!("#!/bin/sh\ntouch '{}'\ncat\n", canary.display());
    for hook in ["post-checkout", "post-merge", "reference-transaction", "post-index-change", "pre-commit"] {
        script(&root.join(".git/hooks").join(hook), &run);
    }
    script(&world.dir.path().join("filter"), &run);
    let filter = world.dir.path().join("filter");
    for part in ["clean", "smudge"] {
        git(&root, &["config", &format!("filter.mine.{part}"), filter.to_str().expect("text")]);
    }
    script(&world.dir.path().join("monitor"), &run);
    git(&root, &["config", "core.fsmonitor", world.dir.path().join("monitor").to_str().expect("text")]);
    let _ = fs::remove_file(&canary);
    let repo = Repo::open(&root).expect("opens");
    let one = world.commit(&world.head, &[("a", "2\n")], "one");
    let done = forward(&repo, &world.head, &one);
    assert_eq!(done, Forward::Done);
    let two = world.commit(&one, &[(".gitattributes", "*.x filter=mine\n"), ("f.x", "x\n")], "two");
    let answer = forward(&repo, &one, &two);
    let Forward::Refused(Refusal::Filtered { paths }) = answer else { panic!("{answer:?}") };
    assert_eq!(texts(&paths), ["f.x"]);
    assert!(!canary.exists());
}

#[test]
fn sparse_and_split_index_users_are_not_broken() {
    let world = world();
    let new = world.commit(&world.head, &[("a", "2\n"), ("dir/b", "2\n")], "next");
    git(&world.root(), &["sparse-checkout", "set", "--no-cone", "/a", "/.gitignore"]);
    git(&world.root(), &["update-index", "--split-index"]);
    assert!(!world.root().join("dir/b").exists());
    let done = forward(&world.repo, &world.head, &new);
    assert_eq!(done, Forward::Done);
    assert!(!world.root().join("dir/b").exists(), "a sparse checkout stays sparse");
    assert_eq!(fs::read(world.root().join("a")).expect("there"), b"2\n");
    assert_eq!(git(&world.root(), &["status", "--porcelain"]), "");
}

#[test]
fn shallow_clones_work() {
    let world = world();
    let new = next(&world);
    git(&world.root(), &["update-ref", "refs/heads/main", new.as_str()]);
    let clone = world.dir.path().join("shallow");
    let url = format!("file://{}", world.root().display());
    git(world.dir.path(), &["clone", "-q", "--depth=1", &url, clone.to_str().expect("text")]);
    let repo = Repo::open(&clone).expect("opens");
    let head = repo.head().expect("head").commit;
    let tree =
        repo.checkout(&world.dir.path().join("t"), &world.dir.path().join("i"), &head, "x").expect("out");
    assert_eq!(git(tree.path(), &["log", "--format=%s"]), "next");
    write(tree.path(), "a", "3\n");
    git(tree.path(), &["commit", "-qam", "own"]);
    let saved = repo.snapshot(&tree, "refs/tribunal/snap/s", "s", &crate::support::who()).expect("saves");
    assert_eq!(saved.own_commits.len(), 1);
    let commit = saved.commit.expect("a commit");
    assert_eq!(repo.subjects(&head, &commit, 9).expect("log").len(), 2);
}

#[test]
fn directories_and_files_change_places() {
    let world = World::new(&[("d/a", "1\n"), ("f", "1\n"), (".gitignore", "*.o\n")]);
    let files = [("d/a", ""), ("f", ""), ("x", "x\n")];
    let empty = world.commit(&world.head, &files, "empty");
    let new = world.commit(&empty, &[("d", "now a file\n"), ("f/in", "now a directory\n")], "swapped");
    write(&world.root(), "d/precious.o", "mine\n");
    let before = world.print();
    let answer = forward(&world.repo, &world.head, &new);
    let Forward::Refused(Refusal::InTheWay { paths }) = answer else { panic!("{answer:?}") };
    assert_eq!(texts(&paths), ["d/precious.o"]);
    assert_eq!(before.differences(&world.print()), [""; 0]);
    fs::remove_file(world.root().join("d/precious.o")).expect("removed");
    assert_eq!(forward(&world.repo, &world.head, &new), Forward::Done);
    assert_eq!(git(&world.root(), &["status", "--porcelain"]), "");
}

#[test]
fn modes_arrive() {
    let world = world();
    let tree = world.lane("l");
    fs::set_permissions(tree.path().join("a"), fs::Permissions::from_mode(0o755)).expect("chmod");
    let captured = tree.capture().expect("captures");
    let who = crate::support::who();
    let new = world
        .repo
        .commit(&captured.tree, std::slice::from_ref(&world.head), "x", &who, &who)
        .expect("commits");
    assert_eq!(forward(&world.repo, &world.head, &new), Forward::Done);
    let mode = fs::metadata(world.root().join("a")).expect("there").permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
}
