//! The documents of the first two tiers of a context: what every role of a project reads, and what a family does. It
//! reads them beneath the planning folder and puts nothing about a role, a plan or a time among them.

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

/// The families there are.
pub const FAMILIES: [&str; 2] = ["planning", "execution"];

/// What everybody reads, and what this family reads besides.
pub fn tiers(ground: &Ground, family: &str) -> (Vec<Part>, Vec<Part>) {
    let part = |name: &&str| {
        // Some keep roadmap and requirements beside the map of the code.
        let places =
            [format!("{}/{name}", ground.planning()), format!("{}/codebase/{name}", ground.planning())];
        let text = places.iter().find_map(|place| ground.text(place))?;
        Some(Part { name: (*name).to_owned(), text })
    };
    let own: &[&str] = if family == "planning" { &PLANNING } else { &EXECUTION };
    (SHARED.iter().filter_map(part).collect(), own.iter().filter_map(part).collect())
}
