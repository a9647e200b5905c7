//! How many elements fall into each bin.

use allotrope_dtype::DType;

use crate::interrupt::Watch;
use crate::parallel::{self, CHUNK};

/// Bins up to which every thread has its own.
const FEW: usize = 4096;

/// Bins of one width between two bounds; the last one includes its upper bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bins {
    /// The lower bound of the first.
    pub(crate) low: f64,
    /// The upper bound of the last, above the lower one.
    pub(crate) high: f64,
}

/// Adds to `counts` how often each index occurs; all must be below the number of counts.
pub(crate) fn count_indices(indices: &[i64], counts: &mut [i64]) {
    count(indices, counts, |index| Some(*index as usize));
}

/// Adds to `counts`, one per bin, how many float32 or float64 fall into it. Those outside and NaN
/// are left out.
pub(crate) fn count_bins(dtype: DType, values: &[u8], bins: Bins, counts: &mut [i64]) {
    let (number, width) = (counts.len(), bins.high - bins.low);
    let bin = |x: f64| {
        // Halves, since the width may overflow.
        let width = if width.is_finite() {
            (x - bins.low) / width
        } else {
            (x / 2.0 - bins.low / 2.0) / (bins.high / 2.0 - bins.low / 2.0)
        };
        let bin = (width * number as f64) as usize;
        (bins.low <= x && x <= bins.high).then(|| bin.min(number - 1))
    };
    if dtype == DType::F32 {
        count(bytemuck::cast_slice::<u8, f32>(values), counts, |x| {
            bin(f64::from(*x))
        });
    } else {
        count(bytemuck::cast_slice::<u8, f64>(values), counts, |x| bin(*x));
    }
}

/// Counts of each bin side by side: an addition waits for the one before to the same place.
const ABREAST: usize = 4;

fn count<T: Sync>(
    values: &[T],
    counts: &mut [i64],
    bin: impl Fn(&T) -> Option<usize> + Send + Sync,
) {
    if counts.len() > FEW || values.len() < ABREAST * counts.len() {
        let mut watch = Watch::new();
        for values in values.chunks(CHUNK) {
            watch.check();
            for bin in values.iter().filter_map(&bin) {
                counts[bin] += 1;
            }
        }
        return;
    }
    // As many parts as there are shares of work, so that the counts of each are worth joining.
    let part = values.len().div_ceil(4 * crate::parallel::thread_count());
    let part = part.max(CHUNK);
    let totals = parallel::map(values.len().div_ceil(part), |index| {
        let mut own = vec![[0_i64; ABREAST]; counts.len()];
        let start = index * part;
        let values = &values[start..values.len().min(start + part)];
        let (some, rest) = values.as_chunks::<ABREAST>();
        for some in some {
            for (place, value) in some.iter().enumerate() {
                if let Some(bin) = bin(value) {
                    own[bin][place] += 1;
                }
            }
        }
        for bin in rest.iter().filter_map(&bin) {
            own[bin][0] += 1;
        }
        own
    });
    for others in totals {
        for (count, other) in counts.iter_mut().zip(others) {
            *count += other.iter().sum::<i64>();
        }
    }
}
