//! The supervisor of running launches. One thread waits for their ends, sends the signals of a stop when due, watches
//! the size of their output, and delivers an `Exit` only when nothing of the launch is left.
//!
//! It never sleeps in a loop and costs nothing while nothing runs. It never decides that a launch took too long:
//! deadlines belong to the engine, which journals them.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, WaitIdStatus, set_child_subreaper};
use tribunal_core::defence::{Defence, stands};

use crate::error::ProcessError;
use crate::files::lock;
use crate::launch::{Born, Launch, Started};
use crate::proc::{Key, Snapshot};
use crate::record::{self, Cause, EXIT_FILE, Exit, ExitHow, Kind};
use crate::tree::{Ending, Target, UNKILLABLE_AFTER, signal};
use crate::{Containment, exit_of, proc, roots};

/// How often the size of the output is checked. A disk fills fast, so this is short.
const OUTPUT_TICK: Duration = Duration::from_millis(100);
/// How often orphans that ended are reaped while launches run without a namespace.
const REAP_TICK: Duration = Duration::from_secs(5);
/// How soon a stop looks again for a command that has not quite started yet.
const START_TICK: Duration = Duration::from_millis(10);
/// How long a launch that wrote too much may tidy up.
const OUTPUT_GRACE: Duration = Duration::from_millis(250);
/// The token of the wake descriptor among those of the launches.
const WAKE: u64 = 0;

/// The supervisor: owns the thread that looks after launches. Dropping it ends them all at once.
///
/// One is enough for any number of launches. Its callback gets each `Exit` exactly once, after proof that the process
/// tree is gone, so a caller may touch the launch's files then.
#[derive(Debug)]
pub struct Supervisor {
    containment: Containment,
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    names: Arc<Mutex<Names>>,
    thread: Option<JoinHandle<()>>,
}

/// The launches alive, and whether new ones are refused.
///
/// It is shared with callers of `spawn`, who must be refused before a process exists. The thread's own list comes too
/// late for that.
#[derive(Debug, Default)]
struct Names {
    alive: BTreeSet<String>,
    closed: bool,
}

/// What callers ask of the thread.
enum Order {
    Keep(Box<Live>),
    Stop { id: String, grace: Duration },
    StopAll { grace: Duration, done: Sender<()> },
}

impl Supervisor {
    /// Starts the thread. `on_exit` is called on it once per launch, and must neither block for long nor panic.
    pub fn new(
        containment: Containment,
        on_exit: impl Fn(Exit) + Send + 'static,
    ) -> Result<Self, ProcessError> {
        let failed = |e: rustix::io::Errno| ProcessError::Io {
            doing: "preparing to watch processes",
            path: "/proc".into(),
            source: e.into(),
        };
        if !proc::is_usable() {
            return Err(ProcessError::NoProc);
        }
        // Orphans are reparented to us and not to the machine's init, where nobody would find them.
        set_child_subreaper(Some(rustix::process::getpid())).map_err(failed)?;
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?);
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        epoll::add(&poll, &*wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN).map_err(failed)?;
        let (orders, inbox) = mpsc::channel();
        let names = Arc::default();
        let reaper = Reaper {
            inbox,
            poll,
            wake: Arc::clone(&wake),
            names: Arc::clone(&names),
            on_exit: Box::new(on_exit),
            live: BTreeMap::new(),
            next_token: WAKE + 1,
            waiting: Vec::new(),
            reap_at: Instant::now(),
            open: true,
        };
        let thread = thread::Builder::new()
            .name("reaper".into())
            .spawn(move || reaper.run())
            .map_err(ProcessError::io("starting the thread", "reaper".as_ref()))?;
        Ok(Self { containment, orders, wake, names, thread: Some(thread) })
    }

    /// Starts a launch. `out_dir/process.json` names its root before this returns.
    pub fn spawn(&self, launch: Launch) -> Result<Started, ProcessError> {
        let id = launch.id.clone();
        {
            let mut names = lock(&self.names);
            if names.closed {
                return Err(ProcessError::Closed { id });
            }
            // Entered before the start: of two threads with the same id, one must lose before either has a process.
            if !names.alive.insert(id.clone()) {
                return Err(ProcessError::AlreadyRunning { id });
            }
        }
        let (out_dir, output_max) = (launch.out_dir.clone(), launch.output_max);
        let born = launch.start(&self.containment).inspect_err(|_| {
            lock(&self.names).alive.remove(&id);
            // A shutdown may be waiting for exactly this.
            self.wake();
        })?;
        let started = Started { pid: born.root.pid, start_time: born.root.start };
        let kind = self.containment.kind();
        let wrapped = kind != Kind::Subreaper;
        let target = Target::Launch { root: Some(born.root), marker: born.marker.clone(), wrapped };
        let (cause, phase) = (Cause::Itself, Phase::Running);
        let live = Live { id: id.clone(), born, kind, target, out_dir, output_max, cause, phase };
        match self.orders.send(Order::Keep(Box::new(live))) {
            Ok(()) => self.wake(),
            // The thread is gone, so nobody would ever notice the end of this process: end it here.
            Err(mpsc::SendError(order)) => {
                if let Order::Keep(live) = order {
                    live.born.abandon();
                }
                lock(&self.names).alive.remove(&id);
                return Err(ProcessError::Closed { id });
            }
        }
        Ok(started)
    }

    /// Sends SIGTERM to the tree and, after `grace`, kills everything. Unknown ids are ignored: the launch may just
    /// have ended.
    pub fn stop(&self, id: &str, grace: Duration) {
        if self.orders.send(Order::Stop { id: id.to_owned(), grace }).is_ok() {
            self.wake();
        }
    }

    /// Stops all launches and refuses new ones; returns when every `Exit` has been delivered.
    pub fn shutdown(&self, grace: Duration) {
        // Before the order: a launch that comes between them is stopped when it reaches the thread, see `keep`.
        lock(&self.names).closed = true;
        let (done, all_gone) = mpsc::channel();
        if self.orders.send(Order::StopAll { grace, done }).is_ok() {
            self.wake();
            // An error means that the thread is gone, and with it everything there was to wait for.
            let _ = all_gone.recv();
        }
    }

    /// How launches are held together here.
    pub fn containment(&self) -> &Containment {
        &self.containment
    }

    fn wake(&self) {
        // It fails only when the counter is full, and then the thread is awake anyway.
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.shutdown(Duration::ZERO);
        // Replacing the sender disconnects the thread's inbox, which is how the thread learns that it may end.
        let (closed, _) = mpsc::channel();
        self.orders = closed;
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A launch under supervision.
struct Live {
    id: String,
    born: Born,
    kind: Kind,
    target: Target,
    out_dir: PathBuf,
    output_max: u64,
    cause: Cause,
    phase: Phase,
}

/// How far the end of a launch has come.
enum Phase {
    Running,
    /// Asked to end. `told` names the processes that were there to be asked.
    Stopping {
        kill_at: Instant,
        told: BTreeSet<Key>,
    },
    /// The root is dead or must die, and everything else with it.
    Ending {
        ending: Ending,
        since: Instant,
        look_at: Instant,
    },
}

impl Live {
    /// Asks every process of the tree to end, and returns those that were asked.
    fn terminate(&self, snapshot: &Snapshot) -> BTreeSet<Key> {
        let members = self.target.members(snapshot, &BTreeSet::new());
        let asked = members.iter().filter(|p| !p.is_dead() && !self.target.is_wrapper(p));
        // A stopped process does not react until it is continued.
        asked.filter(|p| signal(p.key, Signal::TERM) && signal(p.key, Signal::CONT)).map(|p| p.key).collect()
    }

    fn stop(&mut self, cause: Cause, grace: Duration, turn: &Turn) {
        let kill_at = turn.now + grace;
        match &mut self.phase {
            Phase::Running => {
                self.cause = cause;
                let told = if grace.is_zero() { BTreeSet::new() } else { self.terminate(turn.snapshot()) };
                self.phase = Phase::Stopping { kill_at, told };
            }
            // Asked again: the earlier deadline wins.
            Phase::Stopping { kill_at: planned, .. } => *planned = kill_at.min(*planned),
            Phase::Ending { .. } => {}
        }
    }

    fn start_ending(&mut self, now: Instant) {
        let known = match &mut self.phase {
            Phase::Running => BTreeSet::new(),
            // Processes that were asked may have left the tree since; they are still ours to end.
            Phase::Stopping { told, .. } => std::mem::take(told),
            Phase::Ending { .. } => return,
        };
        self.phase = Phase::Ending { ending: Ending::knowing(known), since: now, look_at: now };
    }

    fn output(&self) -> (u64, u64) {
        let size = |file: &std::fs::File| file.metadata().map_or(0, |meta| meta.len());
        (size(&self.born.stdout), size(&self.born.stderr))
    }

    fn is_over_limit(&self) -> bool {
        let (out, err) = self.output();
        // `u64::MAX` is the caller's way to say "no limit".
        stands(Defence::OutputCap) && self.output_max < u64::MAX && out.saturating_add(err) > self.output_max
    }

    /// When this launch next needs a look although nothing has happened.
    fn due(&self, now: Instant) -> Option<Instant> {
        let tick = match (self.output_max, self.kind) {
            (u64::MAX, Kind::Subreaper) => Some(now + REAP_TICK),
            (u64::MAX, _) => None,
            _ => Some(now + OUTPUT_TICK),
        };
        match &self.phase {
            Phase::Running => tick,
            // Nobody was there to be asked: the wrapper has not started the command yet. Look again soon, or the
            // whole grace would pass unused.
            Phase::Stopping { kill_at, told } if told.is_empty() => Some((*kill_at).min(now + START_TICK)),
            Phase::Stopping { kill_at, .. } => Some(tick.map_or(*kill_at, |tick| tick.min(*kill_at))),
            Phase::Ending { look_at, .. } => Some(*look_at),
        }
    }

    /// Whether the kernel itself proves that the launch is gone: our init has been reaped, and a namespace without
    /// its init is empty.
    ///
    /// A monitor that exited by itself has reaped its init. One that was killed, and any other wrapper, proves
    /// nothing, and the launch is looked for in /proc.
    fn is_proven_empty(&self) -> bool {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        // `NOWAIT` leaves the status for `finish`, which reaps and reports it.
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let fd = std::os::fd::AsFd::as_fd(&self.born.pidfd);
        self.kind == Kind::Namespace
            && waitid(WaitId::PidFd(fd), peek).ok().flatten().is_some_and(|status| status.exited())
    }

    /// Reaps the root and reports how the launch ended.
    fn finish(&self, ended: usize, left: Vec<i32>) -> Exit {
        let status = self.born.reap();
        // Only our own init writes a record here. Under another wrapper the file would be somebody else's.
        let written = if self.kind == Kind::Namespace { exit_of(&self.out_dir) } else { None };
        let (stdout_bytes, stderr_bytes) = self.output();
        let killed = ended.max(written.as_ref().map_or(0, |w| w.killed));
        let how = written.map_or_else(|| how_from(status, self.kind), |w| w.how);
        // It may have written too much and ended before anybody looked.
        let over = self.cause == Cause::Itself && self.is_over_limit();
        let cause = if over { Cause::OutputLimit } else { self.cause };
        let exit = Exit { id: self.id.clone(), how, cause, killed, left, stdout_bytes, stderr_bytes };
        // The caller gets the exit directly. The copy is for an orchestrator that dies before journaling it.
        let _ = record::write(&self.out_dir.join(EXIT_FILE), &exit);
        exit
    }
}

/// How a command ended, from the status of its root.
fn how_from(status: Option<WaitIdStatus>, kind: Kind) -> ExitHow {
    // Somebody else reaped it, or it cannot die. Nobody saw a code, and a success must not be invented.
    let Some(status) = status else { return ExitHow::Signal(9) };
    match (status.exit_status(), status.terminating_signal()) {
        // A wrapper reports a signal as a code, like a shell. 129 is left alone: git exits with it by itself.
        (Some(code @ 130..=192), _) if kind != Kind::Subreaper => ExitHow::Signal(code - 128),
        (Some(code), _) => ExitHow::Code(code),
        (None, signal) => ExitHow::Signal(signal.unwrap_or(9)),
    }
}

/// One waking of the thread: the time, and one look at /proc that serves all launches that need it.
struct Turn {
    now: Instant,
    looked: OnceCell<Snapshot>,
}

impl Turn {
    fn snapshot(&self) -> &Snapshot {
        self.looked.get_or_init(Snapshot::take)
    }
}

/// The state of the thread itself.
struct Reaper {
    inbox: Receiver<Order>,
    poll: OwnedFd,
    wake: Arc<OwnedFd>,
    names: Arc<Mutex<Names>>,
    on_exit: Box<dyn Fn(Exit) + Send>,
    live: BTreeMap<u64, Live>,
    next_token: u64,
    waiting: Vec<Sender<()>>,
    reap_at: Instant,
    open: bool,
}

impl Reaper {
    fn run(mut self) {
        let mut events = Vec::with_capacity(64);
        while self.open || !self.live.is_empty() {
            let timeout = self.timeout(Instant::now());
            let timeout = timeout.and_then(|t| Timespec::try_from(t).ok());
            // Interrupted or not, everything below looks at what is true now.
            let _ = epoll::wait(&self.poll, spare_capacity(&mut events), timeout.as_ref());
            let turn = Turn { now: Instant::now(), looked: OnceCell::new() };
            for event in events.drain(..) {
                match event.data.u64() {
                    WAKE => _ = rustix::io::read(&*self.wake, &mut [0_u8; 8]),
                    token => self.root_died(token, turn.now),
                }
            }
            self.take_orders(&turn);
            self.look(&turn);
            // The names and not our list: a launch may still be on its way to us.
            if !self.waiting.is_empty() && lock(&self.names).alive.is_empty() {
                self.waiting.drain(..).for_each(|done| _ = done.send(()));
            }
        }
    }

    fn timeout(&self, now: Instant) -> Option<Duration> {
        let due = self.live.values().filter_map(|live| live.due(now)).min()?;
        Some(due.saturating_duration_since(now))
    }

    fn root_died(&mut self, token: u64, now: Instant) {
        if let Some(live) = self.live.get_mut(&token) {
            // The handle of a dead process stays readable: without this the thread would spin until the tree is gone.
            let _ = epoll::delete(&self.poll, &live.born.pidfd);
            live.start_ending(now);
        }
    }

    fn take_orders(&mut self, turn: &Turn) {
        loop {
            match self.inbox.try_recv() {
                Ok(Order::Keep(live)) => self.keep(*live, turn),
                Ok(Order::Stop { id, grace }) => {
                    let found = self.live.values_mut().find(|live| live.id == id);
                    found.into_iter().for_each(|live| live.stop(Cause::Stopped, grace, turn));
                }
                Ok(Order::StopAll { grace, done }) => {
                    self.live.values_mut().for_each(|live| live.stop(Cause::Stopped, grace, turn));
                    self.waiting.push(done);
                }
                Err(mpsc::TryRecvError::Empty) => return,
                Err(mpsc::TryRecvError::Disconnected) => {
                    self.open = false;
                    return;
                }
            }
        }
    }

    fn keep(&mut self, mut live: Live, turn: &Turn) {
        let token = self.next_token;
        self.next_token += 1;
        let data = epoll::EventData::new_u64(token);
        if epoll::add(&self.poll, &live.born.pidfd, data, epoll::EventFlags::IN).is_err() {
            // We could not notice its end: end it now rather than lose it.
            live.start_ending(turn.now);
        }
        // A shutdown may have overtaken it on the way.
        if lock(&self.names).closed {
            live.stop(Cause::Stopped, Duration::ZERO, turn);
        }
        self.live.insert(token, live);
    }

    /// Does what is due for every launch; one look at /proc serves all that are ending.
    fn look(&mut self, turn: &Turn) {
        let now = turn.now;
        let mut ended = Vec::new();
        for (token, live) in &mut self.live {
            watch(live, turn);
            let Phase::Ending { since, look_at, .. } = &live.phase else { continue };
            let (since, look_at) = (*since, *look_at);
            if look_at > now {
                continue;
            }
            if live.is_proven_empty() {
                ended.push((*token, 0, Vec::new()));
                continue;
            }
            let Phase::Ending { ending, look_at, .. } = &mut live.phase else { continue };
            // A process that cannot be killed must not keep the exit for ever: after a while it is reported in `left`
            // instead.
            let gone = ending.step(turn.snapshot(), &live.target);
            *look_at = now + ending.pause();
            if gone || now.duration_since(since) > UNKILLABLE_AFTER {
                ended.push((*token, ending.ended(), ending.left()));
            }
        }
        if now >= self.reap_at && self.live.values().any(|live| live.kind == Kind::Subreaper) {
            self.reap_at = now + REAP_TICK;
            turn.snapshot();
        }
        // Only if somebody looked anyway. Zombies of orphans harm nobody for a few seconds.
        turn.looked.get().into_iter().for_each(roots::reap_adopted);
        for (token, count, left) in ended {
            self.deliver(token, count, left);
        }
    }

    fn deliver(&mut self, token: u64, ended: usize, left: Vec<i32>) {
        let Some(live) = self.live.remove(&token) else { return };
        let _ = epoll::delete(&self.poll, &live.born.pidfd);
        let exit = live.finish(ended, left);
        // Before the callback: it may start the next launch with the same id.
        lock(&self.names).alive.remove(&live.id);
        drop(live);
        (self.on_exit)(exit);
    }
}

/// Does what time alone makes due: a limit that was passed, a grace that is over.
fn watch(live: &mut Live, turn: &Turn) {
    let now = turn.now;
    match &live.phase {
        Phase::Running if live.is_over_limit() => live.stop(Cause::OutputLimit, OUTPUT_GRACE, turn),
        // The grace of a stop is for tidying up, not for filling the disk.
        Phase::Stopping { .. } if live.cause == Cause::Stopped && live.is_over_limit() => {
            live.start_ending(now)
        }
        Phase::Stopping { kill_at, .. } if *kill_at <= now => live.start_ending(now),
        Phase::Stopping { kill_at, told } if told.is_empty() => {
            live.phase = Phase::Stopping { kill_at: *kill_at, told: live.terminate(turn.snapshot()) };
        }
        Phase::Running | Phase::Stopping { .. } | Phase::Ending { .. } => {}
    }
}

/// Runs one launch to its end, stopping it after `timeout`: for short commands that someone waits for.
///
/// The supervisor lives for this launch only. Use a `Supervisor` of your own to run several.
pub fn run_to_end(
    containment: Containment,
    launch: Launch,
    timeout: Duration,
    grace: Duration,
) -> Result<Exit, ProcessError> {
    let (tell, told) = mpsc::channel();
    let (id, path) = (launch.id.clone(), launch.out_dir.clone());
    let supervisor = Supervisor::new(containment, move |exit| _ = tell.send(exit))?;
    supervisor.spawn(launch)?;
    if let Ok(exit) = told.recv_timeout(timeout) {
        return Ok(exit);
    }
    supervisor.stop(&id, grace);
    told.recv().map_err(|e| ProcessError::Io { doing: "waiting for", path, source: std::io::Error::other(e) })
}
