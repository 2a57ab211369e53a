//! Words of a command line with `{placeholder}`s. A word is never split or quoted: one word in, one argument out.
//!
//! So nothing that an agent or a document wrote can become a second argument, and no shell is needed. Keep it that way:
//! a template language with conditions or lists would bring the question of quoting back.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Every placeholder a row may use. `{args}` is not among them, because it stands for several arguments.
pub(crate) const NAMES: [&str; 31] = [
    "attempt",
    "dir",
    "effect",
    "mcp_args_json",
    "mcp_argv_json",
    "mcp_command",
    "mcp_command_json",
    "mcp_name",
    "model",
    "out_dir",
    "personality",
    "personality_file",
    "personality_json",
    "plan",
    "program",
    "prompt",
    "prompt_file",
    "report",
    "role",
    "round",
    "run",
    "scenario",
    "schema",
    "schema_file",
    "reviewer",
    "self",
    "session",
    "signature",
    "task",
    "turns",
    "use",
];

/// Values by placeholder. A placeholder without a value is absent.
pub(crate) type Values = BTreeMap<&'static str, OsString>;

/// One argument, made of literal text and placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(&'static str),
}

/// One entry of a command line template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arg {
    /// Exactly one argument, whatever its placeholders hold.
    One(Word),
    /// The words that the user configured for this agent, `{args}`.
    Args,
    /// Arguments that are left out together if one of their placeholders has no value.
    Group(Vec<Word>),
}

/// Alternative texts, of which the first one counts whose placeholders all have a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) words: Vec<Word>,
    /// Whether it is acceptable that none of them can be filled.
    pub(crate) optional: bool,
}

impl Choice {
    /// Whether any of the alternatives uses this placeholder.
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.words.iter().any(|word| word.uses(name))
    }

    /// Fills the first text that can be filled. The error is the name of a placeholder without a value.
    pub(crate) fn fill(&self, values: &Values) -> Result<Option<OsString>, &'static str> {
        let mut missing = None;
        for word in &self.words {
            match word.fill(values) {
                Ok(text) => return Ok(Some(text)),
                // The first missing name is reported: it belongs to the alternative that the row prefers.
                Err(name) => missing = missing.or(Some(name)),
            }
        }
        match missing {
            Some(name) if !self.optional => Err(name),
            _ => Ok(None),
        }
    }
}

impl Word {
    /// Parses a word. The error is the name of a placeholder that does not exist.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            literal.push_str(before);
            let Some(name) = placeholder(from) else {
                // A brace that opens no name is text, because rows carry JSON.
                literal.push('{');
                rest = &from[1..];
                continue;
            };
            let known = NAMES.iter().find(|known| **known == name);
            let known = known.ok_or_else(|| name.to_owned())?;
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(Part::Value(known));
            rest = &from[name.len() + 2..];
        }
        literal.push_str(rest);
        // An empty word is still one argument; without a part it would vanish.
        if !literal.is_empty() || parts.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self(parts))
    }

    /// Whether the word uses this placeholder.
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Value(used) if *used == name))
    }

    /// Fills the argument. The error is the name of a placeholder without a value.
    pub(crate) fn fill(&self, values: &Values) -> Result<OsString, &'static str> {
        let mut word = OsString::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => word.push(text),
                Part::Value(name) => word.push(values.get(name).ok_or(*name)?),
            }
        }
        Ok(word)
    }
}

impl Arg {
    /// Whether any word of the entry uses this placeholder.
    pub(crate) fn uses(&self, name: &str) -> bool {
        match self {
            Self::One(word) => word.uses(name),
            Self::Args => name == "args",
            Self::Group(words) => words.iter().any(|word| word.uses(name)),
        }
    }

    /// Appends the filled arguments. The error is the name of a placeholder without a value.
    pub(crate) fn fill(
        &self,
        values: &Values,
        args: &[OsString],
        argv: &mut Vec<OsString>,
    ) -> Result<(), &'static str> {
        match self {
            Self::One(word) => argv.push(word.fill(values)?),
            Self::Args => argv.extend(args.iter().cloned()),
            // A group without all its values is left out on purpose, so the error inside it is not one of the launch.
            Self::Group(words) => {
                let filled: Result<Vec<_>, _> = words.iter().map(|word| word.fill(values)).collect();
                argv.extend(filled.unwrap_or_default());
            }
        }
        Ok(())
    }
}

/// Returns the name in `{name}…` if the text starts with one.
pub(crate) fn placeholder(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find('}')?;
    let name = &inner[..end];
    // Only names of this form are placeholders, so braces in JSON, shell and code stay as they are.
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    plain.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(text: &str) -> Result<String, String> {
        let values = Values::from([("model", OsString::from("m1")), ("dir", OsString::from("/a b"))]);
        let word = Word::parse(text)?;
        let filled = word.fill(&values).map_err(|name| format!("no {name}"))?;
        Ok(filled.into_string().unwrap())
    }

    #[test]
    fn words_are_filled_whole_or_inside() {
        let check = |text: &str, expect: Result<&str, &str>| {
            assert_eq!(fill(text).as_deref().map_err(String::as_str), expect, "{text}");
        };
        check("", Ok(""));
        check("-p", Ok("-p"));
        check("{model}", Ok("m1"));
        check("--cd={dir}/x", Ok("--cd=/a b/x"));
        check("{model}{dir}", Ok("m1/a b"));
        check(r#"{"edit":"deny","in":{"a":1}}"#, Ok(r#"{"edit":"deny","in":{"a":1}}"#));
        check("{}", Ok("{}"));
        check("{", Ok("{"));
        check("{{model}}", Ok("{m1}"));
        check("{reviewer}", Err("no reviewer"));
        check("{modle}", Err("modle"));
    }

    proptest! {
        #[test]
        fn text_without_braces_is_itself(text in "[^{]*") {
            prop_assert_eq!(fill(&text), Ok(text));
        }

        #[test]
        fn any_text_is_one_word_or_a_named_fault(text in "[a-z{}\" _-]*") {
            let _ = fill(&text);
        }
    }
}
