//! Reads answers in tags: `<finding file="…" line="…" severity="…">…</finding>`, `<issue>` with a tag for each field,
//! `<verdict>…</verdict>`.
//!
//! Only the author's own lines are read, and a tag that is never closed ends with the message. This is not an XML
//! parser: the tags are written by hand, and often not well formed.

use super::cover::Manner;
use super::launch::Carried;
use super::lines::from_fields;
use super::marks;
use super::scan::{Kind, Line};
use super::{Draft, Form, verdict};
use crate::text::plain_words;

/// At most this many lines belong to one tag: an unclosed one must not swallow the message.
const LINES_MAX: usize = 400;

/// Reads every tag that means something, and marks its lines as taken.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    let parts = at_tags(lines, taken);
    let split: Vec<Line<'_>> = parts.iter().map(|(_, line)| *line).collect();
    let mut read = vec![false; split.len()];
    read_parts(&split, &mut read, draft);
    let mut tagged = vec![false; lines.len()];
    parts.iter().zip(&read).for_each(|((at, _), read)| tagged[*at] |= *read);
    // Text beside a tag on its line is the author's, too.
    for ((at, line), _) in parts.iter().zip(&read).filter(|((at, _), read)| tagged[*at] && !**read) {
        taken[*at] = true;
        draft.leave(line.text);
    }
    tagged.iter().enumerate().filter(|(_, tagged)| **tagged).for_each(|(at, _)| taken[at] = true);
}

/// The lines, cut in front of every tag that means something.
fn at_tags<'a>(lines: &[Line<'a>], taken: &[bool]) -> Vec<(usize, Line<'a>)> {
    let mut parts = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut text = line.text;
        if line.kind == Kind::Own && !taken[at] && opening(text).is_some() {
            let mut from = 1;
            while let Some(found) = text.get(from..).and_then(|rest| rest.find('<')).map(|found| from + found)
            {
                let means = opening(&text[found..]).is_some_and(|name| !matches!(kind_of(&name), Of::Other));
                if means && !text[found..].starts_with("</") {
                    parts.push((at, Line { text: &text[..found], ..*line }));
                    (text, from) = (&text[found..], 1);
                } else {
                    from = found + 1;
                }
            }
        }
        // What another reader took ends a tag here.
        let kind = if taken[at] { Kind::Data } else { line.kind };
        parts.push((at, Line { text, kind, ..*line }));
    }
    parts
}

/// Reads the tags of lines that were cut in front of each tag.
fn read_parts(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        let name = match line.kind {
            Kind::Own if !taken[at] => opening(line.text),
            // In a fence it may be a quotation: what it says against the work is heard.
            Kind::Fenced => opening(line.text).filter(|name| {
                let end = closed(lines, at, name);
                matches!(kind_of(name), Of::Finding) && is_whole(&lines[at..end])
            }),
            _ => None,
        };
        let Some(name) = name else {
            at += 1;
            continue;
        };
        let end = match kind_of(&name) {
            Of::Container => {
                container(line, draft);
                at + 1
            }
            Of::Finding | Of::Value => {
                let end = closed(lines, at, &name);
                let text: Vec<&str> = lines[at..end].iter().map(|line| line.text).collect();
                let carried =
                    lines[at..end].iter().map(|line| line.word).find(|word| *word == Carried::Right);
                draft.carried = carried.unwrap_or_default();
                element(&name, &text.join("\n"), draft);
                draft.carried = Carried::Nothing;
                end
            }
            Of::Other => {
                at += 1;
                continue;
            }
        };
        taken[at..end].fill(true);
        at = end;
    }
}

/// Whether a finding says how severe it is and where.
fn is_whole(lines: &[Line<'_>]) -> bool {
    let has = |names: &[&str]| lines.iter().any(|line| names.iter().any(|name| line.text.contains(name)));
    has(&["severity", "level", "priority"]) && has(&["file", "path", "location"])
}

/// What a tag means to this reader.
enum Of {
    Finding,
    Value,
    Container,
    Other,
}

fn kind_of(name: &str) -> Of {
    match name {
        "finding" | "issue" | "comment" | "problem" | "bug" | "violation" | "defect" | "remark" => {
            Of::Finding
        }
        "verdict" | "decision" | "recommendation" | "checked" | "evidence" | "summary" | "overview" => {
            Of::Value
        }
        "review" | "issues" | "findings" | "comments" | "answer" | "result" | "report" | "response"
        | "code_review" | "review_result" | "problems" | "output" | "word" => Of::Container,
        _ => Of::Other,
    }
}

/// The name of the tag that a line opens or closes with.
fn opening(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix('<')?;
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
    let ends = rest[length..].starts_with([' ', '>', '/', '\t']) || rest.len() == length;
    (length > 0 && ends).then(|| rest[..length].to_ascii_lowercase())
}

/// The line behind the one that closes the tag.
fn closed(lines: &[Line<'_>], from: usize, name: &str) -> usize {
    let end = format!("</{name}>");
    let first = lines[from].text.trim_end();
    // A tag without content.
    if first.ends_with("/>") && !first.contains(&end) {
        return from + 1;
    }
    let last = (from + LINES_MAX).min(lines.len());
    (from..last).find(|at| lines[*at].text.to_ascii_lowercase().contains(&end)).map_or(last, |at| at + 1)
}

/// Reads a container, which may say its verdict in an attribute: `<answer verdict="reject">`.
fn container(line: &Line<'_>, draft: &mut Draft) {
    let (attributes, rest) = attributes(line.text);
    draft.carried = line.word;
    for (name, value) in &attributes {
        if matches!(name.as_str(), "verdict" | "decision" | "recommendation") {
            verdict::vote(value, draft);
            draft.form(Form::Xml);
        } else {
            draft.cover(value, Manner::Tail);
        }
    }
    draft.carried = Carried::Nothing;
    if rest.chars().any(char::is_alphabetic) {
        draft.leave(rest);
    }
}

/// Reads one tag with everything in it.
fn element(name: &str, text: &str, draft: &mut Draft) {
    let (mut fields, body) = attributes(text);
    let end = body.to_ascii_lowercase().rfind(&format!("</{name}>")).unwrap_or(body.len());
    // Words behind the closing tag on its line are the author's, too.
    let (inner, after) = (&body[..end], body[end..].split_once('>').map_or("", |(_, after)| after));
    if after.chars().any(char::is_alphabetic) {
        draft.leave(after);
    }
    if let Some((_, word)) = fields.iter().find(|(name, _)| name == "word")
        && draft.word.is_some()
    {
        let right = draft.word.as_deref().is_some_and(|wanted| wanted.eq_ignore_ascii_case(word.trim()));
        draft.carried = if right { Carried::Right } else { Carried::Wrong };
        draft.forged |= !right;
    }
    draft.form(Form::Xml);
    // Attributes of a value have no meaning of their own, so they have to be harmless.
    if !matches!(kind_of(name), Of::Finding) {
        let others = fields.iter().filter(|(name, _)| name != "word");
        others.for_each(|(_, value)| draft.cover(value, Manner::Tail));
    }
    match name {
        "verdict" | "decision" | "recommendation" => verdict::vote(&plain(inner), draft),
        "checked" | "evidence" => verdict::take_evidence(&plain(inner), draft),
        "summary" | "overview" => draft.leave(&plain(inner)),
        _ => {
            let loose = children(inner, &mut fields);
            finding(text, fields, &plain(&loose), draft);
        }
    }
}

/// Builds a finding of fields under any of their usual names.
fn finding(raw: &str, fields: Vec<(String, String)>, body: &str, draft: &mut Draft) {
    let mut known: Vec<(String, String)> = Vec::new();
    let mut end = None;
    for (name, value) in fields {
        match plain_words(&name).as_str() {
            "severity" | "level" | "priority" | "prio" => {
                // Read by the wider table, so that `P1` and `hoch` work in attributes as well.
                let severity = marks::word(&value);
                known.push((
                    "severity".to_owned(),
                    severity.map_or(value, |severity| severity.word().to_owned()),
                ));
            }
            "path" | "filename" | "location" | "file" => known.push(("file".to_owned(), value)),
            "line" | "lines" | "start line" | "start" | "line start" | "startline" | "linestart" | "from"
            | "line number" => known.push(("line".to_owned(), value)),
            "end" | "end line" | "line end" | "endline" | "lineend" | "to" | "last" => end = Some(value),
            "comment" | "text" | "body" | "message" => known.push(("issue".to_owned(), value)),
            "description" if !known.iter().any(|(key, _)| key == "issue" || key == "title") => {
                known.push(("issue".to_owned(), value));
            }
            name => known.push((name.to_owned(), value)),
        }
    }
    if let Some(end) = end
        && let Some((_, line)) = known.iter_mut().find(|(key, _)| key == "line")
    {
        *line = format!("{line}-{end}");
    }
    if !body.trim().is_empty() {
        known.push(("issue".to_owned(), body.trim().to_owned()));
    }
    if let Some(claim) = from_fields(raw, known, draft) {
        draft.intake.findings.push(claim);
    }
}

/// The attributes of the tag that a text opens with, and what follows the tag.
fn attributes(text: &str) -> (Vec<(String, String)>, &str) {
    let mut found = Vec::new();
    let start = text.trim_start();
    let name = start.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).unwrap_or(start.len());
    let mut rest = &start[name..];
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix("/>").or_else(|| rest.strip_prefix('>')) {
            return (found, after);
        }
        let Some((key, value)) = rest.split_once('=') else {
            return (found, rest.split_once('>').map_or("", |(_, after)| after));
        };
        // The tag ended before the next `=`, which belongs to the text.
        if key.contains(['>', '<']) || found.len() > 40 {
            return (found, rest.split_once('>').map_or("", |(_, after)| after));
        }
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            let end = value.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(value.len());
            found.push((key.trim().to_lowercase(), value[..end].trim_end_matches('/').to_owned()));
            rest = &value[end..];
            continue;
        };
        let inner = &value[1..];
        let Some(end) = inner.find(quote) else { return (found, "") };
        found.push((key.trim().to_lowercase(), plain(&inner[..end])));
        rest = &inner[end + 1..];
    }
}

/// Takes the fields that are tags out of a body; returns what is left as loose text.
fn children(body: &str, fields: &mut Vec<(String, String)>) -> String {
    let mut loose = String::new();
    let mut rest = body;
    while let Some(open) = rest.find('<') {
        loose.push_str(&rest[..open]);
        let tail = &rest[open..];
        // `a < b` in the text is not a tag.
        let Some(name) = opening(tail).filter(|_| !tail.starts_with("</")) else {
            let length = tail.find('>').filter(|_| tail.starts_with("</")).map_or(1, |at| at + 1);
            if !tail.starts_with("</") && !tail.starts_with("<![") {
                loose.push('<');
            }
            if let Some(data) = tail.strip_prefix("<![CDATA[") {
                let end = data.find("]]>").unwrap_or(data.len());
                loose.push_str(&data[..end]);
                rest = data.get(end + 3..).unwrap_or("");
                continue;
            }
            rest = &tail[length..];
            continue;
        };
        let (given, inner) = attributes(tail);
        // A tag without content has its values in attributes: `<location file="…" line="…"/>`.
        let alone = tail.find('>').is_some_and(|end| tail[..end].ends_with('/'));
        fields.extend(given);
        if alone {
            rest = inner;
            continue;
        }
        let close = format!("</{name}>");
        let end = inner.find(&close).unwrap_or(inner.len());
        fields.push((name, plain(&inner[..end])));
        rest = inner.get(end + close.len()..).unwrap_or("");
    }
    loose.push_str(rest);
    loose
}

/// Text without CDATA marks and with its entities resolved.
fn plain(text: &str) -> String {
    let text = text.replace("<![CDATA[", "").replace("]]>", "");
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    // `&amp;` last, or `&amp;lt;` would become a bracket.
    text.replace("&#39;", "'").replace("&#8212;", "—").replace("&amp;", "&").trim().to_owned()
}
