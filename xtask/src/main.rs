//! Builds Onceover with nothing that is not in `Cargo.lock`: `cargo xtask build`.

mod browser;
mod cargo;
mod compression;
mod site;
mod style;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{cargo::Workspace, site::Profile};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Builds Onceover", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build what the browser loads (script, WebAssembly, style, pictures) into target/site
    Site {
        /// Compile the WebAssembly fast instead of small
        #[arg(long)]
        dev: bool,
    },
    /// Build the site, then the release binary with the site inside it
    Build,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<()> {
    let workspace = Workspace::find()?;
    match task {
        Task::Site { dev: true } => site::build(&workspace, Profile::Dev).map(drop),
        Task::Site { dev: false } => site::build(&workspace, Profile::Small).map(drop),
        Task::Build => {
            let site = site::build(&workspace, Profile::Small)?;
            workspace.build_server(&site)
        }
    }
}

/// Tells whoever waits for the build; standard output stays free for what a task produces.
#[allow(clippy::print_stderr, reason = "a build tool speaks through standard error")]
fn say(line: &str) {
    eprintln!("{line}");
}
