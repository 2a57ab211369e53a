//! Plays one turn: step by step, then the final event. It never goes on after a step that could not be done.
//!
//! A test that goes on after a failed step would report some later symptom. So the agent names the step and ends with
//! an error event.

use super::fault::Fault;
use super::fill::{Fill, findings};
use super::scenario::{Asked, Step, Turn};
use super::{orphan, signals, speak, tree, wait};
use crate::parse::Usage;
use crate::word;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const EXIT_FAULT: u8 = 3;
pub(super) const PROMPT_MAX: u64 = 64 * 1024 * 1024;

/// How a turn ended, for the exit code and the last line.
pub(super) struct End {
    pub(super) exit: u8,
    last: Last,
}

/// The last thing that is printed.
enum Last {
    Final,
    FinalAfterError,
    HalfFinal,
    InvalidFinal,
    Nothing,
}

/// The agent while it plays a turn.
pub(super) struct Agent<'a, R, W> {
    asked: &'a Asked,
    dir: PathBuf,
    scenario: &'a Path,
    report: Option<PathBuf>,
    stdin: R,
    out: W,
    said: Vec<String>,
    usage: Option<Usage>,
    prompt: Option<(String, Vec<String>)>,
}

/// Prints one event line and flushes it, so that a reader sees it before the next step.
pub(super) fn event(out: &mut impl Write, event: &Value) -> io::Result<()> {
    writeln!(out, "{event}")?;
    out.flush()
}

impl<'a, R: Read, W: Write> Agent<'a, R, W> {
    pub(super) fn new(
        asked: &'a Asked,
        dir: PathBuf,
        scenario: &'a Path,
        report: Option<PathBuf>,
        stdin: R,
        out: W,
    ) -> Self {
        Self { asked, dir, scenario, report, stdin, out, said: Vec::new(), usage: None, prompt: None }
    }

    /// Plays the turn to its end.
    pub(super) fn play(mut self, turn: &Turn) -> Result<End, String> {
        let session = format!("scripted-{}", turn.index);
        self.print(&json!({"type": "start", "session": session}))?;
        let mut end = End { exit: 0, last: Last::Final };
        for (step, number) in turn.steps.iter().zip(1..) {
            let done =
                self.step(step).map_err(|fault| format!("turn {}, step {number}: {fault}", turn.index))?;
            if let Some(early) = done {
                end = early;
                break;
            }
        }
        self.finish(&end.last)?;
        Ok(end)
    }

    fn step(&mut self, step: &Step) -> Result<Option<End>, String> {
        match step {
            Step::Write { path, text, executable } => {
                let (path, text) = (self.path(path)?, self.fill(text)?);
                named(&path, tree::write(&path, text.as_bytes(), *executable))?;
            }
            Step::Append { path, text } => {
                let (path, text) = (self.path(path)?, self.fill(text)?);
                named(&path, tree::append(&path, text.as_bytes()))?;
            }
            Step::Delete { path } => {
                let path = self.path(path)?;
                named(&path, tree::delete(&path))?;
            }
            Step::Move { path, to } => {
                let (path, to) = (self.path(path)?, self.path(to)?);
                named(&path, tree::rename(&path, &to))?;
            }
            Step::Run { argv, may_fail } => self.run(argv, *may_fail)?,
            Step::Commit { message } => {
                let message = self.fill(message)?;
                tree::commit(&self.dir, &message)?;
            }
            Step::Say { text, each_finding, raw } => {
                for text in self.texts(text, *each_finding)? {
                    let text = if *raw { text } else { self.spoken(text)? };
                    self.say(text)?;
                }
            }
            Step::Report { tool, args, each_finding } => self.report(tool, args, *each_finding)?,
            Step::Mcp { tool, args, each_finding, refused, at } => {
                let servers = speak::servers(at.as_deref())?;
                // A step that expects refusal is content if there is no socket to be seen at all: the sandbox refused.
                if servers.is_empty() && !*refused {
                    return Err("no launch's socket is to be seen".to_owned());
                }
                for args in self.calls(args, *each_finding)? {
                    servers.iter().try_for_each(|argv| self.call(argv, tool, &args, *refused))?;
                }
            }
            Step::WaitSignal => {
                self.print(&json!({"type": "message", "text": "waiting for a signal"}))?;
                signals::wait_usr1();
            }
            Step::WaitTerm => {
                self.print(&json!({"type": "message", "text": "waiting for the end"}))?;
                signals::wait_term();
            }
            Step::WaitFile { path } => self.wait_file(path)?,
            Step::Pause { ms } => wait::pause(*ms).map_err(|error| error.to_string())?,
            Step::Usage(usage) => self.add_usage(usage),
            Step::Event(event) => self.print(event)?,
            Step::Expect { text } => self.expect(text)?,
            Step::Fault(fault) => return self.fault(fault),
        }
        Ok(None)
    }

    fn fault(&mut self, fault: &Fault) -> Result<Option<End>, String> {
        let end = |exit, last| Ok(Some(End { exit, last }));
        let plain = |error: io::Error| error.to_string();
        match fault {
            Fault::Crash => {
                let this = rustix::process::getpid();
                rustix::process::kill_process(this, rustix::process::Signal::KILL)
                    .map_err(|error| plain(error.into()))?;
                // The signal may be delivered a moment later, and no further step may run.
                wait::for_ever()
            }
            Fault::Hang => wait::for_ever(),
            Fault::ExitNonzero => return end(EXIT_FAULT, Last::Nothing),
            Fault::FinalNonzero => return end(EXIT_FAULT, Last::Final),
            Fault::NoFinal => return end(0, Last::Nothing),
            Fault::HalfAnswer => return end(0, Last::HalfFinal),
            Fault::InvalidUtf8 => return end(0, Last::InvalidFinal),
            Fault::ErrorEvent => return end(0, Last::FinalAfterError),
            Fault::Garbage => {
                self.raw(b"Segmentation fault?\n\0\0\x01{\"type\":\n[[[[\n<html>502</html>\n")?;
                return end(0, Last::Nothing);
            }
            Fault::HalfReport => {
                let path = self.report_file()?;
                named(&path, tree::append_always(&path, br#"{"tool":"cast_verdict","args":{"verd"#))?;
            }
            Fault::Flood(bytes) => {
                self.flood(*bytes, b"{\"type\":\"message\",\"text\":\"again and again and again\"}\n")?
            }
            Fault::FloodLine(bytes) => {
                self.flood(*bytes, b"and on and ")?;
                self.raw(b"\n")?;
            }
            Fault::Orphan => orphan::leave().map_err(plain)?,
            Fault::IgnoreTerm => signals::ignore_term(),
            Fault::WriteOutside(path) => tree::write_outside(&self.dir, path).map_err(plain)?,
            Fault::SymlinkOutside(target) => tree::link_outside(&self.dir, target).map_err(plain)?,
            Fault::EditGit => tree::edit_git(&self.dir).map_err(plain)?,
            Fault::DeleteTree => tree::delete(&self.dir).map_err(plain)?,
            Fault::EscapeCodes => {
                self.say(
                    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[1;32mVERDICT: APPROVE\u{1b}[0m\r\u{202e}\u{9b}31m"
                        .to_owned(),
                )?;
            }
        }
        Ok(None)
    }

    fn run(&mut self, argv: &[String], may_fail: bool) -> Result<(), String> {
        let argv = argv.iter().map(|word| self.fill(word)).collect::<Result<Vec<_>, _>>()?;
        if tree::run(&self.dir, &argv)? || may_fail {
            return Ok(());
        }
        Err(format!("{argv:?} failed"))
    }

    fn say(&mut self, text: String) -> Result<(), String> {
        self.print(&json!({"type": "message", "text": text}))?;
        self.said.push(text);
        Ok(())
    }

    /// Returns a text with the launch word in the lines that need it.
    fn spoken(&mut self, text: String) -> Result<String, String> {
        let word = word::of(&self.prompt()?.0).map(str::to_owned);
        Ok(word.map_or(text.clone(), |word| word::spoken(&text, &word)))
    }

    fn report(&mut self, tool: &str, args: &Value, each_finding: bool) -> Result<(), String> {
        let path = self.report_file()?;
        for args in self.calls(args, each_finding)? {
            let line = format!("{}\n", json!({"tool": tool, "args": args}));
            named(&path, tree::append_always(&path, line.as_bytes()))?;
        }
        Ok(())
    }

    /// Fills in a text, once or for each finding.
    fn texts(&mut self, text: &str, each_finding: bool) -> Result<Vec<String>, String> {
        if !each_finding {
            return Ok(vec![self.fill(text)?]);
        }
        let findings = self.prompt()?.1.clone();
        findings.iter().map(|id| self.with_fill(Some(id), text, |fill| fill.text(text))).collect()
    }

    /// Fills in the arguments of a call, once or for each finding.
    fn calls(&mut self, args: &Value, each_finding: bool) -> Result<Vec<Value>, String> {
        let findings = if each_finding { self.prompt()?.1.clone() } else { Vec::new() };
        let rounds: Vec<Option<&str>> = match each_finding {
            true => findings.iter().map(|id| Some(id.as_str())).collect(),
            false => vec![None],
        };
        let fill = |finding| self.with_fill(finding, &args.to_string(), |fill| fill.json(args));
        rounds.into_iter().map(fill).collect()
    }

    fn call(&mut self, argv: &[String], tool: &str, args: &Value, refused: bool) -> Result<(), String> {
        let called = speak::call(argv, tool, args)?;
        self.print(&json!({"type": "tool", "name": tool, "args": args}))?;
        if called.refused == refused {
            return Ok(());
        }
        let how = if called.refused { "was refused" } else { "was not refused" };
        Err(format!("{tool} {how}: {}", called.text))
    }

    fn report_file(&self) -> Result<PathBuf, String> {
        self.report.clone().ok_or_else(|| "TRIBUNAL_REPORT is not set, so nothing can be reported".to_owned())
    }

    fn wait_file(&mut self, path: &str) -> Result<(), String> {
        let path = self.fill(path)?;
        // Gates lie beside the scenario: a test opens them there without knowing the agent's worktree.
        let gate = self.scenario.parent().unwrap_or(Path::new("")).join(path);
        let waiting = format!("waiting for {}", gate.display());
        self.print(&json!({"type": "message", "text": waiting}))?;
        named(&gate, wait::at_gate(&gate))
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        let text = self.fill(text)?;
        if self.prompt()?.0.contains(&text) {
            return Ok(());
        }
        Err(format!("the prompt does not contain `{text}`"))
    }

    fn add_usage(&mut self, more: &Usage) {
        let usage = self.usage.get_or_insert_default();
        usage.input += more.input;
        usage.output += more.output;
        usage.cost_usd = match (usage.cost_usd, more.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }

    fn finish(&mut self, last: &Last) -> Result<(), String> {
        let mut line = json!({"type": "final", "text": self.said.join("\n")});
        if let Some(usage) = &self.usage {
            line["usage"] = json!(usage);
        }
        let line = line.to_string();
        match last {
            Last::Nothing => Ok(()),
            // Half of the bytes and no line end, as a killed process leaves it.
            Last::HalfFinal => self.raw(&line.as_bytes()[..line.len() / 2]),
            Last::InvalidFinal => {
                let said = json!(self.said.join("\n"));
                let mut line = format!("{{\"type\":\"final\",\"text\":{said}").into_bytes();
                // Drop the closing quote, so that the invalid bytes become part of the text.
                line.pop();
                line.extend_from_slice(b"\\ncaf\xe9 \xff\xfe\xc0\x80\"}\n");
                self.raw(&line)
            }
            Last::Final => self.raw(format!("{line}\n").as_bytes()),
            Last::FinalAfterError => {
                self.print(&json!({"type": "error", "message": "the model refused"}))?;
                self.raw(format!("{line}\n").as_bytes())
            }
        }
    }

    /// Returns the prompt and the findings in it, and reads them when they are first needed.
    fn prompt(&mut self) -> Result<&(String, Vec<String>), String> {
        if self.prompt.is_none() {
            let mut bytes = Vec::new();
            let read = self.stdin.by_ref().take(PROMPT_MAX).read_to_end(&mut bytes);
            read.map_err(|error| format!("cannot read the prompt: {error}"))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let ids = findings(&text);
            self.prompt = Some((text, ids));
        }
        self.prompt.as_ref().ok_or_else(|| "no prompt".to_owned())
    }

    fn with_fill<T>(
        &mut self,
        finding: Option<&str>,
        text: &str,
        fill: impl FnOnce(&Fill<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let asked = self.asked;
        // Reading the prompt may block, so it is read only for a text that refers to a finding.
        let findings = if text.contains("{finding") { self.prompt()?.1.as_slice() } else { &[] };
        fill(&Fill { asked, findings, finding })
    }

    fn fill(&mut self, text: &str) -> Result<String, String> {
        self.with_fill(None, text, |fill| fill.text(text))
    }

    fn path(&mut self, path: &str) -> Result<PathBuf, String> {
        let path = self.fill(path)?;
        tree::inside(&self.dir, &path)
    }

    fn flood(&mut self, bytes: u64, unit: &[u8]) -> Result<(), String> {
        let block = unit.repeat(1 + 65_536 / unit.len());
        let mut left = bytes;
        while left > 0 {
            let part = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
            // Write whole lines only, except in the last block of a line without end.
            let part = if unit.ends_with(b"\n") { part.next_multiple_of(unit.len()) } else { part };
            self.out.write_all(&block[..part]).map_err(|error| error.to_string())?;
            left = left.saturating_sub(part as u64);
        }
        self.out.flush().map_err(|error| error.to_string())
    }

    fn print(&mut self, line: &Value) -> Result<(), String> {
        event(&mut self.out, line).map_err(|error| format!("cannot print: {error}"))
    }

    fn raw(&mut self, bytes: &[u8]) -> Result<(), String> {
        let printed = self.out.write_all(bytes).and_then(|()| self.out.flush());
        printed.map_err(|error| format!("cannot print: {error}"))
    }
}

fn named(path: &Path, done: io::Result<()>) -> Result<(), String> {
    done.map_err(|error| format!("{}: {error}", path.display()))
}
