//! Small words: durations, money, sizes, counts, times of day. A cost is never rounded down to nothing.
//!
//! All of them are pure functions of numbers. Times of day are UTC, so the calendar needs no time zone.

/// Writes a duration: `850 ms`, `12 s`, `3 min 04 s`, `2 h 05 min`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{} s", ms / 1_000),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// Writes the time since the beginning: `0:07`, `12:41`, `1:02:03`.
pub fn clock(ms: u64) -> String {
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Writes `$1.23` from millionths of a dollar. The smallest cost is `<$0.01`.
///
/// A cost that rounds to zero would read as free.
pub fn money(micros: u64) -> String {
    // Less than a cent and more than nothing.
    if micros > 0 && micros < 10_000 {
        return "<$0.01".to_owned();
    }
    // Rounded to the nearest cent, not down.
    let cents = micros.saturating_add(5_000) / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Writes a large number in short: `950`, `12.3k`, `4.1M`.
pub fn amount(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        _ => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// Rewrites a command so that it can be run from another folder: `tribunal -C DIR show`.
///
/// Commands are printed to be copied. One that works only in another folder would fail, or act on the wrong project.
pub fn from_elsewhere(command: &str, dir: &str) -> String {
    let dir = shell_word(dir);
    let one = |part: &str| match part.split_once(' ') {
        Some((program @ ("tribunal" | "git"), rest)) => format!("{program} -C {dir} {rest}"),
        _ => part.to_owned(),
    };
    let both = |part: &str| part.split(" | ").map(one).collect::<Vec<_>>().join(" | ");
    // Every part of a command line is rewritten, because each of them may be a program of its own.
    command.split(" && ").map(both).collect::<Vec<_>>().join(" && ")
}

/// Says `dropped by ann`, or why if it was nobody.
pub fn dropped(by: &str) -> String {
    // The journal keeps one text for both: the name of a person, or a sentence that ends like this.
    match by.ends_with(" land") {
        true => format!("dropped: {by}"),
        false => format!("dropped by {by}"),
    }
}

/// Rewrites a sentence with commands of ours in it, so that they can be run from another folder.
pub fn told_from_elsewhere(sentence: &str, dir: &str) -> String {
    sentence.replace("tribunal ", &format!("tribunal -C {} ", shell_word(dir)))
}

fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match text.chars().all(plain) {
        true => text.to_owned(),
        // The only way to write a single quote inside single quotes in a shell.
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Writes a count with its noun: `1 round`, `2 rounds`.
pub fn count(n: usize, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n if one.ends_with("ch") || one.ends_with('x') => format!("{n} {one}es"),
        n => format!("{n} {one}s"),
    }
}

/// Joins words: `a`, `a and b`, `a, b and c`.
pub fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_from_elsewhere() {
        for (command, dir, expect) in [
            ("tribunal show 1", "/tmp/x", "tribunal -C /tmp/x show 1"),
            ("git log", "my dir", "git -C 'my dir' log"),
            ("git stash push && git merge x", "d", "git -C d stash push && git -C d merge x"),
            ("git diff a b | git apply", "d", "git -C d diff a b | git -C d apply"),
            ("the same `tribunal review`", "d", "the same `tribunal review`"),
            ("git", "it's", "git"),
        ] {
            assert_eq!(from_elsewhere(command, dir), expect);
        }
    }

    #[test]
    fn durations_and_clocks() {
        for (ms, long, short) in [
            (0, "0 ms", "0:00"),
            (999, "999 ms", "0:00"),
            (12_400, "12 s", "0:12"),
            (184_000, "3 min 04 s", "3:04"),
            (7_500_000, "2 h 05 min", "2:05:00"),
        ] {
            assert_eq!((duration(ms).as_str(), clock(ms).as_str()), (long, short));
        }
    }

    #[test]
    fn money_is_never_nothing() {
        for (micros, expect) in
            [(0, "$0.00"), (1, "<$0.01"), (10_000, "$0.01"), (14_999, "$0.01"), (1_234_567, "$1.23")]
        {
            assert_eq!(money(micros), expect);
        }
    }

    #[test]
    fn amounts_and_counts() {
        assert_eq!(amount(999), "999");
        assert_eq!(amount(12_345), "12.3k");
        assert_eq!(amount(4_100_000), "4.1M");
        assert_eq!(count(1, "round"), "1 round");
        assert_eq!(count(2, "launch"), "2 launches");
        assert_eq!(count(2, "fix"), "2 fixes");
        assert_eq!(and(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
