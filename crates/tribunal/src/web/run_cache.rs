//! Keeps what was read of each run, and the pages made from it, until the run changes.
//!
//! A page that exists is handed out while a newer one is made, so readers never wait for each other. Only a few runs
//! are kept in full, because a server may be asked for every run there ever was.

use crate::failure::Failure;
use crate::place::Place;
use crate::watched::{Steps, Watched};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};
use tribunal_process::lock;
use tribunal_view::facts::{PlanState, RunView};
use tribunal_view::review::Review;
use tribunal_view::web::{RunLine, Told};

/// How many runs are kept in full.
const KEPT: usize = 6;
/// How many pages are kept of one state of a run.
const PAGES: usize = 64;
/// After a snapshot, so many times its cost must pass before the next one is made.
const SHARE: u32 = 4;

/// One state of a run, ready to be shown.
///
/// It never changes; a newer state is another `Shown`. Readers hold it by `Arc` and need no lock.
pub struct Shown {
    /// The number of the last row it was made from.
    pub seq: u64,
    pub view: RunView,
    /// The review of its findings.
    pub review: Review,
    /// Its last events, oldest first.
    pub tail: Vec<Told>,
    /// What happened to each finding.
    pub steps: Steps,
    made: Instant,
    cost: Duration,
    pages: Mutex<BTreeMap<String, Arc<[u8]>>>,
}

impl Shown {
    /// A page of this state, made once.
    pub fn page(&self, key: &str, make: &dyn Fn() -> Option<String>) -> Option<Arc<[u8]>> {
        if let Some(page) = lock(&self.pages).get(key) {
            return Some(Arc::clone(page));
        }
        // Made without the lock: two readers may make the same page, but nobody waits for a slow one.
        let page: Arc<[u8]> = Arc::from(make()?.into_bytes());
        let mut pages = lock(&self.pages);
        if pages.len() >= PAGES {
            // Crude, but the state is replaced soon anyway.
            pages.clear();
        }
        pages.insert(key.to_owned(), Arc::clone(&page));
        Some(page)
    }
}

/// A run that is kept: its fold, and the last state made from it.
///
/// Two locks, so that the last state can be handed out while somebody folds. `watched` is taken before `shown`, never
/// the other way round.
struct Kept {
    watched: Mutex<Option<Watched>>,
    shown: Mutex<Option<Arc<Shown>>>,
}

/// The runs that were asked for lately.
#[derive(Default)]
struct Asked {
    /// How often any run was asked for; it serves as a clock.
    count: u64,
    /// Each run with the count at which it was asked for last.
    runs: BTreeMap<String, (u64, Arc<Kept>)>,
}

/// The runs that somebody asked for, folded and ready.
///
/// The browser, the terminal and the editor's tools each have one. Use it wherever a run is looked at more than once.
pub struct RunCache {
    place: Place,
    kept: Mutex<Asked>,
    /// The lines of runs that will not change any more.
    lines: Mutex<BTreeMap<String, RunLine>>,
}

impl RunCache {
    /// An empty cache for the project at `place`.
    pub fn new(place: Place) -> RunCache {
        RunCache { place, kept: Mutex::default(), lines: Mutex::default() }
    }

    /// True if the user made such a run. The name comes from a URL, so only plain characters are allowed.
    ///
    /// A run that came with a branch is not listed, and must not open by its address either: its journal holds a
    /// stranger's words under the user's own page.
    pub fn has(&self, run: &str) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !run.is_empty() && run.chars().all(plain) && self.place.is_own(run)
    }

    /// A run as it stands, at most a moment old.
    pub fn snapshot(&self, run: &str) -> Result<Arc<Shown>, Failure> {
        let kept = self.kept(run);
        let last = lock(&kept.shown).clone();
        let mut watched = match (kept.watched.try_lock(), &last) {
            (Ok(watched), _) => watched,
            (Err(TryLockError::Poisoned(poisoned)), _) => poisoned.into_inner(),
            // Another reader is folding: the last state will do, and the page asks again.
            (Err(TryLockError::WouldBlock), Some(last)) => return Ok(Arc::clone(last)),
            // There is nothing to hand out yet, so this reader has to wait.
            (Err(TryLockError::WouldBlock), None) => lock(&kept.watched),
        };
        // Read again: whoever we waited for has made a state meanwhile.
        let last = last.or_else(|| lock(&kept.shown).clone());
        if let (Some(last), Some(watched)) = (&last, watched.as_ref()) {
            let soon = last.made.elapsed() < last.cost * SHARE;
            // A run that dies commits nothing, so its liveness is compared, too.
            if soon || (watched.is_live() == last.view.live && !watched.changed()?) {
                return Ok(Arc::clone(last));
            }
        }
        let shown = Arc::new(self.make(run, &mut watched)?);
        *lock(&kept.shown) = Some(Arc::clone(&shown));
        Ok(shown)
    }

    fn make(&self, run: &str, watched: &mut Option<Watched>) -> Result<Shown, Failure> {
        // Taken out, so that a fold that failed halfway is thrown away and read anew.
        let mut this = match watched.take() {
            Some(this) => this,
            None => {
                let this = Watched::open(&self.place, run)?;
                // The first call always says yes. Asked before the read, so that a commit during the read counts as a
                // change.
                this.changed()?;
                this
            }
        };
        let began = Instant::now();
        this.follow()?;
        let (view, review) = (this.view()?, this.review());
        let shown = Shown {
            seq: this.seq(),
            view,
            review,
            tail: this.tail(),
            steps: this.steps(),
            made: Instant::now(),
            cost: began.elapsed(),
            pages: Mutex::default(),
        };
        *watched = Some(this);
        Ok(shown)
    }

    fn kept(&self, run: &str) -> Arc<Kept> {
        let mut run_cache = lock(&self.kept);
        let Asked { count, runs } = &mut *run_cache;
        *count += 1;
        if !runs.contains_key(run) && runs.len() >= KEPT {
            let oldest = runs.iter().min_by_key(|(_, (asked, _))| *asked).map(|(run, _)| run.clone());
            oldest.into_iter().for_each(|run| drop(runs.remove(&run)));
        }
        let new = || (0, Arc::new(Kept { watched: Mutex::new(None), shown: Mutex::new(None) }));
        let entry = runs.entry(run.to_owned()).or_insert_with(new);
        entry.0 = *count;
        Arc::clone(&entry.1)
    }

    /// A run on one line; a run that cannot be read says so.
    pub fn line(&self, run: &str) -> RunLine {
        if let Some(line) = lock(&self.lines).get(run) {
            return line.clone();
        }
        let line = match self.snapshot(run) {
            Ok(shown) => line(&shown.view),
            Err(failure) => {
                let stands = format!("cannot be read: {}", failure.message);
                RunLine { id: run.to_owned(), stands, over: true, ..RunLine::default() }
            }
        };
        // Without a mark the run could not be read, which may be different the next time.
        if line.over && !line.live && line.mark.is_some() {
            lock(&self.lines).insert(run.to_owned(), line.clone());
        }
        line
    }
}

fn line(view: &RunView) -> RunLine {
    let landed = view.plans.iter().filter(|plan| plan.state == PlanState::Landed).count();
    RunLine {
        id: view.id.clone(),
        phase: view.artifact.clone().unwrap_or_else(|| view.phase.clone()),
        mark: Some(view.mark()),
        stands: view.stands().to_owned(),
        live: view.live,
        began: view.began,
        plans: (landed, view.plans.len()),
        findings: (view.open_findings(), view.findings.len()),
        questions: view.questions.iter().filter(|question| question.answered.is_none()).count(),
        cost: view.effort.money(),
        over: view.ending.is_some() || view.never_began(),
    }
}
