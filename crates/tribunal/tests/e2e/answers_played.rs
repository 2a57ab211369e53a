//! Labelled answers of reviewers, played through the whole program: each one is what a program of the adapter `command`
//! prints, with the launch word where an honest reviewer writes it. No answer counts as more than its label allows,
//! and honest approvals are taken.

use crate::stage::Stage;
use crate::stage::scenes::{PLAIN, READ_WORD, Scene, dev_also};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What stands for the word until the reviewer knows it.
const WORD: &str = "@WORD@";

/// One labelled answer.
struct Row {
    id: String,
    class: String,
    text: String,
    verdicts: Vec<String>,
    must_not_approve: bool,
    files: Vec<String>,
}

impl Row {
    fn read(line: &str) -> Row {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let verdicts = match &row["verdict"] {
            Value::Array(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            one => one.as_str().map(str::to_owned).into_iter().collect(),
        };
        let files = row["findings"].as_array().into_iter().flatten();
        Row {
            id: text("id"),
            class: text("class"),
            text: text("text"),
            verdicts,
            must_not_approve: row["must_not_approve"] == true,
            files: files.filter_map(|finding| finding["file"].as_str()).map(str::to_owned).collect(),
        }
    }

    fn allows(&self, verdict: &str) -> bool {
        self.verdicts.iter().any(|one| one == verdict)
    }

    /// The answer with the word in the lines that state a verdict or evidence.
    fn spoken(&self) -> String {
        if serde_json::from_str::<Value>(&self.text).is_ok_and(|value| value.is_object()) {
            return tribunal_agent::word::spoken(&self.text, WORD);
        }
        // What approves in an answer of this class is a quotation, and who quotes does not write the word into it.
        let quoted = |line: &str| self.class == "injection" && !line.contains("reject");
        let last = self.text.trim_end().lines().next_back().unwrap_or_default();
        let spoken = |line: &str| match spoken_line(line) {
            _ if quoted(line) => line.to_owned(),
            // A verdict in another language is the last line.
            same if same == line && line.trim_end() == last.trim_end() => keyed(line),
            spoken => spoken,
        };
        self.text.split_inclusive('\n').map(spoken).collect()
    }
}

/// A line with the word before its colon, where one word stands before that; at its end, where the colon is a wide one.
fn keyed(line: &str) -> String {
    let stop = line.find([':', '：']).filter(|stop| line[..*stop].chars().all(char::is_alphabetic));
    match stop {
        Some(stop) if line[stop..].starts_with(':') => format!("{} {WORD}{}", &line[..stop], &line[stop..]),
        Some(_) => format!("{} {WORD}\n", line.trim_end()),
        None => line.to_owned(),
    }
}

/// A line with the word before the colon of its key, or at its end where a verdict stands alone.
fn spoken_line(line: &str) -> String {
    const KEYS: [&str; 8] = [
        "verdict",
        "final verdict",
        "overall verdict",
        "checked",
        "what i checked",
        "evidence",
        "overall",
        "status",
    ];
    const ALONE: [&str; 5] = ["approve", "approved", "lgtm", "<verdict>approve</verdict>", "what i checked"];
    let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
    let begin = body.find(|c: char| c.is_alphanumeric() || c == '<').unwrap_or(0);
    let rest = &body[begin..];
    let stop = rest.find([':', '：', '-']).unwrap_or(rest.len());
    let key = rest[..stop].trim_end_matches([' ', '*', '_', '`']);
    if KEYS.contains(&key.to_lowercase().as_str()) && stop < rest.len() {
        let at = begin + key.len();
        return format!("{} {WORD}{}{end}", &body[..at], &body[at..]);
    }
    if let Some(after) = rest.strip_prefix("CHECKED ") {
        return format!("{}CHECKED {WORD} {after}{end}", &body[..begin]);
    }
    let alone = rest.trim_end_matches([' ', '*', '.', '!', '`']).to_lowercase();
    match ALONE.contains(&alone.as_str()) {
        true => format!("{body} {WORD}{end}"),
        false => line.to_owned(),
    }
}

/// The labelled answers, or none where they are not here.
fn rows() -> Option<Vec<Row>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?.parent()?;
    let file: PathBuf = root.join("shared/data/answers/dev.jsonl");
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.lines().map(Row::read).collect())
}

/// A run whose task is judged by one reviewer for each answer. What each was recorded to say: nothing for one whose
/// answer did not count.
fn played(rows: &[&Row]) -> (tempfile::TempDir, Stage, BTreeMap<String, String>) {
    let files: BTreeSet<&String> =
        rows.iter().flat_map(|row| &row.files).filter(|file| is_inside(file)).collect();
    let (folder, stage) = crate::stage();
    Scene { settings: "", ..PLAIN }.set(&stage).unwrap();
    let plan = "01-01-PLAN.md";
    let path = stage.project().join(crate::stage::PHASE).join(plan);
    let listed: String = files.iter().map(|file| format!("  - {:?}\n", format!("{file} (new)"))).collect();
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace("files_modified:\n", &format!("files_modified:\n{listed}"));
    std::fs::write(&path, text).unwrap();
    stage.git(&["commit", "-q", "-a", "-m", "docs: more files"]).unwrap();
    let writes: String =
        files.iter().map(|file| format!("{{ write = {file:?}, text = \"new\\n\" }},\n")).collect();
    stage.script_with(&dev_also(&writes)).unwrap();
    let answers = stage.root().join("scene/answers");
    std::fs::create_dir_all(&answers).unwrap();
    rows.iter().for_each(|row| std::fs::write(answers.join(&row.id), row.spoken()).unwrap());
    let program = stage.root().join("scene/reviewer.sh");
    let dir = answers.display();
    std::fs::write(&program, format!("{READ_WORD}sed \"s/{WORD}/$word/g\" \"{dir}/$TRIBUNAL_REVIEWER\"\n"))
        .unwrap();
    let reviewers: Vec<String> = rows.iter().map(|row| format!("{:?}", row.id)).collect();
    let settings = format!(
        "[run]\nparallel_max = 8\nattempts_max = 1\n[plan]\nreview = \"never\"\n[task]\nrounds_max = 1\n[agents]\n\
         task_reviewers = [{}]\n[agents.roles.reviewer]\nadapter = \"command\"\nargs = [\"sh\", {:?}]\n",
        reviewers.join(", "),
        program.display().to_string()
    );
    stage.write("tribunal.toml", &settings).unwrap();
    // The words of reviewers are in all that it prints, so that nothing can be told from those.
    let ran = stage.tribunal(&["run"]).unwrap();
    assert_eq!(ran.code, Some(4), "{}", ran.said());
    let log = stage.tribunal(&["log", "--all", "--json"]).unwrap().stdout;
    let mut said = BTreeMap::new();
    for line in log.lines() {
        recorded(&serde_json::from_str(line).unwrap_or_default(), &mut said);
    }
    (folder, stage, said)
}

/// No absolute path and none that leaves the tree: the dev could not write it.
fn is_inside(file: &str) -> bool {
    !file.is_empty() && !file.starts_with('/') && !file.contains("..") && !file.contains('\\')
}

/// Verdicts by reviewer, wherever an event has both.
fn recorded(event: &Value, said: &mut BTreeMap<String, String>) {
    match event {
        Value::Object(map) => {
            if let (Some(Value::String(reviewer)), Some(Value::String(verdict))) =
                (map.get("reviewer"), map.get("verdict"))
            {
                // A finding that must be fixed outranks the verdict that was stated.
                let raised = map.get("raised").and_then(Value::as_array).into_iter().flatten();
                let mut severities = raised.filter_map(|claim| claim["severity"].as_str());
                let objects = severities.any(|severity| severity != "suggestion");
                said.insert(reviewer.clone(), if objects { "reject".to_owned() } else { verdict.clone() });
            }
            map.values().for_each(|value| recorded(value, said));
        }
        Value::Array(list) => list.iter().for_each(|value| recorded(value, said)),
        _ => {}
    }
}

#[test]
fn labelled_answers_count_as_no_more_than_they_say() {
    let Some(rows) = rows() else {
        println!("skipped: shared/data/answers is not beside the project");
        return;
    };
    let all: Vec<&Row> = rows.iter().collect();
    let (_folder, stage, said) = played(&all);
    let (run, _) = stage.newest().unwrap().unwrap();
    assert!(stage.git(&["show", &format!("refs/tribunal/{run}/head:bin/one.sh")]).is_err(), "nothing landed");
    assert_eq!(stage.tribunal(&["cancel"]).unwrap().code, Some(0));
    let of = |row: &Row| said.get(&row.id).map_or("none", String::as_str).to_owned();
    let wrong: Vec<String> = rows
        .iter()
        .filter(|row| {
            let (approves, passes) =
                (of(row) == "approve", ["approve", "conditional"].contains(&of(row).as_str()));
            approves && row.must_not_approve || passes && !row.allows("approve") && !row.allows("conditional")
        })
        .map(|row| format!("{} {}: {}", row.id, row.class, of(row)))
        .collect();
    let only: Vec<&Row> = rows.iter().filter(|row| row.verdicts == ["approve"]).collect();
    let near: Vec<&Row> = rows.iter().filter(|row| row.allows("approve") && row.allows("none")).collect();
    let taken = |rows: &[&Row]| rows.iter().filter(|row| of(row) == "approve").count();
    let missed = |rows: &[&Row]| -> Vec<String> {
        let lost = rows.iter().filter(|row| of(row) != "approve");
        lost.map(|row| format!("{} {}: {}", row.id, row.class, of(row))).collect()
    };
    let told = format!(
        "{} answers; approve-only taken {} of {} {:?}; near approvals taken {} of {} {:?}; counted too much: {wrong:?}",
        rows.len(),
        taken(&only),
        only.len(),
        missed(&only),
        taken(&near),
        near.len(),
        missed(&near)
    );
    println!("{told}");
    assert!(wrong.is_empty(), "{told}");
    assert_eq!(taken(&only), only.len(), "{told}");
    assert!(taken(&near) * 21 >= near.len() * 17, "{told}");
}
