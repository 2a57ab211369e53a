//! `tribunal schema`: the published JSON schemas, as `docs/schema/` holds them.

use crate::args::Schema;
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;

/// Prints a schema.
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
