//! Which hooks the user's git would run.

use crate::support::{World, git, script, write};

fn found(world: &World) -> Vec<(String, bool, bool)> {
    let hooks = world.repo.hooks().expect("looks");
    hooks.iter().map(|hook| (hook.name.to_owned(), hook.in_tree.is_some(), hook.bare)).collect()
}

#[test]
fn hooks_are_found_where_git_looks_for_them() {
    let world = World::new(&[("x", "x\n")]);
    let own = world.root().join(".git/hooks");
    assert_eq!(found(&world), [], "samples are no hooks");
    script(&own.join("commit-msg"), "#!/bin/sh\n");
    script(&own.join("pre-commit"), "exit 0\n");
    script(&own.join("post-commit"), "#!/bin/sh\n");
    write(&own, "prepare-commit-msg", "#!/bin/sh\n");
    let expect = [("pre-commit".to_owned(), false, true), ("commit-msg".to_owned(), false, false)];
    assert_eq!(found(&world), expect, "one that may not be executed is none, and others do not count");
    script(&world.root().join(".husky/_/pre-commit"), "#!/bin/sh\n");
    git(&world.root(), &["config", "core.hooksPath", "./.husky/_"]);
    assert_eq!(found(&world), [("pre-commit".to_owned(), true, false)]);
    let elsewhere = world.dir.path().join("hooks");
    script(&elsewhere.join("commit-msg"), "#!/bin/sh\n");
    git(&world.root(), &["config", "core.hooksPath", &elsewhere.display().to_string()]);
    assert_eq!(found(&world), [("commit-msg".to_owned(), false, false)]);
    git(&world.root(), &["config", "core.hooksPath", "/dev/null"]);
    assert_eq!(found(&world), []);
}
