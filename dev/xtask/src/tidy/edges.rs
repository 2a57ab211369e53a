//! Dependencies point one way: which crate may see which, and what pure crates may use at all.

use super::Wrong;
use super::tree::Tree;
use std::collections::BTreeSet;

/// Crates without clock, randomness, files and processes, with the libraries each may use.
const PURE: &[(&str, &[&str])] = &[
    ("tribunal-core", &["serde"]),
    ("tribunal-findings", &["serde", "serde_json"]),
    ("tribunal-docs", &["serde", "serde-saphyr", "serde_json"]),
    ("tribunal-view", &["serde", "serde_json", "schemars", "unicode-width", "jiff"]),
];

/// Which crates of the house each crate may depend on. A name with nothing behind it sees nobody.
const MAY: &[(&str, &[&str])] = &[
    ("tribunal-core", &[]),
    ("tribunal-findings", &["tribunal-core"]),
    ("tribunal-docs", &["tribunal-core"]),
    ("tribunal-view", &["tribunal-core", "tribunal-findings", "tribunal-docs"]),
    ("tribunal-process", &["PURE"]),
    ("tribunal-agent", &["PURE", "tribunal-process"]),
    ("tribunal-git", &["PURE", "tribunal-process"]),
    ("tribunal-journal", &["PURE", "tribunal-process"]),
    ("tribunal-engine", &["PURE", "tribunal-journal"]),
    ("tribunal-world", &["PURE", "DRIVERS", "tribunal-engine"]),
    // Nobody but the command line sees it, so that no run can come to need what only scripts call.
    ("tribunal-protocol", &["PURE", "tribunal-git", "tribunal-journal", "tribunal-engine", "tribunal-world"]),
    ("tribunal-server", &["PURE", "DRIVERS", "tribunal-engine", "tribunal-world"]),
    (
        "tribunal",
        &["PURE", "DRIVERS", "tribunal-engine", "tribunal-world", "tribunal-protocol", "tribunal-server"],
    ),
    ("testkit", &["ANY"]),
    ("xtask", &["ANY", "testkit"]),
];

/// The feature that takes defences away.
const UNDEFENDED: &str = "undefended";

const DRIVERS: &[&str] = &["tribunal-process", "tribunal-agent", "tribunal-git", "tribunal-journal"];

fn may(from: &str, to: &str) -> bool {
    let allowed = MAY.iter().find(|(name, _)| *name == from).map_or(&[][..], |(_, allowed)| allowed);
    allowed.iter().any(|name| match *name {
        "PURE" => PURE.iter().any(|(pure, _)| *pure == to),
        "DRIVERS" => DRIVERS.contains(&to),
        "ANY" => to.starts_with("tribunal"),
        name => name == to,
    })
}

/// One crate's manifest.
struct Manifest<'a> {
    file: &'a str,
    text: &'a str,
    name: String,
    table: toml::Table,
}

/// Compares every manifest with the plan of the house.
pub fn check(tree: &Tree) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut manifests = Vec::new();
    for (file, text) in tree.texts().filter(|(file, _)| is_manifest(file)) {
        match toml::from_str::<toml::Table>(text) {
            Ok(table) => {
                let name = table.get("package").and_then(|p| p.get("name")).and_then(toml::Value::as_str);
                let name = name.unwrap_or_default().to_owned();
                manifests.push(Manifest { file, text, name, table });
            }
            Err(error) => wrong.push(Wrong::new(file, 0, error.message(), "fix the file")),
        }
    }
    for manifest in &manifests {
        wrong.extend(check_place(manifest));
        wrong.extend(check_edges(manifest));
        wrong.extend(check_pure(manifest));
        wrong.extend(check_bans(manifest, tree));
        wrong.extend(check_undefended(manifest));
    }
    wrong
}

fn is_manifest(file: &str) -> bool {
    let mut parts = file.split('/');
    let (top, _, last, end) = (parts.next(), parts.next(), parts.next(), parts.next());
    matches!(top, Some("crates" | "dev")) && last == Some("Cargo.toml") && end.is_none()
}

fn check_place(manifest: &Manifest<'_>) -> Option<Wrong> {
    let known = MAY.iter().any(|(name, _)| *name == manifest.name);
    (!known).then(|| {
        let what = format!("{} has no place in the house", manifest.name);
        Wrong::new(
            manifest.file,
            0,
            what,
            "add it to the plan in dev/xtask/src/tidy/edges.rs and ARCHITECTURE.md",
        )
    })
}

/// Names in the tables of dependencies; those for tests may be anything that is no cycle.
fn dependencies(manifest: &Manifest<'_>) -> BTreeSet<String> {
    let tables = ["dependencies", "build-dependencies"];
    let own = tables.iter().filter_map(|name| manifest.table.get(*name));
    let targets = manifest.table.get("target").and_then(toml::Value::as_table);
    let theirs = targets.into_iter().flat_map(|targets| targets.values());
    let theirs = theirs.flat_map(|target| tables.iter().filter_map(|name| target.get(*name)));
    let names = own.chain(theirs).filter_map(toml::Value::as_table).flat_map(toml::Table::iter);
    names.map(|(name, value)| real_name(name, value)).collect()
}

/// A dependency may go by another name.
fn real_name(name: &str, value: &toml::Value) -> String {
    value.get("package").and_then(toml::Value::as_str).unwrap_or(name).to_owned()
}

fn line_of(text: &str, name: &str) -> usize {
    text.lines().position(|line| line.starts_with(name)).map_or(0, |at| at + 1)
}

fn check_edges(manifest: &Manifest<'_>) -> Vec<Wrong> {
    let ours = |name: &String| name.starts_with("tribunal") || name == "testkit" || name == "xtask";
    let dependencies = dependencies(manifest);
    let bad = dependencies.iter().filter(|name| ours(name) && !may(&manifest.name, name));
    bad.map(|name| {
        let what = format!("{} must not depend on {name}", manifest.name);
        let hint = "dependencies point one way: hand the value over in a plain type, or move the code to where both may see it";
        Wrong::new(manifest.file, line_of(manifest.text, name), what, hint)
    })
    .collect()
}

fn check_pure(manifest: &Manifest<'_>) -> Vec<Wrong> {
    let Some((_, allowed)) = PURE.iter().find(|(name, _)| *name == manifest.name) else { return Vec::new() };
    let dependencies = dependencies(manifest);
    let foreign = dependencies.iter().filter(|name| !name.starts_with("tribunal") && *name != "testkit");
    foreign
        .filter(|name| !allowed.contains(&name.as_str()))
        .map(|name| {
            let what = format!("{} is pure and must not use {name}", manifest.name);
            let hint = "do without, or show that it has no IO, clock, randomness or threads and add it to dev/xtask/src/tidy/edges.rs";
            Wrong::new(manifest.file, line_of(manifest.text, name), what, hint)
        })
        .collect()
}

/// A crate's own clippy.toml replaces the root's, so a pure crate's repeats what is banned everywhere.
fn check_bans(manifest: &Manifest<'_>, tree: &Tree) -> Vec<Wrong> {
    let pure = PURE.iter().any(|(name, _)| *name == manifest.name);
    let (true, Some(root)) = (pure, tree.text("clippy.toml")) else { return Vec::new() };
    let file = manifest.file.replace("Cargo.toml", "clippy.toml");
    let Some(own) = tree.text(&file) else {
        let what = format!("{} is pure and has no clippy.toml", manifest.name);
        return vec![Wrong::new(manifest.file, 0, what, "copy the one of crates/tribunal-core")];
    };
    let (all, own) = (banned(root), banned(own));
    all.difference(&own)
        .map(|path| {
            let what = format!("it does not repeat the ban on {path}");
            Wrong::new(&file, 0, what, "a crate's clippy.toml replaces the root's: copy the line")
        })
        .collect()
}

/// Nothing is built without its defences unless a command line asks for it: the feature is named by features of its own
/// name alone, never by a default or by a dependency.
fn check_undefended(manifest: &Manifest<'_>) -> Vec<Wrong> {
    let names = |value: &toml::Value| value.to_string().contains(UNDEFENDED);
    let features = manifest.table.get("features").and_then(toml::Value::as_table);
    let others = features.into_iter().flatten().filter(|(name, value)| *name != UNDEFENDED && names(value));
    let tables = manifest.table.iter().filter(|(name, value)| *name != "features" && names(value));
    let wrong = others.chain(tables).map(|(name, _)| {
        let what = format!("{name} switches on `{UNDEFENDED}`, which takes defences away");
        Wrong::new(manifest.file, 0, what, "only `cargo xtask hostile --prove` does that, by command line")
    });
    wrong.collect()
}

fn banned(text: &str) -> BTreeSet<String> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let lists = ["disallowed-methods", "disallowed-types", "disallowed-macros"];
    let entries = lists.iter().filter_map(|name| table.get(*name)?.as_array()).flatten();
    entries.filter_map(|entry| entry.get("path").unwrap_or(entry).as_str().map(str::to_owned)).collect()
}
