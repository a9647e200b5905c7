"""Steps of AdamW against torch's: its default loop over parameters, and for information its other two.

Every figure is a ratio within one run: above 1 is faster than torch's default loop. Candidates take turns,
after a pause in which the threads of the one before fall asleep.
"""

import statistics
import sys
import time

import allotrope as al

try:
    import torch
except ImportError:
    sys.exit("optim: torch is not installed; nothing to compare with")

ROUNDS = 5
COUNT = 10_000_000


def sizes(tensors):
    return [COUNT // tensors] * tensors


def ours(dtype, tensors, **options):
    dtype = getattr(al, dtype)
    params = [al.randn(n, dtype=al.float32).to(dtype).requires_grad_() for n in sizes(tensors)]
    for param in params:
        param.grad = al.randn(param.numel(), dtype=al.float32).to(dtype)
    return al.optim.AdamW(params, **options)


def theirs(dtype, tensors, **options):
    dtype = getattr(torch, dtype)
    params = [torch.randn(n).to(dtype).requires_grad_() for n in sizes(tensors)]
    for param in params:
        param.grad = torch.randn(param.numel()).to(dtype)
    return torch.optim.AdamW(params, **options)


def seconds(step):
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def main():
    torch.set_num_threads(al.get_num_threads())
    print(f"AdamW, {COUNT} parameters, {al.get_num_threads()} threads; speed over torch's default loop")
    for dtype in ("float32", "bfloat16"):
        for tensors in (1, 400):
            candidates = {
                "torch": theirs(dtype, tensors, foreach=False),
                "torch foreach": theirs(dtype, tensors, foreach=True),
                "torch fused": theirs(dtype, tensors, fused=True),
                "allotrope": ours(dtype, tensors),
            }
            if dtype == "bfloat16":
                candidates["with masters"] = ours(dtype, tensors, master_weights=True)
                candidates["by chance"] = ours(dtype, tensors, stochastic_rounding=True)
            times = {name: [] for name in candidates}
            for _ in range(ROUNDS):
                for name, optimizer in candidates.items():
                    time.sleep(0.02)
                    times[name].append(seconds(optimizer.step))
            medians = {name: statistics.median(taken[1:]) for name, taken in times.items()}
            base = medians.pop("torch")
            ratios = ", ".join(f"{name} {base / taken:.1f}" for name, taken in medians.items())
            print(f"{dtype:8} in {tensors:5}: {ratios} (of {base * 1e3:.1f} ms)")


if __name__ == "__main__":
    main()
