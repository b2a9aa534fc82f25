//! The pages of `vfscale reproduce` as pictures: published, simulated and measured figures in one plot, calibrated ones marked.

use report::chart::{Axis, Chart, Dot, Form, Panel, Series, Spread};
use report::{Block, Section};
use reproduce::{Compared, Mark, Page};

/// Largest and smallest value of a linear axis are not farther apart than this.
const TOO_FAR_APART: f64 = 40.0;

/// Looks of series: colour, mark and dash.
const PUBLISHED: usize = 3;
const MEASURED: [usize; 5] = [1, 2, 4, 6, 7];

/// A value and its interval, if there is one.
type Ranged = (f64, Option<[f64; 2]>);

/// As one HTML page, with the command that made it.
pub(crate) fn html(pages: &[Page], command: Vec<String>) -> String {
    let mut sections: Vec<Section> = pages.iter().map(section).collect();
    sections.push(Section {
        title: "Command".to_owned(),
        charts: Vec::new(),
        blocks: vec![Block::Command(command)],
    });
    report::sections_html("published figures, and what comes out here", &sections)
}

/// As one picture.
pub(crate) fn svg(pages: &[Page]) -> String {
    report::charts_svg(&pages.iter().flat_map(charts).collect::<Vec<_>>())
}

fn section(page: &Page) -> Section {
    let mut heading = page.title.clone();
    let blocks = reproduce::blocks(page).into_iter().map(|block| match block {
        reproduce::Block::Heading(text) => {
            heading.clone_from(&text);
            Block::Heading(text)
        }
        reproduce::Block::Item(text) => Block::Item(text),
        reproduce::Block::Table(rows) => Block::Table(heading.clone(), rows),
    });
    let blocks = blocks.collect();
    Section { title: page.title.clone(), charts: charts(page), blocks }
}

fn charts(page: &Page) -> Vec<Chart> {
    let mut units: Vec<&str> = Vec::new();
    for row in &page.compared {
        if !units.contains(&row.unit.as_str()) {
            units.push(&row.unit);
        }
    }
    let rows = |unit: &str| page.compared.iter().filter(|row| row.unit == unit).collect::<Vec<_>>();
    let mut charts: Vec<Chart> =
        units.iter().filter_map(|unit| compared(page, unit, &rows(unit))).collect();
    charts.extend(curves(page));
    charts
}

/// The rows of one unit beside each other, as values and as ratios to what was published.
fn compared(page: &Page, unit: &str, rows: &[&Compared]) -> Option<Chart> {
    let place = |at: usize| (at + 1) as f64;
    let all = |value: &dyn Fn(&Compared) -> Option<Ranged>| -> Vec<Dot> {
        let dots = rows.iter().enumerate().filter_map(|(at, row)| {
            let (y, interval) = value(row)?;
            Dot::new(place(at), y, interval)
        });
        dots.collect()
    };
    let simulated = |mark: Mark| {
        all(&move |row| {
            row.simulated.as_ref().filter(|ours| ours.mark == mark).map(|ours| (ours.value, None))
        })
    };
    let published = all(&|row| Some((middle(row)?, None)));
    let mut ours = vec![
        ("simulated".to_owned(), 0, simulated(Mark::Simulated)),
        ("calibrated: simulated, set from this row".to_owned(), 5, simulated(Mark::Calibrated)),
    ];
    for (column, on) in page.measured_on.iter().enumerate() {
        let taken = all(&move |row| {
            let taken = row.measured.get(column)?.as_ref()?;
            Some((taken.value, taken.ci95))
        });
        ours.push((format!("measured on {on}"), MEASURED[column % MEASURED.len()], taken));
    }
    ours.retain(|(_, _, dots)| !dots.is_empty());
    let ratio = |dot: &Dot| {
        let published =
            middle(rows.get(dot.x as usize - 1)?).filter(|&published| published > 0.0)?;
        Dot::new(dot.x, dot.y / published, dot.interval.map(|ends| ends.map(|end| end / published)))
    };
    let marks = |(name, ink, dots): &(String, usize, Vec<Dot>)| {
        Series::new(name.clone(), *ink, Form::Marks, dots.clone())
    };
    let mut main = vec![Series::new("published".to_owned(), PUBLISHED, Form::Marks, published)];
    main.extend(ours.iter().map(marks));
    main.retain(|one| !one.dots.is_empty());
    let ratios: Vec<Series> = ours
        .iter()
        .map(|(name, ink, dots)| {
            let name = format!("{name}, by what was published");
            Series::new(name, *ink, Form::Marks, dots.iter().filter_map(ratio).collect())
        })
        .collect();
    let is_empty = main.is_empty();
    let label = if unit.is_empty() { "ratio" } else { unit };
    let spread = spread(&main);
    let mut panels =
        vec![Panel { y: Axis { label: label.to_owned(), spread }, ..Panel::new(label, main) }];
    if ratios.iter().any(|one| !one.dots.is_empty()) {
        panels.push(Panel {
            from_zero: false,
            reference: Some(1.0),
            minor: true,
            ..Panel::new("ours / published", ratios)
        });
    }
    let names = rows.iter().enumerate().map(|(at, row)| format!("{}: {}", at + 1, row.what));
    let mut caption = vec![names.collect::<Vec<_>>().join("; ")];
    if rows.iter().any(|row| row.published_range[0] != row.published_range[1]) {
        caption.push(
            "a published range is drawn at its middle, and not at all if it has no end".to_owned(),
        );
    }
    caption.extend(judged(rows));
    let title = format!("{}: published and ours, {label}", page.name);
    (!is_empty).then(|| Chart { title, caption, x: Axis::linear("row"), panels })
}

/// How near the predictions are, in words.
fn judged(rows: &[&Compared]) -> Option<String> {
    let predicted = rows
        .iter()
        .filter_map(|row| row.simulated.as_ref())
        .filter(|ours| ours.mark == Mark::Simulated);
    let errors: Vec<f64> = predicted.map(|ours| ours.error.abs()).collect();
    let near = errors.iter().filter(|&&error| error <= 0.05).count();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    (!errors.is_empty()).then(|| {
        format!("{near} of {} predicted rows are within 5 % of what was published; the worst is {:.0} % off", errors.len(), worst * 100.0)
    })
}

/// The middle of the published range; none of one without an end.
fn middle(row: &Compared) -> Option<f64> {
    let [low, high] = row.published_range;
    Some((low + high) / 2.0).filter(|middle| middle.is_finite())
}

fn spread(series: &[Series]) -> Spread {
    let values = || series.iter().flat_map(|one| &one.dots).map(|dot| dot.y);
    let (low, high) =
        values().fold((f64::INFINITY, 0.0f64), |(low, high), y| (low.min(y), high.max(y)));
    if low > 0.0 && low * TOO_FAR_APART < high { Spread::Log } else { Spread::Linear }
}

fn curves(page: &Page) -> Option<Chart> {
    let one = |(ink, curve): (usize, &reproduce::Curve)| {
        let dots =
            curve.points.iter().filter_map(|&(tasks, rate)| Dot::new(tasks as f64, rate, None));
        let dots: Vec<Dot> = dots.collect();
        let ideal = dots.first().map(|first| first.y / first.x);
        let name = format!("{} ({})", curve.what, curve.mark.name());
        Series { ideal, ..Series::new(name, ink, Form::Curve, dots) }
    };
    let series: Vec<Series> = page.curves.iter().enumerate().map(one).collect();
    let x = Axis::of_tasks(&series);
    let spread = spread(&series);
    let panel =
        Panel { y: Axis { label: "ops/s".to_owned(), spread }, ..Panel::new("ops/s", series) };
    let caption = page.curves.iter().map(|curve| format!("{} on {}", curve.what, curve.target));
    let caption = caption.collect();
    let title = format!("{}: curves", page.name);
    (!page.curves.is_empty()).then(|| Chart { title, caption, x, panels: vec![panel] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reproduce::{Predicted, Taken};

    fn row(what: &str, mark: Mark, value: f64) -> Compared {
        Compared {
            what: what.into(),
            unit: "s".into(),
            published: "2".into(),
            published_range: [2.0, 2.0],
            simulated: Some(Predicted {
                value,
                mark,
                error: value / 2.0 - 1.0,
                sensitivity: None,
                spread: None,
            }),
            measured: vec![Some(Taken {
                value: 3.0,
                ci95: Some([2.5, 3.5]),
                tasks: 2,
                mark: Mark::Measured,
            })],
            reason: None,
        }
    }

    fn page() -> Page {
        let endless =
            Compared { published_range: [5.0, f64::INFINITY], ..row("<b>", Mark::Simulated, 9.0) };
        Page {
            name: "thread".into(),
            title: "A thread & its table".into(),
            source: "a mail".into(),
            setup: "a machine".into(),
            slips: vec![],
            not_simulated: vec![],
            partial: false,
            is_simulated: true,
            measured_on: vec!["lab".into()],
            notes: vec![],
            published: vec![],
            calibration: vec![],
            compared: vec![
                row("before", Mark::Calibrated, 2.0),
                row("after", Mark::Simulated, 2.06),
                endless,
            ],
            curves: vec![],
            points: vec![],
        }
    }

    #[test]
    fn all_kinds_of_figures_are_in_one_plot_and_calibrated_ones_are_marked() {
        let charts = charts(&page());
        let [chart] = &charts[..] else { panic!("one unit, one chart: {charts:?}") };
        let [main, ratios] = &chart.panels[..] else { panic!("values and ratios") };
        let shown: Vec<(&str, usize)> =
            main.series.iter().map(|one| (one.name.as_str(), one.dots.len())).collect();
        let calibrated = "calibrated: simulated, set from this row";
        assert_eq!(
            shown,
            [("published", 2), ("simulated", 2), (calibrated, 1), ("measured on lab", 3)]
        );
        let ratio = ratios.series[2].dots[0];
        assert_eq!((ratio.y, ratio.interval), (1.5, Some([1.25, 1.75])));
        assert!(chart.caption[0].starts_with("1: before; 2: after; 3: <b>"), "{:?}", chart.caption);
        assert!(chart.caption[2].starts_with("1 of 2 predicted rows"), "{:?}", chart.caption);
    }

    #[test]
    fn the_page_has_the_text_of_the_page_and_no_tag_from_outside() {
        let text = html(&[page()], vec!["vfscale".to_owned(), "reproduce".to_owned()]);
        assert!(text.contains("<code>vfscale reproduce</code>"));
        assert!(
            text.contains("A thread &amp; its table")
                && text.contains("a machine")
                && !text.contains("<b>")
        );
        assert!(svg(&[page()]).contains("by what was published"));
    }
}
