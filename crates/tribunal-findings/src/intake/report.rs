//! Reads a report that somebody wrote to a file, SARIF or our own JSON, so that every finding keeps its index in that
//! file.
//!
//! No finding is dropped: one that says nothing is kept as such, and what could not be read is named. Callers speak of
//! findings by index, so a dropped one would shift all behind it.

use super::sarif::{self, Run};
use super::{Draft, Unread, claim_of, json};
use crate::text::{clean, plain_words};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tribunal_core::finding::{Claim, Severity};

/// Where a finding stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its index in `runs[0].results`, or in the list.
    pub index: usize,
    /// The report itself calls it gone, so seeing it again is news.
    pub settled: bool,
}

/// The content of a report file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings as claims, in file order.
    pub claims: Vec<Claim>,
    /// Where each of them stands; as long as `claims`.
    pub places: Vec<Place>,
    /// The file was SARIF.
    pub sarif: bool,
    /// Number of runs after the first, which are not compared.
    pub other_runs: usize,
    /// Parts that could not be read.
    pub unread: Vec<Unread>,
}

impl Report {
    /// The findings, each with its index in the file.
    pub fn indexed(&self) -> impl Iterator<Item = (usize, &Claim)> {
        self.places.iter().map(|place| place.index).zip(&self.claims)
    }
}

/// The top of either form; which one it is shows in the key that is there.
#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow, default)]
    runs: Option<Vec<Run<'a>>>,
    #[serde(borrow, default, alias = "issues")]
    findings: Option<Vec<&'a RawValue>>,
}

/// Reads a report; `Err` says why it is not one.
///
/// Unlike intake it refuses what is not UTF-8 or not whole: a finding that is missing from a report looks resolved.
pub fn read_report(bytes: &[u8]) -> Result<Report, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 (byte {} is not text)", error.valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    let (text, _) = clean(text);
    if text.trim_start().starts_with('[') {
        let items: Vec<&RawValue> =
            serde_json::from_str(&text).map_err(|error| format!("it is not a list of findings: {error}"))?;
        return Ok(own(&items));
    }
    let (mut fixed, mut draft) = (String::new(), Draft::default());
    let whole: Whole<'_> = sarif::read_or_fix(&text, &mut fixed, &mut draft)
        .map_err(|error| format!("it is neither SARIF 2.1.0 nor our JSON: {error}"))?;
    match (whole.runs, whole.findings) {
        (Some(runs), _) => Ok(of_sarif(runs, draft)),
        (None, Some(items)) => Ok(own(&items)),
        (None, None) => Err("it has neither `runs` (SARIF) nor `findings` (our JSON)".to_owned()),
    }
}

fn of_sarif(mut runs: Vec<Run<'_>>, mut draft: Draft) -> Report {
    let (claims, places) = runs.first_mut().map(|run| sarif::placed(run, &mut draft)).unwrap_or_default();
    let other_runs = runs.len().saturating_sub(1);
    Report { claims, places, sarif: true, other_runs, unread: draft.intake.unread }
}

fn own(items: &[&RawValue]) -> Report {
    let mut report = Report::default();
    for (index, item) in items.iter().enumerate() {
        let mut draft = Draft::default();
        // Here a status does not answer a question: it says where the finding stands.
        let mut value: Value = serde_json::from_str(item.get()).unwrap_or_default();
        let standing = ["fate", "state", "status"].map(|key| value.as_object_mut()?.remove(key));
        let fate = standing.iter().flatten().find_map(Value::as_str).unwrap_or_default();
        json::finding(&value.to_string(), None, &mut draft);
        // It keeps its place, so that the indexes stay those of the file.
        let claim = draft.intake.findings.pop().unwrap_or_else(|| claim_of(Severity::Warning, "(no claim)"));
        report.claims.push(claim);
        report.places.push(Place { index, settled: is_settled(fate) });
        report.unread.extend(draft.intake.unread);
    }
    report
}

fn is_settled(fate: &str) -> bool {
    matches!(plain_words(fate).as_str(), "fixed" | "refuted" | "resolved" | "closed" | "absent")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(report: &Report) -> Vec<(usize, &str, bool)> {
        let both = report.claims.iter().zip(&report.places);
        both.map(|(claim, place)| (place.index, claim.claim.as_str(), place.settled)).collect()
    }

    #[test]
    fn sarif_keeps_its_indexes() {
        let text = r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t","rules":[{"id":"R1","shortDescription":{"text":"short"}}]}},"results":[
            {"message":{"text":"one"}},{"kind":"pass","message":{"text":"fine"}},{"ruleId":"R1"},{},{"message":{"text":"back"},"baselineState":"absent"}]},{"results":[]}]}"#;
        let report = read_report(text.as_bytes()).unwrap();
        let expect = [(0, "one", false), (2, "short", false), (3, "(no message)", false), (4, "back", true)];
        assert_eq!(claims(&report), expect);
        assert_eq!((report.sarif, report.other_runs, report.unread.len()), (true, 1, 1));
        let marked = format!("\u{feff}{text}");
        assert_eq!(read_report(marked.as_bytes()).unwrap(), report);
    }

    #[test]
    fn one_result_that_is_none_takes_no_other_with_it() {
        let text = r#"{"runs":[{"results":[{"message":{"text":"one"}},{"message":"two","ruleId":7},{"message":{"text":"three"}},9]}]}"#;
        let report = read_report(text.as_bytes()).unwrap();
        let expect =
            [(0, "one", false), (1, "(no message)", false), (2, "three", false), (3, "(no message)", false)];
        assert_eq!(claims(&report), expect);
        let whys: Vec<_> = report.unread.iter().map(|unread| unread.why.as_str()).collect();
        assert!(whys[0].starts_with("result 1: ") && whys[1].starts_with("result 3: "), "{whys:?}");
        assert!(report.unread[0].text.contains("two"), "{report:?}");
        let intake = sarif::read_sarif(text);
        assert_eq!(intake.findings.len(), 2);
        assert_eq!(
            intake.unread.len(),
            4,
            "each with its reason, and that its place says nothing: {intake:?}"
        );
    }

    #[test]
    fn our_own_json_is_a_list_or_an_answer() {
        let list = r#"[{"claim":"a","severity":"blocker","file":"x.rs","line":3},7,{"claim":"b","severity":"low","fate":"fixed"},
            {"id":"F-3","status":"resolved","claim":"c","severity":"low"}]"#;
        let report = read_report(list.as_bytes()).unwrap();
        let expect = [(0, "a", false), (1, "(no claim)", false), (2, "b", true), (3, "c", true)];
        assert_eq!(claims(&report), expect);
        assert_eq!(report.claims[0].line, Some(3));
        let answer = format!(r#"{{"verdict":"reject","findings":{list}}}"#);
        assert_eq!(read_report(answer.as_bytes()).unwrap(), report);
    }

    #[test]
    fn results_that_lie_elsewhere_or_nowhere_are_named() {
        let text = r#"{"runs":[{"externalPropertyFileReferences":{"results":[{"location":{"uri":"x"}}]},"results":[{"message":{"text":"a"},"locations":null}]}]}"#;
        let report = read_report(text.as_bytes()).unwrap();
        assert_eq!(claims(&report), [(0, "a", false)]);
        assert!(report.unread[0].why.contains("not read"), "{report:?}");
    }

    #[test]
    fn what_is_no_report_says_why() {
        for (bytes, expect) in [
            (&b""[..], "empty"),
            (b"  \n", "empty"),
            (b"\xff\xfe{", "UTF-8"),
            (b"{\"runs\":[", "EOF"),
            (b"[1,", "EOF"),
            (b"{\"a\":1}", "neither `runs`"),
            (b"src/a.rs:3: x", "neither SARIF"),
            (b"\"text\"", "neither SARIF"),
            (b"{\"runs\":[{\"results\":7}]}", "neither SARIF"),
        ] {
            let why = read_report(bytes).unwrap_err();
            assert!(why.contains(expect), "{expect}: {why}");
        }
        assert_eq!(read_report(b"{\"runs\":[]}").unwrap().claims, []);
    }
}
