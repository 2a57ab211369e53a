//! Starting: `tribunal --version` against `/bin/true`, taking turns.

use super::table::Table;
use super::{Bench, Result, drive, median};
use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Instant;

/// Measures `startup_x`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let runs = if bench.quick { 20 } else { 500 };
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        floor.push(once("/bin/true".as_ref(), &[])?);
        ours.push(once(bench.binary.path().as_os_str(), &["--version"])?);
    }
    let (ours, floor) = (median(ours), median(floor));
    table.add("startup_x", ours / floor, 4.0, format!("median of {runs} each, wall"));
    table.detail(format!("startup: tribunal --version {ours:.2} ms, /bin/true {floor:.2} ms"));
    Ok(())
}

fn once(program: &OsStr, args: &[&str]) -> Result<f64> {
    let began = Instant::now();
    let status = drive::command(program).args(args).stdout(Stdio::null()).status()?;
    let ms = began.elapsed().as_secs_f64() * 1e3;
    if status.success() { Ok(ms) } else { Err(format!("{program:?} ended with {status}").into()) }
}
