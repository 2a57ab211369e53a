//! The report server: one socket per launch, in the launch's own folder, at which its agent reports.
//!
//! The socket itself is the right to speak: it is mounted into no other launch's sandbox, and the kernel has to confirm
//! that the caller is a process of the launch. One thread serves all sockets and never waits for an agent. The rules
//! for a call are in `call_policy`.

use super::call_policy::{CallPolicy, Ruling, line};
use super::ran::OnRecord;
use crate::context::lock;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::net::sockopt::socket_peercred;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tribunal_agent::reporting::{self, Answer, Ask, HEARD_FILE, LINE_MAX, SOCKET_FILE, VOTES};
use tribunal_core::defence::{Defence, stands};
use tribunal_process::Callers;

/// How many calls of one launch may be under way at once.
const CONNECTIONS_MAX: usize = 8;
/// How long a caller may take to send its call, or to take its answer.
const PATIENCE: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_secs(1);

/// The services behind a launch's socket.
///
/// The server answers most calls itself. Checks run elsewhere and answer later, so that a slow check does not block the
/// other launches.
pub(crate) struct LaunchServices {
    /// The answer to `get_context`.
    pub(crate) context: String,
    /// The checks that it may run; none where there are none.
    pub(crate) checks: Option<Checks>,
}

/// The checks of a launch's work.
pub(crate) struct Checks {
    /// Runs the checks on another thread, which answers later.
    pub(crate) run: Box<dyn Fn(Later) + Send>,
    /// The record of what was asked for and how it ended.
    pub(crate) record: Arc<OnRecord>,
}

/// The right to answer one call later, from another thread.
pub(crate) struct Later {
    orders: Sender<Order>,
    wakeup: Arc<OwnedFd>,
    id: String,
    connection: u64,
}

impl Later {
    /// Sends the answer. It can be sent only once.
    pub(crate) fn answer(self, answer: Answer) {
        let _ = self.orders.send(Order::Answer { id: self.id, connection: self.connection, answer });
        ring(&self.wakeup);
    }
}

/// The socket of one launch, with its open connections.
struct LaunchSocket {
    listener: UnixListener,
    /// Which processes are heard; none before the launch has begun. Until then connections wait in the listener's
    /// queue.
    callers: Option<Callers>,
    call_policy: Arc<Mutex<CallPolicy>>,
    heard: File,
    services: LaunchServices,
    connections: Vec<Connection>,
    last: u64,
}

struct Connection {
    number: u64,
    stream: UnixStream,
    said: Vec<u8>,
    answer: Vec<u8>,
    /// It has sent its call.
    asked: bool,
    since: Instant,
}

enum Order {
    Open { id: String, socket: Box<LaunchSocket> },
    Begun { id: String, callers: Callers },
    Answer { id: String, connection: u64, answer: Answer },
    Shut(String),
}

/// The handle of the thread behind all sockets. The thread ends when this is dropped.
pub(crate) struct ReportServer {
    orders: Sender<Order>,
    wakeup: Arc<OwnedFd>,
    call_policies: Mutex<BTreeMap<String, Arc<Mutex<CallPolicy>>>>,
}

impl Drop for ReportServer {
    fn drop(&mut self) {
        // Dropping the real sender disconnects the channel, which is how the thread learns that it should end.
        let (nobody, _) = mpsc::channel();
        self.orders = nobody;
        ring(&self.wakeup);
    }
}

impl ReportServer {
    /// Starts the thread.
    pub(crate) fn new() -> io::Result<ReportServer> {
        let (orders, inbox) = mpsc::channel();
        let wakeup = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let heard = Arc::clone(&wakeup);
        // The thread gets no sender of this channel: it would never see that everybody else is gone.
        let thread = std::thread::Builder::new().name("reports".to_owned());
        thread.spawn(move || serve(&inbox, &heard))?;
        Ok(ReportServer { orders, wakeup, call_policies: Mutex::default() })
    }

    /// Opens a launch's socket in its folder.
    ///
    /// Open it before the launch starts, so that the agent finds it at once. Nobody is let in before `begun`.
    pub(crate) fn open(
        &self,
        id: &str,
        dir: &Path,
        call_policy: CallPolicy,
        services: LaunchServices,
    ) -> io::Result<()> {
        let call_policy = Arc::new(Mutex::new(call_policy));
        let socket = LaunchSocket {
            listener: bind(dir)?,
            callers: None,
            call_policy: Arc::clone(&call_policy),
            heard: File::options().append(true).create(true).open(dir.join(HEARD_FILE))?,
            services,
            connections: Vec::new(),
            last: 0,
        };
        lock(&self.call_policies).insert(id.to_owned(), call_policy);
        self.order(Order::Open { id: id.to_owned(), socket: Box::new(socket) });
        Ok(())
    }

    /// Lets the processes of the launch in, now that it has begun.
    pub(crate) fn begun(&self, id: &str, callers: Callers) {
        self.order(Order::Begun { id: id.to_owned(), callers });
    }

    /// Closes the round for this launch. It is told so if it calls again.
    pub(crate) fn close(&self, id: &str) {
        lock(&self.call_policies).get(id).into_iter().for_each(|call_policy| lock(call_policy).close());
    }

    /// Removes the socket of a launch that is over. Returns what was refused.
    pub(crate) fn shut(&self, id: &str) -> Vec<String> {
        self.order(Order::Shut(id.to_owned()));
        let call_policy = lock(&self.call_policies).remove(id);
        call_policy.map(|call_policy| lock(&call_policy).refused().to_vec()).unwrap_or_default()
    }

    fn order(&self, order: Order) {
        // The send fails only when the thread is gone, and then nobody is heard.
        let _ = self.orders.send(order);
        ring(&self.wakeup);
    }
}

fn ring(wakeup: &OwnedFd) {
    let _ = rustix::io::write(wakeup, &1u64.to_ne_bytes());
}

/// Binds the socket through its folder's file descriptor.
///
/// The kernel allows only about a hundred characters for a socket's path, and a project's path may be longer.
fn bind(dir: &Path) -> io::Result<UnixListener> {
    let folder = File::open(dir)?;
    // A launch that is repeated after a crash finds the socket of the dead one.
    let _old = std::fs::remove_file(dir.join(SOCKET_FILE));
    let listener = UnixListener::bind(format!("/proc/self/fd/{}/{SOCKET_FILE}", folder.as_raw_fd()))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn serve(inbox: &Receiver<Order>, wakeup: &Arc<OwnedFd>) {
    let mut counters: BTreeMap<String, LaunchSocket> = BTreeMap::new();
    // A second channel for late answers: `Later` holds a sender, and the first channel has to disconnect with its
    // owner.
    let (answers, later) = mpsc::channel();
    loop {
        loop {
            match inbox.try_recv() {
                Ok(order) => obey(&mut counters, order),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        later.try_iter().for_each(|order| obey(&mut counters, order));
        wait(&counters, wakeup);
        // Resets the eventfd. How often it was rung does not matter.
        let mut eight = [0; 8];
        let _ = rustix::io::read(&**wakeup, &mut eight);
        for (id, socket) in &mut counters {
            socket.welcome();
            socket.attend(id, &answers, wakeup);
        }
    }
}

fn obey(counters: &mut BTreeMap<String, LaunchSocket>, order: Order) {
    match order {
        Order::Open { id, socket } => drop(counters.insert(id, *socket)),
        Order::Begun { id, callers } => {
            if let Some(socket) = counters.get_mut(&id) {
                socket.callers = Some(callers);
            }
        }
        Order::Shut(id) => drop(counters.remove(&id)),
        Order::Answer { id, connection, answer } => {
            let connections = counters.get_mut(&id).into_iter().flat_map(|socket| &mut socket.connections);
            connections
                .filter(|known| known.number == connection)
                .for_each(|connection| connection.tell(&answer));
        }
    }
}

/// Waits until somebody connects, sends or can be answered.
fn wait(counters: &BTreeMap<String, LaunchSocket>, wakeup: &OwnedFd) {
    let mut fds = vec![PollFd::new(wakeup, PollFlags::IN)];
    let mut hurry = false;
    for socket in counters.values() {
        if socket.callers.is_some() {
            fds.push(PollFd::new(&socket.listener, PollFlags::IN));
        }
        for connection in &socket.connections {
            let flags = match (connection.asked, connection.answer.is_empty()) {
                (false, _) => PollFlags::IN,
                (true, false) => PollFlags::OUT,
                // Its answer comes later. A connection that is closed meanwhile is noticed then.
                (true, true) => continue,
            };
            hurry = true;
            fds.push(PollFd::new(&connection.stream, flags));
        }
    }
    // With open connections the wait is bounded, so that their patience can run out.
    let time = Timespec::try_from(TICK).ok().filter(|_| hurry);
    let _ = poll(&mut fds, time.as_ref());
}

impl LaunchSocket {
    /// Lets in connections of processes that belong to the launch.
    fn welcome(&mut self) {
        let Some(callers) = &self.callers else { return };
        while let Ok((stream, _)) = self.listener.accept() {
            let why = match socket_peercred(&stream) {
                Ok(peer) if !is_ours(callers, &stream, peer.uid.as_raw()) => "a process of another launch",
                // An agent could otherwise use up the file descriptors of the orchestrator.
                Ok(_) if self.connections.len() >= CONNECTIONS_MAX => "too many calls at once",
                Ok(_) if stream.set_nonblocking(true).is_err() => "no connection",
                Ok(_) => {
                    self.last += 1;
                    let (said, answer) = (Vec::new(), Vec::new());
                    let (number, since) = (self.last, Instant::now());
                    self.connections.push(Connection { number, stream, said, answer, asked: false, since });
                    continue;
                }
                Err(_) => "nobody knows who it is",
            };
            lock(&self.call_policy).refuse("the socket", why);
        }
    }

    /// Takes calls from and gives answers to the open connections.
    fn attend(&mut self, id: &str, answers: &Sender<Order>, wakeup: &Arc<OwnedFd>) {
        let mut connections = std::mem::take(&mut self.connections);
        connections.retain_mut(|connection| {
            if let Some(line) = connection.listen() {
                connection.asked = true;
                let (orders, wakeup) = (answers.clone(), Arc::clone(wakeup));
                let later = Later { orders, wakeup, id: id.to_owned(), connection: connection.number };
                self.hear(&line, connection, later);
            }
            connection.stays()
        });
        self.connections = connections;
    }

    fn hear(&mut self, text: &[u8], connection: &mut Connection, later: Later) {
        let mut call_policy = lock(&self.call_policy);
        let call = match serde_json::from_slice::<Ask>(text) {
            Ok(Ask::Call(call)) => call,
            Ok(Ask::Tools) => {
                let tools = serde_json::to_string(&reporting::tools(call_policy.part())).unwrap_or_default();
                return connection.tell(&Answer { accepted: true, text: tools });
            }
            Err(error) => {
                call_policy.refuse("a line", &format!("no call: {error}"));
                return connection.tell(&refused(format!("no call: {error}")));
            }
        };
        let answer = match call_policy.hear(&call) {
            Ruling::Refused(why) => refused(why),
            // The record is closed first: a check that ends after the vote must not look as if the reviewer had seen
            // it.
            Ruling::Heard => match self.voted(&call) {
                Ok(()) => self.write_down(&call, "heard"),
                Err(why) => refused(why),
            },
            Ruling::Escalated(_) => self.write_down(&call, "a person will read it"),
            Ruling::Context => Answer { accepted: true, text: self.services.context.clone() },
            Ruling::Checks => match &self.services.checks {
                Some(checks) => return (checks.run)(later),
                None => refused("there are no checks to run here".to_owned()),
            },
        };
        connection.tell(&answer);
    }

    /// Closes the record of checks when a reviewer votes. It votes on the checks that have ended by then.
    fn voted(&self, call: &tribunal_agent::ToolCall) -> Result<(), String> {
        let checks = self.services.checks.as_ref().filter(|_| VOTES.contains(&call.tool.as_str()));
        checks.map_or(Ok(()), |checks| checks.record.voted())
    }

    /// Writes a call to the launch's file. Only what is in the file counts, because recovery reads the file.
    fn write_down(&self, call: &tribunal_agent::ToolCall, words: &str) -> Answer {
        let text = format!("{}\n", line(call));
        match (&self.heard).write_all(text.as_bytes()) {
            Ok(()) => Answer { accepted: true, text: words.to_owned() },
            Err(error) => refused(format!("it could not be written down: {error}")),
        }
    }
}

/// Whether the kernel says that a caller is a process of the launch.
fn is_ours(callers: &Callers, stream: &UnixStream, uid: u32) -> bool {
    let own = rustix::process::geteuid().as_raw();
    uid == own && (callers.has(stream) || !stands(Defence::OwnSocket))
}

fn refused(why: String) -> Answer {
    Answer { accepted: false, text: format!("refused: {why}") }
}

impl Connection {
    /// The caller's line, once it is complete.
    fn listen(&mut self) -> Option<Vec<u8>> {
        if self.asked {
            return None;
        }
        let mut piece = [0; 8192];
        loop {
            match self.stream.read(&mut piece) {
                // The end of the stream before a line: there is nothing to answer.
                Ok(0) => {
                    self.asked = true;
                    return None;
                }
                Ok(n) => self.said.extend_from_slice(&piece[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            if let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
                self.said.truncate(end);
                return Some(std::mem::take(&mut self.said));
            }
            // Too long to be a call. It is passed on, so that the refusal is recorded and told.
            if self.said.len() > LINE_MAX {
                return Some(std::mem::take(&mut self.said));
            }
        }
    }

    fn tell(&mut self, answer: &Answer) {
        self.answer = serde_json::to_vec(answer).unwrap_or_default();
        self.answer.push(b'\n');
        self.since = Instant::now();
    }

    /// Whether something is left to read or to write.
    fn stays(&mut self) -> bool {
        if self.asked && self.answer.is_empty() {
            // Either it left without a word, or its answer comes later. Checks can take long, hence the hour.
            return self.said.is_empty() && self.since.elapsed() < Duration::from_secs(3_600) && !self.left();
        }
        while !self.answer.is_empty() {
            match self.stream.write(&self.answer) {
                Ok(0) => return false,
                Ok(n) => drop(self.answer.drain(..n)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.since.elapsed() < PATIENCE;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
            if self.answer.is_empty() {
                return false;
            }
        }
        self.since.elapsed() < PATIENCE
    }

    /// Whether the other end is closed.
    fn left(&self) -> bool {
        let mut one = [0; 1];
        matches!((&self.stream).read(&mut one), Ok(0))
    }
}
