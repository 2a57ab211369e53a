//! Names the file that a command lacked because its sandbox does not show it.
//!
//! A program that misses a file says so in its output, but not that the file exists outside. The person who reads the
//! output is told which setting shows it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tribunal_process::{Mount, Mounts};

/// Phrases of programs that miss a file.
const MISSES: [&str; 9] = [
    "no such file",
    "not found",
    "permission denied",
    "cannot find",
    "can't find",
    "could not find",
    "does not exist",
    "cannot open",
    "not installed",
];
/// How many lines of an output are searched, from its end.
const LINES_MAX: usize = 200;

/// The first place that an output names as missing, that exists for the user, and that these mounts hide.
pub(super) fn missing_place(mounts: &Mounts, output: &str) -> Option<PathBuf> {
    let misses = |line: &&str| {
        let low = line.to_ascii_lowercase();
        MISSES.iter().any(|words| low.contains(words))
    };
    let lines: Vec<&str> = output.lines().rev().take(LINES_MAX).filter(misses).collect();
    lines.into_iter().rev().flat_map(paths_in).find(|path| is_lacked(mounts, path))
}

/// Adds the hint to the output of a failed command, for whoever reads that.
pub(crate) fn add_to(stderr: &Path, mounts: &Mounts, output: &str) {
    let Some(place) = missing_place(mounts, output) else { return };
    let file = fs::File::options().append(true).open(stderr);
    // Without the hint the failure is reported all the same.
    let _ = file.and_then(|mut file| writeln!(file, "\ntribunal: {}", way_out(&place)));
}

/// How a person makes a place visible to launches.
pub(super) fn way_out(place: &Path) -> String {
    format!(
        "{} is there for you and not in the sandbox; name it, or the folder it belongs to, in `agents.readable`",
        place.display()
    )
}

/// Absolute paths in a line of text.
fn paths_in(line: &str) -> impl Iterator<Item = PathBuf> {
    let ends = |c: char| c.is_whitespace() || "\"'`,;()[]<>=".contains(c);
    // With and without a trailing mark: a path may itself end with a full stop.
    let words = line.split(ends).flat_map(|word| [word, word.trim_end_matches([':', '.', '!'])]);
    words.filter(|word| word.starts_with('/') && word.len() > 1).map(PathBuf::from)
}

/// Whether a place exists outside and not inside. A secret is treated as if it did not exist, so the hint never reveals
/// one.
fn is_lacked(mounts: &Mounts, path: &Path) -> bool {
    let secret = |path: &Path| {
        let under = |name: &str| path.ancestors().any(|above| above.ends_with(name));
        super::denied::SECRETS.iter().any(|name| under(name)) || under(crate::FOLDER)
    };
    if secret(path) || !path.exists() || path.canonicalize().is_ok_and(|real| secret(&real)) {
        return false;
    }
    let rule = path.ancestors().find_map(|above| mounts.0.iter().find(|mount| mount.place() == above));
    match rule {
        None => false,
        Some(Mount::Hide(_)) => true,
        // In a home or a folder of its own, everything that is shown has its own rule.
        Some(Mount::Show { from, to, .. }) => {
            let inside = path.strip_prefix(to).map_or_else(|_| from.clone(), |rest| from.join(rest));
            from != to && to != path && !inside.exists()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_place_that_an_output_misses_is_named_and_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["lib/tool", ".ssh/id", "shown/x"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        }
        let shown = root.join("shown");
        let mounts = Mounts(vec![
            Mount::Hide(root.clone()),
            Mount::Show { from: shown.clone(), to: shown, write: false },
        ]);
        let at = |name: &str| root.join(name).display().to_string();
        for (said, place) in [
            (format!("sh: 1: {}: not found", at("lib/tool")), Some("lib/tool")),
            (format!("open \"{}\": No such file or directory", at("lib/tool")), Some("lib/tool")),
            (format!("reading {}", at("lib/tool")), None),
            (format!("{}: Permission denied", at(".ssh/id")), None),
            (format!("{}: not found", at("shown/x")), None),
            (format!("{}: not found", at("nowhere")), None),
        ] {
            assert_eq!(missing_place(&mounts, &said), place.map(|place| root.join(place)), "{said}");
        }
    }
}
