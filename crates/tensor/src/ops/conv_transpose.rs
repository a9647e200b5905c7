//! Transposed convolution: the way back of a convolution.
//!
//! With a stride `s`, results at places of equal remainder by `s` know only every `s`th tap: each
//! such class is a convolution of stride 1 with some of the taps in reverse, and nothing is
//! multiplied by the zeros between the elements. Classes are interleaved in the end.

use crate::host::Buffer;
use allotrope_cpu::kernel::{Axis, Edge, copy, copy_into};
use allotrope_cpu::parallel::for_each_block;
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::structured::{Structured, convolution as row};
use allotrope_op::{Dims, Layout, Shape, Slice};

use super::conv::{Layer, as_volumes, bad_filters, check_bias, common_dtype};
use super::conv_gradient::{is_convolution_recorded, recorded_transposed};
use super::window::{check_rank, does_not_fit, per_axis, reach};
use crate::Tensor;
use crate::elementwise::room;

/// How filters spread over a grid.
#[derive(Clone, Copy, Debug)]
pub struct TransposedOptions<'a> {
    /// From the place of an element to that of the next; none is 1.
    pub stride: &'a [usize],
    /// Places taken away on each side; none is 0.
    pub padding: &'a [usize],
    /// Places added at the end; none is 0.
    pub output_padding: &'a [usize],
    /// From an element of a filter to the next; none is 1.
    pub dilation: &'a [usize],
    /// Groups of channels that know nothing of each other.
    pub groups: usize,
}

impl Default for TransposedOptions<'_> {
    fn default() -> Self {
        Self {
            stride: &[],
            padding: &[],
            output_padding: &[],
            dilation: &[],
            groups: 1,
        }
    }
}

macro_rules! convolutions {
    ($($rank:literal, $what:literal, $name:ident, $row:ident;)*) => {
        impl Tensor {$(
            #[doc = concat!("Filters `[channels, filters / groups, window]` over ", $what, " times each element, summed where they overlap.")]
            ///
            /// Operands are promoted to their common dtype; 8- and 16-bit floats are summed in
            /// float32 and rounded once, integers wrap, truth values are joined by or.
            ///
            /// # Errors
            /// A dtype error where promotion refuses, a value error for shapes or windows that do
            /// not fit, a memory error.
            pub fn $name(
                &self,
                weight: &Self,
                bias: Option<&Self>,
                options: &TransposedOptions<'_>,
            ) -> Result<Self, Error> {
                spread(row::$row, self, weight, bias, options, $rank)
            }
        )*}
    };
}
convolutions! {
    1, "rows", conv_transpose1d, CONV_TRANSPOSE1D;
    2, "images", conv_transpose2d, CONV_TRANSPOSE2D;
    3, "volumes", conv_transpose3d, CONV_TRANSPOSE3D;
}

fn spread(
    row: Structured,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &TransposedOptions<'_>,
    rank: usize,
) -> Result<Tensor, Error> {
    if is_convolution_recorded(x, weight, bias) {
        return recorded_transposed(row, x, weight, bias, options, rank);
    }
    let op = row.name;
    let dtype = common_dtype(row, x, weight, bias)?;
    check_rank(op, x, rank)?;
    let channels = x.shape()[x.rank() - rank - 1];
    let groups = options.groups;
    let fits = weight.rank() == rank + 2
        && groups > 0
        && channels.is_multiple_of(groups)
        && weight.shape()[0] == channels;
    if !fits {
        return Err(bad_filters(op, x, weight, groups));
    }
    let of_group = weight.shape()[1];
    let Some(filters) = of_group.checked_mul(groups) else {
        return Err(bad_filters(op, x, weight, groups));
    };
    check_bias(op, bias, filters)?;
    let axes = axes(op, x, weight, options, rank)?;
    let image = as_volumes(x, rank)?;
    let window = as_volumes(weight, rank)?;
    let taps: Dims<isize> = window.shape()[2..]
        .iter()
        .map(|size| *size as isize)
        .collect();
    // [groups, channels, filters, taps] to [filters, channels of a group, taps in reverse].
    let per_group = (channels / groups) as isize;
    let split = [
        groups as isize,
        per_group,
        of_group as isize,
        taps[0],
        taps[1],
        taps[2],
    ];
    let joined = [filters as isize, per_group, taps[0], taps[1], taps[2]];
    let window = window.reshape(&split)?.transpose(1, 2)?.reshape(&joined)?;
    let sizes = axes.map(|axis| axis.output);
    let shape: Dims<usize> = x.shape()[..x.rank() - rank - 1]
        .iter()
        .copied()
        .chain([filters])
        .chain(sizes[3 - rank..].iter().copied())
        .collect();
    let shape = Shape::new(op, &shape)?;
    let mut out = room(op, &shape, dtype)?;
    let back = Back {
        op,
        dtype,
        image: &image,
        window: &window,
        bias,
        groups,
        axes,
    };
    back.run(&mut out)?;
    Ok(Tensor::from_buffer(out, shape, dtype))
}

/// The axes of a result: `input` and `output` are the sizes of the image and of the result.
pub(super) fn axes(
    op: &'static str,
    x: &Tensor,
    weight: &Tensor,
    options: &TransposedOptions<'_>,
    rank: usize,
) -> Result<[Axis; 3], Error> {
    let stride = per_axis(op, "stride", options.stride, rank, 1, 1)?;
    let padding = per_axis(op, "padding", options.padding, rank, 0, 0)?;
    let added = per_axis(op, "output_padding", options.output_padding, rank, 0, 0)?;
    let dilation = per_axis(op, "dilation", options.dilation, rank, 1, 1)?;
    let (grid, window) = (&x.shape()[x.rank() - rank..], &weight.shape()[2..]);
    let mut axes = [Axis::SINGLE; 3];
    for (place, axis) in axes[3 - rank..].iter_mut().enumerate() {
        let (input, kernel) = (grid[place], window[place]);
        if kernel == 0 || input == 0 {
            return Err(does_not_fit(op, kernel, stride[place], input));
        }
        if added[place] >= stride[place].max(dilation[place]) {
            let problem = Problem::OutOfRange {
                what: "output_padding",
                index: Some(place),
                value: added[place].to_string(),
                accepted: "paddings below the stride or the dilation",
            };
            return Err(Error::new(op, problem));
        }
        let reach = reach(op, kernel, dilation[place], input)?;
        let size = (input - 1)
            .checked_mul(stride[place])
            .and_then(|size| size.checked_add(reach + added[place]))
            .and_then(|size| size.checked_sub(2 * padding[place]))
            .filter(|size| *size > 0 && *size < usize::MAX / 8);
        let Some(output) = size else {
            return Err(does_not_fit(op, reach, stride[place], input));
        };
        *axis = Axis {
            padding: padding[place],
            dilation: dilation[place],
            ..Axis::sliding(input, kernel, stride[place], output)
        };
    }
    Ok(axes)
}

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
    /// The classes of an axis that something reaches.
    fn all(axis: &Axis) -> Vec<Self> {
        let divisor = greatest_divisor(axis.stride, axis.dilation);
        let step = axis.stride / divisor;
        let class = |first: usize| {
            // Tap k reaches place o from element (o + padding - k dilation) / stride.
            let start = first + axis.padding;
            let reaches = |tap: &usize| (tap * axis.dilation) % axis.stride == start % axis.stride;
            let tap = (0..step.min(axis.kernel)).find(reaches);
            let count = (axis.output - first).div_ceil(axis.stride);
            let (tap, taps) = match tap {
                Some(tap) => (tap, (axis.kernel - tap).div_ceil(step)),
                None => (0, 0),
            };
            let dilation = axis.dilation / divisor;
            let last = (tap + taps.saturating_sub(1) * step) * axis.dilation;
            // Where the last tap, which comes first in reverse, reads for the first place.
            let origin = (start as isize - last as isize) / axis.stride as isize;
            let skipped = (origin.max(0).unsigned_abs()).min(axis.input);
            Self {
                first,
                count,
                tap,
                step,
                taps,
                skipped,
                axis: Axis {
                    padding: (-origin).max(0).unsigned_abs(),
                    dilation,
                    ..Axis::sliding(axis.input - skipped, taps, 1, count)
                },
            }
        };
        let classes = (0..axis.stride.min(axis.output)).map(class);
        classes
            .filter(|class| class.taps > 0 && class.axis.input > 0)
            .collect()
    }
}

fn greatest_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A transposed convolution with everything checked.
struct Back<'a> {
    op: &'static str,
    dtype: DType,
    /// `[batch, channels, depth, height, width]`
    image: &'a Tensor,
    /// `[filters, channels of a group, depth, height, width]`
    window: &'a Tensor,
    bias: Option<&'a Tensor>,
    groups: usize,
    axes: [Axis; 3],
}

impl Back<'_> {
    fn run(&self, out: &mut [u8]) -> Result<(), Error> {
        /// Bytes of a class that are computed before they are interleaved.
        const WORKSPACE: usize = 16 << 20;
        if out.is_empty() {
            return Ok(());
        }
        let (batch, filters) = (self.image.shape()[0], self.window.shape()[0]);
        let places: usize = self.axes.iter().map(|axis| axis.output).product();
        let size = self.dtype.itemsize();
        let classes = self.classes();
        let all = self.axes.iter().map(|axis| axis.stride.min(axis.output));
        let count: usize = all.product();
        if classes.len() < count {
            self.fill(out)?;
        }
        let per_image = filters * places * size;
        let at_once = (WORKSPACE / (per_image / count).max(1)).clamp(1, batch);
        for first in (0..batch).step_by(at_once) {
            let images = at_once.min(batch - first);
            let part = self.image.narrow(0, first as isize, images)?;
            let out = &mut out[first * per_image..(first + images) * per_image];
            for classes in &classes {
                if count == 1 {
                    self.run_class(&part, classes, out)?;
                    continue;
                }
                let results: usize = classes.iter().map(|class| class.count).product();
                let mut room = Buffer::for_overwrite(self.op, images * filters * results * size)?;
                self.run_class(&part, classes, &mut room)?;
                let layout = self.interleaved(classes);
                for_each_block(out, places * size, |plane, out| {
                    let results = &room[plane * results * size..(plane + 1) * results * size];
                    copy_into(self.dtype, results, out, &layout);
                });
            }
        }
        Ok(())
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

    /// Writes the results of one class, next to each other.
    fn run_class(&self, image: &Tensor, classes: &[Class; 3], out: &mut [u8]) -> Result<(), Error> {
        let (mut image, mut window) = (image.clone(), self.window.clone());
        for (dim, class) in (2..).zip(classes) {
            image = image.narrow(dim, class.skipped as isize, class.axis.input)?;
            let taps = Slice {
                start: Some(class.tap as isize),
                stop: None,
                step: class.step as isize,
            };
            window = window.slice(dim, taps)?.flip(&[dim])?;
        }
        let layer = Layer {
            op: self.op,
            dtype: self.dtype,
            weight: &window,
            bias: self.bias,
            groups: self.groups,
            axes: classes.map(|class| class.axis),
            edge: Edge::Zeros,
        };
        layer.run(&image, out)
    }

    /// What results are that nothing reaches.
    fn fill(&self, out: &mut [u8]) -> Result<(), Error> {
        let Some(bias) = self.bias else {
            out.fill(0);
            return Ok(());
        };
        let bias = bias.to(self.dtype)?.reshape(&[-1, 1, 1, 1])?;
        let (batch, filters) = (self.image.shape()[0], self.window.shape()[0]);
        let [depth, height, width] = self.axes.map(|axis| axis.output);
        let all = bias.expand(&[batch, filters, depth, height, width])?;
        copy(self.dtype, all.storage(self.op)?, all.layout(), out);
        Ok(())
    }
}
