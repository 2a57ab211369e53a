//! Output: data goes to stdout, everything else to stderr. A reader that goes away is not a failure.
//!
//! All printing goes through this file; the lints `print_stdout` and `print_stderr` keep `println!` out of the rest. A
//! script can therefore pipe the data of any command without filtering.

use crate::args::{Colour, Globals};
use crate::failure::Failure;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use tribunal_view::style::Style;

/// Writes the data a command was asked for to stdout.
pub fn data(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()?;
    Ok(())
}

/// Writes one JSON document to stdout, indented for people.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::bug)?;
    text.push('\n');
    data(&text)
}

/// Writes one JSON document on one line, for output that may be long and is read by programs.
pub fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string(value).map_err(Failure::bug)?;
    text.push('\n');
    data(&text)
}

/// Prints a message for the person on stderr.
///
/// A closed stderr is ignored: there is nobody left to tell, and the command must not fail because of it.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}

/// Colour and width for text on stdout.
pub fn stdout_style(globals: &Globals) -> Style {
    style(globals, std::io::stdout().is_terminal(), rustix::stdio::stdout())
}

/// Colour and width for text on stderr.
pub fn stderr_style(globals: &Globals) -> Style {
    style(globals, std::io::stderr().is_terminal(), rustix::stdio::stderr())
}

fn style(globals: &Globals, terminal: bool, fd: rustix::fd::BorrowedFd<'_>) -> Style {
    // An empty `NO_COLOR` counts as unset, as its convention says.
    let wanted = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let colour = match globals.color {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && !wanted("NO_COLOR") && !dumb,
    };
    // Width 0 means that nothing is cut: a file or a pipe gets whole lines.
    let width = if terminal { columns(fd) } else { 0 };
    Style { colour, width }
}

/// The columns of the terminal; 80 if it does not report them.
fn columns(fd: rustix::fd::BorrowedFd<'_>) -> usize {
    size(fd).map_or(80, |(columns, _)| columns)
}

/// The columns and rows of a terminal; `None` where it reports none.
pub fn size(fd: rustix::fd::BorrowedFd<'_>) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(fd).ok()?;
    // The live block takes a part of the rows, so it gets a few even where the terminal reports none.
    (size.ws_col > 0).then(|| (usize::from(size.ws_col), usize::from(size.ws_row.max(4))))
}
