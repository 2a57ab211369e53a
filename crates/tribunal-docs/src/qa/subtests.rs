//! Recognises subtests of Go under another name, as `TestAdd/zero`.
//!
//! Go makes their names of a text in the test: the first argument of `t.Run`, or a field of a row in a table. A subtest is
//! still there where the same row, or the same body, stands under the new text; and a test that became a subtest, or the
//! other way round, where its lines stand in the new place.

use super::renamed::{ChangedText, bodies};

/// Whether the lines of a removed test stand under the name of a new one. At least one of both is a subtest.
pub(super) fn is_same(gone: &str, new: &str, files: &[ChangedText]) -> bool {
    let files = || files.iter().filter(|file| file.path.ends_with("_test.go"));
    match (subtest(gone), subtest(new)) {
        (Some((parent, old)), Some((other, new))) => {
            // The rows of another table are other tests, even with the same fields.
            let was = files().flat_map(|file| rows(&file.before, old));
            let is: Vec<Vec<String>> = files().flat_map(|file| rows(&file.now, new)).collect();
            parent == other && was.into_iter().any(|row| is.contains(&row))
        }
        (None, Some((_, new))) if is_go(gone) => {
            let is: Vec<Vec<String>> = files().flat_map(|file| run_bodies(&file.now, new)).collect();
            files().flat_map(|file| func_bodies(&file.before, gone)).any(|body| is.contains(&body))
        }
        (Some((_, old)), None) if is_go(new) => {
            let is: Vec<Vec<String>> = files().flat_map(|file| func_bodies(&file.now, new)).collect();
            files().flat_map(|file| run_bodies(&file.before, old)).any(|body| is.contains(&body))
        }
        _ => false,
    }
}

/// A test function and its innermost subtest.
fn subtest(name: &str) -> Option<(&str, &str)> {
    let (parent, own) = name.rsplit_once('/')?;
    is_go(parent.split('/').next().unwrap_or(parent)).then_some((parent, own))
}

fn is_go(name: &str) -> bool {
    name.starts_with("Test") && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The texts between quotes in a line, with their places.
fn texts(line: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = line[at..].find(['"', '`']).map(|n| at + n) {
        let quote = if line[begin..].starts_with('"') { '"' } else { '`' };
        let Some(len) = line[begin + 1..].find(quote) else { break };
        found.push((begin + 1, &line[begin + 1..begin + 1 + len]));
        at = begin + len + 2;
    }
    found
}

/// Whether Go calls a subtest so that has this text.
fn is_named(text: &str, name: &str) -> bool {
    text.chars().map(|c| if c.is_whitespace() { '_' } else { c }).eq(name.chars())
}

/// Every row or body that has the text of a subtest, with a mark in the place of the text.
fn rows(text: &str, name: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        for (begin, text) in texts(line).into_iter().filter(|(_, text)| is_named(text, name)) {
            let marked = format!("{}\0{}", &line[..begin], &line[begin + text.len()..]);
            found.extend(row(&lines, at, &marked));
        }
    }
    found
}

/// The row that a line is, or is in: one line between braces, an entry of a map, a call with a body, or the lines of a
/// literal around it. A text on its own is no row.
fn row(lines: &[&str], at: usize, marked: &str) -> Option<Vec<String>> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let plain = marked.trim();
    let closed = plain.ends_with("},") || plain.ends_with('}');
    let has_fields = plain.starts_with('{') || plain.starts_with("\"\0\":") || plain.starts_with("`\0`:");
    if closed && has_fields {
        return Some(vec![plain.to_owned()]);
    }
    // A call or an entry that opens a block begins it; a field stands in the block around it.
    let begin = match plain.ends_with('{') {
        true => at,
        false => lines[..at]
            .iter()
            .rposition(|line| !line.trim().is_empty() && depth(line) < depth(lines[at]))
            .filter(|begin| lines[*begin].trim_end().ends_with('{'))?,
    };
    let inside = lines[begin + 1..]
        .iter()
        .take_while(|line| line.trim().is_empty() || depth(line) > depth(lines[begin]));
    let end = begin + inside.count();
    let line = |n: usize| if n == at { plain.to_owned() } else { lines[n].trim().to_owned() };
    let block: Vec<String> = (begin..=end).map(line).filter(|line| !line.is_empty()).collect();
    (block.len() > 2 || begin == at && block.len() > 1).then_some(block)
}

/// What the calls of `t.Run` with this text do.
fn run_bodies(text: &str, name: &str) -> Vec<Vec<String>> {
    let is_run = |row: &Vec<String>| row[0].starts_with("t.Run(\"\0\", func(t *testing.T) {");
    rows(text, name).into_iter().filter(is_run).map(|row| row[1..].to_vec()).collect()
}

/// What the test functions of this name do.
fn func_bodies(text: &str, name: &str) -> Vec<Vec<String>> {
    let head = format!("func {name}(t *testing.T) {{");
    let is_it = |body: &Vec<String>| body[0] == head && body.len() > 2;
    // The last line is the brace of the function; that of a subtest closes the call as well.
    bodies(text, name).into_iter().filter(is_it).map(|body| body[1..body.len() - 1].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(gone: &str, new: &str, before: &str, now: &str) -> bool {
        let (before, now) = (before.to_owned(), now.to_owned());
        is_same(gone, new, &[ChangedText { path: "calc_test.go".to_owned(), before, now }])
    }

    #[test]
    fn a_row_with_another_name_is_the_same_subtest() {
        let lines = "\tfor _, c := range []struct {\n\t}{\n\t\t{\"zero\", 0, 0, 0},\n\t\t{\"small sum\", 1, 2, 3},\n\t} {\n";
        let check = |now: &str, expect: bool| {
            assert_eq!(same("TestAdd/zero", "TestAdd/all_zero", lines, now), expect, "{now}");
        };
        let renamed = lines.replace("\"zero\"", "\"all zero\"");
        check(&renamed, true);
        check(&renamed.replace("0, 0, 0", "0, 0, 1"), false);
        check(&lines.replace("\t\t{\"zero\", 0, 0, 0},\n", "\t\t// {\"all zero\", 0, 0, 0},\n"), false);
        check(lines, false);
        assert!(!same("TestAdd/zero", "TestSub/all_zero", lines, &renamed), "another table");
        let map = "\t\t\"zero\": {0, 0, 0},\n";
        assert!(same("TestAdd/zero", "TestAdd/nil", map, &map.replace("zero", "nil")));
    }

    #[test]
    fn a_row_of_several_lines_counts_as_a_whole() {
        let lines = "\t\t{\n\t\t\tname: \"zero\",\n\t\t\ta: 0,\n\t\t\twant: 0,\n\t\t},\n";
        let renamed = lines.replace("\"zero\"", "\"nothing\"");
        assert!(same("TestAdd/zero", "TestAdd/nothing", lines, &renamed));
        let weaker = renamed.replace("want: 0", "want: 1");
        assert!(!same("TestAdd/zero", "TestAdd/nothing", lines, &weaker));
    }

    #[test]
    fn a_test_that_became_a_subtest_is_there_with_its_lines() {
        let func = "func TestAddZero(t *testing.T) {\n\tif Add(0, 0) != 0 {\n\t\tt.Error(\"no\")\n\t}\n}\n";
        let run = "func TestAdd(t *testing.T) {\n\tt.Run(\"zero\", func(t *testing.T) {\n\t\tif Add(0, 0) != 0 {\n\t\t\tt.Error(\"no\")\n\t\t}\n\t})\n}\n";
        assert!(same("TestAddZero", "TestAdd/zero", func, run));
        assert!(same("TestAdd/zero", "TestAddZero", run, func));
        let gutted = run.replace("t.Error(\"no\")", "t.Log(\"no\")");
        assert!(!same("TestAddZero", "TestAdd/zero", func, &gutted));
        // Lines that mention the name are no test.
        assert!(!same("TestAddZero", "TestAdd/zero", func, "\t\t{\"zero\", 0, 0, 0},\n"));
    }
}
