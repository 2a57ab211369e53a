//! The journal of a run: one SQLite file, appended turn by turn, folded and tailed. This is the only crate with SQL.
//!
//! The journal stores rows and does not interpret them, so a new kind of event needs no change here. It never changes
//! or deletes a row, never starts a thread or a process, never reads the clock, and never lets a caller append after
//! a failed append.
//!
//! Files in a run's directory: `journal.db` (with SQLite's `-wal` and `-shm`), `lock`, `poke`.

mod error;
mod fault;
mod journal;
mod lock;
mod mail;
mod poke;
mod reader;
mod rows;
mod schema;
mod store;
mod verify;

pub use error::{Error, Result};
pub use fault::Inject;
pub use journal::Journal;
pub use lock::RunLock;
pub use mail::{Mail, Message, Posted, post};
pub use poke::{Poke, is_live, poke};
pub use reader::Reader;
pub use rows::{Head, NewRow, Row, RowRef, Turn};
pub use schema::VERSION;
pub use store::{FILE, Options, Synchronous};
pub use verify::{Health, verify};

// The writer, a reader and the poke's listener may each move to the thread that uses them.
const _: () = {
    const fn movable<T: Send>() {}
    movable::<Journal>();
    movable::<Reader>();
    movable::<Poke>();
};
