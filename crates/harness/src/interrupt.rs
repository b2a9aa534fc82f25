//! Ctrl-C and its relatives: the first ends the run early, with what it has; the second ends the program at once, or, where a state
//! of the machine is to be put back first, the command that keeps the program from it.

use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::low_level;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// Whether the user asked to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// How often.
    asked: Arc<AtomicUsize>,
    pause: Arc<AtomicBool>,
    /// While set the program does not end at once, however often the user asks.
    has_to_put_back: Arc<AtomicBool>,
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
            let (asked, stays) =
                (Arc::clone(&interrupt.asked), Arc::clone(&interrupt.has_to_put_back));
            let handler = move || {
                if asked.fetch_add(1, SeqCst) > 0 && !stays.load(SeqCst) {
                    // The janitor cleans up afterwards.
                    low_level::exit(INTERRUPTED);
                }
            };
            // SAFETY: the handler touches atomics and calls _exit(2), which are async-signal-safe; the counts outlive it, for it
            // owns its share of them.
            unsafe { low_level::register(signal, handler) }?;
        }
        signal_hook::flag::register(SIGTSTP, Arc::clone(&interrupt.pause))?;
        // A handler, so that the death of a task wakes the conductor from its sleep. It then looks for itself.
        signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false)))?;
        Ok(interrupt)
    }

    /// True once one of the signals came.
    pub fn asked(&self) -> bool {
        self.times_asked() > 0
    }

    /// How often one of the signals came.
    pub(crate) fn times_asked(&self) -> usize {
        self.asked.load(SeqCst)
    }

    /// From now on, or no longer, the machine is in a state that is to be put back before the program ends.
    pub(crate) fn set_has_to_put_back(&self, has: bool) {
        self.has_to_put_back.store(has, SeqCst);
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
        self.asked.fetch_add(1, SeqCst);
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
