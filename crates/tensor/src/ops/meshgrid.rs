//! Grids and choices: `meshgrid`, `cartesian_prod`, `combinations`, `vander`.

use crate::Tensor;
use crate::call::{self, Call};
use crate::device::common_backend;
use crate::transfer::gathered;
use crate::view::out_of_memory;
use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::movement::{CARTESIAN_PROD, COMBINATIONS, MESHGRID, VANDER};
use allotrope_op::{Dims, Piece, Shape};

impl Tensor {
    /// The coordinates of a grid: for each tensor of at most one dimension a view over the grid that
    /// varies along its own dimension. With `swapped` the first two dimensions change places, as
    /// NumPy's indexing="xy" has it. Every tensor keeps its dtype.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 2, 1, DType::U8)?;
    /// let grid = Tensor::meshgrid(&[&x, &x], false)?;
    /// assert_eq!(grid[0].to_vec::<u8>()?, [0, 0, 1, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for no tensors, for more than one dimension and for too many elements.
    pub fn meshgrid(tensors: &[&Self], swapped: bool) -> Result<Vec<Self>, Error> {
        if let Some(tensors) = gathered(tensors)? {
            return Self::meshgrid(&tensors.iter().collect::<Vec<_>>(), swapped);
        }
        let op = MESHGRID.name;
        // Each keeps its dtype.
        if let Some(first) = tensors.first() {
            Call::begin(&MESHGRID, &[first])?;
        }
        let (lines, shape) = lines(op, tensors)?;
        let views = lines.iter().enumerate().map(|(dim, line)| {
            let mut view = line.clone();
            for _ in dim + 1..lines.len() {
                view = view.unsqueeze(-1)?;
            }
            let view = view.expand(&shape).map_err(|error| error.in_op(op))?;
            if swapped && lines.len() > 1 {
                view.transpose(0, 1)
            } else {
                Ok(view)
            }
        });
        views.collect()
    }

    /// Every choice of one element of each tensor, as rows, the last varying fastest; of one tensor
    /// the tensor itself. The dtype is the common one.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (x, y) = (Tensor::new([1, 2])?, Tensor::new([5])?);
    /// assert_eq!(Tensor::cartesian_prod(&[&x, &y])?, Tensor::new([[1, 5], [2, 5]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`meshgrid`](Self::meshgrid); a dtype error where promotion refuses, a memory error.
    pub fn cartesian_prod(tensors: &[&Self]) -> Result<Self, Error> {
        if let Some(tensors) = gathered(tensors)? {
            return Self::cartesian_prod(&tensors.iter().collect::<Vec<_>>());
        }
        let op = CARTESIAN_PROD.name;
        let dtype = call::result_of(&CARTESIAN_PROD, tensors.iter().copied())?;
        let (lines, grid) = lines(op, tensors)?;
        if let [only] = &lines[..] {
            return Ok(only.clone());
        }
        let sizes: Dims<usize> = grid.iter().copied().chain([lines.len()]).collect();
        let shape = Shape::new(op, &sizes)?;
        let converted = lines.iter().map(|line| line.to(dtype));
        // bounded: as many as the caller lists.
        let converted = converted.collect::<Result<Vec<Self>, Error>>()?;
        let references: Vec<&Self> = converted.iter().collect();
        let views = Self::meshgrid(&references, false).map_err(|error| error.in_op(op))?;
        let mut pieces = Vec::new();
        for (column, view) in views.iter().enumerate() {
            let mut start: Dims<usize> = grid.iter().map(|_| 0).collect();
            start.push(column);
            pieces.push(Piece {
                memory: view.view_of().memory,
                dtype,
                layout: view.layout().unsqueeze(op, -1)?,
                start,
            });
        }
        let memory = common_backend(op, tensors)?.assemble(op, dtype, &shape, &pieces)?;
        let rows = Shape::new(op, &[grid.count(), lines.len()])?;
        let rows = Self::from_memory_of(memory, rows, dtype);
        let grid: Dims<isize> = grid.iter().map(|size| *size as isize).collect();
        rows.with_rule(op, &references, move |pass| {
            let gradient = pass.gradient()?;
            let each = (0..grid.len()).map(|line| {
                pass.give(line, || {
                    let column = gradient.select(1, line as isize)?.reshape(&grid)?;
                    let others = (0..grid.len()).filter(|dim| *dim != line);
                    let others: Dims<isize> = others.map(|dim| dim as isize).collect();
                    column.sum(Some(&others), false, None)
                })
            });
            each.collect()
        })
    }

    /// Every choice of `length` elements of a tensor of one dimension, in their order, as rows; with
    /// `replacement` an element may be chosen again.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 3, 1, DType::U8)?;
    /// assert_eq!(x.combinations(2, false)?.to_vec::<u8>()?, [0, 1, 0, 2, 1, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for other numbers of dimensions than one, a memory error.
    pub fn combinations(&self, length: usize, replacement: bool) -> Result<Self, Error> {
        let op = COMBINATIONS.name;
        let dtype = Call::begin(&COMBINATIONS, &[self])?.result;
        need_line(op, self)?;
        if length == 0 {
            return self.new_empty(&[0], dtype);
        }
        let places = choices(self.count(), length, replacement).ok_or_else(|| out_of_memory(op))?;
        let places = self.new_from_slice(&places, &[places.len() / length, length])?;
        self.select_known(op, 0, &places)
    }

    /// The powers of each element as rows: from the highest of `columns` down to 0, or from 0 up.
    /// Without `columns` there are as many as elements. Integers and bool give int64 or uint64.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1_i64, 2])?;
    /// assert_eq!(x.vander(Some(3), true)?, Tensor::new([[1_i64, 1, 1], [1, 2, 4]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for other numbers of dimensions than one, a memory error.
    pub fn vander(&self, columns: Option<usize>, increasing: bool) -> Result<Self, Error> {
        let op = VANDER.name;
        let dtype = Call::begin(&VANDER, &[self])?.result;
        need_line(op, self)?;
        let columns = columns.unwrap_or(self.count());
        let shape = Shape::new(op, &[self.count(), columns])?;
        if shape.count() == 0 {
            return self.new_empty(&shape, dtype);
        }
        // Refused before anything is computed.
        let room = self.new_empty(&shape, dtype);
        drop(room.map_err(|error| error.in_op(op))?);
        // Narrow floats are multiplied as float32 and rounded once.
        let x = self.to(dtype.compute())?;
        let mut powers = vec![x.ones_like()?];
        for i in 1..columns {
            powers.push(powers[i - 1].mul(&x).map_err(|error| error.in_op(op))?);
        }
        if !increasing {
            powers.reverse();
        }
        let references: Vec<&Self> = powers.iter().collect();
        Self::stack(&references, 1)
            .map_err(|error| error.in_op(op))?
            .to(dtype)
    }
}

/// Refuses any number of dimensions but one.
fn need_line(op: &'static str, x: &Tensor) -> Result<(), Error> {
    let given = x.rank();
    let problem = match given {
        1 => return Ok(()),
        0 => Problem::TooFewDimensions { given, least: 1 },
        _ => Problem::TooManyDimensions { given, most: 1 },
    };
    Err(Error::new(op, problem))
}

/// Tensors of at most one dimension as lines, and the shape of the grid that they span.
fn lines(op: &'static str, tensors: &[&Tensor]) -> Result<(Vec<Tensor>, Shape), Error> {
    if tensors.is_empty() {
        return Err(Error::new(op, Problem::NoOperands));
    }
    let mut lines = Vec::new();
    for tensor in tensors {
        if tensor.rank() > 1 {
            let (given, most) = (tensor.rank(), 1);
            return Err(Error::new(op, Problem::TooManyDimensions { given, most }));
        }
        lines.push(tensor.atleast_1d()?);
    }
    let sizes: Dims<usize> = lines.iter().map(Tensor::count).collect();
    let shape = Shape::new(op, &sizes)?;
    Ok((lines, shape))
}

/// The places of every choice, in order; `None` if there are too many for memory.
fn choices(size: usize, length: usize, replacement: bool) -> Option<Vec<i64>> {
    let mut places = Vec::new();
    let options = if replacement && size > 0 {
        size.checked_add(length - 1)?
    } else {
        size
    };
    let mut count: u128 = u128::from(length <= options);
    for i in 0..length.min(options - length.min(options)) {
        count = count.checked_mul((options - i) as u128)? / (i as u128 + 1);
    }
    let room = usize::try_from(count.checked_mul(length as u128)?).ok()?;
    places.try_reserve_exact(room).ok()?;
    if room == 0 {
        return Some(places);
    }
    let step = usize::from(!replacement);
    // bounded: no longer than a row of what there is room for.
    let mut chosen: Vec<usize> = (0..length).map(|i| i * step).collect();
    loop {
        places.extend(chosen.iter().map(|place| *place as i64));
        // The last place that can move on, and those behind it as near as they may be.
        let highest = |i: usize| size - 1 - (length - 1 - i) * step;
        let Some(turn) = (0..length).rev().find(|i| chosen[*i] < highest(*i)) else {
            return Some(places);
        };
        let next = chosen[turn] + 1;
        for (i, place) in chosen[turn..].iter_mut().enumerate() {
            *place = next + i * step;
        }
    }
}
