//! The ways in which an agent goes wrong, by name. Here are only the names and their meaning; `agent.rs` performs them.
//!
//! Each fault is one that a real program has shown or could show. Tests of containment, parsers and landing use them.

/// A fault that the scripted agent can show. Faults that end the turn say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// `crash`: kills itself. Ends the turn.
    Crash,
    /// `exit-nonzero`: exit code 3 without an answer. Ends the turn.
    ExitNonzero,
    /// `final-nonzero`: a whole answer and exit code 3. Ends the turn.
    FinalNonzero,
    /// `hang`: does nothing for ever. Ends the turn.
    Hang,
    /// `garbage`: prints what no parser understands, exit code 0. Ends the turn.
    Garbage,
    /// `half-answer`: the final event breaks off in the middle, exit code 0. Ends the turn.
    HalfAnswer,
    /// `no-final`: exit code 0 without a final event. Ends the turn.
    NoFinal,
    /// `invalid-utf8`: the final text holds bytes that are no UTF-8, exit code 0. Ends the turn.
    InvalidUtf8,
    /// `error-event`: an error event, then an answer, exit code 0. Ends the turn.
    ErrorEvent,
    /// `half-report`: the report file ends in half a tool call.
    HalfReport,
    /// `flood:BYTES`: prints so many bytes of messages.
    Flood(u64),
    /// `flood-line:BYTES`: prints one line of so many bytes.
    FloodLine(u64),
    /// `orphan`: leaves processes that are their own session, ignore SIGTERM, have no environment and keep forking
    /// (for a minute at most, so that a failing test does not spoil the machine).
    Orphan,
    /// `ignore-term`: ignores SIGTERM, SIGINT and SIGHUP from now on.
    IgnoreTerm,
    /// `write-outside[:PATH]`: writes a file outside its folder, `../escaped.txt` when no path is given.
    WriteOutside(String),
    /// `symlink-outside[:TARGET]`: leaves a link `escape` to a place outside, `/etc/passwd` when no target is given.
    SymlinkOutside(String),
    /// `edit-git`: points its git at a repository of its own whose configuration runs a script, with hooks.
    EditGit,
    /// `delete-tree`: removes its working folder.
    DeleteTree,
    /// `escape-codes`: says terminal escapes, and forged lines with them.
    EscapeCodes,
}

const NAMES: [&str; 19] = [
    "crash",
    "exit-nonzero",
    "final-nonzero",
    "hang",
    "garbage",
    "half-answer",
    "no-final",
    "invalid-utf8",
    "error-event",
    "half-report",
    "flood:BYTES",
    "flood-line:BYTES",
    "orphan",
    "ignore-term",
    "write-outside[:PATH]",
    "symlink-outside[:TARGET]",
    "edit-git",
    "delete-tree",
    "escape-codes",
];

impl Fault {
    /// Reads a fault's name; the error lists the names there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let unknown = || format!("unknown fault `{text}`\nhint: faults are {}", NAMES.join(", "));
        let (name, detail) = match text.split_once(':') {
            Some((name, detail)) => (name, Some(detail)),
            None => (text, None),
        };
        // Underscores are allowed as in Rust, because a flood has many zeros.
        let bytes = || detail.and_then(|bytes| bytes.replace('_', "").parse().ok()).ok_or_else(unknown);
        let path = |default: &str| detail.unwrap_or(default).to_owned();
        let fault = match name {
            "flood" => return Ok(Self::Flood(bytes()?)),
            "flood-line" => return Ok(Self::FloodLine(bytes()?)),
            "write-outside" => return Ok(Self::WriteOutside(path("../escaped.txt"))),
            "symlink-outside" => return Ok(Self::SymlinkOutside(path("/etc/passwd"))),
            "crash" => Self::Crash,
            "exit-nonzero" => Self::ExitNonzero,
            "final-nonzero" => Self::FinalNonzero,
            "hang" => Self::Hang,
            "garbage" => Self::Garbage,
            "half-answer" => Self::HalfAnswer,
            "no-final" => Self::NoFinal,
            "invalid-utf8" => Self::InvalidUtf8,
            "error-event" => Self::ErrorEvent,
            "half-report" => Self::HalfReport,
            "orphan" => Self::Orphan,
            "ignore-term" => Self::IgnoreTerm,
            "edit-git" => Self::EditGit,
            "delete-tree" => Self::DeleteTree,
            "escape-codes" => Self::EscapeCodes,
            _ => return Err(unknown()),
        };
        // A detail on a fault that takes none is a mistake of the scenario and not ignored.
        if detail.is_some() { Err(unknown()) } else { Ok(fault) }
    }
}
