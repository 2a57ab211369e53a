//! `tribunal mcp`: two MCP servers over stdio. An agent of a run starts one to report through; it belongs to one launch
//! and only passes messages on. With `--serve`, an editor's agent starts the other to look at runs.
//!
//! Only the second is refused inside an agent of a run (see `steers`), because it can start reviews.

use crate::args::Mcp;
use crate::editor::Project;
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Place;
use std::sync::Arc;

/// Serves until the agent closes the connection.
pub fn run(args: &Mcp) -> Result<Done, Failure> {
    // The folder of a launch holds the socket that the agent reports through; without it there is only the project.
    let served = match &args.dir {
        Some(dir) => tribunal_server::serve(dir),
        None => tribunal_server::serve_editor_tools(Arc::new(Project::new(Place::here()?))),
    };
    served.map_err(|error| Failure::work(error.to_string()))?;
    Ok(Done::Passed)
}
