//! KVM where it works, emulation (TCG) where it does not. That a device is there says nothing: there are hosts on which a guest
//! under KVM hangs, or QEMU dies of it.

use crate::memory_file;
use crate::qemu::{EXIT_PORT, PROGRAM, dies_with_parent};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How a guest's instructions are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// By the CPU.
    Kvm,
    /// By QEMU, translated.
    Tcg,
}

/// Patience with a guest of six instructions.
const PATIENCE: Duration = Duration::from_secs(3);

/// Set once a real kernel did not boot under KVM although the probe did.
static KVM_FAILED: AtomicBool = AtomicBool::new(false);

impl Accelerator {
    /// As QEMU calls it.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }

    /// The CPU model where none is asked for. Under TCG without erms and fsrm, for `rep movsb` is charged per byte there, and
    /// which kernel uses it decides every comparison.
    pub fn cpu(self) -> &'static str {
        match self {
            Accelerator::Kvm => "host",
            Accelerator::Tcg => TCG_CPU,
        }
    }

    /// The one to use. Takes up to three seconds where KVM hangs.
    pub fn find() -> Accelerator {
        match !KVM_FAILED.load(SeqCst) && kvm_works().is_ok() {
            true => Accelerator::Kvm,
            false => Accelerator::Tcg,
        }
    }

    /// KVM has failed with a real kernel: no more of it in this process.
    pub(crate) fn give_up_kvm() {
        KVM_FAILED.store(true, SeqCst);
    }
}

/// The CPU model under TCG where none is asked for.
pub const TCG_CPU: &str = "max,-erms,-fsrm";

/// Boots six instructions under KVM.
///
/// # Errors
/// It did not work; why.
pub fn kvm_works() -> Result<(), String> {
    if !std::path::Path::new("/dev/kvm").exists() {
        return Err("there is no /dev/kvm".into());
    }
    let firmware = memory_file::with("vfscale-probe", &firmware()).map_err(|e| e.to_string())?;
    let mut command = Command::new(PROGRAM);
    command.args(["-machine", "pc,accel=kvm", "-cpu", Accelerator::Kvm.cpu(), "-m", "16"]);
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    command.args(["-device", &format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=4")]);
    command.arg("-bios").arg(memory_file::path(&firmware));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    memory_file::inherit(&mut command, &[firmware.as_fd()]);
    dies_with_parent(&mut command);
    let mut child = command.spawn().map_err(|error| format!("cannot run {PROGRAM}: {error}"))?;
    match end_within(&mut child, PATIENCE) {
        Some(status) if status.code() == Some(PROBE_STATUS) => Ok(()),
        Some(status) => Err(format!("QEMU ends with {status} under KVM")),
        None => Err(format!("a guest under KVM hangs (for {} s)", PATIENCE.as_secs())),
    }
}

/// isa-debug-exit makes 2n + 1 of what is written.
const PROBE_STATUS: i32 = 0x10 << 1 | 1;

/// 64 KiB of firmware; a CPU begins 16 bytes before its end: mov dx, port; mov al, 0x10; out dx, al; hlt.
fn firmware() -> Vec<u8> {
    let mut firmware = vec![0xf4; 0x10000];
    let [low, high] = EXIT_PORT.to_le_bytes();
    firmware[0xfff0..0xfff7].copy_from_slice(&[0xba, low, high, 0xb0, 0x10, 0xee, 0xf4]);
    firmware
}

/// Waits for the child's end; kills it if it comes to none.
pub(crate) fn end_within(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let since = Instant::now();
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if since.elapsed() > patience {
            kill(child);
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills the child and waits for it, but not for ever: one that hangs inside of KVM may not die.
pub(crate) fn kill(child: &mut Child) {
    let since = Instant::now();
    // It fails for a child that has been waited for.
    let _ = child.kill();
    while matches!(child.try_wait(), Ok(None)) && since.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(2));
    }
}
