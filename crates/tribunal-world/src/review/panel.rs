//! Assembles a review panel: finds the roster and the personalities in the project, in the user's folder and among the
//! built-in ones. The tables decide who reviews; this file only finds them.
//!
//! A change must have no say in who reviews it. `Ground` therefore reads a document that git tracks at the base of the
//! change, and the working tree only for documents that git does not have.

use crate::build::polish::POLISHER;
use crate::project::Project;
use crate::project::error::SetupError;
use crate::project::inside::read_plain;
use crate::setup::examine::ReviewAsk;
use crate::write_atomic;
use std::path::{Path, PathBuf};
use tribunal_agent::roster::{self, Personality};
use tribunal_agent::tool::Tools;
use tribunal_core::roster::{Pick, Roster};
use tribunal_engine::run_state::{ReviewNote, ReviewerNote};
use tribunal_engine::settings::{RoleSettings, Settings};
use tribunal_git::{GitPath, Oid};

const ROSTER: &str = "roster.toml";
/// The roster of a run, in the run's folder.
const KEPT: &str = "roster.json";

/// What a panel is chosen by.
pub(crate) struct Ground<'a> {
    pub(crate) project: &'a Project,
    /// The base of the change. Documents that git tracks are read there.
    pub(crate) base: &'a Oid,
    /// The user's own commit. It says whether git tracks a document.
    pub(crate) user: &'a Oid,
    pub(crate) changed: &'a [String],
    /// The documents in which the phase describes itself.
    pub(crate) documents: &'a str,
}

impl Ground<'_> {
    /// Reads a document of the planning folder. One that git tracks counts as it was before the change.
    fn planned(&self, name: &str) -> Option<String> {
        let path = format!("{}/{name}", self.project.planning());
        let git = GitPath::from(path.as_str());
        let at = |commit: &Oid| self.project.repo().file_at(commit, &git).ok().flatten();
        let bytes = match at(self.user) {
            // Tracked but missing at the base: the change brings it, so it does not exist for this review.
            Some(_) => at(self.base)?,
            None => read_plain(&self.project.root().join(&path)).ok()?,
        };
        String::from_utf8(bytes).ok()
    }

    fn owned(name: &str) -> Option<String> {
        String::from_utf8(read_plain(&user_folder()?.join(name)).ok()?).ok()
    }

    /// The roster: the project's, the user's, or the built-in one.
    pub(crate) fn roster(&self) -> Result<Roster, SetupError> {
        if let Some(text) = self.planned(ROSTER) {
            return Ok(roster::read_roster(&format!("{}/{ROSTER}", self.project.planning()), &text)?);
        }
        if let Some(text) = Ground::owned(ROSTER) {
            return Ok(roster::read_roster("your roster.toml", &text)?);
        }
        Ok(roster::built_in()?)
    }

    /// The personality of a reviewer, and where it was found. A file without text is skipped with a note.
    pub(crate) fn person(&self, id: &str, notes: &mut Vec<String>) -> Option<(Personality, &'static str)> {
        // The id becomes part of a path, so it may not contain a slash.
        let plain = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !plain {
            return None;
        }
        let name = format!("agents/{id}.md");
        let texts = [("project", self.planned(&name)), ("user", Ground::owned(&name))];
        for (found, text) in texts {
            match text.map(|text| roster::read_personality(id, &text)) {
                Some(Some(person)) => return Some((person, found)),
                Some(None) => notes.push(format!("{name} ({found}) holds no words and was passed over")),
                None => {}
            }
        }
        roster::person(id).map(|person| (person, "built-in"))
    }
}

/// The user's own settings folder.
fn user_folder() -> Option<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    Some(config.or_else(home)?.join("tribunal"))
}

/// Chooses the reviewers, and gives them and the fixers their personalities.
pub(crate) fn compose(
    ground: &Ground<'_>,
    roster: &Roster,
    settings: &mut Settings,
    note: &mut ReviewNote,
    ask: &ReviewAsk,
    tools: &Tools,
) -> Result<(), SetupError> {
    let words = ground.documents.to_lowercase();
    note.types = roster.kinds_of(ground.changed, &words);
    // No agent is configured for reviewers: the review consists of its tools.
    if settings.agents.adapter_for(&["reviewer"]).is_none() {
        return Ok(());
    }
    let picks = picks(roster, ground, settings, note, ask, tools, &words)?;
    let mut absent = Vec::new();
    for pick in picks {
        reviewer(ground, roster, settings, note, &pick, &mut absent)?;
    }
    if ask.fix {
        let polisher = settings.phase.polish.then(|| POLISHER.to_owned());
        for id in roster.fixers().into_iter().chain(polisher) {
            match ground.person(&id, &mut absent) {
                Some((person, _)) => inject(settings, &id, &["fixer", "dev"], &person.text),
                None => absent.push(format!(
                    "{id}: no personality was found; what is found in its field is put to you"
                )),
            }
        }
    }
    note.absent.extend(absent);
    Ok(())
}

/// Gives everybody on the roster their personality before the panel is known.
///
/// A run reads the personalities once, when it begins, and keeps to them.
pub(crate) fn people(ground: &Ground<'_>, settings: &mut Settings) -> Result<Roster, SetupError> {
    let roster = ground.roster()?;
    let fixers = roster.fixers().into_iter().chain([POLISHER.to_owned()]);
    let parts = [(roster.names(), &["reviewer"][..]), (fixers.collect(), &["fixer", "dev"])];
    for (ids, like) in parts {
        for id in ids {
            let own = settings.agents.roles.get(&id).is_some_and(|role| role.personality.is_some());
            // A personality in the settings wins over one that is found.
            if let Some((person, _)) = ground.person(&id, &mut Vec::new()).filter(|_| !own) {
                inject(settings, &id, like, &person.text);
            }
        }
    }
    Ok(roster)
}

/// Who is on the panel, and why. An error if somebody is named who does not exist.
fn picks(
    roster: &Roster,
    ground: &Ground<'_>,
    settings: &Settings,
    note: &ReviewNote,
    ask: &ReviewAsk,
    tools: &Tools,
    words: &str,
) -> Result<Vec<Pick>, SetupError> {
    let named: Vec<Pick> = ask
        .panel
        .iter()
        .filter(|name| tools.get(name).is_none())
        .map(|id| Pick { id: id.clone(), why: "named".to_owned() })
        .collect();
    for pick in &named {
        let own = settings.agents.roles.get(&pick.id).is_some_and(|role| role.personality.is_some());
        if !own && ground.person(&pick.id, &mut Vec::new()).is_none() {
            let known: Vec<String> =
                tools.names().map(str::to_owned).chain(roster::people().map(str::to_owned)).collect();
            // A misspelt name must not just make the panel smaller.
            return Err(SetupError::Refused(format!(
                "there is neither a tool nor a reviewer {:?}\nhint: there are {}",
                pick.id,
                known.join(", ")
            )));
        }
    }
    // The most specific choice wins: names on the command line, then the settings, then the roster's tables.
    Ok(match (&ask.panel[..], &settings.agents.phase_reviewers[..], settings.phase.panel.as_str()) {
        ([_, ..], _, _) => named,
        ([], reviewers @ [_, ..], _) => reviewers
            .iter()
            .map(|id| Pick { id: id.clone(), why: "agents.phase_reviewers".to_owned() })
            .collect(),
        ([], [], "domains") => roster.panel_by_fields(&roster.fields_of(ground.changed, words)),
        ([], [], _) => roster.panel(&note.types),
    })
}

/// Puts one reviewer on the panel. A reviewer without a personality is replaced by the one who always reviews.
fn reviewer(
    ground: &Ground<'_>,
    roster: &Roster,
    settings: &mut Settings,
    note: &mut ReviewNote,
    pick: &Pick,
    absent: &mut Vec<String>,
) -> Result<(), SetupError> {
    let own = settings.agents.roles.get(&pick.id).and_then(|role| role.personality.clone());
    let found = match own {
        Some(text) => Some((Personality { id: pick.id.clone(), text, ..Personality::default() }, "settings")),
        None => ground.person(&pick.id, absent),
    };
    let (person, place) = match found {
        Some(found) => found,
        None => {
            let always = &roster.always;
            absent.push(format!("{}: no personality was found; {always} stands in", pick.id));
            ground.person(always, absent).ok_or_else(|| {
                SetupError::Refused(format!(
                    "{always} has no personality, and nobody can stand in for it\nhint: put agents/{always}.md into the planning folder, or name another in roster.toml"
                ))
            })?
        }
    };
    // Several missing reviewers may be replaced by the same one, who still reviews once.
    if !note.reviewers.iter().any(|reviewer| reviewer.id == person.id) {
        inject(settings, &person.id, &["reviewer"], &person.text);
        note.reviewers.push(ReviewerNote {
            role: person.role.clone(),
            why: pick.why.clone(),
            owns: roster.owned_by(&person.id),
            found: place.to_owned(),
            id: person.id,
        });
    }
    Ok(())
}

/// Gives one reviewer or role its personality, unless it has one of its own.
pub(crate) fn personify(project: &Project, settings: &mut Settings, id: &str, others: &[&str]) {
    let own = settings.agents.roles.get(id).is_some_and(|role| role.personality.is_some());
    let planned = project.root().join(project.planning()).join("agents").join(format!("{id}.md"));
    let texts = [crate::project::inside::text(&planned), Ground::owned(&format!("agents/{id}.md"))];
    let found = texts.into_iter().flatten().find_map(|text| roster::read_personality(id, &text));
    if let Some(person) = found.or_else(|| roster::person(id)).filter(|_| !own) {
        inject(settings, id, others, &person.text);
    }
}

/// Adds a role with this personality. Everything else is as set for the role, or for the first of `others` that is set.
fn inject(settings: &mut Settings, id: &str, others: &[&str], text: &str) {
    let roles = &mut settings.agents.roles;
    let like = std::iter::once(id).chain(others.iter().copied()).find_map(|name| roles.get(name)).cloned();
    let role = RoleSettings { personality: Some(text.to_owned()), ..like.unwrap_or_default() };
    roles.insert(id.to_owned(), role);
}

/// Keeps the roster in the run's folder for as long as the run goes on.
pub(crate) fn keep(dir: &Path, roster: &Roster) -> Result<(), SetupError> {
    let path = dir.join(KEPT);
    let text = serde_json::to_string(roster).map_err(tribunal_engine::engine::EngineError::Json)?;
    write_atomic(&path, text.as_bytes()).map_err(|error| SetupError::io("write", &path, &error))
}

/// The roster of a run; the built-in one if none was kept.
pub(crate) fn kept(dir: &Path) -> Roster {
    let read = std::fs::read(dir.join(KEPT)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    read.or_else(|| roster::built_in().ok()).unwrap_or_default()
}
