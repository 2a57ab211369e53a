//! The scripted agent as a program of its own, for tests. Everything it does is in the library, because the main
//! program ships it as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = tribunal_agent::scripted::main(
        std::env::args_os().skip(1),
        std::io::stdin().lock(),
        std::io::stdout().lock(),
    );
    ExitCode::from(code)
}
