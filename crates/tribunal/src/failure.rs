//! What the user is told when something does not work: a kind, a message and ways out. Exit codes follow from the
//! kind, in `exit.rs` alone.

use std::fmt;

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line or the configuration.
    Usage,
    /// The world: no repository, no space, a lock.
    Work,
    /// Ours.
    Bug,
    /// Nobody's: the reader of our output has gone.
    BrokenPipe,
}

/// One failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose fault it is.
    pub kind: Kind,
    /// What is wrong.
    pub message: String,
    /// Ways out.
    pub hints: Vec<String>,
}

impl Failure {
    fn new(kind: Kind, message: impl fmt::Display) -> Failure {
        let text = message.to_string();
        let mut lines = Vec::new();
        let mut hints = Vec::new();
        // Libraries end their messages with `hint:` lines.
        for line in text.lines() {
            match line.trim_start().strip_prefix("hint: ") {
                Some(hint) => hints.push(hint.to_owned()),
                None => lines.push(line),
            }
        }
        Failure { kind, message: lines.join("\n"), hints }
    }

    /// The command line is wrong.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Usage, message)
    }

    /// The configuration is wrong.
    pub fn config(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Usage, message)
    }

    /// It could not be done.
    pub fn work(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Work, message)
    }

    /// We are wrong.
    pub fn bug(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Bug, message)
    }

    /// We are wrong, and it has been said.
    pub fn already_told() -> Failure {
        Failure::bug("")
    }

    /// Somebody should hear of it, and has not yet.
    pub fn is_news(&self) -> bool {
        self.kind != Kind::BrokenPipe && !self.message.is_empty()
    }

    /// The same with a way out.
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
            _ => Failure::work(format!("cannot write the output: {error}")),
        }
    }
}

impl From<tribunal_journal::Error> for Failure {
    fn from(error: tribunal_journal::Error) -> Failure {
        Failure::work(error)
    }
}

impl From<tribunal_engine::DocketError> for Failure {
    fn from(error: tribunal_engine::DocketError) -> Failure {
        Failure::work(error)
    }
}

impl From<tribunal_engine::EngineError> for Failure {
    fn from(error: tribunal_engine::EngineError) -> Failure {
        match error {
            tribunal_engine::EngineError::Bug(_) | tribunal_engine::EngineError::Json(_) => {
                Failure::bug(error)
            }
            other => Failure::work(other),
        }
    }
}

impl From<tribunal_world::SetupError> for Failure {
    fn from(error: tribunal_world::SetupError) -> Failure {
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
