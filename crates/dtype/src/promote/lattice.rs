//! The policies as data: edges, the exceptions that no lattice can express, and their closure.

use super::ScalarKind;
use super::mask::Mask;
use crate::DType::{
    self, BF16, Bool, C64, C128, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16, F32, F64, I8, I16,
    I32, I64, U8, U16, U32, U64,
};
use crate::Kind;

const N: usize = DType::COUNT;

/// `of(&[…])` as a short word for the tables below.
macro_rules! set {
    ($($dtype:ident)*) => { Mask::of(&[$($dtype),*]) };
}

const BOOL: Mask = set!(Bool);
const SIGNED: Mask = Mask::of_kind(Kind::Signed, 0);
const FLOAT8: Mask = Mask::of_kind(Kind::Float, 8);
const COMPLEX: Mask = Mask::of_kind(Kind::Complex, 0);
const ALL: Mask = Mask(u64::MAX >> (64 - N));

/// Every dtype of the first set promotes to every dtype of the second.
type Edge = (Mask, Mask);
/// A pair, one from each set in either order, has this answer instead of the join.
type Exception = (Mask, Mask, Option<DType>);
/// A dtype of the set with a scalar of this kind has this answer instead of the rule's.
type ScalarException = (Mask, ScalarKind, Option<DType>);

/// What all but torch start from.
const BOOL_BELOW_ALL: &[Edge] = &[(BOOL, ALL)];

/// Integers among each other: the next wider one, and for unsigned ones the next wider signed one.
#[rustfmt::skip]
const INTEGERS: &[Edge] = &[
    (set!(I8),  set!(I16)),
    (set!(I16), set!(I32)),
    (set!(I32), set!(I64)),
    (set!(U8),  set!(U16 I16)),
    (set!(U16), set!(U32 I32)),
    (set!(U32), set!(U64 I64)),
];

/// Floats from 16 bits on, and complex numbers.
#[rustfmt::skip]
const WIDE: &[Edge] = &[
    (set!(F16 BF16), set!(F32)),
    (set!(F32),      set!(F64 C64)),
    (set!(F64 C64),  set!(C128)),
];

#[rustfmt::skip]
const STANDARD_EDGES: &[&[Edge]] = &[BOOL_BELOW_ALL, INTEGERS, WIDE, &[
    (set!(I64 U64), set!(F16 BF16)),
    (FLOAT8,        set!(BF16)),
]];

#[rustfmt::skip]
const TORCH_EDGES: &[&[Edge]] = &[WIDE, &[
    (BOOL,                  set!(I8 U8)),
    (set!(I8 U8),           set!(I16)),
    (set!(I16),             set!(I32)),
    (set!(I32),             set!(I64)),
    (set!(I64 U16 U32 U64), set!(F16 BF16)),
]];
const TORCH_EXCEPTIONS: &[Exception] = &[(set!(U16 U32 U64), COMPLEX, None)];
/// Half floats with a complex scalar are complex32 in torch, a dtype that does not exist here.
const TORCH_SCALARS: &[ScalarException] =
    &[(FLOAT8.union(set!(F16 BF16)), ScalarKind::Complex, None)];

/// The 8-bit floats that ml_dtypes orders among each other; `float8_e5m2` stands apart.
const FLOAT8_CHAIN: Mask = FLOAT8.without(set!(F8E5M2));
const NUMPY_WIDE: Mask = set!(I16 U16 I32 U32 I64 U64 F16);
#[rustfmt::skip]
const NUMPY_EDGES: &[&[Edge]] = &[BOOL_BELOW_ALL, INTEGERS, WIDE, &[
    (set!(I8 U8),      set!(F16 BF16).union(FLOAT8)),
    (set!(I16 U16),    set!(F32)),
    (set!(I64 U64),    set!(F64)),
    (set!(F8E5M2Fnuz), set!(F8E4M3Fnuz)),
    (set!(F8E4M3Fnuz), set!(F8E4M3Fn)),
    (FLOAT8,           set!(F32)),
]];
const NUMPY_EXCEPTIONS: &[Exception] = &[
    // These fit an integer and a float, neither of which promotes to the other.
    (set!(I8), set!(U8), Some(I16)),
    (set!(I8 I16), set!(U16), Some(I32)),
    (FLOAT8_CHAIN.union(set!(BF16)), NUMPY_WIDE, None),
    (FLOAT8, set!(BF16), None),
    (FLOAT8_CHAIN, set!(F8E5M2), None),
];
const NUMPY_SCALARS: &[ScalarException] = &[
    (FLOAT8_CHAIN.union(set!(BF16)), ScalarKind::Float, Some(F64)),
    (set!(F8E5M2), ScalarKind::Float, Some(F32)),
];

#[rustfmt::skip]
const JAX_EDGES: &[&[Edge]] = &[BOOL_BELOW_ALL, INTEGERS, WIDE, &[
    (set!(I64 U64), set!(F16 BF16).union(FLOAT8)),
]];
const JAX_EXCEPTIONS: &[Exception] = &[(SIGNED, set!(U64), Some(F64))];
const JAX_SCALARS: &[ScalarException] = &[(FLOAT8, ScalarKind::Complex, None)];

pub(super) static STANDARD: Lattice = Lattice::close(STANDARD_EDGES, &[], &[]);
pub(super) static STRICT: Lattice = Lattice::close(&[], &[], &[]);
pub(super) static EXACT: Lattice = Lattice::close(STANDARD_EDGES, &[], &[]).keep_lossless();
pub(super) static TORCH: Lattice = Lattice::close(TORCH_EDGES, TORCH_EXCEPTIONS, TORCH_SCALARS);
pub(super) static NUMPY: Lattice = Lattice::close(NUMPY_EDGES, NUMPY_EXCEPTIONS, NUMPY_SCALARS);
pub(super) static JAX: Lattice = Lattice::close(JAX_EDGES, JAX_EXCEPTIONS, JAX_SCALARS);

/// A policy's edges closed into tables.
pub(super) struct Lattice {
    /// The dtypes that each dtype promotes to, itself included.
    above: [Mask; N],
    /// The answer for each pair, exceptions applied.
    pairs: [[Option<DType>; N]; N],
    exceptions: &'static [Exception],
    scalars: &'static [ScalarException],
    /// Whether a join must hold every value of every member.
    lossless: bool,
}

impl Lattice {
    const fn close(
        edges: &[&[Edge]],
        exceptions: &'static [Exception],
        scalars: &'static [ScalarException],
    ) -> Self {
        let above = close_transitively(edges);
        let mut pairs = [[None; N]; N];
        let mut a = 0;
        while a < N {
            let mut b = 0;
            while b < N {
                pairs[a][b] = least_upper_bound(&above, Mask(1 << a | 1 << b));
                let mut e = 0;
                while e < exceptions.len() {
                    let (left, right, answer) = exceptions[e];
                    let (x, y) = (DType::ALL[a], DType::ALL[b]);
                    if left.has(x) && right.has(y) || left.has(y) && right.has(x) {
                        pairs[a][b] = answer;
                    }
                    e += 1;
                }
                b += 1;
            }
            a += 1;
        }
        Self {
            above,
            pairs,
            exceptions,
            scalars,
            lossless: false,
        }
    }

    /// The same lattice without the answers that lose a value of an operand.
    const fn keep_lossless(mut self) -> Self {
        let mut a = 0;
        while a < N {
            let mut b = 0;
            while b < N {
                if let Some(common) = self.pairs[a][b]
                    && !(DType::ALL[a].fits_in(common) && DType::ALL[b].fits_in(common))
                {
                    self.pairs[a][b] = None;
                }
                b += 1;
            }
            a += 1;
        }
        self.lossless = true;
        self
    }

    pub(super) const fn pair(&self, lhs: DType, rhs: DType) -> Option<DType> {
        self.pairs[lhs as usize][rhs as usize]
    }

    /// The answer for a whole set: the pair table for one or two, the least upper bound for more.
    ///
    /// A pair that an exception refuses stays refused in company. Where there is no bound, the
    /// answers of exceptions are folded in table order.
    pub(super) fn join(&self, set: Mask) -> Option<DType> {
        let mut members = set.members();
        let first = members.next()?;
        match (members.next(), members.next()) {
            (None, _) => Some(first),
            (Some(second), None) => self.pair(first, second),
            _ => {
                let refused = |(left, right, answer): &Exception| {
                    answer.is_none() && set.meets(*left) && set.meets(*right)
                };
                if self.exceptions.iter().any(refused) {
                    return None;
                }
                let bound = least_upper_bound(&self.above, set);
                if self.lossless {
                    return bound.filter(|common| set.members().all(|d| d.fits_in(*common)));
                }
                bound.or_else(|| {
                    set.members()
                        .try_fold(first, |common, dtype| self.pair(common, dtype))
                })
            }
        }
    }

    pub(super) fn scalar_exception(
        &self,
        dtype: DType,
        scalar: ScalarKind,
    ) -> Option<Option<DType>> {
        self.scalars
            .iter()
            .find(|(set, kind, _)| set.has(dtype) && *kind == scalar)
            .map(|(_, _, answer)| *answer)
    }
}

/// For each dtype, all that it promotes to along any number of edges.
const fn close_transitively(edges: &[&[Edge]]) -> [Mask; N] {
    let mut above = [Mask::EMPTY; N];
    let mut a = 0;
    while a < N {
        above[a] = Mask(1 << a);
        let mut part = 0;
        while part < edges.len() {
            let mut e = 0;
            while e < edges[part].len() {
                let (from, to) = edges[part][e];
                if from.has(DType::ALL[a]) {
                    above[a] = above[a].union(to);
                }
                e += 1;
            }
            part += 1;
        }
        a += 1;
    }
    // Warshall: after step k, paths through the first k dtypes are counted.
    let mut k = 0;
    while k < N {
        let mut a = 0;
        while a < N {
            if above[a].has(DType::ALL[k]) {
                above[a] = above[a].union(above[k]);
            }
            a += 1;
        }
        k += 1;
    }
    above
}

/// The one dtype above all members from which every other such dtype is reached, if there is one.
const fn least_upper_bound(above: &[Mask; N], set: Mask) -> Option<DType> {
    let mut common = ALL;
    let mut a = 0;
    while a < N {
        if set.has(DType::ALL[a]) {
            common = Mask(common.0 & above[a].0);
        }
        a += 1;
    }
    let mut candidate = 0;
    while candidate < N {
        if common.has(DType::ALL[candidate]) && common.without(above[candidate]).is_empty() {
            return Some(DType::ALL[candidate]);
        }
        candidate += 1;
    }
    None
}

/// torch's answer for a dimensioned and a 0-d tensor: the 0-d one counts only by a higher kind.
pub(super) fn torch_zero_dim(dimensioned: DType, zero_dim: DType) -> Option<DType> {
    match (ScalarKind::of(dimensioned), ScalarKind::of(zero_dim)) {
        (ScalarKind::Float, ScalarKind::Complex) => {
            let exception = TORCH.scalar_exception(dimensioned, ScalarKind::Complex);
            exception.unwrap_or(Some(dimensioned.to_complex()))
        }
        (ScalarKind::Int, ScalarKind::Complex) => Some(zero_dim),
        (array, scalar) if array >= scalar && array != ScalarKind::Bool => Some(dimensioned),
        _ => TORCH.pair(dimensioned, zero_dim),
    }
}
