//! From what the user wrote to a kernel image and its modules.

use crate::bzimage;
use crate::cache;
use crate::error::Error;
use crate::modules::Modules;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A kernel that can be booted.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The bzImage.
    pub(crate) image: PathBuf,
    /// uname -r.
    pub(crate) release: String,
    /// Its modules, if they were found.
    pub(crate) modules: Option<Modules>,
}

/// Where a build tree has its image.
const BUILT: &str = "arch/x86/boot/bzImage";
/// Each of these tells a build tree; which there are depends on what was made.
const TREE: [&str; 3] = ["modules.builtin", "modules.order", "include/config/kernel.release"];

/// What of an image has to be read to know it.
const HEAD: u64 = 64 * 1024;

impl Kernel {
    /// The kernel that `name` means: an image (bzImage, vmlinuz), a Debian package, a directory that one was unpacked in, a build
    /// tree, or a short name of one in the cache.
    ///
    /// # Errors
    /// There is none, or it is no kernel.
    pub(crate) fn find(name: &Path) -> Result<Kernel, Error> {
        if let Some(version) = short(name).filter(|_| !name.exists()) {
            let unpacked = cache::dir()?.join(version);
            return match unpacked.is_dir() {
                true => in_root(&unpacked),
                false => Err(Error::refused(
                    format!("there is no kernel {version} in {}", cache::dir()?.display()),
                    format!(
                        "fetch it (Debian, Ubuntu): vfscale fetch-kernel {version}; or give the path of an image"
                    ),
                )),
            };
        }
        let unusable = |error: std::io::Error| {
            Error::refused(
                format!("{}: {error}", name.display()),
                "give the path of a kernel image, like /boot/vmlinuz-6.12 or arch/x86/boot/bzImage",
            )
        };
        let path = name.canonicalize().map_err(unusable)?;
        let meta = path.metadata().map_err(unusable)?;
        if meta.is_dir() {
            return in_root(&path);
        }
        if path.extension().is_some_and(|ending| ending == "deb") {
            return in_root(&unpacked(&path, &meta)?);
        }
        image(path)
    }
}

/// `6.1` of `6.1` or `vmlinuz-6.1`.
fn short(name: &Path) -> Option<&str> {
    let name = name.to_str()?;
    let version = name.strip_prefix("vmlinuz-").unwrap_or(name);
    is_version(version).then_some(version)
}

/// Two numbers with a dot between.
pub(crate) fn is_version(version: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    version.split_once('.').is_some_and(|(major, minor)| number(major) && number(minor))
}

/// The package unpacked: once, as long as it stays the same file.
fn unpacked(deb: &Path, meta: &std::fs::Metadata) -> Result<PathBuf, Error> {
    let stem = deb.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}.{}.{}", meta.size(), meta.mtime());
    let whole = cache::dir()?.join(&name);
    if whole.is_dir() { Ok(whole) } else { cache::unpack(deb, &name) }
}

/// The kernel in what a package was unpacked to.
fn in_root(root: &Path) -> Result<Kernel, Error> {
    let entries = std::fs::read_dir(root.join("boot")).into_iter().flatten().flatten();
    let images = entries.map(|entry| entry.path()).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz"))
    });
    // There is one as a rule; of several the name decides, so that it is always the same one.
    let built = Some(root.join(BUILT)).filter(|built| built.is_file());
    match images.max().or(built) {
        Some(path) => image(path),
        None => Err(Error::refused(
            format!("{} holds no boot/vmlinuz-... and no {BUILT}", root.display()),
            "build it (make bzImage); a package of a kernel is called linux-image-...; the -dbg and meta packages hold none",
        )),
    }
}

fn image(image: PathBuf) -> Result<Kernel, Error> {
    let shown = image.display();
    let mut head = Vec::new();
    std::fs::File::open(&image)
        .and_then(|file| file.take(HEAD).read_to_end(&mut head))
        .map_err(|error| Error::refused(format!("{shown}: {error}"), "make the image readable"))?;
    let release = bzimage::release(&head).ok_or_else(|| {
        Error::refused(
            format!("{shown} is not a kernel for x86 (bzImage)"),
            "give /boot/vmlinuz-..., arch/x86/boot/bzImage of a build tree, or a Debian package; an ELF vmlinux does not do",
        )
    })?;
    let modules = modules_of(&image, &release).map(|dir| Modules::read(&dir));
    Ok(Kernel { image, release, modules })
}

/// Where the modules of `image` are: beside /boot, where Fedora has the image too, or in the build tree.
fn modules_of(image: &Path, release: &str) -> Option<PathBuf> {
    let above = |levels| image.ancestors().nth(levels);
    let installed = [above(2), above(1)].into_iter().flatten().flat_map(|root| {
        ["lib/modules", "usr/lib/modules"].map(|lib| root.join(lib).join(release))
    });
    let beside = above(1).filter(|dir| dir.file_name().is_some_and(|name| name == release));
    let tree = above(4)
        .filter(|tree| image.ends_with(BUILT) && TREE.iter().any(|file| tree.join(file).is_file()));
    let mut all = installed.chain(beside.map(Path::to_owned)).chain(tree.map(Path::to_owned));
    all.find(|dir| dir.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_versions() {
        assert_eq!(short(Path::new("6.1")), Some("6.1"));
        assert_eq!(short(Path::new("vmlinuz-6.12")), Some("6.12"));
        for other in ["vmlinuz", "6", "6.x", "./6.1", "6.1.0", "."] {
            assert_eq!(short(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_kernel_is_refused_with_what_would_be_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("vmlinux");
        std::fs::write(&file, b"\x7fELF").unwrap();
        let error = Kernel::find(&file).unwrap_err().to_string();
        assert!(error.contains("not a kernel for x86") && error.contains("bzImage"), "{error}");
        let error = Kernel::find(dir.path()).unwrap_err().to_string();
        assert!(error.contains("holds no boot/vmlinuz"), "{error}");
        let error = Kernel::find(&dir.path().join("gone")).unwrap_err().to_string();
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn modules_are_found_beside_boot_and_in_a_build_tree() {
        let dir = tempfile::tempdir().unwrap();
        let make = |path: &str| std::fs::create_dir_all(dir.path().join(path)).unwrap();
        make("boot");
        make("lib/modules/6.1.0");
        let boot = dir.path().join("boot/vmlinuz-6.1.0");
        assert_eq!(modules_of(&boot, "6.1.0"), Some(dir.path().join("lib/modules/6.1.0")));
        assert_eq!(modules_of(&boot, "6.2.0"), None);
        make("tree/arch/x86/boot");
        let built = dir.path().join("tree/arch/x86/boot/bzImage");
        assert_eq!(modules_of(&built, "6.1.0"), None);
        for file in TREE {
            let file = dir.path().join("tree").join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            assert_eq!(modules_of(&built, "6.1.0"), Some(dir.path().join("tree")));
            std::fs::remove_file(&file).unwrap();
        }
        let error = Kernel::find(&dir.path().join("tree")).unwrap_err().to_string();
        assert!(error.contains("no arch/x86/boot/bzImage"), "{error}");
        std::fs::write(&built, "not one").unwrap();
        let error = Kernel::find(&dir.path().join("tree")).unwrap_err().to_string();
        assert!(error.contains("bzImage is not a kernel"), "{error}");
    }
}
