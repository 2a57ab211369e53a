//! Draws the screen: a line about the run, the current list, the selected entry in full, and the keys.
//!
//! Meaning is never in colour alone, and the sixteen colours of any terminal are enough. Drawing reads `Model` and
//! `State` and changes nothing but the scroll position, which only the drawn text can limit.

use super::state::{Model, State, View, answers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Clear, List, ListItem, ListState, Paragraph, Wrap};
use tribunal_core::review_loop::LoopStage;
use tribunal_view::facts::{LoopView, WAITS};
use tribunal_view::style::{Mark, Style as Words};
use tribunal_view::{detail, question, words};

/// On a smaller terminal nothing can be read.
const COLUMNS_MIN: u16 = 20;
const ROWS_MIN: u16 = 6;

const KEYS: &str = "↑↓ select  Tab list  Enter open/decide  PgDn/PgUp scroll  d inbox  q quit";
const KEYS_SHORT: &str = "↑↓ Tab Enter PgDn d q";

/// Draws the whole screen.
pub fn screen(frame: &mut Frame<'_>, model: &Model, state: &mut State, colour: bool) {
    let area = frame.area();
    if area.width < COLUMNS_MIN || area.height < ROWS_MIN {
        frame.render_widget(Paragraph::new("too small; q quits"), area);
        return;
    }
    // A low terminal gets the list alone: half a list above half a text helps nobody.
    let list = if area.height >= 16 { Constraint::Percentage(45) } else { Constraint::Min(3) };
    let rest = if area.height >= 16 { Constraint::Min(3) } else { Constraint::Length(0) };
    let [head, tabs, top, bottom, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(1), list, rest, Constraint::Length(1)])
            .areas(area);
    frame.render_widget(Paragraph::new(headline(model, usize::from(area.width))).style(bold()), head);
    frame.render_widget(Paragraph::new(names(model, state, usize::from(area.width))), tabs);
    entries(frame, top, model, state, colour);
    if bottom.height > 0 {
        full(frame, bottom, model, state);
    }
    let keys = if usize::from(area.width) > KEYS.chars().count() { KEYS } else { KEYS_SHORT };
    let said = if state.message.is_empty() { keys } else { &state.message };
    frame.render_widget(Paragraph::new(said).style(Style::new().add_modifier(Modifier::REVERSED)), foot);
    choices(frame, area, state);
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// The state of the run, the most important part first. A part that does not fit is left out whole.
fn headline(model: &Model, width: usize) -> String {
    let view = &model.shown.view;
    let waits = waiting(model) > 0;
    let stands = if view.ending.is_none() && waits { WAITS } else { view.stands() };
    let open = view.findings.iter().filter(|finding| finding.fate.is_open()).count();
    let effort = &view.effort;
    // The clock of a run that nobody runs stands still.
    let end = if view.live { model.now } else { view.at };
    let parts = [
        format!("{} {stands}", view.mark().symbol()),
        words::clock(end.saturating_sub(view.began)),
        format!("{open} of {} open", words::count(view.findings.len(), "finding")),
        format!("{} at work", words::count(view.running.len(), "agent")),
        words::money(effort.cost_micros),
        format!("{} tokens", words::amount(effort.tokens_in + effort.tokens_out)),
        view.id.clone(),
    ];
    let [first, rest @ ..] = parts;
    rest.into_iter().fold(first, |line, part| {
        let fits = line.chars().count() + 3 + part.chars().count() <= width;
        if fits { format!("{line} · {part}") } else { line }
    })
}

fn waiting(model: &Model) -> usize {
    model.shown.view.questions.iter().filter(|question| question.answered.is_none()).count()
}

/// The names of the lists. Without room for all, only the current list has its name.
fn names(model: &Model, state: &State, width: usize) -> Line<'static> {
    let waiting = waiting(model);
    let named = |narrow: bool| {
        let name = |(n, view): (usize, View)| {
            let count =
                if view == View::Inbox && waiting > 0 { format!(" ({waiting})") } else { String::new() };
            // Brackets as well as bold: a terminal may show neither bold nor colour.
            match view == state.view {
                true => format!("[{} {}{count}]", n + 1, view.name()),
                false if narrow => format!(" {}{count} ", n + 1),
                false => format!(" {} {}{count} ", n + 1, view.name()),
            }
        };
        View::ALL.into_iter().enumerate().map(name).collect::<Vec<_>>()
    };
    let wide = named(false);
    let fits = wide.iter().map(|name| name.chars().count()).sum::<usize>() <= width;
    let names = if fits { wide } else { named(true) };
    let styled = |(name, view): (String, View)| {
        ratatui::text::Span::styled(name, if view == state.view { bold() } else { Style::new() })
    };
    let spans: Vec<_> = names.into_iter().zip(View::ALL).map(styled).collect();
    Line::from(spans)
}

fn entries(frame: &mut Frame<'_>, area: Rect, model: &Model, state: &State, colour: bool) {
    let lines = lines(model, state.view);
    let items = lines.into_iter().map(|(mark, text)| {
        let style = mark.filter(|_| colour).map_or(Style::new(), |mark| Style::new().fg(hue(mark)));
        let symbol = mark.map_or(' ', Mark::symbol);
        ListItem::new(format!("{symbol} {text}")).style(style)
    });
    let items: Vec<ListItem<'_>> = items.collect();
    if items.is_empty() {
        let block = Block::new().borders(Borders::TOP);
        frame.render_widget(Paragraph::new("nothing here").block(block), area);
        return;
    }
    let list = List::new(items)
        .block(Block::new().borders(Borders::TOP))
        .highlight_symbol("> ")
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut at = ListState::default().with_selected(Some(state.selected()));
    frame.render_stateful_widget(list, area, &mut at);
}

fn hue(mark: Mark) -> Color {
    match mark {
        Mark::Running => Color::Blue,
        Mark::Complete => Color::Green,
        Mark::Failed => Color::Red,
        Mark::Skipped => Color::DarkGray,
        Mark::Warning => Color::Yellow,
    }
}

/// One line for each entry of a list.
fn lines(model: &Model, of: View) -> Vec<(Option<Mark>, String)> {
    let view = &model.shown.view;
    match of {
        View::Loops => view
            .loops
            .iter()
            // Newest first; `State::loop_of` counts in the same direction.
            .rev()
            .map(|review_loop| {
                let who: Vec<&str> = view
                    .running
                    .iter()
                    .filter(|one| one.of == review_loop.id)
                    .map(|one| one.who.as_str())
                    .collect();
                let who = if who.is_empty() { String::new() } else { format!(" — {}", who.join(", ")) };
                let stands = review_loop.stands();
                // The number after the dot only tells two loops of one task apart.
                let name = review_loop.id.rsplit_once('.').map_or(review_loop.id.as_str(), |(name, _)| name);
                let text = format!("{name} {}/{} {stands}{who}", review_loop.round, review_loop.rounds_max);
                (Some(mark_of(review_loop)), text)
            })
            .collect(),
        View::Findings => view
            .findings
            .iter()
            .map(|finding| {
                let mark = match &finding.fate {
                    fate if fate.is_open() => Mark::Warning,
                    fate if fate.is_settled() && !fate.is_replaced() => Mark::Complete,
                    _ => Mark::Skipped,
                };
                (Some(mark), format!("{} ({})", finding.line(), finding.fate))
            })
            .collect(),
        View::Inbox => view
            .questions
            .iter()
            .map(|question| {
                let answered = question.answered.as_ref().map(|answer| format!(" (answered: {answer})"));
                let text = format!("{}: {}{}", question.subject, question.why, answered.unwrap_or_default());
                (Some(Mark::Warning), text)
            })
            .collect(),
        View::Events => {
            let text =
                |told: &tribunal_view::web::Told| format!("{:>6} {:<13} {}", told.when, told.of, told.text);
            model.shown.tail.iter().map(|told| (None, text(told))).collect()
        }
        View::Runs => model
            .runs
            .iter()
            .map(|line| {
                let live = if line.live { ", live" } else { "" };
                let (merged, all) = line.plans;
                let text = format!("{} {} {}{live} {merged}/{all} merged", line.id, line.phase, line.stands);
                (line.mark.or(Some(Mark::Failed)), text)
            })
            .collect(),
    }
}

fn mark_of(review_loop: &LoopView) -> Mark {
    match &review_loop.outcome {
        None if review_loop.state == LoopStage::Waiting => Mark::Warning,
        None => Mark::Running,
        Some(outcome) if outcome.is_good() => Mark::Complete,
        Some(_) => Mark::Failed,
    }
}

/// Draws the selected entry in full.
fn full(frame: &mut Frame<'_>, area: Rect, model: &Model, state: &mut State) {
    let style = Words { colour: false, width: usize::from(area.width.saturating_sub(2)).max(20) };
    let text = text(model, state, style);
    let lines = u16::try_from(text.lines().count()).unwrap_or(u16::MAX);
    // The keys know nothing of the text's length, so the scroll position is limited here.
    state.scroll = state.scroll.min(lines.saturating_sub(1));
    let block = Block::new().borders(Borders::TOP);
    let paragraph = Paragraph::new(text).wrap(Wrap { trim: false }).scroll((state.scroll, 0)).block(block);
    frame.render_widget(paragraph, area);
}

fn text(model: &Model, state: &State, style: Words) -> String {
    let view = &model.shown.view;
    let at = state.selected();
    match state.view {
        View::Loops => {
            let Some(review_loop) = state.loop_of(view) else { return view.happened.clone() };
            let mut text = detail::one_loop(review_loop, view, style);
            if !model.output.is_empty() {
                text.push_str("  at work now, last lines\n");
                model.output.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
            }
            text
        }
        View::Findings => view.findings.get(at).map(|one| detail::finding(one, style)).unwrap_or_default(),
        View::Inbox => view.questions.get(at).map(|one| question::text(one, style)).unwrap_or_default(),
        View::Events => {
            model.shown.tail.get(at).map(|told| format!("#{} {}", told.seq, told.text)).unwrap_or_default()
        }
        View::Runs => {
            model.runs.get(at).map(|line| format!("Enter looks at run {}", line.id)).unwrap_or_default()
        }
    }
}

/// The end of a text that may be too long for its place.
fn last(text: &str, most: usize) -> String {
    let skip = text.chars().count().saturating_sub(most);
    text.chars().skip(skip).collect()
}

/// Draws the answers to choose from, over everything else.
fn choices(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let Some((question, at)) = &state.choosing else { return };
    let offers = answers(question);
    let items: Vec<ListItem<'_>> =
        offers.iter().map(|offer| ListItem::new(format!("{}: {}", offer.word, offer.meaning))).collect();
    let height = u16::try_from(offers.len()).unwrap_or(5).saturating_add(2).min(area.height);
    let note = match (state.writing, state.note.as_str()) {
        (true, note) => format!(" note: {}_ (Enter keeps it, Esc does not) ", last(note, 30)),
        (false, "") => " n adds a note ".to_owned(),
        (false, note) => format!(" note: {} ", last(note, 50)),
    };
    let width = area.width.saturating_sub(4).min(70);
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    let title = format!(" Answer to {} (Enter decides, Esc leaves) ", question.id);
    let list = List::new(items)
        .block(Block::bordered().title(title).title_bottom(note))
        .highlight_symbol("> ")
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    // Without it the text below would show through.
    frame.render_widget(Clear, place);
    frame.render_stateful_widget(list, place, &mut ListState::default().with_selected(Some(*at)));
}
