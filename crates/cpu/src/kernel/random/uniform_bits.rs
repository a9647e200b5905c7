//! From random bits to floats: fractions, and pairs of normal numbers.

use std::ops::{Add, Mul, Sub};

use allotrope_dtype::{Element, c64, c128};
use allotrope_op::Number;
use allotrope_op::elementary::{Elementary, cos_near32, cos_near64, sin_near32, sin_near64};

use super::{BLOCKS, Columns, Span, WORDS, interleave};

/// A float that a number, or one part of it, is drawn in.
pub(super) trait Part:
    Element + Default + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// The random bits of one.
    type Bits: Copy;
    /// The random bits of a span: of lane 0 for real parts, of lane 1 for imaginary ones.
    fn bits(span: Span, lane: u32) -> Columns<Self::Bits>;
    /// As many of the upper bits as the float has digits, as a fraction below one.
    fn fraction(bits: Self::Bits) -> Self;
    /// Two independent normal numbers, whose squares sum up to `-scale ln u` (Box and Muller 1958):
    /// the radius from all bits of the one, the angle from the digits of the other.
    fn pair(radius: Self::Bits, angle: Self::Bits, scale: Self) -> (Self, Self);
    /// The float next to a float64.
    fn from_f64(value: f64) -> Self;
    /// The next smaller float.
    fn before(self) -> Self;
}

macro_rules! impl_part {
    ($float:ident, $bits:ident, $signed:ident, $words:ident, $sin:ident, $cos:ident, $pi:expr) => {
        impl Part for $float {
            type Bits = $bits;

            #[inline(always)]
            fn bits(span: Span, lane: u32) -> Columns<$bits> {
                span.$words(lane)
            }

            #[inline(always)]
            fn fraction(bits: $bits) -> Self {
                const DROPPED: u32 = $bits::BITS - $float::MANTISSA_DIGITS;
                const UNIT: $float = 1.0 / (1_u64 << $float::MANTISSA_DIGITS) as $float;
                // The sign bit is clear, and signed integers are the faster ones to convert.
                (bits >> DROPPED) as $signed as Self * UNIT
            }

            #[inline(always)]
            fn pair(radius: $bits, angle: $bits, scale: Self) -> (Self, Self) {
                // Never fused, so that every CPU gives the same bits.
                type Lane = Number<$float, false>;
                // One in the last place of all bits: the largest integer rounds up to their number.
                const UNIT: $float = 1.0 / $bits::MAX as $float;
                const DROPPED: u32 = $bits::BITS - $float::MANTISSA_DIGITS;
                const HALF_TURN: $float = $pi / (1_u64 << ($float::MANTISSA_DIGITS - 1)) as $float;
                // Between two multiples of the unit: neither zero nor above one.
                let u = radius as Self * UNIT + UNIT / 2.0;
                let radius = (Lane::log(Number(u)).0 * -scale).sqrt();
                // From minus to plus half a turn.
                let angle = Number::<_, false>((angle as $signed >> DROPPED) as Self * HALF_TURN);
                (radius * $cos(angle).0, radius * $sin(angle).0)
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn before(self) -> Self {
                self.next_down()
            }
        }
    };
}
impl_part!(
    f32,
    u32,
    i32,
    words,
    sin_near32,
    cos_near32,
    std::f32::consts::PI
);
impl_part!(
    f64,
    u64,
    i64,
    wide_words,
    sin_near64,
    cos_near64,
    std::f64::consts::PI
);

/// A compute type that random numbers are drawn in: a float, or a pair of them.
pub(super) trait Drawn: Element {
    /// The float that it has one or two of.
    type Part: Part;
    /// A tile whose parts are made from random bits one by one.
    fn each_part(
        span: Span,
        make: impl Fn(<Self::Part as Part>::Bits) -> Self::Part,
        tile: &mut [Self],
    );
    /// A tile of normal numbers with mean zero and variance one; of a complex number, in total.
    fn normal(span: Span, tile: &mut [Self]);
    /// `self * deviation + mean`.
    fn scale(self, mean: Self::Part, deviation: Self::Part) -> Self;
}

macro_rules! impl_drawn {
    (real $($float:ident)*) => {$(
        impl Drawn for $float {
            type Part = $float;

            #[inline(always)]
            fn each_part(
                span: Span,
                make: impl Fn(<$float as Part>::Bits) -> $float,
                tile: &mut [Self],
            ) {
                interleave(&columns($float::bits(span, 0), make), tile);
            }

            #[inline(always)]
            fn normal(span: Span, tile: &mut [Self]) {
                let [a, b, c, d] = $float::bits(span, 0);
                let ((a, b), (c, d)) = (pairs(&a, &b, 2.0), pairs(&c, &d, 2.0));
                interleave(&[a, b, c, d], tile);
            }

            #[inline(always)]
            fn scale(self, mean: $float, deviation: $float) -> Self {
                self * deviation + mean
            }
        }
    )*};
    (complex $($complex:ident of $float:ident)*) => {$(
        impl Drawn for $complex {
            type Part = $float;

            #[inline(always)]
            fn each_part(
                span: Span,
                make: impl Fn(<$float as Part>::Bits) -> $float,
                tile: &mut [Self],
            ) {
                let real = columns($float::bits(span, 0), &make);
                let imaginary = columns($float::bits(span, 1), &make);
                for (i, z) in tile.iter_mut().enumerate() {
                    let (w, b) = (i % WORDS, i / WORDS);
                    *z = Self::new(real[w][b], imaginary[w][b]);
                }
            }

            #[inline(always)]
            fn normal(span: Span, tile: &mut [Self]) {
                let (radii, angles) = ($float::bits(span, 0), $float::bits(span, 1));
                for w in 0..WORDS {
                    let (real, imaginary) = pairs(&radii[w], &angles[w], 1.0);
                    let places = tile.iter_mut().skip(w).step_by(WORDS);
                    for ((z, re), im) in places.zip(real).zip(imaginary) {
                        *z = Self::new(re, im);
                    }
                }
            }

            #[inline(always)]
            fn scale(self, mean: $float, deviation: $float) -> Self {
                Self::new(self.re * deviation + mean, self.im * deviation)
            }
        }
    )*};
}
impl_drawn!(real f32 f64);
impl_drawn!(complex c64 of f32 c128 of f64);

/// Columns of something else.
#[inline(always)]
fn columns<A: Copy, B: Copy + Default>(bits: Columns<A>, make: impl Fn(A) -> B) -> Columns<B> {
    let mut made = [[B::default(); BLOCKS]; WORDS];
    for (made, bits) in made.iter_mut().zip(&bits) {
        for (made, bits) in made.iter_mut().zip(bits) {
            *made = make(*bits);
        }
    }
    made
}

/// Pairs of normal numbers from two columns of bits.
#[inline(always)]
fn pairs<P: Part>(
    radii: &[P::Bits; BLOCKS],
    angles: &[P::Bits; BLOCKS],
    scale: P,
) -> ([P; BLOCKS], [P; BLOCKS]) {
    let mut made = ([P::default(); BLOCKS], [P::default(); BLOCKS]);
    let places = made.0.iter_mut().zip(&mut made.1);
    for ((a, b), (radius, angle)) in places.zip(radii.iter().zip(angles)) {
        (*a, *b) = P::pair(*radius, *angle, scale);
    }
    made
}
