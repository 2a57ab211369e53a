//! Reads the results of a SARIF run as they stream by.
//!
//! Each result becomes a claim at once if it says everything itself, and waits for the end of its run if it does not.
//! No more of a log is held in memory than that: a log may have a hundred thousand results.

use super::Draft;
use super::report::Place;
use super::sarif::{Res, fill_whole};
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use tribunal_core::finding::{Claim, Severity};

/// A string that borrows from the input where it can, inside an `Option` too.
///
/// serde borrows a plain `Cow` field, but not one inside an `Option`; the wrapper carries the attribute.
#[derive(Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The first element of a list; the rest is skipped without being stored.
pub(super) struct First<T>(pub Option<T>);

impl<T> Default for First<T> {
    fn default() -> Self {
        First(None)
    }
}

struct FirstVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FirstVisitor<T> {
    type Value = First<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<First<T>, A::Error> {
        let first = seq.next_element()?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(First(first))
    }

    fn visit_unit<E: de::Error>(self) -> Result<First<T>, E> {
        Ok(First(None))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FirstVisitor(PhantomData))
    }
}

/// All results of a run.
///
/// Order and indexes are those of the log, whether a result waited or not.
#[derive(Default)]
pub(super) struct Results<'a> {
    claims: Vec<Claim>,
    places: Vec<Place>,
    /// Results that need their run, each with the index of the claim it is to become.
    waiting: Vec<(usize, Res<'a>)>,
    /// What was wrong with those that became claims at once.
    draft: Draft,
}

impl<'a> Results<'a> {
    /// Takes one result. One that says all is well is skipped, but counts for the indexes.
    fn add(&mut self, index: usize, result: Res<'a>) {
        if result.is_no_finding() {
            return;
        }
        self.places.push(Place { index, settled: result.is_settled() });
        let at = self.claims.len();
        // A placeholder keeps the order; the result fills it now or when its run is known.
        self.claims.push(Claim::new(Severity::Warning, ""));
        if !fill_whole(&mut self.claims[at], &result, &mut self.draft) {
            self.waiting.push((at, result));
        }
    }

    /// Completes those that had to wait, given their index; where `finish` makes nothing of one, it is left out.
    pub fn finished(
        mut self,
        draft: &mut Draft,
        finish: impl Fn(usize, &Res<'a>, &mut Draft) -> Option<Claim>,
    ) -> (Vec<Claim>, Vec<Place>) {
        for unread in std::mem::take(&mut self.draft.intake.unread) {
            draft.intake.note(&unread.text, unread.why);
        }
        // Most logs have nothing that waits, and then nothing is allocated.
        let mut nothing = vec![false; if self.waiting.is_empty() { 0 } else { self.claims.len() }];
        for (at, result) in &self.waiting {
            match finish(self.places[*at].index, result, draft) {
                Some(claim) => self.claims[*at] = claim,
                None => nothing[*at] = true,
            }
        }
        if nothing.contains(&true) {
            let (mut one, mut other) = (nothing.iter(), nothing.iter());
            self.claims.retain(|_| one.next() == Some(&false));
            self.places.retain(|_| other.next() == Some(&false));
        }
        (self.claims, self.places)
    }
}

struct ResultsVisitor;

impl<'de> Visitor<'de> for ResultsVisitor {
    type Value = Results<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of results")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Results<'de>, A::Error> {
        let mut results = Results::default();
        let mut index = 0;
        while let Some(result) = seq.next_element::<Res<'de>>()? {
            results.add(index, result);
            index += 1;
        }
        Ok(results)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Results<'de>, E> {
        Ok(Results::default())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Results<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ResultsVisitor)
    }
}
