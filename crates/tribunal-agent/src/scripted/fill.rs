//! Values in a scenario's text. Anything that is not a known value stays as it is, so that code with braces can be
//! written.
//!
//! A known value that this launch does not have is an error: a scenario must not go on with a hole in its text.

use super::scenario::Asked;
use serde_json::Value;

/// The values that texts are filled with.
pub(super) struct Fill<'a> {
    pub(super) asked: &'a Asked,
    pub(super) findings: &'a [String],
    /// The finding that a repeated step has arrived at.
    pub(super) finding: Option<&'a str>,
}

impl Fill<'_> {
    /// Returns the text with its values. The error names a value that this launch does not have.
    pub(super) fn text(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            filled.push_str(before);
            let name = from.find('}').map(|end| &from[1..end]);
            // `${plan}` belongs to the shell.
            let value = match name {
                Some(name) if !before.ends_with('$') => self.value(name)?,
                _ => None,
            };
            match (value, name) {
                (Some(value), Some(name)) => {
                    filled.push_str(&value);
                    rest = &from[name.len() + 2..];
                }
                _ => {
                    filled.push('{');
                    rest = &from[1..];
                }
            }
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// Fills all texts inside a JSON value.
    pub(super) fn json(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => Value::String(self.text(text)?),
            Value::Array(list) => {
                Value::Array(list.iter().map(|item| self.json(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let fields = map.iter().map(|(key, item)| Ok::<_, String>((key.clone(), self.json(item)?)));
                Value::Object(fields.collect::<Result<_, _>>()?)
            }
            other => other.clone(),
        })
    }

    fn value(&self, name: &str) -> Result<Option<String>, String> {
        if Asked::is_key(name) {
            let value = self
                .asked
                .get(name)
                .ok_or_else(|| format!("this launch has no {{{name}}}: {}", self.asked))?;
            return Ok(Some(value.to_owned()));
        }
        if name == "findings" {
            return Ok(Some(self.findings.join(" ")));
        }
        // Outside of a repeated step there is no current finding, and the braces stay as they are.
        if name == "finding" {
            return Ok(self.finding.map(str::to_owned));
        }
        let Some(number) = name.strip_prefix("finding:").and_then(|n| n.parse::<usize>().ok()) else {
            return Ok(None);
        };
        let found = number.checked_sub(1).and_then(|at| self.findings.get(at));
        let none = || format!("the prompt has no finding {number}, only {}", self.findings.len());
        found.cloned().map(Some).ok_or_else(none)
    }
}

/// Finds the ids of the findings in a prompt: lines that start with `F-` and a number, each id once.
pub(super) fn findings(prompt: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for line in prompt.lines() {
        let Some(rest) = line.strip_prefix("F-") else {
            continue;
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let id = &line[..2 + digits];
        if digits > 0 && !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_filled() {
        let get = |name: &str| (name == "TRIBUNAL_PLAN").then(|| "01-02".to_owned());
        let asked = Asked::from_env(&get);
        let findings = ["F-4".to_owned(), "F-9".to_owned()];
        let check = |text: &str, expect: Result<&str, &str>| {
            let fill = Fill { asked: &asked, findings: &findings, finding: None };
            assert_eq!(fill.text(text).as_deref().map_err(String::as_str), expect, "{text}");
        };
        check("plain", Ok("plain"));
        check("{plan}/{plan}", Ok("01-02/01-02"));
        check("${plan} {x} { y } {", Ok("${plan} {x} { y } {"));
        check("{finding:1} {finding:2}: {findings}", Ok("F-4 F-9: F-4 F-9"));
        check("{finding:3}", Err("the prompt has no finding 3, only 2"));
        check("{finding:0}", Err("the prompt has no finding 0, only 2"));
        check("{task}", Err("this launch has no {task}: plan=01-02"));
        check("{{plan}}", Ok("{01-02}"));
        check("fn a() { {plan} }", Ok("fn a() { 01-02 }"));
    }

    #[test]
    fn findings_are_lines_with_an_id() {
        let prompt = "Open findings\nF-12 WARNING src/a.rs:3 no test\n  F-3 indented\nF-x\nF-7: b\nF-12 again\nsee F-9\n";
        assert_eq!(findings(prompt), ["F-12", "F-7"]);
    }
}
