//! Evidence of an approval: why words about what was checked count for nothing, and how that is said to the reviewer and
//! to a person. Which words lack what is read in `tribunal-findings`; what follows from it is the loop's.

use serde::{Deserialize, Serialize};

/// What a reviewer judges, as far as it decides what evidence has to name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// Changed files.
    #[default]
    Change,
    /// A plan, before any code.
    Plan,
    /// A document that later work is done from.
    Document,
}

/// What words about what was checked lack to be evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// They say that nothing was done, or leave the form's placeholder in place.
    NothingDone,
    /// They repeat the example of the prompt.
    Copied,
    /// They name nothing of what is judged.
    NamesNothing,
    /// They name something and do not say what was seen there.
    NothingSeen,
    /// They speak of code where a plan is judged.
    OfCode,
    /// They do not carry the launch word, so that a file may have said them.
    Wordless,
}

/// Words about what was checked that count for nothing, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// What is missing.
    pub lack: Lack,
    /// What was judged.
    #[serde(default)]
    pub matter: Matter,
    /// The words, shortened when long. They are an agent's: data wherever they are shown.
    pub line: String,
}

impl Matter {
    /// What evidence has to name.
    pub fn names(self) -> &'static str {
        match self {
            Matter::Change => "file, symbol or command of this change",
            Matter::Plan => "task, must-have, file or section of the plan",
            Matter::Document => "section or file of the document",
        }
    }

    /// A CHECKED line that would count, about something else. Repeating it is no evidence.
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
    /// `its CHECKED "read index.js" does not say what was seen there`.
    pub fn words(&self) -> String {
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
