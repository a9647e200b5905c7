//! Devices under test: all features and none, in both levels.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use allotrope_conformance::column::Column;
use allotrope_conformance::oracle::Exact;
use allotrope_dtype::{DType, Problem, WeakScalar};
use allotrope_gpu::{Features, Gpu, Level, Options};
use allotrope_op::Backend;

/// A device, what it is called in reports, and its lock: one test at a time computes on it.
pub(crate) struct Tested {
    pub(crate) gpu: &'static Gpu,
    pub(crate) name: String,
    lock: Mutex<()>,
}

impl Tested {
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The dtype that the device stores.
    pub(crate) fn stored(&self, dtype: DType) -> DType {
        self.gpu.capabilities().storage(dtype)
    }
}

fn open(features: Features, level: Level) -> Option<Tested> {
    let options = Options {
        software: true,
        features,
        level: Some(level),
        ..Options::default()
    };
    match allotrope_gpu::open(options) {
        Ok(gpu) => Some(Tested {
            gpu,
            name: format!("{features:?} features, {} level", level.name()),
            lock: Mutex::new(()),
        }),
        Err(error) => {
            // Without a driver, or without one that takes SPIR-V; nothing else is an excuse.
            let is_missing = matches!(error.problem(), Problem::UnknownDevice { .. });
            assert!(
                is_missing || error.to_string().contains("SPIR-V"),
                "{error}"
            );
            eprintln!("skipped: {features:?} features, {level:?} level: {error}");
            None
        }
    }
}

/// The devices whose shaders of some dtypes differ, by their numbers, each once; `turn` says which of
/// several alike. Levels differ where floats are computed with, and features by numbers of 64 bits and
/// by float16.
pub(crate) fn devices_for(dtypes: &[DType], is_arithmetic: bool, turn: usize) -> Vec<usize> {
    let devices = devices();
    let is_wide = |dtype: &DType| dtype.to_real().bits() == 64;
    let by_features = dtypes.iter().any(is_wide);
    let mut chosen: Vec<(usize, Vec<String>)> = Vec::new();
    for k in 0..devices.len() {
        let place = (k + turn) % devices.len();
        let device = &devices[place];
        let stored = |dtype: &DType| device.stored(*dtype).name().to_owned();
        let mut marks: Vec<String> = dtypes.iter().map(stored).collect();
        let is_integer = |dtype: &DType| dtype.is_integer();
        if by_features && dtypes.iter().any(is_integer) {
            marks.push(format!("{}", device.gpu.numerics().int64));
        }
        if dtypes.contains(&DType::F16) {
            marks.push(format!("{}", device.gpu.numerics().halves));
        }
        if is_arithmetic {
            marks.push(format!("{:?}", device.gpu.level()));
        }
        if chosen.iter().all(|(_, known)| *known != marks) {
            chosen.push((place, marks));
        }
    }
    chosen.into_iter().map(|(place, _)| place).collect()
}

/// The devices that there are; none is an answer.
pub(crate) fn devices() -> &'static [Tested] {
    static ALL: OnceLock<Vec<Tested>> = OnceLock::new();
    ALL.get_or_init(|| {
        let all = [
            (Features::All, Level::Strict),
            (Features::All, Level::Portable),
            (Features::Portable, Level::Strict),
            (Features::Portable, Level::Portable),
        ];
        all.into_iter()
            .filter_map(|(features, level)| open(features, level))
            .collect()
    })
}

/// Leaves out the answers that a device which flushes subnormal numbers of float32 cannot give.
pub(crate) fn flush(gpu: &Gpu, operands: &[Column], answers: &mut [Option<Exact>]) {
    if gpu.numerics().subnormals {
        return;
    }
    let is_subnormal = |x: f64| x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
    let has_subnormal = |value: &WeakScalar| match value {
        WeakScalar::Float(x) => is_subnormal(*x),
        WeakScalar::Complex(z) => is_subnormal(z.re) || is_subnormal(z.im),
        _ => false,
    };
    for (place, answer) in answers.iter_mut().enumerate() {
        let is_small = match answer {
            Some(Exact::Real(x)) => is_subnormal(x.hi),
            Some(Exact::Complex(z)) => is_subnormal(z.re.hi) || is_subnormal(z.im.hi),
            _ => false,
        };
        if is_small
            || operands
                .iter()
                .any(|column| has_subnormal(&column.values[place]))
        {
            *answer = None;
        }
    }
}
