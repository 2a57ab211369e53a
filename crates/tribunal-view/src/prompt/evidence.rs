//! What a reviewer is told about evidence: what CHECKED has to name and say, with an example that fits the subject, and
//! what was missing if its words were not evidence. File names and refused words are data.
//!
//! `tribunal-core` (`evidence`) decides what counts. A rule that is added there has to be explained here, or honest
//! reviewers fail it without knowing why.

use super::{JudgeBrief, JudgeJob};
use crate::plain::{clipped, fenced};
use std::fmt::Write;
use tribunal_core::evidence::{Lack, Matter, Refused};

/// The number of bytes of a refused line that are shown.
const LINE_MAX: usize = 600;
/// The longest file name that can be an example. A name with anything but plain characters is not one, either.
const NAME_MAX: usize = 80;

impl JudgeJob {
    /// What the evidence has to be about.
    ///
    /// A plan or a document has no code to run, so other words count for it than for a change.
    pub fn matter(self) -> Matter {
        match self {
            JudgeJob::Plan => Matter::Plan,
            JudgeJob::Artifact => Matter::Document,
            JudgeJob::Task | JudgeJob::Delivery | JudgeJob::Phase | JudgeJob::Implementation => {
                Matter::Change
            }
        }
    }
}

/// Writes the rule, which is the same for every review of a kind.
///
/// The example is about other work on purpose: copied, it is not evidence.
pub(super) fn rule_part(out: &mut String, job: JudgeJob) {
    let matter = job.matter();
    let _ = write!(
        out,
        "\nCHECKED is the evidence of an approval: it names a {} and says what you {} there. About other work that would be, \
         say,\n`CHECKED <word>: {}`\nWrite one sentence, without line numbers: a place with a line, \
         and every further sentence, may be taken for a finding. A name alone, that all of it was read, that it looks good, \
         and this example again are no evidence.",
        matter.names(),
        // A plan or a document is read and judged; only in a change is there something to be seen.
        if matter == Matter::Change { "saw" } else { "judged" },
        matter.example()
    );
    out.push_str(match matter {
        Matter::Plan => {
            " There is no code yet: judge the tasks, their files and order, the must-haves and how each is verified. Words \
             about code that nobody has written are no evidence.\n"
        }
        Matter::Change | Matter::Document => "\n",
    });
}

/// Says why the words of an approval were not evidence, and what would be.
pub(super) fn wanted(refused: Option<&Refused>) -> String {
    let Some(refused) = refused else {
        return "it approves without a CHECKED line that says what was checked. Write one, as described above.".to_owned();
    };
    let missing = match refused.lack {
        Lack::Wordless => "Write the launch word of this prompt into it, as shown above.".to_owned(),
        Lack::NothingSeen => match refused.matter {
            Matter::Change => {
                "Say what you saw there: what the code does, what a command printed.".to_owned()
            }
            Matter::Plan | Matter::Document => {
                "Say what you judged about it, and what came of it.".to_owned()
            }
        },
        Lack::NothingDone | Lack::Copied | Lack::NamesNothing | Lack::OfCode => {
            format!("Name a {}, and say what you saw there.", refused.matter.names())
        }
    };
    format!(
        "it approves, and its CHECKED line is no evidence: it {}. {missing}",
        refused.lack.words(refused.matter)
    )
}

/// Writes the refused line, and an example made from the subject. Both are data: neither counts if it is repeated.
pub(super) fn refused_part(out: &mut String, brief: &JudgeBrief, refused: &Refused) {
    out.push_str("\nThe CHECKED line that was refused:\n\n");
    out.push_str(&fenced("text", &clipped(&refused.line, LINE_MAX), LINE_MAX));
    out.push_str("\nOne that has the form, with a name from what you judge; what stands in angle brackets is yours to say:\n\n");
    out.push_str(&fenced("text", &example(brief), LINE_MAX));
}

fn example(brief: &JudgeBrief) -> String {
    // A file name comes from the change, so only one that cannot be mistaken for instructions is used.
    let file = brief.files.iter().find(|file| is_plain(file)).map(String::as_str);
    match (brief.job.matter(), file) {
        (Matter::Change, file) => {
            let file = file.unwrap_or("<a file of the change>");
            format!("CHECKED <word>: read {file}, <what it does now>; ran <a command>, <what it printed>")
        }
        (Matter::Plan, Some(file)) => {
            format!(
                "CHECKED <word>: task 1 changes {file} as <which must-have> asks; <what its verification shows>"
            )
        }
        (Matter::Plan, None) => {
            "CHECKED <word>: task 1 <which must-have it serves, and why>; <what its verification shows>"
                .to_owned()
        }
        (Matter::Document, _) => {
            let sections =
                brief.artifact.as_ref().map(|artifact| artifact.sections.as_slice()).unwrap_or_default();
            let section = sections.iter().find(|section| is_plain(&section.replace(' ', "-")));
            let section = section.map_or("<a section>", String::as_str);
            format!("CHECKED <word>: the section {section} <what it settles for whoever works from it>")
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_MAX
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/".contains(&b))
}
