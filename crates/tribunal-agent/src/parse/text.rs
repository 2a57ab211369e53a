//! Plain text: the whole output is the final message. Without events the only evidence of an end is exit code 0
//! together with some text, so both are needed.
//!
//! `Whole` is shared with the parsers of documents, which have the same problem: an output that must be held as a
//! whole.

use super::lines::Line;
use super::outcome::{DriftKind, Outcome, TEXT_MAX};
use super::problem::{Problem, ProblemKind};
use super::reading::Reads;

/// A whole output, kept in memory up to a bound.
///
/// It is for formats that mean nothing until their end: plain text and single documents.
#[derive(Default)]
pub(super) struct Whole {
    bytes: Vec<u8>,
    too_long: bool,
}

impl Whole {
    /// Takes a line, unless the output is already too long.
    pub(super) fn take(&mut self, line: &Line<'_>) {
        self.too_long |= line.too_long || self.bytes.len() + line.bytes.len() > TEXT_MAX;
        if !self.too_long {
            self.bytes.extend_from_slice(line.bytes);
            if !line.unfinished {
                self.bytes.push(b'\n');
            }
        }
    }

    /// Returns the text, with a note or a problem if it is not exactly what was written.
    pub(super) fn text(&self, out: &mut Outcome) -> String {
        if self.too_long {
            // A verdict read in part could drop its worst finding.
            let message = format!("the output has more than {TEXT_MAX} bytes: it cannot be read whole");
            out.fail(Problem::new(ProblemKind::Unreadable, message));
        }
        let text = String::from_utf8_lossy(&self.bytes);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            out.drift(DriftKind::NotUtf8, "the output is not UTF-8, unreadable bytes replaced".to_owned());
        }
        text.into_owned()
    }
}

/// Whether a text contains anything to read.
pub(super) fn says_something(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace() && !c.is_control())
}

/// Reads an output that is plain text.
#[derive(Default)]
pub(super) struct Text(Whole);

impl Reads for Text {
    fn line(&mut self, line: &Line<'_>, _out: &mut Outcome) {
        self.0.take(line);
    }

    fn end(&mut self, exit: Option<i32>, out: &mut Outcome) {
        let text = self.0.text(out);
        let text = text.trim();
        let said = says_something(text);
        out.complete = exit == Some(0) && said;
        if said {
            out.final_text = Some(text.to_owned());
        }
        if let Some(code) = exit.filter(|code| *code != 0) {
            out.fail(Problem::new(ProblemKind::Other, format!("exit code {code}")));
        }
    }
}
