"""A network, its training, and a subclass of tensors."""

from __future__ import annotations

import allotrope as al
from allotrope import nn
from allotrope.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 2))
        self.scale = nn.Parameter(al.ones(1))

    def forward(self, x: al.Tensor) -> al.Tensor:
        y: al.Tensor = self.layers(x)
        return y * self.scale


def train(steps: int) -> list[float]:
    al.manual_seed(0)
    data = TensorDataset(al.randn(32, 8), al.randint(0, 2, (32,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = Net(16).to(al.bfloat16)
    optimizer = al.optim.AdamW(model.parameters(), lr=1e-3)
    losses: list[float] = []
    for _ in range(steps):
        for images, labels in loader:
            optimizer.zero_grad()
            with al.autocast("cpu", dtype=al.bfloat16):
                loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.item()))
    return losses


def gradient(x: al.Tensor) -> al.Tensor:
    x = x.detach().requires_grad_()
    handle = x.register_hook(lambda gradient: gradient * 2)
    (x * x).sum().backward()
    handle.remove()
    gradient = x.grad
    assert gradient is not None
    return gradient
