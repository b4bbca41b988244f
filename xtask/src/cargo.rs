//! The workspace, and the calls of cargo that build its halves.

use std::{env, path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};
use cargo_metadata::MetadataCommand;

use crate::site::{Profile, Stamp};

/// Where things lie.
pub(crate) struct Workspace {
    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where cargo builds; not necessarily below the root.
    target: PathBuf,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn find() -> Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
        Ok(Self { root: metadata.workspace_root.into(), target: metadata.target_directory.into() })
    }

    /// Compiles the browser's half of the desk and returns where its WebAssembly lies.
    pub(crate) fn build_browser_half(&self, profile: Profile) -> Result<PathBuf> {
        const TARGET: &str = "wasm32-unknown-unknown";
        let (profile, folder) = match profile {
            Profile::Small => ("wasm-release", "wasm-release"),
            Profile::Dev => ("dev", "debug"),
        };
        // Asked for here and not in the manifest: there, every build of the server would link a library that nobody loads.
        self.cargo(&[
            "rustc",
            "--crate-type=cdylib",
            "--package=onceover-app",
            "--lib",
            "--features=hydrate",
            "--target",
            TARGET,
            "--profile",
            profile,
            // What the splitter needs to tell which code each part reaches.
            "--",
            "-Clink-args=--emit-relocs",
        ])?;
        Ok(self.target.join(TARGET).join(folder).join("app.wasm"))
    }

    /// Compiles the release binary around the site. The stamp makes cargo compile it again when the site is another one.
    pub(crate) fn build_server(&self, site: &Stamp) -> Result<()> {
        let mut build = self.command(&["build", "--package=onceover-server", "--bin=onceover", "--release"]);
        run(build.env("ONCEOVER_SITE_STAMP", site.as_str()))
    }

    fn cargo(&self, arguments: &[&str]) -> Result<()> {
        run(&mut self.command(arguments))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let (task, rest) = arguments.split_at(arguments.len().min(1));
        command.args(task).arg("--locked").args(rest).current_dir(&self.root);
        command
    }
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
