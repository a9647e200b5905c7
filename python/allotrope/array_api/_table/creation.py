"""Creation, data types: rows."""

ROWS = '''
arange(start: int | float, /, stop: int | float | None = None, step: int | float = 1, *, dtype: dtype | None = None, device: device | None = None) -> Tensor
    = al.arange(*((0, start) if stop is None else (start, stop)), step, dtype=dtype, device=device)
    The numbers from start, step apart, before stop; one number alone is stop.

    >>> xp.arange(1, 6, 2)
    tensor([1, 3, 5])

asarray(obj: Any, /, *, dtype: dtype | None = None, device: device | None = None, copy: bool | None = None) -> Tensor
    An array of numbers, nested lists, buffers or the arrays of other libraries: of the same memory
    where it can be shared, unless copy=True; copy=False refuses to copy.

    >>> xp.asarray([[1, 2], [3, 4]], dtype=xp.float32)
    tensor([[1., 2.],
            [3., 4.]])

empty(shape: int | tuple[int, ...], *, dtype: dtype | None = None, device: device | None = None) -> Tensor
    = al.empty(shape, dtype=dtype, device=device)
    Elements of unknown values, to be overwritten.

    >>> xp.empty((2, 3)).shape
    (2, 3)

empty_like(x: Tensor, /, *, dtype: dtype | None = None, device: device | None = None) -> Tensor
    Elements of unknown values, in the shape of another array, and in its dtype if none is given.

    >>> xp.empty_like(xp.ones((2, 3)), dtype=xp.int8).dtype
    allotrope.int8

eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: dtype | None = None, device: device | None = None) -> Tensor
    = eye(n_rows, n_cols, k, dtype, device)
    One on a diagonal, zero elsewhere; k counts diagonals from the main one upwards.

    >>> xp.eye(2, 3, k=1, dtype=xp.int8)
    tensor([[0, 1, 0],
            [0, 0, 1]], dtype=int8)

from_dlpack(x: Any, /, *, device: device | None = None, copy: bool | None = None) -> Tensor
    = al.from_dlpack(x, device, copy)
    An array of the memory of any object with `__dlpack__`; copy=True copies it, copy=False refuses to.

    >>> xp.from_dlpack(numpy.asarray([1, 2], dtype="uint8"))
    tensor([1, 2], dtype=uint8)

full(shape: int | tuple[int, ...], fill_value: Scalar, *, dtype: dtype | None = None, device: device | None = None) -> Tensor
    All of one value, in the default dtype of its kind if none is given.

    >>> xp.full((2,), 1.5)
    tensor([1.5000, 1.5000])

full_like(x: Tensor, /, fill_value: Scalar, *, dtype: dtype | None = None, device: device | None = None) -> Tensor
    All of one value, in the shape of another array, and in its dtype if none is given.

    >>> xp.full_like(xp.ones((2,)), 7)
    tensor([7., 7.])

linspace(start: Scalar, stop: Scalar, /, num: int, *, dtype: dtype | None = None, device: device | None = None, endpoint: bool = True) -> Tensor
    = linspace(start, stop, num, dtype, device, endpoint)
    So many numbers from start to stop, evenly spaced; with endpoint=False stop is left out.

    >>> xp.linspace(0, 1, 4, endpoint=False)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])

meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> list[Tensor]
    = list(al.meshgrid(*arrays, indexing=indexing)) if arrays else []
    The coordinates of a grid, an array for each given one.

    >>> xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4]))[0]
    tensor([[1, 2],
            [1, 2]])

ones zeros(shape: int | tuple[int, ...], *, dtype: dtype | None = None, device: device | None = None) -> Tensor
    = al.{name}(shape, dtype=dtype, device=device)
    All {name}.

    >>> xp.{name}((2, 3)).dtype
    allotrope.float32

ones_like zeros_like(x: Tensor, /, *, dtype: dtype | None = None, device: device | None = None) -> Tensor
    All of that number, in the shape of another array, and in its dtype if none is given.

    >>> xp.{name}(xp.asarray([5, 6])).dtype
    allotrope.int64

tril triu(x: Tensor, /, *, k: int = 0) -> Tensor
    = al.{name}(x, k)
    Matrices with zeros on the other side of a diagonal; k counts diagonals from the main one upwards.

    >>> xp.{name}(xp.ones((2, 2), dtype=xp.int64), k=5 if "{name}" == "tril" else -5)
    tensor([[1, 1],
            [1, 1]])

astype(x: Tensor, dtype: dtype, /, *, copy: bool = True, device: device | None = None) -> Tensor
    = astype(x, dtype, copy, device)
    The elements in another dtype; copy=False gives the array itself where nothing changes.

    >>> xp.astype(xp.asarray([1.5, -2.5]), xp.int32)
    tensor([ 1, -2], dtype=int32)

can_cast(from_: dtype | Tensor, to: dtype, /) -> bool
    = al.can_cast(from_, to, "exact")
    Whether a cast loses no value.

    >>> xp.can_cast(xp.int16, xp.int32), xp.can_cast(xp.float64, xp.float32)
    (True, False)

finfo(type: dtype | Tensor, /) -> al.finfo
    = al.finfo(type.dtype if isinstance(type, al.Tensor) else type)
    The limits of a floating dtype, or of a complex dtype's components.

    >>> xp.finfo(xp.float32).bits
    32

iinfo(type: dtype | Tensor, /) -> al.iinfo
    = al.iinfo(type.dtype if isinstance(type, al.Tensor) else type)
    The limits of an integer dtype.

    >>> xp.iinfo(xp.int8).max
    127

isdtype(dtype: dtype, kind: dtype | str | tuple[dtype | str, ...]) -> bool
    Whether a dtype is a dtype, of a kind, or of one of several.

    >>> xp.isdtype(xp.float32, ("integral", "real floating"))
    True

result_type(*arrays_and_dtypes: Operand | dtype) -> dtype
    = al.result_type(*arrays_and_dtypes)
    The dtype of an operation on arrays, dtypes and Python numbers, in any order.

    >>> xp.result_type(xp.uint8, xp.int8), xp.result_type(xp.float32, 1j)
    (allotrope.int16, allotrope.complex64)
'''
