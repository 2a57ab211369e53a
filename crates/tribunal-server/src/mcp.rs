//! The MCP server on standard input and output that an agent of a run starts to report. It passes calls on and keeps
//! nothing.
//!
//! The agent starts this process inside its own sandbox, so nothing here can be trusted by the engine. Whether a call
//! counts is decided behind the socket, where the agent cannot reach.

use crate::engine::{ServerError, ask};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tribunal_agent::ToolCall;
use tribunal_agent::reporting::{self, Answer, Ask, SERVER};

/// Serves the tools of the launch with this folder until standard input ends.
///
/// This is what `tribunal mcp FOLDER` runs. Which tools there are depends on what the launch is for, so the list comes
/// from the engine, too.
pub fn serve(dir: &Path) -> Result<(), ServerError> {
    on_stdio(Reporter { dir: dir.to_path_buf() })
}

/// Serves on standard input and output until the input ends.
///
/// Both MCP servers use it. One thread is enough, because every call that takes time is moved to a blocking thread.
pub(crate) fn on_stdio(server: impl ServerHandler) -> Result<(), ServerError> {
    let fail = |error: &dyn std::fmt::Display| ServerError::Server(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| fail(&error))?;
    let served = runtime.block_on(async {
        let service = server.serve(rmcp::transport::stdio()).await.map_err(|error| fail(&error))?;
        service.waiting().await.map(drop).map_err(|error| fail(&error))
    });
    // A thread may still wait for standard input, and nothing can wake it: an orderly shutdown would wait for that
    // thread.
    runtime.shutdown_background();
    served
}

struct Reporter {
    dir: PathBuf,
}

impl Reporter {
    /// Asks the engine on a thread of its own, because a call to `run_checks` may take minutes and the protocol must go
    /// on.
    async fn ask(&self, what: Ask) -> Result<Answer, ErrorData> {
        let dir = self.dir.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&dir, &what)).await;
        let fail = |text: String| ErrorData::internal_error(text, None);
        asked.map_err(|error| fail(error.to_string()))?.map_err(|error| fail(error.to_string()))
    }
}

/// Turns a tool of ours into one of the SDK.
pub(crate) fn tool(tool: reporting::Tool) -> Tool {
    let schema = tool.schema.as_object().cloned().unwrap_or_default();
    Tool::new(tool.name, tool.description, Arc::new(schema))
}

impl ServerHandler for Reporter {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new(SERVER, env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let answer = self.ask(Ask::Tools).await?;
        let tools: Vec<reporting::Tool> = serde_json::from_str(&answer.text)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ListToolsResult::with_all_items(tools.into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = ToolCall {
            tool: request.name.to_string(),
            args: request.arguments.unwrap_or_default().into_iter().collect(),
        };
        let answer = self.ask(Ask::Call(call)).await?;
        let content = vec![ContentBlock::text(answer.text)];
        // A refused call is a result with an error mark: the agent reads why and can call again.
        let result =
            if answer.accepted { CallToolResult::success(content) } else { CallToolResult::error(content) };
        Ok(result.into())
    }
}
