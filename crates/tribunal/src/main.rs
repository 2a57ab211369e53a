//! The program's entry point. It does the work that must come before everything else, calls one command, and turns the
//! result into an exit code. It prints nothing itself except the version and the text of a failure.
//!
//! Most of this crate is a face over the engine: it reads arguments, configuration and the terminal, and decides
//! nothing about a run. The order of the steps in `main` is part of the contract with `tribunal-process`, so add new
//! work after the containment check, never before it.

mod args;
mod commands;
mod config;
mod demo;
mod editor;
mod exit;
mod facts;
mod failure;
mod given;
mod help;
mod hook;
mod notice;
mod out;
mod place;
mod plugin;
mod progress;
mod protocol;
mod signals;
mod test_command;
#[cfg(feature = "otel")]
mod trace;
mod tui;
mod watched;
mod web;

use failure::Failure;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A contained launch starts this program again for each of its stages. Such a process must do that stage's work and
    // nothing else, so this check comes before arguments and environment are read.
    if let Some(code) = tribunal_process::contained() {
        return code;
    }
    // Test builds only: the hostile suite switches one defence off at a time to prove that its case fails without it. A
    // name it does not know is an error, or a typing mistake would prove nothing.
    #[cfg(feature = "undefended")]
    if let Err(text) =
        tribunal_core::defence::switch_off(&std::env::var("TRIBUNAL_UNDEFENDED").unwrap_or_default())
    {
        out::say(&text);
        return ExitCode::from(2);
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    // Only the first word is looked at: the internal verbs below always stand first.
    let first = args.get(1).and_then(|arg| arg.to_str());
    match (first, args.len()) {
        // Machines ask for the version often, so no parser is built for it.
        (Some("--version" | "-V"), 2) => version(),
        // The next two verbs are started by adapter rows (`{self} scripted-agent …`), not by people. They read their
        // own arguments and stay out of the help.
        (Some("scripted-agent"), _) => ExitCode::from(tribunal_agent::scripted::main(
            args.into_iter().skip(1),
            std::io::stdin().lock(),
            std::io::stdout().lock(),
        )),
        (Some("acp"), _) => ExitCode::from(tribunal_agent::acp::main(
            args.into_iter().skip(2),
            std::io::stdin().lock(),
            std::io::stdout(),
        )),
        _ => guarded(args),
    }
}

fn version() -> ExitCode {
    let written = writeln!(std::io::stdout(), "tribunal {}", env!("CARGO_PKG_VERSION"));
    ExitCode::from(exit::code(&written.map(|()| exit::Done::Passed).map_err(Failure::from)))
}

/// Runs a command and reports a panic as a bug, in one line and with an exit code of its own.
///
/// A panic is always our bug: errors of the user and of the world come back as a `Failure`. The journal is written by
/// transactions, so the message can promise that `tribunal resume` continues the run.
fn guarded(args: Vec<OsString>) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload();
        let text = text.downcast_ref::<&str>().copied().or(text.downcast_ref::<String>().map(String::as_str));
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        out::say(&format!(
            "bug: {}{place}\nhint: the journal is safe; `tribunal resume` goes on, and we would like to hear of this",
            // A panic message may quote data of any length, control characters included.
            tribunal_view::plain::clipped(text.unwrap_or("no message"), 500)
        ));
    }));
    let result = std::panic::catch_unwind(|| commands::main(args));
    // The panic hook has printed the message; a second one from here would only repeat it.
    let result = result.unwrap_or_else(|_| Err(Failure::already_told()));
    if let Err(failure) = &result
        && failure.is_news()
    {
        out::say(&failure.to_string());
    }
    ExitCode::from(exit::code(&result))
}
