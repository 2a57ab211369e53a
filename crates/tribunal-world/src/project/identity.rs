//! The identity of an agent: adapter, version of its program, model, personality and prompt.
//!
//! It is recorded with every launch. The version is asked for once per run, beside the work, so that a slow `--version`
//! never delays a launch; a launch that ends before the answer has no version.

use crate::context::{RunContext, lock};
use crate::setup::doctor;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use tribunal_agent::{Adapter, Login, Outcome};
use tribunal_view::plain;
use tribunal_view::prompt::{self, JudgeBrief};
use tribunal_view::spoken::Identity;

/// Letters kept of a digest: enough to tell the prompts of one project apart.
const DIGEST: usize = 12;
const NAME_MAX: usize = 100;
/// The model name of an adapter row that leaves the choice to the program.
const PROGRAMS_OWN: &str = "default";

/// The identity of an agent as far as it is known before its launch. `args` are the words that the configuration adds.
pub(crate) fn of_launch(
    row: &Adapter,
    model: Option<&str>,
    personality: Option<&str>,
    prompt: &str,
    (args, login): (&[String], String),
) -> Identity {
    let asked = model.or(Some(row.model_execution.as_str())).filter(|model| *model != PROGRAMS_OWN);
    let model = asked.map(|model| plain::clipped(model, NAME_MAX)).unwrap_or_default();
    Identity {
        adapter: row.name.clone(),
        // A row without a program of its own starts the program that its arguments name.
        program: digest(&row.program.clone().unwrap_or_else(|| named(args))),
        login,
        version: String::new(),
        model_asked: !model.is_empty(),
        model,
        personality: personality.map(digest).unwrap_or_default(),
        rules: rules().to_owned(),
        prompt: digest(&wordless(prompt)),
    }
}

/// The program that some arguments start: an interpreter and the script it is given, without the script's own
/// arguments.
///
/// Two launches of one script with different arguments are the same program, while two scripts of one interpreter are
/// not.
fn named(args: &[String]) -> String {
    const INTERPRETERS: &[&str] =
        &["sh", "bash", "zsh", "env", "python", "python3", "node", "ruby", "perl", "deno", "npx"];
    let goes_on = |word: &String| {
        word.starts_with('-') || INTERPRETERS.contains(&word.rsplit('/').next().unwrap_or(word))
    };
    // The first word that is neither an option nor an interpreter is the program; what follows are its own arguments.
    let end = args.iter().position(|word| !goes_on(word)).map_or(args.len(), |at| at + 1);
    args[..end].join("\0")
}

/// A prompt without its launch word, which differs in every launch: two launches were asked the same if the rest is
/// equal.
fn wordless(prompt: &str) -> String {
    let kept: Vec<&str> = prompt.lines().filter(|line| !line.starts_with("Launch word: ")).collect();
    kept.join("\n").trim_end().to_owned()
}

/// The identity once the launch has ended. The model that the program names in its output is the one that answered.
pub(crate) fn ended(before: &Identity, outcome: &Outcome) -> Identity {
    match &outcome.model {
        Some(model) => {
            Identity { model: plain::clipped(model, NAME_MAX), model_asked: false, ..before.clone() }
        }
        None => before.clone(),
    }
}

/// The version of the rules that every reviewer gets: the digest of a review prompt about nothing.
fn rules() -> &'static str {
    static RULES: OnceLock<String> = OnceLock::new();
    RULES.get_or_init(|| digest(&prompt::judge(&JudgeBrief::default())))
}

/// The sha256 of bytes, as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest(text: &str) -> String {
    let mut digest = sha256(text.as_bytes());
    digest.truncate(DIGEST);
    digest
}

impl RunContext {
    /// The name of the login that a row's program finds here: a variable or a file, never its content.
    pub(crate) fn login_of(&self, row: &Adapter) -> String {
        match row.login(&|name| self.environment.get(name).cloned()) {
            Login::Variable(name) => name,
            Login::File(path) => {
                let home = self.environment.get("HOME").map(std::path::PathBuf::from);
                let inside = home.and_then(|home| {
                    path.strip_prefix(home).ok().map(|rest| format!("~/{}", rest.display()))
                });
                inside.unwrap_or_else(|| path.display().to_string())
            }
            Login::None | Login::Unknown => String::new(),
        }
    }

    /// Asks a row's program for its version, once per run and beside the work.
    pub(crate) fn ask_version(self: &Arc<Self>, row: &Adapter) {
        if !is_first(&mut lock(&self.versions), &row.name) {
            return;
        }
        // Weak, so that a program that is slow to answer does not keep the site alive.
        let (context, row) = (Arc::downgrade(self), row.clone());
        self.slow.run(move || {
            let Some(context) = context.upgrade() else { return };
            let scratch = context.dir.join("versions").join(&row.name);
            let version = doctor::version(&row, &context.environment, &scratch);
            lock(&context.versions).insert(row.name.clone(), version);
        });
    }

    /// The version of a row's program, if it is known by now.
    pub(crate) fn version(&self, agent: &str) -> Option<String> {
        lock(&self.versions).get(agent)?.clone()
    }
}

/// Whether a program is asked for the first time. A version that is known stays.
fn is_first(versions: &mut BTreeMap<String, Option<String>>, agent: &str) -> bool {
    let known = versions.contains_key(agent);
    if !known {
        versions.insert(agent.to_owned(), None);
    }
    !known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_was_told_stays_for_every_later_launch() {
        let mut versions = BTreeMap::new();
        assert!(is_first(&mut versions, "claude"));
        versions.insert("claude".to_owned(), Some("2.1".to_owned()));
        assert!(!is_first(&mut versions, "claude"));
        assert_eq!(versions["claude"].as_deref(), Some("2.1"));
        assert!(is_first(&mut versions, "codex"));
    }

    #[test]
    fn a_program_is_named_by_what_starts_it() {
        let words = |text: &str| named(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(words("./agent write"), words("./agent judge"));
        assert_eq!(words("sh -eu agent.sh write"), words("sh -eu agent.sh judge"));
        assert_ne!(words("sh build.sh"), words("sh judge.sh"));
        assert_eq!(words("/usr/bin/env python3 a.py x"), words("/usr/bin/env python3 a.py"));
        assert_eq!(named(&[]), "");
    }

    #[test]
    fn a_model_is_the_one_that_answered_or_says_that_it_was_asked_for() {
        let asked = Identity { model: "opus".to_owned(), model_asked: true, ..Identity::default() };
        let told = Outcome { model: Some("opus-5-1".to_owned()), ..Outcome::default() };
        assert_eq!(ended(&asked, &Outcome::default()), asked);
        let now = ended(&asked, &told);
        assert_eq!((now.model.as_str(), now.model_asked), ("opus-5-1", false));
        assert_eq!(digest("a").len(), DIGEST);
        assert_ne!(digest("a"), digest("b"));
    }
}
