//! Ctrl-C and its relatives: the first ends the run early, with what it has; the second ends the program at once.

use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Whether the user asked to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    pause: Arc<AtomicBool>,
}

/// Exit status after a second Ctrl-C.
const INTERRUPTED: i32 = 130;

impl Interrupt {
    /// Starts to listen to SIGINT, SIGTERM and SIGHUP, unless somebody has set them to be ignored (nohup, a shell's background
    /// job), and to SIGTSTP.
    ///
    /// # Errors
    /// What sigaction(2) says.
    pub fn listen() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if is_ignored(signal) {
                continue;
            }
            // In this order: the flag is still clear when the first signal looks at it. The janitor cleans up after the exit.
            let asked = Arc::clone(&interrupt.asked);
            signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, asked)?;
            signal_hook::flag::register(signal, Arc::clone(&interrupt.asked))?;
        }
        signal_hook::flag::register(SIGTSTP, Arc::clone(&interrupt.pause))?;
        // A handler, so that the death of a task wakes the conductor from its sleep. It then looks for itself.
        signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false)))?;
        Ok(interrupt)
    }

    /// True once one of the signals came.
    pub fn asked(&self) -> bool {
        self.asked.load(SeqCst)
    }

    /// True if Ctrl-C or Ctrl-Z wants the slice to end.
    pub(crate) fn wants_the_slice_to_end(&self) -> bool {
        self.asked() || self.pause.load(SeqCst)
    }

    /// After a Ctrl-Z: stops this process, between slices, so that its tasks stand still too. True if it did; it returns when the
    /// process is continued.
    pub(crate) fn pause_if_asked(&self) -> bool {
        let asked = self.pause.swap(false, SeqCst);
        if asked {
            // It cannot fail for a process's own.
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        }
        asked
    }

    /// As if the user had asked.
    pub fn ask(&self) {
        self.asked.store(true, SeqCst);
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is valid to be overwritten; with a null new action the call only reads.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut old) == 0
            && old.sa_sigaction == libc::SIG_IGN
    }
}

/// In a task or the janitor: the conductor decides when to end, so the keyboard's signals are ignored, and SIGTERM too, which a
/// service manager sends to all processes of a unit at once.
pub(crate) fn leave_to_conductor() {
    for signal in [SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP] {
        set(signal, libc::SIG_IGN);
    }
    set(SIGCHLD, libc::SIG_DFL);
}

fn set(signal: i32, action: libc::sighandler_t) {
    // SAFETY: SIG_IGN and SIG_DFL install no code, and the process has a single thread. The handlers that it inherited go.
    unsafe { libc::signal(signal, action) };
}
