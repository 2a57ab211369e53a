//! `tribunal report`: what was found in a run and what became of it, in every form.
//!
//! It reads the journal, starts nothing, and writes only the file it was asked to write. Every form is made from the
//! same review, so text, Markdown, HTML and JSON agree; SARIF and annotations list the findings alone.

use super::status;
use crate::args::{Globals, Report, ReportForm};
use crate::exit::Done;
use crate::facts;
use crate::failure::Failure;
use crate::given::Given;
use crate::out;
use crate::place::{Place, Seen};
use std::path::Path;
use tribunal_engine::editor::Remarks;
use tribunal_engine::history::History;
use tribunal_engine::review::{commands, from_agents, last_word, unreviewed};
use tribunal_engine::spoken;
use tribunal_view::facts::CommandView;
use tribunal_view::review::Review;
use tribunal_view::sarif::{self, Item};
use tribunal_view::spoken::Identity;
use tribunal_view::style::Style;
use tribunal_view::{account, annotations, html, review, words};

/// Prints the report of a run, or writes it to a file.
pub fn run(globals: &Globals, args: &Report) -> Result<Done, Failure> {
    let place = Place::here()?;
    let seen = place.read(&place.find(args.run.as_deref())?)?;
    let history = History::read(&seen.reader)?;
    let form = match (args.format, args.html, globals.json) {
        (Some(form), _, _) => form,
        (None, true, _) => ReportForm::Html,
        (None, false, true) => ReportForm::Json,
        (None, false, false) => ReportForm::Text,
    };
    let style = match &args.output {
        // A file has no terminal: neither colours nor its width belong into it.
        Some(_) => Style::PLAIN,
        None => out::stdout_style(globals),
    };
    let text = text(globals, form, &history, &seen, style)?;
    match &args.output {
        None => out::data(&text)?,
        Some(path) => {
            write(path, &text)?;
            if !globals.quiet {
                out::say(&format!("wrote {}", path.display()));
            }
        }
    }
    Ok(Done::Passed)
}

/// The review of a run as it stands, without the remarks of editor agents.
pub fn of(history: &History, run: &str, run_dir: &Path) -> Review {
    let run_state = &history.run_state;
    let commands = commands(run_state).iter().map(CommandView::line).collect();
    let notes = [
        commands,
        unreviewed(run_state),
        status::gates(run_dir),
        run_state.about.unkept(),
        from_agents(run_state),
    ]
    .concat();
    history.review(run, notes, &facts::questions(run_state, run))
}

/// Adds the remarks of editor agents, or leaves the review as it is if the mailbox cannot be read.
///
/// Remarks are messages beside the run and never count in it, so a report must not fail because of them.
pub fn with_remarks(mut review: Review, seen: &Seen) -> Review {
    let remarks = Remarks::read(&seen.reader.mail().unwrap_or_default());
    for story in &mut review.findings {
        story.remarks = remarks.lines(story.finding.id);
    }
    review
}

fn text(
    globals: &Globals,
    form: ReportForm,
    history: &History,
    seen: &Seen,
    style: Style,
) -> Result<String, Failure> {
    // Made on demand: SARIF and annotations do not need it, and a large run takes a while.
    let review = || {
        let mut review = with_remarks(of(history, &seen.id, &seen.dir), seen);
        if let Some(dir) = globals.elsewhere() {
            review.next.iter_mut().for_each(|step| *step = words::told_from_elsewhere(step, &dir));
        }
        review
    };
    // Kept outside of `items`, which borrows from it.
    let run_state = &history.run_state;
    let last = last_word(run_state);
    let who: Vec<Vec<Identity>> = last
        .iter()
        .map(|(_, entry, review_loop)| spoken::identities(run_state, review_loop.id(), entry))
        .collect();
    let items = || -> Vec<Item<'_>> {
        let found = last.iter().zip(&who);
        found
            .map(|((id, entry, review_loop), who)| Item {
                id: *id,
                entry: entry.as_ref(),
                round: review_loop.round(),
                provenance: history.provenance(*id),
                who,
            })
            .collect()
    };
    let pretty = |value: &serde_json::Value| serde_json::to_string_pretty(value).map_err(Failure::bug);
    Ok(match form {
        ReportForm::Text => account::text(&review(), style),
        ReportForm::Json => pretty(&review::json(&review()).map_err(Failure::bug)?)? + "\n",
        ReportForm::Markdown => review::markdown(&review()),
        ReportForm::Sarif => pretty(&sarif::log(&items(), env!("CARGO_PKG_VERSION")))? + "\n",
        ReportForm::Github => annotations::github(&items()),
        ReportForm::Html => html::page(&review()),
        #[cfg(feature = "otel")]
        ReportForm::Otlp => crate::trace::text(seen)?,
    })
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let hint = "name a file in a folder that is there and that you may write to";
    Given { path, flag: Some("--output"), hint }.write(text.as_bytes())
}
