//! How intake, triage and tracking grow: SARIF logs of 1k to 100k results, read, triaged and compared with themselves
//! shifted by a line. Prints seconds and their multiples of the bare JSON parse.
//!
//! cargo run --release --example bench_scale
#![expect(clippy::print_stdout, reason = "a measuring tool speaks on stdout")]
#![expect(clippy::disallowed_methods, reason = "a measuring tool has a clock")]
#![expect(clippy::unwrap_used, reason = "a measuring tool stops at the first surprise")]

use std::fmt::Write;
use std::time::Instant;
use tribunal_core::finding::{Claim, Source};
use tribunal_core::ids::Seat;
use tribunal_findings::track::pair::Scorer;
use tribunal_findings::track::{Change, FileChange, Hunk, compare};
use tribunal_findings::{Panel, Raised, read_sarif, triage};

fn log(results: u32, shift: u32) -> String {
    let mut text = String::from(r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":["#);
    for n in 0..results {
        let comma = if n > 0 { "," } else { "" };
        let (file, line, rule) = (n / 50, n % 50 * 7 + 1 + shift, n % 40);
        write!(text, r#"{comma}{{"ruleId":"R{rule}","level":"warning","message":{{"text":"value `v{n}` of rule {rule} is not used here"}},"locations":[{{"physicalLocation":{{"artifactLocation":{{"uri":"src/f{file}.rs"}},"region":{{"startLine":{line}}}}}}}]}}"#).unwrap();
    }
    text + "]}]}"
}

fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let value = work();
    (start.elapsed().as_secs_f64(), value)
}

fn main() {
    for results in [1_000, 10_000, 100_000] {
        let (before, after) = (log(results, 0), log(results, 1));
        let (bare, _) = seconds(|| serde_json::from_str::<serde_json::Value>(&before).unwrap());
        let (read, findings) = seconds(|| read_sarif(&before).findings);
        let later = read_sarif(&after).findings;
        let raised = |claims: &[Claim]| -> Vec<Raised> {
            let seat = |n: usize| Source::Seat(Seat::new(if n.is_multiple_of(2) { "a" } else { "b" }));
            claims
                .iter()
                .enumerate()
                .map(|(n, claim)| Raised { source: seat(n), claim: claim.clone() })
                .collect()
        };
        let input = raised(&findings);
        let (sorted, triaged) = seconds(|| triage(input, &Panel::default()));
        let tool = || Source::Check(tribunal_core::ids::Check::new("tool"));
        let alone: Vec<Raised> =
            findings.iter().map(|claim| Raised { source: tool(), claim: claim.clone() }).collect();
        let (one, _) = seconds(|| triage(alone, &Panel::default()));
        println!("{results:>7}: triage of one tool {one:.3}s");
        let files = (0..results / 50).map(|n| {
            let path = Some(format!("src/f{n}.rs"));
            FileChange {
                old: path.clone(),
                new: path,
                hunks: vec![Hunk { old_start: 1, old_len: 0, new_start: 1, new_len: 1 }],
            }
        });
        let change = Change::new(files.collect());
        let (a, b): (Vec<&Claim>, Vec<&Claim>) = (findings.iter().collect(), later.iter().collect());
        let (paired, found) = seconds(|| compare(&a, &b, &change, &|_, _| None, &Scorer::default()));
        let reworded: Vec<Claim> = later
            .iter()
            .map(|c| Claim { rule: None, claim: format!("{} indeed", c.claim), ..c.clone() })
            .collect();
        let c: Vec<&Claim> = reworded.iter().collect();
        let (scored, also) = seconds(|| compare(&a, &c, &change, &|_, _| None, &Scorer::default()));
        println!(
            "{results:>7}: parse {bare:.3}s  read {read:.3}s ({:.1}x)  triage {sorted:.3}s ({} left)  exact {paired:.3}s ({} pairs)  scored {scored:.3}s ({} pairs)",
            read / bare,
            triaged.len(),
            found.pairs.len(),
            also.pairs.len()
        );
    }
}
