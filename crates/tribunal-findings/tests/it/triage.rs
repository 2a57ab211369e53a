//! Triage: where each claim goes, in words, and that none is lost.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Fate, Severity, Source};
use tribunal_core::ids::{Check, Reviewer};
use tribunal_findings::{Panel, Raised, Triaged, triage};

fn reviewer(name: &str) -> Source {
    Source::Reviewer(Reviewer::new(name))
}

fn raised(source: Source, severity: Severity, confidence: u8, file: &str, line: u32, text: &str) -> Raised {
    let mut claim = Claim::new(severity, text).at(file, Some(line));
    (claim.confidence, claim.confidence_stated) = (confidence, true);
    Raised { source, claim }
}

fn panel(sat: &[&str], security: &[&str]) -> Panel {
    let owners = if security.is_empty() {
        BTreeMap::new()
    } else {
        BTreeMap::from([("security".to_owned(), security.iter().map(Reviewer::new).collect())])
    };
    Panel { owners, sat: sat.iter().map(Reviewer::new).collect(), ..Panel::default() }
}

fn one(result: &[Triaged]) -> &Triaged {
    assert_eq!(result.len(), 1, "{result:#?}");
    &result[0]
}

#[test]
fn confidence_decides_first() {
    use Severity::Blocker;
    let panel = panel(&["a"], &[]);
    for (confidence, fate) in [
        (0, Fate::Discarded),
        (49, Fate::Discarded),
        (50, Fate::Deferred),
        (79, Fate::Deferred),
        (80, Fate::Open),
    ] {
        let result =
            triage(vec![raised(reviewer("a"), Blocker, confidence, "x.rs", 1, "off by one")], &panel);
        assert_eq!(one(&result).fate, fate, "{confidence}");
        assert!(result[0].why().contains(&confidence.to_string()), "{}", result[0].why());
    }
    let check = raised(Source::Check(Check::new("lint")), Blocker, 10, "x.rs", 1, "off by one");
    assert_eq!(one(&triage(vec![check], &panel)).fate, Fate::Open, "a check is certain");
}

#[test]
fn two_tools_are_one_voice_only_about_the_same_lines() {
    let tool = |name: &str, line: u32, text: &str| {
        raised(Source::Check(Check::new(name)), Severity::Warning, 100, "a.py", line, text)
    };
    let check = |line: u32, expect: usize| {
        let other = tool("ruff", 58, "Use `tuple` instead of `t.Tuple` for type annotation");
        let mine = tool("mypy", line, "Function is missing a type annotation");
        assert_eq!(triage(vec![other, mine], &panel(&[], &[])).len(), expect, "{line}");
    };
    check(63, 2);
    check(59, 2);
    let said = [
        tool("ruff", 7, "Undefined name `nope`"),
        tool("mypy", 7, "Name `nope` is not defined, undefined name"),
    ];
    assert_eq!(triage(said.to_vec(), &panel(&[], &[])).len(), 1);
}

#[test]
fn a_rejecting_reviewer_keeps_its_deferred_ones() {
    let mut panel = panel(&["a", "b"], &[]);
    panel.rejecting.insert(Reviewer::new("a"));
    let result = triage(
        vec![
            raised(reviewer("a"), Severity::Blocker, 60, "x.rs", 1, "off by one in the loop"),
            raised(reviewer("b"), Severity::Warning, 60, "y.rs", 1, "the name says nothing"),
        ],
        &panel,
    );
    assert_eq!((&result[0].fate, &result[1].fate), (&Fate::Open, &Fate::Deferred));
    assert!(result[0].why().contains("rejects"));
}

#[test]
fn authority_filters_refers_and_keeps() {
    use Severity::{Blocker, Warning};
    let owned = panel(&["sec", "gen"], &["sec"]);
    let injection = |source, severity| {
        raised(source, severity, 90, "db.rs", 10, "SQL injection through the filter argument")
    };

    let result = triage(vec![injection(reviewer("gen"), Warning)], &owned);
    assert_eq!(one(&result).fate, Fate::Filtered);
    assert!(result[0].why().contains("sec owns security"));

    let result = triage(vec![injection(reviewer("gen"), Blocker)], &owned);
    assert_eq!(
        (&one(&result).fate, result[0].referred_to.as_ref()),
        (&Fate::Open, Some(&Reviewer::new("sec")))
    );

    let result =
        triage(vec![injection(reviewer("sec"), Warning), injection(reviewer("gen"), Blocker)], &owned);
    let merged = one(&result);
    assert_eq!((merged.severity, merged.by_owner, merged.referred_to.as_ref()), (Blocker, true, None));
    assert!(merged.disagree && merged.texts().count() == 2);

    let result = triage(vec![injection(reviewer("gen"), Warning)], &panel(&["gen"], &["sec"]));
    assert!(one(&result).unowned && result[0].fate == Fate::Open, "the owner did not sit");

    let two = panel(&["sec", "sec2"], &["sec", "sec2"]);
    assert!(one(&triage(vec![injection(reviewer("sec"), Warning)], &two)).overlapping);

    let include = Panel { include_filtered: true, ..owned.clone() };
    assert_eq!(one(&triage(vec![injection(reviewer("gen"), Warning)], &include)).fate, Fate::Open);

    let check = injection(Source::Check(Check::new("semgrep")), Warning);
    assert_eq!(one(&triage(vec![check], &owned)).fate, Fate::Open, "authority is among reviewers");
}

#[test]
fn merging_takes_the_severity_of_the_actionable_ones() {
    let panel = panel(&["a", "b", "c"], &[]);
    let text = "the guard is dropped before the write finishes";
    let result = triage(
        vec![
            raised(reviewer("a"), Severity::Blocker, 60, "x.rs", 10, text),
            raised(
                reviewer("b"),
                Severity::Suggestion,
                85,
                "x.rs",
                11,
                "guard dropped before write is finished",
            ),
        ],
        &panel,
    );
    let merged = one(&result);
    assert_eq!((merged.severity, &merged.fate, merged.disagree), (Severity::Suggestion, &Fate::Open, true));
    assert_eq!(merged.sources().len(), 2);
    assert!(merged.why().contains("disagree"), "{}", merged.why());
}

#[test]
fn what_is_not_merged() {
    let panel = panel(&["a", "b"], &[]);
    let far = triage(
        vec![
            raised(reviewer("a"), Severity::Warning, 90, "x.rs", 10, "missing error handling on read"),
            raised(reviewer("b"), Severity::Warning, 90, "x.rs", 200, "missing error handling on read"),
        ],
        &panel,
    );
    assert_eq!(far.len(), 2, "far apart");
    let own = triage(
        vec![
            raised(reviewer("a"), Severity::Warning, 90, "x.rs", 10, "missing error handling on read"),
            raised(reviewer("a"), Severity::Warning, 90, "x.rs", 11, "missing error handling on the read"),
        ],
        &panel,
    );
    assert_eq!(own.len(), 2, "one reviewer's two findings");
    let names = triage(
        vec![
            raised(
                reviewer("a"),
                Severity::Warning,
                90,
                "x.rs",
                10,
                "value `alpha` of the table is not used here",
            ),
            raised(
                reviewer("b"),
                Severity::Warning,
                90,
                "x.rs",
                11,
                "value `beta` of the table is not used here",
            ),
        ],
        &panel,
    );
    assert_eq!(names.len(), 2, "one sentence about two names");
    let other = triage(
        vec![
            raised(reviewer("a"), Severity::Warning, 90, "x.rs", 10, "missing error handling on read"),
            raised(reviewer("b"), Severity::Warning, 90, "x.rs", 10, "name shadows the outer binding"),
        ],
        &panel,
    );
    assert_eq!(other.len(), 2, "another matter at the same line");
}

#[test]
fn order_is_severity_then_owner() {
    let owned = panel(&["sec", "gen"], &["sec"]);
    let result = triage(
        vec![
            raised(reviewer("gen"), Severity::Suggestion, 90, "a.rs", 1, "rename it"),
            raised(reviewer("gen"), Severity::Warning, 90, "a.rs", 5, "off by one"),
            raised(reviewer("sec"), Severity::Warning, 90, "z.rs", 9, "the csrf token is not checked"),
            raised(reviewer("gen"), Severity::Blocker, 90, "q.rs", 7, "does not compile"),
        ],
        &owned,
    );
    let lines: Vec<_> = result.iter().map(|t| t.claim().line.unwrap()).collect();
    assert_eq!(lines, [7, 9, 5, 1]);
}

fn any_raised() -> impl Strategy<Value = Raised> {
    let source = prop_oneof![
        Just(reviewer("sec")),
        Just(reviewer("a")),
        Just(reviewer("b")),
        Just(Source::Check(Check::new("lint")))
    ];
    let severity = prop_oneof![Just(Severity::Suggestion), Just(Severity::Warning), Just(Severity::Blocker)];
    let text = prop_oneof![
        Just("SQL injection in the filter"),
        Just("injection through the SQL filter"),
        Just("slow loop over the cache"),
        Just("off by one"),
        Just("the endpoint lies"),
        Just("name is vague"),
        Just("")
    ];
    (source, severity, 0u8..=100, prop_oneof![Just("x.rs"), Just("y.rs")], 1u32..30, text).prop_map(
        |(source, severity, confidence, file, line, text)| {
            raised(source, severity, confidence, file, line, text)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_lost_and_nothing_doubled(all in prop::collection::vec(any_raised(), 0..25), rejecting in any::<bool>()) {
        let mut panel = panel(&["sec", "a", "b"], &["sec"]);
        if rejecting {
            panel.rejecting.insert(Reviewer::new("a"));
        }
        let result = triage(all.clone(), &panel);
        let mut got: Vec<String> = result.iter().flat_map(|t| t.texts()).map(|r| format!("{r:?}")).collect();
        let mut want: Vec<String> = all.iter().map(|r| format!("{r:?}")).collect();
        got.sort();
        want.sort();
        prop_assert_eq!(got, want);
        for one in &result {
            let sources: BTreeSet<_> = one.texts().map(|r| r.source.clone()).collect();
            prop_assert_eq!(&sources, &one.sources());
            prop_assert!(!one.why().is_empty());
            if one.fate == Fate::Open {
                let actionable = one.texts().filter(|r| match &r.source {
                    Source::Check(_) => true,
                    Source::Reviewer(reviewer) => r.claim.confidence >= 80 || (r.claim.confidence >= 50 && panel.rejecting.contains(reviewer)),
                });
                prop_assert_eq!(actionable.map(|r| r.claim.severity).max(), Some(one.severity));
            }
            if one.sources().iter().any(|s| matches!(s, Source::Check(_))) {
                prop_assert_eq!(&one.fate, &Fate::Open);
            }
        }
    }
}

/// Owners of two fields speak of one line in nearly the same words: each field keeps its own finding.
#[test]
fn owners_of_two_fields_are_never_merged() {
    let owners = [("security", "guard"), ("api", "tester")]
        .map(|(field, reviewer)| (field.to_owned(), BTreeSet::from([Reviewer::new(reviewer)])))
        .into_iter()
        .collect();
    let sat = ["guard", "tester"].map(Reviewer::new).into_iter().collect();
    let panel = Panel { owners, sat, ..Panel::default() };
    let says = |reviewer: &str, field: &str, words: &str| {
        let mut claim = Claim::new(Severity::Blocker, words).at("src/a.rs", Some(7));
        (claim.confidence, claim.domain) = (95, Some(field.to_owned()));
        Raised { source: Source::Reviewer(Reviewer::new(reviewer)), claim }
    };
    let one = "the stored token is sent back in the answer";
    for other in [one, "the stored token is sent back in every answer"] {
        let result = triage([says("guard", "security", one), says("tester", "api", other)], &panel);
        assert_eq!(result.len(), 2, "{other}: {result:#?}");
        assert!(result.iter().all(|one| one.by_owner));
    }
}
