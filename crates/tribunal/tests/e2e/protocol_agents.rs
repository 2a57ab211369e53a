//! Agents of the Agent Client Protocol in whole runs: a small one of our own that speaks it line by line. What real ones do
//! is shown by `cargo xtask real-clis`.

use crate::show::Show;
use crate::stage::scenes::PLAIN;
use tribunal_core::review_loop::FailureKind;
use tribunal_core::run::Ending;

/// Answers each request; what it does with a prompt is `WORK`.
const AGENT: &str = r##"#!/bin/sh
say() {
  printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"
}
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) answer '{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*) answer '{"sessionId":"s-1"}' ;;
    *'"method":"session/prompt"'*)
      word=$(printf '%s' "$line" | sed 's/.*Launch word: \([a-z0-9]*\).*/\1/')
      WORK
      ;;
  esac
done
"##;

const WORKS: &str = r#"
      if [ "$TRIBUNAL_ROLE" = dev ]; then
        mkdir -p bin && printf 'echo one\n' > bin/one.sh
        say "SUMMARY: one.sh prints one.\nTASK $word: done"
      else
        say "CHECKED $word: every task serves a must-have; ran git show --stat, the files are those of the plan.\nVERDICT $word: approve"
      fi
      answer '{"stopReason":"end_turn"}'"#;

fn show(work: &str) -> Show {
    let (folder, stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    let file = stage.root().join("scene/acp.sh");
    std::fs::write(&file, AGENT.replace("WORK", work)).unwrap();
    let (sh, file) = ("sh", file.display().to_string());
    let role =
        |name: &str| format!("[agents.roles.{name}]\nadapter = \"acp\"\nargs = [\"{sh}\", {file:?}]\n");
    let settings = format!("[plan]\nreview = \"never\"\n{}{}", role("dev"), role("loop-reviewer"));
    stage.write("tribunal.toml", &settings).unwrap();
    stage.git(&["commit", "-q", "-am", "chore: agents"]).unwrap();
    Show::on(folder, stage)
}

#[test]
fn an_agent_of_the_protocol_makes_and_judges() {
    let mut show = show(WORKS);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    assert_eq!(show.landed("bin/one.sh").as_deref(), Some("echo one"));
    let launches = show.run_state().launches;
    let told: Vec<_> = launches.iter().map(|launch| (launch.agent.as_str(), launch.told.as_str())).collect();
    assert!(told.iter().all(|told| *told == ("acp", "final message")), "{told:?}");
    assert!(launches.iter().all(|launch| launch.session.is_none()), "{launches:?}");
}

/// A refusal, an end in the middle and an end without a word are named failures, and nothing lands.
#[test]
fn an_agent_of_the_protocol_that_fails() {
    let table = [
        ("answer '{\"stopReason\":\"refusal\"}'", FailureKind::Refused),
        ("answer '{\"stopReason\":\"max_tokens\"}'", FailureKind::Truncated),
        ("exit 0", FailureKind::Crashed),
    ];
    for (work, kind) in table {
        let mut show = show(work);
        show.expect(&["run"], 4);
        assert_eq!(show.landed("bin/one.sh"), None, "{work}");
        let failed: Vec<_> = show.run_state().launches.iter().map(|launch| launch.failed).collect();
        assert!(
            !failed.is_empty() && failed.iter().all(|failed| *failed == Some(kind)),
            "{work}: {failed:?}"
        );
    }
}
