//! The matrix of windows, a stretch of a row at a time: row `(channel, tap)`, column `window`.

use allotrope_dtype::{DType, dispatch_width};
use bytemuck::Pod;

use super::Convolution;
use crate::gemm::Rows;
use crate::kernel::whole_elements;
use allotrope_op::task::{Axis, Edge};

/// Images in memory.
#[derive(Clone, Copy)]
pub(super) struct Images<'a> {
    dtype: DType,
    bytes: &'a [u8],
    offset: isize,
    /// Of images, channels and the three dimensions of a grid.
    strides: [isize; 5],
    groups: usize,
    /// Of a group.
    channels: usize,
    /// The bytes from the first element to the last, if there are few others among them.
    used: Option<&'a [u8]>,
    /// Whether the elements of a channel follow each other.
    pub(super) is_matrix: bool,
}

impl<'a> Images<'a> {
    pub(super) fn new(convolution: &Convolution<'a>) -> Self {
        let (dtype, bytes, layout) = convolution.image;
        let (shape, mut strides) = (layout.shape(), [0; 5]);
        strides.copy_from_slice(layout.strides());
        let row = shape[4] as isize;
        let inner = (strides[4], strides[3], strides[2]);
        let (bytes, size) = (whole_elements(dtype, bytes), dtype.itemsize());
        let extent = layout.extent();
        let dense = extent.filter(|(first, end)| (end - first) / 2 <= shape.count());
        Self {
            dtype,
            bytes,
            used: dense.map(|(first, end)| &bytes[first * size..end * size]),
            offset: layout.offset() as isize,
            strides,
            groups: convolution.groups,
            channels: shape[1] / convolution.groups,
            is_matrix: (shape[4] == 1 || inner.0 == 1)
                && (shape[3] == 1 || inner.1 == row)
                && (shape[2] == 1 || inner.2 == row * shape[3] as isize),
        }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn strides(&self) -> [isize; 5] {
        self.strides
    }

    /// Where a channel of a group of an image begins.
    pub(super) fn channel(&self, batch: usize, channel: usize) -> isize {
        let (image, group) = (batch / self.groups, batch % self.groups);
        let channel = group * self.channels + channel;
        self.offset + image as isize * self.strides[0] + channel as isize * self.strides[1]
    }
}

/// The rows of windows over images.
pub(super) struct Im2col<'a> {
    images: Images<'a>,
    axes: [Axis; 3],
    /// The sizes of the grid of columns.
    columns: [usize; 3],
    edge: Edge,
}

impl<'a> Im2col<'a> {
    pub(super) fn new(images: Images<'a>, convolution: &Convolution<'_>) -> Self {
        Self {
            images,
            axes: convolution.axes,
            columns: convolution.axes.map(|axis| axis.output),
            edge: convolution.edge,
        }
    }

    /// The place of a tap on one axis of the images; none is zero.
    fn place(&self, axis: usize, column: usize, tap: usize) -> Option<usize> {
        let axis = &self.axes[axis];
        let place = axis.first(column) + (tap * axis.dilation) as isize;
        self.edge.place(place, axis.input)
    }

    fn read_words<W: Pod>(&self, batch: usize, row: usize, first: usize, mut out: &mut [W]) {
        let source: &[W] = bytemuck::cast_slice(self.images.bytes);
        let [depth, height, width] = self.axes.map(|axis| axis.kernel);
        let (rest, across) = (row / width, row % width);
        let (rest, down) = (rest / height, rest % height);
        let (channel, deep) = (rest / depth, rest % depth);
        let start = self.images.channel(batch, channel);
        let [_, _, slice_stride, row_stride, _] = self.images.strides;
        let [_, rows, columns] = self.columns;
        let mut column = first % columns;
        let mut line = first / columns % rows;
        let mut slice = first / columns / rows;
        let mut in_slice = self.place(0, slice, deep);
        while !out.is_empty() {
            let run = (columns - column).min(out.len());
            let (now, rest) = out.split_at_mut(run);
            match (in_slice, self.place(1, line, down)) {
                (Some(slice), Some(line)) => {
                    let start = start + slice as isize * slice_stride + line as isize * row_stride;
                    self.read_row(source, start, column, across, now);
                }
                _ => now.fill(W::zeroed()),
            }
            out = rest;
            (column, line) = (0, line + 1);
            if line == rows {
                (line, slice) = (0, slice + 1);
                in_slice = self.place(0, slice, deep);
            }
        }
    }

    /// A tap of the windows of one row from a column on.
    fn read_row<W: Pod>(
        &self,
        source: &[W],
        start: isize,
        column: usize,
        tap: usize,
        out: &mut [W],
    ) {
        let axis = &self.axes[2];
        let stride = self.images.strides[4];
        if self.edge != Edge::Zeros {
            for (index, out) in out.iter_mut().enumerate() {
                let place = self.place(2, column + index, tap).unwrap_or(0);
                *out = source[(start + place as isize * stride) as usize];
            }
            return;
        }
        let inside = axis.outputs_of(tap);
        let end = column + out.len();
        let from = inside.start.clamp(column, end);
        let to = inside.end.clamp(from, end);
        out[..from - column].fill(W::zeroed());
        out[to - column..].fill(W::zeroed());
        if from < to {
            let first = start + axis.place(from, tap) as isize * stride;
            let out = &mut out[from - column..to - column];
            copy_steps(source, first, stride * axis.stride as isize, out);
        }
    }
}

/// Elements that lie evenly apart.
#[inline(always)]
pub(super) fn copy_steps<W: Pod>(source: &[W], first: isize, step: isize, out: &mut [W]) {
    if step == 1 {
        let first = first as usize;
        out.copy_from_slice(&source[first..first + out.len()]);
        return;
    }
    if let (2, Some((last, most))) = (step, out.split_last_mut()) {
        let first = first as usize;
        for (out, pair) in most.iter_mut().zip(source[first..].as_chunks::<2>().0) {
            *out = pair[0];
        }
        // The last one may be the last of all.
        *last = source[first + 2 * most.len()];
        return;
    }
    let mut place = first;
    for out in out {
        *out = source[place as usize];
        place += step;
    }
}

impl Rows for Im2col<'_> {
    fn read(&self, batch: usize, row: usize, first: usize, out: &mut [u8]) {
        dispatch_width!(self.images.dtype, |W| {
            self.read_words::<W>(batch, row, first, bytemuck::cast_slice_mut(out));
        });
    }

    fn memory(&self) -> Option<&[u8]> {
        self.images.used
    }
}
