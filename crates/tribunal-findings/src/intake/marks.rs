//! Reads how severe a line says it is: words in several languages, P0 to P3, lights, brackets, conventional comments.
//!
//! One table; a word that is not in it is never a severity. A mark that is missed makes a finding a warning, so a new
//! form of mark belongs here and not into a reader.

use crate::text::plain_words;
use crate::words;
use tribunal_core::finding::Severity::{self, Blocker, Suggestion, Warning};

/// Severities beside the English ones of `words::severity`.
const FOREIGN: &[(&str, Severity)] = &[
    ("kritisch", Blocker),
    ("schwerwiegend", Blocker),
    ("blockierend", Blocker),
    ("hoch", Blocker),
    ("muss", Blocker),
    ("warnung", Warning),
    ("mittel", Warning),
    ("sollte", Warning),
    ("hinweis", Suggestion),
    ("vorschlag", Suggestion),
    ("niedrig", Suggestion),
    ("gering", Suggestion),
    ("kleinigkeit", Suggestion),
    ("crítico", Blocker),
    ("crítica", Blocker),
    ("critico", Blocker),
    ("critica", Blocker),
    ("grave", Blocker),
    ("bloqueante", Blocker),
    ("alta", Blocker),
    ("alto", Blocker),
    ("advertencia", Warning),
    ("media", Warning),
    ("medio", Warning),
    ("menor", Suggestion),
    ("leve", Suggestion),
    ("baja", Suggestion),
    ("bajo", Suggestion),
    ("sugerencia", Suggestion),
    ("nota", Suggestion),
    ("critique", Blocker),
    ("bloquant", Blocker),
    ("bloquante", Blocker),
    ("élevé", Blocker),
    ("élevée", Blocker),
    ("avertissement", Warning),
    ("moyen", Warning),
    ("moyenne", Warning),
    ("mineur", Suggestion),
    ("mineure", Suggestion),
    ("faible", Suggestion),
    ("remarque", Suggestion),
    ("bloccante", Blocker),
    ("alto rischio", Blocker),
    ("avviso", Warning),
    ("minore", Suggestion),
    ("suggerimento", Suggestion),
    ("критично", Blocker),
    ("критический", Blocker),
    ("блокер", Blocker),
    ("важно", Warning),
    ("предупреждение", Warning),
    ("замечание", Suggestion),
    ("незначительно", Suggestion),
    ("严重", Blocker),
    ("致命", Blocker),
    ("阻塞", Blocker),
    ("高", Blocker),
    ("高危", Blocker),
    ("严重问题", Blocker),
    ("必须修复", Blocker),
    ("必须", Blocker),
    ("一般", Warning),
    ("警告", Warning),
    ("中", Warning),
    ("中等", Warning),
    ("建议", Suggestion),
    ("轻微", Suggestion),
    ("低", Suggestion),
    ("提示", Suggestion),
    ("嚴重", Blocker),
    ("建議", Suggestion),
    ("重大", Blocker),
    ("致命的", Blocker),
    ("重要", Warning),
    ("中程度", Warning),
    ("低い", Suggestion),
    ("改善", Suggestion),
    ("改善提案", Suggestion),
    ("必须修改", Blocker),
    ("重要问题", Warning),
    ("优化", Suggestion),
    ("优化建议", Suggestion),
    ("次要", Suggestion),
    ("sugestão", Suggestion),
    ("aviso", Warning),
    ("baixo", Suggestion),
    ("baixa", Suggestion),
    ("média", Warning),
    ("médio", Warning),
    ("suggestion", Suggestion),
    ("majeur", Warning),
    ("majeure", Warning),
    ("必須", Blocker),
    ("要修正", Blocker),
    ("注意", Warning),
    ("軽微", Suggestion),
    ("提案", Suggestion),
    ("参考", Suggestion),
    ("심각", Blocker),
    ("치명적", Blocker),
    ("경고", Warning),
    ("보통", Warning),
    ("제안", Suggestion),
    ("경미", Suggestion),
];

/// English words and phrases beside those of `words::severity`.
const ENGLISH: &[(&str, Severity)] = &[
    ("must fix", Blocker),
    ("must be fixed", Blocker),
    ("must fix before merge", Blocker),
    ("should fix", Warning),
    ("should be fixed", Warning),
    ("could fix", Suggestion),
    ("could be fixed", Suggestion),
    ("non blocking", Suggestion),
    ("nonblocking", Suggestion),
    ("not blocking", Suggestion),
    ("if minor", Suggestion),
    ("show stopper", Blocker),
    ("showstopper", Blocker),
    ("red", Blocker),
    ("yellow", Warning),
    ("green", Suggestion),
    ("consider", Suggestion),
    ("polish", Suggestion),
    ("cosmetics", Suggestion),
];

/// The severity that a word or short phrase means; `None` for anything longer or unknown.
pub(crate) fn word(text: &str) -> Option<Severity> {
    let text = text
        .trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | ':' | '：' | '!' | '.'));
    if let Some((severity, rest)) = light(text)
        && rest.trim().is_empty()
    {
        return Some(severity);
    }
    // A light beside a word: the word is read, see `lead`.
    let text = light(text).map_or(text, |(_, rest)| rest.trim());
    if text.is_empty() || text.len() > 40 || is_name(text) {
        return None;
    }
    let words = plain_words(text);
    let words = words.strip_suffix(" severity").or(words.strip_suffix(" priority")).unwrap_or(&words);
    let words = words.strip_prefix("severity ").or(words.strip_prefix("priority ")).unwrap_or(words);
    let known = |table: &[(&str, Severity)]| {
        table.iter().find(|(word, _)| *word == words).map(|(_, severity)| *severity)
    };
    known(ENGLISH).or_else(|| known(FOREIGN)).or_else(|| {
        let single =
            !words.contains(' ') || matches!(words, "must fix" | "nice to have" | "very high" | "very low");
        words::severity(words)
            // As a mark these are not severities: a line opens with them for other reasons, too.
            .filter(|_| single && !matches!(words, "none" | "normal" | "improvement" | "block"))
    })
}

/// Whether a text is a name in the code, whatever its first letters spell: `errors.go`, `Note::new`.
fn is_name(text: &str) -> bool {
    let letter = u8::is_ascii_alphabetic;
    text.contains("::") || text.as_bytes().windows(3).any(|w| w[1] == b'.' && letter(&w[0]) && letter(&w[2]))
}

/// The severity of a light or sign in front, and what follows it.
pub(crate) fn light(text: &str) -> Option<(Severity, &str)> {
    let text = text.trim_start();
    let first = text.chars().next()?;
    let severity = match first {
        '🔴' | '🛑' | '❗' | '‼' | '🚨' | '⛔' | '🟥' | '🔥' | '☠' | '🐛' => Blocker,
        '🟡' | '⚠' | '🟨' | '🟠' | '🟧' => Warning,
        '🟢' | '🔵' | '💡' | '💭' | 'ℹ' | '📝' | '🟩' | '🟦' | '⚪' | '🧹' => Suggestion,
        _ => return None,
    };
    // A variation selector may follow the sign; it would otherwise stick to the first word.
    Some((severity, text[first.len_utf8()..].trim_start_matches('\u{fe0f}').trim_start()))
}

/// The severity of a conventional comment; the inner `None` is praise, which is not a finding.
fn conventional(label: &str, decoration: &str) -> Option<Option<Severity>> {
    let by_label = match label {
        "issue" | "todo" | "bug" | "problem" => Warning,
        "suggestion" | "nitpick" | "nit" | "thought" | "note" | "question" | "chore" | "polish" | "typo"
        | "quibble" => Suggestion,
        "praise" | "kudos" => return Some(None),
        _ => return None,
    };
    // `issue (blocking, security)`: one of the decorations may be a severity.
    let of = decoration.split(',').find_map(|part| word(part.trim()));
    Some(Some(of.unwrap_or(by_label)))
}

/// The mark that opens a line.
///
/// The rest is given back as a slice, so that a second mark behind the first can be read the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead<'a> {
    /// A severity, and what follows it. The flag says that nothing but a mark can be meant: brackets, bold, a light.
    Of(Severity, bool, &'a str),
    /// Praise, as in `praise: …`.
    Praise,
}

/// The severity a line opens with: `[P1] …`, `**Blocking** …`, `(high) …`, `issue (blocking): …`, `nit: …`, `🔴 …`,
/// `【严重】…`.
///
/// The order is from the most to the least certain mark, so that `[P1] note: …` is read by its bracket.
pub(crate) fn lead(text: &str) -> Option<Lead<'_>> {
    let text = text.trim_start();
    if let Some((severity, rest)) = light(text) {
        // The word beside a light says it better.
        return match lead(rest) {
            Some(Lead::Of(other, _, rest)) => Some(Lead::Of(other, true, rest)),
            _ => Some(Lead::Of(severity, true, rest)),
        };
    }
    if let Some((severity, rest)) = bracketed(text) {
        return Some(Lead::Of(severity, true, after_mark(rest)));
    }
    before_colon(text)
}

/// A severity in capitals in front of a place: `BLOCKER src/a.rs:3 …`. Capitals alone shout; the place makes it a mark.
pub(crate) fn shouted(text: &str) -> Option<(Severity, &str)> {
    let (first, rest) = text.split_once(' ')?;
    let capitals = first.len() > 1 && first.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let severity = word(first).filter(|_| capitals)?;
    // `HIGH memory use` is a sentence; only a place behind the word makes it a mark.
    let place = crate::intake::place::first(rest)?;
    (!rest[..place.start].chars().any(char::is_alphanumeric)).then_some((severity, rest))
}

/// A text without the bracket it opens with: `【…】`, `[…]`, `(…)`, `**…**`.
pub(crate) fn after_group(text: &str) -> &str {
    let text = text.trim_start();
    let pairs = [("【", "】"), ("[", "]"), ("(", ")"), ("（", "）"), ("**", "**"), ("「", "」")];
    let cut = |(open, close): &(&str, &str)| {
        let inner = text.strip_prefix(open)?;
        // A bracket that closes further on holds a sentence.
        let end = inner.find(close).filter(|end| *end < 60)?;
        Some(&inner[end + close.len()..])
    };
    pairs.iter().find_map(cut).unwrap_or(text)
}

/// The severity in a line of nothing but marks and names of kinds: `⚠️ Potential issue | 🔴 Critical`.
pub(crate) fn only(text: &str) -> Option<Option<Severity>> {
    #[rustfmt::skip]
    const KINDS: &[&str] = &[
        "potential issue", "refactor suggestion", "verification agent", "security", "performance", "correctness",
        "functional correctness", "maintainability", "style", "tests", "documentation", "outside diff range comment",
        "duplicate comment", "nitpick comment", "quick win",
    ];
    let mut severity = None;
    let mut parts = text.split('|').map(|part| part.trim_matches([' ', '*', '_'])).peekable();
    parts.next_if(|part| part.is_empty());
    parts.peek()?;
    for part in parts {
        let named = light(part).map_or(part, |(_, rest)| rest);
        let kind = KINDS.contains(&plain_words(named).as_str());
        let said = word(part).filter(|_| !kind);
        // Any other words make it a sentence with marks in it.
        if !kind && said.is_none() {
            return None;
        }
        severity = said.or(severity);
    }
    text.contains('|').then_some(severity)
}

/// Whether a text names a fault without saying how severe it is: `issue: …`, `problem: …`.
pub(crate) fn names_a_fault(text: &str) -> bool {
    let plain = text.trim_start_matches(['*', '_', ' ']);
    let key = plain.split([':', '：']).next().filter(|key| key.len() < plain.len() && key.len() < 24);
    key.is_some_and(|key| {
        matches!(plain_words(key.trim_end_matches(['*', '_'])).as_str(), "issue" | "problem" | "bug" | "todo")
    })
}

/// A severity in brackets or bold, and what follows the bracket.
pub(crate) fn bracketed(text: &str) -> Option<(Severity, &str)> {
    for (open, close) in [
        ("[", "]"),
        ("(", ")"),
        ("【", "】"),
        ("**", "**"),
        ("__", "__"),
        ("_", "_"),
        ("*", "*"),
        ("`", "`"),
        ("「", "」"),
        ("<", ">"),
    ] {
        let Some(inner) = text.strip_prefix(open) else { continue };
        // Only near the start: a bracket that closes far away holds a sentence, not a mark.
        let Some(end) = start_of(inner, 80).find(close) else {
            continue;
        };
        let (inside, rest) = (&inner[..end], &inner[end + close.len()..]);
        let said = word(inside)
            .or_else(|| bracketed(inside).filter(|(_, rest)| rest.trim().is_empty()).map(|(s, _)| s));
        let said = said.or_else(|| match before_colon(inside) {
            Some(Lead::Of(severity, _, "")) => Some(severity),
            _ => None,
        });
        if let Some(severity) = said {
            return Some((severity, rest));
        }
    }
    None
}

/// At most `max` bytes from the start, cut at a character.
fn start_of(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Strips what joins a mark to its words.
fn after_mark(rest: &str) -> &str {
    rest.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, ':' | '：' | '—' | '–' | '-' | '*' | '|')
    })
}

/// The severity before a colon or dash: `nit: …`, `must fix: …`, `issue (blocking): …`, `Severity: critical`, `Blocker
/// — …`.
fn before_colon(text: &str) -> Option<Lead<'_>> {
    let plain = text.trim_start_matches(['*', '_']);
    let (at, mark) = plain.char_indices().take(44).find(|(at, c)| {
        matches!(c, ':' | '：' | '—' | '–')
            || *c == '-' && plain[..*at].ends_with(' ') && plain[*at + 1..].starts_with(' ')
    })?;
    let key = plain[..at].trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_'));
    let rest = after_mark(&plain[at + mark.len_utf8()..]);
    if let Some((label, decoration)) = key.split_once('(') {
        let decoration = decoration.trim_end_matches(')');
        if let Some(found) = conventional(&plain_words(label), decoration) {
            return Some(found.map_or(Lead::Praise, |severity| Lead::Of(severity, true, rest)));
        }
        let said = word(label).or_else(|| word(decoration));
        return said.map(|severity| Lead::Of(severity, false, rest));
    }
    let key = plain_words(key);
    // A number behind the word: `Blocker 1: …`.
    let numbered = key.rsplit_once(' ').filter(|(_, last)| {
        let digits = last.trim_start_matches('#');
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    let key = numbered.map_or(key.as_str(), |(name, _)| name).to_owned();
    if matches!(mark, ':' | '：')
        && let Some(found) = conventional(&key, "")
    {
        // `note:` and `problem:` open many a harmless sentence; `nit:` and `issue:` do not.
        let sure = matches!(
            key.as_str(),
            "issue" | "nit" | "nitpick" | "todo" | "bug" | "typo" | "praise" | "quibble"
        );
        return Some(found.map_or(Lead::Praise, |severity| Lead::Of(severity, sure, rest)));
    }
    let sure = matches!(
        key.as_str(),
        "blocker" | "blocking" | "critical" | "warning" | "must fix" | "should fix" | "could fix"
    );
    word(&key).map(|severity| Lead::Of(severity, sure, rest))
}

/// A severity somewhere in a line, in brackets, bold or italics, or after `Severity:`; and the line without it.
pub(crate) fn within(text: &str) -> Option<(Severity, String)> {
    if let Some(found) = after_severity_word(text) {
        return Some(found);
    }
    for (at, c) in text.char_indices() {
        if !matches!(c, '(' | '[' | '【' | '*' | '_')
            // `foo[high]` and `a_high_b` are code.
            || text[..at].ends_with(char::is_alphanumeric) && c != '(' && c != '【'
        {
            continue;
        }
        if let Some((severity, rest)) = bracketed(&text[at..]) {
            return Some((severity, format!("{} {}", text[..at].trim_end(), after_mark(rest))));
        }
    }
    trailing(text)
}

/// A severity behind `severity:`, `priority:` or `impact:`, and the line without both.
fn after_severity_word(text: &str) -> Option<(Severity, String)> {
    let lower = text.to_lowercase();
    // Lower-casing may change the length of foreign letters; then offsets would be wrong, so this form is not looked
    // for.
    if lower.len() != text.len() {
        return None;
    }
    let at = lower.find("severity:").or_else(|| lower.find("priority:")).or_else(|| lower.find("impact:"))?;
    let value = text[at..].split_once(':').map_or("", |(_, value)| value);
    let value = value.trim_start_matches(['*', ' ']);
    let length = value.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(value.len());
    let severity = word(&value[..length])?;
    let before = text[..at].trim_end_matches(['*', '_', ' ', '(', '[', '.', ',']);
    let after = value[length..].trim_start_matches(['*', ')', ']', '.', '_']);
    Some((severity, format!("{before}{}{after}", if after.trim().is_empty() { "" } else { ";" })))
}

/// A severity at the end: `…, blocker.`, or `… Critical.` as the last sentence.
fn trailing(text: &str) -> Option<(Severity, String)> {
    let end = text.trim_end_matches(['.', '!', ' ', '*', '_']);
    let (head, last) = end.rsplit_once([',', '.', ';', '—', '–'])?;
    let said = last
        .trim()
        .trim_start_matches("this is ")
        .trim_start_matches("This is ")
        .trim_start_matches("It is ");
    let severity = word(said)?;
    Some((severity, head.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(Severity, &str)> {
        match lead(text) {
            Some(Lead::Of(severity, _, rest)) => Some((severity, rest)),
            _ => None,
        }
    }

    #[test]
    fn a_line_opens_with_its_severity() {
        for (text, severity, rest) in [
            ("[P1] title", Blocker, "title"),
            ("[P2] title", Warning, "title"),
            ("**Blocking** `a.rs:1`", Blocker, "`a.rs:1`"),
            ("🔴 **Blocking** `a.rs:1` – x", Blocker, "`a.rs:1` – x"),
            ("🟢 `a.rs:1`", Suggestion, "`a.rs:1`"),
            ("⚠️ careful", Warning, "careful"),
            ("(critical) a.rs, line 3", Blocker, "a.rs, line 3"),
            ("issue (blocking): a.rs:3 x", Blocker, "a.rs:3 x"),
            ("issue (non-blocking): x", Suggestion, "x"),
            ("nit: x", Suggestion, "x"),
            ("must fix: x", Blocker, "x"),
            ("**Must fix:** x", Blocker, "x"),
            ("**Kritisch** – `a.py:6`: x", Blocker, "`a.py:6`: x"),
            ("【严重】`a.go:8` x", Blocker, "`a.go:8` x"),
            ("[MUST] x", Blocker, "x"),
            ("[SHOULD] x", Warning, "x"),
            ("**Crítico** `a.py:7`: x", Blocker, "`a.py:7`: x"),
            ("Blocker: x", Blocker, "x"),
        ] {
            assert_eq!(of(text), Some((severity, rest)), "{text}");
        }
        for text in
            ["Warning signs were absent.", "High confidence: it is right", "the note", "Critical path tested"]
        {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(lead("praise: the tests read well"), Some(Lead::Praise));
    }

    #[test]
    fn a_severity_stands_anywhere() {
        for (text, severity) in [
            ("**Open to the world** (blocking)", Blocker),
            ("x: y. **Severity: Critical**", Blocker),
            ("total is computed from stale props, blocker.", Blocker),
            ("leaks bytes. This is critical.", Blocker),
            ("_⚠️ warning_", Warning),
        ] {
            assert_eq!(within(text).map(|(severity, _)| severity), Some(severity), "{text}");
        }
        for text in ["no blockers", "Severity: 9/10", "(see above)", "a (small) thing"] {
            assert_eq!(within(text), None, "{text}");
        }
    }
}
