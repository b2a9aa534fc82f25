//! A flame graph as SVG: no script, text as text, every box with its figures as a tooltip.
//!
//! A box is a function, as wide as its share of the whole; what it called stands on top of it.

use crate::escape;
use crate::stacks::Stack;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Of a picture of its own, in user units; in a page there is less room and the type is the same.
const WIDTH: f64 = 1200.0;
const IN_PAGE: f64 = 920.0;
const MARGIN: f64 = 10.0;
const ROW: f64 = 18.0;
const HEAD: f64 = 40.0;
/// Width of a character of the 12-pixel monospaced type, upwards.
const CHARACTER: f64 = 7.3;
/// Narrower boxes cannot be seen; how many were left out is said.
const NARROWEST: f64 = 0.3;
/// Boxes in a page at most, the widest ones, so that it stays small.
const MOST_IN_PAGE: usize = 150;

/// A function as called by those below it.
#[derive(Debug, Default)]
struct Frame {
    /// With all that it called.
    weight: u64,
    called: BTreeMap<String, Frame>,
}

impl Frame {
    fn of(stacks: &[Stack]) -> Frame {
        let mut all = Frame::default();
        for (frames, weight) in stacks {
            let mut frame = &mut all;
            frame.weight += weight;
            for name in frames {
                frame = frame.called.entry(name.clone()).or_default();
                frame.weight += weight;
            }
        }
        all
    }
}

/// A function in its place.
struct Boxed<'a> {
    name: &'a str,
    weight: u64,
    left: f64,
    width: f64,
    /// Above what called it; 0 is the lowest.
    row: usize,
}

/// Where every box lies in `width` user units, those on top after what they stand on.
fn laid_out(all: &Frame, width: f64) -> Vec<Boxed<'_>> {
    fn put<'a>(
        name: &'a str,
        frame: &'a Frame,
        left: f64,
        row: usize,
        scale: f64,
        out: &mut Vec<Boxed<'a>>,
    ) {
        out.push(Boxed {
            name,
            weight: frame.weight,
            left,
            width: frame.weight as f64 * scale,
            row,
        });
        let mut left = left;
        for (name, called) in &frame.called {
            put(name, called, left, row + 1, scale, out);
            left += called.weight as f64 * scale;
        }
    }
    let mut boxes = Vec::new();
    if all.weight > 0 {
        put("all", all, MARGIN, 0, (width - 2.0 * MARGIN) / all.weight as f64, &mut boxes);
    }
    boxes
}

/// Leaves those that can be seen, `most` at most; returns how many are gone. What is on top of a box is no wider, so nothing that is
/// left hangs in the air.
fn keep_visible(boxes: &mut Vec<Boxed<'_>>, most: usize) -> usize {
    let all = boxes.len();
    boxes.retain(|one| one.width >= NARROWEST);
    if boxes.len() > most {
        let mut widths: Vec<f64> = boxes.iter().map(|one| one.width).collect();
        widths.sort_unstable_by(|a, b| b.total_cmp(a));
        let too_narrow = widths[most];
        boxes.retain(|one| one.width > too_narrow);
    }
    all - boxes.len()
}

/// Draws `stacks` (their weight in `unit`) below `title`, as a picture of its own.
pub(crate) fn svg(title: &str, unit: &str, stacks: &[Stack]) -> String {
    let all = Frame::of(stacks);
    let mut boxes = laid_out(&all, WIDTH);
    let left_out = keep_visible(&mut boxes, usize::MAX);
    let height = HEAD + height(&boxes);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" \
         width=\"{WIDTH:.0}\" height=\"{height:.0}\" role=\"img\" \
         font-family=\"ui-monospace, monospace\" font-size=\"12\">\n\
         <title>{title}</title>\n\
         <style>rect{{stroke:#ffffff;stroke-width:0.5}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN:.0}\" y=\"16\" font-weight=\"bold\" fill=\"#000000\">{title}</text>\n",
        title = escape::xml(title),
    );
    let left_out = match left_out {
        0 => String::new(),
        count => format!("; {count} boxes too narrow to draw"),
    };
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN:.0}\" y=\"32\" fill=\"#000000\">{} {}{left_out}</text>",
        all.weight,
        escape::xml(unit)
    );
    draw(&mut out, &boxes, all.weight, unit, height - MARGIN);
    out + "</svg>\n"
}

/// A graph for a page, which has its title and its sentences as text.
pub(crate) struct Element {
    /// The drawing; `labelled` was the id of its heading.
    pub(crate) svg: String,
    /// Boxes that are not drawn.
    pub(crate) left_out: usize,
}

/// Draws `stacks` as an element of a page. A script finds in `data-row`, `x` and `width` what it needs to enlarge a part.
pub(crate) fn element(labelled: &str, unit: &str, stacks: &[Stack]) -> Element {
    let all = Frame::of(stacks);
    let mut boxes = laid_out(&all, IN_PAGE);
    let left_out = keep_visible(&mut boxes, MOST_IN_PAGE);
    let height = MARGIN + height(&boxes);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {IN_PAGE:.0} {height:.0}\" role=\"img\" aria-labelledby=\"{}\" \
         font-family=\"ui-monospace, monospace\" font-size=\"12\">\n",
        escape::xml(labelled)
    );
    draw(&mut svg, &boxes, all.weight, unit, height - MARGIN);
    Element { svg: svg + "</svg>", left_out }
}

fn height(boxes: &[Boxed<'_>]) -> f64 {
    boxes.iter().map(|one| one.row + 1).max().unwrap_or(0) as f64 * ROW + MARGIN
}

fn draw(out: &mut String, boxes: &[Boxed<'_>], total: u64, unit: &str, bottom: f64) {
    out.push_str("<g fill=\"#000000\">\n");
    for Boxed { name, weight, left, width, row } in boxes {
        let top = bottom - (row + 1) as f64 * ROW;
        let _ = write!(
            out,
            "<g data-row=\"{row}\"><title>{}: {weight} {} ({:.2} %)</title>\
             <rect x=\"{left:.2}\" y=\"{top:.0}\" width=\"{width:.2}\" height=\"{:.0}\" \
             fill=\"{}\"/>",
            escape::xml(name),
            escape::xml(unit),
            *weight as f64 / total.max(1) as f64 * 100.0,
            ROW - 1.0,
            colour(name),
        );
        if let Some(label) = fit(&escape::plain(name), *width) {
            let _ = write!(
                out,
                "<text x=\"{:.2}\" y=\"{:.0}\">{}</text>",
                left + 3.0,
                top + 13.0,
                escape::xml(&label)
            );
        }
        out.push_str("</g>\n");
    }
    out.push_str("</g>\n");
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stack(frames: &str, weight: u64) -> (Vec<String>, u64) {
        (frames.split(' ').map(str::to_owned).collect(), weight)
    }

    /// Attribute `name` of the box of function `function`.
    fn attribute(svg: &str, function: &str, name: &str) -> f64 {
        let line = svg.lines().find(|line| line.contains(&format!("\"><title>{function}: ")));
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

    #[test]
    fn a_page_has_the_widest_boxes_and_none_hangs_in_the_air() {
        let stacks: Vec<Stack> =
            (0..1000).map(|n| stack(&format!("base{} f{n} top{n}", n % 7), 1 + n % 50)).collect();
        let Element { svg, left_out } = element("h", "ns", &stacks);
        let drawn: Vec<(usize, f64, f64)> = svg
            .lines()
            .filter_map(|line| {
                let number = |name: &str| -> f64 {
                    let (_, rest) = line.split_once(&format!(" {name}=\"")).expect(name);
                    rest.split_once('"').expect("closing quote").0.parse().expect("number")
                };
                let left = line.starts_with("<g data").then(|| number("x"))?;
                Some((number("data-row") as usize, left, left + number("width")))
            })
            .collect();
        assert_eq!(drawn.len() + left_out, 1 + 7 + 2 * 1000);
        assert!((100..=MOST_IN_PAGE).contains(&drawn.len()), "{}", drawn.len());
        for (row, left, right) in drawn.iter().filter(|(row, ..)| *row > 0) {
            let carries = |(below, from, to): &&(usize, f64, f64)| {
                below + 1 == *row && *from <= left + 0.02 && *to >= right - 0.02
            };
            assert!(drawn.iter().any(|one| carries(&one)), "row {row} at {left}");
        }
    }

    #[test]
    fn marks_that_turn_the_direction_are_shown_not_obeyed() {
        let svg = svg("t\u{202e}", "ns", &[stack("a\u{200f}b\u{1b}[2J", 7)]);
        assert!(svg.contains("t\\u{202e}") && svg.contains("a\\u{200f}b\\x1b[2J"), "{svg}");
    }

    proptest! {
        #[test]
        fn markup_stays_markup(title: String, names in prop::collection::vec(any::<String>(), 1..5), weight in 0u64..9) {
            let svg = svg(&title, "ns", &[(names, weight)]);
            let opened = svg.matches('<').count();
            prop_assert_eq!(opened, svg.matches('>').count());
            prop_assert!(!svg.chars().any(|c| escape::is_unprintable(c) && c != '\n'));
        }
    }
}
