//! Decides which field a finding lies in (security, performance, api, accessibility, …).
//!
//! The field a reviewer names itself wins; key words decide only where none is named. An unsure answer is `None`,
//! because triage takes a finding out of an owned field when its owner did not raise it: a wrong guess here could drop
//! a real finding.

use crate::text::plain_words;
use tribunal_core::finding::Claim;

/// Key words and the field each one points to; a word matches when it begins with the key word.
const KEYWORDS: &[(&str, &str)] = &[
    ("auth", "security"),
    ("encrypt", "security"),
    // Both spellings, British and American.
    ("sanitiz", "security"),
    ("sanitis", "security"),
    ("injection", "security"),
    ("xss", "security"),
    ("csrf", "security"),
    ("slow", "performance"),
    ("cache", "performance"),
    ("caching", "performance"),
    ("optimiz", "performance"),
    ("optimis", "performance"),
    ("memory", "performance"),
    ("cpu", "performance"),
    ("endpoint", "api"),
    ("route", "api"),
    ("request", "api"),
    ("response", "api"),
    ("aria", "accessibility"),
    ("contrast", "accessibility"),
    ("keyboard", "accessibility"),
];

/// The field of a claim, or `None` when unsure.
///
/// A named field that is not one of ours is kept as it was written: a roster may give owners to fields of its own.
pub fn domain_of(claim: &Claim) -> Option<String> {
    if let Some(named) = &claim.domain {
        let named = plain_words(named);
        let known = KEYWORDS
            .iter()
            // "security (input)" and "security review" both mean the security owner.
            .map(|(_, domain)| *domain)
            .find(|domain| named == *domain || named.starts_with(&format!("{domain} ")));
        return Some(known.map_or(named, str::to_owned));
    }
    // The title decides first: details wander through neighbouring subjects.
    by_keywords(&claim.claim).or_else(|| by_keywords(&claim.details)).map(str::to_owned)
}

/// The field that most key words point to; a tie decides nothing.
fn by_keywords(text: &str) -> Option<&'static str> {
    const FIELDS: [&str; 4] = ["security", "performance", "api", "accessibility"];
    let mut counts = [0usize; FIELDS.len()];
    let mut before = "";
    // Bounded: hostile details are long, and the first words already show the subject.
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(600) {
        if let Some(at) =
            field_of(before, word).and_then(|field| FIELDS.iter().position(|known| *known == field))
        {
            counts[at] += 1;
        }
        before = word;
    }
    let best = counts.iter().copied().max().filter(|count| *count > 0)?;
    let mut leading = (0..FIELDS.len()).filter(|n| counts[*n] == best);
    let first = leading.next()?;
    leading.next().is_none().then_some(FIELDS[first])
}

/// The field one word points to, given the word before it.
fn field_of(before: &str, word: &str) -> Option<&'static str> {
    let begins =
        // `get` instead of a slice: a key word's length may fall inside a character of the text.
        |keyword: &str| word.get(..keyword.len()).is_some_and(|head| head.eq_ignore_ascii_case(keyword));
    if begins("reader") {
        return before.eq_ignore_ascii_case("screen").then_some("accessibility");
    }
    let (keyword, field) = KEYWORDS.iter().find(|(keyword, _)| begins(keyword))?;
    // These are short enough to begin unrelated words, so they must match whole.
    let whole = matches!(*keyword, "aria" | "cpu" | "xss" | "csrf");
    // "By contrast this is fine" is a figure of speech, not a matter of accessibility.
    let idiom = *keyword == "contrast" && ["in", "by"].iter().any(|w| before.eq_ignore_ascii_case(w));
    // "author" is a person; "authorize" and "authorise" are security.
    let author = *keyword == "auth" && begins("author") && !begins("authori");
    let longer = whole && word.len() != keyword.len();
    (!longer && !idiom && !author).then_some(*field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tribunal_core::finding::Severity;

    #[test]
    fn fields_by_key_words() {
        for (text, expect) in [
            ("SQL injection in the filter", Some("security")),
            ("Authentication is skipped", Some("security")),
            ("the author field is empty", None),
            ("slow: memory grows", Some("performance")),
            ("the endpoint returns 200", Some("api")),
            ("aria-label is missing", Some("accessibility")),
            ("the variable is unused", None),
            ("By contrast this is fine", None),
            ("the response is not sanitized", None),
            ("off by one", None),
        ] {
            assert_eq!(domain_of(&Claim::new(Severity::Warning, text)).as_deref(), expect, "{text}");
        }
        let mut claim = Claim::new(Severity::Warning, "the endpoint leaks");
        claim.domain = Some("Security".into());
        assert_eq!(domain_of(&claim).as_deref(), Some("security"));
    }
}
