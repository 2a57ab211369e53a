//! Exit codes: the one place of the program that maps a result to a number.
//!
//! Scripts and the protocol rely on these numbers, and the help lists them. Commands return `Done` or a `Failure` and
//! never choose a number themselves, so this one table shows all codes.

use crate::failure::{Failure, Kind};
use tribunal_core::run::Ending;
use tribunal_engine::End;

/// How a command ended that did its work.
///
/// "Did its work" is not "passed": a review that refuses a change has worked. Only an `Err` means that the command
/// itself failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Everything that was asked for is done.
    Passed,
    /// A gate stayed shut, or a person stopped or cancelled the run.
    Shut,
    /// The run waits for a person to decide something or to take the result.
    Waits,
    /// A signal ended it; it can be resumed.
    Signal(i32),
    /// A command of the protocol answered with a code of its own.
    Answer(u8),
}

impl Done {
    /// The result of a run that ended with `end`.
    ///
    /// `left` says that the result passed but is not on the user's branch yet. Such a run waits for its user: exit code
    /// 0 promises that the branch has the result.
    pub fn of(end: &End, left: bool) -> Done {
        match end {
            End::Ended(Ending::Passed | Ending::Concerns) if left => Done::Waits,
            // The user configured the run to go on with concerns, so a script may go on, too.
            End::Ended(Ending::Passed | Ending::Concerns) => Done::Passed,
            End::Ended(Ending::Shut | Ending::Stopped | Ending::Cancelled) => Done::Shut,
            // A spent budget is a question to a person like any other: only they can allow more.
            End::Waiting | End::Spent(_) => Done::Waits,
            End::Suspended { signal } => Done::Signal(*signal),
        }
    }
}

/// The exit code of a result: 0 passed, 1 a gate stayed shut, 2 usage or configuration, 3 could not work, 4 waits for a
/// person, 70 our bug, 128+n signal.
///
/// A cancelled run never exits with 0: a script that goes on after 0 would go on without the result.
pub fn code(result: &Result<Done, Failure>) -> u8 {
    match result {
        Ok(Done::Passed) => 0,
        Ok(Done::Shut) => 1,
        Ok(Done::Waits) => 4,
        // As shells report a program that a signal ended.
        Ok(Done::Signal(signal)) => 128u8.saturating_add(u8::try_from(*signal).unwrap_or(0)),
        Ok(Done::Answer(code)) => *code,
        Err(failure) => match failure.kind {
            Kind::Usage => 2,
            Kind::Work => 3,
            Kind::Bug => 70,
            // The reader of our output has seen enough. Filters such as `head` end this way all the time, so this is
            // not a failure.
            Kind::BrokenPipe => 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_code() {
        let table = [
            (End::Ended(Ending::Passed), 0),
            (End::Ended(Ending::Concerns), 0),
            (End::Ended(Ending::Shut), 1),
            (End::Ended(Ending::Stopped), 1),
            (End::Ended(Ending::Cancelled), 1),
            (End::Waiting, 4),
            (End::Suspended { signal: 2 }, 130),
            (End::Suspended { signal: 15 }, 143),
        ];
        assert_eq!(code(&Ok(Done::of(&End::Ended(Ending::Passed), true))), 4);
        for (end, expect) in table {
            assert_eq!(code(&Ok(Done::of(&end, false))), expect, "{end:?}");
        }
    }

    #[test]
    fn every_failure_has_its_code() {
        let pipe = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let table = [
            (Failure::usage("x"), 2),
            (Failure::config("x"), 2),
            (Failure::work("x"), 3),
            (Failure::bug("x"), 70),
            (Failure::from(pipe), 0),
            (Failure::from(full), 3),
        ];
        for (failure, expect) in table {
            assert_eq!(code(&Err(failure.clone())), expect, "{failure:?}");
        }
    }
}
