//! Tasks of `allotrope_op::task::factorization`.

use allotrope_dtype::Error;
use allotrope_op::task::{Factorization, Results};

use super::Call;

pub(super) fn perform(
    _call: &Call<'_>,
    _task: &Factorization<'_>,
) -> Result<Option<Results>, Error> {
    Ok(None)
}
