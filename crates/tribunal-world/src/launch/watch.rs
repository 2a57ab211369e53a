//! Watches running agents by what they print and do: turns, calls, silence. It never judges an answer.
//!
//! An agent whose processes are using the processor is never ended for being silent: it may be compiling. The deadline
//! is not kept here but by the loop machine.

use crate::context::{STOP_GRACE, lock};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tribunal_agent::{Outcome, Parser, Reading};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::review_loop::{Failure, FailureKind};

/// How often running agents are looked at.
const TICK: Duration = Duration::from_millis(250);
/// How many bytes of one file are read in one look. A flood of output must not keep the other agents waiting.
const PIECE_MAX: u64 = 4 << 20;
/// How much of an unfinished line is kept.
const TAIL_MAX: usize = 200;
/// How long a question must stand unanswered before it counts as a prompt.
const PROMPT: Duration = Duration::from_secs(10);
/// Processes that use less of one processor than this are idle, in hundredths of a second per second.
const BUSY_TICKS_PER_S: u64 = 2;

/// The fraction of a small disk that stays free, as a divisor.
const SMALL_PART: u64 = 20;

/// How far an agent may go before it is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The maximum number of turns, if the program does not enforce the cap itself.
    pub(crate) turns_max: Option<u32>,
    /// How long it may print nothing while its processes are idle; zero means no limit.
    pub(crate) silent: Duration,
    /// How long it may print without a new turn or call; zero means no limit.
    pub(crate) stall: Duration,
    /// How often it may make the same call in a row; zero means no limit.
    pub(crate) same_call_max: usize,
    /// It may write, and is stopped when the disk gets full.
    pub(crate) writes: bool,
}

/// The disk that agents write to, and how much of it stays free. The journal of the run needs room, too.
#[derive(Clone)]
pub(crate) struct Disk {
    /// A path on the disk.
    pub(crate) at: PathBuf,
    /// How many bytes stay free; on a small disk a fraction of it.
    pub(crate) free: u64,
}

impl Disk {
    fn is_short(&self) -> Option<Failure> {
        let disk =
            rustix::fs::statvfs(&self.at).ok().filter(|_| self.free > 0 && stands(Defence::DiskCap))?;
        let kept = self.free.min(disk.f_blocks.saturating_mul(disk.f_frsize) / SMALL_PART);
        let left = disk.f_bavail.saturating_mul(disk.f_frsize);
        let text = format!("only {} MB are left on the disk: agents that write are stopped", left >> 20);
        (left < kept).then(|| Failure::new(FailureKind::Setup, text))
    }
}

/// What is seen of an agent at one look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Signs {
    turns: u64,
    same_call: usize,
    /// How long nothing was printed.
    silent: Duration,
    /// How long there was no new turn or call.
    stalled: Duration,
    /// Its processes use the processor.
    busy: bool,
    /// Its last line is unfinished and asks something.
    asks: bool,
}

/// Why an agent is ended, if it is.
fn judge(signs: &Signs, limits: &Limits) -> Option<Failure> {
    let over = |time: Duration, limit: Duration| !limit.is_zero() && time >= limit;
    if let Some(max) = limits.turns_max.filter(|max| signs.turns > u64::from(*max)) {
        let text = format!("it took {} turns, more than {max}", signs.turns);
        return Some(Failure::new(FailureKind::TurnCap, text));
    }
    if limits.same_call_max > 0 && signs.same_call >= limits.same_call_max {
        let text = format!("it made the same call {} times in a row", signs.same_call);
        return Some(Failure::new(FailureKind::Stalled, text));
    }
    if signs.asks && !signs.busy && signs.silent >= PROMPT {
        let text = "it waits at a prompt, and nobody is there to answer";
        return Some(Failure::new(FailureKind::PromptWait, text));
    }
    if over(signs.silent, limits.silent) && !signs.busy {
        let text = format!("it printed nothing and did nothing for {} s", signs.silent.as_secs());
        return Some(Failure::new(FailureKind::Stalled, text));
    }
    // Only while it prints: silence has its own limit, which spares agents that are busy.
    if over(signs.stalled, limits.stall) && signs.silent < TICK * 4 {
        let text = format!("it prints, but took no step for {} s", signs.stalled.as_secs());
        return Some(Failure::new(FailureKind::Stalled, text));
    }
    None
}

/// Whether an unfinished line asks for an answer.
fn asks(tail: &[u8]) -> bool {
    let text = String::from_utf8_lossy(tail);
    let line = text.trim_end().to_lowercase();
    let ends =
        ["?", "[y/n]", "(y/n)", "(yes/no)", "[yes/no]", "password:", "passphrase:", "to continue", "(y/n):"];
    // A line that begins with a brace is half of a JSON event, whatever it ends with.
    !line.starts_with('{') && !line.is_empty() && ends.iter().any(|end| line.ends_with(end))
}

/// A growing file, read from where the last look ended.
struct Tail {
    path: PathBuf,
    file: Option<File>,
    /// The last line while it is unfinished.
    open: Vec<u8>,
}

impl Tail {
    fn new(path: PathBuf) -> Tail {
        Tail { path, file: None, open: Vec::new() }
    }

    /// The new bytes. A file that cannot be read does not exist yet.
    fn more(&mut self) -> Vec<u8> {
        // The file may not exist yet at the first look.
        if self.file.is_none() {
            self.file = tribunal_agent::open_plain(&self.path).ok().flatten();
        }
        let mut bytes = Vec::new();
        if let Some(file) = &mut self.file {
            let _ = file.take(PIECE_MAX).read_to_end(&mut bytes);
        }
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => self.open = bytes[end + 1..].to_vec(),
            None => self.open.extend_from_slice(&bytes),
        }
        // The end is kept, because that is where a question stands.
        let cut = self.open.len().saturating_sub(TAIL_MAX);
        self.open.drain(..cut);
        bytes
    }
}

/// An agent under watch.
pub(crate) struct Watched {
    id: String,
    /// The marker of its processes.
    run_marker: String,
    reading: Reading,
    /// Its output shows steps. Without steps, every output counts as progress.
    has_steps: bool,
    stdout: Tail,
    stderr: Tail,
    limits: Limits,
    printed_at: Instant,
    stepped_at: Instant,
    steps: (u64, usize, u64),
    /// When its processes were first looked at after it fell silent, and their processor time then.
    idle_since: Option<(Instant, u64)>,
}

impl Watched {
    /// Watches the launch with this folder.
    pub(crate) fn new(
        id: String,
        run_marker: String,
        reading: Reading,
        parser: Parser,
        dir: &Path,
        limits: Limits,
    ) -> Watched {
        let now = Instant::now();
        Watched {
            id,
            run_marker,
            reading,
            // These forms show no single turns or calls while the agent works.
            has_steps: !matches!(
                parser,
                Parser::Text | Parser::Json | Parser::GeminiJson | Parser::AiderText
            ),
            stdout: Tail::new(dir.join("stdout")),
            stderr: Tail::new(dir.join("stderr")),
            limits,
            printed_at: now,
            stepped_at: now,
            steps: (0, 0, 0),
            idle_since: None,
        }
    }

    /// Reads what is new and says why the agent has to be ended, if it has to.
    fn look(&mut self, now: Instant) -> Option<Failure> {
        let (out, err) = (self.stdout.more(), self.stderr.more());
        self.reading.stdout(&out);
        self.reading.stderr(&err);
        let printed = !out.is_empty() || !err.is_empty();
        let seen = self.reading.so_far();
        let steps = steps(seen);
        if printed {
            self.printed_at = now;
            self.idle_since = None;
        }
        if steps != self.steps || (printed && !self.has_steps) {
            self.steps = steps;
            self.stepped_at = now;
        }
        let signs = Signs {
            turns: seen.turns,
            same_call: seen.same_call_again(),
            silent: now.duration_since(self.printed_at),
            stalled: now.duration_since(self.stepped_at),
            asks: asks(&self.stdout.open) || asks(&self.stderr.open),
            busy: false,
        };
        // Listing processes is expensive, so it is only done when everything else speaks for an end.
        judge(&signs, &self.limits)?;
        let busy = self.is_busy(now, signs.silent);
        judge(&Signs { busy, ..signs }, &self.limits)
    }

    /// Whether its processes used the processor since it fell silent. Two looks are needed to tell; until the second it
    /// counts as busy.
    fn is_busy(&mut self, now: Instant, silent: Duration) -> bool {
        if silent < PROMPT {
            return false;
        }
        let ticks = tribunal_process::processor_ticks(&self.run_marker, &self.id);
        let (since, before) = *self.idle_since.get_or_insert((now, ticks));
        let span = now.duration_since(since);
        if span < Duration::from_secs(2) {
            return true;
        }
        let busy = ticks.saturating_sub(before) > span.as_secs() * BUSY_TICKS_PER_S;
        if busy {
            // It works silently, and may go on for as long again.
            self.printed_at = now;
            self.idle_since = None;
        }
        busy
    }
}

fn steps(seen: &Outcome) -> (u64, usize, u64) {
    (seen.turns, seen.calls.len(), seen.calls_more + seen.retries)
}

enum Order {
    Watch(Box<Watched>),
    Forget(String),
}

/// The thread that looks at running agents. It ends when this is dropped.
pub(crate) struct Watch {
    orders: Sender<Order>,
    ended: Arc<Mutex<BTreeMap<String, Failure>>>,
    disk: Disk,
}

impl Watch {
    /// Starts the thread. `stop` ends a launch after giving it this long to end by itself.
    pub(crate) fn new(disk: Disk, stop: impl Fn(&str, Duration) + Send + 'static) -> std::io::Result<Watch> {
        let (orders, inbox) = mpsc::channel();
        let ended: Arc<Mutex<BTreeMap<String, Failure>>> = Arc::default();
        let why = Arc::clone(&ended);
        let thread = std::thread::Builder::new().name("watch".to_owned());
        let watched = disk.clone();
        thread.spawn(move || watch(&inbox, &why, &watched, &stop))?;
        Ok(Watch { orders, ended, disk })
    }

    /// Why nothing more may be written to the disk, if it is short of space.
    pub(crate) fn is_short_of_disk(&self) -> Option<Failure> {
        self.disk.is_short()
    }

    /// Watches a launch until `end` is called for it.
    pub(crate) fn begin(&self, watched: Watched) {
        // Sending only fails when the thread is gone, and then only the deadline is left to end the launch.
        let _ = self.orders.send(Order::Watch(Box::new(watched)));
    }

    /// Ends the watch of a launch. Returns why, if it was the watch that stopped it.
    pub(crate) fn end(&self, id: &str) -> Option<Failure> {
        let _ = self.orders.send(Order::Forget(id.to_owned()));
        lock(&self.ended).remove(id)
    }
}

/// The loop of the watching thread. It ends when the last sender of orders is gone.
fn watch(
    inbox: &Receiver<Order>,
    ended: &Mutex<BTreeMap<String, Failure>>,
    disk: &Disk,
    stop: &dyn Fn(&str, Duration),
) {
    let mut all: BTreeMap<String, Box<Watched>> = BTreeMap::new();
    let mut next = Instant::now();
    loop {
        // Without anything to watch the thread sleeps until an order comes.
        let order = match all.is_empty() {
            true => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => inbox.recv_timeout(next.saturating_duration_since(Instant::now())),
        };
        match order {
            Ok(Order::Watch(watched)) => drop(all.insert(watched.id.clone(), watched)),
            Ok(Order::Forget(id)) => drop(all.remove(&id)),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Instant::now();
        // An order arrived before the tick was due.
        if now < next {
            continue;
        }
        next = now + TICK;
        let short = disk.is_short();
        // No grace: an agent that fills the disk would fill it in that time.
        let full =
            |watched: &Watched| Some((short.clone().filter(|_| watched.limits.writes)?, Duration::ZERO));
        all.retain(|id, watched| match full(watched).or_else(|| Some((watched.look(now)?, STOP_GRACE))) {
            None => true,
            Some((failure, grace)) => {
                // Recorded before the stop, because the launch may end, and `end` be called, at once.
                lock(ended).insert(id.clone(), failure);
                stop(id, grace);
                false
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_makes_no_progress_is_ended_for_a_named_reason() {
        let s = Duration::from_secs;
        let limits =
            Limits { turns_max: Some(10), silent: s(60), stall: s(300), same_call_max: 5, writes: true };
        let check = |signs: Signs, expect: Option<FailureKind>| {
            assert_eq!(judge(&signs, &limits).map(|failure| failure.kind), expect, "{signs:?}");
        };
        let fine = Signs { turns: 10, same_call: 4, ..Signs::default() };
        check(fine, None);
        check(Signs { turns: 11, ..fine }, Some(FailureKind::TurnCap));
        check(Signs { same_call: 5, ..fine }, Some(FailureKind::Stalled));
        check(Signs { silent: s(59), ..fine }, None);
        check(Signs { silent: s(60), ..fine }, Some(FailureKind::Stalled));
        check(Signs { silent: s(3000), busy: true, ..fine }, None);
        check(Signs { silent: s(9), asks: true, ..fine }, None);
        check(Signs { silent: s(10), asks: true, ..fine }, Some(FailureKind::PromptWait));
        check(Signs { silent: s(10), asks: true, busy: true, ..fine }, None);
        check(Signs { stalled: s(300), ..fine }, Some(FailureKind::Stalled));
        check(Signs { stalled: s(300), silent: s(30), ..fine }, None);
        let none = Limits::default();
        assert_eq!(judge(&Signs { turns: 9999, same_call: 99, silent: s(99_999), ..fine }, &none), None);
    }

    #[test]
    fn a_line_without_its_end_may_be_a_prompt() {
        let check = |tail: &str, expect: bool| assert_eq!(asks(tail.as_bytes()), expect, "{tail:?}");
        check("Do you trust this folder? ", true);
        check("Overwrite [y/N]", true);
        check("Password:", true);
        check("", false);
        check("{\"type\":\"message\",\"text\":\"why?", false);
        check("compiling", false);
    }
}
