//! The hooks of editor agents: JSON in, an exit code and words out. What gates stays shut when it cannot tell; what cannot be
//! read at all breaks no session.

use crate::show::Show;
use crate::stage::scenes::PLAIN;
use crate::stage::{PHASE, Stage};
use serde_json::{Value, json};
use std::ffi::OsString;

/// Gives a hook this input: its code, and what it said.
fn raw(stage: &Stage, event: &str, input: &str) -> (i32, String) {
    let file = stage.root().join("call.json");
    std::fs::write(&file, input).unwrap();
    let line = "exec \"$0\" hook \"$1\" < \"$2\"".to_owned();
    let binary = stage.program().binary.clone().into_os_string();
    let words: Vec<OsString> = vec!["-c".into(), line.into(), binary, event.into(), file.into_os_string()];
    let ended = stage.program().launch("sh".as_ref(), &words, &[]).unwrap().wait().unwrap();
    assert_eq!(ended.stdout, "");
    (ended.code.unwrap(), ended.stderr)
}

fn hook(stage: &Stage, event: &str, mut call: Value) -> (i32, String) {
    call["cwd"] = json!(stage.project());
    raw(stage, event, &call.to_string())
}

#[test]
fn a_commit_is_made_with_a_sound_subject_only() {
    let show = Show::of(&PLAIN);
    let check = |command: &str, code: i32, expect: &str| {
        let call = json!({ "tool_name": "Bash", "tool_input": { "command": command } });
        let (got, said) = hook(&show.stage, "pre-tool-use", call);
        assert_eq!(got, code, "{command}: {said}");
        assert!(said.contains(expect), "{command}: {said}");
    };
    check("git commit -m 'feat(core): more'", 0, "");
    check("git add -A && git commit -m 'more'", 2, "it is not `type(scope): text`");
    check("git commit", 2, "in an editor");
    check("git commit -F no-such", 2, "no-such cannot be read");
    check("git commit --amend --no-edit", 0, "");
    check("ls; echo git commit", 0, "");
    let other = json!({ "tool_name": "Read", "tool_input": { "command": "git commit -m x" } });
    assert_eq!(hook(&show.stage, "pre-tool-use", other).0, 0);
    // Where nothing is planned there are no rules.
    std::fs::remove_dir_all(show.stage.project().join(".planning")).unwrap();
    check("git commit -m 'more'", 0, "");
}

#[test]
fn a_summary_is_checked_when_it_was_written_and_before_the_agent_stops() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    let stage = &show.stage;
    let path = stage.project().join(PHASE).join("01-01-SUMMARY.md");
    let good = std::fs::read_to_string(&path).unwrap();
    let written = |name: &str| json!({ "tool_name": "Write", "tool_input": { "file_path": stage.project().join(name) } });
    let summary = format!("{PHASE}/01-01-SUMMARY.md");
    assert_eq!(hook(stage, "post-tool-use", written(&summary)), (0, String::new()));
    let state = r#"{"phase": "01", "status": "running", "plans": [{"id": "01-01", "status": "running"}, {"id": "01-09", "status": "pending"}]}"#;
    let state_file = stage.project().join(".planning/.execution-state.json");
    std::fs::write(&state_file, state).unwrap();
    assert_eq!(hook(stage, "stop", json!({})), (0, String::new()));

    std::fs::write(&path, good.replace("status: complete", "status: \u{1b}[31mdone")).unwrap();
    let (code, said) = hook(stage, "post-tool-use", written(&summary));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("frontmatter_fields") && !said.contains('\u{1b}'), "{said}");
    let (code, said) = hook(stage, "stop", json!({}));
    assert!(code == 2 && said.contains("01-01-SUMMARY.md"), "{code}: {said}");
    assert_eq!(hook(stage, "stop", json!({ "stop_hook_active": true })).0, 0, "nobody is sent back twice");

    std::fs::remove_file(&path).unwrap();
    let (code, said) = hook(stage, "stop", json!({}));
    assert!(code == 2 && said.contains("was begun and has no 01-01-SUMMARY.md"), "{code}: {said}");
    std::fs::write(&state_file, "{").unwrap();
    let (code, said) = hook(stage, "stop", json!({}));
    assert!(code == 2 && said.contains("is broken"), "{code}: {said}");
    std::fs::write(&state_file, r#"{"phase": "01", "status": "complete"}"#).unwrap();
    assert_eq!(hook(stage, "stop", json!({})).0, 0);
    // A link is not followed, a file elsewhere is nobody's business.
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let (code, said) = hook(stage, "post-tool-use", written(&summary));
    assert!(code == 2 && said.contains("cannot be read"), "{code}: {said}");
    assert_eq!(hook(stage, "post-tool-use", written("a-SUMMARY.md")).0, 0);
    assert_eq!(hook(stage, "post-tool-use", written("../x-SUMMARY.md")).0, 0);
}

#[test]
fn garbage_breaks_no_session() {
    let show = Show::of(&PLAIN);
    for event in ["pre-tool-use", "post-tool-use", "stop"] {
        for input in ["", "garbage", "[]", "{\"tool_name\": 3}", "\u{0}", &"[".repeat(10_000)] {
            let (code, said) = raw(&show.stage, event, input);
            assert_eq!(code, 1, "{event} {:.20}: {said}", input);
            assert!(said.contains("nothing was checked"), "{said}");
        }
        let (code, said) = hook(&show.stage, event, json!({ "tool_input": [1], "else": { "a": null } }));
        assert_eq!((code, said.as_str()), (0, ""), "{event}");
    }
}

/// A misspelt event would check nothing, for ever: the person is told, and the editor goes on.
#[test]
fn an_event_that_no_editor_has_is_told() {
    let show = Show::of(&PLAIN);
    for event in ["pre-tool-uses", "PreTool", "BeforeTool", "", "\u{1b}[31mstop-it"] {
        let (code, said) = hook(&show.stage, event, json!({}));
        assert_eq!(code, 1, "{event}: {said}");
        assert!(said.contains("nothing was checked") && said.contains("hint: "), "{said}");
        assert!(!said.contains('\u{1b}'), "{said}");
    }
    for event in ["SessionStart", "pre-compact", "UserPromptSubmit", "subagent_stop"] {
        let (code, said) = hook(&show.stage, event, json!({}));
        assert!(code == 0 && said.contains("nothing is checked at"), "{event}: {said}");
    }
}

#[test]
fn the_plugin_is_written_and_what_differs_is_left() {
    let mut show = Show::of(&PLAIN);
    let stage = &show.stage;
    let ended = stage.tribunal(&["init", "--plugin", "claude"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let hooks = stage.project().join(".claude/plugins/tribunal/hooks/hooks.json");
    assert!(std::fs::read_to_string(&hooks).unwrap().contains("tribunal hook stop"));
    assert_eq!(stage.tribunal(&["init", "--plugin", "claude"]).unwrap().code, Some(0));
    std::fs::write(&hooks, "{}").unwrap();
    let ended = stage.tribunal(&["init", "--plugin", "claude"]).unwrap();
    assert!(ended.code == Some(2) && ended.stderr.contains("differs"), "{}", ended.said());
    assert!(
        stage
            .tribunal(&["init", "--plugin", "agents"])
            .unwrap()
            .stdout
            .contains("never run `tribunal decide`")
    );
    show.untouched_but(&[".claude"]);
}
