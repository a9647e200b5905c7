//! The gradient of a softmax, some lines at a time: `y (g - Σ g y)` of shares, `g - e^y Σ g` of their
//! logarithms. Lines are read once, and written while they are in the first-level cache.

use allotrope_dtype::{DType, Error, Level};
use allotrope_op::task::rowwise::Softmax;

#[cfg(target_arch = "x86_64")]
use super::fused::block::Half;
use super::fused::block::{Brain, Load, Store};
use super::rowwise::{
    Accumulator, FEW, LineInput, OfBlocks, TOGETHER, lines_together, map_lines, read, sums_of_lines,
};
use super::softmax::{exp, exp_near};
use crate::parallel::{self, CHUNK};
use crate::simd::{self, Body};
use crate::tile::Source;

/// The gradient of whole lines from the results and their gradient, in the dtype that both are read in,
/// or as halves if both are such; `None` where they are others.
///
/// # Errors
/// A memory error.
pub(crate) fn softmax_backward(
    kind: Softmax,
    [results, gradient]: [LineInput<'_>; 2],
    dtype: DType,
    out: &mut [u8],
) -> Result<Option<()>, Error> {
    let (level, length) = (Level::current(), results.sizes[1]);
    let compute = results.program.output_dtypes().next();
    if out.is_empty() {
        return Ok(Some(()));
    }
    let results = Source::new(level, results.program, &[results.input])?;
    let gradient = Source::new(level, gradient.program, &[gradient.input])?;
    let work = Work {
        kind,
        level,
        length,
        sources: [&results, &gradient],
    };
    if Some(dtype) != compute {
        return work.halves(dtype, out);
    }
    match dtype {
        DType::F64 => work.whole::<f64>(bytemuck::cast_slice_mut(out))?,
        _ => work.whole::<f32>(bytemuck::cast_slice_mut(out))?,
    }
    Ok(Some(()))
}

struct Work<'a, 's> {
    kind: Softmax,
    level: Level,
    length: usize,
    sources: [&'a Source<'s>; 2],
}

impl Work<'_, '_> {
    /// Elements of parts, and of lines that are worked on together.
    fn pieces(&self) -> [usize; 2] {
        let length = self.length;
        let together = lines_together(length);
        [
            (CHUNK / length).max(1).next_multiple_of(together) * length,
            together * length,
        ]
    }

    fn whole<C: Accumulator + Store<C> + Load<C, Code = C>>(
        &self,
        out: &mut [C],
    ) -> Result<(), Error> {
        let [each, together] = self.pieces();
        parallel::try_for_each_part(out, each, |index, out| {
            let mut room = [Vec::new(), Vec::new()];
            for (group, to) in out.chunks_mut(together).enumerate() {
                let (first, count) = (index * each + group * together, to.len());
                let [y_room, g_room] = &mut room;
                let y = read(self.sources[0], first, count, y_room)?;
                let g = read(self.sources[1], first, count, g_room)?;
                simd::run(self.level, self.back::<C, C, false>(y, g, to));
            }
            Ok(())
        })
    }

    /// Lines of halves, as they are in memory.
    fn halves(&self, dtype: DType, out: &mut [u8]) -> Result<Option<()>, Error> {
        let count = out.len() / dtype.itemsize();
        let [y, g] = self.sources.map(|source| source.halves(0, count));
        let (Some(y), Some(g)) = (y, g) else {
            return Ok(None);
        };
        if [y.0, g.0] != [dtype; 2] {
            return Ok(None);
        }
        let codes = [y.1, g.1].map(bytemuck::cast_slice);
        let out = bytemuck::cast_slice_mut(out);
        match dtype {
            #[cfg(target_arch = "x86_64")]
            DType::F16 => self.codes::<Half>(codes, out)?,
            _ => self.codes::<Brain>(codes, out)?,
        }
        Ok(Some(()))
    }

    fn codes<S: Store<f32, Code = u16>>(
        &self,
        [y, g]: [&[u16]; 2],
        out: &mut [u16],
    ) -> Result<(), Error> {
        let [each, together] = self.pieces();
        parallel::try_for_each_part(out, each, |index, out| {
            for (group, to) in out.chunks_mut(together).enumerate() {
                let first = index * each + group * together;
                let [y, g] = [y, g].map(|codes| &codes[first..first + to.len()]);
                match self.level {
                    Level::Avx512(proof) => {
                        proof.run(self.back::<f32, S::WideStore, true>(y, g, to));
                    }
                    Level::Avx2(proof) => proof.run(self.back::<f32, S, true>(y, g, to)),
                    // The baseline has no such kernel.
                    Level::Scalar => {}
                }
            }
            Ok(())
        })
    }

    fn back<'a, C: Accumulator, S: Load<C>, const ROUGH: bool>(
        &self,
        y: &'a [S::Code],
        g: &'a [S::Code],
        to: &'a mut [S::Code],
    ) -> Back<'a, C, S, ROUGH> {
        Back {
            kind: self.kind,
            length: self.length,
            y,
            g,
            to,
        }
    }
}

/// Some lines; `ROUGH` says that the exponentials are those for results of 16 bits.
struct Back<'a, C: Accumulator, S: Load<C>, const ROUGH: bool> {
    kind: Softmax,
    length: usize,
    y: &'a [S::Code],
    g: &'a [S::Code],
    to: &'a mut [S::Code],
}

impl<C: Accumulator, S: Store<C>, const ROUGH: bool> Body for Back<'_, C, S, ROUGH> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (length, from) = (self.length, [self.y, self.g]);
        match self.kind {
            Softmax::Softmax => {
                let [totals] = sums_of_lines::<C, S, FUSED, 1>(length, from, &Products);
                map_lines::<C, S, FUSED>(length, from, self.to, &OfShares(totals));
            }
            Softmax::LogSoftmax => {
                let [totals] = sums_of_lines::<C, S, FUSED, 1>(length, from, &Gradients);
                let made = &OfLogarithms::<ROUGH>(totals);
                map_lines::<C, S, FUSED>(length, from, self.to, made);
            }
        }
    }
}

/// The products of results and their gradients, which are read for the first time.
struct Products;

impl<C: Accumulator, S: Load<C>> OfBlocks<C, S, 1> for Products {
    #[inline(always)]
    fn make<const FUSED: bool>(
        &self,
        _at: [usize; 2],
        y: &[S::Code; FEW],
        g: &[S::Code; FEW],
    ) -> [[C; FEW]; 1] {
        simd::prefetch(y);
        simd::prefetch(g);
        let (mut products, g) = (S::load_in_vectors(y), S::load_in_vectors(g));
        for (product, g) in products.iter_mut().zip(g) {
            *product = C::unwrap(product.wrap::<FUSED>() * g.wrap());
        }
        [products]
    }
}

/// The gradients themselves.
struct Gradients;

impl<C: Accumulator, S: Load<C>> OfBlocks<C, S, 1> for Gradients {
    #[inline(always)]
    fn make<const FUSED: bool>(
        &self,
        _at: [usize; 2],
        _y: &[S::Code; FEW],
        g: &[S::Code; FEW],
    ) -> [[C; FEW]; 1] {
        simd::prefetch(g);
        [S::load_in_vectors(g)]
    }
}

/// `y (g - Σ g y)`, by the sums.
struct OfShares([f64; TOGETHER]);

impl<C: Accumulator, S: Load<C>> OfBlocks<C, S, 1> for OfShares {
    #[inline(always)]
    fn make<const FUSED: bool>(
        &self,
        [line, _]: [usize; 2],
        y: &[S::Code; FEW],
        g: &[S::Code; FEW],
    ) -> [[C; FEW]; 1] {
        let total = C::narrow(self.0[line]);
        let (mut made, g) = (S::load_in_vectors(y), S::load_in_vectors(g));
        for (made, g) in made.iter_mut().zip(g) {
            *made = C::unwrap(made.wrap::<FUSED>() * (g.wrap() - total.wrap()));
        }
        [made]
    }
}

/// `g - e^y Σ g`, by the sums.
struct OfLogarithms<const ROUGH: bool>([f64; TOGETHER]);

impl<C: Accumulator, S: Load<C>, const ROUGH: bool> OfBlocks<C, S, 1> for OfLogarithms<ROUGH> {
    #[inline(always)]
    fn make<const FUSED: bool>(
        &self,
        [line, _]: [usize; 2],
        y: &[S::Code; FEW],
        g: &[S::Code; FEW],
    ) -> [[C; FEW]; 1] {
        simd::prefetch(y);
        let total = C::narrow(self.0[line]);
        let shares = exponentials::<C, FUSED, ROUGH>(S::load_in_vectors(y));
        let mut made = S::load_in_vectors(g);
        for (made, share) in made.iter_mut().zip(shares) {
            *made = C::unwrap(made.wrap::<FUSED>() - share.wrap() * total.wrap());
        }
        [made]
    }
}

/// The exponentials of a block.
#[inline(always)]
fn exponentials<C: Accumulator, const FUSED: bool, const ROUGH: bool>(x: [C; FEW]) -> [C; FEW] {
    // False for NaN, and for numbers so large that they are no logarithms of shares.
    let is_near = |near: bool, x: &C| near & (*x > C::EXP_LEAST) & (*x < C::narrow(1.0));
    let mut made = [C::ZERO; FEW];
    if x.iter().fold(true, is_near) {
        for (made, x) in made.iter_mut().zip(x) {
            *made = C::unwrap(exp_near::<_, ROUGH>(x.wrap::<FUSED>()));
        }
    } else {
        for (made, x) in made.iter_mut().zip(x) {
            *made = C::unwrap(exp::<_, ROUGH>(x.wrap::<FUSED>()));
        }
    }
    made
}
