//! Files as a whole: how they open, how large they are, how many lie in the root, and where links lead.

use super::Wrong;
use super::tree::Tree;
use std::path::{Component, Path, PathBuf};

const ROOT_MAX: usize = 20;
const SIZE_MAX: u64 = 1 << 20;

/// Looks at every file.
pub fn check(tree: &Tree) -> Vec<Wrong> {
    let mut wrong = root(tree);
    for (name, file) in &tree.files {
        if file.size > SIZE_MAX {
            let hint = "make it smaller, make it when it is needed, or fetch it";
            wrong.push(Wrong::new(name, 0, "it is larger than 1 MiB", hint));
        }
    }
    for (name, text) in tree.texts() {
        if name.ends_with(".rs") && !text.starts_with("//!") {
            let hint = "say in the first lines what it is for and what it must never do";
            wrong.push(Wrong::new(name, 1, "it does not open with `//!`", hint));
        }
        if name.ends_with(".md") {
            wrong.extend(links(tree, name, text));
        }
    }
    wrong
}

fn root(tree: &Tree) -> Vec<Wrong> {
    let count = tree.root_entries().len();
    if count < ROOT_MAX {
        return Vec::new();
    }
    let what = format!("the root has {count} entries");
    vec![Wrong::new(".", 0, what, format!("keep it under {ROOT_MAX}: move what nobody reads first"))]
}

/// Links of a document that lead to files.
fn links(tree: &Tree, name: &str, text: &str) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for target in targets(line) {
            if !leads_somewhere(tree, name, target) {
                let what = format!("a link to nothing: {target}");
                wrong.push(Wrong::new(name, at + 1, what, "fix the link or write the file"));
            }
        }
    }
    wrong
}

/// What stands in the round brackets of `[text](target)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

fn leads_somewhere(tree: &Tree, from: &str, target: &str) -> bool {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return true;
    }
    let dir = Path::new(from).parent().unwrap_or(Path::new(""));
    let Some(found) = plain(&dir.join(path)) else { return false };
    let name = found.to_string_lossy().into_owned();
    let folder = format!("{name}/");
    tree.files.contains_key(&name) || tree.files.keys().any(|file| file.starts_with(&folder))
}

/// The path without `.` and `..`; none where it leaves the project.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}
