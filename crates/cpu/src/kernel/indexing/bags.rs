//! Sums of rows of a table, each of a list of places.

use allotrope_dtype::DType;
use bytemuck::Pod;

use crate::parallel::{self, CHUNK};

/// Adds to each row of `out` the rows of a table of float32 or float64 at the places of its bag, in
/// order; `ends` says where among the places each bag ends. All places must be rows of the table.
pub fn add_bags(
    dtype: DType,
    table: &[u8],
    columns: usize,
    places: &[i64],
    ends: &[i64],
    out: &mut [u8],
) {
    match dtype {
        DType::F32 => add::<f32>(table, columns, places, ends, out),
        _ => add::<f64>(table, columns, places, ends, out),
    }
}

fn add<T: Pod + Send + Sync + std::ops::AddAssign>(
    table: &[u8],
    columns: usize,
    places: &[i64],
    ends: &[i64],
    out: &mut [u8],
) {
    if out.is_empty() {
        return;
    }
    let (table, out): (&[T], &mut [T]) =
        (bytemuck::cast_slice(table), bytemuck::cast_slice_mut(out));
    // Bags of one piece of work, by how many numbers they read.
    let per_bag = (places.len() / ends.len()).max(1).saturating_mul(columns);
    let bags = (CHUNK / per_bag).max(1);
    let is_large = places.len().saturating_mul(columns) > CHUNK;
    parallel::visit_blocks(out, bags * columns, is_large, |piece, out| {
        for (bag, sums) in out.chunks_exact_mut(columns).enumerate() {
            let bag = piece * bags + bag;
            let start = if bag == 0 { 0 } else { ends[bag - 1] };
            for place in &places[start as usize..ends[bag] as usize] {
                let row = &table[*place as usize * columns..][..columns];
                for (sum, number) in sums.iter_mut().zip(row) {
                    *sum += *number;
                }
            }
        }
    });
}
