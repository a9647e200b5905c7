//! The bit layout of a binary float, from which limits, codecs and rounding are derived.

/// Which values the top of the exponent range encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Specials {
    /// IEEE 754: the largest exponent holds infinities and NaNs.
    Ieee,
    /// `fn`: finite and NaN only; the all-ones code is NaN, there are no infinities.
    NanOnly,
    /// `fnuz`: finite, one NaN in the place of negative zero, unsigned zero.
    NanOnlyUnsignedZero,
}

/// Sign, exponent and mantissa widths, the bias, and the special values of a float format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatFormat {
    /// Width of the exponent field.
    pub exponent_bits: u32,
    /// Width of the mantissa field, without the implicit leading one.
    pub mantissa_bits: u32,
    /// What is subtracted from the exponent field of a normal number.
    pub bias: i32,
    /// What the top of the range encodes.
    pub specials: Specials,
}

/// A float format as a type, which the table and [`F8`](crate::F8) name it by.
pub trait Format: Copy + Send + Sync + 'static {
    /// The bit layout.
    const FORMAT: FloatFormat;
}

/// Declares formats, one line each: name (and the 8-bit float made of it) = exponent bits, mantissa
/// bits, bias, special values.
macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident $(, $float8:ident)? = ($e:literal, $m:literal, $bias:literal, $specials:ident);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}
        impl $crate::Format for $name {
            const FORMAT: $crate::FloatFormat =
                $crate::FloatFormat::new($e, $m, $bias, $crate::Specials::$specials);
        }
        $(
            #[doc = concat!("The 8-bit float with the format [`", stringify!($name), "`].")]
            #[allow(non_camel_case_types, reason = "the name of a number, like f32")]
            pub type $float8 = $crate::F8<$name>;
        )?
    )*};
}
pub(crate) use formats;

formats! {
    /// IEEE half precision: `float16`.
    Binary16 = (5, 10, 15, Ieee);
    /// The upper half of single precision: `bfloat16`.
    Bfloat16 = (8, 7, 127, Ieee);
    /// IEEE single precision: `float32`.
    Binary32 = (8, 23, 127, Ieee);
    /// IEEE double precision: `float64`.
    Binary64 = (11, 52, 1023, Ieee);
}

impl FloatFormat {
    /// A format from its four parameters.
    #[must_use]
    pub const fn new(
        exponent_bits: u32,
        mantissa_bits: u32,
        bias: i32,
        specials: Specials,
    ) -> Self {
        Self {
            exponent_bits,
            mantissa_bits,
            bias,
            specials,
        }
    }

    /// Total width, sign included.
    #[must_use]
    pub const fn bits(self) -> u32 {
        1 + self.exponent_bits + self.mantissa_bits
    }

    /// Whether infinities exist.
    #[must_use]
    pub const fn has_infinity(self) -> bool {
        matches!(self.specials, Specials::Ieee)
    }

    /// Whether zero has a sign.
    #[must_use]
    pub const fn has_negative_zero(self) -> bool {
        !matches!(self.specials, Specials::NanOnlyUnsignedZero)
    }

    /// The exponent of the smallest normal number.
    #[must_use]
    pub const fn min_exponent(self) -> i32 {
        1 - self.bias
    }

    /// The exponent of the smallest subnormal number: the quantum at the bottom of the range.
    #[must_use]
    pub const fn quantum_exponent(self) -> i32 {
        self.min_exponent() - self.mantissa_bits as i32
    }

    /// The code of the sign bit alone.
    #[must_use]
    pub const fn sign_mask(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// The code of the largest finite number.
    #[must_use]
    pub const fn max_code(self) -> u64 {
        let all_ones = self.sign_mask() - 1;
        match self.specials {
            Specials::Ieee => self.infinity_code() - 1,
            Specials::NanOnly => all_ones - 1,
            Specials::NanOnlyUnsignedZero => all_ones,
        }
    }

    /// The code of positive infinity in IEEE formats: exponent all ones, mantissa zero.
    #[must_use]
    pub const fn infinity_code(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The code of the quiet NaN that conversions produce, without the sign.
    #[must_use]
    pub const fn nan_code(self) -> u64 {
        match self.specials {
            Specials::Ieee => self.infinity_code() | 1 << (self.mantissa_bits - 1),
            Specials::NanOnly => self.sign_mask() - 1,
            Specials::NanOnlyUnsignedZero => self.sign_mask(),
        }
    }

    /// The value of a code of any format of at most 64 bits, exactly.
    ///
    /// Written with integer arithmetic and one exact scaling, it is the definition that the fast
    /// decoders are tested against.
    #[must_use]
    pub const fn decode(self, code: u64) -> f64 {
        let magnitude = code & (self.sign_mask() - 1);
        let negative = code & self.sign_mask() != 0;
        let is_nan = match self.specials {
            Specials::Ieee => magnitude > self.infinity_code(),
            Specials::NanOnly => magnitude == self.nan_code(),
            Specials::NanOnlyUnsignedZero => code == self.nan_code(),
        };
        if is_nan {
            return if negative && self.has_negative_zero() {
                -f64::NAN
            } else {
                f64::NAN
            };
        }
        if self.has_infinity() && magnitude == self.infinity_code() {
            return if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            };
        }
        let field = (magnitude >> self.mantissa_bits) as i32;
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let (significand, exponent) = if field == 0 {
            (mantissa, self.quantum_exponent())
        } else {
            (
                mantissa | 1 << self.mantissa_bits,
                self.quantum_exponent() + field - 1,
            )
        };
        let value =
            significand as f64 * power_of_two(exponent / 2) * power_of_two(exponent - exponent / 2);
        if negative { -value } else { value }
    }
}

/// `2^exponent`, for exponents whose result is a normal float64.
pub(crate) const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
