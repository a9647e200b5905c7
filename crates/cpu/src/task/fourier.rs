//! Tasks of `allotrope_op::task::fourier`.

use allotrope_dtype::Error;
use allotrope_op::task::{Fourier, Results};

use super::Call;

pub(super) fn perform(_call: &Call<'_>, _task: &Fourier<'_>) -> Result<Option<Results>, Error> {
    Ok(None)
}
