//! What is promised of the sandbox, in words: each promise for itself, and only what the kernel enforces here. The facts
//! are looked up elsewhere; every face and every report takes its words from this place.

use schemars::JsonSchema;
use serde::Serialize;

/// Whether launches are kept to their own files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walls {
    /// They are.
    Raised,
    /// The settings say no.
    Off,
    /// This machine permits none.
    #[default]
    Missing,
}

/// What is enforced around launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SandboxFacts {
    /// Their files.
    pub walls: Walls,
    /// A launch that asks for it has no network.
    pub network: bool,
    /// The settings give the network to checks all the same.
    pub checks_network: bool,
    /// Nobody inside changes the kernel's settings.
    pub kernel_files: bool,
    /// Nobody inside traces the first process of a launch.
    pub init: bool,
    /// Sockets without a file stay inside a launch.
    pub sockets: bool,
    /// Calls that no agent needs are refused.
    pub calls: bool,
    /// Callers at a report socket are known by the kernel.
    pub callers: bool,
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

/// How a run without walls begins its words.
pub const UNSANDBOXED: &str = "unsandboxed";

/// The promises, one by one; none without walls, for then nothing is promised.
pub fn promises(facts: &SandboxFacts) -> Vec<PromiseView> {
    if facts.walls != Walls::Raised {
        return Vec::new();
    }
    let network = match (facts.checks_network, facts.network) {
        (true, _) => "checks and tools have the network (checks.network), as agents have",
        (false, true) => "checks and tools have no network; agents have it",
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

/// What is said of the files of a launch.
pub fn walls(facts: &SandboxFacts) -> &'static str {
    match facts.walls {
        Walls::Raised => "walls: agents and checks write only their own files and see no journal",
        Walls::Off => "unsandboxed (switched off): an agent of the same user could forge",
        Walls::Missing => "unsandboxed (this machine permits none): an agent of the same user could forge",
    }
}

/// All of it on one line, for reports.
pub fn words(facts: &SandboxFacts) -> String {
    let promises = promises(facts).into_iter().map(|promise| promise.words);
    std::iter::once(walls(facts).to_owned()).chain(promises).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: SandboxFacts = SandboxFacts {
        walls: Walls::Raised,
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
        let none = SandboxFacts { walls: Walls::Raised, ..SandboxFacts::default() };
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
    fn without_walls_nothing_is_promised() {
        for walls in [Walls::Off, Walls::Missing] {
            let facts = SandboxFacts { walls, ..ALL };
            assert_eq!(promises(&facts), []);
            assert!(words(&facts).starts_with(UNSANDBOXED) && words(&facts).ends_with("could forge"));
        }
    }
}
