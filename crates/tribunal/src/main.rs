//! The program: what must happen before anything else, one call, one exit code. It prints nothing itself but the
//! version and the last words of a failure.

mod args;
mod commands;
mod config;
mod demo;
mod editor;
mod exit;
mod facts;
mod failure;
mod given;
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
    // A stage of a contained launch is this program started anew: it does that stage's work and nothing else.
    if let Some(code) = tribunal_process::contained() {
        return code;
    }
    #[cfg(feature = "undefended")]
    if let Err(text) =
        tribunal_core::defence::switch_off(&std::env::var("TRIBUNAL_UNDEFENDED").unwrap_or_default())
    {
        out::say(&text);
        return ExitCode::from(2);
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    let first = args.get(1).and_then(|arg| arg.to_str());
    match (first, args.len()) {
        // The version is asked for often and by machines: no parser is built for it.
        (Some("--version" | "-V"), 2) => version(),
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

/// A panic is our bug: one line, and its own exit code.
fn guarded(args: Vec<OsString>) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload();
        let text = text.downcast_ref::<&str>().copied().or(text.downcast_ref::<String>().map(String::as_str));
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        out::say(&format!(
            "bug: {}{place}\nhint: the journal is safe; `tribunal resume` goes on, and we would like to hear of this",
            tribunal_view::plain::clipped(text.unwrap_or("no message"), 500)
        ));
    }));
    let result = std::panic::catch_unwind(|| commands::main(args));
    let result = result.unwrap_or_else(|_| Err(Failure::already_told()));
    if let Err(failure) = &result
        && failure.is_news()
    {
        out::say(&failure.to_string());
    }
    ExitCode::from(exit::code(&result))
}
