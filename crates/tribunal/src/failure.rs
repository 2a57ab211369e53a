//! Failures as the user sees them: a kind, a message and hints. Exit codes follow from the kind, in `exit.rs` alone.
//!
//! Every error of a library becomes a `Failure` in one of the `From` impls below, so a command can use `?` throughout.
//! A kind exists for each different reaction (fix the command line, fix the world, report a bug), not for each cause.

use std::fmt;

/// Who can do something about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line or the configuration is wrong.
    Usage,
    /// The world does not allow it: there is no repository, no space, or somebody holds a lock.
    Work,
    /// We are wrong: the user can only report it.
    Bug,
    /// The reader of our output has gone, which is nobody's fault.
    BrokenPipe,
}

/// An error for the user: the reason a command could not do its work.
///
/// A gate that stays shut and a run that waits are not failures; they are values of `exit::Done`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Decides the exit code.
    pub kind: Kind,
    /// Says what is wrong and with which file, flag or command; the hints are kept apart.
    pub message: String,
    /// Commands and settings that help, each printed on a line of its own.
    pub hints: Vec<String>,
}

impl Failure {
    fn new(kind: Kind, message: impl fmt::Display) -> Failure {
        let text = message.to_string();
        let mut lines = Vec::new();
        let mut hints = Vec::new();
        // Libraries end their messages with `hint:` lines. They are cut out here, so that hints added later by a
        // command stand together with them.
        for line in text.lines() {
            match line.trim_start().strip_prefix("hint: ") {
                Some(hint) => hints.push(hint.to_owned()),
                None => lines.push(line),
            }
        }
        Failure { kind, message: lines.join("\n"), hints }
    }

    /// A failure whose cause is the command line.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Usage, message)
    }

    /// A failure whose cause is a configuration file; it has the same exit code as a wrong command line.
    pub fn config(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Usage, message)
    }

    /// A failure whose cause is the world around us.
    pub fn work(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Work, message)
    }

    /// A failure that must not happen and is our fault.
    pub fn bug(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Bug, message)
    }

    /// A bug whose message has been printed already, by the panic hook.
    pub fn already_told() -> Failure {
        Failure::bug("")
    }

    /// True if the message still has to be printed.
    pub fn is_news(&self) -> bool {
        self.kind != Kind::BrokenPipe && !self.message.is_empty()
    }

    /// Adds a hint after those the failure already has.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::new(Kind::BrokenPipe, error),
            // Almost always a write to stdout. Code that touches files must name the file in a message of its own and
            // not rely on this conversion.
            _ => Failure::work(format!("cannot write the output: {error}")),
        }
    }
}

impl From<tribunal_journal::Error> for Failure {
    fn from(error: tribunal_journal::Error) -> Failure {
        Failure::work(error)
    }
}

impl From<tribunal_engine::RunStateError> for Failure {
    fn from(error: tribunal_engine::RunStateError) -> Failure {
        Failure::work(error)
    }
}

impl From<tribunal_engine::EngineError> for Failure {
    fn from(error: tribunal_engine::EngineError) -> Failure {
        match error {
            // The engine writes JSON only from its own types, so one that cannot be written is our bug.
            tribunal_engine::EngineError::Bug(_) | tribunal_engine::EngineError::Json(_) => {
                Failure::bug(error)
            }
            other => Failure::work(other),
        }
    }
}

impl From<tribunal_world::SetupError> for Failure {
    fn from(error: tribunal_world::SetupError) -> Failure {
        // The engine knows best whose fault a refused setup is; only its code is turned into a kind here.
        match error.exit_code() {
            2 => Failure::usage(error),
            70 => Failure::bug(error),
            _ => Failure::work(error),
        }
    }
}

impl From<tribunal_engine::inbox::AnswerError> for Failure {
    fn from(error: tribunal_engine::inbox::AnswerError) -> Failure {
        Failure::usage(error)
    }
}
