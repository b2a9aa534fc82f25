//! How far comparisons of kernels in guests can be trusted, and what they say of two kernels: it drives the program itself, so
//! that what is tried is what a user has.
//!
//! `cargo run -p bench-guest -- --vfscale target/release/vfscale equal`; `--help` has the others. Each boots many guests.

mod alarms;
mod equal;
mod table;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use results::Comparison;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The workloads of the mails.
const WORKLOADS: [&str; 10] = [
    "open_close",
    "open_shared",
    "file_ops",
    "openbench",
    "fd_read",
    "fstat",
    "stat_shared",
    "creat_close",
    "unlink_open",
    "truncate_by_byte",
];

/// A/A of guests, and two kernels.
#[derive(Debug, Parser)]
struct Args {
    /// The program
    #[arg(long, default_value = "target/release/vfscale")]
    vfscale: PathBuf,
    /// Seed of the first boot
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// One kernel against itself by --clock instructions: how far two boots with one seed are apart, per CPU model
    Equal {
        /// As after guest:
        #[arg(default_value = "6.1")]
        kernel: String,
        /// Seeds; each is booted twice under each CPU model
        #[arg(long, default_value_t = 6)]
        boots: u32,
    },
    /// One kernel against itself by the ordinary clock: how often that is called a difference
    Alarms {
        /// As after guest:
        #[arg(default_value = "6.1,cpus=1")]
        kernel: String,
        /// Comparisons of all workloads, each of twelve boots
        #[arg(long, default_value_t = 5)]
        comparisons: u32,
        /// Seconds of slices of each comparison
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Two kernels by --clock instructions, as a table in Markdown
    Table {
        /// As after guest:
        #[arg(default_value = "6.1")]
        before: String,
        /// Likewise
        #[arg(default_value = "6.12")]
        after: String,
        /// Boots of each kernel under each CPU model
        #[arg(long, default_value_t = 6)]
        boots: u32,
    },
}

fn main() -> anyhow::Result<()> {
    let Args { vfscale, seed, what } = Args::parse();
    let program = Program { path: vfscale };
    match what {
        What::Equal { kernel, boots } => equal::run(&program, &kernel, boots, seed),
        What::Alarms { kernel, comparisons, seconds } => {
            alarms::run(&program, &kernel, comparisons, seconds, seed)
        }
        What::Table { before, after, boots } => {
            table::run(&program, [&before, &after], boots, seed)
        }
    }
}

/// The program that is tried.
struct Program {
    path: PathBuf,
}

impl Program {
    /// `vfscale compare` of two guests on the mails' workloads, with these further arguments.
    fn compare(&self, guests: [&str; 2], more: &[&str]) -> anyhow::Result<Comparison> {
        let path = self.path.display();
        let mut command = Command::new(&self.path);
        command.arg("compare").args(guests.map(|guest| format!("guest:{guest}")));
        command.args(WORKLOADS).args(more).args(["--format", "json"]);
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {path}: build it, or name it with --vfscale"))?;
        if !output.status.success() {
            bail!("{path} compare: {}", output.status);
        }
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{path} is of another version: build it and this again"))
    }
}

/// The CPU model that a guest's name has.
fn model(target: &str) -> &str {
    let from = target.find(",cpu=").map_or(target.len(), |at| at + ",cpu=".len());
    let rest = &target[from..];
    // A feature begins with its sign; any other word is no part of the model.
    let mut end = rest.find(',').unwrap_or(rest.len());
    while rest[end..].starts_with(",-") || rest[end..].starts_with(",+") {
        end += 1 + rest[end + 1..].find(',').unwrap_or(rest.len() - end - 1);
    }
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_ends_where_its_features_end() {
        for (target, expected) in [
            ("guest:6.1,cpu=max", "max"),
            ("guest:6.1,cpu=max,-erms,-fsrm", "max,-erms,-fsrm"),
            ("guest:6.1,cpu=max,-erms,fs=ext4", "max,-erms"),
            ("guest:6.1,cpu=max,fs=ext4,append=a,-b", "max"),
            ("guest:6.1,cpus=2", ""),
        ] {
            assert_eq!(model(target), expected, "{target}");
        }
    }
}
