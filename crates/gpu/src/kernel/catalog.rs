//! The shaders of all templates for a dtype, as a device with or without integers and floats of 64
//! bits would compile them: what a check without a device validates.

use allotrope_dtype::{Capabilities, DType, Error};
use allotrope_op::task::Edge;
use allotrope_op::wgsl::WideIntegers;
use allotrope_op::{Combine, Fold, Layout, Program, Scan, Shape};

use super::convolution::{self, Way};
use super::cummax::{self, Pass};
use super::lines::{self, Kinds, Measure};
use super::order::{self, Taken};
use super::reduce::Source;
use super::run::Reader;
use super::search::{self, Look};
use super::sort::{self, KeySize};
use super::state::State;
use super::window::{self, Division};
use super::{
    attention, check, device_like, elementwise, header, product, put, random, reduce, resample,
    scan, unique,
};
use crate::codec::Cell;
use crate::lower::{Lowered, lower};
use crate::pipeline::Shader;
use crate::places::Places;

/// Words that dispatches are told here: more than any shader of a template reads.
const TOLD: usize = 128;

/// A device that is not there, and the shaders that it would compile.
struct Catalog {
    integers: WideIntegers,
    answers: Capabilities,
    wide: bool,
    shaders: Vec<(String, String)>,
}

/// The shaders of all templates for a dtype, with what they are.
#[doc(hidden)]
pub fn template_shaders(dtype: DType, wide: bool) -> Result<Vec<(String, String)>, Error> {
    let (integers, answers) = device_like(wide);
    let mut catalog = Catalog {
        integers,
        answers,
        wide,
        shaders: Vec::new(),
    };
    if catalog.answers.storage(dtype) == dtype {
        catalog.folds(dtype)?;
        catalog.checks(dtype);
        catalog.puts(dtype);
        catalog.draws(dtype);
        catalog.products(dtype);
        if dtype.is_floating_point() {
            catalog.attentions(dtype);
        }
        catalog.lines(dtype)?;
        catalog.windows(dtype)?;
        catalog.orders(dtype);
    }
    Ok(catalog.shaders)
}

impl Catalog {
    fn add(&mut self, what: String, shader: Option<Shader>) {
        if let Some(shader) = shader {
            self.shaders.push((what, shader.text));
        }
    }

    /// Adds a shader of the usual form.
    fn add_value(&mut self, what: String, reads: usize, cells: &[Cell], text: Option<String>) {
        let shader = text.map(|text| elementwise(self.integers, reads, cells, TOLD, &text));
        self.add(what, shader);
    }

    /// A program that converts, and how it reads.
    fn converting(&self, from: DType, to: DType) -> Result<(Lowered, Reader<'static>), Error> {
        let mut program = Program::new(&[from]);
        let item = program.convert(0, to);
        program.output(item);
        Ok((lower(&program, &self.answers)?, Reader::of_contiguous(1)))
    }

    fn folds(&mut self, dtype: DType) -> Result<(), Error> {
        let integers = self.integers;
        for fold in [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min] {
            let item = self.answers.storage(fold.item(dtype.compute()));
            let (lowered, reader) = self.converting(dtype, item)?;
            let state = State::of_fold(fold, item, self.wide);
            for (is_last, source) in [
                (true, Source::Program(&lowered, &reader)),
                (false, Source::Program(&lowered, &reader)),
                (true, Source::States),
            ] {
                let cell = match is_last {
                    true => Cell::Of(dtype),
                    false => state.cell(),
                };
                let text = source.text(&state, dtype, integers, header(1) + 3);
                let text =
                    text.map(|text| text + &reduce::fold_text(&cell.type_name(integers), is_last));
                let what = format!("{fold:?} {dtype} {is_last}");
                self.add_value(what, 1, &[cell], text);
            }
        }
        for kind in [Scan::Sum, Scan::Prod, Scan::LogSumExp] {
            let item = self.answers.storage(kind.item(dtype.compute()));
            let (lowered, reader) = self.converting(dtype, item)?;
            let state = State::of_scan(kind, item, self.wide);
            let source = Source::Program(&lowered, &reader);
            let first = header(1) + 4;
            let Some(text) = source.text(&state, dtype, integers, first) else {
                continue;
            };
            let total = text.clone() + &scan::total_text(&state.cell().type_name(integers));
            let what = format!("{kind:?} {dtype}");
            self.add_value(what.clone(), 1, &[state.cell()], Some(total));
            for starts in [None, Some(1)] {
                let reads = 1 + usize::from(starts.is_some());
                let cell = Cell::Of(dtype);
                let shader =
                    scan::prefixes(cell, false, reads, starts, TOLD, &state, &text, integers);
                self.add(what.clone(), Some(shader));
            }
        }
        Ok(())
    }

    fn puts(&mut self, dtype: DType) {
        let scalar = Layout::contiguous(Shape::scalar());
        let places = Places::new(&Shape::scalar(), &[&scalar, &scalar, &scalar]);
        let all = [
            Combine::Replace,
            Combine::Add,
            Combine::Multiply,
            Combine::Max,
            Combine::Min,
        ];
        // Elements are combined in a compute dtype.
        for combine in all.into_iter().filter(|_| dtype.compute() == dtype) {
            let cell = match combine {
                Combine::Replace => Cell::Raw(dtype.itemsize()),
                _ => Cell::Of(dtype),
            };
            let text = put::value(combine, dtype, &places, self.integers);
            self.add_value(format!("put {combine:?} {dtype}"), 3, &[cell], text);
        }
        let kinds = ["array<atomic<u32>>", "array<u32>"];
        let count = "    atomicAdd(&out0[goal(t)], 1u);\n";
        let goal = put::goal(&places);
        let shader = put::each_thread(1, kinds, TOLD, &goal, count);
        self.add("put count".to_owned(), Some(shader));
        let kinds = ["array<u32>", "array<u32>"];
        let shader = put::each_thread(1, kinds, TOLD, "", put::SORT);
        self.add("put sort".to_owned(), Some(shader));
    }

    fn checks(&mut self, dtype: DType) {
        let shaders = match dtype.is_complex() {
            true => None,
            false => check::check_shaders(dtype, self.integers),
        };
        for (what, shader) in ["find", "tell"]
            .into_iter()
            .zip(shaders.into_iter().flatten())
        {
            self.add(format!("check, {what} {dtype}"), Some(shader));
        }
    }

    fn draws(&mut self, dtype: DType) {
        let (integers, cell) = (self.integers, Cell::Of(dtype));
        let raw = Cell::Raw(dtype.itemsize());
        if dtype.is_floating_point() || dtype.is_complex() {
            let text = random::uniform(dtype, integers);
            self.add_value(format!("uniform {dtype}"), 0, &[cell], text);
            let text = random::normal(dtype, integers);
            self.add_value(format!("normal {dtype}"), 0, &[cell], text);
        } else {
            let text = random::integer(dtype, integers);
            self.add_value(format!("integers {dtype}"), 0, &[cell], text);
        }
        let text = Some(random::trial(raw));
        self.add_value(format!("bernoulli {dtype}"), 0, &[raw], text);
    }

    fn products(&mut self, dtype: DType) {
        let integers = self.integers;
        let stored = self.answers.storage(dtype.compute());
        let Some(sum) = product::accumulator(stored) else {
            return;
        };
        let scalar = Layout::contiguous(Shape::scalar());
        let places = Places::new(&Shape::scalar(), &[&scalar, &scalar]);
        let dtypes = [dtype; 2];
        for tile in [[4, 4], [1, 4], [4, 1], [1, 1]] {
            let shader = product::shader(dtypes, dtype, sum, tile, &places, TOLD, integers);
            self.add(format!("product {dtype}"), shader);
        }
        let edges = [Edge::Zeros, Edge::Reflect, Edge::Replicate, Edge::Circular];
        let ways = edges.into_iter().map(Way::Forward);
        for way in ways.chain([Way::Transposed]) {
            for rows in [1, 4] {
                let shader = convolution::shader(way, dtypes, dtype, sum, rows, integers);
                self.add(format!("convolution {way:?} {dtype}"), shader);
            }
        }
    }

    fn attentions(&mut self, dtype: DType) {
        let compute = self.answers.storage(dtype.compute());
        let scalar = Layout::contiguous(Shape::scalar());
        let places = Places::new(&Shape::scalar(), &[&scalar; 4]);
        for mask in [None, Some(DType::Bool), Some(dtype)] {
            for (causal, columns) in [(false, 1), (true, 4)] {
                let mut dtypes = vec![dtype; 3];
                dtypes.extend(mask);
                let form = attention::Form {
                    dtypes,
                    common: dtype,
                    compute,
                    causal,
                    columns,
                };
                let shader = attention::shader(&form, &places, TOLD, self.integers);
                self.add(format!("attention {dtype}"), shader);
            }
        }
    }

    fn lines(&mut self, dtype: DType) -> Result<(), Error> {
        if !dtype.is_floating_point() {
            return Ok(());
        }
        let item = self.answers.storage(dtype.compute());
        let sum = match item {
            DType::F32 if self.wide => DType::F64,
            item => item,
        };
        let kinds = Kinds {
            item,
            sum,
            float64: self.wide,
        };
        let measures = [
            Measure::Exponentials { logarithm: false },
            Measure::Exponentials { logarithm: true },
            Measure::Moments {
                centers: true,
                eps: 0.0,
            },
            Measure::Moments {
                centers: false,
                eps: 0.0,
            },
            Measure::Sums(1),
        ];
        for measure in measures {
            let to = match measure {
                Measure::Sums(_) => sum,
                _ => item,
            };
            let (lowered, reader) = self.converting(dtype, to)?;
            for lanes in [1, super::GROUP] {
                let integers = self.integers;
                let shader = lines::shader(measure, kinds, lanes, &lowered, &reader, 1, integers);
                self.add(format!("{measure:?} {dtype}"), shader);
            }
        }
        Ok(())
    }

    fn windows(&mut self, dtype: DType) -> Result<(), Error> {
        let integers = self.integers;
        let size = dtype.itemsize();
        for is_adaptive in [[false; 3], [true; 3]] {
            if !dtype.is_complex() {
                for cells in [vec![Cell::Raw(size)], vec![Cell::Raw(size), Cell::Raw(8)]] {
                    let has_places = cells.len() == 2;
                    let first = header(cells.len());
                    let text = window::max_text(dtype, has_places, is_adaptive, first, integers);
                    self.add_value(format!("max_pool {dtype}"), 1, &cells, text);
                }
            }
            if !dtype.is_floating_point() && !dtype.is_complex() {
                continue;
            }
            let item = self.answers.storage(dtype.compute());
            let sum = match item {
                DType::F32 if self.wide => DType::F64,
                DType::C64 if self.wide => DType::C128,
                item => item,
            };
            let (lowered, reader) = self.converting(dtype, item)?;
            for division in [Division::Elements, Division::Places, Division::Constant] {
                let text = window::mean_text(
                    [item, sum, dtype],
                    self.wide,
                    division,
                    is_adaptive,
                    &lowered,
                    &reader,
                    integers,
                );
                let what = format!("avg_pool {division:?} {dtype}");
                self.add_value(what, 1, &[Cell::Of(dtype)], text);
            }
        }
        let text = Some(resample::nearest_text(size));
        self.add_value("nearest".to_owned(), 2, &[Cell::Raw(size)], text);
        if dtype.is_floating_point() || dtype.is_complex() {
            let compute = self.answers.storage(dtype.compute());
            let text = resample::weighted_text(dtype, compute, integers);
            self.add_value(format!("interpolate {dtype}"), 3, &[Cell::Of(dtype)], text);
        }
        let text = window::fold_text(dtype, self.wide, integers);
        self.add_value(format!("col2im {dtype}"), 1, &[Cell::Of(dtype)], text);
        Ok(())
    }

    fn orders(&mut self, dtype: DType) {
        if dtype.is_complex() {
            return;
        }
        let (words, size) = (KeySize::of(dtype).words, dtype.itemsize());
        let text = sort::key_text(dtype, self.integers);
        self.add_value(format!("keys {dtype}"), 1, &[Cell::Raw(4 * words)], text);
        self.add("sort short".to_owned(), Some(sort::rank_shader(words)));
        self.add("sort count".to_owned(), Some(sort::count_shader(words)));
        self.add("sort move".to_owned(), Some(sort::move_shader(words)));
        self.add("kinds back".to_owned(), Some(unique::back_shader()));
        for pass in [Pass::Totals, Pass::Starts, Pass::Prefixes] {
            let shader = cummax::shader(pass, words, dtype.is_floating_point());
            self.add(format!("cummax {pass:?}"), Some(shader));
        }
        let all = [
            Taken::Some { count: 1, first: 0 },
            Taken::Middle { skips_nan: false },
            Taken::Middle { skips_nan: true },
        ];
        for taken in all {
            let text = Some(order::take_text(taken, words, Some(size)));
            self.add_value(format!("{taken:?} {dtype}"), 3, &[Cell::Raw(size)], text);
            let text = Some(order::take_text(taken, words, None));
            self.add_value(format!("{taken:?} places"), 2, &[Cell::Raw(8)], text);
        }
        let has_nan = dtype.is_floating_point();
        let looks = [
            (Look::Place { right: true }, 8),
            (Look::Bin { has_nan }, 8),
            (
                Look::Equal {
                    invert: true,
                    has_nan,
                },
                1,
            ),
        ];
        for (look, bytes) in looks {
            for is_ordered in [false, true] {
                let text = Some(search::look_text(look, words, is_ordered));
                let reads = 2 + usize::from(is_ordered);
                self.add_value(format!("{look:?}"), reads, &[Cell::Raw(bytes)], text);
            }
        }
        for is_ordered in [false, true] {
            let text = Some(unique::is_new_text(words, has_nan, is_ordered));
            self.add_value("is new".to_owned(), 2, &[Cell::Raw(1)], text);
            let text = Some(unique::kind_text(size, is_ordered));
            self.add_value("kinds".to_owned(), 3, &[Cell::Raw(size)], text);
        }
        let text = Some(unique::count_text());
        self.add_value("kind counts".to_owned(), 1, &[Cell::Raw(8)], text);
    }
}
