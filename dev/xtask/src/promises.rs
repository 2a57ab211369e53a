//! Promises of the book: every sentence that says never or nothing stands in a table with the tests that hold it. Looks for
//! the words on their page, for the tests in their files, and for sentences of that kind without a row. Runs no test.

use std::path::Path;

type Res<T> = Result<T, String>;

/// The table.
pub const TABLE: &str = "docs/design/promises.md";

/// What a promise is known by.
const MARKS: [&str; 14] = [
    "never lost",
    "loses nothing",
    "nothing is lost",
    "none is lost",
    "100 %",
    "not green",
    "never green",
    "Nothing is approved",
    "approves nothing",
    "Nothing lands",
    "never a 0",
    "cannot be forged",
    "cannot pass anything",
    "done twice",
];

/// One row of the table.
struct Promise {
    line: usize,
    words: String,
    page: String,
    tests: Vec<String>,
}

/// What is wrong with the table, or with pages that it leaves out.
pub fn wrong(root: &Path, pages: &[&Path]) -> Res<Vec<String>> {
    let promises = rows(&read(root, Path::new(TABLE))?);
    let mut wrong = Vec::new();
    for promise in &promises {
        let tell = |what: String| format!("{TABLE}:{}: {what}", promise.line);
        let page = read(root, Path::new(&promise.page)).unwrap_or_default();
        if !plain(&page).contains(&promise.words) {
            wrong.push(tell(format!("{} does not say {:?}", promise.page, promise.words)));
        }
        if promise.tests.is_empty() {
            wrong.push(tell("no test is named".to_owned()));
        }
        let missing = promise.tests.iter().filter(|test| !is_test(root, test));
        wrong.extend(missing.map(|test| tell(format!("there is no test {test}"))));
    }
    for page in pages {
        let (name, text) = (page.display().to_string(), plain(&read(root, page)?));
        let listed: Vec<&Promise> = promises.iter().filter(|promise| promise.page == name).collect();
        for mark in MARKS {
            let known: usize = listed.iter().map(|promise| promise.words.matches(mark).count()).sum();
            let said = text.matches(mark).count();
            if said > known {
                wrong.push(format!(
                    "{name}: {mark:?} is said {said} times and stands {known} times in {TABLE}: a promise has a test"
                ));
            }
        }
    }
    Ok(wrong)
}

fn read(root: &Path, path: &Path) -> Res<String> {
    std::fs::read_to_string(root.join(path)).map_err(|error| format!("{}: {error}", path.display()))
}

/// One line, without what makes letters bold and lines of a help text go on.
fn plain(text: &str) -> String {
    text.replace("**", "").replace("\\\n", "\n").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn rows(text: &str) -> Vec<Promise> {
    let row = |(at, line): (usize, &str)| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [words, page, tests] = cells.as_slice() else { return None };
        let tests = tests.split(", ").filter(|test| !test.is_empty()).map(str::to_owned).collect();
        let promise = Promise { line: at + 1, words: plain(words), page: (*page).to_owned(), tests };
        (promise.words != "promise").then_some(promise)
    };
    text.lines().enumerate().filter_map(row).collect()
}

/// Whether `file::name` is a function of that file, or a law of its table of laws.
fn is_test(root: &Path, test: &str) -> bool {
    let Some((file, name)) = test.split_once("::") else { return false };
    let text = read(root, Path::new(file)).unwrap_or_default();
    let head = format!("fn {name}(");
    let laws = text.split_once("laws! {").and_then(|(_, rest)| rest.split_once("\n}")).map(|(laws, _)| laws);
    // An attribute may stand between the two.
    let is_one = text
        .find(&head)
        .is_some_and(|at| text[..at].rsplit("\n\n").next().is_some_and(|before| before.contains("#[test]")));
    is_one || laws.is_some_and(|laws| laws.lines().any(|line| line.trim() == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &str, page: &str, expect: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(TABLE, &format!("| promise | page | tests |\n|---|---|---|\n{table}"));
        put("page.md", page);
        put(
            "tests.rs",
            "laws! {\n    /// Why.\n    gate\n}\n\n#[test]\nfn it_holds() {}\n\nfn helper() {}\n",
        );
        let found = wrong(dir.path(), &[Path::new("page.md")]).unwrap();
        assert_eq!(found.len(), expect.len(), "{found:?}");
        found.iter().zip(expect).for_each(|(found, part)| assert!(found.contains(part), "{found}"));
    }

    #[test]
    fn a_promise_has_its_words_and_its_test() {
        let said = "It is **never\nlost.** Really.";
        check("| It is never lost. | page.md | tests.rs::it_holds, tests.rs::gate |\n", said, &[]);
        check(
            "| It is never lost. | page.md | tests.rs::gone |\n",
            said,
            &["there is no test tests.rs::gone"],
        );
        check("| It is never lost. | page.md | tests.rs::helper |\n", said, &["there is no test"]);
        check("| It is never lost. | page.md | tests.rs |\n", said, &["there is no test"]);
        check("| It was never lost. | page.md | tests.rs::gate |\n", "It is.", &["does not say"]);
        check("", said, &["\"never lost\" is said 1 times and stands 0 times"]);
    }

    #[test]
    fn every_promise_of_the_book_is_held_by_a_test() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pages = crate::docs::promising(&root).unwrap();
        let pages: Vec<&Path> = pages.iter().map(|page| page.as_path()).collect();
        assert_eq!(wrong(&root, &pages).unwrap(), [""; 0]);
    }
}
