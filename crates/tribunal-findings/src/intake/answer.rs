//! Decides whether what a tool printed is an answer.
//!
//! An answer has the form that the tool's row names, or the tool did not run. These are not answers: nothing where a
//! document should be, half a document, an exit code that the row does not know, words about the tool's own settings, a
//! failure without a finding. Nobody takes them for clean, and nothing is settled by them.
//!
//! Without this rule a broken tool would count as green. Whoever adds a form has to say here how its failure looks.

use super::tool::{ToolForm, ToolReport, read_form};
use crate::text::clip;

/// How a tool answers, as its row says.
///
/// It is data from the tool's row, so that a user can add a tool without code.
#[derive(Clone, Copy)]
pub struct Manner<'a> {
    /// The form of its answer.
    pub form: ToolForm,
    /// Exit codes other than 0 of a run that found something.
    pub found: &'a [i32],
    /// A run that found nothing prints nothing.
    pub silent: bool,
    /// Every run that looked prints one of these; empty where the form itself shows it.
    pub proof: &'a [String],
    /// Files that steer it: what it says about them is about its own settings.
    pub steering: &'a [String],
    /// Words by which it complains about its settings, or about the world around it.
    pub trouble: &'a [String],
    /// Words by which it says that it stopped early; `#` stands for a digit.
    pub stops: &'a [String],
}

/// One run of a tool, as the world recorded it.
///
/// Both streams are given, because tools complain about their settings on either.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Its exit code.
    pub code: i32,
    /// Everything it wrote to standard output.
    pub out: &'a str,
    /// Everything it wrote to standard error.
    pub err: &'a str,
    /// The folder it ran in.
    pub root: &'a str,
    /// Whether a file lies in that folder.
    pub here: &'a dyn Fn(&str) -> bool,
}

/// Reads an answer; the error says why it is not one.
///
/// The caller treats an error as "did not run", never as "found nothing".
pub fn read_answer(manner: &Manner<'_>, run: &Run<'_>) -> Result<ToolReport, String> {
    if run.code != 0 && !manner.found.contains(&run.code) {
        return Err("an exit code that its row does not know".to_owned());
    }
    if let Some(line) = trouble(manner, run) {
        return Err(format!("it has trouble of its own: {}", clip(line.trim(), 300)));
    }
    let mut report = match (manner.form, run.code) {
        // A formatter that ended well has nothing to complain about.
        (ToolForm::Rewrite, 0) => ToolReport::default(),
        (form, _) => read_form(form, run.out, run.err, run.root)?,
    };
    if manner.form == ToolForm::Sarif {
        unplaced(&mut report, run);
    }
    // A finding about its own settings does not prove that it looked at the code.
    let found = report.findings.iter().filter_map(|claim| claim.file.as_deref());
    let found = found.filter(|file| !is_steering(manner, file)).any(|file| (run.here)(file));
    report.broken = report.broken.or_else(|| stop(manner, run));
    // Cargo may stop in a place that is not part of the change.
    let stopped = manner.form == ToolForm::Cargo && report.broken.is_some();
    if run.code != 0 && !found && !stopped {
        return Err("it failed, and says nothing of any file here".to_owned());
    }
    let says = |text: &String| run.out.contains(text.as_str()) || run.err.contains(text.as_str());
    if !found && !manner.proof.is_empty() && !manner.proof.iter().any(says) {
        return Err(format!("nothing it says shows that it looked ({:?})", manner.proof[0]));
    }
    let plain = matches!(manner.form, ToolForm::Lines) && manner.proof.is_empty();
    if plain && !manner.silent && run.out.trim().is_empty() && run.err.trim().is_empty() {
        return Err(
            "it said nothing; `silent = true` in its row would mean that it then found nothing".into()
        );
    }
    // Where only silence means that all is well, words that are not a finding mean that something is wrong.
    let by_silence = plain && manner.silent && manner.found.is_empty() && report.findings.is_empty();
    if let Some(line) =
        run.err.lines().chain(run.out.lines()).find(|line| by_silence && !line.trim().is_empty())
    {
        return Err(format!(
            "by its row it is silent when it finds nothing, and it says: {}",
            clip(line.trim(), 300)
        ));
    }
    Ok(report)
}

/// Removes a missing file from a finding. With the file it would count as one about unchanged code and be dropped;
/// without it, it is kept as a finding about nothing in particular.
fn unplaced(report: &mut ToolReport, run: &Run<'_>) {
    for claim in &mut report.findings {
        let Some(file) = claim.file.take_if(|file| !(run.here)(file)) else { continue };
        (claim.line, claim.end) = (None, None);
        let why =
            format!("a finding names {}, which is not there; it is kept without a place", clip(&file, 200));
        report.unread.push(why);
    }
}

/// The line in which the tool complains about its own settings, or about the world around it.
fn trouble<'a>(manner: &Manner<'_>, run: &Run<'a>) -> Option<&'a str> {
    // Go quotes code in its documents, and indents it.
    let quotes = |line: &str| manner.form == ToolForm::GoVet && line.starts_with('\t');
    let has = |line: &&str| !quotes(line) && manner.trouble.iter().any(|words| line.contains(words.as_str()));
    let all = run.err.lines().chain(run.out.lines());
    let about = |line: &&str| {
        let line = line.trim_start();
        let line = line.strip_prefix(run.root).map_or(line, |rest| rest.trim_start_matches('/'));
        let end = line.find([':', '(']).unwrap_or(0);
        is_steering(manner, line[..end].trim_start_matches("./"))
    };
    // A document is read as a whole by its form; only plain lines are looked at one by one.
    let plain = matches!(manner.form, ToolForm::Lines | ToolForm::GoVet | ToolForm::Rewrite);
    let lines = run.err.lines().chain(run.out.lines().filter(|_| plain));
    all.clone().find(has).or_else(|| lines.clone().find(about))
}

fn is_steering(manner: &Manner<'_>, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    !name.is_empty() && manner.steering.iter().any(|steers| steers == name || steers == file)
}

/// The line in which it says that it stopped early.
fn stop(manner: &Manner<'_>, run: &Run<'_>) -> Option<String> {
    let has = |line: &&str| manner.stops.iter().any(|words| holds(line, words));
    run.out.lines().chain(run.err.lines()).find(has).map(|line| clip(line.trim(), 300))
}

/// Whether a line contains these words, where `#` stands for a digit.
fn holds(line: &str, words: &str) -> bool {
    let fits = |window: &[u8]| {
        window.iter().zip(words.bytes()).all(|(has, want)| match want {
            b'#' => has.is_ascii_digit(),
            want => *has == want,
        })
    };
    !words.is_empty() && line.as_bytes().windows(words.len()).any(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SARIF: &str = r#"{"version":"2.1.0","runs":[{"results":[]}]}"#;
    const CARGO: &str = "{\"reason\":\"build-finished\",\"success\":true}\n";
    const ESLINT: &str = r#"[{"filePath":"/t/a.js","messages":[]}]"#;
    const AUDIT: &str = r#"{"vulnerabilities":{"list":[]},"warnings":{}}"#;

    fn manner(form: ToolForm) -> Manner<'static> {
        Manner { form, found: &[1], silent: false, proof: &[], steering: &[], trouble: &[], stops: &[] }
    }

    fn read(manner: &Manner<'_>, code: i32, out: &str, err: &str) -> Result<ToolReport, String> {
        read_answer(manner, &Run { code, out, err, root: "/t", here: &|file| file.starts_with("a.") })
    }

    /// Every form, with a clean answer of it.
    fn clean() -> [(ToolForm, &'static str); 6] {
        [
            (ToolForm::Sarif, SARIF),
            (ToolForm::Cargo, CARGO),
            (ToolForm::Eslint, ESLINT),
            (ToolForm::Audit, AUDIT),
            (ToolForm::Shellcheck, r#"{"comments":[]}"#),
            (ToolForm::GoVet, "# x\n{}\n"),
        ]
    }

    #[test]
    fn a_whole_document_is_an_answer_and_half_of_one_is_not() {
        for (form, text) in clean() {
            let manner = manner(form);
            assert_eq!(read(&manner, 0, text, ""), Ok(ToolReport::default()), "{form:?}");
            for end in 0..text.trim_end().len() {
                let half = read(&manner, 0, &text[..end], "");
                assert!(half.is_err() || text[end..].trim() == "", "{form:?}: {:?}", &text[..end]);
            }
            assert!(read(&manner, 1, text, "").is_err(), "{form:?} failed and says nothing");
            assert!(read(&manner, 2, text, "").is_err(), "{form:?} ended in a way nobody knows");
        }
    }

    #[test]
    fn lines_that_say_nothing_are_an_answer_only_where_the_row_says_so() {
        let lines = manner(ToolForm::Lines);
        assert!(read(&lines, 0, "", " \n").is_err());
        assert!(read(&Manner { silent: true, ..lines }, 0, "", "").is_ok());
        assert!(
            read(&Manner { silent: true, ..lines }, 0, "", "all is well\n").is_ok(),
            "its exit code says so"
        );
        let by_silence = Manner { silent: true, found: &[], ..lines };
        assert!(read(&by_silence, 0, "", " \n").is_ok());
        assert!(read(&by_silence, 0, "", "mylint.toml: unknown key\n").is_err());
        assert!(read(&by_silence, 0, "usage: mylint FILE\n", "").is_err());
        assert_eq!(read(&by_silence, 0, "a.py:1: error: wrong\n", "").unwrap().findings.len(), 1);
        let proof = ["Success: ".to_owned(), "Found ".to_owned()];
        let proven = Manner { proof: &proof, silent: true, ..lines };
        assert!(read(&proven, 0, "", "").is_err(), "what must be said is said, or it did not look");
        assert!(read(&proven, 0, "Success: no issues\n", "").is_ok());
        assert_eq!(read(&proven, 1, "a.py:1: error: wrong\n", "").unwrap().findings.len(), 1);
    }

    #[test]
    fn a_failure_without_a_finding_in_the_project_is_no_answer() {
        let lines = manner(ToolForm::Lines);
        assert!(read(&lines, 1, "b.py:1: error: elsewhere\n", "").is_err());
        assert!(read(&lines, 1, "/etc/x:1: error: elsewhere\n", "").is_err());
        assert!(read(&lines, 1, "a.py:1: error: here\n", "").is_ok());
        let stops = ["prevented further".to_owned(), ": error TS1###:".to_owned()];
        assert!(holds("c.ts(1,19): error TS1109: Expression", &stops[1]));
        assert!(!holds("c.ts(1,19): error TS18047: null", &stops[1]));
        let stopping = Manner { stops: &stops, ..lines };
        let report =
            read(&stopping, 1, "a.py:1: error: here\nerrors prevented further checking\n", "").unwrap();
        assert!(report.broken.is_some());
    }

    #[test]
    fn words_about_its_own_settings_are_no_answer() {
        let (steering, trouble) = (["go.mod".to_owned()], ["no such host".to_owned()]);
        let lines =
            Manner { steering: &steering, trouble: &trouble, silent: true, ..manner(ToolForm::Lines) };
        for err in [
            "/t/go.mod:3: invalid",
            "go.mod(3,1): odd",
            "./sub/go.mod:3: odd",
            "a.go:2:8: dial: no such host",
        ] {
            assert!(read(&lines, 0, "", err).is_err(), "{err}");
            assert!(read(&lines, 1, "a.py:1: error: here", err).is_err(), "{err}");
        }
        assert!(read(&lines, 0, "", "see go.mod: it is fine").is_ok(), "another line may name it");
    }

    #[test]
    fn a_log_that_says_it_failed_is_no_answer() {
        let sarif = manner(ToolForm::Sarif);
        let with = |invocation: &str| {
            format!(r#"{{"version":"2.1.0","runs":[{{"results":[],"invocations":[{invocation}]}}]}}"#)
        };
        assert!(read(&sarif, 0, &with(r#"{"executionSuccessful":true}"#), "").is_ok());
        assert!(read(&sarif, 0, &with(r#"{"executionSuccessful":false}"#), "").is_err());
        let note = r#"{"toolExecutionNotifications":[{"level":"error","message":{"text":"no rules"}}]}"#;
        assert!(read(&sarif, 0, &with(note), "").unwrap_err().contains("no rules"));
        for text in [r#"{"runs":[]}"#, r#"{"runs":[{}]}"#, r#"{"runs":[{"results":null}]}"#, "[]", "{}"] {
            assert!(read(&sarif, 0, text, "").is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_of_syntax_is_a_finding_of_a_formatter() {
        let rewrite = manner(ToolForm::Rewrite);
        let report = read(&rewrite, 1, "", "a.go:3:13: expected '}'\n").unwrap();
        assert_eq!(report.findings[0].line, Some(3));
        assert!(read(&rewrite, 1, "", "cannot load config\n").is_err());
        assert!(read(&rewrite, 0, "", "a.go:3:13: a mere warning\n").unwrap().findings.is_empty());
    }

    #[test]
    fn nothing_a_tool_prints_breaks_it() {
        let texts =
            ["", "{", "[1]", "null", "{\"message\":3}", "\u{0}\u{1b}[31m", "[{\"messages\":{}}]", "{}{}{"];
        for text in texts {
            for (form, _) in clean().into_iter().chain([(ToolForm::Lines, ""), (ToolForm::Rewrite, "")]) {
                let found = read(&manner(form), 0, text, text).map(|report| report.findings.len());
                assert!(matches!(found, Ok(0) | Err(_)), "{form:?} {text:?}");
            }
        }
    }
}
