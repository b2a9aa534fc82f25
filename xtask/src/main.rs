//! `cargo xtask docs`: makes anew what is generated and checked in, and the completions beside the build.

use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use xtask::{Program, docs};

const USAGE: &str = "\
usage: cargo xtask docs          writes docs/man and the output shown in docs/**.md; completions to target/completions
       cargo xtask docs --check  says what of it is not up to date, and exits with 1";

/// Shell, and what its completions are called where it looks for them.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "vfscale"), ("zsh", "_vfscale"), ("fish", "vfscale.fish")];

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["docs"] => make(false),
        ["docs", "--check"] => make(true),
        _ => bail!("{USAGE}"),
    }
}

fn make(check: bool) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let program = build(&root)?;
    let all = docs::generate(&program, &root)?;
    if check {
        let found = docs::differences(&all, &root)?;
        ensure!(found.is_empty(), "{}\nrun: cargo xtask docs", found.join("\n"));
        return Ok(());
    }
    for line in docs::write(&all, &root)? {
        println!("{line}");
    }
    let folder = target()?.join("completions");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (shell, name) in COMPLETIONS {
        fs::write(folder.join(name), program.output(&["completions", shell])?)?;
    }
    println!("completions: {}", folder.display());
    Ok(())
}

/// Builds the program; it then lies beside this one.
fn build(root: &Path) -> anyhow::Result<Program> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", "vfscale"])
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "vfscale does not build");
    Ok(Program::new(env::current_exe()?.with_file_name("vfscale")))
}

/// The build folder: this program is at `target/debug/xtask`.
fn target() -> anyhow::Result<PathBuf> {
    let here = env::current_exe()?;
    let folder = here.ancestors().nth(2).context("it lies in no build folder")?;
    Ok(folder.to_owned())
}
