//! Matrix products.

use allotrope_tensor::{AttentionOptions, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{
    DTypeOrFamily, Integers, MOST_ITEMS, Operand, TensorList, either, integer_of, integers, items,
};
use crate::create::operand;
use crate::error::wrong_object;
use crate::operand::run;
use crate::operator::is_list;
use crate::tensor::{PyTensor, as_tensor};
use crate::wanted::Product;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Adds the functions of the package.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    functions::register(module)?;
    add!(module, tensordot einsum multi_dot chain_matmul);
    Ok(())
}

/// Adds the functions of `nn.functional`.
pub(super) fn register_functional(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, linear bilinear scaled_dot_product_attention);
    Ok(())
}

/// How much work a product is: other threads may run meanwhile.
pub(super) fn work(a: &Tensor, b: &Tensor) -> usize {
    a.count().saturating_mul(b.count())
}

/// The same of a product along the last dimension of the first operand.
fn product_work(a: &Tensor, b: &Tensor) -> usize {
    let inner = a.shape().last().copied().unwrap_or(1);
    work(a, b) / inner.max(1)
}

forms! {
    /// The product of two matrices, of vectors with them, or of each pair of several: dimensions
    /// before the last two are broadcast. Halves are summed in float32 and rounded once, integers
    /// wrap, and the product of bool is the logical one, an or of ands. acc_dtype is the dtype of
    /// sums, dtype that of the result.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).matmul(al.tensor([10, 1]))
    /// tensor([12, 34])
    /// >>> x = al.tensor([100], dtype=al.int8)
    /// >>> x.matmul(x, acc_dtype=al.int32)
    /// tensor(10000, dtype=int32)
    matmul[other, *, dtype=None, acc_dtype=None](
        other: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, other)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, product_work(x, &other), || product.run(|dtype, acc_dtype| x.matmul_in(&other, dtype, acc_dtype)))
    };
    /// The product of two matrices.
    ///
    /// >>> al.eye(2).mm(al.tensor([[1.0, 2.0], [3.0, 4.0]]))
    /// tensor([[1., 2.],
    ///         [3., 4.]])
    mm[mat2, *, dtype=None, acc_dtype=None](
        mat2: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, mat2)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, work(x, &other), || product.run(|dtype, acc_dtype| x.mm(&other, dtype, acc_dtype)))
    };
    /// The product of each pair of two lists of matrices.
    ///
    /// >>> al.ones(2, 1, 3).bmm(al.ones(2, 3, 1)).shape
    /// (2, 1, 1)
    bmm[mat2, *, dtype=None, acc_dtype=None](
        mat2: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, mat2)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, work(x, &other), || product.run(|dtype, acc_dtype| x.bmm(&other, dtype, acc_dtype)))
    };
    /// The product of a matrix and a vector.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).mv(al.tensor([1, 0]))
    /// tensor([1, 3])
    mv[vec, *, dtype=None, acc_dtype=None](
        vec: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, vec)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, work(x, &other), || product.run(|dtype, acc_dtype| x.mv(&other, dtype, acc_dtype)))
    };
    /// The sum of the products of two vectors.
    ///
    /// >>> al.tensor([1, 2]).dot(al.tensor([3, 4]))
    /// tensor(11)
    dot[tensor, *, dtype=None, acc_dtype=None](
        tensor: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, tensor)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, x.count(), || product.run(|dtype, acc_dtype| x.dot(&other, dtype, acc_dtype)))
    };
    /// The sum of the products of two vectors, of which the first is conjugated.
    ///
    /// >>> al.tensor([2j]).vdot(al.tensor([2j]))
    /// tensor(4.+0.j)
    vdot[other, *, dtype=None, acc_dtype=None](
        other: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, other)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, x.count(), || product.run(|dtype, acc_dtype| x.vdot(&other, dtype, acc_dtype)))
    };
    /// The sums of products along the last dimensions.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).inner(al.tensor([1, 1]))
    /// tensor([3, 7])
    inner[other, *, dtype=None, acc_dtype=None](
        other: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, other)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, work(x, &other), || product.run(|dtype, acc_dtype| x.inner(&other, dtype, acc_dtype)))
    };
    /// The products of each element of a vector with each of another.
    ///
    /// >>> al.tensor([1, 2]).outer(al.tensor([3, 4]))
    /// tensor([[3, 4],
    ///         [6, 8]])
    outer[vec2, *, dtype=None, acc_dtype=None](
        vec2: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, vec2)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, work(x, &other), || product.run(|dtype, acc_dtype| x.outer_in(&other, dtype, acc_dtype)))
    };
    /// The products of each element of a vector with each of another, as outer.
    ///
    /// >>> al.tensor([1, 2]).ger(al.tensor([3]))
    /// tensor([[3],
    ///         [6]])
    ger[vec2, *, dtype=None, acc_dtype=None](
        vec2: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, vec2)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, work(x, &other), || product.run(|dtype, acc_dtype| x.outer_in(&other, dtype, acc_dtype)))
    };
    /// The products of each element with the whole of another tensor, side by side.
    ///
    /// >>> al.tensor([1, 10]).kron(al.tensor([1, 2]))
    /// tensor([ 1,  2, 10, 20])
    kron[other, *, dtype=None, acc_dtype=None](
        other: Operand,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>
    ) -> PyTensor |py, op, x| {
        let other = operand(op, other)?;
        let product = Product::of(op, dtype, acc_dtype, &[x, &other])?;
        run(py, work(x, &other), || product.run(|dtype, acc_dtype| x.kron_in(&other, dtype, acc_dtype)))
    };
}

/// The other operand of `@`; `None` if it has a say of its own.
fn other(object: Any<'_, '_>) -> PyResult<Option<Tensor>> {
    match as_tensor(object) {
        Some(tensor) => Ok(Some(tensor)),
        None if is_list(object) || object.hasattr("dtype")? => operand("matmul", object).map(Some),
        None => Ok(None),
    }
}

#[pymethods]
impl PyTensor {
    fn __matmul__(&self, py: Python<'_>, object: Any<'_, '_>) -> PyResult<Py<PyAny>> {
        multiply(py, Some(self.tensor()), other(object)?)
    }

    fn __rmatmul__(&self, py: Python<'_>, object: Any<'_, '_>) -> PyResult<Py<PyAny>> {
        multiply(py, other(object)?, Some(self.tensor()))
    }
}

fn multiply(py: Python<'_>, a: Option<Tensor>, b: Option<Tensor>) -> PyResult<Py<PyAny>> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let product = run(py, product_work(&a, &b), || a.matmul(&b))?;
            Ok(Py::new(py, product)?.into_any())
        }
        _ => Ok(py.NotImplemented()),
    }
}

/// The sums of products along several dimensions: the last of the first tensor with the first of
/// the second if dims is a number, else pairs of dims.
///
/// >>> al.tensordot(al.ones(2, 3, 4), al.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
/// (2, 5)
#[pyfunction]
#[pyo3(signature = (a, b, dims=None, *, axes=None, dtype=None, acc_dtype=None))]
fn tensordot(
    py: Python<'_>,
    a: Operand,
    b: Operand,
    dims: Option<Any<'_, '_>>,
    axes: Option<Any<'_, '_>>,
    dtype: Option<DTypeOrFamily>,
    acc_dtype: Option<DTypeOrFamily>,
) -> PyResult<PyTensor> {
    let op = "tensordot";
    let (a, b) = (operand(op, a)?, operand(op, b)?);
    let product = Product::of(op, dtype, acc_dtype, &[&a, &b])?;
    let (left, right) = match either(op, dims, axes)? {
        None => pairs_of(op, 2, &a, &b)?,
        Some(dims) => match integer_of(op, dims)? {
            Some(count) => pairs_of(op, count, &a, &b)?,
            None => {
                let pair = items(op, dims, MOST_ITEMS)?;
                let Some([left, right]) = pair.as_deref() else {
                    let accepted = "a number and two lists of dimensions";
                    return Err(wrong_object(op, "not dims", dims, accepted));
                };
                let read = |dims: Any<'_, '_>| integers(op, dims).map(Integers::into_vec);
                (read(left)?, read(right)?)
            }
        },
    };
    run(py, work(&a, &b), || {
        product.run(|dtype, acc_dtype| a.tensordot(&b, &left, &right, dtype, acc_dtype))
    })
}

/// The last dimensions of one tensor and the first of another.
fn pairs_of(
    op: &'static str,
    count: isize,
    a: &Tensor,
    b: &Tensor,
) -> PyResult<(Vec<isize>, Vec<isize>)> {
    let most = a.rank().min(b.rank()) as isize;
    if !(0..=most).contains(&count) {
        let problem = allotrope_dtype::Problem::OutOfRange {
            what: "dims",
            index: None,
            value: count.to_string(),
            accepted: "numbers up to that of the dimensions of both tensors",
        };
        return Err(crate::error::raise(allotrope_dtype::Error::new(
            op, problem,
        )));
    }
    Ok(((-count..0).collect(), (0..count).collect()))
}

/// Sums of products along the indices that an equation names. Operands may also come with lists of
/// numbers of their indices, and a last list for the result. Products of integers wrap, as those of
/// matmul; where an index of one operand alone is summed, the result is int64 or uint64, as sums are.
///
/// >>> x = al.arange(4).reshape(2, 2)
/// >>> al.einsum("ij,jk->ik", x, x)
/// tensor([[ 2,  3],
///         [ 6, 11]])
/// >>> al.einsum("ii", x)
/// tensor(3)
#[pyfunction]
#[pyo3(signature = (equation, *operands, dtype=None, acc_dtype=None))]
fn einsum(
    py: Python<'_>,
    equation: Any<'_, '_>,
    operands: &Bound<'_, PyTuple>,
    dtype: Option<DTypeOrFamily>,
    acc_dtype: Option<DTypeOrFamily>,
) -> PyResult<PyTensor> {
    let op = "einsum";
    let (equation, tensors) = match equation.extract::<String>() {
        Ok(equation) => {
            let mut given: Vec<Bound<'_, PyAny>> = operands.iter().collect();
            // All operands may come as one list.
            if let [only] = &given[..]
                && as_tensor(only).is_none()
                && !only.hasattr("dtype")?
                && let Some(list) = items(op, only, MOST_ITEMS)?
                && list.iter().all(|object| as_tensor(object).is_some())
            {
                given = list;
            }
            (equation, given)
        }
        Err(_) => read_lists(op, equation, operands)?,
    };
    let tensors = tensors
        .iter()
        .map(|object| operand(op, object))
        // bounded: as many as the caller lists.
        .collect::<PyResult<Vec<Tensor>>>()?;
    let largest = tensors.iter().map(Tensor::count).sum::<usize>();
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    let product = Product::of(op, dtype, acc_dtype, &tensors)?;
    run(py, largest, || {
        product
            .run(|dtype, acc_dtype| allotrope_tensor::einsum(&equation, &tensors, dtype, acc_dtype))
    })
}

/// An equation and its operands.
type Equation<'py> = (String, Vec<Bound<'py, PyAny>>);

/// Operands that alternate with lists of indices, as an equation.
fn read_lists<'py>(
    op: &'static str,
    first: &Bound<'py, PyAny>,
    rest: &Bound<'py, PyTuple>,
) -> PyResult<Equation<'py>> {
    let all: Vec<Bound<'py, PyAny>> = std::iter::once(first.clone()).chain(rest).collect();
    let letters = |list: &Bound<'py, PyAny>| -> PyResult<String> {
        let mut text = String::new();
        let Some(indices) = items(op, list, MOST_ITEMS)? else {
            return Err(wrong_object(op, "not indices", list, "lists of integers"));
        };
        for index in indices {
            if index.is(index.py().Ellipsis()) {
                text.push_str("...");
                continue;
            }
            let Some(index) = integer_of(op, &index)? else {
                return Err(wrong_object(op, "not an index", &index, "integers and ..."));
            };
            let letter = match u8::try_from(index) {
                Ok(index @ 0..26) => b'A' + index,
                Ok(index @ 26..52) => b'a' + index - 26,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "{op}: index out of range: {index}; 0 to 51 are accepted"
                    )));
                }
            };
            text.push(char::from(letter));
        }
        Ok(text)
    };
    let (mut parts, mut tensors) = (Vec::new(), Vec::new());
    for pair in all.chunks_exact(2) {
        tensors.push(pair[0].clone());
        parts.push(letters(&pair[1])?);
    }
    let mut equation = parts.join(",");
    if let [last] = all.chunks_exact(2).remainder() {
        equation = format!("{equation}->{}", letters(last)?);
    }
    Ok((equation, tensors))
}

/// The product of several matrices in the cheapest order; the first and the last may be vectors.
///
/// >>> al.multi_dot([al.ones(2, 3), al.ones(3, 4), al.ones(4)])
/// tensor([12., 12.])
#[pyfunction]
fn multi_dot(py: Python<'_>, tensors: TensorList) -> PyResult<PyTensor> {
    multiply_several(py, tensors)
}

/// The product of the matrices of a sequence.
pub(super) fn multiply_several(py: Python<'_>, tensors: TensorList) -> PyResult<PyTensor> {
    let op = "multi_dot";
    let refuse = || {
        wrong_object(
            op,
            "not several tensors",
            tensors,
            "lists and tuples of them",
        )
    };
    let tensors = items(op, tensors, MOST_ITEMS)?.ok_or_else(refuse)?;
    multiply_all(py, op, &tensors)
}

/// The product of several matrices in the cheapest order.
///
/// >>> al.chain_matmul(al.ones(2, 3), al.ones(3, 4), al.ones(4, 1))
/// tensor([[12.],
///         [12.]])
#[pyfunction]
#[pyo3(signature = (*matrices))]
fn chain_matmul(py: Python<'_>, matrices: &Bound<'_, PyTuple>) -> PyResult<PyTensor> {
    // bounded: as many as the caller lists.
    let matrices: Vec<Bound<'_, PyAny>> = matrices.iter().collect();
    match &matrices[..] {
        [only] => run(py, 0, {
            let only = operand("chain_matmul", only)?;
            move || Ok(only)
        }),
        _ => multiply_all(py, "chain_matmul", &matrices),
    }
}

pub(super) fn multiply_all(
    py: Python<'_>,
    op: &'static str,
    objects: &[Bound<'_, PyAny>],
) -> PyResult<PyTensor> {
    let tensors = objects
        .iter()
        .map(|object| operand(op, object))
        // bounded: as many as the caller lists.
        .collect::<PyResult<Vec<Tensor>>>()?;
    let largest = tensors.iter().map(Tensor::count).sum::<usize>();
    run(py, largest, || {
        let tensors: Vec<&Tensor> = tensors.iter().collect();
        allotrope_tensor::multi_dot(&tensors).map_err(|error| error.in_op(op))
    })
}

/// The product of the last dimension with a transposed weight, plus a bias; rounded once.
///
/// >>> F = al.nn.functional
/// >>> F.linear(al.ones(2, 3), al.ones(1, 3), al.tensor([0.5]))
/// tensor([[3.5000],
///         [3.5000]])
#[pyfunction]
#[pyo3(signature = (input, weight, bias=None))]
fn linear(
    py: Python<'_>,
    input: Operand,
    weight: Operand,
    bias: Option<Operand>,
) -> PyResult<PyTensor> {
    let op = "linear";
    let (x, weight) = (operand(op, input)?, operand(op, weight)?);
    let bias = bias.map(|bias| operand(op, bias)).transpose()?;
    run(py, work(&x, &weight), || x.linear(&weight, bias.as_ref()))
}

/// A bilinear form of two inputs for each row of the weight, plus a bias.
///
/// >>> F = al.nn.functional
/// >>> F.bilinear(al.ones(1, 2), al.ones(1, 3), al.ones(4, 2, 3))
/// tensor([[6., 6., 6., 6.]])
#[pyfunction]
#[pyo3(signature = (input1, input2, weight, bias=None))]
fn bilinear(
    py: Python<'_>,
    input1: Operand,
    input2: Operand,
    weight: Operand,
    bias: Option<Operand>,
) -> PyResult<PyTensor> {
    let op = "bilinear";
    let (x, y) = (operand(op, input1)?, operand(op, input2)?);
    let weight = operand(op, weight)?;
    let bias = bias.map(|bias| operand(op, bias)).transpose()?;
    run(py, work(&x, &weight), || {
        x.bilinear(&y, &weight, bias.as_ref())
    })
}

/// Values, weighted by the softmax of the scaled products of queries and keys. attn_mask is bool,
/// true for what counts, or is added to the products; with is_causal a query sees no later keys.
/// The matrix of products never exists, unless dropout_p asks for weights to be dropped.
///
/// >>> F = al.nn.functional
/// >>> x = al.tensor([[[1.0, 0.0], [0.0, 1.0]]])
/// >>> F.scaled_dot_product_attention(x, x, x, is_causal=True)
/// tensor([[[1.0000, 0.0000],
///          [0.3302, 0.6698]]])
#[pyfunction]
#[pyo3(signature = (query, key, value, attn_mask=None, dropout_p=0.0, is_causal=false, scale=None, enable_gqa=false))]
#[allow(clippy::too_many_arguments, reason = "torch's signature")]
fn scaled_dot_product_attention(
    py: Python<'_>,
    query: Operand,
    key: Operand,
    value: Operand,
    attn_mask: Option<Operand>,
    dropout_p: f64,
    is_causal: bool,
    scale: Option<f64>,
    enable_gqa: bool,
) -> PyResult<PyTensor> {
    let op = "scaled_dot_product_attention";
    let (queries, keys) = (operand(op, query)?, operand(op, key)?);
    let values = operand(op, value)?;
    let mask = attn_mask.map(|mask| operand(op, mask)).transpose()?;
    run(py, work(&queries, &keys), || {
        let options = AttentionOptions {
            mask: mask.as_ref(),
            causal: is_causal,
            scale,
            grouped: enable_gqa,
            dropout: dropout_p,
        };
        queries.scaled_dot_product_attention(&keys, &values, options)
    })
}
