//! The frontmatter block of a document: found by hand, read strictly first and tolerantly second, and edited in place.
//!
//! It never takes part of the body for frontmatter, and never changes a byte that it was not asked to change. Models
//! write YAML that no parser accepts (unquoted colons, tabs, missing fences), so a strict reader alone would refuse
//! plans whose meaning is plain; a tolerant one alone would misread correct documents.

use std::collections::{BTreeMap, BTreeSet};

use crate::yaml::{Value, emit, repair, strict};
use crate::{Diagnostic, yaml::strict::Entry};

/// Longer frontmatter is refused: no person and no model wrote it.
const FRONT_MAX: usize = 2 * 1024 * 1024;

/// A key in the form in which readers compare it: lower case, with `-` and spaces as `_`.
///
/// `Depends-On`, `depends on` and `depends_on` are one key, since authors write all three.
pub fn canonical_key(key: &str) -> String {
    key.trim()
        .chars()
        .map(|c| match c {
            '-' | ' ' => '_',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}

/// A document cut at its fences. Offsets are bytes of the whole text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    /// The range of the YAML between the fences.
    pub yaml: (usize, usize),
    /// The line number of the first YAML line.
    pub yaml_line: u32,
    /// The offset at which the body starts.
    pub body: usize,
    /// The line number of the first body line.
    pub body_line: u32,
    /// Whether there was a closing fence.
    pub closed: bool,
}

/// Finds the frontmatter block; `None` when there is none.
pub(crate) fn cut(text: &str) -> Option<Cut> {
    // Editors on Windows put a byte order mark before the first fence.
    let start = text.len() - text.trim_start_matches('\u{FEFF}').len();
    let mut at = start;
    let mut line = 1;
    let mut lines = text[start..].split_inclusive('\n');
    for first in lines.by_ref() {
        at += first.len();
        line += 1;
        match first.trim_end() {
            "---" => break,
            // Blank lines before the fence are tolerated; any other text means that there is no block.
            "" => continue,
            _ => return None,
        }
    }
    let (yaml_start, yaml_line) = (at, line);
    for inner in lines {
        let fence = inner.trim_end();
        // YAML allows both as the end of a document.
        if fence == "---" || fence == "..." {
            let close = at + inner.len();
            return Some(Cut {
                yaml: (yaml_start, at),
                yaml_line,
                body: close,
                body_line: line + 1,
                closed: true,
            });
        }
        at += inner.len();
        line += 1;
    }
    cut_unclosed(text, yaml_start, yaml_line)
}

/// Finds the end of a block without a closing fence: it ends where the lines stop looking like YAML.
fn cut_unclosed(text: &str, yaml_start: usize, yaml_line: u32) -> Option<Cut> {
    let (mut end, mut line, mut blank, mut keys) = (yaml_start, yaml_line, false, 0);
    for inner in text[yaml_start..].split_inclusive('\n') {
        let content = inner.trim_end();
        // After a blank line a `#` begins a heading of the body; directly below a key it is a comment.
        let heading = blank && content.starts_with('#');
        let key = is_key_line(content);
        let yaml = key || content.is_empty() || content.starts_with([' ', '\t', '-', '#']);
        if heading || !yaml {
            break;
        }
        keys += usize::from(key);
        blank = content.is_empty();
        end += inner.len();
        line += 1;
    }
    // A horizontal rule at the top of a document is not a block: it has no keys below it.
    (keys > 0).then_some(Cut {
        yaml: (yaml_start, end),
        yaml_line,
        body: end,
        body_line: line,
        closed: false,
    })
}

/// Whether a line is `key: …` at its start, with a single word as the key.
fn is_key_line(line: &str) -> bool {
    let end = line.find(':').unwrap_or(0);
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let after = line.get(end + 1..).unwrap_or("x");
    end > 0 && line[..end].chars().all(word) && (after.is_empty() || after.starts_with(' '))
}

/// A frontmatter block as it was read, and the body below it.
#[derive(Debug)]
pub(crate) struct Front<'a> {
    /// Whether the document has a block at all.
    pub present: bool,
    /// Whether the block could not be read.
    pub refused: bool,
    /// Whether it took repairs to read the block.
    pub recovered: bool,
    pub entries: Vec<Entry>,
    pub body: &'a str,
    pub body_line: u32,
    pub diagnostics: Vec<Diagnostic>,
}

/// Opens a document: its block, the fields of the block by the names of `keys`, and everything wrong with it. An error
/// when the block cannot be read.
pub(crate) fn open<'a>(
    text: &'a str,
    keys: &[&str],
    synonyms: &[(&str, &str)],
) -> Result<(Front<'a>, Fields, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut front = read(text, &|key| keys.contains(&key) || synonyms.iter().any(|(from, _)| *from == key));
    let fields = front.take_fields(synonyms);
    let mut diagnostics = std::mem::take(&mut front.diagnostics);
    if front.refused {
        return Err(crate::in_order(diagnostics));
    }
    if !front.present {
        diagnostics.push(Diagnostic::new(1, 1, "no frontmatter; expected `---` on the first line"));
    }
    Ok((front, fields, diagnostics))
}

/// Reads the block. `known` says which keys the caller cannot do without once they are written.
///
/// An unreadable entry under such a key refuses the whole block. Under any other key it costs only itself.
pub(crate) fn read<'a>(text: &'a str, known: &dyn Fn(&str) -> bool) -> Front<'a> {
    let Some(cut) = cut(text) else {
        return Front {
            present: false,
            refused: false,
            recovered: false,
            entries: Vec::new(),
            body: text.trim_start_matches('\u{FEFF}'),
            body_line: 1,
            diagnostics: Vec::new(),
        };
    };
    let mut front = Front {
        present: true,
        refused: false,
        recovered: !cut.closed,
        entries: Vec::new(),
        body: &text[cut.body..],
        body_line: cut.body_line,
        diagnostics: Vec::new(),
    };
    if !cut.closed {
        let message = "the frontmatter has no closing `---`; it ends here as far as can be told";
        front.diagnostics.push(Diagnostic::new(cut.body_line, 1, message));
        // Keys in the text below are what a missing fence costs, so they are named one by one.
        front.diagnostics.extend(strays(front.body, cut.body_line, known));
    }
    // In a block without an end, everything below might be a second block.
    if let Some(line) = second_block(front.body, cut.body_line).filter(|_| cut.closed) {
        let message = "a second block between `---` lines; only the first is read as frontmatter";
        front.diagnostics.push(Diagnostic::new(line, 1, message));
    }
    let yaml = &text[cut.yaml.0..cut.yaml.1];
    if yaml.len() > FRONT_MAX {
        front.refused = true;
        let message = "the frontmatter is longer than 2 MiB";
        front.diagnostics.push(Diagnostic::new(cut.yaml_line, 1, message));
        return front;
    }
    match strict::parse(yaml, cut.yaml_line) {
        Ok(tree) => front.accept(tree),
        Err(error) => front.recover(yaml, cut.yaml_line, error, known),
    }
    front.diagnostics.sort();
    front
}

/// Known keys in the text below a block without an end: they may have been meant for it.
fn strays(body: &str, first_line: u32, known: &dyn Fn(&str) -> bool) -> Vec<Diagnostic> {
    let key = |line: &str| Some(canonical_key(line.split(':').next()?)).filter(|key| known(key));
    let lines = (first_line..).zip(body.lines()).filter(|(_, line)| is_key_line(line.trim_end()));
    let message =
        |key: &str| format!("`{key}` is not read: expected `---` before the text begins, below all keys");
    lines.filter_map(|(at, line)| Some(Diagnostic::misread(at, 1, message(&key(line)?)))).collect()
}

/// The line of a second block of keys between fences that names a phase or a plan.
///
/// It means that two documents were put together, or that one frontmatter was written twice. Blocks inside code are
/// examples and do not count.
fn second_block(body: &str, first_line: u32) -> Option<u32> {
    let (mut code, mut open, mut named) = (false, None, false);
    for (number, line) in (first_line..).zip(body.lines()) {
        let line = line.trim_end();
        let fence = line == "---";
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            (code, open) = (!code, None);
        } else if fence && open.is_some() && named {
            return open;
        } else if fence && !code {
            (open, named) = (Some(number), false);
        } else if is_key_line(line) {
            let key = canonical_key(line.split(':').next().unwrap_or_default());
            named |= matches!(key.as_str(), "phase" | "plan");
        } else if !line.is_empty() && !line.starts_with([' ', '\t', '-', '#']) {
            open = None;
        }
    }
    None
}

impl Front<'_> {
    fn accept(&mut self, tree: strict::Tree) {
        // A key that is given twice is readable, but not as it was written.
        self.recovered |= !tree.remarks.is_empty();
        self.diagnostics.extend(tree.remarks);
        self.entries = tree.entries;
    }

    fn recover(&mut self, yaml: &str, line: u32, error: Diagnostic, known: &dyn Fn(&str) -> bool) {
        // The repaired text has the same lines, so every place still holds.
        let repaired = repair::repair(yaml, line);
        self.recovered = true;
        self.diagnostics.extend(repaired.diagnostics);
        match strict::parse(&repaired.text, line) {
            Ok(tree) => self.accept(tree),
            Err(_) => self.salvage(&repaired.text, line, known),
        }
        // A block that was refused without any repair still needs its reason.
        if self.diagnostics.is_empty() {
            self.diagnostics.push(error);
        }
    }

    /// Reads each top-level entry on its own, so that one unreadable entry costs only itself.
    fn salvage(&mut self, yaml: &str, first_line: u32, known: &dyn Fn(&str) -> bool) {
        for (offset, block) in blocks(yaml) {
            let line = first_line.saturating_add(offset);
            match strict::parse(block, line) {
                Ok(tree) => {
                    self.diagnostics.extend(tree.remarks);
                    self.entries.extend(tree.entries);
                }
                Err(error) => {
                    let key = block.split(':').next().unwrap_or("").trim().to_owned();
                    // Without a key nobody can say whose value is lost, so it counts as one that matters.
                    let lost = known(&canonical_key(&key)) || key.is_empty() || block.starts_with([' ', '-']);
                    self.refused |= lost;
                    let message = format!("`{key}` cannot be read: {}", error.message);
                    self.diagnostics.push(Diagnostic::new(error.line, error.column, message));
                    let value = Value::text(block.get(key.len() + 1..).unwrap_or("").trim());
                    let column = 1;
                    self.entries.push(Entry { key, value, line, column });
                }
            }
        }
    }

    /// The entries by canonical key, with synonyms under the name they stand for. The later of two wins and is
    /// reported.
    pub fn take_fields(&mut self, synonyms: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::default();
        let entries = std::mem::take(&mut self.entries);
        // Known before the loop, because the name itself may come after its synonym.
        let names: BTreeSet<String> = entries.iter().map(|e| canonical_key(&e.key)).collect();
        for entry in entries {
            let canonical = canonical_key(&entry.key);
            let named = synonyms.iter().find(|(from, _)| *from == canonical);
            // A synonym never displaces the name itself, nor an earlier synonym.
            let free = |to: &str| !names.contains(to) && !fields.by_name.contains_key(to);
            let name = match named {
                Some((_, to)) if free(to) => (*to).to_owned(),
                _ => canonical,
            };
            if let Some(earlier) = fields.by_name.get(&name) {
                let message = format!("`{}` is given twice; the later one counts", entry.key);
                let place = Diagnostic::misread(earlier.line, earlier.column, message);
                self.diagnostics.push(place);
                self.recovered = true;
            } else {
                fields.order.push(name.clone());
            }
            fields.by_name.insert(name, entry);
        }
        fields
    }
}

/// Cuts YAML at the lines that start a top-level entry, and gives each block with its line offset.
fn blocks(yaml: &str) -> Vec<(u32, &str)> {
    let mut starts = vec![(0u32, 0usize)];
    let mut at = 0;
    for (place, line) in yaml.split_inclusive('\n').enumerate() {
        // Lists may stand without indentation below their key, and a flow collection may end at the margin.
        let inner = line.starts_with([' ', '-', '#', '\n', '\r', ']', '}']);
        if at > 0 && !inner {
            starts.push((u32::try_from(place).unwrap_or(u32::MAX), at));
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([yaml.len()]);
    let pairs: Vec<_> = starts.iter().copied().zip(ends).collect();
    pairs.into_iter().map(|((line, from), to)| (line, &yaml[from..to])).collect()
}

/// Frontmatter entries by canonical name.
///
/// Readers take the fields they know out of it, and what is left over is kept as `extra`.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    by_name: BTreeMap<String, Entry>,
    order: Vec<String>,
}

impl Fields {
    /// Canonical names with the line of each key.
    pub fn lines(&self) -> BTreeMap<String, u32> {
        self.by_name.iter().map(|(name, entry)| (name.clone(), entry.line)).collect()
    }

    /// Takes a field out, whatever its value is.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.by_name.remove(name).map(|entry| entry.value)
    }

    /// Takes a field that is one scalar; a list or map is joined into words.
    pub fn take_text(&mut self, name: &str) -> Option<String> {
        let words = self.take(name)?.to_words();
        (!words.is_empty()).then_some(words)
    }

    /// Takes a field that is a list of texts.
    pub fn take_texts(&mut self, name: &str) -> Vec<String> {
        self.take(name).map(|value| value.to_word_list()).unwrap_or_default()
    }

    /// The entries that nobody took, in the order and spelling of the document.
    pub fn rest(mut self) -> Vec<(String, Value)> {
        self.order
            .iter()
            .filter_map(|name| self.by_name.remove(name))
            .map(|entry| (entry.key, entry.value))
            .collect()
    }
}

/// Sets one frontmatter key and leaves every other byte as it was. A missing key or block is added.
///
/// The edited text is read again before it is returned. If anything but `key` reads differently the edit is refused, so
/// comments and formatting never cost a value.
pub fn set_frontmatter(text: &str, key: &str, value: &Value) -> Result<String, Diagnostic> {
    // The first line decides, so that a file keeps one kind of line ends.
    let newline = match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    };
    let Some(cut) = cut(text) else {
        // The byte order mark stays in front, where programs look for it.
        let bom = text.len() - text.trim_start_matches('\u{FEFF}').len();
        let entry = emit::entry(key, value, newline);
        let block = format!("---{newline}{entry}---{newline}");
        return Ok(format!("{}{block}{}", &text[..bom], &text[bom..]));
    };
    let front = read(text, &|_| true);
    // In a damaged block nobody knows where the old entry ends.
    if front.refused || !cut.closed {
        let first = front.diagnostics.into_iter().next();
        let unknown = || Diagnostic::new(cut.yaml_line, 1, "the frontmatter cannot be read");
        return Err(first.unwrap_or_else(unknown));
    }
    let edited = splice(text, &cut, &front.entries, key, value, newline);
    match only_changed(&front.entries, &edited, key, value) {
        true => Ok(edited),
        false => Err(Diagnostic::new(
            cut.yaml_line,
            1,
            format!("`{key}` cannot be set without changing something else; hint: edit it by hand"),
        )),
    }
}

/// Puts the rendered entry where the old one stood, or before the closing fence.
fn splice(text: &str, cut: &Cut, entries: &[Entry], key: &str, value: &Value, newline: &str) -> String {
    let wanted = canonical_key(key);
    // Of two entries with this key the later one counts, so that one is replaced.
    let found = entries.iter().rposition(|entry| canonical_key(&entry.key) == wanted);
    let Some(found) = found else {
        let gap = match text[..cut.yaml.1].ends_with('\n') {
            true => "",
            false => newline,
        };
        let entry = emit::entry(key, value, newline);
        return format!("{}{gap}{entry}{}", &text[..cut.yaml.1], &text[cut.yaml.1..]);
    };
    let from = line_start(text, cut, entries[found].line);
    // The entry reaches to the next key, with all its continuation lines.
    let next = entries.get(found + 1).map(|next| next.line);
    let to = next.map_or(cut.yaml.1, |line| line_start(text, cut, line));
    let old = &text[from..to];
    let kept = trailing_remarks(old);
    let comment = trailing_comment(old.lines().next().unwrap_or(""));
    let mut entry = emit::entry(&entries[found].key, value, newline);
    // A value over several lines has no place for the comment behind it.
    if let (Some(comment), true) = (comment, entry.lines().count() == 1) {
        entry.truncate(entry.trim_end().len());
        entry.push_str(comment);
        entry.push_str(newline);
    }
    format!("{}{entry}{kept}{}", &text[..from], &text[to..])
}

/// The byte offset of a line of the frontmatter.
fn line_start(text: &str, cut: &Cut, line: u32) -> usize {
    let skip = line.saturating_sub(cut.yaml_line) as usize;
    let yaml = &text[cut.yaml.0..cut.yaml.1];
    let lines = yaml.split_inclusive('\n').take(skip);
    cut.yaml.0 + lines.map(str::len).sum::<usize>()
}

/// Blank lines and unindented comments at the end of an entry belong to the entry that follows.
fn trailing_remarks(old: &str) -> &str {
    let mut at = old.len();
    for line in old.split_inclusive('\n').rev() {
        if !line.trim().is_empty() && !line.starts_with('#') {
            break;
        }
        at -= line.len();
    }
    &old[at..]
}

/// The comment behind a one-line value, with the blanks before it.
fn trailing_comment(line: &str) -> Option<&str> {
    let value = line.find(':')? + 1;
    let value = line.len() - line[value..].trim_start().len();
    let rest = &line[value..];
    let end = match rest.chars().next()? {
        quote @ ('"' | '\'') => {
            let mut escaped = false;
            let close = rest[1..].find(|c| {
                let closes = c == quote && !escaped;
                escaped = c == '\\' && quote == '"' && !escaped;
                closes
            });
            value + 1 + close? + 1
        }
        '[' => value + rest.find(']')? + 1,
        '#' => value - 1,
        _ => value,
    };
    let hash = end + line.get(end..)?.find(" #")?;
    let from = line[..hash].trim_end().len();
    Some(line[from..].trim_end())
}

/// Whether the edited text reads differently from the original in `key` alone.
fn only_changed(before: &[Entry], edited: &str, key: &str, value: &Value) -> bool {
    let wanted = canonical_key(key);
    let after = read(edited, &|_| true);
    let others = |entries: &[Entry]| -> Vec<(String, Value)> {
        entries
            .iter()
            .filter(|entry| canonical_key(&entry.key) != wanted)
            .map(|entry| (entry.key.clone(), entry.value.clone()))
            .collect()
    };
    let set = after
        .entries
        .iter()
        .rfind(|entry| canonical_key(&entry.key) == wanted)
        .is_some_and(|entry| entry.value == *value);
    !after.refused && set && others(before) == others(&after.entries)
}
