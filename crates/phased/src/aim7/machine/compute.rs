//! Jobs that compute and call nothing.

use std::hint::black_box;

/// Operations of an arithmetic job, each of which needs the result of the one before.
const CHAIN: u32 = 400_000;
/// Divisions take longer.
const DIVISIONS: u32 = 80_000;

macro_rules! arithmetic {
    ($($name:ident: $type:ty, $count:expr, $begin:expr, $by:expr, $op:expr;)*) => {
        $(
            pub(super) fn $name() {
                let by: $type = black_box($by);
                let mut value: $type = black_box($begin);
                for _ in 0..$count {
                    value = black_box($op(value, by));
                }
            }
        )*
    };
}

arithmetic! {
    add_double: f64, CHAIN, 1.0, 1.5, |a, b| a + b;
    add_float: f32, CHAIN, 1.0, 1.5, |a, b| a + b;
    add_int: i32, CHAIN, 1, 3, i32::wrapping_add;
    add_long: i64, CHAIN, 1, 3, i64::wrapping_add;
    add_short: i16, CHAIN, 1, 3, i16::wrapping_add;
    mul_double: f64, CHAIN, 1.0, 1.000_000_1, |a, b| a * b;
    mul_float: f32, CHAIN, 1.0, 1.000_01, |a, b| a * b;
    mul_int: i32, CHAIN, 1, 3, i32::wrapping_mul;
    mul_long: i64, CHAIN, 1, 3, i64::wrapping_mul;
    mul_short: i16, CHAIN, 1, 3, i16::wrapping_mul;
    div_double: f64, DIVISIONS, 1e300, 1.000_001, |a, b| a / b;
    div_float: f32, DIVISIONS, 1e30, 1.000_01, |a, b| a / b;
    div_int: i32, DIVISIONS, i32::MAX, 3, |a: i32, b| a / b + 1_000_000_007;
    div_long: i64, DIVISIONS, i64::MAX, 3, |a: i64, b| a / b + 1_000_000_000_000_007;
    div_short: i16, DIVISIONS, i16::MAX, 3, |a: i16, b| a / b + 10_007;
}

/// Sums along the rows and columns of a square.
pub(super) fn arrays() {
    const SIDE: usize = 100;
    let mut square = vec![[1i64; SIDE]; SIDE];
    for round in 0..20 {
        for at in 1..SIDE {
            let along = square[at - 1].iter().sum::<i64>() & 0xffff;
            let down = square.iter().map(|row| row[at - 1]).sum::<i64>() & 0xffff;
            square[at][at] = black_box(along + down + round);
        }
    }
    black_box(square);
}

/// Products of small matrices.
pub(super) fn matrices() {
    const SIDE: usize = 16;
    let factor: [[f64; SIDE]; SIDE] =
        black_box(std::array::from_fn(|row| std::array::from_fn(|column| (row + column) as f64)));
    let mut product = factor;
    for _ in 0..100 {
        let of = |row: usize, column: usize| -> f64 {
            (0..SIDE).map(|at| product[row][at] * factor[at][column]).sum::<f64>() % 1000.0
        };
        product =
            black_box(std::array::from_fn(|row| std::array::from_fn(|column| of(row, column))));
    }
}

/// Square roots by Newton and Raphson's method.
pub(super) fn newton_raphson() {
    for square in 1..3000u32 {
        let square = f64::from(black_box(square));
        let mut root = square;
        for _ in 0..20 {
            root = (root + square / root) / 2.0;
        }
        black_box(root);
    }
}

/// Numbers to text and back.
pub(super) fn numbers() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..5000 {
        let number = random.i32(..);
        let back: i32 = black_box(number.to_string()).parse().unwrap_or(0);
        black_box(back ^ number);
    }
}

/// The series of e to the power of x.
pub(super) fn series() {
    for tenths in 0..3000u32 {
        let x = f64::from(black_box(tenths) % 50) / 10.0;
        let (mut term, mut sum) = (1.0, 1.0);
        for n in 1..50 {
            term *= x / f64::from(n);
            sum += term;
        }
        black_box(sum);
    }
}

/// Eratosthenes' sieve.
pub(super) fn sieve() {
    const UP_TO: usize = 200_000;
    let mut composite = vec![false; UP_TO];
    let mut primes = 0;
    for number in 2..UP_TO {
        if !composite[number] {
            primes += 1;
            composite[number..].iter_mut().step_by(number).for_each(|multiple| *multiple = true);
        }
    }
    debug_assert_eq!(primes, 17_984, "primes below 200,000");
    black_box((composite, primes));
}

/// Sorts numbers that are in no order.
pub(super) fn sort() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut numbers: Vec<u32> = std::iter::repeat_with(|| random.u32(..)).take(20_000).collect();
    numbers.sort_unstable();
    black_box(numbers);
}

/// Joins, compares and searches strings.
pub(super) fn strings() {
    let words: Vec<String> = (0..200).map(|number| format!("word {number} of many")).collect();
    for _ in 0..50 {
        let joined = black_box(words.concat());
        black_box(joined.find("word 199 of manx"));
        black_box(joined == words.join(""));
    }
}

/// Sines and their kin.
pub(super) fn trigonometry() {
    for hundredths in 0..10_000u32 {
        let x = f64::from(black_box(hundredths)) / 100.0;
        black_box((x.sin(), x.cos(), x.tan(), x.atan(), x.exp(), x.sqrt()));
    }
}

/// Returns through many calls at once, which in C is longjmp.
pub(super) fn jumps() {
    #[inline(never)]
    fn descend(depth: u32) -> Result<u32, u32> {
        if depth == 0 {
            return Err(black_box(1));
        }
        Ok(descend(black_box(depth - 1))? + 1)
    }
    for _ in 0..20_000 {
        black_box(descend(20).unwrap_or_else(|bottom| bottom));
    }
}
