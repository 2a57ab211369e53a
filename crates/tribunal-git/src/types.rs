//! The small values that cross the border of this crate: object ids, paths as bytes, signatures and file modes.
//!
//! Nothing here touches the disk. An `Oid` is checked when it is made, so that the rest of the crate can pass it to git
//! as an argument; a `GitPath` is not, so ask it `is_inside` before it is used on a disk.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::GitError;

/// The full hexadecimal name of an object, SHA-1 or SHA-256.
///
/// There is no abbreviated `Oid`: text such as `HEAD` or `--upload-pack=x` would mean something else to git, and an
/// abbreviation can become ambiguous.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(Box<str>);

impl Oid {
    /// Reads a full object id. Anything else is refused, so an `Oid` is always safe as an argument.
    pub fn parse(text: &str) -> Result<Oid, GitError> {
        // Lowercase only: the same object must not have two spellings in maps and refs.
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        match text.len() {
            40 | 64 if text.bytes().all(hex) => Ok(Oid(text.into())),
            _ => Err(GitError::odd(format!("not a full object id: {:.80}", text.escape_debug()))),
        }
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Oid, GitError> {
        Oid::parse(String::from_utf8_lossy(bytes).trim_end_matches('\n'))
    }

    /// Makes an id from its raw bytes, as they stand in tree objects.
    pub(crate) fn from_raw(bytes: &[u8]) -> Oid {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |n: u8| char::from(DIGITS[usize::from(n)]);
        Oid(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect::<String>().into())
    }

    /// The raw bytes of the id, as they stand in tree objects.
    pub(crate) fn to_raw(&self) -> Vec<u8> {
        let digit = |b: u8| char::from(b).to_digit(16).unwrap_or(0) as u8;
        self.0.as_bytes().chunks(2).map(|pair| pair.iter().fold(0, |byte, b| byte << 4 | digit(*b))).collect()
    }

    /// The full id as hexadecimal text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }

    /// Whether this is the all-zero id, by which git says "nothing".
    pub fn is_zero(&self) -> bool {
        self.0.bytes().all(|b| b == b'0')
    }

    pub(crate) fn zero_like(&self) -> String {
        "0".repeat(self.0.len())
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

impl AsRef<OsStr> for Oid {
    fn as_ref(&self) -> &OsStr {
        OsStr::new(&*self.0)
    }
}

/// A path inside a tree, with `/` between its parts: bytes and not text, exactly as git has them.
///
/// File names on Linux need not be UTF-8, and a name that was converted would no longer be found. Make text of it only
/// for people, by `Display`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GitPath(Vec<u8>);

impl GitPath {
    /// Takes the bytes as they are, unchecked; see `is_inside`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> GitPath {
        GitPath(bytes.into())
    }

    /// The bytes of the path, as git has them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as the operating system wants it, still relative.
    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.0.clone()))
    }

    /// Whether the path stays inside its tree: relative, without an empty, `.`, `..` or `.git` part, and without NUL.
    ///
    /// Ask this before a path that came from a tree is joined to a folder: a tree object can hold any bytes as a name.
    pub fn is_inside(&self) -> bool {
        !self.0.is_empty()
            && !self.0.contains(&0)
            && self.0.split(|b| *b == b'/').all(|part| {
                // `.git` in any case: on a file system that ignores case, `.GIT` is the repository itself.
                !part.is_empty() && part != b"." && part != b".." && !part.eq_ignore_ascii_case(b".git")
            })
    }

    /// Whether this path is `other`, or lies in the directory `other`. A trailing `/` on `other` is fine.
    pub fn is_under(&self, other: &GitPath) -> bool {
        let dir = other.0.strip_suffix(b"/").unwrap_or(&other.0);
        match self.0.strip_prefix(dir) {
            // Only a `/` after the prefix makes it a directory: `ab` does not lie under `a`.
            Some(rest) => rest.is_empty() || rest.first() == Some(&b'/') || dir.is_empty(),
            None => false,
        }
    }

    /// Whether one of the two paths contains the other.
    pub fn overlaps(&self, other: &GitPath) -> bool {
        self.is_under(other) || other.is_under(self)
    }

    pub(crate) fn os(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// The place of this path below a folder.
    ///
    /// The path is joined unchecked, so a path from a foreign tree has to pass `is_inside` first.
    pub fn under(&self, root: &Path) -> PathBuf {
        root.join(self.os())
    }
}

impl From<&str> for GitPath {
    fn from(text: &str) -> GitPath {
        GitPath(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for GitPath {
    fn from(bytes: &[u8]) -> GitPath {
        GitPath(bytes.to_vec())
    }
}

/// Shows the path to people: control characters are escaped, and bytes that are not UTF-8 are replaced.
impl fmt::Display for GitPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in String::from_utf8_lossy(&self.0).chars() {
            // A terminal would obey an escape sequence in a file name.
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        Ok(())
    }
}

impl fmt::Debug for GitPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// Who made a commit and when. The same signature gives the same commit id.
///
/// The time is always written as UTC, so commit ids do not depend on the machine's time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name of the author or committer.
    pub name: String,
    /// The mail address of the author or committer.
    pub email: String,
    /// The time, in seconds since 1970.
    pub at: i64,
}

impl Signature {
    /// A signature from its three parts.
    pub fn new(name: impl Into<String>, email: impl Into<String>, at: i64) -> Signature {
        Signature { name: name.into(), email: email.into(), at }
    }

    /// The line as it stands in a commit object. Characters that would break the format are left out.
    pub(crate) fn line(&self) -> String {
        let clean = |text: &str, instead: &str| {
            let kept: String = text.chars().filter(|c| !c.is_control() && *c != '<' && *c != '>').collect();
            // Git takes these away from both ends; a commit that it is to sign has to be the same.
            let kept = kept.trim_matches(|c: char| c.is_ascii_whitespace() || ".,:;\"\\'".contains(c));
            if kept.is_empty() { instead.to_owned() } else { kept.to_owned() }
        };
        let name = clean(&self.name, "tribunal");
        let email = clean(&self.email, "tribunal@localhost");
        format!("{name} <{email}> {} +0000", self.at.max(0))
    }
}

/// The kind of one entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// An ordinary file that is not executable.
    File,
    /// A file with its executable bit set.
    Executable,
    /// A symbolic link; its blob is the target.
    Symlink,
    /// A submodule: the commit of another repository.
    Gitlink,
    /// A directory, which is a tree of its own.
    Directory,
}

impl Mode {
    pub(crate) fn parse(text: &[u8]) -> Result<Mode, GitError> {
        // Early versions of git wrote 664 for some files; they mean the same today.
        match text {
            b"100644" | b"100664" => Ok(Mode::File),
            b"100755" => Ok(Mode::Executable),
            b"120000" => Ok(Mode::Symlink),
            b"160000" => Ok(Mode::Gitlink),
            b"040000" => Ok(Mode::Directory),
            other => Err(GitError::odd(format!("unknown file mode {}", other.escape_ascii()))),
        }
    }

    /// The mode in the six digits that git writes.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::File => "100644",
            Mode::Executable => "100755",
            Mode::Symlink => "120000",
            Mode::Gitlink => "160000",
            Mode::Directory => "040000",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_ids_are_ids() {
        for (text, good) in [
            ("0123456789abcdef0123456789abcdef01234567", true),
            (&"a".repeat(64), true),
            ("0123456789ABCDEF0123456789abcdef01234567", false),
            ("--upload-pack=x", false),
            ("HEAD", false),
            ("", false),
        ] {
            assert_eq!(Oid::parse(text).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn paths_inside_and_under() {
        for (path, inside) in [
            ("a/b", true),
            ("/a", false),
            ("a/../b", false),
            ("a//b", false),
            ("a/.GIT/x", false),
            ("", false),
        ] {
            assert_eq!(GitPath::from(path).is_inside(), inside, "{path}");
        }
        for (path, dir, under) in [
            ("a/b", "a", true),
            ("a/b", "a/", true),
            ("ab", "a", false),
            ("a", "a", true),
            ("a", "a/b", false),
        ] {
            assert_eq!(GitPath::from(path).is_under(&GitPath::from(dir)), under, "{path} {dir}");
        }
    }

    #[test]
    fn signatures_cannot_break_the_commit_format() {
        let odd = Signature::new("A <b>\nparent x", "\n", -5);
        assert_eq!(odd.line(), "A bparent x <tribunal@localhost> 0 +0000");
        let junior = Signature::new(" 'J. Doe, Jr.' ", "j@d.org.", 7);
        assert_eq!(junior.line(), "J. Doe, Jr <j@d.org> 7 +0000");
    }

    #[test]
    fn paths_show_no_escapes() {
        assert_eq!(GitPath::new(&b"a\x1b[31m\n\xff"[..]).to_string(), "a\\u{1b}[31m\\n\u{fffd}");
    }
}
