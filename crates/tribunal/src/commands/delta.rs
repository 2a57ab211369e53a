//! `tribunal delta`: the tracker as a tool of its own, for two reports of anybody's linters or reviewers. Reads two
//! files and, if asked, a repository; writes nothing but its answer.

use crate::args::{Delta, Globals};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use std::path::{Path, PathBuf};
use tribunal_findings::track::pair::Scorer;
use tribunal_findings::track::{Change, Comparison, Side, compare_reports};
use tribunal_findings::{Report, read_report};
use tribunal_git::{Archive, GitPath, Oid};
use tribunal_view::delta::{DeltaView, table};
use tribunal_view::sarif;

/// Larger files are refused.
const BYTES_MAX: u64 = 1 << 30;
/// Notes on unusable parts that are said one by one.
const NOTES_MAX: usize = 3;

/// The repository and its two revisions.
struct Place {
    archive: Archive,
    from: Oid,
    to: Oid,
    change: Change,
}

/// Compares two reports.
pub fn run(globals: &Globals, args: &Delta) -> Result<Done, Failure> {
    let asked = asked(args)?;
    let (before, after, place) = std::thread::scope(|scope| {
        // Git needs about as long as reading both files: side by side they cost one of the two.
        let place = scope.spawn(|| asked.map(|(dir, from, to)| open(&dir, from, to)).transpose());
        let before = load(&args.before);
        let after = load(&args.after);
        let place = place.join().unwrap_or_else(|_| Err(Failure::bug("reading the repository panicked")));
        (before, after, place)
    });
    let ((before, _), (after, after_bytes), place) = (before?, after?, place?);
    if !globals.quiet {
        notes(&args.before, &before);
        notes(&args.after, &after);
    }
    let found = compared(&before, &after, place.as_ref());
    if args.sarif {
        let text = sarif::with_baseline(&after_bytes, &before, &after, &found)
            .map_err(|error| Failure::usage(format!("cannot use {}: {error}", args.after.display())))?;
        out::data(&text)?;
    } else if globals.json {
        out::json(&DeltaView::of(&found))?;
    } else {
        out::data(&table(&before, &after, &found, out::stdout_style(globals)))?;
    }
    Ok(Done::Passed)
}

/// Which repository and revisions are meant, if any.
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
    let bad = |error: tribunal_git::GitError| {
        let text = error.to_string();
        let named = text.contains(&dir.display().to_string());
        Failure::usage(if named { text } else { format!("{}: {text}", dir.display()) })
    };
    let archive = Archive::open(dir).map_err(bad)?;
    let (from, to) = (archive.commit(from).map_err(bad)?, archive.commit(to).map_err(bad)?);
    let diff = archive.diff_lines(&from, &to).map_err(bad)?;
    let change = Change::from_unified(&String::from_utf8_lossy(&diff));
    Ok(Place { archive, from, to, change })
}

fn load(path: &Path) -> Result<(Report, Vec<u8>), Failure> {
    let name = path.display();
    let bad = |error: std::io::Error| Failure::usage(format!("cannot read {name}: {error}"));
    let size = std::fs::metadata(path).map_err(bad)?.len();
    if size > BYTES_MAX {
        return Err(Failure::usage(format!("{name} has {size} bytes; {BYTES_MAX} is the most")));
    }
    let bytes = std::fs::read(path).map_err(bad)?;
    let report = read_report(&bytes).map_err(|why| {
        Failure::usage(format!("cannot use {name}: {why}"))
            .hint("it must be SARIF 2.1.0, a JSON list of findings, or what `tribunal intake --json` prints")
    })?;
    Ok((report, bytes))
}

/// Says what of a report is not compared, or only in part.
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

fn compared(before: &Report, after: &Report, place: Option<&Place>) -> Comparison {
    let read = |side: Side, path: &str| {
        let place = place?;
        let at = if side == Side::Before { &place.from } else { &place.to };
        let bytes = place.archive.file_at(at, &GitPath::from(path)).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    compare_reports(before, after, place.map(|place| &place.change), &read, &Scorer::default())
}
