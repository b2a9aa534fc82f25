//! A cache of objects of one type, with a free list per CPU, whose memory stays of that type (SLAB_TYPESAFE_BY_RCU).
//!
//! Objects are constructed when their block is made, not when they are handed out: who holds a stale pointer to one finds an
//! object of the same type, perhaps another's. Objects are recycled on the CPU that frees them.

use super::PerCpu;
use crate::platform::{Cpu, Plain, Platform};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Objects in a block: few, for all of a block is constructed at once, on each of thousands of simulated CPUs.
const BLOCK: usize = 4;

struct Local<T> {
    free: Vec<NonNull<T>>,
    /// First object of each block that this CPU has made.
    blocks: Vec<NonNull<T>>,
    allocated: u64,
    freed: u64,
}

// SAFETY: the pointers are to objects that the slab owns.
unsafe impl<T: Send> Send for Local<T> {}

/// The cache.
pub struct Slab<P: Platform, T: Send + Sync + 'static> {
    make: Box<dyn Fn() -> T + Send + Sync>,
    placed: fn(&T),
    cpus: PerCpu<P, P::Cell<Local<T>>>,
}

impl<P: Platform, T: Send + Sync + 'static> Slab<P, T> {
    /// An empty cache; `make` constructs an object once, for all its lives, and `placed` sees it at its place.
    pub fn new(cpus: usize, make: impl Fn() -> T + Send + Sync + 'static, placed: fn(&T)) -> Self {
        let local = || Local { free: Vec::new(), blocks: Vec::new(), allocated: 0, freed: 0 };
        let cpus = PerCpu::new(cpus, |_| P::Cell::new(local()));
        cpus.iter().for_each(|cpu| P::name(cpu, "kmem_cache_cpu"));
        Slab { make: Box::new(make), placed, cpus }
    }

    fn layout() -> Layout {
        // Objects begin on lines of their own, as the kernel's caches with SLAB_HWCACHE_ALIGN do.
        let object = Layout::new::<T>().align_to(64).expect("64 is a power of two").pad_to_align();
        Layout::from_size_align(object.size() * BLOCK, object.align())
            .expect("a block fits into memory")
    }

    fn with<R>(&self, cpu: Cpu, f: impl FnOnce(&mut Local<T>) -> R) -> R {
        // SAFETY: only the CPU itself touches its list, one operation at a time.
        self.cpus.get(cpu).with_mut(|local| f(unsafe { &mut *local }))
    }

    /// An object, as its last user left it.
    pub fn alloc(&self, cpu: Cpu) -> NonNull<T> {
        self.with(cpu, |local| {
            local.allocated += 1;
            if local.free.is_empty() {
                self.grow(local);
            }
            local.free.pop().expect("a block was just made")
        })
    }

    #[cold]
    fn grow(&self, local: &mut Local<T>) {
        let layout = Self::layout();
        let block = P::alloc(layout);
        let stride = layout.size() / BLOCK;
        for at in (0..BLOCK).rev() {
            // SAFETY: within the block just allocated, aligned by the stride.
            let object = unsafe { block.add(at * stride).cast::<T>() };
            // SAFETY: as above; nothing is there yet.
            unsafe { object.write((self.make)()) };
            // SAFETY: just written.
            (self.placed)(unsafe { &*object });
            local.free.push(NonNull::new(object).expect("alloc is never null"));
        }
        local.blocks.push(NonNull::new(block.cast()).expect("alloc is never null"));
    }

    /// Gives an object back. It may be handed out again at once.
    ///
    /// # Safety
    /// It came from [`Slab::alloc`] of this slab and has no owner any more.
    pub unsafe fn free(&self, cpu: Cpu, object: NonNull<T>) {
        self.with(cpu, |local| {
            local.freed += 1;
            local.free.push(object);
        });
    }

    /// Objects handed out and not given back.
    ///
    /// # Safety
    /// No CPU uses the slab meanwhile.
    pub unsafe fn in_use(&self) -> u64 {
        let cpus = 0..self.cpus.iter().count();
        let (allocated, freed) = cpus.map(Cpu).fold((0, 0), |(allocated, freed), cpu| {
            self.with(cpu, |local| (allocated + local.allocated, freed + local.freed))
        });
        allocated - freed
    }
}

impl<P: Platform, T: Send + Sync + 'static> Drop for Slab<P, T> {
    fn drop(&mut self) {
        let layout = Self::layout();
        let stride = layout.size() / BLOCK;
        for cpu in (0..self.cpus.iter().count()).map(Cpu) {
            let blocks = self.with(cpu, |local| std::mem::take(&mut local.blocks));
            for block in blocks {
                let block = block.as_ptr().cast::<u8>();
                for at in 0..BLOCK {
                    // SAFETY: every object of a block was constructed in `grow`, and `self` owns them all.
                    unsafe { block.add(at * stride).cast::<T>().drop_in_place() };
                }
                // SAFETY: the block came from `alloc` with this layout.
                unsafe { P::dealloc(block, layout) };
            }
        }
    }
}
