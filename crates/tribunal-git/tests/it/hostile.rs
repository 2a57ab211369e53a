//! An agent that wants us to run its program. A canary file says whether it succeeded.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tribunal_git::Tree;

use crate::support::{World, git, path, script, who, write};

/// Sets every way git knows to run a program to one that leaves a canary.
fn arm(git_dir: &Path, evil: &Path) {
    let evil = evil.to_str().expect("text");
    let mut config = String::from("[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
    for key in ["fsmonitor", "sshCommand", "pager", "editor", "hooksPath", "alternateRefsCommand", "askPass"]
    {
        let value = if key == "hooksPath" { evil.rsplit_once('/').expect("a dir").0 } else { evil };
        config.push_str(&format!("\t{key} = {value}\n"));
    }
    config.push_str(&format!("[diff]\n\texternal = {evil}\n[gpg]\n\tprogram = {evil}\n"));
    for kind in ["filter", "diff", "merge"] {
        config.push_str(&format!("[{kind} \"evil\"]\n"));
        for key in ["clean", "smudge", "process", "textconv", "command", "driver"] {
            config.push_str(&format!("\t{key} = {evil}\n"));
        }
        config.push_str("\trequired = true\n");
    }
    fs::write(git_dir.join("config"), config).expect("write");
    for hook in
        ["pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"]
    {
        script(&git_dir.join("hooks").join(hook), &format!("#!/bin/sh\nexec {evil}\n"));
    }
}

struct Trap {
    evil: PathBuf,
    canary: PathBuf,
}

fn trap(world: &World) -> Trap {
    let (evil, canary) = (world.dir.path().join("evil/run"), world.dir.path().join("canary"));
    script(&evil, &format!("#!/bin/sh\ntouch '{}'\ncat\n", canary.display()));
    for hook in ["pre-commit", "post-checkout", "post-index-change", "reference-transaction"] {
        fs::copy(&evil, evil.with_file_name(hook)).expect("copies");
    }
    Trap { evil, canary }
}

/// Everything we do with a tree and what comes of it.
fn everything(world: &World, tree: &Tree) {
    let repo = &world.repo;
    let captured = tree.capture().expect("captures");
    let base = tree.base().clone();
    let head =
        repo.commit(&captured.tree, std::slice::from_ref(&base), "agent", &who(), &who()).expect("commits");
    let onto = world.commit(&base, &[("stranger", "s\n"), ("text", "changed by another\n1\n")], "other");
    repo.changes(&base, &head).expect("diff");
    repo.diff_text(&base, &head, &[], 1 << 20).expect("diff");
    repo.patch_id(&base, &head).expect("id");
    let replayed = repo.replay(&base, &head, &onto, &who()).expect("replays");
    if let tribunal_git::Rebased::Clean { head: new, .. } = replayed {
        repo.carries_over(&base, &head, &onto, &new, &[]).expect("answers");
    }
    let lane = world.dir.path().join("lanes/reviewer");
    fs::create_dir_all(&lane).expect("mkdir");
    let reviewer =
        repo.checkout(&lane.join("tree"), &lane.join("index"), &head, "reviewer").expect("checks out");
    reviewer.compare().expect("compares");
    tree.compare().expect("compares");
    repo.snapshot(tree, "refs/tribunal/snap/h", "s", &who()).expect("saves");
    repo.file_at(&head, &path("text")).expect("reads");
    repo.dirty(&[]).expect("answers");
}

fn attributes() -> &'static str {
    "* filter=evil diff=evil merge=evil text=auto\n"
}

/// Prepares a git directory, given the program to run.
type Plant<'a> = &'a dyn Fn(&Path, &Path);

#[test]
fn no_configuration_of_an_agent_runs() {
    let kinds: [(&str, Plant); 4] = [
        ("its own directory", &|git_dir, evil| arm(git_dir, evil)),
        ("a file that points elsewhere", &|git_dir, evil| {
            let other = evil.with_file_name("other");
            git(evil.parent().expect("a dir"), &["init", "-q", "other"]);
            arm(&other.join(".git"), evil);
            fs::remove_dir_all(git_dir).expect("removed");
            fs::write(git_dir, format!("gitdir: {}/.git\n", other.display())).expect("write");
        }),
        ("a link", &|git_dir, evil| {
            let other = evil.with_file_name("other");
            fs::rename(git_dir, &other).expect("renamed");
            arm(&other, evil);
            symlink(&other, git_dir).expect("link");
        }),
        ("repositories inside", &|git_dir, evil| {
            let inside = git_dir.with_file_name("inside");
            fs::create_dir(&inside).expect("mkdir");
            write(&inside, "f", "f\n");
            git(&inside, &["init", "-q"]);
            git(&inside, &["add", "f"]);
            git(&inside, &["commit", "-qm", "f"]);
            arm(&inside.join(".git"), evil);
        }),
    ];
    for (name, plant) in kinds {
        let world = World::new(&[("text", "1\n"), ("b", "b\n")]);
        let trap = trap(&world);
        let (before, tree) = (world.print(), world.lane("l"));
        write(tree.path(), "text", "2\n");
        write(tree.path(), ".gitattributes", attributes());
        write(tree.path(), "new", "n\n");
        plant(&tree.path().join(".git"), &trap.evil);
        everything(&world, &tree);
        assert!(!trap.canary.exists(), "{name}: the agent's program ran");
        assert_eq!(before.differences(&world.print()), [""; 0], "{name}");
    }
}

#[test]
fn attributes_of_an_agent_cannot_call_the_users_programs() {
    let world = World::new(&[("text", "1\n"), ("b", "b\n")]);
    let trap = trap(&world);
    let config = world.root().join(".git/config");
    let mut ours = fs::read_to_string(&config).expect("reads");
    arm(&world.root().join(".git"), &trap.evil);
    ours.push_str(
        &fs::read_to_string(&config)
            .expect("reads")
            .replace("[core]\n\trepositoryformatversion = 0\n\tbare = false\n", "[core]\n"),
    );
    fs::write(&config, ours).expect("write");
    let repo = tribunal_git::Repo::open(&world.root()).expect("opens");
    let armed = World { head: world.head.clone(), repo, dir: world.dir };
    let (before, tree) = (armed.print(), armed.lane("l"));
    write(tree.path(), "text", "2\n");
    write(tree.path(), ".gitattributes", attributes());
    everything(&armed, &tree);
    assert!(!trap.canary.exists(), "a program ran");
    assert_eq!(before.differences(&armed.print()), [""; 0]);
}

#[test]
fn a_submodule_the_agent_fills_runs_nothing() {
    let other = World::new(&[("x", "1\n")]);
    let world = World::made(&[], |root| {
        write(root, "text", "1\n");
        git(root, &["submodule", "add", "-q", other.root().to_str().expect("text"), "mod"]);
    });
    let trap = trap(&world);
    let tree = world.lane("l");
    let place = tree.path().join("mod");
    git(&place, &["init", "-q"]);
    write(&place, "x", "x\n");
    git(&place, &["add", "x"]);
    git(&place, &["commit", "-qm", "x"]);
    arm(&place.join(".git"), &trap.evil);
    write(&place, "x", "dirty\n");
    write(
        tree.path(),
        ".gitmodules",
        "[submodule \"mod\"]\n\tpath = mod\n\turl = ./x\n\tupdate = !touch canary\n\tignore = none\n",
    );
    everything(&world, &tree);
    assert!(!trap.canary.exists(), "a program ran");
}

#[test]
fn the_trap_works() {
    // Without this, the tests above would prove nothing.
    let world = World::new(&[("text", "1\n")]);
    let trap = trap(&world);
    let tree = world.lane("l");
    arm(&tree.path().join(".git"), &trap.evil);
    let _ = std::process::Command::new("git").args(["status"]).current_dir(tree.path()).output();
    assert!(trap.canary.exists());
}

#[test]
fn a_tree_that_became_a_link_is_refused() {
    let world = World::new(&[("a", "1\n")]);
    let tree = world.lane("l");
    let away = world.dir.path().join("away");
    fs::rename(tree.path(), &away).expect("renamed");
    symlink(&away, tree.path()).expect("link");
    assert!(tree.capture().is_err());
}

#[test]
fn an_index_that_became_a_link_writes_nothing_of_the_users() {
    let world = World::new(&[("a", "1\n"), ("b", "2\n")]);
    let users = world.root().join(".git/index");
    let before = fs::read(&users).expect("reads");
    for changed in [true, false] {
        let tree = world.lane(&format!("lane-{changed}"));
        if changed {
            write(tree.path(), "a", "changed\n");
        }
        let expect = tree.capture().expect("captures").tree;
        fs::remove_file(tree.index()).expect("removed");
        symlink(&users, tree.index()).expect("links");
        assert_eq!(tree.capture().expect("captures").tree, expect, "{changed}");
        assert!(tree.index().symlink_metadata().expect("there").is_file(), "it is ours again");
        // A link that leads nowhere makes no file there either.
        let nowhere = world.dir.path().join("nowhere");
        fs::remove_file(tree.index()).expect("removed");
        symlink(&nowhere, tree.index()).expect("links");
        assert_eq!(tree.compare().expect("compares").is_empty(), !changed);
        assert!(!nowhere.exists());
        assert_eq!(fs::read(&users).expect("reads"), before, "{changed}");
    }
}

#[test]
fn a_planted_repository_hides_nothing() {
    for kind in ["repository", "file", "bare-ish"] {
        let world = World::new(&[("src/a", "1\n"), ("src/deep/b", "1\n"), ("z", "z\n")]);
        let tree = world.lane("l");
        let src = tree.path().join("src");
        match kind {
            "repository" => {
                git(&src, &["init", "-q"]);
                git(&src, &["commit", "-q", "--allow-empty", "-m", "x"]);
            }
            "file" => write(&src, ".git", "gitdir: ../.git\n"),
            _ => write(&src, ".git/HEAD", "ref: refs/heads/x\n"),
        }
        write(&src, "a", "2\n");
        write(&src, "new", "n\n");
        write(&src, "deep/new", "n\n");
        write(&src, "other/new", "n\n");
        fs::remove_file(src.join("deep/b")).expect("removed");
        let captured = tree.capture().expect("captures");
        let changed = world.repo.changed_paths(&world.head, &captured.tree).expect("diff");
        let expect = ["src/a", "src/deep/b", "src/deep/new", "src/new", "src/other/new"];
        assert_eq!(crate::support::texts(&changed), expect, "{kind}");
        assert!(
            captured.problems.contains(&tribunal_git::Problem::Nested { path: path("src") }),
            "{captured:?}"
        );
    }
}

#[test]
fn pipes_do_not_make_us_wait() {
    let world = World::new(&[("src/a", "1\n"), ("src/.gitignore", "x\n")]);
    let tree = world.lane("l");
    let nested = tree.path().join("nested");
    write(&nested, "f", "f\n");
    git(tree.path(), &["init", "-q", "nested"]);
    for pipe in [
        ".gitignore",
        "src/.gitignore",
        ".gitattributes",
        "new/.gitignore",
        "nested/.git/HEAD",
        "nested/.git/config",
    ] {
        let place = tree.path().join(pipe);
        fs::create_dir_all(place.parent().expect("a parent")).expect("mkdir");
        let _ = fs::remove_file(&place);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &place, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
    }
    write(tree.path(), "new/b", "b\n");
    let captured = tree.capture().expect("captures");
    assert_eq!(captured.problems.len(), 6 + 1, "the pipes and the repository: {captured:?}");
    let changed = world.repo.changed_paths(&world.head, &captured.tree).expect("diff");
    assert_eq!(crate::support::texts(&changed), ["nested/f", "new/b", "src/.gitignore"]);
}
