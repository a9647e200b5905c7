//! Conversions over slices at memory speed: the same meaning as `cast`, tile by tile.
//!
//! | file | what is in it |
//! |---|---|
//! | `route` | which stages lead from one dtype to another, and the tiles they run in |
//! | `stage` | one step of a route: a kernel with its parameters |
//! | `fused` | two stages in one pass, for casts too large for the caches |
//! | `kernels` | the conversions as plain loops over compute types |
//! | `table` | 8-bit sources: the 256 results, looked up |
//! | `careful` | the options that need each value looked at: raise, zero, stochastic |
//! | `stochastic` | stochastic rounding of float32 in vectors |
//! | `float8` | 8-bit floats to float32 and back, in vectors of AVX2 (unsafe) |
//! | `simd`, `x86` | stores past the caches and intrinsics (unsafe) |

mod careful;
#[cfg(target_arch = "x86_64")]
mod float8;
mod fused;
mod kernels;
mod route;
mod simd;
mod stage;
mod stochastic;
mod table;

pub use route::Scratch;

use crate::{CastOptions, DType, Element, Error, Level, Problem, Rounding};

/// Converts a slice of one element type to another.
///
/// # Errors
/// A value error if the lengths differ or an option has no meaning for the pair, a dtype error for
/// complex to real, and an overflow error with [`Overflow::Raise`](crate::Overflow::Raise).
///
/// ```
/// use allotrope_dtype::{CastOptions, Overflow, cast_slice, f8e4m3fn};
/// let mut codes = [f8e4m3fn::default(); 3];
/// cast_slice(&[0.5_f64, 300.0, 1e6], &mut codes, CastOptions::default())?;
/// assert_eq!(codes.map(|c| c.to_f32()), [0.5, 288.0, 448.0]);
///
/// let error = cast_slice(&[1, 300], &mut [0_u8; 2], CastOptions::overflow(Overflow::Raise));
/// assert!(error.unwrap_err().to_string().contains("at index 1: 300"));
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
pub fn cast_slice<S: Element, D: Element>(
    src: &[S],
    dst: &mut [D],
    options: CastOptions,
) -> Result<(), Error> {
    let (src, dst) = (bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
    cast_bytes(S::DTYPE, src, D::DTYPE, dst, options)
}

/// Converts the elements stored in `src` and stores them in `dst`.
///
/// # Errors
/// As [`cast_slice`]; also a value error if bytes are not a whole, aligned slice of their dtype.
pub fn cast_bytes(
    from: DType,
    src: &[u8],
    to: DType,
    dst: &mut [u8],
    options: CastOptions,
) -> Result<(), Error> {
    cast_bytes_at(Level::current(), from, src, to, dst, options)
}

/// [`cast_bytes`] with the kernels of a given level, or of the highest available below it.
///
/// # Errors
/// As [`cast_bytes`].
pub fn cast_bytes_at(
    level: Level,
    from: DType,
    src: &[u8],
    to: DType,
    dst: &mut [u8],
    options: CastOptions,
) -> Result<(), Error> {
    let (count, room) = (count_elements(from, src)?, count_elements(to, dst)?);
    if count != room {
        return Err(Error::new(
            "to",
            Problem::LengthMismatch {
                from: count,
                to: room,
            },
        ));
    }
    let overflow = options.resolve(from, to)?;
    if count == 0 {
        return Ok(());
    }
    if let (Rounding::Stochastic { seed, offset }, Some(format)) = (options.rounding, to.format())
        && !from.fits_in(to)
        && stochastic::is_possible(from, to, overflow)
    {
        let (source, target) = ((from, src), (format, dst));
        stochastic::cast(level, source, target, [seed, offset], overflow);
        return Ok(());
    }
    if careful::is_needed(from, to, options.rounding, overflow) {
        careful::cast(level, from, src, to, dst, options.rounding, overflow)
    } else {
        route::Route::between(from, to, overflow).run(level, src, dst);
        Ok(())
    }
}

/// A cast with the default rounding and overflow, prepared for many short slices.
///
/// ```
/// use allotrope_dtype::{Conversion, DType, Level, Scratch};
/// let conversion = Conversion::new(DType::U8, DType::I16)?;
/// let mut out = [0; 4];
/// conversion.run(Level::current(), &[1, 255], &mut out, &mut Scratch::default());
/// assert_eq!(out, [1, 0, 255, 0]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Conversion(route::Route);

impl Conversion {
    /// The cast between two dtypes.
    ///
    /// # Errors
    /// A dtype error for complex to real.
    pub fn new(from: DType, to: DType) -> Result<Self, Error> {
        let overflow = CastOptions::default().resolve(from, to)?;
        Ok(Self(route::Route::between(from, to, overflow)))
    }

    /// Converts every element. Bytes must be whole and aligned, and as many elements on both sides.
    pub fn run(&self, level: Level, src: &[u8], dst: &mut [u8], scratch: &mut Scratch) {
        self.0.run_cached(level, src, dst, scratch);
    }
}

/// Decodes a slice into its compute type, exactly.
///
/// # Errors
/// A value error if the lengths differ.
pub fn decode_slice<T: Element>(src: &[T], dst: &mut [T::Compute]) -> Result<(), Error> {
    cast_slice(src, dst, CastOptions::default())
}

/// Encodes a slice from its compute type: one rounding to nearest even, default overflow.
///
/// # Errors
/// A value error if the lengths differ.
pub fn encode_slice<T: Element>(src: &[T::Compute], dst: &mut [T]) -> Result<(), Error> {
    cast_slice(src, dst, CastOptions::default())
}

/// How many elements of `dtype` the bytes hold, if they are whole and aligned.
fn count_elements(dtype: DType, bytes: &[u8]) -> Result<usize, Error> {
    let size = dtype.itemsize();
    let alignment = dtype.alignment();
    let reason = if !bytes.len().is_multiple_of(size) {
        format!("{} bytes are not a multiple of {size}", bytes.len())
    } else if !bytes.is_empty() && !bytes.as_ptr().addr().is_multiple_of(alignment) {
        format!("the address is not a multiple of {alignment}")
    } else {
        return Ok(bytes.len() / size);
    };
    Err(Error::new("to", Problem::BadBuffer { dtype, reason }))
}
