//! Bad input: one clear message with the way out, the right exit code, and everything left as it was.

use crate::show::Show;
use crate::stage::program::{Ended, Mount};
use crate::stage::scenes::{self, PLAIN, Plan, Scene};
use crate::stage::{PHASE, Res, Stage};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use tribunal_core::run::Ending;

/// Every file below a folder, but for Tribunal's own folder inside git's.
fn everything(dir: &Path) -> BTreeMap<OsString, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let meta = path.symlink_metadata().unwrap();
        if path.ends_with(".git/tribunal.git") {
            continue;
        }
        if meta.is_dir() {
            all.extend(everything(&path));
        }
        let bytes = if meta.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        all.insert(path.into_os_string(), (meta.mode(), bytes));
    }
    all
}

/// One message: what is wrong, and a way out.
#[track_caller]
fn clear(ended: &Ended, code: i32, says: &[&str]) {
    let text = &ended.stderr;
    assert_eq!(ended.code, Some(code), "{}", ended.said());
    assert_eq!(ended.stdout, "", "nothing but data belongs there");
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
    assert!(text.contains("hint: "), "no way out: {text}");
    assert!(text.lines().count() <= 8, "{text}");
    says.iter().for_each(|says| assert!(text.contains(says), "{says:?} is not in {text}"));
}

/// The command fails so, and changes nothing.
#[track_caller]
fn refused(stage: &Stage, args: &[&str], code: i32, says: &[&str]) {
    let before = everything(stage.project());
    let ended = stage.tribunal(args).unwrap();
    clear(&ended, code, says);
    let after = everything(stage.project());
    let changed: Vec<_> =
        after.iter().filter(|(path, file)| before.get(*path) != Some(file)).map(|(p, _)| p).collect();
    assert!(changed.is_empty() && before.len() == after.len(), "{changed:?}");
}

#[test]
fn repositories_that_cannot_be_run() {
    type Make = fn(&Stage) -> Res<()>;
    let table: [(&str, Make, &[&str]); 6] = [
        ("none", |_| Ok(()), &["not in a git repository"]),
        ("empty", |stage| stage.git(&["init", "-q"]).map(drop), &["has no commit yet"]),
        ("bare", |stage| stage.git(&["init", "-q", "--bare", "."]).map(drop), &["bare"]),
        (
            "detached",
            |stage| {
                PLAIN.set(stage)?;
                stage.git(&["checkout", "-q", "--detach"]).map(drop)
            },
            &["HEAD is detached", "git switch -c"],
        ),
        (
            "no planning folder",
            |stage| {
                stage.write("README.md", "x")?;
                stage.commit_all()
            },
            &["no planning folder", "01-01-PLAN.md"],
        ),
        (
            "no phase",
            |stage| {
                stage.write(".planning/phases/README", "x")?;
                stage.commit_all()
            },
            &["no phase"],
        ),
    ];
    for (name, make, says) in table {
        let (_folder, stage) = crate::stage();
        make(&stage).unwrap_or_else(|error| panic!("{name}: {error}"));
        refused(&stage, &["run"], 2, says);
        if name == "bare" {
            refused(&stage, &["status"], 2, &["is a bare repository"]);
        }
    }
}

/// A plan of one task, with more in its head.
fn plan(number: &str, more: &str) -> String {
    let text = Plan { number: "NN", wave: 1, depends_on: "", tasks: &[("bin/one.sh", "true")] }.text();
    text.replace("NN", number).replace("depends_on: []\n", more)
}

#[test]
fn plans_that_cannot_be_run() {
    let one = format!("{PHASE}/01-01-PLAN.md");
    let two = format!("{PHASE}/01-02-PLAN.md");
    type Files<'a> = Vec<(&'a str, String)>;
    let table: [(&str, Files<'_>, &[&str]); 9] = [
        ("none", vec![("NOTES.md", "x".to_owned())], &["has no plan to run"]),
        (
            "cycle",
            vec![
                (&one, plan("01", "depends_on: [\"01-02\"]\n")),
                (&two, plan("02", "depends_on: [\"01-01\"]\n")),
            ],
            &["cycle", "01-01", "01-02", "01-01-PLAN.md:"],
        ),
        (
            "missing dependency",
            vec![(&one, plan("01", "depends_on: [\"01-09\"]\n"))],
            &["01-09", "01-01-PLAN.md:"],
        ),
        (
            "one number twice",
            vec![(&one, plan("01", "depends_on: []\n")), (&two, plan("01", "depends_on: []\n"))],
            &[
                "01-02-PLAN.md:3: plan id 01-01 is also that of",
                "01-01-PLAN.md\n",
                "it says plan 01, its name says 02",
            ],
        ),
        ("itself", vec![(&one, plan("01", "depends_on: [\"01-01\"]\n"))], &["01-01-PLAN.md:"]),
        ("broken head", vec![(&one, "---\nphase: [\n---\n# x\n".to_owned())], &["01-01-PLAN.md:"]),
        ("no head", vec![(&one, "just words\n".to_owned())], &["01-01-PLAN.md"]),
        ("no task", vec![(&one, plan("01", "").split("### Task").next().unwrap().to_owned())], &["no task"]),
        ("empty", vec![(&one, String::new())], &["01-01-PLAN.md"]),
    ];
    for (name, files, says) in table {
        let (_folder, stage) = crate::stage();
        stage.write(&format!("{PHASE}/.keep"), "").unwrap();
        files.iter().for_each(|(path, text)| stage.write(path, text).unwrap());
        stage.commit_all().unwrap();
        stage.script("").unwrap();
        let before = everything(stage.project());
        let ended = stage.tribunal(&["run"]).unwrap();
        assert_eq!(ended.code, Some(2), "{name}: {}", ended.said());
        clear(&ended, 2, says);
        assert_eq!(everything(stage.project()), before, "{name}");
    }
}

/// A key that steers the run and cannot be read as it is written: the run is refused, with the place and what was expected.
#[test]
fn plans_whose_keys_cannot_be_read() {
    let table: [(&str, &[&str]); 8] = [
        (
            "depends_on: [unclosed\n",
            &["01-01-PLAN.md:6:13: depends_on: a list that never closes; expected `]`"],
        ),
        ("must_haves: [a, b\n", &["01-01-PLAN.md:6:13: must_haves: a list that never closes"]),
        ("files_modified: {a\n", &["files_modified: a map that never closes; expected `}`"]),
        ("must_haves:\n  - \"it works\n", &["01-01-PLAN.md:7:5: must_haves: a quote that never closes"]),
        (
            "files_forbidden: [a] and b\n",
            &["files_forbidden: text after the closing bracket is left out: and b"],
        ),
        ("depends_on [01-02]\n", &["01-01-PLAN.md:6:1: depends_on: expected `key: value`"]),
        ("wave: 2\nwave: 3\n", &["wave: `wave` is given twice"]),
        ("autonomous: perhaps\n", &["01-01-PLAN.md:6:1: autonomous: `perhaps` is neither true nor false"]),
    ];
    for (more, says) in table {
        let (_folder, stage) = crate::stage();
        PLAIN.set(&stage).unwrap();
        stage.write(&format!("{PHASE}/01-01-PLAN.md"), &plan("01", more)).unwrap();
        stage.git(&["commit", "-qam", "docs: more"]).unwrap();
        refused(&stage, &["run"], 2, says);
    }
    // Without its end the head stops where it no longer looks like one: what stands below is not read.
    let (_folder, stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    let text = plan("01", "and so on\nfiles_forbidden: [a]\n").replacen("\n---\n", "\n", 1);
    stage.write(&format!("{PHASE}/01-01-PLAN.md"), &text).unwrap();
    refused(
        &stage,
        &["run"],
        2,
        &["01-01-PLAN.md:7:1: files_forbidden: `files_forbidden` is not read: expected `---`"],
    );
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    show.user_commits(&[(&format!("{PHASE}/01-01-PLAN.md"), &plan("01", "verification_commands: [true\n"))]);
    refused(&show.stage, &["review", "01"], 2, &["verification_commands: a list that never closes"]);
}

/// What else is odd in the head of a plan is said before the run starts, once, and stays with it.
#[test]
fn plans_that_are_odd_are_told() {
    let mut show =
        Show::with_plan(&PLAIN, |text| text.replacen("title: ", "x_note: \"never closed\ntitle: a\0b ", 1));
    let ended = show.expect(&["run"], 0);
    let told = format!("warning: {PHASE}/01-01-PLAN.md:");
    assert_eq!(ended.stderr.matches(&told).count(), 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("a quote that never closes"), "{}", ended.stderr);
    let status = show.expect(&["status"], 0).stdout;
    assert_eq!(status.matches(&told).count(), 2, "{status}");
    let report = std::fs::read_to_string(show.stage.run_dir(&show.run()).join("report.md")).unwrap();
    assert!(report.contains("a quote that never closes"), "{report}");
}

#[test]
fn plans_that_are_no_files() {
    type Make = fn(&Path) -> std::io::Result<()>;
    let table: [(&str, Make, &str); 6] = [
        ("01-02-PLAN.md", |path| symlink("01-01-PLAN.md", path), "symbolic link"),
        ("01-02-PLAN.md", |path| symlink("/nowhere", path), "symbolic link"),
        ("01-02-PLAN.md", |path| std::fs::create_dir(path), "folder"),
        (
            "01-02-PLAN.md",
            |path| Ok(rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR)?),
            "pipe",
        ),
        ("01-02-PLAN.md", |path| std::fs::write(path, b"---\nphase: 01\n\xff\n---\n"), "line 3 is not UTF-8"),
        ("01-01-SUMMARY.md", |path| symlink("01-01-PLAN.md", path), "symbolic link"),
    ];
    for (name, make, says) in table {
        let (_folder, stage) = crate::stage();
        PLAIN.set(&stage).unwrap();
        make(&stage.project().join(PHASE).join(name)).unwrap();
        refused(&stage, &["run"], 2, &[&format!("{PHASE}/{name}"), says]);
    }
    let (_folder, stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    let odd = stage.project().join(PHASE).join(OsStr::from_bytes(b"01-02\xff-PLAN.md"));
    std::fs::write(odd, plan("02", "")).unwrap();
    refused(&stage, &["run"], 2, &["01-02\u{fffd}-PLAN.md", "name is not UTF-8"]);
}

#[test]
fn a_phase_that_lies_elsewhere() {
    let (folder, stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    let (phase, away) = (stage.project().join(PHASE), folder.path().join("away"));
    std::fs::rename(&phase, &away).unwrap();
    symlink(&away, &phase).unwrap();
    refused(&stage, &["run"], 2, &[PHASE, "leads out of the planning folder"]);
    assert!(!away.join("01-01-SUMMARY.md").exists());
}

#[test]
fn a_plan_whose_dependency_is_not_finished() {
    let mut show = Show::of(&Scene { plans: scenes::CHAIN, ..PLAIN });
    refused(&show.stage, &["run", "--plan", "02"], 2, &["01-02 depends on 01-01", "--plan 01"]);
    show.expect(&["run", "--plan", "01"], 0);
    show.expect(&["run", "--plan", "02"], 0);
    assert_eq!(show.landed("bin/two.sh").as_deref(), Some("#!/bin/sh\necho two"));
    refused(&show.stage, &["run", "--plan", "02"], 2, &["plan 01-02 is finished", "hint: "]);
    refused(&show.stage, &["run"], 2, &["01-tools is finished", "run the next phase"]);
}

#[test]
fn words_that_mean_nothing() {
    let (_folder, stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    let table: [(&[&str], i32, &[&str]); 9] = [
        (&["run", "07"], 2, &["no phase \"07\"", "01-tools"]),
        (&["run", "01", "--plan", "09"], 2, &["no plan to run"]),
        (&["run", "--set", "run.effrt=max"], 2, &["run.effrt"]),
        (&["run", "--set", "run.land=sideways"], 2, &["sideways", "group"]),
        (&["run", "--effort", "heroic"], 2, &["heroic"]),
        (&["resume"], 2, &["no run"]),
        (&["resume", "20200101"], 2, &["no run"]),
        (&["cancel"], 2, &["no run"]),
        (&["show", "F-99"], 2, &["no run"]),
    ];
    for (args, code, says) in table {
        refused(&stage, args, code, says);
    }
    for args in [&["perhaps"][..], &["run", "--no-such-flag"], &[]] {
        let ended = stage.tribunal(args).unwrap();
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.said());
    }
}

/// Every flag and argument that takes a file says which file it cannot use, and what to do.
#[test]
fn files_that_cannot_be_used() {
    let (_folder, stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    stage.write("fine.json", "[]").unwrap();
    std::fs::write(stage.project().join("latin.txt"), b"caf\xe9\n").unwrap();
    // Nobody may read there, not even who may read everything.
    const UNREADABLE: &str = "/proc/self/mem";
    for bad in ["no/such", ".planning", UNREADABLE] {
        refused(&stage, &["review", "--pr-file", bad], 2, &["--pr-file", bad, "git diff"]);
        refused(&stage, &["intake", bad], 2, &[bad]);
        refused(&stage, &["delta", bad, "fine.json"], 2, &[bad]);
        refused(&stage, &["delta", "fine.json", bad], 2, &[bad]);
    }
    for bad in ["no/such", UNREADABLE] {
        refused(&stage, &["docs", bad], 2, &[bad]);
    }
    // What is no patch, whatever its bytes; and one without an end.
    refused(&stage, &["review", "--pr-file", "latin.txt"], 2, &["latin.txt does not apply", "git diff"]);
    refused(&stage, &["review", "--pr-file", "/dev/zero"], 2, &["--pr-file", "/dev/zero", "bytes"]);
    refused(&stage, &["review", "--pr-file", "/dev/null"], 2, &["/dev/null does not apply"]);
    refused(&stage, &["delta", "latin.txt", "fine.json"], 2, &["latin.txt"]);
}

#[test]
fn files_that_cannot_be_written() {
    let mut show = Show::of(&PLAIN);
    show.expect(&["run"], 0);
    for bad in ["no/such/report.html", "bin", "tribunal.toml/report.html"] {
        refused(&show.stage, &["report", "--html", "--output", bad], 2, &["--output", bad]);
    }
}

#[test]
fn a_setting_that_nobody_knows_is_named_with_its_place() {
    let (_folder, stage) = crate::stage();
    Scene { settings: "[run]\n\nlnad = \"each\"\n", ..PLAIN }.set(&stage).unwrap();
    refused(&stage, &["run"], 2, &["tribunal.toml:3", "lnad", "did you mean `run.land`?"]);
    stage.write("tribunal.toml", "zebra = 1\n[run]\neffort = \"fast\"\n").unwrap();
    refused(&stage, &["run"], 2, &["tribunal.toml:1", "zebra", "`tribunal config show` lists all settings"]);
    // That it does.
    let shown = stage.tribunal(&["config", "show"]).unwrap();
    assert_eq!(shown.code, Some(2), "{}", shown.said());
    assert!(
        shown.stdout.contains("run.effort = \"fast\"") && !shown.stdout.contains("zebra"),
        "{}",
        shown.stdout
    );
    assert!(shown.stderr.contains("there is no setting `zebra`"), "{}", shown.stderr);
}

#[test]
fn agents_that_cannot_be_launched() {
    let table: [(&str, &str, &[&str]); 8] = [
        (
            "unknown",
            "[agents]\ndefault = \"clod\"\n",
            &["tribunal.toml:2", "agents.default", "`clod`", "claude"],
        ),
        (
            "unknown reviewer",
            "[agents.roles.loop-reviewer]\nadapter = \"nobody\"\n",
            &["tribunal.toml:2", "agents.roles.loop-reviewer.adapter", "`nobody`"],
        ),
        (
            "no words",
            "[agents.roles.dev]\nadapter = \"command\"\n",
            &["tribunal.toml:2", "agents.roles.dev.adapter", "args = ["],
        ),
        (
            "no program",
            "[agents.roles.dev]\nadapter = \"command\"\nargs = [\"no-such-agent\"]\n",
            &["tribunal.toml:3", "agents.roles.dev.args", "no-such-agent", "PATH"],
        ),
        (
            "no file",
            "[agents.roles.dev]\nadapter = \"command\"\nargs = [\"/no/such/agent\"]\n",
            &["tribunal.toml:3", "/no/such/agent"],
        ),
        (
            "no words for the protocol",
            "[agents.roles.dev]\nadapter = \"acp\"\n",
            &["tribunal.toml:2", "agents.roles.dev.adapter", "no program to run", "args = ["],
        ),
        (
            "an empty word for the protocol",
            "[agents.roles.dev]\nadapter = \"acp\"\nargs = [\"\", \"acp\"]\n",
            &["tribunal.toml:3", "agents.roles.dev.args", "no program to run"],
        ),
        (
            "no program for the protocol",
            "[agents.roles.dev]\nadapter = \"acp\"\nargs = [\"no-such-agent\", \"acp\"]\n",
            &["tribunal.toml:3", "agents.roles.dev.args", "no-such-agent", "PATH"],
        ),
    ];
    for (name, settings, says) in table {
        let (_folder, stage) = crate::stage();
        Scene { settings, ..PLAIN }.set(&stage).unwrap();
        let ended = stage.tribunal(&["run"]).unwrap();
        assert_eq!(ended.code, Some(2), "{name}: {}", ended.said());
        refused(&stage, &["run"], 2, says);
        assert_eq!(stage.runs(), Vec::<String>::new(), "{name}");
    }
}

/// A run keeps its settings. When its agent is gone, that is said, and the run can still be called off.
#[test]
fn an_agent_that_is_gone_when_the_run_goes_on() {
    let (folder, stage) = crate::stage();
    let agent = stage.root().join("mine.sh");
    std::fs::write(&agent, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    PLAIN.set(&stage).unwrap();
    let settings = format!(
        "[plan]\nreview = \"never\"\n[agents.roles.loop-reviewer]\nadapter = \"command\"\nargs = [{:?}]\n",
        agent.display().to_string()
    );
    stage.write("tribunal.toml", &settings).unwrap();
    let mut show = Show::on(folder, stage);
    show.expect(&["run"], 4);
    std::fs::remove_file(&agent).unwrap();
    let run = show.run();
    for args in [&["resume"][..], &["run"], &["decide", "01-01/task-1", "ask-again"]] {
        let says = ["settings.json", "agents.roles.loop-reviewer.args", "mine.sh", "--fresh", "cancel"];
        refused(&show.stage, args, 2, &says);
    }
    show.expect(&["cancel", &run], 0);
    assert_eq!(show.ended(), Ending::Cancelled);
}

/// A run that waits goes on with the settings it began with. Others that lie in their place, and those of the branch that is
/// checked out by now, are not asked.
#[test]
fn hostile_settings_lie_in_the_place_of_a_runs_own() {
    let (mut show, _) = waiting();
    let run = show.run();
    let kept = show.stage.run_dir(&run).join("settings.json");
    let text = std::fs::read_to_string(&kept).unwrap();
    let other = text.replacen("\"land_again\": false", "\"land_again\": true", 1);
    assert_ne!(other, text);
    std::fs::write(&kept, other).unwrap();
    let says = ["settings.json", "cannot go on without the settings it began with", "cancel", "--fresh"];
    let refused_all = |stage: &crate::stage::Stage| {
        for args in [&["resume"][..], &["run"], &["decide", "01-01/task-1", "ask-again"]] {
            refused(stage, args, 3, &says);
        }
    };
    refused_all(&show.stage);
    std::fs::remove_file(&kept).unwrap();
    refused_all(&show.stage);
    // Its own serve, and a run without them can be called off.
    std::fs::write(&kept, &text).unwrap();
    show.expect(&["resume"], 4);
    std::fs::remove_file(&kept).unwrap();
    show.expect(&["cancel", &run], 0);
    assert_eq!(show.ended(), Ending::Cancelled);
}

#[test]
fn a_second_orchestrator() {
    let mut show = Show::of(&Scene { script: scenes::AT_WORK, ..PLAIN });
    let running = show.at_work();
    for verb in ["resume", "run"] {
        let second = show.stage.tribunal(&[verb]).unwrap();
        assert_eq!(second.code, Some(3), "{}", second.said());
        assert!(second.stderr.contains("is in use by process"), "{}", second.stderr);
        assert!(second.stderr.contains("hint: "), "{}", second.stderr);
    }
    show.stage.open("go").unwrap();
    let ended = running.wait().unwrap();
    assert_eq!(show.after(&["run"], ended).code, Some(0));
    assert_eq!(show.ended(), Ending::Passed);
}

/// A run that waits, with its journal at rest.
fn waiting() -> (Show, std::path::PathBuf) {
    let mut show = Show::of(&Scene { script: scenes::LOST_FOR_GOOD, ..PLAIN });
    show.expect(&["run"], 4);
    let journal = show.stage.run_dir(&show.run()).join("journal.db");
    (show, journal)
}

#[test]
fn a_journal_from_a_newer_version() {
    let (show, journal) = waiting();
    let mut bytes = std::fs::read(&journal).unwrap();
    // SQLite keeps the user's version number there.
    bytes[60..64].copy_from_slice(&900u32.to_be_bytes());
    std::fs::write(&journal, bytes).unwrap();
    let run = show.stage.runs().remove(0);
    for verb in ["resume", "show", "status", "log", "cancel"] {
        refused(&show.stage, &[verb, &run], 3, &["version 900", "update tribunal"]);
    }
    untold(&show, &["version 900", "update tribunal"]);
}

/// Nobody names the run: it cannot be read, so nobody says that it is over, and none is begun in its place.
#[track_caller]
fn untold(show: &Show, says: &[&str]) {
    let run = show.stage.runs().remove(0);
    let says = [&[run.as_str(), "cannot be read"], says].concat();
    let table = [
        &["resume"][..],
        &["cancel"],
        &["decide", "01-01/task-1", "accept"],
        &["run"],
        &["run", "--plan", "01"],
        &["specify", "export", "a table"],
    ];
    for args in table {
        refused(&show.stage, args, 3, &says);
    }
    assert_eq!(show.stage.runs(), [run]);
}

#[test]
fn a_journal_with_a_damaged_page() {
    let (show, journal) = waiting();
    let bytes = std::fs::read(&journal).unwrap();
    let run = show.stage.runs().remove(0);
    // Every page but the first, which says what the file is: one of them is always met.
    let damaged: Vec<u8> =
        bytes.iter().enumerate().map(|(at, byte)| if at < 4096 { *byte } else { 0xa5 }).collect();
    for text in
        [damaged, bytes[..bytes.len() / 2].to_vec(), b"no database at all, but long enough".repeat(400)]
    {
        std::fs::write(&journal, text).unwrap();
        for verb in ["resume", "show", "status", "log", "cancel"] {
            refused(&show.stage, &[verb, &run], 3, &["damaged"]);
        }
        untold(&show, &["damaged"]);
    }
    std::fs::write(&journal, bytes).unwrap();
    let ended = show.stage.tribunal(&["decide", "01-01/task-1", "accept", "--by", "Ada"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}

#[test]
fn a_damaged_run_does_not_hide_the_others() {
    let (mut show, journal) = waiting();
    std::fs::write(&journal, b"no database at all").unwrap();
    show.stage.script_with("").unwrap();
    let first = show.stage.tribunal(&["run"]).unwrap();
    clear(&first, 3, &["damaged", "--fresh"]);
    let ended = show.stage.tribunal(&["run", "--fresh"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    show.untouched();
    // A person has begun this phase anew: it is not asked about again.
    refused(&show.stage, &["run"], 2, &["is finished"]);
    let inbox = show.stage.tribunal(&["inbox"]).unwrap();
    assert_eq!(inbox.code, Some(0), "{}", inbox.said());
    assert!(inbox.stderr.contains("damaged"), "{}", inbox.stderr);
}

#[test]
fn git_is_missing() {
    let (_folder, mut stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    let tools = stage.root().join("tools");
    std::fs::create_dir(&tools).unwrap();
    symlink("/bin/sh", tools.join("sh")).unwrap();
    stage.program_mut().set_path(&tools);
    refused(&stage, &["run"], 3, &["git was not found on PATH", "install git"]);
}

#[test]
fn git_is_too_old() {
    let (_folder, mut stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    let tools = stage.root().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let git = tools.join("git");
    std::fs::write(&git, "#!/bin/sh\necho git version 2.11.0\n").unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    stage.program_mut().prepend_path(&tools);
    refused(&stage, &["run"], 3, &["git 2.11.0 is too old", "install git"]);
    let doctor = stage.tribunal(&["doctor"]).unwrap();
    assert_eq!(doctor.code, Some(1), "{}", doctor.said());
    assert!(doctor.stdout.contains("git 2.11.0 is too old"), "{}", doctor.stdout);
    assert!(!doctor.stdout.contains("nothing stands in the way"), "{}", doctor.stdout);
}

/// Tribunal's folder cannot be written: for everybody but root, whose place is taken by a file.
#[test]
fn a_folder_that_cannot_be_written() {
    let (_folder, stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    stage.write(".tribunal", "a file where the folder should be").unwrap();
    refused(&stage, &["run"], 3, &[".tribunal"]);
    let doctor = stage.tribunal(&["doctor"]).unwrap();
    assert!(doctor.stdout.contains(".tribunal cannot be written: it is not a folder"), "{}", doctor.stdout);
}

#[test]
fn a_read_only_file_system() {
    let (_folder, stage) = crate::stage();
    let Some(mount) = Mount::new(stage.program(), stage.project(), "size=20m") else { return };
    PLAIN.set(&stage).unwrap();
    let ended = stage.program().other("mount", &["-o", "remount,ro", mount.at()]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ended = stage.tribunal(&["run"]).unwrap();
    clear(&ended, 3, &["Read-only file system"]);
    let doctor = stage.tribunal(&["doctor"]).unwrap();
    assert_eq!(doctor.code, Some(1), "{}", doctor.said());
    assert!(doctor.stdout.contains("cannot be written: Read-only file system"), "{}", doctor.stdout);
    for args in [&["status"][..], &["inbox"], &["config", "show"]] {
        let ended = stage.tribunal(args).unwrap();
        assert!(ended.code.is_some_and(|code| code < 4), "{args:?}: {}", ended.said());
    }
}

#[test]
fn a_full_disk() {
    // Full to the last block; then with so much room that it fails later each time, or not at all.
    for free in [0, 64, 88, 256, 400, 1024] {
        let (_folder, stage) = crate::stage();
        let Some(mount) = Mount::new(stage.program(), stage.project(), "size=3m") else { return };
        PLAIN.set(&stage).unwrap();
        let filler = stage.project().join(".git/filler");
        // It takes what there is.
        let _ = std::fs::write(&filler, vec![1u8; 4 << 20]);
        let file = std::fs::File::options().write(true).open(&filler).unwrap();
        file.set_len(file.metadata().unwrap().len().saturating_sub(free << 10)).unwrap();
        drop(file);
        let ended = stage.tribunal(&["run", "--fresh"]).unwrap();
        let text = ended.said().to_lowercase();
        match ended.code {
            Some(0) => assert!(free > 88, "there was no room: {text}"),
            Some(3 | 4) => {
                let words = ["no space left", "room", "left on the disk"];
                assert!(words.iter().any(|word| text.contains(word)), "{free} KiB: {text}")
            }
            code => panic!("{free} KiB: {code:?} {text}"),
        }
        // What never began cannot be resumed.
        assert!(!text.contains("then resume"), "{free} KiB: {text}");
        assert!(!text.contains("panicked") && !text.contains("bug:"), "{free} KiB: {text}");
        // With room again it is built, unless its plan had landed when the room ran out.
        std::fs::remove_file(&filler).unwrap();
        let ended = stage.tribunal(&["run", "--fresh"]).unwrap();
        if ended.code != Some(0) {
            clear(&ended, 2, &["is finished"]);
        }
        drop(mount);
    }
}

#[test]
fn a_path_that_is_not_utf8() {
    let (_folder, mut stage) = crate::stage();
    PLAIN.set(&stage).unwrap();
    let odd = stage.root().join(OsStr::from_bytes(b"odd \xff project"));
    std::fs::rename(stage.project(), &odd).unwrap();
    stage.program_mut().dir = odd.clone();
    let ended = stage.tribunal(&["run"]).unwrap();
    if ended.code != Some(0) {
        clear(&ended, 2, &["UTF-8"]);
    }
    assert!(!ended.said().contains("panicked"), "{}", ended.said());
    let back = stage.root().join("plain");
    std::fs::rename(&odd, &back).unwrap();
    stage.program_mut().dir = back;
    let args = [OsString::from("-C"), OsString::from_vec(b"\xff\xfe".to_vec()), "status".into()];
    let ended =
        stage.program().launch(stage.program().binary.as_os_str(), &args, &[]).unwrap().wait().unwrap();
    assert_eq!(ended.code, Some(2), "{}", ended.said());
}

#[test]
fn file_names_that_are_not_utf8() {
    const SCRIPT: &str = r##"
[[turn]]
role = "dev"
plan = "01-01"
task = 1
do = [
  { write = "bin/one.sh", text = "echo one\n" },
  { run = ["sh", "-c", "echo odd > \"$(printf 'odd \\377 name')\"; echo line > \"$(printf 'two\\nlines')\""] },
  { say = "SUMMARY: one.sh.\nTASK: done" },
]
"##;
    let mut show = Show::script(SCRIPT).without_paths();
    let ended = show.stage.tribunal(&["run"]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    show.untouched_but(&["odd \\xff name", "two\\nlines"]);
    assert!(show.stage.project().join(OsStr::from_bytes(b"odd \xff name")).exists());
}
