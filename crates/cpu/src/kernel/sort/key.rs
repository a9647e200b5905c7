//! Keys: unsigned integers whose order is that of the values, and pairs of a key and a place.
//!
//! All NaN have one key, the greatest; -0 and 0 have the same. A key and the place of its element
//! in one integer make any way of sorting a stable one.

use allotrope_dtype::{DType, Kind, Level, Scalar, WeakScalar};
use bytemuck::Pod;

use crate::simd::{self, Body};

/// How the words of a dtype become keys.
pub(crate) enum Order {
    /// The word itself.
    Unsigned,
    /// The word with its sign turned.
    Signed,
    /// A float whose magnitudes beyond this word are NaN.
    Float(u64),
    /// Eight bits: the key of every word.
    Table(Box<[u8; 256]>),
}

impl Order {
    /// The order of a real dtype.
    pub(crate) fn of(dtype: DType) -> Self {
        match dtype {
            DType::F64 => Self::Float(f64::INFINITY.to_bits()),
            DType::F32 => Self::Float(f32::INFINITY.to_bits().into()),
            DType::F16 => Self::Float(0x7C00),
            DType::BF16 => Self::Float(0x7F80),
            dtype if dtype.itemsize() == 1 => Self::Table(Box::new(rank_codes(dtype))),
            dtype if dtype.kind() == Kind::Signed => Self::Signed,
            _ => Self::Unsigned,
        }
    }

    /// What its keys need to know: the greatest magnitude that is no NaN, and a table of bytes.
    fn parts(&self) -> (u64, &[u8; 256]) {
        match self {
            Self::Float(limit) => (*limit, &[0; 256]),
            Self::Table(keys) => (0, keys),
            _ => (0, &[0; 256]),
        }
    }

    /// Whether the greatest key is that of NaN.
    pub(crate) fn has_nan(dtype: DType) -> bool {
        dtype.kind() == Kind::Float
    }
}

/// The key of each of 256 codes: how many values are less, 255 for NaN.
fn rank_codes(dtype: DType) -> [u8; 256] {
    let value = |code: u8| match Scalar::from_bytes(dtype, &[code]).map(|s| s.value()) {
        Ok(WeakScalar::Float(value)) => value,
        Ok(WeakScalar::Int(value)) => value as f64,
        Ok(WeakScalar::Bool(value)) => f64::from(u8::from(value)),
        _ => f64::NAN,
    };
    let mut values: Vec<f64> = (0..=u8::MAX)
        .map(value)
        .filter(|value| !value.is_nan())
        .collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    std::array::from_fn(|code| {
        let value = value(code as u8);
        if value.is_nan() {
            u8::MAX
        } else {
            values.partition_point(|other| *other < value) as u8
        }
    })
}

/// The bits of an element, as an unsigned integer.
pub(crate) trait Word: Pod + Ord + Send + Sync {
    /// The width.
    const BITS: u32;
    /// The sign bit.
    const SIGN: Self;
    /// The greatest.
    const MAX: Self;

    /// The word in 64 bits.
    fn wide(self) -> u64;
    /// The key of the word under an order of some kind, with the parts of it.
    fn key<const KIND: u8>(self, parts: (u64, &[u8; 256])) -> Self;
    /// The word of a key, if there is only one.
    fn unkey(key: Self, order: &Order) -> Option<Self>;
    /// The lowest bits of 64.
    fn narrow(word: u64) -> Self;
    /// The word with some bits turned.
    fn turn(self, mask: Self) -> Self;
    /// The difference, wrapped around.
    fn less(self, other: Self) -> Self;
}

/// The kinds of [`Order`] as constants, so that a loop knows its own.
const UNSIGNED: u8 = 0;
const SIGNED: u8 = 1;
const FLOAT: u8 = 2;
const TABLE: u8 = 3;

macro_rules! impl_word {
    ($($word:ty)*) => {$(
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;
            const SIGN: $word = 1 << (<$word>::BITS - 1);
            const MAX: $word = <$word>::MAX;

            #[inline(always)]
            fn wide(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn key<const KIND: u8>(self, (limit, keys): (u64, &[u8; 256])) -> Self {
                match KIND {
                    SIGNED => self ^ Self::SIGN,
                    FLOAT => {
                        // Zeros meet in the middle, one below the sign bit.
                        let is_nan = self & !Self::SIGN > limit as $word;
                        let key = if self >= Self::SIGN {
                            self.wrapping_neg()
                        } else {
                            self | Self::SIGN
                        };
                        if is_nan { Self::MAX } else { key.wrapping_sub(1) }
                    }
                    TABLE => keys[usize::from(self as u8)].into(),
                    _ => self,
                }
            }

            #[inline(always)]
            fn unkey(key: Self, order: &Order) -> Option<Self> {
                match order {
                    Order::Unsigned => Some(key),
                    Order::Signed => Some(key ^ Self::SIGN),
                    Order::Float(_) if key == Self::MAX || key == Self::SIGN - 1 => None,
                    Order::Float(_) => {
                        let key = key + 1;
                        Some(if key >= Self::SIGN { key ^ Self::SIGN } else { key.wrapping_neg() })
                    }
                    Order::Table(_) => None,
                }
            }

            #[inline(always)]
            fn narrow(word: u64) -> Self {
                word as $word
            }

            #[inline(always)]
            fn turn(self, mask: Self) -> Self {
                self ^ mask
            }

            #[inline(always)]
            fn less(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )*};
}
impl_word!(u8 u16 u32 u64);

/// A key above the place of its element.
pub(crate) trait Pair: Pod + Ord + Send + Sync {
    /// A pair.
    fn new(key: u64, place: usize) -> Self;
    /// The key.
    fn key(self) -> u64;
    /// The place.
    fn place(self) -> usize;
    /// Puts a few in order.
    fn sort(pairs: &mut [Self]) {
        pairs.sort_unstable();
    }
}

macro_rules! impl_pair {
    ($($pair:ty, $half:ty, $place:literal;)*) => {$(
        impl Pair for $pair {
            #[inline(always)]
            fn new(key: u64, place: usize) -> Self {
                <$pair>::from(key) << $place | place as $pair
            }
            #[inline(always)]
            fn key(self) -> u64 {
                (self >> $place) as u64
            }
            #[inline(always)]
            fn place(self) -> usize {
                self as $half as usize
            }
        }
    )*};
}
impl_pair! {
    u64, u32, 32;
    u128, u64, 64;
}

/// Runs an expression with the kind of an order as a constant.
macro_rules! by_kind {
    ($order:expr, $kind:ident => $body:expr) => {
        match $order {
            Order::Unsigned => {
                const $kind: u8 = UNSIGNED;
                $body
            }
            Order::Signed => {
                const $kind: u8 = SIGNED;
                $body
            }
            Order::Float(_) => {
                const $kind: u8 = FLOAT;
                $body
            }
            Order::Table(_) => {
                const $kind: u8 = TABLE;
                $body
            }
        }
    };
}

/// Words as keys, some bits turned.
struct Keys<'a, W> {
    order: &'a Order,
    words: &'a [W],
    mask: W,
    out: &'a mut [W],
}

impl<W: Word> Body for Keys<'_, W> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let parts = self.order.parts();
        by_kind!(self.order, KIND => {
            for (out, word) in self.out.iter_mut().zip(self.words) {
                *out = word.key::<KIND>(parts).turn(self.mask);
            }
        });
    }
}

/// Words as pairs, the first of place `start`.
struct Pairs<'a, W, P> {
    order: &'a Order,
    words: &'a [W],
    mask: W,
    start: usize,
    out: &'a mut [P],
}

impl<W: Word, P: Pair> Body for Pairs<'_, W, P> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let parts = self.order.parts();
        by_kind!(self.order, KIND => {
            for (place, (out, word)) in self.out.iter_mut().zip(self.words).enumerate() {
                let key = word.key::<KIND>(parts).turn(self.mask);
                *out = P::new(key.wide(), self.start + place);
            }
        });
    }
}

/// How a line is to be ordered.
pub(crate) struct Way<W> {
    level: Level,
    order: Order,
    /// All bits to turn the order round, none to leave it.
    mask: W,
}

impl<W: Word> Way<W> {
    pub(crate) fn new(dtype: DType, descending: bool) -> Self {
        Self {
            level: Level::current().min(Level::detected()),
            order: Order::of(dtype),
            mask: if descending { W::MAX } else { W::narrow(0) },
        }
    }

    /// The key of a word.
    pub(crate) fn key(&self, word: W) -> W {
        let key = by_kind!(&self.order, KIND => word.key::<KIND>(self.order.parts()));
        key.turn(self.mask)
    }

    /// The word of a key, if there is only one.
    pub(crate) fn word_of(&self, key: W) -> Option<W> {
        let key = key.turn(self.mask);
        let Order::Table(keys) = &self.order else {
            return W::unkey(key, &self.order);
        };
        let codes = keys.iter().enumerate();
        let mut codes = codes.filter(|(_, other)| u64::from(**other) == key.wide());
        match (codes.next(), codes.next()) {
            (Some((code, _)), None) => Some(W::narrow(code as u64)),
            _ => None,
        }
    }

    /// The keys of words.
    pub(crate) fn keys(&self, words: &[W], out: &mut [W]) {
        let keys = Keys {
            order: &self.order,
            words,
            mask: self.mask,
            out,
        };
        simd::run(self.level, keys);
    }

    /// The pairs of words, the first of place `start`.
    pub(crate) fn pair<P: Pair>(&self, words: &[W], start: usize, out: &mut [P]) {
        let pairs = Pairs {
            order: &self.order,
            words,
            mask: self.mask,
            start,
            out,
        };
        simd::run(self.level, pairs);
    }

    /// The word of a pair: from its key, or where only the line knows it, from there.
    #[inline(always)]
    pub(crate) fn word<P: Pair>(&self, pair: P, line: &[W]) -> W {
        let key = W::narrow(pair.key()).turn(self.mask);
        W::unkey(key, &self.order).unwrap_or_else(|| line[pair.place()])
    }
}
