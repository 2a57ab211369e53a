//! Why a run went as it did: `explain` cites the events behind each decision, `replay` finds every decision again, and
//! says so when a journal was changed.

use crate::show::Show;
use crate::stage::scenes::{PLAIN, Scene};
use tribunal_journal::{Head, Journal, NewRow, Reader, Row, Turn};

#[test]
fn every_decision_is_explained_by_what_happened() {
    let mut show = Show::of(Scene::named("task-revised").unwrap());
    show.expect(&["run"], 0);
    let story = show.expect(&["explain", "--loop", "01-01/task-1"], 0).stdout;
    let told: Vec<String> =
        story.lines().map(without_number).filter(|line| !line.ends_with("passes")).collect();
    insta::assert_snapshot!(told.join("\n"));
    let all = show.expect(&["explain"], 0).stdout;
    assert!(all.starts_with("The run\n") && all.contains(&format!("\n{story}")), "{all}");
    let lines = show.expect(&["explain", "--json"], 0).stdout;
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let seq = |value: &serde_json::Value| value["seq"].as_u64().unwrap();
        let because = line["because"].as_array().unwrap();
        assert!(because.iter().all(|cause| seq(cause) < seq(&line)), "{line}");
    }
    let nothing = show.expect(&["explain", "--loop", "07/task-9"], 2).stderr;
    assert!(
        nothing.contains("decided nothing about \"07/task-9\"") && nothing.contains("01-01/task-1"),
        "{nothing}"
    );
}

/// A line without its number in the journal, which depends on what else happens at the time.
fn without_number(line: &str) -> String {
    let Some((indent, rest)) = line.split_once('#') else { return line.to_owned() };
    format!("{indent}# {}", rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start())
}

#[test]
fn a_journal_is_replayed_and_a_changed_one_is_caught() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    let said = show.expect(&["replay", "--steps"], 0).stdout;
    assert!(said.contains("every one came out as recorded"), "{said}");
    assert!(said.contains("= 0:0") && said.contains("< 0:0"), "{said}");
    let mut rows = rows(&show);
    let ruled = rows.iter().rposition(|row| row.kind == "ruled").unwrap();
    rows[ruled].body = rows[ruled].body.replace("\"checks_only\":false", "\"checks_only\":true");
    forge(&show, "20200101-000000-01", &rows);
    let caught = show.stage.tribunal(&["replay", "20200101"]).unwrap();
    assert_eq!(caught.code, Some(1), "{}", caught.said());
    assert!(
        caught.stdout.contains("1 came out otherwise") && caught.stdout.contains("\"checks_only\":true"),
        "{}",
        caught.said()
    );
    let json = show.stage.tribunal(&["replay", "20200101", "--json"]).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["differing"].as_array().unwrap().len(), 1);
    // A journal that ends in the middle of a turn owes a decision.
    let upto = &rows[..ruled];
    forge(&show, "20200101-000000-02", upto);
    let caught = show.stage.tribunal(&["replay", "20200101-000000-02"]).unwrap();
    assert_eq!(caught.code, Some(1), "{}", caught.said());
    assert!(caught.stdout.contains("ends before a decision"), "{}", caught.said());
}

fn rows(show: &Show) -> Vec<Row> {
    let mut rows = Vec::new();
    let reader = Reader::open(&show.stage.run_dir(&show.run())).unwrap();
    let read = reader.each(1, |row| {
        rows.push(row.to_row());
        Ok::<(), tribunal_journal::Error>(())
    });
    read.unwrap();
    rows
}

/// Another journal with these rows.
fn forge(show: &Show, run: &str, rows: &[Row]) {
    let head = Head { run_id: run.to_owned(), product_version: "0".to_owned(), created_at: 0 };
    let mut journal = Journal::create(&show.stage.run_dir(run), &head).unwrap();
    for row in rows {
        let new = [NewRow { of: &row.of, kind: &row.kind, body: &row.body }];
        journal.append(&[Turn { at: row.at, rows: &new }]).unwrap();
    }
    show.stage.own(run);
}
