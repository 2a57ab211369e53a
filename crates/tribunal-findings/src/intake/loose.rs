//! Makes strict JSON of what people and models write by hand: comments, trailing commas, single quotes, Python's
//! constants.
//!
//! It repairs notation and never content: where anything is missing, such as a closing bracket, there is no value. A
//! guess could turn half an answer into an approval.

/// Longer values are not repaired.
const LENGTH_MAX: usize = 1 << 20;

/// A value that was made strict JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repaired {
    pub value: String,
    /// How many bytes of the text it took.
    pub length: usize,
    /// The comments that stood in it; an approval has to cover them.
    pub comments: Vec<String>,
}

/// The value that a text begins with, as strict JSON; `None` when it is incomplete.
///
/// The result still has to be parsed: brackets of the wrong kind, for one, are not noticed here.
pub(super) fn repair(text: &str) -> Option<Repaired> {
    let mut out = String::new();
    let mut comments = Vec::new();
    let mut depth = 0usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // Repair is only for what people write by hand.
        if text.len() - rest.len() > LENGTH_MAX {
            return None;
        }
        let mut taken = c.len_utf8();
        match c {
            '{' | '[' => {
                depth += 1;
                out.push(c);
            }
            '}' | ']' => {
                // A comma before the bracket is allowed by hand, not by JSON.
                let kept = out.trim_end().trim_end_matches(',').len();
                out.truncate(kept);
                out.push(c);
                // A bracket too many: nothing here began the value.
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(Repaired { value: out, length: text.len() - rest.len() + 1, comments });
                }
            }
            '"' | '\'' => taken = string(rest, c, &mut out)?,
            '/' if rest.starts_with("//") => taken = rest.find('\n').unwrap_or(rest.len()),
            '#' => taken = rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => taken = rest.find("*/")? + 2,
            c if c.is_alphabetic() || c == '_' || c == '$' => taken = name(rest, &mut out),
            c => out.push(c),
        }
        if matches!(c, '/' | '#') && taken > 1 {
            comments.push(rest[..taken].trim_matches(['/', '*', '#', ' ']).to_owned());
        }
        rest = &rest[taken..];
    }
    None
}

/// Copies a string in either kind of quotes as one in double quotes; returns its length.
fn string(text: &str, quote: char, out: &mut String) -> Option<usize> {
    out.push('"');
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                let (_, next) = chars.next()?;
                // JSON knows no `\'`.
                if next != '\'' {
                    out.push('\\');
                }
                out.push(next);
            }
            c if c == quote => {
                out.push('"');
                return Some(at + c.len_utf8());
            }
            // A double quote is plain text between single quotes.
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    None
}

/// Copies a constant, or a key without quotes; returns its length.
fn name(text: &str, out: &mut String) -> usize {
    let length = text
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'-'))
        .count()
        .max(1);
    let length =
        if text.is_char_boundary(length) { length } else { text.chars().next().map_or(1, char::len_utf8) };
    let word = &text[..length];
    match word {
        "true" | "false" | "null" => out.push_str(word),
        "True" => out.push_str("true"),
        "False" => out.push_str("false"),
        "None" | "undefined" | "NaN" => out.push_str("null"),
        _ => {
            out.push('"');
            out.push_str(word);
            out.push('"');
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_written_json_becomes_strict() {
        for (text, strict) in [
            ("{\"a\": 1, // why\n}", "{\"a\": 1}"),
            ("{'a': 'it\\'s', 'b': True,}", "{\"a\": \"it's\", \"b\": true}"),
            ("[{a: 1}, /* x */ ]rest", "[{\"a\": 1}]"),
            ("{\"url\": \"http://x//y\"}", "{\"url\": \"http://x//y\"}"),
        ] {
            let found = repair(text).unwrap().value;
            assert_eq!(found.replace(", ]", "]").replace(" ]", "]"), strict, "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(&found).is_ok(), "{found}");
        }
        for text in ["{\"a\": \"never", "{", "[1, 2", "{\"a\": 1"] {
            assert_eq!(repair(text), None, "{text}");
        }
    }
}
