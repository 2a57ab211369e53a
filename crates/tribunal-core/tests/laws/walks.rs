//! All walks, and the tests that read what they found.

use crate::book::Book;
use crate::loops::{LoopSim, revision};
use crate::policies::{USES, policy};
use crate::rng::Rng;
use std::sync::OnceLock;
use tribunal_core::ids::{LoopId, Time};
use tribunal_core::r#loop::{Opened, Opening};

const LOOPS: u64 = 2_000;

#[expect(clippy::disallowed_methods, reason = "a test reads how far to walk; the crate itself never does")]
fn seeds() -> u64 {
    std::env::var("TRIBUNAL_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(LOOPS)
}

fn walked() -> &'static Book {
    static BOOK: OnceLock<Book> = OnceLock::new();
    BOOK.get_or_init(|| {
        let mut book = Book::default();
        for seed in 1..=seeds() {
            walk_loop(seed, &mut book);
        }
        book
    })
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
    asks
    crew
}

#[test]
fn sometimes() {
    let book = walked();
    for (what, times) in book.seen() {
        println!("{times:>8} {what}");
    }
    println!("{} loops, {} reports, most {}", book.loops, book.loop_reports, book.most);
}
