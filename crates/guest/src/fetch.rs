//! `vfscale fetch-kernel`: a kernel package of Debian's, downloaded by apt and unpacked into the cache.

use crate::cache;
use crate::error::Error;
use crate::kernel;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Downloads the newest cloud kernel of `version` (`6.1`) that apt knows, and unpacks it. Answers its name and place.
///
/// # Errors
/// It is no version, there is no apt, or apt knows no such kernel.
pub fn fetch(version: &str) -> Result<(String, PathBuf), Error> {
    if !kernel::is_version(version) {
        return Err(Error::refused(
            format!("'{version}' is no version of a kernel"),
            "write two numbers, like 6.12",
        ));
    }
    let package = newest(version, &names(version)?).ok_or_else(|| {
        Error::refused(
            format!("apt knows no cloud kernel {version}"),
            "refresh its lists (apt-get update) and see what there is: apt-cache search linux-image cloud-amd64",
        )
    })?;
    let cache = cache::dir()?;
    let download = cache.join(format!(".{}.download", std::process::id()));
    let cannot = |error: std::io::Error| {
        Error::refused(
            format!("cannot write {}: {error}", download.display()),
            "set XDG_CACHE_HOME to another place",
        )
    };
    std::fs::create_dir_all(&download).map_err(cannot)?;
    let unpacked = download_to(&download, &package).and_then(|deb| cache::unpack(&deb, version));
    // What is left of it is removed by the next who unpacks.
    let _ = std::fs::remove_dir_all(&download);
    Ok((package, unpacked?))
}

fn apt(program: &str, args: &[&str], dir: &Path) -> Result<String, Error> {
    let failed = |why: String| {
        Error::refused(
            format!("{program} {}: {why}", args.join(" ")),
            "fetch-kernel needs apt and its lists (apt-get update); elsewhere give the path of a kernel: guest:PATH",
        )
    };
    let output = Command::new(program).args(args).current_dir(dir).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// Names of packages that may be the ones.
fn names(version: &str) -> Result<Vec<String>, Error> {
    let prefix = format!("linux-image-{version}");
    let text = apt("apt-cache", &["pkgnames", &prefix], Path::new("/"))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// The highest of the packages with a kernel of `version` in them.
fn newest(version: &str, names: &[String]) -> Option<String> {
    let number = |name: &str| {
        let release = name.strip_prefix("linux-image-")?.strip_suffix("-cloud-amd64")?;
        // 6.1.0-57 or 6.12.117+deb12; 6.12 alone is a name for the newest of them, with nothing in it.
        let rest = release.strip_prefix(version)?.strip_prefix('.')?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        digits.map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()
    };
    let known = names.iter().filter_map(|name| Some((number(name)?, name)));
    known.max().map(|(_, name)| name.clone())
}

fn download_to(dir: &Path, package: &str) -> Result<PathBuf, Error> {
    apt("apt-get", &["-qq", "download", package], dir)?;
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut debs = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "deb"));
    debs.next().ok_or_else(|| {
        Error::refused(
            format!("apt-get download {package} brought nothing"),
            "run it by hand to see why",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_package_with_a_kernel_is_taken() {
        let names = [
            "linux-image-6.1.0-9-cloud-amd64",
            "linux-image-6.1.0-57-cloud-amd64",
            "linux-image-6.1.0-57-cloud-amd64-dbg",
            "linux-image-6.1.0-58-cloud-amd64-unsigned",
            "linux-image-6.12-cloud-amd64",
            "linux-image-6.12.9+deb12-cloud-amd64",
            "linux-image-6.12.117+deb12-cloud-amd64",
            "linux-image-6.12.117+deb12-rt-amd64",
        ]
        .map(str::to_owned);
        assert_eq!(newest("6.1", &names).as_deref(), Some("linux-image-6.1.0-57-cloud-amd64"));
        assert_eq!(
            newest("6.12", &names).as_deref(),
            Some("linux-image-6.12.117+deb12-cloud-amd64")
        );
        assert_eq!(newest("6.6", &names), None);
        assert!(fetch("../x").unwrap_err().to_string().contains("like 6.12"));
    }
}
