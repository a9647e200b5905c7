"""With torch in Allotrope's place, what is Allotrope's alone is left out."""

from .library import IS_TORCH

if IS_TORCH:
    collect_ignore = [
        "test_dtype_and_shape.py", "test_in_place_memory.py", "test_sharing.py", "test_threads.py",
    ]
