//! Reads JSON answers: our schema, and the arguments of the reporting tools, as one object or a line per call.
//!
//! Each finding is read by itself, so a bad one does not lose the others. A truncated or doubled answer has no verdict.
//! Many keys are accepted, as models rename them; but text under an unknown key is covered like prose, so no key is a
//! hiding place.

use super::cover::Manner;
use super::launch::Carried;
use super::lines::{append, set_lines, set_place};
use super::marks::{self, Lead};
use super::scan::{Json, Kind, Scan};
use super::{Draft, Form, Vote, check, said, sarif};
use crate::text::{clip, plain_words};
use crate::words::{self, Stated};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use tribunal_core::finding::{Claim, FixableBy, Said, Severity, Verdict};
use tribunal_core::ids::FindingId;

/// An object's fields in order, with doubled keys, values unread.
///
/// `serde_json::Value` keeps only the last of two equal keys, so a second verdict or a second list of findings would
/// vanish.
pub(crate) struct Fields<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Of;
        impl<'de> Visitor<'de> for Of {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                // The raw text is kept: each reader decides how strictly it reads its value.
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    fields.push((Cow::Owned(key), value));
                }
                Ok(Fields(fields))
            }
        }
        d.deserialize_map(Of)
    }
}

/// Reads a message that is JSON and nothing else; false when it is not.
pub(crate) fn read_whole(scan: &Scan<'_>, draft: &mut Draft) -> bool {
    let prose = scan.lines.iter().any(|line| !matches!(line.kind, Kind::Data | Kind::Blank));
    if prose {
        return read_encoded(scan, draft);
    }
    for part in &scan.bare {
        bare(part, draft);
    }
    !scan.bare.is_empty()
}

/// Reads a message that is one JSON string with an answer in it.
fn read_encoded(scan: &Scan<'_>, draft: &mut Draft) -> bool {
    let mut said = scan.lines.iter().filter(|line| line.kind != Kind::Blank);
    let (Some(line), None) = (said.next(), said.next()) else { return false };
    let Ok(inner) = serde_json::from_str::<String>(line.text.trim()) else { return false };
    let answer = inner.trim_start().starts_with('{') && is_answer(&inner);
    if answer {
        wrapped(&inner, draft);
    }
    answer
}

/// Reads a value that stands in the message itself. An approval must cover the comments in it.
fn bare(part: &Json<'_>, draft: &mut Draft) {
    part.comments.iter().for_each(|words| draft.leave(words));
    value(&part.text, draft);
}

/// Reads the JSON inside a message: values that stand in it, and the only fenced block.
pub(crate) fn read_parts(scan: &Scan<'_>, draft: &mut Draft) {
    for part in &scan.bare {
        bare(part, draft);
    }
    let answers: Vec<&Json<'_>> = scan.fenced.iter().filter(|part| is_answer(&part.text)).collect();
    match answers.as_slice() {
        [] => note_broken(scan, draft),
        [only] => {
            // It may be quoted: what it says against the work is heard, what it says for it is not.
            if scan.goes_on_after(only) {
                draft.intake.doubt(&only.text, "JSON in a fence approves only as the last word of a message");
            } else if scan.is_shown(only) {
                draft.intake.doubt(&only.text, "JSON that is shown as part of a file approves nothing");
            }
            only.comments.iter().for_each(|words| draft.leave(words));
            fenced(&only.text, draft);
        }
        // One of them may be an example or a quotation; choosing would be guessing.
        [first, ..] => {
            draft.intake.note(&first.text, "several fenced JSON answers: which one counts is not said");
            draft.vote("several JSON answers", Err("several fenced JSON answers"));
        }
    }
}

/// Notes text that looks like JSON, so that a truncated answer is explained.
fn note_broken(scan: &Scan<'_>, draft: &mut Draft) {
    for line in
        scan.lines.iter().filter(|line| line.kind == Kind::Own && line.text.trim_start().starts_with("{\""))
    {
        draft.intake.note(line.text, "looks like JSON, but is broken or incomplete");
    }
    let broken = |text: &str| text.contains("\"verdict\"") || text.contains("\"findings\"");
    for part in scan.fenced.iter().filter(|part| broken(&part.text)) {
        draft.intake.note(&part.text, "looks like JSON, but is broken or incomplete");
    }
}

/// Reads a fence, which may hold one value or a line per tool call.
fn fenced(text: &str, draft: &mut Draft) {
    for part in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        match part {
            Ok(part) => value(part.get(), draft),
            Err(error) => {
                draft.intake.note(text, format!("broken JSON: {error}"));
                draft.vote("broken JSON", Err("the JSON answer is broken"));
                return;
            }
        }
    }
}

fn is_answer(text: &str) -> bool {
    let mut parts = serde_json::Deserializer::from_str(text).into_iter::<Fields<'_>>();
    let first = parts.next();
    match first {
        Some(Ok(fields)) => fields.0.iter().any(|(key, _)| is_top_key(key)),
        // A bare list is an answer only if its items look like findings.
        _ => text.trim_start().starts_with('[') && text.contains("\"severity\""),
    }
}

/// Whether a key shows that an object is an answer, not some other JSON in the message.
fn is_top_key(key: &str) -> bool {
    matches!(
        key,
        "verdict"
            | "passed"
            | "findings"
            | "issues"
            | "said"
            | "tool"
            | "decision"
            | "runs"
            | "cast_verdict"
            | "report_findings"
            | "overall_correctness"
            | "recommendation"
            | "event"
            | "approved"
    ) || list_severity(key).is_some()
}

/// Keys that hold findings, with the severity that a key stands for; the outer `None` is any other key.
fn list_severity(key: &str) -> Option<Option<Severity>> {
    Some(match key.to_lowercase().replace(['-', ' '], "_").as_str() {
        "findings" | "issues" | "comments" | "problems" | "review_comments" | "defects" | "bugs"
        | "annotations" | "concerns" | "violations" | "observations" => None,
        "blocking_issues" | "blockers" | "blocking" | "critical" | "critical_issues" | "must_fix"
        | "high" => Some(Severity::Blocker),
        "warnings" | "should_fix" | "major" | "important" | "medium" => Some(Severity::Warning),
        "non_blocking"
        | "nonblocking"
        | "suggestions"
        | "nits"
        | "minor"
        | "nitpicks"
        | "could_fix"
        | "low"
        | "non_blocking_issues"
        | "optional" => Some(Severity::Suggestion),
        _ => return None,
    })
}

/// Reads one JSON value: a list of findings or answers, an object, or an answer encoded as a string.
fn value(text: &str, draft: &mut Draft) {
    if text.trim_start().starts_with('[') {
        let items: Result<Vec<&RawValue>, _> = serde_json::from_str(text);
        // Item by item, so that a broken one does not cost the others.
        for item in items.unwrap_or_default() {
            list_item(item.get(), draft);
        }
        return;
    }
    match serde_json::from_str::<Fields<'_>>(text) {
        Ok(fields) => object(text, fields, draft),
        Err(error) => match serde_json::from_str::<String>(text) {
            // An answer that was encoded twice.
            Ok(inner) if inner.trim_start().starts_with('{') => wrapped(&inner, draft),
            _ => draft.intake.note(text, format!("broken JSON: {error}")),
        },
    }
}

/// Reads an answer inside something else. It is heard where it speaks against the work; it may be quoted, so it
/// approves nothing.
fn wrapped(text: &str, draft: &mut Draft) {
    let before = draft.votes.len();
    value(text, draft);
    let approves = |vote: &Vote| matches!(vote.meaning, Ok((Verdict::Approve | Verdict::Conditional, _)));
    if draft.votes[before..].iter().any(approves) {
        draft.intake.doubt(text, "an answer inside another value approves nothing");
    }
}

/// Reads one item of a bare list: a check, an answer, or a finding.
fn list_item(text: &str, draft: &mut Draft) {
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) else {
        draft.intake.note(text, "not an object");
        return;
    };
    if let Some(one) = as_check(text) {
        draft.form(Form::Json);
        one.judge(draft);
    } else if fields.0.iter().any(|(key, _)| is_top_key(key)) {
        object(text, fields, draft);
    } else {
        draft.form(Form::Json);
        finding(text, None, draft);
    }
}

/// Reads one object by what it is: a tool call, a SARIF log, a check, a finding, a wrapper, or an answer.
fn object(text: &str, fields: Fields<'_>, draft: &mut Draft) {
    let get =
        |names: &[&str]| fields.0.iter().find(|(key, _)| names.contains(&key.as_ref())).map(|(_, raw)| *raw);
    let named = get(&["tool", "tool_name"])
        .or_else(|| get(&["name"]).filter(|_| get(&["arguments", "input", "args"]).is_some()));
    if let (Some(tool), Some(args)) = (named, get(&["args", "arguments", "input", "params"])) {
        draft.carried = carried(&fields, draft).unwrap_or_default();
        call(tool, args, draft);
        draft.carried = Carried::Nothing;
    } else if get(&["runs"]).is_some() && (get(&["version"]).is_some() || get(&["$schema"]).is_some()) {
        sarif::read_into(text, draft);
    } else if let Some(one) = as_check(text) {
        draft.form(Form::Json);
        one.judge(draft);
    } else if is_finding(&fields) {
        draft.form(Form::Json);
        finding(text, None, draft);
    } else if !known_wrapper(&fields, draft) {
        draft.form(Form::Json);
        answer(text, &fields, draft);
    }
}

/// Whether this is one finding by itself: it says how severe it is, where, and what is wrong.
fn is_finding(fields: &Fields<'_>) -> bool {
    let has = |names: &[&str]| fields.0.iter().any(|(key, _)| names.contains(&key.as_ref()));
    has(&["severity", "level", "priority"])
        && has(&["file", "path", "file_path", "filePath", "filename", "location", "code_location"])
        && has(&TEXTS)
        && !fields.0.iter().any(|(key, _)| is_top_key(key))
}

/// Reads one check of a QA report: its `passed` is its own, not the report's.
fn as_check(text: &str) -> Option<check::Check> {
    check::Check::of_json(text)
}

/// Reads the known wrappers, such as `{"cast_verdict": {…}, "report_findings": {…}}`.
fn known_wrapper(fields: &Fields<'_>, draft: &mut Draft) -> bool {
    let mut found = false;
    if let [(key, raw)] = fields.0.as_slice()
        && matches!(
            key.as_ref(),
            "review" | "code_review" | "review_result" | "answer" | "response" | "report"
        )
        // Only as the single key: beside others it is part of a larger answer.
        && raw.get().starts_with('{')
    {
        wrapped(raw.get(), draft);
        return true;
    }
    for (key, raw) in fields.0.iter().filter(|(key, _)| is_tool(key)) {
        found = true;
        draft.form(Form::Tool);
        arguments(key, raw, draft);
    }
    found
}

fn is_tool(name: &str) -> bool {
    matches!(name, "set_loop_review_result" | "set_review_result" | "report_findings" | "cast_verdict")
}

/// Reads a tool call that was written as text. One of any other tool is only noted.
fn call(tool: &RawValue, args: &RawValue, draft: &mut Draft) {
    let name: String = serde_json::from_str(tool.get()).unwrap_or_default();
    // Agents prefix the name of an MCP tool with that of its server.
    let name = name.rsplit("__").next().unwrap_or("").to_owned();
    if is_tool(&name) {
        draft.form(Form::Tool);
        arguments(&name, args, draft);
    } else {
        draft.intake.note(tool.get(), "a call of a tool that reports no review");
    }
}

/// Reads the arguments of a reporting tool. Arguments that cannot be read count as a verdict that cannot be read.
fn arguments(name: &str, args: &RawValue, draft: &mut Draft) {
    // Some clients send the arguments as a JSON string.
    let unwrapped: Option<String> = serde_json::from_str(args.get()).ok();
    let text = unwrapped.as_deref().unwrap_or(args.get());
    match serde_json::from_str::<Fields<'_>>(text) {
        Ok(fields) => answer(text, &fields, draft),
        Err(error) => {
            draft.intake.note(text, format!("arguments of {name} cannot be read: {error}"));
            draft.vote(name, Err("the arguments cannot be read"));
        }
    }
}

/// Reads one answer: verdict, findings, answers by id, what was checked.
fn answer(text: &str, fields: &Fields<'_>, draft: &mut Draft) {
    let outer = draft.carried;
    draft.carried = carried(fields, draft).unwrap_or(outer);
    // A wrong word in JSON counts like one on a line: somebody else may speak here.
    draft.forged |= draft.word.is_some() && draft.carried == Carried::Wrong;
    answer_fields(text, fields, draft);
    draft.carried = outer;
}

/// Whether the key `word` of an answer carries the launch word; `None` when there is no such key.
fn carried(fields: &Fields<'_>, draft: &Draft) -> Option<Carried> {
    let wanted = draft.word.as_deref()?;
    let (_, raw) = fields.0.iter().find(|(key, _)| key.as_ref() == "word")?;
    let right = words_of(raw).trim().eq_ignore_ascii_case(wanted);
    Some(if right { Carried::Right } else { Carried::Wrong })
}

/// Reads the fields of an answer, key by key.
///
/// Findings are collected first and read last, because `passed` may come behind them and decides their default
/// severity.
fn answer_fields(text: &str, fields: &Fields<'_>, draft: &mut Draft) {
    let mut findings: Vec<(&RawValue, Option<Severity>)> = Vec::new();
    let mut passed = None;
    let mut fundamental = false;
    let before = draft.votes.len();
    let mut told = Vec::new();
    for (key, raw) in &fields.0 {
        match key.as_ref() {
            "verdict" | "decision" => verdict(raw, draft),
            // Keys that may say anything, and sometimes a verdict.
            "result" | "outcome" | "review_result" if is_known_verdict(raw) => verdict(raw, draft),
            // Only against the work: `"status": "passed"` may be that of a test run.
            "status" | "overall" if is_refusal(raw) => verdict(raw, draft),
            "recommendation"
            | "overall_correctness"
            | "event"
            | "state"
            | "review_state"
            | "conclusion"
            | "assessment"
                if is_verdict(raw) =>
            {
                verdict(raw, draft);
            }
            "passed" | "approved" => passed = passed_vote(raw, passed, draft),
            "fundamental" => fundamental = raw.get() == "true",
            "said" | "answers" => answers(raw, draft),
            "checked" | "what_was_checked" | "evidence" => {
                super::verdict::take_evidence(&words_of(raw), draft)
            }
            "intent" | "interpretedIntent" | "interpreted_intent" => {
                draft.intake.intent = Some(words_of(raw)).filter(|w| !w.is_empty())
            }
            "intentSatisfied" | "intent_satisfied" => {
                draft.intake.intent_satisfied = serde_json::from_str(raw.get()).ok()
            }
            "checks" => check::read_json(raw.get(), draft),
            "hard_stop_reasons" => check::read_json_reasons(raw.get(), FixableBy::Manual, draft),
            "dev_fixable_failures" => check::read_json_reasons(raw.get(), FixableBy::Dev, draft),
            listed if list_severity(listed).is_some() && is_list(listed, raw) => {
                findings.push((raw, list_severity(listed).flatten()));
            }
            // There may be findings under a name that is not known: a list that is not empty, or an object.
            unknown if raw.get().starts_with(['[', '{']) && !matches!(raw.get(), "[]" | "{}") => {
                draft.intake.doubt(raw.get(), format!("{unknown:?} is not a key that is known"));
            }
            // Already read by `carried`.
            "word" if draft.word.is_some() => {}
            other => beside(other, raw, &mut told, draft),
        }
        // Some write a sentence as a key.
        if key.contains(' ') || !key.is_ascii() {
            draft.cover(key, Manner::Prose);
        }
    }
    tell(&told, draft);
    // The flag may stand before or after its verdict, so it is applied at the end.
    if fundamental {
        for vote in draft.votes[before..].iter_mut() {
            if let Ok((Verdict::Reject, flag)) = &mut vote.meaning {
                *flag = true;
            }
        }
    }
    if draft.votes.len() == before && findings.is_empty() && draft.intake.said.is_empty() {
        // Some other JSON that stands in the message.
        draft.intake.note(text, "an object without verdict, findings or answers");
    }
    for (raw, severity) in findings {
        match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
            Ok(items) => items.iter().for_each(|item| listed(item.get(), severity, passed, draft)),
            // No findings, said in another way.
            Err(_) if raw.get() == "null" => {}
            Err(_) => grouped(raw, passed, draft),
        }
    }
}

/// Reads findings grouped by severity or by file: `{"blocker": [{…}]}`, `{"src/a.rs": [{…}]}`.
fn grouped(raw: &RawValue, passed: Option<bool>, draft: &mut Draft) {
    let Ok(Fields(groups)) = serde_json::from_str::<Fields<'_>>(raw.get()) else {
        return draft.intake.doubt(raw.get(), "findings are not a list");
    };
    for (key, items) in groups {
        let severity = list_severity(&key).flatten().or_else(|| marks::word(&key));
        // The group's key may be a file or a severity; it gives what its items lack.
        let file = super::whole_place(&key);
        let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(items.get()) else {
            draft.intake.doubt(items.get(), "findings are not a list");
            continue;
        };
        for item in items {
            let before = draft.intake.findings.len();
            listed(item.get(), severity, passed, draft);
            if let (Some(file), Some(claim)) = (&file, draft.intake.findings.get(before))
                && claim.file.is_none()
            {
                let mut placed = claim.clone();
                set_place(&mut placed, &file.path, draft);
                draft.intake.findings[before] = placed;
            }
        }
    }
}

/// Whether a count or a flag tells of a fault: `"blockers": 2`, `"has_bugs": true`, `"tests_passed": false`.
///
/// The key is split at its capitals, so that `hasBugs` and `has_bugs` are read alike.
fn counts_against(key: &str, raw: &RawValue) -> bool {
    let spaced: String =
        key.chars().flat_map(|c| if c.is_uppercase() { vec![' ', c] } else { vec![c] }).collect();
    let words = plain_words(&spaced);
    let faulty = list_severity(key).is_some_and(|severity| severity.is_some_and(Severity::must_fix))
        || super::cover::names_a_fault(&words);
    match raw.get() {
        "true" => faulty,
        // Any other `false` may deny something good, so it counts against the work.
        "false" => !faulty && !matches!(key, "fundamental" | "draft" | "truncated" | "remediation_eligible"),
        number => faulty && number.parse::<f64>().is_ok_and(|number| number > 0.0),
    }
}

/// Whether a word under a key that may say anything speaks against the work.
fn is_refusal(raw: &RawValue) -> bool {
    matches!(words::verdict(&words_of(raw)), Stated::Known(Verdict::Reject, _))
}

/// Takes what stands under a key that is about something else, or about nothing that is known.
///
/// No key is ignored: text has to be harmless, and a number or flag must not tell of a fault.
fn beside(key: &str, raw: &RawValue, told: &mut Vec<String>, draft: &mut Draft) {
    match key {
        // Ids, dates and names say nothing about the work, if that is what they are.
        "word" | "tool" | "name" | "model" | "loopId" | "loop_id" | "version" | "reviewer" | "id" => {
            draft.cover(&words_of(raw), Manner::Tail);
        }
        _ if raw.get().starts_with('"') => told.push(words_of(raw)),
        counted if counts_against(counted, raw) => {
            let text = format!("{counted}: {}", raw.get());
            draft.intake.doubt(&text, "a count or a flag that tells of a fault");
        }
        _ => {}
    }
}

/// Whether a key holds a list: a number under `critical` is a count.
fn is_list(key: &str, raw: &RawValue) -> bool {
    matches!(key, "findings" | "issues") || raw.get().starts_with('[')
}

fn is_verdict(raw: &RawValue) -> bool {
    matches!(words::verdict(&words_of(raw)), Stated::Known(..))
}

/// Takes sentences under other keys: an approval must cover them, and they may tell what was checked.
fn tell(told: &[String], draft: &mut Draft) {
    for text in told {
        draft.leave(text);
    }
    let reports = |text: &&String| super::cover::sentences(text).into_iter().any(super::cover::reports_work);
    if draft.intake.checked.is_empty()
        && let Some(text) = told.iter().find(reports)
        // Evidence loosens, so it needs the launch word wherever it stands.
        && (draft.word.is_none() || draft.carried == Carried::Right)
    {
        draft.intake.checked = clip(text, 4_000);
    }
}

/// Reads a finding of a list whose name says how severe its items are.
fn listed(text: &str, severity: Option<Severity>, passed: Option<bool>, draft: &mut Draft) {
    let (before, unstated) = (draft.intake.findings.len(), draft.unstated.len());
    finding(text, passed, draft);
    if let (Some(severity), Some(claim)) = (severity, draft.intake.findings.get_mut(before))
        // The finding's own severity wins; the list's name only fills a gap.
        && draft.unstated.len() > unstated
    {
        claim.severity = severity;
        draft.unstated.truncate(unstated);
    }
}

fn is_known_verdict(raw: &RawValue) -> bool {
    let text = serde_json::from_str::<String>(raw.get()).unwrap_or_default();
    matches!(words::verdict(&text), Stated::Known(..))
}

/// Votes by the value of a verdict's key. A list of possible verdicts is an error here: a JSON value is a statement,
/// not an echo.
fn verdict(raw: &RawValue, draft: &mut Draft) {
    let Ok(words) = serde_json::from_str::<String>(raw.get()) else {
        draft.vote(raw.get(), Err("the verdict is not text"));
        return;
    };
    match words::verdict(&words) {
        Stated::Known(verdict, fundamental) => draft.vote(&words, Ok((verdict, fundamental))),
        Stated::Menu => draft.vote(&words, Err("a list of possible verdicts, not one")),
        Stated::Unknown(why) => draft.vote(&words, Err(why)),
    }
}

/// Votes by `passed` or `approved`, and returns what it says for the severity of findings.
fn passed_vote(raw: &RawValue, before: Option<bool>, draft: &mut Draft) -> Option<bool> {
    let words = format!("passed: {}", clip(raw.get(), 40));
    match raw.get().trim_matches('"') {
        "true" => draft.vote(&words, Ok((Verdict::Approve, false))),
        "false" => draft.vote(&words, Ok((Verdict::Reject, false))),
        _ => {
            draft.vote(&words, Err("passed is neither true nor false"));
            return before;
        }
    }
    Some(raw.get().trim_matches('"') == "true")
}

/// A text, or a list of texts joined.
fn words_of(raw: &RawValue) -> String {
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(value) => text_of(&value),
        Err(_) => String::new(),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join("; "),
        Value::Null => String::new(),
        Value::Object(_) => clip(&value.to_string(), 4_000),
        other => other.to_string(),
    }
}

/// Reads answers by id: `{"F-1": "resolved"}`, `{"F-1": {"not_an_issue": "why"}}`, `[{"id": "F-1", "answer":
/// "resolved", "why": "…"}]`.
fn answers(raw: &RawValue, draft: &mut Draft) {
    if let Ok(fields) = serde_json::from_str::<Fields<'_>>(raw.get()) {
        for (key, raw) in fields.0 {
            one_answer(&key, &serde_json::from_str(raw.get()).unwrap_or(Value::Null), draft);
        }
        return;
    }
    let Ok(items) = serde_json::from_str::<Vec<Value>>(raw.get()) else {
        draft.intake.note(raw.get(), "answers are neither an object nor a list");
        return;
    };
    for item in items {
        let id = item.get("id").or_else(|| item.get("finding")).map(text_of).unwrap_or_default();
        one_answer(&id, &item, draft);
    }
}

/// Takes the answer to one finding, or to one unread part of an earlier answer.
fn one_answer(id: &str, value: &Value, draft: &mut Draft) {
    if let Some(number) = super::unread::number(id) {
        return super::unread::reply_by_tool(number, answer_of(value), &format!("{id}: {value}"), draft);
    }
    let Some(id) = FindingId::parse(id) else {
        draft.intake.note(&format!("{id}: {value}"), "not the id of a finding");
        return;
    };
    match answer_of(value) {
        Some(Ok(said)) => draft.answer(id, said),
        Some(Err(why)) => draft.intake.note(&format!("{id}: {value}"), why),
        None => {
            draft.intake.note(&format!("{id}: {value}"), "neither resolved, still there nor not an issue")
        }
    }
}

/// The meaning of one answer, from a text or from an object with a state and a reason.
fn answer_of(value: &Value) -> Option<Result<Said, &'static str>> {
    // The short form: the answer is the value itself.
    if let Value::String(words) = value {
        return said::meaning(words);
    }
    let why = ["not_an_issue", "why", "reason"]
        .iter()
        .find_map(|key| value.get(key))
        .map(text_of)
        .unwrap_or_default();
    let state = ["answer", "said", "status", "state"].iter().find_map(|key| value.get(key)).map(text_of);
    let state = state.unwrap_or_else(|| {
        if value.get("not_an_issue").is_some() { "not an issue".into() } else { String::new() }
    });
    if state.is_empty() {
        return None;
    }
    let words = if why.is_empty() { state } else { format!("{state} because {why}") };
    said::meaning(&words)
}

/// Keys that hold the words of a finding, the most telling first.
const TEXTS: [&str; 11] = [
    "claim",
    "issue",
    "title",
    "message",
    "comment",
    "body",
    "summary",
    "description",
    "text",
    "problem",
    "finding",
];

/// Reads one finding. `passed` is the verdict of the answer around it, and sets the severity of findings that state
/// none.
pub(super) fn finding(text: &str, passed: Option<bool>, draft: &mut Draft) {
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => value,
        Ok(Value::String(words)) if words.chars().any(char::is_alphabetic) => {
            return sentence(&words, passed, draft);
        }
        Ok(_) => return draft.intake.doubt(text, "a finding that is not an object"),
        Err(error) => return draft.intake.doubt(text, format!("a finding that cannot be read: {error}")),
    };
    let get = |names: &[&str]| {
        names.iter().filter_map(|name| value.get(name)).map(text_of).find(|text| !text.is_empty())
    };
    let status = plain_words(&get(&["status", "state"]).unwrap_or_default());
    // Only `F-…` is one of our ids; a bare number is the author's own count.
    let id = get(&["id"]).and_then(|id| id.starts_with(['F', 'f']).then(|| FindingId::parse(&id)).flatten());
    if let Some(Ok(said)) = said::meaning(&status)
        && let Some(id) = id
    {
        let gone = said != Said::StillThere;
        draft.answer(id, said);
        if gone {
            return;
        }
    }
    let Some(words) = get(&TEXTS).filter(|words| words.chars().any(char::is_alphabetic)) else {
        return draft.intake.doubt(text, "a finding without an issue says nothing");
    };
    // A mark in the text is removed from it only if it can be nothing else.
    let (marked, bare) = match marks::lead(&words) {
        Some(Lead::Of(severity, true, rest)) => (Some(severity), rest.to_owned()),
        _ => (None, words.clone()),
    };
    let mut claim = super::claim_of(default_severity(passed), &bare);
    let stated = get(&["severity", "level", "priority", "prio", "importance"]);
    severity_of(&mut claim, stated, marked, passed, text, draft);
    place_of(&mut claim, &value, &get, draft);
    confidence_of(&mut claim, value.get("confidence").or_else(|| value.get("confidence_score")), draft);
    let details =
        get(&["details", "explanation", "description", "body", "why"]).filter(|details| *details != words);
    append_some(&mut claim.details, details);
    append_some(
        &mut claim.suggestion,
        get(&["suggestion", "suggested_fix", "suggestedFix", "fix", "recommendation"]),
    );
    append_some(&mut claim.evidence, get(&["evidence"]));
    claim.domain = get(&["domain", "category"]).map(|domain| clip(&plain_words(&domain), 100));
    claim.rule = get(&["rule", "ruleId", "rule_id", "check"]).map(|rule| clip(&rule, 200));
    claim.kind = get(&["type", "kind"]).map(|kind| clip(&kind, 100));
    claim.fixable_by =
        get(&["fixable_by", "fixableBy"]).and_then(|who| words::fixable_by(&who)).unwrap_or_default();
    claim.label = get(&["id", "label"]).map(|label| clip(&label, 100));
    claim.same_as = get(&["same_as", "sameAs"]).and_then(|id| FindingId::parse(&id)).or(id);
    draft.intake.findings.push(claim);
}

/// Reads a finding that is only a sentence; its place and severity may stand in it.
fn sentence(words: &str, passed: Option<bool>, draft: &mut Draft) {
    let head = super::head::head(words, false);
    let rest = if head.has_words() { head.rest.as_str() } else { words };
    let mut claim = super::claim_of(head.severity.unwrap_or(default_severity(passed)), rest);
    if let Some(place) = &head.place {
        set_place(&mut claim, &place.spelled(), draft);
    }
    if head.severity.is_none() && passed.is_none() {
        draft.unstated(words);
    }
    draft.intake.findings.push(claim);
}

fn append_some(to: &mut String, text: Option<String>) {
    if let Some(text) = text {
        append(to, &text);
    }
}

fn default_severity(passed: Option<bool>) -> Severity {
    // Issues of an answer that did not pass are why it did not pass.
    if passed == Some(false) { Severity::Blocker } else { Severity::Warning }
}

/// Sets the severity of a finding: a stated word first, then a mark in its text, then the default.
fn severity_of(
    claim: &mut Claim,
    word: Option<String>,
    marked: Option<Severity>,
    passed: Option<bool>,
    text: &str,
    draft: &mut Draft,
) {
    // Priorities count from the top, 0 and 1 first.
    let of_number = |word: &str| match word {
        "0" | "1" => Some(Severity::Blocker),
        "2" => Some(Severity::Warning),
        "3" | "4" => Some(Severity::Suggestion),
        _ => None,
    };
    let known = |word: &str| words::severity(word).or_else(|| marks::word(word));
    match word {
        Some(word) => match known(&word).or(marked).or_else(|| of_number(&word)) {
            Some(severity) => claim.severity = severity,
            None => draft.intake.note(&word, "not a severity that is known: the default is taken"),
        },
        None if marked.is_some() => claim.severity = marked.unwrap_or(claim.severity),
        None if passed.is_none() => draft.unstated(text),
        None => {}
    }
}

/// Sets file, section and lines from any of the keys and nestings that models use.
fn place_of(claim: &mut Claim, value: &Value, get: &dyn Fn(&[&str]) -> Option<String>, draft: &mut Draft) {
    const FILES: [&str; 8] =
        ["file", "path", "file_path", "filePath", "filename", "absolute_file_path", "location", "where"];
    let inner = ["code_location", "location", "position"]
        .iter()
        .find_map(|name| value.get(name))
        .filter(|v| v.is_object());
    let file =
        FILES.iter().filter_map(|name| value.get(name).or_else(|| inner?.get(name))).find_map(Value::as_str);
    if let Some(file) = file.filter(|file| !file.is_empty()) {
        set_place(claim, file, draft);
    }
    if let Some(section) = get(&["section"]) {
        claim.section = Some(clip(&section, 200));
    }
    // Lines may stand beside the file, inside the location, or in a range of either.
    let both = [Some(value), inner, range(value), inner.and_then(range)];
    let number = |names: &[&str]| {
        both.iter()
            .flatten()
            .find_map(|of| names.iter().find_map(|name| of.get(name)))
            .and_then(Value::as_u64)
    };
    let first = number(&[
        "start_line",
        "startLine",
        "line_start",
        "lineStart",
        "start",
        "line",
        "line_number",
        "lineNumber",
        "lineno",
    ]);
    if let Some(line) = first {
        let end = number(&["end", "end_line", "endLine", "line_end", "lineEnd", "line"])
            .filter(|end| *end >= line)
            .unwrap_or(line);
        set_lines(claim, &format!("{line}-{end}"), draft);
    } else {
        const LINES: [&str; 5] = ["line", "lines", "line_range", "lineRange", "line_number"];
        let within = || inner.and_then(|inner| LINES.iter().find_map(|name| inner.get(name))).map(text_of);
        if let Some(lines) = get(&LINES).or_else(within) {
            set_lines(claim, &lines, draft);
        }
    }
}

/// `{"start": 3, "end": 9}` under one of its usual names.
fn range(value: &Value) -> Option<&Value> {
    ["line_range", "lineRange", "range", "lines"]
        .iter()
        .find_map(|name| value.get(name))
        .filter(|range| range.is_object())
}

/// Sets the confidence. A value that cannot be read is noted, and the default stays.
fn confidence_of(claim: &mut Claim, value: Option<&Value>, draft: &mut Draft) {
    let read = match value {
        None | Some(Value::Null) => return,
        Some(Value::Number(number)) => number.as_f64().and_then(words::confidence_number),
        Some(other) => words::confidence(&text_of(other)),
    };
    match read {
        Some(confidence) => (claim.confidence, claim.confidence_stated) = (confidence, true),
        None => draft.intake.note(&value.map(text_of).unwrap_or_default(), "not a confidence: 80 assumed"),
    }
}
