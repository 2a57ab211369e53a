//! The pages of `tribunal serve`, as text: runs, one run, its loops, findings and journal, and the inbox. Pure: it
//! words what it is given.
//!
//! Pages are readable without the script, which only keeps them up to date. They hold no inline script or style, so
//! that the strictest content security policy lets them pass.

mod finding;
pub mod html;
mod inbox;
mod journal;
mod queue;
mod run;
mod runs;

pub use finding::{Step, finding, findings};
pub use inbox::{Said, inbox, is_letter};
pub use journal::{JournalRow, journal};
pub use queue::queue;
pub use run::{Told, loops, one_loop, run, told};
pub use runs::{RunLine, runs};

use crate::style::Mark;
use html::Html;

/// The styles of all pages.
pub const STYLE: &str = include_str!("style.css");
/// The script that keeps a page up to date.
pub const SCRIPT: &str = include_str!("live.js");

/// The frame that every page has around it.
///
/// Every page goes through `around`, so the policy, the navigation and the landmarks for screen readers are the same on
/// all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shell<'a> {
    /// The title of the page.
    pub title: &'a str,
    /// The number of questions that wait for a person.
    pub waiting: usize,
    /// The run that the page is about.
    pub run: Option<&'a str>,
    /// The place in the run's journal from which on the page is kept up to date; `None` for a page that is not.
    pub live: Option<u64>,
    /// The way from the page to the first page.
    pub root: Root<'a>,
}

/// The way from a page to the first one of its server.
///
/// Links are relative, because each browser sees the pages below a secret name of its own, and a page is made once for
/// all of them.
#[derive(Clone, Copy, Debug)]
pub enum Root<'a> {
    /// This many folders up, for a page at a known place.
    Up(usize),
    /// By its address, for a page that can stand anywhere.
    At(&'a str),
    /// Not told: there are no links on the page.
    Untold,
}

impl Default for Root<'_> {
    fn default() -> Self {
        Root::Up(0)
    }
}

impl Root<'_> {
    fn words(self) -> String {
        match self {
            // An empty link would lead to the page itself.
            Root::Up(0) => "./".to_owned(),
            Root::Up(steps) => "../".repeat(steps),
            Root::At(address) => address.to_owned(),
            Root::Untold => String::new(),
        }
    }
}

impl Shell<'_> {
    /// Writes a page around its middle.
    pub(crate) fn around(&self, middle: impl FnOnce(&mut Html)) -> String {
        let mut html = Html::with_root(&self.root.words());
        html.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
        // From the root of the server, not of the session: assets are the same for everybody and need no session.
        html.text(self.title).raw(" — Tribunal</title>\n<link rel=\"stylesheet\" href=\"/style.css\">\n");
        html.raw("<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n");
        if self.live.is_some() {
            // Only where something changes: other pages work without any script.
            html.raw("<script src=\"/live.js\" defer></script>\n");
        }
        html.raw("</head>\n<body");
        // The script reads its stream from these attributes, because inline script is not allowed.
        if let (Some(seq), Some(run)) = (self.live, self.run) {
            html.raw(" data-seq=\"").text(seq).raw("\" data-stream=\"").place(&["runs", run, "events"]);
            html.raw("?after=").text(seq).raw("\"");
        }
        html.raw(">\n<a class=\"skip\" href=\"#main\">To the content</a>\n<header>");
        // Somebody who is not signed in must not learn where the pages lie.
        if !matches!(self.root, Root::Untold) {
            self.navigation(&mut html);
        }
        html.raw("</header>\n<main id=\"main\" tabindex=\"-1\">\n");
        middle(&mut html);
        html.raw("</main>\n</body>\n</html>\n");
        html.done()
    }

    fn navigation(&self, html: &mut Html) {
        html.raw("<nav aria-label=\"Main\"><a class=\"name\" href=\"").place(&[]).raw("\">Tribunal</a> ");
        html.link(&[], "Runs").raw(" <a href=\"").place(&["inbox"]).raw("\">Inbox");
        if self.waiting > 0 {
            html.raw(" (").text(self.waiting).raw(")");
        }
        html.raw("</a>");
        if let Some(run) = self.run {
            html.raw(" ").link(&["runs", run], format!("Run {run}"));
            html.raw(" ").link(&["runs", run, "findings"], "Findings");
            html.raw(" ").link(&["runs", run, "loops"], "Loops");
            html.raw(" ").link(&["runs", run, "queue"], "Queue");
            html.raw(" ").link(&["runs", run, "journal"], "Journal");
            html.raw(" ").link(&["runs", run, "report"], "Report");
        }
        html.raw("</nav>");
    }
}

/// Writes a page that says no. `home` is the address of the first page, for somebody who may see it.
///
/// A stranger learns nothing from it: without `home` there is no link and no navigation.
pub fn refusal(words: &str, home: Option<&str>) -> String {
    let root = home.map_or(Root::Untold, Root::At);
    Shell { title: "No", root, ..Shell::default() }.around(|html| {
        html.raw("<h1>No</h1>\n<p>").text(words).raw("</p>\n");
    })
}

/// Writes a symbol with its word, so that neither colour nor shape says anything alone.
pub(crate) fn mark(html: &mut Html, mark: Mark, word: &str) {
    html.raw("<span class=\"mark ").text(class(mark)).raw("\"><span aria-hidden=\"true\">");
    html.text(mark.symbol()).raw("</span> ").text(word).raw("</span>");
}

/// Returns the style class of a mark.
pub(crate) fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Running => "running",
        Mark::Complete => "complete",
        Mark::Failed => "failed",
        Mark::Skipped => "skipped",
        Mark::Warning => "warning",
    }
}

/// Begins a table that may be wider than the page.
///
/// The region has a name and can be focused, because a wide table has to be scrolled by somebody who cannot see it all.
pub(crate) fn table(html: &mut Html, caption: &str, head: &[&str]) {
    // Words that stand above it already are only for somebody who hears the page.
    let caption_tag =
        if html.just_headed(caption) { "\"><table><caption class=\"heard\">" } else { "\"><table><caption>" };
    // It can be focused, so that a reader without a mouse scrolls it by keyboard.
    html.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"").text(caption);
    html.raw(caption_tag).text(caption).raw("</caption><thead><tr>");
    head.iter().for_each(|cell| {
        html.raw("<th scope=\"col\">").text(cell).raw("</th>");
    });
    html.raw("</tr></thead><tbody>\n");
}

/// Ends a table that `table` began.
pub(crate) fn table_end(html: &mut Html) {
    html.raw("</tbody></table></div>\n");
}

/// Writes one cell of a table.
pub(crate) fn cell(html: &mut Html, text: impl std::fmt::Display) {
    html.raw("<td>").text(text).raw("</td>");
}

/// Writes one line of a list of facts; nothing if there is nothing to say.
pub(crate) fn fact(html: &mut Html, name: &'static str, value: &str) {
    if !value.trim().is_empty() {
        html.raw("<dt>").raw(name).raw("</dt><dd>").text(value).raw("</dd>\n");
    }
}

/// Writes links to the pages before and after, if there are several.
pub(crate) fn pages(html: &mut Html, names: &[&str], from: usize, step: usize, all: usize) {
    // One page needs no way to others.
    if all <= step {
        return;
    }
    html.raw("<nav aria-label=\"Pages\"><p>");
    html.text(format!("{} to {} of {all}. ", (from + 1).min(all), (from + step).min(all)));
    for (at, words) in
        [(from.checked_sub(step), "Before"), (Some(from + step).filter(|at| *at < all), "After")]
    {
        if let Some(at) = at {
            html.raw("<a href=\"").place(names).raw("?from=").text(at).raw("\">").text(words).raw("</a> ");
        }
    }
    html.raw("</p></nav>\n");
}
