//! The journal against real files, real processes and real kills.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod appending;
mod crash;
mod fixtures;
mod mailbox;
mod places;
mod reading;

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tribunal_journal::{Error, Head, Journal, NewRow, Options, Reader, Row, Synchronous, Turn};

/// Simulated time and quick files: for tests that do not ask what is on disk.
const QUICK: Options = Options { synchronous: Synchronous::Off };

fn head() -> Head {
    Head { run_id: "run-1".to_owned(), product_version: "0.1.0".to_owned(), created_at: 1_700_000_000_000 }
}

/// A directory for one run, gone with the test.
fn run_dir() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("runs/run-1");
    (temp, dir)
}

fn row<'a>(body: &'a str) -> NewRow<'a> {
    NewRow { of: "run", kind: "test", body }
}

/// Appends one turn of `size` rows that each name the size, so that a torn turn can be told.
fn append_sized(journal: &mut Journal, size: usize) -> Result<u64, Error> {
    let body = sized(size);
    journal.append(&[Turn { at: 7, rows: &vec![row(&body); size] }])
}

fn sized(size: usize) -> String {
    format!("{{\"size\":{size},\"pad\":\"{}\"}}", "x".repeat(size * 37 % 300))
}

fn rows(journal: &Journal) -> Vec<Row> {
    let mut all = Vec::new();
    journal
        .each::<Error>(1, |row| {
            all.push(row.to_row());
            Ok(())
        })
        .unwrap();
    all
}

fn rows_of(dir: &Path) -> Result<Vec<Row>, Error> {
    let mut all = Vec::new();
    Reader::open(dir)?.each::<Error>(1, |row| {
        all.push(row.to_row());
        Ok(())
    })?;
    Ok(all)
}

/// Fails unless every turn has as many rows as its rows say.
fn assert_whole_turns(rows: &[Row]) {
    for turn in rows.chunk_by(|a, b| a.turn == b.turn) {
        assert_eq!(turn[0].body, sized(turn.len()), "turn {} is torn", turn[0].turn);
    }
}

/// This test program again, as another process that plays `role` in `dir`.
struct Other {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    stdin: ChildStdin,
}

impl Other {
    #[expect(clippy::disallowed_methods, reason = "a crash needs a process to crash; tests have no driver")]
    fn start(role: &str, dir: &Path) -> Other {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "other_process", "--nocapture", "--test-threads=1", "--quiet"])
            .env("JOURNAL_TEST_ROLE", role)
            .env("JOURNAL_TEST_DIR", dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stdin = child.stdin.take().unwrap();
        Other { child, lines, stdin }
    }

    /// The next thing it says; the test harness's own words are passed over.
    fn hear(&mut self) -> Option<String> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| line.strip_prefix("> ").map(str::to_owned))
    }

    fn say(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What `Other` runs; without a role it is a test that has nothing to do.
#[test]
fn other_process() {
    let Ok(role) = std::env::var("JOURNAL_TEST_ROLE") else { return };
    let dir = PathBuf::from(std::env::var_os("JOURNAL_TEST_DIR").unwrap());
    match role.as_str() {
        "append" => crash::append_for_ever(&dir),
        "listen" => mailbox::listen(&dir),
        "hold" => places::hold(&dir),
        _ => mailbox::answer(&dir, &role),
    }
}

/// Says a line to the test that started this process.
fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n> {line}").unwrap();
    out.flush().unwrap();
}

/// Waits for a line from the test that started this process.
fn told() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().to_owned()
}
