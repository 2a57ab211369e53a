//! Who may look and who may decide: the name in Host (against a name that was made to point here), a link that works
//! once and becomes a cookie, and for decisions our own origin and the token of our own form. Secrets are compared as
//! digests, whose comparison takes the same time wherever they differ. It never writes a secret anywhere.

use super::http::{Method, Request};
use std::sync::{Mutex, PoisonError};

/// Where the one-time link leads.
pub(super) const DOOR: &str = "/sign-in";
const SECRET: usize = 32;

/// The secret behind cookies and forms. One that is kept outlives the server, and so do its sign-ins.
#[derive(Clone)]
pub struct Key([u8; SECRET]);

impl Key {
    /// A new one.
    pub fn random() -> std::io::Result<Key> {
        let mut bytes = [0; SECRET];
        let mut filled = 0;
        while filled < SECRET {
            filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
        }
        Ok(Key(bytes))
    }

    /// One that was kept; `None` if it is none.
    pub fn kept(text: &str) -> Option<Key> {
        blake3::Hash::from_hex(text.trim()).ok().map(|hash| Key(*hash.as_bytes()))
    }

    /// The words to keep it by.
    pub fn to_words(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    fn proof(&self, of: &str, what: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.0, format!("{of}\n{what}").as_bytes())
    }
}

/// Lets people in.
pub struct Guard {
    key: Key,
    cookie: String,
    hosts: Vec<String>,
    address: String,
    ticket: Mutex<String>,
}

impl Guard {
    /// Guards a server on this port. `project` tells its cookie from those of servers on other ports, which browsers
    /// do not.
    pub fn new(key: Key, project: &str, port: u16) -> std::io::Result<Guard> {
        let name = blake3::hash(project.as_bytes()).to_hex();
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")).to_vec();
        // One person has one key; what it proves is proven for one project alone.
        let key = Key(*key.proof("project", project).as_bytes());
        Ok(Guard {
            cookie: format!("tribunal-{}", &name.as_str()[..12]),
            address: format!("http://127.0.0.1:{port}"),
            ticket: Mutex::new(Key::random()?.to_words()),
            key,
            hosts,
        })
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

    /// The cookie for whoever has the link, which is then spent.
    pub(super) fn sign_in(&self, request: &Request) -> Option<String> {
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
        Some(format!("{}={session}.{proof}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", self.cookie))
    }

    /// Lets a signed-in person read, and decide from our own pages. Notes the token for their forms.
    pub(super) fn allows(&self, request: &mut Request) -> Result<(), (u16, &'static str)> {
        let Some(session) = self.session(request) else {
            return Err((401, "Nobody is signed in here. Open the link that `tribunal serve` shows."));
        };
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

    fn session(&self, request: &Request) -> Option<String> {
        let cookies = request.header("cookie")?.split(';');
        let mut ours = cookies.filter_map(|pair| pair.trim().split_once('='));
        let (session, proof) = ours.find(|(name, _)| *name == self.cookie)?.1.split_once('.')?;
        let proof = blake3::Hash::from_hex(proof).ok()?;
        (self.key.proof("cookie", session) == proof).then(|| session.to_owned())
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

    fn guard(key: &Key, project: &str) -> Guard {
        Guard::new(key.clone(), project, 80).unwrap()
    }

    fn cookie(guard: &Guard) -> String {
        let link = guard.link();
        let path = link.strip_prefix("http://127.0.0.1:80").unwrap();
        let set = guard.sign_in(&request(&format!("GET {path} HTTP/1.1\r\n\r\n"))).unwrap();
        set.split(';').next().unwrap().to_owned()
    }

    fn enters(guard: &Guard, cookie: &str) -> bool {
        guard.allows(&mut request(&format!("GET / HTTP/1.1\r\nCookie: a=b; {cookie}\r\n\r\n"))).is_ok()
    }

    #[test]
    fn a_cookie_outlives_the_server_but_not_the_key_or_the_project() {
        let key = Key::random().unwrap();
        let cookie = cookie(&guard(&key, "/a"));
        assert!(enters(&guard(&key, "/a"), &cookie));
        assert!(enters(&guard(&Key::kept(&key.to_words()).unwrap(), "/a"), &cookie));
        assert!(!enters(&guard(&Key::random().unwrap(), "/a"), &cookie));
        let renamed = cookie.replace(&guard(&key, "/a").cookie, &guard(&key, "/b").cookie);
        assert!(!enters(&guard(&key, "/b"), &renamed));
    }

    #[test]
    fn two_browsers_have_two_sessions() {
        let guard = guard(&Key::random().unwrap(), "/a");
        let (one, two) = (cookie(&guard), cookie(&guard));
        assert_ne!(one, two);
        assert!(enters(&guard, &one) && enters(&guard, &two));
    }
}
