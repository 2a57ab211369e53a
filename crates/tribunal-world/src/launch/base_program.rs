//! Programs of the repository that judge: a reviewer or a tool whose command line names a file of the tree.
//!
//! Such a file is taken from the base commit, from a checkout in which nobody works, while the judged tree stays the
//! working directory. Otherwise a builder could rewrite the program that judges its work.

use crate::context::{RunContext, lock};
use crate::sandbox::BORROWED;
use crate::tests_run::base_judge::{JudgingCommand, orders_of};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::judge_files::{Named, called, modules, normal};
use tribunal_core::search_path;
use tribunal_git::{GitError, GitPath, Oid};

/// A longer word is a prompt and not a path.
const WORD_MAX: usize = 1024;
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// What a judging program looks at, and where the program itself comes from.
#[derive(Clone, Copy)]
pub(crate) struct Judged<'a> {
    /// The commit from which judging programs are taken.
    pub(crate) base: &'a Oid,
    /// The commit that is judged.
    pub(crate) commit: &'a Oid,
    /// The checkout of that commit, in which the judge works.
    pub(crate) tree: &'a Path,
}

impl RunContext {
    /// The search path of a judging launch, without entries that lead to the judged files.
    ///
    /// An entry such as `node_modules/.bin` would let the change replace any program by its name.
    pub(crate) fn plain_path(&self, path: &OsStr, tree: &Path) -> OsString {
        if !stands(Defence::PlainPath) {
            return path.to_owned();
        }
        let roots = [self.project.root(), tree];
        let plain = |entries: Vec<PathBuf>| search_path::plain(entries.into_iter(), &roots, &BORROWED);
        // An entry outside can be a link to the inside.
        let is_plain = |entry: &PathBuf| entry.canonicalize().is_ok_and(|real| !plain(vec![real]).is_empty());
        let left = plain(std::env::split_paths(path).collect()).into_iter().filter(is_plain);
        // Every entry came from a search path, so joining cannot fail for its characters.
        std::env::join_paths(left).unwrap_or_default()
    }

    /// Refuses a judge that takes its orders from files which the change also changes: `make judge` with another
    /// Makefile, a script that includes another file.
    ///
    /// Words that name files of the tree are no problem: `lead_to_base` replaces them.
    pub(crate) fn takes_orders_elsewhere(
        &self,
        judged: Judged<'_>,
        words: &[OsString],
    ) -> Result<(), String> {
        if !stands(Defence::BaseOrders) {
            return Ok(());
        }
        // A prompt among the words may name any file of the tree, without taking orders from it.
        let step = plain_words(words);
        let shown = step.join(" ");
        let own: BTreeSet<String> = step.iter().filter_map(|word| self.path_in(word, judged.tree)).collect();
        let command = JudgingCommand { steps: vec![step], named: Named::Judge };
        let orders =
            orders_of(self, judged.base, judged.commit, &command).map_err(|error| error.to_string())?;
        // Files named by a word of their own are taken from the base, so the change has no say in them.
        let orders: Vec<String> = orders.into_iter().filter(|path| !own.contains(path)).collect();
        let Some(first) = orders.first() else { return Ok(()) };
        let more = match orders.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        Err(format!(
            "`{shown}` takes its orders from {first}{more}, which this change also changes\nhint: look at the change \
             yourself and decide; a judge whose program lies outside of the repository, or is one file of it, judges such a \
             change as well"
        ))
    }

    /// Replaces every word of a command line that names a file of the tree by the base's version of that file.
    ///
    /// Returns the folder that the launch has to see, if a word was replaced. The error says why the judge cannot run:
    /// it would be a program that the change brings itself.
    pub(crate) fn lead_to_base(
        &self,
        Judged { base, commit, tree }: Judged<'_>,
        words: &mut [OsString],
    ) -> Result<Option<PathBuf>, String> {
        if !stands(Defence::BaseProgram) {
            return Ok(None);
        }
        let failed = |error: GitError| error.to_string();
        let listed = self.repo.list_tree(base).map_err(failed)?;
        let known: BTreeSet<String> = listed.iter().map(|entry| entry.path.to_string()).collect();
        let is_there = |path: &str| tree.join(path).symlink_metadata().is_ok_and(|meta| !meta.is_dir());
        // Before any word is replaced: a module or a shell line cannot be led to the base.
        self.no_code_by_name(words, &|path| known.contains(path) || is_there(path))?;
        let mut folder = None;
        for (n, word) in words.iter_mut().enumerate() {
            let Some(text) = word.to_str().filter(|text| text.len() <= WORD_MAX && !text.contains('\n'))
            else {
                continue;
            };
            let absolute = Path::new(text).is_absolute();
            // A first word without a slash is looked up on the PATH.
            if n == 0 && !text.contains('/') {
                continue;
            }
            let Some(path) = self.path_in(text, tree) else { continue };
            if known.contains(&path) {
                let folder = folder.get_or_insert(self.base_checkout(base).map_err(failed)?);
                *word = folder.join(&path).into_os_string();
            // Not in the base, but there: either the change brings it, or it was left in the checkout. Both would judge
            // for the change.
            } else if (!absolute && (n == 0 || is_there(&path)))
                || (absolute && self.brings(commit, &path)?)
            {
                return Err(format!(
                    "{path} is not in {}, the commit that judging programs are taken from\nhint: commit it to the \
                     branch first; no change judges with a program that it brings itself",
                    base.short()
                ));
            }
        }
        Ok(folder)
    }

    /// Whether a commit has this file. A program in the user's own package folders is the user's only if the commit has
    /// not.
    fn brings(&self, commit: &Oid, path: &str) -> Result<bool, String> {
        let found = self.repo.file_at(commit, &GitPath::from(path)).map_err(|error| error.to_string())?;
        Ok(found.is_some())
    }

    /// The path within the tree that a word names; none where it names none.
    fn path_in(&self, word: &str, tree: &Path) -> Option<String> {
        let path = Path::new(word);
        let inside = |root: &Path| path.strip_prefix(root).ok().and_then(Path::to_str);
        match path.is_absolute() {
            true => normal("", inside(tree).or_else(|| inside(self.project.root()))?),
            false => normal("", word),
        }
    }

    /// Refuses code of the tree that is named in a way that cannot be replaced: `python3 -m`, and a line for a shell.
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

    /// A checkout of the base from which only judging programs are started. The first caller makes it.
    fn base_checkout(&self, base: &Oid) -> Result<PathBuf, GitError> {
        // Held until the checkout is complete, so that nobody starts a program from half of it.
        let mut made = lock(&self.base_programs);
        let dir = self.dir.join("judges").join(base.short());
        let path = dir.join("tree");
        if made.insert(base.clone()) {
            // A dead orchestrator may have left half a checkout.
            self.worktree_pool.discard(&dir)?;
            std::fs::create_dir_all(&dir).map_err(|source| GitError::Io { path: dir.clone(), source })?;
            if let Err(error) = self.worktree_pool.checkout(&path, &dir.join("index"), base, "judges") {
                // The next caller tries again.
                made.remove(base);
                return Err(error);
            }
        }
        Ok(path)
    }
}

/// The words of a command line that may name programs and files.
///
/// A prompt is not one of them, and a text with spaces only where a shell is given it to run.
fn plain_words(words: &[OsString]) -> Vec<String> {
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // `sh -c LINE`, `env -S LINE`.
    let takes_line =
        |flag: &str| flag.starts_with('-') && flag.ends_with(['c', 'S']) || flag == "--split-string";
    let is_split = |word: &str| word.starts_with("-S") || word.starts_with("--split-string=");
    let is_line = |at: usize| is_split(&texts[at]) || at > 0 && takes_line(&texts[at - 1]);
    let is_short = |word: &str| word.len() <= WORD_MAX && !word.contains('\n');
    let is_word = |at: usize| is_line(at) || !texts[at].contains(char::is_whitespace);
    (0..texts.len()).filter(|at| is_short(&texts[*at]) && is_word(*at)).map(|at| texts[at].clone()).collect()
}
