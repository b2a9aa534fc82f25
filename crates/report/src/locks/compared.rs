//! The locks of two sides beside each other, per operation, for the sides did not do equally many.

use super::FUNCTIONS;
use super::ROWS;
use super::rows::{Row, number, rows};
use crate::Style;
use crate::table::{NONE, Table, finite};
use results::{CpuSamples, Curve, Point};

/// Waits and samples of both sides, at the task counts that both have; none where nobody looked on either side.
pub(crate) fn tables(before: &Curve, after: &Curve, style: &Style) -> Vec<Table> {
    let pairs: Vec<[&Point; 2]> = before
        .points
        .iter()
        .filter_map(|b| Some([b, after.points.iter().find(|a| a.tasks == b.tasks)?]))
        .collect();
    [waits(&pairs, style), samples(&pairs, style)].into_iter().flatten().collect()
}

/// A mail has no room for the kinds of locks.
const ROOM_FOR_KINDS: u16 = 80;

fn waits(pairs: &[[&Point; 2]], style: &Style) -> Option<Table> {
    let mut header = vec![
        ["", "tasks"],
        ["", "lock"],
        ["", "kind"],
        ["/1000 ops", "before"],
        ["/1000 ops", "after"],
        ["usecs/op", "before"],
        ["usecs/op", "after"],
        ["change", "%"],
    ];
    let mut rows: Vec<Vec<String>> = pairs.iter().flat_map(|pair| waits_of(*pair, style)).collect();
    if rows.is_empty() {
        return None;
    }
    if style.width < ROOM_FOR_KINDS {
        header.remove(2);
        rows.iter_mut().for_each(|row| drop(row.remove(2)));
    }
    let mut table = Table::new(header, rows).shortened(1, style);
    table.footnote = Some("/1000 ops: waits; usecs/op: waiting".to_owned());
    Some(table)
}

/// A lock on both sides.
struct Both {
    sides: [Option<Row>; 2],
}

impl Both {
    /// The longer wait per operation of the two.
    fn usecs_per_op(&self) -> f64 {
        let of = |row: &Option<Row>| row.as_ref().and_then(Row::usecs_per_op).unwrap_or(0.0);
        of(&self.sides[0]).max(of(&self.sides[1]))
    }

    fn is(&self, row: &Row) -> bool {
        let known = self.sides.iter().flatten();
        known.into_iter().any(|known| known.name == row.name && known.kind == row.kind)
    }
}

fn waits_of(pair: [&Point; 2], style: &Style) -> Vec<Vec<String>> {
    let looked = pair.map(|point| {
        let counts = |traced: &results::Traced| traced.contentions.is_some();
        !point.locks.is_empty() || point.traced.as_deref().is_some_and(counts)
    });
    let mut locks: Vec<Both> = Vec::new();
    for (side, point) in pair.into_iter().enumerate() {
        for row in rows(point, style) {
            let at = locks.iter().position(|both| both.is(&row)).unwrap_or_else(|| {
                locks.push(Both { sides: [None, None] });
                locks.len() - 1
            });
            locks[at].sides[side] = Some(row);
        }
    }
    // What only one side waits for is not forgotten below what both wait for.
    locks.sort_by(|a, b| b.usecs_per_op().total_cmp(&a.usecs_per_op()));
    if locks.len() > ROWS + 1 {
        let rest = locks.split_off(ROWS);
        let number = rest.len();
        let mut sides = [Vec::new(), Vec::new()];
        for both in rest {
            for (all, row) in sides.iter_mut().zip(both.sides) {
                all.extend(row);
            }
        }
        let sum = |rows: Vec<Row>| {
            let some = (!rows.is_empty()).then(|| Row::sum(rows));
            some.map(|row| Row { name: format!("{number} others"), ..row })
        };
        locks.push(Both { sides: sides.map(sum) });
    }
    let tasks = pair[0].tasks;
    locks.into_iter().map(|both| cells(tasks, &both, looked)).collect()
}

fn cells(tasks: u32, both: &Both, looked: [bool; 2]) -> Vec<String> {
    let of = |figure: fn(&Row) -> Option<f64>| -> [Option<f64>; 2] {
        // Who looked and did not see it saw none.
        std::array::from_fn(|side| match &both.sides[side] {
            Some(row) => figure(row),
            None => looked[side].then_some(0.0),
        })
    };
    let (counts, waits) = (of(Row::per_1000_ops), of(Row::usecs_per_op));
    let change = match waits {
        [Some(before), Some(after)] if before > 0.0 => signed((after / before - 1.0) * 100.0),
        _ => NONE.to_owned(),
    };
    let row = both.sides.iter().flatten().next().expect("a lock that a side waited for");
    let kind = if row.kind.is_empty() { NONE } else { &row.kind };
    vec![
        tasks.to_string(),
        row.name.clone(),
        kind.to_owned(),
        number(counts[0]),
        number(counts[1]),
        number(waits[0]),
        number(waits[1]),
        change,
    ]
}

fn signed(value: f64) -> String {
    let text = finite(value, 3);
    if value > 0.0 { format!("+{text}") } else { text }
}

fn samples(pairs: &[[&Point; 2]], style: &Style) -> Option<Table> {
    let header = vec![
        ["", "tasks"],
        [super::SPENT, "spent in"],
        ["% of samples", "before"],
        ["% of samples", "after"],
        ["change,", "points"],
    ];
    let rows: Vec<Vec<String>> = pairs.iter().flat_map(|pair| samples_of(*pair)).collect();
    (!rows.is_empty()).then(|| Table::new(header, rows).shortened(1, style))
}

fn samples_of(pair: [&Point; 2]) -> Vec<Vec<String>> {
    let sides = pair.map(|point| point.traced.as_deref()?.samples.as_ref());
    let mut functions: Vec<(&str, [Option<f64>; 2])> = Vec::new();
    let share = |side: &CpuSamples, count: u64| count as f64 * 100.0 / side.total.max(1) as f64;
    for (side, samples) in sides.iter().enumerate() {
        let Some(samples) = samples else { continue };
        let user = ("user mode", samples.user);
        let all = samples.functions.iter().map(|function| (function.name.as_str(), function.count));
        for (name, count) in all.chain([user]) {
            let at = functions.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                functions.push((name, sides.map(|side| side.map(|_| 0.0))));
                functions.len() - 1
            });
            functions[at].1[side] = Some(share(samples, count));
        }
    }
    let change = |[before, after]: [Option<f64>; 2]| Some(after? - before?);
    // What changed most tells most; where one side has no samples, what is most.
    let weight = |shares: [Option<f64>; 2]| {
        change(shares).map_or(shares.into_iter().flatten().sum(), f64::abs)
    };
    functions.sort_by(|a, b| weight(b.1).total_cmp(&weight(a.1)));
    functions.truncate(FUNCTIONS);
    let row = |(name, shares): (&str, [Option<f64>; 2])| {
        vec![
            pair[0].tasks.to_string(),
            crate::escape::plain(name).into_owned(),
            number(shares[0]),
            number(shares[1]),
            change(shares).map_or(NONE.to_owned(), signed),
        ]
    };
    functions.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn cells_of(table: &Table, row: usize) -> Vec<&str> {
        table.rows[row].iter().map(|cell| cell.trim()).collect()
    }

    fn wide() -> Style {
        Style { width: 100, ..Style::default() }
    }

    #[test]
    fn both_sides_stand_beside_each_other_with_the_change() {
        let before = fixture::traced_run().curves.remove(0);
        let mut after = before.clone();
        after.points[1].traced = Some(Box::new(fixture::traced(2)));
        let traced = after.points[1].traced.as_mut().expect("traced");
        traced.waits.remove(1);
        traced.samples.as_mut().expect("sampled").functions.remove(1);
        let both = tables(&before, &after, &wide());
        let [waits, samples] = &both[..] else { panic!("waits and samples") };
        assert_eq!(
            cells_of(waits, 0)[1..],
            ["sys_unlink → do_unlinkat", "rwsem write", "0.133", "0.267", "0.903", "1.81", "+100"]
        );
        assert_eq!(
            cells_of(waits, 1)[1..],
            ["lookup_fast → lockref_get_not_dead", "spin", "0.0556", "0", "0.0137", "0", "-100"]
        );
        assert_eq!(cells_of(samples, 0)[1..], ["do_unlinkat", "20.0", "0", "-20.0"]);
        assert_eq!(cells_of(samples, 1)[1..], ["lockref_get_not_dead", "60.0", "60.0", "0"]);
    }

    #[test]
    fn a_side_that_nobody_looked_at_has_dashes() {
        let before = fixture::traced_run().curves.remove(0);
        let after = fixture::run().curves.remove(0);
        let both = tables(&before, &after, &wide());
        assert_eq!(cells_of(&both[0], 0)[3..], ["0.133", "-", "0.903", "-", "-"]);
        assert_eq!(cells_of(&both[1], 0)[2..], ["60.0", "-", "-"]);
        assert!(tables(&after, &after, &wide()).is_empty());
    }

    #[test]
    fn what_stands_below_the_tenth_place_is_summed_up_on_both_sides() {
        let mut sides = [(); 2].map(|()| fixture::run().curves.remove(0));
        for (side, curve) in sides.iter_mut().enumerate() {
            let lock = |n: u64| results::LockUse {
                name: format!("l{n}"),
                contended: 1,
                wait_ns: 1000 * n,
                ..results::LockUse::default()
            };
            curve.points[0].locks = (side as u64 * 3..13).map(lock).collect();
        }
        let table = &tables(&sides[0], &sides[1], &wide())[0];
        assert_eq!(table.rows.len(), ROWS + 1);
        assert_eq!(cells_of(table, 0)[1], "l12");
        assert_eq!(cells_of(table, ROWS)[1], "3 others");
        assert_eq!(
            cells_of(table, ROWS)[4],
            "0",
            "the second side has none of them: {:?}",
            table.rows
        );
    }
}
