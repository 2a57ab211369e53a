//! Transcripts written for the tests: one that ends well per parser.

use tribunal_agent::{Outcome, Parser, Reading};

/// A transcript that ends well, and what of it must be there for that.
pub struct Good {
    /// The parser it is for.
    pub parser: Parser,
    /// The output.
    pub text: &'static str,
    /// Everything up to the end of its final event is needed; this is the last of it.
    pub last: &'static str,
    /// The final message.
    pub says: &'static str,
}

/// One transcript per parser that knows a final event.
pub const GOOD: [Good; 8] = [
    Good {
        parser: Parser::Events,
        text: "{\"type\":\"start\",\"session\":\"s\"}\n{\"type\":\"tool\",\"name\":\"t\",\"args\":{\"a\":1}}\n{\"type\":\"final\",\"text\":\"fine\"}\n",
        last: "\"fine\"}",
        says: "fine",
    },
    Good {
        parser: Parser::Json,
        text: "{\n \"result\": \"fine\",\n \"session_id\": \"s-1\"\n}\n",
        last: "\"s-1\"\n}",
        says: "fine",
    },
    Good {
        parser: Parser::ClaudeStreamJson,
        text: concat!(
            r#"{"type":"system","subtype":"init","session_id":"s-1"}"#,
            "\n",
            r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","name":"Read","input":{"f":"é"}}],"usage":{"input_tokens":5,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s-1"}"#,
            "\n",
            r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"fine"}]},"parent_tool_use_id":null}"#,
            "\n",
            r#"{"type":"result","subtype":"success","is_error":false,"result":"fine","num_turns":2,"session_id":"s-1","total_cost_usd":0.5,"usage":{"input_tokens":7,"cache_read_input_tokens":3,"output_tokens":2}}"#,
            "\n",
        ),
        last: "\"output_tokens\":2}}",
        says: "fine",
    },
    Good {
        parser: Parser::CodexJsonl,
        text: concat!(
            r#"{"type":"thread.started","thread_id":"t-1"}"#,
            "\n",
            r#"{"type":"turn.started"}"#,
            "\n",
            r#"{"type":"item.started","item":{"id":"i0","type":"command_execution","command":"ls","status":"in_progress"}}"#,
            "\n",
            r#"{"type":"item.completed","item":{"id":"i0","type":"command_execution","command":"ls","status":"completed"}}"#,
            "\n",
            r#"{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"fine"}}"#,
            "\n",
            r#"{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2}}"#,
            "\n",
        ),
        last: "\"output_tokens\":2}}",
        says: "fine",
    },
    Good {
        parser: Parser::GeminiStream,
        text: concat!(
            r#"{"type":"init","session_id":"g-1"}"#,
            "\n",
            r#"{"type":"message","role":"assistant","content":"I look.","delta":true}"#,
            "\n",
            r#"{"type":"tool_use","tool_name":"read_file","tool_id":"x","parameters":{"p":1}}"#,
            "\n",
            r#"{"type":"tool_result","tool_id":"x","status":"success"}"#,
            "\n",
            r#"{"type":"message","role":"assistant","content":"fi","delta":true}"#,
            "\n",
            r#"{"type":"message","role":"assistant","content":"ne","delta":true}"#,
            "\n",
            r#"{"type":"result","status":"success","stats":{"total_tokens":15,"input_tokens":10,"output_tokens":3,"cached":4}}"#,
            "\n",
        ),
        last: "\"cached\":4}}",
        says: "fine",
    },
    Good {
        parser: Parser::GeminiJson,
        text: "{\n \"session_id\": \"g-1\",\n \"response\": \"fine\",\n \"stats\": {\"models\": {\"m\": {\"api\": {\"totalRequests\": 1}, \"tokens\": {\"prompt\": 10, \"candidates\": 2, \"thoughts\": 1, \"cached\": 4}}}}\n}\n",
        last: "}}}}\n}",
        says: "fine",
    },
    Good {
        parser: Parser::OpencodeJson,
        text: concat!(
            r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#,
            "\n",
            r#"{"type":"tool_use","sessionID":"ses_1","part":{"tool":"read","state":{"status":"completed","input":{"p":1}}}}"#,
            "\n",
            r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"tool-calls","tokens":{"input":5,"output":1,"reasoning":0,"cache":{"read":0,"write":0}},"cost":0.01}}"#,
            "\n",
            r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#,
            "\n",
            r#"{"type":"text","sessionID":"ses_1","part":{"text":"fine"}}"#,
            "\n",
            r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"input":1,"output":1,"reasoning":2,"cache":{"read":5,"write":0}},"cost":0.002}}"#,
            "\n",
        ),
        last: "\"cost\":0.002}}",
        says: "fine",
    },
    Good {
        parser: Parser::AiderText,
        text: "Some warning\nAider v0.86.2\nModel: x\n\nfine\nTokens: 1.2k sent, 300 cache hit, 7 received. Cost: $0.0025 message, $0.01 session.\n\nApplied edit to a\n",
        last: "received.",
        says: "fine",
    },
];

/// Reads an output in pieces cut at these places.
pub fn read_cut(parser: Parser, stdout: &[u8], stderr: &[u8], cuts: &[usize], exit: Option<i32>) -> Outcome {
    let mut reading = Reading::new(parser);
    let pieces = |bytes: &[u8], take: &mut dyn FnMut(&[u8])| {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (*cut).min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.windows(2).for_each(|pair| take(&bytes[pair[0]..pair[1]]));
    };
    pieces(stdout, &mut |piece| reading.stdout(piece));
    pieces(stderr, &mut |piece| reading.stderr(piece));
    reading.finish(exit)
}

/// Reads an output at once.
pub fn read(parser: Parser, stdout: &str, stderr: &str) -> Outcome {
    read_cut(parser, stdout.as_bytes(), stderr.as_bytes(), &[], Some(0))
}
