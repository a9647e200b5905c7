//! What can be wrong: one variant per mistake, with its payload and its wording.

use super::cause::Cause;
use super::gradient::GradientProblem;
use super::wording::{
    LONGEST_NAME, LONGEST_PATH, at, at_index, axes, brief, brief_list, exact_range, filters, held,
    list, misfits, names, outside, range, refusal,
};
use crate::cast::{Overflow, Rounding};
use crate::{DType, Family, Policy, ScalarKind, Set};

/// What is wrong, with its payload.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// Something about gradients.
    #[error(transparent)]
    Gradient(#[from] GradientProblem),
    /// No dtype or family has this name.
    #[error("unknown name: '{given}'; accepted are {}", names())]
    UnknownDType {
        /// The name as given.
        given: String,
    },
    /// The dtype is outside the set that the operation accepts.
    #[error("wrong dtype: {given}; {} is accepted", set.description())]
    NotInSet {
        /// The dtype as given.
        given: DType,
        /// What is accepted.
        set: Set,
    },
    /// A family was given where only an exact dtype makes sense.
    #[error("an exact dtype is needed: {given} is a family; its members are {}", list(given.members()))]
    NotExact {
        /// The family as given.
        given: Family,
    },
    /// Two dtypes have no common dtype under a policy.
    #[error("{}", refusal(*policy, *lhs, *rhs))]
    NoPromotion {
        /// The policy in force.
        policy: Policy,
        /// One operand.
        lhs: DType,
        /// The other operand.
        rhs: DType,
    },
    /// A dtype and a Python scalar have no common dtype under a policy.
    #[error("{policy} promotion: {dtype} does not take {} scalar", scalar.described())]
    NoScalarPromotion {
        /// The policy in force.
        policy: Policy,
        /// The dtype of the tensor.
        dtype: DType,
        /// The kind of the scalar.
        scalar: ScalarKind,
    },
    /// `result_type` of nothing.
    #[error("no operands: at least one array, dtype or scalar is needed")]
    NoOperands,
    /// A scalar that the dtype cannot hold.
    #[error("scalar out of range: {value}; {dtype} holds {}", range(*dtype))]
    ScalarOverflow {
        /// The value as given.
        value: String,
        /// The dtype it should have.
        dtype: DType,
    },
    /// What is written in place is of a higher kind than what it is written to.
    #[error("a higher kind: {given}; in place {target} takes the same kind or a lower one")]
    HigherKind {
        /// The dtype of what is written.
        given: DType,
        /// The dtype of what it is written to.
        target: DType,
    },
    /// What is written in place has another shape than what it is written to.
    #[error("the result has another shape: {given:?}; in place it is {target:?}")]
    ShapeChanged {
        /// The shape of what is written.
        given: Vec<usize>,
        /// The shape of what it is written to.
        target: Vec<usize>,
    },
    /// Several elements that are to be written to are one place in memory.
    #[error(
        "elements share memory: shape {shape:?} with strides {strides:?}; only elements of their own are written in place"
    )]
    SharedElements {
        /// The shape.
        shape: Vec<usize>,
        /// The strides, in elements.
        strides: Vec<isize>,
    },
    /// A scalar of a kind that the dtype cannot hold.
    #[error("scalar of a higher kind: {value}; {dtype} holds {}", range(*dtype))]
    ScalarKindMismatch {
        /// The value as given.
        value: String,
        /// The dtype it should have.
        dtype: DType,
    },
    /// A scalar that lies between two values of the dtype.
    #[error("not exact as {dtype}: {value}; numbers that it holds are accepted")]
    InexactScalar {
        /// The value as given.
        value: String,
        /// The dtype it should have.
        dtype: DType,
    },
    /// A checked cast met a value that the target cannot hold.
    #[error("value out of range at index {index}: {value} of {from}; {to} holds {}", range(*to))]
    CastOverflow {
        /// The first offending index, in memory order.
        index: usize,
        /// The value there.
        value: String,
        /// The source dtype.
        from: DType,
        /// The target dtype.
        to: DType,
    },
    /// A conversion met a fraction that an integer dtype cannot hold.
    #[error("a fraction at index {index}: {value} of {from}; {to} holds {}", range(*to))]
    Fraction {
        /// The first offending index, in row-major order.
        index: usize,
        /// The value there.
        value: String,
        /// The source dtype.
        from: DType,
        /// The target dtype.
        to: DType,
    },
    /// A result left the range of its dtype, and the policy in force refuses that.
    #[error("{dtype} {}{}: {given}; {}", if *is_nan { "nan" } else { "overflow" }, at(index), held(*dtype, *is_nan))]
    Overflowed {
        /// The dtype of the result.
        dtype: DType,
        /// Whether it became NaN.
        is_nan: bool,
        /// The index of the first such element; nothing for a single one.
        index: Vec<usize>,
        /// The operation on the operands there, and what became of it.
        given: String,
    },
    /// A cast that would drop the imaginary part.
    #[error("complex to real: {from} to {to}; {} and bool are accepted", list(Set::Complex.members()))]
    ComplexToReal {
        /// The source dtype.
        from: DType,
        /// The target dtype.
        to: DType,
    },
    /// An overflow rule without a meaning for this cast.
    #[error("overflow '{overflow}' does not apply: {from} to {to}; accepted are {accepted}")]
    OverflowNotApplicable {
        /// The rule as given.
        overflow: Overflow,
        /// The source dtype.
        from: DType,
        /// The target dtype.
        to: DType,
        /// The rules that do apply.
        accepted: &'static str,
    },
    /// A rounding without a meaning for this cast.
    #[error("rounding '{rounding}' does not apply: {from} to {to}; an integer target truncates")]
    RoundingNotApplicable {
        /// The rounding as given.
        rounding: Rounding,
        /// The source dtype.
        from: DType,
        /// The target dtype.
        to: DType,
    },
    /// An option with an unknown spelling.
    #[error(
        "unknown {what}: '{}'; accepted are {accepted}",
        brief(given, LONGEST_NAME)
    )]
    UnknownOption {
        /// What the option is.
        what: &'static str,
        /// The spelling as given.
        given: String,
        /// The accepted spellings.
        accepted: String,
    },
    /// The default dtype must be a float.
    #[error("the default must be a floating dtype: {given}; accepted are {}", list(Set::Float.members()))]
    DefaultNotFloat {
        /// The dtype as given.
        given: DType,
    },
    /// Buffers that do not hold the same number of elements.
    #[error("lengths differ: {from} and {to} elements")]
    LengthMismatch {
        /// Elements in the source.
        from: usize,
        /// Elements in the target.
        to: usize,
    },
    /// Bytes that are not those of so many elements.
    #[error("wrong number of bytes: {bytes}; {count} elements of {dtype} have {needed}")]
    InvalidBuffer {
        /// The bytes that there are.
        bytes: usize,
        /// The bytes that are needed.
        needed: usize,
        /// The number of elements.
        count: usize,
        /// Their dtype.
        dtype: DType,
    },
    /// A buffer whose address or length does not fit its dtype.
    #[error("bytes do not form a slice of {dtype}: {reason}")]
    BadBuffer {
        /// The dtype that the bytes should have.
        dtype: DType,
        /// What does not fit.
        reason: String,
    },
    /// Rows of a nested list that have several lengths.
    #[error("lists of different lengths: {expected} and {given}; all must be equal")]
    Ragged {
        /// The length of the first.
        expected: usize,
        /// The length of another.
        given: usize,
    },
    /// Sizes whose product no address space holds.
    #[error("too many elements: {shape:?}; at most {} fit", isize::MAX)]
    TooManyElements {
        /// The sizes as given.
        shape: Vec<usize>,
    },
    /// An allocation that failed.
    #[error("out of memory: {bytes} bytes")]
    OutOfMemory {
        /// The bytes that were asked for.
        bytes: usize,
    },
    /// Two shapes that do not broadcast.
    #[error("shapes do not broadcast: {lhs:?} and {rhs:?}; sizes must be equal or 1")]
    NotBroadcastable {
        /// One shape.
        lhs: Vec<usize>,
        /// The other shape.
        rhs: Vec<usize>,
    },
    /// An axis that the tensor does not have.
    #[error("axis out of range: {axis}; {}", axes(*rank))]
    AxisOutOfRange {
        /// The axis as given.
        axis: isize,
        /// The number of dimensions.
        rank: usize,
    },
    /// An axis given more than once.
    #[error("axis named twice: {axis}")]
    RepeatedAxis {
        /// The axis as given the second time.
        axis: isize,
    },
    /// Not one axis per dimension.
    #[error("wrong number of axes: {given}; {rank} are needed")]
    WrongAxisCount {
        /// The number of axes.
        given: usize,
        /// The number of dimensions.
        rank: usize,
    },
    /// An index that the dimension does not have.
    #[error("index out of range: {index}; dimension {dim} has size {size}")]
    IndexOutOfRange {
        /// The index as given.
        index: isize,
        /// The dimension.
        dim: usize,
        /// Its size.
        size: usize,
    },
    /// Sizes for another number of elements.
    #[error("wrong number of elements: {from:?} to {to:?}; sizes must multiply to the same")]
    CannotReshape {
        /// The shape there is.
        from: Vec<usize>,
        /// The sizes as given.
        to: Vec<isize>,
    },
    /// A last axis before the first.
    #[error("axes in the wrong order: {start} to {end}; the first must not be after the last")]
    AxesReversed {
        /// The first axis as given.
        start: isize,
        /// The last axis as given.
        end: isize,
    },
    /// A range that never ends or has no numbers.
    #[error("no last number: from {start} to {end} by {step}; finite bounds are accepted")]
    EndlessRange {
        /// The first number.
        start: f64,
        /// The bound.
        end: f64,
        /// The step.
        step: f64,
    },
    /// More than one element where one is meant.
    #[error("not a single element: {shape:?}; exactly one is accepted")]
    NotSingle {
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// A Rust type other than the tensor's.
    #[error("wrong element type: {given}; the tensor has {dtype}")]
    WrongElement {
        /// The dtype of the type as given.
        given: DType,
        /// The dtype of the tensor.
        dtype: DType,
    },
    /// Elements that lie in another order or with gaps, where a slice of them is meant.
    #[error("not contiguous: {shape:?} with strides {strides:?}; row-major elements are accepted")]
    NotContiguous {
        /// The shape of the tensor.
        shape: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
    },
    /// A reinterpretation that would cut elements apart.
    #[error("cannot reinterpret {from} as {to}: {reason}")]
    CannotReinterpret {
        /// The dtype there is.
        from: DType,
        /// The dtype as given.
        to: DType,
        /// What does not fit.
        reason: String,
    },
    /// More than one `...` between brackets.
    #[error("more than one ellipsis; one is accepted")]
    RepeatedEllipsis,
    /// More indices than dimensions.
    #[error("too many indices: {given}; the tensor has {rank} dimensions")]
    TooManyIndices {
        /// The dimensions that the indices take.
        given: usize,
        /// The number of dimensions.
        rank: usize,
    },
    /// A mask of another shape than what it masks.
    #[error("mask of another shape: {mask:?}; the dimensions have sizes {sizes:?}")]
    MaskMismatch {
        /// The shape of the mask.
        mask: Vec<usize>,
        /// The sizes of the dimensions.
        sizes: Vec<usize>,
    },
    /// A slice that does not move.
    #[error("the step is zero; any other step is accepted")]
    ZeroStep,
    /// A window that does not fit its dimension.
    #[error(
        "window does not fit: size {size}, step {step}; \
         the dimension has size {available} and steps start at 1"
    )]
    BadWindow {
        /// The size of the window.
        size: usize,
        /// The distance between windows.
        step: usize,
        /// The size of the dimension.
        available: usize,
    },
    /// Filters that do not fit the channels of an image.
    #[error("channels do not fit: {}", filters(input, weight, *groups, *taken))]
    BadFilters {
        /// The shape of the images.
        input: Vec<usize>,
        /// The shape of the filters.
        weight: Vec<usize>,
        /// The number of groups.
        groups: usize,
        /// The channels that the filters take; none where they have not the right number of dimensions.
        taken: Option<usize>,
    },
    /// Bounds in the wrong order, or with nothing between them.
    #[error("nothing between the bounds: {low} and {high}; the first must be the lower one")]
    EmptyInterval {
        /// The lower bound as given.
        low: String,
        /// The upper bound as given.
        high: String,
    },
    /// Bounds whose distance the dtype does not hold.
    #[error("bounds too far apart: {low:?} and {high:?}; their distance must be a finite {dtype}")]
    WideInterval {
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
        /// The dtype of the numbers between.
        dtype: DType,
    },
    /// An integer beyond those that a float dtype holds without a gap.
    #[error("integer out of the exact range: {value}; {dtype} holds every integer {}", exact_range(*dtype))]
    InexactInteger {
        /// The integer.
        value: i128,
        /// The dtype it should have.
        dtype: DType,
    },
    /// An argument outside what it may be.
    #[error("{what} out of range{}: {value}; {accepted} are accepted", at_index(*index))]
    OutOfRange {
        /// What the argument is.
        what: &'static str,
        /// Where it stands, if it is one of several.
        index: Option<usize>,
        /// The value as given.
        value: String,
        /// The accepted values.
        accepted: &'static str,
    },
    /// An argument whose sizes do not fit the others.
    #[error("wrong shape of {what}: {given:?}; accepted is {accepted}")]
    WrongShape {
        /// What the argument is.
        what: &'static str,
        /// Its shape.
        given: Vec<usize>,
        /// The accepted sizes.
        accepted: String,
    },
    /// Bytes that are not the state of a generator.
    #[error("not a state: {dtype} of shape {shape:?}; uint8 of shape [16] is accepted")]
    BadState {
        /// The dtype as given.
        dtype: DType,
        /// The shape as given.
        shape: Vec<usize>,
    },
    /// Parts that do not make up a dimension.
    #[error(
        "sizes do not add up: {}; dimension {dim} has size {size}",
        brief_list(sizes)
    )]
    SplitMismatch {
        /// The sizes of the parts.
        sizes: Vec<usize>,
        /// The dimension.
        dim: usize,
        /// Its size.
        size: usize,
    },
    /// A part of a dimension that goes beyond its end.
    #[error("part out of range: {length} from index {start}; dimension {dim} has size {size}")]
    PartOutOfRange {
        /// The first index as given.
        start: isize,
        /// The size of the part.
        length: usize,
        /// The dimension.
        dim: usize,
        /// Its size.
        size: usize,
    },
    /// A tensor of too many dimensions.
    #[error("too many dimensions: {given}; at most {most} are accepted")]
    TooManyDimensions {
        /// The number of dimensions.
        given: usize,
        /// The largest number that is accepted.
        most: usize,
    },
    /// A tensor of too few dimensions.
    #[error("too few dimensions: {given}; at least {least} are needed")]
    TooFewDimensions {
        /// The number of dimensions.
        given: usize,
        /// The least number that is accepted.
        least: usize,
    },
    /// Tensors that cannot stand side by side.
    #[error("shapes differ: {lhs:?} and {rhs:?}; {}", outside(*dim))]
    ShapesDiffer {
        /// The shape of one.
        lhs: Vec<usize>,
        /// The shape of another.
        rhs: Vec<usize>,
        /// The dimension whose sizes may differ.
        dim: Option<usize>,
    },
    /// A size that is not a multiple of another.
    #[error("{what} is not a multiple of {of}: {given}")]
    NotMultiple {
        /// What the size is.
        what: &'static str,
        /// The size as given.
        given: usize,
        /// What it should be a multiple of.
        of: usize,
    },
    /// A reduction without an answer for no elements.
    #[error("no elements: {shape:?} has none along the reduced axes; at least one is needed")]
    NothingToReduce {
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// An integer divided by zero.
    #[error("integer division by zero{}", at_index(*index))]
    DivisionByZero {
        /// The first offending index, in row-major order; none for a scalar.
        index: Option<usize>,
    },
    /// An integer to a power that is a fraction.
    #[error("integer to a negative power{}; floats are accepted", at_index(*index))]
    NegativeExponent {
        /// The first offending index, in row-major order; none for a scalar.
        index: Option<usize>,
    },
    /// Less than two dimensions where matrices are meant.
    #[error("not a matrix: {shape:?}; at least two dimensions are accepted")]
    NotAMatrix {
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// Matrices with another number of rows than of columns.
    #[error("not square: {shape:?}; the last two sizes must be equal")]
    NotSquare {
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// Two operands of an equation that do not belong together.
    #[error("sizes do not fit each other: {lhs:?} and {rhs:?}")]
    SizesDoNotFit {
        /// One shape.
        lhs: Vec<usize>,
        /// The other shape.
        rhs: Vec<usize>,
    },
    /// A matrix without an inverse.
    #[error("singular matrix{}: pivot {pivot} is zero; invertible ones are accepted", at_index(*index))]
    SingularMatrix {
        /// The number of the matrix in its batch; none without a batch.
        index: Option<usize>,
        /// The first pivot that is zero.
        pivot: usize,
    },
    /// A matrix without a triangular root.
    #[error(
        "not positive definite{}: the leading minor up to row {row} is not positive",
        at_index(*index)
    )]
    NotPositiveDefinite {
        /// The number of the matrix in its batch; none without a batch.
        index: Option<usize>,
        /// The last row of the minor.
        row: usize,
    },
    /// A matrix with infinities or NaN, where an iteration would not end.
    #[error("not finite{}: the matrix has infinities or NaN; finite numbers are accepted", at_index(*index))]
    NotFinite {
        /// The number of the matrix in its batch; none without a batch.
        index: Option<usize>,
    },
    /// An iteration that did not end.
    #[error("no convergence{}: the iteration was given up", at_index(*index))]
    NoConvergence {
        /// The number of the matrix in its batch; none without a batch.
        index: Option<usize>,
    },
    /// A copy where the caller allowed none.
    #[error("a copy is needed: {reason}; copy=False forbids it")]
    CopyNeeded {
        /// Why the memory cannot be shared.
        reason: String,
    },
    /// A shape that elements cannot be seen in without a copy.
    #[error(
        "not without a copy: {from:?} with strides {strides:?} as {to:?}; a view shares memory"
    )]
    NoView {
        /// The strides, in elements.
        strides: Vec<isize>,
        /// The shape.
        from: Vec<usize>,
        /// The shape that was asked for.
        to: Vec<usize>,
    },
    /// A description of memory that no memory can have.
    #[error("malformed tensor: {reason}")]
    MalformedTensor {
        /// What does not fit.
        reason: String,
    },
    /// A DLPack type that no dtype has.
    #[error("no such dtype: DLPack type code {code} of {bits} bits; accepted are {}", list(DType::ALL.into_iter()))]
    UnknownDLPackType {
        /// The type code.
        code: u8,
        /// The width.
        bits: u8,
    },
    /// DLPack elements that are vectors.
    #[error("elements are vectors: {lanes} lanes; 1 is accepted")]
    VectorElements {
        /// The number of lanes.
        lanes: u16,
    },
    /// Memory that is not where it can be read.
    #[error("memory of another device: {given}; available are {available}")]
    ForeignDevice {
        /// The device of the memory.
        given: String,
        /// The devices of this machine.
        available: String,
    },
    /// Matrices that cannot be multiplied.
    #[error("inner dimensions differ: {lhs:?} x {rhs:?} ({} != {})", inner.0, inner.1)]
    InnerMismatch {
        /// The shape of the left factor.
        lhs: Vec<usize>,
        /// The shape of the right factor.
        rhs: Vec<usize>,
        /// The sizes that should be equal.
        inner: (usize, usize),
    },
    /// A tensor of the wrong number of dimensions.
    #[error("wrong number of dimensions: {what} of shape {shape:?}; {accepted} accepted")]
    WrongRank {
        /// What the tensor is.
        what: &'static str,
        /// Its shape.
        shape: Vec<usize>,
        /// The accepted numbers of dimensions.
        accepted: &'static str,
    },
    /// An equation of indices that means nothing.
    #[error("malformed equation: '{}': {reason}", brief(equation, LONGEST_PATH))]
    BadEquation {
        /// The equation as given.
        equation: String,
        /// What does not fit.
        reason: String,
    },
    /// Shapes that do not belong together.
    #[error("shapes do not fit: {what}: {shapes:?}; {accepted} accepted")]
    ShapesDoNotFit {
        /// What the tensors are.
        what: &'static str,
        /// Their shapes.
        shapes: Vec<Vec<usize>>,
        /// What fits.
        accepted: &'static str,
    },
    /// No such device on this machine.
    #[error(
        "no such device: '{}'; available are {available}",
        brief(given, LONGEST_NAME)
    )]
    UnknownDevice {
        /// The device as given.
        given: String,
        /// The devices of this machine.
        available: String,
    },
    /// Operands in two places.
    #[error("operands on two devices: {lhs} and {rhs}; one device is accepted")]
    DevicesDiffer {
        /// The device of one operand.
        lhs: String,
        /// The device of another.
        rhs: String,
    },
    /// An operation that the CPU would have to compute for a device, where the policy forbids it.
    #[error("no kernel on this device: {device}; fallback to cpu is an error by policy")]
    HostedRefused {
        /// The device of the operands.
        device: String,
    },
    /// A dtype that a device stores narrower, where the policy forbids it.
    #[error("{device} stores {dtype} as {storage}; demotion is an error by policy")]
    DemotionRefused {
        /// The device.
        device: String,
        /// The dtype of the tensor.
        dtype: DType,
        /// The dtype that the device stores.
        storage: DType,
    },
    /// An operation that only the CPU has, on memory that it cannot read.
    #[error("no such operation on this device: {given}; cpu is accepted")]
    NotOnDevice {
        /// The device of the memory.
        given: &'static str,
    },
    /// Values of a device whose tensors have none.
    #[error("no values on this device: {given}; shapes and dtypes are accepted")]
    NoValues {
        /// The device.
        given: &'static str,
    },
    /// A device that does not do what it should.
    #[error("the device failed: {device}; {reason}")]
    DeviceFailure {
        /// The device.
        device: &'static str,
        /// What went wrong.
        reason: String,
    },
    /// A file that the system does not give.
    #[error("no access to the file: '{}'; {reason}", brief(path, LONGEST_PATH))]
    FileAccess {
        /// The path, or what the bytes come from.
        path: String,
        /// The class of the system's answer.
        cause: std::io::ErrorKind,
        /// The system's words.
        reason: String,
    },
    /// A file whose contents contradict themselves or its format.
    #[error("damaged file: '{}'; {reason}", brief(path, LONGEST_PATH))]
    DamagedFile {
        /// The path, or what the bytes come from.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// Elements in a file that no dtype reads.
    #[error("no such dtype in the file '{}': {}; accepted are {}", brief(path, LONGEST_PATH), brief(given, LONGEST_NAME), list(DType::ALL.into_iter()))]
    UnknownFileDType {
        /// The path, or what the bytes come from.
        path: String,
        /// The dtype in the words of the file.
        given: String,
    },
    /// Something else than a tensor in a file, where one is meant.
    #[error("not a tensor: {given}; a tensor is accepted")]
    NotATensor {
        /// What was found.
        given: &'static str,
    },
    /// Something that a file format has no place for.
    #[error("cannot be saved: {}; {accepted}", brief(given, LONGEST_PATH))]
    NotSaved {
        /// What was given.
        given: String,
        /// What is accepted instead.
        accepted: &'static str,
    },
    /// Values of a module that are not those it has places for.
    #[error(
        "values that do not fit the module: {}; all of its names and shapes are accepted",
        misfits(missing, unexpected, wrong)
    )]
    StateMismatch {
        /// Places that have no value.
        missing: Vec<String>,
        /// Values that have no place.
        unexpected: Vec<String>,
        /// Values that do not fit their place, and why.
        wrong: Vec<String>,
    },
    /// What a program refuses in its own words, or fails with.
    #[error("{text}")]
    Other {
        /// The words.
        text: String,
        /// The error that was met, if there was one.
        cause: Option<Cause>,
    },
}
