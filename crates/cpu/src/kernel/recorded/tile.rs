//! One step over the lines of a tile, compiled for each level.

use allotrope_dtype::{DType, Level};
use allotrope_op::{Lane, Number};
use bytemuck::Pod;

use super::recipe::Task;
use super::record::Action;
use crate::simd::{self, Body};

/// The elements that a step takes at a time: so many that their loop stays one until it is vectors.
pub(super) const LINE: usize = 64;

/// So many values.
pub(crate) type Line<W> = [W; LINE];

/// The bits of a float.
pub(crate) trait Word: Pod + Default {
    /// The float.
    const DTYPE: DType;
    /// Lines of a tile: the rooms of all values stay in the first-level cache.
    const LINES: usize = 2048 / (LINE * size_of::<Self>());
    /// The low bits.
    fn cut(bits: u64) -> Self;
    /// The value of an operation on three others.
    fn of<const FUSED: bool>(action: Action, values: [Self; 3]) -> Self;
}

/// Memory for one value of a tile, at a cache line.
#[derive(Default)]
pub(crate) struct Room<W> {
    memory: Vec<W>,
    start: usize,
}

impl<W: Word> Room<W> {
    pub(super) fn new() -> Self {
        // Some cache lines more, so that rooms do not lie at multiples of each other's length: a read
        // that differs from a recent write by a multiple of 4 KiB waits for it.
        let line = 64 / size_of::<W>();
        // bounded: a few lines.
        let memory = vec![W::default(); W::LINES * LINE + 2 * line];
        let start = memory.as_ptr().align_offset(64).min(line);
        Self { memory, start }
    }

    pub(super) fn lines(&self) -> &[Line<W>] {
        self.memory[self.start..].as_chunks().0
    }

    pub(super) fn lines_mut(&mut self) -> &mut [Line<W>] {
        self.memory[self.start..].as_chunks_mut().0
    }
}

/// Lines of a value: those of a tile, or the same one everywhere.
#[derive(Clone, Copy)]
pub(super) struct Place<'a, W> {
    lines: &'a [Line<W>],
    stride: usize,
}

impl<'a, W: Word> Place<'a, W> {
    pub(super) fn tile(lines: &'a [Line<W>]) -> Self {
        Self { lines, stride: 1 }
    }

    pub(super) fn same(line: Option<&'a Line<W>>) -> Self {
        Self {
            lines: line.map_or(&[], std::slice::from_ref),
            stride: 0,
        }
    }

    #[inline(always)]
    pub(super) fn line(&self, index: usize) -> &'a Line<W> {
        &self.lines[index * self.stride]
    }
}

/// Takes one half of complex numbers; zeros fill the last line.
pub(super) fn take_part<W: Word>(
    level: Level,
    values: &[[W; 2]],
    imaginary: bool,
    out: &mut [Line<W>],
) {
    let body = Take {
        values,
        imaginary,
        out,
    };
    simd::run_narrow(level, body);
}

struct Take<'a, W> {
    values: &'a [[W; 2]],
    imaginary: bool,
    out: &'a mut [Line<W>],
}

impl<W: Word> Body for Take<'_, W> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (whole, rest) = self.values.as_chunks::<LINE>();
        let mut last = [[W::default(); 2]; LINE];
        last[..rest.len()].copy_from_slice(rest);
        for (values, out) in whole.iter().chain([&last]).zip(self.out) {
            let mut parts = [[W::default(); LINE]; 2];
            for (lane, value) in values.iter().enumerate() {
                parts[0][lane] = value[0];
                parts[1][lane] = value[1];
            }
            *out = if self.imaginary { parts[1] } else { parts[0] };
        }
    }
}

/// Puts real and imaginary parts together.
pub(super) fn join_parts<W: Word>(level: Level, parts: [Place<W>; 2], out: &mut [[W; 2]]) {
    simd::run_narrow(level, Join { parts, out });
}

struct Join<'a, W> {
    parts: [Place<'a, W>; 2],
    out: &'a mut [[W; 2]],
}

impl<W: Word> Body for Join<'_, W> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let [re, im] = self.parts;
        let (whole, rest) = self.out.as_chunks_mut::<LINE>();
        let count = whole.len();
        for (index, out) in whole.iter_mut().enumerate() {
            let (re, im) = (re.line(index), im.line(index));
            let mut values = [[W::default(); 2]; LINE];
            for (lane, value) in values.iter_mut().enumerate() {
                *value = [re[lane], im[lane]];
            }
            *out = values;
        }
        if !rest.is_empty() {
            let (re, im) = (re.line(count), im.line(count));
            for ((out, re), im) in rest.iter_mut().zip(re).zip(im) {
                *out = [*re, *im];
            }
        }
    }
}

/// A task over the lines of a tile; parts of operands are put there by others.
pub(super) fn perform<W: Word>(level: Level, task: Task, from: [Place<W>; 3], out: &mut [Line<W>]) {
    match task {
        Task::Part(_) => {}
        Task::Spread => {
            for (index, out) in out.iter_mut().enumerate() {
                *out = *from[0].line(index);
            }
        }
        Task::Plain(action) => simd::run(level, Plain { action, from, out }),
        Task::Row(kernel, arity) => {
            let count = out.len();
            let bytes =
                from.map(|from| bytemuck::cast_slice(&from.lines[..count.min(from.lines.len())]));
            kernel(level, &bytes[..arity], bytemuck::cast_slice_mut(out));
        }
    }
}

struct Plain<'a, W> {
    action: Action,
    from: [Place<'a, W>; 3],
    out: &'a mut [Line<W>],
}

/// The loop of an action over the first `N` operands. Results are stored a line at a time, so that the
/// compiler need not ask whether they lie among the operands.
#[inline(always)]
fn each<W: Word, const FUSED: bool, const N: usize>(
    action: Action,
    from: [Place<W>; 3],
    out: &mut [Line<W>],
) {
    for (index, out) in out.iter_mut().enumerate() {
        let a = from[0].line(index);
        let b = from[usize::from(N > 1)].line(index);
        let c = from[if N > 2 { 2 } else { 0 }].line(index);
        let mut results = [W::default(); LINE];
        for (lane, result) in results.iter_mut().enumerate() {
            *result = W::of::<FUSED>(action, [a[lane], b[lane], c[lane]]);
        }
        *out = results;
    }
}

macro_rules! loops {
    ($self:ident $FUSED:ident: $($action:ident $arity:literal)*) => {
        match $self.action {
            $(Action::$action => each::<W, $FUSED, $arity>(Action::$action, $self.from, $self.out),)*
            // Parts, constants and rows are no plain operations.
            Action::Part(_) | Action::Constant | Action::Row(_) => {}
        }
    };
}

impl<W: Word> Body for Plain<'_, W> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        loops! { self FUSED:
            Add 2 Sub 2 Mul 2 Div 2 MulAdd 3 MulRest 2 Sqrt 1
            Floor 1 Ceil 1 Trunc 1 Round 1 Rem 2 Lt 2 Le 2 Eq 2 Select 3
            And 2 Or 2 Xor 2 AddBits 2 SubBits 2 MulBits 2
            Shl 2 Shr 2 ShrLogical 2 EqBits 2 LtBits 2
        }
    }
}

macro_rules! impl_word {
    ($($word:ty, $whole:ty, $float:ty, $dtype:ident;)*) => {$(
        impl Word for $word {
            const DTYPE: DType = DType::$dtype;

            #[inline(always)]
            fn cut(bits: u64) -> Self {
                bits as Self
            }

            #[inline(always)]
            fn of<const FUSED: bool>(action: Action, [a, b, c]: [Self; 3]) -> Self {
                let mask = |truth: bool| if truth { Self::MAX } else { 0 };
                let float = |bits: Self| Number::<$float, FUSED>(<$float>::from_bits(bits));
                let (x, y, z) = (float(a), float(b), float(c));
                let float = match action {
                    Action::Add => x + y,
                    Action::Sub => x - y,
                    Action::Mul => x * y,
                    Action::Div => x / y,
                    Action::MulAdd => x.mul_add(y, z),
                    Action::MulRest => x.mul_exact(y).1,
                    Action::Sqrt => x.sqrt(),
                    Action::Floor => x.floor(),
                    Action::Ceil => x.ceil(),
                    Action::Trunc => x.trunc(),
                    Action::Round => x.round(),
                    Action::Rem => x.rem(y),
                    Action::Lt => return mask(x.lt(y)),
                    Action::Le => return mask(x.le(y)),
                    Action::Eq => return mask(x.eq(y)),
                    Action::Select => return a & b | !a & c,
                    Action::And => return a & b,
                    Action::Or => return a | b,
                    Action::Xor => return a ^ b,
                    Action::AddBits => return a.wrapping_add(b),
                    Action::SubBits => return a.wrapping_sub(b),
                    Action::MulBits => return a.wrapping_mul(b),
                    Action::Shl => return a.wrapping_shl(b as u32),
                    Action::Shr => return (a as $whole).wrapping_shr(b as u32) as Self,
                    Action::ShrLogical => return a.wrapping_shr(b as u32),
                    Action::EqBits => return mask(a == b),
                    Action::LtBits => return mask((a as $whole) < (b as $whole)),
                    Action::Part(_) | Action::Constant | Action::Row(_) => return a,
                };
                float.0.to_bits()
            }
        }
    )*};
}
impl_word! {
    u32, i32, f32, F32;
    u64, i64, f64, F64;
}
