//! The laws of the project's own commands: what lets a change pass, by exit status first. Every pair of states is
//! walked; chance draws the runs and the counts.

use crate::rng::Rng;
use std::collections::BTreeSet;
use tribunal_core::gate::CommandRun;
use tribunal_core::green::{
    Answer, BaseJudge, CommandState, Compared, Doubt, OneRun, ProjectCommand, answer, changed_with_code,
    checks_of, findings, may_land, runs_again, tests_nothing,
};
use tribunal_core::policy::Use;

fn states() -> Vec<CommandState> {
    let how = || "exit code 1".to_owned();
    vec![
        CommandState::Green,
        CommandState::NoTest,
        CommandState::Red { how: how(), broke: false },
        CommandState::Red { how: how(), broke: true },
        CommandState::Flaky { how: how() },
        CommandState::Unknown { why: "not found".to_owned() },
    ]
}

fn cases() -> Vec<Compared> {
    let mut cases = Vec::new();
    for before in states() {
        for now in states() {
            for bits in 0..8 {
                let (configured, has_tests, same_tree) = (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0);
                let (before, now) = (before.clone(), now.clone());
                cases.push(Compared { before, now, configured, has_tests, same_tree, with_base_judge: None });
            }
        }
    }
    cases
}

fn is_red(state: &CommandState) -> bool {
    matches!(state, CommandState::Red { .. })
}

fn run(rng: &mut Rng) -> OneRun {
    let runs = [
        (CommandRun::Passed, "exit code 0"),
        (CommandRun::NoTest("it ran no test".to_owned()), "exit code 0"),
        (CommandRun::Failed("exit code 3: boom".to_owned()), "exit code 3"),
        (CommandRun::Failed("signal 11".to_owned()), "signal 11"),
        (CommandRun::DidNotRun("not found".to_owned()), "exit code 127"),
    ];
    let (run, how) = rng.pick(&runs).clone();
    OneRun { run, how: how.to_owned(), counted: rng.chance(50), missing: rng.chance(50) }
}

/// "0 before and not 0 after is a blocker": docs/concepts.md.
#[test]
fn green_before_and_red_now_blocks() {
    for case in cases().into_iter().filter(|case| case.before.is_green() && is_red(&case.now)) {
        let answer = answer(&case);
        assert!(matches!(answer, Answer::Broken(_)), "{case:?}: {answer:?}");
        assert!(answer.text().contains("exit code 0 before, exit code 1 now"), "{}", answer.text());
        assert!(!may_land(&answer, false, None, &case.now), "{case:?}");
    }
}

/// Green is said of nothing but a command that ended with 0 now, every time it ran.
#[test]
fn only_a_command_that_is_green_now_is_called_green() {
    for case in cases() {
        assert_eq!(answer(&case).is_green(), case.now.is_green(), "{case:?}");
    }
}

#[test]
fn what_did_not_run_is_a_question_or_is_said_and_never_green() {
    for case in cases().into_iter().filter(|case| matches!(case.now, CommandState::Unknown { .. })) {
        let answer = answer(&case);
        match answer {
            Answer::NotRun(_) => assert!(!may_land(&answer, false, None, &case.now), "{case:?}"),
            // Nobody asked for it, and nothing says that there are tests; or nothing changed since somebody was asked.
            Answer::NoTests(_) => assert!(case.same_tree || !(case.configured || case.has_tests), "{case:?}"),
            other => panic!("{case:?}: {other:?}"),
        }
    }
}

#[test]
fn flaky_is_never_a_silent_pass_and_newly_flaky_blocks() {
    for case in cases().into_iter().filter(|case| matches!(case.now, CommandState::Flaky { .. })) {
        let answer = answer(&case);
        assert!(answer.text().contains("flaky"), "{case:?}: {answer:?}");
        let before = matches!(case.before, CommandState::Flaky { .. }) || is_red(&case.before);
        let unknown = matches!(case.before, CommandState::Unknown { .. });
        assert_eq!(matches!(answer, Answer::FlakyBefore(_)), before, "{case:?}");
        assert_eq!(may_land(&answer, false, None, &case.now), before, "{case:?}");
        assert_eq!(matches!(answer, Answer::NotRun(_)), unknown, "{case:?}");
    }
}

#[test]
fn red_before_is_said_and_blocks_nothing() {
    for case in cases().into_iter().filter(|case| is_red(&case.before) && is_red(&case.now)) {
        let answer = answer(&case);
        assert!(answer.blocker().is_none() && !answer.text().is_empty(), "{case:?}: {answer:?}");
    }
}

/// Whoever takes the last test away, or makes the runner find none, is stopped.
#[test]
fn a_runner_that_finds_no_test_any_more_blocks() {
    let gone =
        |case: &Compared| case.now == CommandState::NoTest && case.before.is_green() && !case.same_tree;
    for case in cases().into_iter().filter(gone) {
        assert!(answer(&case).blocker().is_some(), "{case:?}");
    }
}

#[test]
fn counts_add_findings_and_never_take_one_away() {
    for case in cases() {
        let answer = answer(&case);
        let alone = findings(&answer, Vec::new());
        let counted = vec!["a: it is gone".to_owned(), "b: it fails".to_owned()];
        let both = findings(&answer, counted.clone());
        assert!(alone.iter().chain(&counted).all(|text| both.contains(text)), "{case:?}");
        assert_eq!(alone.len(), usize::from(answer.blocker().is_some()), "{case:?}");
    }
}

#[test]
fn two_different_answers_on_one_tree_are_flaky_whatever_their_order() {
    for seed in 0..5_000 {
        let mut rng = Rng::new(seed);
        let mut runs = vec![run(&mut rng)];
        assert_eq!(
            runs_again(&runs, Doubt::TESTS_CHANGED),
            runs_again(&runs, Doubt::LITTLE) || runs[0].run == CommandRun::Passed
        );
        if runs_again(&runs, Doubt::LITTLE) {
            runs.push(run(&mut rng));
        }
        let state = CommandState::of(&runs);
        let failed = runs.iter().any(|one| matches!(one.run, CommandRun::Failed(_)));
        let well = runs.iter().any(|one| matches!(one.run, CommandRun::Passed | CommandRun::NoTest(_)));
        assert_eq!(matches!(state, CommandState::Flaky { .. }), failed && well, "{runs:?}");
        assert_eq!(is_red(&state), failed && !well, "{runs:?}");
        assert_eq!(state.is_green(), runs.iter().all(|one| one.run == CommandRun::Passed), "{runs:?}");
        let backwards: Vec<OneRun> = runs.iter().rev().cloned().collect();
        let other = CommandState::of(&backwards);
        assert_eq!(std::mem::discriminant(&state), std::mem::discriminant(&other), "{runs:?}");
    }
    assert!(matches!(CommandState::of(&[]), CommandState::Unknown { .. }), "no run is no answer");
}

/// "A finding of flaky tests is not settled by chance": docs/tests.md.
#[test]
fn what_was_seen_to_be_flaky_has_to_be_green_ten_times() {
    let one = |run: CommandRun| OneRun { run, how: String::new(), counted: true, missing: false };
    let passed = || one(CommandRun::Passed);
    let mut runs = Vec::new();
    while runs_again(&runs, Doubt::SEEN_FLAKY) {
        runs.push(passed());
    }
    assert_eq!(runs.len(), 10);
    // The first failure ends it: no number of passes makes up for it.
    let failed = [passed(), passed(), one(CommandRun::Failed("exit code 1".to_owned()))];
    assert!(!runs_again(&failed, Doubt::SEEN_FLAKY));
    assert!(matches!(CommandState::of(&failed), CommandState::Flaky { .. }));
    // Nor do later passes hide a run that did not end.
    let broke_off = [passed(), one(CommandRun::DidNotRun("it did not end".to_owned()))];
    assert!(!runs_again(&broke_off, Doubt::SEEN_FLAKY));
    assert!(matches!(CommandState::of(&broke_off), CommandState::Unknown { .. }));
}

/// "A command that was flaky before is not blamed on the change": the base is doubted where the change is not green, and only there.
#[test]
fn a_base_is_doubted_only_where_the_change_is_not_green() {
    for case in cases() {
        let doubt = Doubt::of_base(&case.before, &case.now);
        let bad = matches!(case.now, CommandState::Flaky { .. }) || is_red(&case.now);
        assert_eq!(doubt.is_some(), bad && case.before.is_green(), "{case:?}");
        let again = Doubt::of_change(&case.before, &case.now);
        let flaky = matches!(case.before, CommandState::Flaky { .. });
        assert_eq!(again.is_some(), flaky && is_red(&case.now), "{case:?}");
    }
}

/// Tests that cannot start because a package is missing did not run, on whichever side it was.
#[test]
fn tests_that_cannot_start_are_a_question() {
    let broke = |state: &CommandState| is_red(state) && is_broke(state);
    for case in cases().into_iter().filter(|case| is_red(&case.before) && is_red(&case.now)) {
        let asks = matches!(answer(&case), Answer::NotRun(_));
        let untested = !case.configured && !case.has_tests && broke(&case.before) && broke(&case.now);
        let lacks = broke(&case.before) || broke(&case.now);
        assert_eq!(asks, lacks && !case.same_tree && !untested, "{case:?}");
    }
}

/// "Red before is not made worse": an exit status that was red hides no test that fails now and did not.
#[test]
fn what_is_worse_by_name_lands_by_nobody_but_a_person() {
    for case in cases() {
        let answer = answer(&case);
        let worse = may_land(&answer, true, None, &case.now);
        let freely = may_land(&answer, false, None, &case.now);
        assert!(!worse || freely, "{case:?}");
        assert!(!worse || !matches!(answer, Answer::RedBefore(_)), "{case:?}");
    }
}

/// A person who takes a lane takes what was red there, and nothing that the landing brings besides.
#[test]
fn a_red_landing_goes_on_only_where_a_person_took_exactly_that() {
    for case in cases() {
        let answer = answer(&case);
        let freely = may_land(&answer, false, None, &case.now);
        let asks = answer.blocker().is_some() || matches!(answer, Answer::NotRun(_));
        assert_eq!(freely, !asks, "{case:?}");
        for accepted in states() {
            let taken = may_land(&answer, false, Some(&accepted), &case.now);
            let same = std::mem::discriminant(&accepted) == std::mem::discriminant(&case.now);
            assert_eq!(taken, freely || same, "{case:?} {accepted:?}");
        }
    }
}

/// "Green counts only with the base's judge": docs/tests.md. What is red with it lands by nobody but a person, whatever the
/// change's own judge says, and however the lane stood.
#[test]
fn what_is_not_green_with_the_base_judge_is_not_green() {
    for case in cases().into_iter().filter(|case| case.now.is_green() && !case.same_tree) {
        for judged in states() {
            let files = vec!["Makefile".to_owned()];
            let with_base_judge = Some(BaseJudge { state: judged.clone(), files, new: BTreeSet::new() });
            let case = Compared { with_base_judge, ..case.clone() };
            let answer = answer(&case);
            let alone = Compared { now: judged.clone(), with_base_judge: None, ..case.clone() };
            let freely = may_land(&tribunal_core::green::answer(&alone), false, None, &judged);
            let nothing_to_lose = matches!(
                (&case.before, &judged),
                (CommandState::NoTest, CommandState::NoTest)
                    | (CommandState::Unknown { .. }, CommandState::Unknown { .. })
            );
            assert_eq!(answer.is_green(), judged.is_green() || nothing_to_lose, "{case:?}: {answer:?}");
            let person = matches!(answer, Answer::JudgeChanged(_));
            assert!(!person || answer.text().contains("Makefile"), "{answer:?}");
            assert!(person || freely || nothing_to_lose, "{case:?}: {answer:?}");
            if case.before.is_green() && !judged.is_green() {
                assert!(person, "{case:?}: {answer:?}");
            }
            for accepted in states() {
                let lands = may_land(&answer, false, Some(&accepted), &case.now);
                assert_eq!(lands, !person, "{case:?}: {answer:?}");
            }
        }
    }
}

/// "Without what the base does not have": nobody is told of a file of the base that is none.
#[test]
fn what_was_put_back_is_told_as_it_was() {
    let check = |files: &[&str], new: &[&str], expect: &str| {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let judged = BaseJudge {
            state: CommandState::Green,
            files: list(files),
            new: list(new).into_iter().collect(),
        };
        assert_eq!(judged.with(), expect);
    };
    check(&["Makefile"], &[], "with Makefile of the base");
    check(&["GNUmakefile"], &["GNUmakefile"], "without GNUmakefile, which the base does not have");
    let both = "with Makefile of the base, and without GNUmakefile, which the base does not have";
    check(&["GNUmakefile", "Makefile"], &["GNUmakefile"], both);
}

/// Tests that changed with the code are excused only where they were seen to fail on the code of before, which was good.
#[test]
fn tests_that_cannot_fail_are_no_ordinary_work() {
    for base in states() {
        for with_tests in states() {
            let excused = changed_with_code(true, &base, &with_tests);
            assert_eq!(
                excused,
                base.is_green() && is_red(&with_tests) && !is_broke(&with_tests),
                "{base:?} {with_tests:?}"
            );
            assert!(!changed_with_code(false, &base, &with_tests));
        }
    }
}

fn is_broke(state: &CommandState) -> bool {
    matches!(state, CommandState::Red { broke: true, .. })
}

#[test]
fn a_command_that_only_ends_tests_nothing() {
    let check = |line: &str, expect: bool| {
        let argv: Vec<String> = line.split('|').map(str::to_owned).collect();
        assert_eq!(tests_nothing(&argv), expect, "{line}");
    };
    for line in
        ["true", "/bin/true", ":", "exit|0", "echo|ok", "sh|-c|exit 0", "bash|-ec|echo ok; true", "printf|x"]
    {
        check(line, true);
    }
    for line in [
        "make|test",
        "sh|check.sh",
        "sh|-c|make test; true",
        "sh|-c|echo $(make test)",
        "sh|-c|exit 126",
        "pytest",
        "false",
    ] {
        check(line, false);
    }
}

#[test]
fn every_loop_that_judges_code_has_a_word_about_tests() {
    for (of, is_code, expect) in [
        (Use::Plan, true, false),
        (Use::Task, true, true),
        (Use::Qa, true, true),
        (Use::Phase, true, true),
        (Use::Chain, true, true),
        (Use::Chain, false, false),
    ] {
        for build in [false, true] {
            let checks = checks_of(of, is_code, build);
            assert_eq!(checks.contains(&ProjectCommand::Test), expect, "{of:?}");
            assert_eq!(checks.contains(&ProjectCommand::Build), expect && build, "{of:?}");
        }
    }
    assert_eq!(CommandState::NoTest.as_of(ProjectCommand::Build), CommandState::Green);
    assert_eq!(CommandState::NoTest.as_of(ProjectCommand::Test), CommandState::NoTest);
    for command in ProjectCommand::ALL {
        assert_eq!(ProjectCommand::of(&command.check()), Some(command));
    }
}

/// `make test` of a project in which nobody recognises a test: it runs, it fails, and that is said.
#[test]
fn a_command_that_fails_ran_whether_or_not_tests_are_seen() {
    let red = |broke| CommandState::Red { how: "exit code 2".to_owned(), broke };
    let of = |before, now| Compared {
        before,
        now,
        configured: false,
        has_tests: false,
        same_tree: false,
        with_base_judge: None,
    };
    assert!(matches!(answer(&of(red(false), red(false))), Answer::RedBefore(_)));
    assert!(matches!(answer(&of(red(true), red(true))), Answer::NoTests(_)));
    let of_build = answer(&of(red(true), red(true))).as_of(ProjectCommand::Build, &red(true));
    assert!(matches!(of_build, Answer::RedBefore(_)), "a build has no tests to miss");
    assert!(matches!(answer(&of(CommandState::NoTest, red(false))), Answer::Broken(_)));
}
