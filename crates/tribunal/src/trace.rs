//! A run as an OpenTelemetry trace: one line of OTLP JSON, folded from the journal. The run is the root span, its loops
//! are spans below it, and agents, checks and git are below those.
//!
//! Ids follow from the journal, so the same run is always the same trace and can be exported twice without harm. It
//! only reads, and it exists only in a program built with the feature `otel`.

use crate::failure::Failure;
use crate::place::Seen;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::review_loop::LoopEvent;
use tribunal_core::run::{Ending, RunEvent};
use tribunal_engine::run_state::LaunchNote;
use tribunal_engine::{Fact, Note, RunStateError};
use tribunal_view::{events, plain};

/// The name of the root span, from which its id is made.
const ROOT: &str = "run";

/// The status of work that a crash cut off and that is proven not to be done.
const CUT_OFF: &str = "cut off";

/// The trace of a run.
pub fn text(seen: &Seen) -> Result<String, Failure> {
    let mut fold = Fold::new(&seen.id);
    seen.reader.each(1, |row| {
        fold.take(row.at, &Fact::decode(&row)?);
        Ok::<(), RunStateError>(())
    })?;
    Ok(format!("{}\n", fold.done()))
}

/// A span that may not have ended yet.
#[derive(Clone, Debug)]
struct Span {
    name: String,
    parent: String,
    start: u64,
    end: Option<u64>,
    failed: Option<String>,
    attributes: Vec<(&'static str, Value)>,
}

impl Span {
    fn new(name: impl Into<String>, parent: &str, start: u64) -> Span {
        let (name, parent) = (name.into(), parent.to_owned());
        Span { name, parent, start, end: None, failed: None, attributes: Vec::new() }
    }
}

/// The spans of a run, by the names from which their ids are made.
struct Fold {
    run: String,
    spans: BTreeMap<String, Span>,
    last: u64,
}

impl Fold {
    fn new(run: &str) -> Fold {
        Fold { run: run.to_owned(), spans: BTreeMap::new(), last: 0 }
    }

    fn take(&mut self, at: u64, fact: &Fact) {
        self.last = self.last.max(at);
        // The run begins with its first fact, whatever it is.
        if self.spans.is_empty() {
            self.spans.insert(ROOT.to_owned(), Span::new("run", "", at));
        }
        match fact {
            Fact::Run(event) => self.take_run(at, event),
            Fact::Loop(id, event) => self.take_loop(at, id.as_str(), event),
            Fact::Note(Note::Launch(launch)) => self.launch(at, launch),
            Fact::Note(Note::Run(about)) => {
                self.set(ROOT, "tribunal.phase", json!(plain::line(&about.phase)))
            }
            Fact::Note(_) => {}
        }
    }

    fn take_run(&mut self, at: u64, event: &RunEvent) {
        match event {
            RunEvent::Intended { effect, .. } => self.begin(at, effect, ROOT),
            RunEvent::Landed { effect, .. }
            | RunEvent::Summarised { effect, .. }
            | RunEvent::Checkpointed { effect, .. }
            | RunEvent::Held { effect, .. }
            | RunEvent::Rebased { effect, .. }
            | RunEvent::Carried { effect, .. }
            | RunEvent::JudgeAgain { effect, .. }
            | RunEvent::Finished { effect, .. } => self.end(at, &effect.to_string(), None),
            RunEvent::Cleared { effect } => self.end(at, &effect.to_string(), Some(CUT_OFF.to_owned())),
            RunEvent::LandingRefused { effect, .. } => {
                self.end(at, &effect.to_string(), Some("refused".to_owned()));
            }
            RunEvent::Failed { effect, failure } => {
                self.end(at, &effect.to_string(), Some(plain::clipped(&failure.text, 300)));
            }
            RunEvent::Ended { ending } => {
                self.set(ROOT, "tribunal.ending", json!(ending.word()));
                // Every other ending, concerns included, marks the trace as an error.
                let failed = (*ending != Ending::Passed).then(|| ending.word().to_owned());
                self.end(at, ROOT, failed);
            }
            _ => {}
        }
    }

    fn take_loop(&mut self, at: u64, id: &str, event: &LoopEvent) {
        match event {
            LoopEvent::Opened(_) => {
                self.spans.insert(id.to_owned(), Span::new(format!("loop {id}"), ROOT, at));
            }
            LoopEvent::Intended { effect, .. } => self.begin(at, effect, id),
            LoopEvent::Made { effect, .. }
            | LoopEvent::Iterated { effect, .. }
            | LoopEvent::Joined { effect, .. }
            | LoopEvent::Checked { effect, .. }
            | LoopEvent::Unchecked { effect, .. }
            | LoopEvent::Answered { effect, .. }
            | LoopEvent::PartAnswered { effect, .. }
            | LoopEvent::NotCovered { effect, .. }
            | LoopEvent::TooLarge { effect, .. }
            | LoopEvent::VerdictKept { effect, .. }
            | LoopEvent::Heard { effect, .. } => self.end(at, &effect.to_string(), None),
            LoopEvent::Cleared { effect } => self.end(at, &effect.to_string(), Some(CUT_OFF.to_owned())),
            LoopEvent::Failed { effect, failure } => {
                self.end(at, &effect.to_string(), Some(plain::clipped(&failure.text, 300)));
            }
            // The event does not name its effect; a loop tracks one round at a time, so the open span is the one.
            LoopEvent::Tracked { .. } => {
                let of_it = |(_, span): &(&String, &mut Span)| {
                    span.parent == id && span.name == "track" && span.end.is_none()
                };
                self.spans.iter_mut().filter(of_it).for_each(|(_, span)| span.end = Some(at));
            }
            LoopEvent::Ended { outcome, .. } => {
                self.set(id, "tribunal.outcome", json!(outcome.word()));
                self.end(at, id, (!outcome.is_good()).then(|| outcome.word().to_owned()));
            }
            _ => {}
        }
    }

    /// Opens a span for work that began. Loops have spans of their own, and people are not timed.
    fn begin(&mut self, at: u64, effect: &EffectId, parent: &str) {
        let name = match &effect.step {
            Step::Loop | Step::Ask | Step::Wake(_) => return,
            Step::Make(_) | Step::Judge(_) | Step::Hear(_) => format!("agent {}", events::who(&effect.step)),
            Step::Check(_) => format!("check {}", events::who(&effect.step)),
            Step::Land | Step::Join | Step::Rebase | Step::Carry | Step::Finish(_) => {
                format!("git {}", events::who(&effect.step))
            }
            Step::Track => "track".to_owned(),
            Step::Summary | Step::Checkpoint => events::who(&effect.step),
        };
        self.spans.insert(effect.to_string(), Span::new(name, parent, at));
    }

    fn end(&mut self, at: u64, of: &str, failed: Option<String>) {
        if let Some(span) = self.spans.get_mut(of) {
            span.end = Some(at);
            span.failed = failed;
        }
    }

    fn set(&mut self, of: &str, name: &'static str, value: Value) {
        if let Some(span) = self.spans.get_mut(of) {
            span.attributes.push((name, value));
        }
    }

    /// Adds an agent that ended, below the work it was launched for.
    fn launch(&mut self, at: u64, launch: &LaunchNote) {
        // A launch may belong to work without a span of its own.
        let known = self.spans.contains_key(&launch.effect);
        let parent = if known { launch.effect.as_str() } else { ROOT };
        let role = plain::clipped(&launch.role, 100);
        let mut span = Span::new(format!("invoke_agent {role}"), parent, at.saturating_sub(launch.ms));
        span.end = Some(at);
        span.failed = launch.failed.map(|failed| format!("{failed:?}"));
        span.attributes = vec![
            ("gen_ai.operation.name", json!("invoke_agent")),
            ("gen_ai.agent.name", json!(role)),
            ("gen_ai.provider.name", json!(plain::clipped(&launch.agent, 100))),
            ("gen_ai.usage.input_tokens", json!(launch.tokens_in)),
            ("gen_ai.usage.output_tokens", json!(launch.tokens_out)),
            ("tribunal.cost_micros", json!(launch.cost_micros)),
            ("tribunal.round", json!(launch.round)),
        ];
        let session =
            launch.session.as_deref().map(|id| ("gen_ai.conversation.id", json!(plain::clipped(id, 200))));
        span.attributes.extend(session);
        // One effect may have several launches. The count so far makes the name unique and is the same at every fold.
        let n = self.spans.len();
        self.spans.insert(format!("{} launch {n}", launch.effect), span);
    }

    /// The request that an exporter would send.
    fn done(&self) -> Value {
        let trace = format!("{:016x}{:016x}", hash("trace a", &self.run), hash("trace b", &self.run));
        let id = |name: &str| format!("{:016x}", hash(&self.run, name));
        let spans: Vec<Value> =
            self.spans.iter().map(|(name, span)| self.span(span, &trace, &id(name), &id)).collect();
        let resource = attributes(&[("service.name", json!("tribunal")), ("tribunal.run", json!(self.run))]);
        let scope = json!({ "name": "tribunal", "version": env!("CARGO_PKG_VERSION") });
        json!({ "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": scope, "spans": spans }],
        }] })
    }

    fn span(&self, span: &Span, trace: &str, own: &str, id: &dyn Fn(&str) -> String) -> Value {
        // OTLP JSON writes 64-bit numbers as strings.
        let nanos = |ms: u64| format!("{}", u128::from(ms) * 1_000_000);
        let mut all = span.attributes.clone();
        all.extend(span.end.is_none().then_some(("tribunal.unfinished", json!(true))));
        let status = match (&span.failed, span.end) {
            (Some(why), _) => json!({ "code": 2, "message": why }),
            (None, Some(_)) => json!({ "code": 1 }),
            (None, None) => json!({ "code": 0 }),
        };
        let mut value = json!({
            "traceId": trace,
            "spanId": own,
            "name": span.name,
            "kind": 1,
            "startTimeUnixNano": nanos(span.start),
            // A span must end; one that is open ends at the last fact and is marked as unfinished.
            "endTimeUnixNano": nanos(span.end.unwrap_or(self.last).max(span.start)),
            "attributes": attributes(&all),
            "status": status,
        });
        if !span.parent.is_empty() {
            value["parentSpanId"] = json!(id(&span.parent));
        }
        value
    }
}

/// Attributes as OTLP JSON writes them: integers are strings.
fn attributes(all: &[(&'static str, Value)]) -> Vec<Value> {
    let typed = |value: &Value| match value {
        Value::Bool(yes) => json!({ "boolValue": yes }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    };
    all.iter().map(|(name, value)| json!({ "key": name, "value": typed(value) })).collect()
}

/// An id that a text always gives.
fn hash(salt: &str, text: &str) -> u64 {
    // OTLP reads an id of zeros as none.
    tribunal_core::hash::fnv1a(salt.bytes().chain([0]).chain(text.bytes())).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tribunal_core::effect::{FinishStep, Try};
    use tribunal_core::ids::Of;

    #[test]
    fn what_was_cut_off_did_not_succeed() {
        let mut fold = Fold::new("20260301-0915");
        let step = Step::Finish(FinishStep::Forward);
        let effect = EffectId { of: Of::run(), entry: 1, step, n: Try::default(), launch: 0 };
        fold.take(1_000, &Fact::Run(RunEvent::Intended { effect: effect.clone(), due: None }));
        fold.take(2_000, &Fact::Run(RunEvent::Cleared { effect }));
        let trace = fold.done();
        let spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        let cut = spans.iter().find(|span| span["name"] != "run").unwrap();
        assert_eq!(cut["status"], json!({ "code": 2, "message": "cut off" }), "{trace}");
    }

    #[test]
    fn a_run_is_one_tree_of_spans() {
        let mut fold = Fold::new("20260301-0915");
        let facts = crate::facts::tests::facts();
        for (at, fact) in (1_u64..).zip(facts.iter().flatten()) {
            fold.take(at * 1_000, fact);
        }
        let root = |trace: &Value| {
            let spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
            spans.into_iter().find(|span| span["name"] == "run").unwrap()
        };
        assert_eq!(root(&fold.done())["status"]["code"], 0, "it is not over");
        fold.take(99_000, &Fact::Run(RunEvent::Ended { ending: Ending::Shut }));
        let trace = fold.done();
        let spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        let ids: BTreeSet<&str> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), spans.len(), "ids are given once");
        let roots: Vec<&Value> = spans.iter().filter(|span| span["parentSpanId"].is_null()).collect();
        assert_eq!(roots.len(), 1);
        assert_eq!((&roots[0]["name"], &roots[0]["status"]["code"]), (&json!("run"), &json!(2)));
        for span in spans {
            let parent = span["parentSpanId"].as_str();
            assert!(parent.is_none_or(|parent| ids.contains(parent)), "{span}");
            let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
            assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
            assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
            assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
        }
        let named = |name: &str| {
            spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{name}: {trace}"))
        };
        let agent = named("invoke_agent reviewer");
        let key =
            |key: &str| agent["attributes"].as_array().unwrap().iter().find(|one| one["key"] == key).unwrap();
        assert_eq!(key("gen_ai.usage.input_tokens")["value"], json!({ "intValue": "1000" }));
        assert_eq!(key("gen_ai.provider.name")["value"], json!({ "stringValue": "scripted" }));
        let judge = spans.iter().find(|span| span["spanId"] == agent["parentSpanId"]).unwrap();
        assert!(judge["name"].as_str().unwrap().starts_with("agent "), "{judge}");
        assert_eq!(judge["parentSpanId"], named("loop 01-01/plan.1")["spanId"]);
    }
}
