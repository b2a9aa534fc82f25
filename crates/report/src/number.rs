//! Numbers with as many digits as they deserve.
//!
//! A rate of 812,345.67 ± 9,000 is not known to the last digit, and printing it so invites comparisons that mean nothing. The
//! rule of the physicists' tables: the last digit kept stands where the leading digit of the uncertainty stands, one place
//! further if that digit is a 1.

use std::fmt;

/// Significant digits of a number about whose uncertainty nothing is known.
pub(crate) const WITHOUT_INTERVAL: usize = 2;

/// A number and the place of the last of its digits that means something. Displays with a comma between thousands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounded {
    /// Finite.
    value: f64,
    /// Exponent of ten of the last digit kept: 3 for thousands, -2 for hundredths.
    place: i32,
}

impl Rounded {
    fn new(value: f64, place: i32) -> Rounded {
        let value = if place > 0 {
            let unit = 10f64.powi(place);
            (value / unit).round() * unit
        } else {
            // Through the decimal text, because value * 10^-place may not be exact.
            format!("{value:.*}", decimals(place)).parse().unwrap_or(value)
        };
        Rounded { value, place }
    }

    /// The rounded number.
    pub fn value(self) -> f64 {
        self.value
    }

    /// How many significant digits were kept; at least one.
    pub fn digits(self) -> usize {
        usize::try_from(leading(self.value).1 - self.place + 1).unwrap_or(0).max(1)
    }
}

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&group(&format!("{:.*}", decimals(self.place), self.value)))
    }
}

/// Rounds `value` to what an interval of `value` ± `half_width` supports. With a half-width of zero or none that is finite,
/// to two significant digits. The rounded value is closer to `value` than the half-width.
///
/// # Panics
/// If `value` is not finite.
pub fn round_to_interval(value: f64, half_width: f64) -> Rounded {
    if !(half_width.is_finite() && half_width > 0.0) {
        return significant(value, WITHOUT_INTERVAL);
    }
    assert!(value.is_finite(), "only a finite number can be rounded");
    let (digit, exponent) = leading(half_width);
    let place = if digit == 1 { exponent - 1 } else { exponent };
    // An interval wider than the value itself still leaves the value its first digit, and no float has more than 17.
    let first = leading(value).1;
    Rounded::new(value, if value == 0.0 { place.min(0) } else { place.clamp(first - 16, first) })
}

/// Rounds `value` to `digits` significant digits.
///
/// # Panics
/// If `value` is not finite.
pub fn significant(value: f64, digits: usize) -> Rounded {
    assert!(value.is_finite(), "only a finite number can be rounded");
    if value == 0.0 {
        return Rounded { value: 0.0, place: 0 };
    }
    let last = digits.clamp(1, 17) - 1;
    // Rounding may carry (9.99 to 10), so the exponent is that of the rounded number.
    let rounded: f64 = format!("{value:.last$e}").parse().unwrap_or(value);
    Rounded::new(rounded, leading(rounded).1 - last as i32)
}

/// The leading decimal digit and its exponent of ten. Read from the shortest decimal text: a logarithm would be off by one
/// just below a power of ten.
fn leading(value: f64) -> (u32, i32) {
    let text = format!("{:e}", value.abs());
    let digit = text.chars().next().and_then(|c| c.to_digit(10)).unwrap_or(0);
    let exponent = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    (digit, exponent)
}

fn decimals(place: i32) -> usize {
    usize::try_from(-place).unwrap_or(0)
}

/// Puts a comma between thousands of the integer part of a decimal number.
fn group(decimal: &str) -> String {
    let (sign, rest) = decimal.split_at(usize::from(decimal.starts_with('-')));
    let (integer, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut out = sign.to_owned();
    for (i, digit) in integer.chars().enumerate() {
        if i > 0 && (integer.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_decides_the_last_digit() {
        let cases = [
            (812_345.6, 9_000.0, "812,000", 3),
            (812_345.6, 1_900.0, "812,300", 4),
            (812_345.6, 20_000.0, "810,000", 2),
            (812_345.6, 0.3, "812,345.6", 7),
            (9_996.0, 20.0, "10,000", 4),
            (1_234_567_890.0, 3_000_000.0, "1,235,000,000", 4),
            (0.012_345, 0.000_2, "0.0123", 3),
            (0.012_345, 0.000_19, "0.01235", 4),
            (5.0, 70.0, "5", 1),
            (0.0, 70.0, "0", 1),
            (812_345.6, 0.0, "810,000", 2),
            (812_345.6, f64::NAN, "810,000", 2),
            (-1_234.5, 100.0, "-1,230", 3),
        ];
        for (value, half, expected, digits) in cases {
            let rounded = round_to_interval(value, half);
            assert_eq!(rounded.to_string(), expected, "{value} ± {half}");
            assert_eq!(rounded.digits(), digits, "{value} ± {half}");
        }
    }

    #[test]
    fn significant_digits_carry() {
        let cases = [
            (999.6, 3, "1,000"),
            (0.0999, 2, "0.10"),
            (1.0, 3, "1.00"),
            (1.231_8, 3, "1.23"),
            (0.0, 3, "0"),
        ];
        for (value, digits, expected) in cases {
            assert_eq!(significant(value, digits).to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn the_rounded_value_lies_within_the_interval(
            mantissa in -9.99..9.99f64, exponent in -9..12i32, half_mantissa in 1.0..10.0f64, below in -3..6i32,
        ) {
            let value = mantissa * 10f64.powi(exponent);
            let half = half_mantissa * 10f64.powi(exponent - below);
            let rounded = round_to_interval(value, half);
            prop_assert!((rounded.value() - value).abs() < half, "{value} ± {half}: {rounded}");
            let shown: f64 = rounded.to_string().replace(',', "").parse().unwrap();
            prop_assert!((shown - value).abs() < half, "{value} ± {half}: {rounded} is shown as {shown}");
        }

        #[test]
        fn significant_digits_are_right_to_half_a_unit(value in 1e-6..1e12f64, digits in 1..6usize) {
            let rounded = significant(value, digits).value();
            prop_assert!((rounded / value - 1.0).abs() <= 0.5 * 10f64.powi(1 - digits as i32) * 1.000_001);
        }
    }
}
