//! Everything that outlives the simulated process: the clock, agents and what they wrote, the repository,
//! people, and what the simulation knows of all of it. It never asks the engine what it believes.

use super::commands;
use super::fault::Fault;
use super::git::Git;
use super::laws::Laws;
use super::mailbox::Mailbox;
use super::reaper::Reaper;
use super::rng::{Rng, effect_dice};
use super::scene::Scene;
use super::tally::Tally;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::ids::Time;
use tribunal_engine::mail::Body;
use tribunal_engine::{Report, Want};

/// When the simulated clock begins, in milliseconds since 1970.
const BEGIN: i64 = 1_700_000_000_000;

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The law's name.
    pub law: &'static str,
    /// What was seen.
    pub text: String,
}

/// Where a started effect stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It runs.
    Running,
    /// It ended by itself; its report is complete.
    Ended,
    /// It was ended.
    Killed,
}

/// One start of one effect.
#[derive(Clone, Debug)]
pub struct Job {
    /// What was wanted.
    pub want: Want,
    /// Which start; tells an event of an earlier one apart.
    pub number: u64,
    /// What it will report, or has.
    pub report: Option<Report>,
    /// It changed something outside.
    pub changed: bool,
    /// It was done: what is reported is what came of it.
    pub happened: bool,
    /// Where it stands.
    pub phase: Phase,
    /// When it would end, on the simulation's own time.
    pub ends_at: Option<u64>,
}

/// Something that will come about.
#[derive(Clone, Debug)]
pub enum Due {
    /// An effect in the repository is carried out.
    Happens(EffectId, u64),
    /// An effect reports.
    Ends(EffectId, u64),
    /// Somebody says something under an effect's name.
    Says(EffectId, Report),
    /// Somebody posts a letter to a live orchestrator.
    Posts(Body),
    /// Somebody posts nonsense.
    PostsNonsense,
    /// The user presses the keys.
    Interrupt,
    /// Somebody sets the clock.
    Jump(i64),
}

/// What is kept of a seed besides its end. Both cost time, so neither is kept unless somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Only how it ended.
    End,
    /// One line per fact, for people.
    Trace,
    /// One number over every fact and every want, to compare two builds.
    Digest,
}

/// The world outside of one seed.
pub struct Outside {
    /// What is simulated.
    pub scene: Scene,
    /// Life and death.
    pub reaper: Reaper,
    /// The simulation's own time, which only grows.
    pub t: u64,
    /// What the clock shows besides.
    pub skew: i64,
    /// What will come about.
    pub queue: BTreeMap<(u64, u64), Due>,
    /// Every start, by effect.
    pub jobs: BTreeMap<EffectId, Job>,
    /// What runs now.
    pub running: BTreeSet<EffectId>,
    /// Agents that were told to end and take their time, until when.
    pub dying: BTreeMap<EffectId, u64>,
    /// The repository.
    pub git: Git,
    /// The laws and what they remember.
    pub laws: Laws,
    /// What was reached.
    pub tally: Tally,
    /// The run's directory, where the journal is on disk.
    pub dir: Option<PathBuf>,
    /// The letters that were taken.
    pub mailbox: Mailbox,
    /// Questions that somebody is about to answer.
    pub asked: BTreeSet<EffectId>,
    /// Chance for what belongs to no effect.
    pub rng: Rng,
    /// Times the engine waited.
    pub waits: u64,
    /// The engine said goodbye.
    pub shut: bool,
    /// Effects that still ran when it did.
    pub left: usize,
    /// Interrupts the engine has met in this life.
    pub interrupts: u32,
    planned: bool,
    trace: Option<Vec<String>>,
    digest: Option<DefaultHasher>,
    count: u64,
    violation: Option<Violation>,
}

impl Outside {
    /// The world of a scene before anything happened.
    pub fn new(scene: Scene, reaper: Reaper, keep: Keep) -> Outside {
        let rng = Rng::new(scene.seed ^ 0x0A11_CE0A_11CE_0A11);
        Outside {
            laws: Laws::new(&scene.spec),
            scene,
            reaper,
            t: 0,
            skew: BEGIN,
            queue: BTreeMap::new(),
            jobs: BTreeMap::new(),
            running: BTreeSet::new(),
            dying: BTreeMap::new(),
            git: Git::default(),
            tally: Tally::default(),
            dir: None,
            mailbox: Mailbox::default(),
            asked: BTreeSet::new(),
            rng,
            waits: 0,
            shut: false,
            left: 0,
            interrupts: 0,
            planned: false,
            trace: (keep == Keep::Trace).then(Vec::new),
            digest: (keep == Keep::Digest).then(DefaultHasher::new),
            count: 0,
            violation: None,
        }
    }

    /// What the clock shows.
    pub fn now(&self) -> Time {
        Time(u64::try_from(self.t as i64 + self.skew).unwrap_or(0))
    }

    /// A number never given before.
    pub fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Something will come about after so long.
    pub fn later(&mut self, after_ms: u64, due: Due) {
        let key = (self.t + after_ms, self.number());
        self.queue.insert(key, due);
    }

    /// One line of the trace.
    pub fn say(&mut self, line: impl FnOnce() -> String) {
        let at = self.t;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{at:>10} {}", line()));
        }
    }

    /// A law does not hold; the first violation is kept.
    pub fn violate(&mut self, law: &'static str, text: String) {
        self.say(|| format!("! {law}: {text}"));
        self.violation.get_or_insert(Violation { law, text });
    }

    /// A law must hold.
    pub fn hold(&mut self, law: &'static str, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.violate(law, text());
        }
    }

    /// The first law that did not hold.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// The trace so far; empty when none is kept.
    pub fn take_trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }

    /// Takes something that was decided into the digest, where one is kept.
    pub fn digest(&mut self, decided: impl FnOnce(&Laws) -> String) {
        if let Some(digest) = &mut self.digest {
            decided(&self.laws).hash(digest);
        }
    }

    /// The digest so far; 0 when none is kept.
    pub fn digested(&self) -> u64 {
        self.digest.as_ref().map_or(0, Hasher::finish)
    }

    /// Whether a fault strikes here, by the chance that belongs to no effect.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        let strikes = self.rng.chance(self.scene.dials.rate(fault));
        if strikes {
            self.tally.struck(fault);
        }
        strikes
    }

    /// A new process begins.
    pub fn new_life(&mut self) {
        self.planned = false;
        self.interrupts = 0;
        // Whoever was going to answer a dead process will answer the next one.
        self.asked.clear();
    }

    /// Whether this life's letters and signals are planned already; after this call they are.
    pub fn planned(&mut self) -> bool {
        std::mem::replace(&mut self.planned, true)
    }

    /// Agents that run now.
    pub fn agents(&self) -> usize {
        self.running.iter().filter(|effect| effect.step.is_agent()).count()
    }

    /// What the repository does for an effect, now.
    pub fn happen(&mut self, effect: &EffectId) {
        let Some(job) = self.jobs.get(effect).cloned() else { return };
        let scene = &self.scene;
        let attempt = match &job.want {
            Want::Run(tribunal_core::run::RunWant::Land { plan, revision }) => {
                let taken = self.laws.shadow.took_work(plan);
                self.git.land(scene, effect, plan, revision, taken)
            }
            Want::Run(tribunal_core::run::RunWant::Summary { revision, .. }) => {
                self.git.summarise(scene, effect, revision)
            }
            Want::Run(tribunal_core::run::RunWant::Finish { step, ending, .. }) => {
                self.git.finish(scene, effect, *step, ending.is_good())
            }
            Want::Run(tribunal_core::run::RunWant::Rebase) => self.git.rebase(scene, effect),
            Want::Run(tribunal_core::run::RunWant::Carry { tip, .. }) => self.git.carry(scene, effect, tip),
            _ => return,
        };
        attempt.struck.iter().for_each(|fault| self.tally.struck(*fault));
        self.say(|| format!("~ {effect} happens: {:?}", attempt.report));
        if attempt.changed {
            self.changed(effect, &job);
        }
        if let Some(job) = self.jobs.get_mut(effect) {
            job.report = Some(Report::Run(attempt.report));
            job.changed |= attempt.changed;
            job.happened = true;
        }
    }

    /// Something outside changed for good: may it?
    fn changed(&mut self, effect: &EffectId, job: &Job) {
        let twice = job.changed;
        self.hold("I7 once", !twice, || format!("{effect} changed the repository twice"));
        if let Want::Run(tribunal_core::run::RunWant::Land { plan, revision }) = &job.want {
            let moves = self.git.landings.iter().filter(|landing| landing.plan == *plan).count();
            self.hold("I7 once", moves == 1, || format!("{plan} moved the run branch {moves} times"));
            if let Err(text) = self.laws.gate.may_land(plan, revision) {
                self.violate("I1 gate", format!("{plan} lands {revision}: {text}"));
            }
            let tests = self.git.landings.last().map(|landing| (&landing.tests_before, &landing.tests));
            let red = tests.is_some_and(|(before, now)| commands::is_broken(before, now));
            let by_person = self.laws.gate.is_taken(plan);
            self.hold("green", !red || by_person, || {
                format!("{plan} lands {revision} with red tests, and no person took it")
            });
            self.tally.saw("landing", if red { "red, by a person" } else { "green or red before" });
        }
    }

    /// The process is gone. What ran inside it stops where it was; agents go on without it for a while.
    pub fn orphan(&mut self, downtime_ms: u64) {
        self.shut = false;
        self.interrupts = 0;
        let until = self.t + downtime_ms;
        let left: Vec<EffectId> = self.running.iter().cloned().collect();
        for effect in left {
            let lives = self.outlives(&effect, until);
            if effect.step.is_agent() && !lives {
                // It runs on until a new orchestrator ends it.
                continue;
            }
            self.leave(&effect, lives);
        }
        self.t = until;
        self.forget();
    }

    /// What nobody is there to read is lost; letters, and voices of agents, are not.
    pub fn forget(&mut self) {
        let inside = |effect: &EffectId| !effect.step.is_one_shot() && effect.step != Step::Ask;
        self.queue.retain(|_, due| match due {
            Due::Happens(..) | Due::Ends(..) | Due::Interrupt => false,
            Due::Says(effect, _) => !inside(effect),
            Due::Posts(_) | Due::PostsNonsense | Due::Jump(_) => true,
        });
    }

    /// An effect runs no more; where its deed was already under way, it is done.
    pub fn leave(&mut self, effect: &EffectId, lives: bool) {
        if lives && !effect.step.is_agent() {
            self.happen(effect);
        }
        if let Some(job) = self.jobs.get_mut(effect) {
            job.phase = if lives { Phase::Ended } else { Phase::Killed };
        }
        self.running.remove(effect);
    }

    /// Whether something the dead process had started still completes: an agent on its own, or a git command
    /// that was already under way.
    pub fn outlives(&mut self, effect: &EffectId, until: u64) -> bool {
        let Some(job) = self.jobs.get(effect) else { return false };
        let (ends, happened) = (job.ends_at, job.happened);
        let one_shot = effect.step.is_one_shot();
        if !one_shot || happened {
            return false;
        }
        let in_time = ends.is_some_and(|at| at <= until);
        let git = matches!(effect.step, Step::Land | Step::Rebase | Step::Carry | Step::Finish(_));
        let rate = self.scene.dials.rate(Fault::OrphanFinishes);
        let lives = if git { effect_dice(self.t, "git", effect).chance(rate) } else { in_time };
        if lives {
            self.tally.struck(Fault::OrphanFinishes);
            self.say(|| format!("~ {effect} finishes though its orchestrator is dead"));
        }
        lives
    }
}
