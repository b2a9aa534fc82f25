//! The program that runs in the guest: this one, as a file that needs no library.

use crate::error::Error;
use std::path::{Path, PathBuf};

/// Names the file, where it is neither the running program nor where scripts/static-build puts it.
pub(crate) const VARIABLE: &str = "VFSCALE_GUEST_BINARY";

/// PT_INTERP: the program asks for a dynamic loader.
const INTERPRETER: u32 = 3;

/// The static vfscale: what [`VARIABLE`] names, the running program if it is static, or the one that scripts/static-build made.
///
/// # Errors
/// There is none.
pub(crate) fn find() -> Result<PathBuf, Error> {
    let how = "build it with scripts/static-build, or name one: VFSCALE_GUEST_BINARY=PATH";
    if let Some(named) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        return match is_static(&named) {
            Ok(true) => Ok(named),
            Ok(false) => Err(Error::refused(
                format!("{VARIABLE}: {} is not a static program for x86-64", named.display()),
                how,
            )),
            Err(error) => {
                Err(Error::refused(format!("{VARIABLE}: {}: {error}", named.display()), how))
            }
        };
    }
    let this = PathBuf::from("/proc/self/exe");
    if is_static(&this).unwrap_or(false) {
        return Ok(this);
    }
    // target/debug/vfscale has target/static/vfscale beside it.
    let built = this
        .canonicalize()
        .ok()
        .and_then(|exe| Some(exe.ancestors().nth(2)?.join("static/vfscale")));
    match built {
        Some(built) if is_static(&built).unwrap_or(false) => Ok(built),
        _ => Err(Error::refused(
            "this vfscale is not static, so that it cannot run in a guest, and there is no static one",
            how,
        )),
    }
}

fn is_static(file: &Path) -> std::io::Result<bool> {
    Ok(asks_for_no_loader(&std::fs::read(file)?).unwrap_or(false))
}

/// None if it is no ELF file for x86-64.
fn asks_for_no_loader(elf: &[u8]) -> Option<bool> {
    // ELFCLASS64, ELFDATA2LSB; EM_X86_64.
    if elf.get(..6)? != b"\x7fELF\x02\x01" || elf.get(0x12..0x14)? != [62, 0] {
        return None;
    }
    let headers = usize::try_from(u64::from_le_bytes(*elf.get(0x20..)?.first_chunk()?)).ok()?;
    let half = |at: usize| Some(usize::from(u16::from_le_bytes(*elf.get(at..)?.first_chunk()?)));
    let (size, count) = (half(0x36)?, half(0x38)?);
    for number in 0..count {
        let at = headers.checked_add(number.checked_mul(size)?)?;
        let kind = u32::from_le_bytes(*elf.get(at..)?.first_chunk()?);
        if kind == INTERPRETER {
            return Some(false);
        }
    }
    Some(count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[0x12] = 62;
        elf[0x20] = 64;
        elf[0x36] = 56;
        elf[0x38] = kinds.len() as u8;
        for kind in kinds {
            elf.extend_from_slice(&kind.to_le_bytes());
            elf.extend_from_slice(&[0; 52]);
        }
        elf
    }

    #[test]
    fn a_program_that_asks_for_a_loader_is_not_static() {
        assert_eq!(asks_for_no_loader(&program(&[1, 2, 6])), Some(true));
        assert_eq!(asks_for_no_loader(&program(&[6, 3, 1])), Some(false));
        assert_eq!(asks_for_no_loader(b"#!/bin/sh\n"), None);
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(at in 0_usize..64, byte: u8, cut in 0_usize..200) {
            let mut elf = program(&[1, 3]);
            elf[at] = byte;
            elf.truncate(cut);
            asks_for_no_loader(&elf);
        }
    }
}
