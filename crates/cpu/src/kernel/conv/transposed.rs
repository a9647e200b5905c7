//! Transposed convolution: the way back of a convolution.
//!
//! With a stride `s`, results at places of equal remainder by `s` know only every `s`th tap: each
//! such class is a convolution of stride 1 with some of the taps in reverse, and nothing is
//! multiplied by the zeros between the elements. Classes are interleaved in the end. Under filters larger
//! than the image a class is cut further, so that nothing much is multiplied by the zeros around it either.

use allotrope_dtype::{DType, Error};
use allotrope_op::task::{Axis, Edge};
use allotrope_op::{Dims, Layout, Shape, Slice};

use super::layer::fill_with_bias;
use super::{Layer, Operand};
use crate::Buffer;
use crate::kernel::copy_into;
use crate::parallel::for_each_block;

/// The results of one class along an axis.
#[derive(Clone, Copy)]
struct Class {
    /// The first place, and how many there are, a stride apart.
    first: usize,
    count: usize,
    /// The first tap that reaches them, the distance to the next, and how many there are.
    tap: usize,
    step: usize,
    taps: usize,
    /// Elements at the start of the image that nothing reaches.
    skipped: usize,
    /// The convolution of stride 1 over the rest.
    axis: Axis,
}

impl Class {
    /// The classes of an axis that something reaches. Where there are more taps than elements, most taps
    /// reach most results from beyond the image: results are cut into pieces, each with its own taps,
    /// so that the work is elements times taps.
    fn all(axis: &Axis) -> Vec<Self> {
        /// Results of a piece, which has a price of its own.
        const LEAST: usize = 32;
        let divisor = greatest_divisor(axis.stride, axis.dilation);
        let step = axis.stride / divisor;
        let dilation = axis.dilation / divisor;
        let mut classes = Vec::new();
        for first in 0..axis.stride.min(axis.output) {
            // Tap k reaches place o from element (o + padding - k dilation) / stride.
            let start = first + axis.padding;
            let reaches = |tap: &usize| (tap * axis.dilation) % axis.stride == start % axis.stride;
            let Some(tap) = (0..step.min(axis.kernel)).find(reaches) else {
                continue;
            };
            let taps = (axis.kernel - tap).div_ceil(step);
            let count = (axis.output - first).div_ceil(axis.stride);
            let piece = match taps > 2 * axis.input {
                true => axis.input.max(LEAST),
                false => count,
            };
            let element = (start as isize - (tap * axis.dilation) as isize) / axis.stride as isize;
            for begin in (0..count).step_by(piece) {
                let count = piece.min(count - begin);
                // The j-th of the taps reads element + c - j dilation for result c.
                let element = element + begin as isize;
                let least = (element - (axis.input as isize - 1)).max(0).unsigned_abs();
                let least = least.div_ceil(dilation);
                let Ok(highest) = usize::try_from(element + count as isize - 1) else {
                    continue;
                };
                let taps = taps.min(highest / dilation + 1).saturating_sub(least);
                if taps == 0 {
                    continue;
                }
                // Where the last tap, which comes first in reverse, reads for the first place.
                let origin = element - ((least + taps - 1) * dilation) as isize;
                let skipped = (origin.max(0).unsigned_abs()).min(axis.input);
                classes.push(Self {
                    first: first + begin * axis.stride,
                    count,
                    tap: tap + least * step,
                    step,
                    taps,
                    skipped,
                    axis: Axis {
                        padding: (-origin).max(0).unsigned_abs(),
                        dilation,
                        ..Axis::sliding(axis.input - skipped, taps, 1, count)
                    },
                });
            }
        }
        classes.retain(|class| class.axis.input > 0);
        classes
    }
}

fn greatest_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A transposed convolution with everything checked.
pub(crate) struct Transposed<'a> {
    pub(crate) op: &'static str,
    /// The dtype in which operands meet, and that of the results.
    pub(crate) dtype: DType,
    /// `[batch, channels, depth, height, width]`
    pub(crate) image: Operand<'a>,
    /// `[channels, filters of a group, depth, height, width]`
    pub(crate) weight: Operand<'a>,
    /// One number of the dtype per filter.
    pub(crate) bias: Option<Operand<'a>>,
    pub(crate) groups: usize,
    /// The sizes of images as inputs, those of results as outputs.
    pub(crate) axes: [Axis; 3],
}

impl Transposed<'_> {
    /// Writes `[batch, filters, depth, height, width]`.
    ///
    /// # Errors
    /// A memory error.
    pub(crate) fn run(&self, out: &mut [u8]) -> Result<(), Error> {
        /// Bytes of a class that are computed before they are interleaved.
        const WORKSPACE: usize = 16 << 20;
        if out.is_empty() {
            return Ok(());
        }
        let (batch, filters) = (self.image.layout.shape()[0], self.filters());
        let places: usize = self.axes.iter().map(|axis| axis.output).product();
        let size = self.dtype.itemsize();
        let classes = self.classes();
        let results = |class: &[Class; 3]| class.iter().map(|class| class.count).product::<usize>();
        let is_whole = classes
            .first()
            .is_some_and(|first| results(first) == places);
        let count = self.axes.iter().map(|axis| axis.stride.min(axis.output));
        let count: usize = count.product();
        if classes.iter().map(results).sum::<usize>() < places {
            // What results are that nothing reaches.
            match self.bias {
                Some(bias) => fill_with_bias(self.op, bias, [batch, filters, places], out)?,
                None => out.fill(0),
            }
        }
        let weight = self.filters_first()?;
        let per_image = filters * places * size;
        let at_once = (WORKSPACE / (per_image / count).max(1)).clamp(1, batch);
        for first in (0..batch).step_by(at_once) {
            let images = at_once.min(batch - first);
            let part = self.image.layout.slice(self.op, 0, range(first, images))?;
            let out = &mut out[first * per_image..(first + images) * per_image];
            for classes in &classes {
                if is_whole {
                    self.run_class(&part, &weight, classes, out)?;
                    continue;
                }
                let results = results(classes);
                let mut scratch =
                    Buffer::for_elements(self.op, self.dtype, images * filters * results)?;
                self.run_class(&part, &weight, classes, &mut scratch)?;
                let layout = self.interleaved(classes);
                for_each_block(out, places * size, |plane, out| {
                    let results = &scratch[plane * results * size..(plane + 1) * results * size];
                    copy_into(self.dtype, results, out, &layout);
                });
            }
        }
        Ok(())
    }

    fn filters(&self) -> usize {
        self.weight.layout.shape()[1] * self.groups
    }

    /// The filters as `[groups, filters of a group, channels of a group, depth, height, width]`.
    fn filters_first(&self) -> Result<Layout, Error> {
        let Operand { layout, .. } = self.weight;
        let (sizes, strides) = (layout.shape(), layout.strides());
        let channels = sizes[0] / self.groups;
        let mut split: Dims<usize> = Dims::from_slice(&[self.groups, sizes[1], channels]);
        split.extend_from_slice(&sizes[2..]);
        let of_group = channels as isize * strides[0];
        let mut steps: Dims<isize> = Dims::from_slice(&[of_group, strides[1], strides[0]]);
        steps.extend_from_slice(&strides[2..]);
        let shape = Shape::new(self.op, &split)?;
        Ok(Layout::from_parts(shape, steps, layout.offset()))
    }

    /// The classes of all axes, each with each.
    fn classes(&self) -> Vec<[Class; 3]> {
        let [depths, heights, widths] = self.axes.map(|axis| Class::all(&axis));
        // bounded: as many as strides have phases.
        let mut classes = Vec::with_capacity(depths.len() * heights.len() * widths.len());
        for depth in &depths {
            for height in &heights {
                classes.extend(widths.iter().map(|width| [*depth, *height, *width]));
            }
        }
        classes
    }

    /// Where the results of a class lie in a plane.
    fn interleaved(&self, classes: &[Class; 3]) -> Layout {
        let [_, height, width] = self.axes.map(|axis| axis.output);
        let rows = [height * width, width, 1];
        let mut strides = Dims::new();
        let (mut sizes, mut offset) = (Dims::new(), 0);
        for ((class, axis), row) in classes.iter().zip(&self.axes).zip(rows) {
            sizes.push(class.count);
            strides.push((axis.stride * row) as isize);
            offset += class.first * row;
        }
        // Fewer elements than the plane has.
        let shape = Shape::new(self.op, &sizes).unwrap_or_default();
        Layout::from_parts(shape, strides, offset)
    }

    /// Writes the results of one class of some images, next to each other.
    fn run_class(
        &self,
        image: &Layout,
        weight: &Layout,
        classes: &[Class; 3],
        out: &mut [u8],
    ) -> Result<(), Error> {
        let (mut image, mut weight) = (image.clone(), weight.clone());
        for (dim, class) in (0..).zip(classes) {
            let seen = range(class.skipped, class.axis.input);
            image = image.slice(self.op, 2 + dim, seen)?;
            // From the last tap to the first; others of its class may come before.
            let taps = Slice {
                start: Some((class.tap + (class.taps - 1) * class.step) as isize),
                stop: class
                    .tap
                    .checked_sub(class.step)
                    .map(|before| before as isize),
                step: -(class.step as isize),
            };
            weight = weight.slice(self.op, 3 + dim, taps)?;
        }
        let layer = Layer {
            op: self.op,
            dtype: self.dtype,
            weight: Operand {
                layout: &weight,
                ..self.weight
            },
            bias: self.bias,
            filters: self.filters(),
            groups: self.groups,
            axes: classes.map(|class| class.axis),
            edge: Edge::Zeros,
        };
        let image = Operand {
            layout: &image,
            ..self.image
        };
        layer.run(image, out)
    }
}

/// So many elements from the first on.
fn range(first: usize, count: usize) -> Slice {
    Slice {
        start: Some(first as isize),
        stop: Some((first + count) as isize),
        step: 1,
    }
}
