//! Who built and who reviewed, from the notes of the launches.
//!
//! Reports and commit trailers name them. Only launches that came to an end count, and of reviewers only those whose
//! answer counts.

use crate::docket::{Docket, LaunchNote};
use std::collections::BTreeMap;
use tribunal_core::finding::Verdict;
use tribunal_core::ids::LoopId;
use tribunal_core::policy::Use;
use tribunal_core::review_loop::Loop;
use tribunal_view::spoken::Identity;
use tribunal_view::who::Who;

/// Everybody who built and reviewed in a run.
pub fn of_run(docket: &Docket) -> Who {
    Gathered::of(docket, docket.loops.values()).who(docket, |_| true)
}

/// Who built a plan's work and let it pass, by its loops. The review of the plan document is left out.
pub fn of_work<'a>(docket: &'a Docket, loops: impl Iterator<Item = &'a Loop>) -> Who {
    let work = loops.filter(|lp| lp.policy().of != Use::Plan);
    Gathered::of(docket, work).who(docket, |verdict| verdict != Verdict::Reject)
}

/// The builders of some loops.
struct Gathered<'a> {
    loops: Vec<&'a Loop>,
    /// The builders by loop for plan documents, and by plan for work.
    builders: BTreeMap<&'a str, Vec<Identity>>,
    /// The last version that each program reported.
    versions: BTreeMap<&'a str, &'a str>,
}

impl<'a> Gathered<'a> {
    fn of(docket: &'a Docket, loops: impl Iterator<Item = &'a Loop>) -> Gathered<'a> {
        // From all launches of the run and not only those of these loops: another loop's launch may know the version.
        let told = docket.launches.iter().filter_map(|launch| launch.identity.as_ref());
        let told = told.filter(|identity| !identity.version.is_empty());
        let versions = told.map(|identity| (identity.adapter.as_str(), identity.version.as_str())).collect();
        let mut all = Gathered { loops: loops.collect(), builders: BTreeMap::new(), versions };
        for lp in all.loops.clone() {
            let found: Vec<Identity> =
                launches(docket, lp.id(), "/make:").filter_map(|launch| all.identity(launch)).collect();
            let known = all.builders.entry(group(lp)).or_default();
            for identity in found {
                if !known.contains(&identity) {
                    known.push(identity);
                }
            }
        }
        all
    }

    fn who(&self, docket: &Docket, wanted: impl Fn(Verdict) -> bool) -> Who {
        let mut who = Who::default();
        for lp in &self.loops {
            who.add(&self.builders_of(lp), &self.reviewers(docket, lp.id(), &wanted));
        }
        who
    }

    /// The builders of what a loop reviews. What a phase or a chain reviews was built by everybody.
    fn builders_of(&self, lp: &Loop) -> Vec<Identity> {
        let whole = matches!(lp.policy().of, Use::Phase | Use::Chain);
        let of_it = |(key, _): &(&&str, &Vec<Identity>)| whole || **key == group(lp);
        self.builders.iter().filter(of_it).flat_map(|(_, all)| all.iter().cloned()).collect()
    }

    /// The reviewers of a loop whose answers count, each as the launch that gave its answer.
    fn reviewers(
        &self,
        docket: &Docket,
        id: &LoopId,
        wanted: impl Fn(Verdict) -> bool,
    ) -> Vec<(String, Identity)> {
        let judged = docket.tries.judged(id).filter(|(_, _, verdict)| wanted(*verdict));
        judged
            .filter_map(|(seat, effect, _)| {
                let launch = docket.launches_for(&effect.to_string()).next_back()?;
                Some((seat.to_string(), self.identity(launch)?))
            })
            .collect()
    }

    /// The identity behind a launch, without its prompt.
    ///
    /// The version of a program is asked for beside the work, so a first launch may end before it is known. Then the
    /// version of the program's other launches is taken.
    fn identity(&self, launch: &LaunchNote) -> Option<Identity> {
        let mut identity = launch.identity.clone()?;
        let told = self.versions.get(identity.adapter.as_str()).filter(|_| identity.version.is_empty());
        if let Some(version) = told {
            identity.version = (*version).to_owned();
        }
        // The same agent with another prompt is still the same agent.
        let none = String::new;
        Some(Identity { personality: none(), rules: none(), prompt: none(), ..identity })
    }
}

/// The builders' group of a loop. The document of a plan is its own loop's work; everything else is its plan's.
fn group(lp: &Loop) -> &str {
    let id = lp.id().as_str();
    match lp.policy().of {
        Use::Plan => id,
        _ => id.split_once('/').map_or(id, |(plan, _)| plan),
    }
}

/// The launches of a loop for one kind of step that came to an end.
fn launches<'a>(docket: &'a Docket, id: &LoopId, step: &'static str) -> impl Iterator<Item = &'a LaunchNote> {
    let done = move |launch: &&LaunchNote| launch.failed.is_none() && launch.effect.contains(step);
    docket.launches_of(id.as_str()).filter(done).collect::<Vec<_>>().into_iter()
}
