//! Names of folders, phases, plans and files.

use tribunal_docs::{Kind, document_name, kind_of, phase_dir, plan_argument, planning_folder};

#[test]
fn the_planning_folder_is_the_one_that_exists() {
    assert_eq!(planning_folder(&|_| false), ".planning");
    assert_eq!(planning_folder(&|name| name == ".vbw-planning"), ".vbw-planning");
    assert_eq!(planning_folder(&|name| name == ".yolo-planning"), ".yolo-planning");
    assert_eq!(planning_folder(&|_| true), ".planning");
}

#[test]
fn phase_folders() {
    let check = |path: &str, expect: Option<(&str, &str)>| {
        let got = phase_dir(path).map(|dir| (dir.number, dir.slug));
        let expect = expect.map(|(number, slug)| (number.to_owned(), slug.to_owned()));
        assert_eq!(got, expect, "{path}");
    };
    check("phases/01-foundation", Some(("01", "foundation")));
    check("phases/1-x/", Some(("01", "x")));
    check("08.1-telegram-mcp", Some(("08.1", "telegram-mcp")));
    check("12", Some(("12", "")));
    check("quick", None);
    check("260421-ewq-allow", None);
}

#[test]
fn document_names() {
    let check = |path: &str, expect: Option<(Option<&str>, Option<&str>, &str)>| {
        let got = document_name(path).map(|n| (n.phase, n.plan, n.kind));
        let own = |text: Option<&str>| text.map(str::to_owned);
        let expect = expect.map(|(phase, plan, kind)| (own(phase), own(plan), kind.to_owned()));
        assert_eq!(got, expect, "{path}");
    };
    check("phases/01-base/01-02-PLAN.md", Some((Some("01"), Some("02"), "PLAN")));
    check("phases/01-base/1-2-SUMMARY.md", Some((Some("01"), Some("02"), "SUMMARY")));
    check("phases/01-base/02-PLAN.md", Some((Some("01"), Some("02"), "PLAN")));
    check("phases/03-polish/01-parsing-PLAN.md", Some((Some("03"), Some("01"), "PLAN")));
    check("phases/17-docs/17-correction-SUMMARY.md", Some((Some("17"), Some("correction"), "SUMMARY")));
    check("38.1-x/38.1-03-PLAN.md", Some((Some("38.1"), Some("03"), "PLAN")));
    check("04-x/04-UAT.md", Some((Some("04"), None, "UAT")));
    check("04-x/04-REVIEW-FIX.md", Some((Some("04"), None, "REVIEW-FIX")));
    check(".planning/ROADMAP.md", Some((None, None, "ROADMAP")));
    check("quick/260416-fsf-x/260416-fsf-PLAN.md", Some((None, Some("260416-fsf"), "PLAN")));
    check("notes.md", None);
    check("PLAN.txt", None);
}

#[test]
fn arguments() {
    let check = |argument: &str, expect: Option<(Option<&str>, &str)>| {
        let got = plan_argument(argument).map(|a| (a.phase, a.number));
        let expect = expect.map(|(phase, number)| (phase.map(str::to_owned), number.to_owned()));
        assert_eq!(got, expect, "{argument}");
    };
    check("1", Some((None, "01")));
    check("01", Some((None, "01")));
    check("01-02", Some((Some("01"), "02")));
    check("04.1-3", Some((Some("04.1"), "03")));
    check(" 7 ", Some((None, "07")));
    check("100", Some((None, "100")));
    check("0", Some((None, "00")));
    check("01-02-03", None);
    check("one", None);
    check("", None);
    check("-1", None);
}

#[test]
fn kinds_by_text_when_the_name_is_silent() {
    assert_eq!(kind_of("x.md", "---\nphase: 1\nplan: 2\nwave: 1\n---\n"), Kind::Plan);
    assert_eq!(kind_of("x.md", "---\nphase: 1\nplan: 2\nstatus: complete\n---\n"), Kind::Summary);
    assert_eq!(kind_of("x.md", "# Roadmap: thing\n"), Kind::Roadmap);
    assert_eq!(kind_of("x.md", "# Project State\n"), Kind::State);
    assert_eq!(kind_of("codebase/stack.md", "# Stack\n"), Kind::Codebase);
    assert_eq!(kind_of("REQUIREMENTS.md", ""), Kind::Requirements);
    assert_eq!(kind_of("README.md", "# Hello\n"), Kind::Other);
}
