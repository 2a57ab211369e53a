//! Reviews by tools alone: any repository, no planning folder, no model. A small linter of our own plays every part; the
//! real ones are asked where they are installed, and a test that could not ask them says so.

use crate::stage::Stage;
use crate::stage::program::Ended;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;
use tribunal_core::ids::{FindingId, Time};
use tribunal_core::review_loop::Why;
use tribunal_engine::mail::Body;
use tribunal_engine::waiver::Waiver;

/// Finds lines that hold `bad` (a warning) or `worse` (an error); with `--fix` it fixes the bad ones.
const LINT: &str = r#"#!/bin/sh
if [ -e broken ]; then echo "cannot read my settings" >&2; exit 3; fi
if [ "$1" = --fix ]; then
  shift
  for f in "$@"; do sed -i 's/bad/good/' "$f"; done
  exit 0
fi
found=0
for f in "$@"; do
  n=0
  while IFS= read -r line; do
    n=$((n + 1))
    case "$line" in
      *worse*) echo "$f:$n: error: this is worse [W1]"; found=1 ;;
      *bad*) echo "$f:$n: warning: this is bad [B1]"; found=1 ;;
    esac
  done < "$f"
done
exit $found
"#;

/// The linter's row, in a file of settings.
pub const LINT_ROW: &str = ROW;
const ROW: &str = "[agents]\ndefault = \"\"\n[tools.mylint]\nfiles = [\"*.txt\"]\nprograms = [\"mylint\"]\nform = \"lines\"\nfound = [1]\n\
    configured = [\".mylint\"]\ncheck = [\"{program}\", \"{files}\"]\nfix = [\"{program}\", \"--fix\", \"{files}\"]\n";

/// A repository with a linter.
pub struct Project {
    _folder: TempDir,
    /// Where it is.
    pub stage: Stage,
}

impl Project {
    /// A repository with a linter; `before` is on main, `after` on the branch.
    pub fn new(before: &str, after: &str) -> Project {
        let (folder, mut stage) = crate::stage();
        let bin = stage.root().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("mylint"), LINT).unwrap();
        std::fs::set_permissions(bin.join("mylint"), std::fs::Permissions::from_mode(0o755)).unwrap();
        stage.program_mut().prepend_path(&bin);
        stage.write("tribunal.toml", ROW).unwrap();
        stage.write("a.txt", before).unwrap();
        stage.commit_all().unwrap();
        stage.git(&["checkout", "-q", "-b", "topic"]).unwrap();
        stage.write("a.txt", after).unwrap();
        stage.git(&["commit", "-q", "-am", "feat: more"]).unwrap();
        Project { _folder: folder, stage }
    }

    #[track_caller]
    fn review(&self, args: &[&str], code: i32) -> Ended {
        let ended = self.stage.tribunal(&[&["review"], args].concat()).unwrap();
        assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.said());
        ended
    }

    #[track_caller]
    fn json(&self, args: &[&str], code: i32) -> Value {
        let ended = self.review(&[args, &["--json"]].concat(), code);
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
    }

    /// The project's settings, on main: a branch does not bring those it is judged by.
    fn settings(&self, text: &str) {
        self.stage.git(&["checkout", "-q", "main"]).unwrap();
        self.stage.write("tribunal.toml", text).unwrap();
        self.stage.git(&["commit", "-q", "-am", "chore: settings"]).unwrap();
        self.stage.git(&["checkout", "-q", "topic"]).unwrap();
        self.stage.git(&["rebase", "-q", "main"]).unwrap();
    }

    fn commit(&self, text: &str) {
        self.stage.write("a.txt", text).unwrap();
        self.stage.git(&["commit", "-q", "-am", "feat: again"]).unwrap();
    }
}

fn lines(seen: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = seen["findings"].as_array().unwrap();
    let mut lines: Vec<_> =
        rows.iter().map(|row| (text(&row["place"]), text(&row["severity"]), text(&row["since"]))).collect();
    lines.sort();
    lines
}

fn row(place: &str, severity: &str, since: &str) -> (String, String, String) {
    (place.to_owned(), severity.to_owned(), since.to_owned())
}

/// What is reviewed.
pub const DIFF: [&str; 2] = ["--diff", "main..HEAD"];

#[test]
fn only_what_is_on_changed_lines_counts() {
    let project = Project::new("bad old\nfine\n", "bad old\nfine\nbad new\nworse new\n");
    let seen = project.json(&DIFF, 1);
    assert_eq!(lines(&seen), [row("a.txt:3", "warning", "unknown"), row("a.txt:4", "blocker", "unknown")]);
    assert_eq!(seen["end"], "shut");
    assert_eq!(seen["filtered"], json!([{ "by": "mylint", "count": 1, "rows": [] }]));
    let shown = project.review(&[&DIFF[..], &["--include-filtered"]].concat(), 1).stdout;
    assert!(shown.contains("a.txt:1 warning: this is bad (B1)"), "{shown}");
    assert!(!project.stage.project().join(".planning").exists(), "no planning folder is made");
    assert_eq!(project.stage.git(&["status", "--porcelain"]).unwrap(), "");
}

#[test]
fn what_is_clean_passes_and_says_who_judged() {
    let project = Project::new("bad old\n", "bad old\nfine new\n");
    let ended = project.review(&DIFF, 0);
    assert!(ended.stdout.contains("passed") && ended.stdout.contains("mylint (passed)"), "{}", ended.stdout);
    assert!(ended.stdout.contains("no reviewer is configured"), "{}", ended.stdout);
    let nothing = project.review(&["--diff", "HEAD..HEAD"], 0);
    assert!(nothing.stdout.contains("nothing changed"), "{}", nothing.stdout);
}

#[test]
fn a_second_review_tells_what_is_new_persisting_and_resolved() {
    let project = Project::new("", "bad one\nbad two\n");
    project.json(&DIFF, 1);
    // A line goes in above, one is fixed, one stays and moves, one is new.
    project.commit("fine\nbad one\ngood two\nworse three\n");
    let seen = project.json(&DIFF, 1);
    let expect = [
        row("a.txt:2", "warning", "persisting"),
        row("a.txt:3", "warning", "resolved"),
        row("a.txt:4", "blocker", "new"),
    ];
    assert_eq!(lines(&seen), expect);
    let ids: Vec<&str> =
        seen["findings"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert!(
        ids.contains(&"F-1") && ids.contains(&"F-2") && ids.contains(&"F-3"),
        "ids are given once: {ids:?}"
    );
    let text = project.review(&DIFF, 1).stdout;
    assert!(text.contains("0 new, 2 persisting, 0 resolved"), "{text}");
}

#[test]
fn an_earlier_review_that_cannot_be_read_is_told() {
    let project = Project::new("", "bad one\n");
    project.json(&DIFF, 1);
    let (run, _) = project.stage.newest().unwrap().unwrap();
    let journal = project.stage.run_dir(&run).join("journal.db");
    std::fs::write(&journal, "no journal at all, whatever its name says\n".repeat(200)).unwrap();
    let seen = project.json(&DIFF, 1);
    assert_eq!(lines(&seen), [row("a.txt:1", "warning", "unknown")]);
    let told = |seen: &Value| {
        let notes = seen["notes"].as_array().unwrap();
        notes.iter().any(|note| {
            let note = note.as_str().unwrap();
            note.contains(&run) && note.contains("could not be read")
        })
    };
    assert!(told(&seen), "{seen}");
    let (newer, run_state) = project.stage.newest().unwrap().unwrap();
    assert!(newer != run && run_state.about.review.unwrap().unread[0].contains(&run));
    // The one after that has an earlier review, and nothing to look for behind it.
    let seen = project.json(&DIFF, 1);
    assert_eq!(lines(&seen), [row("a.txt:1", "warning", "persisting")]);
    assert!(!told(&seen), "{seen}");
}

#[test]
fn one_finding_is_waived_and_its_neighbour_is_not() {
    let project = Project::new("", "bad one\nfine\nfine\nfine\nbad two\n");
    let waive = |args: &[&str], code: i32| {
        let ended = project.stage.tribunal(&[&["waive"], args].concat()).unwrap();
        assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.said());
    };
    let fates = |seen: &Value| -> Vec<String> {
        let rows = seen["findings"].as_array().unwrap().iter();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        rows.map(|row| format!("{} {} {}", text(row, "id"), text(row, "fate"), text(row, "fate_note")))
            .collect()
    };
    let ada = ["--note", "it is art", "--by", "Ada"];
    waive(&[&["F-1"], &ada[..]].concat(), 2);
    project.json(&DIFF, 1);
    waive(&["F-1"], 2);
    waive(&["F-1", "--note", " "], 2);
    waive(&[&["F-9"], &ada[..]].concat(), 2);
    waive(&[&["F-1", "--until", "2020-01-01"], &ada[..]].concat(), 2);
    waive(&[&["F-1", "--until", "2999-02-30"], &ada[..]].concat(), 2);
    waive(&[&["F-1", "--until", "2999-12-31"], &ada[..]].concat(), 0);
    let first = ["F-1 waived by Ada: it is art, until 2999-12-31", "F-2 unresolved "];
    let (old, _) = project.stage.newest().unwrap().unwrap();
    assert_eq!(fates(&project.json(&DIFF, 1)), first);
    // What an older review found is not heard of any more.
    waive(&[&["F-2", "--run", &old], &ada[..]].concat(), 2);
    // It is known to the review after that, too, which nobody wrote to.
    assert_eq!(fates(&project.json(&DIFF, 1)), first);
    let told = project.stage.tribunal(&[&["waive", "F-2", "--json"], &ada[..]].concat()).unwrap();
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (&told["finding"], &told["why"], &told["until"]),
        (&"F-2".into(), &ada[1].into(), &Value::Null)
    );
    let both = project.json(&DIFF, 0);
    assert_eq!(fates(&both)[1], "F-2 waived by Ada: it is art", "{both}");
    // Changed code, and what is worse, nobody waived; and it does not become waived by being left alone.
    project.commit("bad one, otherwise\nfine\nfine\nfine\nbad two\n");
    for _ in 0..2 {
        assert!(!fates(&project.json(&DIFF, 1)).iter().any(|fate| fate.starts_with("F-1 waived")));
    }
    project.commit("bad one, otherwise\nfine\nfine\nfine\nworse two\n");
    assert!(!fates(&project.json(&DIFF, 1)).iter().any(|fate| fate.contains("waived")));
}

#[test]
fn a_waiver_that_is_over_silences_nothing() {
    let project = Project::new("", "bad one\n");
    project.json(&DIFF, 1);
    let (run, _) = project.stage.newest().unwrap().unwrap();
    let until = Some(Time(1_000_000_000_000));
    let waiver = Waiver { finding: FindingId(1), n: 1, by: "Ada".into(), why: "for now".into(), until };
    let message = Body::Waive(waiver).message(Time(1)).unwrap();
    tribunal_journal::post(&project.stage.run_dir(&run), &message).unwrap();
    let seen = project.json(&DIFF, 1);
    assert_eq!(lines(&seen), [row("a.txt:1", "warning", "persisting")]);
    assert_eq!(seen["findings"][0]["fate"], "unresolved", "{seen}");
}

#[test]
fn what_a_tool_can_fix_is_fixed_judged_again_and_lands() {
    let project = Project::new("bad old\n", "bad old\nbad new\n");
    let ended = project.review(&[&DIFF[..], &["--fix"]].concat(), 0);
    assert!(ended.stdout.contains("passed, 1 fixed"), "{}", ended.stdout);
    let subject = project.stage.git(&["log", "-1", "--format=%s"]).unwrap();
    assert_eq!(subject, "fix(review): review round 1, 1 of 1 findings");
    assert_eq!(project.stage.git(&["status", "--porcelain"]).unwrap(), "");
    assert_eq!(project.review(&DIFF, 0).code, Some(0));
}

/// What the action of this repository runs: annotations, SARIF and the code, which it ends with.
#[test]
fn the_action_annotates_and_ends_as_the_review_did() {
    let project = Project::new("", "worse new\n");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dev/action.sh");
    let (root, program) = (project.stage.root(), project.stage.program());
    let told = root.join("told");
    std::fs::create_dir_all(root.join("tribunal/bin")).unwrap();
    std::os::unix::fs::symlink(&program.binary, root.join("tribunal/bin/tribunal")).unwrap();
    let env = [
        ("DIFF", OsStr::new("main...HEAD")),
        ("SARIF", OsStr::new("found.sarif")),
        ("GITHUB_OUTPUT", told.as_os_str()),
        ("RUNNER_TEMP", root.as_os_str()),
    ];
    let run = |code: i32| {
        let running = program.launch(OsStr::new("bash"), &[script.into()], &env).unwrap();
        let ended = running.wait().unwrap();
        assert_eq!(ended.code, Some(code), "{}", ended.said());
        assert!(std::fs::read_to_string(&told).unwrap().ends_with(&format!("code={code}\n")));
        let sarif = std::fs::read_to_string(project.stage.project().join("found.sarif")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&sarif).unwrap()["version"], "2.1.0");
        ended.stdout
    };
    assert!(run(1).contains("::error file=a.txt,line=1"));
    project.commit("fine\n");
    run(0);
}

/// A formatter that a project steers leaves a link where it should have laid out a file.
#[test]
fn hostile_formatter_leaves_a_link_to_a_users_file() {
    let project = Project::new("", "bad\n");
    let victim = project.stage.root().join("victim");
    std::fs::write(&victim, "mine\n").unwrap();
    let script = format!("#!/bin/sh\nln -sf '{}' a.txt\n", victim.display());
    std::fs::write(project.stage.root().join("bin/mylint"), script).unwrap();
    let row = ROW.replace("form = \"lines\"", "form = \"rewrite\"");
    project.settings(&row);
    let ended = project.stage.tribunal(&[&["review"], &DIFF[..], &["--fix"]].concat()).unwrap();
    assert_eq!(
        std::fs::read_to_string(&victim).unwrap(),
        "mine\n",
        "written through a link: {}",
        ended.said()
    );
    let kept = project.stage.git(&["ls-tree", "HEAD", "a.txt"]).unwrap();
    assert!(kept.starts_with("100644"), "no link landed: {kept}\n{}", ended.said());
}

/// A linter that ends well and says nothing that could be read: it is not green, and what it found before is not fixed.
#[test]
fn hostile_tool_answers_nothing_that_can_be_read() {
    let project = Project::new("fine\n", "fine\nworse\n");
    let answers = |text: &str| {
        let script = format!("#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit 0\n");
        std::fs::write(project.stage.root().join("bin/mylint"), script).unwrap();
    };
    project.settings(&ROW.replace("form = \"lines\"", "form = \"sarif\""));
    let sarif = |results: &str| {
        format!(
            r#"{{"version":"2.1.0","runs":[{{"tool":{{"driver":{{"name":"mylint"}}}},"results":[{results}]}}]}}"#
        )
    };
    let whole = sarif("");
    for half in ["", &whole[..whole.len() - 4]] {
        answers(half);
        let ended = project.review(&DIFF, 4);
        assert!(ended.said().contains("mylint did not run"), "{}", ended.said());
    }
    answers(&whole);
    project.review(&DIFF, 0);
}

/// A formatter that a project steers looks for the index that its files are taken by.
#[test]
fn hostile_formatter_reaches_for_our_index() {
    let project = Project::new("", "bad\n");
    let users = project.stage.project().join(".git/index");
    let script = format!(
        "#!/bin/sh\nfor at in \"$TMPDIR\" \"$TMPDIR/..\"; do\n\
         test -e \"$at/index\" && ln -sf '{}' \"$at/index\" && exit 3\ndone\nsed -i 's/bad/good/' a.txt\n",
        users.display()
    );
    std::fs::write(project.stage.root().join("bin/mylint"), script).unwrap();
    let row = ROW.replace("form = \"lines\"", "form = \"rewrite\"");
    project.settings(&row);
    let before = std::fs::read(&users).unwrap();
    let ended = project.stage.tribunal(&[&["review"], &DIFF[..]].concat()).unwrap();
    assert!(ended.said().contains("mylint would write this differently"), "{}", ended.said());
    assert_eq!(std::fs::read(&users).unwrap(), before, "{}", ended.said());
}

#[test]
fn what_no_tool_can_fix_is_left_and_nothing_lands() {
    let project = Project::new("", "bad new\nworse new\n");
    let head = project.stage.git(&["rev-parse", "HEAD"]).unwrap();
    let ended = project.review(&[&DIFF[..], &["--fix"]].concat(), 1);
    assert!(ended.stdout.contains("1 blocker in the way, 1 fixed"), "{}", ended.stdout);
    assert!(ended.stdout.contains("shows what was fixed and not approved"), "{}", ended.stdout);
    assert_eq!(project.stage.git(&["rev-parse", "HEAD"]).unwrap(), head, "half a fix is no pass");
    // What it left, it does not call fixed.
    assert!(ended.stdout.contains("mylint has no fix for it"), "{}", ended.stdout);
    let refs = project.stage.git(&["for-each-ref", "--format=%(contents:subject)", "refs/tribunal"]).unwrap();
    assert!(refs.contains("fix(review): review round 1, 1 of 2 findings"), "{refs}");
}

/// A linter that breaks itself when it fixes: what it made is judged afresh, where it runs again.
#[test]
fn what_a_tool_cannot_look_at_again_is_not_called_fixed() {
    let project = Project::new("", "bad one\nbad two\n");
    let lint = LINT.replace("  exit 0\n", "  touch broken\n  exit 0\n");
    std::fs::write(project.stage.root().join("bin/mylint"), lint).unwrap();
    let ended = project.review(&[&DIFF[..], &["--fix"]].concat(), 0);
    let message = project.stage.git(&["log", "-1", "--format=%B"]).unwrap();
    assert!(
        message.starts_with("fix(review): review round 1, 0 of 2 findings, 2 not looked at again\n"),
        "{message}"
    );
    assert!(message.contains("F-1 (not looked at again) this is bad"), "{message}");
    assert!(ended.stdout.contains("mylint could not be asked what it fixed"), "{}", ended.stdout);
    // The next judging could look, and that counts.
    assert!(ended.stdout.contains("passed, 2 fixed"), "{}", ended.stdout);
}

#[test]
fn what_nobody_took_is_not_fixed_for_the_next_review() {
    let project = Project::new("", "worse new\nbad new\n");
    project.json(&DIFF, 1);
    project.json(&[&DIFF[..], &["--fix"]].concat(), 1);
    let known = |seen: &Value| -> Vec<String> {
        let rows = seen["findings"].as_array().unwrap().iter();
        let mut rows: Vec<String> = rows
            .map(|row| format!("{} {}", row["id"].as_str().unwrap(), row["since"].as_str().unwrap()))
            .collect();
        rows.sort();
        rows
    };
    // The branch is what it was: both are as old as they were, under their ids.
    assert_eq!(known(&project.json(&DIFF, 1)), ["F-1 persisting", "F-2 persisting"]);
    project.commit("worse new\ngood new\n");
    assert_eq!(known(&project.json(&DIFF, 1)), ["F-1 persisting", "F-2 resolved"]);
    // An id is given once, also where its finding is long gone.
    project.commit("worse new\ngood new\nbad third\n");
    assert_eq!(known(&project.json(&DIFF, 1)), ["F-1 persisting", "F-3 new"]);
}

/// A second linter dislikes what the first one writes, so that there is a third round: what no tool fixes has then
/// outlived two, and is an answer and no question.
#[test]
fn tools_alone_never_ask_about_what_they_found() {
    let project = Project::new("", "bad new\nworse new\n");
    let other = "#!/bin/sh\nif [ \"$1\" = --fix ]; then shift; sed -i 's/good/fine/' \"$@\"; exit 0; fi\n\
        grep -n good \"$@\" /dev/null | sed 's/^\\([^:]*:[0-9]*\\):.*/\\1: warning: too good [G1]/' | grep . && exit 1\nexit 0\n";
    let bin = project.stage.root().join("bin/other");
    std::fs::write(&bin, other).unwrap();
    std::fs::set_permissions(&bin, std::fs::Permissions::from_mode(0o755)).unwrap();
    let row = ROW.split_once("[tools.mylint]").unwrap().1.replace("mylint", "other");
    project.settings(&format!("{ROW}[tools.other]{row}"));
    let ended = project.review(&[&DIFF[..], &["--fix"]].concat(), 1);
    assert!(ended.stdout.contains("1 blocker in the way, 2 fixed"), "{}", ended.stdout);
    let (_, run_state) = project.stage.newest().unwrap().unwrap();
    assert_eq!(run_state.loops.values().next_back().unwrap().round(), 3);
}

#[test]
fn a_tool_that_did_not_run_is_not_green() {
    let project = Project::new("", "fine\n");
    project.stage.write("broken", "").unwrap();
    project.stage.git(&["add", "-A"]).unwrap();
    project.stage.git(&["commit", "-q", "-m", "chore: break the linter"]).unwrap();
    let ended = project.review(&DIFF, 4);
    assert!(ended.said().contains("cannot read my settings"), "{}", ended.said());
    let (_, run_state) = project.stage.newest().unwrap().unwrap();
    assert_eq!(run_state.loops.values().next_back().unwrap().question().unwrap().why, Why::ChecksDidNotRun);
}

#[test]
fn a_tool_that_is_asked_for_and_missing_is_not_green() {
    let project = Project::new("", "fine\n");
    let row = ROW.replace("\"mylint\"", "\"no-such-linter\"").replace("{program}", "no-such-linter");
    project.stage.write("tribunal.toml", &row).unwrap();
    // Nobody configured it: it is left out, said, and nobody is left to judge.
    let ended = project.review(&DIFF, 3);
    assert!(ended.stderr.contains("nobody here can judge"), "{}", ended.stderr);
    project.stage.write(".mylint", "").unwrap();
    project.stage.git(&["add", ".mylint"]).unwrap();
    project.stage.git(&["commit", "-q", "-m", "chore: configure it"]).unwrap();
    let ended = project.review(&DIFF, 4);
    assert!(ended.said().contains("configured here and not installed"), "{}", ended.said());
}

#[test]
fn what_is_staged_and_a_patch_are_reviewed_without_touching_anything() {
    let project = Project::new("fine\n", "fine\nfine two\n");
    project.stage.write("a.txt", "fine\nfine two\nbad staged\n").unwrap();
    project.stage.git(&["add", "a.txt"]).unwrap();
    project.stage.write("a.txt", "fine\nfine two\nbad staged\nbad unstaged\n").unwrap();
    let before = project.stage.git(&["status", "--porcelain=v2"]).unwrap();
    let seen = project.json(&["--staged"], 1);
    assert_eq!(lines(&seen), [row("a.txt:3", "warning", "unknown")]);
    assert_eq!(project.stage.git(&["status", "--porcelain=v2"]).unwrap(), before);
    let fixed = project.review(&["--staged", "--fix"], 4);
    assert!(fixed.stdout.contains("git apply --index"), "{}", fixed.stdout);
    assert_eq!(
        project.stage.git(&["status", "--porcelain=v2"]).unwrap(),
        before,
        "the fixes are the user's to take"
    );
    let patch = project.stage.root().join("change.patch");
    let text = project.stage.git(&["diff", "HEAD"]).unwrap();
    std::fs::write(&patch, format!("{text}\n")).unwrap();
    project.stage.git(&["reset", "-q", "--hard"]).unwrap();
    let seen = project.json(&["--pr-file", &patch.display().to_string()], 1);
    assert_eq!(lines(&seen).len(), 2);
    std::fs::write(&patch, "diff --git a/zz b/zz\n--- a/zz\n+++ b/zz\n@@ -1 +1 @@\n-x\n+y\n").unwrap();
    let wrong = project.review(&["--pr-file", &patch.display().to_string()], 2);
    assert!(wrong.stderr.contains("does not apply to HEAD"), "{}", wrong.stderr);
}

#[test]
fn every_form_has_the_findings() {
    let project = Project::new("", "bad one\n");
    let form = |name: &str| project.review(&[&DIFF[..], &["--format", name]].concat(), 1).stdout;
    let sarif: Value = serde_json::from_str(&form("sarif")).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "B1");
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a.txt");
    let again: Value = serde_json::from_str(&form("sarif")).unwrap();
    assert_eq!(again["runs"][0]["results"][0]["baselineState"], "unchanged", "{again}");
    assert!(form("github").contains("::warning file=a.txt,line=1"), "{}", form("github"));
    assert!(
        form("markdown").starts_with("# Review of main..HEAD: 1 warning in the way"),
        "{}",
        form("markdown")
    );
    assert!(form("text").contains("warning: this is bad (B1, mylint"), "{}", form("text"));
}

#[test]
fn ranges_that_are_none_and_hostile_names_are_refused() {
    let project = Project::new("fine\n", "fine\nbad\n");
    for range in ["nowhere..HEAD", "--output=x", "main..nowhere", "a\nb"] {
        let ended = project.review(&["--diff", range], 2);
        assert!(ended.stderr.contains("hint:"), "{range}: {}", ended.stderr);
    }
    project.review(&["--diff", "main", "--staged"], 2);
    let ended = project.review(&[], 2);
    assert!(ended.stderr.contains("planning folder"), "without a target it is a phase: {}", ended.stderr);
    project.stage.write("--fix.txt", "bad\n").unwrap();
    project.stage.write("sp ace;$(id).txt", "bad\n").unwrap();
    project.stage.git(&["add", "-A"]).unwrap();
    project.stage.git(&["commit", "-q", "-m", "feat: odd names"]).unwrap();
    let seen = project.json(&DIFF, 1);
    assert_eq!(lines(&seen).len(), 3, "{seen}");
}

#[test]
fn a_change_cannot_take_its_judge_away() {
    let project = Project::new("fine\n", "fine\nbad\n");
    let by_config = ROW.replace("configured =", "by_config = true\nconfigured =");
    project.stage.git(&["checkout", "-q", "main"]).unwrap();
    project.stage.write("tribunal.toml", &by_config).unwrap();
    project.stage.write(".mylint", "").unwrap();
    project.stage.git(&["add", "-A"]).unwrap();
    project.stage.git(&["commit", "-q", "-m", "chore: configure it"]).unwrap();
    project.stage.git(&["checkout", "-q", "topic"]).unwrap();
    project.stage.git(&["rebase", "-q", "main"]).unwrap();
    project.stage.git(&["rm", "-q", ".mylint"]).unwrap();
    project.stage.git(&["commit", "-q", "-m", "chore: no linter here"]).unwrap();
    assert_eq!(lines(&project.json(&DIFF, 1)).len(), 1);
}

/// A project with nothing of ours in it, where the real tools find their own settings.
fn real(tool: &str, files: &[(&str, &str, &str)]) -> Option<Project> {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file()));
    if !found {
        let _ = writeln!(std::io::stderr(), "SKIPPED: {tool} is not installed; nothing was tested with it");
        return None;
    }
    let (folder, mut stage) = crate::stage_with_tools();
    let config = stage.root().join("home/.config");
    let program = stage.program_mut();
    if let Some(home) = std::env::var_os("HOME") {
        program.env.retain(|(name, _)| name != "HOME");
        program.env.push(("HOME".into(), home));
    }
    program.env.push(("XDG_CONFIG_HOME".into(), config.into()));
    for name in ["CARGO_HOME", "RUSTUP_HOME"] {
        program.env.extend(std::env::var_os(name).map(|value| (name.into(), value)));
    }
    for (path, before, _) in files {
        stage.write(path, before).unwrap();
    }
    stage.commit_all().unwrap();
    stage.git(&["checkout", "-q", "-b", "topic"]).unwrap();
    for (path, _, after) in files {
        stage.write(path, after).unwrap();
    }
    stage.git(&["commit", "-q", "-am", "feat: a change"]).unwrap();
    Some(Project { _folder: folder, stage })
}

pub const NO_AGENT: [&str; 2] = ["--set", "agents.default=\"\""];

fn rules(seen: &Value) -> Vec<String> {
    let rows = seen["findings"].as_array().unwrap();
    let mut rules: Vec<String> = rows.iter().map(|row| row["rule"].as_str().unwrap().to_owned()).collect();
    rules.sort();
    rules
}

#[test]
fn ruff_and_shellcheck_find_what_they_find() {
    let python = ("a.py", "import os\n\nprint(os)\n", "import os\nimport sys\n\nprint(os, nope)\n");
    if let Some(project) = real("ruff", &[python]) {
        let args = [&DIFF[..], &["--panel", "ruff"], &NO_AGENT].concat();
        assert!(
            ["F401", "F821"].iter().all(|rule| rules(&project.json(&args, 1)).contains(&(*rule).to_owned()))
        );
        let fixed = project.review(&[&args[..], &["--fix"]].concat(), 1);
        assert!(fixed.stdout.contains("1 blocker in the way"), "{}", fixed.stdout);
    }
    let shell = ("run.sh", "#!/bin/sh\necho hi\n", "#!/bin/sh\necho hi\ncd $1\n");
    if let Some(project) = real("shellcheck", &[shell]) {
        let seen = project.json(&[&DIFF[..], &NO_AGENT].concat(), 1);
        assert!(rules(&seen).contains(&"SC2164".to_owned()), "{seen}");
    }
}

#[test]
fn rustfmt_and_clippy_find_and_fix() {
    let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let before = "pub fn one( ) -> i32 {\n    1\n}\n";
    let after = "pub fn one( ) -> i32 {\n    1\n}\n\npub fn two( x: i32 ) -> bool {\n    if x == 1 { true } else { false }\n}\n";
    let files = [
        ("Cargo.toml", manifest, manifest),
        ("src/lib.rs", before, after),
        (".gitignore", "target\n", "target\n"),
    ];
    let Some(project) = real("cargo-clippy", &files) else { return };
    let args = [&DIFF[..], &NO_AGENT].concat();
    let seen = project.json(&args, 1);
    let rules = rules(&seen);
    assert!(
        rules.contains(&"format".to_owned()) && rules.contains(&"clippy::needless_bool".to_owned()),
        "{seen}"
    );
    project.review(&[&args[..], &["--fix"]].concat(), 0);
    let text = std::fs::read_to_string(project.stage.project().join("src/lib.rs")).unwrap();
    assert!(text.starts_with("pub fn one( )"), "the rest of the file is as it was: {text}");
    assert!(text.contains("pub fn two(x: i32) -> bool {\n    x == 1\n}"), "{text}");
    assert_eq!(project.review(&args, 0).code, Some(0));
}

const MANIFEST: &str = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const ONE: &str = "pub fn one() -> i32 {\n    1\n}\n";
const TWO: &str = "\npub fn two(x: i32) -> bool {\n    if x == 1 { true } else { false }\n}\n";
/// A bench that needs another compiler than the one here.
const NO_BENCH: &str = "#![feature(no_compiler_has_this)]\n";

/// A crate with a broken bench, judged by clippy alone.
fn benched(manifest: &str, lib: &str, more: &[(&str, &str, &str)]) -> Option<(Project, Vec<&'static str>)> {
    let files = [
        ("Cargo.toml", manifest, manifest),
        ("src/lib.rs", ONE, lib),
        (".gitignore", "target\n", "target\n"),
    ];
    let project = real("cargo-clippy", &[&files[..], more].concat())?;
    Some((project, [&DIFF[..], &["--panel", "clippy"], &NO_AGENT].concat()))
}

/// What cannot be compiled here is left out, the rest is looked at, and it is said what is not.
#[test]
fn clippy_leaves_out_benches_that_do_not_compile_and_says_so() {
    let bench = ("benches/b.rs", NO_BENCH, NO_BENCH);
    let Some((project, args)) = benched(MANIFEST, &format!("{ONE}{TWO}"), &[bench]) else { return };
    let seen = project.json(&args, 1);
    assert_eq!(rules(&seen), ["clippy::needless_bool"], "{seen}");
    let told = |seen: &Value| seen["notes"].to_string().contains("clippy did not look at benches/b.rs");
    assert!(told(&seen), "{seen}");
    let fixed = project.json(&[&args[..], &["--fix"]].concat(), 0);
    assert!(told(&fixed), "green, and not silently: {fixed}");
    let message = project.stage.git(&["log", "-1", "--format=%s"]).unwrap();
    assert_eq!(message, "fix(review): review round 1, 1 of 1 findings");
    // A bench that changed and cannot be looked at is not passed by looking elsewhere.
    project.stage.write("benches/b.rs", &format!("{NO_BENCH}// more\n")).unwrap();
    project.stage.git(&["commit", "-q", "-am", "feat: a bench"]).unwrap();
    project.json(&args, 4);
}

/// Only one way of building the library shows it, and not the one for its tests.
#[test]
fn what_lies_beside_a_broken_bench_is_found_however_it_is_built() {
    let bench = ("benches/b.rs", NO_BENCH, NO_BENCH);
    let tested = "\nfn two() -> i32 {\n    2\n}\n\n#[test]\nfn is_two() {\n    assert_eq!(two(), 2);\n}\n";
    let Some((project, args)) = benched(MANIFEST, &format!("{ONE}{tested}"), &[bench]) else { return };
    assert_eq!(rules(&project.json(&args, 1)), ["dead_code"]);
    // A library without tests, and what only its benches would build of it.
    let manifest = format!("{MANIFEST}[lib]\ntest = false\n");
    let hidden = TWO.replace("\npub fn two", "\n#[cfg(test)]\npub fn three");
    let Some((project, args)) = benched(&manifest, &format!("{ONE}{TWO}{hidden}"), &[bench]) else { return };
    assert_eq!(rules(&project.json(&args, 1)), ["clippy::needless_bool"; 2]);
}

/// Where a bench lies is what cargo says, not what its folder is called.
#[test]
fn a_changed_bench_that_does_not_compile_is_not_passed_wherever_it_lies() {
    for path in ["perf/p.rs", "src/p.rs"] {
        let manifest = format!("{MANIFEST}[[bench]]\nname = \"p\"\npath = \"{path}\"\n");
        let after = format!("{NO_BENCH}// more\n");
        let Some((project, args)) = benched(&manifest, ONE, &[(path, NO_BENCH, &after)]) else { return };
        project.json(&args, 4);
    }
    // What a bench that stands beside the library is made of, nobody knows.
    let manifest = format!("{MANIFEST}[[bench]]\nname = \"p\"\npath = \"src/p.rs\"\n");
    let Some((project, args)) =
        benched(&manifest, &format!("{ONE}// more\n"), &[("src/p.rs", NO_BENCH, NO_BENCH)])
    else {
        return;
    };
    project.json(&args, 4);
}

/// It compiled before: what the change broke is in its way, wherever that is.
#[test]
fn a_bench_that_the_change_broke_is_a_finding() {
    let bench = "fn main() {\n    x::one();\n}\n";
    let manifest = format!("{MANIFEST}[[bench]]\nname = \"b\"\nharness = false\n");
    let renamed = ONE.replace("one", "uno");
    let Some((project, args)) = benched(&manifest, &renamed, &[("benches/b.rs", bench, bench)]) else {
        return;
    };
    for _ in 0..2 {
        let seen = project.json(&args, 1);
        assert_eq!(rules(&seen), ["E0425"], "{seen}");
        assert_eq!(seen["findings"][0]["place"], "benches/b.rs:2", "{seen}");
        assert!(seen.to_string().contains("it compiled before this change"), "{seen}");
    }
    let fixed = project.json(&[&args[..], &["--fix"]].concat(), 1);
    assert_eq!(rules(&fixed), ["E0425"], "{fixed}");
}

/// What is not built by cargo's own word, and not by a message of the compiler, is not left out for a bench.
#[test]
fn a_build_that_fails_elsewhere_is_not_passed_for_a_bench() {
    let bench = ("benches/b.rs", NO_BENCH, NO_BENCH);
    let manifest = format!("{MANIFEST}[workspace]\nmembers = [\"y\"]\n");
    let other = MANIFEST.replace("\"x\"", "\"y\"");
    let script = "fn main() {\n    std::process::exit(3);\n}\n";
    let inner = [
        bench,
        ("y/Cargo.toml", other.as_str(), other.as_str()),
        ("y/build.rs", script, script),
        ("y/src/lib.rs", ONE, ONE),
    ];
    let Some((project, args)) = benched(&manifest, &format!("{ONE}// more\n"), &inner) else { return };
    project.json(&args, 4);
}

/// A linter that speaks as cargo does; its fix makes what it was to fix impossible to look at.
#[test]
fn what_was_left_out_after_a_fix_is_not_called_fixed() {
    let project = Project::new("fine\nfine\n", "bad\nfine\n");
    let lint = r#"#!/bin/sh
if [ "$1" = --fix ]; then sed -i 's/bad/broken/' a.txt; exit 0; fi
say() {
  echo '{"reason":"compiler-message","target":{"kind":["bench"],"src_path":"'"$PWD"'/a.txt"},"message":{"level":"'$1'","message":"'$2'","code":{"code":"'$3'"},"spans":[{"file_name":"a.txt","line_start":'$4',"line_end":'$4',"is_primary":true}]}}'
}
trap 'echo "{\"reason\":\"build-finished\"}"' EXIT
if grep -q bad a.txt; then say warning bad B1 1; exit 1; fi
if grep -q broken a.txt; then say error broken E0001 2; echo 'error: could not compile `a` (bench "a")' >&2; exit 1; fi
"#;
    std::fs::write(project.stage.root().join("bin/mylint"), lint).unwrap();
    let row = ROW.replace("\"lines\"", "\"cargo\"\npast = { words = [\"on\"], kinds = [\"bench\"] }");
    project.settings(&row);
    let args = [&DIFF[..], &["--panel", "mylint"], &NO_AGENT].concat();
    let ended = project.review(&[&args[..], &["--fix"]].concat(), 1);
    let refs = project.stage.git(&["for-each-ref", "--format=%(contents:subject)", "refs/tribunal"]).unwrap();
    assert!(refs.contains("0 of 1 findings, 1 not looked at again"), "{refs}\n{}", ended.said());
}

/// How many programs the last review started.
fn launched(project: &Project) -> usize {
    let (run, _) = project.stage.newest().unwrap().unwrap();
    let launches = project.stage.run_dir(&run).join("launches");
    std::fs::read_dir(launches).map_or(0, |entries| entries.count())
}

#[test]
fn a_tool_is_not_asked_twice_about_the_same() {
    let project = Project::new("bad old\n", "bad old\nbad new\n");
    let first = project.json(&DIFF, 1);
    assert_eq!(launched(&project), 1);
    let (run, _) = project.stage.newest().unwrap().unwrap();
    let again = project.json(&DIFF, 1);
    assert_eq!(launched(&project), 0, "nothing it goes by has changed");
    let told = again["notes"].as_array().unwrap().iter().any(|note| {
        note.as_str().is_some_and(|note| note.contains("not run again: mylint") && note.contains(&run))
    });
    assert!(told, "{again}");
    assert_eq!(lines(&again), [row("a.txt:2", "warning", "persisting")]);
    assert_eq!(again["filtered"], first["filtered"]);
    // Another program, another setting and another commit are asked about.
    let lint = LINT.replace("this is bad", "this is really bad");
    std::fs::write(project.stage.root().join("bin/mylint"), &lint).unwrap();
    project.json(&DIFF, 1);
    assert_eq!(launched(&project), 1, "another program");
    project.stage.write("tribunal.toml", &ROW.replace("form =", "worst = \"suggestion\"\nform =")).unwrap();
    project.json(&DIFF, 0);
    assert_eq!(launched(&project), 1, "another setting");
    project.stage.write("tribunal.toml", ROW).unwrap();
    project.commit("bad old\nbad new\nfine\n");
    project.json(&DIFF, 1);
    assert_eq!(launched(&project), 1, "another tree");
    project.json(&[&DIFF[..], &["--set", "checks.cache_mb=0"]].concat(), 1);
    assert_eq!(launched(&project), 1, "nothing is kept where nothing may be");
}

/// A tool of Python's, in an environment of its own, that goes by a file above its folder and by one in the home.
#[test]
fn an_answer_is_not_kept_past_anything_it_came_from() {
    let mut project = Project::new("fine\n", "fine\nmore\n");
    let root = project.stage.root().to_owned();
    let venv = root.join("venv");
    let put = |path: &std::path::Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let script = |path: &std::path::Path, text: &str| {
        put(path, text);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    script(&venv.join("bin/python-mine"), "#!/bin/sh\nexec sh \"$@\"\n");
    put(&venv.join("lib/python3/site-packages/rules/deep/rule.py"), "one");
    script(&venv.join("bin/mylint"), &LINT.replace("#!/bin/sh", "#!/usr/bin/env python-mine"));
    project.stage.program_mut().prepend_path(&venv.join("bin"));
    let row = format!("{ROW}outside = [\"~/.mylintrc\"]\nabove = [\".mylint-above\"]\nborrow = [\"mods\"]\n");
    project.stage.write("tribunal.toml", &row).unwrap();
    let asked = |project: &Project, what: &str| {
        project.json(&DIFF, 0);
        assert_eq!(launched(project), 1, "{what}");
        project.json(&DIFF, 0);
        assert_eq!(launched(project), 0, "{what}: and then it is known");
    };
    asked(&project, "the first time");
    let at = |path: &str| root.join(path);
    let project_at = |path: &str| project.stage.project().join(path);
    script(&at("venv/bin/python-mine"), "#!/bin/sh\n# newer\nexec sh \"$@\"\n");
    asked(&project, "what runs it");
    put(&at("venv/lib/python3/site-packages/rules/deep/rule.py"), "two");
    asked(&project, "a package it lies among");
    put(&at("home/.mylintrc"), "strict");
    asked(&project, "settings in the home");
    put(&at("home/.tool-versions"), "mylint 2");
    asked(&project, "what a version manager was told");
    put(&at(".mylint-above"), "strict");
    asked(&project, "settings above the project");
    put(&project_at(".mylint-above"), "strict");
    asked(&project, "settings in the work tree that nobody committed");
    put(&project_at("mods/a/index.js"), "1");
    asked(&project, "packages of the project");
    put(&project_at("mods/a/index.js"), "2");
    asked(&project, "a package that was patched by hand");
    // Another program of the same name, earlier on the path.
    script(&at("first/mylint"), LINT);
    project.stage.program_mut().prepend_path(&at("first"));
    asked(&project, "another program of the same name");
    project.stage.program_mut().env.push(("VIRTUAL_ENV".into(), venv.clone().into()));
    asked(&project, "a variable that it sees");
    // What no tool is given makes no difference to any.
    for name in ["RUSTFLAGS", "CARGO_TARGET_DIR", "NODE_ENV", "NODE_OPTIONS", "PYTHONPATH", "GOFLAGS"] {
        project.stage.program_mut().env.push((name.into(), "un-seen-value".into()));
    }
    let lint = format!("#!/bin/sh\nenv | grep -q un-seen-value && exit 3\n{LINT}");
    script(&at("first/mylint"), &lint);
    asked(&project, "a program that would tell of them");
}

/// A tool that failed has said nothing that could be kept, and a link to elsewhere may be something else tomorrow.
#[test]
fn what_is_no_answer_is_not_kept() {
    let project = Project::new("fine\n", "fine\nmore\n");
    let bin = project.stage.root().join("bin/mylint");
    for broken in ["exit 3", "kill -9 $$", "exit 127"] {
        std::fs::write(&bin, format!("#!/bin/sh\n{broken}\n")).unwrap();
        for _ in 0..2 {
            project.json(&DIFF, 4);
            assert_ne!(launched(&project), 0, "{broken}: it is asked every time");
        }
    }
    std::fs::write(&bin, LINT).unwrap();
    project.json(&DIFF, 0);
    project.json(&DIFF, 0);
    assert_eq!(launched(&project), 0);
    std::os::unix::fs::symlink("/etc/hostname", project.stage.project().join("elsewhere.txt")).unwrap();
    project.stage.git(&["add", "-A"]).unwrap();
    project.commit("fine\nmore\nlinked\n");
    for _ in 0..2 {
        project.stage.tribunal(&["review", DIFF[0], DIFF[1]]).unwrap();
        assert_ne!(launched(&project), 0, "what lies behind the link is not known");
    }
}

/// A tool that runs code of the project, and believes what it finds in its folder: code of one branch leaves a word there
/// that would make it pass another.
#[test]
fn hostile_build_script_leaves_a_word_for_the_next_branch() {
    let project = Project::new("fine\n", "fine\nmore\n");
    let script = "#!/bin/sh\nmkdir -p \"$CACHE\"\nif [ -e hook.run ]; then sh ./hook.run; fi\n\
        if [ -e \"$CACHE/pass\" ]; then exit 0; fi\nif grep -n worse \"$@\"; then echo 'a.txt:1: error: worse [W1]'; exit 1; fi\nexit 0\n";
    std::fs::write(project.stage.root().join("bin/mylint"), script).unwrap();
    let row = format!("{ROW}env = {{ CACHE = \"{{cache}}\" }}\nruns = [\"hook.run\"]\n");
    project.stage.git(&["checkout", "-q", "main"]).unwrap();
    project.stage.write("tribunal.toml", &row).unwrap();
    project.stage.write("hook.run", "true\n").unwrap();
    project.stage.git(&["add", "-A"]).unwrap();
    project.stage.git(&["commit", "-q", "-m", "build: a hook"]).unwrap();
    let branch = |name: &str, hook: &str, text: &str| {
        project.stage.git(&["checkout", "-q", "-B", name, "main"]).unwrap();
        project.stage.write("hook.run", hook).unwrap();
        project.stage.write("a.txt", text).unwrap();
        project.stage.git(&["commit", "-q", "-am", "feat: it"]).unwrap();
    };
    branch("evil", "touch \"$CACHE/pass\"\n", "fine\nfine too\n");
    project.json(&DIFF, 0);
    // The same branch goes on and takes the hook back; and another one.
    project.stage.write("hook.run", "true\n").unwrap();
    project.commit("worse\n");
    project.json(&DIFF, 1);
    branch("other", "true # other\n", "worse\n");
    project.json(&DIFF, 1);
}

/// Cargo gives what a build script sets to the compiler that judges its package, over everything else.
#[test]
fn hostile_build_script_gives_orders_to_the_tool() {
    let project = Project::new("fine\n", "fine\nworse\n");
    project.settings(&ROW.replace("form = \"lines\"", "form = \"cargo\""));
    let sets = |name: &str| {
        let line = format!(
            r#"{{"reason":"build-script-executed","package_id":"path+file:///p#p@0.1.0","env":[["{name}","--cap-lints"]]}}"#
        );
        let script =
            format!("#!/bin/sh\ncat <<'END'\n{line}\n{{\"reason\":\"build-finished\"}}\nEND\nexit 0\n");
        std::fs::write(project.stage.root().join("bin/mylint"), script).unwrap();
    };
    sets("CLIPPY_ARGS");
    let said = project.review(&DIFF, 4).said();
    assert!(said.contains("a build script of the project sets CLIPPY_ARGS"), "{said}");
    sets("GIT_COMMIT");
    project.review(&DIFF, 0);
}

#[test]
fn what_was_found_stays_where_its_tool_did_not_run() {
    let project = Project::new("", "worse one\n");
    project.json(&DIFF, 1);
    let row_of = |form: &str| ROW.replace("form = \"lines\"", &format!("form = \"{form}\""));
    // It now has to answer in SARIF, and says nothing, or half of it.
    for answer in ["exit 0", "printf '{\"version\":\"2.1.0\",\"runs\":[{\"resu'", "kill -9 $$"] {
        let script = format!("#!/bin/sh\n{answer}\n");
        std::fs::write(project.stage.root().join("bin/mylint"), script).unwrap();
        project.stage.write("tribunal.toml", &row_of("sarif")).unwrap();
        let seen = project.json(&DIFF, 4);
        let fates: Vec<_> = seen["findings"].as_array().unwrap().iter().map(|row| &row["fate"]).collect();
        assert_eq!(fates, ["open"], "{answer}: {seen}");
    }
}

/// A formatter puts a second pair of brackets around an assignment, which the linter takes for a sign that it is meant.
#[test]
fn a_formatter_settles_no_other_tools_blocker() {
    let project = Project::new("fine\n", "fine\nif (a = b) stop\n");
    let bin = project.stage.root().join("bin");
    let tool = |name: &str, text: &str| {
        std::fs::write(bin.join(name), text).unwrap();
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    tool(
        "mylint",
        "#!/bin/sh\ntest \"$1\" = --fix && exit 0\ngrep -n 'if (a = b)' \"$@\" /dev/null | sed 's/^\\([^:]*:[0-9]*\\):.*/\\1: error: an assignment [A1]/' | grep . && exit 1\nexit 0\n",
    );
    tool("pretty", "#!/bin/sh\nsed -i 's/if (a = b)/if ((a = b))/' \"$@\"\n");
    let pretty = "[tools.pretty]\nfiles = [\"*.txt\"]\nprograms = [\"pretty\"]\nform = \"rewrite\"\ncheck = [\"{program}\", \"{files}\"]\nfix = [\"{program}\", \"{files}\"]\n";
    project.settings(&format!("{ROW}{pretty}"));
    let head = project.stage.git(&["rev-parse", "HEAD"]).unwrap();
    let seen = project.json(&[&DIFF[..], &["--fix"]].concat(), 4);
    let fate = |rule: &str| {
        let rows = seen["findings"].as_array().unwrap();
        rows.iter().find(|row| row["rule"] == rule).map(|row| row["fate"].as_str().unwrap().to_owned())
    };
    assert_eq!(fate("A1").as_deref(), Some("open"), "{seen}");
    assert!(seen["notes"].to_string().contains("not confirmed as fixed: F-1"), "{seen}");
    assert_eq!(fate("format").as_deref(), Some("fixed"), "{seen}");
    assert_eq!(project.stage.git(&["rev-parse", "HEAD"]).unwrap(), head, "the bug does not land as fixed");
}

fn secret() -> String {
    // Put together here, so that nobody's scanner takes this file for a leak.
    ["gh", "p_", &"aB3".repeat(12)].concat()
}

#[test]
fn a_secret_is_found_in_every_review() {
    let project = Project::new("fine\n", "fine\nfine two\n");
    let add = |path: &str, bytes: &[u8]| {
        let path = project.stage.project().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        project.stage.git(&["add", "-A"]).unwrap();
        project.stage.git(&["commit", "-q", "-m", "feat: a file"]).unwrap();
    };
    let found = |args: &[&str]| {
        let seen = project.json(args, 1);
        let rows = seen["findings"].as_array().unwrap().clone();
        assert!(!seen.to_string().contains(&secret()), "a secret is never shown: {seen}");
        rows.iter()
            .filter(|row| row["fate"] == "unresolved")
            .map(|row| {
                format!(
                    "{} {} {}",
                    row["place"].as_str().unwrap(),
                    row["severity"].as_str().unwrap(),
                    row["rule"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    // Nobody else has anything to look at.
    add("key.pem", ["-----BEGIN RSA ", "PRIVATE KEY-----\nabc\n"].concat().as_bytes());
    assert_eq!(found(&["--diff", "HEAD~1"]), ["key.pem:1 blocker secret"]);
    let wide: Vec<u8> =
        format!("one\r\n{}\r\n", secret()).encode_utf16().flat_map(u16::to_le_bytes).collect();
    add("wide.dat", &wide);
    assert_eq!(found(&["--diff", "HEAD~1"]), ["wide.dat:2 blocker secret"]);
    // `base64` of a line that holds the token.
    let hidden = ["c2F5IGdocF9hQjNhQjNhQjNhQjNhQjNh", "QjNhQjNhQjNhQjNhQjNhQjNhQjMK"].concat();
    add("hidden.yml", format!("data:\n  token: {hidden}\n").as_bytes());
    assert_eq!(found(&["--diff", "HEAD~1"]), ["hidden.yml:2 blocker secret"]);
    add(&format!("keys/{}", secret()), b"x\n");
    assert_eq!(found(&["--diff", "HEAD~1"]), [" blocker secret"]);
    // Also beside a tool, and where the panel is named.
    add("a.txt", format!("fine\nfine two\n{}\n", secret()).as_bytes());
    assert_eq!(found(&["--diff", "HEAD~1", "--panel", "mylint"]), ["a.txt:3 blocker secret"]);
    // Also what is not committed: staged, and as a patch.
    project.stage.write("staged.txt", &format!("{}\n", secret())).unwrap();
    project.stage.git(&["add", "-A"]).unwrap();
    assert_eq!(found(&["--staged"]), ["staged.txt:1 blocker secret"]);
    let patch = project.stage.root().join("change.patch");
    let text = project.stage.git(&["diff", "--cached"]).unwrap();
    std::fs::write(&patch, format!("{text}\n")).unwrap();
    project.stage.git(&["reset", "-q", "--hard"]).unwrap();
    assert_eq!(found(&["--pr-file", &patch.display().to_string()]), ["staged.txt:1 blocker secret"]);
    // What holds none is judged by nobody, and does not pass for that.
    add("b.dat", b"nothing to see\n");
    let ended = project.review(&["--diff", "HEAD~1"], 3);
    assert!(ended.stderr.contains("nobody here can judge"), "{}", ended.stderr);
}

/// A branch that is only reviewed: a commit brings a secret and the next one takes it out, or only a message has it. Who
/// gets the branch gets the secret.
#[test]
fn hostile_branch_hides_a_secret_in_its_history() {
    let project = Project::new("fine\n", "fine\nfine two\n");
    let commit = |text: &str, message: &str| {
        project.stage.write("a.txt", text).unwrap();
        project.stage.git(&["commit", "-q", "-am", message]).unwrap();
    };
    // The twin: the same commits with nothing in them.
    commit("fine\nfine two\nfine three\n", "feat: three");
    commit("fine\nfine two\n", "feat: two again");
    project.review(&DIFF, 0);
    commit(&format!("fine\nfine two\n{}\n", secret()), "feat: three");
    commit("fine\nfine two\n", "feat: two again");
    let shown = project.review(&DIFF, 1).said();
    assert!(shown.contains("though not in the end: a.txt holds a GitHub token"), "{shown}");
    assert!(!shown.contains(&secret()), "{shown}");
    project.stage.git(&["reset", "-q", "--hard", "HEAD~2"]).unwrap();
    project.review(&DIFF, 0);
    commit("fine\nfine two\nfine three\n", &format!("feat: three\n\nwith {}", secret()));
    let shown = project.review(&DIFF, 1).said();
    assert!(shown.contains("holds a GitHub token") && shown.contains("the message of commit"), "{shown}");
    assert!(!shown.contains(&secret()), "{shown}");
}

/// The names of people, tags and branches go wherever the commits go, and nobody reads them in a diff.
#[test]
fn hostile_branch_hides_a_secret_in_its_names() {
    let project = Project::new("fine\n", "fine\nfine two\n");
    let git = |words: &[&str]| project.stage.git(words).unwrap();
    git(&["tag", "v1"]);
    project.review(&DIFF, 0);
    let refused = |what: &str| {
        let shown = project.review(&DIFF, 1).said();
        assert!(shown.contains(&format!("{what} holds a GitHub token")), "{shown}");
        assert!(!shown.contains(&secret()), "{shown}");
    };
    git(&["tag", &format!("v1-{}", secret())]);
    refused("the name of a tag");
    git(&["tag", "-d", &format!("v1-{}", secret())]);
    project.review(&DIFF, 0);
    git(&["commit", "-q", "--amend", "--no-edit", "--author", &format!("Me <{}@example.org>", secret())]);
    let head = git(&["rev-parse", "HEAD"]);
    refused(&format!("the name or address of a person of commit {}", &head.trim()[..12]));
}

#[test]
fn work_that_is_not_committed_is_not_called_passed() {
    let project = Project::new("fine\n", "fine\nfine two\n");
    project.stage.write("a.txt", "fine\nfine two\nworse\n").unwrap();
    project.stage.write("new.txt", "worse\n").unwrap();
    let nothing = project.review(&["--diff", "HEAD"], 2);
    assert!(
        nothing.stderr.contains("nothing was judged") && nothing.stderr.contains("a.txt"),
        "{}",
        nothing.stderr
    );
    assert!(nothing.stderr.contains("--staged"), "the way out is named: {}", nothing.stderr);
    project.review(&["--staged"], 2);
    let some = project.review(&DIFF, 0);
    assert!(
        some.stdout.contains("not judged: 2 files with changes that are not committed"),
        "{}",
        some.stdout
    );
    // Where there is nothing at all, nothing is in the way.
    project.stage.git(&["stash", "-q", "-u"]).unwrap();
    project.review(&["--diff", "HEAD"], 0);
}

const GO_MOD: &str = "module x\n\ngo 1.19\n";

#[test]
fn what_go_cannot_look_at_is_not_green_and_what_does_not_compile_is_a_blocker() {
    let clean = "package x\n\n// F is.\nfunc F() int { return 1 }\n";
    let files = [
        ("go.mod", GO_MOD, GO_MOD),
        ("a.go", clean, "package x\n\n// F is.\nfunc F() int { return other() }\n"),
    ];
    let Some(project) = real("go", &files) else { return };
    let diff = [&DIFF[..], &NO_AGENT].concat();
    let seen = project.json(&diff, 1);
    // The test command says it too: it ended with 0 before, with no test, and cannot build now.
    assert_eq!(lines(&seen), [row("", "blocker", "unknown"), row("a.go:4", "blocker", "unknown")], "{seen}");
    assert_eq!(rules(&seen), ["compile", "project-tests"], "{seen}");
    // What is not even Go stops the formatter, too, at its line.
    project.stage.write("a.go", "package x\n\nfunc F() {\n").unwrap();
    project.stage.git(&["commit", "-q", "-am", "feat: worse"]).unwrap();
    let seen = project.json(&diff, 1);
    assert!(seen["findings"].as_array().unwrap().iter().all(|row| row["severity"] == "blocker"), "{seen}");
    // A go.mod that this Go cannot read: nobody looked at the call of what is not there.
    project.stage.git(&["reset", "-q", "--hard", "HEAD~1"]).unwrap();
    project.stage.write("go.mod", "module x\n\ngo nonsense\n").unwrap();
    project.stage.git(&["commit", "-q", "-am", "chore: another go"]).unwrap();
    let ended = project.review(&diff, 4);
    assert!(ended.said().contains("go-vet did not run"), "{}", ended.said());
}

#[test]
fn a_script_without_a_suffix_is_looked_at_and_broken_settings_are_told() {
    let files = [("install", "#!/usr/bin/env bash\n", "#!/usr/bin/env bash\nrm -rf $1/*\n")];
    let Some(project) = real("shellcheck", &files) else { return };
    let diff = [&DIFF[..], &NO_AGENT].concat();
    let seen = project.json(&diff, 1);
    assert!(lines(&seen).iter().all(|(place, ..)| place == "install:2"), "{seen}");
    project.stage.write(".shellcheckrc", "no settings at all\n").unwrap();
    project.stage.git(&["add", "-A"]).unwrap();
    project.stage.git(&["commit", "-q", "-m", "chore: settings"]).unwrap();
    let ended = project.review(&diff, 4);
    assert!(ended.said().contains("shellcheck did not run"), "{}", ended.said());
}

/// The real tools with settings that they cannot use; whichever of them is installed.
#[test]
fn broken_settings_of_a_real_tool_are_never_green() {
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str, &'a str)]);
    let manifest = ("Cargo.toml", MANIFEST, MANIFEST);
    let rust = ("src/lib.rs", ONE, "//! One.\n\n/// Two.\npub fn two() {}\n");
    let odd_rustfmt = [manifest, rust, ("rustfmt.toml", "", "no_such_option = 3\n")];
    let odd_clippy = [manifest, rust, ("clippy.toml", "", "no-such-option = 3\n")];
    let cases: [Case<'_>; 9] = [
        ("rustfmt", "rustfmt", &odd_rustfmt),
        ("cargo-clippy", "clippy", &odd_clippy),
        ("ruff", "ruff", &[("a.py", "x = 1\n", "x = 2\n"), ("ruff.toml", "", "no = [\n")]),
        (
            "ruff",
            "ruff-format",
            &[("a.py", "x = 1\n", "x = 2\n"), ("ruff.toml", "[format]\n", "[format]\nno = 1\n")],
        ),
        ("mypy", "mypy", &[("a.py", "x = 1\n", "x = 2\n"), ("mypy.ini", "[mypy]\n", "[mypy]\nno = 1\n")]),
        ("mypy", "mypy", &[("a.py", "x = 1\n", "x = 2\n"), ("mypy.ini", "[mypy]\n", "nonsense\n")]),
        (
            "eslint",
            "eslint",
            &[
                ("a.js", "let a = 1;\n", "let a = 2;\n"),
                ("eslint.config.mjs", "export default [];\n", "export default [{rules:{\"no/x\":2}}];\n"),
            ],
        ),
        (
            "tsc",
            "tsc",
            &[
                ("a.ts", "const a = 1;\n", "const a = 2;\n"),
                ("tsconfig.json", "{}\n", "{\"compilerOptions\":{\"no\":1}}\n"),
            ],
        ),
        (
            "prettier",
            "prettier",
            &[("a.js", "let a = 1;\n", "let a = 2;\n"), (".prettierrc", "{}\n", "{\"no\": 1}\n")],
        ),
    ];
    for (program, tool, files) in cases {
        let Some(project) = real(program, files) else { continue };
        let args = [&["review"], &DIFF[..], &["--panel", tool], &NO_AGENT].concat();
        let ended = project.stage.tribunal(&args).unwrap();
        assert!(matches!(ended.code, Some(1 | 4)), "{tool}: {}", ended.said());
        assert!(!ended.stdout.contains(&format!("{tool} (passed)")), "{tool}: {}", ended.said());
    }
}
