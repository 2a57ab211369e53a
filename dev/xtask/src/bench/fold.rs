//! Folding: building the run state from a journal, against reading the same rows and parsing them into the same typed
//! events without folding them. Parsing into typed events is the stricter floor: it is quicker than into a tree of
//! values, and nobody could fold without it.

use super::instant::{self, Instant};
use super::table::Table;
use super::{Bench, Result, machine, median};
use std::path::Path;
use std::time::Duration;
use tribunal_engine::{Engine, Fact, Note, Options, RunState, RunStateError};
use tribunal_journal::{Head, Journal, Reader, Synchronous};

/// Tasks of each plan.
pub(super) const TASKS: u32 = 20;

/// Measures `fold_x`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let (sizes, times) = if bench.quick { (&[5_000][..], 1) } else { (&[100_000, 1_000_000][..], 5) };
    let mut last = f64::NAN;
    for size in sizes {
        let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
        let rows = write(dir.path(), *size)?;
        let reader = Reader::open(dir.path())?;
        let (mut folds, mut parses) = (Vec::new(), Vec::new());
        for _ in 0..times {
            parses.push(timed(|| parse(&reader))?);
            folds.push(timed(|| RunState::read(&reader).map(|run_state| run_state.loops.len()))?);
        }
        let (fold, parse) = (median(folds), median(parses));
        last = fold / parse;
        let per_row = 1e9 * fold / rows as f64;
        table.detail(format!(
            "fold: {rows} events in {fold:.2} s ({per_row:.0} ns each), parsed alone in {parse:.2} s: {last:.2} x"
        ));
    }
    let most = sizes.last().copied().unwrap_or(0);
    table.add("fold_x", last, 2.0, format!("{most} events, median of {times}, processor time"));
    Ok(())
}

/// Seconds of processor time.
fn timed<T>(work: impl FnOnce() -> std::result::Result<T, RunStateError>) -> Result<f64> {
    let before: Duration = machine::spent_by_thread();
    std::hint::black_box(work()?);
    Ok((machine::spent_by_thread() - before).as_secs_f64())
}

fn parse(reader: &Reader) -> std::result::Result<usize, RunStateError> {
    let mut facts = 0;
    reader.each(1, |row| {
        std::hint::black_box(Fact::decode(&row)?);
        facts += 1;
        Ok::<(), RunStateError>(())
    })?;
    Ok(facts)
}

/// Writes a journal of at least so many rows, as an engine does; returns how many.
fn write(dir: &Path, rows: usize) -> Result<u64> {
    let one = journal_of(&dir.join("one"), 1)?;
    let plans = rows.div_ceil(usize::try_from(one)?);
    journal_of(dir, plans)
}

/// Writes the journal of a run with so many plans, to its end; returns how many rows it has.
pub(super) fn journal_of(dir: &Path, plans: usize) -> Result<u64> {
    let head = Head { run_id: "bench".to_owned(), product_version: "0".to_owned(), created_at: 0 };
    let options = tribunal_journal::Options { synchronous: Synchronous::Off };
    let journal = Journal::create_with(dir, &head, options)?;
    let options = Options { width: 64, ..Options::default() };
    let about = Note::Run(Box::default());
    let mut engine =
        Engine::begin(journal, Instant::default(), options, &instant::spec(plans, TASKS), about)?;
    engine.run(&mut ())?;
    let (journal, _, run_state) = engine.into_parts();
    match run_state.run.as_ref().and_then(|run| run.ending()) {
        Some(_) => Ok(journal.last_seq()),
        None => Err("the generated run did not end".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_journal_ends_and_folds() {
        let dir = tempfile::tempdir().unwrap();
        let rows = write(dir.path(), 2_000).unwrap();
        assert!(rows >= 2_000, "{rows}");
        let reader = Reader::open(dir.path()).unwrap();
        assert_eq!(parse(&reader).unwrap() as u64, rows);
        let run_state = RunState::read(&reader).unwrap();
        assert!(run_state.run.unwrap().ending().is_some());
        assert!(run_state.last_finding > 0);
    }
}
