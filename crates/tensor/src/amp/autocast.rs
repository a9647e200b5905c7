//! Which precision the operations of a thread, and of a flow of control within it, compute in.
//!
//! Floats alone are cast: float64, complex numbers and integers stay what they are, and so does
//! everything beside them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use allotrope_dtype::{DType, Error, Flow, GradientProblem, ScopeId, ScopeStack};
use allotrope_op::Autocast;
use smallvec::SmallVec;

use crate::Tensor;
use crate::call::Question;

/// The dtypes that autocast computes in.
const LOWER: [DType; 2] = [DType::BF16, DType::F16];

/// Weights whose casts are kept; the oldest goes first.
const MOST_WEIGHTS: usize = 1024;

/// How a thread casts.
#[derive(Clone, Debug)]
pub struct AutocastSetting {
    /// Whether it does at all.
    pub enabled: bool,
    /// What *lower* means.
    pub dtype: DType,
    /// Whether the casts of leaves are kept until the outermost scope ends.
    pub cache_enabled: bool,
    /// Operations with another policy than their row's, by name.
    pub overrides: Arc<HashMap<&'static str, Autocast>>,
}

impl Default for AutocastSetting {
    fn default() -> Self {
        Self {
            enabled: false,
            dtype: DType::BF16,
            cache_enabled: true,
            overrides: Arc::default(),
        }
    }
}

/// For threads without a setting of their own.
static PROCESS: AtomicBool = AtomicBool::new(false);
static PROCESS_DTYPE: RwLock<DType> = RwLock::new(DType::BF16);

/// Whether anybody ever asked for casts: until then operations read this alone, which is nearer than what
/// belongs to a thread.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// What the settings of a thread come to, so that operations need not look.
#[derive(Clone, Copy, PartialEq)]
enum Here {
    /// As the process.
    Unset,
    Off,
    On,
    /// A setting that holds only at times decides.
    Ask,
}

/// Says whether a setting holds at the moment, such as while a generator runs.
pub type Condition = Arc<dyn Fn() -> bool + Send + Sync>;

/// One setting.
#[derive(Clone)]
struct Entry {
    setting: AutocastSetting,
    condition: Option<Condition>,
}

/// A weight and its cast.
type Kept = (Tensor, Tensor);

thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here::Unset) };
    static ENTRIES: RefCell<ScopeStack<Entry>> = const { RefCell::new(ScopeStack::new()) };
    static WEIGHTS: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Whether operations of this thread are cast.
///
/// ```
/// use allotrope_tensor::{DType, autocast, is_autocast_enabled};
/// assert!(!is_autocast_enabled());
/// let _cast = autocast(DType::BF16, true)?;
/// assert!(is_autocast_enabled());
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[must_use]
#[inline]
pub fn is_autocast_enabled() -> bool {
    IS_USED.load(Ordering::Relaxed) && is_enabled_here()
}

fn is_enabled_here() -> bool {
    match HERE.get() {
        Here::Unset => PROCESS.load(Ordering::Relaxed),
        Here::Off => false,
        Here::On => true,
        Here::Ask => autocast_setting().enabled,
    }
}

/// The setting of this thread, its own or that of the process.
#[must_use]
pub fn autocast_setting() -> AutocastSetting {
    let own = ENTRIES.with_borrow(|entries| {
        let holds = |entry: &&Entry| entry.condition.as_ref().is_none_or(|holds| holds());
        let found = entries.inside_out().find(holds);
        found.map(|entry| entry.setting.clone())
    });
    own.unwrap_or_else(|| AutocastSetting {
        enabled: PROCESS.load(Ordering::Relaxed),
        dtype: *PROCESS_DTYPE.read().unwrap_or_else(PoisonError::into_inner),
        ..AutocastSetting::default()
    })
}

/// The settings of autocast that a flow of control is inside of, such as a task of an event loop; see
/// [`SettingFlow`](allotrope_dtype::SettingFlow).
#[derive(Clone, Default)]
pub struct AutocastFlow(Flow<Entry>);

impl AutocastFlow {
    /// Makes these the settings of this thread, beside those of its own guards.
    pub fn resume(&self) {
        change(|entries| entries.resume(self.0.clone()));
    }

    /// Whether the flow has no setting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Opens a scope of a setting, over those there are, while its condition holds.
    ///
    /// # Errors
    /// A gradient error for a dtype that autocast cannot compute in.
    pub fn enter(
        &mut self,
        setting: AutocastSetting,
        condition: Option<Condition>,
    ) -> Result<ScopeId, Error> {
        check_dtype(setting.dtype)?;
        let id;
        (self.0, id) = self.0.entered(Entry { setting, condition });
        Ok(id)
    }

    /// Ends a scope wherever it stands; false if the flow is not inside it.
    pub fn leave(&mut self, id: ScopeId) -> bool {
        let left = self.0.left(id);
        let is_left = left.is_some();
        self.0 = left.unwrap_or_else(|| self.0.clone());
        is_left
    }
}

/// Changes the settings of this thread. With the last one go the casts that were kept.
fn change<R>(change: impl FnOnce(&mut ScopeStack<Entry>) -> R) {
    let (former, here) = ENTRIES.with_borrow_mut(|entries| {
        let former = change(entries);
        let has_condition = entries.inside_out().any(|entry| entry.condition.is_some());
        let here = match entries.innermost() {
            None => Here::Unset,
            Some(_) if has_condition => Here::Ask,
            Some(entry) if entry.setting.enabled => Here::On,
            Some(_) => Here::Off,
        };
        (former, here)
    });
    if matches!(here, Here::On | Here::Ask) {
        IS_USED.store(true, Ordering::Relaxed);
    }
    HERE.set(here);
    // What others still have is dropped outside of the borrow.
    drop(former);
    if here == Here::Unset {
        drop(WEIGHTS.take());
    }
}

fn check_dtype(dtype: DType) -> Result<(), Error> {
    if LOWER.contains(&dtype) {
        return Ok(());
    }
    let problem = GradientProblem::WrongAutocast {
        given: dtype,
        // bounded: a few dtypes.
        accepted: LOWER.to_vec(),
    };
    Err(Error::new("autocast", problem.into()))
}

/// Turns autocast on or off for every thread that has no setting of its own.
pub fn set_autocast_enabled(enabled: bool) {
    if enabled {
        IS_USED.store(true, Ordering::Relaxed);
    }
    PROCESS.store(enabled, Ordering::Relaxed);
}

/// What *lower* means for every thread that has no setting of its own.
///
/// # Errors
/// A gradient error for a dtype that autocast cannot compute in.
pub fn set_autocast_dtype(dtype: DType) -> Result<(), Error> {
    check_dtype(dtype)?;
    *PROCESS_DTYPE
        .write()
        .unwrap_or_else(PoisonError::into_inner) = dtype;
    Ok(())
}

/// A setting of this thread, until it is dropped.
#[derive(Debug)]
#[must_use = "autocast ends when the guard is dropped"]
pub struct AutocastGuard {
    scope: Option<ScopeId>,
    // A guard belongs to the thread that made it.
    thread: PhantomData<*const ()>,
}

impl Drop for AutocastGuard {
    fn drop(&mut self) {
        change(|entries| self.scope.and_then(|scope| entries.remove(scope)));
    }
}

/// Operations of this thread are cast while the guard lives, or not, if not `enabled`: matrix
/// products and convolutions compute in `dtype`, functions that need it in float32.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, autocast};
/// let x = Tensor::ones(&[2, 2], DType::F32)?;
/// let guard = autocast(DType::BF16, true)?;
/// assert_eq!(x.matmul(&x)?.dtype(), DType::BF16);
/// assert_eq!(x.matmul(&x)?.exp()?.dtype(), DType::F32);
/// drop(guard);
/// assert_eq!(x.matmul(&x)?.dtype(), DType::F32);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A gradient error for a dtype that autocast cannot compute in.
pub fn autocast(dtype: DType, enabled: bool) -> Result<AutocastGuard, Error> {
    let setting = AutocastSetting {
        enabled,
        dtype,
        ..autocast_setting()
    };
    enter(setting)
}

/// A setting of this thread while the guard lives.
pub(crate) fn enter(setting: AutocastSetting) -> Result<AutocastGuard, Error> {
    check_dtype(setting.dtype)?;
    let condition = None;
    let mut scope = None;
    change(|entries| scope = Some(entries.push(Entry { setting, condition })));
    Ok(AutocastGuard {
        scope,
        thread: PhantomData,
    })
}

/// Autocast off within an operation, which has cast its operands; what was kept stays.
#[must_use = "autocast comes back when the guard is dropped"]
pub(crate) struct Inside {
    before: Here,
}

impl Drop for Inside {
    fn drop(&mut self) {
        HERE.set(self.before);
    }
}

/// Autocast off while the guard lives.
pub(crate) fn no_autocast() -> Inside {
    Inside {
        before: HERE.replace(Here::Off),
    }
}

/// The dtype that the result of a reduction or structured operation gets. Operands are decoded as
/// they are read, so that a product that is to be lower rounds them there, without a copy.
#[cold]
pub(crate) fn cast_result(question: Question) -> DType {
    let setting = autocast_setting();
    let policy = setting.overrides.get(question.name).copied();
    let target = match policy.unwrap_or(question.autocast) {
        Autocast::Lower => setting.dtype,
        Autocast::Float32 => DType::F32,
        Autocast::Keep | Autocast::Widest => return question.result,
    };
    // Places, truth values and what is not of the operands' dtype stay.
    if is_float(question.common) && question.result == question.common {
        target
    } else {
        question.result
    }
}

/// The wide dtype on whose account autocast does not cast operands that it would cast without it:
/// float64 and complex numbers are never rounded, and what they meet meets them there.
#[cold]
pub(crate) fn leaves_alone(
    name: &'static str,
    policy: Autocast,
    mut operands: impl Iterator<Item = DType>,
) -> Option<DType> {
    if !is_autocast_enabled() {
        return None;
    }
    let policy = autocast_setting()
        .overrides
        .get(name)
        .copied()
        .unwrap_or(policy);
    let casts = matches!(policy, Autocast::Lower | Autocast::Float32);
    operands.find(|dtype| casts && is_wide(*dtype))
}

/// The operands of an operation as autocast wants them, if that is not what they are.
pub(crate) fn cast_operands(
    name: &'static str,
    policy: Autocast,
    operands: &[&Tensor],
) -> Result<Option<SmallVec<[Tensor; 4]>>, Error> {
    if !is_autocast_enabled() {
        return Ok(None);
    }
    let setting = autocast_setting();
    let policy = setting.overrides.get(name).copied().unwrap_or(policy);
    let target = match policy {
        Autocast::Lower => setting.dtype,
        Autocast::Float32 => DType::F32,
        Autocast::Keep | Autocast::Widest => return Ok(None),
    };
    let changes = |tensor: &&Tensor| is_float(tensor.dtype()) && tensor.dtype() != target;
    let has_wide = operands.iter().any(|tensor| is_wide(tensor.dtype()));
    if has_wide || !operands.iter().any(changes) {
        return Ok(None);
    }
    let cast = operands.iter().map(|tensor| {
        if changes(tensor) {
            cast(tensor, target, &setting)
        } else {
            Ok((*tensor).clone())
        }
    });
    cast.collect::<Result<_, _>>().map(Some)
}

/// Whether a dtype has more digits than autocast computes with, or a part that it would lose.
fn is_wide(dtype: DType) -> bool {
    dtype == DType::F64 || dtype.is_complex()
}

/// Whether autocast casts a dtype at all.
fn is_float(dtype: DType) -> bool {
    dtype.is_floating_point() && dtype != DType::F64
}

/// A tensor in another dtype; that of a leaf is kept, since it is a weight used again and again.
fn cast(tensor: &Tensor, dtype: DType, setting: &AutocastSetting) -> Result<Tensor, Error> {
    let is_weight = tensor.requires_grad() && tensor.is_leaf();
    let keeps = setting.cache_enabled && is_weight && crate::is_grad_enabled();
    if !keeps {
        return tensor.to(dtype);
    }
    // By identity of the value: an update gives the leaf another one, since this list has it too.
    let known = WEIGHTS.with_borrow(|weights| {
        let found = weights
            .iter()
            .find(|(weight, cast)| weight.is_same_value(tensor) && cast.dtype() == dtype);
        found.map(|(_, cast)| cast.clone())
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let made = tensor.to(dtype)?;
    let old = WEIGHTS.with_borrow_mut(|weights| {
        weights.push((tensor.clone(), made.clone()));
        (weights.len() > MOST_WEIGHTS).then(|| weights.remove(0))
    });
    drop(old);
    Ok(made)
}
