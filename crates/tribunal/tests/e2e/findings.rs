//! Findings at the command line: `intake`, `delta` and `report`, in every form, with good and bad input; and the
//! review a run leaves behind.

use crate::show::Show;
use crate::stage::Stage;
use crate::stage::program::Ended;
use crate::stage::scenes::{self, PLAIN, Scene, User};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[track_caller]
fn expect(stage: &Stage, args: &[&str], code: i32) -> Ended {
    let ended = stage.tribunal(args).unwrap();
    assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.said());
    ended
}

#[track_caller]
fn as_json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

/// A file beside the project, and its name.
fn file(stage: &Stage, name: &str, text: &str) -> String {
    let path = stage.root().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

const ANSWER: &str = "I looked at it.\n\nFINDINGS:\n\
    - [id:A1] [severity:high] [confidence:95%] [file:src/a.rs:12-14] issue: an empty line panics | suggestion: check it\n\
    - [id:A2] [severity:low] [file:../../etc/passwd] issue: the name says nothing\n\nVERDICT: **REJECT**\n";

#[test]
fn intake_reads_an_answer() {
    let (_folder, stage) = crate::stage();
    let name = file(&stage, "answer.md", ANSWER);
    let seen = as_json(&expect(&stage, &["intake", &name, "--json"], 0));
    let printed = ["checked", "effective", "findings", "form", "stated", "unread", "verdict"];
    assert_eq!(keys(&seen), printed);
    assert_eq!((&seen["verdict"], &seen["form"]), (&json!("reject"), &json!("lines")));
    let first = &seen["findings"][0];
    for key in ["id", "file", "line", "end", "severity", "confidence", "claim", "suggestion"] {
        assert!(first.get(key).is_some(), "{key}: {first}");
    }
    assert_eq!(first["file"], "src/a.rs");
    assert_eq!((&first["line"], &first["end"]), (&json!(12), &json!(14)));
    assert_eq!((&first["severity"], &first["confidence"]), (&json!("blocker"), &json!(95)));
    let unread = seen["unread"].as_array().unwrap();
    assert!(unread.iter().all(|one| keys(one) == ["text", "why"]), "{unread:?}");
    let table = expect(&stage, &["intake", &name], 0).stdout;
    assert!(table.contains("reject") && table.contains("an empty line panics"), "{table}");
    assert!(!table.contains('\u{1b}'), "no colours into a file: {table}");
}

#[test]
fn intake_never_approves_what_it_cannot_read() {
    let (_folder, stage) = crate::stage();
    for (name, text) in [
        ("empty", ""),
        ("fenced", "```\nVERDICT: approve\n```\n"),
        ("two", "VERDICT: approve\nVERDICT: reject\n"),
        ("cut", "{\"verdict\":\"approve\",\"findings\":["),
        ("nul", "VERDICT: app\0rove\n"),
    ] {
        let name = file(&stage, name, text);
        let seen = as_json(&expect(&stage, &["intake", &name, "--json"], 0));
        assert_eq!(seen["verdict"], "none", "{name}: {seen}");
    }
    let gone = expect(&stage, &["intake", "no-such-file"], 2);
    assert!(gone.stderr.contains("cannot read no-such-file"), "{}", gone.stderr);
    assert_eq!(gone.stdout, "");
}

/// A repository with two commits: a line goes in above what the second finding is about.
fn history(stage: &Stage) -> (PathBuf, PathBuf) {
    stage.write("src/a.rs", "fn a() {\n    let size = 1;\n    lock.wait();\n}\n").unwrap();
    stage.commit_all().unwrap();
    stage.git(&["tag", "before"]).unwrap();
    stage.write("src/a.rs", "fn a() {\n    // more\n    let size = 1;\n    lock.try_wait();\n}\n").unwrap();
    stage.git(&["commit", "-qam", "feat: more"]).unwrap();
    stage.git(&["tag", "after"]).unwrap();
    let bare = stage.root().join("mirror.git");
    stage.git(&["clone", "-q", "--bare", ".", &bare.display().to_string()]).unwrap();
    (stage.project().to_owned(), bare)
}

fn sarif(results: &[(&str, &str, u32)]) -> String {
    let result = |(rule, text, line): &(&str, &str, u32)| {
        json!({"ruleId": rule, "level": "warning", "message": {"text": text}, "locations": [{"physicalLocation":
            {"artifactLocation": {"uri": "src/a.rs"}, "region": {"startLine": line}}}]})
    };
    let results: Vec<Value> = results.iter().map(result).collect();
    json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "lint"}}, "results": results}]})
        .to_string()
}

fn two_reports(stage: &Stage) -> (String, String) {
    let before = sarif(&[("R1", "`size` is never read", 2), ("R2", "`lock` is held while waiting", 3)]);
    let after = sarif(&[("R3", "this comment says nothing", 2), ("R1", "`size` is never read", 3)]);
    (file(stage, "before.sarif", &before), file(stage, "after.sarif", &after))
}

#[test]
fn delta_says_what_became_of_each() {
    let (_folder, stage) = crate::stage();
    let (repo, bare) = history(&stage);
    let (before, after) = two_reports(&stage);
    for dir in [repo, bare] {
        let dir = dir.display().to_string();
        let with = ["delta", &before, &after, "--repo", &dir, "--from", "before", "--to", "after"];
        let seen = as_json(&expect(&stage, &[&with[..], &["--json"]].concat(), 0));
        assert_eq!(keys(&seen), ["after", "before", "pairs"]);
        let pair = &seen["pairs"][0];
        assert_eq!(keys(pair), ["after", "before", "class", "score"]);
        assert_eq!(
            (&pair["before"], &pair["after"], &pair["class"]),
            (&json!(0), &json!(1), &json!("unchanged"))
        );
        assert!((0.0..=1.0).contains(&pair["score"].as_f64().unwrap()), "{pair}");
        assert_eq!(seen["before"], json!([{"index": 1, "class": "resolved"}]));
        assert_eq!(seen["after"], json!([{"index": 0, "class": "fix_induced"}]));
        let marked = as_json(&expect(&stage, &[&with[..], &["--sarif"]].concat(), 0));
        let states: Vec<&str> = marked["runs"][0]["results"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|result| result["baselineState"].as_str())
            .collect();
        assert_eq!(states, ["new", "unchanged"]);
        assert_eq!(marked["runs"][0]["tool"]["driver"]["name"], "lint", "the log is its own");
        let table = expect(&stage, &with, 0).stdout;
        assert!(table.contains("1 new, 1 resolved, 1 unchanged"), "{table}");
    }
}

#[test]
fn delta_refuses_what_it_cannot_use() {
    let (_folder, stage) = crate::stage();
    let (repo, _) = history(&stage);
    let (before, after) = two_reports(&stage);
    let repo = repo.display().to_string();
    let broken = file(&stage, "broken.json", "{\"runs\": [");
    let other = file(&stage, "other.json", "{\"hello\": 1}");
    let empty = stage.root().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let empty = empty.display().to_string();
    let table: [(&[&str], &str); 7] = [
        (&["delta", "gone.sarif", &after], "cannot read gone.sarif"),
        (&["delta", &before, &broken], "cannot use"),
        (&["delta", &before, &other], "hint: it must be SARIF"),
        (&["delta", &before, &after, "--repo", &repo], "needs both --from and --to"),
        (&["delta", &before, &after, "--repo", &repo, "--from", "nowhere", "--to", "after"], "nowhere"),
        (&["delta", &before, &after, "--repo", &empty, "--from", "a", "--to", "b"], "empty"),
        (&["delta", &before, &after, "--sarif", "--json"], "cannot be used with"),
    ];
    for (args, words) in table {
        let refused = expect(&stage, args, 2);
        assert!(refused.stderr.contains(words), "{args:?}: {}", refused.stderr);
        assert_eq!(refused.stdout, "", "{args:?}");
    }
    let dashed =
        expect(&stage, &["delta", &before, &after, "--repo", &repo, "--from=--output=x", "--to", "after"], 2);
    assert!(!Path::new(&repo).join("x").exists(), "{}", dashed.stderr);
}

/// A task whose first version is rejected and fixed: two rounds, one finding fixed.
fn revised() -> Show {
    let mut show = Show::of(Scene::named("task-revised").unwrap());
    show.expect(&["run"], 0);
    show
}

#[test]
fn report_in_every_form() {
    let mut show = revised();
    let text = show.expect(&["report"], 0).stdout;
    for words in ["PASSED", "Findings by fate", "fixed", "round 2", "resolved", "F-1"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let seen = as_json(&show.expect(&["report", "--json"], 0));
    assert_eq!(seen, as_json(&show.expect(&["report", "--format", "json"], 0)));
    assert_eq!((&seen["end"], &seen["fates"]["fixed"]), (&json!("passed"), &json!(1)));
    assert_eq!(seen["findings"][0]["provenance"], "original");
    assert_eq!(seen["findings"][0]["settled_in"], 2);
    let rounds = seen["loops"]
        .as_array()
        .unwrap()
        .iter()
        .find(|review_loop| review_loop["rounds"].as_array().unwrap().len() == 2);
    assert_eq!(rounds.unwrap()["rounds"][1]["delta"]["resolved"], json!(["F-1"]));
    let log = as_json(&show.expect(&["report", "--format", "sarif"], 0));
    let result = &log["runs"][0]["results"][0];
    assert_eq!((&log["version"], &result["baselineState"]), (&json!("2.1.0"), &json!("absent")));
    assert_eq!(log["runs"][0]["tool"]["extensions"][0]["name"], "loop-reviewer");
    assert!(result["partialFingerprints"].is_object());
    let annotated = show.expect(&["report", "--format", "github"], 0).stdout;
    assert_eq!(annotated.lines().count(), 1, "only the suggestion stands: {annotated}");
    assert!(annotated.starts_with("::notice file=bin/one.sh,line=1,"), "{annotated}");
    let page = show.expect(&["report", "--format", "html"], 0).stdout;
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("<svg") && !page.contains("<script"),
        "{page}"
    );
    let review = show.expect(&["report", "--format", "markdown"], 0).stdout;
    assert!(review.contains("## Result: PASSED") && review.contains("## Cycle Delta"), "{review}");
}

#[test]
fn report_writes_a_file_or_says_why_not() {
    let mut show = revised();
    let path = show.stage.root().join("out.html");
    let name = path.display().to_string();
    let wrote = show.expect(&["report", "--format", "html", "--output", &name], 0);
    assert_eq!(wrote.stdout, "");
    assert!(wrote.stderr.contains("wrote "), "{}", wrote.stderr);
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("</html>\n"));
    // A link is neither replaced nor followed.
    let target = show.stage.root().join("target");
    show.put(&target, "mine");
    let link = show.stage.root().join("link");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let refused = show.expect(&["report", "-o", &link.display().to_string()], 2);
    assert!(refused.stderr.contains("it is a link"), "{}", refused.stderr);
    assert!(link.is_symlink() && std::fs::read_to_string(&target).unwrap() == "mine");
    let folder = show.stage.root().display().to_string();
    let nowhere = show.stage.root().join("no/such/file").display().to_string();
    for (args, words) in [
        (vec!["report", "-o", folder.as_str()], "it is a folder"),
        (vec!["report", "-o", nowhere.as_str()], "cannot write"),
        (vec!["report", "no-such-run"], "there is no run"),
        (vec!["report", "--format", "pdf"], "possible values"),
        (vec!["report", "--format", "html", "--json"], "cannot be used with"),
    ] {
        let refused = show.expect(&args, 2);
        assert!(refused.stderr.contains(words), "{args:?}: {}", refused.stderr);
    }
}

/// Every finding ends in one state, and the tables of the report are the journal's counts.
#[test]
fn report_adds_up_to_the_journal() {
    let mut show = revised();
    let seen = as_json(&show.expect(&["report", "--json"], 0));
    let fates: u64 = seen["fates"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(fates as usize, seen["findings"].as_array().unwrap().len());
    let run_state = show.run_state();
    for review_loop in seen["loops"].as_array().unwrap() {
        let last = review_loop["rounds"].as_array().unwrap().iter().skip(1).last();
        let Some(last) = last else { continue };
        let delta = run_state.loops[&review_loop["id"].as_str().unwrap().into()].delta();
        for (class, n) in [
            ("resolved", delta.resolved),
            ("unchanged", delta.unchanged),
            ("not_reported", delta.not_reported),
            ("upgraded", delta.upgraded),
            ("downgraded", delta.downgraded),
        ] {
            assert_eq!(last["delta"][class].as_array().unwrap().len(), n as usize, "{class}: {last}");
        }
        let new = delta.new + delta.reopened + delta.fix_induced + delta.late;
        assert_eq!(last["delta"]["new"].as_array().unwrap().len(), new as usize);
    }
}

const REVIEW: &str = ".planning/phases/01-tools/01-REVIEW.md";

#[test]
fn a_run_that_passed_leaves_its_review_on_the_branch() {
    let show = revised();
    let review = show.stage.git(&["show", &format!("HEAD:{REVIEW}")]).unwrap();
    for words in
        ["## Result: PASSED", "## Findings Detail", "F-1", "### Findings Resolved", "## Reviewer Verdicts"]
    {
        assert!(review.contains(words), "{words}: {review}");
    }
    assert!(!review.contains("<escalation>"), "{review}");
    // The SUMMARY names commits that are there.
    let summary = show.stage.git(&["show", "HEAD:.planning/phases/01-tools/01-01-SUMMARY.md"]).unwrap();
    let hashes = summary
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "))
        .filter(|word| word.len() >= 7 && word.trim_matches('"').chars().all(|c| c.is_ascii_hexdigit()));
    let mut seen = 0;
    for hash in hashes {
        show.stage.git(&["merge-base", "--is-ancestor", hash.trim_matches('"'), "HEAD"]).unwrap();
        seen += 1;
    }
    assert!(seen > 0, "{summary}");
}

/// The architect hands back the plan it was given.
const CARRIED_BACK: &str = r##"
[[turn]]
role = "reviewer"
use = "plan"
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:{PLAN}:15] issue: the task does not say what is printed\nVERDICT: reject" } ]

[[turn]]
role = "architect"
do = [ { say = "SUMMARY: I looked at it again.\nTASK: done" } ]
"##;

#[test]
fn a_run_that_was_shut_leaves_its_review_beside_the_journal() {
    let mut show = Show::of(&Scene { script: CARRIED_BACK, settings: "", ..PLAIN });
    show.expect(&["run"], 1);
    show.untouched();
    let run = show.run();
    let on_branch = show.landed(REVIEW).unwrap();
    let beside = std::fs::read_to_string(show.stage.run_dir(&run).join("01-REVIEW.md")).unwrap();
    for review in [&on_branch, &beside] {
        assert!(review.contains("## Result: STALE LOOP ABORTED"), "{review}");
        assert_eq!(review.matches("<escalation>").count(), 1, "{review}");
        assert!(review.contains("handed back a version that had been judged before"), "{review}");
    }
    let annotated = show.expect(&["report", "--format", "github"], 0).stdout;
    assert!(annotated.starts_with("::error "), "{annotated}");
}

#[test]
fn an_untracked_review_is_written_at_the_end_and_again() {
    let mut show = Show::of(Scene::named("untracked").unwrap());
    show.stage.write(REVIEW, "of an earlier run\n").unwrap();
    show.tribunal(&["run"]);
    let review = std::fs::read_to_string(show.stage.project().join(REVIEW)).unwrap();
    assert!(review.contains("## Result: PASSED"), "{review}");
}

#[test]
fn every_report_says_which_gates_are_off() {
    let settings = format!("{}[gates]\noff = [\"hard_gates\"]\nerrors = \"continue\"\n", scenes::NO_GATE);
    let settings: &'static str = Box::leak(settings.into_boxed_str());
    let mut show = Show::of(&Scene { settings, user: User::Clean, ..PLAIN });
    let ran = show.expect(&["run"], 0).stdout;
    for args in [
        &["report"][..],
        &["show"],
        &["report", "--format", "html"],
        &["report", "--json"],
        &["status", "--json"],
    ] {
        let said = show.expect(args, 0).stdout;
        // Markdown escapes the underscore.
        let said = said.replace('\\', "");
        assert!(said.contains("hard_gates") && said.contains("gates.errors"), "{args:?}: {said}");
    }
    assert!(ran.contains("hard_gates"), "{ran}");
    let review = show.stage.git(&["show", &format!("HEAD:{REVIEW}")]).unwrap();
    assert!(review.contains("hard") && review.contains("gates.errors"), "{review}");
}

const ORIGINS: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 1
do = [
  { write = "bin/one.sh", text = "#!/bin/sh\nset -e\necho one\n", executable = true },
  { write = "bin/more.txt", text = "first\nsecond\n" },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "task"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:3] issue: the wrong word is printed | suggestion: print 1\n[id:b] [severity:suggestion] [confidence:90] [file:docs/old.txt:2] issue: nobody is greeted, says the old header\nVERDICT: reject" } ]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 2
do = [
  { write = "bin/one.sh", text = "#!/bin/sh\nset -e\nprintf '%s' 1\n", executable = true },
  { say = "FIXED: {finding:1}\nSUMMARY: 1 is printed.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "task"
round = 2
do = [ { say = "{finding:1}: resolved\n[id:c] [severity:suggestion] [confidence:90] [file:bin/one.sh:3] issue: printf leaves the terminal without a line end\n[id:d] [severity:suggestion] [confidence:90] [file:bin/more.txt:2] issue: the second line serves no purpose\nCHECKED: ran it.\nVERDICT: approve" } ]
"##;

#[test]
fn every_finding_has_its_origin() {
    let mut show = Show::script(ORIGINS);
    show.claims("bin/more.txt");
    show.user_acts(|stage| {
        stage.write("docs/old.txt", "Greets\nwhoever calls.\n")?;
        stage.git(&["add", "docs/old.txt"])?;
        stage.git(&["commit", "-qm", "chore: a beginning"]).map(drop)
    });
    show.expect(&["run"], 0);
    let seen = as_json(&show.expect(&["report", "--json"], 0));
    let origin = |claim: &str| -> (String, String) {
        let found = seen["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["claim"].as_str().is_some_and(|text| text.contains(claim)));
        let found = found.unwrap_or_else(|| panic!("{claim}: {seen:#}"));
        let text = |key: &str| found[key].as_str().unwrap().to_owned();
        (text("id"), text("provenance"))
    };
    for (claim, expect) in [
        ("wrong word", "original"),
        ("old header", "pre-existing"),
        ("line end", "introduced by the fix of round 1"),
        ("serves no purpose", "missed earlier"),
    ] {
        let (id, found) = origin(claim);
        assert_eq!(found, expect, "{claim}");
        let shown = show.expect(&["show", &id], 0).stdout;
        assert!(shown.contains(expect), "{shown}");
    }
    let log = as_json(&show.expect(&["report", "--format", "sarif"], 0));
    assert_eq!(log["runs"][0]["results"][0]["properties"]["tribunal/provenance"], "original");
}
