//! Who may look and who may decide. It checks the name in `Host` (against a foreign name that was made to point here),
//! a link that works once and becomes a session, and for decisions our own origin and the token of our own form.
//! Secrets are compared as digests, whose comparison takes the same time wherever they differ. No secret is ever
//! written to a file.
//!
//! A session has two halves. A browser sends a cookie to every port of a host, so the cookie is valid below one path
//! only, and that path is a secret of the session. A program at another port is never asked for that path and gets no
//! cookie; the path alone, which stands in addresses, opens nothing.
//!
//! Both halves follow from a key that lives as long as the server and is in no file. So a process that reads the user's
//! files cannot make a session.

use super::http::{Method, Request};
use std::sync::Mutex;
use tribunal_core::defence::{Defence, stands};
use tribunal_process::lock;

/// The path of the one-time link.
pub(super) const DOOR: &str = "/sign-in";
const COOKIE: &str = "tribunal";
const SECRET: usize = 32;

/// The secret that sessions and forms are derived from.
struct Key([u8; SECRET]);

impl Key {
    fn random() -> std::io::Result<Key> {
        let mut bytes = [0; SECRET];
        // The system may return fewer bytes than asked for; a key that is half zeros must not come into being.
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

/// What a browser receives in exchange for the link.
pub(super) struct Session {
    /// The secret path below which the pages of this session lie.
    pub(super) home: String,
    /// The value of the `Set-Cookie` header.
    pub(super) cookie: String,
}

/// Decides which requests get through to the pages.
///
/// It keeps no list of sessions: each one is proven by keyed hashes, so any number of browsers costs nothing, and all
/// sessions end with the server.
pub struct Guard {
    key: Key,
    hosts: Vec<String>,
    address: String,
    ticket: Mutex<String>,
}

impl Guard {
    /// Makes a guard for a server on this port, with a new key.
    pub fn new(port: u16) -> std::io::Result<Guard> {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")).to_vec();
        let (key, ticket) = (Key::random()?, Mutex::new(Key::random()?.to_words()));
        Ok(Guard { address: format!("http://127.0.0.1:{port}"), ticket, key, hosts })
    }

    /// The link that signs one browser in. It changes as soon as it was used.
    pub fn link(&self) -> String {
        let ticket = lock(&self.ticket);
        format!("{}{DOOR}?token={}", self.address, *ticket)
    }

    /// Refuses host names that are not ours.
    ///
    /// A page of somebody else may have made its own name point to this address. The browser would then treat that page
    /// and ours as one origin.
    pub(super) fn allows_host(&self, request: &Request) -> Result<(), (u16, &'static str)> {
        let host = request.header("host").unwrap_or_default();
        let ours = self.hosts.iter().any(|name| name.eq_ignore_ascii_case(host));
        if ours { Ok(()) } else { Err((421, "This server answers under its own address only.")) }
    }

    /// Makes the session for whoever has the link, and invalidates the link.
    pub(super) fn sign_in(&self, request: &Request) -> Option<Session> {
        let given = request.query.get("token")?;
        let mut ticket = lock(&self.ticket);
        // Drawn before the comparison: if there is no randomness for the next ticket, this one stays valid.
        let next = Key::random().ok()?.to_words();
        // A HEAD comes from programs that look at links on behalf of others, such as previews; it must not use the link
        // up.
        if request.method != Method::Get || blake3::hash(given.as_bytes()) != blake3::hash(ticket.as_bytes())
        {
            return None;
        }
        let session = std::mem::replace(&mut *ticket, next);
        // The ticket stood in an address, so the session must not be derivable from it without the key.
        let session = self.key.proof("session", &session).to_hex();
        let session = &session.as_str()[..32];
        let proof = self.key.proof("cookie", session).to_hex();
        let home = self.home(session);
        let cookie =
            format!("{COOKIE}={session}.{proof}; Path={home}; HttpOnly; SameSite=Strict; Max-Age=2592000");
        Some(Session { home, cookie })
    }

    /// The path where the pages of a session begin, which nobody else knows.
    fn home(&self, session: &str) -> String {
        if !stands(Defence::SessionPath) {
            return "/".to_owned();
        }
        format!("/{}/", &self.key.proof("home", session).to_hex().as_str()[..32])
    }

    /// Lets a signed-in person read, and decide from our own pages. Notes in the request where their pages begin, and
    /// the token for their forms.
    ///
    /// A decision needs more than the cookie. The origin keeps out other sites, and the token keeps out a form that was
    /// not on one of our pages.
    pub(super) fn allows(&self, request: &mut Request) -> Result<(), (u16, &'static str)> {
        let Some((session, home)) = self.session(request) else {
            // The front page shows nothing but says where to find the link.
            if request.method == Method::Get && request.path == "/" {
                return Err((200, "This is Tribunal. Open the link that `tribunal serve` shows."));
            }
            return Err((401, "Nobody is signed in here. Open the link that `tribunal serve` shows."));
        };
        // The last character of `home` is the slash that begins the path below it.
        request.path = request.path[home.len() - 1..].to_owned();
        request.home = home;
        request.form_token = self.key.proof("form", &session).to_hex().to_string();
        // Reading needs the session alone; everything below concerns requests that change something.
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

    /// The session that both halves of a request prove: its cookie, and the beginning of its path.
    fn session(&self, request: &Request) -> Option<(String, String)> {
        let cookies = request.header("cookie")?.split(';');
        let ours = cookies.filter_map(|pair| pair.trim().split_once('=')).filter(|(name, _)| *name == COOKIE);
        // A program at another port can set a cookie of the same name, which then arrives beside ours. So every one is
        // tried.
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
