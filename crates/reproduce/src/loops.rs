//! The loops of the pages: the registered workloads by their names, and those that only a page needs.

use crate::aim7::{self, Mix};
use crate::openbench::{OnRamfs, OnTwoMounts};
use crate::tiobench::{RandRead, RandWrite, SeqRead, SeqWrite};
use vfs_api::Workload;
use workloads::Visitor;

/// Passes on the registered workload of one name.
struct Only<'a, V> {
    name: &'a str,
    visitor: &'a mut V,
    found: bool,
}

impl<V: Visitor> Visitor for Only<'_, V> {
    fn visit<W: Workload>(&mut self) {
        if W::INFO.name == self.name {
            self.found = true;
            self.visitor.visit::<W>();
        }
    }
}

macro_rules! own {
    ($name:ident, $visitor:ident; $($own:literal: $workload:ty),* $(,)?) => {
        match $name {
            $($own => $visitor.visit::<$workload>(),)*
            _ => {
                let mut only = Only { name: $name, visitor: $visitor, found: false };
                workloads::visit_all(&mut only);
                return only.found;
            }
        }
    };
}

/// Calls `visitor` with the loop called `name`; false if there is none.
pub(crate) fn visit(name: &str, visitor: &mut impl Visitor) -> bool {
    own! { name, visitor;
        "tiobench_seqread": SeqRead,
        "tiobench_randread": RandRead,
        "tiobench_seqwrite": SeqWrite,
        "tiobench_randwrite": RandWrite,
        "openbench_ramfs": OnRamfs,
        "openbench_two_mounts": OnTwoMounts,
        "aim7_all_tests": Mix<{ aim7::ALL_TESTS }>,
        "aim7_custom": Mix<{ aim7::CUSTOM }>,
        "aim7_dbase": Mix<{ aim7::DBASE }>,
        "aim7_disk": Mix<{ aim7::DISK }>,
        "aim7_fserver": Mix<{ aim7::FSERVER }>,
        "aim7_new_dbase": Mix<{ aim7::NEW_DBASE }>,
        "aim7_new_fserver": Mix<{ aim7::NEW_FSERVER }>,
        "aim7_shared": Mix<{ aim7::SHARED }>,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counter(usize);

    impl Visitor for Counter {
        fn visit<W: Workload>(&mut self) {
            self.0 += 1;
        }
    }

    #[test]
    fn a_name_is_one_loop_or_none() {
        for (name, expected) in
            [("open_close", 1), ("tiobench_randread", 1), ("aim7_shared", 1), ("aim8", 0)]
        {
            let mut counter = Counter(0);
            assert_eq!(visit(name, &mut counter), expected == 1, "{name}");
            assert_eq!(counter.0, expected, "{name}");
        }
    }
}
