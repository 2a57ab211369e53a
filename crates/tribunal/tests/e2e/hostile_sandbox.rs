//! Agents and checks that look for what nobody gave them: keys, other projects, secrets at the end of a link, credentials of
//! the repository. What they can read they write down, and the test reads what landed. In every case the same launch
//! also does honest work, with the programs and the git it was given, and that lands.

use crate::show::Show;
use crate::stage::scenes::dev_also;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The stage lets builders write to all of its own folder; a user's machine does not.
const STRICT: &str = "[plan]\nreview = \"never\"\n[agents]\nwritable = []\n";

/// The same with some of the home opened to be read.
const OPENED: &str =
    "[plan]\nreview = \"never\"\n[agents]\nwritable = []\nreadable = [\"~/src\", \"~/dotfiles\"]\n";

/// What an honest launch needs is there: git, programs, its own home and temporary files.
const HONEST: &str = "git log -1 --format=%s > /dev/null && echo x > '{HOME}/own' && echo x > /tmp/own && test -x /usr/bin/env && echo honest >> seen";

/// A script of the dev that writes what it can read of some places into `seen`.
fn dev_reads(places: &[&str]) -> String {
    let shell: Vec<String> =
        places.iter().map(|place| format!("find '{place}' -type f -exec cat {{}} + >> seen;")).collect();
    dev_also(&format!("{{ run = [\"sh\", \"-c\", \"\"\": > seen; {} {HONEST}\"\"\"] }},", shell.join(" ")))
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The key that a page in the browser trusts would let an agent decide in a person's place.
#[test]
fn hostile_dev_reads_the_key_of_the_web_page() {
    let script = dev_reads(&["{HOME}/.local/state/tribunal", "{ROOT}/state", "{HOME}/.config/tribunal"]);
    let mut show = Show::with(STRICT, &script).without_paths();
    let key = "5e4f27b1".repeat(8);
    put(&show.stage.home().join(".local/state/tribunal/serve.key"), &key);
    put(&show.stage.root().join("state/tribunal/serve.key"), &key);
    let state = show.stage.root().join("state");
    show.stage.program_mut().env.push(("XDG_STATE_HOME".into(), state.into()));
    show.passes();
    assert_eq!(show.landed("seen").unwrap(), "honest");
}

/// What Tribunal knows of the user's other projects, and of another worktree of this one, would let an agent vote there.
#[test]
fn hostile_dev_reads_another_project() {
    let script = dev_reads(&["{HOME}/other", "{HOME}/src", "{ROOT}/worktree"]);
    // What the user opens on purpose shows no journal either.
    let mut show = Show::with(OPENED, &script).without_paths();
    let of_a_launch = ".tribunal/runs/r/launches/l/process.json";
    let (home, root) = (show.stage.home(), show.stage.root().to_owned());
    put(&home.join("other").join(of_a_launch), "MARKER-OTHER");
    put(&home.join("src/deep/er").join(of_a_launch), "MARKER-DEEP");
    put(&home.join("src/1/2/3/4/5/6/7/8/node_modules/9").join(of_a_launch), "MARKER-DEEPER");
    put(&root.join("worktree").join(of_a_launch), "MARKER-WORKTREE");
    put(&home.join("src/deep/notes"), "OPENED");
    show.passes();
    assert_eq!(show.landed("seen").unwrap(), "OPENEDhonest");
}

/// Dotfiles are often links into a repository of dotfiles.
#[test]
fn hostile_dev_reads_secrets_behind_a_link() {
    let script = dev_reads(&["{HOME}/.ssh/", "{HOME}/.aws/", "{HOME}/dotfiles", "{HOME}/.docker"]);
    // All of the dotfiles are opened: where the links lead stays hidden.
    let mut show = Show::with(OPENED, &script).without_paths();
    let home = show.stage.home();
    put(&home.join("dotfiles/ssh/id"), "PRIVATE-KEY");
    put(&home.join("dotfiles/aws/credentials"), "AWS-SECRET");
    put(&home.join("dotfiles/bin/tool"), "PROGRAM");
    put(&home.join(".docker/config.json"), "PLAIN-SECRET");
    fs::create_dir_all(home.join(".aws")).unwrap();
    symlink("dotfiles/ssh", home.join(".ssh")).unwrap();
    symlink("../dotfiles/aws/credentials", home.join(".aws/credentials")).unwrap();
    show.passes();
    assert_eq!(show.landed("seen").unwrap(), "PROGRAMhonest");
}

/// People keep a password beside the script that reads it, in a folder on PATH, with short ways to other folders and
/// whole projects, and fetch packages from git with a token.
#[test]
fn hostile_dev_reads_secrets_beside_programs() {
    let script = dev_reads(&["{HOME}/bin", "{HOME}/letters", "{ROOT}/tool", "{PROJECT}/vendor"]);
    let mut show = Show::with(STRICT, &script).without_paths();
    let (home, root) = (show.stage.home(), show.stage.root().to_owned());
    put(&home.join("bin/run"), "PROGRAM");
    put(&home.join("bin/.env.local"), "SECRET-ENV");
    put(&home.join("bin/token.txt"), "SECRET-TOKEN");
    put(&home.join("bin/keys/id_ed25519"), "SECRET-KEY");
    put(&root.join("tool/bin/tool"), "-TOOL");
    put(&root.join("tool/etc/secrets.yml"), "SECRET-SETTING");
    put(&root.join("private"), "SECRET-ELSEWHERE");
    symlink("../../private", home.join("bin/credentials")).unwrap();
    put(&home.join("letters/letter"), "SECRET-LETTER");
    symlink("../letters", home.join("bin/letters")).unwrap();
    put(&home.join("bin/deep/project/.tribunal/runs/r/launches/l/process.json"), "MARKER-BESIDE-PROGRAMS");
    put(&root.join("tool/share/p/.tribunal/runs/r/launches/l/process.json"), "MARKER-IN-A-TOOL");
    show.user_acts(|stage| {
        stage.write(".git/info/exclude", "vendor\n")?;
        stage.write("vendor/package/index.js", "-PACKAGE")?;
        stage.write("vendor/package/.git/config", "SECRET-ADDRESS")
    });
    let path = std::env::var_os("PATH").unwrap();
    let more = [home.join("bin"), root.join("tool/bin")].into_iter();
    let path = std::env::join_paths(more.chain(std::env::split_paths(&path))).unwrap();
    show.stage.program_mut().env.push(("PATH".into(), path));
    show.passes();
    assert_eq!(show.landed("seen").unwrap(), "PROGRAM-TOOL-PACKAGEhonest");
}

/// People keep projects beside the programs that they installed: in `~/go/src`, or somewhere in a folder with a `bin`.
#[test]
fn hostile_dev_reads_projects_beside_programs() {
    let script = dev_reads(&["{HOME}/go", "{HOME}/inst", "{HOME}/scripts"]);
    let mut show = Show::with(STRICT, &script).without_paths();
    let home = show.stage.home();
    let project = |at: &str| {
        put(&home.join(at).join(".tribunal/runs/r/launches/l/prompt.md"), "MARKER-PROMPT");
        put(&home.join(at).join(".git/config"), "MARKER-CREDENTIAL");
        put(&home.join(at).join("notes"), "-NOTES");
    };
    put(&home.join("go/bin/tool"), "GO");
    ["go/src/p", "inst/work/p", "inst/lib/p", "scripts/p"].into_iter().for_each(project);
    put(&home.join("inst/bin/tool"), "-INST");
    put(&home.join("scripts/run"), "-SCRIPT");
    let path = std::env::var_os("PATH").unwrap();
    let more = ["go/bin", "inst/bin", "scripts"].map(|folder| home.join(folder));
    let path = std::env::join_paths(more.into_iter().chain(std::env::split_paths(&path))).unwrap();
    show.stage.program_mut().env.push(("PATH".into(), path));
    show.passes();
    let seen = show.landed("seen").unwrap();
    assert!(!seen.contains("MARKER") && seen.ends_with("honest"), "{seen}");
    // The programs are there, and so is what lies among their libraries and scripts. `go/src` and `inst/work` are not.
    assert!(["GO", "-INST", "-SCRIPT"].into_iter().all(|program| seen.contains(program)), "{seen}");
    assert_eq!(seen.matches("-NOTES").count(), 2, "{seen}");
}

/// Where the work tree lies, the check finds its own checkout and the packages that are installed there.
///
/// A check runs code that an agent wrote, in a project whose user has a token in git's settings and passwords in `.env`.
#[test]
fn hostile_check_reads_the_users_worktree() {
    let script = dev_also(
        r##"{ write = "bin/one.sh", text = """cat '{PROJECT}/.env' '{PROJECT}/.env.local' && exit 3
grep -r TOKEN '{PROJECT}/.git' && exit 4
cat '{HOME}/.gitconfig' | grep TOKEN && exit 5
git config --get user.name > /dev/null || exit 6
git log -1 --format=%s > /dev/null || exit 7
test -f '{PROJECT}/node_modules/package/index.js' || exit 8
grep -q 'exit 9' '{PROJECT}/bin/one.sh' || exit 9
exit 0
""" },"##,
    );
    let mut show = Show::with(STRICT, &script);
    let address = "https://me:TOKEN123@example.org/x.git";
    show.user_acts(|stage| {
        stage.write(".git/info/exclude", ".env*\nnode_modules\n")?;
        stage.write(".env", "DB_PASSWORD=hunter2\n")?;
        stage.write(".env.local", "DB_PASSWORD=hunter2\n")?;
        stage.write("node_modules/package/index.js", "1\n")?;
        stage.git(&["remote", "add", "origin", address])?;
        stage
            .git(&["config", "http.https://example.org/.extraheader", "AUTHORIZATION: basic TOKEN"])
            .map(drop)
    });
    put(
        &show.stage.home().join(".gitconfig"),
        "[user]\n\tname = Me\n[credential]\n\thelper = store --TOKEN\n",
    );
    show.passes();
}
