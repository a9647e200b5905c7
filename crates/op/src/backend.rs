//! What a device does for tensors: its memory, and the work that is done in it. Here belongs what
//! every device must be able to do, by families; plain data about the work is in `work` and `task`, and
//! no kernel is here.
//!
//! All work is asked for by a [`Backend`], whose methods take views of memory and give new memory.
//! Primitives are methods of their own, which every device has; what has a kernel of its own is a
//! [`Task`], which a device performs or declines. Dtypes are logical ones: a device that has to store
//! another (see [`Capabilities`]) converts where bytes come and go, in `upload` and `download`.
//!
//! # Faults
//! Errors about values (an index out of range, a zero divisor) are found by tasks that check, see
//! [`Task::is_check`]. A device that works at the call raises them from `perform`. One that queues its
//! work performs a check without waiting for it:
//! - `perform` answers at once, and the check is queued before all work that is asked for later;
//! - a check that refuses notes its error in the [`Faults`](crate::Faults) of the device, in the order
//!   of calls and with the thread that asked; [`Negative::fault`](crate::task::indexing::Negative::fault) and its kin word it;
//! - a check that writes indices then writes ones that are in range, so that what reads them stays
//!   inside its memory; other results that depend on refused values are not defined;
//! - whatever brings elements back (`download`, and `compress` and `coordinates`, which bring a number)
//!   raises the first noted fault that concerns it, and forgets the others: one of the thread that calls,
//!   or of a thread that had a part in the elements, which every memory knows by its
//!   [`Lineage`](crate::Lineage). `finish` raises those of the thread that calls.
//!
//! A device that declines the checks has them made of primitives, and a few numbers are read at the call.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use allotrope_dtype::{Capabilities, DType, Error, Problem, Scalar};
use smallvec::SmallVec;

use crate::task::{Input, Output, Results, Task};
use crate::work::{Band, Combine, Draw, Fold, Piece, Put, Scan, Stream};
use crate::{Layout, Lost, Op, Program, Shape};

/// The bytes of a tensor, wherever they are.
///
/// A backend knows its own memory by its type, which `memory as &dyn Any` tells.
pub trait Memory: Any + fmt::Debug + Send + Sync {
    /// Where the bytes are.
    fn backend(&self) -> &'static dyn Backend;

    /// How many bytes the elements have in their logical dtype, whatever the device stores.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, if the CPU can read them where they are.
    fn host(&self) -> Option<&[u8]>;

    /// The bytes to write to, if the CPU can and may.
    fn host_mut(&mut self) -> Option<&mut [u8]>;

    /// Whether someone else owns the bytes, who may be able to write to them.
    fn is_foreign(&self) -> bool {
        false
    }

    /// Whether a backend may write to the bytes: always to its own, to those of someone else only if
    /// they were handed over for it.
    fn is_writable(&self) -> bool {
        !self.is_foreign()
    }

    /// The memory of someone else once more, for a reader who shall see what is written to it later.
    fn again(&self) -> Option<Shared> {
        None
    }
}

impl dyn Memory {
    /// The bytes, for an operation that only the CPU has.
    ///
    /// # Errors
    /// A device error if the CPU cannot read them.
    #[inline]
    pub fn on_host(&self, op: &'static str) -> Result<&[u8], Error> {
        self.host()
            .ok_or_else(|| not_on_device(op, self.backend().name()))
    }
}

#[cold]
fn not_on_device(op: &'static str, given: &'static str) -> Error {
    Error::new(op, Problem::NotOnDevice { given }).hint("x.to(\"cpu\")")
}

/// Memory that tensors share.
pub type Shared = Arc<dyn Memory>;

/// Elements to read: memory, and where in it they are.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The memory that the layout points into.
    pub memory: &'a dyn Memory,
    /// Where the elements are.
    pub layout: &'a Layout,
}

/// Elements to write: so many from a place on in memory that nobody else has, in row-major order.
#[derive(Debug)]
pub struct Target<'a> {
    /// The memory.
    pub memory: &'a mut dyn Memory,
    /// The first element; where layouts in the target begin to count.
    pub start: usize,
    /// How many elements from there on.
    pub count: usize,
}

impl<'a> Target<'a> {
    /// The elements of shared memory, before anyone else has it.
    ///
    /// # Errors
    /// A device error if someone has.
    pub fn new(op: &'static str, memory: &'a mut Shared, count: usize) -> Result<Self, Error> {
        let device = memory.backend().name();
        match Arc::get_mut(memory) {
            Some(memory) => Ok(Self {
                memory,
                start: 0,
                count,
            }),
            None => {
                let reason = "its memory is in use".to_owned();
                Err(Error::new(op, Problem::DeviceFailure { device, reason }))
            }
        }
    }

    /// The bytes of the elements, for an operation that only the CPU has.
    ///
    /// # Errors
    /// A device error if the CPU cannot write to them.
    pub fn on_host(self, op: &'static str, dtype: DType) -> Result<&'a mut [u8], Error> {
        let device = self.memory.backend().name();
        let ends = [self.start, self.start + self.count].map(|count| dtype.bytes_for(count));
        let bytes = match (self.memory.host_mut(), ends) {
            (Some(bytes), [Some(start), Some(end)]) => bytes.get_mut(start..end),
            _ => None,
        };
        bytes.ok_or_else(|| not_on_device(op, device))
    }
}

/// Where a program that is written over memory reads an input.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// From memory that is not written to.
    View(View<'a>),
    /// From a target, by its number, element by element before it is written.
    Target(usize),
}

/// One run of a program whose outputs are written over memory, a target for each.
#[derive(Debug)]
pub struct Rewrite<'a> {
    /// The shape of all inputs and outputs.
    pub shape: &'a Shape,
    /// Where each input is read.
    pub inputs: SmallVec<[Origin<'a>; 4]>,
    /// Where each output is written; no two of them share a byte.
    pub targets: SmallVec<[Target<'a>; 2]>,
}

/// Which device a backend is: its kind and its number among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId {
    /// The kind, such as `cpu`.
    pub kind: &'static str,
    /// The number, from zero.
    pub index: u32,
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            0 => f.write_str(self.kind),
            index => write!(f, "{}:{index}", self.kind),
        }
    }
}

/// The outputs of a program, and what of them left the range of their dtypes.
pub type Watched = (SmallVec<[Shared; 2]>, Option<Lost>);

/// A device: where tensors are, and what computes with them.
///
/// Every result is new memory of the device, with its elements in row-major order. Views hold
/// memory of this device, whose elements exist; the dtypes, shapes and indices of arguments are checked
/// by the caller. `op` is what errors are raised by. All methods may fail with a memory error or a
/// device error.
#[allow(clippy::missing_errors_doc, reason = "said once, above")]
pub trait Backend: Send + Sync {
    /// Which device it is. Two backends of one id are one place.
    fn id(&self) -> DeviceId;

    /// What the device is called in messages: its kind, with its number if there are several.
    fn name(&self) -> &'static str {
        self.id().kind
    }

    /// What the device does with each dtype.
    fn capabilities(&self) -> &Capabilities;

    /// Waits until all work that was asked for is done, and raises the first fault noted of what the
    /// calling thread asked for.
    fn finish(&self) -> Result<(), Error>;

    /// The dtype in which sums of items of a compute dtype are formed, before they are rounded once.
    fn wide(&self, item: DType) -> DType {
        match item {
            DType::F32 => DType::F64,
            DType::C64 => DType::C128,
            item => item,
        }
    }

    // Work with a kernel of its own.

    /// What a task makes of its inputs; `None` if the device has no kernel for it, or none for sizes
    /// like these.
    fn perform(
        &self,
        _op: &'static str,
        _task: &Task<'_>,
        _inputs: &[Input<'_>],
        _outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        Ok(None)
    }

    // Memory.

    /// Room for elements, of unknown values.
    fn allocate(&self, op: &'static str, dtype: DType, count: usize) -> Result<Shared, Error>;

    /// Elements that the CPU has.
    fn upload(&self, op: &'static str, dtype: DType, bytes: &[u8]) -> Result<Shared, Error>;

    /// Writes elements, in row-major order, to bytes that hold exactly them; raises noted faults first.
    fn download(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        bytes: &mut [u8],
    ) -> Result<(), Error>;

    // Elementwise work.

    /// The outputs of a program for every element of a shape, which all inputs have.
    fn run(
        &self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        inputs: &[View<'_>],
    ) -> Result<SmallVec<[Shared; 2]>, Error>;

    /// [`run`](Self::run), and what of the outputs left the range of their dtypes; in their places the
    /// nearest numbers if it saturates, but NaN. Nothing from a device that does not look: then the CPU
    /// does.
    fn run_checked(
        &self,
        _op: &'static str,
        _program: &Program,
        _shape: &Shape,
        _inputs: &[View<'_>],
        _saturates: bool,
    ) -> Result<Option<Watched>, Error> {
        Ok(None)
    }

    /// Writes the outputs of a program over targets of their dtypes, for as many sets of them as are
    /// given. Whether the device can do that; if not, nothing is written.
    fn run_into(
        &self,
        _op: &'static str,
        _program: &Program,
        _rewrites: Vec<Rewrite<'_>>,
    ) -> Result<bool, Error> {
        Ok(false)
    }

    /// One row that has a formula for a compute dtype, over contiguous operands of one shape: what a
    /// program would take longer to set out for. `result` is the dtype of the results.
    fn apply(
        &self,
        row: Op,
        dtype: DType,
        result: DType,
        operands: &[View<'_>],
    ) -> Result<Shared, Error>;

    /// [`apply`](Self::apply) of a row of two operands, of which one is a number of the same dtype, the
    /// first if so said; `None` where a program does as well.
    fn apply_number(
        &self,
        _row: Op,
        _result: DType,
        _operand: View<'_>,
        _number: Scalar,
        _is_first: bool,
    ) -> Result<Option<Shared>, Error> {
        Ok(None)
    }

    // Folds: a program of one output makes the items.

    /// Items of a [`Fold::item`] folded along the middle of three sizes, in dtype `to`, rounded once
    /// from what they are folded in. The shape of the inputs has as many elements as the sizes.
    #[allow(clippy::too_many_arguments, reason = "each is a part of what is asked")]
    fn reduce(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        shape: &Shape,
        inputs: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error>;

    /// Every prefix of items of a [`Scan::item`] along the middle of three sizes, in dtype `to`,
    /// rounded once. The inputs are of one shape, which has as many elements as the sizes.
    fn scan(
        &self,
        op: &'static str,
        scan: Scan,
        program: &Program,
        inputs: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error>;

    // Movement.

    /// One element, given by its bytes, so many times.
    fn fill(
        &self,
        op: &'static str,
        dtype: DType,
        element: &[u8],
        count: usize,
    ) -> Result<Shared, Error>;

    /// The elements of a view.
    fn copy(&self, op: &'static str, dtype: DType, from: View<'_>) -> Result<Shared, Error>;

    /// Writes the elements of a view to where another layout of its shape has them in a target. Of
    /// several that share a place one stays.
    fn place(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        target: Target<'_>,
        to: &Layout,
    ) -> Result<(), Error>;

    /// A tensor of pieces, which fill it and do not overlap, each converted to the dtype.
    fn assemble(
        &self,
        op: &'static str,
        dtype: DType,
        shape: &Shape,
        pieces: &[Piece<'_>],
    ) -> Result<Shared, Error>;

    /// Matrices with zero outside a band, whose diagonal begins at column `diagonal`.
    fn keep_band(
        &self,
        op: &'static str,
        dtype: DType,
        band: Band,
        diagonal: isize,
        from: View<'_>,
    ) -> Result<Shared, Error>;

    // Elements chosen by indices and masks. Masks are contiguous, of bool.

    /// The elements that lie `index * step` behind the place that `from` gives each; there is an index
    /// of int64, checked and not negative, for each element of its shape.
    fn pick(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        step: isize,
        indices: View<'_>,
    ) -> Result<Shared, Error>;

    /// Combines elements of a compute dtype with those of a target, in the order of the source. Of
    /// truth values the sum and the greater are the disjunction, the others the conjunction.
    fn put(
        &self,
        op: &'static str,
        dtype: DType,
        combine: Combine,
        job: &Put<'_>,
        target: Target<'_>,
    ) -> Result<(), Error>;

    /// The elements of a contiguous view where a mask is true, and how many they are.
    fn compress(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
    ) -> Result<(Shared, usize), Error>;

    /// Writes elements of a contiguous view, one after the other, to a target where a mask is true: as
    /// many as that, or one for all of them.
    fn expand(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
        target: Target<'_>,
    ) -> Result<(), Error>;

    /// The coordinates of each element where a mask is true, as rows of int64, and how many rows.
    fn coordinates(&self, op: &'static str, mask: View<'_>) -> Result<(Shared, usize), Error>;

    // Random numbers.

    /// Fills a target with random numbers, which depend on the stream and their places alone.
    fn draw(
        &self,
        op: &'static str,
        dtype: DType,
        draw: Draw,
        stream: Stream,
        target: Target<'_>,
    ) -> Result<(), Error>;
}

impl fmt::Debug for dyn Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Backend({})", self.name())
    }
}
