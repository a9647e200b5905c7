//! Elements written, added, … to where indices say, in the order of the source.
//!
//! Threads share the work only where none can meet another's elements, so that every element sees
//! its sources in the same order whatever their number.

use allotrope_dtype::{DType, Error, c64, c128, dispatch_width};
use allotrope_op::{Combine, Put};
use bytemuck::Pod;

use crate::kernel::whole_elements;
use crate::parallel::{self, CHUNK};
use crate::walk::{Run, Walk};

/// Puts elements of a compute dtype to their places in `dst`, where all of them must exist.
///
/// Of truth values the sum and the greater are the disjunction, the product and the lesser the
/// conjunction.
///
/// # Errors
/// A device error for memory that the CPU cannot read.
pub(crate) fn scatter(
    op: &'static str,
    dtype: DType,
    combine: Combine,
    put: &Put<'_>,
    dst: &mut [u8],
) -> Result<(), Error> {
    let source = put.source.memory.on_host(op)?;
    let indices = put.indices.memory.on_host(op)?;
    let job = &Job {
        put,
        source: whole_elements(dtype, source),
        indices: bytemuck::cast_slice(whole_elements(DType::I64, indices)),
    };
    /// Instances of the loop for listed types.
    macro_rules! with_types {
        ($combine:expr, $($dtype:pat => $type:ty),*) => {
            match dtype {
                $($dtype => scatter_words::<$type>(dtype, job, dst, $combine),)*
                _ => {}
            }
        };
    }
    macro_rules! arithmetic {
        ($float:expr, $double:expr, $complex:expr, $wide:expr, $byte:expr, $short:expr, $int:expr, $long:expr) => {
            match dtype {
                DType::F32 => scatter_words::<f32>(dtype, job, dst, $float),
                DType::F64 => scatter_words::<f64>(dtype, job, dst, $double),
                DType::C64 => scatter_words::<c64>(dtype, job, dst, $complex),
                DType::C128 => scatter_words::<c128>(dtype, job, dst, $wide),
                // Two's complement: the bits of sums and products do not depend on the sign.
                _ => match dtype.itemsize() {
                    1 => scatter_words::<u8>(dtype, job, dst, $byte),
                    2 => scatter_words::<u16>(dtype, job, dst, $short),
                    4 => scatter_words::<u32>(dtype, job, dst, $int),
                    _ => scatter_words::<u64>(dtype, job, dst, $long),
                },
            }
        };
    }
    match combine {
        Combine::Replace => {
            dispatch_width!(dtype, |Word| scatter_words::<Word>(
                dtype,
                job,
                dst,
                |to, x| { *to = x }
            ));
        }
        // Not by a comparison, which nobody can foretell the outcome of: twice as long.
        Combine::Add | Combine::Max if dtype == DType::Bool => {
            scatter_words::<u8>(dtype, job, dst, |to, x| *to |= x);
        }
        Combine::Multiply | Combine::Min if dtype == DType::Bool => {
            scatter_words::<u8>(dtype, job, dst, |to, x| *to &= x);
        }
        Combine::Add => arithmetic!(
            |to, x| *to += x,
            |to, x| *to += x,
            |to, x| *to += x,
            |to, x| *to += x,
            |to, x| *to = to.wrapping_add(x),
            |to, x| *to = to.wrapping_add(x),
            |to, x| *to = to.wrapping_add(x),
            |to, x| *to = to.wrapping_add(x)
        ),
        Combine::Multiply => arithmetic!(
            |to, x| *to *= x,
            |to, x| *to *= x,
            |to, x| *to *= x,
            |to, x| *to *= x,
            |to, x| *to = to.wrapping_mul(x),
            |to, x| *to = to.wrapping_mul(x),
            |to, x| *to = to.wrapping_mul(x),
            |to, x| *to = to.wrapping_mul(x)
        ),
        // Written so that NaN stays once it is there, and enters if it is new.
        #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN is not greater")]
        #[allow(clippy::eq_op, reason = "NaN is not itself")]
        Combine::Max => with_types!(
            |to, x| *to = if x > *to || x != x { x } else { *to },
            DType::F32 => f32, DType::F64 => f64,
            DType::I8 => i8, DType::I16 => i16, DType::I32 => i32, DType::I64 => i64,
            DType::U8 => u8, DType::U16 => u16, DType::U32 => u32, DType::U64 => u64
        ),
        #[allow(clippy::eq_op, reason = "NaN is not itself")]
        Combine::Min => with_types!(
            |to, x| *to = if x < *to || x != x { x } else { *to },
            DType::F32 => f32, DType::F64 => f64,
            DType::I8 => i8, DType::I16 => i16, DType::I32 => i32, DType::I64 => i64,
            DType::U8 => u8, DType::U16 => u16, DType::U32 => u32, DType::U64 => u64
        ),
    }
    Ok(())
}

/// What is put, and where the CPU reads it.
struct Job<'a> {
    put: &'a Put<'a>,
    source: &'a [u8],
    indices: &'a [i64],
}

/// Rows from which a part of the target is worth a look at all indices.
const LONG_ROW: usize = 16;
/// Parts that the rows of a target fall into.
const PARTS: usize = 8;

/// Puts a run of elements, given as bytes, to a part of the target that begins at an element.
type PutRun<'a> = &'a (dyn Fn(&[u8], &Run<3>, usize, &mut [u8]) + Sync);

fn scatter_words<W: Pod>(
    dtype: DType,
    job: &Job<'_>,
    dst: &mut [u8],
    apply: impl Fn(&mut W, W) + Send + Sync + Copy,
) {
    let run: PutRun<'_> = &|src, run, start, dst| {
        let (src, dst) = (bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
        scatter_run::<W>(src, job.indices, job.put.step, run, start, dst, apply);
    };
    scatter_runs(dtype, job, dst, run);
}

/// Puts all elements, shared out over threads; only what becomes of a run depends on their type.
fn scatter_runs(dtype: DType, job: &Job<'_>, dst: &mut [u8], put: PutRun<'_>) {
    let &Job {
        put: job,
        source: src,
        indices,
    } = job;
    let count = job.source.layout.shape().count();
    if count == 0 || dst.is_empty() {
        return;
    }
    let size = dtype.itemsize();
    let whole = whole_elements(dtype, dst).len();
    let dst = &mut dst[..whole];
    let walk = Walk::new([job.source.layout, job.indices.layout, job.base]);
    let (block, share) = (whole / size / job.blocks, count / job.used);
    if count > CHUNK && job.used > 1 {
        // As many blocks together as make up a chunk of elements.
        let together = CHUNK.div_ceil(share);
        let parts = job.used.div_ceil(together);
        let used = whole.min(parts * block * together * size);
        parallel::for_each_part(&mut dst[..used], block * together * size, |number, dst| {
            let first = number * together;
            let blocks = together.min(job.used - first);
            walk.for_each_run(first * share, blocks * share, |run| {
                put(src, &run, first * block, dst);
            });
        });
        return;
    }
    let rows = job.step;
    let is_row = |run: &Run<3>| run.strides[1] == 0 && run.strides[2] == 1;
    let mut all_rows = count > CHUNK && rows >= LONG_ROW && job.blocks == 1;
    if all_rows {
        // Every run is a row, or part of one, with an index of its own.
        walk.for_each_run(0, 1, |run| all_rows = is_row(&run));
    }
    if all_rows {
        let part = (whole / size / rows).div_ceil(PARTS) * rows;
        let even = walk.even_runs();
        parallel::for_each_part(dst, part * size, |number, dst| {
            let own = number * part..number * part + dst.len() / size;
            let mut visit = |run: Run<3>| {
                let place = run.places[2] + indices[run.places[1]] as usize * rows;
                if own.contains(&place) {
                    put(src, &run, own.start, dst);
                }
            };
            match &even {
                // A walk takes as long for each row as to add it.
                Some((count, first, steps)) => (0..*count).for_each(|number| {
                    let place =
                        |i: usize| first.places[i].wrapping_add_signed(number as isize * steps[i]);
                    let places = [place(0), place(1), place(2)];
                    visit(Run { places, ..*first });
                }),
                None => walk.for_each_run(0, count, visit),
            }
        });
        return;
    }
    walk.for_each_run(0, count, |run| put(src, &run, 0, dst));
}

/// Puts a run of elements to a part of the target that begins at `start`.
#[inline(always)]
fn scatter_run<W: Pod>(
    src: &[W],
    indices: &[i64],
    step: usize,
    run: &Run<3>,
    start: usize,
    dst: &mut [W],
    apply: impl Fn(&mut W, W),
) {
    let ([from, place, base], [across, stride, along]) = (run.places, run.strides);
    if (across, stride, along) == (1, 0, 1) {
        let to = base + indices[place] as usize * step - start;
        let (to, from) = (&mut dst[to..to + run.length], &src[from..from + run.length]);
        for (to, x) in to.iter_mut().zip(from) {
            apply(to, *x);
        }
        return;
    }
    if (across, stride, along) == (0, 0, 1) {
        let to = base + indices[place] as usize * step - start;
        let x = src[from];
        dst[to..to + run.length]
            .iter_mut()
            .for_each(|to| apply(to, x));
        return;
    }
    let (mut from, mut place) = (from as isize, place as isize);
    let mut base = base as isize - start as isize;
    for _ in 0..run.length {
        let to = base + indices[place as usize] as isize * step as isize;
        apply(&mut dst[to as usize], src[from as usize]);
        from += across;
        place += stride;
        base += along;
    }
}
