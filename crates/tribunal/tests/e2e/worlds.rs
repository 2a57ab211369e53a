//! What is said of the sandbox, and what is so: the program in worlds that permit more or less (root, an ordinary user, no
//! namespaces, bubblewrap alone, no bubblewrap, no network namespaces). In each of them launches list what they reach, and
//! every sentence of `doctor`, `status` and the reports is held against that. A world that cannot be made here is told.

use crate::reach::{Lists, Reach, STRICT};
use crate::show::Show;
use crate::stage::scenes::reviewer_does;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A number that nobody has here.
const USER: &str = "54321";

/// A user namespace with all numbers of this machine, that may hold no further one: only a program with a set-user-id bit
/// makes namespaces there. Root makes it.
const ONLY_SET_UID: &str = r##"
import ctypes, os, sys
here, there = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    assert ctypes.CDLL(None).unshare(0x10000000) == 0
    os.write(here[1], b"x")
    os.read(there[0], 1)
    os.setgid(0)
    os.setuid(0)
    open("/proc/sys/user/max_user_namespaces", "w").write("0")
    user = sys.argv[1]
    os.execvp("setpriv", ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--ambient-caps", "-all", "--inh-caps", "-all", "--"] + sys.argv[2:])
os.read(here[0], 1)
for name in ["uid_map", "gid_map"]:
    open(f"/proc/{child}/{name}", "w").write("0 0 65536")
os.write(there[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"##;

/// What a world says of itself.
struct Said {
    doctor: Value,
    status: String,
    report: String,
    report_file: String,
    summary: String,
}

/// A world that cannot be made here is told, for whoever reads the tests' output.
#[expect(clippy::print_stdout, reason = "nobody else hears why")]
fn skipped(why: &str) {
    println!("skipped: {why}");
}

/// Whether this test is root.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Another world around every command; false where it cannot be made here.
fn enter(show: &mut Show, words: &[&str]) -> bool {
    show.stage.program_mut().around = words.iter().map(OsString::from).collect();
    let binary = show.stage.program().binary.display().to_string();
    let made = show.stage.program().other(&binary, &["--version"]);
    let made = made.is_ok_and(|ended| ended.code == Some(0));
    if !made {
        skipped(&format!("this machine does not permit the world of {:?}", &words[..words.len().min(3)]));
    }
    made
}

/// Everything of the scene belongs to the ordinary user, whose programs are those of the system.
fn hand_over(show: &mut Show) {
    let root = show.stage.root().display().to_string();
    let owner = format!("{USER}:{USER}");
    let ended = show.stage.program().other("chown", &["-R", "-h", &owner, &root]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let env = &mut show.stage.program_mut().env;
    env.retain(|(name, _)| name != "PATH");
    env.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
}

/// A world without some kind of namespace: a user namespace that may hold none of them, and no privilege in it.
fn without(kinds: &str) -> [&str; 8] {
    const NONE: &str = "for kind in $0; do echo 0 > /proc/sys/user/max_${kind}_namespaces || exit 1; done; \
                        exec setpriv --ambient-caps -all --inh-caps -all --bounding-set -all -- \"$@\"";
    ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", NONE, kinds]
}

/// The program as an ordinary user of this machine.
const AS_USER: [&str; 7] = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "--"];

/// Plays the scene in its world: what launches reached, and what was said.
fn play(scene: &mut Reach) -> (Lists, Said) {
    let lists = scene.play();
    let run = scene.show.stage.runs()[0].clone();
    let doctor = scene.give(&["doctor", "--json"], None).stdout;
    let report_file = std::fs::read_to_string(scene.show.stage.run_dir(&run).join("report.md")).unwrap();
    let said = Said {
        doctor: serde_json::from_str(&doctor).unwrap(),
        status: scene.give(&["status", &run], Some(0)).stdout,
        report: scene.give(&["report", &run], Some(0)).stdout,
        summary: scene.give(&["show", &run, "--json"], Some(0)).stdout,
        report_file,
    };
    (lists, said)
}

impl Said {
    /// Whether a promise is said to be kept.
    fn keeps(&self, about: &str) -> bool {
        let promises = self.doctor["promises"].as_array().unwrap();
        promises.iter().any(|promise| promise["about"] == about && promise["kept"] == true)
    }

    /// Every sentence about what is not kept stands wherever a person reads about the run.
    #[track_caller]
    fn says_everywhere(&self, words: &str) {
        let places = [&self.status, &self.report, &self.report_file, &self.summary];
        for (name, text) in ["status", "report", "report.md", "show"].into_iter().zip(places) {
            assert!(flat(text).contains(words), "{name} does not say {words:?}: {text}");
        }
    }
}

/// A text without its line breaks: what is wrapped is one sentence.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is claimed is what is so: each promise against what the roles reached, both ways.
#[track_caller]
fn claims_hold(lists: &Lists, said: &Said) {
    let sandboxed = said.doctor["sandbox_missing"] == false;
    let has = |list: &BTreeSet<String>, line: &str| list.contains(line);
    for (role, list) in lists.all() {
        assert_eq!(has(list, "yours: the journal can be read"), !sandboxed, "{role}: {list:?}");
        assert_eq!(has(list, "yours: other files can be written"), !sandboxed, "{role}: {list:?}");
    }
    let of_agents = [&lists.builder, &lists.reviewer];
    for list in [&lists.check, &lists.tool] {
        assert_eq!(has(list, "network: listeners of the machine"), !said.keeps("network"), "{list:?}");
    }
    if !sandboxed {
        assert_eq!(said.doctor["promises"].as_array().unwrap().len(), 0, "{}", said.doctor);
        return;
    }
    for list in of_agents {
        assert_eq!(has(list, "network: abstract sockets of the machine"), !said.keeps("sockets"), "{list:?}");
    }
    for (_, list) in lists.all() {
        assert_eq!(has(list, "kernel: settings can be changed"), !said.keeps("kernel"), "{list:?}");
        assert_eq!(has(list, "kernel: keys can be asked for"), !said.keeps("calls"), "{list:?}");
        assert_eq!(has(list, "process: init can be traced"), !said.keeps("init"), "{list:?}");
    }
    for promise in said.doctor["promises"].as_array().unwrap() {
        let words = promise["words"].as_str().unwrap();
        if promise["kept"] == false {
            said.says_everywhere(words);
        }
        assert!(said.report_file.contains(words), "{words:?}: {}", said.report_file);
    }
}

/// Whatever this machine is, and whoever runs the test.
#[test]
fn what_is_said_of_the_sandbox_is_so_here() {
    let mut scene = Reach::set(STRICT);
    let (lists, said) = play(&mut scene);
    claims_hold(&lists, &said);
}

/// The ordinary case of a person at their own machine.
#[test]
fn what_is_said_of_the_sandbox_is_so_for_an_ordinary_user() {
    let mut scene = Reach::set(STRICT);
    if !is_root() {
        return skipped("the test above was one of an ordinary user");
    }
    hand_over(&mut scene.show);
    if !enter(&mut scene.show, &AS_USER) {
        return;
    }
    let (lists, said) = play(&mut scene);
    assert_eq!(said.doctor["sandbox_missing"], false, "{}", said.doctor);
    claims_hold(&lists, &said);
}

/// Nothing is promised where nobody may make a namespace, neither to root nor to others.
#[test]
fn nothing_is_claimed_where_no_namespace_may_be_made() {
    let worlds: &[&[&str]] = if is_root() { &[&[], &AS_USER] } else { &[&[]] };
    for user in worlds {
        let mut scene = Reach::set(STRICT);
        if !user.is_empty() {
            hand_over(&mut scene.show);
        }
        let words = [user, &without("user")[..]].concat();
        if !enter(&mut scene.show, &words) {
            return;
        }
        let (lists, said) = play(&mut scene);
        assert_eq!(said.doctor["sandbox_missing"], true, "{}", said.doctor);
        assert_eq!(said.doctor["containment_partial"], true, "{}", said.doctor);
        claims_hold(&lists, &said);
        said.says_everywhere("unsandboxed (this machine permits no sandbox)");
        said.says_everywhere("can read and write whatever you can, have the network, and could forge");
        said.says_everywhere("can outlive the run");
        let text = scene.give(&["doctor"], None).stdout;
        assert!(
            text.contains("⚠ processes  partial (") && text.contains("⚠ sandbox    unsandboxed"),
            "{text}"
        );
    }
}

/// Without network namespaces everything else stands, and that the network is open is said wherever a person looks.
#[test]
fn a_network_that_cannot_be_closed_is_said_to_be_open() {
    let mut scene = Reach::set(STRICT);
    let user: &[&str] = if is_root() { &AS_USER } else { &[] };
    if !user.is_empty() {
        hand_over(&mut scene.show);
    }
    if !enter(&mut scene.show, &[user, &without("net")[..]].concat()) {
        return;
    }
    let (lists, said) = play(&mut scene);
    assert!(said.doctor["sandbox_missing"] == false && !said.keeps("network"), "{}", said.doctor);
    claims_hold(&lists, &said);
    said.says_everywhere("the network is open to checks and tools, too");
}

/// Where only bubblewrap makes namespaces, it keeps the same promises; taken from the PATH, nothing is promised.
#[test]
fn bubblewrap_keeps_the_same_promises_and_none_without_it() {
    if !is_root() {
        return skipped("only root can give bubblewrap its set-user-id bit");
    }
    for hidden in [false, true] {
        let mut scene = Reach::set(STRICT);
        let bin = scene.show.stage.root().join("bwrap");
        std::fs::create_dir(&bin).unwrap();
        let env = [("PATH".into(), std::env::var_os("PATH").unwrap())];
        let Ok(bwrap) = tribunal_process::find_program("bwrap".as_ref(), "/".as_ref(), &env) else {
            return skipped("bubblewrap is not installed");
        };
        hand_over(&mut scene.show);
        if hidden {
            links_to_all_but_bubblewrap(&bin);
            scene.show.stage.program_mut().set_path(&bin);
        } else {
            std::fs::copy(bwrap, bin.join("bwrap")).unwrap();
            std::fs::set_permissions(bin.join("bwrap"), PermissionsExt::from_mode(0o4755)).unwrap();
            scene.show.stage.program_mut().prepend_path(&bin);
        }
        if !enter(&mut scene.show, &["/usr/bin/python3", "-c", ONLY_SET_UID, USER]) {
            return;
        }
        let (lists, said) = play(&mut scene);
        assert_eq!(said.doctor["containment"], if hidden { "partial" } else { "bubblewrap" });
        assert_eq!(said.doctor["sandbox_missing"], hidden, "{}", said.doctor);
        claims_hold(&lists, &said);
    }
}

/// Tribunal needs no bubblewrap where it may make namespaces itself.
#[test]
fn without_bubblewrap_on_the_path_the_same_holds() {
    let mut scene = Reach::set(STRICT);
    let bin = scene.show.stage.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    links_to_all_but_bubblewrap(&bin);
    scene.show.stage.program_mut().set_path(&bin);
    let (lists, said) = play(&mut scene);
    claims_hold(&lists, &said);
}

/// The programs of the system in a folder, without bubblewrap.
fn links_to_all_but_bubblewrap(bin: &std::path::Path) {
    let folders =
        ["/usr/local/bin", "/usr/bin"].into_iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    for entry in folders.flatten().flatten().filter(|entry| entry.file_name() != "bwrap") {
        // The first of a name is the one that is found.
        let _ = symlink(entry.path(), bin.join(entry.file_name()));
    }
}

/// A run that went on where nothing holds it claims nothing, also after it went on here again. One that went on in its own
/// world claims what it claimed.
#[test]
fn a_run_that_went_on_elsewhere_claims_what_held_all_the_time() {
    let script = reviewer_does("{ say = \"nothing to say\" },");
    for elsewhere in [false, true] {
        let mut show = Show::on_this_machine(STRICT, &script);
        show.expect(&["run"], 4);
        let run = show.run();
        if elsewhere {
            if !enter(&mut show, &without("user")) {
                return;
            }
            show.stage.program().run(&["resume", &run], &[]).unwrap();
            show.stage.program_mut().around.clear();
        }
        show.expect(&["resume", &run], 4);
        for command in ["status", "report"] {
            let said = flat(&show.expect(&[command, &run], 0).stdout);
            let told =
                said.contains("unsandboxed (this machine permits no sandbox)") && said.contains("outlive");
            assert_eq!(told, elsewhere, "{command}: {said}");
        }
        assert_eq!(show.run_state().about.sandbox.starts_with("sandboxed"), !elsewhere);
    }
}
