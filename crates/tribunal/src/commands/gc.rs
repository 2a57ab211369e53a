//! `tribunal gc`: removes runs that ended long enough ago, and caches nobody needs.
//!
//! The engine decides what may go; this file passes the wishes on and prints the outcome. A run that can go on is
//! always kept; one whose result is on no branch is kept unless the person forces it.

use crate::args::{Gc, Globals};
use crate::config;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use tribunal_view::words;

/// Removes old runs, or lists them with `--dry-run`.
pub fn run(globals: &Globals, args: &Gc) -> Result<Done, Failure> {
    let place = Place::to_work_on()?;
    let settings = config::here(Some(&place), &args.set)?.settings;
    let days = args.older_than.unwrap_or(settings.run.keep_days);
    let asked = tribunal_world::GcAsk { older_than_days: days, dry: args.dry_run, force: args.force };
    let report = tribunal_world::gc(&place.project()?, &settings, asked)?;
    if globals.json {
        let kept: Vec<_> =
            report.kept.iter().map(|(run, why)| serde_json::json!({"run": run, "why": why})).collect();
        let json = serde_json::json!({
            "dry_run": args.dry_run, "removed": report.runs, "caches": report.caches, "kept": kept,
            "bytes": report.bytes,
        });
        out::json(&json)?;
        return Ok(Done::Passed);
    }
    let mut text = String::new();
    let verb = if args.dry_run { "would remove" } else { "removed" };
    report.runs.iter().for_each(|run| text.push_str(&format!("{verb} {run}\n")));
    report.caches.iter().for_each(|cache| text.push_str(&format!("{verb} the cache {cache}\n")));
    if !globals.quiet {
        report.kept.iter().for_each(|(run, why)| text.push_str(&format!("kept {run}: {why}\n")));
    }
    let runs = words::count(report.runs.len(), "run");
    text.push_str(&format!("{verb} {runs}, {} bytes\n", words::amount(report.bytes)));
    out::data(&text)?;
    Ok(Done::Passed)
}
