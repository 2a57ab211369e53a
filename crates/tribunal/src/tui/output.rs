//! The last lines an agent wrote, from the files of its launch. Links are not followed, and control sequences are
//! removed.
//!
//! Everything in the file comes from an agent that may still be writing it. So the file is opened with care and read
//! from its end, and its text is never printed as it is.

use std::path::{Path, PathBuf};
use tribunal_view::plain;

/// How many bytes are read from the end of the file.
const BYTES: u64 = 8 << 10;
/// How many lines are kept, more than any screen shows.
const LINES: usize = 60;

/// The last lines of the agent that works on `of` now.
pub fn tail(run_dir: &Path, of: &str) -> Vec<String> {
    newest(&run_dir.join("launches"), of).and_then(|dir| read(&dir.join("stdout"))).unwrap_or_default()
}

/// The launch that began last and has not ended.
fn newest(launches: &Path, of: &str) -> Option<PathBuf> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-+".contains(c) { c } else { '_' };
    // A launch's folder is named by its effect, such as `01-02/task-1.3/e1/…`, with `/` as `_`. Up to `_e` it is the
    // loop.
    let prefix: String = of.chars().map(plain).chain("_e".chars()).collect();
    let entries = std::fs::read_dir(launches).ok()?.filter_map(Result::ok);
    let of = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    let open = of.filter(|entry| !entry.path().join("exit.json").exists());
    open.max_by_key(|entry| entry.metadata().and_then(|meta| meta.modified()).ok()).map(|entry| entry.path())
}

fn read(path: &Path) -> Option<Vec<String>> {
    let bytes = tribunal_process::tail(path, BYTES).ok()?;
    let text = plain::block(&String::from_utf8_lossy(&bytes));
    let lines: Vec<String> = text.lines().map(|line| plain::clipped(line, 400)).collect();
    Some(lines[lines.len().saturating_sub(LINES)..].to_vec())
}
