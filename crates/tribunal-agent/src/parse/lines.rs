//! Lines of unknown length and encoding. Never holds more than one line of bounded length.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// One line, without its end.
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: u64,
    /// The bytes; cut when `too_long`.
    pub(super) bytes: &'a [u8],
    /// Whether the line was longer than the bound.
    pub(super) too_long: bool,
    /// Whether the input ended before the line did.
    pub(super) unfinished: bool,
}

impl Line<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_whitespace)
    }

    /// The line as text, and whether bytes that are no UTF-8 had to be replaced.
    pub(super) fn text(&self) -> (Cow<'_, str>, bool) {
        let text = String::from_utf8_lossy(self.bytes);
        let replaced = matches!(text, Cow::Owned(_));
        (text, replaced)
    }
}

/// Calls `each` for every line of at most `max` bytes; a longer one comes cut and marked.
pub(super) fn each_line(
    mut input: impl BufRead,
    max: usize,
    mut each: impl FnMut(Line<'_>),
) -> io::Result<()> {
    let mut buffer = Vec::new();
    for number in 1.. {
        buffer.clear();
        let read = (&mut input).take(max as u64 + 1).read_until(b'\n', &mut buffer)?;
        if read == 0 {
            break;
        }
        let ended = buffer.last() == Some(&b'\n');
        let too_long = !ended && read > max;
        if ended {
            buffer.pop();
        }
        if too_long {
            buffer.truncate(max);
            input.skip_until(b'\n')?;
        }
        each(Line { number, bytes: &buffer, too_long, unfinished: !ended && !too_long });
    }
    Ok(())
}

/// A short quotation that is safe to print.
pub(super) fn quote(text: &str) -> String {
    const QUOTE_MAX: usize = 60;
    let short: String = text.chars().take(QUOTE_MAX).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}
