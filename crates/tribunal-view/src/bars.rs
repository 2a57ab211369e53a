//! Findings by fate per round, as bars for a terminal. One look says whether a loop gets better.
//!
//! Every part of a bar has its own character and its number, so nothing is said by colour alone.

use crate::style::{Style, columns, pad};
use serde::Serialize;
use std::fmt::Write;

/// How one round stood when it ended.
///
/// Every finding of the loop is in exactly one of the four parts, so the length of a bar is the number of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// The number of the round.
    pub round: u32,
    /// Must-fix findings that are open and were open before.
    pub old: u32,
    /// Must-fix findings that are open and new in this round.
    pub new: u32,
    /// Findings settled so far: fixed, refuted or waived.
    pub settled: u32,
    /// All other findings: advisory, deferred, discarded or filtered.
    pub aside: u32,
}

const KEY: &str = "█ open  ▓ open and new  ░ settled  · set aside";
/// The same key on two lines, for narrow terminals.
const HALVES: [&str; 2] = ["█ open  ▓ open and new", "░ settled  · set aside"];

/// Draws the bars, one line per round, and their key.
///
/// All bars of a loop share one scale. Otherwise a round with few findings would look as bad as one with many.
pub fn bars(rounds: &[Bar], style: Style) -> String {
    if rounds.is_empty() {
        return String::new();
    }
    // At least one, because the scale divides by it and a loop may have found nothing.
    let most = rounds.iter().map(|bar| bar.old + bar.new + bar.settled + bar.aside).max().unwrap_or(0).max(1);
    let said = rounds.iter().map(|bar| columns(&numbers(bar))).max().unwrap_or(0);
    let free = style.width.saturating_sub(said + 11);
    // If bar and numbers do not fit beside each other, the numbers stand below.
    let narrow = style.width > 0 && free < 8;
    let room = match style.width {
        // No terminal: a fixed length keeps the picture the same in every file.
        0 => 40,
        width if narrow => width.saturating_sub(11).clamp(1, 60),
        _ => free.min(60),
    };
    let mut out = String::new();
    for bar in rounds {
        let drawn = drawing(bar, most, room);
        let fill = " ".repeat(room.saturating_sub(columns(&drawn)));
        let said = numbers(bar);
        let said = if narrow { format!("\n  {}", style.wrap(&said, "  ")) } else { format!("{fill} {said}") };
        let _ = writeln!(out, "{} {drawn}{said}", pad(&format!("round {}", bar.round), 9));
    }
    // The key is broken by hand, because wrapping could separate a sign from its word.
    for line in if style.width > 0 && columns(KEY) + 10 > style.width { &HALVES[..] } else { &[KEY][..] } {
        let _ = writeln!(out, "{} {}", " ".repeat(9), style.faint(line));
    }
    out
}

fn numbers(bar: &Bar) -> String {
    let mut words = vec![format!("{} open", bar.old + bar.new)];
    for (n, word) in [(bar.new, "new"), (bar.settled, "settled"), (bar.aside, "aside")] {
        if n > 0 {
            words.push(format!("{n} {word}"));
        }
    }
    words.join(", ")
}

/// Gives each part its share, and at least one cell if it is not zero.
fn drawing(bar: &Bar, most: u32, room: usize) -> String {
    let parts = [(bar.old, '█'), (bar.new, '▓'), (bar.settled, '░'), (bar.aside, '·')];
    let cells = |n: u32| {
        let share = (f64::from(n) * room as f64 / f64::from(most)).round() as usize;
        if n == 0 { 0 } else { share.max(1) }
    };
    let drawn = parts.iter().flat_map(|(n, mark)| std::iter::repeat_n(*mark, cells(*n)));
    // The minimum of one cell can exceed the room by a few cells, which are cut.
    drawn.take(room).collect()
}
