//! What a builder leaves that nobody asked for: thousands of files, or one that is larger than any disk. It is one finding,
//! or none of the result, and nobody waits for it.

use crate::git_cost::cost;
use crate::show::Show;
use crate::stage::play;
use crate::stage::program::Ended;
use crate::stage::scenes::{NO_GATE, dev_also};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use tribunal_core::run::Ending;

/// One round, so that the findings of the first one stand.
const ONE_ROUND: &str = "[plan]\nreview = \"never\"\n[task]\nrounds_max = 1\n";

/// The findings of a builder that leaves so many files outside of its contract.
fn findings(files: usize) -> Vec<String> {
    let steps = format!(
        r##"{{ run = ["sh", "-c", "mkdir node_modules; i=0; while [ $i -lt {files} ]; do echo $i > node_modules/f$i.js; i=$((i+1)); done"] }},"##
    );
    let mut show = Show::with(ONE_ROUND, &dev_also(&steps));
    show.expect(&["run"], 4);
    let run_state = show.run_state();
    let all = run_state
        .loops
        .values()
        .flat_map(|review_loop| review_loop.ledger().iter().map(|(_, entry)| entry.claim.claim.clone()));
    all.collect()
}

#[test]
fn many_files_outside_the_contract_are_one_finding() {
    let few = findings(4);
    assert_eq!(few.len(), 4, "{few:?}");
    let many = findings(300);
    assert_eq!(many.len(), 1, "{many:?}");
    assert!(many[0].starts_with("300 files") && many[0].ends_with("and 297 more"), "{many:?}");
}

/// A run whose builder leaves so many files inside its contract, each with one line of a thousand letters.
fn inside(settings: &'static str, files: usize) -> (Show, Ended) {
    let steps = format!(
        r##"{{ run = ["sh", "-c", "mkdir -p src/gen; x=$(printf %01000d 0); i=0; while [ $i -lt {files} ]; do echo $i $x > src/gen/$i.txt; i=$((i+1)); done"] }},"##
    );
    let mut show = Show::with(settings, &dev_also(&steps));
    show.claims("src/gen");
    let ended = show.tribunal(&["run"]);
    (show, ended)
}

/// Files inside the contract are no finding. Where the limit lets every reviewer be shown all of them, they are shown, part
/// by part; where it does not, nobody is launched to look at a share of them: a person is asked at once, and told the share.
#[test]
fn many_files_inside_the_contract_are_shown_or_a_person_is_asked_at_once() {
    let asked = |show: &Show| show.stage.launched().iter().filter(|effect| effect.contains("judge")).count();
    let (show, ended) = inside(NO_GATE, 300);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(asked(&show) >= 4, "{:?}", show.stage.launched());
    let (show, ended) = inside("[plan]\nreview = \"never\"\n[agents]\nparts_max = 3\n", 300);
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    let share = "loop-reviewer was shown 0 of 301 hunks and has no verdict";
    assert!(ended.said().contains(share), "{}", ended.said());
    assert!(ended.said().contains("agents.parts_max"), "{}", ended.said());
    let launched = show.stage.launched();
    assert_eq!((launched.len(), asked(&show)), (1, 0), "the builder alone: {launched:?}");
    let run_state = show.run_state();
    assert!(run_state.loops.values().all(|review_loop| review_loop.ledger().iter().next().is_none()));
}

/// How often git is started, and how many objects are asked for, in a run whose builder leaves so many files in a folder.
fn cost_of(folder: &str, name: &str, files: usize) -> (usize, usize) {
    let steps = format!(
        r##"{{ run = ["sh", "-c", "mkdir {folder}; i=0; while [ $i -lt {files} ]; do echo $i > {folder}/{name}$i.js; i=$((i+1)); done"] }},"##
    );
    let show = Show::with(ONE_ROUND, &dev_also(&steps));
    let cost = cost(&show.stage, &["run"]);
    assert_eq!(cost.ended.code, Some(4), "{}", cost.ended.said());
    (cost.started, cost.asked)
}

/// More files cost more reads, one each, and not one process of git more: neither outside a contract nor where they are
/// tests, whose differences are looked at.
#[test]
fn many_files_start_no_more_git_and_are_read_once() {
    for (folder, name) in [("node_modules", "f"), ("tests", "f.test.")] {
        let (few, many) = (cost_of(folder, name, 30), cost_of(folder, name, 330));
        assert!(many.0 <= few.0 + 2, "{folder}: git was started {} and {} times", few.0, many.0);
        assert!(many.1 <= few.1 + 310, "{folder}: {} and {} objects were asked for", few.1, many.1);
    }
}

/// A file that says it is larger than the disk is not read: it is named, and the rest lands.
#[test]
fn a_file_larger_than_the_limit_is_named_and_not_taken() {
    let steps = r##"{ run = ["truncate", "-s", "400G", "huge.bin"] },"##;
    let mut show = Show::with(NO_GATE, &dev_also(steps));
    let said = show.passes();
    assert_eq!(show.landed("huge.bin"), None);
    assert!(said.contains("huge.bin: 409600 MB, and files of more than 100 MB are not taken"), "{said}");
    // One of a bearable size, and a large one that git ignores, are no matter.
    let steps = r##"{ run = ["sh", "-c", "truncate -s 2M small.bin; mkdir out; truncate -s 400G out/huge.bin; echo out > .gitignore"] },"##;
    let mut show = Show::with(NO_GATE, &dev_also(steps)).without_paths();
    let said = show.passes();
    assert!(show.landed("small.bin").is_some() && !said.contains("are not taken"), "{said}");
}

/// A git that never comes to the end of a builder's tree.
const ENDLESS: &str = "#!/bin/sh\ncase \"$*\" in *'add -A'*) echo > '{ROOT}/at-work'; exec sleep 100000;; esac\nexec '{GIT}' \"$@\"\n";

/// Who is told to stop, and then to stop at once, does not wait for what git makes of a builder's tree.
#[test]
fn a_run_that_is_stopped_does_not_wait_for_a_builders_tree() {
    let show = Show::script(&dev_also(""));
    let stage = &show.stage;
    let dir = stage.root().join("endless");
    std::fs::create_dir_all(&dir).unwrap();
    let git = stage.program().other("sh", &["-c", "command -v git"]).unwrap().stdout;
    let text = ENDLESS.replace("{ROOT}", &stage.root().display().to_string()).replace("{GIT}", git.trim());
    std::fs::write(dir.join("git"), text).unwrap();
    std::fs::set_permissions(dir.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let bell = play::listen(&stage.root().join("at-work")).unwrap();
    let path = stage.program().path_after(&dir);
    let running = stage.program().start(&["run"], &[("PATH", &path)]).unwrap();
    assert!(running.reaches(&bell).unwrap(), "{}", running.stderr());
    running.signal(Signal::TERM).unwrap();
    running.signal(Signal::TERM).unwrap();
    let ended = running.wait().unwrap();
    assert_ne!(ended.code, Some(0), "{}", ended.said());
    assert!(!ended.said().contains("did not end within"), "git was not waited for: {}", ended.said());
    let again = stage.tribunal(&["resume"]).unwrap();
    assert_eq!(again.code, Some(0), "{}", again.said());
    assert_eq!(show.ended(), Ending::Passed);
}

/// A builder that is deaf to SIGTERM has its grace. Who stops the run is told at once whom it waits for, and the second
/// signal ends the builder.
#[test]
fn who_stops_a_run_is_told_whom_it_waits_for() {
    let steps =
        r##"{ run = ["sh", "-c", "trap '' TERM; echo > '{ROOT}/at-work'; sleep 1000; sleep 1000"] },"##;
    let mut show = Show::with("[plan]\nreview = \"never\"\n[run]\ngrace_s = 3600\n", &dev_also(steps));
    let running = show.at_work();
    running.signal(Signal::TERM).unwrap();
    running.says("stopping: agents get 3600 s to finish, waiting for 01-01/task-1").unwrap();
    running.signal(Signal::TERM).unwrap();
    running.says("ending the agents now").unwrap();
    let ended = running.wait().unwrap();
    assert_eq!(show.after(&["run"], ended).code, Some(143));
}
