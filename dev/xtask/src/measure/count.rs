//! What is counted in one file: functions and their lengths, names of types, and blocks of documentation.

use super::source::Source;

/// A function longer than this is too long.
pub const LINES_MAX: usize = 70;
/// A function name of so few letters rarely says what it does.
pub const LETTERS_MAX: usize = 5;
/// A block of so few words rarely says more than the name below it.
pub const WORDS_MAX: usize = 4;

/// One function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Lines from `fn` to its closing brace; 0 where it has no body.
    pub lines: usize,
}

/// One block of documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doc {
    /// How many words it has.
    pub words: usize,
    /// It goes on after its summary.
    pub has_second_paragraph: bool,
}

/// All functions of a file.
pub fn functions(source: &Source) -> Vec<Function> {
    let code = &source.code;
    let named = named(code, "fn");
    named.map(|(at, name)| Function { name: name.to_owned(), lines: body_lines(&code[at..]) }).collect()
}

/// Names of all structs, enums and traits that a file defines.
pub fn types(source: &Source) -> Vec<String> {
    let kinds = ["struct", "enum", "trait"];
    kinds.iter().flat_map(|kind| named(&source.code, kind)).map(|(_, name)| name.to_owned()).collect()
}

/// All blocks of documentation, those at the head of a file among them.
pub fn docs(source: &Source) -> Vec<Doc> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut open = "";
    for (at, line) in source.text.lines().enumerate() {
        let line = line.trim_start();
        let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark));
        let mark = mark.filter(|_| source.doc_lines.contains(&at)).unwrap_or_default();
        if !mark.is_empty() {
            if mark != open {
                blocks.push(Vec::new());
            }
            if let Some(block) = blocks.last_mut() {
                block.push(line[mark.len()..].trim());
            }
        }
        open = mark;
    }
    blocks.iter().map(|block| doc(block)).collect()
}

fn doc(lines: &[&str]) -> Doc {
    let words = lines.iter().map(|line| line.split_whitespace().count()).sum();
    let first_gap = lines.iter().position(|line| line.is_empty());
    let goes_on = |gap: usize| gap > 0 && lines[gap..].iter().any(|line| !line.is_empty());
    Doc { words, has_second_paragraph: first_gap.is_some_and(goes_on) }
}

/// Every place where a keyword names something, and the name.
fn named<'a>(code: &'a str, keyword: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(keyword).filter_map(move |(at, _)| {
        let before = code[..at].chars().next_back();
        let after = &code[at + keyword.len()..];
        let name = after.trim_start();
        let end = name.find(|c| !is_word(c)).unwrap_or(name.len());
        let stands_alone = !before.is_some_and(is_word) && after.starts_with(char::is_whitespace);
        (stands_alone && end > 0).then(|| (at, &name[..end]))
    })
}

/// Lines from here to the end of the body that begins here; 0 where a `;` comes first.
fn body_lines(code: &str) -> usize {
    let (mut depth, mut brackets) = (0_usize, 0_usize);
    for (at, c) in code.char_indices() {
        match c {
            '[' | '(' => brackets += 1,
            ']' | ')' => brackets = brackets.saturating_sub(1),
            // `[u8; 4]` has a semicolon, too.
            ';' if depth == 0 && brackets == 0 => return 0,
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return code[..=at].lines().count();
                }
            }
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_names_and_lengths() {
        let text = "trait T {\n    fn bare(&self) -> [u8; 4];\n}\npub fn whole(a: fn(u8) -> u8) -> bool {\n    let s = \"}\";\n    if a {\n    }\n}\n";
        let found = functions(&Source::new(text));
        let one = |name: &str, lines: usize| Function { name: name.to_owned(), lines };
        assert_eq!(found, [one("bare", 0), one("whole", 5)]);
    }

    #[test]
    fn types_are_found_where_they_are_defined() {
        let text =
            "pub struct A;\nenum B<T> { X(T) }\nimpl A {}\ntrait C {}\n// struct D\nlet structure = 1;\n";
        assert_eq!(types(&Source::new(text)), ["A", "B", "C"]);
    }

    #[test]
    fn a_block_of_documentation_is_one_block() {
        let text = "//! Head of it.\n\n/// One.\n///\n/// And two of it.\nfn f() {}\n/// Short.\nstruct S;\nconst C: &str = \"\n/// no\n\";\n";
        let doc = |words, has_second_paragraph| Doc { words, has_second_paragraph };
        assert_eq!(docs(&Source::new(text)), [doc(3, false), doc(5, true), doc(1, false)]);
    }
}
