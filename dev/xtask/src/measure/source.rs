//! Rust source as the counters see it: code with its strings and comments blanked out, and the product without its tests.
//! It is a lexer, not a parser: it only has to know where text is not code.

use std::collections::BTreeSet;

/// One file of the product.
pub struct Source {
    /// What it says, without its inline tests.
    pub text: String,
    /// The same text with strings, characters and comments blanked out; every line is where it was.
    pub code: String,
    /// How many lines have a comment that is not documentation.
    pub comment_lines: usize,
    /// Lines, from 0, on which documentation stands.
    pub doc_lines: BTreeSet<usize>,
}

impl Source {
    /// The product part of a file.
    pub fn new(text: &str) -> Source {
        let whole = blank(text);
        let end = inline_tests(&whole.code).unwrap_or(text.len());
        let text = text[..end].to_owned();
        let Blanked { code, comment_lines, doc_lines } = blank(&text);
        Source { text, code, comment_lines, doc_lines }
    }

    /// How many lines it has.
    pub fn lines(&self) -> usize {
        self.text.lines().count()
    }
}

/// Where inline tests begin: at `#[cfg(test)]` before a module with a body. What follows it is not product.
fn inline_tests(code: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]") {
        let at = from + found;
        let rest = code[at + "#[cfg(test)]".len()..].trim_start();
        if rest.starts_with("mod ") && is_inline(rest) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

fn is_inline(module: &str) -> bool {
    module.find(['{', ';']).is_some_and(|at| module[at..].starts_with('{'))
}

/// Names of modules that are compiled for tests only and have files of their own.
pub fn test_modules(code: &str) -> Vec<&str> {
    let declared = code.split("#[cfg(test)]").skip(1);
    let named = declared.filter_map(|rest| {
        let module = rest.trim_start().strip_prefix("mod ")?;
        (!is_inline(module)).then(|| module.split(';').next().unwrap_or_default().trim())
    });
    named.collect()
}

struct Blanked {
    code: String,
    comment_lines: usize,
    doc_lines: BTreeSet<usize>,
}

/// Where the lexer stands.
enum In {
    Code,
    /// To the end of the line; documentation is not counted.
    Comment {
        doc: bool,
    },
    /// Block comments nest.
    Block(usize),
    Text,
    /// Ends with a quote and so many `#`.
    Raw(usize),
}

/// Blanks out what is not code. Every byte keeps its place, so that positions in both texts are the same.
fn blank(text: &str) -> Blanked {
    let bytes = text.as_bytes();
    let (mut code, mut at, mut state) = (bytes.to_vec(), 0, In::Code);
    let (mut comment_lines, mut counted) = (0, false);
    let (mut doc_lines, mut line) = (BTreeSet::new(), 0);
    while at < bytes.len() {
        let (next, width) = step(&state, bytes, at);
        let opens_code = matches!(state, In::Code);
        let stays_code = matches!(next, In::Code);
        // A quote or `//` that opens something is blanked with it.
        if !(opens_code && stays_code) || width > 1 {
            for byte in &mut code[at..at + width] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        let plain = matches!(next, In::Comment { doc: false } | In::Block(_));
        if plain && !counted {
            comment_lines += 1;
            counted = true;
        }
        if matches!(next, In::Comment { doc: true }) {
            doc_lines.insert(line);
        }
        // An escape steps over the newline at which a string goes on.
        let newlines = bytes[at..at + width].iter().filter(|byte| **byte == b'\n').count();
        if newlines > 0 {
            counted = false;
            line += newlines;
        }
        state = next;
        at += width;
    }
    // Only ASCII was written over whole characters or not at all, so this is the same text with spaces in it.
    Blanked { code: String::from_utf8_lossy(&code).into_owned(), comment_lines, doc_lines }
}

/// The state after the next bytes, and how many they are.
fn step(state: &In, bytes: &[u8], at: usize) -> (In, usize) {
    let rest = &bytes[at..];
    match state {
        In::Code if rest.starts_with(b"//") => {
            let doc = (rest.starts_with(b"///") && !rest.starts_with(b"////")) || rest.starts_with(b"//!");
            (In::Comment { doc }, 2)
        }
        In::Code if rest.starts_with(b"/*") => (In::Block(1), 2),
        In::Code if rest[0] == b'"' => (In::Text, 1),
        In::Code if rest[0] == b'r' && !follows_word(bytes, at) => match raw(&rest[1..]) {
            Some(hashes) => (In::Raw(hashes), hashes + 2),
            None => (In::Code, 1),
        },
        In::Code if rest[0] == b'\'' => (In::Code, character(rest)),
        In::Code => (In::Code, 1),
        In::Comment { .. } if rest[0] == b'\n' => (In::Code, 1),
        In::Comment { doc } => (In::Comment { doc: *doc }, 1),
        In::Block(depth) if rest.starts_with(b"/*") => (In::Block(depth + 1), 2),
        In::Block(1) if rest.starts_with(b"*/") => (In::Code, 2),
        In::Block(depth) if rest.starts_with(b"*/") => (In::Block(depth - 1), 2),
        In::Block(depth) => (In::Block(*depth), 1),
        In::Text if rest[0] == b'\\' => (In::Text, rest.len().min(2)),
        In::Text if rest[0] == b'"' => (In::Code, 1),
        In::Text => (In::Text, 1),
        In::Raw(hashes) if ends_raw(rest, *hashes) => (In::Code, hashes + 1),
        In::Raw(hashes) => (In::Raw(*hashes), 1),
    }
}

/// `for` and `br` end with an r that opens nothing new; `br"…"` is raw all the same.
fn follows_word(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|place| bytes[place]);
    let word = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_byte_mark = before(1) == Some(b'b') && !word(before(2));
    word(before(1)) && !is_byte_mark
}

/// How many `#` stand before the quote of a raw string.
fn raw(rest: &[u8]) -> Option<usize> {
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    (rest.get(hashes) == Some(&b'"')).then_some(hashes)
}

fn ends_raw(rest: &[u8], hashes: usize) -> bool {
    rest[0] == b'"' && rest.len() > hashes && rest[1..=hashes].iter().all(|byte| *byte == b'#')
}

/// How long a character literal is; 1 where the quote begins a lifetime.
fn character(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        let close = rest.iter().skip(3).position(|byte| *byte == b'\'');
        return close.map_or(1, |at| at + 4);
    }
    // A character of several bytes, too, ends with the next quote; a lifetime has none so near.
    let close = rest.iter().take(6).skip(2).position(|byte| *byte == b'\'');
    let between =
        |at: usize| std::str::from_utf8(&rest[1..at + 2]).is_ok_and(|text| text.chars().count() == 1);
    close.filter(|at| between(*at)).map_or(1, |at| at + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_no_code() {
        let text = "let a = \"}\\\"{\"; // {\nlet b = '{'; let c = r#\"{\"}\"#; /* { /* */ { */ fn f<'a>(x: &'a u8) {}";
        let code = Source::new(text).code;
        assert_eq!(code.matches('{').count(), 1, "{code}");
        assert_eq!(code.matches('}').count(), 1, "{code}");
        assert!(code.contains("fn f<'a>(x: &'a u8) {}"), "{code}");
        assert_eq!(code.len(), text.len());
        assert_eq!(code.lines().count(), text.lines().count());
    }

    #[test]
    fn a_string_that_goes_on_counts_its_lines() {
        let text = "const A: &str = \"a \\\n    b\";\n/// Doc.\nfn f() {}\n";
        assert_eq!(Source::new(text).doc_lines, BTreeSet::from([2]));
    }

    #[test]
    fn only_comments_that_are_not_documentation_count() {
        let text = "//! Head.\n\n/// Doc.\nfn f() {\n    // Why.\n    g(); // and why\n    h(\"// no\");\n}\n//// not doc\n";
        assert_eq!(Source::new(text).comment_lines, 3);
    }

    #[test]
    fn tests_are_cut_off() {
        let inline = Source::new("fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n");
        assert_eq!(inline.text, "fn f() {}\n");
        let apart = Source::new("#[cfg(test)]\nmod tests;\nfn f() {}\n");
        assert_eq!(apart.lines(), 3);
        assert_eq!(test_modules(&apart.code), ["tests"]);
        let quoted = Source::new("const T: &str = \"#[cfg(test)] mod x {\";\nfn f() {}\n");
        assert_eq!(quoted.lines(), 2);
    }
}
