//! The MCP server an editor agent starts to look at runs: the tools come from a [`Desk`]; here is only the wire, by the
//! official SDK. It keeps nothing and decides nothing.

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

/// What an editor agent can ask for.
pub trait Desk: Send + Sync + 'static {
    /// What an agent should know before it calls anything.
    fn about(&self) -> String;
    /// The tools.
    fn tools(&self) -> Vec<Tool>;
    /// Answers a call; `who` is the name the client gave itself and the session's mark.
    fn call(&self, who: &str, tool: &str, args: Map<String, Value>) -> Answer;
}

/// Serves a desk on standard input and output until the input ends.
pub fn serve_desk(desk: Arc<dyn Desk>) -> Result<(), ServerError> {
    let mut mark = [0_u8; 2];
    rustix::rand::getrandom(&mut mark, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| ServerError::Server(error.to_string()))?;
    on_stdio(Clerk { desk, mark: format!("{:02x}{:02x}", mark[0], mark[1]) })
}

struct Clerk {
    desk: Arc<dyn Desk>,
    /// Tells two sessions of one program apart.
    mark: String,
}

impl ServerHandler for Clerk {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new(SERVER, env!("CARGO_PKG_VERSION"));
        info.instructions = Some(self.desk.about());
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.desk.tools().into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = context.peer.peer_info().map(|info| info.client_info.name.clone());
        let who = format!("{}#{}", client.unwrap_or_default(), self.mark);
        let desk = Arc::clone(&self.desk);
        let answered = tokio::task::spawn_blocking(move || {
            desk.call(&who, &request.name, request.arguments.unwrap_or_default())
        });
        let answer = answered.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let content = vec![ContentBlock::text(answer.text)];
        let result =
            if answer.accepted { CallToolResult::success(content) } else { CallToolResult::error(content) };
        Ok(result.into())
    }
}
