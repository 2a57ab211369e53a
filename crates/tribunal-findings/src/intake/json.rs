//! JSON answers: our schema, and the arguments of the reporting tools, as one object or a line per call. Each finding
//! is read by itself, so a bad one does not lose the others. A truncated or doubled answer has no verdict.

use super::lines::{append, set_lines, set_place};
use super::scan::{Kind, Scan};
use super::{Draft, Form, check, said, sarif};
use crate::text::{clip, plain_words};
use crate::words::{self, Stated};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use tribunal_core::finding::{Claim, FixableBy, Said, Severity, Verdict};
use tribunal_core::ids::FindingId;

/// An object's fields in order, doubled ones included, values unread.
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
        return false;
    }
    for text in &scan.bare {
        value(text, draft);
    }
    !scan.bare.is_empty()
}

/// Reads the JSON inside a message: values that stand in it, and the only fenced block.
pub(crate) fn read_parts(scan: &Scan<'_>, draft: &mut Draft) {
    for text in &scan.bare {
        value(text, draft);
    }
    let answers: Vec<&str> = scan.fenced.iter().copied().filter(|text| is_answer(text)).collect();
    match answers.as_slice() {
        [] => note_broken(scan, draft),
        [only] => {
            // It may be quoted: what it says against the work is heard, what it says for it is not.
            if scan.goes_on_after(only) {
                draft.intake.doubt(only, "JSON in a fence approves only as the last word of a message");
            }
            fenced(only, draft);
        }
        [first, ..] => {
            draft.intake.note(first, "several fenced JSON answers: which one counts is not said");
            draft.vote("several JSON answers", Err("several fenced JSON answers"));
        }
    }
}

fn note_broken(scan: &Scan<'_>, draft: &mut Draft) {
    for line in
        scan.lines.iter().filter(|line| line.kind == Kind::Own && line.text.trim_start().starts_with("{\""))
    {
        draft.intake.note(line.text, "looks like JSON, but is broken or incomplete");
    }
    for text in
        scan.fenced.iter().filter(|text| text.contains("\"verdict\"") || text.contains("\"findings\""))
    {
        draft.intake.note(text, "looks like JSON, but is broken or incomplete");
    }
}

/// A fence may hold one value or a line per tool call.
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
        _ => false,
    }
}

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
    )
}

fn value(text: &str, draft: &mut Draft) {
    if text.trim_start().starts_with('[') {
        let items: Result<Vec<&RawValue>, _> = serde_json::from_str(text);
        for item in items.unwrap_or_default() {
            list_item(item.get(), draft);
        }
        return;
    }
    match serde_json::from_str::<Fields<'_>>(text) {
        Ok(fields) => object(text, fields, draft),
        Err(error) => draft.intake.note(text, format!("broken JSON: {error}")),
    }
}

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

fn object(text: &str, fields: Fields<'_>, draft: &mut Draft) {
    let get =
        |names: &[&str]| fields.0.iter().find(|(key, _)| names.contains(&key.as_ref())).map(|(_, raw)| *raw);
    let named = get(&["tool", "tool_name"])
        .or_else(|| get(&["name"]).filter(|_| get(&["arguments", "input", "args"]).is_some()));
    if let (Some(tool), Some(args)) = (named, get(&["args", "arguments", "input", "params"])) {
        call(tool, args, draft);
    } else if get(&["runs"]).is_some() && (get(&["version"]).is_some() || get(&["$schema"]).is_some()) {
        sarif::read_into(text, draft);
    } else if let Some(one) = as_check(text) {
        draft.form(Form::Json);
        one.judge(draft);
    } else if !known_wrapper(&fields, draft) {
        draft.form(Form::Json);
        answer(text, &fields, draft);
    }
}

/// One check of a QA report: its `passed` is its own, not the report's.
fn as_check(text: &str) -> Option<check::Check> {
    check::Check::of_json(text)
}

/// `{"cast_verdict": {…}, "report_findings": {…}}`.
fn known_wrapper(fields: &Fields<'_>, draft: &mut Draft) -> bool {
    let mut found = false;
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

fn call(tool: &RawValue, args: &RawValue, draft: &mut Draft) {
    let name: String = serde_json::from_str(tool.get()).unwrap_or_default();
    let name = name.rsplit("__").next().unwrap_or("").to_owned();
    if is_tool(&name) {
        draft.form(Form::Tool);
        arguments(&name, args, draft);
    } else {
        draft.intake.note(tool.get(), "a call of a tool that reports no review");
    }
}

fn arguments(name: &str, args: &RawValue, draft: &mut Draft) {
    // Some clients send the arguments as a string of JSON.
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

/// One answer: verdict, findings, answers by id, what was checked.
fn answer(text: &str, fields: &Fields<'_>, draft: &mut Draft) {
    let mut findings = Vec::new();
    let mut passed = None;
    let mut fundamental = false;
    let before = draft.votes.len();
    for (key, raw) in &fields.0 {
        match key.as_ref() {
            "verdict" | "decision" => verdict(raw, draft),
            "passed" | "approved" => passed = passed_vote(raw, passed, draft),
            "fundamental" => fundamental = raw.get() == "true",
            "findings" | "issues" => findings.push(*raw),
            "said" | "answers" => answers(raw, draft),
            "checked" | "what_was_checked" => draft.intake.checked = words_of(raw),
            "intent" | "interpretedIntent" | "interpreted_intent" => {
                draft.intake.intent = Some(words_of(raw)).filter(|w| !w.is_empty())
            }
            "intentSatisfied" | "intent_satisfied" => {
                draft.intake.intent_satisfied = serde_json::from_str(raw.get()).ok()
            }
            "checks" => check::read_json(raw.get(), draft),
            "hard_stop_reasons" => check::read_json_reasons(raw.get(), FixableBy::Manual, draft),
            "dev_fixable_failures" => check::read_json_reasons(raw.get(), FixableBy::Dev, draft),
            // Under a name that is not known there may be findings: a list that is not empty, or an object.
            unknown if raw.get().starts_with(['[', '{']) && !matches!(raw.get(), "[]" | "{}") => {
                draft.intake.doubt(raw.get(), format!("{unknown:?} is not a key that is known"));
            }
            _ => {}
        }
    }
    if fundamental {
        for vote in draft.votes[before..].iter_mut() {
            if let Ok((Verdict::Reject, flag)) = &mut vote.meaning {
                *flag = true;
            }
        }
    }
    if draft.votes.len() == before && findings.is_empty() && draft.intake.said.is_empty() {
        draft.intake.note(text, "an object without verdict, findings or answers");
    }
    for raw in findings {
        match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
            Ok(items) => items.iter().for_each(|item| finding(item.get(), passed, draft)),
            Err(_) if raw.get() == "null" => {}
            Err(_) => draft.intake.doubt(raw.get(), "findings are not a list"),
        }
    }
}

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

/// Text, or a list of texts joined.
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

/// `{"F-1": "resolved"}`, `{"F-1": {"not_an_issue": "why"}}`, `[{"id": "F-1", "answer": "resolved", "why": "…"}]`.
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

fn one_answer(id: &str, value: &Value, draft: &mut Draft) {
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

fn answer_of(value: &Value) -> Option<Result<Said, &'static str>> {
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

/// Reads one finding; `passed` is S4's, and sets the severity of issues that carry none.
pub(super) fn finding(text: &str, passed: Option<bool>, draft: &mut Draft) {
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => value,
        Ok(Value::String(words)) if !words.trim().is_empty() => {
            draft.intake.findings.push(super::claim_of(default_severity(passed), &words));
            return;
        }
        Ok(_) => return draft.intake.doubt(text, "a finding that is not an object"),
        Err(error) => return draft.intake.doubt(text, format!("a finding that cannot be read: {error}")),
    };
    let get = |names: &[&str]| {
        names.iter().filter_map(|name| value.get(name)).map(text_of).find(|text| !text.is_empty())
    };
    let status = plain_words(&get(&["status", "state"]).unwrap_or_default());
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
    let Some(words) = get(&["claim", "issue", "title", "message", "summary", "description"]) else {
        return draft.intake.doubt(text, "a finding without an issue says nothing");
    };
    let mut claim = super::claim_of(default_severity(passed), &words);
    severity_of(&mut claim, get(&["severity", "level", "priority"]), passed, text, draft);
    place_of(&mut claim, &value, &get, draft);
    confidence_of(&mut claim, value.get("confidence"), draft);
    let details = get(&["details", "explanation", "description"]).filter(|details| *details != words);
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

fn append_some(to: &mut String, text: Option<String>) {
    if let Some(text) = text {
        append(to, &text);
    }
}

fn default_severity(passed: Option<bool>) -> Severity {
    if passed == Some(false) { Severity::Blocker } else { Severity::Warning }
}

fn severity_of(claim: &mut Claim, word: Option<String>, passed: Option<bool>, text: &str, draft: &mut Draft) {
    match word {
        Some(word) => match words::severity(&word) {
            Some(severity) => claim.severity = severity,
            None => draft.intake.note(&word, "not a severity that is known: the default is taken"),
        },
        None if passed.is_none() => draft.intake.note(text, "no severity given: taken as a warning"),
        None => {}
    }
}

fn place_of(claim: &mut Claim, value: &Value, get: &dyn Fn(&[&str]) -> Option<String>, draft: &mut Draft) {
    if let Some(file) = get(&["file", "path", "file_path", "filePath", "location"]) {
        set_place(claim, &file, draft);
    }
    if let Some(section) = get(&["section"]) {
        claim.section = Some(clip(&section, 200));
    }
    let number = |names: &[&str]| names.iter().find_map(|name| value.get(name)).and_then(Value::as_u64);
    if let Some(line) = number(&["line", "start_line", "startLine", "line_start"]) {
        let end = number(&["end", "end_line", "endLine", "line_end"]).unwrap_or(line);
        set_lines(claim, &format!("{line}-{end}"), draft);
    } else if let Some(lines) = get(&["line", "lines", "line_range", "lineRange"]) {
        set_lines(claim, &lines, draft);
    }
}

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
