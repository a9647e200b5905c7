//! What users are told without having asked: operations that the CPU computes for a device, dtypes that
//! a device stores narrower, results that left the range of their dtype. The policies in force decide whether it is a warning, an error or nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use allotrope_dtype::{DType, Error, Notify, Problem, demotion, fallback};
use allotrope_op::DeviceId;

use crate::autograd::locate;
use crate::device::Device;
use crate::fork;
use crate::trace::{is_tracing, trace_hosted};

/// What there is to say.
#[derive(Clone, Debug)]
pub enum Notice {
    /// The CPU computes an operation for a device that has no kernel for it.
    Hosted {
        /// The operation.
        op: &'static str,
        /// The device of its operands.
        device: Device,
    },
    /// A device stores a dtype narrower.
    Demoted {
        /// The dtype of the tensor.
        dtype: DType,
        /// The dtype that is stored.
        storage: DType,
        /// The device.
        device: Device,
    },
    /// Results of an operation left the range of their dtype. One is said of each operation, dtype and
    /// line of the program.
    Overflowed {
        /// The operation.
        op: &'static str,
        /// The dtype of the results.
        dtype: DType,
        /// The line of the user's program, if known.
        line: Option<String>,
        /// The first of them, and how many they are.
        told: String,
    },
}

impl PartialEq for Notice {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Hosted { op, device }, Self::Hosted { op: o, device: d }) => {
                (op, device) == (o, d)
            }
            (
                Self::Demoted {
                    dtype,
                    storage,
                    device,
                },
                Self::Demoted {
                    dtype: t,
                    storage: s,
                    device: d,
                },
            ) => (dtype, storage, device) == (t, s, d),
            (
                Self::Overflowed {
                    op, dtype, line, ..
                },
                Self::Overflowed {
                    op: o,
                    dtype: d,
                    line: l,
                    ..
                },
            ) => (op, dtype, line) == (o, d, l),
            _ => false,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosted { op, device } => write!(
                f,
                "{op}: no kernel on {device}: operands are moved to cpu and results back \
                 (hint: fallback(\"silent\"))"
            ),
            Self::Demoted {
                dtype,
                storage,
                device,
            } => {
                write!(f, "{device} stores {dtype} as {storage}: ")?;
                lost(f, *dtype, *storage)?;
                write!(f, " (hint: x.to({storage}), or demotion(\"silent\"))")
            }
            Self::Overflowed { op, told, .. } => write!(f, "{op}: {told}"),
        }
    }
}

/// What a narrower dtype does not keep.
fn lost(f: &mut fmt::Formatter<'_>, dtype: DType, storage: DType) -> fmt::Result {
    let digits = |dtype: DType| dtype.to_real().finfo().map(|info| info.resolution);
    match (digits(dtype), digits(storage)) {
        (Ok(before), Ok(after)) => write!(
            f,
            "numbers keep {} decimal digits of {}, and those above {:e} become infinite",
            -after.log10().round(),
            -before.log10().round(),
            storage.to_real().finfo().map_or(0.0, |info| info.max)
        ),
        _ => write!(f, "numbers beyond {storage} are refused"),
    }
}

/// What takes a notice: an error from it is raised in place of what the notice is about.
pub type NoticeSink = fn(&Notice) -> Result<(), Error>;

static SINK: RwLock<NoticeSink> = RwLock::new(print);

/// Without a sink of the user's: a line of the standard error stream.
#[allow(clippy::unnecessary_wraps, reason = "one of several sinks")]
fn print(notice: &Notice) -> Result<(), Error> {
    eprintln!("warning: {notice}");
    Ok(())
}

/// Sets what takes notices; at first they are lines of the standard error stream. It gets each notice
/// once, again if it failed.
///
/// ```
/// use allotrope_tensor::{Notice, set_notice_sink};
/// set_notice_sink(|notice| {
///     if let Notice::Hosted { op, device } = notice {
///         println!("{device} has no {op}");
///     }
///     Ok(())
/// });
/// ```
pub fn set_notice_sink(sink: NoticeSink) {
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink;
}

/// How a device came to the result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// By a kernel of its own.
    Native,
    /// By other operations, on the device.
    Composed,
    /// By the CPU.
    Hosted,
}

impl Way {
    /// In one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Composed => "composed",
            Self::Hosted => "hosted",
        }
    }
}

/// What was said, how often each operation was computed by the CPU for each device, and how each came
/// to the result of others.
struct Record {
    said: Vec<Notice>,
    hosted: BTreeMap<(&'static str, DeviceId), u64>,
    ways: BTreeMap<(&'static str, DeviceId), Way>,
}

static RECORD: Mutex<Record> = Mutex::new(Record {
    said: Vec::new(),
    hosted: BTreeMap::new(),
    ways: BTreeMap::new(),
});

/// Works with the record; what is called may not say anything itself.
fn with_record<T>(work: impl FnOnce(&mut MutexGuard<'_, Record>) -> T) -> T {
    let _gate = fork::enter_detached();
    work(&mut RECORD.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Forgets what was said, so that it is said again.
pub fn forget_notices() {
    with_record(|record| record.said.clear());
}

/// Says something, unless it was said before.
fn say(notice: Notice) -> Result<(), Error> {
    let is_new = with_record(|record| {
        let is_new = !record.said.contains(&notice);
        if is_new {
            record.said.push(notice.clone());
        }
        is_new
    });
    if !is_new {
        return Ok(());
    }
    let sink = *SINK.read().unwrap_or_else(PoisonError::into_inner);
    let taken = sink(&notice);
    if taken.is_err() {
        with_record(|record| record.said.retain(|said| *said != notice));
    }
    taken
}

/// The CPU is about to compute an operation on tensors of some dtypes for a device.
///
/// # Errors
/// A device error if the policy is one, and what the sink raises.
#[cold]
pub(crate) fn hosted(op: &'static str, device: Device, inputs: &[DType]) -> Result<(), Error> {
    let answer = fallback();
    if answer == Notify::Error {
        let device = device.to_string();
        let problem = Problem::HostedRefused { device };
        return Err(Error::new(op, problem).hint("fallback(\"warn\")"));
    }
    let key = (op, device.backend().id());
    with_record(|record| *record.hosted.entry(key).or_default() += 1);
    went(op, device, Way::Hosted);
    if is_tracing() {
        trace_hosted(op, device, inputs);
    }
    match answer {
        Notify::Warn => say(Notice::Hosted { op, device }),
        Notify::Silent | Notify::Error => Ok(()),
    }
}

/// A tensor of a dtype is about to be made on a device: whatever it stores narrower is reported.
///
/// # Errors
/// A device error if the policy is one, and what the sink raises.
#[inline]
pub(crate) fn stored(op: &'static str, dtype: DType, device: Device) -> Result<(), Error> {
    let storage = device.backend().capabilities().storage(dtype);
    if storage == dtype {
        return Ok(());
    }
    demoted(op, dtype, storage, device)
}

#[cold]
fn demoted(op: &'static str, dtype: DType, storage: DType, device: Device) -> Result<(), Error> {
    match demotion() {
        Notify::Warn => say(Notice::Demoted {
            dtype,
            storage,
            device,
        }),
        Notify::Silent => Ok(()),
        Notify::Error => {
            let device = device.to_string();
            let problem = Problem::DemotionRefused {
                device,
                dtype,
                storage,
            };
            let hint = format!("x.to({storage}), or demotion(\"warn\")");
            Err(Error::new(op, problem).hint(hint))
        }
    }
}

/// Results left the range of their dtype: the first of them, and how many they are.
///
/// # Errors
/// What the sink raises.
#[cold]
pub(crate) fn overflowed(
    op: &'static str,
    dtype: DType,
    first: &Problem,
    count: usize,
) -> Result<(), Error> {
    let others = match count {
        0 | 1 => String::new(),
        count => format!(" ({count} in all)"),
    };
    say(Notice::Overflowed {
        op,
        dtype,
        line: locate(),
        told: format!("{first}{others}"),
    })
}

/// The operations that the CPU computed for a device, and how often: those whose tasks it has no
/// kernel for.
#[must_use]
pub fn hosted_operations(device: Device) -> Vec<(&'static str, u64)> {
    let wanted = device.backend().id();
    with_record(|record| {
        let here = record.hosted.iter().filter(|((_, id), _)| *id == wanted);
        here.map(|((op, _), count)| (*op, *count)).collect()
    })
}

/// Remembers how a device came to a result; of several ways the longest. The CPU has a kernel for all.
#[cold]
pub(crate) fn went(op: &'static str, device: Device, way: Way) {
    let key = (op, device.backend().id());
    with_record(|record| {
        let known = record.ways.entry(key).or_insert(way);
        *known = way.max(*known);
    });
}

/// How a device came to the results of the structured operations that it was asked for so far.
#[must_use]
pub fn ways_of(device: Device) -> Vec<(&'static str, Way)> {
    let wanted = device.backend().id();
    with_record(|record| {
        let here = record.ways.iter().filter(|((_, id), _)| *id == wanted);
        here.map(|((op, _), way)| (*op, *way)).collect()
    })
}
