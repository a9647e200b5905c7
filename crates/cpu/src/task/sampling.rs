//! Tasks of `allotrope_op::task::sampling`.

use allotrope_dtype::Error;
use allotrope_op::task::{Results, Sampling};

use super::Call;

pub(super) fn perform(_call: &Call<'_>, _task: &Sampling<'_>) -> Result<Option<Results>, Error> {
    Ok(None)
}
