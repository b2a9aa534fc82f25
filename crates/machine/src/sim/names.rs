//! Names of places in memory: what a line of the report is called.
//!
//! A line has a set of names, those of the objects that lie on it; few sets are ever different, so a line of the arena has the
//! number of its set. Naming is then cheap enough for objects that are made and freed all the time.

use super::arena::{self, LINE_BITS, with_arena};
use std::cell::RefCell;
use std::collections::HashMap;

/// The set without a name.
const NONE: u16 = 0;

struct Names {
    /// By number.
    sets: Vec<Vec<&'static str>>,
    /// From a set and a name to the set with that name as well.
    /// The name by its address: a name that is written twice is looked for twice.
    with: HashMap<(u16, *const u8), u16>,
    /// By line of the arena.
    arena: Vec<u16>,
    /// By line elsewhere.
    outside: HashMap<usize, u16>,
}

thread_local! {
    static NAMES: RefCell<Names> = RefCell::new(Names {
        sets: vec![Vec::new()],
        with: HashMap::new(),
        arena: Vec::new(),
        outside: HashMap::new(),
    });
}

/// A line's number in the arena that begins at `base`; none if it is elsewhere.
fn place(line: usize, (base, size): (usize, usize)) -> Option<usize> {
    let at = line.wrapping_sub(base >> LINE_BITS);
    (at < size >> LINE_BITS).then_some(at)
}

fn lines(at: usize, len: usize) -> impl Iterator<Item = usize> {
    at >> LINE_BITS..(at + len).div_ceil(1 << LINE_BITS)
}

impl Names {
    fn set_of(&self, line: usize, range: (usize, usize)) -> u16 {
        match place(line, range) {
            Some(at) => self.arena.get(at).copied().unwrap_or(NONE),
            None => self.outside.get(&line).copied().unwrap_or(NONE),
        }
    }

    fn put(&mut self, line: usize, range: (usize, usize), set: u16) {
        match place(line, range) {
            Some(at) => {
                if at >= self.arena.len() {
                    self.arena.resize((at + 1).next_multiple_of(1 << 10), NONE);
                }
                self.arena[at] = set;
            }
            None => {
                self.outside.insert(line, set);
            }
        }
    }

    fn joined(&mut self, set: u16, name: &'static str) -> u16 {
        if let Some(known) = self.with.get(&(set, name.as_ptr())) {
            return *known;
        }
        let mut names = self.sets[usize::from(set)].clone();
        if !names.contains(&name) {
            names.push(name);
        }
        let known = self.sets.iter().position(|known| *known == names);
        let number = known.unwrap_or_else(|| {
            self.sets.push(names);
            self.sets.len() - 1
        });
        // A kernel's structures have few layouts; were there ever so many, later ones would go without a name.
        let number = u16::try_from(number).unwrap_or(NONE);
        self.with.insert((set, name.as_ptr()), number);
        number
    }
}

/// Says that the `len` bytes at `at` are `structure.field`, for this host thread. A line may have several names.
pub(super) fn name(at: usize, len: usize, name: &'static str) {
    let range = arena::range();
    with_arena(false, || {
        NAMES.with_borrow_mut(|names| {
            for line in lines(at, len.max(1)) {
                let set = names.joined(names.set_of(line, range), name);
                names.put(line, range, set);
            }
        });
    });
}

/// The lines of the arena from `at` are used anew.
pub(super) fn forget(at: usize, len: usize) {
    // Called by the allocator: the first use of the names must not come back here.
    with_arena(false, || {
        // At the end of a thread the names may be gone already; then nobody asks for them.
        let _ = NAMES.try_with(|names| {
            let names = &mut names.borrow_mut().arena;
            let first = (at >> LINE_BITS).min(names.len());
            let last = ((at + len) >> LINE_BITS).min(names.len());
            names[first..last].fill(NONE);
        });
    });
}

/// The names on a line, if it has any: `structure.field`, those of one structure together.
pub(super) fn name_of(line: usize) -> Option<String> {
    let range = arena::range();
    NAMES.with_borrow(|names| {
        let set = &names.sets[usize::from(names.set_of(line, range))];
        let mut shown = String::new();
        let mut before = "";
        for name in set {
            let (structure, field) = name.split_once('.').unwrap_or(("", name));
            let separator = if shown.is_empty() { "" } else { ", " };
            let same = !structure.is_empty() && structure == before;
            shown.push_str(separator);
            shown.push_str(if same { field } else { name });
            before = structure;
        }
        (!shown.is_empty()).then_some(shown)
    })
}
