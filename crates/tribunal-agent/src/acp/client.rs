//! The conversation with the agent, by the official crate: initialize, a session, the prompt, its end.
//!
//! Pipes are read and written by threads of their own, so no asynchronous runtime is needed for one conversation.

use super::Options;
use super::print::Printer;
use crate::parse::{Problem, ProblemKind, TOOLS, Usage};
use crate::reporting::SERVER;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ClientCapabilities, ContentBlock, InitializeRequest, LoadSessionRequest, McpServer,
    McpServerStdio, Meta, NewSessionRequest, PermissionOptionKind, PromptRequest, PromptResponse,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
    SessionId, SessionNotification, SessionUpdate, SetSessionModeRequest, StopReason, TextContent, ToolKind,
};
use agent_client_protocol::{Agent, Client, Error, ErrorCode, Lines};
use futures::channel::{mpsc, oneshot};
use futures::future::{Either, select};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tribunal_process::Piped;

/// The largest line of the protocol in bytes.
const LINE_MAX: usize = 64 << 20;

/// How long an agent may take to end by itself once its input is closed.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

/// How a launch ended, for the driver that prints it.
pub(super) enum Ending {
    /// With an answer, and its figures where the agent tells them.
    Answered(Option<Usage>),
    /// Without an answer, for this reason.
    Stopped(Problem),
}

/// Plays the launch to its end. The error says why it could not begin.
///
/// The agent is started in the launch's own process tree, so it is killed together with this driver, whatever happens
/// here.
pub(super) fn play(options: &Options, prompt: String, printer: &Arc<Printer>) -> Result<Ending, String> {
    let Piped { stdin, stdout, child } = Piped::start(&options.argv).map_err(|error| error.to_string())?;
    // Blocked only after the agent was started, because a child inherits the signal mask.
    let cancel = super::signals::on_term().map_err(|error| format!("no thread: {error}"))?;
    let lines = Lines::new(writer(stdin)?, reader(stdout)?);
    let ending: Arc<Mutex<Option<Ending>>> = Arc::default();
    let talk = converse(options.clone(), prompt, Arc::clone(printer), lines, cancel, Arc::clone(&ending));
    let ended = futures::executor::block_on(talk);
    // Its input is closed by now, so the agent may write its session to disk before it is killed.
    let status = child.end(PATIENCE);
    let known = ending.lock().ok().and_then(|mut ending| ending.take());
    // The ending is taken from the turn if there is one: a connection that breaks after the answer does not undo the
    // answer.
    Ok(known.unwrap_or_else(|| {
        let why = ended
            .err()
            .map(|error| problem(&error))
            .unwrap_or_else(|| Problem::new(ProblemKind::Other, "the agent broke the conversation off"));
        Ending::Stopped(Problem { message: format!("{} (the agent: {status})", why.message), ..why })
    }))
}

/// Makes a sink for lines to the agent.
fn writer(
    mut pipe: impl Write + Send + 'static,
) -> Result<impl futures::Sink<String, Error = std::io::Error> + Send + 'static, String> {
    let (lines, queue) = std::sync::mpsc::channel::<String>();
    let thread = std::thread::Builder::new().name("to-agent".to_owned());
    let write = move || {
        for line in queue {
            if pipe.write_all(line.as_bytes()).and_then(|()| pipe.write_all(b"\n")).is_err()
                || pipe.flush().is_err()
            {
                return;
            }
        }
    };
    thread.spawn(write).map_err(|error| format!("no thread: {error}"))?;
    Ok(futures::sink::unfold(lines, |lines, line: String| async move {
        lines.send(line).map_err(|_| std::io::Error::from(std::io::ErrorKind::BrokenPipe))?;
        Ok(lines)
    }))
}

/// Makes a stream of the agent's lines. The end of the stream is the end of the conversation.
fn reader(
    pipe: impl std::io::Read + Send + 'static,
) -> Result<impl futures::Stream<Item = std::io::Result<String>> + Send + 'static, String> {
    let (send, lines) = mpsc::unbounded();
    let thread = std::thread::Builder::new().name("of-agent".to_owned());
    let read = move || {
        let mut pipe = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            let got = std::io::Read::take(&mut pipe, LINE_MAX as u64).read_until(b'\n', &mut line);
            let sent = match got {
                Ok(0) => return,
                Ok(_) => send.unbounded_send(Ok(String::from_utf8_lossy(&line).trim_end().to_owned())),
                Err(error) => send.unbounded_send(Err(error)),
            };
            if sent.is_err() {
                return;
            }
        }
    };
    thread.spawn(read).map_err(|error| format!("no thread: {error}"))?;
    Ok(lines)
}

async fn converse(
    options: Options,
    prompt: String,
    printer: Arc<Printer>,
    lines: impl agent_client_protocol::ConnectTo<Client> + 'static,
    cancel: oneshot::Receiver<()>,
    ending: Arc<Mutex<Option<Ending>>>,
) -> Result<(), Error> {
    let (heard, asked) = (Arc::clone(&printer), Arc::clone(&printer));
    let read_only = options.read_only;
    Client
        .v1()
        .name("tribunal")
        .on_receive_notification(
            async move |notification: SessionNotification, _cx| {
                tell(&heard, &notification.update);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _cx| {
                responder.respond(RequestPermissionResponse::new(permit(&asked, &request, read_only)))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(lines, async move |cx: ConnectionTo<Agent>| {
            let ended = turn(&cx, &options, prompt, &printer, cancel).await;
            let ended = ended.unwrap_or_else(|error| Ending::Stopped(problem(&error)));
            if let Ok(mut ending) = ending.lock() {
                *ending = Some(ended);
            }
            Ok(())
        })
        .await
}

/// Plays one session with one prompt.
///
/// The prompt is sent only after session and mode are set, because an agent begins to work as soon as it has one.
async fn turn(
    cx: &ConnectionTo<Agent>,
    options: &Options,
    prompt: String,
    printer: &Printer,
    cancel: oneshot::Receiver<()>,
) -> Result<Ending, Error> {
    let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities());
    let hello = cx.send_request(hello).block_task().await?;
    let session = match &options.session {
        Some(id) if hello.agent_capabilities.load_session => load(cx, options, id, printer).await?,
        // A new session in its place would look like a success, although the agent knows nothing of the earlier work.
        Some(_) => {
            let text = "the agent cannot go on in an earlier session";
            return Ok(Ending::Stopped(Problem::new(ProblemKind::Setup, text)));
        }
        None => {
            let ask = NewSessionRequest::new(here()).mcp_servers(servers(options));
            cx.send_request(ask).block_task().await?.session_id
        }
    };
    // A session that nobody can continue is not one to keep.
    printer.start(hello.agent_capabilities.load_session.then_some(&*session.0));
    // Agents that never ask for permission are held by their mode, so it is set before the prompt.
    if let Some(mode) = &options.mode {
        cx.send_request(SetSessionModeRequest::new(session.clone(), mode.clone())).block_task().await?;
    }
    let ask = PromptRequest::new(session.clone(), vec![ContentBlock::Text(TextContent::new(prompt))]);
    let answer = Box::pin(cx.send_request(ask).block_task());
    let answer = match select(answer, cancel).await {
        Either::Left((answer, _)) => answer?,
        // The supervisor waits a little before it kills: the agent may still say that it has stopped.
        Either::Right((_, answer)) => {
            cx.send_notification(CancelNotification::new(session))?;
            answer.await?
        }
    };
    Ok(ending(&answer))
}

async fn load(
    cx: &ConnectionTo<Agent>,
    options: &Options,
    id: &str,
    printer: &Printer,
) -> Result<SessionId, Error> {
    // A loaded session is told again from its beginning; none of that belongs to this launch.
    printer.replay(true);
    let session = SessionId::new(id.to_owned());
    let ask = LoadSessionRequest::new(session.clone(), here()).mcp_servers(servers(options));
    let loaded = cx.send_request(ask).block_task().await;
    printer.replay(false);
    loaded.map(|_| session)
}

/// Announces no file access and no terminals, so the agent works only with what the sandbox gives it.
///
/// An extension asks for failures as such. Without it, an agent may report a failed request as its answer and end its
/// turn as if nothing had happened.
fn capabilities() -> ClientCapabilities {
    let air = json!({"air": {"version": 1, "capabilities": ["sessionFailure"]}});
    let meta: Meta = [("jetbrains".to_owned(), air)].into_iter().collect();
    ClientCapabilities::new().meta(meta)
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

fn servers(options: &Options) -> Vec<McpServer> {
    let server = options.mcp.split_first().map(|(program, args)| {
        McpServer::Stdio(McpServerStdio::new(SERVER, PathBuf::from(program)).args(args.to_vec()))
    });
    server.into_iter().collect()
}

fn tell(printer: &Printer, update: &SessionUpdate) {
    match update {
        SessionUpdate::AgentMessageChunk(chunk) => {
            if let ContentBlock::Text(text) = &chunk.content {
                printer.say(&text.text);
            }
        }
        SessionUpdate::ToolCall(call) => {
            let name = call.name.as_ref().unwrap_or(&call.title);
            // Without arguments, calls are told apart by their id; otherwise they would look like the same call over
            // and over.
            let id = || json!({"id": call.tool_call_id.0.to_string()});
            let args = call.raw_input.clone().filter(|args| args != &json!({}));
            printer.tool(name, &args.unwrap_or_else(id));
        }
        SessionUpdate::AgentThoughtChunk(_) => printer.think(),
        _ => {}
    }
}

/// Answers a request for permission: a reviewer may read and report, a builder may do what it asks for.
///
/// This only spares an honest agent useless attempts. The sandbox keeps a dishonest one from writing.
fn permit(
    printer: &Printer,
    request: &RequestPermissionRequest,
    read_only: bool,
) -> RequestPermissionOutcome {
    let fields = &request.tool_call.fields;
    let title = fields.title.clone().unwrap_or_default();
    let kind = fields.kind.unwrap_or_default();
    // A builder gets every permission: its sandbox decides what it can do.
    let allowed = !read_only || matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Think) || {
        // The title of a command is the command itself, so only a call of no other kind may pass as one of our tools.
        kind == ToolKind::Other && TOOLS.iter().any(|tool| title.contains(tool))
    };
    let wanted = match allowed {
        true => [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways],
        false => [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways],
    };
    if !allowed {
        printer.denied(&title, "a reviewer only reads");
    }
    // Once is preferred to always: a standing permission would cover calls that nobody asked about.
    let option = wanted.iter().find_map(|kind| request.options.iter().find(|option| option.kind == *kind));
    match option {
        Some(option) => {
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
        }
        None => RequestPermissionOutcome::Cancelled,
    }
}

fn ending(answer: &PromptResponse) -> Ending {
    let stopped = |kind, text: &str| Ending::Stopped(Problem::new(kind, text));
    // Checked before the stop reason, because an agent that failed may say that it ended its turn.
    if let Some(problem) = failure(answer) {
        return Ending::Stopped(problem);
    }
    match answer.stop_reason {
        StopReason::EndTurn => Ending::Answered(usage(answer)),
        StopReason::MaxTokens => stopped(ProblemKind::Truncated, "it reached the limit of its output"),
        StopReason::MaxTurnRequests => stopped(ProblemKind::MaxTurns, "it took more turns than it may"),
        StopReason::Refusal => stopped(ProblemKind::Refusal, "the model refused"),
        StopReason::Cancelled => stopped(ProblemKind::Interrupted, "it was called off"),
        _ => stopped(ProblemKind::Other, "it stopped for a reason nobody knows"),
    }
}

/// Reads a failure that stands beside the end of a turn: by its words, else by its category and the possible actions.
fn failure(answer: &PromptResponse) -> Option<Problem> {
    let told = answer.meta.as_ref()?.get("jetbrains")?.pointer("/air/sessionFailure")?;
    let text = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("severity") != "error" {
        return None;
    }
    // The words of the title may name a cause that the category leaves open.
    let problem = Problem::of_words(None, text("title"));
    if problem.kind != ProblemKind::Other {
        return Some(problem);
    }
    let may = |action: &str| {
        told.get("actions").and_then(Value::as_array).is_some_and(|all| all.contains(&json!(action)))
    };
    let kind = match text("category") {
        "access" => ProblemKind::Auth,
        "limit" if may("retry") => ProblemKind::RateLimit,
        "limit" if may("new_session") => ProblemKind::ContextLength,
        "limit" => ProblemKind::Quota,
        "service" => ProblemKind::Overloaded,
        "connection" => ProblemKind::Truncated,
        "request" => ProblemKind::BadRequest,
        _ => ProblemKind::Other,
    };
    Some(Problem { kind, ..problem })
}

/// Reads the figures. Agents differ in what they count, some only the last step, so all of them are estimates.
fn usage(answer: &PromptResponse) -> Option<Usage> {
    let told = answer.usage.as_ref();
    let usage = told.map(|usage| {
        // Cached tokens are not part of the protocol's input figure; ours counts everything read.
        let cached = usage.cached_read_tokens.unwrap_or(0) + usage.cached_write_tokens.unwrap_or(0);
        Usage {
            input: usage.input_tokens + cached,
            output: usage.output_tokens + usage.thought_tokens.unwrap_or(0),
            cached: usage.cached_read_tokens.unwrap_or(0),
            estimated: true,
            ..Usage::default()
        }
    });
    usage.or_else(|| {
        let count = answer.meta.as_ref()?.get("quota")?.get("token_count")?.clone();
        let number = |name: &str| count.get(name).and_then(Value::as_u64);
        let (input, output) = (number("input_tokens")?, number("output_tokens")?);
        Some(Usage { input, output, estimated: true, ..Usage::default() })
    })
}

/// Turns an error of the agent into a problem of a known kind.
fn problem(error: &Error) -> Problem {
    if error.code == ErrorCode::AUTH_REQUIRED {
        return Problem::new(ProblemKind::Auth, error.message.clone());
    }
    let data = error.data.as_ref().map(|data| match data {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let text = [Some(error.message.clone()), data].into_iter().flatten().collect::<Vec<_>>().join(": ");
    // Node says nothing else about an answer that breaks off.
    if text == "terminated" {
        return Problem::new(ProblemKind::Truncated, text);
    }
    Problem::of_words(None, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::v1::schema::{
        ContentChunk, InitializeResponse, NewSessionResponse, PermissionOption, ToolCall, ToolCallUpdate,
        ToolCallUpdateFields,
    };
    use std::io;

    /// What was printed, for a test to read.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Wants to use a tool, asks first, says what came of it, and stops for a reason.
    fn agent(
        kind: ToolKind,
        title: &'static str,
        stop: StopReason,
    ) -> impl agent_client_protocol::ConnectTo<Client> {
        Agent
            .v1()
            .name("scripted")
            .on_receive_request(
                async move |hello: InitializeRequest, responder, _cx| {
                    responder.respond(InitializeResponse::new(hello.protocol_version))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |_: NewSessionRequest, responder, _cx| {
                    responder.respond(NewSessionResponse::new("s-1"))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |asked: PromptRequest, responder, cx: ConnectionTo<Client>| {
                    let (id, on) = (asked.session_id, cx.clone());
                    cx.spawn(async move {
                        let call = ToolCall::new("t-1", title).kind(kind);
                        on.send_notification(SessionNotification::new(
                            id.clone(),
                            SessionUpdate::ToolCall(call),
                        ))?;
                        let fields = ToolCallUpdateFields::new().title(title.to_owned()).kind(kind);
                        let options = vec![
                            PermissionOption::new("yes", "Yes", PermissionOptionKind::AllowOnce),
                            PermissionOption::new("no", "No", PermissionOptionKind::RejectOnce),
                        ];
                        let ask = RequestPermissionRequest::new(
                            id.clone(),
                            ToolCallUpdate::new("t-1", fields),
                            options,
                        );
                        let said = match on.send_request(ask).block_task().await?.outcome {
                            RequestPermissionOutcome::Selected(chosen) => chosen.option_id.0.to_string(),
                            _ => "none".to_owned(),
                        };
                        let chunk =
                            ContentChunk::new(ContentBlock::Text(TextContent::new(format!("I may: {said}"))));
                        on.send_notification(SessionNotification::new(
                            id,
                            SessionUpdate::AgentMessageChunk(chunk),
                        ))?;
                        responder.respond(PromptResponse::new(stop))
                    })
                },
                agent_client_protocol::on_receive_request!(),
            )
    }

    /// The last event, and all of them.
    fn played(
        read_only: bool,
        agent: impl agent_client_protocol::ConnectTo<Client> + 'static,
    ) -> (Value, String) {
        let paper = Paper::default();
        let printer = Arc::new(Printer::new(paper.clone()));
        let ending: Arc<Mutex<Option<Ending>>> = Arc::default();
        let (_keep, cancel) = oneshot::channel();
        let options = Options { read_only, ..Options::default() };
        let talk =
            converse(options, "do it".to_owned(), Arc::clone(&printer), agent, cancel, Arc::clone(&ending));
        let _closed = futures::executor::block_on(talk);
        super::super::finish(&printer, ending.lock().unwrap().take().unwrap());
        let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        (serde_json::from_str(text.lines().last().unwrap()).unwrap(), text)
    }

    #[test]
    fn a_reviewer_is_refused_what_changes_something_and_a_builder_is_not() {
        let check = |read_only, kind, title, expect: &str, denied: bool| {
            let (last, all) = played(read_only, agent(kind, title, StopReason::EndTurn));
            assert_eq!((&last["type"], &last["text"]), (&json!("final"), &json!(expect)), "{all}");
            assert_eq!(all.contains("\"denied\""), denied, "{all}");
            assert!(!all.contains("\"session\""), "nobody can go on in it: {all}");
        };
        check(true, ToolKind::Edit, "write a file", "I may: no", true);
        check(true, ToolKind::Execute, "echo cast_verdict > file", "I may: no", true);
        check(true, ToolKind::Other, "something", "I may: no", true);
        check(true, ToolKind::Other, "mcp__tribunal__cast_verdict", "I may: yes", false);
        check(true, ToolKind::Read, "read a file", "I may: yes", false);
        check(false, ToolKind::Edit, "write a file", "I may: yes", false);
    }

    #[test]
    fn a_failure_beside_the_end_of_a_turn_is_none_of_its_answers() {
        let check = |told: Value, expect: Option<ProblemKind>| {
            let meta: Meta =
                [("jetbrains".to_owned(), json!({"air": {"sessionFailure": told}}))].into_iter().collect();
            let answer = PromptResponse::new(StopReason::EndTurn).meta(meta);
            let got = match ending(&answer) {
                Ending::Stopped(problem) => Some(problem.kind),
                Ending::Answered(_) => None,
            };
            assert_eq!(got, expect, "{told}");
        };
        let of = |category: &str, title: &str, actions: &[&str]| json!({"severity": "error", "category": category, "title": title, "actions": actions});
        check(of("limit", "last status: 429 Too Many Requests", &["retry"]), Some(ProblemKind::RateLimit));
        check(of("limit", "no more", &["retry"]), Some(ProblemKind::RateLimit));
        check(of("limit", "no more", &["new_session"]), Some(ProblemKind::ContextLength));
        check(of("limit", "no more", &[]), Some(ProblemKind::Quota));
        check(of("service", "high demand", &["retry"]), Some(ProblemKind::Overloaded));
        check(of("connection", "gone", &["retry"]), Some(ProblemKind::Truncated));
        check(of("access", "who", &["login"]), Some(ProblemKind::Auth));
        check(of("moon", "phase", &[]), Some(ProblemKind::Other));
        check(json!({"severity": "warning", "category": "service", "title": "again"}), None);
        check(json!("strange"), None);
    }

    #[test]
    fn a_reason_to_stop_is_a_named_failure() {
        let check = |stop, kind: &str| {
            let (last, all) = played(false, agent(ToolKind::Read, "x", stop));
            assert_eq!((&last["type"], &last["kind"]), (&json!("error"), &json!(kind)), "{all}");
        };
        check(StopReason::MaxTokens, "truncated");
        check(StopReason::MaxTurnRequests, "max_turns");
        check(StopReason::Refusal, "refusal");
        check(StopReason::Cancelled, "interrupted");
    }
}
