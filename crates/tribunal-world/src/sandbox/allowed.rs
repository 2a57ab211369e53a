//! The places that a launch may see besides its own, collected before they are mounted.
//!
//! Each place is compared with what is denied. A place that is reached through a link gets both of its names, because
//! programs use either one.

use super::denied::Denied;
use super::plan::MountPlan;
use super::search::{self, LIMITS};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// A place outside, its name inside, and whether it may be written.
struct Grant {
    from: PathBuf,
    to: PathBuf,
    write: bool,
}

/// The places that are allowed.
///
/// Everything is collected first and mounted at the end, because a later rule can take a place back or hide a part of
/// it.
pub(super) struct Allowed<'a> {
    denied: &'a Denied,
    plan: &'a mut MountPlan,
    /// Other names of places. They are mounted after all others, because the link itself may be visible by then.
    aliases: Vec<Grant>,
    /// Places inside them that are hidden all the same.
    hidden: Vec<PathBuf>,
    /// Places inside them that could not be searched. They are hidden, unless the settings name them.
    unknown: BTreeSet<PathBuf>,
    /// The places that the settings name.
    named: BTreeSet<PathBuf>,
}

impl<'a> Allowed<'a> {
    pub(super) fn new(plan: &'a mut MountPlan, denied: &'a Denied) -> Self {
        let (unknown, named) = (BTreeSet::new(), BTreeSet::new());
        Allowed { denied, plan, aliases: Vec::new(), hidden: Vec::new(), unknown, named }
    }

    pub(super) fn denied(&self) -> &Denied {
        self.denied
    }

    /// Whether a place is already visible under its own path.
    pub(super) fn is_seen(&self, path: &Path) -> bool {
        self.plan.shows(path)
    }

    /// Allows a program, or a folder of programs, to be read.
    pub(super) fn program(&mut self, path: &Path) {
        self.allow(path, false);
    }

    /// Allows a place that the settings name.
    ///
    /// Projects that lie there keep the folders of their runs hidden. A part that could not be searched for such
    /// projects is not shown; the user can name it by itself.
    pub(super) fn named(&mut self, path: &Path, write: bool) {
        let Ok(real) = path.canonicalize() else { return };
        // The settings cannot open the login of another agent.
        if self.denied.is_of_another(&real) {
            return;
        }
        let below = search::below(&real, LIMITS);
        // The named folder itself could not be searched, so nothing in it is safe to show.
        if below.unknown.contains(&real) {
            return;
        }
        self.hidden.extend(below.found);
        self.unknown.extend(below.unknown);
        self.named.insert(real);
        self.allow(path, write);
    }

    /// Takes a place back that something wider allowed.
    pub(super) fn take_back(&mut self, path: PathBuf) {
        if self.plan.shows(&path) {
            self.plan.hide(path);
        }
    }

    /// Hides a place inside an allowed one.
    pub(super) fn hidden(&mut self, path: PathBuf) {
        self.hidden.push(path);
    }

    fn allow(&mut self, path: &Path, write: bool) {
        let Ok(real) = path.canonicalize() else { return };
        // The root would show everything. A link's own path is checked too: it may be a secret by its name.
        if real.parent().is_none() || self.denied.holds(&real) || self.denied.holds(path) {
            return;
        }
        // A socket, a pipe or a device is a way to a service outside.
        if !real.symlink_metadata().is_ok_and(|meta| meta.is_dir() || meta.is_file()) {
            return;
        }
        // A second rule is needed only to make it writable.
        if write || !self.plan.shows(&real) {
            self.plan.show(&real, write);
        }
        // A path with `..` would have to be resolved by the mount, after links that nobody has checked.
        let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if path != real && path.is_absolute() && plain {
            self.aliases.push(Grant { from: real, to: path.to_path_buf(), write });
        }
    }

    /// Adds the other names, then hides what is hidden.
    pub(super) fn finish(self) {
        for Grant { from, to, write } in self.aliases {
            // Where the link itself is visible, it leads to the right place.
            if !to.parent().is_some_and(|above| self.plan.shows(above)) {
                self.plan.put(&from, &to, write);
            }
        }
        // A place that was named by itself was searched by itself.
        let unknown = self.unknown.difference(&self.named);
        for path in self.hidden.iter().chain(unknown) {
            if path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink()) {
                self.plan.hide_by_every_name(path);
            }
        }
    }
}
