//! `tribunal demo`: a small real project, run before your eyes.

use crate::args::{Demo, Globals};
use crate::exit::Done;
use crate::failure::Failure;

/// Shows a scenario.
pub fn run(_globals: &Globals, args: &Demo) -> Result<Done, Failure> {
    Err(Failure::work(format!("the demo {:?} is not there yet", args.scenario))
        .hint("run a phase of your own with `tribunal run`"))
}
