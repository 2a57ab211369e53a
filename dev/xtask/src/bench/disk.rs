//! Disk: the demo's phase run again and again in one project, each time from where it began, then `tribunal gc`. What is
//! left is compared with what one run leaves. Git keeps what nothing names for two weeks; here it is told not to.

use super::table::Table;
use super::{Bench, Result, drive};
use std::path::Path;
use std::process::Stdio;

/// Measures `disk_x`.
pub fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let runs = if bench.quick { 3 } else { 100 };
    let dir = tempfile::Builder::new().prefix("tribunal-bench-").tempdir()?;
    let root = dir.path().join("demo");
    let program = |args: &[&str]| {
        let mut command = drive::command(bench.binary.path());
        let status =
            command.arg("-C").arg(&root).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("tribunal {args:?} ended with {status}").into()) as Result<()>
        }
    };
    let made = drive::command(bench.binary.path()).args(["demo", "--quiet", "--dir"]).arg(&root).output()?;
    if !made.status.success() {
        return Err(format!("the demo ended with {}", made.status).into());
    }
    let one = left(&root, &program)?;
    for _ in 1..runs {
        drive::git(&root, &["reset", "--quiet", "--hard", ":/chore: begin"])?;
        std::fs::remove_dir_all(root.join("scene.toml.used"))?;
        program(&["run", "--quiet"])?;
    }
    let kept = used(&root)?;
    let all = left(&root, &program)?;
    table.add(
        "disk_x",
        all as f64 / one as f64,
        1.5,
        format!("left by {runs} demo runs and `gc`, against one run"),
    );
    table.detail(format!(
        "disk: {runs} runs keep {} KiB until `tribunal gc`, then {} KiB; one run then {} KiB",
        kept / 1024,
        all / 1024,
        one / 1024
    ));
    Ok(())
}

/// What is left once everything old is removed.
fn left(root: &Path, program: &dyn Fn(&[&str]) -> Result<()>) -> Result<u64> {
    program(&["gc", "--older-than", "0", "--force"])?;
    drive::git(root, &["reflog", "expire", "--expire=now", "--all"])?;
    drive::git(root, &["gc", "--quiet", "--prune=now"])?;
    used(root)
}

/// Bytes of `.git` and `.tribunal`, in whole blocks.
fn used(root: &Path) -> Result<u64> {
    Ok(blocks(&root.join(".git"))? + blocks(&root.join(".tribunal"))?)
}

fn blocks(path: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let known = std::fs::symlink_metadata(path)?;
    let mut sum = known.blocks() * 512;
    if known.is_dir() {
        for entry in std::fs::read_dir(path)? {
            sum += blocks(&entry?.path())?;
        }
    }
    Ok(sum)
}
