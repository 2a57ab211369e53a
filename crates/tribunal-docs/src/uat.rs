//! Acceptance by a person: scenarios from summaries, what an answer means, and `NN-UAT.md` ⇄ [`Uat`].
//!
//! Only a clear yes is a pass. Every other answer is an issue, kept with all its words: a person who writes a sentence
//! has seen something.

use crate::markdown::{self, heading};
use crate::{PlanId, Summary, front};
use serde::Serialize;

/// How many scenarios a plan gets at most.
const PER_PLAN: usize = 3;

const PASS: [&str; 12] = [
    "pass",
    "passed",
    "yes",
    "y",
    "good",
    "ok",
    "okay",
    "works",
    "correct",
    "confirmed",
    "lgtm",
    "looks good",
];
const SKIP: [&str; 7] = ["skip", "skipped", "next", "n/a", "na", "later", "defer"];
// Severities are tried from the worst down, so an answer with words of both is the worse one.
const CRITICAL: [&str; 6] = ["crash", "broken", "error", "doesn't work", "fails", "exception"];
const MAJOR: [&str; 5] = ["wrong", "incorrect", "missing", "not working", "bug"];
const MINOR: [&str; 6] = ["minor", "cosmetic", "nitpick", "small", "typo", "polish"];

/// What a person said of one scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UatAnswer {
    /// The feature does what it should.
    Pass,
    /// The scenario was not tried.
    Skip,
    /// The feature does not do what it should.
    Issue {
        /// The issue in the person's words.
        text: String,
        /// The severity by those words: `critical`, `major` or `minor`.
        severity: &'static str,
    },
}

/// One scenario to try.
///
/// Its id is stable as long as the summary is, so answers survive when the document is made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UatTest {
    /// The id of the scenario, as in `P01-T2`.
    pub id: String,
    /// The plan that it is about.
    pub plan: PlanId,
    /// The title of that plan.
    pub title: String,
    /// What to try, and what should happen.
    pub scenario: String,
    /// The person's answer; `None` before they were asked.
    pub answer: Option<UatAnswer>,
}

/// The acceptance of a phase: one `NN-UAT.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Uat {
    /// The number of the phase.
    pub phase: String,
    /// The day on which it began.
    pub started: String,
    /// The day on which it ended; empty before.
    pub completed: String,
    /// The scenarios, in order.
    pub tests: Vec<UatTest>,
}

/// What an answer means. An empty answer means nothing.
///
/// The whole answer has to be a known word. "ok, but the button is missing" begins with one and is an issue.
pub fn uat_answer(said: &str) -> Option<UatAnswer> {
    let text = said.trim();
    // Phones and word processors write this apostrophe in "doesn't".
    let lower = text.to_lowercase().replace('’', "'");
    // "Works!" is a yes.
    let plain = lower.trim_end_matches(['.', '!']);
    if text.is_empty() {
        return None;
    }
    Some(match plain {
        word if PASS.contains(&word) => UatAnswer::Pass,
        word if SKIP.contains(&word) => UatAnswer::Skip,
        _ => UatAnswer::Issue { text: one_line(text), severity: severity(&lower) },
    })
}

fn severity(lower: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    match () {
        () if says(&CRITICAL) => "critical",
        () if says(&MAJOR) => "major",
        () if says(&MINOR) => "minor",
        // An issue without a telling word is taken seriously rather than lightly.
        () => "major",
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Uat {
    /// A fresh acceptance: one to three scenarios for each plan, from what its summary says was built.
    pub fn of(phase: &str, summaries: &[Summary], started: &str) -> Uat {
        let tests = summaries.iter().flat_map(scenarios).collect();
        Uat { phase: phase.to_owned(), started: started.to_owned(), completed: String::new(), tests }
    }

    /// Takes over earlier answers, by id and scenario. Scenarios that passed or were skipped are not asked again.
    pub fn resume(&mut self, before: &Uat) {
        for test in &mut self.tests {
            // The id alone would carry an answer over to another scenario after the summary changed.
            let same = |old: &&UatTest| old.id == test.id && old.scenario == test.scenario;
            test.answer = before.tests.iter().find(same).and_then(|old| old.answer.clone());
        }
        // The day on which somebody began stays, however often the questions are made again.
        if !before.started.is_empty() {
            self.started.clone_from(&before.started);
        }
    }

    /// Has issues asked again, because somebody may have fixed them.
    pub fn ask_issues_again(&mut self) {
        for test in &mut self.tests {
            test.answer.take_if(|answer| matches!(answer, UatAnswer::Issue { .. }));
        }
        self.completed.clear();
    }

    /// The index of the next scenario to ask.
    pub fn next(&self) -> Option<usize> {
        self.tests.iter().position(|test| test.answer.is_none())
    }

    /// The issues, with their scenarios.
    pub fn issues(&self) -> Vec<(&UatTest, String, &'static str)> {
        let issue = |test: &'_ UatTest| match &test.answer {
            Some(UatAnswer::Issue { text, severity }) => Some((text.clone(), *severity)),
            _ => None,
        };
        self.tests
            .iter()
            .filter_map(|test| issue(test).map(|(text, severity)| (test, text, severity)))
            .collect()
    }

    /// The status of the acceptance: `in_progress`, `complete` or `issues_found`.
    pub fn status(&self) -> &'static str {
        match (self.next(), self.issues().is_empty()) {
            // An open question keeps it in progress, even if there are issues already.
            (Some(_), _) => "in_progress",
            (None, true) => "complete",
            (None, false) => "issues_found",
        }
    }

    /// How many scenarios got this answer.
    fn count(&self, wanted: &UatAnswer) -> usize {
        self.tests.iter().filter(|test| test.answer.as_ref() == Some(wanted)).count()
    }

    /// How many passed, were skipped, and have issues.
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.count(&UatAnswer::Pass), self.count(&UatAnswer::Skip), self.issues().len())
    }
}

/// What to try of a plan: the first points of what was built, otherwise its title.
fn scenarios(summary: &Summary) -> Vec<UatTest> {
    let title = summary.title.clone().unwrap_or_else(|| summary.id.to_string());
    let built = summary.section("What Was Built").map(|section| section.text.clone()).unwrap_or_default();
    let point = |line: &str| {
        let line = line.trim_start();
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))?;
        Some(one_line(&item.replace("**", ""))).filter(|item| !item.is_empty())
    };
    let mut points: Vec<String> = Vec::new();
    for item in built.lines().filter_map(point) {
        // Repeated points would get two ids for one scenario.
        if !points.contains(&item) && points.len() < PER_PLAN {
            points.push(item);
        }
    }
    if points.is_empty() {
        let first = built.lines().map(str::trim).find(|line| !line.is_empty());
        // Every plan is tried at least once, even if its summary lists nothing.
        points.push(first.map_or_else(|| title.clone(), one_line));
    }
    let test = |(at, scenario): (usize, String)| UatTest {
        id: format!("P{}-T{}", summary.id.plan, at + 1),
        plan: summary.id.clone(),
        title: one_line(&title),
        scenario,
        answer: None,
    };
    points.into_iter().enumerate().map(test).collect()
}

/// Writes the document, in the form that [`read_uat`] reads.
pub fn write_uat(uat: &Uat) -> String {
    let plans: std::collections::BTreeSet<&PlanId> = uat.tests.iter().map(|test| &test.plan).collect();
    let (passed, skipped, issues) = uat.counts();
    let mut text = format!(
        "---\nphase: \"{}\"\nplan_count: {}\nstatus: {}\nstarted: {}\ncompleted: {}\ntotal_tests: {}\npassed: {passed}\n\
         skipped: {skipped}\nissues: {issues}\n---\n\n# Acceptance of phase {}\n",
        uat.phase,
        plans.len(),
        uat.status(),
        uat.started,
        // An empty value would be null to a reader of YAML.
        if uat.completed.is_empty() { "\"\"" } else { &uat.completed },
        uat.tests.len(),
        uat.phase,
    );
    for test in &uat.tests {
        text.push_str(&format!(
            "\n### {}: {}\n\n- **Plan:** {}\n- **Scenario:** {}\n",
            test.id, test.title, test.plan, test.scenario
        ));
        match &test.answer {
            None => text.push_str("- **Result:** open\n"),
            Some(UatAnswer::Pass) => text.push_str("- **Result:** pass\n"),
            Some(UatAnswer::Skip) => text.push_str("- **Result:** skip\n"),
            Some(UatAnswer::Issue { text: issue, severity }) => text.push_str(&format!(
                "- **Result:** issue\n- **Severity:** {severity}\n- **Issue:** {issue}\n"
            )),
        }
    }
    text
}

/// Reads a document. Whatever is not a scenario is skipped.
pub fn read_uat(text: &str) -> Uat {
    let mut front = front::read(text, &|key| matches!(key, "phase" | "started" | "completed"));
    let mut fields = front.take_fields(&[]);
    let mut take = |key: &str| fields.take_text(key).unwrap_or_default();
    let mut uat = Uat {
        phase: take("phase"),
        started: take("started"),
        completed: take("completed"),
        tests: Vec::new(),
    };
    for line in markdown::lines(front.body, front.body_line).iter().filter(|line| !line.hidden) {
        if let Some((3, head)) = heading(line.text) {
            let (id, title) = head.split_once(':').unwrap_or((head, ""));
            // Other headings of this level are a person's own notes.
            if is_test(id.trim()) {
                let (id, title) = (id.trim().to_owned(), title.trim().to_owned());
                // The plan is taken from the id; the field `Plan` is for people.
                let plan = PlanId::new(&uat.phase, id[1..].split('-').next().unwrap_or(""));
                uat.tests.push(UatTest { id, plan, title, scenario: String::new(), answer: None });
            }
        } else if let Some(test) = uat.tests.last_mut() {
            take_field(test, line.text);
        }
    }
    uat
}

fn is_test(id: &str) -> bool {
    id.strip_prefix('P')
        .and_then(|rest| rest.rsplit_once("-T"))
        .is_some_and(|(plan, n)| !plan.is_empty() && !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn take_field(test: &mut UatTest, line: &str) {
    let Some((key, value)) = line.trim().strip_prefix("- **").and_then(|rest| rest.split_once(":**")) else {
        return;
    };
    let value = value.trim();
    match (key, &mut test.answer) {
        ("Scenario", _) => value.clone_into(&mut test.scenario),
        ("Result", answer) => {
            *answer = match value {
                "pass" => Some(UatAnswer::Pass),
                "skip" => Some(UatAnswer::Skip),
                "issue" => Some(UatAnswer::Issue { text: String::new(), severity: "major" }),
                // An unknown result counts as not answered, so the scenario is asked again.
                _ => None,
            }
        }
        ("Severity", Some(UatAnswer::Issue { severity, .. })) => {
            *severity = ["critical", "minor"].into_iter().find(|word| *word == value).unwrap_or("major");
        }
        ("Issue", Some(UatAnswer::Issue { text, .. })) => value.clone_into(text),
        _ => {}
    }
}
