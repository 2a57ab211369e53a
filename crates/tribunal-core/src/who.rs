//! How far a reviewer is another than the builder whose work it judges.
//!
//! A reviewer is always another launch; whether it is also another model, another program or another login is
//! compared here, and named in every report and landed commit. Agents report these things about themselves, so
//! nothing is decided by it.

/// Who an agent was, as far as it can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Party<'a> {
    /// What was started: two that start the same have the same. Empty if it is not known.
    pub program: &'a str,
    /// The name of the login it used; empty if it is not known.
    pub login: &'a str,
    /// The model; empty if neither the program nor the configuration names one.
    pub model: &'a str,
    /// The program did not say which model answered; this one was asked for.
    pub model_asked: bool,
}

/// Whether two agents share something.
///
/// The order goes from harmless to worth reporting: of several builders the closest one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Same {
    /// They are known to differ.
    No,
    /// Not enough is known.
    Unknown,
    /// They are the same.
    Yes,
}

/// What a reviewer shares with the builders of what it judged; with several, whatever it shares with one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinship {
    /// Whether they are the same model.
    pub model: Same,
    /// Whether they are the same program.
    pub program: Same,
    /// Whether they use the same login.
    pub login: Same,
}

/// Compares a reviewer with the builders; none if no agent built it.
pub fn kinship(builders: &[Party<'_>], reviewer: Party<'_>) -> Option<Kinship> {
    let with = |builder: &Party<'_>| Kinship {
        model: same_model(*builder, reviewer),
        program: same_name(builder.program, reviewer.program),
        login: same_login(*builder, reviewer),
    };
    builders.iter().map(with).reduce(|a, b| Kinship {
        model: a.model.max(b.model),
        program: a.program.max(b.program),
        login: a.login.max(b.login),
    })
}

/// Whether two agents are the same model.
///
/// A model is known to be another only if both programs name the one that answered: a model that was merely asked
/// for, or is not named at all, may be the same. A name that goes on where the other ends is the same model with its
/// date.
fn same_model(a: Party<'_>, b: Party<'_>) -> Same {
    let level = |model: &str| model.trim().to_lowercase();
    let (one, other) = (level(a.model), level(b.model));
    match () {
        () if one.is_empty() || other.is_empty() => Same::Unknown,
        // Before the line below: even a model that was only asked for is worth reporting if the names agree.
        () if one.starts_with(&other) || other.starts_with(&one) => Same::Yes,
        () if a.model_asked || b.model_asked => Same::Unknown,
        () => Same::No,
    }
}

/// Whether two names are equal; unknown if one is missing.
fn same_name(a: &str, b: &str) -> Same {
    match () {
        () if a.is_empty() || b.is_empty() => Same::Unknown,
        () if a == b => Same::Yes,
        () => Same::No,
    }
}

/// Whether two agents use the same login. Another name may stand for the same person: nobody can tell.
fn same_login(a: Party<'_>, b: Party<'_>) -> Same {
    let named = same_name(a.login, b.login) == Same::Yes;
    // Two launches of one program without a named login use the same one.
    let by_program = same_name(a.program, b.program) == Same::Yes && a.login == b.login;
    if named || by_program { Same::Yes } else { Same::Unknown }
}

impl Kinship {
    /// What has to be reported: `judged by the same model in another launch, under the same login`. None if the
    /// reviewer is another model and nothing else is shared.
    pub fn words(self) -> Option<String> {
        let by = match (self.model, self.program) {
            (Same::Yes, _) => Some("judged by the same model in another launch"),
            (Same::Unknown, Same::Yes) => {
                Some("judged by the same program in another launch, perhaps the same model")
            }
            (Same::Unknown, _) => Some("perhaps the same model"),
            (Same::No, Same::Yes) => Some("judged by the same program with another model"),
            (Same::No, _) => None,
        };
        let login = (self.login == Same::Yes).then_some("under the same login");
        let words: Vec<&str> = by.into_iter().chain(login).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party<'a>(program: &'a str, login: &'a str, model: &'a str) -> Party<'a> {
        let (model, model_asked) = model.strip_suffix('?').map_or((model, false), |model| (model, true));
        Party { program, login, model, model_asked }
    }

    #[test]
    fn what_a_reviewer_shares_with_the_builder_is_said() {
        let check = |a: (&str, &str, &str), b: (&str, &str, &str), expect: Option<&str>| {
            let (a, b) = (party(a.0, a.1, a.2), party(b.0, b.1, b.2));
            let words = |a, b| kinship(&[a], b).and_then(Kinship::words);
            assert_eq!(words(a, b).as_deref(), expect, "{a:?} {b:?}");
            assert_eq!(words(b, a).as_deref(), expect, "{b:?} {a:?}");
        };
        let same = "judged by the same model in another launch, under the same login";
        check(("claude", "KEY", "opus-5"), ("claude", "KEY", "opus-5"), Some(same));
        check(("claude", "KEY", "opus-5"), ("claude", "KEY", "Opus-5-20260101"), Some(same));
        check(("claude", "KEY", "opus?"), ("claude", "KEY", "opus?"), Some(same));
        // Another program may run the same model, by the same key or by another.
        check(("claude", "KEY", "opus-5"), ("aider", "KEY", "opus-5"), Some(same));
        let other_login = "judged by the same model in another launch";
        check(("claude", "KEY", "opus-5"), ("aider", "OTHER", "opus-5"), Some(other_login));
        // An unknown model is never another one.
        let unknown =
            "judged by the same program in another launch, perhaps the same model, under the same login";
        check(("claude", "KEY", ""), ("claude", "KEY", ""), Some(unknown));
        check(("claude", "KEY", "opus-5"), ("claude", "KEY", ""), Some(unknown));
        check(("claude", "KEY", "opus?"), ("claude", "KEY", "sonnet?"), Some(unknown));
        check(("claude", "KEY", "opus-5"), ("claude", "KEY", "sonnet?"), Some(unknown));
        check(("claude", "KEY", ""), ("codex", "", "o9"), Some("perhaps the same model"));
        check(("", "", ""), ("", "", ""), Some("perhaps the same model"));
        // Another model of the same program.
        let program = "judged by the same program with another model, under the same login";
        check(("claude", "KEY", "opus-5"), ("claude", "KEY", "sonnet-5"), Some(program));
        check(("claude", "", "opus-5"), ("claude", "", "sonnet-5"), Some(program));
        check(("claude", "KEY", "opus-5"), ("codex", "OTHER", "o9"), None);
        check(("claude", "KEY", "opus-5"), ("aider", "KEY", "o9"), Some("under the same login"));
    }

    #[test]
    fn of_several_builders_the_nearest_counts() {
        let (claude, codex) = (party("claude", "A", "opus"), party("codex", "B", "o9"));
        assert_eq!(kinship(&[], codex), None);
        let both = kinship(&[claude, codex], codex).and_then(Kinship::words);
        assert_eq!(both.as_deref(), Some("judged by the same model in another launch, under the same login"));
    }
}
