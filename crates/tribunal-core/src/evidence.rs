//! Evidence of an approval: why a statement about what was checked counts for nothing, and how that is explained to
//! the reviewer and to a person.
//!
//! `tribunal-findings` reads the statement and finds what it lacks; the loop decides what follows. The texts are here
//! because a prompt and a report must name the same reason in the same words.

use serde::{Deserialize, Serialize};

/// What a reviewer judges, as far as it decides what evidence has to name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// Files that were changed.
    #[default]
    Change,
    /// A plan, before any code.
    Plan,
    /// A document that later work is done from.
    Document,
}

/// What a statement about what was checked lacks to be evidence.
///
/// An approval without evidence is the cheapest answer a model can give, so it has to name something and say what was
/// seen there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// It says that nothing was done, or leaves the placeholder of the form in place.
    NothingDone,
    /// It repeats the example of the prompt.
    Copied,
    /// It names nothing of what is judged.
    NamesNothing,
    /// It names something and does not say what was seen there.
    NothingSeen,
    /// It speaks of code although a plan is judged.
    OfCode,
    /// It does not carry the launch word, so a file of the change may have supplied it.
    Wordless,
}

/// A statement about what was checked that counts for nothing, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// What the statement lacks.
    pub lack: Lack,
    /// What was judged.
    #[serde(default)]
    pub matter: Matter,
    /// The statement, shortened when long. An agent wrote it: treat it as data wherever it is shown.
    pub line: String,
}

impl Matter {
    /// What evidence has to name, as the object of a sentence.
    pub fn names(self) -> &'static str {
        match self {
            Matter::Change => "file, symbol or command of this change",
            Matter::Plan => "task, must-have, file or section of the plan",
            Matter::Document => "section or file of the document",
        }
    }

    /// A CHECKED line that would count, about something else. Repeating it is not evidence (`Lack::Copied`).
    pub fn example(self) -> &'static str {
        match self {
            Matter::Change => {
                "read lib/clock.py, parse_hour takes the hour from the first two digits; ran pytest -q, 41 passed"
            }
            Matter::Plan => {
                "task 2 adds the file that must-have 1 names, and its verification runs it after task 1 has made the input"
            }
            Matter::Document => {
                "read the section Interface, it says what each call returns; the criteria cover every goal"
            }
        }
    }
}

impl Lack {
    /// What is missing, behind `it`: `names no file, symbol or command of this change`.
    pub fn words(self, matter: Matter) -> String {
        match self {
            Lack::NothingDone => "says that nothing was done".to_owned(),
            Lack::Copied => "repeats the example of the prompt".to_owned(),
            Lack::NamesNothing => format!("names no {}", matter.names()),
            Lack::NothingSeen => match matter {
                Matter::Change => "does not say what was seen there".to_owned(),
                Matter::Plan | Matter::Document => "does not say what was judged about it".to_owned(),
            },
            Lack::OfCode => "speaks of code, and the plan is judged before any code".to_owned(),
            Lack::Wordless => "does not carry the launch word".to_owned(),
        }
    }
}

impl Refused {
    /// The whole reason: `its CHECKED "read index.js" does not say what was seen there`.
    pub fn words(&self) -> String {
        // Quoted and escaped: an agent wrote the line, and it must not break out of the sentence.
        format!("its CHECKED {:?} {}", self.line, self.lack.words(self.matter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_is_missing() {
        let check = |lack, matter, expect: &str| {
            let refused = Refused { lack, matter, line: "read it all".to_owned() };
            assert_eq!(refused.words(), format!("its CHECKED \"read it all\" {expect}"));
        };
        check(Lack::NamesNothing, Matter::Change, "names no file, symbol or command of this change");
        check(Lack::NamesNothing, Matter::Plan, "names no task, must-have, file or section of the plan");
        check(Lack::NamesNothing, Matter::Document, "names no section or file of the document");
        check(Lack::NothingSeen, Matter::Change, "does not say what was seen there");
        check(Lack::NothingSeen, Matter::Plan, "does not say what was judged about it");
        check(Lack::OfCode, Matter::Plan, "speaks of code, and the plan is judged before any code");
        check(Lack::NothingDone, Matter::Change, "says that nothing was done");
        check(Lack::Copied, Matter::Change, "repeats the example of the prompt");
        check(Lack::Wordless, Matter::Change, "does not carry the launch word");
    }
}
