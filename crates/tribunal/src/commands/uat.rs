//! `tribunal uat`: a person tries out what a phase built, one scenario at a time. Every answer is saved before the next
//! question.
//!
//! It is the person's own command, so it may write to their planning folder; it never touches code. An acceptance holds
//! nothing back: the phase has landed before anybody tries it out.

use crate::args::{Globals, Uat as UatArgs};
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Place;
use crate::{config, out};
use std::io::BufRead;
use std::path::PathBuf;
use tribunal_core::run::Ending;
use tribunal_docs::{Uat, UatAnswer, uat_answer, write_uat};
use tribunal_engine::settings::Settings;
use tribunal_git::{GitPath, Sign, Signature};
use tribunal_protocol::Folder;
use tribunal_view::facts::QuestionView;
use tribunal_view::{plain, question};
use tribunal_world::{PhaseFiles, Project, standing, write_atomic};

/// Walks through the scenarios of a phase.
pub fn run(globals: &Globals, args: &UatArgs) -> Result<Done, Failure> {
    let place = Place::to_work_on()?;
    let settings = config::here(Some(&place), &args.set)?.settings;
    walk(globals, &place.project()?, &settings, args.phase.as_deref())
}

/// Asks for every scenario without an answer; the answers come from stdin, line by line.
///
/// Stopping halfway loses nothing: the next call goes on with the first scenario that has no answer.
pub fn walk(
    globals: &Globals,
    project: &Project,
    settings: &Settings,
    phase: Option<&str>,
) -> Result<Done, Failure> {
    let files = project.phase(phase)?;
    let path = project.root().join(&files.path).join(format!("{}-UAT.md", files.number));
    let mut uat = prepared(&files, &path)?;
    let before = uat.status();
    if before == "issues_found" {
        // A person who comes back may have fixed the issues; everything else keeps its answer.
        uat.ask_issues_again();
    }
    let mut lines = std::io::stdin().lock().lines();
    while let Some(at) = uat.next() {
        ask(&uat, at);
        let Some(said) = lines.next() else { break };
        let said = said.map_err(|error| Failure::work(format!("cannot read the answer: {error}")))?;
        // An empty line is not an answer, so the same scenario is asked again.
        let Some(answer) = uat_answer(&plain::clipped(&said, 2_000)) else { continue };
        tell(&answer);
        uat.tests[at].answer = Some(answer);
        save(&mut uat, &path)?;
    }
    // Without a new answer no document is written and nothing is committed.
    if uat.status() != before || before == "in_progress" {
        conclude(project, settings, &files, &uat)?;
    }
    report(globals, &uat, &path)
}

fn prepared(files: &PhaseFiles, path: &std::path::Path) -> Result<Uat, Failure> {
    let read = files
        .summaries
        .iter()
        .filter_map(|document| tribunal_docs::read_summary(&document.path, &document.text).value);
    let mut summaries: Vec<_> = read.filter(|summary| summary.is_complete()).collect();
    // In the order of the plans, whatever order the file system has.
    summaries.sort_by(|a, b| a.id.cmp(&b.id));
    if summaries.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no complete SUMMARY: there is nothing to try out",
            files.path
        ))
        .hint(format!("tribunal run {}", files.number)));
    }
    let mut uat = Uat::of(&files.number, &summaries, &today());
    match tribunal_world::read_plain(path) {
        // By id and text: a scenario that changed since is asked again.
        Ok(bytes) => uat.resume(&tribunal_docs::read_uat(&String::from_utf8_lossy(&bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Failure::work(format!("cannot read {}: {error}", path.display()))),
    }
    Ok(uat)
}

fn today() -> String {
    tribunal_view::calendar::date(tribunal_protocol::moment().wall_ms)
}

fn ask(uat: &Uat, at: usize) {
    let test = &uat.tests[at];
    out::say(&format!(
        "\n◆ {} of {}  {}  {}\n  {}\n  pass, skip, or what is wrong:",
        at + 1,
        uat.tests.len(),
        test.id,
        plain::clipped(&test.title, 120),
        plain::clipped(&test.scenario, 500)
    ));
}

fn tell(answer: &UatAnswer) {
    out::say(&match answer {
        UatAnswer::Pass => "  ✓ passed".to_owned(),
        UatAnswer::Skip => "  ○ skipped".to_owned(),
        UatAnswer::Issue { severity, .. } => format!("  ✗ noted as {severity}"),
    });
}

fn save(uat: &mut Uat, path: &std::path::Path) -> Result<(), Failure> {
    if uat.next().is_none() {
        // The last answer completes the document.
        uat.completed = today();
    }
    let written = write_atomic(path, write_uat(uat).as_bytes());
    written.map_err(|error| Failure::work(format!("cannot write {}: {error}", path.display())))
}

/// Records the result in the planning documents. An issue takes the phase's completion back, until it is fixed and
/// tried again.
fn conclude(project: &Project, settings: &Settings, files: &PhaseFiles, uat: &Uat) -> Result<(), Failure> {
    let issues = uat.issues().len();
    // Half an acceptance without an issue changes nothing yet.
    if issues == 0 && uat.status() != "complete" {
        return Ok(());
    }
    let mut progress = standing::of_phase(project, &files.number, &[], settings).map_err(Failure::work)?;
    progress.issues = issues;
    for (name, update) in standing::DOCUMENTS {
        let Some(bytes) = standing::read(project, name) else { continue };
        // A document that is not text is a person's own; it is left as it is.
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let new = update(&text, &progress);
        let path = project.root().join(project.planning()).join(name);
        if new != text {
            write_atomic(&path, new.as_bytes())
                .map_err(|error| Failure::work(format!("cannot write {}: {error}", path.display())))?;
        }
    }
    let folder = Folder::new(project.root().join(project.planning()));
    mark_state(&folder, &files.number, issues == 0)?;
    let data = serde_json::json!({ "status": uat.status(), "issues": issues });
    let data = data.as_object().cloned().unwrap_or_default();
    tribunal_protocol::append(&folder, "uat_completed", &files.number, "", data)?;
    commit(project, settings, &files.number)
}

/// Updates the protocol's execution state, if it is about this phase.
fn mark_state(folder: &Folder, phase: &str, complete: bool) -> Result<(), Failure> {
    let Some(bytes) = folder.read(tribunal_protocol::STATE)? else { return Ok(()) };
    let Ok(mut state) = serde_json::from_slice::<serde_json::Value>(&bytes) else { return Ok(()) };
    let same = |value: &serde_json::Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // Scripts write the phase as `1`, `01` or a number.
        text.trim_start_matches('0') == phase.trim_start_matches('0')
    };
    let Some(state) = state.as_object_mut().filter(|state| state.get("phase").is_some_and(same)) else {
        return Ok(());
    };
    state.insert("status".to_owned(), if complete { "complete" } else { "running" }.into());
    let mut text = serde_json::to_vec_pretty(state).map_err(Failure::bug)?;
    text.push(b'\n');
    Ok(folder.write_flushed(tribunal_protocol::STATE, &text)?)
}

/// Commits the planning folder, and nothing else, if the configuration says so.
fn commit(project: &Project, settings: &Settings, phase: &str) -> Result<(), Failure> {
    if settings.git.planning != "commit" {
        return Ok(());
    }
    let repo = project.repo();
    let work = |error: tribunal_git::GitError| Failure::work(error);
    let (name, email) =
        repo.identity().map_err(work)?.unwrap_or_else(|| ("tribunal".into(), "tribunal@localhost".into()));
    let at = i64::try_from(tribunal_protocol::moment().wall_ms / 1000).unwrap_or(0);
    let paths = [GitPath::from(project.planning())];
    let message = format!("docs({phase}): acceptance");
    let sign = if settings.git.sign == "never" { Sign::Never } else { Sign::AsConfigured };
    repo.commit_paths(&paths, &message, &Signature::new(name, email, at), sign).map(drop).map_err(work)
}

fn report(globals: &Globals, uat: &Uat, path: &std::path::Path) -> Result<Done, Failure> {
    let (passed, skipped, issues) = uat.counts();
    let done = match uat.status() {
        "complete" => Done::Passed,
        "issues_found" => Done::Shut,
        _ => Done::Waits,
    };
    if globals.json {
        let mut json = serde_json::to_value(uat).map_err(Failure::bug)?;
        json["status"] = uat.status().into();
        json["next"] = uat.next().map(|at| uat.tests[at].id.clone()).into();
        json["path"] = config::shown(path).into();
        json["counts"] = serde_json::json!({ "passed": passed, "skipped": skipped, "issues": issues });
        out::json(&json)?;
        return Ok(done);
    }
    let mut text =
        format!("\nPhase {}: {passed} passed, {skipped} skipped, {issues} with an issue\n", uat.phase);
    for (test, issue, severity) in uat.issues() {
        text.push_str(&format!("  ✗ {} [{severity}] {}\n", test.id, plain::clipped(&issue, 300)));
    }
    match uat.status() {
        "complete" => text.push_str("The phase is accepted.\n"),
        "issues_found" => text
            .push_str(&format!("The phase is not complete. When it is fixed: tribunal uat {}\n", uat.phase)),
        _ => text.push_str(&format!("Not all were answered. To go on: tribunal uat {}\n", uat.phase)),
    }
    out::data(&text)?;
    Ok(done)
}

/// True if a person should try out what a passed run built; the autonomy setting decides.
pub fn wanted(ending: Option<Ending>, autonomy: &str) -> bool {
    ending == Some(Ending::Passed) && matches!(autonomy, "cautious" | "standard")
}

/// Inbox items for phases that nobody has tried out. Nothing waits for them.
pub fn open(place: &Place) -> Vec<QuestionView> {
    let mut seen: Vec<String> = Vec::new();
    let mut items = Vec::new();
    for id in place.runs() {
        let Ok(run_state) = place.read(&id).and_then(|seen| seen.run_state()) else { continue };
        let about = &run_state.about;
        // A review and an artifact build nothing to try out. Of several runs of a phase, the newest counts.
        if about.review.is_some() || about.phase.is_empty() || seen.contains(&about.phase) {
            continue;
        }
        // Noted before the checks below: an older run of the phase must not bring back an item that the newest settled.
        seen.push(about.phase.clone());
        let ending = run_state.run.as_ref().and_then(|run| run.ending());
        if wanted(ending, &about.autonomy) && !accepted(place, &about.phase_path, &about.phase) {
            items.push(item(&id, &about.phase));
        }
    }
    items
}

fn accepted(place: &Place, phase_path: &str, phase: &str) -> bool {
    let path: PathBuf = place.root.join(phase_path).join(format!("{phase}-UAT.md"));
    let read = tribunal_world::read_plain(&path).ok();
    let uat = read.map(|bytes| tribunal_docs::read_uat(&String::from_utf8_lossy(&bytes)));
    uat.is_some_and(|uat| !uat.tests.is_empty() && uat.status() == "complete")
}

fn item(run: &str, phase: &str) -> QuestionView {
    QuestionView {
        spoken: Vec::new(),
        id: format!("uat-{phase}"),
        run: run.to_owned(),
        subject: format!("phase {phase}"),
        why: "it was built and judged, and nobody has tried it out yet; nothing waits for this".to_owned(),
        offers: vec![question::uat_offer(phase)],
        ..QuestionView::default()
    }
}
