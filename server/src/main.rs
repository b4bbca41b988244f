//! The `onceover` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    server::cli::main()
}
