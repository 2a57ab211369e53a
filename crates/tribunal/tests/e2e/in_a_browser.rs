//! The pages in a real browser: a live run followed to its end over a server that goes away and comes back, a finding's
//! story, a decision that resumes the run, accessibility, and hostile words that stay words.

use crate::browser::{Browser, Tab};
use crate::server::Server;
use crate::show::Show;
use crate::stage::scenes::{PLAIN, Scene};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use tribunal_core::run::Ending;
use tribunal_engine::inbox;

/// The version of axe that is fetched.
const AXE: &str = "axe-core@4.14.0";

/// A reviewer that never yields, and whose words are markup.
const SCRIPT: &str = r##"
[[turn]]
role = "reviewer"
use = "task"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/<img src=x onerror=owned()>.sh:2] issue: <script>document.title='owned';window.owned=1</script><svg onload=owned()>\nVERDICT: FAIL" } ]

[[turn]]
role = "dev"
use = "task"
round = 2
do = [ { write = "bin/one.sh", text = "#!/bin/sh\necho 2\n" }, { say = "FIXED: {finding:1}\nSUMMARY: <b onclick='x'>2.\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "task"
round = 2
do = [ { say = "{finding:1}: still there\nVERDICT: FAIL" } ]
"##;

/// The browser; none where none is installed, which CI does not let pass.
fn browser(show: &Show) -> Option<Browser> {
    let found = Browser::start(&show.stage.root().join("browser")).unwrap();
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "no Chromium is installed");
    found
}

/// The text of axe, fetched once into the build folder.
fn axe(show: &Show) -> String {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(AXE.replace('@', "-"));
    let file: PathBuf = dir.join("package/axe.min.js");
    if !file.is_file() {
        std::fs::create_dir_all(&dir).unwrap();
        let place = dir.display().to_string();
        let line = "cd \"$0\" && npm pack --silent --pack-destination . \"$1\" && tar -xzf axe-core-*.tgz package/axe.min.js";
        let fetched = show.stage.program().other("sh", &["-c", line, &place, AXE]).unwrap();
        assert_eq!(fetched.code, Some(0), "axe cannot be fetched: {}", fetched.said());
    }
    std::fs::read_to_string(file).unwrap()
}

/// No serious violation, in light and in dark, in a window and on a telephone.
fn is_accessible(browser: &mut Browser, tab: &Tab, axe: &str) {
    for (scheme, width) in [("light", 1280), ("dark", 1280), ("light", 360)] {
        browser.scheme(tab, scheme).unwrap();
        browser.size(tab, width, 800).unwrap();
        browser.eval(tab, axe).unwrap();
        let script = "axe.run(document).then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))\
            .map(v => v.id + ': ' + v.nodes.map(n => n.html).slice(0, 3).join(' ')))";
        let wrong = browser.eval(tab, script).unwrap();
        let place = browser.text(tab, "location.pathname").unwrap();
        assert_eq!(wrong, Value::Array(Vec::new()), "{place}, {scheme}, {width}");
    }
    browser.scheme(tab, "light").unwrap();
    browser.size(tab, 1280, 800).unwrap();
}

/// The places of the events a page shows.
fn seqs(browser: &mut Browser, tab: &Tab) -> Vec<u64> {
    let script = "[...document.querySelectorAll('#events li')].map(li => Number(li.dataset.seq))";
    let told = browser.eval(tab, script).unwrap();
    told.as_array().unwrap().iter().map(|seq| seq.as_u64().unwrap()).collect()
}

/// Answers the open question with a keyboard.
fn decide(browser: &mut Browser, tab: &Tab, option: &str) {
    let focus = format!("document.querySelector('input[value={option}]').focus()");
    browser.eval(tab, &focus).unwrap();
    browser.press(tab, " ", 32, " ").unwrap();
    browser.eval(tab, "document.querySelector('input[name=by]').value = 'Ada'").unwrap();
    browser.eval(tab, "document.querySelector('form.decide button').focus()").unwrap();
    browser.press(tab, "Enter", 13, "\r").unwrap();
    browser.until(tab, "document.getElementById('said') !== null").unwrap();
}

#[test]
fn a_live_run_is_followed_and_decided_in_a_browser() {
    let titled =
        |plan: &str| plan.replace("Tool 01", "<script>window.owned=1</script><img src=x onerror=owned()>");
    let mut show = Show::with_plan(&Scene { script: SCRIPT, ..PLAIN }, titled);
    let Some(mut browser) = browser(&show) else { return };
    let axe = axe(&show);
    let running = show.stage.program().start(&["run", "--attach"], &[]).unwrap();
    show.stage.wait_for(&running, |run_state| !inbox::questions(run_state).is_empty()).unwrap();
    let server = Server::start(&show.stage);
    let (run, port) = (show.run(), server.port);

    // The list leads to the run, which is followed.
    let live = browser.tab().unwrap();
    browser.open(&live, &server.link).unwrap();
    let home = browser.text(&live, "location.href").unwrap();
    let at = |path: &str| format!("{home}{}", path.trim_start_matches('/'));
    is_accessible(&mut browser, &live, &axe);
    browser.eval(&live, &format!("document.querySelector('main a[href=\"./runs/{run}\"]').click()")).unwrap();
    browser.until(&live, "document.getElementById('live-state')?.textContent.startsWith('Live')").unwrap();
    is_accessible(&mut browser, &live, &axe);

    // A finding's story, a loop, the journal, the inbox: words of agents are words.
    let other = browser.tab().unwrap();
    for (path, holds) in [
        (format!("/runs/{run}"), "<script>window.owned=1</script>"),
        (format!("/runs/{run}/findings/F-1"), "Its story"),
        (format!("/runs/{run}/findings"), "F-1"),
        (format!("/runs/{run}/loops"), "task-1"),
        (format!("/runs/{run}/journal"), "#1"),
        ("/inbox".to_owned(), "Decide"),
    ] {
        browser.open(&other, &at(&path)).unwrap();
        let text = browser.text(&other, "document.body.innerText").unwrap();
        assert!(text.contains(holds), "{path}: {text}");
        let markup = "document.querySelectorAll('main script, main img, main b, [onload], [onerror]').length";
        assert_eq!(browser.eval(&other, markup).unwrap(), 0, "{path}");
        assert_eq!(browser.eval(&other, "typeof window.owned").unwrap(), "undefined", "{path}");
        is_accessible(&mut browser, &other, &axe);
    }
    browser.open(&other, &at(&format!("/runs/{run}/findings/F-1"))).unwrap();
    let story = browser.text(&other, "document.body.innerText").unwrap();
    for part in ["<script>document.title='owned'", "answers: fixed", "says: still there", "round 1"] {
        assert!(story.contains(part), "{part}: {story}");
    }
    assert_eq!(browser.complaints(&live).unwrap(), Vec::<String>::new());
    assert_eq!(browser.complaints(&other).unwrap(), Vec::<String>::new());

    // The server goes, something happens, the server comes back.
    assert_eq!(server.stop(), Some(130));
    browser
        .until(&live, "document.getElementById('live-state').textContent.startsWith('Connection lost')")
        .unwrap();
    let stopped = show.stage.tribunal(&["decide", "01-01/task-1", "stop", "--no-resume"]).unwrap();
    assert_eq!(stopped.code, Some(0), "{}", stopped.said());
    let lane = |open: &inbox::OpenQuestion| open.id == "01-01";
    show.stage.wait_for(&running, |run_state| inbox::questions(run_state).iter().any(lane)).unwrap();
    // It has another key: the page says what to do, and a new link leads back.
    let server = Server::at(&show.stage, port);
    browser.until(&live, "document.getElementById('live-state').textContent.startsWith('Not live')").unwrap();
    browser.open(&live, &server.link).unwrap();
    let home = browser.text(&live, "location.href").unwrap();
    let at = |path: &str| format!("{home}{}", path.trim_start_matches('/'));
    let page = at(&format!("/runs/{run}"));
    browser.open(&live, &page).unwrap();
    browser.until(&live, "document.getElementById('asks').innerText.includes('Decide 01-01')").unwrap();
    assert_eq!(browser.text(&live, "location.href").unwrap(), page);

    // A decision in another tab lets the run go on; this one follows it to its end.
    browser.open(&other, &at("/inbox")).unwrap();
    decide(&mut browser, &other, "accept");
    let said = browser.text(&other, "document.getElementById('said').innerText").unwrap();
    assert!(said.contains("accept, by Ada"), "{said}");
    browser.until(&live, "document.getElementById('live-state').textContent === 'The run is over.'").unwrap();
    assert_eq!(running.wait().unwrap().code, Some(0));
    browser.until(&live, "document.getElementById('where').innerText.includes('passed')").unwrap();
    assert_eq!(seqs(&mut browser, &live), crate::serve::logged(&show), "every event once");

    // Only the time without a server was worth a complaint.
    let lost = |text: &String| !text.contains("net::ERR") && !text.contains("401 (Unauthorized)");
    let wrong: Vec<String> = browser.complaints(&live).unwrap().into_iter().filter(lost).collect();
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(browser.complaints(&other).unwrap(), Vec::<String>::new());
    drop(server);
    assert_eq!(show.ended(), Ending::Passed);
    show.untouched();
}

/// What a browser sends to a program at another port, which answers it with a page that asks for more.
fn overheard(listener: &TcpListener, asked: usize) -> Vec<String> {
    let mut heard = Vec::new();
    while heard.len() < asked {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        while !bytes.ends_with(b"\r\n\r\n") {
            match stream.read(&mut buffer) {
                Ok(got) if got > 0 => bytes.extend_from_slice(&buffer[..got]),
                _ => break,
            }
        }
        // A browser opens connections that it may not need.
        if bytes.is_empty() {
            continue;
        }
        heard.push(String::from_utf8(bytes).unwrap());
        let page = "<!DOCTYPE html><title>the app</title><link rel=icon href=data:,><p>the app";
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}", page.len());
        stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n{page}").as_bytes()).unwrap();
    }
    heard
}

/// Agents built a program that listens at another port, and the person looks at it in the browser that is signed in
/// here. Browsers know no ports: they would send it the cookie.
#[test]
fn hostile_program_at_another_port_gets_no_session() {
    let mut show = Show::of(&PLAIN);
    let Some(mut browser) = browser(&show) else { return };
    show.expect(&["run"], 0);
    let (run, server) = (show.run(), Server::start(&show.stage));
    let person = browser.tab().unwrap();
    browser.open(&person, &server.link).unwrap();
    let home = browser.text(&person, "location.pathname").unwrap();
    browser.open(&person, &format!("http://127.0.0.1:{}{home}runs/{run}", server.port)).unwrap();
    let text = browser.text(&person, "document.body.innerText").unwrap();
    assert!(text.contains(&run), "the person is signed in: {text}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let app = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let places = ["/", "/inbox", "/sign-in", "/runs/"];
    let asked = places.len();
    let heard = std::thread::spawn(move || overheard(&listener, asked));
    let tab = browser.tab().unwrap();
    for place in places {
        browser.open(&tab, &format!("{app}{place}")).unwrap();
        assert_eq!(browser.text(&tab, "document.referrer + document.title").unwrap(), "the app");
    }
    let heard = heard.join().unwrap();
    assert_eq!(heard.len(), asked);
    for request in &heard {
        let cookie = request.lines().find_map(|line| line.strip_prefix("Cookie: ")).unwrap_or_default();
        assert!(!request.contains("tribunal="), "{request}");
        assert!(home.len() > 1 && !request.contains(home.trim_matches('/')), "{request}");
        assert_eq!(server.ask("GET", "/inbox", &[("Cookie", cookie)], "").status, 401);
    }
    // The person has lost nothing by it.
    browser.open(&person, &format!("http://127.0.0.1:{}{home}inbox", server.port)).unwrap();
    assert_eq!(browser.text(&person, "document.title").unwrap(), "Inbox — Tribunal");
}
