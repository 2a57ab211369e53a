//! Files that judge in part: a manifest names the runner and also the dependencies.
//!
//! A change to parts that judge nothing does not change the judge, and must not cost a second run or a question. A
//! file that cannot be read in parts is taken whole: these readers know just enough of each format, and give up at
//! anything unusual.

use std::collections::BTreeMap;

/// Which parts of a file judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    /// The whole file judges.
    Whole,
    /// All but these tables and keys of TOML, `*` for any one name.
    Toml(&'static [&'static str]),
    /// All but these keys of the outermost object.
    Json(&'static [&'static str]),
    /// Only lines that begin so.
    Lines(&'static [&'static str]),
    /// All but what stands between these two.
    Block(&'static str, &'static str),
}

/// Keys with their values, as they are written.
type Entries = BTreeMap<String, String>;

impl Parts {
    /// Whether the parts that judge differ.
    pub(super) fn differ(self, before: &str, now: &str) -> bool {
        match self {
            Parts::Whole => before != now,
            Parts::Toml(free) => match (toml(before), toml(now)) {
                (Some(before), Some(now)) => differ(&before, &now, free),
                // Not readable on one side: compare the whole text, so that a broken file cannot hide a change.
                _ => before != now,
            },
            Parts::Json(free) => match (json(before), json(now)) {
                (Some(before), Some(now)) => differ(&before, &now, free),
                _ => before != now,
            },
            Parts::Lines(begin) => lines(before, begin) != lines(now, begin),
            Parts::Block(open, close) => match (outside(before, open, close), outside(now, open, close)) {
                (Some(before), Some(now)) => before != now,
                _ => before != now,
            },
        }
    }
}

/// The functions by which a file of tests steers its runner, as they are written.
pub(super) fn marked(text: &str, marks: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut inside = false;
    for line in text.lines() {
        let begins = marks.iter().any(|(_, mark)| line.starts_with(mark));
        // A function ends at the first line that is neither indented nor a closing bracket.
        let goes_on = line.trim().is_empty() || line.starts_with([' ', '\t']) || line.starts_with(['}', ')']);
        inside = begins || (inside && goes_on);
        if inside && !line.trim().is_empty() {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// The modules that `pytest_plugins` of a file of pytest names, on its line or in a list of several.
pub(super) fn plugins(text: &str) -> Vec<String> {
    let Some(at) = text.find("pytest_plugins") else { return Vec::new() };
    let rest = text[at..].split_once('=').map_or("", |(_, rest)| rest).trim_start();
    let end = match rest.chars().next() {
        Some('[' | '(') => rest.find([']', ')']),
        _ => rest.find('\n'),
    };
    let list = &rest[..end.unwrap_or(rest.len())];
    let parts = list.split(['"', '\'']).skip(1).step_by(2);
    parts.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Whether a file of pytest still has all its lines in their order, and only imports and fixtures that a test has to
/// ask for stand between them.
///
/// Hooks, fixtures that act by themselves, and statements are more than that: they change what the existing tests do.
pub(super) fn only_adds_fixtures(before: &str, now: &str) -> bool {
    let mut old = before.lines().filter(|line| !line.trim().is_empty()).peekable();
    let (mut inside, mut decorated, mut heads, mut quoted) = (false, false, false, None);
    for line in now.lines().filter(|line| !line.trim().is_empty()) {
        // A text that describes a new fixture. It swallows no old line: those are still looked for behind it.
        match docstring(line, quoted, heads) {
            Docstring::None => {}
            Docstring::Unclear => return false,
            Docstring::Open(quotes) => {
                quoted = Some(quotes);
                continue;
            }
            Docstring::Closed => {
                (quoted, heads) = (None, false);
                continue;
            }
        }
        let is_indented = line.starts_with([' ', '\t']);
        let is_old = old.peek().is_some_and(|next| *next == line);
        // Behind a new decorator an old `def` is not the old function any more.
        if is_old && !decorated {
            old.next();
            (inside, heads) = (false, false);
            continue;
        }
        let is_import = !is_indented && (line.starts_with("import ") || line.starts_with("from "));
        // An `autouse` fixture runs for every test, whether the test asks for it or not.
        let is_fixture = line.starts_with("@pytest.fixture") && !line.contains("autouse");
        let is_function = (line.starts_with("def ") || line.starts_with("async def ")) && decorated;
        let is_allowed =
            (is_indented && inside) || is_import || is_fixture || is_function || line.starts_with('#');
        // A text of several lines, or a continued line, could swallow what stands below.
        let swallows = line.contains("\"\"\"") || line.contains("'''") || line.ends_with('\\');
        if !is_allowed || swallows || (line.contains(';') && !is_indented) || line.contains("def pytest_") {
            return false;
        }
        inside = is_function || (inside && is_indented);
        decorated = is_fixture;
        heads = is_function && line.ends_with(':');
    }
    // An old line that was not found again was taken out or moved.
    old.peek().is_none() && quoted.is_none()
}

/// What a line is to the docstring of a Python function.
enum Docstring {
    /// Not part of a docstring.
    None,
    /// A docstring begins with these quotes, or goes on.
    Open(&'static str),
    /// The docstring ends here.
    Closed,
    /// The docstring may end in the middle of a line.
    Unclear,
}

/// Reads a line. `quoted` are the quotes that are open, and `heads` says that the line before is the head of a
/// function.
fn docstring(line: &str, quoted: Option<&'static str>, heads: bool) -> Docstring {
    let line = line.trim();
    let opens = || ["\"\"\"", "'''"].into_iter().find(|quotes| heads && line.starts_with(quotes));
    let (quotes, text) = match (quoted, opens()) {
        (Some(quotes), _) => (quotes, line),
        (None, Some(quotes)) => (quotes, &line[quotes.len()..]),
        (None, None) => return Docstring::None,
    };
    match text.split_once(quotes) {
        // An escape may hide a closing quote, or look like one.
        _ if text.contains('\\') => Docstring::Unclear,
        None => Docstring::Open(quotes),
        Some((_, "")) => Docstring::Closed,
        Some(_) => Docstring::Unclear,
    }
}

/// Whether entries that judge differ.
///
/// A dependency that was there and is now taken from the tree is such an entry: it takes the place of a library that
/// tests may rely on.
fn differ(before: &Entries, now: &Entries, free: &[&str]) -> bool {
    let is_free = |key: &str| free.iter().any(|free| covers(free, key));
    let judging = |entries: &Entries| -> Entries {
        entries
            .iter()
            .filter(|(key, _)| !is_free(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let local = |value: &str| ["path", "file:", "link:", "portal:"].iter().any(|word| value.contains(word));
    let replaced = before.iter().any(|(key, was)| {
        // Only entries that are free to change have to be asked: all others are compared below.
        is_free(key) && now.get(key).is_some_and(|is| is != was && local(is) && !local(was))
    });
    replaced || judging(before) != judging(now)
}

/// Whether a pattern names a key or a table above it.
fn covers(pattern: &str, key: &str) -> bool {
    let mut parts = key.split('.');
    pattern.split('.').all(|part| parts.next().is_some_and(|own| part == "*" || part == own))
}

/// The entries of a TOML document by table and key; none if it has multi-line strings.
///
/// A line inside such a string could be taken for the beginning of a table.
fn toml(text: &str) -> Option<Entries> {
    if text.contains("\"\"\"") || text.contains("'''") {
        return None;
    }
    let (mut entries, mut table, mut last) = (Entries::new(), String::new(), String::new());
    let mut tables = 0u32;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let name = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        // Inside an array of several lines there is no table.
        let open = entries.get(&last).is_some_and(|value: &String| !is_closed(value));
        if let (Some((name, _)), false) = (name, open) {
            tables += 1;
            let is_list = name.starts_with('[');
            let name = name.trim_start_matches('[').replace(['"', '\'', ' '], "");
            // Each table of a list stands for itself, or two of them would be compared as one.
            table = if is_list { format!("{name}.{tables}") } else { name };
            last = format!("{table}.");
            entries.entry(last.clone()).or_default();
        } else if let (Some((key, value)), false) = (line.split_once('='), open) {
            let key = key.trim().replace(['"', '\''], "");
            last = if table.is_empty() { key } else { format!("{table}.{key}") };
            entries.entry(last.clone()).or_default().push_str(value.trim());
        } else {
            entries.entry(last.clone()).or_default().push_str(line);
        }
    }
    Some(entries)
}

/// Whether every bracket of a value is closed, not counting those in quotes.
fn is_closed(value: &str) -> bool {
    let (mut depth, mut quote) = (0i32, None);
    for c in value.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    // More closing than opening brackets is broken TOML, which must not swallow the rest of the file.
    depth <= 0
}

/// The keys of the outermost object of a JSON document; those of its objects are `key.inner`. None if it is not an
/// object, or has a key twice.
///
/// Readers disagree about which of two equal keys counts, so a document with both is not read in parts.
fn json(text: &str) -> Option<Entries> {
    let mut entries = Entries::new();
    for (key, value) in members(text)? {
        match members(&value) {
            // An empty object counts as a value, so that adding or removing it is seen.
            Some(inner) if !inner.is_empty() => {
                for (name, value) in inner {
                    if entries.insert(format!("{key}.{name}"), value).is_some() {
                        return None;
                    }
                }
            }
            _ => {
                if entries.insert(key, value).is_some() {
                    return None;
                }
            }
        }
    }
    Some(entries)
}

/// The members of an object, in order, with their values as they are written.
fn members(text: &str) -> Option<Vec<(String, String)>> {
    let inner = text.trim().trim_start_matches('\u{feff}').strip_prefix('{')?.strip_suffix('}')?;
    let mut found = Vec::new();
    for member in split(inner, ',') {
        if member.trim().is_empty() {
            continue;
        }
        let mut sides = split(&member, ':').into_iter();
        let key = sides.next()?.trim().trim_matches('"').to_owned();
        let value: Vec<String> = sides.collect();
        // An escaped key may be any other key in disguise.
        if value.is_empty() || key.contains('\\') {
            return None;
        }
        found.push((key, value.join(":").trim().to_owned()));
    }
    Some(found)
}

/// The parts between a sign that stands outside quotes and brackets.
fn split(text: &str, at: char) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0i32, false);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == at && depth == 0 && !quoted {
            parts.push(String::new());
            continue;
        }
        let part = parts.last_mut().map_or_else(String::new, std::mem::take);
        let mut part = part;
        part.push(c);
        match c {
            // An escaped quote does not end the text.
            '\\' if quoted => part.extend(rest.next()),
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth -= 1,
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            *last = part;
        }
    }
    parts
}

/// The lines that begin with one of these words, also inside a list in brackets that begins with it.
fn lines(text: &str, begin: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        let begins = begin.iter().any(|word| line.starts_with(word));
        if begins || inside {
            found.push(line.to_owned());
        }
        inside = (begins && line.ends_with('(')) || (inside && line != ")");
    }
    found
}

/// A text without what stands between these two; none if the second is missing.
fn outside(text: &str, open: &str, close: &str) -> Option<String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(open) {
        out.push_str(&rest[..at]);
        let inner = &rest[at + open.len()..];
        let end = match close {
            // Braces nest, so the first one need not be the end.
            "}" => closing(inner)?,
            close => inner.find(close)?,
        };
        rest = &inner[end + close.len()..];
    }
    out.push_str(rest);
    Some(out)
}

/// Where the brace is closed that was opened before a text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
/// The targets of a Makefile, each with what it needs: `test: unit lint`.
pub(super) fn rules(makefile: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for line in makefile.replace("\\\n", " ").lines() {
        let line = line.split('#').next().unwrap_or_default();
        let Some((targets, needs)) = line.split_once(':').filter(|_| !line.starts_with(['\t', ' '])) else {
            continue;
        };
        // `NAME := value` and `NAME ::= value` are not rules.
        let needs = needs.trim_start_matches(':');
        if needs.starts_with('=') {
            continue;
        }
        // A recipe may follow on the same line.
        let needs = needs.split(';').next().unwrap_or_default().split_whitespace();
        // `|` separates order-only prerequisites, which make builds all the same.
        let needs: Vec<String> = needs.filter(|word| *word != "|").map(str::to_owned).collect();
        found.extend(targets.split_whitespace().map(|target| (target.to_owned(), needs.clone())));
    }
    found
}
