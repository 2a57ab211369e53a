//! Reads what a formatter says about a file that it cannot parse: a blocker at its line.
//!
//! A formatter that cannot read a file has not judged its layout either, so the report is also marked as broken.

use super::compiler::read_compiler_lines;
use super::tool::{ToolReport, claim_of, place, taken};
use tribunal_core::finding::{Claim, Severity};

/// Reads errors of syntax, in the ways in which formatters report them. Everything else is skipped.
pub(super) fn read(text: &str) -> ToolReport {
    let mut report = ToolReport::default();
    let mut said = "";
    for line in text.lines() {
        let found = match arrow(line) {
            // The message comes first and its place a line or two later.
            Some(at) if !said.is_empty() => Some((at, std::mem::take(&mut said))),
            _ => plain(line),
        };
        if let Some(message) = message_of(line) {
            said = message;
        }
        if let Some(((path, line), message)) = found {
            let mut claim = claim_of(Severity::Blocker, message);
            place(&mut claim, &mut report, path, Some((line, line)));
            report.findings.push(claim);
        }
    }
    // The last resort, as the form of compiler lines matches almost anything.
    if report.findings.is_empty() {
        report.findings = taken(read_compiler_lines(text)).findings;
    }
    report.findings.retain(|claim| claim.file.is_some());
    let sure = |claim: &mut Claim| {
        (claim.severity, claim.rule) = (Severity::Blocker, Some("syntax".to_owned()));
    };
    report.findings.iter_mut().for_each(sure);
    report.broken = report.findings.first().map(|claim| claim.claim.clone());
    report
}

/// The message in front of the line that says where: `error: expected expression`.
fn message_of(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("error")?;
    let rest = match rest.strip_prefix('[') {
        Some(code) => code.split_once(']')?.1,
        None => rest,
    };
    rest.strip_prefix(": ").map(str::trim).filter(|rest| !rest.is_empty())
}

/// The place in ` --> src/main.rs:2:13`.
fn arrow(line: &str) -> Option<(&str, u32)> {
    let mut parts = line.trim_start().strip_prefix("--> ")?.rsplitn(3, ':');
    let (_, line, path) = (parts.next()?, parts.next()?, parts.next()?);
    Some((path, line.parse().ok()?))
}

/// Message and place on one line: `[error] a.js: SyntaxError: Unexpected token (1:10)`, `error: Failed to parse
/// a.py:1:7: Expected …`.
fn plain(line: &str) -> Option<((&str, u32), &str)> {
    if let Some(rest) = line.strip_prefix("error: Failed to parse ") {
        let (place, message) = rest.split_once(": ")?;
        let mut parts = place.rsplitn(3, ':');
        let (_, number, path) = (parts.next()?, parts.next()?, parts.next()?);
        return Some(((path, number.parse().ok()?), message.trim()));
    }
    let (path, message) = line.strip_prefix("[error] ")?.split_once(": SyntaxError: ")?;
    let (words, place) = message.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    let number = place.split(':').next()?.parse().ok()?;
    Some(((path, number), words.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_formatter_says_it_in_its_own_way() {
        let check = |text: &str, file: &str, line: u32, claim: &str| {
            let report = read(text);
            let seen: Vec<_> = report
                .findings
                .iter()
                .map(|c| (c.severity, c.file.as_deref(), c.line, c.claim.as_str(), c.rule.as_deref()))
                .collect();
            assert_eq!(seen, [(Severity::Blocker, Some(file), Some(line), claim, Some("syntax"))], "{text}");
            assert!(report.broken.is_some());
        };
        check("a.go:3:13: expected '}', found 'EOF'\n", "a.go", 3, "expected '}', found 'EOF'");
        let rust = "error: expected expression, found `;`\n --> src/main.rs:2:13\n  |\n2 |     let x = ;\n";
        check(rust, "src/main.rs", 2, "expected expression, found `;`");
        let ruff = "error: Failed to parse s.py:1:7: Expected a parameter\n1 file left unchanged\n";
        check(ruff, "s.py", 1, "Expected a parameter");
        let prettier = "[error] s.js: SyntaxError: Unexpected token (1:10)\n[error] > 1 | let = 3 +;\n";
        check(prettier, "s.js", 1, "Unexpected token");
    }

    #[test]
    fn what_names_no_place_is_no_error_of_syntax() {
        for text in [
            "",
            "error: no such command: `fmt`\n",
            "[error] Invalid semi value.\n",
            "Could not parse TOML: x\n",
        ] {
            assert_eq!(read(text), ToolReport::default(), "{text:?}");
        }
    }
}
