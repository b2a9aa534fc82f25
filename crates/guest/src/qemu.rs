//! QEMU as a child process: its command line, its end, and the descriptors by which it is spoken to.
//!
//! Everything it is given and everything it says goes through descriptors (memory files and socket pairs), and it dies with the
//! process that started it. So nothing can be left, whoever is killed.

use crate::accelerator::{Accelerator, kill};
use crate::memory_file;
use crate::protocol;
use crate::watch::{Stuck, Watch, cpu_time};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The program.
pub(crate) const PROGRAM: &str = "qemu-system-x86_64";
/// The port of isa-debug-exit: what a guest writes there ends QEMU with twice that and one.
pub(crate) const EXIT_PORT: u16 = 0xf4;
/// Lines of a console that an error quotes.
const QUOTED: usize = 14;
/// How often a waiting host looks whether QEMU still lives.
const LOOK: Duration = Duration::from_millis(50);
/// As a rule a panic ends QEMU (panic=-1), but not one that comes before the kernel has read its command line.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// What a kernel says when it is dead: once it runs, and while it is unpacked.
const DEATHS: [&[u8]; 2] = [b"Kernel panic - not syncing", b"-- System halted"];
/// Patience with QEMU's monitor.
const MONITOR: Duration = Duration::from_secs(30);

/// What a machine is made of.
pub(crate) struct Setup<'a> {
    pub(crate) kernel: &'a Path,
    pub(crate) initramfs: &'a File,
    /// The content of a virtio disk.
    pub(crate) disk: Option<&'a File>,
    pub(crate) accelerator: Accelerator,
    pub(crate) cpu: &'a str,
    pub(crate) cpus: u32,
    pub(crate) memory_mib: u32,
    pub(crate) command_line: String,
    /// Count instructions instead of time; the seed of all that is random.
    pub(crate) count: Option<u64>,
}

/// A running QEMU.
pub(crate) struct Qemu {
    child: Child,
    agent: UnixStream,
    monitor: UnixStream,
    received: Vec<u8>,
    said: Vec<u8>,
    console: Console,
    errors: File,
    status: Option<ExitStatus>,
}

/// Why nothing was received.
#[derive(Debug)]
pub(crate) enum Lost {
    /// QEMU has ended.
    Ended(ExitStatus),
    /// Time is up.
    Silent,
    /// It gets nowhere.
    Stuck(Stuck),
    /// Its console says that its kernel is dead, and QEMU does not end of it.
    Panicked,
    /// The user wants no more.
    Interrupted,
    /// It is not what was agreed on.
    Garbled(String),
    /// A descriptor failed.
    Os(std::io::Error),
}

/// Lets the child of `command` die with this process.
pub(crate) fn dies_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    let promise = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have died before the line above.
        match rustix::process::getppid() == Some(parent) {
            true => Ok(()),
            false => Err(ErrorKind::NotFound.into()),
        }
    };
    // A group of its own: Ctrl-C and Ctrl-Z reach this process alone, which ends in order.
    command.process_group(0);
    // SAFETY: between fork and exec two system calls are made; nothing is allocated.
    unsafe { command.pre_exec(promise) };
}

/// QEMU's version: 7.2.22.
///
/// # Errors
/// It cannot be run.
pub(crate) fn version() -> std::io::Result<String> {
    let output = Command::new(PROGRAM).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)
    let words = text.lines().next().unwrap_or_default().split_whitespace();
    Ok(words.skip_while(|word| *word != "version").nth(1).unwrap_or("of no version").to_owned())
}

impl Qemu {
    /// Starts it.
    ///
    /// # Errors
    /// It cannot be run, or there are no descriptors.
    pub(crate) fn start(setup: &Setup<'_>) -> std::io::Result<Qemu> {
        let (agent, agent_there) = UnixStream::pair()?;
        let (monitor, monitor_there) = UnixStream::pair()?;
        let console = memory_file::empty("vfscale-console")?;
        let errors = memory_file::empty("vfscale-qemu-errors")?;
        let mut command = Command::new(PROGRAM);
        command.args(["-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"]);
        command.args(["-machine", "pc", "-cpu", setup.cpu]);
        command.arg("-smp").arg(setup.cpus.to_string());
        command.arg("-m").arg(format!("{}M", setup.memory_mib));
        match (setup.accelerator, setup.count) {
            (Accelerator::Kvm, _) => command.args(["-accel", "kvm"]),
            (Accelerator::Tcg, None) => command.args(["-accel", "tcg,thread=multi"]),
            (Accelerator::Tcg, Some(seed)) => {
                command.args(["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]);
                command.args(["-rtc", "base=2024-01-01,clock=vm", "-seed"]).arg(seed.to_string())
            }
        };
        command.arg("-kernel").arg(setup.kernel);
        command.arg("-initrd").arg(memory_file::path(setup.initramfs));
        command.arg("-append").arg(&setup.command_line);
        command
            .arg("-chardev")
            .arg(format!("file,id=console,path={}", memory_file::path(&console)));
        command.args(["-serial", "chardev:console"]);
        command.arg("-chardev").arg(format!("socket,id=agent,fd={}", agent_there.as_raw_fd()));
        command.args(["-serial", "chardev:agent"]);
        command.arg("-chardev").arg(format!("socket,id=monitor,fd={}", monitor_there.as_raw_fd()));
        command.args(["-mon", "chardev=monitor,mode=control"]);
        command.args(["-device", &format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=4")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors.try_clone()?);
        let mut given = vec![
            setup.initramfs.as_fd(),
            console.as_fd(),
            agent_there.as_fd(),
            monitor_there.as_fd(),
        ];
        if let Some(disk) = setup.disk {
            // Nobody else has it, and nothing of it has to outlive the guest. A full disk of the host's is an error in the guest;
            // QEMU would rather stop it and wait.
            command.arg("-blockdev").arg(format!(
                "driver=file,node-name=disk,filename={},locking=off,cache.no-flush=on,discard=unmap",
                memory_file::path(disk)
            ));
            command.args(["-device", "virtio-blk-pci,drive=disk,werror=report,rerror=report"]);
            given.push(disk.as_fd());
        }
        memory_file::inherit(&mut command, &given);
        dies_with_parent(&mut command);
        let child = command.spawn()?;
        agent.set_read_timeout(Some(LOOK))?;
        monitor.set_read_timeout(Some(LOOK))?;
        let (received, said) = (Vec::new(), Vec::new());
        let console = Console::new(console);
        Ok(Qemu { child, agent, monitor, received, said, console, errors, status: None })
    }

    /// The next message of the guest.
    pub(crate) fn receive<M: for<'de> Deserialize<'de>>(
        &mut self,
        patience: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<M, Lost> {
        self.receive_unless(patience, &mut |_| match interrupted() {
            true => Err(Lost::Interrupted),
            false => Ok(()),
        })
    }

    /// The first message of a guest that boots.
    pub(crate) fn receive_first<M: for<'de> Deserialize<'de>>(
        &mut self,
        patience: Duration,
        mut watch: Watch,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<M, Lost> {
        self.receive_unless(patience, &mut |pid| {
            if interrupted() {
                return Err(Lost::Interrupted);
            }
            let stuck = cpu_time(pid).and_then(|used| watch.look(Instant::now(), used));
            stuck.map_or(Ok(()), |stuck| Err(Lost::Stuck(stuck)))
        })
    }

    fn receive_unless<M: for<'de> Deserialize<'de>>(
        &mut self,
        patience: Duration,
        look: &mut dyn FnMut(u32) -> Result<(), Lost>,
    ) -> Result<M, Lost> {
        let (child, console) = ((&mut self.child, &mut self.status), &mut self.console);
        let mut look = |pid| match console.tells_of_death() {
            true => Err(Lost::Panicked),
            false => look(pid),
        };
        let line = next_line(&mut self.agent, &mut self.received, child, patience, &mut look);
        if matches!(line, Err(Lost::Panicked))
            && let Some(status) = self.end_within(LAST_WORDS)
        {
            return Err(Lost::Ended(status));
        }
        protocol::message(&line?).map_err(Lost::Garbled)
    }

    /// Tells the guest something.
    pub(crate) fn send(&mut self, message: &impl Serialize) -> Result<(), Lost> {
        self.agent.write_all(&protocol::line(message)).map_err(Lost::Os)
    }

    /// Lets the guest's CPUs and clocks stand still, or go on.
    pub(crate) fn monitor(&mut self, command: &str) -> Result<(), Lost> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(rename = "return")]
            done: Option<serde_json::Value>,
            error: Option<serde_json::Value>,
        }
        let order = format!("{{\"execute\":\"{command}\"}}\n");
        self.monitor.write_all(order.as_bytes()).map_err(Lost::Os)?;
        loop {
            let child = (&mut self.child, &mut self.status);
            let line =
                next_line(&mut self.monitor, &mut self.said, child, MONITOR, &mut |_| Ok(()))?;
            let answer: Answer = protocol::message(&line).map_err(Lost::Garbled)?;
            match answer {
                Answer { done: Some(_), .. } => return Ok(()),
                Answer { error: Some(error), .. } => return Err(Lost::Garbled(error.to_string())),
                // A greeting, or an event.
                Answer { done: None, error: None } => (),
            }
        }
    }

    /// How QEMU ended, if it does within `patience`; it is killed otherwise.
    pub(crate) fn end_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = crate::accelerator::end_within(&mut self.child, patience);
        }
        self.status
    }

    /// Ends it now.
    pub(crate) fn kill(&mut self) {
        kill(&mut self.child);
    }

    /// The last lines of the guest's console, then of what QEMU said.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let mut lines = tail(&self.console.file, QUOTED);
        lines.extend(tail(&self.errors, 4));
        lines
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the guest's kernel says, and how much of it was looked at.
struct Console {
    file: File,
    looked_at: u64,
}

impl Console {
    fn new(file: File) -> Console {
        Console { file, looked_at: 0 }
    }

    /// Whether what was said since the last time has one of [`DEATHS`] in it.
    fn tells_of_death(&mut self) -> bool {
        let length = self.file.metadata().map_or(0, |meta| meta.len());
        if length <= self.looked_at {
            return false;
        }
        // The end of what was looked at may be the beginning of it.
        let longest = DEATHS.map(<[u8]>::len).into_iter().max().unwrap_or(0) as u64;
        let from = self.looked_at.saturating_sub(longest);
        let mut bytes = vec![0; (length - from) as usize];
        let read = self.file.read_at(&mut bytes, from).unwrap_or(0);
        self.looked_at = length;
        DEATHS.iter().any(|death| bytes[..read].windows(death.len()).any(|part| part == *death))
    }
}

/// The next line of a stream. `child`: without it there are no more lines. `look` gets its pid now and then, and may end it.
fn next_line(
    stream: &mut UnixStream,
    buffer: &mut Vec<u8>,
    (child, status): (&mut Child, &mut Option<ExitStatus>),
    patience: Duration,
    look: &mut dyn FnMut(u32) -> Result<(), Lost>,
) -> Result<Vec<u8>, Lost> {
    let since = Instant::now();
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            return Ok(line.trim_ascii_end().to_vec());
        }
        match stream.read(&mut chunk) {
            Ok(0) => {
                // The other end is QEMU's alone: it is about to end.
                *status = crate::accelerator::end_within(child, Duration::from_secs(5));
                return Err(status.map_or(Lost::Silent, Lost::Ended));
            }
            Ok(read) => buffer.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if let Ok(Some(ended)) = child.try_wait() {
                    *status = Some(ended);
                    return Err(Lost::Ended(ended));
                }
            }
            Err(error) => return Err(Lost::Os(error)),
        }
        look(child.id())?;
        if since.elapsed() > patience {
            return Err(Lost::Silent);
        }
    }
}

/// The last `count` lines that hold anything, without what would steer a terminal.
fn tail(file: &File, count: usize) -> Vec<String> {
    // Enough for some screens of text; a console can be long.
    const BYTES: u64 = 16 * 1024;
    let length = file.metadata().map_or(0, |meta| meta.len());
    let from = length.saturating_sub(BYTES);
    let mut bytes = vec![0; (length - from) as usize];
    // Nothing to quote is better than no error message.
    let read = file.read_at(&mut bytes, from).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..read]);
    let plain = |line: &str| {
        let line: String = line.chars().filter(|c| !c.is_control()).take(160).collect();
        line.trim_end().to_owned()
    };
    let mut lines: Vec<String> = text.lines().map(plain).filter(|line| !line.is_empty()).collect();
    let rest = lines.split_off(lines.len().saturating_sub(count));
    // The line that a trace of calls follows is worth more than the trace.
    let panic = lines.into_iter().rev().find(|line| line.contains("Kernel panic"));
    panic.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_seen_however_it_arrives() {
        let mut console = Console::new(memory_file::empty("test").unwrap());
        assert!(!console.tells_of_death());
        for (text, dead) in [
            ("[    0.1] Linux version 6.1\n", false),
            ("[    0.2] Kernel panic - no", false),
            ("t syncing: Cannot find place for new RAMDISK\n", true),
            ("[    0.3] and so on\n", false),
            (" -- System halted", true),
        ] {
            console.file.write_all(text.as_bytes()).unwrap();
            assert_eq!(console.tells_of_death(), dead, "{text}");
            assert!(!console.tells_of_death(), "nothing new");
        }
    }

    #[test]
    fn the_last_lines_are_plain() {
        let file = memory_file::with("test", b"one\r\n\x1b[2Jtwo\n\n\nthree\xff").unwrap();
        assert_eq!(tail(&file, 2), ["[2Jtwo", "three\u{fffd}"]);
        assert_eq!(tail(&memory_file::empty("test").unwrap(), 2), [""; 0]);
        let file = memory_file::with("test", b"a\nKernel panic - x\nb\nc\nd\n").unwrap();
        assert_eq!(tail(&file, 2), ["Kernel panic - x", "c", "d"]);
    }
}
