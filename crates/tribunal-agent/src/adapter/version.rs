//! Versions of agent programs. Compares numbers and knows nothing else of a version.

/// How a program's version stands to those it was tested with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tested {
    /// One of them.
    Yes,
    /// Newer than all of them.
    Newer,
    /// Older than all of them.
    Older,
    /// Between them.
    Between,
    /// No version can be read, or none was tested.
    Unknown,
}

pub(super) fn judge(tested: &[String], printed: &str) -> Tested {
    let Some(version) = numbers(printed) else { return Tested::Unknown };
    let known: Vec<Vec<u64>> = tested.iter().filter_map(|text| numbers(text)).collect();
    match (known.iter().min(), known.iter().max()) {
        _ if known.contains(&version) => Tested::Yes,
        (_, Some(newest)) if version > *newest => Tested::Newer,
        (Some(oldest), _) if version < *oldest => Tested::Older,
        (Some(_), Some(_)) => Tested::Between,
        _ => Tested::Unknown,
    }
}

/// The first dotted number in a text: `codex-cli 0.166.0` has 0, 166 and 0.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let dotted = |word: &&str| word.trim_matches('.').contains('.');
    let word = words.into_iter().find(dotted)?;
    word.trim_matches('.').split('.').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let tested = ["1.9.2".to_owned(), "1.10.0".to_owned()];
        let check = |printed: &str, expect: Tested| assert_eq!(judge(&tested, printed), expect, "{printed}");
        check("1.10.0", Tested::Yes);
        check("tool-cli v1.9.2 (abc)\n", Tested::Yes);
        check("1.10.1", Tested::Newer);
        check("2.0", Tested::Newer);
        check("1.9.1", Tested::Older);
        check("1.9.10", Tested::Between);
        check("", Tested::Unknown);
        check("none", Tested::Unknown);
        check("99999999999999999999999.1", Tested::Unknown);
        assert_eq!(judge(&[], "1.0.0"), Tested::Unknown);
    }
}
