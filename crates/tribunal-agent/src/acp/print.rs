//! Prints the agent's actions as Tribunal's own events: one line each, written at once. A closed output is not an
//! error.
//!
//! The events are those that `parse/events.rs` reads, so a change of one needs the other.

use crate::parse::{Problem, Reset, Usage};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::{Mutex, MutexGuard};
use tribunal_process::lock;

/// Bytes of the final message that are kept. It is more than the reader of events accepts, which refuses a longer
/// message as a whole.
const TEXT_MAX: usize = 8 << 20;

/// Prints events and collects the text that may turn out to be the final message.
///
/// The handlers of messages and of questions share it, so its state is behind a lock.
pub(super) struct Printer {
    state: Mutex<State>,
}

struct State {
    out: Box<dyn Write + Send>,
    /// The text since the last tool call.
    said: String,
    /// Whether an earlier session is being told again.
    replaying: bool,
}

impl Printer {
    pub(super) fn new(out: impl Write + Send + 'static) -> Printer {
        Printer { state: Mutex::new(State { out: Box::new(out), said: String::new(), replaying: false }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Announces the session, if it can be continued.
    pub(super) fn start(&self, session: Option<&str>) {
        let mut event = json!({"type": "start"});
        if let Some(session) = session {
            event["session"] = session.into();
        }
        self.state().print(&event);
    }

    /// Sets whether the next messages belong to an earlier launch.
    pub(super) fn replay(&self, replaying: bool) {
        self.state().replaying = replaying;
    }

    /// Prints a piece of the agent's text.
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

    /// Prints a sign of life, so that a model that thinks for long does not look stalled.
    pub(super) fn think(&self) {
        self.state().print(&json!({"type": "message", "text": ""}));
    }

    /// Prints a tool call. The text before it is not the final message.
    pub(super) fn tool(&self, name: &str, args: &Value) {
        let mut state = self.state();
        if !state.replaying {
            // Text before a call announces it and is not part of the answer.
            state.said.clear();
            state.print(&json!({"type": "tool", "name": name, "args": args}));
        }
    }

    /// Prints that something was not allowed.
    pub(super) fn denied(&self, name: &str, why: &str) {
        self.state().print(&json!({"type": "denied", "name": name, "message": why}));
    }

    /// Prints the problem that ended the launch.
    pub(super) fn error(&self, problem: &Problem) {
        let mut event = json!({"type": "error", "kind": problem.kind.name(), "message": problem.message});
        match problem.reset {
            Some(Reset::AfterMs(ms)) => event["retry_after_ms"] = ms.into(),
            Some(Reset::AtMs(at)) => event["resets_at_ms"] = at.into(),
            None => {}
        }
        self.state().print(&event);
    }

    /// Prints the final message with its figures.
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
        // The reader is gone, so the launch is over and nothing more can be reported.
        let _ = writeln!(self.out, "{event}").and_then(|()| self.out.flush());
    }
}
