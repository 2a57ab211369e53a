//! Who reviews what a run built: found out when everything has landed, from the real change, with the roster and the
//! personalities the run began with. It chooses by the tables and writes nothing.

use super::panel;
use crate::project::error::SetupError;
use crate::setup::examine::{Ends, ReviewAsk, Target, seated};
use crate::site::Site;
use tribunal_engine::docket::{Docket, ReviewNote};
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
