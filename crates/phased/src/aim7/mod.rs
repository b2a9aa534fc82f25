//! AIM7: users who each run a hundred jobs of a mix, in an order of their own; jobs a minute over users (mail 002).
//!
//! Shared: the directory in which all users have their files, the directory that `disk_src` searches, the file that `disk_cp`
//! copies; on ext4 the orphan list, for `creat_clo` truncates a file at each of its thousand steps.
//! Should scale: all of it but the changes of the shared directories.
//! Moves: the directory's lock, the super block's lists, the journal's head; of the jobs that are not about files, nothing.
//! Did not scale: ext4 of Linux 3.15, whose orphan list had one mutex (mail 002: +42 to +56 % in the mixes with `creat_clo`).
//!
//! The jobs are written anew from their descriptions, with the names, weights and counts of re-aim 7. Jobs that are not about files have sizes
//! of their own, from 0.04 to 30 ms: a figure can be compared with another one of this program, not with AIM7's. Instead
//! of sync(2), which would write back what belongs to others too, a job syncs its file. A model of a kernel runs the jobs on files;
//! the others are there the time that they take.

mod files;
mod machine;
mod mixes;

use mixes::{Kind, MIXES, NAMES, Subtest, jobs};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Failure, FileSystem, Info, Meter, Param, Params, Phase, Phased, Place, Rate,
    Shared, Suite, TaskMode,
};

/// Which jobs.
pub const MIX: Param = Param::word("mix", "which jobs, and how often each", NAMES);

/// See the module's header.
pub struct Aim7;

/// A user: jobs and files.
pub struct User {
    jobs: Vec<Subtest>,
    random: fastrand::Rng,
    files: files::Files,
    machine: machine::Machine,
}

fn mix(params: &Params) -> mixes::Mix {
    MIXES[params.word(&MIX)]
}

impl Phased for Aim7 {
    const INFO: Info = Info {
        name: "aim7",
        aliases: &[],
        summary: "users who run the jobs of a mix: files, computing, processes, pipes and sockets; jobs/min",
        origin: "mail 002 (ext4 orphan list, 2014): AIM7, re-aim 7",
        calls: Calls::Create,
        shared: Shared::Directory,
        suites: &[Suite::Mails],
        params: &[MIX],
        // Users fork, and a process that forks has one thread.
        modes: &[TaskMode::Process],
        operation: "one job of the mix",
        needs: &[Capability::Create, Capability::Write, Capability::Truncate],
        background: false,
        demand: |_| files::DEMAND,
    };

    const PHASES: &'static [Phase] = &[Phase { suffix: "", title: "AIM7" }];

    type Task = User;

    fn rate(_params: &Params) -> Rate {
        Rate { unit: "jobs/min", per_op: 60.0, block_bytes: 0, file_bytes: 0 }
    }

    fn needs(params: &Params) -> Vec<Capability> {
        let direct =
            |(job, _): (Subtest, u32)| matches!(job.kind(), Kind::Disk(_, mixes::Caching::Direct));
        if mixes::hits(mix(params)).any(direct) { vec![Capability::Direct] } else { Vec::new() }
    }

    fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
        files::prepare(fs, place)
    }

    fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<User, Failure> {
        let fifo: CString = place.path(&format!("fifo{}", place.task));
        Ok(User {
            jobs: jobs(mix(&place.params)),
            random: fastrand::Rng::with_seed(place.task as u64),
            files: files::Files::new(place),
            machine: machine::Machine::new(fifo),
        })
    }

    fn begin<F: FileSystem>(
        _fs: &F,
        user: &mut User,
        _phase: usize,
        users: usize,
    ) -> Result<(), Failure> {
        user.random.shuffle(&mut user.jobs);
        user.files.size_for(users);
        Ok(())
    }

    fn steps(user: &User, _phase: usize) -> u64 {
        user.jobs.len() as u64
    }

    fn step<F: FileSystem>(
        fs: &F,
        user: &mut User,
        _phase: usize,
        step: u64,
        _meter: &mut impl Meter,
    ) -> Result<(), Failure> {
        let job = user.jobs[step as usize];
        match job.kind() {
            Kind::Machine(ns) if fs.is_model() => {
                fs.work(ns);
                Ok(())
            }
            Kind::Machine(_) => user.machine.run(job),
            kind => user.files.run(fs, kind),
        }
    }

    fn end<F: FileSystem>(_fs: &F, _user: &mut User, _phase: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn path(user: &User) -> &CStr {
        user.files.path()
    }
}
