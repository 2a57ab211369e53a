//! The MCP server that an editor agent starts to look at runs. The tools come from a [`EditorTools`]; this file is only the
//! wire, built on the official SDK, so it keeps no state and decides nothing.
//!
//! It is a trait because its tools read journals and configuration, which the command line's crate knows and this
//! crate does not. Keep it that way: a tool that is added there needs no change here.

use crate::engine::ServerError;
use crate::mcp::{on_stdio, tool};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};
use std::sync::Arc;
use tribunal_agent::reporting::{Answer, SERVER, Tool};

/// The tools that an editor agent can call, and the answers to its calls.
///
/// An editor agent is not part of a run, so no machine hears what it says: its words are at most a message that becomes
/// a note. Of all it can ask for, only a review starts a process.
pub trait EditorTools: Send + Sync + 'static {
    /// Returns the instructions that the client shows to its agent before it calls anything.
    fn about(&self) -> String;
    /// Returns the tools in the order in which clients list them.
    fn tools(&self) -> Vec<Tool>;
    /// Answers a call. `who` is the name the client gave itself and the session's mark.
    ///
    /// The call may block: it runs on a thread of its own, so the protocol goes on meanwhile.
    fn call(&self, who: &str, tool: &str, args: Map<String, Value>) -> Answer;
}

/// Serves an editor agent on standard input and output until the input ends.
///
/// Returns an error only where the server itself cannot run; a refused call is an answer to the agent.
pub fn serve_editor_tools(editor_tools: Arc<dyn EditorTools>) -> Result<(), ServerError> {
    // Two bytes are enough: the mark tells sessions of one client apart for a reader, and nothing trusts it.
    let mut mark = [0_u8; 2];
    rustix::rand::getrandom(&mut mark, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| ServerError::Server(error.to_string()))?;
    on_stdio(EditorService { editor_tools, mark: format!("{:02x}{:02x}", mark[0], mark[1]) })
}

struct EditorService {
    editor_tools: Arc<dyn EditorTools>,
    /// Tells two sessions of the same client program apart.
    mark: String,
}

impl ServerHandler for EditorService {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new(SERVER, env!("CARGO_PKG_VERSION"));
        info.instructions = Some(self.editor_tools.about());
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.editor_tools.tools().into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = context.peer.peer_info().map(|info| info.client_info.name.clone());
        let who = format!("{}#{}", client.unwrap_or_default(), self.mark);
        // A tool may read a journal or start a review, and the runtime has one thread: blocking it would hold up the
        // protocol.
        let editor_tools = Arc::clone(&self.editor_tools);
        let answered = tokio::task::spawn_blocking(move || {
            editor_tools.call(&who, &request.name, request.arguments.unwrap_or_default())
        });
        let answer = answered.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let content = vec![ContentBlock::text(answer.text)];
        // A refusal is a result that the agent reads, not an error of the protocol.
        let result =
            if answer.accepted { CallToolResult::success(content) } else { CallToolResult::error(content) };
        Ok(result.into())
    }
}
