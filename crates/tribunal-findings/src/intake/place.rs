//! Finds places in free text, in all the spellings people and models use: `src/a.rs:12-20`, `src/a.rs#L3`,
//! `src/a.rs (line 42)`, `src/a.rs L12-L20`, `src/a.rs, lines 3 to 9`, `src/a.rs::symbol`, links and permalinks.
//!
//! It only finds them. Whether a path may be used is decided by `words::path_inside`, and nothing here touches a file.

use crate::words;

/// A place, and which bytes of the text spell it.
///
/// The bytes are kept so that a reader can cut the place out of a sentence and use the rest as words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub start: usize,
    pub end: usize,
    /// The path as written, not checked.
    pub path: String,
    /// First and last line, where lines are named.
    pub lines: Option<(u32, u32)>,
}

impl Found {
    /// The place in the form that `words::place` reads.
    pub fn spelled(&self) -> String {
        match self.lines {
            Some((first, last)) => format!("{}:{first}-{last}", self.path),
            None => self.path.clone(),
        }
    }
}

/// Endings that make a bare name a file.
///
/// Without the list, "e.g" and "v1.2" would be files; with a folder in front or a line behind it, other endings count,
/// too.
#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    "adoc", "asm", "astro", "bash", "bat", "bzl", "c", "cc", "cfg", "cjs", "clj", "cmake", "conf", "cpp",
    "cs", "cshtml", "css", "csv", "cu", "cxx", "dart", "ejs", "elm", "env", "erb", "erl", "ex", "exs",
    "fish", "fs", "go", "gql", "gradle", "graphql", "groovy", "h", "hbs", "hcl", "hpp", "hrl", "hs", "htm",
    "html", "hxx", "ini", "ipynb", "java", "jl", "js", "json", "jsx", "kt", "kts", "less", "lock", "lua",
    "m", "md", "mdx", "mjs", "mk", "ml", "mli", "mm", "nim", "nix", "php", "pl", "pm", "prisma",
    "properties", "proto", "ps1", "py", "pyi", "pyx", "r", "rake", "rb", "rs", "rst", "sass", "sbt",
    "scala", "scss", "sh", "sol", "sql", "svelte", "swift", "tf", "tfvars", "toml", "tpl", "ts", "tsx",
    "txt", "v", "vb", "vue", "xml", "yaml", "yml", "zig", "zsh",
];

/// Files that have a name and no ending.
const NAMES: &[&str] =
    &["Makefile", "Dockerfile", "Jenkinsfile", "Rakefile", "Gemfile", "Procfile", "Vagrantfile", "Justfile"];

/// A line number beyond this is a typing error, not a place.
const LINE_MAX: u32 = 10_000_000;

/// All places of a text, in order.
pub(crate) fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next_start(text, at) {
        match at_start(text, start) {
            Some(place) => {
                at = place.end.max(start + 1);
                found.push(place);
            }
            None => at = start + run(&text[start..]).max(1),
        }
    }
    found
}

/// The first place of a text.
pub(crate) fn first(text: &str) -> Option<Found> {
    let mut at = 0;
    while let Some(start) = next_start(text, at) {
        if let Some(place) = at_start(text, start) {
            return Some(place);
        }
        at = start + run(&text[start..]).max(1);
    }
    None
}

/// Whether a text names a file, a folder or a command's path.
pub(crate) fn names_a_path(text: &str) -> bool {
    first(text).is_some()
        || text.split(|c: char| c.is_whitespace() || matches!(c, '`' | ',' | ';' | '(' | ')')).any(|word| {
            let word = word.trim_end_matches(['.', ':']);
            word.len() > 2 && word.contains('/') && word.bytes().all(|b| in_path(b) || b == b'*')
        })
}

fn in_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'@' | b'+' | b'~' | b'\\')
}

/// Where the next word that may be a path begins.
fn next_start(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let begins = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'@' | b'~');
    (from..bytes.len()).find(|at| begins(bytes[*at]) && (*at == 0 || !in_path(bytes[at - 1])))
}

/// How many bytes a word of path characters has; brackets inside, as in `app/[id]/page.tsx`, belong to it.
fn run(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if in_path(bytes[at]) {
            at += 1;
        } else if bytes[at] == b'[' && at > 0 && bytes[at - 1] == b'/' {
            match text[at..].find("]/") {
                // A closing bracket far away is not part of a path, and the search must stay linear.
                Some(length) if length < 60 => at += length + 1,
                _ => break,
            }
        } else {
            break;
        }
    }
    at
}

/// The place that begins at this position, if one does.
fn at_start(text: &str, start: usize) -> Option<Found> {
    if text[start..].starts_with("http://") || text[start..].starts_with("https://") {
        return permalink(text, start);
    }
    let length = run(&text[start..]);
    // The dot that ends a sentence is not part of the path.
    let word = text[start..start + length].trim_end_matches(['.', '-', '+']);
    let path_end = start + word.len();
    // Lines are read first, since a line number can make a file name of an ordinary word.
    let (lines, end) = lines_after(text, path_end);
    let known = is_file(word) || lines.is_some() && may_be_file(word);
    if !known {
        return None;
    }
    // `a.rs::symbol` names a symbol; what looked like lines behind it is not.
    let (lines, end) = match symbol_after(text, path_end) {
        Some(end) => (None, end),
        None => (lines, end),
    };
    let end = link_after(text, end);
    Some(Found { start, end, path: word.to_owned(), lines })
}

/// Whether a word is a file by itself.
fn is_file(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    if NAMES.contains(&name) {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let stem_ok = stem.is_empty() || stem.bytes().any(|b| b.is_ascii_alphanumeric());
    let known = ENDINGS.contains(&ending.to_ascii_lowercase().as_str());
    let folder = word.contains('/') && !word.starts_with("//");
    let plausible = (1..=8).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        && ending.bytes().any(|b| b.is_ascii_alphabetic());
    stem_ok && word.len() > 2 && (known || folder && plausible)
}

/// Whether a word is a file if a line follows it.
fn may_be_file(word: &str) -> bool {
    let letters = word.bytes().any(|b| b.is_ascii_alphabetic());
    letters && (word.contains('/') || word.contains('.')) && !word.starts_with("//") && !is_host(word)
}

fn is_host(word: &str) -> bool {
    // `example.com:8080` is an address with a port.
    !word.contains('/') && [".com", ".org", ".net", ".io", ".dev"].iter().any(|end| word.ends_with(end))
}

/// The end of a symbol behind a path: `::Parser::next`.
fn symbol_after(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix("::")?;
    let length =
        rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'.')).count();
    (length > 0 && !rest.starts_with(|c: char| c.is_ascii_digit())).then_some(at + 2 + length)
}

/// Words for "line" in front of a number; longer ones before those they begin with.
#[rustfmt::skip]
const LINE_WORDS: &[&str] = &[
    "lines", "line", "zeilen", "zeile", "líneas", "línea", "lineas", "linea", "lignes", "ligne", "linhas",
    "linha", "righe", "riga", "строки", "строка", "строке", "第", "行", "ln", "ll.", "l.",
];

/// The lines that stand behind a path, and where they end.
fn lines_after(text: &str, at: usize) -> (Option<(u32, u32)>, usize) {
    let rest = &text[at..];
    // Marks that close the path: code, bold, the bracket of a link.
    let closed = rest.trim_start_matches(['`', '*', '_', ']', '"', '\'', '”']);
    for (open, tail) in [(":", rest), ("#", rest), ("(", rest), ("", closed)] {
        let Some(after) = tail.strip_prefix(open) else { continue };
        let read = match open {
            ":" | "#" => numbers(after.trim_start_matches(['L', 'l'])),
            "(" => in_parentheses(after),
            _ => in_words(after),
        };
        if let Some((lines, left)) = read {
            let end = text.len() - left.len();
            return (Some(lines), end);
        }
    }
    (None, at)
}

/// Lines in parentheses: `(131,5)` is a line and a column, `(119-126)` are lines, and so is `(line 42)`.
fn in_parentheses(after: &str) -> Option<((u32, u32), &str)> {
    let inner = after.trim_start();
    let inner = line_word(inner).map_or(inner, str::trim_start);
    let (lines, left) = numbers(inner.trim_start_matches(['L', 'l']))?;
    let left = match left.strip_prefix(',') {
        Some(column) => column.trim_start_matches([' ']).trim_start_matches(|c: char| c.is_ascii_digit()),
        None => left,
    };
    left.strip_prefix(')').map(|left| (lines, left))
}

/// Lines in words: ` (lines 3-9)`, `, line 12`, ` L12-L20`, ` line 88`, ` at line 3`, ` 第 88 行`.
fn in_words(after: &str) -> Option<((u32, u32), &str)> {
    let spaced = after.trim_start_matches([' ', ',', ';', '–', '—', '-', '@', '\u{a0}']);
    if let Some(inner) = spaced.strip_prefix('(') {
        return in_parentheses(inner);
    }
    if let Some(tail) = after.strip_prefix(':').or_else(|| after.strip_prefix('#')) {
        return numbers(tail.trim_start_matches(['L', 'l']));
    }
    // Without a gap the number belongs to the name: `sha256`.
    if spaced.len() == after.len() && !after.starts_with(|c: char| !c.is_ascii()) {
        return None;
    }
    // Japanese puts its word behind the number: `の 42 行目`.
    let of = spaced.strip_prefix('の').unwrap_or(spaced).trim_start();
    if let Some((lines, left)) = numbers(of)
        && let Some(left) = left.trim_start().strip_prefix('行')
    {
        return Some((lines, left));
    }
    let spaced = ["at ", "on ", "in ", "around ", "near ", "in der ", "en la ", "à la "]
        .iter()
        .find_map(|lead| spaced.strip_prefix(lead))
        .unwrap_or(spaced);
    let after_word = match line_word(spaced) {
        Some(rest) => rest.trim_start(),
        None => spaced.strip_prefix('L').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?,
    };
    let (lines, left) = numbers(after_word.trim_start_matches(['L', 'l', '+', 'R']))?;
    Some((lines, left.trim_start_matches([' ']).strip_prefix('行').unwrap_or(left)))
}

/// The text behind a word for "line".
fn line_word(text: &str) -> Option<&str> {
    LINE_WORDS.iter().find_map(|word| {
        let head = text.get(..word.len())?;
        let rest = &text[word.len()..];
        let ends = rest.starts_with(|c: char| c.is_whitespace() || c.is_ascii_digit() || c == '#');
        (head.to_lowercase() == **word && ends).then_some(rest)
    })
}

/// Reads `12`, `12-20`, `12–L20`, `12:5`, `12 to 20`, and what follows. A number that goes on with letters is not a
/// line.
pub(crate) fn numbers(text: &str) -> Option<((u32, u32), &str)> {
    let (first, rest) = number(text)?;
    for between in
        ["-", "–", "—", "..=", "..", " to ", " bis ", " through ", " until ", "～", "~", " a ", " - "]
    {
        if let Some(tail) = rest.strip_prefix(between)
            && let Some((last, left)) =
                number(tail.trim_start().trim_start_matches(['L', 'l', '+', 'R', 'r']))
        {
            return Some(((first.min(last), first.max(last)), left));
        }
    }
    // A second number behind a colon is a column.
    let column = rest.strip_prefix(':').and_then(number);
    Some(((first, first), column.map_or(rest, |(_, left)| left)))
}

fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let value: u32 = text.get(..digits)?.parse().ok()?;
    let rest = &text[digits..];
    let goes_on = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%' || c == '_');
    let fraction = rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    ((1..=LINE_MAX).contains(&value) && !goes_on && !fraction).then_some((value, rest))
}

/// The end of `](…)` behind a place that is the text of a link.
fn link_after(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let marks = rest.len() - rest.trim_start_matches(['`', '*', '_']).len();
    match rest[marks..].strip_prefix("](") {
        // The title of a link is words, and not part of the place.
        Some(url) => url
            .find(')')
            .filter(|end| !url[..*end].contains(|c: char| c.is_whitespace() || c == '"'))
            .map_or(at, |end| at + marks + 2 + end + 1),
        None => at,
    }
}

/// A link to lines of a file at a code host. Its path is checked here, as it comes from outside.
fn permalink(text: &str, start: usize) -> Option<Found> {
    let length = text[start..]
        .find(|c: char| c.is_whitespace() || matches!(c, ')' | '>' | '"' | '`' | '|' | ']'))
        .unwrap_or(text.len() - start);
    let url = text[start..start + length].trim_end_matches(['.', ',', ';']);
    let (path, mark) = url.split_once('#').unwrap_or((url, ""));
    let after = ["/blob/", "/-/blob/", "/blame/", "/tree/", "/src/branch/", "/src/commit/"]
        .iter()
        .find_map(|part| path.split_once(part).map(|(_, after)| after))?;
    let (_, file) = after.split_once('/')?;
    let file = file.split('?').next().unwrap_or(file);
    let digits = mark.trim_start_matches(|c: char| !c.is_ascii_digit());
    let lines = numbers(digits).map(|(lines, _)| lines);
    let end = start + url.len();
    words::path_inside(file).ok().map(|file| Found { start, end, path: file, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_all_usual_spellings() {
        for (text, path, lines) in [
            ("see src/a.rs:12.", "src/a.rs", Some((12, 12))),
            ("`src/a.rs:12-20`: x", "src/a.rs", Some((12, 20))),
            ("src/io.rs L12-L20", "src/io.rs", Some((12, 20))),
            ("in hooks/verify.go#L52-L58 there", "hooks/verify.go", Some((52, 58))),
            ("`src/sched.c` (line 42)", "src/sched.c", Some((42, 42))),
            ("`crates/l/src/c.rs` (line 203 to 210)", "crates/l/src/c.rs", Some((203, 210))),
            ("hooks/verify.go line 38: x", "hooks/verify.go", Some((38, 38))),
            ("In `api/login.go` Zeile 39 wird", "api/login.go", Some((39, 39))),
            ("infra/main.tf, lines 61-68", "infra/main.tf", Some((61, 68))),
            ("a/B.java(131,5)", "a/B.java", Some((131, 131))),
            ("src/ring.c:44:7", "src/ring.c", Some((44, 44))),
            ("src/parser.rs::Parser::next_token x", "src/parser.rs", None),
            ("**src/cache/disk.rs** (119-126)", "src/cache/disk.rs", Some((119, 126))),
            ("(`pool/manager.py`, line 74–81): x", "pool/manager.py", Some((74, 81))),
            ("[`pool/m.py:74-81`](pool/m.py#L74)", "pool/m.py", Some((74, 81))),
            ("https://github.com/o/r/blob/9f1c2ab/scripts/r.sh#L27-L29", "scripts/r.sh", Some((27, 29))),
            ("AuthFilter.java:47 lets", "AuthFilter.java", Some((47, 47))),
            ("Makefile:3 lacks", "Makefile", Some((3, 3))),
            ("app/[id]/page.tsx:9", "app/[id]/page.tsx", Some((9, 9))),
            ("read index.js twice", "index.js", None),
            ("service/order.go 第 88 行没有加锁", "service/order.go", Some((88, 88))),
            ("/srv/x/reset.py:29-29", "/srv/x/reset.py", Some((29, 29))),
        ] {
            let found = first(text);
            let got = found.as_ref().map(|found| (found.path.as_str(), found.lines));
            assert_eq!(got, Some((path, lines)), "{text}");
        }
        for text in [
            "e.g. this",
            "hmac.Equal on self.pos",
            "v1.2.3 at 12:30:45",
            "0.0.0.0/0 is open",
            "`go test ./hooks/...` ok, 0.8s",
            "212 tests, 0 failures",
            "http://localhost:8080/x",
            "24 * time.Hour",
            "and/or",
        ] {
            assert_eq!(first(text), None, "{text}");
        }
        assert_eq!(find("lib/d.rb line 14 and lib/d.rb line 52").len(), 2);
    }
}
