//! Reads the closing words of a builder and the ruling of a hearing.
//!
//! The rules are those of intake: only the author's own lines count, nothing is guessed, and a reply without its reason
//! is not a reply. Quoted text never counts, because a builder can be made to print a file that says it is done.

use crate::intake::launch::{Carried, take_words};
use crate::intake::scan::{Kind, Line, is_indented, worded};
use crate::text::{bare, clean, clip, field, plain_words, starts_with_phrase};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use tribunal_core::finding::Reply;
use tribunal_core::ids::FindingId;

/// What a builder says about its task.
///
/// Three answers, because silence means different things to different callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// It says that the task is done.
    Said,
    /// It says that the task is not done; this outranks any word that it is.
    NotDone,
    /// No line that counts says anything about it.
    #[default]
    Silent,
}

/// A builder's closing words, as far as they count.
///
/// None of it is proof that the work is good: that is for reviewers and checks to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuilderWords {
    /// Whether the task counts as reported done.
    ///
    /// With a launch word, only a line that carries it says so; without one, silence says so too.
    pub done: bool,
    /// What was said about the task, for callers that treat silence in their own way.
    pub task: Done,
    /// How many lines or JSON answers carried the launch word.
    pub worded: usize,
    /// A line carried a wrong launch word, so none of the replies counts.
    pub forged: bool,
    /// Replies to open findings, by id.
    pub replies: BTreeMap<FindingId, Reply>,
    /// What the builder did, in its own words.
    pub summary: String,
    /// Problems it came across and left alone.
    pub discovered: Vec<String>,
    /// Another message for its commit, line by line; only lines with the launch word count.
    pub commit: Vec<String>,
}

impl Default for BuilderWords {
    fn default() -> Self {
        // Not derived: a builder without a launch word that says nothing has finished.
        Self {
            done: true,
            task: Done::Silent,
            worded: 0,
            forged: false,
            replies: BTreeMap::new(),
            summary: String::new(),
            discovered: Vec::new(),
            commit: Vec::new(),
        }
    }
}

/// The ruling of a hearing.
///
/// There is only this or nothing: an unclear ruling is not read, and the finding then stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hearing {
    /// The finding stands.
    pub upheld: bool,
    /// The reason; a ruling without one is not read at all.
    pub why: String,
}

/// Reads a builder's closing words.
///
/// With a launch word, only lines that carry it say that the task is done or argue against a finding. Bad news counts
/// from any line: a quoted "not done" costs an attempt, a quoted "done" would end the task unfinished.
pub fn read_builder(text: &str, word: Option<&str>) -> BuilderWords {
    let (text, _) = clean(text);
    let taken = take_words(&text, word);
    let scan = worded(&taken);
    let mut words = BuilderWords::default();
    let mut lists = Lists::None;
    for line in scan.lines.iter().filter(|line| line.kind == Kind::Own) {
        words.forged |= word.is_some() && line.word == Carried::Wrong;
        lists = builder_line(line, word.is_none() || line.word == Carried::Right, lists, &mut words);
    }
    // Two fenced blocks cannot both be the answer, so neither is: one of them may be a quotation.
    let fenced = if scan.fenced.len() == 1 { &scan.fenced[..] } else { &[] };
    for part in scan.bare.iter().chain(fenced) {
        for value in serde_json::Deserializer::from_str(&part.text).into_iter::<Value>().map_while(Result::ok)
        {
            builder_json(&value, word, &mut words);
        }
    }
    // A forged word shows that somebody else wrote into this answer. Bad news stays, everything else goes.
    if words.forged {
        words.replies.clear();
        words.commit.clear();
        words.task = if words.task == Done::Said { Done::Silent } else { words.task };
    }
    words.done = match words.task {
        Done::Said => true,
        Done::NotDone => false,
        Done::Silent => word.is_none(),
    };
    words
}

/// Which list the lines below a key continue.
#[derive(Clone, Copy, PartialEq)]
enum Lists {
    None,
    Discovered,
    Summary,
}

/// Reads one line. `counts` says whether it may report or argue; if not, it may be a quotation.
fn builder_line(line: &Line<'_>, counts: bool, lists: Lists, words: &mut BuilderWords) -> Lists {
    let Some((key, value)) = field(line.text).filter(|_| !is_indented(line.text)) else {
        return list_line(line.text, lists, words);
    };
    let key = plain_words(&key);
    match key.as_str() {
        "fixed" | "refuted" | "not an issue" | "cannot fix" | "can't fix" | "not fixed" | "cannotfix"
        | "commit"
            if !counts =>
        {
            return Lists::None;
        }
        "fixed" => ids(value).0.into_iter().for_each(|id| reply(words, id, Reply::Fixed)),
        "refuted" | "not an issue" => argued(value, Reply::Refuted, words),
        "cannot fix" | "can't fix" | "not fixed" | "cannotfix" => argued(value, Reply::CannotFix, words),
        "task" | "task status" => task(value, counts, words),
        "commit" => commit(value, words),
        "summary" => {
            words.summary = clip(value, 8_000);
            return Lists::Summary;
        }
        "discovered" | "discovered issues" => {
            discovered(value, words);
            return Lists::Discovered;
        }
        _ => return by_id(line.text, counts, lists, words),
    }
    words.worded += usize::from(line.word == Carried::Right);
    Lists::None
}

/// Takes one line of a commit message: `COMMIT: feat(x): one line of the message`.
fn commit(value: &str, words: &mut BuilderWords) {
    // Limits here and below: the words end up in the journal and in prompts.
    if words.commit.len() < 200 {
        words.commit.push(clip(value, 400));
    }
}

/// `TASK: done`, `TASK: not done`. A later "done" does not take back a "not done".
fn task(value: &str, counts: bool, words: &mut BuilderWords) {
    if says_not_done(value) {
        words.task = Done::NotDone;
    } else if counts && words.task == Done::Silent && says_done(value) {
        words.task = Done::Said;
    }
}

fn says_done(value: &str) -> bool {
    let words = plain_words(bare(value));
    ["done", "complete", "completed", "finished"]
        .iter()
        .any(|phrase| starts_with_phrase(&words, phrase).is_some())
}

/// Reads a reply that begins with its id: `F-1: fixed`, `F-2: refuted because …`.
fn by_id(text: &str, counts: bool, lists: Lists, words: &mut BuilderWords) -> Lists {
    let Some((id, rest)) = crate::intake::said_id(text) else { return list_line(text, lists, words) };
    if !counts {
        return Lists::None;
    }
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

/// A line below a key: an item of the list, or more of the summary.
fn list_line(text: &str, lists: Lists, words: &mut BuilderWords) -> Lists {
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

fn discovered(value: &str, words: &mut BuilderWords) {
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

/// Leading ids, as in `F-1, F-2 and F-3`, and the text after them.
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
    // `F-1a` is a name of something else.
    (!after.starts_with(char::is_alphanumeric)).then_some((id, after))
}

fn argued(value: &str, make: fn(String) -> Reply, words: &mut BuilderWords) {
    let (found, rest) = ids(value);
    for id in found {
        argue(id, rest, make, words);
    }
}

/// Records an argument against a finding, with the reason that stands behind a "because" or after the ids.
fn argue(id: FindingId, rest: &str, make: fn(String) -> Reply, words: &mut BuilderWords) {
    let given = crate::intake::said_reason(rest);
    let why = if given.is_empty() { rest } else { &given };
    let why = why.trim_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '-' | '—' | '–' | ','));
    reply(words, id, make(clip(why, 4_000)));
}

/// Records a reply. An argument without a reason is dropped: it would close a finding with nothing to judge.
fn reply(words: &mut BuilderWords, id: FindingId, reply: Reply) {
    if reply == Reply::Fixed || reply.is_argument() {
        words.replies.insert(id, reply);
    }
}

/// Reads one JSON answer: a tool call such as `report_fix` written as text, or an object with replies.
fn builder_json(value: &Value, word: Option<&str>, words: &mut BuilderWords) {
    let tool = value.get("tool").or_else(|| value.get("name")).and_then(Value::as_str).unwrap_or("");
    let args = ["args", "arguments", "input"].iter().find_map(|key| value.get(key)).unwrap_or(value);
    let given = [value, args].iter().find_map(|part| part.get("word")).and_then(Value::as_str).map(str::trim);
    let right = word.is_none_or(|word| given.is_some_and(|given| given.eq_ignore_ascii_case(word)));
    words.forged |= !right && given.is_some();
    words.worded += usize::from(word.is_some() && right);
    // Agents prefix the name of an MCP tool with that of its server.
    match tool.rsplit("__").next().unwrap_or("") {
        "report_fix" if right => fix(args, words),
        _ => {
            task_done(args, right, words);
            if !right {
                return;
            }
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

/// Takes the reply to one finding from JSON.
fn fix(args: &Value, words: &mut BuilderWords) {
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
        // An unknown status leaves the finding open.
        _ => {}
    }
}

/// Takes what JSON says about the task: done or not, the summary, the commit message, discovered problems.
///
/// "Not done" counts without the launch word; "done" and a commit message need it.
fn task_done(args: &Value, counts: bool, words: &mut BuilderWords) {
    match args.get("done").and_then(Value::as_bool) {
        Some(false) => words.task = Done::NotDone,
        Some(true) if counts && words.task == Done::Silent => words.task = Done::Said,
        Some(true) | None => {}
    }
    if let Some(summary) = text(args, &["summary"]) {
        words.summary = summary;
    }
    if let Some(message) = text(args, &["commit_message"]).filter(|_| counts) {
        message.lines().for_each(|line| commit(line, words));
    }
    for name in ["discovered", "discovered_issues"] {
        for item in args.get(name).and_then(Value::as_array).into_iter().flatten() {
            let said =
                item.as_str().map(str::to_owned).or_else(|| text(item, &["description", "issue", "title"]));
            discovered(&said.unwrap_or_default(), words);
        }
    }
}

/// Reads a hearing's ruling; `None` without one clear ruling and a reason.
///
/// With a launch word, only a line that carries it may dismiss a finding, while any line may uphold one, and a line
/// with a wrong word voids the ruling. An unread ruling leaves the finding standing, so every doubt ends here as
/// `None`.
pub fn read_hearing(text: &str, word: Option<&str>) -> Option<Hearing> {
    let (text, damage) = clean(text);
    // A NUL may hide text from one reader that another sees.
    if damage.nul {
        return None;
    }
    let taken = take_words(&text, word);
    let scan = worded(&taken);
    let forged = |line: &Line<'_>| line.kind == Kind::Own && line.word == Carried::Wrong;
    if word.is_some() && scan.lines.iter().any(forged) {
        return None;
    }
    let mut rulings: Vec<(bool, String)> = Vec::new();
    let mut lines =
        scan.lines.iter().filter(|line| line.kind == Kind::Own && !is_indented(line.text)).peekable();
    while let Some(line) = lines.next() {
        let Some((key, value)) = field(line.text) else { continue };
        match plain_words(&key).as_str() {
            "ruling" => {
                // The `?` is deliberate: a ruling that cannot be read must not be passed over for a friendlier one
                // below.
                let (upheld, mut why) = ruling(value)?;
                // It may be a quotation; a dismissal has to carry the word.
                if !upheld && word.is_some() && line.word != Carried::Right {
                    continue;
                }
                // Some write the reason in the line below, without a key.
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
        let Ok(value) = serde_json::from_str::<Value>(&part.text) else { continue };
        let given = [Some(&value), value.get("args")].into_iter().flatten().find_map(|part| part.get("word"));
        let right = word.is_none_or(|word| {
            given.and_then(Value::as_str).is_some_and(|given| given.trim().eq_ignore_ascii_case(word))
        });
        if !right && given.is_some() {
            return None;
        }
        rulings.extend(ruling_json(&value).filter(|(upheld, _)| *upheld || right));
    }
    let (upheld, why) = rulings.last()?.clone();
    // Contradictory rulings count as no ruling.
    let agreed = rulings.iter().all(|(other, _)| *other == upheld);
    (agreed && !why.trim().is_empty()).then(|| Hearing { upheld, why: clip(why.trim(), 4_000) })
}

/// The ruling and its reason in the words behind `RULING:`; `None` for anything that is not clearly one of two.
fn ruling(value: &str) -> Option<(bool, String)> {
    let words = plain_words(&value.replace(['*', '`'], ""));
    let of = |word: &str| starts_with_phrase(&words, word);
    let (upheld, rest) =
        match (of("upheld").or(of("uphold")), of("refuted").or(of("refute")).or(of("overturned"))) {
            (Some(rest), None) => (true, rest),
            (None, Some(rest)) => (false, rest),
            _ => return None,
        };
    // "upheld | refuted" is the menu of the prompt, echoed.
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
