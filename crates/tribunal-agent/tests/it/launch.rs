//! From a row and a brief to a launch.

use crate::rows::ROW;
use std::ffi::OsString;
use std::path::Path;
use tribunal_agent::{Access, Adapters, Asks, Brief, Feature, Left, Mcp, Prepared, prepare, read_launch};

fn brief(root: &Path) -> Brief {
    Brief {
        run: "run-1".into(),
        effect: "task-3/e7/judge:security#1".into(),
        role: "reviewer".into(),
        loop_use: "task".into(),
        plan: Some("01-02".into()),
        task: Some("3".into()),
        reviewer: None,
        round: 2,
        attempt: 1,
        prompt: "judge this".into(),
        word: None,
        dir: root.join("tree"),
        access: Access::ReadOnly,
        out_dir: root.join("out"),
        model: None,
        args: Vec::new(),
        scenario: None,
        own_binary: "/opt/tribunal".into(),
        env: [("EXTRA".into(), "1".into()), ("TRIBUNAL_ROLE".into(), "forged".into())].into(),
    }
}

fn adapters() -> Adapters {
    let mut adapters = Adapters::built_in().unwrap();
    adapters.add_toml("test", &format!("[robot]\n{ROW}")).unwrap();
    adapters
}

fn user(name: &str) -> Option<OsString> {
    let known = [("PATH", "/bin"), ("HOME", "/home/u"), ("ROBOT_KEY", "secret"), ("OTHER_SECRET", "no")];
    known.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
}

fn ready(name: &str, brief: &Brief) -> Result<Prepared, String> {
    prepare(adapters().get(name).unwrap(), brief, &Asks::default(), &user).map_err(|error| error.to_string())
}

#[test]
fn words_stay_words_and_optional_groups_go_together() {
    let root = tempfile::tempdir().unwrap();
    let tree = root.path().join("tree");
    let check = |change: &dyn Fn(&mut Brief), expect: &[&str]| {
        let mut brief = brief(root.path());
        change(&mut brief);
        let prepared = ready("robot", &brief).unwrap();
        assert_eq!(prepared.argv, expect.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!((prepared.dir.as_path(), &prepared.stdin_file), (tree.as_path(), &None));
    };
    let dir = tree.to_str().unwrap();
    check(&|_| {}, &["robot", "--ask", "--model", "m-default", "-C", dir, "--", "judge this"]);
    let named = |brief: &mut Brief| {
        brief.model = Some("m 2".into());
        brief.reviewer = Some("sec; rm -rf /".into());
        brief.prompt = "$(x) {dir}\n".into();
    };
    check(
        &named,
        &["robot", "--ask", "--model", "m 2", "--reviewer=sec; rm -rf /", "-C", dir, "--", "$(x) {dir}\n"],
    );
    let writer = |brief: &mut Brief| {
        brief.access = Access::Write;
        brief.args = vec!["--fast".into(), "{dir}".into()];
    };
    check(&writer, &["robot", "--edit", "--fast", "{dir}", "--", "judge this"]);
}

#[test]
fn the_environment_is_built_from_nothing() {
    let root = tempfile::tempdir().unwrap();
    let env = ready("robot", &brief(root.path())).unwrap().env;
    let out = root.path().join("out");
    let shown: Vec<_> =
        env.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
    let expect = [
        "EXTRA=1".to_owned(),
        "HOME=/home/u".to_owned(),
        "LANG=C.UTF-8".to_owned(),
        "PATH=/bin".to_owned(),
        "ROBOT_KEY=secret".to_owned(),
        format!("ROBOT_LOG={}/robot.log", out.display()),
        r#"ROBOT_PERMISSION={"edit":"deny"}"#.to_owned(),
        "TRIBUNAL_ATTEMPT=1".to_owned(),
        "TRIBUNAL_EFFECT=task-3/e7/judge:security#1".to_owned(),
        "TRIBUNAL_PLAN=01-02".to_owned(),
        format!("TRIBUNAL_REPORT={}/report.jsonl", out.display()),
        "TRIBUNAL_REVIEWER=".to_owned(),
        "TRIBUNAL_ROLE=reviewer".to_owned(),
        "TRIBUNAL_ROUND=2".to_owned(),
        "TRIBUNAL_TASK=3".to_owned(),
        "TRIBUNAL_USE=task".to_owned(),
    ];
    assert_eq!(shown, expect);
}

#[test]
fn only_the_prompt_is_written_whole_and_never_through_a_link() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(root.path().join("target"), "kept").unwrap();
    std::os::unix::fs::symlink(root.path().join("target"), out.join("prompt.md")).unwrap();
    let mut brief = brief(root.path());
    brief.args = vec!["prog".into()];
    let prepared = ready("command", &brief).unwrap();
    assert_eq!(prepared.stdin_file, Some(out.join("prompt.md")));
    assert_eq!(std::fs::read_to_string(out.join("prompt.md")).unwrap(), "judge this");
    assert_eq!(std::fs::read_to_string(root.path().join("target")).unwrap(), "kept");
    let names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["prompt.md"]);
}

#[test]
fn what_cannot_be_launched_is_said() {
    let root = tempfile::tempdir().unwrap();
    let check = |name: &str, change: &dyn Fn(&mut Brief), expect: &str| {
        let mut brief = brief(root.path());
        change(&mut brief);
        let error = ready(name, &brief).unwrap_err();
        assert!(error.starts_with(&format!("adapter `{name}`: ")) && error.contains(expect), "{error}");
        assert!(!brief.out_dir.exists(), "nothing is written for a launch that cannot be");
    };
    check("command", &|_| {}, "no program to run");
    check("scripted", &|_| {}, "no value for {scenario}");
    check("robot", &|brief| brief.prompt = "x".repeat(200_000), "hint: pass the prompt as `stdin` or `file`");
    check("robot", &|brief| brief.prompt = "a\0b".into(), "NUL");
    check(
        "robot",
        &|brief| drop(brief.env.insert("A=B".into(), "".into())),
        "no name of an environment variable",
    );
}

#[test]
fn a_prepared_scripted_launch_runs_and_is_read() {
    let stage = crate::stage::Stage::new(
        r#"
        [[turn]]
        role = "reviewer"
        plan = "01-02"
        task = 3
        round = 2
        do = [
          { expect = "judge this" },
          { report = { tool = "cast_verdict", args = { verdict = "approve" } } },
          { say = "fine" },
        ]"#,
    );
    let mut brief = brief(stage.root.path());
    brief.scenario = Some(stage.scenario());
    brief.own_binary = env!("CARGO_BIN_EXE_scripted-agent").into();
    let prepared = ready("scripted", &brief).unwrap();
    let status = crate::stage::command(prepared.argv[0].to_str().unwrap())
        .args(&prepared.argv[1..])
        .env_clear()
        .envs(&prepared.env)
        .current_dir(&prepared.dir)
        .stdin(std::fs::File::open(prepared.stdin_file.unwrap()).unwrap())
        .stdout(std::fs::File::create(stage.at("stdout")).unwrap())
        .status()
        .unwrap();
    let outcome = crate::stage::left(&stage.at("stdout"), &prepared.report_file, status.code());
    assert!(outcome.is_answer(), "{outcome:?}");
    assert_eq!(outcome.reports[0].tool, "cast_verdict");
    assert!(stage.unused().is_empty());
}

fn everything() -> Asks {
    Asks {
        personality: Some("Be \"strict\".\n".into()),
        turns: Some(7),
        mcp: Some(Mcp {
            name: "tribunal".into(),
            command: "/opt/tri bunal".into(),
            args: vec!["mcp".into()],
        }),
        schema: Some(r#"{"type":"object"}"#.into()),
        session: Some("0a-1b".into()),
    }
}

fn asked(name: &str, access: Access, asks: &Asks, root: &Path) -> Prepared {
    let mut brief = brief(root);
    brief.access = access;
    brief.model = Some("m1".into());
    prepare(adapters().get(name).unwrap(), &brief, asks, &user).unwrap()
}

fn line(prepared: &Prepared) -> String {
    let words: Vec<_> = prepared.argv.iter().map(|arg| arg.to_str().unwrap()).collect();
    words.join(" ")
}

#[test]
fn each_program_gets_what_is_asked_in_its_own_way() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    let check = |name: &str, access: Access, expect: &str, left_out: &[Feature]| {
        let prepared = asked(name, access, &everything(), root.path());
        assert_eq!(line(&prepared).replace(out.to_str().unwrap(), "OUT"), expect, "{name}");
        assert_eq!(prepared.left_out, left_out, "{name}");
    };
    let claude = |how: &str| {
        format!(
            "claude -p --output-format stream-json --verbose {how} --strict-mcp-config --mcp-config OUT/mcp.json \
             --allowedTools mcp__tribunal --model m1 --append-system-prompt Be \"strict\".\n --max-turns 7 \
             --json-schema {{\"type\":\"object\"}} --resume 0a-1b"
        )
    };
    check("claude", Access::ReadOnly, &claude("--tools Read,Grep,Glob"), &[]);
    check("claude", Access::Write, &claude("--permission-mode acceptEdits --allowedTools Bash"), &[]);
    let codex = "codex exec --json --skip-git-repo-check -s read-only -m m1 -c developer_instructions=\"Be \\\"strict\\\".\\n\" \
        -c mcp_servers.tribunal={command=\"/opt/tri bunal\",args=[\"mcp\"]} \
        -c mcp_servers.tribunal.default_tools_approval_mode=\"approve\" --output-schema OUT/schema.json resume 0a-1b -";
    check("codex", Access::ReadOnly, codex, &[Feature::TurnCap]);
    check("codex", Access::Write, &codex.replace("read-only", "workspace-write"), &[Feature::TurnCap]);
    let gemini = "gemini --skip-trust -o stream-json --approval-mode default -m m1 --resume 0a-1b";
    check("gemini", Access::ReadOnly, gemini, &[Feature::Schema]);
    let opencode = "opencode run --format json -m m1 -s 0a-1b";
    check("opencode", Access::Write, opencode, &[Feature::TurnCap, Feature::Schema]);
    let prepared = asked("aider", Access::ReadOnly, &everything(), root.path());
    let expect = [Feature::TurnCap, Feature::Mcp, Feature::Schema, Feature::Resume];
    assert_eq!(prepared.left_out, expect);
    assert!(line(&prepared).ends_with("/out/prompt.md") && prepared.stdin_file.is_none());
}

#[test]
fn what_codex_is_told_is_toml_and_what_the_others_are_told_is_json() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| std::fs::read_to_string(root.path().join("out").join(name)).unwrap();
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let codex = asked("codex", Access::Write, &everything(), root.path());
    let settings: Vec<_> = codex.argv.windows(2).filter(|pair| pair[0] == "-c").collect();
    let text = settings.iter().map(|pair| pair[1].to_str().unwrap()).collect::<Vec<_>>().join("\n");
    // The approval of a server is told apart from the server.
    let table: toml::Table = text.lines().take(2).collect::<Vec<_>>().join("\n").parse().unwrap();
    assert_eq!(table["developer_instructions"].as_str(), Some("Be \"strict\".\n"));
    assert_eq!(table["mcp_servers"]["tribunal"]["command"].as_str(), Some("/opt/tri bunal"));
    assert_eq!(at("schema.json"), r#"{"type":"object"}"#);

    asked("claude", Access::ReadOnly, &everything(), root.path());
    assert_eq!(json(&at("mcp.json"))["mcpServers"]["tribunal"]["args"][0], "mcp");

    asked("gemini", Access::ReadOnly, &everything(), root.path());
    let settings = json(&at("settings.json"));
    assert_eq!(settings["model"]["maxSessionTurns"], 7);
    assert_eq!(settings["mcpServers"]["tribunal"]["command"], "/opt/tri bunal");
    let told = at("prompt.md");
    assert!(told.starts_with("judge this\n"), "what others are told too comes first: {told}");
    assert!(told.ends_with("form of your answer.\n\nBe \"strict\".\n"), "{told}");
    asked("gemini", Access::ReadOnly, &Asks::default(), root.path());
    assert_eq!(json(&at("settings.json")), serde_json::json!({"model": {"maxSessionTurns": -1}}));

    let opencode = asked("opencode", Access::ReadOnly, &everything(), root.path());
    let value =
        |name: &str| opencode.env.get(&OsString::from(name)).map(|value| json(value.to_str().unwrap()));
    assert_eq!(value("OPENCODE_PERMISSION").unwrap()["edit"], "deny");
    assert_eq!(value("OPENCODE_CONFIG_CONTENT").unwrap()["mcp"]["tribunal"]["command"][0], "/opt/tri bunal");
    let writer = asked("opencode", Access::Write, &Asks::default(), root.path());
    assert!(
        !writer.env.keys().any(|name| name == "OPENCODE_PERMISSION" || name == "OPENCODE_CONFIG_CONTENT")
    );
}

#[test]
fn nothing_is_passed_that_was_not_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let bare = |name: &str| line(&ready(name, &brief(root.path())).unwrap());
    assert_eq!(
        bare("claude"),
        "claude -p --output-format stream-json --verbose --tools Read,Grep,Glob --strict-mcp-config"
    );
    assert_eq!(bare("codex"), "codex exec --json --skip-git-repo-check -s read-only -");
    assert_eq!(bare("opencode"), "opencode run --format json");
    let names: Vec<_> =
        std::fs::read_dir(root.path().join("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["prompt.md"]);
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_is_written() {
    let root = tempfile::tempdir().unwrap();
    let brief = brief(root.path());
    let check = |name: &str, change: &dyn Fn(&mut Asks), expect: &str| {
        let mut asks = everything();
        change(&mut asks);
        let error = prepare(adapters().get(name).unwrap(), &brief, &asks, &user).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
        assert!(!brief.out_dir.exists());
    };
    for session in ["--dangerously-skip-permissions", "", "../x", "a b", "a\nb"] {
        check("claude", &|asks| asks.session = Some(session.into()), "is no session id");
    }
    let named = |asks: &mut Asks, name: &str| asks.mcp.as_mut().unwrap().name = name.into();
    check("codex", &|asks| named(asks, "a.b=1"), "is no name for an MCP server");
    check("acp", &|_| {}, "no program to run\nhint: configure the agent's words");
}

#[test]
fn a_sixth_program_is_one_row() {
    let root = tempfile::tempdir().unwrap();
    let mut adapters = Adapters::built_in().unwrap();
    let row = r#"
        [sixth]
        like = "claude"
        program = "sixth"
        commit_signature = "Sixth <sixth@example.invalid>"
        read_only = ["{program}", "ask", "--format=stream-json", ["--as", "{personality_file}"], ["--go-on={session}"]]
        keep_env = ["HOME", "ROBOT_KEY"]
    "#;
    adapters.add_toml("tribunal.toml", row).unwrap();
    let sixth = adapters.get("sixth").unwrap();
    let prepared = prepare(sixth, &brief(root.path()), &everything(), &user).unwrap();
    let expect = format!(
        "sixth ask --format=stream-json --as {}/out/personality.md --go-on=0a-1b",
        root.path().display()
    );
    assert_eq!(line(&prepared), expect);
    assert_eq!(std::fs::read_to_string(root.path().join("out/personality.md")).unwrap(), "Be \"strict\".\n");
    let mut reading = tribunal_agent::Reading::of(sixth);
    reading.stdout(br#"{"type":"result","subtype":"success","is_error":false,"result":"fine","usage":{}}"#);
    assert!(reading.finish(Some(0)).is_answer());
}

#[test]
fn what_a_launch_left_is_read_with_its_row() {
    let root = tempfile::tempdir().unwrap();
    let (stdout, stderr, report) = (root.path().join("o"), root.path().join("e"), root.path().join("r"));
    let read = |name: &str, out: &str, err: &str, exit: i32| {
        std::fs::write(&stdout, out).unwrap();
        std::fs::write(&stderr, err).unwrap();
        let before = tribunal_core::usage::SessionTotals { input: 3, ..Default::default() };
        let left = Left {
            stdout: &stdout,
            stderr: &stderr,
            report: &report,
            exit: Some(exit),
            before,
            structured: false,
        };
        read_launch(adapters().get(name).unwrap(), &left).unwrap()
    };
    let kind = |outcome: tribunal_agent::Outcome| outcome.why_not().unwrap().kind;
    assert_eq!(kind(read("gemini", "", "", 53)), tribunal_agent::ProblemKind::MaxTurns);
    let sent = "_ApiError: {\"error\":{\"code\":429,\"message\":\"x\"}}\n";
    assert_eq!(kind(read("gemini", "", sent, 1)), tribunal_agent::ProblemKind::RateLimit);
    let turn =
        r#"{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":2}}"#;
    let codex = read("codex", turn, "ERROR codex: error=patch rejected: no\n", 0);
    assert_eq!((codex.usage.unwrap().input, codex.denials.len(), codex.is_answer()), (7, 1, true));
    std::fs::remove_file(&stderr).unwrap();
    std::os::unix::fs::symlink(&stdout, &stderr).unwrap();
    let left = Left {
        stdout: &stdout,
        stderr: &stderr,
        report: &report,
        exit: Some(0),
        before: Default::default(),
        structured: false,
    };
    assert!(!read_launch(adapters().get("codex").unwrap(), &left).unwrap().is_answer());
}
