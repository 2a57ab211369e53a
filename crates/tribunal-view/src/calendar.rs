//! Times as people and other programs read them: always UTC, always in one of three forms.
//!
//! The journal counts milliseconds since 1970. Everything that turns them into a date, or a date back into them, is here,
//! so that no two pages disagree about a leap day.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A time as `2026-11-15T20:43:40Z`.
pub fn timestamp(ms: u64) -> String {
    at(ms).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time as `2026-11-15T20:43:40.123Z`, the form that the protocol's files use.
pub fn timestamp_with_ms(ms: u64) -> String {
    at(ms).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The day of a time as `2026-11-15`.
pub fn date(ms: u64) -> String {
    at(ms).strftime("%Y-%m-%d").to_string()
}

/// The first millisecond after a day that is written as `2026-12-31`.
///
/// Only this one form is taken, and only days that exist: a waiver that runs until the 31st of June would otherwise end on
/// a day that nobody wrote.
pub fn end_of_day(text: &str) -> Option<u64> {
    let day: Date = text.parse().ok()?;
    let end = day.checked_add(1.day()).ok()?.to_zoned(TimeZone::UTC).ok()?;
    let ms = u64::try_from(end.timestamp().as_millisecond()).ok()?;
    (day.year() >= 1970 && day.to_string() == text).then_some(ms)
}

/// Reads a time such as `2026-11-15T20:43:40.123Z`; offsets other than UTC are not understood.
pub fn read_timestamp(text: &str) -> Option<u64> {
    if !text.ends_with('Z') && !text.ends_with("+00:00") {
        return None;
    }
    u64::try_from(text.parse::<Timestamp>().ok()?.as_millisecond()).ok()
}

/// A time that the calendar has no name for is shown as its last one.
fn at(ms: u64) -> Timestamp {
    i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_everybody_reads_them() {
        for (ms, expect) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_794_775_420_123, "2026-11-15T20:43:40.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        ] {
            assert_eq!(timestamp_with_ms(ms), expect);
            assert_eq!(timestamp(ms), format!("{}Z", &expect[..19]));
            assert_eq!(date(ms), expect[..10]);
            assert_eq!(read_timestamp(expect), Some(ms));
        }
        assert!(timestamp(u64::MAX).starts_with("9999-12-3"));
    }

    #[test]
    fn times_are_read() {
        for (text, expect) in [
            ("2000-02-29T00:00:00Z", Some(951_782_400_000)),
            ("2026-11-15T20:43:40.123+02:00", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(read_timestamp(text), expect, "{text}");
        }
    }

    #[test]
    fn only_days_that_exist_end() {
        for (text, expect) in [
            ("1970-01-01", Some(86_400_000)),
            ("2026-12-31", Some(1_798_761_600_000)),
            ("2024-02-29", Some(1_709_251_200_000)),
            ("2023-02-29", None),
            ("2026-06-31", None),
            ("2026-1-1", None),
            ("1969-12-31", None),
            ("20261231", None),
            ("2026-12-31T00:00", None),
            ("", None),
        ] {
            assert_eq!(end_of_day(text), expect, "{text}");
        }
    }
}
