//! `tribunal delta`: the tracker as a tool of its own, for two reports of any linter or reviewer. It reads two files
//! and, if asked, a repository, and writes nothing but its answer.
//!
//! Reports may be very large, so this file is written for speed: files and git are read side by side, and what was read
//! is not freed at the end.

use crate::args::{Delta, Globals};
use crate::exit::Done;
use crate::failure::Failure;
use crate::given::Given;
use crate::out;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use tribunal_findings::track::pair::Scorer;
use tribunal_findings::track::{Change, Comparison, Side, compare_reports};
use tribunal_findings::{Report, read_report};
use tribunal_git::{Archive, GitError, GitPath, Oid};
use tribunal_view::delta::{DeltaView, table};
use tribunal_view::sarif;

/// A larger report is refused.
const BYTES_MAX: u64 = 1 << 30;
/// How many unusable parts of a report are named one by one.
const NOTES_MAX: usize = 3;

/// The most changed files for which both versions are read ahead. A larger change is read file by file, on demand.
const AHEAD_MAX: usize = 256;
/// The most bytes that are read ahead, so that a few huge files do not fill the memory.
const AHEAD_BYTES_MAX: usize = 32 << 20;

/// The repository with the two revisions that the reports were made on.
struct Place {
    archive: Archive,
    from: Oid,
    to: Oid,
    change: Change,
    ahead: Ahead,
}

/// Files of the earlier and of the later revision that were read before they were needed.
type Ahead = [BTreeMap<String, String>; 2];

/// Compares two reports and prints what is new, gone and unchanged.
pub fn run(globals: &Globals, args: &Delta) -> Result<Done, Failure> {
    let asked = asked(args)?;
    let (before, after, place) = std::thread::scope(|scope| {
        // Git takes about as long as reading both files; side by side, all three cost as much as the slowest.
        let place = scope.spawn(|| asked.map(|(dir, from, to)| open(&dir, from, to)).transpose());
        let before = scope.spawn(|| load(&args.before));
        let after = load(&args.after);
        let before = before.join().unwrap_or_else(|_| Err(Failure::bug("reading a report panicked")));
        let place = place.join().unwrap_or_else(|_| Err(Failure::bug("reading the repository panicked")));
        (before, after, place)
    });
    // The reports are large and the program ends after the answer, so freeing them piece by piece would be wasted time.
    let read = ManuallyDrop::new((before?, after?));
    let ((before, _), (after, after_bytes)) = &*read;
    let place = place?;
    if !globals.quiet {
        notes(&args.before, before);
        notes(&args.after, after);
    }
    let found = compared(before, after, place);
    if args.sarif {
        let text = sarif::with_baseline(after_bytes, before, after, &found)
            .map_err(|error| Failure::usage(format!("cannot use {}: {error}", args.after.display())))?;
        out::data(&text)?;
    } else if globals.json {
        out::json_line(&DeltaView::of(&found))?;
    } else {
        out::data(&table(before, after, &found, out::stdout_style(globals)))?;
    }
    Ok(Done::Passed)
}

/// The repository and the revisions, if any are named.
fn asked(args: &Delta) -> Result<Option<(PathBuf, &str, &str)>, Failure> {
    match (&args.repo, args.from.as_deref(), args.to.as_deref()) {
        (None, None, None) => Ok(None),
        (repo, Some(from), Some(to)) => {
            Ok(Some((repo.clone().unwrap_or_else(|| PathBuf::from(".")), from, to)))
        }
        _ => Err(Failure::usage("--repo needs both --from and --to, and these need each other")
            .hint("--from is the commit BEFORE was made on, --to the one AFTER was made on")),
    }
}

fn open(dir: &Path, from: &str, to: &str) -> Result<Place, Failure> {
    let bad = |error: GitError| {
        let text = error.to_string();
        // Some of git's messages name the folder already.
        let named = text.contains(&dir.display().to_string());
        Failure::usage(if named { text } else { format!("{}: {text}", dir.display()) })
    };
    let archive = Archive::open(dir).map_err(bad)?;
    let (from, to) = (archive.commit(from).map_err(bad)?, archive.commit(to).map_err(bad)?);
    let diff = archive.diff_lines(&from, &to).map_err(bad)?;
    let diff = String::from_utf8_lossy(&diff);
    let change = Change::from_unified(&diff);
    let ahead = read_ahead(&archive, &diff, &change);
    Ok(Place { archive, from, to, change, ahead })
}

/// Reads the changed files of both revisions with one request, while the reports are read. A file that is missing here
/// is read when it is needed.
fn read_ahead(archive: &Archive, diff: &str, change: &Change) -> Ahead {
    let mut ahead = Ahead::default();
    if change.files().len() > AHEAD_MAX {
        return ahead;
    }
    let mut wanted: Vec<(usize, &str)> = Vec::new();
    let mut oids: Vec<Oid> = Vec::new();
    // Both are in the order of the patch, one entry for each file.
    for (file, ids) in change.files().iter().zip(ids(diff)) {
        let Some((old, new)) = ids.and_then(|ids| ids.split_once("..")) else { continue };
        for (side, path, id) in [(0, &file.old, old), (1, &file.new, new)] {
            if let (Some(path), Ok(oid)) = (path, Oid::parse(id)) {
                wanted.push((side, path));
                oids.push(oid);
            }
        }
    }
    // Only a saving of time: on an error every file is read on demand, and that error is the one to show.
    let found = archive.blobs(&oids, AHEAD_BYTES_MAX).unwrap_or_default();
    for ((side, path), bytes) in wanted.into_iter().zip(found) {
        ahead[side].extend(bytes.map(|bytes| (path.to_owned(), text_of(bytes))));
    }
    ahead
}

/// The blob ids of each file of a patch, as `old..new`.
///
/// Lines of a file's content begin with a mark (`+`, `-`, a space), so a line that begins with `diff` or `index` is
/// git's own.
fn ids(diff: &str) -> Vec<Option<&str>> {
    let mut ids = Vec::new();
    for line in diff.lines() {
        if line.starts_with("diff --git ") {
            ids.push(None);
        } else if let (Some(words), Some(last)) = (line.strip_prefix("index "), ids.last_mut()) {
            // A mode may follow the ids.
            *last = words.split(' ').next();
        }
    }
    ids
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn load(path: &Path) -> Result<(Report, Vec<u8>), Failure> {
    const HINT: &str =
        "it must be SARIF 2.1.0, a JSON list of findings, or what `tribunal intake --json` prints";
    let bytes = Given { path, flag: None, hint: HINT }.read(BYTES_MAX)?;
    let report = read_report(&bytes)
        .map_err(|why| Failure::usage(format!("cannot use {}: {why}", path.display())).hint(HINT))?;
    Ok((report, bytes))
}

/// Prints which parts of a report are not compared, or only in part.
fn notes(path: &Path, report: &Report) {
    let name = path.display();
    if report.other_runs > 0 {
        out::say(&format!("note: {name}: only the first of {} runs is compared", report.other_runs + 1));
    }
    for unread in report.unread.iter().take(NOTES_MAX) {
        let text = tribunal_view::plain::clipped(&unread.text, 80);
        out::say(&format!("note: {name}: {text}: {}", unread.why));
    }
    if report.unread.len() > NOTES_MAX {
        out::say(&format!("note: {name}: and {} more like these", report.unread.len() - NOTES_MAX));
    }
}

fn compared(before: &Report, after: &Report, place: Option<Place>) -> Comparison {
    let Some(Place { archive, from, to, change, ahead }) = place else {
        return compare_reports(before, after, None, &|_, _| None, &Scorer::default());
    };
    let ahead = RefCell::new(ahead);
    let read = |side: Side, path: &str| {
        let (at, side) = if side == Side::Before { (&from, 0) } else { (&to, 1) };
        // Each file is asked for once, so it is moved out instead of copied.
        if let Some(known) = ahead.borrow_mut()[side].remove(path) {
            return Some(known);
        }
        archive.file_at(at, &GitPath::from(path)).ok().flatten().map(text_of)
    };
    compare_reports(before, after, Some(&change), &read, &Scorer::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_headers_alone() {
        let diff = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-index 3..4\n+diff --git x\ndiff --git a/b b/c\nsimilarity index 100%\ndiff --git a/d b/d\nnew file mode 100644\nindex 0..5\n";
        assert_eq!(ids(diff), [Some("1..2"), None, Some("0..5")]);
    }
}
