//! What a maker says at the end of its work, and what a hearing rules. Same rules as intake: the author's own lines
//! only, no guessing; a reply without its reason is no reply.

use crate::intake::scan::{Kind, Line, is_indented, scan};
use crate::text::{bare, clean, clip, field, plain_words, starts_with_phrase};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use tribunal_core::finding::Reply;
use tribunal_core::ids::FindingId;

/// A maker's closing words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakerWords {
    /// False only when it says that the task is not done.
    pub done: bool,
    /// Replies to open findings.
    pub replies: BTreeMap<FindingId, Reply>,
    /// What it did, in its own words.
    pub summary: String,
    /// Problems it came across and left alone.
    pub discovered: Vec<String>,
}

impl Default for MakerWords {
    fn default() -> Self {
        Self { done: true, replies: BTreeMap::new(), summary: String::new(), discovered: Vec::new() }
    }
}

/// How a hearing ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hearing {
    /// The finding stands.
    pub upheld: bool,
    /// Why.
    pub why: String,
}

/// Reads a maker's closing words.
pub fn read_maker(text: &str) -> MakerWords {
    let (text, _) = clean(text);
    let scan = scan(&text);
    let mut words = MakerWords::default();
    let mut lists = Lists::None;
    for line in scan.lines.iter().filter(|line| line.kind == Kind::Own) {
        lists = maker_line(line, lists, &mut words);
    }
    let fenced = if scan.fenced.len() == 1 { &scan.fenced[..] } else { &[] };
    for part in scan.bare.iter().chain(fenced) {
        for value in serde_json::Deserializer::from_str(part).into_iter::<Value>().map_while(Result::ok) {
            maker_json(&value, &mut words);
        }
    }
    words
}

/// Which list the lines below a key go on with.
#[derive(Clone, Copy, PartialEq)]
enum Lists {
    None,
    Discovered,
    Summary,
}

fn maker_line(line: &Line<'_>, lists: Lists, words: &mut MakerWords) -> Lists {
    let Some((key, value)) = field(line.text).filter(|_| !is_indented(line.text)) else {
        return list_line(line.text, lists, words);
    };
    let key = plain_words(&key);
    match key.as_str() {
        "fixed" => ids(value).0.into_iter().for_each(|id| reply(words, id, Reply::Fixed)),
        "refuted" | "not an issue" => argued(value, Reply::Refuted, words),
        "cannot fix" | "can't fix" | "not fixed" | "cannotfix" => argued(value, Reply::CannotFix, words),
        "task" | "task status" => words.done &= !says_not_done(value),
        "summary" => {
            words.summary = clip(value, 8_000);
            return Lists::Summary;
        }
        "discovered" | "discovered issues" => {
            discovered(value, words);
            return Lists::Discovered;
        }
        _ => return by_id(line.text, lists, words),
    }
    Lists::None
}

/// `F-1: fixed`, `F-2: refuted because …`.
fn by_id(text: &str, lists: Lists, words: &mut MakerWords) -> Lists {
    let Some((id, rest)) = crate::intake::said_id(text) else { return list_line(text, lists, words) };
    let lower = plain_words(rest);
    if starts_with_phrase(&lower, "fixed").is_some() {
        reply(words, id, Reply::Fixed);
    } else if ["refuted", "not an issue"].iter().any(|word| starts_with_phrase(&lower, word).is_some()) {
        argue(id, rest, Reply::Refuted, words);
    } else if ["cannot fix", "can't fix", "not fixed"]
        .iter()
        .any(|word| starts_with_phrase(&lower, word).is_some())
    {
        argue(id, rest, Reply::CannotFix, words);
    }
    Lists::None
}

fn list_line(text: &str, lists: Lists, words: &mut MakerWords) -> Lists {
    match lists {
        Lists::Discovered if crate::text::is_bullet(text) => {
            discovered(crate::text::strip_bullet(text), words)
        }
        Lists::Summary if crate::text::heading(text).is_none() && words.summary.len() < 8_000 => {
            words.summary.push_str(if words.summary.is_empty() { "" } else { " " });
            words.summary.push_str(&clip(text.trim(), 2_000));
        }
        _ => return Lists::None,
    }
    lists
}

fn discovered(value: &str, words: &mut MakerWords) {
    if !crate::words::is_nothing(value) && words.discovered.len() < 200 {
        words.discovered.push(clip(value.trim(), 2_000));
    }
}

fn says_not_done(value: &str) -> bool {
    let words = plain_words(bare(value));
    ["not done", "not complete", "not finished", "incomplete", "unfinished", "not yet"]
        .iter()
        .any(|phrase| starts_with_phrase(&words, phrase).is_some())
}

/// Leading ids, `F-1, F-2 and F-3`, and what follows them.
fn ids(value: &str) -> (Vec<FindingId>, &str) {
    let mut found = Vec::new();
    let mut rest = value;
    loop {
        let next = rest.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, ',' | '*' | '`' | '[' | ']' | '&' | ';')
        });
        let next = next.strip_prefix("and ").unwrap_or(next);
        let Some((id, after)) = one_id(next) else { return (found, next) };
        found.push(id);
        rest = after;
    }
}

fn one_id(text: &str) -> Option<(FindingId, &str)> {
    let rest = text.strip_prefix(['F', 'f'])?;
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = &rest[digits..];
    let id = FindingId::parse(&rest[..digits])?;
    (!after.starts_with(char::is_alphanumeric)).then_some((id, after))
}

fn argued(value: &str, make: fn(String) -> Reply, words: &mut MakerWords) {
    let (found, rest) = ids(value);
    for id in found {
        argue(id, rest, make, words);
    }
}

fn argue(id: FindingId, rest: &str, make: fn(String) -> Reply, words: &mut MakerWords) {
    let given = crate::intake::said_reason(rest);
    let why = if given.is_empty() { rest } else { &given };
    let why = why.trim_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '-' | '—' | '–' | ','));
    reply(words, id, make(clip(why, 4_000)));
}

/// A reply that argues without a reason is none.
fn reply(words: &mut MakerWords, id: FindingId, reply: Reply) {
    if reply == Reply::Fixed || reply.is_argument() {
        words.replies.insert(id, reply);
    }
}

fn maker_json(value: &Value, words: &mut MakerWords) {
    let tool = value.get("tool").or_else(|| value.get("name")).and_then(Value::as_str).unwrap_or("");
    let args = ["args", "arguments", "input"].iter().find_map(|key| value.get(key)).unwrap_or(value);
    match tool.rsplit("__").next().unwrap_or("") {
        "report_fix" => fix(args, words),
        _ => {
            task_done(args, words);
            for item in args
                .get("replies")
                .or_else(|| args.get("fixes"))
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                fix(item, words);
            }
        }
    }
}

fn text(value: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| value.get(name)).and_then(Value::as_str).map(|text| clip(text.trim(), 8_000))
}

fn fix(args: &Value, words: &mut MakerWords) {
    let id = text(args, &["id", "finding", "finding_id"]).and_then(|id| FindingId::parse(&id));
    let Some(id) = id else { return };
    let why = text(args, &["why", "because", "reason", "not_fixed_because"]).unwrap_or_default();
    let status = plain_words(&text(args, &["status", "result", "reply"]).unwrap_or_default());
    let fixed = args.get("fixed").and_then(Value::as_bool);
    match status.as_str() {
        "refuted" | "not an issue" => reply(words, id, Reply::Refuted(why)),
        "cannot fix" | "not fixed" => reply(words, id, Reply::CannotFix(why)),
        "fixed" => reply(words, id, Reply::Fixed),
        _ if fixed == Some(true) => reply(words, id, Reply::Fixed),
        _ if fixed == Some(false) => reply(words, id, Reply::CannotFix(why)),
        _ => {}
    }
}

fn task_done(args: &Value, words: &mut MakerWords) {
    words.done &= args.get("done").and_then(Value::as_bool) != Some(false);
    if let Some(summary) = text(args, &["summary"]) {
        words.summary = summary;
    }
    for name in ["discovered", "discovered_issues"] {
        for item in args.get(name).and_then(Value::as_array).into_iter().flatten() {
            let said =
                item.as_str().map(str::to_owned).or_else(|| text(item, &["description", "issue", "title"]));
            discovered(&said.unwrap_or_default(), words);
        }
    }
}

/// Reads a hearing's ruling; without one clear ruling and a reason there is none.
pub fn read_hearing(text: &str) -> Option<Hearing> {
    let (text, damage) = clean(text);
    if damage.nul {
        return None;
    }
    let scan = scan(&text);
    let mut rulings: Vec<(bool, String)> = Vec::new();
    let mut lines =
        scan.lines.iter().filter(|line| line.kind == Kind::Own && !is_indented(line.text)).peekable();
    while let Some(line) = lines.next() {
        let Some((key, value)) = field(line.text) else { continue };
        match plain_words(&key).as_str() {
            "ruling" => {
                let (upheld, mut why) = ruling(value)?;
                if why.is_empty()
                    && let Some(next) = lines.peek()
                    && field(next.text).is_none()
                {
                    why = next.text.trim().to_owned();
                }
                rulings.push((upheld, why));
            }
            "reason" | "because" | "why" => {
                if let Some((_, why)) = rulings.last_mut().filter(|(_, why)| why.is_empty()) {
                    *why = value.to_owned();
                }
            }
            _ => {}
        }
    }
    for part in scan.bare.iter().chain(if scan.fenced.len() == 1 { &scan.fenced[..] } else { &[] }) {
        rulings.extend(serde_json::from_str(part).ok().and_then(|value| ruling_json(&value)));
    }
    let (upheld, why) = rulings.last()?.clone();
    let agreed = rulings.iter().all(|(other, _)| *other == upheld);
    (agreed && !why.trim().is_empty()).then(|| Hearing { upheld, why: clip(why.trim(), 4_000) })
}

fn ruling(value: &str) -> Option<(bool, String)> {
    let words = plain_words(&value.replace(['*', '`'], ""));
    let of = |word: &str| starts_with_phrase(&words, word);
    let (upheld, rest) =
        match (of("upheld").or(of("uphold")), of("refuted").or(of("refute")).or(of("overturned"))) {
            (Some(rest), None) => (true, rest),
            (None, Some(rest)) => (false, rest),
            _ => return None,
        };
    let menu = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    let menu = starts_with_phrase(menu, "or").map_or(menu, str::trim_start);
    if menu.starts_with("upheld") || menu.starts_with("refuted") {
        return None;
    }
    let cut = value.find(|c: char| !c.is_alphanumeric() && !matches!(c, '*' | '`')).unwrap_or(value.len());
    let why = value[cut..].trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, ':' | '-' | '—' | '–' | ',' | '.' | '*' | '`')
    });
    Some((upheld, why.strip_prefix("because").unwrap_or(why).trim().to_owned()))
}

fn ruling_json(value: &Value) -> Option<(bool, String)> {
    let args = value.get("args").unwrap_or(value);
    let why = text(args, &["why", "reason", "because"]).unwrap_or_default();
    if let Some(upheld) = args.get("upheld").and_then(Value::as_bool) {
        return Some((upheld, why));
    }
    ruling(&text(args, &["ruling"])?).map(|(upheld, _)| (upheld, why))
}
