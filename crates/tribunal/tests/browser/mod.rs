//! A real browser, driven by its own protocol over a pipe: headless Chromium, tabs, what a page holds, what it complains
//! about, pictures of it. Tests and `cargo xtask screenshots` share it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// What goes wrong is told in words.
pub type Res<T> = Result<T, String>;

/// How long the browser may take for one thing.
const PATIENCE: Duration = Duration::from_secs(120);
/// The same inside a page, in milliseconds.
const PATIENCE_MS: u64 = 90_000;
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A running browser.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    heard: Vec<(String, String)>,
}

/// A tab of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tab {
    session: String,
}

impl Browser {
    /// Starts one that keeps its things in `dir`; `None` where none is installed.
    pub fn start(dir: &Path) -> Res<Option<Browser>> {
        let folders: Vec<_> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
        let found = NAMES.iter().find(|name| folders.iter().any(|folder| folder.join(name).is_file()));
        let Some(name) = found else { return Ok(None) };
        let mut child = spawn(name, dir).map_err(|error| format!("{name}: {error}"))?;
        let (to, from) = (child.stdin.take().ok_or("no pipe")?, child.stdout.take().ok_or("no pipe")?);
        let (send, receive) = channel();
        let read = move || {
            let parts = BufReader::new(from).split(0);
            for part in parts.map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&part) else { continue };
                if send.send(message).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().spawn(read).map_err(|error| error.to_string())?;
        Ok(Some(Browser { child, to, from: receive, next: 0, heard: Vec::new() }))
    }

    /// A new tab.
    pub fn tab(&mut self) -> Res<Tab> {
        let target = self.call(None, "Target.createTarget", json!({ "url": "about:blank" }))?;
        let params = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call(None, "Target.attachToTarget", params)?;
        let tab = Tab { session: session["sessionId"].as_str().unwrap_or_default().to_owned() };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(Some(&tab), &format!("{domain}.enable"), json!({}))?;
        }
        Ok(tab)
    }

    /// Goes to a page and waits until it is there.
    pub fn open(&mut self, tab: &Tab, url: &str) -> Res<()> {
        let gone = self.call(Some(tab), "Page.navigate", json!({ "url": url }))?;
        if let Some(error) = gone["errorText"].as_str() {
            return Err(format!("{url}: {error}"));
        }
        self.until(tab, "document.readyState === 'complete' && location.href !== 'about:blank'")
    }

    /// What a script in a page comes to.
    pub fn eval(&mut self, tab: &Tab, script: &str) -> Res<Value> {
        let params = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let told = self.call(Some(tab), "Runtime.evaluate", params)?;
        match told.get("exceptionDetails") {
            Some(details) => Err(format!("{script}: {}", details["exception"]["description"])),
            None => Ok(told["result"]["value"].clone()),
        }
    }

    /// The text a script comes to.
    pub fn text(&mut self, tab: &Tab, script: &str) -> Res<String> {
        Ok(self.eval(tab, script)?.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until a condition holds in a page, also over its being loaded anew.
    pub fn until(&mut self, tab: &Tab, condition: &str) -> Res<()> {
        let script = format!(
            "new Promise((yes, no) => {{ const end = Date.now() + {PATIENCE_MS}; const look = () => {{ \
             if ({condition}) yes(true); else if (Date.now() > end) no(new Error('waited in vain: ' + \
             document.body.innerText.slice(0, 2000))); else setTimeout(look, 20); }}; look(); }})"
        );
        // A page that is left takes the promise with it: the next one is asked.
        for _ in 0..20 {
            match self.eval(tab, &script) {
                Err(error)
                    if ["navigated", "destroyed", "Cannot find context"]
                        .iter()
                        .any(|word| error.contains(word)) => {}
                other => return other.map(drop).map_err(|error| format!("{condition}: {error}")),
            }
        }
        Err(format!("{condition}: the page was never still"))
    }

    /// What pages complained about since the last call.
    pub fn complaints(&mut self, tab: &Tab) -> Res<Vec<String>> {
        // An answer comes after everything that was said before it.
        self.eval(tab, "1")?;
        let (of, others) =
            std::mem::take(&mut self.heard).into_iter().partition(|(session, _)| *session == tab.session);
        self.heard = others;
        Ok(of.into_iter().map(|(_, text): (String, String)| text).collect())
    }

    /// Light or dark.
    pub fn scheme(&mut self, tab: &Tab, scheme: &str) -> Res<()> {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call(Some(tab), "Emulation.setEmulatedMedia", json!({ "features": features })).map(drop)
    }

    /// How large its window is.
    pub fn size(&mut self, tab: &Tab, width: u32, height: u32) -> Res<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call(Some(tab), "Emulation.setDeviceMetricsOverride", size).map(drop)
    }

    /// A picture of what is seen, as base64 of a PNG.
    pub fn picture(&mut self, tab: &Tab) -> Res<String> {
        let told = self.call(Some(tab), "Page.captureScreenshot", json!({ "format": "png" }))?;
        told["data"].as_str().map(str::to_owned).ok_or_else(|| "no picture".to_owned())
    }

    /// Presses a key as a person does.
    pub fn press(&mut self, tab: &Tab, key: &str, code: u32, text: &str) -> Res<()> {
        let down = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "text": text });
        self.call(Some(tab), "Input.dispatchKeyEvent", down)?;
        let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
        self.call(Some(tab), "Input.dispatchKeyEvent", up).map(drop)
    }

    /// One call of the protocol.
    fn call(&mut self, tab: Option<&Tab>, method: &str, params: Value) -> Res<Value> {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(tab) = tab {
            message["sessionId"] = tab.session.clone().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to
            .write_all(&bytes)
            .and_then(|()| self.to.flush())
            .map_err(|error| format!("{method}: {error}"))?;
        loop {
            let message = self.from.recv_timeout(PATIENCE).map_err(|error| match error {
                RecvTimeoutError::Timeout => format!("{method}: the browser does not answer"),
                RecvTimeoutError::Disconnected => format!("{method}: the browser has gone"),
            })?;
            if message["id"].as_u64() == Some(id) {
                return match message.get("error") {
                    Some(error) => Err(format!("{method}: {error}")),
                    None => Ok(message["result"].clone()),
                };
            }
            self.hear(&message);
        }
    }

    /// Keeps what is a complaint.
    fn hear(&mut self, message: &Value) {
        let params = &message["params"];
        let text = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => params["exceptionDetails"].to_string(),
            Some("Runtime.consoleAPICalled") if params["type"] == "error" => params["args"].to_string(),
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => params["entry"].to_string(),
            _ => return,
        };
        self.heard.push((message["sessionId"].as_str().unwrap_or_default().to_owned(), text));
    }
}

/// The protocol goes over the descriptors 3 and 4, which a shell gives it from our pipes.
#[expect(clippy::disallowed_methods, reason = "it plays the user, who starts programs as they like")]
fn spawn(name: &str, dir: &Path) -> std::io::Result<Child> {
    let data = format!("--user-data-dir={}", dir.display());
    Command::new("sh")
        .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null", "sh", name])
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe", &data])
        .env("HOME", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked first, so that it ends its own processes.
        let _ = self.call(None, "Browser.close", json!({}));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
