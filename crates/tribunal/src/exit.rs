//! Exit codes: the one place that maps what happened to a number.

use crate::failure::{Failure, Kind};
use tribunal_core::run::Ending;
use tribunal_engine::End;

/// How a command that worked ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Everything is as wanted.
    Passed,
    /// A gate stayed shut, or a person stopped or cancelled it.
    Shut,
    /// It waits for a person.
    Waits,
    /// A signal ended it; it can be resumed.
    Signal(i32),
    /// A command of the protocol answered with a code of its own.
    Answer(u8),
}

impl Done {
    /// How a run ended. What passed and was left for the user to take is on no branch yet: that waits for them.
    pub fn of(end: &End, left: bool) -> Done {
        match end {
            End::Ended(Ending::Passed | Ending::Concerns) if left => Done::Waits,
            // What goes on with concerns was configured to go on: the next command may follow.
            End::Ended(Ending::Passed | Ending::Concerns) => Done::Passed,
            End::Ended(Ending::Shut | Ending::Stopped | Ending::Cancelled) => Done::Shut,
            End::Waiting | End::Spent(_) => Done::Waits,
            End::Suspended { signal } => Done::Signal(*signal),
        }
    }
}

/// 0 passed, 1 a gate stayed shut, 2 usage or configuration, 3 could not work, 4 waits for a person, 70 our bug,
/// 128+n signal. What is cancelled is never 0.
pub fn code(result: &Result<Done, Failure>) -> u8 {
    match result {
        Ok(Done::Passed) => 0,
        Ok(Done::Shut) => 1,
        Ok(Done::Waits) => 4,
        Ok(Done::Signal(signal)) => 128u8.saturating_add(u8::try_from(*signal).unwrap_or(0)),
        Ok(Done::Answer(code)) => *code,
        Err(failure) => match failure.kind {
            Kind::Usage => 2,
            Kind::Work => 3,
            Kind::Bug => 70,
            // Who reads us has seen enough: like any filter, that is no failure.
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
