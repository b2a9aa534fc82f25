//! A flame graph as SVG: no script, text as text, every box with its figures as a tooltip.
//!
//! A box is a function, as wide as its share of the whole; what it called stands on top of it.

use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const ROW: f64 = 18.0;
const HEAD: f64 = 40.0;
/// Width of a character of the 12-pixel monospaced type, upwards.
const CHARACTER: f64 = 7.3;
/// Narrower boxes cannot be seen; how many were left out is said.
const NARROWEST: f64 = 0.3;

/// A function as called by those below it.
#[derive(Debug, Default)]
struct Frame {
    /// With all that it called.
    weight: u64,
    called: BTreeMap<String, Frame>,
}

/// Draws `stacks` (frames, the outermost first, and their weight, in `unit`) below `title`.
pub(crate) fn svg(title: &str, unit: &str, stacks: &[(Vec<String>, u64)]) -> String {
    let mut all = Frame::default();
    for (frames, weight) in stacks {
        let mut frame = &mut all;
        frame.weight += weight;
        for name in frames {
            frame = frame.called.entry(name.clone()).or_default();
            frame.weight += weight;
        }
    }
    let rows = depth(&all, all.weight);
    let height = HEAD + rows as f64 * ROW + MARGIN;
    let mut drawing = Drawing {
        text: String::new(),
        total: all.weight,
        unit,
        bottom: height - MARGIN,
        left_out: 0,
    };
    if all.weight > 0 {
        drawing.frame("all", &all, MARGIN, 0);
    }

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" \
         width=\"{WIDTH:.0}\" height=\"{height:.0}\" role=\"img\" \
         font-family=\"ui-monospace, monospace\" font-size=\"12\">\n\
         <title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN:.0}\" y=\"16\" font-weight=\"bold\" fill=\"#000000\">{title}</text>\n",
        title = escape(title),
    );
    let left_out = match drawing.left_out {
        0 => String::new(),
        count => format!("; {count} boxes too narrow to draw"),
    };
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN:.0}\" y=\"32\" fill=\"#000000\">{} {}{left_out}</text>",
        all.weight,
        escape(unit)
    );
    out + &drawing.text + "</svg>\n"
}

/// Width of a frame of `weight` in pixels.
fn width(weight: u64, total: u64) -> f64 {
    weight as f64 / total.max(1) as f64 * (WIDTH - 2.0 * MARGIN)
}

/// Rows that a frame and what it called take, as far as they are drawn.
fn depth(frame: &Frame, total: u64) -> usize {
    let drawn = frame.called.values().filter(|called| width(called.weight, total) >= NARROWEST);
    1 + drawn.map(|called| depth(called, total)).max().unwrap_or(0)
}

struct Drawing<'a> {
    text: String,
    total: u64,
    unit: &'a str,
    bottom: f64,
    left_out: usize,
}

impl Drawing<'_> {
    fn frame(&mut self, name: &str, frame: &Frame, left: f64, row: usize) {
        let width = width(frame.weight, self.total);
        if width < NARROWEST {
            self.left_out += count(frame);
            return;
        }
        let top = self.bottom - (row + 1) as f64 * ROW;
        let (full, fill) = (escape(name), colour(name));
        let _ = write!(
            self.text,
            "<g><title>{full}: {} {} ({:.2} %)</title>\
             <rect x=\"{left:.2}\" y=\"{top:.0}\" width=\"{width:.2}\" height=\"{:.0}\" \
             fill=\"{fill}\" stroke=\"#ffffff\" stroke-width=\"0.5\"/>",
            frame.weight,
            escape(self.unit),
            frame.weight as f64 / self.total.max(1) as f64 * 100.0,
            ROW - 1.0,
        );
        if let Some(label) = fit(name, width) {
            let _ = write!(
                self.text,
                "<text x=\"{:.2}\" y=\"{:.0}\" fill=\"#000000\">{}</text>",
                left + 3.0,
                top + 13.0,
                escape(&label)
            );
        }
        self.text.push_str("</g>\n");
        let mut left = left;
        for (name, called) in &frame.called {
            self.frame(name, called, left, row + 1);
            left += self::width(called.weight, self.total);
        }
    }
}

fn count(frame: &Frame) -> usize {
    1 + frame.called.values().map(count).sum::<usize>()
}

/// As much of `name` as `width` pixels hold; none if that tells nothing.
fn fit(name: &str, width: f64) -> Option<String> {
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    let length = name.chars().count();
    match room {
        _ if length <= room => Some(name.to_owned()),
        0..=3 => None,
        _ => Some(name.chars().take(room - 2).chain("..".chars()).collect()),
    }
}

/// Light, so that black text reads on it; the same for the same name in every graph. Kinds of locks are blue.
fn colour(name: &str) -> String {
    if name.starts_with('[') {
        return "#9ec9f0".to_owned();
    }
    // FNV-1a.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let (green, blue) = (165 + (hash >> 8) % 60, 90 + (hash >> 24) % 50);
    format!("#f5{green:02x}{blue:02x}")
}

/// Text for XML; characters that XML does not have are replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stack(frames: &str, weight: u64) -> (Vec<String>, u64) {
        (frames.split(' ').map(str::to_owned).collect(), weight)
    }

    /// Attribute `name` of the box of function `function`.
    fn attribute(svg: &str, function: &str, name: &str) -> f64 {
        let line = svg.lines().find(|line| line.starts_with(&format!("<g><title>{function}: ")));
        let (_, rest) = line.expect(function).split_once(&format!(" {name}=\"")).expect(name);
        rest.split_once('"').expect("closing quote").0.parse().expect("number")
    }

    #[test]
    fn boxes_are_as_wide_as_their_share_and_stand_on_their_callers() {
        let svg = svg("t", "ns", &[stack("a b", 30), stack("a c", 10), stack("d", 60)]);
        let whole = WIDTH - 2.0 * MARGIN;
        for (name, share) in [("all", 1.0), ("a", 0.4), ("b", 0.3), ("c", 0.1), ("d", 0.6)] {
            let width = attribute(&svg, name, "width");
            assert!((width - share * whole).abs() < 0.01, "{name}: {width}");
        }
        assert_eq!(attribute(&svg, "b", "y"), attribute(&svg, "a", "y") - ROW);
        assert_eq!(attribute(&svg, "a", "x"), attribute(&svg, "b", "x"));
        assert!(svg.contains("<title>b: 30 ns (30.00 %)</title>"), "{svg}");
    }

    #[test]
    fn what_cannot_be_seen_is_counted() {
        let svg = svg("t", "ns", &[stack("a", 1_000_000), stack("b c", 1)]);
        assert!(svg.contains("2 boxes too narrow to draw"), "{svg}");
        assert!(!svg.contains("<title>b"));
    }

    #[test]
    fn names_are_text_and_kinds_of_locks_have_their_colour() {
        let svg = svg("creat & unlink", "ns", &[stack("down_write [rwsem]", 7)]);
        assert!(svg.contains("creat &amp; unlink"));
        assert!(svg.contains(">down_write</text>"), "{svg}");
        assert!(svg.contains("fill=\"#9ec9f0\""), "{svg}");
        assert!(!svg.contains("<script"));
    }

    #[test]
    fn nothing_is_a_graph_too() {
        assert!(svg("t", "ns", &[]).ends_with("</svg>\n"));
    }

    proptest! {
        #[test]
        fn markup_stays_markup(title: String, names in prop::collection::vec(any::<String>(), 1..5), weight in 0u64..9) {
            let svg = svg(&title, "ns", &[(names, weight)]);
            let opened = svg.matches('<').count();
            prop_assert_eq!(opened, svg.matches('>').count());
            prop_assert!(!svg.chars().any(|c| c.is_control() && c != '\n'));
        }
    }
}
