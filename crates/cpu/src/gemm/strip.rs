//! Elements on their way to panels: side by side, or one line after the other.

use bytemuck::Pod;

use crate::simd;

/// Elements to pack: at `place + line * across + index * along` of `source`.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a, L> {
    pub(super) source: &'a [L],
    pub(super) place: isize,
    /// From one line to the next.
    pub(super) across: isize,
    /// From one index of the summed dimension to the next.
    pub(super) along: isize,
    /// How many lines.
    pub(super) lines: usize,
    /// How many indices.
    pub(super) count: usize,
}

impl<L: Copy> Lines<'_, L> {
    #[inline(always)]
    pub(super) fn at(&self, line: usize, index: usize) -> L {
        let place = self.place + line as isize * self.across + index as isize * self.along;
        self.source[place as usize]
    }

    /// One index of every line, where the lines are neighbours.
    #[inline(always)]
    pub(super) fn step(&self, index: usize) -> Option<&[L]> {
        let place = (self.place + index as isize * self.along) as usize;
        (self.across == 1).then(|| &self.source[place..place + self.lines])
    }

    /// One line, where its indices are neighbours.
    #[inline(always)]
    pub(super) fn line(&self, line: usize) -> Option<&[L]> {
        let place = (self.place + line as isize * self.across) as usize;
        (self.along == 1).then(|| &self.source[place..place + self.count])
    }
}

impl<'a> Lines<'a, i16> {
    /// The pairs along lines whose elements are neighbours, as they lie in memory.
    #[inline(always)]
    pub(super) fn in_pairs(&self) -> Option<Lines<'a, [i16; 2]>> {
        let fits = self.along == 1 && self.across >= 0 && self.across % 2 == 0;
        (fits && cfg!(target_endian = "little")).then(|| Lines {
            source: self.source[self.place as usize..].as_chunks().0,
            place: 0,
            across: self.across / 2,
            along: 1,
            lines: self.lines,
            count: self.count / 2,
        })
    }
}

/// Where to pack.
pub(super) struct Panel<'a, T> {
    pub(super) numbers: &'a mut [T],
    /// Numbers per step.
    pub(super) wide: usize,
    /// The index of the summed dimension that the stretch starts at; even.
    pub(super) first: usize,
    /// All of the summed dimension that the panel holds.
    pub(super) total: usize,
}

/// Numbers that are packed as they are.
#[inline(always)]
pub(super) fn pack_plain<T: Pod>(lines: Lines<'_, T>, panel: Panel<'_, T>) {
    let Panel {
        numbers,
        wide,
        first,
        ..
    } = panel;
    let numbers = &mut numbers[first * wide..(first + lines.count) * wide];
    if lines.across == 1 {
        match wide {
            _ if lines.lines < wide => copy_steps(lines, numbers, wide),
            32 => copy_whole_steps::<T, 32>(lines, numbers),
            16 => copy_whole_steps::<T, 16>(lines, numbers),
            12 => copy_whole_steps::<T, 12>(lines, numbers),
            8 => copy_whole_steps::<T, 8>(lines, numbers),
            _ => copy_steps(lines, numbers, wide),
        }
    } else if lines.along == 1 {
        transpose(lines, numbers, wide);
    } else {
        for (index, to) in numbers.chunks_exact_mut(wide).enumerate() {
            for (line, to) in to.iter_mut().enumerate().take(lines.lines) {
                *to = lines.at(line, index);
            }
        }
    }
}

/// Steps of which every number is there.
#[inline(always)]
fn copy_whole_steps<T: Pod, const WIDE: usize>(lines: Lines<'_, T>, numbers: &mut [T]) {
    /// Steps lie in different pages, where no prefetcher of the CPU follows.
    const AHEAD: isize = 12;
    let source = lines.source;
    for (index, to) in numbers.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
        let place = lines.place + index as isize * lines.along;
        prefetch::<T, WIDE>(source, place + AHEAD * lines.along);
        if let Some(from) = source[place as usize..].first_chunk::<WIDE>() {
            *to = *from;
        }
    }
}

#[inline(always)]
fn copy_steps<T: Pod>(lines: Lines<'_, T>, numbers: &mut [T], wide: usize) {
    for (index, to) in numbers.chunks_exact_mut(wide).enumerate() {
        if let Some(from) = lines.step(index) {
            to[..from.len()].copy_from_slice(from);
        }
    }
}

/// Asks memory for some elements.
#[inline(always)]
fn prefetch<T, const COUNT: usize>(source: &[T], place: isize) {
    let start = source.as_ptr().wrapping_offset(place);
    for line in (0..COUNT * size_of::<T>()).step_by(64) {
        simd::prefetch_line(start.cast::<u8>().wrapping_add(line));
    }
}

/// Lines that become columns, in squares of four.
#[inline(always)]
fn transpose<T: Pod>(lines: Lines<'_, T>, numbers: &mut [T], wide: usize) {
    const SIDE: usize = 4;
    let mut line = 0;
    while line + SIDE <= lines.lines {
        let rows = [0, 1, 2, 3].map(|i| lines.line(line + i).unwrap_or_default());
        let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] =
            rows.map(|row| row.as_chunks::<SIDE>());
        let (whole, rest) = numbers.split_at_mut(a.len() * SIDE * wide);
        let squares = a.iter().zip(b).zip(c).zip(d);
        for (to, (((a, b), c), d)) in whole.chunks_exact_mut(SIDE * wide).zip(squares) {
            // All is read before anything is written, so that it becomes shuffles of vectors.
            let columns: [[T; SIDE]; SIDE] = std::array::from_fn(|i| [a[i], b[i], c[i], d[i]]);
            for (to, column) in to.chunks_exact_mut(wide).zip(columns) {
                to[line..line + SIDE].copy_from_slice(&column);
            }
        }
        let values = a_rest.iter().zip(b_rest).zip(c_rest).zip(d_rest);
        for (to, (((a, b), c), d)) in rest.chunks_exact_mut(wide).zip(values) {
            to[line..line + SIDE].copy_from_slice(&[*a, *b, *c, *d]);
        }
        line += SIDE;
    }
    for line in line..lines.lines {
        let from = lines.line(line).unwrap_or_default();
        for (to, from) in numbers.chunks_exact_mut(wide).zip(from) {
            to[line] = *from;
        }
    }
}
