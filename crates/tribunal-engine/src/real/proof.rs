//! Named proofs: where a check asked whether a must-have holds, an answer that names something which is there closes it.
//! Looked up in the commit that was judged; an agent's word alone closes nothing.

use super::site::{Site, lock};
use crate::gates::TestRun;
use tribunal_core::finding::{Answer, Said};
use tribunal_core::ids::FindingId;
use tribunal_core::r#loop::{Loop, LoopReport};
use tribunal_docs::qa::{ProofFacts, named_proof};
use tribunal_git::{GitPath, Oid};

/// Bytes of a file that is named as a proof, at most.
const FILE_MAX: usize = 8 << 20;

/// The questions of checks that were put to a seat.
#[derive(Clone, Debug, Default)]
pub(crate) struct Questions {
    ids: Vec<FindingId>,
    /// The plan's commands: they passed on every task before the delivery was judged.
    commands: Vec<String>,
}

impl Questions {
    /// Those that are open in a loop.
    pub(crate) fn of(lp: &Loop, commands: Vec<String>) -> Questions {
        let open = lp.ledger().open().filter(|(_, entry)| entry.claim.asks);
        Questions { ids: open.map(|(id, _)| id).collect(), commands }
    }

    /// The answer with each proof that it names and that is there.
    pub(crate) fn looked_up(&self, site: &Site, commit: &Oid, report: LoopReport) -> LoopReport {
        match report {
            LoopReport::Judged { answer, shown, put } if !self.ids.is_empty() => {
                let answer = Box::new(self.answer(site, commit, *answer));
                LoopReport::Judged { answer, shown, put }
            }
            report => report,
        }
    }

    fn answer(&self, site: &Site, commit: &Oid, mut answer: Answer) -> Answer {
        let planning = site.project.planning_path();
        let lines = |path: &str| {
            let path = GitPath::from(tribunal_core::contract::clean(path)?.as_str());
            // What a plan or a SUMMARY says is a claim.
            let bytes = site.repo.file_at(commit, &path).ok()?.filter(|_| !path.is_under(&planning))?;
            (bytes.len() <= FILE_MAX).then(|| String::from_utf8_lossy(&bytes).lines().count())
        };
        let known = lock(&site.suites).get(commit).cloned();
        let tests = match &known {
            Some(TestRun::Ran(report)) => Some(report),
            _ => None,
        };
        let facts = ProofFacts { lines: &lines, tests, commands: &self.commands };
        for id in &self.ids {
            if let Some(Said::NotAnIssue(why)) = answer.said.get(id)
                && let Some(proof) = named_proof(why, &facts)
            {
                answer.said.insert(*id, Said::Shown(proof));
            }
        }
        answer
    }
}
