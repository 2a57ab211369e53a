//! `cargo xtask real-clis`: the real agent programs against a scripted model server on loopback. It shows what each
//! really does with the rows and parsers of Tribunal; no account is used and nothing is spent.

mod agents;
mod cases;
mod chain;
mod echo;
mod install;
mod plugin;
mod server;
mod whole;

use crate::out;
use cases::{Bench, CASES, Case, Cell};
use install::{PINS, Pin};
use server::Server;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tribunal_agent::Adapters;
use tribunal_process::Containment;
use tribunal_world::Sandbox;

/// What goes wrong is told in words.
pub type Res<T> = Result<T, String>;

/// Where the server is, from the project's root.
const SERVER: &str = "../shared/tools/scripted_model_server.py";

/// Flags of the chore.
#[derive(clap::Args)]
pub struct Args {
    /// Only what is installed already, and only the quick cases
    #[arg(long)]
    short: bool,
    /// Only this agent, the `whole` runs, the `chain` or the `echo`; several times for several
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only the cases whose name contains this
    #[arg(long, value_name = "WORD")]
    case: Option<String>,
    /// Where programs are installed and cases are played; no folder above it may be writable by everybody
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// The scripted model server
    #[arg(long, value_name = "FILE", default_value = SERVER)]
    server: PathBuf,
    /// Leave out the whole run with two programs
    #[arg(long)]
    no_run: bool,
    /// The program; built first if not given
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Plays all cases and prints the table.
pub fn run(args: &Args) -> ExitCode {
    match play(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => {
            out::progress(format!("error: {text}"));
            ExitCode::from(2)
        }
    }
}

fn play(args: &Args) -> Res<bool> {
    if !args.server.is_file() {
        let at = args.server.display();
        out::line(format!("skipped: the scripted model server is not here ({at}); --server FILE names it"));
        return Ok(true);
    }
    let cache = match &args.cache {
        Some(cache) => std::path::absolute(cache).map_err(|error| error.to_string())?,
        None => beside_us()?,
    };
    // Where nothing is installed nothing is played, and the place does not matter.
    if !args.short || PINS.iter().any(|pin| pin.installed(&cache).is_some()) {
        private(&cache)?;
    }
    let wanted = |pin: &&Pin| args.only.is_empty() || args.only.iter().any(|name| name == pin.agent);
    let ours = crate::program::tribunal(args.binary.as_deref())?;
    let mut rows = Vec::new();
    for pin in PINS.iter().filter(wanted) {
        let bin = match args.short {
            true => pin.installed(&cache),
            false => Some(pin.install(&cache)?),
        };
        match bin {
            Some(bin) => rows.push(row(args, pin, &bin, &cache, &ours)?),
            None => out::progress(format!("{} {} is not installed: left out", pin.agent, pin.version)),
        }
    }
    let cells = rows.iter().flat_map(|row: &Row| row.cells.iter().map(|(_, cell)| cell));
    let mut good = !cells.into_iter().any(|cell| matches!(cell, Cell::Bad(_)));
    table(&rows);
    let long = !args.no_run && args.case.is_none() && !args.short;
    let wanted = |name: &str| long && (args.only.is_empty() || args.only.iter().any(|one| one == name));
    if wanted("whole") {
        good &= whole::run(args, &cache, &ours)?;
    }
    if wanted("chain") {
        good &= chain::run(args, &cache, &ours)?;
    }
    if wanted("echo") {
        good &= echo::run(args, &cache, &ours)?;
    }
    Ok(good)
}

/// Makes a folder a repository of its own.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs as a user would")]
fn repository(dir: &Path) -> Res<()> {
    std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    if dir.join(".git").exists() {
        return Ok(());
    }
    let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(dir).status();
    match made {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("git init: {status}")),
        Err(error) => Err(format!("git: {error}")),
    }
}

/// Some programs run no command below a folder that is everybody's.
fn private(cache: &Path) -> Res<()> {
    use std::os::unix::fs::PermissionsExt;
    let open = |dir: &&Path| dir.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o002 != 0);
    match cache.ancestors().find(open) {
        None => Ok(()),
        Some(dir) => Err(format!(
            "{} lies in {}, where everybody may write\nhint: --cache DIR names another folder",
            cache.display(),
            dir.display()
        )),
    }
}

/// The cache in the target folder.
fn beside_us() -> Res<PathBuf> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = own.ancestors().nth(2).ok_or("this program is in no target folder")?;
    Ok(target.join("real-clis"))
}

/// One program's line of the table.
struct Row {
    pin: &'static Pin,
    cells: Vec<(&'static str, Cell)>,
}

fn row(args: &Args, pin: &'static Pin, bin: &Path, cache: &Path, ours: &Path) -> Res<Row> {
    let dir = cache.join("played").join(pin.agent);
    let _old = std::fs::remove_dir_all(&dir);
    let server = Server::start(&args.server, &dir.join("server"), &server::rules())?;
    let agent = agents::agent(pin.agent, bin, &dir.join("home"), server.port)?;
    let mut adapters = Adapters::built_in().map_err(|error| error.to_string())?;
    adapters.add_toml("real-clis", install::ACP_ROWS).map_err(|error| error.to_string())?;
    let sandbox = Sandbox::of("auto", || Containment::detect().can_sandbox());
    let bench = Bench {
        adapters: &adapters,
        sandbox,
        ours,
        row: adapters.get(pin.agent).map_err(|error| error.to_string())?,
        agent: &agent,
        server: &server,
        dir: &dir,
    };
    let wanted = |case: &&Case| {
        (case.short || !args.short) && args.case.as_ref().is_none_or(|word| case.name.contains(word.as_str()))
    };
    let mut cells = Vec::new();
    for case in CASES.iter().filter(wanted) {
        let cell = (case.run)(&bench);
        out::progress(format!("{:9} {:12} {}", pin.agent, case.name, words(&cell)));
        cells.push((case.name, cell));
    }
    Ok(Row { pin, cells })
}

fn words(cell: &Cell) -> String {
    match cell {
        Cell::Good(note) if note.is_empty() => "yes".to_owned(),
        Cell::Good(note) => format!("yes, {note}"),
        Cell::Not(why) => format!("–, {why}"),
        Cell::Bad(why) => format!("NO: {why}"),
    }
}

fn table(rows: &[Row]) {
    let Some(first) = rows.first() else { return };
    let heads: Vec<String> =
        rows.iter().map(|row| format!("{} {}", row.pin.agent, row.pin.version)).collect();
    out::line(format!("| | {} |", heads.join(" | ")));
    out::line(format!("|---|{}", "---|".repeat(rows.len())));
    for (at, (name, _)) in first.cells.iter().enumerate() {
        let cells: Vec<String> =
            rows.iter().filter_map(|row| Some(words(&row.cells.get(at)?.1).replace('|', "/"))).collect();
        out::line(format!("| {name} | {} |", cells.join(" | ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn where_nothing_is_installed_nothing_is_wrong_in_short() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let us = std::env::current_exe().unwrap();
        let args = |short| Args {
            short,
            only: Vec::new(),
            case: None,
            cache: Some(folder.path().join("cache")),
            server: us.clone(),
            no_run: true,
            binary: Some(us.clone()),
        };
        assert_eq!(play(&args(true)), Ok(true));
        assert!(play(&args(false)).unwrap_err().contains("everybody may write"));
    }
}
