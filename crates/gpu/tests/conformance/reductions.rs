//! Every reduction × dtype × layout, with all features and with none, against sums without rounding.

use allotrope_conformance::fold::Options;
use allotrope_conformance::reduction::{OPTIONS, check, fits, layouts, tensor};
use allotrope_dtype::{DType, Notify, scoped_demotion, scoped_fallback};
use allotrope_op::Reduction;
use allotrope_tensor::Tensor;

use crate::devices::{Tested, devices, devices_for};

/// Axes of three: all, one of each, and two that do not lie side by side.
const AXES: [Option<&[isize]>; 5] = [None, Some(&[0]), Some(&[1]), Some(&[-1]), Some(&[2, 0])];

fn check_on(device: &Tested, dtype: DType, wrong: &mut Vec<String>) {
    let place = |x: Tensor| x.to_backend(device.gpu);
    let tensor = |sizes: &[usize], seed| tensor(dtype, sizes, seed).and_then(place).unwrap();
    let mut require = |reduction: Reduction, x: &Tensor, axes: Option<&[isize]>, options| {
        let report = check(reduction, x, axes, options);
        match report {
            Ok(report) if report.is_good() => {}
            Ok(report) => wrong.push(format!("{}: {report}", device.name)),
            Err(error) => wrong.push(format!("{}: {dtype} {error}\n", device.name)),
        }
    };
    let all = layouts(dtype, &place).unwrap();
    let (flat, tall, wide) = (
        tensor(&[4999], 8),
        tensor(&[301, 7], 9),
        tensor(&[3, 1300], 10),
    );
    for reduction in Reduction::ALL.iter().copied() {
        if !reduction.accepted().contains(dtype) {
            continue;
        }
        for (place, x) in all.iter().enumerate() {
            // Each layout along all axes but one of them.
            let axes = AXES.iter().enumerate();
            let axes = axes.filter(|(k, axes)| *k != place && fits(reduction, **axes));
            for (_, axes) in axes {
                require(reduction, x, *axes, OPTIONS);
            }
        }
        let single = Options {
            correction: 0.0,
            ..OPTIONS
        };
        require(reduction, &tensor(&[], 7), None, single);
        require(reduction, &flat, None, OPTIONS);
        require(reduction, &tall, Some(&[0]), OPTIONS);
        require(
            reduction,
            &tall.transpose(0, 1).unwrap(),
            Some(&[0]),
            OPTIONS,
        );
        require(reduction, &wide, Some(&[0]), OPTIONS);
        let is_extreme = matches!(
            reduction,
            Reduction::Amax | Reduction::Amin | Reduction::Argmax | Reduction::Argmin
        );
        if !is_extreme {
            require(reduction, &tensor(&[3, 0], 11), Some(&[1]), OPTIONS);
        }
    }
}

fn check_dtype(dtype: DType) {
    let _silent = [
        scoped_demotion(Notify::Silent),
        scoped_fallback(Notify::Silent),
    ];
    let (devices, mut wrong) = (devices(), Vec::new());
    // Folds of numbers of 64 bits differ by features, and no fold by its level.
    for place in devices_for(&[dtype, DType::F64], false, dtype as usize) {
        let device = &devices[place];
        let _alone = device.alone();
        check_on(device, dtype, &mut wrong);
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("")
    );
}

#[test]
fn squares_leave_no_range_that_their_root_is_in() {
    let _silent = [
        scoped_demotion(Notify::Silent),
        scoped_fallback(Notify::Silent),
    ];
    for place in devices_for(&[DType::F64, DType::I64], false, 0) {
        let device = &devices()[place];
        let _alone = device.alone();
        for factor in [1e-41, 1e-30, 1e-12, 1.0, 1e14, 1e20, 1e30, 1e37] {
            let values = [3.0, -4.0, 1.5, 0.0, 2.0, 0.25, -1.0].map(|x| (x * factor) as f32);
            let subnormals = device.gpu.numerics().subnormals;
            if factor < 1e-37 && !subnormals {
                continue;
            }
            let x = Tensor::from_slice(&values, &[7]).unwrap();
            for reduction in [Reduction::Norm, Reduction::Std, Reduction::Var] {
                let x = x.to_backend(device.gpu).unwrap();
                let report = check(reduction, &x, None, OPTIONS).unwrap();
                assert!(report.is_good(), "{} {factor}: {report}", device.name);
            }
        }
    }
}

macro_rules! tests_of_dtypes {
    ($({ $variant:ident, $($rest:tt)* })*) => {
        $(#[test]
        #[allow(non_snake_case, reason = "named like the variant")]
        fn $variant() {
            check_dtype(DType::$variant);
        })*
    };
}
allotrope_dtype::for_each_dtype!((tests_of_dtypes));
