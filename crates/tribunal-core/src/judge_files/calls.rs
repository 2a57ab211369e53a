//! What a script starts, by its text alone.
//!
//! No shell is emulated: words are taken for paths, from every folder that the text goes to. That finds too many
//! rather than too few. Where a file may also be what is tested, `places` decides.

/// Programs that run the file they are given.
const INTERPRETERS: [&str; 23] = [
    "sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "python", "python2", "python3", "node", "nodejs",
    "ruby", "perl", "php", "lua", "tclsh", "Rscript", "source", ".", "bun", "tsx", "ts-node",
];
/// Programs that run the file behind their flag `-f`.
const BY_FLAG: [&str; 7] = ["awk", "gawk", "mawk", "sed", "make", "gmake", "just"];
/// Programs and words that start another program.
const BEFORE: [&str; 14] = [
    "env", "time", "exec", "command", "nice", "xvfb-run", "if", "then", "else", "do", "while", "!",
    "timeout", "-c",
];
/// Programs that run targets and scripts of the project's own.
pub(super) const RUNNERS: [&str; 9] =
    ["make", "gmake", "just", "task", "npm", "pnpm", "yarn", "bun", "composer"];
/// Programs that look for another one among the packages of the project first.
pub(super) const NODE_RUNNERS: [&str; 3] = ["npx", "bunx", "pnpx"];
/// Words before a folder in which what follows is looked for.
const INTO: [&str; 7] = ["cd", "pushd", "-C", "--directory", "--prefix", "find", "run-parts"];
/// What Node and Python look for if a name has no ending.
const ENDS: [&str; 9] =
    [".js", ".mjs", ".cjs", ".ts", ".py", "/index.js", "/index.mjs", "/index.cjs", "/__main__.py"];

/// Paths of the tree that a program outside the tree is given to run: the program itself if it is a path, and the
/// script behind an interpreter.
///
/// What stands in `$(…)` has its output compared, so it is what is tested and not the judge.
pub fn called(recipe: &str) -> Vec<String> {
    let mut found = Vec::new();
    let text = without_substitutions(recipe);
    let folders = folders(&text);
    let mut from_each = |word: &str| {
        let word = past_variables(word);
        found.extend(normal("", word));
        found.extend(folders.iter().filter_map(|folder| normal(folder, word)));
    };
    for command in text.split(['\n', ';', '|', '&', '(', ')', '{', '}']) {
        let words: Vec<&str> = command
            .split_whitespace()
            // Marks of make before a command: quiet, and even with `-n`.
            .map(|word| word.trim_start_matches(['@', '+']).trim_matches(['"', '\'']))
            .collect();
        for rest in started(&words) {
            // The third mark of make, for a command whose failure is ignored.
            let Some(program) = rest.first().map(|word| word.trim_start_matches('-')) else { continue };
            from_each(program);
            given(bare(program), rest).into_iter().for_each(|word| {
                from_each(word);
                ENDS.iter().for_each(|end| from_each(&format!("{word}{end}")));
            });
            let argv: Vec<String> = rest.iter().map(|word| (*word).to_owned()).collect();
            modules(&argv).iter().for_each(|module| from_each(module));
        }
    }
    found
}

/// Whether a text starts a program that runs targets or scripts of the project's own.
pub fn runs_targets(text: &str) -> bool {
    commands_in(text).iter().any(|argv| RUNNERS.contains(&bare(&argv[0])))
}

/// The commands of a shell text, each a program with its words, behind whatever only starts it. Quotes are not read.
pub fn commands_in(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for command in text.split(['\n', ';', '|', '&', '(', ')', '{', '}', '`']) {
        let words: Vec<&str> =
            command.split_whitespace().map(|word| word.trim_matches(['@', '"', '\''])).collect();
        let all = started(&words);
        found.extend(all.iter().map(|rest| rest.iter().map(|word| (*word).to_owned()).collect()));
    }
    found
}

/// The files in the tree that `python -m pkg.mod` may mean.
pub fn modules(argv: &[String]) -> Vec<String> {
    let is_python = argv.first().is_some_and(|word| bare(word).starts_with("python"));
    let named = argv.iter().position(|word| word == "-m").and_then(|at| argv.get(at + 1));
    let Some(module) = named.filter(|_| is_python) else { return Vec::new() };
    let path = module.replace('.', "/");
    vec![format!("{path}.py"), format!("{path}/__init__.py"), format!("{path}/__main__.py")]
}

/// A word of a text that may be the path of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// The path from the root; it may hold `*` and `?`.
    pub(super) path: String,
    /// It stands behind a program that runs the file it is given, so the file needs no other sign of a script.
    pub(super) is_given: bool,
}

/// Every word of a text that may name a script, seen from the root, from the folder of the text's own file, and from
/// each folder that the text goes to.
pub(super) fn mentions(text: &str, own: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let folders = folders(text);
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let words: Vec<&str> = line.split(is_between).filter(|word| !word.is_empty()).collect();
        let has_interpreter = words.iter().any(|word| INTERPRETERS.contains(word));
        let mut before = "";
        for word in words {
            let is_given =
                INTERPRETERS.contains(&bare(before)) || matches!(before, "require" | "import" | "from");
            let path = past_variables(word).trim_start_matches('/');
            let bases = || ["", own].into_iter().chain(folders.iter().map(String::as_str));
            let mut add = |path: &str| {
                let all = bases().filter_map(|base| normal(base, path));
                found.extend(all.map(|path| Mention { path, is_given }));
            };
            add(path);
            if is_given {
                ENDS.iter().for_each(|end| add(&format!("{path}{end}")));
            }
            // `find t -exec sh {} +` gives every file below a folder to a shell.
            if has_interpreter && matches!(before, "find" | "run-parts") {
                add(&format!("{path}/**"));
            }
            // A flag may stand between a program and its file. `-C` is kept, because a folder follows it.
            before = if word.starts_with('-') && word != "-C" { before } else { word };
        }
    }
    found
}

/// Every path that a text in a folder may name, with the endings that a module's name may stand for.
pub fn named_in(text: &str, folder: &str) -> Vec<String> {
    mentions(text, folder).into_iter().map(|one| one.path).collect()
}

/// Files that settings in a folder continue in: behind `extend`, `inherit_from` and the like. The text of a link is
/// its target.
pub fn extended_in(text: &str, folder: &str) -> Vec<String> {
    /// How many lines behind the word a list may go on.
    const LINES: usize = 8;
    const WORDS: [&str; 3] = ["extend", "inherit", "preset"];
    if !text.contains('\n') && !text.trim().contains(' ') {
        return normal(folder, text.trim()).into_iter().collect();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut found = std::collections::BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        let lower = line.to_ascii_lowercase();
        if WORDS.iter().any(|word| lower.contains(word)) {
            let behind = lines[at..].iter().take(LINES).copied().collect::<Vec<&str>>().join("\n");
            found.extend(named_in(&behind, folder));
        }
    }
    found.into_iter().collect()
}

/// Paths that stand inside a word of a command: behind `=`, as in `--require=./hook.js` and `BASH_ENV=env.sh`, and
/// behind the flag of a folder to load from, as in `-Ilib`.
///
/// A word that does not look like a path counts only in a variable.
pub(super) fn inside(word: &str) -> Vec<String> {
    let is_variable = word.split('=').next().is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    });
    let behind = word.match_indices('=').map(|(at, _)| &word[at + 1..]);
    let looks = |part: &&str| is_variable || part.contains(['/', '.']);
    let folder = ["-I", "-L"].iter().filter_map(|flag| word.strip_prefix(flag));
    let parts = behind.flat_map(|part| part.split(':')).filter(looks).chain(folder);
    parts.filter_map(|part| normal("", part.trim_matches(['"', '\'', '!']))).collect()
}

/// The program by which make runs its recipes, if a line of a Makefile sets it.
pub(super) fn shell_of_make(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches("export ").trim_start_matches("override ").trim_start();
    let value = line.strip_prefix("SHELL")?.trim_start().trim_start_matches([':', '?']).strip_prefix('=')?;
    value.split_whitespace().next()
}

/// Whether a path is one that a word with `*` and `?` stands for. `**` also stands for folders.
pub(super) fn stands_for(pattern: &str, path: &str) -> bool {
    fn matches(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => path.is_empty(),
            [b'*', b'*', rest @ ..] => (0..=path.len()).any(|at| matches(rest, &path[at..])),
            [b'*', rest @ ..] => {
                let end = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
                (0..=end).any(|at| matches(rest, &path[at..]))
            }
            [b'?', rest @ ..] => path.first().is_some_and(|byte| *byte != b'/') && matches(rest, &path[1..]),
            [byte, rest @ ..] => path.first() == Some(byte) && matches(rest, &path[1..]),
        }
    }
    // This match backtracks, so more stars than anybody writes would cost exponential time.
    pattern.matches('*').count() <= 6 && matches(pattern.as_bytes(), path.as_bytes())
}

/// A path from the root, as it is meant from a folder; none if it leads out or is not a path.
pub fn normal(folder: &str, word: &str) -> Option<String> {
    // An absolute path, a flag, a home or a variable: none of them is known to be in the tree.
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

/// What follows the last variable in a path: `"$(dirname "$0")/lib.sh"` and `$HERE/lib.sh` both end in `lib.sh`.
pub(super) fn last_parts(word: &str) -> &str {
    match word.rfind(['$', ')', '}', '"']) {
        Some(at) => word[at..].split_once('/').map_or("", |(_, rest)| rest),
        None => word,
    }
}

/// The same, but only for a word that has a variable at all.
fn past_variables(word: &str) -> &str {
    if word.contains('$') { last_parts(word) } else { word }
}

/// The name of a program without its folder.
pub(super) fn bare(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// What stands between two words that may be paths, in a shell, a Makefile, JSON, Python and JavaScript.
fn is_between(c: char) -> bool {
    c.is_whitespace() || "\"'`;|&(){}[]<>,=:@\\+".contains(c)
}

/// The folders that a text goes to, each from the root and from the one before it.
fn folders(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(is_between).filter(|word| !word.is_empty()).collect();
    let mut found: Vec<String> = Vec::new();
    for pair in words.windows(2).filter(|pair| INTO.contains(&pair[0])) {
        let path = past_variables(pair[1]).trim_start_matches('/');
        // A second `cd` starts from the first one, or from the root again in a subshell: both are tried.
        let inner = found.last().and_then(|last| normal(last, path));
        found.extend(normal("", path).into_iter().chain(inner));
    }
    found.dedup();
    found
}

/// The commands that begin in these words: behind what only starts another one, and behind `xargs` with its flags.
pub(super) fn started<'a>(words: &'a [&'a str]) -> Vec<&'a [&'a str]> {
    let is_before = |word: &&&str| {
        word.is_empty() || **word == "-" || BEFORE.contains(*word) || is_assignment(word) || is_number(word)
    };
    let skipped = words.iter().take_while(is_before).count();
    let rest = &words[skipped..];
    // `sh -c 'cd t` is cut at its `&&`: the line begins behind the flag.
    let inner = rest.iter().position(|word| *word == "-c" || *word == "xargs" || *word == "-exec");
    let inner = inner.map(|at| {
        let after = &rest[at + 1..];
        let flags = after.iter().take_while(|word| word.starts_with('-') || is_number(word)).count();
        &after[flags..]
    });
    std::iter::once(rest).chain(inner).filter(|words| !words.is_empty()).collect()
}

/// The files that a program is given to run: the first word that is not a flag, and what follows `-f`.
fn given<'a>(program: &str, words: &[&'a str]) -> Vec<&'a str> {
    let is_file = |word: &str| matches!(word, "-f" | "--file" | "--makefile" | "--justfile");
    let first = words[1..].iter().find(|word| !word.starts_with('-')).copied();
    let first = first.filter(|_| INTERPRETERS.contains(&program));
    let named = words.windows(2).filter(|pair| BY_FLAG.contains(&program) && is_file(pair[0]));
    first.into_iter().chain(named.map(|pair| pair[1])).collect()
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
            // A substitution that is not closed on its line was not one: do not lose the rest of the file.
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
