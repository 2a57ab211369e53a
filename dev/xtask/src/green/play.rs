//! One play: a repository with a project, a plan, a builder that does the task's deed and says it is done, and a reviewer
//! that approves. What came of it is read from the branch and from the journal, never from the program's own word alone.

use super::project::{Deed, Project};
use crate::crash::stage::{PHASE, Res, Stage, at};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tribunal_core::finding::Severity;
use tribunal_core::green::Answer;

/// What came of a play.
pub struct Cell {
    /// It is as it should be.
    pub good: bool,
    /// In a few words.
    pub text: String,
    /// All that the run said.
    pub said: String,
}

/// Variables of the user that toolchains are found by.
const KEPT: [&str; 6] = ["CARGO_HOME", "RUSTUP_HOME", "GOPATH", "PYENV_ROOT", "NVM_DIR", "JAVA_HOME"];

/// Plays one task of one project in a folder of its own.
pub fn play(binary: &Path, dir: &Path, project: &Project, deed: Deed) -> Res<Cell> {
    let stage = set(binary, dir, project, deed)?;
    let begin = stage.git(&["rev-parse", "main"])?;
    let ended = stage.tribunal(&["run"])?;
    let end = stage.git(&["rev-parse", "main"])?;
    let changed = project.changed(deed, &flaky(&stage))?;
    let landed = begin != end && is_there(&stage, &changed);
    let said = format!("exit {:?}\n{}", ended.code, ended.said());
    let seen = Seen::of(&stage)?;
    let good = match deed {
        Deed::Fine => ended.code == Some(0) && landed && seen.is_green(),
        _ => ended.code != Some(0) && begin == end && seen.caught(deed),
    };
    let code = ended.code.map_or("a signal".to_owned(), |code| code.to_string());
    let place = if begin == end { "not on the branch" } else { "on the branch" };
    Ok(Cell { good, text: format!("exit {code}, {place}: {}", seen.words()), said })
}

/// The file that a flaky test counts in: the settings let checks write there.
fn flaky(stage: &Stage) -> String {
    stage.root().join("count").display().to_string()
}

/// Puts the project on a stage, with the plan, the agents and the settings.
fn set(binary: &Path, dir: &Path, project: &Project, deed: Deed) -> Res<Stage> {
    let mut stage = Stage::new(dir, binary)?;
    // Toolchains are found by the user's home; everything else of the user's stays out of it.
    let config = stage.home().join(".config");
    let env = &mut stage.program_mut().env;
    env.retain(|(name, _)| name != "HOME");
    for name in KEPT.into_iter().chain(["HOME"]) {
        env.extend(std::env::var_os(name).map(|value| (name.into(), value)));
    }
    env.push(("XDG_CONFIG_HOME".into(), config.into()));
    env.push(("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()));
    for (path, (text, executable)) in &project.files {
        stage.write(path, text)?;
        if *executable {
            let file = stage.project().join(path);
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&file, mode).map_err(at(file.display()))?;
        }
    }
    let changed = project.changed(deed, &flaky(&stage))?;
    stage.write(
        "tribunal.toml",
        "[plan]\nreview = \"never\"\n[task]\nrounds_max = 2\n[qa]\nrounds_max = 2\n",
    )?;
    stage.write(&format!("{PHASE}/01-01-PLAN.md"), &plan(&changed))?;
    let more: Vec<String> = project.writable.iter().map(|path| quoted(path)).collect();
    if !more.is_empty() {
        let path = stage.home().join(".config/tribunal/config.toml");
        let text = std::fs::read_to_string(&path).map_err(at(path.display()))?;
        let text = text.replacen("writable = [", &format!("writable = [{}, ", more.join(", ")), 1);
        std::fs::write(&path, text).map_err(at(path.display()))?;
    }
    stage.commit_all()?;
    stage.script(&script(&changed))?;
    if let Some((program, args)) = project.prepare.split_first() {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ended = stage.program().other(program, &args)?;
        if ended.code != Some(0) {
            return Err(format!("{}: {}", project.prepare.join(" "), ended.said()));
        }
    }
    Ok(stage)
}

/// A plan with one task that changes these files.
fn plan(changed: &BTreeMap<String, String>) -> String {
    let each = |line: &dyn Fn(&String) -> String| changed.keys().map(line).collect::<String>();
    let first = changed.keys().next().cloned().unwrap_or_default();
    format!(
        "---\nphase: \"01\"\nplan: \"01\"\ntitle: \"Calculate\"\nwave: 1\ndepends_on: []\nmust_haves:\n{}\
         files_modified:\n{}---\n# Plan 01-01\n\n### Task 1: Change {first}\nChange it.\nIn the end {first} is \
         changed.\n\n{}**Commit:** `feat(01-01): change {first}`\n> verification: test -e {first}\n",
        each(&|path| format!("  - \"{path} is changed\"\n")),
        each(&|path| format!("  - \"{path}\"\n")),
        each(&|path| format!("**File:** `{path}`\n")),
    )
}

/// A builder that does the deed whatever it is told, and a reviewer that approves.
fn script(changed: &BTreeMap<String, String>) -> String {
    let first = changed.keys().next().cloned().unwrap_or_default();
    let writes: String = changed
        .iter()
        .map(|(path, text)| format!("  {{ write = {}, text = {} }},\n", quoted(path), quoted(text)))
        .collect();
    let builder = quoted(&format!("SUMMARY: {first} is changed.\nTASK: done"));
    let reviewer = quoted(&format!(
        "CHECKED: read {first} and the whole change to it, line by line; it does what the plan asks for.\nVERDICT: approve"
    ));
    format!(
        "[[turn]]\nrole = \"dev\"\noptional = true\ndo = [\n{writes}  {{ say = {builder} }},\n]\n\n\
         [[turn]]\nrole = \"reviewer\"\noptional = true\ndo = [ {{ say = \"{{finding}}: not an issue because the tests decide about it\", each = \"finding\" }}, \
         {{ say = {reviewer} }} ]\n"
    )
}

/// A JSON text is a TOML text too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether the branch has what the task made.
fn is_there(stage: &Stage, changed: &BTreeMap<String, String>) -> bool {
    changed.iter().all(|(path, text)| {
        stage.git(&["show", &format!("main:{path}")]).is_ok_and(|found| found.trim_end() == text.trim_end())
    })
}

/// What the journal says about the project's commands and tests.
struct Seen {
    /// How each command ended, and its answer.
    commands: Vec<(String, Answer)>,
    /// Findings that keep a change from landing.
    blockers: Vec<String>,
}

impl Seen {
    fn of(stage: &Stage) -> Res<Seen> {
        let (_, run_state) = stage.newest()?.ok_or("there is no run")?;
        let commands =
            run_state.commands.iter().map(|note| (note.shown.clone(), note.answer.clone())).collect();
        let entries = run_state
            .loops
            .values()
            .flat_map(|review_loop| review_loop.ledger().iter().map(|(_, entry)| entry));
        let blockers = entries.filter(|entry| entry.severity == Severity::Blocker);
        let mut blockers: Vec<String> = blockers.map(|entry| entry.claim.claim.clone()).collect();
        blockers.dedup();
        Ok(Seen { commands, blockers })
    }

    /// Commands ran, and each of them ended well: nothing landed because nobody looked.
    fn is_green(&self) -> bool {
        !self.commands.is_empty() && self.commands.iter().all(|(_, answer)| answer.is_green())
    }

    /// Whether it was kept from the branch for what it did, and not for something beside it.
    fn caught(&self, deed: Deed) -> bool {
        let answered = |is: &dyn Fn(&Answer) -> bool| self.commands.iter().any(|(_, answer)| is(answer));
        let said =
            |words: &[&str]| self.blockers.iter().any(|text| words.iter().any(|word| text.contains(word)));
        match deed {
            Deed::Fine => false,
            Deed::Breaks | Deed::Build => answered(&|answer| matches!(answer, Answer::Broken(_))),
            Deed::Gut => answered(&|answer| matches!(answer, Answer::JudgeChanged(_))),
            Deed::Flaky => answered(&|answer| matches!(answer, Answer::NewlyFlaky(_))),
            Deed::Removes => said(&["it is gone", " tests run,"]),
            // A test is gone where its runner does not name what it skips, and where its call was made a comment.
            Deed::Skips => said(&["skipped", "it is gone", " tests run,"]),
        }
    }

    /// The first thing that kept it away, otherwise what was run.
    fn words(&self) -> String {
        let bad = self.commands.iter().find_map(|(_, answer)| answer.blocker());
        let ran = self.commands.first().map(|(shown, answer)| match answer.is_green() {
            true => format!("`{shown}` is green"),
            false => format!("`{shown}`: {}", answer.text()),
        });
        let said = bad.map(str::to_owned).or_else(|| self.blockers.first().cloned()).or(ran);
        said.unwrap_or_else(|| "no command of the project ran".to_owned())
    }
}
