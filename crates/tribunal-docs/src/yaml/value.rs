//! The tree of a frontmatter block.
//!
//! No scalar is turned into a number: `08`, `1.10` and `84e9493` stay the text that they were. A field that needs a
//! number parses the text itself and can report it with its place.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// A node of a frontmatter block. Scalars keep their source text.
///
/// Keys and entries keep their order too, so a document that is written back looks like the one that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// An empty value, `~` or `null`.
    Null,
    /// Any other scalar, as written.
    Text(String),
    /// A sequence, in block or flow form.
    List(Vec<Value>),
    /// A mapping, in the order in which it was written.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// Makes a text node.
    pub fn text(text: impl Into<String>) -> Self {
        Value::Text(text.into())
    }

    /// Makes a list of text nodes.
    pub fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Value::List(texts.into_iter().map(Value::text).collect())
    }

    /// The text of a scalar; `None` for null, lists and maps.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the node holds nothing: null, blank text, or no entries.
    pub fn is_empty(&self) -> bool {
        match self {
            Value::Null => true,
            // A text of blanks was left empty by its author.
            Value::Text(text) => text.trim().is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
        }
    }

    /// The value under `key` of a map. Keys compare as [`canonical_key`](crate::canonical_key) does.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(entries) => {
                entries.iter().find(|(name, _)| crate::canonical_key(name) == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The value as one line of words.
    ///
    /// An unquoted sentence with a colon in it is a map to YAML. Joined this way, `a: b` becomes the sentence again
    /// that its author wrote.
    pub fn to_words(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Text(text) => text.clone(),
            Value::List(items) => items.iter().map(Value::to_words).collect::<Vec<_>>().join(", "),
            Value::Map(entries) => entries
                .iter()
                .map(|(key, value)| match value.to_words() {
                    // `- sentence:` is a map with an empty value; the colon was the end of a sentence.
                    words if words.is_empty() => key.clone(),
                    words => format!("{key}: {words}"),
                })
                .collect::<Vec<_>>()
                .join(", "),
        }
    }

    /// The value as a list of words: a single scalar is a list of one, and null is empty.
    ///
    /// Authors often write one entry without the list around it.
    pub fn to_word_list(&self) -> Vec<String> {
        match self {
            Value::Null => Vec::new(),
            Value::List(items) => {
                items.iter().map(Value::to_words).filter(|words| !words.is_empty()).collect()
            }
            other => Some(other.to_words()).filter(|words| !words.is_empty()).into_iter().collect(),
        }
    }

    /// What this node weighs in memory, for the bound on aliases.
    pub(crate) fn weight(&self) -> usize {
        // A rough size of a node itself, so that a million empty ones are not free.
        const NODE: usize = 32;
        NODE + match self {
            Value::Null => 0,
            Value::Text(text) => text.len(),
            Value::List(items) => items.iter().map(Value::weight).sum(),
            Value::Map(entries) => entries.iter().map(|(key, value)| key.len() + value.weight()).sum(),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_none(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Value::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}
