//! `tribunal do`: one change, asked for in words. It gathers the words and who works on them, begins the run, shows the
//! result, and asks a person at a terminal what becomes of it.
//!
//! The run itself is the same as that of plans: its one plan is made from the words. Nothing here decides whether the
//! change is good enough; the question at the end is the run's own, answered by the same message that `tribunal decide`
//! sends.

use super::run::Stay;
use super::{decide, land, resume, trust};
use crate::args::{Do, Globals};
use crate::exit::Done;
use crate::failure::Failure;
use crate::given::Given;
use crate::place::{Place, Seen};
use crate::progress::now;
use crate::{config, out};
use std::io::{BufRead, IsTerminal, Read};
use tribunal_agent::Adapters;
use tribunal_core::ids::{PlanId, Time};
use tribunal_core::run::Run;
use tribunal_docs::words;
use tribunal_engine::RunState;
use tribunal_engine::history::Chronicle;
use tribunal_engine::inbox::{self, Answer, OpenQuestion, Reaction};
use tribunal_engine::mail::Body;
use tribunal_engine::run_state::AskedNote;
use tribunal_engine::settings::{RoleSettings, Settings};
use tribunal_view::facts::RunView;
use tribunal_view::{diff, plain, summary};
use tribunal_world::{DoAsk, SetupError, doctor};

/// The most lines of a diff that are shown at the end.
const DIFF_LINES: usize = 400;
/// Rounds of a change that is worked on again, if nobody says how many.
const ROUNDS: u32 = 3;

/// Builds one change from the words, or goes on with the last one.
pub fn run(globals: &Globals, args: &Do) -> Result<Done, Failure> {
    // The flag is known so that the error can say what to do instead.
    if args.issue.is_some() {
        return Err(Failure::usage("--issue comes with pull requests, which this version does not have")
            .hint("give the words yourself: `tribunal do \"…\"`, or `-F FILE`"));
    }
    let words = words_of(args)?;
    let place = Place::to_work_on()?;
    let done = match args.goes_on {
        true => go_on(globals, args, &place, &words)?,
        false => begin(globals, args, &place, DoAsk { words, ..DoAsk::default() })?,
    };
    match asks(globals, args) {
        true => ask(globals, args, &place, done),
        false => Ok(done),
    }
}

/// True if a person sits at a terminal and is asked what becomes of the result.
fn asks(globals: &Globals, args: &Do) -> bool {
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    terminal && !globals.json && !globals.quiet && !args.no_land && !args.waiting.attach
}

/// The words, from the command line, a file or standard input.
fn words_of(args: &Do) -> Result<String, Failure> {
    let hint = "name a text file of at most 256 KiB with what is to be done";
    let bytes = match (&args.file, args.words.as_slice()) {
        (Some(path), _) => Given { path, flag: Some("-F"), hint }.read(words::BYTES_MAX as u64)?,
        (None, [dash]) if dash == "-" => {
            let mut bytes = Vec::new();
            // One byte more than allowed shows that there is too much, and endless input cannot fill the memory.
            std::io::stdin().lock().take(words::BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
            bytes
        }
        (None, words) => words.join(" ").into_bytes(),
    };
    if bytes.len() > words::BYTES_MAX {
        return Err(Failure::usage("the words have more than 256 KiB").hint(hint));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage("the words are not text in UTF-8").hint(hint))?;
    match text.trim().is_empty() {
        true => Err(Failure::usage("nothing is asked for: there are no words")
            .hint("`tribunal do \"what to do\"`, `-F FILE`, or `-` for standard input")),
        false => Ok(text),
    }
}

/// Begins a run and stays with it.
fn begin(globals: &Globals, args: &Do, place: &Place, ask: DoAsk) -> Result<Done, Failure> {
    let mut config = config::here(Some(place), &args.set)?;
    if trust::offer(globals, place, &config)? {
        config = config::here(Some(place), &args.set)?;
    }
    let mut settings = config.settings.clone();
    add_checks(&mut settings, &args.check);
    // After the settings are read: the flag wins for this run.
    settings.task.rounds_max = args.rounds.unwrap_or(settings.task.rounds_max);
    let project = place.project()?;
    let who = choose(&mut settings, args)?;
    let ask = DoAsk {
        branch: args.branch.clone(),
        // A person who is asked at the end decides about the landing; the run must not land before that.
        hold: args.no_land || asks(globals, args),
        attached: args.waiting.attach,
        ..ask
    };
    let begun = tribunal_world::begin_do(&project, &settings, &ask);
    let (id, engine) = begun.map_err(|error| by_flag(args, error, |error| config.located(error)))?;
    if !globals.quiet {
        out::say(&format!("run {id}"));
        who.iter().for_each(|who| out::say(who));
        super::run::tell_noticed(engine.run_state());
    }
    let (waiting, shown) = (args.waiting, Default::default());
    let stay = Stay {
        globals,
        project: &project,
        id: &id,
        settings: &settings,
        waiting,
        uat: false,
        shown,
        asks: asks(globals, args),
    };
    match args.watch && std::io::stdout().is_terminal() {
        true => stay.watched(place, engine),
        false => stay.with(engine, Chronicle::default()),
    }
}

/// Adds the commands of `--check` to the checks of the settings.
fn add_checks(settings: &mut Settings, commands: &[String]) {
    for (n, command) in commands.iter().enumerate() {
        let name = format!("check-{}", n + 1);
        // Typed on a command line, so shell syntax is expected; the checks of a settings file are argument lists.
        let argv = vec!["sh".to_owned(), "-c".to_owned(), command.clone()];
        settings.checks.commands.insert(name, argv);
    }
}

/// Chooses a builder and a reviewer if the settings name none, as `tribunal init` would, and says so.
///
/// `tribunal do` should work in a project that was never set up. The reviewer is another agent than the builder
/// wherever two are installed.
fn choose(settings: &mut Settings, args: &Do) -> Result<Option<String>, Failure> {
    let agents = &mut settings.agents;
    let role = |name: &str, adapter: &str, roles: &mut std::collections::BTreeMap<String, RoleSettings>| {
        roles.entry(name.to_owned()).or_default().adapter = Some(adapter.to_owned());
    };
    if let Some(builder) = &args.builder {
        role("dev", builder, &mut agents.roles);
    }
    if let Some(reviewer) = &args.reviewer {
        // A role of its own wins over the general one, so the flag must set every reviewer of a task.
        for place in agents.task_reviewers.iter().map(String::as_str).chain(["reviewer"]) {
            role(place, reviewer, &mut agents.roles);
        }
    }
    let has = |name: &str| agents.roles.get(name).is_some_and(|role| role.adapter.is_some());
    let reviewed = has("reviewer")
        || (!agents.task_reviewers.is_empty() && agents.task_reviewers.iter().all(|s| has(s)));
    // Settings that name agents are the user's decision and stay as they are.
    if !agents.default.is_empty() || (has("dev") && reviewed) {
        return Ok(None);
    }
    let here = doctor::installed(&Adapters::built_in().map_err(Failure::bug)?, &doctor::environment());
    let chosen: Vec<String> = super::init::chosen(&here).into_iter().map(str::to_owned).collect();
    // Nothing is installed: the run refuses to begin and its message says what to do.
    let Some(first) = chosen.first() else { return Ok(None) };
    agents.default = first.clone();
    let builder =
        agents.roles.get("dev").and_then(|role| role.adapter.clone()).unwrap_or_else(|| first.clone());
    // With one agent installed it reviews its own work, in a launch of its own, and the line below says so.
    let another = chosen.iter().find(|name| **name != builder).unwrap_or(&builder).clone();
    if !reviewed {
        role("reviewer", &another, &mut agents.roles);
    }
    let reviewer = args.reviewer.clone().unwrap_or(another);
    let pair = match builder == reviewer {
        true => format!("{builder} builds and reviews, in two launches"),
        false => format!("{builder} builds, {reviewer} reviews"),
    };
    Ok(Some(format!("{pair} (as `tribunal init` would choose; --builder and --reviewer name others)")))
}

/// Names the flag, not the setting it stands for, when an agent given by a flag cannot be used.
fn by_flag(args: &Do, error: SetupError, other: impl FnOnce(SetupError) -> Failure) -> Failure {
    let flag = match &error {
        SetupError::Roster { key, .. } if key.contains("roles.dev.") && args.builder.is_some() => "--builder",
        SetupError::Roster { key, .. } if key.contains("roles.") && args.reviewer.is_some() => "--reviewer",
        _ => return other(error),
    };
    // The key of the setting means nothing to a person who gave a flag.
    let SetupError::Roster { problem, .. } = error else { return other(error) };
    Failure::usage(format!("{flag}: {problem}"))
}

/// Works on the last change again, or begins another change on top if the last one has landed.
fn go_on(globals: &Globals, args: &Do, place: &Place, words: &str) -> Result<Done, Failure> {
    let (id, run_state) = last(place)?;
    let Some(asked) = run_state.about.asked.clone() else { return Err(none_yet()) };
    let seen = place.read(&id)?;
    // Its orchestrator holds the lock of the run, so nothing could go on from here.
    if seen.is_live() {
        return Err(Failure::usage(format!("run {id} is at work"))
            .hint("wait for it, or call it off with `tribunal cancel`"));
    }
    match run_state.run.as_ref().and_then(Run::ending) {
        Some(ending) if ending.is_good() => {
            let earlier = before(*asked, &run_state);
            begin(globals, args, place, DoAsk { words: words.to_owned(), earlier, ..DoAsk::default() })
        }
        Some(ending) => {
            Err(Failure::usage(format!("run {id} ended {}: nothing goes on from it", ending.word()))
                .hint("`tribunal do \"…\"` begins another"))
        }
        None => {
            let question = open_question(&run_state).ok_or_else(|| {
                Failure::usage(format!("run {id} was interrupted, and has nothing to show yet"))
                    .hint(format!("`tribunal resume {id}` goes on with it"))
            })?;
            // Checked before the answer is recorded: the first answer counts, and it must not be spent on a run that
            // cannot go on.
            resume::check_agents(place, &place.project()?, &id)?;
            resume::kept(place, &id, &run_state.about)?;
            again(&seen, &question, words, args.rounds)?;
            drop(seen);
            match asks(globals, args) {
                true => resume::go_on_and_ask(globals, place, &id, args.waiting),
                false => resume::go_on(globals, place, &id, args.waiting, None),
            }
        }
    }
}

/// Everything that was asked for up to now, oldest first; the builder of the next change reads it.
fn before(asked: AskedNote, run_state: &RunState) -> Vec<String> {
    let AskedNote { earlier, words, .. } = asked;
    earlier.into_iter().chain([words]).chain(run_state.more.iter().cloned()).collect()
}

/// The newest run that was asked for in words.
fn last(place: &Place) -> Result<(String, RunState), Failure> {
    for id in place.runs() {
        if let Some(run_state) = place.begun(&id)?
            && run_state.about.asked.is_some()
        {
            return Ok((id, run_state));
        }
    }
    Err(none_yet())
}

fn none_yet() -> Failure {
    Failure::usage("there is no change here to go on with").hint("`tribunal do \"what to do\"` makes one")
}

/// The question that keeps the change from going on.
fn open_question(run_state: &RunState) -> Option<OpenQuestion> {
    land::held_question(run_state).or_else(|| inbox::questions(run_state).into_iter().next())
}

/// Has the change worked on again. Where the question does not allow that, the refusal says which answers it takes.
fn again(seen: &Seen, question: &OpenQuestion, note: &str, rounds: Option<u32>) -> Result<(), Failure> {
    answer(seen, question, Reaction::Again, note, rounds)
}

fn answer(
    seen: &Seen,
    question: &OpenQuestion,
    reaction: Reaction,
    note: &str,
    rounds: Option<u32>,
) -> Result<(), Failure> {
    let (by, note) = (decide::user(None), note.to_owned());
    // Only `again` has rounds.
    let rounds = if reaction == Reaction::Again { rounds.unwrap_or(ROUNDS) } else { 0 };
    let body = inbox::answer(question, Answer { reaction, by, note, rounds, revision: None })?;
    out::say(&decide::post(seen, question, &body)?);
    Ok(())
}

/// Drops the change: nothing of it reaches the branch.
fn drop_it(seen: &Seen, question: &OpenQuestion) -> Result<(), Failure> {
    // A held result is refused by an answer; before that there is only a plan, which is dropped by a message of its
    // own.
    if matches!(question.reason, inbox::Reason::Held(_)) {
        return answer(seen, question, Reaction::Stop, "", None);
    }
    let message = Body::Drop { plan: PlanId::new(words::PLAN), by: decide::user(None) };
    let message = message.message(Time(now())).map_err(Failure::bug)?;
    tribunal_journal::post(&seen.dir, &message)?;
    Ok(())
}

/// Asks what becomes of a change that waits, until the person has decided or leaves it for later.
fn ask(globals: &Globals, args: &Do, place: &Place, mut done: Done) -> Result<Done, Failure> {
    while done == Done::Waits {
        let (id, run_state) = last(place)?;
        let Some(question) = open_question(&run_state) else { return Ok(done) };
        let offers = |reaction| question.offers.contains(&reaction);
        let lands = if offers(Reaction::Land) { "[l]and it   " } else { "" };
        let works = if offers(Reaction::Again) { "[a]gain with a note   " } else { "" };
        out::say(&format!("\n{lands}{works}[o]pen: leave it for later   [d]rop it"));
        let seen = place.read(&id)?;
        match line()?.as_deref().map(str::trim) {
            Some("l" | "land") if offers(Reaction::Land) => {
                answer(&seen, &question, Reaction::Land, "", None)?
            }
            Some("a" | "again") if offers(Reaction::Again) => {
                out::say("What should be different?");
                let note = line()?.unwrap_or_default();
                if note.trim().is_empty() {
                    out::say("nothing was said: nothing was done");
                    continue;
                }
                again(&seen, &question, note.trim(), args.rounds)?;
            }
            Some("d" | "drop") => drop_it(&seen, &question)?,
            // The end of input decides nothing: the change waits, as if the terminal had been closed.
            None | Some("o" | "open") => {
                out::say(&later(&id, &question));
                return Ok(done);
            }
            Some(_) => {
                out::say("answer with one of the letters in brackets");
                continue;
            }
        }
        // The run goes on in this process, which opens the journal itself.
        drop(seen);
        done = resume::go_on_and_ask(globals, place, &id, args.waiting)?;
    }
    Ok(done)
}

/// The commands that take up a change which was left for later.
fn later(id: &str, question: &OpenQuestion) -> String {
    let head = format!("refs/tribunal/{id}/head");
    match question.offers.contains(&Reaction::Land) {
        true => format!(
            "it waits:\n  git diff HEAD...{head}\n  tribunal land {id}\n  tribunal do --continue \"more words\"\n  tribunal decide {} stop --run {id}",
            question.id
        ),
        false => format!("it waits: `tribunal inbox` lists what it takes, `tribunal show {id}` says more"),
    }
}

/// One line from the person; `None` at the end of input.
fn line() -> Result<Option<String>, Failure> {
    let mut line = String::new();
    Ok((std::io::stdin().lock().read_line(&mut line)? > 0).then_some(line))
}

/// Shows the result: the change, what is open and what it cost.
pub fn tell(stay: &Stay<'_>, run_state: &RunState, view: &RunView) -> Result<(), Failure> {
    let change = tribunal_world::change_of(stay.project, stay.id, run_state).unwrap_or_default();
    if stay.globals.json {
        let mut value = serde_json::to_value(view).map_err(Failure::bug)?;
        if let Some(fields) = value.as_object_mut() {
            let words = run_state.about.asked.as_ref().map(|asked| asked.words.clone());
            fields.insert("words".to_owned(), words.into());
            fields.insert("diff".to_owned(), String::from_utf8_lossy(&change).into_owned().into());
        }
        return out::json(&value);
    }
    let style = out::stdout_style(stay.globals);
    let mut text = String::new();
    if !change.is_empty() {
        text.push_str(&format!("\n{}", diff::text(&change, style, DIFF_LINES)));
        text.push_str(&format!("\n  {}\n", plain::line(&diff::counts(&change))));
    }
    // A person who is asked next needs no commands for the answer, and without them the diff stays on the screen.
    match view.questions.first().filter(|_| stay.asks) {
        Some(question) => {
            text.push_str(&summary::before_asking(view, style));
            let why = format!("{}: {}", question.subject, question.why);
            text.push_str(&format!("\n  {}\n{}", style.wrap(&why, "  "), summary::after(view, style)));
        }
        None => text.push_str(&summary::text(view, style)),
    }
    out::data(&text)
}
