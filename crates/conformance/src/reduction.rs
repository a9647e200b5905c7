//! One reduction of a tensor against sums without rounding, on any device.

use allotrope_dtype::{DType, Error, Set, WeakScalar, c128};
use allotrope_op::{Outcome, Reduction, Slice};
use allotrope_tensor::Tensor;

use crate::column::Column;
use crate::distance::ulps;
use crate::fold::{Answer, Options, ROUNDINGS, Way, answer};
use crate::oracle::Exact;
use crate::report::Report;
use crate::sample::Random;

/// What reductions take where it does not matter.
pub const OPTIONS: Options = Options {
    correction: 1.0,
    p: 2.0,
    way: Way::FLOAT64,
};

/// A reduction of a tensor.
///
/// # Errors
/// What it raises.
pub fn run(
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

/// Compares a reduction of a tensor along axes with the answer, to the precision of the dtypes that its
/// device stores.
///
/// # Errors
/// What the device raises.
pub fn check(
    reduction: Reduction,
    x: &Tensor,
    axes: Option<&[isize]>,
    options: Options,
) -> Result<Report, Error> {
    let (rank, device) = (x.rank(), x.device());
    let mut report = Report::new(format!(
        "{} {} {} along {axes:?} on {device}",
        reduction.name(),
        x.dtype(),
        x.shape(),
    ));
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
    let got = run(reduction, x, axes, false, options)?;
    let long = run(reduction, x, axes, true, options)?;
    for (tensor, shape) in [(&got, &kept), (&long, &ones)] {
        if (tensor.dtype(), &tensor.shape()[..]) != (result, &shape[..]) {
            let (dtype, sizes) = (tensor.dtype(), tensor.shape());
            report.fail(format!("{dtype} {sizes}, not {result} {shape:?}"));
            return Ok(report);
        }
    }
    let bytes = got.to_bytes()?;
    report.compare_bytes(&long.to_bytes()?, &bytes, result.itemsize());
    let results = Column::from_bytes(result, bytes)?;
    // Results are held to what the device stores.
    let stored = |dtype| device.capabilities().storage(dtype);
    let narrow = results.moved(stored(result))?;

    let values = Column::from_bytes(x.dtype(), x.to_bytes()?)?.values;
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
    let way = match stored(DType::F64) {
        DType::F64 => Way::FLOAT64,
        _ => Way::FLOAT32,
    };
    let options = Options { way, ..options };
    for (place, (group, got)) in groups.iter().zip(&narrow.values).enumerate() {
        let want = answer(reduction, x.dtype(), result, group, options);
        let off = ulps(*got, want.value, narrow.dtype, 0.0);
        let dtypes = [stored(x.dtype()), narrow.dtype];
        let allowed = allowed(reduction, dtypes, way, group.len(), &want);
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
    Ok(report)
}

/// Units in the last place of the result that the way to it may cost.
fn allowed(
    reduction: Reduction,
    [dtype, result]: [DType; 2],
    way: Way,
    count: usize,
    want: &Answer,
) -> f64 {
    let Ok(limits) = result.finfo() else {
        return 0.0;
    };
    let value = match want.value {
        Exact::Real(x) => x.hi.abs(),
        Exact::Complex(z) => z.abs().hi,
        _ => 0.0,
    };
    if !value.is_finite() || !want.size.is_finite() {
        return 0.0;
    }
    // Sums and exponentials are formed in the compute dtype, everything else in float64.
    let in_compute = matches!(
        reduction,
        Reduction::Sum | Reduction::Mean | Reduction::Logsumexp
    );
    let eps = match dtype.compute().finfo() {
        Ok(limits) if in_compute => limits.eps,
        Err(_) if reduction == Reduction::Logsumexp => f32::EPSILON.into(),
        _ => way.eps,
    };
    let steps = if in_compute {
        ROUNDINGS
    } else {
        way.each * count as f64 + way.roundings
    };
    let missing = steps * eps / 2.0 * want.size;
    let unit = (value * limits.eps / 2.0).max(limits.smallest_subnormal);
    // One rounding of the result, of either part.
    0.75 + missing / unit
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

/// A tensor of such numbers.
///
/// # Errors
/// A memory error.
pub fn tensor(dtype: DType, sizes: &[usize], seed: u64) -> Result<Tensor, Error> {
    let count = sizes.iter().product();
    let column = Column::new(dtype, numbers(dtype, count, seed))?;
    Tensor::from_bytes(&column.bytes, sizes, dtype)
}

/// The same shape in memory in many ways, on the device that `place` moves tensors to.
///
/// # Errors
/// What moves and views raise.
pub fn layouts(
    dtype: DType,
    place: &dyn Fn(Tensor) -> Result<Tensor, Error>,
) -> Result<Vec<Tensor>, Error> {
    let tensor = |sizes: &[usize], seed| tensor(dtype, sizes, seed).and_then(place);
    let every_other = |x: &Tensor, axis| {
        let slice = Slice {
            start: Some(1),
            stop: None,
            step: 2,
        };
        x.slice(axis, slice)
    };
    Ok(vec![
        tensor(&[4, 5, 6], 1)?,
        tensor(&[6, 4, 5], 2)?.permute(&[1, 2, 0])?,
        every_other(&every_other(&tensor(&[4, 11, 13], 3)?, 1)?, 2)?,
        tensor(&[4, 5, 6], 4)?.flip(&[0, 2])?,
        tensor(&[4, 1, 6], 5)?.expand(&[4, 5, 6])?,
        tensor(&[], 6)?.expand(&[4, 5, 6])?,
    ])
}

/// The axes of three that reductions are along.
pub const AXES: [Option<&[isize]>; 10] = [
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

/// Whether a reduction takes as many axes.
#[must_use]
pub fn fits(reduction: Reduction, axes: Option<&[isize]>) -> bool {
    let single = matches!(reduction, Reduction::Argmax | Reduction::Argmin);
    !single || axes.is_none_or(|axes| axes.len() == 1)
}
