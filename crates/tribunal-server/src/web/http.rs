//! HTTP/1.1 as far as one browser on this machine needs it: small requests with a length, and answers with a length.
//! Larger, slower or unusual requests are refused, and nothing in a request is trusted.
//!
//! `httparse` reads the syntax. The limits, and the rule that a header may not contradict itself, are in this file,
//! because the guard decides by these headers.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

/// The largest head of a request, in bytes.
const HEAD_MAX: usize = 16 << 10;
/// The largest form, in bytes.
const BODY_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 64;

/// The methods that are answered; every other one is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads a page or a stream.
    Get,
    /// Reads only the headers of a page.
    Head,
    /// Sends a form, which is the only way to decide something.
    Post,
}

/// A request that was read completely, with what the guard found out about its sender.
///
/// `home` and `form_token` are empty until the guard has proven a session. Code behind the guard can rely on both.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method, which says whether something is read or decided.
    pub method: Method,
    /// The decoded path. For a signed-in person it is relative to `home`.
    pub path: String,
    /// The path where the pages of this person begin; empty for a stranger.
    pub home: String,
    /// The fields behind the question mark.
    pub query: BTreeMap<String, String>,
    /// The fields of a posted form.
    pub form: BTreeMap<String, String>,
    /// The token that the forms of this person's pages must carry.
    pub form_token: String,
    /// The last event a reconnecting client saw.
    pub last_event: Option<u64>,
    pub(super) keep: bool,
    headers: BTreeMap<String, String>,
}

impl Request {
    /// Returns a header by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A connection that can be read until a fixed moment, however many bytes arrive before it.
///
/// A timeout per read would not do: a client that sends a byte now and then would keep its thread for ever.
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

/// Reasons why there is no request to answer.
pub(super) enum Failed {
    /// The client has left, or was too slow.
    Gone,
    /// The request is refused with a status and the reason.
    Refused(u16, &'static str),
}

/// Reads the next request. `left` holds bytes that arrived with the one before. `None` at the end of the connection.
///
/// Both limits are checked before more is read, so a client cannot make the server hold more than they allow.
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
            // An end between two requests is orderly; one inside a request is not.
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

/// Parses the head once it has arrived: the request, the length of its head, and the length of its body.
fn parsed(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Failed> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut raw = httparse::Request::new(&mut headers);
    let taken = match raw.parse(bytes) {
        Ok(httparse::Status::Complete(taken)) => taken,
        Ok(httparse::Status::Partial) => return Ok(None),
        // Too many headers end here as well: `httparse` reports them as an error of the request.
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
        // Refuse duplicates: one part of the program could check the first and another follow the second.
        if named.insert(header.name.to_ascii_lowercase(), value).is_some() && is_telling(header.name) {
            return Err(Failed::Refused(400, "A header stands there twice."));
        }
    }
    // A chunked body has no length to check beforehand, and two ways to delimit a body invite request smuggling.
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

/// Reads the fields of a form or a query. Of two fields with the same name the last one counts.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let split = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name, true), decoded(value, true))
    };
    text.split('&').filter(|pair| !pair.is_empty()).map(split).collect()
}

/// Undoes percent-encoding. Bytes that are not UTF-8 become the replacement character.
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
                // A percent sign without two digits stands for itself: an address typed by hand must not fail.
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

/// The head of an answer, built up before its body is known.
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

    /// Allows the browser to keep the answer for a short while, which only assets need.
    pub(super) fn keeping(self) -> Head {
        Head { keeps: true, ..self }
    }

    /// Announces that the connection ends after this answer.
    pub(super) fn closing(self) -> Head {
        Head { closes: true, ..self }
    }

    /// Adds a redirect. Callers pass only places that we made.
    pub(super) fn to(mut self, place: &str) -> Head {
        // A line break in the place would let it add a header; `a_place_cannot_add_a_header` tests this.
        let place: String = place.chars().filter(|c| c.is_ascii_graphic()).collect();
        let _ = write!(self.text, "Location: {place}\r\n");
        self
    }

    pub(super) fn cookie(mut self, cookie: &str) -> Head {
        let _ = write!(self.text, "Set-Cookie: {cookie}\r\n");
        self
    }

    /// Returns the bytes for the wire. Every answer, whatever it is, carries the same strict rules.
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

/// Rules for the browser: load nothing from elsewhere, run no inline script or style, allow no frame around us, tell
/// others no address. `same-origin` rather than `no-referrer`, because with the latter browsers send forms with an
/// origin of `null`.
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
