//! HTTP on the loopback for one person's browser: a thread per connection, pages from a [`Site`], live events as
//! server-sent events. It never listens on another interface, never answers a stranger anything but a refusal, and
//! never starts a process.
//!
//! It is a small server of our own because it serves one person on one machine; `docs/design/faces.md` has the
//! comparison with a framework. A server that can be reached from elsewhere needs TLS and accounts, and is not what
//! this is made for.

mod connections;
mod guard;
mod http;

pub use guard::Guard;
pub use http::{Method, Request};

use connections::{Admitted, Connections};
use http::{Failed, Head, Timed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time a request may take to arrive, from its first byte to its last, however many bytes there are.
const REQUEST: Duration = Duration::from_secs(10);
/// The time a client may take to read a part of an answer, or to send its next request.
const PATIENCE: Duration = Duration::from_secs(15);
/// The pause between two looks for news on a stream.
const LOOK: Duration = Duration::from_millis(100);
/// After this many looks without news, a stream sends a sign of life.
const LOOKS_BEFORE_BEAT: u32 = 150;

/// The source of pages. The server asks it only after the guard has let a request through.
///
/// Its methods are called from many threads at once, one for each connection, and a slow one holds up only its own
/// client.
pub trait Site: Send + Sync + 'static {
    /// Answers a request of a signed-in person. A POST that arrives here came from a form of our own pages.
    fn answer(&self, request: &Request) -> Answer;

    /// Makes a page that says why there is nothing to see. `home` is where the pages of a signed-in person begin, and
    /// `None` for a stranger.
    fn refusal(&self, words: &str, home: Option<&str>) -> String;

    /// Returns a style or a script, with its content type. Anybody may load these, so they must say nothing about any
    /// run.
    fn asset(&self, path: &str) -> Option<(&'static str, &'static [u8])>;

    /// Called when the one-time link was used, with the link that replaces it.
    fn signed_in(&self, next: &str);
}

/// What a site answers to a request.
pub enum Answer {
    /// An HTML page, shared so that one rendering serves all readers.
    Page(Arc<[u8]>),
    /// A document of another content type.
    Other(&'static str, Arc<[u8]>),
    /// A redirect to another place, which browsers follow with a GET.
    SeeOther(String),
    /// The thing does not exist or cannot be done: a status and the reason.
    No(u16, String),
    /// A stream of events that stays open.
    Stream(Box<dyn Feed>),
}

/// The source of the events of one stream.
pub trait Feed: Send {
    /// Returns the news since the last call; `None` when there will never be more.
    ///
    /// It must not wait: the caller paces the calls and looks between them whether the client is still there.
    fn next(&mut self) -> Option<Vec<News>>;
}

/// One server-sent event, as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The place in the journal. A client that reconnects names the last one it saw.
    pub id: u64,
    /// The event name that the page's script listens for.
    pub kind: &'static str,
    /// The content, on one line.
    pub data: String,
}

/// Serves until `stop` is readable.
///
/// Threads of open connections are not joined. They hold nothing that has to be written, and end with the program.
pub fn serve(
    listener: &TcpListener,
    guard: Guard,
    site: Arc<dyn Site>,
    stop: &impl AsFd,
) -> std::io::Result<()> {
    // Between the poll and the accept a client may go away; a blocking accept would then hang and miss `stop`.
    listener.set_nonblocking(true)?;
    let all = Arc::new(Connections::default());
    let guard = Arc::new(guard);
    loop {
        let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other.map_err(std::io::Error::from)?,
        };
        if !fds[1].revents().is_empty() {
            return Ok(());
        }
        // A client that left before we accepted it is not a failure of ours.
        let Ok((stream, _)) = listener.accept() else { continue };
        let Some(admitted) = all.admit(stream) else { continue };
        let mut work = Connection { admitted, guard: Arc::clone(&guard), site: Arc::clone(&site) };
        // If no thread can be started, the connection is dropped, which turns the client away.
        let _ = std::thread::Builder::new().name("http".to_owned()).spawn(move || work.talk());
    }
}

struct Connection {
    admitted: Admitted,
    guard: Arc<Guard>,
    site: Arc<dyn Site>,
}

impl Connection {
    /// Answers requests until the client leaves, is too slow, or sends something that is not a request.
    fn talk(&mut self) {
        let stream = self.admitted.stream();
        // On some systems an accepted connection inherits the listener's non-blocking mode.
        let ready = stream.set_nonblocking(false).is_ok()
            && stream.set_nodelay(true).is_ok()
            && stream.set_write_timeout(Some(PATIENCE)).is_ok();
        if !ready {
            return;
        }
        let mut left = Vec::new();
        // The first request is due from the start of the connection, the next one from its first byte.
        let mut due = Instant::now() + REQUEST;
        loop {
            let stream = self.admitted.stream();
            let request = match http::read(&mut Timed::new(stream, due), &mut left) {
                Ok(Some(request)) => request,
                Ok(None) => break,
                Err(Failed::Gone) => break,
                Err(Failed::Refused(status, words)) => {
                    let page = self.site.refusal(words, None);
                    let _ = write(stream, &Head::page(status).closing(), page.as_bytes(), false);
                    // Closing with unread bytes would reset the connection, and the client would never see the answer.
                    let _ = stream.shutdown(Shutdown::Write);
                    break;
                }
            };
            if !self.respond(request) {
                break;
            }
            if left.is_empty() && !is_readable(self.admitted.stream(), PATIENCE) {
                break;
            }
            due = Instant::now() + REQUEST;
        }
    }

    /// Answers one request; false when the connection is over.
    ///
    /// The order is fixed: first the host, then the session, then a place among the signed-in people, and only then the
    /// site.
    fn respond(&mut self, mut request: Request) -> bool {
        let (bare, keep) = (request.method == Method::Head, request.keep);
        let head = |head: Head| if keep { head } else { head.closing() };
        let allowed = self.guard.allows_host(&request);
        // Assets and the sign-in link are the only things that need no session; even they need our own host name.
        let is_open = request.path == guard::DOOR || self.site.asset(&request.path).is_some();
        let allowed = if is_open { allowed } else { allowed.and_then(|()| self.guard.allows(&mut request)) };
        // The guard set `home` only for a valid session, so a stranger cannot take a place of a signed-in person.
        let home = (!request.home.is_empty()).then_some(request.home.as_str());
        let allowed = match home.is_some() && !self.admitted.is_known() {
            true => Err((503, "Too many connections are open.")),
            false => allowed,
        };
        let stream = self.admitted.stream();
        if let Err((status, words)) = allowed {
            let page = self.site.refusal(words, home);
            return write(stream, &head(Head::page(status)), page.as_bytes(), bare) && keep;
        }
        if let Some((kind, bytes)) = self.site.asset(&request.path) {
            return write(stream, &head(Head::new(200, kind).keeping()), bytes, bare) && keep;
        }
        if request.path == guard::DOOR {
            return self.sign_in(&request) && keep;
        }
        match self.site.answer(&request) {
            Answer::Page(bytes) => write(stream, &head(Head::page(200)), &bytes, bare) && keep,
            Answer::Other(kind, bytes) => write(stream, &head(Head::new(200, kind)), &bytes, bare) && keep,
            Answer::SeeOther(to) => write(stream, &head(Head::page(303).to(&to)), b"", bare) && keep,
            Answer::No(status, words) => {
                let page = self.site.refusal(&words, home);
                write(stream, &head(Head::page(status)), page.as_bytes(), bare) && keep
            }
            // A HEAD of a stream must not open one: it would occupy the connection without anything to send.
            Answer::Stream(_) if bare => write(stream, &Head::page(200), b"", bare) && keep,
            Answer::Stream(feed) => {
                stream_news(stream, feed);
                false
            }
        }
    }

    fn sign_in(&self, request: &Request) -> bool {
        let stream = self.admitted.stream();
        match self.guard.sign_in(request) {
            Some(session) => {
                // The used link is invalid from here on, so the terminal must show the next one.
                self.site.signed_in(&self.guard.link());
                write(stream, &Head::page(303).to(&session.home).cookie(&session.cookie), b"", false)
            }
            None => {
                let words = "This link was used before, or is not ours. The terminal shows a new one.";
                let page = self.site.refusal(words, None);
                write(stream, &Head::page(403), page.as_bytes(), request.method == Method::Head)
            }
        }
    }
}

fn write(mut stream: &TcpStream, head: &Head, body: &[u8], bare: bool) -> bool {
    let mut bytes = head.bytes(Some(body.len()));
    if !bare {
        bytes.extend_from_slice(body);
    }
    stream.write_all(&bytes).and_then(|()| stream.flush()).is_ok()
}

/// Sends news until there will be no more or the client has left.
///
/// The stream looks for news instead of being woken. This also notices a client that has gone, and needs no list of
/// subscribers.
fn stream_news(mut stream: &TcpStream, mut feed: Box<dyn Feed>) {
    // There is no length, so the answer ends with the connection. The short retry makes browsers come back soon after a
    // restart.
    let head = Head::new(200, "text/event-stream; charset=utf-8").closing().bytes(None);
    if stream.write_all(&head).and_then(|()| stream.write_all(b"retry: 500\n\n")).is_err() {
        return;
    }
    let mut quiet = 0;
    loop {
        let Some(news) = feed.next() else { return };
        quiet = if news.is_empty() { quiet + 1 } else { 0 };
        let mut text = String::new();
        news.iter().for_each(|one| one.write(&mut text));
        // A comment line keeps the connection alive and makes a write fail where the client vanished without a word.
        if quiet >= LOOKS_BEFORE_BEAT {
            quiet = 0;
            text.push_str(": still here\n\n");
        }
        if !text.is_empty() && stream.write_all(text.as_bytes()).is_err() {
            return;
        }
        if has_gone(stream) {
            return;
        }
    }
}

impl News {
    fn write(&self, out: &mut String) {
        out.push_str(&format!("id: {}\nevent: {}\n", self.id, self.kind));
        self.data.lines().for_each(|line| {
            out.push_str("data: ");
            out.push_str(line);
            out.push('\n');
        });
        out.push('\n');
    }
}

/// Waits a moment; true when the client has left. A client has nothing to send on a stream, so anything readable is the
/// end.
fn has_gone(stream: &TcpStream) -> bool {
    is_readable(stream, LOOK)
}

/// Waits for something to read, or for the end of the connection.
fn is_readable(stream: &TcpStream, patience: Duration) -> bool {
    let mut fds = [PollFd::new(stream, PollFlags::IN | PollFlags::RDHUP)];
    let patience = Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(0),
        tv_nsec: i64::from(patience.subsec_nanos()),
    };
    matches!(poll(&mut fds, Some(&patience)), Ok(n) if n > 0)
}
