//! The review as one self-contained page: no script, nothing loaded from anywhere, every text of an agent escaped.
//!
//! A picture shows findings by fate per round. Its numbers are in a table beside it, so that colour says nothing alone.
//! The page is a single file, so it works without a server.

use crate::bars::Bar;
use crate::plain;
use crate::review::{self, End, Part, Review, Story};
use crate::words::{and, count};
use std::fmt::Write;
use tribunal_core::defence::{Defence, stands};

/// Names and colours of the four parts of a bar.
pub(crate) const PARTS: [(&str, &str); 4] =
    [("open", "#b3261e"), ("open and new", "#e8833a"), ("settled", "#3d7d5a"), ("set aside", "#9aa0a6")];
const BAR: u32 = 22;
const LEFT: u32 = 80;
const ROOM: u32 = 480;
const NUMBERS: u32 = 260;
/// The number of findings whose code is shown.
const CODE_MAX: usize = 200;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1c1c1e;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid #ddd}h3{font-size:1rem}\
table{border-collapse:collapse;width:100%;margin:.5rem 0}td,th{border:1px solid #ddd;padding:.3rem .5rem;text-align:left;vertical-align:top;overflow-wrap:break-word}\
th{background:#f4f4f6;white-space:nowrap}.wide{overflow-x:auto}.result{font-weight:700}.note{border-left:4px solid #e8833a;padding-left:.7rem}code{overflow-wrap:anywhere}\
pre{overflow-x:auto;padding:.5rem;border:1px solid #ddd}svg{max-width:100%;height:auto}.key{display:inline-block;width:.8em;height:.8em;margin-right:.3em}\
@media(prefers-color-scheme:dark){body{background:#1c1c1e;color:#eee}td,th,h2{border-color:#444}th{background:#2a2a2d}svg text{fill:#eee}}";

/// Writes the page.
///
/// It has the facts of `NN-REVIEW.md`, in the order of a reader's questions, and closes reviewers' own words into
/// folded blocks.
pub fn page(review: &Review) -> String {
    let mut out = String::new();
    let title = format!("{} — Review", review.title());
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // The policy stands in the page itself because no server sends headers for a file. It is the second line behind
    // escaping.
    out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n");
    let _ = writeln!(out, "<title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>", escaped(&title));
    let _ = writeln!(out, "<h1>{}</h1>", escaped(&title));
    head(&mut out, review);
    fates(&mut out, review);
    open(&mut out, review);
    settled(&mut out, review);
    code(&mut out, review);
    rounds(&mut out, review);
    judged(&mut out, review);
    list(&mut out, "Who built and judged", &review.who.lines());
    list(&mut out, "Decisions", &review.decisions);
    own_words(&mut out, review);
    list(&mut out, "What would help", &review::recommendations(review));
    list(&mut out, "What to do next", &review.next);
    out.push_str("</body>\n</html>\n");
    out
}

fn own_words(out: &mut String, review: &Review) {
    let spoken = review.loops.iter().flat_map(|part| part.spoken.iter().map(move |one| (part, one)));
    for (at, (part, one)) in spoken.enumerate() {
        if at == 0 {
            out.push_str("<h2>Reviewers in their own words</h2>\n");
        }
        let head = format!("{}: {}", part.subject, one.head());
        let _ = writeln!(out, "<details><summary>{}</summary>", escaped(&head));
        if let Some(identity) = &one.identity {
            let _ = writeln!(out, "<p>{}</p>", escaped(&identity.line()));
        }
        let _ = writeln!(out, "<pre>{}</pre></details>", escaped_block(&one.words));
    }
}

fn head(out: &mut String, review: &Review) {
    let _ = writeln!(out, "<p class=\"result\">Result: {}</p>", review.end.title());
    let _ = writeln!(out, "<p>{}</p>", escaped(&review.reason));
    for note in &review.notes {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(note));
    }
    // Reviewers before checks: a reader asks first whether anybody looked.
    let judges = [review.judges(false), review.judges(true)].concat();
    // Said in words, because an empty list would read like an omission of the page.
    let who = if judges.is_empty() { "nobody".to_owned() } else { and(&judges) };
    let _ = writeln!(
        out,
        "<p>Run {}, {}; rounds: {}; judged by {}.</p>",
        escaped(&review.run),
        crate::calendar::timestamp(review.at),
        review::cycles(review),
        escaped(&who)
    );
}

fn fates(out: &mut String, review: &Review) {
    if review.findings.is_empty() {
        out.push_str("<p>Nothing was found.</p>\n");
        return;
    }
    let _ = writeln!(out, "<h2>{} by fate</h2>", count(review.findings.len(), "finding"));
    let rows: Vec<Vec<String>> =
        review.fates().into_iter().map(|(fate, n)| vec![fate.to_owned(), n.to_string()]).collect();
    table(out, &["fate", "count"], &rows);
}

/// Returns a claim together with everything else that was said about it.
fn told(finding: &crate::facts::FindingView) -> String {
    std::iter::once(finding.claim.clone()).chain(finding.more()).collect::<Vec<_>>().join("; ")
}

fn open(out: &mut String, review: &Review) {
    let open = review.in_the_way();
    if open.is_empty() {
        return;
    }
    // A review that ended stale has tried everything; its findings are not merely open.
    let title = if review.end == End::Stale { "Persistent findings" } else { "Still open" };
    let _ = writeln!(out, "<h2>{title}</h2>");
    let row = |story: &&Story| {
        let finding = &story.finding;
        let tried = if story.tried.is_empty() { "nothing".to_owned() } else { story.tried.join("; ") };
        vec![
            format!("{} {}", finding.id, finding.severity),
            finding.place.clone(),
            told(finding),
            tried,
            story.why.clone(),
            finding.provenance_words(),
        ]
    };
    let rows: Vec<Vec<String>> = open.iter().map(row).collect();
    table(out, &["finding", "where", "what is wrong", "what was tried", "why it is open", "origin"], &rows);
}

fn settled(out: &mut String, review: &Review) {
    let rest: Vec<Vec<String>> = review
        .findings
        .iter()
        .filter(|story| !story.is_in_the_way())
        .map(|story| {
            let finding = &story.finding;
            let round = story.settled_in.map(|round| format!(", round {round}")).unwrap_or_default();
            vec![
                format!("{} {}", finding.id, finding.severity),
                finding.place.clone(),
                told(finding),
                format!("{}{round}", finding.fate_words()),
                finding.provenance_words(),
            ]
        })
        .collect();
    if !rest.is_empty() {
        let open = !review.in_the_way().is_empty();
        let title = if open { "What became of the others" } else { "What was wrong, and what became of it" };
        let _ = writeln!(out, "<h2>{title}</h2>");
        table(out, &["finding", "where", "what was wrong", "fate", "origin"], &rest);
    }
}

/// Writes the code of each finding and the fix it went away with, if they were recorded.
///
/// Nothing is read from git for it: a page shows only what was recorded when the finding was tracked.
fn code(out: &mut String, review: &Review) {
    let kept = |story: &&Story| story.code.is_some() || !story.fix.is_empty() || !story.remarks.is_empty();
    let stories: Vec<&Story> = review.findings.iter().filter(kept).collect();
    if stories.is_empty() {
        return;
    }
    out.push_str("<h2>The code</h2>\n");
    for story in stories.iter().take(CODE_MAX) {
        let finding = &story.finding;
        let _ = writeln!(out, "<h3>{} {}</h3>", finding.id, escaped(&finding.place));
        let _ = writeln!(out, "<p>{}</p>", escaped(&finding.claim));
        if let Some(code) = &story.code {
            // Focusable, because a reader without a mouse could not scroll a wide block otherwise.
            let _ = writeln!(out, "<pre tabindex=\"0\">{}</pre>", escaped_block(&code.numbered()));
        }
        if !story.fix.is_empty() {
            let _ = writeln!(
                out,
                "<p>It went away with:</p>\n<pre tabindex=\"0\">{}</pre>",
                escaped_block(&story.fix)
            );
        }
        for said in &story.remarks {
            let _ = writeln!(out, "<p>{}</p>", escaped(said));
        }
    }
    if stories.len() > CODE_MAX {
        let _ = writeln!(out, "<p>And {} more, in the journal.</p>", stories.len() - CODE_MAX);
    }
}

fn rounds(out: &mut String, review: &Review) {
    // A loop without findings has nothing to draw.
    let parts: Vec<&Part> =
        review.loops.iter().filter(|part| part.rounds.iter().any(|round| total(&round.bar) > 0)).collect();
    if parts.is_empty() {
        return;
    }
    out.push_str("<h2>Round by round</h2>\n<p>");
    for (name, colour) in PARTS {
        let _ = write!(out, "<span class=\"key\" style=\"background:{colour}\"></span>{name} &nbsp; ");
    }
    out.push_str("</p>\n");
    let known = review.by_id();
    for part in parts {
        let _ = writeln!(out, "<h3>{}: {}</h3>", escaped(&part.subject), escaped(&part.stands()));
        picture(out, part);
        for change in review::changes(&known, part) {
            let _ = writeln!(out, "<p>{}</p>", change.title);
            let rows: Vec<Vec<String>> = change
                .rows
                .iter()
                // The cells were escaped for markdown; `table` escapes them again for HTML.
                .map(|row| row.iter().map(|cell| crate::account::unescaped(cell)).collect())
                .collect();
            table(out, change.head, &rows);
        }
    }
}

pub(crate) fn total(bar: &Bar) -> u32 {
    bar.old + bar.new + bar.settled + bar.aside
}

fn numbers(bar: &Bar) -> [u32; 4] {
    [bar.old, bar.new, bar.settled, bar.aside]
}

/// Draws one bar per round. Widths are shares of the fullest round.
///
/// It is drawn as SVG without a script or a style, so the same picture stands in this file and on the server's pages.
pub(crate) fn picture(out: &mut String, part: &Part) {
    let bars: Vec<&Bar> = part.rounds.iter().map(|round| &round.bar).collect();
    let most = bars.iter().map(|bar| total(bar)).max().unwrap_or(0).max(1);
    let rows = u32::try_from(bars.len()).unwrap_or(u32::MAX);
    let height = rows.saturating_mul(BAR + 6);
    let width = LEFT + ROOM + NUMBERS;
    let _ = writeln!(
        out,
        "<svg role=\"img\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\
         <title>Findings by fate per round: {}</title>",
        escaped(&part.subject)
    );
    for (row, bar) in (0u32..).zip(bars) {
        let y = row * (BAR + 6);
        let base = y + BAR - 6;
        let _ = writeln!(out, "<text x=\"0\" y=\"{base}\" font-size=\"14\">round {}</text>", bar.round);
        let mut x = LEFT;
        for (n, (name, colour)) in numbers(bar).into_iter().zip(PARTS) {
            // Multiplied as 64-bit numbers: a loop with very many findings must not overflow.
            let wide = u32::try_from(u64::from(n) * u64::from(ROOM) / u64::from(most)).unwrap_or(ROOM);
            // A part of width zero would leave a title that nobody can point at.
            if n > 0 {
                let _ = writeln!(
                    out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{BAR}\" fill=\"{colour}\"><title>{n} {name}</title></rect>"
                );
                x += wide;
            }
        }
        // The numbers stand beside the bar as text, for readers who cannot see the colours.
        let said: Vec<String> = numbers(bar)
            .into_iter()
            .zip(PARTS)
            .filter(|(n, _)| *n > 0)
            .map(|(n, (name, _))| format!("{n} {name}"))
            .collect();
        // A round without findings has an empty bar, which could be taken for a fault of the picture.
        let said = if said.is_empty() { "nothing found".to_owned() } else { said.join(", ") };
        let _ = writeln!(out, "<text x=\"{}\" y=\"{base}\" font-size=\"13\">{said}</text>", x + 8);
    }
    out.push_str("</svg>\n");
}

fn judged(out: &mut String, review: &Review) {
    let rows: Vec<Vec<String>> = review
        .loops
        .iter()
        .flat_map(|part| part.words.iter().map(move |word| (part, word)))
        .map(|(part, word)| {
            let ran = word.ran.join(", ");
            let (who, verdict, shown) = (word.who.clone(), word.verdict.to_string(), word.shown.clone());
            vec![part.subject.clone(), who, verdict, shown, word.checked.clone(), ran]
        })
        .collect();
    if !rows.is_empty() {
        out.push_str("<h2>What the judges said last</h2>\n");
        table(
            out,
            &["what", "who", "verdict", "was shown", "says it checked", "run for it, on record"],
            &rows,
        );
    }
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>{title}</h2>\n<ul>");
    for item in items {
        let _ = writeln!(out, "<li>{}</li>", escaped(item));
    }
    out.push_str("</ul>\n");
}

fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    out.push_str("<div class=\"wide\"><table>\n<tr>");
    head.iter().for_each(|cell| {
        let _ = write!(out, "<th>{}</th>", escaped(cell));
    });
    out.push_str("</tr>\n");
    for row in rows {
        out.push_str("<tr>");
        row.iter().for_each(|cell| {
            let _ = write!(out, "<td>{}</td>", escaped(cell));
        });
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

/// Makes a line of text that cannot become markup, a control character, or the end of an attribute.
///
/// Long texts are cut, because one finding must not fill the page.
fn escaped(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    escape(&mut out, &plain::clipped(raw, 2_000));
    out
}

/// Does the same for several lines.
fn escaped_block(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    escape(&mut out, &plain::capped(&plain::block(raw), 16_000));
    out
}

/// Adds text so that it cannot become markup or the end of an attribute.
///
/// Everything that comes from outside goes through here. Markup of our own is written directly and never contains such
/// text.
pub(crate) fn escape(out: &mut String, text: &str) {
    if !stands(Defence::Markup) {
        return out.push_str(text);
    }
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}
