//! What reviewers are shown of a change that no prompt can hold: all of it, part by part, or nobody approves.

use crate::review_panel::{BACKEND, reviewer};
use crate::server::Server;
use crate::show::Show;
use crate::stage::Stage;
use crate::stage::program::Ended;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use tempfile::TempDir;
use tribunal_core::cover::Shown;
use tribunal_core::finding::Verdict;
use tribunal_core::review_loop::LoopEvent;
use tribunal_engine::Fact;
use tribunal_journal::Reader;

const QA: &str = "testing-qa-verification-specialist";
const SECURITY: &str = "security-engineer";
const APPROVES: &str = "[[turn]]\nrole = \"reviewer\"\ndo = [{ say = \"CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\\nVERDICT: approve\" }]\n";

struct Change {
    _folder: TempDir,
    stage: Stage,
}

impl Change {
    /// A topic branch that adds these files.
    fn new(files: &[(String, String)], script: &str) -> Change {
        let base = |stage: &Stage| stage.write("README.md", "a project\n").unwrap();
        let topic = |stage: &Stage| files.iter().for_each(|(path, text)| stage.write(path, text).unwrap());
        Change::between(base, topic, script)
    }

    /// A topic branch that makes the second out of the first.
    fn between(base: impl FnOnce(&Stage), topic: impl FnOnce(&Stage), script: &str) -> Change {
        let (folder, stage) = crate::stage();
        base(&stage);
        stage.commit_all().unwrap();
        stage.git(&["checkout", "-q", "-b", "topic"]).unwrap();
        topic(&stage);
        stage.git(&["add", "-A"]).unwrap();
        stage.git(&["commit", "-q", "-m", "feat: a large change"]).unwrap();
        stage.script(script).unwrap();
        Change { _folder: folder, stage }
    }

    /// The user's settings, which are no part of the change.
    fn settings(&self, text: &str) {
        let exclude = self.stage.project().join(".git/info/exclude");
        let known = std::fs::read_to_string(&exclude).unwrap_or_default();
        std::fs::write(exclude, format!("{known}\ntribunal.toml\n")).unwrap();
        self.stage.write("tribunal.toml", text).unwrap();
    }

    #[track_caller]
    fn review(&self, panel: &str, code: i32) -> Ended {
        let ended =
            self.stage.tribunal(&["review", "--diff", "main..HEAD", "--yes", "--panel", panel]).unwrap();
        assert_eq!(ended.code, Some(code), "{}", ended.said());
        ended
    }

    fn run(&self) -> String {
        self.stage.newest().unwrap().unwrap().0
    }

    /// The prompts of one reviewer, in order of their names.
    fn prompts(&self, reviewer: &str) -> Vec<String> {
        let launches = std::fs::read_dir(self.stage.run_dir(&self.run()).join("launches")).unwrap();
        let of = |launch: std::fs::DirEntry| {
            let name = launch.file_name().into_string().unwrap();
            let text = std::fs::read_to_string(launch.path().join("prompt.md")).ok()?;
            name.contains(&format!("judge_{reviewer}")).then_some((name, text))
        };
        let all: BTreeMap<String, String> = launches.flatten().filter_map(of).collect();
        all.into_values().collect()
    }

    fn loop_events(&self) -> Vec<LoopEvent> {
        let reader = Reader::open(&self.stage.run_dir(&self.run())).unwrap();
        let mut events = Vec::new();
        let take = |fact: Fact| {
            if let Fact::Loop(_, event) = fact {
                events.push(event);
            }
        };
        let mut take = take;
        reader.each(1, |row| Fact::decode(&row).map(&mut take)).unwrap();
        events
    }

    fn answered(&self) -> Vec<Shown> {
        let shown = |event| match event {
            LoopEvent::Answered { shown, .. } => Some(shown),
            _ => None,
        };
        self.loop_events().into_iter().filter_map(shown).collect()
    }

    fn report(&self, args: &[&str]) -> String {
        let ended = self.stage.tribunal(&[&["report"], args].concat()).unwrap();
        assert_eq!(ended.code, Some(0), "{}", ended.said());
        ended.stdout
    }
}

/// Sixty files of two hundred lines, twelve thousand lines in all.
fn sixty_files() -> Vec<(String, String)> {
    let line = |file: usize, n: usize| format!("let value_{file}_{n} = compute({n}); // of file {file}\n");
    let text = |file| (0..200).map(|n| line(file, n)).collect();
    (0..60).map(|file| (format!("src/f{file}.rs"), text(file))).collect()
}

#[test]
fn every_line_of_a_large_change_is_in_some_prompt_of_every_reviewer() {
    let files = sixty_files();
    let change = Change::new(&files, APPROVES);
    change.review(&format!("{QA},{SECURITY}"), 0);
    for reviewer in [QA, SECURITY] {
        let prompts = change.prompts(reviewer);
        assert!(prompts.len() > 5, "{}", prompts.len());
        let all = prompts.concat();
        for line in files.iter().flat_map(|(_, text)| text.lines()) {
            assert_eq!(all.matches(&format!("\n+{line}\n")).count(), 1, "{reviewer}: {line}");
        }
        let parts = prompts.len();
        for (prompt, n) in prompts.iter().zip(1..) {
            assert!(prompt.len() < 130_000, "{}", prompt.len());
            assert!(prompt.contains(&format!("cut into {parts} parts")), "{n}");
            assert!(!prompt.contains("100 %") && !prompt.contains("the rest is in the checkout"), "{n}");
        }
        assert!(prompts.iter().any(|prompt| prompt.contains("60 of 60 hunks have been shown")));
    }
    let words = change.words();
    assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len(), "every part has a word of its own");
    let answered = change.answered();
    assert_eq!(answered.len(), 2);
    assert!(answered.iter().all(|shown| (shown.hunks, shown.of) == (60, 60)), "{answered:?}");
    let parts = answered[0].parts;
    let said = format!("Shown: all 60 hunks, in {parts} parts");
    assert!(
        change.report(&["--format", "markdown"]).contains(&said),
        "{}",
        change.report(&["--format", "markdown"])
    );
    assert!(change.report(&["--html"]).contains(&format!("all 60 hunks, in {parts} parts")));
    assert!(change.report(&["--json"]).contains(&format!("all 60 hunks, in {parts} parts")));
    let server = Server::start(&change.stage);
    let session = server.sign_in();
    for page in ["report", "loops/phase.1"] {
        let got = server.get(&session, &format!("/runs/{}/{page}", change.run()));
        assert_eq!(got.status, 200, "{page}");
        assert!(got.body.contains("all 60 hunks"), "{page}: {}", got.body);
    }
}

/// What is found in one part is the reviewer's verdict, whatever the other parts say.
#[test]
fn the_strictest_part_is_the_verdict() {
    let reject = "[[turn]]\nrole = \"reviewer\"\nprompt = \"This is part 2\"\ndo = [{ say = \"[id:a] [severity:blocker] [confidence:95] [file:src/f20.rs:3] issue: value_20_2 is never checked | suggestion: check it\\nVERDICT: reject\" }]\n";
    let change = Change::new(&sixty_files(), &format!("{reject}{APPROVES}"));
    let ended = change.review(QA, 1);
    assert!(ended.said().contains("value_20_2 is never checked"), "{}", ended.said());
    let verdicts: Vec<Verdict> = change
        .loop_events()
        .into_iter()
        .filter_map(|event| match event {
            LoopEvent::PartAnswered { answer, .. } => Some(answer.verdict),
            LoopEvent::Answered { answer, part, .. } => {
                assert_eq!(answer.verdict, Verdict::Reject);
                part.map(|part| part.verdict)
            }
            _ => None,
        })
        .collect();
    let rejects = verdicts.iter().filter(|verdict| **verdict == Verdict::Reject).count();
    assert!(verdicts.len() > 5 && rejects == 1 && verdicts[1] == Verdict::Reject, "{verdicts:?}");
}

/// Who answers every part but one has approved nothing, and the question says how much was seen.
#[test]
fn a_part_without_an_answer_is_no_approval() {
    let lost = "[[turn]]\nrole = \"reviewer\"\nprompt = \"This is part 3\"\ndo = [{ fault = \"crash\" }]\n";
    let change = Change::new(&sixty_files(), &format!("{lost}{APPROVES}"));
    let ended = change.review(QA, 4);
    assert!(change.answered().is_empty());
    let shown = change.loop_events().into_iter().filter_map(|event| match event {
        LoopEvent::PartAnswered { shown, .. } => Some(shown.hunks),
        _ => None,
    });
    let share = format!("was shown {} of 60 hunks and has no verdict", shown.max().unwrap());
    assert!(ended.said().contains(&share), "{}", ended.said());
    assert!(!ended.said().contains("all 60 hunks"), "{}", ended.said());
    let inbox = change.stage.tribunal(&["inbox"]).unwrap();
    assert!(inbox.stdout.contains(&share), "{}", inbox.said());
}

/// The money ends in the middle of a change: nothing is approved, the share is said, and more money shows the rest.
#[test]
fn a_budget_that_forbids_the_rest_approves_nothing() {
    let change = Change::new(&sixty_files(), APPROVES);
    change.settings("[budget]\nrun_cents = 25\nreviewer_cents = 10\n");
    let ended = change.review(QA, 4);
    assert_eq!(change.prompts(QA).len(), 2);
    assert!(change.answered().is_empty());
    assert!(ended.said().contains(" of 60 hunks"), "{}", ended.said());
    let resumed = change.stage.tribunal(&["resume", "--set", "budget.run_cents=1000"]).unwrap();
    assert_eq!(resumed.code, Some(0), "{}", resumed.said());
    assert!(change.answered().iter().all(|shown| shown.is_whole() && shown.of == 60));
}

/// One task of six thousand new lines: its reviewer is shown each of them, and the commit that lands says so.
#[test]
fn every_line_of_a_large_task_is_in_some_prompt_and_the_commit_says_so() {
    let line = |file: usize, n: usize| format!("echo \"line {n} of {file}: $((n * {n}))\"");
    let text = |file: usize| (0..2_000).map(|n| line(file, n) + "\n").collect::<String>();
    let names = ["bin/one.sh", "bin/two.sh", "bin/three.sh"];
    let writes = |(file, name): (usize, &&str)| {
        let text = format!("#!/bin/sh\n{}", text(file));
        format!("{{ write = \"{name}\", text = {}, executable = true }},", serde_json::Value::from(text))
    };
    let writes: String = names.iter().enumerate().map(writes).collect();
    let script = format!(
        "[[turn]]\nrole = \"dev\"\nplan = \"01-01\"\ntask = 1\ndo = [{writes} {{ say = \"SUMMARY: three scripts.\\nTASK: done\" }}]\n"
    );
    let mut show = Show::script(&script);
    names[1..].iter().for_each(|name| show.claims(&format!("\"{name} (new)\"")));
    show.expect(&["run"], 0);
    let judging = |name: &String| name.contains("task-1") && name.contains("judge_loop-reviewer");
    let prompts = crate::prompts::prompts(&show).into_iter().filter(|(name, _)| judging(name));
    let prompts: Vec<String> = prompts.map(|(_, text)| text).collect();
    assert!(prompts.len() > 2, "{}", prompts.len());
    let all = prompts.concat();
    for (file, n) in (0..3).flat_map(|file| (0..2_000).map(move |n| (file, n))) {
        let line = format!("\n+{}\n", line(file, n));
        assert_eq!(all.matches(&line).count(), 1, "{line}");
    }
    let log = show.stage.git(&["log", "--format=%B", "main"]).unwrap();
    assert!(log.contains("Tribunal-Shown: loop-reviewer all 3 hunks"), "{log}");
}

/// What a submodule is at.
const SUBMODULE: &str = "1234567890123456789012345678901234567890";

/// A change with files in the shapes that tools stumble over.
fn odd_shapes() -> Change {
    let lines = |what: &str, n: usize| (0..n).map(|n| format!("{what} {n}\n")).collect::<String>();
    let raw = |stage: &Stage, path: &[u8], bytes: &[u8]| {
        std::fs::write(stage.project().join(OsStr::from_bytes(path)), bytes).unwrap();
    };
    let pixels: Vec<u8> = (0..=255).cycle().take(4_096).collect();
    let base = |stage: &Stage| {
        raw(stage, b"crlf.txt", b"one\ntwo\n");
        raw(stage, b"end.txt", b"a\n");
        raw(stage, b"old.rs", lines("kept line", 60).as_bytes());
        raw(stage, b"run.sh", b"echo run\n");
        raw(stage, b"logo.bin", &pixels);
        raw(stage, b"nul.sh", lines("echo", 40).as_bytes());
        raw(stage, b"gone.txt", lines("removed line", 10_000).as_bytes());
        raw(stage, b"spaces.txt", b"a b\n");
    };
    let topic = |stage: &Stage| {
        raw(stage, b"crlf.txt", b"one\r\ntwo\r\n");
        raw(stage, b"end.txt", b"a\nlast");
        stage.git(&["mv", "old.rs", "new.rs"]).unwrap();
        raw(stage, b"new.rs", lines("kept line", 60).replace("line 30\n", "line thirty\n").as_bytes());
        stage.git(&["update-index", "--chmod=+x", "run.sh"]).unwrap();
        stage.git(&["config", "core.fileMode", "false"]).unwrap();
        raw(stage, b"logo.bin", &pixels[1..]);
        raw(stage, b"nul.sh", format!("{}\0\necho hidden\n", lines("echo", 40)).as_bytes());
        std::fs::remove_file(stage.project().join("gone.txt")).unwrap();
        raw(stage, b"spaces.txt", b"a  b\n");
        raw(stage, b"bidi.rs", "let user = \u{202e}nimda\u{202c}; // \u{200b}\n".as_bytes());
        raw(stage, b"escape.txt", b"a\x1b[31mred\x1b]0;title\x07b\n");
        raw(stage, b"latin.txt", b"caf\xe9\n");
        raw(stage, b"lone.txt", b"first\r+second\n");
        raw(stage, b"new\nline.txt", b"in a name\n");
        raw(stage, b"esc\x1b[31m.txt", b"colour\n");
        raw(stage, b"caf\xe9.txt", b"bytes\n");
        std::fs::create_dir(stage.project().join("t")).unwrap();
        (0..2_000)
            .for_each(|n| raw(stage, format!("t/{n}").as_bytes(), format!("tiny {n} end\n").as_bytes()));
    };
    let change = Change::between(base, topic, APPROVES);
    change
        .stage
        .git(&["update-index", "--add", "--cacheinfo", &format!("160000,{SUBMODULE},vendor")])
        .unwrap();
    change.stage.git(&["commit", "-q", "-m", "feat: a library"]).unwrap();
    change
}

/// Nothing of such a change is left out, and nothing is shown otherwise.
#[test]
fn every_shape_of_a_change_is_shown_as_it_is() {
    let change = odd_shapes();
    // What nobody sees is a finding, in lines and in names.
    let ended = change.review(QA, 1);
    let told = ended.stdout.replace("\n          ", " ");
    for hidden in [
        "bidi.rs holds characters that cannot be seen, on 1 line: U+200B, U+202C, U+202E",
        "escape.txt holds characters that cannot be seen, on 1 line: U+0007, U+001B",
        "lone.txt holds characters that cannot be seen, on 1 line: U+000D",
        "nul.sh holds characters that cannot be seen, on 1 line: U+0000",
        "the name of new\\nline.txt holds characters that cannot be seen",
        "the name of esc\\u{1b}[31m.txt holds characters that cannot be seen",
    ] {
        assert!(told.contains(hidden), "{hidden}: {told}");
    }
    assert_eq!(told.matches("cannot be seen").count(), 6, "{told}");
    let prompts = change.prompts(QA);
    let all = prompts.concat();
    let strange = |c: char| c.is_control() && !"\n\t".contains(c);
    assert_eq!(all.chars().find(|c| strange(*c) || ('\u{200b}'..='\u{202e}').contains(c)), None);
    let removed: BTreeSet<&str> = all.lines().filter(|line| line.starts_with("-removed line ")).collect();
    assert_eq!((removed.len(), all.matches("\n-removed line ").count()), (10_000, 10_000));
    (0..2_000).for_each(|n| assert_eq!(all.matches(&format!("\n+tiny {n} end\n")).count(), 1, "{n}"));
    for shown in [
        "\n-one\n-two\n+one␍\n+two␍\n",
        "\n a\n+last\n\\ No newline at end of file\n",
        "\nrename from old.rs\nrename to new.rs\n",
        "\n-kept line 30\n+kept line thirty\n",
        "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n",
        "\nBinary files a/logo.bin and b/logo.bin differ\n",
        "\n+⟦U+0000⟧\n+echo hidden\n",
        "\n-a b\n+a  b\n",
        "\n+let user = ⟦U+202E⟧nimda⟦U+202C⟧; // ⟦U+200B⟧\n",
        "\n+a⟦U+001B⟧[31mred⟦U+001B⟧]0;title⟦U+0007⟧b\n",
        "\n+caf⟦0xE9⟧\n",
        "\n+first⟦U+000D⟧+second\n",
        "\n+++ \"b/new\\nline.txt\"",
        "\n+++ \"b/esc\\033[31m.txt\"",
        "\n+++ b/caf⟦0xE9⟧.txt\n",
        &format!("\n+Subproject commit {SUBMODULE}\n"),
        "a binary file: only its name is below",
    ] {
        assert!(all.contains(shown), "{shown:?}");
    }
    let answered = change.answered();
    assert_eq!(answered.len(), 1);
    let shown = answered[0];
    assert_eq!((shown.hunks, shown.of, shown.binary), (2_016, 2_016, 1), "{}", ended.said());
    let report = change.report(&["--format", "markdown"]);
    assert!(report.contains("all 2016 hunks, 1 binary file by name only"), "{report}");
}

/// One line of two megabytes: more parts than are asked by default, so that a person is; with leave, every byte.
#[test]
fn a_line_of_two_megabytes_is_shown_or_nobody_approves() {
    let line: String = (0..200_000).map(|n| format!("{n:09};")).collect();
    let change = Change::new(&[("min.js".to_owned(), format!("{line}\n"))], APPROVES);
    let ended = change.review(QA, 4);
    assert!(change.answered().is_empty());
    assert!(ended.said().contains("was shown 0 of 1 hunk"), "{}", ended.said());
    change.settings("[agents]\nparts_max = 40\n");
    let cancelled = change.stage.tribunal(&["cancel"]).unwrap();
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.said());
    change.review(QA, 0);
    let piece = |prompt: &String| {
        let (_, rest) = prompt.split_once("of one long line.\n+").expect("marked as a piece");
        rest.split('\n').next().unwrap().to_owned()
    };
    let mut prompts = change.prompts(QA);
    prompts.sort_by_key(|prompt| {
        let (_, rest) = prompt.split_once("This is part ").unwrap();
        rest.split(':').next().unwrap().parse::<u32>().unwrap()
    });
    assert_eq!(prompts.iter().map(piece).collect::<String>(), line);
}

/// A file of two hundred lines.
fn one_of_six(n: usize, x: &str) -> String {
    let rest: String = (0..200).map(|line| format!("value_{n}_{line} = compute({line})\n")).collect();
    format!("begin = {n}\nx = {x}\n{rest}")
}

/// Six files; what a reviewer finds in the first is fixed like this, and approved in the second round.
fn fixed_review(fix: &str) -> Change {
    let file = |n: usize| (format!("src/f{n}.py"), one_of_six(n, "taken()"));
    let reject = "[id:a] [severity:blocker] [confidence:95] [file:src/f0.py:2] issue: x is never checked | suggestion: fix it\nVERDICT: reject";
    let fixer = format!(
        "[[turn]]\nrole = \"{BACKEND}\"\nround = 2\ndo = [{fix}, {{ say = \"FIXED: F-1\\nSUMMARY: fixed\\nTASK: done\" }}]\n"
    );
    let script = [reviewer(QA, 1, reject), fixer, reviewer(QA, 2, SETTLED), APPROVES.to_owned()];
    let files: Vec<(String, String)> = (0..6).map(file).collect();
    Change::new(&files, &script.concat())
}

const SETTLED: &str = "F-1: resolved\nCHECKED: the line that was named, and its callers.\nVERDICT: approve";

impl Change {
    fn fixes(&self, panel: &str) {
        let all = ["review", "--diff", "main..HEAD", "--yes", "--fix", "--panel", panel];
        let ended = self.stage.tribunal(&all).unwrap();
        assert_eq!(ended.code, Some(0), "{}", ended.said());
    }

    /// The words of all launches.
    fn words(&self) -> Vec<String> {
        let prompts = [QA, SECURITY].into_iter().flat_map(|reviewer| self.prompts(reviewer));
        let word = |prompt: String| {
            prompt.split_once("\nLaunch word: ").unwrap().1.lines().next().unwrap().to_owned()
        };
        prompts.map(word).collect()
    }
}

/// After a round that showed only what changed, a final pass shows the hunks that no round has shown whole: here one.
#[test]
fn a_final_pass_shows_only_what_was_not_shown_whole() {
    let text = serde_json::Value::from(one_of_six(0, "checked()"));
    let change = fixed_review(&format!("{{ write = \"src/f0.py\", text = {text} }}"));
    change.fixes(&format!("{QA},{SECURITY}"));
    for reviewer in [QA, SECURITY] {
        let prompts = change.prompts(reviewer);
        let last = |text: &&String| text.contains("This is the final pass.");
        let last: Vec<&String> = prompts.iter().filter(last).collect();
        assert_eq!((prompts.len(), last.len()), (3, 1), "{reviewer}");
        assert!(last[0].contains("Of its 6 hunks earlier rounds showed you 5 whole"), "{}", last[0]);
        assert!(last[0].contains("+begin = 0\n+x = checked()\n"), "whole, not as the fix changed it");
        assert!(!last[0].contains("+begin = 1\n"), "{}", last[0]);
        let first = prompts.iter().map(String::len).max().unwrap();
        assert!(last[0].len() * 3 < first, "{} bytes, {first} in the first round", last[0].len());
    }
    let answered = change.answered();
    assert_eq!(answered.iter().filter(|shown| (shown.hunks, shown.of) == (6, 6)).count(), 4, "{answered:?}");
    assert!(change.report(&["--format", "markdown"]).contains("Shown: all 6 hunks"));
}

/// The fix takes a file out of the change, and the rest is as the first round showed it: a final pass asks nobody.
#[test]
fn a_final_pass_without_anything_to_show_launches_nobody() {
    let change = fixed_review(r#"{ delete = "src/f0.py" }"#);
    change.fixes(QA);
    assert_eq!(change.prompts(QA).len(), 2);
    let kept = change.loop_events().into_iter().find_map(|event| match event {
        LoopEvent::VerdictKept { shown, .. } => Some(shown),
        _ => None,
    });
    assert_eq!(kept, Some(Shown::whole(5)));
    let report = change.report(&["--format", "markdown"]);
    assert!(report.contains("Shown: all 5 hunks, in earlier rounds"), "{report}");
    let log = change.stage.tribunal(&["log"]).unwrap();
    assert!(
        log.stdout.contains("was shown all 5 hunks whole in earlier rounds: its verdict stands"),
        "{}",
        log.said()
    );
}

#[test]
fn a_line_of_three_hundred_kilobytes_is_shown_piece_by_piece() {
    let line: String = (0..30_000).map(|n| format!("{n:09};")).collect();
    let change = Change::new(&[("min.js".to_owned(), format!("{line}\n"))], APPROVES);
    change.review(QA, 0);
    let prompts = change.prompts(QA);
    assert_eq!(prompts.len(), 4);
    let piece = |prompt: &String| {
        let (_, rest) = prompt.split_once("of one long line.\n+").expect("marked as a piece");
        rest.split('\n').next().unwrap().to_owned()
    };
    assert_eq!(prompts.iter().map(piece).collect::<String>(), line);
}

#[test]
fn who_may_not_be_shown_everything_has_no_verdict_and_a_person_is_asked() {
    let change = Change::new(&sixty_files(), APPROVES);
    change.settings("[agents]\nparts_max = 1\n");
    let ended = change.review(QA, 4);
    assert!(change.stage.launched().is_empty(), "nobody is paid for a look at a share of it");
    assert!(change.answered().is_empty());
    let not = change.loop_events().into_iter().find_map(|event| match event {
        LoopEvent::TooLarge { shown, .. } => Some(shown),
        _ => None,
    });
    let shown = not.unwrap();
    assert_eq!((shown.hunks, shown.of), (0, 60), "{shown:?}");
    let share = format!("was shown {} of 60 hunks", shown.hunks);
    assert!(ended.said().contains(&share), "{}", ended.said());
    let inbox = change.stage.tribunal(&["inbox"]).unwrap();
    assert!(inbox.stdout.contains(&share), "{}", inbox.said());
    assert!(
        change
            .report(&["--format", "markdown"])
            .contains(&format!("none. Shown: {} of 60 hunks", shown.hunks))
    );
    let way_out = format!("To show all of it takes {} parts, and agents.parts_max permits 1", shown.parts);
    assert!(inbox.stdout.replace('\n', " ").contains(&way_out), "{}", inbox.said());
}
