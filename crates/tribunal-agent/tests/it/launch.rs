//! From a row and a brief to a launch.

use crate::rows::ROW;
use std::ffi::OsString;
use std::path::Path;
use tribunal_agent::{Access, Adapters, Brief, Parser, Prepared, prepare, read_files};

fn brief(root: &Path) -> Brief {
    Brief {
        run: "run-1".into(),
        effect: "task-3/e7/judge:security#1".into(),
        role: "reviewer".into(),
        loop_use: "task".into(),
        plan: Some("01-02".into()),
        task: Some("3".into()),
        seat: None,
        round: 2,
        attempt: 1,
        prompt: "judge this".into(),
        dir: root.join("tree"),
        access: Access::ReadOnly,
        out_dir: root.join("out"),
        model: None,
        args: Vec::new(),
        scenario: None,
        own_binary: "/opt/tribunal".into(),
        env: [("EXTRA".into(), "1".into()), ("TRIBUNAL_ROLE".into(), "forged".into())].into(),
    }
}

fn adapters() -> Adapters {
    let mut adapters = Adapters::built_in().unwrap();
    adapters.add_toml("test", &format!("[robot]\n{ROW}")).unwrap();
    adapters
}

fn user(name: &str) -> Option<OsString> {
    let known = [("PATH", "/bin"), ("HOME", "/home/u"), ("ROBOT_KEY", "secret"), ("OTHER_SECRET", "no")];
    known.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
}

fn ready(name: &str, brief: &Brief) -> Result<Prepared, String> {
    prepare(adapters().get(name).unwrap(), brief, &user).map_err(|error| error.to_string())
}

#[test]
fn words_stay_words_and_optional_groups_go_together() {
    let root = tempfile::tempdir().unwrap();
    let tree = root.path().join("tree");
    let check = |change: &dyn Fn(&mut Brief), expect: &[&str]| {
        let mut brief = brief(root.path());
        change(&mut brief);
        let prepared = ready("robot", &brief).unwrap();
        assert_eq!(prepared.argv, expect.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!((prepared.dir.as_path(), &prepared.stdin_file), (tree.as_path(), &None));
    };
    let dir = tree.to_str().unwrap();
    check(&|_| {}, &["robot", "--ask", "--model", "m-default", "-C", dir, "--", "judge this"]);
    let named = |brief: &mut Brief| {
        brief.model = Some("m 2".into());
        brief.seat = Some("sec; rm -rf /".into());
        brief.prompt = "$(x) {dir}\n".into();
    };
    check(
        &named,
        &["robot", "--ask", "--model", "m 2", "--seat=sec; rm -rf /", "-C", dir, "--", "$(x) {dir}\n"],
    );
    let writer = |brief: &mut Brief| {
        brief.access = Access::Write;
        brief.args = vec!["--fast".into(), "{dir}".into()];
    };
    check(&writer, &["robot", "--edit", "--fast", "{dir}", "--", "judge this"]);
}

#[test]
fn the_environment_is_built_from_nothing() {
    let root = tempfile::tempdir().unwrap();
    let env = ready("robot", &brief(root.path())).unwrap().env;
    let out = root.path().join("out");
    let shown: Vec<_> =
        env.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
    let expect = [
        "EXTRA=1".to_owned(),
        "HOME=/home/u".to_owned(),
        "LANG=C.UTF-8".to_owned(),
        "PATH=/bin".to_owned(),
        "ROBOT_KEY=secret".to_owned(),
        format!("ROBOT_LOG={}/robot.log", out.display()),
        r#"ROBOT_PERMISSION={"edit":"deny"}"#.to_owned(),
        "TRIBUNAL_ATTEMPT=1".to_owned(),
        "TRIBUNAL_EFFECT=task-3/e7/judge:security#1".to_owned(),
        "TRIBUNAL_PLAN=01-02".to_owned(),
        format!("TRIBUNAL_REPORT={}/report.jsonl", out.display()),
        "TRIBUNAL_ROLE=reviewer".to_owned(),
        "TRIBUNAL_ROUND=2".to_owned(),
        "TRIBUNAL_SEAT=".to_owned(),
        "TRIBUNAL_TASK=3".to_owned(),
        "TRIBUNAL_USE=task".to_owned(),
    ];
    assert_eq!(shown, expect);
}

#[test]
fn only_the_prompt_is_written_whole_and_never_through_a_link() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(root.path().join("target"), "kept").unwrap();
    for name in ["prompt.md", "prompt.part"] {
        std::os::unix::fs::symlink(root.path().join("target"), out.join(name)).unwrap();
    }
    let mut brief = brief(root.path());
    brief.args = vec!["prog".into()];
    let prepared = ready("command", &brief).unwrap();
    assert_eq!(prepared.stdin_file, Some(out.join("prompt.md")));
    assert_eq!(std::fs::read_to_string(out.join("prompt.md")).unwrap(), "judge this");
    assert_eq!(std::fs::read_to_string(root.path().join("target")).unwrap(), "kept");
    let names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["prompt.md"]);
}

#[test]
fn what_cannot_be_launched_is_said() {
    let root = tempfile::tempdir().unwrap();
    let check = |name: &str, change: &dyn Fn(&mut Brief), expect: &str| {
        let mut brief = brief(root.path());
        change(&mut brief);
        let error = ready(name, &brief).unwrap_err();
        assert!(error.starts_with(&format!("adapter `{name}`: ")) && error.contains(expect), "{error}");
        assert!(!brief.out_dir.exists(), "nothing is written for a launch that cannot be");
    };
    check("command", &|_| {}, "no program to run");
    check("scripted", &|_| {}, "no value for {scenario}");
    check("robot", &|brief| brief.prompt = "x".repeat(200_000), "hint: pass the prompt as `stdin` or `file`");
    check("robot", &|brief| brief.prompt = "a\0b".into(), "NUL");
    check(
        "robot",
        &|brief| drop(brief.env.insert("A=B".into(), "".into())),
        "no name of an environment variable",
    );
}

#[test]
fn a_prepared_scripted_launch_runs_and_is_read() {
    let stage = crate::stage::Stage::new(
        r#"
        [[turn]]
        role = "reviewer"
        plan = "01-02"
        task = 3
        round = 2
        do = [
          { expect = "judge this" },
          { report = { tool = "cast_verdict", args = { verdict = "approve" } } },
          { say = "fine" },
        ]"#,
    );
    let mut brief = brief(stage.root.path());
    brief.scenario = Some(stage.scenario());
    brief.own_binary = env!("CARGO_BIN_EXE_scripted-agent").into();
    let prepared = ready("scripted", &brief).unwrap();
    let status = crate::stage::command(prepared.argv[0].to_str().unwrap())
        .args(&prepared.argv[1..])
        .env_clear()
        .envs(&prepared.env)
        .current_dir(&prepared.dir)
        .stdin(std::fs::File::open(prepared.stdin_file.unwrap()).unwrap())
        .stdout(std::fs::File::create(stage.at("stdout")).unwrap())
        .status()
        .unwrap();
    let outcome =
        read_files(Parser::Events, &stage.at("stdout"), &prepared.report_file, status.code()).unwrap();
    assert!(outcome.is_answer(), "{outcome:?}");
    assert_eq!(outcome.reports[0].tool, "cast_verdict");
    assert!(stage.unused().is_empty());
}
