//! `tribunal log`: the events of a run, once or while they happen. It only reads.
//!
//! Following means looking at the journal again and again; the run's writer knows nothing of its readers. The events
//! are the public ones, so their JSON is as stable as the published schema.

use crate::args::{Globals, Log};
use crate::exit::Done;
use crate::facts;
use crate::failure::Failure;
use crate::out;
use crate::place::{Place, Seen};
use crate::watched::is_end;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tribunal_engine::{Fact, RunStateError};
use tribunal_view::style::Style;
use tribunal_view::{events, log};

/// How often the journal is looked at while following, in milliseconds: often enough to seem immediate, and a look is
/// cheap.
const LOOK_MS: i64 = 150;

/// Prints the events of a run.
pub fn run(globals: &Globals, args: &Log) -> Result<Done, Failure> {
    if args.schema {
        out::data(&tribunal_view::events::schema())?;
        return Ok(Done::Passed);
    }
    let place = Place::here()?;
    let id = place.find(args.run.as_deref())?;
    let seen = place.read(&id)?;
    let mut tail = Tail {
        seen: &seen,
        json: globals.json,
        // A program filters for itself; only people are spared the small events.
        all: args.all || globals.json,
        style: out::stdout_style(globals),
        began: 0,
        next: 1,
        over: false,
    };
    tail.print()?;
    while args.follow && !tail.over {
        if !wait() {
            break;
        }
        // Cheap; reading rows opens a snapshot that keeps the journal's log from shrinking.
        if seen.reader.changed()? {
            tail.print()?;
        }
    }
    Ok(Done::Passed)
}

struct Tail<'a> {
    seen: &'a Seen,
    json: bool,
    all: bool,
    style: Style,
    began: u64,
    next: u64,
    /// The run has ended.
    over: bool,
}

impl Tail<'_> {
    /// Prints the events that are new.
    fn print(&mut self) -> Result<(), Failure> {
        let mut text = String::new();
        let Tail { seen, json, all, style, began, next, over } = self;
        seen.reader.each(*next, |row| {
            *next = row.seq + 1;
            if *began == 0 {
                *began = row.at;
            }
            let fact = Fact::decode(&row)?;
            *over |= is_end(&fact);
            let event = facts::event(&seen.id, row.seq, row.at, &fact);
            if let Some(event) = event.filter(|event| *all || log::matters(&event.what)) {
                text.push_str(&if *json { events::json(&event) } else { log::line(&event, *began, *style) });
                text.push('\n');
            }
            Ok::<(), RunStateError>(())
        })?;
        if text.is_empty() { Ok(()) } else { out::data(&text) }
    }
}

/// Waits a moment; returns false when nobody reads our output any more.
///
/// Polling stdout for errors notices a closed pipe while the run is silent. A write would notice it only with the next
/// event, which may never come.
fn wait() -> bool {
    let stdout = rustix::stdio::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let moment = Timespec { tv_sec: 0, tv_nsec: LOOK_MS * 1_000_000 };
    match poll(&mut fds, Some(&moment)) {
        Ok(n) if n > 0 => !fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
        _ => true,
    }
}
