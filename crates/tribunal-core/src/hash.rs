//! One hash for what must come out the same on every machine and in every version: fingerprints, names, delays.
//!
//! The hasher of the standard library may change with a release, and a cryptographic digest would be more than a short
//! key needs. Nothing may rest on this hash that somebody could want to forge.

/// The FNV-1a hash of some bytes.
///
/// Its values are published in fingerprints and kept in journals, so the way it is computed must not change.
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_published_hash() {
        for (text, expect) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(fnv1a(text.bytes()), expect, "{text}");
        }
    }
}
