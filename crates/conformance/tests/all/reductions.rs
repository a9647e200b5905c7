//! Every reduction × dtype × axes × layout, against sums without rounding.

use allotrope_conformance::column::Column;
use allotrope_conformance::distance::ulps;
use allotrope_conformance::fold::{Options, ROUNDINGS, answer};
use allotrope_conformance::oracle::Exact;
use allotrope_conformance::report::Report;
use allotrope_conformance::sample::Random;
use allotrope_dtype::{DType, Error, ErrorKind, Level, Set, WeakScalar, c128};
use allotrope_op::{Outcome, Reduction, Slice};
use allotrope_tensor::Tensor;

const OPTIONS: Options = Options {
    correction: 1.0,
    p: 2.0,
};

/// A reduction of a tensor.
fn run(
    reduction: Reduction,
    x: &Tensor,
    axes: Option<&[isize]>,
    keepdim: bool,
    options: Options,
) -> Result<Tensor, Error> {
    let axis = axes.and_then(|axes| axes.first().copied());
    match reduction {
        Reduction::Sum => x.sum(axes, keepdim, None),
        Reduction::Prod => x.prod(axes, keepdim, None),
        Reduction::Mean => x.mean(axes, keepdim, None),
        Reduction::Var => x.var(axes, options.correction, keepdim),
        Reduction::Std => x.std(axes, options.correction, keepdim),
        Reduction::Amax => x.amax(axes, keepdim),
        Reduction::Amin => x.amin(axes, keepdim),
        Reduction::Argmax => x.argmax(axis, keepdim),
        Reduction::Argmin => x.argmin(axis, keepdim),
        Reduction::Any => x.any(axes, keepdim),
        Reduction::All => x.all(axes, keepdim),
        Reduction::CountNonzero => x.count_nonzero(axes, keepdim),
        Reduction::Norm => x.norm(options.p, axes, keepdim),
        Reduction::Logsumexp => x.logsumexp(axes, keepdim),
    }
}

/// The dtype of the result, as the semantics have it.
fn result_dtype(reduction: Reduction, dtype: DType) -> DType {
    let inexact = Set::Inexact.contains(dtype);
    match reduction.outcome() {
        Outcome::Index => DType::I64,
        Outcome::Truth => DType::Bool,
        Outcome::Element => dtype,
        Outcome::Total if inexact => dtype,
        Outcome::Total if dtype.is_integer() && !dtype.is_signed() => DType::U64,
        Outcome::Total => DType::I64,
        Outcome::Average | Outcome::Magnitude if !inexact => DType::F32,
        Outcome::Tally if inexact && dtype.bits() >= 32 => dtype,
        Outcome::Tally => DType::F32,
        Outcome::Average => dtype,
        Outcome::Magnitude => dtype.to_real(),
        Outcome::Spectrum if !inexact => DType::C64,
        Outcome::Spectrum => dtype.to_complex(),
    }
}

/// Checks a reduction of a tensor along axes.
fn check(reduction: Reduction, x: &Tensor, axes: Option<&[isize]>, options: Options) {
    let what = format!(
        "{} {} {} along {axes:?}",
        reduction.name(),
        x.dtype(),
        x.shape()
    );
    let rank = x.rank();
    let reduced: Vec<usize> = match axes {
        None => (0..rank).collect(),
        Some(axes) => axes
            .iter()
            .map(|a| a.rem_euclid(rank as isize) as usize)
            .collect(),
    };
    let sizes = x.shape().to_vec();
    // Without the reduced dimensions, and with them as ones.
    let is_kept = |dim: &usize| !reduced.contains(dim);
    let kept: Vec<usize> = (0..rank).filter(is_kept).map(|dim| sizes[dim]).collect();
    let ones = (0..rank).map(|dim| if is_kept(&dim) { sizes[dim] } else { 1 });
    let ones: Vec<usize> = ones.collect();
    let result = result_dtype(reduction, x.dtype());
    let got = run(reduction, x, axes, false, options).unwrap();
    let long = run(reduction, x, axes, true, options).unwrap();
    assert_eq!(
        (got.dtype(), &got.shape()[..]),
        (result, &kept[..]),
        "{what}"
    );
    assert_eq!(
        (long.dtype(), &long.shape()[..]),
        (result, &ones[..]),
        "{what}"
    );
    let bytes = got.to_bytes().unwrap();
    assert_eq!(long.to_bytes().unwrap(), bytes, "{what} keepdim");
    let results = Column::from_bytes(result, bytes).unwrap();

    let values = Column::from_bytes(x.dtype(), x.to_bytes().unwrap())
        .unwrap()
        .values;
    let mut groups: Vec<Vec<WeakScalar>> = vec![Vec::new(); results.len()];
    let mut index = vec![0; rank];
    for value in values {
        let group = (0..rank)
            .filter(is_kept)
            .fold(0, |g, dim| g * sizes[dim] + index[dim]);
        groups[group].push(value);
        for dim in (0..rank).rev() {
            index[dim] += 1;
            if index[dim] < sizes[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
    let mut report = Report::new(what);
    for (place, (group, got)) in groups.iter().zip(&results.values).enumerate() {
        let want = answer(reduction, x.dtype(), result, group, options);
        let off = ulps(*got, want.value, result, 0.0);
        let allowed = allowed(
            reduction,
            x.dtype(),
            result,
            group.len(),
            want.value,
            want.size,
        );
        // Zeros have no sign that a sum could keep.
        let zero = matches!((*got, want.value), (WeakScalar::Float(got), Exact::Real(want)) if got == want.hi);
        report.compare(
            place,
            &[],
            *got,
            want.value,
            if zero { 0.0 } else { off },
            allowed,
        );
    }
    assert!(report.is_good(), "{report}");
}

/// Units in the last place of the result that the way to it may cost.
fn allowed(
    reduction: Reduction,
    dtype: DType,
    result: DType,
    count: usize,
    want: Exact,
    size: f64,
) -> f64 {
    if !Set::Inexact.contains(result) {
        return 0.0;
    }
    let value = match want {
        Exact::Real(x) => x.hi.abs(),
        Exact::Complex(z) => z.abs().hi,
        _ => 0.0,
    };
    if !value.is_finite() || !size.is_finite() {
        return 0.0;
    }
    // Sums and exponentials are formed in the compute dtype, everything else in float64.
    let in_compute = matches!(
        reduction,
        Reduction::Sum | Reduction::Mean | Reduction::Logsumexp
    );
    let working = if in_compute && Set::Inexact.contains(dtype) {
        dtype.compute()
    } else if in_compute && reduction == Reduction::Logsumexp {
        DType::F32
    } else {
        DType::F64
    };
    let steps = if in_compute {
        ROUNDINGS
    } else {
        2.0 * count as f64 + ROUNDINGS
    };
    let way = steps * working.finfo().unwrap().eps / 2.0 * size;
    let limits = result.finfo().unwrap();
    let unit = (value * limits.eps / 2.0).max(limits.smallest_subnormal);
    // One rounding of the result, of either part.
    0.75 + way / unit
}

/// Numbers of moderate sizes, so that products stay in range; some of them zero.
fn numbers(dtype: DType, count: usize, seed: u64) -> Vec<WeakScalar> {
    let mut random = Random::seeded(seed ^ ((dtype as u64) << 32));
    let value = |random: &mut Random| {
        if random.below(29) == 0 {
            return 0.0;
        }
        let sign = if random.below(2) == 0 { -1.0 } else { 1.0 };
        sign * (0.5 + random.unit())
    };
    let values = (0..count).map(|_| match dtype.integer_range() {
        Some(_) if dtype == DType::Bool => WeakScalar::Bool(random.below(5) != 0),
        Some((least, most)) => {
            let wide = (random.bits() as i128) - (1 << 63);
            let small = random.below(9) as i128 - 4;
            let value = if random.below(3) == 0 { wide } else { small };
            WeakScalar::Int(least + (value - least).rem_euclid(most - least + 1))
        }
        None if dtype.is_complex() => {
            WeakScalar::Complex(c128::new(value(&mut random), value(&mut random)))
        }
        None => WeakScalar::Float(value(&mut random)),
    });
    values.collect()
}

fn tensor(dtype: DType, sizes: &[usize], seed: u64) -> Tensor {
    let count = sizes.iter().product();
    let column = Column::new(dtype, numbers(dtype, count, seed)).unwrap();
    Tensor::from_bytes(&column.bytes, sizes, dtype).unwrap()
}

/// The same shape in memory in many ways.
fn layouts(dtype: DType) -> Vec<Tensor> {
    let plain = tensor(dtype, &[4, 5, 6], 1);
    let turned = tensor(dtype, &[6, 4, 5], 2).permute(&[1, 2, 0]).unwrap();
    let every_other = |x: &Tensor, axis| {
        let slice = Slice {
            start: Some(1),
            stop: None,
            step: 2,
        };
        x.slice(axis, slice).unwrap()
    };
    let sliced = every_other(&every_other(&tensor(dtype, &[4, 11, 13], 3), 1), 2);
    let reversed = tensor(dtype, &[4, 5, 6], 4).flip(&[0, 2]).unwrap();
    let spread = tensor(dtype, &[4, 1, 6], 5).expand(&[4, 5, 6]).unwrap();
    let single = tensor(dtype, &[], 6).expand(&[4, 5, 6]).unwrap();
    vec![plain, turned, sliced, reversed, spread, single]
}

const AXES: [Option<&[isize]>; 10] = [
    None,
    Some(&[0]),
    Some(&[1]),
    Some(&[2]),
    Some(&[-1]),
    Some(&[0, 1]),
    Some(&[-1, 0]),
    Some(&[1, 2]),
    Some(&[2, 0, 1]),
    Some(&[]),
];

fn fits(reduction: Reduction, axes: Option<&[isize]>) -> bool {
    let single = matches!(reduction, Reduction::Argmax | Reduction::Argmin);
    !single || axes.is_none_or(|axes| axes.len() == 1)
}

fn check_dtype(dtype: DType) {
    for reduction in Reduction::ALL {
        if !reduction.accepted().contains(dtype) {
            let x = tensor(dtype, &[2, 2], 1);
            let error = run(*reduction, &x, None, false, OPTIONS).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Dtype, "{error}");
            continue;
        }
        for x in layouts(dtype) {
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
