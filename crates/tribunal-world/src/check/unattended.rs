//! Checks whether the user's commit hooks can run while nobody is there. They are run once on the commit that the work
//! would begin with, contained as in a run.
//!
//! A hook that hangs, asks at the terminal, or refuses what is there already would refuse every builder for something
//! that no builder did. The run is then refused instead, before any agent is paid for.

use super::hooks::{Answer, Change, HookRules, Ran, ReportServer, said};
use crate::context::RunContext;
use crate::project::Project;
use crate::project::error::SetupError;
use crate::setup::{one_of, world};
use tribunal_engine::settings::Settings;
use tribunal_git::{GitError, Hook};
use tribunal_view::plain;

/// How much of a hook's output is repeated in the error.
const SAID_MAX: usize = 600;
const SKIP: &str =
    "or set git.hooks = \"skip\" in your own settings and have every report and commit say that no hook ran";

/// Why a hook cannot be used, and the way out.
struct Unfit {
    hook: String,
    why: String,
    way_out: String,
}

impl Unfit {
    fn new(hook: &str, why: impl Into<String>, way_out: &str) -> Unfit {
        Unfit { hook: hook.to_owned(), why: why.into(), way_out: format!("{way_out}, {SKIP}") }
    }
}

/// Refuses hooks that cannot run unattended. `own` holds messages that Tribunal will write itself: a hook that refuses
/// those would refuse every result. `branch` is the one that the work is for, if it is not the one checked out.
pub(crate) fn check_hooks(
    project: &Project,
    settings: &Settings,
    branch: Option<&str>,
    own: &[String],
) -> Result<(), SetupError> {
    let asked = one_of("git.hooks", &settings.git.hooks, "run, skip", &[("run", true), ("skip", false)])?;
    let hooks = if asked { project.repo().hooks()? } else { Vec::new() };
    if hooks.is_empty() {
        return Ok(());
    }
    project.prepare()?;
    // A run folder without a journal, so that nobody sees it as a run. It is removed right away.
    let run = format!("00000000-000000-hooks-{}", std::process::id());
    let world = world(project, settings, &run, crate::setup::WORKTREE_POOL)?;
    let found = rehearse(&world.context, &hooks, branch, own);
    // The world's threads and files must be gone before the folder is.
    drop(world);
    let dir = project.run_dir(&run);
    std::fs::remove_dir_all(&dir).map_err(|error| SetupError::io("remove", &dir, &error))?;
    match found? {
        None => Ok(()),
        Some(Unfit { hook, why, way_out }) => Err(SetupError::Hook { hook, why, way_out }),
    }
}

/// Runs every hook once. Returns the first one that cannot be used.
fn rehearse(
    context: &RunContext,
    hooks: &[Hook],
    branch: Option<&str>,
    own: &[String],
) -> Result<Option<Unfit>, GitError> {
    let head = context.repo.head()?;
    let base = head.commit;
    let branch = branch.map(str::to_owned).or(head.branch).unwrap_or_default();
    let rules = HookRules { base: base.clone(), branch };
    let change = Change { parent: base.clone(), tree: base.clone(), rules: rules.clone() };
    let report_server = ReportServer::set_up(context, "unattended", &change, hooks)?;
    let mut unfit = match hooks.iter().find(|hook| hook.name == "pre-commit") {
        Some(hook) => before_commit(context, hooks, hook, &report_server, &rules)?,
        None => None,
    };
    let theirs = [String::from_utf8_lossy(&context.repo.message_of(&base)?).into_owned()];
    // Without messages of Tribunal's own the question is only whether the hooks end; the user's last message serves for
    // that.
    let messages = if own.is_empty() { &theirs } else { own };
    for message in messages {
        if unfit.is_none() {
            let message = context.message(context.own_message(message.clone()));
            unfit = about_message(&report_server, hooks, &message, !own.is_empty())?;
        }
    }
    report_server.clear()?;
    Ok(unfit)
}

/// Tries the hook that looks at the change. It has to pass an empty change, or else the user's last commit.
fn before_commit(
    context: &RunContext,
    hooks: &[Hook],
    hook: &Hook,
    report_server: &ReportServer<'_>,
    rules: &HookRules,
) -> Result<Option<Unfit>, GitError> {
    let way_out = "fix the hook (`git hook run pre-commit` runs it as git does), or give it what it lacks by agents.writable and PATH";
    let (how, out) = match report_server.run(hook, 0, &[])? {
        Ok(Ran::Passed(changed)) if changed.is_empty() => return Ok(None),
        Ok(Ran::Passed(changed)) => {
            let names: Vec<String> = changed.iter().take(5).map(ToString::to_string).collect();
            let why = format!("it changes files of the commit you are at: {}", names.join(", "));
            return Ok(Some(Unfit::new(hook.name, why, "commit them as the hook leaves them")));
        }
        Err(why) => return Ok(Some(Unfit::new(hook.name, why, way_out))),
        Ok(Ran::Refused { how, out, .. }) => (how, out),
    };
    let text = said(&out);
    if asks(&text) {
        return Ok(Some(Unfit::new(hook.name, asking(&text), "let the hook go on without a terminal")));
    }
    // A hook may refuse an empty change, so it is shown what the user committed last. The first commit of a repository
    // is shown whole.
    let parents = match context.repo.parents_of(&rules.base)? {
        parents if parents.is_empty() => {
            let (nothing, who) = (context.repo.empty_tree(&rules.base)?, context.signature());
            vec![context.repo.commit(&nothing, &[], "nothing yet\n", &who, &who)?]
        }
        parents => parents,
    };
    if let [parent] = parents.as_slice() {
        let change = Change { parent: parent.clone(), tree: rules.base.clone(), rules: rules.clone() };
        let report_server = ReportServer::set_up(context, "unattended-last", &change, hooks)?;
        let again = report_server.run(hook, 1, &[])?;
        report_server.clear()?;
        if matches!(again, Ok(Ran::Passed(changed)) if changed.is_empty()) {
            return Ok(None);
        }
    }
    let ended = super::ended(&how);
    let said = match text.trim() {
        "" => "it prints no reason".to_owned(),
        text => plain::clipped(text, SAID_MAX),
    };
    let why = format!("it refuses the commit you are at, unchanged ({ended}): {said}");
    Ok(Some(Unfit::new(hook.name, why, way_out)))
}

/// Tries the hooks that look at messages.
fn about_message(
    report_server: &ReportServer<'_>,
    hooks: &[Hook],
    message: &str,
    own: bool,
) -> Result<Option<Unfit>, GitError> {
    let name = "commit-msg or prepare-commit-msg";
    let claims = match report_server.about_message(hooks, 0, message)? {
        Answer::Fine(_) => return Ok(None),
        Answer::Broken(why) => {
            return Ok(Some(Unfit::new(name, why, "fix the hook so that it ends without anybody there")));
        }
        Answer::Refused(claims) => claims,
    };
    let Some(claim) = claims.first() else { return Ok(None) };
    let hook = claim.rule.as_deref().unwrap_or(name);
    if asks(&claim.evidence) {
        let way_out = "let the hook go on without a terminal";
        return Ok(Some(Unfit::new(hook, asking(&claim.evidence), way_out)));
    }
    // A builder can give its own commit another message. Only the user can give Tribunal's messages another form.
    Ok(own.then(|| {
        let subject = message.lines().next().unwrap_or_default();
        let text = plain::clipped(&claim.evidence, SAID_MAX);
        let why = format!("it does not take a message that Tribunal writes itself, `{subject}`: {text}");
        Unfit::new(
            hook,
            why,
            "set git.message in tribunal.toml to a form that it takes, such as \"PROJ-1: {text}\"",
        )
    }))
}

/// Whether a hook's output mentions a terminal that it does not have.
fn asks(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["/dev/tty", "not a tty", "not a terminal", "no tty", "inappropriate ioctl"]
        .iter()
        .any(|words| text.contains(words))
}

fn asking(text: &str) -> String {
    format!("it asks at the terminal: {}", plain::clipped(text, SAID_MAX))
}
