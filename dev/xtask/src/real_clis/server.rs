//! The scripted model server: a process of its own on loopback, its rules and what it counted.

use super::Res;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const START_MAX: Duration = Duration::from_secs(20);

/// A running server.
pub struct Server {
    child: Child,
    log: PathBuf,
    /// Its port.
    pub port: u16,
}

/// What was asked of the server in a stretch of its log.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Requests to a model.
    pub requests: u64,
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

impl Server {
    /// Starts it in a folder, with these rules.
    #[expect(clippy::disallowed_methods, reason = "a chore starts its own server")]
    pub fn start(program: &Path, dir: &Path, rules: &Value) -> Res<Server> {
        let at = |name: &str| dir.join(name);
        std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        std::fs::write(at("rules.json"), rules.to_string()).map_err(|error| error.to_string())?;
        std::fs::write(at("log.jsonl"), "").map_err(|error| error.to_string())?;
        let _old = std::fs::remove_file(at("port"));
        let child = std::process::Command::new("python3")
            .arg(program)
            .arg("--script")
            .arg(at("rules.json"))
            .arg("--log")
            .arg(at("log.jsonl"))
            .args(["--port", "0", "--portfile"])
            .arg(at("port"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("python3: {error}"))?;
        let mut server = Server { child, log: at("log.jsonl"), port: 0 };
        server.port = server.wait(&at("port"))?;
        Ok(server)
    }

    /// The server writes its port when it listens; there is nothing else to wait for.
    fn wait(&mut self, file: &Path) -> Res<u16> {
        let (_bell, never) = mpsc::channel::<()>();
        let began = Instant::now();
        while began.elapsed() < START_MAX {
            let port = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
            if let Some(port) = port {
                return Ok(port);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the model server ended: {status}"));
            }
            let _timeout = never.recv_timeout(Duration::from_millis(20));
        }
        Err("the model server does not start".to_owned())
    }

    /// How long its log is now.
    pub fn mark(&self) -> usize {
        std::fs::read(&self.log).map_or(0, |bytes| bytes.len())
    }

    /// What was asked since a mark.
    pub fn since(&self, mark: usize) -> Counted {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(mark..).unwrap_or_default()).into_owned();
        let mut counted = Counted::default();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            // A title is asked for beside the work, and no program counts it.
            if line["api"].is_null() || line["rule"] == json!(0) {
                continue;
            }
            counted.requests += 1;
            let usage = |name: &str| line["usage"][name].as_u64().unwrap_or(0);
            if line["status"] == json!(200) {
                let cached = usage("cache_read_input_tokens") + usage("cache_creation_input_tokens");
                counted.input += usage("input_tokens") + cached + usage("total_in");
                counted.output += usage("output_tokens") + usage("out");
            }
        }
        counted
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The first of all rules: a title is asked for beside the work.
pub fn title() -> Value {
    let system = "(?i)title generator|generate a (short )?title|conversation title";
    json!({"match": {"system": system}, "answer": {"text": "A title"}})
}

/// The rules of an honest model: what it says carries the launch word of the prompt that it received.
pub fn honest(rules: &Value) -> Value {
    let mut rules = rules.clone();
    for rule in rules["rules"].as_array_mut().into_iter().flatten() {
        let said = rule["answer"]["text"].as_str().unwrap_or_default();
        let spoken = tribunal_agent::word::spoken(said, "{1}");
        if let Some(prompt) = rule["match"]["prompt"].as_str().filter(|_| spoken != said) {
            rule["match"]["prompt"] = format!("{prompt}.*\nLaunch word: ([a-z0-9]+)").into();
            rule["answer"]["text"] = spoken.into();
        }
    }
    rules
}

/// The rules of the conformance cases; the prompt names the case.
pub fn rules() -> Value {
    let rule = |prompt: &str, answer: Value| json!({"match": {"prompt": prompt}, "answer": answer});
    let turn = |prompt: &str, turn: Value, answer: Value| json!({"match": {"prompt": prompt, "turn": turn}, "answer": answer});
    // Some search for a tool before they can call it: it is called until it was heard.
    let vote = |prompt: &str, tool: &str, args: Value| {
        let call = json!({"suffix": tool, "else": format!("mcp__tribunal__{tool}"), "ns_else": "mcp__tribunal__", "args": args});
        json!({"match": {"prompt": prompt, "turn": [0, 3], "unless": "heard"}, "answer": {"text": "Reporting.", "tool": call}})
    };
    // Some tell only the message, so it is one that is really sent.
    let status = |code: u16, kind: &str, status: &str, message: &str| {
        let error = json!({"type": kind, "code": code, "status": status, "message": message});
        json!({"status": code, "error": {"type": "error", "error": error}})
    };
    let limited =
        status(429, "rate_limit_error", "RESOURCE_EXHAUSTED", "This request would exceed your rate limit.");
    let broken = status(500, "api_error", "INTERNAL", "Internal server error");
    let busy = status(529, "overloaded_error", "UNAVAILABLE", "Overloaded");
    let stranger = status(401, "authentication_error", "UNAUTHENTICATED", "invalid x-api-key");
    json!({
        "models": ["fake-model", "claude-sonnet-4-5", "gpt-5.5", "gemini-2.5-pro"],
        "rules": [
            title(),
            {"match": {"prompt": "RECALL", "any": "PLAIN question"}, "answer": {"text": "It was the plain question."}},
            rule("RECALL", json!({"text": "I remember nothing."})),
            vote("CASEVOTE", "cast_verdict", json!({"verdict": "approve", "checked": "every task serves a must-have; ran git show --stat, the files are those of the plan"})),
            rule("CASEVOTE", json!({"text": "Reported."})),
            vote("CASEDONE", "report_task_done", json!({"done": true, "summary": "nothing to do"})),
            rule("CASEDONE", json!({"text": "Reported."})),
            rule("WORDSVOTE", json!({"text": "CHECKED: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT: approve"})),
            rule("AIDERWRITE (\\S+)", json!({"text": "I create it.\n\n{1}\n```\nhello from the script\n```\n"})),
            turn("CASEWRITE (\\S+)", json!(0), json!({"text": "I write it.", "write": {"path": "{1}", "content": "hello from the script\n"}})),
            rule("CASEWRITE (\\S+)", json!({"text": "Done: handled {1}."})),
            turn("CASEPLUGIN", json!(0), json!({"shell": "git commit --allow-empty -m nonsense"})),
            rule("CASEPLUGIN", json!({"text": "Tried."})),
            turn("CASESLOW", json!(0), json!({"shell": "setsid sleep 600 & sleep 601 & sleep 602"})),
            rule("CASESLOW", json!({"text": "Slept."})),
            rule("CASELOOP", json!({"shell": "echo {nreq}"})),
            rule("CASE429", limited),
            rule("CASE500", broken),
            rule("CASE529", busy),
            rule("CASE401", stranger),
            rule("CASETRUNC", json!({"text": super::cases::CUT, "truncate": 2})),
            rule("CASEHANG", json!({"text": "This answer hangs.", "hang": 600})),
            rule("PLAIN", json!({"text": "The plain answer is 42."})),
        ],
        "default": {"text": "OK"},
    })
}
