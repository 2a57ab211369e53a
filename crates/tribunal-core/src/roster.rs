//! The roster: what kinds of things a change holds, who reviews which kind, who owns which field, who fixes which
//! file.
//!
//! The tables are data; this file only reads them. It never looks at a file, and never knows an agent by name.

use crate::contract::covers;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The tables of reviewers, owners and fixers.
///
/// A project may replace it as a whole, which is why nothing here knows a name from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roster {
    /// The reviewer who is always asked, and stands in for others.
    pub always: String,
    /// How many reviewers there may be, by kinds.
    pub reviewers_max: usize,
    /// Kinds of things, the most telling first.
    #[serde(default, rename = "kind")]
    pub kinds: Vec<Kind>,
    /// Who owns a field.
    #[serde(default)]
    pub owners: BTreeMap<String, Vec<String>>,
    /// Files and words that show that a field is touched.
    #[serde(default, rename = "field")]
    pub fields: Vec<Field>,
    /// Who fixes which files; the first row that fits counts.
    #[serde(default, rename = "fix")]
    pub fixes: Vec<FixRow>,
}

/// One kind of thing that a phase or change can hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// `code`, `api`, `design`, `marketing`, `infrastructure`, `workflow`.
    pub name: String,
    /// Patterns of the files that belong to it.
    #[serde(default)]
    pub files: Vec<String>,
    /// Words in the phase's documents that speak of it.
    #[serde(default)]
    pub words: Vec<String>,
    /// The first reviewer of this kind.
    pub primary: String,
    /// The second reviewer, if the change holds only this kind.
    pub secondary: String,
}

/// What shows that a field is touched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// The name of the field, such as `security`.
    pub name: String,
    /// Parts of paths that belong to it.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Words on changed lines and in documents.
    #[serde(default)]
    pub words: Vec<String>,
}

/// Who fixes which files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixRow {
    /// Patterns of the files that this row is about.
    #[serde(default)]
    pub files: Vec<String>,
    /// Fields whose findings go here whatever the file is, unless the field has an owner.
    #[serde(default)]
    pub fields: Vec<String>,
    /// The fixers; nobody in particular if there are none. With several, the one whose path fits, else the first.
    #[serde(default)]
    pub by: Vec<Fixer>,
}

/// One fixer of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixer {
    /// The id of the fixer.
    pub id: String,
    /// Parts of paths that are rather its own.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Fields that are rather its own.
    #[serde(default)]
    pub fields: Vec<String>,
}

/// A reviewer that was chosen for the panel, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The id of the reviewer.
    pub id: String,
    /// Why it was chosen, for people.
    pub why: String,
}

/// The facts by which a finding is routed to a fixer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// The file of the finding.
    pub file: Option<&'a str>,
    /// The field of the finding.
    pub field: Option<&'a str>,
}

/// Who fixes a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assigned {
    /// An agent with this personality.
    Fixer(String),
    /// An agent without a personality.
    Anybody,
    /// A person, because the owner of its field is not available.
    Person(String),
}

/// Whether a path fits a pattern: `*.rs` by its name, else as a contract reads it.
fn fits(pattern: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match pattern.strip_prefix('*').filter(|end| !end.contains('/')) {
        Some(end) => name.ends_with(end),
        None => pattern == name || covers(pattern, path),
    }
}

/// Whether a path contains one of these parts, ignoring case.
fn has_part(path: &str, parts: &[String]) -> bool {
    let path = path.to_lowercase();
    parts.iter().any(|part| path.contains(part.as_str()))
}

/// Whether a text contains one of these words, at the beginning of a word.
///
/// The end may go on, so that `auth` also finds `authentication`; a word inside another one does not count.
fn has_word(text: &str, words: &[String]) -> bool {
    words.iter().any(|word| {
        let mut from = 0;
        while let Some(at) = text[from..].find(word.as_str()).map(|at| at + from) {
            let before = text[..at].chars().next_back();
            if !before.is_some_and(char::is_alphanumeric) {
                return true;
            }
            from = at + word.len();
        }
        false
    })
}

impl Roster {
    /// The kinds of things a change holds, the largest first. `documents` are the phase's words, in lower case.
    pub fn kinds_of(&self, files: &[String], documents: &str) -> Vec<String> {
        let mut weighed: Vec<(usize, usize, String)> = Vec::new();
        for (at, kind) in self.kinds.iter().enumerate() {
            // A file belongs to the first kind that it fits, so the sums do not count it twice.
            let of_it = |path: &&String| {
                self.kinds.iter().position(|other| other.files.iter().any(|p| fits(p, path))) == Some(at)
            };
            let count = files.iter().filter(of_it).count();
            // Documents count as much as one file: they can name a kind, but not outweigh what was changed.
            let spoken = usize::from(has_word(documents, &kind.words));
            if count + spoken > 0 {
                weighed.push((count + spoken, at, kind.name.clone()));
            }
        }
        // Equal weights keep the order of the table.
        weighed.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        weighed.into_iter().map(|(_, _, name)| name).collect()
    }

    /// The fields a change touches, by its paths and words (in lower case).
    pub fn fields_of(&self, files: &[String], words: &str) -> Vec<String> {
        let touched = |field: &&Field| {
            files.iter().any(|path| has_part(path, &field.paths)) || has_word(words, &field.words)
        };
        self.fields.iter().filter(touched).map(|field| field.name.clone()).collect()
    }

    /// The panel by kinds: for one kind its two reviewers, for two kinds one each, for more the two most telling; and
    /// the one who is always asked.
    pub fn panel(&self, kinds: &[String]) -> Vec<Pick> {
        let rows: Vec<&Kind> =
            kinds.iter().filter_map(|name| self.kinds.iter().find(|kind| kind.name == *name)).collect();
        let mut picks: Vec<Pick> = Vec::new();
        for row in &rows {
            if row.primary != self.always {
                add(&mut picks, &row.primary, format!("{}: primary", row.name));
            }
        }
        let others = self.reviewers_max.saturating_sub(1);
        // Before the place of the permanent reviewer, which `others` leaves free.
        picks.truncate(if rows.len() >= 3 { others.min(2) } else { others });
        // A second reviewer of a kind comes only if no other kind needs the place.
        if let [only] = rows[..]
            && only.secondary != self.always
            && picks.len() < others
        {
            add(&mut picks, &only.secondary, format!("{}: secondary", only.name));
        }
        picks.insert(0, Pick { id: self.always.clone(), why: "always sits".to_owned() });
        picks
    }

    /// The panel by fields: the one who is always asked and an owner of each field; two, three or four in all.
    pub fn panel_by_fields(&self, fields: &[String]) -> Vec<Pick> {
        let size = match fields.len() {
            0 | 1 => 2,
            2 => 3,
            _ => 4,
        };
        let mut picks = vec![Pick { id: self.always.clone(), why: "always sits".to_owned() }];
        for field in fields {
            for owner in self.owners.get(field).into_iter().flatten() {
                // An owner of several fields takes one place: `add` only adds a reason for it.
                if picks.len() < size {
                    add(&mut picks, owner, format!("owns {field}"));
                }
            }
        }
        picks
    }

    /// The fields that a reviewer owns.
    pub fn owned_by(&self, id: &str) -> Vec<String> {
        let owns = |(_, owners): &(&String, &Vec<String>)| owners.iter().any(|owner| owner == id);
        self.owners.iter().filter(owns).map(|(field, _)| field.clone()).collect()
    }

    /// Everybody whom the tables name.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::from([self.always.clone()]);
        for kind in &self.kinds {
            names.extend([kind.primary.clone(), kind.secondary.clone()]);
        }
        names.extend(self.owners.values().flatten().cloned());
        names.extend(self.fixers());
        names
    }

    /// Everybody who may fix.
    pub fn fixers(&self) -> BTreeSet<String> {
        let hands = self.fixes.iter().flat_map(|row| &row.by).map(|hand| hand.id.clone());
        hands.chain(self.owners.values().flatten().cloned()).collect()
    }

    /// Who fixes each finding.
    ///
    /// The owner of a field fixes what is in it. The rest goes by the file table, and everything in one file goes to
    /// one fixer, that of the earlier row: two fixers in one file would only wait for each other. Several fixers of
    /// one row stay, and work one after the other.
    pub fn assign(&self, wanted: &[Wanted<'_>], here: &dyn Fn(&str) -> bool) -> Vec<Assigned> {
        let routed: Vec<Route<'_>> = wanted.iter().map(|one| self.route(one, here)).collect();
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (one, route) in wanted.iter().zip(&routed) {
            if let (Some(file), Route::Row(row, _)) = (one.file, route) {
                let known = first.entry(file).or_insert(*row);
                // The earlier row wins, whichever finding of the file comes first.
                *known = (*known).min(*row);
            }
        }
        let settle = |(one, route): (&Wanted<'_>, &Route<'_>)| match route {
            Route::Owner(id) => Assigned::Fixer((*id).to_owned()),
            Route::Missing(id) => Assigned::Person((*id).to_owned()),
            Route::Row(row, id) => {
                // A finding follows its file to the earlier row, even if its own field named another.
                let of_file = one.file.and_then(|file| first.get(file)).copied().unwrap_or(*row);
                let id = if of_file == *row { *id } else { self.hand(of_file, one) };
                match id.filter(|id| here(id)) {
                    Some(id) => Assigned::Fixer(id.to_owned()),
                    None => Assigned::Anybody,
                }
            }
        };
        wanted.iter().zip(&routed).map(settle).collect()
    }

    /// Where one finding goes, before files are brought together.
    fn route<'r>(&'r self, one: &Wanted<'_>, here: &dyn Fn(&str) -> bool) -> Route<'r> {
        let owners = one.field.and_then(|field| self.owners.get(field)).filter(|owners| !owners.is_empty());
        if let Some(owners) = owners {
            let present = owners.iter().find(|id| here(id));
            // An owned field is never fixed by somebody else: without its owner a person decides.
            return present.map_or_else(|| Route::Missing(&owners[0]), |id| Route::Owner(id));
        }
        let by_field =
            |row: &FixRow| one.field.is_some_and(|field| row.fields.iter().any(|known| known == field));
        let by_file =
            |row: &FixRow| one.file.is_some_and(|file| row.files.iter().any(|pattern| fits(pattern, file)));
        // By field first: a security finding in a stylesheet is still a security finding.
        let row = self.fixes.iter().position(by_field).or_else(|| self.fixes.iter().position(by_file));
        row.map_or(Route::Row(self.fixes.len(), None), |row| Route::Row(row, self.hand(row, one)))
    }

    /// The fixer of a row for a finding: by its field, by its path, else the first.
    fn hand(&self, row: usize, one: &Wanted<'_>) -> Option<&str> {
        let hands = &self.fixes.get(row)?.by;
        let by_field =
            hands.iter().find(|hand| one.field.is_some_and(|f| hand.fields.iter().any(|k| k == f)));
        let by_path = || hands.iter().find(|hand| one.file.is_some_and(|file| has_part(file, &hand.paths)));
        by_field.or_else(by_path).or(hands.first()).map(|hand| hand.id.as_str())
    }
}

/// Where a finding goes before files are brought together.
enum Route<'r> {
    Owner(&'r str),
    Missing(&'r str),
    Row(usize, Option<&'r str>),
}

/// Adds a reviewer, or another reason to one that is already chosen.
fn add(picks: &mut Vec<Pick>, id: &str, why: String) {
    match picks.iter_mut().find(|pick| pick.id == id) {
        Some(pick) => pick.why = format!("{}, {why}", pick.why),
        None => picks.push(Pick { id: id.to_owned(), why }),
    }
}
