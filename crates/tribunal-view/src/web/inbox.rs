//! The inbox: what waits for a person, each question with the answers on offer as a form.
//!
//! No request of the browser may start a program. So an answer that needs one is not offered here but named as a
//! command.

use super::Shell;
use super::html::Html;
use crate::facts::{OfferView, QuestionView};
use crate::spoken::Spoken;

/// What became of an answer that was just given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// The sentence to show about it.
    pub words: &'a str,
    /// Whether the answer was refused.
    pub refused: bool,
}

/// Writes the page. `token` proves that a form is ours; `by` is the name that is filled in.
///
/// Answered questions stay on the page until the run has read the answer, so that nobody answers twice.
pub fn inbox(questions: &[QuestionView], token: &str, by: &str, said: Option<Said<'_>>) -> String {
    // Answered questions are still listed, but they do not wait for anybody.
    let open = questions.iter().filter(|question| question.answered.is_none()).count();
    Shell { title: "Inbox", waiting: open, ..Shell::default() }.around(|html| {
        html.raw("<h1>Inbox</h1>\n");
        if let Some(said) = said {
            // A refusal is announced at once by a screen reader, a success when it is quiet.
            html.raw("<p id=\"said\" role=\"").raw(if said.refused { "alert" } else { "status" });
            html.raw("\" class=\"note\">").text(said.words).raw("</p>\n");
        }
        if questions.is_empty() {
            html.raw("<p>Nothing waits for you.</p>\n");
        }
        questions.iter().for_each(|question| one(html, question, token, by));
    })
}

fn one(html: &mut Html, question: &QuestionView, token: &str, by: &str) {
    html.raw("<section id=\"q-")
        .text(&question.id)
        .raw("\">\n<h2>")
        .text(&question.subject)
        .raw("</h2>\n<p>");
    html.text(&question.why).raw(" (").link(&["runs", &question.run], format!("run {}", question.run));
    html.raw(", question <code>").text(&question.id).raw("</code>)</p>\n");
    if !question.findings.is_empty() {
        html.raw("<ul>\n");
        for finding in question.findings.iter().take(20) {
            let id = finding.id.to_string();
            html.raw("<li>").link(&["runs", &question.run, "findings", &id], finding.line()).raw("</li>\n");
        }
        html.raw("</ul>\n");
    }
    spoken(html, &question.spoken);
    match &question.answered {
        Some(answer) => {
            html.raw("<p>Answered: ").text(answer).raw(". A run that nobody runs goes on with <code>");
            html.text(format!("tribunal resume {}", question.run)).raw("</code>.</p>\n");
        }
        None => form(html, question, token, by),
    }
    html.raw("</section>\n");
}

/// Writes reviewers in their own words, each one click away.
pub(super) fn spoken(html: &mut Html, spoken: &[Spoken]) {
    for one in spoken {
        html.raw("<details><summary>").text(one.head()).raw("</summary>\n");
        if let Some(identity) = &one.identity {
            html.raw("<p>").text(identity.line()).raw("</p>\n");
        }
        html.raw("<pre>").block(&one.words).raw("</pre></details>\n");
    }
}

/// Whether an answer can be given without starting a program. `fixed` cannot, because it takes what lies in a worktree.
pub fn is_letter(offer: &OfferView) -> bool {
    // A list of what is known to be harmless: a new answer needs a decision before the page offers it.
    matches!(offer.word.as_str(), "again" | "ask-again" | "accept" | "drop" | "stop")
}

fn form(html: &mut Html, question: &QuestionView, token: &str, by: &str) {
    let (here, elsewhere): (Vec<&OfferView>, Vec<&OfferView>) =
        // Nothing is hidden: an answer that the page cannot take is named as a command.
        question.offers.iter().partition(|offer| is_letter(offer));
    if !here.is_empty() {
        html.raw("<form class=\"decide\" method=\"post\" action=\"").place(&["decide"]);
        html.raw("\">\n<input type=\"hidden\" name=\"token\" value=\"");
        html.text(token).raw("\"><input type=\"hidden\" name=\"run\" value=\"").text(&question.run);
        html.raw("\"><input type=\"hidden\" name=\"id\" value=\"").text(&question.id);
        html.raw("\">\n<fieldset><legend>Answer to ").text(&question.id).raw("</legend>\n");
        for offer in here {
            html.raw("<label><input type=\"radio\" name=\"option\" required value=\"").text(&offer.word);
            html.raw("\"> <strong>")
                .text(&offer.word)
                .raw("</strong>: ")
                .text(&offer.meaning)
                .raw("</label>\n");
        }
        html.raw("</fieldset>\n");
        if question.offers.iter().any(|offer| offer.word == "again") {
            html.raw("<label>Rounds more, for <strong>again</strong> <input type=\"number\" name=\"rounds\" value=\"2\" ");
            html.raw("min=\"1\" max=\"100\"></label>\n");
        }
        // A decision has a name: accepted work is recorded under it.
        html.raw("<label>Your name <input type=\"text\" name=\"by\" required maxlength=\"100\" value=\"")
            .text(by);
        html.raw("\"></label>\n<label>Why (kept with the decision) <input type=\"text\" name=\"note\" ");
        html.raw(
            "maxlength=\"2000\" size=\"50\"></label>\n<button type=\"submit\">Decide</button>\n</form>\n",
        );
    }
    if !elsewhere.is_empty() {
        html.raw("<p>On a terminal also:</p>\n<ul>\n");
        for offer in elsewhere {
            html.raw("<li><code>").text(&offer.command).raw("</code>: ").text(&offer.meaning).raw("</li>\n");
        }
        html.raw("</ul>\n");
    }
    if let Some(place) = &question.place {
        html.raw("<p>To fix it yourself, edit in <code>").text(place).raw("</code>.</p>\n");
    }
}
