//! `tribunal mcp`: the server an agent starts to report by. It belongs to one launch, and passes everything on.

use crate::args::Mcp;
use crate::exit::Done;
use crate::failure::Failure;

/// Serves until the agent ends it.
pub fn run(args: &Mcp) -> Result<Done, Failure> {
    tribunal_server::serve(&args.dir).map_err(|error| Failure::work(error.to_string()))?;
    Ok(Done::Passed)
}
