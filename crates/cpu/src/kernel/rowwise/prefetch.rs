//! Memory that is asked for before it is needed.

use crate::simd;

/// Elements that are read next: memory is asked for some of them whenever as many others are worked
/// on, so that it is not idle in the meantime.
///
/// Measured on norms of 4096 lines of 1024 float32: 1.25 instead of 1.44 ms.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ahead<'a> {
    bytes: &'a [u8],
    size: usize,
    /// The half of each block that is asked for, where two loops share them.
    half: Option<bool>,
}

impl<'a> Ahead<'a> {
    /// Elements of some bytes each.
    pub(crate) fn new(bytes: &'a [u8], size: usize) -> Self {
        Self {
            bytes,
            size,
            half: None,
        }
    }

    /// Asks for those that correspond to `count` elements from `place` on.
    #[inline(always)]
    pub(crate) fn fetch(self, place: usize, count: usize) {
        let (start, len) = (place * self.size, count * self.size);
        match self.half {
            Some(is_second) => {
                let start = start + if is_second { len / 2 } else { 0 };
                simd::prefetch_bytes(self.bytes, start, len / 2);
            }
            None => simd::prefetch_bytes(self.bytes, start, len),
        }
    }

    /// For two loops that take as long as memory does only together.
    #[inline(always)]
    pub(crate) fn shared(self) -> [Self; 2] {
        [false, true].map(|is_second| Self {
            half: Some(is_second),
            ..self
        })
    }

    /// What corresponds to the elements from `place` on.
    #[inline(always)]
    pub(crate) fn after(self, place: usize) -> Self {
        let start = (place * self.size).min(self.bytes.len());
        Self {
            bytes: &self.bytes[start..],
            ..self
        }
    }
}
