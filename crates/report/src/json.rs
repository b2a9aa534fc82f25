//! JSON that people can read too.
//!
//! Indented like any pretty JSON but for what comes in long rows: an array of plain numbers or strings stays on one line, and
//! so does each sample and each CPU. A run has 100,000 samples; so written they can be read and grepped.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// `record` as JSON, with a newline at the end.
///
/// # Panics
/// If a map in it has keys that are no strings.
pub(crate) fn rows(record: &impl Serialize) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Rows::default());
    record.serialize(&mut serializer).expect("records have string keys and are written to memory");
    out.push(b'\n');
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Arrays by this name hold objects that stay on one line.
const ROWS: [&str; 2] = ["samples", "cpus"];

/// An array or object that is being written.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Something in it was put on a line of its own, so its end is too.
    broken: bool,
    /// It and all that is in it stay on one line.
    inline: bool,
    /// It is an array of rows.
    rows: bool,
}

#[derive(Default)]
struct Rows {
    levels: Vec<Level>,
    in_key: bool,
    /// The key written last.
    key: String,
    /// An array's next element begins here; only what it is tells whether on a new line.
    element: bool,
}

impl Rows {
    fn break_line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(level) = self.levels.last_mut() {
            level.broken = true;
        }
        newline(writer, self.levels.len())
    }

    fn open<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        bracket: &[u8],
        rows: bool,
    ) -> io::Result<()> {
        let parent = self.levels.last().copied().unwrap_or_default();
        if std::mem::take(&mut self.element) && !parent.inline {
            self.break_line(writer)?;
        }
        self.levels.push(Level { broken: false, inline: parent.inline || parent.rows, rows });
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.element = false;
        if self.levels.pop().is_some_and(|level| level.broken) {
            newline(writer, self.levels.len())?;
        }
        writer.write_all(bracket)
    }
}

fn newline<W: ?Sized + Write>(writer: &mut W, depth: usize) -> io::Result<()> {
    write!(writer, "\n{:1$}", "", 2 * depth)
}

impl Formatter for Rows {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let rows = ROWS.contains(&self.key.as_str());
        self.open(writer, b"[", rows)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.element = true;
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.element = false;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{", false)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.in_key = true;
        self.key.clear();
        if !first {
            writer.write_all(b",")?;
        }
        if self.levels.last().is_some_and(|level| level.inline) {
            Ok(())
        } else {
            self.break_line(writer)
        }
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.in_key = false;
        Ok(())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let inline = self.levels.last().is_some_and(|level| level.inline);
        writer.write_all(if inline { b":" } else { b": " })
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.in_key {
            self.key.push_str(fragment);
        }
        writer.write_all(fragment.as_bytes())
    }
}
