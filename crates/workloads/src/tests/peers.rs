//! Who comes from another tool finds each of its file-system workloads here, under the name that it has there.

use crate::find;
use vfs_api::{Info, Suite};

/// will-it-scale's tests of files and descriptors.
const WILL_IT_SCALE: &[&str] = &[
    "open1",
    "open2",
    "open3",
    "unlink1",
    "unlink2",
    "dup1",
    "lock1",
    "lock2",
    "lseek1",
    "lseek2",
    "fallocate1",
    "fallocate2",
    "pread1",
    "pread2",
    "pread3",
    "pwrite1",
    "pwrite2",
    "pwrite3",
    "read1",
    "read2",
    "read3",
    "read4",
    "readseek1",
    "readseek2",
    "readseek3",
    "writeseek1",
    "writeseek2",
    "writeseek3",
    "write1",
    "poll1",
    "poll2",
    "eventfd1",
    "pipe1",
    "mmap2",
    "page_fault2",
    "page_fault3",
];

/// FxMark's nineteen.
const FXMARK: &[&str] = &[
    "DRBL", "DRBM", "DRBH", "DWAL", "DWOL", "DWOM", "DWSL", "DWTL", "MRPL", "MRPM", "MRPH", "MRDL",
    "MRDM", "MWCL", "MWCM", "MWUL", "MWUM", "MWRL", "MWRM",
];

/// Those of FxMark that have a writer in the background.
const FXMARK_BACKGROUND: &[&str] = &["DRBL", "DRBM", "DRBH", "MRPM", "MRDL", "MRDM"];

const MDTEST: &[&str] = &[
    "file-create",
    "file-stat",
    "file-read",
    "file-remove",
    "dir-create",
    "dir-stat",
    "dir-remove",
];

/// fio's engines of metadata.
const FIO: &[&str] = &["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"];

#[track_caller]
fn is_in(suite: Suite, alias: &str) -> &'static Info {
    let info = find(alias).unwrap_or_else(|error| panic!("{error}")).info();
    assert!(info.suites.contains(&suite), "{alias} is not in the suite {}", suite.name());
    info
}

#[test]
fn each_workload_of_a_peer_is_found_by_its_name_there() {
    for name in WILL_IT_SCALE {
        is_in(Suite::WillItScale, &format!("wis:{name}"));
    }
    for name in FXMARK {
        is_in(Suite::Fxmark, &format!("fxmark:{name}"));
    }
    for name in MDTEST {
        is_in(Suite::Mdtest, &format!("mdtest:{name}"));
    }
    for name in FIO {
        is_in(Suite::Fio, &format!("fio:{name}"));
    }
    is_in(Suite::FsMark, "fs_mark");
}

/// What the variant measures is what the plain one does; what differs is that somebody writes meanwhile.
#[test]
fn background_variants_have_a_writer_and_the_plain_ones_none() {
    for name in FXMARK_BACKGROUND {
        let plain = is_in(Suite::Fxmark, &format!("fxmark:{name}"));
        let variant = is_in(Suite::Fxmark, &format!("fxmark:{name}_bg"));
        assert!(variant.background && !plain.background, "{name}");
        assert_eq!(variant.operation, plain.operation, "{name}");
        assert_eq!(variant.calls, plain.calls, "{name}");
    }
    let all = crate::suite(Suite::Fxmark).filter(|info| info.background).count();
    assert_eq!(all, FXMARK_BACKGROUND.len());
}

/// No suite of a peer has what the peer has not, and no name of a peer's that it does not have.
#[test]
fn nothing_is_said_to_be_a_peer_s_that_is_not() {
    let known = |alias: &str| {
        let Some((peer, name)) = alias.split_once(':') else { return true };
        match peer {
            "wis" => WILL_IT_SCALE.contains(&name),
            "fxmark" => {
                let plain = name.strip_suffix("_bg");
                plain.map_or(FXMARK.contains(&name), |plain| FXMARK_BACKGROUND.contains(&plain))
            }
            "mdtest" => MDTEST.contains(&name),
            "fio" => FIO.contains(&name),
            _ => false,
        }
    };
    for info in crate::ALL {
        for alias in info.aliases {
            assert!(known(alias), "{}: {alias}", info.name);
        }
        let is_called = |peer: &str| info.aliases.iter().any(|alias| alias.starts_with(peer));
        let peers = [
            (Suite::WillItScale, "wis:"),
            (Suite::Fxmark, "fxmark:"),
            (Suite::Mdtest, "mdtest:"),
            (Suite::Fio, "fio:"),
        ];
        for (suite, peer) in peers {
            assert_eq!(info.suites.contains(&suite), is_called(peer), "{}: {peer}", info.name);
        }
    }
}
