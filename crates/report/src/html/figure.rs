//! A chart in a page: the still picture, the one that answers, the sentences, and the numbers.

use super::table;
use crate::chart::{Chart, Dot, Form, Series};
use crate::number::significant;
use crate::{escape, svg};
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;

/// Digits of a number that is plotted: no pixel shows more.
const DIGITS: usize = 6;

/// The charts of a page, numbered as they come.
#[derive(Default)]
pub(super) struct Figures {
    charts: Vec<Chart>,
    /// Flame graphs, which the script takes from the page itself.
    graphs: usize,
}

/// Of a figure's heading.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Second,
    Third,
}

impl Figures {
    /// What the script draws, to stand inside of a script element.
    pub(super) fn json(&self) -> String {
        let json = serde_json::to_string(&self.charts).expect("finite numbers and texts");
        json.replace('<', "\\u003c")
    }

    /// The id of the next flame graph.
    pub(super) fn graph(&mut self) -> String {
        self.graphs += 1;
        format!("g{}", self.graphs)
    }

    /// The chart as an element. The script fills what is live.
    pub(super) fn draw(&mut self, chart: &Chart, level: Level) -> Markup {
        let number = self.charts.len();
        self.charts.push(plain(chart));
        let id = format!("f{number}");
        let (heading, caption) = (format!("{id}-h"), format!("{id}-c"));
        html! {
            figure id=(id) data-chart=(number) {
                @match level {
                    Level::Second => h2 id=(heading) { (escape::plain(&chart.title)) },
                    Level::Third => h3 id=(heading) { (escape::plain(&chart.title)) },
                }
                div.still { (PreEscaped(svg::element(chart, &id, &heading))) }
                div.live hidden {}
                figcaption id=(caption) { ul { @for sentence in &chart.caption { li { (escape::plain(sentence)) } } } }
                details {
                    summary { "Numbers of this picture" }
                    @for (caption, rows) in numbers(chart) { (table::of_rows(&caption, &rows)) }
                }
            }
        }
    }

    /// The look of every series that there is, for the script to put beside names.
    pub(super) fn swatches(&self) -> Markup {
        let all =
            self.charts.iter().flat_map(|chart| &chart.panels).flat_map(|panel| &panel.series);
        let looks: BTreeMap<String, (usize, Form)> =
            all.map(|one| (look(one.ink, one.form), (one.ink, one.form))).collect();
        html! {
            template id="swatches" {
                @for (name, (ink, form)) in looks { span data-look=(name) { (PreEscaped(svg::swatch(ink, form))) } }
            }
        }
    }
}

fn look(ink: usize, form: Form) -> String {
    let form = match form {
        Form::Curve => "curve",
        Form::Marks => "marks",
        Form::Dots => "dots",
        Form::Area => "area",
    };
    format!("{form}{ink}")
}

/// Names that nothing obeys, wherever the script puts them.
fn plain(chart: &Chart) -> Chart {
    let mut chart = chart.clone();
    for text in chart
        .panels
        .iter_mut()
        .flat_map(|panel| {
            panel.series.iter_mut().map(|series| &mut series.name).chain([&mut panel.y.label])
        })
        .chain([&mut chart.x.label])
    {
        *text = escape::plain(text).into_owned();
    }
    chart
}

/// Every number that is plotted, a table per panel: a row per place on the x axis, a column per series.
fn numbers(chart: &Chart) -> Vec<(String, Vec<Vec<String>>)> {
    let tables = chart.panels.iter().map(|panel| {
        let mut places: Vec<f64> =
            panel.series.iter().flat_map(|one| &one.dots).map(|dot| dot.x).collect();
        places.sort_unstable_by(f64::total_cmp);
        places.dedup();
        let mut rows = vec![vec![chart.x.label.clone()]];
        for one in &panel.series {
            rows[0].push(one.name.clone());
            if has_interval(one) {
                rows[0].push(format!("{}, 95 % interval", one.name));
            }
        }
        for place in places {
            let mut row = vec![place.to_string()];
            for one in &panel.series {
                let here: Vec<&Dot> = one.dots.iter().filter(|dot| dot.x == place).collect();
                row.push(joined(&here, |dot| Some(number(dot.y))));
                if has_interval(one) {
                    row.push(joined(&here, |dot| {
                        dot.interval
                            .map(|[low, high]| format!("{} to {}", number(low), number(high)))
                    }));
                }
            }
            rows.push(row);
        }
        (format!("{}: {}", chart.title, panel.y.label), rows)
    });
    tables.collect()
}

fn has_interval(series: &Series) -> bool {
    series.dots.iter().any(|dot| dot.interval.is_some())
}

fn joined(dots: &[&Dot], text: impl Fn(&Dot) -> Option<String>) -> String {
    dots.iter().filter_map(|dot| text(dot)).collect::<Vec<_>>().join("  ")
}

/// As the script writes it: no zeros at the end.
fn number(value: f64) -> String {
    let text = significant(value, DIGITS).to_string();
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
