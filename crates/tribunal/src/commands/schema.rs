//! `tribunal schema`: prints the published JSON schemas, which `docs/schema/` holds, too.
//!
//! They are made from the types, so the program can print the schema of exactly the version that is installed.

use crate::args::Schema;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;

/// Prints the named schema.
pub fn run(args: &Schema) -> Result<Done, Failure> {
    let text = match args.name.as_str() {
        "events" => tribunal_view::events::schema(),
        "status" => tribunal_view::facts::schema(),
        "doctor" => tribunal_view::doctor::schema(),
        other => {
            return Err(
                Failure::usage(format!("there is no schema {other:?}")).hint("events, status, doctor")
            );
        }
    };
    out::data(&text)?;
    Ok(Done::Passed)
}
