//! Names for kernel addresses, from /proc/kallsyms.

use std::fs;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

const PATH: &str = "/proc/kallsyms";

/// What lies at addresses of the running kernel.
#[derive(Debug, Default)]
pub struct Symbols {
    /// All names, one after the other.
    names: String,
    /// In ascending order of address, one an address.
    entries: Vec<Entry>,
    hidden: bool,
    /// Where the variables are; none if only a few are listed, for then any other would be taken for one of them.
    variables: Option<Range<u64>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    /// Where the name begins in `names`.
    start: u32,
    length: u16,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Data,
}

/// What [`Symbols::of_kernel`] has read.
static KERNEL: OnceLock<Arc<Symbols>> = OnceLock::new();

impl Symbols {
    /// Those of the running kernel, read at the first call: that takes some 50 ms. Modules that are loaded later are not known.
    pub fn of_kernel() -> Arc<Symbols> {
        Arc::clone(KERNEL.get_or_init(|| Arc::new(Symbols::read())))
    }

    /// Those of the running kernel; hidden if the file cannot be read.
    fn read() -> Symbols {
        match fs::read_to_string(PATH) {
            Ok(text) => Symbols::parse(&text),
            Err(_) => Symbols { hidden: true, ..Symbols::default() },
        }
    }

    /// From lines `address type name`, and perhaps `[module]`. Other lines are passed over.
    pub fn parse(text: &str) -> Symbols {
        let mut symbols = Symbols::default();
        let mut seen = false;
        for line in text.lines() {
            let Some((address, kind, name)) = parse_line(line) else { continue };
            seen = true;
            // Without the privilege to see them all addresses are 0.
            if address == 0 {
                continue;
            }
            let (Ok(start), Ok(length)) =
                (u32::try_from(symbols.names.len()), u16::try_from(name.len()))
            else {
                continue;
            };
            symbols.names.push_str(name);
            symbols.entries.push(Entry { address, start, length, kind });
        }
        symbols.hidden = seen && symbols.entries.is_empty();
        // Stable: of several names of one address the first counts, as it does for the kernel's own messages.
        symbols.entries.sort_by_key(|entry| entry.address);
        symbols.entries.dedup_by_key(|entry| entry.address);
        symbols.variables = symbols.find_variables();
        symbols
    }

    /// True if the kernel hides addresses from this process, so that nothing has a name.
    pub fn hidden(&self) -> bool {
        self.hidden
    }

    /// The function that `address` lies in, without what the compiler appended (`.isra.0`, `.cold`).
    pub fn function(&self, address: u64) -> Option<&str> {
        self.at(address, Kind::Text).map(source_name)
    }

    /// The variable that `address` lies in; none in a kernel that lists only a few (without CONFIG_KALLSYMS_ALL).
    pub fn variable(&self, address: u64) -> Option<&str> {
        let listed = self.variables.as_ref()?.contains(&address);
        if listed { self.at(address, Kind::Data) } else { None }
    }

    /// From the first to behind the last variable; none if too few are listed to name locks.
    pub fn variables(&self) -> Option<Range<u64>> {
        self.variables.clone()
    }

    fn find_variables(&self) -> Option<Range<u64>> {
        /// Without CONFIG_KALLSYMS_ALL there are some dozens, none of them a lock; with it tens of thousands.
        const FEW: usize = 1000;
        // Below the first function there are offsets of per-CPU variables on some architectures, which are no addresses.
        let text = self.entries.iter().position(|entry| entry.kind == Kind::Text)?;
        let mut data = self.entries[text..].iter().filter(|entry| entry.kind == Kind::Data);
        let first = data.next()?.address;
        (data.clone().count() >= FEW).then_some(())?;
        let last = data.next_back()?.address;
        Some(first..last.saturating_add(1))
    }

    fn at(&self, address: u64, kind: Kind) -> Option<&str> {
        /// The last symbol before a gap, as between kernel and modules, does not reach into what lies behind it.
        const REACH: u64 = 16 << 20;
        let behind = self.entries.partition_point(|entry| entry.address <= address);
        let entry = self.entries.get(behind.checked_sub(1)?)?;
        let name = &self.names[entry.start as usize..][..usize::from(entry.length)];
        let inside = entry.kind == kind && address - entry.address < REACH;
        inside.then_some(name)
    }
}

fn parse_line(line: &str) -> Option<(u64, Kind, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = match words.next()? {
        "T" | "t" | "W" | "w" => Kind::Text,
        "D" | "d" | "B" | "b" | "R" | "r" | "V" | "v" => Kind::Data,
        _ => return None,
    };
    Some((address, kind, words.next()?))
}

/// `name` as in the source: `f` for `f.isra.0`.
fn source_name(name: &str) -> &str {
    match name.find('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t path_openat.isra.0
ffffffff81000400 T do_unlinkat
ffffffff82000000 d files_lock
ffffffffa0000000 t ext4_orphan_add\t[ext4]
0000000000000010 A not_this_kind
nonsense
";

    #[test]
    fn addresses_have_the_name_before_them() {
        let symbols = Symbols::parse(TEXT);
        let cases = [
            (0xffff_ffff_8100_0000, Some("_stext")),
            (0xffff_ffff_8100_00ff, Some("_stext")),
            (0xffff_ffff_8100_0100, Some("path_openat")),
            (0xffff_ffff_8100_03ff, Some("path_openat")),
            (0xffff_ffff_8100_0412, Some("do_unlinkat")),
            (0xffff_ffff_8200_0000, None),
            (0xffff_ffff_a000_0020, Some("ext4_orphan_add")),
            (0xffff_ffff_b000_0000, None),
            (0xffff_8880_0000_0000, None),
            (0, None),
        ];
        for (address, name) in cases {
            assert_eq!(symbols.function(address), name, "{address:x}");
        }
        assert!(!symbols.hidden());
        assert_eq!(symbols.variables(), None, "one variable is too few");
        assert_eq!(symbols.variable(0xffff_ffff_8200_0004), None, "or all others would be it");
    }

    #[test]
    fn hidden_addresses_are_noticed() {
        let symbols = Symbols::parse("0000000000000000 T _stext\n0000000000000000 D jiffies\n");
        assert!(symbols.hidden());
        assert_eq!(symbols.function(0), None);
        assert!(!Symbols::parse("").hidden(), "an empty file hides nothing");
    }

    #[test]
    fn many_variables_are_a_range() {
        let locks = (0..2000).map(|n| format!("{:x} d lock{n}\n", 0x1000 + n * 16));
        let text: String =
            ["10 d per_cpu\n".into(), "800 T f\n".into()].into_iter().chain(locks).collect();
        let symbols = Symbols::parse(&text);
        assert_eq!(symbols.variables(), Some(0x1000..0x1000 + 1999 * 16 + 1));
        assert_eq!(symbols.variable(0x1000 + 20), Some("lock1"));
        assert_eq!(symbols.variable(0x800), None, "a function is none");
        assert_eq!(symbols.variable(0x20), None, "an offset is no address");
    }

    #[test]
    fn this_kernel_has_symbols_or_says_that_they_are_hidden() {
        let symbols = Symbols::read();
        let named = symbols.entries.iter().any(|entry| {
            symbols.function(entry.address).is_some_and(|name| name.contains("lockref_get"))
        });
        assert!(symbols.hidden() || named);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([0-9a-f]{0,17} [TtDdAx] [a-z.]{0,8}\t?\n?|.{0,20}\n){0,40}", address: u64) {
            let symbols = Symbols::parse(&text);
            let _ = (symbols.function(address), symbols.variable(address), symbols.variables());
        }

        #[test]
        fn a_function_is_the_nearest_below(addresses in prop::collection::btree_set(1u64..1000, 1..50), at in 0u64..1200) {
            let text: String = addresses.iter().map(|a| format!("{a:016x} T f{a}\n")).collect();
            let symbols = Symbols::parse(&text);
            let want = addresses.range(..=at).next_back().map(|a| format!("f{a}"));
            prop_assert_eq!(symbols.function(at), want.as_deref());
        }
    }
}
