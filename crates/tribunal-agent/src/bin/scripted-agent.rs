//! The scripted agent as a program of its own, for tests. All it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = tribunal_agent::scripted::main(
        std::env::args_os().skip(1),
        std::io::stdin().lock(),
        std::io::stdout().lock(),
    );
    ExitCode::from(code)
}
