//! What went wrong where the protocol came from, in a whole run: findings that got lost on their way to the architect, text
//! that became a command, files that were not found, checks that could not run. One test each.

use crate::show::Show;
use crate::stage::PHASE;
use crate::stage::scenes::{NO_GATE, PLAIN, Scene};
use tribunal_core::run::Ending;

const PLAN: &str = ".planning/phases/01-tools/01-01-PLAN.md";

#[test]
fn the_architect_gets_what_the_structure_and_the_reviewer_found_and_what_persists() {
    const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "plan"
round = 1
do = [ { say = "- [id:a] [severity:blocker] [confidence:95] [status:new] [file:{PLAN}:1] issue: nobody says which word | suggestion: say it\nVERDICT: reject" } ]

[[turn]]
role = "architect"
round = 2
do = [
  { expect = "nobody says which word" },
  { expect = "everybody rejoices" },
  { append = "{PLAN}", text = "\nEverybody rejoices.\n" },
  { say = "FIXED: {finding:1}\nFIXED: {finding:2}\nSUMMARY: changed.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "plan"
round = 2
do = [ { expect = "nobody says which word" }, { say = "{finding:1}: still there\nVERDICT: reject" } ]

[[turn]]
role = "architect"
round = 3
do = [
  { expect = "nobody says which word" },
  { expect = "persistent" },
  { run = ["sh", "-c", "sed 's/^Write it\\.$/Write it so that it prints one./' {PLAN} > plan.new && mv plan.new {PLAN}"] },
  { say = "FIXED: {finding:1}\nSUMMARY: it says which.\nTASK: done" },
]

[[turn]]
role = "reviewer"
use = "plan"
round = 3
do = [ { say = "{finding:1}: resolved\nCHECKED: the task says it.\nVERDICT: approve" } ]
"##;
    let scene = Scene { script: SCRIPT, settings: "[qa]\nreview = \"never\"\n", ..PLAIN };
    let mut show = Show::with_plan(&scene, |text| {
        text.replace("must_haves:\n", "must_haves:\n  - \"everybody rejoices\"\n")
    });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    let report = show.expect(&["report", "--format", "markdown"], 0).stdout;
    assert!(report.contains("nobody says which word") && !report.contains("null"), "{report}");
}

#[test]
fn shell_signs_quotes_and_line_ends_in_a_plan_are_only_text() {
    let odd = r#"$(touch pwned) `touch pwned` "quoted" 'single' ; touch pwned"#;
    let mut show = Show::with_plan(&PLAIN, |text| {
        let title = format!("title: |\n  {odd}\n  a second line\n");
        let commit = "add \"$(touch pwned)\" 'x'; touch pwned";
        text.replace("title: \"Tool 01\"\n", &title)
            .replace("Write bin/one.sh\n", &format!("Write {odd}\n"))
            .replace("feat(01-01): add bin/one.sh", &format!("feat(01-01): {commit}"))
    });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert!(
        show.messages().contains("feat(01-01): add \"$(touch pwned)\" 'x'; touch pwned"),
        "{}",
        show.messages()
    );
    let found = show.stage.git(&["ls-files", "--cached", "--others", "--", "*pwned*"]).unwrap();
    assert_eq!(found, "");
    assert!(!everywhere(show.stage.root()).iter().any(|name| name == "pwned"));
    show.expect(&["report"], 0);
    show.expect(&["status"], 0);
}

fn everywhere(dir: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        names.push(entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.extend(everywhere(&entry.path()));
        }
    }
    names
}

#[test]
fn paths_with_blanks_and_letters_of_any_kind() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [ { write = "bin/süße grüße.sh", text = "echo hi\n" }, { say = "SUMMARY: it greets.\nTASK: done" } ]
"##;
    let mut show = Show::with_plan(&Scene { script: SCRIPT, ..PLAIN }, |text| {
        text.replace("sh bin/one.sh", "sh 'bin/süße grüße.sh'").replace("bin/one.sh", "bin/süße grüße.sh")
    });
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/süße grüße.sh").as_deref(), Some("echo hi"));
    let summary = format!("{PHASE}/01-01-SUMMARY.md");
    assert!(show.landed(&summary).unwrap().contains("`bin/süße grüße.sh` -- created"));
    show.expect(&["diff-against-plan", &summary], 0);
    show.expect(&["verify-plan-completion", &summary, PLAN], 0);
    let made =
        std::fs::read_to_string(show.stage.project().join(".planning/.artifacts/registry.jsonl")).unwrap();
    assert!(made.contains("\"bin/süße grüße.sh\""), "{made}");
}

#[test]
fn a_phase_number_that_two_folders_have_and_a_summary_without_a_plan() {
    let (_folder, stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    stage.write(".planning/phases/01-other/01-01-PLAN.md", "---\nphase: 1\n---\n").unwrap();
    let ended = stage.tribunal(&["run", "1"]).unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.stderr.contains("01-other") && ended.stderr.contains("01-tools"), "{}", ended.stderr);

    let mut show = Show::of(&PLAIN);
    let summary = format!("{PHASE}/01-09-SUMMARY.md");
    show.user_commits(&[(&summary, "---\nphase: 1\nplan: 9\nstatus: complete\n---\n")]);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn documents_of_bad_shape_are_read_or_refused_never_a_bug() {
    type Change = fn(&str) -> String;
    let table: [(&str, Change, &[i32]); 4] = [
        ("tabs", |text| text.replace("  - \"bin", "\t- \"bin"), &[0, 2]),
        ("two documents", |text| format!("{text}\n---\nphase: 02\nplan: 07\n---\n"), &[0]),
        ("5 MB of body", |text| format!("{text}\n{}", "words and words\n".repeat(330_000)), &[0]),
        ("CRLF and BOM", |text| format!("\u{feff}{}", text.replace('\n', "\r\n")), &[0]),
    ];
    for (name, change, codes) in table {
        let mut show = Show::with_plan(&PLAIN, change);
        let ended = show.tribunal(&["run"]);
        assert!(codes.contains(&ended.code.unwrap()), "{name}: {:?} {}", ended.code, ended.said());
        assert!(!ended.stderr.contains("bug:"), "{name}: {}", ended.stderr);
        if ended.code == Some(0) {
            assert_eq!(show.ended(), Ending::Passed, "{name}");
        }
    }
}

#[test]
fn a_verification_that_is_missing_hangs_floods_or_kills_its_shell_lands_nothing() {
    // The command, and whether it says something of the work: otherwise it did not run, which a person must hear of.
    for (check, ran) in [
        ("no-such-program-at-all", false),
        ("./README.md", false),
        ("tail -f /dev/null", false),
        ("yes", false),
        ("kill -9 $$", false),
        ("kill -11 $$", true),
    ] {
        let settings = format!("{NO_GATE}[task]\nrounds_max = 1\n[checks]\ntimeout_s = 2\n");
        let scene = Scene { settings: settings.leak(), ..PLAIN };
        let mut show = Show::with_plan(&scene, |text| {
            text.replace("> verification: sh bin/one.sh", &format!("> verification: {check}"))
        });
        let ended = show.expect(&["run"], 4);
        assert_eq!(show.landed("bin/one.sh"), None, "{check}");
        let (_, offers) = show.questions().remove(0);
        assert_eq!(offers.contains(&"ask-again"), !ran, "{check}: {offers:?} {}", ended.stdout);
    }
}
