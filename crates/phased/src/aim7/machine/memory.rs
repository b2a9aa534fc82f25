//! Jobs that get, touch, copy and give back memory.

use super::failed;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::hint::black_box;
use std::ptr::null_mut;
use vfs_api::{Call, Errno, Failure, PAGE};

/// Bytes of a mapping.
const MAPPED: usize = 1 << 20;

/// Moves the end of the data segment up and back again.
pub(super) fn brk() -> Result<(), Failure> {
    /// SYS_brk itself: a C library need not offer it (musl does not).
    fn brk(to: usize) -> usize {
        // SAFETY: only memory above the present end is added and taken away again. The process has one thread, and nothing
        // allocates in between, so that nobody else can have got any of it.
        unsafe { libc::syscall(libc::SYS_brk, to) as usize }
    }
    let end = brk(0);
    for step in 1..=200 {
        let wanted = end + (step % 20 + 1) * PAGE;
        if brk(wanted) != wanted {
            return Err(Failure::new(Call::Brk, Errno::NOMEM));
        }
        if brk(end) != end {
            return Err(Failure::new(Call::Brk, Errno::INVAL));
        }
    }
    Ok(())
}

/// A mapping of its own, taken away when it is dropped.
struct Mapping(*mut u8);

impl Mapping {
    fn new(sharing: MapFlags) -> Result<Mapping, Failure> {
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let at = unsafe {
            mmap_anonymous(null_mut(), MAPPED, ProtFlags::READ | ProtFlags::WRITE, sharing)
        };
        at.map(|at| Mapping(at.cast())).map_err(failed(Call::Mmap))
    }

    /// Writes a byte of each page and reads it back.
    fn touch(&self) {
        for at in (0..MAPPED).step_by(PAGE) {
            // SAFETY: `at` is inside the mapping, which lives as long as `self` and is used through it only.
            unsafe {
                self.0.add(at).write_volatile(at as u8);
                black_box(self.0.add(at).read_volatile());
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is the mapping made in `new`. A failure could only leak it.
        let _ = unsafe { munmap(self.0.cast(), MAPPED) };
    }
}

/// Faults in new pages.
pub(super) fn touch_pages() -> Result<(), Failure> {
    for _ in 0..8 {
        Mapping::new(MapFlags::PRIVATE)?.touch();
    }
    Ok(())
}

/// Attaches memory that could be shared, uses and detaches it, a hundred times.
pub(super) fn shared() -> Result<(), Failure> {
    for _ in 0..10 {
        Mapping::new(MapFlags::SHARED)?.touch();
    }
    Ok(())
}

/// Blocks of many sizes, got and given back out of order.
pub(super) fn allocate() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for step in 0..10_000usize {
        kept.push(black_box(Vec::with_capacity(step * 37 % 3000 + 1)));
        if kept.len() > 50 {
            kept.swap_remove(step % 50);
        }
    }
    black_box(kept);
}

/// Fills, copies and compares blocks.
pub(super) fn copy_and_compare() {
    let from = black_box(vec![7u8; 16 << 10]);
    let mut to = vec![0u8; from.len()];
    for round in 0..200u32 {
        to.copy_from_slice(&from);
        black_box(to == from);
        to.fill(round as u8);
    }
    black_box(to);
}

/// Copies more than the nearest cache holds.
pub(super) fn ram_copy() {
    let from = black_box(vec![7u8; 256 << 10]);
    let mut to = vec![0u8; from.len()];
    for _ in 0..20 {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
    }
}
