//! The browser's server over a plain socket: who is let in, what is shown, what may be decided, and that nobody misses
//! or gets twice what happened.

use crate::server::{Server, Session};
use crate::show::Show;
use crate::stage::scenes::{self, PLAIN, Scene};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use tribunal_core::run::Ending;
use tribunal_engine::inbox;

const TASK: &str = "01-01/task-1";

/// The places of all public events of the newest run.
pub fn logged(show: &Show) -> Vec<u64> {
    let log = show.stage.tribunal(&["--json", "log", "--all"]).unwrap().stdout;
    let seq = |line: &str| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap();
    log.lines().map(seq).collect()
}

fn lost() -> Show {
    Show::of(&Scene { script: scenes::LOST_FOR_GOOD, ..PLAIN })
}

#[test]
fn nothing_is_shown_to_strangers() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    let server = Server::start(&show.stage);
    let (run, session) = (show.run(), server.sign_in());
    let cookie = session.cookie.clone();
    let own = format!("127.0.0.1:{}", server.port);
    let page = session.at(&format!("/runs/{run}"));
    let other = if cookie.ends_with('0') { '1' } else { '0' };
    let forged = format!("{}{other}", &cookie[..cookie.len() - 1]);
    let table = [
        ("no cookie", vec![], 401),
        ("a forged cookie", vec![("Cookie", forged.as_str())], 401),
        ("a cookie without proof", vec![("Cookie", cookie.split('.').next().unwrap())], 401),
        ("another name", vec![("Cookie", cookie.as_str()), ("Host", "evil.example")], 421),
        ("another port", vec![("Cookie", cookie.as_str()), ("Host", "127.0.0.1:1")], 421),
        ("no name", vec![("Cookie", cookie.as_str()), ("Host", "")], 421),
        (
            "two names",
            vec![("Cookie", cookie.as_str()), ("Host", own.as_str()), ("Host", "evil.example")],
            400,
        ),
        ("itself", vec![("Cookie", cookie.as_str())], 200),
    ];
    for (what, headers, status) in table {
        for path in [page.as_str(), &session.at("/"), &session.at("/inbox"), &format!("{page}/journal")] {
            let got = server.ask("GET", path, &headers, "");
            assert_eq!(got.status, status, "{what}: {path}");
            assert!(status == 200 || !got.body.contains(&run), "{what}: {path}");
            let rules = &got.headers["content-security-policy"];
            assert!(rules.starts_with("default-src 'none'") && !rules.contains("unsafe"), "{rules}");
            assert_eq!(got.headers["x-content-type-options"], "nosniff");
        }
    }
    for path in ["/".to_owned(), "/inbox".to_owned(), format!("/runs/{run}")] {
        let got = server.ask("GET", &path, &[("Cookie", &cookie)], "");
        let status = if path == "/" { 200 } else { 401 };
        assert_eq!(got.status, status, "{path}: the cookie alone opens nothing");
        assert!(!got.body.contains(&run) && !got.body.contains(&session.home), "{path}: {}", got.body);
    }
    let again = server.link.split_once(&own).unwrap().1;
    assert_eq!(server.ask("GET", again, &[], "").status, 403, "a link works once");
    let next = server.next_link();
    assert_eq!(server.ask("HEAD", next.split_once(&own).unwrap().1, &[], "").status, 403, "by a person");
    assert_eq!(server.ask("GET", next.split_once(&own).unwrap().1, &[], "").status, 303);
    for path in ["/runs/..%2f..%2fetc", "/runs/nosuch", "/../../etc/passwd", "/runs/%00"] {
        assert_eq!(server.get(&session, path).status, 404, "{path}");
    }
    assert_eq!(server.stop(), Some(130));
}

#[test]
fn every_page_is_there_without_any_program() {
    let mut show = Show::of(&Scene { script: scenes::STUCK, settings: scenes::STUCK_SETTINGS, ..PLAIN });
    show.expect(&["run"], 4);
    let run = show.run();
    let is_task = |id: &String| id.starts_with("01-01/task-1");
    let task = show.run_state().loops.keys().map(ToString::to_string).find(is_task).unwrap();
    let task = task.replace('/', "%2F");
    let empty = show.stage.root().join("empty");
    std::fs::create_dir(&empty).unwrap();
    std::os::unix::fs::symlink("/bin/sh", empty.join("sh")).unwrap();
    show.stage.program_mut().set_path(&empty);
    let server = Server::start(&show.stage);
    let session = server.sign_in();
    let table = [
        ("/".to_owned(), run.as_str()),
        (format!("/runs/{run}"), "Waits for you"),
        (format!("/runs/{run}/loops"), "01-01/task-1"),
        (format!("/runs/{run}/loops/{task}"), "Round by round"),
        (format!("/runs/{run}/findings"), "F-1"),
        (format!("/runs/{run}/findings/F-1"), "Its story"),
        (format!("/runs/{run}/queue"), "Nothing waits to land."),
        (format!("/runs/{run}/journal?from=3"), "#3<"),
        (format!("/runs/{run}/report"), "F-1"),
        ("/inbox".to_owned(), "Decide"),
    ];
    for (path, expect) in table {
        let got = server.get(&session, &path);
        assert_eq!(got.status, 200, "{path}: {}", got.body);
        assert!(got.body.contains(expect), "{path}: {}", got.body);
        assert!(!got.body.contains("style=") && !got.body.contains("onclick"), "{path}");
    }
    assert!(server.said().contains("signed in"), "{}", server.said());
}

/// A client that comes back, to this server or another, gets every event once.
#[test]
fn who_comes_back_misses_nothing_and_gets_nothing_twice() {
    let show = lost();
    let running = show.stage.program().start(&["run", "--attach"], &[]).unwrap();
    show.stage.wait_for(&running, |run_state| !inbox::questions(run_state).is_empty()).unwrap();
    let first = Server::start(&show.stage);
    let (run, session, port) = (show.run(), first.sign_in(), first.port);
    let (mut ids, _) = first.news(&session, &run, None, 5);
    let (more, _) = first.news(&session, &run, ids.last().copied(), 3);
    ids.extend(more);
    first.stop();
    let decided = show.stage.tribunal(&["decide", TASK, "accept", "--no-resume"]).unwrap();
    assert_eq!(decided.code, Some(0), "{}", decided.said());
    let second = Server::at(&show.stage, port);
    assert_eq!(second.get(&session, "/").status, 401, "sign-ins end with their server");
    let session = second.sign_in();
    let (rest, over) = second.news(&session, &run, ids.last().copied(), usize::MAX);
    ids.extend(rest);
    assert_eq!(running.wait().unwrap().code, Some(0));
    assert!(over);
    assert_eq!(ids, logged(&show));
    // Who has seen it all is told so at once.
    assert_eq!(second.news(&session, &run, ids.last().copied(), 1), (vec![], true));
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn a_decision_of_the_browser_resumes_the_run() {
    let show = lost();
    let running = show.stage.program().start(&["run", "--attach"], &[]).unwrap();
    show.stage.wait_for(&running, |run_state| !inbox::questions(run_state).is_empty()).unwrap();
    let server = Server::start(&show.stage);
    let (run, session) = (show.run(), server.sign_in());
    let form = |option: &str, by: &str| {
        format!("run={run}&id=01-01%2Ftask-1&option={option}&by={by}&note=looked+at+it")
    };
    let (place, own) = (session.at("/decide"), format!("http://127.0.0.1:{}", server.port));
    let refused = |headers: &[(&str, &str)], body: &str| server.ask("POST", &place, headers, body).status;
    let (cookie, token) = (session.cookie.clone(), server.form_token(&session));
    let body = format!("token={token}&{}", form("accept", "Ada"));
    assert_eq!(refused(&[("Origin", &own)], &body), 401, "nobody is signed in");
    assert_eq!(refused(&[("Cookie", &cookie)], &body), 403, "no origin");
    assert_eq!(refused(&[("Cookie", &cookie), ("Origin", "null")], &body), 403);
    assert_eq!(refused(&[("Cookie", &cookie), ("Origin", "http://evil.example")], &body), 403);
    assert_eq!(refused(&[("Cookie", &cookie), ("Origin", &own)], &form("accept", "Ada")), 403, "no token");
    assert_eq!(show.questions()[0].0, TASK, "nothing was decided");

    let got = server.post(&session, &form("fixed", "Ada"));
    assert!(got.body.contains("Not taken") && got.body.contains("on a terminal"), "{}", got.body);
    let got = server.post(&session, &form("nonsense", "Ada"));
    assert!(got.body.contains("Not taken"), "{}", got.body);
    let got = server.ask("POST", &place, &[("Cookie", &cookie), ("Origin", &own)], &body);
    assert!(got.body.contains("accept, by Ada"), "{}", got.body);
    assert_eq!(running.wait().unwrap().code, Some(0));
    assert_eq!(show.ended(), Ending::Passed);
    assert!(show.messages().contains("Tribunal-Accepted-By: Ada"), "{}", show.messages());
    // A second browser that still had the question open is told who was first.
    let body = format!("token={token}&{}", form("stop", "Eve"));
    let late = server.ask("POST", &place, &[("Cookie", &cookie), ("Origin", &own)], &body);
    assert!(late.body.contains("answered before: accept, by Ada"), "{}", late.body);
}

#[test]
fn an_answer_to_a_run_that_nobody_runs_waits_for_it() {
    let mut show = lost();
    show.expect(&["run"], 4);
    let server = Server::start(&show.stage);
    let (run, session) = (show.run(), server.sign_in());
    let got = server.post(&session, &format!("run={run}&id=01-01%2Ftask-1&option=accept&by=Ada"));
    assert!(got.body.contains(&format!("tribunal resume {run}")), "{}", got.body);
    show.expect(&["resume"], 0);
    assert_eq!(show.ended(), Ending::Passed);
}

#[test]
fn hostile_words_stay_words() {
    let script = scenes::reviewer_does(
        "{ say = \"[id:a] [severity:blocker] [confidence:95] [file:bin/<img src=x onerror=alert(1)>.sh:2] issue: \
         <script>document.title='owned'</script> \\u001b]0;x\\u0007\\\"'&\\nVERDICT: FAIL\" },",
    );
    let mut show = Show::script(&script);
    show.expect(&["run"], 4);
    let server = Server::start(&show.stage);
    let (run, session) = (show.run(), server.sign_in());
    for path in ["".to_owned(), "/findings".to_owned(), "/findings/F-1".to_owned(), "/journal".to_owned()] {
        let body = server.get(&session, &format!("/runs/{run}{path}")).body;
        assert!(
            !body.contains("<script>") && !body.contains("<img") && !body.contains('\u{1b}'),
            "{path}: {body}"
        );
    }
    let body = server.get(&session, &format!("/runs/{run}/findings/F-1")).body;
    assert!(body.contains("&lt;script&gt;document.title=&#39;owned&#39;"), "{body}");
}

/// The first version holds markup and an escape; the second is fixed.
const FIXED: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 1
do = [ { write = "bin/one.sh", text = "echo one\n# <script>alert(1)</script> \u001b[31m\necho two\n" }, { say = "SUMMARY: one.\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "task"
plan = "01-01"
round = 1
do = [ { say = "[id:a] [severity:blocker] [confidence:95] [file:bin/one.sh:2] issue: there is a script in it | suggestion: take it out\nVERDICT: reject" } ]

[[turn]]
role = "dev"
plan = "01-01"
task = 1
round = 2
do = [ { write = "bin/one.sh", text = "echo one\necho two\n" }, { say = "FIXED: {finding:1}\nSUMMARY: taken out.\nTASK: done" } ]

[[turn]]
role = "reviewer"
use = "task"
plan = "01-01"
round = 2
do = [ { say = "F-1: resolved\nCHECKED: read it.\nVERDICT: approve" } ]
"##;

#[test]
fn a_finding_shows_its_code_and_the_fix_it_went_away_with() {
    let mut show = Show::script(FIXED);
    show.expect(&["run"], 0);
    let report = show.expect(&["report", "--html"], 0).stdout;
    let server = Server::start(&show.stage);
    let (run, session) = (show.run(), server.sign_in());
    let page = server.get(&session, &format!("/runs/{run}/findings/F-1")).body;
    for text in [&page, &report] {
        assert!(text.contains("    2  # &lt;script&gt;alert(1)&lt;/script&gt;"), "{text}");
        assert!(text.contains("-# &lt;script&gt;alert(1)&lt;/script&gt;"), "{text}");
        assert!(!text.contains("<script>") && !text.contains('\u{1b}'), "{text}");
    }
    assert!(page.contains("The fix it went away with") && report.contains("It went away with"));
    let queue = server.get(&session, &format!("/runs/{run}/queue")).body;
    assert!(queue.contains("merged") && queue.contains("01-01"), "{queue}");
    show.expect(&["replay"], 0);
}

/// Two browsers and a terminal answer at the same moment: one answer counts, the others are told which.
#[test]
fn of_answers_at_once_the_first_counts() {
    let mut show = lost();
    show.expect(&["run"], 4);
    let server = Server::start(&show.stage);
    let (run, first) = (show.run(), server.sign_in());
    let second = server.sign_in_with(&server.next_link());
    let own = format!("http://127.0.0.1:{}", server.port);
    // Both have the page open before anybody answers: an answered question has no form any more.
    let open = [(&first, "accept"), (&second, "stop")].map(|(session, option)| {
        let token = server.form_token(session);
        (session, format!("token={token}&run={run}&id=01-01%2Ftask-1&option={option}&by=Ada"))
    });
    let post = |(session, body): &(&Session, String)| {
        let headers = [("Cookie", session.cookie.as_str()), ("Origin", own.as_str())];
        server.ask("POST", &session.at("/decide"), &headers, body).body
    };
    let words = ["decide", TASK, "ask-again", "--no-resume", "--by", "Tom"];
    let answers = std::thread::scope(|scope| {
        let one = scope.spawn(|| post(&open[0]));
        let two = scope.spawn(|| post(&open[1]));
        let three = scope.spawn(|| show.stage.tribunal(&words).unwrap().said());
        [one, two, three].map(|answer| answer.join().unwrap())
    });
    let late = answers.iter().filter(|said| said.contains("answered before"));
    assert_eq!(late.count(), 2, "{answers:?}");
}

/// Strangers hold every connection there is and send a byte now and then; the person still gets every page.
#[test]
fn hostile_strangers_cannot_shut_the_page() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    let server = Server::start(&show.stage);
    let (run, session) = (show.run(), server.sign_in());
    let mut strangers = Vec::new();
    for _ in 0..3 {
        for _ in 0..150 {
            let mut stranger = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            stranger.write_all(b"GET / HTTP/1.1\r\nA: ").unwrap();
            strangers.push(stranger);
        }
        for stranger in &mut strangers {
            // Whoever was sent away does not get it.
            let _ = stranger.write_all(b"x");
        }
        for path in ["/".to_owned(), "/inbox".to_owned(), format!("/runs/{run}")] {
            assert_eq!(server.get(&session, &path).status, 200, "{path}");
        }
    }
    assert_eq!(
        server.sign_in_with(&server.next_link()).home.len(),
        session.home.len(),
        "another one may come"
    );
}

/// Nothing that a process could read of the user's files lets it in: the server writes none.
#[test]
fn no_file_holds_what_a_session_is_made_of() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    let before = files_below(&show.stage.home());
    let server = Server::start(&show.stage);
    assert_eq!(server.get(&server.sign_in(), "/").status, 200);
    assert_eq!(files_below(&show.stage.home()), before);
}

fn files_below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files_below(&entry.path())),
            false => _ = found.insert(entry.path()),
        }
    }
    found
}
