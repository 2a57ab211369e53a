//! JavaScript and TypeScript: the scripts of package.json, run by the package manager that the project names, and Deno.
//!
//! A script is used only if it tests something and ends by itself. Many projects have a placeholder or a watcher under
//! that name, and a check that waits for a key would only end at its deadline.

use super::{Candidate, Files, FoundCommand, Toolchain, needs_more, programs};
use serde_json::Value;

/// How many packages of a workspace are examined for a test script.
const PACKAGES_MAX: usize = 50;
/// Words of a script that waits for a person, or for a file to change.
const WATCHES: [&str; 4] = ["--watch", "--watchAll", "--ui", "--open"];

/// The package manager that `packageManager` names, otherwise the one whose lock file lies there, otherwise npm.
fn manager(files: &Files<'_>, package: &Value) -> &'static str {
    const KNOWN: [&str; 4] = ["pnpm", "yarn", "bun", "npm"];
    let named = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    // `pnpm@9.1.0` names a version as well.
    let named = named.split('@').next().unwrap_or_default();
    let lock = || match files.first(&[
        "pnpm-lock.yaml",
        "yarn.lock",
        "bun.lock",
        "bun.lockb",
        "package-lock.json",
    ]) {
        Some("pnpm-lock.yaml") => "pnpm",
        Some("yarn.lock") => "yarn",
        Some("bun.lock" | "bun.lockb") => "bun",
        _ => "npm",
    };
    KNOWN.into_iter().find(|known| *known == named).unwrap_or_else(lock)
}

/// The commands that package.json names.
pub(super) fn candidate(files: &Files<'_>, notes: &mut Vec<String>) -> Option<Candidate> {
    let package = files.json("package.json", notes)?;
    let manager = manager(files, &package);
    let mut candidate = Candidate::of(Toolchain::Node);
    let script = |name: &str| package.get("scripts")?.get(name)?.as_str().map(str::trim);
    for name in ["test", "test:ci"] {
        let Some(text) = script(name) else { continue };
        match unusable(text) {
            Some(why) => notes.push(format!("`scripts.{name}` of package.json {why}")),
            None => {
                candidate =
                    candidate.test(&test_of(manager, name), format!("`scripts.{name}` of package.json"));
                candidate.recipe = with_parts(&package, text);
                break;
            }
        }
    }
    // A project with an unusable test script has said what its tests are, so nothing else is tried.
    if candidate.test.is_none() && script("test").is_none() {
        candidate.test = workspace(files, &package, manager, notes).or_else(|| own_runner(files, manager));
    }
    if script("build").is_some_and(|text| unusable(text).is_none()) {
        candidate = candidate.build(&format!("{manager} run build"), "`scripts.build` of package.json");
    }
    (candidate.test.is_some() || candidate.build.is_some()).then_some(candidate)
}

/// What the scripts run that the arguments of a package manager name, with those around them and those they call.
pub(super) fn recipe_of(files: &Files<'_>, args: &[String]) -> String {
    script_of(files, "package.json", args)
}

/// The same for the scripts of any manifest.
pub(super) fn script_of(files: &Files<'_>, manifest: &str, args: &[String]) -> String {
    let Some(package) = files.json(manifest, &mut Vec::new()) else { return String::new() };
    let text = |name: &str| match package.get("scripts")?.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => Some(lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")),
        _ => None,
    };
    let mut open: Vec<String> = args.iter().filter(|arg| !arg.starts_with('-')).cloned().collect();
    let (mut seen, mut recipe) = (std::collections::BTreeSet::new(), String::new());
    // Scripts may call each other in a circle.
    while let Some(name) = open.pop().filter(|_| seen.len() < PACKAGES_MAX) {
        if !seen.insert(name.clone()) {
            continue;
        }
        // The managers run these two hooks around a script without being told.
        for name in [format!("pre{name}"), name.clone(), format!("post{name}")] {
            let Some(text) = text(&name) else { continue };
            open.extend(text.split_whitespace().map(|word| word.trim_matches(['"', '\'', '@']).to_owned()));
            recipe.push_str(&text);
            recipe.push('\n');
        }
    }
    recipe
}

fn test_of(manager: &str, name: &str) -> String {
    match (manager, name) {
        ("npm", "test") => "npm test --silent".to_owned(),
        // `bun test` is a runner of its own, not the script.
        ("bun", _) => format!("bun run {name}"),
        (_, "test") => format!("{manager} test"),
        _ => format!("{manager} run {name}"),
    }
}

/// Why a script is not a test or build command.
fn unusable(script: &str) -> Option<String> {
    // Running the placeholder always fails, so every change would look broken.
    if script.contains("no test specified") {
        return Some("is the placeholder of `npm init`: there is no test command in it".to_owned());
    }
    let programs = programs(script);
    if programs.iter().all(|program| ["echo", "printf", "true", "exit", ":"].contains(program)) {
        return Some("runs nothing".to_owned());
    }
    let waits = script.split_whitespace().find(|word| WATCHES.contains(word));
    if let Some(word) = waits {
        return Some(format!("waits with {word}, and nobody is there to end it"));
    }
    needs_more(script).map(|needs| format!("uses {needs}, which a check does not have"))
}

/// The script with those of its parts, such as `test:unit`, so that one sees what it covers.
fn with_parts(package: &Value, script: &str) -> String {
    let scripts = package.get("scripts").and_then(Value::as_object).into_iter().flatten();
    let parts = scripts.filter(|(name, _)| name.starts_with("test:") && script.contains(name.as_str()));
    parts.filter_map(|(_, text)| text.as_str()).fold(script.to_owned(), |all, part| format!("{all}\n{part}"))
}

/// The command for all packages of a workspace, if some of them have a test script and the root has none.
fn workspace(
    files: &Files<'_>,
    package: &Value,
    manager: &str,
    notes: &mut Vec<String>,
) -> Option<FoundCommand> {
    let named =
        if files.has("pnpm-workspace.yaml") { "pnpm-workspace.yaml" } else { "`workspaces` of package.json" };
    if package.get("workspaces").is_none() && !files.has("pnpm-workspace.yaml") {
        return None;
    }
    let inner = files.project.paths.iter().filter(|path| path.ends_with("/package.json"));
    let tested = inner.filter(|path| !path.contains("node_modules/")).take(PACKAGES_MAX).any(|path| {
        let text = files.read(path).unwrap_or_default();
        let package: Value = serde_json::from_str(&text).unwrap_or_default();
        package.pointer("/scripts/test").and_then(Value::as_str).is_some_and(|text| unusable(text).is_none())
    });
    let command = match manager {
        _ if !tested => return None,
        "npm" => "npm test --workspaces --if-present",
        "pnpm" => "pnpm -r test",
        "bun" => "bun run --filter * test",
        other => {
            notes.push(format!("{named}: {other} has no one command for the tests of all packages"));
            return None;
        }
    };
    Some(FoundCommand::of(command, format!("{named}, and `scripts.test` of its packages")))
}

/// Bun's own runner, which needs no script to be meant.
fn own_runner(files: &Files<'_>, manager: &str) -> Option<FoundCommand> {
    let test = files.any(is_script_test).filter(|_| manager == "bun")?;
    Some(FoundCommand::of("bun test", format!("{test}, and the lock file of bun")))
}

fn is_script_test(path: &str) -> bool {
    const ENDS: [&str; 6] = ["ts", "tsx", "js", "jsx", "mjs", "mts"];
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, end)) = name.rsplit_once('.') else { return false };
    ENDS.contains(&end)
        && !path.contains("node_modules/")
        && [".test", "_test", ".spec"].iter().any(|mark| stem.ends_with(mark))
}

/// The task `test` of deno.json, otherwise Deno's own runner if there is a file for it.
pub(super) fn deno(files: &Files<'_>) -> Option<Candidate> {
    let name = files.first(&["deno.json", "deno.jsonc"])?;
    let text = without_comments(&files.text(name)?);
    let settings: Value = serde_json::from_str(&text).unwrap_or_default();
    let task = settings.pointer("/tasks/test");
    // A task is a text, or a table with the text in it.
    let task = task.and_then(|task| task.as_str().or_else(|| task.get("command")?.as_str()));
    let candidate = Candidate::of(Toolchain::Deno);
    match task {
        Some(task) if unusable(task).is_none() => {
            let recipe = task.to_owned();
            Some(Candidate { recipe, ..candidate.test("deno task test", format!("`tasks.test` of {name}")) })
        }
        _ => {
            let test = files.any(is_script_test)?;
            Some(candidate.test("deno test --no-prompt", format!("{name} and {test}")))
        }
    }
}

/// JSON without the comments of JSONC. Text in quotes is left alone.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some(_)) if quoted => {
                out.push(c);
                out.extend(rest.next());
                continue;
            }
            ('"', _) => quoted = !quoted,
            ('/', Some('/')) if !quoted => {
                rest.by_ref().find(|c| *c == '\n');
                // The line break stays, so that places in errors remain right.
                out.push('\n');
                continue;
            }
            ('/', Some('*')) if !quoted => {
                let mut last = ' ';
                rest.by_ref().skip(1).find(|c| std::mem::replace(&mut last, *c) == '*' && *c == '/');
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}
