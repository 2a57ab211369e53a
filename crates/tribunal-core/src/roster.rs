//! The roster: what kinds of things a change holds, who reviews which kind, who owns which field, who mends which file.
//! Tables are data; here is only how they are read. Never looks at a file, and never knows an agent by name.

use crate::contract::covers;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roster {
    /// The reviewer who always sits, and stands in for others.
    pub always: String,
    /// Reviewers at most, by kinds.
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
    /// Who mends which files, the first that fits first.
    #[serde(default, rename = "fix")]
    pub fixes: Vec<FixRow>,
}

/// One kind of thing that a phase or change can hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// `code`, `api`, `design`, `marketing`, `infrastructure`, `workflow`.
    pub name: String,
    /// Files that are of it.
    #[serde(default)]
    pub files: Vec<String>,
    /// Words in the phase's documents that speak of it.
    #[serde(default)]
    pub words: Vec<String>,
    /// Who reviews it.
    pub primary: String,
    /// Who else.
    pub secondary: String,
}

/// What shows that a field is touched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// `security`.
    pub name: String,
    /// Parts of paths.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Words on changed lines and in documents.
    #[serde(default)]
    pub words: Vec<String>,
}

/// Who mends which files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixRow {
    /// Files.
    #[serde(default)]
    pub files: Vec<String>,
    /// Fields whose findings go here whatever the file is, unless the field has an owner.
    #[serde(default)]
    pub fields: Vec<String>,
    /// Who; nobody in particular where there is no name. With several, the one whose path fits, else the first.
    #[serde(default)]
    pub by: Vec<Hand>,
}

/// One fixer of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hand {
    /// Its id.
    pub id: String,
    /// Parts of paths that are rather its own.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Fields that are rather its own.
    #[serde(default)]
    pub fields: Vec<String>,
}

/// A reviewer who is to sit, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Its id.
    pub id: String,
    /// Why.
    pub why: String,
}

/// What a finding needs to be routed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Its file.
    pub file: Option<&'a str>,
    /// Its field.
    pub field: Option<&'a str>,
}

/// Who mends a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assigned {
    /// An agent with this personality.
    Fixer(String),
    /// An agent without one.
    Anybody,
    /// Its field has an owner who is not here: a person.
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

fn has_part(path: &str, parts: &[String]) -> bool {
    let path = path.to_lowercase();
    parts.iter().any(|part| path.contains(part.as_str()))
}

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
    /// The kinds of things a change holds, the one most of it is first. `documents` are the phase's words, in lower case.
    pub fn kinds_of(&self, files: &[String], documents: &str) -> Vec<String> {
        let mut weighed: Vec<(usize, usize, String)> = Vec::new();
        for (at, kind) in self.kinds.iter().enumerate() {
            // A file is of the first kind that it fits.
            let of_it = |path: &&String| {
                self.kinds.iter().position(|other| other.files.iter().any(|p| fits(p, path))) == Some(at)
            };
            let count = files.iter().filter(of_it).count();
            let spoken = usize::from(has_word(documents, &kind.words));
            if count + spoken > 0 {
                weighed.push((count + spoken, at, kind.name.clone()));
            }
        }
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

    /// The panel by kinds: for one kind its two, for two one each, for more the two most telling; the one who always sits
    /// sits.
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
        picks.truncate(if rows.len() >= 3 { others.min(2) } else { others });
        if let [only] = rows[..]
            && only.secondary != self.always
            && picks.len() < others
        {
            add(&mut picks, &only.secondary, format!("{}: secondary", only.name));
        }
        picks.insert(0, Pick { id: self.always.clone(), why: "always sits".to_owned() });
        picks
    }

    /// The panel by fields: the one who always sits and an owner of each field, two, three or four in all.
    pub fn panel_by_fields(&self, fields: &[String]) -> Vec<Pick> {
        let size = match fields.len() {
            0 | 1 => 2,
            2 => 3,
            _ => 4,
        };
        let mut picks = vec![Pick { id: self.always.clone(), why: "always sits".to_owned() }];
        for field in fields {
            for owner in self.owners.get(field).into_iter().flatten() {
                if picks.len() < size {
                    add(&mut picks, owner, format!("owns {field}"));
                }
            }
        }
        picks
    }

    /// The fields a reviewer owns.
    pub fn owned_by(&self, id: &str) -> Vec<String> {
        let owns = |(_, owners): &(&String, &Vec<String>)| owners.iter().any(|owner| owner == id);
        self.owners.iter().filter(owns).map(|(field, _)| field.clone()).collect()
    }

    /// Everybody the tables name.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::from([self.always.clone()]);
        for kind in &self.kinds {
            names.extend([kind.primary.clone(), kind.secondary.clone()]);
        }
        names.extend(self.owners.values().flatten().cloned());
        names.extend(self.fixers());
        names
    }

    /// Everybody who may mend.
    pub fn fixers(&self) -> BTreeSet<String> {
        let hands = self.fixes.iter().flat_map(|row| &row.by).map(|hand| hand.id.clone());
        hands.chain(self.owners.values().flatten().cloned()).collect()
    }

    /// Who mends each finding. The owner of a field mends what is in it; the rest goes by the file table, and all of it in
    /// one file to one fixer: to that of the earlier row. Those of one row stay, and work one after the other.
    pub fn assign(&self, wanted: &[Wanted<'_>], here: &dyn Fn(&str) -> bool) -> Vec<Assigned> {
        let routed: Vec<Route<'_>> = wanted.iter().map(|one| self.route(one, here)).collect();
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (one, route) in wanted.iter().zip(&routed) {
            if let (Some(file), Route::Row(row, _)) = (one.file, route) {
                let known = first.entry(file).or_insert(*row);
                *known = (*known).min(*row);
            }
        }
        let settle = |(one, route): (&Wanted<'_>, &Route<'_>)| match route {
            Route::Owner(id) => Assigned::Fixer((*id).to_owned()),
            Route::Missing(id) => Assigned::Person((*id).to_owned()),
            Route::Row(row, id) => {
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

    fn route<'r>(&'r self, one: &Wanted<'_>, here: &dyn Fn(&str) -> bool) -> Route<'r> {
        let owners = one.field.and_then(|field| self.owners.get(field)).filter(|owners| !owners.is_empty());
        if let Some(owners) = owners {
            let present = owners.iter().find(|id| here(id));
            return present.map_or_else(|| Route::Missing(&owners[0]), |id| Route::Owner(id));
        }
        let by_field =
            |row: &FixRow| one.field.is_some_and(|field| row.fields.iter().any(|known| known == field));
        let by_file =
            |row: &FixRow| one.file.is_some_and(|file| row.files.iter().any(|pattern| fits(pattern, file)));
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

fn add(picks: &mut Vec<Pick>, id: &str, why: String) {
    match picks.iter_mut().find(|pick| pick.id == id) {
        Some(pick) => pick.why = format!("{}, {why}", pick.why),
        None => picks.push(Pick { id: id.to_owned(), why }),
    }
}
