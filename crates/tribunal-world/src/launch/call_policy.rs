//! The rules for calls at a launch's report socket: whether this launch may say this, for this loop, now.
//!
//! A call is checked with the same parsers that read the answer later, so an accepted call can always be read. The
//! agent hears the reason of a refusal at once and can correct itself in the same launch. Nothing here decides about
//! the work.

use std::sync::Arc;
use tribunal_agent::reporting::{self, Part, VOTES};
use tribunal_agent::{TOOLS, ToolCall};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::evidence::Refused;
use tribunal_core::ids::FindingId;
use tribunal_findings::{Judged, Reading};
use tribunal_view::plain;

/// How many calls one launch may make, and how many refusals are kept.
const CALLS_MAX: usize = 1_000;
const REFUSED_MAX: usize = 20;
const WORDS_MAX: usize = 300;

// Appended to a finding before it is parsed: without a verdict behind it the parser would not take it as an answer.
const REJECT: &str = "\n{\"tool\":\"cast_verdict\",\"args\":{\"verdict\":\"reject\"}}";

/// What a launch may speak about.
///
/// It is fixed when the launch begins. An agent can therefore report only for its own loop, round and findings,
/// whatever it names in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Capability {
    /// Whether it builds or judges.
    pub(crate) part: Part,
    /// The loop it works for.
    pub(crate) of: String,
    /// The task it works on, if any.
    pub(crate) task: Option<String>,
    /// The reviewer it is, if any.
    pub(crate) reviewer: Option<String>,
    /// The round it works in.
    pub(crate) round: u32,
    /// The revision that it judges, if any.
    pub(crate) revision: Option<String>,
    /// The findings that were put to it.
    pub(crate) findings: Vec<FindingId>,
    /// What its evidence may name, where evidence is asked for.
    pub(crate) judged: Option<Arc<Judged>>,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It counts and is written down.
    Heard,
    /// It is a message to a person.
    Escalated(String),
    /// It asks for the context.
    Context,
    /// It asks to run the checks.
    Checks,
    /// It does not count, for this reason.
    Refused(String),
}

/// The rules for one launch, with the state that they need: how many calls came, and whether it voted.
pub(crate) struct CallPolicy {
    capability: Capability,
    calls: usize,
    voted: bool,
    closed: bool,
    refused: Vec<String>,
}

impl CallPolicy {
    /// The rules for a launch that may speak about this.
    pub(crate) fn new(capability: Capability) -> CallPolicy {
        CallPolicy { capability, calls: 0, voted: false, closed: false, refused: Vec::new() }
    }

    /// Whether the launch builds or judges.
    pub(crate) fn part(&self) -> Part {
        self.capability.part
    }

    /// Closes the round: nothing counts from now on.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// The refused calls, one line each.
    pub(crate) fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Records something that was refused before it was a call.
    pub(crate) fn refuse(&mut self, what: &str, why: &str) {
        // An agent can call in a loop. The first refusals say what went wrong.
        if self.refused.len() < REFUSED_MAX {
            self.refused.push(plain::clipped(&format!("{what}: {why}"), WORDS_MAX));
        }
    }

    /// Takes a call and says what becomes of it.
    pub(crate) fn hear(&mut self, call: &ToolCall) -> Ruling {
        self.calls += 1;
        let ruling = self.rule(call).unwrap_or_else(Ruling::Refused);
        match &ruling {
            Ruling::Refused(why) => {
                let (tool, why) = (plain::clipped(&call.tool, 60), why.clone());
                self.refuse(&tool, &why);
            }
            // Only an accepted verdict counts as the vote. After a refused one the agent may vote again.
            Ruling::Heard => self.voted |= VOTES.contains(&call.tool.as_str()),
            Ruling::Escalated(_) | Ruling::Context | Ruling::Checks => {}
        }
        ruling
    }

    fn rule(&self, call: &ToolCall) -> Result<Ruling, String> {
        // The round can close while the agent still runs, for example at its deadline. A verdict that comes then must
        // not count.
        if self.closed && stands(Defence::RoundClosed) {
            return Err("this round is closed: nothing more is heard".to_owned());
        }
        if self.calls > CALLS_MAX {
            return Err(format!("more than {CALLS_MAX} calls"));
        }
        self.is_mine(call)?;
        self.is_of_this(call)?;
        match call.tool.as_str() {
            "get_context" => Ok(Ruling::Context),
            "run_checks" => Ok(Ruling::Checks),
            "escalate" => escalated(call).map(Ruling::Escalated),
            "report_fix" | "report_task_done" => self.builder(call),
            _ => self.judge(call),
        }
    }

    /// Whether the launch has this tool at all.
    fn is_mine(&self, call: &ToolCall) -> Result<(), String> {
        let mine = reporting::tools(self.capability.part);
        if mine.iter().any(|tool| tool.name == call.tool) {
            return Ok(());
        }
        let names: Vec<String> = mine.into_iter().map(|tool| tool.name).collect();
        let why = match (TOOLS.contains(&call.tool.as_str()), self.capability.part) {
            (true, Part::Builder) => "a builder does not judge its own work",
            (true, Part::Judge) => "only the builder says what it made",
            (false, _) => "there is no such tool",
        };
        Err(format!("{why}; yours are {}", names.join(", ")))
    }

    /// Whether the call is about what this launch was asked.
    ///
    /// A call that names no loop, round or revision is taken for this launch's own. One that names another is refused
    /// and not corrected: the agent may have mixed up two pieces of work.
    fn is_of_this(&self, call: &ToolCall) -> Result<(), String> {
        let capability = &self.capability;
        let round = Some(capability.round.to_string());
        let known: [(&[&str], Option<&String>, &str); 5] = [
            (&["loopId", "loop_id", "loop"], Some(&capability.of), "loop"),
            (&["taskId", "task_id", "task"], capability.task.as_ref(), "task"),
            (&["reviewer"], capability.reviewer.as_ref(), "reviewer"),
            (&["round"], round.as_ref(), "round"),
            (&["revision"], capability.revision.as_ref(), "revision"),
        ];
        for (names, own, what) in known {
            let said = names.iter().find_map(|name| call.args.get(*name)).filter(|said| !said.is_null());
            let Some(said) = said else { continue };
            let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
            // Agents write a task alone or with its plan: `3`, `01-02/3`, `01-02.3`.
            let same = own.is_some_and(|own| {
                said == *own || (what == "task" && said.rsplit(['/', '.', '-']).next() == Some(own))
            });
            match (same, own) {
                (true, _) => {}
                (false, Some(own)) => return Err(format!("this launch speaks for {what} {own} alone")),
                (false, None) => return Err(format!("this launch has no {what}")),
            }
        }
        Ok(())
    }

    fn judge(&self, call: &ToolCall) -> Result<Ruling, String> {
        let votes = VOTES.contains(&call.tool.as_str());
        // The first verdict counts, and nothing is added to it afterwards.
        if self.voted {
            let what = if votes { "a second verdict" } else { "after the verdict" };
            return Err(format!("{what}: the first one counts"));
        }
        // A verdict hidden in a finding's text would be found later by the reader of the whole answer.
        if !votes && tribunal_findings::read(&line(call)).verdict.is_some() {
            return Err("a verdict is given by cast_verdict".to_owned());
        }
        // Findings are read as they will be: followed by a verdict.
        let rest = if votes { "" } else { REJECT };
        let reading = Reading { judged: self.capability.judged.as_deref(), ..Reading::default() };
        let intake = tribunal_findings::read_as(format!("{}{rest}", line(call)).as_bytes(), &reading);
        if let Some(unread) = intake.unread.first() {
            return Err(format!("not understood: {}", unread.why));
        }
        // An answer about a finding that was not put to it cannot be about what it saw.
        let strange: Vec<&FindingId> =
            intake.said.keys().filter(|id| !self.capability.findings.contains(id)).collect();
        if let Some(id) = strange.first() {
            return Err(self.no_finding(&id.to_string()));
        }
        match intake.verdict {
            // Refused at once, the missing evidence can still be given in the same launch. In later rounds the panel's
            // own rules decide.
            Some(_) if votes && self.capability.round == 1 && intake.lacks_evidence() => {
                Err(lacking(intake.refused.as_ref()))
            }
            None => Err("not understood: it holds no verdict".to_owned()),
            Some(_) => Ok(Ruling::Heard),
        }
    }

    fn builder(&self, call: &ToolCall) -> Result<Ruling, String> {
        if call.tool == "report_task_done" {
            return Ok(Ruling::Heard);
        }
        let words = tribunal_findings::read_builder(&line(call), None);
        let given = call.args.get("id").and_then(|id| id.as_str()).unwrap_or_default();
        let id = FindingId::parse(given).filter(|id| self.capability.findings.contains(id));
        let id = id.ok_or_else(|| self.no_finding(given))?;
        match words.replies.contains_key(&id) {
            true => Ok(Ruling::Heard),
            false => Err("not understood: say fixed, or why not".to_owned()),
        }
    }

    fn no_finding(&self, given: &str) -> String {
        let known: Vec<String> = self.capability.findings.iter().map(ToString::to_string).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        format!("{:?} was not put to you; these were: {known}", plain::clipped(given, 40))
    }
}

/// What an approval lacks that says too little about what was checked.
fn lacking(refused: Option<&Refused>) -> String {
    match refused {
        Some(refused) => {
            let (lack, names) = (refused.lack.words(refused.matter), refused.matter.names());
            format!("not understood: `checked` {lack}; name a {names} and say what you saw there")
        }
        None => format!("not understood: {}", tribunal_findings::NO_EVIDENCE),
    }
}

fn escalated(call: &ToolCall) -> Result<String, String> {
    let about = plain::clipped(reporting::escalation(call).unwrap_or_default(), WORDS_MAX);
    if about.is_empty() { Err("it does not say what about".to_owned()) } else { Ok(about) }
}

/// A call as it is written down, and as the parsers read it.
pub(crate) fn line(call: &ToolCall) -> String {
    serde_json::to_string(call).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capability(part: Part) -> Capability {
        Capability {
            part,
            of: "01-01/t1".to_owned(),
            task: Some("1".to_owned()),
            reviewer: Some("loop-reviewer".to_owned()),
            round: 2,
            revision: Some("abc".to_owned()),
            findings: FindingId::parse("F-1").into_iter().collect(),
            judged: None,
        }
    }

    fn hear(call_policy: &mut CallPolicy, text: &str) -> Result<Ruling, String> {
        match call_policy.hear(&serde_json::from_str(text).unwrap()) {
            Ruling::Refused(why) => Err(why),
            ruling => Ok(ruling),
        }
    }

    fn check(part: Part, text: &str, expect: Result<Ruling, &str>) {
        let got = hear(&mut CallPolicy::new(capability(part)), text);
        match (&got, &expect) {
            (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
            _ => assert_eq!(got.as_ref().ok(), expect.as_ref().ok(), "{text}: {got:?}"),
        }
    }

    #[test]
    fn a_judge_says_what_it_found_about_what_it_was_given() {
        let judge = |text: &str, expect| check(Part::Judge, text, expect);
        judge(
            r#"{"tool":"cast_verdict","args":{"verdict":"approve","checked":"read all of it"}}"#,
            Ok(Ruling::Heard),
        );
        judge(r#"{"tool":"cast_verdict","args":{"verdict":"maybe"}}"#, Err("not understood"));
        judge(r#"{"tool":"cast_verdict","args":{"verdict":"approve|reject"}}"#, Err("not understood"));
        judge(r#"{"tool":"cast_verdict","args":{}}"#, Err("not understood"));
        judge(
            r#"{"tool":"cast_verdict","args":{"verdict":"approve","said":[{"id":"F-1","status":"resolved"}]}}"#,
            Ok(Ruling::Heard),
        );
        judge(
            r#"{"tool":"cast_verdict","args":{"verdict":"reject","said":[{"id":"F-1","status":"still_there"}]}}"#,
            Ok(Ruling::Heard),
        );
        judge(
            r#"{"tool":"cast_verdict","args":{"verdict":"reject","said":[{"id":"F-9","status":"resolved"}]}}"#,
            Err("these were: F-1"),
        );
        judge(
            r#"{"tool":"set_loop_review_result","args":{"loopId":"01-01/t1","taskId":"1","passed":true}}"#,
            Ok(Ruling::Heard),
        );
        judge(
            r#"{"tool":"set_loop_review_result","args":{"loopId":"01-02/t1","passed":true}}"#,
            Err("loop 01-01/t1 alone"),
        );
        judge(r#"{"tool":"cast_verdict","args":{"verdict":"approve","round":1}}"#, Err("round 2 alone"));
        judge(r#"{"tool":"cast_verdict","args":{"verdict":"approve","round":2}}"#, Ok(Ruling::Heard));
        judge(r#"{"tool":"cast_verdict","args":{"verdict":"approve","revision":"x"}}"#, Err("revision abc"));
        judge(r#"{"tool":"cast_verdict","args":{"verdict":"approve","reviewer":"other"}}"#, Err("reviewer"));
        judge(
            r#"{"tool":"report_findings","args":{"findings":[{"severity":"blocker","issue":"x"}]}}"#,
            Ok(Ruling::Heard),
        );
        judge(
            r#"{"tool":"report_findings","args":{"findings":[{"severity":"blocker"}]}}"#,
            Err("not underst"),
        );
        judge(
            r#"{"tool":"report_findings","args":{"findings":[],"verdict":"approve"}}"#,
            Err("cast_verdict"),
        );
        judge(r#"{"tool":"report_fix","args":{"id":"F-1","fixed":true}}"#, Err("only the builder"));
        judge(r#"{"tool":"run_checks"}"#, Ok(Ruling::Checks));
        judge(r#"{"tool":"get_context"}"#, Ok(Ruling::Context));
        judge(r#"{"tool":"rm"}"#, Err("no such tool; yours are report_findings, cast_verdict"));
    }

    #[test]
    fn a_builder_replies_and_does_not_judge_its_own_work() {
        let builder = |text: &str, expect| check(Part::Builder, text, expect);
        builder(
            r#"{"tool":"cast_verdict","args":{"verdict":"approve"}}"#,
            Err("does not judge its own work"),
        );
        builder(r#"{"tool":"report_fix","args":{"id":"F-1","fixed":true}}"#, Ok(Ruling::Heard));
        builder(r#"{"tool":"report_fix","args":{"id":"F-1","status":"refuted"}}"#, Err("say fixed, or why"));
        builder(
            r#"{"tool":"report_fix","args":{"id":"F-1","status":"cannot_fix","why":"frozen"}}"#,
            Ok(Ruling::Heard),
        );
        builder(r#"{"tool":"report_fix","args":{"id":"F-2","fixed":true}}"#, Err("these were: F-1"));
        builder(r#"{"tool":"report_task_done","args":{"done":true,"summary":"s"}}"#, Ok(Ruling::Heard));
        builder(
            r#"{"tool":"escalate","args":{"about":"no key"}}"#,
            Ok(Ruling::Escalated("no key".to_owned())),
        );
        builder(r#"{"tool":"escalate","args":{}}"#, Err("what about"));
    }

    #[test]
    fn one_verdict_counts_and_none_after_the_round() {
        let vote = r#"{"tool":"cast_verdict","args":{"verdict":"reject"}}"#;
        let mut call_policy = CallPolicy::new(capability(Part::Judge));
        assert_eq!(hear(&mut call_policy, vote), Ok(Ruling::Heard));
        assert!(
            hear(&mut call_policy, &vote.replace("reject", "approve"))
                .is_err_and(|why| why.contains("second"))
        );
        let late = r#"{"tool":"report_findings","args":{"findings":[{"severity":"blocker","issue":"x"}]}}"#;
        assert!(hear(&mut call_policy, late).is_err_and(|why| why.contains("after the verdict")));
        assert_eq!(call_policy.refused().len(), 2);
        let mut call_policy = CallPolicy::new(capability(Part::Judge));
        call_policy.close();
        assert!(hear(&mut call_policy, vote).is_err_and(|why| why.contains("closed")));
        assert!(
            call_policy.refused()[0].starts_with("cast_verdict: this round is closed"),
            "{:?}",
            call_policy.refused()
        );
    }
}
