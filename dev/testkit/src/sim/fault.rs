//! What can go wrong in a simulated run, and how often: every seed draws which faults are on.

use super::rng::Rng;

macro_rules! faults {
    ($($name:ident = $word:literal),* $(,)?) => {
        /// One way in which the world, or the machine room, misbehaves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault {
            $(#[doc = concat!("Simulates: ", $word, ".")] $name),*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &'static [Fault] = &[$(Fault::$name),*];

            /// The words for the table.
            pub fn word(self) -> &'static str {
                match self {
                    $(Fault::$name => $word),*
                }
            }
        }
    };
}

faults! {
    AgentCrash = "agent crashes",
    AgentHang = "agent hangs until its deadline",
    Garbage = "answer of the wrong kind",
    HalfAnswer = "answer leaves out what was put to it",
    BareAnswer = "approval that says nothing",
    Wordless = "answer without the launch word",
    Groundless = "reject without a finding",
    NotDone = "builder stops before it is done",
    SameRevision = "builder changes nothing",
    OldRevision = "builder goes back to an earlier revision",
    LateReport = "report after the deadline or the stop",
    RepeatedReport = "report that comes twice",
    StrangerReport = "report with a made-up effect",
    ForeignReport = "report with an effect of another loop",
    WrongMachine = "report for the wrong machine",
    CheckDidNotRun = "check does not run",
    TrackingLies = "tracking says what is not so",
    TrackingFails = "tracking fails",
    JoinFails = "joining fails",
    SummaryFails = "summary fails",
    Conflict = "landing conflicts",
    RedCheck = "check is red on the merged tree",
    JudgeAgain = "approval does not carry over",
    TargetMoved = "target branch moved",
    InTheWay = "files of the user's are in the way",
    BranchDeleted = "target branch was deleted",
    RefRaced = "ref changes under the landing",
    WorktreeDeleted = "worktree is deleted",
    FinishFails = "finishing step fails",
    ClockForward = "clock jumps forwards",
    ClockBackward = "clock jumps backwards",
    AppendFailsBefore = "journal append fails before the commit",
    AppendFailsAfter = "journal append fails after the commit",
    DiskFull = "disk full in an append",
    KilledBeforeAppend = "killed before an append",
    KilledAfterAppend = "killed after an append",
    KilledBeforeEffect = "killed before an effect starts",
    KilledAfterEffect = "killed after an effect started",
    KilledAfterHappening = "killed after an effect happened outside",
    KilledWaiting = "killed while waiting",
    KilledInRecovery = "killed in recovery",
    OrphanFinishes = "orphan finishes while nobody watches",
    ProbeUnknown = "neither done nor undone can be proven",
    LockHeld = "second orchestrator on the run",
    UnofferedAnswer = "answer that was not offered",
    RepeatedAnswer = "question answered twice",
    UnreadableMessage = "letter that cannot be read",
    StrangeMessage = "letter to a question that is not asked",
    Cancel = "cancel letter",
    Drop = "drop letter",
    InterruptOnce = "interrupted once",
    InterruptTwice = "interrupted twice",
    UnreadPart = "answer names something nobody can read",
    NoVerdict = "answer names something and has no verdict",
    TestsRed = "tests are red after the change",
    TestsFlaky = "tests are flaky after the change",
    TestsNotRun = "tests do not run",
    JudgeGutted = "change guts what judges it",
}

/// How often each fault strikes, in a thousand; 0 is off.
#[derive(Clone, Debug)]
pub struct Dials(Vec<u16>);

const RATES: &[u16] = &[15, 40, 100, 250];
/// Faults of whole runs strike once or never: a rate per run, not per step.
const RUN_RATES: &[u16] = &[300, 700];
/// Deaths and failing appends come many times in a run; a higher rate would only repeat the same crash.
const ROOM_RATES: &[u16] = &[4, 12, 30];

impl Dials {
    /// Nothing goes wrong.
    pub fn calm() -> Dials {
        Dials(vec![0; Fault::ALL.len()])
    }

    /// Each seed has its own few faults, so that one cannot hide another for ever.
    pub fn draw(rng: &mut Rng) -> Dials {
        let on = rng.within(1, 7) as u16 * 100;
        let rate = |fault: &Fault| {
            let rates = match fault.scope() {
                Scope::Step => RATES,
                Scope::Run => RUN_RATES,
                Scope::Room => ROOM_RATES,
            };
            let drawn = *rng.pick(rates);
            if rng.chance(on) { drawn } else { 0 }
        };
        Dials(Fault::ALL.iter().map(rate).collect())
    }

    /// The same dials without what makes outcomes depend on when a crash came.
    pub fn without(mut self, faults: &[Fault]) -> Dials {
        for fault in faults {
            self.0[*fault as usize] = 0;
        }
        self
    }

    /// How often this fault strikes.
    pub fn rate(&self, fault: Fault) -> u16 {
        self.0[fault as usize]
    }

    /// The faults that are on, for the head of a trace.
    pub fn describe(&self) -> String {
        let on = Fault::ALL.iter().filter(|fault| self.rate(**fault) > 0);
        let words: Vec<String> = on.map(|f| format!("{} {}‰", f.word(), self.rate(*f))).collect();
        if words.is_empty() { "no faults".to_owned() } else { words.join(", ") }
    }
}

enum Scope {
    Step,
    Run,
    Room,
}

impl Fault {
    fn scope(self) -> Scope {
        match self {
            Fault::AppendFailsBefore
            | Fault::AppendFailsAfter
            | Fault::DiskFull
            | Fault::KilledBeforeAppend
            | Fault::KilledAfterAppend
            | Fault::KilledBeforeEffect
            | Fault::KilledAfterEffect
            | Fault::KilledWaiting => Scope::Room,
            Fault::LockHeld
            | Fault::Cancel
            | Fault::Drop
            | Fault::InterruptOnce
            | Fault::InterruptTwice
            | Fault::KilledInRecovery
            | Fault::OrphanFinishes
            | Fault::ProbeUnknown
            | Fault::UnreadableMessage
            | Fault::StrangeMessage => Scope::Run,
            _ => Scope::Step,
        }
    }

    /// What makes the outcome depend on when a crash came: people and signals at a time, lost attempts.
    pub const TIMED: &'static [Fault] = &[
        Fault::ProbeUnknown,
        Fault::Cancel,
        Fault::Drop,
        Fault::ClockForward,
        Fault::ClockBackward,
        Fault::ForeignReport,
        Fault::WrongMachine,
        Fault::InterruptOnce,
        Fault::InterruptTwice,
        Fault::AppendFailsBefore,
        Fault::AppendFailsAfter,
        Fault::DiskFull,
        Fault::KilledBeforeAppend,
        Fault::KilledAfterAppend,
        Fault::KilledBeforeEffect,
        Fault::KilledAfterEffect,
        Fault::KilledAfterHappening,
        Fault::KilledWaiting,
        Fault::KilledInRecovery,
    ];
}
