//! Writes values as YAML text that every reader understands in the same way.
//!
//! A text is never written plainly if some reader would take it for a number, a date with a time, a flag or nothing.
//! When in doubt it is quoted, which is always right.

use super::Value;

/// `key: value` as block YAML, with each line ended by `newline`.
pub(crate) fn entry(key: &str, value: &Value, newline: &str) -> String {
    let mut out = String::new();
    write_entry(&mut out, key, value, 0, newline);
    out
}

fn write_entry(out: &mut String, key: &str, value: &Value, indent: usize, newline: &str) {
    out.push_str(&scalar(key));
    out.push(':');
    write_after_mark(out, value, indent, newline);
}

/// Writes what follows `key:`: a scalar on the same line, or a block below.
fn write_after_mark(out: &mut String, value: &Value, indent: usize, newline: &str) {
    match value {
        Value::Null => out.push_str(newline),
        Value::Text(text) => push_line(out, &[" ", &scalar(text), newline]),
        Value::List(items) if items.is_empty() => push_line(out, &[" []", newline]),
        Value::Map(entries) if entries.is_empty() => push_line(out, &[" {}", newline]),
        Value::List(items) => {
            out.push_str(newline);
            for item in items {
                write_item(out, item, indent + 2, newline);
            }
        }
        Value::Map(entries) => {
            out.push_str(newline);
            for (key, value) in entries {
                out.push_str(&" ".repeat(indent + 2));
                write_entry(out, key, value, indent + 2, newline);
            }
        }
    }
}

fn write_item(out: &mut String, item: &Value, indent: usize, newline: &str) {
    out.push_str(&" ".repeat(indent));
    out.push_str("- ");
    match item {
        Value::Null => push_line(out, &["null", newline]),
        Value::Text(text) => push_line(out, &[&scalar(text), newline]),
        Value::List(items) if items.is_empty() => push_line(out, &["[]", newline]),
        Value::Map(entries) if entries.is_empty() => push_line(out, &["{}", newline]),
        // On one line, because `- - a` is hard to read.
        Value::List(_) => push_line(out, &[&flow(item), newline]),
        Value::Map(entries) => {
            for (place, (key, value)) in entries.iter().enumerate() {
                if place > 0 {
                    out.push_str(&" ".repeat(indent + 2));
                }
                write_entry(out, key, value, indent + 2, newline);
            }
        }
    }
}

fn push_line(out: &mut String, parts: &[&str]) {
    for part in parts {
        out.push_str(part);
    }
}

/// A value on one line.
pub(crate) fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Text(text) => quoted(text),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|(key, value)| format!("{}: {}", quoted(key), flow(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A scalar, plain where that is safe.
///
/// Only a short list of characters is left unquoted; every other text gets quotes without a closer look.
pub(crate) fn scalar(text: &str) -> String {
    match is_plain(text) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// A scalar in double quotes, the one form that can hold every text.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if must_escape(c) => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether a character must be escaped: controls, line separators and marks that YAML forbids or folds in a quoted
/// scalar.
fn must_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
}

fn is_plain(text: &str) -> bool {
    let first_ok = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/');
    let rest_ok = |c: char| c.is_alphanumeric() || " _-./+@()=~".contains(c);
    text.starts_with(first_ok)
        && !text.ends_with(' ')
        && text.chars().all(rest_ok)
        && !text.starts_with("...")
        && !is_number_trap(text)
        && !is_word_trap(text)
}

/// Whether a text looks like a number on which readers disagree: `7` does not, `08`, `1.10`, `84e9493` and `0x1f` do.
fn is_number_trap(text: &str) -> bool {
    let digits_only = text.bytes().all(|b| b.is_ascii_digit());
    if digits_only {
        // More digits than a float holds exactly would come back as another number.
        return text.len() > 1 && text.starts_with('0') || text.len() > 15;
    }
    let numeric = |b: u8| b.is_ascii_hexdigit() || b".+-_xo".contains(&b);
    // A bare day stays plain, as people write it.
    if is_date(text) {
        return false;
    }
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    starts && text.bytes().all(numeric) || text == "."
}

fn is_date(text: &str) -> bool {
    let shape = |(place, b): (usize, u8)| match place {
        4 | 7 => b == b'-',
        _ => b.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(shape)
}

fn is_word_trap(text: &str) -> bool {
    const WORDS: [&str; 9] = ["null", "yes", "no", "on", "off", "y", "n", ".nan", ".inf"];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
