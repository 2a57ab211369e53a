//! Decides whether words about what was checked are evidence: they name something of what is judged, and say what was
//! seen there.
//!
//! An approval without evidence may come from a reviewer that did not look. The words come from hostile authors, too, so
//! this file only takes trust away; whether a sentence is harmless is decided in `cover`. A refusal always says what is
//! missing, so that an honest reviewer can add it.

use super::cover;
use super::place;
use crate::text::plain_words;
use std::collections::BTreeSet;
use tribunal_core::evidence::{Lack, Matter};

/// What is judged, and so what evidence may name.
///
/// It is gathered by the caller from the change, the plan or the document. Without it, any file or command counts as
/// named, which is weaker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// The kind of work that is judged.
    pub matter: Matter,
    /// The files of the change, of the plan or of the document.
    pub files: Vec<String>,
    /// Files that a plan means to create: nobody can have read them.
    pub absent: Vec<String>,
    /// Symbols that the change defines or touches, and titles of tasks and sections.
    pub names: BTreeSet<String>,
    /// Commands that were run on it, or may be.
    pub commands: Vec<String>,
}

impl Judged {
    /// What a change offers for evidence, by its files and its diff.
    pub fn change(files: Vec<String>, diff: &str, commands: Vec<String>) -> Judged {
        Judged { matter: Matter::Change, files, names: symbols(diff), commands, ..Judged::default() }
    }

    /// Whether a path as somebody writes it means one of these files: whole, its end, a folder or a pattern.
    fn has_file(files: &[String], path: &str) -> bool {
        let path = path.trim_start_matches("./").replace('\\', "/");
        let end = format!("/{path}");
        let folder = path.trim_end_matches(['*', '.']).trim_end_matches('/');
        files.iter().any(|file| {
            file == &path
                || file.ends_with(&end)
                // The reviewer may write the path from outside of the project.
                || path.ends_with(&format!("/{file}"))
                || !folder.is_empty() && file.starts_with(&format!("{folder}/"))
                || path.split_once('*').is_some_and(|(head, tail)| {
                    // A single star is enough here: nothing depends on the match but whether something was named.
                    file.starts_with(head) && file.ends_with(tail.trim_start_matches('*'))
                })
        })
    }
}

/// At most this many symbols of a change are kept.
const SYMBOLS_MAX: usize = 20_000;

/// The names that occur on the changed lines of a diff.
pub fn symbols(diff: &str) -> BTreeSet<String> {
    let changed =
        |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    let mut names = BTreeSet::new();
    for word in diff.lines().filter(changed).flat_map(|line| line[1..].split(|c: char| !is_name(c))) {
        // Single letters and numbers occur in every sentence.
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        if letters >= 2 && word.len() <= 100 {
            names.insert(word.to_owned());
        }
        if names.len() >= SYMBOLS_MAX {
            break;
        }
    }
    names
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What the words about what was checked lack; `None` where they are evidence.
///
/// Where nobody knows what was judged, any file, command or thing may be what they name.
pub(crate) fn lack(text: &str, judged: Option<&Judged>) -> Option<Lack> {
    let text = text.trim();
    if is_nothing(text) {
        return Some(Lack::NothingDone);
    }
    let matter = judged.map(|judged| judged.matter).unwrap_or_default();
    // The prompt's own example proves nothing.
    if same_words(text, matter.example()) {
        return Some(Lack::Copied);
    }
    let text = without_placeholders(text);
    if !super::verdict::has_substance(&text) {
        // A bare name shows at least that the reviewer was somewhere.
        let named =
            judged.is_some_and(|judged| judged.matter == Matter::Change) && place::names_a_path(&text);
        return Some(if named { Lack::NothingSeen } else { Lack::NamesNothing });
    }
    if cover::is_foreign(&text) {
        return foreign(&text, matter, judged.is_some());
    }
    let told = Told::of(&text);
    match judged {
        None => {
            let told_of = told.saw() || !told.void && (told.ran || told.names_things());
            (!told_of).then_some(Lack::NothingSeen)
        }
        Some(judged) => match judged.matter {
            Matter::Change => lack_of_change(&told, judged),
            Matter::Plan => lack_of_plan(&told, judged),
            Matter::Document => lack_of_document(&told, judged),
        },
    }
}

/// Evidence on a change names a file, symbol or command of it, and says what was seen.
fn lack_of_change(told: &Told, judged: &Judged) -> Option<Lack> {
    let named = told.paths.iter().any(|path| Judged::has_file(&judged.files, path))
        || judged.files.iter().any(|file| told.names_file(file))
        || told.code.iter().chain(&told.symbols).any(|code| touches(&judged.names, code))
        || judged.commands.iter().any(|command| told.level.contains(&plain_words(command)))
        || told.command
        || told.tried;
    match () {
        () if !named => Some(Lack::NamesNothing),
        () if !told.saw() => Some(Lack::NothingSeen),
        () => None,
    }
}

/// Evidence on a plan names a part of it. Reading code is not reading the plan.
///
/// A reviewer that read the code instead of the plan has approved something else, so that gets its own reason.
fn lack_of_plan(told: &Told, judged: &Judged) -> Option<Lack> {
    let absent = |path: &String| Judged::has_file(&judged.absent, path);
    // A file that does not exist yet cannot have been opened.
    if told.opened.iter().any(absent) {
        return Some(Lack::OfCode);
    }
    let listed = |path: &&String| Judged::has_file(&judged.files, path);
    let planned = PLAN_WORDS.iter().any(|word| told.has(word))
        || judged.names.iter().any(|name| told.level.contains(&plain_words(name)))
        || told.paths.iter().any(|path| path.ends_with("PLAN.md"))
        // An opened file is code; a file that the plan is said to create, change or leave belongs to the plan.
        || told.paths.iter().filter(listed).any(|path| !told.opened.contains(path));
    let code =
        told.command || told.ran || told.paths.iter().any(|path| Judged::has_file(&judged.files, path));
    match () {
        () if !planned && code => Some(Lack::OfCode),
        () if !planned => Some(Lack::NamesNothing),
        () if told.content.iter().all(|word| is_plan_word(word)) => Some(Lack::NothingSeen),
        () => None,
    }
}

/// Evidence on a document names a part of it and says more than that part's name.
fn lack_of_document(told: &Told, judged: &Judged) -> Option<Lack> {
    const PARTS: &[&str] =
        &["section", "sections", "criterion", "criteria", "requirement", "requirements", "goals", "scope"];
    let named = told.paths.iter().any(|path| Judged::has_file(&judged.files, path))
        || judged.names.iter().any(|name| told.level.contains(&plain_words(name)))
        || PARTS.iter().any(|word| told.has(word))
        || PLAN_WORDS.iter().any(|word| told.has(word));
    match () {
        () if !named => Some(Lack::NamesNothing),
        () if told.content.iter().all(|word| is_plan_word(word) || PARTS.contains(&word.as_str())) => {
            Some(Lack::NothingSeen)
        }
        () => None,
    }
}

/// For scripts whose words no table knows: something has to be named, and more than that said.
fn foreign(text: &str, matter: Matter, known: bool) -> Option<Lack> {
    const PARTS: &[&str] =
        &["任务", "任務", "计划", "必须", "步骤", "タスク", "計画", "要件", "작업", "계획", "задач", "план"];
    // Names and numbers look alike in every script.
    let named = place::names_a_path(text) || text.contains('`') || text.chars().any(char::is_numeric);
    let named = match matter {
        Matter::Change => named,
        Matter::Plan | Matter::Document => named || PARTS.iter().any(|part| text.contains(part)),
    };
    (known && !named).then_some(Lack::NamesNothing)
}

/// Whether a name that somebody writes is one of those of a change.
fn touches(names: &BTreeSet<String>, code: &str) -> bool {
    let mut parts = code.split(|c: char| !is_name(c)).filter(|part| part.len() > 1).peekable();
    parts.peek().is_some() && parts.any(|part| names.contains(part))
}

/// Words by which a part of a plan is named. The plan as such is not one of its parts.
#[rustfmt::skip]
const PLAN_WORDS: &[&str] = &[
    "task", "tasks", "must-have", "must-haves", "must_haves", "truths", "artifacts", "requirement", "requirements",
    "files_modified", "files_forbidden", "depends_on", "dependency", "dependencies", "wave", "waves", "verification",
    "verifications", "goal", "objective", "criterion", "criteria", "acceptance", "scope", "order", "ordering", "step",
    "steps", "aufgabe", "aufgaben", "tarea", "tareas", "tâche", "tâches",
];

fn is_plan_word(word: &str) -> bool {
    PLAN_WORDS.contains(&word) || word.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether the words say that nothing was done: `nothing`, `n/a`, or the form's own placeholder.
pub(crate) fn is_nothing(text: &str) -> bool {
    if text.starts_with('<') && text.ends_with('>') && !text[1..].contains('<') {
        return true;
    }
    let words = plain_words(text);
    let bare: String = words.chars().filter(|c| c.is_alphanumeric() || *c == '/').collect();
    ["n/a", "na", "none", "nil", "tbd", "nothing", ""].contains(&bare.as_str())
        // "Nothing was skipped in …" goes on and may be evidence.
        || words.starts_with("nothing was ") && words.split(' ').count() <= 4
}

/// The text without parts in angle brackets, which are places that were left to fill in.
fn without_placeholders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('<') {
        out.push_str(before);
        match tail.split_once('>') {
            // `a < b` is code, not a placeholder: hence the limits.
            Some((inner, after)) if inner.len() <= 80 && inner.starts_with(char::is_alphabetic) => {
                out.push(' ');
                rest = after;
            }
            _ => {
                out.push('<');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Whether two texts have the same words, whatever the case and punctuation.
fn same_words(a: &str, b: &str) -> bool {
    let level = |text: &str| -> Vec<String> {
        let words = plain_words(text);
        words
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    level(a) == level(b)
}

/// The statements in the words about what was checked, collected clause by clause.
///
/// Clauses are taken one by one because a result counts only beside a run, not anywhere in the text.
#[derive(Default)]
struct Told {
    /// All of the words, levelled for comparison.
    level: String,
    words: BTreeSet<String>,
    /// Paths, as written.
    paths: Vec<String>,
    /// Paths that are said to have been read or run.
    opened: Vec<String>,
    /// Text in quotes for code.
    code: Vec<String>,
    /// Words that look like a name in code.
    symbols: Vec<String>,
    /// A command or the tests are named.
    command: bool,
    /// Something was run or built.
    ran: bool,
    /// It was tried with something that is named.
    tried: bool,
    /// How many things were named so far that it was tried with.
    trying: usize,
    /// It gives a number that counts something, a statement, or words that came out.
    result: bool,
    /// It has a word for how a run went.
    went: bool,
    /// A run is mentioned that left nothing to see.
    void: bool,
    /// The words that are left without names and words for looking.
    content: Vec<String>,
}

impl Told {
    fn of(text: &str) -> Told {
        let mut told = Told { level: plain_words(text), ..Told::default() };
        for clause in clauses(text) {
            told.take(clause);
        }
        told
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Whether a file of the change is named although its name has no known form, such as `meson.build`.
    fn names_file(&self, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or(file);
        // `run` or `tests` is a word; `run.x`, `Makefile` and `bin/run` are names.
        let tells = |name: &str| name.contains(['.', '/']) || name.starts_with(char::is_uppercase);
        [file, name].into_iter().filter(|name| name.len() > 2 && tells(name)).any(|name| {
            let name = plain_words(name);
            let bound = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
            self.level.match_indices(&name).any(|(at, found)| {
                bound(self.level[..at].chars().next_back())
                    && bound(self.level[at + found.len()..].chars().next())
            })
        })
    }

    /// Whether something is said beyond where somebody looked.
    fn saw(&self) -> bool {
        // "Passed" counts only of a run: of code it is praise.
        self.result || self.went && (self.ran || self.command) || self.content.len() >= 2
    }

    /// Whether things are named although no file and no command is.
    fn names_things(&self) -> bool {
        self.paths.is_empty() && self.code.is_empty() && !self.content.is_empty()
    }

    /// Takes one clause into account.
    fn take(&mut self, clause: &str) {
        let (plain, code) = split_code(clause);
        let mut rest = String::with_capacity(plain.len());
        let (mut from, mut paths) = (0, Vec::new());
        for found in place::find(&plain) {
            rest.push_str(&plain[from..found.start]);
            // Places become a mark, so that the words of a path do not count as content.
            rest.push_str(" \u{1} ");
            from = found.end;
            paths.push(found.path);
        }
        rest.push_str(&plain[from..]);
        for inner in &code {
            paths.extend(place::find(inner).into_iter().map(|found| found.path));
        }
        let tokens: Vec<&str> = rest.split_whitespace().collect();
        paths.extend(tokens.iter().filter_map(|token| folder(token)));
        let lower: Vec<String> =
            tokens.iter().map(|token| word_of(token)).filter(|w| !w.is_empty()).collect();
        // The whole clause is dropped, or its words would count as what was seen.
        if saw_nothing(&lower) {
            self.void = true;
            return;
        }
        let looks = lower.iter().any(|word| LOOKS.contains(&word.as_str()));
        let runs = lower.iter().any(|word| RUNS.contains(&word.as_str()));
        // A program before a script: `sh bin/one.sh`, `node index.js`.
        let script = tokens
            .windows(2)
            .any(|pair| pair[1] == "\u{1}" && (WORDS_TOO.contains(&pair[0]) || TOOLS.contains(&pair[0])));
        let command = script
            || is_command(&lower)
            || runs && !code.is_empty()
            || code.iter().any(|code| is_command_line(code));
        let content: Vec<String> = tokens
            .iter()
            .filter(|token| folder(token).is_none() && !token.starts_with('-'))
            .map(|token| word_of(token))
            .filter(|word| is_content(word))
            .collect();
        let tries = lower.iter().any(|word| TRIES.contains(&word.as_str()));
        let thing = |word: &&String| {
            !TRIES.contains(&word.as_str()) && (is_content(word) || matches!(word.as_str(), "file" | "files"))
        };
        // `tried it with an expired and a used link` goes on in the next clause.
        let goes_on = self.trying > 0 && clause.starts_with("and ") && !looks && !runs;
        if tries || goes_on {
            self.trying = self.trying * usize::from(goes_on) + 1 + lower.iter().filter(thing).count();
        } else {
            self.trying = 0;
        }
        // The word for trying and at least two things: "tried it" alone names nothing.
        self.tried |= self.trying > 2;
        self.went |= went(&lower);
        self.result |=
            states(&lower, &content) || is_result(&tokens, &lower) || clause.matches('"').count() >= 2;
        self.symbols.extend(tokens.iter().filter_map(|token| symbol(token)));
        if looks || runs || tries {
            self.opened.extend(paths.iter().cloned());
        }
        self.ran |= runs || tries;
        self.command |= command;
        self.paths.extend(paths);
        self.code.extend(code);
        self.words.extend(lower);
        self.content.extend(content);
    }
}

/// Splits a text into clauses, at stops, commas and words that join statements; not inside code, a name or a number.
fn clauses(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for sentence in cover::sentences(text) {
        let (mut start, mut code) = (0, false);
        let mut chars = sentence.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            // A comma inside a command does not end the clause.
            code ^= c == '`';
            let next = chars.peek().map(|(_, c)| *c);
            let spaced = next.is_none_or(char::is_whitespace);
            let stops =
                !code && (matches!(c, ';' | '(' | ')' | '—' | '–') || matches!(c, ',' | ':') && spaced);
            let joins = c == ' ' && !code && sentence[at..].starts_with(" and ");
            if stops || joins {
                found.push(&sentence[start..at]);
                start = at + c.len_utf8();
            }
        }
        found.push(&sentence[start..]);
    }
    found.retain(|clause| !clause.trim().is_empty());
    found
}

/// A clause with a mark for each part in quotes for code, and those parts.
fn split_code(clause: &str) -> (String, Vec<String>) {
    let mut plain = String::with_capacity(clause.len());
    let mut code = Vec::new();
    for (at, part) in clause.split('`').enumerate() {
        match at % 2 {
            0 => plain.push_str(part),
            _ => {
                plain.push_str(" \u{1} ");
                code.push(part.to_owned());
            }
        }
    }
    (plain, code)
}

/// A word in lower case, without the punctuation around it.
fn word_of(token: &str) -> String {
    token.trim_matches(|c: char| !c.is_alphanumeric() && c != '_').to_lowercase().replace('\u{2019}', "'")
}

/// A token that is a folder or a pattern: `handlers/`, `pkg/tree/*.go`, `./api/...`.
fn folder(token: &str) -> Option<String> {
    let token = token.trim_matches(|c: char| matches!(c, ',' | ';' | ':' | '(' | ')' | '"' | '\''));
    let pathlike = token.len() > 2
        && token.contains('/')
        && token.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./@+*[]".contains(&b))
        && token.bytes().any(|b| b.is_ascii_alphabetic());
    pathlike.then(|| token.to_owned())
}

/// A token that looks like a name in code: `parse_hour`, `InvoiceJob`, `Parser::next`, `release()`.
fn symbol(token: &str) -> Option<String> {
    let word = token.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let inner = word.chars().skip(1).any(|c| c == '_') || word.contains("::") || token.contains("()");
    // A capital inside the word; one in front may begin a sentence.
    let mixed = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    (word.len() > 2 && (inner || mixed)).then(|| word.to_owned())
}

/// Whether a clause gives a number that counts something, or says what came out.
fn is_result(tokens: &[&str], lower: &[String]) -> bool {
    let number = |token: &&str| {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        word.starts_with(|c: char| c.is_ascii_digit())
    };
    // The number of a line or of a task says where, not what.
    let counts = tokens.iter().any(number)
        && !lower.iter().any(|word| matches!(word.as_str(), "line" | "lines" | "task"));
    #[rustfmt::skip]
    const CAME_OUT: &[&str] = &[
        "prints", "printed", "returns", "returned", "outputs", "answers", "answered", "yields", "gives", "shows", "says",
    ];
    let came = lower.iter().position(|word| CAME_OUT.contains(&word.as_str()));
    // "It prints nothing" says that nothing was seen.
    let came = came.is_some_and(|at| lower.get(at + 1).is_some_and(|next| !is_void(next)));
    counts || came
}

/// Words for how a run went; said of anything else they are praise.
#[rustfmt::skip]
const RESULTS: &[&str] = &[
    "pass", "passes", "passed", "green", "ok", "succeeds", "succeeded", "clean", "cleanly", "exit", "exits", "exited",
    "grün", "bestanden", "verde", "verdes", "passent", "correctas", "correctos",
];

/// Whether a clause says how a run went.
fn went(lower: &[String]) -> bool {
    lower.iter().any(|word| RESULTS.contains(&word.as_str()))
}

/// Whether a clause states something, as in `every branch has a test`, other than where somebody looked.
fn states(lower: &[String], content: &[String]) -> bool {
    const VERBS: &[&str] = &["is", "are", "has", "have", "was", "were", "does", "do"];
    let looks = lower.iter().any(|word| LOOKS.contains(&word.as_str()) || RUNS.contains(&word.as_str()));
    !looks && !content.is_empty() && lower.iter().any(|word| VERBS.contains(&word.as_str()))
}

fn is_void(word: &str) -> bool {
    matches!(word, "nothing" | "empty" | "none" | "no" | "blank")
}

/// Whether a clause says that nothing was seen of a run: `output empty`, `it printed nothing`.
fn saw_nothing(lower: &[String]) -> bool {
    let about = |word: &String| word.starts_with("output") || word.starts_with("print") || word == "stdout";
    lower.len() <= 5 && lower.iter().any(about) && lower.iter().any(|word| is_void(word))
}

/// Words that say that something was looked at.
#[rustfmt::skip]
const LOOKS: &[&str] = &[
    "read", "reread", "re-read", "reviewed", "inspected", "examined", "looked", "opened", "viewed", "studied", "scanned",
    "skimmed", "gelesen", "leído", "leí", "lu", "letto",
];
/// Words that say that something was run.
#[rustfmt::skip]
const RUNS: &[&str] = &[
    "ran", "run", "reran", "re-ran", "executed", "started", "built", "compiled", "tested", "invoked", "launched",
    "ausgeführt", "ejecuté", "exécuté", "eseguito",
];
/// Words that say that something was tried out; the clause must name what it was tried with.
#[rustfmt::skip]
const TRIES: &[&str] = &[
    "tried", "applied", "fuzzed", "clicked", "measured", "called", "migrated", "replayed", "exercised", "ran", "executed",
    "installed", "deployed", "simulated", "fed", "walked", "compiled", "built",
];

/// Programs whose names are not also ordinary words.
#[rustfmt::skip]
const TOOLS: &[&str] = &[
    "cargo", "npm", "pnpm", "yarn", "npx", "deno", "pytest", "tox", "nox", "python", "python3", "ruff", "mypy", "gradle",
    "gradlew", "mvn", "mvnw", "dotnet", "rspec", "rake", "phpunit", "ctest", "cmake", "ninja", "bazel", "tsc", "eslint",
    "jest", "vitest", "mocha", "bash", "shellcheck", "terraform", "docker", "kubectl", "grep", "rg", "clippy", "rustc",
    "javac", "xcodebuild", "sbt", "cabal", "valgrind", "psql", "sqlite3", "curl", "flake8", "unittest", "nextest",
];
/// Programs whose names are ordinary words, too, so an order has to follow.
const WORDS_TOO: &[&str] =
    &["go", "make", "just", "mix", "bundle", "composer", "bun", "node", "sh", "git", "swift", "zig"];

/// Whether a clause names a command, or says of the tests that they were run.
fn is_command(words: &[String]) -> bool {
    #[rustfmt::skip]
    const ORDERS: &[&str] = &[
        "test", "tests", "check", "build", "vet", "run", "lint", "all", "exec", "fmt", "race", "diff", "grep", "log", "show",
    ];
    const TESTS: &[&str] = &["tests", "suite", "specs", "samples", "examples", "pruebas", "testsuite"];
    let has = |list: &[&str], word: &String| list.contains(&word.as_str());
    words.iter().any(|word| has(TOOLS, word))
        || words.windows(2).any(|pair| has(WORDS_TOO, &pair[0]) && has(ORDERS, &pair[1]))
        || words.iter().any(|word| has(TESTS, word))
            && words.iter().any(|word| {
                has(RUNS, word) || word.starts_with("pass") || word.starts_with(|c: char| c.is_ascii_digit())
            })
}

/// Whether text in quotes for code begins like a command.
fn is_command_line(code: &str) -> bool {
    let first = code.split_whitespace().next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or(first);
    code.contains(' ') && (TOOLS.contains(&name) || WORDS_TOO.contains(&name)) || TOOLS.contains(&code)
}

/// Whether a word carries meaning: not a word for looking, not a general word for the work, not a small word.
///
/// Evidence needs two of these, so this list decides how little a lazy approval may say.
fn is_content(word: &str) -> bool {
    #[rustfmt::skip]
    const SMALL: &[&str] = &[
        "the", "and", "for", "with", "its", "it", "this", "that", "these", "those", "them", "they", "there", "here", "all",
        "every", "each", "both", "whole", "entire", "full", "fully", "any", "some", "from", "into", "over", "through", "at",
        "by", "of", "in", "on", "to", "a", "an", "as", "is", "are", "was", "were", "be", "been", "have", "has", "had", "i",
        "we", "my", "our", "also", "then", "again", "twice", "once", "first", "last", "carefully", "thoroughly", "closely",
        "manually", "hand", "line", "lines", "word", "words", "file", "files", "change", "changes", "changed", "diff",
        "code", "commit", "patch", "work", "plan", "document", "artifact", "hunk", "hunks", "part", "everything", "thing",
        "things", "it's", "callers", "caller", "tests", "test", "suite", "checked", "check", "verified", "went", "walked",
        "followed", "mended", "fixed", "one", "so", "no", "not", "up", "out", "looks", "good", "fine", "great", "lgtm",
        "well", "nice", "correct", "right", "or", "their", "und", "die", "der", "das", "ich", "habe", "named", "before",
        "after", "end", "begin", "time", "times", "own", "self", "i've", "already", "now", "does", "do", "did", "done",
    ];
    let lists = [SMALL, LOOKS, RUNS, TOOLS, RESULTS];
    word.chars().filter(|c| c.is_alphabetic()).count() >= 2 && !lists.iter().any(|list| list.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> Judged {
        let diff = "--- a/index.js\n+++ b/index.js\n@@ -1 +1 @@\n-x\n+function greet(name = \"world\") { return read_name(name) }\n";
        let files = ["index.js", "src/store/rows.rs", "bin/one.sh"].map(str::to_owned).to_vec();
        Judged::change(files, diff, vec!["sh bin/verify.sh".to_owned()])
    }

    fn plan() -> Judged {
        Judged {
            matter: Matter::Plan,
            files: vec!["hello.sh".to_owned(), "src/old.rs".to_owned()],
            absent: vec!["hello.sh".to_owned()],
            names: BTreeSet::from(["Print the name".to_owned()]),
            commands: Vec::new(),
        }
    }

    fn check(judged: &Judged, expect: Option<Lack>, texts: &[&str]) {
        for text in texts {
            assert_eq!(lack(text, Some(judged)), expect, "{text}");
        }
    }

    #[test]
    fn a_file_of_the_change_is_known_by_whatever_name_it_has() {
        let files = ["meson.build", "Makefile", "lib/tests", "app/page.view.qq"].map(str::to_owned).to_vec();
        let of = Judged::change(files, "", Vec::new());
        check(
            &of,
            None,
            &[
                "read meson.build and the whole change to it, line by line; it does what the plan asks for",
                "read the Makefile, the target test runs both programs",
                "page.view.qq shows the name and the date",
            ],
        );
        check(
            &of,
            Some(Lack::NamesNothing),
            &["read other.build, both programs are in it", "looked at xmeson.build, both programs are in it"],
        );
    }

    #[test]
    fn evidence_of_a_change_names_a_part_of_it_and_what_was_seen() {
        let of = change();
        check(
            &of,
            None,
            &[
                "read index.js, greet returns the name it is given and world without one",
                "read index.js; the name and the default are there",
                "read bin/one.sh and ran it by hand; it prints one",
                "read rows.rs: the loop ends at the last row",
                "`read_name` is called once per call, and nothing else calls it",
                "read_name keeps the default",
                "src/store/*.rs: every branch has a test",
                "ran cargo test (41 tests), read store.rs and its callers",
                "ran `mvn -q test` (212 tests, 0 failures), read InvoiceJob and both repositories",
                "sh bin/verify.sh prints the version",
                "ran the suite, 64 passed",
                "cmd/*.go, ran the three examples of the README",
                "compared src/map.ts with the task, ran tsc --noEmit and the 12 unit tests",
                "pkg/tree/*.go, go test -race ok",
                "applied the migration to a copy with 2M rows and rolled it back once",
                "read the flow end to end and tried it with an expired and a used link",
                "src/parser.ts 全文，46 个测试通过",
            ],
        );
        check(
            &of,
            Some(Lack::NothingSeen),
            &[
                "read index.js",
                "read index.js twice, line by line",
                "index.js",
                "read bin/one.sh line by line and ran it.",
                "read index.js and its callers",
                "read index.js and ran cargo test",
                "read src/store/ and index.js lines 1-20",
                "read index.js, <what you saw there>",
                "read index.js and ran it; output empty",
                "read index.js, it printed nothing",
                "index.js is clean",
            ],
        );
        check(
            &of,
            Some(Lack::NamesNothing),
            &[
                "read it all",
                "read the change and ran it by hand.",
                "the name and the default are there",
                "read every line and its callers",
                "everything, looks good",
                "read lib/other.py, the loop ends at the last row",
                "the quoting, with a name that holds a space",
            ],
        );
        check(
            &of,
            Some(Lack::NothingDone),
            &["nothing", "n/a", "-", "<what you looked at and how>", "Nothing was mended."],
        );
        check(&of, Some(Lack::Copied), &[Matter::Change.example()]);
    }

    #[test]
    fn evidence_of_a_plan_is_about_the_plan() {
        let of = plan();
        check(
            &of,
            None,
            &[
                "the tasks cover the must-haves, and every file is named",
                "task 1 says what happens without a name",
                "task 1 creates hello.sh, which the first must-have asks for",
                "hello.sh is created by the right task",
                "read 01-01-PLAN.md: nothing is left open for the developer",
                "print the name is small enough to be done at once",
                "the verification of task 2 runs the new script",
                "read src/old.rs: task 1 keeps its interface",
            ],
        );
        check(
            &of,
            Some(Lack::OfCode),
            &[
                "read hello.sh; the name and the default are there",
                "ran hello.sh, it prints the name",
                "ran the tests, 64 passed",
                "read hello.sh as task 1 says, the default is there",
                "read src/old.rs; the loop ends at the last row",
            ],
        );
        check(
            &of,
            Some(Lack::NamesNothing),
            &["the name and the default are there", "read the plan and every line of it", "read it all"],
        );
        check(
            &of,
            Some(Lack::NothingSeen),
            &["read task 1 and its files", "checked the tasks, the must-haves and the order"],
        );
        check(&of, Some(Lack::Copied), &[Matter::Plan.example()]);
    }

    #[test]
    fn where_nothing_is_known_of_the_work_a_bare_name_is_no_evidence() {
        for text in ["read index.js", "src/a.ts", "read src/a.rs and src/b.rs line by line"] {
            assert_eq!(lack(text, None), Some(Lack::NothingSeen), "{text}");
        }
        for text in [
            "read src/a.rs and ran cargo test",
            "the migration, up and down error paths of the loader",
            "compared api/users.go with the task, go test ./api/... ok",
            "plan, src/, tests and the error paths of the loader",
        ] {
            assert_eq!(lack(text, None), None, "{text}");
        }
    }
}
