//! `tribunal watch` on a terminal: runs, loops, findings, events and the inbox, live.
//!
//! It reads journals and puts answers into mailboxes; it starts no process. The terminal is given back however it ends,
//! before anything is printed. Keys and drawing are apart: `state` has no terminal, so tests can press keys without
//! one.

mod draw;
mod output;
mod state;
mod steps;

use crate::commands::decide;
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Place;
use crate::web::RunCache;
use crate::{args, progress};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGTERM};
use state::{Action, Model, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
pub use steps::{Step, walk};
use tribunal_engine::inbox::Answer;
use tribunal_view::web::RunLine;

/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// The most runs on the list.
const RUNS: usize = 50;
/// The rounds that the answer `again` gives.
const ROUNDS: u32 = 2;

/// Shows a run until the person quits or a signal ends it.
pub fn watch(place: &Place, run: String, colour: bool) -> Result<Done, Failure> {
    let signal = signals()?;
    let mut terminal = ratatui::try_init().map_err(no_terminal)?;
    let mut watch = Watch { place, run_cache: RunCache::new(place.clone()), state: State::new(run), colour };
    let seen = watch.until_quit(&mut terminal, &signal);
    // Whatever happened, the terminal is the person's again before anything is printed.
    let restored = ratatui::try_restore();
    let done = seen?;
    restored.map_err(no_terminal)?;
    Ok(done)
}

fn no_terminal(error: std::io::Error) -> Failure {
    Failure::work(format!("the terminal cannot be used: {error}"))
        .hint("`tribunal log --follow` needs none, and `tribunal serve` shows everything in a browser")
}

/// The result of waiting for the person.
enum Waited {
    /// Nothing happened for a while.
    Nothing,
    /// A key, or something else that can be read.
    Event,
    /// The terminal was closed: nobody will ever press a key again.
    Gone,
}

/// Waits a while for the person.
///
/// A closed terminal is noticed here, by polling the descriptor ourselves. The library never returns from a wait on a
/// closed terminal, and the process would stay behind.
fn wait(look: Duration) -> Result<Waited, Failure> {
    // First without waiting: the library may hold keys that it has read already, and no descriptor tells of them.
    for patience in [Duration::ZERO, look] {
        let stdin = rustix::stdio::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        let time = Timespec::try_from(patience).map_err(Failure::bug)?;
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(no_terminal(error.into())),
        }
        if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Ok(Waited::Gone);
        }
        // One read may have brought several keys.
        if event::poll(Duration::ZERO)? {
            return Ok(Waited::Event);
        }
    }
    Ok(Waited::Nothing)
}

fn signals() -> Result<Arc<AtomicUsize>, Failure> {
    let which = Arc::new(AtomicUsize::new(0));
    for signal in [SIGTERM, SIGHUP] {
        // A second signal ends the process at once, whatever it waits for.
        let told = Arc::new(AtomicBool::new(false));
        // Before the handler that sets the flag: handlers run in the order of registration, so the first signal does
        // not end the process.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&told))?;
        signal_hook::flag::register(signal, told)?;
        signal_hook::flag::register_usize(signal, Arc::clone(&which), usize::try_from(signal).unwrap_or(0))?;
    }
    Ok(which)
}

struct Watch<'a> {
    place: &'a Place,
    run_cache: RunCache,
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
            match wait(LOOK)? {
                // A resize needs nothing here: every turn of the loop draws anew.
                Waited::Nothing => continue,
                Waited::Gone => return Ok(Done::Signal(SIGHUP)),
                Waited::Event => {}
            }
            let Event::Key(key) = event::read()? else { continue };
            // Some terminals also report the release of a key.
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
            self.place.runs().iter().take(RUNS).map(|run| self.run_cache.line(run)).collect();
        let shown = self.run_cache.snapshot(&self.state.run)?;
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
