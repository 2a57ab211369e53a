//! The lines of a Markdown body that carry meaning: those outside code fences and comments.
//!
//! A heading or field inside a fence is an example and never found. The work is linear in the body, because bodies come
//! from models and may be of any length.

/// One line of a body, with its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// The line without its line break.
    pub text: &'a str,
    /// The byte offset in the body.
    pub start: usize,
    /// The line number in the file, from 1.
    pub number: u32,
    /// Whether the line is inside a code fence or an HTML comment, or is the fence itself.
    pub hidden: bool,
}

/// All lines of a body whose first line is line `first_line` of the file.
pub(crate) fn lines(body: &str, first_line: u32) -> Vec<Line<'_>> {
    // Looked up once: searching the rest at every comment would be quadratic.
    let comment_ends = body.rfind("-->").unwrap_or(0);
    let mut fence: Option<(char, usize)> = None;
    let mut comment = false;
    let mut start = 0;
    let mut number = first_line;
    let mut out = Vec::new();
    for raw in body.split_inclusive('\n') {
        let text = raw.trim_end_matches(['\n', '\r']);
        let mut hidden = true;
        if comment {
            comment = !text.contains("-->");
        } else if let Some((mark, length)) = fence {
            if closes_fence(text, mark, length) {
                fence = None;
            }
        } else if let Some(opened) = opens_fence(text) {
            fence = Some(opened);
        } else if text.trim_start().starts_with("<!--") {
            // A comment that never closes hides nothing; otherwise one typing error would hide the rest of a plan.
            let open = !text.contains("-->");
            comment = open && comment_ends > start;
            hidden = comment || !open;
        } else {
            hidden = false;
        }
        out.push(Line { text, start, number, hidden });
        start += raw.len();
        number = number.saturating_add(1);
    }
    out
}

fn opens_fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    // A fence may be the first thing in a list item.
    let line = line.strip_prefix("- ").unwrap_or(line).trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    // The closing fence has to be at least as long as the opening one.
    let length = line.len() - line.trim_start_matches(mark).len();
    let info = &line[length..];
    // Backticks after the opening ones make it inline code, by the rules of CommonMark.
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length))
}

fn closes_fence(line: &str, mark: char, length: usize) -> bool {
    let line = line.trim();
    line.len() >= length && line.chars().all(|c| c == mark)
}

/// The level and text of a `#` heading.
pub(crate) fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.len() - line.trim_start_matches('#').len();
    let text = &line[level..];
    let spaced = text.is_empty() || text.starts_with([' ', '\t']);
    ((1..=6).contains(&level) && spaced).then(|| (level, text.trim().trim_end_matches('#').trim()))
}

/// The first level-1 heading outside fences.
pub(crate) fn first_title(lines: &[Line<'_>]) -> Option<String> {
    lines
        .iter()
        .filter(|line| !line.hidden)
        .filter_map(|line| heading(line.text))
        .find(|(level, text)| *level == 1 && !text.is_empty())
        .map(|(_, text)| text.to_owned())
}

/// The text without the backticks around it, if it is a single piece of code.
pub(crate) fn without_ticks(text: &str) -> &str {
    let trimmed = text.trim();
    let inner = trimmed.trim_matches('`').trim();
    match trimmed.starts_with('`') && trimmed.ends_with('`') && !inner.contains('`') {
        true => inner,
        false => trimmed,
    }
}
