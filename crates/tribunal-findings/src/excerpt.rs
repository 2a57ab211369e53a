//! Keeps some code with a finding, so that people can read it later without a repository: the lines it is about, and
//! the part of a fix that touched them.
//!
//! Everything is cut to what a person would read. Excerpts live in the journal, and the text may come from a hostile
//! tree: neither a long line nor a huge range may make it grow.

use serde::{Deserialize, Serialize};

/// Lines of context before and after those a finding names.
const AROUND: u32 = 3;
/// At most this many lines of code, or of a fix, are kept.
const LINES_MAX: usize = 40;
/// At most this many characters of a line are kept.
const WIDTH_MAX: usize = 200;

/// Some lines of a file as they were when a finding was first seen.
///
/// It is a copy on purpose: the code changes with every fix, and the page that shows the finding reads no git.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The number of the first line, counted from 1.
    pub from: u32,
    /// The lines, joined by line ends; long ones are cut.
    pub text: String,
}

/// The lines around `line` to `end`, counted from 1; `None` where the file has no such line.
pub fn excerpt(text: &str, line: u32, end: u32) -> Option<Excerpt> {
    if line == 0 {
        return None;
    }
    let from = line.saturating_sub(AROUND).max(1);
    // Reviewers write "20-5", too: the range is taken to end where it begins.
    let last = end.max(line).saturating_add(AROUND);
    let skip = usize::try_from(from - 1).ok()?;
    let most = usize::try_from(last - from).unwrap_or(usize::MAX).saturating_add(1).min(LINES_MAX);
    // Checked apart from the context: the lines before a missing line would look like an answer.
    let reaches = text.lines().nth(usize::try_from(line - 1).ok()?).is_some();
    let lines: Vec<String> = text.lines().skip(skip).take(most).map(narrow).collect();
    reaches.then(|| Excerpt { from, text: lines.join("\n") })
}

/// The hunks of one file's patch that touch a line of the old file.
///
/// Where no hunk is near, or no line is named, all hunks are kept: a fix may be elsewhere in the file. The result is
/// empty where the patch changes nothing.
pub fn hunks(patch: &str, line: Option<u32>) -> String {
    let mut all: Vec<(u32, u32, Vec<String>)> = Vec::new();
    for text in patch.lines() {
        match (head(text), all.last_mut()) {
            (Some((start, len)), _) => all.push((start, len, vec![narrow(text)])),
            // A patch of several files goes on with the next head, which is not part of this hunk.
            (None, Some((_, _, lines))) if !text.starts_with("diff --git ") => lines.push(narrow(text)),
            (None, _) => {}
        }
    }
    let near = |start: u32, len: u32, line: u32| {
        line.saturating_add(AROUND) >= start && line <= start.saturating_add(len).saturating_add(AROUND)
    };
    let is_near =
        |(start, len, _): &&(u32, u32, Vec<String>)| line.is_some_and(|line| near(*start, *len, line));
    let chosen: Vec<&(u32, u32, Vec<String>)> = match all.iter().any(|hunk| is_near(&hunk)) {
        true => all.iter().filter(is_near).collect(),
        false => all.iter().collect(),
    };
    let lines: Vec<&str> = chosen.iter().flat_map(|(_, _, lines)| lines.iter().map(String::as_str)).collect();
    match lines.get(..LINES_MAX) {
        Some(first) if lines.len() > LINES_MAX => {
            format!("{}\n… {} more lines", first.join("\n"), lines.len() - LINES_MAX)
        }
        _ => lines.join("\n"),
    }
}

/// Where a hunk begins in the old file, and how many lines it has there.
fn head(line: &str) -> Option<(u32, u32)> {
    let old = line.strip_prefix("@@ -")?.split_once(' ')?.0;
    match old.split_once(',') {
        Some((start, len)) => Some((start.parse().ok()?, len.parse().ok()?)),
        // git leaves the length out when it is one.
        None => Some((old.parse().ok()?, 1)),
    }
}

fn narrow(line: &str) -> String {
    match line.char_indices().nth(WIDTH_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_around_the_named_ones() {
        let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
        let check = |line, end, expect: Option<(u32, &str)>| {
            let got = excerpt(text, line, end).map(|one| (one.from, one.text));
            assert_eq!(got, expect.map(|(from, text)| (from, text.to_owned())), "{line}-{end}");
        };
        check(1, 1, Some((1, "1\n2\n3\n4")));
        check(5, 6, Some((2, "2\n3\n4\n5\n6\n7\n8\n9")));
        check(10, 10, Some((7, "7\n8\n9\n10")));
        check(5, 2, Some((2, "2\n3\n4\n5\n6\n7\n8")));
        check(11, 11, None);
        check(0, 4, None);
        check(u32::MAX, u32::MAX, None);
    }

    const PATCH: &str = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n@@ -40 +40 @@ fn\n-forty\n+FORTY\n";

    #[test]
    fn the_hunk_that_touched_the_line() {
        let (first, second) = ("@@ -1,2 +1,2 @@\n-one\n+ONE\n two", "@@ -40 +40 @@ fn\n-forty\n+FORTY");
        assert_eq!(hunks(PATCH, Some(2)), first);
        assert_eq!(hunks(PATCH, Some(42)), second);
        assert_eq!(hunks(PATCH, Some(20)), format!("{first}\n{second}"));
        assert_eq!(hunks(PATCH, None), format!("{first}\n{second}"));
        assert_eq!(hunks("Binary files differ\n", Some(1)), "");
        let long = format!("@@ -1,9 +1,90 @@\n{}", "+x\n".repeat(90));
        assert!(hunks(&long, Some(1)).ends_with("\n… 51 more lines"));
    }

    proptest! {
        #[test]
        fn what_is_kept_is_bounded(text in "\\PC{0,300}(\n\\PC{0,20}){0,60}", line: u32, end: u32) {
            let bound = LINES_MAX * (WIDTH_MAX + 2) * 4;
            if let Some(one) = excerpt(&text, line, end) {
                prop_assert!(one.text.len() <= bound && one.from <= line);
            }
            prop_assert!(hunks(&text, Some(line)).len() <= bound + 40);
        }
    }
}
