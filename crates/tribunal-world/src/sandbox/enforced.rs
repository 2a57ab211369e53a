//! What is enforced around launches on this machine, as facts for reports, and the network of one launch.
//!
//! Core says who may use the network, and the process driver whether that can be enforced. Reports are written from
//! these facts, so a promise that the machine cannot keep is never made.

use crate::context::RunContext;
use crate::sandbox::Sandbox;
use std::ffi::OsString;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::network::{self, Started};
use tribunal_engine::run_state::{Note, RunNote};
use tribunal_engine::settings::Settings;
use tribunal_process::{Containment, Enforced, Network};
use tribunal_view::sandbox::{self, SandboxFacts, SandboxState};

/// The hint for a command that lacks the network.
pub(crate) const WITHOUT_NETWORK: &str = "checks run without network: `checks.network = true` gives it to them, `checks.prepare` installs what they need before";

/// What is promised about the sandbox, by the settings and by what the machine enforces.
pub fn facts(sandbox: Sandbox, containment: &Containment, settings: &Settings) -> SandboxFacts {
    let state = match sandbox {
        Sandbox::Raised => SandboxState::Raised,
        Sandbox::Off => SandboxState::Off,
        Sandbox::Missing => SandboxState::Missing,
    };
    // Without the sandbox nothing else is promised, whatever the kernel could do.
    let found = if state == SandboxState::Raised { containment.enforced() } else { Enforced::default() };
    SandboxFacts {
        state,
        more_writable: !settings.agents.writable.is_empty(),
        more_readable: !settings.agents.readable.is_empty(),
        network: found.network,
        checks_network: settings.checks.network,
        kernel_files: found.kernel_files,
        init: found.init,
        sockets: found.sockets,
        calls: found.calls,
        callers: found.callers,
    }
}

/// The network of a launch: cut off where the launch may not use it and the machine can do that.
pub(crate) fn network_of(started: Started, facts: &SandboxFacts) -> Network {
    let may_use = network::may_use(started, facts.checks_network) || !stands(Defence::CheckNetwork);
    match facts.state == SandboxState::Raised && facts.network && !may_use {
        true => Network::None,
        false => Network::Host,
    }
}

/// The variable that tells a command without network that it is offline.
///
/// Where a project has no `Cargo.lock`, cargo asks its registry and waits in vain. Told that it is offline, it takes
/// what the user has.
pub(crate) fn offline(network: Network) -> Option<(OsString, OsString)> {
    (network == Network::None).then(|| ("CARGO_NET_OFFLINE".into(), "true".into()))
}

/// The hint for a command that was cut off and whose output says that it reached nobody.
pub(crate) fn way_out(network: Network, output: &str) -> Option<&'static str> {
    (network == Network::None && tribunal_docs::qa::lacks_network(output)).then_some(WITHOUT_NETWORK)
}

impl RunContext {
    /// The sandbox in the words of reports.
    pub(crate) fn sandbox_words(&self) -> String {
        sandbox::words(&self.promised)
    }

    /// The note of a resumed run, where the sandbox is weaker than when it began.
    ///
    /// The run's claims must hold for all of its launches, so a weaker sandbox has to be recorded before the next
    /// launch.
    pub(crate) fn promised_since(&self, about: &RunNote) -> Option<Note> {
        let containment = self.supervisor.containment().name().to_owned();
        // A stronger sandbox is no news: the claim is already the weakest of all.
        let weaker = about.promised.is_none_or(|before| before.weakest(self.promised) != before);
        // Partial containment is recorded by itself: it is no fact of the sandbox, and it is final.
        let escapes = containment == sandbox::PARTIAL && about.containment != sandbox::PARTIAL;
        (weaker || escapes).then_some(Note::Promised { containment, facts: self.promised })
    }

    /// The network of a command that judges.
    pub(crate) fn network(&self, tool_network: Option<bool>) -> Network {
        let started = tool_network.map_or(Started::Check, |network| Started::Tool { network });
        network_of(started, &self.promised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_cut_off_is_told_that_it_is_offline() {
        assert_eq!(offline(Network::Host), None);
        assert!(
            offline(Network::None)
                .is_some_and(|(name, value)| name == "CARGO_NET_OFFLINE" && value == "true")
        );
        let said = "error: no matching package named `serde` found\nAs a reminder, you're using offline mode (--offline) \
                    which can sometimes cause surprising resolution failures";
        assert_eq!(way_out(Network::None, said), Some(WITHOUT_NETWORK));
        assert_eq!(way_out(Network::Host, said), None);
    }

    /// Cut off only where that is enforced and nobody gave it: what is not enforced is not tried, and not claimed.
    #[test]
    fn the_network_is_cut_off_only_where_sandbox_stand_and_nobody_gives_it() {
        let here = SandboxFacts { state: SandboxState::Raised, network: true, ..SandboxFacts::default() };
        let tool = |network| Started::Tool { network };
        for (facts, started, expect) in [
            (here, Started::Check, Network::None),
            (here, tool(false), Network::None),
            (here, tool(true), Network::Host),
            (here, Started::Agent, Network::Host),
            (SandboxFacts { checks_network: true, ..here }, Started::Check, Network::Host),
            (SandboxFacts { network: false, ..here }, Started::Check, Network::Host),
            (SandboxFacts { state: SandboxState::Off, ..here }, Started::Check, Network::Host),
            (SandboxFacts { state: SandboxState::Missing, ..here }, tool(false), Network::Host),
        ] {
            assert_eq!(network_of(started, &facts), expect, "{started:?} {facts:?}");
        }
    }

    #[test]
    fn only_who_was_cut_off_is_told_the_way_out() {
        let lacks = "curl: (6) Could not resolve host: example.org";
        assert_eq!(way_out(Network::None, lacks), Some(WITHOUT_NETWORK));
        assert_eq!(way_out(Network::Host, lacks), None);
        assert_eq!(way_out(Network::None, "assertion failed"), None);
    }
}
