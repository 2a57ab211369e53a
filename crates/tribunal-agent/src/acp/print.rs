//! What the agent does, as Tribunal's own events. One line each, printed at once; a closed output is nobody's fault.

use crate::parse::{Problem, Reset, Usage};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a final message; more is cut at its beginning, so that its end counts.
const TEXT_MAX: usize = 8 << 20;

/// Prints events and keeps what may be the last words.
pub(super) struct Printer {
    state: Mutex<State>,
}

struct State {
    out: Box<dyn Write + Send>,
    /// What was said since the last tool.
    said: String,
    /// An earlier session is being told again.
    replaying: bool,
}

impl Printer {
    pub(super) fn new(out: impl Write + Send + 'static) -> Printer {
        Printer { state: Mutex::new(State { out: Box::new(out), said: String::new(), replaying: false }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session, where it can be gone on in.
    pub(super) fn start(&self, session: Option<&str>) {
        let mut event = json!({"type": "start"});
        if let Some(session) = session {
            event["session"] = session.into();
        }
        self.state().print(&event);
    }

    /// Whether what comes now was said before.
    pub(super) fn replay(&self, replaying: bool) {
        self.state().replaying = replaying;
    }

    /// A piece of what the agent says.
    pub(super) fn say(&self, text: &str) {
        let mut state = self.state();
        if state.replaying {
            return;
        }
        if state.said.len() < TEXT_MAX {
            state.said.push_str(text);
        }
        state.print(&json!({"type": "message", "text": text}));
    }

    /// A sign of life.
    pub(super) fn think(&self) {
        self.state().print(&json!({"type": "message", "text": ""}));
    }

    /// A tool is called: what was said before is no final message.
    pub(super) fn tool(&self, name: &str, args: &Value) {
        let mut state = self.state();
        if !state.replaying {
            state.said.clear();
            state.print(&json!({"type": "tool", "name": name, "args": args}));
        }
    }

    /// Something was not allowed.
    pub(super) fn denied(&self, name: &str, why: &str) {
        self.state().print(&json!({"type": "denied", "name": name, "message": why}));
    }

    /// What went wrong.
    pub(super) fn error(&self, problem: &Problem) {
        let mut event = json!({"type": "error", "kind": problem.kind.name(), "message": problem.message});
        match problem.reset {
            Some(Reset::AfterMs(ms)) => event["retry_after_ms"] = ms.into(),
            Some(Reset::AtMs(at)) => event["resets_at_ms"] = at.into(),
            None => {}
        }
        self.state().print(&event);
    }

    /// The final message.
    pub(super) fn last(&self, usage: Option<Usage>) {
        let mut state = self.state();
        let mut event = json!({"type": "final", "text": state.said.trim()});
        if let Some(usage) = usage {
            event["usage"] = json!(usage);
        }
        state.print(&event);
    }
}

impl State {
    fn print(&mut self, event: &Value) {
        // Who reads us is gone: the launch is over, and nothing more can be said.
        let _ = writeln!(self.out, "{event}").and_then(|()| self.out.flush());
    }
}
