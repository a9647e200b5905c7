"""A training that writes its losses, step by step, and goes on from its last checkpoint.

`python training.py FOLDER DTYPE WORKERS STEPS KILLED PHASE`: the process kills itself at step KILLED,
before the step, after it, or after its checkpoint.
"""

import os
import signal
import sys
from pathlib import Path

import allotrope as al

BATCHES = 7
EVERY = 3


class Points(al.data.Dataset):
    """Points with noise of their own, and whether they are in a circle."""

    def __init__(self, count, dtype):
        generator = al.Generator().manual_seed(1)
        self.points = al.randn(count, 2, generator=generator)
        self.labels = ((self.points**2).sum(1) < 1.2).to(al.int64)
        self.dtype = dtype

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        noise = 0.1 * al.randn(2) + 0.01 * al.data.python_generator().random()
        return (self.points[index] + noise).to(self.dtype), self.labels[index]


def build(dtype):
    """A network with dropout, its optimizer and the fall of its rate."""
    nn = al.nn
    model = nn.Sequential(
        nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2)
    ).to(dtype)
    optimizer = al.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.1, amsgrad=True)
    scheduler = al.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=25)
    return {"model": model, "optimizer": optimizer, "scheduler": scheduler}


def train(folder, dtype, workers, steps, killed, phase):
    al.manual_seed(3)
    parts = build(dtype)
    model, optimizer = parts["model"], parts["optimizer"]
    # So large that some steps are skipped, and grows soon again.
    scaler = al.amp.GradScaler(enabled=dtype == "float16", init_scale=2.0**20, growth_interval=4)
    loader = al.data.DataLoader(
        Points(8 * BATCHES - 3, dtype),
        batch_size=8,
        shuffle=True,
        num_workers=2,
        workers=workers,
        persistent_workers=True,
    )
    parts |= {"scaler": scaler, "loader": loader}
    path = folder / "last.safetensors"
    step = 0
    if path.exists():
        step = al.load_checkpoint(path, **parts)["step"]
    with open(folder / "trace", "a") as trace:
        while step < steps:
            for x, y in loader:
                if step == killed and phase == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                loss = al.nn.functional.cross_entropy(model(x).to("float32"), y)
                optimizer.zero_grad()
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scale = scaler.get_scale()
                scaler.update()
                if scaler.get_scale() >= scale:
                    # The step was not skipped.
                    parts["scheduler"].step()
                print(
                    step,
                    loss.item().hex(),
                    scaler.get_scale(),
                    al.rand(1).item(),
                    file=trace,
                    flush=True,
                )
                step += 1
                if step - 1 == killed and phase == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                if step % EVERY == 0:
                    al.save_checkpoint(path, **parts, step=step)
                if step - 1 == killed:
                    os.kill(os.getpid(), signal.SIGKILL)
                if step == steps:
                    break


if __name__ == "__main__":
    folder, dtype, workers, *numbers = sys.argv[1:]
    train(Path(folder), dtype, workers, *map(int, numbers))
