//! perf_event_open(2) and its ring buffer: events of one task, and the records they leave.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// What to count, `PERF_TYPE_*` and `PERF_COUNT_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// CPU cycles, counted by the hardware.
    Cycles,
    /// Time on a CPU, by a timer of the kernel.
    CpuClock,
    /// A tracepoint, by its number.
    Tracepoint(u64),
}

/// How often a sample is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Every {
    /// At each event.
    Event,
    /// So many times a second.
    Hertz(u64),
}

// Bits of `sample_type`; a record has what they ask for, in this order.
/// Address of the instruction.
pub(crate) const SAMPLE_IP: u64 = 1 << 0;
/// Process and thread id.
pub(crate) const SAMPLE_TID: u64 = 1 << 1;
/// When.
pub(crate) const SAMPLE_TIME: u64 = 1 << 2;
/// The stack.
pub(crate) const SAMPLE_CALLCHAIN: u64 = 1 << 5;
/// The tracepoint's own fields.
pub(crate) const SAMPLE_RAW: u64 = 1 << 10;

// Bits of the attributes' flags.
const DISABLED: u64 = 1 << 0;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FREQUENCY: u64 = 1 << 10;
const EXCLUDE_KERNEL_CHAIN: u64 = 1 << 21;
const EXCLUDE_USER_CHAIN: u64 = 1 << 22;
const USE_CLOCK_ID: u64 = 1 << 25;

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// `struct perf_event_attr` up to `PERF_ATTR_SIZE_VER5`, which every kernel with the lock tracepoints knows.
#[repr(C)]
#[derive(Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    period_or_frequency: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    user_registers: u64,
    user_stack: u32,
    clock_id: i32,
    interrupt_registers: u64,
    aux_watermark: u32,
    max_stack: u16,
    reserved: u16,
}

/// An event of one thread, off until it is enabled.
#[derive(Debug)]
pub(crate) struct Counter(OwnedFd);

impl Counter {
    /// Opens it. A call chain has at most `depth` frames of the kernel and none of the task's own; with 0 it is empty, and
    /// nothing is walked.
    ///
    /// # Errors
    /// As perf_event_open(2).
    pub(crate) fn open(
        event: Event,
        every: Every,
        sample_type: u64,
        depth: u16,
        thread: u32,
    ) -> io::Result<Counter> {
        let (kind, config) = match event {
            Event::Cycles => (0, 0),
            Event::CpuClock => (1, 0),
            Event::Tracepoint(id) => (2, id),
        };
        let (period_or_frequency, frequency) = match every {
            Every::Event => (1, 0),
            Every::Hertz(hertz) => (hertz, FREQUENCY),
        };
        // A depth without chains is refused, and 0 would mean the greatest.
        let max_stack = if sample_type & SAMPLE_CALLCHAIN != 0 { depth } else { 0 };
        let no_chain = if depth == 0 { EXCLUDE_KERNEL_CHAIN } else { 0 };
        let attr = Attr {
            kind,
            size: size_of::<Attr>() as u32,
            config,
            period_or_frequency,
            sample_type,
            flags: DISABLED
                | EXCLUDE_HYPERVISOR
                | EXCLUDE_USER_CHAIN
                | USE_CLOCK_ID
                | frequency
                | no_chain,
            clock_id: libc::CLOCK_MONOTONIC,
            max_stack,
            ..Attr::default()
        };
        // SAFETY: the kernel reads `size` bytes of the attributes; any thread, any CPU, no group.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                std::ptr::from_ref(&attr),
                thread as libc::pid_t,
                -1,
                -1,
                CLOSE_ON_EXEC,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel made this descriptor for this call.
        Ok(Counter(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// Counts from now.
    ///
    /// # Errors
    /// As ioctl(2).
    pub(crate) fn enable(&self) -> io::Result<()> {
        self.ioctl(0, 0)
    }

    /// Counts no longer.
    ///
    /// # Errors
    /// As ioctl(2).
    pub(crate) fn disable(&self) -> io::Result<()> {
        self.ioctl(1, 0)
    }

    /// Leaves its records in the ring of `other`, an event of the same thread.
    ///
    /// # Errors
    /// As ioctl(2).
    pub(crate) fn write_to_ring_of(&self, other: &Counter) -> io::Result<()> {
        self.ioctl(5, other.0.as_raw_fd())
    }

    /// Events so far.
    ///
    /// # Errors
    /// As read(2).
    pub(crate) fn count(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        match rustix::io::read(&self.0, &mut count)? {
            8 => Ok(u64::from_ne_bytes(count)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn ioctl(&self, number: u8, argument: i32) -> io::Result<()> {
        let opcode = rustix::ioctl::opcode::none(b'$', number);
        // SAFETY: these commands take a number, no address.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), opcode as _, argument) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Where the kernel leaves the records of a [`Counter`].
#[derive(Debug)]
pub(crate) struct Ring {
    base: NonNull<u8>,
    /// Length of the mapping: a page of control data, then the records.
    length: usize,
    page: usize,
}

/// Offsets within `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

impl Ring {
    /// Room for `pages` pages of records, a power of two.
    ///
    /// # Errors
    /// EPERM: more than an ordinary user may lock.
    pub(crate) fn new(counter: &Counter, pages: usize) -> io::Result<Ring> {
        let page = rustix::param::page_size();
        let length = page * (pages + 1);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel likes.
        let base = unsafe {
            mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, &counter.0, 0)
        }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::Other)?;
        Ok(Ring { base, length, page })
    }

    /// Hands each record to `take` (kind, misc, body), oldest first, and makes room for new ones.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(u32, u16, &[u8])) {
        let size = self.length - self.page;
        // Acquire: what the kernel wrote before it moved the head is seen.
        let head = self.control(DATA_HEAD).load(Ordering::Acquire);
        // Relaxed: only this side writes the tail.
        let mut tail = self.control(DATA_TAIL).load(Ordering::Relaxed);
        let mut record = Vec::new();
        while tail < head {
            let mut header = [0; 8];
            self.copy(tail, size, &mut header);
            let [k0, k1, k2, k3, m0, m1, l0, l1] = header;
            let length = usize::from(u16::from_ne_bytes([l0, l1]));
            if length < header.len() || length as u64 > head - tail {
                // No record is shorter than its header or reaches beyond the head. Nothing behind it can be read.
                tail = head;
                break;
            }
            record.resize(length - header.len(), 0);
            self.copy(tail + header.len() as u64, size, &mut record);
            take(u32::from_ne_bytes([k0, k1, k2, k3]), u16::from_ne_bytes([m0, m1]), &record);
            tail += length as u64;
        }
        // Release: the kernel writes over these records only after they were copied.
        self.control(DATA_TAIL).store(tail, Ordering::Release);
    }

    fn control(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: an aligned word of the mapping's first page, which the kernel reads and writes as an atomic too.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }

    /// Copies what lies at `position` of the endless ring.
    fn copy(&self, position: u64, size: usize, out: &mut [u8]) {
        let start = (position % size as u64) as usize;
        let first = out.len().min(size - start);
        // SAFETY: both parts lie within the data pages, and the kernel does not write between tail and head.
        unsafe {
            let data = self.base.as_ptr().add(self.page);
            std::ptr::copy_nonoverlapping(data.add(start), out.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, out.as_mut_ptr().add(first), out.len() - first);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn attributes_are_laid_out_as_the_kernel_reads_them() {
        // From offsetof() on linux/perf_event.h.
        assert_eq!(size_of::<Attr>(), 112);
        assert_eq!(offset_of!(Attr, flags), 40);
        assert_eq!(offset_of!(Attr, clock_id), 92);
        assert_eq!(offset_of!(Attr, max_stack), 108);
    }
}
