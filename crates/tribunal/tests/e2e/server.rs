//! `tribunal serve` as a test uses it: started on a stage, signed in to, asked over a plain socket.

use crate::stage::Stage;
use crate::stage::program::Running;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A server that runs.
pub struct Server {
    running: Option<Running>,
    /// Its port.
    pub port: u16,
    /// The link that signs one browser in.
    pub link: String,
}

/// What a browser that opened the link has.
#[derive(Clone, Debug)]
pub struct Session {
    /// Where its pages begin.
    pub home: String,
    /// What it sends there.
    pub cookie: String,
}

impl Session {
    /// One of its pages.
    pub fn at(&self, path: &str) -> String {
        format!("{}{}", self.home, path.trim_start_matches('/'))
    }
}

/// What it answered.
#[derive(Debug)]
pub struct Got {
    /// The status.
    pub status: u16,
    /// The headers, by their names in small letters.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

impl Server {
    /// Starts one on any free port.
    pub fn start(stage: &Stage) -> Server {
        Server::at(stage, 0)
    }

    /// Starts one on this port.
    pub fn at(stage: &Stage, port: u16) -> Server {
        let binary = stage.program().binary.clone().into_os_string();
        // The link goes to stdout, which is not watched here.
        let line = "exec \"$0\" serve --port \"$1\" 1>&2".to_owned();
        let words: Vec<OsString> = vec!["-c".into(), line.into(), binary, port.to_string().into()];
        let running = stage.program().launch("sh".as_ref(), &words, &[]).unwrap();
        running.says("?token=").unwrap();
        let said = running.stderr();
        let link = said.lines().find(|line| line.contains("?token=")).unwrap().trim().to_owned();
        let port = link.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
        Server { running: Some(running), port, link }
    }

    /// The newest link.
    pub fn next_link(&self) -> String {
        let said = self.running.as_ref().unwrap().stderr();
        let at = said.rfind("http://127.0.0.1").unwrap();
        said[at..].lines().next().unwrap().to_owned()
    }

    /// What it has said.
    pub fn said(&self) -> String {
        self.running.as_ref().unwrap().stderr()
    }

    /// Ends it, as Ctrl-C does; its exit code.
    pub fn stop(mut self) -> Option<i32> {
        let running = self.running.take().unwrap();
        running.signal(Signal::INT).unwrap();
        running.wait().unwrap().code
    }

    /// The session of a browser that opened the link.
    pub fn sign_in(&self) -> Session {
        self.sign_in_with(&self.link)
    }

    /// The session of a browser that opened this link.
    pub fn sign_in_with(&self, link: &str) -> Session {
        let path = link.split_once(&format!(":{}", self.port)).unwrap().1;
        let got = self.ask("GET", path, &[], "");
        assert_eq!(got.status, 303, "{got:?}");
        let cookie = &got.headers["set-cookie"];
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        let home = got.headers["location"].clone();
        Session { home, cookie: cookie.split(';').next().unwrap().to_owned() }
    }

    /// Asks as a signed-in browser.
    pub fn get(&self, session: &Session, path: &str) -> Got {
        self.ask("GET", &session.at(path), &[("Cookie", &session.cookie)], "")
    }

    /// Asks anything.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Got {
        let mut stream = self.send(method, path, headers, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {path}: {text}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let headers = head.lines().filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Got { status, headers, body: body.to_owned() }
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut text =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: 127.0.0.1:{}\r\n", self.port));
        }
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        // A server that refuses early may have gone before it has read everything.
        let _ = stream.write_all(format!("{text}\r\n{body}").as_bytes());
        stream
    }

    /// The ids of a run's news, after `last`, until it is over or so many came.
    pub fn news(&self, session: &Session, run: &str, last: Option<u64>, most: usize) -> (Vec<u64>, bool) {
        let mut headers = vec![("Cookie", session.cookie.as_str())];
        let last = last.map(|last| last.to_string());
        headers.extend(last.as_deref().map(|last| ("Last-Event-ID", last)));
        let stream = self.send("GET", &session.at(&format!("/runs/{run}/events")), &headers, "");
        let (mut ids, mut id) = (Vec::new(), 0);
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.parse().unwrap();
            }
            match line.as_str() {
                "event: told" => ids.push(id),
                "event: over" => return (ids, true),
                _ => {}
            }
            if ids.len() >= most {
                break;
            }
        }
        (ids, false)
    }

    /// The token that the forms of a page carry.
    pub fn form_token(&self, session: &Session) -> String {
        let page = self.get(session, "/inbox").body;
        let at = page.find("name=\"token\" value=\"").unwrap_or_else(|| panic!("no form: {page}"));
        page[at + 20..].split('"').next().unwrap().to_owned()
    }

    /// Posts a form of our own page.
    pub fn post(&self, session: &Session, fields: &str) -> Got {
        let origin = format!("http://127.0.0.1:{}", self.port);
        let body = format!("token={}&{fields}", self.form_token(session));
        let headers = [("Cookie", session.cookie.as_str()), ("Origin", origin.as_str())];
        self.ask("POST", &session.at("/decide"), &headers, &body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.signal(Signal::KILL);
            let _ = running.wait();
        }
    }
}
