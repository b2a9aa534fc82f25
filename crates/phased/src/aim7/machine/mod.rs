//! The jobs of AIM7 that are about the machine and not about the file system under test.
//!
//! Each takes 0.04 to 30 ms, and each checks what it has done, so that no compiler and no
//! failing call makes it shorter.

mod compute;
mod memory;
mod process;
mod talk;

use super::mixes::Subtest;
use std::ffi::CString;
use vfs_api::{Call, Errno, Failure};

/// What such jobs of a user need.
pub(super) struct Machine {
    /// Where a fifo may be made.
    fifo: CString,
}

impl Machine {
    pub(super) fn new(fifo: CString) -> Machine {
        Machine { fifo }
    }

    /// Runs one job.
    ///
    /// # Errors
    /// The first call that failed.
    pub(super) fn run(&self, job: Subtest) -> Result<(), Failure> {
        use Subtest as S;
        match job {
            S::add_double => compute::add_double(),
            S::add_float => compute::add_float(),
            S::add_int => compute::add_int(),
            S::add_long => compute::add_long(),
            S::add_short => compute::add_short(),
            S::mul_double => compute::mul_double(),
            S::mul_float => compute::mul_float(),
            S::mul_int => compute::mul_int(),
            S::mul_long => compute::mul_long(),
            S::mul_short => compute::mul_short(),
            S::div_double => compute::div_double(),
            S::div_float => compute::div_float(),
            S::div_int => compute::div_int(),
            S::div_long => compute::div_long(),
            S::div_short => compute::div_short(),
            S::array_rtns => compute::arrays(),
            S::matrix_rtns => compute::matrices(),
            S::new_raph => compute::newton_raphson(),
            S::num_rtns_1 => compute::numbers(),
            S::series_1 => compute::series(),
            S::sieve => compute::sieve(),
            S::sort_rtns_1 => compute::sort(),
            S::string_rtns => compute::strings(),
            S::trig_rtns => compute::trigonometry(),
            S::jmp_test => compute::jumps(),
            S::brk_test => return memory::brk(),
            S::mem_rtns_1 => memory::allocate(),
            S::mem_rtns_2 => memory::copy_and_compare(),
            S::page_test => return memory::touch_pages(),
            S::ram_copy => memory::ram_copy(),
            S::shared_memory => return memory::shared(),
            S::misc_rtns_1 => return process::small_calls(),
            S::dir_rtns_1 => return process::list_bin(),
            S::fork_test => return process::fork(),
            S::exec_test => return process::exec(),
            S::shell_rtns_1 => return process::shell(0),
            S::shell_rtns_2 => return process::shell(1),
            S::shell_rtns_3 => return process::shell(2),
            S::signal_test => return process::signal(),
            S::pipe_cpy => return talk::pipe(),
            S::stream_pipe => return talk::stream_pair(),
            S::dgram_pipe => return talk::datagram_pair(),
            S::fifo_test => return talk::fifo(&self.fifo),
            S::tcp_test => return talk::tcp(),
            S::udp_test => return talk::udp(),
            // Those on files come through `files`.
            _ => {}
        }
        Ok(())
    }
}

fn failed(call: Call) -> impl Fn(Errno) -> Failure {
    move |errno| Failure::new(call, errno)
}

fn io_failed(call: Call) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::new(call, Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    use super::super::mixes::Kind;
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    /// Also prints how long each takes, for the table in `mixes`: `cargo test --release -p phased every_job -- --nocapture`.
    #[test]
    fn every_job_of_the_machine_does_its_work() {
        let fifo = std::env::temp_dir().join(format!("vfscale-fifo.{}", std::process::id()));
        let machine = Machine::new(CString::new(fifo.as_os_str().as_bytes()).unwrap());
        let each = || {
            for job in Subtest::ALL {
                let Kind::Machine(_) = job.kind() else { continue };
                let mut best = std::time::Duration::MAX;
                for _ in 0..5 {
                    let since = std::time::Instant::now();
                    machine.run(*job).unwrap_or_else(|failure| panic!("{}: {failure}", job.name()));
                    best = best.min(since.elapsed());
                }
                println!("    {}: Machine({});", job.name(), best.as_nanos());
            }
        };
        // In a process of its own, as a user is: some jobs are for one thread only.
        // SAFETY: the C library lets the child of a process with threads allocate; nothing else of theirs is used there.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(each));
            // SAFETY: ends the child without the parent's exit handlers.
            unsafe { libc::_exit(i32::from(ended.is_err())) };
        }
        let child = rustix::process::Pid::from_raw(child).expect("a child");
        let options = rustix::process::WaitOptions::empty();
        let (_, status) = rustix::process::waitpid(Some(child), options).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(0));
        assert!(!fifo.exists());
    }
}
