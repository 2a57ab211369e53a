//! Secrets by their form: keys and tokens of well-known services, and private keys. Must never show what it finds:
//! whoever tells of it names the kind.

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its line, from 1.
    pub line: u32,
    /// What it is, in words.
    pub kind: String,
    /// The secret itself: for comparing, not for showing.
    pub text: String,
}

/// A token: what it begins with, how many characters follow at least, and what it opens.
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

/// The secrets of a text, in order. Examples that say so are none.
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") {
            found.push(Secret { line: number, kind: PRIVATE_KEY.to_owned(), text: line.trim().to_owned() });
        }
        if let Some(text) = aws_secret(line) {
            found.push(Secret {
                line: number,
                kind: "an AWS secret access key".to_owned(),
                text: text.to_owned(),
            });
        }
        for (start, length, kind) in TOKENS {
            let hits = line.match_indices(start).filter_map(|(at, _)| token(line, at, start.len(), length));
            found.extend(hits.map(|text| Secret {
                line: number,
                kind: kind.to_owned(),
                text: text.to_owned(),
            }));
        }
    }
    found
}

/// The ways in which bytes can be text: as UTF-8 (Latin-1 differs from it in no sign that a secret is written with), as UTF-16
/// and UTF-32 where a mark or the look of it says so, and without the zeros that those have between ordinary letters, which
/// finds them in the middle of other text, too.
pub fn readings(bytes: &[u8]) -> Vec<String> {
    let mut all = vec![String::from_utf8_lossy(bytes).into_owned()];
    let (even, odd) =
        bytes.iter().enumerate().fold((0usize, 0usize), |(even, odd), (at, byte)| match *byte {
            0 if at % 2 == 0 => (even + 1, odd),
            0 => (even, odd + 1),
            _ => (even, odd),
        });
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

/// The secrets of a file, whatever its text is written in; each once.
pub fn secrets_in(bytes: &[u8]) -> Vec<Secret> {
    let mut found: Vec<Secret> = Vec::new();
    let all = readings(bytes);
    let hidden = all.iter().flat_map(|text| encoded(text)).flat_map(|one| {
        let in_it = secrets(&one.text).into_iter();
        let kind =
            |secret: Secret| Secret { kind: format!("{}{IN_BASE64}", secret.kind), line: one.line, ..secret };
        in_it.map(kind).collect::<Vec<_>>()
    });
    // A run of base64 may be read alone and with the lines around it.
    for secret in all.iter().flat_map(|text| secrets(text)).chain(hidden) {
        let same = |known: &Secret| known.line == secret.line || secret.kind.ends_with(IN_BASE64);
        if !found.iter().any(|known| known.text == secret.text && same(known)) {
            found.push(secret);
        }
    }
    found
}

/// Text that stands in another as base64.
pub struct Encoded {
    /// The line it begins in, from 1.
    pub line: u32,
    /// What it says.
    pub text: String,
}

/// What the kind of a secret ends with that is written in base64.
pub const IN_BASE64: &str = " in base64";

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/-_=".contains(c)
}

/// Characters of base64 that are worth reading: fewer hold no secret.
const ENCODED_MIN: usize = 24;
/// A line of nothing but base64 that is this long goes on in the next one.
const WRAPPED_MIN: usize = 40;

/// What a text says in base64, in one line or wrapped over several.
pub fn encoded(text: &str) -> Vec<Encoded> {
    let is_part = is_base64;
    let mut found = Vec::new();
    let mut block = (0, String::new());
    let mut read = |line: u32, run: &str| {
        if let Some(text) = decoded(run).and_then(|bytes| String::from_utf8(bytes).ok()) {
            found.push(Encoded { line, text });
        }
    };
    for (line, number) in text.lines().zip(1..) {
        let whole = line.trim();
        let goes_on = whole.len() >= WRAPPED_MIN && whole.chars().all(is_part);
        if goes_on && block.1.is_empty() {
            block.0 = number;
        }
        if goes_on || (!block.1.is_empty() && !whole.is_empty() && whole.chars().all(is_part)) {
            block.1.push_str(whole);
        }
        if !goes_on {
            read(block.0, &std::mem::take(&mut block.1));
            line.split(|c| !is_part(c)).for_each(|run| read(number, run));
        }
    }
    read(block.0, &block.1);
    found
}

/// The bytes of a run of base64, in either alphabet; nothing where it is too short or none.
fn decoded(run: &str) -> Option<Vec<u8>> {
    let run = run.trim_end_matches('=');
    if run.len() < ENCODED_MIN || run.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(run.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0u32, 0u32);
    for byte in run.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// A text without its secrets, each replaced by what it was: for documents that people and branches get to see.
pub fn without_secrets(text: &str) -> String {
    without(text, &secrets_in(text.as_bytes()))
}

/// A text without these secrets of it.
pub fn without(text: &str, found: &[Secret]) -> String {
    let mut found: Vec<&Secret> = found.iter().filter(|secret| !secret.text.is_empty()).collect();
    if found.is_empty() {
        return text.to_owned();
    }
    // One that begins as another does is taken out whole.
    found.sort_by_key(|secret| std::cmp::Reverse(secret.text.len()));
    let mut out = String::with_capacity(text.len());
    let has_key = found.iter().any(|secret| secret.kind == PRIVATE_KEY);
    // In a key; in base64, and whether that goes on in the next line.
    let (mut in_key, mut goes_on) = (false, false);
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        // What is written in base64 is not there to be replaced: its lines go.
        let encoded = found.iter().find(|secret| secret.line == number && secret.kind.ends_with(IN_BASE64));
        let whole = line.trim();
        let is_encoded = !whole.is_empty() && whole.chars().all(is_base64);
        if let Some(secret) = encoded {
            out.push_str(&format!("[{} was here]\n", secret.kind));
        }
        if encoded.is_some() || (goes_on && is_encoded) {
            goes_on = is_encoded && whole.len() >= WRAPPED_MIN;
            continue;
        }
        goes_on = false;
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
    let mut words = line.split(|c| !is_part(c)).filter(|_| named);
    words.find(|word| word.len() == 40 && mixed(word) && !word.to_ascii_uppercase().contains("EXAMPLE"))
}

/// The token that begins here, if it is long enough, stands alone and is no example.
fn token(line: &str, at: usize, start: usize, length: usize) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let alone = !line[..at].chars().next_back().is_some_and(is_part);
    let rest = &line[at + start..];
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let upper = rest[..end].to_ascii_uppercase();
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
            (format!("first\n{wrapped}last\n"), (2, "an AWS access key in base64")),
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
        let own = Secret { line: 1, kind: "the value of KEY".to_owned(), text: "swordfish".to_owned() };
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
