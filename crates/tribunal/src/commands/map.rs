//! `tribunal map`: writes a page about the repository that every agent is given.
//!
//! A page that a person wrote is not overwritten: the first line of a page of ours says that it was made here.

use crate::args::{Globals, Map};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use tribunal_view::map::MADE;

/// Writes the map, or prints it with `--print`.
pub fn run(globals: &Globals, args: &Map) -> Result<Done, Failure> {
    let project = Place::to_work_on()?.project()?;
    let text = tribunal_world::codebase(&project)?;
    if args.print {
        out::data(&text)?;
        return Ok(Done::Passed);
    }
    let folder = project.root().join(project.planning());
    let path = folder.join("CODEBASE.md");
    let shown = format!("{}/CODEBASE.md", project.planning());
    // Not `exists`, which follows links: a broken link is something that is there, too.
    if path.symlink_metadata().is_ok() && !args.force {
        // A file that cannot be read is not ours: it is left alone.
        let ours = std::fs::read_to_string(&path).is_ok_and(|text| text.starts_with(MADE));
        if !ours {
            return Err(Failure::usage(format!(
                "{shown} was not made here\nhint: `tribunal map --print` shows the map, `--force` writes it all the same"
            )));
        }
    }
    let written =
        std::fs::create_dir_all(&folder).and_then(|()| tribunal_world::write_atomic(&path, text.as_bytes()));
    written.map_err(|error| {
        Failure::work(format!("cannot write {shown}: {error}")).hint("`tribunal map --print` shows the map")
    })?;
    if globals.json {
        out::json(&serde_json::json!({ "written": shown }))?;
    } else if !globals.quiet {
        out::data(&format!("{shown} is written; every agent is given it\n"))?;
    }
    Ok(Done::Passed)
}
