//! GitHub annotations: workflow commands that put a finding beside the line it is about.
//!
//! GitHub reads commands from the output of a job. So line ends and separators in an agent's text are escaped;
//! otherwise an agent could write a command of its own.

use crate::plain;
use crate::sarif::Item;
use tribunal_core::finding::{Fate, Severity};

/// GitHub shows this many of one kind; more are only counted.
const SHOWN: usize = 50;

/// Writes one command per finding that is open, unresolved, carried or advisory, the most severe first.
///
/// The most severe come first because the list is cut, and a reader must not lose a blocker to a suggestion.
pub fn github(items: &[Item<'_>]) -> String {
    // Settled findings are left out, because an annotation beside correct code would only confuse.
    let mut shown: Vec<&Item<'_>> = items.iter().filter(|item| item.entry.fate.stands()).collect();
    shown.sort_by_key(|item| (std::cmp::Reverse(item.entry.severity), item.id));
    let mut out: String = shown.iter().take(SHOWN).map(|item| line(item)).collect();
    if shown.len() > SHOWN {
        out.push_str(&format!(
            "::notice title=Tribunal::{} more findings are in the report\n",
            shown.len() - SHOWN
        ));
    }
    out
}

fn line(item: &Item<'_>) -> String {
    let claim = &item.entry.claim;
    let command = match (item.entry.severity, &item.entry.fate) {
        // An advisory finding never blocks, so it must not look like an error, whatever its severity says.
        (Severity::Suggestion, _) | (_, Fate::Advisory) => "notice",
        (Severity::Warning, _) | (_, Fate::Carried) => "warning",
        (Severity::Blocker, _) => "error",
    };
    let mut properties = Vec::new();
    if let Some(file) = &claim.file {
        properties.push(format!("file={}", property(file)));
        if let Some(line) = claim.line {
            properties.push(format!("line={line}"));
            // A reviewer may name an end that lies before the beginning.
            properties.push(format!("endLine={}", claim.end.unwrap_or(line).max(line)));
        }
    }
    let by: Vec<String> = item.entry.by.iter().map(ToString::to_string).collect();
    let title = format!("{} {} ({})", item.id, item.entry.severity, by.join(", "));
    properties.push(format!("title={}", property(&title)));
    let todo =
        if claim.suggestion.is_empty() { String::new() } else { format!("\nTo do: {}", claim.suggestion) };
    let text = plain::capped(&format!("{}{todo}", claim.claim), 4_000);
    format!("::{command} {}::{}\n", properties.join(","), data(&text))
}

/// Escapes the text of a command. GitHub ends a command at the end of a line.
fn data(text: &str) -> String {
    // The percent sign first: replaced later, it would escape the escapes.
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a command, in which colons and commas separate.
fn property(text: &str) -> String {
    data(&plain::line(text)).replace(':', "%3A").replace(',', "%2C")
}
