//! Keeps objects where nobody can prune them.
//!
//! The user may run `git gc --prune=now` at any moment, and git deletes whatever no ref leads to, including objects
//! that got a ref a moment ago: it had looked before. So Tribunal writes objects to a store of its own, which borrows
//! the user's. Before a ref is made, or a tree is handed out that borrows the user's store, everything it leads to is
//! put into the user's store as one pack with a `.keep` file beside it, which git never deletes.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use crate::{GitError, Oid, Repo};
use tribunal_process::lock;

/// How a `.keep` file of ours begins; the process that made it follows.
const KEEP: &str = "tribunal ";
/// How many commits that the user's store lacks are followed.
const LINE_MAX: usize = 10_000;

impl Repo {
    /// Makes sure that the user's store has everything these objects lead to, in packs that nobody prunes while we
    /// live.
    ///
    /// Call it before a ref is written and before a tree is handed to an agent. Afterwards the objects can be reached
    /// through the user's store alone.
    pub fn hold(&self, tips: &[Oid]) -> Result<(), GitError> {
        let mut wanted = Vec::new();
        for tip in tips {
            if !self.is_held(tip) {
                wanted.push(tip.clone());
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let (lines, commits) = self.lacking(&wanted)?;
        if !lines.is_empty() {
            self.pack(lines)?;
        }
        let mut held = lock(&self.inner.held);
        held.extend(wanted.into_iter().chain(commits));
        Ok(())
    }

    fn is_held(&self, oid: &Oid) -> bool {
        lock(&self.inner.held).contains(oid)
    }

    /// What to pack, as lines for `pack-objects --revs`, and the commits among it.
    ///
    /// A commit that the user's store has is there with everything it leads to: it is the user's own, or we put it
    /// there whole.
    fn lacking(&self, tips: &[Oid]) -> Result<(String, BTreeSet<Oid>), GitError> {
        let (mut lines, mut commits, mut there) = (String::new(), BTreeSet::new(), BTreeSet::new());
        let mut queue = Vec::new();
        for tip in tips {
            match self.object(tip.as_str().as_bytes())?.map(|object| object.kind) {
                Some(kind) if kind == "commit" => queue.push(tip.clone()),
                Some(_) => lines.push_str(&format!("{tip}\n")),
                None => return Err(GitError::NoSuch { what: format!("object {tip}") }),
            }
        }
        while let Some(commit) = queue.pop() {
            if self.is_held(&commit) || self.named(commit.as_str())?.is_some() {
                there.insert(commit);
            } else if commits.insert(commit.clone()) {
                queue.extend(self.parents_of(&commit)?);
            }
            // A limit against a history that never meets the user's.
            if commits.len() > LINE_MAX {
                return Err(GitError::odd("too many commits that the repository does not have"));
            }
        }
        commits.iter().for_each(|commit| lines.push_str(&format!("{commit}\n")));
        if !lines.is_empty() && !there.is_empty() {
            lines.push_str("--not\n");
            there.iter().for_each(|commit| lines.push_str(&format!("{commit}\n")));
        }
        Ok((lines, commits))
    }

    /// Packs objects and puts the pack into the user's store.
    ///
    /// The order matters. The `.keep` file comes first, so that a pack is never there unprotected, and the index comes
    /// last, because git takes a pack for complete once it has one.
    fn pack(&self, lines: String) -> Result<(), GitError> {
        let dir = self.inner.engine.join("held");
        std::fs::create_dir_all(&dir).map_err(GitError::io(&dir))?;
        let call = self.objects().args(["pack-objects", "-q", "--revs", "--non-empty", "--window=0"]);
        let said = call.arg(dir.join("pack")).input(lines).ok()?;
        self.place_packs(&dir, &said).map(drop)
    }

    /// Moves the packs that `pack-objects` named from a folder of ours to the user's store, and returns their names.
    fn place_packs(&self, dir: &Path, said: &[u8]) -> Result<Vec<String>, GitError> {
        let to = self.inner.objects.join("pack");
        std::fs::create_dir_all(&to).map_err(GitError::io(&to))?;
        let mut names = Vec::new();
        for name in said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let name = format!("pack-{}", String::from_utf8_lossy(name).trim());
            let keep = to.join(format!("{name}.keep"));
            match std::fs::write(&keep, format!("{KEEP}{}\n", crate::forward::own_process())) {
                // A file that we may not write belongs to somebody else, who keeps the pack already.
                Err(error) if error.kind() != ErrorKind::PermissionDenied => {
                    return Err(GitError::io(keep)(error));
                }
                _ => {}
            }
            for end in ["pack", "rev", "idx"] {
                let file = format!("{name}.{end}");
                place(&dir.join(&file), &to.join(&file)).map_err(GitError::io(to.join(&file)))?;
            }
            names.push(name);
        }
        Ok(names)
    }

    /// Lets go of the packs that this process, or a dead one, keeps: by now refs lead to whatever is needed of them.
    ///
    /// Many small packs become one, because the user's git starts to tidy up by itself when there are many.
    pub fn release(&self) -> Result<(), GitError> {
        let dir = self.inner.objects.join("pack");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".keep").filter(|_| name.starts_with("pack-")) else {
                continue;
            };
            let words = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let of = words.strip_prefix(KEEP).map(str::trim);
            // A `.keep` of a Tribunal that is alive stays, and so does one of the user's: it does not begin with our
            // mark.
            if of.is_some_and(|of| of == crate::forward::own_process() || crate::forward::is_dead(of)) {
                names.push(stem.to_owned());
            }
        }
        // If this fails the packs stay separate, and the user's own git merges them one day.
        let merged = if names.len() > 1 { self.merge_packs(&dir, &names) } else { Ok(Vec::new()) };
        names.extend(merged.as_ref().ok().into_iter().flatten().cloned());
        for name in &names {
            let _ = std::fs::remove_file(dir.join(format!("{name}.keep")));
        }
        lock(&self.inner.held).clear();
        // Loose objects that the user's packs have are not needed twice.
        self.objects().args(["prune-packed", "-q"]).run()?;
        self.drop_own_packs()?;
        merged.map(drop)
    }

    /// Removes packs of our own store when the user's store has everything in them.
    ///
    /// Git makes such packs when a builder left very many files.
    fn drop_own_packs(&self) -> Result<(), GitError> {
        let dir = self.inner.own_objects.join("pack");
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let index = entry.path();
            if index.extension().is_none_or(|end| end != "idx") {
                continue;
            }
            let bytes = std::fs::read(&index).map_err(GitError::io(&index))?;
            let listed = self.objects().arg("show-index").input(bytes).ok()?;
            // Each line is an offset in the pack, the object's name and a checksum.
            let names = String::from_utf8_lossy(&listed)
                .lines()
                .fold(String::new(), |names, line| names + line.split(' ').nth(1).unwrap_or_default() + "\n");
            let call = self.refs().args(["cat-file", "--batch-check=%(objectname)"]);
            if String::from_utf8_lossy(&call.input(names).ok()?).contains(" missing") {
                continue;
            }
            // The index goes first: without it nobody looks for the pack.
            for end in ["idx", "rev", "pack"] {
                let _ = std::fs::remove_file(index.with_extension(end));
            }
        }
        Ok(())
    }

    /// Makes one pack of several, removes those and returns its name. It may be one of them, if that one holds
    /// everything.
    ///
    /// The new pack is made elsewhere and is kept from its first moment on, like every pack of ours. A `git gc` that
    /// began while the old packs were kept leaves out what they hold, and deletes each pack that it saw unkept: with
    /// the new one among these, and the old ones removed here, nothing would be left.
    fn merge_packs(&self, dir: &Path, names: &[String]) -> Result<Vec<String>, GitError> {
        let held = self.inner.engine.join("held");
        std::fs::create_dir_all(&held).map_err(GitError::io(&held))?;
        let list: String = names.iter().map(|name| format!("{name}.pack\n")).collect();
        let call = self.refs().args(["pack-objects", "-q", "--stdin-packs", "--non-empty", "--window=0"]);
        let said = call.arg(held.join("pack")).input(list).ok()?;
        let made = self.place_packs(&held, &said)?;
        for name in names.iter().filter(|name| !made.contains(name)) {
            for end in ["idx", "rev", "pack"] {
                let _ = std::fs::remove_file(dir.join(format!("{name}.{end}")));
            }
        }
        Ok(made)
    }
}

/// Moves a file to its place if it exists. A file already there under that name has the same content.
fn place(from: &Path, to: &Path) -> std::io::Result<()> {
    let linked = match std::fs::hard_link(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(_) => copy(from, to),
        Ok(()) => Ok(()),
    };
    linked.and_then(|()| std::fs::remove_file(from))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let beside = to.with_file_name(crate::files::unique("tmp_tribunal"));
    std::fs::copy(from, &beside)?;
    std::fs::File::open(&beside)?.sync_all()?;
    std::fs::rename(&beside, to)
}
