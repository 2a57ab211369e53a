//! The dispatcher: parses the command line and calls one command. Each command has its own file.

mod cancel;
mod config;
mod decide;
mod delta;
mod demo;
mod gc;
mod inbox;
mod init;
mod intake;
mod log;
mod report;
mod resume;
mod run;
mod schema;
mod show;
mod status;

use crate::args::{Cli, Command, Globals};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::inside_an_agent;
use clap::Parser;
use clap::error::ErrorKind;
use std::ffi::OsString;

/// Runs the command line.
pub fn main(args: Vec<OsString>) -> Result<Done, Failure> {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if let Some(dir) = &cli.globals.work_dir {
        std::env::set_current_dir(dir)
            .map_err(|error| Failure::usage(format!("cannot change to {}: {error}", dir.display())))?;
    }
    if steers(&cli.command) && inside_an_agent() {
        return Err(Failure::usage("an agent of a run may not steer runs")
            .hint("answer in your final message; a person decides outside"));
    }
    dispatch(&cli.globals, cli.command)
}

fn dispatch(globals: &Globals, command: Command) -> Result<Done, Failure> {
    match command {
        Command::Demo(args) => demo::run(globals, &args),
        Command::Init(_) => init::run(globals),
        Command::Run(args) => run::run(globals, &args),
        Command::Status(args) => status::run(globals, &args),
        Command::Log(args) => log::run(globals, &args),
        Command::Show(args) => show::run(globals, &args),
        Command::Report(args) => report::run(globals, &args),
        Command::Resume(args) => resume::run(globals, &args),
        Command::Cancel(args) => cancel::run(globals, &args),
        Command::Inbox(args) => inbox::run(globals, &args),
        Command::Decide(args) => decide::run(globals, &args),
        Command::Gc(args) => gc::run(globals, &args),
        Command::Intake(args) => intake::run(globals, &args),
        Command::Delta(args) => delta::run(globals, &args),
        Command::Config(args) => config::run(globals, &args),
        Command::Schema(args) => schema::run(&args),
        Command::Docs(args) => crate::protocol::docs(globals, &args),
        Command::Protocol => crate::protocol::list(),
        Command::Step(step) => crate::protocol::run(globals, step),
    }
}

/// Commands that change what happens, which an agent may not.
fn steers(command: &Command) -> bool {
    match command {
        Command::Status(_)
        | Command::Log(_)
        | Command::Show(_)
        | Command::Report(_)
        | Command::Inbox(_)
        | Command::Intake(_)
        | Command::Delta(_)
        | Command::Docs(_)
        | Command::Protocol
        | Command::Step(_)
        | Command::Schema(_) => false,
        Command::Demo(_)
        | Command::Init(_)
        | Command::Run(_)
        | Command::Resume(_)
        | Command::Cancel(_)
        | Command::Decide(_)
        | Command::Gc(_)
        | Command::Config(_) => true,
    }
}

/// Help is data; everything else the parser says is a usage error.
fn usage(error: &clap::Error) -> Result<Done, Failure> {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            out::data(&text.to_string())?;
            Ok(Done::Passed)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            out::say(&text.to_string());
            Err(Failure::usage("no command was given"))
        }
        _ => {
            let text = text.to_string();
            Err(Failure::usage(text.trim_start_matches("error: ").trim_end()))
        }
    }
}
