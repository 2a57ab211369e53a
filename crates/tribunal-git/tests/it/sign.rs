//! Signing with real keys: what is signed verifies, is otherwise what it was, and nobody is ever asked.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tribunal_git::{GitError, Oid, Rebased};

use crate::support::{World, git, script, who};

/// A keyring of its own, whose agent ends with it.
struct Keyring(PathBuf);

impl Keyring {
    /// A repository whose user signs with a key that has this passphrase.
    fn of(world: &World, passphrase: &str) -> Keyring {
        let home = world.dir.path().join("g");
        std::fs::create_dir(&home).expect("mkdir");
        std::fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("chmod");
        let key =
            ["--batch", "--pinentry-mode", "loopback", "--passphrase", passphrase, "--quick-generate-key"];
        let mut gpg = Command::new("gpg");
        let made = gpg.arg("--homedir").arg(&home).args(key);
        let made = made.args(["Tribunal <tribunal@example.org>", "ed25519", "sign", "never"]).output();
        assert!(made.as_ref().is_ok_and(|made| made.status.success()), "{made:?}");
        let ring = Keyring(home);
        // What the agent remembers of the passphrase is forgotten.
        ring.end_agent();
        let program = world.dir.path().join("gpg.sh");
        script(&program, &format!("#!/bin/sh\nexec gpg --homedir '{}' \"$@\"\n", ring.0.display()));
        set(world, &[("commit.gpgsign", "true"), ("gpg.program", &program.display().to_string())]);
        ring
    }

    fn end_agent(&self) {
        let _ = Command::new("gpgconf").arg("--homedir").arg(&self.0).args(["--kill", "all"]).output();
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        self.end_agent();
    }
}

fn set(world: &World, settings: &[(&str, &str)]) {
    settings.iter().for_each(|(key, value)| _ = git(&world.root(), &["config", key, value]));
}

/// The user signs with a key for SSH that has this passphrase.
fn with_ssh_key(world: &World, passphrase: &str) {
    let key = world.dir.path().join("id");
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", passphrase, "-f"]).arg(&key).output();
    assert!(made.as_ref().is_ok_and(|made| made.status.success()), "{made:?}");
    let public = std::fs::read_to_string(key.with_extension("pub")).expect("reads");
    let allowed = world.dir.path().join("allowed");
    std::fs::write(&allowed, format!("tribunal@example.org {public}")).expect("writes");
    let (key, allowed) = (key.with_extension("pub").display().to_string(), allowed.display().to_string());
    set(
        world,
        &[
            ("commit.gpgsign", "true"),
            ("gpg.format", "ssh"),
            ("user.signingkey", &key),
            ("gpg.ssh.allowedSignersFile", &allowed),
        ],
    );
}

/// What a commit says but for its id, its parents and its signature.
fn words(root: &Path, commit: &Oid) -> String {
    git(root, &["log", "-1", "--format=%T%n%an%n%ae%n%at%n%cn%n%ce%n%ct%n%B", commit.as_str()])
}

/// Signs two commits, and looks at all there is to look at.
fn signs_a_line(world: &World) -> Oid {
    let (repo, root) = (&world.repo, world.root());
    let one = world.commit(&world.head, &[("a", "1\n")], "feat: one\n\nbody\n\nTribunal-Plan: 01-01\n");
    let two = world.commit(&one, &[("b", "2\n")], "feat: two \u{e9}");
    repo.try_signing(&who()).expect("signs");
    assert!(!repo.is_line_signed(&world.head, &two).expect("looks"));
    let head = repo.sign_line(&world.head, &two).expect("signs");
    assert!(repo.is_line_signed(&world.head, &head).expect("looks"));
    let parent = repo.parents_of(&head).expect("parents")[0].clone();
    assert_eq!(repo.parents_of(&parent).expect("parents"), std::slice::from_ref(&world.head));
    for (before, after) in [(&one, &parent), (&two, &head)] {
        git(&root, &["verify-commit", after.as_str()]);
        assert_eq!(words(&root, before), words(&root, after));
    }
    assert_eq!(repo.sign_line(&world.head, &head).expect("signs"), head, "what is signed stays");
    head
}

#[test]
fn a_line_is_signed_with_the_users_gpg_key() {
    let world = World::new(&[("x", "x\n")]);
    let _ring = Keyring::of(&world, "");
    assert_eq!(world.repo.signing().expect("reads").expect("signs").format, "openpgp");
    let head = signs_a_line(&world);
    // More on what is signed: only that is made again.
    let more = world.commit(&head, &[("c", "3\n")], "more");
    let signed = world.repo.sign_line(&world.head, &more).expect("signs");
    assert_eq!(world.repo.parents_of(&signed).expect("parents"), std::slice::from_ref(&head));
    // What is moved elsewhere has lost its signatures, and gets others.
    let onto = world.commit(&world.head, &[("d", "4\n")], "other");
    let moved = match world.repo.replay(&world.head, &head, &onto, &who()).expect("replays") {
        Rebased::Clean { head, .. } => head,
        other => panic!("{other:?}"),
    };
    assert!(!world.repo.is_line_signed(&onto, &moved).expect("looks"));
    let signed = world.repo.sign_line(&onto, &moved).expect("signs");
    git(&world.root(), &["verify-commit", signed.as_str()]);
    let loose = |name: &str| {
        std::fs::read_dir(world.repo.common_dir().join("tribunal.git"))
            .expect("reads")
            .any(|entry| entry.expect("an entry").file_name().to_string_lossy().starts_with(name))
    };
    assert!(!loose("signed"), "what was tried is gone");
}

#[test]
fn a_line_is_signed_with_the_users_ssh_key() {
    let world = World::new(&[("x", "x\n")]);
    with_ssh_key(&world, "");
    let secrets = world.repo.signing_secrets();
    assert!(secrets.contains(&world.dir.path().join("id")), "{secrets:?}");
    signs_a_line(&world);
}

/// A repository of the other kind of ids has another name for signatures.
#[test]
fn a_line_is_signed_in_a_repository_with_long_ids() {
    let world = World::made(&["--object-format=sha256"], |root| crate::support::write(root, "x", "x\n"));
    with_ssh_key(&world, "");
    signs_a_line(&world);
}

#[test]
fn messages_are_changed_and_nothing_else() {
    let world = World::new(&[("x", "x\n")]);
    let one = world.commit(&world.head, &[("a", "1\n")], "one");
    let two = world.commit(&one, &[("b", "2\n")], "two");
    let as_they_are = ["one\n".to_owned(), "two\n".to_owned()];
    assert_eq!(world.repo.reword_line(&world.head, &two, &as_they_are).expect("rewords"), two);
    let messages = ["one\n".to_owned(), "two\n\nChange-Id: I1\n".to_owned()];
    let head = world.repo.reword_line(&world.head, &two, &messages).expect("rewords");
    assert_eq!(
        world.repo.parents_of(&head).expect("parents"),
        std::slice::from_ref(&one),
        "what stays is the same commit"
    );
    assert_eq!(world.repo.message_of(&head).expect("a message"), b"two\n\nChange-Id: I1\n");
    assert_eq!(world.repo.tree_of(&head).expect("a tree"), world.repo.tree_of(&two).expect("a tree"));
    assert!(world.repo.reword_line(&world.head, &two, &messages[..1]).is_err());
}

#[test]
fn nobody_is_asked_for_a_passphrase() {
    let by_ssh = World::new(&[("x", "x\n")]);
    with_ssh_key(&by_ssh, "secret");
    let by_gpg = World::new(&[("x", "x\n")]);
    let _ring = Keyring::of(&by_gpg, "secret");
    for world in [&by_ssh, &by_gpg] {
        let began = Instant::now();
        let error = world.repo.try_signing(&who()).expect_err("refused");
        assert!(matches!(error, GitError::Signing { .. }), "{error}");
        assert!(error.to_string().contains("git.sign"), "the way out is named: {error}");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}: {error}", began.elapsed());
        let one = world.commit(&world.head, &[("a", "1\n")], "one");
        assert!(world.repo.sign_line(&world.head, &one).is_err());
    }
}

#[test]
fn a_key_that_is_not_there_is_said() {
    let world = World::new(&[("x", "x\n")]);
    let _ring = Keyring::of(&world, "");
    set(&world, &[("user.signingkey", "nobody@example.org")]);
    let error = world.repo.try_signing(&who()).expect_err("refused").to_string();
    assert!(error.contains("could not be signed"), "{error}");
}

#[test]
fn without_the_setting_nothing_is_signed() {
    let world = World::new(&[("x", "x\n")]);
    assert_eq!(world.repo.signing().expect("reads"), None);
    set(&world, &[("commit.gpgsign", "false"), ("user.signingkey", "x")]);
    assert_eq!(world.repo.signing().expect("reads"), None);
    set(&world, &[("commit.gpgsign", "maybe")]);
    assert!(world.repo.signing().is_err(), "what cannot be read is not a no");
}
