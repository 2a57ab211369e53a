//! The artifact chain: from a few words to landed code, each step made, checked, judged and kept on record.

use crate::show::Show;
use crate::stage::play;
use crate::stage::scenes::{PLAIN, SPEC, SPEC_REVISED, Scene};
use tribunal_core::run::Ending;

const FOLDER: &str = ".planning/features/hello";

/// A project whose planning folder git tracks, without a phase.
fn project(settings: &'static str, script: &str) -> Show {
    let (folder, stage) = crate::stage();
    Scene { plans: &[], settings, ..PLAIN }.set(&stage).unwrap();
    stage.write(".planning/PROJECT.md", "# Tools\n").unwrap();
    stage.git(&["add", "-A"]).unwrap();
    stage.git(&["commit", "-q", "-m", "docs: a project"]).unwrap();
    stage.script_with(script).unwrap();
    Show::on(folder, stage)
}

fn read(show: &Show, path: &str) -> Option<String> {
    std::fs::read_to_string(show.stage.project().join(path)).ok()
}

fn meta(show: &Show) -> serde_json::Value {
    serde_json::from_str(&read(show, &format!("{FOLDER}/.meta.json")).unwrap()).unwrap()
}

/// A text without what is another one every time.
fn lasting(show: &Show, text: &str) -> String {
    // Numbered as they are named in it: two of one second have no order by their names.
    let mut runs: Vec<(usize, String)> =
        show.stage.runs().into_iter().filter_map(|run| Some((text.find(&run)?, run))).collect();
    runs.sort_unstable();
    let mut text = text.to_owned();
    for (n, (_, run)) in runs.iter().enumerate() {
        text = text.replace(run.as_str(), &format!("<run {}>", n + 1));
    }
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("20").filter(|at| is_time(&rest[*at..])) {
        out.push_str(&rest[..at]);
        out.push_str("<time>");
        rest = &rest[at + 20..];
    }
    out + rest
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20 && bytes[4] == b'-' && bytes[10] == b'T' && bytes[19] == b'Z'
}

#[test]
fn a_spec_is_made_judged_revised_and_kept_on_record() {
    let mut show = project("", &format!("{SPEC}{SPEC_REVISED}"));
    let ended = show.expect(&["specify", "hello", "say", "hello", "to", "whoever", "comes"], 0);
    assert_eq!(show.ended(), Ending::Passed, "{}", ended.said());
    let spec = read(&show, &format!("{FOLDER}/spec.md")).unwrap();
    assert!(spec.contains("It prints: hello"), "{spec}");
    assert_eq!(show.stage.git(&["status", "--porcelain"]).unwrap(), "");
    let history = read(&show, &format!("{FOLDER}/.review-history.md")).unwrap();
    insta::assert_snapshot!("history_of_a_spec", lasting(&show, &history));
    let meta = read(&show, &format!("{FOLDER}/.meta.json")).unwrap();
    insta::assert_snapshot!("meta_of_a_spec", lasting(&show, &meta));
    assert!(ended.said().contains("tribunal design hello"), "{}", ended.said());
    let message = show.stage.git(&["log", "-1", "--format=%B"]).unwrap();
    assert!(message.starts_with("docs(hello): spec") && !message.contains("Not-Reviewed"), "{message}");
    assert!(ended.stdout.contains("The spec of hello passed in"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("Landed") && !ended.stdout.contains("Phase"), "{}", ended.stdout);
    for command in
        [vec!["status"], vec!["show"], vec!["log"], vec!["explain"], vec!["replay"], vec!["report"]]
    {
        let told = show.expect(&command, 0);
        assert!(!told.stdout.is_empty(), "{command:?}");
    }
}

/// What a reviewer that is never content finds in each round. Fewer every time, so that only the rounds end the loop.
const FOUND: [usize; 5] = [20, 8, 3, 2, 1];

/// That reviewer, and an executor that answers everything with another part, of which the next round knows no more.
fn never_content() -> String {
    let turn = |role: &str, round: usize, steps: String| {
        format!("\n[[turn]]\n{role}\nuse = \"chain\"\nround = {round}\noptional = true\ndo = [ {steps} ]\n")
    };
    let each = |count: usize, text: &dyn Fn(usize) -> String| (1..=count).map(text).collect::<String>();
    let whole = "## Problem\\nA\\n## Requirements\\nB\\n## Success criteria\\nC\\n## Out of scope\\nD\\n";
    let (mut script, mut line, mut before) = (String::new(), 8, 0);
    for (at, now) in FOUND.into_iter().enumerate() {
        let round = at + 1;
        line += 1;
        let part = each(now, &|n| format!("Point {n} of part {round}.\\n"));
        let start = if round == 1 { whole } else { "" };
        let step = if round == 1 { "write" } else { "append" };
        let fixed = each(before, &|n| format!("FIXED: {{finding:{n}}}\\n"));
        script.push_str(&turn(
            "role = \"executor\"",
            round,
            format!(
                "{{ {step} = \"{FOLDER}/spec.md\", text = \"{start}## Part {round}\\n{part}\" }}, {{ say = \"{fixed}SUMMARY: part {round}.\\nTASK: done\" }}"
            ),
        ));
        let resolved = each(before, &|n| format!("{{finding:{n}}}: resolved\\n"));
        let new = each(now, &|n| {
            format!(
                "[id:f{n}] [severity:blocker] [confidence:95] [file:{FOLDER}/spec.md:{}] issue: what is meant by {n} in part {round}\\n",
                line + n
            )
        });
        let says = format!("{{ say = \"{resolved}{new}VERDICT: needs-revision\" }}");
        script.push_str(&turn("role = \"reviewer\"\nreviewer = \"chain-reviewer\"", round, says));
        (line, before) = (line + now, now);
    }
    script
}

#[test]
fn each_mode_has_its_rounds_and_exhaustion_blocks() {
    for (mode, rounds) in [("hotfix", 1), ("quick", 2), ("standard", 3), ("full", 5)] {
        let mut show = project("", &never_content());
        let ended = show.expect(&["specify", "hello", "--mode", mode, "say hello to whoever comes"], 1);
        assert_eq!(show.ended(), Ending::Shut, "{mode}: {}", ended.said());
        assert_eq!(show.run_state().examined().unwrap().round(), rounds, "{mode}");
        assert_eq!(read(&show, &format!("{FOLDER}/spec.md")), None, "what was not approved does not come");
        let one = &meta(&show)["phases"]["specify"];
        assert_eq!((&one["iterations"], &one["approved"]), (&rounds.into(), &false.into()), "{mode}");
        assert_eq!(one["reviewerNotes"].as_array().unwrap().len(), FOUND[rounds as usize - 1], "{one}");
        assert_eq!(meta(&show)["mode"], mode);
        let history = read(&show, &format!("{FOLDER}/.review-history.md")).unwrap();
        assert!(history.contains("not approved: its rounds are spent"), "{history}");
        assert!(ended.said().contains("tribunal specify hello"), "{}", ended.said());
    }
    let mut show = project("[chain]\nmode = \"quick\"\n", &never_content());
    show.expect(&["specify", "hello", "say hello to whoever comes"], 1);
    assert_eq!(show.run_state().examined().unwrap().round(), 2, "the setting counts where no flag does");
    show.expect(&["specify", "hello", "--mode", "huge"], 2);
}

#[test]
fn exhaustion_can_warn_and_go_on_and_does_not_approve() {
    let mut show = project("[chain]\non_exhausted = \"warn\"\nmode = \"quick\"\n", &never_content());
    let ended = show.expect(&["specify", "hello", "say hello to whoever comes"], 0);
    assert_eq!(show.ended(), Ending::Concerns);
    assert!(read(&show, &format!("{FOLDER}/spec.md")).unwrap().contains("Point 1 of part 2."));
    let one = &meta(&show)["phases"]["specify"];
    assert_eq!(one["approved"], false, "{one}");
    assert!(one["reviewerNotes"][0].as_str().unwrap().contains("1 in part 2"), "{one}");
    assert!(ended.said().contains("goes on, with open concerns"), "{}", ended.said());
    assert!(ended.said().contains("tribunal design hello"), "{}", ended.said());
    let message = show.stage.git(&["log", "-1", "--format=%B"]).unwrap();
    assert!(message.contains("Tribunal-Not-Approved: the spec"), "{message}");
    let history = read(&show, &format!("{FOLDER}/.review-history.md")).unwrap();
    insta::assert_snapshot!("history_of_concerns", lasting(&show, &history));
    // Whoever comes next is told.
    let told = THE_REST
        .replace("{ expect = \".planning/features/hello/spec.md\" },", "{ expect = \"specify: F-21\" },");
    assert_ne!(told, THE_REST);
    show.stage.script_with(&told).unwrap();
    let ended = show.expect(&["design", "hello"], 0);
    assert!(ended.stderr.contains("what `specify` made was not approved"), "{}", ended.stderr);
}

#[test]
fn a_review_that_is_skipped_is_told_everywhere() {
    for (settings, flags, why) in [
        ("", &["--no-review"][..], "--no-review"),
        ("[chain]\nreview = \"never\"\n", &[], "chain.review = \"never\""),
        ("[chain]\nreview = \"on_request\"\n", &[], "nobody asked"),
    ] {
        let mut show = project(settings, SPEC);
        let args = [&["specify", "hello", "say hello to whoever comes"], flags].concat();
        let ended = show.expect(&args, 0);
        assert_eq!(show.ended(), Ending::Passed);
        let one = &meta(&show)["phases"]["specify"];
        assert!(one["skipped"].as_str().unwrap().contains(why) && one["approved"] == false, "{one}");
        let history = read(&show, &format!("{FOLDER}/.review-history.md")).unwrap();
        assert!(history.contains("**Nobody reviewed it**") && history.contains(why), "{history}");
        let message = show.stage.git(&["log", "-1", "--format=%B"]).unwrap();
        assert!(message.contains("Tribunal-Not-Reviewed: the spec"), "{message}");
        assert!(ended.said().contains("nobody reviewed the spec"), "{}", ended.said());
    }
    let mut show = project("[chain]\nreview = \"on_request\"\n", &format!("{SPEC}{SPEC_REVISED}"));
    show.expect(&["specify", "hello", "--review", "say hello to whoever comes"], 0);
    assert_eq!(meta(&show)["phases"]["specify"]["approved"], true);
}

#[test]
fn names_that_are_none_are_refused() {
    let mut show = project("", SPEC);
    let long = "x".repeat(65);
    for name in
        ["../x", "a/b", "", "a b", "-x", "--", ".", "..", ".git", "a..b", "a\nb", "\u{1b}[31m", long.as_str()]
    {
        let args: Vec<&str> = if name == "--" { vec!["design", "--", "--"] } else { vec!["design", name] };
        let ended = show.expect(&args, 2);
        assert!(ended.stderr.contains("no name for a feature"), "{name:?}: {}", ended.said());
        assert!(!ended.stderr.contains('\u{1b}'), "{name:?}");
    }
    show.untouched();
    assert!(show.stage.runs().is_empty());
}

#[test]
fn what_must_come_before_is_missed_at_once() {
    let mut show = project("", SPEC);
    for (command, word, way_out) in [
        ("implement", "has no spec", "tribunal specify hello"),
        ("create-tasks", "has no plan", "tribunal create-plan hello"),
    ] {
        let ended = show.expect(&[command, "hello"], 2);
        assert!(ended.stderr.contains(word) && ended.stderr.contains(way_out), "{}", ended.said());
    }
    show.user_commits(&[(".planning/features/hello/spec.md", "# Hello\n")]);
    let ended = show.expect(&["implement", "hello"], 2);
    assert!(ended.stderr.contains("tribunal create-plan hello"), "{}", ended.said());
    assert!(show.stage.runs().is_empty());
    show.untouched();
}

/// Everything after the spec. The first plan has no frontmatter, which the plan gate's own check finds.
const THE_REST: &str = r##"
[[turn]]
role = "executor"
use = "chain"
plan = "design"
optional = true
do = [
  { expect = ".planning/features/hello/spec.md" },
  { write = ".planning/features/hello/design.md", text = "# Design\n\n## Approach\n\nA script.\n\n## Components\n\nbin/one.sh\n\n## Decisions\n\nsh, because it is there.\n\n## Risks\n\nnone: it prints a word.\n" },
  { say = "SUMMARY: a script.\nTASK: done" },
]

[[turn]]
role = "executor"
use = "chain"
plan = "plan"
round = 1
optional = true
do = [
  { expect = ".planning/phases/01-hello/NN-MM-PLAN.md" },
  { write = ".planning/phases/01-hello/01-01-PLAN.md", text = "# Plan\n\nWrite it.\n" },
  { say = "SUMMARY: a first plan.\nTASK: done" },
]

[[turn]]
role = "executor"
use = "chain"
plan = "plan"
round = 2
optional = true
do = [
  { expect = "frontmatter" },
  { write = ".planning/phases/01-hello/01-01-PLAN.md", text = "---\nphase: \"01\"\nplan: \"01\"\ntitle: \"Greet\"\nwave: 1\ndepends_on: []\nmust_haves:\n  - \"bin/one.sh prints a word\"\nfiles_modified:\n  - \"bin/one.sh (new)\"\n---\n# Plan 01-01\n\n### Task 1: Write bin/one.sh\nWrite it.\nIn the end bin/one.sh prints a word.\n\n**File:** `bin/one.sh` (new)\n**Commit:** `feat(01-01): add bin/one.sh`\n> verification: sh bin/one.sh\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: a plan that can be run.\nTASK: done" },
]

[[turn]]
role = "executor"
use = "chain"
plan = "tasks"
round = 1
optional = true
do = [ { write = ".planning/features/hello/tasks.md", text = "# Tasks\n\n## Tasks\n\n- all of it\n" }, { say = "SUMMARY: tasks.\nTASK: done" } ]

[[turn]]
role = "executor"
use = "chain"
plan = "tasks"
round = 2
optional = true
do = [
  { expect = "the task 01-01: Write bin/one.sh of the plans is not in it" },
  { write = ".planning/features/hello/tasks.md", text = "# Tasks\n\n## Tasks\n\n- [ ] 01-01: Write bin/one.sh (done when it prints)\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: the task by its name.\nTASK: done" },
]
"##;

/// The final reviewer holds the code against the spec, and the executor fixes it.
const FINAL_REVISED: &str = r##"
[[turn]]
role = "reviewer"
reviewer = "final-reviewer"
round = 1
optional = true
do = [
  { expect = "against the spec" },
  { expect = "It prints: hello" },
  { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:2] issue: the spec asks for hello, it prints one | suggestion: print hello\nVERDICT: needs-revision" },
]

[[turn]]
role = "executor"
use = "chain"
plan = "implementation"
round = 2
optional = true
do = [
  { expect = "it prints one" },
  { write = "bin/one.sh", text = "#!/bin/sh\necho hello\n", executable = true },
  { say = "FIXED: {finding:1}\nSUMMARY: it prints hello.\nTASK: done" },
]

[[turn]]
role = "reviewer"
reviewer = "final-reviewer"
round = 2
optional = true
do = [ { say = "{finding:1}: resolved\nCHECKED: ran it; it prints hello.\nVERDICT: approved" } ]
"##;

fn whole(settings: &'static str) -> Show {
    project(settings, &format!("{SPEC}{SPEC_REVISED}{THE_REST}{FINAL_REVISED}"))
}

#[test]
fn the_whole_chain_from_a_few_words_to_landed_code() {
    let mut show = whole("");
    show.expect(&["specify", "hello", "say hello to whoever comes"], 0);
    for (command, file) in [
        ("design", ".planning/features/hello/design.md"),
        ("create-plan", ".planning/phases/01-hello/01-01-PLAN.md"),
        ("create-tasks", ".planning/features/hello/tasks.md"),
    ] {
        let ended = show.expect(&[command, "hello"], 0);
        assert_eq!(show.ended(), Ending::Passed, "{command}: {}", ended.said());
        assert!(!ended.stderr.contains("warning"), "{command}: {}", ended.stderr);
        assert!(read(&show, file).is_some(), "{command}: {}", ended.said());
    }
    let ended = show.expect(&["implement", "hello"], 0);
    assert_eq!(show.ended(), Ending::Passed, "{}", ended.said());
    assert_eq!(read(&show, "bin/one.sh").as_deref(), Some("#!/bin/sh\necho hello\n"));
    assert_eq!(show.stage.git(&["status", "--porcelain"]).unwrap(), "");
    assert!(!show.messages().contains("Tribunal-Not-Reviewed"), "{}", show.messages());
    let history = read(&show, &format!("{FOLDER}/.review-history.md")).unwrap();
    insta::assert_snapshot!("history_of_the_whole_chain", lasting(&show, &history));
    let meta = read(&show, &format!("{FOLDER}/.meta.json")).unwrap();
    insta::assert_snapshot!("meta_of_the_whole_chain", lasting(&show, &meta));
    show.expect(&["replay"], 0);
    show.expect(&["explain"], 0);
    let summary = read(&show, ".planning/phases/01-hello/01-01-SUMMARY.md").unwrap();
    assert!(summary.contains("complete"), "{summary}");
}

#[test]
fn what_git_does_not_track_comes_to_the_folder() {
    let (folder, stage) = crate::stage();
    Scene { plans: &[], settings: "", ..PLAIN }.set(&stage).unwrap();
    stage.write(".gitignore", ".planning/\n").unwrap();
    stage.git(&["add", "-A"]).unwrap();
    stage.git(&["commit", "-q", "-m", "chore: ignore plans"]).unwrap();
    stage.write(&format!("{FOLDER}/.review-history.md"), "# Ours\n\nAda reviewed the idea.\n").unwrap();
    stage
        .write(
            &format!("{FOLDER}/.meta.json"),
            "{\"id\": 7, \"phases\": {\"brainstorm\": {\"by\": \"Ada\"}}}",
        )
        .unwrap();
    stage.write(&format!("{FOLDER}/brainstorm.md"), "say hello to whoever comes\n").unwrap();
    stage
        .script_with(&format!(
            "{}{THE_REST}{FINAL_REVISED}",
            format!("{SPEC}{SPEC_REVISED}")
                .replace("{ expect = \"say hello to whoever comes\" },", "{ expect = \"brainstorm.md\" },")
        ))
        .unwrap();
    let mut show = Show::on(folder, stage);
    let head = show.stage.git(&["rev-parse", "HEAD"]).unwrap();
    for command in ["specify", "design", "create-plan", "create-tasks"] {
        let ended = show.expect(&[command, "hello"], 0);
        assert_eq!(show.ended(), Ending::Passed, "{}", ended.said());
        assert_eq!(show.stage.git(&["rev-parse", "HEAD"]).unwrap(), head, "nothing is committed");
    }
    show.expect(&["implement", "hello"], 0);
    assert_eq!(read(&show, "bin/one.sh").as_deref(), Some("#!/bin/sh\necho hello\n"));
    let tracked = show.stage.git(&["ls-files"]).unwrap();
    assert!(!tracked.contains(".planning"), "{tracked}");
    let history = read(&show, &format!("{FOLDER}/.review-history.md")).unwrap();
    assert!(history.starts_with("# Ours\n\nAda reviewed the idea.\n\n## specify"), "{history}");
    assert!(history.contains("\n## implement, run "), "{history}");
    let meta = meta(&show);
    assert_eq!((&meta["id"], &meta["phases"]["brainstorm"]["by"]), (&7.into(), &"Ada".into()));
    assert_eq!(meta["phases"]["implement"]["iterations"], 2);
}

#[test]
fn code_that_is_not_approved_stays_away_and_warn_lets_go_what_its_panels_approved() {
    let no = r##"
[[turn]]
role = "reviewer"
reviewer = "final-reviewer"
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:2] issue: the spec asks for hello\nVERDICT: needs-revision" } ]
"##;
    for (settings, code) in [("", 1), ("[chain]\non_exhausted = \"warn\"\n", 0)] {
        let mut show = project(settings, &format!("{SPEC}{THE_REST}{no}"));
        show.expect(&["specify", "hello", "--no-review", "say hello to whoever comes"], 0);
        show.expect(&["create-plan", "hello", "--no-review"], 0);
        let ended = show.expect(&["implement", "hello", "--mode", "hotfix"], code);
        let one = &meta(&show)["phases"]["implement"];
        match code {
            1 => {
                assert_eq!(show.ended(), Ending::Shut);
                assert_eq!(read(&show, "bin/one.sh"), None, "{}", ended.said());
                assert_eq!(one["approved"], serde_json::Value::Null, "the record stays with the code: {one}");
            }
            _ => {
                assert_eq!(show.ended(), Ending::Concerns);
                assert!(read(&show, "bin/one.sh").is_some(), "{}", ended.said());
                assert_eq!(one["approved"], false);
                assert!(
                    show.messages().contains("Tribunal-Not-Approved: the implementation"),
                    "{}",
                    show.messages()
                );
            }
        }
    }
}

#[test]
fn a_build_whose_final_review_is_skipped_says_so() {
    let mut show = whole("");
    show.expect(&["specify", "hello", "say hello to whoever comes"], 0);
    let ended = show.expect(&["create-plan", "hello"], 0);
    assert!(ended.stderr.contains("hello has no design.md"), "{}", ended.stderr);
    let ended = show.expect(&["implement", "hello", "--no-review"], 0);
    assert!(ended.stderr.contains("hello has no tasks.md"), "{}", ended.stderr);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(
        show.messages().contains("Tribunal-Not-Reviewed: what was built, against its spec"),
        "{}",
        show.messages()
    );
    assert_eq!(meta(&show)["phases"]["implement"]["skipped"], "--no-review");
}

#[test]
fn an_executor_that_writes_elsewhere_gets_it_put_back() {
    let out_of_scope = SPEC.replace(
        "  { say = \"SUMMARY",
        "  { write = \"bin/evil.sh\", text = \"x\\n\" },\n  { write = \"README.md\", text = \"mine\\n\" },\n  { write = \".planning/PROJECT.md\", text = \"mine\\n\" },\n  { say = \"SUMMARY",
    );
    assert_ne!(out_of_scope, SPEC);
    let mut show = project("", &format!("{out_of_scope}{SPEC_REVISED}"));
    show.expect(&["specify", "hello", "say hello to whoever comes"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(read(&show, "bin/evil.sh"), None);
    assert_eq!(read(&show, ".planning/PROJECT.md").as_deref(), Some("# Tools\n"));
    let log = show.expect(&["log", "--all"], 0);
    assert!(log.stdout.contains("bin/evil.sh") && log.stdout.contains("put back"), "{}", log.stdout);
    let files = show.stage.git(&["show", "--name-only", "--format=", "HEAD"]).unwrap();
    assert!(files.lines().all(|file| file.starts_with(FOLDER)), "{files}");
}

#[test]
fn a_link_in_the_place_of_an_artifact_is_none() {
    let linked = SPEC.replace(
        "{ write = \".planning/features/hello/spec.md\", text = ",
        "{ run = [\"sh\", \"-c\", \"mkdir -p .planning/features/hello && ln -s /etc/passwd .planning/features/hello/spec.md\"] },\n  { write = \"other.md\", text = ",
    );
    let mut show = project("[chain]\nmode = \"hotfix\"\n", &linked);
    let ended = show.expect(&["specify", "hello", "say hello to whoever comes"], 1);
    assert!(ended.said().contains("spec.md is not there"), "{}", ended.said());
    assert_eq!(read(&show, &format!("{FOLDER}/spec.md")), None);
    let log = show.expect(&["log", "--all"], 0);
    assert!(log.stdout.contains("spec.md, other.md"), "what was not taken is told: {}", log.stdout);
}

#[test]
fn a_plan_of_before_that_is_taken_away_is_put_back_and_told() {
    let removed = THE_REST.replace(
        "{ expect = \"frontmatter\" },",
        "{ expect = \"frontmatter\" },\n  { delete = \".planning/phases/01-hello/01-02-PLAN.md\" },",
    );
    assert_ne!(removed, THE_REST);
    let mut show = project("[chain]\nmode = \"quick\"\n", &format!("{SPEC}{SPEC_REVISED}{removed}"));
    show.expect(&["specify", "hello", "say hello to whoever comes"], 0);
    let plan = ".planning/phases/01-hello/01-02-PLAN.md";
    show.user_commits(&[(plan, "# Mine\n")]);
    show.expect(&["create-plan", "hello"], 1);
    assert_eq!(read(&show, plan).as_deref(), Some("# Mine\n"));
    let log = show.expect(&["log", "--all"], 0);
    assert!(log.stdout.contains("01-02-PLAN.md") && log.stdout.contains("put back"), "{}", log.stdout);
}

#[test]
fn a_feature_that_nobody_could_judge_does_not_begin() {
    let mut show = project("[agents]\ndefault = \"\"\n[agents.roles.dev]\nadapter = \"witness\"\n", SPEC);
    let ended = show.expect(&["specify", "hello", "say hello to whoever comes"], 2);
    assert!(ended.stderr.contains("chain-reviewer"), "{}", ended.said());
    assert!(show.stage.runs().is_empty());
}

#[test]
fn a_folder_with_too_many_documents_is_refused_not_cut() {
    let mut show = project("", SPEC);
    let names: Vec<String> = (0..=50).map(|n| format!("{FOLDER}/notes-{n}.md")).collect();
    show.user_commits(&names.iter().map(|name| (name.as_str(), "# Notes\n")).collect::<Vec<_>>());
    let ended = show.expect(&["specify", "hello", "say hello to whoever comes"], 2);
    assert!(ended.stderr.contains("more than 50 documents"), "{}", ended.said());
    assert!(show.stage.runs().is_empty());
}

#[test]
fn a_person_decides_where_nobody_can_say() {
    let lost =
        "\n[[turn]]\nrole = \"reviewer\"\nreviewer = \"chain-reviewer\"\ndo = [ { fault = \"crash\" } ]\n";
    let mut show = project("", &format!("{SPEC}{lost}"));
    show.expect(&["specify", "hello", "say hello to whoever comes"], 4);
    let questions = show.questions();
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].0, "chain.spec");
    assert!(show.expect(&["inbox"], 0).stdout.contains("the spec"));
    show.expect(&["decide", "chain.spec", "accept", "--by", "Ada"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let one = &meta(&show)["phases"]["specify"];
    assert_eq!(one["outcome"], "accepted as it is by Ada", "{one}");
}

/// It dies at each of its points, and goes on: whatever died when, there is one spec and one record of it.
#[test]
fn a_step_that_dies_goes_on() {
    let mut at = 1;
    loop {
        let mut show = project("", &format!("{SPEC}{SPEC_REVISED}"));
        let n = at.to_string();
        let args = ["specify", "hello", "say hello to whoever comes"];
        let died = show.stage.program().run(&args, &[("TRIBUNAL_CRASH_AT", n.as_ref())]).unwrap();
        if died.code == Some(0) {
            assert!(at > 20, "it died {at} times only");
            return;
        }
        assert_eq!(died.signal, Some(9), "{at}: {}", died.said());
        let ended = show.tribunal(&args);
        assert_eq!(ended.code, Some(0), "died at {at}: {}", ended.said());
        assert_eq!(show.ended(), Ending::Passed);
        let history = read(&show, &format!("{FOLDER}/.review-history.md")).unwrap();
        assert_eq!(history.matches("## specify, run").count(), 1, "died at {at}: {history}");
        assert!(history.contains("Iteration 2: approved"), "died at {at}: {history}");
        assert!(read(&show, &format!("{FOLDER}/spec.md")).unwrap().contains("It prints: hello"), "{at}");
        assert_eq!(show.stage.git(&["status", "--porcelain"]).unwrap(), "", "{at}");
        at += 3;
    }
}

#[test]
fn a_person_fixes_an_artifact_by_hand() {
    let lost = "\n[[turn]]\nrole = \"reviewer\"\nreviewer = \"chain-reviewer\"\nround = 1\ndo = [ { fault = \"crash\" } ]\n";
    let mut show = project("", &format!("{SPEC}{lost}"));
    show.expect(&["specify", "hello", "say hello to whoever comes"], 4);
    let place = play::place_to_fix(&show.stage, "chain.spec").unwrap();
    let text = std::fs::read_to_string(place.join(FOLDER).join("spec.md")).unwrap();
    std::fs::write(place.join(FOLDER).join("spec.md"), text.replace("a word", "salut")).unwrap();
    show.expect(&["decide", "chain.spec", "fixed", "--by", "Ada"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(read(&show, &format!("{FOLDER}/spec.md")).unwrap().contains("It prints salut"));
    let history = read(&show, &format!("{FOLDER}/.review-history.md")).unwrap();
    assert!(history.contains("fixed by Ada"), "{history}");
}

#[test]
fn a_step_is_called_off_and_begun_again() {
    let lost = "\n[[turn]]\nrole = \"reviewer\"\nreviewer = \"chain-reviewer\"\noptional = true\ndo = [ { fault = \"crash\" } ]\n";
    let mut show = project("", &format!("{SPEC}{lost}"));
    let args = ["specify", "hello", "say hello to whoever comes"];
    show.expect(&args, 4);
    let ended = show.expect(&args, 4);
    assert!(ended.stderr.contains("it goes on"), "the same run: {}", ended.stderr);
    assert_eq!(show.stage.runs().len(), 1);
    show.expect(&["cancel"], 0);
    assert_eq!(show.ended(), Ending::Cancelled);
    show.untouched();
    show.stage.script_with(&format!("{SPEC}{SPEC_REVISED}")).unwrap();
    show.expect(&args, 0);
    assert_eq!(show.stage.runs().len(), 2);
}

#[test]
fn what_people_wrote_meanwhile_stays() {
    let (folder, stage) = crate::stage();
    Scene { plans: &[], settings: "", ..PLAIN }.set(&stage).unwrap();
    stage.write(&format!("{FOLDER}/spec.md"), "# An older one\n").unwrap();
    stage.write(&format!("{FOLDER}/.meta.json"), "no JSON\n").unwrap();
    let ring = SPEC.replace("  { expect = \"say", "  { expect = \"An older one\" },\n  { run = [\"sh\", \"-c\", \"echo > '{ROOT}/at-work'\"] },\n  { wait = \"file:go\" },\n  { expect = \"say");
    stage.script_with(&format!("{ring}{SPEC_REVISED}")).unwrap();
    let mut show = Show::on(folder, stage);
    let args = ["specify", "hello", "say hello to whoever comes"];
    let bell = play::listen(&show.stage.root().join("at-work")).unwrap();
    let running = show.stage.program().start(&args, &[]).unwrap();
    assert!(running.reaches(&bell).unwrap(), "{}", running.stderr());
    show.user_acts(|stage| stage.write(&format!("{FOLDER}/spec.md"), "# Mine, now\n"));
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    let ended = show.after(&args, ended);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert_eq!(read(&show, &format!("{FOLDER}/spec.md")).as_deref(), Some("# Mine, now\n"));
    assert_eq!(read(&show, &format!("{FOLDER}/.meta.json")).as_deref(), Some("no JSON\n"));
    assert!(ended.said().contains("left as they are"), "{}", ended.said());
    assert!(show.run_state().warnings.iter().any(|warning| warning.contains(".meta.json was left as it is")));
}

#[test]
fn a_folder_that_is_a_link_is_refused() {
    let mut show = project("", SPEC);
    show.user_acts(|stage| {
        stage.write(".planning/elsewhere/spec.md", "# x\n")?;
        std::fs::create_dir_all(stage.project().join(".planning/features"))
            .map_err(|error| error.to_string())?;
        let link = stage.project().join(FOLDER);
        std::os::unix::fs::symlink("../elsewhere", link).map_err(|error| error.to_string())
    });
    let ended = show.expect(&["design", "hello"], 2);
    assert!(ended.stderr.contains("no folder, or a link"), "{}", ended.said());
}

/// What is built and held against its spec dies here and there, and goes on.
#[test]
fn an_implementation_that_dies_goes_on() {
    for at in (11..).step_by(43) {
        let mut show =
            project("", &format!("{SPEC}{THE_REST}{FINAL_REVISED}").replace("It prints: hello", "It prints"));
        show.expect(&["specify", "hello", "--no-review", "say hello to whoever comes"], 0);
        show.expect(&["create-plan", "hello", "--no-review"], 0);
        let n = at.to_string();
        let died =
            show.stage.program().run(&["implement", "hello"], &[("TRIBUNAL_CRASH_AT", n.as_ref())]).unwrap();
        if died.code == Some(0) {
            assert!(at > 60, "it has more points than {at}");
            return;
        }
        assert_eq!(died.signal, Some(9), "{at}: {}", died.said());
        let ended = show.tribunal(&["implement", "hello"]);
        assert_eq!(ended.code, Some(0), "died at {at}: {}", ended.said());
        assert_eq!(show.ended(), Ending::Passed);
        assert_eq!(read(&show, "bin/one.sh").as_deref(), Some("#!/bin/sh\necho hello\n"), "died at {at}");
        let history = read(&show, &format!("{FOLDER}/.review-history.md")).unwrap();
        assert_eq!(history.matches("## implement, run").count(), 1, "died at {at}: {history}");
    }
}
