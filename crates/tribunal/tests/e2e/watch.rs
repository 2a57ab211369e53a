//! `tribunal watch` on a real terminal, that of tmux: it starts, selects, scrolls, decides, is resized and quits.

use crate::show::Show;
use crate::stage::scenes::{self, PLAIN, Scene};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tribunal_core::run::Ending;
use tribunal_engine::inbox;

const PATIENCE: Duration = Duration::from_secs(90);

/// A terminal with a shell's command in it.
pub struct Terminal<'a> {
    show: &'a Show,
    socket: String,
}

impl Terminal<'_> {
    fn open<'a>(show: &'a Show, columns: u32, rows: u32) -> Terminal<'a> {
        Terminal::with(show, "watch", columns, rows)
    }

    /// Runs a command of this program in a new one.
    pub fn with<'a>(show: &'a Show, command: &str, columns: u32, rows: u32) -> Terminal<'a> {
        let binary = show.stage.program().binary.display();
        // The terminal sends Ctrl-C to the shell too, which has more to say.
        let line = format!("trap : INT; '{binary}' {command}; echo \"it ended with $?\"; exec cat");
        Terminal::of(show, &line, columns, rows)
    }

    /// Runs a line of the shell in a new one.
    pub fn of<'a>(show: &'a Show, line: &str, columns: u32, rows: u32) -> Terminal<'a> {
        // Each has a server of its own: the one before may still be on its way out.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tmux-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let terminal = Terminal { show, socket: show.stage.root().join(name).display().to_string() };
        let (x, y) = (columns.to_string(), rows.to_string());
        terminal.tmux(&["new-session", "-d", "-s", "w", "-x", &x, "-y", &y, line]);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let words = [&["-f", "/dev/null", "-S", &self.socket][..], args].concat();
        let ended = self.show.stage.program().other("tmux", &words).unwrap();
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.said());
        ended.stdout
    }

    /// The process that leads the session of the terminal.
    pub fn leader(&self) -> String {
        self.tmux(&["display-message", "-p", "-t", "w", "#{pane_pid}"]).trim().to_owned()
    }

    /// Presses keys.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "w"][..], keys].concat());
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "w"])
    }

    /// Looks until the screen is as wanted; each look takes as long as a process does.
    #[track_caller]
    pub fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "waited in vain for {what}:\n{screen}");
        }
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = self.show.stage.program().other("tmux", &["-S", &self.socket, "kill-server"]);
    }
}

/// Waits until a process is gone.
#[track_caller]
pub fn until_gone(pid: &str, what: &str) {
    let began = Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(began.elapsed() < PATIENCE, "{what} goes on without a terminal");
        std::thread::yield_now();
    }
}

/// The line that is selected.
fn selected(screen: &str) -> String {
    screen.lines().find(|line| line.starts_with("> ")).unwrap_or_default().to_owned()
}

#[test]
fn a_run_is_watched_and_decided_on_a_terminal() {
    let mut show = Show::of(&Scene { script: scenes::LOST_FOR_GOOD, ..PLAIN });
    if show.stage.program().other("tmux", &["-V"]).is_err() {
        assert!(std::env::var_os("CI").is_none(), "no tmux is installed");
        return;
    }
    let running = show.stage.program().start(&["run", "--attach"], &[]).unwrap();
    show.stage.wait_for(&running, |run_state| !inbox::questions(run_state).is_empty()).unwrap();
    {
        let terminal = Terminal::open(&show, 80, 24);
        let first = terminal.until("the first screen", |screen| screen.contains("q quit"));
        assert!(first.contains("[1 Loops]") && first.contains("3 Inbox (1)"), "{first}");
        assert!(selected(&first).contains("01-01/task-1"), "{first}");
        assert!(first.contains("round 1"), "{first}");

        // Scrolls what is selected.
        let head = first.lines().position(|line| line.starts_with("01-01/task-1")).unwrap();
        terminal.press(&["PageDown"]);
        terminal.until("the detail to move", |screen| {
            !screen.lines().nth(head).unwrap().starts_with("01-01/task-1")
        });
        terminal.press(&["PageUp"]);
        terminal.until("the detail to move back", |screen| {
            screen.lines().nth(head).unwrap().starts_with("01-01/task-1")
        });

        // Selects, in a list that has more than one line.
        terminal.press(&["4"]);
        let events = terminal
            .until("the events", |screen| screen.contains("[4 Events]") && !selected(screen).is_empty());
        terminal.press(&["Home"]);
        let top = terminal.until("the first event", |screen| selected(screen) != selected(&events));
        terminal.press(&["Down"]);
        terminal.until("the second event", |screen| selected(screen) != selected(&top));

        // Fits any window.
        for (columns, rows) in [("40", "12"), ("15", "5"), ("120", "40")] {
            terminal.tmux(&["resize-window", "-t", "w", "-x", columns, "-y", rows]);
            let holds = |screen: &str| match columns {
                "15" => screen.contains("too small"),
                "40" => screen.contains("↑↓ Tab Enter") && screen.contains("> "),
                _ => screen.contains("q quit") && screen.lines().count() >= 39,
            };
            let screen = terminal.until(columns, holds);
            let width = columns.parse::<usize>().unwrap();
            assert!(screen.lines().all(|line| line.chars().count() <= width), "{columns}: {screen}");
        }

        // Decides; the run goes on.
        terminal.press(&["d"]);
        terminal.until("the inbox", |screen| screen.contains("[3 Inbox"));
        terminal.press(&["Enter"]);
        terminal.until("the answers", |screen| screen.contains("Enter decides"));
        terminal.press(&["Down"]);
        terminal.until("accept", |screen| screen.contains("> accept"));
        terminal.press(&["n"]);
        terminal.until("the note", |screen| screen.contains("note: _"));
        terminal.press(&["q no reviewerX", "BSpace"]);
        terminal.until("the words", |screen| screen.contains("note: q no reviewer_"));
        terminal.press(&["Enter"]);
        terminal.until("the note to be kept", |screen| screen.contains("note: q no reviewer "));
        terminal.press(&["Enter"]);
        terminal.until("the answer", |screen| screen.contains("accept, by tester"));
        assert_eq!(running.wait().unwrap().code, Some(0));
        terminal.press(&["1"]);
        terminal.until("the end", |screen| screen.contains("passed"));

        terminal.press(&["q"]);
        terminal.until("the shell", |screen| screen.contains("it ended with 0") && !screen.contains("Loops"));
    }
    assert_eq!(show.ended(), Ending::Passed);
    let decided = show.expect(&["log", "--all"], 0).stdout;
    assert!(decided.contains("q no reviewer"), "{decided}");
    show.untouched();
}

/// A window that is closed takes what ran in it along.
#[test]
fn who_loses_the_terminal_ends() {
    let mut show = Show::of(&PLAIN);
    if show.stage.program().other("tmux", &["-V"]).is_err() {
        assert!(std::env::var_os("CI").is_none(), "no tmux is installed");
        return;
    }
    show.expect(&["run"], 0);
    for command in ["watch", "replay --step"] {
        let terminal = Terminal::with(&show, command, 80, 24);
        terminal.until("the screen", |screen| screen.contains("q quit"));
        let shell = terminal.leader();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        let ours = children.trim().to_owned();
        drop(terminal);
        until_gone(&ours, command);
    }
}

/// Whoever is asked to end says so by its exit code, and gives the terminal back.
#[test]
fn who_is_asked_to_end_ends_with_the_signal() {
    for command in ["watch", "replay --step"] {
        let mut show = Show::of(&PLAIN);
        if show.stage.program().other("tmux", &["-V"]).is_err() {
            assert!(std::env::var_os("CI").is_none(), "no tmux is installed");
            return;
        }
        show.expect(&["run"], 0);
        let terminal = Terminal::with(&show, command, 80, 24);
        terminal.until("the screen", |screen| screen.contains("q quit"));
        let shell = terminal.leader();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        let ours = rustix::process::Pid::from_raw(children.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(ours, rustix::process::Signal::TERM).unwrap();
        terminal.until("the shell", |screen| screen.contains("it ended with 143"));
    }
}

#[test]
fn a_journal_is_stepped_through_on_a_terminal() {
    let mut show = Show::of(&PLAIN);
    if show.stage.program().other("tmux", &["-V"]).is_err() {
        assert!(std::env::var_os("CI").is_none(), "no tmux is installed");
        return;
    }
    show.expect(&["run"], 0);
    let refused = show.expect(&["replay", "--step"], 2);
    assert!(refused.stderr.contains("needs a terminal"), "{}", refused.stderr);
    let terminal = Terminal::with(&show, "replay --step", 80, 24);
    let first = terminal.until("the first row", |screen| screen.contains("q quit") && screen.contains("#1 "));
    assert!(first.contains("1 of ") && first.contains("folded again"), "{first}");
    terminal.press(&["Down"]);
    let second = terminal.until("the second row", |screen| screen.contains("2 of "));
    assert!(!second.contains("#1 run"), "{second}");
    terminal.press(&["n"]);
    terminal.until("the next decision", |screen| {
        selected(screen).starts_with("> =") && selected(screen) != selected(&second)
    });
    terminal.press(&["End"]);
    terminal.until("the last row", |screen| screen.contains("\"ending\""));
    terminal.press(&["q"]);
    terminal
        .until("the shell", |screen| screen.contains("it ended with 0") && screen.contains("folded again"));
}

#[test]
fn without_a_terminal_it_says_so() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    let refused = show.expect(&["watch"], 2);
    assert!(
        refused.stderr.contains("needs a terminal") && refused.stderr.contains("hint: "),
        "{}",
        refused.stderr
    );
}
