//! How our own types are written for programs and people: as the words that stand in the published schemas.
//!
//! Views keep the types themselves. A word is made where it is printed and never compared, so a case that is forgotten
//! does not compile.

use crate::plain;
use serde::Serializer;
use std::fmt::Display;
use tribunal_core::finding::Reply;
use tribunal_core::panel::Ruling;
use tribunal_core::review_loop::Outcome;
use tribunal_core::run::RunStage;

/// The stage of a run whose journal holds nothing.
const EMPTY: &str = "empty";

/// Writes a value as its word.
pub(crate) fn word<T: Display, S: Serializer>(value: &T, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(value)
}

/// Writes a value as its word; nothing is an empty text.
pub(crate) fn word_or_empty<T: Display, S: Serializer>(value: &Option<T>, out: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => out.collect_str(value),
        None => out.serialize_str(""),
    }
}

/// Writes a stage as its word.
pub(crate) fn stage<S: Serializer>(stage: &Option<RunStage>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(stage_word(*stage))
}

/// The name of a stage; a run without a fact has none, and is called empty.
pub fn stage_word(stage: Option<RunStage>) -> &'static str {
    stage.map_or(EMPTY, RunStage::word)
}

/// Writes an outcome as people read it.
pub(crate) fn outcome<S: Serializer>(outcome: &Option<Outcome>, out: S) -> Result<S::Ok, S::Error> {
    match outcome {
        Some(outcome) => out.serialize_some(&outcome_words(outcome)),
        None => out.serialize_none(),
    }
}

/// The same, with an empty text where there is no outcome.
pub(crate) fn outcome_or_empty<S: Serializer>(outcome: &Option<Outcome>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&outcome.as_ref().map(outcome_words).unwrap_or_default())
}

/// Says how a loop ended: `passed`, `exhausted`, `accepted by ann`.
pub fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Accepted(by) => format!("accepted by {}", plain::line(by)),
        outcome => outcome.word().to_owned(),
    }
}

/// Writes a reply in words; nothing is an empty text.
pub(crate) fn reply<S: Serializer>(reply: &Option<Reply>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&reply.as_ref().map(reply_words).unwrap_or_default())
}

/// Says in words what a builder answered: `refuted: it is a test`.
pub fn reply_words(reply: &Reply) -> String {
    reply_with(reply, plain::line)
}

/// The same, with the reason made harmless in the caller's way.
pub fn reply_with(reply: &Reply, clean: impl Fn(&str) -> String) -> String {
    match reply.parts() {
        (word, None) => word.to_owned(),
        (word, Some(why)) => format!("{word}: {}", clean(why)),
    }
}

/// Writes a ruling by its name; a round without a ruling has an empty text.
pub(crate) fn ruling<S: Serializer>(ruling: &Option<Ruling>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(ruling_word(ruling.as_ref()))
}

/// The name of a ruling; empty for a round that has none yet.
pub fn ruling_word(ruling: Option<&Ruling>) -> &'static str {
    match ruling {
        None => "",
        Some(Ruling::Pass { checks_only: false }) => "pass",
        Some(Ruling::Pass { checks_only: true }) => "pass, judged by checks only",
        Some(Ruling::PassWithWarnings { .. }) => "pass with warnings",
        Some(Ruling::Rework { .. }) => "rework",
        Some(Ruling::NoQuorum) => "no quorum",
    }
}
