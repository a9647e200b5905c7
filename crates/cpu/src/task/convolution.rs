//! Tasks of `allotrope_op::task::convolution`.

use allotrope_dtype::Error;
use allotrope_op::task::{Convolution, Results};

use super::Call;

pub(super) fn perform(_call: &Call<'_>, _task: &Convolution<'_>) -> Result<Option<Results>, Error> {
    Ok(None)
}
