//! What came of a run, in a form that two runs of the same scene can be compared in: no times, no commit ids, no
//! finding ids. It reads the journal and git, and changes nothing.

use super::{Res, Stage};
use std::collections::BTreeMap;
use tribunal_core::run::Standing;
use tribunal_engine::{Fact, RunState};
use tribunal_journal::Reader;

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen(BTreeMap<String, String>);

impl Seen {
    /// Looks at the newest run of a stage.
    pub fn of(stage: &Stage) -> Res<Seen> {
        let (run, run_state) = stage.newest()?.ok_or("there is no run")?;
        let mut lines = BTreeMap::new();
        of_run_state(&run_state, &mut lines);
        lost_attempts(stage, &run, &mut lines)?;
        of_branch(stage, "the run branch", &format!("refs/tribunal/{run}/head"), &mut lines)?;
        of_branch(stage, "main", "refs/heads/main", &mut lines)?;
        of_worktree(stage, &mut lines)?;
        Ok(Seen(lines))
    }

    /// What differs, one line each.
    pub fn differences(&self, other: &Seen) -> Vec<String> {
        let names: std::collections::BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let shown =
            |seen: &Seen, name: &str| seen.0.get(name).cloned().unwrap_or_else(|| "absent".to_owned());
        let differ = names.into_iter().filter(|name| self.0.get(*name) != other.0.get(*name));
        differ.map(|name| format!("{name}: {} -> {}", shown(self, name), shown(other, name))).collect()
    }
}

fn of_run_state(run_state: &RunState, lines: &mut BTreeMap<String, String>) {
    let Some(run) = &run_state.run else { return };
    lines.insert("ending".to_owned(), run.ending().map_or("none", |ending| ending.word()).to_owned());
    for (plan, standing) in run.standings() {
        let word = match standing {
            Standing::Landed(_) => "landed".to_owned(),
            other => format!("{other:?}"),
        };
        lines.insert(format!("plan {plan}"), word);
    }
    for (id, review_loop) in &run_state.loops {
        lines.insert(
            format!("loop {id}"),
            format!("{:?} in round {}", review_loop.outcome(), review_loop.round()),
        );
        for (_, entry) in review_loop.ledger().iter() {
            let name = format!("finding of {id}: {}", entry.claim.claim);
            let fate = format!("{} {}", entry.severity, entry.fate.word());
            // Two findings with the same words are both kept.
            lines.entry(name).and_modify(|all| all.push_str(&format!(", {fate}"))).or_insert(fate);
        }
    }
}

/// A crash costs no attempt: those that were lost are the script's.
fn lost_attempts(stage: &Stage, run: &str, lines: &mut BTreeMap<String, String>) -> Res<()> {
    use tribunal_core::review_loop::LoopEvent;
    use tribunal_core::run::RunEvent;
    let reader = Reader::open(&stage.run_dir(run)).map_err(|error| error.to_string())?;
    let read = reader.each(1, |row| {
        let (effect, kind) = match Fact::decode(&row)? {
            Fact::Loop(_, LoopEvent::Failed { effect, failure }) => (effect, failure.kind),
            Fact::Run(RunEvent::Failed { effect, failure }) => (effect, failure.kind),
            _ => return Ok(()),
        };
        let effect = tribunal_core::effect::EffectId { launch: 0, ..effect };
        lines.insert(format!("lost attempt {effect}"), format!("{kind:?}"));
        Ok(())
    });
    read.map_err(|error: tribunal_engine::RunStateError| error.to_string())
}

/// Messages and trees of a branch, oldest first, and what its files are in the end.
fn of_branch(stage: &Stage, name: &str, at: &str, lines: &mut BTreeMap<String, String>) -> Res<()> {
    let log = stage.git(&["log", "--reverse", "--format=%B%x00%T%x00%x00", at])?;
    for (n, commit) in log.split("\0\0").map(str::trim).filter(|commit| !commit.is_empty()).enumerate() {
        let (message, tree) = commit.split_once('\0').unwrap_or((commit, ""));
        // Documents of a run hold commit ids and dates: their files are compared below.
        let own = message.lines().any(|line| line.starts_with("Tribunal-Run: "));
        let message: Vec<&str> = message.lines().filter(|line| !line.starts_with("Tribunal-Run: ")).collect();
        let tree = if own { "" } else { tree.trim() };
        lines.insert(format!("{name}, commit {n}"), format!("{} {tree}", message.join("|")));
    }
    for line in stage.git(&["-c", "core.quotePath=false", "ls-tree", "-r", at])?.lines() {
        let Some((entry, path)) = line.split_once('\t') else { continue };
        let text = || stage.git(&["show", &format!("{at}:{path}")]);
        let content = match path {
            path if path.ends_with("SUMMARY.md") => plain_summary(&text()?),
            path if path.ends_with("REVIEW.md") => plain_review(&text()?),
            path if is_record(path) => plain_record(&text()?),
            _ => entry.to_owned(),
        };
        lines.insert(format!("{name}, file {path}"), content);
    }
    Ok(())
}

/// The user's files as git sees them, and those it does not track.
fn of_worktree(stage: &Stage, lines: &mut BTreeMap<String, String>) -> Res<()> {
    let status = stage.git(&["-c", "core.quotePath=false", "status", "--porcelain", "-uall"])?;
    lines.insert("git status".to_owned(), status.clone());
    for path in status.lines().filter_map(|line| line.strip_prefix("?? ")) {
        let path = path.trim_matches('"');
        let bytes = std::fs::read(stage.project().join(path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let text = match path {
            path if path.ends_with("SUMMARY.md") => plain_summary(&text),
            path if path.ends_with("REVIEW.md") => plain_review(&text),
            path if is_record(path) => plain_record(&text),
            _ => text,
        };
        lines.insert(format!("untracked {path}"), text);
    }
    Ok(())
}

/// A SUMMARY without what differs from run to run.
fn plain_summary(text: &str) -> String {
    let hash = |word: &str| word.len() >= 7 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words = |line: &str| {
        let words = line
            .split(' ')
            .map(|word| if hash(word.trim_matches(['"', '[', ']', ',', '`'])) { "#" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    let lines = text.lines().filter(|line| !line.starts_with("completed:"));
    lines.map(words).collect::<Vec<_>>().join("\n")
}

/// A REVIEW without what differs from run to run: times, the run's name, and in which order lanes came to what.
fn plain_review(text: &str) -> String {
    let run = text.lines().find_map(|line| line.strip_prefix("- **Run**: ")).unwrap_or("no run");
    let text = text.replace(run, "RUN");
    let same = |line: &&str| !line.starts_with("- **Completed**") && !line.starts_with("- **As Of**");
    let mut lines: Vec<&str> = text.lines().filter(same).collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// What is kept of an artifact's reviews.
fn is_record(path: &str) -> bool {
    path.ends_with("/.meta.json") || path.ends_with("/.review-history.md")
}

/// A record without times and the run's name.
fn plain_record(text: &str) -> String {
    let stamp = |word: &str| {
        let bytes = word.trim_matches(['"', ',', '.']).as_bytes();
        let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
        bytes.len() >= 15 && digits(&bytes[..4]) && (bytes[4] == b'-' || digits(&bytes[4..8]))
    };
    let words = |line: &str| {
        line.split(' ').map(|word| if stamp(word) { "#" } else { word }).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}
