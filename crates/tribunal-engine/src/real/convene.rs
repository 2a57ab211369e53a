//! Who reviews what a run built: found out when everything has landed, from the real change, with the roster and the
//! personalities the run began with. It chooses by the tables and writes nothing.

use super::check::VERIFICATION;
use super::delivery::REGRESSION;
use super::error::SetupError;
use super::examine::{Ends, ReviewAsk, Target, seated};
use super::fix::SCOPE;
use super::hooks::HOOKS;
use super::panel;
use super::secrets::SECRETS;
use super::site::Site;
use crate::docket::{Docket, ReviewNote};
use tribunal_core::ids::{Check, Seat};
use tribunal_core::policy::Policy;
use tribunal_core::run::Subject;
use tribunal_git::Oid;

/// The panel for what landed.
pub(crate) fn convene(site: &Site, docket: &Docket) -> Result<Option<ReviewNote>, SetupError> {
    let Some(tip) = docket.run.as_ref().and_then(|run| run.tip()) else { return Ok(None) };
    let base = Oid::parse(docket.base())?;
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
    // The settings already hold every personality.
    let mut settings = site.settings.clone();
    let roster = panel::kept(&site.dir);
    let (note, _) = seated(&site.project, &mut settings, &ask, &ends, &base, Some(roster))?;
    Ok(Some(note))
}

/// The policy of a run's review, or of the polish after it, with those who sit. A review on which nobody sits is not
/// passed by its checks: a person has the last word.
pub(crate) fn seat(site: &Site, subject: &Subject, review: Option<&ReviewNote>, policy: &mut Policy) {
    let polish = match subject {
        Subject::Phase => false,
        Subject::Polish => true,
        Subject::Plan(_) | Subject::Lane(..) | Subject::Chain => return,
    };
    let tools = review.into_iter().flat_map(|review| &review.tools).map(|tool| tool.name.as_str());
    let commands = site.settings.checks.commands.keys().map(String::as_str);
    let agents = site.adapter_for(&["fixer", "dev"]).map(|_| SCOPE);
    let names = tools
        .chain(commands)
        .chain([VERIFICATION, SECRETS, HOOKS])
        .chain(agents)
        .chain(polish.then_some(REGRESSION));
    policy.checks = names.map(Check::new).collect();
    sit(review, polish, policy);
}

fn sit(review: Option<&ReviewNote>, polish: bool, policy: &mut Policy) {
    let seats = review.into_iter().flat_map(|review| &review.seats);
    policy.seats = seats.map(|seat| Seat::new(&seat.id)).collect();
    policy.confirm &= !policy.seats.is_empty();
    match (policy.seats.is_empty(), polish) {
        (false, _) => {}
        (true, false) => policy.approval = true,
        // Nobody is asked about a polish, and nothing is approved by its checks alone.
        (true, true) => policy.seats = vec![Seat::new("reviewer")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docket::SeatNote;
    use tribunal_core::policy::Use;

    #[test]
    fn a_review_on_which_nobody_sits_is_put_to_a_person() {
        let seat = |id: &str| SeatNote { id: id.to_owned(), ..SeatNote::default() };
        let empty = ReviewNote::default();
        let two = ReviewNote { seats: vec![seat("a"), seat("b")], ..ReviewNote::default() };
        let check = |review: Option<&ReviewNote>, polish, seats: usize, approval: bool| {
            let mut policy = Policy { seats: vec![Seat::new("of the row")], ..Policy::of(Use::Phase) };
            sit(review, polish, &mut policy);
            assert_eq!((policy.seats.len(), policy.approval), (seats, approval), "{review:?} {polish}");
        };
        check(None, false, 0, true);
        check(Some(&empty), false, 0, true);
        check(Some(&two), false, 2, false);
        check(Some(&two), true, 2, false);
        check(Some(&empty), true, 1, false);
        check(None, true, 1, false);
    }
}
