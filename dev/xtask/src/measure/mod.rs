//! `cargo xtask measure`: numbers that say how readable the product is, per crate and whole. It reads and counts; it
//! judges nothing.
//!
//! Product is every `*.rs` file below `crates/*/src` that is not compiled for tests only, up to its inline tests.

mod count;
mod cycles;
mod source;

use crate::out;
use crate::tidy::{Tree, home};
use count::{Doc, Function, LETTERS_MAX, LINES_MAX, WORDS_MAX};
use source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to measure.
#[derive(clap::Args)]
pub struct Args {
    /// The project's root; the one this program was built from if not given
    #[arg(long)]
    root: Option<PathBuf>,
    /// Name the long functions, the shared type names and the files in cycles, too
    #[arg(long)]
    names: bool,
}

/// Everything counted in some files.
#[derive(Default)]
struct Measured {
    lines: usize,
    comment_lines: usize,
    functions: Vec<Function>,
    types: Vec<String>,
    docs: Vec<Doc>,
    /// Product lines of the files that lie directly in a folder.
    folders: BTreeMap<String, usize>,
    in_cycles: BTreeSet<String>,
}

/// Runs the chore.
pub fn run(args: &Args) -> ExitCode {
    let root = args.root.clone().unwrap_or_else(home);
    let tree = match Tree::read(&root) {
        Ok(tree) => tree,
        Err(error) => {
            out::line(format!("{} cannot be read: {error}", root.display()));
            return ExitCode::FAILURE;
        }
    };
    let files: Vec<(&str, &str)> = tree.texts().collect();
    let crates = measure(&files);
    let mut whole = Measured::default();
    crates.values().for_each(|part| whole.take(part));
    out::line(table(&crates, &whole));
    if args.names {
        out::line(names(&whole));
    }
    ExitCode::SUCCESS
}

/// What is counted, by crate.
fn measure(files: &[(&str, &str)]) -> BTreeMap<String, Measured> {
    let sources: Vec<(&str, Source)> = files
        .iter()
        .filter(|(name, _)| name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs"))
        .map(|(name, text)| (*name, Source::new(text)))
        .collect();
    let tests: BTreeSet<String> =
        sources.iter().flat_map(|(name, source)| test_files(name, source)).collect();
    let is_product = |name: &str| {
        !tests.iter().any(|test| name == format!("{test}.rs") || name.starts_with(&format!("{test}/")))
    };
    let mut crates: BTreeMap<String, Vec<(&str, &Source)>> = BTreeMap::new();
    for (name, source) in sources.iter().filter(|(name, _)| is_product(name)) {
        let of = name.split('/').nth(1).unwrap_or_default();
        crates.entry(of.to_owned()).or_default().push((name, source));
    }
    crates.into_iter().map(|(name, files)| (name, of_crate(&files))).collect()
}

/// Paths, without their ending, of the modules that a file declares for tests only.
fn test_files(name: &str, source: &Source) -> Vec<String> {
    let (dir, file) = name.rsplit_once('/').unwrap_or(("", name));
    let base = match file {
        "mod.rs" | "lib.rs" | "main.rs" => dir.to_owned(),
        file => format!("{dir}/{}", file.trim_end_matches(".rs")),
    };
    source::test_modules(&source.code).iter().map(|module| format!("{base}/{module}")).collect()
}

fn of_crate(files: &[(&str, &Source)]) -> Measured {
    let mut all = Measured::default();
    let short = |name: &str| name.split_once("/src/").map_or(String::new(), |(_, rest)| rest.to_owned());
    let named: Vec<(String, &str)> =
        files.iter().map(|(name, source)| (short(name), &*source.code)).collect();
    let named: Vec<(&str, &str)> = named.iter().map(|(name, code)| (name.as_str(), *code)).collect();
    let cycles = cycles::in_cycles(&named);
    for (name, source) in files {
        all.lines += source.lines();
        all.comment_lines += source.comment_lines;
        all.functions.extend(count::functions(source));
        all.types.extend(count::types(source));
        all.docs.extend(count::docs(source));
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        *all.folders.entry(folder.to_owned()).or_insert(0) += source.lines();
        if cycles.contains(short(name).as_str()) {
            all.in_cycles.insert((*name).to_owned());
        }
    }
    all
}

impl Measured {
    fn take(&mut self, part: &Measured) {
        self.lines += part.lines;
        self.comment_lines += part.comment_lines;
        self.functions.extend(part.functions.iter().cloned());
        self.types.extend(part.types.iter().cloned());
        self.docs.extend(part.docs.iter().copied());
        self.folders.extend(part.folders.iter().map(|(name, lines)| (name.clone(), *lines)));
        self.in_cycles.extend(part.in_cycles.iter().cloned());
    }

    fn long_functions(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.lines > LINES_MAX)
    }

    /// Names that several types have, and how many.
    fn shared_types(&self) -> BTreeMap<&str, usize> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in &self.types {
            *counts.entry(name).or_insert(0) += 1;
        }
        counts.retain(|_, count| *count > 1);
        counts
    }

    fn row(&self) -> Vec<String> {
        let short = |function: &&Function| function.name.chars().count() <= LETTERS_MAX;
        let terse = self.docs.iter().filter(|doc| doc.words <= WORDS_MAX).count();
        let second = self.docs.iter().filter(|doc| doc.has_second_paragraph).count();
        vec![
            self.lines.to_string(),
            self.long_functions().count().to_string(),
            share(self.shared_types().values().sum(), self.types.len()),
            share(self.functions.iter().filter(short).count(), self.functions.len()),
            share(terse, self.docs.len()),
            share(second, self.docs.len()),
            share(self.comment_lines, self.lines),
            self.in_cycles.len().to_string(),
            self.folders.values().max().copied().unwrap_or(0).to_string(),
        ]
    }
}

/// A share in percent, to one place.
fn share(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let tenths = (part * 1000 + whole / 2) / whole;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

const HEAD: [&str; 10] = [
    "crate",
    "lines",
    "fn > 70",
    "shared type names",
    "fn names <= 5",
    "docs <= 4 words",
    "docs with 2nd paragraph",
    "comments",
    "files in cycles",
    "largest folder",
];

fn table(crates: &BTreeMap<String, Measured>, whole: &Measured) -> String {
    let parts = crates.iter().map(|(name, part)| (name.as_str(), part.row()));
    let rows = parts.chain(std::iter::once(("whole", whole.row())));
    let mut text = format!("| {} |\n|{}\n", HEAD.join(" | "), "---|".repeat(HEAD.len()));
    for (name, row) in rows {
        text.push_str(&format!("| {name} | {} |\n", row.join(" | ")));
    }
    text
}

fn names(whole: &Measured) -> String {
    let mut long: Vec<&Function> = whole.long_functions().collect();
    long.sort_by_key(|function| std::cmp::Reverse(function.lines));
    let long: Vec<String> =
        long.iter().map(|function| format!("{} {}", function.name, function.lines)).collect();
    let mut shared: Vec<(&str, usize)> = whole.shared_types().into_iter().collect();
    shared.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let shared: Vec<String> = shared.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let cycles: Vec<&str> = whole.in_cycles.iter().map(String::as_str).collect();
    format!(
        "long functions: {}\nshared type names: {}\nin cycles: {}",
        long.join(", "),
        shared.join(", "),
        cycles.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_measured_without_its_tests() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "//! What all of it is for.\n\n#[cfg(test)]\nmod proofs;\nmod x;\nuse crate::x::Y;\n",
            ),
            ("crates/a/src/proofs.rs", "fn not_product() {}\n"),
            ("crates/a/src/x.rs", "/// Y.\npub struct Y;\n// Why.\nuse crate::Z;\nfn of() {}\n"),
            ("crates/b/src/lib.rs", "pub struct Y;\npub trait Q { fn longer_name(&self); }\n"),
            ("dev/c/src/lib.rs", "fn not_product() {}\n"),
        ];
        let crates = measure(&files);
        assert_eq!(crates.keys().collect::<Vec<_>>(), ["a", "b"]);
        let row = |name: &str| crates[name].row();
        assert_eq!(row("a"), ["11", "0", "0.0 %", "100.0 %", "50.0 %", "0.0 %", "9.1 %", "2", "11"]);
        let mut whole = Measured::default();
        crates.values().for_each(|part| whole.take(part));
        // Two of three types are called Y.
        assert_eq!(whole.row()[2], "66.7 %");
        assert_eq!(whole.row()[3], "50.0 %");
        assert!(
            table(&crates, &whole)
                .ends_with("| 13 | 0 | 66.7 % | 50.0 % | 50.0 % | 0.0 % | 7.7 % | 2 | 11 |\n")
        );
    }

    #[test]
    fn a_share_is_rounded() {
        assert_eq!(share(1, 3), "33.3 %");
        assert_eq!(share(2, 3), "66.7 %");
        assert_eq!(share(0, 0), "-");
    }
}
