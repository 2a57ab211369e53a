//! Remembers what turns were played: `<scenario>.used/<turn>/<launch keys>`, made atomically.
//!
//! A repeated launch leaves the same mark. So marks count launches that differ, and not how often one was started.

use super::problem;
use super::scenario::{Asked, Scenario, Turn};
use crate::error::AgentError;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A turn that was not played as often as it should have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// The place of the turn in the file, counted from 1.
    pub index: usize,
    /// The keys of the turn.
    pub when: BTreeMap<&'static str, String>,
    /// How many different launches should have played it.
    pub wanted: u32,
    /// How many different launches did play it.
    pub used: u32,
}

/// Returns the turns of a scenario that a test left unused. A test asks this at its end, so that no dead script
/// remains.
pub fn unused(scenario: &Path) -> Result<Vec<Unused>, AgentError> {
    let turns = Scenario::load(scenario)?.turns;
    let mut unused = Vec::new();
    for turn in turns {
        let used = count(&folder(scenario, &turn))?;
        let wanted = turn.times.unwrap_or(1);
        if used < wanted && !turn.optional {
            unused.push(Unused { index: turn.index, when: turn.when, wanted, used });
        }
    }
    Ok(unused)
}

/// Marks the turn as played by this launch. It is an error if more launches play it than it allows.
pub(super) fn mark(scenario: &Path, turn: &Turn, asked: &Asked) -> Result<(), AgentError> {
    let folder = folder(scenario, turn);
    let mark = folder.join(file_name(asked));
    fs::create_dir_all(&folder).map_err(|source| AgentError::io("create", &folder, source))?;
    // Opening without truncation succeeds whether or not the mark exists, so two launches at once do not disturb each
    // other.
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&mark)
        .map_err(|source| AgentError::io("create", &mark, source))?;
    let Some(times) = turn.times else {
        return Ok(());
    };
    let used = count(&folder)?;
    if used > times {
        let fault = format!("turn {} is for {times} launch(es), {asked} is number {used}", turn.index);
        return Err(problem(scenario, fault));
    }
    Ok(())
}

fn folder(scenario: &Path, turn: &Turn) -> PathBuf {
    let mut folder = scenario.as_os_str().to_owned();
    folder.push(".used");
    PathBuf::from(folder).join(turn.index.to_string())
}

fn count(folder: &Path) -> Result<u32, AgentError> {
    match fs::read_dir(folder) {
        Ok(marks) => Ok(u32::try_from(marks.count()).unwrap_or(u32::MAX)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(source) => Err(AgentError::io("read", folder, source)),
    }
}

/// Writes the launch's keys as a file name: plain characters stay, others are written as numbers.
fn file_name(asked: &Asked) -> String {
    const NAME_MAX: usize = 200;
    let mut name = String::new();
    for byte in asked.to_string().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'=' | b',' => {
                name.push(char::from(byte))
            }
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.len() > NAME_MAX {
        let tail = tribunal_core::hash::fnv1a(name.bytes());
        name.truncate(NAME_MAX);
        name.push_str(&format!("~{tail:016x}"));
    }
    name
}
