//! Adapter rows: what is read and what is refused.

use tribunal_agent::{Access, Adapters, Feature, Parser, PromptBy, Tested};

/// A row that looks like a real agent program.
pub const ROW: &str = r#"
parallel_execution = true
structured_messaging = true
spawn_agent_personality = "prompt"
collect_results = "report_or_final"
model_execution = "m-default"
commit_signature = "Robot <robot@example.invalid>"
prompt = "argument"
parser = "events"
read_only = ["robot", "--ask", ["--model", "{model}"], ["--reviewer={reviewer}"], "-C", "{dir}", "--", "{prompt}"]
write = ["robot", "--edit", "{args}", "--", "{prompt}"]
keep_env = ["ROBOT_KEY", "HOME"]
env = { ROBOT_PERMISSION = '{"edit":"deny"}', ROBOT_LOG = "{out_dir}/robot.log" }
"#;

fn add(row: &str) -> Result<Adapters, String> {
    let mut adapters = Adapters::built_in().unwrap();
    let added = adapters.add_toml("tribunal.toml", row);
    added.map(|()| adapters).map_err(|error| error.to_string())
}

#[test]
fn the_built_in_rows_are_sound() {
    let adapters = Adapters::built_in().unwrap();
    let names: Vec<_> = adapters.names().collect();
    assert_eq!(names, ["acp", "aider", "claude", "codex", "command", "gemini", "opencode", "scripted"]);
    let scripted = adapters.get("scripted").unwrap();
    assert_eq!((scripted.parser, scripted.prompt), (Parser::Events, PromptBy::Stdin));
    assert_eq!(scripted.timeout_ms, 600_000);
    assert!(scripted.canonical().starts_with("[scripted]\n"));
    let error = adapters.get("robot").unwrap_err().to_string();
    assert!(error.contains("`robot`") && error.contains("acp, aider, claude, codex, command"), "{error}");
}

#[test]
fn a_new_program_is_a_row() {
    let adapters = add(&format!("[robot]\n{ROW}")).unwrap();
    assert_eq!(adapters.get("robot").unwrap().keep_env, ["ROBOT_KEY", "HOME"]);
}

#[test]
fn a_missing_key_is_named_each_and_all() {
    let keys = ROW.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key);
    for key in keys.filter(|key| !["keep_env", "env"].contains(key)) {
        let lines: Vec<_> = ROW.lines().filter(|line| !line.starts_with(&format!("{key} "))).collect();
        let error = add(&format!("[robot]\n{}", lines.join("\n"))).unwrap_err();
        assert_eq!(error, format!("tribunal.toml: adapter `robot`: missing required key(s): {key}"));
    }
    let error = add("[robot]\nprompt = 'stdin'").unwrap_err();
    assert!(error.contains("parallel_execution, structured_messaging"), "{error}");
}

#[test]
fn faults_in_rows_are_named() {
    let check = |from: &str, to: &str, expect: &str| {
        let row = ROW.replace(from, to);
        assert_ne!(row, ROW, "{from}");
        let error = add(&format!("[robot]\n{row}")).unwrap_err();
        assert!(error.contains("adapter `robot`: ") && error.contains(expect), "{to}: {error}");
    };
    check("keep_env", "kep_env", "unknown key(s): kep_env\nhint: a row has");
    check(
        "parallel_execution = true",
        "parallel_execution = 1",
        "`parallel_execution` must be true or false",
    );
    check("\"argument\"", "\"telepathy\"", "`prompt` must be one of stdin, argument, file, not `telepathy`");
    check(
        "\"events\"",
        "\"xml\"",
        "`parser` must be one of events, text, json, claude_stream_json, codex_jsonl, gemini_stream, gemini_json, opencode_json, aider_text, not `xml`",
    );
    check("\"report_or_final\"", "\"\"", "`collect_results` must be a text");
    check("\"{prompt}\"]\nwrite", "\"x\"]\nwrite", "`read_only` never uses {prompt}");
    check("\"argument\"", "\"file\"", "`write` never uses {prompt_file}");
    check("{dir}", "{folder}", "`read_only` has an unknown placeholder {folder}");
    check("\"{args}\"", "\"x{args}\"", "`write` has an unknown placeholder {args}");
    check("{out_dir}", "{outdir}", "`env` has an unknown placeholder {outdir}");
    check("\"-C\"", "7", "`read_only` must be a list of texts");
    check("\"ROBOT_KEY\"", "\"A=B\"", "`A=B` is no name");
    check("\"ROBOT_KEY\"", "\"TRIBUNAL_REPORT\"", "Tribunal's own");
    check("\"HOME\"]", "\"HOME\"]\ntimeout_ms = 0", "`timeout_ms` must be");
    let also = |line: &str, expect: &str| check("\"HOME\"]", &format!("\"HOME\"]\n{line}"), expect);
    also("lint_commands = 'x'", "`lint_commands` must be a list of lists of texts");
    also("lint_commands = ['robot --version']", "`lint_commands` must be a list of lists of texts");
    also("exit_codes = { 0 = 'other' }", "`exit_codes` must be codes other than 0");
    also("exit_codes = { 53 = 'tired' }", "each with one of rate_limit, overloaded");
    also("files = { '../x' = '' }", "`files`: ../x is no name");
    also("files = { 'prompt.md' = '' }", "`files`: prompt.md is no name");
    also("files = { 'a.json' = '{nothing}' }", "`files` has an unknown placeholder {nothing}");
    also("env_write = { TRIBUNAL_ROLE = 'x' }", "Tribunal's own");
    also("defaults = { nothing = 'x' }", "`defaults` must be texts by the names of placeholders");
    also("fields = { text = 'result' }", "`fields` must be JSON pointers");
    also("like = 'nobody'", "`like` must name an adapter known before: acp, aider");
    check("\"prompt\"", "\"system\"", "`read_only` never uses {personality}");
    check("\"--ask\"", "\"{personality}\"", "`read_only` also uses {personality}");
}

#[test]
fn all_faults_are_told_at_once_and_nothing_is_added() {
    let mut adapters = Adapters::built_in().unwrap();
    let text = format!("a = 1\n[b]\n[good]\n{ROW}");
    let error = adapters.add_toml("tribunal.toml", &text).unwrap_err().to_string();
    assert!(
        error.contains("adapter `a` is not a table") && error.contains("adapter `b`: missing"),
        "{error}"
    );
    assert!(adapters.get("good").is_err());
    assert!(adapters.add_toml("tribunal.toml", "[x").unwrap_err().to_string().contains("TOML parse error"));
}

#[test]
fn what_each_program_can_be_told() {
    use Feature::{Mcp, Model, Personality, Resume, Schema, TurnCap};
    let adapters = Adapters::built_in().unwrap();
    let check = |name: &str, expect: &[Feature]| {
        let row = adapters.get(name).unwrap();
        for access in [Access::ReadOnly, Access::Write] {
            let can: Vec<_> = Feature::ALL.into_iter().filter(|feature| row.can(*feature, access)).collect();
            assert_eq!(can, expect, "{name} {access:?}");
        }
    };
    check("claude", &[Model, Personality, TurnCap, Mcp, Schema, Resume]);
    check("codex", &[Model, Personality, Mcp, Schema, Resume]);
    check("gemini", &[Model, TurnCap, Mcp, Resume]);
    check("opencode", &[Model, Mcp, Resume]);
    check("aider", &[Model]);
    check("acp", &[Mcp, Resume]);
    check("command", &[]);
}

#[test]
fn a_row_may_be_like_another() {
    let adapters =
        add("[qwen]\nlike = 'gemini'\nprogram = 'qwen'\ntested = ['0.9.1']\ntimeout_ms = 5").unwrap();
    let (gemini, qwen) = (adapters.get("gemini").unwrap(), adapters.get("qwen").unwrap());
    assert_eq!((qwen.parser, qwen.timeout_ms, qwen.name.as_str()), (Parser::GeminiStream, 5, "qwen"));
    assert_eq!(qwen.lint_commands, [["qwen", "--version"]]);
    assert_eq!((qwen.tested("qwen 0.9.1"), qwen.tested("0.10.0")), (Tested::Yes, Tested::Newer));
    assert_eq!(gemini.tested("0.61.0\n"), Tested::Yes);
    assert!(qwen.canonical().starts_with("[qwen]\n") && !qwen.canonical().contains("like"));
    // One of the same name is changed, not lost.
    let changed = add("[claude]\nlike = 'claude'\nkeep_env = ['HOME', 'MY_KEY']").unwrap();
    let claude = changed.get("claude").unwrap();
    assert_eq!(claude.keep_env, ["HOME", "MY_KEY"]);
    assert_eq!(claude.parser, Parser::ClaudeStreamJson);
}

#[test]
fn methods_left_out_have_the_defaults() {
    let adapters = add(&format!("[robot]\n{ROW}")).unwrap();
    let robot = adapters.get("robot").unwrap();
    let methods = [&robot.coordinate_parallel, &robot.shutdown_agents, &robot.cleanup_coordination];
    assert_eq!(methods, ["engine", "none", "none"]);
    assert_eq!(robot.timeout_ms, 600_000);
    assert_eq!(adapters.get("aider").unwrap().coordinate_parallel, "none");
}
