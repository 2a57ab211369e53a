//! `tribunal config show`: every key, its value, and where the value came from.
//!
//! It goes on after an error and fails at the end, because a person who looks for a wrong setting needs to see the
//! others.

use crate::args::{Config as ConfigArgs, ConfigShow, Globals};
use crate::config::{self, Look};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use tribunal_view::style::{columns, pad};

/// Prints the settings, or the part of them below a key.
pub fn run(globals: &Globals, args: &ConfigArgs) -> Result<Done, Failure> {
    let ConfigArgs::Show(args) = args;
    let dir = std::env::current_dir().ok();
    // Without a project there are still the defaults, the user's file and the environment to show.
    let place = dir.as_deref().and_then(Place::around);
    let config = config::look_here(place.as_ref(), &args.set, args.diff.as_deref())?;
    if !globals.quiet {
        config.notes.iter().for_each(|note| out::say(&format!("note: {note}")));
        for (entry, _) in config.reaching.iter().filter(|(_, trusted)| !trusted) {
            out::say(&format!("note: {}: `{}` is not used: it is not trusted", entry.origin, entry.key));
        }
    }
    if globals.json {
        out::json(&json(&config, args))?
    } else {
        out::data(&text(&config, args)?)?
    }
    // After the output: what could be read was shown.
    config.wrong.map_or(Ok(Done::Passed), Err)
}

fn chosen<'a>(config: &'a Look, args: &ConfigShow) -> Vec<(String, &'a config::Value)> {
    let wanted = args.key.as_deref().unwrap_or_default();
    let matches = |key: &str| {
        wanted.is_empty()
            || key == wanted
            // `run` shows the table `run`, but not `run_later`: the dot belongs to the comparison.
            || key.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
    };
    let all = config.values.iter().map(|(key, value)| (key.to_string(), value));
    all.filter(|(key, _)| matches(key)).collect()
}

fn text(config: &Look, args: &ConfigShow) -> Result<String, Failure> {
    let chosen = chosen(config, args);
    if chosen.is_empty() {
        let key = tribunal_view::plain::clipped(args.key.as_deref().unwrap_or_default(), 80);
        return Err(
            Failure::usage(format!("there is no setting {key:?}")).hint("`tribunal config show` lists all")
        );
    }
    let lines: Vec<(String, String)> = chosen
        .iter()
        .map(|(key, value)| {
            let shown = tribunal_view::plain::line(&value.value.to_string());
            (format!("{key} = {shown}"), value.origin.to_string())
        })
        .collect();
    // One long value must not push all origins off the screen.
    let widest = lines.iter().map(|(line, _)| columns(line)).max().unwrap_or(0).min(60);
    let line = |(line, origin): &(String, String)| {
        if args.origin { format!("{}  # {origin}\n", pad(line, widest)) } else { format!("{line}\n") }
    };
    Ok(lines.iter().map(line).collect())
}

fn json(config: &Look, args: &ConfigShow) -> serde_json::Map<String, serde_json::Value> {
    let entry = |(key, value): (String, &config::Value)| {
        let origin = &value.origin;
        let place = origin.place;
        let entry = serde_json::json!({
            "value": value.value,
            "layer": origin.layer.word(),
            "file": origin.file.as_ref().map(|file| file.display().to_string()),
            "line": place.map(|(line, _)| line),
            "column": place.map(|(_, column)| column),
            "name": origin.name,
            "commit": origin.at,
        });
        (key, entry)
    };
    chosen(config, args).into_iter().map(entry).collect()
}
