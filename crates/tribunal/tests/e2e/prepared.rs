//! `checks.prepare`: what checks need is installed before they run, with the network that they do not have themselves. A real
//! npm installs a package from a tarball of the project, so that nobody needs a registry.

use crate::show::Show;
use crate::stage::scenes::{PLAIN, Scene, dev_also};
use std::net::TcpListener;
use tribunal_core::run::Ending;

/// A package that says who it is.
const TARBALL: &str = "mkdir -p pkg/package && echo '{\"name\":\"hello\",\"version\":\"1.0.0\",\"main\":\"index.js\"}' > pkg/package/package.json \
    && echo \"module.exports = 'hello'\" > pkg/package/index.js && tar -C pkg -czf hello-1.0.0.tgz package && rm -r pkg";
/// A project that tests whether it has the package, and builds its lock file the way a user does.
const PACKAGE: &str = r#"{ "name": "app", "version": "1.0.0", "scripts": { "test": "node test.js" }, "dependencies": { "hello": "file:hello-1.0.0.tgz" } }"#;
const TEST: &str = "const hello = require('hello'); if (hello !== 'hello') process.exit(1);\n";

/// The settings with a command that prepares.
fn settings(prepare: &str) -> &'static str {
    let text =
        format!("[plan]\nreview = \"never\"\n[checks]\ntest = [\"npm\", \"test\"]\nprepare = {prepare}\n");
    Box::leak(text.into_boxed_str())
}

/// A project with a dependency that is not in its worktree, and a builder that does these steps besides its work.
fn project(prepare: &str, steps: &str) -> Show {
    let (folder, stage) = crate::stage();
    Scene { settings: settings(prepare), ..PLAIN }.set(&stage).unwrap();
    stage.script_with(&dev_also(steps)).unwrap();
    for (path, text) in [("package.json", PACKAGE), ("test.js", TEST), (".gitignore", "node_modules\n")] {
        stage.write(path, text).unwrap();
    }
    let made = format!("{TARBALL} && npm install --package-lock-only --offline --no-audit --no-fund");
    let ended = stage.program().other("sh", &["-c", &made]).unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    stage.git(&["add", "-A"]).unwrap();
    stage.git(&["commit", "-q", "-m", "feat: an app"]).unwrap();
    Show::on(folder, stage)
}

/// A command that needs the network, installs, and leaves what it was run on beside the packages.
fn installing(port: u16) -> String {
    let reach = format!(
        "node -e \\\"require('net').connect({port}, '127.0.0.1').on('connect', () => process.exit(0))\\\""
    );
    format!(
        "[\"sh\", \"-c\", \"{reach} && npm ci --offline --no-audit --no-fund --cache $TMPDIR/npm && cp package.json node_modules/from.json\"]"
    )
}

/// Something of the machine's that is reached by the network.
fn listening() -> (TcpListener, u16) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Checks have their packages, and the builder has them where it begins; without, the tests cannot run.
#[test]
fn a_check_has_what_was_prepared() {
    let has = r##"{ run = ["sh", "-c", "test -f node_modules/hello/index.js"] },"##;
    let (_listener, port) = listening();
    let mut show = project(&installing(port), has);
    let alone = format!(
        "{TEST}require('net').connect({port}, '127.0.0.1').on('connect', () => process.exit(1)).on('error', () => process.exit(0));\n"
    );
    show.user_commits(&[("test.js", &alone)]);
    let ended = show.expect(&["run"], 0);
    assert_eq!(show.ended(), Ending::Passed, "{}", ended.said());
    let kept = show.stage.project().join(".tribunal/cache/prepared");
    let folders: Vec<_> = std::fs::read_dir(&kept).unwrap().flatten().map(|entry| entry.path()).collect();
    assert_eq!(folders.len(), 1, "once for all that have these lock files: {folders:?}");
    assert!(folders[0].join("data/node_modules/hello/index.js").exists());
    assert!(!show.stage.project().join("node_modules").exists(), "nothing of it is the user's");
    let mut show = project("[]", "");
    show.expect(&["run"], 4);
}

/// A command that fails leaves nothing that could be judged: it is shown with its last lines, and nothing lands.
#[test]
fn what_cannot_be_prepared_is_not_judged() {
    for (prepare, says) in [
        (r#"["sh", "-c", "echo the registry is away; exit 7"]"#, "exit code 7"),
        (r#"["true"]"#, "it left nothing that git ignores"),
    ] {
        let mut show = project(prepare, "");
        let said = show.expect(&["run"], 4).said();
        assert!(said.contains(says) && said.contains("checks.prepare"), "{said}");
        assert_eq!(show.landed("bin/one.sh"), None);
    }
}

/// A builder whose packages could not be installed is told why, and so is the user.
#[test]
fn who_builds_without_packages_is_told() {
    let mut show = project(r#"["sh", "-c", "echo the registry is away; exit 7"]"#, "");
    let said = show.expect(&["run"], 4).said().replace('\n', " ");
    let warned = "01-01 is built without its packages, which could not be installed";
    assert!(said.contains(warned) && said.contains("the registry is away"), "{said}");
    let builders = |(name, _): &(String, String)| name.contains("make");
    let prompts: Vec<_> = crate::prompts::prompts(&show).into_iter().filter(builders).collect();
    let told = |text: &str| {
        let (_, rest) = text.split_once("```text\npackages could not be installed: ")?;
        rest.split_once("```").map(|(told, _)| told.contains("the registry is away"))
    };
    assert!(!prompts.is_empty() && prompts.iter().all(|(_, text)| told(text) == Some(true)), "{prompts:?}");
    let (_listener, port) = listening();
    let mut show = project(&installing(port), "");
    let said = show.expect(&["run"], 0).said();
    assert!(!said.contains("without its packages"), "{said}");
    assert!(crate::prompts::prompts(&show).values().all(|text| !text.contains("could not be installed")));
}

/// Code of a change has no hand in what others are judged with: with the base's lock files, the command runs on the base. A
/// change with lock files of its own is prepared by itself, and that is kept for it alone.
#[test]
fn a_change_prepares_nothing_for_others() {
    let evil = r##"{ run = ["sh", "-c", "sed -i 's/\"version\": \"1.0.0\"/\"version\": \"6.6.6\"/' package.json"] },"##;
    let prepared = |steps: &str| {
        let (_listener, port) = listening();
        let mut show = project(&installing(port), steps).without_paths();
        let ended = show.tribunal(&["run"]);
        let of = |dir: std::path::PathBuf| -> Vec<String> {
            let folders = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let from =
                |path: std::path::PathBuf| std::fs::read_to_string(path.join("data/node_modules/from.json"));
            folders.map(|entry| from(entry.path()).unwrap()).collect()
        };
        let shared = of(show.stage.project().join(".tribunal/cache/prepared"));
        let own = of(show.stage.run_dir(&show.stage.runs()[0]).join("prepared"));
        assert!(shared.len() == 1 && shared[0].contains("1.0.0"), "{shared:?}: {}", ended.said());
        own
    };
    assert_eq!(prepared(evil), Vec::<String>::new(), "the change is judged with what the base has");
    let locks = r##"{ run = ["sh", "-c", "sed -i 's/\"version\": \"1.0.0\"/\"version\": \"6.6.6\"/' package.json; echo >> package-lock.json"] },"##;
    let own = prepared(locks);
    assert!(!own.is_empty() && own.iter().all(|from| from.contains("6.6.6")), "{own:?}");
}
