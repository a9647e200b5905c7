"""Handwritten digits in any precision: `python examples/digits.py --dtype bfloat16`.

The network has two hidden layers; with the default steps it reads about 98 of 100 digits right.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import precision

import allotrope as al
from allotrope import nn
from allotrope.data import DataLoader, TensorDataset
from allotrope.nn.plan import Plan

DATA = Path(__file__).parent / "data" / "digits.npz"
BATCH = 32
TEST_EVERY = 5


def load(plan: Plan, path: Path = DATA) -> tuple[TensorDataset, TensorDataset]:
    """Four of five images for training, every fifth for the test, with numbers from 0 to 1."""
    dtype, device = precision.inputs_dtype(plan), plan.of("")["device"]
    arrays = al.load(path)
    images = arrays["images"].to(al.float32) / 16
    labels = arrays["labels"].to(al.int64)
    is_test = al.arange(len(labels)) % TEST_EVERY == 0

    def chosen(mask: al.Tensor) -> TensorDataset:
        return TensorDataset(images[mask], labels[mask], dtype=dtype).to(device)

    return chosen(~is_test), chosen(is_test)


def network() -> nn.Module:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(64, 256),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(128, 10),
    )


@dataclass
class Run:
    """What became of a training."""

    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    seconds_per_epoch: float = 0.0
    weight_bytes: int = 0
    optimizer_bytes: int = 0


def accuracy(model: nn.Module, dataset: TensorDataset, plan: Plan) -> float:
    """The share of digits that are read right."""
    images, labels = dataset.tensors
    model.eval()
    with al.no_grad(), plan:
        right: int = (model(images).argmax(1) == labels).sum().item()
    model.train()
    return right / len(labels)


def optimizer_bytes(optimizer: al.optim.Optimizer) -> int:
    """What the optimizer keeps beside the weights."""
    kept = (value for state in optimizer.state.values() for value in state.values())
    return sum(value.nbytes for value in kept if isinstance(value, al.Tensor))


def train(plan: Plan, steps: int, seed: int = 0, lr: float = 3e-3, title: str = "") -> Run:
    """Trains the network for so many steps."""
    al.manual_seed(seed)
    training, test = load(plan)
    model = plan.apply(network())
    optimizer = plan.optimizer(al.optim.AdamW, model, lr=lr, weight_decay=1e-2)
    scaler = precision.scaler(plan)
    loader = DataLoader(training, batch_size=BATCH, shuffle=True, drop_last=True)
    epochs = max(1, steps // len(loader))
    schedule = al.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)

    run = Run()
    start = time.perf_counter()
    bar = al.progress(range(epochs), description=title or str(plan.of("")["store"]))
    for _ in bar:
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            with plan:
                loss = nn.functional.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            total += loss.item()
        schedule.step()
        run.losses.append(total / len(loader))
        run.accuracies.append(accuracy(model, test, plan))
        bar.set(loss=run.losses[-1], accuracy=run.accuracies[-1])
    run.seconds_per_epoch = (time.perf_counter() - start) / epochs
    run.weight_bytes = sum(p.nbytes for p in model.parameters())
    run.optimizer_bytes = optimizer_bytes(optimizer)
    return run


def main() -> None:
    arguments = precision.parser(__doc__ or "", steps=44 * 30).parse_args()
    run = train(precision.of(arguments), arguments.steps, arguments.seed)
    print(f"test accuracy {run.accuracies[-1]:.2%}, {run.seconds_per_epoch * 1e3:.0f} ms per epoch")


if __name__ == "__main__":
    main()
