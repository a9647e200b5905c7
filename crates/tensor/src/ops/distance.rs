//! How far vectors are from each other: norms of differences, cosines.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::neural::{CDIST, COSINE_SIMILARITY, PAIRWISE_DISTANCE, PDIST};
use allotrope_op::task::contraction::Contraction;
use allotrope_op::task::{Output, Task};
use allotrope_op::{Builder, Fold, Shape, Var, normalize_axis};
use smallvec::smallvec;

use super::operands::{Working, out_of_range, wrong_shape};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::device::perform_here;
use crate::reduce::{Plan, power_of, root_of_sums};
use crate::transfer::gathered;

/// Distances that `pdist` forms together.
const AT_A_TIME: usize = 1 << 17;

impl Tensor {
    /// The cosine of the angle between vectors along a dimension; lengths below `eps` count as it.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[3.0, 4.0]])?;
    /// assert_eq!(x.cosine_similarity(&(&x * 2), 1, 1e-8)?, Tensor::new([1.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers or where promotion refuses, a value error for shapes that
    /// do not broadcast, an index error for a dimension out of range, a memory error.
    pub fn cosine_similarity(&self, other: &Self, dim: isize, eps: f64) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.cosine_similarity(&other, dim, eps);
        }
        let op = COSINE_SIMILARITY.name;
        if self.rank() == 0 && other.rank() == 0 {
            // Single numbers are vectors of one.
            return self
                .unsqueeze(0)?
                .cosine_similarity(&other.unsqueeze(0)?, dim, eps);
        }
        let working = Working::of(&COSINE_SIMILARITY, &[self, other])?;
        let [dot, left, right] = products(op, self, other, working, dim)?;
        let length = |squares: &Self| root_of_sums(squares, 2.0)?.maximum(eps);
        let lengths = [length(&left)?, length(&right)?];
        let cosine = dot.div(&lengths[0])?.div(&lengths[1])?;
        cosine.to(working.result)?.squeeze(Some(&[dim]))
    }

    /// The norm of order `p` of the difference of vectors (whose gradient is zero where it is zero),
    /// to whose numbers `eps` is added, along the last dimension. Complex numbers count by their
    /// magnitudes.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[3.0_f32, 4.0], &[1, 2])?;
    /// let zero = Tensor::zeros(&[1, 2], DType::F32)?;
    /// assert_eq!(x.pairwise_distance(&zero, 2.0, 0.0, false)?.to_vec::<f32>()?, [5.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error where promotion refuses, a value error for shapes that do not broadcast, a
    /// memory error.
    pub fn pairwise_distance(
        &self,
        other: &Self,
        p: f64,
        eps: f64,
        keepdim: bool,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.pairwise_distance(&other, p, eps, keepdim);
        }
        let (working, result) = Working::and_result(&PAIRWISE_DISTANCE, &[self, other])?;
        let wide = wide_distance(PAIRWISE_DISTANCE.name, self, other, working, p, eps)?;
        let distance = wide.to(result)?;
        if keepdim {
            Ok(distance)
        } else {
            distance.squeeze(Some(&[-1]))
        }
    }

    /// The distance of every row of `[…, P, M]` from every row of `[…, R, M]` by the norm of order
    /// `p`, as `[…, P, R]`. No difference is stored. The gradient of Euclidean ones
    /// of float32 is formed by a product in float64.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (x, y) = (Tensor::new([[0.0, 0.0]])?, Tensor::new([[3.0, 4.0], [0.0, 1.0]])?);
    /// assert_eq!(x.cdist(&y, 2.0)?, Tensor::new([[5.0, 1.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cosine_similarity`](Self::cosine_similarity); a value error for a negative order or
    /// rows of different lengths.
    pub fn cdist(&self, other: &Self, p: f64) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.cdist(&other, p);
        }
        let op = CDIST.name;
        let working = Working::of(&CDIST, &[self, other])?;
        if p.is_nan() || p < 0.0 {
            return Err(out_of_range(op, "p", p, "0 and above"));
        }
        for (what, x) in [("x1", self), ("x2", other)] {
            if x.rank() < 2 {
                return Err(wrong_shape(op, what, x, "one of two or more dimensions"));
            }
        }
        let length = self.shape()[self.rank() - 1];
        if other.shape()[other.rank() - 1] != length {
            return Err(wrong_shape(
                op,
                "x2",
                other,
                format!("one that ends in {length}"),
            ));
        }
        all_distances(op, self, other, working, p)
    }

    /// The distance of every row of a matrix from every later one by the norm of order `p`: those of
    /// the first row, then those of the second that remain, and so on.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[0.0_f32, 3.0, 7.0], &[3, 1])?;
    /// assert_eq!(x.pdist(2.0)?.to_vec::<f32>()?, [3.0, 7.0, 4.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, a value error for a negative order or anything but a
    /// matrix, a memory error.
    pub fn pdist(&self, p: f64) -> Result<Self, Error> {
        let op = PDIST.name;
        let working = Working::of(&PDIST, &[self])?;
        if p.is_nan() || p < 0.0 {
            return Err(out_of_range(op, "p", p, "0 and above"));
        }
        if self.rank() != 2 {
            return Err(wrong_shape(op, "input", self, "a matrix"));
        }
        let rows = self.shape()[0];
        // Rows whose distances are formed together. One that meets itself there has no second
        // derivative, although nobody asks for that distance, but for the Euclidean one.
        let block = match is_recorded(&[self]) && p != 2.0 {
            true => 1,
            false => (AT_A_TIME / rows.max(1)).max(1),
        };
        let mut parts = Vec::new();
        for start in (0..rows.saturating_sub(1)).step_by(block) {
            // Rows of the block beside all from its first on; the later ones are above a diagonal.
            let count = block.min(rows - 1 - start);
            let first = self.narrow(0, start as isize, count)?;
            let others = rows - start - 1;
            let later = self.narrow(0, start as isize + 1, others)?;
            let all = all_distances(op, &first, &later, working, p)?.reshape(&[-1])?;
            if count == 1 {
                parts.push(all);
                continue;
            }
            let above = Self::triu_indices(count, others, 0, (DType::I64, self.device()))?;
            let places = above
                .select(0, 0)?
                .mul(others as i64)?
                .add(&above.select(0, 1)?)?;
            parts.push(all.index_select(0, &places)?);
        }
        match parts.is_empty() {
            true => self.new_zeros(&[0], working.result),
            // bounded: as many as passes are cut into.
            false => Self::cat(&parts.iter().collect::<Vec<_>>(), 0),
        }
    }
}

/// The distance of every row of `[…, P, M]` from every row of `[…, R, M]`, as `[…, P, R]`.
fn all_distances(
    op: &'static str,
    x: &Tensor,
    y: &Tensor,
    working: Working,
    p: f64,
) -> Result<Tensor, Error> {
    match p == 2.0 {
        true => euclidean_distances(op, x, y, working),
        false => composed_distances(op, x, y, working, p),
    }
}

/// The distances without a kernel for them.
fn composed_distances(
    op: &'static str,
    x: &Tensor,
    y: &Tensor,
    working: Working,
    p: f64,
) -> Result<Tensor, Error> {
    let (left, right) = (x.unsqueeze(-2)?, y.unsqueeze(-3)?);
    let wide = wide_distance(op, &left, &right, working, p, 0.0)?;
    wide.to(working.result)?.squeeze(Some(&[-1]))
}

fn euclidean_distances(
    op: &'static str,
    x: &Tensor,
    y: &Tensor,
    working: Working,
) -> Result<Tensor, Error> {
    let [(x_batch, x_sizes), (y_batch, y_sizes)] = [x, y].map(|x| x.shape().split_at(x.rank() - 2));
    let batch = Shape::broadcast(op, &[&Shape::new(op, x_batch)?, &Shape::new(op, y_batch)?])?;
    let read = |x: &Tensor, sizes: &[usize]| {
        let x = x.to(working.result)?.to(working.compute)?;
        x.expand(&[&batch[..], sizes].concat())?.contiguous()
    };
    let (from, to) = (read(x, x_sizes)?, read(y, y_sizes)?);
    let shape = Shape::new(op, &[&batch[..], &[x_sizes[0], y_sizes[0]]].concat())?;
    let task = Task::Contraction(Contraction::Distances);
    let output = Output {
        dtype: working.compute,
        count: shape.count(),
    };
    let Some(mut made) = perform_here(op, &task, &[&from, &to], &[output])? else {
        return composed_distances(op, x, y, working, 2.0);
    };
    let found = Tensor::from_memory_of(made.remove(0).memory, shape, working.compute);
    let (x, y) = (from, to);
    if !is_recorded(&[&x, &y]) {
        return found.to(working.result);
    }
    let (saved, operands) = (found.clone(), [x.clone(), y.clone()]);
    let found = found.with_rule(op, &[&x, &y], move |pass| {
        let away = pass.output(&saved, 0);
        // No distance has the gradient zero.
        let away = away.masked_fill(&saved.eq(0)?, f64::INFINITY)?;
        let weights = pass.gradient()?.div(&away)?;
        let [x, y] = &operands;
        Ok(smallvec![
            pass.give(0, || pull(op, &weights, x, y))?,
            pass.give(1, || pull(op, &weights.transpose(-1, -2)?, y, x))?,
        ])
    })?;
    found.to(working.result)
}

/// The sum of `w (x - y)` over all rows `y`, for every row `x`.
fn pull(op: &'static str, weights: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor, Error> {
    let wide = x.backend().wide(x.dtype());
    if x.dtype() != wide {
        // As a product: what cancels in float64 leaves more digits than float32 has.
        let [weights, wide, y] = [weights, x, y].map(|tensor| tensor.to(wide));
        let (weights, wide) = (weights?, wide?);
        let all = weights.sum(Some(&[-1]), true, None)?;
        return wide.mul(&all)?.sub(&weights.matmul(&y?)?)?.to(x.dtype());
    }
    let (weights, x, y) = (weights.unsqueeze(-1)?, x.unsqueeze(-2)?, y.unsqueeze(-3)?);
    let shape = Shape::broadcast(op, &[weights.shape(), x.shape(), y.shape()])?;
    let plan = Plan::new(op, &x.expand(&shape)?, Some(&[-2]))?;
    let builder = Builder::new(&[x.dtype(); 3]);
    let term = builder.input(0) * (builder.input(1) - builder.input(2));
    let program = builder.finish(&[term]);
    let sum = plan.fold(op, Fold::Sum, &program, &[&weights, &x, &y], &shape)?;
    sum.to(x.dtype())?.squeeze(Some(&[-2]))
}

/// Sums along a dimension, not rounded, which stays: of the products of two tensors with each other
/// and of each with itself.
pub(super) fn products(
    op: &'static str,
    x: &Tensor,
    y: &Tensor,
    working: Working,
    dim: isize,
) -> Result<[Tensor; 3], Error> {
    let shape = Shape::broadcast(op, &[x.shape(), y.shape()])?;
    let axis = normalize_axis(op, dim, shape.rank())? as isize;
    let wide = Working {
        result: working.result,
        compute: x.backend().wide(working.compute),
    };
    let total = |a: &Tensor, b: &Tensor| {
        let program = wide.program(&[a.dtype(), b.dtype()], |v| v[0] * v[1]);
        let plan = Plan::new(op, &a.expand(&shape)?, Some(&[axis]))?;
        plan.fold(op, Fold::Sum, &program, &[a, b], &shape)
    };
    Ok([total(x, y)?, total(x, x)?, total(y, y)?])
}

/// The norm of a difference plus `eps` along the last dimension, not rounded; the dimension stays.
pub(super) fn wide_distance(
    op: &'static str,
    x: &Tensor,
    y: &Tensor,
    working: Working,
    p: f64,
    eps: f64,
) -> Result<Tensor, Error> {
    let shape = Shape::broadcast(op, &[x.shape(), y.shape()])?;
    let plan = Plan::new(op, &x.expand(&shape)?, Some(&[-1]))?;
    let builder = Builder::new(&[x.dtype(), y.dtype()]);
    let away = working.read(builder.input(0)) - working.read(builder.input(1));
    let away = if eps == 0.0 { away } else { away + eps };
    let term: Var<'_> = if p == 2.0 && working.compute.is_complex() {
        away.real().square() + away.imag().square()
    } else if p == 2.0 {
        away.square()
    } else if p == 1.0 || p.is_infinite() {
        away.abs()
    } else if p == 0.0 {
        away.ne(away.zero()).to(working.compute.to_real())
    } else {
        power_of(away.abs(), p)
    };
    let fold = match p {
        f64::INFINITY => Fold::Max,
        f64::NEG_INFINITY => Fold::Min,
        _ => Fold::Sum,
    };
    if p.is_infinite() && plan.count() == 0 {
        return plan.fold(op, Fold::Sum, &builder.finish(&[term]), &[x, y], &shape);
    }
    let total = plan.fold(op, fold, &builder.finish(&[term]), &[x, y], &shape)?;
    let total = total.to(x.backend().wide(working.compute.to_real()))?;
    if p.is_infinite() || p == 0.0 || p == 1.0 {
        Ok(total)
    } else {
        root_of_sums(&total, p)
    }
}
