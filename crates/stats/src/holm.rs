//! Several task counts at once: more chances for a false alarm, and what is done about it.

/// p-values adjusted so that those ≤ α may all be called at once with an error of at most α in all (Holm 1979), whatever the
/// dependence between them. In the order of `p`.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        largest = largest.max(p[index] * (p.len() - rank) as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_the_worked_example() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[]), [] as [f64; 0]);
        assert_eq!(holm(&[0.04]), [0.04]);
        assert_eq!(holm(&[0.6, 0.9]), [1.0, 1.0]);
    }

    proptest! {
        #[test]
        fn lies_between_nothing_done_and_bonferroni(p in prop::collection::vec(0.0..=1.0f64, 0..12)) {
            for (&adjusted, &p_one) in holm(&p).iter().zip(&p) {
                prop_assert!(p_one <= adjusted && adjusted <= (p_one * p.len() as f64).min(1.0) + 1e-15);
            }
        }

        #[test]
        fn keeps_the_order(p in prop::collection::vec(0.0..=1.0f64, 2..12)) {
            let adjusted = holm(&p);
            for i in 1..p.len() {
                prop_assert!(p[i - 1] > p[i] || adjusted[i - 1] <= adjusted[i]);
            }
        }
    }
}
