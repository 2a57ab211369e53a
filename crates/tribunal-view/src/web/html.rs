//! Writing markup so that nothing can be forgotten: markup is a literal of this program, everything else is escaped.
//! There is no way to put somebody else's text in unescaped.
//!
//! The type system keeps that promise. `raw` takes only `&'static str`, so a text that arrives at run time does not
//! compile there.

use crate::html::escape;
use crate::plain;
use std::fmt::{Display, Write};

/// The longest line of somebody's text, in characters.
const LINE_MAX: usize = 2_000;
/// The longest text of several lines, in bytes.
const BLOCK_MAX: usize = 60_000;

/// Markup that is being written.
///
/// Methods return the value itself, so that markup and text alternate in one expression, in the order of the page.
#[derive(Debug, Default)]
pub struct Html {
    text: String,
    root: String,
}

impl Html {
    /// Starts a page whose links begin with `root`, the way from the page to the first one of its server.
    pub fn with_root(root: &str) -> Html {
        Html { text: String::new(), root: root.to_owned() }
    }

    /// Adds markup of our own.
    ///
    /// The parameter is `&'static str` on purpose: a text that arrives at run time cannot get in here.
    pub fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.text.push_str(markup);
        self
    }

    /// Adds a text on one line, escaped.
    pub fn text(&mut self, text: impl Display) -> &mut Html {
        escape(&mut self.text, &plain::clipped(&text.to_string(), LINE_MAX));
        self
    }

    /// Adds a text of several lines, escaped.
    pub fn block(&mut self, text: &str) -> &mut Html {
        escape(&mut self.text, &plain::capped(text, BLOCK_MAX));
        self
    }

    /// Whether the last thing that was written is a heading with these words.
    ///
    /// A caption that repeats the heading above it is only for screen readers.
    pub(super) fn just_headed(&self, words: &str) -> bool {
        let mut heading = String::from(">");
        escape(&mut heading, &plain::clipped(words, LINE_MAX));
        ["</h2>", "</h3>"].iter().any(|end| self.text.trim_end().ends_with(&format!("{heading}{end}")))
    }

    /// Adds a place on this server, made of names that may contain anything.
    pub fn place(&mut self, names: &[&str]) -> &mut Html {
        self.text.push_str(&self.root);
        self.text.push_str(&place(names));
        self
    }

    /// Adds a link to a place on this server.
    pub fn link(&mut self, names: &[&str], text: impl Display) -> &mut Html {
        self.raw("<a href=\"").place(names).raw("\">").text(text).raw("</a>")
    }

    /// Lets a picture of this crate write itself.
    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut String)) -> &mut Html {
        // The only other way to write markup. It stays inside this crate, and the pictures escape their texts
        // themselves.
        picture(&mut self.text);
        self
    }

    /// Returns the finished markup of the page.
    pub fn done(self) -> String {
        self.text
    }
}

/// Writes a path of names, each of which may contain anything. The caller says what it is relative to.
///
/// Loop ids, for one, contain slashes and dots.
fn place(names: &[&str]) -> String {
    let mut out = String::new();
    for (n, name) in names.iter().enumerate() {
        out.push_str(if n == 0 { "" } else { "/" });
        for byte in name.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => out.push(char::from(byte)),
                // A name of dots would be taken for a step upwards.
                b'.' if !name.bytes().all(|byte| byte == b'.') => out.push('.'),
                _ => {
                    let _ = write!(out, "%{byte:02X}");
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_hold_any_name() {
        let table = [
            (&["runs", "20260301-0915"][..], "runs/20260301-0915"),
            (&["runs", "a/b", "..", "x y"], "runs/a%2Fb/%2E%2E/x%20y"),
            (&["\"><script>"], "%22%3E%3Cscript%3E"),
            (&[], ""),
        ];
        for (names, expect) in table {
            assert_eq!(place(names), expect);
        }
    }

    proptest! {
        #[test]
        fn no_text_becomes_markup(text in "\\PC{0,80}|[<>\"'&/a-z=\\x00-\\x20]{0,80}") {
            let mut html = Html::default();
            html.raw("<p title=\"").text(&text).raw("\">").block(&text).raw("</p>").link(&[&text], &text);
            let page = html.done();
            prop_assert_eq!(page.matches('<').count(), 4);
            prop_assert_eq!(page.matches('>').count(), 4);
            prop_assert_eq!(page.matches('"').count(), 4);
            prop_assert!(!page.contains('\''));
        }
    }
}
