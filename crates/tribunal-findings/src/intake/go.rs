//! Reads what `go vet -json` prints: a document for each package, and compiler lines where a package does not compile.
//!
//! The two are mixed in one stream, so neither a JSON parser nor a line reader alone can take it.

use super::compiler::read_compiler_lines;
use super::tool::{ToolReport, claim_of, place, taken, words};
use crate::text::clip;
use serde_json::{Deserializer, Value};
use tribunal_core::finding::Severity;

/// Reads the output of one run; the error says why it is not an answer.
pub(super) fn vet(text: &str) -> Result<ToolReport, String> {
    let (mut report, mut documents) = (ToolReport::default(), 0);
    let (mut lines, mut rest) = (String::new(), text);
    while !rest.is_empty() {
        if rest.starts_with('{') {
            let mut stream = Deserializer::from_str(rest).into_iter::<Value>();
            let Some(Ok(value)) = stream.next() else {
                return Err(format!("half a document: {}", clip(rest, 200)));
            };
            rest = &rest[stream.byte_offset()..];
            documents += 1;
            packages(&value, &mut report);
            continue;
        }
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        // The compiler's line has the tool's own name before it.
        lines.push_str(line.strip_prefix("vet: ").unwrap_or(line));
        lines.push('\n');
        rest = after;
    }
    for mut claim in taken(read_compiler_lines(&lines)).findings {
        // Messages about `go.mod` have the same form, but they are the tool's own trouble.
        let source = claim.file.as_deref().is_some_and(|file| file.ends_with(".go"));
        if source {
            (claim.severity, claim.rule) = (Severity::Blocker, Some("compile".to_owned()));
            report.broken = report.broken.take().or_else(|| Some(claim.claim.clone()));
            report.findings.push(claim);
        }
    }
    // Silence is not an answer: a clean run prints an empty document.
    if documents == 0 && report.findings.is_empty() {
        return Err("no document of any package".to_owned());
    }
    Ok(report)
}

/// Takes findings by package and analyzer; an analyzer that broke says so in their place.
fn packages(value: &Value, report: &mut ToolReport) {
    let packages = value.as_object().into_iter().flat_map(|packages| packages.values());
    let each = packages.filter_map(Value::as_object).flatten();
    for (analyzer, found) in each {
        let Some(found) = found.as_array() else {
            let error = words(found, "error");
            let text = if error.is_empty() { "it said nothing that can be read" } else { error };
            let broken = format!("{analyzer}: {}", clip(text, 300));
            report.broken = report.broken.take().or(Some(broken));
            continue;
        };
        for one in found {
            let mut claim = claim_of(Severity::Warning, words(one, "message"));
            claim.rule = Some(analyzer.clone());
            // From the right: a path may contain a colon.
            let mut parts = words(one, "posn").rsplitn(3, ':');
            let (_, line, path) = (parts.next(), parts.next(), parts.next());
            let line = line.and_then(|line| line.parse::<u32>().ok());
            place(&mut claim, report, path.unwrap_or_default(), line.map(|line| (line, line)));
            report.findings.push(claim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_lines_of_the_compiler_are_read() {
        let text = "# x/b\n{}\n# x\n{\n\t\"x\": {\n\t\t\"printf\": [\n\t\t\t{\"posn\": \"a.go:5:12\", \"message\": \"wrong type\"}\n\t\t]\n\t}\n}\n# x/c\nvet: ./c/c.go:3:12: undeclared name: f\n";
        let report = vet(text).unwrap();
        let seen: Vec<_> = report
            .findings
            .iter()
            .map(|c| (c.severity, c.file.as_deref(), c.line, c.rule.as_deref()))
            .collect();
        let expect = [
            (Severity::Warning, Some("a.go"), Some(5), Some("printf")),
            (Severity::Blocker, Some("c/c.go"), Some(3), Some("compile")),
        ];
        assert_eq!(seen, expect);
        assert_eq!(report.broken.as_deref(), Some("undeclared name: f"));
        assert!(vet("# x\n{\"x\": {\"printf\": {\"error\": \"it broke\"}}}").unwrap().broken.is_some());
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for text in ["", "# x\n", "# x\n{\n\t\"x\": {", "go: errors parsing go.mod:\ngo.mod:3: invalid\n"] {
            assert!(vet(text).is_err(), "{text:?}");
        }
    }
}
