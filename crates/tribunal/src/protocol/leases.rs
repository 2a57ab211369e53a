//! `lease-lock` and `lock-lite`: take files, give them back, ask who has them.
//!
//! The table of leases is changed under one lock of the operating system, so two tasks that ask at the same moment
//! never both get a file, and a crash leaves no lock behind.

use super::args::{Lease, LeaseAction};
use super::{Answer, ground, listed, settings};
use crate::failure::Failure;
use serde_json::{Map, json};
use tribunal_core::contract::clean;
use tribunal_core::lease::{Conflict, Leases, Moment};
use tribunal_docs::PlanId;
use tribunal_protocol::{Ground, with_leases};
use tribunal_view::protocol as view;

/// A request, with everything it needs.
struct Wanted<'a> {
    action: LeaseAction,
    task: &'a str,
    files: Vec<String>,
    ttl_ms: Option<u64>,
}

/// The result of a request.
enum Came {
    Done(&'static str, usize),
    Conflicts(Vec<Conflict>),
    NoLease,
}

/// Runs a lease command; `timed` says whether leases expire by themselves (`lease-lock`) or not (`lock-lite`).
pub fn run(args: &Lease, timed: bool) -> Result<Answer, Failure> {
    let ground = ground(None)?;
    let wanted = wanted(args, timed, &ground)?;
    let leased = with_leases(&ground.state(), |leases, now| act(leases, &wanted, now))?;
    let word = format!("{:?}", args.action).to_lowercase();
    let (result, conflicts, count, code) = match leased.answer {
        Came::Done(result, count) => (result, Vec::new(), count, 0),
        Came::Conflicts(conflicts) => ("conflict", conflicts, 0, 2),
        Came::NoLease => ("no_lease", Vec::new(), 0, 2),
    };
    // Asking is not a conflict; only a refused lease is an event.
    if !conflicts.is_empty() && args.action != LeaseAction::Check {
        let data =
            json!({ "task_id": wanted.task, "held_by": conflicts[0].held_by, "file": conflicts[0].file });
        let data = data.as_object().cloned().unwrap_or_else(Map::new);
        let plan = plan_of(wanted.task);
        let phase = plan.as_ref().map(|id| id.phase.clone()).unwrap_or_default();
        let plan = plan.map(|id| id.to_string()).unwrap_or_default();
        tribunal_protocol::append(&ground.state(), "lease_conflict", &phase, &plan, data)?;
    }
    let shown: Vec<(&Conflict, Option<String>)> = conflicts
        .iter()
        .map(|conflict| (conflict, conflict.expires_ms.map(tribunal_view::calendar::timestamp_with_ms)))
        .collect();
    Ok(Answer::new(view::lease(&word, result, wanted.task, &wanted.files, &shown, count), code))
}

/// The plan in the name of a task: `01-02-T1`.
fn plan_of(task: &str) -> Option<PlanId> {
    let (plan, number) = task.rsplit_once("-T")?;
    number.parse::<u32>().ok()?;
    let argument = tribunal_docs::plan_argument(plan)?;
    Some(PlanId::new(&argument.phase?, &argument.number))
}

fn wanted<'a>(args: &'a Lease, timed: bool, ground: &Ground) -> Result<Wanted<'a>, Failure> {
    let task = args.owner.as_deref().or(args.task_id.as_deref()).unwrap_or_default().trim();
    // If `--owner` names the task, the word in the task's place is the first file.
    let first = args.task_id.iter().filter(|_| args.owner.is_some());
    let named: Vec<String> = first.chain(&args.files).cloned().collect();
    if task.is_empty() && args.action != LeaseAction::Cleanup {
        return Err(Failure::usage("which task? TASK_ID is missing"));
    }
    let mut files = Vec::new();
    for file in listed(ground, &named) {
        // One name for each file: a path with `..`, an absolute one or a link would get past another task's lease.
        let named = clean(&file).or_else(|| ground.relative(std::path::Path::new(&file)));
        let Some(file) = named.and_then(|file| ground.real(&file)) else {
            return Err(Failure::usage(format!("{file:?} is not inside the project")));
        };
        files.push(file);
    }
    if files.is_empty() && args.action == LeaseAction::Acquire {
        return Err(Failure::usage("which files? FILES is missing"));
    }
    let ttl_s = match (timed, args.ttl) {
        (false, Some(_)) => {
            return Err(
                Failure::usage("a lock of lock-lite has no end").hint("take --ttl away, or use lease-lock")
            );
        }
        (false, None) => None,
        (true, Some(0)) => {
            return Err(Failure::usage("--ttl=0 would hold nothing").hint("give at least one second"));
        }
        (true, Some(ttl)) => Some(ttl),
        (true, None) => Some(settings(ground)?.settings.gates.lease_ttl_s),
    };
    Ok(Wanted { action: args.action, task, files, ttl_ms: ttl_s.map(|ttl| ttl.saturating_mul(1000)) })
}

fn act(leases: &mut Leases, wanted: &Wanted<'_>, now: &Moment) -> Came {
    match wanted.action {
        LeaseAction::Acquire => match leases.acquire(wanted.task, &wanted.files, wanted.ttl_ms, now) {
            Ok(()) => Came::Done("acquired", wanted.files.len()),
            Err(conflicts) => Came::Conflicts(conflicts),
        },
        LeaseAction::Renew => match leases.renew(wanted.task, wanted.ttl_ms, now) {
            None => Came::NoLease,
            // A renewal may name more files, which are asked for as well.
            Some(Ok(())) => match leases.acquire(wanted.task, &wanted.files, wanted.ttl_ms, now) {
                Ok(()) => Came::Done("acquired", 0),
                Err(conflicts) => Came::Conflicts(conflicts),
            },
            Some(Err(conflicts)) => Came::Conflicts(conflicts),
        },
        LeaseAction::Release => {
            let files = match wanted.files.is_empty() {
                true => leases.release(wanted.task).map_or(0, |lease| lease.files.len()),
                false => leases.release_files(wanted.task, &wanted.files),
            };
            // Giving back nothing is a success: a script may release twice.
            Came::Done(if files == 0 { "clear" } else { "released" }, files)
        }
        LeaseAction::Check => match leases.conflicts(wanted.task, &wanted.files, now) {
            conflicts if conflicts.is_empty() => Came::Done("clear", 0),
            conflicts => Came::Conflicts(conflicts),
        },
        LeaseAction::Cleanup => Came::Done("clear", leases.cleanup(now)),
    }
}
