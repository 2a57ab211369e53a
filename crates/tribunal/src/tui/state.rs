//! What is looked at, and what a key means. There is no terminal in here: keys go in, actions come out.
//!
//! Lists are remembered by position, because the model is new at every look; `fit` brings the positions back inside
//! their lists. Only the question that is being answered is a copy, so it cannot change under the person's hands.

use crate::web::Shown;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::sync::Arc;
use tribunal_view::facts::{LoopView, OfferView, QuestionView, RunView};
use tribunal_view::web::{RunLine, is_letter};

/// The longest note, in characters.
const NOTE_MAX: usize = 500;

/// Everything there is to see at one moment.
pub struct Model {
    /// All runs, newest first.
    pub runs: Vec<RunLine>,
    /// The run that is looked at.
    pub shown: Arc<Shown>,
    /// The last lines of the agent at work on what is selected.
    pub output: Vec<String>,
    /// The time, in milliseconds since 1970.
    pub now: u64,
}

/// The lists that a person can look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Loops, newest first.
    #[default]
    Loops,
    /// Findings, open ones first.
    Findings,
    /// Questions to a person.
    Inbox,
    /// The events of the run, oldest first.
    Events,
    /// All runs of the project.
    Runs,
}

impl View {
    /// All lists, in the order of their keys.
    pub const ALL: [View; 5] = [View::Loops, View::Findings, View::Inbox, View::Events, View::Runs];

    /// The name on its tab.
    pub fn name(self) -> &'static str {
        match self {
            View::Loops => "Loops",
            View::Findings => "Findings",
            View::Inbox => "Inbox",
            View::Events => "Events",
            View::Runs => "Runs",
        }
    }

    fn place(self) -> usize {
        View::ALL.iter().position(|view| *view == self).unwrap_or(0)
    }
}

/// What the person is looking at, and an answer they may be giving.
#[derive(Debug, Default)]
pub struct State {
    /// The id of the run that is shown.
    pub run: String,
    /// The list that is shown.
    pub view: View,
    /// The selected entry of each list.
    at: [usize; 5],
    /// Lines of the detail that are above the screen.
    pub scroll: u16,
    /// The answers to choose from, and which is selected.
    pub choosing: Option<(QuestionView, usize)>,
    /// The note to the answer, in the person's words.
    pub note: String,
    /// True while keys go into the note.
    pub writing: bool,
    /// What became of the last answer.
    pub message: String,
    /// True while the newest event stays selected: the person has not moved away from it.
    pub follows: bool,
}

/// What a key asks the caller to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing beyond the screen.
    None,
    /// End the display.
    Quit,
    /// Answer a question.
    Decide {
        /// The id of the question.
        id: String,
        /// The word of the answer.
        word: String,
        /// The person's note, perhaps empty.
        note: String,
    },
}

impl State {
    /// Looks at a run from its first list.
    pub fn new(run: String) -> State {
        State { run, follows: true, ..State::default() }
    }

    /// The selected entry of the current list.
    pub fn selected(&self) -> usize {
        self.at[self.view.place()]
    }

    /// The number of entries of the current list.
    pub fn len(&self, model: &Model) -> usize {
        let view = &model.shown.view;
        match self.view {
            View::Loops => view.loops.len(),
            View::Findings => view.findings.len(),
            View::Inbox => view.questions.len(),
            View::Events => model.shown.tail.len(),
            View::Runs => model.runs.len(),
        }
    }

    /// Keeps the selection inside its list.
    pub fn fit(&mut self, model: &Model) {
        let last = self.len(model).saturating_sub(1);
        let at = &mut self.at[self.view.place()];
        // New events push the selection along until the person moves it.
        *at = if self.view == View::Events && self.follows { last } else { (*at).min(last) };
    }

    /// The selected loop; the list shows the newest first.
    pub fn loop_of<'a>(&self, view: &'a RunView) -> Option<&'a LoopView> {
        view.loops.iter().rev().nth(self.at[View::Loops.place()])
    }

    /// The selected loop, if somebody is at work on it and the output should be shown.
    pub fn running(&self, view: &RunView) -> Option<String> {
        let selected = self.loop_of(view).filter(|_| self.view == View::Loops)?;
        view.running.iter().find(|activity| activity.of == selected.id).map(|activity| activity.of.clone())
    }

    /// Takes a key and says what it asks for.
    pub fn key(&mut self, key: KeyEvent, model: &Model) -> Action {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        // Before everything else: in raw mode Ctrl-C is a key, and it must work while a note is written, too.
        if control && key.code == KeyCode::Char('c') {
            return Action::Quit;
        }
        if self.choosing.is_some() && self.writing {
            self.write(key.code);
            return Action::None;
        }
        if self.choosing.is_some() {
            return self.choose(key.code);
        }
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Tab | KeyCode::Right => self.turn(1),
            // One step back is all but one forward.
            KeyCode::BackTab | KeyCode::Left => self.turn(View::ALL.len() - 1),
            KeyCode::Char(digit @ '1'..='5') => {
                let place = usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or(0);
                self.look(View::ALL[place]);
            }
            KeyCode::Down | KeyCode::Char('j') => self.select(1, model),
            KeyCode::Up | KeyCode::Char('k') => self.select(-1, model),
            // `select` saturates, so the extremes lead to the ends.
            KeyCode::Home => self.select(isize::MIN, model),
            KeyCode::End => self.select(isize::MAX, model),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll = self.scroll.saturating_add(5),
            KeyCode::PageUp | KeyCode::Char('b') => self.scroll = self.scroll.saturating_sub(5),
            KeyCode::Char('d') => self.look(View::Inbox),
            KeyCode::Enter => self.enter(model),
            _ => {}
        }
        Action::None
    }

    fn turn(&mut self, by: usize) {
        self.look(View::ALL[(self.view.place() + by) % View::ALL.len()]);
    }

    fn look(&mut self, view: View) {
        self.view = view;
        self.scroll = 0;
        self.message.clear();
    }

    fn select(&mut self, by: isize, model: &Model) {
        let last = self.len(model).saturating_sub(1);
        let at = &mut self.at[self.view.place()];
        *at = at.saturating_add_signed(by).min(last);
        // Moving back to the newest event follows again.
        self.follows = self.view != View::Events || *at == last;
        self.scroll = 0;
    }

    fn enter(&mut self, model: &Model) {
        match self.view {
            View::Runs => {
                if let Some(line) = model.runs.get(self.selected()) {
                    // Positions in the lists of another run mean nothing here.
                    *self = State::new(line.id.clone());
                }
            }
            View::Inbox => {
                let question = model.shown.view.questions.get(self.selected());
                // The first answer counts, so a second one is not offered.
                match question.filter(|question| question.answered.is_none()) {
                    Some(question) => {
                        self.choosing = Some((question.clone(), 0));
                        self.note.clear();
                    }
                    None => "nothing waits for an answer here".clone_into(&mut self.message),
                }
            }
            _ => {}
        }
    }

    /// Takes a key while the note is written.
    fn write(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.writing = false,
            KeyCode::Esc => {
                self.note.clear();
                self.writing = false;
            }
            KeyCode::Backspace => _ = self.note.pop(),
            KeyCode::Char(c) if !c.is_control() && self.note.chars().count() < NOTE_MAX => self.note.push(c),
            _ => {}
        }
    }

    fn choose(&mut self, code: KeyCode) -> Action {
        let Some((question, at)) = &mut self.choosing else { return Action::None };
        let offers = answers(question);
        match code {
            KeyCode::Down | KeyCode::Char('j') => *at = (*at + 1).min(offers.len().saturating_sub(1)),
            KeyCode::Up | KeyCode::Char('k') => *at = at.saturating_sub(1),
            KeyCode::Esc | KeyCode::Char('q') => self.choosing = None,
            KeyCode::Char('n') => self.writing = true,
            KeyCode::Enter => {
                let chosen = offers.get(*at).map(|offer| offer.word.clone());
                let id = question.id.clone();
                self.choosing = None;
                if let Some(word) = chosen {
                    let note = std::mem::take(&mut self.note);
                    return Action::Decide { id, word, note };
                }
            }
            _ => {}
        }
        Action::None
    }
}

/// The answers that can be given here. An answer that needs a process to be started is shown as a command instead.
pub fn answers(question: &QuestionView) -> Vec<&OfferView> {
    question.offers.iter().filter(|offer| is_letter(offer)).collect()
}
