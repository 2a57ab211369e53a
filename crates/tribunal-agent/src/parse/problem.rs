//! What went wrong, as a kind that the engine can react to. It is read from statuses, codes, and the few phrases for
//! which programs have no code; a kind is never guessed.
//!
//! A phrase that is too short would match an answer about the same subject, so add whole expressions.

use serde::{Deserialize, Serialize};

/// A kind of trouble. Each kind asks for a different reaction of the engine.
///
/// The engine maps each of them to a failure of the loop, and `docs/design/adapters.md` says what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// Too many requests; wait until the limit ends.
    RateLimit,
    /// The model's server has trouble; retry later.
    Overloaded,
    /// Nobody is logged in, or access is not allowed.
    Auth,
    /// The account has no allowance left.
    Quota,
    /// There is more text than the model takes.
    ContextLength,
    /// The turn cap was reached.
    MaxTurns,
    /// The program's own budget cap was reached.
    Budget,
    /// The model refused to answer.
    Refusal,
    /// The answer breaks off before its end.
    Truncated,
    /// Somebody or something stopped the program.
    Interrupted,
    /// The request is wrong, so the same request will fail again.
    BadRequest,
    /// The program refused to begin as it was launched.
    Setup,
    /// An answer by schema was asked for and did not come.
    Unstructured,
    /// The output is too long or too damaged to be read.
    Unreadable,
    /// Trouble that fits none of the other kinds.
    Other,
}

/// The moment when a limit ends.
///
/// Programs tell one form or the other. A span is kept as it is, because the parsers have no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reset {
    /// This many milliseconds after it was reported.
    AfterMs(u64),
    /// This point in time, in milliseconds since 1970.
    AtMs(u64),
}

/// Something that went wrong in a launch, in a form that can be shown and acted on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The kind, which decides the reaction.
    pub kind: ProblemKind,
    /// The program's own words, in short.
    pub message: String,
    /// The HTTP status of the model's server, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The end of the limit, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
}

impl ProblemKind {
    /// Every kind, in the order in which errors list them.
    pub const ALL: [Self; 15] = [
        Self::RateLimit,
        Self::Overloaded,
        Self::Auth,
        Self::Quota,
        Self::ContextLength,
        Self::MaxTurns,
        Self::Budget,
        Self::Refusal,
        Self::Truncated,
        Self::Interrupted,
        Self::BadRequest,
        Self::Setup,
        Self::Unstructured,
        Self::Unreadable,
        Self::Other,
    ];

    /// The name that rows and events use.
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::ContextLength => "context_length",
            Self::MaxTurns => "max_turns",
            Self::Budget => "budget",
            Self::Refusal => "refusal",
            Self::Truncated => "truncated",
            Self::Interrupted => "interrupted",
            Self::BadRequest => "bad_request",
            Self::Setup => "setup",
            Self::Unstructured => "unstructured",
            Self::Unreadable => "unreadable",
            Self::Other => "other",
        }
    }

    /// Returns the kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Problem {
    /// Makes a problem with a message, which is shortened and made printable.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        const MESSAGE_MAX: usize = 500;
        Self { kind, message: printable(&message.into(), MESSAGE_MAX), status: None, reset: None }
    }

    /// Classifies what a program says about a failed request to its model.
    ///
    /// Statuses are more reliable than words, but several causes share a status. So both are used.
    pub(crate) fn of_words(status: Option<u16>, text: &str) -> Self {
        let status = status.or_else(|| status_in(text));
        let reset = reset_in(text);
        let kind = match classify(status, &text.to_lowercase()) {
            // A used-up allowance that comes back by itself is a limit.
            ProblemKind::Quota if reset.is_some() => ProblemKind::RateLimit,
            kind => kind,
        };
        Self { status, reset, ..Self::new(kind, text) }
    }

    /// Replaces the message and keeps everything else.
    pub(super) fn saying(self, message: &str) -> Self {
        Self { status: self.status, reset: self.reset, ..Self::new(self.kind, message) }
    }

    /// Adds the end of a limit that the program told elsewhere.
    pub(super) fn until(mut self, reset: Option<Reset>) -> Self {
        self.reset = reset.or(self.reset);
        self
    }
}

/// Shortens an agent's words and removes characters that could control a terminal.
pub(super) fn printable(text: &str, max: usize) -> String {
    text.chars().take(max).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

const CONTEXT: [&str; 9] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "prompt is too long",
    "maximum context",
    "input is too long",
    "exceeds the maximum number of tokens",
    "token limit",
    "contextwindowexceeded",
];
const QUOTA: [&str; 7] = [
    "insufficient_quota",
    "exceeded your current quota",
    "credit balance",
    "usage limit",
    "usage_limit_reached",
    "out of credits",
    "billing",
];
const REFUSAL: [&str; 4] = ["content_filter", "content policy", "content-filter", "contentpolicyviolation"];
const LIMIT: [&str; 5] = ["rate limit", "rate_limit", "ratelimit", "too many requests", "resource_exhausted"];
const BUSY: [&str; 9] = [
    "litellm.apierror",
    "overloaded",
    "high demand",
    "internalservererror",
    "serviceunavailable",
    "server_error",
    "server error",
    "service unavailable",
    "apiconnectionerror",
];
const AUTH: [&str; 10] = [
    "unauthorized",
    "authentication",
    "invalid api key",
    "invalid x-api-key",
    "incorrect api key",
    "invalid_api_key",
    "not logged in",
    "/login",
    "permission_error",
    "permissiondenied",
];
const BROKEN: [&str; 7] = [
    "stream disconnected",
    "connection closed",
    "connection was closed",
    "connection reset",
    "stream ended",
    "peer closed",
    "incomplete chunked read",
];
const WRONG: [&str; 3] = ["invalid_request", "badrequest", "bad request"];

/// Finds the kind by the status and by the phrases that programs use. `text` is in lower case.
///
/// The order of the checks matters, because one message may match several lists. The more specific cause comes first.
fn classify(status: Option<u16>, text: &str) -> ProblemKind {
    use ProblemKind as Kind;
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let by_words = || match () {
        () if says(&LIMIT) => Kind::RateLimit,
        // Programs report a broken connection with words for any trouble of a server, so this comes before `BUSY`.
        () if says(&BROKEN) => Kind::Truncated,
        () if says(&BUSY) => Kind::Overloaded,
        () if says(&AUTH) => Kind::Auth,
        () if says(&WRONG) => Kind::BadRequest,
        () => Kind::Other,
    };
    // These causes hide behind statuses that mean other things, too, so the words are asked before the status.
    if matches!(status, None | Some(400 | 402 | 403 | 413 | 422 | 429)) {
        if says(&CONTEXT) {
            return Kind::ContextLength;
        }
        if says(&QUOTA) {
            return Kind::Quota;
        }
        if says(&REFUSAL) {
            return Kind::Refusal;
        }
    }
    match status {
        // Only now the status alone: the words have said nothing more exact.
        Some(401 | 403) => Kind::Auth,
        Some(402) => Kind::Quota,
        Some(413) => Kind::ContextLength,
        Some(429) => Kind::RateLimit,
        Some(408 | 500..=599) => Kind::Overloaded,
        Some(400..=499) => Kind::BadRequest,
        _ => by_words(),
    }
}

/// Finds the status that a message names: `status 401`, `status: 429`, `(429)`, `Error: 500`.
fn status_in(text: &str) -> Option<u16> {
    const BEFORE: [&str; 8] = [
        "status ",
        "status: ",
        "status code ",
        "Error: ",
        "rejected (",
        "error code: ",
        "\"code\":",
        "\"code\": ",
    ];
    BEFORE.iter().find_map(|before| {
        let at = text.find(before)? + before.len();
        let digits: String = text.get(at..)?.chars().take_while(char::is_ascii_digit).collect();
        let status = digits.parse().ok()?;
        // Any other number in the message is not a status: a count, a year, a line.
        (digits.len() == 3 && (400..600).contains(&status)).then_some(status)
    })
}

/// Finds the time that a message names: `try again in 20s`, `retry after 2 minutes`, or seconds since 1970 after a bar.
fn reset_in(text: &str) -> Option<Reset> {
    let lower = text.to_lowercase();
    // The span counts from the moment of the message, which is why it is kept as a span.
    let after = ["again in ", "retry after ", "retry in ", "resets in "];
    let told = after.iter().find_map(|words| span(lower.get(lower.find(words)? + words.len()..)?));
    told.map(Reset::AfterMs).or_else(|| {
        let digits: String = text.rsplit_once('|')?.1.chars().take_while(char::is_ascii_digit).collect();
        let seconds: u64 = digits.parse().ok()?;
        // Ten digits are a date of our time; a shorter number after a bar is something else.
        (digits.len() == 10).then_some(Reset::AtMs(seconds * 1000))
    })
}

/// Reads a span of time in milliseconds: a number and a unit, or seconds if there is no unit.
fn span(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number: f64 = number.trim_end_matches('.').parse().ok()?;
    let unit: String = rest.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    let ms = match unit.as_str() {
        "ms" | "millisecond" | "milliseconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => 1000.0,
    };
    let ms = (number * ms).ceil();
    (ms.is_finite() && ms < 1e15).then_some(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_and_statuses_have_kinds() {
        use ProblemKind as K;
        let check = |status: Option<u16>, text: &str, kind: K, reset: Option<Reset>| {
            let problem = Problem::of_words(status, text);
            assert_eq!((problem.kind, problem.reset), (kind, reset), "{status:?} {text}");
        };
        check(Some(429), "slow down", K::RateLimit, None);
        check(Some(429), "try again in 20s", K::RateLimit, Some(Reset::AfterMs(20_000)));
        check(Some(429), "Please try again in 1.5 minutes.", K::RateLimit, Some(Reset::AfterMs(90_000)));
        check(Some(429), "You exceeded your current quota", K::Quota, None);
        check(None, "AI usage limit reached|1794766674", K::RateLimit, Some(Reset::AtMs(1_794_766_674_000)));
        check(None, "You've hit your usage limit.", K::Quota, None);
        check(
            None,
            "You've hit your usage limit. Try again in 3 days",
            K::RateLimit,
            Some(Reset::AfterMs(259_200_000)),
        );
        check(Some(529), "Overloaded", K::Overloaded, None);
        check(Some(500), "x", K::Overloaded, None);
        check(None, "unexpected status 401 Unauthorized: no", K::Auth, None);
        check(None, "exceeded retry limit, last status: 429 Too Many Requests", K::RateLimit, None);
        check(Some(400), "prompt is too long: 210000 tokens > 200000 maximum", K::ContextLength, None);
        check(Some(413), "too large", K::ContextLength, None);
        check(Some(400), "bad", K::BadRequest, None);
        check(None, r#"[API Error: {"error":{"code":401,"message":"no"}}]"#, K::Auth, None);
        check(Some(402), "pay", K::Quota, None);
        check(Some(400), "content_filter", K::Refusal, None);
        check(None, "stream disconnected before completion: idle timeout", K::Truncated, None);
        check(None, "The socket connection was closed unexpectedly.", K::Truncated, None);
        check(None, "We’re currently experiencing high demand", K::Overloaded, None);
        check(None, "something else", K::Other, None);
    }

    #[test]
    fn messages_are_short_and_steer_no_terminal() {
        let problem = Problem::of_words(None, &"\u{1b}[2J\u{7}x\u{9b}".repeat(1000));
        assert_eq!(problem.message.chars().count(), 500);
        assert!(!problem.message.chars().any(char::is_control));
    }

    #[test]
    fn kinds_have_names() {
        for kind in ProblemKind::ALL {
            assert_eq!(ProblemKind::named(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    proptest! {
        #[test]
        fn any_words_are_read(text in "\\PC*", status in proptest::option::of(any::<u16>())) {
            let _ = Problem::of_words(status, &text);
            let _ = Problem::of_words(status, &format!("try again in {text} status {text}|{text}"));
        }
    }
}
