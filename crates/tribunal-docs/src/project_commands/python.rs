//! Python: pytest, unittest, Django, tox and nox.
//!
//! tox and nox make environments of their own and install packages into them, which a check without network cannot do.
//! Where they would, the command that they would call is run directly.

use super::{Candidate, Files, Toolchain};

/// How many test files are read to see what they are written for.
const READ_MAX: usize = 20;
const PYTEST: &str = "python3 -m pytest -rA -q";

/// How the project's Python tests are run.
pub(super) fn candidate(files: &Files<'_>, notes: &mut Vec<String>) -> Option<Candidate> {
    let of = Candidate::of(Toolchain::Python);
    // From the project's own word to what the files look like: whoever configured a runner meant it.
    if let Some((command, found)) = environments(files, notes) {
        return Some(of.test(command, found));
    }
    if let Some(found) = pytest_named(files) {
        return Some(of.test(PYTEST, found));
    }
    let tests: Vec<&str> =
        files.project.paths.iter().map(String::as_str).filter(|path| is_test(path)).collect();
    // Django's runner sets up its database, which pytest alone would not.
    if files.has("manage.py") && !tests.is_empty() {
        return Some(of.test("python3 manage.py test --noinput", "manage.py"));
    }
    let first = *tests.first()?;
    let texts: Vec<String> = tests.iter().take(READ_MAX).filter_map(|path| files.read(path)).collect();
    let says = |word: &str| texts.iter().any(|text| text.contains(word));
    // Plain functions without unittest are pytest's, even if nothing imports it.
    if says("import pytest") || (!says("unittest") && says("def test_")) {
        return Some(of.test(PYTEST, format!("the tests of {first}")));
    }
    says("unittest").then(|| of.test(&unittest(files, &tests), format!("the tests of {first}")))
}

/// The command for a Python project in which no test is seen yet: the first ones are mostly written for pytest.
pub(super) fn without_tests(files: &Files<'_>) -> Option<Candidate> {
    let name = files.first(&["pyproject.toml", "setup.py", "setup.cfg"])?;
    Some(Candidate::of(Toolchain::Python).test(PYTEST, name))
}

/// Whether a file of the project names pytest.
pub(super) fn names_pytest(files: &Files<'_>) -> bool {
    pytest_named(files).is_some()
}

/// Whether a file is `test_x.py` or `x_test.py`.
fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.strip_suffix(".py").unwrap_or_default();
    stem.starts_with("test_") || stem == "test" || stem == "tests" || stem.ends_with("_test")
}

/// The command of unittest. `discover` looks into packages only, so a folder of tests that is not one is named.
fn unittest(files: &Files<'_>, tests: &[&str]) -> String {
    let mut command = "python3 -m unittest discover -v".to_owned();
    let folder = tests.iter().filter_map(|path| path.split_once('/')).map(|(folder, _)| folder).next();
    let in_root = tests.iter().any(|path| !path.contains('/'));
    if let Some(folder) = folder.filter(|_| !in_root) {
        let package = format!("{folder}/__init__.py");
        if files.any(|path| path == package).is_none() {
            command.push_str(" -s ");
            command.push_str(folder);
        }
    }
    let found = |path: &&&str| path.rsplit('/').next().is_some_and(|name| name.starts_with("test"));
    // Its default pattern is `test*.py`, which would find none of these.
    if !tests.iter().any(|path| found(&path)) {
        command.push_str(" -p *_test.py");
    }
    command
}

/// The file that names pytest.
fn pytest_named(files: &Files<'_>) -> Option<String> {
    for (name, mark, found) in [
        ("pytest.ini", "", "pytest.ini"),
        (".pytest.ini", "", ".pytest.ini"),
        ("pyproject.toml", "[tool.pytest", "`tool.pytest` of pyproject.toml"),
        ("setup.cfg", "[tool:pytest]", "`tool:pytest` of setup.cfg"),
        ("tox.ini", "[pytest]", "`pytest` of tox.ini"),
    ] {
        if files.text(name).is_some_and(|text| text.contains(mark)) {
            return Some(found.to_owned());
        }
    }
    // Only pytest reads this file, wherever it lies.
    if let Some(path) = files.any(|path| path.rsplit('/').next() == Some("conftest.py")) {
        return Some(path.to_owned());
    }
    let lists = ["pyproject.toml", "setup.cfg", "setup.py", "Pipfile", "tox.ini", "noxfile.py"];
    let more =
        files.root.iter().copied().filter(|name| name.starts_with("requirements") && name.ends_with(".txt"));
    lists
        .into_iter()
        .chain(more)
        .find(|name| files.text(name).is_some_and(|text| names(&text)))
        .map(|name| format!("{name} names pytest"))
}

/// Whether a word of a text is pytest itself, or a plugin that is never used without it.
fn names(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines
        .flat_map(|line| line.split(|c| !is_part(c)))
        .any(|word| word == "pytest" || word == "pytest-cov" || word == "pytest-xdist")
}

/// The commands tox and nox where they install nothing. Otherwise a check, which has no network, would fail for that
/// alone.
fn environments(files: &Files<'_>, notes: &mut Vec<String>) -> Option<(&'static str, &'static str)> {
    if let Some(text) = files.text("tox.ini").filter(|text| text.contains("[testenv")) {
        if tox_installs_nothing(&text) {
            return Some(("tox", "tox.ini"));
        }
        notes.push(installs("tox.ini", "tox"));
    }
    if let Some(text) = files.text("noxfile.py").filter(|text| text.contains("nox.session")) {
        if !text.contains(".install(") && !text.contains("run_install(") {
            return Some(("nox", "noxfile.py"));
        }
        notes.push(installs("noxfile.py", "nox"));
    }
    None
}

fn installs(file: &str, program: &str) -> String {
    format!(
        "{file}: {program} installs packages before it runs a test, so it is not run; `checks.test` can name it"
    )
}

fn tox_installs_nothing(text: &str) -> bool {
    let mut no_package = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let bare = line.split('#').next().unwrap_or_default();
        let Some((key, value)) = bare.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.trim());
        // A list may begin on the line below its key.
        let goes_on =
            lines.peek().is_some_and(|next| next.starts_with([' ', '\t']) && !next.trim().is_empty());
        match key {
            "deps" if !value.is_empty() || goes_on => return false,
            "skip_install" | "skipsdist" | "no_package" => no_package |= value.eq_ignore_ascii_case("true"),
            _ => {}
        }
    }
    no_package
}
