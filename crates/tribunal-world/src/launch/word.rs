//! Makes launch words, and finds the word of a launch whose orchestrator died.
//!
//! A reviewer's verdict only counts on a line with its launch word. The word is known only to the launch's own prompt,
//! which lies in a folder that no other launch is shown and that its own agent cannot change; text in the reviewed
//! files can therefore not forge a verdict.

use std::io::{self, Read};
use std::path::Path;

/// Letters and digits of a word, without those that are easily confused.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
/// The length of a word; each character has five random bits.
const LENGTH: usize = 10;
/// How much of a prompt's end is searched for the word, in bytes.
const TAIL_MAX: u64 = 4_096;

/// A new word with about 50 random bits. It has at least one letter and one digit, so that it is not a word of any
/// language.
pub(crate) fn fresh() -> io::Result<String> {
    let mut random = std::fs::File::open("/dev/urandom")?;
    loop {
        let mut bytes = [0; LENGTH];
        random.read_exact(&mut bytes)?;
        let word: String = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        if (1..LENGTH).contains(&digits) {
            return Ok(word);
        }
    }
}

/// The word that a launch was given, read from the prompt it left; none if there is no such prompt.
pub(crate) fn of_launch(dir: &Path) -> Option<String> {
    let mut file = tribunal_agent::open_plain(&dir.join(tribunal_agent::PROMPT_FILE)).ok()??;
    let length = file.metadata().ok()?.len();
    io::Seek::seek(&mut file, io::SeekFrom::Start(length.saturating_sub(TAIL_MAX))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_MAX).read_to_end(&mut tail).ok()?;
    tribunal_agent::word::of(&String::from_utf8_lossy(&tail)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_new_each_time_and_no_word_of_a_language() {
        let words: std::collections::BTreeSet<String> = (0..1_000).map(|_| fresh().unwrap()).collect();
        assert_eq!(words.len(), 1_000);
        for word in words {
            assert!(word.len() >= 8 && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
            assert!(word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_lowercase()));
        }
    }

    #[test]
    fn a_dead_launch_has_the_word_of_its_prompt() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(of_launch(dir.path()), None);
        let prompt = format!("{}\nLaunch word: k7f3q2xa\n", "é".repeat(5_000));
        std::fs::write(dir.path().join(tribunal_agent::PROMPT_FILE), prompt).unwrap();
        assert_eq!(of_launch(dir.path()).as_deref(), Some("k7f3q2xa"));
        std::fs::write(dir.path().join(tribunal_agent::PROMPT_FILE), "no word\n").unwrap();
        assert_eq!(of_launch(dir.path()), None);
    }
}
