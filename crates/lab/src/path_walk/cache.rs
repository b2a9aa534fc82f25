//! The dentry hash table, the LRU list, and rename_lock: what all dentries of a kernel share.

use super::dentry::Dentry;
use crate::design::Env;
use crate::object::{Inode, Raw};
use machine::sync::{PerCpu, SeqCount, Spin, SpinLock};
use machine::{Cpu, Cx, POwned, Plain, Platform, PtrWord};
use std::alloc::Layout;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Chains of the hash table, as a power of two. The kernel's number goes with its memory; what is measured here fits.
const BUCKETS_LOG2: u32 = 10;

/// A chain of the hash table, with the lock of the designs that lock chains.
pub(super) struct Bucket<P: Platform> {
    first: P::Ptr<Dentry<P>>,
    lock: Spin<P>,
}

/// The chains: dense, as in the kernel, so that some share a line.
struct Buckets<P: Platform> {
    first: NonNull<Bucket<P>>,
    log2: u32,
}

// SAFETY: it owns its buckets, as a Vec does.
unsafe impl<P: Platform> Send for Buckets<P> {}
// SAFETY: as above.
unsafe impl<P: Platform> Sync for Buckets<P> {}

impl<P: Platform> Buckets<P> {
    fn layout(log2: u32) -> Layout {
        let array = Layout::array::<Bucket<P>>(1 << log2).expect("a hash table fits into memory");
        array.align_to(64).expect("64 is a power of two").pad_to_align()
    }

    fn new(env: &Env, log2: u32) -> Self {
        let first = P::alloc(Self::layout(log2)).cast::<Bucket<P>>();
        for at in 0..1 << log2 {
            let lock = Spin::new(env.spin, "dcache_hash_bucket");
            // SAFETY: the array has room for it.
            unsafe { first.add(at).write(Bucket { first: P::Ptr::new(null_mut()), lock }) };
        }
        let buckets = Buckets { first: NonNull::new(first).expect("alloc is never null"), log2 };
        P::name(buckets.all(), "dentry_hashtable");
        buckets
    }

    fn all(&self) -> &[Bucket<P>] {
        // SAFETY: so many were written in `new`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), 1 << self.log2) }
    }

    #[inline]
    fn of(&self, hash: u32) -> &Bucket<P> {
        // The upper bits of a product with the golden ratio (hash_32).
        let mixed = u64::from(hash.wrapping_mul(0x9e37_79b9));
        &self.all()[(mixed >> (32 - self.log2)) as usize]
    }
}

impl<P: Platform> Drop for Buckets<P> {
    fn drop(&mut self) {
        let buckets = std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), 1 << self.log2);
        // SAFETY: they were written in `new`, are owned, and their memory came from `alloc` with this layout.
        unsafe {
            buckets.drop_in_place();
            P::dealloc(self.first.as_ptr().cast(), Self::layout(self.log2));
        }
    }
}

/// rename_lock: a lock for who renames, and a count for who must know whether somebody has.
struct RenameLock<P: Platform> {
    lock: Spin<P>,
    seq: SeqCount<P>,
}

/// Dentries that had no reference at some time, for a shrinker to free when memory is short (there is none here).
pub(super) struct Lru<P: Platform> {
    first: P::Ptr<Dentry<P>>,
    lock: Spin<P>,
}

// Relaxed throughout: the lock orders.
impl<P: Platform> Lru<P> {
    /// Puts the dentry on the list, if it is not there. Under d_lock and under what protects the list.
    pub(super) fn add_locked(&self, dentry: &Dentry<P>) {
        if dentry.enters_lru() {
            self.link(dentry);
        }
    }

    /// Takes the dentry off the list, if it is there. Locked as for adding.
    pub(super) fn del_locked(&self, dentry: &Dentry<P>) {
        if dentry.on_lru() {
            self.unlink(dentry);
        }
    }

    /// Puts the dentry on the list, if it is not there: only then the list is locked. Under d_lock.
    pub(super) fn add(&self, dentry: &Dentry<P>) {
        if dentry.enters_lru() {
            self.lock.with(|| self.link(dentry));
        }
    }

    /// Takes the dentry off the list, if it is there. Under d_lock.
    pub(super) fn del(&self, dentry: &Dentry<P>) {
        if dentry.on_lru() {
            self.lock.with(|| self.unlink(dentry));
        }
    }

    fn link(&self, dentry: &Dentry<P>) {
        let me = std::ptr::from_ref(dentry).cast_mut();
        let first = self.first.load(Relaxed);
        dentry.lru_next.store(first, Relaxed);
        // SAFETY: a dentry on the list is taken off before it is freed, under the lock held.
        if let Some(first) = unsafe { first.as_ref() } {
            first.lru_prev.store(me, Relaxed);
        }
        self.first.store(me, Relaxed);
    }

    fn unlink(&self, dentry: &Dentry<P>) {
        let (prev, next) = (dentry.lru_prev.load(Relaxed), dentry.lru_next.load(Relaxed));
        // SAFETY: as in `link`.
        match unsafe { prev.as_ref() } {
            Some(prev) => prev.lru_next.store(next, Relaxed),
            None => self.first.store(next, Relaxed),
        }
        // SAFETY: as in `link`.
        if let Some(next) = unsafe { next.as_ref() } {
            next.lru_prev.store(prev, Relaxed);
        }
    }
}

/// Inodes whose dentries went when nobody could be told.
type Unclaimed<P> = Vec<Raw<Inode<P>>>;

/// What all dentries share.
pub(super) struct Cache<P: Platform> {
    pub(super) env: Env,
    buckets: Buckets<P>,
    rename_lock: POwned<P, RenameLock<P>>,
    pub(super) lru: POwned<P, Lru<P>>,
    roots: SpinLock<P, Vec<Raw<Dentry<P>>>>,
    unclaimed: PerCpu<P, P::Cell<Unclaimed<P>>>,
}

impl<P: Platform> Cache<P> {
    pub(super) fn new(env: &Env) -> Self {
        Self::with_buckets(env, BUCKETS_LOG2)
    }

    pub(super) fn with_buckets(env: &Env, log2: u32) -> Self {
        let spin = |name| Spin::new(env.spin, name);
        let cache = Cache {
            env: *env,
            buckets: Buckets::new(env, log2),
            rename_lock: POwned::new(RenameLock {
                lock: spin("rename_lock"),
                seq: SeqCount::default(),
            }),
            lru: POwned::new(Lru { first: P::Ptr::new(null_mut()), lock: spin("dcache_lru_lock") }),
            roots: SpinLock::new(env.spin, "super_blocks", Vec::new()),
            unclaimed: PerCpu::new(env.cpus, |_| P::Cell::new(Vec::new())),
        };
        P::name(&*cache.rename_lock, "rename_lock");
        P::name(&*cache.lru, "dentry_lru");
        cache.unclaimed.iter().for_each(|cpu| P::name(cpu, "dentry puts (per CPU)"));
        cache
    }

    pub(super) fn add_root(&self, inode: Raw<Inode<P>>) -> Raw<Dentry<P>> {
        self.roots.with(|roots| {
            let number = u32::try_from(roots.len()).expect("few file systems");
            let root = Dentry::alloc_root(&self.env, inode, number);
            roots.push(root);
            root
        })
    }

    // The hash table. A chain is changed under its lock, or (dcache_lock) under the lock of all. Walkers follow it under RCU:
    // a dentry is complete before it can be found (Release at its publication, Acquire at each step), and one that was taken
    // off keeps its `next`, so that who stands on it gets on. A rename may carry a walker over into another chain: it then may
    // miss what it looks for, and rename_lock tells.

    /// Looks at each dentry in the chain of `hash`, until `found` finds something. Within a call (RCU).
    #[inline]
    pub(super) fn scan<T>(
        &self,
        hash: u32,
        mut found: impl FnMut(&Dentry<P>) -> Option<T>,
    ) -> Option<T> {
        let mut at = self.buckets.of(hash).first.load(Acquire);
        loop {
            // SAFETY: dentries are freed a grace period after they left their chain.
            let dentry = unsafe { at.as_ref() }?;
            if let Some(found) = found(dentry) {
                return Some(found);
            }
            at = dentry.next.load(Acquire);
        }
    }

    /// Looks for something in the chain of `hash`, until it is found or is certainly not there (d_lookup).
    #[inline]
    pub(super) fn search<T>(
        &self,
        hash: u32,
        mut found: impl FnMut(&Dentry<P>) -> Option<T>,
    ) -> Option<T> {
        self.scan(hash, &mut found).or_else(|| {
            loop {
                let seq = self.rename_lock.seq.read_begin();
                let result = self.scan(hash, &mut found);
                if result.is_some() || !self.rename_lock.seq.retry(seq) {
                    return result;
                }
            }
        })
    }

    /// Runs `rename` so that every look-up that misses meanwhile is repeated.
    pub(super) fn renaming(&self, rename: impl FnOnce()) {
        self.rename_lock.lock.with(|| {
            self.rename_lock.seq.write_begin();
            rename();
            self.rename_lock.seq.write_end();
        });
    }

    fn with_chain(&self, dentry: &Dentry<P>, lock: bool, f: impl FnOnce(&Bucket<P>)) {
        let bucket = self.buckets.of(dentry.hash());
        if lock {
            bucket.lock.with(|| f(bucket));
        } else {
            f(bucket);
        }
    }

    /// Puts the dentry into its chain. Under d_lock; `lock` says whether chains have their own locks.
    pub(super) fn hash(&self, dentry: &Dentry<P>, lock: bool) {
        let me = std::ptr::from_ref(dentry).cast_mut();
        self.with_chain(dentry, lock, |bucket| {
            // Relaxed: the lock orders. Release: see above.
            let first = bucket.first.load(Relaxed);
            dentry.next.store(first, Release);
            dentry.prev.store(null_mut(), Relaxed);
            // SAFETY: a dentry in the chain leaves it before it is freed, under the lock held.
            if let Some(first) = unsafe { first.as_ref() } {
                first.prev.store(me, Relaxed);
            }
            bucket.first.store(me, Release);
        });
    }

    /// Takes the dentry off its chain. Locked as for putting it there.
    pub(super) fn unhash(&self, dentry: &Dentry<P>, lock: bool) {
        self.with_chain(dentry, lock, |bucket| {
            let (prev, next) = (dentry.prev.load(Relaxed), dentry.next.load(Relaxed));
            // Release: a walker gets to `next` by this store, and must see it complete.
            // SAFETY: as in `hash`.
            match unsafe { prev.as_ref() } {
                Some(prev) => prev.next.store(next, Release),
                None => bucket.first.store(next, Release),
            }
            // SAFETY: as in `hash`.
            if let Some(next) = unsafe { next.as_ref() } {
                next.prev.store(prev, Relaxed);
            }
        });
    }

    fn with_unclaimed<R>(&self, cpu: Cpu, f: impl FnOnce(&mut Unclaimed<P>) -> R) -> R {
        // SAFETY: only the CPU itself touches its list, one operation at a time.
        self.unclaimed.get(cpu).with_mut(|unclaimed| f(unsafe { &mut *unclaimed }))
    }

    /// Keeps an inode until this CPU puts something again.
    pub(super) fn leave(&self, cx: Cx<'_, P>, inode: Raw<Inode<P>>) {
        self.with_unclaimed(cx.cpu, |unclaimed| unclaimed.push(inode));
    }

    /// An inode that was left on this CPU.
    #[inline]
    pub(super) fn claim(&self, cx: Cx<'_, P>) -> Option<Raw<Inode<P>>> {
        self.with_unclaimed(cx.cpu, Vec::pop)
    }

    /// Frees every dentry and hands its inode to `inode`, and the inodes that were left.
    ///
    /// # Safety
    /// The caller is alone with the kernel and holds no reference; RCU was drained.
    pub(super) unsafe fn tear_down(&self, inode: &mut dyn FnMut(Raw<Inode<P>>)) {
        for bucket in self.buckets.all() {
            let mut next = Raw::new(bucket.first.swap(null_mut(), Acquire));
            while let Some(dentry) = next {
                // SAFETY: it was in a chain, hence not freed, and nobody else touches it.
                let object = unsafe { dentry.get() };
                next = Raw::new(object.next.load(Relaxed));
                inode(object.inode());
                // SAFETY: the caller's promise; it was the chain's.
                unsafe { Dentry::free(dentry) };
            }
        }
        self.lru.first.store(null_mut(), Relaxed);
        for root in self.roots.with(std::mem::take) {
            // SAFETY: roots are freed only here.
            inode(unsafe { root.get() }.inode());
            // SAFETY: the caller's promise.
            unsafe { Dentry::free(root) };
        }
        for cpu in (0..self.env.cpus).map(Cpu) {
            self.with_unclaimed(cpu, std::mem::take).into_iter().for_each(&mut *inode);
        }
    }
}

#[cfg(test)]
impl<P: Platform> Cache<P> {
    /// Whether names with this hash are in the first of the chains.
    pub(super) fn is_in_first_chain(&self, hash: u32) -> bool {
        std::ptr::eq(self.buckets.of(hash), &self.buckets.all()[0])
    }
}
