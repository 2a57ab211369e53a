//! `tribunal demo`: runs a small real project while you watch.
//!
//! The command is in `crate::demo`, with its files and scenes; only the dispatch is here.

use crate::args::{Demo, Globals};
use crate::demo;
use crate::exit::Done;
use crate::failure::Failure;

/// Plays one of the demo's scenes.
pub fn run(globals: &Globals, args: &Demo) -> Result<Done, Failure> {
    demo::run(args, globals)
}
