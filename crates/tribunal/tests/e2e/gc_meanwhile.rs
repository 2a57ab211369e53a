//! The user tidies up while a run is under way: `git gc --prune=now` takes whatever no ref leads to, and neither the
//! repository nor the run may miss any of it.

use crate::show::Show;
use crate::stage::scenes::Scene;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use tribunal_core::run::Ending;

/// Tidies up until it is told to stop, and notes each time that git could not.
const TIDY: &str = r#"n=0
while ! [ -e "$1/stop" ]; do
  git gc -q --prune=now 2>> "$1/gc.err" || echo failed >> "$1/gc.failed"
  n=$((n+1)); echo $n > "$1/gc.times"
done"#;

#[test]
fn the_user_prunes_all_the_time() {
    let Some(scene) = Scene::named("conflict") else { panic!("there is no such scene") };
    let mut show = Show::of(scene);
    let root = show.stage.root().to_owned();
    let words = ["-c", TIDY, "sh"].map(Into::into).into_iter().chain([root.clone().into_os_string()]);
    let words: Vec<_> = words.collect();
    let tidying = show.stage.program().launch(OsStr::new("sh"), &words, &[]).unwrap();
    let ended = show.stage.tribunal(&["run"]).unwrap();
    std::fs::write(root.join("stop"), "").unwrap();
    tidying.wait().unwrap();
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert_eq!(show.ended(), Ending::Passed);
    assert!(read("gc.times").trim().parse::<u32>().unwrap() > 2, "it tidied up while the run was under way");
    assert_eq!(read("gc.failed"), "", "every gc of the user's works: {}", read("gc.err"));
    whole(&mut show);
}

/// The same for who was killed half-way and goes on after the user tidied up.
#[test]
fn the_user_prunes_while_nobody_is_there() {
    let mut show = Show::of(&Scene { ..crate::stage::scenes::PLAIN });
    for point in [
        "lane:after",
        "revision:before",
        "revision:after",
        "landing:before",
        "landing:after",
        "forward:moving",
    ] {
        let at = [(tribunal_engine::crash::AT, OsStr::new(point))];
        let command = if show.stage.runs().is_empty() { "run" } else { "resume" };
        let ended = show.stage.program().run(&[command], &at).unwrap();
        assert!(ended.signal == Some(9) || ended.code == Some(0), "{point}: {}", ended.said());
        show.stage.git(&["gc", "-q", "--prune=now"]).unwrap();
    }
    let ended = show.stage.tribunal(&["resume"]).unwrap();
    assert!(matches!(ended.code, Some(0 | 2)), "{}", ended.said());
    assert_eq!(show.ended(), Ending::Passed);
    whole(&mut show);
}

/// A git that lets the user tidy up right after it has merged the packs of a run.
const BETWEEN: &str = r#"#!/bin/sh
real=$(PATH="${PATH#*:}" command -v git)
"$real" "$@"; code=$?
case "$*" in
*pack-objects*--stdin-packs*)
  env -i PATH="$PATH" HOME="$HOME" "$real" -C '{PROJECT}' gc -q --prune=now
  echo once >> '{ROOT}/merged' ;;
esac
exit $code
"#;

/// The packs of a run become one when it ends: at no moment are some of them unprotected and the others already gone.
#[test]
fn the_user_prunes_while_the_packs_of_a_run_are_merged() {
    let Some(scene) = Scene::named("conflict") else { panic!("there is no such scene") };
    let mut show = Show::of(scene);
    let (root, project) = (show.stage.root().to_owned(), show.stage.project());
    let git = root.join("between/git");
    std::fs::create_dir_all(root.join("between")).unwrap();
    let text = BETWEEN.replace("{PROJECT}", &project.display().to_string());
    std::fs::write(&git, text.replace("{ROOT}", &root.display().to_string())).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths([root.join("between")].into_iter().chain(std::env::split_paths(&path)));
    let ended = show.stage.program().run(&["run"], &[("PATH", path.unwrap().as_os_str())]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert_eq!(show.ended(), Ending::Passed);
    assert!(root.join("merged").exists(), "no packs were merged");
    whole(&mut show);
}

/// Nothing is missing, git can tidy up, and what was kept meanwhile is kept no longer.
fn whole(show: &mut Show) {
    let fsck = show.stage.program().other("git", &["fsck"]).unwrap();
    assert!(!fsck.said().contains("missing") && !fsck.said().contains("broken"), "{}", fsck.said());
    let packs = show.stage.project().join(".git/objects/pack");
    let kept = std::fs::read_dir(packs).unwrap().flatten().map(|entry| entry.file_name());
    let kept: Vec<_> = kept.filter(|name| name.to_string_lossy().ends_with(".keep")).collect();
    assert!(kept.is_empty(), "{kept:?}");
    show.stage.git(&["gc", "-q", "--prune=now"]).unwrap();
    show.expect(&["report", "--format", "markdown"], 0);
}
