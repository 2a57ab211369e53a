//! The driver for agents of the Agent Client Protocol: a small program of its own inside the launch. It starts the agent,
//! gives it the prompt, answers its questions by what the launch may do, and prints Tribunal's own events, so that nothing
//! outside needs to know the protocol. It never believes that an agent keeps to what it was refused: the walls do that.
//!
//! `acp [--read-only] [--mode ID] [--session ID] [--mcp JSON] -- PROGRAM ARGS…`; the prompt is standard input.

mod client;
mod print;
mod signals;

use crate::parse::{Problem, ProblemKind};
use client::Ending;
use print::Printer;
use std::ffi::OsString;
use std::io::{Read, Write};

const PROMPT_MAX: u64 = 64 << 20;
/// The exit code of a launch without an answer.
const EXIT_FAILED: u8 = 1;

/// What the command line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Nothing may be changed.
    pub read_only: bool,
    /// The mode the session is put into first.
    pub mode: Option<String>,
    /// The session it goes on in.
    pub session: Option<String>,
    /// The MCP server's command line.
    pub mcp: Vec<String>,
    /// The agent's command line.
    pub argv: Vec<OsString>,
}

/// Plays one launch.
pub fn main(
    args: impl IntoIterator<Item = OsString>,
    stdin: impl Read,
    stdout: impl Write + Send + 'static,
) -> u8 {
    let printer = std::sync::Arc::new(Printer::new(stdout));
    let ended = options(args).and_then(|options| {
        let mut prompt = Vec::new();
        let read = stdin.take(PROMPT_MAX).read_to_end(&mut prompt);
        read.map_err(|error| format!("cannot read the prompt: {error}"))?;
        let prompt = String::from_utf8_lossy(&prompt).into_owned();
        client::play(&options, prompt, &printer)
    });
    match ended {
        Ok(ending) => finish(&printer, ending),
        Err(text) => {
            printer.error(&Problem::new(ProblemKind::Setup, text));
            EXIT_FAILED
        }
    }
}

fn finish(printer: &Printer, ending: Ending) -> u8 {
    match ending {
        Ending::Answered(usage) => {
            printer.last(usage);
            0
        }
        Ending::Stopped(problem) => {
            printer.error(&problem);
            EXIT_FAILED
        }
    }
}

fn options(args: impl IntoIterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = |name: &str| {
            let value = args.next().and_then(|value| value.into_string().ok());
            value.ok_or_else(|| format!("{name} needs a value"))
        };
        match arg.to_str() {
            Some("--read-only") => options.read_only = true,
            Some("--mode") => options.mode = Some(value("--mode")?),
            Some("--session") => options.session = Some(value("--session")?),
            Some("--mcp") => {
                let text = value("--mcp")?;
                options.mcp = serde_json::from_str(&text).map_err(|error| format!("--mcp: {error}"))?;
            }
            Some("--") => {
                options.argv = args.by_ref().collect();
                break;
            }
            _ => return Err(format!("unknown option {}", arg.display())),
        }
    }
    match options.argv.first().is_none_or(|program| program.is_empty()) {
        true => {
            Err("no agent to start\nhint: configure its words: args = [\"opencode\", \"acp\"]".to_owned())
        }
        false => Ok(options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let check = |line: &str, expect: Result<Options, &str>| {
            let got = options(line.split_whitespace().map(OsString::from));
            match (got, expect) {
                (Err(text), Err(part)) => assert!(text.contains(part), "{line}: {text}"),
                (got, expect) => assert_eq!(got.ok(), expect.ok(), "{line}"),
            }
        };
        let plain = Options { argv: vec!["a".into(), "--acp".into()], ..Options::default() };
        check("-- a --acp", Ok(plain.clone()));
        check(
            "--read-only --mode plan --session s1 --mcp [\"t\",\"mcp\"] -- a --acp",
            Ok(Options {
                read_only: true,
                mode: Some("plan".to_owned()),
                session: Some("s1".to_owned()),
                mcp: vec!["t".to_owned(), "mcp".to_owned()],
                ..plain
            }),
        );
        check("", Err("no agent"));
        check("--", Err("no agent"));
        check("--mode", Err("--mode needs a value"));
        check("--mcp x -- a", Err("--mcp"));
        check("--yolo -- a", Err("unknown option"));
    }
}
