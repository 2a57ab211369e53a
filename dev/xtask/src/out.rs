//! Words on the terminal, for all chores. A closed pipe is no error: whoever closed it has read enough.

use std::io::Write;

/// One line for whoever reads the result.
pub fn line(text: impl AsRef<str>) {
    let _closed = writeln!(std::io::stdout().lock(), "{}", text.as_ref());
}

/// One line about how it goes.
pub fn progress(text: impl AsRef<str>) {
    let _closed = writeln!(std::io::stderr().lock(), "{}", text.as_ref());
}
