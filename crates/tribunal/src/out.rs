//! Output: data on stdout, everything else on stderr. A reader that goes away is no failure.

use crate::args::{Colour, Globals};
use crate::failure::Failure;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use tribunal_view::style::Style;

/// Writes data.
pub fn data(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()?;
    Ok(())
}

/// Writes one JSON document.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::bug)?;
    text.push('\n');
    data(&text)
}

/// Writes one JSON document on one line: for what may be long and is read by programs.
pub fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string(value).map_err(Failure::bug)?;
    text.push('\n');
    data(&text)
}

/// Says something to the person: on stderr, and to nobody if that is closed.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}

/// How stdout looks.
pub fn stdout_style(globals: &Globals) -> Style {
    style(globals, std::io::stdout().is_terminal(), rustix::stdio::stdout())
}

/// How stderr looks.
pub fn stderr_style(globals: &Globals) -> Style {
    style(globals, std::io::stderr().is_terminal(), rustix::stdio::stderr())
}

fn style(globals: &Globals, terminal: bool, fd: rustix::fd::BorrowedFd<'_>) -> Style {
    let wanted = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let colour = match globals.color {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && !wanted("NO_COLOR") && !dumb,
    };
    let width = if terminal { columns(fd) } else { 0 };
    Style { colour, width }
}

/// Columns of the terminal; 80 where it does not say.
fn columns(fd: rustix::fd::BorrowedFd<'_>) -> usize {
    size(fd).map_or(80, |(columns, _)| columns)
}

/// Columns and rows of a terminal.
pub fn size(fd: rustix::fd::BorrowedFd<'_>) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(fd).ok()?;
    (size.ws_col > 0).then(|| (usize::from(size.ws_col), usize::from(size.ws_row.max(4))))
}
