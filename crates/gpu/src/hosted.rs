//! What the CPU does instead of the device: elements are brought down, and the results put up.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use allotrope_cpu::CPU;
use allotrope_dtype::{DType, Error};
use allotrope_op::{Backend, Hosting, Layout, Memory, Shared, Target, View};
use smallvec::SmallVec;

use crate::device::{Gpu, lock};
use crate::error::failed;
use crate::memory::Block;

/// The methods and families of tasks that the CPU does, and when. Tasks that are composed of other work
/// of the device where it has no shader for them are not among these.
pub const HOSTED: &[(&str, &str)] = &[
    ("put", "products of complex numbers"),
    ("place", "elements that share a place"),
    ("reduce", "products of floats without float64"),
    ("scan", "products of floats without float64"),
    (
        "draw",
        "normal numbers where square roots are not rounded to nearest",
    ),
    (
        "contraction",
        "products of truth values with factors, and what is multiplied by zero",
    ),
    (
        "window",
        "max_unpool, and greatest elements of windows without any",
    ),
    ("order", "mode, quantiles, unique rows and columns"),
    (
        "indexing",
        "counts of bins of one width, searches between dtypes whose numbers no dtype holds",
    ),
    (
        "values",
        "casts by other rules than the default ones that can lose something",
    ),
    ("rowwise", "counts of labels"),
    ("sampling", "all"),
    ("fourier", "all"),
    ("factorization", "all"),
    (
        "all",
        "views that reach over more bytes than a shader may see",
    ),
];

/// How often the CPU has done the work of each method of a device.
#[must_use]
pub fn hosted(gpu: &Gpu) -> Vec<(&'static str, usize)> {
    let mut list: Vec<(&'static str, usize)> =
        lock(&gpu.hosted).iter().map(|(k, v)| (*k, *v)).collect();
    list.sort_unstable();
    list
}

/// Hears that the CPU is about to do the work of a method for an operation on such dtypes; an error is
/// raised in its place.
pub type HostedReport = fn(&'static str, &'static dyn Backend, &[DType]) -> Result<(), Error>;

static REPORT: OnceLock<HostedReport> = OnceLock::new();

/// Sets what hears of hosted methods; the first stays.
pub fn report_hosted(report: HostedReport) {
    REPORT.get_or_init(|| report);
}

/// Memory of the CPU with the elements that views see, and the layouts of them in it.
pub(crate) struct Fetched {
    memories: SmallVec<[Shared; 4]>,
    layouts: SmallVec<[Layout; 4]>,
}

impl Fetched {
    /// The views.
    pub(crate) fn views(&self) -> SmallVec<[View<'_>; 4]> {
        let views = self.memories.iter().zip(&self.layouts);
        views
            .map(|(memory, layout)| View {
                memory: &**memory,
                layout,
            })
            .collect()
    }
}

impl Gpu {
    /// Notes that the CPU does the work of a method for an operation, and tells whoever wants to hear.
    pub(crate) fn host(
        &self,
        method: &'static str,
        op: &'static str,
        dtypes: &[DType],
    ) -> Result<Hosting, Error> {
        if let Some(report) = REPORT.get() {
            report(op, self.itself()?, dtypes)?;
        }
        *lock(&self.hosted).entry(method).or_default() += 1;
        Ok(Hosting::begin())
    }

    /// The elements of a view for the CPU: those that its layout reaches over.
    fn fetch(
        &self,
        op: &'static str,
        dtype: DType,
        view: &View<'_>,
    ) -> Result<(Shared, Layout), Error> {
        let block = self.own(op, view.memory)?;
        let (low, high) = view.layout.extent().unwrap_or_default();
        let mut memory = CPU.allocate(op, dtype, high - low)?;
        if let Some(bytes) = Arc::get_mut(&mut memory).and_then(|memory| memory.host_mut()) {
            let bytes = &mut bytes[..(high - low) * dtype.itemsize()];
            self.bring_down(op, dtype, block, low, bytes)?;
        }
        let (shape, strides) = (view.layout.shape().clone(), view.layout.strides().into());
        let offset = view.layout.offset().saturating_sub(low);
        Ok((memory, Layout::from_parts(shape, strides, offset)))
    }

    /// The elements of views for the CPU.
    pub(crate) fn fetch_all(
        &self,
        op: &'static str,
        dtypes: &[DType],
        views: &[View<'_>],
    ) -> Result<Fetched, Error> {
        let memories: SmallVec<[&dyn Memory; 4]> = views.iter().map(|view| view.memory).collect();
        self.raise_faults_of(op, &memories)?;
        let mut fetched = Fetched {
            memories: SmallVec::new(),
            layouts: SmallVec::new(),
        };
        for (dtype, view) in dtypes.iter().zip(views) {
            let (memory, layout) = self.fetch(op, *dtype, view)?;
            fetched.memories.push(memory);
            fetched.layouts.push(layout);
        }
        Ok(fetched)
    }

    /// All elements of a block for the CPU, as they lie.
    pub(crate) fn fetch_block(
        &self,
        op: &'static str,
        dtype: DType,
        memory: &dyn Memory,
    ) -> Result<Shared, Error> {
        let block = self.own(op, memory)?;
        let count = memory.len() / dtype.itemsize();
        let mut copy = CPU.allocate(op, dtype, count)?;
        if let Some(bytes) = Arc::get_mut(&mut copy).and_then(|memory| memory.host_mut()) {
            let bytes = &mut bytes[..count * dtype.itemsize()];
            self.bring_down(op, dtype, block, 0, bytes)?;
        }
        Ok(copy)
    }

    /// Elements that the CPU made.
    pub(crate) fn settle_here(
        &'static self,
        op: &'static str,
        dtype: DType,
        memory: &Shared,
    ) -> Result<Shared, Error> {
        let bytes = memory.on_host(op)?;
        self.put_up(op, dtype, bytes)
    }

    /// Lets the CPU write to a copy of a target, which is then put up.
    pub(crate) fn write_hosted(
        &'static self,
        op: &'static str,
        dtype: DType,
        target: Target<'_>,
        work: impl FnOnce(Target<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (start, count) = (target.start, target.count);
        let mut copy = self.fetch_block(op, dtype, target.memory)?;
        let whole = Target::new(op, &mut copy, count)?;
        work(Target { start, ..whole })?;
        let bytes = copy.on_host(op)?;
        let block = (target.memory as &mut dyn Any).downcast_mut::<Block>();
        let block =
            block.ok_or_else(|| failed(op, self.name, "the memory is of another device"))?;
        self.write_all(op, dtype, bytes, block)
    }
}
