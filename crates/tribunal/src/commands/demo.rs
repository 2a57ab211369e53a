//! `tribunal demo`: a small real project, run before your eyes.

use crate::args::{Demo, Globals};
use crate::demo;
use crate::exit::Done;
use crate::failure::Failure;

/// Shows a scenario.
pub fn run(globals: &Globals, args: &Demo) -> Result<Done, Failure> {
    demo::run(args, globals)
}
