//! Every reduction × dtype × axes × layout, against sums without rounding.

use allotrope_conformance::column::Column;
use allotrope_conformance::fold::Options;
use allotrope_conformance::reduction::{self, AXES, OPTIONS, fits, layouts, run};
use allotrope_dtype::{DType, ErrorKind, Level, WeakScalar};
use allotrope_op::Reduction;
use allotrope_tensor::Tensor;

/// Checks a reduction of a tensor along axes.
fn check(reduction: Reduction, x: &Tensor, axes: Option<&[isize]>, options: Options) {
    let report = reduction::check(reduction, x, axes, options).unwrap();
    assert!(report.is_good(), "{report}");
}

fn tensor(dtype: DType, sizes: &[usize], seed: u64) -> Tensor {
    reduction::tensor(dtype, sizes, seed).unwrap()
}

fn check_dtype(dtype: DType) {
    for reduction in Reduction::ALL {
        if !reduction.accepted().contains(dtype) {
            let x = tensor(dtype, &[2, 2], 1);
            let error = run(*reduction, &x, None, false, OPTIONS).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Dtype, "{error}");
            continue;
        }
        for x in layouts(dtype, &Ok).unwrap() {
            for axes in AXES.into_iter().filter(|axes| fits(*reduction, *axes)) {
                check(*reduction, &x, axes, OPTIONS);
            }
        }
        check(
            *reduction,
            &tensor(dtype, &[], 7),
            None,
            Options {
                correction: 0.0,
                ..OPTIONS
            },
        );
        // Blocks, segments, columns and rows that no size divides.
        check(*reduction, &tensor(dtype, &[4999], 8), None, OPTIONS);
        let tall = tensor(dtype, &[301, 7], 9);
        check(*reduction, &tall, Some(&[0]), OPTIONS);
        check(
            *reduction,
            &tall.transpose(0, 1).unwrap(),
            Some(&[0]),
            OPTIONS,
        );
        let wide = tensor(dtype, &[3, 1300], 10);
        check(*reduction, &wide, Some(&[0]), OPTIONS);
    }
    for p in [0.0, 1.0, 3.0, 0.5, -1.0, f64::INFINITY, f64::NEG_INFINITY] {
        let options = Options { p, ..OPTIONS };
        check(
            Reduction::Norm,
            &tensor(dtype, &[40, 5], 11),
            Some(&[0]),
            options,
        );
    }
    for correction in [0.0, 0.5, 5.0] {
        let options = Options {
            correction,
            ..OPTIONS
        };
        check(
            Reduction::Var,
            &tensor(dtype, &[6, 5], 12),
            Some(&[1]),
            options,
        );
    }
}

macro_rules! tests_of_dtypes {
    ($({ $variant:ident, $($rest:tt)* })*) => {
        mod small {
            use super::*;
            $(#[test]
            #[allow(non_snake_case, reason = "named like the variant")]
            fn $variant() {
                check_dtype(DType::$variant);
            })*
        }
    };
}
allotrope_dtype::for_each_dtype!((tests_of_dtypes));

#[test]
fn nothing_has_an_answer_or_an_error() {
    for dtype in DType::ALL {
        for (sizes, axes) in [
            (&[0, 3][..], &[0][..]),
            (&[3, 0], &[1]),
            (&[2, 0, 3], &[1, 2]),
        ] {
            let x = Tensor::zeros(sizes, dtype).unwrap();
            for reduction in Reduction::ALL {
                if !reduction.accepted().contains(dtype) || !fits(*reduction, Some(axes)) {
                    continue;
                }
                let extreme = matches!(
                    reduction,
                    Reduction::Amax | Reduction::Amin | Reduction::Argmax | Reduction::Argmin
                );
                if extreme {
                    let error = run(*reduction, &x, Some(axes), false, OPTIONS).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Value, "{error}");
                    continue;
                }
                check(*reduction, &x, Some(axes), OPTIONS);
            }
            // Nothing of nothing is nothing.
            let other = if axes == [0] { 1 } else { 0 };
            for reduction in Reduction::ALL {
                if reduction.accepted().contains(dtype) {
                    check(*reduction, &x, Some(&[other]), OPTIONS);
                }
            }
        }
    }
}

#[test]
fn infinities_and_nan_go_through() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows = [
        [1.0, nan, -2.0, nan, inf],
        [1.0, inf, -2.0, 3.0, inf],
        [1.0, -inf, -2.0, 3.0, inf],
        [-inf, -inf, -inf, -inf, -inf],
        [-0.0, -0.0, -0.0, -0.0, -0.0],
        [-0.0, 0.0, -0.0, 0.0, -0.0],
        [nan, nan, nan, nan, nan],
        [0.0, 1.0, 1.0, 0.5, 0.25],
    ];
    for dtype in DType::ALL.into_iter().filter(|d| d.is_floating_point()) {
        // As long as a block and a tail, so that every lane has seen some.
        for copies in [1, 3, 500] {
            let values = rows.iter().flat_map(|row| row.repeat(copies));
            let column = Column::new(dtype, values.map(WeakScalar::Float)).unwrap();
            let sizes = [rows.len(), 5 * copies];
            let x = Tensor::from_bytes(&column.bytes, &sizes, dtype).unwrap();
            let turned = x.transpose(0, 1).unwrap().copied().unwrap();
            for reduction in Reduction::ALL {
                // Products and powers of these are not defined in order.
                let open = matches!(
                    reduction,
                    Reduction::Prod | Reduction::Norm | Reduction::Var | Reduction::Std
                );
                if !open {
                    check(*reduction, &x, Some(&[1]), OPTIONS);
                    check(*reduction, &turned, Some(&[0]), OPTIONS);
                }
            }
        }
    }
}

#[test]
fn integer_means_do_not_overflow() {
    for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
        let (least, most) = dtype.integer_range().unwrap();
        for value in [least, most, most - 1] {
            let x = Tensor::full(&[70_000], value, dtype).unwrap();
            let mean = x.mean(None, false, Some(DType::F64)).unwrap();
            assert_eq!(mean.to_vec::<f64>().unwrap(), [value as f64], "{dtype}");
            let mean = x.mean(None, false, None).unwrap();
            assert_eq!(mean.to_vec::<f32>().unwrap(), [value as f32], "{dtype}");
        }
        let ends = Tensor::from_bytes(
            &Column::new(dtype, [least, most].map(WeakScalar::Int))
                .unwrap()
                .bytes,
            &[2],
            dtype,
        );
        let mean = ends.unwrap().mean(None, false, None).unwrap();
        let want = (least + most) as f64 / 2.0;
        // In float64, whose steps at the ends of 64 bits are larger than a half.
        assert!(
            (f64::from(mean.to_vec::<f32>().unwrap()[0]) - want).abs() <= want.abs() / 1e7 + 0.5
        );
    }
}

#[test]
fn sums_take_a_dtype() {
    let x = tensor(DType::F16, &[300, 7], 20);
    for dtype in [DType::F32, DType::F64, DType::C64, DType::BF16] {
        let got = x.sum(Some(&[0]), false, Some(dtype)).unwrap();
        let want = x.to(dtype).unwrap().sum(Some(&[0]), false, None).unwrap();
        assert_eq!(got.dtype(), dtype);
        assert_eq!(got.to_bytes().unwrap(), want.to_bytes().unwrap(), "{dtype}");
        let got = x.prod(Some(&[0]), false, Some(dtype)).unwrap();
        let want = x.to(dtype).unwrap().prod(Some(&[0]), false, None).unwrap();
        assert_eq!(got.to_bytes().unwrap(), want.to_bytes().unwrap(), "{dtype}");
    }
    let bytes = tensor(DType::U8, &[300], 21);
    let narrow = bytes.sum(None, false, Some(DType::I8)).unwrap();
    let wide = bytes.to(DType::I8).unwrap().sum(None, false, None).unwrap();
    assert_eq!(
        narrow.to_bytes().unwrap(),
        wide.to(DType::I8).unwrap().to_bytes().unwrap()
    );
    let complex = tensor(DType::C64, &[3], 22);
    for error in [
        complex.sum(None, false, Some(DType::F32)).unwrap_err(),
        bytes.mean(None, false, Some(DType::I32)).unwrap_err(),
        complex.amax(None, false).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Dtype, "{error}");
    }
}

/// The same tests in a process whose kernels are of a lower level.
#[test]
fn lower_levels_agree() {
    if std::env::var_os("ALLOTROPE_SIMD").is_some() {
        return;
    }
    let lower = Level::available().filter(|level| *level < Level::current());
    for level in lower {
        let tests = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["reductions::small", "reductions::infinities"])
            .env("ALLOTROPE_SIMD", level.name())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&tests.stdout);
        assert!(tests.status.success(), "{level}: {text}");
        assert!(text.contains("20 passed"), "{text}");
    }
}

/// Lanes are joined in an order that the sizes alone decide, so that levels agree to the last bit.
#[test]
fn levels_give_the_same_bits() {
    use allotrope_cpu::Input;
    use allotrope_cpu::kernel::{Fold, reduce_at};
    use allotrope_op::{Layout, Program, Shape};

    for sizes in [[3, 4999, 1], [1, 70_001, 1], [2, 301, 17], [1, 200, 1300]] {
        for dtype in DType::ALL {
            for fold in [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min] {
                if dtype.is_complex() && matches!(fold, Fold::Max | Fold::Min) {
                    continue;
                }
                let count = sizes.iter().product();
                let x = tensor(dtype, &[count], 30).to_bytes().unwrap();
                let mut bytes = allotrope_cpu::Buffer::for_overwrite("test", x.len()).unwrap();
                bytes.copy_from_slice(&x);
                let mut program = Program::new(&[dtype]);
                let item = program.convert(0, fold.item(dtype));
                program.output(item);
                let shape = Shape::new("test", &[count]).unwrap();
                let layout = Layout::contiguous(shape.clone());
                let inputs = [Input {
                    bytes: &bytes,
                    layout: &layout,
                }];
                let run = |level: Level| {
                    reduce_at(level, fold, &program, &shape, &inputs, sizes)
                        .unwrap()
                        .to_vec()
                };
                let plain = run(Level::Scalar);
                for level in Level::available() {
                    assert!(run(level) == plain, "{fold:?} {dtype} {sizes:?} at {level}");
                }
            }
        }
    }
}
