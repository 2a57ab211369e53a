//! Named proofs: when a check asked whether a must-have holds, a reviewer's answer that names a proof closes the
//! question.
//!
//! The proof is looked up in the reviewed commit, or run there. An agent's word alone closes nothing, so a kind of
//! proof that cannot be verified here must not be added.

use crate::check::{Command, Commands};
use crate::context::base::fork;
use crate::context::{RunContext, lock};
use tribunal_core::checks::INTEGRITY;
use tribunal_core::effect::EffectId;
use tribunal_core::finding::{Answer, Said, Source};
use tribunal_core::ids::{Check, FindingId};
use tribunal_core::ledger::Entry;
use tribunal_core::review_loop::{Loop, LoopReport};
use tribunal_docs::qa::{ProofFacts, TestRun, named_proof};
use tribunal_findings::Change;
use tribunal_git::{GitPath, Oid};

/// Larger files are not accepted as a proof, in bytes.
const FILE_MAX: usize = 8 << 20;
/// At most this many bytes of such a file's diff are read.
const DIFF_MAX: usize = 4 << 20;
/// How far from a change a line may be and still count as part of it. Reviewers do not count lines exactly.
const NEAR: usize = 3;

/// The questions of checks that were put to a reviewer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Questions {
    /// Each question with the words of the must-have it is about.
    asked: Vec<(FindingId, String)>,
    /// Questions that the reviewer's own reason settles.
    judged: Vec<FindingId>,
    /// The plan's commands, which an answer may name as a proof.
    commands: Vec<Command>,
}

impl Questions {
    /// The questions that are open in a loop.
    pub(crate) fn of(review_loop: &Loop, commands: Vec<Command>) -> Questions {
        // What a change took from its tests is judged by the reviewer, and has no proof that could be looked up.
        let judged = |entry: &Entry| entry.by.contains(&Source::Check(Check::new(INTEGRITY)));
        let open = review_loop.ledger().open().filter(|(_, entry)| entry.claim.asks);
        let (judged, open): (Vec<_>, Vec<_>) = open.partition(|(_, entry)| judged(entry));
        let words = |rule: &Option<String>| {
            let rule = rule.as_deref().unwrap_or_default();
            rule.split_once(':').map_or(rule, |(_, words)| words).to_owned()
        };
        let asked = open.into_iter().map(|(id, entry)| (id, words(&entry.claim.rule))).collect();
        Questions { asked, judged: judged.into_iter().map(|(id, _)| id).collect(), commands }
    }

    /// Replaces each claimed proof in an answer by the verified proof, or by what is missing in it.
    pub(crate) fn looked_up(
        &self,
        context: &RunContext,
        effect: &EffectId,
        commit: &Oid,
        report: LoopReport,
    ) -> LoopReport {
        match report {
            LoopReport::Judged { answer, shown, put }
                if !self.asked.is_empty() || !self.judged.is_empty() =>
            {
                let answer = Box::new(self.answer(context, effect, commit, *answer));
                LoopReport::Judged { answer, shown, put }
            }
            report => report,
        }
    }

    fn answer(&self, context: &RunContext, effect: &EffectId, commit: &Oid, mut answer: Answer) -> Answer {
        let file = |path: &str| delivered(context, commit, path);
        let changed = |path: &str, line: Option<usize>| is_changed(context, commit, path, line);
        // Only tests that ran on exactly this commit can be named as a proof.
        let known = lock(&context.suites).get(commit).cloned();
        let tests = match &known {
            Some(TestRun::Ran(report)) => Some(report),
            _ => None,
        };
        let names: Vec<String> = self.commands.iter().map(|command| command.shown.clone()).collect();
        let passes = |name: &str| self.passes(context, effect, commit, name);
        let facts = ProofFacts { file: &file, changed: &changed, tests, commands: &names, passes: &passes };
        for (id, must_have) in &self.asked {
            // Only an answer that closes the question needs a proof; an objection stands by itself.
            if let Some(Said::NotAnIssue(why)) = answer.said.get(id) {
                let said = match named_proof(must_have, why, &facts) {
                    Ok(proof) => Said::Shown(proof),
                    Err(missing) => Said::NoProof(format!("{why} ({missing})")),
                };
                answer.said.insert(*id, said);
            }
        }
        for id in &self.judged {
            match answer.said.get(id) {
                Some(Said::NotAnIssue(why)) if !why.trim().is_empty() => {
                    let why = why.clone();
                    answer.said.insert(*id, Said::Shown(why));
                }
                Some(Said::StillThere) | None => {}
                // Nothing was changed since the check asked, so nothing can be resolved: it is asked for its reason once
                // more, as if it had left the question out.
                Some(_) => drop(answer.said.remove(id)),
            }
        }
        answer
    }

    /// Whether a command of the plan passes on exactly this commit. It is run if it has not passed there before.
    fn passes(&self, context: &RunContext, effect: &EffectId, commit: &Oid, name: &str) -> bool {
        if lock(&context.passed).contains(&(commit.clone(), name.to_owned())) {
            return true;
        }
        let Some(command) = self.commands.iter().find(|command| command.shown == name) else { return false };
        let ran = Commands {
            effect,
            end: ".proof",
            commands: std::slice::from_ref(command),
            judge: None,
            revision: None,
        }
        .run(context, commit);
        // A command that did not run proves nothing.
        matches!(ran, Ok(Ok(red)) if red.is_empty())
    }
}

/// The text of a delivered file. Planning documents are excluded: what a plan or a SUMMARY says is only a claim.
fn delivered(context: &RunContext, commit: &Oid, path: &str) -> Option<String> {
    let path = GitPath::from(tribunal_core::contract::clean(path)?.as_str());
    if path.is_under(&context.project.planning_path()) {
        return None;
    }
    let bytes = context.repo.file_at(commit, &path).ok()??;
    (bytes.len() <= FILE_MAX).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the delivery changed a file, at this line or near it.
fn is_changed(context: &RunContext, commit: &Oid, path: &str, line: Option<usize>) -> bool {
    let diff = || {
        let path = GitPath::from(tribunal_core::contract::clean(path)?.as_str());
        let base = fork(context, commit).ok()?;
        let diff = context.repo.diff_text(&base, commit, std::slice::from_ref(&path), DIFF_MAX).ok()?;
        Some(Change::from_unified(&String::from_utf8_lossy(&diff.bytes)))
    };
    let Some(change) = diff() else { return false };
    let holds = |start: u32, len: u32, line: usize| {
        let (start, len) = (start as usize, len as usize);
        line + NEAR >= start && line <= start + len + NEAR
    };
    change.files().iter().filter(|file| file.new.is_some()).any(|file| match line {
        None => true,
        Some(line) => file.hunks.iter().any(|hunk| holds(hunk.new_start, hunk.new_len, line)),
    })
}
