//! `tribunal watch`: shows a run on the whole terminal, live.
//!
//! The display is in `crate::tui`. Its keys can answer questions but start no process, as in the browser.

use crate::args::{Globals, Watch};
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Place;
use crate::{out, tui};
use std::io::IsTerminal;

/// Watches the named run, or the newest.
pub fn run(globals: &Globals, args: &Watch) -> Result<Done, Failure> {
    let place = Place::here()?;
    let id = place.find(args.run.as_deref())?;
    // Both: keys come from stdin, and a display without keys could not be left.
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::usage("`tribunal watch` needs a terminal")
            .hint("`tribunal status` and `tribunal log --follow` do not; `tribunal serve` needs a browser"));
    }
    tui::watch(&place, id, out::stdout_style(globals).colour)
}
