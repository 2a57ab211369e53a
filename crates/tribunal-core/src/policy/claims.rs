//! Which plan waits for whose files.
//!
//! Of two plans that claim one file, the later begins when the earlier has landed or never will: two builders that
//! edit the same file would only make each other's landing fail.

use crate::contract::{clean, covers};
use crate::ids::PlanId;
use std::collections::{BTreeMap, BTreeSet};

/// What one plan claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The plan that claims.
    pub plan: PlanId,
    /// The wave of the plan. An earlier wave never waits for a later one.
    pub wave: u32,
    /// Files, folders and patterns with `*` and `?`, as the plan wrote them.
    pub files: Vec<String>,
}

/// Everything that was claimed so far, by how it is found again.
///
/// A thousand plans would be a million pairs, so a path is looked up by itself and by the folders above it, and only
/// patterns are compared one by one.
#[derive(Default)]
struct Claimed {
    by_path: BTreeMap<String, BTreeSet<PlanId>>,
    by_folder: BTreeMap<String, BTreeSet<PlanId>>,
    patterns: Vec<(String, PlanId)>,
    plain: Vec<(String, PlanId)>,
}

impl Claimed {
    /// The plans that have claimed a file, a folder around it, or something in it.
    fn holders_of(&self, file: &str) -> BTreeSet<PlanId> {
        let mut holders = BTreeSet::new();
        for path in with_folders(file) {
            holders.extend(self.by_path.get(path).into_iter().flatten().cloned());
        }
        // The claim may itself be a folder, with claimed files inside.
        holders.extend(self.by_folder.get(file).into_iter().flatten().cloned());
        let covered = self.patterns.iter().filter(|(pattern, _)| covers(pattern, file));
        holders.extend(covered.map(|(_, plan)| plan.clone()));
        // A pattern may cover files that were claimed by name, and no index finds those.
        if is_pattern(file) {
            let covering = self.plain.iter().filter(|(path, _)| covers(file, path));
            holders.extend(covering.map(|(_, plan)| plan.clone()));
        }
        holders
    }

    /// Records a claim.
    fn add(&mut self, file: String, plan: &PlanId) {
        // Without the path itself, which is in `by_path`.
        for folder in with_folders(&file).skip(1) {
            self.by_folder.entry(folder.to_owned()).or_default().insert(plan.clone());
        }
        self.by_path.entry(file.clone()).or_default().insert(plan.clone());
        let list = if is_pattern(&file) { &mut self.patterns } else { &mut self.plain };
        list.push((file, plan.clone()));
    }
}

/// The plans that each plan waits for because they claim its files. Plans of one wave wait in the given order.
///
/// Paths that leave the repository claim nothing: the gate refuses to write them.
pub fn waits_for(plans: &[Claims]) -> BTreeMap<PlanId, BTreeSet<PlanId>> {
    let mut order: Vec<&Claims> = plans.iter().collect();
    // The sort is stable, so plans of one wave keep their order, and no two plans can wait for each other.
    order.sort_by_key(|claims| claims.wave);
    let mut claimed = Claimed::default();
    let mut waits = BTreeMap::new();
    for claims in order {
        let own: Vec<String> = claims.files.iter().filter_map(|file| clean(file)).collect();
        let mut holders: BTreeSet<PlanId> = own.iter().flat_map(|file| claimed.holders_of(file)).collect();
        // A plan may name a file twice, or a file and its folder.
        holders.remove(&claims.plan);
        own.into_iter().for_each(|file| claimed.add(file, &claims.plan));
        waits.insert(claims.plan.clone(), holders);
    }
    waits
}

/// A path, and the folders above it.
fn with_folders(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0))
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(plans: &[(&str, u32, &[&str])]) -> Vec<(String, Vec<String>)> {
        let claims: Vec<Claims> = plans
            .iter()
            .map(|(plan, wave, files)| Claims {
                plan: PlanId::new(*plan),
                wave: *wave,
                files: files.iter().map(|file| (*file).to_owned()).collect(),
            })
            .collect();
        let words = |set: BTreeSet<PlanId>| set.iter().map(ToString::to_string).collect();
        waits_for(&claims).into_iter().map(|(plan, set)| (plan.to_string(), words(set))).collect()
    }

    #[test]
    fn the_later_of_two_plans_waits_for_a_file_that_both_claim() {
        let check = |one: &str, other: &str, meet: bool| {
            let seen = waits(&[("a", 1, &[one]), ("b", 1, &[other])]);
            let expected: Vec<String> = if meet { vec!["a".to_owned()] } else { Vec::new() };
            assert_eq!(seen, [("a".to_owned(), Vec::new()), ("b".to_owned(), expected)], "{one} {other}");
        };
        check("src/a.rs", "src/a.rs", true);
        check("src/a.rs", "./src//a.rs", true);
        check("src/a.rs", "src/b.rs", false);
        check("src", "src/b.rs", true);
        check("src/b.rs", "src", true);
        check("src/*.rs", "src/b.rs", true);
        check("src/b.rs", "src/*.rs", true);
        check("src/*.rs", "doc/b.md", false);
        check("../out", "../out", false);
    }

    #[test]
    fn an_earlier_wave_never_waits_for_a_later_one() {
        let seen = waits(&[("late", 2, &["x"]), ("soon", 1, &["x"])]);
        assert_eq!(seen, [("late".to_owned(), vec!["soon".to_owned()]), ("soon".to_owned(), Vec::new())]);
    }
}
