//! Tests before a run whether a program that works for the user also works in a sandbox.
//!
//! A program that needs more of the home than launches see would otherwise fail in the middle of a run. It is started
//! with `--version` or the like; nothing else is judged.

use super::hint::{missing_place, way_out};
use super::{ProjectPlaces, Sandbox, SandboxHost, SandboxSpec, git_settings, home_of};
use crate::check::KEPT;
use crate::setup::doctor::Environment;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tribunal_agent::{Adapter, Adapters};
use tribunal_engine::settings::Settings;
use tribunal_git::Repo;
use tribunal_process::{Containment, ExitHow, Launch, Mounts, Network, Stdin, run_to_end};
use tribunal_view::plain;

/// How long a program may take to print its version.
const LIMIT: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_secs(1);
const OUTPUT_MAX: u64 = 1 << 20;
const WORDS_MAX: usize = 200;

/// The conditions of a test: those of a run's launches, in an empty tree.
pub struct Probe<'a> {
    /// The user's settings.
    pub settings: &'a Settings,
    /// Every known agent.
    pub adapters: &'a Adapters,
    /// The user's environment.
    pub environment: &'a Environment,
    /// The project, if there is one.
    pub project: Option<&'a Path>,
    /// A folder for the programs' output.
    pub scratch: &'a Path,
}

impl Probe<'_> {
    /// Why a program does not work inside, and what would help.
    ///
    /// None where it works, where it does not work for the user either, or where there is no sandbox. So the message
    /// always points at the sandbox.
    pub fn fault(&self, name: &str, row: Option<&Adapter>, argv: &[String]) -> Option<String> {
        let sandbox = Sandbox::of(&self.settings.agents.sandbox, || Containment::detect().can_sandbox());
        if sandbox != Sandbox::Raised {
            return None;
        }
        let at = self.scratch.join(name.replace('/', "_"));
        // Outside first: a program that is broken for the user says nothing about the sandbox.
        let outside = self.run(&at.join("outside"), row, argv, None).ok()?;
        if outside.how != ExitHow::Code(0) {
            return None;
        }
        let inside = self.mounts(sandbox, &at.join("inside"), row, argv);
        let inside = inside.and_then(|mounts| {
            let ran = self.run(&at.join("inside"), row, argv, Some(mounts.clone()))?;
            Ok((mounts, ran))
        });
        let why = match inside {
            Ok((_, ran)) if ran.how == ExitHow::Code(0) => return None,
            Ok((mounts, ran)) => {
                // The place that the program misses is the best hint; the general one names both settings.
                let place = missing_place(&mounts, &ran.said).map(|place| way_out(&place));
                let last = ran.said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let help = "`agents.readable` shows it more, `agents.writable` lets it write";
                format!("{}; {}", plain::clipped(last, WORDS_MAX), place.as_deref().unwrap_or(help))
            }
            Err(why) => why,
        };
        Some(format!("`{}` works for you and fails in the sandbox: {why}", argv.join(" ")))
    }

    fn env(&self, row: Option<&Adapter>) -> Vec<(OsString, OsString)> {
        // An agent gets the variables of its row, a check those of every check.
        let kept = KEPT.iter().map(|name| (*name).to_owned());
        let of_row = row.map(|row| row.keep_env.clone());
        let names = of_row
            .map_or_else(|| kept.collect(), |of_row| [vec!["PATH".into(), "LANG".into()], of_row].concat());
        let pair = |name: String| Some((name.clone().into(), self.environment.get(&name)?.clone()));
        names.into_iter().filter_map(pair).collect()
    }

    fn mounts(
        &self,
        sandbox: Sandbox,
        own: &Path,
        row: Option<&Adapter>,
        argv: &[String],
    ) -> Result<Mounts, String> {
        let said = |error: std::io::Error| error.to_string();
        let tree = tree_of(own);
        std::fs::create_dir_all(&tree).map_err(said)?;
        let repo = self.project.and_then(|root| Some((root, Repo::open(root).ok()?)));
        let own_binary = std::env::current_exe().map_err(said)?;
        let agents = &self.settings.agents;
        let host = SandboxHost {
            sandbox,
            environment: self.environment,
            adapters: self.adapters,
            readable: &agents.readable,
            writable: &agents.writable,
            keys: &repo.as_ref().map(|(_, repo)| repo.signing_secrets()).unwrap_or_default(),
            git_settings: &git_settings(home_of(self.environment).as_deref()),
            own_binary: &own_binary,
            project: repo.as_ref().map(|(root, repo)| ProjectPlaces {
                root,
                common_dir: repo.common_dir(),
                objects: repo.objects_dir(),
                runs: root.join(crate::FOLDER),
                is_tested: false,
            }),
            within: &tree,
            scratches: None,
        };
        let program = argv.first().map(OsStr::new);
        let env = self.env(row);
        let spec = SandboxSpec { tree: &tree, write: true, own, more: Vec::new(), row, env: &env, program };
        host.mounts(&spec)?.ok_or_else(|| "there is no sandbox".to_owned())
    }

    fn run(
        &self,
        own: &Path,
        row: Option<&Adapter>,
        argv: &[String],
        mounts: Option<Mounts>,
    ) -> Result<Ran, String> {
        let tree = tree_of(own);
        [own, &tree].iter().try_for_each(std::fs::create_dir_all).map_err(|error| error.to_string())?;
        let launch = Launch {
            id: "probe".to_owned(),
            run_marker: format!("probe-{}", std::process::id()),
            argv: argv.iter().map(OsString::from).collect(),
            env: self.env(row),
            dir: tree,
            stdin: Stdin::Null,
            out_dir: own.to_path_buf(),
            output_max: OUTPUT_MAX,
            mounts,
            network: Network::Host,
        };
        let exit =
            run_to_end(Containment::detect(), launch, LIMIT, GRACE).map_err(|error| error.to_string())?;
        let text = |name: &str| {
            String::from_utf8_lossy(&std::fs::read(own.join(name)).unwrap_or_default()).into_owned()
        };
        let why = if let ExitHow::NotStarted(why) = &exit.how { why.clone() } else { String::new() };
        Ok(Ran { said: [text("stdout"), text("stderr"), why].join("\n"), how: exit.how })
    }
}

/// How a program ended, and everything it printed.
struct Ran {
    how: ExitHow,
    said: String,
}

/// The tree of a test. It lies beside the launch's own folder, which the launch may not write to.
fn tree_of(own: &Path) -> PathBuf {
    own.with_extension("tree")
}
