//! Reads what stands at a cited place: the line, the lines around it, the enclosing definition.
//!
//! This is a careful reader of indentation, not a parser: right for code as people format it, and harmless for the
//! rest. A wrong or missing symbol only weakens a match. Why there is no tree-sitter here is in
//! `docs/design/tracking.md`.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use tribunal_core::finding::Claim;

/// Which tree a file is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The tree of the earlier review.
    Before,
    /// The tree that is judged now.
    After,
}

/// Gives a file's text as it is in a tree; `None` when it is not there. The caller reads, because a pure crate does
/// not.
pub type Read<'a> = &'a dyn Fn(Side, &str) -> Option<String>;

/// Lines before the anchor that belong to its context; below, lines after it.
const BEFORE: u32 = 2;
const AFTER: u32 = 3;
/// How many lines a citation may be off.
const REACH: u32 = 3;

/// What stands at a cited place.
///
/// Everything but `line` is empty where the file could not be read, and then only words and line numbers decide a
/// match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Anchor {
    /// The line, moved to where the names it quotes stand.
    pub line: Option<u32>,
    /// Text of that line, trimmed.
    pub text: String,
    /// The lines around it, trimmed, blank ones left out.
    pub context: Vec<String>,
    /// Enclosing definitions, outermost first, joined by dots.
    pub symbol: String,
    /// Line of the innermost definition; 0 without one.
    pub symbol_line: u32,
}

/// One file, read and split once.
struct File {
    text: String,
    /// Where each line begins and ends in the text.
    lines: Vec<(u32, u32)>,
    kind: Kind,
    /// For each line what it closes; computed when the first symbol is asked for, as many files never are.
    bounds: OnceCell<Vec<u32>>,
}

/// How the structure of a file is read.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    CLike,
    Markdown,
}

/// Anchors of many claims; each file is read once. A missing file is remembered, too, so it is not asked for again.
///
/// Share one among all steps of a comparison: files are read and split once, however often they are asked about.
pub struct Anchors<'a> {
    read: Read<'a>,
    before: BTreeMap<String, Option<File>>,
    after: BTreeMap<String, Option<File>>,
}

impl<'a> Anchors<'a> {
    /// Reads files through `read`, on demand.
    pub fn new(read: Read<'a>) -> Self {
        Self { read, before: BTreeMap::new(), after: BTreeMap::new() }
    }

    /// The anchor of a claim; empty where there is no file or no line.
    pub fn of(&mut self, side: Side, claim: &Claim) -> Anchor {
        let Some(path) = claim.file.as_deref() else { return Anchor::default() };
        let cited = Anchor { line: claim.line, ..Anchor::default() };
        let Some(file) = self.file(side, path) else { return cited };
        let Some(line) = claim.line else { return cited };
        let line = re_anchored(file, line, claim);
        let Some(text) = file.line(line) else { return cited };
        let from = line.saturating_sub(BEFORE).max(1);
        let around = (from..=line.saturating_add(AFTER)).map_while(|n| file.line(n));
        let context = around.map(|l| l.trim().to_owned()).filter(|l| !l.is_empty()).collect();
        let (symbol, symbol_line) = file.symbol(line);
        Anchor { line: Some(line), text: text.trim().to_owned(), context, symbol, symbol_line }
    }

    /// The `len` lines of a file from `from` on, trimmed, as far as the file has them.
    pub fn lines(&mut self, side: Side, path: &str, from: u32, len: u32) -> Vec<String> {
        let mut lines = Vec::new();
        self.each_line(side, path, from, len, &mut |_, text| lines.push(text.trim().to_owned()));
        lines
    }

    /// Shows `len` lines of a file with their numbers, as far as the file has them. Saves the copies that `lines`
    /// makes.
    pub fn each_line(&mut self, side: Side, path: &str, from: u32, len: u32, see: &mut dyn FnMut(u32, &str)) {
        let Some(file) = self.file(side, path) else { return };
        let from = from.max(1);
        for number in from..from.saturating_add(len) {
            let Some(text) = file.line(number) else { return };
            see(number, text);
        }
    }

    fn file(&mut self, side: Side, path: &str) -> Option<&File> {
        let files = if side == Side::Before { &mut self.before } else { &mut self.after };
        if !files.contains_key(path) {
            let file = (self.read)(side, path).map(|text| File::new(text, path));
            files.insert(path.to_owned(), file);
        }
        files.get(path)?.as_ref()
    }
}

/// Names in backticks or quotes.
///
/// A quotation with a blank is a sentence or a message, not a name. The first eight are enough, and bound the cost on
/// hostile text.
pub(crate) fn quoted_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for mark in ['`', '\'', '"'] {
        let parts: Vec<&str> = text.split(mark).collect();
        for part in parts.iter().skip(1).step_by(2).take(8) {
            if (2..=80).contains(&part.len()) && !part.contains(' ') {
                names.push(*part);
            }
        }
    }
    names
}

/// Words outside of quotes that are written as code writes names: with an underscore or a capital inside.
pub(crate) fn bare_names(text: &str) -> Vec<&str> {
    let words = text
        .split('`')
        .step_by(2)
        .flat_map(|plain| plain.split(|c: char| !(c.is_alphanumeric() || c == '_')));
    words.filter(|word| is_shaped(word)).take(8).collect()
}

fn is_shaped(word: &str) -> bool {
    let humps = || word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    (2..=80).contains(&word.len()) && (word.contains('_') && word.trim_matches('_').len() > 1 || humps())
}

/// Whether a line of code contains a word as a whole.
pub(crate) fn is_word_of(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(part)
            && !line[at + word.len()..].chars().next().is_some_and(part)
    })
}

/// The nearest line that holds most of the names the claim quotes; the cited line when none holds more.
///
/// Reviewers are often a few lines off, and both rounds must end up at the same line for their findings to meet.
fn re_anchored(file: &File, line: u32, claim: &Claim) -> u32 {
    // A line beyond the end of the file is taken for its last line.
    let line = line.clamp(1, (file.lines.len() as u32).max(1));
    let mut names = quoted_names(&claim.claim);
    // A reviewer that quotes nothing may still use names that the code has.
    names.extend(bare_names(&claim.claim));
    if names.is_empty() {
        return line;
    }
    // The enclosing definition is named to say where; its own line is not what is meant.
    let enclosing = file.symbol(line).0;
    names.retain(|name| Some(*name) != enclosing.rsplit('.').next());
    if names.is_empty() {
        return line;
    }
    let score = |n: u32| {
        let Some(text) = file.line(n) else { return 0 };
        names.iter().filter(|name| text.contains(**name)).count()
    };
    let own = score(line);
    // Strictly more, from near to far: on a tie the cited line, or the nearer one, stays.
    let mut best = (own, line);
    for far in 1..=REACH {
        for at in [line.saturating_sub(far), line + far] {
            let found = score(at);
            if found > best.0 {
                best = (found, at);
            }
        }
    }
    best.1
}

fn slice(text: &str, (from, to): (u32, u32)) -> &str {
    text.get(from as usize..to as usize).unwrap_or_default()
}

impl File {
    fn new(text: String, path: &str) -> Self {
        // Offsets are 32 bits: nobody reviews a line beyond four gigabytes.
        let readable = text.get(..u32::MAX as usize).unwrap_or(&text);
        let begin = |line: &str| (line.as_ptr() as usize - readable.as_ptr() as usize) as u32;
        let lines: Vec<(u32, u32)> =
            readable.lines().map(|line| (begin(line), begin(line) + line.len() as u32)).collect();
        File { text, lines, kind: kind_of(path), bounds: OnceCell::new() }
    }

    /// A line by its number, from 1.
    fn line(&self, number: u32) -> Option<&str> {
        let span = *self.lines.get((number as usize).checked_sub(1)?)?;
        Some(slice(&self.text, span))
    }

    /// The definitions around a line, outermost first, and the line of the innermost.
    ///
    /// Goes upwards: a line that stands farther left than everything between it and the cited line is around it, if it
    /// defines anything.
    fn symbol(&self, line: u32) -> (String, u32) {
        let bounds = self.bounds.get_or_init(|| (0..self.lines.len()).map(|n| self.bound(n)).collect());
        let Some(last) = (line as usize).checked_sub(1).filter(|n| *n < bounds.len()) else {
            return (String::new(), 0);
        };
        let (mut least, mut names, mut innermost) = (NOTHING, Vec::new(), 0);
        for n in (0..=last).rev().filter(|n| bounds[*n] != NOTHING) {
            let indent = bounds[n] & !1;
            // `name` is the costly part, so it is asked only of the few lines that could be around it.
            let name = if indent < least { self.name(n) } else { None };
            match name {
                Some(name) => {
                    innermost = if names.is_empty() { n as u32 + 1 } else { innermost };
                    names.push(name);
                    least = indent;
                }
                None => least = least.min(bounds[n]),
            }
            // Nothing can stand farther left.
            if least == 0 {
                break;
            }
        }
        names.reverse();
        (names.join("."), innermost)
    }

    /// What a line leaves open above it: definitions farther left than half of this.
    ///
    /// Odd for a closing mark, which still belongs to what it closes, and for an opening one, which belongs to what is
    /// above it.
    fn bound(&self, n: usize) -> u32 {
        let line = slice(&self.text, self.lines[n]);
        if self.kind == Kind::Markdown {
            return crate::text::heading(line).map_or(NOTHING, |(level, _)| level as u32 * 2);
        }
        let trimmed = line.trim_start();
        // A preprocessor line ends nothing, however far left it stands.
        if trimmed.is_empty() || (self.kind == Kind::CLike && trimmed.starts_with('#')) {
            return NOTHING;
        }
        let closes = trimmed.starts_with(['}', ')', ']', '{']) || matches!(trimmed, "end" | "fi" | "done");
        (line.len() - trimmed.len()).min(INDENT_MAX) as u32 * 2 + u32::from(closes)
    }

    /// The name that a line defines, if it defines one.
    fn name(&self, n: usize) -> Option<&str> {
        let line = slice(&self.text, self.lines[n]);
        if self.kind == Kind::Markdown {
            return crate::text::heading(line).map(|(_, words)| words);
        }
        let trimmed = line.trim_start();
        let spread = || if trimmed.len() == line.len() { self.spread_out(n) } else { None };
        definition(trimmed).or_else(|| if self.kind == Kind::CLike { spread() } else { None })
    }

    /// The name of a C function whose head is spread over lines: `static int`, `name(int a,`, `int b)`, `{`.
    fn spread_out(&self, n: usize) -> Option<&str> {
        let line = slice(&self.text, self.lines[n]).trim_end();
        let before = &line[..line.find('(')?];
        let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
        let head = &before[..before.len() - name.len()];
        let word =
            |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*' | '&' | ':' | '<' | '>' | ',');
        if name.is_empty()
            || !line.starts_with(|c: char| c.is_alphabetic() || c == '_')
            || !head.chars().all(word)
        {
            return None;
        }
        // It is a definition if a body comes before the statement ends.
        let lines = self.lines[n..].iter().take(HEAD_LINES_MAX).map(|span| slice(&self.text, *span));
        let ends = |line: &str| line.find(['{', ';']).map(|at| line.as_bytes()[at] == b'{');
        lines.filter_map(ends).next().filter(|opens| *opens).map(|_| name)
    }
}

/// The bound of a line that says nothing about what is open.
const NOTHING: u32 = u32::MAX;
/// Beyond this indentation all lines are alike; keeps twice the value within 32 bits.
const INDENT_MAX: usize = 1 << 20;

/// At most this many lines may form the head of a function.
const HEAD_LINES_MAX: usize = 30;

fn kind_of(path: &str) -> Kind {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "md" | "markdown" => Kind::Markdown,
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "m" | "mm" => Kind::CLike,
        _ => Kind::Code,
    }
}

/// Words that may precede the word that defines.
const MODIFIERS: &[&str] = &[
    "pub",
    "pub(crate)",
    "pub(super)",
    "async",
    "const",
    "unsafe",
    "export",
    "default",
    "static",
    "public",
    "private",
    "protected",
    "abstract",
    "final",
    "extern",
    "override",
    "inline",
    "virtual",
    "declare",
    "readonly",
    "\"C\"",
];

/// The name that a line defines, in the languages people review most.
///
/// When unsure it returns `None`: an outer name is better than a wrong one.
fn definition(line: &str) -> Option<&str> {
    let mut rest = line;
    while let Some(word) = rest.split_whitespace().next().filter(|word| MODIFIERS.contains(word)) {
        rest = rest[word.len()..].trim_start();
    }
    let word = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
    let after = &rest[word.len()..];
    // `fn-trigger() {` is a shell function, not Rust.
    let word = if after.starts_with([' ', '\t', '!', '*', '<', '(', ':']) || word.is_empty() {
        word
    } else {
        "other"
    };
    let after = after.trim_start();
    match word {
        "def" | "class" | "fn" | "struct" | "enum" | "trait" | "mod" | "interface" | "function"
        | "module" | "namespace" | "macro_rules" => first_name(after.trim_start_matches(['*', '!', ' '])),
        "impl" => {
            let after = without_parameters(after);
            // `impl Display for S` belongs to S.
            first_name(after.split(" for ").last().unwrap_or(after).trim_start_matches(['&', ' ']))
        }
        "func" => {
            // A Go method has its receiver in front.
            let after = if after.starts_with('(') {
                after.split_once(')').map_or(after, |(_, rest)| rest)
            } else {
                after
            };
            first_name(after.trim_start())
        }
        "type" if after.contains("struct") || after.contains("interface") => first_name(after),
        "if" | "for" | "while" | "switch" | "catch" | "else" | "return" | "match" | "case" | "do" | "try"
        | "with" | "elif" => None,
        "" => None,
        _ => braced(rest),
    }
}

fn first_name(text: &str) -> Option<&str> {
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '$')).unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// The text after generic parameters such as `<'a, T: Into<X>>`.
fn without_parameters(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        // The `>` of `->` closes nothing.
        depth += i32::from(c == '<') - i32::from(c == '>' && before != '-');
        before = c;
        if depth == 0 {
            return text[at + 1..].trim_start();
        }
    }
    text
}

/// The name in `name() {`, `name = (…) => {`, `Type name(args) {`.
fn braced(line: &str) -> Option<&str> {
    let body = line.trim_end();
    let body = body.strip_suffix('{')?.trim_end();
    if let Some(arrow) = body.strip_suffix("=>") {
        return bound_function(arrow.trim_end());
    }
    let open = body.find('(')?;
    let name =
        body[..open].trim_end().rsplit(|c: char| c.is_whitespace() || matches!(c, '*' | '&' | ':')).next()?;
    let name_only = first_name(name)?;
    // `foo.bar(x) {` and `x = f(y) {` are calls with a block, not definitions.
    let declares = name_only.len() == name.len() && !body[..open].contains(['=', '.', '"', '\'']);
    (declares && !is_keyword(name) && ends_as_a_head(&body[open..])).then_some(name)
}

/// The name in `const load = async (x)` and `load: (x)`: a function that is given a name. The arm of a match is not
/// one.
fn bound_function(left: &str) -> Option<&str> {
    let (before, value) = left.split_once('=').or_else(|| left.split_once(':'))?;
    let value = value.trim_start();
    let value = value.strip_prefix("async").unwrap_or(value).trim_start();
    let plain = |text: &str| first_name(text).is_some_and(|name| name.len() == text.len());
    let before = before.split(':').next().unwrap_or(before).trim_end();
    let name = before.rsplit(' ').next()?;
    let is_function = value.starts_with('(') && value.ends_with(|c: char| c != '(') || plain(value);
    (is_function && plain(name) && !is_keyword(name)).then_some(name)
}

/// Whether the parameters end on this line and only what may follow them in the head of a function comes after.
fn ends_as_a_head(text: &str) -> bool {
    let mut depth = 0;
    let end = text.char_indices().find_map(|(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        (depth == 0).then_some(at + 1)
    });
    let Some(rest) = end.map(|end| text[end..].trim()) else { return false };
    let first = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    rest.is_empty()
        || rest.starts_with([':', '-'])
        || matches!(first, "const" | "noexcept" | "override" | "final" | "throws" | "where")
}

fn is_keyword(word: &str) -> bool {
    const WORDS: [&str; 14] = [
        "let", "var", "if", "for", "while", "match", "switch", "return", "in", "and", "or", "not", "else",
        "await",
    ];
    WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tribunal_core::finding::Severity;

    fn symbol(path: &str, text: &str, line: u32) -> String {
        File::new(text.to_owned(), path).symbol(line).0
    }

    #[test]
    fn enclosing_definitions() {
        let python = "import x\n\nclass A(B):\n    def f(self):\n        if x:\n            return 1\n\n    async def g(self):\n        pass\n\ndef top():\n    pass\n";
        for (line, expect) in [(1, ""), (3, "A"), (6, "A.f"), (9, "A.g"), (12, "top")] {
            assert_eq!(symbol("a.py", python, line), expect, "{line}");
        }
        let rust = "pub struct S {\n    x: u8,\n}\n\nimpl Display for S {\n    pub(crate) fn f(&self) -> u8 {\n        self.x\n    }\n}\n";
        assert_eq!(symbol("a.rs", rust, 7), "S.f");
        assert_eq!(symbol("a.rs", rust, 9), "S");
        let go = "func (s *Store) Get(k string) error {\n\treturn nil\n}\n";
        assert_eq!(symbol("a.go", go, 2), "Get");
        let shell = "fn-trigger() {\n  declare x\n  if y; then\n    z\n  fi\n}\n\nother () {\n  w\n}\n";
        assert_eq!(symbol("a.sh", shell, 4), "fn-trigger");
        assert_eq!(symbol("a.sh", shell, 9), "other");
        let generic = "impl<'a, T: Into<X>> Graph<'a, T> {\n    fn way(&self) {\n        match x {\n            Some(y) => {\n                z()\n            }\n        }\n        let Some(q) = w(1) else {\n            return;\n        };\n    }\n}\n";
        for (line, expect) in [(3, "Graph.way"), (5, "Graph.way"), (9, "Graph.way"), (12, "Graph")] {
            assert_eq!(symbol("a.rs", generic, line), expect, "{line}");
        }
        let spread = "static Node *make(\n  Pool *pool,\n  int size\n) {\n#ifdef X\n  return 0;\n#endif\n}\nint later(int);\nint x;\nvoid use(int a){\n  later(a);\n}\n";
        for (line, expect) in [(2, "make"), (6, "make"), (8, "make"), (9, ""), (10, ""), (12, "use")] {
            assert_eq!(symbol("a.c", spread, line), expect, "{line}");
        }
        let calls =
            "function outer() {\n  later(() => {\n    a();\n  });\n  list.map(x => {\n    b();\n  });\n}\n";
        for line in [3, 6] {
            assert_eq!(symbol("a.js", calls, line), "outer", "{line}");
        }
        let c = "static int\nfoo(int a)\n{\n    return a;\n}\nint bar(void) {\n    return 1;\n}\n";
        assert_eq!(symbol("a.c", c, 4), "foo");
        assert_eq!(symbol("a.c", c, 7), "bar");
        let js =
            "export const load = async (x) => {\n  return x;\n}\nclass Q {\n  run(a) {\n    a();\n  }\n}\n";
        assert_eq!(symbol("a.ts", js, 2), "load");
        assert_eq!(symbol("a.ts", js, 6), "Q.run");
        let markdown = "# One\n\n## Two\ntext\n# Three\n";
        assert_eq!(symbol("a.md", markdown, 4), "One.Two");
    }

    #[test]
    fn a_line_that_is_off_moves_to_the_names_it_quotes() {
        let text = "import os\nimport sys\nimport json\n\nx = 1\n";
        let read = |_: Side, _: &str| Some(text.to_owned());
        let mut anchors = Anchors::new(&read);
        let claim = Claim::new(Severity::Warning, "Dead import of `json`").at("a.py", Some(1));
        assert_eq!(anchors.of(Side::Before, &claim).line, Some(3));
        let claim = Claim::new(Severity::Warning, "Dead import of `nowhere`").at("a.py", Some(2));
        assert_eq!(anchors.of(Side::Before, &claim).line, Some(2));
        let claim = Claim::new(Severity::Warning, "x").at("a.py", Some(1_000_000));
        assert_eq!(anchors.of(Side::Before, &claim).line, Some(5));
        let nothing = |_: Side, _: &str| None;
        assert_eq!(Anchors::new(&nothing).of(Side::After, &claim).line, Some(1_000_000));
        let empty = |_: Side, _: &str| Some(String::new());
        assert_eq!(Anchors::new(&empty).of(Side::After, &claim).text, "");
    }
}
