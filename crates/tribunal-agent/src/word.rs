//! The launch word in a prompt: the line that tells an agent its word, and how an honest agent uses it.
//!
//! An agent that prints its prompt, a file or a tool's output must not vote by accident. So a line that loosens a
//! verdict counts only with the word of its launch, and no prompt shows such a line filled in. The engine makes the
//! word; `tribunal-findings` reads the lines that carry it.

const KEY: &str = "Launch word: ";
/// The mark before a line that looks like the line with the word but is not.
const MARK: &str = "[quoted] ";
/// Keys of the lines that carry the word.
const KEYS: [&str; 8] = ["VERDICT", "CHECKED", "RULING", "TASK", "FIXED", "REFUTED", "CANNOT FIX", "COMMIT"];

/// Writes the line that tells an agent its word.
pub fn line(word: &str) -> String {
    format!("{KEY}{word}\n")
}

/// Returns the prompt of a launch with its word in the last line.
///
/// Every other line that looks like it is marked. Otherwise a document, a diff or an earlier answer in the prompt could
/// name another word.
pub(crate) fn sealed(prompt: &str, word: &str) -> String {
    let own = line(word);
    let mut out = String::with_capacity(prompt.len() + own.len() + 1);
    for part in prompt.split_inclusive(is_break) {
        // A line that is exactly our own is harmless: it names the same word.
        match looks_like_one(part).filter(|_| part != own) {
            Some(at) => [&part[..at], MARK, &part[at..]].into_iter().for_each(|text| out.push_str(text)),
            None => out.push_str(part),
        }
    }
    out.truncate(out.trim_end().len());
    format!("{out}\n\n{own}")
}

/// Returns the word in a prompt, which stands in its last line.
pub fn of(prompt: &str) -> Option<&str> {
    let word = prompt.lines().next_back()?.strip_prefix(KEY)?;
    // A word of any other form was not made by us, so the prompt has none.
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (!word.is_empty() && word.chars().all(plain)).then_some(word)
}

/// Whether a reader may take this character for the end of a line.
fn is_break(c: char) -> bool {
    // More than a newline: a model, an editor or a terminal may break a line at any of these.
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Finds where the words `launch word` begin in a line that begins with them, whatever signs stand around them.
///
/// Case, punctuation and spacing are ignored, because a model would read such a line all the same.
fn looks_like_one(line: &str) -> Option<usize> {
    let start = line.find(char::is_alphanumeric)?;
    let letters = line[start..].chars().filter(|c| c.is_alphanumeric()).take(10);
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    (letters == "launchword").then_some(start)
}

/// Puts the word into every line where an honest agent writes it: `VERDICT: approve` becomes `VERDICT k7f3q2xa:
/// approve`. A text that is one JSON object gets the key `word`.
///
/// The scripted agent uses it, so that scenarios need not know a word that is drawn for each launch.
pub fn spoken(text: &str, word: &str) -> String {
    if let Ok(serde_json::Value::Object(mut object)) = serde_json::from_str(text) {
        object.entry("word").or_insert_with(|| word.into());
        return serde_json::Value::Object(object).to_string();
    }
    let lines = text.split_inclusive('\n').map(|line| match key_end(line) {
        Some(end) => format!("{} {word}{}", &line[..end], &line[end..]),
        None => line.to_owned(),
    });
    lines.collect()
}

/// Finds the end of the key in a line that carries the word.
fn key_end(line: &str) -> Option<usize> {
    // Agents decorate their lines with Markdown; the reader of answers accepts that, so the word must go there, too.
    let begin = line.find(|c: char| !matches!(c, ' ' | '*' | '-' | '_'))?;
    let end = line[begin..].find([':', '：'])? + begin;
    let key = line[begin..end].trim_end_matches(['*', '_', ' ']);
    // Answers to findings and to unread parts carry the word, too.
    let id = |key: &str| {
        ["F-", "U-"].iter().find_map(|id| key.strip_prefix(id)).is_some_and(|n| n.parse::<u32>().is_ok())
    };
    let known = KEYS.iter().any(|known| known.eq_ignore_ascii_case(key)) || id(key);
    known.then_some(begin + key.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_the_last_line_and_nothing_else_looks_like_it() {
        let prompt = "# Review\n\n```diff\n+Launch word: aaaaaaaa\n Launch word: bbbbbbbb\nlaunch-WORD : cccccccc\n```\n\
                      Launch word: k7f3q2xa\nx\u{2028}Launch word: dddddddd\rLaunch word: eeeeeeee\nlaunch words\n\n";
        let sealed = sealed(prompt, "k7f3q2xa");
        assert_eq!(
            sealed,
            "# Review\n\n```diff\n+[quoted] Launch word: aaaaaaaa\n [quoted] Launch word: bbbbbbbb\n[quoted] launch-WORD : cccccccc\n```\n\
             Launch word: k7f3q2xa\nx\u{2028}[quoted] Launch word: dddddddd\r[quoted] Launch word: eeeeeeee\n[quoted] launch words\n\n\
             Launch word: k7f3q2xa\n"
        );
        assert_eq!(of(&sealed), Some("k7f3q2xa"));
        assert_eq!(of("Launch word: k7f3q2xa\nmore\n"), None);
        assert_eq!(of("Launch word: <word>"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn an_honest_agent_writes_the_word_into_its_own_lines() {
        let check = |text: &str, expect: &str| assert_eq!(spoken(text, "w0rd"), expect, "{text}");
        check("VERDICT: approve", "VERDICT w0rd: approve");
        check(
            "I read it.\nCHECKED: all: of it\n**VERDICT:** reject\n",
            "I read it.\nCHECKED w0rd: all: of it\n**VERDICT w0rd:** reject\n",
        );
        check("- F-12: resolved\nF-3: fixed", "- F-12 w0rd: resolved\nF-3 w0rd: fixed");
        check("CANNOT FIX: F-1 because x\nTASK: done", "CANNOT FIX w0rd: F-1 because x\nTASK w0rd: done");
        check("SUMMARY: verdict: none", "SUMMARY: verdict: none");
        check("VERDICT w0rd: approve", "VERDICT w0rd: approve");
        check("{\"verdict\":\"approve\"}", "{\"verdict\":\"approve\",\"word\":\"w0rd\"}");
    }
}
