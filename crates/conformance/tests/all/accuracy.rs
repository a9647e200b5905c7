//! The page of measured errors is what is measured, and within the bounds.

use allotrope_conformance::accuracy::{self, Errors};
use allotrope_dtype::{DType, Level};

#[test]
fn the_page_is_current() {
    let measured = accuracy::functions().into_iter().map(Errors::measure);
    let measured: Vec<Errors> = measured.map(Result::unwrap).collect();
    for errors in &measured {
        let bound = errors.op.row().ulp + 1e-6;
        assert!(
            errors.domain.iter().all(|ulps| *ulps <= bound),
            "{errors:?}"
        );
        let anywhere = |ulps: &Option<f64>| ulps.is_none_or(|ulps| ulps <= bound);
        assert!(errors.anywhere.iter().all(anywhere), "{errors:?}");
    }
    // Elsewhere the lowest level has fused multiply-add, and other digits.
    if cfg!(target_arch = "x86_64") {
        let page = accuracy::page(&measured);
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let written = std::fs::read_to_string(format!("{root}{}", accuracy::PATH));
        let written = written.unwrap_or_default();
        let differs = written.lines().zip(page.lines()).filter(|(a, b)| a != b);
        let differs: Vec<_> = differs.take(5).collect();
        let path = accuracy::PATH;
        assert!(
            written == page,
            "{path} is out of date (hint: make accuracy): {differs:#?}"
        );
    }
}

#[test]
fn higher_levels_keep_the_bounds() {
    for op in accuracy::functions() {
        for level in Level::available().filter(|level| *level > Level::Scalar) {
            for (dtype, count) in [(DType::F32, 10_000), (DType::F64, 500)] {
                let worst = accuracy::in_domain(op, dtype, count, level).unwrap();
                let bound = op.row().ulp;
                assert!(
                    worst <= bound + 1e-6,
                    "{} {dtype}: {worst} of {bound}",
                    op.name()
                );
            }
        }
    }
}
