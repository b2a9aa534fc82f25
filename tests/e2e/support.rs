//! What the tests share: mounts that go away by themselves, the program with a deadline, processes as /proc has them.

use rustix::process::{Pid, Signal};
use rustix::thread::UnshareFlags;
use std::cell::OnceCell;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Long enough for every run here on a busy machine; a program that takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(120);
/// Between two looks at something that is waited for.
const LOOK: Duration = Duration::from_millis(5);
/// Uid and gid of a user without privileges; no entry in /etc/passwd is needed.
const NOBODY: u32 = 65534;

/// Says that the test that calls cannot be done here. libtest names the thread after the test.
pub(crate) fn skip(why: &str) {
    let thread = std::thread::current();
    println!("SKIPPED: {}: {why}", thread.name().unwrap_or("a test"));
}

/// Whether the tests run as root; says that the test is skipped if not.
pub(crate) fn is_root_or_skip() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("needs root");
    }
    root
}

/// Asks until it is true; false if it is not within `deadline`.
#[must_use]
pub(crate) fn wait_until(deadline: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let since = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if since.elapsed() > deadline {
            return false;
        }
        std::thread::sleep(LOOK);
    }
}

/// An empty directory that every user may search and write to; removed on drop.
pub(crate) fn temp_dir() -> TempDir {
    let dir = TempDir::with_prefix("vfscale-e2e-").expect("make a temporary directory");
    allow_all(dir.path());
    dir
}

/// Lets every user read, write and search.
pub(crate) fn allow_all(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o777)).expect("chmod 777");
}

/// Names in a directory but for what mkfs puts there.
pub(crate) fn leftovers(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("list {}: {e}", dir.display()));
    let names = entries.map(|e| e.expect("read a directory entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "lost+found");
    names.sort();
    names
}

/// Whether nothing is in a directory but what mkfs put there.
pub(crate) fn dir_is_empty(dir: &Path) -> bool {
    leftovers(dir).is_empty()
}

thread_local! {
    /// Why this thread has no mount namespace of its own, or nothing if it has one.
    static NAMESPACE: OnceCell<Result<(), String>> = const { OnceCell::new() };
}

/// Gives the test's thread, and all that it starts from now on, a mount namespace of their own: mounts of a test that is
/// killed vanish with it.
fn enter_namespace() -> Result<(), String> {
    let enter = || {
        if !rustix::process::geteuid().is_root() {
            return Err("needs root to mount".to_owned());
        }
        // SAFETY: a mount namespace of its own does not touch memory, descriptors or anything else the threads share; only
        // this thread's root and working directory are its own from now on.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
            .map_err(|errno| format!("cannot make a mount namespace: {errno}"))?;
        run_tool(Command::new("mount").args(["--make-rprivate", "/"]))
    };
    NAMESPACE.with(|namespace| namespace.get_or_init(enter).clone())
}

/// Takes every tracefs out of the sight of the test's thread and of what that starts. False, and the test is said to be skipped,
/// where that cannot be done.
pub(crate) fn leave_tracefs() -> bool {
    let unmount = || {
        enter_namespace()?;
        let is_tracefs = |line: &&str| line.contains(" - tracefs ") || line.contains(" - debugfs ");
        loop {
            let mounts = fs::read_to_string("/proc/thread-self/mountinfo")
                .map_err(|error| format!("cannot read the mounts: {error}"))?;
            let Some(line) = mounts.lines().rfind(is_tracefs) else { return Ok(()) };
            let point = line.split(' ').nth(4).unwrap_or_default().to_owned();
            run_tool(Command::new("umount").args(["--lazy", &point]))?;
        }
    };
    unmount().inspect_err(|why: &String| skip(why)).is_ok()
}

/// Gives the test's thread a /mnt of its own with a tmpfs at /mnt/a and at /mnt/b, which the documents speak of. If it cannot be
/// had, says that the test is skipped.
pub(crate) fn mounts_of_the_documents() -> bool {
    let tmpfs = |at: &str| {
        run_tool(Command::new("mount").args(["-t", "tmpfs", "-o", "size=64m", "none", at]))
    };
    let make = || {
        enter_namespace()?;
        tmpfs("/mnt")?;
        for at in ["/mnt/a", "/mnt/b"] {
            fs::create_dir(at).map_err(|error| format!("cannot make {at}: {error}"))?;
            tmpfs(at)?;
        }
        Ok::<_, String>(())
    };
    make().inspect_err(|why| skip(why)).is_ok()
}

/// Runs a tool of the system; an error says what it said.
fn run_tool(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("no {name}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{name} failed: {}", said.trim().replace('\n', "; ")))
    }
}

/// A file system mounted for one test; unmounted on drop. Visible to the test's thread and to what that starts.
pub(crate) struct Mount {
    point: PathBuf,
    // Removed after the unmount, for fields are dropped after `drop` has run.
    _dir: TempDir,
}

impl Mount {
    /// A tmpfs with these options, `size=1m` for example. If it cannot be made, says that the test is skipped.
    pub(crate) fn tmpfs(options: &str) -> Option<Mount> {
        let mount = |_: &Path, point: &Path| {
            let mount = ["-t", "tmpfs", "-o", options, "none"];
            run_tool(Command::new("mount").args(mount).arg(point))
        };
        Mount::make(mount)
    }

    /// An ext4 of its own in an image file. If it cannot be made, says that the test is skipped.
    pub(crate) fn ext4() -> Option<Mount> {
        Mount::image(64, Command::new("mkfs.ext4").args(["-q", "-F"]))
    }

    /// An xfs of its own in an image file, as small as mkfs.xfs allows. If it cannot be made, says that the test is skipped.
    pub(crate) fn xfs() -> Option<Mount> {
        Mount::image(320, Command::new("mkfs.xfs").args(["-q", "-f"]))
    }

    /// A btrfs of its own in an image file. If it cannot be made, says that the test is skipped.
    pub(crate) fn btrfs() -> Option<Mount> {
        Mount::image(512, Command::new("mkfs.btrfs").arg("-q"))
    }

    /// An overlayfs with nothing below, above on a tmpfs of its own. If it cannot be made, says that the test is skipped.
    pub(crate) fn overlay() -> Option<Mount> {
        let mount = |dir: &Path, point: &Path| {
            let layers = dir.join("layers");
            let tmpfs = ["-t", "tmpfs", "-o", "size=64m", "none"];
            let make = |dir: &Path| {
                fs::create_dir(dir)
                    .map_err(|error| format!("cannot make {}: {error}", dir.display()))
            };
            make(&layers)?;
            run_tool(Command::new("mount").args(tmpfs).arg(&layers))?;
            let [lower, upper, work] = ["lower", "upper", "work"].map(|name| layers.join(name));
            [&lower, &upper, &work].into_iter().try_for_each(|dir| make(dir))?;
            let [lower, upper, work] = [lower, upper, work].map(|dir| dir.display().to_string());
            let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
            let overlay = ["-t", "overlay", "-o", &options, "none"];
            let mounted = run_tool(Command::new("mount").args(overlay).arg(point));
            // It holds on to its layers; their mount is needed by no one else.
            run_tool(Command::new("umount").args(["--lazy"]).arg(&layers))?;
            mounted
        };
        Mount::make(mount)
    }

    /// A directory seen through a file system in user space (bindfs). If it cannot be made, says that the test is skipped.
    pub(crate) fn fuse() -> Option<Mount> {
        let mount = |dir: &Path, point: &Path| {
            let below = dir.join("below");
            fs::create_dir(&below).map_err(|error| format!("no directory: {error}"))?;
            // It goes to the background once it is mounted, and ends when it is unmounted.
            run_tool(Command::new("bindfs").arg(&below).arg(point))
        };
        Mount::make(mount)
    }

    /// A file system in a sparse image of so many MiB, made by `mkfs`.
    pub(crate) fn image(mib: u64, mkfs: &mut Command) -> Option<Mount> {
        let mount = |dir: &Path, point: &Path| {
            let image = dir.join("image");
            let file = File::create(&image).and_then(|file| file.set_len(mib << 20));
            file.map_err(|error| format!("no image: {error}"))?;
            run_tool(mkfs.arg(&image))?;
            run_tool(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(point))
        };
        Mount::make(mount)
    }

    /// A tracefs. If it cannot be mounted, says that the test is skipped.
    pub(crate) fn tracefs() -> Option<Mount> {
        Mount::make(|_, point| {
            run_tool(Command::new("mount").args(["-t", "tracefs", "tracefs"]).arg(point))
        })
    }

    /// A directory, visible a second time, and read-only there. If it cannot be made, says that the test is skipped.
    pub(crate) fn bind_read_only(of: &Path) -> Option<Mount> {
        let mount = |_: &Path, point: &Path| {
            run_tool(Command::new("mount").arg("--bind").arg(of).arg(point))?;
            run_tool(Command::new("mount").args(["-o", "remount,bind,ro"]).arg(point))
        };
        Mount::make(mount)
    }

    fn make(mount: impl FnOnce(&Path, &Path) -> Result<(), String>) -> Option<Mount> {
        let dir = temp_dir();
        let point = dir.path().join("mnt");
        fs::create_dir(&point).expect("make a mount point");
        match enter_namespace().and_then(|()| mount(dir.path(), &point)) {
            Ok(()) => Some(Mount { point, _dir: dir }),
            Err(why) => {
                skip(&why);
                None
            }
        }
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> &Path {
        &self.point
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let umount = |flags: &[&str]| run_tool(Command::new("umount").args(flags).arg(&self.point));
        // Processes of a test that failed may need a moment to die.
        if !wait_until(Duration::from_secs(2), || umount(&[]).is_ok()) {
            let _ = umount(&["--lazy"]);
        }
    }
}

/// The program, with the environment of a plain UTF-8 terminal session.
pub(crate) fn vfscale(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vfscale"));
    with_plain_environment(command.args(args));
    command
}

/// Takes away what changes how the program shows a result.
pub(crate) fn with_plain_environment(command: &mut Command) {
    command
        .env_remove("NO_COLOR")
        .env_remove("LC_CTYPE")
        .env_remove("LANG")
        .env("LC_ALL", "C.UTF-8");
}

/// The workload with little to make and remove: what is measured here is nothing anyway. By its first alias, if it has one.
pub(crate) fn small(info: &vfs_api::Info) -> String {
    let small = [("files", 64), ("pages", 64), ("names", 32), ("branching", 2), ("kib", 16)];
    let of = |param: &vfs_api::Param| small.iter().find(|(name, _)| *name == param.name);
    let told = info.params.iter().filter_map(of).map(|(name, value)| format!("{name}={value}"));
    let told = told.collect::<Vec<_>>().join(",");
    let name = info.aliases.first().copied().unwrap_or(info.name);
    if told.is_empty() { name.to_owned() } else { format!("{name}:{told}") }
}

/// The name that the record gives the workload of [`small`].
pub(crate) fn recorded(info: &vfs_api::Info) -> String {
    workloads::find(&small(info)).expect("a workload").to_string()
}

/// The `dir:` target of a path.
pub(crate) fn on(path: &Path) -> String {
    format!("dir:{}", path.to_str().expect("a path of the tests is UTF-8"))
}

/// The program as a user without privileges would start it: from a copy, because its own directory may be closed to others.
pub(crate) struct Unprivileged {
    program: PathBuf,
    _dir: TempDir,
}

impl Unprivileged {
    /// Needs root to become somebody else; says that the test is skipped otherwise.
    pub(crate) fn new() -> Option<Unprivileged> {
        is_root_or_skip().then(|| {
            let dir = temp_dir();
            let program = dir.path().join("vfscale");
            fs::copy(env!("CARGO_BIN_EXE_vfscale"), &program).expect("copy the program");
            fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("chmod 755");
            Unprivileged { program, _dir: dir }
        })
    }

    /// As [`vfscale`], but as that user and in the root directory.
    pub(crate) fn vfscale(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        with_plain_environment(command.args(args));
        // A home of the user's own: in root's it may not even look for a configuration.
        let home = self.program.parent().expect("the program is in a directory");
        command.env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        // std leaves the supplementary groups too.
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        command
    }

    /// Makes the user the owner.
    pub(crate) fn own(&self, path: &Path) {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("chown");
    }
}

/// How a command ended and what it printed.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// From start to end.
    pub(crate) took: Duration,
}

impl Ran {
    /// The exit code; none if a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Itself, if it exited with `code`; fails the test with all that was printed if not.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code(), Some(code), "{self}");
        self
    }

    /// Its standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// Its standard output as the record of a run.
    #[track_caller]
    pub(crate) fn record(&self) -> results::Run {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran { status, stdout, stderr, took } = self;
        let stdout: String = stdout.chars().take(4000).collect();
        write!(f, "{status} after {took:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// Starts the command and waits for its end.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Ran {
    Running::start(command).wait(DEADLINE)
}

/// A command that has been started, leader of its own process group. Killed on drop if it still runs.
pub(crate) struct Running {
    child: Child,
    started: Instant,
    // Files rather than pipes: they never fill, and can be read meanwhile.
    output: TempDir,
}

impl Running {
    /// Starts without waiting. Its input is empty, its output is caught.
    pub(crate) fn start(command: &mut Command) -> Running {
        Running::start_onto(command, None, None)
    }

    /// As [`Running::start`], but stdout and stderr go where it says.
    pub(crate) fn start_onto(
        command: &mut Command,
        stdout: Option<Stdio>,
        stderr: Option<Stdio>,
    ) -> Running {
        let output = temp_dir();
        let file = |name| {
            let file = File::create(output.path().join(name)).expect("make a file for the output");
            Stdio::from(file)
        };
        let (out, err) = (file("stdout"), file("stderr"));
        command.stdin(Stdio::null()).stdout(stdout.unwrap_or(out)).stderr(stderr.unwrap_or(err));
        let started = Instant::now();
        let child = command.process_group(0).spawn().expect("start the program");
        Running { child, started, output }
    }

    /// Its pid, which is also the number of its process group.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        self.read("stderr")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.output.path().join(name)).expect("read the output");
        String::from_utf8(bytes).expect("the output is UTF-8")
    }

    /// Sends it a signal, to it alone.
    pub(crate) fn signal(&self, signal: Signal) {
        signal_process(self.pid(), signal);
    }

    /// Sends its process group a signal, as the keyboard does.
    pub(crate) fn signal_group(&self, signal: Signal) {
        rustix::process::kill_process_group(pid(self.pid()), signal)
            .expect("signal a process group");
    }

    /// Processes that it has started and that still are its children: tasks, the janitor.
    pub(crate) fn children(&self) -> Vec<Process> {
        children_of(self.pid())
    }

    /// Its tasks (or the process that hosts them as threads): its children that are in a process group but lead no session,
    /// which the janitor does.
    pub(crate) fn tasks(&self) -> Vec<Process> {
        self.children().into_iter().filter(|child| child.session != child.pid).collect()
    }

    /// Waits until it has printed its plan and made its run directory in `dir` and at least `tasks` tasks.
    #[track_caller]
    pub(crate) fn wait_until_it_measures(&self, dir: &Path, tasks: usize) {
        let measures = || !dir_is_empty(dir) && self.tasks().len() >= tasks;
        let does = wait_until(Duration::from_secs(10), measures);
        assert!(does, "no {tasks} tasks and run directory: {}", self.stderr());
    }

    /// Waits for its end, at most so long.
    #[track_caller]
    pub(crate) fn wait(mut self, deadline: Duration) -> Ran {
        let mut status = None;
        let ended = wait_until(deadline, || {
            status = self.child.try_wait().expect("wait for the program");
            status.is_some()
        });
        let took = self.started.elapsed();
        let (stdout, stderr) = (self.read("stdout"), self.read("stderr"));
        let Some(status) = status.filter(|_| ended) else {
            panic!("it still runs after {deadline:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        };
        Ran { status, stdout, stderr, took }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if it has ended, as it should.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a process a signal.
pub(crate) fn signal_process(to: u32, signal: Signal) {
    rustix::process::kill_process(pid(to), signal).expect("signal a process");
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number as i32).expect("a pid is above 0")
}

/// A process as /proc/PID/stat has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// R, S, D, T, Z, ...
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
}

impl Process {
    /// None if there is none of this pid.
    pub(crate) fn read(pid: u32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name before may hold blanks and brackets.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let mut number = || fields.next()?.parse().ok();
        Some(Process { pid, state, parent: number()?, group: number()?, session: number()? })
    }
}

/// Whether a process runs; a zombie does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    Process::read(pid).is_some_and(|process| process.state != 'Z')
}

/// Every process of the machine.
pub(crate) fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("list /proc").flatten();
    entries.filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The children of a process, by pid.
pub(crate) fn children_of(parent: u32) -> Vec<Process> {
    let mut children = processes();
    children.retain(|process| process.parent == parent);
    children.sort_by_key(|process| process.pid);
    children
}

/// The signal that ended a command.
pub(crate) fn killed_by(ran: &Ran) -> Option<i32> {
    ran.status.signal()
}

/// The fields of a text after RFC 4180, written apart from the program's writer.
pub(crate) fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (vec![], vec![], String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    assert!(!quoted && row.is_empty() && field.is_empty(), "the text ends inside a row: {text}");
    rows
}
