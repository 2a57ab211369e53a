//! What the browser is shown: maps requests to pages, from journals that are read and never written.
//!
//! A decision is a message to the run, exactly as `tribunal decide` leaves it. Nothing here starts a process, so no
//! page, script or forged request can run anything. Who may ask at all is decided before, in `tribunal-server`.

mod feed;
mod run_cache;

use crate::commands::decide;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use crate::{args, watched};
use feed::Tail;
pub use run_cache::{RunCache, Shown};
use std::sync::Arc;
use tribunal_core::ids::FindingId;
use tribunal_engine::inbox::Answer as Answered;
use tribunal_server::web::{Answer, Method, Request, Site};
use tribunal_view::facts::QuestionView;
use tribunal_view::web::{self as pages, JournalRow, RunLine, Said};

/// The most runs on the list.
const RUNS_SHOWN: usize = 30;
/// The rows on one page of the journal.
const ROWS_SHOWN: u64 = 100;

const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><rect width=\"16\" height=\"16\" \
    rx=\"3\" fill=\"#0b57d0\"/><path d=\"M3 4h10v2H9v7H7V6H3z\" fill=\"#fff\"/></svg>";

/// The pages of one project.
pub struct Pages {
    place: Place,
    run_cache: RunCache,
    quiet: bool,
}

impl Pages {
    /// The pages of the project at `place`.
    pub fn new(place: Place, quiet: bool) -> Pages {
        Pages { run_cache: RunCache::new(place.clone()), place, quiet }
    }

    /// Reads the newest run before anybody asks for it: the first look at a long journal takes a while.
    pub fn warm(&self) {
        if let Some(newest) = self.place.runs().first() {
            // A request for the run will report why it cannot be read.
            let _ = self.run_cache.snapshot(newest);
        }
    }

    fn route(&self, request: &Request) -> Result<Answer, Failure> {
        let names: Vec<&str> = request.path.split('/').skip(1).collect();
        let from = request.query.get("from").and_then(|from| from.parse::<u64>().ok()).unwrap_or(0);
        match (request.method, &names[..]) {
            (Method::Post, ["decide"]) => self.decide(request),
            // Before the pages: a POST must never be answered as if it were a GET.
            (Method::Post, _) => Ok(no(404, "Nothing is decided here.")),
            (_, [""]) => Ok(page(self.runs())),
            (_, ["inbox"]) => Ok(page(self.inbox(request, None))),
            // The name is checked before it becomes a part of a path.
            (_, ["runs", run, rest @ ..]) if self.run_cache.has(run) => self.run(request, run, rest, from),
            _ => Ok(no(404, "There is no such page.")),
        }
    }

    fn runs(&self) -> String {
        let all = self.place.runs();
        let lines: Vec<RunLine> = all.iter().take(RUNS_SHOWN).map(|run| self.run_cache.line(run)).collect();
        pages::runs(&lines, all.len().saturating_sub(RUNS_SHOWN), self.waiting())
    }

    fn run(&self, request: &Request, run: &str, rest: &[&str], from: u64) -> Result<Answer, Failure> {
        if let ["events"] = rest {
            let after = request.query.get("after").and_then(|after| after.parse().ok());
            // A browser that reconnects by itself sends the last event's id; the query is that of the page's first
            // load.
            let after = request.last_event.or(after).unwrap_or(0);
            return Ok(Answer::Stream(Box::new(Tail::new(self.place.read(run)?, after))));
        }
        let shown = self.run_cache.snapshot(run)?;
        let at = usize::try_from(from).unwrap_or(0);
        let waiting = self.waiting();
        let (view, review) = (&shown.view, &shown.review);
        let made = |make: &dyn Fn() -> Option<String>| {
            // The number of waiting questions stands on every page, so it belongs to the key.
            let key = format!("{}?{at}&{waiting}", request.path);
            shown.page(&key, make).map_or_else(|| no(404, "The run has no such thing."), Answer::Page)
        };
        Ok(match rest {
            [] => made(&|| Some(pages::run(view, review, &shown.tail, shown.seq, waiting))),
            ["queue"] => made(&|| Some(pages::queue(view, waiting))),
            ["loops"] => made(&|| Some(pages::loops(review, at, waiting))),
            ["findings"] => made(&|| Some(pages::findings(view, at, waiting))),
            ["findings", id] => {
                let known = FindingId::parse(id).and_then(|id| shown.steps.get(&id));
                let steps = known.cloned().unwrap_or_default();
                made(&|| pages::finding(view, review, &steps, id, waiting))
            }
            ["journal"] => made(&|| {
                let rows = self.rows(run, from.max(1), shown.seq).ok()?;
                Some(pages::journal(run, &rows, shown.seq, ROWS_SHOWN, waiting))
            }),
            ["report"] => {
                let text = tribunal_view::review::markdown(review);
                Answer::Other("text/plain; charset=utf-8", text.into_bytes().into())
            }
            ["loops", id @ ..] => made(&|| pages::one_loop(view, review, &id.join("/"), waiting)),
            _ => no(404, "There is no such page."),
        })
    }

    fn rows(&self, run: &str, from: u64, last: u64) -> Result<Vec<JournalRow>, Failure> {
        let seen = self.place.read(run)?;
        let mut rows = Vec::new();
        let most = usize::try_from(ROWS_SHOWN).unwrap_or(usize::MAX);
        watched::some_rows(&seen.reader, from.min(last.max(1)), most, |row| {
            let (seq, at) = (row.seq, row.at);
            let [of, kind, body] = [row.of, row.kind, row.body].map(str::to_owned);
            rows.push(JournalRow { seq, at, of, kind, body });
            Ok(())
        })?;
        Ok(rows)
    }

    /// The open questions of all runs that are not over.
    fn questions(&self) -> Vec<QuestionView> {
        let open = |run: &String| !self.run_cache.line(run).over;
        let runs = self.place.runs().into_iter().filter(open);
        runs.filter_map(|run| self.run_cache.snapshot(&run).ok())
            .flat_map(|shown| shown.view.questions.clone())
            .collect()
    }

    fn waiting(&self) -> usize {
        self.questions().iter().filter(|question| question.answered.is_none()).count()
    }

    fn inbox(&self, request: &Request, said: Option<Said<'_>>) -> String {
        // Phases that wait to be tried out are not listed: that is one scenario after the other, on a terminal.
        pages::inbox(&self.questions(), &request.form_token, &decide::user(None), said)
    }

    fn decide(&self, request: &Request) -> Result<Answer, Failure> {
        let field = |name: &str| request.form.get(name).map(|text| text.trim()).unwrap_or_default();
        let given = args::reaction(field("option")).map_err(Failure::usage).and_then(|reaction| {
            let by = decide::user(Some(field("by").to_owned()).filter(|by| !by.is_empty()));
            // The field is empty for answers that have no rounds.
            let rounds = field("rounds").parse().unwrap_or(1);
            let note = field("note").to_owned();
            let answer = Answered { reaction, by, note, rounds, revision: None };
            match self.run_cache.has(field("run")) {
                true => decide::record(&self.place, field("run"), field("id"), answer),
                false => Err(Failure::usage("there is no such run")),
            }
        });
        let (words, refused) = match given {
            Ok(words) => (words, false),
            Err(failure) => {
                let hints: String = failure.hints.iter().map(|hint| format!("; {hint}")).collect();
                (format!("Not taken: {}{hints}", failure.message), true)
            }
        };
        Ok(page(self.inbox(request, Some(Said { words: &words, refused }))))
    }
}

impl Site for Pages {
    fn answer(&self, request: &Request) -> Answer {
        self.route(request).unwrap_or_else(|failure| {
            let hints: String = failure.hints.iter().map(|hint| format!("; {hint}")).collect();
            no(404, &format!("{}{hints}", failure.message))
        })
    }

    fn refusal(&self, words: &str, home: Option<&str>) -> String {
        pages::refusal(words, home)
    }

    fn asset(&self, path: &str) -> Option<(&'static str, &'static [u8])> {
        match path {
            "/style.css" => Some(("text/css; charset=utf-8", pages::STYLE.as_bytes())),
            "/live.js" => Some(("text/javascript; charset=utf-8", pages::SCRIPT.as_bytes())),
            "/icon.svg" => Some(("image/svg+xml", ICON.as_bytes())),
            _ => None,
        }
    }

    fn signed_in(&self, next: &str) {
        if !self.quiet {
            out::say(&format!("a browser has signed in; another one may with {next}"));
        }
    }
}

fn page(text: String) -> Answer {
    Answer::Page(Arc::from(text.into_bytes()))
}

fn no(status: u16, words: &str) -> Answer {
    Answer::No(status, words.to_owned())
}
