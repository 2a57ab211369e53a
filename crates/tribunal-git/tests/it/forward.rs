//! The one operation on what is the user's: done whole, or not at all.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use tribunal_git::{Forward, ForwardProbe, GitPath, Refusal, Repo};

use crate::support::{World, git, path, script, texts, write};

fn ignoring() -> [GitPath; 1] {
    [path(".tribunal/")]
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
        let done = repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
        assert_eq!(done, Forward::Done);
    }
    assert_eq!(repo.fast_forward_probe("main", &world.head, &new).expect("probes"), ForwardProbe::Done);
    assert_eq!(git(&world.root(), &["status", "--porcelain"]), "?? .tribunal/");
    assert_eq!(fs::read(world.root().join("new/file")).expect("there"), b"n\n");
    assert!(!world.root().join("gone").exists());
    assert_eq!(git(&world.root(), &["rev-parse", "HEAD"]), new.as_str());
    assert_eq!(git(&world.root(), &["symbolic-ref", "HEAD"]), "refs/heads/main");
    git(&world.root(), &["commit", "-q", "--allow-empty", "-m", "user goes on"]);
    assert_eq!(repo.fast_forward_probe("main", &world.head, &new).expect("probes"), ForwardProbe::Done);
}

#[test]
fn whatever_is_in_the_way_is_left_alone_and_named() {
    let check = |name: &str, change: &dyn Fn(&World), expect: &dyn Fn(&Refusal) -> bool| {
        let world = world();
        let new = next(&world);
        change(&world);
        let before = world.print();
        match world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers") {
            Forward::Refused { why, command } => {
                assert!(expect(&why), "{name}: {why:?}");
                assert!(command.starts_with("git ") && command.contains(new.as_str()), "{command}");
            }
            Forward::Done => panic!("{name} was done"),
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
    check(
        "elsewhere",
        &|w| {
            git(&w.root(), &["checkout", "-q", "-b", "other"]);
        },
        &|why| matches!(why, Refusal::NotCheckedOutHere { head: Some(head) } if head == "other"),
    );
    check(
        "detached",
        &|w| {
            git(&w.root(), &["checkout", "-q", "--detach"]);
        },
        &|why| matches!(why, Refusal::NotCheckedOutHere { head: None }),
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
        let done = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
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

/// Whatever held the branch back, the command that is offered brings the result, and nothing of the user's is lost.
#[test]
fn the_offered_command_works() {
    let check = |name: &str, change: &dyn Fn(&World), after: &dyn Fn(&World)| {
        let world = world();
        let new = next(&world);
        change(&world);
        let answer = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
        let Forward::Refused { command, .. } = answer else { panic!("{name}: {answer:?}") };
        let output = given(&world, &command);
        assert!(output.status.success(), "{name}: {command}: {output:?}");
        git(&world.root(), &["merge-base", "--is-ancestor", new.as_str(), "main"]);
        after(&world);
    };
    let file = |w: &World, name: &str| fs::read_to_string(w.root().join(name)).expect("there");
    let nothing = |_: &World| {};
    check("changed", &|w| write(&w.root(), "dir/b", "mine\n"), &|w| assert_eq!(file(w, "dir/b"), "mine\n"));
    check(
        "staged",
        &|w| {
            write(&w.root(), "dir/b", "mine\n");
            git(&w.root(), &["add", "dir/b"]);
        },
        &|w| assert_eq!(git(&w.root(), &["diff", "--cached", "--name-only"]), "dir/b"),
    );
    check("changed by both", &|w| write(&w.root(), "a", "mine\n"), &|w| {
        assert!(git(&w.root(), &["show", "stash@{0}:a"]).contains("mine"));
    });
    let kept = |w: &World| {
        assert_eq!(file(w, "new/file"), "n\n");
        assert_eq!(git(&w.root(), &["show", "stash@{0}^3:new/file"]), "mine");
        assert_eq!(file(w, "notes"), "notes\n");
    };
    let lies = |w: &World| {
        write(&w.root(), "new/file", "mine\n");
        write(&w.root(), "notes", "notes\n");
    };
    check("in the way", &lies, &kept);
    check(
        "ignored and in the way",
        &|w| {
            write(&w.root(), ".git/info/exclude", "new\n");
            lies(w);
        },
        &kept,
    );
    check(
        "in the way, and changed",
        &|w| {
            lies(w);
            write(&w.root(), "dir/b", "mine\n");
        },
        &|w| assert_eq!(file(w, "dir/b"), "mine\n"),
    );
    check("a file where a folder must be", &|w| write(&w.root(), "new", "mine\n"), &|w| {
        assert_eq!(git(&w.root(), &["show", "stash@{0}^3:new"]), "mine");
    });
    let moved = |w: &World| drop(git(&w.root(), &["commit", "-q", "--allow-empty", "-m", "user"]));
    check("moved", &moved, &nothing);
    check(
        "moved, with something staged",
        &|w| {
            moved(w);
            write(&w.root(), "dir/b", "mine\n");
            git(&w.root(), &["add", "dir/b"]);
        },
        &|w| assert_eq!(file(w, "dir/b"), "mine\n"),
    );
    let other = |w: &World| drop(git(&w.root(), &["checkout", "-q", "-b", "other"]));
    check("elsewhere", &other, &|w| {
        assert_eq!(git(&w.root(), &["symbolic-ref", "--short", "HEAD"]), "other")
    });
    check(
        "moved and elsewhere",
        &|w| {
            moved(w);
            other(w);
        },
        &|w| assert_eq!(git(&w.root(), &["rev-parse", "other^"]), w.head.as_str()),
    );
    check(
        "deleted",
        &|w| {
            other(w);
            git(&w.root(), &["branch", "-qD", "main"]);
        },
        &nothing,
    );
}

/// A command as a person gives it to their shell.
fn given(world: &World, command: &str) -> std::process::Output {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", command]).current_dir(world.root()).output().expect("starts")
}

/// Names that git or a shell could take for more than a name.
const ODD: [&str; 24] = [
    "_config.yml",
    "__init__.py",
    "-dash",
    "@at",
    "#no",
    "~home",
    "%p",
    "&and",
    ",c",
    "=is",
    ";end",
    "<in",
    ">out",
    "'one",
    "\"two",
    "`back",
    "!not",
    "^up",
    ":colon",
    "(paren",
    "a*b",
    "[x]",
    "b\\s",
    "my own",
];

/// Names that git could take for more than a name: each is put aside by the offered command, from any folder.
#[test]
fn the_offered_command_takes_names_as_they_are() {
    let world = world();
    let all = ODD.to_vec();
    let files: Vec<_> = all.iter().map(|name| (*name, "theirs\n")).collect();
    let new = world.commit(&world.head, &files, "odd names");
    all.iter().for_each(|name| write(&world.root(), name, "mine\n"));
    let answer = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
    let Forward::Refused { command, .. } = answer else { panic!("{answer:?}") };
    let output = given(&world, &format!("cd dir && {command}"));
    assert!(output.status.success(), "{command}: {output:?}");
    assert_eq!(git(&world.root(), &["rev-parse", "main"]), new.as_str());
    for name in all {
        assert_eq!(fs::read(world.root().join(name)).expect("there"), b"theirs\n", "{name}");
        assert_eq!(git(&world.root(), &["show", &format!("stash@{{0}}^3:{name}")]), "mine", "{name}");
    }
}

/// A branch that is checked out in another worktree is moved there: git refuses to do it from here.
#[test]
fn the_offered_command_works_where_the_branch_is_checked_out() {
    type Change = fn(&World, &std::path::Path);
    let change_there: Change = |_, there| write(there, "a", "1\n2\n3\nmine\n");
    let moved: Change = |_, there| drop(git(there, &["commit", "-q", "--allow-empty", "-m", "user"]));
    let gone: Change = |_, there| fs::remove_dir_all(there).expect("taken away");
    let nothing: Change = |_, _| {};
    let check = |name: &str, change: Change| {
        let world = World::new(&[("a", "1\n2\n3\n"), ("dir/b", "1\n"), (".gitignore", "ignored\n")]);
        let new = world.commit(&world.head, &[("a", "0\n1\n2\n3\n"), ("new/file", "n\n")], "next");
        let folder = tempfile::tempdir().expect("a folder");
        let there = folder.path().join(name);
        git(&world.root(), &["checkout", "-q", "-b", "other"]);
        git(&world.root(), &["worktree", "add", "-q", there.to_str().expect("text"), "main"]);
        change(&world, &there);
        let answer = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
        let Forward::Refused { command, .. } = answer else { panic!("{answer:?}") };
        let output = given(&world, &format!("cd dir && {command}"));
        assert!(output.status.success(), "{command}: {output:?}");
        git(&world.root(), &["merge-base", "--is-ancestor", new.as_str(), "main"]);
        assert_eq!(git(&world.root(), &["symbolic-ref", "--short", "HEAD"]), "other", "{command}");
        if there.exists() {
            assert_eq!(fs::read(there.join("new/file")).expect("there"), b"n\n", "{command}");
            assert_eq!(git(&there, &["rev-parse", "HEAD"]), git(&there, &["rev-parse", "main"]));
        }
        fs::read_to_string(there.join("a")).unwrap_or_default()
    };
    for name in ODD.into_iter().chain(["plain", "it's \"two\"", "$(id)", "a && b", "ünd"]) {
        assert_eq!(check(name, nothing), "0\n1\n2\n3\n", "{name}");
    }
    assert_eq!(check("changed there", change_there), "0\n1\n2\n3\nmine\n");
    assert_eq!(check("moved there", moved), "0\n1\n2\n3\n");
    assert_eq!(check("gone", gone), "");
}

/// What cannot be put aside by name stays, to the byte, also where git ignores it: the offered command fails.
#[test]
fn the_offered_command_overwrites_nothing_it_cannot_name() {
    let names: [&[u8]; 4] = [b"ign\xff", b"ign\x01", b"ign\nored", b"ign  ored"];
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
        let answer = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
        let Forward::Refused { why: Refusal::InTheWay { .. }, command } = answer else {
            panic!("{name:?}: {answer:?}")
        };
        let output = given(&world, &command);
        assert!(!output.status.success(), "{command}: {output:?}");
        assert_eq!(fs::read(&mine).expect("there"), b"precious", "{command}");
        assert_eq!(git(&world.root(), &["rev-parse", "main"]), world.head.as_str());
        assert_eq!(git(&world.root(), &["stash", "list"]), "");
    }
}

/// A branch that went back is fast-forwarded by the merge that is offered: it overwrites nothing either.
#[test]
fn a_branch_that_went_back_keeps_what_is_ignored() {
    let world = world();
    let second = world.commit(&world.head, &[("dir/b", "2\n")], "second");
    let new = world.commit(&second, &[("new/file", "n\n")], "third");
    write(&world.root(), ".git/info/exclude", "new\n");
    write(&world.root(), "new/file", "precious");
    for branch in ["main", "other"] {
        if branch == "other" {
            git(&world.root(), &["checkout", "-q", "-b", "other"]);
        }
        let answer = world.repo.fast_forward("main", &second, &new, &ignoring()).expect("answers");
        let Forward::Refused { why: Refusal::Moved { .. }, command } = answer else { panic!("{answer:?}") };
        assert!(!given(&world, &command).status.success(), "{command}");
        assert_eq!(fs::read(world.root().join("new/file")).expect("there"), b"precious", "{command}");
    }
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
    let answer = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
    assert!(matches!(answer, Forward::Refused { why: Refusal::InTheWay { .. }, .. }), "{answer:?}");
    assert_eq!(before.differences(&world.print()), [""; 0]);
    fs::remove_dir_all(world.root().join("new")).expect("removed");
    // So is what really changed.
    for (file, text) in [("dir/b", "mine\n"), ("a", "0\n")] {
        let was = fs::read_to_string(world.root().join(file)).expect("there");
        write(&world.root(), file, text);
        touch(&world, file);
        let before = world.print();
        let answer = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
        assert!(matches!(answer, Forward::Refused { why: Refusal::Dirty { .. }, .. }), "{answer:?}");
        assert_eq!(before.differences(&world.print()), [""; 0]);
        write(&world.root(), file, &was);
        touch(&world, file);
    }
    // And another git at work, or another of us: its lock is not ours to take.
    let lock = ".git/index.lock";
    for holder in ["".to_owned(), format!("tribunal {}", std::process::id()), "tribunal x".to_owned()] {
        write(&world.root(), lock, &holder);
        let before = world.print();
        assert!(world.repo.fast_forward("main", &world.head, &new, &ignoring()).is_err(), "{holder}");
        assert_eq!(before.differences(&world.print()), [""; 0], "{holder}");
        fs::remove_file(world.root().join(lock)).expect("removed");
    }
    // But one of us who died there has no more to do with it. No process has such a number.
    write(&world.root(), lock, "tribunal 4294967295");
    write(&world.root(), ".git/index.tribunal", "half");
    let done = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
    assert_eq!(done, Forward::Done);
    assert_eq!(git(&world.root(), &["status", "--porcelain"]), "");
    assert_eq!(git(&world.root(), &["rev-parse", "HEAD"]), new.as_str());
    assert_eq!(fs::read(world.root().join("a")).expect("there"), b"2\n");
    assert_eq!(left(&world), [""; 0]);
}

#[test]
fn a_copied_project_is_as_clean_as_the_first() {
    let world = world();
    let new = next(&world);
    let copy = world.dir.path().join("copy");
    let copied = std::process::Command::new("cp").arg("-a").arg(world.root()).arg(&copy).status();
    assert!(copied.expect("starts").success());
    let repo = Repo::open(&copy).expect("opens");
    let done = repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
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
        let done = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
        assert_eq!(done, Forward::Done, "{attributes}");
        assert_eq!(git(&world.root(), &["status", "--porcelain"]), "", "{attributes}");
        assert_eq!(fs::read(world.root().join("a")).expect("there"), b"3\r\n", "{attributes}");
    }
    // Whether a file that passes through a filter of the user's has changed cannot be told without it.
    let (world, new) = made(["filter.up.clean", "tr a-z A-Z"], "b filter=up\n");
    let before = world.print();
    let answer = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
    assert!(matches!(answer, Forward::Refused { .. }), "{answer:?}");
    assert_eq!(before.differences(&world.print()), [""; 0]);
}

#[test]
fn what_does_not_follow_is_refused() {
    let world = world();
    let new = next(&world);
    let other = world.commit(&world.head, &[("x", "x\n")], "other");
    git(&world.root(), &["reset", "-q", "--hard", other.as_str()]);
    let answer = world.repo.fast_forward("main", &other, &new, &ignoring()).expect("answers");
    assert!(matches!(answer, Forward::Refused { why: Refusal::NotAhead, .. }), "{answer:?}");
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
    let done = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
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
    let done = repo.fast_forward("main", &world.head, &one, &[]).expect("answers");
    assert_eq!(done, Forward::Done);
    let two = world.commit(&one, &[(".gitattributes", "*.x filter=mine\n"), ("f.x", "x\n")], "two");
    let answer = repo.fast_forward("main", &one, &two, &[]).expect("answers");
    let Forward::Refused { why: Refusal::Filtered { paths }, .. } = answer else { panic!("{answer:?}") };
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
    let done = world.repo.fast_forward("main", &world.head, &new, &ignoring()).expect("answers");
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
    let answer = world.repo.fast_forward("main", &world.head, &new, &[]).expect("answers");
    let Forward::Refused { why: Refusal::InTheWay { paths }, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(texts(&paths), ["d/precious.o"]);
    assert_eq!(before.differences(&world.print()), [""; 0]);
    fs::remove_file(world.root().join("d/precious.o")).expect("removed");
    assert_eq!(world.repo.fast_forward("main", &world.head, &new, &[]).expect("answers"), Forward::Done);
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
    assert_eq!(world.repo.fast_forward("main", &world.head, &new, &[]).expect("answers"), Forward::Done);
    let mode = fs::metadata(world.root().join("a")).expect("there").permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
}
