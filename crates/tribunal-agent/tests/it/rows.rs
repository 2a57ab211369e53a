//! Adapter rows: what is read and what is refused.

use tribunal_agent::{Adapters, Parser, PromptBy};

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
read_only = ["robot", "--ask", ["--model", "{model}"], ["--seat={seat}"], "-C", "{dir}", "--", "{prompt}"]
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
    assert_eq!(adapters.names().collect::<Vec<_>>(), ["command", "scripted"]);
    let scripted = adapters.get("scripted").unwrap();
    assert_eq!((scripted.parser, scripted.prompt), (Parser::Events, PromptBy::Stdin));
    assert_eq!(scripted.timeout_ms, 600_000);
    assert!(scripted.canonical().starts_with("[scripted]\n"));
    let error = adapters.get("robot").unwrap_err().to_string();
    assert!(error.contains("`robot`") && error.contains("command, scripted"), "{error}");
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
    check("\"events\"", "\"xml\"", "`parser` must be one of events, text, not `xml`");
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
    check("\"HOME\"]", "\"HOME\"]\nlint_commands = 'x'", "`lint_commands` must be a list of texts");
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
