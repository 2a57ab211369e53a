//! The dispatcher: parses the command line and calls one command. Each command has its own file.
//!
//! Every command has the shape `run(globals, args) -> Result<Done, Failure>`; it returns and never exits, so that exit
//! codes stay in one place. A new command needs a variant in `args.rs`, a place in a group of `help.rs`, a file here, a
//! line in `dispatch` and a decision in `steers`.

mod cancel;
mod chain;
mod config;
pub mod decide;
mod dedupe;
mod delta;
mod demo;
mod do_;
mod doctor;
mod explain;
mod gc;
mod inbox;
mod init;
mod intake;
mod land;
mod log;
mod map;
mod mcp;
mod replay;
pub mod report;
pub mod resume;
mod review;
pub mod run;
mod serve;
mod show;
pub mod status;
pub mod trust;
pub mod uat;
mod waive;
mod watch;

use crate::args::{Cli, Command, Globals, Help};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::inside_an_agent;
use crate::protocol::args::{Lean, Protocol};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use tribunal_world::Artifact;

/// Parses the command line and runs the command.
pub fn main(args: Vec<OsString>) -> Result<Done, Failure> {
    let (globals, command) = match parsed(args) {
        Ok(parsed) => parsed,
        Err(error) => return usage(&error),
    };
    if let Some(dir) = &globals.work_dir {
        std::env::set_current_dir(dir)
            .map_err(|error| Failure::usage(format!("cannot change to {}: {error}", dir.display())))?;
    }
    // Before any command code runs, so that no command can forget the check.
    if steers(&command) && inside_an_agent() {
        return Err(Failure::usage("an agent of a run may not steer runs")
            .hint("answer in your final message; a person decides outside"));
    }
    dispatch(&globals, command)
}

/// Parses the command line.
///
/// Scripts call commands of the protocol in great numbers, and building a parser is the most expensive thing such a
/// command does. So these commands get a small parser with nothing but themselves, with `protocol` before their name or
/// without it.
fn parsed(mut args: Vec<OsString>) -> Result<(Globals, Command), clap::Error> {
    let word = |at: usize| args.get(at).and_then(|arg| arg.to_str());
    let is_prefixed = word(1) == Some("protocol") && word(2).is_some_and(Protocol::has_subcommand);
    // Only if the protocol's command stands first; after an option the full parser finds it, too.
    if is_prefixed || word(1).is_some_and(Protocol::has_subcommand) {
        if is_prefixed {
            args.remove(1);
        }
        let lean = Lean::try_parse_from(args)?;
        return Ok((lean.globals, Command::Step(lean.command)));
    }
    let matches = crate::help::command().try_get_matches_from(args)?;
    let cli = Cli::from_arg_matches(&matches)?;
    Ok((cli.globals, cli.command))
}

fn dispatch(globals: &Globals, command: Command) -> Result<Done, Failure> {
    match command {
        Command::Demo(args) => demo::run(globals, &args),
        Command::Init(args) => init::run(globals, &args),
        Command::Doctor(args) => doctor::run(globals, &args),
        Command::Do(args) => do_::run(globals, &args),
        Command::Run(args) => run::run(globals, &args),
        Command::Review(args) => review::run(globals, &args),
        Command::Specify(args) => chain::run(globals, Artifact::Spec, &args.chain, &args.wanted.join(" ")),
        Command::Design(args) => chain::run(globals, Artifact::Design, &args.chain, ""),
        Command::CreatePlan(args) => chain::run(globals, Artifact::Plan, &args.chain, ""),
        Command::CreateTasks(args) => chain::run(globals, Artifact::Tasks, &args.chain, ""),
        Command::Implement(args) => chain::run(globals, Artifact::Implementation, &args.chain, ""),
        Command::Status(args) => status::run(globals, &args),
        Command::Log(args) => log::run(globals, &args),
        Command::Explain(args) => explain::run(globals, &args),
        Command::Replay(args) => replay::run(globals, &args),
        Command::Show(args) => show::run(globals, &args),
        Command::Report(args) => report::run(globals, &args),
        Command::Resume(args) => resume::run(globals, &args),
        Command::Land(args) => land::run(globals, &args),
        Command::Cancel(args) => cancel::run(globals, &args),
        Command::Watch(args) => watch::run(globals, &args),
        Command::Serve(args) => serve::run(globals, &args),
        Command::Inbox(args) => inbox::run(globals, &args),
        Command::Decide(args) => decide::run(globals, &args),
        Command::Waive(args) => waive::run(globals, &args),
        Command::Uat(args) => uat::run(globals, &args),
        Command::Map(args) => map::run(globals, &args),
        Command::Gc(args) => gc::run(globals, &args),
        Command::Intake(args) => intake::run(globals, &args),
        Command::Dedupe(args) => dedupe::run(globals, &args),
        Command::Delta(args) => delta::run(globals, &args),
        Command::Config(args) => config::run(globals, &args),
        Command::Trust(args) => trust::run(globals, &args),
        Command::Completions { shell } => completions(shell),
        Command::Mcp(args) => mcp::run(&args),
        Command::Hook(args) => crate::hook::run(&args.event),
        Command::Help(args) => help(&args),
        Command::Docs(args) => crate::protocol::docs(globals, &args),
        Command::Protocol { command: None } => crate::protocol::list(),
        Command::Protocol { command: Some(step) } | Command::Step(step) => {
            crate::protocol::run(globals, step)
        }
    }
}

/// Prints the daily page, the page with every command, or the help of one command.
fn help(args: &Help) -> Result<Done, Failure> {
    if args.all {
        out::data(&crate::help::whole(&Cli::command()))?;
        return Ok(Done::Passed);
    }
    // The same answer as `--help` behind the words, so that there is one way to print it.
    let words = ["tribunal"].into_iter().chain(args.command.iter().map(String::as_str)).chain(["--help"]);
    match crate::help::command().try_get_matches_from(words) {
        Err(error) => usage(&error),
        Ok(_) => {
            Err(Failure::usage("there is no such command").hint("tribunal help --all lists every command"))
        }
    }
}

/// Prints the completion script for a shell.
fn completions(shell: clap_complete::Shell) -> Result<Done, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tribunal", &mut script);
    out::data(&String::from_utf8_lossy(&script))?;
    Ok(Done::Passed)
}

/// True for commands that change what happens, which an agent may not use.
///
/// The match lists every command without a wildcard: whoever adds one has to decide. If in doubt, answer `true`.
fn steers(command: &Command) -> bool {
    match command {
        Command::Status(_)
        | Command::Log(_)
        | Command::Explain(_)
        | Command::Replay(_)
        | Command::Show(_)
        | Command::Report(_)
        | Command::Inbox(_)
        | Command::Intake(_)
        | Command::Dedupe(_)
        | Command::Delta(_)
        | Command::Docs(_)
        | Command::Protocol { .. }
        // Agents and the scripts they run call the protocol's commands; none of these steers a run.
        | Command::Step(_)
        | Command::Completions { .. }
        | Command::Hook(_)
        | Command::Help(_) => false,
        Command::Demo(_)
        | Command::Init(_)
        | Command::Doctor(_)
        | Command::Do(_)
        | Command::Run(_)
        | Command::Review(_)
        | Command::Specify(_)
        | Command::Design(_)
        | Command::CreatePlan(_)
        | Command::CreateTasks(_)
        | Command::Implement(_)
        | Command::Resume(_)
        | Command::Land(_)
        | Command::Cancel(_)
        | Command::Decide(_)
        | Command::Waive(_)
        | Command::Serve(_)
        | Command::Watch(_)
        | Command::Uat(_)
        | Command::Map(_)
        | Command::Gc(_)
        | Command::Trust(_)
        | Command::Config(_) => true,
        // An agent of a run reports through the server of its launch. The server for editors (`--serve`) could start
        // reviews.
        Command::Mcp(args) => args.serve,
    }
}

/// Help is data and a success; everything else the parser says is a usage error.
fn usage(error: &clap::Error) -> Result<Done, Failure> {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            out::data(&text.to_string())?;
            Ok(Done::Passed)
        }
        // Nobody asked for this help, so it goes to stderr and the exit code says that the command is incomplete.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            out::say(&text.to_string());
            Err(Failure::usage("no command was given"))
        }
        _ => {
            let text = text.to_string();
            // A failure is printed with `error:` in front; clap's own must not stand there twice.
            Err(Failure::usage(text.trim_start_matches("error: ").trim_end()))
        }
    }
}
