//! `tribunal mcp`: the server an agent of a run starts to report by, which belongs to one launch and passes everything on;
//! and with `--serve` the one an editor agent starts to look at runs.

use crate::args::Mcp;
use crate::editor::Project;
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Place;
use std::sync::Arc;

/// Serves until the agent ends it.
pub fn run(args: &Mcp) -> Result<Done, Failure> {
    let served = match &args.dir {
        Some(dir) => tribunal_server::serve(dir),
        None => tribunal_server::serve_desk(Arc::new(Project::new(Place::here()?))),
    };
    served.map_err(|error| Failure::work(error.to_string()))?;
    Ok(Done::Passed)
}
