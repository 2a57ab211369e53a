//! The driver for agents of the Agent Client Protocol: a small program of its own inside the launch. It starts the
//! agent, gives it the prompt, answers its questions by the access of the launch, and prints Tribunal's own events.
//!
//! So nothing outside needs to know the protocol: containment, sandbox, watchdog and parsers are the same for all
//! agents. The driver never assumes that an agent respects a refusal; the sandbox enforces it.
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
/// The exit code of a launch without an answer. The printed event says why; the code alone means nothing.
const EXIT_FAILED: u8 = 1;

/// The options on the driver's command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether requests to change something are refused.
    pub read_only: bool,
    /// The mode that the session is put into before the prompt.
    pub mode: Option<String>,
    /// The id of an earlier session to continue.
    pub session: Option<String>,
    /// The command line of the MCP server; empty if there is none.
    pub mcp: Vec<String>,
    /// The command line that starts the agent.
    pub argv: Vec<OsString>,
}

/// Plays one launch and returns the exit code.
///
/// Every failure is also printed as an event, because the reader of the launch decides by events.
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
            // An unknown option is refused: a misspelt `--read-only` must not become a launch that may write.
            _ => return Err(format!("unknown option {}", arg.display())),
        }
    }
    // Checked here, before anything is started, so the message can name the setting.
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
