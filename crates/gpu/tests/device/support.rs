//! Devices under test, numbers to test with, and how results are compared.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use allotrope_cpu::CPU;
use allotrope_dtype::{CastOptions, DType, Problem, cast_bytes};
use allotrope_gpu::{Features, Gpu, Level, Options};
use allotrope_op::{Backend, Layout, Shape, Shared, Target, View};

/// The software driver is accepted, and preferred to nothing.
pub(crate) fn options() -> Options {
    Options {
        software: true,
        ..Options::default()
    }
}

fn open(features: Features, level: Level) -> Option<&'static Gpu> {
    let options = Options {
        features,
        level: Some(level),
        ..options()
    };
    match allotrope_gpu::open(options) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            // Without a driver, or without one that takes SPIR-V; nothing else is an excuse.
            let is_missing = matches!(error.problem(), Problem::UnknownDevice { .. });
            assert!(
                is_missing || error.to_string().contains("SPIR-V"),
                "{error}"
            );
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// A device with all features and one with none, each in one of the levels; those that there are.
/// `ALLOTROPE_GPU_LEVEL` sets the level of both.
pub(crate) fn devices() -> Vec<&'static Gpu> {
    static ALL: OnceLock<Vec<&'static Gpu>> = OnceLock::new();
    ALL.get_or_init(|| {
        let asked = Options::from_env(0).level;
        [
            (Features::All, Level::Strict),
            (Features::Portable, Level::Portable),
        ]
        .into_iter()
        .filter_map(|(features, level)| open(features, asked.unwrap_or(level)))
        .collect()
    })
    .clone()
}

/// A device of each level with all features; those that there are.
pub(crate) fn levels() -> Vec<&'static Gpu> {
    static ALL: OnceLock<Vec<&'static Gpu>> = OnceLock::new();
    ALL.get_or_init(|| {
        [Level::Strict, Level::Portable]
            .into_iter()
            .filter_map(|level| open(Features::All, level))
            .collect()
    })
    .clone()
}

/// One test at a time: drivers use all threads, and the numbers of hosted work are compared.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The dtype that a device stores.
pub(crate) fn stored(gpu: &Gpu, dtype: DType) -> DType {
    gpu.capabilities().storage(dtype)
}

/// The bytes of numbers that try a dtype: specials first, then a sweep, then random bits.
pub(crate) fn bytes_of(dtype: DType, count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e-3,
        1e3,
        3.75,
        -7.5,
        1e-40,
        1e30,
        -1e-30,
        255.0,
        256.5,
        65504.0,
        2147483648.0,
        -2147483649.0,
        1e19,
        16777217.0,
        448.0,
        0.1,
    ];
    let size = dtype.itemsize();
    let mut bytes = Vec::new();
    for i in 0..count {
        let float = || special[i % special.len()];
        let random = next();
        let wide = f64::from_bits((random >> 12) | (1023 << 52)) - 1.5;
        let wide = wide * f64::powi(2.0, (random % 24) as i32 - 12);
        let real = if i < special.len() { float() } else { wide };
        match dtype {
            DType::Bool => bytes.push((random & 1) as u8),
            d if d.is_integer() => {
                let value = match i {
                    0 => 0,
                    1 => u64::MAX,
                    2 => 1,
                    3 => 1 << (8 * size - 1),
                    4 => (1 << (8 * size - 1)) - 1,
                    _ if i % 3 == 0 => random % 97,
                    _ => random,
                };
                bytes.extend_from_slice(&value.to_ne_bytes()[..size]);
            }
            d if d.is_complex() => {
                let other = special[(i * 7 + 3) % special.len()];
                let other = if i < 2 * special.len() {
                    other
                } else {
                    -wide * 0.7
                };
                let parts = [real, other];
                bytes.extend(cast(DType::F64, bytemuck::bytes_of(&parts), d.to_real()));
            }
            // Every code of the narrow ones.
            d if d.bits() == 8 => bytes.push(i as u8),
            d => bytes.extend(cast(DType::F64, bytemuck::bytes_of(&real), d)),
        }
    }
    bytes
}

/// Bytes of one dtype in another.
pub(crate) fn cast(from: DType, bytes: &[u8], to: DType) -> Vec<u8> {
    let count = bytes.len() / from.itemsize();
    let mut aligned = vec![0_u64; bytes.len().div_ceil(8) + 1];
    let source: &mut [u8] = bytemuck::cast_slice_mut(&mut aligned);
    source[..bytes.len()].copy_from_slice(bytes);
    let mut room = vec![0_u64; (count * to.itemsize()).div_ceil(8) + 1];
    let target: &mut [u8] = bytemuck::cast_slice_mut(&mut room);
    let target = &mut target[..count * to.itemsize()];
    cast_bytes(
        from,
        &source[..bytes.len()],
        to,
        target,
        CastOptions::default(),
    )
    .unwrap();
    target.to_vec()
}

/// The numbers that a device that narrows them would have.
pub(crate) fn narrowed(gpu: &Gpu, dtype: DType, bytes: &[u8]) -> Vec<u8> {
    let narrow = stored(gpu, dtype);
    if narrow == dtype {
        return bytes.to_vec();
    }
    cast(narrow, &cast(dtype, bytes, narrow), dtype)
}

/// A tensor on a device and the same on the CPU.
pub(crate) struct Pair {
    pub(crate) dtype: DType,
    pub(crate) gpu: Shared,
    pub(crate) cpu: Shared,
    pub(crate) layout: Layout,
}

impl Pair {
    pub(crate) fn new(gpu: &Gpu, dtype: DType, shape: &[usize], bytes: &[u8]) -> Self {
        let bytes = narrowed(gpu, dtype, bytes);
        Self {
            dtype,
            gpu: gpu.upload("test", dtype, &bytes).unwrap(),
            cpu: CPU.upload("test", dtype, &bytes).unwrap(),
            layout: Layout::contiguous(Shape::new("test", shape).unwrap()),
        }
    }

    pub(crate) fn sample(gpu: &Gpu, dtype: DType, shape: &[usize], seed: u64) -> Self {
        let count = shape.iter().product();
        Self::new(gpu, dtype, shape, &bytes_of(dtype, count, seed))
    }

    pub(crate) fn with(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    pub(crate) fn on_gpu(&self) -> View<'_> {
        View {
            memory: &*self.gpu,
            layout: &self.layout,
        }
    }

    pub(crate) fn on_cpu(&self) -> View<'_> {
        View {
            memory: &*self.cpu,
            layout: &self.layout,
        }
    }
}

/// The first elements of memory, wherever it is.
pub(crate) fn read(memory: &Shared, dtype: DType, count: usize) -> Vec<u8> {
    let layout = Layout::contiguous(Shape::new("test", &[count]).unwrap());
    let mut bytes = vec![0; count * dtype.itemsize()];
    let view = View {
        memory: &**memory,
        layout: &layout,
    };
    memory
        .backend()
        .download("test", dtype, view, &mut bytes)
        .unwrap();
    bytes
}

/// Memory as a target, from an element on.
pub(crate) fn target(memory: &mut Shared, start: usize, count: usize) -> Target<'_> {
    let whole = Target::new("test", memory, count).unwrap();
    Target { start, ..whole }
}

/// The components of elements as float64; integers and bool as they are.
pub(crate) fn numbers(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    let real = dtype.to_real();
    let wide = cast(real, bytes, DType::F64);
    wide.chunks_exact(8)
        .map(|b| f64::from_ne_bytes(b.try_into().unwrap()))
        .collect()
}

/// Fails unless the bits are the same; any NaN is one.
pub(crate) fn assert_same(what: &str, dtype: DType, gpu: &[u8], cpu: &[u8]) {
    assert_eq!(gpu.len(), cpu.len(), "{what}");
    let size = dtype.to_real().itemsize();
    let is_float = dtype.is_floating_point() || dtype.is_complex();
    let mut wrong = Vec::new();
    for (i, (a, b)) in gpu
        .chunks_exact(size)
        .zip(cpu.chunks_exact(size))
        .enumerate()
    {
        let nan = |bytes| is_float && numbers(dtype, bytes)[0].is_nan();
        if a != b && !(nan(a) && nan(b)) {
            wrong.push(i);
        }
    }
    if let Some(i) = wrong.first() {
        let at = i * size..(i + 1) * size;
        let (a, b) = (&gpu[at.clone()], &cpu[at]);
        let shown = |bytes| numbers(dtype, bytes)[0];
        panic!(
            "{what} {dtype}: {} differ, first at {i}: gpu {:?} ({a:02x?}), cpu {:?} ({b:02x?})",
            wrong.len(),
            shown(a),
            shown(b)
        );
    }
}
