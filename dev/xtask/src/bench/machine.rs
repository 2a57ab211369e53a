//! The machine that is measured on, and what /proc says a process cost. It reads and never changes anything.

use std::fs;
use std::time::Duration;

/// Linux counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// One line: cores, processor, memory, kernel, how busy it is.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (cpus, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_owned())
            .unwrap_or_default()
    };
    let memory_kb: u64 =
        field(&memory, "MemTotal").split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let load = read("/proc/loadavg");
    format!(
        "machine: {cores} cores, {}, {} GB, Linux {}, load before {}",
        field(&cpus, "model name"),
        memory_kb >> 20,
        read("/proc/sys/kernel/osrelease").trim(),
        load.split(' ').next().unwrap_or("?")
    )
}

/// Processor time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Its own.
    pub own: Duration,
    /// That of its children who ended and were waited for, and theirs.
    pub children: Duration,
}

/// What a process has used so far; `None` when it is gone.
pub fn cpu(pid: &str) -> Option<Cpu> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(stat: &str) -> Option<Cpu> {
    let rest = stat.get(stat.rfind(')')? + 1..)?;
    let fields: Vec<u32> = rest.split_ascii_whitespace().map(|n| n.parse().unwrap_or(0)).collect();
    let ticks = |at: usize| fields.get(at).map(|n| TICK * *n);
    Some(Cpu { own: ticks(11)? + ticks(12)?, children: ticks(13)? + ticks(14)? })
}

/// What all children of this program have used that ended and were waited for.
pub fn spent_by_children() -> Duration {
    cpu("self").map_or(Duration::ZERO, |cpu| cpu.children)
}

/// What this thread has used, to the nanosecond.
pub fn spent_by_thread() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_ascii_whitespace().next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// The most memory a process has held so far, in kilobytes; `None` when it is gone.
pub fn peak_kb(pid: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_shifts_no_field() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 0 0 0 0 0 10 20 30 40 20 0 1 0 99 5 6";
        let ms = Duration::from_millis;
        assert_eq!(parse_stat(stat), Some(Cpu { own: ms(300), children: ms(700) }));
    }

    #[test]
    fn this_process_has_memory_and_a_thread_that_worked() {
        assert!(peak_kb("self").unwrap() > 0);
        // The kernel counts in ticks: work until the first one.
        while spent_by_thread() == Duration::ZERO {
            std::hint::black_box(describe());
        }
        assert!(describe().contains("cores"));
    }
}
