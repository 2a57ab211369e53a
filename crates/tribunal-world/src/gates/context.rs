//! The documents of the first two tiers of a context: what every role of a project reads, and what one family of roles
//! reads besides.
//!
//! Nothing about a role, a plan or a time belongs here. These tiers are the same bytes for every prompt of a family.

use super::Ground;
use tribunal_view::context::Part;

const SHARED: [&str; 4] = ["PROJECT.md", "CODEBASE.md", "codebase/STACK.md", "codebase/CONVENTIONS.md"];
const PLANNING: [&str; 5] = [
    "ROADMAP.md",
    "REQUIREMENTS.md",
    "codebase/ARCHITECTURE.md",
    "codebase/STRUCTURE.md",
    "codebase/DEPENDENCIES.md",
];
const EXECUTION: [&str; 6] = [
    "ROADMAP.md",
    "codebase/ARCHITECTURE.md",
    "codebase/PATTERNS.md",
    "codebase/STRUCTURE.md",
    "codebase/TESTING.md",
    "codebase/DEPENDENCIES.md",
];

/// The families of roles.
pub const FAMILIES: [&str; 2] = ["planning", "execution"];

/// The documents for everybody, and those for this family.
pub fn tiers(ground: &Ground, family: &str) -> (Vec<Part>, Vec<Part>) {
    let part = |name: &&str| {
        // Some projects keep roadmap and requirements beside the map of the code.
        let places =
            [format!("{}/{name}", ground.planning()), format!("{}/codebase/{name}", ground.planning())];
        let text = places.iter().find_map(|place| ground.text(place))?;
        Some(Part { name: (*name).to_owned(), text })
    };
    let own: &[&str] = if family == "planning" { &PLANNING } else { &EXECUTION };
    (SHARED.iter().filter_map(part).collect(), own.iter().filter_map(part).collect())
}
