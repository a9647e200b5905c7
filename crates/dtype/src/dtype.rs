//! [`DType`] and its descriptor, expanded from the table.

use std::fmt;
use std::str::FromStr;

use crate::format::FloatFormat;
use crate::{Error, Kind};

/// Which Python package knows a dtype by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumpySource {
    /// NumPy itself.
    Native,
    /// The `ml_dtypes` extension package.
    MlDtypes,
}

/// Everything the table says of one dtype.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// The canonical name, as in ml_dtypes and torch.
    pub name: &'static str,
    /// Other accepted spellings.
    pub aliases: &'static [&'static str],
    /// The kind of number.
    pub kind: Kind,
    /// Width of one element. Bits, not bytes: packed types have fewer than eight.
    pub bits: u32,
    /// The dtype that arithmetic happens in.
    pub compute: DType,
    /// The bit layout of the float, or of one complex component.
    pub format: Option<FloatFormat>,
    /// DLPack's type code; the bit width is `bits`, the lanes are 1.
    pub dlpack_code: u8,
    /// The name in safetensors files, where the format has one.
    pub safetensors_name: Option<&'static str>,
    /// Where NumPy finds the dtype by name.
    pub numpy: NumpySource,
    /// The attribute of `triton.language`.
    pub triton_name: Option<&'static str>,
    /// The scalar type in WGSL, where the language has one.
    pub wgsl_name: Option<&'static str>,
}

macro_rules! define_dtype {
    ($({ $variant:ident, $ty:ty, $kind:ident, $compute:ty, $bits:literal, [$($format:ident)?], $name:literal,
         [$($alias:literal),*], $dlpack:literal, $safetensors:expr, $numpy:ident, $triton:expr, $wgsl:expr })*) => {
        /// The element type of a tensor.
        ///
        /// ```
        /// use allotrope_dtype::DType;
        /// let dtype: DType = "bf16".parse()?;
        /// assert_eq!(dtype, DType::BF16);
        /// assert_eq!((dtype.name(), dtype.bits(), dtype.compute()), ("bfloat16", 16, DType::F32));
        /// # Ok::<(), allotrope_dtype::Error>(())
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`")] $variant),*
        }

        impl DType {
            /// Every dtype, in table order.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// The kind of number.
            #[must_use]
            pub const fn kind(self) -> Kind {
                const KINDS: [Kind; DType::COUNT] = [$(Kind::$kind),*];
                KINDS[self as usize]
            }

            /// Width of one element in bits.
            #[must_use]
            pub const fn bits(self) -> u32 {
                const BITS: [u8; DType::COUNT] = [$($bits),*];
                BITS[self as usize] as u32
            }

            /// The dtype that arithmetic on this one happens in: `float32` for 8- and 16-bit
            /// floats, itself otherwise.
            #[must_use]
            pub const fn compute(self) -> Self {
                const COMPUTE: [DType; DType::COUNT] =
                    [$(<$compute as $crate::Element>::DTYPE),*];
                COMPUTE[self as usize]
            }
        }

        // In one place: a constant is written anew wherever a function that reads it is inlined.
        static DESCRIPTORS: [Descriptor; DType::COUNT] = [$(Descriptor {
            name: $name,
            aliases: &[$($alias),*],
            kind: Kind::$kind,
            bits: $bits,
            compute: <$compute as $crate::Element>::DTYPE,
            format: [$(<$crate::$format as $crate::Format>::FORMAT)?].first().copied(),
            dlpack_code: $dlpack,
            safetensors_name: $safetensors,
            numpy: NumpySource::$numpy,
            triton_name: $triton,
            wgsl_name: $wgsl,
        }),*];
    };
}
for_each_dtype!((define_dtype));

impl DType {
    /// How many dtypes there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The row of the table.
    #[must_use]
    pub const fn descriptor(self) -> &'static Descriptor {
        &DESCRIPTORS[self as usize]
    }

    /// The canonical name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// Width of one element in whole bytes.
    #[must_use]
    pub const fn itemsize(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// How many bytes so many elements take, packed; `None` beyond all memory.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// assert_eq!(DType::F16.bytes_for(3), Some(6));
    /// assert_eq!(DType::F16.bytes_for(usize::MAX), None);
    /// ```
    #[must_use]
    #[inline]
    pub const fn bytes_for(self, count: usize) -> Option<usize> {
        let bits = self.bits() as usize;
        let whole = count.checked_mul(bits / 8);
        if bits.is_multiple_of(8) {
            return whole;
        }
        match (whole, count.checked_mul(bits % 8)) {
            (Some(whole), Some(rest)) => whole.checked_add(rest.div_ceil(8)),
            _ => None,
        }
    }

    /// How many elements so many bytes hold, packed.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// assert_eq!(DType::F16.count_in(7), 3);
    /// ```
    #[must_use]
    #[inline]
    pub const fn count_in(self, bytes: usize) -> usize {
        let bits = self.bits() as usize;
        match bits % 8 {
            0 => bytes / (bits / 8),
            _ => (bytes as u128 * 8 / bits as u128) as usize,
        }
    }

    /// What the address of an element is a multiple of: its width, for complex numbers half of it.
    #[must_use]
    pub const fn alignment(self) -> usize {
        crate::dispatch!(self, |T| align_of::<T>())
    }

    /// The bit layout of the float, or of one complex component.
    #[must_use]
    pub const fn format(self) -> Option<FloatFormat> {
        self.descriptor().format
    }

    /// Whether this is a real floating dtype.
    #[must_use]
    pub const fn is_floating_point(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// Whether this is a complex dtype.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// Whether this is a signed or unsigned integer dtype.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// Whether negative values exist.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        !matches!(self.kind(), Kind::Bool | Kind::Unsigned)
    }

    /// The dtype of the real part: the component of a complex dtype, itself otherwise.
    #[must_use]
    pub const fn to_real(self) -> Self {
        if self.is_complex() {
            self.sibling(Kind::Float, self.bits() / 2)
        } else {
            self
        }
    }

    /// The smallest complex dtype that holds every value of a float: `complex128` for `float64`,
    /// `complex64` for narrower floats, integers and bool; a complex dtype is its own.
    #[must_use]
    pub const fn to_complex(self) -> Self {
        match (self.kind(), self.bits()) {
            (Kind::Complex, _) => self,
            (Kind::Float, 64) => self.sibling(Kind::Complex, 128),
            _ => self.sibling(Kind::Complex, 64),
        }
    }

    /// The dtype with this index in table order.
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Self> {
        if index < Self::COUNT {
            Some(Self::ALL[index])
        } else {
            None
        }
    }

    /// The dtype with this DLPack type code and width.
    #[must_use]
    pub fn from_dlpack(code: u8, bits: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|d| d.descriptor().dlpack_code == code && d.bits() == u32::from(bits))
    }

    /// The dtype with this name in safetensors files.
    #[must_use]
    pub fn from_safetensors(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|d| d.descriptor().safetensors_name == Some(name))
    }

    /// The first dtype of a kind and width, or `self` where the table has none.
    const fn sibling(self, kind: Kind, bits: u32) -> Self {
        let mut index = 0;
        while index < Self::COUNT {
            let candidate = Self::ALL[index];
            if candidate.kind() as u8 == kind as u8 && candidate.bits() == bits {
                return candidate;
            }
            index += 1;
        }
        self
    }
}

impl FromStr for DType {
    type Err = Error;

    /// The dtype with this canonical name or alias.
    ///
    /// # Errors
    /// A dtype error naming what was given and the accepted names.
    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|d| d.name() == name || d.descriptor().aliases.contains(&name))
            .ok_or_else(|| Error::unknown_dtype(name))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
