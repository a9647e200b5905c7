//! Mixed precision: operations that choose the precision they compute in, and gradients kept from
//! vanishing.
//!
//! | file | what is in it |
//! |---|---|
//! | `autocast` | which precision a thread's operations compute in, and the casts |
//! | `policy` | what becomes of each operation, from the tables |
//! | `scaler` | [`GradScaler`]: losses scaled up, gradients scaled back |

mod autocast;
mod policy;
mod scaler;

pub use autocast::{
    AutocastFlow, AutocastGuard, AutocastSetting, Condition, autocast, autocast_setting,
    is_autocast_enabled, set_autocast_dtype, set_autocast_enabled,
};
pub(crate) use autocast::{cast_operands, cast_result, enter, leaves_alone, no_autocast};
pub use policy::{autocast_policies, autocast_policy};
pub use scaler::{GradScaler, ScalerOptions, ScalerReport, ScalerState};
