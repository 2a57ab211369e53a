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

/// The secrets of a text, in order. Examples that say so are none.
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") {
            found.push(Secret {
                line: number,
                kind: "a private key".to_owned(),
                text: line.trim().to_owned(),
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
    }

    #[test]
    fn names_of_secrets() {
        for name in ["ANTHROPIC_API_KEY", "gh_token", "DB_PASSWORD"] {
            assert!(is_secret_name(name), "{name}");
        }
        assert!(!is_secret_name("PATH"));
    }
}
