//! Integers that have no answer: the first of them that is zero or negative.

use allotrope_dtype::{DType, Level};
use allotrope_op::task::values::Refused;
use bytemuck::Pod;

use crate::parallel::{self, CHUNK};
use crate::simd::{self, Body};

/// As many parts at the most: what is found in each is listed.
const PARTS: usize = 1024;
/// Elements that are looked at before the answer is.
const BLOCK: usize = 1024;

/// The place of the first integer or truth value that is refused.
pub(crate) fn first_refused(dtype: DType, refused: Refused, integers: &[u8]) -> Option<usize> {
    if refused == Refused::Negative && !dtype.is_signed() {
        return None;
    }
    // Zero has no bit, what is negative has the highest one.
    match (dtype.itemsize(), refused) {
        (1, Refused::Zero) => first(integers, |x: &u8| *x == 0),
        (2, Refused::Zero) => first(integers, |x: &u16| *x == 0),
        (4, Refused::Zero) => first(integers, |x: &u32| *x == 0),
        (_, Refused::Zero) => first(integers, |x: &u64| *x == 0),
        (1, Refused::Negative) => first(integers, |x: &i8| *x < 0),
        (2, Refused::Negative) => first(integers, |x: &i16| *x < 0),
        (4, Refused::Negative) => first(integers, |x: &i32| *x < 0),
        (_, Refused::Negative) => first(integers, |x: &i64| *x < 0),
    }
}

fn first<W: Pod + Sync>(
    integers: &[u8],
    is_refused: impl Fn(&W) -> bool + Copy + Send + Sync,
) -> Option<usize> {
    let integers: &[W] = bytemuck::cast_slice(integers);
    let level = Level::current();
    let look = |start: usize, integers: &[W]| {
        let mut blocks = integers.chunks(BLOCK).enumerate();
        blocks.find_map(|(number, block)| {
            if !simd::run(level, Any { block, is_refused }) {
                return None;
            }
            let place = block.iter().position(is_refused)?;
            Some(start + number * BLOCK + place)
        })
    };
    if integers.len() <= CHUNK {
        return look(0, integers);
    }
    let part = integers.len().div_ceil(PARTS).max(CHUNK);
    let found = parallel::map(integers.len().div_ceil(part), |number| {
        let (start, end) = (number * part, integers.len().min((number + 1) * part));
        look(start, &integers[start..end])
    });
    found.into_iter().flatten().next()
}

/// Whether any is refused: the baseline does not compare words of 64 bits in vectors.
struct Any<'a, W, F> {
    block: &'a [W],
    is_refused: F,
}

impl<W, F: Fn(&W) -> bool> Body for Any<'_, W, F> {
    type Output = bool;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        let is_refused = self.is_refused;
        self.block.iter().fold(false, |any, x| any | is_refused(x))
    }
}
