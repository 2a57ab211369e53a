//! The built-in roster and personalities, and how a personality's file is read. Everything here works on texts: it
//! looks for no file itself and launches nobody.
//!
//! Who reviews what is decided in `tribunal-core` (`roster`). The tables lie here, beside the adapter rows, because a
//! project can replace both in the same way.

use crate::error::AgentError;
use tribunal_core::roster::Roster;

const ROSTER: &str = include_str!("roster.toml");

const PEOPLE: [(&str, &str); 22] = [
    ("architect", include_str!("people/architect.md")),
    ("chain-reviewer", include_str!("people/chain-reviewer.md")),
    ("design-brand-guardian", include_str!("people/design-brand-guardian.md")),
    ("design-ux-architect", include_str!("people/design-ux-architect.md")),
    ("design-ux-researcher", include_str!("people/design-ux-researcher.md")),
    ("dev", include_str!("people/dev.md")),
    ("engineering-backend-architect", include_str!("people/engineering-backend-architect.md")),
    ("engineering-frontend-developer", include_str!("people/engineering-frontend-developer.md")),
    ("engineering-infrastructure-devops", include_str!("people/engineering-infrastructure-devops.md")),
    ("engineering-senior-developer", include_str!("people/engineering-senior-developer.md")),
    ("final-reviewer", include_str!("people/final-reviewer.md")),
    ("marketing-content-social-strategist", include_str!("people/marketing-content-social-strategist.md")),
    ("qa", include_str!("people/qa.md")),
    ("reviewer", include_str!("people/reviewer.md")),
    ("security-engineer", include_str!("people/security-engineer.md")),
    ("testing-api-tester", include_str!("people/testing-api-tester.md")),
    ("testing-code-polisher", include_str!("people/testing-code-polisher.md")),
    ("testing-performance-benchmarker", include_str!("people/testing-performance-benchmarker.md")),
    ("testing-qa-verification-specialist", include_str!("people/testing-qa-verification-specialist.md")),
    ("testing-test-results-analyzer", include_str!("people/testing-test-results-analyzer.md")),
    ("testing-tool-evaluator", include_str!("people/testing-tool-evaluator.md")),
    ("testing-workflow-optimizer", include_str!("people/testing-workflow-optimizer.md")),
];

/// A personality: how an agent looks at its work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Personality {
    /// The id that rosters refer to.
    pub id: String,
    /// The role, in a few words.
    pub role: String,
    /// The fields this personality knows.
    pub domains: Vec<String>,
    /// The kinds of problems it is good at finding or solving.
    pub strengths: Vec<String>,
    /// The whole file, as it goes into the prompt.
    pub text: String,
}

/// Reads the roster that is compiled in.
pub fn built_in() -> Result<Roster, AgentError> {
    read_roster("built-in roster", ROSTER)
}

/// Reads a roster of a project or a user. It must name somebody who takes part in every review.
pub fn read_roster(origin: &str, text: &str) -> Result<Roster, AgentError> {
    let wrong = |problem: String| AgentError::Rows { origin: origin.to_owned(), problems: vec![problem] };
    let roster: Roster = toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?;
    // A review without anybody cannot pass anything, so such a roster is refused when it is read and not during a run.
    if roster.always.trim().is_empty() || roster.reviewers_max == 0 {
        return Err(wrong("`always` names nobody, or `reviewers_max` is 0".to_owned()));
    }
    Ok(roster)
}

/// Returns the ids of all built-in personalities.
pub fn people() -> impl Iterator<Item = &'static str> {
    PEOPLE.iter().map(|(id, _)| *id)
}

/// Returns a built-in personality by its id.
pub fn person(id: &str) -> Option<Personality> {
    let (_, text) = PEOPLE.iter().find(|(known, _)| *known == id)?;
    read_personality(id, text)
}

/// Reads a personality's file; `None` if it contains no text of its own.
///
/// The front matter is read for role, domains and strengths. It also stays part of the text, so the agent sees the file
/// as its author wrote it.
pub fn read_personality(id: &str, text: &str) -> Option<Personality> {
    let mut person = Personality { id: id.to_owned(), text: text.to_owned(), ..Personality::default() };
    // Editors on some systems put a byte order mark at the beginning, and the front matter must still be found.
    let clean = text.trim_start_matches('\u{feff}');
    let mut body = clean;
    if let Some(rest) = clean.strip_prefix("---")
        && let Some((front, after)) = rest.split_once("\n---")
    {
        body = after;
        for line in front.lines() {
            // A line without a colon, or with a key nobody knows, is left alone: the file belongs to its author.
            let Some((key, value)) = line.split_once(':') else { continue };
            match key.trim() {
                "role" => person.role = value.trim().trim_matches('"').to_owned(),
                "domains" => person.domains = list(value),
                "strengths" => person.strengths = list(value),
                _ => {}
            }
        }
    }
    (!body.trim().is_empty()).then_some(person)
}

fn list(value: &str) -> Vec<String> {
    // A list with or without brackets: people write both.
    let inner = value.trim().trim_start_matches('[').trim_end_matches(']');
    let items = inner.split(',').map(|item| item.trim().trim_matches(['"', '\'']).to_owned());
    items.filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tribunal_core::roster::{Assigned, Wanted};

    #[test]
    fn everybody_the_tables_name_has_a_personality() {
        let roster = built_in().unwrap();
        for id in roster.names() {
            let person = person(&id).unwrap_or_else(|| panic!("{id} has no personality"));
            assert!(
                !person.role.is_empty() && !person.domains.is_empty() && !person.strengths.is_empty(),
                "{id}"
            );
        }
        for id in people() {
            let text = person(id).unwrap().text;
            assert!(text.contains(&format!("id: {id}\n")), "{id}");
            assert!(text.len() < 3_000, "{id} is short");
        }
        for role in [
            "architect",
            "dev",
            "qa",
            "reviewer",
            "chain-reviewer",
            "final-reviewer",
            "testing-code-polisher",
        ] {
            assert!(person(role).is_some(), "{role}");
        }
    }

    #[test]
    fn a_file_without_words_is_nobody() {
        assert_eq!(read_personality("x", ""), None);
        assert_eq!(read_personality("x", "---\nid: x\n---\n \n"), None);
        let plain = read_personality("x", "Be kind.").unwrap();
        assert_eq!((plain.text.as_str(), plain.domains.len()), ("Be kind.", 0));
        let odd = read_personality("x", "---\ndomains: [\"a\", b]\nnothing\n---\nBe kind.").unwrap();
        assert_eq!(odd.domains, ["a", "b"]);
    }

    #[test]
    fn tables_that_name_nobody_are_refused() {
        assert!(read_roster("x", "always = ''\nreviewers_max = 3\n").is_err());
        assert!(read_roster("x", "reviewers_max = 3\n").is_err());
        assert!(read_roster("x", "always = 'a'\nreviewers_max = 3\nnonsense = 1\n").is_err());
        assert!(read_roster("x", "always = 'a'\nreviewers_max = 2\n").is_ok());
    }

    fn kinds(files: &[&str], documents: &str) -> Vec<String> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        built_in().unwrap().kinds_of(&files, documents)
    }

    #[test]
    fn kinds_by_what_was_built() {
        let check = |files: &[&str], documents: &str, expect: &[&str]| {
            assert_eq!(kinds(files, documents), expect, "{files:?} {documents}");
        };
        check(&["src/a.rs", "src/b.rs", "Dockerfile"], "", &["code", "infrastructure"]);
        check(&["web/a.css", "web/b.scss", "src/api/users.ts"], "", &["design", "api"]);
        check(&["skills/review/SKILL.md"], "", &["workflow"]);
        check(&["src/a.rs"], "adds an endpoint for users", &["api", "code"]);
        check(&["README.md"], "", &[]);
        check(&["src/a.rs"], "appendpoints", &["code"]);
    }

    #[test]
    fn panels_by_kinds() {
        let roster = built_in().unwrap();
        let check = |kinds: &[&str], expect: &[&str]| {
            let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
            let ids: Vec<String> = roster.panel(&kinds).into_iter().map(|pick| pick.id).collect();
            assert_eq!(ids, expect, "{kinds:?}");
        };
        let qa = "testing-qa-verification-specialist";
        check(&[], &[qa]);
        check(&["code"], &[qa, "testing-test-results-analyzer"]);
        check(&["api"], &[qa, "testing-api-tester"]);
        check(&["infrastructure"], &[qa, "testing-performance-benchmarker"]);
        check(&["code", "api"], &[qa, "testing-api-tester"]);
        check(&["api", "design"], &[qa, "testing-api-tester", "design-brand-guardian"]);
        check(&["workflow", "marketing"], &[qa, "testing-workflow-optimizer"]);
        check(&["design", "api", "workflow", "code"], &[qa, "design-brand-guardian", "testing-api-tester"]);
    }

    #[test]
    fn panels_by_fields() {
        let roster = built_in().unwrap();
        let size = |fields: &[&str]| {
            let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
            roster.panel_by_fields(&fields).len()
        };
        assert_eq!((size(&["security"]), size(&["security", "api"])), (2, 3));
        assert_eq!(size(&["security", "api", "performance", "accessibility"]), 4);
        assert_eq!(
            roster.fields_of(&["src/auth/login.rs".to_owned()], "caches the result"),
            ["security", "performance"]
        );
    }

    #[test]
    fn fixers_by_owner_and_file() {
        let roster = built_in().unwrap();
        let fixer = |id: &str| Assigned::Fixer(id.to_owned());
        let wanted = |file: &'static str, field: Option<&'static str>| Wanted { file: Some(file), field };
        let everybody = |_: &str| true;
        let given = [
            wanted("src/a.rs", None),
            wanted("src/a.rs", Some("security")),
            wanted("web/ui/button.ts", None),
            wanted("web/server/db.ts", None),
            // One file, two rows: the earlier one has it.
            wanted("web/server/db.ts", Some("design")),
            wanted("notes.md", None),
            wanted("odd.xyz", None),
            Wanted::default(),
        ];
        let expect = [
            fixer("engineering-backend-architect"),
            fixer("security-engineer"),
            fixer("engineering-frontend-developer"),
            fixer("engineering-backend-architect"),
            // Of the same row both stay, and work one after the other.
            fixer("engineering-frontend-developer"),
            Assigned::Anybody,
            Assigned::Anybody,
            Assigned::Anybody,
        ];
        assert_eq!(roster.assign(&given, &everybody), expect);
        let nobody = |_: &str| false;
        assert_eq!(
            roster.assign(&given[..2], &nobody),
            [Assigned::Anybody, Assigned::Person("security-engineer".to_owned())],
            "without its personality an agent fixes on its own, but not in an owner's field"
        );
        let mixed = [wanted("a.py", Some("design")), wanted("a.py", None)];
        assert_eq!(
            roster.assign(&mixed, &everybody),
            [fixer("engineering-backend-architect"), fixer("engineering-backend-architect")],
            "all of one file to the fixer of the earlier row"
        );
    }
}
