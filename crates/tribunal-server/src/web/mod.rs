//! HTTP on the loopback for one person's browser: a thread per connection, pages from a [`Site`], live events over
//! server-sent events. It never listens on another interface, never answers a stranger anything but "no", and never
//! starts a process.

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

/// How long a request may take to come, from its first byte to its last, however many there are.
const REQUEST: Duration = Duration::from_secs(10);
/// How long a client may take to read a part of an answer, or to think of its next request.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often a stream looks for news.
const LOOK: Duration = Duration::from_millis(100);
/// Looks without news after which a stream says that it lives.
const LOOKS_BEFORE_BEAT: u32 = 150;

/// Where pages come from.
pub trait Site: Send + Sync + 'static {
    /// Answers a request of a signed-in person; a POST came from one of our own pages.
    fn answer(&self, request: &Request) -> Answer;

    /// A page for somebody who may not see anything, or asked for what is not there. `home` is where the pages of a
    /// signed-in person begin.
    fn refusal(&self, words: &str, home: Option<&str>) -> String;

    /// What anybody may load: styles and scripts. They say nothing about any run.
    fn asset(&self, path: &str) -> Option<(&'static str, &'static [u8])>;

    /// Told when the one-time link was used: the next one.
    fn signed_in(&self, next: &str);
}

/// An answer to a request.
pub enum Answer {
    /// A page.
    Page(Arc<[u8]>),
    /// A document of another kind.
    Other(&'static str, Arc<[u8]>),
    /// Go and look there.
    SeeOther(String),
    /// It is not there, or cannot be done: a status and why.
    No(u16, String),
    /// News as they come.
    Stream(Box<dyn Feed>),
}

/// Where news come from.
pub trait Feed: Send {
    /// What is new since the last call; `None` when there will never be more.
    fn next(&mut self) -> Option<Vec<News>>;
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Its place: a client that comes back names the last one it saw.
    pub id: u64,
    /// Its kind.
    pub kind: &'static str,
    /// What it says, on one line.
    pub data: String,
}

/// Serves until `stop` is readable.
pub fn serve(
    listener: &TcpListener,
    guard: Guard,
    site: Arc<dyn Site>,
    stop: &impl AsFd,
) -> std::io::Result<()> {
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
        // A client that was gone before we came to it is nobody's failure.
        let Ok((stream, _)) = listener.accept() else { continue };
        let Some(admitted) = all.admit(stream) else { continue };
        let mut work = Connection { admitted, guard: Arc::clone(&guard), site: Arc::clone(&site) };
        // Without a thread the client is turned away.
        let _ = std::thread::Builder::new().name("http".to_owned()).spawn(move || work.talk());
    }
}

struct Connection {
    admitted: Admitted,
    guard: Arc<Guard>,
    site: Arc<dyn Site>,
}

impl Connection {
    /// Answers requests until the client goes, is too slow, or makes no sense.
    fn talk(&mut self) {
        let stream = self.admitted.stream();
        let ready = stream.set_nonblocking(false).is_ok()
            && stream.set_nodelay(true).is_ok()
            && stream.set_write_timeout(Some(PATIENCE)).is_ok();
        if !ready {
            return;
        }
        let mut left = Vec::new();
        // The first request is due from the beginning; the next one from its first byte.
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
                    // What was not read would turn our answer into a reset.
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
    fn respond(&mut self, mut request: Request) -> bool {
        let (bare, keep) = (request.method == Method::Head, request.keep);
        let head = |head: Head| if keep { head } else { head.closing() };
        let allowed = self.guard.allows_host(&request);
        let is_open = request.path == guard::DOOR || self.site.asset(&request.path).is_some();
        let allowed = if is_open { allowed } else { allowed.and_then(|()| self.guard.allows(&mut request)) };
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

/// Sends news until there will be no more or the client has gone.
fn stream_news(mut stream: &TcpStream, mut feed: Box<dyn Feed>) {
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

/// Waits a moment; true when the client has gone. A client has nothing to say on a stream.
fn has_gone(stream: &TcpStream) -> bool {
    is_readable(stream, LOOK)
}

/// Waits so long for something to read, or for the end of the connection.
fn is_readable(stream: &TcpStream, patience: Duration) -> bool {
    let mut fds = [PollFd::new(stream, PollFlags::IN | PollFlags::RDHUP)];
    let patience = Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(0),
        tv_nsec: i64::from(patience.subsec_nanos()),
    };
    matches!(poll(&mut fds, Some(&patience)), Ok(n) if n > 0)
}
