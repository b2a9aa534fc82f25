//! Writes SVG: elements that are closed, texts that are escaped, numbers with one decimal.

use crate::escape;
use std::fmt::{self, Write};

/// A picture that is being written. Attributes are this crate's own; what comes from outside is text.
#[derive(Default)]
pub(super) struct Writer {
    out: String,
    open: Vec<&'static str>,
}

impl Writer {
    /// `<name attributes>`, to be closed by [`Writer::close`].
    pub(super) fn open(&mut self, name: &'static str, attributes: fmt::Arguments<'_>) {
        self.start(name, attributes);
        self.out.push('>');
        self.open.push(name);
    }

    /// Closes what was opened last.
    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = write!(self.out, "</{name}>");
        }
    }

    /// `<name attributes/>`.
    pub(super) fn empty(&mut self, name: &'static str, attributes: fmt::Arguments<'_>) {
        self.start(name, attributes);
        self.out.push_str("/>");
    }

    /// `<name attributes>text</name>`.
    pub(super) fn text(&mut self, name: &'static str, attributes: fmt::Arguments<'_>, text: &str) {
        self.start(name, attributes);
        self.out.push('>');
        self.out.push_str(&escape::xml(text));
        let _ = write!(self.out, "</{name}>");
    }

    /// A text whose middle or end lies at (x, y), or whose start.
    pub(super) fn label(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        self.text("text", format_args!("x=\"{x:.1}\" y=\"{y:.1}\"{anchor}"), text);
    }

    /// Everything, with what is open closed.
    pub(super) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out.push('\n');
        self.out
    }

    fn start(&mut self, name: &str, attributes: fmt::Arguments<'_>) {
        // A line an element, so that two pictures can be compared as text.
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        let _ = write!(self.out, "<{name}");
        let before = self.out.len();
        let _ = write!(self.out, " {attributes}");
        if self.out.len() == before + 1 {
            self.out.pop();
        }
    }
}

/// Where the given place lies in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}
