//! `one_hot`, `embedding`, `embedding_bag`: rows that indices name.

use allotrope_dtype::{DType, Error, Problem, Set, WeakScalar};
use allotrope_op::Combine;
use allotrope_op::structured::indexing::{EMBEDDING, EMBEDDING_BAG, ONE_HOT};
use allotrope_op::task::values::Refusal;
use allotrope_op::task::{Indexing, Output, Task};
use allotrope_op::{Outcome, Shape, normalize_axis};
use smallvec::smallvec;

use super::super::operands::refuse;
use super::super::repeat::stretches;
use super::scatter::IndexReduction;
use super::scatter_core::{Target, accumulator, neutral};
use super::{Indices, Negative, chooser_beside, sum_slices, wrong_shape};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::{self, Call};
use crate::device::perform_here;
use crate::host::memory::try_vec;
use crate::transfer::{Chooser, gathered};

/// Elements of gathered rows that are held at a time.
const AT_A_TIME: usize = 256 << 10;

/// The options of looking up rows.
#[derive(Clone, Copy, Debug)]
pub struct Embedding {
    /// The index of a row that is not learned; negative ones count from the end.
    pub padding_idx: Option<isize>,
    /// Rows with a greater norm are scaled to it.
    pub max_norm: Option<f64>,
    /// The order of that norm.
    pub norm_type: f64,
    /// Whether the gradient of a row is divided by how often it is read.
    pub scale_grad_by_freq: bool,
}

impl Default for Embedding {
    fn default() -> Self {
        Self {
            padding_idx: None,
            max_norm: None,
            norm_type: 2.0,
            scale_grad_by_freq: false,
        }
    }
}

/// What becomes of the rows of a bag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BagMode {
    /// Their sum; int64 or uint64 for integers.
    Sum,
    /// Their mean; the default float for integers.
    #[default]
    Mean,
    /// The greatest in each column.
    Max,
}

impl BagMode {
    /// The mode of a name: sum, mean or max.
    ///
    /// # Errors
    /// A value error for any other.
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "sum" => Ok(Self::Sum),
            "mean" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            _ => {
                let accepted = ["sum", "mean", "max"];
                Err(Error::unknown_option(
                    EMBEDDING_BAG.name,
                    "mode",
                    name,
                    &accepted,
                ))
            }
        }
    }
}

/// Which indices belong to which bag, and what becomes of their rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bags<'a> {
    /// Where each bag begins in a vector of indices. Without them every row of a matrix is a bag.
    pub offsets: Option<&'a Tensor>,
    /// Whether the last offset is the end of the last bag.
    pub include_last_offset: bool,
    /// What becomes of the rows.
    pub mode: BagMode,
    /// A factor for each row, for sums.
    pub per_sample_weights: Option<&'a Tensor>,
    /// How rows are looked up; those at the padding index belong to no bag.
    pub embedding: Embedding,
}

impl Tensor {
    /// One at the place that each index names in a new last dimension of `classes`, zero elsewhere.
    /// Without classes there are as many as the greatest index needs. False is class 0, true class 1.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1_i64, 0])?.one_hot(Some(3), DType::U8)?;
    /// assert_eq!(x, Tensor::new([[0_u8, 1, 0], [1, 0, 0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless these are integers or bool, an index error for one that is no class, a value error
    /// for a negative one or if nothing tells the number of classes, a memory error.
    pub fn one_hot(&self, classes: Option<usize>, dtype: DType) -> Result<Self, Error> {
        let op = ONE_HOT.name;
        Call::begin(&ONE_HOT, &[self])?;
        let places = match self.dtype() {
            DType::Bool => self.to(DType::U8)?,
            _ => self.clone(),
        };
        let classes = match classes {
            Some(classes) => classes,
            None if self.count() == 0 => {
                let shape = self.shape().to_vec();
                let problem = Problem::NothingToReduce { shape };
                return Err(Error::new(op, problem).hint("num_classes"));
            }
            None => match places.amax(None, false)?.item()?.value() {
                WeakScalar::Int(greatest) => usize::try_from(greatest + 1).unwrap_or(0),
                _ => 0,
            },
        };
        let indices = Indices::new(op, &places, self.rank(), classes, Negative::Invalid)?;
        let sizes = [&self.shape()[..], &[classes]].concat();
        let zeros = self.new_zeros(&sizes, dtype);
        let zeros = zeros.map_err(|error| error.in_op(op))?;
        let places = indices.layout_between(op, &[], &[1])?;
        let mut target = Target::new(op, &zeros, dtype, self.rank(), &indices, places)?;
        drop(zeros);
        target.combine(Combine::Replace, &self.new_full(&[], true, dtype)?)?;
        target.finish()
    }

    /// The rows of this matrix at indices, in the shape of the indices with the columns as a new
    /// last dimension. The dtype is that of the matrix.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Embedding, Tensor};
    /// let table = Tensor::arange(0, 6, 1, DType::I16)?.reshape(&[3, 2])?;
    /// let index = Tensor::from_slice(&[2_u8, 0], &[2])?;
    /// let rows = table.embedding(&index, Embedding::default())?;
    /// assert_eq!(rows.to_vec::<i16>()?, [4, 5, 0, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an index out of range, a dtype error unless indices are integers, a value
    /// error unless this is a matrix, a memory error.
    pub fn embedding(&self, index: &Self, options: Embedding) -> Result<Self, Error> {
        if let Some((x, index)) = gathered((self, Chooser(index)))? {
            return x.embedding(&index, options);
        }
        let op = EMBEDDING.name;
        Call::begin(&EMBEDDING, &[self])?;
        self.check_table(op, &options)?;
        let index = chooser_beside(index, self)?;
        self.rows(op, &index, &options)?.to(self.dtype())
    }

    fn check_table(&self, op: &'static str, options: &Embedding) -> Result<(), Error> {
        if self.rank() != 2 {
            let accepted = "a matrix";
            return Err(wrong_shape(op, "weight", self.shape(), accepted));
        }
        if let Some(index) = options.padding_idx {
            let size = self.shape()[0];
            // Padding rows count from the end, indices do not.
            if normalize_axis(op, index, size).is_err() {
                let problem = Problem::IndexOutOfRange {
                    index,
                    dim: 0,
                    size,
                };
                return Err(Error::new(op, problem));
            }
        }
        Ok(())
    }

    /// The rows at indices; scaled ones in the dtype of accumulators.
    fn rows(&self, op: &'static str, index: &Self, options: &Embedding) -> Result<Self, Error> {
        let table = self.learned(op, index, options)?;
        let rows = table.select_along(op, 0, index, Negative::Refuse)?;
        let Some(most) = options.max_norm else {
            return Ok(rows);
        };
        if !Set::Inexact.contains(self.dtype()) {
            let hint = Some("max_norm=None");
            return Err(Error::not_in_set(op, self.dtype(), Set::Inexact, hint));
        }
        let rows = rows.to(accumulator(self.dtype()))?;
        let norm = rows.norm(options.norm_type, Some(&[-1]), true)?;
        let scale = norm.add(1e-7)?.reciprocal()?.mul(most)?;
        let scale = norm.gt(most)?.where_(&scale, 1.0)?;
        rows.mul(&scale.to(rows.dtype())?)
    }

    /// The table itself, of which one row may get no gradient, and others less the more often they
    /// are read.
    fn learned(&self, op: &'static str, index: &Self, options: &Embedding) -> Result<Self, Error> {
        let is_plain = options.padding_idx.is_none() && !options.scale_grad_by_freq;
        if is_plain || !is_recorded(&[self]) {
            return Ok(self.clone());
        }
        let rows = self.shape()[0];
        let padding = match options.padding_idx {
            Some(padding) => {
                let padding = normalize_axis(op, padding, rows)? as i64;
                self.new_full(&[1], padding, DType::I64)?
            }
            None => self.new_zeros(&[0], DType::I64)?,
        };
        let times = match options.scale_grad_by_freq {
            true => {
                let index = index.ravel()?;
                let known = Indices::new(op, &index, 0, rows, Negative::Refuse)?;
                let known = known.compact.expand(index.shape())?.contiguous()?;
                known.occurrences(op, rows)?.maximum(1)?
            }
            false => self.new_full(&[1], 1, DType::I64)?,
        };
        let times = times.unsqueeze(1)?;
        let is_scaled = options.scale_grad_by_freq;
        self.detach().with_rule(op, &[self], move |pass| {
            let mut gradient = pass.gradient()?.index_fill(0, &padding, false)?;
            if is_scaled {
                gradient = gradient.div(&times.to(gradient.dtype())?)?;
            }
            Ok(smallvec![Some(gradient)])
        })
    }

    /// The mean, sum or greatest of the rows of this matrix at the indices of each bag, a row for
    /// each; zero for an empty bag.
    ///
    /// ```
    /// use allotrope_tensor::{BagMode, Bags, Tensor};
    /// let table = Tensor::new([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])?;
    /// let sums = Bags { mode: BagMode::Sum, ..Bags::default() };
    /// let bags = table.embedding_bag(&Tensor::new([[0, 1], [2, 2]])?, sums)?;
    /// assert_eq!(bags, Tensor::new([[4.0, 6.0], [10.0, 12.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`embedding`](Self::embedding); a value error for shapes that do not fit or offsets that
    /// are not in order, a dtype error for the greatest of complex numbers.
    pub fn embedding_bag(&self, index: &Self, bags: Bags<'_>) -> Result<Self, Error> {
        let (offsets, weights) = (bags.offsets, bags.per_sample_weights);
        if let Some((table, index, offsets, weights)) =
            gathered((self, Chooser(index), offsets, weights))?
        {
            let bags = Bags {
                offsets: offsets.as_ref(),
                per_sample_weights: weights.as_ref(),
                ..bags
            };
            return table.embedding_bag(&index, bags);
        }
        let op = EMBEDDING_BAG.name;
        let operands = [Some(self), bags.per_sample_weights];
        let (common, _) = call::meet(&EMBEDDING_BAG, operands.into_iter().flatten())?;
        self.check_table(op, &bags.embedding)?;
        let dtype = match bags.mode {
            BagMode::Sum => Outcome::Total.of(common),
            BagMode::Mean => Outcome::Average.of(common),
            BagMode::Max if common.is_complex() => {
                return Err(Error::not_in_set(op, common, Set::Real, None));
            }
            BagMode::Max => common,
        };
        if bags.mode != BagMode::Sum && bags.per_sample_weights.is_some() {
            let given = format!("{:?}", bags.mode).to_lowercase();
            let what = "mode with per_sample_weights";
            return Err(Error::unknown_option(op, what, &given, &["sum"]));
        }
        let index = chooser_beside(index, self)?;
        let (number, owners) = owners(op, &index, &bags)?;
        let mut index = index.ravel()?.as_int64(op)?;
        let mut owners = owners;
        let mut weights = match bags.per_sample_weights {
            Some(weights) if weights.count() != index.count() => {
                let accepted = format!("as many as indices, {}", index.count());
                return Err(wrong_shape(
                    op,
                    "per_sample_weights",
                    weights.shape(),
                    accepted,
                ));
            }
            weights => weights.map(Self::ravel).transpose()?,
        };
        if let Some(padding) = bags.embedding.padding_idx {
            let padding = normalize_axis(op, padding, self.shape()[0])? as i64;
            let kept = index.ne(padding)?;
            index = index.masked_select(&kept)?;
            owners = owners.masked_select(&kept)?;
            weights = weights
                .map(|weights| weights.masked_select(&kept))
                .transpose()?;
        }
        let how = match bags.mode {
            BagMode::Sum | BagMode::Mean => Combine::Add,
            BagMode::Max => Combine::Max,
        };
        let (compute, columns) = (accumulator(dtype), self.shape()[1]);
        let is_plain = weights.is_none()
            && bags.embedding.max_norm.is_none()
            && !bags.embedding.scale_grad_by_freq;
        if how == Combine::Add && is_plain {
            let (sums, counts) = self.summed_bags(op, &index, &owners, number, compute)?;
            let result = match bags.mode {
                BagMode::Mean => sums.div(&counts.maximum(1)?.to(compute)?)?,
                _ => sums,
            };
            return result.to(dtype);
        }
        let recorded: Vec<&Self> = std::iter::once(self).chain(&weights).collect();
        if is_recorded(&recorded) {
            let rows = self.rows(op, &index, &bags.embedding)?.to(compute)?;
            let rows = match &weights {
                Some(weights) => rows.mul(&weights.to(compute)?.unsqueeze(1)?)?,
                None => rows,
            };
            let reduction = match bags.mode {
                BagMode::Sum => IndexReduction::Sum,
                BagMode::Mean => IndexReduction::Mean,
                BagMode::Max => IndexReduction::Amax,
            };
            let zeros = self.new_zeros(&[number, columns], compute)?;
            let bags = zeros.index_reduce(0, &owners, &rows, reduction, false)?;
            return bags.to(dtype);
        }
        let start = neutral(how, compute);
        let start = self.new_full(&[number, columns], start, compute)?;
        let (weights, options) = (weights.as_ref(), &bags.embedding);
        let result = self.combined_bags(op, how, [&index, &owners], weights, options, start)?;
        let counts = owners.contiguous()?;
        let counts = counts.occurrences(op, number)?.unsqueeze(1)?;
        let result = match bags.mode {
            BagMode::Sum => result,
            BagMode::Mean => result.div(&counts.maximum(1)?.to(compute)?)?,
            BagMode::Max => result.masked_fill(&counts.eq(0)?, false)?,
        };
        result.to(dtype)
    }
}

impl Tensor {
    /// Whether this is a small table that is better converted once than whenever a row of it is read.
    fn is_read_often(&self, index: &Self) -> bool {
        self.count() <= AT_A_TIME && self.shape()[0] <= index.count()
    }

    /// The rows of this matrix at indices, times weights, combined with those of the bags that own them,
    /// some at a time.
    fn combined_bags(
        &self,
        op: &'static str,
        how: Combine,
        [index, owners]: [&Self; 2],
        weights: Option<&Self>,
        options: &Embedding,
        start: Self,
    ) -> Result<Self, Error> {
        let (mut result, compute) = (start.detach(), start.dtype());
        drop(start);
        let (number, columns) = (result.shape()[0], result.shape()[1]);
        let converted = (self.is_read_often(index) && options.max_norm.is_none())
            .then(|| self.to(compute))
            .transpose()?;
        let table = converted.as_ref().unwrap_or(self);
        let step = (AT_A_TIME / columns.max(1)).max(1);
        for first in (0..index.count()).step_by(step) {
            let some = step.min(index.count() - first);
            let part = |x: &Self| x.narrow(0, first as isize, some);
            let mut rows = table.rows(op, &part(index)?, options)?.to(compute)?;
            if let Some(weights) = weights {
                rows = rows.mul(&part(weights)?.to(compute)?.unsqueeze(1)?)?;
            }
            let indices = Indices::new(op, &part(owners)?, 0, number, Negative::Refuse)?;
            let places = indices.layout_between(op, &[], &[columns])?;
            let mut target = Target::new(op, &result, compute, 0, &indices, places)?;
            // The memory is then nobody else's, and written in place.
            drop(result);
            target.combine(how, &rows)?;
            result = target.finish()?;
        }
        Ok(result)
    }

    /// The sums of the rows of this matrix in each of so many bags, in the dtype `sum`, and the numbers
    /// of rows in them as a column. Owners are in order.
    fn summed_bags(
        &self,
        op: &'static str,
        index: &Self,
        owners: &Self,
        number: usize,
        sum: DType,
    ) -> Result<(Self, Self), Error> {
        let (size, columns) = (self.shape()[0], self.shape()[1]);
        let places = Indices::new(op, index, 0, size, Negative::Refuse)?;
        let places = places.compact.expand(index.shape())?.contiguous()?;
        let owners = owners.contiguous()?;
        let (shape, column) = (
            Shape::new(op, &[number, columns])?,
            Shape::new(op, &[number, 1])?,
        );
        let outputs = [(sum, shape.count()), (DType::I64, number)];
        let outputs = outputs.map(|(dtype, count)| Output { dtype, count });
        let task = Task::Indexing(Indexing::EmbeddingBag);
        let made = perform_here(op, &task, &[self, &places, &owners], &outputs)?;
        let mut made = made.into_iter().flatten().map(|made| made.memory);
        let (sums, counts) = match (made.next(), made.next()) {
            (Some(sums), Some(counts)) => (
                Self::from_memory_of(sums, shape, sum),
                Self::from_memory_of(counts, column, DType::I64),
            ),
            _ => {
                let (start, plain) = (self.new_zeros(&shape, sum)?, Embedding::default());
                let (table, lists) = (self.detach(), [&places, &owners]);
                let sums = table.combined_bags(op, Combine::Add, lists, None, &plain, start)?;
                (sums, owners.occurrences(op, number)?.unsqueeze(1)?)
            }
        };
        let sizes = self.shape().clone();
        let sums = sums.with_rule(op, &[self], move |pass| {
            let rows = pass.gradient()?.index_select(0, &owners)?;
            Ok(smallvec![Some(sum_slices(op, &sizes, 0, &places, &rows)?)])
        })?;
        Ok((sums, counts))
    }
}

/// What offsets are accepted.
const IN_ORDER: &str = "offsets from 0 on, in order and not beyond the indices";
/// What the last one is, if it is no beginning.
const THE_END: &str = "the number of indices, since every index must belong to a bag";

/// [`owners`] of indices on a device other than the CPU, where nobody waits for what the offsets are.
fn owners_on_device(
    op: &'static str,
    index: &Tensor,
    offsets: &Tensor,
    include_last_offset: bool,
) -> Result<(usize, Tensor), Error> {
    let (count, given) = (index.count(), offsets.count());
    let number = given - usize::from(include_last_offset);
    let refuse_where = |wrong: &Tensor, first: usize, accepted: &'static str| {
        let refusal = Refusal {
            what: "offset",
            value: None,
            first: Some(first),
            accepted,
        };
        refuse(
            op,
            refusal,
            wrong,
            Some(&offsets.narrow(0, first as isize, given - first)?),
        )
    };
    let zero = offsets.new_zeros(&[1], DType::I64)?;
    let most = offsets.new_full(&[given - 1], count as i64, DType::I64)?;
    let before = Tensor::cat(&[&zero, &offsets.narrow(0, 0, given - 1)?], 0)?;
    let beyond = offsets.gt(&Tensor::cat(&[&zero, &most], 0)?)?;
    refuse_where(&offsets.lt(&before)?.logical_or(&beyond)?, 0, IN_ORDER)?;
    let last = given - 1;
    if include_last_offset {
        let end = offsets.narrow(0, last as isize, 1)?;
        refuse_where(&end.ne(count as i64)?, last, THE_END)?;
    }
    let starts = offsets.narrow(0, 0, number)?;
    Ok((number, stretches(op, &starts, count)?))
}

/// The number of bags, and the one that each index belongs to.
fn owners(op: &'static str, index: &Tensor, bags: &Bags<'_>) -> Result<(usize, Tensor), Error> {
    let offsets = match (bags.offsets, index.rank()) {
        (None, 2) => {
            let (number, length) = (index.shape()[0], index.shape()[1]);
            let owners = index.new_arange(0, number as i64, 1, DType::I64)?;
            let owners = owners.unsqueeze(1)?;
            let owners = owners.expand(&[number, length])?.ravel()?;
            return Ok((number, owners));
        }
        (Some(offsets), 1) if offsets.rank() == 1 => offsets.as_int64(op)?.settled()?,
        _ => {
            let accepted = "a matrix without offsets, or a vector with a vector of them";
            return Err(wrong_shape(op, "input", index.shape(), accepted));
        }
    };
    let count = index.count();
    if offsets.count() == 0 {
        if count > 0 {
            let accepted = "none without offsets: every index must belong to a bag";
            return Err(wrong_shape(op, "input", index.shape(), accepted));
        }
        return Ok((0, index.new_zeros(&[0], DType::I64)?));
    }
    if offsets.host_address().is_none() {
        return owners_on_device(op, index, &offsets, bags.include_last_offset);
    }
    let read = offsets.read(op)?;
    let starts: &[i64] = bytemuck::cast_slice(&read);
    let number = starts.len() - usize::from(bags.include_last_offset);
    let mut before = 0;
    for (place, start) in starts.iter().enumerate() {
        let in_order = (before..=count as i64).contains(start) && (place > 0 || *start == 0);
        if !in_order {
            let problem = Problem::OutOfRange {
                what: "offset",
                index: Some(place),
                value: start.to_string(),
                accepted: IN_ORDER,
            };
            return Err(Error::new(op, problem));
        }
        before = *start;
    }
    if let (true, Some(end)) = (bags.include_last_offset, starts.last())
        && *end != count as i64
    {
        let problem = Problem::OutOfRange {
            what: "offset",
            index: Some(number),
            value: end.to_string(),
            accepted: THE_END,
        };
        return Err(Error::new(op, problem));
    }
    let mut owners = try_vec(op, count, 0_i64)?;
    for (bag, start) in starts.iter().take(number).enumerate() {
        let stop = starts.get(bag + 1).map_or(count, |stop| *stop as usize);
        owners[*start as usize..stop].fill(bag as i64);
    }
    Ok((number, index.new_from_slice(&owners, &[count])?))
}
