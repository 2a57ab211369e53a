//! Fingerprints of a finding's place and words: evidence for other tools, and the baseline that the tracker is measured
//! against.
//!
//! A fingerprint is never an identity: it breaks when a line shifts or a word changes. Its value is published, so the
//! way it is computed must not change.

use tribunal_core::finding::Claim;

/// Fingerprint of file, line range and claim.
pub fn location(claim: &Claim) -> String {
    format!("{:016x}", digest(claim, None))
}

/// Fingerprint of file, line range, claim and severity.
pub fn full(claim: &Claim) -> String {
    format!("{:016x}", digest(claim, Some(claim.severity.word())))
}

fn digest(claim: &Claim, severity: Option<&str>) -> u64 {
    let lines = format!("{}-{}", claim.line.unwrap_or(0), claim.end.or(claim.line).unwrap_or(0));
    let parts = [claim.file.as_deref().unwrap_or(""), &lines, &claim.claim, severity.unwrap_or("")];
    // Each part is closed by a byte that no UTF-8 text holds, so that parts cannot run into each other.
    tribunal_core::hash::fnv1a(parts.iter().flat_map(|part| part.bytes().chain([0xff])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tribunal_core::finding::Severity;

    #[test]
    fn they_hang_on_what_they_say_and_nothing_else() {
        let claim = Claim::new(Severity::Warning, "x").at("a.rs", Some(3));
        let louder = Claim { severity: Severity::Blocker, confidence: 10, ..claim.clone() };
        let moved = claim.clone().at("a.rs", Some(4));
        assert_eq!(location(&claim), location(&louder));
        assert_ne!(full(&claim), full(&louder));
        assert_ne!(location(&claim), location(&moved));
        assert_eq!(location(&claim), "21664a4116ef402e", "fingerprints others keep must not change");
    }
}
