//! Calls a tool as an agent does: it starts the MCP server it was given and speaks the protocol with it. One call, one
//! server.
//!
//! It plays a client and demands nothing of the server, because hostile scenarios expect to be refused.

use crate::reporting::SOCKET_FILE;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable with the server's command line, as a list of texts.
pub(super) const SERVER: &str = "SCRIPTED_MCP";

/// The result of a call.
pub(super) struct Called {
    /// Whether the server or the engine refused the call.
    pub(super) refused: bool,
    /// The text that the caller was told.
    pub(super) text: String,
}

/// Stands for every other launch that can be seen.
const OTHERS: &str = "*";

/// Returns command lines of servers. `at` is another launch's folder, or `*` for every folder with a socket.
pub(super) fn servers(at: Option<&str>) -> Result<Vec<Vec<String>>, String> {
    let own = server(None)?;
    match at {
        // Sockets that the sandbox hides are simply not found, which is what a hostile scenario expects.
        Some(OTHERS) => Ok(others(&own).iter().filter_map(|dir| server(dir.to_str()).ok()).collect()),
        at => Ok(vec![server(at)?]),
    }
}

/// Finds the folders beside the agent's own that hold a socket.
fn others(own: &[String]) -> Vec<PathBuf> {
    let own = Path::new(own.last().map_or("", String::as_str));
    let folders = own.parent().and_then(|all| all.read_dir().ok()).into_iter().flatten().flatten();
    folders.map(|entry| entry.path()).filter(|dir| dir != own && dir.join(SOCKET_FILE).exists()).collect()
}

fn server(at: Option<&str>) -> Result<Vec<String>, String> {
    let text = std::env::var(SERVER).map_err(|_| format!("{SERVER} is not set, so no tool can be called"))?;
    let mut argv: Vec<String> = serde_json::from_str(&text).map_err(|error| format!("{SERVER}: {error}"))?;
    if let (Some(at), Some(dir)) = (at, argv.last_mut()) {
        at.clone_into(dir);
    }
    Ok(argv)
}

/// Calls one tool and waits for the result.
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
    // One request at a time: the answer to the call is the last line, whatever came before.
    for request in asked {
        writeln!(to, "{request}").map_err(|error| format!("the server ended: {error}"))?;
        if !request["id"].is_null() {
            let line = lines.next().ok_or("the server ended")?.map_err(|error| error.to_string())?;
            last = serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"))?;
        }
    }
    // The server ends when its input does; waiting before would never return.
    drop(to);
    server.wait().map_err(|error| error.to_string())?;
    let result = &last["result"];
    let text = result["content"][0]["text"].as_str().or(last["error"]["message"].as_str());
    // A protocol error has no result at all, and counts as a refusal, too.
    let refused = result.is_null() || result["isError"] == json!(true);
    Ok(Called { refused, text: text.unwrap_or_default().to_owned() })
}
