//! Where a judging launch looks for programs.
//!
//! An entry of `PATH` that is relative, empty, or inside the project leads to files of whatever is judged: there a
//! change could put a program with the name of the one that judges it.

use std::path::{Component, Path, PathBuf};

/// The entries of a search path that lead to none of these folders.
///
/// Programs that the user installed in the project's own package folders (`packages`) stay, unless they lie in the
/// orchestrator's own folder.
pub fn plain(entries: impl Iterator<Item = PathBuf>, roots: &[&Path], packages: &[&str]) -> Vec<PathBuf> {
    let leads_inside = |entry: &Path| {
        let below = roots.iter().find_map(|root| entry.strip_prefix(root).ok());
        below.is_some_and(|below| {
            let mut parts = below.components();
            // Checkouts of changes lie there, with package folders of their own.
            let is_ours = parts.clone().next() == Some(Component::Normal(".tribunal".as_ref()));
            is_ours || !parts.any(|part| packages.iter().any(|name| part.as_os_str() == *name))
        })
    };
    let is_plain = |entry: &PathBuf| {
        // `/usr/../project/bin` would pass the comparison with the roots.
        let climbs = entry.components().any(|part| part == Component::ParentDir);
        entry.is_absolute() && !climbs && !leads_inside(entry)
    };
    entries.filter(is_plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_entry_leads_to_what_is_judged() {
        let root = Path::new("/home/u/project");
        for (entry, stays) in [
            ("/usr/bin", true),
            ("/home/u/bin", true),
            ("/home/u/project2/bin", true),
            ("/home/u/project/node_modules/.bin", true),
            ("/home/u/project/sub/.venv/bin", true),
            ("", false),
            (".", false),
            ("bin", false),
            ("./bin", false),
            ("node_modules/.bin", false),
            ("../project/bin", false),
            ("/home/u/project", false),
            ("/home/u/project/bin", false),
            ("/home/u/other/../project/bin", false),
            ("/home/u/project/.tribunal/runs/1/reviewers/a/tree/node_modules/.bin", false),
        ] {
            let left = plain([PathBuf::from(entry)].into_iter(), &[root], &["node_modules", ".venv"]);
            assert_eq!(!left.is_empty(), stays, "{entry:?}");
        }
    }
}
