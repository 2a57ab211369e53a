//! The fast-forward of the user's branch and files, interrupted: the worktree is wholly the old commit or wholly the new
//! one, whoever dies and whenever, and what is neither is the user's.

use crate::show::Show;
use crate::stage::program::{Ended, Program};
use crate::stage::scenes::{PLAIN, Scene};
use crate::stage::{Res, Stage, at};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tribunal_core::run::Ending;
use tribunal_git::Repo;
use tribunal_git::fingerprint::{self, Fingerprint};

/// How many files the user has in one folder, and how many the builder makes of them.
const FILES: usize = 120;

/// A builder that changes half of the files in a folder, removes a quarter, adds as many, and swaps a file and a folder.
const MANY: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  { run = ["sh", "-c", """mkdir -p bin big/more; echo 'echo one' > bin/one.sh
    i=0; while [ $i -lt 60 ]; do echo "new $i" > big/f$i.txt; i=$((i+1)); done
    while [ $i -lt 90 ]; do rm big/f$i.txt; echo "added $i" > big/more/g$i.txt; i=$((i+1)); done
    rm -r swapped; echo 'now a file' > swapped; rm plain; mkdir plain; echo 'now a folder' > plain/in
    printf 'a\\n\\nb\\n' > crlf.txt"""] },
  { say = "SUMMARY: one.sh and the files.\nTASK: done" },
]
"##;

/// A project with many files of all kinds, whose plan claims no paths.
fn many() -> Show {
    let (folder, stage) = crate::stage();
    Scene { script: MANY, ..PLAIN }.set(&stage).unwrap();
    for n in 0..FILES {
        stage.write(&format!("big/f{n}.txt"), &format!("old {n}\n")).unwrap();
    }
    stage.write("swapped/in", "a folder\n").unwrap();
    stage.write("plain", "a file\n").unwrap();
    stage.write(".gitattributes", "crlf.txt text eol=crlf\n").unwrap();
    stage.write("crlf.txt", "a\r\nb\r\n").unwrap();
    stage.git(&["add", "-A"]).unwrap();
    stage.git(&["commit", "-q", "-m", "chore: many files"]).unwrap();
    Show::on(folder, stage).without_paths()
}

fn print(stage: &Stage) -> Fingerprint {
    fingerprint::take(&Repo::open(stage.project()).unwrap()).unwrap()
}

/// What of the user's is another than it was, but for the files of the moment that a run keeps there.
fn differences(stage: &Stage, before: &Fingerprint) -> Vec<String> {
    let mut all = before.differences(&print(stage));
    all.retain(|line| !line.starts_with("file .planning/."));
    all
}

/// Gives a command that is killed at a crash point.
fn dies_at(stage: &Stage, command: &str, point: &str) {
    let at = [(tribunal_engine::crash::AT, OsStr::new(point))];
    let ended = stage.program().run(&[command], &at).unwrap();
    assert_eq!(ended.signal, Some(9), "{point}: {}", ended.said());
}

/// How many of the changed files are the new ones.
fn arrived(stage: &Stage) -> usize {
    let text = |n: usize| std::fs::read_to_string(stage.project().join(format!("big/f{n}.txt")));
    let changed = (0..60).filter(|n| text(*n).is_ok_and(|text| text.starts_with("new"))).count();
    changed + (60..90).filter(|n| text(*n).is_err()).count()
}

/// Everything is at the new commit, and nothing of the fast-forward is left.
#[track_caller]
fn landed(show: &Show) {
    let stage = &show.stage;
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(stage.git(&["status", "--porcelain"]).unwrap(), "");
    assert_eq!(arrived(stage), 90);
    assert_eq!(std::fs::read(stage.project().join("crlf.txt")).unwrap(), b"a\r\n\r\nb\r\n");
    nothing_left(show);
}

#[track_caller]
fn nothing_left(show: &Show) {
    let stage = &show.stage;
    for left in [".git/index.lock", ".git/index.tribunal", ".git/HEAD.lock", ".git/refs/heads/main.lock"] {
        assert!(!stage.project().join(left).exists(), "{left} is left");
    }
    assert!(!stage.run_dir(&show.run()).join("forward").exists(), "the notes are left");
}

/// Everything dies at once, again and again: each command first puts back what the one before left.
#[test]
fn hostile_power_cut_in_the_fast_forward() {
    let show = many();
    let before = print(&show.stage);
    dies_at(&show.stage, "run", "forward:noted");
    assert_eq!(arrived(&show.stage), 0);
    for (point, some) in [
        ("forward:path#1", 1..60),
        ("forward:path#40", 1..60),
        ("forward:path#80", 31..90),
        ("forward:index", 90..91),
        ("forward:moving", 90..91),
    ] {
        dies_at(&show.stage, "resume", point);
        assert!(some.contains(&arrived(&show.stage)), "{point}: {}", arrived(&show.stage));
        assert!(show.stage.project().join(".git/index.lock").exists(), "the dead one's lock is there");
        assert!(!differences(&show.stage, &before).is_empty(), "{point}: it is half-way");
    }
    let ended = show.stage.tribunal(&["resume"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    landed(&show);
}

/// What was put back is byte for byte what it was; a file that is neither old nor new is the user's, and is named.
#[test]
fn hostile_power_cut_and_the_users_own_files() {
    let show = many();
    let before = print(&show.stage);
    dies_at(&show.stage, "run", "forward:path#100");
    assert!(arrived(&show.stage) > 30);
    show.stage.write("big/f3.txt", "mine\n").unwrap();
    show.stage.write("big/more/mine.txt", "mine\n").unwrap();
    let held = show.stage.tribunal(&["resume"]).unwrap();
    assert_eq!(held.code, Some(4), "{}", held.said());
    assert!(held.said().contains("changes that are not committed: big/f3.txt"), "{}", held.said());
    assert!(held.said().contains("neither the old nor the new: big/f3.txt"), "{}", held.said());
    let differ = differences(&show.stage, &before);
    let names: Vec<&str> = differ.iter().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(names, ["file big/f3.txt", "file big/more", "file big/more/mine.txt"], "{differ:?}");
    nothing_left(&show);
    // When the user has made up their mind, it lands beside what is theirs.
    show.stage.git(&["checkout", "-q", "big/f3.txt"]).unwrap();
    let ended = show.stage.tribunal(&["land"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert_eq!(std::fs::read_to_string(show.stage.project().join("big/more/mine.txt")).unwrap(), "mine\n");
    assert_eq!(arrived(&show.stage), 90);
}

/// A branch that has the result already is followed by its files: they are finished, not put back.
#[test]
fn a_cut_fast_forward_whose_branch_has_moved_is_finished() {
    let show = many();
    dies_at(&show.stage, "run", "forward:path#80");
    let result = format!("refs/tribunal/{}/head", show.run());
    show.stage.git(&["update-ref", "refs/heads/main", &result]).unwrap();
    let ended = show.stage.tribunal(&["resume"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    landed(&show);
}

/// A git that dies, and takes Tribunal with it, while it has the branch locked.
const DIES_WHILE_MOVING: &str = r#"#!/bin/sh
case "$*" in
*"tribunal: fast-forward"*)
  mkfifo '{ROOT}/pipe'
  '{GIT}' "$@" < '{ROOT}/pipe' & git=$!
  exec 3> '{ROOT}/pipe'
  head -n 3 >&3
  while ! [ -s '{PROJECT}/.git/refs/heads/main.lock' ]; do :; done
  kill -9 $git
  kill -9 $PPID
  exit 1;;
esac
exec '{GIT}' "$@"
"#;

/// A git that dies, and takes Tribunal with it, when it has begun to write the new files.
const DIES_WHILE_STAGING: &str = r#"#!/bin/sh
case "$*" in
*"/forward/new"*read-tree*)
  '{GIT}' "$@" & git=$!
  while ! [ -e '{PROJECT}'/.tribunal/runs/*/forward/new/big ] && kill -0 $git; do :; done
  kill -9 $git
  kill -9 $PPID
  exit 1;;
esac
exec '{GIT}' "$@"
"#;

/// Starts the program with a git of the test's before the real one.
fn with_git(stage: &Stage, script: &str, args: &[&str]) -> Res<Ended> {
    let dir = stage.root().join("git-that-dies");
    std::fs::create_dir_all(&dir).map_err(at(dir.display()))?;
    let git = stage.program().other("sh", &["-c", "command -v git"])?.stdout;
    let text = script
        .replace("{ROOT}", &stage.root().display().to_string())
        .replace("{PROJECT}", &stage.project().display().to_string())
        .replace("{GIT}", git.trim());
    std::fs::write(dir.join("git"), text).map_err(at("git"))?;
    std::fs::set_permissions(dir.join("git"), std::fs::Permissions::from_mode(0o755)).map_err(at("git"))?;
    let path = stage.program().path_after(&dir);
    stage.program().run(args, &[("PATH", &path)])
}

#[test]
fn hostile_power_cut_while_git_holds_the_branch() {
    let show = many();
    let ended = with_git(&show.stage, DIES_WHILE_MOVING, &["run"]).unwrap();
    assert_eq!(ended.signal, Some(9), "{}", ended.said());
    assert!(show.stage.project().join(".git/refs/heads/main.lock").exists(), "the dead git's lock is there");
    assert_eq!(arrived(&show.stage), 90);
    let ended = show.stage.tribunal(&["resume"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    landed(&show);
}

#[test]
fn a_power_cut_while_git_makes_the_files_changes_nothing() {
    let show = many();
    let before = print(&show.stage);
    let ended = with_git(&show.stage, DIES_WHILE_STAGING, &["run"]).unwrap();
    assert_eq!(ended.signal, Some(9), "{}", ended.said());
    let differ = differences(&show.stage, &before);
    assert!(differ.iter().all(|line| line.starts_with("git index.lock:")), "{differ:?}");
    let ended = show.stage.tribunal(&["resume"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    landed(&show);
}

/// A lock that is not ours is never taken, whatever died.
#[test]
fn a_lock_of_somebody_else_stays() {
    let show = many();
    dies_at(&show.stage, "run", "forward:path#70");
    // The user removed the dead one's lock, and their own git is at work.
    show.stage.write(".git/index.lock", "").unwrap();
    let half = arrived(&show.stage);
    let held = show.stage.tribunal(&["resume"]).unwrap();
    assert_eq!(held.code, Some(4), "{}", held.said());
    assert!(held.said().contains("index.lock"), "{}", held.said());
    assert_eq!(arrived(&show.stage), half, "nothing was written under another's lock");
    std::fs::remove_file(show.stage.project().join(".git/index.lock")).unwrap();
    let ended = show.stage.tribunal(&["land"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    landed(&show);
}

/// A folder or file mounted over itself, for as long as this lives; `None` where that may not be done.
struct Bound(Program, String);

impl Bound {
    fn new(stage: &Stage, path: &str, options: Option<&str>) -> Option<Bound> {
        let place = stage.project().join(path).display().to_string();
        let mount =
            |args: &[&str]| stage.program().other("mount", args).is_ok_and(|ended| ended.code == Some(0));
        if !mount(&["--bind", &place, &place]) {
            return None;
        }
        let bound = Bound(stage.program().clone(), place);
        options.is_none_or(|options| mount(&["-o", options, &bound.1])).then_some(bound)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = self.0.other("umount", &["-l", &self.1]);
    }
}

/// A folder that nobody may write, for as long as this lives.
enum Closed {
    /// By a mount.
    Mounted { _bound: Bound },
    /// By its mode: enough for an ordinary user.
    Shut(std::path::PathBuf),
}

impl Closed {
    fn new(stage: &Stage, path: &str) -> Option<Closed> {
        if let Some(bound) = Bound::new(stage, path, Some("remount,bind,ro")) {
            return Some(Closed::Mounted { _bound: bound });
        }
        let place = stage.project().join(path);
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o555)).ok()?;
        let shut = Closed::Shut(place.clone());
        std::fs::write(place.join("probe"), "").is_err().then_some(shut)
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        if let Closed::Shut(place) = self {
            let _ = std::fs::remove_file(place.join("probe"));
            let _ = std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755));
        }
    }
}

/// Says on standard error what could not be tested here.
fn skipped(what: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "skipped: this machine lets nobody make {what}");
}

/// A folder of the worktree that cannot be written is found before anything is.
#[test]
fn hostile_folder_that_cannot_be_written() {
    let mut show = many();
    let Some(shut) = Closed::new(&show.stage, "big") else {
        return skipped("a folder that cannot be written");
    };
    let held = show.expect(&["run"], 4);
    assert!(held.said().contains("cannot be written"), "{}", held.said());
    assert!(held.said().contains("big/"), "{}", held.said());
    show.untouched();
    nothing_left(&show);
    drop(shut);
    show.expect(&["land"], 0);
    landed(&show);
}

/// What only shows when it is tried is put back at once: here a file that is mounted over itself.
#[test]
fn hostile_file_that_cannot_be_replaced() {
    let mut show = many();
    let Some(bound) = Bound::new(&show.stage, "big/f40.txt", None) else { return skipped("a mount") };
    let held = show.expect(&["run"], 4);
    assert!(held.said().contains("big/f40.txt cannot be written"), "{}", held.said());
    show.untouched();
    nothing_left(&show);
    drop(bound);
    show.expect(&["land"], 0);
    landed(&show);
}

/// A folder on another file system is written like any other.
#[test]
fn a_folder_on_another_mount_is_written() {
    let mut show = many();
    let Some(_bound) = Bound::new(&show.stage, "big", None) else { return skipped("a mount") };
    show.expect(&["run"], 0);
    landed(&show);
    let odd = std::fs::read_dir(show.stage.project().join("big")).unwrap().flatten();
    let odd: Vec<_> = odd.map(|entry| entry.file_name()).filter(|name| hidden(Path::new(name))).collect();
    assert!(odd.is_empty(), "{odd:?}");
}

fn hidden(name: &Path) -> bool {
    name.as_os_str().to_string_lossy().starts_with('.')
}
