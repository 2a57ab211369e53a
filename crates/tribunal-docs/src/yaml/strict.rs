//! Strict YAML into a tree with places, bounded in depth and in what aliases may unfold to.
//!
//! It never recurses without bound, unfolds an alias bomb, or accepts a second document: frontmatter comes from
//! branches and models, and a few lines of YAML can stand for gigabytes.

use std::collections::{BTreeMap, BTreeSet};

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, options};

use super::Value;
use crate::Diagnostic;

/// How deep lists and maps may nest.
const DEPTH_MAX: usize = 64;
/// How many bytes aliases may copy altogether.
const ALIASES_MAX: usize = 4 * 1024 * 1024;

/// One top-level `key: value` with the place of its key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub value: Value,
    pub line: u32,
    pub column: u32,
}

/// A whole block: its entries, and whatever was odd but readable.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub entries: Vec<Entry>,
    pub remarks: Vec<Diagnostic>,
}

/// Reads `text`, whose first line is line `first_line` of the file.
pub(crate) fn parse(text: &str, first_line: u32) -> Result<Tree, Diagnostic> {
    let limits = options! {
        emit_comments: false,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut builder = Builder::new(first_line);
    for event in Parser::new_from_str_with_options(text, limits) {
        let (event, span) = event.map_err(|error| builder.scan_error(&error))?;
        builder.take(event, span)?;
    }
    builder.finish()
}

/// Whether `text` alone is YAML. The anchors of its aliases may be defined elsewhere.
///
/// The repairing reader asks this of single entries, so a line that is fine on its own is never touched.
pub(crate) fn is_valid(text: &str) -> bool {
    let limits = options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut builder = Builder::new(1);
    for event in Parser::new_from_str_with_options(text, limits) {
        let taken = event.is_ok_and(|(event, span)| builder.take(event, span).is_ok());
        if !taken {
            return false;
        }
    }
    true
}

/// A key with its place.
struct Key {
    text: String,
    line: u32,
    column: u32,
}

/// A list or map under construction.
enum Frame {
    List { items: Vec<Value>, anchor: usize },
    Map { entries: Vec<(Key, Value)>, key: Option<Key>, anchor: usize },
}

struct Builder {
    first_line: u32,
    stack: Vec<Frame>,
    anchors: BTreeMap<usize, Value>,
    copied: usize,
    documents: u32,
    root: Option<Value>,
    tree: Tree,
}

impl Builder {
    fn new(first_line: u32) -> Self {
        Builder {
            first_line,
            stack: Vec::new(),
            anchors: BTreeMap::new(),
            copied: 0,
            documents: 0,
            root: None,
            tree: Tree::default(),
        }
    }

    fn place(&self, line: usize, column: usize) -> (u32, u32) {
        let line = u32::try_from(line.saturating_sub(1)).unwrap_or(u32::MAX);
        let column = u32::try_from(column + 1).unwrap_or(u32::MAX);
        (self.first_line.saturating_add(line), column)
    }

    fn scan_error(&self, error: &ScanError) -> Diagnostic {
        let (line, column) = self.place(error.marker().line(), error.marker().col());
        Diagnostic::new(line, column, error.info())
    }

    fn error(&self, span: Span, message: &str) -> Diagnostic {
        let (line, column) = self.place(span.start.line(), span.start.col());
        Diagnostic::new(line, column, message)
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Diagnostic> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.error(span, "a second document in one frontmatter block"));
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                // Quoted, these words are texts: `"null"` is not null.
                let null =
                    style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                if self.awaits_key() {
                    // An anchor on a key can be used by a later alias like any other.
                    self.anchor(anchor, &Value::text(text.clone()), span)?;
                    return self.set_key(text.into_owned(), span);
                }
                let value = match null {
                    true => Value::Null,
                    false => Value::Text(text.into_owned()),
                };
                self.anchor(anchor, &value, span)?;
                self.add(value);
            }
            Event::SequenceStart(_, anchor, _) => {
                self.refuse_as_key(span)?;
                let items = Vec::new();
                self.stack.push(Frame::List { items, anchor });
            }
            Event::MappingStart(_, anchor, _) => {
                self.refuse_as_key(span)?;
                self.stack.push(Frame::Map { entries: Vec::new(), key: None, anchor });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span)?,
            Event::Alias(id) => self.alias(id, span)?,
            Event::UnresolvedAlias(name) if self.awaits_key() => {
                self.set_key(name.into_owned(), span)?;
            }
            Event::UnresolvedAlias(_) => self.add(Value::Null),
            _ => {}
        }
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame::Map { key: None, .. }))
    }

    fn refuse_as_key(&self, span: Span) -> Result<(), Diagnostic> {
        match self.awaits_key() {
            true => Err(self.error(span, "a list or map cannot be a key")),
            false => Ok(()),
        }
    }

    fn set_key(&mut self, text: String, span: Span) -> Result<(), Diagnostic> {
        let (line, column) = self.place(span.start.line(), span.start.col());
        if let Some(Frame::Map { key, .. }) = self.stack.last_mut() {
            *key = Some(Key { text, line, column });
        }
        Ok(())
    }

    fn anchor(&mut self, id: usize, value: &Value, span: Span) -> Result<(), Diagnostic> {
        // The parser gives 0 where there is no anchor.
        if id != 0 {
            self.spend(value, span)?;
            self.anchors.insert(id, value.clone());
        }
        Ok(())
    }

    fn spend(&mut self, value: &Value, span: Span) -> Result<(), Diagnostic> {
        // Anchors count as well as aliases, because each keeps a copy.
        self.copied = self.copied.saturating_add(value.weight());
        match self.copied > ALIASES_MAX {
            true => Err(self.error(span, "aliases unfold to more than 4 MiB")),
            false => Ok(()),
        }
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Diagnostic> {
        let value = self.anchors.get(&id).cloned();
        // A value that contains an alias of itself has no anchor yet, so it cannot unfold for ever.
        let value = value.ok_or_else(|| self.error(span, "an alias of something not finished yet"))?;
        self.spend(&value, span)?;
        if self.awaits_key() {
            let text = value.to_words();
            return self.set_key(text, span);
        }
        self.add(value);
        Ok(())
    }

    fn add(&mut self, value: Value) {
        match self.stack.last_mut() {
            Some(Frame::List { items, .. }) => items.push(value),
            Some(Frame::Map { entries, key, .. }) => {
                if let Some(key) = key.take() {
                    entries.push((key, value));
                }
            }
            None => self.root = Some(value),
        }
    }

    fn close(&mut self, span: Span) -> Result<(), Diagnostic> {
        match self.stack.pop() {
            Some(Frame::List { items, anchor }) => {
                let value = Value::List(items);
                self.anchor(anchor, &value, span)?;
                self.add(value);
            }
            Some(Frame::Map { entries, anchor, .. }) => {
                let entries = self.without_duplicates(entries);
                // The outermost map keeps the places of its keys; below it only the values matter.
                if self.stack.is_empty() {
                    self.tree.entries = entries
                        .into_iter()
                        .map(|(key, value)| Entry {
                            key: key.text,
                            value,
                            line: key.line,
                            column: key.column,
                        })
                        .collect();
                    return Ok(());
                }
                let plain = entries.into_iter().map(|(key, value)| (key.text, value));
                let value = Value::Map(plain.collect());
                self.anchor(anchor, &value, span)?;
                self.add(value);
            }
            None => {}
        }
        Ok(())
    }

    /// Removes repeated keys. The last of two equal keys wins, as in most readers, and the first is reported.
    fn without_duplicates(&mut self, entries: Vec<(Key, Value)>) -> Vec<(Key, Value)> {
        let mut seen = BTreeSet::new();
        let mut kept = Vec::with_capacity(entries.len());
        for (key, value) in entries.into_iter().rev() {
            if seen.insert(key.text.clone()) {
                kept.push((key, value));
            } else {
                let message = format!("`{}` is given twice; the later one counts", key.text);
                self.tree.remarks.push(Diagnostic::misread(key.line, key.column, message));
            }
        }
        kept.reverse();
        kept
    }

    fn finish(self) -> Result<Tree, Diagnostic> {
        // The outermost map goes to the tree and not here, so any other root is not a map.
        match self.root {
            None | Some(Value::Null) => Ok(self.tree),
            Some(_) => Err(Diagnostic::new(self.first_line, 1, "expected `key: value` lines")),
        }
    }
}
