//! The two files that a chain keeps beside its artifacts: `.meta.json`, with the result of each phase, and
//! `.review-history.md`, with every iteration.
//!
//! Both files are only added to. Text that was there before, from people or other tools, stays as it was.

use crate::calendar::timestamp;
use crate::plain::{clipped, line};
use crate::words::count;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// One finding of an iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The id of the finding, like `F-2`.
    pub id: String,
    /// The severity of the finding, like `blocker`.
    pub severity: String,
    /// The place of the finding; may be empty.
    pub place: String,
    /// The claim, in the reviewer's words.
    pub claim: String,
    /// The reviewer or check that raised it.
    pub by: String,
}

/// What became of a finding that was given to the builder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// The id of the finding, like `F-2`.
    pub id: String,
    /// The builder's answer: `fixed`, or `refuted: why`.
    pub word: String,
}

/// One iteration: the builder's change and the review of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iteration {
    /// The number of the iteration, counted from 1.
    pub number: u32,
    /// The decision: `approved`, `needs revision`, …
    pub decision: String,
    /// What the builder says it did before this review.
    pub changes: String,
    /// What the builder answered to findings before this review.
    pub answers: Vec<Answered>,
    /// The findings that are new or still there.
    pub findings: Vec<Found>,
}

/// One phase of a feature's chain, as one run left it.
///
/// Both files of a chain are written from this one value, so they agree about how the phase ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseOfChain {
    /// The name of the feature.
    pub feature: String,
    /// The name of the phase, like `specify`.
    pub name: String,
    /// The id of the run.
    pub run: String,
    /// The mode of the chain, like `standard`.
    pub mode: String,
    /// When the phase began, in milliseconds since 1970.
    pub started: u64,
    /// When the phase was over, in milliseconds since 1970.
    pub completed: u64,
    /// How the phase ended, in words: `approved`, `not approved: the rounds are spent`.
    pub outcome: String,
    /// Whether it was approved, or accepted by a named person.
    pub approved: bool,
    /// Why nobody reviewed it; `None` if somebody did.
    pub skipped: Option<String>,
    /// The largest number of iterations.
    pub iterations_max: u32,
    /// Every iteration, in the order in which they were reviewed.
    pub iterations: Vec<Iteration>,
    /// What the reviewers leave open for others to know, one line each.
    pub notes: Vec<String>,
}

/// Returns `.meta.json` with this phase in it.
///
/// Everything else in the file stays. A text that is not a JSON object is refused with the reason: writing over it
/// would destroy somebody's file.
pub fn meta(before: Option<&str>, phase: &PhaseOfChain) -> Result<String, String> {
    let mut all = match before.filter(|text| !text.trim().is_empty()) {
        None => Map::new(),
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(map)) => map,
            // A list or a number has no place for a phase, and replacing it would destroy the file.
            Ok(_) => return Err("it is JSON, but no object".to_owned()),
            Err(error) => return Err(format!("it is no JSON: {error}")),
        },
    };
    // A name that stands there already stays.
    all.entry("feature").or_insert_with(|| json!(phase.feature));
    all.insert("mode".to_owned(), json!(phase.mode));
    let phases = all.entry("phases").or_insert_with(|| json!({}));
    let Value::Object(phases) = phases else { return Err("its \"phases\" is no object".to_owned()) };
    // Keys of the phase that we do not know are kept, too.
    let mut one = match phases.remove(&phase.name) {
        Some(Value::Object(known)) => known,
        _ => Map::new(),
    };
    let facts = [
        ("started", json!(timestamp(phase.started))),
        ("completed", json!(timestamp(phase.completed))),
        ("iterations", json!(phase.iterations.len())),
        ("approved", json!(phase.approved)),
        ("outcome", json!(phase.outcome)),
        ("reviewerNotes", json!(phase.notes)),
        ("skipped", json!(phase.skipped)),
        ("run", json!(phase.run)),
    ];
    for (key, value) in facts {
        one.insert(key.to_owned(), value);
    }
    phases.insert(phase.name.clone(), Value::Object(one));
    let mut text = serde_json::to_string_pretty(&Value::Object(all)).map_err(|error| error.to_string())?;
    // A text file ends with a line end; editors and git complain otherwise.
    text.push('\n');
    Ok(text)
}

/// Reads from `.meta.json` what the reviewers of some phases left open, each with its phase, and the phases that were
/// not approved.
///
/// Missing entries mean nothing, because anybody may have written the file. So it can add concerns to the next phase,
/// but it cannot approve anything.
pub fn concerns(meta: &str, phases: &[&str]) -> (Vec<String>, Vec<String>) {
    let all: Value = serde_json::from_str(meta).unwrap_or_default();
    let (mut open, mut unapproved) = (Vec::new(), Vec::new());
    for phase in phases {
        let one = &all["phases"][*phase];
        let notes = one["reviewerNotes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        open.extend(notes.take(CONCERNS_MAX).map(|note| format!("{phase}: {}", clipped(note, 600))));
        // A missing key is not a refusal, because anybody may have written the file.
        if one["approved"] == Value::Bool(false) && one["skipped"].is_null() {
            unapproved.push((*phase).to_owned());
        }
    }
    (open, unapproved)
}

/// The number of concerns of one phase that are passed on.
const CONCERNS_MAX: usize = 20;

/// Returns `.review-history.md` with this phase at its end. The phase is added once, however often this is called.
///
/// Text that stands there stays, except for blank lines at its end. People may add remarks to this file.
pub fn history(before: Option<&str>, phase: &PhaseOfChain) -> String {
    let title = format!("## {}, run {}\n", line(&phase.name), line(&phase.run));
    let mut text = match before {
        // The title names the run, so a run that is resumed after it wrote the file does not write it twice.
        Some(before) if before.contains(&title) => return before.to_owned(),
        // Exactly one blank line before the new part, whatever stood at the end of the old one.
        Some(before) if !before.trim().is_empty() => format!("{}\n\n", before.trim_end()),
        _ => format!("# Review history of {}\n\n", line(&phase.feature)),
    };
    text.push_str(&title);
    let _ = writeln!(
        text,
        "\nBegan {}, mode {}, at most {}.",
        timestamp(phase.started),
        line(&phase.mode),
        count(phase.iterations_max as usize, "iteration")
    );
    if let Some(why) = &phase.skipped {
        // A phase that only checks judged must not read like a reviewed one.
        let _ = writeln!(text, "\n**Nobody reviewed it** ({}): checks alone judged it.", line(why));
    }
    phase.iterations.iter().for_each(|iteration| one_iteration(&mut text, iteration));
    let _ = writeln!(text, "\n**Outcome:** {}.", line(&phase.outcome));
    if !phase.notes.is_empty() {
        text.push_str("\nLeft open:\n\n");
        phase.notes.iter().for_each(|note| {
            let _ = writeln!(text, "- {}", line(note));
        });
    }
    text
}

fn one_iteration(text: &mut String, iteration: &Iteration) {
    let _ = writeln!(text, "\n### Iteration {}: {}\n", iteration.number, line(&iteration.decision));
    let changes = match iteration.changes.trim() {
        "" => "the builder said nothing".to_owned(),
        changes => clipped(changes, 600),
    };
    let _ = writeln!(text, "Changes made: {changes}");
    if !iteration.answers.is_empty() {
        text.push_str("\nAnswers to the findings before:\n\n");
        iteration.answers.iter().for_each(|answer| {
            let _ = writeln!(text, "- {} {}", line(&answer.id), clipped(&answer.word, 600));
        });
    }
    if iteration.findings.is_empty() {
        text.push_str("\nFindings: none.\n");
        return;
    }
    text.push_str("\nFindings:\n\n");
    for found in &iteration.findings {
        let place = if found.place.is_empty() { String::new() } else { format!(" {}", line(&found.place)) };
        let _ = writeln!(
            text,
            "- {} [{}]{place} {} ({})",
            line(&found.id),
            line(&found.severity),
            clipped(&found.claim, 600),
            line(&found.by)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase() -> PhaseOfChain {
        PhaseOfChain {
            feature: "login".into(),
            name: "specify".into(),
            run: "r1".into(),
            mode: "standard".into(),
            outcome: "approved".into(),
            approved: true,
            iterations_max: 3,
            iterations: vec![Iteration { number: 1, decision: "approved".into(), ..Iteration::default() }],
            ..PhaseOfChain::default()
        }
    }

    #[test]
    fn what_others_wrote_stays() {
        let before = r#"{"id": "003", "phases": {"brainstorm": {"completed": "x"}, "specify": {"owner": "Ada"}}, "n": 1.50}"#;
        let after: Value = serde_json::from_str(&meta(Some(before), &phase()).unwrap()).unwrap();
        assert_eq!(after["id"], "003");
        assert_eq!(after["phases"]["brainstorm"]["completed"], "x");
        assert_eq!(after["phases"]["specify"]["owner"], "Ada");
        assert_eq!(after["phases"]["specify"]["iterations"], 1);
        for odd in ["[]", "{", "{\"phases\": 1}"] {
            assert!(meta(Some(odd), &phase()).is_err(), "{odd}");
        }
        let history_before = "# Mine\n\nwords\n";
        let after = history(Some(history_before), &phase());
        assert!(after.starts_with("# Mine\n\nwords\n\n## specify, run r1\n"), "{after}");
        assert_eq!(history(Some(&after), &phase()), after, "once");
    }

    #[test]
    fn concerns_are_passed_on() {
        let mut one = phase();
        (one.approved, one.notes) = (false, vec!["F-1 [blocker] who\nis it".into()]);
        let text = meta(None, &one).unwrap();
        let (open, unapproved) = concerns(&text, &["specify", "design"]);
        assert_eq!(open, ["specify: F-1 [blocker] who is it"]);
        assert_eq!(unapproved, ["specify"]);
        for odd in ["", "[]", "{\"phases\": 3}", "{\"phases\": {\"specify\": {\"reviewerNotes\": [1]}}}"] {
            assert_eq!(concerns(odd, &["specify"]), (Vec::new(), Vec::new()), "{odd}");
        }
    }

    #[test]
    fn hostile_words_are_one_line() {
        let mut one = phase();
        one.iterations[0].changes = "a\n## specify, run r2\n\u{1b}[31mb".into();
        one.notes = vec!["x\n# y".into()];
        let text = history(None, &one);
        assert!(
            !text.contains("\n## specify, run r2") && !text.contains('\u{1b}') && !text.contains("\n# y"),
            "{text}"
        );
    }
}
