//! Files that are secrets by their usual names, where a folder of programs is shown: people keep a `.env`, a key or a
//! token beside the scripts that read it.
//!
//! Only names of data count. Programs and sources with the same names stay visible, because a tool that misses a file
//! of its own fails for no visible reason.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tribunal_core::defence::{Defence, stands};

/// Settings files with a password or a token.
const NAMES: [&str; 12] = [
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".boto",
    ".vault-token",
    "_netrc",
    "auth.json",
];
/// Folders that hold nothing but secrets.
const FOLDERS: [&str; 7] = [".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh"];
/// Ends of names: keys, and databases of passwords.
const ENDS: [&str; 9] = [".env", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".ovpn"];
/// Ends of examples, which only show what such a file would hold.
const EXAMPLES: [&str; 5] = [".example", ".sample", ".template", ".dist", ".pub"];
/// Beginnings of names that programs and sources have as well.
const BEGINNINGS: [&str; 9] =
    ["api-key", "api_key", "apikey", "client_secret", "credential", "id_", "password", "secret", "token"];
/// Ends of names that are not data: sources, libraries, documents. A token has none of them.
const CODE: [&str; 32] = [
    "a", "bash", "bat", "c", "cc", "class", "cpp", "css", "go", "h", "hpp", "html", "jar", "js", "lua",
    "map", "md", "mjs", "cjs", "php", "pl", "pm", "ps1", "py", "pyc", "pyi", "rb", "rs", "so", "ts", "tsx",
    "vim",
];
/// How much of a file of certificates is searched.
const CERTIFICATES_MAX: u64 = 4 << 20;

/// What a name says about its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Nothing,
    /// A secret, whatever the file holds.
    Secret,
    /// A secret, unless the file is a program.
    OrProgram,
    /// A private key, unless the file holds only certificates.
    OrCertificates,
}

fn says(name: &str) -> Says {
    let name = name.to_ascii_lowercase();
    let example = || EXAMPLES.iter().any(|end| name.ends_with(end));
    let code = || name.rsplit_once('.').is_some_and(|(_, end)| CODE.contains(&end));
    // The order matters: an example is never a secret, and an exact name is one whatever its end.
    match name.as_str() {
        _ if example() => Says::Nothing,
        exact if NAMES.contains(&exact) => Says::Secret,
        env if env.starts_with(".env.") => Says::Secret,
        end if ENDS.iter().any(|known| end.ends_with(known)) => Says::Secret,
        pem if pem.ends_with(".pem") => Says::OrCertificates,
        begins if BEGINNINGS.iter().any(|known| begins.starts_with(known)) && !code() => Says::OrProgram,
        _ => Says::Nothing,
    }
}

/// Whether a file is a secret by its name. A file that cannot be read is one.
pub(super) fn is_secret(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match says(&name) {
        _ if !stands(Defence::ProgramSecrets) => false,
        Says::Nothing => false,
        Says::Secret => true,
        Says::OrProgram => !is_program(path),
        Says::OrCertificates => !holds_certificates(path),
    }
}

/// The secrets in a folder and, if `deeper`, in the folders in it.
pub(super) fn in_folder(folder: &Path, deeper: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if FOLDERS.iter().any(|name| entry.file_name() == *name) {
                found.push(path);
            } else if deeper {
                // Two levels and no more, because the search is made for every launch.
                found.extend(in_folder(&path, false));
            }
        } else if kind.is_file() && is_secret(&path) {
            found.push(path);
        }
    }
    found
}

fn is_program(path: &Path) -> bool {
    let runs = path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    // The mode alone is not enough: on some file systems every file is executable.
    let mut begin = [0; 4];
    let read = runs && fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok();
    read && (begin.starts_with(b"#!") || begin == *b"\x7fELF")
}

fn holds_certificates(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(CERTIFICATES_MAX + 1).read_to_end(&mut bytes));
    let has = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    // A larger file was not searched completely, so it counts as a key.
    read.is_ok_and(|length| length as u64 <= CERTIFICATES_MAX)
        && has(b"BEGIN CERTIFICATE")
        && !has(b"PRIVATE KEY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_and_those_of_code_are_not() {
        for name in [
            ".env",
            ".env.local",
            "prod.env",
            ".ENV",
            "server.key",
            ".netrc",
            "vault.kdbx",
            "id_ed25519",
            "token",
            "token.txt",
            "tokens.json",
            "credentials",
            "credentials.json",
            "secrets.yml",
            "secret.toml",
            "client_secret_1.json",
            "password.txt",
            "apikey",
        ] {
            assert!(matches!(says(name), Says::Secret | Says::OrProgram), "{name}");
        }
        for name in [
            ".env.example",
            "env",
            "tokenizer.js",
            "token.py",
            "secrets.py",
            "credentials.rb",
            "id_rsa.pub",
            "keys",
            "docker-credential-pass",
            "cargo",
            "monkey",
            "keyring",
            "passwd",
            "x.pem.md",
        ] {
            assert_eq!(says(name), Says::Nothing, "{name}");
        }
        assert_eq!(says("ca.pem"), Says::OrCertificates);
    }

    #[test]
    fn a_program_and_a_list_of_certificates_are_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        put("tokenize", "#!/bin/sh\n", 0o755);
        put("token", "abc", 0o755);
        put(".env", "#!/bin/sh\n", 0o755);
        put("ssl/ca.pem", "-----BEGIN CERTIFICATE-----\n", 0o644);
        put("ssl/own.pem", "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n", 0o644);
        put("etc/secrets.yml", "", 0o644);
        put(".ssh/known_hosts", "", 0o644);
        put("a/b/.env", "", 0o644);
        let found = |deeper| {
            let mut found = in_folder(folder.path(), deeper);
            found.sort();
            let names =
                found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().display().to_string());
            names.collect::<Vec<_>>()
        };
        assert_eq!(found(true), [".env", ".ssh", "etc/secrets.yml", "ssl/own.pem", "token"]);
        assert_eq!(found(false), [".env", ".ssh", "token"]);
    }
}
