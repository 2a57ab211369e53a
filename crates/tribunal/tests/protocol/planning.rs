//! Planning files committed and pushed, and what to run next.

use crate::Field;
use serde_json::json;

#[test]
fn only_planning_files_are_committed_never_what_was_staged() {
    let field = Field::new();
    field.write("c.json", "{\"planning_tracking\": \"commit\"}");
    field.write("manual.json", "{}");
    field.git(&["add", "c.json"]);
    field.write(".planning/STATE.md", "new\n");
    let none = field.ask(&["planning-git", "commit-boundary", "complete phase 1", "manual.json"], 0);
    assert_eq!(none["done"], "nothing");
    let done = field.ask(&["planning-git", "commit-boundary", "complete $(id)\n\"phase\" 1", "c.json"], 0);
    assert_eq!(done["done"], "committed");
    assert_eq!(field.git(&["log", "-1", "--format=%s"]), "chore(planning): complete $(id) \"phase\" 1");
    assert_eq!(field.git(&["show", "--name-only", "--format=", "HEAD"]), ".planning/STATE.md");
    assert_eq!(field.git(&["status", "--porcelain"]), "A  c.json\n?? manual.json");
    assert_eq!(field.ask(&["planning-git", "commit-boundary", "again", "c.json"], 0)["done"], "nothing");
    field.ask(&["planning-git", "commit-boundary", "x", "gone.json"], 1);
    field.refused(&["planning-git", "commit-boundary", "c.json"]);
}

/// What is of the moment is nobody's history.
#[test]
fn state_of_the_moment_is_not_committed() {
    let field = Field::new();
    field.write("c.json", "{\"planning_tracking\": \"commit\"}");
    field.ask(&["compile-context", "1", "dev", crate::PHASE], 0);
    field.ask(&["generate-contract", crate::PLAN], 0);
    field.ask(&["log-event", "x", "1"], 0);
    assert_eq!(field.ask(&["planning-git", "commit-boundary", "x", "c.json"], 0)["done"], "nothing");
}

#[test]
fn a_push_is_asked_for_and_needs_an_upstream() {
    let field = Field::new();
    field.write("never.json", "{}");
    field.write("after.json", "{\"auto_push\": \"after_phase\"}");
    assert_eq!(field.ask(&["planning-git", "push-after-phase", "never.json"], 0)["done"], "nothing");
    let none = field.ask(&["planning-git", "push-after-phase", "after.json"], 0);
    assert!(none["reason"].as_str().unwrap().contains("upstream"), "{none}");
    field.git(&["init", "-q", "--bare", "../remote.git"]);
    field.git(&["remote", "add", "origin", "../remote.git"]);
    field.git(&["config", "branch.main.remote", "origin"]);
    field.git(&["config", "branch.main.merge", "refs/heads/main"]);
    assert_eq!(field.ask(&["planning-git", "push-after-phase", "after.json"], 0)["done"], "pushed");
    field.git(&["config", "branch.main.remote", "../nowhere.git"]);
    field.ask(&["planning-git", "push-after-phase", "after.json"], 1);
}

#[test]
fn ignoring_keeps_what_others_wrote() {
    let field = Field::new();
    field.write("ignore.json", "{\"planning_tracking\": \"ignore\"}");
    field.write("commit.json", "{\"planning_tracking\": \"commit\"}");
    field.write(".gitignore", "target");
    assert_eq!(field.ask(&["planning-git", "sync-ignore", "ignore.json"], 0)["added"], json!([".planning/"]));
    assert_eq!(field.read(".gitignore"), "target\n.planning/\n");
    assert_eq!(field.ask(&["planning-git", "sync-ignore", "ignore.json"], 0)["done"], "nothing");
    let tracked = field.ask(&["planning-git", "sync-ignore", "ignore.json"], 0);
    assert!(tracked["hint"].as_str().unwrap().contains("git rm -r --cached .planning/"), "{tracked}");
    field.write(".planning/NEW.md", "x");
    field.git(&["rm", "-rq", "--cached", ".planning"]);
    field.git(&["commit", "-qm", "chore: no planning"]);
    assert_eq!(field.ask(&["planning-git", "sync-ignore", "ignore.json"], 0).get("hint"), None);
    let shut = field.ask(&["planning-git", "commit-boundary", "x", "commit.json"], 1);
    assert!(shut["hint"].as_str().unwrap().contains("sync-ignore"), "{shut}");
    let synced = field.ask(&["planning-git", "sync-ignore", "commit.json"], 0);
    assert_eq!((&synced["done"], &synced["removed"]), (&json!("synced"), &json!([".planning/"])));
    assert_eq!(field.read(".gitignore"), "target\n");
    field.ask(&["planning-git", "commit-boundary", "x", "commit.json"], 0);
    field.write("odd.json", "{\"planning_tracking\": \"sometimes\"}");
    for action in [&["sync-ignore"][..], &["commit-boundary", "x"]] {
        let odd = field.ask(&[&["planning-git"], action, &["odd.json"]].concat(), 1);
        assert!(odd["error"].as_str().unwrap().contains("manual, ignore, commit"), "{odd}");
    }
    assert!(field.read(".planning/.gitignore").contains(".execution-state.json\n"));
}

#[test]
fn there_is_always_a_next_step() {
    let field = Field::new();
    for (args, first) in [
        (&["suggest-next", "execute", "pass"][..], "tribunal report"),
        (&["suggest-next", "execute", "fail"], "tribunal inbox"),
        (&["suggest-next", "anything"], "tribunal status"),
    ] {
        let found = field.ask(args, 0);
        assert_eq!(found["suggestions"][0]["command"], first, "{args:?}");
        assert!(found["suggestions"][0]["reason"].is_string());
    }
}
