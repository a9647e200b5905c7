"""Writes the files of this folder with torch, which the tests of readers hold to their numbers.

`python make.py` where torch is installed. What is in a file is written beside its name.
"""

import collections
import os
import pickle

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def numbers(dtype, *shape):
    count = int(torch.tensor(shape).prod())
    return torch.arange(count).remainder(5).reshape(shape).to(dtype)


DTYPES = [
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "bool", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
]  # fmt: skip

#: Every dtype, as `numbers(dtype, 2, 3)`.
every_dtype = {name: numbers(getattr(torch, name), 2, 3) for name in DTYPES}

base = numbers(torch.float32, 6, 4)
#: Views of one storage, an empty and a 0-d tensor, and what stands beside tensors in checkpoints.
mixed = {
    "base": base,
    "turned": base.T,
    "row": base[2],
    "steps": base[::2, 1:3],
    "same": base.expand(2, 6, 4),
    "empty": torch.empty(0, 3),
    "single": torch.tensor(7, dtype=torch.int16),
    "parameter": torch.nn.Parameter(numbers(torch.float32, 3)),
    "epoch": 12,
    "rate": 0.125,
    "name": "résumé",
    "done": False,
    "none": None,
    "large": 2**80,
    "pair": (1, [2, {3: -4}]),
    "size": torch.Size([2, 3]),
}

model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
with torch.no_grad():
    for parameter in model.parameters():
        parameter.copy_(numbers(torch.float32, *parameter.shape))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.5)
model(numbers(torch.float32, 4, 3)).sum().backward()
optimizer.step()
#: The state of a model and of an optimizer after one step.
checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


class Danger:
    def __reduce__(self):
        return os.system, ("echo this must not run",)


def write(name, value, **options):
    torch.save(value, os.path.join(HERE, name), **options)


if __name__ == "__main__":
    write("dtypes.pt", every_dtype)
    write("mixed.pt", mixed)
    write("checkpoint.pt", checkpoint)
    write("checkpoint_legacy.pt", checkpoint, _use_new_zipfile_serialization=False)
    write("mixed_legacy.pt", mixed, _use_new_zipfile_serialization=False)
    write("tensor.pt", base)
    write("protocol_4.pt", mixed, pickle_protocol=4)
    write("danger.pt", {"weight": base, "extra": Danger()})
    write("danger_legacy.pt", {"weight": base, "extra": Danger()}, _use_new_zipfile_serialization=False)
    write("module.pt", model)
    with open(os.path.join(HERE, "plain.pkl"), "wb") as file:
        pickle.dump(collections.OrderedDict(a=1), file)
