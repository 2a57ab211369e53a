//! Calls a tool as an agent does: it starts the MCP server it was given and speaks the protocol with it. One call, one
//! server. It plays a client and holds the server to nothing.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// The variable that holds the server's command line, as a list of texts.
pub(super) const SERVER: &str = "SCRIPTED_MCP";

/// What came of a call.
pub(super) struct Called {
    /// The server or the engine did not take it.
    pub(super) refused: bool,
    /// What it was told.
    pub(super) text: String,
}

/// The server's command line, by the environment; `at` is another launch's folder.
pub(super) fn server(at: Option<&str>) -> Result<Vec<String>, String> {
    let text = std::env::var(SERVER).map_err(|_| format!("{SERVER} is not set, so no tool can be called"))?;
    let mut argv: Vec<String> = serde_json::from_str(&text).map_err(|error| format!("{SERVER}: {error}"))?;
    if let (Some(at), Some(dir)) = (at, argv.last_mut()) {
        at.clone_into(dir);
    }
    Ok(argv)
}

/// Calls one tool.
#[expect(clippy::disallowed_methods, reason = "it plays an agent, whose processes Tribunal does not start")]
pub(super) fn call(argv: &[String], tool: &str, args: &Value) -> Result<Called, String> {
    let (program, rest) = argv.split_first().ok_or("no server to start")?;
    let mut server = Command::new(program)
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    let (Some(mut to), Some(from)) = (server.stdin.take(), server.stdout.take()) else {
        return Err("the server has no pipes".to_owned());
    };
    let mut lines = BufReader::new(from).lines();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "scripted", "version": "1"}});
    let asked = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": tool, "arguments": args}}),
    ];
    let mut last = Value::Null;
    for request in asked {
        writeln!(to, "{request}").map_err(|error| format!("the server ended: {error}"))?;
        if !request["id"].is_null() {
            let line = lines.next().ok_or("the server ended")?.map_err(|error| error.to_string())?;
            last = serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"))?;
        }
    }
    drop(to);
    server.wait().map_err(|error| error.to_string())?;
    let result = &last["result"];
    let text = result["content"][0]["text"].as_str().or(last["error"]["message"].as_str());
    let refused = result.is_null() || result["isError"] == json!(true);
    Ok(Called { refused, text: text.unwrap_or_default().to_owned() })
}
