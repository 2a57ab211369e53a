//! All walks, and the tests that read what they found.

use crate::book::Book;
use crate::loops::{LoopSim, revision};
use crate::policies::{USES, policy};
use crate::rng::Rng;
use crate::runs::RunSim;
use crate::specs::spec;
use std::sync::OnceLock;
use tribunal_core::ids::{LoopId, Time};
use tribunal_core::r#loop::{Opened, Opening};

const LOOPS: u64 = 2_000;

#[expect(clippy::disallowed_methods, reason = "a test reads how far to walk; the crate itself never does")]
fn seeds() -> u64 {
    std::env::var("TRIBUNAL_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(LOOPS)
}

/// All walks, once. A walk that panics breaks every law.
fn walked() -> &'static Book {
    static BOOK: OnceLock<Option<Book>> = OnceLock::new();
    let walks = || {
        let mut book = Book::default();
        for seed in 1..=seeds() {
            walk_loop(seed, &mut book);
        }
        for seed in 1..=seeds() / 5 {
            walk_run(seed, &mut book);
        }
        book
    };
    BOOK.get_or_init(|| std::panic::catch_unwind(walks).ok()).as_ref().expect("a walk panicked")
}

fn walk_loop(seed: u64, book: &mut Book) {
    let mut rng = Rng::new(seed);
    let of = *rng.pick(&USES);
    let wild = rng.chance(40);
    let policy = policy(&mut rng, of, wild);
    let opening = match rng.below(3) {
        0 => Opening::Judge { revision: revision(1), open: Vec::new() },
        1 => Opening::Make { rounds: Some(1 + u32::try_from(rng.below(4)).unwrap()), open: Vec::new() },
        _ => Opening::Make { rounds: None, open: Vec::new() },
    };
    book.walk = format!("loop seed {seed} ({of}{})", if wild { ", wild" } else { "" });
    let opened = Opened { id: LoopId::new("loop"), policy, opening, at: Time(1_000) };
    LoopSim::open(opened, rng.next(), book).walk(book);
}

fn walk_run(seed: u64, book: &mut Book) {
    let mut rng = Rng::new(seed ^ 0xaaaa_0000);
    let spec = spec(&mut rng);
    let real = rng.chance(35);
    book.walk = format!("run seed {seed}{}", if real { ", real loops" } else { "" });
    RunSim::open(&spec, rng.next(), real, book).walk(book);
}

macro_rules! laws {
    ($($(#[$doc:meta])* $law:ident)*) => { $($(#[$doc])* #[test] fn $law() { walked().assert(stringify!($law)); })* };
}

laws! {
    gate
    coverage
    moved
    confirm
    bounded
    settled
    progress
    replay
    stale
    absorbs
    closed
    stability
    intent
    findings
    once
    order
    width
    checkpoint
    asks
    crew
}

#[test]
fn sometimes() {
    let book = walked();
    for (what, times) in book.seen() {
        println!("{times:>8} {what}");
    }
    println!("{} runs, {} reports", book.runs, book.run_reports);
    println!("{} loops, {} reports, most {}", book.loops, book.loop_reports, book.most);
}
