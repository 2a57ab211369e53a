//! The laws of the cycle delta (SPEC 3.5), by name.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::Severity;
use tribunal_core::ids::FindingId;
use tribunal_core::ledger::Mark;
use tribunal_findings::delta::{Class, CycleDelta, Now, Standing, cycle_delta, section};

fn severity() -> impl Strategy<Value = Severity> {
    prop_oneof![Just(Severity::Suggestion), Just(Severity::Warning), Just(Severity::Blocker)]
}

fn before() -> impl Strategy<Value = BTreeMap<FindingId, Severity>> {
    prop::collection::btree_map((0u32..20).prop_map(FindingId), severity(), 0..15)
}

fn now() -> impl Strategy<Value = BTreeMap<FindingId, Now>> {
    let standing = prop_oneof![Just(Standing::Present), Just(Standing::Gone), Just(Standing::Silent)];
    let mark = prop_oneof![Just(Mark::New), Just(Mark::Reopened), Just(Mark::FixInduced), Just(Mark::Late)];
    let one =
        (severity(), standing, mark).prop_map(|(severity, standing, mark)| Now { severity, standing, mark });
    prop::collection::btree_map((0u32..20).prop_map(FindingId), one, 0..15)
}

fn there(now: &BTreeMap<FindingId, Now>) -> BTreeSet<FindingId> {
    now.iter().filter(|(_, n)| n.standing == Standing::Present).map(|(id, _)| *id).collect()
}

proptest! {
    #[test]
    fn the_classes_partition_the_union_of_both_rounds(before in before(), now in now()) {
        let delta = cycle_delta(&before, &now);
        let union: BTreeSet<FindingId> = before.keys().copied().chain(there(&now)).collect();
        let rows: Vec<FindingId> = delta.rows.iter().map(|row| row.id).collect();
        prop_assert_eq!(rows, union.into_iter().collect::<Vec<_>>());
        let counts = delta.counts(0);
        let sum = counts.resolved + counts.new + counts.unchanged + counts.downgraded + counts.upgraded
            + counts.not_reported + counts.reopened + counts.fix_induced + counts.late;
        prop_assert_eq!(sum as usize, delta.rows.len());
    }

    #[test]
    fn resolved_were_there_before_and_new_were_not(before in before(), now in now()) {
        for row in cycle_delta(&before, &now).rows {
            match row.class {
                Class::New(_) => prop_assert!(!before.contains_key(&row.id) && row.from.is_none()),
                _ => prop_assert!(before.contains_key(&row.id) && row.from.is_some()),
            }
            prop_assert_eq!(row.to.is_none(), row.class == Class::Resolved);
        }
    }

    #[test]
    fn unchanged_have_equal_severity_and_changes_go_the_right_way(before in before(), now in now()) {
        for row in cycle_delta(&before, &now).rows {
            match row.class {
                Class::Unchanged | Class::NotReported => prop_assert_eq!(row.from, row.to),
                Class::Upgraded => prop_assert!(row.to > row.from),
                Class::Downgraded => prop_assert!(row.to < row.from),
                Class::Resolved | Class::New(_) => {}
            }
        }
    }

    #[test]
    fn the_progression_equals_the_sum_of_the_details(before in before(), now in now()) {
        let delta = cycle_delta(&before, &now);
        for progress in delta.progression() {
            let had = before.values().filter(|s| **s == progress.severity).count();
            prop_assert_eq!(progress.before, had);
            let rows = |test: fn(&Class) -> bool| delta.rows.iter().filter(|r| r.to == Some(progress.severity) && test(&r.class)).count();
            let kept = rows(|c| !matches!(c, Class::New(_)));
            let fresh = rows(|c| matches!(c, Class::New(_)));
            prop_assert_eq!(progress.after, kept + fresh);
        }
        let total: usize = delta.progression().iter().map(|p| p.after).sum();
        prop_assert_eq!(total, delta.rows.len() - delta.count(Class::Resolved));
    }

    #[test]
    fn resolved_needs_evidence(before in before(), now in now()) {
        for row in cycle_delta(&before, &now).rows.iter().filter(|row| row.class == Class::Resolved) {
            prop_assert_eq!(now[&row.id].standing, Standing::Gone);
        }
    }
}

#[test]
fn a_single_round_has_no_delta_section() {
    let delta = CycleDelta::default();
    assert!(section(1, &delta).is_none());
    assert!(section(2, &delta).is_some());
}

#[test]
fn five_findings_one_resolved_one_new_leaves_four_unchanged() {
    let before: BTreeMap<FindingId, Severity> = (1..=5).map(|n| (FindingId(n), Severity::Warning)).collect();
    let mut now: BTreeMap<FindingId, Now> = (1..=6)
        .map(|n| {
            (FindingId(n), Now { severity: Severity::Warning, standing: Standing::Present, mark: Mark::New })
        })
        .collect();
    now.get_mut(&FindingId(1)).unwrap().standing = Standing::Gone;
    let delta = cycle_delta(&before, &now);
    assert_eq!(
        (delta.count(Class::Resolved), delta.count(Class::New(Mark::New)), delta.count(Class::Unchanged)),
        (1, 1, 4)
    );
}
