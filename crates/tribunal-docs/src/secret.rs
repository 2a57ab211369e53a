//! Finds secrets by their form: keys and tokens of well-known services, and private keys.
//!
//! It never shows what it finds; whoever reports a secret names its kind. A builder that wants to leak a key will
//! encode it, so texts are also read as base64, hexadecimal digits, byte dumps and wide encodings. Every such reading
//! needs a long readable run before it counts, because checksums and images would otherwise be full of false alarms.

/// A secret in a text.
///
/// Keep `text` out of logs, reports and prompts. It exists so that the same secret is recognised in two places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The line in which it begins, from 1.
    pub line: u32,
    /// The line in which it ends: an encoded text may be folded over many.
    pub last: u32,
    /// What the secret is, in words that may be shown.
    pub kind: String,
    /// The secret itself, for comparing and never for showing.
    pub text: String,
}

/// Tokens: how each begins, how many characters follow at least, and what it opens.
const TOKENS: [(&str, usize, &str); 16] = [
    ("AKIA", 16, "an AWS access key"),
    ("ASIA", 16, "an AWS access key"),
    ("AIza", 35, "a Google API key"),
    ("ghp_", 36, "a GitHub token"),
    ("gho_", 36, "a GitHub token"),
    ("ghs_", 36, "a GitHub token"),
    ("ghu_", 36, "a GitHub token"),
    ("github_pat_", 60, "a GitHub token"),
    ("glpat-", 20, "a GitLab token"),
    ("npm_", 36, "an npm token"),
    ("sk-ant-", 32, "an Anthropic API key"),
    ("sk-proj-", 32, "an OpenAI API key"),
    ("sk_live_", 20, "a Stripe key"),
    ("xoxb-", 20, "a Slack token"),
    ("xoxp-", 20, "a Slack token"),
    ("hf_", 34, "a Hugging Face token"),
];

const PRIVATE_KEY: &str = "a private key";

/// The secrets of a text, in order. Examples that say so are not secrets.
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let mut find = |kind: &str, text: &str| {
            found.push(Secret { line: number, last: number, kind: kind.to_owned(), text: text.to_owned() });
        };
        // Any kind of key: RSA, EC, OpenSSH and encrypted ones differ only in the word between.
        if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") {
            find(PRIVATE_KEY, line.trim());
        }
        if let Some(text) = aws_secret(line) {
            find("an AWS secret access key", text);
        }
        for (start, length, kind) in TOKENS {
            let hits = line.match_indices(start).filter_map(|(at, _)| token(line, at, start.len(), length));
            hits.for_each(|text| find(kind, text));
        }
    }
    found
}

/// The ways in which bytes can be text: as UTF-8, as UTF-16 and UTF-32 where a mark or the look of the bytes says so,
/// and without the zeros that those have between ordinary letters.
///
/// Latin-1 differs from UTF-8 in no character that a secret is written with. The reading without zeros also finds wide
/// text in the middle of other text.
pub fn readings(bytes: &[u8]) -> Vec<String> {
    let mut all = vec![String::from_utf8_lossy(bytes).into_owned()];
    // Letters of UTF-16 have their zeros all on even or all on odd places.
    let (even, odd) =
        bytes.iter().enumerate().fold((0usize, 0usize), |(even, odd), (at, byte)| match *byte {
            0 if at % 2 == 0 => (even + 1, odd),
            0 => (even, odd + 1),
            _ => (even, odd),
        });
    // One zero in eight bytes on the same side is far more than a text has by accident.
    let wide = bytes.len() / 8;
    let units = |of: fn([u8; 2]) -> u16, skip: usize| {
        let pairs = bytes.get(skip..).unwrap_or_default().chunks_exact(2);
        let units: Vec<u16> = pairs.map(|pair| of([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    if bytes.starts_with(&[0xff, 0xfe]) || odd > wide {
        all.push(units(u16::from_le_bytes, 0));
    }
    if bytes.starts_with(&[0xfe, 0xff]) || even > wide {
        all.push(units(u16::from_be_bytes, 0));
    }
    if even + odd > bytes.len() / 2 {
        for of in [u32::from_le_bytes, u32::from_be_bytes] {
            let fours = bytes.chunks_exact(4).map(|four| of([four[0], four[1], four[2], four[3]]));
            all.push(fours.map(|unit| char::from_u32(unit).unwrap_or('\u{fffd}')).collect());
        }
    }
    if even + odd > 0 {
        let rest: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        all.push(String::from_utf8_lossy(&rest).into_owned());
    }
    all
}

/// The secrets of a file, in whatever encoding its text is; each once.
pub fn secrets_in(bytes: &[u8]) -> Vec<Secret> {
    let mut found: Vec<Secret> = Vec::new();
    let all = readings(bytes);
    let hidden = all.iter().flat_map(|text| encoded(text)).flat_map(|one| {
        let in_it = secrets(&one.text).into_iter();
        let (line, last) = (one.line, one.last);
        let told =
            |secret: Secret| Secret { kind: format!("{}{}", secret.kind, one.how), line, last, ..secret };
        in_it.map(told).collect::<Vec<_>>()
    });
    // A run of base64 may be read alone and with the lines around it.
    for secret in all.iter().flat_map(|text| secrets(text)).chain(hidden) {
        let same = |known: &Secret| known.line == secret.line || is_encoded(&secret.kind);
        if !found.iter().any(|known| known.text == secret.text && same(known)) {
            found.push(secret);
        }
    }
    found
}

/// Text that stands in another text as base64 or as hexadecimal digits.
pub struct Encoded {
    /// The line in which it begins, from 1.
    pub line: u32,
    /// The line in which it ends, from 1.
    pub last: u32,
    /// The decoded text; bytes that are not text become replacement characters.
    pub text: String,
    /// The words that the kind of a secret in it ends with.
    pub how: &'static str,
}

const IN_BASE64: &str = " in base64";
const IN_HEX: &str = " in hex";

/// Whether the kind of a secret says that it is encoded.
fn is_encoded(kind: &str) -> bool {
    kind.ends_with(IN_BASE64) || kind.ends_with(IN_HEX)
}

/// Whether a character belongs to base64 in either alphabet. The padding does not count, because `name=` stands before
/// a value as well.
fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/-_".contains(c)
}

/// How many characters are worth decoding. Fewer hold no secret.
const ENCODED_MIN: usize = 24;
/// A line that ends with a run of this length may go on in the next one.
const FOLDED_MIN: usize = 16;
/// A line that holds nothing else may go on with a run of this length, one group of base64.
const GROUP_MIN: usize = 4;
/// Runs up to this length are decoded from each of their first characters, because a path or a word may stand before
/// them.
const SHIFTED_MAX: usize = 1 << 20;
/// How many readable bytes in a row a secret needs. Hardly any checksum or image has them.
const READABLE_MIN: usize = 12;

/// The texts that stand in another text as base64 or hexadecimal digits: in one line, in strings that are put together,
/// or folded over several lines.
pub fn encoded(text: &str) -> Vec<Encoded> {
    let mut found = apart(text);
    let mut block: Option<(u32, u32, String)> = None;
    let mut number = 0;
    for line in text.lines() {
        number += 1;
        // Both readings: a line may hold a whole secret beside one that is put together.
        let glued = glued(line);
        for line in [Some(line), glued.as_deref()].into_iter().flatten() {
            line.split(|c| !is_part(c)).for_each(|run| read(&mut found, (number, number), run));
        }
        let inside = unquoted(line);
        let body = inside.trim_end_matches('=');
        let whole = !body.is_empty() && body.chars().all(is_part);
        if let Some((first, last, run)) = &mut block {
            // This is the rest of the string, and not a word of whatever comes after it.
            let rest = inside.trim_start_matches(is_part);
            let string = rest.starts_with(['"', '\'', '`', '\\']);
            let end =
                if whole { body } else { &inside[..if string { inside.len() - rest.len() } else { 0 }] };
            if !end.is_empty() {
                (*last, *run) = (number, std::mem::take(run) + end);
            }
            // A full line without padding goes on in the next one; padding or a short line is the end.
            if whole && body.len() == inside.len() && body.len() >= GROUP_MIN {
                continue;
            }
            read(&mut found, (*first, *last), run);
            block = None;
        }
        let tail = &inside[inside.trim_end_matches(is_part).len()..];
        if tail.len() >= FOLDED_MIN || (whole && tail.len() >= GROUP_MIN) {
            block = Some((number, number, tail.to_owned()));
        }
    }
    if let Some((first, last, run)) = block {
        read(&mut found, (first, last), &run);
    }
    found
}

/// The texts in bytes that stand apart, as dumps and lists in code have them: `41 4b 49`, `0x41, 0x4B`.
fn apart(text: &str) -> Vec<Encoded> {
    /// This many in one line are not words.
    const BYTES_MIN: usize = 6;
    let byte = |word: &str| {
        let word = word.strip_prefix("0x").or_else(|| word.strip_prefix("\\x")).unwrap_or(word);
        // Dumps write two or four bytes together.
        let whole = matches!(word.len(), 2 | 4 | 8) && word.bytes().all(|digit| digit.is_ascii_hexdigit());
        whole.then(|| word.to_owned())
    };
    let mut found = Vec::new();
    let mut block: Option<(u32, u32, String)> = None;
    for (line, number) in text.lines().zip(1..) {
        let words = without_offset(line).split(|c: char| c.is_whitespace() || ",:;{}[]()\"'|".contains(c));
        let bytes: Vec<String> = words.filter_map(byte).collect();
        // Once a dump has begun, a shorter last line belongs to it.
        if bytes.iter().map(String::len).sum::<usize>() >= 2 * BYTES_MIN
            || block.is_some() && !bytes.is_empty()
        {
            let (_, last, run) = block.get_or_insert((number, number, String::new()));
            *last = number;
            run.push_str(&bytes.concat());
        } else if let Some((first, last, run)) = block.take() {
            read(&mut found, (first, last), &run);
        }
    }
    if let Some((first, last, run)) = block {
        read(&mut found, (first, last), &run);
    }
    found
}

/// A line of a dump without the place that it begins with: `00000010: 6768` or `00000010  67 68`.
fn without_offset(line: &str) -> &str {
    let start = line.trim_start();
    let end = start.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(start.len());
    let rest = &start[end..];
    let offset = end >= 4 && (rest.starts_with(':') || rest.starts_with("  ") || rest.starts_with('\t'));
    if offset { rest } else { line }
}

/// Decodes a run in every way that makes sense.
fn read(found: &mut Vec<Encoded>, (line, last): (u32, u32), run: &str) {
    if run.len() < ENCODED_MIN {
        return;
    }
    // The start of the run is unknown, and base64 has four positions at which a group can begin.
    let shifts = if run.len() <= SHIFTED_MAX { 4 } else { 1 };
    let base64 = (0..shifts).map(|skip| (IN_BASE64, decoded(&run[skip..])));
    // A path or a name may stand before the digits, as before base64.
    let digits = run.split(|c: char| !c.is_ascii_hexdigit()).filter(|digits| digits.len() >= ENCODED_MIN);
    let hex = digits.flat_map(|digits| (0..2).map(|skip| (IN_HEX, from_hex(&digits[skip..]))));
    for (how, mut bytes) in base64.chain(hex) {
        // Two bytes a letter, as some programs take their commands.
        if bytes.iter().filter(|byte| **byte == 0).count() > bytes.len() / 3 {
            bytes.retain(|byte| *byte != 0);
        }
        let readable = |byte: &u8| (b' '..=b'~').contains(byte);
        if bytes.split(|byte| !readable(byte)).any(|part| part.len() >= READABLE_MIN) {
            found.push(Encoded { line, last, text: String::from_utf8_lossy(&bytes).into_owned(), how });
        }
    }
}

/// A line without whatever stands between strings that are put together, and without escaped line ends; `None` where
/// there is neither.
fn glued(line: &str) -> Option<String> {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['\\', '"', '\'', '`']) {
        let (before, here) = rest.split_at(at);
        out.push_str(before);
        let escape = ["\\r", "\\n", "\\x", "\\u00", "\\\n"].iter().find(|escape| here.starts_with(**escape));
        let after = match escape {
            Some(escape) => &here[escape.len()..],
            None => {
                let between = here[1..].trim_start_matches(|c: char| c.is_whitespace() || "+.,&".contains(c));
                match between.strip_prefix(['"', '\'', '`']).filter(|_| !here.starts_with('\\')) {
                    Some(after) => after,
                    None => {
                        out.push_str(&here[..1]);
                        &here[1..]
                    }
                }
            }
        };
        rest = after;
    }
    out.push_str(rest);
    (out.len() < line.len()).then_some(out)
}

/// A line without the quotes, operators and comment marks that strings and comments over several lines have around
/// them.
fn unquoted(line: &str) -> &str {
    let quotes = ['"', '\'', '`'];
    let line = line.trim();
    if line.chars().all(|c| is_part(c) || c == '=') {
        return line;
    }
    let end = line.trim_end_matches(|c: char| c.is_whitespace() || "+.,&;)]|\\".contains(c));
    let mut inside = end.strip_suffix(quotes).unwrap_or_else(|| line.trim_end_matches(['\\', ' ']));
    while let Some(shorter) = inside.strip_suffix("\\n").or_else(|| inside.strip_suffix("\\r")) {
        inside = shorter;
    }
    let start = inside.trim_start_matches(|c: char| c.is_whitespace() || "+.,&([|".contains(c));
    let comment = |c: char| c.is_whitespace() || "#*>;|".contains(c);
    start.strip_prefix(quotes).unwrap_or_else(|| inside.trim_start_matches("//").trim_start_matches(comment))
}

/// The bytes of a run of base64, in either alphabet.
fn decoded(run: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(run.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0u32, 0u32);
    for byte in run.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = (bits << 6) | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}

/// The bytes of a run of hexadecimal digits.
fn from_hex(run: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default();
    run.as_bytes().chunks_exact(2).map(|pair| (digit(pair[0]) * 16 + digit(pair[1])) as u8).collect()
}

/// A text without its secrets, each replaced by its kind; for documents that people and branches get to see.
pub fn without_secrets(text: &str) -> String {
    without(text, &secrets_in(text.as_bytes()))
}

/// A text without the given secrets.
///
/// Of an encoded secret whole lines go, since the secret itself does not stand in the text. Of a private key everything
/// up to its end goes, whatever line it was found in.
pub fn without(text: &str, found: &[Secret]) -> String {
    let mut found: Vec<&Secret> = found.iter().filter(|secret| !secret.text.is_empty()).collect();
    if found.is_empty() {
        return text.to_owned();
    }
    // The longest first: a secret that begins like another one is removed whole.
    found.sort_by_key(|secret| std::cmp::Reverse(secret.text.len()));
    let mut out = String::with_capacity(text.len());
    let has_key = found.iter().any(|secret| secret.kind == PRIVATE_KEY);
    let mut in_key = false;
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        // An encoded secret is not there to be replaced, so its lines go.
        let around =
            |secret: &&&Secret| (secret.line..=secret.last).contains(&number) && is_encoded(&secret.kind);
        if let Some(secret) = found.iter().find(around) {
            if secret.line == number {
                out.push_str(&format!("[{} was here]\n", secret.kind));
            }
            continue;
        }
        let begins = has_key && line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----");
        if begins {
            out.push_str(&format!("[{PRIVATE_KEY} was here]\n"));
        }
        in_key |= begins;
        if !in_key {
            let clean = found.iter().fold(line.to_owned(), |line, secret| {
                line.replace(&secret.text, &format!("[{} was here]", secret.kind))
            });
            out.push_str(&clean);
        }
        in_key &= !line.contains("-----END ");
    }
    out
}

/// The other half of a pair of AWS keys: 40 characters on a line that says what they are.
fn aws_secret(line: &str) -> Option<&str> {
    let lower = line.to_ascii_lowercase();
    let named = lower.find("aws").is_some_and(|at| lower[at..].contains("secret"));
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '/' || c == '+';
    let mixed = |word: &str| {
        let has = |test: fn(&char) -> bool| word.chars().any(|c| test(&c));
        has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase) && has(char::is_ascii_digit)
    };
    // Without the words around it, 40 such characters could be anything.
    let mut words = line.split(|c| !is_part(c)).filter(|_| named);
    words.find(|word| word.len() == 40 && mixed(word) && !word.to_ascii_uppercase().contains("EXAMPLE"))
}

/// The token that begins here, if it is long enough and is not an example.
///
/// A name may stand before it, with a dash or without: `--token-ghp_…`. There a beginning alone is often a coincidence,
/// so what follows must look random as well.
fn token(line: &str, at: usize, start: usize, length: usize) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let before = line[..at].chars().next_back().filter(|c| is_part(*c));
    let rest = &line[at + start..];
    let begin = &line[at..at + start];
    let has = |test: fn(&u8) -> bool| rest.bytes().take(length).any(|byte| test(&byte));
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    let amazon = matches!(begin, "AKIA" | "ASIA");
    let shouted =
        || has(u8::is_ascii_digit) && rest.bytes().take(length).all(|byte| !byte.is_ascii_lowercase());
    let random = if amazon { shouted() } else { mixed };
    // Letters alone, or few of them, are in the middle of any long word.
    let marked = start > 3 && begin.ends_with(['_', '-']);
    let alone = match before {
        None => true,
        Some('_' | '-') => random,
        Some(_) => marked && random,
    };
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let upper = rest[..end].to_ascii_uppercase();
    // Documentation shows tokens like these, and a report of each would bury the real ones.
    let example = upper.contains("EXAMPLE") || upper.contains("XXXX") || upper.contains("0000");
    (alone && end >= length && !example).then(|| &line[at..at + start + end])
}

/// Whether a variable of this name holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSPHRASE"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_form() {
        let check = |text: &str, expect: &[(u32, &str)]| {
            let found = secrets(text);
            let found: Vec<_> = found.iter().map(|secret| (secret.line, secret.kind.as_str())).collect();
            assert_eq!(found, expect, "{text}");
        };
        // Put together here, so that nobody's scanner takes this file for a leak.
        let aws = ["AKIA", "Q7RT5UVW2LMN9PQS"].concat();
        let key = ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat();
        check(&format!("a\nkey = \"{aws}\"\n"), &[(2, "an AWS access key")]);
        check(&format!("x{aws}"), &[]);
        check(&format!("MY_{aws}"), &[(1, "an AWS access key")]);
        let token = ["gh", "p_", &"aB3".repeat(12)].concat();
        for before in ["prod-", "--token-", "MY_", "x"] {
            check(&format!("{before}{token}"), &[(1, "a GitHub token")]);
        }
        check(&format!("run_npm_{}", "config_of_the_whole_project_and_more".repeat(2)), &[]);
        check(&aws[..19], &[]);
        check("AKIAIOSFODNN7EXAMPLE", &[]);
        check(&key, &[(1, "a private key")]);
        check(&["gh", "p_", &"aB3".repeat(12)].concat(), &[(1, "a GitHub token")]);
        check("sk-ant-short ghp_ npm_install", &[]);
        check("\u{e4}\u{df}", &[]);
        let pair = ["wJa1rXUtnFE", "MI/K7MDENG/bPx", "RfiCYzq8TKLwE2R"].concat();
        check(&format!("aws_secret_access_key = {pair}"), &[(1, "an AWS secret access key")]);
        check(&format!("checksum = {pair}"), &[]);
    }

    #[test]
    fn secrets_are_found_in_every_encoding() {
        let text = format!("a\r\nkey = {}\r\n", ["AKIA", "Q7RT5UVW2LMN9PQS"].concat());
        let wide = |bom: bool, of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            let mark = bom.then_some(0xfeff).into_iter();
            mark.chain(text.encode_utf16()).flat_map(of).collect()
        };
        for bytes in [
            text.clone().into_bytes(),
            wide(true, u16::to_le_bytes),
            wide(true, u16::to_be_bytes),
            wide(false, u16::to_le_bytes),
            wide(false, u16::to_be_bytes),
            text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
            text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect(),
            [
                &[0xff, 0xfe, 0, 0][..],
                &text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<_>>(),
            ]
            .concat(),
            text.replace('a', "\u{e4}").chars().filter_map(|c| u8::try_from(u32::from(c)).ok()).collect(),
        ] {
            let found = secrets_in(&bytes);
            let seen: Vec<_> = found.iter().map(|secret| (secret.line, secret.kind.as_str())).collect();
            assert_eq!(seen, [(2, "an AWS access key")], "{bytes:?}");
        }
        assert!(secrets_in(&[0, 1, 2, 255, 254]).is_empty());
        // A little of it in much other text.
        let much = "nothing of note\n".repeat(200).into_bytes();
        let mixed = [&much[..], &wide(false, u16::to_le_bytes), &much[..]].concat();
        assert_eq!(secrets_in(&mixed).len(), 1);
        // `key = AKIA…`, a key file on one line, and the same wrapped at 64 columns; by hand, as `base64` writes them.
        let one_line = ["a\nx: a2V5ID0gQUtJQVE3", "UlQ1VVZXMkxNTjlQUVM=\n"].concat();
        let pem = ["LS0tLS1CRUdJTiBSU0EgUFJJ", "VkFURSBLRVktLS0tLQphYmMKLS0tLS1FTkQK"].concat();
        let wrapped = [
            "bGluZSBvbmUgaXMgaGFybWxlc3MgYW5kIGZpbGxzIHVwIHRoZSB3aWR0aAprZXkg",
            "\n",
            "PSBBS0lBUTdSVDVVVlcy",
            "TE1OOVBRUwo=\n",
        ]
        .concat();
        for (text, expect) in [
            (one_line, (2, "an AWS access key in base64")),
            (format!("key: \"{pem}\"\n"), (1, "a private key in base64")),
            // The line that it stands in, which the lines before it only lead to.
            (format!("first\n{wrapped}last\n"), (3, "an AWS access key in base64")),
        ] {
            let found = secrets_in(text.as_bytes());
            let seen: Vec<_> = found.iter().map(|secret| (secret.line, secret.kind.as_str())).collect();
            assert_eq!(seen, [expect], "{text}");
        }
        for text in [
            "sha512-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "aGVsbG8gd29ybGQsIGFsbCBpcyB3ZWxsIGhlcmUK",
        ] {
            assert!(secrets_in(text.as_bytes()).is_empty(), "{text}");
        }
    }

    /// As `base64` writes it.
    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for three in bytes.chunks(3) {
            let at = |n: usize| u32::from(three.get(n).copied().unwrap_or_default());
            let bits = at(0) << 16 | at(1) << 8 | at(2);
            for n in 0..4 {
                let six = (bits >> (18 - 6 * n)) as usize & 63;
                out.push(if n > three.len() { '=' } else { char::from(LETTERS[six]) });
            }
        }
        out
    }

    fn folded(run: &str, width: usize, between: &str) -> String {
        let parts: Vec<&str> =
            run.as_bytes().chunks(width).map(|part| std::str::from_utf8(part).unwrap()).collect();
        parts.join(between)
    }

    /// However it is folded, put together or named, what is encoded is read.
    #[test]
    fn encoded_secrets_are_found_however_they_are_folded() {
        let token = ["gh", "p_", &"aB3".repeat(12)].concat();
        let text = format!(
            "a line of something else before it: user=me password={token} and some more after it, well hidden"
        );
        let run = base64(text.as_bytes());
        let url = run.replace('+', "-").replace('/', "_").replace('=', "");
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        let escaped: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        let wide = base64(&text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
        let apart = |between: &str, columns: usize| {
            let bytes: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            bytes.chunks(columns).map(|line| line.join(between)).collect::<Vec<_>>().join("\n")
        };
        let pairs: Vec<String> =
            text.as_bytes().chunks(2).map(|two| two.iter().map(|b| format!("{b:02x}")).collect()).collect();
        let lines = pairs
            .chunks(8)
            .zip(0..)
            .map(|(line, n)| format!("{:08x}: {}  ................\n", n * 16, line.join(" ")));
        let dumped: String = lines.collect();
        for (name, text) in [
            ("76 columns", folded(&run, 76, "\n")),
            ("with carriage returns", folded(&run, 76, "\r\n")),
            ("indented", format!("key: |\n    {}\n", folded(&run, 64, "\n    "))),
            ("narrow", folded(&run, 20, "\n")),
            ("narrower, indented", format!("key: |\n    {}\n", folded(&run, 12, "\n    "))),
            ("narrowest", folded(&run, 8, "\n")),
            ("in short strings", format!("[\n  \"{}\"\n]\n", folded(&run, 15, "\",\n  \""))),
            ("escaped in JSON", format!("{{\"a\": \"{}\"}}\n", escaped.replace("\\x", "\\u00"))),
            ("hexadecimal in a path", format!("https://host/x/{hex}.txt\n")),
            ("two bytes together", dumped),
            ("put together", format!("let k = \"{}\";\n", folded(&run, 40, "\" +\n    \""))),
            ("put together before", format!("$k = '{}';\n", folded(&run, 40, "'\n  . '"))),
            ("in a list", format!("[\n  \"{}\"\n]\n", folded(&run, 40, "\",\n  \""))),
            ("in one string", format!("k = \"{}\"\n", folded(&run, 64, "\\n"))),
            ("in one line", format!("k = \"{}\"\n", folded(&run, 30, "\" + \""))),
            ("in a comment", format!("# {}\n", folded(&run, 64, "\n# "))),
            ("of a shell", format!("KEY={}\n", folded(&run, 64, "\\\n"))),
            ("with a name before it", format!("KEY={run}\n")),
            ("in an address", format!("https://host/x/{run}\n")),
            ("of addresses", format!("k={url}\n")),
            ("hexadecimal", format!("k={hex}\n")),
            ("hexadecimal, folded", folded(&hex, 60, "\n")),
            ("escaped", format!("k=\"{escaped}\"\n")),
            ("two bytes a letter", format!("pwsh -EncodedCommand {wide}\n")),
            ("apart", format!("{}\n", apart(" ", 16))),
            ("a list", format!("key = {{ {} }}\n", apart(", 0x", 8).replacen("", "0x", 1))),
            ("a dump", apart(" ", 16).lines().map(|line| format!("00000010  {line}\n")).collect()),
        ] {
            let found = secrets_in(text.as_bytes());
            assert!(
                found.iter().any(|secret| secret.text == token && is_encoded(&secret.kind)),
                "{name}: {text}"
            );
            let clean = without_secrets(&format!("the first\n{text}\nthe last\n"));
            assert!(secrets_in(clean.as_bytes()).is_empty(), "{name}: {clean}");
            assert!(clean.starts_with("the first\n") && clean.ends_with("the last\n"), "{name}: {clean}");
        }
    }

    /// Lock files, images and minified code are full of what looks like secrets.
    #[test]
    fn what_only_looks_encoded_is_no_secret() {
        let mut state = 7u64;
        let mut bytes = |count: usize| -> Vec<u8> {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            };
            (0..count).map(|_| next()).collect()
        };
        let mut text = String::new();
        for n in 0..300 {
            let sum = bytes(64);
            text.push_str(&format!("      \"integrity\": \"sha512-{}\",\n", base64(&sum)));
            let hex: String = sum.iter().take(32).map(|byte| format!("{byte:02x}")).collect();
            text.push_str(&format!("checksum = \"{hex}\"\nversion = \"1.{n}.0\"\n"));
        }
        let image = base64(&bytes(60_000));
        text.push_str(&format!("url(data:image/png;base64,{image})\n{}\n", folded(&image, 76, "\n")));
        text.push_str(
            &"function(e,t){return e.tokenize(t)?ghp_(t):AKIA.npm_install(e)}var sk_live_=1;".repeat(400),
        );
        assert_eq!(secrets_in(text.as_bytes()), []);
    }

    #[test]
    fn a_document_without_its_secrets() {
        let token = ["gh", "p_", &"aB3".repeat(12)].concat();
        let key = ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat();
        let text = format!("one {token} two\n{key}\nabc\n-----END RSA\nthree\n");
        let clean = without_secrets(&text);
        assert_eq!(clean, "one [a GitHub token was here] two\n[a private key was here]\nthree\n");
        assert_eq!(without_secrets("nothing\n"), "nothing\n");
        let hidden = ["x: a2V5ID0gQUtJQVE3", "UlQ1VVZXMkxNTjlQUVM=\n"].concat();
        let clean = without_secrets(&format!("one\n{hidden}two\n"));
        assert_eq!(clean, "one\n[an AWS access key in base64 was here]\ntwo\n");
        let own =
            Secret { line: 1, last: 1, kind: "the value of KEY".to_owned(), text: "swordfish".to_owned() };
        assert_eq!(without("a swordfish\n", &[own]), "a [the value of KEY was here]\n");
    }

    #[test]
    fn names_of_secrets() {
        for name in ["ANTHROPIC_API_KEY", "gh_token", "DB_PASSWORD"] {
            assert!(is_secret_name(name), "{name}");
        }
        assert!(!is_secret_name("PATH"));
    }
}
