//! Files that a run of the base was seen to read.
//!
//! What a script starts is found by its text, and a shell can put a name together in more ways than anybody reads. So
//! if a changed file may judge and nothing was found that starts it, the base's run is watched, and what it reads is
//! part of the judge by the same rules of places.

use super::places::{Place, has_no_ending, is_of_a_runner, place_of};
use super::{JudgeFacts, JudgeFiles, calls::normal, table};
use std::collections::BTreeSet;

/// The longest list of scripts, or target of a link, that is read. Longer files are data.
const LIST_MAX: usize = 64 * 1024;

impl JudgeFacts<'_> {
    /// The changed files of the base that are part of the judge if its run reads them, without those already found.
    ///
    /// If there are none, the run is not watched at all, which costs less.
    pub fn worth_watching(&self, found: &JudgeFiles) -> Vec<String> {
        let found = found.all();
        let is_open = |path: &&String| !found.contains(*path) && self.watched_place(path).is_some();
        self.changed.iter().filter(is_open).cloned().collect()
    }

    /// The files among those worth watching that the base's run read.
    pub fn observed(&self, read: &BTreeSet<String>) -> JudgeFiles {
        let mut found = JudgeFiles::default();
        for path in self.changed.iter().filter(|path| read.contains(*path)) {
            match self.watched_place(path) {
                Some(Place::Tests) => found.tests.push(path.clone()),
                Some(Place::Tools) => found.tools.push(path.clone()),
                None => {}
            }
        }
        found
    }

    /// The place of a file that judges if it is read. Data is what is tested, and a manifest judges in its own way.
    fn watched_place(&self, path: &str) -> Option<Place> {
        if !self.paths.contains(path) || is_of_a_runner(path) || table::parts_of(path).is_some() {
            return None;
        }
        let place = place_of(path, "").or_else(|| self.place_by_link(path))?;
        (self.is_script(path) || has_no_ending(path) || self.is_list(path)).then_some(place)
    }

    /// The place of a link to a folder, for a file in that folder.
    fn place_by_link(&self, path: &str) -> Option<Place> {
        self.paths.iter().filter(|link| has_no_ending(link)).find_map(|link| {
            // Any name below the link: places are decided by folders, and the link is used as one.
            let place = place_of(&format!("{link}/x"), "")?;
            let target =
                (self.before)(link).filter(|text| text.len() < LIST_MAX && !text.contains(['\n', ' ']))?;
            let folder = link.rsplit_once('/').map_or("", |(folder, _)| folder);
            let target = normal(folder, &target)?;
            path.strip_prefix(&target).is_some_and(|rest| rest.starts_with('/')).then_some(place)
        })
    }

    /// Whether every line of a file of the base names another file of it: a script that reads the list runs those.
    fn is_list(&self, path: &str) -> bool {
        let Some(text) = (self.before)(path).filter(|text| text.len() < LIST_MAX) else { return false };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut lines =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
        let is_path = |line: &str| {
            ["", folder].iter().any(|base| normal(base, line).is_some_and(|path| self.paths.contains(&path)))
        };
        lines.peek().is_some() && lines.all(is_path)
    }
}
