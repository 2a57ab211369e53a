//! Makes a copy of a git configuration without what only its owner may know.
//!
//! Launches get the user's git identity and preferences from such a copy. Credentials, programs and addresses with
//! passwords are left out. It is an allow list, so a section that nobody has examined is not in the copy.

use crate::error::GitError;
use crate::run::Call;
use std::path::Path;

/// Sections whose keys may all be seen, except those in `LEFT_OUT`.
const SECTIONS: [&str; 35] = [
    "advice",
    "am",
    "apply",
    "author",
    "blame",
    "branch",
    "clean",
    "color",
    "column",
    "committer",
    "core",
    "diff",
    "extensions",
    "feature",
    "fetch",
    "format",
    "gc",
    "grep",
    "i18n",
    "index",
    "init",
    "log",
    "merge",
    "pack",
    "pull",
    "push",
    "rebase",
    "receive",
    "rerere",
    "safe",
    "status",
    "submodule",
    "tag",
    "user",
    "versionsort",
];
/// Keys of those sections that name programs, signing keys or files elsewhere.
const LEFT_OUT: [&str; 19] = [
    "core.askpass",
    "core.attributesfile",
    "core.editor",
    "core.excludesfile",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "diff.external",
    "diff.tool",
    "format.signaturefile",
    "gc.recentobjectshook",
    "init.templatedir",
    "merge.tool",
    "push.gpgsign",
    "tag.forcesignannotated",
    "tag.gpgsign",
    "user.signingkey",
];

/// The text of a configuration file as anybody may see it, with the files it includes. An error when git cannot read
/// it.
///
/// Included files are merged into the text, because a launch could not read them at their own place.
pub fn public_config(file: &Path) -> Result<String, GitError> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let call = Call::new(folder).arg("config").arg("--file").arg(file);
    let listed = call.args(["--includes", "--list", "-z"]).ok()?;
    Ok(public_text(&String::from_utf8_lossy(&listed)))
}

/// Filters the output of `git config --list -z`: entries end with NUL, and a value begins after the first newline.
fn public_text(listed: &str) -> String {
    let mut text = String::new();
    for entry in listed.split('\0').filter(|entry| !entry.is_empty()) {
        let (key, value) = entry.split_once('\n').map_or((entry, None), |(key, value)| (key, Some(value)));
        if let Some(line) = public_entry(key, value) {
            text.push_str(&line);
        }
    }
    text
}

fn public_entry(key: &str, value: Option<&str>) -> Option<String> {
    let (section, rest) = key.split_once('.')?;
    // A subsection may contain dots itself, so the key is what follows the last one.
    let (name, variable) = rest.rsplit_once('.').map_or((None, rest), |(name, last)| (Some(name), last));
    let value = match section {
        // Only these keys of a remote are public; others, such as `proxy`, may hold a password.
        "remote" if ["url", "pushurl", "fetch"].contains(&variable) => value,
        // A named section of `diff` or `merge` defines a driver, which is a program.
        "diff" | "merge" if name.is_some() => return None,
        _ if SECTIONS.contains(&section) && !LEFT_OUT.contains(&key) => value,
        _ => return None,
    };
    // A remote is not the only place for an address: submodules have one, and so may a branch in the place of a remote's
    // name.
    let (name, value) = (name.map(without_password), value.map(without_password));
    let head = match name {
        Some(name) => format!("[{section} \"{}\"]", name.replace('\\', "\\\\").replace('"', "\\\"")),
        None => format!("[{section}]"),
    };
    let value = value.map(|value| format!(" = {}", quoted(&value))).unwrap_or_default();
    // Every entry has its section header, which is simpler than grouping and means the same to git.
    Some(format!("{head}\n\t{variable}{value}\n"))
}

/// An address without its user and password: either may be a token.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A password may contain the sign as well, so the last one counts.
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    // The query of an address may hold a token as well.
    format!("{scheme}://{host}{}", path.split(['?', '#']).next().unwrap_or_default())
}

fn quoted(value: &str) -> String {
    let plain = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", plain.replace('\n', "\\n").replace('\t', "\\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_configuration_holds_no_credential() {
        let folder = tempfile::tempdir().unwrap();
        let (file, more) = (folder.path().join("config"), folder.path().join("more"));
        std::fs::write(&more, "[credential]\n\thelper = store --file=SECRET\n[user]\n\temail = me@here\n")
            .unwrap();
        std::fs::write(
            &file,
            "[core]\n\tbare = false\n\tsshCommand = ssh -i SECRET\n\thooksPath = SECRET\n[user]\n\tname = \"A \\\"B\\\" C\"\n\
             \tsigningkey = SECRET\n[include]\n\tpath = more\n[http \"https://x\"]\n\textraheader = SECRET\n\
             [url \"https://me:SECRET@h/\"]\n\tinsteadOf = https://h/\n[remote \"o\"]\n\turl = https://me:SECRET@h/p?t=SECRET\n\
             \tproxy = http://SECRET@p\n\tfetch = +refs/heads/*:refs/remotes/o/*\n[branch \"main\"]\n\tremote = o\n\
             [alias]\n\tx = !curl SECRET\n[commit]\n\tgpgsign = true\n[diff \"x\"]\n\ttextconv = SECRET\n",
        )
        .unwrap();
        let text = public_config(&file).unwrap();
        assert!(!text.contains("SECRET") && !text.contains("gpgsign"), "{text}");
        let copy = folder.path().join("copy");
        std::fs::write(&copy, &text).unwrap();
        let read = |key: &str| {
            let out =
                Call::new(folder.path()).args(["config", "--file"]).arg(&copy).args(["--get", key]).ok();
            String::from_utf8(out.unwrap()).unwrap().trim_end().to_owned()
        };
        assert_eq!(read("user.name"), "A \"B\" C");
        assert_eq!(read("user.email"), "me@here");
        assert_eq!(read("remote.o.url"), "https://h/p");
        assert_eq!(read("branch.main.remote"), "o");
        assert_eq!(read("core.bare"), "false");
    }

    #[test]
    fn addresses_lose_their_password_wherever_they_stand() {
        let listed = "submodule.lib.url\nhttps://me:SECRET@h/lib\0branch.main.remote\nhttps://SECRET@h/p\0\
            branch.main.pushremote\nssh://SECRET@h/p\0submodule.https://SECRET@h/x.active\ntrue\0";
        let text = public_text(listed);
        assert!(!text.contains("SECRET"), "{text}");
        for kept in ["https://h/lib", "https://h/p", "ssh://h/p", "[submodule \"https://h/x\"]"] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }

    #[test]
    fn what_git_cannot_read_has_no_copy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, "[broken\n").unwrap();
        assert!(public_config(&file).is_err());
    }

    #[test]
    fn an_address_keeps_its_place_and_nothing_else() {
        for (address, public) in [
            ("https://a:b@h/p", "https://h/p"),
            ("https://token@h:8080", "https://h:8080"),
            ("https://h/p@q", "https://h/p@q"),
            ("ssh://git@h/p", "ssh://h/p"),
            ("git@h:p", "git@h:p"),
            ("/a/b", "/a/b"),
        ] {
            assert_eq!(without_password(address), public);
        }
    }
}
