//! The subtests of AIM7 and the mixes that say how often each of them runs.
//!
//! Names and hits are those of re-aim 7's workfiles. A subtest that works on files of the file system under test runs on every
//! target. Of the others a model of a kernel has nothing but the time: their length, as it was measured with these sizes (see
//! `machine`) on one task of a two-CPU virtual machine (Linux 6.18, tmpfs).

/// What a `disk` subtest does with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Reads blocks at random (`rr`).
    RandomRead,
    /// Writes blocks at random (`rw`).
    RandomWrite,
    /// Reads the blocks in order (`rd`).
    Read,
    /// Writes the blocks in order (`wrt`).
    Write,
    /// Copies the file that all users share (`cp`).
    Duplicate,
    /// Reads blocks at random and writes each back (`update`).
    Update,
}

/// How a `disk` subtest opens and syncs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caching {
    /// Through the page cache, and synced (no prefix).
    Synced,
    /// Through the page cache (`b`).
    Buffered,
    /// O_DIRECT (`dio`).
    Direct,
    /// O_SYNC, on half as many blocks (`sync_`).
    Synchronous,
}

/// What a subtest works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file is created and closed a thousand times.
    CreatClose,
    /// Names are unlinked and linked.
    Link,
    /// A directory that all users share is searched and changed.
    DiskSource,
    /// Blocks of a file of one's own.
    Disk(Pattern, Caching),
    /// The machine and not the file system; on a model so many nanoseconds.
    Machine(u32),
}

macro_rules! subtests {
    ($($name:ident: $kind:expr;)*) => {
        /// A subtest, by its name in the workfiles.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(super) enum Subtest {
            $($name),*
        }

        impl Subtest {
            /// Every one.
            #[cfg(test)]
            pub(super) const ALL: &[Subtest] = &[$(Subtest::$name),*];

            /// Its name.
            #[cfg(test)]
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Subtest::$name => stringify!($name)),*
                }
            }

            /// What it works on.
            pub(super) fn kind(self) -> Kind {
                match self {
                    $(Subtest::$name => $kind),*
                }
            }
        }
    };
}

use Caching::{Buffered, Direct, Synced, Synchronous};
use Kind::{CreatClose, Disk, DiskSource, Link, Machine};
use Pattern::{Duplicate, RandomRead, RandomWrite, Read, Update, Write};

subtests! {
    creat_clo: CreatClose;
    link_test: Link;
    disk_src: DiskSource;
    disk_rr: Disk(RandomRead, Synced);
    disk_rw: Disk(RandomWrite, Synced);
    disk_rd: Disk(Read, Synced);
    disk_wrt: Disk(Write, Synced);
    disk_cp: Disk(Duplicate, Synced);
    disk_brr: Disk(RandomRead, Buffered);
    disk_brw: Disk(RandomWrite, Buffered);
    disk_brd: Disk(Read, Buffered);
    disk_bwrt: Disk(Write, Buffered);
    disk_bcp: Disk(Duplicate, Buffered);
    disk_dio_rr: Disk(RandomRead, Direct);
    disk_dio_rw: Disk(RandomWrite, Direct);
    disk_dio_rd: Disk(Read, Direct);
    disk_dio_wrt: Disk(Write, Direct);
    disk_dio_cp: Disk(Duplicate, Direct);
    sync_disk_rw: Disk(RandomWrite, Synchronous);
    sync_disk_wrt: Disk(Write, Synchronous);
    sync_disk_cp: Disk(Duplicate, Synchronous);
    sync_disk_update: Disk(Update, Synchronous);

    add_double: Machine(1_200_000);
    add_float: Machine(1_200_000);
    add_int: Machine(96_000);
    add_long: Machine(96_000);
    add_short: Machine(95_000);
    mul_double: Machine(1_100_000);
    mul_float: Machine(1_100_000);
    mul_int: Machine(290_000);
    mul_long: Machine(290_000);
    mul_short: Machine(960_000);
    div_double: Machine(420_000);
    div_float: Machine(360_000);
    div_int: Machine(290_000);
    div_long: Machine(350_000);
    div_short: Machine(400_000);
    array_rtns: Machine(43_000);
    matrix_rtns: Machine(100_000);
    new_raph: Machine(90_000);
    num_rtns_1: Machine(120_000);
    series_1: Machine(130_000);
    sieve: Machine(320_000);
    sort_rtns_1: Machine(130_000);
    string_rtns: Machine(95_000);
    trig_rtns: Machine(290_000);
    jmp_test: Machine(500_000);
    brk_test: Machine(450_000);
    mem_rtns_1: Machine(300_000);
    mem_rtns_2: Machine(75_000);
    page_test: Machine(3_000_000);
    ram_copy: Machine(44_000);
    shared_memory: Machine(12_000_000);
    misc_rtns_1: Machine(390_000);
    dir_rtns_1: Machine(320_000);
    fork_test: Machine(28_000_000);
    exec_test: Machine(3_200_000);
    shell_rtns_1: Machine(870_000);
    shell_rtns_2: Machine(1_100_000);
    shell_rtns_3: Machine(1_100_000);
    signal_test: Machine(2_100_000);
    pipe_cpy: Machine(78_000);
    stream_pipe: Machine(150_000);
    dgram_pipe: Machine(180_000);
    fifo_test: Machine(100_000);
    tcp_test: Machine(730_000);
    udp_test: Machine(340_000);
}

/// The names of the mixes, in the order of [`MIXES`].
pub(super) const NAMES: &[&str] =
    &["custom", "all_tests", "dbase", "disk", "fserver", "new_dbase", "new_fserver", "shared"];

/// Hits, and the subtests that have so many.
pub(super) type Mix = &'static [(u32, &'static [Subtest])];

use Subtest::*;

/// Every mix: of `hits` subtests in all, how often each runs.
pub(super) const MIXES: &[Mix] =
    &[CUSTOM, ALL_TESTS, DBASE, DISK, FSERVER, NEW_DBASE, NEW_FSERVER, SHARED];

const CUSTOM: Mix = &[
    (
        10,
        &[
            creat_clo,
            dgram_pipe,
            dir_rtns_1,
            fork_test,
            link_test,
            misc_rtns_1,
            page_test,
            pipe_cpy,
            shared_memory,
            signal_test,
            fifo_test,
            stream_pipe,
            tcp_test,
            udp_test,
        ],
    ),
    (30, &[sieve]),
    (
        20,
        &[
            disk_rr,
            disk_rw,
            disk_rd,
            disk_wrt,
            disk_cp,
            disk_brr,
            disk_brw,
            disk_brd,
            disk_bwrt,
            disk_bcp,
            sync_disk_rw,
            disk_src,
        ],
    ),
];

const ALL_TESTS: Mix = &[
    (30, &[add_double, add_float, add_int, add_long, add_short]),
    (
        10,
        &[
            creat_clo,
            array_rtns,
            brk_test,
            dgram_pipe,
            dir_rtns_1,
            div_double,
            div_float,
            div_int,
            div_long,
            div_short,
            fork_test,
            jmp_test,
            link_test,
            matrix_rtns,
            mem_rtns_1,
            mem_rtns_2,
            misc_rtns_1,
            new_raph,
            num_rtns_1,
            page_test,
            pipe_cpy,
            ram_copy,
            series_1,
            shared_memory,
            signal_test,
            fifo_test,
            sort_rtns_1,
            stream_pipe,
            tcp_test,
            trig_rtns,
            udp_test,
            shell_rtns_2,
            shell_rtns_3,
        ],
    ),
    (20, &[exec_test, mul_double, mul_float, mul_int, mul_long, mul_short, shell_rtns_1]),
    (30, &[sieve]),
    // Listed twice, with 20 and 30.
    (50, &[string_rtns]),
    (
        20,
        &[
            disk_rr,
            disk_rw,
            disk_rd,
            disk_wrt,
            disk_cp,
            disk_brr,
            disk_brw,
            disk_brd,
            disk_bwrt,
            disk_bcp,
            sync_disk_rw,
            sync_disk_wrt,
            sync_disk_cp,
            sync_disk_update,
            disk_src,
        ],
    ),
];

const DBASE: Mix = &[
    (20, &[add_int, add_long, add_short, ram_copy]),
    (40, &[disk_rd, disk_rr, mem_rtns_1, mem_rtns_2, page_test, shared_memory]),
    (10, &[div_int, div_long, div_short, jmp_test, mul_int, mul_long, mul_short, stream_pipe]),
    (30, &[sieve, sort_rtns_1, string_rtns, sync_disk_rw, sync_disk_update]),
];

const NEW_DBASE: Mix = &[
    (20, &[add_int, add_long, add_short, ram_copy]),
    (40, &[disk_rd, disk_rr, mem_rtns_1, mem_rtns_2, page_test, shared_memory]),
    (
        10,
        &[
            div_int,
            div_long,
            div_short,
            jmp_test,
            mul_int,
            mul_long,
            mul_short,
            stream_pipe,
            sync_disk_rw,
            sync_disk_update,
        ],
    ),
    (30, &[sieve, sort_rtns_1, string_rtns, disk_brw, disk_bcp]),
];

const DISK: Mix = &[(
    20,
    &[
        disk_rr,
        disk_brr,
        disk_dio_rr,
        disk_rw,
        disk_brw,
        disk_dio_rw,
        disk_rd,
        disk_brd,
        disk_dio_rd,
        disk_wrt,
        disk_bwrt,
        disk_dio_wrt,
        disk_cp,
        disk_bcp,
        disk_dio_cp,
        sync_disk_rw,
        sync_disk_wrt,
        sync_disk_cp,
        sync_disk_update,
        disk_src,
    ],
)];

const FSERVER: Mix = &[
    FSERVER_20,
    FSERVER_30,
    FSERVER_10,
    FSERVER_40,
    (5, &[sync_disk_cp, sync_disk_rw, sync_disk_wrt]),
];

const NEW_FSERVER: Mix = &[FSERVER_20, FSERVER_30, FSERVER_10, FSERVER_40];

const FSERVER_20: (u32, &[Subtest]) =
    (20, &[add_int, add_long, add_short, creat_clo, dir_rtns_1, link_test, misc_rtns_1, ram_copy]);
const FSERVER_30: (u32, &[Subtest]) =
    (30, &[disk_cp, disk_rd, disk_rr, disk_rw, disk_src, disk_wrt, sort_rtns_1, string_rtns]);
const FSERVER_10: (u32, &[Subtest]) = (
    10,
    &[
        div_int,
        div_long,
        div_short,
        jmp_test,
        mem_rtns_2,
        mul_int,
        mul_long,
        mul_short,
        signal_test,
        tcp_test,
    ],
);
const FSERVER_40: (u32, &[Subtest]) = (40, &[mem_rtns_1, udp_test]);

const SHARED: Mix = &[
    (30, &[add_double, add_float, add_int, add_long, add_short, string_rtns]),
    (
        20,
        &[
            disk_cp,
            disk_rd,
            disk_rr,
            disk_rw,
            disk_src,
            disk_wrt,
            exec_test,
            mul_double,
            mul_float,
            mul_int,
            mul_long,
            mul_short,
            shell_rtns_1,
        ],
    ),
    (
        10,
        &[
            array_rtns,
            brk_test,
            creat_clo,
            dgram_pipe,
            dir_rtns_1,
            div_double,
            div_float,
            div_int,
            div_long,
            div_short,
            fork_test,
            jmp_test,
            link_test,
            matrix_rtns,
            mem_rtns_1,
            mem_rtns_2,
            misc_rtns_1,
            new_raph,
            num_rtns_1,
            page_test,
            pipe_cpy,
            ram_copy,
            series_1,
            shared_memory,
            sieve,
            signal_test,
            sort_rtns_1,
            stream_pipe,
            sync_disk_cp,
            sync_disk_rw,
            sync_disk_wrt,
            tcp_test,
            trig_rtns,
            udp_test,
        ],
    ),
];

/// Jobs that a user asks for; what is done is the sum of what rounding makes of it.
const JOBS: u32 = 100;

/// Every subtest of a mix with its hits.
pub(super) fn hits(mix: Mix) -> impl Iterator<Item = (Subtest, u32)> {
    mix.iter().flat_map(|(hits, subtests)| subtests.iter().map(move |subtest| (*subtest, *hits)))
}

/// The jobs of one user: each subtest as often as its share of the hits says, rounded, and once at least.
pub(super) fn jobs(mix: Mix) -> Vec<Subtest> {
    let all: u32 = hits(mix).map(|(_, hits)| hits).sum();
    let times = |hits: u32| ((hits * JOBS + all / 2) / all).max(1) as usize;
    hits(mix).flat_map(|(subtest, hits)| std::iter::repeat_n(subtest, times(hits))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(name: &str) -> Mix {
        MIXES[NAMES.iter().position(|known| *known == name).unwrap()]
    }

    #[test]
    fn hits_add_up_to_what_the_workfiles_have() {
        let totals = [
            ("all_tests", 1000, 62),
            ("custom", 410, 27),
            ("dbase", 550, 23),
            ("disk", 400, 20),
            ("fserver", 595, 31),
            ("new_dbase", 570, 25),
            ("new_fserver", 580, 28),
            ("shared", 780, 53),
        ];
        assert_eq!(totals.len(), NAMES.len());
        for (name, total, subtests) in totals {
            let mix = mix(name);
            assert_eq!(hits(mix).map(|(_, hits)| hits).sum::<u32>(), total, "{name}");
            let mut distinct: Vec<Subtest> = hits(mix).map(|(subtest, _)| subtest).collect();
            distinct.sort_by_key(|subtest| *subtest as usize);
            distinct.dedup();
            assert_eq!(hits(mix).count(), distinct.len(), "{name} names a subtest twice");
            assert_eq!(distinct.len(), subtests, "{name}");
        }
    }

    #[test]
    fn a_user_runs_about_a_hundred_jobs_and_every_subtest() {
        for (name, mix) in NAMES.iter().zip(MIXES) {
            let jobs = jobs(mix);
            assert!((90..=115).contains(&jobs.len()), "{name}: {}", jobs.len());
            for (subtest, of) in hits(mix) {
                let all: u32 = hits(mix).map(|(_, hits)| hits).sum();
                let done = jobs.iter().filter(|job| **job == subtest).count() as f64;
                let exact = f64::from(of * JOBS) / f64::from(all);
                assert!((done - exact).abs() <= 0.5 || (done == 1.0 && exact < 0.5), "{name}");
            }
        }
    }

    /// What explains the mail's table: a gain where files are created anew again and again, and none elsewhere.
    #[test]
    fn the_mixes_without_a_gain_have_no_creat_clo() {
        for name in NAMES {
            let has = hits(mix(name)).any(|(subtest, _)| subtest == creat_clo);
            assert_eq!(has, !["dbase", "new_dbase", "disk"].contains(name), "{name}");
        }
    }

    #[test]
    fn every_subtest_is_in_a_mix() {
        for subtest in Subtest::ALL {
            let used = MIXES.iter().any(|mix| hits(mix).any(|(of, _)| of == *subtest));
            assert!(used, "{}", subtest.name());
        }
    }
}
