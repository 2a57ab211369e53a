//! `tribunal trust`: shows the settings of this repository that reach beyond the sandbox, and trusts them until a value
//! changes.
//!
//! Trust is by digest of the value, not by file: a pull that changes a trusted value takes the trust away. The record
//! is kept with the user's state, so nothing in the repository can grant it.

use crate::args::{Globals, SetArgs, Trust};
use crate::config::{self, Config, Entry, all_digest, digest};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal};
use tribunal_view::plain;
use tribunal_world::trusted;

/// Shows, trusts or forgets.
pub fn run(globals: &Globals, args: &Trust) -> Result<Done, Failure> {
    let place = Place::here()?;
    if args.remove {
        // Before the settings are read: trust can be taken back even if the file is broken.
        keep(&place, BTreeSet::new())?;
        out::say("nothing that this repository sets beyond the sandbox is trusted any more");
        return Ok(Done::Passed);
    }
    let look = config::look_here(Some(&place), &SetArgs::default(), None)?;
    // A file that cannot be read whole is not trusted in part: the unread part is what nobody has seen.
    if let Some(wrong) = look.wrong {
        return Err(wrong);
    }
    let values: Vec<Entry> = look.reaching.iter().map(|(entry, _)| entry.clone()).collect();
    if !args.show {
        keep(&place, values.iter().map(digest).collect())?;
    }
    // What was just trusted is shown as trusted.
    let trusted = |was: bool| was || !args.show;
    if globals.json {
        out::json(&serde_json::json!({
            "values": look.reaching.iter().map(|(entry, was)| row(entry, trusted(*was))).collect::<Vec<_>>(),
            "digest": all_digest(values.iter()),
        }))?;
        return Ok(Done::Passed);
    }
    for (entry, was) in &look.reaching {
        let word = if trusted(*was) { "trusted" } else { "not trusted" };
        let value = plain::line(&entry.value.to_string());
        out::data(&format!("{}  {} = {value}  # {word}\n", entry.origin, entry.key))?;
    }
    if values.is_empty() {
        out::say("this repository sets nothing beyond the sandbox: there is nothing to trust");
    } else if args.show {
        out::say(&format!(
            "`tribunal trust` trusts these; in CI, TRIBUNAL_TRUST={}",
            all_digest(values.iter())
        ));
    } else {
        out::say("trusted in this repository until a value changes; `tribunal trust --remove` takes it back");
    }
    Ok(Done::Passed)
}

/// Trusts what a folder's own file sets, for a project that this program wrote itself.
pub fn own(place: &Place) -> Result<(), Failure> {
    let look = config::look_here(Some(place), &SetArgs::default(), None)?;
    keep(place, look.reaching.iter().map(|(entry, _)| digest(entry)).collect())
}

/// Asks a person at a terminal, once, whether to trust what does not count yet. Returns true if the settings have to be
/// read again.
///
/// Anything but a yes is a no. Everybody else gets a note and goes on without those settings.
pub fn offer(globals: &Globals, place: &Place, config: &Config) -> Result<bool, Failure> {
    let Some(note) = config.untrusted_note() else { return Ok(false) };
    let look = config::look_here(Some(place), &SetArgs::default(), None)?;
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if globals.json || globals.quiet || !terminal || look.wrong.is_some() {
        out::say(&format!("note: {note}"));
        return Ok(false);
    }
    out::say("This repository sets what reaches beyond the sandbox, and you have not trusted it:");
    for (entry, _) in look.reaching.iter().filter(|(_, was)| !was) {
        let value = plain::line(&entry.value.to_string());
        out::say(&format!("  {}  {} = {value}", entry.origin, entry.key));
    }
    out::say("Trust it until a value changes? [y/N]");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    if !matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        out::say(&format!("note: {note}"));
        return Ok(false);
    }
    // Trust what was shown, and nothing that got into the file meanwhile.
    keep(place, look.reaching.iter().map(|(entry, _)| digest(entry)).collect())?;
    Ok(true)
}

fn keep(place: &Place, values: BTreeSet<String>) -> Result<(), Failure> {
    trusted::trust(&place.root, values).map_err(|error| {
        Failure::work(format!("cannot record what you trust: {error}"))
            .hint("it is kept in $XDG_STATE_HOME/tribunal, or ~/.local/state/tribunal")
    })
}

fn row(entry: &Entry, trusted: bool) -> serde_json::Value {
    serde_json::json!({
        "key": entry.key.to_string(),
        "value": entry.value,
        "file": entry.origin.file.as_ref().map(|file| file.display().to_string()),
        "line": entry.origin.place.map(|(line, _)| line),
        "trusted": trusted,
    })
}
