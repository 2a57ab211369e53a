//! What a launch is allowed besides its own, collected before it is mounted. Each place is held against what is denied, and
//! a place that is reached by a link is there by both of its names.

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
pub(super) struct Allowed<'a> {
    denied: &'a Denied,
    plan: &'a mut MountPlan,
    /// Where something is by another name, which must be mounted after all others.
    aliases: Vec<Grant>,
    /// What lies in them and is hidden all the same.
    hidden: Vec<PathBuf>,
    /// What lies in them and could not be looked through: hidden, unless it is named itself.
    unknown: BTreeSet<PathBuf>,
    /// What the settings name.
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

    /// Whether a place is seen already, in its own place.
    pub(super) fn is_seen(&self, path: &Path) -> bool {
        self.plan.shows(path)
    }

    /// Allows a program, or a folder of programs, to be read.
    pub(super) fn program(&mut self, path: &Path) {
        self.allow(path, false);
    }

    /// Allows what the settings name. Projects that lie there keep what they know of runs, and what could not be looked
    /// through for projects is not shown: it can be named by its parts.
    pub(super) fn named(&mut self, path: &Path, write: bool) {
        let Ok(real) = path.canonicalize() else { return };
        if self.denied.is_of_another(&real) {
            return;
        }
        let below = search::below(&real, LIMITS);
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

    /// Hides what lies in an allowed place.
    pub(super) fn hidden(&mut self, path: PathBuf) {
        self.hidden.push(path);
    }

    fn allow(&mut self, path: &Path, write: bool) {
        let Ok(real) = path.canonicalize() else { return };
        if real.parent().is_none() || self.denied.holds(&real) || self.denied.holds(path) {
            return;
        }
        // A socket, a pipe or a device is somebody's way in.
        if !real.symlink_metadata().is_ok_and(|meta| meta.is_dir() || meta.is_file()) {
            return;
        }
        if write || !self.plan.shows(&real) {
            self.plan.show(&real, write);
        }
        let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if path != real && path.is_absolute() && plain {
            self.aliases.push(Grant { from: real, to: path.to_path_buf(), write });
        }
    }

    /// Adds the other names, and hides what is hidden.
    pub(super) fn finish(self) {
        for Grant { from, to, write } in self.aliases {
            // Where the link itself is seen, it leads to the right place.
            if !to.parent().is_some_and(|above| self.plan.shows(above)) {
                self.plan.put(&from, &to, write);
            }
        }
        let unknown = self.unknown.difference(&self.named);
        for path in self.hidden.iter().chain(unknown) {
            if path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink()) {
                self.plan.hide_by_every_name(path);
            }
        }
    }
}
