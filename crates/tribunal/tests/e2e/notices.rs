//! The user's own commands when a person is asked and when a run ends: once each, with the facts and without a shell, and
//! whatever they do, the run is as it would be without them.

use crate::show::Show;
use crate::stage::scenes::{PLAIN, STUCK, STUCK_SETTINGS, Scene};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use tribunal_core::run::Ending;

/// A scene with a program of the user's that keeps what it was given.
fn show(keys: &str) -> Show {
    let mut show = Show::of(&Scene { script: STUCK, settings: STUCK_SETTINGS, ..PLAIN });
    let root = show.stage.root().to_owned();
    let program = root.join("notify.sh");
    let log = root.join("told.jsonl");
    let text = format!(
        "#!/bin/sh\ncat >> '{0}'\nprintf '%s|%s|%s|%s\\n' \"$#\" \"$1\" \"$TRIBUNAL_EVENT\" \"$TRIBUNAL_QUESTION$TRIBUNAL_ENDING\" >> '{0}.env'\n",
        log.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let keys = keys.replace("PROGRAM", &program.display().to_string());
    let settings = std::fs::read_to_string(show.stage.project().join("tribunal.toml")).unwrap();
    let settings = match settings.contains("[run]\n") {
        true => settings.replacen("[run]\n", &format!("[run]\n{keys}"), 1),
        false => format!("{settings}\n[run]\n{keys}"),
    };
    show.user_commits(&[("tribunal.toml", &settings)]);
    show
}

fn told(show: &Show, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(show.stage.root().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn each_event_is_told_once() {
    let keys = "on_escalation = [\"PROGRAM\", \"$(touch pwned) {question}\"]\non_end = [\"PROGRAM\"]\n";
    let mut show = show(keys);
    show.expect(&["run"], 4);
    let id = show.questions()[0].0.clone();
    assert_eq!(told(&show, "told.jsonl.env"), [format!("1|$(touch pwned) {{question}}|escalation|{id}")]);
    let facts: Value = serde_json::from_str(&told(&show, "told.jsonl")[0]).unwrap();
    assert_eq!(
        (&facts["run"], &facts["question"]["id"]),
        (&Value::from(show.run()), &Value::from(id.clone()))
    );
    assert!(
        facts["question"]["offers"][0]["command"].as_str().unwrap().starts_with("tribunal decide"),
        "{facts}"
    );
    // A resumed run asks the same question, which was told before.
    show.expect(&["resume"], 4);
    assert_eq!(told(&show, "told.jsonl").len(), 1);
    show.expect(&["decide", &id, "drop"], 1);
    assert_eq!(told(&show, "told.jsonl.env")[1..], ["0||end|shut"]);
    assert_eq!(show.ended(), Ending::Shut);
}

#[test]
fn what_fails_hangs_or_is_not_there_is_a_warning() {
    for (keys, expect) in [
        ("on_escalation = [\"/no/such/program\"]\n", "run.on_escalation: "),
        ("on_escalation = [\"sh\", \"-c\", \"echo broken >&2; exit 3\"]\n", "broken"),
        ("on_escalation = [\"sh\", \"-c\", \"printf '\\\\377 odd bytes' >&2; exit 3\"]\n", "odd bytes"),
        (
            "on_escalation = [\"sh\", \"-c\", \"sleep 1000 & sleep 1000\"]\non_timeout_s = 1\n",
            "ended after 1 s",
        ),
    ] {
        let mut show = show(keys);
        let ended = show.expect(&["run"], 4);
        assert!(ended.stderr.contains("warning: run.on_escalation: "), "{}", ended.stderr);
        assert!(ended.stderr.contains(expect), "{}", ended.stderr);
        assert_eq!(show.questions().len(), 1);
    }
}
