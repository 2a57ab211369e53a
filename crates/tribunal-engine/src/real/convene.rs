//! Who reviews what a run built: found out when everything has landed, from the real change, with the roster and the
//! personalities the run began with. It chooses by the tables and writes nothing.

use super::check::VERIFICATION;
use super::delivery::REGRESSION;
use super::error::SetupError;
use super::examine::{Ends, ReviewAsk, Target, seated};
use super::fix::SCOPE;
use super::panel;
use super::site::Site;
use crate::docket::{Docket, ReviewNote};
use tribunal_core::ids::{Check, Seat};
use tribunal_core::policy::Policy;
use tribunal_core::run::Subject;
use tribunal_git::Oid;

/// The panel for what landed.
pub(crate) fn convene(site: &Site, docket: &Docket) -> Result<Option<ReviewNote>, SetupError> {
    let Some(tip) = docket.run.as_ref().and_then(|run| run.tip()) else { return Ok(None) };
    let base = Oid::parse(&docket.about.base)?;
    let number = &docket.about.phase;
    let ends = Ends {
        base: base.clone(),
        head: site.commit_of(tip)?,
        target: format!("phase {number}"),
        key: format!("phase {number}"),
        phase: site.project.phase(Some(number)).ok(),
    };
    let ask = ReviewAsk {
        target: Target::Phase(Some(number.clone())),
        fix: true,
        rounds_max: None,
        panel: Vec::new(),
        include_filtered: false,
        attached: false,
    };
    // The settings already hold every personality: what is added here is seats of parts, which go by their owner's name.
    let mut settings = site.settings.clone();
    let roster = panel::kept(&site.dir);
    let (note, _) = seated(&site.project, &mut settings, &ask, &ends, &base, Some(roster))?;
    Ok(Some(note))
}

/// The policy of a run's review, or of the polish after it, with those who sit.
pub(crate) fn seat(site: &Site, subject: &Subject, review: &ReviewNote, policy: &mut Policy) {
    let commands = site.settings.checks.commands.keys().map(String::as_str);
    let tools = review.tools.iter().map(|tool| tool.name.as_str());
    let agents = site.adapter_for(&["fixer", "dev"]).map(|_| SCOPE);
    let worse = (*subject == Subject::Polish).then_some(REGRESSION);
    let names = tools.chain(commands).chain([VERIFICATION]).chain(agents).chain(worse);
    policy.checks = names.map(Check::new).collect();
    let once = |scope: Option<usize>| *subject != Subject::Polish || scope.is_none_or(|scope| scope == 1);
    policy.seats =
        review.seats.iter().filter(|seat| once(seat.scope)).map(|seat| Seat::new(&seat.id)).collect();
    policy.confirm &= !policy.seats.is_empty();
}
