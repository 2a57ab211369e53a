//! The journal itself: rows as they are recorded.
//!
//! Nothing is interpreted on this page. It is for checking what the other pages say.

use super::{Root, Shell, cell, table, table_end};

/// A row of the journal, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalRow {
    /// The number of the row.
    pub seq: u64,
    /// When it was written, in milliseconds since 1970.
    pub at: u64,
    /// The machine it is a fact of.
    pub of: String,
    /// The kind of the fact.
    pub kind: String,
    /// The fact itself, as JSON.
    pub body: String,
}

/// Writes a page of rows. `last` is the number of the journal's last row, `step` the number of rows on a page.
pub fn journal(run: &str, rows: &[JournalRow], last: u64, step: u64, waiting: usize) -> String {
    let title = format!("Journal of run {run}");
    Shell { title: &title, waiting, run: Some(run), live: None, root: Root::Up(2) }.around(|html| {
        html.raw("<h1>").text(&title).raw("</h1>\n<p>").text(last).raw(" rows. ");
        let first = rows.first().map_or(1, |row| row.seq);
        let before = first.saturating_sub(step).max(1);
        let places = [
            (first > 1).then_some(("First", 1)),
            (first > 1).then_some(("Before", before)),
            (first + step <= last).then_some(("After", first + step)),
            // The last page is full, too: it ends with the last row instead of beginning at a multiple.
            (first + step <= last).then_some(("Last", (last + 1).saturating_sub(step).max(1))),
        ];
        for (words, from) in places.into_iter().flatten() {
            html.raw("<a href=\"").place(&["runs", run, "journal"]).raw("?from=").text(from).raw("\">");
            html.text(words).raw("</a> ");
        }
        html.raw("</p>\n");
        table(html, "Rows of the journal", &["row", "when", "of", "kind", "fact"]);
        for row in rows {
            html.raw("<tr><th scope=\"row\">#").text(row.seq).raw("</th>");
            cell(html, crate::calendar::timestamp(row.at));
            cell(html, &row.of);
            cell(html, &row.kind);
            html.raw("<td><code>").text(&row.body).raw("</code></td></tr>\n");
        }
        table_end(html);
    })
}
