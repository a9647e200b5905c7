//! From a run-time [`DType`](crate::DType) to a compile-time element type.

/// Runs an expression with a type alias bound to the element type of a dtype.
///
/// The set names a trait of [`element`](crate::element): the body is expanded for its members
/// only, and the `else` arm answers for all others.
///
/// # Examples
/// ```
/// use allotrope_dtype::{DType, Element, Float, dispatch};
///
/// fn largest_code<T: Float>() -> usize { size_of::<T>() }
///
/// fn width(dtype: DType) -> Option<usize> {
///     dispatch!(dtype, |T: Float| Some(largest_code::<T>()), else None)
/// }
/// assert_eq!(width(DType::BF16), Some(2));
/// assert_eq!(width(DType::I32), None);
/// assert_eq!(dispatch!(DType::C128, |T| <T as Element>::DTYPE), DType::C128);
/// ```
#[macro_export]
macro_rules! dispatch {
    ($dtype:expr, |$T:ident| $body:expr) => {
        $crate::for_each_dtype!(($crate::dispatch_arms) ($dtype) $T Element ($body) (unreachable!()))
    };
    ($dtype:expr, |$T:ident : $set:ident| $body:expr, else $other:expr) => {
        $crate::for_each_dtype!(($crate::dispatch_arms) ($dtype) $T $set ($body) ($other))
    };
}

/// The arms of [`dispatch!`]; one per row.
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_arms {
    (($dtype:expr) $T:ident $set:ident $body:tt $other:tt
     $({ $variant:ident, $ty:ty, $kind:ident, $($rest:tt)* })*) => {
        match $dtype {
            $($crate::DType::$variant => $crate::if_in_set!($set $kind $T $ty, $body, $other)),*
        }
    };
}

/// The body with `T` bound if the kind belongs to the set, else the alternative.
#[doc(hidden)]
#[macro_export]
macro_rules! if_in_set {
    (Element  $kind:ident $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Number   Bool     $T:ident $ty:ty, $body:tt, $other:tt) => { $other };
    (Number   $kind:ident $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Real     Complex  $T:ident $ty:ty, $body:tt, $other:tt) => { $other };
    (Real     $kind:ident $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Integer  Signed   $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Integer  Unsigned $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Integer  $kind:ident $T:ident $ty:ty, $body:tt, $other:tt) => { $other };
    (Inexact  Float    $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Inexact  Complex  $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Inexact  $kind:ident $T:ident $ty:ty, $body:tt, $other:tt) => { $other };
    (Signed   Signed   $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Unsigned Unsigned $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Float    Float    $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Complex  Complex  $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    (Bool     Bool     $T:ident $ty:ty, $body:tt, $other:tt) => { $crate::with_type!($T $ty, $body) };
    ($set:ident $kind:ident $T:ident $ty:ty, $body:tt, $other:tt) => { $other };
}

/// The body in the scope of a type alias.
#[doc(hidden)]
#[macro_export]
macro_rules! with_type {
    ($T:ident $ty:ty, $body:tt) => {{
        #[allow(dead_code, reason = "a body may ignore the type")]
        type $T = $ty;
        $body
    }};
}

/// Runs an expression with a type alias bound to a word as wide as the dtype and aligned no more
/// strictly: an unsigned integer, or a pair of them for complex numbers.
///
/// Movement of elements depends on their width alone: a handful of instances instead of one per
/// dtype.
///
/// # Examples
/// ```
/// use allotrope_dtype::{DType, dispatch_width};
/// let bytes = dispatch_width!(DType::C64, |W| size_of::<W>());
/// assert_eq!(bytes, 8);
/// ```
#[macro_export]
macro_rules! dispatch_width {
    ($dtype:expr, |$W:ident| $body:expr) => {{
        let dtype: $crate::DType = $dtype;
        match (dtype.itemsize(), dtype.is_complex()) {
            (1, _) => $crate::with_type!($W u8, ($body)),
            (2, _) => $crate::with_type!($W u16, ($body)),
            (4, _) => $crate::with_type!($W u32, ($body)),
            (8, false) => $crate::with_type!($W u64, ($body)),
            (8, true) => $crate::with_type!($W [u32; 2], ($body)),
            _ => $crate::with_type!($W [u64; 2], ($body)),
        }
    }};
}
