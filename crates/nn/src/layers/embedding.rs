//! Embeddings: rows of a table that indices name.

use allotrope_dtype::{DType, Error, Problem, default_dtype};
use allotrope_tensor::{BagMode, Bags, Device, Embedding as Lookup, Index, Tensor, no_grad};

use crate::{Layer, Module, Parameter};

/// How rows are looked up.
///
/// ```
/// use allotrope_nn::{DType, Embedding, EmbeddingOptions, Layer, Tensor};
/// let options = EmbeddingOptions { padding_idx: Some(0), ..Default::default() };
/// let table = Embedding::with(10, 4, options)?;
/// assert_eq!(table.forward(&Tensor::new([0_i64])?)?, Tensor::zeros((1, 4), DType::F32)?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingOptions {
    /// The index of a row of zeros that is not learned.
    pub padding_idx: Option<usize>,
    /// Rows with a greater norm are scaled to it.
    pub max_norm: Option<f64>,
    /// The order of that norm.
    pub norm_type: f64,
    /// Whether the gradient of a row is divided by how often it is read.
    pub scale_grad_by_freq: bool,
    /// The dtype of the rows.
    pub dtype: DType,
    /// The device of the same.
    pub device: Device,
}

impl Default for EmbeddingOptions {
    fn default() -> Self {
        Self {
            padding_idx: None,
            max_norm: None,
            norm_type: 2.0,
            scale_grad_by_freq: false,
            dtype: default_dtype(),
            device: Device::cpu(),
        }
    }
}

impl EmbeddingOptions {
    fn table(&self, op: &'static str, rows: usize, size: usize) -> Result<Parameter, Error> {
        let place = (self.dtype, self.device);
        let weight = Parameter::new(Tensor::randn(&[rows, size], place, None)?)?;
        if let Some(padding) = self.padding_idx {
            if padding >= rows {
                let (index, dim) = (padding as isize, 0);
                let problem = Problem::IndexOutOfRange {
                    index,
                    dim,
                    size: rows,
                };
                return Err(Error::new(op, problem));
            }
            let _off = no_grad();
            let row = [Index::At(padding as isize)];
            weight.variable().assign(op, &row, 0)?;
        }
        Ok(weight)
    }

    fn lookup(&self) -> Lookup {
        Lookup {
            padding_idx: self.padding_idx.map(|index| index as isize),
            max_norm: self.max_norm,
            norm_type: self.norm_type,
            scale_grad_by_freq: self.scale_grad_by_freq,
        }
    }
}

/// An embedding: the rows of a table at indices of any shape.
///
/// ```
/// use allotrope_nn::{Embedding, Layer, Tensor};
/// let table = Embedding::new(10, 4)?;
/// let rows = table.forward(&Tensor::new([[1_i64, 2, 9]])?)?;
/// assert_eq!(rows.shape().to_vec(), [1, 3, 4]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Embedding {
    /// `[rows, size]`.
    pub weight: Parameter,
    /// How rows are looked up.
    #[module(skip)]
    pub options: EmbeddingOptions,
}

impl Embedding {
    /// A table of so many rows.
    ///
    /// # Errors
    /// A memory error.
    pub fn new(rows: usize, size: usize) -> Result<Self, Error> {
        Self::with(rows, size, EmbeddingOptions::default())
    }

    /// A table with options.
    ///
    /// # Errors
    /// An index error for a padding index that is no row, a memory error.
    pub fn with(rows: usize, size: usize, options: EmbeddingOptions) -> Result<Self, Error> {
        let weight = options.table("embedding", rows, size)?;
        Ok(Self { weight, options })
    }
}

impl Layer for Embedding {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.weight.value().embedding(input, self.options.lookup())
    }
}

/// How the rows of a bag become one.
///
/// ```
/// use allotrope_nn::{EmbeddingBag, EmbeddingBagOptions, Layer, Tensor};
/// let options = EmbeddingBagOptions { include_last_offset: true, ..Default::default() };
/// let bags = EmbeddingBag::with(10, 4, options)?;
/// let (x, offsets) = (Tensor::new([1_i64, 2, 4])?, Tensor::new([0_i64, 2, 3])?);
/// assert_eq!(bags.forward(&x, Some(&offsets), None)?.shape(), [2, 4]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbeddingBagOptions {
    /// Their mean, sum, or the greatest.
    pub mode: BagMode,
    /// Whether the last offset is the end of the last bag.
    pub include_last_offset: bool,
    /// How rows are looked up.
    pub embedding: EmbeddingOptions,
}

/// An embedding of bags: the mean, sum or maximum of the rows of a table at the indices of each bag.
///
/// ```
/// use allotrope_nn::{EmbeddingBag, Layer, Tensor};
/// let bags = EmbeddingBag::new(10, 4)?;
/// assert_eq!(bags.forward(&Tensor::new([[1_i64, 2], [3, 4]])?, None, None)?.shape(), [2, 4]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct EmbeddingBag {
    /// `[rows, size]`.
    pub weight: Parameter,
    /// How rows become one.
    #[module(skip)]
    pub options: EmbeddingBagOptions,
}

impl EmbeddingBag {
    /// A table of so many rows, of which means are taken.
    ///
    /// # Errors
    /// A memory error.
    pub fn new(rows: usize, size: usize) -> Result<Self, Error> {
        Self::with(rows, size, EmbeddingBagOptions::default())
    }

    /// A table with options.
    ///
    /// # Errors
    /// An index error for a padding index that is no row, a memory error.
    pub fn with(rows: usize, size: usize, options: EmbeddingBagOptions) -> Result<Self, Error> {
        let weight = options.embedding.table("embedding_bag", rows, size)?;
        Ok(Self { weight, options })
    }

    /// A row for each bag: a row of indices, or what is between two offsets into a vector of them.
    ///
    /// # Errors
    /// As [`Tensor::embedding_bag`].
    pub fn forward(
        &self,
        input: &Tensor,
        offsets: Option<&Tensor>,
        per_sample_weights: Option<&Tensor>,
    ) -> Result<Tensor, Error> {
        let bags = Bags {
            offsets,
            include_last_offset: self.options.include_last_offset,
            mode: self.options.mode,
            per_sample_weights,
            embedding: self.options.embedding.lookup(),
        };
        self.weight.value().embedding_bag(input, bags)
    }
}
