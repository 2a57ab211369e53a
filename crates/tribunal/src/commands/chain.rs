//! `tribunal specify`, `design`, `create-plan`, `create-tasks` and `implement`: each begins the run of one artifact, or
//! goes on with it.
//!
//! The engine decides how an artifact is made and reviewed; the five commands differ only in the artifact they name.
//! `implement` is an ordinary run whose last loop compares the landed work with the spec.

use super::run::{Stay, asked};
use super::{resume, run};
use crate::args::{ChainArgs, Globals};
use crate::exit::Done;
use crate::failure::Failure;
use crate::place::Place;
use crate::{config, out};
use tribunal_engine::history::Chronicle;
use tribunal_view::plain;
use tribunal_world::{Artifact, Ask, ChainAsk};

/// Makes one artifact of a feature, or goes on with its run that is not over.
pub fn run(globals: &Globals, artifact: Artifact, args: &ChainArgs, wanted: &str) -> Result<Done, Failure> {
    let place = Place::to_work_on()?;
    let config = config::here(Some(&place), &args.set)?;
    config.untrusted_note().iter().for_each(|line| out::say(&format!("note: {line}")));
    let settings = &config.settings;
    let project = place.project()?;
    let open = match args.fresh {
        true => None,
        false => resume::of_chain(&place, artifact, &args.feature)?,
    };
    if let Some(id) = open {
        out::say(&format!("run {id} for this is not over: it goes on (--fresh begins another)"));
        return resume::go_on(globals, &place, &id, args.waiting, None);
    }
    let ask = ChainAsk {
        artifact,
        feature: args.feature.clone(),
        wanted: wanted.to_owned(),
        mode: args.mode.clone(),
        review: asked(args.review, args.no_review),
        attached: args.waiting.attach,
    };
    let begun = match artifact {
        Artifact::Implementation => {
            // The plans of a feature lie in a phase that is named after it.
            let phase = tribunal_world::plans_of(&project, &args.feature);
            let run = Ask { phase, attached: args.waiting.attach, ..Ask::default() };
            tribunal_world::begin_implementation(&project, settings, &ask, &run)
        }
        _ => tribunal_world::begin_chain(&project, settings, &ask),
    };
    let (id, engine) = begun.map_err(|error| config.located(error))?;
    if !globals.quiet {
        out::say(&format!("run {id}"));
        run::tell_noticed(engine.run_state());
        run::tell_taken_over(engine.run_state());
    }
    let chain = engine.run_state().about.chain.clone();
    for warning in chain.iter().flat_map(|chain| &chain.warnings) {
        out::say(&format!("warning: {}", plain::line(warning)));
    }
    // Said even with `--quiet`: nobody should take an unreviewed artifact for an approved one.
    if let Some(why) = chain.as_ref().and_then(|chain| chain.skipped.as_deref()) {
        out::say(&format!("warning: nobody reviews it ({why})"));
    }
    let (waiting, uat) = (args.waiting, false);
    let stay = Stay {
        globals,
        project: &project,
        id: &id,
        settings,
        waiting,
        uat,
        shown: Default::default(),
        asks: false,
    };
    stay.with(engine, Chronicle::default())
}
