//! Reads findings written as single lines: `[id:X] [severity:Y] [file:Z] issue: … | suggestion: …`; and builds a claim
//! out of named fields, whatever form they come from.
//!
//! The other readers use `from_fields`, `set_place` and `set_lines`, so that a field means the same in every form.

use super::launch::Carried;
use super::scan::{Kind, Line};
use super::{Draft, Form, claim_of, said};
use crate::text::{bare, clip, is_bullet, plain_words, strip_bullet};
use crate::words;
use tribunal_core::finding::{Claim, Said, Severity};
use tribunal_core::ids::FindingId;

/// Reads all findings that are one tagged line each.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    let mut open = false;
    let mut after = 0;
    for (at, line) in lines.iter().enumerate() {
        if at < after {
            continue;
        }
        if line.kind != Kind::Own || taken[at] {
            open = false;
            continue;
        }
        if is_tagged(line.text) {
            let end = broken_over(lines, taken, at);
            let whole: Vec<&str> = lines[at..end].iter().map(|line| line.text.trim_end()).collect();
            // A tagged line may be an answer by its status, and closing a finding needs the word.
            draft.carried = line.word;
            tagged(&whole.join(" "), draft);
            draft.carried = Carried::Nothing;
            taken[at..end].fill(true);
            (open, after) = (true, end);
        } else if open && line.text.starts_with([' ', '\t']) && !is_bullet(line.text) {
            // An indented line below a finding continues it.
            taken[at] = true;
            if let Some(last) = draft.intake.findings.last_mut() {
                append(&mut last.details, line.text.trim());
            }
        } else {
            open = false;
        }
    }
}

/// The end of a finding that goes on below its first tags: `[file:…]`, `issue: …`, `| suggestion: …`.
fn broken_over(lines: &[Line<'_>], taken: &[bool], at: usize) -> usize {
    let issue = |text: &str| known_key(tags(strip_bullet(text)).1).is_some_and(|(key, _)| key == "issue");
    let mut told = !tags(strip_bullet(lines[at].text)).1.trim().is_empty();
    let mut end = at + 1;
    while let Some(line) = lines.get(end).filter(|line| line.kind == Kind::Own && !taken[end]) {
        let text = line.text.trim_start();
        let goes_on = match told {
            false => text.starts_with('[') && !is_tagged(text) || issue(text),
            true => text.starts_with('|') && known_key(&text[1..]).is_some(),
        };
        if !goes_on {
            break;
        }
        told |= issue(text);
        end += 1;
    }
    end
}

/// Adds a line to a text, within limits: details reach the journal and prompts.
pub(crate) fn append(to: &mut String, text: &str) {
    if to.len() < 100_000 {
        if !to.is_empty() {
            to.push('\n');
        }
        to.push_str(&clip(text, 20_000));
    }
}

/// Whether the line begins with the tags of this form.
pub(crate) fn is_tagged(text: &str) -> bool {
    let text = text.trim_start_matches(['>', ' ', '\t']);
    let (tags, rest) = tags(strip_bullet(text));
    let known = |key: &str| tags.iter().any(|(k, _)| k == key);
    tags.len() >= 2 && (known("severity") || known("id"))
        // A lone `[severity:…]` needs words behind it, a lone `[id:…]` even a named issue.
        || tags.len() == 1 && known("severity") && !rest.trim().is_empty()
        || tags.len() == 1 && known("id") && known_key(rest).is_some_and(|(key, _)| key == "issue")
}

/// Whether the line would be a new finding that must be fixed, if it were the author's own.
pub(crate) fn is_grave(text: &str) -> bool {
    let (tags, _) = tags(strip_bullet(text.trim_start()));
    let tag = |key: &str| tags.iter().find(|(k, _)| k == key).map(|(_, value)| *value);
    let ours = tag("id").is_some_and(|id| id.starts_with(['F', 'f']) && FindingId::parse(id).is_some());
    is_tagged(text) && !ours && tag("severity").and_then(words::severity).is_some_and(Severity::must_fix)
}

/// Splits `[key:value] [key:value] rest`; brackets inside a value are balanced.
fn tags(text: &str) -> (Vec<(String, &str)>, &str) {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches(['*', '`', ' ']);
    while let Some(inner) = rest.strip_prefix('[') {
        let Some(end) = closing(inner) else { break };
        let Some((key, value)) = inner[..end].split_once([':', '=']) else { break };
        found.push((plain_words(bare(key)), value.trim()));
        rest =
            inner[end + 1..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '`' | ','));
    }
    (found, rest)
}

/// The position of the closing bracket; unbalanced ones close at the first.
fn closing(inner: &str) -> Option<usize> {
    let mut depth = 0usize;
    // Bounded, since a hostile line may open brackets without end.
    for (at, c) in inner.char_indices().take(4_096) {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => return Some(at),
            ']' => depth -= 1,
            _ => {}
        }
    }
    inner.find(']')
}

fn tagged(text: &str, draft: &mut Draft) {
    draft.form(Form::Lines);
    let (tags, rest) = tags(strip_bullet(text));
    let mut fields: Vec<(String, String)> = tags.into_iter().map(|(k, v)| (k, v.to_owned())).collect();
    fields.extend(pipe_fields(rest));
    if let Some(claim) = from_fields(text, fields, draft) {
        draft.intake.findings.push(claim);
    }
}

const PIPE_KEYS: [&str; 16] = [
    "issue",
    "suggestion",
    "suggested fix",
    "fix",
    "evidence",
    "confidence",
    "details",
    "line",
    "lines",
    "domain",
    "severity",
    "fixable by",
    "rule",
    "type",
    "status",
    "check",
];

/// Cuts `issue: … | suggestion: …` at pipes that are followed by a known key; other pipes are text.
pub(super) fn pipe_fields(rest: &str) -> Vec<(String, String)> {
    let mut cuts = vec![0];
    cuts.extend(rest.match_indices('|').map(|(at, _)| at + 1).filter(|at| known_key(&rest[*at..]).is_some()));
    let mut fields = Vec::new();
    for (n, start) in cuts.iter().enumerate() {
        let end = cuts.get(n + 1).map_or(rest.len(), |next| next - 1);
        let part = &rest[*start..end];
        match known_key(part) {
            Some((key, value)) => fields.push((key.to_owned(), value.trim().to_owned())),
            None => fields.push(("issue".to_owned(), part.trim().to_owned())),
        }
    }
    fields
}

fn known_key(part: &str) -> Option<(&'static str, &str)> {
    let (key, value) = part.split_once([':', '：'])?;
    // A longer text before a colon is a sentence.
    if key.len() > 40 {
        return None;
    }
    let key = plain_words(bare(key));
    let known = PIPE_KEYS.iter().find(|known| **known == key)?;
    Some((known, value.strip_prefix("**").unwrap_or(value)))
}

/// Builds a claim from named texts, whatever form they came from; `None` when it says nothing or is not a new claim.
///
/// Missing fields get the careful default: no severity is a warning and noted, no words at all are a doubt.
pub(crate) fn from_fields(raw: &str, fields: Vec<(String, String)>, draft: &mut Draft) -> Option<Claim> {
    let mut claim = Claim::new(Severity::Warning, "");
    let mut status = String::new();
    let mut severity_given = false;
    for (key, value) in fields {
        let value = value.trim();
        if value.is_empty() {
            continue;
        }
        match key.as_str() {
            "severity" | "level" | "priority" => severity_given |= set_severity(&mut claim, value, draft),
            "status" | "state" => status = plain_words(bare(value)),
            _ => set(&mut claim, &key, value, draft),
        }
    }
    // Some put everything into the details; then their first line is the claim.
    if claim.claim.is_empty() && !claim.details.is_empty() {
        let taken = claim_of(claim.severity, &std::mem::take(&mut claim.details));
        (claim.claim, claim.details) = (taken.claim, taken.details);
    }
    // `F-3` as the label of a new finding means that its author takes it for that one.
    let id = claim.label.as_deref().filter(|label| label.starts_with(['F', 'f'])).and_then(FindingId::parse);
    if let Some(answered) = by_status(raw, &status, id, draft) {
        return answered.then_some(claim).filter(|claim| !claim.claim.is_empty());
    }
    claim.same_as = claim.same_as.or(id);
    if claim.claim.is_empty() {
        draft.intake.doubt(raw, "a finding without an issue says nothing");
        return None;
    }
    if !severity_given {
        draft.unstated(raw);
    }
    Some(claim)
}

/// Whether a status makes the line an answer; `Some(true)` keeps the claim as well.
fn by_status(raw: &str, status: &str, id: Option<FindingId>, draft: &mut Draft) -> Option<bool> {
    if status.is_empty() {
        return None;
    }
    match (said::meaning(status)?, id) {
        (Ok(said), Some(id)) => {
            let keeps = said == Said::StillThere;
            draft.answer(id, said);
            if keeps { None } else { Some(false) }
        }
        // "Open" on a finding of its own says nothing new.
        (Ok(Said::StillThere), None) => None,
        (Ok(_), None) => {
            draft.intake.note(raw, "reported as resolved under an id that is not one of ours");
            Some(false)
        }
        (Err(why), _) => {
            draft.intake.note(raw, why);
            Some(false)
        }
    }
}

fn set_severity(claim: &mut Claim, value: &str, draft: &mut Draft) -> bool {
    match words::severity(value) {
        Some(severity) => claim.severity = severity,
        None => draft.intake.note(value, "not a severity that is known: taken as a warning"),
    }
    true
}

/// Sets one field of a claim by any of its usual names.
fn set(claim: &mut Claim, key: &str, value: &str, draft: &mut Draft) {
    match key {
        "id" | "finding" | "finding id" => claim.label = Some(clip(bare(value), 100)),
        "file" | "files" | "path" | "file path" | "location" => set_place(claim, value, draft),
        "line" | "lines" | "line range" | "line/section" | "line / section" | "section" => {
            set_lines(claim, value, draft)
        }
        "issue" | "problem" | "title" | "claim" | "summary" => set_claim(claim, value),
        "details" | "detail" | "description" | "why" | "impact" | "explanation" => {
            append(&mut claim.details, value)
        }
        "suggestion" | "suggested fix" | "fix" | "recommendation" => append(&mut claim.suggestion, value),
        "evidence" | "proof" => append(&mut claim.evidence, value),
        "confidence" => match words::confidence(value) {
            Some(confidence) => (claim.confidence, claim.confidence_stated) = (confidence, true),
            None => draft.intake.note(value, "not a confidence: 80 assumed"),
        },
        "domain" | "category" => claim.domain = Some(clip(&plain_words(bare(value)), 100)),
        "rule" | "check" | "rule id" => claim.rule = Some(clip(bare(value), 200)),
        "type" | "kind" => claim.kind = Some(clip(bare(value), 100)),
        "same as" | "duplicate of" => claim.same_as = FindingId::parse(bare(value)),
        "fixable by" => match words::fixable_by(value) {
            Some(who) => claim.fixable_by = who,
            None => draft.intake.note(value, "not one of dev, architect, manual"),
        },
        _ => {}
    }
}

/// Sets the claim itself. A second, different one goes to the details, so that no words are lost.
fn set_claim(claim: &mut Claim, value: &str) {
    let made = claim_of(claim.severity, value);
    if claim.claim.is_empty() {
        claim.claim = made.claim;
    } else if claim.claim != made.claim {
        append(&mut claim.details, &made.claim);
    }
    if !made.details.is_empty() {
        append(&mut claim.details, &made.details);
    }
}

/// Sets file and lines. A refused path is noted, and the claim goes on without it.
pub(crate) fn set_place(claim: &mut Claim, value: &str, draft: &mut Draft) {
    // `@src/a.rs`, as one agent names a file to another.
    let named = value.trim_start_matches(['`', '*', ' ']);
    let carried = named.strip_prefix('@').filter(|file| {
        !draft.changed.iter().any(|known| named.starts_with(known.as_str()))
            && super::place::first(file).is_some_and(|found| found.start == 0)
    });
    let value = carried.unwrap_or(value);
    let known = in_change(value, &draft.changed);
    match words::place(known.as_deref().unwrap_or(value)) {
        Ok(place) => {
            claim.file = place.file;
            if place.line.is_some() {
                (claim.line, claim.end) = (place.line, place.end);
            }
            if place.unreal {
                draft.intake.note(value, "not a line of any file");
            }
        }
        Err(why) => draft.intake.note(value, why),
    }
}

/// The file of the change that an absolute path ends in: the longest one, if there are several.
///
/// The path itself is never followed. Agents see the tree under another root than we do, so only its end means
/// anything.
fn in_change(value: &str, changed: &[String]) -> Option<String> {
    let value = crate::text::bare(value);
    // A relative path is taken as it is.
    if !value.starts_with(['/', '~']) && value.as_bytes().get(1) != Some(&b':') {
        return None;
    }
    let found = super::place::first(value)?;
    let path = found.path.replace('\\', "/");
    let ends = |file: &&String| path.strip_suffix(file.as_str()).is_some_and(|root| root.ends_with('/'));
    let file = changed.iter().filter(ends).max_by_key(|file| file.len())?;
    // With `..` in it, the end of the path does not say where it leads.
    let inside = !path.split('/').any(|part| part == "..");
    inside.then(|| super::place::Found { path: file.clone(), ..found }.spelled())
}

/// Sets lines, or a section where the words are not line numbers.
pub(crate) fn set_lines(claim: &mut Claim, value: &str, draft: &mut Draft) {
    if words::is_nothing(value) {
        return;
    }
    match words::lines(value) {
        Some((Some(line), end)) => {
            (claim.line, claim.end) = (Some(line), end);
            let rest = value.trim_start_matches(|c: char| !c.is_alphabetic());
            // `12 (in parse)`: the words behind the number name the section.
            if rest.len() > 6 && value.starts_with(|c: char| c.is_ascii_digit()) {
                claim.section = Some(clip(rest, 200));
            }
        }
        Some((None, _)) => draft.intake.note(value, "not a line of any file"),
        None => claim.section = Some(clip(bare(value), 200)),
    }
}
