//! Findings as SARIF 2.1.0, for code hosts and editors. The author of a finding is a tool component, the difference to
//! the round before is in `baselineState`, and waivers are suppressions.
//!
//! Every finding is in the log, also settled ones. `baselineState` and the suppressions say what still counts.

use crate::provenance::Provenance;
use crate::spoken::Identity;
use serde_json::{Map, Value, json};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use tribunal_core::finding::{Claim, Fate, Severity};
use tribunal_core::ids::FindingId;
use tribunal_core::ledger::Entry;
use tribunal_findings::track::Comparison;
use tribunal_findings::track::compare::Fresh;
use tribunal_findings::{Report, fingerprint};

/// The address of the published schema.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// How a result relates to the round or report before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The result was not there before.
    New,
    /// The result was there before and is the same.
    Unchanged,
    /// The result was there before, with other words or another severity.
    Updated,
    /// The result was there before and is gone.
    Absent,
}

impl Baseline {
    /// The word that SARIF uses.
    pub fn word(self) -> &'static str {
        match self {
            Baseline::New => "new",
            Baseline::Unchanged => "unchanged",
            Baseline::Updated => "updated",
            Baseline::Absent => "absent",
        }
    }

    /// Finds the state of a finding in a ledger after this many rounds. A first round has nothing to compare with.
    ///
    /// A finding that survived a fix counts as updated, because it is no longer the same as in the round before.
    pub fn of(entry: &Entry, round: u32) -> Option<Baseline> {
        let gone = entry.fate.is_gone() || entry.fate.is_replaced();
        match round {
            // Asked first: a finding can be gone in the round in which it was raised.
            _ if gone => Some(Baseline::Absent),
            0 | 1 => None,
            round if entry.first_round >= round => Some(Baseline::New),
            // It met a fix or came back, so it is not the same result as before.
            _ if entry.survived() > 0 || entry.reopened > 0 => Some(Baseline::Updated),
            _ => Some(Baseline::Unchanged),
        }
    }
}

/// One finding to write, with what the ledger alone does not know.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The id of the finding.
    pub id: FindingId,
    /// The entry of the ledger.
    pub entry: &'a Entry,
    /// The round that its loop is in.
    pub round: u32,
    /// Where the finding came from, if known.
    pub provenance: Option<Provenance>,
    /// The identities of the reviewers behind it.
    pub who: &'a [Identity],
}

/// Writes the log of a run or loop. `version` is that of Tribunal.
///
/// Each reviewer and check is a component with rules of its own, so that hosts can group results by author.
pub fn log(items: &[Item<'_>], version: &str) -> Value {
    let mut tools = Tools::default();
    let results: Vec<Value> = items.iter().map(|item| result(item, &mut tools)).collect();
    let driver = json!({"name": "Tribunal", "version": version, "rules": []});
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver, "extensions": tools.components()},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// Reviewers and checks as tool components, each with the rules it mentioned.
#[derive(Default)]
struct Tools {
    names: Vec<String>,
    rules: BTreeMap<usize, Vec<String>>,
}

impl Tools {
    fn index(&mut self, name: &str, rule: &str) -> (usize, usize) {
        let tool = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        let rules = self.rules.entry(tool).or_default();
        let at = rules.iter().position(|known| known == rule).unwrap_or_else(|| {
            rules.push(rule.to_owned());
            rules.len() - 1
        });
        (tool, at)
    }

    fn components(&self) -> Vec<Value> {
        let rules = |n: usize| -> Vec<Value> {
            self.rules.get(&n).into_iter().flatten().map(|id| json!({"id": id})).collect()
        };
        self.names.iter().enumerate().map(|(n, name)| json!({"name": name, "rules": rules(n)})).collect()
    }
}

fn result(item: &Item<'_>, tools: &mut Tools) -> Value {
    let entry = item.entry;
    let claim = &entry.claim;
    let by: Vec<String> = entry.by.iter().map(ToString::to_string).collect();
    // SARIF wants a rule for every result; the field of a reviewer's finding comes closest to one.
    let rule = claim.rule.clone().or_else(|| claim.domain.clone()).unwrap_or_else(|| "finding".to_owned());
    // SARIF knows one author per result; the others are among the properties.
    let (tool, at) = tools.index(by.first().map_or("unknown", String::as_str), &rule);
    let mut result = base(claim, entry.severity);
    result.insert("ruleId".into(), json!(rule));
    result.insert("rule".into(), json!({"id": rule, "index": at, "toolComponent": {"index": tool}}));
    result.insert("rank".into(), json!(f64::from(claim.confidence.min(100))));
    if let Some(state) = Baseline::of(entry, item.round) {
        result.insert("baselineState".into(), json!(state.word()));
    }
    let suppressions: Vec<Value> = suppression(&entry.fate).into_iter().collect();
    if !suppressions.is_empty() {
        result.insert("suppressions".into(), json!(suppressions));
    }
    let mut properties = json!({
        "tribunal/id": item.id.to_string(),
        "tribunal/fate": entry.fate.word(),
        "tribunal/reviewers": by,
        "tribunal/firstRound": entry.first_round,
    });
    // Every text goes along, because none stands for another.
    let more = crate::voices::voices(entry, claim);
    if !more.is_empty() {
        let said: Vec<Value> = more.iter().map(|one| json!({"by": one.by, "claim": one.claim})).collect();
        properties["tribunal/words"] = json!(said);
        let said: Vec<String> = more.iter().map(|one| format!("{} says: {}", one.by, one.claim)).collect();
        result
            .insert("message".into(), json!({"text": format!("{}\n\n{}", message(claim), said.join("\n"))}));
    }
    if let Some(provenance) = item.provenance {
        properties["tribunal/provenance"] = json!(provenance.to_string());
    }
    if !item.who.is_empty() {
        properties["tribunal/identities"] = json!(item.who);
    }
    result.insert("properties".into(), properties);
    Value::Object(result)
}

/// Marks findings that do not count as suppressed, with the person or the reason.
///
/// A suppressed result stays in the log and is shown as such. It is not the same as a result that is absent.
fn suppression(fate: &Fate) -> Option<Value> {
    let (status, why) = match fate {
        Fate::Waived(who) => ("accepted", format!("waived by {who}")),
        Fate::Discarded => ("accepted", "discarded: its confidence is below 50".to_owned()),
        Fate::Filtered => ("accepted", "filtered: the owner of its field did not raise it".to_owned()),
        // Nobody rejected it: it waits until somebody is sure.
        Fate::Deferred => ("underReview", "deferred: its confidence is below 80".to_owned()),
        _ => return None,
    };
    Some(json!({"kind": "external", "status": status, "justification": why}))
}

/// Writes what every result has: message, level, place, fingerprints.
fn base(claim: &Claim, severity: Severity) -> Map<String, Value> {
    let level = match severity {
        Severity::Blocker => "error",
        Severity::Warning => "warning",
        Severity::Suggestion => "note",
    };
    let mut result = Map::new();
    result.insert("level".into(), json!(level));
    result.insert("message".into(), json!({"text": message(claim)}));
    result.insert("locations".into(), json!(location(claim).into_iter().collect::<Vec<_>>()));
    let fingerprints = json!({
        "tribunalLocation/v1": fingerprint::location(claim),
        // With the severity that triage gave, so that the fingerprint is that of the finding and not of one reviewer's
        // words.
        "tribunalFull/v1": fingerprint::full(&Claim { severity, ..claim.clone() }),
    });
    result.insert("partialFingerprints".into(), fingerprints);
    result
}

fn message(claim: &Claim) -> String {
    let fix =
        if claim.suggestion.is_empty() { String::new() } else { format!("To do: {}", claim.suggestion) };
    let parts = [claim.claim.trim(), claim.details.trim(), fix.trim()];
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("\n\n")
}

fn location(claim: &Claim) -> Option<Value> {
    let file = claim.file.as_deref()?;
    let mut physical = json!({"artifactLocation": {"uri": escaped(file)}});
    if let Some(line) = claim.line {
        // SARIF counts lines from 1, and a reviewer may name line 0 or an end before the beginning.
        physical["region"] =
            json!({"startLine": line.max(1), "endLine": claim.end.unwrap_or(line).max(line).max(1)});
    }
    let mut location = json!({"physicalLocation": physical});
    if let Some(section) = &claim.section {
        location["logicalLocations"] = json!([{"name": section}]);
    }
    Some(location)
}

/// Writes a path as a relative URI. Everything but plain characters is percent-encoded.
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Returns the later report of a comparison with `baselineState` filled in: its own SARIF, otherwise untouched, or ours
/// made from its findings. The error means that the bytes are not JSON.
///
/// Everything else in a foreign log stays as it was, because other tools read it, too.
pub fn with_baseline(
    bytes: &[u8],
    before: &Report,
    after: &Report,
    found: &Comparison,
) -> Result<String, serde_json::Error> {
    let states = states(before, after, found);
    let mut log = if after.sarif {
        // A byte order mark is not JSON, but some tools write one.
        serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))?
    } else {
        own(after)
    };
    // Only the first run: that is the one whose results were read and numbered.
    if let Some(results) = log.pointer_mut("/runs/0/results").and_then(Value::as_array_mut) {
        for (index, state) in states {
            if let Some(result) = results.get_mut(index).and_then(Value::as_object_mut) {
                result.insert("baselineState".into(), json!(state.word()));
            }
        }
    }
    serde_json::to_string_pretty(&log).map(|text| text + "\n")
}

fn states(before: &Report, after: &Report, found: &Comparison) -> Vec<(usize, Baseline)> {
    let (old, new): (BTreeMap<usize, &Claim>, BTreeMap<usize, &Claim>) =
        (before.indexed().collect(), after.indexed().collect());
    let paired = found.pairs.iter().map(|(pair, went)| {
        let words = (old.get(&pair.before), new.get(&pair.after));
        let same = *went == Ordering::Equal && words.0.map(|one| &one.claim) == words.1.map(|one| &one.claim);
        (pair.after, if same { Baseline::Unchanged } else { Baseline::Updated })
    });
    let fresh = found.fresh.iter().map(|(index, fresh)| match fresh {
        Fresh::New | Fresh::Late | Fresh::FixInduced | Fresh::Reopened => (*index, Baseline::New),
    });
    paired.chain(fresh).collect()
}

fn own(report: &Report) -> Value {
    let results: Vec<Value> = report
        .claims
        .iter()
        .map(|claim| {
            let mut result = base(claim, claim.severity);
            if let Some(rule) = &claim.rule {
                result.insert("ruleId".into(), json!(rule));
            }
            Value::Object(result)
        })
        .collect();
    let driver = json!({"name": "Tribunal"});
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]})
}
