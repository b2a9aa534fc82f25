//! What is to be seen of each workload afterwards.

use std::ffi::CString;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use vfs_api::{FileSystem, Mode, OFlags, Selected};

/// Names that the workload of that kind goes through.
const RENAMES: u64 = 64;

/// Where to look.
pub(crate) struct Place<'a, F> {
    pub(crate) fs: &'a F,
    pub(crate) workload: &'a Selected,
    pub(crate) place: vfs_api::Place,
    /// On this kernel.
    pub(crate) here: bool,
}

/// What was done by this task since it was last made ready.
pub(crate) struct Seen {
    pub(crate) passes: u64,
    pub(crate) ops: u64,
    /// Bytes that it has read and written; none where nobody counts.
    pub(crate) bytes: Option<(u64, u64)>,
}

/// Bytes that reads and writes of the calling thread have moved, and what the look itself has read.
pub(crate) struct Io(Option<(u64, u64, u64)>);

/// How many descriptors are open in the calling thread's table.
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/thread-self/fd").expect("the thread's descriptors").count()
}

fn io() -> Option<(u64, u64, u64)> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    Some((of("rchar:")?, of("wchar:")?, text.len() as u64))
}

impl Io {
    pub(crate) fn now() -> Io {
        Io(io())
    }

    /// Bytes read and written since.
    pub(crate) fn since(self) -> Option<(u64, u64)> {
        // The first look was counted after it had been taken.
        self.0.zip(io()).map(|(before, after)| (after.0 - before.0 - before.2, after.1 - before.1))
    }
}

impl<F: FileSystem> Place<'_, F> {
    fn path(&self, name: &str) -> CString {
        self.place.path(name)
    }

    fn size(&self, name: &str) -> Option<u64> {
        self.fs.stat(&self.path(name)).ok().map(|stat| stat.size)
    }

    fn exists(&self, name: &str) -> bool {
        self.size(name).is_some()
    }

    fn task(&self) -> usize {
        self.place.task
    }

    /// How many of the set's first 32 names there are: `top/task.n`.
    fn there(&self, top: &str) -> u64 {
        (0..32).filter(|n| self.exists(&format!("{top}/{}.{n}", self.task()))).count() as u64
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        let fd = self.fs.open(&self.path(name), OFlags::RDONLY, Mode::empty()).expect(name);
        let mut bytes = vec![0; 1 << 20];
        let len = self.fs.read(fd, &mut bytes).expect(name);
        self.fs.close(fd).expect(name);
        bytes.truncate(len);
        bytes
    }
}

/// Asserts that the passes left what they should.
pub(crate) fn effect<F: FileSystem>(at: &Place<'_, F>, seen: &Seen) {
    let name = at.workload.info().name;
    let (task, passes, ops) = (at.task(), seen.passes, seen.ops);
    let own = format!("d{task}");
    let file = format!("f{task}");
    let bytes = seen.bytes;
    let read = |per_pass: u64| {
        if let Some((read, _)) = bytes {
            assert_eq!(read, per_pass * passes, "{name}: bytes read");
        }
    };
    let written = |per_pass: u64| {
        if let Some((_, written)) = bytes {
            assert_eq!(written, per_pass * passes, "{name}: bytes written");
        }
    };
    let one_each = || assert_eq!(ops, passes, "{name}: an operation a pass");
    match name {
        "create_own" => assert_eq!(at.there(&own), ops, "{name}"),
        "create_shared" | "mkdir_shared" | "tmpfile_link" | "fs_mark" | "mdtest_file_create"
        | "mdtest_dir_create" => {
            assert_eq!(ops, passes, "{name}");
            // mdtest's tree has one directory where nothing else is said.
            assert_eq!(at.there("tree"), ops, "{name}");
            if name == "fs_mark" {
                assert_eq!(at.size(&format!("tree/{task}.0")), Some(16_384));
            }
        }
        "unlink_own" => assert_eq!(at.there(&own), 32 - ops, "{name}"),
        "unlink_shared" | "rmdir_shared" | "mdtest_file_remove" | "mdtest_dir_remove" => {
            assert_eq!(at.there("tree"), 32 - ops, "{name}");
        }
        "rename_to_shared" => {
            assert_eq!((at.there("shared"), at.there(&own)), (ops, 32 - ops), "{name}");
        }
        "rename_own" => {
            // Of its names, round and round, exactly one is there.
            let name_of = |n: u64| format!("{own}/{}", n % RENAMES);
            assert!(at.exists(&name_of(ops)) && !at.exists(&name_of(ops + 1)), "{name}");
        }
        "rename_across" => {
            let (now, not) = if ops % 2 == 0 { ("a", "b") } else { ("b", "a") };
            assert!(at.exists(&format!("{now}{task}/{file}")), "{name}");
            assert!(!at.exists(&format!("{not}{task}/{file}")), "{name}");
        }
        "append_own" => {
            assert_eq!(at.size(&file), Some(ops * 4096), "{name}");
            written(4096);
        }
        "truncate_by_page" => assert_eq!(at.size(&file), Some((32 - ops) * 4096), "{name}"),
        // At 0 it starts again.
        "truncate_by_byte" => {
            assert_eq!(at.size(&file), Some(4095 - (ops - 1) % 4096), "{name}");
        }
        "fallocate" => {
            // 1 MiB, and again from the beginning.
            let len = ((ops - 1) % 128 + 1) * 8192;
            assert_eq!(at.size(&file), Some(len), "{name}");
            if at.here {
                let blocks = here(at, &file).blocks();
                assert!(blocks * 512 >= len, "{name}: {blocks} blocks");
            }
        }
        "creat_close" => assert_eq!(at.size(&file), Some(0), "{name}"),
        "openbench" => assert_eq!(at.bytes(&file), b"foo\0"),
        "create_unlink" | "unlink_open" | "tmpfile_close" => assert!(!at.exists(&file), "{name}"),
        "create_unlink_own_dir" => assert!(!at.exists(&format!("{own}/file")), "{name}"),
        "look_up_missing" => {
            one_each();
            assert!(!at.exists(&format!("missing{task}")), "{name}");
        }
        "chmod_own" if at.here => {
            // Forth and back.
            let wanted = if ops % 2 == 0 { 0o600 } else { 0o640 };
            assert_eq!(here(at, &file).permissions().mode() & 0o777, wanted, "{name}");
        }
        "utimens_own" if at.here => {
            let changed = here(at, &file).modified().expect("a time");
            assert!(changed.elapsed().is_ok_and(|ago| ago.as_secs() < 60), "{name}");
        }
        "fault_shared" | "fault_private" => {
            let touched = if name == "fault_shared" { 1 } else { b'x' };
            assert_eq!(ops, passes * 4, "{name}: pages of 16 KiB");
            let bytes = at.bytes(&file);
            assert!(bytes.chunks(4096).all(|page| page[0] == touched), "{name}");
        }
        "readdir_own" | "readdir_shared" | "readdir_own_changing" | "readdir_shared_changing" => {
            // One call answers all: `.` and `..` as well.
            assert_eq!(ops, passes * 22, "{name}: names");
        }
        "pread_own"
        | "pread_same"
        | "pread_strided"
        | "pread_region"
        | "fd_read"
        | "readseek_same"
        | "readseek_strided"
        | "read_own"
        | "read_shared"
        | "read_own_direct"
        | "read_shared_direct"
        | "pread_own_written"
        | "pread_same_written"
        | "pread_region_written" => {
            one_each();
            read(4096);
            written(0);
        }
        "pwrite_own" | "pwrite_same" | "pwrite_strided" | "pwrite_region" | "writeseek_own"
        | "writeseek_same" | "writeseek_strided" | "write_own" | "pwrite_fsync" => {
            one_each();
            read(0);
            written(4096);
        }
        "eventfd_own" | "pipe_own" => {
            let bytes = if name == "eventfd_own" { 8 } else { 1 };
            read(bytes);
            written(bytes);
        }
        // What opens, closes, looks up, locks or duplicates leaves nothing to see but that it moved no data.
        _ => {
            one_each();
            read(0);
            written(0);
        }
    }
}

fn here<F: FileSystem>(at: &Place<'_, F>, name: &str) -> std::fs::Metadata {
    let path = at.path(name);
    std::fs::metadata(path.to_str().expect("UTF-8")).expect("it is there")
}
