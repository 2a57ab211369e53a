//! Targets of the project's own: make, just and Taskfile.
//!
//! Only the names of targets and the lines of their recipes are read. Nothing is expanded, because that would take
//! running the tool, and a target that is not written down literally is not seen.

use super::{Candidate, Files, FoundCommand, needs_more};
use std::collections::{BTreeMap, BTreeSet};

/// Targets that run tests, the better one first.
const TESTS: [&str; 2] = ["test", "check"];
/// Targets that build the project.
const BUILDS: [&str; 2] = ["build", "all"];
/// File names in the order in which make looks for them.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const JUSTFILES: [&str; 4] = ["justfile", "Justfile", "JUSTFILE", ".justfile"];
const TASKFILES: [&str; 6] = [
    "Taskfile.yml",
    "taskfile.yml",
    "Taskfile.yaml",
    "taskfile.yaml",
    "Taskfile.dist.yml",
    "Taskfile.dist.yaml",
];

/// How many names on either side of one rule are examined. More are made by a program, and none of them is `test`.
const NAMES_MAX: usize = 256;

/// A function that reads the targets of a file.
type Reader = fn(&str) -> Targets;

/// Targets by name, each with what it depends on and its recipe.
type Targets = BTreeMap<String, (Vec<String>, String)>;

/// One candidate for each runner that has a target for tests.
pub(super) fn candidates(files: &Files<'_>, notes: &mut Vec<String>) -> Vec<Candidate> {
    let runners: [(&str, &[&'static str], Reader); 3] =
        [("make", &MAKEFILES, makefile), ("just", &JUSTFILES, justfile), ("task", &TASKFILES, taskfile)];
    let mut found = Vec::new();
    for (program, names, read) in runners {
        let Some(name) = files.first(names) else { continue };
        let Some(text) = files.text(name) else { continue };
        found.extend(candidate(program, name, &read(&text), notes));
    }
    found
}

/// What a runner runs for the targets that its arguments name, with the values of the variables in it.
pub(super) fn recipe_of(files: &Files<'_>, program: &str, args: &[String]) -> String {
    let (names, read) = reader_of(program);
    let Some(text) = files.first(names).and_then(|name| files.text(name)) else { return String::new() };
    let targets = read(&text);
    let named: Vec<&str> = args.iter().map(String::as_str).filter(|arg| targets.contains_key(*arg)).collect();
    // Without a target the first one is meant. All of them are examined, which is never too few.
    let wanted: Vec<&str> =
        if named.is_empty() { targets.keys().map(String::as_str).collect() } else { named };
    let recipe: String = wanted.iter().map(|target| whole(&targets, target)).collect();
    with_values(&recipe, &text)
}

/// The files that a runner reads, in its order, and how they are read.
fn reader_of(program: &str) -> (&'static [&'static str], Reader) {
    match program {
        "just" => (&JUSTFILES, justfile),
        "task" => (&TASKFILES, taskfile),
        _ => (&MAKEFILES, makefile),
    }
}

/// Whether one of the targets that the arguments name is written down.
///
/// Arguments that lead to another file or folder are not followed. The answer is yes then, because the target may exist
/// there.
pub(super) fn defines(files: &Files<'_>, program: &str, args: &[String]) -> bool {
    let (names, read) = reader_of(program);
    let elsewhere =
        args.iter().any(|arg| arg.starts_with("-C") || arg.starts_with("-f") || arg.starts_with("--"));
    let text = files.first(names).and_then(|name| files.text(name)).unwrap_or_default();
    let targets = read(&text);
    let mut named = args.iter().filter(|arg| !arg.starts_with('-') && !arg.contains('=')).peekable();
    // A pattern rule may make any target.
    elsewhere || named.peek().is_none() || text.contains('%') || named.any(|name| targets.contains_key(name))
}

/// A recipe, and below it the same recipe with each word that is a variable's name replaced by its value: `sh test`
/// with `test = run.sh` becomes `sh run.sh`.
fn with_values(recipe: &str, text: &str) -> String {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for line in joined(text).iter().filter(|line| !line.starts_with('\t')) {
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim_end_matches([':', '?', '+', '!']).trim();
        let name = name.rsplit(' ').next().unwrap_or(name);
        let value = value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        values.insert(name.to_ascii_lowercase(), with_plain_variables(value));
    }
    let mut out = recipe.to_owned();
    // A value may name another variable.
    for _ in 0..3 {
        // `$(DIR)/run.sh` has a variable in a part of a path.
        let part = |part: &str| {
            let bare = part.trim_matches(['@', '-', '{', '}', '"', '\'']);
            values.get(bare).map_or_else(|| part.to_owned(), |value| part.replacen(bare, value, 1))
        };
        let swap = |word: &str| word.split('/').map(part).collect::<Vec<_>>().join("/");
        let lines = out.lines().map(|line| line.split(' ').map(swap).collect::<Vec<_>>().join(" "));
        let next = lines.collect::<Vec<_>>().join("\n");
        if next == out {
            break;
        }
        out = next;
    }
    // The original stays too: a word may be a variable's name by accident.
    format!("{recipe}\n{out}")
}

fn candidate(program: &str, file: &str, targets: &Targets, notes: &mut Vec<String>) -> Option<Candidate> {
    // `test` is a word for many things. A target without a recipe and without dependencies does nothing.
    let does_something =
        |name: &&str| targets.get(*name).is_some_and(|(on, recipe)| !on.is_empty() || !recipe.is_empty());
    let word = if program == "task" { "task" } else { "target" };
    let command = |target: &str| {
        FoundCommand::of(&format!("{program} {target}"), format!("{word} `{target}` of {file}"))
    };
    let test = TESTS.into_iter().find(does_something);
    let build = BUILDS.into_iter().find(does_something);
    let usable = |target: &&str| match needs_more(&whole(targets, target)) {
        None => true,
        Some(needs) => {
            notes.push(format!("{word} `{target}` of {file} uses {needs}, which a check does not have"));
            false
        }
    };
    let mut usable = usable;
    let test = test.filter(&mut usable);
    let build = build.filter(|target| needs_more(&whole(targets, target)).is_none());
    if test.is_none() && build.is_none() {
        return None;
    }
    let recipe = test.map(|target| whole(targets, target)).unwrap_or_default();
    Some(Candidate { test: test.map(command), build: build.map(command), recipe, ..Candidate::default() })
}

/// The recipe of a target with those of everything it depends on.
fn whole(targets: &Targets, target: &str) -> String {
    let (mut seen, mut open, mut text) = (BTreeSet::new(), vec![target], String::new());
    while let Some(name) = open.pop() {
        let Some((on, recipe)) = targets.get(name).filter(|_| seen.insert(name.to_owned())) else { continue };
        text.push_str(recipe);
        text.push('\n');
        open.extend(on.iter().map(String::as_str));
        // `$(MAKE) unit` and `just unit` depend on a target too.
        let calls =
            recipe.lines().filter(|line| ["make ", "just ", "task "].iter().any(|call| line.contains(call)));
        open.extend(calls.flat_map(str::split_whitespace).filter(|word| targets.contains_key(*word)));
    }
    text
}

/// A recipe with `$(CARGO)` and `${CARGO}` as `cargo`: variables are mostly named for what they hold.
fn with_plain_variables(recipe: &str) -> String {
    let mut out = String::with_capacity(recipe.len());
    let mut parts = recipe.split('$');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let inside = part.strip_prefix(['(', '{']).unwrap_or(part);
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
        match inside[end..].strip_prefix([')', '}']) {
            Some(rest) if inside.len() < part.len() => {
                out.push_str(&inside[..end].to_ascii_lowercase());
                out.push_str(rest);
            }
            _ => {
                out.push('$');
                out.push_str(part);
            }
        }
    }
    out
}

/// Reads `test unit: objects | folder` and the lines below it that begin with a tab.
///
/// Variables (`test = x`, `test := x`), comments, the list of `.PHONY` and values for one target (`test: CFLAGS = x`)
/// are not rules.
fn makefile(text: &str) -> Targets {
    let mut targets = Targets::new();
    let mut current: Vec<String> = Vec::new();
    let mut inside_define = false;
    for line in joined(text) {
        // The body of a `define` looks like a recipe and belongs to no target.
        if inside_define || line.starts_with("define ") {
            inside_define = !line.trim_start().starts_with("endef");
            continue;
        }
        if let Some(recipe) = line.strip_prefix('\t') {
            add_recipe(&mut targets, &current, recipe);
            continue;
        }
        let bare = line.split('#').next().unwrap_or_default().trim_end();
        if bare.trim().is_empty() {
            continue;
        }
        let Some((names, on, recipe)) = rule(bare) else {
            // A condition inside a recipe does not end it.
            let first = bare.split_whitespace().next().unwrap_or_default();
            if !["ifeq", "ifneq", "ifdef", "ifndef", "else", "endif"].contains(&first) {
                current.clear();
            }
            continue;
        };
        current = names.split_whitespace().take(NAMES_MAX).map(str::to_owned).collect();
        for name in &current {
            let entry = targets.entry(name.clone()).or_default();
            let on = on.split_whitespace().filter(|name| *name != "|").take(NAMES_MAX);
            entry.0.extend(on.map(str::to_owned));
        }
        add_recipe(&mut targets, &current, recipe);
    }
    // `.PHONY` and its like are settings of make.
    targets.retain(|name, _| !name.starts_with('.'));
    targets
}

fn add_recipe(targets: &mut Targets, names: &[String], recipe: &str) {
    let recipe = with_plain_variables(recipe.trim());
    if recipe.is_empty() || recipe.starts_with('#') {
        return;
    }
    for name in names {
        let text = &mut targets.entry(name.clone()).or_default().1;
        text.push_str(&recipe);
        text.push('\n');
    }
}

/// The names, what they depend on, and the recipe behind a semicolon; `None` if the line is not a rule.
fn rule(line: &str) -> Option<(&str, &str, &str)> {
    let colon = line.find(':')?;
    let (names, rest) = (&line[..colon], &line[colon + 1..]);
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    // `a := b`, `a ::= b`, and `a = b:c`.
    if rest.starts_with('=') || rest.starts_with(":=") || names.contains('=') {
        return None;
    }
    let (on, recipe) = rest.split_once(';').unwrap_or((rest, ""));
    // `test: CFLAGS = -g` and `test: export X := y` give a variable to a target.
    if on.contains('=') {
        return None;
    }
    // `a: b: c` is a rule with a pattern.
    let on = on.rsplit(':').next().unwrap_or(on);
    Some((names.trim_end_matches('&').trim(), on, recipe))
}

/// The lines of a text, where a line that ends in a backslash is joined with the next one.
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let (part, goes_on) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some(last) if open => {
                last.push(' ');
                last.push_str(part.trim_start());
            }
            _ => lines.push(part.to_owned()),
        }
        open = goes_on;
    }
    lines
}

/// Reads `test arg='x' *args: build` and the indented lines below it.
fn justfile(text: &str) -> Targets {
    let mut targets = Targets::new();
    let mut current = Vec::new();
    for line in joined(text) {
        if line.starts_with([' ', '\t']) {
            add_recipe(&mut targets, &current, &line);
            continue;
        }
        current.clear();
        let Some((head, on)) = just_rule(&line) else { continue };
        // A parameter without a value would have to be given.
        let mut words = head.split_whitespace();
        let Some(name) = words.next() else { continue };
        if words.any(|word| !word.contains('=') && !word.starts_with('*')) {
            continue;
        }
        current = vec![name.trim_start_matches('@').to_owned()];
        let on = on
            .split_whitespace()
            .filter(|word| *word != "&&")
            .map(|word| word.trim_matches(['(', ')']).to_owned());
        targets.entry(current[0].clone()).or_default().0.extend(on);
    }
    targets
}

fn just_rule(line: &str) -> Option<(&str, &str)> {
    if line.starts_with(['#', '[']) || line.contains(":=") {
        return None;
    }
    let (head, on) = line.split_once(':')?;
    ["import", "mod", "export", "set", "alias"]
        .iter()
        .all(|word| head.split_whitespace().next() != Some(word))
        .then(|| (head, on.split('#').next().unwrap_or(on)))
}

/// Reads the keys below `tasks:`, with every scalar below them as the recipe.
fn taskfile(text: &str) -> Targets {
    let mut targets = Targets::new();
    let (mut inside, mut depth) = (false, None);
    let mut current = Vec::new();
    for line in text.lines() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        if indent == 0 {
            inside = bare.trim_end() == "tasks:";
            (depth, current) = (None, Vec::new());
            continue;
        }
        if !inside {
            continue;
        }
        if indent <= *depth.get_or_insert(indent) {
            let Some((name, rest)) = bare.split_once(':') else { continue };
            current = vec![name.trim_matches(['\'', '"']).to_owned()];
            targets.entry(current[0].clone()).or_default();
            add_recipe(&mut targets, &current, rest);
        } else {
            task_line(&mut targets, &current, bare);
        }
    }
    targets
}

/// Reads a line below a task: `- task: other` and `deps: [a, b]` lead on, the rest is what it runs.
fn task_line(targets: &mut Targets, current: &[String], line: &str) {
    let item = line.trim_start_matches("- ");
    if item.starts_with("desc:") || item.starts_with("summary:") {
        return;
    }
    let list = item.strip_prefix("deps:").or_else(|| item.strip_prefix("task:"));
    if let (Some(list), Some(name)) = (list, current.first()) {
        let names = list.split(['[', ']', ',', ' ', '"', '\'']).filter(|name| !name.is_empty());
        targets.entry(name.clone()).or_default().0.extend(names.map(str::to_owned));
        return;
    }
    let recipe = item.strip_prefix("cmd:").or_else(|| item.strip_prefix("sh:")).unwrap_or(item);
    if !matches!(recipe.trim_end(), "cmds:" | "silent: true" | "") {
        add_recipe(targets, current, recipe.trim().trim_matches(['\'', '"']));
    }
}
