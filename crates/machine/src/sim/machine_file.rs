//! A machine as the text of a machine file: what `Machine::from_toml` reads back.

use super::spec::{Machine, Value};
use std::fmt::Write;

const HEAD: &str = "\
# Times are nanoseconds. A level's transfer_ns is a line from one CPU to another that differs in this level and in no outer one.
# Nodes are what the outermost level called node or socket tells apart, or what [node] says. A line's home is the node that touches
# it first; a transfer between two nodes takes longer if its home is a third one.
";

impl Machine {
    /// The machine as a file, each value with its source. [`Machine::from_toml`] reads the same machine from it.
    pub fn to_toml(&self) -> String {
        let mut text = String::from(HEAD);
        let _ = writeln!(
            text,
            "\nname = {}\nsummary = {}\n",
            quoted(&self.name),
            quoted(&self.summary)
        );
        for (key, value, _) in self.values() {
            let Value { value, source } = value;
            let _ = writeln!(text, "{key} = {{ value = {value}, source = {} }}", quoted(source));
        }
        if let Some(bus) = &self.bus {
            let (level, source) = (quoted(&bus.level), quoted(&bus.source));
            let _ = writeln!(
                text,
                "\n[bus]\nlevel = {level}\nbusy_ns = {}\nsource = {source}",
                bus.busy_ns
            );
        }
        if let Some(node) = &self.node {
            let (level, source) = (quoted(&node.level), quoted(&node.source));
            let _ = writeln!(text, "\n[node]\nlevel = {level}\nsource = {source}");
        }
        for level in &self.levels {
            let (name, source) = (quoted(&level.name), quoted(&level.source));
            let _ = writeln!(
                text,
                "\n[[level]]\nname = {name}\nsize = {}\ntransfer_ns = {}\nsource = {source}",
                level.size, level.transfer_ns
            );
        }
        text
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::super::spec::MACHINES;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_machine_reads_back_as_written() {
        for (name, _) in MACHINES {
            let machine = Machine::named(name).expect("built in");
            assert_eq!(Machine::from_toml(&machine.to_toml()).as_ref(), Ok(&machine), "{name}");
        }
    }

    proptest! {
        #[test]
        fn whatever_names_and_numbers_are(name in any::<String>(), ns in 0.01..1e9f64, size in 1..64usize) {
            let mut machine = Machine::named("spr-20-2024").expect("built in");
            machine.summary = name.clone();
            machine.name = name;
            machine.hit_ns.value = ns;
            machine.levels[0].size = size;
            machine.levels[0].transfer_ns = ns;
            prop_assert_eq!(Machine::from_toml(&machine.to_toml()), Ok(machine));
        }
    }
}
