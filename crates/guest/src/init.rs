//! The program as the first process of a guest: file systems, modules, the disk, and the end of the machine.

use crate::disk;
use crate::guest::{AGENT_VARIABLE, GOOD};
use crate::protocol::{self, Command, Orders, Report, VERSION};
use crate::qemu::EXIT_PORT;
use crate::spec::Disk;
use rustix::fs::Mode;
use rustix::mount::{MountFlags, mount};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Where the file system to measure on is mounted.
pub const MOUNT_POINT: &str = "/mnt";
/// The serial port that is the agent's alone; the first one is the console.
const PORT: &str = "/dev/ttyS1";
/// How often it is looked whether the machine is idle, and how long each time: some fifty ticks of the kernel's clock.
const IDLE_LOOKS: u32 = 100;
const IDLE_LOOK: Duration = Duration::from_millis(200);
/// Until the disk's driver has made the device.
const DEVICE: Duration = Duration::from_secs(5);

/// Whether this process is a guest's first one and has been told to be the agent. In a container the first process may be this
/// program too, so that the number alone says nothing.
pub fn is_agent() -> bool {
    rustix::process::getpid().is_init() && std::env::var_os(AGENT_VARIABLE).is_some()
}

/// The agent's end of the line.
pub struct Line {
    port: File,
    commands: BufReader<File>,
}

impl Line {
    /// Opens the port; what it would do to a terminal's lines is turned off.
    fn open() -> std::io::Result<Line> {
        let port = OpenOptions::new().read(true).write(true).open(PORT)?;
        let mut mode = rustix::termios::tcgetattr(&port)?;
        mode.make_raw();
        rustix::termios::tcsetattr(&port, rustix::termios::OptionalActions::Now, &mode)?;
        let commands = BufReader::new(port.try_clone()?);
        Ok(Line { port, commands })
    }

    /// Tells the host. A host that cannot be told is gone, and this machine with it in a moment.
    pub fn say(&mut self, report: &Report) {
        let _ = self.port.write_all(&protocol::line(report)).and_then(|()| {
            // All of it has to be out before the machine ends.
            rustix::termios::tcdrain(&self.port).map_err(Into::into)
        });
    }

    /// Waits for the host's next command.
    ///
    /// # Errors
    /// The port fails, or it is no command; in words.
    pub fn command(&mut self) -> Result<Command, String> {
        let mut line = Vec::new();
        match self.commands.read_until(b'\n', &mut line) {
            Ok(0) => Err(format!("{PORT} is at its end")),
            Ok(_) => protocol::message(&line).map_err(|text| format!("no command: {text}")),
            Err(error) => Err(format!("{PORT}: {error}")),
        }
    }
}

/// Prepares the machine: all that comes before the tasks. Opens the line first, so that it can be told what fails.
///
/// # Errors
/// There is no line; the console is told then.
pub fn open_line() -> Result<Line, String> {
    let mounts = [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/tmp"),
        ("tmpfs", "/run"),
    ];
    for (kind, place) in mounts {
        mount(kind, place, kind, MountFlags::empty(), None)
            .map_err(|e| format!("cannot mount {kind} on {place}: {e}"))?;
    }
    Line::open().map_err(|error| format!("{PORT}: {error}"))
}

/// Reads the orders and does what of them concerns the machine.
///
/// # Errors
/// In words, for the host.
pub fn obey() -> Result<Orders, String> {
    let text = std::fs::read("/orders").map_err(|error| format!("/orders: {error}"))?;
    let orders: Orders = serde_json::from_slice(&text).map_err(|error| {
        format!("its static vfscale does not understand its orders ({error}): build it again with scripts/static-build")
    })?;
    if orders.version != VERSION {
        return Err(format!(
            "its static vfscale is another build (protocol {VERSION}, not {}): build it again with scripts/static-build",
            orders.version
        ));
    }
    for module in &orders.modules {
        let file = format!("/modules/{}.ko", module.name);
        let image = std::fs::read(&file).map_err(|error| format!("{file}: {error}"))?;
        let parameters =
            CString::new(module.parameters.as_str()).map_err(|error| error.to_string())?;
        rustix::system::init_module(&image, &parameters)
            .map_err(|error| format!("cannot load the module {}: {error}", module.name))?;
        // Its memory is needed more than it is.
        let _ = std::fs::remove_file(&file);
    }
    if let Some(disk) = orders.disk {
        wait_for(disk)?;
        // The other kind was filled before the boot.
        if disk == Disk::Ram {
            fill(disk.device())?;
        }
    }
    let source = orders.disk.map_or(orders.fs.as_str(), |disk| disk.device());
    mount(source, MOUNT_POINT, &*orders.fs, MountFlags::empty(), None).map_err(|error| {
        let why = match error {
            rustix::io::Errno::NODEV => {
                " (the kernel has no such file system, and its modules were not found)"
            }
            _ => "",
        };
        format!("cannot mount {} on {source}: {error}{why}", orders.fs)
    })?;
    Ok(orders)
}

fn wait_for(disk: Disk) -> Result<(), String> {
    let since = Instant::now();
    while !Path::new(disk.device()).exists() {
        if since.elapsed() > DEVICE {
            let what = match disk {
                Disk::Ram => "RAM disk (CONFIG_BLK_DEV_RAM)",
                Disk::Virtio => "virtio disk (CONFIG_VIRTIO_PCI, CONFIG_VIRTIO_BLK)",
            };
            return Err(format!(
                "there is no {}: the kernel has no {what}, and its modules were not found",
                disk.device()
            ));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn fill(device: &str) -> Result<(), String> {
    let packed = std::fs::read("/disk").map_err(|error| format!("/disk: {error}"))?;
    let _ = std::fs::remove_file("/disk");
    let mut file = OpenOptions::new()
        .write(true)
        .open(device)
        .map_err(|error| format!("{device}: {error}"))?;
    disk::write(&packed, &mut file)
        .and_then(|()| file.sync_all())
        .map_err(|error| format!("cannot write the disk's content to {device}: {error}"))
}

/// Makes a directory for a curve and answers its path.
///
/// # Errors
/// In words.
pub fn make_directory(number: usize) -> Result<std::path::PathBuf, String> {
    let path = format!("{MOUNT_POINT}/c{number}");
    rustix::fs::mkdir(&path, Mode::RWXU).map_err(|error| format!("cannot make {path}: {error}"))?;
    Ok(path.into())
}

/// Waits until nothing else has work any more: what a boot leaves for later (Linux 6.12 tests ciphers for a second) would take its
/// share of the slices.
pub fn wait_until_idle() {
    let ticks = || {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let numbers = text.lines().next()?.split_whitespace().skip(1);
        let numbers: Vec<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal
        Some((numbers.iter().take(8).sum::<u64>(), *numbers.get(3)?))
    };
    for _ in 0..IDLE_LOOKS {
        let before = ticks();
        std::thread::sleep(IDLE_LOOK);
        let (Some((all, idle)), Some((all_after, idle_after))) = (before, ticks()) else { return };
        if (idle_after - idle) * 10 >= (all_after - all) * 9 && all_after > all {
            return;
        }
    }
}

/// Ends the machine. `good`: all that was said holds.
pub fn end(good: bool) -> ! {
    let code = if good { GOOD } else { GOOD + 1 };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: ioperm(2) only says yes or no. The port is QEMU's isa-debug-exit, which ends the machine; where it is missing
    // nobody listens. If it was refused, the instruction faults, and a first process that dies ends the machine too.
    unsafe {
        libc::ioperm(EXIT_PORT.into(), 4, 1);
        std::arch::asm!("out dx, al", in("dx") EXIT_PORT, in("al") code, options(nomem, nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (code, EXIT_PORT);
    std::process::exit(1)
}
