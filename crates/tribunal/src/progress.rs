//! Progress of a run on stderr: a live block on a terminal, plain lines otherwise. It only watches, and it never writes
//! to stdout.
//!
//! Drawing must not slow the engine down, so building the view is limited to a share of the time (`SHARE`) and clocks
//! tick on threads of their own. Nothing here is read back: a run looks the same with `--quiet`.

use crate::args::Globals;
use crate::facts::{self, Around};
use crate::out;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::ids::LoopId;
use tribunal_core::machine::Machine;
use tribunal_core::review_loop::{Loop, LoopWant};
use tribunal_engine::history::Chronicle;
use tribunal_engine::run_state::Fact;
use tribunal_engine::{RunState, Stamped, Watch};
use tribunal_process::lock;
use tribunal_view::events::{self, Kind};
use tribunal_view::facts::RunView;
use tribunal_view::style::Style;
use tribunal_view::{live, log, plain, question};

/// Building the view may take one part in this many of the time.
///
/// The cost grows with the run, so a fixed interval would be too slow for a small run and too costly for a large one.
const SHARE: u32 = 20;
/// How long a log stays silent while something is at work.
const BEAT: Duration = Duration::from_secs(4);
/// How often the thread checks for silence. Much shorter than `BEAT`, because on a busy machine a check may come late.
const LOOK: Duration = Duration::from_millis(250);
/// How many of those at work one line names.
const NAMED: usize = 3;
/// How often the clock of the block moves.
const TICK: Duration = Duration::from_secs(1);

/// How much is shown: nothing, plain lines, or a block that is redrawn in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Silent,
    Lines,
    Live,
}

/// Shows a run to a person while it runs.
///
/// The engine calls it after every commit (`Watch::committed`). It also collects the `Chronicle`, which the report at
/// the end needs, so it exists even where nothing is shown.
pub struct Progress {
    around: Around,
    began: u64,
    style: Style,
    mode: Mode,
    attached: bool,
    chronicle: Chronicle,
    made: Option<(Instant, Duration)>,
    screen: Arc<Mutex<Screen>>,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
    pulse: Arc<Mutex<Pulse>>,
}

/// Who is at work, so that a log without a terminal can name them during silence.
struct Pulse {
    /// By the loop that wants the work, or `RUN`.
    at_work: BTreeMap<String, BTreeMap<EffectId, Work>>,
    /// Work outside of the machines that the command waits for.
    beside: Option<(String, Instant)>,
    /// When the last line was written.
    said: Instant,
}

/// An effect that is wanted and has not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Work {
    since: Instant,
    /// True once it was started. Wanted work may still wait for a free slot, for a pause to end or for an account.
    began: bool,
}

/// The key of the run's own work; no loop has an empty name.
const RUN: &str = "";

impl Pulse {
    fn new(now: Instant) -> Pulse {
        Pulse { at_work: BTreeMap::new(), beside: None, said: now }
    }

    /// Takes everything that is wanted now. A resumed run commits no facts about what it wanted before.
    fn begin(&mut self, run_state: &RunState, now: Instant) {
        run_state.loops.values().for_each(|review_loop| self.of_loop(review_loop, now));
        self.of_run(run_state, now);
    }

    /// Takes the wants of those machines that the facts are about; nothing changed in the others.
    fn follow(&mut self, run_state: &RunState, facts: &[Stamped], now: Instant) {
        let touched: BTreeSet<&LoopId> = facts
            .iter()
            .filter_map(|stamped| if let Fact::Loop(id, _) = &stamped.fact { Some(id) } else { None })
            .collect();
        touched
            .into_iter()
            .filter_map(|id| run_state.loops.get(id))
            .for_each(|review_loop| self.of_loop(review_loop, now));
        if facts.iter().any(|stamped| matches!(stamped.fact, Fact::Run(_))) {
            self.of_run(run_state, now);
        }
    }

    fn of_loop(&mut self, review_loop: &Loop, now: Instant) {
        // A question and a deadline are wants too, but nobody is at work on them.
        let is_work = |want: &LoopWant| !matches!(want, LoopWant::Ask(_) | LoopWant::Wake { .. });
        let wants = review_loop.wants().into_iter().filter(|(_, want)| is_work(want));
        // A one-shot effect starts only after its intent is journaled; others have no intent and start as soon as they
        // are wanted.
        let began = |effect: &EffectId| !effect.step.is_one_shot() || review_loop.intents().has(effect);
        let work = wants.map(|(effect, _)| (began(&effect), effect)).collect();
        self.take(review_loop.id().as_str(), work, now);
    }

    /// Takes the run's own work: landings, summaries, checkpoints and the steps at the end. All of it has an intent.
    fn of_run(&mut self, run_state: &RunState, now: Instant) {
        let intents = run_state.run.iter().flat_map(|run| run.intents());
        let work = intents.map(|(effect, _)| (true, effect.clone())).collect();
        self.take(RUN, work, now);
    }

    fn take(&mut self, of: &str, work: Vec<(bool, EffectId)>, now: Instant) {
        let known = self.at_work.remove(of).unwrap_or_default();
        let each = |(began, effect): (bool, EffectId)| {
            // The clock starts again when waiting turns into running.
            let same = known.get(&effect).filter(|known| known.began == began);
            let since = same.map_or(now, |known| known.since);
            (effect, Work { since, began })
        };
        let work: BTreeMap<EffectId, Work> = work.into_iter().map(each).collect();
        // A loop without work leaves the map, or the map would grow with the run.
        if !work.is_empty() {
            self.at_work.insert(of.to_owned(), work);
        }
    }

    /// A line about those at work if nothing was written for a while: running work before waiting work, longest first.
    ///
    /// Without it a log in CI is silent for minutes while an agent works, and looks like a hang.
    fn beat(&mut self, now: Instant) -> Option<String> {
        if now.duration_since(self.said) < BEAT {
            return None;
        }
        let mut all: Vec<(&EffectId, &Work)> = self.at_work.values().flatten().collect();
        // `false` sorts first, so what runs comes before what waits.
        all.sort_by_key(|(_, work)| (!work.began, work.since));
        let s = |since: &Instant| now.duration_since(*since).as_secs();
        let name = |(effect, work): &(&EffectId, &Work)| {
            let how = if work.began { "running" } else { "waiting to start" };
            format!("{}: {how} for {} s", at_work(effect), s(&work.since))
        };
        let mut named: Vec<String> = all.iter().take(NAMED).map(name).collect();
        named.extend(self.beside.iter().map(|(what, since)| format!("{what}: running for {} s", s(since))));
        if all.len() > NAMED {
            named.push(format!("{} more", all.len() - NAMED));
        }
        // Set even if nobody is named: the next check is due after another silence.
        self.said = now;
        (!named.is_empty()).then(|| format!("  {}", named.join(", ")))
    }

    /// Those at work, longest first; `None` if nobody is.
    fn running(&self) -> Option<String> {
        let mut all: Vec<(&EffectId, &Work)> = self.at_work.values().flatten().collect();
        all.retain(|(_, work)| work.began);
        all.sort_by_key(|(_, work)| work.since);
        let mut named: Vec<String> = all.iter().take(NAMED).map(|(effect, _)| at_work(effect)).collect();
        named.extend(self.beside.iter().map(|(what, _)| what.clone()));
        if all.len() > NAMED {
            named.push(format!("{} more", all.len() - NAMED));
        }
        (!named.is_empty()).then(|| named.join(", "))
    }
}

/// Names who is at work on an effect.
///
/// A review has a single lane, so the name of its check is enough; with several lanes the name says whose check it is.
fn at_work(effect: &EffectId) -> String {
    let who = match &effect.step {
        // A loop of a lane is named `plan/…`; without a slash it is the loop of a review.
        Step::Check(check) if !effect.of.as_str().contains('/') => return plain::line(check.as_str()),
        Step::Track => "comparing findings".to_owned(),
        Step::Join => "joining fixes".to_owned(),
        step => events::who(step),
    };
    plain::line(&format!("{} {who}", effect.of))
}

/// The block on the terminal, and how many lines of it must be erased.
#[derive(Default)]
struct Screen {
    view: Option<RunView>,
    style: Style,
    rows: usize,
    drawn: usize,
}

impl Progress {
    /// Watches the run `id` from the state in `run state` and `chronicle`. With `attached`, questions are shown in full
    /// when they are asked.
    pub fn new(
        globals: &Globals,
        id: &str,
        run_state: &RunState,
        chronicle: Chronicle,
        attached: bool,
    ) -> Progress {
        let style = out::stderr_style(globals);
        let terminal = std::io::stderr().is_terminal();
        // No `TERM` at all counts as dumb: nothing says that cursor movements are understood.
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let mode = match (globals.quiet, terminal && !dumb) {
            (true, _) => Mode::Silent,
            (false, true) => Mode::Live,
            (false, false) => Mode::Lines,
        };
        let screen = Arc::new(Mutex::new(Screen { style, rows: 24, ..Screen::default() }));
        let mut pulse = Pulse::new(Instant::now());
        // A run that goes on has work under way that no later fact will name.
        pulse.begin(run_state, Instant::now());
        let pulse = Arc::new(Mutex::new(pulse));
        let ticker = match mode {
            Mode::Live => tick(Arc::clone(&screen)),
            Mode::Lines => beats(Arc::clone(&pulse)),
            Mode::Silent => None,
        };
        let around = Around { id: id.to_owned(), live: true, ..Around::default() };
        Progress { around, began: 0, style, mode, attached, chronicle, made: None, screen, ticker, pulse }
    }

    /// A function that prints a line beside the block, from any thread.
    ///
    /// Printing to stderr directly would leave the line in the middle of the block, and the next redraw would erase it.
    pub fn speaker(&self) -> impl Fn(&str) + Send + 'static {
        let (screen, live) = (Arc::clone(&self.screen), self.mode == Mode::Live);
        move |text| if live { lock(&screen).show(&[text.to_owned()], None) } else { out::say(text) }
    }

    /// A function that names who is at work, from any thread; whoever stops the run is told whom it waits for.
    pub fn at_work(&self) -> impl Fn() -> Option<String> + Send + 'static {
        let pulse = Arc::clone(&self.pulse);
        move || lock(&pulse).running()
    }

    /// The machines are done, and the command now waits for `what`.
    pub fn waits_for(&self, what: &str) {
        let mut pulse = lock(&self.pulse);
        pulse.at_work.clear();
        pulse.beside = Some((what.to_owned(), Instant::now()));
    }

    /// Takes the block off the screen and returns the chronicle it collected.
    pub fn finish(mut self) -> Chronicle {
        if let Some((stop, thread)) = self.ticker.take() {
            // The thread ends when the channel closes, so the sender goes before the join.
            drop(stop);
            let _ = thread.join();
        }
        lock(&self.screen).clear();
        std::mem::take(&mut self.chronicle)
    }

    fn lines(&self, run_state: &RunState, facts: &[Stamped]) -> Vec<String> {
        let mut lines = Vec::new();
        for stamped in facts {
            let event = facts::event(&self.around.id, 0, stamped.at.0, &stamped.fact);
            let Some(event) = event.filter(|event| log::matters(&event.what)) else { continue };
            lines.push(log::line(&event, self.began, self.style));
            // A person who stays attached until the question is answered needs its commands now, not in the report.
            if self.attached && matches!(event.what, Kind::Asked { .. }) {
                let open = facts::questions(run_state, &self.around.id);
                lines.extend(open.iter().map(|open| question::text(open, self.style).trim_end().to_owned()));
            }
        }
        lines
    }
}

impl Watch for Progress {
    fn committed(&mut self, run_state: &RunState, facts: &[Stamped]) {
        // Before the early returns: the report needs the chronicle in every mode.
        self.chronicle.extend(facts);
        lock(&self.pulse).follow(run_state, facts, Instant::now());
        if self.mode == Mode::Silent {
            return;
        }
        self.began = run_state.began.map_or(0, |began| began.0);
        let lines = self.lines(run_state, facts);
        // A log gets every line at once; there is no block to protect.
        if self.mode == Mode::Lines {
            if !lines.is_empty() {
                lock(&self.pulse).said = Instant::now();
            }
            lines.iter().for_each(|line| out::say(line));
            return;
        }
        let began = Instant::now();
        // The cost of the last view sets the pause before the next one. A skipped view is not lost: the next commit
        // draws it.
        let due = self.made.is_none_or(|(at, cost)| began.duration_since(at) >= cost * SHARE);
        let view = due.then(|| facts::run_view(run_state, &self.chronicle, &self.around));
        if view.is_some() {
            self.made = Some((began, began.elapsed()));
        }
        if view.is_some() || !lines.is_empty() {
            lock(&self.screen).show(&lines, view);
        }
    }
}

impl Screen {
    fn show(&mut self, lines: &[String], view: Option<RunView>) {
        if view.is_some() {
            self.view = view;
        }
        self.resize();
        let mut text = self.erasing();
        lines.iter().for_each(|line| {
            text.push_str(line);
            text.push('\n');
        });
        // At most half of the screen, so that the lines above it stay readable.
        let block = self.view.as_ref().map(|view| live::block(view, now(), self.style, self.rows / 2));
        let block = block.unwrap_or_default();
        block.iter().for_each(|line| {
            text.push_str(line);
            text.push('\n');
        });
        self.drawn = block.len();
        write(&text);
    }

    fn clear(&mut self) {
        let text = self.erasing();
        self.drawn = 0;
        self.view = None;
        write(&text);
    }

    /// The control sequence that moves up over the block and erases everything below.
    fn erasing(&self) -> String {
        if self.drawn == 0 { String::new() } else { format!("\r\u{1b}[{}A\u{1b}[J", self.drawn) }
    }

    fn resize(&mut self) {
        // Read before every draw: a block that is wider than the window wraps, and `erasing` would miss lines.
        if let Some((columns, rows)) = out::size(rustix::stdio::stderr()) {
            self.style.width = columns;
            self.rows = rows;
        }
    }
}

/// Starts a thread that breaks the silence of a log, until the sender is dropped.
fn beats(pulse: Arc<Mutex<Pulse>>) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = channel();
    let work = move || {
        while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let line = lock(&pulse).beat(Instant::now());
            line.iter().for_each(|line| out::say(line));
        }
    };
    // If the thread cannot start, the log is silent and the run is not affected.
    let thread = std::thread::Builder::new().name("pulse".to_owned()).spawn(work).ok()?;
    Some((stop, thread))
}

/// Starts a thread that redraws the block every second, until the sender is dropped.
fn tick(screen: Arc<Mutex<Screen>>) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = channel();
    let work = move || {
        while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            lock(&screen).show(&[], None);
        }
    };
    // If the thread cannot start, only the clock stands still.
    let thread = std::thread::Builder::new().name("clock".to_owned()).spawn(work).ok()?;
    Some((stop, thread))
}

fn write(text: &str) {
    // One write, so that lines of two threads do not mix. A closed terminal is ignored.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tribunal_core::effect::{FinishStep, Try};
    use tribunal_core::ids::{Builder, Check, Of, Reviewer, Time};

    fn effect(of: &str, step: Step) -> EffectId {
        EffectId { of: Of::new(of), entry: 1, step, n: Try::default(), launch: 0 }
    }

    #[test]
    fn a_log_is_never_silent_while_something_is_at_work() {
        let began = Instant::now();
        let mut pulse = Pulse::new(began);
        let at = |s: u64| began + Duration::from_secs(s);
        assert_eq!(pulse.beat(at(9)), None, "nobody is at work");
        let lint = effect("phase.1", Step::Check(Check::new("clippy")));
        pulse.take("phase.1", vec![(true, lint)], began);
        assert_eq!(pulse.beat(at(10)), None, "something was said a second ago");
        assert_eq!(pulse.beat(at(14)).as_deref(), Some("  clippy: running for 14 s"));
        assert_eq!(pulse.beat(at(15)), None);
        assert_eq!(pulse.beat(at(18)).as_deref(), Some("  clippy: running for 18 s"));
        // With room for a machine that is busy with something else.
        assert!(BEAT + LOOK * 2 < Duration::from_secs(5));
    }

    #[test]
    fn every_step_has_words_and_what_waits_is_not_called_running() {
        let began = Instant::now();
        let at = |s: u64| began + Duration::from_secs(s);
        for (of, step, expect) in [
            ("01-02/task-1.3", Step::Make(Builder::new("dev")), "01-02/task-1.3 dev"),
            ("01-02/task-1.3", Step::Judge(Reviewer::new("loop-reviewer")), "01-02/task-1.3 loop-reviewer"),
            ("01-02/task-1.3", Step::Check(Check::new("verification")), "01-02/task-1.3 verification"),
            ("phase.1", Step::Track, "phase.1 comparing findings"),
            ("phase.1", Step::Join, "phase.1 joining fixes"),
            ("01-02", Step::Land, "01-02 landing"),
            ("01-02", Step::Summary, "01-02 summary"),
            ("run", Step::Finish(FinishStep::Push), "run push"),
        ] {
            let mut pulse = Pulse::new(began);
            pulse.take(RUN, vec![(true, effect(of, step.clone()))], began);
            assert_eq!(pulse.beat(at(4)), Some(format!("  {expect}: running for 4 s")));
            pulse.take(RUN, vec![(false, effect(of, step))], at(4));
            assert_eq!(pulse.beat(at(8)), Some(format!("  {expect}: waiting to start for 4 s")));
            pulse.take(RUN, Vec::new(), at(8));
            assert_eq!(pulse.beat(at(12)), None, "it has reported");
            pulse.beside = Some(("run.on_end".to_owned(), at(12)));
            assert_eq!(pulse.beat(at(16)).as_deref(), Some("  run.on_end: running for 4 s"));
        }
    }

    /// A run that goes on begins with what was under way: no fact tells of it again.
    #[test]
    fn who_is_waited_for_is_named() {
        let mut pulse = Pulse::new(Instant::now());
        assert_eq!(pulse.running(), None);
        let work = |began: bool, of: &str| (began, effect(of, Step::Make(Builder::new("dev"))));
        pulse.take("01-01/task-1", vec![work(true, "01-01/task-1")], Instant::now());
        pulse.take("01-02/task-1", vec![work(false, "01-02/task-1")], Instant::now());
        let named = pulse.running().unwrap_or_default();
        assert!(named.starts_with("01-01/task-1") && !named.contains("01-02"), "{named}");
    }

    #[test]
    fn what_was_wanted_before_is_told_as_well() {
        let mut run_state = RunState::default();
        let turns = facts::tests::facts();
        for fact in turns.iter().take(3).flatten() {
            run_state.apply(Time(1), fact).unwrap();
        }
        let began = Instant::now();
        let at = |s: u64| began + Duration::from_secs(s);
        let mut pulse = Pulse::new(began);
        pulse.begin(&run_state, began);
        let line = pulse.beat(at(4));
        assert_eq!(line.as_deref(), Some("  01-01/plan.1 reviewer: running for 4 s"));
        // It answers, and is not at work any more.
        let stamp = |fact: &Fact| Stamped { seq: 0, at: Time(2), fact: fact.clone() };
        let answered: Vec<Stamped> = turns[3].iter().map(stamp).collect();
        answered.iter().for_each(|stamped| run_state.apply(stamped.at, &stamped.fact).unwrap());
        pulse.follow(&run_state, &answered, at(5));
        assert_eq!(pulse.beat(at(9)).as_deref(), Some("  01-01/plan.1 comparing findings: running for 4 s"));
    }
}
