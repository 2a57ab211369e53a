//! Cuts what is judged into parts that fit a prompt, by bytes. Every hunk is in some part whole, or in pieces that are
//! each shown. It counts what was shown, and tells what hunks an earlier look showed.
//!
//! A reviewer approves only what it was shown, so nothing may be lost here; property tests check that for any text. Who
//! is shown which part, and what follows if not all is shown, is decided in `tribunal-core`.

use std::collections::BTreeMap;

/// The largest part of a diff or a document, in bytes.
pub const PART_MAX: usize = 100_000;
/// Room for a hunk's header and the mark of a piece.
const HEADER_ROOM: usize = 400;

/// One part of what is judged.
///
/// `done` grows over the parts. It reaches the number of all hunks with the last one, and that is how full coverage is
/// known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The text that is shown.
    pub text: String,
    /// Hunks that have been shown whole with this part and those before it.
    pub done: u32,
    places: Vec<Place>,
}

/// Lines of a file that a part shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// The index of the file.
    file: usize,
    from: u32,
    to: u32,
}

/// Everything that is judged, in parts. There is always at least one part, even if it is empty.
///
/// The names of files are kept with their former names, so that a finding on a renamed file is found in its part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The parts, in the order in which they are shown.
    pub parts: Vec<Part>,
    /// The number of hunks. A file without any, such as a binary one or a rename, counts as one.
    pub hunks: u32,
    /// The number of binary files, of which only the name is shown.
    pub binary: u32,
    /// The names that each file has and had.
    files: Vec<Vec<String>>,
}

impl Parts {
    /// Returns the part that shows this place: its line, or else its file. `None` if no part does.
    ///
    /// A finding is put to a reviewer together with the part that shows its place.
    pub fn holding(&self, file: &str, line: Option<u32>) -> Option<usize> {
        let names = |at: usize| self.files.get(at).into_iter().flatten();
        let named = |place: &&Place| names(place.file).any(|known| known == file);
        let covers = |place: &Place| line.is_some_and(|line| (place.from..=place.to).contains(&line));
        let whose = |fits: &dyn Fn(&Place) -> bool| {
            self.parts.iter().position(|part| part.places.iter().filter(named).any(fits))
        };
        // A line outside of every hunk still belongs to the part that shows its file.
        whose(&covers).or_else(|| whose(&|_| true))
    }
}

/// How much a reviewer is shown, for the words in its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Showing {
    /// The number of this part, counted from 1.
    pub part: u32,
    /// The number of parts it takes to show everything.
    pub parts: u32,
    /// The number of parts that may be asked about.
    pub asked: u32,
    /// Hunks shown with this part and those before it.
    pub done: u32,
    /// The number of all hunks.
    pub hunks: u32,
    /// Hunks that earlier rounds showed and this part leaves out.
    pub before: u32,
    /// Binary files, of which only the name is shown.
    pub binary: u32,
}

impl Showing {
    /// Says it in words; empty if nothing is judged by hunks.
    ///
    /// A reviewer must know what it was not shown. Otherwise it would take the part for the whole and approve the rest
    /// unseen.
    pub fn words(&self) -> String {
        let Showing { part, parts, asked, done, hunks, before, binary } = *self;
        let mut words = match (parts, hunks) {
            (_, 0) => String::new(),
            (0 | 1, _) if before > 0 && done == hunks => {
                let (rest, below) = match hunks - before {
                    1 => ("one has", "it is"),
                    _ => ("others have", "they are"),
                };
                format!(
                    "This is the final pass. Of its {hunks} hunks earlier rounds showed you {before} whole, just as they are now; the {rest} \
                     not been shown to you whole, and {below} below.\n"
                )
            }
            (0 | 1, 1) if done == hunks => "The one hunk of it is below.\n".to_owned(),
            (0 | 1, _) if done == hunks => format!("All {hunks} hunks of it are below.\n"),
            // Not everything could be read, and the reviewer must not believe that it saw everything.
            (0 | 1, _) => format!("{done} of its {hunks} hunks are below; the rest could not be read.\n"),
            _ => {
                let limit = match asked < parts {
                    true => format!(" Only the first {asked} parts are shown to anybody."),
                    false => String::new(),
                };
                let earlier = match before {
                    0 => String::new(),
                    before => format!(", {before} of them in earlier rounds"),
                };
                format!(
                    "It is large and cut into {parts} parts; a launch of its own judges each of them. This is part {part}: with it {done} of \
                     {hunks} hunks have been shown{earlier}.{limit} Judge what is shown here; the rest is in the current folder where you need it.\n"
                )
            }
        };
        words.push_str(&match binary {
            0 => String::new(),
            1 => "One of them is a binary file: only its name is below, the file is in the current folder.\n".to_owned(),
            many => format!("{many} of them are binary files: only their names are below, the files are in the current folder.\n"),
        });
        words
    }
}

/// Cuts a unified diff as git writes it.
///
/// Hunks stay in the order of the diff, and a part holds as many of them as fit. A hunk is split only if no part could
/// hold it.
pub fn of_diff(diff: &str, limit: usize) -> Parts {
    let mut cutter = Cutter { limit, parts: vec![Part::default()], ..Cutter::default() };
    for section in sections(diff) {
        cutter.section(&section);
    }
    Parts { parts: cutter.parts, hunks: cutter.hunks, binary: cutter.binary, files: cutter.files }
}

/// Hunks that somebody was shown whole, by their text.
///
/// The place of a hunk in its file does not matter: other hunks before it may move it and leave it as it is. Equal
/// hunks are counted, so that showing one of them does not stand for the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunks(BTreeMap<String, u32>);

impl Hunks {
    /// Takes the hunks of a diff.
    pub fn of(diff: &str) -> Hunks {
        let mut all = Hunks::default();
        for key in sections(diff).iter().flat_map(Section::keys) {
            *all.0.entry(key).or_insert(0) += 1;
        }
        all
    }

    /// Adds what another look showed. Of equal hunks there are as many as one look showed.
    pub fn add(&mut self, other: Hunks) {
        for (key, many) in other.0 {
            let known = self.0.entry(key).or_insert(0);
            // The larger number and not the sum: a second look at the same hunk shows nothing more.
            *known = many.max(*known);
        }
    }
}

/// Returns a diff without the hunks that were shown before, and the number of those.
///
/// It serves a final pass, in which a reviewer is shown only hunks that it has not seen as they are now.
pub fn rest(diff: &str, shown: &Hunks) -> (String, u32) {
    // Counted down while hunks are met: of three equal hunks, one that was shown leaves two.
    let mut left = shown.0.clone();
    let mut seen = |key: &String| match left.get_mut(key) {
        Some(many) if *many > 0 => {
            *many -= 1;
            true
        }
        _ => false,
    };
    let (mut out, mut before) = (String::new(), 0);
    for section in sections(diff) {
        let kept: Vec<bool> = section.keys().iter().map(|key| !seen(key)).collect();
        before += count(kept.iter().filter(|kept| !**kept).count());
        // A file whose hunks were all shown is left out together with its head.
        if kept.contains(&true) {
            out.push_str(&section.head);
            for hunk in section.hunks.iter().zip(kept).filter(|(_, kept)| *kept).map(|(hunk, _)| hunk) {
                out.push_str(hunk.header);
                hunk.lines.iter().for_each(|line| out.push_str(line));
            }
        }
    }
    (out, before)
}

/// Cuts a document between its lines. Each piece counts as a hunk.
///
/// A document is judged whole, so its parts are cut by size alone.
pub fn of_document(text: &str, limit: usize) -> Parts {
    let mut parts = vec![Part::default()];
    for line in text.split_inclusive('\n') {
        for piece in pieces(line, limit) {
            if let Some(part) = parts.last_mut().filter(|part| part.text.len() + piece.len() <= limit) {
                part.text.push_str(piece);
            } else {
                parts.push(Part { text: piece.to_owned(), ..Part::default() });
            }
        }
    }
    // Each piece of a document is one hunk, so the count is the number of the part.
    for (part, done) in parts.iter_mut().zip(1..) {
        part.done = done;
    }
    let hunks = count(parts.len());
    Parts { parts, hunks, binary: 0, files: Vec::new() }
}

/// What git says about one file.
struct Section<'a> {
    /// The lines before the first hunk.
    head: String,
    files: Vec<String>,
    hunks: Vec<Hunk<'a>>,
}

impl Section<'_> {
    /// Returns a key for each hunk that tells it from every other one. A file without hunks is told by everything that
    /// is said about it.
    ///
    /// The blob ids are left out, because another hunk of the file may have changed them.
    fn keys(&self) -> Vec<String> {
        if self.hunks.is_empty() {
            return vec![self.head.clone()];
        }
        let named = self.head.split_inclusive('\n').filter(|line| !line.starts_with("index "));
        let head: String = named.collect();
        self.hunks.iter().map(|hunk| format!("{head}@@\n{}", hunk.lines.concat())).collect()
    }

    /// Whether git names the file and shows nothing of it.
    fn is_binary(&self) -> bool {
        self.hunks.is_empty()
            && self.head.lines().any(|line| line.starts_with("Binary files ") || line == "GIT binary patch")
    }
}

struct Hunk<'a> {
    header: &'a str,
    lines: Vec<&'a str>,
}

/// The numbers in a hunk's header, and the text that follows them.
#[derive(Clone, Copy)]
struct Range<'a> {
    old: u32,
    new: u32,
    rest: &'a str,
}

fn sections(diff: &str) -> Vec<Section<'_>> {
    let mut all: Vec<Section<'_>> = Vec::new();
    for line in diff.split_inclusive('\n') {
        // A diff that begins without a header is still one section, so that no line is lost.
        if line.starts_with("diff --git ") || all.is_empty() {
            all.push(Section { head: String::new(), files: Vec::new(), hunks: Vec::new() });
        }
        let Some(section) = all.last_mut() else { continue };
        if line.starts_with("@@ ") {
            section.hunks.push(Hunk { header: line, lines: Vec::new() });
        } else if let Some(hunk) = section.hunks.last_mut() {
            hunk.lines.push(line);
        } else {
            section.head.push_str(line);
            section.files.extend(named(line));
        }
    }
    all
}

/// Returns the file that a line before the hunks names.
fn named(line: &str) -> Option<String> {
    // Git adds a tab behind a name that contains a space.
    let line = line.trim_end_matches('\n').trim_end_matches('\t');
    for (prefix, side) in [
        ("--- ", "a/"),
        ("+++ ", "b/"),
        ("rename from ", ""),
        ("rename to ", ""),
        ("copy from ", ""),
        ("copy to ", ""),
    ] {
        if let Some(name) = line.strip_prefix(prefix) {
            return unquoted(name).strip_prefix(side).map(str::to_owned);
        }
    }
    // If nothing else names the file, both sides are the same.
    let both = line.strip_prefix("diff --git ")?;
    let half = both.len() / 2;
    let (from, to) = (unquoted(both.get(..half)?), unquoted(both.get(half + 1..)?));
    let (from, to) = (from.strip_prefix("a/")?, to.strip_prefix("b/")?);
    (from == to).then(|| from.to_owned())
}

/// Reads a name as git writes it. A name with a quote, a backslash or a control character stands in quotes, with
/// escapes.
///
/// A file with such a name has to be found like any other; otherwise its findings would belong to no part.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        let escaped = if byte == b'\\' { rest.next() } else { None };
        bytes.push(match escaped {
            None => byte,
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 11,
            Some(b'f') => 12,
            Some(b'r') => b'\r',
            // Git writes other bytes as three octal digits.
            Some(digit @ b'0'..=b'7') => {
                let more = [rest.next(), rest.next()].into_iter().flatten();
                more.fold(digit - b'0', |value, digit| value.wrapping_mul(8).wrapping_add(digit & 7))
            }
            Some(other) => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl<'a> Range<'a> {
    /// Reads a header such as `@@ -3,4 +5,6 @@ fn main`.
    fn read(header: &'a str) -> Option<Range<'a>> {
        let (numbers, rest) = header.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = numbers.split_once(" +")?;
        let next = |side: &str| {
            let (start, many) = side.split_once(',').unwrap_or((side, "1"));
            let start: u32 = start.parse().ok()?;
            // A side without lines names the line before.
            Some(if many == "0" { start.saturating_add(1) } else { start })
        };
        Some(Range { old: next(old)?, new: next(new)?, rest })
    }
}

/// A line of a hunk, or a piece of one: what is shown, and whether it belongs to the old or the new side.
struct Item<'a> {
    mark: String,
    sign: &'a str,
    text: &'a str,
    old: bool,
    new: bool,
    ends: bool,
}

impl Item<'_> {
    fn len(&self) -> usize {
        self.mark.len() + self.sign.len() + self.text.len() + 1
    }
}

/// Returns the lines of a hunk; lines longer than `room` come in pieces.
///
/// The mark before a piece keeps a reviewer from taking the piece for a whole line.
fn items<'a>(lines: &[&'a str], room: usize) -> Vec<Item<'a>> {
    let mut all = Vec::new();
    for line in lines {
        // Git's own remarks, such as the one about a missing newline, belong to neither side.
        let told = line.starts_with('\\');
        let (sign, text) = match line.get(..1) {
            Some(sign) if " +-".contains(sign) => line.split_at(1),
            _ => ("", *line),
        };
        // Measured with its sign; the sign is written again before each piece.
        let cut: Vec<&str> = if line.len() <= room { vec![text] } else { pieces(text, room) };
        let many = cut.len();
        for (at, text) in cut.into_iter().enumerate() {
            let mark = match many {
                1 => String::new(),
                _ => format!("\\ The next line is piece {} of {many} of one long line.\n", at + 1),
            };
            let (old, new) = (sign != "+" && !told, sign != "-" && !told);
            all.push(Item { mark, sign, text, old, new, ends: at + 1 == many });
        }
    }
    all
}

/// Cuts a text into pieces of at most `room` bytes, never inside a character.
fn pieces(text: &str, room: usize) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = text;
    // No character has more than four bytes, so this much room always makes progress.
    while rest.len() > room.max(4) {
        let mut at = room.max(4);
        while !rest.is_char_boundary(at) {
            at -= 1;
        }
        let (piece, more) = rest.split_at(at);
        all.push(piece);
        rest = more;
    }
    // An empty text is one empty piece: a line without text must not vanish.
    if !rest.is_empty() || all.is_empty() {
        all.push(rest);
    }
    all
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[derive(Default)]
struct Cutter {
    limit: usize,
    parts: Vec<Part>,
    hunks: u32,
    binary: u32,
    files: Vec<Vec<String>>,
    /// Whether the last part has the head of the file that is being cut.
    opened: bool,
}

impl Cutter {
    fn section(&mut self, section: &Section<'_>) {
        self.opened = false;
        self.files.push(section.files.clone());
        if section.hunks.is_empty() {
            // There is nothing else to show of this file than what git says about it.
            self.binary += u32::from(section.is_binary());
            // Also in pieces: git's words about a file are never cut off.
            for piece in pieces(&section.head, self.limit) {
                self.room_for(piece.len());
                self.push(piece);
            }
            // A place without lines: a finding on this file still finds its part.
            self.place(0, 0);
            self.done();
            return;
        }
        for hunk in &section.hunks {
            // Header and lines together, because a hunk is shown with both or not at all.
            let own: usize = hunk.header.len() + hunk.lines.iter().map(|line| line.len()).sum::<usize>();
            // Even a part of its own would not hold it.
            if section.head.len() + own > self.limit {
                self.split(section, hunk);
            } else {
                self.room_for(own + if self.opened { 0 } else { section.head.len() });
                self.open(section);
                self.push(hunk.header);
                self.push(&hunk.lines.concat());
                let new = hunk.lines.iter().filter(|line| !line.starts_with(['-', '\\'])).count();
                let from = Range::read(hunk.header).map_or(0, |range| range.new);
                self.place(from, count(new));
            }
            self.done();
        }
    }

    /// Splits a hunk that no part can hold: its lines go over several parts, each with a header that numbers them.
    ///
    /// The headers are computed anew, so that a finding in a piece names the real line of the file.
    fn split(&mut self, section: &Section<'_>, hunk: &Hunk<'_>) {
        // A header that cannot be read loses only the numbers; the lines are shown all the same.
        let range = Range::read(hunk.header).unwrap_or(Range { old: 1, new: 1, rest: "\n" });
        let head = section.head.len() + HEADER_ROOM;
        let items = items(&hunk.lines, self.limit.saturating_sub(head).max(4));
        let (mut old, mut new) = (range.old, range.new);
        let mut rest = items.as_slice();
        while !rest.is_empty() {
            if !self.last().text.is_empty() {
                self.next();
            }
            let room = self.limit.saturating_sub(head);
            let mut held = 0;
            let fits = |item: &&Item<'_>| {
                held += item.len();
                // Half of the reserve is for the marks of pieces, the other half for the header.
                held <= room + HEADER_ROOM / 2
            };
            // At least one item, so that the loop ends even if nothing fits.
            let many = rest.iter().take_while(fits).count().max(1);
            let (now, later) = rest.split_at(many);
            rest = later;
            let lines = |side: fn(&Item<'_>) -> bool| count(distinct(now, side));
            let (olds, news) = (lines(|item| item.old), lines(|item| item.new));
            // An empty side names the line before it, as git does.
            let start = |next: u32, many: u32| if many == 0 { next.saturating_sub(1) } else { next };
            self.open(section);
            let header = format!(
                "@@ -{},{olds} +{},{news} @@{}",
                start(old, olds),
                start(new, news),
                clip(range.rest)
            );
            self.push(&header);
            let text: String = now.iter().map(shown).collect();
            self.push(&text);
            self.place(new, news);
            // Only the last piece of a line counts, so that a line in pieces is numbered once.
            old += count(now.iter().filter(|item| item.old && item.ends).count());
            new += count(now.iter().filter(|item| item.new && item.ends).count());
        }
    }

    fn last(&mut self) -> &mut Part {
        if self.parts.is_empty() {
            self.parts.push(Part::default());
        }
        let at = self.parts.len() - 1;
        &mut self.parts[at]
    }

    fn next(&mut self) {
        // The count goes on over the parts.
        let done = self.last().done;
        self.parts.push(Part { done, ..Part::default() });
        self.opened = false;
    }

    /// Makes sure that the last part has this much room left.
    fn room_for(&mut self, bytes: usize) {
        let held = self.last().text.len();
        // An empty part takes any size: a further part would have no more room.
        if held > 0 && held + bytes > self.limit {
            self.next();
        }
    }

    /// The file's own lines stand before its first hunk in every part.
    fn open(&mut self, section: &Section<'_>) {
        if !self.opened {
            self.push(&section.head);
            self.opened = true;
        }
    }

    fn push(&mut self, text: &str) {
        let part = self.last();
        part.text.push_str(text);
        if !text.is_empty() && !text.ends_with('\n') {
            part.text.push('\n');
        }
    }

    /// Notes that the last part shows this many lines from there.
    fn place(&mut self, from: u32, lines: u32) {
        let file = self.files.len().saturating_sub(1);
        let to = from.saturating_add(lines).saturating_sub(1);
        self.last().places.push(Place { file, from, to });
    }

    fn done(&mut self) {
        self.hunks += 1;
        let hunks = self.hunks;
        self.last().done = hunks;
    }
}

/// Counts the lines of one side; the pieces of one line count once.
fn distinct(items: &[Item<'_>], side: fn(&Item<'_>) -> bool) -> usize {
    let whole = items.iter().filter(|item| side(item) && item.ends).count();
    // A line that goes on in the next part is in this one, too.
    whole + usize::from(items.last().is_some_and(|item| side(item) && !item.ends))
}

fn shown(item: &Item<'_>) -> String {
    let end = if item.text.ends_with('\n') { "" } else { "\n" };
    format!("{}{}{}{end}", item.mark, item.sign, item.text)
}

/// Returns the text behind a hunk's numbers, which is the function it is in, and the end of the line.
///
/// It is cut short, because a function's name may be as long as its author likes, and the header has limited room.
fn clip(rest: &str) -> String {
    let rest = rest.trim_end_matches('\n');
    let mut at = rest.len().min(HEADER_ROOM / 4);
    while !rest.is_char_boundary(at) {
        at -= 1;
    }
    format!("{}\n", &rest[..at])
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
