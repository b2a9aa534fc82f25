//! Kernels that were unpacked: a directory per kernel in the user's cache, made whole or not at all.

use crate::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The cache's directory: vfscale/kernels in $XDG_CACHE_HOME or ~/.cache.
///
/// # Errors
/// The environment names no home.
pub fn dir() -> Result<PathBuf, Error> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let base = base.ok_or_else(|| {
        Error::refused("there is no place for unpacked kernels", "set XDG_CACHE_HOME or HOME")
    })?;
    Ok(base.join("vfscale/kernels"))
}

/// The kernels in the cache, by name.
pub fn kernels() -> Vec<String> {
    let entries = dir().ok().and_then(|dir| std::fs::read_dir(dir).ok());
    let names = entries.into_iter().flatten().flatten().map(|e| e.file_name());
    let mut names: Vec<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::refused(
        format!("cannot {what} {}: {error}", path.display()),
        "the cache needs room and must be writable; set XDG_CACHE_HOME to another place",
    )
}

/// Unpacks the Debian package `deb` as the cache's entry `name`, in place of what was there.
///
/// # Errors
/// It is no such package, no program is there that unpacks it, or the cache cannot be written.
pub(crate) fn unpack(deb: &Path, name: &str) -> Result<PathBuf, Error> {
    let cache = dir()?;
    std::fs::create_dir_all(&cache).map_err(|e| cannot("make", &cache, &e))?;
    remove_unfinished(&cache);
    let unfinished = cache.join(format!(".{}.{name}", std::process::id()));
    std::fs::create_dir(&unfinished).map_err(|e| cannot("make", &unfinished, &e))?;
    let unpacked = extract(deb, &unfinished).and_then(|()| {
        let whole = cache.join(name);
        if whole.exists() {
            std::fs::remove_dir_all(&whole).map_err(|e| cannot("replace", &whole, &e))?;
        }
        std::fs::rename(&unfinished, &whole).map_err(|e| cannot("write", &whole, &e))?;
        Ok(whole)
    });
    if unpacked.is_err() {
        // What cannot be removed now is removed by the next one who unpacks.
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    unpacked
}

/// What a process that was killed left: `.PID.name`, with no such process any more.
fn remove_unfinished(cache: &Path) {
    for entry in std::fs::read_dir(cache).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix('.').and_then(|rest| rest.split('.').next());
        let gone = pid
            .and_then(|pid| pid.parse::<u32>().ok())
            .is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        if gone {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn extract(deb: &Path, to: &Path) -> Result<(), Error> {
    let shown = deb.display();
    let dpkg = Command::new("dpkg-deb").arg("-x").arg(deb).arg(to).output();
    let output = match dpkg {
        Ok(output) => output,
        // A package is an archive of ar(1) with an archive of tar(1) in it, which says itself how it is packed.
        Err(_) => {
            let script = "ar t \"$1\" | grep '^data.tar' | { read -r data && ar p \"$1\" \"$data\" >\"$2/.data\"; } && \
                          tar -xf \"$2/.data\" -C \"$2\" && rm \"$2/.data\"";
            Command::new("sh").args(["-c", script, "sh"]).arg(deb).arg(to).output().map_err(
                |e| {
                    Error::refused(
                        format!("cannot unpack {shown}: {e}"),
                        "install dpkg, or ar and tar",
                    )
                },
            )?
        }
    };
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::refused(
            format!("cannot unpack {shown}: {}", String::from_utf8_lossy(&output.stderr).trim()),
            "it must be a Debian package with a kernel (linux-image-...), and there must be room in the cache; without dpkg \
             it takes ar and tar",
        )),
    }
}
