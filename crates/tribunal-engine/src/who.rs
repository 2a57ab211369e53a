//! Who built and who reviewed, from the notes of the launches.
//!
//! Reports and commit trailers name them. Only launches that came to an end count, and of reviewers only those whose
//! answer counts.

use crate::run_state::{LaunchNote, RunState};
use std::collections::BTreeMap;
use tribunal_core::finding::Verdict;
use tribunal_core::ids::LoopId;
use tribunal_core::policy::Use;
use tribunal_core::review_loop::Loop;
use tribunal_view::spoken::Identity;
use tribunal_view::who::Who;

/// Everybody who built and reviewed in a run.
pub fn of_run(run_state: &RunState) -> Who {
    Gathered::of(run_state, run_state.loops.values()).who(run_state, |_| true)
}

/// Who built a plan's work and let it pass, by its loops. The review of the plan document is left out.
pub fn of_work<'a>(run_state: &'a RunState, loops: impl Iterator<Item = &'a Loop>) -> Who {
    let work = loops.filter(|review_loop| review_loop.policy().of != Use::Plan);
    Gathered::of(run_state, work).who(run_state, |verdict| verdict != Verdict::Reject)
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
    fn of(run_state: &'a RunState, loops: impl Iterator<Item = &'a Loop>) -> Gathered<'a> {
        // From all launches of the run and not only those of these loops: another loop's launch may know the version.
        let told = run_state.launches.iter().filter_map(|launch| launch.identity.as_ref());
        let told = told.filter(|identity| !identity.version.is_empty());
        let versions = told.map(|identity| (identity.adapter.as_str(), identity.version.as_str())).collect();
        let mut all = Gathered { loops: loops.collect(), builders: BTreeMap::new(), versions };
        for review_loop in all.loops.clone() {
            let found: Vec<Identity> = launches(run_state, review_loop.id(), "/make:")
                .filter_map(|launch| all.identity(launch))
                .collect();
            let known = all.builders.entry(group(review_loop)).or_default();
            for identity in found {
                if !known.contains(&identity) {
                    known.push(identity);
                }
            }
        }
        all
    }

    fn who(&self, run_state: &RunState, wanted: impl Fn(Verdict) -> bool) -> Who {
        let mut who = Who::default();
        for review_loop in &self.loops {
            who.add(&self.builders_of(review_loop), &self.reviewers(run_state, review_loop.id(), &wanted));
        }
        who
    }

    /// The builders of what a loop reviews. What a phase or a chain reviews was built by everybody.
    fn builders_of(&self, review_loop: &Loop) -> Vec<Identity> {
        let whole = matches!(review_loop.policy().of, Use::Phase | Use::Chain);
        let of_it = |(key, _): &(&&str, &Vec<Identity>)| whole || **key == group(review_loop);
        self.builders.iter().filter(of_it).flat_map(|(_, all)| all.iter().cloned()).collect()
    }

    /// The reviewers of a loop whose answers count, each as the launch that gave its answer.
    fn reviewers(
        &self,
        run_state: &RunState,
        id: &LoopId,
        wanted: impl Fn(Verdict) -> bool,
    ) -> Vec<(String, Identity)> {
        let judged = run_state.tries.judged(id).filter(|(_, _, verdict)| wanted(*verdict));
        judged
            .filter_map(|(reviewer, effect, _)| {
                let launch = run_state.launches_for(&effect.to_string()).next_back()?;
                Some((reviewer.to_string(), self.identity(launch)?))
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
fn group(review_loop: &Loop) -> &str {
    let id = review_loop.id().as_str();
    match review_loop.policy().of {
        Use::Plan => id,
        _ => id.split_once('/').map_or(id, |(plan, _)| plan),
    }
}

/// The launches of a loop for one kind of step that came to an end.
fn launches<'a>(
    run_state: &'a RunState,
    id: &LoopId,
    step: &'static str,
) -> impl Iterator<Item = &'a LaunchNote> {
    let done = move |launch: &&LaunchNote| launch.failed.is_none() && launch.effect.contains(step);
    run_state.launches_of(id.as_str()).filter(done).collect::<Vec<_>>().into_iter()
}
