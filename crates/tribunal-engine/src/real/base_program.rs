//! Programs of the tree that judge: a reviewer or a tool whose command line names a file of the repository. Such a file is
//! taken from the base commit, from a checkout that nobody works in, while the judged tree stays the working directory.
//! Otherwise a builder could rewrite the program that judges its work.

use super::site::{Site, lock};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::judge_files::{called, modules, normal};
use tribunal_git::{GitError, Oid};

/// A word longer than this is a prompt, not a path.
const WORD_MAX: usize = 1024;
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

impl Site {
    /// Makes every word of a command line that names a file of the tree name that of the base. Returns the folder that has
    /// to be shown to the launch, if any word does. The error says why the judge cannot run.
    pub(crate) fn lead_to_base(
        &self,
        base: &Oid,
        tree: &Path,
        words: &mut [OsString],
    ) -> Result<Option<PathBuf>, String> {
        if !stands(Defence::BaseProgram) {
            return Ok(None);
        }
        let failed = |error: GitError| error.to_string();
        let listed = self.repo.list_tree(base).map_err(failed)?;
        let known: BTreeSet<String> = listed.iter().map(|entry| entry.path.to_string()).collect();
        let is_there = |path: &str| tree.join(path).symlink_metadata().is_ok_and(|meta| !meta.is_dir());
        self.no_code_by_name(words, &|path| known.contains(path) || is_there(path))?;
        let mut folder = None;
        for (n, word) in words.iter_mut().enumerate() {
            let Some(text) = word.to_str().filter(|text| text.len() <= WORD_MAX && !text.contains('\n'))
            else {
                continue;
            };
            let absolute = Path::new(text).is_absolute();
            // The first word without a slash is looked for on the PATH.
            if n == 0 && !text.contains('/') {
                continue;
            }
            let Some(path) = self.path_in(text, tree) else { continue };
            if known.contains(&path) {
                let folder = folder.get_or_insert(self.base_checkout(base).map_err(failed)?);
                *word = folder.join(&path).into_os_string();
            } else if !absolute && (n == 0 || is_there(&path)) {
                return Err(format!(
                    "{path} is not in {}, the commit that judging programs are taken from\nhint: commit it to the \
                     branch first; no change judges with a program that it brings itself",
                    base.short()
                ));
            }
        }
        Ok(folder)
    }

    /// A path of the tree that a word names.
    fn path_in(&self, word: &str, tree: &Path) -> Option<String> {
        let path = Path::new(word);
        let inside = |root: &Path| path.strip_prefix(root).ok().and_then(Path::to_str);
        match path.is_absolute() {
            true => normal("", inside(tree).or_else(|| inside(self.project.root()))?),
            false => normal("", word),
        }
    }

    /// Refuses code of the tree that is named in a way that cannot be led to the base: `python3 -m`, and a line for a shell.
    fn no_code_by_name(&self, words: &[OsString], is_known: &dyn Fn(&str) -> bool) -> Result<(), String> {
        let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut named = Vec::new();
        for at in 0..texts.len() {
            named.extend(modules(&texts[at..]));
            let is_shell = SHELLS.contains(&texts[at].rsplit('/').next().unwrap_or_default());
            let flag = texts.get(at + 1).is_some_and(|word| word.starts_with('-') && word.ends_with('c'));
            named.extend(
                texts.get(at + 2).filter(|_| is_shell && flag).into_iter().flat_map(|line| called(line)),
            );
        }
        match named.into_iter().find(|path| is_known(path)) {
            Some(path) => Err(format!(
                "{path} judges, and would be taken from what is judged\nhint: name the file as a word of its own"
            )),
            None => Ok(()),
        }
    }

    /// A checkout of the base that only judging programs are started from, made by the first who asks.
    fn base_checkout(&self, base: &Oid) -> Result<PathBuf, GitError> {
        let mut made = lock(&self.base_programs);
        let dir = self.dir.join("judges").join(base.short());
        let path = dir.join("tree");
        if made.insert(base.clone()) {
            // What an orchestrator left that died is made anew.
            self.shelf.discard(&dir)?;
            std::fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
            if let Err(error) = self.shelf.checkout(&path, &dir.join("index"), base, "judges") {
                made.remove(base);
                return Err(error);
            }
        }
        Ok(path)
    }
}
