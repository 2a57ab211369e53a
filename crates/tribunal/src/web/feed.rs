//! News of a run as they are committed. Each item carries its row number in the journal, so a client that comes back,
//! to this server or to the next one, gets what it missed and nothing twice.
//!
//! Nothing about a client is kept on the server. The client names the last row it saw, and that may be wrong; `began`
//! deals with it.

use crate::facts;
use crate::place::Seen;
use crate::watched::{is_end, some_rows};
use tribunal_engine::{Fact, RunStateError};
use tribunal_server::web::{Feed, News};
use tribunal_view::web::told;

/// How many rows are read at a time; a snapshot of the journal is open while they are.
const ROWS: usize = 500;

/// The end of a journal, followed for one client.
pub struct Tail {
    seen: Seen,
    next: u64,
    began: Option<u64>,
    ended: bool,
    over: bool,
}

impl Tail {
    /// The news after row `after`.
    pub fn new(seen: Seen, after: u64) -> Tail {
        Tail { seen, next: after.saturating_add(1), began: None, ended: false, over: false }
    }

    fn read(&mut self) -> Result<Vec<News>, RunStateError> {
        let began = self.began()?;
        let mut news = Vec::new();
        let Tail { seen, next, ended, .. } = self;
        some_rows(&seen.reader, *next, ROWS, |row| {
            let fact = Fact::decode(row)?;
            *next = row.seq + 1;
            *ended |= is_end(&fact);
            if let Some(event) = facts::event(&seen.id, row.seq, row.at, &fact) {
                let data = serde_json::to_string(&told(&event, began)).unwrap_or_default();
                news.push(News { id: row.seq, kind: "told", data });
            }
            Ok(())
        })?;
        Ok(news)
    }

    /// When the run began. On the first call it also finds out whether the run has ended before what is sent here.
    fn began(&mut self) -> Result<u64, RunStateError> {
        if let Some(began) = self.began {
            return Ok(began);
        }
        let mut began = None;
        some_rows(&self.seen.reader, 1, 1, |row| {
            began = Some(row.at);
            Ok(())
        })?;
        let last = self.seen.reader.last_seq()?;
        // A client that has seen everything may come back: the end is among the last rows, not among the new ones.
        let mut ended = false;
        some_rows(&self.seen.reader, last.saturating_sub(50).max(1), 51, |row| {
            ended |= row.seq < self.next && is_end(&Fact::decode(row)?);
            Ok(())
        })?;
        self.ended |= ended;
        // A client may name a row that this journal does not have yet; it gets everything that follows.
        self.next = self.next.min(last + 1);
        self.began = began;
        Ok(began.unwrap_or(0))
    }
}

impl Feed for Tail {
    fn next(&mut self) -> Option<Vec<News>> {
        if self.over {
            return None;
        }
        // Asked before the rows are read: the last rows are written by a process that lives, so none is missed
        // afterwards.
        let live = self.seen.is_live();
        let first = self.began.is_none();
        if !first && !self.seen.reader.changed().ok()? && !self.ended {
            return Some(Vec::new());
        }
        let mut news = self.read().ok()?;
        // A full batch may not be the last one.
        if self.ended && !live && news.len() < ROWS {
            self.over = true;
            news.push(News { id: self.next.saturating_sub(1), kind: "over", data: "{}".to_owned() });
        }
        Some(news)
    }
}
