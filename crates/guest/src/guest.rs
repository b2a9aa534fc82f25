//! A guest: prepared on the host, booted, spoken to, ended.

use crate::accelerator::Accelerator;
use crate::binary;
use crate::cpio::Cpio;
use crate::disk;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::memory_file;
use crate::modules::Module;
use crate::protocol::{Command, ModuleOrder, Orders, Report, TraceOrder, VERSION};
use crate::qemu::{self, Lost, PROGRAM, Qemu, Setup};
use crate::spec::{Disk, Spec};
use crate::watch::Watch;
use results::Host;
use std::fs::File;
use std::process::ExitStatus;
use std::time::Duration;

/// Until a guest is ready, whatever keeps it. A boot takes four seconds of CPU time, for which a machine that is busy with other
/// things may need minutes; one that gets nowhere is found out long before ([`Watch`]).
const BOOT_TCG: Duration = Duration::from_secs(600);
/// Under KVM a guest that is not ready by now never will be.
const BOOT_KVM: Duration = Duration::from_secs(20);
/// Until it has answered to a command, beyond the length of the slice. Its own patience is 30 s of its own time, so that as
/// a rule it says itself what hangs.
const ANSWER: Duration = Duration::from_secs(120);
/// Until it has ended.
const GOODBYE: Duration = Duration::from_secs(30);
/// What the guest writes to isa-debug-exit when all is well, and what QEMU makes of it.
pub(crate) const GOOD: u8 = 0x10;
const GOOD_STATUS: i32 = (GOOD as i32) << 1 | 1;
/// What the guest's environment holds, so that the program knows what it is there for.
pub(crate) const AGENT_VARIABLE: &str = "VFSCALE_AGENT";
/// Directories of the first root.
const DIRECTORIES: [&str; 7] = ["dev", "proc", "sys", "tmp", "run", "mnt", "modules"];

/// By what the guest's time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The time of the host.
    Host,
    /// One nanosecond per instruction.
    Instructions {
        /// Of all that is random in the guest.
        seed: u64,
    },
}

/// Everything that a boot needs, so that a boot can be repeated.
pub struct Prepared {
    spec: Spec,
    kernel: Kernel,
    cpus: u32,
    initramfs: File,
    /// What a virtio disk holds when the guest boots.
    disk: Option<Vec<u8>>,
    qemu: String,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "guest:{}", self.spec)
    }
}

impl Prepared {
    /// Finds QEMU, the kernel, its modules and the static vfscale, makes the disk, and packs all that the guest gets.
    /// `usable`: CPUs of this machine. Modules and file system of `orders` are filled in here.
    ///
    /// # Errors
    /// Something is missing; what, and how to get it.
    pub fn new(spec: &Spec, usable: u32, orders: Orders) -> Result<Prepared, Error> {
        let os = |what: &str| {
            let what = format!("cannot {what} for guest:{spec}");
            move |error: std::io::Error| {
                Error::refused(format!("{what}: {error}"), "see that there is memory")
            }
        };
        let qemu = qemu::version().map_err(|error| {
            Error::refused(
                format!("cannot run {PROGRAM}, which guests need: {error}"),
                "install it (Debian, Ubuntu: apt-get install qemu-system-x86); then see: vfscale doctor guest",
            )
        })?;
        let kernel = Kernel::find(&spec.kernel)?;
        let program = binary::find()?;
        let program = std::fs::read(&program).map_err(os("read the program"))?;
        let (modules, disk) = disk_and_modules(spec, &kernel)?;
        let mut cpio = Cpio::default();
        DIRECTORIES.iter().for_each(|name| cpio.directory(name));
        cpio.character_device("dev/console", 5, 1);
        cpio.program("init", &program);
        for module in &modules {
            cpio.file(&format!("modules/{}.ko", module.name), &module.bytes);
        }
        // A RAM disk is filled by the guest.
        if let (Some(disk), Disk::Ram) = (&disk, spec.disk) {
            cpio.file("disk", disk);
        }
        let parameters = |name: &str| match name {
            "brd" => format!("rd_nr=1 rd_size={}", u64::from(spec.disk_mib) * 1024),
            _ => String::new(),
        };
        let order = |module: &Module| ModuleOrder {
            name: module.name.clone(),
            parameters: parameters(&module.name),
        };
        let orders = Orders {
            version: VERSION,
            modules: modules.iter().map(order).collect(),
            fs: spec.fs.name().into(),
            disk: disk.is_some().then_some(spec.disk),
            ..orders
        };
        cpio.file("orders", &crate::protocol::line(&orders));
        let initramfs = cpio.finish();
        // It is in memory twice while it is unpacked, and the kernel needs some for itself.
        let need = ((initramfs.len() as u64 * 2) >> 20) + 96;
        if u64::from(spec.memory_mib) < need {
            return Err(Error::lacks(
                format!(
                    "memory={}M is too little for guest:{spec}: its first root alone needs about {need} MiB",
                    spec.memory_mib
                ),
                "give it more memory=",
            ));
        }
        let initramfs = memory_file::with("vfscale-initramfs", &initramfs)
            .map_err(os("make the first root"))?;
        let cpus = spec.cpus.unwrap_or(usable);
        let disk = disk.filter(|_| spec.disk == Disk::Virtio);
        Ok(Prepared { spec: spec.clone(), kernel, cpus, initramfs, disk, qemu })
    }

    /// uname -r, as the image says.
    pub fn release(&self) -> &str {
        &self.kernel.release
    }

    /// CPUs that the guest will have.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Boots it. A boot that fails under KVM is tried again without, and one that fails without once more. None if it was
    /// interrupted. `tell` is told of every boot that failed.
    ///
    /// # Errors
    /// It failed again, with the last lines of its console.
    pub fn boot(
        &self,
        clock: Clock,
        interrupted: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(String),
    ) -> Result<Option<Guest>, Error> {
        let mut accelerator = match clock {
            Clock::Host => Accelerator::find(),
            Clock::Instructions { .. } => Accelerator::Tcg,
        };
        let mut first: Option<String> = None;
        loop {
            let chatty = first.is_some() || !self.repeats(clock);
            let failed = match self.boot_once(accelerator, clock, chatty, interrupted) {
                Ok(guest) => return Ok(guest),
                // What the guest itself says does not change by asking again.
                Err(Failed::Final(error)) => return Err(error),
                Err(Failed::Perhaps(error)) => error,
            };
            let first_line = failed.to_string().lines().next().unwrap_or_default().to_owned();
            match (accelerator, &first) {
                (Accelerator::Kvm, _) => {
                    Accelerator::give_up_kvm();
                    accelerator = Accelerator::Tcg;
                    tell(format!("under KVM {first_line}; it is booted without"));
                }
                (Accelerator::Tcg, None) if !self.repeats(clock) => {
                    return Err(failed.because(
                        "counting instructions, not every kernel boots with more than one CPU (Linux 6.1 does not): leave out cpus=",
                    ));
                }
                (Accelerator::Tcg, None) => {
                    tell(format!("{first_line}; it is booted once more"));
                    first = Some(first_line);
                }
                (Accelerator::Tcg, Some(first)) => return Err(failed.after(first)),
            }
        }
    }

    /// Whether a failed boot may go better the next time. Kernels that do not boot with several CPUs where instructions are
    /// counted never do.
    fn repeats(&self, clock: Clock) -> bool {
        clock == Clock::Host || self.cpus == 1
    }

    fn boot_once(
        &self,
        accelerator: Accelerator,
        clock: Clock,
        chatty: bool,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<Guest>, Failed> {
        let cpu = self.spec.cpu.as_deref().unwrap_or(accelerator.cpu());
        let disk = self.disk_image().map_err(|error| {
            let what = format!("cannot make the disk of guest:{}: {error}", self.spec);
            Failed::Final(Error::refused(
                what,
                "free space for temporary files, or set TMPDIR to another place",
            ))
        })?;
        let setup = Setup {
            kernel: &self.kernel.image,
            initramfs: &self.initramfs,
            disk: disk.as_ref(),
            accelerator,
            cpu,
            cpus: self.cpus,
            memory_mib: self.spec.memory_mib,
            command_line: self.command_line(clock, chatty),
            count: match clock {
                Clock::Host => None,
                Clock::Instructions { seed } => Some(seed),
            },
        };
        let qemu = Qemu::start(&setup).map_err(|error| {
            let what = format!("cannot start {PROGRAM}: {error}");
            Failed::Final(Error::refused(what, "see: vfscale doctor guest"))
        })?;
        let mut guest = Guest {
            name: format!("guest:{}", self.spec),
            qemu,
            stopped: false,
            host: Host::default(),
            task_cpus: Vec::new(),
            about: About {
                accelerator,
                cpu: cpu.to_owned(),
                cpus: self.cpus,
                memory_mib: self.spec.memory_mib,
                qemu: self.qemu.clone(),
            },
        };
        let patience = match accelerator {
            Accelerator::Kvm => BOOT_KVM,
            Accelerator::Tcg => BOOT_TCG,
        };
        // Where instructions are counted, one thread of QEMU's carries out all CPUs, and none waits for another.
        let threads = if clock == Clock::Host { self.cpus } else { 1 };
        match guest.qemu.receive_first(patience, Watch::new(threads), interrupted) {
            Ok(Report::Ready { version: VERSION, host, cpus }) => {
                (guest.host, guest.task_cpus) = (*host, cpus);
                // The monitor obeys nothing else before this.
                guest.monitor("qmp_capabilities").map_err(Failed::Perhaps)?;
                Ok(Some(guest))
            }
            Ok(Report::Ready { version, .. }) => Err(Failed::Final(guest.failed(
                format!("the static vfscale in the guest is another build (its protocol is {version}, not {VERSION})"),
                "build it again: scripts/static-build",
            ))),
            Ok(Report::Failed { what }) => {
                Err(Failed::Final(guest.failed(what, "the guest has booted; what it lacks is said above")))
            }
            Ok(other) => Err(Failed::Perhaps(guest.lost(Lost::Garbled(format!("{other:?}")), "while it booted"))),
            Err(Lost::Interrupted) => Ok(None),
            Err(lost) => Err(Failed::Perhaps(guest.lost(lost, "while it booted"))),
        }
    }

    /// A virtio disk as it is at first: a sparse file without a name, so that nothing of it can be left.
    fn disk_image(&self) -> std::io::Result<Option<File>> {
        let Some(packed) = &self.disk else { return Ok(None) };
        let mut image = tempfile::tempfile()?;
        image.set_len(u64::from(self.spec.disk_mib) << 20)?;
        disk::write(packed, &mut image)?;
        Ok(Some(image))
    }

    /// The kernel's command line. The user's part comes last, for there the last word counts.
    fn command_line(&self, clock: Clock, chatty: bool) -> String {
        let mut words =
            vec!["console=ttyS0", "panic=-1", "rdinit=/init", "nowatchdog", "no_timer_check"];
        // Self-tests of ciphers would run beside the first slices.
        words.push("cryptomgr.notests");
        words.push("rcupdate.rcu_cpu_stall_suppress=1");
        // A kernel may panic before it has a console.
        words.push("earlyprintk=serial,ttyS0");
        // A second boot tells where it gets stuck.
        words.push(if chatty { "loglevel=7" } else { "loglevel=4" });
        if clock != Clock::Host {
            words.extend(["nokaslr", "norandmaps", "randomize_kstack_offset=off"]);
        }
        let agent = format!("{AGENT_VARIABLE}=1");
        words.push(&agent);
        words.push(&self.spec.append);
        words.join(" ").trim_end().to_owned()
    }
}

/// A boot that failed: whether it may go better the next time.
enum Failed {
    Final(Error),
    Perhaps(Error),
}

/// The modules to load, and what is on the disk.
fn disk_and_modules(spec: &Spec, kernel: &Kernel) -> Result<(Vec<Module>, Option<Vec<u8>>), Error> {
    if !spec.fs.on_disk() {
        return Ok((Vec::new(), None));
    }
    let wanted: Vec<&str> = spec.disk.modules().iter().copied().chain([spec.fs.name()]).collect();
    let modules = match &kernel.modules {
        Some(modules) => modules.in_order(&wanted)?,
        // Perhaps it has all built in; the guest will tell.
        None => Vec::new(),
    };
    Ok((modules, Some(disk::make(spec.fs, spec.disk_mib)?)))
}

/// What a guest runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// KVM or TCG.
    pub accelerator: Accelerator,
    /// QEMU's CPU model.
    pub cpu: String,
    /// CPUs.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Its version.
    pub qemu: String,
}

/// A guest that is ready. Dropped, it is gone.
pub struct Guest {
    name: String,
    qemu: Qemu,
    stopped: bool,
    /// What it sees of its machine.
    pub host: Host,
    /// CPU of task 0, 1, ...; empty if they are not pinned.
    pub task_cpus: Vec<u32>,
    /// What it runs on.
    pub about: About,
}

/// How a slice in a guest ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Slice {
    /// With one sample for each task.
    Measured(Vec<results::Sample>),
    /// Tasks were stopped meanwhile.
    Disturbed,
}

/// What came of slices under a tracer in a guest.
#[derive(Clone, Debug, PartialEq)]
pub enum Trace {
    /// What was seen.
    Seen(Box<results::Traced>),
    /// Tasks were stopped meanwhile.
    Disturbed,
    /// Nothing, and why; what to do on a second line.
    Lost(String),
}

impl Guest {
    /// Runs one slice; the guest goes on for it if it stood still.
    ///
    /// # Errors
    /// The guest says so, or is lost.
    pub fn slice(&mut self, curve: usize, tasks: usize, length: Duration) -> Result<Slice, Error> {
        self.go_on()?;
        let command = Command::Slice { curve, tasks, length_ns: length.as_nanos() as u64 };
        let sent = self.qemu.send(&command);
        sent.map_err(|lost| self.lost(lost, "between two slices"))?;
        match self.qemu.receive(length + ANSWER, &|| false) {
            Ok(Report::Samples { samples, .. }) if samples.len() == tasks => {
                Ok(Slice::Measured(samples))
            }
            Ok(Report::Disturbed) => Ok(Slice::Disturbed),
            Ok(Report::Failed { what }) => Err(self.failed(what, "nothing of this run is counted")),
            Ok(other) => Err(self.lost(Lost::Garbled(format!("{other:?}")), "in a slice")),
            Err(lost) => Err(self.lost(lost, "in a slice")),
        }
    }

    /// Has the guest see who waits for which lock of its kernel; it goes on for it if it stood still.
    ///
    /// # Errors
    /// The guest says so, or is lost. That its tracer fails is no error.
    pub fn trace(&mut self, order: TraceOrder) -> Result<Trace, Error> {
        self.go_on()?;
        // Untraced slices as well, and what the symbols take.
        let length = Duration::from_nanos(order.length_ns).saturating_mul(2 * order.slices);
        let sent = self.qemu.send(&Command::Trace(order));
        sent.map_err(|lost| self.lost(lost, "between two slices"))?;
        match self.qemu.receive(length.saturating_add(ANSWER), &|| false) {
            Ok(Report::Traced { traced }) => Ok(Trace::Seen(traced)),
            Ok(Report::TraceLost { why }) => Ok(Trace::Lost(why)),
            Ok(Report::Disturbed) => Ok(Trace::Disturbed),
            Ok(Report::Failed { what }) => Err(self.failed(what, "nothing of this run is counted")),
            Ok(other) => Err(self.lost(Lost::Garbled(format!("{other:?}")), "while it traced")),
            Err(lost) => Err(self.lost(lost, "while it traced")),
        }
    }

    /// The next report of a guest that was ordered to count. None if it was interrupted.
    ///
    /// # Errors
    /// The guest says so, or is lost.
    pub fn report(
        &mut self,
        patience: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<Report>, Error> {
        match self.qemu.receive(patience, interrupted) {
            Ok(Report::Failed { what }) => Err(self.failed(what, "nothing of this run is counted")),
            Ok(report) => Ok(Some(report)),
            Err(Lost::Interrupted) => Ok(None),
            Err(lost) => Err(self.lost(lost, "while it counted")),
        }
    }

    /// Lets its CPUs and its clocks stand still, so that it takes nothing from another guest.
    ///
    /// # Errors
    /// QEMU is lost.
    pub fn stop(&mut self) -> Result<(), Error> {
        if !self.stopped {
            self.monitor("stop")?;
            self.stopped = true;
        }
        Ok(())
    }

    /// Opposite of [`Guest::stop`].
    ///
    /// # Errors
    /// QEMU is lost.
    pub fn go_on(&mut self) -> Result<(), Error> {
        if self.stopped {
            self.monitor("cont")?;
            self.stopped = false;
        }
        Ok(())
    }

    fn monitor(&mut self, command: &str) -> Result<(), Error> {
        self.qemu
            .monitor(command)
            .map_err(|lost| self.lost(lost, "when it was stopped or continued"))
    }

    /// Says goodbye, and waits for its end.
    ///
    /// # Errors
    /// It does not end as agreed. Then nothing that it said is to be trusted: kernels have panicked with a status of 0.
    pub fn end(mut self) -> Result<(), Error> {
        self.go_on()?;
        let sent = self.qemu.send(&Command::End);
        sent.map_err(|lost| self.lost(lost, "before it could be ended"))?;
        match self.qemu.receive(GOODBYE, &|| false) {
            Ok(Report::End) => self.ended(),
            Ok(other) => Err(self.lost(Lost::Garbled(format!("{other:?}")), "at its end")),
            Err(lost) => Err(self.lost(lost, "at its end")),
        }
    }

    /// Waits for the end of a guest that has said goodbye.
    ///
    /// # Errors
    /// As [`Guest::end`].
    pub fn ended(mut self) -> Result<(), Error> {
        match self.qemu.end_within(GOODBYE) {
            Some(status) if status.code() == Some(GOOD_STATUS) => Ok(()),
            Some(status) => Err(self.lost(Lost::Ended(status), "after it had said goodbye")),
            None => Err(self.lost(Lost::Silent, "after it had said goodbye")),
        }
    }

    fn failed(&self, what: impl Into<String>, advice: &str) -> Error {
        Error::Failed {
            what: format!("{}: {}", self.name, what.into()),
            advice: advice.to_owned(),
            console: self.qemu.last_lines(),
        }
    }

    fn lost(&mut self, lost: Lost, when: &str) -> Error {
        let (what, advice) = match lost {
            Lost::Ended(status) => {
                (format!("it died {when} ({})", how(status)), "see its console below")
            }
            Lost::Silent => (
                format!("it hangs {when}"),
                "see its console below; on a very busy machine try again",
            ),
            Lost::Stuck(stuck) => (
                format!("it gets nowhere {when}: {stuck}"),
                "give it more memory=, or another kernel or append=; see its console below",
            ),
            Lost::Panicked => (
                format!("its kernel panicked {when}"),
                "see its console below; if it speaks of memory or of the RAMDISK, give it more memory=",
            ),
            Lost::Garbled(text) => (
                format!("it says what was not agreed on {when}: {text}"),
                "is the static vfscale of the same build?",
            ),
            Lost::Os(error) => {
                (format!("no word can be had of it {when}: {error}"), "see its console below")
            }
            Lost::Interrupted => (format!("it was interrupted {when}"), "run again"),
        };
        // Its last words are on their way as long as it lives.
        self.qemu.kill();
        self.failed(what, advice)
    }
}

fn how(status: ExitStatus) -> String {
    match status.code() {
        // -no-reboot and panic=-1 make this of a panic; and nothing that ends well ends like this.
        Some(0) => "its kernel panicked or rebooted".to_owned(),
        _ => format!("QEMU: {status}"),
    }
}
