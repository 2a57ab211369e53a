//! Waivers of single findings: who accepts a finding as it is, why, and until when.
//!
//! A waiver is a message to the review that found it, and the next review of the same subject takes it over. Tracking
//! says whether it covers what is found then. There is no clock here: the time comes in.

use crate::mail::Body;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tribunal_core::finding::Fate;
use tribunal_core::ids::{FindingId, Time};
use tribunal_journal::Mail;
use tribunal_view::{calendar, plain};

/// How many characters of a reason are kept.
const WHY_MAX: usize = 300;

/// One finding that somebody accepts as it is.
///
/// A waiver is never edited. A later one with a higher number replaces it, so the mailbox shows who accepted what and
/// when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// The finding that is accepted.
    pub finding: FindingId,
    /// Its number among the waivers of that finding, from 1. The last one counts.
    pub n: u32,
    /// The person who accepts it.
    pub by: String,
    /// The reason that the person gives.
    pub why: String,
    /// The time at which it ends; none where it has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

impl Waiver {
    /// The key of its message in the mailbox.
    pub fn key(&self) -> String {
        format!("waive {} {}", self.finding, self.n)
    }

    /// Whether it still holds.
    pub fn holds(&self, now: Time) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// Who, why and until when, as a finding shows it.
    ///
    /// Equal waivers have equal words. `handed` relies on that: a fate holds only the words.
    pub fn words(&self) -> String {
        // The end is the first moment after the last day, and people want to read the last day.
        let last = self.until.map(|until| calendar::date(until.0.saturating_sub(1)));
        let until = last.map(|day| format!(", until {day}")).unwrap_or_default();
        format!("{}: {}{until}", plain::clipped(&self.by, 100), plain::clipped(&self.why, WHY_MAX))
    }
}

/// The last waiver of each finding, from the messages to a review.
pub fn of_mail(mail: &[Mail]) -> BTreeMap<FindingId, Waiver> {
    let mut last: BTreeMap<FindingId, Waiver> = BTreeMap::new();
    for mail in mail {
        let Ok(Body::Waive(waiver)) = Body::read(&mail.message) else { continue };
        if last.get(&waiver.finding).is_none_or(|known| known.n < waiver.n) {
            last.insert(waiver.finding, waiver);
        }
    }
    last
}

/// The fate with which a finding comes to the next review; none where it does not come.
///
/// A message to the review replaces every earlier waiver of the finding, also once it has ended. Without a message, a
/// waiver that was taken over holds until its own end.
pub fn carried_fate(
    fate: &Fate,
    message: Option<&Waiver>,
    carried: Option<&Waiver>,
    now: Time,
) -> Option<Fate> {
    if !stands(fate) {
        return None;
    }
    let over = |who: &String| match message {
        Some(_) => true,
        None => carried.is_some_and(|known| known.words() == *who && !known.holds(now)),
    };
    Some(match fate {
        // A waiver that holds comes first, whatever the fate was.
        _ if message.is_some_and(|message| message.holds(now)) => Fate::Waived(message?.words()),
        Fate::Waived(who) if over(who) => Fate::Open,
        fate => fate.clone(),
    })
}

/// Whether a review left the finding behind: open in some way, or waived.
pub fn stands(fate: &Fate) -> bool {
    fate.stands() || matches!(fate, Fate::Waived(_))
}

/// The end of a day that is written as `2026-12-31`, in UTC; none where there is no such day.
pub fn end_of_day(text: &str) -> Option<Time> {
    calendar::end_of_day(text).map(Time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn a_day_is_read_as_it_is_written() {
        let check =
            |text: &str, expect: Option<u64>| assert_eq!(end_of_day(text), expect.map(Time), "{text}");
        check("1970-01-01", Some(DAY_MS));
        check("2000-02-29", Some(951_782_400_000 + DAY_MS));
        check("2026-11-15", Some(1_794_700_800_000 + DAY_MS));
        for none in ["", "2026", "2026-02-30", "2100-02-29", "2026-13-01", "2026-1-1", "1969-12-31", "x-y-z"]
        {
            check(none, None);
        }
        for none in ["2026-01-00", "+026-01-01", "9999999-01-01", "2026-01-01-01", " 2026-01-01"] {
            check(none, None);
        }
    }

    #[test]
    fn it_holds_to_the_end_of_its_day() {
        let of = |until| Waiver { finding: FindingId(1), n: 1, by: "Ada".into(), why: "art".into(), until };
        let end = end_of_day("2026-12-31").unwrap();
        let waiver = of(Some(end));
        assert_eq!(waiver.words(), "Ada: art, until 2026-12-31");
        assert!(waiver.holds(Time(end.0 - 1)) && !waiver.holds(end));
        assert!(of(None).holds(Time(u64::MAX)));
        assert_eq!(of(None).words(), "Ada: art");
    }

    #[test]
    fn it_comes_to_the_next_review_while_it_holds() {
        let of = |why: &str, until: u64| Waiver {
            finding: FindingId(1),
            n: 1,
            by: "Ada".into(),
            why: why.into(),
            until: Some(Time(until)),
        };
        let (message, carried) = (of("new", 100), of("old", 50));
        let waived = |waiver: &Waiver| Fate::Waived(waiver.words());
        let check = |fate: &Fate, now: u64, expect: Option<Fate>| {
            assert_eq!(
                carried_fate(fate, Some(&message), Some(&carried), Time(now)),
                expect,
                "{fate:?} at {now}"
            );
        };
        check(&Fate::Unresolved, 99, Some(waived(&message)));
        check(&Fate::Unresolved, 100, Some(Fate::Unresolved));
        check(&waived(&carried), 99, Some(waived(&message)));
        check(&waived(&carried), 100, Some(Fate::Open));
        // Waived for good once, and then until a day: the last word counts.
        check(&Fate::Waived("Ada: for good".into()), 99, Some(waived(&message)));
        check(&Fate::Waived("Ada: for good".into()), 100, Some(Fate::Open));
        check(&Fate::Fixed, 0, None);
        let without = |fate: &Fate, now: u64, expect: Fate| {
            assert_eq!(
                carried_fate(fate, None, Some(&carried), Time(now)),
                Some(expect),
                "{fate:?} at {now}"
            );
        };
        without(&waived(&carried), 49, waived(&carried));
        without(&waived(&carried), 50, Fate::Open);
        // Its code changed, so the review found it open: what was taken over covers it no more.
        without(&Fate::Unresolved, 0, Fate::Unresolved);
        // Accepted with everything else, which has no end.
        without(&Fate::Waived("Bob".into()), 99, Fate::Waived("Bob".into()));
    }
}
