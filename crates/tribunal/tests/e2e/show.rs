//! One test's project: a scene on a stage, with every law watched after every command.

use crate::stage::laws::{self, Guard};
use crate::stage::play::{self, Given};
use crate::stage::program::{Ended, Running};
use crate::stage::scenes::{NO_GATE, PLAIN, Scene};
use crate::stage::{PHASE, Res, Stage};
use std::os::fd::OwnedFd;
use std::path::Path;
use tempfile::TempDir;
use tribunal_core::review_loop::FailureKind;
use tribunal_core::run::Ending;
use tribunal_engine::{RunState, inbox};

/// A scene on a stage of its own.
pub struct Show {
    _folder: TempDir,
    /// The stage.
    pub stage: Stage,
    guard: Guard,
    /// Kept open: an agent that rings while nobody listens would wait for ever.
    bell: Option<OwnedFd>,
}

impl Show {
    /// Sets the scene.
    pub fn of(scene: &Scene) -> Show {
        let (folder, stage) = crate::stage();
        scene.set(&stage).unwrap();
        Show::on(folder, stage)
    }

    /// Sets the scene, with another text of its first plan.
    pub fn with_plan(scene: &Scene, change: impl FnOnce(&str) -> String) -> Show {
        let mut show = Show::of(scene);
        let path = format!("{PHASE}/01-01-PLAN.md");
        let text = std::fs::read_to_string(show.stage.project().join(&path)).unwrap();
        let changed = change(&text);
        assert_ne!(text, changed);
        show.user_commits(&[(&path, &changed)]);
        show
    }

    /// The user commits these files.
    pub fn user_commits(&mut self, files: &[(&str, &str)]) {
        self.user_acts(|stage| {
            files.iter().try_for_each(|(path, text)| stage.write(path, text))?;
            stage.git(&["add", "-A"])?;
            stage.git(&["commit", "-q", "-m", "docs: more"]).map(drop)
        });
    }

    /// The user lets the first plan claim one file more.
    pub fn claims(&mut self, file: &str) {
        let path = format!("{PHASE}/01-01-PLAN.md");
        let text = std::fs::read_to_string(self.stage.project().join(&path)).unwrap();
        let more = text.replace("files_modified:", &format!("files_modified:\n  - {file}"));
        self.user_commits(&[(&path, &more)]);
    }

    /// The user lets the first task verify itself by a line more.
    pub fn verifies(&mut self, line: &str) {
        let path = format!("{PHASE}/01-01-PLAN.md");
        let text = std::fs::read_to_string(self.stage.project().join(&path)).unwrap();
        let more = text.replacen("> verification: ", &format!("> verification: {line}\n> verification: "), 1);
        assert_ne!(text, more);
        self.user_commits(&[(&path, &more)]);
    }

    /// The user takes every path out of the first plan: it is held to none then.
    pub fn without_paths(mut self) -> Show {
        let path = format!("{PHASE}/01-01-PLAN.md");
        let text = std::fs::read_to_string(self.stage.project().join(&path)).unwrap();
        let names = |line: &&str| {
            let listed = line.starts_with("  - ") && line.ends_with(" (new)\"");
            !listed && !line.contains("files_modified") && !line.contains("**File")
        };
        let bare: Vec<&str> = text.lines().filter(names).collect();
        self.user_commits(&[(&path, &bare.join("\n"))]);
        self
    }

    /// The plain scene with a script of its own.
    pub fn script(script: &str) -> Show {
        Show::with(NO_GATE, script)
    }

    /// The plain scene with settings and a script of its own.
    pub fn with(settings: &'static str, script: &str) -> Show {
        Show::set(crate::stage(), settings, script)
    }

    /// The same with the machine's own `PATH`, for tests that look at what a launch is shown.
    pub fn on_this_machine(settings: &'static str, script: &str) -> Show {
        Show::set(crate::stage_with_tools(), settings, script)
    }

    fn set((folder, stage): (TempDir, Stage), settings: &'static str, script: &str) -> Show {
        Scene { settings, ..PLAIN }.set(&stage).unwrap();
        stage.script_with(script).unwrap();
        Show::on(folder, stage)
    }

    /// Watches over a stage that was set otherwise.
    pub fn on(folder: TempDir, stage: Stage) -> Show {
        let guard = Guard::new(&stage).unwrap();
        Show { _folder: folder, stage, guard, bell: None }
    }

    /// Starts `tribunal run` and returns when an agent says that it is at work.
    pub fn at_work(&mut self) -> Running {
        self.at_work_in(&["run"])
    }

    /// The same with a command of its own.
    pub fn at_work_in(&mut self, args: &[&str]) -> Running {
        let bell = play::listen(&self.stage.root().join("at-work")).unwrap();
        let running = self.stage.program().start(args, &[]).unwrap();
        assert!(running.reaches(&bell).unwrap(), "{}", running.stderr());
        self.bell = Some(bell);
        running
    }

    /// Gives a command and looks at everything afterwards.
    pub fn tribunal(&mut self, args: &[&str]) -> Ended {
        let ended = self.stage.tribunal(args).unwrap();
        self.after(args, ended)
    }

    /// Looks at everything after a command that has ended.
    pub fn after(&mut self, args: &[&str], ended: Ended) -> Ended {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let given = Given { args, ended, points: Vec::new(), git: Vec::new() };
        self.guard.after(&self.stage, &given).unwrap();
        assert_eq!(self.guard.violations, Vec::<String>::new(), "{:?}: {}", given.args, given.ended.said());
        given.ended
    }

    /// Gives a command and expects an exit code.
    #[track_caller]
    pub fn expect(&mut self, args: &[&str], code: i32) -> Ended {
        let ended = self.tribunal(args);
        assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.said());
        ended
    }

    /// The user changes their own things.
    pub fn user_acts(&mut self, act: impl FnOnce(&Stage) -> Res<()>) {
        self.guard.user_acts(&self.stage, act).unwrap();
        assert_eq!(self.guard.violations, Vec::<String>::new());
    }

    /// Nothing of the user's has changed.
    #[track_caller]
    pub fn untouched(&mut self) {
        self.guard.untouched(&self.stage).unwrap();
        assert_eq!(self.guard.violations, Vec::<String>::new());
    }

    /// Nothing of the user's has changed, but for files of these names, which the run made.
    #[track_caller]
    pub fn untouched_but(&mut self, names: &[&str]) {
        self.guard.untouched(&self.stage).unwrap();
        self.guard.violations.retain(|line| !names.iter().any(|name| line.contains(name)));
        assert_eq!(self.guard.violations, Vec::<String>::new());
    }

    /// Everything the newest run's journal says.
    pub fn run_state(&self) -> RunState {
        self.stage.newest().unwrap().unwrap().1
    }

    /// The newest run.
    pub fn run(&self) -> String {
        self.stage.newest().unwrap().unwrap().0
    }

    /// The open questions by id, each with its answers.
    pub fn questions(&self) -> Vec<(String, Vec<&'static str>)> {
        let open = inbox::questions(&self.run_state()).into_iter();
        open.map(|open| (open.id, open.offers.iter().map(|offer| offer.word()).collect())).collect()
    }

    /// How it ended; every law of an ended run is looked at.
    #[track_caller]
    pub fn ended(&self) -> Ending {
        let wrong = laws::at_the_end(&self.stage, &self.guard.blobs).unwrap();
        assert_eq!(wrong, Vec::<String>::new());
        self.run_state().run.unwrap().ending().unwrap()
    }

    /// A person is asked about the task, nothing has landed, and the run can be called off with every law kept. What
    /// it said, and what the report says.
    #[track_caller]
    pub fn waits_and_lands_nothing(&mut self) -> String {
        let said = self.expect(&["run"], 4).said();
        assert_eq!(self.landed("bin/one.sh"), None, "{said}");
        assert!(self.questions()[0].0.starts_with("01-01"), "{said}");
        let report = self.report();
        self.expect(&["cancel"], 0);
        assert_eq!(self.ended(), Ending::Cancelled);
        format!("{said}{report}")
    }

    /// It passes with every law kept. What it said, and what the report says.
    #[track_caller]
    pub fn passes(&mut self) -> String {
        let said = self.expect(&["run"], 0).said();
        assert_eq!(self.ended(), Ending::Passed);
        format!("{said}{}", self.report())
    }

    /// Everything that the reports of the newest run say.
    fn report(&mut self) -> String {
        let written = std::fs::read_to_string(self.stage.run_dir(&self.run()).join("report.md"));
        format!("{}{}", written.unwrap_or_default(), self.expect(&["report"], 0).stdout)
    }

    /// Why each launch that had no answer had none, in order.
    pub fn failures(&self) -> Vec<FailureKind> {
        self.run_state().launches.iter().filter_map(|launch| launch.failed).collect()
    }

    /// A file of the run branch.
    pub fn landed(&self, path: &str) -> Option<String> {
        let at = format!("refs/tribunal/{}/head:{path}", self.run());
        self.stage.git(&["show", &at]).ok()
    }

    /// All messages on the run branch.
    pub fn messages(&self) -> String {
        self.stage.git(&["log", "--format=%B", &format!("refs/tribunal/{}/head", self.run())]).unwrap()
    }

    /// These bytes are in a commit, or still in the tree of an agent.
    #[track_caller]
    pub fn is_kept(&self, text: &str) {
        let file = self.stage.root().join("wanted");
        self.put(&file, text);
        let blob = self.stage.git(&["hash-object", &file.display().to_string()]).unwrap();
        let path = "lanes/01-01/tree".to_owned();
        let lost = laws::nothing_lost(&self.stage, &[(blob, path)].into()).unwrap();
        assert_eq!(lost, Vec::<String>::new());
    }

    /// The prompts of launches whose step has this name.
    pub fn prompts(&self, step: &str) -> Vec<String> {
        let launches = std::fs::read_dir(self.stage.run_dir(&self.run()).join("launches")).unwrap();
        let launches =
            launches.flatten().filter(|launch| launch.file_name().to_string_lossy().contains(step));
        launches.map(|launch| std::fs::read_to_string(launch.path().join("prompt.md")).unwrap()).collect()
    }

    /// Where the inbox says that this may be fixed.
    pub fn place(&self, question: &str) -> std::path::PathBuf {
        play::place_to_fix(&self.stage, question).unwrap()
    }

    /// Writes a file anywhere.
    pub fn put(&self, path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
    }
}
