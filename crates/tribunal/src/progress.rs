//! Progress of a run on stderr: a live block on a terminal, plain lines otherwise. It watches; it never slows the
//! engine down to draw, and never writes to stdout.

use crate::args::Globals;
use crate::facts::{self, Around, Chronicle};
use crate::out;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::ids::LoopId;
use tribunal_core::r#loop::LoopWant;
use tribunal_core::machine::Machine;
use tribunal_engine::docket::Fact;
use tribunal_engine::{Docket, Stamped, Watch};
use tribunal_view::events::Kind;
use tribunal_view::facts::RunView;
use tribunal_view::style::Style;
use tribunal_view::{live, log, plain, question};

/// Making the view may take one part in so many of the time.
const SHARE: u32 = 20;
/// How long a log may be silent while something is at work.
const BEAT: Duration = Duration::from_secs(4);
/// Those at work that one line names.
const NAMED: usize = 3;
/// How often the clock of the block moves.
const TICK: Duration = Duration::from_secs(1);

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Silent,
    Lines,
    Live,
}

/// Watches a run for a person.
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

/// Who is at work, so that a log without a terminal can say so.
struct Pulse {
    at_work: BTreeMap<LoopId, BTreeMap<EffectId, Instant>>,
    /// When something was last written.
    said: Instant,
}

impl Pulse {
    /// Takes what loops want done now; of others nothing changed.
    fn follow(&mut self, docket: &Docket, facts: &[Stamped]) {
        let touched: BTreeSet<&LoopId> = facts
            .iter()
            .filter_map(|stamped| if let Fact::Loop(id, _) = &stamped.fact { Some(id) } else { None })
            .collect();
        for id in touched {
            let Some(lp) = docket.loops.get(id) else { continue };
            let known = self.at_work.remove(id).unwrap_or_default();
            let is_work = |want: &LoopWant| !matches!(want, LoopWant::Ask(_) | LoopWant::Wake { .. });
            let wants = lp.wants().into_iter().filter(|(_, want)| is_work(want));
            let now: BTreeMap<EffectId, Instant> = wants
                .map(|(effect, _)| {
                    let since = known.get(&effect).copied().unwrap_or_else(Instant::now);
                    (effect, since)
                })
                .collect();
            if !now.is_empty() {
                self.at_work.insert(id.clone(), now);
            }
        }
    }

    /// A line about those at work, where nothing was said for a while.
    fn beat(&mut self, now: Instant) -> Option<String> {
        if now.duration_since(self.said) < BEAT {
            return None;
        }
        let all: Vec<(&EffectId, &Instant)> = self.at_work.values().flatten().collect();
        let name = |(effect, since): &(&EffectId, &Instant)| {
            let s = now.duration_since(**since).as_secs();
            format!("{}: running for {s} s", at_work(effect))
        };
        let mut named: Vec<String> = all.iter().take(NAMED).map(name).collect();
        if all.len() > NAMED {
            named.push(format!("{} more", all.len() - NAMED));
        }
        self.said = now;
        (!named.is_empty()).then(|| format!("  {}", named.join(", ")))
    }
}

/// Who is at work on an effect: a tool or check by its name alone.
fn at_work(effect: &EffectId) -> String {
    let who = match &effect.step {
        Step::Check(check) => return check.to_string(),
        Step::Make(maker) => maker.to_string(),
        Step::Judge(seat) => seat.to_string(),
        _ => return plain::line(&effect.to_string()),
    };
    plain::line(&format!("{} {who}", effect.of))
}

/// What is on the terminal.
#[derive(Default)]
struct Screen {
    view: Option<RunView>,
    style: Style,
    rows: usize,
    drawn: usize,
}

impl Progress {
    /// Watches the run `id` that begins or goes on with `chronicle`.
    pub fn new(globals: &Globals, id: &str, chronicle: Chronicle, attached: bool) -> Progress {
        let style = out::stderr_style(globals);
        let terminal = std::io::stderr().is_terminal();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let mode = match (globals.quiet, terminal && !dumb) {
            (true, _) => Mode::Silent,
            (false, true) => Mode::Live,
            (false, false) => Mode::Lines,
        };
        let screen = Arc::new(Mutex::new(Screen { style, rows: 24, ..Screen::default() }));
        let pulse = Pulse { at_work: BTreeMap::new(), said: Instant::now() };
        let pulse = Arc::new(Mutex::new(pulse));
        let ticker = match mode {
            Mode::Live => tick(Arc::clone(&screen)),
            Mode::Lines => beats(Arc::clone(&pulse)),
            Mode::Silent => None,
        };
        let around = Around { id: id.to_owned(), live: true, ..Around::default() };
        Progress { around, began: 0, style, mode, attached, chronicle, made: None, screen, ticker, pulse }
    }

    /// Says something beside the block, from any thread.
    pub fn speaker(&self) -> impl Fn(&str) + Send + 'static {
        let (screen, live) = (Arc::clone(&self.screen), self.mode == Mode::Live);
        move |text| if live { lock(&screen).show(&[text.to_owned()], None) } else { out::say(text) }
    }

    /// Takes the block off the screen and gives back what it heard.
    pub fn finish(mut self) -> Chronicle {
        if let Some((stop, thread)) = self.ticker.take() {
            drop(stop);
            let _ = thread.join();
        }
        lock(&self.screen).clear();
        std::mem::take(&mut self.chronicle)
    }

    fn lines(&self, docket: &Docket, facts: &[Stamped]) -> Vec<String> {
        let mut lines = Vec::new();
        for stamped in facts {
            let event = facts::event(&self.around.id, 0, stamped.at.0, &stamped.fact);
            let Some(event) = event.filter(|event| log::matters(&event.what)) else { continue };
            lines.push(log::line(&event, self.began, self.style));
            // Who stays until it is answered needs the words of the answer now, not at the end.
            if self.attached && matches!(event.what, Kind::Asked { .. }) {
                let open = facts::questions(docket, &self.around.id);
                lines.extend(open.iter().map(|open| question::text(open, self.style).trim_end().to_owned()));
            }
        }
        lines
    }
}

impl Watch for Progress {
    fn committed(&mut self, docket: &Docket, facts: &[Stamped]) {
        self.chronicle.extend(facts);
        if self.mode == Mode::Silent {
            return;
        }
        self.began = docket.began.map_or(0, |began| began.0);
        let lines = self.lines(docket, facts);
        if self.mode == Mode::Lines {
            let mut pulse = lock(&self.pulse);
            pulse.follow(docket, facts);
            if !lines.is_empty() {
                pulse.said = Instant::now();
            }
            lines.iter().for_each(|line| out::say(line));
            return;
        }
        let began = Instant::now();
        let due = self.made.is_none_or(|(at, cost)| began.duration_since(at) >= cost * SHARE);
        let view = due.then(|| facts::run_view(docket, &self.chronicle, &self.around));
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

    /// Up over the block, and everything below away.
    fn erasing(&self) -> String {
        if self.drawn == 0 { String::new() } else { format!("\r\u{1b}[{}A\u{1b}[J", self.drawn) }
    }

    fn resize(&mut self) {
        if let Some((columns, rows)) = out::size(rustix::stdio::stderr()) {
            self.style.width = columns;
            self.rows = rows;
        }
    }
}

/// Says who is at work where a log would be silent, until the sender is gone.
fn beats(pulse: Arc<Mutex<Pulse>>) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = channel();
    let work = move || {
        while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let line = lock(&pulse).beat(Instant::now());
            line.iter().for_each(|line| out::say(line));
        }
    };
    // Without the thread the log is only silent.
    let thread = std::thread::Builder::new().name("pulse".to_owned()).spawn(work).ok()?;
    Some((stop, thread))
}

/// Redraws once per second, until the sender is gone.
fn tick(screen: Arc<Mutex<Screen>>) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = channel();
    let work = move || {
        while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            lock(&screen).show(&[], None);
        }
    };
    // Without the thread only the clock stands still.
    let thread = std::thread::Builder::new().name("clock".to_owned()).spawn(work).ok()?;
    Some((stop, thread))
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(text: &str) {
    // One write, so that two threads' lines do not mix; a closed terminal is nobody's failure.
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
    use tribunal_core::effect::Try;
    use tribunal_core::ids::{Check, Of};

    #[test]
    fn a_log_is_never_silent_while_something_is_at_work() {
        let began = Instant::now();
        let mut pulse = Pulse { at_work: BTreeMap::new(), said: began };
        let at = |s: u64| began + Duration::from_secs(s);
        assert_eq!(pulse.beat(at(9)), None, "nobody is at work");
        let of = |name: &str, step: Step| EffectId {
            of: Of::new(name),
            entry: 1,
            step,
            n: Try::default(),
            launch: 0,
        };
        let lint = of("phase.1", Step::Check(Check::new("clippy")));
        pulse.at_work.insert(LoopId::new("phase.1"), BTreeMap::from([(lint, began)]));
        assert_eq!(pulse.beat(at(10)), None, "something was said a second ago");
        assert_eq!(pulse.beat(at(14)).as_deref(), Some("  clippy: running for 14 s"));
        assert_eq!(pulse.beat(at(15)), None);
        assert_eq!(pulse.beat(at(18)).as_deref(), Some("  clippy: running for 18 s"));
    }
}
