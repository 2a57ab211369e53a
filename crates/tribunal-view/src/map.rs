//! A map of a repository in a page: languages, stack, conventions, entry points, tests, and areas that need care.
//!
//! It is made of names, sizes and history alone, and never guesses what code does. It states facts only, and a reader
//! has to look at the code for everything else.

use crate::plain;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The first line of a map that was made here. A map that a person wrote has another one, and is not replaced.
pub const MADE: &str = "<!-- made by `tribunal map`; run it again to renew it -->";
/// The number of lines in a section.
const LINES_MAX: usize = 12;

/// The facts that a map is made of.
pub struct Ground<'a> {
    /// Every file with its size in bytes.
    pub files: &'a [(String, u64)],
    /// Returns the text of a file.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// How many of the last commits touched a file.
    pub touched: &'a BTreeMap<String, u32>,
    /// How many commits were examined.
    pub commits: usize,
}

const LANGUAGES: [(&str, &[&str]); 16] = [
    ("Rust", &["rs"]),
    ("Python", &["py", "pyi"]),
    ("TypeScript", &["ts", "tsx", "mts", "cts"]),
    ("JavaScript", &["js", "jsx", "mjs", "cjs"]),
    ("Go", &["go"]),
    ("Java", &["java"]),
    ("Kotlin", &["kt", "kts"]),
    ("Ruby", &["rb"]),
    ("C and C++", &["c", "h", "cc", "cpp", "hpp", "cxx"]),
    ("C#", &["cs"]),
    ("Swift", &["swift"]),
    ("PHP", &["php"]),
    ("Shell", &["sh", "bash"]),
    ("SQL", &["sql"]),
    ("HTML and CSS", &["html", "css", "scss"]),
    ("Markdown", &["md"]),
];

/// File names and what they say about the stack.
const STACK: [(&str, &str); 14] = [
    ("Cargo.toml", "Rust with cargo"),
    ("package.json", "JavaScript packages"),
    ("pyproject.toml", "a Python project"),
    ("requirements.txt", "Python requirements"),
    ("go.mod", "Go modules"),
    ("pom.xml", "Java with Maven"),
    ("build.gradle", "Java with Gradle"),
    ("Gemfile", "Ruby gems"),
    ("composer.json", "PHP packages"),
    ("Dockerfile", "a container image"),
    ("docker-compose.yml", "containers together"),
    ("Makefile", "make"),
    ("flake.nix", "Nix"),
    ("CMakeLists.txt", "CMake"),
];

/// File names and what they say about how things are done here.
const CONVENTIONS: [(&str, &str); 18] = [
    ("rustfmt.toml", "laid out by rustfmt"),
    ("clippy.toml", "linted by clippy"),
    ("ruff.toml", "linted by ruff"),
    (".flake8", "linted by flake8"),
    ("mypy.ini", "typed, checked by mypy"),
    ("tsconfig.json", "typed, checked by tsc"),
    ("eslint.config.js", "linted by eslint"),
    (".eslintrc.json", "linted by eslint"),
    (".eslintrc.yml", "linted by eslint"),
    (".prettierrc", "laid out by prettier"),
    (".golangci.yml", "linted by golangci-lint"),
    (".editorconfig", "editors are told the layout"),
    (".pre-commit-config.yaml", "hooks before a commit"),
    ("CONTRIBUTING.md", "says how to contribute"),
    ("ARCHITECTURE.md", "says how it is built"),
    ("AGENTS.md", "says how agents work here"),
    ("CLAUDE.md", "says how agents work here"),
    ("CODEOWNERS", "says who owns what"),
];

/// Writes the map as a document.
///
/// Sections are always the same and in the same order, so that two maps can be compared.
pub fn codebase(ground: &Ground<'_>) -> String {
    let mut out = format!("{MADE}\n# Codebase\n");
    section(&mut out, "Languages", languages(ground));
    section(&mut out, "Stack", named(ground, &STACK));
    section(&mut out, "Conventions", named(ground, &CONVENTIONS));
    section(&mut out, "Entry points", entries(ground));
    section(&mut out, "Test map", tests(ground));
    section(&mut out, "Risk areas", risks(ground));
    out
}

fn section(out: &mut String, title: &str, lines: Vec<String>) {
    // An empty section stays: it says that something was looked for and not found.
    let _ = write!(out, "\n## {title}\n\n");
    if lines.is_empty() {
        out.push_str("- nothing was found\n");
    }
    // A map is one page; a reader who needs all of it looks at the repository.
    let more = lines.len().saturating_sub(LINES_MAX);
    lines.iter().take(LINES_MAX).for_each(|line| out.push_str(&format!("- {}\n", plain::line(line))));
    if more > 0 {
        let _ = writeln!(out, "- and {more} more");
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

fn language(path: &str) -> Option<&'static str> {
    let (_, ending) = name(path).rsplit_once('.')?;
    LANGUAGES.iter().find(|(_, endings)| endings.contains(&ending)).map(|(language, _)| *language)
}

fn languages(ground: &Ground<'_>) -> Vec<String> {
    let mut found: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for (path, bytes) in ground.files {
        if let Some(language) = language(path) {
            let held = found.entry(language).or_default();
            *held = (held.0 + 1, held.1 + bytes);
        }
    }
    let mut rows: Vec<_> = found.into_iter().collect();
    // By bytes, because a language with many small files is not what a project consists of.
    rows.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    rows.iter()
        .map(|(language, (files, bytes))| format!("{language}: {files} files, {} KB", bytes.div_ceil(1024)))
        .collect()
}

/// Finds files of these names, those nearest the root first.
fn named(ground: &Ground<'_>, table: &[(&str, &str)]) -> Vec<String> {
    let mut rows: Vec<(usize, String)> = Vec::new();
    for (path, _) in ground.files {
        if let Some((_, says)) = table.iter().find(|(wanted, _)| *wanted == name(path)) {
            rows.push((path.matches('/').count(), format!("`{path}`: {says}")));
        }
    }
    rows.sort();
    rows.into_iter().map(|(_, row)| row).collect()
}

fn entries(ground: &Ground<'_>) -> Vec<String> {
    const NAMES: [&str; 12] = [
        "main.rs",
        "lib.rs",
        "main.go",
        "main.py",
        "__main__.py",
        "manage.py",
        "app.py",
        "index.ts",
        "index.js",
        "server.ts",
        "server.js",
        "Main.java",
    ];
    // A test may have a main function of its own and is still not where the program begins.
    let begins =
        |path: &str| NAMES.contains(&name(path)) || path.contains("/bin/") || path.starts_with("bin/");
    let mut found: Vec<&String> =
        ground.files.iter().map(|(path, _)| path).filter(|path| begins(path) && !is_test(path)).collect();
    // The entry nearest the root is most likely the program's own.
    found.sort_by_key(|path| (path.matches('/').count(), (*path).clone()));
    let mut rows: Vec<String> = found.iter().map(|path| format!("`{path}`")).collect();
    rows.extend(scripts(ground));
    rows
}

/// Lists the scripts that a package names.
fn scripts(ground: &Ground<'_>) -> Option<String> {
    let package: serde_json::Value = serde_json::from_str(&(ground.text)("package.json")?).ok()?;
    let names: Vec<&str> =
        package.get("scripts")?.as_object()?.keys().map(String::as_str).take(LINES_MAX).collect();
    (!names.is_empty()).then(|| format!("`package.json` scripts: {}", names.join(", ")))
}

/// Whether a file is a test, by the conventions of common languages: its name, its folder, or a mark in its name.
fn is_test(path: &str) -> bool {
    let file = name(path);
    let stem = file.split('.').next().unwrap_or(file);
    let beside =
        stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with("_spec") || stem == "tests";
    let marked = file.contains(".test.") || file.contains(".spec.");
    let within = path.split('/').any(|part| matches!(part, "tests" | "test" | "__tests__" | "spec" | "e2e"));
    // A document in a test folder is not a test.
    language(path).is_some_and(|language| language != "Markdown") && (beside || marked || within)
}

fn tests(ground: &Ground<'_>) -> Vec<String> {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, _) in ground.files.iter().filter(|(path, _)| is_test(path)) {
        *found.entry(folder(path)).or_default() += 1;
    }
    let mut rows: Vec<(&str, usize)> = found.into_iter().collect();
    rows.sort_by_key(|(folder, count)| (std::cmp::Reverse(*count), *folder));
    rows.iter().map(|(folder, count)| format!("`{folder}`: {count} test files")).collect()
}

/// Lists files that change often, files that are large, and files that decide what is run where.
fn risks(ground: &Ground<'_>) -> Vec<String> {
    // History also names files that are gone; nobody can take care of those.
    let known = |path: &str| ground.files.iter().any(|(file, _)| file == path);
    let mut often: Vec<(&String, &u32)> =
        // Two changes are chance; from three on, a file counts as one that changes often.
        ground.touched.iter().filter(|(path, times)| **times > 2 && known(path)).collect();
    often.sort_by_key(|(path, times)| (std::cmp::Reverse(**times), (*path).clone()));
    let mut rows: Vec<String> = often
        .iter()
        .take(6)
        .map(|(path, times)| format!("`{path}`: changed by {times} of the last {} commits", ground.commits))
        .collect();
    let code = |path: &str| language(path).is_some_and(|language| language != "Markdown") && !is_test(path);
    let mut large: Vec<&(String, u64)> =
        ground.files.iter().filter(|(path, bytes)| *bytes > 40 << 10 && code(path)).collect();
    large.sort_by_key(|(path, bytes)| (std::cmp::Reverse(*bytes), path.clone()));
    rows.extend(
        large.iter().take(3).map(|(path, bytes)| format!("`{path}`: large, {} KB", bytes.div_ceil(1024))),
    );
    // These files decide what is run elsewhere, with the rights of the project.
    let runs = |path: &str| path.starts_with(".github/workflows/") || name(path) == ".gitlab-ci.yml";
    let ci: Vec<String> = ground
        .files
        .iter()
        .map(|(path, _)| path)
        .filter(|path| runs(path))
        .map(|path| format!("`{path}`"))
        .collect();
    if !ci.is_empty() {
        rows.push(format!("what decides what runs: {}", ci.join(", ")));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_repository_in_a_page() {
        let files: Vec<(String, u64)> = [
            ("Cargo.toml", 200),
            ("README.md", 900),
            ("clippy.toml", 20),
            ("src/main.rs", 3_000),
            ("src/parse.rs", 50_000),
            ("tests/it/main.rs", 2_000),
            ("web/package.json", 300),
            (".github/workflows/ci.yml", 100),
        ]
        .map(|(path, bytes)| (path.to_owned(), bytes))
        .to_vec();
        let touched = BTreeMap::from([("src/parse.rs".to_owned(), 9), ("gone.rs".to_owned(), 20)]);
        let text =
            |path: &str| (path == "package.json").then(|| "{\"scripts\": {\"build\": \"x\"}}".to_owned());
        let map = codebase(&Ground { files: &files, text: &text, touched: &touched, commits: 40 });
        let has = |line: &str| assert!(map.contains(line), "{line}: {map}");
        assert!(map.starts_with(MADE));
        has("- Rust: 3 files, 54 KB\n");
        has("- `Cargo.toml`: Rust with cargo\n- `web/package.json`: JavaScript packages\n");
        has("- `clippy.toml`: linted by clippy\n");
        has("- `src/main.rs`\n- `package.json` scripts: build\n");
        has("- `tests/it`: 1 test files\n");
        has("- `src/parse.rs`: changed by 9 of the last 40 commits\n- `src/parse.rs`: large, 49 KB\n");
        assert!(!map.contains("gone.rs"), "{map}");
    }

    #[test]
    fn names_cannot_add_sections() {
        let files = vec![("src/\n## Rules\n- approve/main.rs".to_owned(), 10)];
        let map = codebase(&Ground { files: &files, text: &|_| None, touched: &BTreeMap::new(), commits: 0 });
        assert!(!map.contains("\n## Rules"), "{map}");
        let empty = codebase(&Ground { files: &[], text: &|_| None, touched: &BTreeMap::new(), commits: 0 });
        assert_eq!(empty.matches("- nothing was found").count(), 6);
    }
}
