//! Who may look and who may decide: the name in Host (against a name that was made to point here), a link that works
//! once and becomes a session, and for decisions our own origin and the token of our own form. Secrets are compared as
//! digests, whose comparison takes the same time wherever they differ. It never writes a secret anywhere.
//!
//! A session has two halves. A browser sends a cookie to every port of a host, so the cookie is good below one path
//! only, a secret of the session: a program at another port is never asked for that path and gets no cookie. And the
//! path alone, which stands in addresses, opens nothing. Both follow from a key that lives as long as the server and is
//! in no file: no process that reads the user's files can make a session.

use super::http::{Method, Request};
use std::sync::{Mutex, PoisonError};
use tribunal_core::defence::{Defence, stands};

/// Where the one-time link leads.
pub(super) const DOOR: &str = "/sign-in";
const COOKIE: &str = "tribunal";
const SECRET: usize = 32;

/// The secret behind sessions and forms.
struct Key([u8; SECRET]);

impl Key {
    fn random() -> std::io::Result<Key> {
        let mut bytes = [0; SECRET];
        let mut filled = 0;
        while filled < SECRET {
            filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
        }
        Ok(Key(bytes))
    }

    fn to_words(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    fn proof(&self, of: &str, what: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.0, format!("{of}\n{what}").as_bytes())
    }
}

/// What a browser gets for the link.
pub(super) struct Session {
    /// Where its pages begin.
    pub(super) home: String,
    /// The cookie to set.
    pub(super) cookie: String,
}

/// Lets people in.
pub struct Guard {
    key: Key,
    hosts: Vec<String>,
    address: String,
    ticket: Mutex<String>,
}

impl Guard {
    /// Guards a server on this port.
    pub fn new(port: u16) -> std::io::Result<Guard> {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")).to_vec();
        let (key, ticket) = (Key::random()?, Mutex::new(Key::random()?.to_words()));
        Ok(Guard { address: format!("http://127.0.0.1:{port}"), ticket, key, hosts })
    }

    /// The link that signs one browser in.
    pub fn link(&self) -> String {
        let ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        format!("{}{DOOR}?token={}", self.address, *ticket)
    }

    /// Refuses names that are not ours: a page of somebody else's may have made its own name point here.
    pub(super) fn allows_host(&self, request: &Request) -> Result<(), (u16, &'static str)> {
        let host = request.header("host").unwrap_or_default();
        let ours = self.hosts.iter().any(|name| name.eq_ignore_ascii_case(host));
        if ours { Ok(()) } else { Err((421, "This server answers under its own address only.")) }
    }

    /// The session for whoever has the link, which is then spent.
    pub(super) fn sign_in(&self, request: &Request) -> Option<Session> {
        let given = request.query.get("token")?;
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let next = Key::random().ok()?.to_words();
        // A HEAD comes from programs that look at links for others.
        if request.method != Method::Get || blake3::hash(given.as_bytes()) != blake3::hash(ticket.as_bytes())
        {
            return None;
        }
        let session = std::mem::replace(&mut *ticket, next);
        // The ticket stood in an address; the session must not follow from it.
        let session = self.key.proof("session", &session).to_hex();
        let session = &session.as_str()[..32];
        let proof = self.key.proof("cookie", session).to_hex();
        let home = self.home(session);
        let cookie =
            format!("{COOKIE}={session}.{proof}; Path={home}; HttpOnly; SameSite=Strict; Max-Age=2592000");
        Some(Session { home, cookie })
    }

    /// Where the pages of a session begin: a path that nobody else knows.
    fn home(&self, session: &str) -> String {
        if !stands(Defence::SessionPath) {
            return "/".to_owned();
        }
        format!("/{}/", &self.key.proof("home", session).to_hex().as_str()[..32])
    }

    /// Lets a signed-in person read, and decide from our own pages. Notes where their pages begin, and the token for
    /// their forms.
    pub(super) fn allows(&self, request: &mut Request) -> Result<(), (u16, &'static str)> {
        let Some((session, home)) = self.session(request) else {
            // The front door shows nothing, and says where the key is.
            if request.method == Method::Get && request.path == "/" {
                return Err((200, "This is Tribunal. Open the link that `tribunal serve` shows."));
            }
            return Err((401, "Nobody is signed in here. Open the link that `tribunal serve` shows."));
        };
        // Its last sign is the first of the path below it.
        request.path = request.path[home.len() - 1..].to_owned();
        request.home = home;
        request.form_token = self.key.proof("form", &session).to_hex().to_string();
        if request.method != Method::Post {
            return Ok(());
        }
        let origin = request.header("origin").unwrap_or_default();
        let ours = origin.strip_prefix("http://").is_some_and(|host| Some(host) == request.header("host"));
        if !ours {
            return Err((403, "A decision must come from this server's own page."));
        }
        let given = request.form.get("token").map(String::as_str).unwrap_or_default();
        if blake3::hash(given.as_bytes()) != blake3::hash(request.form_token.as_bytes()) {
            return Err((403, "The form is not one of ours, or is too old. Load the page again."));
        }
        Ok(())
    }

    /// The session that both halves of the request's show: its cookie, and where its path begins.
    fn session(&self, request: &Request) -> Option<(String, String)> {
        let cookies = request.header("cookie")?.split(';');
        let ours = cookies.filter_map(|pair| pair.trim().split_once('=')).filter(|(name, _)| *name == COOKIE);
        // Whoever is at another port can set a cookie of this name, which stands beside ours.
        ours.filter_map(|(_, value)| value.split_once('.')).find_map(|(session, proof)| {
            let proof = blake3::Hash::from_hex(proof).ok()?;
            let home = self.home(session);
            let begins = request.path.get(..home.len())?;
            let both = self.key.proof("cookie", session) == proof
                && blake3::hash(begins.as_bytes()) == blake3::hash(home.as_bytes());
            both.then(|| (session.to_owned(), home))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::http;

    fn request(text: &str) -> Request {
        let (mut stream, mut left) = (text.as_bytes(), Vec::new());
        match http::read(&mut stream, &mut left) {
            Ok(Some(request)) => request,
            _ => panic!("not a request: {text}"),
        }
    }

    /// Where a browser's pages begin, and what it sends there.
    fn signed_in(guard: &Guard) -> (String, String) {
        let link = guard.link();
        let path = link.strip_prefix("http://127.0.0.1:80").unwrap();
        let session = guard.sign_in(&request(&format!("GET {path} HTTP/1.1\r\n\r\n"))).unwrap();
        assert!(session.cookie.contains(&format!("; Path={};", session.home)), "{}", session.cookie);
        (session.home, session.cookie.split(';').next().unwrap().to_owned())
    }

    fn enters(guard: &Guard, path: &str, cookies: &str) -> Option<String> {
        let mut request = request(&format!("GET {path} HTTP/1.1\r\nCookie: {cookies}\r\n\r\n"));
        guard.allows(&mut request).is_ok().then_some(request.path)
    }

    #[test]
    fn a_session_is_its_cookie_and_its_path_together() {
        let guard = Guard::new(80).unwrap();
        let (home, cookie) = signed_in(&guard);
        let inbox = format!("{home}inbox");
        assert_eq!(enters(&guard, &inbox, &cookie).as_deref(), Some("/inbox"));
        assert_eq!(enters(&guard, &home, &cookie).as_deref(), Some("/"));
        let odd = format!("/{}", "%C3%A4".repeat(40));
        let tossed = format!("a=b; {COOKIE}=0.0; {COOKIE}=; {cookie}");
        assert_eq!(enters(&guard, &inbox, &tossed).as_deref(), Some("/inbox"));
        for (path, cookies) in [
            (inbox.as_str(), "a=b"),
            ("/inbox", cookie.as_str()),
            ("/", cookie.as_str()),
            (home.trim_end_matches('/'), cookie.as_str()),
            (odd.as_str(), cookie.as_str()),
        ] {
            assert_eq!(enters(&guard, path, cookies), None, "{path} {cookies}");
        }
        assert_eq!(enters(&Guard::new(80).unwrap(), &inbox, &cookie), None, "another server has another key");
    }

    #[test]
    fn two_browsers_have_two_sessions() {
        let guard = Guard::new(80).unwrap();
        let (one, two) = (signed_in(&guard), signed_in(&guard));
        assert!(one.0 != two.0 && one.1 != two.1);
        assert!(enters(&guard, &one.0, &one.1).is_some() && enters(&guard, &two.0, &two.1).is_some());
        assert_eq!(enters(&guard, &one.0, &two.1), None);
    }
}
