//! Serving: fifty browsers that read a journal of a million events, against the same server handing out a file it holds
//! in memory, under the same load. Whether it starts processes is looked at from outside, while it works.

use super::fold;
use super::table::Table;
use super::{Bench, Result, drive, machine};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tribunal_engine::{Fact, Note};
use tribunal_journal::{Journal, NewRow, Options, Reader, Synchronous, Turn};
use tribunal_world::state::Owner;

const RUN: &str = "20260101-000000-01";
const CLIENTS: usize = 50;
/// Notes written in one turn.
const CHUNK: usize = 1_000;

/// Measures `serve_p99_x`, `serve_forks` and `rss_mb_serve`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let (loops, rows, asks) = if bench.quick { (40, 4_000, 4) } else { (1_000, 1_000_000, 40) };
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    let run = dir.path().join(".tribunal/runs").join(RUN);
    let rows = write(&run, loops, rows)?;
    let server = Server::start(bench, dir.path())?;
    let pages = pages(&run)?;
    let pages: Vec<String> =
        pages.iter().map(|page| format!("{}{}", server.home, page.trim_start_matches('/'))).collect();
    // Once alone: a server that was just started reads the journal first.
    let began = Instant::now();
    pages.iter().try_for_each(|page| server.client()?.ask(page).map(drop))?;
    let first = began.elapsed();
    let files = server.crowd(&["/style.css".to_owned()], asks)?;
    let shown = server.crowd(&pages, asks)?;
    let again = server.crowd(&["/style.css".to_owned()], asks)?;
    // Before and after: what else the machine does meanwhile falls on both.
    let files = [files, again].concat();
    let floor = p99(&files);
    let forks = server.forks.load(Ordering::SeqCst) + server.reaped();
    table.detail(format!(
        "serve: {rows} events, {loops} loops; first look {:.2} s; {CLIENTS} clients, {} requests: first byte p50 {:.2} ms, \
         p99 {:.2} ms; a file from memory p50 {:.2} ms, p99 {:.2} ms",
        first.as_secs_f64(),
        shown.len(),
        ms(&shown, 50),
        ms(&shown, 99),
        ms(&files, 50),
        1e3 * floor,
    ));
    let peak = machine::peak_kb(&server.child.id().to_string()).unwrap_or(0);
    table.add(
        "serve_p99_x",
        p99(&shown) / floor,
        5.0,
        format!("{CLIENTS} clients, {rows} events, {loops} loops"),
    );
    table.add("serve_forks", forks as f64, 0.0, "processes the server started");
    table.add("rss_mb_serve", peak as f64 / 1024.0, 300.0, "the most memory it held");
    Ok(())
}

/// A run with so many loops, and notes up to so many rows.
fn write(dir: &Path, loops: usize, rows: usize) -> Result<u64> {
    fold::journal_of(dir, loops.div_ceil(usize::try_from(fold::TASKS)?))?;
    Owner::of(drive::STATE_KEY.1.as_bytes()).sign(dir)?;
    let mut journal = Journal::open_with(dir, Options { synchronous: Synchronous::Off })?;
    let (of, kind, body) = Fact::Note(Note::Resumed).encode().map_err(|error| error.to_string())?;
    let row = NewRow { of: &of, kind, body: &body };
    while usize::try_from(journal.last_seq())? < rows {
        let missing = rows - usize::try_from(journal.last_seq())?;
        let notes = vec![row; missing.min(CHUNK)];
        journal.append(&[Turn { at: 1, rows: &notes }])?;
    }
    Ok(journal.last_seq())
}

/// What the clients look at.
fn pages(run: &Path) -> Result<Vec<String>> {
    let last = Reader::open(run)?.last_seq()?;
    let at = |rest: &str| format!("/runs/{RUN}{rest}");
    Ok(vec![
        "/".to_owned(),
        at(""),
        at("/loops"),
        at("/loops?from=500"),
        at("/findings"),
        at("/findings/F-1"),
        at("/journal"),
        format!("{}{}", at("/journal?from="), last / 2),
        "/inbox".to_owned(),
    ])
}

struct Server {
    child: Child,
    port: String,
    cookie: String,
    home: String,
    forks: AtomicUsize,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "a bench starts what it measures")]
    fn start(bench: &Bench, dir: &Path) -> Result<Server> {
        let mut command = Command::new(bench.binary.path());
        command.args(["serve", "--port", "0", "--quiet"]).current_dir(dir).env("HOME", dir);
        command.env(drive::STATE_KEY.0, drive::STATE_KEY.1);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut link = String::new();
        BufReader::new(child.stdout.take().ok_or("no pipe")?).read_line(&mut link)?;
        let rest = link.trim().strip_prefix("http://127.0.0.1:").ok_or("no link")?;
        let (port, path) = rest.split_once('/').ok_or("no link")?;
        let (port, home, forks) = (port.to_owned(), "/".to_owned(), AtomicUsize::new(0));
        let mut server = Server { child, port, cookie: String::new(), home, forks };
        let (_, head) = server.client()?.ask(&format!("/{path}"))?;
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let cookie = header("Set-Cookie: ").ok_or("not signed in")?;
        server.home = header("Location: ").ok_or("not signed in")?.trim().to_owned();
        server.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        Ok(server)
    }

    fn client(&self) -> Result<Client> {
        let stream = TcpStream::connect(format!("127.0.0.1:{}", self.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let head = format!("Host: 127.0.0.1:{}\r\nCookie: {}\r\n\r\n", self.port, self.cookie);
        Ok(Client { stream: BufReader::new(stream), head })
    }

    /// Seconds to the first byte of each request, of all clients at once.
    fn crowd(&self, pages: &[String], asks: usize) -> Result<Vec<f64>> {
        let over = AtomicBool::new(false);
        let one = |n: usize| -> std::result::Result<Vec<f64>, String> {
            let mut client = self.client().map_err(|error| error.to_string())?;
            let mut took = Vec::with_capacity(asks);
            for ask in 0..asks {
                // Each begins elsewhere, so that they do not walk in step.
                let page = &pages[(n + ask) % pages.len()];
                took.push(client.ask(page).map_err(|error| format!("{page}: {error}"))?.0);
            }
            Ok(took)
        };
        let told = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || one(n))).collect();
            let watcher = scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    self.forks.fetch_max(self.children(), Ordering::SeqCst);
                    std::thread::yield_now();
                    std::thread::park_timeout(Duration::from_millis(2));
                }
            });
            let gone = || Err("a client panicked".to_owned());
            let told: Vec<_> =
                clients.into_iter().map(|client| client.join().unwrap_or_else(|_| gone())).collect();
            over.store(true, Ordering::SeqCst);
            watcher.thread().unpark();
            told
        });
        let told: std::result::Result<Vec<Vec<f64>>, String> = told.into_iter().collect();
        Ok(told?.concat())
    }

    /// Processes it has started and that still are: one that ended and was not waited for is among them.
    fn children(&self) -> usize {
        let tasks =
            std::fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let of = |task: std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("children")).unwrap_or_default()
        };
        tasks.map(|task| of(task).split_whitespace().count()).sum()
    }

    /// Whether it waited for one that ended: such a one has at least had pages of its own.
    fn reaped(&self) -> usize {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let faults: u64 = rest.split_whitespace().nth(8).and_then(|n| n.parse().ok()).unwrap_or(0);
        usize::from(faults > 0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Client {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Client {
    /// Asks for a page and reads it to its end: seconds to the first byte, and the first lines.
    fn ask(&mut self, path: &str) -> Result<(f64, String)> {
        let text = format!("GET {path} HTTP/1.1\r\n{}", self.head);
        let began = Instant::now();
        self.stream.get_mut().write_all(text.as_bytes())?;
        self.stream.fill_buf()?;
        let took = began.elapsed().as_secs_f64();
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head)? == 0 {
                return Err("the server has gone".into());
            }
        }
        for line in head.lines() {
            if let Some(n) = line.strip_prefix("Content-Length: ") {
                length = n.parse()?;
            }
        }
        if !head.starts_with("HTTP/1.1 200") && !head.starts_with("HTTP/1.1 303") {
            return Err(head.lines().next().unwrap_or_default().into());
        }
        std::io::copy(&mut self.stream.by_ref().take(length), &mut std::io::sink())?;
        Ok((took, head))
    }
}

fn p99(took: &[f64]) -> f64 {
    share(took, 99)
}

fn ms(took: &[f64], percent: usize) -> f64 {
    1e3 * share(took, percent)
}

/// The value below which so many in a hundred lie.
fn share(took: &[f64], percent: usize) -> f64 {
    let mut sorted = took.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}
