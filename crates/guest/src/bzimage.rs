//! What a bzImage says of itself: the set-up header of the x86 boot protocol (Documentation/arch/x86/boot.rst).

/// Where the signature of the set-up header is.
const MAGIC_AT: usize = 0x202;
/// Where the offset of the version string is, less [`VERSION_BASE`].
const VERSION_AT: usize = 0x20e;
const VERSION_BASE: usize = 0x200;

/// The release of the kernel in `image` (uname -r), if it is a bzImage that names one. The first 64 KiB are enough.
pub(crate) fn release(image: &[u8]) -> Option<String> {
    if image.get(MAGIC_AT..MAGIC_AT + 4)? != b"HdrS" {
        return None;
    }
    let at = image.get(VERSION_AT..VERSION_AT + 2)?;
    let at = usize::from(u16::from_le_bytes([at[0], at[1]])) + VERSION_BASE;
    let text = image.get(at..)?;
    let end = text.iter().position(|byte| *byte == 0 || *byte == b' ')?;
    let release = std::str::from_utf8(&text[..end]).ok()?;
    // It becomes part of a path.
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-~".contains(c);
    let good = release.starts_with(|c: char| c.is_ascii_digit()) && release.chars().all(plain);
    good.then(|| release.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn image(version: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 0x1000];
        image[MAGIC_AT..MAGIC_AT + 4].copy_from_slice(b"HdrS");
        image[VERSION_AT..VERSION_AT + 2].copy_from_slice(&0x600_u16.to_le_bytes());
        image[0x800..0x800 + version.len()].copy_from_slice(version);
        image
    }

    #[test]
    fn the_release_is_the_first_word_of_the_version() {
        let debian = image(b"6.1.0-57-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP\0");
        assert_eq!(release(&debian).as_deref(), Some("6.1.0-57-cloud-amd64"));
        assert_eq!(release(&image(b"6.19.0-rc1+\0")).as_deref(), Some("6.19.0-rc1+"));
        for wrong in [&b"../../etc \0"[..], b"\0", b"6.1/x \0"] {
            assert_eq!(release(&image(wrong)), None);
        }
        assert_eq!(release(b"\x7fELF"), None);
        assert_eq!(release(&[0; 0x1000]), None);
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0x200..0x900)) {
            if let Some(magic) = bytes.get_mut(MAGIC_AT..MAGIC_AT + 4) {
                magic.copy_from_slice(b"HdrS");
            }
            release(&bytes);
        }
    }
}
