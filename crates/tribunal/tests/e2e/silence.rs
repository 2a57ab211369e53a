//! A log is never silent for long while something works: who reads it in a file knows what is waited for. What works here
//! waits until its line was seen, so that nothing depends on how fast the machine is.

use crate::review_tools::Project;
use crate::show::Show;
use crate::stage::scenes::{AT_WORK, PLAIN, Scene};
use rustix::fs::{CWD, Mode, mkfifoat};

/// A tool that says nothing is named with the time it runs.
#[test]
fn a_log_names_the_tool_that_runs() {
    let project = Project::new("fine\n", "fine\nbad\n");
    let go = project.stage.root().join("bin/go");
    mkfifoat(CWD, &go, Mode::RUSR | Mode::WUSR).unwrap();
    let script = format!("#!/bin/sh\nread -r line < '{}'\nexit 0\n", go.display());
    std::fs::write(project.stage.root().join("bin/mylint"), script).unwrap();
    let running = project.stage.program().start(&["review", "--diff", "main..HEAD"], &[]).unwrap();
    running.says("mylint: running for ").unwrap();
    std::fs::write(&go, "go\n").unwrap();
    let ended = running.wait().unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(!ended.stdout.contains("running for"), "what is data is not mixed with it: {}", ended.stdout);
}

/// So is an agent, and one that was at work when the run was killed and is started again.
#[test]
fn a_log_names_the_agent_that_works() {
    let mut show = Show::of(&Scene { script: AT_WORK, ..PLAIN });
    let running = show.at_work();
    running.says(" dev: running for ").unwrap();
    running.signal(rustix::process::Signal::KILL).unwrap();
    let ended = running.wait().unwrap();
    show.after(&["run"], ended);
    let running = show.stage.program().start(&["resume"], &[]).unwrap();
    running.says(" dev: running for ").unwrap();
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    let ended = show.after(&["resume"], ended);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}
