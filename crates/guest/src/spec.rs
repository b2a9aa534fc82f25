//! How a guest is written: `KERNEL[,cpus=N][,fs=KIND][,memory=SIZE][,disk=DISK][,cpu=MODEL][,append=...]`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A file system that a guest can be measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fs {
    /// In memory, with limits and swap.
    Tmpfs,
    /// In memory, with nothing.
    Ramfs,
    /// On a disk.
    Ext4,
    /// On a disk.
    Xfs,
    /// On a disk.
    Btrfs,
}

impl Fs {
    /// All there are.
    pub const ALL: [Fs; 5] = [Fs::Tmpfs, Fs::Ramfs, Fs::Ext4, Fs::Xfs, Fs::Btrfs];

    /// As the kernel and mount(8) call it.
    pub fn name(self) -> &'static str {
        match self {
            Fs::Tmpfs => "tmpfs",
            Fs::Ramfs => "ramfs",
            Fs::Ext4 => "ext4",
            Fs::Xfs => "xfs",
            Fs::Btrfs => "btrfs",
        }
    }

    /// Whether it needs a block device.
    pub fn on_disk(self) -> bool {
        !matches!(self, Fs::Tmpfs | Fs::Ramfs)
    }
}

/// What a file system on a disk is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disk {
    /// A part of the guest's memory (brd): no device, and nothing of the host's.
    #[default]
    Ram,
    /// A file of the host's behind virtio-blk, sparse and without a name.
    Virtio,
}

impl Disk {
    const ALL: [Disk; 2] = [Disk::Ram, Disk::Virtio];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Disk::Ram => "ram",
            Disk::Virtio => "virtio",
        }
    }

    /// Its block device in the guest.
    pub(crate) fn device(self) -> &'static str {
        match self {
            Disk::Ram => "/dev/ram0",
            Disk::Virtio => "/dev/vda",
        }
    }

    /// Modules that make the device.
    pub(crate) fn modules(self) -> &'static [&'static str] {
        match self {
            Disk::Ram => &["brd"],
            Disk::Virtio => &["virtio_pci", "virtio_blk"],
        }
    }
}

/// What stands after `guest:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    text: String,
    /// A path, or a short name of a kernel in the cache (`6.1`, `vmlinuz-6.1`).
    pub kernel: PathBuf,
    /// CPUs of the guest; as many as this machine has where nothing is said.
    pub cpus: Option<u32>,
    /// What is measured on.
    pub fs: Fs,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// The disk, where the file system needs one.
    pub disk: Disk,
    /// Its size in MiB.
    pub disk_mib: u32,
    /// QEMU's CPU model with its features; what suits the accelerator where nothing is said.
    pub cpu: Option<String>,
    /// What is added to the kernel's command line.
    pub append: String,
}

/// CPUs that QEMU's `pc` machine can have.
const CPUS_MAX: u32 = 255;
/// With less a kernel and the program do not fit.
const MEMORY_MIN: u32 = 128;
/// mkfs.xfs makes none that is smaller.
const DISK_MIN: u32 = 300;
/// The largest that makes sense as a RAM disk; also keeps sizes in bytes far from overflowing.
const SIZE_MAX: u32 = 1 << 20;
const MEMORY_TMPFS: u32 = 512;
const MEMORY_DISK: u32 = 1024;
const DISK: u32 = 512;

impl Spec {
    /// The same with the CPU model `cpu`, which its text then names.
    pub fn with_cpu(&self, cpu: &str) -> Spec {
        let mut spec = self.clone();
        let (kernel, rest) = self.text.split_once(',').unwrap_or((&self.text, ""));
        let rest = match rest.is_empty() {
            true => String::new(),
            false => format!(",{rest}"),
        };
        spec.text = format!("{kernel},cpu={cpu}{rest}");
        spec.cpu = Some(cpu.to_owned());
        spec
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Not a guest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is no guest: {why}; write guest:KERNEL[,cpus=N][,fs=ext4][,memory=1G][,disk=512M|virtio:2G][,cpu=MODEL][,append=...]"
)]
pub struct NoSpec {
    text: String,
    why: String,
}

impl FromStr for Spec {
    type Err = NoSpec;

    fn from_str(text: &str) -> Result<Spec, NoSpec> {
        parse(text).map_err(|why| NoSpec { text: text.to_owned(), why })
    }
}

fn parse(text: &str) -> Result<Spec, String> {
    // What is appended may hold commas itself, so it comes last.
    let (front, append) = text.split_once(",append=").unwrap_or((text, ""));
    let mut words = front.split(',');
    let kernel = words.next().unwrap_or_default();
    if kernel.is_empty() {
        return Err("it names no kernel".into());
    }
    let (mut cpus, mut fs, mut memory, mut disk, mut cpu) = (None, Fs::Tmpfs, None, None, None);
    let mut in_cpu = false;
    for word in words {
        // A model's features are written as QEMU has them: cpu=max,-erms,+avx.
        if let (true, Some(cpu), true) = (in_cpu, &mut cpu, word.starts_with(['-', '+'])) {
            *cpu = format!("{cpu},{word}");
            continue;
        }
        let (key, value) = word.split_once('=').ok_or_else(|| format!("'{word}' has no value"))?;
        in_cpu = key == "cpu";
        match key {
            "cpus" => {
                let number = value.parse().ok().filter(|n| (1..=CPUS_MAX).contains(n));
                cpus = Some(number.ok_or_else(|| format!("cpus= takes 1 to {CPUS_MAX}"))?);
            }
            "fs" => {
                let all = || Fs::ALL.map(Fs::name).join(", ");
                let found = Fs::ALL.into_iter().find(|fs| fs.name() == value);
                fs = found.ok_or_else(|| format!("fs= takes {}", all()))?;
            }
            "memory" => memory = Some(mib("memory", value, MEMORY_MIN)?),
            "disk" => disk = Some(disk_of(value)?),
            "cpu" if !value.is_empty() => cpu = Some(value.to_owned()),
            _ => return Err(format!("'{word}' means nothing")),
        }
    }
    if disk.is_some() && !fs.on_disk() {
        return Err(format!("disk= is for fs=ext4, xfs or btrfs; {} has none", fs.name()));
    }
    let (disk, disk_mib) = disk.unwrap_or((Disk::Ram, DISK));
    let usual = if fs.on_disk() { MEMORY_DISK } else { MEMORY_TMPFS };
    Ok(Spec {
        text: text.to_owned(),
        kernel: kernel.into(),
        cpus,
        fs,
        memory_mib: memory.unwrap_or(usual),
        disk,
        disk_mib,
        cpu,
        append: append.to_owned(),
    })
}

/// `512M`, `virtio` or `virtio:2G`: a kind, a size, or both.
fn disk_of(value: &str) -> Result<(Disk, u32), String> {
    let (word, rest) =
        value.split_once(':').map_or((value, None), |(word, rest)| (word, Some(rest)));
    match (Disk::ALL.into_iter().find(|disk| disk.name() == word), rest) {
        (Some(disk), None) => Ok((disk, DISK)),
        (Some(disk), Some(size)) => Ok((disk, mib("disk", size, DISK_MIN)?)),
        (None, _) => Ok((Disk::Ram, mib("disk", value, DISK_MIN)?)),
    }
}

/// `512M` or `2G` in MiB.
fn mib(key: &str, value: &str, least: u32) -> Result<u32, String> {
    let wrong = || format!("{key}= takes a size of at least {least}M, like 512M or 2G");
    let (digits, factor) = match value.strip_suffix(['G', 'g']) {
        Some(digits) => (digits, 1024),
        None => (value.strip_suffix(['M', 'm']).ok_or_else(wrong)?, 1),
    };
    let number = digits.parse::<u32>().ok().and_then(|n| n.checked_mul(factor));
    number.filter(|n| (least..=SIZE_MAX).contains(n)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn everything_that_can_be_said() {
        let text = "a/vmlinuz-6.12,cpus=8,cpu=max,-erms,+avx,fs=ext4,memory=2G,disk=300M,append=isolcpus=1,2 x";
        let spec: Spec = text.parse().unwrap();
        assert_eq!(spec.kernel, PathBuf::from("a/vmlinuz-6.12"));
        assert_eq!((spec.cpus, spec.fs, spec.memory_mib), (Some(8), Fs::Ext4, 2048));
        assert_eq!((spec.disk_mib, spec.cpu.as_deref()), (300, Some("max,-erms,+avx")));
        assert_eq!(spec.append, "isolcpus=1,2 x");
        assert_eq!(spec.to_string(), text);
        let plain: Spec = "6.1".parse().unwrap();
        assert_eq!((plain.cpus, plain.fs, plain.cpu.clone()), (None, Fs::Tmpfs, None));
        assert_eq!((plain.memory_mib, plain.append.as_str()), (512, ""));
        for (text, disk) in [
            ("6.1,fs=xfs", (Disk::Ram, DISK)),
            ("6.1,fs=xfs,disk=ram", (Disk::Ram, DISK)),
            ("6.1,disk=virtio,fs=xfs", (Disk::Virtio, DISK)),
            ("6.1,fs=xfs,disk=virtio:2G", (Disk::Virtio, 2048)),
            ("6.1,fs=xfs,disk=ram:300M", (Disk::Ram, 300)),
        ] {
            let spec: Spec = text.parse().unwrap();
            assert_eq!((spec.disk, spec.disk_mib), disk, "{text}");
        }
        assert_eq!("6.1,fs=xfs".parse::<Spec>().unwrap().memory_mib, 1024);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("", "no kernel"),
            ("6.1,cpus=0", "1 to 255"),
            ("6.1,cpus=many", "1 to 255"),
            ("6.1,fs=zfs", "btrfs"),
            ("6.1,memory=64M", "at least 128M"),
            ("6.1,memory=2", "like 512M"),
            ("6.1,memory=4194304G", "like 512M"),
            ("6.1,fs=xfs,disk=1M", "at least 300M"),
            ("6.1,fs=xfs,disk=virtio:1M", "at least 300M"),
            ("6.1,fs=xfs,disk=nvme", "at least 300M"),
            ("6.1,disk=virtio", "tmpfs has none"),
            ("6.1,-erms", "no value"),
            ("6.1,cpu=", "means nothing"),
            ("6.1,kvm=on", "means nothing"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn another_cpu_model_reads_back() {
        let spec: Spec = "6.1,fs=ext4,append=a,b".parse().unwrap();
        let other = spec.with_cpu("max,-erms");
        assert_eq!(other.to_string(), "6.1,cpu=max,-erms,fs=ext4,append=a,b");
        assert_eq!(other.to_string().parse::<Spec>().unwrap(), other);
    }

    proptest! {
        #[test]
        fn what_is_read_is_kept(text in "[a-z0-9.,=+/-]{0,40}") {
            if let Ok(spec) = text.parse::<Spec>() {
                prop_assert_eq!(spec.to_string(), text);
            }
        }
    }
}
