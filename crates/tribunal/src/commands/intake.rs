//! `tribunal intake`: shows what Tribunal reads from a reviewer's answer. It changes nothing and needs no project.
//!
//! It calls the reader that a run uses. Use it to see why an answer had no verdict, or why a sentence was not read.

use crate::args::{Globals, Intake};
use crate::exit::Done;
use crate::failure::Failure;
use crate::given::Given;
use crate::out;
use std::io::Read;
use std::path::Path;
use tribunal_findings::{Reading, read_as};
use tribunal_view::intake::{IntakeView, table};

/// One byte more than the reader accepts, so that the reader itself reports an answer that is too long.
const BYTES_MAX: u64 = 64 * 1024 * 1024 + 1;

/// Reads an answer and prints what it means.
pub fn run(globals: &Globals, args: &Intake) -> Result<Done, Failure> {
    let bytes = match args.file.as_deref() {
        None => input(Path::new("stdin"), std::io::stdin().lock())?,
        // The usual word for standard input, for those who write all arguments out.
        Some(path) if path == Path::new("-") => input(Path::new("stdin"), std::io::stdin().lock())?,
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|error| unread(path, &error))?;
            input(path, file)?
        }
    };
    let intake = read_as(&bytes, &Reading { word: args.word.as_deref(), ..Reading::default() }).explained();
    if globals.json {
        out::json(&IntakeView::of(&intake))?;
    } else {
        out::data(&table(&intake, out::stdout_style(globals)))?;
    }
    Ok(Done::Passed)
}

fn input(name: &Path, from: impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    from.take(BYTES_MAX).read_to_end(&mut bytes).map_err(|error| unread(name, &error))?;
    Ok(bytes)
}

fn unread(path: &Path, error: &std::io::Error) -> Failure {
    let hint = "name the file with the answer, or give the answer on standard input";
    Given { path, flag: None, hint }.failed("read", error)
}
