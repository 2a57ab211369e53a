//! The mounts of one launch while they are collected: one rule per place, those above before those below.
//!
//! It only collects; other files decide what is shown. All questions ("is this visible?") are answered from the rules
//! so far, without looking at the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tribunal_process::{Mount, Mounts};

/// One rule per place. A place without a rule follows the nearest rule above it; without any it is shown as it is.
#[derive(Default)]
pub(super) struct MountPlan(BTreeMap<PathBuf, Mount>);

impl MountPlan {
    /// Hides everything that lies there.
    pub(super) fn hide(&mut self, path: PathBuf) {
        self.0.insert(path.clone(), Mount::Hide(path));
    }

    /// Shows what lies there, as it is.
    pub(super) fn show(&mut self, path: &Path, write: bool) {
        self.put(path, path, write);
    }

    /// Shows what lies at `from` under the name `to`.
    pub(super) fn put(&mut self, from: &Path, to: &Path, write: bool) {
        let mount = Mount::Show { from: from.to_path_buf(), to: to.to_path_buf(), write };
        self.0.insert(to.to_path_buf(), mount);
    }

    /// The rule for a place: its own, or the nearest above it.
    fn rule(&self, path: &Path) -> Option<&Mount> {
        path.ancestors().find_map(|above| self.0.get(above))
    }

    /// Whether what lies there outside is visible at the same place inside.
    pub(super) fn shows(&self, path: &Path) -> bool {
        match self.rule(path) {
            None => true,
            Some(Mount::Hide(_)) => false,
            // Something else under the same name, such as the empty home, does not count as visible.
            Some(Mount::Show { from, to, .. }) => from == to,
        }
    }

    /// Where a place lies outside, if it is visible inside under this name.
    pub(super) fn source(&self, path: &Path) -> Option<PathBuf> {
        match self.rule(path) {
            None => Some(path.to_path_buf()),
            Some(Mount::Hide(_)) => None,
            Some(Mount::Show { from, to, .. }) => Some(match path.strip_prefix(to) {
                Ok(rest) if !rest.as_os_str().is_empty() => from.join(rest),
                _ => from.clone(),
            }),
        }
    }

    /// Every place that shows something, with where that lies outside.
    pub(super) fn shown(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.0.values().filter_map(|mount| match mount {
            Mount::Show { from, to, .. } => Some((from.as_path(), to.as_path())),
            Mount::Hide(_) => None,
        })
    }

    /// Hides a place under its own name and under every other name by which it would be visible.
    ///
    /// A bind mount gives a folder a second name. Hiding only the first would leave a secret readable through the
    /// second.
    pub(super) fn hide_by_every_name(&mut self, place: &Path) {
        let names = self.shown().filter_map(|(from, to)| {
            let rest = place.strip_prefix(from).ok()?;
            Some(if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) })
        });
        let seen: Vec<PathBuf> = names
            .chain([place.to_path_buf()])
            // Another rule may already hide or replace it under this name.
            .filter(|inside| self.source(inside).as_deref() == Some(place))
            .collect();
        seen.into_iter().for_each(|inside| self.hide(inside));
    }

    /// The mounts, in order.
    ///
    /// A rule that repeats the one above it is left out, because every rule costs a mount. The tree always has its own:
    /// nobody can rename a mount point.
    pub(super) fn steps(self, tree: &Path) -> Mounts {
        let says_more =
            |(path, mount): &(&PathBuf, &Mount)| match (mount, path.parent().and_then(|up| self.rule(up))) {
                _ if path.as_path() == tree => true,
                (Mount::Hide(_), Some(Mount::Hide(_))) => false,
                (
                    Mount::Show { from, to, write },
                    Some(Mount::Show { from: outside, to: inside, write: same }),
                ) => from != to || outside != inside || write != same,
                _ => true,
            };
        Mounts(self.0.iter().filter(says_more).map(|(_, mount)| mount.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rule_repeats_the_one_above_it() {
        let mut plan = MountPlan::default();
        plan.hide("/tmp".into());
        plan.hide("/tmp/z".into());
        for (path, write) in
            [("/tmp/a", false), ("/tmp/a/b", false), ("/tmp/a/c", true), ("/tmp/a/c/d", false)]
        {
            plan.show(Path::new(path), write);
        }
        plan.put(Path::new("/tmp/x"), Path::new("/tmp/a/e"), false);
        plan.show(Path::new("/tmp/a/e/f"), false);
        // What nobody may rename is mounted, whatever is said above it.
        plan.show(Path::new("/tmp/a/c/tree"), true);
        let rules = plan.steps(Path::new("/tmp/a/c/tree")).0.into_iter().map(|mount| match mount {
            Mount::Hide(path) => format!("hide {}", path.display()),
            Mount::Show { from, to, write } => format!("{} {} {write}", from.display(), to.display()),
        });
        let expect = [
            "hide /tmp",
            "/tmp/a /tmp/a false",
            "/tmp/a/c /tmp/a/c true",
            "/tmp/a/c/d /tmp/a/c/d false",
            "/tmp/a/c/tree /tmp/a/c/tree true",
            "/tmp/x /tmp/a/e false",
            "/tmp/a/e/f /tmp/a/e/f false",
        ];
        assert_eq!(rules.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_place_is_known_by_the_nearest_rule() {
        let mut plan = MountPlan::default();
        plan.hide("/h".into());
        plan.put(Path::new("/h/target"), Path::new("/h/link"), false);
        let source = |path: &str| plan.source(Path::new(path));
        assert_eq!(source("/usr/x"), Some("/usr/x".into()));
        assert_eq!(source("/h/x"), None);
        assert_eq!(source("/h/link"), Some("/h/target".into()));
        assert_eq!(source("/h/link/key"), Some("/h/target/key".into()));
        assert!(!plan.shows(Path::new("/h/link/key")) && plan.shows(Path::new("/usr")));
    }
}
