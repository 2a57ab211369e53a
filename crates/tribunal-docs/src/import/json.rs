//! JSON with the place of every value, so that one value can be replaced without touching another byte.
//!
//! The JSON library checks the text first; the walk here then only has to find places in a text that is known to be
//! valid and not nested too deeply.

/// A value and the bytes in which it is written.
#[derive(Debug)]
pub(super) struct Place {
    /// The offset at which it begins.
    pub start: usize,
    /// The offset at which it ends.
    pub end: usize,
    /// What kind of value it is.
    pub kind: Kind,
}

/// The kinds of values.
#[derive(Debug)]
pub(super) enum Kind {
    /// Keys and values, as often as they are written.
    Object(Vec<(String, Place)>),
    /// The elements of a list, in order.
    Array(Vec<Place>),
    /// A string, a number, true, false or null.
    Scalar,
}

/// Reads a text. Text that is not JSON, or is nested too deeply for the library, is refused with line, column and
/// reason.
pub(super) fn places(text: &str) -> Result<Place, (u32, u32, String)> {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    match serde_json::from_str::<serde_json::Value>(text) {
        // The walk below relies on a text that is valid and not deep.
        Ok(_) => Ok(Walk { text, at: 0 }.value()),
        Err(error) => Err((number(error.line()).max(1), number(error.column()).max(1), error.to_string())),
    }
}

impl Place {
    /// The elements of an array.
    pub(super) fn elements(&self) -> Option<&[Place]> {
        match &self.kind {
            Kind::Array(elements) => Some(elements),
            Kind::Object(_) | Kind::Scalar => None,
        }
    }

    /// The keys and values of an object.
    pub(super) fn entries(&self) -> Option<&[(String, Place)]> {
        match &self.kind {
            Kind::Object(entries) => Some(entries),
            Kind::Array(_) | Kind::Scalar => None,
        }
    }

    /// The value of a key. If the key is given twice it is the last one, as every reader of JSON takes it.
    pub(super) fn get(&self, key: &str) -> Option<&Place> {
        self.entries()?.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// A string without its quotes, or a number as written.
    pub(super) fn word(&self, text: &str) -> Option<String> {
        let written = text.get(self.start..self.end)?;
        match (&self.kind, written.bytes().next()) {
            (Kind::Scalar, Some(b'"')) => serde_json::from_str(written).ok(),
            // As written: an id of many digits would lose some as a float.
            (Kind::Scalar, Some(b'-' | b'0'..=b'9')) => Some(written.to_owned()),
            _ => None,
        }
    }
}

/// A walk over valid JSON.
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl Walk<'_> {
    /// The next byte that is not a blank.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn value(&mut self) -> Place {
        let first = self.peek();
        let start = self.at;
        let kind = match first {
            Some(b'{') => Kind::Object(self.list(b'}', |walk| {
                let name = walk.value();
                let key = name.word(walk.text).unwrap_or_default();
                // The colon: the text is valid, so nothing else can stand here.
                walk.peek();
                walk.at += 1;
                (key, walk.value())
            })),
            Some(b'[') => Kind::Array(self.list(b']', Walk::value)),
            Some(b'"') => self.string(),
            _ => {
                // A number or a word ends where any other sign of JSON begins.
                let rest = self.text.get(start..).unwrap_or_default();
                let end = rest.find(|c: char| matches!(c, ',' | ']' | '}' | ':') || c.is_ascii_whitespace());
                self.at = start + end.unwrap_or(rest.len());
                Kind::Scalar
            }
        };
        Place { start, end: self.at, kind }
    }

    fn list<T>(&mut self, close: u8, one: impl Fn(&mut Self) -> T) -> Vec<T> {
        self.at += 1;
        let mut found = Vec::new();
        while let Some(next) = self.peek() {
            if next == close {
                self.at += 1;
                break;
            }
            if next == b',' {
                self.at += 1;
                continue;
            }
            found.push(one(self));
        }
        found
    }

    fn string(&mut self) -> Kind {
        self.at += 1;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            // A backslash takes the next byte with it, whatever it is.
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                break;
            }
        }
        Kind::Scalar
    }
}
