//! What each program's words and figures mean, on small transcripts.

use crate::samples::{GOOD, read, read_cut};
use tribunal_agent::ProblemKind::{self, *};
use tribunal_agent::{Adapters, Outcome, Parser, Reading, Reset, Usage};
use tribunal_core::usage::SessionTotals;

fn good(parser: Parser) -> Outcome {
    let good = GOOD.iter().find(|good| good.parser == parser).unwrap();
    read(parser, good.text, "")
}

fn kind(outcome: &Outcome) -> ProblemKind {
    assert!(!outcome.is_answer(), "{outcome:?}");
    outcome.why_not().unwrap().kind
}

#[test]
fn figures_are_the_same_for_every_program() {
    let check = |parser: Parser,
                 input: u64,
                 output: u64,
                 cached: u64,
                 micros: Option<u64>,
                 turns: u64,
                 calls: usize| {
        let outcome = good(parser);
        let usage = outcome.usage.unwrap();
        assert_eq!((usage.input, usage.output, usage.cached), (input, output, cached), "{parser:?}");
        assert_eq!(usage.cost_micros, micros, "{parser:?}");
        assert_eq!(usage.cost_usd.map(|usd| (usd * 1e6).round() as u64), micros, "{parser:?}");
        assert_eq!((outcome.turns, outcome.calls.len()), (turns, calls), "{parser:?}");
        assert_eq!(usage.estimated, parser == Parser::AiderText, "{parser:?}");
    };
    check(Parser::ClaudeStreamJson, 10, 2, 3, Some(500_000), 2, 1);
    check(Parser::CodexJsonl, 10, 2, 4, None, 2, 1);
    check(Parser::GeminiStream, 10, 5, 4, None, 2, 1);
    check(Parser::GeminiJson, 10, 3, 4, None, 1, 0);
    check(Parser::OpencodeJson, 11, 4, 5, Some(12_000), 2, 1);
    check(Parser::AiderText, 1200, 7, 300, Some(2500), 1, 0);
    assert_eq!(good(Parser::Events).session.as_deref(), Some("s"));
    assert_eq!(good(Parser::OpencodeJson).session.as_deref(), Some("ses_1"));
    assert_eq!(good(Parser::CodexJsonl).session.as_deref(), Some("t-1"));
    assert_eq!(good(Parser::AiderText).session, None);
}

#[test]
fn counters_of_a_session_become_those_of_a_launch() {
    let text = |parser| GOOD.iter().find(|good| good.parser == parser).unwrap().text.as_bytes();
    let resumed = |parser, before| {
        let mut reading = Reading::new(parser).resuming(before);
        reading.stdout(text(parser));
        reading.finish(Some(0))
    };
    let before = SessionTotals { input: 6, output: 1, cached: 4, cost_micros: 0 };
    let codex = resumed(Parser::CodexJsonl, before);
    assert_eq!(codex.usage, Some(Usage { input: 4, output: 1, cached: 0, ..Usage::default() }));
    assert_eq!(codex.totals, Some(SessionTotals { input: 10, output: 2, cached: 4, cost_micros: 0 }));
    let before = SessionTotals { cost_micros: 400_000, ..SessionTotals::default() };
    let claude = resumed(Parser::ClaudeStreamJson, before);
    let usage = claude.usage.unwrap();
    assert_eq!((usage.input, usage.cost_micros), (10, Some(100_000)));
    assert_eq!(claude.totals.unwrap().cost_micros, 500_000);
    // A counter that went down is another session's: it is told, and counted in full.
    let odd = resumed(Parser::CodexJsonl, SessionTotals { input: 11, ..SessionTotals::default() });
    assert_eq!((odd.usage.unwrap().input, odd.drift.len()), (10, 1));
}

#[test]
fn claude_says_what_went_wrong() {
    let check = |fields: &str, expect: ProblemKind| {
        let line = format!(r#"{{"type":"result","session_id":"s","num_turns":1,"usage":{{}},{fields}}}"#);
        assert_eq!(kind(&read(Parser::ClaudeStreamJson, &line, "")), expect, "{fields}");
    };
    let api = |status: u16, text: &str| {
        format!(
            r#""subtype":"success","is_error":true,"api_error_status":{status},"terminal_reason":"api_error","result":"{text}""#
        )
    };
    check(&api(429, "API Error: Request rejected (429)"), RateLimit);
    check(&api(529, "Overloaded"), Overloaded);
    check(&api(500, "x"), Overloaded);
    check(&api(401, "Please run /login"), Auth);
    check(&api(400, "Credit balance is too low"), Quota);
    check(&api(400, "prompt is too long: 201000 tokens > 200000 maximum"), ContextLength);
    check(&api(400, "odd"), BadRequest);
    check(
        r#""subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (2)"]"#,
        MaxTurns,
    );
    check(r#""subtype":"error_max_budget_usd","is_error":true"#, Budget);
    check(
        r#""subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools""#,
        Interrupted,
    );
    check(r#""subtype":"error_max_structured_output_retries","is_error":true"#, Unstructured);
    check(r#""subtype":"success","is_error":false,"stop_reason":"refusal","result":"I will not.""#, Refusal);
    check(r#""subtype":"success","is_error":false,"stop_reason":"max_tokens","result":"and""#, Truncated);
    check(r#""subtype":"success","is_error":false"#, Truncated);
    check(r#""subtype":"success","result":"no flag""#, Truncated);
    check(r#""subtype":"error_new","is_error":false,"result":"x""#, Other);
    let stderr = |text: &str| kind(&read(Parser::ClaudeStreamJson, "", text));
    assert_eq!(stderr("No conversation found with session ID: x\n"), Setup);
    assert_eq!(stderr("something else\n"), Truncated);
}

#[test]
fn claude_tells_when_a_limit_ends() {
    let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794766674,"rateLimitType":"five_hour"}}"#;
    let result =
        r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"limit"}"#;
    for text in [format!("{limit}\n{result}\n"), limit.to_owned()] {
        let problem = read(Parser::ClaudeStreamJson, &text, "").why_not().unwrap();
        assert_eq!((problem.kind, problem.reset), (RateLimit, Some(Reset::AtMs(1_794_766_674_000))));
    }
    let fine = format!("{}\n{}", limit.replace("rejected", "allowed_warning"), GOOD[2].text);
    assert!(read(Parser::ClaudeStreamJson, &fine, "").is_answer());
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":543.7,"error_status":529,"error":"overloaded"}"#;
    let outcome = read(Parser::ClaudeStreamJson, retry, "");
    let last = outcome.last_retry.unwrap();
    assert_eq!((outcome.retries, last.kind, last.reset), (1, Overloaded, Some(Reset::AfterMs(543))));
}

#[test]
fn aider_whose_answer_broke_off_says_so_in_its_last_line() {
    let cut = "Aider v0.86.2\n\nThis answer is cut off slitellm.APIConnectionError: APIConnectionError: OpenAIException - \
               peer closed \nconnection\nRetrying in 0.2 seconds...\n";
    let outcome = read(Parser::AiderText, cut, "");
    assert_eq!((kind(&outcome), outcome.retries), (Truncated, 1));
    let talk = "Aider v0.86.2\n\nI would catch litellm.RateLimitError here.\nTokens: 5 sent, 3 received.\n";
    assert!(read(Parser::AiderText, talk, "").is_answer(), "an answer may speak of errors");
}

#[test]
fn claude_that_never_came_to_its_result_still_spent_something() {
    let cut = GOOD[2].text.lines().take(3).collect::<Vec<_>>().join("\n");
    let outcome = read(Parser::ClaudeStreamJson, &cut, "");
    assert_eq!(outcome.usage, Some(Usage { input: 5, output: 1, estimated: true, ..Usage::default() }));
    assert_eq!(kind(&outcome), Truncated);
}

#[test]
fn codex_says_what_went_wrong() {
    let check = |message: &str, expect: ProblemKind| {
        let event = serde_json::json!({"type": "turn.failed", "error": {"message": message}});
        assert_eq!(kind(&read(Parser::CodexJsonl, &event.to_string(), "")), expect, "{message}");
        let event = serde_json::json!({"type": "error", "message": message});
        let after = format!("{event}\n{}", GOOD[3].text);
        assert_eq!(kind(&read(Parser::CodexJsonl, &after, "")), expect, "{message}");
    };
    check("exceeded retry limit, last status: 429 Too Many Requests", RateLimit);
    check("You've hit your usage limit. Upgrade to Pro or try again in 3 days 2 hours.", RateLimit);
    check("Quota exceeded. Check your plan and billing details.", Quota);
    check("unexpected status 401 Unauthorized: x", Auth);
    check("We’re currently experiencing high demand, which may cause temporary errors.", Overloaded);
    check("stream disconnected before completion: idle timeout waiting for SSE", Truncated);
    check("Codex ran out of room in the model's context window.", ContextLength);
    check(
        r#"{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"x"}}"#,
        ContextLength,
    );
    check(r#"{"error":{"type":"invalid_request_error","code":"","message":"scripted 400"}}"#, BadRequest);
    check(r#"{"error":{"type":"invalid_prompt","code":"content_filter","message":"x"}}"#, Refusal);
    check("something else", Other);
    let retry = r#"{"type":"error","message":"Reconnecting... 1/2 (exceeded retry limit, last status: 429 Too Many Requests)"}"#;
    let outcome = read(Parser::CodexJsonl, &format!("{retry}\n{}", GOOD[3].text), "");
    assert!(outcome.is_answer(), "{outcome:?}");
    assert_eq!((outcome.retries, outcome.last_retry.unwrap().kind), (1, RateLimit));
    assert_eq!(kind(&read(Parser::CodexJsonl, r#"{"type":"request_user_input","id":"x"}"#, "")), Interrupted);
}

#[test]
fn gemini_says_what_went_wrong() {
    let result = |kind: &str, message: &str| {
        serde_json::json!({"type": "result", "status": "error", "error": {"type": kind, "message": message}})
            .to_string()
    };
    let check = |out: &str, err: &str, expect: ProblemKind| {
        assert_eq!(kind(&read(Parser::GeminiStream, out, err)), expect, "{out}{err}");
    };
    check(&result("FatalTurnLimitedError", "x"), "", MaxTurns);
    check(&result("FatalAuthenticationError", "x"), "", Auth);
    check(&result("FatalCancellationError", "x"), "", Interrupted);
    check(&result("ApiError", "You exceeded your current quota"), "", Quota);
    check(
        &result("ApiError", "The input token count exceeds the maximum number of tokens allowed"),
        "",
        ContextLength,
    );
    check(r#"{"type":"error","severity":"error","message":"Maximum session turns exceeded"}"#, "", MaxTurns);
    let looped = r#"{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}"#;
    check(&format!("{looped}\n{}", GOOD[4].text), "", Other);
    let sent = |code: u16| {
        format!(
            "Attempt 1 failed. Retrying with backoff... _ApiError: {{\"error\":{{\"code\":{code},\"message\":\"x\"}}}}\n"
        )
    };
    check("", &sent(429), RateLimit);
    check("", &sent(503), Overloaded);
    check("", &sent(400), BadRequest);
    check("", "{\n\"error\": {\n\"type\": \"FatalTurnLimitedError\",\n\"message\": \"x\"\n}\n}\n", MaxTurns);
    // Tried again and answered: what was written beside the output is past.
    let recovered = read(Parser::GeminiStream, GOOD[4].text, &sent(500));
    assert!(recovered.is_answer() && recovered.retries == 1, "{recovered:?}");
    assert_eq!(
        kind(&read(
            Parser::GeminiJson,
            r#"{"session_id":"g","error":{"type":"Error","message":"x","code":503}}"#,
            ""
        )),
        Overloaded
    );
    assert_eq!(kind(&read(Parser::GeminiJson, r#"{"session_id":"g"}"#, "")), Truncated);
}

#[test]
fn exit_codes_name_failures_where_a_row_says_so() {
    let adapters = Adapters::built_in().unwrap();
    let check = |code: i32, expect: ProblemKind| {
        let reading = Reading::of(adapters.get("gemini").unwrap());
        assert_eq!(kind(&reading.finish(Some(code))), expect, "{code}");
    };
    check(53, MaxTurns);
    check(55, Setup);
    check(41, Auth);
    check(144, BadRequest);
    check(0, Truncated);
    check(7, Truncated);
    let mut reading = Reading::of(adapters.get("gemini").unwrap());
    reading.stdout(GOOD[4].text.as_bytes());
    let outcome = reading.finish(Some(53));
    // The final event is evidence; an odd code after it is worth a word.
    assert!(outcome.is_answer() && outcome.drift.len() == 1, "{outcome:?}");
}

#[test]
fn opencode_says_what_went_wrong() {
    let check = |error: &str, expect: ProblemKind, reset: Option<Reset>| {
        let line = format!(r#"{{"type":"error","sessionID":"ses_1","error":{error}}}"#);
        let outcome = read(Parser::OpencodeJson, &line, "");
        assert_eq!((kind(&outcome), outcome.problem.unwrap().reset), (expect, reset), "{error}");
    };
    let api = |status: u16, body: &str| {
        format!(
            r#"{{"name":"APIError","data":{{"message":"m","statusCode":{status},"responseHeaders":{{"retry-after":"1.5"}},"responseBody":"{body}"}}}}"#
        )
    };
    let after = Some(Reset::AfterMs(1500));
    check(&api(429, ""), RateLimit, after);
    check(&api(429, "insufficient_quota"), Quota, after);
    check(&api(529, ""), Overloaded, after);
    check(&api(401, ""), Auth, after);
    check(&api(400, "context_length_exceeded"), ContextLength, after);
    check(&api(400, ""), BadRequest, after);
    check(r#"{"name":"ProviderAuthError","data":{"message":"no key"}}"#, Auth, None);
    check(r#"{"name":"MessageOutputLengthError","data":{}}"#, Truncated, None);
    check(r#"{"name":"MessageAbortedError","data":{"message":"x"}}"#, Interrupted, None);
    let ends = |reason: &str| {
        let text = GOOD[6].text.replace(r#""reason":"stop""#, &format!(r#""reason":"{reason}""#));
        kind(&read(Parser::OpencodeJson, &text, ""))
    };
    assert_eq!(ends("length"), Truncated);
    assert_eq!(ends("content-filter"), Refusal);
    assert_eq!(ends("tool-calls"), Truncated);
    assert_eq!(ends("mystery"), Truncated);
    let asked = read(Parser::OpencodeJson, "", "! permission requested: edit (a.txt); auto-rejecting\n");
    assert_eq!(asked.denials[0].tool, "edit");
}

#[test]
fn aider_says_what_went_wrong() {
    let check = |line: &str, expect: ProblemKind| {
        let text = format!("Aider v0.86.2\nModel: x\n\n{line}\n\n");
        assert_eq!(kind(&read(Parser::AiderText, &text, "")), expect, "{line}");
        let answered = format!("{text}fine\nTokens: 10 sent, 2 received.\n");
        assert!(read(Parser::AiderText, &answered, "").is_answer(), "{line}");
        let after = format!("Aider v0.86.2\n\nfine\nTokens: 10 sent, 2 received.\n{line}\n");
        assert_eq!(kind(&read(Parser::AiderText, &after, "")), expect, "{line}");
    };
    check("litellm.RateLimitError: RateLimitError: OpenAIException - slow down", RateLimit);
    check("litellm.AuthenticationError: AuthenticationError: no key", Auth);
    check("litellm.InternalServerError: InternalServerError: x", Overloaded);
    check("litellm.APIConnectionError: x", Overloaded);
    check("litellm.Timeout: x", Overloaded);
    check("litellm.BadRequestError: OpenAIException - scripted 400", BadRequest);
    check("litellm.NotFoundError: x", BadRequest);
    check("litellm.ContextWindowExceededError: x", ContextLength);
    check("Model x has hit a token limit!", ContextLength);
    check("litellm.RateLimitError: insufficient_quota: check your billing", Quota);
    check("litellm.ContentPolicyViolationError: x", Refusal);
    let stopped = read_cut(Parser::AiderText, GOOD[7].text.as_bytes(), b"", &[], None);
    assert!(!stopped.is_answer(), "the figures are there, the clean end is not");
}

#[test]
fn tribunals_own_events_carry_kinds() {
    for expect in ProblemKind::ALL {
        let line =
            format!(r#"{{"type":"error","kind":"{}","message":"m","retry_after_ms":5}}"#, expect.name());
        let problem = read(Parser::Events, &line, "").why_not().unwrap();
        assert_eq!((problem.kind, problem.reset), (expect, Some(Reset::AfterMs(5))));
    }
    let denied = read(Parser::Events, r#"{"type":"denied","name":"write","message":"no"}"#, "");
    assert_eq!((denied.denials[0].tool.as_str(), denied.denials[0].detail.as_str()), ("write", "no"));
}

#[test]
fn a_json_document_says_what_went_wrong() {
    let check = |text: &str, exit: Option<i32>, expect: Option<ProblemKind>| {
        let outcome = read_cut(Parser::Json, text.as_bytes(), b"", &[], exit);
        assert_eq!(outcome.why_not().map(|problem| problem.kind), expect, "{text}");
    };
    check(r#"{"result":"x"}"#, Some(0), None);
    check(r#"{"result":"x","error":null}"#, Some(0), None);
    check(r#"{"result":"x","error":false}"#, Some(0), None);
    check(r#"{"result":"x"}"#, Some(1), Some(Other));
    check(r#"{"result":"x"}"#, None, Some(Truncated));
    check(r#"{"result":"x","error":"rate limit"}"#, Some(0), Some(RateLimit));
    check(r#"{"result":"x","error":{"code":503,"message":"m"}}"#, Some(0), Some(Overloaded));
    check(r#"{"answer":"x"}"#, Some(0), Some(Truncated));
    check(r#"["x"]"#, Some(0), Some(Truncated));
    check(r#"{"result":"x"} {"result":"y"}"#, Some(0), Some(Truncated));
    let mut adapters = Adapters::built_in().unwrap();
    let row = "[q]\nlike = 'command'\nparser = 'json'\nfields = { text = '/a/b', input = '/n' }";
    adapters.add_toml("t", row).unwrap();
    let mut reading = Reading::of(adapters.get("q").unwrap());
    reading.stdout(br#"{"a":{"b":"deep"},"n":3}"#);
    let outcome = reading.finish(Some(0));
    assert_eq!((outcome.final_text.as_deref(), outcome.usage.unwrap().input), (Some("deep"), 3));
}

#[test]
fn an_answer_by_schema_must_come() {
    let adapters = Adapters::built_in().unwrap();
    let wanting = |name: &str, text: &str| {
        let mut reading = Reading::of(adapters.get(name).unwrap()).wanting_structured(true);
        reading.stdout(text.as_bytes());
        reading.finish(Some(0))
    };
    let claude = |more: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"{{}}","usage":{{}}{more}}}"#
        )
    };
    assert_eq!(kind(&wanting("claude", &claude(""))), Unstructured);
    let answered = wanting("claude", &claude(r#","structured_output":{"verdict":"approve"}"#));
    assert_eq!(answered.structured.as_ref().unwrap()["verdict"], "approve");
    assert!(answered.is_answer());
    assert_eq!(kind(&wanting("codex", GOOD[3].text)), Unstructured);
    let json = wanting("codex", &GOOD[3].text.replace("fine", r#"{\"score\":7}"#));
    assert_eq!(json.structured.unwrap()["score"], 7);
}

#[test]
fn the_same_call_again_and_again_can_be_told() {
    let call = |path: &str| format!(r#"{{"type":"tool","name":"read","args":{{"path":"{path}"}}}}"#);
    let mut reading = Reading::new(Parser::Events);
    let mut again = |path: &str| {
        reading.stdout(format!("{}\n", call(path)).as_bytes());
        reading.so_far().same_call_again()
    };
    assert_eq!([again("a"), again("b"), again("b"), again("b"), again("a")], [1, 1, 2, 3, 1]);
    assert_eq!(reading.so_far().turns, 5);
}

#[test]
fn a_session_id_that_could_be_an_option_is_dropped() {
    for id in ["--yolo", "a b", "../../x", ""] {
        let line = serde_json::json!({"type": "thread.started", "thread_id": id}).to_string();
        let outcome = read(Parser::CodexJsonl, &line, "");
        assert_eq!((outcome.session, outcome.drift.len()), (None, 1), "{id}");
    }
}

#[test]
fn long_outputs_stay_bounded() {
    let call = r#"{"type":"item.completed","item":{"id":"i","type":"web_search","query":"x"}}"#;
    let many: String =
        (0..10_050).map(|n| format!("{}\n", call.replace("\"i\"", &format!("\"i{n}\"")))).collect();
    let outcome = read(Parser::CodexJsonl, &many, "");
    assert_eq!((outcome.calls.len(), outcome.calls_more), (10_000, 50));
    let long = "x".repeat(5 * 1024 * 1024);
    for (parser, text) in [
        (Parser::GeminiStream, GOOD[4].text.replace("\"ne\"", &format!("{long:?}"))),
        (Parser::OpencodeJson, GOOD[6].text.replace("fine", &long)),
        (Parser::CodexJsonl, GOOD[3].text.replace("fine", &long)),
        (Parser::AiderText, GOOD[7].text.replace("fine", &long)),
    ] {
        assert_eq!(kind(&read(parser, &text, "")), Unreadable, "{parser:?}");
    }
}
