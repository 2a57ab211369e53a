//! The user's rules for commits: what lands is signed as their git is configured.

use crate::show::Show;
use crate::stage::Stage;
use crate::stage::program::Program;
use crate::stage::scenes::{NO_GATE, PLAIN, Scene, TWO_TASKS};
use tribunal_core::run::Ending;

/// The user's keyring, whose agent ends with it.
struct Keyring {
    home: String,
    program: Program,
}

impl Keyring {
    /// The user has a key with this passphrase, and their git signs with it.
    fn of(show: &mut Show, passphrase: &str) -> Keyring {
        let home = show.stage.home().join(".gnupg");
        std::fs::create_dir(&home).unwrap();
        std::fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let ring = Keyring { home: home.display().to_string(), program: show.stage.program().clone() };
        let key = ["--batch", "--pinentry-mode", "loopback", "--passphrase", passphrase];
        let key =
            [&key[..], &["--quick-generate-key", "Tester <tester@example.org>", "ed25519", "sign", "never"]];
        let made = ring.program.other("gpg", &[&["--homedir", &ring.home], key.concat().as_slice()].concat());
        assert_eq!(made.unwrap().code, Some(0));
        // What the agent remembers of the passphrase is forgotten.
        ring.end_agent();
        configure(show, &[("commit.gpgsign", "true")]);
        ring
    }

    fn end_agent(&self) {
        let _ = self.program.other("gpgconf", &["--homedir", &self.home, "--kill", "all"]);
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        self.end_agent();
    }
}

fn configure(show: &mut Show, settings: &[(&str, &str)]) {
    show.user_acts(|stage| {
        settings.iter().try_for_each(|(key, value)| stage.git(&["config", key, value]).map(drop))
    });
}

/// The user signs with a key for SSH, outside of `.ssh`.
fn with_ssh_key(show: &mut Show) -> String {
    let key = show.stage.home().join("keys/sign");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    let shown = key.display().to_string();
    let made = show.stage.program().other("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &shown]);
    assert_eq!(made.unwrap().code, Some(0));
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = show.stage.home().join("allowed");
    show.put(&allowed, &format!("tester@example.org {public}"));
    let (allowed, named) = (allowed.display().to_string(), "~/keys/sign.pub");
    configure(
        show,
        &[
            ("commit.gpgsign", "true"),
            ("gpg.format", "ssh"),
            ("user.signingkey", named),
            ("gpg.ssh.allowedSignersFile", &allowed),
        ],
    );
    shown
}

/// The commits that came to the branch since this one, oldest first.
fn since(stage: &Stage, base: &str) -> Vec<String> {
    let range = format!("{base}..main");
    stage.git(&["rev-list", "--reverse", &range]).unwrap().lines().map(str::to_owned).collect()
}

/// Every commit that came to the branch is signed, and the SUMMARY names commits that are on it.
#[track_caller]
fn all_verify(show: &Show, base: &str, at_least: usize) {
    let commits = since(&show.stage, base);
    assert!(commits.len() >= at_least, "{commits:?}");
    for commit in &commits {
        show.stage.git(&["verify-commit", commit]).unwrap();
    }
}

fn base(show: &Show) -> String {
    show.stage.git(&["rev-parse", "main"]).unwrap()
}

#[test]
fn what_lands_is_signed_with_the_users_gpg_key() {
    let mut show = Show::of(&Scene { plans: TWO_TASKS, ..PLAIN });
    let _ring = Keyring::of(&mut show, "");
    let base = base(&show);
    show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed);
    // Two tasks and the planning documents.
    all_verify(&show, &base, 3);
    let summary = show.stage.git(&["show", "main:.planning/phases/01-tools/01-01-SUMMARY.md"]).unwrap();
    let hashes: Vec<&str> = summary.lines().filter(|line| line.contains("- ")).collect();
    let commits = since(&show.stage, &base);
    for commit in commits.iter().take(2) {
        assert!(summary.contains(&commit[..12]), "{commit}: {hashes:?}");
    }
}

/// The key lies outside of the places that are hidden anyway, and still no launch sees it.
#[test]
fn what_lands_is_signed_with_the_users_ssh_key_which_no_agent_sees() {
    let script = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  { run = ["sh", "-c", """{ cat '{HOME}/keys/sign' '{HOME}/keys/sign.pub' || echo none
echo "sock=$SSH_AUTH_SOCK gnupg=$GNUPGHOME"
ls '{HOME}/.ssh' '{HOME}/.gnupg' '{HOME}/rings'
cat '{HOME}/rings/secret'; } > seen 2>&1; true"""] },
  { write = "bin/one.sh", text = "echo one\n" },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]
"##;
    let mut show = Show::script(script).without_paths();
    with_ssh_key(&mut show);
    // A keyring at another place, with a socket beside it.
    let rings = show.stage.home().join("rings");
    std::fs::create_dir_all(&rings).unwrap();
    show.put(&rings.join("secret"), "SECRET RING");
    show.stage.program_mut().env.push(("GNUPGHOME".into(), rings.into()));
    show.stage.program_mut().env.push(("SSH_AUTH_SOCK".into(), "/tmp/agent.sock".into()));
    let base = base(&show);
    show.expect(&["run"], 0);
    let seen = show.landed("seen").unwrap();
    for secret in ["PRIVATE", "ssh-ed25519", "SECRET", "agent.sock", "gnupg=/"] {
        assert!(!seen.contains(secret), "{secret}: {seen}");
    }
    assert!(seen.contains("none"), "{seen}");
    all_verify(&show, &base, 2);
}

/// Fixes of a review and artifacts of a feature come to the branch by other ways than plans do.
#[test]
fn fixes_and_artifacts_are_signed_too() {
    for name in ["review-fixed", "artifact"] {
        let scene = Scene::named(name).unwrap();
        let mut show = Show::of(scene);
        with_ssh_key(&mut show);
        hook(&mut show, ".git/hooks/commit-msg", "#!/bin/sh\ngrep -q Tribunal-Run \"$1\"\n");
        let base = base(&show);
        show.expect(scene.begin, 0);
        assert_eq!(show.ended(), Ending::Passed, "{name}");
        all_verify(&show, &base, 1);
    }
}

#[test]
fn a_key_with_a_passphrase_is_refused_before_the_work_begins() {
    let mut show = Show::of(&PLAIN);
    let _ring = Keyring::of(&mut show, "secret");
    let said = show.expect(&["run"], 2).stderr;
    assert!(said.contains("git.sign") && said.contains("openpgp"), "{said}");
    assert_eq!(show.stage.launched(), Vec::<String>::new());
    assert_eq!(show.stage.runs(), Vec::<String>::new());
    let said = show.expect(&["doctor"], 1).stdout;
    assert!(said.contains("git.sign"), "{said}");
    // The key that says otherwise, said in every report and in the commit.
    let said = show.expect(&["run", "--set", "git.sign=never"], 0).said();
    assert!(said.contains("git.sign"), "{said}");
    assert!(show.messages().contains("Tribunal-Not-Signed: git.sign is \"never\""), "{}", show.messages());
    for command in ["report", "status"] {
        let said = show.expect(&[command], 0).stdout;
        assert!(said.contains("git.sign"), "{command}: {said}");
    }
}

/// The key works when the run begins, and no longer when its work is to land.
#[test]
fn a_key_that_is_locked_again_stops_the_landing() {
    let script = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { run = ["rm", "-f", "{ROOT}/unlocked"] },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]
"##;
    let mut show = Show::script(script);
    let key = with_ssh_key(&mut show);
    let (unlocked, program) = (show.stage.root().join("unlocked"), show.stage.root().join("sign.sh"));
    show.put(&unlocked, "");
    let text = format!("#!/bin/sh\n[ -e '{}' ] || exit 1\nexec ssh-keygen \"$@\"\n", unlocked.display());
    show.put(&program, &text);
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    configure(&mut show, &[("gpg.ssh.program", &program.display().to_string()), ("user.signingkey", &key)]);
    let base = base(&show);
    let said = show.expect(&["run"], 4).said();
    for part in ["landing could not be done", "could not be signed", "user.signingkey", &key] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("repairs are spent"), "{said}");
    assert_eq!(since(&show.stage, &base), Vec::<String>::new());
    assert_eq!(show.questions(), [("01-01".to_owned(), vec!["ask-again", "fixed", "drop", "stop"])]);
    // As long as nothing changed, asking again changes nothing, and pays nobody.
    let before = show.stage.launched().len();
    let said = show.expect(&["decide", "01-01", "ask-again"], 4).said();
    assert!(said.contains("could not be signed"), "{said}");
    show.put(&unlocked, "");
    let id = show.questions()[0].0.clone();
    show.expect(&["decide", &id, "ask-again"], 0);
    assert_eq!(show.stage.launched().len(), before, "no agent is paid for it");
    assert_eq!(show.ended(), Ending::Passed);
    all_verify(&show, &base, 2);
}

#[test]
fn a_sign_off_is_added_where_it_is_asked_for() {
    let settings = format!("{NO_GATE}[git]\nsignoff = true\n");
    let mut show = Show::of(&Scene { settings: settings.leak(), ..PLAIN });
    let base = base(&show);
    show.expect(&["run"], 0);
    for commit in since(&show.stage, &base) {
        let message =
            show.stage.git(&["log", "-1", "--format=%(trailers:key=Signed-off-by)", &commit]).unwrap();
        assert_eq!(message.trim(), "Signed-off-by: Tester <tester@example.org>", "{commit}");
    }
}

/// The user has this hook, with the project's folder for `{PROJECT}`.
fn hook(show: &mut Show, path: &str, text: &str) {
    let text = text.replace("{PROJECT}", &show.stage.project().display().to_string());
    show.user_acts(|stage| {
        stage.write(path, &text)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(stage.project().join(path), mode).map_err(|error| error.to_string())
    });
}

/// Refuses a staged line with WRONG in it, and would like to leave something in the project.
const NO_WRONG: &str = "#!/bin/sh\necho x > '{PROJECT}/left' 2>/dev/null || true\n\
    if git diff --cached | grep -q '^+.*WRONG'; then echo 'no WRONG please' >&2; exit 1; fi\n";

/// A dev that writes WRONG first, and another word when the hook has said why not.
const WRONG_FIRST: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
round = 1
do = [
  { write = "bin/one.sh", text = "echo WRONG\n" },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]

[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
round = 2
do = [
  { expect = "your pre-commit hook refuses the commit" },
  { expect = "no WRONG please" },
  { write = "bin/one.sh", text = "echo one\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: one.sh prints one.\nTASK: done" },
]
"##;

#[test]
fn what_a_pre_commit_hook_refuses_is_fixed_and_lands() {
    let mut show = Show::script(WRONG_FIRST);
    hook(&mut show, ".git/hooks/pre-commit", NO_WRONG);
    let base = base(&show);
    let said = show.passes();
    assert!(said.contains("pre-commit hook refuses the commit"), "{said}");
    assert_eq!(show.stage.git(&["show", "main:bin/one.sh"]).unwrap(), "echo one");
    let patch = show.stage.git(&["log", "-p", &format!("{base}..main")]).unwrap();
    assert!(!patch.contains("+echo WRONG"), "{patch}");
    assert!(!show.stage.project().join("left").exists(), "a hook writes nothing outside of its checkout");
}

/// A dev whose plan asks for a message that the hook does not take.
const ANOTHER_MESSAGE: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
round = 2
do = [
  { expect = "commit-msg hook refuses the commit" },
  { expect = "the scope is always tools" },
  { expect = "COMMIT <word>: <line>" },
  { say = "COMMIT: feat(tools): print one\nCOMMIT:\nCOMMIT: Because somebody has to.\nCOMMIT: Tribunal-Accepted-By: You\nFIXED: {finding:1}\nSUMMARY: one.sh prints one.\nTASK: done" },
]
"##;

const SCOPE_IS_TOOLS: &str = "#!/bin/sh\nhead -1 \"$1\" | grep -qE '^(docs\\(|feat\\(tools\\): )' && exit 0\n\
    echo 'the scope is always tools' >&2\nexit 1\n";

#[test]
fn what_a_commit_msg_hook_refuses_is_fixed_by_the_builder_and_lands() {
    let mut show = Show::script(ANOTHER_MESSAGE);
    hook(&mut show, ".git/hooks/commit-msg", SCOPE_IS_TOOLS);
    let base = base(&show);
    let said = show.passes();
    assert!(said.contains("commit-msg hook refuses"), "{said}");
    let messages = show.stage.git(&["log", "--reverse", "--format=%B", &format!("{base}..main")]).unwrap();
    let expect = "feat(tools): print one\n\nBecause somebody has to.\n\nTribunal-Plan: 01-01";
    assert!(messages.starts_with(expect), "{messages}");
    assert!(!messages.contains("Accepted-By"), "{messages}");
}

/// What a hook adds to the trailers is taken, and signed with the rest.
#[test]
fn trailers_that_a_hook_adds_are_signed_with_the_commit() {
    let mut show = Show::of(&Scene { plans: TWO_TASKS, ..PLAIN });
    with_ssh_key(&mut show);
    let text = "#!/bin/sh\ngit interpret-trailers --in-place --trailer \"Change-Id: I$(cksum < \"$1\" | cut -d' ' -f1)\" \"$1\"\n";
    hook(&mut show, ".git/hooks/commit-msg", text);
    let base = base(&show);
    show.passes();
    all_verify(&show, &base, 3);
    for commit in since(&show.stage, &base) {
        let trailer = show.stage.git(&["log", "-1", "--format=%(trailers:key=Change-Id)", &commit]).unwrap();
        assert!(trailer.starts_with("Change-Id: I"), "{commit}: {trailer}");
    }
}

/// A dev whose file a hook would change.
const UNTIDY: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
round = 1
do = [ { write = "bin/one.sh", text = "echo one  \n" }, { say = "SUMMARY: one.sh prints one.\nTASK: done" } ]

[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
round = 2
do = [
  { expect = "hook changes this file before it is committed" },
  { write = "bin/one.sh", text = "echo one\n" },
  { say = "FIXED: {finding:1}\nSUMMARY: one.sh prints one.\nTASK: done" },
]
"##;

#[test]
fn what_a_hook_would_rewrite_is_a_finding() {
    let mut show = Show::script(UNTIDY);
    let text = "#!/bin/sh\ngit diff --cached --name-only | while read f; do sed -i 's/ *$//' \"$f\"; git add \"$f\"; done\n";
    hook(&mut show, ".git/hooks/pre-commit", text);
    show.passes();
    assert_eq!(show.stage.git(&["show", "main:bin/one.sh"]).unwrap(), "echo one");
}

/// Refused by name before anything is paid for, and by doctor; with the key that says otherwise it goes on and says so.
#[track_caller]
fn refused_at_the_start(name: &str, text: &str, words: &str) {
    let settings = format!("{NO_GATE}[git]\nhooks_s = 2\n");
    let mut show = Show::of(&Scene { settings: settings.leak(), ..PLAIN });
    hook(&mut show, &format!(".git/hooks/{name}"), text);
    for (command, code) in [("run", 2), ("doctor", 1)] {
        let said = show.expect(&[command], code).said();
        for words in [name, words, "git.hooks"] {
            assert!(said.contains(words), "{command}: {words}: {said}");
        }
    }
    assert_eq!(show.stage.launched(), Vec::<String>::new());
    assert_eq!(show.stage.runs(), Vec::<String>::new());
    let said = show.expect(&["run", "--set", "git.hooks=skip"], 0).said();
    assert!(said.contains("git.hooks"), "{said}");
    let trailer = format!("Tribunal-Hooks-Skipped: {name}");
    assert!(show.messages().contains(&trailer), "{}", show.messages());
    let said = show.expect(&["status"], 0).stdout;
    assert!(said.contains("git.hooks"), "{said}");
}

#[test]
fn a_hook_that_hangs_is_refused_at_the_start() {
    refused_at_the_start("pre-commit", "#!/bin/sh\nexec sleep 1000\n", "did not end within 2 s");
}

/// It lets pass what is there, and never ends where something is staged.
#[test]
fn a_hook_that_did_not_run_is_not_green() {
    let settings = format!("{NO_GATE}[git]\nhooks_s = 1\n");
    let mut show = Show::of(&Scene { settings: settings.leak(), ..PLAIN });
    let text = "#!/bin/sh\ngit diff --cached --quiet && exit 0\nexec sleep 1000\n";
    hook(&mut show, ".git/hooks/pre-commit", text);
    let base = base(&show);
    let said = show.expect(&["run"], 4).said();
    assert!(said.contains("did not end within 1 s"), "{said}");
    assert_eq!(since(&show.stage, &base), Vec::<String>::new());
}

#[test]
fn a_hook_that_asks_is_refused_at_the_start() {
    let text = "#!/bin/sh\nread answer < /dev/tty || exit 1\n";
    refused_at_the_start("commit-msg", text, "asks at the terminal");
}

#[test]
fn a_hook_that_refuses_what_is_there_is_refused_at_the_start() {
    refused_at_the_start("pre-commit", "#!/bin/sh\necho no node_modules >&2\nexit 1\n", "no node_modules");
}

/// The hook is told the branch that the work is for, not the name of a throwaway one.
#[test]
fn a_hook_that_forbids_the_branch_is_refused_at_the_start() {
    let text = "#!/bin/sh\n[ \"$(git symbolic-ref --short -q HEAD)\" != main ] || { echo 'do not commit to main' >&2; exit 1; }\n";
    refused_at_the_start("pre-commit", text, "do not commit to main");
}

#[test]
fn a_hook_that_takes_no_message_of_tribunals_is_refused_at_the_start() {
    let text =
        "#!/bin/sh\nhead -1 \"$1\" | grep -q '^PROJ-1 ' && exit 0\necho 'name the ticket' >&2\nexit 1\n";
    refused_at_the_start("commit-msg", text, "name the ticket");
    // With a form that it takes, Tribunal's messages are of that form, and the builder's are the builder's.
    let settings = format!(
        "{NO_GATE}[git]\nmessage = \"PROJ-1 {{text}}\"\n[gates]\noff = [\"commit-lint\", \"commit_hygiene\"]\n"
    );
    let script = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
round = 2
do = [
  { expect = "name the ticket" },
  { say = "COMMIT: PROJ-1 print one\nFIXED: {finding:1}\nSUMMARY: one.sh prints one.\nTASK: done" },
]
"##;
    let mut show = Show::of(&Scene { settings: settings.leak(), script, ..PLAIN });
    hook(&mut show, ".git/hooks/commit-msg", text);
    let base = base(&show);
    show.expect(&["run"], 0);
    let subjects = show.stage.git(&["log", "--reverse", "--format=%s", &format!("{base}..main")]).unwrap();
    assert_eq!(subjects, "PROJ-1 print one\nPROJ-1 plans and summaries of the run");
}

/// A dev that breaks the rule and takes the hook away that would say so.
const UNHOOKED: &str = r##"
[[turn]]
role = "dev"
use = "task"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "echo WRONG\n" },
  { write = ".githooks/pre-commit", text = "#!/bin/sh\nexit 0\n", executable = true },
  { say = "SUMMARY: one.sh prints one.\nTASK: done" },
]
"##;

#[test]
fn a_hook_in_the_tree_is_that_of_the_base() {
    let mut show = Show::script(UNHOOKED).without_paths();
    hook(&mut show, ".githooks/pre-commit", NO_WRONG);
    show.user_commits(&[]);
    configure(&mut show, &[("core.hooksPath", ".githooks")]);
    let said = show.waits_and_lands_nothing();
    assert!(said.contains("pre-commit hook refuses the commit"), "{said}");
}

/// The folder that git is told is generated and tracked by nobody; what it runs is tracked.
#[test]
fn hooks_of_a_manager_run_from_its_folder() {
    let mut show = Show::script(WRONG_FIRST);
    hook(&mut show, ".husky/pre-commit", NO_WRONG);
    show.user_commits(&[]);
    let stub = "#!/bin/sh\ns=$(dirname \"$(dirname \"$0\")\")/$(basename \"$0\")\n[ -f \"$s\" ] && exec sh -e \"$s\" \"$@\"\nexit 0\n";
    hook(&mut show, ".husky/_/pre-commit", stub);
    show.user_acts(|stage| stage.write(".husky/_/.gitignore", "*\n"));
    configure(&mut show, &[("core.hooksPath", ".husky/_")]);
    let said = show.passes();
    assert!(said.contains("pre-commit hook refuses the commit"), "{said}");
}
