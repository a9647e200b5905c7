"""A tour of the dtype system: `python examples/tour.py`."""

import allotrope as al

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]


def heading(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}")


heading("Every dtype is one row of one table")
print(al.dtype_table())
print("\nOne object per dtype, whatever its name:")
print("  al.Float32 is al.float32 is al.f32  ->", al.Float32 is al.float32 is al.f32)
print('  al.dtype("half")                    ->', repr(al.dtype("half")))
print('  al.float32 == "float32"             ->', al.float32 == "float32")
print("  al.float8_e4m3fn.finfo.max          ->", al.float8_e4m3fn.finfo.max)

heading("What two dtypes become together")
print(al.promotion_table())
print()
for pair in [("int8", "uint8"), ("float16", "bfloat16"), ("int64", "uint64")]:
    print(" ", al.explain_promotion(*pair))

heading("The same question, answered by each policy: int8 with uint64")
for policy in al.policies():
    print(f"  {policy:9}", al.explain_promotion("int8", "uint64", policy))

heading("Python numbers are weak, and a policy is a scope")
print('  result_type("int8", 3)     ->', al.result_type("int8", 3))
print('  result_type("int8", 3.0)   ->', al.result_type("int8", 3.0))
with al.promotion("strict"):
    try:
        al.promote_types("int32", "float32")
    except TypeError as error:
        print("  strict                     ->", error)

heading("Families leave the width to the data")
print("  al.bfloat16 in al.Float    ->", al.bfloat16 in al.Float)
print("  Float of float64 data      ->", al.Float.resolve("float64"))
print("  Float of int32 data        ->", al.Float.resolve("int32"))
print("  Complex of float64 data    ->", al.Complex.resolve("float64"))

heading("What each device does with each dtype")
print(al.devices())

heading("Tensors of every dtype")
x = al.arange(6, dtype=al.bfloat16).reshape(2, 3)
print("  x             ", str(x).replace("\n", "\n                 "))
print("  x[:, ::-1].T  ", str(x[:, ::-1].T).replace("\n", "\n                 "))
print("  x[[1, 0, 1]]  ", str(x[[1, 0, 1]]).replace("\n", "\n                 "))
print("  x.view(uint16)", str(x.view(al.uint16)).replace("\n", "\n                 "))

heading("Casts: one rounding, and nothing lost silently")
if np is None:
    print("  NumPy is not installed, so there are no arrays to cast (pip install numpy ml_dtypes).")
else:
    array = np.array([0.1, 2.9, -1.0, 300.0, np.nan, np.inf])
    print("  float64       ", array)
    print("  → uint8       ", al.cast(array, al.uint8))
    print("  → uint8, wrap ", al.cast(array, al.uint8, overflow="wrap"))
    try:
        al.cast(array, al.uint8, overflow="raise")
    except OverflowError as error:
        print("  → uint8, raise", error)
    try:
        print("  → float8      ", al.cast(array, al.float8_e4m3fn))
        print("  → float8, ieee", al.cast(array, al.float8_e4m3fn, overflow="ieee"))
    except TypeError as error:
        print("  → float8      ", error)
    tenth = al.cast(np.full(10_000, 0.1), al.float16, rounding="stochastic", seed=1)
    print("  mean of 10,000 x 0.1 in float16, nearest   ", float(np.float16(0.1)))
    print("  mean of 10,000 x 0.1 in float16, stochastic", float(tenth.astype(float).mean()))
