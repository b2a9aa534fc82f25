//! bpf(2): maps, programs, raw tracepoints and the cost of programs, each behind an owned file descriptor.

use super::insn::Insn;
use std::ffi::CStr;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

const MAP_CREATE: u32 = 0;
const MAP_LOOKUP: u32 = 1;
const MAP_UPDATE: u32 = 2;
const MAP_DELETE: u32 = 3;
const MAP_NEXT_KEY: u32 = 4;
const PROG_LOAD: u32 = 5;
const INFO_BY_FD: u32 = 15;
const RAW_TRACEPOINT_OPEN: u32 = 17;
const ENABLE_STATS: u32 = 32;

const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;

/// Room for the verifier's words where it refuses a program.
const LOG: usize = 64 << 10;

/// Names are cut by the kernel at 15 bytes.
type Name = [u8; 16];

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    name: Name,
}

#[repr(C)]
struct MapElement {
    fd: u32,
    pad: u32,
    key: u64,
    /// Of `MAP_NEXT_KEY`: the next key.
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    prog_type: u32,
    insn_count: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    prog_flags: u32,
    name: Name,
}

#[repr(C)]
struct RawTracepoint {
    name: u64,
    fd: u32,
    pad: u32,
}

#[repr(C)]
struct InfoByFd {
    fd: u32,
    len: u32,
    info: u64,
}

/// The head of the kernel's `struct bpf_prog_info`; the words before are of no interest here.
#[repr(C)]
struct ProgInfo {
    before: [u64; 24],
    run_time_ns: u64,
    run_count: u64,
    recursion_misses: u64,
}

/// What a command leaves in the kernel's hands for the time of the call.
///
/// # Safety
/// `attr` must be the layout that `command` reads, at its beginning, of `union bpf_attr`, and every address in it must be
/// good for what the command does with it.
unsafe fn bpf<T>(command: u32, attr: &mut T) -> io::Result<i32> {
    // SAFETY: the kernel touches no more than the given size of `attr`, and the caller answers for the addresses in it.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attr), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// Like [`bpf`], for commands that return a descriptor.
///
/// # Safety
/// As for [`bpf`].
unsafe fn bpf_fd<T>(command: u32, attr: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: as the caller promises.
    let fd = unsafe { bpf(command, attr) }?;
    // SAFETY: the kernel made this descriptor for this call, close-on-exec, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn name(text: &str) -> Name {
    let mut name = Name::default();
    let length = text.len().min(name.len() - 1);
    name[..length].copy_from_slice(&text.as_bytes()[..length]);
    name
}

/// Kinds of maps, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapType {
    /// One value a key.
    Hash = 1,
    /// A value per CPU and key.
    PerCpuHash = 5,
    /// A value per CPU and index.
    PerCpuArray = 6,
    /// Stacks by their number.
    StackTrace = 7,
}

/// Plain data as a program sees it: any bytes are a value, and there is no padding.
///
/// # Safety
/// Both must be so.
pub(crate) unsafe trait Plain: Copy + Default {}

// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: an array of integers.
unsafe impl Plain for [u64; 2] {}
// SAFETY: two words of 32 bits and one of 64 at a multiple of 8.
unsafe impl Plain for super::program::Key {}
// SAFETY: words of 64 bits.
unsafe impl Plain for super::program::Sum {}
// SAFETY: words of 64 bits.
unsafe impl Plain for super::program::Counters {}

/// A map with keys `K`. Its values are words of `V`: one, one per possible CPU, or a stack of them.
#[derive(Debug)]
pub(crate) struct Map<K, V> {
    fd: OwnedFd,
    /// `V`s that one look-up gives.
    values: usize,
    types: PhantomData<(K, V)>,
}

impl<K: Plain, V: Plain> Map<K, V> {
    /// Makes a map. `values` is the number of `V`s that a look-up gives: the possible CPUs of a per-CPU map, the greatest
    /// depth of a map of stacks, else 1.
    ///
    /// # Errors
    /// As bpf(2).
    pub(crate) fn new(kind: MapType, entries: u32, values: usize, text: &str) -> io::Result<Self> {
        let per_cpu = matches!(kind, MapType::PerCpuHash | MapType::PerCpuArray);
        let in_kernel = if per_cpu { 1 } else { values };
        let mut attr = MapCreate {
            map_type: kind as u32,
            key_size: size_of::<K>() as u32,
            value_size: (size_of::<V>() * in_kernel) as u32,
            max_entries: entries,
            name: name(text),
            ..MapCreate::default()
        };
        // SAFETY: the layout is that of BPF_MAP_CREATE; there are no addresses in it.
        let fd = unsafe { bpf_fd(MAP_CREATE, &mut attr) }?;
        Ok(Map { fd, values, types: PhantomData })
    }

    /// The descriptor, for programs.
    pub(crate) fn raw(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// The values of `key`, if it has any.
    ///
    /// # Errors
    /// As bpf(2).
    pub(crate) fn get(&self, key: &K) -> io::Result<Option<Vec<V>>> {
        debug_assert!(size_of::<V>().is_multiple_of(8), "per-CPU values are 8-byte aligned");
        let mut values = vec![V::default(); self.values];
        let mut attr = self.element(key, values.as_mut_ptr().cast());
        // SAFETY: the key is as long as the map's; `values` has room for what a look-up gives, and any bytes are a `V`.
        match unsafe { bpf(MAP_LOOKUP, &mut attr) } {
            Ok(_) => Ok(Some(values)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets the value of `key`; for maps with one value a key.
    ///
    /// # Errors
    /// As bpf(2).
    pub(crate) fn set(&self, key: &K, value: &V) -> io::Result<()> {
        assert_eq!(self.values, 1, "only maps with one value a key are written");
        let mut attr = self.element(key, std::ptr::from_ref(value).cast_mut().cast());
        // SAFETY: key and value are as long as the map's, and the kernel only reads them.
        unsafe { bpf(MAP_UPDATE, &mut attr) }.map(drop)
    }

    /// Removes `key` if it is there.
    ///
    /// # Errors
    /// As bpf(2).
    pub(crate) fn remove(&self, key: &K) -> io::Result<()> {
        let mut attr = self.element(key, std::ptr::null_mut());
        // SAFETY: the key is as long as the map's; there is no value.
        match unsafe { bpf(MAP_DELETE, &mut attr) } {
            Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
            _ => Ok(()),
        }
    }

    /// All keys. Nobody may write the map meanwhile.
    ///
    /// # Errors
    /// As bpf(2).
    pub(crate) fn keys(&self) -> io::Result<Vec<K>> {
        let mut keys: Vec<K> = Vec::new();
        loop {
            let mut next = K::default();
            let out = std::ptr::from_mut(&mut next).cast();
            let mut attr = match keys.last() {
                Some(last) => self.element(last, out),
                None => MapElement { key: 0, ..self.element(&K::default(), out) },
            };
            // SAFETY: the key is absent or as long as the map's, and so is the place for the next one.
            match unsafe { bpf(MAP_NEXT_KEY, &mut attr) } {
                Ok(_) => keys.push(next),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(keys),
                Err(error) => return Err(error),
            }
        }
    }

    fn element(&self, key: &K, value: *mut libc::c_void) -> MapElement {
        MapElement {
            fd: self.fd.as_raw_fd() as u32,
            pad: 0,
            key: std::ptr::from_ref(key) as u64,
            value: value as u64,
            flags: 0,
        }
    }
}

/// A program that the kernel has accepted. It runs nowhere yet.
#[derive(Debug)]
pub(crate) struct Program(OwnedFd);

/// Why the kernel did not take a program.
#[derive(Debug)]
pub(crate) struct LoadError {
    /// As bpf(2).
    pub(crate) error: io::Error,
    /// What the verifier said; empty if it was not asked.
    pub(crate) log: String,
}

/// What a program cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramCost {
    /// Times it ran while statistics were on,
    pub(crate) runs: u64,
    /// and how long that took.
    pub(crate) ns: u64,
    /// Times it did not run because it was running on that CPU already; counted always.
    pub(crate) missed: u64,
}

impl Program {
    /// Loads a program for raw tracepoints.
    ///
    /// # Errors
    /// Not permitted, or refused by the verifier.
    pub(crate) fn load(insns: &[Insn], text: &str) -> Result<Program, LoadError> {
        // bpf_get_stackid() is for programs whose licence goes with the kernel's; the MIT one does.
        let license: &CStr = c"Dual MIT/GPL";
        let mut attr = ProgLoad {
            prog_type: PROG_TYPE_RAW_TRACEPOINT,
            insn_count: insns.len() as u32,
            insns: insns.as_ptr() as u64,
            license: license.as_ptr() as u64,
            name: name(text),
            ..ProgLoad::default()
        };
        // SAFETY: instructions and licence outlive the call, which only reads them.
        let error = match unsafe { bpf_fd(PROG_LOAD, &mut attr) } {
            Ok(fd) => return Ok(Program(fd)),
            Err(error) => error,
        };
        if error.raw_os_error() == Some(libc::EPERM) {
            return Err(LoadError { error, log: String::new() });
        }
        // Once more, for the verifier's words: asked for always, they can make a good program fail for want of room.
        let mut log = vec![0u8; LOG];
        attr.log_level = 1;
        attr.log_size = log.len() as u32;
        attr.log = log.as_mut_ptr() as u64;
        // SAFETY: as above; the kernel writes at most `log_size` bytes to `log`.
        drop(unsafe { bpf_fd(PROG_LOAD, &mut attr) });
        let length = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        Err(LoadError { error, log: String::from_utf8_lossy(&log[..length]).trim().to_owned() })
    }

    /// Makes it run at a tracepoint until the result is dropped.
    ///
    /// # Errors
    /// ENOENT: the kernel has no such tracepoint.
    pub(crate) fn attach(&self, tracepoint: &CStr) -> io::Result<OwnedFd> {
        let fd = self.0.as_raw_fd() as u32;
        let mut attr = RawTracepoint { name: tracepoint.as_ptr() as u64, fd, pad: 0 };
        // SAFETY: the name outlives the call, which only reads it.
        unsafe { bpf_fd(RAW_TRACEPOINT_OPEN, &mut attr) }
    }

    /// What it cost so far. (/proc/self/fdinfo says the same, but is closed to a program with file capabilities.)
    ///
    /// # Errors
    /// As bpf(2).
    pub(crate) fn cost(&self) -> io::Result<ProgramCost> {
        let mut info =
            ProgInfo { before: [0; 24], run_time_ns: 0, run_count: 0, recursion_misses: 0 };
        let mut attr = InfoByFd {
            fd: self.0.as_fd().as_raw_fd() as u32,
            len: size_of::<ProgInfo>() as u32,
            info: std::ptr::from_mut(&mut info) as u64,
        };
        // SAFETY: the kernel writes at most `len` bytes to `info`, and nothing where counts of arrays within are 0.
        unsafe { bpf(INFO_BY_FD, &mut attr) }?;
        Ok(ProgramCost {
            runs: info.run_count,
            ns: info.run_time_ns,
            missed: info.recursion_misses,
        })
    }
}

/// Makes the kernel measure what programs cost until the result is dropped. Unlike the sysctl this cannot be left behind.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN.
pub(crate) fn enable_stats() -> io::Result<OwnedFd> {
    // 0 is BPF_STATS_RUN_TIME.
    let mut kind = 0u32;
    // SAFETY: the layout is that of BPF_ENABLE_STATS; there are no addresses in it.
    unsafe { bpf_fd(ENABLE_STATS, &mut kind) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn layouts_are_the_kernel_s() {
        // From offsetof() on linux/bpf.h.
        assert_eq!(offset_of!(MapCreate, name), 28);
        assert_eq!(offset_of!(ProgLoad, log), 32);
        assert_eq!(offset_of!(ProgLoad, name), 48);
        assert_eq!(offset_of!(RawTracepoint, fd), 8);
        assert_eq!(offset_of!(ProgInfo, run_time_ns), 192);
        assert_eq!(offset_of!(ProgInfo, recursion_misses), 208);
    }

    #[test]
    fn long_names_are_cut_and_terminated() {
        assert_eq!(name("a_name_that_is_too_long"), *b"a_name_that_is_\0");
        assert_eq!(name("short")[..6], *b"short\0");
    }
}
