//! `gc`: what ended is removed, what nobody has taken yet is not.

use crate::show::Show;
use crate::stage::scenes::PLAIN;

#[test]
fn a_result_on_no_branch_is_kept() {
    let mut show = Show::of(&PLAIN);
    let begin = show.stage.git(&["rev-parse", "HEAD"]).unwrap();
    show.expect(&["run"], 0);
    let head = show.stage.git(&["rev-parse", "HEAD"]).unwrap();
    // As if the user's branch had been left alone.
    show.stage.git(&["reset", "--quiet", "--hard", &begin]).unwrap();
    let gc = |args: &[&str]| show.stage.tribunal(&[&["gc", "--older-than", "0"], args].concat()).unwrap();
    let said = gc(&[]).stdout;
    assert!(said.contains("on no branch") && said.contains(&format!("git merge {head}")), "{said}");
    assert_eq!(show.stage.runs().len(), 1);
    show.stage.git(&["merge", "--quiet", "--ff-only", &head]).unwrap();
    let said = gc(&[]).stdout;
    assert!(said.contains("removed 1 run"), "{said}");
    assert!(show.stage.runs().is_empty());
}

#[test]
fn a_result_is_given_up_only_when_that_is_said() {
    let mut show = Show::of(&PLAIN);
    let begin = show.stage.git(&["rev-parse", "HEAD"]).unwrap();
    show.expect(&["run"], 0);
    show.stage.git(&["reset", "--quiet", "--hard", &begin]).unwrap();
    let said = show.stage.tribunal(&["gc", "--older-than", "0", "--force"]).unwrap().stdout;
    assert!(said.contains("removed 1 run"), "{said}");
    assert!(show.stage.runs().is_empty());
}
