//! What one launch of a reviewer is shown: its part of the change, and the findings put to it that lie there.
//!
//! What was shown is recorded before the launch. After a crash, an answer can then still be held against what the
//! reviewer really saw, instead of against the change as it is cut now.

use crate::context::{RunContext, slug};
use crate::write_atomic;
use serde::{Deserialize, Serialize};
use tribunal_core::cover::{Shown, asked, may_be_shown};
use tribunal_core::effect::EffectId;
use tribunal_core::finding::Answer;
use tribunal_core::ids::FindingId;
use tribunal_core::policy::Policy;
use tribunal_core::review_loop::{Loop, LoopReport};
use tribunal_git::GitError;
use tribunal_view::parts::{self, Hunks, PART_MAX, Parts, Showing, of_diff, of_document};

/// At most this many bytes of a diff are read. Of a longer one nobody is shown everything.
pub(crate) const READ_MAX: usize = 64 << 20;

/// A finding put to a reviewer, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    pub(crate) id: FindingId,
    file: Option<String>,
    line: Option<u32>,
}

impl Put {
    /// Looks findings up in the loop's ledger.
    pub(crate) fn of(review_loop: &Loop, ids: &[FindingId]) -> Vec<Put> {
        let one = |id: &FindingId| {
            let claim = &review_loop.ledger().get(*id)?.claim;
            Some(Put { id: *id, file: claim.file.clone(), line: claim.line })
        };
        ids.iter().filter_map(one).collect()
    }

    /// The file and the line that the finding is about.
    pub(crate) fn place(&self) -> (Option<&str>, Option<u32>) {
        (self.file.as_deref(), self.line)
    }
}

/// What is judged, cut into parts.
///
/// A change that does not fit into one prompt is reviewed in several launches. `Shown` records how much of it was seen,
/// so that an approval never claims more.
pub(crate) struct Material {
    cut: Parts,
    /// There is more of it than could be read.
    more: bool,
    /// How many hunks are left out because the reviewer was shown them before.
    before: u32,
}

/// What one launch was told. Its answer is about exactly this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) shown: Shown,
    pub(crate) put: Vec<FindingId>,
}

impl Told {
    /// The report that the launch's answer amounts to.
    pub(crate) fn judged(&self, answer: Answer) -> LoopReport {
        LoopReport::Judged { answer: Box::new(answer), shown: self.shown, put: self.put.clone() }
    }
}

impl Material {
    /// The material of a change.
    pub(crate) fn diff(diff: &str, more: bool) -> Material {
        Material { cut: of_diff(diff, PART_MAX), more, before: 0 }
    }

    /// The material of a change, without what the reviewer was shown before.
    pub(crate) fn rest(diff: &str, more: bool, shown: &Hunks) -> Material {
        let (rest, before) = parts::rest(diff, shown);
        Material { before, ..Material::diff(&rest, more) }
    }

    /// How much was shown before, if that is everything; `None` if something is left.
    pub(crate) fn all_shown(&self) -> Option<Shown> {
        // `more` rules it out: nobody knows what is in the part that could not be read.
        (self.cut.hunks == 0 && !self.more && self.before > 0).then(|| Shown::whole(self.before))
    }

    /// How much was shown before, if the rest needs more parts than may be asked about. Only asked before the first
    /// part.
    pub(crate) fn too_large(&self, part: u32, policy: &Policy) -> Option<Shown> {
        let shown = self.shown(0);
        (part == 0 && !may_be_shown(policy, shown)).then_some(Shown { hunks: self.before, ..shown })
    }

    /// The material of a document that is judged whole.
    pub(crate) fn document(text: &str) -> Material {
        Material { cut: of_document(text, PART_MAX), more: false, before: 0 }
    }

    /// The text of a part; none if there are not so many parts.
    pub(crate) fn text(&self, part: u32) -> Option<&str> {
        Some(&self.cut.parts.get(part as usize)?.text)
    }

    /// The part that shows a place, otherwise the first.
    pub(crate) fn holding(&self, file: Option<&str>, line: Option<u32>) -> &str {
        let at = file.and_then(|file| self.cut.holding(file, line)).unwrap_or(0);
        self.cut.parts.get(at).map_or("", |part| part.text.as_str())
    }

    fn shown(&self, part: u32) -> Shown {
        let done = self.cut.parts.get(part as usize).map_or(0, |part| part.done);
        let parts = u32::try_from(self.cut.parts.len()).unwrap_or(u32::MAX);
        let before = self.before;
        // Whatever could not be read is at least one hunk, so the count is never complete.
        let of = before + self.cut.hunks + u32::from(self.more);
        Shown { parts, hunks: before + done, of, binary: self.cut.binary }
    }

    /// What a launch on this part is told: the findings that lie in it. The last part also gets all findings that are
    /// left.
    pub(crate) fn told(&self, part: u32, put: &[Put], policy: &Policy) -> Told {
        let shown = self.shown(part);
        // Findings outside of the diff belong to no part, so the last one gets whatever is left.
        let last = part + 1 >= asked(policy, shown);
        let place = |put: &Put| match &put.file {
            // A finding without a file is put to the first part.
            None => Some(0),
            Some(file) => self.cut.holding(file, put.line),
        };
        let here = |put: &&Put| last || place(put) == Some(part as usize);
        Told { shown, put: put.iter().filter(here).map(|put| put.id).collect() }
    }

    /// The same in words for the prompt.
    pub(crate) fn showing(&self, part: u32, policy: &Policy) -> Showing {
        let shown = self.shown(part);
        Showing {
            part: part + 1,
            parts: shown.parts,
            asked: asked(policy, shown),
            done: shown.hunks,
            hunks: shown.of,
            before: self.before,
            binary: shown.binary,
        }
    }
}

impl RunContext {
    fn told_path(&self, effect: &EffectId) -> std::path::PathBuf {
        self.dir.join("shown").join(format!("{}.json", slug(&effect.to_string())))
    }

    /// Records what a launch is told, before it begins.
    pub(crate) fn note_told(&self, effect: &EffectId, told: &Told) -> Result<(), GitError> {
        let path = self.told_path(effect);
        let text = serde_json::to_vec(told).unwrap_or_default();
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| write_atomic(&path, &text)).map_err(|source| GitError::Io { path, source })
    }

    /// What a launch was told; none if that is not known.
    pub(crate) fn told_to(&self, effect: &EffectId) -> Option<Told> {
        serde_json::from_slice(&std::fs::read(self.told_path(effect)).ok()?).ok()
    }
}
