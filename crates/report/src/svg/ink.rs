//! What tells series apart: colour, mark and dash together, so that no one of them has to be seen.

/// Okabe and Ito's colours for all kinds of colour vision, without yellow, which vanishes on white; grey stands for it.
const COLOURS: [&str; 8] =
    ["#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9", "#767676"];

/// How often a pattern of strokes and gaps can be told from another one at a width of 2.
const DASHES: [&str; 8] = ["", "9 4", "2 3", "10 3 2 3", "5 3", "14 4", "10 3 2 3 2 3", "3 7"];

/// Colour of series number `ink`.
pub(super) fn colour(ink: usize) -> &'static str {
    COLOURS[ink % COLOURS.len()]
}

/// `stroke-dasharray`; none for a line that is drawn through.
pub(super) fn dash(ink: usize) -> Option<&'static str> {
    // After all colours are used up, the same colour comes with another dash.
    let dash = DASHES[(ink + ink / COLOURS.len()) % DASHES.len()];
    (!dash.is_empty()).then_some(dash)
}

/// The colour's name in a page's style sheet.
pub(super) fn class(ink: usize) -> String {
    format!("ink{}", ink % COLOURS.len())
}

/// A small mark for one dot among thousands: what follows a move to its place in a path, and the path's stroke. Dots, bars
/// upright and across, and squares, so that colour is not all.
pub(super) fn speck(ink: usize) -> (&'static str, &'static str) {
    match ink % 4 {
        0 => ("h0", "stroke-width=\"5.5\" stroke-linecap=\"round\""),
        1 => ("v6", "stroke-width=\"2.2\""),
        2 => ("h6", "stroke-width=\"2.2\""),
        _ => ("h0", "stroke-width=\"5.5\" stroke-linecap=\"square\""),
    }
}

/// Path of the mark around (x, y), and whether it is filled.
pub(super) fn mark(ink: usize, x: f64, y: f64) -> (String, bool) {
    let path = match ink % 8 {
        0 | 4 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4.0),
        1 | 5 => format!("M{:.1} {:.1}h7.4v7.4h-7.4z", x - 3.7, y - 3.7),
        2 | 6 => format!("M{x:.1} {:.1}l4.6 8h-9.2z", y - 5.2),
        _ => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
    };
    (path, ink % 8 < 4)
}
