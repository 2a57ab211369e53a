//! Signs commits as the user's own git would: with their configuration, their key and their program.
//!
//! It runs outside every sandbox and never asks anybody: there is no terminal, no prompt for a passphrase, and a
//! deadline. Only the user's files (system, home and the repository's own) say whether and how to sign; no file in a
//! tree has a say.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::unique;
use crate::replay::rewritten;
use crate::run::Call;
use crate::{GitError, Oid, Repo, Signature};

/// How long one signature may take. A key that waits for a touch or a passphrase would take for ever.
const SIGN_TIMEOUT: Duration = Duration::from_secs(30);

/// Variables that the user's key programs need to find keys and agents. `GPG_TTY`, `DISPLAY` and the like are not among
/// them, because with them a program could ask.
const KEPT: [&str; 6] =
    ["GNUPGHOME", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "USER", "LOGNAME"];

/// Whether commits are to be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// As the user's git is configured to.
    AsConfigured,
    /// Not at all, whatever git is configured to do.
    Never,
}

/// How the user's git signs commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signing {
    /// The kind of signature: `openpgp`, `ssh` or `x509`.
    pub format: String,
    /// The key as the user names it; empty where git chooses it by the committer's name.
    pub key: String,
}

impl std::fmt::Display for Signing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.key.is_empty() {
            true => write!(f, "{} with the key of the committer", self.format),
            false => write!(f, "{} with {}", self.format, self.key),
        }
    }
}

impl Repo {
    /// How the user's git signs commits; `None` where `commit.gpgsign` is not set.
    pub fn signing(&self) -> Result<Option<Signing>, GitError> {
        let signs = self.setting(&["--type=bool", "--get", "commit.gpgsign"])?;
        // Git reads the value as a boolean first, since `yes` and `on` mean the same.
        if signs.as_deref() != Some("true") {
            return Ok(None);
        }
        let format = self.setting(&["--get", "gpg.format"])?.unwrap_or_else(|| "openpgp".to_owned());
        let key = self.setting(&["--get", "user.signingkey"])?.unwrap_or_default();
        Ok(Some(Signing { format, key }))
    }

    /// One setting of the user's; `None` when it is not set.
    pub(crate) fn setting(&self, args: &[&str]) -> Result<Option<String>, GitError> {
        let call = self.user().arg("config").args(args);
        let name = call.name();
        let output = call.run()?;
        match output.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())),
            Some(1) => Ok(None),
            _ => Err(crate::run::failed(&name, &output)),
        }
    }

    /// Where the user's signing keys lie, as far as the settings and the environment say. No launch may see these
    /// places.
    pub fn signing_secrets(&self) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = std::env::var_os("GNUPGHOME").map(PathBuf::from).into_iter().collect();
        let key = self.setting(&["--type=path", "--get", "user.signingkey"]).ok().flatten();
        if let Some(key) = key.map(PathBuf::from).filter(|key| key.is_absolute()) {
            // The name of the public key stands for the private one beside it.
            let private = key.as_os_str().as_bytes().strip_suffix(b".pub");
            places.extend(private.map(|bytes| PathBuf::from(OsString::from_vec(bytes.to_vec()))));
            places.push(key);
        }
        places
    }

    /// Signs a commit that nobody keeps, to find out now whether it works while nobody is there.
    ///
    /// Call it before the work begins: a key that cannot sign would otherwise show only at the first landing.
    pub fn try_signing(&self, who: &Signature) -> Result<(), GitError> {
        let head = self.head()?.commit;
        let raw = rewritten(&self.raw_commit(&head)?, &self.tree_of(&head)?, &head, who);
        // The trial commit goes to a folder of its own, so that it leaves no object behind.
        let place = self.inner.engine.join(unique("signed"));
        std::fs::create_dir_all(&place).map_err(GitError::io(&place))?;
        let signed = self.sign_raw(&raw, Some(&place));
        let _ = std::fs::remove_dir_all(&place);
        signed.map(drop)
    }

    /// The commits of `base..head`, a line without merges, each with a signature. From the first commit without one on,
    /// they are made again with the same tree, author, committer and message. If all are signed the result is `head`
    /// itself.
    ///
    /// Some keys sign differently every time, so two calls may give two lines. A caller that depends on one of them
    /// keeps it in a ref before anything else relies on it.
    pub fn sign_line(&self, base: &Oid, head: &Oid) -> Result<Oid, GitError> {
        let mut at = base.clone();
        for (parent, commit) in self.line(base, head)? {
            let raw = self.raw_commit(&commit)?;
            // A signature covers the parent. It stays valid only if that did not change.
            if parent == at && is_signed(&raw) {
                at = commit;
                continue;
            }
            let plain = with_parent(&without_signature(&raw), &parent, &at);
            let signed = self.sign_raw(&plain, None)?;
            self.expect_only_signed(&signed, &plain)?;
            at = signed;
        }
        Ok(at)
    }

    /// The commits of `base..head`, a line without merges, with these messages, oldest first.
    ///
    /// From the first message that differs on, the commits are made again without their signatures and with everything
    /// else as it was.
    pub fn reword_line(&self, base: &Oid, head: &Oid, messages: &[String]) -> Result<Oid, GitError> {
        let line = self.line(base, head)?;
        if line.len() != messages.len() {
            return Err(GitError::odd(format!("{} messages for {} commits", messages.len(), line.len())));
        }
        let mut at = base.clone();
        for ((parent, commit), message) in line.into_iter().zip(messages) {
            let message = message.replace('\0', "");
            if parent == at && self.message_of(&commit)? == message.as_bytes() {
                at = commit;
                continue;
            }
            let raw = with_parent(&without_signature(&self.raw_commit(&commit)?), &parent, &at);
            let end = raw.windows(2).position(|pair| pair == b"\n\n").map_or(raw.len(), |at| at + 2);
            at = self.write("commit", &[raw.get(..end).unwrap_or_default(), message.as_bytes()].concat())?;
        }
        Ok(at)
    }

    /// Whether every commit of `base..head` has a signature. It is not verified: that takes the keys that people trust.
    pub fn is_line_signed(&self, base: &Oid, head: &Oid) -> Result<bool, GitError> {
        for (_, commit) in self.line(base, head)? {
            if !is_signed(&self.raw_commit(&commit)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks that git made the very commit that was wanted, and that nothing in it is new except the signature.
    ///
    /// The commit went through the user's git with the user's settings, and what lands must be what was approved.
    fn expect_only_signed(&self, signed: &Oid, plain: &[u8]) -> Result<(), GitError> {
        let raw = self.raw_commit(signed)?;
        match is_signed(&raw) && without_signature(&raw) == plain {
            true => Ok(()),
            false => Err(GitError::Signing {
                detail: format!("git made another commit ({signed}) than the one it was to sign"),
            }),
        }
    }

    /// Has git make a commit object once more, signed, in another folder of objects if one is given.
    fn sign_raw(&self, raw: &[u8], objects: Option<&Path>) -> Result<Oid, GitError> {
        let parts = Parts::of(raw).ok_or_else(|| GitError::odd("a commit that cannot be read"))?;
        let mut call = self.user().within(SIGN_TIMEOUT);
        for name in KEPT {
            if let Some(value) = std::env::var_os(name) {
                call = call.env(name, value);
            }
        }
        // The program that would ask for a passphrase is one that says no. Without it, the terminal would be asked.
        call = call.env("SSH_ASKPASS", "/bin/false").env("SSH_ASKPASS_REQUIRE", "force");
        call = call.env("GIT_OBJECT_DIRECTORY", objects.unwrap_or(&self.inner.own_objects));
        call = call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", crate::open::quoted(&self.inner.objects));
        // Git would otherwise note the user's encoding in the commit, which would be another commit then.
        let mut encoding = OsString::from("i18n.commitEncoding=");
        encoding.push(os(parts.encoding.unwrap_or(b"UTF-8")));
        call = call.option("-c").option(encoding);
        for (role, ident) in [("AUTHOR", &parts.author), ("COMMITTER", &parts.committer)] {
            for (part, value) in [("NAME", ident.name), ("EMAIL", ident.email)] {
                call = call.env(&format!("GIT_{role}_{part}"), os(value));
            }
            // With the sign, git takes the number as seconds and does not guess at a date format.
            let at = [b"@", ident.at].concat();
            call = call.env(&format!("GIT_{role}_DATE"), os(&at));
        }
        call = call.args(["commit-tree", "-S"]);
        for parent in &parts.parents {
            call = call.arg("-p").arg(os(parent));
        }
        call = call.arg(os(parts.tree)).input(parts.message);
        signed(call)
    }
}

/// The id of the signed commit, or git's own words where it could not sign.
fn signed(call: Call) -> Result<Oid, GitError> {
    let output = match call.run() {
        Err(GitError::Timeout { seconds, .. }) => {
            let detail =
                format!("no signature within {seconds} s; is somebody asked for a passphrase or a touch?");
            return Err(GitError::Signing { detail });
        }
        other => other?,
    };
    match output.code() {
        Some(0) => Oid::from_bytes(&output.stdout),
        _ => Err(GitError::Signing { detail: output.complaint() }),
    }
}

fn os(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// The name, address and time of an author or committer.
struct Ident<'a> {
    name: &'a [u8],
    email: &'a [u8],
    /// Seconds since 1970 and the time zone.
    at: &'a [u8],
}

impl<'a> Ident<'a> {
    fn of(line: &'a [u8]) -> Option<Ident<'a>> {
        let open = line.iter().position(|b| *b == b'<')?;
        // The last bracket: a damaged name may contain one as well.
        let close = line.iter().rposition(|b| *b == b'>')?;
        let name = line.get(..open)?;
        let name = name.strip_suffix(b" ").unwrap_or(name);
        Some(Ident { name, email: line.get(open + 1..close)?, at: line.get(close + 2..)? })
    }
}

/// A commit object, taken apart.
struct Parts<'a> {
    tree: &'a [u8],
    parents: Vec<&'a [u8]>,
    author: Ident<'a>,
    committer: Ident<'a>,
    encoding: Option<&'a [u8]>,
    message: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(raw: &'a [u8]) -> Option<Parts<'a>> {
        let at = raw.windows(2).position(|pair| pair == b"\n\n")?;
        let lines: Vec<&[u8]> = raw.get(..at)?.split(|b| *b == b'\n').collect();
        let value = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name.as_bytes()));
        Some(Parts {
            tree: value("tree ")?,
            parents: lines.iter().filter_map(|line| line.strip_prefix(b"parent ")).collect(),
            author: Ident::of(value("author ")?)?,
            committer: Ident::of(value("committer ")?)?,
            encoding: value("encoding "),
            message: raw.get(at + 2..)?,
        })
    }
}

/// The header lines of a commit object, each with the lines that continue it, and the rest from the blank line on.
fn headers(raw: &[u8]) -> (Vec<Vec<u8>>, &[u8]) {
    let at = raw.windows(2).position(|pair| pair == b"\n\n").unwrap_or(raw.len());
    let (head, rest) = raw.split_at(at);
    let mut headers: Vec<Vec<u8>> = Vec::new();
    for line in head.split(|b| *b == b'\n') {
        match headers.last_mut().filter(|_| line.starts_with(b" ")) {
            // A signature has many lines, and all but the first begin with a space.
            Some(header) => header.extend([b"\n", line].concat()),
            None => headers.push(line.to_vec()),
        }
    }
    (headers, rest)
}

fn is_signature(header: &[u8]) -> bool {
    header.starts_with(b"gpgsig ") || header.starts_with(b"gpgsig-sha256 ")
}

fn is_signed(raw: &[u8]) -> bool {
    headers(raw).0.iter().any(|header| is_signature(header))
}

fn without_signature(raw: &[u8]) -> Vec<u8> {
    let (headers, rest) = headers(raw);
    let kept: Vec<Vec<u8>> = headers.into_iter().filter(|header| !is_signature(header)).collect();
    [kept.join(&b'\n').as_slice(), rest].concat()
}

/// The commit object with one parent replaced.
fn with_parent(raw: &[u8], old: &Oid, new: &Oid) -> Vec<u8> {
    let (headers, rest) = headers(raw);
    let line = |oid: &Oid| format!("parent {oid}").into_bytes();
    let (old, new) = (line(old), line(new));
    let changed = headers.into_iter().map(|header| if header == old { new.clone() } else { header });
    [changed.collect::<Vec<_>>().join(&b'\n').as_slice(), rest].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_all_that_is_taken_away() {
        let plain =
            b"tree x\nparent y\nauthor A <a> 1 +0200\ncommitter B <b> 2 +0000\n\ngpgsig in the text\n";
        let signed =
            b"tree x\nparent y\nauthor A <a> 1 +0200\ncommitter B <b> 2 +0000\ngpgsig -----BEGIN\n \n \
            more\n -----END\n\ngpgsig in the text\n";
        assert!(is_signed(signed) && !is_signed(plain));
        assert_eq!(without_signature(signed), plain);
        assert_eq!(without_signature(plain), plain);
    }

    #[test]
    fn a_commit_is_taken_apart() {
        let raw = b"tree t\nparent p\nparent q\nauthor A <B> C <a@b> 1 +0200\ncommitter  <> 2 -0100\nencoding l\n\nm\n\nn\n";
        let parts = Parts::of(raw).expect("reads");
        assert_eq!((parts.tree, parts.parents.as_slice()), (&b"t"[..], &[&b"p"[..], b"q"][..]));
        assert_eq!((parts.author.at, parts.committer.at), (&b"1 +0200"[..], &b"2 -0100"[..]));
        assert_eq!((parts.encoding, parts.message), (Some(&b"l"[..]), &b"m\n\nn\n"[..]));
        assert!(Parts::of(b"tree t\n\nm").is_none());
    }
}
