//! Git processes that live as long as the repository is open and answer one question after the other.
//!
//! They exist because starting a process costs more than most answers. When anything goes wrong with one, it is dropped
//! and the question is asked again in a process of its own, so a session never decides whether something works. None of
//! them holds a lock between two questions.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::Mutex;

use rustix::fs::MemfdFlags;

use crate::diff::{PATCH, SAFE};
use crate::run::{Call, Session};
use crate::{GitError, Oid, Repo};
use tribunal_process::lock;

/// Larger objects are handed to a process of their own.
const OBJECT_MAX: usize = 1 << 20;

/// The long-lived processes. Each is started when it is first needed.
#[derive(Default)]
pub(crate) struct Sessions {
    /// `cat-file --batch-check`, which says where refs are.
    names: Mutex<Option<Session>>,
    /// `update-ref --stdin`, which moves refs.
    mover: Mutex<Option<Session>>,
    /// `hash-object` for blobs; each kind of object needs a process of its own.
    blobs: Mutex<Option<Session>>,
    /// `hash-object` for commits.
    commits: Mutex<Option<Session>>,
    /// `hash-object` for trees.
    trees: Mutex<Option<Session>>,
    /// `diff-tree --stdin`, which compares trees.
    patches: Mutex<Option<Session>>,
}

/// Talks with the process in a slot. It is kept only when all went well: otherwise nobody knows what it says next.
fn talk<T>(
    slot: &Mutex<Option<Session>>,
    open: impl FnOnce() -> Call,
    talk: impl FnOnce(&mut Session) -> Result<T, GitError>,
) -> Result<T, GitError> {
    let mut slot = lock(slot);
    let mut session = slot.take().map_or_else(|| open().session(), Ok)?;
    let answer = talk(&mut session)?;
    *slot = Some(session);
    Ok(answer)
}

impl Repo {
    /// The object a name without newline stands for in the user's git directory, if there is one.
    pub(crate) fn named(&self, name: &str) -> Result<Option<Oid>, GitError> {
        if name.contains('\n') {
            return Err(GitError::odd("a name with a newline"));
        }
        let open = || self.refs().args(["cat-file", "--batch-check=%(objectname)"]);
        talk(&self.inner.sessions.names, open, |session| {
            session.send(format!("{name}\n").as_bytes())?;
            let line = session.line()?;
            // Git answers on the same line whether it found something or not.
            if line.ends_with(b" missing") || line.ends_with(b" ambiguous") {
                return Ok(None);
            }
            Oid::from_bytes(&line).map(Some)
        })
    }

    /// Moves refs in one transaction, given as lines for `update-ref --stdin -z`.
    ///
    /// An error says nothing about where the refs are now. The caller has to look.
    pub(crate) fn move_refs(&self, lines: &[u8]) -> Result<(), GitError> {
        let open = || self.refs().args(["update-ref", "--no-deref", "-m", "tribunal", "--stdin", "-z"]);
        talk(&self.inner.sessions.mover, open, |session| {
            // All commands go at once, and the answers are read afterwards, so the locks are held only briefly.
            session.send(&[b"start\0", lines, b"prepare\0commit\0"].concat())?;
            for answer in ["start: ok", "prepare: ok", "commit: ok"] {
                let line = session.line()?;
                if line != answer.as_bytes() {
                    return Err(GitError::odd(format!("update-ref said {}", line.escape_ascii())));
                }
            }
            Ok(())
        })
    }

    /// The difference of two commits or trees as a patch of at most `cap` bytes.
    ///
    /// Git echoes an input line that it does not understand, which tells where the patch ends: no line inside a patch
    /// can begin like that.
    pub(crate) fn patch(&self, from: &Oid, to: &Oid, cap: usize) -> Result<Vec<u8>, GitError> {
        const LAST: &str = "end of patch";
        let asked = format!("{} {}\n", self.peeled(from)?, self.peeled(to)?);
        let open = || self.objects().args(PATCH).arg("--stdin").args(SAFE);
        talk(&self.inner.sessions.patches, open, |session| {
            session.send(format!("{asked}{LAST}\n").as_bytes())?;
            let answer = session.until(LAST, asked.len().saturating_add(cap))?;
            // Git repeats the two ids before the patch, which proves that this is the answer to our question.
            let patch = answer.strip_prefix(asked.as_bytes());
            patch.map(<[u8]>::to_vec).ok_or_else(|| GitError::odd("diff-tree answered another question"))
        })
    }

    /// Stores an object; `None` when it has to be done in a process of its own.
    pub(crate) fn store(&self, kind: &str, bytes: &[u8]) -> Option<Oid> {
        let slot = match kind {
            "blob" => &self.inner.sessions.blobs,
            "commit" => &self.inner.sessions.commits,
            "tree" => &self.inner.sessions.trees,
            _ => return None,
        };
        if bytes.len() > OBJECT_MAX {
            return None;
        }
        // The bytes are held in memory, because otherwise a file would be made and deleted for every object.
        let paper = rustix::fs::memfd_create("object", MemfdFlags::CLOEXEC).ok().map(std::fs::File::from)?;
        (&paper).write_all(bytes).ok()?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), paper.as_raw_fd());
        // `--no-filters`: the bytes are stored as they are, whatever attributes would apply to a file.
        let open = || self.objects().args(["hash-object", "-w", "--no-filters", "--stdin-paths", "-t", kind]);
        let stored = talk(slot, open, |session| {
            session.send(format!("{path}\n").as_bytes())?;
            Oid::from_bytes(&session.line()?)
        });
        stored.ok()
    }
}
