//! What is there and what is not: `doctor` and `init` with agents installed, missing or none at all.

use crate::stage::Stage;
use crate::stage::program::Ended;
use crate::stage::scenes::PLAIN;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

/// Answers as Claude Code does.
const CLAUDE: &str = r##"#!/bin/sh
if [ "$1" = --version ]; then echo "2.1.325 (Claude Code)"; exit 0; fi
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"abc","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"CONTRACT: kept","session_id":"abc","num_turns":1,"usage":{"input_tokens":3,"output_tokens":4},"total_cost_usd":0.001}'
"##;
/// Says that nobody is logged in.
const CODEX: &str = r##"#!/bin/sh
if [ "$1" = --version ]; then echo "codex-cli 9.0.0"; exit 0; fi
cat > /dev/null
echo '{"type":"thread.started","thread_id":"t1"}'
echo '{"type":"error","message":"unexpected status 401 Unauthorized"}'
echo '{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}'
exit 1
"##;

/// A project on a machine where only these agents are installed, without any settings.
fn machine(agents: &[(&str, &str)]) -> (TempDir, Stage) {
    let (folder, mut stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    std::fs::remove_file(stage.project().join("tribunal.toml")).unwrap();
    std::fs::write(folder.path().join("home/.config/tribunal/config.toml"), "").unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for tool in ["sh", "cat", "git"] {
        let env = [("PATH".into(), path.clone())];
        let found = tribunal_process::find_program(tool.as_ref(), Path::new("/"), &env).unwrap();
        symlink(found, bin.join(tool)).unwrap();
    }
    for (name, script) in agents {
        install(&bin.join(name), script);
    }
    let env = &mut stage.program_mut().env;
    env.retain(|(name, _)| name != "PATH");
    env.push(("PATH".into(), bin.into()));
    (folder, stage)
}

fn install(at: &Path, script: &str) {
    std::fs::write(at, script).unwrap();
    std::fs::set_permissions(at, PermissionsExt::from_mode(0o755)).unwrap();
}

#[track_caller]
fn expect(stage: &Stage, args: &[&str], code: i32) -> Ended {
    let ended = stage.tribunal(args).unwrap();
    assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.said());
    ended
}

#[test]
fn with_no_agent_installed_it_is_said_plainly_and_so_is_what_works() {
    let (_folder, stage) = machine(&[]);
    let check = |args: &[&str], code: i32| {
        let said = expect(&stage, args, code).said();
        let plain = said.contains("no agent program is installed") && said.contains("`tribunal demo`");
        assert!(plain, "{args:?}: {said}");
    };
    check(&["init"], 0);
    check(&["run"], 2);
    check(&["doctor"], 1);
    assert!(stage.runs().is_empty(), "nothing was begun");
    let written = std::fs::read_to_string(stage.project().join("tribunal.toml")).unwrap();
    assert!(written.contains("# default = \"\""), "{written}");
    for works in [&["protocol"][..], &["config", "show"]] {
        let ended = stage.tribunal(works).unwrap();
        assert!(matches!(ended.code, Some(0 | 1)), "{works:?}: {}", ended.said());
    }
}

#[test]
fn an_agent_that_is_chosen_and_not_there_stops_before_anything_begins() {
    let (_folder, stage) = machine(&[("codex", CODEX)]);
    stage.write("tribunal.toml", "[agents]\ndefault = \"claude\"\n").unwrap();
    let said = expect(&stage, &["run"], 2).stderr;
    assert!(said.contains("the adapter `claude` cannot be launched"), "{said}");
    assert!(said.contains("installed here: codex"), "{said}");
    assert!(stage.runs().is_empty());
    let said = expect(&stage, &["doctor"], 1).stdout;
    assert!(said.contains("claude (architect, dev, loop-reviewer"), "{said}");
}

#[test]
fn init_chooses_what_is_installed_and_doctor_says_how_it_is() {
    let (_folder, stage) = machine(&[("claude", CLAUDE), ("codex", CODEX)]);
    let said = expect(&stage, &["init"], 0).stderr;
    assert!(said.contains("claude builds, codex judges"), "{said}");
    let said = expect(&stage, &["doctor"], 0).stdout;
    for words in [
        "✓ claude    2.1.325 (Claude Code), tested; no sign of a login",
        "⚠ codex     codex-cli 9.0.0, newer than tested (0.166.0)",
        "plays architect, dev",
        "plays loop-reviewer, qa, reviewer",
        "○ gemini    not installed",
        "nothing stands in the way of a run",
    ] {
        assert!(said.contains(words), "{words:?}: {said}");
    }
}

#[test]
fn a_contract_that_is_not_kept_stands_in_the_way() {
    let (_folder, stage) = machine(&[("claude", CLAUDE), ("codex", CODEX)]);
    expect(&stage, &["init"], 0);
    let said = expect(&stage, &["doctor", "--contract", "--json"], 1).stdout;
    let view: serde_json::Value = serde_json::from_str(&said).unwrap();
    let contract = |name: &str| {
        let agents = view["agents"].as_array().unwrap();
        agents.iter().find(|agent| agent["name"] == name).unwrap()["contract"].clone()
    };
    assert_eq!(contract("claude"), "kept");
    assert!(contract("codex").as_str().unwrap().starts_with("not kept: auth: "), "{view}");
    assert_eq!(contract("gemini"), serde_json::Value::Null);
    assert_eq!(view["problems"].as_array().unwrap().len(), 1, "{view}");
}

/// An agent that needs a file of the home works for the user; inside it would fail at its first launch.
#[test]
fn a_program_that_needs_more_than_a_sandbox_shows_is_named_with_the_key() {
    let script = CLAUDE.replace("#!/bin/sh\n", "#!/bin/sh\n. \"$HOME/lib/helper.sh\" || exit 9\n");
    let (_folder, stage) = machine(&[("claude", &script), ("codex", CODEX)]);
    let helper = stage.home().join("lib/helper.sh");
    std::fs::create_dir_all(helper.parent().unwrap()).unwrap();
    std::fs::write(&helper, ":\n").unwrap();
    expect(&stage, &["init"], 0);
    let said = expect(&stage, &["doctor"], 1).stdout;
    let words =
        format!("{} is there for you and not in the sandbox", helper.canonicalize().unwrap().display());
    assert!(said.contains("`claude --version` works for you and fails in the sandbox"), "{said}");
    assert!(said.contains(&words) && said.contains("`agents.readable`"), "{said}");
    let said = expect(&stage, &["doctor", "--set", "agents.readable=[\"~/lib\"]"], 0).stdout;
    assert!(said.contains("nothing stands in the way of a run"), "{said}");
}
