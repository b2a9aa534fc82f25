//! What host and guest say to each other: orders that lie in the initramfs, then lines of JSON over a serial port of their own.

use crate::spec::Disk;
use results::{Host, Sample, Traced};
use serde::{Deserialize, Serialize};

/// Both ends are this program, but the one in the guest may be an older build of it. Raised with every change here.
pub const VERSION: u32 = 3;

/// What the guest is to prepare; a file in its initramfs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// [`VERSION`] of the host.
    pub version: u32,
    /// Modules to load, in this order.
    pub modules: Vec<ModuleOrder>,
    /// The file system to measure on, as mount(2) calls it.
    pub fs: String,
    /// The disk that it is on, if it needs one.
    pub disk: Option<Disk>,
    /// Curves; a slice names one by its place here.
    pub curves: Vec<CurveOrder>,
    /// Task counts that will be asked for.
    pub tasks: Vec<usize>,
    /// How tasks are put on CPUs: cores, smt, sockets or none.
    pub pin: String,
    /// Do not wait for commands: whatever comes in from outside would make two boots differ.
    pub count: Option<CountOrder>,
}

/// A module and its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleOrder {
    /// Its name; the file is modules/NAME.ko.
    pub name: String,
    /// As for insmod(8).
    pub parameters: String,
}

/// A workload and how its tasks are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurveOrder {
    /// Its name.
    pub workload: String,
    /// process or thread.
    pub mode: String,
}

/// Slices that are run without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountOrder {
    /// Of each curve, after one to warm up.
    pub slices: u32,
    /// How long each is.
    pub slice_ns: u64,
}

/// Slices under a tracer of locks, with untraced ones around them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceOrder {
    /// Place of the curve in the orders.
    pub curve: usize,
    /// Tasks that take part.
    pub tasks: usize,
    /// How long each slice is.
    pub length_ns: u64,
    /// Traced slices, and as many untraced ones.
    pub slices: u32,
    /// Whole stacks as well.
    pub stacks: bool,
    /// By this source or, if it refuses, the last one; the best that works if none.
    pub source: Option<String>,
}

/// From the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Command {
    /// Run one slice.
    Slice {
        /// Place of the curve in the orders.
        curve: usize,
        /// Tasks that take part.
        tasks: usize,
        /// How long.
        length_ns: u64,
    },
    /// See who waits for which lock.
    Trace(TraceOrder),
    /// Say goodbye.
    End,
}

/// From the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "say")]
pub enum Report {
    /// Everything is prepared.
    Ready {
        /// [`VERSION`] of the guest.
        version: u32,
        /// What the guest sees of its machine.
        host: Box<Host>,
        /// CPU of task 0, 1, ...; empty if they are not pinned.
        cpus: Vec<u32>,
    },
    /// How long an iteration of a loop of two instructions takes.
    Calibrated {
        /// In the guest's nanoseconds.
        ns: f64,
    },
    /// A slice was measured.
    Samples {
        /// Place of the curve in the orders.
        curve: usize,
        /// One for each task.
        samples: Vec<Sample>,
    },
    /// A slice was not measured, or a point not traced, but the next one may be.
    Disturbed,
    /// Who waited for which lock, with the names of the guest's own kernel.
    Traced {
        /// As the record keeps it.
        traced: Box<Traced>,
    },
    /// The tracer failed; all else goes on.
    TraceLost {
        /// Why; what to do on a second line.
        why: String,
    },
    /// There will be no result.
    Failed {
        /// In words.
        what: String,
    },
    /// Goodbye. Without it a guest has not ended well, whatever QEMU says.
    End,
}

/// The line that carries `message`.
pub(crate) fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message)
        .expect("messages have no maps with keys of other kinds than strings");
    line.push(b'\n');
    line
}

/// The message that `line` carries. What stands before its brace is noise that the port made while it was opened.
///
/// # Errors
/// It carries none; the text, for an error message.
pub(crate) fn message<M: for<'de> Deserialize<'de>>(line: &[u8]) -> Result<M, String> {
    let from = line.iter().position(|byte| *byte == b'{').unwrap_or(0);
    serde_json::from_slice(&line[from..]).map_err(|_| {
        String::from_utf8_lossy(&line[..line.len().min(80)]).escape_debug().to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_read_back_and_noise_before_them_is_dropped() {
        let command = Command::Slice { curve: 3, tasks: 8, length_ns: 20_000_000 };
        let mut noisy = b"\0\xff".to_vec();
        noisy.extend(line(&command));
        assert_eq!(message::<Command>(noisy.trim_ascii_end()), Ok(command));
        let order = TraceOrder {
            curve: 0,
            tasks: 2,
            length_ns: 1,
            slices: 6,
            stacks: true,
            source: Some("bpf".into()),
        };
        for command in [Command::Trace(order), Command::End] {
            assert_eq!(message(line(&command).trim_ascii_end()), Ok(command));
        }
        let wait = results::KernelWait { lock: "files_lock".into(), ..Default::default() };
        let traced = Traced { rate_ratio: Some(0.1), waits: vec![wait], ..Traced::default() };
        let sample = Sample {
            round: 0,
            task: 1,
            ops: u64::MAX,
            start_ns: 1,
            elapsed_ns: 2,
            user_ns: 3,
            sys_ns: 4,
            vcsw: 5,
            ivcsw: 6,
            cpu: [7, 8],
        };
        for report in [
            Report::Ready { version: VERSION, host: Box::default(), cpus: vec![0, 1] },
            Report::Calibrated { ns: 2.000_000_1 },
            Report::Samples { curve: 0, samples: vec![sample] },
            Report::Disturbed,
            Report::Traced { traced: Box::new(traced) },
            Report::TraceLost { why: "no\nrun again".into() },
            Report::Failed { what: "mount: \"x\"\nline".into() },
            Report::End,
        ] {
            let line = line(&report);
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line each");
            assert_eq!(message::<Report>(&line), Ok(report));
        }
    }

    proptest! {
        #[test]
        fn other_bytes_are_no_message(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Err(shown) = message::<Report>(&bytes) {
                prop_assert!(shown.chars().all(|c| !c.is_control()));
            }
        }
    }
}
