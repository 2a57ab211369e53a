//! Leases over files, decided: who holds what, until when, and who must wait.
//!
//! Time comes in with each call. The caller stores the table under a lock, so that two callers never see the same free
//! file.

use crate::contract::{clean, covers};
use serde::{Deserialize, Serialize};

/// A moment as the machine knows it: the wall clock, and the time since boot, which no one can turn back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub wall_ms: u64,
    /// Which boot of the machine this is.
    pub boot: String,
    /// Milliseconds since that boot.
    pub up_ms: u64,
}

/// The lease of one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The task that holds the files.
    pub task_id: String,
    /// The files, as paths from the root.
    pub files: Vec<String>,
    /// How long it lasts from `at_wall_ms`; without a value it lasts for ever.
    pub ttl_ms: Option<u64>,
    /// When it was taken or renewed, by the wall clock.
    pub at_wall_ms: u64,
    /// The boot it was taken in.
    pub boot: String,
    /// When it was taken or renewed, since that boot.
    pub at_up_ms: u64,
}

impl Lease {
    /// Whether the lease is over. Within one boot the wall clock has no say, so a clock that jumps ends nothing
    /// early.
    pub fn is_over(&self, now: &Moment) -> bool {
        // Without a limit only a release ends it.
        let Some(ttl) = self.ttl_ms else { return false };
        if self.boot == now.boot {
            return now.up_ms.saturating_sub(self.at_up_ms) >= ttl;
        }
        // After a reboot nobody who held it lives, and a clock that went back must not keep it for ever.
        now.wall_ms < self.at_wall_ms || now.wall_ms - self.at_wall_ms >= ttl
    }

    /// When it ends by today's wall clock; none if never.
    pub fn ends_ms(&self, now: &Moment) -> Option<u64> {
        let ttl = self.ttl_ms?;
        let left = match self.boot == now.boot {
            true => ttl.saturating_sub(now.up_ms.saturating_sub(self.at_up_ms)),
            false => ttl.saturating_sub(now.wall_ms.saturating_sub(self.at_wall_ms)),
        };
        Some(now.wall_ms.saturating_add(left))
    }
}

/// A file that another task holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The file that was asked for.
    pub file: String,
    /// The task that holds it, or a folder around or below it.
    pub held_by: String,
    /// When that lease ends, in milliseconds since 1970; none if never.
    pub expires_ms: Option<u64>,
}

/// All leases of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leases {
    /// The leases, one per task.
    pub leases: Vec<Lease>,
}

impl Leases {
    /// The leases that stand in the way of a task that wants these files.
    pub fn conflicts(&self, task_id: &str, files: &[String], now: &Moment) -> Vec<Conflict> {
        // A task never stands in its own way: it may ask again for what it holds.
        let others = self.leases.iter().filter(|lease| lease.task_id != task_id && !lease.is_over(now));
        let mut found = Vec::new();
        for lease in others {
            for file in files.iter().filter(|file| lease.files.iter().any(|held| overlap(held, file))) {
                found.push(Conflict {
                    file: file.clone(),
                    held_by: lease.task_id.clone(),
                    expires_ms: lease.ends_ms(now),
                });
            }
        }
        found
    }

    /// Takes all files or none. A task that has a lease gets the new files too, and new time.
    ///
    /// All or none: two tasks that each held half of what they need would wait for each other for ever.
    pub fn acquire(
        &mut self,
        task_id: &str,
        files: &[String],
        ttl_ms: Option<u64>,
        now: &Moment,
    ) -> Result<(), Vec<Conflict>> {
        let conflicts = self.conflicts(task_id, files, now);
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
        let mut held = self.release(task_id).map(|lease| lease.files).unwrap_or_default();
        held.extend(files.iter().cloned());
        held.sort();
        held.dedup();
        // Leases that are over are dropped here, so the stored table does not grow with dead tasks.
        self.cleanup(now);
        self.leases.push(Lease {
            task_id: task_id.to_owned(),
            files: held,
            ttl_ms,
            at_wall_ms: now.wall_ms,
            boot: now.boot.clone(),
            at_up_ms: now.up_ms,
        });
        Ok(())
    }

    /// Gives a lease new time, even one that is over if nobody took its files. Returns none if the task has no lease.
    pub fn renew(
        &mut self,
        task_id: &str,
        ttl_ms: Option<u64>,
        now: &Moment,
    ) -> Option<Result<(), Vec<Conflict>>> {
        let files = self.leases.iter().find(|lease| lease.task_id == task_id)?.files.clone();
        // Through `acquire`: after its end somebody else may have taken a file, and then the renewal must fail.
        Some(self.acquire(task_id, &files, ttl_ms, now))
    }

    /// Releases all files of a task.
    pub fn release(&mut self, task_id: &str) -> Option<Lease> {
        let at = self.leases.iter().position(|lease| lease.task_id == task_id)?;
        Some(self.leases.remove(at))
    }

    /// Releases some files of a task and returns how many. The rest keeps its time.
    pub fn release_files(&mut self, task_id: &str, files: &[String]) -> usize {
        let Some(lease) = self.leases.iter_mut().find(|lease| lease.task_id == task_id) else { return 0 };
        let before = lease.files.len();
        lease.files.retain(|held| !files.iter().any(|file| clean(file) == clean(held)));
        let (given, empty) = (before - lease.files.len(), lease.files.is_empty());
        // A lease without files would look like a task at work.
        if empty {
            self.release(task_id);
        }
        given
    }

    /// Drops the leases that are over and returns how many.
    pub fn cleanup(&mut self, now: &Moment) -> usize {
        let before = self.leases.len();
        self.leases.retain(|lease| !lease.is_over(now));
        before - self.leases.len()
    }
}

/// Whether one path is the other, a folder around it or a pattern that covers it; of two patterns, whether they could
/// meet.
fn overlap(one: &str, other: &str) -> bool {
    // Paths that lead out of the repository cannot be compared as places, only as texts.
    let (Some(one), Some(other)) = (clean(one), clean(other)) else { return one == other };
    let fixed = |path: &str| path.split(['*', '?']).next().map_or(0, str::len);
    if fixed(&one) < one.len() && fixed(&other) < other.len() {
        // Only the parts before the first star are compared. Two patterns that cannot meet may conflict then, but two
        // that can meet always do.
        let (one, other) = (&one[..fixed(&one)], &other[..fixed(&other)]);
        return one.starts_with(other) || other.starts_with(one);
    }
    // A folder that is asked for holds everything that a pattern below it covers.
    let below = |pattern: &str, folder: &str| {
        fixed(pattern) < pattern.len() && pattern[..fixed(pattern)].starts_with(&format!("{folder}/"))
    };
    covers(&one, &other) || covers(&other, &one) || below(&one, &other) || below(&other, &one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(wall_ms: u64, up_ms: u64) -> Moment {
        Moment { wall_ms, boot: "one".into(), up_ms }
    }

    fn files(list: &[&str]) -> Vec<String> {
        list.iter().map(|file| (*file).to_owned()).collect()
    }

    #[test]
    fn one_file_has_one_holder() {
        let mut leases = Leases::default();
        let now = at(1_000, 10);
        leases.acquire("a", &files(&["src/a.rs"]), Some(300), &now).unwrap();
        for (asked, free) in [
            ("src/a.rs", false),
            ("./src/a.rs", false),
            ("src", false),
            ("src/a.rs/x", false),
            ("src/b.rs", true),
            ("src/*.rs", false),
            ("**/a.rs", false),
            ("src/*.md", true),
            ("lib/**", true),
        ] {
            assert_eq!(leases.conflicts("b", &files(&[asked]), &now).is_empty(), free, "{asked}");
        }
        let refused = leases.acquire("b", &files(&["src/b.rs", "src/a.rs"]), Some(300), &now).unwrap_err();
        assert_eq!(refused[0].held_by, "a");
        assert_eq!(refused[0].expires_ms, Some(1_300));
        assert!(leases.acquire("c", &files(&["src/b.rs"]), None, &now).is_ok(), "all or nothing");
        assert!(leases.acquire("a", &files(&["src/c.rs"]), Some(300), &now).is_ok());
        assert_eq!(leases.leases.iter().find(|l| l.task_id == "a").unwrap().files.len(), 2);
    }

    #[test]
    fn patterns_meet_what_they_cover() {
        for (held, asked, meet) in [
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src", true),
            ("src/**", "src/deep/a.rs", true),
            ("src/*.rs", "src/a*", true),
            ("src/*.rs", "lib/*.rs", false),
            ("src/*.rs", "lib", false),
            ("src/*.rs", "src/deep/a.rs", false),
        ] {
            assert_eq!(overlap(held, asked), meet, "{held} {asked}");
            assert_eq!(overlap(asked, held), meet, "{asked} {held}");
        }
    }

    #[test]
    fn files_are_given_back_one_by_one() {
        let mut leases = Leases::default();
        let now = at(1_000, 10);
        leases.acquire("a", &files(&["src/a.rs", "src/b.rs"]), Some(300), &now).unwrap();
        assert_eq!(leases.release_files("a", &files(&["./src/a.rs", "src/z.rs"])), 1);
        assert!(leases.conflicts("b", &files(&["src/a.rs"]), &now).is_empty());
        assert_eq!(leases.conflicts("b", &files(&["src/b.rs"]), &now).len(), 1);
        assert_eq!((leases.release_files("a", &files(&["src/b.rs"])), leases.leases.len()), (1, 0));
        assert_eq!(leases.release_files("nobody", &files(&["src/b.rs"])), 0);
    }

    #[test]
    fn a_clock_that_jumps_neither_ends_nor_keeps_a_lease() {
        let mut leases = Leases::default();
        leases.acquire("a", &files(&["x"]), Some(300), &at(1_000_000, 10)).unwrap();
        for (now, free) in [
            (at(9_000_000, 20), false),
            (at(1, 20), false),
            (at(1, 309), false),
            (at(1, 310), true),
            (Moment { wall_ms: 1_000_100, boot: "two".into(), up_ms: 1 }, false),
            (Moment { wall_ms: 1_000_300, boot: "two".into(), up_ms: 1 }, true),
            (Moment { wall_ms: 5, boot: "two".into(), up_ms: 1 }, true),
        ] {
            assert_eq!(leases.conflicts("b", &files(&["x"]), &now).is_empty(), free, "{now:?}");
        }
    }

    #[test]
    fn a_lock_without_time_stays_until_released() {
        let mut leases = Leases::default();
        leases.acquire("a", &files(&["x"]), None, &at(0, 0)).unwrap();
        assert!(!leases.conflicts("b", &files(&["x"]), &at(u64::MAX, u64::MAX)).is_empty());
        assert!(leases.release("a").is_some() && leases.release("a").is_none());
        assert!(leases.acquire("b", &files(&["x"]), None, &at(0, 0)).is_ok());
    }

    #[test]
    fn what_is_over_can_be_renewed_only_if_nobody_took_it() {
        let mut leases = Leases::default();
        leases.acquire("a", &files(&["x"]), Some(10), &at(0, 0)).unwrap();
        assert!(leases.renew("a", Some(10), &at(0, 50)).unwrap().is_ok());
        leases.leases.push(Lease { task_id: "b".into(), at_up_ms: 100, ..leases.leases[0].clone() });
        assert!(leases.renew("a", Some(10), &at(0, 105)).unwrap().is_err());
        assert!(leases.renew("nobody", Some(10), &at(0, 105)).is_none());
        assert_eq!(leases.cleanup(&at(0, 500)), 2);
    }
}
