//! The tools of editor agents: their names, their arguments, and the strict reading of a call.
//!
//! A field that is wrong or unknown is refused with its name, and nothing is guessed: the caller is a program that can
//! correct itself. The schemas in `all` and the checks in `read` must agree; a change of one needs a change of the
//! other.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tribunal_agent::reporting::Tool;
use tribunal_core::finding::Severity;
use tribunal_core::ids::FindingId;
use tribunal_engine::editor::{Stance, TEXT_MAX};
use tribunal_view::facts::FindingView;
use tribunal_view::plain;

/// Findings in one answer, if the call does not say how many.
const LIMIT: usize = 20;
/// The most findings in one answer.
pub const LIMIT_MAX: usize = 100;
/// The longest range of commits, in characters.
const RANGE_MAX: usize = 300;
/// The longest name of a run, in characters.
const RUN_MAX: usize = 100;

/// A call that was read and can be answered.
///
/// Everything in it is checked: ids are typed, a run's name is safe as a part of a path, and a range cannot be an
/// option.
#[derive(Debug, PartialEq, Eq)]
pub enum Call {
    /// Start a review of a change.
    Start(Start),
    /// Tell where a run stands.
    Run(Which),
    /// List findings of a run.
    List(Wanted),
    /// Show one finding in full.
    Get {
        /// The run; the newest without a name.
        run: Option<String>,
        /// The finding to show.
        id: FindingId,
    },
    /// Claim a finding to work on, or give it back.
    Claim {
        run: Option<String>,
        id: FindingId,
        /// True to give the finding back.
        release: bool,
    },
    /// Record what the agent did about a finding.
    Answer {
        run: Option<String>,
        id: FindingId,
        /// What the agent did, in one word.
        stance: Stance,
        /// What the agent did, in its own words.
        text: String,
    },
    /// List what waits for a person.
    Inbox(Which),
}

/// The change that a review is started on.
#[derive(Debug, PartialEq, Eq)]
pub enum Start {
    /// A range of commits.
    Diff(String),
    /// The changes that are staged for the next commit.
    Staged,
}

/// The run that is meant; without a name the newest, or all runs where that makes sense.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Which {
    pub run: Option<String>,
}

/// Which findings of a run are wanted, and which page of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The run whose findings are listed.
    pub which: Which,
    group: Group,
    severity: Option<Severity>,
    /// How many matching findings to skip.
    pub offset: usize,
    /// How many findings to return at most.
    pub limit: usize,
}

impl Wanted {
    /// True if a finding matches.
    pub fn takes(&self, finding: &FindingView) -> bool {
        let fate = match &self.group {
            Group::All => true,
            Group::Open => finding.fate.needs_person(),
            // Everything that nobody has to do anything about, whatever its fate.
            Group::Settled => !finding.fate.needs_person(),
            Group::Fate(word) => finding.fate.word() == word,
        };
        fate && self.severity.is_none_or(|severity| finding.severity == severity)
    }
}

/// The findings that a list is restricted to.
#[derive(Debug, PartialEq, Eq)]
enum Group {
    Open,
    Settled,
    All,
    /// Those with the fate of this name.
    Fate(String),
}

impl Group {
    fn read(word: String) -> Group {
        let groups = [Group::Open, Group::Settled, Group::All];
        FATES
            .iter()
            .zip(groups)
            .find(|(name, _)| **name == word)
            .map_or(Group::Fate(word), |(_, group)| group)
    }
}

/// The fates that a list can be restricted to; the first three are groups.
const FATES: [&str; 14] = [
    "open",
    "settled",
    "all",
    "fixed",
    "refuted",
    "filtered",
    "deferred",
    "discarded",
    "duplicate",
    "superseded",
    "advisory",
    "carried",
    "waived",
    "unresolved",
];
const SEVERITIES: [&str; 3] = ["blocker", "warning", "suggestion"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartArgs {
    diff: Option<String>,
    staged: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArgs {
    run: Option<String>,
    fate: Option<String>,
    severity: Option<String>,
    offset: Option<u32>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetArgs {
    id: String,
    run: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimArgs {
    id: String,
    run: Option<String>,
    release: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerArgs {
    id: String,
    run: Option<String>,
    stance: Stance,
    text: String,
}

/// Reads a call; the error names the field that is wrong.
pub fn read(tool: &str, args: Map<String, Value>) -> Result<Call, String> {
    Ok(match tool {
        "start_review" => Call::Start(start(fields(args)?)?),
        "get_run" => Call::Run(which(fields::<Which>(args)?.run)?),
        "list_findings" => Call::List(wanted(fields(args)?)?),
        "get_finding" => {
            let args: GetArgs = fields(args)?;
            Call::Get { run: run(args.run)?, id: id(&args.id)? }
        }
        "claim_finding" => {
            let args: ClaimArgs = fields(args)?;
            Call::Claim { run: run(args.run)?, id: id(&args.id)?, release: args.release.unwrap_or(false) }
        }
        "answer_finding" => {
            let args: AnswerArgs = fields(args)?;
            let text = args.text.trim();
            match text.chars().count() {
                0 => return Err("text: an answer needs words".to_owned()),
                n if n > TEXT_MAX => return Err(format!("text: {n} characters; {TEXT_MAX} at most")),
                _ => {}
            }
            let text = text.to_owned();
            Call::Answer { run: run(args.run)?, id: id(&args.id)?, stance: args.stance, text }
        }
        "see_inbox" => Call::Inbox(which(fields::<Which>(args)?.run)?),
        other => return Err(format!("there is no tool {:?}", plain::clipped(other, 60))),
    })
}

fn fields<T: DeserializeOwned>(args: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(args)).map_err(|error| plain::clipped(&error.to_string(), 300))
}

fn start(args: StartArgs) -> Result<Start, String> {
    match (args.diff, args.staged.unwrap_or(false)) {
        (Some(_), true) => Err("either diff or staged, not both".to_owned()),
        (None, true) => Ok(Start::Staged),
        // No default: a review of the wrong change costs money and says nothing.
        (None, false) => Err("say what to review: diff (a range as main..HEAD) or staged: true".to_owned()),
        (Some(range), false) => {
            let fine = |c: char| !c.is_control() && !c.is_whitespace();
            let sound = !range.is_empty() && range.chars().all(fine) && range.len() <= RANGE_MAX;
            // The range becomes an argument of a command: one with a dash in front would be an option.
            match sound && !range.starts_with('-') {
                true => Ok(Start::Diff(range)),
                false => Err("diff: it is no range of commits; write main..HEAD, or main".to_owned()),
            }
        }
    }
}

fn wanted(args: ListArgs) -> Result<Wanted, String> {
    args.fate.iter().try_for_each(|fate| one_of("fate", fate, &FATES))?;
    args.severity.iter().try_for_each(|severity| one_of("severity", severity, &SEVERITIES))?;
    let group = args.fate.map_or(Group::Open, Group::read);
    let severity = args.severity.and_then(|word| Severity::ALL.into_iter().find(|one| one.word() == word));
    let number = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    // A limit out of range is refused and not clamped, as the schema promises.
    let limit = args.limit.map_or(LIMIT, number);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(format!("limit: 1 to {LIMIT_MAX}"));
    }
    let offset = args.offset.map_or(0, number);
    Ok(Wanted { which: which(args.run)?, group, severity, offset, limit })
}

fn one_of(field: &str, word: &str, words: &[&str]) -> Result<(), String> {
    match words.contains(&word) {
        true => Ok(()),
        false => Err(format!("{field}: {:?} is none of {}", plain::clipped(word, 40), words.join(", "))),
    }
}

fn which(name: Option<String>) -> Result<Which, String> {
    Ok(Which { run: run(name)? })
}

/// Checks the name of a run. It becomes a part of a path, so only plain characters are allowed.
fn run(name: Option<String>) -> Result<Option<String>, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match name {
        Some(name) if name.is_empty() || name.len() > RUN_MAX || !name.chars().all(plain) => {
            Err("run: it is no run's name; leave it out for the newest".to_owned())
        }
        name => Ok(name),
    }
}

fn id(text: &str) -> Result<FindingId, String> {
    // The parser also takes a bare number, which an agent may mean as a line or a place in a list.
    let written = text.starts_with(['F', 'f']) && text.len() <= 12;
    FindingId::parse(text).filter(|_| written).ok_or_else(|| "id: a finding is written F-12".to_owned())
}

/// All tools with their schemas, in the order they are listed.
pub fn all() -> Vec<Tool> {
    let run = json!({"type": "string", "description": "the run; the newest without it"});
    let id = json!({"type": "string", "description": "the finding: F-12"});
    let stances: Vec<&str> = Stance::ALL.iter().map(|stance| stance.word()).collect();
    vec![
        tool(
            "start_review",
            "Start a review of a range of commits or of what is staged. It goes on by itself; returns the run's id. \
             Nothing is changed by it.",
            json!({
                "diff": {"type": "string", "description": "a range: main..HEAD, main...topic, or main for everything since"},
                "staged": {"type": "boolean", "description": "review what is staged for the next commit"},
            }),
            &[],
        ),
        tool(
            "get_run",
            "How a run stands: stage, ending, how many findings are open.",
            json!({"run": run}),
            &[],
        ),
        tool(
            "list_findings",
            "Findings of a run, a page at a time.",
            json!({
                "run": run,
                "fate": {"type": "string", "enum": FATES, "description": "open (the default), settled, all, or one fate"},
                "severity": {"type": "string", "enum": SEVERITIES},
                "offset": {"type": "integer", "minimum": 0},
                "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX},
            }),
            &[],
        ),
        tool(
            "get_finding",
            "One finding in full: what is wrong, the code it is about, its story, what was tried, what was said.",
            json!({"id": id, "run": run}),
            &["id"],
        ),
        tool(
            "claim_finding",
            "Say that you look at a finding, so that no other agent does. Lapses after an hour; release gives it back.",
            json!({"id": id, "run": run, "release": {"type": "boolean"}}),
            &["id"],
        ),
        tool(
            "answer_finding",
            "Say what you did about a finding or why it is none. It is recorded and shown to people; it settles nothing.",
            json!({"id": id, "run": run,
                "stance": {"type": "string", "enum": stances},
                "text": {"type": "string", "maxLength": TEXT_MAX, "description": "what you did, or why"}}),
            &["id", "stance", "text"],
        ),
        tool("see_inbox", "What waits for a person. Read only: a person decides.", json!({"run": run}), &[]),
    ]
}

fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Tool {
    Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({"type": "object", "properties": properties, "required": required,
            "additionalProperties": false}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, args: Value) -> Result<Call, String> {
        read(tool, args.as_object().cloned().unwrap())
    }

    #[test]
    fn calls_are_read() {
        let check =
            |tool: &str, args: Value, expect: Call| assert_eq!(call(tool, args), Ok(expect), "{tool}");
        check(
            "start_review",
            json!({"diff": "main..HEAD"}),
            Call::Start(Start::Diff("main..HEAD".to_owned())),
        );
        check("start_review", json!({"staged": true}), Call::Start(Start::Staged));
        check("get_run", json!({}), Call::Run(Which::default()));
        check("get_finding", json!({"id": "F-3"}), Call::Get { run: None, id: FindingId(3) });
        let (run, id) = (Some("20260101-1".to_owned()), FindingId(3));
        let args = json!({"id": "f3", "run": "20260101-1", "release": true});
        check("claim_finding", args, Call::Claim { run, id, release: true });
        let args = json!({"id": "F-3", "stance": "cannot_fix", "text": " no access \n"});
        let text = "no access".to_owned();
        check("answer_finding", args, Call::Answer { run: None, id, stance: Stance::CannotFix, text });
    }

    #[test]
    fn what_a_field_does_not_allow_is_refused_by_its_name() {
        let check = |tool: &str, args: Value, expect: &str| {
            let told = call(tool, args.clone()).unwrap_err();
            assert!(told.contains(expect), "{tool} {args}: {told}");
        };
        check("start_review", json!({}), "say what to review");
        check("start_review", json!({"diff": "a", "staged": true}), "not both");
        check("start_review", json!({"diff": "--output=x"}), "no range");
        check("start_review", json!({"diff": "a b"}), "no range");
        check("start_review", json!({"diff": "a\u{1b}[2J"}), "no range");
        check("start_review", json!({"diff": ""}), "no range");
        check("start_review", json!({"diff": 3}), "string");
        check("start_review", json!({"diff": "a", "fix": true}), "fix");
        check("get_run", json!({"run": "../../etc"}), "run:");
        check("get_run", json!({"run": ""}), "run:");
        check("list_findings", json!({"fate": "gone"}), "fate:");
        check("list_findings", json!({"severity": "critical"}), "severity:");
        check("list_findings", json!({"limit": 0}), "limit:");
        check("list_findings", json!({"limit": 101}), "limit:");
        check("list_findings", json!({"offset": -1}), "-1");
        check("get_finding", json!({}), "id");
        check("get_finding", json!({"id": "12"}), "F-12");
        check("get_finding", json!({"id": "F-99999999999"}), "F-12");
        check("answer_finding", json!({"id": "F-1", "stance": "waived", "text": "x"}), "waived");
        check("answer_finding", json!({"id": "F-1", "stance": "note", "text": " "}), "needs words");
        check("answer_finding", json!({"id": "F-1", "stance": "note", "text": "x".repeat(4_001)}), "4001");
        check("decide", json!({}), "no tool");
    }

    #[test]
    fn every_tool_that_is_listed_can_be_read() {
        for tool in all() {
            let told = call(&tool.name, json!({"never": 1})).unwrap_err();
            assert!(told.contains("never"), "{}: {told}", tool.name);
        }
    }
}
