//! HTTP/1.1 as far as one browser on this machine needs it: small requests with a length, answers with one. What is
//! larger, slower or stranger is refused; nothing of a request is trusted.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

/// The first lines of a request at most.
const HEAD_MAX: usize = 16 << 10;
/// A form at most.
const BODY_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 64;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// To read.
    Get,
    /// To read, without the body.
    Head,
    /// To decide something.
    Post,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is asked for.
    pub method: Method,
    /// Of which place, decoded; of a signed-in person without where their pages begin.
    pub path: String,
    /// Where the pages of this person begin; empty for a stranger.
    pub home: String,
    /// What stands behind the question mark.
    pub query: BTreeMap<String, String>,
    /// The fields of a form.
    pub form: BTreeMap<String, String>,
    /// The token that forms of this person's pages must carry.
    pub form_token: String,
    /// The last news the client saw.
    pub last_event: Option<u64>,
    pub(super) keep: bool,
    headers: BTreeMap<String, String>,
}

impl Request {
    /// A header, by its name in small letters.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A connection that is read until one moment and no longer, however many bytes come before.
pub(super) struct Timed<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Timed<'_> {
    pub(super) fn new(stream: &TcpStream, until: Instant) -> Timed<'_> {
        Timed { stream, until }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

/// Why there is no request.
pub(super) enum Failed {
    /// Nobody is there any more.
    Gone,
    /// It is not one we take: a status and why.
    Refused(u16, &'static str),
}

/// Reads the next request; `left` holds what came with the one before. `None` at the end.
pub(super) fn read(stream: &mut impl Read, left: &mut Vec<u8>) -> Result<Option<Request>, Failed> {
    let (mut request, length) = loop {
        if let Some((request, taken, length)) = parsed(left)? {
            left.drain(..taken);
            break (request, length);
        }
        if left.len() > HEAD_MAX {
            return Err(Failed::Refused(431, "The request is too long."));
        }
        if !more(stream, left)? {
            return if left.is_empty() { Ok(None) } else { Err(Failed::Gone) };
        }
    };
    if length > BODY_MAX {
        return Err(Failed::Refused(413, "The form is too long."));
    }
    while left.len() < length {
        if !more(stream, left)? {
            return Err(Failed::Gone);
        }
    }
    let body: Vec<u8> = left.drain(..length).collect();
    request.form = pairs(&String::from_utf8_lossy(&body));
    Ok(Some(request))
}

fn more(stream: &mut impl Read, left: &mut Vec<u8>) -> Result<bool, Failed> {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(n) => {
                left.extend_from_slice(&buffer[..n]);
                return Ok(true);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Failed::Gone),
        }
    }
}

/// The first lines, once they are all there: the request, their length, and that of what follows.
fn parsed(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Failed> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut raw = httparse::Request::new(&mut headers);
    let taken = match raw.parse(bytes) {
        Ok(httparse::Status::Complete(taken)) => taken,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(Failed::Refused(400, "This is not a request.")),
    };
    let method = match raw.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        Some("POST") => Method::Post,
        _ => return Err(Failed::Refused(405, "Pages are read, and decisions are posted.")),
    };
    let mut named = BTreeMap::new();
    for header in raw.headers.iter() {
        let value = String::from_utf8_lossy(header.value).into_owned();
        // Two of a kind are a trick: who checks one would be followed by who reads the other.
        if named.insert(header.name.to_ascii_lowercase(), value).is_some() && is_telling(header.name) {
            return Err(Failed::Refused(400, "A header stands there twice."));
        }
    }
    if named.contains_key("transfer-encoding") {
        return Err(Failed::Refused(411, "A form has a length."));
    }
    let length = named.get("content-length").map_or(Ok(0), |text| text.parse::<usize>());
    let length = length.map_err(|_| Failed::Refused(400, "The length is not a number."))?;
    let target = raw.path.unwrap_or("/");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let closes = named.get("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    let request = Request {
        method,
        path: decoded(path, false),
        home: String::new(),
        query: pairs(query),
        form: BTreeMap::new(),
        form_token: String::new(),
        last_event: named.get("last-event-id").and_then(|id| id.trim().parse().ok()),
        keep: raw.version == Some(1) && !closes,
        headers: named,
    };
    Ok(Some((request, taken, length)))
}

fn is_telling(name: &str) -> bool {
    ["host", "origin", "content-length", "cookie"].iter().any(|telling| name.eq_ignore_ascii_case(telling))
}

/// The fields of a form or a query; of two of one name the last counts.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let split = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name, true), decoded(value, true))
    };
    text.split('&').filter(|pair| !pair.is_empty()).map(split).collect()
}

/// Percent signs undone; what is no text becomes the sign for that.
fn decoded(text: &str, plus: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'%', [high, low, ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = &after[2..];
                }
                _ => bytes.push(b'%'),
            },
            (b'+', _) if plus => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// The first lines of an answer.
pub(super) struct Head {
    text: String,
    keeps: bool,
    closes: bool,
}

impl Head {
    pub(super) fn page(status: u16) -> Head {
        Head::new(status, "text/html; charset=utf-8")
    }

    pub(super) fn new(status: u16, kind: &str) -> Head {
        let text = format!("HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\n", reason(status));
        Head { text, keeps: false, closes: false }
    }

    /// A browser may keep it for a while.
    pub(super) fn keeping(self) -> Head {
        Head { keeps: true, ..self }
    }

    /// The connection ends with it.
    pub(super) fn closing(self) -> Head {
        Head { closes: true, ..self }
    }

    /// Leads elsewhere. Only places made by us are named here.
    pub(super) fn to(mut self, place: &str) -> Head {
        let place: String = place.chars().filter(|c| c.is_ascii_graphic()).collect();
        let _ = write!(self.text, "Location: {place}\r\n");
        self
    }

    pub(super) fn cookie(mut self, cookie: &str) -> Head {
        let _ = write!(self.text, "Set-Cookie: {cookie}\r\n");
        self
    }

    /// As it goes over the wire. Every answer, whatever it is, is under the same strict rules.
    pub(super) fn bytes(&self, length: Option<usize>) -> Vec<u8> {
        let mut text = self.text.clone();
        if let Some(length) = length {
            let _ = write!(text, "Content-Length: {length}\r\n");
        }
        text.push_str(if self.keeps {
            "Cache-Control: max-age=60\r\n"
        } else {
            "Cache-Control: no-store\r\n"
        });
        text.push_str(if self.closes { "Connection: close\r\n" } else { "Connection: keep-alive\r\n" });
        text.push_str(RULES);
        text.push_str("\r\n");
        text.into_bytes()
    }
}

/// Nothing from elsewhere, no inline script or style, no frame around us, no address told to others. `same-origin`
/// rather than `no-referrer`, under which browsers send forms with an origin of `null`.
const RULES: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n\
    X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n";

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Request>, u16> {
        let (mut stream, mut left, mut found) = (text.as_bytes(), Vec::new(), Vec::new());
        loop {
            match read(&mut stream, &mut left) {
                Ok(Some(request)) => found.push(request),
                Ok(None) => return Ok(found),
                Err(Failed::Gone) => return Err(0),
                Err(Failed::Refused(status, _)) => return Err(status),
            }
        }
    }

    #[test]
    fn requests_follow_each_other() {
        let found = all("GET /a%2Fb%20c?x=1+2&y HTTP/1.1\r\nHost: h\r\nLast-Event-ID: 17\r\n\r\n\
             POST /p HTTP/1.1\r\nContent-Length: 9\r\nConnection: close\r\n\r\na=%3C&b=+")
        .unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].path.as_str(), found[0].last_event, found[0].keep), ("/a/b c", Some(17), true));
        assert_eq!(found[0].query["x"], "1 2");
        assert_eq!((found[1].form["a"].as_str(), found[1].form["b"].as_str()), ("<", " "));
        assert!(!found[1].keep);
    }

    #[test]
    fn what_is_strange_is_refused() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(40_000));
        let table = [
            ("nonsense\r\n\r\n", 400),
            ("PUT / HTTP/1.1\r\n\r\n", 405),
            ("POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
            ("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHo", 0),
            (long.as_str(), 431),
        ];
        for (text, expect) in table {
            assert_eq!(all(text).err(), Some(expect), "{:?}", &text[..text.len().min(60)]);
        }
    }

    /// A client that sends a byte whenever it is asked for one never gets further than its time.
    #[test]
    fn who_drips_bytes_is_not_waited_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        let due = Instant::now() + std::time::Duration::from_millis(200);
        let drip = std::thread::spawn(move || {
            use std::io::Write;
            let _ = client.set_read_timeout(Some(std::time::Duration::from_millis(5)));
            // Ends when the other side has.
            while client.write_all(b"x").is_ok() && !matches!(client.read(&mut [0]), Ok(0)) {}
        });
        let (mut timed, mut left) = (Timed::new(&server, due), b"GET / HTTP/1.1\r\nA: ".to_vec());
        assert!(matches!(read(&mut timed, &mut left), Err(Failed::Gone)));
        assert!(Instant::now() >= due && left.len() < HEAD_MAX);
        drop(server);
        drip.join().unwrap();
    }

    #[test]
    fn percent_signs_never_break() {
        for (text, expect) in [("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%41", "A"), ("%ff", "\u{fffd}")] {
            assert_eq!(decoded(text, false), expect);
        }
    }

    #[test]
    fn a_place_cannot_add_a_header() {
        let bytes = Head::page(303).to("/x\r\nSet-Cookie: a=b").bytes(Some(0));
        assert!(!String::from_utf8_lossy(&bytes).contains("\r\nSet-Cookie"));
    }
}
