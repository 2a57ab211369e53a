//! What reviewers are shown of a change that no prompt can hold: all of it, part by part, or nobody approves.

use crate::stage::Stage;
use crate::stage::program::Ended;
use std::collections::BTreeMap;
use tempfile::TempDir;
use tribunal_core::cover::Shown;
use tribunal_core::r#loop::LoopEvent;
use tribunal_engine::Fact;
use tribunal_journal::Reader;

const QA: &str = "testing-qa-verification-specialist";
const SECURITY: &str = "security-engineer";
const APPROVES: &str = "[[turn]]\nrole = \"reviewer\"\ndo = [{ say = \"CHECKED: read every line of the part and its callers.\\nVERDICT: approve\" }]\n";

struct Change {
    _folder: TempDir,
    stage: Stage,
}

impl Change {
    /// A topic branch that adds these files.
    fn new(files: &[(String, String)], script: &str) -> Change {
        let (folder, stage) = crate::stage();
        stage.write("README.md", "a project\n").unwrap();
        stage.commit_all().unwrap();
        stage.git(&["checkout", "-q", "-b", "topic"]).unwrap();
        files.iter().for_each(|(path, text)| stage.write(path, text).unwrap());
        stage.git(&["add", "-A"]).unwrap();
        stage.git(&["commit", "-q", "-m", "feat: a large change"]).unwrap();
        stage.script(script).unwrap();
        Change { _folder: folder, stage }
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
    change.stage.git(&["checkout", "-q", "main"]).unwrap();
    std::fs::write(change.stage.project().join(".git/info/exclude"), "tribunal.toml\n").unwrap();
    change.stage.git(&["checkout", "-q", "topic"]).unwrap();
    change.stage.write("tribunal.toml", "[agents]\nparts_max = 1\n").unwrap();
    let ended = change.review(QA, 4);
    assert_eq!(change.prompts(QA).len(), 1);
    assert!(change.answered().is_empty());
    let not = change.loop_events().into_iter().find_map(|event| match event {
        LoopEvent::NotCovered { shown, .. } => Some(shown),
        _ => None,
    });
    let shown = not.unwrap();
    assert!(shown.hunks > 0 && shown.hunks < 60 && shown.of == 60, "{shown:?}");
    let share = format!("was shown {} of 60 hunks", shown.hunks);
    assert!(ended.said().contains(&share), "{}", ended.said());
    let inbox = change.stage.tribunal(&["inbox"]).unwrap();
    assert!(inbox.stdout.contains(&share), "{}", inbox.said());
    assert!(
        change
            .report(&["--format", "markdown"])
            .contains(&format!("none. Shown: {} of 60 hunks", shown.hunks))
    );
    assert!(change.prompts(QA)[0].contains("Only the first 1 parts are shown to anybody"));
}
