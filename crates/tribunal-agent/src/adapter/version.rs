//! Compares versions of agent programs as numbers. Nothing else of a version counts, because each program prints it in
//! another form.
//!
//! The result is a remark of `doctor` and never a reason to refuse a program: drift notes of the parsers tell whether a
//! newer version really prints something else.

/// How a program's version relates to those it was tested with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tested {
    /// It is one of the tested versions.
    Yes,
    /// It is newer than every tested version.
    Newer,
    /// It is older than every tested version.
    Older,
    /// It lies between tested versions.
    Between,
    /// No version can be read, or none was tested.
    Unknown,
}

pub(super) fn judge(tested: &[String], printed: &str) -> Tested {
    let Some(version) = numbers(printed) else { return Tested::Unknown };
    let known: Vec<Vec<u64>> = tested.iter().filter_map(|text| numbers(text)).collect();
    match (known.iter().min(), known.iter().max()) {
        // Checked first: the oldest and the newest version are tested ones, too.
        _ if known.contains(&version) => Tested::Yes,
        (_, Some(newest)) if version > *newest => Tested::Newer,
        (Some(oldest), _) if version < *oldest => Tested::Older,
        (Some(_), Some(_)) => Tested::Between,
        _ => Tested::Unknown,
    }
}

/// Finds the first dotted number in a text: `codex-cli 0.166.0` has 0, 166 and 0.
///
/// A number without a dot is skipped, because names of programs may contain one.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    // A full stop at the end of a sentence is not part of a version.
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
