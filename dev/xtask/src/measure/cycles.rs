//! Which files of a crate depend on each other in a circle. Paths that begin with `crate::` or `super::` count; that a
//! module declares or re-exports its children does not.

use std::collections::{BTreeMap, BTreeSet};

/// The files of one crate that are part of a circle. Files are named from its `src` folder, with their code.
pub fn in_cycles<'a>(files: &[(&'a str, &str)]) -> BTreeSet<&'a str> {
    let modules: BTreeMap<Vec<&str>, &str> = files.iter().map(|(name, _)| (module(name), *name)).collect();
    let edges: BTreeMap<&str, BTreeSet<&str>> = files
        .iter()
        .map(|(name, code)| {
            let here = module(name);
            let targets = paths(code, &here).into_iter().filter_map(|path| resolve(&modules, &path));
            (*name, targets.filter(|target| target != name).collect())
        })
        .collect();
    files.iter().map(|(name, _)| *name).filter(|name| reaches(&edges, name, name)).collect()
}

/// The module that a file is: `run/lane.rs` is `run::lane`, `lib.rs` the root.
fn module(name: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = name.trim_end_matches(".rs").split('/').collect();
    let is_root = parts.len() == 1 && matches!(parts[0], "lib" | "main");
    if is_root || parts.last() == Some(&"mod") {
        parts.pop();
    }
    parts
}

/// The file of the nearest module that a path leads through.
fn resolve<'a>(modules: &BTreeMap<Vec<&str>, &'a str>, path: &[&str]) -> Option<&'a str> {
    (0..=path.len()).rev().find_map(|end| modules.get(&path[..end]).copied())
}

fn reaches<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut left = vec![from];
    while let Some(at) = left.pop() {
        for next in edges.get(at).into_iter().flatten() {
            if *next == to {
                return true;
            }
            if seen.insert(*next) {
                left.push(*next);
            }
        }
    }
    false
}

/// Every path from the crate or from a module above, spelled from the crate's root.
fn paths<'a>(code: &'a str, here: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut paths = Vec::new();
    let starts = code.match_indices("crate::").chain(code.match_indices("super::"));
    for (at, start) in starts {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '$';
        if code[..at].chars().next_back().is_some_and(word) {
            continue;
        }
        let base = match start {
            "crate::" => Vec::new(),
            _ => here[..here.len().saturating_sub(1)].to_vec(),
        };
        expand(&code[at + start.len()..], base, &mut paths);
    }
    paths
}

/// Reads one path, with what stands in its braces; returns what is left of the code.
fn expand<'a>(code: &'a str, mut path: Vec<&'a str>, paths: &mut Vec<Vec<&'a str>>) -> &'a str {
    let code = code.trim_start();
    if let Some(mut rest) = code.strip_prefix('{') {
        loop {
            rest = expand(rest, path.clone(), paths).trim_start();
            match rest.strip_prefix(',') {
                Some(more) if !more.trim_start().starts_with('}') => rest = more,
                more => return more.unwrap_or(rest).trim_start().strip_prefix('}').unwrap_or(""),
            }
        }
    }
    let end = code.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(code.len());
    match &code[..end] {
        "super" => drop(path.pop()),
        name => path.push(name),
    }
    match code[end..].strip_prefix("::") {
        Some(rest) => expand(rest, path, paths),
        None => {
            paths.push(path);
            // `a as b` ends with the next comma or brace.
            let rest = &code[end..];
            &rest[rest.find([',', '}', ';']).unwrap_or(rest.len())..]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&'static str, &str)], expect: &[&str]) {
        assert_eq!(in_cycles(files).into_iter().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_circle_is_found_through_groups_and_parents() {
        check(
            &[("a.rs", "use crate::{b::{X, Y as Z}, c};"), ("b.rs", "use crate::c::T;"), ("c.rs", "")],
            &[],
        );
        check(
            &[
                ("a.rs", "use crate::b::X;"),
                ("b.rs", "use super::c::T;"),
                ("c.rs", "fn f() { crate::a::g() }"),
            ],
            &["a.rs", "b.rs", "c.rs"],
        );
        check(&[("m/mod.rs", "mod x;"), ("m/x.rs", "use super::Y;")], &[]);
        check(&[("m/mod.rs", "use crate::m::x::Z;"), ("m/x.rs", "use super::Y;")], &["m/mod.rs", "m/x.rs"]);
        check(&[("m/x.rs", "use super::super::n::A;"), ("n.rs", "use crate::m::x::B;")], &["m/x.rs", "n.rs"]);
    }

    #[test]
    fn what_belongs_to_the_root_leads_to_the_root() {
        check(&[("lib.rs", "use crate::a::X;"), ("a.rs", "use crate::Y;")], &["a.rs", "lib.rs"]);
        check(&[("a.rs", "use othercrate::b::X;"), ("b.rs", "use crate::a::Y;")], &[]);
    }
}
