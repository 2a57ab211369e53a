//! Whose field a finding lies in (SPEC 9.4): by the domain its author named, else by key words; unsure is nobody's.

use crate::text::plain_words;
use tribunal_core::finding::Claim;

/// Key words and the field they point to. A word counts when it begins so.
const KEYWORDS: &[(&str, &str)] = &[
    ("auth", "security"),
    ("encrypt", "security"),
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
    ("screen reader", "accessibility"),
    ("contrast", "accessibility"),
    ("keyboard", "accessibility"),
];

/// Words that only look like a key word.
const NOT_MEANT: &[&str] = &["author", "variable", "in contrast", "by contrast", "arian"];

/// The field of a claim, or `None` when unsure.
pub fn domain_of(claim: &Claim) -> Option<String> {
    if let Some(named) = &claim.domain {
        let named = plain_words(named);
        let known = KEYWORDS
            .iter()
            .map(|(_, domain)| *domain)
            .find(|domain| named == *domain || named.starts_with(&format!("{domain} ")));
        return Some(known.map_or(named, str::to_owned));
    }
    by_keywords(&claim.claim).or_else(|| by_keywords(&claim.details)).map(str::to_owned)
}

/// The field most key words point to; two equal ones are no answer.
fn by_keywords(text: &str) -> Option<&'static str> {
    let mut words = plain_words(text.get(..4_000).unwrap_or(&text[..text.floor_char_boundary(4_000)]));
    for other in NOT_MEANT {
        words = words.replace(other, " ");
    }
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for (keyword, domain) in KEYWORDS {
        let hits = words.match_indices(keyword).filter(|(at, _)| begins_word(&words, *at, keyword)).count();
        match counts.iter_mut().find(|(known, _)| known == domain) {
            Some((_, count)) => *count += hits,
            None => counts.push((domain, hits)),
        }
    }
    let best = counts.iter().map(|(_, count)| *count).max().filter(|count| *count > 0)?;
    let mut leading = counts.iter().filter(|(_, count)| *count == best);
    let first = leading.next()?;
    leading.next().is_none().then_some(first.0)
}

fn begins_word(words: &str, at: usize, keyword: &str) -> bool {
    let before = words[..at].chars().next_back();
    let after = words[at + keyword.len()..].chars().next();
    let whole = matches!(keyword, "aria" | "cpu" | "xss" | "csrf");
    before.is_none_or(|c| !c.is_alphanumeric()) && (!whole || after.is_none_or(|c| !c.is_alphanumeric()))
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
