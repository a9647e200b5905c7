//! The Python module of Allotrope: extract, call, wrap. No dtype decision is made here.
//!
//! | file | what is in it |
//! |---|---|
//! | `dtype` | the class `dtype`, one object per row of the table |
//! | `family` | the class `Family` |
//! | `limits` | `finfo` and `iinfo` |
//! | `arguments` | integers, sizes and synonyms among arguments |
//! | `convert` | anything a user may pass → dtype, family or operand |
//! | `foreign` | dtypes of other libraries, by what they are called |
//! | `infer` | data → dtype |
//! | `wanted` | what `dtype=` of an operation asks for |
//! | `init` | `_init`: first values of parameters |
//! | `rnn` | `_rnn`: recurrent networks |
//! | `place` | what an object holds from the moment it is made (unsafe) |
//! | `promotion` | `promote_types`, `result_type`, `can_cast`, `isdtype`, `explain_promotion` |
//! | `questions` | what a dtype is, asked of anything that has or names one |
//! | `settings` | default dtype, promotion policy and inference, with their scopes |
//! | `size` | the sizes of tensors, as tuples (unsafe) |
//! | `scopes` | scopes as context variables (unsafe) |
//! | `device` | `devices`, `supports` |
//! | `gpu` | the core of `allotrope.gpu` |
//! | `notice` | warnings of hosted operations, demoted dtypes and results out of range, and their policies |
//! | `cast` | `Tensor.to` and its kin, and conversion of NumPy arrays |
//! | `table` | printed tables |
//! | `tensor` | the class `Tensor` |
//! | `objects` | as many objects as data has, made fallibly (unsafe) |
//! | `numbers` | the same as Python's numbers and lists |
//! | `export` | the same as NumPy, DLPack and others see it |
//! | `in_place` | writes: assignment, `out=`, and the methods with an underscore |
//! | `examples` | an example of every elementwise row |
//! | `forms` | methods that are functions too, declared once |
//! | `amp` | autocast's settings and the core of `GradScaler` |
//! | `trace` | the core of `trace_dtypes` |
//! | `optim` | the core of `allotrope.optim` |
//! | `autograd` | gradients: what a tensor says of its own, and the walk back |
//! | `hooks` | hooks, and what a tensor object keeps of other objects |
//! | `view` | views, as methods and as functions |
//! | `create` | tensors from numbers, lists and arrays |
//! | `fill` | tensors of one value, and of numbers in a row |
//! | `random` | random tensors |
//! | `files` | `save` and `load` |
//! | `mapped` | files as memory (unsafe) |
//! | `distributions` | random tensors of distributions, indices by weights |
//! | `generator` | the class `Generator`, and the generator of the process |
//! | `interchange` | tensors from the arrays of other libraries |
//! | `numpy` | NumPy's arrays as tensors of the same memory (unsafe) |
//! | `dlpack` | DLPack in both directions (unsafe) |
//! | `memory` | `memoryview` of a tensor |
//! | `buffer` | how Python is told of it (unsafe) |
//! | `elementwise` | rows of the op tables as methods and functions |
//! | `options` | those with torch's options |
//! | `compose` | short compositions that torch has a name for |
//! | `attributes` | sizes and the like as torch's methods, and constructors like a tensor |
//! | `operator` | `+`, `-` and their kin |
//! | `operand` | what operations take beside a tensor |
//! | `names` | other names of what is declared elsewhere |
//! | `named` | results with named fields |
//! | `reduce` | sums, means, extremes and their kin |
//! | `ops/` | structured operations, family by family |
//! | `index` | what stands in brackets |
//! | `fork` | locks around forks |
//! | `interrupt` | signals in the middle of long work |
//! | `error` | THE table from error kinds to Python exceptions |
#![deny(unsafe_code)]
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "docstrings are Python's: `[1]` in an example is a list"
)]

#[macro_use]
mod examples;
#[macro_use]
mod forms;

mod amp;
mod arguments;
mod attributes;
mod autograd;
mod buffer;
mod cast;
mod compose;
mod convert;
mod create;
mod device;
mod distributions;
mod dlpack;
mod dtype;
mod elementwise;
mod error;
mod export;
mod family;
mod files;
mod fill;
mod foreign;
mod fork;
mod generator;
mod gpu;
mod hooks;
mod in_place;
mod index;
mod infer;
mod init;
mod interchange;
mod interrupt;
mod limits;
mod mapped;
mod memory;
mod memory_format;
mod named;
mod names;
mod notice;
mod numbers;
mod numpy;
mod objects;
mod operand;
mod operator;
mod ops;
mod optim;
mod options;
mod place;
mod promotion;
mod questions;
mod random;
mod reduce;
mod rnn;
mod scopes;
mod settings;
mod size;
mod table;
mod tensor;
mod trace;
mod view;
mod wanted;

use pyo3::prelude::*;

/// A lack of memory is a `MemoryError`, also where it hits something small.
#[global_allocator]
static ALLOCATOR: allotrope_cpu::Reserve = allotrope_cpu::Reserve;

/// A tensor library whose heart is one unified dtype system.
#[pymodule(name = "_core")]
mod core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        autograd::{grad_enabled, is_inference_mode_enabled},
        cast::cast,
        create::tensor,
        device::{
            _check_device_name, _hosted_operations, _require_device, _take_transfers, devices,
            get_default_device, is_dtype_supported, set_default_device, supports, synchronize,
        },
        distributions::{binomial_of, multinomial, poisson_of},
        dtype::{PyDType, dtypes},
        elementwise::{_elementwise_methods, _in_place_methods},
        examples::_written_results,
        family::PyFamily,
        files::{load, load_metadata, save},
        fill::{
            arange, empty, empty_like, eye, full, full_like, linspace, logspace, ones, ones_like,
            zeros, zeros_like,
        },
        generator::{
            _swap_place_of_thread, PyGenerator, get_rng_state, initial_seed, manual_seed, seed,
            set_rng_state,
        },
        gpu::{_gpu_count, _gpu_empty_cache, _gpu_memory, _gpu_properties, _gpu_reset_peak_memory},
        in_place::_write_all,
        infer::infer_dtype,
        interchange::{as_tensor, asarray, from_dlpack, from_numpy},
        limits::{PyFloatInfo, PyIntInfo},
        named::_named_fields,
        names::{_copied_views, _old_init_names, _other_names, _special_names, _spellings},
        notice::{
            _forget_notices, _warn, Demotion, Fallback, Overflow, Precision, get_demotion,
            get_fallback, get_matmul_precision, get_overflow, set_demotion, set_fallback,
            set_matmul_precision, set_overflow,
        },
        options::{allclose, complex, equal, imag, real, where_},
        promotion::{can_cast, explain_promotion, isdtype, policies, promote_types, result_type},
        random::{
            bernoulli, normal, rand, rand_like, randint, randint_like, randn, randn_like, randperm,
            uniform,
        },
        settings::{
            Promotion, get_default_dtype, get_num_threads, get_promotion, set_default_dtype,
            set_inference, set_num_threads, set_printoptions, set_promotion, simd_level,
        },
        table::{
            _structured_operations, _ways, _without_gradient, dtype_table, promotion_table, support,
        },
        tensor::PyTensor,
        view::{broadcast_tensors, reshape, split},
    };

    #[pymodule_init]
    fn add_constants(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("pi", std::f64::consts::PI)?;
        module.add("e", std::f64::consts::E)?;
        module.add("inf", f64::INFINITY)?;
        module.add("nan", f64::NAN)?;
        module.add("newaxis", module.py().None())?;
        let warning = module
            .py()
            .get_type::<crate::in_place::SharedMemoryWarning>();
        module.add("SharedMemoryWarning", warning)?;
        allotrope_tensor::set_pause(crate::tensor::pause);
        allotrope_cpu::interrupt::set_probe(crate::interrupt::probe);
        crate::fork::watch(module)?;
        crate::buffer::offer(module.py())?;
        crate::elementwise::unary_functions::register(module)?;
        crate::elementwise::binary_functions::register(module)?;
        crate::options::functions::register(module)?;
        crate::compose::register(module)?;
        crate::attributes::register(module)?;
        crate::questions::register(module)?;
        crate::size::register(module)?;
        crate::memory_format::register(module)?;
        crate::reduce::functions::register(module)?;
        crate::view::functions::register(module)?;
        crate::ops::register(module)?;
        crate::autograd::register(module)?;
        crate::amp::register(module)?;
        crate::scopes::register(module)?;
        crate::trace::register(module)?;
        crate::notice::register(module)?;
        crate::gpu::register_devices();
        crate::device::register_test_device();
        crate::init::register(module)?;
        crate::rnn::register(module)?;
        crate::optim::register(module)?;
        crate::distributions::register(module)?;
        crate::dtype::add_constants(module)?;
        crate::family::add_constants(module)?;
        crate::generator::add_constants(module)
    }
}
