//! `tribunal replay --step` on a terminal: the rows of a journal one by one, each with its content and whether the
//! machines would decide the same.
//!
//! It only reads, and gives the terminal back however it ends. The content of a row is read when the row is shown,
//! because a journal may be long.

use super::{Waited, no_terminal, signals, wait};
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Seen;
use crate::watched::some_rows;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, Borders, List, ListItem, ListState, Paragraph, Wrap};
use signal_hook::consts::SIGHUP;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tribunal_view::plain;

const KEYS: &str = "↑↓ step  n/p decision  PgDn/PgUp  q quit   = decided  < outside  ! differs";
/// The most bytes of a row that are shown.
const BODY_MAX: usize = 8_000;
const LOOK: Duration = Duration::from_millis(500);
const PAGE: usize = 10;

/// One row of a journal, as it was replayed.
pub struct Step {
    /// The number of the row.
    pub seq: u64,
    /// `=` decided, `<` from outside, `!` differs, or nothing.
    pub sign: char,
    /// The event in one line.
    pub line: String,
}

/// Steps through the rows until the person quits or a signal ends it. `verdict` is the result of the replay.
pub fn walk(seen: &Seen, steps: &[Step], verdict: &str) -> Result<Done, Failure> {
    let signal = signals()?;
    let mut terminal = ratatui::try_init().map_err(no_terminal)?;
    let mut walked = || -> Result<Done, Failure> {
        let (mut at, mut shown) = (0_usize, None);
        let mut body = String::new();
        loop {
            // Read once for each row, not at every tick of the display.
            if shown != Some(at) {
                body = steps.get(at).map_or(Ok(String::new()), |step| text(seen, step.seq))?;
                shown = Some(at);
            }
            terminal.draw(|frame| screen(frame, steps, at, &body, verdict))?;
            if let Ok(signal @ 1..) = i32::try_from(signal.load(Ordering::SeqCst)) {
                return Ok(Done::Signal(signal));
            }
            match wait(LOOK)? {
                Waited::Nothing => continue,
                Waited::Gone => return Ok(Done::Signal(SIGHUP)),
                Waited::Event => {}
            }
            let Event::Key(key) = event::read()? else { continue };
            if key.kind == KeyEventKind::Press {
                match moved(key, at, steps) {
                    Some(to) => at = to,
                    None => return Ok(Done::Passed),
                }
            }
        }
    };
    let walked = walked();
    // Whatever happened, the terminal is the person's again before anything is printed.
    let restored = ratatui::try_restore();
    let done = walked?;
    restored.map_err(no_terminal)?;
    Ok(done)
}

/// The content of a row as the journal has it.
fn text(seen: &Seen, seq: u64) -> Result<String, Failure> {
    let mut text = String::new();
    some_rows(&seen.reader, seq, 1, |row| {
        let pretty = serde_json::from_str::<serde_json::Value>(row.body)
            .and_then(|value| serde_json::to_string_pretty(&value))
            .unwrap_or_else(|_| row.body.to_owned());
        text = plain::capped(&format!("#{} {} {}\n{pretty}", row.seq, row.of, row.kind), BODY_MAX);
        Ok(())
    })?;
    Ok(text)
}

/// The row that a key leads to; `None` ends the walk.
fn moved(key: KeyEvent, at: usize, steps: &[Step]) -> Option<usize> {
    let last = steps.len().saturating_sub(1);
    let decision = |step: &Step| matches!(step.sign, '=' | '!');
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return None,
        KeyCode::Char('q') | KeyCode::Esc => return None,
        KeyCode::Down | KeyCode::Char('j' | ' ') | KeyCode::Enter => (at + 1).min(last),
        KeyCode::Up | KeyCode::Char('k') => at.saturating_sub(1),
        KeyCode::PageDown => at.saturating_add(PAGE).min(last),
        KeyCode::PageUp => at.saturating_sub(PAGE),
        KeyCode::Home => 0,
        KeyCode::End => last,
        KeyCode::Char('n') => {
            let next = steps.iter().skip(at + 1).position(decision);
            next.map_or(at, |ahead| at + 1 + ahead)
        }
        KeyCode::Char('p') => steps.iter().take(at).rposition(decision).unwrap_or(at),
        _ => at,
    })
}

fn screen(frame: &mut Frame<'_>, steps: &[Step], at: usize, body: &str, verdict: &str) {
    let [head, top, bottom, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Percentage(50),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    let place = format!("{} of {} · {verdict}", (at + 1).min(steps.len()), steps.len());
    frame.render_widget(Paragraph::new(place).style(bold), head);
    // Only rows near the selected one are made into lines: a journal may be long.
    let around = usize::from(top.height).max(1);
    let from = at.saturating_sub(around);
    let items: Vec<ListItem<'_>> = steps
        .iter()
        .skip(from)
        .take(around * 2)
        .map(|step| ListItem::new(format!("{} {}", step.sign, step.line)))
        .collect();
    let list = List::new(items)
        .block(Block::new().borders(Borders::TOP))
        .highlight_symbol("> ")
        .highlight_style(reversed);
    frame.render_stateful_widget(list, top, &mut ListState::default().with_selected(Some(at - from)));
    let block = Block::new().borders(Borders::TOP);
    frame.render_widget(Paragraph::new(body).wrap(Wrap { trim: false }).block(block), bottom);
    frame.render_widget(Paragraph::new(KEYS).style(reversed), foot);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_among_the_rows() {
        let steps: Vec<Step> =
            "< = <!".chars().zip(1..).map(|(sign, seq)| Step { seq, sign, line: String::new() }).collect();
        let check = |code: KeyCode, at: usize, expect: Option<usize>| {
            assert_eq!(moved(KeyEvent::from(code), at, &steps), expect, "{code:?} at {at}");
        };
        check(KeyCode::Down, 0, Some(1));
        check(KeyCode::Down, 5, Some(5));
        check(KeyCode::Up, 0, Some(0));
        check(KeyCode::PageDown, 1, Some(5));
        check(KeyCode::PageUp, 5, Some(0));
        check(KeyCode::Char('n'), 0, Some(2));
        check(KeyCode::Char('n'), 2, Some(5));
        check(KeyCode::Char('n'), 5, Some(5));
        check(KeyCode::Char('p'), 5, Some(2));
        check(KeyCode::Char('p'), 2, Some(2));
        check(KeyCode::Char('x'), 3, Some(3));
        check(KeyCode::Char('q'), 3, None);
        assert_eq!(moved(KeyEvent::from(KeyCode::Down), 0, &[]), Some(0));
    }
}
