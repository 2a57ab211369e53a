//! What is enforced around launches here, as facts for the words of reports, and the network of one launch. Who may use
//! the network is core's to say; whether that can be enforced is the process driver's.

use crate::sandbox::Sandbox;
use crate::site::Site;
use std::ffi::OsString;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::network::{self, Started};
use tribunal_engine::docket::{Note, RunNote};
use tribunal_engine::settings::Settings;
use tribunal_process::{Containment, Enforced, Network};
use tribunal_view::sandbox::{self, SandboxFacts, Walls};

/// What a command that lacks the network is told.
pub(crate) const WITHOUT_NETWORK: &str = "checks run without network: `checks.network = true` gives it to them, `checks.prepare` installs what they need before";

/// What is promised of the sandbox, by the settings and by what the machine enforces.
pub fn facts(sandbox: Sandbox, containment: &Containment, settings: &Settings) -> SandboxFacts {
    let walls = match sandbox {
        Sandbox::Walls => Walls::Raised,
        Sandbox::Off => Walls::Off,
        Sandbox::Missing => Walls::Missing,
    };
    let found = if walls == Walls::Raised { containment.enforced() } else { Enforced::default() };
    SandboxFacts {
        walls,
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

/// The network of a launch: cut off where it may not use it and the machine can do that.
pub(crate) fn network_of(started: Started, facts: &SandboxFacts) -> Network {
    let may_use = network::may_use(started, facts.checks_network) || !stands(Defence::CheckNetwork);
    match facts.walls == Walls::Raised && facts.network && !may_use {
        true => Network::None,
        false => Network::Host,
    }
}

/// What a command without a network is told in its environment. cargo asks its registry wherever a project keeps no
/// `Cargo.lock`, and waits for it in vain; told that it is offline, it takes what the user has.
pub(crate) fn offline(network: Network) -> Option<(OsString, OsString)> {
    (network == Network::None).then(|| ("CARGO_NET_OFFLINE".into(), "true".into()))
}

/// The way out for a command that was cut off and says that it reached nobody.
pub(crate) fn way_out(network: Network, output: &str) -> Option<&'static str> {
    (network == Network::None && tribunal_docs::qa::lacks_network(output)).then_some(WITHOUT_NETWORK)
}

impl Site {
    /// How the sandbox is told in reports.
    pub(crate) fn sandbox_words(&self) -> String {
        sandbox::words(&self.promised)
    }

    /// What a run that goes on notes where other things are enforced than when it began: its claims must hold for all
    /// of its launches.
    pub(crate) fn promised_since(&self, about: &RunNote) -> Option<Note> {
        let containment = self.keeper.containment().name().to_owned();
        let weaker = about.promised.is_none_or(|before| before.weakest(self.promised) != before);
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
    fn the_network_is_cut_off_only_where_walls_stand_and_nobody_gives_it() {
        let here = SandboxFacts { walls: Walls::Raised, network: true, ..SandboxFacts::default() };
        let tool = |network| Started::Tool { network };
        for (facts, started, expect) in [
            (here, Started::Check, Network::None),
            (here, tool(false), Network::None),
            (here, tool(true), Network::Host),
            (here, Started::Agent, Network::Host),
            (SandboxFacts { checks_network: true, ..here }, Started::Check, Network::Host),
            (SandboxFacts { network: false, ..here }, Started::Check, Network::Host),
            (SandboxFacts { walls: Walls::Off, ..here }, Started::Check, Network::Host),
            (SandboxFacts { walls: Walls::Missing, ..here }, tool(false), Network::Host),
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
