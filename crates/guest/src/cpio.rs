//! The archive that Linux unpacks as its first root: cpio in the "newc" format (Documentation/driver-api/early-userspace).

/// An archive that is being written.
#[derive(Default)]
pub(crate) struct Cpio {
    bytes: Vec<u8>,
    entries: u32,
}

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o020_600;
/// Name of the entry that ends an archive.
const END: &str = "TRAILER!!!";

impl Cpio {
    /// A directory; those above it come first.
    pub(crate) fn directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY, [0, 0], &[]);
    }

    /// A file that can be executed.
    pub(crate) fn program(&mut self, name: &str, content: &[u8]) {
        self.entry(name, PROGRAM, [0, 0], content);
    }

    /// A file.
    pub(crate) fn file(&mut self, name: &str, content: &[u8]) {
        self.entry(name, FILE, [0, 0], content);
    }

    /// A character device. It takes no privilege to write one into an archive.
    pub(crate) fn character_device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, CHARACTER_DEVICE, [major, minor], &[]);
    }

    /// The whole archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry(END, 0, [0, 0], &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: [u32; 2], content: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(content.len()).expect("no file of 4 GiB is put into an initramfs");
        // Inode, mode, uid, gid, links, mtime, size, device of the file system, device itself, name with its NUL, checksum.
        let [major, minor] = device;
        let named = name.len() as u32 + 1;
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, major, minor, named, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an archive back: name, mode, content.
    fn entries(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut at = 0;
        let mut found = Vec::new();
        loop {
            let field = |number: usize| {
                let from = at + 6 + number * 8;
                u32::from_str_radix(std::str::from_utf8(&bytes[from..from + 8]).unwrap(), 16)
                    .unwrap()
            };
            assert_eq!(&bytes[at..at + 6], b"070701");
            let (mode, size, named) = (field(1), field(6) as usize, field(11) as usize);
            let name = String::from_utf8(bytes[at + 110..at + 110 + named - 1].to_vec()).unwrap();
            let from = (at + 110 + named).next_multiple_of(4);
            if name == END {
                assert_eq!(from, bytes.len());
                return found;
            }
            found.push((name, mode, bytes[from..from + size].to_vec()));
            at = (from + size).next_multiple_of(4);
        }
    }

    #[test]
    fn an_archive_reads_back() {
        let mut cpio = Cpio::default();
        cpio.directory("dev");
        cpio.character_device("dev/console", 5, 1);
        cpio.program("init", b"12345");
        cpio.file("plan", b"");
        let found = entries(&cpio.finish());
        let found: Vec<_> = found.iter().map(|(n, m, c)| (n.as_str(), *m, c.as_slice())).collect();
        assert_eq!(
            found,
            [
                ("dev", 0o40_755, &b""[..]),
                ("dev/console", 0o20_600, b""),
                ("init", 0o100_755, b"12345"),
                ("plan", 0o100_644, b""),
            ]
        );
    }
}
