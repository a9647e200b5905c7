//! Operations that refuse values: an index out of range, a zero divisor, a class that is none. Each is
//! there with values that it takes and with values that it refuses; the CPU says which.

use std::thread;

use allotrope_dtype::{DType, Error, ErrorKind};
use allotrope_op::Backend;
use allotrope_tensor::{Index, LossReduction, Tensor};

/// An operation, and operands of the CPU.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub what: &'static str,
    /// Its operands.
    pub operands: Vec<Tensor>,
    /// The operation.
    pub work: fn(&[Tensor]) -> Result<Tensor, Error>,
}

/// A vector of integers.
///
/// # Errors
/// A memory error.
pub fn integers(values: &[i64]) -> Result<Tensor, Error> {
    Tensor::from_slice(values, &[values.len()])
}

/// A vector of floats.
///
/// # Errors
/// A memory error.
pub fn floats(values: &[f32]) -> Result<Tensor, Error> {
    Tensor::from_slice(values, &[values.len()])
}

#[derive(Default)]
struct Cases(Vec<Case>);

impl Cases {
    fn add(
        &mut self,
        what: &'static str,
        operands: &[&Tensor],
        work: fn(&[Tensor]) -> Result<Tensor, Error>,
    ) {
        let operands = operands.iter().map(|x| (*x).clone()).collect();
        self.0.push(Case {
            what,
            operands,
            work,
        });
    }
}

/// Indices and divisors.
///
/// # Errors
/// A memory error.
pub fn indices() -> Result<Vec<Case>, Error> {
    let mut cases = Cases::default();
    let x = Tensor::arange(0, 60, 1, DType::F32)?.reshape(&[6, 10])?;
    let whole = integers(&[7, -7, 3, 1])?;
    for (rows, divisors) in [
        (integers(&[2, -1, 0, 5])?, integers(&[2, 3, -1, 1])?),
        (integers(&[2, -7, 0, 6])?, integers(&[2, 0, -1, 0])?),
    ] {
        cases.add("index_select", &[&x, &rows], |x| {
            x[0].index_select(0, &x[1])
        });
        cases.add("take", &[&x, &rows.add(59)?], |x| x[0].take(&x[1], None));
        cases.add("gather", &[&x, &rows], |x| {
            x[0].gather(0, &x[1].unsqueeze(1)?)
        });
        cases.add("index", &[&x, &rows], |x| {
            x[0].index(&[Index::Array(x[1].clone())])
        });
        cases.add("index by int8", &[&x, &rows.to(DType::I8)?], |x| {
            x[0].index(&[Index::Array(x[1].flip(&[0])?)])
        });
        cases.add("scatter", &[&x, &rows], |x| {
            x[0].scatter(0, &x[1].unsqueeze(1)?, 7)
        });
        cases.add("index_add", &[&x, &rows], |x| {
            x[0].index_add(0, &x[1], &x[0].narrow(0, 0, 4)?, 2)
        });
        cases.add("assign", &[&x, &rows], |x| {
            let mut changed = x[0].clone();
            changed.assign(&[Index::Array(x[1].clone())], 1)?;
            Ok(changed)
        });
        cases.add("one_hot", &[&rows], |x| x[0].one_hot(Some(6), DType::I64));
        cases.add("remainder", &[&whole, &divisors], |x| x[0].remainder(&x[1]));
        cases.add("floor_divide", &[&whole, &divisors], |x| {
            x[0].floor_divide(&x[1].select(0, 1)?)
        });
        cases.add("pow", &[&whole, &divisors.abs()?], |x| x[0].pow(&x[1]));
    }
    cases.add("pow", &[&whole, &whole], |x| x[0].pow(&x[1]));
    Ok(cases.0)
}

/// The same of several dtypes.
///
/// # Errors
/// A memory error.
pub fn dtypes() -> Result<Vec<Case>, Error> {
    let mut cases = Cases::default();
    let x = Tensor::arange(0, 6, 1, DType::F32)?;
    for dtype in [DType::I8, DType::U8, DType::I32, DType::I64, DType::U64] {
        for places in [integers(&[1, -7, 9])?, integers(&[-1, 3])?] {
            let places = places.to(dtype)?;
            cases.add("index_select", &[&x, &places], |x| {
                x[0].index_select(0, &x[1])
            });
            cases.add("turned", &[&x, &places], |x| {
                x[0].take(&x[1].flip(&[0])?, None)
            });
        }
        let numbers = integers(&[3, 2, 0, 5, -3, 1])?.reshape(&[2, 3])?;
        let numbers = numbers.to(dtype)?;
        cases.add("zeros", &[&numbers], |x| {
            x[0].remainder(&x[0].transpose(0, 1)?.reshape(&[2, 3])?)
        });
        cases.add("exponents", &[&numbers], |x| x[0].pow(&x[0]));
        cases.add("one exponent", &[&numbers], |x| {
            x[0].pow(&x[0].select(0, 1)?.select(0, 1)?)
        });
    }
    Ok(cases.0)
}

/// Losses: classes, probabilities, variances, labels.
///
/// # Errors
/// A memory error.
pub fn losses() -> Result<Vec<Case>, Error> {
    const MEAN: LossReduction = LossReduction::Mean;
    let mut cases = Cases::default();
    let x = floats(&[0.5, 0.25, -1.0, 2.0, 0.0, 1.0])?.reshape(&[3, 2])?;
    let y = floats(&[0.0, 1.0, 0.5, 1.0, 0.25, 1.0])?.reshape(&[3, 2])?;
    for target in [integers(&[1, -100, 0])?, integers(&[1, 2, 0])?] {
        cases.add("cross_entropy", &[&x, &target], |x| {
            x[0].cross_entropy(&x[1], None, -100, MEAN, 0.0)
        });
        cases.add("nll_loss", &[&x, &target], |x| {
            x[0].nll_loss(&x[1], None, -100, MEAN)
        });
    }
    for x in [&x, &y] {
        cases.add("binary_cross_entropy", &[x, &y], |x| {
            x[0].binary_cross_entropy(&x[1], None, MEAN)
        });
        cases.add("gaussian_nll_loss", &[&y, &y, x], |x| {
            x[0].gaussian_nll_loss(&x[1], &x[2], false, 1e-6, MEAN)
        });
    }
    let scores = Tensor::arange(0, 24, 1, DType::F64)?.reshape(&[4, 2, 3])?;
    let scores = scores.log_softmax(2, None)?;
    for target in [integers(&[1, 1, 2])?, integers(&[1, 3, -1])?] {
        cases.add("ctc_loss", &[&scores, &target], |x| {
            x[0].ctc_loss(&x[1], &[4, 3], &[2, 1], 0, MEAN, false)
        });
    }
    Ok(cases.0)
}

/// Refuses an index in another thread, and reads here: tensors of one's own raise nothing, whatever
/// depends on the other thread's work raises its fault, once.
///
/// # Errors
/// What was heard instead.
pub fn heard_by_those_concerned(device: &'static dyn Backend) -> Result<(), String> {
    let told = |error: Error| error.to_string();
    let there = |x: Result<Tensor, Error>| x.and_then(|x| x.to_backend(device)).map_err(told);
    let own = there(floats(&[1.0, 2.0]))?;
    // Each makes something of a vector with an index that is refused.
    type Work = fn(&Tensor, &Tensor) -> Result<Tensor, Error>;
    let works: [(&str, Work); 4] = [
        ("a row", |x, rows| x.index_select(0, rows)),
        ("a sum of rows", |x, rows| {
            x.index_select(0, rows)?.add(1)?.sum(None, false, None)
        }),
        ("a write", |x, rows| x.index_add(0, rows, x, 1)),
        ("what came after", |x, rows| {
            drop(x.index_select(0, rows)?);
            x.mul(1)
        }),
    ];
    for (what, work) in works {
        let of_thread = thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let (x, rows) = (there(floats(&[3.0, 4.0]))?, there(integers(&[0, 7]))?);
                work(&x, &rows).map_err(told)
            });
            asked.join().map_err(|_| "the thread panicked".to_owned())?
        })?;
        device.finish().map_err(told)?;
        let mine = own.add(1).and_then(|x| x.to_vec::<f32>());
        if mine.map_err(told)? != [2.0, 3.0] {
            return Err(format!("{what}: other numbers"));
        }
        // The sum is the device's own work on what the other thread made.
        let both = of_thread.add(&own).map_err(told)?;
        match both.to_bytes() {
            Err(fault) if fault.kind() == ErrorKind::Index => {}
            other => return Err(format!("{what}: {other:?}")),
        }
        both.to_bytes().map_err(told)?;
    }
    Ok(())
}
