//! `vfscale doctor guest`: what this machine has of what guests need.

use crate::accelerator::{Accelerator, kvm_works};
use crate::spec::Fs;
use crate::{binary, cache, disk, programs, qemu};
use std::path::Path;

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// Whether guests work without more ado; none where they work, but less well or not all of them.
    pub good: Option<bool>,
    /// What was seen.
    pub what: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// A program that some guests need.
struct Program {
    name: &'static str,
    does: &'static str,
    without: &'static str,
    remedy: &'static str,
}

const PROGRAMS: [Program; 4] = [
    Program {
        name: "apt-get",
        does: "with which fetch-kernel downloads",
        without: "fetch-kernel does not work",
        remedy: "give the path of a kernel: guest:PATH",
    },
    Program {
        name: "dpkg-deb",
        does: "which unpacks kernels' packages",
        without: "packages are unpacked by ar and tar",
        remedy: "install dpkg, or see that ar (binutils) and tar are there",
    },
    Program {
        name: "xz",
        does: "which unpacks modules (.ko.xz)",
        without: "kernels with modules that are packed so (Debian) have tmpfs and ramfs only",
        remedy: "install xz-utils (Debian's name)",
    },
    Program {
        name: "zstd",
        does: "which unpacks modules (.ko.zst)",
        without: "kernels with modules that are packed so (Ubuntu, Arch) have tmpfs and ramfs only",
        remedy: "install zstd",
    },
];

/// Looks. Takes a few seconds where KVM hangs.
pub fn examine() -> Vec<Finding> {
    let finding = |name, good, what: String, remedy: Option<&str>| Finding {
        name,
        good,
        what,
        remedy: remedy.map(str::to_owned),
    };
    let version = qemu::version();
    let has_qemu = version.is_ok();
    let mut findings = vec![match version {
        Ok(version) => finding("qemu", Some(true), format!("{} {version}", qemu::PROGRAM), None),
        Err(error) => finding(
            "qemu",
            Some(false),
            format!("{}: {error}", qemu::PROGRAM),
            Some("install it (Debian, Ubuntu: apt-get install qemu-system-x86)"),
        ),
    }];
    if has_qemu {
        findings.push(match kvm_works() {
            Ok(()) => finding(
                "kvm",
                Some(true),
                "six instructions ran; if a kernel then does not boot, it is booted without KVM".into(),
                None,
            ),
            Err(why) => finding(
                "kvm",
                None,
                format!("{why}; guests are emulated ({})", Accelerator::Tcg.name()),
                Some(match Path::new("/dev/kvm").exists() {
                    false => "on real hardware load kvm_intel or kvm_amd; here compare kernels by --clock instructions",
                    true => "see that you may write /dev/kvm (group kvm); else compare kernels by --clock instructions",
                }),
            ),
        });
    }
    findings.push(match binary::find() {
        Ok(path) => {
            let path = path.canonicalize().unwrap_or(path);
            finding("static vfscale", Some(true), path.display().to_string(), None)
        }
        Err(error) => {
            let text = error.to_string();
            let (what, remedy) = text.split_once('\n').unwrap_or((&text, ""));
            finding("static vfscale", Some(false), what.to_owned(), Some(remedy.trim()))
        }
    });
    let kernels = cache::kernels();
    findings.push(match kernels.is_empty() {
        false => finding("kernels", Some(true), kernels.join(", "), None),
        true => finding(
            "kernels",
            None,
            "none in the cache".into(),
            Some("vfscale fetch-kernel 6.12, or give the path of an image: guest:PATH"),
        ),
    });
    findings.extend(PROGRAMS.map(|Program { name, does, without, remedy }| {
        match programs::find(name) {
            Some(path) => finding(name, Some(true), format!("{}, {does}", path.display()), None),
            None => finding(name, None, format!("not there: {without}"), Some(remedy)),
        }
    }));
    for fs in Fs::ALL.into_iter().filter(|fs| fs.on_disk()) {
        findings.push(match disk::mkfs(fs) {
            Some(path) => finding(fs.name(), Some(true), path.display().to_string(), None),
            None => finding(
                fs.name(),
                None,
                format!("no mkfs.{}, so that there is no fs={}", fs.name(), fs.name()),
                Some(&format!("install {} (Debian's name)", disk::package(fs))),
            ),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_well_has_a_remedy() {
        let findings = examine();
        for finding in &findings {
            assert!(finding.good == Some(true) || finding.remedy.is_some(), "{finding:?}");
        }
        for name in ["qemu", "static vfscale", "kernels", "apt-get", "xz", "ext4", "btrfs"] {
            assert!(findings.iter().any(|finding| finding.name == name), "{name}");
        }
    }
}
