//! `tribunal watch` on a terminal: runs, loops, findings, events and the inbox, live. It reads journals and leaves
//! letters; it starts no process, and gives the terminal back however it ends.

mod draw;
mod output;
mod state;
mod steps;

use crate::commands::decide;
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Place;
use crate::web::Shelf;
use crate::{args, progress};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::{SIGHUP, SIGTERM};
use state::{Action, Model, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
pub use steps::{Step, walk};
use tribunal_engine::inbox::Answer;
use tribunal_view::web::RunLine;

/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Runs on the list.
const RUNS: usize = 50;
/// Rounds that `again` gives.
const ROUNDS: u32 = 2;

/// Watches until the person has seen enough.
pub fn watch(place: &Place, run: String, colour: bool) -> Result<Done, Failure> {
    let signal = signals()?;
    let mut terminal = ratatui::try_init().map_err(no_terminal)?;
    let mut watch = Watch { place, shelf: Shelf::new(place.clone()), state: State::new(run), colour };
    let seen = watch.until_quit(&mut terminal, &signal);
    // Whatever happened: the terminal is the person's again before anything is said.
    let restored = ratatui::try_restore();
    let done = seen?;
    restored.map_err(no_terminal)?;
    Ok(done)
}

fn no_terminal(error: std::io::Error) -> Failure {
    Failure::work(format!("the terminal cannot be used: {error}"))
        .hint("`tribunal log --follow` needs none, and `tribunal serve` shows everything in a browser")
}

fn signals() -> Result<Arc<AtomicUsize>, Failure> {
    let which = Arc::new(AtomicUsize::new(0));
    for signal in [SIGTERM, SIGHUP] {
        signal_hook::flag::register_usize(signal, Arc::clone(&which), usize::try_from(signal).unwrap_or(0))?;
    }
    Ok(which)
}

struct Watch<'a> {
    place: &'a Place,
    shelf: Shelf,
    state: State,
    colour: bool,
}

impl Watch<'_> {
    fn until_quit(&mut self, terminal: &mut DefaultTerminal, signal: &AtomicUsize) -> Result<Done, Failure> {
        loop {
            let model = self.model()?;
            self.state.fit(&model);
            let (state, colour) = (&mut self.state, self.colour);
            terminal.draw(|frame| draw::screen(frame, &model, state, colour))?;
            match i32::try_from(signal.load(Ordering::SeqCst)) {
                Ok(0) | Err(_) => {}
                Ok(signal) => return Ok(Done::Signal(signal)),
            }
            // A resize wakes us too, and everything is drawn anew anyway.
            if !event::poll(LOOK)? {
                continue;
            }
            let Event::Key(key) = event::read()? else { continue };
            if key.kind != KeyEventKind::Press {
                continue;
            }
            match self.state.key(key, &model) {
                Action::None => {}
                Action::Quit => return Ok(Done::Passed),
                Action::Decide { id, word, note } => self.decide(&id, &word, note),
            }
        }
    }

    fn model(&self) -> Result<Model, Failure> {
        let runs: Vec<RunLine> =
            self.place.runs().iter().take(RUNS).map(|run| self.shelf.line(run)).collect();
        let shown = self.shelf.snapshot(&self.state.run)?;
        let output =
            self.state.running(&shown.view).map(|of| output::tail(&self.place.run_dir(&self.state.run), &of));
        Ok(Model { runs, shown, output: output.unwrap_or_default(), now: progress::now() })
    }

    fn decide(&mut self, id: &str, word: &str, note: String) {
        let said = args::reaction(word).map_err(Failure::usage).and_then(|reaction| {
            let by = decide::user(None);
            let answer = Answer { reaction, by, note, rounds: ROUNDS, revision: None };
            decide::record(self.place, &self.state.run, id, answer)
        });
        self.state.message = said.unwrap_or_else(|failure| {
            let hints: String = failure.hints.iter().map(|hint| format!("; {hint}")).collect();
            format!("not taken: {}{hints}", failure.message)
        });
    }
}
