//! `artifact-registry`: which files were made by which event.
//!
//! Paths are stored relative to the project, so a registration and a later query meet, wherever each was made from.

use super::args::ArtifactAction;
use super::{Answer, ground, plan_id};
use crate::failure::Failure;
use std::path::Path;
use tribunal_view::protocol as view;

/// Registers, queries or lists. Exit code 1 means that there is no such file or entry.
pub fn run(action: ArtifactAction, args: &[String]) -> Result<Answer, Failure> {
    let ground = ground(None)?;
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match (action, words.as_slice()) {
        (ArtifactAction::Register, [file, event, phase, plan]) => {
            let id = plan_id(phase, plan)?;
            let path = ground
                .relative(Path::new(file))
                .ok_or_else(|| Failure::usage(format!("{file:?} is not inside the project")))?;
            Ok(match tribunal_protocol::register(&ground, &path, event, &id.phase, &id.plan)? {
                Some(artifact) => Answer::new(view::plain(&artifact), 0),
                None => Answer::new(view::reason(&format!("{path} is no file")), 1),
            })
        }
        (ArtifactAction::Query, [file]) => {
            // A path outside of the project cannot have been registered; the query simply finds nothing.
            let path = ground.relative(Path::new(file)).unwrap_or_else(|| (*file).to_owned());
            let mut found = tribunal_protocol::registered(&ground.state())?;
            found.retain(|artifact| artifact.path == path);
            let code = u8::from(found.is_empty());
            Ok(Answer::new(view::artifacts(&found), code))
        }
        (ArtifactAction::List, [] | [_]) => {
            let mut found = tribunal_protocol::registered(&ground.state())?;
            if let [phase] = words[..] {
                // `1` and `01` name the same phase.
                let number = tribunal_docs::PlanId::new(phase, "").phase;
                found.retain(|artifact| artifact.phase == number);
            }
            Ok(Answer::new(view::artifacts(&found), 0))
        }
        (ArtifactAction::Register, _) => Err(Failure::usage("register needs FILE EVENT_ID PHASE PLAN")),
        (ArtifactAction::Query, _) => Err(Failure::usage("query needs FILE")),
        (ArtifactAction::List, _) => Err(Failure::usage("list needs at most a PHASE")),
    }
}
