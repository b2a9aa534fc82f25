//! Which CPUs this process may use, and putting a task on one of them.
//!
//! The system calls are made directly with masks that grow, because `cpu_set_t` and everything built on it ends at 1024 CPUs.

use super::{Roots, at, cpulist, read_if_there};
use libc::c_ulong;
use std::io;

/// The kernel's masks are arrays of its unsigned long.
const WORD_BITS: usize = c_ulong::BITS as usize;

/// What glibc has room for, and the first size tried.
const FIRST_MASK_BITS: usize = 1024;

/// CPUs this process may use, in ascending order: affinity of its main thread ∩ cpuset ∩ online.
///
/// The kernel has already intersected the affinity with the cpuset. The main thread is asked, so that a thread that was pinned
/// gets the same answer.
///
/// # Errors
/// When the affinity cannot be read or no CPU is left; the text says what to do.
pub fn usable() -> io::Result<Vec<u32>> {
    usable_in(&Roots::default())
}

/// [`usable`] with the list of online CPUs below `roots`.
pub(crate) fn usable_in(roots: &Roots) -> io::Result<Vec<u32>> {
    let allowed = affinity_of(std::process::id())?;
    let file = roots.cpus().join("online");
    let usable = match read_if_there(&file)? {
        Some(online) => {
            let online = cpulist::parse(&online)
                .map_err(|error| at(&file, io::Error::new(io::ErrorKind::InvalidData, error)))?;
            allowed.iter().copied().filter(|id| online.binary_search(id).is_ok()).collect()
        }
        // Without sysfs the affinity has to do; the kernel leaves offline CPUs out of it anyway.
        None => allowed.clone(),
    };
    if usable.is_empty() {
        let message = format!(
            "none of the CPUs this process may use ({}) is online according to {}: change the affinity (taskset) or the cpuset",
            cpulist::format(&allowed),
            file.display()
        );
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    Ok(usable)
}

/// Binds the calling thread to one CPU.
///
/// # Errors
/// `InvalidInput` when the CPU is offline, does not exist or is outside the cpuset.
pub fn pin_self_to(cpu: u32) -> io::Result<()> {
    let mut mask: Vec<c_ulong> = vec![0; cpu as usize / WORD_BITS + 1];
    mask[cpu as usize / WORD_BITS] = 1 << (cpu as usize % WORD_BITS);
    // SAFETY: the kernel only reads the given number of bytes at the pointer, and the vector has them. Thread 0 is the caller.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(mask.as_slice()), mask.as_ptr())
    };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    let advice = match error.raw_os_error() {
        Some(libc::EINVAL) => {
            "it is offline or outside this process's cpuset; choose among the usable CPUs"
        }
        _ => "run without pinning (none)",
    };
    Err(io::Error::new(error.kind(), format!("cannot pin to CPU {cpu}: {error}: {advice}")))
}

/// The CPU the calling thread is running on at this moment.
pub fn current_cpu() -> u32 {
    // CPU numbers are 32 bits wide in the kernel.
    rustix::thread::sched_getcpu() as u32
}

/// sched_getaffinity of a thread, with as large a mask as the kernel wants.
fn affinity_of(thread: u32) -> io::Result<Vec<u32>> {
    let mut bits = FIRST_MASK_BITS;
    loop {
        let mut mask: Vec<c_ulong> = vec![0; bits / WORD_BITS];
        // SAFETY: the kernel writes at most the given number of bytes at the pointer, and the vector has them.
        let written = unsafe {
            libc::syscall(
                libc::SYS_sched_getaffinity,
                thread,
                size_of_val(mask.as_slice()),
                mask.as_mut_ptr(),
            )
        };
        if written >= 0 {
            return Ok(set_bits(&mask));
        }
        let error = io::Error::last_os_error();
        // EINVAL: the mask is shorter than the kernel's.
        if error.raw_os_error() != Some(libc::EINVAL) || bits >= cpulist::ID_LIMIT as usize {
            let message = format!(
                "cannot read which CPUs may be used (sched_getaffinity): {error}: allow the call if a seccomp filter forbids it"
            );
            return Err(io::Error::new(error.kind(), message));
        }
        bits *= 2;
    }
}

/// Numbers of the bits that are set, ascending.
fn set_bits(mask: &[c_ulong]) -> Vec<u32> {
    // At most ID_LIMIT bits, so that the number fits.
    (0..mask.len() * WORD_BITS)
        .filter(|bit| mask[bit / WORD_BITS] >> (bit % WORD_BITS) & 1 == 1)
        .map(|bit| bit as u32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fixture::Tree;

    #[test]
    fn bits_have_the_kernels_numbers() {
        assert_eq!(set_bits(&[]), Vec::<u32>::new());
        let mut mask = vec![0; 5001 / WORD_BITS + 1];
        for cpu in [0, 63, 64, 1024, 5000] {
            mask[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
        }
        assert_eq!(set_bits(&mask), [0, 63, 64, 1024, 5000]);
    }

    #[test]
    fn a_pinned_thread_runs_there_and_sees_the_same_cpus() {
        let before = usable().expect("affinity");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for &cpu in &before {
                    pin_self_to(cpu).expect("usable");
                    assert_eq!(current_cpu(), cpu);
                }
                assert_eq!(usable().expect("affinity"), before);
            });
        });
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_with_advice() {
        let error = pin_self_to(cpulist::ID_LIMIT - 1).expect_err("no such CPU");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("choose among the usable CPUs"), "{error}");
    }

    #[test]
    fn offline_cpus_are_left_out() {
        let allowed = affinity_of(std::process::id()).expect("affinity");
        let tree = Tree::new();
        assert_eq!(usable_in(&tree.roots()).expect("no list"), allowed);

        tree.sys("devices/system/cpu/online", &format!("{},4000\n", allowed[0]));
        assert_eq!(usable_in(&tree.roots()).expect("one online"), [allowed[0]]);

        tree.sys("devices/system/cpu/online", "4000-4003\n");
        let error = usable_in(&tree.roots()).expect_err("none online");
        assert!(error.to_string().contains("taskset"), "{error}");

        tree.sys("devices/system/cpu/online", "all\n");
        assert_eq!(
            usable_in(&tree.roots()).expect_err("no list").kind(),
            io::ErrorKind::InvalidData
        );
    }
}
