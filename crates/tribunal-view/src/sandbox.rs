//! The promises of the sandbox in words: each promise for itself, and only what the kernel enforces here.
//!
//! The facts are looked up elsewhere; every face and every report takes its words from this file. So no two of them can
//! promise different things.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether launches are kept to their own files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxState {
    /// The sandbox is in place.
    Raised,
    /// The settings switched the sandbox off.
    Off,
    /// This machine permits no sandbox.
    #[default]
    Missing,
}

/// The rules that are enforced around launches.
///
/// A journal keeps them, so that a report says what held when the launches ran, and not what the machine can do today.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SandboxFacts {
    /// Whether launches are kept to their own files.
    pub state: SandboxState,
    /// Whether the settings give builders and checks more to write (`agents.writable`).
    pub more_writable: bool,
    /// Whether the settings show every launch more to read (`agents.readable`).
    pub more_readable: bool,
    /// Whether a launch that asks for it has no network.
    pub network: bool,
    /// Whether the settings give the network to checks all the same.
    pub checks_network: bool,
    /// Whether nobody inside can change the kernel's settings.
    pub kernel_files: bool,
    /// Whether nobody inside can trace the first process of a launch.
    pub init: bool,
    /// Whether sockets without a file stay inside a launch.
    pub sockets: bool,
    /// Whether system calls that no agent needs are refused.
    pub calls: bool,
    /// Whether the kernel identifies callers at a report socket.
    pub callers: bool,
}

impl SandboxFacts {
    /// Returns what held all the time, if some launches ran under one sandbox and some under another.
    ///
    /// A promise that was kept for a part of a run was not kept for the run.
    #[must_use]
    pub fn weakest(self, other: Self) -> Self {
        Self {
            state: if self.state == SandboxState::Raised { other.state } else { self.state },
            // More access is the weaker promise, so for these one launch that had it is enough.
            more_writable: self.more_writable || other.more_writable,
            more_readable: self.more_readable || other.more_readable,
            network: self.network && other.network,
            checks_network: self.checks_network || other.checks_network,
            kernel_files: self.kernel_files && other.kernel_files,
            init: self.init && other.init,
            sockets: self.sockets && other.sockets,
            calls: self.calls && other.calls,
            callers: self.callers && other.callers,
        }
    }
}

/// One promise, and whether it is kept here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PromiseView {
    /// What it is about, in a word or two.
    pub about: String,
    /// The kernel enforces it here.
    pub kept: bool,
    /// What is so here, kept or not.
    pub words: String,
}

/// The beginning of the words about a run without a sandbox.
pub const UNSANDBOXED: &str = "unsandboxed";

/// The name in journals of the containment from which a process can escape.
pub const PARTIAL: &str = "partial";

/// Says how processes are held together, by the name of the containment.
pub fn contained(name: &str) -> &str {
    match name {
        PARTIAL => "partial (a process that sheds its session, parent and environment can outlive the run)",
        name => name,
    }
}

/// Lists the promises, one by one; empty without a sandbox, because then nothing is promised.
///
/// A promise that does not hold here is listed as well, with what is so instead. Nothing is claimed that this machine
/// does not enforce.
pub fn promises(facts: &SandboxFacts) -> Vec<PromiseView> {
    if facts.state != SandboxState::Raised {
        return Vec::new();
    }
    // What the settings allow is said as plainly as what the machine lacks: both mean that the promise does not hold.
    let network = match (facts.checks_network, facts.network) {
        // The setting decides, whatever the machine could enforce.
        (true, _) => "checks and tools have the network (checks.network), as agents have",
        (false, true) => "checks and tools have no network, but for tools whose row gives it; agents have it",
        (false, false) => "the network is open to checks and tools, too",
    };
    let rows = [
        ("network", facts.network && !facts.checks_network, network, network),
        (
            "kernel",
            facts.kernel_files,
            "the kernel's settings cannot be changed",
            "root can change the kernel's settings",
        ),
        (
            "init",
            facts.init,
            "the first process of a launch cannot be traced",
            "an agent can trace the first process of its launch",
        ),
        (
            "sockets",
            facts.sockets,
            "sockets without a file stay inside a launch",
            "sockets without a file reach other launches (Linux 6.12 closes them)",
        ),
        ("calls", facts.calls, "system calls that no agent needs are refused", "every system call is open"),
        (
            "callers",
            facts.callers,
            "callers at a report socket are known by the kernel",
            "callers at a report socket are known by a word in their environment",
        ),
    ];
    let row = |(about, kept, yes, no): (&str, bool, &str, &str)| PromiseView {
        about: about.to_owned(),
        kept,
        words: if kept { yes } else { no }.to_owned(),
    };
    rows.into_iter().map(row).collect()
}

/// Says what files a launch can read and write.
pub fn state_words(facts: &SandboxFacts) -> String {
    let open = "agents and checks can read and write whatever you can, have the network, and could forge";
    match facts.state {
        SandboxState::Off => format!("{UNSANDBOXED} (switched off): {open}"),
        SandboxState::Missing => format!("{UNSANDBOXED} (this machine permits no sandbox): {open}"),
        SandboxState::Raised => {
            let own = "sandboxed: agents and checks write only their own files";
            let journal = "see no journal of this project";
            match (facts.more_writable, facts.more_readable) {
                (false, false) => format!("{own} and see no journal"),
                (true, false) => format!("{own} and what agents.writable names, and {journal}"),
                (false, true) => format!("{own}, read what agents.readable names, and {journal}"),
                (true, true) => {
                    format!(
                        "{own} and what agents.writable names, read what agents.readable names, and {journal}"
                    )
                }
            }
        }
    }
}

/// Lists what a reader of a run must know: that processes could escape, that there was no sandbox, or else each promise
/// that was not kept. Empty if everything held.
///
/// Every report says these sentences, so a reader does not have to know what a sandbox usually does.
pub fn unkept(containment: &str, facts: &SandboxFacts) -> Vec<String> {
    // First, because a process that escapes makes every other promise worth less.
    let partial = (containment == PARTIAL).then(|| format!("containment: {}", contained(containment)));
    let open = (facts.state != SandboxState::Raised).then(|| state_words(facts));
    let broken = promises(facts).into_iter().filter(|promise| !promise.kept).map(|promise| promise.words);
    partial.into_iter().chain(open).chain(broken).collect()
}

/// Writes all of it on one line, for reports.
pub fn words(facts: &SandboxFacts) -> String {
    let promises = promises(facts).into_iter().map(|promise| promise.words);
    std::iter::once(state_words(facts)).chain(promises).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: SandboxFacts = SandboxFacts {
        state: SandboxState::Raised,
        more_writable: false,
        more_readable: false,
        network: true,
        checks_network: false,
        kernel_files: true,
        init: true,
        sockets: true,
        calls: true,
        callers: true,
    };

    #[test]
    fn nothing_is_claimed_that_is_not_enforced() {
        let none = SandboxFacts { state: SandboxState::Raised, ..SandboxFacts::default() };
        let (all, nothing) = (promises(&ALL), promises(&none));
        assert!(all.iter().all(|promise| promise.kept) && !nothing.iter().any(|promise| promise.kept));
        for (yes, no) in all.iter().zip(&nothing) {
            assert_eq!(yes.about, no.about);
            assert_ne!(yes.words, no.words, "{}", yes.about);
        }
        assert!(words(&none).contains("the network is open"), "{}", words(&none));
        let given = SandboxFacts { checks_network: true, ..ALL };
        assert!(!promises(&given)[0].kept && words(&given).contains("(checks.network)"));
    }

    #[test]
    fn without_sandbox_nothing_is_promised() {
        for state in [SandboxState::Off, SandboxState::Missing] {
            let facts = SandboxFacts { state, ..ALL };
            assert_eq!(promises(&facts), []);
            assert!(words(&facts).starts_with(UNSANDBOXED) && words(&facts).ends_with("could forge"));
        }
    }

    /// What reads a run hears of every promise that is not kept, and of nothing else.
    #[test]
    fn each_promise_that_is_not_kept_is_named_by_itself() {
        assert_eq!(unkept("namespace", &ALL), Vec::<String>::new());
        let sockets = SandboxFacts { sockets: false, ..ALL };
        let said = unkept("bubblewrap", &sockets);
        assert!(said.len() == 1 && said[0].starts_with("sockets without a file reach"), "{said:?}");
        let said = unkept(PARTIAL, &SandboxFacts { state: SandboxState::Missing, ..ALL });
        assert!(said.len() == 2 && said[0].contains("outlive") && said[1].contains("forge"), "{said:?}");
    }

    /// More that may be written or read is said, whatever else holds.
    #[test]
    fn what_the_settings_open_is_not_kept_quiet() {
        for (more_writable, more_readable) in [(true, false), (false, true), (true, true)] {
            let said = words(&SandboxFacts { more_writable, more_readable, ..ALL });
            assert_eq!(said.contains("agents.writable"), more_writable, "{said}");
            assert_eq!(said.contains("agents.readable"), more_readable, "{said}");
        }
    }

    /// Whichever part came first, a run claims what held in all of it.
    #[test]
    fn a_part_without_a_promise_takes_it_from_the_whole() {
        let none = SandboxFacts { state: SandboxState::Raised, ..SandboxFacts::default() };
        let opened = SandboxFacts { more_writable: true, checks_network: true, ..ALL };
        let missing = SandboxFacts { state: SandboxState::Missing, ..ALL };
        for other in [none, opened, missing, ALL] {
            assert_eq!(ALL.weakest(other), other);
            assert_eq!(other.weakest(ALL), other);
        }
        assert!(!none.weakest(opened).network && none.weakest(opened).checks_network);
    }
}
