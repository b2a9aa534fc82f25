//! A drawing surface made of characters: braille (2 × 4 dots a character) or plain ASCII (one dot a character).
//!
//! Positions are fractions of the surface, `(0, 0)` bottom left and `(1, 1)` top right, so that a drawing does not know which
//! of the two it is on. What lies outside is not drawn.

/// Which characters there are to draw with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glyphs {
    Braille,
    Ascii,
}

/// A position, `(right, up)`, each from 0 to 1.
pub(crate) type At = (f64, f64);

/// Which of several drawings a dot belongs to; colours are chosen by it.
pub(crate) type Ink = usize;

/// Okabe and Ito's colours for all kinds of colour vision, as near as the 256 colours of a terminal come, in an order that
/// keeps neighbours apart. Readable on black and on white.
const PALETTE: [u8; 6] = [32, 208, 36, 175, 75, 166];

/// A mark that stands for several, where the marks of two drawings fall on one character.
pub(crate) const SHARED_MARK: char = '*';

#[derive(Clone, Copy, Default)]
struct Cell {
    /// Braille dots, by the bits of [`braille_bit`].
    dots: u8,
    /// What an ASCII surface shows where no mark is.
    stroke: Option<char>,
    mark: Option<char>,
    ink: Ink,
}

/// The surface.
pub(crate) struct Canvas {
    columns: usize,
    rows: usize,
    glyphs: Glyphs,
    cells: Vec<Cell>,
}

impl Canvas {
    /// An empty surface of at least one character.
    pub(crate) fn new(columns: usize, rows: usize, glyphs: Glyphs) -> Canvas {
        let (columns, rows) = (columns.max(1), rows.max(1));
        Canvas { columns, rows, glyphs, cells: vec![Cell::default(); columns * rows] }
    }

    /// Column of characters, from the left.
    pub(crate) fn column(&self, right: f64) -> usize {
        let dots = self.dots().0;
        (scale(right.clamp(0.0, 1.0), dots) as usize) / (dots / self.columns)
    }

    /// Row of characters, from the top.
    pub(crate) fn row(&self, up: f64) -> usize {
        let dots = self.dots().1;
        (scale(1.0 - up.clamp(0.0, 1.0), dots) as usize) / (dots / self.rows)
    }

    /// A straight line.
    pub(crate) fn line(&mut self, from: At, to: At, ink: Ink) {
        let (width, height) = self.dots();
        let (run, rise) = ((to.0 - from.0) * width as f64, (to.1 - from.1) * height as f64);
        let stroke = match rise / run.abs() {
            slope if slope.abs() < 0.35 => '-',
            slope if slope.abs() > 3.0 || slope.is_nan() => '|',
            _ if (rise > 0.0) == (run > 0.0) => '/',
            _ => '\\',
        };
        // A line longer than the surface is not drawn for ever: steps are bounded, and what lies outside is skipped.
        let steps =
            run.abs().max(rise.abs()).ceil().clamp(1.0, 4.0 * (width + height) as f64) as usize;
        for i in 0..=steps {
            let t = i as f64 / steps as f64;
            self.dot((from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1)), stroke, ink);
        }
    }

    /// A dotted curve through positions that lie close together.
    pub(crate) fn dotted(&mut self, curve: impl Iterator<Item = At>, ink: Ink) {
        let (width, height) = self.dots();
        let apart = match self.glyphs {
            Glyphs::Braille => 3.0,
            Glyphs::Ascii => 2.0,
        };
        let mut last: Option<At> = None;
        for (x, y) in curve {
            let here = (x * width as f64, y * height as f64);
            if last.is_none_or(|(x, y)| (here.0 - x).hypot(here.1 - y) >= apart) {
                self.dot((x, y), '.', ink);
                last = Some(here);
            }
        }
    }

    /// Puts a character over the dots.
    pub(crate) fn mark(&mut self, at: At, mark: char, ink: Ink) {
        let Some(cell) = self.cell(at) else { return };
        cell.mark = Some(match cell.mark {
            Some(other) if other != mark => SHARED_MARK,
            _ => mark,
        });
        cell.ink = ink;
    }

    /// True if marks of two drawings fell on one character.
    pub(crate) fn has_shared_mark(&self) -> bool {
        self.cells.iter().any(|cell| cell.mark == Some(SHARED_MARK))
    }

    /// The rows from the top, without blanks at their ends.
    pub(crate) fn lines(&self, colour: bool) -> Vec<String> {
        self.cells.chunks(self.columns).map(|row| self.text(row, colour)).collect()
    }

    fn text(&self, row: &[Cell], colour: bool) -> String {
        let used = row.iter().rposition(|cell| self.glyph(cell) != ' ').map_or(0, |last| last + 1);
        let mut out = String::new();
        for cells in row[..used].chunk_by(|a, b| a.ink == b.ink) {
            let glyphs: String = cells.iter().map(|cell| self.glyph(cell)).collect();
            out.push_str(&paint(&glyphs, cells[0].ink, colour));
        }
        out
    }

    fn glyph(&self, cell: &Cell) -> char {
        let drawn = match self.glyphs {
            Glyphs::Ascii => cell.stroke,
            Glyphs::Braille if cell.dots == 0 => None,
            Glyphs::Braille => char::from_u32(0x2800 + u32::from(cell.dots)),
        };
        cell.mark.or(drawn).unwrap_or(' ')
    }

    fn dot(&mut self, at: At, stroke: char, ink: Ink) {
        let (width, height) = self.dots();
        let bit = braille_bit(scale(at.0, width) as usize, scale(1.0 - at.1, height) as usize);
        if let Some(cell) = self.cell(at) {
            *cell = Cell { dots: cell.dots | bit, stroke: Some(stroke), ink, ..*cell };
        }
    }

    fn cell(&mut self, at: At) -> Option<&mut Cell> {
        let inside = |fraction: f64| (0.0..=1.0).contains(&fraction);
        if !inside(at.0) || !inside(at.1) {
            return None;
        }
        let index = self.row(at.1) * self.columns + self.column(at.0);
        self.cells.get_mut(index)
    }

    /// Dots from left to right and from top to bottom.
    fn dots(&self) -> (usize, usize) {
        match self.glyphs {
            Glyphs::Braille => (self.columns * 2, self.rows * 4),
            Glyphs::Ascii => (self.columns, self.rows),
        }
    }
}

/// `text` in the colour of `ink`.
pub(crate) fn paint(text: &str, ink: Ink, colour: bool) -> String {
    if !colour || text.trim().is_empty() {
        return text.to_owned();
    }
    format!("\u{1b}[38;5;{}m{text}\u{1b}[0m", PALETTE[ink % PALETTE.len()])
}

/// The nearest of `dots` dots.
fn scale(fraction: f64, dots: usize) -> f64 {
    (fraction * (dots - 1) as f64).round()
}

/// Unicode numbers the dots of a braille character column by column, but the lowest row last.
fn braille_bit(x: usize, y: usize) -> u8 {
    const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
    BITS[y % 4][x % 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(glyphs: Glyphs, draw: impl Fn(&mut Canvas)) -> String {
        let mut canvas = Canvas::new(8, 3, glyphs);
        draw(&mut canvas);
        canvas.lines(false).join("\n")
    }

    #[test]
    fn corners_are_corners() {
        let corners = |canvas: &mut Canvas| {
            for at in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
                canvas.line(at, at, 0);
            }
        };
        assert_eq!(drawn(Glyphs::Braille, corners), "⠁      ⠈\n\n⡀      ⢀");
    }

    #[test]
    fn lines_lean_the_right_way() {
        assert_eq!(drawn(Glyphs::Ascii, |c| c.line((0.0, 0.0), (0.3, 1.0), 0)), "  /\n /\n/");
        assert_eq!(drawn(Glyphs::Ascii, |c| c.line((0.0, 1.0), (0.3, 0.0), 0)), "\\\n \\\n  \\");
        assert_eq!(drawn(Glyphs::Ascii, |c| c.line((0.0, 0.5), (1.0, 0.5), 0)), "\n--------\n");
        assert_eq!(drawn(Glyphs::Ascii, |c| c.line((0.0, 0.0), (0.0, 1.0), 0)), "|\n|\n|");
        assert_eq!(drawn(Glyphs::Braille, |c| c.line((0.0, 0.5), (1.0, 0.5), 0)), "\n⠤⠤⠤⠤⠤⠤⠤⠤\n");
    }

    #[test]
    fn marks_lie_on_top_and_say_when_they_are_several() {
        let mut canvas = Canvas::new(8, 3, Glyphs::Braille);
        canvas.mark((0.0, 0.0), 'o', 0);
        canvas.line((0.0, 0.0), (1.0, 0.0), 0);
        assert!(!canvas.has_shared_mark());
        canvas.mark((0.0, 0.0), 'x', 1);
        assert!(canvas.has_shared_mark());
        assert_eq!(canvas.lines(false)[2], "*⣀⣀⣀⣀⣀⣀⣀");
    }

    #[test]
    fn what_lies_outside_is_not_drawn() {
        let far = |canvas: &mut Canvas| {
            canvas.line((-9e300, 0.5), (9e300, 9e300), 0);
            canvas.line((f64::NAN, 0.5), (2.0, f64::NAN), 0);
            canvas.mark((0.5, 1.01), 'o', 0);
            canvas.dotted([(2.0, 0.5), (f64::NAN, 0.0)].into_iter(), 0);
        };
        assert_eq!(drawn(Glyphs::Braille, far).trim(), "");
    }

    #[test]
    fn colour_wraps_what_has_one_ink() {
        let mut canvas = Canvas::new(4, 1, Glyphs::Ascii);
        canvas.line((0.0, 0.0), (0.3, 0.0), 0);
        canvas.line((0.6, 0.0), (1.0, 0.0), 1);
        assert_eq!(canvas.lines(true), ["\u{1b}[38;5;32m--\u{1b}[0m\u{1b}[38;5;208m--\u{1b}[0m"]);
    }
}
