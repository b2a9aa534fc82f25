//! What a kernel module says of itself: the `.modinfo` section of its ELF file, NUL-ended words `key=value`.

/// What a module needs to be loaded before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modinfo {
    /// It cannot be loaded without these.
    pub(crate) depends: Vec<String>,
    /// It works better, or only then mounts, after these (`softdep=pre: ...`); they may not exist.
    pub(crate) before: Vec<String>,
}

/// Reads the section of a little-endian 64-bit ELF file. None if it is no such file or has no such section.
pub(crate) fn read(elf: &[u8]) -> Option<Modinfo> {
    let section = section(elf, b".modinfo")?;
    let mut modinfo = Modinfo::default();
    for word in section.split(|byte| *byte == 0) {
        let Ok(word) = std::str::from_utf8(word) else { continue };
        match word.split_once('=') {
            Some(("depends", names)) => {
                let names = names.split(',').filter(|name| !name.is_empty());
                modinfo.depends.extend(names.map(str::to_owned));
            }
            Some(("softdep", rule)) => {
                let pre = rule.split("post:").next().unwrap_or_default();
                let names = pre.trim_start().strip_prefix("pre:").unwrap_or_default();
                modinfo.before.extend(names.split_whitespace().map(str::to_owned));
            }
            _ => (),
        }
    }
    Some(modinfo)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    let value = field.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    usize::try_from(value).ok()
}

/// The content of the section called `wanted`.
fn section<'a>(elf: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    // ELFCLASS64, ELFDATA2LSB.
    if elf.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (headers, size) = (number(elf, 0x28, 8)?, number(elf, 0x3a, 2)?);
    let (count, names) = (number(elf, 0x3c, 2)?, number(elf, 0x3e, 2)?);
    let header = |index: usize| headers.checked_add(index.checked_mul(size)?);
    let content = |header: usize| {
        let (from, length) = (
            number(elf, header.checked_add(0x18)?, 8)?,
            number(elf, header.checked_add(0x20)?, 8)?,
        );
        elf.get(from..from.checked_add(length)?)
    };
    let names = content(header(names)?)?;
    (0..count).find_map(|index| {
        let header = header(index)?;
        let name = names.get(number(elf, header, 4)?..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        if name == wanted { content(header) } else { None }
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A module of nothing but its section.
    pub(crate) fn module(modinfo: &[u8]) -> Vec<u8> {
        let names = b"\0.modinfo\0.shstrtab\0";
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let put = |elf: &mut Vec<u8>, at: usize, value: u64, size: usize| {
            elf[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
        };
        let modinfo_at = elf.len() as u64;
        elf.extend_from_slice(modinfo);
        let names_at = elf.len() as u64;
        elf.extend_from_slice(names);
        let headers_at = elf.len();
        elf.resize(headers_at + 3 * 64, 0);
        put(&mut elf, 0x28, headers_at as u64, 8);
        put(&mut elf, 0x3a, 64, 2);
        put(&mut elf, 0x3c, 3, 2);
        put(&mut elf, 0x3e, 2, 2);
        for (index, name, from, length) in
            [(1, 1, modinfo_at, modinfo.len() as u64), (2, 10, names_at, names.len() as u64)]
        {
            let header = headers_at + index * 64;
            put(&mut elf, header, name, 4);
            put(&mut elf, header + 0x18, from, 8);
            put(&mut elf, header + 0x20, length, 8);
        }
        elf
    }

    #[test]
    fn dependencies_are_found() {
        let elf =
            module(b"license=GPL\0depends=libcrc32c,xor\0softdep=pre: crc32c post: x\0name=xfs\0");
        let modinfo = read(&elf).unwrap();
        assert_eq!(modinfo.depends, ["libcrc32c", "xor"]);
        assert_eq!(modinfo.before, ["crc32c"]);
        assert_eq!(read(&module(b"depends=\0")), Some(Modinfo::default()));
        assert_eq!(read(b"not an ELF file"), None);
        assert_eq!(read(&elf[..100]), None);
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(at in 0_usize..400, byte: u8, cut in 0_usize..400) {
            let mut elf = module(b"depends=a,b\0");
            let end = cut.min(elf.len());
            elf.truncate(end);
            if let Some(place) = elf.get_mut(at) {
                *place = byte;
            }
            read(&elf);
        }
    }
}
