//! Editor agents: the real program as an MCP server, spoken to by the official client over pipes. What they read is true
//! and harmless; what they say is kept and settles nothing.

use crate::review_tools::Project;
use crate::show::Show;
use crate::stage::Stage;
use crate::stage::scenes::{PLAIN, STUCK, STUCK_SETTINGS, Scene};
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::Runtime;
use tribunal_core::finding::Fate;

/// A session of an editor agent.
struct Editor {
    child: Child,
    runtime: Runtime,
    service: RunningService<RoleClient, ClientConfig>,
}

impl Editor {
    /// Starts the server and shakes hands with it.
    #[expect(clippy::disallowed_methods, reason = "it plays an editor, which starts programs as it likes")]
    fn open(stage: &Stage, name: &str) -> Editor {
        let program = stage.program();
        let mut child = Command::new(&program.binary)
            .args(["mcp", "--serve"])
            .current_dir(&program.dir)
            .env_clear()
            .envs(program.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = ClientConfig::new(ClientCapabilities::default(), Implementation::new(name, "1.0"));
        let service = runtime.block_on(async {
            let reads = Receiver::from_owned_fd(OwnedFd::from(stdout)).unwrap();
            let writes = Sender::from_owned_fd(OwnedFd::from(stdin)).unwrap();
            client.serve((reads, writes)).await.unwrap()
        });
        Editor { child, runtime, service }
    }

    fn tools(&self) -> Vec<String> {
        let tools = self.runtime.block_on(self.service.list_all_tools()).unwrap();
        tools.into_iter().map(|tool| tool.name.to_string()).collect()
    }

    /// Calls a tool: whether it was taken, and the text.
    fn call(&self, tool: &'static str, args: Value) -> (bool, String) {
        let request = CallToolRequestParams::new(tool).with_arguments(args.as_object().cloned().unwrap());
        let result = self.runtime.block_on(self.service.call_tool(request)).unwrap();
        let text = result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone());
        (result.is_error != Some(true), text.collect())
    }

    /// Calls a tool that answers.
    #[track_caller]
    fn ask(&self, tool: &'static str, args: Value) -> Value {
        let (taken, text) = self.call(tool, args);
        assert!(taken, "{tool}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Calls a tool that refuses.
    #[track_caller]
    fn refused(&self, tool: &'static str, args: Value) -> String {
        let (taken, text) = self.call(tool, args);
        assert!(!taken, "{tool}: {text}");
        text
    }

    /// Processes it has started and that live.
    fn children(&self) -> String {
        let pid = self.child.id();
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap()
    }

    /// Ends the session as editors do: its input ends.
    fn close(mut self) -> Option<i32> {
        self.runtime.block_on(self.service.cancel()).unwrap();
        self.child.wait().unwrap().code()
    }
}

/// Waits for the end of a run.
fn ended(stage: &Stage, run: &str) {
    stage.tribunal(&["log", "--follow", run]).unwrap();
}

#[test]
fn a_review_is_started_read_and_answered() {
    let project = Project::new("fine\n", "fine\nthis is \u{1b}[31mbad\n");
    let editor = Editor::open(&project.stage, "editor");
    assert_eq!(
        editor.tools(),
        [
            "start_review",
            "get_run",
            "list_findings",
            "get_finding",
            "claim_finding",
            "answer_finding",
            "see_inbox"
        ]
    );
    let run = editor.ask("start_review", json!({"diff": "main..HEAD"}))["run"].as_str().unwrap().to_owned();
    assert_eq!(project.stage.runs(), std::slice::from_ref(&run));
    ended(&project.stage, &run);
    let stands = editor.ask("get_run", json!({"run": run}));
    // The tool's, and one for the escape that nobody sees.
    assert_eq!((&stands["ending"], &stands["findings"]["open"]), (&json!("shut"), &json!(2)), "{stands}");
    let listed = editor.ask("list_findings", json!({}));
    assert_eq!(listed["findings"][0]["where"], "a.txt:2", "{listed}");
    let (_, text) = editor.call("get_finding", json!({"id": "F-1"}));
    assert!(!text.contains('\u{1b}') && !text.contains("\\u001b"), "{text}");
    let one: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(one["code"], "    1  fine\n    2  this is ⟦U+001B⟧[31mbad\n", "{one}");
    assert!(!one["story"].as_array().unwrap().is_empty(), "{one}");

    let other = Editor::open(&project.stage, "other");
    editor.ask("claim_finding", json!({"id": "F-1"}));
    assert!(other.refused("claim_finding", json!({"id": "F-1"})).contains("looked at by editor#"));
    let words = json!({"id": "F-1", "stance": "fixed", "text": "fixed \u{1b}[2Jit"});
    let said = editor.ask("answer_finding", words)["recorded"].as_str().unwrap().to_owned();
    assert!(said.ends_with("answers (fixed): fixed it"), "{said}");
    editor.ask("claim_finding", json!({"id": "F-1", "release": true}));
    other.ask("claim_finding", json!({"id": "F-1"}));
    let one = other.ask("get_finding", json!({"id": "F-1"}));
    assert_eq!(one["remarks"].as_array().unwrap().len(), 4, "{one}");
    assert!(one["claimed_by"].as_str().unwrap().starts_with("other#"), "{one}");
    // What was said settles nothing.
    assert_eq!(one["finding"]["fate"], listed["findings"][0]["fate"]);
    let (_, run_state) = project.stage.newest().unwrap().unwrap();
    let open = run_state
        .loops
        .values()
        .flat_map(|review_loop| review_loop.ledger().iter())
        .all(|(_, entry)| entry.fate != Fate::Fixed);
    assert!(open);
    let shown = project.stage.tribunal(&["show", "F-1"]).unwrap();
    assert!(shown.stdout.contains("answers (fixed): fixed it"), "{}", shown.said());
    assert_eq!((editor.close(), other.close()), (Some(0), Some(0)));
}

#[test]
fn a_review_goes_on_when_the_editor_is_closed() {
    let project = Project::new("fine\n", "fine\nbad\n");
    let editor = Editor::open(&project.stage, "editor");
    let run = editor.ask("start_review", json!({"diff": "main..HEAD"}))["run"].as_str().unwrap().to_owned();
    assert_eq!(editor.close(), Some(0));
    ended(&project.stage, &run);
    let (_, run_state) = project.stage.newest().unwrap().unwrap();
    assert!(run_state.run.unwrap().ending().is_some());
}

#[test]
fn what_cannot_be_reviewed_is_said() {
    let project = Project::new("fine\n", "fine\nbad\n");
    let editor = Editor::open(&project.stage, "editor");
    let told = editor.refused("start_review", json!({"diff": "no-such..HEAD"}));
    assert!(told.contains("the review did not begin") && told.contains("no-such"), "{told}");
    let told = editor.ask("start_review", json!({"staged": true}));
    assert!(told["run"].is_null() && told["note"].as_str().unwrap().contains("nothing changed"), "{told}");
    assert!(editor.refused("start_review", json!({"diff": "--output=x"})).contains("no range"));
    assert!(editor.refused("get_finding", json!({"id": "F-1"})).contains("no run"));
    assert!(editor.refused("decide", json!({"id": "x", "option": "accept"})).contains("no tool"));
    assert_eq!(project.stage.runs(), Vec::<String>::new());
    assert_eq!(editor.children(), "");
    editor.close();
}

#[test]
fn the_inbox_is_read_only_and_reading_starts_nothing() {
    let mut show = Show::of(&Scene { script: STUCK, settings: STUCK_SETTINGS, ..PLAIN });
    let waits = show.tribunal(&["run"]);
    assert_eq!(waits.code, Some(4), "{}", waits.said());
    let editor = Editor::open(&show.stage, "editor");
    let inbox = editor.ask("see_inbox", json!({}));
    assert!(inbox["note"].as_str().unwrap().contains("A person decides"), "{inbox}");
    let command = inbox["questions"][0]["a_person_may_answer"][0]["command"].as_str().unwrap();
    assert!(command.starts_with("tribunal decide "), "{inbox}");
    let questions = show.questions();
    for (tool, args) in [
        ("get_run", json!({})),
        ("list_findings", json!({"fate": "all"})),
        ("get_finding", json!({"id": "F-1"})),
        ("see_inbox", json!({})),
        ("answer_finding", json!({"id": "F-1", "stance": "fixed", "text": "accept it"})),
    ] {
        editor.ask(tool, args);
        assert_eq!(editor.children(), "", "{tool}");
    }
    assert_eq!(show.questions(), questions, "no question is answered by it");
    editor.close();
    show.untouched_but(&[]);
}

/// The dev of the second round is at work while the editor speaks.
const SLOW: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
plan = "01-01"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:1] issue: it prints the wrong word\nVERDICT: reject" } ]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 2
do = [
  { run = ["sh", "-c", "echo > '{ROOT}/at-work'"] },
  { wait = "file:heard" },
  { write = "bin/one.sh", text = "echo uno\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: it prints uno.\nTASK: done" },
]
"##;

#[test]
fn what_is_said_of_a_live_run_is_in_its_journal() {
    let mut show = Show::script(SLOW);
    let running = show.at_work();
    let editor = Editor::open(&show.stage, "editor");
    editor.ask("answer_finding", json!({"id": "F-1", "stance": "disputed", "text": "one is right"}));
    editor.close();
    show.stage.open("heard").unwrap();
    let ended = running.wait().unwrap();
    show.after(&["run"], ended);
    let log = show.expect(&["log", "--all"], 0);
    assert!(log.stdout.contains("answers (disputed): one is right"), "{}", log.stdout);
    show.expect(&["replay"], 0);
}

#[test]
fn an_agent_of_a_run_gets_no_desk() {
    let project = Project::new("fine\n", "fine\nbad\n");
    let marker = [("TRIBUNAL_MARKER", std::ffi::OsStr::new("run/1"))];
    let ended = project.stage.program().run(&["mcp", "--serve"], &marker).unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    let ended = project.stage.tribunal(&["mcp"]).unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.said());
}
