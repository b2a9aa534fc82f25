//! `vfscale doctor guest`: what this machine has of what guests need.

use crate::accelerator::{Accelerator, kvm_works};
use crate::spec::Fs;
use crate::{binary, cache, disk, qemu};

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
                Some("under emulation compare kernels by --clock instructions; absolute figures mean nothing"),
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
