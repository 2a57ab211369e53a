//! Cuts a stream into lines of unknown length and encoding. It never holds more than one line of bounded length.
//!
//! The result does not depend on where the pieces were cut, which a law in the tests checks with random cuts. So a live
//! reading and a reading of the finished file agree.

use std::borrow::Cow;
use std::io::{BufRead, Read};

/// One line, without its line end.
pub(super) struct Line<'a> {
    /// The number of the line, counted from 1.
    pub(super) number: u64,
    /// The bytes of the line, cut if `too_long`.
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

    /// Returns the line as text, and whether bytes that are not UTF-8 had to be replaced.
    pub(super) fn text(&self) -> (Cow<'_, str>, bool) {
        let text = String::from_utf8_lossy(self.bytes);
        let replaced = matches!(text, Cow::Owned(_));
        (text, replaced)
    }
}

/// Cuts a stream into lines.
///
/// Agents can print lines of any length, so a reader that keeps a whole line could be made to fill the memory.
pub(super) struct Splitter {
    max: usize,
    number: u64,
    buffer: Vec<u8>,
    skipping: bool,
}

impl Splitter {
    /// Makes a splitter for lines of at most `max` bytes. A longer line arrives cut and marked.
    pub(super) fn new(max: usize) -> Self {
        Self { max, number: 0, buffer: Vec::new(), skipping: false }
    }

    /// Takes the next piece and calls `each` for every line that is complete now.
    pub(super) fn push(&mut self, mut piece: &[u8], mut each: impl FnMut(Line<'_>)) {
        while !piece.is_empty() {
            if self.skipping {
                self.skip(&mut piece);
                continue;
            }
            // One byte more than allowed is read, to tell a line of exactly `max` bytes from a longer one.
            let room = (self.max + 1).saturating_sub(self.buffer.len()) as u64;
            // Reading from memory cannot fail; if it did, nothing was taken and there would be nothing to continue
            // with.
            if (&mut piece).take(room).read_until(b'\n', &mut self.buffer).is_err() {
                return;
            }
            if self.buffer.last() == Some(&b'\n') {
                self.buffer.pop();
                self.give(false, false, &mut each);
            } else if self.buffer.len() > self.max {
                self.buffer.truncate(self.max);
                self.give(true, false, &mut each);
                // The rest of the line may be gigabytes; it is skipped up to its end and not kept.
                self.skipping = true;
            }
        }
    }

    /// Ends the stream and calls `each` for an unfinished last line.
    pub(super) fn end(&mut self, mut each: impl FnMut(Line<'_>)) {
        // The beginning of a line that is being skipped was given already.
        if !self.skipping && !self.buffer.is_empty() {
            self.give(false, true, &mut each);
        }
    }

    fn give(&mut self, too_long: bool, unfinished: bool, each: &mut impl FnMut(Line<'_>)) {
        self.number += 1;
        each(Line { number: self.number, bytes: &self.buffer, too_long, unfinished });
        self.buffer.clear();
    }

    fn skip(&mut self, piece: &mut &[u8]) {
        let before = *piece;
        let taken = piece.skip_until(b'\n').unwrap_or(before.len());
        self.skipping = before.get(taken.saturating_sub(1)) != Some(&b'\n');
    }
}

/// Returns a short quotation that is safe to print.
pub(super) fn quote(text: &str) -> String {
    const QUOTE_MAX: usize = 60;
    let short: String = text.chars().take(QUOTE_MAX).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]], max: usize) -> Vec<(u64, Vec<u8>, bool, bool)> {
        let mut splitter = Splitter::new(max);
        let mut found = Vec::new();
        let mut each = |line: Line<'_>| {
            found.push((line.number, line.bytes.to_vec(), line.too_long, line.unfinished));
        };
        for piece in pieces {
            splitter.push(piece, &mut each);
        }
        splitter.end(&mut each);
        found
    }

    #[test]
    fn lines_are_cut_at_their_ends_and_at_the_bound() {
        let check = |text: &[u8], expect: &[(&[u8], bool, bool)]| {
            let found: Vec<_> =
                lines(&[text], 4).into_iter().map(|(_, b, long, cut)| (b, long, cut)).collect();
            let expect: Vec<_> = expect.iter().map(|(b, long, cut)| (b.to_vec(), *long, *cut)).collect();
            assert_eq!(found, expect, "{text:?}");
        };
        check(b"", &[]);
        check(b"a", &[(b"a", false, true)]);
        check(b"a\n", &[(b"a", false, false)]);
        check(b"\n\nb", &[(b"", false, false), (b"", false, false), (b"b", false, true)]);
        check(b"1234\n", &[(b"1234", false, false)]);
        check(b"12345", &[(b"1234", true, false)]);
        check(b"12345678\nx\n", &[(b"1234", true, false), (b"x", false, false)]);
    }

    proptest! {
        #[test]
        fn where_the_pieces_are_cut_does_not_matter(text in "[ab\n]{0,40}", cuts in proptest::collection::vec(0usize..41, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(lines(&pieces, 5), lines(&[bytes], 5));
        }
    }
}
