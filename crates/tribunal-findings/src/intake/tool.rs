//! Makes findings of what a linter, compiler or formatter printed.
//!
//! The text of any tool is data: nothing in it is followed or believed to be a verdict. Which tool speaks which form is
//! not known here; the rows of the tools say so. A reader of a form returns an error rather than an empty report when
//! the form is not there, because empty means clean.

use super::compiler::read_compiler_lines;
use super::sarif::read_sarif;
use super::{Intake, claim_words, go, syntax};
use crate::text::clip;
use crate::track::Change;
use crate::words::path_inside;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Severity};

/// The forms in which tools report what they found.
///
/// A form is chosen by the tool's row in the settings. A new tool that prints one of these forms needs no code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolForm {
    /// A SARIF 2.1.0 log.
    Sarif,
    /// Lines of the form `file:line[:col]: message`.
    Lines,
    /// One JSON object per line, as cargo prints the compiler's messages.
    Cargo,
    /// The JSON that ESLint prints.
    Eslint,
    /// The JSON that `cargo audit` prints.
    Audit,
    /// The JSON that `shellcheck` prints (`json1`).
    Shellcheck,
    /// The JSON of `go vet`, one document per package, with errors of the compiler as lines beside it.
    GoVet,
    /// What the tool rewrites is what it found; errors of syntax are lines.
    Rewrite,
}

/// What one run of a tool reported.
///
/// An empty report means clean. Whether the tool got so far that its silence counts is decided in `answer`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolReport {
    /// Its findings, each once.
    pub findings: Vec<Claim>,
    /// Why the tool could not look at everything, such as code that does not compile.
    pub broken: Option<String>,
    /// Parts of its output that could not be read.
    pub unread: Vec<String>,
    /// The parts of the work it named, each once.
    pub parts: Vec<ToolPart>,
    /// What it said failed, in its own words.
    pub failed: Vec<String>,
}

/// A part of what a tool looks at: for cargo, a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolPart {
    /// Its kind, as the tool calls it.
    pub kind: String,
    /// The file it begins with; empty where that is not inside the subject.
    pub path: String,
    /// Errors that stopped the tool in this part.
    pub stopped: Vec<String>,
}

impl ToolPart {
    /// Whether a file may belong to it: the file it begins with, or anything beside and below that.
    ///
    /// A broad answer on purpose: a part that the tool could not look at is left out only if no changed file may be in
    /// it.
    pub fn may_hold(&self, path: &str) -> bool {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Reads a tool's output; the error says why it does not have the form. `root` is the folder the tool ran in: paths
/// under it become paths inside the subject.
pub(super) fn read_form(form: ToolForm, out: &str, err: &str, root: &str) -> Result<ToolReport, String> {
    // Tools print the root plainly or as a URI; with it left in, every path would be refused as absolute.
    let escaped = format!("file://{}/", escaped(root));
    let inside = |text: &str| {
        let text = text.replace(&escaped, "").replace(&format!("file://{root}/"), "");
        text.replace(&format!("{root}/"), "")
    };
    let (out, both) = (inside(out), || inside(&format!("{out}\n{err}")));
    let mut report = match form {
        ToolForm::Sarif => sarif(&out, root)?,
        ToolForm::Lines => taken(read_compiler_lines(&both())),
        ToolForm::Cargo => cargo(&both())?,
        ToolForm::Eslint => eslint(&out)?,
        ToolForm::Audit => audit(&out)?,
        ToolForm::Shellcheck => shellcheck(&out)?,
        ToolForm::GoVet => go::vet(&both())?,
        ToolForm::Rewrite => syntax::read(&both()),
    };
    // Cargo reports a file once for each target it is part of.
    let mut seen = BTreeSet::new();
    report.findings.retain(|claim| {
        seen.insert((claim.file.clone(), claim.line, claim.end, claim.rule.clone(), claim.claim.clone()))
    });
    Ok(report)
}

/// A path as it stands in a URI.
pub(super) fn escaped(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte))
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The rule of a formatter's findings.
pub(crate) const FORMAT: &str = "format";

/// What a formatter would write differently, one finding for each stretch.
pub fn read_rewrite(diff: &str, tool: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    for file in Change::from_unified(diff).files() {
        let Some(path) = &file.old else { continue };
        for hunk in &file.hunks {
            // A pure insertion has no old line; it is cited where it would go.
            let first = hunk.old_start.max(1);
            let text = format!("{tool} would write this differently");
            let mut claim = Claim::new(Severity::Warning, text).at(path, Some(first));
            claim.end = Some(first + hunk.old_len.saturating_sub(1));
            claim.rule = Some(FORMAT.to_owned());
            certain(&mut claim);
            claims.push(claim);
        }
    }
    claims
}

pub(super) fn taken(intake: Intake) -> ToolReport {
    // A tool has no verdict to give, so its absence is not worth a note.
    let unread = intake.unread.into_iter().filter(|unread| !unread.why.starts_with("no verdict"));
    let unread = unread.map(|unread| match unread.text.is_empty() {
        true => unread.why,
        false => format!("{}: {}", unread.why, unread.text),
    });
    ToolReport { findings: intake.findings, unread: unread.collect(), ..ToolReport::default() }
}

pub(super) fn certain(claim: &mut Claim) {
    (claim.confidence, claim.confidence_stated) = (100, true);
}

pub(super) fn words<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> Option<u32> {
    value.get(key)?.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0)
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn claim_of(severity: Severity, text: &str) -> Claim {
    let (claim, details) = claim_words(text);
    let mut claim = Claim::new(severity, claim);
    claim.details = details;
    certain(&mut claim);
    claim
}

/// The parts that a SARIF log cannot do without: a log without results is of a run that did not get that far.
#[derive(Deserialize)]
struct Log {
    runs: Vec<LogRun>,
}

#[derive(Deserialize)]
struct LogRun {
    #[serde(rename = "results")]
    _results: Vec<LogResult>,
    #[serde(default)]
    invocations: Vec<Invocation>,
    /// Results in other files are not read, and might be anything.
    #[serde(default, rename = "externalPropertyFileReferences")]
    elsewhere: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct LogResult {
    #[serde(rename = "message")]
    _message: BTreeMap<String, serde::de::IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Invocation {
    execution_successful: Option<bool>,
    tool_execution_notifications: Vec<Value>,
    tool_configuration_notifications: Vec<Value>,
}

/// Reads a SARIF log of a run that got to its end.
fn sarif(text: &str, root: &str) -> Result<ToolReport, String> {
    let log: Log = document(text, "SARIF")?;
    if log.runs.is_empty() {
        return Err("a SARIF log of no run".to_owned());
    }
    // An incomplete log would make the missing findings look resolved.
    if log.runs.iter().any(|run| run.elsewhere.is_some()) {
        return Err("parts of its log lie in other files".to_owned());
    }
    for invocation in log.runs.iter().flat_map(|run| &run.invocations) {
        let notes = invocation.tool_execution_notifications.iter();
        let mut notes = notes.chain(&invocation.tool_configuration_notifications);
        // A notification of an error means that part of the code was not looked at.
        let wrong = notes.find(|note| words(note, "level") == "error");
        if let Some(note) = wrong {
            let text = note.pointer("/message/text").and_then(Value::as_str).unwrap_or("an error");
            return Err(format!("its log says that it could not look at everything: {}", clip(text, 300)));
        }
        if invocation.execution_successful == Some(false) {
            return Err("its log says that it did not run to its end".to_owned());
        }
    }
    let placed = super::places::from_root(text, root);
    Ok(taken(read_sarif(placed.as_deref().unwrap_or(text))))
}

/// A whole document of a form, and nothing else.
pub(super) fn document<'t, T: Deserialize<'t>>(text: &'t str, form: &str) -> Result<T, String> {
    match text.trim() {
        "" => Err(format!("nothing on standard output, where {form} should be")),
        text => serde_json::from_str(text).map_err(|error| format!("not the {form} it should be: {error}")),
    }
}

/// Puts a claim at a place, if the place is inside the subject.
pub(super) fn place(claim: &mut Claim, report: &mut ToolReport, path: &str, lines: Option<(u32, u32)>) {
    match path_inside(path) {
        Ok(path) => {
            claim.file = Some(path);
            (claim.line, claim.end) = (lines.map(|l| l.0), lines.map(|l| l.1));
        }
        Err(why) => report.unread.push(why),
    }
}

/// Reads cargo's messages; they are complete only with the one that ends the build.
fn cargo(text: &str) -> Result<ToolReport, String> {
    let (mut report, mut finished) = (ToolReport::default(), false);
    for line in text.lines() {
        // Cargo's own summary lines, beside its JSON.
        if line.starts_with("error") {
            report.failed.push(clip(line, 300));
        }
        if !line.trim_start().starts_with('{') {
            continue;
        }
        // A line cut in half means that the output was cut: what is missing may be findings.
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            return Err(format!("a line that is half a message: {}", clip(line, 200)));
        };
        if let Some(name) = steered(&value) {
            return Err(format!(
                "a build script of the project sets {name}, from which the tool takes its orders"
            ));
        }
        finished |= words(&value, "reason") == "build-finished";
        let stopped = match value.get("message") {
            Some(message) if words(&value, "reason") == "compiler-message" => {
                diagnostic(message, &mut report)
            }
            _ => None,
        };
        if let Some(target) = value.get("target") {
            part(target, &mut report).stopped.extend(stopped);
        }
    }
    // Cargo says this last, whatever came of the build.
    if finished { Ok(report) } else { Err("its messages break off before the end of the build".to_owned()) }
}

/// The variable by which a build script of the project steers the compiler that runs after it, if it does.
///
/// Cargo gives what a build script sets to the compiler of that package, over everything that we set. Clippy takes its
/// options and the place of its settings from there, and the loader takes code to run. Packages from elsewhere are not
/// judged, so what they set for themselves matters to nobody.
fn steered(message: &Value) -> Option<&str> {
    const NAMES: [&str; 8] = [
        "CARGO_MANIFEST_DIR",
        "CARGO_PRIMARY_PACKAGE",
        "GLIBC_TUNABLES",
        "RUSTC_ICE",
        "RUSTC_LOG",
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "SYSROOT",
    ];
    const BEGINNINGS: [&str; 4] = ["CLIPPY_", "__CLIPPY_", "LD_", "DYLD_"];
    let package = words(message, "package_id");
    let elsewhere = ["registry+", "git+", "sparse+"].iter().any(|source| package.starts_with(source));
    if words(message, "reason") != "build-script-executed" || elsewhere {
        return None;
    }
    let names = list(message, "env").iter().filter_map(|pair| pair.get(0)?.as_str());
    let steers = |name: &&str| NAMES.contains(name) || BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    names.into_iter().find(steers)
}

/// The part that a message of cargo is about.
fn part<'r>(target: &Value, report: &'r mut ToolReport) -> &'r mut ToolPart {
    let kinds: Vec<&str> = list(target, "kind").iter().filter_map(Value::as_str).collect();
    let (kind, path) = (kinds.join(" "), path_inside(words(target, "src_path")).unwrap_or_default());
    // One target has many messages.
    let known = report.parts.iter().position(|part| part.kind == kind && part.path == path);
    let at = known.unwrap_or_else(|| {
        report.parts.push(ToolPart { kind, path, stopped: Vec::new() });
        report.parts.len() - 1
    });
    &mut report.parts[at]
}

/// Reads one message of the Rust compiler; returns what stopped the compiler, if this did.
fn diagnostic(message: &Value, report: &mut ToolReport) -> Option<String> {
    let severity = match words(message, "level") {
        level if level.starts_with("error") => Severity::Blocker,
        "warning" => Severity::Warning,
        _ => Severity::Suggestion,
    };
    let code = message.get("code").map(|code| words(code, "code")).unwrap_or_default();
    let text = words(message, "message");
    // A lint that is denied is an error, too, but its code is a name; only `E0382` and its kin stop the build.
    let stops = severity == Severity::Blocker && (code.is_empty() || is_error_code(code));
    let stopped = (stops && !text.starts_with("aborting due to")).then(|| clip(text, 300));
    report.broken = report.broken.take().or_else(|| stopped.clone());
    let spans = list(message, "spans");
    let primary = spans.iter().find(|span| span.get("is_primary") == Some(&Value::Bool(true)));
    let Some(span) = primary.map(outermost) else { return stopped };
    let mut claim = claim_of(severity, text);
    claim.rule = (!code.is_empty()).then(|| code.to_owned());
    claim.suggestion = list(message, "children")
        .iter()
        .find(|child| words(child, "level") == "help" && !words(child, "message").starts_with("for further"))
        .map(|help| clip(&advice(help), 600))
        .unwrap_or_default();
    let start = number(span, "line_start");
    let lines = start.map(|start| (start, number(span, "line_end").unwrap_or(start).max(start)));
    place(&mut claim, report, words(span, "file_name"), lines);
    report.findings.push(claim);
    stopped
}

/// What a help says, with the replacement where that is one short piece: "change this to" alone helps nobody.
fn advice(help: &Value) -> String {
    let text = words(help, "message");
    match list(help, "spans") {
        [span] => match words(span, "suggested_replacement").trim() {
            new if new.is_empty() || new.contains('\n') || text.contains(new) => text.to_owned(),
            new => format!("{text}: `{new}`"),
        },
        _ => text.to_owned(),
    }
}

fn is_error_code(code: &str) -> bool {
    code.strip_prefix('E').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The span where a macro was called, for code that the macro made elsewhere.
fn outermost(span: &Value) -> &Value {
    let mut at = span;
    // Macros may nest; a bound keeps hostile output from going on forever.
    for _ in 0..32 {
        let inside = path_inside(words(at, "file_name")).is_ok();
        match at.pointer("/expansion/span") {
            // Up to the first span in a file of ours.
            Some(outer) if !inside => at = outer,
            _ => break,
        }
    }
    at
}

/// Reads ESLint's JSON.
fn eslint(text: &str) -> Result<ToolReport, String> {
    let mut report = ToolReport::default();
    let files: Vec<Value> = document(text, "JSON of a linter")?;
    // It names every file that it looked at, even one that it has nothing to say about.
    if files.is_empty() || files.iter().any(|file| !file.get("messages").is_some_and(Value::is_array)) {
        return Err("the JSON of a linter that looked at no file".to_owned());
    }
    for file in &files {
        for message in list(file, "messages") {
            // A file that ESLint could not parse.
            let fatal = message.get("fatal") == Some(&Value::Bool(true));
            let severity = match message.get("severity").and_then(Value::as_u64) {
                Some(2) => Severity::Blocker,
                _ if fatal => Severity::Blocker,
                _ => Severity::Warning,
            };
            let mut claim = claim_of(severity, words(message, "message"));
            let rule = words(message, "ruleId");
            claim.rule = (!rule.is_empty()).then(|| rule.to_owned());
            let start = number(message, "line");
            let lines = start.map(|start| (start, number(message, "endLine").unwrap_or(start).max(start)));
            place(&mut claim, &mut report, words(file, "filePath"), lines);
            report.findings.push(claim);
        }
    }
    Ok(report)
}

/// Reads shellcheck's JSON.
fn shellcheck(text: &str) -> Result<ToolReport, String> {
    let mut report = ToolReport::default();
    let value: Value = document(text, "JSON of shellcheck")?;
    let comments = value.get("comments").and_then(Value::as_array);
    for comment in comments.ok_or("JSON, and not of shellcheck: it has no comments")? {
        let severity = match words(comment, "level") {
            "error" => Severity::Blocker,
            "warning" => Severity::Warning,
            _ => Severity::Suggestion,
        };
        let mut claim = claim_of(severity, words(comment, "message"));
        claim.rule = number(comment, "code").map(|code| format!("SC{code}"));
        let start = number(comment, "line");
        let lines = start.map(|start| (start, number(comment, "endLine").unwrap_or(start).max(start)));
        place(&mut claim, &mut report, words(comment, "file"), lines);
        report.findings.push(claim);
    }
    Ok(report)
}

/// Reads the JSON of `cargo audit`; an advisory is about the lock file, as it names no other.
fn audit(text: &str) -> Result<ToolReport, String> {
    let mut report = ToolReport::default();
    let value: Value = document(text, "JSON of an audit")?;
    let vulnerable = value.pointer("/vulnerabilities/list").and_then(Value::as_array);
    let vulnerable = vulnerable.ok_or("JSON, and not of an audit: it has no list of vulnerabilities")?;
    // Unmaintained and yanked crates are listed apart from vulnerabilities.
    let warned = value.get("warnings").and_then(Value::as_object);
    let warned = warned.into_iter().flat_map(|kinds| kinds.values()).filter_map(Value::as_array).flatten();
    let each = vulnerable.iter().map(|one| (Severity::Blocker, one));
    for (severity, one) in each.chain(warned.map(|one| (Severity::Warning, one))) {
        let (advisory, package) = (one.get("advisory"), one.get("package"));
        let of = |part: Option<&Value>, key: &str| part.map(|part| words(part, key).to_owned());
        let title = of(advisory, "title").filter(|title| !title.is_empty());
        let title = title.unwrap_or_else(|| "an advisory".to_owned());
        let name = of(package, "name").unwrap_or_default();
        let version = of(package, "version").unwrap_or_default();
        let mut claim = claim_of(severity, &format!("{name} {version}: {title}"));
        claim.rule = of(advisory, "id").filter(|id| !id.is_empty());
        claim.domain = Some("security".to_owned());
        claim.file = Some("Cargo.lock".to_owned());
        report.findings.push(claim);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(form: ToolForm, text: &str) -> Vec<String> {
        let line = |claim: &Claim| {
            let (file, line) = (claim.file.as_deref().unwrap_or("-"), claim.line.unwrap_or(0));
            let rule = claim.rule.as_deref().unwrap_or("-");
            format!("{} {file}:{line}-{} {rule} {}", claim.severity, claim.end.unwrap_or(0), claim.claim)
        };
        read_form(form, text, "", "/t/tree").unwrap().findings.iter().map(line).collect()
    }

    #[test]
    fn each_form_becomes_the_same_finding() {
        let check = |form, text: &str, expect: &[&str]| assert_eq!(found(form, text), expect, "{form:?}");
        check(
            ToolForm::Lines,
            "a.sh:3:6: note: Double quote to prevent globbing. [SC2086]\n./m.go:5:2: undefined: x\n# pkg\n",
            &[
                "suggestion a.sh:3-3 SC2086 Double quote to prevent globbing.",
                "warning m.go:5-5 - undefined: x",
            ],
        );
        check(
            ToolForm::Shellcheck,
            r#"{"comments":[{"file":"a.sh","line":3,"endLine":4,"level":"error","code":1072,"message":"Expected a command."},{"file":"a.sh","line":1,"level":"style","code":2250,"message":"Braces."}]}"#,
            &["blocker a.sh:3-4 SC1072 Expected a command.", "suggestion a.sh:1-1 SC2250 Braces."],
        );
        check(
            ToolForm::Lines,
            "/t/tree/src/a.ts(1,5): error TS2304: Cannot find name 'x'.",
            &["blocker src/a.ts:1-1 TS2304 Cannot find name 'x'."],
        );
        check(
            ToolForm::Eslint,
            r#"[{"filePath":"/t/tree/a.js","messages":[{"ruleId":"no-var","severity":2,"message":"Unexpected var","line":2,"endLine":4},{"ruleId":null,"severity":1,"message":"odd"}]},{"filePath":"/etc/x.js","messages":[{"severity":1,"message":"outside","line":1}]}]"#,
            &["blocker a.js:2-4 no-var Unexpected var", "warning a.js:0-0 - odd", "warning -:0-0 - outside"],
        );
        check(
            ToolForm::Sarif,
            r#"{"version":"2.1.0","runs":[{"results":[{"ruleId":"F401","level":"error","message":{"text":"unused"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///t/tree/a.py"},"region":{"startLine":1}}}]}]}]}"#,
            &["blocker a.py:1-1 F401 unused"],
        );
        check(
            ToolForm::Audit,
            r#"{"vulnerabilities":{"list":[{"advisory":{"id":"RUSTSEC-1","title":"bad"},"package":{"name":"x","version":"1.0.0"}}]},"warnings":{"yanked":[{"package":{"name":"y","version":"2"}}]}}"#,
            &["blocker Cargo.lock:0-0 RUSTSEC-1 x 1.0.0: bad", "warning Cargo.lock:0-0 - y 2: an advisory"],
        );
    }

    #[test]
    fn cargo_says_a_thing_once_and_when_nothing_compiles() {
        let line = r#"{"reason":"compiler-message","message":{"message":"unused variable: `x`","code":{"code":"unused_variables"},"level":"warning","spans":[{"file_name":"src/main.rs","line_start":2,"line_end":2,"is_primary":true}],"children":[{"level":"help","message":"prefix it"}]}}"#;
        let twice = format!("{line}\n{line}\n{{\"reason\":\"build-finished\"}}\nnot json\n");
        let report = read_form(ToolForm::Cargo, &twice, "", "/t/tree").unwrap();
        assert_eq!(report.findings.len(), 1);
        assert_eq!(report.findings[0].suggestion, "prefix it");
        let spans = r#""message":"change this to","spans":[{"suggested_replacement":"&[u8]"}]"#;
        let written = twice.replace("\"message\":\"prefix it\"", spans);
        let report_of_it = read_form(ToolForm::Cargo, &written, "", "/t/tree").unwrap();
        assert_eq!(report_of_it.findings[0].suggestion, "change this to: `&[u8]`");
        assert_eq!((report.broken, report.unread.len()), (None, 0));
        let line = &format!("{line}\n{{\"reason\":\"build-finished\"}}");
        let error = line.replace("unused_variables", "E0425").replace("warning", "error");
        assert!(read_form(ToolForm::Cargo, &error, "", "/t/tree").unwrap().broken.is_some());
        let denied = line.replace("unused_variables", "clippy::unwrap_used").replace("warning", "error");
        assert_eq!(
            read_form(ToolForm::Cargo, &denied, "", "/t/tree").unwrap().broken,
            None,
            "a denied lint stops nothing"
        );
        let registry = line.replace("src/main.rs", "/registry/m.rs").replace(
            "\"is_primary\":true",
            r#""is_primary":true,"expansion":{"span":{"file_name":"src/lib.rs","line_start":7,"line_end":7}}"#,
        );
        assert_eq!(found(ToolForm::Cargo, &registry)[0].split(' ').nth(1), Some("src/lib.rs:7-7"));
    }

    /// What a build script sets reaches the compiler that judges its package.
    #[test]
    fn cargo_that_a_build_script_steers_did_not_run() {
        let check = |package: &str, name: &str, fits: bool| {
            let line = format!(
                r#"{{"reason":"build-script-executed","package_id":"{package}","env":[["A","1"],["{name}","x"]]}}"#
            );
            let text = format!("{line}\n{{\"reason\":\"build-finished\"}}\n");
            assert_eq!(read_form(ToolForm::Cargo, &text, "", "/t/tree").is_ok(), fits, "{package} {name}");
        };
        let own = "path+file:///t/tree#p@0.1.0";
        for name in ["CLIPPY_ARGS", "CLIPPY_CONF_DIR", "LD_PRELOAD", "CARGO_MANIFEST_DIR"] {
            check(own, name, false);
            check("registry+https://index#p@1.0.0", name, true);
        }
        for name in ["GIT_COMMIT", "RUSTC_VERSION", "CARGO_PKG_VERSION", "TARGET"] {
            check(own, name, true);
        }
    }

    #[test]
    fn cargo_names_its_parts_and_where_it_stopped() {
        let target =
            |kind: &str, path: &str| format!(r#""target":{{"kind":["{kind}"],"src_path":"{path}"}}"#);
        let says = |target: &str, level: &str, code: &str| {
            format!(
                r#"{{"reason":"compiler-message",{target},"message":{{"message":"m","code":{code},"level":"{level}","spans":[]}}}}"#
            )
        };
        let (review_round, lib) = (target("bench", "/t/tree/perf/p.rs"), target("lib", "/t/tree/src/lib.rs"));
        let text = [
            says(&lib, "warning", r#"{"code":"dead_code"}"#),
            format!(r#"{{"reason":"compiler-artifact",{lib}}}"#),
            says(&review_round, "error", r#"{"code":"E0425"}"#),
            says(&review_round, "error", r#"{"code":"clippy::unwrap_used"}"#),
            says(&target("lib", "/registry/lib.rs"), "warning", "null"),
            r#"error: could not compile `x` (bench "p") due to 1 previous error"#.to_owned(),
            r#"{"reason":"build-finished","success":false}"#.to_owned(),
        ];
        let report = read_form(ToolForm::Cargo, &text.join("\n"), "", "/t/tree").unwrap();
        let parts: Vec<(&str, usize)> =
            report.parts.iter().map(|part| (part.path.as_str(), part.stopped.len())).collect();
        assert_eq!(parts, [("src/lib.rs", 0), ("perf/p.rs", 1), ("", 0)]);
        assert_eq!(report.failed.len(), 1);
        let holds = |n: usize, path: &str| report.parts[n].may_hold(path);
        assert!(holds(1, "perf/p.rs") && holds(1, "perf/more/a.rs") && !holds(1, "perform/a.rs"));
        assert!(!holds(1, "src/lib.rs") && holds(2, "anything.rs"), "what lies nowhere may be anything");
    }

    #[test]
    fn a_folder_with_odd_letters_is_known_in_a_uri() {
        let log = r#"{"version":"2.1.0","runs":[{"results":[{"message":{"text":"x"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///a%20%C3%B6/t/b.py"}}}]}]}]}"#;
        assert_eq!(
            read_form(ToolForm::Sarif, log, "", "/a ö/t").unwrap().findings[0].file.as_deref(),
            Some("b.py")
        );
    }

    #[test]
    fn a_formatter_finds_what_it_would_rewrite() {
        let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,4 @@\n-fn main(){\n+fn main() {\n \n-x}\n+    x\n+}\n";
        let claims = read_rewrite(diff, "rustfmt");
        let places: Vec<_> = claims.iter().map(|claim| (claim.line, claim.end)).collect();
        assert_eq!(places, [(Some(1), Some(1)), (Some(3), Some(3))]);
        assert!(read_rewrite("", "rustfmt").is_empty());
    }
}
