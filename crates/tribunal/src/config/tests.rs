//! Tables: layers, origins, and errors with their places.

use super::*;
use std::fs;

struct Home {
    dir: tempfile::TempDir,
    sources: Sources,
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        fs::create_dir_all(root.join(".planning")).unwrap();
        let sources = Sources {
            planning: Some(root.join(".planning")),
            user: Some(dir.path().join("user.toml")),
            root: Some(root),
            ..Sources::default()
        };
        Home { dir, sources }
    }

    fn file(self, name: &str, text: &str) -> Home {
        fs::write(self.dir.path().join(name), text).unwrap();
        self
    }

    fn project(self, text: &str) -> Home {
        self.file("project/tribunal.toml", text)
    }

    fn env(mut self, name: &str, value: &str) -> Home {
        self.sources.env.push((name.to_owned(), value.to_owned()));
        self
    }

    fn flag(mut self, key: &str, value: &str) -> Home {
        self.sources.flags.push((key.to_owned(), value.to_owned(), "--set".to_owned()));
        self
    }

    /// The user trusts everything that the repository sets now.
    fn trusting(mut self) -> Home {
        self.sources.trusted = look(&self.sources).reaching.iter().map(|(entry, _)| digest(entry)).collect();
        self
    }

    fn load(&self) -> Config {
        load(&self.sources).unwrap()
    }

    fn error(&self) -> String {
        let text = load(&self.sources).unwrap_err().to_string();
        text.replace(&self.dir.path().display().to_string(), "")
    }
}

fn value(config: &Config, key: &str) -> (String, Layer) {
    let value = &config.values[&Key::parse(key).unwrap()];
    (value.value.to_string(), value.origin.layer)
}

#[test]
fn the_defaults_are_whole() {
    let config = load(&Sources::default()).unwrap();
    let table: toml::Table = toml::from_str(DEFAULTS).unwrap();
    // Every table of plain settings can be reached by a variable.
    for name in table.keys().filter(|name| !["adapters", "tools"].contains(&name.as_str())) {
        assert!(super::source::TABLES.contains(&name.as_str()), "{name}");
    }
    // The engine's type and the defaults file name the same keys: nothing is missing, nothing is extra.
    assert_eq!(toml::Value::try_from(&config.settings).unwrap(), toml::Value::Table(table));
    assert!(config.values.len() >= 40, "{}", config.values.len());
    assert!(config.values.values().all(|value| value.origin.layer == Layer::Defaults));
}

#[test]
fn every_default_has_a_comment() {
    for line in DEFAULTS.lines().filter(|line| line.contains(" = ")) {
        let comment = line.split_once('#').map_or("", |(_, comment)| comment);
        assert!(comment.trim().len() > 5, "{line}");
    }
}

#[test]
fn later_layers_win() {
    let planning = Home::new().file("project/.planning/config.json", r#"{"effort": "turbo"}"#);
    assert_eq!(value(&planning.load(), "run.effort"), ("\"turbo\"".into(), Layer::Planning));
    let user = planning.file("user.toml", "[run]\neffort = \"fast\"\n");
    assert_eq!(value(&user.load(), "run.effort"), ("\"fast\"".into(), Layer::User));
    let project = user.project("run.effort = \"thorough\"\n");
    assert_eq!(value(&project.load(), "run.effort"), ("\"thorough\"".into(), Layer::Project));
    let env = project.env("TRIBUNAL_RUN_EFFORT", "max");
    assert_eq!(value(&env.load(), "run.effort"), ("\"max\"".into(), Layer::Environment));
    let flag = env.flag("run.effort", "low");
    assert_eq!(value(&flag.load(), "run.effort"), ("\"low\"".into(), Layer::Flag));
    assert_eq!(flag.load().settings.run.effort, tribunal_core::policy::Effort::Fast);
    assert_eq!(value(&flag.load(), "run.land"), ("\"group\"".into(), Layer::Defaults));
}

#[test]
fn values_know_their_place() {
    let config = Home::new().project("[run]\n# how much\n  parallel_max = 7\n").load();
    let origin = &config.values[&Key::parse("run.parallel_max").unwrap()].origin;
    assert_eq!(origin.place, Some((3, 3)));
    assert!(origin.to_string().ends_with("tribunal.toml:3:3"), "{origin}");
    assert_eq!(config.settings.run.parallel_max, 7);
}

#[test]
fn the_environment_speaks_toml_or_strings() {
    let config = Home::new()
        .env("TRIBUNAL_RUN_PARALLEL_MAX", "9")
        .env("TRIBUNAL_RUN_PLAIN_SUMMARY", "false")
        .env("TRIBUNAL_AGENTS_TASK_REVIEWERS", "[\"a\", \"b\"]")
        .env("TRIBUNAL_AGENTS_DEFAULT", "scripted")
        .env("TRIBUNAL_CHECKS_COMMANDS_TEST", "[\"make\", \"test\"]")
        .env("TRIBUNAL_RUN", "x")
        .env("TRIBUNAL_PLAN", "01-01")
        .env("TRIBUNAL_CORRELATION_ID", "abc")
        .load();
    assert_eq!(config.settings.run.parallel_max, 9);
    assert!(!config.settings.run.plain_summary);
    assert_eq!(config.settings.agents.task_reviewers, ["a", "b"]);
    assert_eq!(config.settings.agents.default, "scripted");
    assert_eq!(config.settings.checks.commands["test"], ["make", "test"]);
}

#[test]
fn tables_of_the_users_own() {
    let text = "[checks.commands]\nunit = [\"make\", \"test\"]\n[agents.roles.dev]\nadapter = \"claude\"\nturns = 5\n\
                [agents.roles.\"loop-reviewer\"]\nmodel = \"m\"\n[adapters.mine]\ncommand = [\"x\"]\n[run]\n";
    let config = Home::new().project(text).trusting().load();
    assert_eq!(config.settings.checks.commands["unit"], ["make", "test"]);
    assert_eq!(config.settings.agents.roles["dev"].turns, Some(5));
    assert_eq!(config.settings.agents.roles["loop-reviewer"].model.as_deref(), Some("m"));
    assert!(config.settings.adapters["mine"].get("command").is_some());
}

#[test]
fn the_seeds_keys_keep_their_meaning() {
    let json = r#"{
      "review_gate": "never", "review_max_cycles": 2, "qa_gate": "on_request", "qa_max_cycles": 3,
      "review": {"max_cycles": 5, "polish": true, "polish_scope": "changed"},
      "mode": "Full", "effort": "high", "autonomy": "cautious", "prefer_teams": "always",
      "max_tasks_per_plan": 8, "planning_tracking": "ignore", "auto_push": "always", "plain_summary": false,
      "model_profile": "quality", "model_overrides": {"dev": "large"}, "agent_max_turns": {"qa": -1},
      "v2_hard_gates": false, "v3_lease_locks": true, "v2_hard_contracts": false,
      "task_lease_ttl_secs": 60, "command_timeout_ms": 30500, "something_else": 1
    }"#;
    let home = Home::new().file("project/.planning/config.json", json).trusting();
    let config = home.load();
    let expect = [
        ("plan.review", "\"never\""),
        ("plan.rounds_max", "2"),
        ("qa.review", "\"on_request\""),
        ("qa.rounds_max", "4"),
        ("phase.rounds_max", "5"),
        ("phase.polish", "true"),
        ("phase.polish_scope", "\"changed\""),
        ("chain.mode", "\"full\""),
        ("run.effort", "\"high\""),
        ("run.autonomy", "\"cautious\""),
        ("run.prefer_teams", "\"always\""),
        ("plan.tasks_max", "8"),
        ("git.planning", "\"manual\""),
        ("git.push", "\"after_phase\""),
        ("run.plain_summary", "false"),
        ("agents.profile", "\"quality\""),
        ("agents.roles.dev.model", "\"large\""),
        ("agents.roles.qa.turns", "0"),
        ("gates.lease_ttl_s", "60"),
        ("checks.timeout_s", "31"),
    ];
    for (key, expect) in expect {
        assert_eq!(value(&config, key), (expect.to_owned(), Layer::Planning), "{key}");
    }
    let mut off = config.settings.gates.off.clone();
    off.sort();
    assert_eq!(off, ["hard_contracts", "hard_gates"]);
    let notes = look(&home.sources).notes;
    assert!(notes.iter().any(|note| note.contains("something_else")), "{notes:?}");
}

/// A key that is added is not passed over: somebody says how far it reaches.
#[test]
fn every_key_is_classified() {
    let config = load(&Sources::default()).unwrap();
    let open =
        ["checks.commands.x", "agents.roles.x.adapter", "agents.roles.x.model", "agents.roles.x.turns"];
    let more = ["agents.roles.x.args", "agents.roles.x.personality", "adapters.x", "tools.x"];
    let open = open.into_iter().chain(more).map(|key| Key::parse(key).unwrap());
    for key in config.values.keys().cloned().chain(open) {
        let parts: Vec<&str> = key.parts().iter().map(String::as_str).collect();
        assert!(tribunal_core::trust::reach(&parts, "").is_some(), "{key}: say how far it reaches");
    }
}

#[test]
fn what_reaches_beyond_the_sandbox_counts_when_it_is_trusted() {
    let text = "[run]\non_end = [\"x\"]\neffort = \"fast\"\n[agents]\nsandbox = \"off\"\n";
    let home = Home::new().file("user.toml", "[run]\non_end = [\"mine\"]\n").project(text);
    let config = home.load();
    assert_eq!(value(&config, "run.on_end"), ("[\"mine\"]".into(), Layer::User));
    assert_eq!(value(&config, "agents.sandbox"), ("\"auto\"".into(), Layer::Defaults));
    assert_eq!(value(&config, "run.effort"), ("\"fast\"".into(), Layer::Project));
    let note = config.untrusted_note().unwrap();
    assert!(note.contains("tribunal.toml:2:1: `run.on_end` is not used (and 1 more)"), "{note}");
    let all = all_digest(config.untrusted.iter());
    let named = home.env("TRIBUNAL_TRUST", &all);
    assert_eq!(value(&named.load(), "run.on_end"), ("[\"x\"]".into(), Layer::Project));
    let changed = named.project(&text.replace("[\"x\"]", "[\"y\"]"));
    assert_eq!(value(&changed.load(), "run.on_end"), ("[\"mine\"]".into(), Layer::User));
    let trusted = changed.trusting();
    assert_eq!(value(&trusted.load(), "run.on_end"), ("[\"y\"]".into(), Layer::Project));
    assert_eq!(trusted.load().untrusted_note(), None);
    // A list of what is trusted outlives a value that is taken out, and not one that is changed.
    let fewer = trusted.project("[agents]\nsandbox = \"off\"\n");
    assert_eq!(value(&fewer.load(), "agents.sandbox"), ("\"off\"".into(), Layer::Project));
}

/// Who set a cap pays for what runs: the repository may lower it, and needs trust to raise it.
#[test]
fn a_repository_lowers_a_cap_of_the_user_and_never_raises_it() {
    let own = "[budget]\nrun_cents = 500\nbuilder_cents = 100\n";
    let home = |text: &str| Home::new().file("user.toml", own).project(text);
    let cents = |home: &Home, key: &str| value(&home.load(), key);
    let (user, project) = (|n: &str| (n.to_owned(), Layer::User), |n: &str| (n.to_owned(), Layer::Project));
    assert_eq!(cents(&home("[budget]\nrun_cents = 499\n"), "budget.run_cents"), project("499"));
    for more in ["501", "0"] {
        let text = format!("[budget]\nrun_cents = {more}\n");
        let raised = home(&text);
        assert_eq!(cents(&raised, "budget.run_cents"), user("500"));
        let note = raised.load().untrusted_note().unwrap();
        assert!(note.contains("tribunal.toml:2:1: `budget.run_cents` is not used"), "{note}");
        let trusted = raised.trusting();
        assert_eq!(cents(&trusted, "budget.run_cents"), project(more));
        assert_eq!(trusted.load().untrusted_note(), None);
    }
    // What is reserved for a launch is counted where its cost is not told: less of it is more launches under a cap.
    assert_eq!(cents(&home("[budget]\nbuilder_cents = 1\n"), "budget.builder_cents"), user("100"));
    assert_eq!(cents(&home("[budget]\nbuilder_cents = 200\n"), "budget.builder_cents"), project("200"));
    // Who set none gets the repository's, and says otherwise for one run with a flag.
    let free = Home::new().project("[budget]\nrun_cents = 900\n");
    assert_eq!(cents(&free, "budget.run_cents"), project("900"));
    let flagged = home("").flag("budget.run_cents", "700");
    assert_eq!(cents(&flagged, "budget.run_cents"), ("700".to_owned(), Layer::Flag));
}

#[test]
fn a_review_reads_what_its_change_began_from() {
    let mut home = Home::new()
        .project("run.effort = \"turbo\"\n")
        .file("project/.planning/config.json", r#"{"autonomy": "pure-vibe"}"#);
    let at_base =
        [("tribunal.toml", Some(b"run.effort = \"max\"\n".to_vec())), (".planning/config.json", None)];
    let files = at_base.into_iter().map(|(path, text)| (path.to_owned(), text)).collect();
    home.sources.base = Some(SettingsBase { commit: "main at 1234567".to_owned(), files });
    let config = home.load();
    assert_eq!(value(&config, "run.effort"), ("\"max\"".into(), Layer::Project));
    assert_eq!(value(&config, "run.autonomy"), ("\"standard\"".into(), Layer::Defaults));
    let origin = config.values[&Key::parse("run.effort").unwrap()].origin.to_string();
    assert!(origin.ends_with("tribunal.toml:1:5 (main at 1234567)"), "{origin}");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let table = [
        (
            "[run]\nefort = \"fast\"\n",
            "tribunal.toml:2:1: there is no setting `run.efort`\nhint: did you mean `run.effort`?",
        ),
        (
            "[task]\nparallel_max = 3\n",
            "tribunal.toml:2:1: there is no setting `task.parallel_max`\nhint: did you mean `run.parallel_max`?",
        ),
        (
            "zebra = 1\n",
            "tribunal.toml:1:1: there is no setting `zebra`\nhint: `tribunal config show` lists all settings",
        ),
        ("[run]\neffort = 3\n", "tribunal.toml:2:1: `run.effort` is a string, not an integer"),
        (
            "[run]\neffort = \"hard\"\n",
            "tribunal.toml:2:1: `run.effort` cannot be \"hard\"\nhint: one of turbo, fast, balanced, thorough, max, low, medium, high",
        ),
        ("run.parallel_max = 0\n", "tribunal.toml:1:5: `run.parallel_max` must be 1 to 1024, not 0"),
        ("plan.rounds_max = -1\n", "tribunal.toml:1:6: `plan.rounds_max` must be 1 to 100, not -1"),
        ("run = 3\n", "tribunal.toml:1:1: `run` is a table of settings, not an integer"),
        ("[run]\neffort = {}\n", "tribunal.toml:2:1: `run.effort` is a string, not a table"),
        (
            "[agents]\ntask_reviewers = [1]\n",
            "tribunal.toml:2:1: `agents.task_reviewers` is a list of strings, not of integer",
        ),
        (
            "[checks.commands]\nunit = \"make test\"\n",
            "tribunal.toml:2:1: `checks.commands.unit` is a list of strings, not a string",
        ),
        ("[checks.commands]\nunit = []\n", "tribunal.toml:2:1: the command of check \"unit\" is empty"),
        (
            "[agents.roles.dev]\nmodle = \"x\"\n",
            "tribunal.toml:2:1: there is no setting `agents.roles.dev.modle`",
        ),
        ("[run\n", "tribunal.toml:1:5: "),
        ("[run]\neffort = \"fast\"\neffort = \"max\"\n", "tribunal.toml:3:1: "),
    ];
    for (text, expect) in table {
        let error = Home::new().project(text).error();
        assert!(error.starts_with(&format!("error: /project/{expect}")), "{text}\n{error}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let home = Home::new()
        .project("[run]\nefort = 1\n")
        .env("TRIBUNAL_RUN_LANDD", "each")
        .flag("plan.rounds_max", "many")
        .file("user.toml", "[qa]\nreview = true\n");
    let error = home.error();
    for part in [
        "4 settings are wrong",
        "/user.toml:2:1: `qa.review` is a string, not a boolean",
        "/project/tribunal.toml:2:1: there is no setting `run.efort` (did you mean `run.effort`?)",
        "TRIBUNAL_RUN_LANDD: there is no setting `run.landd` (did you mean `run.land`?)",
        "--set: `plan.rounds_max` is an integer, not a string",
    ] {
        assert!(error.contains(part), "{part}\n{error}");
    }
}

#[test]
fn files_that_are_no_files() {
    let home = Home::new();
    fs::create_dir(home.dir.path().join("user.toml")).unwrap();
    assert!(home.error().contains("/user.toml: is not a file"), "{}", home.error());
    let home = Home::new();
    fs::write(home.dir.path().join("user.toml"), b"\xff\xfe").unwrap();
    assert!(home.error().contains("/user.toml: is not UTF-8"), "{}", home.error());
    let home = Home::new().file("project/.planning/config.json", "{\n  \"effort\" \"fast\"\n}");
    assert!(home.error().contains("config.json:2:"), "{}", home.error());
    let home = Home::new().file("project/.planning/config.json", "{\n\n  \"effort\": \"hardest\"\n}");
    assert!(home.error().contains("config.json:3:3: `run.effort` cannot be"), "{}", home.error());
}

#[test]
fn where_the_users_file_is() {
    let env = |pairs: &[(&str, &str)]| {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        move |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.into())
    };
    for (pairs, expect) in [
        (&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")][..], Some("/x/tribunal/config.toml")),
        (&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/h")][..], Some("/h/.config/tribunal/config.toml")),
        (&[("HOME", "/h")][..], Some("/h/.config/tribunal/config.toml")),
        (&[][..], None),
    ] {
        assert_eq!(user_file(env(pairs)), expect.map(PathBuf::from), "{pairs:?}");
    }
}

#[test]
fn keys_are_read_and_written_alike() {
    for text in ["run.effort", "agents.roles.loop-reviewer.model", "agents.roles.\"a.b\".model"] {
        assert_eq!(Key::parse(text).unwrap().to_string(), text);
    }
    for text in ["", ".", "run.", "run..effort", "run.\"open"] {
        assert_eq!(Key::parse(text), None, "{text}");
    }
}
