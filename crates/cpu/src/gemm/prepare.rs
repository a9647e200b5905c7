//! What is done before a product is cut: seeing integers as signed, looking whether they are small,
//! and decoding factors of few elements at once.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use allotrope_dtype::{DType, Error, Scratch, Set};

use super::pack::Reader;
use super::{Factor, Matrix, Product};
use crate::simd::{self, Body};
use crate::{Buffer, parallel};

/// Rows and columns from which on a look at every element is a small part of the work.
const WORTH: usize = 16;
/// The most elements that are decoded at once: line by line, a product of 128 x 128 float16 takes
/// 2.2 times as long as one of float32, and at once 1.3 times.
const FEW: usize = 32 << 10;

/// The same product of 16-bit integers, if all integers of 32 bits in it are such numbers: modulo
/// 2^32 their sums are the same.
pub(super) fn narrowed<'a>(product: &Product<'a>) -> Option<Product<'a>> {
    let is_whole = |dtype: DType| matches!(dtype, DType::I32 | DType::U32);
    let [m, k, n] = [product.rows, product.depth, product.columns];
    let pays = is_whole(product.common) && is_whole(product.sum) && m.min(n) >= WORTH;
    let (first, second) = (
        |pair: &(usize, usize)| pair.0,
        |pair: &(usize, usize)| pair.1,
    );
    let fits = pays
        && is_small(&product.a, [m, k], product.offsets.iter().map(first))
        && is_small(&product.b, [k, n], product.offsets.iter().map(second));
    fits.then_some(Product {
        common: DType::I16,
        sum: DType::I32,
        ..*product
    })
}

/// The same product of signed integers: sums wrap, so that their bits are the same, and elements are
/// read as they are.
pub(super) fn signed<'a>(product: &Product<'a>) -> Product<'a> {
    let common = match product.common {
        DType::U32 => DType::I32,
        DType::U64 => DType::I64,
        _ => return *product,
    };
    // Elements of other dtypes are still to be widened, as their sign has it.
    let sign = |dtype: DType| {
        if dtype == product.common {
            common
        } else {
            dtype
        }
    };
    let is_inexact = |factor: Factor<'_>| Set::Inexact.contains(factor.dtype());
    if product.sum != product.common || is_inexact(product.a) || is_inexact(product.b) {
        return *product;
    }
    let [a, b] = [product.a, product.b].map(|mut factor| {
        match &mut factor {
            Factor::Stored(matrix) => matrix.dtype = sign(matrix.dtype),
            Factor::Made { dtype, .. } => *dtype = sign(*dtype),
        }
        factor
    });
    Product {
        a,
        b,
        common,
        sum: common,
        ..*product
    }
}

/// Whether all elements of a factor are integers of 16 bits, as far as a look at its memory tells.
fn is_small(
    factor: &Factor<'_>,
    sizes: [usize; 2],
    offsets: impl Iterator<Item = usize> + Clone,
) -> bool {
    let bytes = match factor {
        _ if factor.dtype().fits_in(DType::I16) => return true,
        _ if !matches!(factor.dtype(), DType::I32 | DType::U32) => return false,
        Factor::Stored(matrix) => {
            span(matrix, sizes, offsets).map(|span| &matrix.bytes[span.start * 4..span.end * 4])
        }
        Factor::Made { rows, .. } => rows.memory(),
    };
    /// Integers of one piece of work.
    const PIECE: usize = 64 << 10;
    let Some(bytes) = bytes else { return false };
    let integers: &[i32] = bytemuck::cast_slice(bytes);
    let all = AtomicBool::new(true);
    // Of so many pieces nothing is kept.
    parallel::map(integers.len().div_ceil(PIECE), |piece| {
        // A large one was found: no more is read.
        if all.load(Ordering::Relaxed) {
            let start = piece * PIECE;
            let end = integers.len().min(start + PIECE);
            let level = allotrope_dtype::Level::current();
            if !simd::run(level, AreSmall(&integers[start..end])) {
                all.store(false, Ordering::Relaxed);
            }
        }
    });
    all.into_inner()
}

/// Whether integers are those of 16 bits.
struct AreSmall<'a>(&'a [i32]);

impl Body for AreSmall<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        self.0.chunks(1024).all(|part| {
            let part = part.iter().fold(0, |all, x| all | x.wrapping_add(1 << 15));
            part & !0xFFFF == 0
        })
    }
}

/// The elements from the first to the last of matrices that start at `offsets`; nothing where they
/// lie far apart or backwards.
fn span(
    matrix: &Matrix<'_>,
    [rows, columns]: [usize; 2],
    offsets: impl Iterator<Item = usize> + Clone,
) -> Option<Range<usize>> {
    let strides = [matrix.row_stride, matrix.column_stride];
    let [down, across] = strides.map(|stride| usize::try_from(stride).ok());
    let start = offsets.clone().min()?;
    let last = offsets.clone().max()?;
    let extent = (rows.checked_sub(1)? * down?) + (columns.checked_sub(1)? * across?) + 1;
    let count = offsets.count() * rows * columns;
    let span = start..last + extent;
    (span.len() / 2 <= count).then_some(span)
}

/// Few elements of a factor, which are decoded together. Every thread has its own: what another core
/// has just written takes longer to read than to decode. Products of 128 x 128 float16 took 34 us on
/// two threads that shared theirs, as long as on one.
pub(super) struct Few {
    decoded: Buffer,
    span: Range<usize>,
}

impl Few {
    /// The elements of a factor, decoded; nothing where they are as they should be, made on demand, or
    /// many.
    pub(super) fn of(
        op: &'static str,
        reader: &Reader<'_>,
        sizes: [usize; 2],
        offsets: impl Iterator<Item = usize> + Clone,
        line: DType,
    ) -> Result<Option<Self>, Error> {
        let Factor::Stored(matrix) = reader.factor else {
            return Ok(None);
        };
        let span = span(&matrix, sizes, offsets);
        let few = span.filter(|span| span.len() <= FEW && !reader.decoding.is_copy());
        let Some(span) = few else { return Ok(None) };
        let mut decoded = Buffer::for_overwrite(op, span.len() * line.itemsize())?;
        let size = matrix.dtype.itemsize();
        let bytes = &matrix.bytes[span.start * size..span.end * size];
        let mut stops = [const { Vec::new() }; 2];
        let (decoding, mut scratch) = (&reader.decoding, Scratch::default());
        decoding.run(bytes, span.len(), &mut decoded, &mut stops, &mut scratch);
        Ok(Some(Self { decoded, span }))
    }

    /// A reader of the decoded elements, and the number of the first.
    pub(super) fn reader<'a>(&'a self, reader: &Reader<'a>, line: DType) -> (Reader<'a>, usize) {
        (reader.of_decoded(&self.decoded, line), self.span.start)
    }
}
