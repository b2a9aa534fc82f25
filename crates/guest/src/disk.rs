//! The content of a guest's disk: made here by the host's mkfs, and carried as the few blocks that are not zero.

use crate::error::Error;
use crate::memory_file;
use crate::programs;
use crate::spec::Fs;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Command;

/// Granularity in which zeroes are left out.
const BLOCK: usize = 4096;
/// The same identity every time, so that two guests differ in their kernels only: it seeds ext4's directory hash.
const UUID: &str = "76667363-616c-4665-a000-000000000001";
/// The same time of creation every time.
const EPOCH: &str = "1700000000";

/// mkfs for `fs` where it is installed.
pub(crate) fn mkfs(fs: Fs) -> Option<PathBuf> {
    programs::find(&format!("mkfs.{}", fs.name()))
}

/// The Debian package that has it.
pub(crate) fn package(fs: Fs) -> &'static str {
    match fs {
        Fs::Ext4 => "e2fsprogs",
        Fs::Xfs => "xfsprogs",
        Fs::Btrfs => "btrfs-progs",
        Fs::Tmpfs | Fs::Ramfs => "",
    }
}

/// A file system of `mib` MiB, as [`write`] takes it.
///
/// # Errors
/// There is no mkfs, or it fails.
pub(crate) fn make(fs: Fs, mib: u32) -> Result<Vec<u8>, Error> {
    let name = fs.name();
    let program = mkfs(fs).ok_or_else(|| {
        Error::refused(
            format!("fs={name} needs mkfs.{name}, which is not installed"),
            format!("install {} (Debian's name), or choose fs=tmpfs", package(fs)),
        )
    })?;
    let failed = |what: String| {
        Error::refused(format!("{}: {what}", program.display()), "choose another disk= or fs=")
    };
    let os = |error: std::io::Error| failed(error.to_string());
    let mut image = memory_file::empty("vfscale-disk").map_err(os)?;
    image.set_len(u64::from(mib) << 20).map_err(os)?;
    let mut command = Command::new(&program);
    match fs {
        // Nothing is left to be initialised in the background while slices run.
        Fs::Ext4 => command
            .args(["-q", "-F", "-U", UUID, "-E"])
            .arg(format!("lazy_itable_init=0,lazy_journal_init=0,nodiscard,hash_seed={UUID}")),
        Fs::Xfs => command.args(["-q", "-f", "-K", "-m"]).arg(format!("uuid={UUID}")),
        Fs::Btrfs | Fs::Tmpfs | Fs::Ramfs => command.args(["-q", "-f", "-K", "-U", UUID]),
    };
    command.arg(memory_file::path(&image));
    command.env("SOURCE_DATE_EPOCH", EPOCH).env("E2FSPROGS_FAKE_TIME", EPOCH);
    memory_file::inherit(&mut command, &[image.as_fd()]);
    let output = command.output().map_err(os)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(said.lines().last().unwrap_or("it failed").to_owned()));
    }
    pack(&mut image).map_err(os)
}

/// Offset, length (both of eight bytes, little-endian) and bytes of each run of blocks that are not all zero.
fn pack(image: &mut File) -> std::io::Result<Vec<u8>> {
    let mut packed: Vec<u8> = Vec::new();
    let mut block = [0; BLOCK];
    let (mut at, mut run): (u64, Option<usize>) = (0, None);
    image.seek(SeekFrom::Start(0))?;
    loop {
        let read = read_full(image, &mut block)?;
        if read == 0 {
            return Ok(packed);
        }
        if block[..read].iter().all(|byte| *byte == 0) {
            run = None;
        } else {
            let header = *run.get_or_insert_with(|| {
                packed.extend_from_slice(&at.to_le_bytes());
                packed.extend_from_slice(&[0; 8]);
                packed.len() - 8
            });
            packed.extend_from_slice(&block[..read]);
            let length = (packed.len() - header - 8) as u64;
            packed[header..header + 8].copy_from_slice(&length.to_le_bytes());
        }
        at += read as u64;
    }
}

fn read_full(file: &mut File, block: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match file.read(&mut block[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Writes what [`make`] packed to a device of zeroes.
///
/// # Errors
/// A write failed, or `packed` is cut short.
pub(crate) fn write(packed: &[u8], device: &mut File) -> std::io::Result<()> {
    let cut = || std::io::Error::other("the image of the disk is cut short");
    let mut rest = packed;
    while !rest.is_empty() {
        let (offset, after) = rest.split_first_chunk().ok_or_else(cut)?;
        let (length, after) = after.split_first_chunk().ok_or_else(cut)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
        let (bytes, after) = after.split_at_checked(length).ok_or_else(cut)?;
        device.seek(SeekFrom::Start(u64::from_le_bytes(*offset)))?;
        device.write_all(bytes)?;
        rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn content(file: &mut File) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_out(
            writes in proptest::collection::vec((0_u64..100_000, 1_usize..9000, any::<u8>()), 0..6)
        ) {
            let mut image = memory_file::empty("test").unwrap();
            image.set_len(120_000).unwrap();
            for (at, length, byte) in writes {
                image.seek(SeekFrom::Start(at)).unwrap();
                image.write_all(&vec![byte; length]).unwrap();
            }
            let packed = pack(&mut image).unwrap();
            let mut copy = memory_file::empty("test").unwrap();
            copy.set_len(120_000).unwrap();
            write(&packed, &mut copy).unwrap();
            prop_assert!(content(&mut copy) == content(&mut image));
            if !packed.is_empty() {
                prop_assert!(write(&packed[..packed.len() - 1], &mut copy).is_err());
            }
        }
    }

    #[test]
    fn an_ext4_is_small_when_packed_and_the_same_every_time() {
        if mkfs(Fs::Ext4).is_none() {
            println!("SKIPPED: packing an ext4: no mkfs.ext4");
            return;
        }
        let packed = make(Fs::Ext4, 300).unwrap();
        assert!(packed.len() > BLOCK && packed.len() < 4 << 20, "{} bytes", packed.len());
        assert!(packed == make(Fs::Ext4, 300).unwrap());
    }
}
