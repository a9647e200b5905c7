//! One non-generic tensor: bytes with a dtype and a layout. A tensor is an immutable value.
//!
//! | file | what is in it |
//! |---|---|
//! | `tensor` | [`Tensor`]: the type and what it says of itself |
//! | `device` | devices as values, which one an operation takes, and what becomes of its tasks |
//! | `transfer` | the way from one device to another |
//! | `call` | the one beginning of a call: dtypes, device, autocast, trace |
//! | `notice` | what users are told of hosted operations and demoted dtypes, by the policies |
//! | `numeric` | bit-free tensors, whose width is the device's to choose |
//! | `host` | what is needed of the machine, whatever the device |
//! | `create` | constructors |
//! | `sizes` | sizes as tuples, arrays and numbers |
//! | `nested` | tensors written down as numbers, arrays and vectors |
//! | `collect` | tensors of iterators |
//! | `interop` | arrays and matrices of other crates, each with the feature of its name; tensors in serde's formats |
//! | `elements` | elements borrowed, in vectors, or one of them |
//! | `random/` | random tensors, and [`Generator`]: where a sequence of draws stands |
//! | `foreign` | tensors in memory that someone else owns |
//! | `variable/` | [`Variable`]: a place that is written to, and the views that see it |
//! | `fork` | locks that nobody holds while a process forks |
//! | `view` | views: other layouts of the same bytes |
//! | `strided` | views with strides of their own, which may overlap |
//! | `split` | parts of a tensor along a dimension |
//! | `overflow` | what becomes of results that leave the range of their dtype |
//! | `elementwise` | [`evaluate`], and every row of the op tables as a method |
//! | `operator` | `+`, `-` and their kin |
//! | `equality` | `==` by value |
//! | `reduce/` | sums, means, extremes and their kin |
//! | `ops/` | structured operations, one to a file |
//! | `index` | what stands in brackets |
//! | `key` | numbers, ranges and tuples of them as such |
//! | `assign` | assignment as a new value |
//! | `amp/` | mixed precision: autocast, and scaled gradients |
//! | `autograd/` | gradients: how tensors were made, and the way back |
//! | `trace` | which dtypes operations compute in, and why |
//! | `convert` | casts, and values out of a tensor |
//! | `format` | printing, in torch's manner |
//!
//! ```
//! use allotrope_tensor::{DType, Tensor};
//!
//! let x = Tensor::arange(0, 6, 1, DType::BF16)?.reshape(&[2, 3])?;
//! let y = 2.0 * &x.i((.., 1..))? - 1;
//! assert_eq!(y.to(DType::I64)?, Tensor::new([[1_i64, 3], [7, 9]])?);
//! assert_eq!(y.sum_all()?.to_scalar::<f64>()?, 20.0);
//! # Ok::<(), allotrope_tensor::Error>(())
//! ```
//!
//! What other crates of the library have in signatures here is exported from here, too.
#![forbid(unsafe_code)]

mod amp;
mod assign;
mod autograd;
mod call;
mod collect;
mod convert;
mod create;
mod device;
mod elements;
mod elementwise;
mod equality;
mod foreign;
mod fork;
mod format;
mod host;
mod index;
mod interop;
mod key;
mod nested;
mod notice;
mod numeric;
mod operator;
mod ops;
mod overflow;
mod random;
mod reduce;
mod sizes;
mod split;
mod strided;
mod tensor;
mod trace;
mod transfer;
mod variable;
mod view;

pub use allotrope_dtype::{
    Bool8, Capabilities, CastOptions, Cause, DType, Element, Error, ErrorKind, Family, Kind,
    MatmulPrecision, Nested, Notify, Numeric, Overflow, OverflowPolicy, Policy, Problem, Real,
    Rounding, Scalar, Scope, ScopeId, Set, WeakScalar, WithDType, bf16, c64, c128, default_dtype,
    f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f16, scoped_default_dtype, scoped_demotion,
    scoped_fallback, scoped_matmul_precision, scoped_overflow, scoped_promotion, set_default_dtype,
    set_demotion, set_fallback, set_matmul_precision, set_overflow, set_promotion,
};
pub use allotrope_op::task::{Edge, Task};
pub use allotrope_op::{
    Autocast, Backend, Builder, Dims, Distribution, Layout, Op, Program, Shape, Slice, Var,
};
pub use amp::{
    AutocastFlow, AutocastGuard, AutocastSetting, Condition, GradScaler, ScalerOptions,
    ScalerReport, ScalerState, autocast, autocast_policies, autocast_policy, autocast_setting,
    is_autocast_enabled, set_autocast_dtype, set_autocast_enabled,
};
pub use autograd::{
    AfterHook, AnomalyMode, BackwardOptions, Checked, Function, GradMode, GradcheckOptions, Hook,
    HookPlace, Mode, ModeFlow, apply_function, backward, checkpoint, detect_anomaly, enable_grad,
    grad, gradcheck, gradgradcheck, inference_mode, is_anomaly_enabled, is_grad_enabled,
    is_inference_mode, lasting_name, mode, no_grad, record_function, set_grad_enabled, set_locator,
};
pub use create::{Options, SignalWindow};
pub use device::{Device, DeviceProvider, HostedReport, perform_task, register_devices};
pub use elementwise::{Operand, evaluate};
pub use foreign::ForeignLayout;
pub use fork::{Undivided, after_fork, before_fork, undivided};
pub use format::{PrintOptions, print_options, set_print_options};
pub use host::{Buffer, CPU, Foreign, set_thread_count, thread_count};
pub use index::Index::{self, Ellipsis, NewAxis};
pub use key::IntoKey;
pub use notice::{
    Notice, NoticeSink, Way, forget_notices, hosted_operations, set_notice_sink, ways_of,
};
pub use ops::attention::AttentionOptions;
pub use ops::{
    AverageOptions, BagMode, Bags, BatchNorm, BatchNormOptions, Beside, Beyond, Blocks,
    ConvolutionOptions, Edges, Embedding, IndexReduction, Interpolation, InterpolationOptions,
    LossReduction, PadMode, Padding, Polynomial, QuantileInterpolation, Resized, Sampling, Search,
    Spacing, TransposedOptions, Unique, Window, add_scaled, einsum, fft, linalg, multi_dot,
    polynomial, sub_scaled,
};
pub use random::{Generator, Parameter};
pub use sizes::{Extent, IntoShape, IntoSizes};
pub use tensor::Tensor;
pub use trace::{
    Trace, TraceFlow, TraceGuard, TracedOperation, trace_cast, trace_dtypes, trace_value,
};
pub use transfer::{Operands, Transfer, gathered, take_transfers};
pub use variable::{
    CheckedRewrite, Link, Rewriting, Rewritten, RowOperand, Variable, Written, set_pause,
};
pub use view::broadcast_tensors;
