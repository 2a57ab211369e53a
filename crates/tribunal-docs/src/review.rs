//! The structural check of a plan and the check of a revised one. Both give the same answer every time and ask no
//! model.
//!
//! Facts about the disk come in as arguments, so the check itself never looks at one. A revision must not lose what
//! nobody asked it to lose, so it is compared with the plan before it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::phase::{self, ProblemKind};
use crate::{Diagnostic, Plan, plan, task};

/// The keys that every plan must have.
const REQUIRED: [&str; 6] = ["phase", "plan", "title", "wave", "depends_on", "must_haves"];

/// The checks, in the order in which they are reported.
const CHECKS: [&str; 13] = [
    "file",
    "frontmatter",
    "must_haves",
    "wave",
    "task_count",
    "files_exist",
    "dependency_cycle",
    "wave_order",
    "file_claims",
    "plan_id",
    "empty_text",
    "must_haves_served",
    "skills",
];

/// What the check must be told about the world around a plan.
///
/// The caller gathers these facts, which keeps the check pure and the same for every caller.
pub struct PlanFacts<'a> {
    /// Whether a path exists, from the repository root. It is asked only for paths inside the repository.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// How many tasks a plan may have.
    pub tasks_max: usize,
    /// The other plans of the phase.
    pub others: &'a [&'a Plan],
    /// The names of the skills that exist; `None` when that is not known, and then skills are not checked.
    pub known_skills: Option<&'a BTreeSet<String>>,
}

/// What a check concludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanVerdict {
    /// The check found nothing wrong.
    Approve,
    /// The check has only medium and low findings.
    Conditional,
    /// The check has a finding of high severity.
    Reject,
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanSeverity {
    /// The finding rejects the plan.
    High,
    /// The finding is worth a revision.
    Medium,
    /// The finding is worth knowing.
    Low,
}

/// How one check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// The check found nothing wrong.
    Pass,
    /// The check has medium or low findings.
    Warn,
    /// The check has a finding of high severity.
    Fail,
}

/// One check and how it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of the check in the protocol.
    pub name: &'static str,
    /// The outcome of the check.
    pub status: CheckStatus,
}

/// One thing that is wrong with a plan.
///
/// Its id is made of the check and its subject and not of the message, so better wording does not make it another
/// finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanFinding {
    /// The same for the same mistake in every revision, so that findings can be followed from one to the next.
    pub id: String,
    /// How much the finding weighs.
    pub severity: PlanSeverity,
    /// The name of the check that found it.
    pub check: &'static str,
    /// The path of the plan's file.
    pub file: String,
    /// The finding in a few words.
    pub title: String,
    /// The finding in a sentence.
    pub description: String,
    /// What would make it right.
    pub suggestion: String,
    /// The line in the plan's file.
    pub line: u32,
    /// Whether the suggestion can be applied without judgement.
    pub auto_fixable: bool,
}

/// What the structural check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StructuralReport {
    /// What all findings add up to.
    pub verdict: PlanVerdict,
    /// Every check that was made.
    pub checks: Vec<Check>,
    /// Every finding, the heaviest first.
    pub findings: Vec<PlanFinding>,
}

impl StructuralReport {
    /// The report of a plan that could not be examined further than its first failed check.
    ///
    /// Later checks are left out instead of passing: they were not made.
    fn cut_short(findings: Vec<PlanFinding>) -> Self {
        let mut report = StructuralReport::of(findings);
        // The checks after it were never made, and must not be shown as passed.
        let last = report.checks.iter().position(|check| check.status == CheckStatus::Fail);
        report.checks.truncate(last.map_or(report.checks.len(), |last| last + 1));
        report
    }

    fn of(mut findings: Vec<PlanFinding>) -> Self {
        // A fixed order, since reports of two revisions are compared with each other.
        findings.sort_by(|a, b| (a.severity, a.line, &a.id).cmp(&(b.severity, b.line, &b.id)));
        // One id is one mistake, even where two rules meet it.
        findings.dedup_by(|a, b| a.id == b.id);
        // `High` is the smallest value, so the minimum is the worst.
        let worst = findings.iter().map(|finding| finding.severity).min();
        let verdict = match worst {
            Some(PlanSeverity::High) => PlanVerdict::Reject,
            Some(_) => PlanVerdict::Conditional,
            None => PlanVerdict::Approve,
        };
        let checks = CHECKS.map(|name| {
            let found = findings.iter().filter(|finding| finding.check == name);
            let status = match found.map(|finding| finding.severity).min() {
                Some(PlanSeverity::High) => CheckStatus::Fail,
                Some(_) => CheckStatus::Warn,
                None => CheckStatus::Pass,
            };
            Check { name, status }
        });
        StructuralReport { verdict, checks: checks.into(), findings }
    }
}

/// The report for a plan file that does not exist.
pub fn missing_plan(file: &str) -> StructuralReport {
    let mut findings = Findings::new(file);
    findings.add(
        Rule::new("file", PlanSeverity::High, 1),
        "",
        "the plan file is missing",
        format!("{file} does not exist"),
        "write the plan, or correct its path".to_owned(),
    );
    StructuralReport::cut_short(findings.list)
}

/// The report for a plan that could not be read.
pub fn unreadable_plan(file: &str, diagnostics: &[Diagnostic]) -> StructuralReport {
    let mut findings = Findings::new(file);
    for diagnostic in diagnostics {
        findings.add(
            Rule::new("frontmatter", PlanSeverity::High, diagnostic.line),
            &format!("{}:{}", diagnostic.line, diagnostic.column),
            "the frontmatter cannot be read",
            format!("{file}:{}:{}: {}", diagnostic.line, diagnostic.column, diagnostic.message),
            "make it valid YAML; put texts with `: ` or quotes in quotes".to_owned(),
        );
    }
    StructuralReport::cut_short(findings.list)
}

/// Checks one plan by the protocol's table of rules.
///
/// The check is deterministic, so it runs before any reviewer: a reviewer's time is not spent on a missing key.
pub fn structural_check(plan: &Plan, facts: &PlanFacts<'_>) -> StructuralReport {
    let mut findings = Findings::new(&plan.path);
    match plan.has_frontmatter {
        true => check_keys(plan, &mut findings),
        false => findings.add(
            Rule::new("frontmatter", PlanSeverity::High, 1),
            "",
            "the frontmatter is missing",
            "the document does not start with `---` and `key: value` lines".to_owned(),
            format!("add frontmatter with {}", REQUIRED.join(", ")),
        ),
    }
    check_size(plan, facts, &mut findings);
    check_files(plan, facts, &mut findings);
    check_phase(plan, facts, &mut findings);
    check_texts(plan, &mut findings);
    check_served(plan, &mut findings);
    check_skills(plan, facts, &mut findings);
    StructuralReport::of(findings.list)
}

/// What all findings at one place share.
#[derive(Clone, Copy)]
struct Rule {
    check: &'static str,
    severity: PlanSeverity,
    line: u32,
    auto_fixable: bool,
}

impl Rule {
    fn new(check: &'static str, severity: PlanSeverity, line: u32) -> Self {
        Rule { check, severity, line, auto_fixable: false }
    }

    fn fixable(self, auto_fixable: bool) -> Self {
        Rule { auto_fixable, ..self }
    }
}

struct Findings {
    file: String,
    list: Vec<PlanFinding>,
}

impl Findings {
    fn new(file: &str) -> Self {
        Findings { file: file.to_owned(), list: Vec::new() }
    }

    /// Adds a finding. `subject` tells findings of one check apart and must not change from revision to revision.
    fn add(&mut self, rule: Rule, subject: &str, title: &str, description: String, suggestion: String) {
        let id = match subject.is_empty() {
            true => rule.check.to_owned(),
            false => format!("{}:{subject}", rule.check),
        };
        self.list.push(PlanFinding {
            id,
            severity: rule.severity,
            check: rule.check,
            file: self.file.clone(),
            title: title.to_owned(),
            description,
            suggestion,
            line: rule.line,
            auto_fixable: rule.auto_fixable,
        });
    }
}

fn check_keys(plan: &Plan, findings: &mut Findings) {
    for key in REQUIRED {
        let unnamed = match key {
            "phase" => plan.phase.is_none(),
            "plan" => plan.plan.is_none(),
            _ => false,
        };
        // A key that is written but empty does not name the plan.
        if plan.has(key) && !unnamed {
            continue;
        }
        // A value that the rest of the document already gives can be filled in without judgement.
        let known = match key {
            "phase" => !plan.id.phase.is_empty(),
            "plan" => !plan.id.plan.is_empty(),
            "title" => plan.title.is_some(),
            _ => false,
        };
        findings.add(
            Rule::new("frontmatter", PlanSeverity::High, 1).fixable(known),
            key,
            &format!("`{key}` is missing"),
            format!("the frontmatter has no `{key}`"),
            suggested_key(plan, key),
        );
    }
    // A missing key is reported above; here it is written and says nothing.
    if plan.has("must_haves") && plan.must_haves.is_empty() {
        findings.add(
            Rule::new("must_haves", PlanSeverity::High, plan.line_of("must_haves")),
            "",
            "must_haves is empty",
            "nothing says what must be true when the plan is done".to_owned(),
            "list what must be true in the end, one statement each".to_owned(),
        );
    }
    // Every other spelling of a wave would silently be taken for none.
    if plan.has("wave") && plan.wave_number().is_none() {
        let written = plan.wave.as_deref().unwrap_or("");
        findings.add(
            Rule::new("wave", PlanSeverity::High, plan.line_of("wave")),
            "",
            "wave is not a positive integer",
            format!("`wave: {written}` names no wave"),
            "set `wave: 1`, or one more than the highest wave it depends on".to_owned(),
        );
    }
}

fn suggested_key(plan: &Plan, key: &str) -> String {
    match key {
        "phase" => format!("add `phase: \"{}\"`", plan.id.phase),
        "plan" => format!("add `plan: \"{}\"`", plan.id.plan),
        "wave" => "add `wave: 1`, or one more than the highest wave it depends on".to_owned(),
        "depends_on" => "add `depends_on: []`, or the plans it needs".to_owned(),
        _ => format!("add `{key}`"),
    }
}

fn check_size(plan: &Plan, facts: &PlanFacts<'_>, findings: &mut Findings) {
    let count = plan.tasks.len();
    if count > facts.tasks_max {
        // The first task too many is where the plan would have to be split.
        let line = plan.tasks.get(facts.tasks_max).map_or(1, |task| task.line);
        findings.add(
            Rule::new("task_count", PlanSeverity::Medium, line),
            "",
            "too many tasks",
            format!("{count} tasks; at most {} are good for one plan", facts.tasks_max),
            "split the plan".to_owned(),
        );
    }
}

fn check_files(plan: &Plan, facts: &PlanFacts<'_>, findings: &mut Findings) {
    let mut listed: BTreeMap<String, (bool, u32)> = BTreeMap::new();
    let front = plan.files_modified.iter().filter_map(|f| plan::listed_path(f));
    let front = front.map(|file| (file, plan.line_of("files_modified")));
    let tasks = plan.tasks.iter();
    let tasks = tasks.flat_map(|task| task.files.iter().map(|file| (file.clone(), task.line)));
    for (file, line) in front.chain(tasks) {
        // A file that is new anywhere is new: one mention of it is enough.
        let known = listed.entry(file.path).or_insert((file.new, line));
        known.0 |= file.new;
    }
    for (path, (new, line)) in listed {
        let inside = is_inside(&path);
        // A pattern need not match anything yet.
        if inside && (new || path.contains(['*', '{', '?']) || (facts.exists)(&path)) {
            continue;
        }
        let (description, suggestion) = match inside {
            true => (format!("{path} does not exist"), format!("correct the path, or write `{path}` (new)")),
            false => (
                format!("{path} is not inside the repository"),
                "give the path from the repository root".to_owned(),
            ),
        };
        let rule = Rule::new("files_exist", PlanSeverity::Low, line);
        findings.add(rule, &path, "a listed file does not exist", description, suggestion);
    }
}

/// Whether a path is relative and does not leave the repository.
fn is_inside(path: &str) -> bool {
    // `C:\` is absolute on Windows.
    let drive = path.as_bytes().get(1) == Some(&b':');
    !path.starts_with(['/', '\\', '~']) && !drive && path.split(['/', '\\']).all(|part| part != "..")
}

fn check_phase(plan: &Plan, facts: &PlanFacts<'_>, findings: &mut Findings) {
    for problem in phase::structural_problems(plan, facts.others) {
        let (check, title) = match problem.kind {
            ProblemKind::Cycle => ("dependency_cycle", "a dependency cycle"),
            ProblemKind::SelfDependency => ("dependency_cycle", "a dependency on itself"),
            ProblemKind::WaveOrder => ("wave_order", "a wave that is not above its dependencies"),
            ProblemKind::FileClaim => ("file_claims", "a file claimed twice in one wave"),
            ProblemKind::DuplicateId => ("plan_id", "a plan id given twice"),
            // A plan is checked while its phase is still being written, so its neighbours may be missing.
            ProblemKind::MissingDependency | ProblemKind::CrossPhase => continue,
        };
        let rule = Rule::new(check, PlanSeverity::High, problem.line)
            // The right wave follows from the others; every other mistake needs a decision.
            .fixable(problem.kind == ProblemKind::WaveOrder);
        findings.add(rule, &problem.subject, title, problem.message, problem.fix);
    }
}

fn check_texts(plan: &Plan, findings: &mut Findings) {
    let blank = |text: &str| text.trim().is_empty();
    if plan.has("title") && plan.title.as_deref().is_none_or(blank) {
        findings.add(
            Rule::new("empty_text", PlanSeverity::Medium, plan.line_of("title")),
            "title",
            "the title is empty",
            "`title` says nothing".to_owned(),
            "say in a few words what the plan does".to_owned(),
        );
    }
    for task in &plan.tasks {
        let (what, part) = match (blank(&task.title), blank(&task.body)) {
            (true, _) => ("title", "has no title"),
            (_, true) => ("body", "has no text"),
            _ => continue,
        };
        findings.add(
            Rule::new("empty_text", PlanSeverity::Medium, task.line),
            &format!("task-{}-{what}", task.number),
            "an empty task",
            format!("task {} {part}", task.number),
            "say what is to be done".to_owned(),
        );
    }
}

fn check_skills(plan: &Plan, facts: &PlanFacts<'_>, findings: &mut Findings) {
    // Without a list of skills, every name would be reported as unknown.
    let Some(known) = facts.known_skills else {
        return;
    };
    for skill in &plan.skills_used {
        if !known.contains(skill) {
            findings.add(
                Rule::new("skills", PlanSeverity::Low, plan.line_of("skills_used")),
                skill,
                "an unknown skill",
                format!("there is no skill `{skill}`"),
                "correct the name or remove it".to_owned(),
            );
        }
    }
}

/// Reports a must_have that nobody works on: no task shares enough of its words, its names or its path.
fn check_served(plan: &Plan, findings: &mut Findings) {
    // An empty list is reported by another check.
    if plan.must_haves.is_empty() {
        return;
    }
    let rule = Rule::new("must_haves_served", PlanSeverity::Medium, plan.line_of("must_haves"));
    // One finding instead of one for each must_have, which would all say the same.
    if plan.tasks.is_empty() {
        findings.add(
            rule,
            "",
            "no tasks",
            "no task was found, so none serves the must_haves".to_owned(),
            "write tasks as `### Task 1: title`".to_owned(),
        );
        return;
    }
    let served = Served::new(plan);
    let truths = plan.must_haves.truths.iter();
    let truths = truths.filter(|truth| !served.words(truth));
    let artifacts = plan.must_haves.artifacts.iter();
    let artifacts = artifacts.map(|artifact| &artifact.path);
    let artifacts = artifacts.filter(|path| !served.path(path));
    for entry in truths.chain(artifacts) {
        findings.add(
            rule,
            &slug(entry),
            "a must_have that no task serves",
            format!("no task works on: {entry}"),
            "add it to a task, or drop it".to_owned(),
        );
    }
}

/// The words and paths of all tasks, by word.
struct Served {
    tasks: usize,
    by_word: BTreeMap<String, Vec<usize>>,
    paths: BTreeSet<String>,
}

impl Served {
    fn new(plan: &Plan) -> Self {
        let mut served = Served {
            tasks: plan.tasks.len(),
            by_word: BTreeMap::new(),
            paths: plan.claimed_files().into_iter().collect(),
        };
        for (place, task) in plan.tasks.iter().enumerate() {
            let files = task.files.iter().map(|file| file.path.as_str());
            let rest = [&task.commit, &task.verify, &task.done];
            let rest = rest.into_iter().flatten().map(String::as_str);
            for text in [task.title.as_str(), &task.body].into_iter().chain(files).chain(rest) {
                served.take(place, text);
            }
        }
        served
    }

    fn take(&mut self, place: usize, text: &str) {
        for token in text.split(|c: char| !is_path_char(c)) {
            if token.contains(['/', '.']) {
                let path = token.trim_end_matches(['.', ':']).trim_start_matches("./");
                self.paths.insert(path.to_owned());
            }
        }
        for word in significant(text) {
            let places = self.by_word.entry(word).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
    }

    fn path(&self, path: &str) -> bool {
        match task::clean_path(path) {
            Some(path) => {
                let name = path.rsplit('/').next().unwrap_or(&path);
                // Authors often write the bare file name in a task and the whole path in the must_have.
                self.paths.contains(&path) || self.paths.contains(name) || path.contains('*')
            }
            None => self.words(path),
        }
    }

    /// Whether one task shares a third of the words, and at least two of them.
    ///
    /// A must_have of one or two words, such as "the parser works", is served by a task that has one of them: the other
    /// word says only that it is good.
    fn words(&self, text: &str) -> bool {
        let words: BTreeSet<String> = significant(text).collect();
        let enough = if words.len() <= 2 { 1 } else { words.len().div_ceil(3).max(2) };
        let mut shared = vec![0usize; self.tasks];
        for word in &words {
            for place in self.by_word.get(word).into_iter().flatten() {
                shared[*place] += 1;
                // A name like `review_max_cycles` is never shared by accident.
                if word.contains('_') {
                    return true;
                }
            }
        }
        // Text without any significant word, as in scripts without blanks, cannot be judged and is not reported.
        words.is_empty() || shared.iter().any(|count| *count >= enough)
    }
}

fn is_path_char(c: char) -> bool {
    c.is_alphanumeric() || "_-./@+".contains(c)
}

/// Words that carry meaning, cut to their stems. Scripts without blanks between words have none.
pub(crate) fn significant(text: &str) -> impl Iterator<Item = String> + '_ {
    const COMMON: [&str; 34] = [
        "with", "from", "that", "this", "have", "must", "should", "when", "then", "than", "into", "only",
        "each", "every", "their", "them", "they", "will", "been", "being", "does", "uses", "used", "using",
        "which", "where", "while", "before", "after", "there", "other", "also", "both", "some",
    ];
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.is_ascii() && word.len() >= 3)
        .map(str::to_ascii_lowercase)
        .filter(|word| word.len() > 3 || word.bytes().any(|b| b.is_ascii_digit()))
        .filter(|word| !COMMON.contains(&word.as_str()))
        .map(|word| stem(&word))
}

/// A rough stem, so that `reviewing`, `reviewed`, `reviews` and `review` meet.
fn stem(word: &str) -> String {
    // A name of code has no endings.
    if word.contains('_') {
        return word.to_owned();
    }
    // The longest ending first, and never so much that less than three letters remain.
    let cut = ["ations", "ation", "ings", "ing", "ies", "ed", "es", "s", "e", "y"]
        .iter()
        .filter_map(|ending| word.strip_suffix(ending))
        .find(|rest| rest.len() >= 3);
    cut.unwrap_or(word).to_owned()
}

/// A short name of a text that stays the same when case, spacing or punctuation change.
fn slug(text: &str) -> String {
    let plain = plain(text).replace(' ', "-");
    match plain.char_indices().nth(60) {
        // Bounded, because the name becomes part of an id.
        Some((cut, _)) => plain[..cut].to_owned(),
        None => plain,
    }
}

/// Letters and digits in lower case, with one blank between words.
fn plain(text: &str) -> String {
    let letters = |c: char| match c.is_alphanumeric() || c == '_' {
        true => c,
        false => ' ',
    };
    let text: String = text.to_lowercase().chars().map(letters).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a revision changed that it must not: the id, the phase, requirements, and must_haves unless a finding asked.
///
/// `asked` are the words of the findings that the revision answers. A finding that quotes a must_have asks for its
/// change.
pub fn check_revision(before: &Plan, after: &Plan, asked: &[&str]) -> Vec<PlanFinding> {
    let mut findings = Findings::new(&after.path);
    let rule = |key: &str| Rule::new("revision", PlanSeverity::High, after.line_of(key));
    if before.id.plan != after.id.plan {
        findings.add(
            rule("plan"),
            "plan",
            "the revision changed the plan's id",
            format!("plan {} became {}", before.id, after.id),
            format!("set `plan` back to {}", before.id.plan),
        );
    }
    if before.id.phase != after.id.phase {
        findings.add(
            rule("phase"),
            "phase",
            "the revision changed the plan's phase",
            format!("phase {} became {}", before.id.phase, after.id.phase),
            format!("set `phase` back to {}", before.id.phase),
        );
    }
    let asked: Vec<String> = asked.iter().map(|words| plain(words)).collect();
    // Compared without case and punctuation: better wording is not a loss.
    let kept: BTreeSet<String> = after.requirements.iter().map(|r| plain(r)).collect();
    for lost in before.requirements.iter().filter(|r| !kept.contains(&plain(r))) {
        findings.add(
            rule("requirements"),
            &format!("requirement-{}", slug(lost)),
            "the revision dropped a requirement",
            format!("requirement {lost} is gone"),
            format!("put {lost} back into `requirements`"),
        );
    }
    let kept: BTreeSet<String> = after.must_haves.entries().iter().map(|m| plain(m)).collect();
    for lost in before.must_haves.entries() {
        let words = plain(&lost);
        // A finding that quotes the must_have asked for the change, so dropping it is an answer.
        if kept.contains(&words) || asked.iter().any(|a| asks_for(a, &words)) {
            continue;
        }
        findings.add(
            rule("must_haves"),
            &format!("must-have-{}", slug(&lost)),
            "the revision dropped a must_have",
            format!("no finding asked to drop: {lost}"),
            "put it back into `must_haves` word for word".to_owned(),
        );
    }
    findings.list
}

/// Whether the words of a finding quote a must_have, as whole words only.
fn asks_for(finding: &str, must_have: &str) -> bool {
    !must_have.is_empty() && format!(" {finding} ").contains(&format!(" {must_have} "))
}
