//! The settings in force: default dtype, promotion policy, inference of float64, and what is said of
//! operations that a device does not have and of dtypes that it stores narrower, what becomes of
//! results that leave the range of their dtype, and how exactly matrices are multiplied.
//!
//! Each has a process-wide value and scopes, of a thread or of a flow of control within one. A setter
//! changes the innermost scope if there is one, else the process-wide value.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::LocalKey;

use crate::scope::{Flow, ScopeId, ScopeStack};
use crate::{DType, Error, Policy, Problem};

/// The scopes that a thread is inside of, each with its value.
type Scopes = RefCell<ScopeStack<u8>>;

/// A setting with a process-wide value and scopes.
struct Setting {
    process: AtomicU8,
    scopes: fn() -> &'static LocalKey<Scopes>,
}

impl Setting {
    fn get(&self) -> u8 {
        let innermost = (self.scopes)().with_borrow(|scopes| scopes.innermost().copied());
        innermost.unwrap_or_else(|| self.process.load(Ordering::Relaxed))
    }

    /// Sets the innermost scope that is the thread's own; without one, the process.
    fn set(&self, new: u8) {
        (self.scopes)().with_borrow_mut(|scopes| match scopes.own_mut() {
            Some(value) => *value = new,
            None => self.process.store(new, Ordering::Relaxed),
        });
    }

    fn resume(&self, flow: &Flow<u8>) {
        (self.scopes)().with_borrow_mut(|scopes| scopes.resume(flow.clone()));
    }
}

macro_rules! setting {
    ($name:ident, $initial:expr) => {
        static $name: Setting = {
    thread_local!(static SCOPES: Scopes = const { RefCell::new(ScopeStack::new()) });
            Setting {
                process: AtomicU8::new($initial),
                scopes: || &SCOPES,
            }
        };
    };
}
setting!(DEFAULT_DTYPE, DType::F32 as u8);
setting!(POLICY, 0);
setting!(FLOAT64_INFERENCE, 0);
setting!(FALLBACK, 0);
setting!(DEMOTION, 0);
setting!(OVERFLOW, 0);
setting!(MATMUL_PRECISION, 0);

/// Whether anybody ever asked for another policy of overflow than to wrap: until then operations read
/// this alone.
static OVERFLOW_IS_USED: AtomicBool = AtomicBool::new(false);

/// The number of a policy of overflow, which is about to be in force.
fn using(policy: OverflowPolicy) -> u8 {
    if policy != OverflowPolicy::Wrap {
        OVERFLOW_IS_USED.store(true, Ordering::Relaxed);
    }
    policy as u8
}

/// Ends the thread's scope when dropped, in any order. Stays on the thread that made it.
#[must_use = "the scope ends when this is dropped"]
pub struct Scope {
    setting: &'static Setting,
    id: ScopeId,
    on_this_thread: PhantomData<*const ()>,
}

impl Scope {
    fn enter(setting: &'static Setting, value: u8) -> Self {
        Self {
            setting,
            id: (setting.scopes)().with_borrow_mut(|scopes| scopes.push(value)),
            on_this_thread: PhantomData,
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        (self.setting.scopes)().with_borrow_mut(|scopes| scopes.remove(self.id));
    }
}

/// The dtype of floats that nothing else decides; `float32` at the start.
#[must_use]
pub fn default_dtype() -> DType {
    DType::from_index(usize::from(DEFAULT_DTYPE.get())).unwrap_or(DType::F32)
}

/// Sets the default dtype.
///
/// # Errors
/// A dtype error unless `dtype` is a float.
pub fn set_default_dtype(dtype: DType) -> Result<(), Error> {
    DEFAULT_DTYPE.set(check_default(dtype)? as u8);
    Ok(())
}

/// Makes `dtype` the default on this thread until the scope is dropped.
///
/// ```
/// use allotrope_dtype::{DType, default_dtype, scoped_default_dtype};
/// {
///     let _scope = scoped_default_dtype(DType::F64)?;
///     assert_eq!(default_dtype(), DType::F64);
/// }
/// assert_eq!(default_dtype(), DType::F32);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A dtype error unless `dtype` is a float.
pub fn scoped_default_dtype(dtype: DType) -> Result<Scope, Error> {
    Ok(Scope::enter(&DEFAULT_DTYPE, check_default(dtype)? as u8))
}

fn check_default(dtype: DType) -> Result<DType, Error> {
    if dtype.is_floating_point() {
        Ok(dtype)
    } else {
        Err(Error::new(
            "set_default_dtype",
            Problem::DefaultNotFloat { given: dtype },
        ))
    }
}

/// The promotion policy in force; standard at the start.
#[must_use]
pub fn promotion() -> Policy {
    Policy::ALL
        .into_iter()
        .nth(usize::from(POLICY.get()))
        .unwrap_or(Policy::Standard)
}

/// Sets the promotion policy.
pub fn set_promotion(policy: Policy) {
    POLICY.set(policy as u8);
}

/// Makes `policy` the promotion policy on this thread until the scope is dropped.
pub fn scoped_promotion(policy: Policy) -> Scope {
    Scope::enter(&POLICY, policy as u8)
}

/// The default dtype of threads that are in no scope.
#[must_use]
pub fn process_default_dtype() -> DType {
    DType::from_index(usize::from(DEFAULT_DTYPE.process.load(Ordering::Relaxed)))
        .unwrap_or(DType::F32)
}

/// Sets the default dtype of threads that are in no scope, also from inside one.
///
/// # Errors
/// A dtype error unless `dtype` is a float.
pub fn set_process_default_dtype(dtype: DType) -> Result<(), Error> {
    DEFAULT_DTYPE
        .process
        .store(check_default(dtype)? as u8, Ordering::Relaxed);
    Ok(())
}

/// A setting with a name for each of its answers.
macro_rules! answers {
    ($(#[doc = $doc:literal])* $class:ident { $(#[doc = $first_doc:literal])* $first:ident = $first_name:literal,
       $($(#[doc = $one_doc:literal])* $one:ident = $one_name:literal,)* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $class {
            $(#[doc = $first_doc])*
            #[default]
            $first,
            $($(#[doc = $one_doc])* $one,)*
        }

        impl $class {
            /// Every answer.
            pub const ALL: &'static [Self] = &[Self::$first $(, Self::$one)*];

            /// The name, as Python has it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    Self::$first => $first_name,
                    $(Self::$one => $one_name,)*
                }
            }

            /// The answer with a name.
            ///
            /// # Errors
            /// A value error for any other name.
            pub fn parse(op: &'static str, name: &str) -> Result<Self, Error> {
                let found = Self::ALL.iter().find(|answer| answer.name() == name);
                found.copied().ok_or_else(|| {
                    Error::unknown_option(op, "policy", name, &[$first_name $(, $one_name)*])
                })
            }

            fn of(setting: &Setting) -> Self {
                let number = usize::from(setting.get());
                Self::ALL.get(number).copied().unwrap_or_default()
            }
        }
    };
}
answers! {
    /// What becomes of a notice, such as that a device has no kernel for an operation.
    Notify {
        /// A warning, once of a kind.
        Warn = "warn",
        /// Nothing is said.
        Silent = "silent",
        /// An error in place of what it is about.
        Error = "error",
    }
}
answers! {
    /// What becomes of results that leave the range of their dtype: integers beyond it, and floats that
    /// become infinite or NaN from finite operands.
    OverflowPolicy {
        /// Integers wrap, floats become infinite or NaN.
        Wrap = "wrap",
        /// An error that names the first of them.
        Raise = "raise",
        /// The nearest number that the dtype holds.
        Saturate = "saturate",
        /// As they wrap, with a notice that names the first of them.
        Report = "report",
    }
}

answers! {
    /// How matrices of bfloat16 and float8 are multiplied.
    MatmulPrecision {
        /// As float32 numbers, with the same bits on every processor.
        Same = "same",
        /// By the processor's own bfloat16 units, where it has them: subnormal sums are zero, and neighbouring
        /// products are added in another order.
        Fast = "fast",
    }
}

/// What becomes of the notice that the CPU computes an operation for a device without a kernel for it;
/// a warning at the start.
#[must_use]
pub fn fallback() -> Notify {
    Notify::of(&FALLBACK)
}

/// Sets what becomes of notices of hosted operations.
pub fn set_fallback(answer: Notify) {
    FALLBACK.set(answer as u8);
}

/// Decides what becomes of notices of hosted operations on this thread until the scope is dropped.
///
/// ```
/// use allotrope_dtype::{Notify, fallback, scoped_fallback};
/// {
///     let _scope = scoped_fallback(Notify::Error);
///     assert_eq!(fallback(), Notify::Error);
/// }
/// assert_eq!(fallback(), Notify::Warn);
/// ```
pub fn scoped_fallback(answer: Notify) -> Scope {
    Scope::enter(&FALLBACK, answer as u8)
}

/// What becomes of the notice that a device stores a dtype narrower; a warning at the start.
#[must_use]
pub fn demotion() -> Notify {
    Notify::of(&DEMOTION)
}

/// Sets what becomes of notices of demoted dtypes.
pub fn set_demotion(answer: Notify) {
    DEMOTION.set(answer as u8);
}

/// Decides what becomes of notices of demoted dtypes on this thread until the scope is dropped.
pub fn scoped_demotion(answer: Notify) -> Scope {
    Scope::enter(&DEMOTION, answer as u8)
}

/// What becomes of results that leave the range of their dtype; they wrap at the start.
#[inline]
#[must_use]
pub fn overflow() -> OverflowPolicy {
    if OVERFLOW_IS_USED.load(Ordering::Relaxed) {
        OverflowPolicy::of(&OVERFLOW)
    } else {
        OverflowPolicy::Wrap
    }
}

/// Sets what becomes of results that leave the range of their dtype.
pub fn set_overflow(policy: OverflowPolicy) {
    OVERFLOW.set(using(policy));
}

/// Decides what becomes of results that leave the range of their dtype on this thread until the scope
/// is dropped.
///
/// ```
/// use allotrope_dtype::{OverflowPolicy, overflow, scoped_overflow};
/// {
///     let _scope = scoped_overflow(OverflowPolicy::Raise);
///     assert_eq!(overflow(), OverflowPolicy::Raise);
/// }
/// assert_eq!(overflow(), OverflowPolicy::Wrap);
/// ```
pub fn scoped_overflow(policy: OverflowPolicy) -> Scope {
    Scope::enter(&OVERFLOW, using(policy))
}

/// How matrices of bfloat16 and float8 are multiplied; with the same bits on every processor at the start.
#[must_use]
pub fn matmul_precision() -> MatmulPrecision {
    MatmulPrecision::of(&MATMUL_PRECISION)
}

/// Sets how matrices of bfloat16 and float8 are multiplied.
pub fn set_matmul_precision(precision: MatmulPrecision) {
    MATMUL_PRECISION.set(precision as u8);
}

/// Decides how matrices of bfloat16 and float8 are multiplied on this thread until the scope is dropped.
///
/// ```
/// use allotrope_dtype::{MatmulPrecision, matmul_precision, scoped_matmul_precision};
/// {
///     let _scope = scoped_matmul_precision(MatmulPrecision::Fast);
///     assert_eq!(matmul_precision(), MatmulPrecision::Fast);
/// }
/// assert_eq!(matmul_precision(), MatmulPrecision::Same);
/// ```
pub fn scoped_matmul_precision(precision: MatmulPrecision) -> Scope {
    Scope::enter(&MATMUL_PRECISION, precision as u8)
}

/// The scopes of the settings that a flow of control is inside of, such as a task
/// of an event loop. For bindings: they keep it where their language keeps what belongs to a flow, and
/// call [`Self::resume`] when a thread goes on with another.
#[derive(Clone, Debug, Default)]
pub struct SettingFlow {
    default_dtype: Flow<u8>,
    policy: Flow<u8>,
    fallback: Flow<u8>,
    demotion: Flow<u8>,
    overflow: Flow<u8>,
    matmul_precision: Flow<u8>,
}

impl SettingFlow {
    /// Makes these the scopes of this thread, beside those of its own guards.
    pub fn resume(&self) {
        DEFAULT_DTYPE.resume(&self.default_dtype);
        POLICY.resume(&self.policy);
        FALLBACK.resume(&self.fallback);
        DEMOTION.resume(&self.demotion);
        OVERFLOW.resume(&self.overflow);
        MATMUL_PRECISION.resume(&self.matmul_precision);
    }

    /// Whether the flow is in no scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            default_dtype,
            policy,
            fallback,
            demotion,
            overflow,
            matmul_precision,
        } = self;
        let all = [
            default_dtype,
            policy,
            fallback,
            demotion,
            overflow,
            matmul_precision,
        ];
        all.into_iter().all(Flow::is_empty)
    }

    /// Opens a scope of the default dtype.
    ///
    /// # Errors
    /// A dtype error unless `dtype` is a float.
    pub fn enter_default_dtype(&mut self, dtype: DType) -> Result<ScopeId, Error> {
        let id;
        (self.default_dtype, id) = self.default_dtype.entered(check_default(dtype)? as u8);
        Ok(id)
    }

    /// Opens a scope of the promotion policy.
    pub fn enter_promotion(&mut self, policy: Policy) -> ScopeId {
        let id;
        (self.policy, id) = self.policy.entered(policy as u8);
        id
    }

    /// Opens a scope of what becomes of notices of hosted operations.
    pub fn enter_fallback(&mut self, answer: Notify) -> ScopeId {
        let id;
        (self.fallback, id) = self.fallback.entered(answer as u8);
        id
    }

    /// Opens a scope of what becomes of notices of demoted dtypes.
    pub fn enter_demotion(&mut self, answer: Notify) -> ScopeId {
        let id;
        (self.demotion, id) = self.demotion.entered(answer as u8);
        id
    }

    /// Opens a scope of what becomes of results that leave the range of their dtype.
    pub fn enter_overflow(&mut self, policy: OverflowPolicy) -> ScopeId {
        let id;
        (self.overflow, id) = self.overflow.entered(using(policy));
        id
    }

    /// Opens a scope of how matrices of bfloat16 and float8 are multiplied.
    pub fn enter_matmul_precision(&mut self, precision: MatmulPrecision) -> ScopeId {
        let id;
        (self.matmul_precision, id) = self.matmul_precision.entered(precision as u8);
        id
    }

    /// Ends a scope wherever it stands; false if the flow is not inside it.
    pub fn leave(&mut self, id: ScopeId) -> bool {
        let Self {
            default_dtype,
            policy,
            fallback,
            demotion,
            overflow,
            matmul_precision,
        } = self;
        for flow in [
            default_dtype,
            policy,
            fallback,
            demotion,
            overflow,
            matmul_precision,
        ] {
            if let Some(left) = flow.left(id) {
                *flow = left;
                return true;
            }
        }
        false
    }

    /// Sets the default dtype of the innermost scope; false if there is none.
    ///
    /// # Errors
    /// A dtype error unless `dtype` is a float.
    pub fn set_default_dtype(&mut self, dtype: DType) -> Result<bool, Error> {
        self.default_dtype = self.default_dtype.changed(check_default(dtype)? as u8);
        Ok(!self.default_dtype.is_empty())
    }

    /// Sets what becomes of notices of hosted operations in the innermost scope; false if there is none.
    pub fn set_fallback(&mut self, answer: Notify) -> bool {
        self.fallback = self.fallback.changed(answer as u8);
        !self.fallback.is_empty()
    }

    /// Sets what becomes of notices of demoted dtypes in the innermost scope; false if there is none.
    pub fn set_demotion(&mut self, answer: Notify) -> bool {
        self.demotion = self.demotion.changed(answer as u8);
        !self.demotion.is_empty()
    }

    /// Sets what becomes of results that leave the range of their dtype in the innermost scope; false if
    /// there is none.
    pub fn set_overflow(&mut self, policy: OverflowPolicy) -> bool {
        self.overflow = self.overflow.changed(using(policy));
        !self.overflow.is_empty()
    }

    /// Sets how matrices are multiplied in the innermost scope; false if there is none.
    pub fn set_matmul_precision(&mut self, precision: MatmulPrecision) -> bool {
        self.matmul_precision = self.matmul_precision.changed(precision as u8);
        !self.matmul_precision.is_empty()
    }

    /// Sets the promotion policy of the innermost scope; false if there is none.
    pub fn set_promotion(&mut self, policy: Policy) -> bool {
        self.policy = self.policy.changed(policy as u8);
        !self.policy.is_empty()
    }
}

/// What inference makes of float64 data that comes from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float64Inference {
    /// float64 stays float64.
    Keep,
    /// float64 becomes the default dtype.
    Default,
}

/// What inference makes of float64 data; keep at the start.
#[must_use]
pub fn float64_inference() -> Float64Inference {
    if FLOAT64_INFERENCE.get() == 0 {
        Float64Inference::Keep
    } else {
        Float64Inference::Default
    }
}

/// Sets what inference makes of float64 data.
pub fn set_float64_inference(rule: Float64Inference) {
    FLOAT64_INFERENCE.set(rule as u8);
}
