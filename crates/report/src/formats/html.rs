//! For a browser: one page that holds everything, works offline and can be asked.

use crate::figures::Named;
use crate::{Format, Medium, Style, html};
use results::Run;

pub(super) const FORMAT: Format = Format {
    name: "html",
    summary: "a page with curves to ask and zoom, tables and conditions, for a browser",
    medium: Medium::File,
    render,
};

fn render(run: &Run, _: &Style) -> String {
    html::runs(&[Named { name: "", run }])
}
