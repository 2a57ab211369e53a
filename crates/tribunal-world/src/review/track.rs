//! Tracking: matches what this review round raised with the findings in the ledger, over the files as they were and as
//! they are.
//!
//! This file reads git for the pure tracker in `tribunal-findings`; the matching itself is done there. It also records,
//! for people, where new findings came from and which part of a fix settled an old one.

use super::origin::Past;
use crate::build::routing::Routing;
use crate::context::RunContext;
use crate::context::base::Base;
use crate::context::subject;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::EffectId;
use tribunal_core::finding::{Fate, Said, Source, Verdict};
use tribunal_core::ids::{Check, FindingId, LoopId, Reviewer, Revision};
use tribunal_core::ledger::{Ledger, Tracked};
use tribunal_core::panel::{CheckState, ReviewRound};
use tribunal_core::review_loop::{Failure, FailureKind, Loop, LoopReport};
use tribunal_core::run::Subject;
use tribunal_engine::run_state::{Note, RunState};
use tribunal_engine::world::Report;
use tribunal_findings::excerpt::{excerpt, hunks};
use tribunal_findings::track::{Block, Change, Input, Outcome, Side, ToolWords, track};
use tribunal_findings::{Excerpt, Panel, Raised, triage};
use tribunal_git::{GitError, GitPath, Oid};
use tribunal_view::provenance::Provenance;

/// At most this many bytes of diff are read for tracking.
const DIFF_CAP: usize = 64 << 20;
/// At most this many bytes of one file's patch are read for people.
const PATCH_CAP: usize = 1 << 20;

/// What one tracking needs, gathered from the run state.
pub(crate) struct Tracking {
    effect: EffectId,
    subject: Subject,
    begins: Base,
    path: Option<String>,
    round: u32,
    ledger: Ledger,
    review_round: ReviewRound,
    judged: Vec<Revision>,
    tracked: Option<Revision>,
    architect: bool,
    routing: Option<Routing>,
    tools: ToolWords,
}

impl Tracking {
    /// Gathers what is needed from the run state.
    pub(crate) fn gather(
        context: &RunContext,
        effect: &EffectId,
        review_loop: &Loop,
        path: Option<String>,
        run_state: &RunState,
    ) -> Option<Tracking> {
        let subject = subject::of(review_loop.id())?;
        Some(Tracking {
            routing: Routing::of(context, review_loop, run_state),
            tools: tool_words(review_loop, run_state),
            effect: effect.clone(),
            begins: Base::of(&subject, run_state),
            subject,
            path,
            round: review_loop.round(),
            ledger: review_loop.ledger().clone(),
            review_round: review_loop.review_round()?.clone(),
            judged: review_loop.judged().to_vec(),
            tracked: review_loop.tracked().cloned(),
            // The builder of an artifact is its architect.
            architect: ["architect", "executor"].contains(&review_loop.policy().builder.as_str()),
        })
    }

    /// Tracks and reports, on a worker.
    pub(crate) fn run(self, context: &RunContext) {
        match self.track(context) {
            Ok((outcome, notes)) => {
                let report = LoopReport::Tracked { findings: outcome.tracked, delta: outcome.delta };
                context.report(&self.effect, Report::Loop(report), notes);
            }
            Err(error) => {
                context.fail(&self.effect, Failure::new(FailureKind::Crashed, error.to_string()), Vec::new());
            }
        }
    }

    /// Reads the changes between the judged revisions and runs the tracker over them.
    fn track(&self, context: &RunContext) -> Result<(Outcome, Vec<Note>), GitError> {
        let triaged = triage(self.raised(), &self.panel());
        let said = self.said();
        // A check that did not run settles none of its findings, even where its absence stops nothing.
        let ran = self.review_round.checks.iter().filter(|(_, state)| **state != CheckState::DidNotRun);
        let ran: BTreeSet<Check> = ran.map(|(check, _)| check.clone()).collect();
        let pairs = self.pairs();
        let changes =
            pairs.iter().map(|(from, to)| self.change(context, from, to)).collect::<Result<Vec<_>, _>>()?;
        let removed = self.removed(context, &pairs, &changes);
        let now = &self.review_round.revision;
        // A round that is tracked twice, or that judges an argument, has the same revision on both sides: lines stay
        // where they are.
        let before = self.tracked.as_ref().unwrap_or(now);
        let change = self.change(context, before, now)?;
        let same = Change::default();
        let read = |side: Side, path: &str| {
            self.file(context, if side == Side::Before { before } else { now }, path)
        };
        let mut outcome = track(&Input {
            round: self.round,
            // A provisional id: the engine gives new findings their final ones when the report arrives.
            next_id: FindingId(tribunal_engine::engine::PROVISIONAL),
            ledger: &self.ledger,
            triaged: &triaged,
            said: &said,
            ran: &ran,
            change: &change,
            fix: changes.last().unwrap_or(&same),
            removed: &removed,
            read: &read,
            architect: self.architect,
            tools: &self.tools,
        });
        if let Some(routing) = &self.routing {
            routing.route(&mut outcome.tracked, &self.ledger);
        }
        let mut notes = self.traced(context, &outcome, &changes)?;
        notes.extend(self.unconfirmed(&outcome));
        Ok((outcome, notes))
    }

    /// The lines that the fixes before the last one removed.
    ///
    /// A fix that brings such lines back is one of two fixes that undo each other, and the finding becomes contested.
    fn removed(
        &self,
        context: &RunContext,
        pairs: &[(Revision, Revision)],
        changes: &[Change],
    ) -> Vec<Block> {
        let mut removed: Vec<Block> = Vec::new();
        // The tracker runs on an empty ledger here: only what each fix removed is of interest.
        let (empty, nothing, none) = (Ledger::default(), BTreeMap::new(), BTreeSet::new());
        for ((from, to), change) in pairs.iter().zip(changes).take(pairs.len().saturating_sub(1)) {
            let read = |side: Side, path: &str| {
                self.file(context, if side == Side::Before { from } else { to }, path)
            };
            let earlier = track(&Input {
                round: self.round,
                next_id: FindingId(tribunal_engine::engine::PROVISIONAL),
                ledger: &empty,
                triaged: &[],
                said: &nothing,
                ran: &none,
                change,
                fix: change,
                removed: &removed,
                read: &read,
                architect: self.architect,
                tools: &self.tools,
            });
            removed.extend(earlier.removed);
        }
        removed
    }

    /// A warning about findings that their tools no longer report but that stay open, because nothing but the layout
    /// changed.
    fn unconfirmed(&self, outcome: &Outcome) -> Option<Note> {
        let silent = |source: &Source| {
            let failed = |check: &Check| self.review_round.failures().any(|(failed, _)| failed == check);
            matches!(source, Source::Check(check) if self.tools.names.contains(check) && !failed(check))
        };
        let open = outcome.tracked.iter().filter(|one| one.fate == Fate::Open && one.by.iter().all(silent));
        let ids: Vec<String> = open.map(|one| one.id.to_string()).collect();
        (!ids.is_empty()).then(|| {
            let text =
                "its tool no longer says it, but its lines are as they were, or were only laid out anew";
            Note::Warning(format!("not confirmed as fixed: {}: {text}", ids.join(", ")))
        })
    }

    /// Records where new findings came from, and which part of the fix settled old ones. No note if there is neither.
    fn traced(
        &self,
        context: &RunContext,
        outcome: &Outcome,
        fixes: &[Change],
    ) -> Result<Vec<Note>, GitError> {
        let origins = self.origins(context, outcome, fixes)?;
        let mut fixed = self.fixed(context, outcome);
        // An empty list stands for "nothing was settled", without an entry for each finding.
        if fixed.iter().all(Option::is_none) {
            fixed.clear();
        }
        if origins.is_empty() && fixed.is_empty() {
            return Ok(Vec::new());
        }
        let code = if origins.is_empty() { Vec::new() } else { self.code(context, outcome) };
        let origins = if origins.is_empty() { vec![None; outcome.tracked.len()] } else { origins };
        Ok(vec![Note::Traced { of: LoopId::new(self.effect.of.as_str()), origins, code, fixed }])
    }

    /// The code that each new finding is about, recorded so that no page has to read git.
    fn code(&self, context: &RunContext, outcome: &Outcome) -> Vec<Option<Excerpt>> {
        let mut files: BTreeMap<&str, Option<String>> = BTreeMap::new();
        let mut code = Vec::new();
        for tracked in &outcome.tracked {
            let (file, line) = (tracked.claim.file.as_deref(), tracked.claim.line);
            code.push(match (file, line) {
                (Some(file), Some(line)) if is_new(tracked) => {
                    let text = files
                        .entry(file)
                        .or_insert_with(|| self.file(context, &self.review_round.revision, file));
                    let end = tracked.claim.end.unwrap_or(line);
                    text.as_deref().and_then(|text| excerpt(text, line, end))
                }
                _ => None,
            });
        }
        code
    }

    /// For each finding that the last fix settled, the part of the fix that did it. It is only for people, so whatever
    /// git cannot tell is left out.
    fn fixed(&self, context: &RunContext, outcome: &Outcome) -> Vec<Option<String>> {
        let mut patches: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut one = |tracked: &Tracked| -> Option<String> {
            let entry = self.ledger.get(tracked.id)?;
            // A finding that was settled earlier has its part of that fix already.
            if tracked.fate != Fate::Fixed || entry.fate == Fate::Fixed {
                return None;
            }
            let file = entry.claim.file.clone()?;
            let patch = patches.entry(file.clone()).or_insert_with(|| self.patch(context, &file));
            Some(hunks(patch.as_deref()?, entry.claim.line)).filter(|text| !text.is_empty())
        };
        outcome.tracked.iter().map(&mut one).collect()
    }

    /// What the last fix changed in a file.
    fn patch(&self, context: &RunContext, file: &str) -> Option<String> {
        let (from, to) = self.pairs().pop()?;
        let (from, to) = (context.commit_of(&from).ok()?, context.commit_of(&to).ok()?);
        let bytes = match self.subject {
            Subject::Plan(_) => context.repo.diff_blobs(&from, &to, PATCH_CAP).ok()?,
            Subject::Lane(..) | Subject::Phase | Subject::Polish | Subject::Chain => {
                context.repo.diff_text(&from, &to, &[GitPath::from(file)], PATCH_CAP).ok()?.bytes
            }
        };
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Where each new finding came from; empty if nothing is new.
    fn origins(
        &self,
        context: &RunContext,
        outcome: &Outcome,
        fixes: &[Change],
    ) -> Result<Vec<Option<Provenance>>, GitError> {
        if !outcome.tracked.iter().any(is_new) {
            return Ok(Vec::new());
        }
        // A plan is a document without a commit before it, so its lines are followed through the fixes only.
        let first = match (&self.subject, self.judged.first()) {
            (Subject::Lane(..) | Subject::Phase | Subject::Polish | Subject::Chain, Some(first)) => {
                self.beginning(context, first)?
            }
            _ => None,
        };
        let past = Past { fixes, first: first.as_ref() };
        let mut long: BTreeMap<String, Option<u32>> = BTreeMap::new();
        let mut lines = |file: &str| {
            *long.entry(file.to_owned()).or_insert_with(|| {
                let text = self.file(context, &self.review_round.revision, file)?;
                u32::try_from(text.lines().count()).ok()
            })
        };
        let mut origin = |tracked: &Tracked| -> Option<Provenance> {
            let claim = &tracked.claim;
            match (claim.file.as_deref(), claim.line) {
                // A line beyond the end of the file cannot be followed.
                (Some(file), Some(line)) if line <= lines(file)? => {
                    Some(past.origin(file, line, claim.end.unwrap_or(line)))
                }
                // A finding without lines to follow is as old as the round that raised it first.
                _ if fixes.is_empty() => Some(Provenance::Original),
                _ => None,
            }
        };
        Ok(outcome.tracked.iter().map(|one| if is_new(one) { origin(one) } else { None }).collect())
    }

    /// The change from the beginning of the work to its first judged version.
    fn beginning(&self, context: &RunContext, first: &Revision) -> Result<Option<Change>, GitError> {
        let commit = context.commit_of(first)?;
        let from = match self.subject {
            Subject::Lane(..) => Some(self.begins.commit(context, &commit)?),
            _ => context.repo.parents_of(&commit)?.into_iter().next(),
        };
        let Some(from) = from else { return Ok(None) };
        let diff = context.repo.diff_text(&from, &commit, &[], DIFF_CAP)?;
        Ok(Some(read_diff(&diff.bytes)))
    }

    /// Everything that checks and reviewers raised in this round.
    fn raised(&self) -> Vec<Raised> {
        let checks = self.review_round.failures().flat_map(|(check, claims)| {
            claims.iter().map(move |claim| (Source::Check(check.clone()), claim.clone()))
        });
        let reviewers = self.review_round.voices().flat_map(|(reviewer, answer)| {
            answer.raised.iter().map(move |claim| (Source::Reviewer(reviewer.clone()), claim.clone()))
        });
        checks.chain(reviewers).map(|(source, claim)| Raised { source, claim }).collect()
    }

    fn panel(&self) -> Panel {
        let rejecting = self.review_round.voices().filter(|(_, answer)| answer.verdict == Verdict::Reject);
        let mut panel = Panel {
            owners: BTreeMap::new(),
            sat: self.review_round.answers().map(|(reviewer, _)| reviewer.clone()).collect(),
            rejecting: rejecting.map(|(reviewer, _)| reviewer.clone()).collect(),
            include_filtered: false,
        };
        if let Some(routing) = &self.routing {
            routing.authority(&mut panel);
        }
        panel
    }

    /// What each reviewer said about the findings that were put to it.
    fn said(&self) -> BTreeMap<Reviewer, BTreeMap<FindingId, Said>> {
        // A reviewer without an answer has said nothing about its findings. That is not a reason to drop them.
        let silent = self.review_round.reviewers.keys().map(|reviewer| (reviewer.clone(), BTreeMap::new()));
        let spoke =
            self.review_round.voices().map(|(reviewer, answer)| (reviewer.clone(), answer.said.clone()));
        silent.chain(spoke).collect()
    }

    /// Judged revisions, each with the one before it.
    fn pairs(&self) -> Vec<(Revision, Revision)> {
        self.judged.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
    }

    fn change(&self, context: &RunContext, from: &Revision, to: &Revision) -> Result<Change, GitError> {
        if from == to {
            return Ok(Change::default());
        }
        let (from, to) = (context.commit_of(from)?, context.commit_of(to)?);
        let diff = match self.subject {
            Subject::Plan(_) => return self.document_change(context, &from, &to),
            Subject::Lane(..) | Subject::Phase | Subject::Polish | Subject::Chain => {
                context.repo.diff_text(&from, &to, &[], DIFF_CAP)?
            }
        };
        Ok(read_diff(&diff.bytes))
    }

    /// The change of a plan's document, under the document's path.
    fn document_change(&self, context: &RunContext, from: &Oid, to: &Oid) -> Result<Change, GitError> {
        let diff = context.repo.diff_blobs(from, to, DIFF_CAP)?;
        let path = self.path.as_deref().unwrap_or("PLAN.md");
        let text = String::from_utf8_lossy(&diff).into_owned();
        // Git names blobs in such a diff. The tracker needs the document's path to match findings by file.
        let named = text.lines().map(|line| match line {
            line if line.starts_with("diff --git ") => format!("diff --git a/{path} b/{path}"),
            line if line.starts_with("--- ") => format!("--- a/{path}"),
            line if line.starts_with("+++ ") => format!("+++ b/{path}"),
            line => line.to_owned(),
        });
        Ok(read_diff(named.collect::<Vec<_>>().join("\n").as_bytes()))
    }

    fn file(&self, context: &RunContext, revision: &Revision, path: &str) -> Option<String> {
        let at = context.commit_of(revision).ok()?;
        let bytes = match self.subject {
            Subject::Plan(_) => context.repo.read_blob(&at).ok()?,
            Subject::Lane(..) | Subject::Phase | Subject::Polish | Subject::Chain => {
                context.repo.file_at(&at, &GitPath::from(path)).ok()??
            }
        };
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Which checks of a loop are tools, and what they say beside the change.
fn tool_words(review_loop: &Loop, run_state: &RunState) -> ToolWords {
    let tools = run_state.tools().iter();
    let filtered = run_state.filtered.values().filter(|filtered| filtered.of == *review_loop.id());
    ToolWords {
        names: tools.map(|tool| Check::new(&tool.name)).collect(),
        filtered: filtered.flat_map(|filtered| filtered.claims.iter().cloned()).collect(),
    }
}

/// Whether a finding has no final id yet.
fn is_new(tracked: &Tracked) -> bool {
    tracked.id.0 >= tribunal_engine::engine::PROVISIONAL
}

fn read_diff(bytes: &[u8]) -> Change {
    Change::from_unified(&String::from_utf8_lossy(bytes))
}
