//! Which files of a change are part of what judges it. A project's test command is a program of the project: it reads a
//! Makefile, calls a script, loads a `conftest.py`. Whoever changes those together with the code can make any code
//! pass. So the command also runs with these files as of the base (`green::answer` says what follows), and this file
//! says which ones they are. It goes by names and texts alone, and rather takes a file too many than one too few: a
//! file that judges nothing costs a second run and changes no answer.

use std::collections::BTreeSet;

mod manifest;
mod table;

use manifest::Parts;

/// What is known of a command and of the change that it judges.
pub struct JudgeFacts<'a> {
    /// The command and what runs before it, each a program with its arguments.
    pub steps: &'a [Vec<String>],
    /// What the project's own target or script runs for it, by the base's files; empty where it is none.
    pub recipe: &'a str,
    /// The paths that differ from the base, from the root, with `/`.
    pub changed: &'a [String],
    /// All paths of the base.
    pub paths: &'a BTreeSet<String>,
    /// The text of a file of the base. A link has its target for a text.
    pub before: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file as the change has it.
    pub now: &'a dyn Fn(&str) -> Option<String>,
}

/// Programs that run the file they are given.
const INTERPRETERS: [&str; 20] = [
    "sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "python", "python2", "python3", "node", "nodejs",
    "ruby", "perl", "php", "lua", "tclsh", "Rscript", "source", ".",
];
/// Programs and words that start another one.
const BEFORE: [&str; 13] = [
    "env", "time", "exec", "command", "nice", "xvfb-run", "if", "then", "else", "do", "while", "!", "timeout",
];
/// How far calls are followed from the command: a target calls a script, the script includes another.
const DEPTH: usize = 3;

impl JudgeFacts<'_> {
    /// The changed paths that are part of the judge, in order.
    pub fn judge_files(&self) -> Vec<String> {
        let named = self.named_files();
        let is_part = |path: &&String| named.contains(path.as_str()) || self.configures(path);
        self.changed.iter().filter(is_part).cloned().collect()
    }

    /// Files that the command names, calls or includes, changed or not. Not all of them need be there.
    pub fn named_files(&self) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        for word in self.steps.iter().flatten() {
            match word.contains(char::is_whitespace) {
                true => named.extend(called(word)),
                false => named.extend(normal("", word)),
            }
        }
        for step in self.steps {
            named.extend(modules(step));
        }
        named.extend(called(self.recipe));
        let makefiles = self.paths.iter().filter(|path| table::is_makefile(path));
        let makefiles: Vec<String> = makefiles.cloned().collect();
        let mut open: Vec<String> = named.iter().cloned().chain(makefiles).collect();
        for _ in 0..DEPTH {
            let found: Vec<String> = open.iter().flat_map(|path| self.leads_to(path)).collect();
            open = found.into_iter().filter(|path| named.insert(path.clone())).collect();
        }
        named
    }

    /// Files that a file of the base includes, or the one that it is a link to.
    fn leads_to(&self, path: &str) -> Vec<String> {
        if !self.paths.contains(path) {
            return Vec::new();
        }
        let Some(text) = (self.before)(path) else { return Vec::new() };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        // A link's text is one line without an end.
        if !text.contains('\n') && !text.contains(' ') {
            return normal(folder, &text).into_iter().collect();
        }
        let mut found = Vec::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let word = words.next().unwrap_or_default();
            if matches!(word, "." | "source" | "include" | "-include" | "sinclude" | "import" | "exec") {
                for word in words.map(|word| word.trim_matches(['"', '\'', ';'])) {
                    // A script names files from where it runs, a Makefile from where make does: the root, or its own folder.
                    let bare = word.rsplit_once("/$").map_or(word, |(_, rest)| rest);
                    found.extend(normal("", bare).into_iter().chain(normal(folder, last_parts(bare))));
                }
            }
        }
        found
    }

    /// Whether a changed file configures a runner, or stands where a runner finds it before its own. Texts are read only
    /// where the name says that they matter: a change may have thousands of files.
    fn configures(&self, path: &str) -> bool {
        let was = self.paths.contains(path);
        let texts = || ((self.before)(path).unwrap_or_default(), (self.now)(path).unwrap_or_default());
        let steers = |marks| {
            let (before, now) = texts();
            manifest::marked(&before, marks) != manifest::marked(&now, marks)
        };
        if (!was && table::shadows(path)) || table::marks_in(path).is_some_and(steers) {
            return true;
        }
        match table::parts_of(path) {
            None => false,
            Some(Parts::Whole) => true,
            // The manifest of a part that is new judges nothing that was there.
            Some(_) if !was && !self.has_folder_of(path) => false,
            Some(parts) => {
                let (before, now) = texts();
                parts.differ(&before, &now)
            }
        }
    }

    /// Whether the base has a file in the folder of a path, or below it.
    fn has_folder_of(&self, path: &str) -> bool {
        let Some((folder, _)) = path.rsplit_once('/') else { return true };
        let prefix = format!("{folder}/");
        self.paths.range(prefix.clone()..).next().is_some_and(|first| first.starts_with(&prefix))
    }
}

/// Paths of the tree that a program outside of the tree is given to run: the program itself where it is a path, and the
/// script behind an interpreter. What stands in `$(…)` has its output compared, and is what is tested.
pub fn called(recipe: &str) -> Vec<String> {
    let mut found = Vec::new();
    for command in without_substitutions(recipe).split(['\n', ';', '|', '&', '(', ')', '{', '}']) {
        let words: Vec<&str> = command
            .split_whitespace()
            .map(|word| word.trim_start_matches(['@', '+']).trim_matches(['"', '\'']))
            .collect();
        let is_before = |word: &&&str| {
            word.is_empty()
                || **word == "-"
                || BEFORE.contains(*word)
                || is_assignment(word)
                || is_number(word)
        };
        let skipped = words.iter().take_while(is_before).count();
        let rest = &words[skipped..];
        let Some(program) = rest.first().map(|word| word.trim_start_matches('-')) else { continue };
        let bare = program.rsplit('/').next().unwrap_or(program);
        found.extend(normal("", program));
        if INTERPRETERS.contains(&bare) {
            let script = rest[1..].iter().find(|word| !word.starts_with('-'));
            found.extend(script.and_then(|word| normal("", word)));
            let argv: Vec<String> = rest.iter().map(|word| (*word).to_owned()).collect();
            found.extend(modules(&argv));
        }
    }
    found
}

/// The files that `python -m pkg.mod` may be, in the tree.
pub fn modules(argv: &[String]) -> Vec<String> {
    let is_python =
        argv.first().is_some_and(|word| word.rsplit('/').next().unwrap_or(word).starts_with("python"));
    let named = argv.iter().position(|word| word == "-m").and_then(|at| argv.get(at + 1));
    let Some(module) = named.filter(|_| is_python) else { return Vec::new() };
    let path = module.replace('.', "/");
    vec![format!("{path}.py"), format!("{path}/__init__.py"), format!("{path}/__main__.py")]
}

fn is_assignment(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    word.contains('=') && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_digit())
}

/// A shell's text without `$(…)` and without what stands in backticks.
fn without_substitutions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut ticks) = (0usize, false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '$' if rest.peek() == Some(&'(') => {
                rest.next();
                depth += 1;
            }
            '(' if depth > 0 => depth += 1,
            ')' if depth > 0 => depth -= 1,
            '`' => ticks = !ticks,
            // What is not closed on its line was none.
            '\n' => {
                (depth, ticks) = (0, false);
                out.push(c);
            }
            _ if depth == 0 && !ticks => out.push(c),
            _ => {}
        }
    }
    out
}

/// What follows the last variable in a path: `"$(dirname "$0")/lib.sh"` and `$HERE/lib.sh` both end in `lib.sh`.
fn last_parts(word: &str) -> &str {
    match word.rfind(['$', ')', '}', '"']) {
        Some(at) => word[at..].split_once('/').map_or("", |(_, rest)| rest),
        None => word,
    }
}

/// A path from the root, as it is meant from a folder; none where it leads out or is no path.
pub fn normal(folder: &str, word: &str) -> Option<String> {
    if word.is_empty() || word.starts_with(['/', '-', '~', '$']) {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in word.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests;
